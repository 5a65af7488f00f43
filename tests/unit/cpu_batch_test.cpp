// What batching must not change: results do not depend on how jobs are grouped, lanes do not mix, order is kept,
// callbacks may do anything, nothing is read beyond a buffer, every code path of the library gives the same.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <random>

#include "tests/support/crypto_run.h"
#include "tests/unit/cpu_support.h"

namespace sec::test {
namespace {

using crypto::ScatterList;
using crypto::Segment;
using crypto::SkcipherRequest;

struct Job {
  crypto::Skcipher* tfm = nullptr;
  crypto::Skcipher* reference = nullptr;
  bool encrypt = true;
  Bytes data, iv, want, want_iv;
  Segment segments[2];
  ScatterList list;
  SkcipherRequest r;
  std::vector<int>* order = nullptr;
  int id = 0;
  int called = 0;
  Status status = Status::InProgress;
};

// Random jobs over several transforms with different keys, key sizes, directions and lengths.
class Mix {
 public:
  Mix(crypto::Registry& registry, const std::string& algorithm, unsigned seed, int transforms) : random_(seed) {
    auto reference = backend("openssl");
    for (int i = 0; i < transforms; ++i) {
      tfms_.push_back(registry.alloc_skcipher(algorithm));
      refs_.push_back(reference->alloc_skcipher(algorithm));
      if (!tfms_.back()) return;
      const auto& info = tfms_.back()->info();
      Bytes key(info.min_key_bytes + random_() % ((info.max_key_bytes - info.min_key_bytes) / 8 + 1) * 8);
      for (auto& k : key) k = static_cast<uint8_t>(random_());
      EXPECT_EQ(tfms_.back()->set_key(key), Status::Ok);
      EXPECT_EQ(refs_.back()->set_key(key), Status::Ok);
    }
    ok_ = true;
  }
  bool ok() const { return ok_; }
  void make(Job& j, size_t max_bytes) {
    const size_t t = random_() % tfms_.size();
    j.tfm = tfms_[t].get();
    const size_t block = j.tfm->info().block_bytes;
    size_t n = random_() % max_bytes + 1;
    n = std::max(n - n % block, block);
    j.data.resize(n);
    j.iv.resize(16);
    for (auto& b : j.data) b = static_cast<uint8_t>(random_());
    for (auto& b : j.iv) b = static_cast<uint8_t>(random_());
    if (random_() % 5 == 0) j.iv[12] = j.iv[13] = j.iv[14] = j.iv[15] = 0xff;
    j.encrypt = random_() % 2;
    j.want = j.data;
    j.want_iv = j.iv;
    Segment s{j.want.data(), n};
    ScatterList l(&s, 1);
    SkcipherRequest r;
    r.src = r.dst = &l;
    r.size_bytes = n;
    r.iv = j.want_iv.data();
    EXPECT_EQ(run(*refs_[t], j.encrypt, r), Status::Ok);
    const size_t cut = random_() % 4 == 0 && n > 1 ? random_() % n : n;
    j.segments[0] = {j.data.data(), cut};
    j.segments[1] = {j.data.data() + cut, n - cut};
    j.list = ScatterList(j.segments, 2);
    j.r = SkcipherRequest{};
    j.r.src = j.r.dst = &j.list;
    j.r.size_bytes = n;
    j.r.iv = j.iv.data();
    j.r.context = &j;
    j.r.complete = [](void* c, Status s) {
      auto* job = static_cast<Job*>(c);
      ++job->called;
      job->status = s;
      if (job->order) job->order->push_back(job->id);
    };
  }
  void drop_transforms() { tfms_.clear(); }
  std::mt19937 random_;

