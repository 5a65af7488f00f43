// Channels and controller as software sees them: reset and continue, done counting, interrupt lines and masks, remapped
// channels, notification and write-back, 36-bit addresses, register values. SEC 2.1 and 3.1, functional and timed.
#include "tests/model/rig.h"

namespace sec::test {
namespace {
namespace ce = regs::channel_error;
using regs::Descriptor;
using regs::Eu;
using regs::LinkEntry;
using regs::PointerDword;

struct Where {
  const char* part;
  Executor executor;
};
std::ostream& operator<<(std::ostream& o, const Where& w) { return o << w.part << "_" << name_of(w.executor); }
class ChannelTest : public testing::TestWithParam<Where> {
 protected:
  Rig make(std::initializer_list<const char*> knobs = {}) {
    return Rig(GetParam().part, GetParam().executor, Rig::timing_of(GetParam().part, knobs));
  }
};
INSTANTIATE_TEST_SUITE_P(Each, ChannelTest,
                         testing::Values(Where{"mpc8548", Executor::Functional}, Where{"mpc8548", Executor::Timed},
                                         Where{"p2020", Executor::Functional}, Where{"p2020", Executor::Timed}),
                         testing::PrintToStringParamName());

constexpr uint32_t kController = regs::kControllerBase;

// ---- reset and continue ----

TEST_P(ChannelTest, ResetForgetsEverythingContinueKeepsFifoAndConfiguration) {
  for (const bool keep : {false, true}) {
    Rig r = make();
    r.configure(2, kCdwe | kCdie | kEae | kBs);
    Job bad = Job::aes(kLow);
    bad.key_bytes = 5;
    Job good[3] = {Job::aes(kLow + 0x10000), Job::des(kLow + 0x20000), Job::aes(kLow + 0x30000)};
    r.load(bad);
    r.submit(2, bad.at);
    for (const Job& j : good) r.load(j), r.submit(2, j.at);
    r.settle();
    ASSERT_EQ(r.errors(2), ce::kEu);
    ASSERT_EQ(r.level(2), 3u);
    r.control(2, keep ? kContinue : kReset);
    EXPECT_EQ(r.rd(r.page(2) + regs::kCCCR.offset_bytes), 0u) << "self-clearing";
    EXPECT_EQ(r.rd(r.page(2) + regs::kCCCR.offset_bytes + 4), keep ? kCdwe | kCdie | kEae | kBs : 0u);
    EXPECT_EQ(r.errors(2), 0u);
    if (r.timed) {
      EXPECT_EQ(r.level(2), keep ? 3u : 0u);
      EXPECT_EQ(r.cdpr(2), 0u);
      EXPECT_EQ(r.rd(r.page(2) + regs::kDescriptorBuffer.offset_bytes), 0u);
      EXPECT_EQ(r.rd64(kController + regs::kEUASR.offset_bytes), 0u);
    }
    EXPECT_EQ(r.eu(Eu::Aesu, regs::kEuInterruptStatus), 0u);
    r.settle();
    for (const Job& j : good) {
      EXPECT_EQ(r.marked_done(j.at), keep);
      if (keep) {
        EXPECT_EQ(r.get(j.out(), j.out_bytes), r.expected(j));
      }
    }
    EXPECT_EQ(r.level(2), 0u);
    EXPECT_FALSE(r.marked_done(bad.at));
    // The error interrupt that was raised is not part of the channel: it stays until acknowledged.
    EXPECT_EQ(r.isr(), regs::channel_error_irq(2) | (keep ? regs::channel_done(2) : 0));
  }
}

TEST_P(ChannelTest, ErrorBitsFallWithTheNextDescriptorOnlyAfterRecovery) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  Job bad = Job::aes(kLow);
  bad.type = 31;
  r.run(0, bad);
  EXPECT_EQ(r.errors(0), ce::kIdh);
  const Job good = Job::aes(kLow + 0x10000);
  r.run(0, good);
  EXPECT_EQ(r.errors(0), ce::kIdh) << "a doorbell does not restart a halted channel";
  EXPECT_FALSE(r.marked_done(good.at));
}

TEST_P(ChannelTest, ResetInMidStreamLeavesWholeBurstsAndAFreeUnit) {
  if (GetParam().executor == Executor::Functional) GTEST_SKIP() << "has no middle";
  for (uint64_t clock = 150; clock < 700; clock += 7) {
    Rig r = make();
    r.configure(0, kCdwe | kCdie);
    r.configure(1, kCdwe | kCdie);
    Job j = Job::aes(kLow);
    j.in_bytes = j.out_bytes = 2048;
    const Job other = Job::aes(kLow + 0x10000);
    r.load(j);
    r.load(other);
    r.submit(0, j.at);
    r.pass(clock);
    r.submit(1, other.at);
    r.control(0, kReset);
    const Bytes want = r.expected(j), at_reset = r.get(j.out(), 2048);
    size_t same = 0;
    while (same < 2048 && at_reset[same] == want[same]) ++same;
    EXPECT_EQ(same % 64, 0u) << "clock " << clock;
    EXPECT_TRUE(Rig::untouched(Bytes(at_reset.begin() + static_cast<long>(same), at_reset.end())));
    r.settle();
    EXPECT_EQ(r.get(j.out(), 2048), at_reset) << "nothing is written after the reset";
    EXPECT_FALSE(r.marked_done(j.at));
    EXPECT_TRUE(r.marked_done(other.at));
    EXPECT_EQ(r.get(other.out(), 256), r.expected(other));
    EXPECT_EQ(r.isr(), regs::channel_done(1));
  }
}

TEST_P(ChannelTest, GlobalResetStopsAllChannelsAtOnce) {
  // Channel 0 hangs on the AESU, channel 1 waits for it: the reset of 0 must not set 1 to work.
  Rig r = make();
  for (unsigned n = 0; n < 2; ++n) r.configure(n, kCdwe | kCdie);
  Job hang = Job::aes(kLow);
  hang.in_bytes = hang.out_bytes = 0;
  r.run(0, hang);
  const Job waiting = Job::aes(kLow + 0x10000);
  r.run(1, waiting);
  r.set_mcr(hi(regs::kMCR.mask("SWR")));
  r.settle();
  EXPECT_TRUE(Rig::untouched(r.get(waiting.out(), 256)));
  EXPECT_FALSE(r.marked_done(waiting.at));
  EXPECT_EQ(r.isr(), 0u);
  for (unsigned n = 0; n < 4; ++n) {
    EXPECT_EQ(r.ccpsr(n), 0u);
    EXPECT_EQ(r.level(n), 0u);
  }
  r.configure(1, kCdwe | kCdie);
  r.run(1, waiting);
  EXPECT_TRUE(r.marked_done(waiting.at));
}

TEST_P(ChannelTest, EngineEndsWhileAChannelWaits) {
  // The memory below is gone by the time the engine would write if its end set the waiting channel to work.
  const Job waiting = Job::aes(kLow + 0x10000);
  Rig r = make();
  for (unsigned n = 0; n < 2; ++n) r.configure(n, kCdwe | kCdie);
  Job hang = Job::aes(kLow);
  hang.in_bytes = hang.out_bytes = 0;
  r.run(0, hang);
  r.run(1, waiting);
  const Bytes before = r.low;
  r.engine.reset();
  EXPECT_EQ(r.low, before);
}

TEST_P(ChannelTest, OneGlobalResetLeavesStoredInterrupts) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  r.configure(1, kCdwe | kCdie);
  r.enable(~uint64_t{0});
  r.set_mcr(0x300);
  r.run(0, Job::aes(kLow));
  r.submit(1, 0);
  r.settle();
  const uint64_t both = regs::channel_done(0) | regs::channel_error_irq(1);
  EXPECT_EQ(r.isr(), both);
  EXPECT_EQ(r.engine->lines(), 1u);
  r.set_mcr(hi(regs::kMCR.mask("SWR")));
  EXPECT_EQ(r.mcr(), 0u) << "self-clearing, and all of MCR";
  EXPECT_EQ(r.isr(), both) << "the erratum: needs a second one";
  EXPECT_EQ(r.rd64(kController + regs::kIMR.offset_bytes), 0u);
  EXPECT_EQ(r.engine->lines(), 0u);
  r.set_mcr(hi(regs::kMCR.mask("SWR")));
  EXPECT_EQ(r.isr(), 0u);
  // And the next time again two are needed.
  r.settle();
  r.configure(0, kCdwe | kCdie);
  r.run(0, Job::aes(kLow));
  r.set_mcr(hi(regs::kMCR.mask("SWR")));
  EXPECT_EQ(r.isr(), regs::channel_done(0));
}

