// Registers, descriptors and accesses in words, for `secsim regs|decode|poke`, traces and waveform filters.
// Everything is read from the same tables that the model and the driver use.
//
// Each question has a structured answer (a struct, for JSON and tests) and a text one (for people).
// Input comes from users, so what cannot be understood throws SetupError with the nearest names.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw/regs/bits.h"
#include "hw/regs/roles.h"
#include "hw/regs/variants.h"

namespace sec::regs {

/// A register of a part, with its place in the window.
struct Location {
  std::string block;              // "controller", "ch2", "AESU", "descriptor"
  std::string name;               // "CCPSR", "AESUISR"
  const Register* reg = nullptr;  // never null; lives as long as the program
  uint32_t offset = 0;            // of the register in the window; 0 for words of a descriptor
  uint32_t byte_in_register = 0;  // where the offset asked for lies in the register
  bool in_window = true;          // false: a word of a descriptor or link table
  bool alternate_page = false;    // SEC 3.x: channel seen through its alternate page
  bool swapped = false;           // SEC 1: control register of a unit, byte-swapped in the high word

  /// Where a field is in this register as software reads it: its mask, or that of SEC 1's byte order.
  uint64_t mask_of(const Field& f) const;
  /// First and last bit of that mask; on SEC 1 a field of more than a byte has holes between them.
  BitRange bits_of(const Field& f) const;
};

struct DecodedField {
  std::string field;
  uint64_t mask;  // as software reads it
  BitRange bits;  // in the numbering of the register's table
  Model model;
  uint64_t value;
  std::string meaning;
};

struct DecodedRegister {
  Location where;
  uint64_t value = 0;
  std::vector<DecodedField> fields;
  uint64_t undefined_bits = 0;  // set in the value but in no field
  std::string summary;          // one phrase where the fields work together (a mode), else empty
};

struct DecodedPointer {
  unsigned index;
  std::string role, extent_role;  // empty = the type does not use it
  PointerDword pointer;
  bool unused;  // all zero
};

struct DecodedDescriptor {
  HeaderWord header;
  uint32_t header_word = 0, feedback_word = 0;
  bool done = false;  // byte 0 is 0xff: the primary unit and half of its mode are overwritten
  std::string type_name, form;
  std::string primary, primary_mode, secondary, secondary_mode;
  IntegrityCheck iccr0 = IntegrityCheck::None, iccr1 = IntegrityCheck::None;
  std::vector<DecodedPointer> pointers;
  bool sec1 = false;           // SEC 1 layout: no feedback word, and the next descriptor's address at the end
  uint32_t next = 0;           // SEC 1: 0 ends the chain
  std::vector<std::string> warnings;  // what this part would object to, or what looks odd
};

struct ChannelErrorBit {
  std::string name;
  uint64_t mask;
  std::string meaning;
  bool halts;
};

/// The register at a window offset; nothing at reserved offsets and at units the part does not have.
std::optional<Location> lookup(uint32_t window_offset, const Part& part);

/// All registers of a part in window order (channels repeated, the alternate pages left out).
std::vector<Location> all_registers(const Part& part);

/// Window offset of a register, for programs that take names from people: "IMR", "AESUMR", "CH0_CCCR", "ch0.CCCR",
/// "CCPSR2" (of channel 2), "CCPSR" (of channel 0), "0x1110"; with "_HI" or "_LO" behind it, that of the word. Nothing
/// when the part has no such register.
std::optional<uint32_t> find_register(const Part& part, std::string_view name);

/// The name of a place in the window in the spelling that find_register takes: "CH0_CCCR", "CH0_CCCR_LO", "AESUFIFO+0x8";
/// an offset in hex where the part has no register.
std::string register_name(const Part& part, uint32_t window_offset);

struct NamedRegister {
  std::string name;  // "CH0_CCCR"
  uint32_t offset;
  uint32_t size_bytes;
  Access access;
};
/// All names that find_register knows for a part, in window order.
std::vector<NamedRegister> register_names(const Part& part);

/// A register by name ("CCPSR", "ch2.CCPSR", "AESUISR", "HEADER") or window offset ("0x1110").
/// A channel register without channel means channel 0. Throws SetupError.
Location find_register(std::string_view name_or_offset, const Part& part);

DecodedRegister decode_fields(const Location& where, uint64_t value);

/// Text of one register value. For HEADER, a value of 32 bits is taken as the header word. Throws SetupError.
std::string decode_register(std::string_view name_or_offset, uint64_t value, const Part& part);

/// What a mode byte asks of a unit: "CBC encrypt", "HMAC-SHA-1 init pad".
std::string mode_meaning(Eu eu, uint8_t mode);

/// One line for a header word: "AESU CBC encrypt, common_nonsnoop, outbound".
std::string decode_header(uint32_t header);

DecodedDescriptor decode_descriptor_fields(std::span<const std::byte> bytes64, const Part& part);
/// Text of a descriptor as it lies in memory. Throws SetupError unless given 64 bytes.
std::string decode_descriptor(std::span<const std::byte> bytes64, const Part& part);
/// Text of a chain of SEC 1, its descriptors one after the other. Throws SetupError unless given whole descriptors.
std::string decode_chain(std::span<const std::byte> bytes, const Part& part);

/// Error bits set in CCPSR, most significant first.
std::vector<ChannelErrorBit> channel_errors(uint64_t ccpsr, Generation generation);
/// "IDH (illegal descriptor header), EU (...)", or "no error".
std::string decode_channel_error(uint64_t ccpsr, Generation generation);

/// One line of an MMIO log in words: "write ch0.CCCR HI 0x00000002  CON". `size_bytes` is 4 or 8; for 4 the
/// value is the word at that offset. Never throws: unknown places are named as reserved.
std::string describe_access(bool is_write, uint32_t window_offset, uint64_t value, unsigned size_bytes,
                            const Part& part);

/// Device tree node of a part's engine, with the properties the Linux driver reads.
std::string device_tree(const Part& part);

}  // namespace sec::regs
