// Hashes and HMACs on driver and engine: NIST's CAVP messages (short, long, Monte Carlo) and the RFC vectors, and random
// requests against plain OpenSSL, one-shot and in steps, many states open at once, moved between states and transforms by
// export and import, with key changes in flight.
//
// The seed is printed; SEC_SEED sets it, SEC_REQUESTS the number of messages of each algorithm.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "tests/differential/evp_aead.h"
#include "tests/differential/world.h"

namespace sec::test {
namespace {

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}

Bytes evp_digest(const std::string& name, const Bytes& m) {
  Bytes out(EVP_MAX_MD_SIZE);
  unsigned n = 0;
  EVP_MD* md = EVP_MD_fetch(nullptr, name.c_str(), nullptr);
  evp_check(md && EVP_Digest(m.data(), m.size(), out.data(), &n, md, nullptr) == 1, "digest");
  EVP_MD_free(md);
  out.resize(n);
  return out;
}

struct Case {
  const char* part;
  bool approx;
};
const Case kCases[] = {{"p2020", false}, {"mpc8572", false}, {"mpc8315", false}, {"mpc8548", false}, {"mpc8349", false}, {"mpc8323", false},
                       {"mpc885", false}, {"mpc8272", false}, {"p2020", true},   {"mpc8548", true},  {"mpc8349", true},  {"mpc885", true}};

class HashOnParts : public ::testing::TestWithParam<Case> {
 protected:
  void run(const std::function<void(host::Session&)>& body) {
    if (GetParam().approx) {
      static bool used = false;
      if (std::exchange(used, true)) GTEST_SKIP() << "one approximate session per process: run through ctest";
    }
    host::SessionOptions o;
    o.part = regs::find_part(GetParam().part);
    ASSERT_TRUE(o.part);
    o.fidelity = GetParam().approx ? host::Fidelity::Approx : host::Fidelity::Functional;
    o.memory_bytes = size_t{128} << 20;
    o.cpu_backends = o.compositions = false;
    host::Session session(o);
    session.run([&](host::Session& s) {
      for (const auto& a : s.registry().list())
        if (a.type == crypto::AlgorithmType::Hash) {
          EXPECT_EQ(a.selftest, crypto::SelfTest::Passed) << a.driver << ": " << s.registry().selftest_failure(a.driver);
        }
      body(s);
      EXPECT_EQ(s.device().outstanding(), 0u);
      EXPECT_TRUE(s.platform().warnings().empty()) << s.platform().warnings().front();
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Parts, HashOnParts, ::testing::ValuesIn(kCases),
                         [](const auto& i) { return std::string(i.param.part) + (i.param.approx ? "_approx" : "_functional"); });

struct Wait {
  int finals = 0, starts = 0;
  Status status = Status::Ok;
  static void done(void* c, Status s) {
    auto* w = static_cast<Wait*>(c);
    if (s == Status::InProgress) {
      ++w->starts;
      return;
    }
    ++w->finals;
    w->status = s;
  }
};

/// A message in pieces; the memory stays until the request is through.
struct Pieces {
  Bytes store;
  std::vector<crypto::Segment> segments;
  crypto::ScatterList list;
  Pieces(const uint8_t* p, size_t n, std::mt19937& g, bool whole, driver::DmaSpace& dma) : dma_(dma) {
    memory_ = static_cast<uint8_t*>(dma.alloc(n * 2 + 64 * 12, 64));
    if (!memory_) throw std::runtime_error("no DMA memory");
    size_t at = g() % 16;
    for (size_t done = 0; done < n;) {
      const size_t k = whole || segments.size() > 9 ? n - done : std::min<size_t>(n - done, 1 + g() % (1 + n / 2));
      std::memcpy(memory_ + at, p + done, k);
      segments.push_back({memory_ + at, k});
      done += k;
      at += k + (g() % 2 ? 0 : 1 + g() % 30);
    }
    list = {segments.data(), segments.size()};
  }
  ~Pieces() { dma_.free(memory_); }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

 private:
  driver::DmaSpace& dma_;
  uint8_t* memory_;
};

Status finish(host::Session& s, Status submitted, Wait& w) {
  if (!accepted(submitted)) return submitted;
  if (!s.platform().wait_until([](void* c) { return static_cast<Wait*>(c)->finals > 0; }, &w)) return Status::TimedOut;
  return w.status;
}

Bytes one_shot(host::Session& s, crypto::Hash& t, const Bytes& m, std::mt19937& g, bool whole) {
  Pieces p(m.data(), m.size(), g, whole, s.platform().dma());
  Bytes digest(t.info().digest_bytes);
  Wait w;
  crypto::HashRequest r;
  r.src = &p.list;
  r.size_bytes = m.size();
  r.digest = digest.data();
  r.flags = crypto::kMayBacklog;
  r.complete = Wait::done;
  r.context = &w;
  EXPECT_EQ(finish(s, t.digest(r), w), Status::Ok) << t.info().driver << " " << m.size() << " bytes";
  return digest;
}

// --------------------------------------------------------------------------------------------- published vectors

TEST_P(HashOnParts, PublishedVectors) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  run([&](host::Session& s) {
    const size_t step = GetParam().approx ? 5 : 1;
    std::mt19937 g(1);
    size_t checked = 0, algorithms = 0;
    for (const auto& info : s.registry().list()) {
      if (info.type != crypto::AlgorithmType::Hash) continue;
      const bool hmac = info.name.starts_with("hmac(");
      const std::string bare = hmac ? info.name.substr(5, info.name.size() - 6) : info.name;
      if (!bare.starts_with("sha") && bare != "md5") continue;
      std::string upper = bare;
      std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
      std::vector<std::string> files;
      if (hmac)
        files = {bare == "md5" || bare == "sha1" ? "HMAC/rfc-2202-" + bare + ".txt" : "HMAC/rfc-4231-" + bare + ".txt"};
      else if (bare == "md5")
        files = {"hashes/MD5/rfc-1321.txt"};
      else
        for (const char* kind : {"ShortMsg.rsp", "LongMsg.rsp"}) files.push_back("hashes/" + std::string(bare == "sha1" ? "SHA1/" : "SHA2/") + upper + kind);
      auto t = s.registry().alloc_hash(info.driver);
      ASSERT_TRUE(t) << info.driver;
      size_t mine = 0, index = 0;
      for (const std::string& file : files)
        for (const Vector& v : load_vectors(file)) {
          if (!v.has("MSG") || !v.has("MD") || index++ % step) continue;
          Bytes m = v.bytes("MSG");
          if (v.has("LEN")) m.resize(v.number("LEN") / 8);
          if (hmac) {
            ASSERT_EQ(t->set_key(v.bytes("KEY")), Status::Ok);
          }
          Bytes want = v.bytes("MD");
          Bytes got = one_shot(s, *t, m, g, mine % 2);
          got.resize(std::min(got.size(), want.size()));  // RFC 2202 and 4231 have truncated ones
          ASSERT_EQ(to_hex(got), to_hex(want)) << info.driver << ", " << file << ", " << m.size() << " bytes";
          ++mine;
        }
      EXPECT_GE(mine, hmac || bare == "md5" ? 6u / step : 60u / step) << info.driver;
      checked += mine;
      ++algorithms;
      // Monte Carlo: a thousand digests hang on each other.
      if (hmac || bare == "md5" || GetParam().approx) continue;
      const std::string file = "hashes/" + std::string(bare == "sha1" ? "SHA1/" : "SHA2/") + upper + "Monte.rsp";
      Bytes seed;
      size_t rounds = 0;
      for (const Vector& v : load_vectors(file)) {
        if (v.has("SEED")) seed = v.bytes("SEED");
        if (!v.has("MD") || !v.has("COUNT") || rounds >= 3) continue;
        Bytes a = seed, b = seed, c = seed;
        for (int i = 0; i < 1000; ++i) {
          Bytes m = a;
          m.insert(m.end(), b.begin(), b.end());
          m.insert(m.end(), c.begin(), c.end());
          a = std::move(b);
          b = std::move(c);
          c = one_shot(s, *t, m, g, true);
        }
        seed = c;
        ASSERT_EQ(to_hex(c), to_hex(v.bytes("MD"))) << info.driver << ", round " << rounds;
        ++rounds;
        ++checked;
      }
      EXPECT_EQ(rounds, 3u) << file;
    }
    EXPECT_GE(algorithms, 4u);
    std::printf("%s: %zu published digests through %zu algorithms\n", GetParam().part, checked, algorithms);
  });
}

// --------------------------------------------------------------------------------------------- random messages

/// One message on its way through a state: steps are submitted one after the other, others' in between.
struct Message {
  crypto::Hash* tfm = nullptr;
  Bytes bytes, want, digest;
  size_t done = 0;
  std::unique_ptr<crypto::HashState> state;
  std::unique_ptr<Pieces> pieces;
  crypto::HashRequest request;
  Wait wait;
  Status submitted = Status::Ok;
  bool ended = false, last = false;
  std::string what;
};

TEST_P(HashOnParts, RandomAgainstOpenssl) {
  const bool approx = GetParam().approx;
  const uint64_t seed = from_environment("SEC_SEED", 20261202), each = from_environment("SEC_REQUESTS", approx ? 150 : 2600);
  run([&](host::Session& s) {
    std::mt19937 g(static_cast<unsigned>(seed));
    uint64_t plain = 0, keyed = 0, steps = 0;
    for (const auto& info : s.registry().list()) {
      const bool hmac = info.name.starts_with("hmac(");
      const std::string bare = hmac ? info.name.substr(5, info.name.size() - 6) : info.name;
      if (info.type != crypto::AlgorithmType::Hash || (!bare.starts_with("sha") && bare != "md5")) continue;
      std::string upper = bare;
      std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
      ASSERT_GT(info.state_bytes, 0u);
      struct Transform {
        std::unique_ptr<crypto::Hash> tfm;
        Bytes key;
      };
      std::vector<Transform> tfms(3);
      auto new_key = [&](Transform& t) {
        t.key.resize(g() % 4 ? 1 + g() % info.block_bytes : 1 + g() % (2 * info.block_bytes));
        for (uint8_t& b : t.key) b = static_cast<uint8_t>(g());
        ASSERT_EQ(t.tfm->set_key(t.key), Status::Ok) << info.driver;
      };
      for (Transform& t : tfms) {
        t.tfm = s.registry().alloc_hash(info.driver);
        ASSERT_TRUE(t.tfm);
        if (hmac) new_key(t);
      }
      const size_t width = 1 + g() % 24;
      std::vector<std::unique_ptr<Message>> open;
      uint64_t begun = 0, right = 0;
      auto submit = [&](Message& m) {
        const size_t left = m.bytes.size() - m.done;
        size_t n = g() % 5 == 0 ? 0 : g() % 4 == 0 ? left : 1 + g() % (1 + left);
        n = std::min(n, left);
        const bool in_steps = m.state != nullptr;
        m.last = !in_steps || (n == left && g() % 2);
        if (!in_steps) n = left;
        m.wait = {};
        m.pieces = std::make_unique<Pieces>(m.bytes.data() + m.done, n, g, g() % 2, s.platform().dma());
        crypto::HashRequest& r = m.request;
        r = {};
        r.src = n || g() % 2 ? &m.pieces->list : nullptr;
        r.size_bytes = n;
        r.digest = m.last ? m.digest.data() : nullptr;
        r.state = m.state.get();
        r.flags = crypto::kMayBacklog;
        r.complete = Wait::done;
        r.context = &m.wait;
        m.done += n;
        ++steps;
        if (!in_steps)
          m.submitted = m.tfm->digest(r);
        else if (!m.last)
          m.submitted = m.tfm->update(r);
        else if (n == 0 && g() % 2)
          m.submitted = m.tfm->final(r);
        else
          m.submitted = m.tfm->finup(r);
        if (!accepted(m.submitted)) {
          m.wait.finals = 1;
          m.wait.status = m.submitted;
        }
      };
      while (begun < each || !open.empty()) {
        while (begun < each && open.size() < width) {
          auto m = std::make_unique<Message>();
          Transform& t = tfms[g() % tfms.size()];
          if (hmac && &t != &tfms[0] && g() % 50 == 0) new_key(t);  // one-shot requests in flight keep the old one
          const size_t n = g() % 300 == 0 ? 60'000 + g() % 90'000 : g() % 4 == 0 ? info.block_bytes * (g() % 5) + g() % 3 : g() % 700;
          m->bytes.resize(n);
          for (size_t i = 0; i < n; i += 4) {
            const uint32_t v = static_cast<uint32_t>(g());
            std::memcpy(m->bytes.data() + i, &v, std::min<size_t>(4, n - i));
          }
          m->tfm = t.tfm.get();
          m->want = hmac ? evp_hmac(upper, t.key, m->bytes) : evp_digest(upper, m->bytes);
          m->digest.assign(info.digest_bytes, 0);
          m->what = info.driver + " message " + std::to_string(begun) + ", " + std::to_string(n) + " bytes";
          // A message in steps would end with a new key: only the first transform, whose key stays, has any.
          if (!hmac || &t == &tfms[0]) {
            m->state = m->tfm->make_state();
            ASSERT_TRUE(m->state);
            ASSERT_EQ(m->tfm->init(*m->state), Status::Ok);
          }
          ++begun;
          submit(*m);
          open.push_back(std::move(m));
        }
        if (std::none_of(open.begin(), open.end(), [](const auto& m) { return m->wait.finals; })) {
          ASSERT_TRUE(s.platform().wait_for([&] { return std::any_of(open.begin(), open.end(), [](const auto& m) { return m->wait.finals > 0; }); }))
              << info.driver << ": nothing ends";
        }
        for (size_t i = 0; i < open.size();) {
          Message& m = *open[i];
          if (!m.wait.finals) {
            ++i;
            continue;
          }
          ASSERT_EQ(m.wait.finals, 1) << m.what;
          ASSERT_EQ(m.wait.status, Status::Ok) << m.what;
          ASSERT_EQ(m.wait.starts, m.submitted == Status::Busy ? 1 : 0) << m.what;
          if (m.last) {
            ASSERT_EQ(to_hex(m.digest), to_hex(m.want)) << m.what << " (SEC_SEED=" << seed << " repeats it)";
            ++right;
            open[i] = std::move(open.back());
            open.pop_back();
            continue;
          }
          if (g() % 6 == 0) {  // to another state; the old one is dropped
            Bytes saved(info.state_bytes);
            ASSERT_EQ(m.tfm->export_state(*m.state, saved.data()), Status::Ok);
            m.state = m.tfm->make_state();
            ASSERT_EQ(m.tfm->import_state(*m.state, saved.data()), Status::Ok) << m.what;
          }
          submit(m);
          ++i;
        }
        if (hmac && g() % 200 == 0)
          for (size_t k = 1; k < tfms.size(); ++k) new_key(tfms[k]);
      }
      EXPECT_EQ(right, each) << info.driver;
      (hmac ? keyed : plain) += right;
    }
    std::printf("%s, %s: %llu plain and %llu keyed messages right in %llu steps, seed %llu\n", GetParam().part, approx ? "approx" : "functional",
                static_cast<unsigned long long>(plain), static_cast<unsigned long long>(keyed), static_cast<unsigned long long>(steps),
                static_cast<unsigned long long>(seed));
    EXPECT_GT(plain, 0u);
  });
}

}  // namespace
}  // namespace sec::test