 private:
  bool ok_ = false;
  std::vector<std::unique_ptr<crypto::Skcipher>> tfms_, refs_;
};

Status submit(Job& j) { return j.encrypt ? j.tfm->encrypt(j.r) : j.tfm->decrypt(j.r); }
void verify(const Job& j) {
  ASSERT_EQ(j.called, 1) << j.id;
  ASSERT_EQ(j.status, Status::Ok) << j.id;
  ASSERT_EQ(to_hex(j.data), to_hex(j.want)) << j.id << (j.encrypt ? " enc " : " dec ") << j.data.size();
  ASSERT_EQ(to_hex(j.iv), to_hex(j.want_iv)) << j.id << " output IV";
}

const char* const kAlgorithms[] = {"ecb(aes)", "cbc(aes)", "ctr(aes)", "cbc(des)", "cbc(des3_ede)"};

TEST(CpuBatch, ResultsDoNotDependOnGrouping) {
  for (const unsigned burst : {1u, 3u, 8u, 32u, 128u}) {
    crypto::Registry registry;
    host::IpsecMbOptions o;
    o.burst = burst;
    if (!host::register_ipsecmb(registry, o)) GTEST_SKIP() << "ipsec-mb does not run here";
    for (const char* algorithm : kAlgorithms) {
      Mix mix(registry, algorithm, 7 * burst + 1, 5);
      if (!mix.ok()) continue;
      std::vector<Job> jobs(200);
      std::vector<int> order;
      for (int i = 0; i < 200; ++i) {
        jobs[static_cast<size_t>(i)].id = i;
        mix.make(jobs[static_cast<size_t>(i)], i % 3 ? 64 : 2000);
        jobs[static_cast<size_t>(i)].order = &order;
      }
      crypto::Skcipher* last = nullptr;
      for (auto& j : jobs) {
        ASSERT_EQ(submit(j), Status::InProgress);
        last = j.tfm;
        if (mix.random_() % 40 == 0) j.tfm->flush();
      }
      last->flush();
      for (const auto& j : jobs) verify(j);
      ASSERT_EQ(order.size(), jobs.size());
      for (int i = 0; i < 200; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i) << algorithm << ": order of completion";
      if (HasFailure()) return;
    }
  }
}

// A callback submits the next job, and some flush.
TEST(CpuBatch, CallbacksMaySubmitAndFlush) {
  crypto::Registry registry;
  if (!host::register_ipsecmb(registry)) GTEST_SKIP();
  Mix mix(registry, "cbc(aes)", 99, 3);
  static std::vector<Job> jobs;
  static size_t next;
  jobs = std::vector<Job>(1000);
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].id = static_cast<int>(i);
    mix.make(jobs[i], 300);
    jobs[i].r.complete = [](void* c, Status s) {
      auto* j = static_cast<Job*>(c);
      ++j->called;
      j->status = s;
      if (next < jobs.size()) {
        EXPECT_EQ(submit(jobs[next++]), Status::InProgress);
      }
      if (j->id % 7 == 0 && j->id < 300) j->tfm->flush();
    };
  }
  for (next = 0; next < 40;) ASSERT_EQ(submit(jobs[next++]), Status::InProgress);
  crypto::Skcipher* any = jobs[0].tfm;
  for (int i = 0; i < 2000 && !jobs.back().called; ++i) any->flush();
  for (const auto& j : jobs) verify(j);
}

// A closed loop stays inside one call for ever; it has to go on with the same few batches.
TEST(CpuBatch, ClosedLoopUsesTheSameMemory) {
  crypto::Registry registry;
  registry.set_selftest_enabled(false);
  host::IpsecMbOptions o;
  o.stats = std::make_shared<host::IpsecMbStats>();
  if (!host::register_ipsecmb(registry, o)) GTEST_SKIP();
  struct Loop {
    std::unique_ptr<crypto::Skcipher> tfm;
    SkcipherRequest requests[64];
    unsigned left = 20000;
    unsigned next = 0, finished = 0;
  } loop;
  loop.tfm = registry.alloc_skcipher("cbc(aes)");
  ASSERT_EQ(loop.tfm->set_key(Bytes(16, 1)), Status::Ok);
  Bytes data(64), iv(16);
  Segment s{data.data(), data.size()};
  ScatterList l(&s, 1);
  for (SkcipherRequest& r : loop.requests) {
    r.src = r.dst = &l;
    r.size_bytes = 64;
    r.iv = iv.data();
    r.context = &loop;
    r.complete = [](void* c, Status) {
      auto* p = static_cast<Loop*>(c);
      ++p->finished;
      if (!p->left) return;
      --p->left;
      EXPECT_EQ(p->tfm->encrypt(p->requests[p->next++ % 64]), Status::InProgress);
      if (p->left % 501 == 0) p->tfm->flush();  // nested
    };
  }
  for (SkcipherRequest& r : loop.requests) ASSERT_EQ(loop.tfm->encrypt(r), Status::InProgress);
  for (int i = 0; i < 1000 && loop.finished < 20064; ++i) loop.tfm->flush();
  EXPECT_EQ(loop.finished, 20064u);
  EXPECT_LE(o.stats->batch_buffers, 8u);
}

