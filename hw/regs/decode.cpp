#include "hw/regs/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <numeric>

#include "common/diag.h"
#include "hw/regs/channel.h"
#include "hw/regs/controller.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/eu_common.h"
#include "hw/regs/link_table.h"
#include "hw/regs/map.h"
#include "hw/regs/units.h"

namespace sec::regs {
namespace {

/// A block at its place in the window of some part.
struct Placed {
  std::string block;
  uint32_t base;
  std::span<const Register> registers;
  bool alternate_page = false;
  bool sec1_unit = false;  // its control registers are byte-swapped
};

std::span<const Register> unit_registers(Eu eu) { return eu_block(eu)->registers; }

std::string_view unit_block_name(Eu eu) { return eu == Eu::MdeuA ? "MDEU" : eu_name(eu); }

constexpr Register kIpBlock[] = {kIPBRR};
constexpr Register kDescriptorWords[] = {kHeader, kWriteBack, kPointer, kLinkEntry};

std::vector<Placed> blocks_of(const Part& part, bool alternate_pages) {
  std::vector<Placed> out;
  const Block& channel = channel_block(part.generation);
  if (alternate_pages && has_alternate_pages(part))
    for (unsigned n = 0; n < part.channels; ++n)
      out.push_back({fmt::format("ch{}", n), channel_alias_base(part, n), channel.registers, true});
  out.push_back({"controller", kControllerBase, controller_block(part.generation).registers});
  for (unsigned n = 0; n < part.channels; ++n)
    out.push_back({fmt::format("ch{}", n), channel_base(part, n), channel.registers});
  if (has_polychannel(part)) out.push_back({"polychannel", kPolychannelBase, kPolychannelRegisters});
  if (has_ip_block_revision(part)) out.push_back({"controller", kIpBlockRevision, kIpBlock});
  for (Eu eu : kUnits)
    if (part.has(eu))
      out.push_back({std::string(unit_block_name(eu)), eu_base(part, eu), unit_registers(eu), false, part.sec1()});
  return out;
}

Location at(const Placed& b, const Register& r, uint32_t byte_in_register = 0) {
  return {.block = b.block,
          .name = std::string(r.name),
          .reg = &r,
          .offset = b.base + r.offset_bytes,
          .byte_in_register = byte_in_register,
          .alternate_page = b.alternate_page,
          .swapped = b.sec1_unit && r.offset_bytes < kEuControlBytes};
}

std::string upper(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string close_matches(std::string_view wanted, const std::vector<std::string>& names) {
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& n : names) {
    const std::string folded = upper(n);  // compared in upper case, shown as spelt
    size_t distance = edit_distance(wanted, folded);
    if (!wanted.empty() && folded.find(wanted) != std::string::npos) distance = std::min<size_t>(distance, 1);
    ranked.emplace_back(distance, n);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  std::string out;
  for (size_t i = 0; i < ranked.size() && i < 4 && ranked[i].first <= std::max<size_t>(2, wanted.size() / 2); ++i)
    out += (i ? ", " : "") + ranked[i].second;
  return out;
}

std::optional<uint64_t> parse_number(std::string_view s) {
  int base = 10;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
    base = 16;
    s.remove_prefix(2);
  }
  uint64_t v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v, base);
  if (error != std::errc{} || end != s.data() + s.size() || s.empty()) return std::nullopt;
  return v;
}

/// Joins with spaces, leaving out empty pieces.
std::string words(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view p : parts)
    if (!p.empty()) out += (out.empty() ? "" : " ") + std::string(p);
  return out;
}

std::string word_mask(uint64_t mask) {
  if (mask >> 32 && mask & 0xffffffff) {
    const auto first = static_cast<unsigned>(std::countl_zero(mask)), last = 63 - static_cast<unsigned>(std::countr_zero(mask));
    return fmt::format("bits {}-{}", first, last);
  }
  return mask >> 32 ? fmt::format("HI 0x{:08x}", mask >> 32) : fmt::format("LO 0x{:08x}", mask);
}

