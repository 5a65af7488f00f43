// The crypto layer by itself: registry, self-test, queue, DES keys, DMA space. No engine.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "driver/crypto/des_key.h"
#include "driver/crypto/queue.h"
#include "driver/crypto/registry.h"
#include "driver/crypto/selftest.h"
#include "driver/crypto/vectors.h"
#include "driver/platform/dma.h"

namespace sec::test {
namespace {

using namespace sec::crypto;

// --- Registry -------------------------------------------------------------------------------------------------

/// Answers the known vectors from the table, so that one fault at a time can be put in.
enum class Fault {
  None,
  WrongResult,
  WrongIv,
  Overrun,
  ChangesRequest,
  TakesAnyKey,
  NeverCompletes,
  CompletesTwice,
  Late
};

class TableCipher final : public Skcipher {
 public:
  TableCipher(const AlgorithmInfo& info, Fault fault, std::deque<std::function<void()>>* later)
      : info_(info), fault_(fault), later_(later) {}
  const AlgorithmInfo& info() const override { return info_; }
  Status set_key(std::span<const uint8_t> key, uint32_t) override {
    if (fault_ != Fault::TakesAnyKey && key.size() != 16 && key.size() != 24 && key.size() != 32)
      return Status::Invalid;
    key_.assign(key.begin(), key.end());
    return Status::Ok;
  }
  Status encrypt(SkcipherRequest& r) override { return run(r, true); }
  Status decrypt(SkcipherRequest& r) override { return run(r, false); }

