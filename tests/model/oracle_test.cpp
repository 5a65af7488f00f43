// The cycle-approximate engine against the slow reference: same completion clocks, same order, same errors, same
// memory, over random mixes with doorbells at random clocks, wrong descriptors, bus errors, resets and continues.
// Each case runs the same stimuli four times: the reference and the SystemC device side by side in one simulation (so
// that the device never is alone), and the bare engine running ahead from stimulus to stimulus, with and without short cuts.
#include <gtest/gtest.h>

#include "hw/core/functional.h"
#include "hw/regs/map.h"
#include "hw/tlm/sec_device.h"
#include "tests/model/reference.h"

namespace sec::test {
namespace {

constexpr uint32_t kConfig = static_cast<uint32_t>(regs::kCCCR.mask("CDWE") | regs::kCCCR.mask("CDIE") | regs::kCCCR.mask("IWSE"));
constexpr uint32_t kReset = static_cast<uint32_t>(regs::kCCCR.mask("R") >> 32), kContinue = static_cast<uint32_t>(regs::kCCCR.mask("CON") >> 32);

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
  std::vector<Ended> sorted() const { return sort(ended); }
  static std::vector<Ended> sort(std::vector<Ended> v) {
    std::stable_sort(v.begin(), v.end(), [](const Ended& a, const Ended& b) { return std::pair(a.clock, a.channel) < std::pair(b.clock, b.channel); });
    return v;
  }
};

struct Scenario {
  unsigned seed;
  const char* part;
  double latency_ns;
  bool faults, resets;
  uint32_t gap;  // clocks between stimuli, at most
  unsigned weights = 0;  // MCR: unit counts of channels 2 and 3, bus counts of both, a nibble each from the top; 0: round robin
};
std::ostream& operator<<(std::ostream& o, const Scenario& s) {
  return o << s.part << "_seed" << s.seed << "_latency" << s.latency_ns << (s.faults ? "_faults" : "") << (s.resets ? "_resets" : "") << "_gap" << s.gap
           << (s.weights ? "_weighted" : "");
}

/// The stimuli, decided by what the model under test shows (which must be the same for all of them).
struct Stimuli {
  std::mt19937 g;
  const Scenario& s;
  unsigned next[kChannels] = {};
  uint64_t clock = 10;
  int left;