// ---- done counting ----

TEST_P(ChannelTest, FifteenDonesAreStoredTheSixteenthOverflows) {
  Rig r = make();
  r.configure(1, kCdwe | kCdie);
  for (unsigned k = 0; k < 15; ++k) r.run(1, Job::aes(kLow));
  EXPECT_EQ(r.isr(), regs::channel_done(1));
  r.run(1, Job::aes(kLow));
  EXPECT_EQ(r.isr(), regs::channel_done(1) | regs::channel_overflow(1));
  r.clear(regs::channel_overflow(1));
  for (unsigned k = 0; k < 14; ++k) {
    r.clear(regs::channel_done(1));
    EXPECT_EQ(r.isr(), regs::channel_done(1)) << "one write takes one, after " << k + 1;
  }
  r.clear(regs::channel_done(1));
  EXPECT_EQ(r.isr(), 0u) << "the sixteenth was lost";
  r.clear(regs::channel_done(1));
  r.run(1, Job::aes(kLow));
  EXPECT_EQ(r.isr(), regs::channel_done(1)) << "clearing nothing does not count below zero";
  // The other channels have counters of their own.
  r.configure(2, kCdwe | kCdie);
  r.run(2, Job::aes(kLow));
  r.clear(regs::channel_done(1) | regs::channel_done(3));
  EXPECT_EQ(r.isr(), regs::channel_done(2));
}

