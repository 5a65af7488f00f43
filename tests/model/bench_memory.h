// Raw descriptors in memory for engine tests: no driver, no platform. Each (channel, slot) owns 32 KiB with a
// descriptor, key, IV, IV out, link tables, input and output, so that mixes never overlap.
#pragma once
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "hw/core/memory_map.h"
#include "hw/regs/aesu.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/deu.h"
#include "hw/regs/link_table.h"

namespace sec::test {

constexpr uint32_t kSlotBytes = 0x8000, kSlots = 32, kChannels = 4;
constexpr BusAddr kMemoryBase = 0x10000;

struct Shape {
  regs::Eu unit = regs::Eu::Aesu;
  uint8_t mode = 0x03;
  unsigned type = 2;
  uint32_t key_bytes = 16, bytes = 64, out_bytes = 64;
  bool gather = false, scatter = false, in_place = false, notify = true;
  uint32_t in_offset = 0, out_offset = 0;
  // faults
  bool bad_header = false, bad_key_address = false, short_table = false, zero_entry = false, bad_in = false, bad_out = false;
};

struct BenchMemory {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(kSlotBytes * kSlots * kChannels);
  hw::MemoryMap map;
  explicit BenchMemory(uint32_t seed = 1) {
    map.add_region(kMemoryBase, bytes.size(), bytes.data());
    std::mt19937 g(seed);
    for (size_t i = 0; i < bytes.size(); i += 4) {
      const uint32_t v = g();
      std::memcpy(&bytes[i], &v, 4);
    }
  }
  static BusAddr slot(unsigned channel, unsigned s) { return kMemoryBase + (uint64_t{channel} * kSlots + s) * kSlotBytes; }
  uint8_t* at(BusAddr a) { return bytes.data() + (a - kMemoryBase); }

  // Layout of a slot.
  static constexpr uint32_t kKey = 64, kIv = 128, kIvOut = 160, kGather = 0x200, kScatter = 0x600, kIn = 0x1000, kOut = 0x4800;

