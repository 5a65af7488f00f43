// Compositions: published vectors in every buffer shape over both CPU back ends, and the asynchronous contract
// over an implementation with a queue of two.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <random>

#include "driver/crypto/queue.h"
#include "host/compose/compose.h"
#include "tests/support/crypto_run.h"
#include "tests/unit/cpu_support.h"

namespace {
uint64_t g_news = 0;
void* counted(size_t n, size_t align) {
  ++g_news;
  void* p = align ? std::aligned_alloc(align, (n + align - 1) / align * align) : std::malloc(n ? n : 1);
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace
void* operator new(size_t n) { return counted(n, 0); }
void* operator new(size_t n, std::align_val_t a) { return counted(n, static_cast<size_t>(a)); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  ++g_news;
  return std::aligned_alloc(static_cast<size_t>(a), (n + static_cast<size_t>(a) - 1) & ~(static_cast<size_t>(a) - 1));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace sec::test {
namespace {

using crypto::AlgorithmInfo;
using crypto::ScatterList;
using crypto::Segment;
using crypto::SkcipherRequest;

Status crypt(crypto::Skcipher& t, bool enc, Bytes& data, Bytes& iv) {
  Segment s{data.data(), data.size()};
  ScatterList l(&s, 1);
  SkcipherRequest r;
  r.src = r.dst = &l;
  r.size_bytes = data.size();
  r.iv = iv.data();
  return run(t, enc, r);
}

class Compose : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<crypto::Registry> registry_ = backend(GetParam());
  std::string driver(const std::string& mode) const { return mode + "-aes-" + GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Backends, Compose, ::testing::Values("openssl", "ipsecmb"),
                         [](const auto& i) { return i.param; });

TEST_P(Compose, RegistersOverEverythingSuitable) {
  EXPECT_EQ(host::register_compositions(*registry_), 0u) << "CPU back ends only when asked for";
  EXPECT_EQ(host::register_compositions(*registry_, {.module = ""}), 3u);
  EXPECT_EQ(host::register_compositions(*registry_, {.module = ""}), 0u) << "not twice, not over themselves";
  int priority_inner = 0;
  for (const auto& a : registry_->list()) {
    if (a.driver == driver("ecb")) priority_inner = a.priority;
    if (a.driver == "xts(ecb-aes-" + GetParam() + ")") {
      EXPECT_EQ(a.name, "xts(aes)");
      EXPECT_EQ(a.selftest, crypto::SelfTest::Passed) << registry_->selftest_failure(a.driver);
      EXPECT_EQ(a.min_key_bytes, 32u);
      EXPECT_EQ(a.max_key_bytes, 64u);
      EXPECT_EQ(a.iv_bytes, 16u);
      EXPECT_EQ(a.priority, priority_inner + 1);
      EXPECT_EQ(a.module, GetParam());
      EXPECT_FALSE(a.allocates_memory);
    }
    if (a.name == "rfc3686(ctr(aes))") {
      EXPECT_EQ(a.block_bytes, 1u);
      EXPECT_EQ(a.iv_bytes, 8u);
      EXPECT_EQ(a.min_key_bytes, 20u);
      EXPECT_EQ(a.max_key_bytes, 36u);
    }
  }
  EXPECT_TRUE(registry_->alloc_skcipher("essiv(cbc-aes-" + GetParam() + ",sha256)"));
  Status s = Status::Ok;
  EXPECT_FALSE(host::compose_xts(*registry_, "ecb-aes-nowhere", &s));
  EXPECT_EQ(s, Status::NoEntry);
  EXPECT_FALSE(host::compose_xts(*registry_, driver("cbc"), &s));
  EXPECT_EQ(s, Status::Invalid);
}

TEST_P(Compose, NistXts) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  auto t = host::compose_xts(*registry_, driver("ecb"));
  ASSERT_TRUE(t);
  size_t records = 0, partial = 0;
  for (const char* folder : {"ciphers/AES/XTS/tweak-128hexstr", "ciphers/AES/XTS/tweak-dataunitseqno"})
    for (const auto& file : list_vectors(folder))
      for (const auto& v : load_vectors(file)) {
        const unsigned long bits = v.number("DATAUNITLEN");
        if (bits % 8) continue;
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
        const Layout& l = layouts()[records % layouts().size()];
        const std::string what = file + " " + v.text("COUNT") + " " + v.section;
        check_layout(*t, v.encrypt(), v.encrypt() ? pt : ct, v.encrypt() ? ct : pt, iv, iv, l, what);
        if (HasFailure()) return;
        ++records;
        partial += bits % 128 != 0;
      }
  EXPECT_GT(records, 2000u);
  EXPECT_GT(partial, 100u) << "ciphertext stealing was tested";
}

// Every length, against OpenSSL's own XTS.
TEST_P(Compose, XtsOfEveryLength) {
  auto reference = backend("openssl");
  auto t = host::compose_xts(*registry_, driver("ecb")), ref = reference->alloc_skcipher("xts-aes-openssl");
  ASSERT_TRUE(t && ref);
  for (const size_t key_bytes : {32u, 64u}) {
    Bytes key(key_bytes);
    for (size_t i = 0; i < key_bytes; ++i) key[i] = static_cast<uint8_t>(3 * i + 1);
    ASSERT_EQ(t->set_key(key), Status::Ok);
    ASSERT_EQ(ref->set_key(key), Status::Ok);
    for (size_t n = 16; n <= 5000; n += n < 200 ? 1 : 509) {
      Bytes plain(n), a, b, iv(16, 0x9c);
      for (size_t i = 0; i < n; ++i) plain[i] = static_cast<uint8_t>(i * 7 + n);
      a = b = plain;
      ASSERT_EQ(crypt(*t, true, a, iv), Status::Ok);
      ASSERT_EQ(crypt(*ref, true, b, iv), Status::Ok);
      ASSERT_EQ(to_hex(a), to_hex(b)) << n;
      ASSERT_EQ(crypt(*t, false, a, iv), Status::Ok);
      ASSERT_EQ(to_hex(a), to_hex(plain)) << n;
      EXPECT_EQ(iv, Bytes(16, 0x9c));
    }
  }
}

TEST_P(Compose, XtsKeyAndLengthRules) {
  auto t = host::compose_xts(*registry_, driver("ecb"));
  ASSERT_TRUE(t);
  Bytes data(32, 1), iv(16), empty;
  EXPECT_EQ(crypt(*t, true, data, iv), Status::NoKey);
  EXPECT_EQ(t->set_key(Bytes(31)), Status::Invalid);
  EXPECT_EQ(t->set_key(Bytes(32, 7), crypto::kForbidWeakKeys), Status::Invalid) << "equal halves";
  // IEEE 1619-2007 vector 1 has equal halves.
  ASSERT_EQ(t->set_key(Bytes(32)), Status::Ok);
  data.assign(32, 0);
  ASSERT_EQ(crypt(*t, true, data, iv), Status::Ok);
  EXPECT_EQ(to_hex(data), "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e");
  EXPECT_EQ(t->set_key(Bytes(65)), Status::Invalid) << "outside the range: the old key stays";
  EXPECT_EQ(crypt(*t, true, empty, iv), Status::Ok);
  data.resize(15);
  EXPECT_EQ(crypt(*t, true, data, iv), Status::Invalid);
  EXPECT_EQ(t->set_key(Bytes(33)), Status::Invalid);
  data.resize(32);
  EXPECT_EQ(crypt(*t, true, data, iv), Status::NoKey);
}

TEST_P(Compose, Rfc3686TestVectors) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  auto t = host::compose_rfc3686(*registry_, driver("ctr"));
  ASSERT_TRUE(t);
  size_t n = 0;
  for (const char* file : {"ciphers/AES/CTR/aes-128-ctr.txt", "ciphers/AES/CTR/aes-192-ctr.txt",
                           "ciphers/AES/CTR/aes-256-ctr.txt"})
    for (const auto& v : load_vectors(file)) {
      Bytes key = v.bytes("KEY");
      const Bytes block = v.bytes("IV");  // nonce, IV, counter 1
      ASSERT_EQ(to_hex(block.data() + 12, 4), "00000001");
      key.insert(key.end(), block.begin(), block.begin() + 4);
      const Bytes iv(block.begin() + 4, block.begin() + 12);
      ASSERT_EQ(t->set_key(key), Status::Ok);
      for (const auto& l : layouts()) {
        check_layout(*t, true, v.bytes("PLAINTEXT"), v.bytes("CIPHERTEXT"), iv, iv, l, file);
        check_layout(*t, false, v.bytes("CIPHERTEXT"), v.bytes("PLAINTEXT"), iv, iv, l, file);
      }
      ++n;
    }
  EXPECT_EQ(n, 9u);
}

// D09: the IV key is the whole SHA-256 digest, so AES-256 even for a 128-bit volume.
TEST_P(Compose, EssivUsesTheFullDigest) {
  auto t = host::compose_essiv(*registry_, driver("cbc"));
  ASSERT_TRUE(t);
  ASSERT_EQ(t->set_key(from_hex(kNistKey)), Status::Ok);
  Bytes sector(512), iv(16);
  iv[0] = 1;
  ASSERT_EQ(crypt(*t, true, sector, iv), Status::Ok);
  EXPECT_EQ(to_hex(sector.data(), 16), "062d8c58b322a2ea376acb41d88c89b5");
  EXPECT_EQ(to_hex(sector.data() + 496, 16), "a8c9a0111bfc2a81a333fa42051cce4c");
  ASSERT_EQ(crypt(*t, false, sector, iv), Status::Ok);
  EXPECT_EQ(sector, Bytes(512));
  // Decrypting with CBC and a zero IV shows the encrypted IV itself: P = D(C) and C = E(IV).
  auto cbc = registry_->alloc_skcipher(driver("cbc"));
  ASSERT_EQ(cbc->set_key(from_hex(kNistKey)), Status::Ok);
  const std::vector<std::pair<uint64_t, std::string>> ivs = {{1, "3fa48f0cf8600568f2d4920cd2894db1"},
                                                             {uint64_t{1} << 32, "2536b3f4547ec66e51148c34a95c556e"}};
  for (const auto& [n, want] : ivs) {
    Bytes block(16), number(16), zero(16);
    for (size_t i = 0; i < 8; ++i) number[i] = static_cast<uint8_t>(n >> (8 * i));
    ASSERT_EQ(crypt(*t, true, block, number), Status::Ok);
    ASSERT_EQ(crypt(*cbc, false, block, zero), Status::Ok);
    EXPECT_EQ(to_hex(block), want) << n;
  }
  // A new volume key changes the IV key.
  Bytes other(16), number(16);
  ASSERT_EQ(t->set_key(from_hex("2b7e151628aed2a6abf7158809cf4f3d")), Status::Ok);
  ASSERT_EQ(crypt(*t, true, other, number), Status::Ok);
  auto again = host::compose_essiv(*registry_, driver("cbc"));
  ASSERT_EQ(again->set_key(from_hex("2b7e151628aed2a6abf7158809cf4f3d")), Status::Ok);
  Bytes same(16);
  ASSERT_EQ(crypt(*again, true, same, number), Status::Ok);
  EXPECT_EQ(other, same);
}

TEST_P(Compose, ChargesTheProcessor) {
  driver::CpuMeter meter;
  meter.cost_ps[static_cast<size_t>(driver::Cost::CopyByte)] = 100;
  auto t = host::compose_xts(*registry_, driver("ecb"), nullptr, {.cpu = &meter, .block_ps = 5000});
  ASSERT_EQ(t->set_key(Bytes(32)), Status::Ok);
  Bytes data(512), iv(16);
  ASSERT_EQ(crypt(*t, true, data, iv), Status::Ok);
  EXPECT_EQ(meter.count[static_cast<size_t>(driver::Cost::CopyByte)], 1024u);
  EXPECT_EQ(meter.count[static_cast<size_t>(driver::Cost::ApiCall)], 1u) << "the tweak";
  EXPECT_EQ(meter.total_ps, 1024u * 100 + 5000);
  data.resize(517);
  ASSERT_EQ(crypt(*t, true, data, iv), Status::Ok);
  EXPECT_EQ(meter.count[static_cast<size_t>(driver::Cost::CopyByte)], 1024u + 2 * 517);
}

// ------------------------------------------------------------------------------------------------ K01

// An asynchronous implementation with a queue of `depth`, worked off by step(). Sees every buffer it is given.
class Engine {
 public:
  explicit Engine(size_t depth) : queue(depth) {}
  struct Node {
    Node* next = nullptr;
    SkcipherRequest* request = nullptr;
    crypto::Skcipher* software = nullptr;
    bool encrypt = false;
  };
  bool step() {
    Node* started = nullptr;
    Node* n = queue.dequeue(&started);
    if (!n) return false;
    if (started) started->request->complete(started->request->context, Status::InProgress);
    SkcipherRequest* r = n->request;
    Status s = n->encrypt ? n->software->encrypt(*r) : n->software->decrypt(*r);
    if (fail_next > 0 && --fail_next == 0) s = Status::Io;
    spare.push_back(n);
    r->complete(r->context, s);
    return true;
  }
  Node* node() {
    if (spare.empty()) {
      all.push_back(std::make_unique<Node>());
      spare.reserve(all.size());
      return all.back().get();
    }
    Node* n = spare.back();
    spare.pop_back();
    return n;
  }
  crypto::BoundedQueue<Node> queue;
  std::vector<std::unique_ptr<Node>> all;
  std::vector<Node*> spare;
  int fail_next = 0;
  std::function<void(const SkcipherRequest&)> saw;
};
class EngineCipher final : public crypto::Skcipher {
 public:
  EngineCipher(std::shared_ptr<Engine> e, std::unique_ptr<crypto::Skcipher> software, AlgorithmInfo info)
      : engine_(std::move(e)), software_(std::move(software)), info_(std::move(info)) {}
  const AlgorithmInfo& info() const override { return info_; }
  Status set_key(std::span<const uint8_t> key, uint32_t flags) override { return software_->set_key(key, flags); }
  Status encrypt(SkcipherRequest& r) override { return submit(r, true); }
  Status decrypt(SkcipherRequest& r) override { return submit(r, false); }

 private:
  Status submit(SkcipherRequest& r, bool encrypt) {
    if (engine_->saw) engine_->saw(r);
    Engine::Node* n = engine_->node();
    *n = {nullptr, &r, software_.get(), encrypt};
    const Status s = engine_->queue.enqueue(n, r.flags & crypto::kMayBacklog);
    if (!accepted(s)) engine_->spare.push_back(n);
    return s;
  }
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<crypto::Skcipher> software_;
  AlgorithmInfo info_;
};

struct EngineRegistry {
  std::shared_ptr<Engine> engine = std::make_shared<Engine>(2);
  std::unique_ptr<crypto::Registry> software = backend("openssl");
  crypto::Registry registry;
  EngineRegistry() {
    registry.set_selftest_enabled(false);
    for (const char* mode : {"ecb", "cbc", "ctr"}) {
      AlgorithmInfo i = software->alloc_skcipher(std::string(mode) + "-aes-openssl")->info();
      i.driver = std::string(mode) + "-aes-engine";
      i.async = true;
      i.priority = 3000;
      auto make = [this, i] { return std::make_unique<EngineCipher>(engine, software->alloc_skcipher(i.name), i); };
      EXPECT_EQ(registry.add({i, make, nullptr}), Status::Ok);
    }
    EXPECT_EQ(host::register_compositions(registry, {.module = ""}), 3u);
  }
};

struct Tracked {
  Bytes data, want, iv;
  Segment segment;
  ScatterList list;
  SkcipherRequest r;
  Status submitted = Status::Invalid;
  int started = 0, finished = 0, after_final = 0;
  Status status = Status::InProgress;
  bool* stopped = nullptr;
  static void callback(void* c, Status s) {
    auto* t = static_cast<Tracked*>(c);
    if (t->finished) ++t->after_final;
    if (s == Status::InProgress) {
      ++t->started;
      if (t->stopped) *t->stopped = false;
    } else {
      ++t->finished;
      t->status = s;
    }
  }
};

class ComposeContract : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, ComposeContract,
                         ::testing::Values("xts(aes)", "rfc3686(ctr(aes))", "essiv(cbc(aes),sha256)"),
                         [](const auto& i) { return std::string(i.param).substr(0, std::string(i.param).find('(')); });

TEST_P(ComposeContract, BusyAndInProgressArePassedOn) {
  EngineRegistry e;
  auto t = e.registry.alloc_skcipher(GetParam());
  ASSERT_TRUE(t);
  auto plain = backend("openssl");
  host::register_compositions(*plain, {.module = ""});
  auto ref = plain->alloc_skcipher(GetParam());
  ASSERT_TRUE(ref);
  Bytes key(t->info().max_key_bytes);
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i * 5 + 2);
  ASSERT_EQ(t->set_key(key), Status::Ok);
  ASSERT_EQ(ref->set_key(key), Status::Ok);
  std::mt19937 random(42);
  for (const bool polite : {true, false}) {  // polite: stops after Busy until told to go on
    std::vector<Tracked> all(1000);
    bool stopped = false;
    int busy = 0, steps = 0;
    for (auto& x : all) {
      size_t n = 16 + random() % 600;
      n -= n % (t->info().name == "xts(aes)" ? 1 : t->info().block_bytes);
      x.data.resize(n);
      x.iv.resize(16);
      for (auto& b : x.data) b = static_cast<uint8_t>(random());
      for (auto& b : x.iv) b = static_cast<uint8_t>(random());
      x.want = x.data;
      Bytes iv = x.iv;
      const bool enc = random() % 2;
      ASSERT_EQ(crypt(*ref, enc, x.want, iv), Status::Ok);
      x.segment = {x.data.data(), n};
      x.list = ScatterList(&x.segment, 1);
      x.r.src = x.r.dst = &x.list;
      x.r.size_bytes = n;
      x.r.iv = x.iv.data();
      x.r.flags = crypto::kMayBacklog;
      x.r.complete = Tracked::callback;
      x.r.context = &x;
      x.stopped = &stopped;
      while (polite && stopped) {
        ASSERT_LT(++steps, 100000) << "waiting to be told InProgress";
        ASSERT_TRUE(e.engine->step());
      }
      x.submitted = enc ? t->encrypt(x.r) : t->decrypt(x.r);
      ASSERT_TRUE(accepted(x.submitted)) << errno_name(x.submitted);
      if (x.submitted == Status::Busy) {
        ++busy;
        stopped = true;
      }
      if (random() % 3 == 0) e.engine->step();
    }
    for (int i = 0; e.engine->step(); ++i) ASSERT_LT(i, 100000);
    EXPECT_GT(busy, 100);
    for (const auto& x : all) {
      ASSERT_EQ(x.finished, 1);
      ASSERT_EQ(x.after_final, 0);
      ASSERT_EQ(x.status, Status::Ok);
      ASSERT_EQ(x.started, x.submitted == Status::Busy ? 1 : 0);
      ASSERT_EQ(to_hex(x.data), to_hex(x.want));
    }
  }
}

TEST_P(ComposeContract, RefusalAndErrorsComeBack) {
  EngineRegistry e;
  auto t = e.registry.alloc_skcipher(GetParam());
  ASSERT_EQ(t->set_key(Bytes(t->info().max_key_bytes, 9)), Status::Ok);
  std::vector<Tracked> all(4);
  for (auto& x : all) {
    x.data.resize(48);
    x.iv.resize(16);
    x.segment = {x.data.data(), 48};
    x.list = ScatterList(&x.segment, 1);
    x.r.src = x.r.dst = &x.list;
    x.r.size_bytes = 48;
    x.r.iv = x.iv.data();
    x.r.complete = Tracked::callback;
    x.r.context = &x;
  }
  EXPECT_EQ(t->encrypt(all[0].r), Status::InProgress);
  EXPECT_EQ(t->encrypt(all[1].r), Status::InProgress);
  EXPECT_EQ(t->encrypt(all[2].r), Status::NoSpace);
  e.engine->fail_next = 2;
  for (int i = 0; e.engine->step(); ++i) ASSERT_LT(i, 100);
  EXPECT_EQ(all[0].finished, 1);
  EXPECT_EQ(all[0].status, Status::Ok);
  EXPECT_EQ(all[1].finished, 1);
  EXPECT_EQ(all[1].status, Status::Io);
  EXPECT_EQ(all[2].finished + all[2].started, 0);
  EXPECT_EQ(all[2].data, Bytes(48)) << "a refused request is unchanged";
  // The states of refused and failed requests can be used again.
  for (int i = 0; i < 100; ++i) {
    all[3].finished = 0;
    ASSERT_EQ(t->encrypt(all[3].r), Status::InProgress);
    while (e.engine->step()) {
    }
    ASSERT_EQ(all[3].finished, 1);
  }
}

// The stolen block's request finds the queue full, by one that moved up from the backlog. The caller did not allow a
// backlog, but its request has been accepted: it waits there, and nothing is told.
TEST(ComposeContractXts, SecondRequestMeetsAFullQueue) {
  EngineRegistry e;
  auto t = e.registry.alloc_skcipher("xts(aes)");
  auto ref = e.software->alloc_skcipher("xts-aes-openssl");
  ASSERT_TRUE(t && ref);
  Bytes key(32);
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i);
  ASSERT_EQ(t->set_key(key), Status::Ok);
  ASSERT_EQ(ref->set_key(key), Status::Ok);
  std::vector<Tracked> all(3);
  for (size_t i = 0; i < all.size(); ++i) {
    Tracked& x = all[i];
    x.data.assign(37, static_cast<uint8_t>(i));
    x.want = x.data;
    x.iv.resize(16);
    Bytes iv = x.iv;
    ASSERT_EQ(crypt(*ref, true, x.want, iv), Status::Ok);
    x.segment = {x.data.data(), x.data.size()};
    x.list = ScatterList(&x.segment, 1);
    x.r.src = x.r.dst = &x.list;
    x.r.size_bytes = x.data.size();
    x.r.iv = x.iv.data();
    x.r.flags = i == 2 ? uint32_t{crypto::kMayBacklog} : 0u;
    x.r.complete = Tracked::callback;
    x.r.context = &x;
    EXPECT_EQ(t->encrypt(x.r), i == 2 ? Status::Busy : Status::InProgress);
  }
  for (int i = 0; e.engine->step(); ++i) ASSERT_LT(i, 100);
  for (const auto& x : all) {
    EXPECT_EQ(x.finished, 1);
    EXPECT_EQ(x.status, Status::Ok) << errno_name(x.status);
    EXPECT_EQ(x.started, &x == &all[2] ? 1 : 0);
    EXPECT_EQ(to_hex(x.data), to_hex(x.want));
  }
}

