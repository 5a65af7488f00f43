// Compositions over the engine: driver and model at either fidelity, against published vectors and OpenSSL's own XTS,
// with many requests in flight, backlogged, and with the transform freed under them.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <random>
#include <set>

#include "host/compose/compose.h"
#include "host/platforms/functional.h"
#include "host/session/session.h"
#include "tests/support/crypto_run.h"

namespace sec::test {
namespace {

using crypto::Skcipher;
using crypto::SkcipherRequest;
using host::Fidelity;
using host::Session;

/// A session with the engine's algorithms and the compositions over them only.
void with_engine(Fidelity fidelity, const std::function<void(Session&)>& body) {
  if (fidelity == Fidelity::Approx) {
    static bool used = false;
    if (std::exchange(used, true)) GTEST_SKIP() << "one approximate session per process: run through ctest";
  }
  host::SessionOptions o;
  o.fidelity = fidelity;
  o.cpu_backends = false;
  Session session(o);
  session.run([&](Session& s) {
    body(s);
    EXPECT_EQ(s.device().outstanding(), 0u);
    EXPECT_TRUE(s.platform().warnings().empty()) << s.platform().warnings().front();
  });
}

/// Lets the world go on by one event.
std::function<void()> poll(Session& s) {
  return [&s] { s.platform().pump(); };
}

Bytes openssl_xts(bool encrypt, const Bytes& key, const Bytes& iv, const Bytes& in) {
  EVP_CIPHER_CTX* c = EVP_CIPHER_CTX_new();
  const EVP_CIPHER* cipher = key.size() == 32 ? EVP_aes_128_xts() : EVP_aes_256_xts();
  Bytes out(in.size() + 16);
  int n = 0;
  const bool ok = EVP_CipherInit_ex(c, cipher, nullptr, key.data(), iv.data(), encrypt) == 1 &&
                  EVP_CipherUpdate(c, out.data(), &n, in.data(), static_cast<int>(in.size())) == 1;
  EVP_CIPHER_CTX_free(c);
  out.resize(ok ? in.size() : 0);
  return out;
}

Bytes random_bytes(std::mt19937& g, size_t n) {
  Bytes out(n);
  for (auto& b : out) b = static_cast<uint8_t>(g());
  return out;
}

/// A request in flight with its memory, its lists and what must come out.
struct Job {
  Bytes src, dst, iv, iv_before, want;
  std::unique_ptr<CutList> in, out;
  SkcipherRequest r;
  Done done;
  Status submitted = Status::Invalid;
  std::function<void(Status)> told;  // every callback

  void prepare(std::mt19937& g, const Bytes& data, const Bytes& expected, const Bytes& the_iv) {
    src = data;
    want = expected;
    iv = iv_before = the_iv;
    auto cuts = [&] {
      std::vector<size_t> c(g() % 6);  // none: one segment
      for (auto& x : c) x = 1 + g() % (data.size() / 2 + 1);
      return c;
    };
    const unsigned place = g() % 3;  // one list, two lists over the same memory, apart
    dst = place == 2 ? Bytes(data.size(), 0x5a) : Bytes();
    in = std::make_unique<CutList>(src.data(), src.size(), cuts(), g() % 2, g() % 2);
    uint8_t* to = place == 2 ? dst.data() : src.data();
    out = place == 0 ? nullptr : std::make_unique<CutList>(to, src.size(), cuts(), g() % 2, false);
    r.src = &in->list;
    r.dst = out ? &out->list : &in->list;
    r.size_bytes = src.size();
    r.iv = iv.data();
    r.flags = crypto::kMayBacklog;
    r.complete = [](void* c, Status s) {
      auto* job = static_cast<Job*>(c);
      Done::callback(&job->done, s);
      if (job->told) job->told(s);
    };
    r.context = this;
  }
  void verify() const {
    ASSERT_EQ(done.finished, submitted == Status::Ok ? 0 : 1);
    ASSERT_EQ(done.started, submitted == Status::Busy ? 1 : 0);
    ASSERT_TRUE(submitted == Status::Ok || done.status == Status::Ok) << errno_name(done.status);
    ASSERT_EQ(dst.empty() ? src : dst, want) << src.size() << " bytes";
    ASSERT_EQ(iv, iv_before) << "there is no output IV";
  }
};

void check_registered(Session& s) {
  std::set<std::string> seen;
  for (const auto& a : s.registry().list()) {
    if (a.driver.find('(') == std::string::npos) continue;
    EXPECT_EQ(a.module, "talitos");
    if (!a.composed.empty()) {  // AEADs and MACs: below what the engine does itself, above the processor's
      EXPECT_EQ(a.priority, 2000);
      EXPECT_EQ(a.selftest, crypto::SelfTest::Passed) << s.registry().selftest_failure(a.driver);
      continue;
    }
    seen.insert(a.driver);
    EXPECT_EQ(a.priority, 3001);
    EXPECT_TRUE(a.async);
    EXPECT_FALSE(a.allocates_memory);
    EXPECT_NE(a.selftest, crypto::SelfTest::Failed) << s.registry().selftest_failure(a.driver);
    EXPECT_TRUE(a.name != "xts(aes)" || a.selftest == crypto::SelfTest::Passed);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"xts(ecb-aes-talitos)", "rfc3686(ctr-aes-talitos)",
                                         "essiv(cbc-aes-talitos,sha256)"}));
}