/// What a value says where a register's table has it: SEC 1 keeps a unit's control registers byte-swapped.
uint64_t in_table_order(const Location& where, uint64_t value) { return where.swapped ? from_sec1(value) : value; }

std::string_view verdict(IntegrityCheck c) {
  switch (c) {
    case IntegrityCheck::None:
      return "no check";
    case IntegrityCheck::Pass:
      return "passed";
    case IntegrityCheck::Fail:
      return "failed";
  }
  return "reserved";
}

Eu unit_of_block(std::string_view block) {
  for (Eu eu : kUnits)
    if (unit_block_name(eu) == block) return eu;
  return Eu::None;
}

std::string field_meaning(const Location& where, const Field& f, uint64_t value) {
  const std::string_view reg = where.reg->name;
  if (reg == "EUASR" || reg == "EUACR") return value ? fmt::format("held by channel {}", value - 1) : "free";
  if (f.name == "MAIN_STATE") return std::string(name_in(kChannelStateNames, value, "unknown state"));
  if (f.name == "GET_STATE" || f.name == "PUT_STATE") return value ? "busy" : "idle";
  if (f.name == "FF_LEVEL") return fmt::format("{} waiting", value);
  if (reg == "MCR" && f.name == "PRIORITY") {
    constexpr std::string_view kNames[] = {"low", "medium-low", "medium-high", "high"};
    return std::string(kNames[value & 3]);
  }
  if (reg == "CCCR" && f.name == "BURST") return fmt::format("{}-byte bursts", value ? 8 * value : 2);
  if (reg == "CCCR" && f.name == "BS") return value ? "128-byte bursts" : "64-byte bursts";
  if (f.name == "SEL0" || f.name == "SEL1") return std::string(eu_name(static_cast<Eu>(value)));
  if (reg == "HEADER" && f.name == "TYPE") return std::string(name_of(static_cast<DescriptorType>(value)));
  if (reg == "HEADER" && f.name == "DIR") return value ? "inbound" : "outbound";
  if (f.name == "DONE") return value == 0xff ? "done" : "not done";
  if (f.name == "ICCR0" || f.name == "ICCR1") return std::string(verdict(static_cast<IntegrityCheck>(value)));
  if (f.name == "ADDRESS") return "";
  if (f.name == "MODE" || f.name == "ROUTINE")
    return mode_meaning(unit_of_block(where.block), static_cast<uint8_t>(value));
  if (f.width() == 1 && !value) return "";
  return std::string(f.doc);
}

/// Reserved bits of a pointer dword: 39..36.
constexpr uint64_t kPointerReserved = uint64_t{0xf} << 36;

std::string set_fields(const DecodedRegister& d, uint64_t within) {
  std::string out;
  for (const DecodedField& f : d.fields) {
    const Field field{.name = "", .bits = f.bits};
    if (!(f.mask & within) || !f.value) continue;
    out += out.empty() ? "" : " ";
    out += field.width() == 1 ? f.field : fmt::format("{}={:#x}", f.field, f.value);
    const bool named = f.field == "MAIN_STATE" || f.field == "SEL0" || f.field == "SEL1" || f.field == "TYPE";
    if (named && field.width() > 1) out += fmt::format("({})", f.meaning);
  }
  if (!d.summary.empty()) out += (out.empty() ? "" : ": ") + d.summary;
  return out;
}

/// "CH0_CCCR": block and name as one word, for channels only; other names are unique.
std::string word_name(const Location& l) {
  return l.block.starts_with("ch") ? fmt::format("CH{}_{}", l.block.substr(2), l.name) : l.name;
}

}  // namespace