// The final callback destroys the transform and the request.
TEST_P(ComposeContract, CallbackMayDestroy) {
  EngineRegistry e;
  struct Owner {
    std::unique_ptr<crypto::Skcipher> t;
    std::unique_ptr<SkcipherRequest> r;
    bool called = false;
  } owner{e.registry.alloc_skcipher(GetParam()), std::make_unique<SkcipherRequest>()};
  ASSERT_EQ(owner.t->set_key(Bytes(owner.t->info().max_key_bytes, 9)), Status::Ok);
  Bytes data(GetParam() == std::string_view("xts(aes)") ? 37 : 32), iv(16);
  Segment s{data.data(), data.size()};
  ScatterList l(&s, 1);
  owner.r->src = owner.r->dst = &l;
  owner.r->size_bytes = data.size();
  owner.r->iv = iv.data();
  owner.r->context = &owner;
  owner.r->complete = [](void* c, Status) {
    auto* o = static_cast<Owner*>(c);
    o->called = true;
    o->r.reset();
    o->t.reset();
  };
  ASSERT_EQ(owner.t->encrypt(*owner.r), Status::InProgress);
  for (int i = 0; e.engine->step(); ++i) ASSERT_LT(i, 10);
  EXPECT_TRUE(owner.called);
  EXPECT_FALSE(owner.t);
}