/// Every `step`-th record of the NIST XTS files.
void nist_xts(Session& s, size_t step) {
  auto t = s.registry().alloc_skcipher("xts(aes)");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->info().driver, "xts(ecb-aes-talitos)");
  size_t index = 0, records = 0, partial = 0;
  for (const char* folder : {"ciphers/AES/XTS/tweak-128hexstr", "ciphers/AES/XTS/tweak-dataunitseqno"})
    for (const auto& file : list_vectors(folder))
      for (const auto& v : load_vectors(file)) {
        const unsigned long bits = v.number("DATAUNITLEN");
        if (bits % 8 || index++ % step) continue;
        Bytes iv(16);
        if (v.has("I")) {
          iv = v.bytes("I");
        } else {
          uint64_t n = std::stoull(v.text("DATAUNITSEQNUMBER"));
          for (size_t i = 0; i < 8; ++i, n >>= 8) iv[i] = static_cast<uint8_t>(n);
        }
        ASSERT_EQ(t->set_key(v.bytes("KEY")), Status::Ok);
        Bytes pt = v.bytes("PT"), ct = v.bytes("CT");
        pt.resize(bits / 8);
        ct.resize(bits / 8);
        const Layout& layout = layouts()[records % layouts().size()];
        check_layout(*t, v.encrypt(), v.encrypt() ? pt : ct, v.encrypt() ? ct : pt, iv, iv, layout,
                     file + " " + v.text("COUNT") + " " + v.section, poll(s));
        if (::testing::Test::HasFailure()) return;
        ++records;
        partial += bits % 128 != 0;
      }
  EXPECT_GT(records, 2000 / step);
  EXPECT_GT(partial, 100 / step) << "ciphertext stealing was tested";
}

void rfc3686(Session& s) {
  auto t = s.registry().alloc_skcipher("rfc3686(ctr(aes))");
  ASSERT_TRUE(t);
  size_t n = 0;
  for (const char* bits : {"128", "192", "256"})
    for (const auto& v : load_vectors(std::string("ciphers/AES/CTR/aes-") + bits + "-ctr.txt")) {
      Bytes key = v.bytes("KEY");
      const Bytes block = v.bytes("IV");
      key.insert(key.end(), block.begin(), block.begin() + 4);
      const Bytes iv(block.begin() + 4, block.begin() + 12);
      ASSERT_EQ(t->set_key(key), Status::Ok);
      for (const auto& l : layouts()) {
        check_layout(*t, true, v.bytes("PLAINTEXT"), v.bytes("CIPHERTEXT"), iv, iv, l, bits, poll(s));
        check_layout(*t, false, v.bytes("CIPHERTEXT"), v.bytes("PLAINTEXT"), iv, iv, l, bits, poll(s));
      }
      ++n;
    }
  EXPECT_EQ(n, 9u) << "test vectors 1 to 9";
}