uint64_t Location::mask_of(const Field& f) const { return swapped ? to_sec1(f.mask()) : f.mask(); }
BitRange Location::bits_of(const Field& f) const {
  const uint64_t m = mask_of(f);
  return {static_cast<unsigned>(std::countl_zero(m)), 63 - static_cast<unsigned>(std::countr_zero(m))};
}

std::optional<Location> lookup(uint32_t offset, const Part& part) {
  for (const Placed& b : blocks_of(part, true))
    for (const Register& r : b.registers) {
      const uint32_t first = b.base + r.offset_bytes;
      if (offset >= first && offset < first + r.size_bytes) return at(b, r, offset - first);
    }
  return std::nullopt;
}

std::vector<Location> all_registers(const Part& part) {
  std::vector<Location> out;
  for (const Placed& b : blocks_of(part, false))
    for (const Register& r : b.registers) out.push_back(at(b, r));
  std::sort(out.begin(), out.end(), [](const Location& a, const Location& b) { return a.offset < b.offset; });
  return out;
}

std::optional<uint32_t> find_register(const Part& part, std::string_view text) {
  if (const auto offset = parse_number(text))
    return *offset < window_bytes(part) ? std::optional(static_cast<uint32_t>(*offset)) : std::nullopt;
  std::string wanted = upper(text);
  std::replace(wanted.begin(), wanted.end(), '.', '_');
  uint32_t word = 0;
  if (wanted.ends_with("_HI") || wanted.ends_with("_LO")) {
    word = wanted.ends_with("_LO") ? 4 : 0;
    wanted.resize(wanted.size() - 3);
  }
  // "CCPSR2": the digit is the channel, unless a register is called that.
  const bool digit = !wanted.empty() && std::isdigit(static_cast<unsigned char>(wanted.back()));
  const std::string of_channel =
      digit ? fmt::format("CH{}_{}", wanted.back(), wanted.substr(0, wanted.size() - 1)) : "CH0_" + wanted;
  std::optional<uint32_t> channel;
  for (const Location& l : all_registers(part)) {
    const std::string name = word_name(l);
    if (name == wanted || upper(l.block) + "_" + l.name == wanted) return l.offset + word;
    if (name == of_channel) channel = l.offset + word;
  }
  return channel;
}

std::string register_name(const Part& part, uint32_t offset) {
  const auto l = lookup(offset, part);
  if (!l) return fmt::format("{:#06x}", offset);
  std::string out = word_name(*l);
  if (l->reg->size_bytes > 8)
    out += l->byte_in_register ? fmt::format("+{:#x}", l->byte_in_register) : "";
  else if (l->byte_in_register)
    out += "_LO";
  if (l->alternate_page) out += " (alternate page)";
  return out;
}

std::vector<NamedRegister> register_names(const Part& part) {
  std::vector<NamedRegister> out;
  for (const Location& l : all_registers(part)) out.push_back({word_name(l), l.offset, l.reg->size_bytes, l.reg->access});
  return out;
}

Location find_register(std::string_view text, const Part& part) {
  if (const auto offset = parse_number(text)) {
    if (*offset >= window_bytes(part))
      throw SetupError(fmt::format("register offset {} is outside the window of {:#x} bytes; give an offset below it",
                                   text, window_bytes(part)));
    if (auto found = lookup(static_cast<uint32_t>(*offset), part)) return *found;
    throw SetupError(fmt::format("{} has no register at offset {}; list them with `secsim regs`", part.name, text));
  }

  const std::string wanted = upper(text);
  const size_t dot = wanted.find('.');
  const std::string block = dot == std::string::npos ? "" : wanted.substr(0, dot);
  const std::string name = dot == std::string::npos ? wanted : wanted.substr(dot + 1);
  std::vector<std::string> names;
  for (const Placed& b : blocks_of(part, false))
    for (const Register& r : b.registers) {
      if (r.name == name && (block.empty() || upper(b.block) == block)) return at(b, r);
      if (block.empty())
        names.emplace_back(r.name);
      else
        names.push_back(fmt::format("{}.{}", b.block, r.name));
    }
  if (block.empty() || block == "DESCRIPTOR")
    for (const Register& r : kDescriptorWords) {
      if (r.name == name) return {.block = "descriptor", .name = name, .reg = &r, .in_window = false};
      names.emplace_back(r.name);
    }
  for (Eu eu : kUnits)
    for (const Register& r : unit_registers(eu))
      if (r.name == name && !part.has(eu))
        throw SetupError(fmt::format("{} has no {}, so it has no register {}; choose another part", part.name,
                                     unit_block_name(eu), name));
  if (const auto offset = find_register(part, text))  // "CH2_CCPSR", "CCPSR2"
    if (auto found = lookup(*offset, part)) return *found;
  const std::string close = close_matches(wanted, names);
  throw SetupError(fmt::format("{} has no register called \"{}\"; {}", part.name, text,
                               close.empty() ? std::string("list them with `secsim regs`") : "close are: " + close));
}