// ---- notification ----

TEST_P(ChannelTest, NotificationAndWriteBack) {
  for (uint32_t bits = 0; bits < 16; ++bits)
    for (const bool dn : {false, true}) {
      const bool nt = bits & 1, cdie = bits & 2, cdwe = bits & 4, awse = bits & 8;
      SCOPED_TRACE(testing::Message() << "NT " << nt << " CDIE " << cdie << " CDWE " << cdwe << " AWSE " << awse << " DN " << dn);
      Rig r = make();
      r.configure(0, (nt ? kNt : 0) | (cdie ? kCdie : 0) | (cdwe ? kCdwe : 0) | (awse ? kAwse : 0));
      Job j = Job::aes(kLow);
      j.notify = dn;
      r.run(0, j);
      const bool notify = !nt || dn;
      const Bytes head = r.get(j.at, 8);
      Bytes want(64);
      j.descriptor().store(want.data());
      want.resize(8);
      if (notify && cdwe) want[0] = 0xff;
      if (notify && cdwe && awse) std::fill(want.begin() + 4, want.end(), uint8_t{0});
      EXPECT_EQ(head, want);
      EXPECT_EQ(r.isr(), notify && cdie ? regs::channel_done(0) : 0u);
      EXPECT_EQ(r.get(j.out(), 256), r.expected(j)) << "the work is done in any case";
    }
}

// ---- masks and lines ----

TEST_P(ChannelTest, LineFollowsStatusAndMask) {
  Rig r = make();
  for (unsigned n = 0; n < 4; ++n) r.configure(n, kCdwe | kCdie);
  r.run(0, Job::aes(kLow));
  EXPECT_EQ(r.engine->lines(), 0u) << "all disabled after reset";
  r.enable(regs::channel_done(1) | regs::channel_error_irq(0));
  EXPECT_EQ(r.engine->lines(), 0u);
  r.enable(regs::channel_done(0));
  EXPECT_EQ(r.engine->lines(), 1u) << "enabling shows what is pending";
  r.enable(0);
  EXPECT_EQ(r.engine->lines(), 0u);
  EXPECT_EQ(r.isr(), regs::channel_done(0)) << "the mask does not touch the status";
  r.enable(regs::channel_done(0));
  r.clear(regs::channel_done(0));
  EXPECT_EQ(r.engine->lines(), 0u);
  r.enable(~uint64_t{0});
  uint64_t implemented = 0;
  for (const auto& f : regs::kISR.fields) implemented |= f.mask();
  EXPECT_EQ(r.rd64(kController + regs::kIMR.offset_bytes), implemented);
  r.wr(kController + regs::kISR.offset_bytes, 0xffffffff);
  EXPECT_EQ(r.isr(), 0u) << "read only";
  EXPECT_EQ(r.rd64(kController + regs::kICR.offset_bytes), 0u) << "write only";
}

