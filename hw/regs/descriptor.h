// Descriptors: 64 big-endian bytes that say what to do with which memory. SEC 2.x and 3.x:
//
//   dword 0     header (high word) and feedback (low word, written back by the engine)
//   dword 1-7   pointers p0..p6: length, J (the address is that of a link table), extent, 36-bit address
//
// The header selects a primary unit and its mode byte, an optional secondary unit and its mode, and the
// descriptor type, which gives each pointer its role. When the descriptor is done and write-back is on,
// byte 0 of the header becomes 0xff; with CCCR[IWSE] the feedback word holds the verdicts ICCR0 (primary)
// and ICCR1 (secondary). [LX][FB][T23][MSC]
//
// The structs here are host values; load() and store() are the only way to and from engine memory, so byte
// order is handled in one place.
#pragma once
#include <array>

#include "common/endian.h"
#include "hw/regs/bits.h"
#include "hw/regs/variants.h"

namespace sec::regs {

inline constexpr size_t kDescriptorBytes = 64;
inline constexpr unsigned kDescriptorPointers = 7;
/// SEC 1: the header is one word, the pointers follow at once, and the last word is the next descriptor's address. [LX]
inline constexpr size_t kSec1PointerOffset = 4, kSec1NextOffset = 60;

/// Fields of the header as software writes it, in the first dword (header = high word).
inline constexpr Field kHeaderFields[] = {
    {.name = "SEL0", .bits = hi(0xf0000000), .doc = "Primary unit, an Eu code."},
    {.name = "MODE0", .bits = hi(0x0ff00000), .doc = "Mode byte for the primary unit."},
    {.name = "SEL1", .bits = hi(0x000f0000), .doc = "Secondary unit, an Eu code; 0 = none."},
    {.name = "MODE1", .bits = hi(0x0000ff00), .doc = "Mode byte for the secondary unit."},
    {.name = "TYPE", .bits = hi(0x000000f8), .doc = "Descriptor type."},
    {.name = "DIR", .bits = hi(0x2), .doc = "1 = inbound (decapsulate)."},
    {.name = "DN", .bits = hi(0x1), .doc = "Notify when done, where CCCR[NT] leaves it to the descriptor."},
};
/// The same dword after the engine has written it back.
inline constexpr Field kWriteBackFields[] = {
    {.name = "DONE", .bits = hi(0xff000000), .doc = "0xff when the descriptor is done."},
    {.name = "ICCR0",
     .bits = lo(0x18000000),
     .doc = "Integrity check of the primary unit: 1 passed, 2 failed."},
    {.name = "ICCR1",
     .bits = lo(0x00180000),
     .doc = "Integrity check of the secondary unit: 1 passed, 2 failed."},
};
inline constexpr Register kHeader{
    .name = "HEADER", .offset_bytes = 0, .fields = kHeaderFields, .doc = "Descriptor header.", .source = "LX, T23"};
inline constexpr Register kWriteBack{.name = "WRITEBACK",
                                     .offset_bytes = 0,
                                     .fields = kWriteBackFields,
                                     .doc = "Header and feedback after write-back.",
                                     .source = "LX, FB, USP"};

inline constexpr Field kPointerFields[] = {
    {.name = "LENGTH", .bits = {0, 15}, .doc = "Length in bytes; with J, of all the table's data."},
    {.name = "J", .bits = {16, 16}, .doc = "Jump: the address is that of a link table."},
    {.name = "EXTENT",
     .bits = {17, 23},
     .doc = "Length of a second piece whose role the type gives (ICV, header)."},
    {.name = "EPTR", .bits = {28, 31}, .doc = "Address bits 35:32; valid with CCCR[EAE]."},
    {.name = "ADDRESS", .bits = {32, 63}, .doc = "Address bits 31:0."},
};
inline constexpr Register kPointer{
    .name = "POINTER", .offset_bytes = 0, .fields = kPointerFields, .doc = "Pointer dword.", .source = "LX, FB, MSC"};

/// Word masks for code that handles the two words apart.
inline constexpr uint32_t kHeaderDone = kWriteBack.mask("DONE") >> 32;
inline constexpr uint32_t kFeedbackIccr0Pass = 0x08000000;
inline constexpr uint32_t kFeedbackIccr0Fail = 0x10000000;
inline constexpr uint32_t kFeedbackIccr1Pass = 0x00080000;
inline constexpr uint32_t kFeedbackIccr1Fail = 0x00100000;
static_assert((kFeedbackIccr0Pass | kFeedbackIccr0Fail) == kWriteBack.mask("ICCR0") &&
              (kFeedbackIccr1Pass | kFeedbackIccr1Fail) == kWriteBack.mask("ICCR1"));

/// Value of ICCR0/ICCR1.
enum class IntegrityCheck : uint8_t { None = 0, Pass = 1, Fail = 2 };

/// Descriptor types. 6, 8 and 26 are SEC 1 only (8 also SEC 2.0); numbers not listed are reserved. [T23]
enum class DescriptorType : uint8_t {
  AesuCtrNonsnoop = 0,
  IpsecEsp = 1,
  CommonNonsnoop = 2,
  Ccmp80211i = 3,
  HmacSnoopNoAfeu = 4,
  Srtp = 5,
  NonHmacSnoopNoAfeu = 6,
  PkeuAssemble = 7,
  AesuKeyExpandOutput = 8,
  PkeuPtmul = 9,
  CommonNonsnoopAfeu = 10,
  PkeuPtaddDbl = 11,
  PkeuMm = 16,
  TlsSslBlock = 17,
  TlsSslStream = 19,
  RaidXor = 21,
  IpsecAesGcm = 23,
  HmacSnoopAesuCtr = 24,
  DblCrc = 25,
  NonHmacSnoopAesuCtr = 26,
};
inline constexpr EnumName kDescriptorTypeNames[] = {
    {0, "aesu_ctr_nonsnoop"},
    {1, "ipsec_esp"},
    {2, "common_nonsnoop"},
    {3, "802.11i_AES_ccmp"},
    {4, "hmac_snoop_no_afeu"},
    {5, "srtp"},
    {6, "non_hmac_snoop"},
    {7, "pkeu_assemble"},
    {8, "aesu_key_expand_output"},
    {9, "pkeu_ptmul"},
    {10, "common_nonsnoop_afeu"},
    {11, "pkeu_ptadd_dbl"},
    {16, "pkeu_mm"},
    {17, "tls_ssl_block"},
    {19, "tls_ssl_stream"},
    {21, "raid_xor"},
    {23, "ipsec_aes_gcm"},
    {24, "hmac_snoop_aesu_ctr"},
    {25, "dbl_crc"},
    {26, "non_hmac_snoop_aesu_ctr"},
};
constexpr std::string_view name_of(DescriptorType t) {
  return name_in(kDescriptorTypeNames, static_cast<uint64_t>(t), "reserved");
}

/// The seven header fields, taken apart.
struct HeaderWord {
  uint8_t sel0 = 0, mode0 = 0, sel1 = 0, mode1 = 0, type = 0;
  bool inbound = false, notify = false;