DecodedRegister decode_fields(const Location& where, uint64_t value) {
  DecodedRegister d{.where = where, .value = value};
  const uint64_t table_value = in_table_order(where, value);
  uint64_t known = where.reg->fields.empty() ? ~uint64_t{0} : 0;
  for (const Field& f : where.reg->fields) {
    known |= where.mask_of(f);
    const uint64_t v = f.get(table_value);
    d.fields.push_back({std::string(f.name), where.mask_of(f), f.bits, f.model, v, field_meaning(where, f, v)});
  }
  // The feedback word has more bits than the verdicts, and they are unspecified.
  if (where.name != "WRITEBACK") d.undefined_bits = value & ~known;
  if (where.in_window && where.reg->offset_bytes == 0 && unit_of_block(where.block) != Eu::None)
    d.summary = mode_meaning(unit_of_block(where.block), static_cast<uint8_t>(table_value));
  else if (where.name == "HEADER")
    d.summary = decode_header(static_cast<uint32_t>(value >> 32));
  return d;
}

std::string decode_register(std::string_view name_or_offset, uint64_t value, const Part& part) {
  const Location where = find_register(name_or_offset, part);
  if (where.name == "HEADER" && !(value >> 32)) value <<= 32;
  const DecodedRegister d = decode_fields(where, value);

  std::string out =
      where.in_window
          ? fmt::format("{}.{} at {:#07x} of {} (SEC {}) = 0x{:08x}_{:08x}\n", where.block, where.name, where.offset,
                        part.name, part.sec_version, value >> 32, value & 0xffffffff)
          : fmt::format("{} {} = 0x{:08x}_{:08x}\n", where.block, where.name, value >> 32, value & 0xffffffff);
  out += fmt::format("  {}\n", where.reg->doc);
  if (!d.summary.empty()) out += fmt::format("  = {}\n", d.summary);
  for (const DecodedField& f : d.fields) {
    const Field field{.name = "", .bits = f.bits};
    if (field.width() == 1 && !f.value) continue;  // bits that are clear say nothing
    const std::string_view model = f.model == Model::Modelled ? ""
                                   : f.model == Model::Stored ? " (stored, no effect)"
                                                              : " (not modelled)";
    std::string line = fmt::format("  {:<14} {:<14} {:#x}", f.field, word_mask(f.mask), f.value);
    if (!f.meaning.empty()) line += "  " + f.meaning;
    out += line + std::string(model) + "\n";
  }
  if (d.undefined_bits) out += fmt::format("  undefined bits set: 0x{:016x}\n", d.undefined_bits);
  return out;
}

