// The seam for units that are advanced clock by clock: the same bytes as the functional unit on both executors, and on the
// timed one the same completion clocks; errors in mid-stream; resets at successive clocks.
#include "tests/model/bench_memory.h"
#include "tests/model/clocked_double.h"
#include "tests/model/rig.h"

namespace sec::test {
namespace {
namespace ce = regs::channel_error;
namespace ee = regs::eu_error;
using regs::Eu;

ClockedAes& swap_in(hw::Engine& e) {
  auto u = std::make_unique<ClockedAesu>(e.timing());
  ClockedAes& inner = u->inner;
  e.replace_unit(std::move(u));
  return inner;
}

struct Mix {
  unsigned seed;
  bool faults, resets;
  std::vector<const char*> knobs;
};
std::ostream& operator<<(std::ostream& o, const Mix& m) {
  return o << "seed" << m.seed << (m.faults ? "_faults" : "") << (m.resets ? "_resets" : "") << "_knobs" << m.knobs.size();
}
class ClockedMix : public testing::TestWithParam<Mix> {};

struct Outcome {
  std::vector<Witness::End> ended;
  uint64_t hash = 0, loads = 0;
};

Outcome timed_mix(const Mix& mix, bool clocked) {
  hw::Timing t = hw::Timing::for_part(regs::default_part());
  for (const char* k : mix.knobs) t.set(k);
  BenchMemory m;
  std::mt19937 g(mix.seed);
  for (unsigned c = 0; c < kChannels; ++c)
    for (unsigned i = 0; i < kSlots; ++i) m.build(c, i, random_shape(g, mix.faults), g);
  hw::TimedEngine e(regs::default_part(), t, m.map);
  ClockedAes* unit = clocked ? &swap_in(e) : nullptr;
  Witness w;
  e.set_observer(&w);
  for (unsigned c = 0; c < kChannels; ++c) e.write32(regs::kChannelBase(c) + regs::kCCCR.offset_bytes + 4, kCdwe | kCdie);
  unsigned next[kChannels] = {};
  uint64_t clock = 10;
  for (unsigned k = 0; k < 400; ++k) {
    while (e.run(clock)) {}
    e.set_now(clock);
    const unsigned c = g() % kChannels;
    const uint32_t dice = g() % 100;
    if (e.channel(c).halted || (mix.resets && dice < 5)) {
      e.write32(regs::kChannelBase(c) + regs::kCCCR.offset_bytes, kContinue);
    } else {
      for (uint32_t n = 1 + g() % 3; n; --n)
        if (next[c] < kSlots) e.write32(regs::kChannelBase(c) + regs::kFF.offset_bytes + 4, lo(BenchMemory::slot(c, next[c]++)));
    }
    clock += 1 + g() % 900;
  }
  while (e.run(hw::kNever - 1)) {}
  return {w.ended, m.hash(), unit ? unit->loads : 0};
}

TEST_P(ClockedMix, SameClocksAndBytesAsTheFunctionalUnit) {
  const Outcome a = timed_mix(GetParam(), false), b = timed_mix(GetParam(), true);
  ASSERT_GT(a.ended.size(), 30u);
  EXPECT_GT(b.loads, 10u) << "the double was really in use";
  for (size_t i = 0; i < std::min(a.ended.size(), b.ended.size()); ++i)
    ASSERT_TRUE(a.ended[i] == b.ended[i]) << "entry " << i << ": functional unit clock " << a.ended[i].clock << " channel " << a.ended[i].channel
                                          << " error " << std::hex << a.ended[i].error << std::dec << ", clocked unit clock " << b.ended[i].clock
                                          << " channel " << b.ended[i].channel << " error " << std::hex << b.ended[i].error;
  EXPECT_EQ(a.ended.size(), b.ended.size());
  EXPECT_EQ(a.hash, b.hash);
}
INSTANTIATE_TEST_SUITE_P(
    Each, ClockedMix,
    testing::Values(Mix{1, false, false, {}}, Mix{2, false, false, {}}, Mix{3, true, false, {}}, Mix{4, true, false, {}}, Mix{5, true, true, {}},
                    Mix{6, false, true, {}}, Mix{7, true, true, {"memory.read_latency_ns=20", "engine.fifo_bytes=128"}},
                    Mix{8, false, false, {"memory.read_latency_ns=3", "engine.reads_in_flight=4", "engine.posted_write_clocks=1"}},
                    Mix{9, false, false, {"memory.read_latency_ns=1000", "engine.posted_write_clocks=200", "engine.fifo_bytes=128"}},
                    Mix{10, true, true, {"aesu.rounds_per_clock=16", "aesu.block_load_clocks=0"}},
                    Mix{11, false, false, {"aesu.rounds_per_clock=0.25"}}),
    testing::PrintToStringParamName());

class ClockedUnitTest : public testing::TestWithParam<Executor> {
 protected:
  Rig r{"p2020", GetParam()};
  ClockedAes& unit = swap_in(*r.engine);
  void SetUp() override {
    for (unsigned n = 0; n < 4; ++n) r.configure(n, kCdwe | kCdie);
  }
};
INSTANTIATE_TEST_SUITE_P(Each, ClockedUnitTest, testing::Values(Executor::Functional, Executor::Timed),
                         [](const auto& i) { return name_of(i.param); });

TEST_P(ClockedUnitTest, EveryModeAndKey) {
  for (const uint8_t mode : {0x00, 0x01, 0x02, 0x03, 0x06})
    for (const uint16_t key : {16, 24, 32})
      for (const uint16_t bytes : {16, 256, 1600}) {
        Job j;
        j.mode = mode, j.key_bytes = key, j.in_bytes = j.out_bytes = bytes;
        if (mode < 2) j.iv_bytes = j.iv_out_bytes = 0;
        r.run(0, j, mode + key);
        EXPECT_EQ(r.errors(0), 0u);
        EXPECT_EQ(r.get(j.out(), bytes), r.expected(j)) << int{mode} << " " << key << " " << bytes;
      }
}

TEST_P(ClockedUnitTest, SameIvOutWhenOutputIsCutShort) {
  for (const uint16_t out : {0, 5, 16, 100, 250}) {
    Job j;
    j.out_bytes = out;
    const BusAddr where = kLow + 0x20000 + 0x8000 * (out % 7);
    j.at = where;
    r.run(0, j);
    const Bytes want = r.expected(j);
    EXPECT_EQ(r.errors(0), 0u);
    EXPECT_EQ(r.get(j.out(), out), Bytes(want.begin(), want.begin() + out));
    EXPECT_TRUE(Rig::untouched(r.get(j.out() + out, 256)));
    EXPECT_EQ(r.get(j.iv_out(), 16), Bytes(want.end() - 16, want.end())) << "all of the input has gone through the unit: " << out;
  }
}

TEST(ClockedUnitTiming, SameClocksWhenOutputIsCutShort) {
  for (const uint16_t out : {0, 5, 16, 100, 200, 250})
    for (const uint8_t mode : {0x02, 0x03, 0x06}) {
      uint64_t clock[2];
      for (int c = 0; c < 2; ++c) {
        Rig r("p2020", Executor::Timed);
        if (c) swap_in(*r.engine);
        r.configure(0, kCdwe);
        Job j;
        j.out_bytes = out, j.mode = mode;
        r.run(0, j);
        clock[c] = r.witness.ended.at(0).clock;
      }
      EXPECT_EQ(clock[0], clock[1]) << out << " of 256 bytes, mode " << int{mode};
    }
}

TEST_P(ClockedUnitTest, LoadErrors) {
  Job j;
  j.key_bytes = 17;
  r.run(0, j);
  EXPECT_EQ(r.errors(0), ce::kEu);
  EXPECT_EQ(r.eu(Eu::Aesu, regs::kEuInterruptStatus), ee::kKse);
  r.control(0, kContinue);
  j.key_bytes = 16, j.in_bytes = 20;
  r.settle();
  r.run(0, j);
  EXPECT_EQ(r.eu(Eu::Aesu, regs::kEuInterruptStatus), ee::kDse);
}

TEST_P(ClockedUnitTest, ErrorAtABlock) {
  for (const unsigned block : {0u, 1u, 4u, 7u, 15u}) {
    unit.fail_at_block = block;
    Job j;
    j.at = kLow + 0x8000 * block;
    r.run(1, j);
    EXPECT_EQ(r.errors(1), ce::kEu);
    EXPECT_EQ(r.eu(Eu::Aesu, regs::kEuInterruptStatus), ee::kIe);
    EXPECT_FALSE(r.marked_done(j.at));
    EXPECT_EQ(r.isr(), regs::channel_error_irq(1));
    const Bytes want = r.expected(j);
    EXPECT_EQ(r.get(j.out(), 16 * block), Bytes(want.begin(), want.begin() + 16 * block)) << "what came out before";
    EXPECT_TRUE(Rig::untouched(r.get(j.out() + 16 * block, 512))) << block;
    EXPECT_TRUE(Rig::untouched(r.get(j.iv_out(), 16)));
    unit.fail_at_block = ~uint64_t{0};
    r.clear(regs::channel_error_irq(1));
    r.control(1, kContinue);
    r.settle();
    const Job good = Job::aes(kLow + 0x80000);
    r.run(1, good);
    EXPECT_EQ(r.get(good.out(), 256), r.expected(good));
    r.clear(regs::channel_done(1));
    EXPECT_EQ(r.isr(), 0u);
  }
}

TEST_P(ClockedUnitTest, ErrorAtAnyClock) {
  for (uint64_t tick = 0; tick < 175; ++tick) {  // 16 blocks of 11 clocks, and the wait for the first one
    unit.fail_at_tick = tick;
    Job j;
    j.at = kLow + 0x8000 * (tick % 16);
    std::fill_n(r.at(j.out()), 512, 0xEE);
    r.run(1, j);
    ASSERT_EQ(r.errors(1), ce::kEu) << tick;
    ASSERT_FALSE(r.marked_done(j.at));
    const Bytes want = r.expected(j), got = r.get(j.out(), 512);
    size_t same = 0;
    while (same < 256 && got[same] == want[same]) ++same;
    ASSERT_EQ(same % 16, 0u) << tick;
    ASSERT_TRUE(Rig::untouched(Bytes(got.begin() + static_cast<long>(same), got.end()))) << tick;
    unit.fail_at_tick = ~uint64_t{0};
    r.control(1, kContinue);
    r.settle();
  }
  const Job good = Job::aes(kLow + 0x80000);
  r.run(1, good);
  EXPECT_EQ(r.get(good.out(), 256), r.expected(good));
}

TEST_P(ClockedUnitTest, InjectedErrorAndBusErrors) {
  r.engine->inject_unit_error(1, 100);
  Job j;
  r.run(1, j);
  EXPECT_EQ(r.errors(1), ce::kEu);
  const Bytes want = r.expected(j);
  EXPECT_EQ(r.get(j.out(), 96), Bytes(want.begin(), want.begin() + 96));
  EXPECT_TRUE(Rig::untouched(r.get(j.out() + 96, 256)));
  r.engine->inject_unit_error(1, ~uint64_t{0});
  for (const bool input : {true, false}) {
    r.control(1, kContinue);
    r.settle();
    j.at += 0x8000;
    r.map.inject_fault(input ? j.in() + 130 : j.out() + 130, 1);
    r.run(1, j);
    r.map.clear_faults();
    EXPECT_EQ(r.errors(1), ce::kMdte);
    const Bytes w = r.expected(j);
    EXPECT_EQ(r.get(j.out(), 128), Bytes(w.begin(), w.begin() + 128)) << input;
    EXPECT_TRUE(Rig::untouched(r.get(j.out() + 128, 256))) << input;
  }
}

TEST_P(ClockedUnitTest, SlaveMode) {
  const Bytes key = pattern(16, 1), iv = pattern(16, 2), in = pattern(160, 3);
  auto window = [&](uint32_t at, const Bytes& b) {
    for (uint32_t i = 0; i < b.size(); i += 4) r.wr(regs::kAesuBase + at + i, load_be32(&b[i]));
  };
  r.set_eu(Eu::Aesu, regs::kEuMode, 3);
  window(0x100, iv);
  window(0x400, key);
  r.set_eu(Eu::Aesu, regs::kEuKeySize, 16);
  r.set_eu(Eu::Aesu, regs::kEuDataSize, 8 * 160);
  for (size_t i = 0; i < 160; i += 8) window(0x800, Bytes(in.begin() + static_cast<long>(i), in.begin() + static_cast<long>(i) + 8));
  Bytes out;
  for (size_t i = 0; i < 160; i += 8) {
    Bytes w(8);
    store_be32(w.data(), r.rd(regs::kAesuBase + 0x800));
    store_be32(w.data() + 4, r.rd(regs::kAesuBase + 0x804));
    out.insert(out.end(), w.begin(), w.end());
  }
  EXPECT_EQ(out, cipher("AES-128-CBC", key, iv, in, true));
}

TEST_P(ClockedUnitTest, UnitThatStopsAnsweringDoesNotHangTheSimulation) {
  unit.stop_after_blocks = 5;
  Job j;
  r.load(j);
  r.submit(1, j.at);
  if (GetParam() == Executor::Functional) {
    EXPECT_EQ(r.errors(1), ce::kEu);
    EXPECT_EQ(r.engine->notes().count("clocked unit stopped answering"), 1u);
  } else {
    r.pass(20000);  // the channel waits, like a hung one, until it is reset
    EXPECT_EQ(r.errors(1), 0u);
    EXPECT_EQ(r.state(1), regs::ChannelState::Run);
    r.control(1, kReset);
    r.settle();
  }
  const Bytes want = r.expected(j);
  EXPECT_EQ(r.get(j.out(), 64), Bytes(want.begin(), want.begin() + 64));
  EXPECT_TRUE(Rig::untouched(r.get(j.out() + 80, 256)));
}

TEST(ClockedUnitTiming, ResetAtSuccessiveClocks) {
  for (uint64_t clock = 100; clock < 400; ++clock) {
    Rig r("p2020", Executor::Timed);
    swap_in(*r.engine);
    for (unsigned n = 0; n < 2; ++n) r.configure(n, kCdwe | kCdie);
    Job j = Job::aes(kLow);
    j.in_bytes = j.out_bytes = 512;
    const Job other = Job::aes(kLow + 0x10000), again = Job::aes(kLow + 0x20000);
    r.load(j);
    r.load(other);
    r.load(again);
    r.submit(0, j.at);
    r.submit(0, again.at);
    r.submit(1, other.at);
    r.pass(clock);
    r.control(0, clock % 2 ? kReset : kContinue);
    if (clock % 2) r.configure(0, kCdwe | kCdie);
    const Bytes at_reset = r.get(j.out(), 512), want = r.expected(j);
    size_t same = 0;
    while (same < 512 && at_reset[same] == want[same]) ++same;
    ASSERT_TRUE(Rig::untouched(Bytes(at_reset.begin() + static_cast<long>(same), at_reset.end()))) << clock;
    r.settle();
    ASSERT_EQ(r.get(j.out(), 512), at_reset) << "nothing written after the reset at " << clock;
    ASSERT_FALSE(r.marked_done(j.at)) << clock;
    ASSERT_EQ(r.marked_done(again.at), clock % 2 == 0) << clock;
    ASSERT_TRUE(r.marked_done(other.at)) << clock;
    ASSERT_EQ(r.get(other.out(), 256), r.expected(other)) << clock;
    ASSERT_EQ(r.errors(0) | r.errors(1), 0u);
    r.submit(0, again.at);
    *r.at(again.at) = 0x60;
    again.descriptor().store(r.at(again.at));
    r.settle();
    ASSERT_EQ(r.get(again.out(), 256), r.expected(again)) << clock;
  }
}

}  // namespace
}  // namespace sec::test
