// Where things are in the 64 KiB register window of SEC 2.x and 3.x. [LX][T23]
//
// The window starts at Part::ccsr_offset of the chip's internal register space. Controller, channels
// and execution units are blocks in it; the offsets in the block headers (controller.h, channel.h,
// eu_common.h) count from the bases given here. On SEC 3.x, MCR[RCAn] moves channel n from its normal
// page (0x1100...) to the alternate page (0x0100...) and to the second interrupt line.
// UNMODELLED: SEC 1.x, whose channels and units lie elsewhere.
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