// D09 again, through the engine's CBC.
void essiv(Session& s) {
  auto t = s.registry().alloc_skcipher("essiv(cbc(aes),sha256)");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->set_key(from_hex("2b7e151628aed2a6abf7158809cf4f3c")), Status::Ok);
  Bytes sector(512), iv(16);
  iv[0] = 1;
  crypto::Segment segment{sector.data(), sector.size()};
  crypto::ScatterList list(&segment, 1);
  SkcipherRequest r;
  r.src = r.dst = &list;
  r.size_bytes = sector.size();
  r.iv = iv.data();
  ASSERT_EQ(run(*t, true, r, poll(s)), Status::Ok);
  EXPECT_EQ(to_hex(sector.data(), 16), "062d8c58b322a2ea376acb41d88c89b5");
  EXPECT_EQ(to_hex(sector.data() + 496, 16), "a8c9a0111bfc2a81a333fa42051cce4c");
  ASSERT_EQ(run(*t, false, r, poll(s)), Status::Ok);
  EXPECT_EQ(sector, Bytes(512));
}

/// `count` requests of random length and shape, submitted as fast as the rules allow: after Busy not before the
/// callback says InProgress. Both directions, all compared with OpenSSL. Returns how often Busy was said.
unsigned random_xts(Session& s, unsigned count, size_t key_bytes, uint32_t seed, size_t most_bytes) {
  std::mt19937 g(seed);
  auto t = s.registry().alloc_skcipher("xts(aes)");
  if (!t) {
    ADD_FAILURE() << "xts(aes) is not offered";
    return 0;
  }
  const Bytes key = random_bytes(g, key_bytes);
  EXPECT_EQ(t->set_key(key), Status::Ok);
  std::vector<Job> jobs(count);
  unsigned busy = 0, left = 0;
  bool stopped = false;
  for (Job& j : jobs) {
    const size_t n = 16 + (g() % 4 ? g() % 600 : g() % (most_bytes - 15));
    const bool encrypt = g() % 2;
    const Bytes data = random_bytes(g, n), iv = random_bytes(g, 16);
    j.prepare(g, data, openssl_xts(encrypt, key, iv, data), iv);
    j.told = [&](Status status) {
      if (status == Status::InProgress)
        stopped = false;
      else
        --left;
    };
    if (stopped && !s.platform().wait_for([&] { return !stopped; })) {
      ADD_FAILURE() << "never told to go on after Busy";
      break;
    }
    ++left;
    stopped = true;  // before submit: the callback may come first
    j.submitted = encrypt ? t->encrypt(j.r) : t->decrypt(j.r);
    if (!accepted(j.submitted)) {
      ADD_FAILURE() << "refused with " << errno_name(j.submitted);
      break;
    }
    if (j.submitted == Status::Busy)
      ++busy;
    else
      stopped = false;
    if (j.done.started) stopped = false;
  }
  EXPECT_TRUE(s.platform().wait_for([&] { return left == 0; })) << left << " requests never ended";
  for (const Job& j : jobs) {
    j.verify();
    if (::testing::Test::HasFatalFailure()) break;
  }
  return busy;
}

/// Ten requests, half of them with a stolen block; the first to end frees the transform.
void freed_in_flight(Session& s, const char* algorithm) {
  std::mt19937 g(7);
  const size_t used_before = s.platform().dma().allocated_bytes();
  auto t = s.registry().alloc_skcipher(algorithm);
  ASSERT_TRUE(t);
  const size_t iv_bytes = t->info().iv_bytes;
  Bytes key = random_bytes(g, 32);
  ASSERT_EQ(t->set_key(key), Status::Ok);
  const bool xts = t->info().name == "xts(aes)";
  std::vector<Job> jobs(10);
  unsigned left = 10, before = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Bytes data = random_bytes(g, 64 + (xts && i % 2 ? 5 : 0)), iv = random_bytes(g, iv_bytes);
    jobs[i].prepare(g, data, xts ? openssl_xts(true, key, iv, data) : data, iv);
    jobs[i].told = [&](Status status) {
      if (status == Status::InProgress) return;
      --left;
      if (t) before = left;
      t.reset();
    };
  }
  for (Job& j : jobs) {
    if (!t) FAIL() << "too early to be a test";
    j.submitted = t->encrypt(j.r);
    ASSERT_EQ(j.submitted, Status::InProgress);
  }
  ASSERT_TRUE(s.platform().wait_for([&] { return left == 0; })) << left << " requests never ended";
  EXPECT_GT(before, 0u) << "others were in flight when it was freed";
  for (const Job& j : jobs) {
    EXPECT_EQ(j.done.finished, 1);
    EXPECT_EQ(j.done.status, Status::Ok);
    if (xts) j.verify();
  }
  EXPECT_EQ(s.platform().dma().allocated_bytes(), used_before) << "scratch was given back";
}