  static constexpr HeaderWord decode(uint32_t header) {
    return {.sel0 = static_cast<uint8_t>(header >> 28),
            .mode0 = static_cast<uint8_t>(header >> 20),
            .sel1 = static_cast<uint8_t>(header >> 16 & 0xf),
            .mode1 = static_cast<uint8_t>(header >> 8),
            .type = static_cast<uint8_t>(header >> 3 & 0x1f),
            .inbound = (header & 2) != 0,
            .notify = (header & 1) != 0};
  }
  constexpr uint32_t encode() const {
    return uint32_t{sel0} << 28 | uint32_t{mode0} << 20 | uint32_t(sel1 & 0xf) << 16 | uint32_t{mode1} << 8 |
           uint32_t(type & 0x1f) << 3 | uint32_t{inbound} << 1 | uint32_t{notify};
  }
  bool operator==(const HeaderWord&) const = default;
};

/// A header word; `inbound` is DIR, `notify` is DN.
constexpr uint32_t make_header(Eu sel0, uint8_t mode0, Eu sel1, uint8_t mode1, DescriptorType type, bool inbound,
                               bool notify) {
  return HeaderWord{.sel0 = static_cast<uint8_t>(sel0),
                    .mode0 = mode0,
                    .sel1 = static_cast<uint8_t>(sel1),
                    .mode1 = mode1,
                    .type = static_cast<uint8_t>(type),
                    .inbound = inbound,
                    .notify = notify}
      .encode();
}
static_assert(make_header(Eu::Aesu, 0x03, Eu::None, 0, DescriptorType::CommonNonsnoop, false, false) == 0x60300010);
static_assert(make_header(Eu::Deu, 0x01, Eu::MdeuA, 0x1e, DescriptorType::IpsecEsp, false, false) == 0x20131e08);

/// One pointer dword. `jump` is J: the address is that of a link table and `length` its total.
struct PointerDword {
  uint16_t length = 0;
  bool jump = false;
  uint8_t extent = 0;  // 0..127
  uint8_t eptr = 0;    // address bits 35:32
  uint32_t address = 0;