  /// Writes the descriptor and its tables.
  void build(unsigned channel, unsigned s, const Shape& k, std::mt19937& g) {
    const BusAddr b = slot(channel, s);
    regs::Descriptor d;
    d.header = regs::make_header(k.unit, k.mode, regs::Eu::None, 0, static_cast<regs::DescriptorType>(k.type), false, k.notify);
    if (k.bad_header) d.header |= 0x000000f8;  // type 31
    const bool chained = k.unit == regs::Eu::Aesu ? (k.mode & regs::aesu_mode::kCipherMode) != 0 : (k.mode & regs::deu_mode::kModeMask) != 0;
    const uint16_t iv = k.unit == regs::Eu::Aesu ? 16 : 8;
    if (chained) {
      d.ptr[1] = regs::PointerDword::to(b + kIv, iv);
      d.ptr[5] = regs::PointerDword::to(b + kIvOut, iv);
    }
    d.ptr[2] = regs::PointerDword::to(k.bad_key_address ? 0x0fff'0000 : b + kKey, static_cast<uint16_t>(k.key_bytes));
    const BusAddr in = b + kIn + k.in_offset, out = k.in_place ? in : b + kOut + k.out_offset;
    d.ptr[3] = data(k.gather, in, k.bytes, b + kGather, k, g, k.bad_in);
    d.ptr[4] = data(k.scatter, out, k.out_bytes, b + kScatter, k, g, k.bad_out);
    d.store(at(b));
    header_[channel][s] = d.header;
  }
  /// Puts the header back that the done write-back has changed.
  void arm(unsigned channel, unsigned s) {
    store_be32(at(slot(channel, s)), header_[channel][s]);
    store_be32(at(slot(channel, s)) + 4, 0);
  }
  uint64_t hash() const {
    uint64_t h = 1469598103934665603ull;
    for (size_t i = 0; i < bytes.size(); i += 8) {
      uint64_t v;
      std::memcpy(&v, &bytes[i], 8);
      h = (h ^ v) * 1099511628211ull;
      h ^= h >> 29;
    }
    return h;
  }

 private:
  regs::PointerDword data(bool table, BusAddr a, uint32_t n, BusAddr t, const Shape& k, std::mt19937& g, bool bad) {
    if (!table) {
      if (bad) a = k.bad_out ? BusAddr{0x0ffd'0000} : kMemoryBase + bytes.size() - n / 2 / 16 * 16 - 5;  // input: ends in a hole
      return regs::PointerDword::to(a, static_cast<uint16_t>(n));
    }
    uint32_t left = n, entries = 0;
    BusAddr e = t;
    while (left) {
      uint32_t len = entries > 90 ? left : 1 + g() % std::max(1u, std::min(left, 1600u));
      if (g() % 4 == 0) len = std::min(left, 1 + static_cast<uint32_t>(g() % 40));
      len = std::min(len, left);
      left -= len;
      if (entries % 9 == 8 && left && entries < 80) {  // sometimes go on in another table
        regs::LinkEntry::next(e + 24).store(at(e));
        e += 24;
      }
      BusAddr where = bad && entries == 1 ? BusAddr{0x0ffe'0000} : a;
      regs::LinkEntry::data(where, static_cast<uint16_t>(k.zero_entry && entries == 1 ? 0 : len),
                            left == 0 || (k.short_table && entries == 1)).store(at(e));
      a += len;
      e += 8;
      ++entries;
    }
    return regs::PointerDword::to(t, static_cast<uint16_t>(n), 0, true);
  }
  uint32_t header_[kChannels][kSlots] = {};
};

/// A random descriptor; `faults`: some of them are wrong.
inline Shape random_shape(std::mt19937& g, bool faults) {
  static const uint32_t sizes[] = {16, 64, 64, 256, 576, 1400, 1408, 4096, 9008};
  Shape s;
  const bool aes = g() % 4 != 0;
  s.unit = aes ? regs::Eu::Aesu : regs::Eu::Deu;
  s.bytes = sizes[g() % 9];
  if (g() % 3 == 0) s.bytes = 16 * (1 + g() % 100);
  if (aes) {
    static const uint8_t modes[] = {0x00, 0x01, 0x02, 0x03, 0x03, 0x03, 0x06};
    s.mode = modes[g() % 7];
    s.key_bytes = 16 + 8 * (g() % 3);
    s.bytes = s.bytes / 16 * 16;
    s.type = s.mode == 0x06 && g() % 2 ? 0 : 2;
  } else {
    static const uint8_t modes[] = {0x00, 0x01, 0x04, 0x05};
    const bool triple = g() % 2;
    s.mode = modes[g() % 4] | (triple ? 0x02 : 0);
    s.key_bytes = triple ? (g() % 2 ? 24 : 16) : 8;
    s.bytes = std::min(1408u, s.bytes / 8 * 8);
  }
  s.out_bytes = s.bytes;
  if (s.mode == 0x06 && aes && g() % 2) s.out_bytes -= g() % 16;  // CTR as the driver pads it
  s.in_offset = g() % 64;
  s.out_offset = g() % 64;
  s.gather = g() % 3 == 0;
  s.scatter = g() % 3 == 0;
  s.in_place = !s.scatter && !s.gather && g() % 4 == 0;
  if (faults && g() % 5 == 0) {
    switch (g() % 9) {
      case 0: s.bad_header = true; break;
      case 1: s.bad_key_address = true; break;
      case 2: s.short_table = s.gather = true; break;
      case 3: s.zero_entry = s.scatter = true; break;
      case 4: s.bad_in = true; s.in_place = false; break;
      case 5: s.bad_out = true; s.in_place = false; break;
      case 6: s.key_bytes = 17; break;
      case 7: s.bytes += 3; s.in_place = false; break;
      case 8: s.mode = 0x04; s.unit = regs::Eu::Aesu; break;
    }
  }
  return s;
}

}  // namespace sec::test
