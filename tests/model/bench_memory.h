// Raw descriptors in memory for engine tests: no driver, no platform. Each (channel, slot) owns 32 KiB with a
// descriptor, key, IV, IV out, link tables, input and output, so that mixes never overlap.
#pragma once
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "hw/core/memory_map.h"
#include "hw/regs/aesu.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/deu.h"
#include "hw/regs/link_table.h"
#include "hw/regs/mdeu.h"

namespace sec::test {

constexpr uint32_t kSlotBytes = 0x8000, kSlots = 32, kChannels = 4;
constexpr BusAddr kMemoryBase = 0x10000;

enum class Work { Cipher, Hash, Esp, Snoop };  // one unit (types 0 and 2), MDEU (type 2), ipsec_esp, hmac_snoop_no_afeu

struct Shape {
  Work work = Work::Cipher;
  regs::Eu unit = regs::Eu::Aesu;
  uint8_t mode = 0x03;
  unsigned type = 2;
  uint32_t key_bytes = 16, bytes = 64, out_bytes = 64;
  bool gather = false, scatter = false, in_place = false, notify = true;
  uint32_t in_offset = 0, out_offset = 0;
  // hash, alone or beside the cipher
  regs::Eu mdeu = regs::Eu::MdeuA;
  uint8_t hash_mode = 0;  // ALG
  bool hmac = true, inbound = false, check = false;
  uint32_t hash_key_bytes = 20, header_bytes = 0, icv_bytes = 12;
  bool extent_in_table = true;  // SEC 3
  // faults
  bool wrong_icv = false, bad_icv = false, bad_header_bytes = false, straddle = false;
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
  static constexpr uint32_t kKey = 64, kIv = 128, kIvOut = 160, kGather = 0x200, kScatter = 0x600, kIn = 0x1000, kOut = 0x4800,
                            kHashKey = 0xb00, kHashHeader = 0xb80, kIcvIn = 0xc40, kIcvOut = 0xc80;

  static const EVP_MD* digest(const Shape& k) {
    static const char* const a[] = {"SHA1", "SHA256", "MD5", "SHA224"};
    static const char* const b[] = {"SHA384", "SHA256", "SHA512", "SHA224"};
    return EVP_get_digestbyname((k.mdeu == regs::Eu::MdeuB ? b : a)[k.hash_mode]);
  }
  /// HMAC or plain digest over the header and `n` bytes at `data`.
  std::vector<uint8_t> mac(const Shape& k, BusAddr b, BusAddr data, uint32_t n) {
    std::vector<uint8_t> m(at(b + kHashHeader), at(b + kHashHeader) + k.header_bytes), out(64);
    m.insert(m.end(), at(data), at(data) + n);
    unsigned size = 0;
    if (k.hmac)
      HMAC(digest(k), at(b + kHashKey), static_cast<int>(k.hash_key_bytes), m.data(), m.size(), out.data(), &size);
    else
      EVP_Digest(m.data(), m.size(), out.data(), &size, digest(k), nullptr);
    return out;
  }