// Disk users take implementations that do not allocate per request: not even the first 64 in flight do.
TEST_P(ComposeContract, NothingIsAllocatedForARequest) {
  EngineRegistry e;
  std::vector<Tracked> all(64);
  for (auto& x : all) {
    x.data.resize(4096);
    x.iv.resize(16);
    x.segment = {x.data.data(), GetParam() == std::string_view("xts(aes)") ? 4093u : 4096u};
    x.list = ScatterList(&x.segment, 1);
    x.r.src = x.r.dst = &x.list;
    x.r.size_bytes = x.segment.size_bytes;
    x.r.iv = x.iv.data();
    x.r.flags = crypto::kMayBacklog;
    x.r.complete = Tracked::callback;
    x.r.context = &x;
  }
  uint64_t news = 0;
  for (int round = 0; round < 2; ++round) {  // the first warms up the engine below, not the new transform of the second
    auto t = e.registry.alloc_skcipher(GetParam());
    ASSERT_EQ(t->set_key(Bytes(t->info().max_key_bytes, 9)), Status::Ok);
    const uint64_t before = g_news;
    for (auto& x : all)
      if (!accepted(t->encrypt(x.r))) FAIL();
    while (e.engine->step()) {
    }
    news = g_news - before;
  }
  EXPECT_EQ(news, 0u);
  for (const auto& x : all) EXPECT_EQ(x.finished, 2);
}

