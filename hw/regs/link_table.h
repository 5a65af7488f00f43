// Link tables: lists of memory pieces that a pointer dword with J set gathers from or scatters to.
//
// An entry has the shape of a pointer dword, with R (return: last data entry of the last table) and N
// (next: the address is that of the next table, the length must be 0) in place of J and extent. Any number
// of entries and tables may follow. A piece must not straddle two parcels of one pointer, for instance data
// and ICV. On SEC 3.x an input's table must also cover the extent. [LX][MSC][FB]
#pragma once
#include "common/endian.h"
#include "hw/regs/bits.h"

namespace sec::regs {

inline constexpr size_t kLinkEntryBytes = 8;
/// The channel fetches this many entries at once (the size of its table buffers). ASSUMED: as one read.
inline constexpr unsigned kLinkEntriesPerFetch = 4;
inline constexpr uint32_t kMaxSegmentBytes = 0xffff;

inline constexpr Field kLinkEntryFields[] = {
    {.name = "LENGTH", .bits = {0, 15}, .doc = "Length of the piece in bytes; 0 in an N entry."},
    {.name = "R", .bits = {22, 22}, .doc = "Return: this is the last piece."},
    {.name = "N", .bits = {23, 23}, .doc = "Next: the address is that of the next table."},
    {.name = "EPTR", .bits = {28, 31}, .doc = "Address bits 35:32; valid with CCCR[EAE]."},
    {.name = "ADDRESS", .bits = {32, 63}, .doc = "Address bits 31:0."},
};
inline constexpr Register kLinkEntry{
    .name = "LINK", .offset_bytes = 0, .fields = kLinkEntryFields, .doc = "Link-table entry.", .source = "LX, FB, MSC"};

struct LinkEntry {
  static constexpr uint8_t kReturn = 0x02;
  static constexpr uint8_t kNext = 0x01;

  uint16_t length = 0;
  uint8_t flags = 0;  // kReturn, kNext
  uint8_t eptr = 0;   // address bits 35:32
  uint32_t address = 0;

  static constexpr LinkEntry data(BusAddr where, uint16_t length, bool last = false) {
    return {.length = length,
            .flags = last ? kReturn : uint8_t{0},
            .eptr = static_cast<uint8_t>(where >> 32 & 0xf),
            .address = static_cast<uint32_t>(where)};
  }
  static constexpr LinkEntry next(BusAddr table) {
    return {.length = 0,
            .flags = kNext,
            .eptr = static_cast<uint8_t>(table >> 32 & 0xf),
            .address = static_cast<uint32_t>(table)};
  }
  static constexpr LinkEntry decode(uint64_t v) {
    return {.length = static_cast<uint16_t>(v >> 48),
            .flags = static_cast<uint8_t>(v >> 40 & (kReturn | kNext)),
            .eptr = static_cast<uint8_t>(v >> 32 & 0xf),
            .address = static_cast<uint32_t>(v)};
  }
  constexpr uint64_t encode() const {
    return uint64_t{length} << 48 | uint64_t{flags} << 40 | uint64_t(eptr & 0xf) << 32 | address;
  }
  constexpr bool is_last() const { return flags & kReturn; }
  constexpr bool is_next() const { return flags & kNext; }
  constexpr BusAddr bus_addr() const { return BusAddr(eptr & 0xf) << 32 | address; }

  static LinkEntry load(const void* bytes8) { return decode(load_be64(bytes8)); }
  void store(void* bytes8) const { store_be64(bytes8, encode()); }
  bool operator==(const LinkEntry&) const = default;
};
static_assert(LinkEntry::data(0x3'1000'0000, 1514, true).encode() == 0x05ea020310000000);
static_assert(kLinkEntry.mask("R") == uint64_t{LinkEntry::kReturn} << 40 &&
              kLinkEntry.mask("N") == uint64_t{LinkEntry::kNext} << 40);

}  // namespace sec::regs