  /// Writes the descriptor and its tables.
  void build(unsigned channel, unsigned s, const Shape& k, std::mt19937& g) {
    const BusAddr b = slot(channel, s);
    regs::Descriptor d;
    using regs::PointerDword;
    const auto to = [](BusAddr a, uint32_t n, uint32_t extent = 0) { return PointerDword::to(a, static_cast<uint16_t>(n), static_cast<uint8_t>(extent)); };
    const bool chained = k.unit == regs::Eu::Aesu ? (k.mode & regs::aesu_mode::kCipherMode) != 0 : (k.mode & regs::deu_mode::kModeMask) != 0;
    const uint16_t iv = k.unit == regs::Eu::Aesu ? 16 : 8;
    const BusAddr in = b + kIn + k.in_offset, out = k.in_place ? in : b + kOut + k.out_offset;
    const BusAddr key = k.bad_key_address ? BusAddr{0x0fff'0000} : b + kKey;
    namespace mm = regs::mdeu_mode;
    const uint8_t hash = static_cast<uint8_t>(k.hash_mode | mm::kInit | mm::kPad | (k.hmac ? mm::kHmac : 0) | (k.check ? mm::kCheckIcv : 0));
    if (k.check) {  // inbound: the MAC is over what comes in
      std::vector<uint8_t> icv = mac(k, b, in, k.bytes);
      if (k.wrong_icv) icv[0] ^= 1;
      std::copy_n(icv.begin(), k.icv_bytes, at(k.work == Work::Hash ? b + kIcvIn : in + k.bytes));
    }
    const BusAddr header = k.bad_header_bytes ? BusAddr{0x0ffc'0000} : b + kHashHeader;
    switch (k.work) {
      case Work::Cipher:
        d.header = regs::make_header(k.unit, k.mode, regs::Eu::None, 0, static_cast<regs::DescriptorType>(k.type), false, k.notify);
        if (chained) {
          d.ptr[1] = to(b + kIv, iv);
          d.ptr[5] = to(b + kIvOut, iv);
        }
        d.ptr[2] = to(key, k.key_bytes);
        d.ptr[3] = data(k.gather, in, k.bytes, 0, b + kGather, k, g, k.bad_in);
        d.ptr[4] = data(k.scatter, out, k.out_bytes, 0, b + kScatter, k, g, k.bad_out);
        break;
      case Work::Hash:
        d.header = regs::make_header(k.mdeu, hash, regs::Eu::None, 0, regs::DescriptorType::CommonNonsnoop, false, k.notify);
        if (k.hmac) d.ptr[2] = to(k.bad_key_address ? key : b + kHashKey, k.hash_key_bytes);
        d.ptr[3] = data(k.gather, in, k.bytes, 0, b + kGather, k, g, k.bad_in);
        if (k.check) d.ptr[4] = to(k.bad_icv ? BusAddr{0x0ffb'0000} : b + kIcvIn, k.icv_bytes);
        d.ptr[5] = to(b + kIcvOut, k.icv_bytes);
        break;
      case Work::Esp:
      case Work::Snoop: {
        const bool esp = k.work == Work::Esp;
        d.header = regs::make_header(k.unit, k.mode, k.mdeu, hash, esp ? regs::DescriptorType::IpsecEsp : regs::DescriptorType::HmacSnoopNoAfeu, k.inbound,
                                     k.notify);
        d.ptr[0] = to(b + kHashKey, k.hash_key_bytes);
        if (k.header_bytes) d.ptr[1] = to(header, k.header_bytes);
        if (chained) d.ptr[esp ? 2 : 3] = to(b + kIv, iv);
        d.ptr[esp ? 3 : 2] = to(key, k.key_bytes);
        const uint32_t icv_in = esp && k.check ? k.icv_bytes : 0, icv_out = esp ? k.icv_bytes : 0;
        d.ptr[4] = data(k.gather, in, k.bytes, icv_in, b + kGather, k, g, k.bad_in, k.extent_in_table);
        d.ptr[5] = data(k.scatter, out, k.out_bytes, icv_out, b + kScatter, k, g, k.bad_out);
        if (esp && chained) d.ptr[6] = to(b + kIvOut, iv);
        if (!esp) d.ptr[6] = to(k.bad_icv ? BusAddr{0x0ffb'0000} : b + kIcvOut, k.icv_bytes);
        break;
      }
    }
    if (k.bad_header) d.header |= 0x000000f8;  // type 31
    d.store(at(b));
    header_[channel][s] = d.header;
  }
  /// The descriptor there is a hash by itself (its header may have been marked done).
  bool is_hash(unsigned channel, BusAddr at) const {
    const unsigned sel0 = header_[channel][(at - slot(channel, 0)) / kSlotBytes] >> 28;
    return sel0 == static_cast<unsigned>(regs::Eu::MdeuA) || sel0 == static_cast<unsigned>(regs::Eu::MdeuB);
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
  /// Pointer to [a, a + n) and `extent` bytes behind it, directly or by a table of pieces; the table covers the extent unless told.
  regs::PointerDword data(bool table, BusAddr a, uint32_t n, uint32_t extent, BusAddr t, const Shape& k, std::mt19937& g, bool bad, bool covered = true) {
    const auto x = static_cast<uint8_t>(extent);
    if (!table) {
      if (bad) a = k.bad_out ? BusAddr{0x0ffd'0000} : kMemoryBase + bytes.size() - n / 2 / 16 * 16 - 5;  // input: ends in a hole
      return regs::PointerDword::to(a, static_cast<uint16_t>(n), x);
    }
    uint32_t left = n, entries = 0, behind = covered ? extent : 0;
    BusAddr e = t;
    while (left || behind) {
      uint32_t& part = left ? left : behind;
      uint32_t len = entries > 90 ? part : 1 + g() % std::max(1u, std::min(part, 1600u));
      if (g() % 4 == 0) len = std::min(part, 1 + static_cast<uint32_t>(g() % 40));
      len = std::min(len, part);
      part -= len;
      if (k.straddle && !left && behind) len += behind, behind = 0;  // the last piece of data goes on over the extent
      if (entries % 9 == 8 && left && entries < 80) {  // sometimes go on in another table
        regs::LinkEntry::next(e + 24).store(at(e));
        e += 24;
      }
      BusAddr where = bad && entries == 1 ? BusAddr{0x0ffe'0000} : a;
      regs::LinkEntry::data(where, static_cast<uint16_t>(k.zero_entry && entries == 1 ? 0 : len),
                            (!left && !behind) || (k.short_table && entries == 1)).store(at(e));
      a += len;
      e += 8;
      ++entries;
    }
    return regs::PointerDword::to(t, static_cast<uint16_t>(n), x, true);
  }
  uint32_t header_[kChannels][kSlots] = {};
};

/// A random descriptor; `faults`: some of them are wrong; `part`: with hashes, alone and beside ciphers, as that part has them.
inline Shape random_shape(std::mt19937& g, bool faults, const regs::Part* part = nullptr) {
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
  if (!part && s.mode == 0x06 && aes && g() % 2) s.out_bytes -= g() % 16;  // CTR as the driver pads it
  if (part && g() % 5 < 3) {
    static const Work works[] = {Work::Esp, Work::Esp, Work::Esp, Work::Snoop, Work::Hash};
    s.work = works[g() % 5];
    s.mdeu = part->has(regs::Eu::MdeuB) && g() % 3 == 0 ? regs::Eu::MdeuB : regs::Eu::MdeuA;
    s.hash_mode = g() % 4;
    s.hmac = s.work != Work::Hash || g() % 2;
    s.hash_key_bytes = g() % 4 ? 20 : 1 + g() % 64;
    static const uint32_t headers[] = {0, 8, 16, 24, 24, 63};
    s.header_bytes = s.work == Work::Hash ? 0 : headers[g() % 6];
    s.icv_bytes = g() % 3 ? 12 : 16;
    s.inbound = s.work != Work::Hash && g() % 2;
    s.check = (s.work == Work::Hash || (s.work == Work::Esp && s.inbound)) && g() % 2;
    s.extent_in_table = part->extent_in_table;
    s.type = 2;
    if (s.work == Work::Hash && g() % 2) s.bytes -= g() % s.bytes;  // any length
    s.out_bytes = s.bytes;
  }
  s.in_offset = g() % 64;
  s.out_offset = g() % 64;
  s.gather = g() % 3 == 0;
  s.scatter = g() % 3 == 0;
  s.in_place = !s.scatter && !s.gather && s.work != Work::Hash && g() % 4 == 0;
  if (faults && g() % 5 == 0) {
    switch (g() % (s.work == Work::Cipher ? 9 : 13)) {
      case 0: s.bad_header = true; break;
      case 1: s.bad_key_address = true; break;
      case 2: s.short_table = s.gather = true; break;
      case 3: s.zero_entry = s.scatter = true; break;
      case 4: s.bad_in = true; s.in_place = false; break;
      case 5: s.bad_out = true; s.in_place = false; break;
      case 6: s.key_bytes = 17; break;
      case 7: s.bytes += 3; s.in_place = false; break;
      case 9: s.wrong_icv = true; break;
      case 10: s.bad_icv = true; break;
      case 11: s.bad_header_bytes = true; break;
      case 12: s.straddle = s.gather = s.scatter = true; s.in_place = false; break;
      case 8: s.mode = 0x42; s.unit = regs::Eu::Aesu; break;  // reserved
    }
  }
  return s;
}

}  // namespace sec::test