TEST(CpuBatch, TeardownAndNewKeyCompleteWhatIsPending) {
  crypto::Registry registry;
  if (!host::register_ipsecmb(registry)) GTEST_SKIP();
  for (const char* algorithm : kAlgorithms) {
    Mix mix(registry, algorithm, 5, 4);
    if (!mix.ok()) continue;
    std::vector<Job> jobs(13);
    for (auto& j : jobs) mix.make(j, 200);
    for (auto& j : jobs) ASSERT_EQ(submit(j), Status::InProgress);
    ASSERT_EQ(jobs[0].called, 0);
    ASSERT_EQ(jobs[0].tfm->set_key(Bytes(jobs[0].tfm->info().max_key_bytes, 0x31)), Status::Ok);
    for (auto& j : jobs) {
      if (j.tfm == jobs[0].tfm) verify(j);
    }
    mix.drop_transforms();
    for (auto& j : jobs) verify(j);
  }
  auto h = registry.alloc_hash("hmac(sha1)");
  ASSERT_EQ(h->set_key(Bytes(20, 0x0b)), Status::Ok);
  Bytes msg = from_hex("4869205468657265"), out(20);
  Segment s{msg.data(), msg.size()};
  ScatterList l(&s, 1);
  Done done;
  crypto::HashRequest r;
  r.src = &l;
  r.size_bytes = 8;
  r.digest = out.data();
  r.complete = Done::callback;
  r.context = &done;
  ASSERT_EQ(h->digest(r), Status::InProgress);
  h.reset();
  EXPECT_EQ(done.finished, 1);
  EXPECT_EQ(to_hex(out), "b617318655057264e28bc0b6fb378c8ef146be00");
}

// The last callback destroys requests and the transform itself.
TEST(CpuBatch, CallbackMayDestroyTheTransform) {
  struct Owner {
    std::unique_ptr<crypto::Skcipher> tfm;
    std::unique_ptr<std::array<SkcipherRequest, 5>> requests = std::make_unique<std::array<SkcipherRequest, 5>>();
    int finished = 0;
  } owner;
  Bytes data(5 * 64, 3), iv(16 * 5);
  std::array<Segment, 5> segments;
  std::array<ScatterList, 5> lists;
  {
    crypto::Registry registry;
    if (!host::register_ipsecmb(registry)) GTEST_SKIP();
    owner.tfm = registry.alloc_skcipher("cbc(aes)");
  }
  ASSERT_EQ(owner.tfm->set_key(Bytes(16, 1)), Status::Ok);
  for (size_t i = 0; i < 5; ++i) {
    segments[i] = {data.data() + 64 * i, 64};
    lists[i] = ScatterList(&segments[i], 1);
    SkcipherRequest& r = (*owner.requests)[i];
    r.src = r.dst = &lists[i];
    r.size_bytes = 64;
    r.iv = iv.data() + 16 * i;
    r.context = &owner;
    r.complete = [](void* c, Status) {
      auto* o = static_cast<Owner*>(c);
      if (++o->finished == 5) {
        o->requests.reset();
        o->tfm.reset();
      }
    };
    ASSERT_EQ(owner.tfm->encrypt(r), Status::InProgress);
  }
  owner.tfm->flush();
  EXPECT_EQ(owner.finished, 5);
  EXPECT_FALSE(owner.tfm);
}