TEST_P(ChannelTest, RemappedChannelsUseTheOtherPageAndTheOtherLine) {
  Rig r = make();
  const uint32_t rca13 = hi(regs::kMCR.mask("RCA1") | regs::kMCR.mask("RCA3"));
  r.set_mcr(rca13);
  r.enable(~uint64_t{0});
  if (!r.sec3()) {
    EXPECT_EQ(r.mcr(), 0u) << "SEC 2 has no RCA";
    r.configure(1, kCdwe | kCdie);
    EXPECT_EQ(r.rd(regs::kChannelBase(1) + regs::kCCCR.offset_bytes + 4), kCdwe | kCdie);
    EXPECT_EQ(r.rd(regs::kChannelAliasBase(1) + regs::kCCCR.offset_bytes + 4), 0u);
    r.run(1, Job::aes(kLow));
    EXPECT_EQ(r.engine->lines(), 1u);
    return;
  }
  EXPECT_EQ(r.mcr(), rca13);
  for (unsigned n = 0; n < 4; ++n) r.configure(n, kCdwe | kCdie);
  for (unsigned n = 0; n < 4; ++n) {
    const bool moved = n % 2;
    EXPECT_EQ(r.rd(regs::kChannelBase(n) + regs::kCCCR.offset_bytes + 4), moved ? 0 : kCdwe | kCdie);
    EXPECT_EQ(r.rd(regs::kChannelAliasBase(n) + regs::kCCCR.offset_bytes + 4), moved ? kCdwe | kCdie : 0);
  }
  // The page that is left does nothing.
  r.load(Job::aes(kLow));
  r.wr(regs::kChannelBase(1) + regs::kFF.offset_bytes + 4, lo(kLow));
  r.settle();
  EXPECT_FALSE(r.marked_done(kLow));
  for (unsigned n = 0; n < 4; ++n) {
    r.run(n, Job::aes(kLow + 0x10000 * n));
    EXPECT_TRUE(r.marked_done(kLow + 0x10000 * n));
    EXPECT_EQ(r.engine->lines(), n % 2 ? 2u : 1u) << n;
    r.clear(regs::channel_done(n));
    EXPECT_EQ(r.engine->lines(), 0u);
  }
  r.submit(3, 0);
  r.settle();
  EXPECT_EQ(r.engine->lines(), 2u) << "errors too";
  r.run(0, Job::aes(kLow));
  EXPECT_EQ(r.engine->lines(), 3u) << "both";
  for (unsigned k = 0; k < 16; ++k) r.run(1, Job::aes(kLow));
  r.clear(regs::channel_error_irq(3));
  for (unsigned k = 0; k < 15; ++k) r.clear(regs::channel_done(1));
  EXPECT_EQ(r.isr(), regs::channel_overflow(1) | regs::channel_done(0));
  EXPECT_EQ(r.engine->lines(), 3u) << "and done overflow";
  r.set_mcr(0);
  EXPECT_EQ(r.engine->lines(), 1u) << "back on the first line";
  EXPECT_EQ(r.rd(regs::kChannelBase(1) + regs::kCCCR.offset_bytes + 4), kCdwe | kCdie) << "and on the usual page";
}

// ---- addresses ----

