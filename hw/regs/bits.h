// Registers as constexpr data: the one place that says where a register is and what its bits mean.
// Code asks for `kCCCR.mask("CDWE")` at compile time (a misspelt field does not compile); the
// reference pages, the Verilog header, the waveform decoders and `secsim regs|decode` walk the same
// tables at run time.
//
// All registers are 64 bits wide and bits are numbered as the manuals print them: bit 0 is the most
// significant. `HI` is the word at the register's offset (bits 0-31), `LO` the word at offset + 4.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace sec::regs {

/// Inclusive range of bits in manual numbering (0 = most significant of 64).
struct BitRange {
  unsigned first, last;
};

/// Bits of a 32-bit half given as the mask that drivers use: hi(0x00010000) is manual bit 15.
consteval BitRange from_mask(uint64_t mask) {
  unsigned first = 0;
  while (!(mask >> (63 - first) & 1)) ++first;
  unsigned last = 63;
  while (!(mask >> (63 - last) & 1)) --last;
  return {first, last};
}
/// Reads as a compile error when a mask has a hole: a field is a run of bits.
consteval BitRange contiguous(BitRange r, uint64_t mask) {
  const unsigned width = r.last - r.first + 1;
  const uint64_t ones = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  if (ones << (63 - r.last) != mask) throw "mask with a hole";
  return r;
}
consteval BitRange hi(uint32_t mask) { return contiguous(from_mask(uint64_t{mask} << 32), uint64_t{mask} << 32); }
consteval BitRange lo(uint32_t mask) { return contiguous(from_mask(mask), mask); }

enum class Access : uint8_t { ReadWrite, ReadOnly, WriteOnly, WriteOneToClear, SelfClearing };
/// What the model does with a field: acts on it, only keeps its value, or does not have it.
enum class Model : uint8_t { Modelled, Stored, Absent };

struct Field {
  std::string_view name;
  BitRange bits;
  Access access = Access::ReadWrite;
  Model model = Model::Modelled;
  std::string_view doc = "";

  constexpr unsigned shift() const { return 63 - bits.last; }
  constexpr unsigned width() const { return bits.last - bits.first + 1; }
  constexpr uint64_t mask() const { return (width() == 64 ? ~uint64_t{0} : (uint64_t{1} << width()) - 1) << shift(); }
  constexpr uint64_t get(uint64_t reg) const { return (reg & mask()) >> shift(); }
  constexpr uint64_t put(uint64_t value) const { return value << shift() & mask(); }
};

struct Register {
  std::string_view name;
  uint32_t offset_bytes = 0;  // inside its block
  uint64_t reset = 0;
  std::span<const Field> fields = {};
  std::string_view doc = "";
  std::string_view source = "";      // key of docs/reference/sources.md
  Access access = Access::ReadWrite;  // of the whole register, where no field says otherwise
  uint32_t size_bytes = 8;           // larger for windows (FIFO, key, descriptor buffer)

  consteval const Field& field(std::string_view n) const {
    for (const Field& f : fields)
      if (f.name == n) return f;
    throw "no such field";  // not a constant expression: fails to compile
  }
  consteval uint64_t mask(std::string_view n) const { return field(n).mask(); }
  consteval unsigned shift(std::string_view n) const { return field(n).shift(); }
};

/// Access rule of one field: the field's own when it has one, else the register's.
constexpr Access access_of(const Register& r, const Field& f) {
  return f.access == Access::ReadWrite ? r.access : f.access;
}

/// The same register under another name and place: the execution units share one layout.
consteval Register renamed(Register r, std::string_view name) {
  r.name = name;
  return r;
}

/// A value with the name people use for it (states, modes, codes).
struct EnumName {
  uint64_t value;
  std::string_view name;
};

/// Name of a value, or `otherwise` when the table has none.
constexpr std::string_view name_in(std::span<const EnumName> table, uint64_t value, std::string_view otherwise = "?") {
  for (const EnumName& e : table)
    if (e.value == value) return e.name;
  return otherwise;
}

struct Block {
  std::string_view name;
  std::string_view doc;
  std::span<const Register> registers;
};

/// Aligned, no overlapping registers or fields, reset bits inside fields (or the register has none).
constexpr bool well_formed(const Block& b) {
  for (size_t i = 0; i < b.registers.size(); ++i) {
    const Register& r = b.registers[i];
    if (r.offset_bytes % 8 || r.size_bytes % 8 || r.name.empty()) return false;
    for (size_t k = 0; k < i; ++k) {
      const Register& o = b.registers[k];
      if (r.offset_bytes < o.offset_bytes + o.size_bytes && o.offset_bytes < r.offset_bytes + r.size_bytes) return false;
    }
    uint64_t seen = 0;
    for (const Field& f : r.fields) {
      if (f.bits.first > f.bits.last || f.bits.last > 63 || (seen & f.mask())) return false;
      seen |= f.mask();
    }
    if (!r.fields.empty() && (r.reset & ~seen)) return false;
  }
  return true;
}

}  // namespace sec::regs
