// The oracle must be able to fail: a reference with one rule off by one may not agree with the engine. Each knob moves the
// reference's completion clocks, and only its knob does.
#include <gtest/gtest.h>

#include "hw/regs/map.h"
#include "hw/tlm/sec_device.h"
#include "tests/model/reference.h"

namespace sec::test {
namespace {

struct Log : hw::EngineObserver {
  std::vector<Ended> ended;
  void channel_state(uint64_t, unsigned, regs::ChannelState) override {}
  void channel_descriptor(uint64_t, unsigned, BusAddr, unsigned) override {}
  void fetch_fifo(uint64_t, unsigned, unsigned) override {}
  void descriptor_end(uint64_t clock, unsigned channel, BusAddr at, uint32_t error) override { ended.push_back({clock, channel, at, error}); }
  void unit_owner(uint64_t, regs::Eu, int) override {}
  void unit_fifo(uint64_t, regs::Eu, uint32_t, uint32_t, bool) override {}
  void bus(uint64_t, int, bool, BusAddr, uint32_t) override {}
  void lines(uint64_t, uint32_t) override {}
};

struct Twist {
  const char* knob;  // of the reference only; empty: none
  bool same;
};
std::ostream& operator<<(std::ostream& o, const Twist& t) { return o << (*t.knob ? t.knob : "nothing_changed"); }
class OracleCanFail : public testing::TestWithParam<Twist> {};

TEST_P(OracleCanFail, WhenOneRuleIsOffByOne) {
  const regs::Part& part = regs::default_part();
  const hw::Timing timing = hw::Timing::for_part(part);
  hw::Timing twisted = timing;
  if (*GetParam().knob) twisted.set(GetParam().knob);
  BenchMemory em, rm;
  for (BenchMemory* m : {&em, &rm}) {
    std::mt19937 g(5);
    for (unsigned c = 0; c < kChannels; ++c)
      for (unsigned i = 0; i < kSlots; ++i) m->build(c, i, random_shape(g, false, &part), g);
  }
  hw::TimedEngine e(part, timing, em.map);
  Log log;
  e.set_observer(&log);
  Reference ref("reference", part, twisted, rm.map);
  const uint64_t period = hw::Clocks(twisted).period_ps;
  for (unsigned c = 0; c < kChannels; ++c)
    e.write32(regs::kChannelBase(c) + regs::kCCCR.offset_bytes + 4, static_cast<uint32_t>(regs::kCCCR.mask("CDWE")));
  // Every channel gets a descriptor every 1800 clocks.
  for (unsigned i = 0; i < kSlots; ++i) {
    const uint64_t clock = 10 + 1800 * i;
    while (e.run(clock)) {}
    e.set_now(clock);
    for (unsigned c = 0; c < kChannels; ++c)
      e.write32(regs::kChannelBase(c) + regs::kFF.offset_bytes + 4, static_cast<uint32_t>(BenchMemory::slot(c, i)));
  }
  while (e.run(hw::kNever - 1)) {}
  sc_core::sc_spawn([&] {
    for (unsigned i = 0; i < kSlots; ++i) {
      sc_core::wait(sc_core::sc_time::from_value((10 + 1800 * i) * period + 2500) - sc_core::sc_time_stamp());
      for (unsigned c = 0; c < kChannels; ++c)
        ref.submit(c, BenchMemory::slot(c, i));
    }
  });
  sc_core::sc_start();
  auto sorted = [](std::vector<Ended> v) {
    std::stable_sort(v.begin(), v.end(), [](const Ended& a, const Ended& b) { return std::pair(a.clock, a.channel) < std::pair(b.clock, b.channel); });
    return v;
  };
  ASSERT_EQ(log.ended.size(), size_t{kSlots * kChannels});
  ASSERT_EQ(ref.log.size(), log.ended.size());
  EXPECT_EQ(sorted(log.ended) == sorted(ref.log), GetParam().same);
  EXPECT_EQ(em.hash(), rm.hash()) << "time does not change what is computed";
}
INSTANTIATE_TEST_SUITE_P(Each, OracleCanFail,
                         testing::Values(Twist{"", true}, Twist{"engine.posted_write_clocks=9", false}, Twist{"engine.posted_write_clocks=7", false},
                                         Twist{"memory.read_latency_ns=103.3", false}, Twist{"memory.read_latency_ns=96.6", false},
                                         Twist{"engine.unit_grant_clocks=5", false}, Twist{"engine.unit_reset_clocks=3", false},
                                         Twist{"engine.interrupt_clocks=3", false}, Twist{"aesu.block_load_clocks=2", false},
                                         Twist{"deu.rounds_per_clock=0.98", false}, Twist{"engine.reads_in_flight=1", false},
                                         Twist{"engine.reads_in_flight=3", false}, Twist{"engine.fifo_bytes=248", false},
                                         Twist{"engine.bus_bytes_per_clock=7", false}, Twist{"mdeu.block_load_clocks=2", false}, Twist{"mdeu.steps_per_clock=0.98", false}, Twist{"engine.watchdog_clocks=99999", true}),
                         [](const auto& i) {
                           std::string s = *i.param.knob ? i.param.knob : "nothing_changed";
                           for (char& c : s)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return s;
                         });

}  // namespace
}  // namespace sec::test