/// A job above 4 GiB that uses tables, IV out and data there.
TEST_P(ChannelTest, ExtendedAddresses) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie | kEae);
  const Job j = Job::aes(kHigh);
  Descriptor d = j.descriptor();
  ASSERT_EQ(d.ptr[3].eptr, 3);
  LinkEntry::data(j.in(), 100).store(r.at(j.gather()));
  LinkEntry::next(j.gather() + 0x80).store(r.at(j.gather() + 8));
  LinkEntry::data(j.in() + 100, 156, true).store(r.at(j.gather() + 0x80));
  LinkEntry::data(j.out(), 255).store(r.at(j.scatter()));
  LinkEntry::data(j.out() + 255, 1, true).store(r.at(j.scatter() + 8));
  d.ptr[3] = PointerDword::to(j.gather(), 256, 0, true);
  d.ptr[4] = PointerDword::to(j.scatter(), 256, 0, true);
  r.load(j, d);
  r.submit(0, j.at);
  r.settle();
  EXPECT_EQ(r.errors(0), 0u);
  EXPECT_TRUE(r.marked_done(j.at));
  const Bytes want = r.expected(j);
  EXPECT_EQ(r.get(j.out(), 256), want);
  EXPECT_EQ(r.get(j.iv_out(), 16), Bytes(want.end() - 16, want.end()));
  EXPECT_EQ(r.cdpr(0), j.at) << "36 bits";
  EXPECT_TRUE(std::all_of(r.low.begin(), r.low.end(), [](uint8_t b) { return b == 0xEE; }));
}

TEST_P(ChannelTest, WithoutEaeTheHighBitsDoNotCount) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  const Job j = Job::aes(kLow);
  Descriptor d = j.descriptor();
  for (unsigned i = 1; i <= 5; ++i) d.ptr[i].eptr = 7;
  LinkEntry::data(j.in() + 0x9'0000'0000, 256, true).store(r.at(j.gather()));
  d.ptr[3] = PointerDword::to(j.gather() + 0x5'0000'0000, 256, 0, true);
  r.load(j, d);
  r.submit(0, j.at + 0x2'0000'0000);  // HI of the fetch FIFO too
  r.settle();
  EXPECT_EQ(r.errors(0), 0u);
  EXPECT_EQ(r.get(j.out(), 256), r.expected(j));
  EXPECT_EQ(r.cdpr(0), j.at);
  EXPECT_TRUE(r.marked_done(j.at));
}

TEST_P(ChannelTest, LowWordOfTheFetchFifoEnqueues) {
  Rig r = make();
  r.configure(0, kCdwe | kEae);
  r.load(Job::aes(kHigh));
  r.wr(regs::kChannelBase(0) + regs::kFF.offset_bytes, 3);
  r.settle();
  EXPECT_FALSE(r.marked_done(kHigh)) << "HI alone does nothing";
  r.wr(regs::kChannelBase(0) + regs::kFF.offset_bytes + 4, lo(kHigh));
  r.settle();
  EXPECT_TRUE(r.marked_done(kHigh));
  EXPECT_EQ(r.rd64(regs::kChannelBase(0) + regs::kFF.offset_bytes), 0u) << "write only";
}

// ---- who is served first ----

/// Channels in the order in which they get the AESU when all four ask at once, three times each.
std::vector<unsigned> order_of_units(Rig& r) {
  struct Owners : Witness {
    std::vector<unsigned> order;
    void unit_owner(uint64_t, Eu, int channel) override {
      if (channel >= 0) order.push_back(static_cast<unsigned>(channel));
    }
  } owners;
  r.engine->set_observer(&owners);
  for (unsigned n = 0; n < 4; ++n) {
    r.configure(n, kCdwe);
    for (unsigned k = 0; k < 3; ++k) {
      const Job j = Job::aes(kLow + 0x8000 * (3 * n + k));
      r.load(j);
      r.submit(n, j.at);
    }
  }
  r.settle();
  r.engine->set_observer(&r.witness);
  return owners.order;
}

TEST_P(ChannelTest, UnitsGoRound) {
  Rig r = make();
  if (!r.timed) GTEST_SKIP() << "nobody ever waits";
  EXPECT_EQ(order_of_units(r), (std::vector<unsigned>{1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0}));
}