  explicit Stimuli(const Scenario& sc) : g(sc.seed), s(sc), left(static_cast<int>(240000 / std::min(sc.gap, 600u))) {}
  /// One stimulus; M: submit(channel, address), reset(channel, keep), halted(channel), waiting(channel).
  template <class M>
  void act(M&& m) {
    const unsigned c = g() % kChannels;
    const uint32_t dice = g() % 100, count = 1 + g() % 3;
    if (m.halted(c)) {
      m.reset(c, dice % 2);
    } else if (s.resets && dice < 4 && g() % 600 < s.gap) {
      m.reset(c, dice % 2);
    } else {
      for (uint32_t k = 0; k < count; ++k)
        if (next[c] < kSlots && m.waiting(c) < 20) m.submit(c, BenchMemory::slot(c, next[c]++));
    }
    clock += 1 + g() % s.gap;
    --left;
  }
  bool more() const { return left > 0; }
};

void build(BenchMemory& m, const Scenario& s, const regs::Part& part) {
  std::mt19937 g(s.seed * 7919 + 1);
  for (unsigned c = 0; c < kChannels; ++c)
    for (unsigned i = 0; i < kSlots; ++i) m.build(c, i, random_shape(g, s.faults, &part), g);
}

uint32_t mcr_of(const Scenario& s) {
  const unsigned w = s.weights;
  return (w >> 12 & 3) << 22 | (w >> 8 & 3) << 20 | (w >> 4 & 3) << 18 | (w & 3) << 16;
}

void configure(hw::Engine& e, unsigned c) { e.write32(regs::kChannelBase(c) + regs::kCCCR.offset_bytes + 4, kConfig); }

template <class Write>
struct RegisterSide {
  hw::Engine& e;
  Write write;
  void submit(unsigned c, BusAddr a) { write(regs::kChannelBase(c) + regs::kFF.offset_bytes + 4, static_cast<uint32_t>(a)); }
  void reset(unsigned c, bool keep) {
    write(regs::kChannelBase(c) + regs::kCCCR.offset_bytes, keep ? kContinue : kReset);
    if (!keep) write(regs::kChannelBase(c) + regs::kCCCR.offset_bytes + 4, kConfig);
  }
  bool halted(unsigned c) { return e.channel(c).halted; }
  size_t waiting(unsigned c) { return e.channel(c).fifo_level; }
};
template <class W>
RegisterSide(hw::Engine&, W) -> RegisterSide<W>;

class Oracle : public testing::TestWithParam<Scenario> {};

TEST_P(Oracle, EngineEqualsReference) {
  sc_core::sc_report_handler::set_actions("/OSCI/SystemC", sc_core::SC_DO_NOTHING);
  const Scenario& s = GetParam();
  const regs::Part& part = *regs::find_part(s.part);
  hw::Timing timing = hw::Timing::for_part(part);
  timing.set("memory.read_latency_ns", s.latency_ns);
  const uint64_t period = hw::Clocks(timing).period_ps;

  // Bare engine, twice.
  std::vector<Ended> bare[2];
  uint64_t bare_hash[2];
  for (int cuts = 0; cuts < 2; ++cuts) {
    BenchMemory m;
    build(m, s, part);
    hw::TimedEngine e(part, timing, m.map);
    e.set_short_cuts(cuts);
    Log log;
    e.set_observer(&log);
    for (unsigned c = 0; c < kChannels; ++c) configure(e, c);
    e.write32(regs::kControllerBase + regs::kMCR.offset_bytes, mcr_of(s));
    e.write32(regs::kMdeuBase + regs::kEuInterruptControl.offset_bytes + 4, s.seed % 2 ? static_cast<uint32_t>(regs::eu_error::kIce) : 0);
    Stimuli st(s);
    RegisterSide side{e, [&](uint32_t o, uint32_t v) { e.write32(o, v); }};
    while (st.more()) {
      while (e.run(st.clock)) {}
      e.set_now(st.clock);
      st.act(side);
    }
    while (e.run(hw::kNever - 1)) {}
    bare[cuts] = log.sorted();
    bare_hash[cuts] = m.hash();
  }

  // Reference and device in one simulation.
  BenchMemory rm, dm;
  build(rm, s, part);
  build(dm, s, part);
  Reference ref("reference", part, timing, rm.map);
  ref.icv_write_back = true;
  for (unsigned k = 0; k < 2; ++k) {
    ref.unit_counts[k] = s.weights >> (12 - 4 * k) & 3;
    ref.bus_counts[k] = s.weights >> (4 - 4 * k) & 3;
  }
  const uint32_t ice = s.seed % 2 ? static_cast<uint32_t>(regs::eu_error::kIce) : 0;  // masked: a wrong ICV is a verdict only
  ref.mdeu().write32(regs::kEuInterruptControl.offset_bytes + 4, ice);
  hw::SecDevice dev("sec", part, timing);
  dev.memory_map() = dm.map;
  Log log;
  dev.engine().set_observer(&log);
  // Every interrupt must be delivered at the very clock of the completion.
  std::vector<uint64_t> delivered;
  dev.on_interrupt = [&](unsigned, bool up) {
    if (!up) return;
    const uint32_t isr = dev.read32(regs::kControllerBase + regs::kISR.offset_bytes);
    EXPECT_NE(isr, 0u);
    delivered.push_back(dev.clock_now());
    for (int k = 0; k < 20 && dev.read32(regs::kControllerBase + regs::kISR.offset_bytes); ++k)
      dev.write32(regs::kControllerBase + regs::kICR.offset_bytes, 0xffffffff);
  };
  Stimuli rs(s), ds(s);
  RegisterSide side{dev.engine(), [&](uint32_t o, uint32_t v) { dev.write32(o, v); }};
  sc_core::sc_spawn([&] {
    dev.write32(regs::kControllerBase + regs::kIMR.offset_bytes, 0xff);
    dev.write32(regs::kControllerBase + regs::kMCR.offset_bytes, mcr_of(s));
    dev.write32(regs::kMdeuBase + regs::kEuInterruptControl.offset_bytes + 4, ice);
    for (unsigned c = 0; c < kChannels; ++c) dev.write32(regs::kChannelBase(c) + regs::kCCCR.offset_bytes + 4, kConfig);
    while (ds.more()) {
      sc_core::wait(sc_core::sc_time::from_value(ds.clock * period + 2500) - sc_core::sc_time_stamp());
      dev.synchronize();
      ds.act(side);
    }
  });
  sc_core::sc_spawn([&] {
    while (rs.more()) {
      sc_core::wait(sc_core::sc_time::from_value(rs.clock * period + 2500) - sc_core::sc_time_stamp());
      rs.act(ref);
    }
  });
  sc_core::sc_start();

  const auto expected = Log::sort(ref.log);
  ASSERT_GT(expected.size(), 20u);
  auto same = [&](const std::vector<Ended>& got, const char* what) {
    for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i)
      ASSERT_TRUE(got[i] == expected[i]) << what << " entry " << i << ": clock " << got[i].clock << " channel " << got[i].channel << " at "
                                         << std::hex << got[i].at << " error " << got[i].error << ", reference clock " << std::dec
                                         << expected[i].clock << " channel " << expected[i].channel << " at " << std::hex << expected[i].at
                                         << " error " << expected[i].error;
    ASSERT_EQ(got.size(), expected.size()) << what;
  };
  same(bare[0], "bare engine");
  same(bare[1], "bare engine with short cuts");
  same(log.sorted(), "device");
  EXPECT_EQ(bare_hash[0], rm.hash());
  EXPECT_EQ(bare_hash[1], rm.hash());
  dev.publish();
  EXPECT_EQ(dm.hash(), rm.hash());
  size_t d = 0;
  for (const Ended& e : expected) {
    while (d < delivered.size() && delivered[d] < e.clock) ++d;
    ASSERT_TRUE(d < delivered.size() && delivered[d] == e.clock) << "no interrupt at clock " << e.clock;
  }
  // The mix is what it says: single units, hashes, pairs, and verdicts of both kinds among those that ended well.
  size_t kinds[4] = {}, verdicts[2] = {};
  for (const Ended& e : expected) {
    if (e.error) continue;
    const regs::Descriptor d = regs::Descriptor::load(rm.at(e.at));
    const unsigned type = d.header >> 3 & 0x1f;
    ++kinds[type == 1 ? 0 : type == 4 ? 1 : rm.is_hash(e.channel, e.at) ? 2 : 3];
    verdicts[0] += d.iccr0() != regs::IntegrityCheck::None;
    verdicts[1] += d.iccr1() != regs::IntegrityCheck::None;
  }
  if (expected.size() > 60) {
    for (size_t n : kinds) EXPECT_GT(n, 0u);
  }
  RecordProperty("ipsec_esp", static_cast<int>(kinds[0]));
  RecordProperty("verdicts", static_cast<int>(verdicts[0] + verdicts[1]));
  RecordProperty("descriptors", static_cast<int>(expected.size()));
}