std::string mode_meaning(Eu eu, uint8_t mode) {
  const auto direction = [&](bool encrypt) { return encrypt ? "encrypt" : "decrypt"; };
  switch (eu) {
    case Eu::Aesu: {
      using namespace aesu_mode;
      // IM and FM select variants of some modes and are flags of others: try the longer match first.
      std::string_view name = name_in(kAesuModeNames, mode & (kAlgorithmMask | kFinalMac), "");
      std::string_view final_mac;
      if (name.empty()) {
        name = name_in(kAesuModeNames, mode & kAlgorithmMask, "");
        final_mac = "FM";
      }
      if (name.empty()) return fmt::format("reserved mode {:#04x}", mode);
      const bool mac_only = name.find("MAC") != std::string_view::npos || name == "XOR";
      // Key stream modes are the same both ways, and drivers may leave ED clear.
      const bool stream = name == "CTR" || name == "OFB";
      const bool encrypt = mode & kEncrypt;
      return words({name, mac_only || (stream && !encrypt) ? "" : direction(encrypt), mode & kRdk ? "RDK" : "",
                    mode & kInitMac ? "IM" : "", final_mac});
    }
    case Eu::Deu: {
      using namespace deu_mode;
      return words({mode & kTriple ? "3DES" : "DES", name_in(kDeuModeNames, mode & kModeMask),
                    direction(mode & kEncrypt), mode & 0xf0 ? "reserved bits set" : ""});
    }
    case Eu::MdeuA:
    case Eu::MdeuB: {
      using namespace mdeu_mode;
      const std::string_view alg = name_in(
          eu == Eu::MdeuB ? std::span<const EnumName>(kMdeuBModeNames) : kMdeuAModeNames, mode & kAlgorithmMask);
      const std::string hash = (mode & kHmac ? "HMAC-" : "") + std::string(alg);
      return words({mode & kSslMac ? "SSL-MAC" : "", hash, mode & kInit ? "INIT" : "", mode & kContinue ? "CONT" : "",
                    mode & kPad ? "PD" : "", mode & kCheckIcv ? "CICV" : ""});
    }
    case Eu::Afeu:
      return words({"RC4", mode & 1 ? "PP" : "", mode & 2 ? "DC" : "", mode & 4 ? "CS" : ""});
    case Eu::Keu:
      return words({mode & 2 ? "f9" : "f8", mode & 0x08 ? "INIT" : "", mode & 0x10 ? "EOM" : "",
                    mode & 0x20 ? "EDGE" : "", mode & 0x40 ? "CICV" : "", mode & 0x80 ? "GSM" : ""});
    case Eu::Steu:
      return words({(mode & 3) == 1   ? "SNOW f8"
                    : (mode & 3) == 2 ? "SNOW f9"
                                      : "reserved algorithm",
                    mode & 0x08 ? "INIT" : "", mode & 0x10 ? "EOM" : "", mode & 0x40 ? "CICV" : ""});
    case Eu::Crcu: {
      constexpr std::string_view kNames[] = {"CRC-32", "CRC-32C", "static custom CRC", "dynamic custom CRC"};
      return words({kNames[mode & 3], mode & 0x40 ? "CICV" : "", mode & 0x80 ? "RAW" : ""});
    }
    case Eu::Pkeu: {
      const std::string_view name = name_in(kPkeuModeNames, mode, "");
      return name.empty() ? fmt::format("reserved routine {:#04x}", mode) : std::string(name);
    }
    case Eu::Rngu:
      return mode ? fmt::format("reserved mode {:#04x}", mode) : "random";
    case Eu::None:
      return mode ? fmt::format("mode {:#04x} without a unit", mode) : "";
  }
  return fmt::format("mode {:#04x} of an unknown unit", mode);
}

std::string decode_header(uint32_t header) {
  if (!header) return "empty header";
  const HeaderWord h = HeaderWord::decode(header);
  std::string out;
  if ((header & kHeaderDone) == kHeaderDone) {
    out = "done";
  } else {
    const Eu primary = static_cast<Eu>(h.sel0);
    out = h.sel0 ? words({eu_name(primary), mode_meaning(primary, h.mode0)}) : "no primary unit";
  }
  if (h.sel1) {
    const Eu secondary = static_cast<Eu>(h.sel1);
    out += " + " + words({eu_name(secondary), mode_meaning(secondary, h.mode1)});
  }
  out += fmt::format(", {}, {}", name_of(static_cast<DescriptorType>(h.type)), h.inbound ? "inbound" : "outbound");
  if (h.notify) out += ", DN";
  return out;
}