// K06: the IV counts as read at submission.
TEST(CpuBatch, IvIsReadAtSubmission) {
  crypto::Registry registry;
  if (!host::register_ipsecmb(registry)) GTEST_SKIP();
  auto t = registry.alloc_skcipher("cbc(aes)");
  ASSERT_EQ(t->set_key(from_hex(kNistKey)), Status::Ok);
  Bytes data = from_hex(kNistPlain), iv = from_hex(kNistIv);
  Segment s{data.data(), data.size()};
  ScatterList l(&s, 1);
  SkcipherRequest r;
  r.src = r.dst = &l;
  r.size_bytes = data.size();
  r.iv = iv.data();
  Done done;
  r.complete = Done::callback;
  r.context = &done;
  ASSERT_EQ(t->encrypt(r), Status::InProgress);
  std::fill(iv.begin(), iv.end(), 0xcc);
  t->flush();
  EXPECT_EQ(done.finished, 1);
  EXPECT_EQ(to_hex(data.data() + 48, 16), "3ff1caa1681fac09120eca307586e1a7");
  EXPECT_EQ(to_hex(iv), "3ff1caa1681fac09120eca307586e1a7");
}

// M03, M04, M05: buffers that end at a page without access, every short length and every misalignment, alone
// and together with one long job.
TEST(CpuBatch, NothingBeyondTheBuffers) {
  crypto::Registry registry;
  if (!host::register_ipsecmb(registry)) GTEST_SKIP();
  auto reference = backend("openssl");
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* memory =
      static_cast<uint8_t*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  ASSERT_EQ(mprotect(memory + 3 * page, page, PROT_NONE), 0);
  Bytes other(2000, 1), other_iv(16);
  for (const char* algorithm : kAlgorithms) {
    auto t = registry.alloc_skcipher(algorithm), ref = reference->alloc_skcipher(algorithm);
    if (!t) continue;
    const Bytes key(t->info().max_key_bytes, 0x6b);
    ASSERT_EQ(t->set_key(key), Status::Ok);
    ASSERT_EQ(ref->set_key(key), Status::Ok);
    const size_t block = t->info().block_bytes;
    for (size_t n = block; n <= 100; n += block)
      for (const bool enc : {true, false})
        for (const bool company : {false, true}) {
          Bytes want(n), iv(16, 5), iv2 = iv;
          for (size_t i = 0; i < n; ++i) want[i] = static_cast<uint8_t>(i + n);
          uint8_t* in = memory + page - n;
          uint8_t* out = memory + 3 * page - n;
          std::memcpy(in, want.data(), n);
          Segment si{in, n}, so{out, n}, sw{want.data(), n}, sx{other.data(), 1600};
          ScatterList li(&si, 1), lo(&so, 1), lw(&sw, 1), lx(&sx, 1);
          SkcipherRequest r, x;
          Done done;
          x.src = x.dst = &lx;
          x.size_bytes = 1600;
          x.iv = other_iv.data();
          x.complete = Done::callback;
          x.context = &done;
          if (company) {
            ASSERT_EQ(t->encrypt(x), Status::InProgress);
          }
          r.src = &li;
          r.dst = &lo;
          r.size_bytes = n;
          r.iv = iv.data();
          ASSERT_EQ(run(*t, enc, r), Status::Ok);
          r.src = r.dst = &lw;
          r.iv = iv2.data();
          ASSERT_EQ(run(*ref, enc, r), Status::Ok);
          ASSERT_EQ(to_hex(out, n), to_hex(want)) << algorithm << " " << n;
          ASSERT_EQ(iv, iv2) << algorithm << " " << n;
          ASSERT_EQ(done.finished, company ? 1 : 0);
        }
  }
  for (const char* algorithm : {"sha1", "sha256", "hmac(md5)", "hmac(sha1)", "hmac(sha256)", "hmac(sha512)"}) {
    auto t = registry.alloc_hash(algorithm), ref = reference->alloc_hash(algorithm);
    ASSERT_TRUE(t && ref) << algorithm;
    if (std::string_view(algorithm).starts_with("hmac")) {
      ASSERT_EQ(t->set_key(Bytes(20, 2)), Status::Ok);
      ASSERT_EQ(ref->set_key(Bytes(20, 2)), Status::Ok);
    }
    for (size_t n = 0; n <= 150; ++n) {
      uint8_t* in = memory + page - n;
      for (size_t i = 0; i < n; ++i) in[i] = static_cast<uint8_t>(i * 3 + n);
      Segment s{in, n};
      ScatterList l(&s, 1);
      uint8_t a[64] = {}, b[64] = {};
      crypto::HashRequest r;
      r.src = &l;
      r.size_bytes = n;
      r.digest = a;
      ASSERT_EQ(run(*t, r), Status::Ok);
      r.digest = b;
      ASSERT_EQ(run(*ref, r), Status::Ok);
      ASSERT_EQ(to_hex(a, 64), to_hex(b, 64)) << algorithm << " " << n;
    }
  }
  munmap(memory, 4 * page);
}

