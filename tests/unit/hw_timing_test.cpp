// Costs and their consequences: the table of cycles per block, knobs and their limits, exact clocks of one descriptor by
// hand, and the shapes that any calibration must keep. No wall time anywhere.
#include "common/diag.h"
#include "tests/model/rig.h"

namespace sec::test {
namespace {
using regs::Eu;

TEST(Costs, ClocksPerBlock) {
  const hw::Timing t;
  EXPECT_EQ(hw::aes_cost(t, 16).block, 11u);
  EXPECT_EQ(hw::aes_cost(t, 24).block, 13u);
  EXPECT_EQ(hw::aes_cost(t, 32).block, 15u);
  EXPECT_EQ(hw::aes_cost(t, 16).expansion, 10u);
  EXPECT_EQ(hw::aes_cost(t, 24).expansion, 12u);
  EXPECT_EQ(hw::aes_cost(t, 32).expansion, 14u);
  EXPECT_EQ(hw::des_block_clocks(t, false), 16u);
  EXPECT_EQ(hw::des_block_clocks(t, true), 48u);
  hw::Timing fast;
  fast.set("aesu.rounds_per_clock=4");
  fast.set("deu.rounds_per_clock=2");
  fast.set("aesu.block_load_clocks=0");
  EXPECT_EQ(hw::aes_cost(fast, 16).block, 3u) << "10 rounds at 4 a clock";
  EXPECT_EQ(hw::aes_cost(fast, 32).block, 4u);
  EXPECT_EQ(hw::des_block_clocks(fast, true), 24u);
  hw::Timing slow;
  slow.set("aesu.rounds_per_clock=0.25");
  EXPECT_EQ(hw::aes_cost(slow, 16).block, 41u);
}

TEST(Costs, ClocksOfTheParts) {
  for (const regs::Part& p : regs::kParts) {
    const hw::Clocks k(hw::Timing::for_part(p));
    EXPECT_EQ(k.read_latency, 30u) << p.name;
    EXPECT_EQ(k.posted_write, 8u);
    EXPECT_EQ(k.grant, 4u);
    EXPECT_EQ(k.unit_reset, 4u);
    EXPECT_EQ(k.interrupt, 2u);
    EXPECT_EQ(k.watchdog, 1u << 20);
    EXPECT_EQ(k.reads_in_flight, 2u);
    EXPECT_EQ(k.fifo_bytes, 256u);
    EXPECT_EQ(k.prefetch_entries, 4u);
    EXPECT_FALSE(k.zero_length_is_dse);
    EXPECT_EQ(k.period_ps, static_cast<uint64_t>(1e12 / static_cast<double>(p.sec_clock_hz) + 0.5));
    // A burst of n bytes holds the bus for a clock per 64-bit beat that it touches.
    EXPECT_EQ(k.bus_clocks(0, 64), 8u);
    EXPECT_EQ(k.bus_clocks(7, 1), 1u);
    EXPECT_EQ(k.bus_clocks(7, 2), 2u);
    EXPECT_EQ(k.bus_clocks(1, 64), 9u);
    EXPECT_EQ(k.bus_clocks(0, 128), 16u);
  }
  hw::Timing t;
  t.set("memory.bandwidth_mb_s=1200");  // 4 bytes a clock at 300 MHz
  EXPECT_EQ(hw::Clocks(t).bus_clocks(0, 64), 16u);
  t.set("memory.read_latency_ns=0x10");
  EXPECT_EQ(hw::Clocks(t).read_latency, 5u) << "16 ns are 4.8 clocks";
}

/// The message of the SetupError that setting `text` must throw.
std::string refusal(const char* text) {
  hw::Timing t;
  try {
    t.set(text);
  } catch (const SetupError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Knobs, EveryKnobHasLimitsADefaultInsideThemAndASource) {
  const hw::Timing t;
  for (const hw::Knob& k : hw::knobs()) {
    EXPECT_LE(k.min, t.*k.member) << k.name;
    EXPECT_GE(k.max, t.*k.member) << k.name;
    EXPECT_FALSE(k.source.empty());
    hw::Timing u;
    u.set(k.name, k.max);
    EXPECT_EQ(u.*k.member, k.max);
    EXPECT_THROW(u.set(k.name, k.max * 2), SetupError) << k.name;
    EXPECT_THROW(u.set(k.name, k.min - 1), SetupError) << k.name;
    EXPECT_EQ(u.*k.member, k.max) << "a refused value changes nothing";
    for (const hw::Knob& o : hw::knobs())
      if (&o != &k) {
        EXPECT_NE(o.name, k.name);
        EXPECT_NE(o.member, k.member) << "two names for one knob: " << o.name << " " << k.name;
      }
  }
}

TEST(Knobs, WrongOnesAreRefusedWithAReason) {
  EXPECT_NE(refusal("engine.no_such=1").find("no such knob"), std::string::npos);
  EXPECT_NE(refusal("engine.no_such=1").find("engine.fifo_bytes"), std::string::npos) << "lists the knobs";
  EXPECT_NE(refusal("engine.fifo_bytes").find("knob=value"), std::string::npos);
  EXPECT_NE(refusal("engine.fifo_bytes=").find("not a number"), std::string::npos);
  EXPECT_NE(refusal("engine.fifo_bytes=12x").find("not a number"), std::string::npos);
  EXPECT_NE(refusal("engine.fifo_bytes=64").find("between 128 and 2048"), std::string::npos);
  EXPECT_NE(refusal("engine.fifo_bytes=nan").find("between"), std::string::npos);
  EXPECT_NE(refusal("engine.fifo_bytes=inf").find("between"), std::string::npos);
  EXPECT_EQ(refusal("engine.fifo_bytes=512"), "accepted");
}

/// Clocks from the doorbell to the end of `count` descriptors of one kind on `channels` channels (all submitted at once).
uint64_t clocks_for(const hw::Timing& t, const Job& like, unsigned count = 1, unsigned channels = 1, const char* part = "p2020") {
  Rig r(part, Executor::Timed, t);
  for (unsigned n = 0; n < channels; ++n) r.configure(n, kCdwe | kCdie);
  for (unsigned i = 0; i < count; ++i) {
    Job j = like;
    j.at = kLow + 0x8000 * i;
    r.load(j);
    r.submit(i % channels, j.at);
  }
  r.settle();
  EXPECT_EQ(r.witness.ended.size(), count);
  for (const auto& e : r.witness.ended) EXPECT_EQ(e.error, 0u);
  return r.witness.ended.back().clock;
}
Job aes_of(uint16_t bytes, uint8_t mode = 0x03, uint16_t key = 16) {
  Job j;
  j.mode = mode, j.key_bytes = key, j.in_bytes = j.out_bytes = bytes;
  return j;
}

TEST(Clocks, OneDescriptorByHand) {
  // Doorbell 1; fetch 8 + 30; grant 4; reset 4; IV 2 + 30; key 2 + 30; one block in 2 + 30; AES 11; out 2 + 8; IV out
  // 2 + 8; header 1 + 8; interrupt 2.
  const hw::Timing t = Rig::timing_of("p2020");
  const uint64_t by_hand = 1 + 38 + 4 + 4 + 32 + 32 + 32 + 11 + 10 + 10 + 9 + 2;
  EXPECT_EQ(clocks_for(t, aes_of(16)), by_hand);
  EXPECT_EQ(clocks_for(t, aes_of(16, 0x02)), by_hand) << "the key expansion of a decryption is hidden behind the first read";
  EXPECT_EQ(clocks_for(t, aes_of(16, 0x03, 32)), by_hand + 4 + 2) << "four rounds and two beats of key more";
  // Further blocks cost the unit's clocks as long as the bus keeps up.
  EXPECT_EQ(clocks_for(t, aes_of(64)), by_hand + 3 * 11 + 6 + 6);
  const Job des = Job::des(kLow);
  Job one = des;
  one.in_bytes = one.out_bytes = 8;
  EXPECT_EQ(clocks_for(t, one), 1 + 38 + 4 + 4 + 31 + 33 + 31 + 48 + 9 + 9 + 9 + 2u);
  // Each symbol of the overhead model has its knob.
  auto longer = [&](const char* knob) { return clocks_for(Rig::timing_of("p2020", {knob}), aes_of(16)) - by_hand; };
  EXPECT_EQ(longer("engine.posted_write_clocks=9"), 3u);
  EXPECT_EQ(longer("engine.unit_grant_clocks=5"), 1u);
  EXPECT_EQ(longer("engine.unit_reset_clocks=5"), 1u);
  EXPECT_EQ(longer("engine.interrupt_clocks=3"), 1u);
  EXPECT_EQ(longer("aesu.block_load_clocks=2"), 1u);
  EXPECT_EQ(longer("memory.read_latency_ns=103"), 4u) << "31 clocks, four reads";
}

/// Clocks of one ipsec_esp descriptor: AES-128-CBC and HMAC over 24 bytes of header and the data, everything aligned.
uint64_t clocks_of_esp(const hw::Timing& t, uint16_t bytes, uint8_t mode = 0x03, uint8_t hash = 0, Eu mdeu = Eu::MdeuA, bool des = false) {
  Rig r("p2020", Executor::Timed, t);
  r.configure(0, kCdwe | kCdie);
  regs::Descriptor d;
  d.header = regs::make_header(des ? Eu::Deu : Eu::Aesu, mode, mdeu, static_cast<uint8_t>(0x1c | hash), regs::DescriptorType::IpsecEsp, false, true);
  using regs::PointerDword;
  d.ptr[0] = PointerDword::to(kLow + 0x100, 20);
  d.ptr[1] = PointerDword::to(kLow + 0x140, 24);
  d.ptr[2] = PointerDword::to(kLow + 0x180, des ? 8 : 16);
  d.ptr[3] = PointerDword::to(kLow + 0x1c0, des ? 24 : 16);
  r.put(kLow + 0x1c0, odd_parity(pattern(24, 1)));
  d.ptr[4] = PointerDword::to(kLow + 0x1000, bytes);
  d.ptr[5] = PointerDword::to(kLow + 0x8000, bytes, 12);
  d.ptr[6] = PointerDword::to(kLow + 0x200, des ? 8 : 16);
  d.store(r.at(kLow));
  r.submit(0, kLow);
  r.settle();
  EXPECT_EQ(r.witness.ended.at(0).error, 0u);
  return r.witness.ended.at(0).clock;
}

TEST(Clocks, TwoUnitsByHand) {
  // Doorbell 1; fetch 8 + 30; two grants 4; reset of both 4; HMAC key 3 + 30; IV 2 + 30; key 2 + 30; header 3 + 30; SHA-1 of the key's block
  // (which the header does not fill up to another) 81, the data arriving meanwhile; one step of 64 bytes 81; out 8 + 8; header, data
  // and padding are three blocks with the key's, so two are over and one is to come, and two of the outer hash: 3 * 81; ICV 2 + 8;
  // IV out 2 + 8; write-back 1 + 8; interrupt 2.
  const hw::Timing t = Rig::timing_of("p2020");
  const uint64_t by_hand = 1 + 38 + 8 + 4 + 33 + 32 + 32 + 33 + 81 + 81 + 16 + 3 * 81 + 10 + 10 + 9 + 2;
  EXPECT_EQ(clocks_of_esp(t, 64), by_hand);
  // The slower unit sets the pace: four AES blocks are 44 clocks, a block of SHA-1 is 81.
  EXPECT_EQ(clocks_of_esp(t, 64 * 11) - clocks_of_esp(t, 64 * 10), 81u);
  EXPECT_EQ(clocks_of_esp(t, 64 * 11, 0x03, 2) - clocks_of_esp(t, 64 * 10, 0x03, 2), 65u) << "MD5";
  EXPECT_EQ(clocks_of_esp(t, 128 * 11, 0x03, 2, Eu::MdeuB) - clocks_of_esp(t, 128 * 10, 0x03, 2, Eu::MdeuB), 88u) << "eight AES blocks, SHA-512 needs 81";
  EXPECT_EQ(clocks_of_esp(t, 64 * 11, 0x07, 0, Eu::MdeuA, true) - clocks_of_esp(t, 64 * 10, 0x07, 0, Eu::MdeuA, true), 8u * 48) << "3DES is slower than any hash";
  // A second unit costs no bus time beyond its own key, header and ICV.
  EXPECT_GT(clocks_of_esp(t, 64 * 20), by_hand + 19 * 81 - 1);
  EXPECT_LT(clocks_of_esp(t, 64 * 20), by_hand + 19 * 81 + 40);
}

TEST(Shape, LargerIsNotSlowerPerByte) {
  const hw::Timing t = Rig::timing_of("p2020");
  for (const uint8_t mode : {0x01, 0x02, 0x03, 0x06}) {
    double before = 1e9;
    for (uint16_t n = 16; n <= 8192; n = static_cast<uint16_t>(n * 2)) {
      const double each = static_cast<double>(clocks_for(t, aes_of(n, mode))) / n;
      EXPECT_LT(each, before) << n;
      before = each;
    }
    EXPECT_GE(before, 11.0 / 16) << "never faster than the unit";
  }
}

TEST(Shape, FasterMemoryHelpsAtEverySize) {
  for (uint16_t n : {16, 64, 256, 576, 1400, 4096, 8192}) {
    uint64_t before = ~uint64_t{0};
    for (const char* latency : {"memory.read_latency_ns=333", "memory.read_latency_ns=200", "memory.read_latency_ns=100", "memory.read_latency_ns=50"}) {
      const uint64_t c = clocks_for(Rig::timing_of("p2020", {latency}), aes_of(static_cast<uint16_t>(n / 16 * 16)));
      EXPECT_LT(c, before) << n << " bytes, " << latency;
      before = c;
    }
  }
}

TEST(Shape, SlowerClocksAndUnitsAreSlower) {
  auto ns = [](const char* clock, const Job& j) {
    const hw::Timing t = Rig::timing_of("p2020", {clock});
    return static_cast<double>(clocks_for(t, j)) * 1e9 / t.sec_clock_hz;
  };
  for (uint16_t n : {64, 1408, 8192}) EXPECT_GT(ns("clock.sec_hz=133333333", aes_of(n)), ns("clock.sec_hz=300000000", aes_of(n)));
  const hw::Timing t = Rig::timing_of("p2020"), two = Rig::timing_of("p2020", {"deu.rounds_per_clock=2"});
  Job d = Job::des(kLow);
  d.in_bytes = d.out_bytes = 4096;
  EXPECT_EQ(clocks_for(t, d) - clocks_for(two, d), 24u * 512) << "3DES is bound by its unit";
  EXPECT_LT(clocks_for(t, aes_of(1408), 24, 4), clocks_for(t, aes_of(1408), 24, 1)) << "channels overlap";
}

/// The smallest packet at which the engine alone reaches `share` of what it reaches with 16 KiB, and the host is no longer
/// the limit: a host that hands over a descriptor every `host_ns`.
uint16_t saturates_at(double hz, double host_ns) {
  hw::Timing t = Rig::timing_of("mpc8548");
  t.set("clock.sec_hz", hz);
  t.set("memory.read_latency_ns", 150);  // the board's DDR does not care about the engine's clock
  for (uint16_t n = 16;; n = static_cast<uint16_t>(n + 16)) {
    Job j = Job::des(kLow);
    j.in_bytes = j.out_bytes = n;
    const unsigned count = 20;
    const double each = static_cast<double>(clocks_for(t, j, count, 4, "mpc8548")) / count * 1e9 / hz;
    if (each >= host_ns) return n;
    if (n > 8000) return n;
  }
}
TEST(Shape, SlowerEngineSaturatesAtASmallerPacket) {
  for (const double host_ns : {5000.0, 15000.0}) {
    const uint16_t slow = saturates_at(133.333e6, host_ns), fast = saturates_at(166.667e6, host_ns);
    EXPECT_LT(slow, fast) << "host " << host_ns << " ns a packet";
    EXPECT_GT(slow, 16u) << "small packets are limited by the host";
    EXPECT_LT(fast, 8000u) << "large ones by the engine";
  }
}

TEST(Counters, AddUp) {
  const hw::Timing t = Rig::timing_of("p2020");
  Rig r("p2020", Executor::Timed, t);
  r.configure(0, kCdwe);
  r.run(0, aes_of(1408));
  const hw::EngineCounters& c = r.engine->counters();
  const auto aesu = static_cast<size_t>(Eu::Aesu);
  EXPECT_EQ(c.descriptors, 1u);
  EXPECT_EQ(c.errors, 0u);
  EXPECT_EQ(c.bytes_in, 1408u);
  EXPECT_EQ(c.bytes_out, 1408u);
  EXPECT_EQ(c.unit_blocks[aesu], 88u);
  EXPECT_EQ(c.unit_busy_clocks[aesu], 88u * 11);
  EXPECT_EQ(c.reads, 3u + 22) << "descriptor, IV, key, and 64-byte bursts";
  EXPECT_EQ(c.writes, 2u + 22);
  EXPECT_EQ(c.bus_clocks, 8u + 2 + 2 + 2 + 1 + 2 * 176);
  EXPECT_EQ(c.grants, 1u);
  EXPECT_EQ(c.read_latency_clocks, 25u * 30);
  EXPECT_EQ(c.posted_write_clocks, 24u * 8);
  EXPECT_EQ(c.channel_busy_clocks[0], r.witness.ended[0].clock - 1);
  const hw::AssumedShare s = hw::assumed_share(c, t);
  EXPECT_NEAR(s.high + s.medium + s.low, 1.0, 1e-12);
  EXPECT_GT(s.low, s.high) << "most of the time rests on assumptions";
  Rig big("p2020", Executor::Timed, t);
  big.configure(0, kCdwe | kBs);
  big.run(0, aes_of(1408));
  EXPECT_EQ(big.engine->counters().reads, 3u + 11) << "128-byte bursts";
}

}  // namespace
}  // namespace sec::test