DecodedDescriptor decode_descriptor_fields(std::span<const std::byte> bytes, const Part& part) {
  if (bytes.size() != kDescriptorBytes)
    throw SetupError(
        fmt::format("a descriptor has {} bytes and this one has {}; give all of it", kDescriptorBytes, bytes.size()));
  Descriptor desc = Descriptor::load(bytes.data());
  DecodedDescriptor d;
  d.sec1 = part.sec1();
  const size_t pointers_at = d.sec1 ? kSec1PointerOffset : 8;
  if (d.sec1) {
    desc.feedback = 0;
    for (unsigned i = 0; i < kDescriptorPointers; ++i)
      desc.ptr[i] = PointerDword::decode_sec1(load_be64(bytes.data() + pointers_at + 8 * i));
    d.next = load_be32(bytes.data() + kSec1NextOffset);
  }
  const std::string_view no_unit = d.sec1 ? "SERR" : "IEU";
  const uint64_t reserved_bits = d.sec1 ? uint64_t{0xffff} << 48 : kPointerReserved;
  d.header_word = desc.header;
  d.feedback_word = desc.feedback;
  d.header = HeaderWord::decode(desc.header);
  const HeaderWord& h = d.header;
  d.done = desc.done();
  d.iccr0 = desc.iccr0();
  d.iccr1 = desc.iccr1();
  const Eu primary = static_cast<Eu>(h.sel0), secondary = static_cast<Eu>(h.sel1);
  if (!d.done) {
    d.primary = eu_name(primary);
    d.primary_mode = mode_meaning(primary, h.mode0);
  }
  d.secondary = eu_name(secondary);
  d.secondary_mode = mode_meaning(secondary, h.mode1);
  d.type_name = name_of(static_cast<DescriptorType>(h.type));

  // With the done byte in place, SEL0 reads as 15: take the form without a special unit.
  HeaderWord for_roles = h;
  if (d.done) for_roles.sel0 = 0;
  const PointerRoles* roles = roles_for(for_roles);
  if (roles) d.form = name_of(roles->form);
  for (unsigned i = 0; i < kDescriptorPointers; ++i) {
    const uint64_t raw = load_be64(bytes.data() + pointers_at + 8 * i);
    DecodedPointer p{.index = i, .pointer = desc.ptr[i], .unused = raw == 0};
    if (roles) {
      p.role = roles->pointer[i];
      p.extent_role = roles->extent[i];
    }
    if (roles && !p.unused && p.role.empty() && p.extent_role.empty())
      d.warnings.push_back(fmt::format("p{} is set but {} does not use it", i, d.type_name));
    else if (roles && p.pointer.extent && p.extent_role.empty())
      d.warnings.push_back(fmt::format("the extent of p{} is set but {} does not use it", i, d.type_name));
    if (raw & reserved_bits) d.warnings.push_back(fmt::format("reserved bits of p{} are set", i));
    if (p.pointer.length && !p.pointer.address && !p.pointer.eptr && p.pointer.jump)
      d.warnings.push_back(fmt::format("p{} is a link table at address 0", i));
    d.pointers.push_back(std::move(p));
  }

  if (!desc.header) d.warnings.push_back("the header is zero: IDH");
  if (!roles) d.warnings.push_back(fmt::format("type {} is reserved: IDH", h.type));
  if (roles && !part.has_type(h.type))
    d.warnings.push_back(fmt::format("{} does not have type {} ({}): IDH", part.name, h.type, d.type_name));
  if (!d.done && desc.header) {
    if (h.sel0 == 0) d.warnings.push_back("there is no primary unit");
    if (h.sel0 && !part.has(primary))
      d.warnings.push_back(fmt::format("{} has no unit with code {} ({}): {}", part.name, h.sel0, d.primary, no_unit));
    if (h.sel0 && h.sel0 == h.sel1) d.warnings.push_back("primary and secondary unit are the same: IDH");
  }
  if (h.sel1 && !part.has(secondary))
    d.warnings.push_back(fmt::format("{} has no unit with code {} ({}): {}", part.name, h.sel1, d.secondary, no_unit));
  if (!h.sel1 && h.mode1) d.warnings.push_back("MODE1 is set but there is no secondary unit");
  if (desc.header & 0x4) d.warnings.push_back("the reserved bit 0x4 of the header is set");
  if (d.next % 4) d.warnings.push_back("the next descriptor is not aligned to a word: the write-back is unpredictable");
  return d;
}