TEST(ComposeScratch, ComesFromTheDeviceMemoryAndIsGivenBack) {
  EngineRegistry e;
  driver::DmaSpace dma(1 << 20, 0x10000000);
  const size_t before = dma.allocated_bytes();
  {
    auto t = host::compose_xts(e.registry, "ecb-aes-engine", nullptr, {.dma = &dma});
    ASSERT_EQ(t->set_key(Bytes(64, 3)), Status::Ok);
    int seen = 0;
    e.engine->saw = [&](const SkcipherRequest& r) {
      ++seen;
      EXPECT_TRUE(dma.contains(r.src->segments[0].data, r.src->segments[0].size_bytes));
    };
    Bytes iv(16);
    size_t steady = 0;
    for (int i = 0; i < 50; ++i) {
      Bytes data(4100, static_cast<uint8_t>(i));
      Segment s{data.data(), data.size()};
      ScatterList l(&s, 1);
      SkcipherRequest r;
      r.src = r.dst = &l;
      r.size_bytes = data.size();
      r.iv = iv.data();
      ASSERT_EQ(run(*t, true, r, [&] { e.engine->step(); }), Status::Ok);
      if (i == 0) steady = dma.allocated_bytes();
      EXPECT_EQ(dma.allocated_bytes(), steady);
    }
    EXPECT_EQ(seen, 100) << "two ECB requests each";
    EXPECT_GT(steady, before);
  }
  EXPECT_EQ(dma.allocated_bytes(), before);
  // Device memory used up: a clean refusal.
  driver::DmaSpace small(4096, 0, 0);
  auto t = host::compose_xts(e.registry, "ecb-aes-engine", nullptr, {.dma = &small});
  ASSERT_EQ(t->set_key(Bytes(64, 3)), Status::Ok);
  Bytes data(8192), iv(16);
  EXPECT_EQ(crypt(*t, true, data, iv), Status::NoMemory);
}