TEST(ComposeFunctional, Registered) { with_engine(Fidelity::Functional, check_registered); }

TEST(ComposeFunctional, PublishedVectors) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  with_engine(Fidelity::Functional, [](Session& s) {
    nist_xts(s, 1);
    rfc3686(s);
  });
}

TEST(ComposeFunctional, Essiv) { with_engine(Fidelity::Functional, essiv); }

TEST(ComposeFunctional, RandomRequestsEqualOpenssl) {
  with_engine(Fidelity::Functional, [](Session& s) {
    for (const size_t key_bytes : {32u, 64u}) random_xts(s, 1000, key_bytes, 100 + key_bytes, 9000);
    static_cast<host::FunctionalPlatform&>(s.platform()).hold_interrupts(true);
    random_xts(s, 1000, 64, 3, 9000);
  });
}

// Longer than a descriptor takes (65535 bytes): the driver splits the ECB request.
TEST(ComposeFunctional, LongRequests) {
  with_engine(Fidelity::Functional, [](Session& s) {
    std::mt19937 g(5);
    auto t = s.registry().alloc_skcipher("xts(aes)");
    ASSERT_TRUE(t);
    const Bytes key = random_bytes(g, 64);
    ASSERT_EQ(t->set_key(key), Status::Ok);
    for (const size_t n : {65519u, 65520u, 65535u, 65536u, 65551u, 1u << 20, (1u << 20) + 7})
      for (const bool encrypt : {true, false}) {
        const Bytes data = random_bytes(g, n), iv = random_bytes(g, 16);
        Job j;
        j.prepare(g, data, openssl_xts(encrypt, key, iv, data), iv);
        j.submitted = encrypt ? t->encrypt(j.r) : t->decrypt(j.r);
        ASSERT_TRUE(accepted(j.submitted)) << errno_name(j.submitted);
        ASSERT_TRUE(s.platform().wait_for([&] { return j.done.finished > 0; }));
        j.verify();
        if (HasFatalFailure()) return;
      }
  });
}

// S15, and what is refused.
TEST(ComposeFunctional, ZeroAndTooShort) {
  with_engine(Fidelity::Functional, [](Session& s) {
    for (const char* algorithm : {"xts(aes)", "rfc3686(ctr(aes))", "essiv(cbc(aes),sha256)"}) {
      auto t = s.registry().alloc_skcipher(algorithm);
      ASSERT_TRUE(t);
      Bytes data(64, 7), iv(16, 9);
      crypto::Segment segment{data.data(), data.size()};
      crypto::ScatterList list(&segment, 1);
      SkcipherRequest r;
      r.src = r.dst = &list;
      r.size_bytes = 0;
      r.iv = iv.data();
      EXPECT_EQ(t->encrypt(r), Status::NoKey) << algorithm;
      ASSERT_EQ(t->set_key(Bytes(t->info().max_key_bytes, 3)), Status::Ok);
      EXPECT_EQ(t->encrypt(r), Status::Ok) << algorithm;
      EXPECT_EQ(t->decrypt(r), Status::Ok) << algorithm;
      r.size_bytes = 15;
      if (t->info().block_bytes > 1) {
        EXPECT_EQ(t->encrypt(r), Status::Invalid) << algorithm;
        EXPECT_EQ(t->decrypt(r), Status::Invalid) << algorithm;
      }
      r.size_bytes = 65;
      if (t->info().block_bytes > 1) {
        EXPECT_EQ(t->encrypt(r), Status::Invalid) << algorithm << ": longer than the list";
      }
      r.size_bytes = 32;
      r.iv = nullptr;
      EXPECT_EQ(t->encrypt(r), Status::Invalid) << algorithm << " without an IV";
      EXPECT_EQ(data, Bytes(64, 7));
      EXPECT_EQ(iv, Bytes(16, 9));
    }
  });
}