TEST_P(ChannelTest, UnitsByWeight) {
  // All ask while the first one works, so every snapshot after it has the other channels; counts of channels 2 and 3.
  const auto weighted = [&](unsigned two, unsigned three) {
    Rig r = make();
    if (!r.timed) return std::vector<unsigned>{};
    r.set_mcr(two << 22 | three << 20);
    return order_of_units(r);
  };
  if (GetParam().executor == Executor::Functional) GTEST_SKIP() << "nobody ever waits";
  // Channel 1's descriptor arrives first; then all others ask in one snapshot. The channel just served asks a snapshot later.
  // Counts of 3 are not reached: channel 0 first, unless it has just been served, then by number.
  EXPECT_EQ(weighted(3, 3), (std::vector<unsigned>{1, 0, 2, 3, 0, 1, 2, 0, 1, 3, 2, 3}));
  // Having lost once (to channel 0), channel 2, and then 3, go before channel 1.
  EXPECT_EQ(weighted(1, 1), (std::vector<unsigned>{1, 0, 2, 3, 0, 2, 1, 0, 2, 3, 1, 3}));
  EXPECT_EQ(weighted(0, 3), (std::vector<unsigned>{1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0})) << "one count alone changes nothing";
}

// ---- what registers show ----

TEST_P(ChannelTest, RegistersAfterReset) {
  Rig r = make();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(r.rd64(kController + regs::kIMR.offset_bytes), 0u);
    EXPECT_EQ(r.isr(), 0u);
    EXPECT_EQ(r.rd64(kController + regs::kEUASR.offset_bytes), 0u);
    EXPECT_EQ(r.rd64(kController + regs::kMCR.offset_bytes), 0u);
    EXPECT_EQ(r.rd64(kController + regs::kID.offset_bytes), r.sec3() ? 0x0030030100000000u : 0x40u);
    EXPECT_EQ(r.rd64(regs::kIpBlockRevision), r.sec3() ? 0x0030030100000000u : 0x0030010200000000u);
    for (unsigned n = 0; n < 4; ++n)
      for (uint32_t o = 0; o < 0x100; o += 4) EXPECT_EQ(r.rd(regs::kChannelBase(n) + o), 0u) << std::hex << o;
    for (uint32_t o = 0; o < 0x20; o += 4) EXPECT_EQ(r.rd(regs::kPolychannelBase + o), 0u);
    for (Eu u : {Eu::Aesu, Eu::Deu})
      for (uint32_t o = 0; o < 0x800; o += 8)
        EXPECT_EQ(r.rd64(regs::eu_base(u) + o), o == 0x28 ? 0x11u : o == 0x38 && u == Eu::Deu ? 0x2000u : 0u) << std::hex << o;
    if (round) break;
    // Make a mess, then reset twice.
    for (unsigned n = 0; n < 4; ++n) r.configure(n, 0xffffffff);
    r.enable(~uint64_t{0});
    r.set_eu(Eu::Deu, regs::kEuInterruptControl, 0);
    r.set_eu(Eu::Aesu, regs::kEuInterruptControl, 0xffff);
    r.set_eu(Eu::Aesu, regs::kEuKeySize, 77);
    r.set_eu(Eu::Aesu, regs::kEuMode, 2);
    for (unsigned n = 0; n < 4; ++n) r.run(n, n % 2 ? Job::aes(kLow) : Job::des(kLow));
    r.submit(2, 0);
    r.settle();
    r.set_mcr(1);
    r.set_mcr(1);
    r.settle();
  }
}

TEST_P(ChannelTest, ConfigurationKeepsItsImplementedBits) {
  Rig r = make();
  r.configure(0, 0xffffffff);
  const uint32_t wgn = r.sec3() ? kWgn : 0;  // the watchdog is SEC 3's
  EXPECT_EQ(r.rd(regs::kChannelBase(0) + regs::kCCCR.offset_bytes + 4), wgn | kBs | kIwse | kEae | kCdwe | kAwse | kNt | kCdie);
}

