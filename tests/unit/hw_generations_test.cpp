// What software sees of each part's registers: places, masks, interrupts, units driven by hand. Values here are those of
// the sources, spelt out; code under test has them from hw/regs.
#include <gtest/gtest.h>

#include <random>

#include "hw/regs/decode.h"
#include "hw/regs/map.h"
#include "hw/regs/units.h"
#include "tests/model/rig.h"

namespace sec::test {
namespace {

using regs::Eu;
using regs::Part;
namespace ce = regs::channel_error;

constexpr uint32_t kCdie = 0x2, kCdwe = 0x10, kNt = 0x4;  // CCCR LO, alike on all
constexpr uint32_t kIsr = 0x1010, kImr = 0x1008, kIcr = 0x1018, kId = 0x1020, kEuasr = 0x1028, kMcr = 0x1030;
constexpr uint32_t kEuacr = 0x1000, kMear = 0x1038;

/// A part's engine, driven at the places that its generation has.
struct Board : Rig {
  using Rig::Rig;
  uint32_t channel(unsigned n) { return part.sec1() ? 0x2000 + 0x1000 * n : 0x1100 + 0x100 * n; }
  void wr64(uint32_t o, uint64_t v) {
    wr(o, hi(v));
    wr(o + 4, lo(v));
  }
  /// A descriptor as the part has it in memory; the data of `j` beside it.
  void place(const Job& j, uint32_t next = 0) {
    load(j);
    if (!part.sec1()) return;
    const regs::Descriptor d = j.descriptor();
    uint8_t* const m = at(j.at);
    std::fill(m, m + 64, 0);
    store_be32(m, d.header);
    for (unsigned i = 0; i < 7; ++i) store_be64(m + 4 + 8 * i, d.ptr[i].encode_sec1());
    store_be32(m + 60, next);
  }
  void fetch(unsigned n, BusAddr a) {
    wr(channel(n) + 0x48, hi(a));
    wr(channel(n) + 0x4c, lo(a));
  }
  void go(unsigned n, const Job& j) {
    place(j);
    fetch(n, j.at);
    settle();
  }
  /// A channel that interrupts for every descriptor.
  void on(unsigned n) { wr(channel(n) + 0xc, kCdwe | kCdie | (part.sec1() ? kNt : 0)); }
  uint64_t status() { return rd64(kIsr); }
  uint64_t pointer_status(unsigned n) { return rd64(channel(n) + 0x10); }
  uint32_t channel_errors(unsigned n) { return lo(pointer_status(n)) & lo(ce::all(part.generation)); }
  /// A unit's control register, whichever way round it is.
  uint32_t unit(Eu eu, uint32_t offset) {
    const uint64_t v = rd64(regs::eu_base(part, eu) + offset);
    EXPECT_EQ(part.sec1() ? lo(v) : hi(v), 0u);
    return part.sec1() ? __builtin_bswap32(hi(v)) : lo(v);
  }
  void set_unit(Eu eu, uint32_t offset, uint32_t v) {
    wr(regs::eu_base(part, eu) + offset + (part.sec1() ? 0 : 4), part.sec1() ? __builtin_bswap32(v) : v);
  }
  void window(Eu eu, uint32_t offset, const Bytes& b) {
    for (size_t i = 0; i < b.size(); i += 4) wr(regs::eu_base(part, eu) + offset + static_cast<uint32_t>(i), load_be32(b.data() + i));
  }
  Bytes window(Eu eu, uint32_t offset, size_t n) {
    Bytes b(n);
    for (size_t i = 0; i < n; i += 4) store_be32(b.data() + i, rd(regs::eu_base(part, eu) + offset + static_cast<uint32_t>(i)));
    return b;
  }
};

struct GenerationsTest : testing::TestWithParam<std::tuple<std::string_view, Executor>> {
  Board make(std::initializer_list<const char*> knobs = {}) {
    const auto& [part, x] = GetParam();
    return Board(part, x, Rig::timing_of(part, knobs));
  }
  const Part& part() { return *regs::find_part(std::get<0>(GetParam())); }
};
std::vector<std::string_view> names_of(auto&& wanted) {
  std::vector<std::string_view> out;
  for (const Part& p : regs::kParts)
    if (wanted(p)) out.push_back(p.name);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Each, GenerationsTest,
                         testing::Combine(testing::ValuesIn(names_of([](const Part&) { return true; })),
                                          testing::Values(Executor::Functional, Executor::Timed)),
                         [](const auto& i) {
                           std::string s(std::get<0>(i.param));
                           std::replace_if(s.begin(), s.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return s + "_" + name_of(std::get<1>(i.param));
                         });

/// Done bit of a channel in ISR, from the sources and not from hw/regs.
uint64_t done_bit(const Part& p, unsigned n) {
  constexpr unsigned kSec1[] = {28, 30, 16, 18};
  return uint64_t{1} << (32 + (p.sec1() ? kSec1[n] : 2 * n));
}
uint64_t error_bit(const Part& p, unsigned n) { return done_bit(p, n) << 1; }

// ---- reset ------------------------------------------------------------------------------------

TEST_P(GenerationsTest, RegistersAfterReset) {
  Board b = make();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(b.rd64(kId), part().id);
    EXPECT_EQ(b.rd64(kImr), part().sec1() ? 0xf80f0000'33333340 : 0u) << "nothing can interrupt";
    EXPECT_EQ(b.status(), 0u);
    EXPECT_EQ(b.rd64(kEuasr), 0u);
    EXPECT_EQ(b.rd64(kMcr), 0u);
    EXPECT_EQ(b.rd64(0x1bf8), part().sec1() ? 0 : part().ip_block_revision);
    EXPECT_EQ(b.rd64(kEuacr), 0u);
    EXPECT_EQ(b.rd64(kMear), 0u);
    for (unsigned n = 0; n < part().channels; ++n)
      for (uint32_t o = 0; o < 0x100; o += 8) EXPECT_EQ(b.rd64(b.channel(n) + o), 0u) << n << " " << std::hex << o;
    for (Eu eu : regs::kUnits) {
      if (!part().has(eu)) continue;
      SCOPED_TRACE(regs::eu_name(eu));
      EXPECT_EQ(b.unit(eu, 0x28) & 0x7, 0x1u) << "reset is done, no interrupt";
      EXPECT_EQ(b.unit(eu, 0x30), 0u);
      EXPECT_EQ(b.unit(eu, 0x38) & ~0x2000u, 0u) << "only the parity check may be masked";
      EXPECT_EQ(b.unit(eu, 0x00), 0u);
    }
    EXPECT_EQ(b.engine->lines(), 0u);
    if (round) break;
    // A mess, and two resets.
    b.wr64(kImr, part().sec1() ? 0 : ~uint64_t{0});
    b.wr64(kEuacr, ~uint64_t{0});
    for (unsigned n = 0; n < part().channels; ++n) {
      b.on(n);
      b.go(n, Job::aes(kLow));
      b.fetch(n, 0x10);  // no memory there
      b.settle();
    }
    b.set_unit(Eu::Aesu, 0x38, 0xffff);
    b.set_unit(Eu::Aesu, 0x00, 2);
    EXPECT_NE(b.status(), 0u);
    EXPECT_EQ(b.engine->lines(), 1u);
    for (int i = 0; i < 2; ++i) b.wr(kMcr, part().sec1() ? 0x01000000 : 0x1);
    b.settle();
  }
}

TEST_P(GenerationsTest, EveryPlaceWithoutARegisterReadsZeroAndStoresNothing) {
  Board b = make();
  for (uint32_t o = 0; o < part().window_bytes; o += 4) {
    if (regs::lookup(o, part())) continue;
    bool in_unit = false;
    for (Eu eu : regs::kUnits)
      if (part().has(eu)) in_unit |= o - regs::eu_base(part(), eu) < 0x1000;
    if (!in_unit) b.wr(o, 0xffffffff);
    ASSERT_EQ(b.rd(o), 0u) << std::hex << o;
  }
  EXPECT_EQ(b.status(), 0u);
  EXPECT_EQ(b.rd64(kMcr), 0u);
}

// ---- interrupts -------------------------------------------------------------------------------

TEST_P(GenerationsTest, DoneAndErrorOfEachChannelAndTheirMask) {
  Board b = make();
  for (unsigned n = 0; n < part().channels; ++n) {
    SCOPED_TRACE(n);
    b.on(n);
    Job j = Job::aes(kLow);
    b.go(n, j);
    EXPECT_TRUE(b.marked_done(j.at));
    EXPECT_EQ(b.get(j.out(), 256), b.expected(j));
    EXPECT_EQ(b.status(), done_bit(part(), n));
    EXPECT_EQ(b.engine->lines(), 0u) << "masked after reset";
    const uint64_t all = part().sec1() ? 0xf80f0000'33333340 : 0;
    b.wr64(kImr, all ^ done_bit(part(), n));
    EXPECT_EQ(b.engine->lines(), 1u);
    EXPECT_EQ(b.rd64(kImr), all ^ done_bit(part(), n));
    b.wr64(kImr, all ^ error_bit(part(), n));
    EXPECT_EQ(b.engine->lines(), 0u) << "the error is enabled, not the done";
    b.wr64(kIcr, ~done_bit(part(), n));
    EXPECT_EQ(b.status(), done_bit(part(), n)) << "others' bits clear nothing";
    b.wr64(kIcr, done_bit(part(), n));
    EXPECT_EQ(b.status(), 0u);

    // A header of zero.
    std::fill_n(b.at(kLow), 64, 0);
    b.fetch(n, kLow);
    b.settle();
    EXPECT_EQ(b.channel_errors(n), 0x400u);
    EXPECT_EQ(b.status(), error_bit(part(), n));
    EXPECT_EQ(b.engine->lines(), 1u);
    b.wr64(kIcr, error_bit(part(), n));
    EXPECT_EQ(b.status(), 0u);
    EXPECT_EQ(b.engine->lines(), 0u);
    if (part().sec1())
      b.wr(b.channel(n) + 0xc, 0x1);
    else
      b.wr(b.channel(n) + 0x8, 0x2);
    b.settle();
    EXPECT_EQ(b.channel_errors(n), 0u);
    EXPECT_EQ(b.rd(b.channel(n) + 0xc), part().sec1() ? 0 : kCdwe | kCdie) << "a reset forgets the configuration";
    b.on(n);
    b.go(n, j);
    EXPECT_EQ(b.status(), done_bit(part(), n)) << "and the channel works again";
    b.wr64(kIcr, done_bit(part(), n));
    b.wr64(kImr, all);
  }
}

TEST_P(GenerationsTest, DonesThatNobodyTakes) {
  Board b = make();
  const unsigned n = part().channels - 1;
  const unsigned kept = part().sec1() ? 1 : 15;
  b.on(n);
  for (unsigned i = 0; i < kept; ++i) b.go(n, Job::aes(kLow));
  EXPECT_EQ(b.status(), done_bit(part(), n));
  b.go(n, Job::aes(kLow));
  const uint64_t overflow = part().sec1() ? 0 : uint64_t{0x100} << (32 + n);
  EXPECT_EQ(b.status(), done_bit(part(), n) | overflow);
  b.wr64(kIcr, overflow);
  for (unsigned i = 0; i < kept; ++i) {
    EXPECT_EQ(b.status(), done_bit(part(), n)) << i;
    b.wr64(kIcr, done_bit(part(), n));
  }
  EXPECT_EQ(b.status(), 0u);
}

TEST_P(GenerationsTest, SecondLineAndAlternatePage) {
  Board b = make();
  if (part().channels < 2) return;
  b.wr(kMcr, 0x4000);  // RCA1
  if (!part().sec3()) {
    EXPECT_EQ(b.rd(kMcr), 0u) << "there is no such bit";
    EXPECT_EQ(b.rd(0x020c), 0u);
    return;
  }
  EXPECT_EQ(b.rd(kMcr), 0x4000u);
  b.wr(0x020c, kCdwe | kCdie);
  EXPECT_EQ(b.rd(0x020c), kCdwe | kCdie);
  EXPECT_EQ(b.rd(0x120c), 0u);
  b.wr64(kImr, done_bit(part(), 0) | done_bit(part(), 1));
  b.place(Job::aes(kLow));
  b.wr(0x024c, static_cast<uint32_t>(kLow));
  b.settle();
  EXPECT_EQ(b.status(), done_bit(part(), 1));
  EXPECT_EQ(b.engine->lines(), part().interrupts == 2 ? 2u : 1u);
  b.on(0);
  b.go(0, Job::aes(kLow));
  EXPECT_EQ(b.engine->lines(), part().interrupts == 2 ? 3u : 1u);
  b.wr(kMcr, 0);
  EXPECT_EQ(b.engine->lines(), 1u) << "the line follows the bit";
}

// ---- controller, channel ----------------------------------------------------------------------

TEST_P(GenerationsTest, MasterControlKeepsWhatThePartHas) {
  Board b = make();
  b.wr(kMcr, part().sec1() ? 0xfeffffff : 0xfffffffe);
  const uint32_t counts = part().icv_writeback ? 0x00ff0000 : 0;
  EXPECT_EQ(b.rd(kMcr), part().sec1() ? 0x40u : 0x302u | (part().sec3() ? 0xf000u : 0) | counts);
  EXPECT_EQ(b.rd(kMcr + 4), 0u);
  b.wr(kMcr, 0x00990000);  // 2 and 1 for units, 2 and 1 for the bus
  EXPECT_EQ(b.engine->unit_priority_count(2), counts ? 2u : 0u);
  EXPECT_EQ(b.engine->unit_priority_count(3), counts ? 1u : 0u);
  EXPECT_EQ(b.engine->bus_priority_count(2), counts ? 2u : 0u);
  EXPECT_EQ(b.engine->bus_priority_count(3), counts ? 1u : 0u);
}

TEST_P(GenerationsTest, ChannelConfigurationKeepsWhatThePartHas) {
  Board b = make();
  b.wr(b.channel(0) + 0xc, 0xfffffffe);
  uint32_t expected = 0x71e;                   // SEC 1: burst, CDWE, NE, NT, CDIE
  if (!part().sec1()) expected = 0x13e;        // BS, EAE, CDWE, AWSE, NT, CDIE
  if (part().icv_writeback) expected |= 0x80;  // IWSE
  if (part().sec3()) expected |= 0x2000;       // WGN
  EXPECT_EQ(b.rd(b.channel(0) + 0xc), expected);
  EXPECT_EQ(b.rd(b.channel(0) + 0x8), 0u);
}

TEST_P(GenerationsTest, AddressesOfThirtySixBits) {
  Board b = make();
  b.wr(b.channel(0) + 0xc, kCdwe | kCdie | kNt | 0x20);  // EAE
  Job j = Job::aes(kHigh);
  if (part().sec1()) {
    b.fetch(0, kHigh);
    b.settle();
    EXPECT_EQ(b.rd64(b.channel(0) + 0x40), kHigh & 0xffffffff) << "the high word of the Fetch Register is not there";
    return;
  }
  b.go(0, j);
  EXPECT_EQ(b.rd64(b.channel(0) + 0x40), kHigh);
  EXPECT_TRUE(b.marked_done(j.at));
  EXPECT_EQ(b.get(j.out(), 256), b.expected(j));
}

TEST_P(GenerationsTest, CountersOverAllChannels) {
  Board b = make();
  b.on(0);
  b.go(0, Job::aes(kLow));
  b.go(0, Job::aes(kLow));
  const bool there = part().sec3();
  EXPECT_EQ(b.rd64(0x1500), there ? 2u : 0u);
  EXPECT_EQ(b.rd64(0x1508), there ? 2u : 0u);
  EXPECT_EQ(b.rd64(0x1510), there ? 512u : 0u);
  EXPECT_EQ(b.rd64(0x1518), there ? 512u : 0u);
}

TEST_P(GenerationsTest, BusErrors) {
  Board b = make();
  b.on(0);
  b.fetch(0, 0x1230);
  b.settle();
  EXPECT_EQ(b.channel_errors(0), 0x2000u);
  const uint64_t tea = part().sec1() ? 0x40 : 0;
  EXPECT_EQ(b.status(), error_bit(part(), 0) | tea);
  EXPECT_EQ(b.rd64(kMear), part().sec1() ? uint64_t{0x1230} << 32 : 0);
  if (!part().sec1()) return;
  b.wr64(kImr, 0xf80f0000'33333340 ^ tea);
  EXPECT_EQ(b.engine->lines(), 1u);
  b.wr64(kIcr, ~uint64_t{0});
  EXPECT_EQ(b.status(), 0u);
  b.wr(b.channel(0) + 0xc, 1);
  b.fetch(0, 0x4560);
  b.settle();
  EXPECT_EQ(b.rd64(kMear), uint64_t{0x1230} << 32) << "the first one only";
  b.wr(kMcr, 0x01000000);
  b.fetch(0, 0x4560);
  b.settle();
  EXPECT_EQ(b.rd64(kMear), uint64_t{0x4560} << 32);
}

// ---- units ------------------------------------------------------------------------------------

TEST_P(GenerationsTest, AesByHand) {
  // FIPS 197, appendix C.1.
  const Bytes key = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const Bytes plain = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
  const Bytes secret = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
  Board b = make();
  const uint64_t done = part().sec1() ? 0x1000 : 0x10;
  b.set_unit(Eu::Aesu, 0x18, 0x1);  // reset
  b.set_unit(Eu::Aesu, 0x00, 0x01);  // ECB, encrypt
  EXPECT_EQ(b.unit(Eu::Aesu, 0x00), 0x01u);
  b.set_unit(Eu::Aesu, 0x08, 16);
  EXPECT_EQ(b.unit(Eu::Aesu, 0x08), 16u);
  b.window(Eu::Aesu, 0x400, key);
  EXPECT_EQ(b.window(Eu::Aesu, 0x400, 16), Bytes(16)) << "keys are write only";
  b.set_unit(Eu::Aesu, 0x10, 128);
  EXPECT_EQ(b.unit(Eu::Aesu, 0x10), 128u);
  EXPECT_EQ(b.status(), 0u);
  b.window(Eu::Aesu, 0x800, plain);
  b.set_unit(Eu::Aesu, 0x50, 0);  // EU-Go
  EXPECT_EQ(b.unit(Eu::Aesu, 0x28) & 0xa, 0xau) << "done, output ready";
  EXPECT_EQ(b.status(), done);
  EXPECT_EQ(b.window(Eu::Aesu, 0x800, 16), secret);
  const uint64_t all = part().sec1() ? 0xf80f0000'33333340 : 0;
  b.wr64(kImr, all ^ done);
  EXPECT_EQ(b.engine->lines(), 1u);
  b.set_unit(Eu::Aesu, 0x18, 0x4);  // reset the interrupts
  EXPECT_EQ(b.status(), 0u);
  EXPECT_EQ(b.engine->lines(), 0u);
}

TEST_P(GenerationsTest, ErrorOfEveryUnitHasItsBit) {
  struct Bits {
    Eu eu;
    uint64_t sec1, sec2;  // error bits
  };
  const Bits bits[] = {{Eu::Deu, 0x200, 0x2},           {Eu::Aesu, 0x2000, 0x20},         {Eu::MdeuA, 0x20000, 0x200},
                       {Eu::Afeu, 0x200000, 0x2000},    {Eu::Rngu, 0x2000000, 0x20000},   {Eu::Pkeu, 0x20000000, 0x200000},
                       {Eu::Steu, 0, 0x800000},         {Eu::Keu, 0, 0x2000000},          {Eu::Crcu, 0, 0}};
  Board b = make();
  const uint64_t all = part().sec1() ? 0xf80f0000'33333340 : 0;
  for (const Bits& u : bits) {
    if (!part().has(u.eu)) continue;
    SCOPED_TRACE(regs::eu_name(u.eu));
    const uint64_t error = part().sec1() ? u.sec1 : u.sec2;
    b.wr64(kImr, all ^ error);
    b.wr(regs::eu_base(part(), u.eu) + 0x68, 1);  // no unit has a register there
    EXPECT_EQ(b.unit(u.eu, 0x30), 0x40u) << "AE";
    EXPECT_EQ(b.unit(u.eu, 0x28) & 0x4, 0x4u) << "IE";
    EXPECT_EQ(b.status(), error);
    EXPECT_EQ(b.engine->lines(), error ? 1u : 0u);
    b.set_unit(u.eu, 0x38, 0x40);
    EXPECT_EQ(b.status(), 0u) << "masked in the unit";
    b.set_unit(u.eu, 0x38, 0);
    EXPECT_EQ(b.status(), error);
    b.set_unit(u.eu, 0x18, 0x1);
    EXPECT_EQ(b.unit(u.eu, 0x30), 0u);
    EXPECT_EQ(b.status(), 0u);
    EXPECT_EQ(b.engine->lines(), 0u);
  }
}

TEST_P(GenerationsTest, UnitOfSec1AnswersInTheHighWordOnly) {
  if (!part().sec1()) return;
  Board b = make();
  const uint32_t base = regs::eu_base(part(), Eu::Deu);
  b.wr(base + 0x04, 0x03);  // the low word is not there
  EXPECT_EQ(b.rd64(base), 0u);
  b.wr(base + 0x00, 0x03000000);
  EXPECT_EQ(b.rd64(base), 0x03000000'00000000u);
  b.wr(base + 0x08, 0x09000000);  // no key has nine bytes
  b.wr(base + 0x10, 0x40000000);
  EXPECT_EQ(b.rd64(base + 0x30), 0x00020000'00000000u) << "KSE";
  b.wr(base + 0x1c, 0x1);
  EXPECT_EQ(b.rd64(base + 0x30), 0x00020000'00000000u);
  b.wr(base + 0x18, 0x01000000);
  EXPECT_EQ(b.rd64(base + 0x30), 0u);
  EXPECT_EQ(b.rd64(base + 0x28) & 0x01000000'00000000u, 0x01000000'00000000u) << "RD";
}

TEST_P(GenerationsTest, RandomNumbersTakeTime) {
  if (!part().has(Eu::Rngu)) return;
  Board b = make();
  b.set_unit(Eu::Rngu, 0x18, 0x1);
  EXPECT_EQ(b.unit(Eu::Rngu, 0x28), 0x1u);
  b.set_unit(Eu::Rngu, 0x10, 0);
  const auto words = [&] { return b.unit(Eu::Rngu, 0x28) >> 16 & 0xff; };
  if (b.timed) {
    EXPECT_EQ(words(), 0u);
    b.pass(255);
    EXPECT_EQ(words(), 0u);
    b.pass(1);
    EXPECT_EQ(words(), 1u);
    b.pass(10 * 256);
    EXPECT_EQ(words(), 11u);
  }
  EXPECT_GT(words(), 0u);
  EXPECT_NE(b.window(Eu::Rngu, 0x800, 8), b.window(Eu::Rngu, 0x800, 8));
}

// ---- reserved space, slow accesses ------------------------------------------------------------

TEST_P(GenerationsTest, StrictReservedSpace) {
  const uint64_t ito = part().sec1() ? 0 : uint64_t{0x10000} << 32;
  const uint32_t nowhere = part().sec1() ? 0x0100 : 0x0800;
  const uint32_t in_unit = regs::eu_base(part(), Eu::Deu) + 0x68;
  {
    Board b = make();
    b.rd(nowhere);
    b.rd(in_unit);
    EXPECT_EQ(b.status(), 0u) << "lenient";
  }
  Board b = make({"engine.strict_reserved=1"});
  b.rd(nowhere);
  EXPECT_EQ(b.status(), ito);
  b.wr64(kIcr, ito);
  b.wr(nowhere, 1);
  EXPECT_EQ(b.status(), ito);
  b.wr64(kIcr, ito);
  b.rd(0x1040);
  EXPECT_EQ(b.status(), ito) << "in the controller's block";
  b.wr64(kIcr, ito);
  b.rd(in_unit);
  EXPECT_EQ(b.unit(Eu::Deu, 0x30), 0x40u) << "AE";
  b.set_unit(Eu::Deu, 0x18, 1);
  b.engine->peek32(in_unit);
  b.engine->peek32(nowhere);
  EXPECT_EQ(b.unit(Eu::Deu, 0x30), 0u) << "looking is no access";
  // Registers are not reserved.
  for (const regs::Location& l : regs::all_registers(part()))
    if (l.reg->access != regs::Access::WriteOnly && l.reg->size_bytes <= 0x100) b.rd64(l.offset);
  EXPECT_EQ(b.status(), 0u);
}

TEST_P(GenerationsTest, SlowUnitsTimeOut) {
  Board quick = make({"engine.unit_access_clocks=16"});
  quick.set_unit(Eu::Aesu, 0x00, 0x3);
  EXPECT_EQ(quick.unit(Eu::Aesu, 0x00), 0x3u);
  EXPECT_EQ(quick.status(), 0u);
  if (part().sec1()) return;  // no bit for it
  Board b = make({"engine.unit_access_clocks=17"});
  b.wr64(kImr, uint64_t{0x10000} << 32);
  b.set_unit(Eu::Aesu, 0x00, 0x3);
  EXPECT_EQ(b.status(), uint64_t{0x10000} << 32);
  EXPECT_EQ(b.engine->lines(), 1u);
  b.wr64(kIcr, uint64_t{0x10000} << 32);
  EXPECT_EQ(b.engine->lines(), 0u);
  EXPECT_EQ(b.unit(Eu::Aesu, 0x00), 0u) << "nothing was written, nothing is read";
  EXPECT_EQ(b.status(), uint64_t{0x10000} << 32);
  b.on(0);
  b.go(0, Job::aes(kLow));
  EXPECT_TRUE(b.marked_done(kLow)) << "channels are not software";
}

TEST_P(GenerationsTest, RandomAccessesLeaveAnEngineThatWorks) {
  const uint64_t seed = 20260731;
  std::mt19937_64 random(seed);
  Board b = make();
  std::vector<uint32_t> places;
  for (const regs::Location& l : regs::all_registers(part()))
    for (uint32_t o = 0; o < std::min(l.reg->size_bytes, 32u); o += 4) places.push_back(l.offset + o);
  b.place(Job::aes(kLow));
  for (unsigned i = 0; i < 20000; ++i) {
    const uint32_t o = random() % 16 ? places[random() % places.size()] : static_cast<uint32_t>(random() % part().window_bytes) & ~3u;
    if (random() % 4 == 0) {
      const uint32_t seen = b.engine->peek32(o);
      (void)b.rd(o);
      (void)seen;
    } else {
      constexpr uint32_t kValues[] = {0, 1, 2, 0xffffffff, 0x01000000, static_cast<uint32_t>(kLow), 16, 128, 0x80};
      b.wr(o, random() % 3 ? kValues[random() % std::size(kValues)] : static_cast<uint32_t>(random()));
    }
    if (random() % 8 == 0) b.pass(random() % 200);
  }
  for (int i = 0; i < 2; ++i) b.wr(kMcr, part().sec1() ? 0x01000000 : 0x1);
  b.settle();
  EXPECT_EQ(b.status(), 0u) << "seed " << seed;
  EXPECT_EQ(b.rd64(kEuasr), 0u);
  const Job j = Job::aes(kLow);
  for (unsigned n = 0; n < part().channels; ++n) {
    b.on(n);
    b.go(n, j);
    EXPECT_EQ(b.status(), done_bit(part(), n)) << "seed " << seed;
    EXPECT_EQ(b.get(j.out(), 256), b.expected(j));
    b.wr64(kIcr, ~uint64_t{0});
  }
}

// ---- SEC 1: assignment, Fetch Register --------------------------------------------------------

struct Sec1Test : GenerationsTest {};
INSTANTIATE_TEST_SUITE_P(Each, Sec1Test,
                         testing::Combine(testing::Values("mpc8272"), testing::Values(Executor::Functional, Executor::Timed)),
                         [](const auto& i) { return std::string(name_of(std::get<1>(i.param))); });

TEST_P(Sec1Test, UnitGivenToAChannelServesItAlone) {
  Board b = make();
  for (unsigned n = 0; n < 4; ++n) b.on(n);
  b.wr64(kEuacr, 0x00000000'00020000);  // the AESU to channel 1
  EXPECT_EQ(b.rd64(kEuacr), 0x20000u);
  EXPECT_EQ(b.rd64(kEuasr), 0x20000u) << "held for good";
  const Job j = Job::aes(kLow);
  b.go(0, j);
  EXPECT_EQ(b.channel_errors(0), 0x200u) << "SERR";
  EXPECT_FALSE(b.marked_done(j.at));
  EXPECT_EQ(b.status(), error_bit(part(), 0));
  b.go(1, j);
  EXPECT_TRUE(b.marked_done(j.at));
  EXPECT_EQ(b.get(j.out(), 256), b.expected(j));
  b.go(2, Job::des(kLow + 0x10000));
  EXPECT_TRUE(b.marked_done(kLow + 0x10000)) << "other units are free";
  EXPECT_EQ(b.rd64(kEuasr), 0x20000u);
  b.wr64(kEuacr, 0);
  EXPECT_EQ(b.rd64(kEuasr), 0u);
  b.wr(b.channel(0) + 0xc, 1);
  b.on(0);
  b.go(0, j);
  EXPECT_TRUE(b.marked_done(j.at));
}

TEST_P(Sec1Test, NibbleOfEachUnit) {
  Board b = make();
  b.wr64(kEuacr, 0x04030201'03020000);  // RNG 4, PKEU 3, MDEU 2, AFEU 1; DEU 3, AESU 2
  EXPECT_EQ(b.rd64(kEuacr), 0x04030201'03020000u);
  EXPECT_EQ(b.engine->assigned_to(Eu::Rngu), 4u);
  EXPECT_EQ(b.engine->assigned_to(Eu::Pkeu), 3u);
  EXPECT_EQ(b.engine->assigned_to(Eu::MdeuA), 2u);
  EXPECT_EQ(b.engine->assigned_to(Eu::Afeu), 1u);
  EXPECT_EQ(b.engine->assigned_to(Eu::Deu), 3u);
  EXPECT_EQ(b.engine->assigned_to(Eu::Aesu), 2u);
  EXPECT_EQ(b.status(), 0u);
  b.wr(kEuacr, 0x01030201);  // one word at a time
  EXPECT_EQ(b.rd64(kEuacr), 0x01030201'03020000u);
  b.wr64(kEuacr, 0xf0f0f0f0'f0f0f0f0);
  EXPECT_EQ(b.rd64(kEuacr), 0u) << "the other bits are not there";
}

TEST_P(Sec1Test, AssignmentErrors) {
  Board b = make();
  constexpr uint64_t kAerr = uint64_t{0x08000000} << 32;
  b.wr64(kImr, 0xf80f0000'33333340 ^ kAerr);
  b.wr64(kEuacr, 0x00000005'00000000);  // there is no channel 4
  EXPECT_EQ(b.rd64(kEuacr), 0u);
  EXPECT_EQ(b.status(), kAerr);
  EXPECT_EQ(b.engine->lines(), 1u);
  b.wr64(kIcr, kAerr);
  EXPECT_EQ(b.engine->lines(), 0u);
  // Channel 0 holds the AESU after an error of that unit; its assignment to another one is refused.
  b.on(0);
  Job j = Job::aes(kLow);
  j.key_bytes = 15;
  b.go(0, j);
  EXPECT_EQ(b.channel_errors(0), 0x100u);
  EXPECT_EQ(b.rd64(kEuasr), 0x10000u);
  b.wr64(kIcr, ~uint64_t{0});
  b.wr64(kEuacr, 0x00000000'03030000);
  EXPECT_EQ(b.rd64(kEuacr), 0x03000000u) << "the DEU is free, the AESU is not";
  EXPECT_EQ(b.status(), kAerr);
  b.wr64(kIcr, kAerr);
  b.wr64(kEuacr, 0x00000000'03010000);
  EXPECT_EQ(b.rd64(kEuacr), 0x03010000u) << "to the channel that has it";
  EXPECT_EQ(b.status(), 0u);
}

TEST_P(Sec1Test, FetchRegisterIsOneDeep) {
  Board b = make();
  b.on(0);
  const Job one = Job::aes(kLow), two = Job::aes(kLow + 0x10000), three = Job::aes(kLow + 0x20000);
  for (const Job& j : {one, two, three}) b.place(j);
  b.fetch(0, 0);
  b.settle();
  EXPECT_EQ(b.status(), 0u) << "zero starts nothing";
  EXPECT_EQ(b.channel_errors(0), 0u);
  b.fetch(0, one.at);
  if (b.timed) b.pass(20);  // at work on the first
  b.fetch(0, two.at);
  b.fetch(0, three.at);
  b.settle();
  EXPECT_TRUE(b.marked_done(one.at));
  EXPECT_TRUE(b.marked_done(three.at));
  EXPECT_EQ(b.marked_done(two.at), !b.timed) << "the later address replaced it";
  EXPECT_EQ(b.rd(b.channel(0) + 0x44), static_cast<uint32_t>(three.at));
}

}  // namespace
}  // namespace sec::test