TEST(ComposeFunctional, TransformFreedInFlight) {
  with_engine(Fidelity::Functional, [](Session& s) {
    for (const char* algorithm : {"xts(aes)", "essiv(cbc(aes),sha256)"}) {
      // Held interrupts come with the eighth descriptor at the latest, and the second ones of XTS count: three of each.
      SCOPED_TRACE(algorithm);
      std::mt19937 g(1);
      auto t = s.registry().alloc_skcipher(algorithm);
      ASSERT_TRUE(t);
      ASSERT_EQ(t->set_key(random_bytes(g, 32)), Status::Ok);
      static_cast<host::FunctionalPlatform&>(s.platform()).hold_interrupts(true);
      std::vector<Job> jobs(3);
      unsigned left = 3;
      for (Job& j : jobs) {
        const Bytes data = random_bytes(g, t->info().name == "xts(aes)" ? 69 : 64);
        j.prepare(g, data, data, Bytes(16));
        j.told = [&](Status status) { left -= status != Status::InProgress; };
        ASSERT_EQ(t->encrypt(j.r), Status::InProgress);
      }
      EXPECT_EQ(left, 3u);
      t.reset();
      ASSERT_TRUE(s.platform().wait_for([&] { return left == 0; }));
      for (const Job& j : jobs) {
        EXPECT_EQ(j.done.finished, 1);
        EXPECT_EQ(j.done.status, Status::Ok);
      }
      static_cast<host::FunctionalPlatform&>(s.platform()).hold_interrupts(false);
    }
  });
}

// The driver goes away with requests in flight: each ends with an error, once.
TEST(ComposeFunctional, DeviceRemovedInFlight) {
  std::mt19937 g(1);
  std::vector<Job> jobs(4);
  std::unique_ptr<Skcipher> t;
  {
    host::SessionOptions o;
    o.fidelity = Fidelity::Functional;
    o.cpu_backends = false;
    Session session(o);
    session.run([&](Session& s) {
      t = s.registry().alloc_skcipher("xts(aes)");
      ASSERT_TRUE(t);
      ASSERT_EQ(t->set_key(Bytes(32, 4)), Status::Ok);
      static_cast<host::FunctionalPlatform&>(s.platform()).hold_interrupts(true);
      for (Job& j : jobs) {
        const Bytes data = random_bytes(g, 69);
        j.prepare(g, data, data, Bytes(16));
        ASSERT_EQ(t->encrypt(j.r), Status::InProgress);
      }
      t.reset();  // before the device, which it must not outlive; its requests may
    });
  }
  for (const Job& j : jobs) EXPECT_EQ(j.done.finished, 1);
}

TEST(ComposeApprox, EverythingInOneSession) {
  with_engine(Fidelity::Approx, [](Session& s) {
    check_registered(s);
    if (!vectors_dir().empty()) {
      nist_xts(s, 16);
      rfc3686(s);
    }
    essiv(s);
    const auto copied = [&] { return s.platform().cpu().count[static_cast<size_t>(driver::Cost::CopyByte)]; };
    EXPECT_GT(copied(), 0u) << "the masking is charged";
    const unsigned busy = random_xts(s, 1000, 64, 11, 9000);
    EXPECT_GT(busy, 100u) << "the ring was full and the backlog used";
    for (const char* algorithm : {"xts(aes)", "essiv(cbc(aes),sha256)"}) freed_in_flight(s, algorithm);
  });
}

}  // namespace
}  // namespace sec::test