  static constexpr PointerDword to(BusAddr where, uint16_t length, uint8_t extent = 0, bool jump = false) {
    return {.length = length,
            .jump = jump,
            .extent = static_cast<uint8_t>(extent & 0x7f),
            .eptr = static_cast<uint8_t>(where >> 32 & 0xf),
            .address = static_cast<uint32_t>(where)};
  }
  static constexpr PointerDword decode(uint64_t v) {
    return {.length = static_cast<uint16_t>(v >> 48),
            .jump = (v >> 47 & 1) != 0,
            .extent = static_cast<uint8_t>(v >> 40 & 0x7f),
            .eptr = static_cast<uint8_t>(v >> 32 & 0xf),
            .address = static_cast<uint32_t>(v)};
  }
  constexpr uint64_t encode() const {
    return uint64_t{length} << 48 | uint64_t{jump} << 47 | uint64_t(extent & 0x7f) << 40 | uint64_t(eptr & 0xf) << 32 |
           address;
  }
  /// SEC 1: {reserved 16, length 16, address 32}; no J, no extent, 32-bit addresses. [LX]
  static constexpr PointerDword decode_sec1(uint64_t v) {
    return {.length = static_cast<uint16_t>(v >> 32), .address = static_cast<uint32_t>(v)};
  }
  constexpr uint64_t encode_sec1() const { return uint64_t{length} << 32 | address; }
  /// 36 bits; without CCCR[EAE] the engine uses `address` alone.
  constexpr BusAddr bus_addr() const { return BusAddr(eptr & 0xf) << 32 | address; }
  bool operator==(const PointerDword&) const = default;
};
static_assert(PointerDword{.length = 0x1234, .jump = true, .extent = 0x0c, .eptr = 3, .address = 0x89abcdef}.encode() ==
              0x12348c0389abcdef);

struct Descriptor {
  uint32_t header = 0;
  uint32_t feedback = 0;
  std::array<PointerDword, kDescriptorPointers> ptr{};

  static Descriptor load(const void* bytes64) {
    const auto* p = static_cast<const uint8_t*>(bytes64);
    Descriptor d;
    d.header = load_be32(p);
    d.feedback = load_be32(p + 4);
    for (unsigned i = 0; i < kDescriptorPointers; ++i) d.ptr[i] = PointerDword::decode(load_be64(p + 8 + 8 * i));
    return d;
  }
  void store(void* bytes64) const {
    auto* p = static_cast<uint8_t*>(bytes64);
    store_be32(p, header);
    store_be32(p + 4, feedback);
    for (unsigned i = 0; i < kDescriptorPointers; ++i) store_be64(p + 8 + 8 * i, ptr[i].encode());
  }

  constexpr bool done() const { return (header & kHeaderDone) == kHeaderDone; }
  constexpr IntegrityCheck iccr0() const { return static_cast<IntegrityCheck>(feedback >> 27 & 3); }
  constexpr IntegrityCheck iccr1() const { return static_cast<IntegrityCheck>(feedback >> 19 & 3); }
  bool operator==(const Descriptor&) const = default;
};

}  // namespace sec::regs