// M06: the same with every code path of the library that this processor can run.
class CpuArch : public ::testing::TestWithParam<host::IpsecMbArch> {};
std::string arch_name(const ::testing::TestParamInfo<host::IpsecMbArch>& i) {
  static constexpr const char* kNames[] = {"Auto", "NoAesni", "Sse", "Avx", "Avx2", "Avx512NoVaes", "Avx512"};
  return kNames[static_cast<size_t>(i.param)];
}
INSTANTIATE_TEST_SUITE_P(All, CpuArch,
                         ::testing::Values(host::IpsecMbArch::NoAesni, host::IpsecMbArch::Sse, host::IpsecMbArch::Avx,
                                           host::IpsecMbArch::Avx2, host::IpsecMbArch::Avx512NoVaes,
                                           host::IpsecMbArch::Avx512),
                         arch_name);
TEST_P(CpuArch, SameResults) {
  crypto::Registry registry;
  host::IpsecMbOptions o;
  o.arch = GetParam();
  o.des_without_avx512 = true;
  if (!host::register_ipsecmb(registry, o))
    GTEST_SKIP() << "this code path is not available here (processor or library build)";
  for (const auto& a : registry.list())
    EXPECT_NE(a.selftest, crypto::SelfTest::Failed) << a.driver << ": " << registry.selftest_failure(a.driver);
  for (const char* algorithm : kAlgorithms) {
    Mix mix(registry, algorithm, 1234, 4);
    ASSERT_TRUE(mix.ok()) << algorithm;
    std::vector<Job> jobs(100);
    for (size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].id = static_cast<int>(i);
      mix.make(jobs[i], i % 4 ? 100 : 1500);
    }
    for (auto& j : jobs) ASSERT_EQ(submit(j), Status::InProgress);
    jobs[0].tfm->flush();
    for (const auto& j : jobs) {
      verify(j);
      if (HasFailure()) return;
    }
  }
}

TEST(CpuBatch, DesOnlyWithAvx512) {
  crypto::Registry registry;
  host::IpsecMbOptions o;
  o.arch = host::IpsecMbArch::Sse;
  if (!host::register_ipsecmb(registry, o)) GTEST_SKIP();
  EXPECT_TRUE(offers(registry, "cbc(aes)"));
  EXPECT_FALSE(offers(registry, "cbc(des)"));
  EXPECT_FALSE(offers(registry, "cbc(des3_ede)"));
}

TEST(CpuBatch, CountsWhatItDid) {
  crypto::Registry registry;
  registry.set_selftest_enabled(false);
  host::IpsecMbOptions o;
  o.stats = std::make_shared<host::IpsecMbStats>();
  if (!host::register_ipsecmb(registry, o)) GTEST_SKIP();
  auto t = registry.alloc_skcipher("ctr(aes)");
  ASSERT_EQ(t->set_key(Bytes(16)), Status::Ok);
  Bytes data(70000), iv(16, 0xff);
  Segment s{data.data(), data.size()}, two[2] = {{data.data(), 10}, {data.data() + 10, 90}};
  ScatterList l(&s, 1), cut(two, 2);
  SkcipherRequest r;
  r.src = r.dst = &l;
  r.iv = iv.data();
  r.size_bytes = 70000;
  ASSERT_EQ(run(*t, true, r), Status::Ok);
  r.size_bytes = 100;
  ASSERT_EQ(run(*t, true, r), Status::Ok);
  r.src = r.dst = &cut;
  ASSERT_EQ(run(*t, true, r), Status::Ok);
  EXPECT_EQ(o.stats->jobs, 3u);
  EXPECT_EQ(o.stats->batches, 3u);
  EXPECT_EQ(o.stats->cut, 1u);
  EXPECT_EQ(o.stats->linearised, 1u);
  EXPECT_EQ(o.stats->fallbacks, 0u);
}

}  // namespace
}  // namespace sec::test