std::vector<Scenario> scenarios() {
  std::vector<Scenario> v;
  for (unsigned seed = 1; seed <= 24; ++seed)
    v.push_back({seed, seed % 3 == 0 ? "mpc8548" : seed % 3 == 1 ? "p2020" : "mpc8572", seed % 4 == 0 ? 30.0 : seed % 4 == 1 ? 100.0 : 333.0,
                 seed % 2 == 0, seed % 5 > 1, seed % 3 == 0 ? 60u : seed % 3 == 1 ? 600u : 3000u});
  for (const unsigned weights : {0x1111u, 0x3333u, 0x1200u, 0x0031u, 0x2123u, 0x0101u})
    v.push_back({100 + weights, "p2020", 100.0, weights % 2 == 0, false, 60u, weights});
  return v;
}
INSTANTIATE_TEST_SUITE_P(Mixes, Oracle, testing::ValuesIn(scenarios()), testing::PrintToStringParamName());

/// Functional and timed: equal memory, registers and interrupt order per channel.
class Fidelity : public testing::TestWithParam<unsigned> {};
TEST_P(Fidelity, FunctionalEqualsApprox) {
  const unsigned seed = GetParam();
  const regs::Part& part = *regs::find_part(seed % 2 ? "p2020" : "mpc8548");
  const hw::Timing timing = hw::Timing::for_part(part);
  size_t descriptors = 0;
  for (unsigned round = 0; round < 16; ++round) {
    const Scenario s{seed * 100 + round, "", 0, round % 2 == 1, false, 1};
    BenchMemory fm, tm;
    build(fm, s, part);
    build(tm, s, part);
    hw::FunctionalEngine f(part, timing, fm.map);
    hw::TimedEngine t(part, timing, tm.map);
    Log fl, tl;
    f.set_observer(&fl);
    t.set_observer(&tl);
    std::mt19937 g(s.seed);
    std::vector<unsigned> order;
    for (unsigned i = 0; i < kSlots * kChannels; ++i) order.push_back(i % kChannels);
    std::shuffle(order.begin(), order.end(), g);
    auto drive = [&](hw::Engine& e, auto settle) {
      unsigned next[kChannels] = {};
      for (unsigned c = 0; c < kChannels; ++c) configure(e, c);
      e.write32(regs::kControllerBase + regs::kIMR.offset_bytes, 0xfff);
      for (unsigned c : order) {
        e.write32(regs::kChannelBase(c) + regs::kFF.offset_bytes + 4, static_cast<uint32_t>(BenchMemory::slot(c, next[c]++)));
        settle(c);
        if (e.channel(c).halted) {
          e.write32(regs::kChannelBase(c) + regs::kCCCR.offset_bytes, kContinue);
          settle(c);
        }
      }
    };
    drive(f, [](unsigned) {});
    drive(t, [&](unsigned c) {
      // Up to three per channel may be waiting; an error is dealt with before the next doorbell.
      for (;;) {
        if (t.channel(c).halted || (t.channel(c).fifo_level < 3 && round % 3)) break;
        if (!t.run(hw::kNever - 1) && !t.busy()) break;
      }
    });
    for (;;) {
      bool again = t.run(hw::kNever - 1);
      for (unsigned c = 0; c < kChannels; ++c)
        if (t.channel(c).halted) t.write32(regs::kChannelBase(c) + regs::kCCCR.offset_bytes, kContinue), again = true;
      if (!again) break;
    }
    auto per_channel = [](const Log& l, unsigned c) {
      std::vector<std::pair<BusAddr, uint32_t>> v;
      for (const Ended& e : l.ended)
        if (e.channel == c) v.push_back({e.at, e.error});
      return v;
    };
    for (unsigned c = 0; c < kChannels; ++c) {
      ASSERT_EQ(per_channel(fl, c), per_channel(tl, c)) << "round " << round << " channel " << c;
      descriptors += per_channel(fl, c).size();
    }
    ASSERT_EQ(fm.hash(), tm.hash()) << "round " << round;
    for (uint32_t off = 0x1000; off < 0x1500; off += 4) ASSERT_EQ(f.read32(off), t.read32(off)) << std::hex << off;
  }
  EXPECT_EQ(descriptors, 16u * kSlots * kChannels);
}
INSTANTIATE_TEST_SUITE_P(Mixes, Fidelity, testing::Range(1u, 5u));

}  // namespace
}  // namespace sec::test