// One flush ends everything, the second ECB request of a stolen block included.
TEST(ComposeFlush, EndsWhatWasSubmitted) {
  auto registry = backend("ipsecmb");
  auto t = host::compose_xts(*registry, "ecb-aes-ipsecmb");
  if (!t) GTEST_SKIP() << "ipsec-mb does not run here";
  ASSERT_EQ(t->set_key(Bytes(32)), Status::Ok);
  Tracked x;
  x.data.resize(37);
  x.iv.resize(16);
  x.segment = {x.data.data(), 37};
  x.list = ScatterList(&x.segment, 1);
  x.r.src = x.r.dst = &x.list;
  x.r.size_bytes = 37;
  x.r.iv = x.iv.data();
  x.r.complete = Tracked::callback;
  x.r.context = &x;
  ASSERT_EQ(t->encrypt(x.r), Status::InProgress);
  t->flush();
  EXPECT_EQ(x.finished, 1);
  t.reset();
}

TEST(ComposeTeardown, BatchedRequestsEndBeforeTheTransform) {
  auto registry = backend("ipsecmb");
  auto t = host::compose_xts(*registry, "ecb-aes-ipsecmb");
  if (!t) GTEST_SKIP() << "ipsec-mb does not run here";
  ASSERT_EQ(t->set_key(Bytes(32)), Status::Ok);
  std::vector<Tracked> all(5);
  for (auto& x : all) {
    x.data.resize(37);
    x.iv.resize(16);
    x.segment = {x.data.data(), 37};
    x.list = ScatterList(&x.segment, 1);
    x.r.src = x.r.dst = &x.list;
    x.r.size_bytes = 37;
    x.r.iv = x.iv.data();
    x.r.complete = Tracked::callback;
    x.r.context = &x;
    ASSERT_EQ(t->encrypt(x.r), Status::InProgress);
  }
  t.reset();
  for (const auto& x : all) {
    EXPECT_EQ(x.finished, 1);
    EXPECT_EQ(x.status, Status::Ok);
    EXPECT_EQ(to_hex(x.data), to_hex(all[0].data));
  }
}

}  // namespace
}  // namespace sec::test