std::string decode_descriptor(std::span<const std::byte> bytes, const Part& part) {
  const DecodedDescriptor d = decode_descriptor_fields(bytes, part);
  std::string out = fmt::format("header   0x{:08x}  {}\n", d.header_word, decode_header(d.header_word));
  out += fmt::format("  type {} {}{}\n", d.header.type, d.type_name, d.form.empty() ? "" : " (" + d.form + ")");
  if (d.done)
    out += "  done; the done byte hides the primary unit and the upper half of its mode\n";
  else
    out += fmt::format("  primary   {} mode 0x{:02x} {}\n", d.primary, d.header.mode0, d.primary_mode);
  if (d.header.sel1)
    out += fmt::format("  secondary {} mode 0x{:02x} {}\n", d.secondary, d.header.mode1, d.secondary_mode);
  if (!d.sec1)
    out += fmt::format("feedback 0x{:08x}  ICCR0 {}, ICCR1 {}\n", d.feedback_word, verdict(d.iccr0), verdict(d.iccr1));
  for (const DecodedPointer& p : d.pointers) {
    out += fmt::format("p{} {:<20}", p.index, p.role.empty() ? "-" : p.role);
    if (p.unused) {
      out += " unused\n";
      continue;
    }
    out += fmt::format(" {:>5} bytes at 0x{:01x}_{:08x}", p.pointer.length, p.pointer.eptr, p.pointer.address);
    if (p.pointer.jump) out += " through a link table";
    if (p.pointer.extent)
      out +=
          fmt::format(", extent {} bytes{}", p.pointer.extent, p.extent_role.empty() ? "" : " (" + p.extent_role + ")");
    out += "\n";
  }
  if (d.sec1) out += d.next ? fmt::format("next     0x{:08x}\n", d.next) : "next     none, the chain ends here\n";
  for (const std::string& w : d.warnings) out += "note: " + w + "\n";
  return out;
}

std::string decode_chain(std::span<const std::byte> bytes, const Part& part) {
  if (bytes.empty() || bytes.size() % kDescriptorBytes)
    throw SetupError(fmt::format("a chain is made of descriptors of {} bytes and {} bytes were given; give whole ones",
                                 kDescriptorBytes, bytes.size()));
  if (!part.sec1() && bytes.size() > kDescriptorBytes)
    throw SetupError(fmt::format("{} has no chains of descriptors; give one descriptor of {} bytes, or a part of SEC 1",
                                 part.name, kDescriptorBytes));
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += kDescriptorBytes) {
    if (bytes.size() > kDescriptorBytes) out += fmt::format("{}descriptor {}\n", at ? "\n" : "", at / kDescriptorBytes);
    out += decode_descriptor(bytes.subspan(at, kDescriptorBytes), part);
  }
  return out;
}

std::vector<ChannelErrorBit> channel_errors(uint64_t value, Generation generation) {
  std::vector<ChannelErrorBit> out;
  for (const Field& f : ccpsr(generation).fields)
    if ((f.mask() & channel_error::all(generation)) && f.get(value))
      out.push_back(
          {std::string(f.name), f.mask(), std::string(f.doc), !(f.mask() & channel_error::not_halting(generation))});
  return out;
}