TEST_P(ChannelTest, ReservedSpaceReadsZeroAndIsNoted) {
  Rig r = make();
  for (uint32_t o : {0x0000u, 0x0800u, 0x1000u, 0x1040u, 0x10f8u, 0x1600u, 0x3000u, 0x5000u, 0x7000u, 0x9028u, 0xb0fcu}) {
    r.wr(o, 0xffffffff);
    EXPECT_EQ(r.rd(o), 0u) << std::hex << o;
  }
  uint64_t noted = 0;
  for (const auto& [what, count] : r.engine->notes()) noted += count;
  EXPECT_EQ(noted, 2u * 11u);
  EXPECT_EQ(r.isr(), 0u);
}

TEST_P(ChannelTest, StatusWhileAUnitIsHeld) {
  Rig r = make();
  r.configure(2, kCdwe | kCdie);
  r.configure(3, kCdwe | kCdie);
  Job hang = Job::des(kLow);
  hang.in_bytes = hang.out_bytes = 0;
  r.run(2, hang);
  EXPECT_EQ(r.rd64(kController + regs::kEUASR.offset_bytes), regs::kEUASR.field("DEU").put(3));
  EXPECT_EQ(r.state(2), regs::ChannelState::Load);
  EXPECT_EQ(r.ccpsr(2) & 0xf, 4u) << "pointer dword";
  const uint64_t prd = regs::kCCPSR.mask("PRD"), pr = regs::kCCPSR.mask("PR"), pg = regs::kCCPSR.mask("PG");
  static_assert(regs::kCCPSR.mask("PRD") == regs::kCCPSR3.mask("PRD"));
  EXPECT_EQ(r.ccpsr(2) & (prd | pr | pg), r.sec3() ? prd : prd | pr | pg);
  r.run(3, Job::des(kLow + 0x10000));
  EXPECT_EQ(r.state(3), regs::ChannelState::RequestPrimary);
  if (!r.sec3()) {
    EXPECT_EQ(r.ccpsr(3) & (prd | pr | pg), pr);
  }
  EXPECT_EQ(r.rd64(kController + regs::kEUASR.offset_bytes), regs::kEUASR.field("DEU").put(3)) << "the waiting channel holds nothing";
  Job aes = Job::aes(kLow + 0x20000);
  aes.in_bytes = aes.out_bytes = 0;
  r.configure(0, kCdwe);
  r.run(0, aes);
  EXPECT_EQ(r.rd64(kController + regs::kEUASR.offset_bytes), regs::kEUASR.field("DEU").put(3) | regs::kEUASR.field("AESU").put(1));
  r.control(2, kReset);
  r.settle();
  EXPECT_TRUE(r.marked_done(kLow + 0x10000));
  EXPECT_EQ(r.rd64(kController + regs::kEUASR.offset_bytes), regs::kEUASR.field("AESU").put(1));
}

TEST_P(ChannelTest, DescriptorBufferAndTableShadows) {
  Rig r = make();
  r.configure(0, kCdwe);
  const Job j = Job::aes(kLow);
  Descriptor d = j.descriptor();
  const uint16_t in[] = {16, 32, 48, 64, 80, 16}, out[] = {100, 100, 56};
  BusAddr a = j.in(), t = j.gather();
  for (unsigned i = 0; i < 6; ++i, t += 8) LinkEntry::data(a, in[i], i == 5).store(r.at(t)), a += in[i];
  a = j.out(), t = j.scatter();
  for (unsigned i = 0; i < 3; ++i, t += 8) LinkEntry::data(a, out[i], i == 2).store(r.at(t)), a += out[i];
  d.ptr[3] = PointerDword::to(j.gather(), 256, 0, true);
  d.ptr[4] = PointerDword::to(j.scatter(), 256, 0, true);
  r.load(j, d);
  const Bytes before = r.get(j.at, 64);
  r.submit(0, j.at);
  r.settle();
  for (uint32_t o = 0; o < 64; o += 4)
    EXPECT_EQ(r.rd(regs::kChannelBase(0) + regs::kDescriptorBuffer.offset_bytes + o), load_be32(&before[o])) << o;
  // Entries are fetched four at a time; the buffers show the last fetch.
  for (uint32_t o = 0; o < 32; o += 4) {
    EXPECT_EQ(r.rd(regs::kChannelBase(0) + regs::kGatherTable.offset_bytes + o), load_be32(r.at(j.gather() + 32 + o))) << o;
    EXPECT_EQ(r.rd(regs::kChannelBase(0) + regs::kScatterTable.offset_bytes + o), load_be32(r.at(j.scatter() + o))) << o;
  }
  EXPECT_EQ(r.cdpr(0), j.at);
  r.wr(regs::kChannelBase(0) + regs::kDescriptorBuffer.offset_bytes, 1);
  r.wr(regs::kChannelBase(0) + regs::kCDPR.offset_bytes + 4, 1);
  EXPECT_EQ(r.rd(regs::kChannelBase(0) + regs::kDescriptorBuffer.offset_bytes), load_be32(&before[0])) << "read only";
  EXPECT_EQ(r.cdpr(0), j.at);
}