 private:
  Status run(SkcipherRequest& r, bool encrypt) {
    std::vector<uint8_t> in(r.size_bytes);
    if (!copy_from(r.src, 0, in.data(), in.size())) return Status::Invalid;
    for (const CipherVector& v : cipher_vectors()) {
      if (v.algorithm != info_.name || from_hex(v.key) != key_ || from_hex(encrypt ? v.plain : v.cipher) != in)
        continue;
      std::vector<uint8_t> out = from_hex(encrypt ? v.cipher : v.plain), iv = from_hex(v.iv_out);
      if (fault_ == Fault::WrongResult) out.back() ^= 1;
      if (!copy_to(r.dst, 0, out.data(), out.size())) return Status::Invalid;
      if (fault_ != Fault::WrongIv) std::copy(iv.begin(), iv.end(), r.iv);
      if (fault_ == Fault::Overrun) {
        const Segment& last = r.dst->segments[r.dst->count - 1];
        last.data[last.size_bytes] = 0;
      }
      if (fault_ == Fault::ChangesRequest) r.size_bytes -= 1;
      if (fault_ == Fault::NeverCompletes) return Status::InProgress;
      if (fault_ == Fault::CompletesTwice) r.complete(r.context, Status::Ok);
      if (fault_ == Fault::CompletesTwice) r.complete(r.context, Status::Ok);
      if (fault_ == Fault::CompletesTwice) return Status::InProgress;
      if (fault_ == Fault::Late) {
        later_->push_back([c = r.complete, x = r.context] { c(x, Status::Ok); });
        return Status::InProgress;
      }
      return Status::Ok;
    }
    return Status::Invalid;
  }
  const AlgorithmInfo& info_;
  Fault fault_;
  std::deque<std::function<void()>>* later_;
  std::vector<uint8_t> key_;
};

AlgorithmInfo cbc(const std::string& driver, int priority) {
  return {.name = "cbc(aes)",
          .driver = driver,
          .module = "test",
          .priority = priority,
          .block_bytes = 16,
          .min_key_bytes = 16,
          .max_key_bytes = 32,
          .iv_bytes = 16};
}
Algorithm algorithm(const AlgorithmInfo& info, Fault fault, std::deque<std::function<void()>>* later = nullptr) {
  auto kept = std::make_shared<AlgorithmInfo>(info);
  return {info, [kept, fault, later] { return std::make_unique<TableCipher>(*kept, fault, later); }, {}};
}

TEST(Registry, PicksByPriorityOrByDriverName) {
  Registry r;
  EXPECT_EQ(r.add(algorithm(cbc("slow", 100), Fault::None)), Status::Ok);
  EXPECT_EQ(r.add(algorithm(cbc("fast", 3000), Fault::None)), Status::Ok);
  EXPECT_EQ(r.add(algorithm(cbc("middle", 200), Fault::None)), Status::Ok);
  EXPECT_EQ(r.alloc_skcipher("cbc(aes)")->info().driver, "fast");
  EXPECT_EQ(r.alloc_skcipher("slow")->info().driver, "slow");
  EXPECT_EQ(r.remove("fast"), Status::Ok);
  EXPECT_EQ(r.remove("fast"), Status::NoEntry);
  EXPECT_EQ(r.alloc_skcipher("cbc(aes)")->info().driver, "middle");
  Status s = Status::Ok;
  EXPECT_EQ(r.alloc_skcipher("xts(aes)", &s), nullptr);
  EXPECT_EQ(s, Status::NoEntry);
  EXPECT_EQ(r.alloc_hash("cbc(aes)", &s), nullptr);
  EXPECT_EQ(s, Status::NoEntry);
}

TEST(Registry, RefusesWhatIsInconsistent) {
  Registry r;
  EXPECT_EQ(r.add(algorithm(cbc("a", 1), Fault::None)), Status::Ok);
  EXPECT_EQ(r.add(algorithm(cbc("a", 2), Fault::None)), Status::Invalid);
  AlgorithmInfo i = cbc("b", 1);
  i.min_key_bytes = 33;
  EXPECT_EQ(r.add(algorithm(i, Fault::None)), Status::Invalid);
  i = cbc("b", 1);
  i.block_bytes = 0;
  EXPECT_EQ(r.add(algorithm(i, Fault::None)), Status::Invalid);
  EXPECT_EQ(r.add({cbc("b", 1), {}, {}}), Status::Invalid);
  EXPECT_EQ(r.list().size(), 1u);
}

TEST(SelfTest, CatchesEveryFault) {
  const std::pair<Fault, const char*> faults[] = {
      {Fault::WrongResult, "wrong result"},     {Fault::WrongIv, "wrong output IV"},
      {Fault::Overrun, "outside the segments"}, {Fault::ChangesRequest, "request was changed"},
      {Fault::TakesAnyKey, "a key of 0 bytes"}, {Fault::NeverCompletes, "never completed"},
      {Fault::CompletesTwice, "more than once"}};
  for (const auto& [fault, text] : faults) {
    Registry r;
    unsigned pumped = 0;
    r.set_pump([&] { return ++pumped < 10; });
    EXPECT_EQ(r.add(algorithm(cbc("broken", 9), fault)), Status::BadMessage) << text;
    EXPECT_EQ(r.add(algorithm(cbc("good", 1), Fault::None)), Status::Ok);
    EXPECT_NE(r.selftest_failure("broken").find(text), std::string::npos) << r.selftest_failure("broken");
    EXPECT_EQ(r.list()[0].selftest, SelfTest::Failed);
    EXPECT_EQ(r.alloc_skcipher("cbc(aes)")->info().driver, "good");
    EXPECT_EQ(r.alloc_skcipher("broken"), nullptr);
  }
}

TEST(SelfTest, PumpsUntilTheCompletion) {
  Registry r;
  std::deque<std::function<void()>> later;
  unsigned pumped = 0;
  r.set_pump([&] {
    if (++pumped % 7 || later.empty()) return true;
    later.front()();
    later.pop_front();
    return true;
  });
  EXPECT_EQ(r.add(algorithm(cbc("late", 9), Fault::Late, &later)), Status::Ok) << r.selftest_failure("late");
  EXPECT_GT(pumped, 7u);
}

TEST(SelfTest, ComparesMetadataWithTheAlgorithm) {
  Registry r;
  AlgorithmInfo i = cbc("x", 1);
  i.iv_bytes = 0;
  EXPECT_EQ(r.add(algorithm(i, Fault::None)), Status::BadMessage);
  EXPECT_NE(r.selftest_failure("x").find("IV size is 0, should be 16"), std::string::npos);
  i = cbc("y", 1);
  i.block_bytes = 1;
  EXPECT_EQ(r.add(algorithm(i, Fault::None)), Status::BadMessage);
}

TEST(SelfTest, UnknownNamesStayUnknown) {
  Registry r;
  AlgorithmInfo i = cbc("z", 1);
  i.name = "cbc(camellia)";
  EXPECT_EQ(r.add(algorithm(i, Fault::WrongResult)), Status::Ok);
  EXPECT_EQ(r.list()[0].selftest, SelfTest::Unknown);
  EXPECT_NE(r.alloc_skcipher("cbc(camellia)"), nullptr);
}

TEST(ProcCrypto, HasTheKernelsFields) {
  AlgorithmInfo i = cbc("ctr-aes-talitos", 3000);
  i.name = "ctr(aes)";
  i.module = "talitos";
  i.block_bytes = 1;
  i.async = true;
  i.selftest = SelfTest::Passed;
  EXPECT_EQ(format_proc(i),
            "name         : ctr(aes)\n"
            "driver       : ctr-aes-talitos\n"
            "module       : talitos\n"
            "priority     : 3000\n"
            "refcnt       : 1\n"
            "selftest     : passed\n"
            "internal     : no\n"
            "type         : skcipher\n"
            "async        : yes\n"
            "blocksize    : 1\n"
            "min keysize  : 16\n"
            "max keysize  : 32\n"
            "ivsize       : 16\n"
            "chunksize    : 1\n"
            "walksize     : 1\n"
            "statesize    : 0\n\n");
  AlgorithmInfo h{.name = "sha1",
                  .driver = "sha1-x",
                  .module = "m",
                  .priority = 1,
                  .type = AlgorithmType::Hash,
                  .block_bytes = 64,
                  .digest_bytes = 20};
  EXPECT_NE(format_proc(h).find("type         : shash\nblocksize    : 64\ndigestsize   : 20\n"), std::string::npos);
}

// --- Queue ----------------------------------------------------------------------------------------------------

struct Node {
  Node* next = nullptr;
  int id = 0;
  int told = 0;
};

TEST(Queue, BacklogFollowsTheKernelsRule) {
  for (const size_t limit : {0u, 1u, 2u, 23u}) {
    BoundedQueue<Node> q(limit);
    std::vector<Node> n(60);
    for (int i = 0; i < 60; ++i) {
      n[size_t(i)].id = i;
      const bool may = i % 3 != 2;
      const Status s = q.enqueue(&n[size_t(i)], may);
      const Status want = q.size() <= limit && s == Status::InProgress ? Status::InProgress
                          : may                                        ? Status::Busy
                                                                       : Status::NoSpace;
      EXPECT_EQ(s, want);
      if (s == Status::NoSpace) n[size_t(i)].id = -1;
      if (s == Status::InProgress) n[size_t(i)].told = 1;
    }
    int last = -1;
    for (Node* started = nullptr; Node* x = q.dequeue(&started);) {
      if (started) ++started->told;
      EXPECT_GT(x->id, last);
      EXPECT_EQ(x->told, 1) << "told before it is worked on, limit " << limit;
      last = x->id;
    }
    for (const Node& x : n) EXPECT_EQ(x.told, x.id < 0 ? 0 : 1);
    EXPECT_TRUE(q.empty());
  }
}

// --- Lists ----------------------------------------------------------------------------------------------------

// K08: a walk that has what it wants looks at nothing more: not at the next entry, not at the next array. Here both are
// addresses that fault.
TEST(ScatterWalk, LooksNoFurtherThanItMust) {
  uint8_t data[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, out[12] = {};
  const auto* nowhere = reinterpret_cast<const ScatterList*>(16);
  const Segment both[] = {{data, 5}, {data + 5, 0}, {data + 5, 7}};
  const Segment first[] = {{data, 5}}, second[] = {{data + 5, 7}};
  const ScatterList last_before_chain(both, 3, nowhere);
  EXPECT_TRUE(copy_from(&last_before_chain, 0, out, 12));
  EXPECT_EQ(std::memcmp(out, data, 12), 0);
  ScatterList tail(second, 1, nowhere), chained(first, 1, &tail);
  std::memset(out, 0, sizeof out);
  EXPECT_TRUE(copy_from(&chained, 3, out, 9));
  EXPECT_EQ(std::memcmp(out, data + 3, 9), 0);
  const ScatterList longer(first, 1, nowhere);
  EXPECT_TRUE(copy_from(&longer, 5, out, 0)) << "nothing is wanted, so nothing is looked at";
  EXPECT_TRUE(copy_to(&longer, 0, out, 5));
}

TEST(ScatterWalk, ListsThatEndTooEarly) {
  uint8_t data[8] = {}, out[16] = {};
  const Segment s[] = {{data, 3}, {nullptr, 0}, {data + 3, 5}, {data, 0}};
  const ScatterList empty, list(s, 4), before_empty(s, 1, &empty);
  EXPECT_TRUE(copy_from(&list, 0, out, 8));
  EXPECT_FALSE(copy_from(&list, 0, out, 9));
  EXPECT_FALSE(copy_from(&list, 9, out, 0));
  EXPECT_TRUE(copy_from(&list, 8, out, 0));
  EXPECT_FALSE(copy_from(nullptr, 0, out, 1));
  EXPECT_TRUE(copy_from(nullptr, 0, out, 0));
  EXPECT_FALSE(copy_to(&before_empty, 0, out, 4));
  EXPECT_FALSE(ScatterWalk(&list).skip(9));
}

// --- DMA space ------------------------------------------------------------------------------------------------

TEST(DmaSpace, AllocatesAlignedZeroedBlocksThatDoNotOverlap) {
  driver::DmaSpace d(1 << 20, 0x3'0000'0000, 0);
  std::mt19937 rng(3);
  std::vector<std::pair<uint8_t*, size_t>> live;
  for (int i = 0; i < 3000; ++i) {
    if (rng() % 2 || live.empty()) {
      const size_t n = 1 + rng() % 3000, align = size_t{16} << rng() % 6;
      auto* p = static_cast<uint8_t*>(d.alloc(n, align));
      if (!p) continue;
      EXPECT_EQ(d.bus_addr(p) % align, 0u);
      for (size_t k = 0; k < n; ++k) ASSERT_EQ(p[k], 0);
      for (const auto& [q, m] : live) ASSERT_TRUE(p + n <= q || q + m <= p);
      std::memset(p, 0xff, n);
      live.emplace_back(p, n);
    } else {
      const size_t k = rng() % live.size();
      d.free(live[k].first);
      live[k] = live.back();
      live.pop_back();
    }
  }
  for (const auto& [p, n] : live) d.free(p);
  EXPECT_EQ(d.allocated_bytes(), 0u);
  void* all = d.alloc(1 << 20, 4096);  // everything has been merged again
  EXPECT_NE(all, nullptr);
  EXPECT_EQ(d.alloc(16), nullptr);
}

TEST(DmaSpace, BouncesThroughContiguousSlots) {
  driver::DmaSpace d(1 << 20, 0x1000, 4, 256);
  std::vector<uint8_t> m(700, 7);
  const driver::Mapping a = d.map(m.data(), 700, driver::Direction::Bidirectional);
  ASSERT_TRUE(a.ok);
  EXPECT_EQ(d.bounce_slots_used(), 3u);
  EXPECT_EQ(d.host_ptr(a.addr)[699], 7);
  EXPECT_FALSE(d.map(m.data(), 300, driver::Direction::ToDevice).ok);
  const driver::Mapping b = d.map(m.data(), 256, driver::Direction::ToDevice);
  ASSERT_TRUE(b.ok);
  std::memset(d.host_ptr(a.addr), 9, 700);
  std::memset(d.host_ptr(b.addr), 1, 256);
  d.unmap(b);
  EXPECT_EQ(m[0], 7);
  d.unmap(a);
  EXPECT_EQ(m[699], 9);
  EXPECT_EQ(d.bounce_slots_used(), 0u);
  EXPECT_FALSE(d.map(m.data(), 0, driver::Direction::ToDevice).ok);
  uint8_t* inside = d.base() + 100;
  EXPECT_EQ(d.map(inside, 50, driver::Direction::ToDevice).addr, 0x1064u);
}

}  // namespace
}  // namespace sec::test