std::string decode_channel_error(uint64_t value, Generation generation) {
  std::string out;
  for (const ChannelErrorBit& e : channel_errors(value, generation)) {
    std::string_view doc = e.meaning;
    while (!doc.empty() && doc.back() == '.') doc.remove_suffix(1);
    out += fmt::format("{}{} ({}{})", out.empty() ? "" : ", ", e.name, doc, e.halts ? "" : "; does not halt");
  }
  return out.empty() ? "no error" : out;
}

std::string describe_access(bool is_write, uint32_t offset, uint64_t value, unsigned size_bytes, const Part& part) {
  const std::string_view verb = is_write ? "write" : "read ";
  const std::string shown = size_bytes == 8 ? fmt::format("0x{:08x}_{:08x}", value >> 32, value & 0xffffffff)
                                            : fmt::format("0x{:08x}", value & 0xffffffff);
  const auto where = lookup(offset, part);
  if (!where) return fmt::format("{} {:#07x} {} (reserved)", verb, offset, shown);

  const bool low_word = offset & 4;
  std::string place = fmt::format("{}.{}", where->block, where->name);
  if (where->reg->size_bytes > 8) place += fmt::format("+{:#x}", where->byte_in_register);
  if (size_bytes == 4) place += low_word ? " LO" : " HI";
  if (where->alternate_page) place += " (alternate page)";
  std::string out = fmt::format("{} {} {}", verb, place, shown);
  if (where->reg->fields.empty()) return out;

  const uint64_t within = size_bytes == 8 ? ~uint64_t{0} : low_word ? 0xffffffff : 0xffffffff00000000;
  const uint64_t placed = size_bytes == 8 ? value : low_word ? value & 0xffffffff : value << 32;
  DecodedRegister d = decode_fields(*where, placed);
  if (!(within & (where->swapped ? uint64_t{0xff} << 56 : 0xff))) d.summary.clear();  // not the word with the mode
  if (where->name == "FF" || where->name == "FR" || where->name == "CDPR" || where->name == "MEAR") return out;
  const std::string fields = set_fields(d, within);
  return fields.empty() ? out : out + "  " + fields;
}

std::string device_tree(const Part& part) {
  std::string compatible;
  for (std::string_view c : part.compatible)
    if (!c.empty()) compatible += fmt::format("{}\"{}\"", compatible.empty() ? "" : ",\n\t\t     ", c);
  // [DT] SEC 1: 8xx SIU level 1, CPM2 interrupt 47; MPC83xx: IPIC 11, level low; MPC85xx family: OpenPIC internal
  // interrupts 45 and, on SEC 3.x, 58; level, active high.
  const std::string_view interrupts = part.name == "mpc885"             ? "<1 1>"
                                      : part.sec1()                     ? "<47 8>"
                                      : part.name.starts_with("mpc83")  ? "<11 8>"
                                      : part.interrupts == 2            ? "<45 2 0 0 58 2 0 0>"
                                                                        : "<45 2 0 0>";
  return fmt::format(
      "crypto@{0:x} {{\n"
      "\tcompatible = {1};\n"
      "\treg = <{0:#x} {2:#x}>;\n"
      "\tinterrupts = {3};\n"
      "\tfsl,num-channels = <{4}>;\n"
      "\tfsl,channel-fifo-len = <{5}>;\n"
      "\tfsl,exec-units-mask = <{6:#x}>;\n"
      "\tfsl,descriptor-types-mask = <{7:#x}>;\n"
      "}};\n",
      part.ccsr_offset, compatible, part.window_bytes, interrupts, part.channels, part.fetch_fifo_entries,
      part.exec_units_mask, part.descriptor_types_mask);
}

}  // namespace sec::regs