TEST_P(ChannelTest, PolychannelCounters) {
  Rig r = make();
  r.configure(0, kCdwe);
  r.configure(1, kCdwe);
  Job a = Job::aes(kLow), b = Job::des(kLow + 0x10000), bad = Job::aes(kLow + 0x20000);
  a.mode = 0x06, a.out_bytes = 250;
  bad.key_bytes = 3;
  r.run(0, a);
  r.run(1, b);
  r.run(0, bad);
  auto poly = [&](uint32_t o) { return r.rd64(regs::kPolychannelBase + o); };
  if (r.sec3()) {
    EXPECT_EQ(poly(0), 3u) << "enqueued";
    EXPECT_EQ(poly(8), 2u) << "finished";
    EXPECT_EQ(poly(0x10), 512u) << "bytes in";
    EXPECT_EQ(poly(0x18), 506u) << "bytes out";
    r.set_mcr(1);
  }
  for (uint32_t o = 0; o < 0x20; o += 8) EXPECT_EQ(poly(o), 0u);
}

TEST_P(ChannelTest, FifoLevelCountsWaitingDescriptors) {
  Rig r = make();
  if (!r.timed) GTEST_SKIP() << "a functional channel waits only when it is stuck: see the overflow test";
  r.configure(0, kCdwe);
  for (unsigned k = 0; k < 5; ++k) {
    const Job j = Job::aes(kLow + 0x8000 * k);
    r.load(j);
    r.submit(0, j.at);
    EXPECT_EQ(r.level(0), k + 1);
  }
  EXPECT_EQ(r.state(0), regs::ChannelState::Idle);
  r.pass(1);
  EXPECT_EQ(r.level(0), 4u) << "one is in the descriptor buffer now";
  EXPECT_EQ(r.state(0), regs::ChannelState::Fetch);
  EXPECT_EQ(r.cdpr(0), kLow);
  r.settle();
  EXPECT_EQ(r.level(0), 0u);
  EXPECT_EQ(r.state(0), regs::ChannelState::Idle);
}

TEST_P(ChannelTest, PeekHasNoSideEffects) {
  Rig r = make();
  r.set_eu(Eu::Aesu, regs::kEuKeySize, 16);
  r.set_eu(Eu::Aesu, regs::kEuDataSize, 256);
  for (uint32_t i = 0; i < 4; ++i) {
    r.wr(regs::kAesuBase + 0x800, i);
    r.wr(regs::kAesuBase + 0x804, i);
  }
  const uint32_t status = r.eu(Eu::Aesu, regs::kEuStatus);
  for (int round = 0; round < 2; ++round)
    for (uint32_t o = 0; o < regs::kWindowBytes; o += 4) r.engine->peek32(o);
  EXPECT_EQ(r.eu(Eu::Aesu, regs::kEuStatus), status);
  EXPECT_EQ(r.eu(Eu::Aesu, regs::kEuInterruptStatus), 0u);
  EXPECT_TRUE(r.engine->notes().empty());
  const uint32_t head = r.engine->peek32(regs::kAesuBase + 0x800);
  EXPECT_NE(head, 0u);
  EXPECT_EQ(r.rd(regs::kAesuBase + 0x800), head);
}

}  // namespace
}  // namespace sec::test
