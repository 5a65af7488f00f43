// Where things are in the register window. [LX][T23]
//
// The window starts at Part::ccsr_offset of the chip's internal register space and has Part::window_bytes. Controller,
// channels and execution units are blocks in it; the offsets in the block headers (controller.h, channel.h,
// eu_common.h) count from the bases given here.
//
//   SEC 2.x, 3.x   64 KiB: channels 0x100 apart from 0x1100, units between 0x2000 and 0xffff. On SEC 3.x, MCR[RCAn] moves
//                  channel n to the alternate page (0x0100...) and to the second interrupt line.
//   SEC 1.x        channels 0x1000 apart from 0x2000 [LX][MCFh]; the units of 1.0 lie between 0x8000 and 0x12fff, those of
//                  1.2 between 0x4000 and 0x6fff.
//
// Constants without a part (kChannelBase, eu_base(eu), ...) are those of SEC 2.x and 3.x.
#pragma once
#include <cstdint>

#include "hw/regs/variants.h"

namespace sec::regs {

inline constexpr uint32_t kWindowBytes = 0x10000;

inline constexpr uint32_t kControllerBase = 0x1000;
inline constexpr uint32_t kControllerBytes = 0x100;

inline constexpr unsigned kMaxChannels = 4;
inline constexpr uint32_t kChannelBytes = 0x100;  // one channel's page
inline constexpr uint32_t kSlotBytes = kChannelBytes;
constexpr uint32_t kChannelBase(unsigned n) { return 0x1100 + kChannelBytes * n; }
/// SEC 3.x: where channel n is while MCR[RCAn] is set. [T23][USP]
constexpr uint32_t kChannelAliasBase(unsigned n) { return 0x0100 + kChannelBytes * n; }

/// SEC 3.x counters of all channels: +0 descriptors enqueued, +8 finished, +0x10 bytes in, +0x18 bytes out. [T23]
inline constexpr uint32_t kPolychannelBase = 0x1500;
inline constexpr uint32_t kPolychannelBytes = 0x20;
inline constexpr uint32_t kIpBlockRevision = 0x1bf8;

inline constexpr uint32_t kDeuBase = 0x2000;
inline constexpr uint32_t kAesuBase = 0x4000;
inline constexpr uint32_t kMdeuBase = 0x6000;
inline constexpr uint32_t kAfeuBase = 0x8000;
inline constexpr uint32_t kRnguBase = 0xA000;
inline constexpr uint32_t kPkeuBase = 0xC000;
inline constexpr uint32_t kSteuBase = 0xD000;
inline constexpr uint32_t kKeuBase = 0xE000;
inline constexpr uint32_t kCrcuBase = 0xF000;
inline constexpr uint32_t kEuBytes = 0x1000;  // registers, context, key and FIFO window

/// Base of a unit's registers; MDEU-A and MDEU-B are one unit under two codes. 0 for Eu::None.
constexpr uint32_t eu_base(Eu eu) {
  switch (eu) {
    case Eu::None:
      return 0;
    case Eu::Afeu:
      return kAfeuBase;
    case Eu::Deu:
      return kDeuBase;
    case Eu::MdeuA:
    case Eu::MdeuB:
      return kMdeuBase;
    case Eu::Rngu:
      return kRnguBase;
    case Eu::Pkeu:
      return kPkeuBase;
    case Eu::Aesu:
      return kAesuBase;
    case Eu::Keu:
      return kKeuBase;
    case Eu::Crcu:
      return kCrcuBase;
    case Eu::Steu:
      return kSteuBase;
  }
  return 0;
}

// ---- by part ----

constexpr uint32_t window_bytes(const Part& part) { return part.window_bytes; }

/// Bytes of a channel's page that have registers; the pages are 0x1000 apart on SEC 1.
constexpr uint32_t channel_stride(const Part& part) { return part.sec1() ? 0x1000 : kChannelBytes; }
constexpr uint32_t channel_base(const Part& part, unsigned n) {
  return part.sec1() ? 0x2000 + 0x1000 * n : kChannelBase(n);
}
constexpr bool has_alternate_pages(const Part& part) { return part.sec3(); }
/// Where channel n is while MCR[RCAn] is set; only on parts that have alternate pages.
constexpr uint32_t channel_alias_base(const Part& part, unsigned n) {
  return has_alternate_pages(part) ? kChannelAliasBase(n) : channel_base(part, n);
}
constexpr bool has_ip_block_revision(const Part& part) { return !part.sec1(); }
constexpr bool has_polychannel(const Part& part) { return part.sec3(); }

/// Base of a unit's registers, 0 when the part does not have it. [LX]
constexpr uint32_t eu_base(const Part& part, Eu eu) {
  if (!part.has(eu)) return 0;
  if (!part.sec1()) return eu_base(eu);
  const bool lite = part.sec_version == "1.2";
  switch (eu) {
    case Eu::Aesu:
      return lite ? 0x4000 : 0x12000;
    case Eu::Deu:
      return lite ? 0x5000 : 0xA000;
    case Eu::MdeuA:
    case Eu::MdeuB:
      return lite ? 0x6000 : 0xC000;
    case Eu::Afeu:
      return 0x8000;
    case Eu::Rngu:
      return 0xE000;
    case Eu::Pkeu:
      return 0x10000;
    default:
      return 0;
  }
}
static_assert([] {
  for (const Part& p : kParts) {
    if (channel_base(p, p.channels - 1) + kChannelBytes > window_bytes(p)) return false;
    for (unsigned code = 1; code < 12; ++code)
      if (const auto eu = static_cast<Eu>(code); p.has(eu) && (!eu_base(p, eu) || eu_base(p, eu) + kEuBytes > window_bytes(p)))
        return false;
  }
  return true;
}());

constexpr std::string_view eu_name(Eu eu) {
  switch (eu) {
    case Eu::None:
      return "none";
    case Eu::Afeu:
      return "AFEU";
    case Eu::Deu:
      return "DEU";
    case Eu::MdeuA:
      return "MDEU-A";
    case Eu::MdeuB:
      return "MDEU-B";
    case Eu::Rngu:
      return "RNGU";
    case Eu::Pkeu:
      return "PKEU";
    case Eu::Aesu:
      return "AESU";
    case Eu::Keu:
      return "KEU";
    case Eu::Crcu:
      return "CRCU";
    case Eu::Steu:
      return "STEU";
  }
  return "?";  // a code from a descriptor may be any nibble
}

}  // namespace sec::regs
