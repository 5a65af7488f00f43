// Descriptors with pointers, extents and link tables, right and wrong, on any part and both executors: nothing crashes,
// nothing hangs, and no byte outside the memory that the engine was given is touched (the arena is one heap block of exactly
// that size, so the address sanitizer sees it).
#include <memory>

#include "hw/core/functional.h"
#include "hw/regs/aesu.h"
#include "hw/regs/deu.h"
#include "hw/regs/link_table.h"
#include "hw/regs/map.h"
#include "hw/regs/mdeu.h"
#include "hw/timing/timed_engine.h"
#include "tests/fuzz/input.h"

namespace {

using namespace sec;
using namespace sec::test;

constexpr BusAddr kBase = 0x10'0000;
constexpr size_t kArena = 0x10000;
constexpr size_t kTables = 0x2000, kData = 0x4000;

/// Headers that mean something, one per kind of work; the fuzzer changes bits.
constexpr uint32_t kHeaders[] = {
    0x60300011, 0x60200011, 0x60600001, 0x20700011, 0x20500011,  // AES-CBC both ways, CTR, DES
    0x60331c09, 0x60231c0b, 0x60335c0b, 0x20731d09, 0x603b1e09,  // ipsec_esp: SHA-1, with CICV, SHA-256, SHA-512
    0x60331c21, 0x60631cc1, 0x31c00011, 0x39200011, 0x31400011, 0xb1c00011,  // hmac_snoop, hashes
    0x10200051, 0x10700051, 0x40000011, 0x68000019, 0x68200019,  // RC4, RNG, CCM, GCM-like on CCMP
    0x6a2000b9, 0x6c6000a9, 0x80100011, 0x80000009, 0x70900011, 0x70a00011, 0x90900011, 0x91a00011,
    0x50200081, 0x5ff00039, 0x50500049, 0x50900059, 0x64400011, 0x68400011, 0x60531c29, 0x60331c89, 0x60331c99};

struct Arena {
  std::unique_ptr<uint8_t[]> bytes = std::make_unique<uint8_t[]>(kArena);
  hw::MemoryMap map;
  explicit Arena(uint64_t seed) {
    fill_noise(bytes.get(), kArena, seed);
    map.add_region(kBase, kArena, bytes.get());
  }
  uint8_t* at(size_t offset) { return bytes.get() + offset; }
};

BusAddr address(FuzzInput& in) {
  switch (in.below(8)) {
    case 0:
      return in.u32();                          // anywhere
    case 1:
      return kBase + kArena - 1 - in.below(300);  // runs over the end
    case 2:
      return in.u64() & 0xfffffffffull;
    default:
      return kBase + kData + in.below(kArena - kData - 0x1000);
  }
}
uint16_t length(FuzzInput& in) {
  switch (in.below(6)) {
    case 0:
      return in.u16();
    case 1:
      return 0;
    case 2:
      return in.u8();
    default:
      return static_cast<uint16_t>(16 * (1 + in.below(96)));
  }
}

/// A table whose entries mostly add up to `total`; returns its address.
BusAddr link_table(FuzzInput& in, Arena& a, size_t& at, uint32_t total) {
  const size_t begin = at;
  const unsigned entries = 1 + in.below(6);
  for (unsigned i = 0; i < entries && at + 16 <= kData; ++i, at += 8) {
    const bool last = i + 1 == entries;
    const uint32_t n = last ? total : total ? 1 + in.below(total > 65535 ? 65535 : total) : 0;
    const uint8_t twist = in.u8();
    if (twist % 16 == 1 && at + 32 <= kData) {
      regs::LinkEntry::next(kBase + (twist & 0x20 ? begin : at + 16)).store(a.at(at));
      at += 8;
      continue;
    }
    regs::LinkEntry::data(address(in), static_cast<uint16_t>(twist % 16 == 2 ? 0 : twist % 16 == 3 ? n + 1 : n), last || twist % 32 == 4).store(a.at(at));
    total -= n < total ? n : total;
  }
  at = (at + 15) & ~size_t{15};
  return kBase + begin;
}

void descriptor(FuzzInput& in, Arena& a, const regs::Part& part, size_t where, size_t& table) {
  uint32_t header = in.below(8) ? kHeaders[in.below(sizeof kHeaders / sizeof *kHeaders)] : in.u32();
  const uint8_t change = in.u8();
  if (change & 1) header ^= uint32_t{in.u8()} << 20;  // mode of the primary
  if (change & 2) header ^= uint32_t{in.u8()} << 8;
  if (change & 4) header ^= 2;  // direction
  const bool sec1 = part.generation == regs::Generation::Sec1;
  store_be32(a.at(where), header);
  if (!sec1) store_be32(a.at(where + 4), 0);
  const uint16_t usual[7] = {20, 16, 16, 64, 64, 16, 20};
  for (unsigned p = 0; p < 7; ++p) {
    const uint8_t kind = in.u8();
    regs::PointerDword d;
    if (kind % 8 == 0) {
      d = {};
    } else {
      const uint16_t n = kind % 8 < 5 ? usual[p] : length(in);
      const bool jump = !sec1 && kind & 0x40;
      const auto extent = static_cast<uint8_t>(kind & 0x20 ? 12 : kind & 0x10 ? in.u8() & 0x7f : 0);
      const BusAddr to = jump ? link_table(in, a, table, n + (kind & 0x80 ? extent : 0u)) : address(in);
      d = regs::PointerDword::to(to, n, extent, jump);
    }
    const size_t at = where + (sec1 ? regs::kSec1PointerOffset : 8) + 8 * p;
    store_be64(a.at(at), sec1 ? d.encode_sec1() : d.encode());
  }
  if (sec1) store_be32(a.at(where + regs::kSec1NextOffset), in.below(3) ? 0 : static_cast<uint32_t>(kBase + 64 * in.below(16)));
}

/// Channel registers by part.
struct Registers {
  const regs::Part& part;
  uint32_t channel(unsigned n) const { return regs::channel_base(part, n); }
};

template <class E>
void drive(FuzzInput& in, Arena& a, const regs::Part& part, const std::function<void(E&)>& settle) {
  hw::Timing timing = hw::Timing::for_part(part);
  timing.zero_length_is_dse = 1;  // the other model hangs the channel on purpose
  auto engine = std::make_unique<E>(part, timing, a.map);
  E& e = *engine;
  const Registers r{part};
  for (unsigned c = 0; c < part.channels; ++c) {
    e.write32(r.channel(c) + 0x0c, uint32_t{in.u8()} | (in.u8() & 1 ? 0x2000u : 0) | (in.u8() & 1 ? 0x100u : 0) | 0x12u);
  }
  e.write32(0x1008, ~0u);
  e.write32(0x100c, ~0u);
  size_t table = kTables;
  const unsigned n = 1 + in.below(12);
  for (unsigned i = 0; i < n; ++i) {
    const size_t where = 64 * (i % 16);
    descriptor(in, a, part, where, table);
    const unsigned c = in.below(part.channels);
    const uint8_t flags = in.u8();
    e.write32(r.channel(c) + 0x48, flags & 1 ? in.u8() : 0);
    e.write32(r.channel(c) + 0x4c, static_cast<uint32_t>(flags % 16 == 6 ? 0 : kBase + where));
    if (flags & 0x20) settle(e);
    for (unsigned k = 0; k < part.channels; ++k) {
      const bool sec1 = part.generation == regs::Generation::Sec1;
      if (!(e.read32(r.channel(k) + 0x14) & 0xffb0u & ~0x4000u)) continue;
      if (sec1)
        e.write32(r.channel(k) + 0x0c, 1);
      else
        e.write32(r.channel(k) + 0x08, flags & 0x40 ? 1 : 2);
    }
  }
  settle(e);
  for (unsigned k = 0; k < part.channels; ++k)
    for (uint32_t at = 0; at < 0x100; at += 4) e.peek32(r.channel(k) + at);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput in(data, size);
  const regs::Part& part = regs::kParts[in.below(std::size(regs::kParts))];
  const uint8_t how = in.u8();
  Arena a(how);
  if (how & 2) a.map.inject_fault(kBase + kData + in.below(kArena - kData), 1 + in.u8());
  if (how & 1) {
    drive<hw::FunctionalEngine>(in, a, part, [](hw::FunctionalEngine&) {});
  } else {
    uint64_t limit = 0;
    drive<hw::TimedEngine>(in, a, part, [&](hw::TimedEngine& e) {
      limit += 4'000'000'000ull;  // more than the longest public-key operation and a watchdog
      for (unsigned i = 0; i < 100'000; ++i)
        if (!e.run(limit)) {
          e.publish();
          if (e.busy()) fuzz_failure("the engine is still busy after 4 * 10^9 clocks");
          return;
        }
      fuzz_failure("100000 things became visible in one run");
    });
  }
  return 0;
}
