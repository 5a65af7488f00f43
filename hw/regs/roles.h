// What each pointer of a descriptor is for, by descriptor type: the reading aid that decoders, traces and
// the reference pages share. [T23], with [LX] for the types Linux uses.
//
// A type can have more than one form (direction, or which unit is primary); `form_of` picks the row for a
// header. Roles are for people: the engine's own view of a type is in hw/core.
#pragma once
#include <array>
#include <iterator>

#include "hw/regs/descriptor.h"
#include "hw/regs/mdeu.h"

namespace sec::regs {

enum class Form : uint8_t { Any, Inbound, Outbound, Mdeu, Mac, IcvCheck };

struct PointerRoles {
  DescriptorType type;
  Form form;
  std::array<std::string_view, kDescriptorPointers> pointer;  // empty = unused
  std::array<std::string_view, kDescriptorPointers> extent;   // role of the extent of that pointer, empty = none
};

inline constexpr PointerRoles kPointerRoles[] = {
    {DescriptorType::AesuCtrNonsnoop,
     Form::Any,
     {"", "context in", "key", "data in", "data out", "context out", ""},
     {}},
    {DescriptorType::IpsecEsp,
     Form::Any,
     {"HMAC key", "hash-only header", "IV in", "cipher key", "data in", "data out", "IV out"},
     {"", "", "", "", "ICV in", "ICV out", ""}},
    {DescriptorType::CommonNonsnoop,
     Form::Any,
     {"", "context in", "key", "data in", "data out", "context out", ""},
     {}},
    {DescriptorType::CommonNonsnoop,
     Form::Mdeu,
     {"", "context in", "HMAC key", "data in", "ICV in", "digest/context out", ""},
     {}},
    {DescriptorType::CommonNonsnoop,
     Form::Mac,
     {"", "context in", "key", "data in", "", "context out", "ICV out"},
     {"", "", "", "", "ICV in", "", ""}},
    {DescriptorType::Ccmp80211i,
     Form::Any,
     {"CRC-only header", "AES context in", "key", "AAD", "data in", "data out", "context out"},
     {"FCS", "", "", "", "MIC in", "MIC out", ""}},
    {DescriptorType::HmacSnoopNoAfeu,
     Form::Any,
     {"hash key", "hash-only header", "cipher key", "cipher context in", "data in", "data out", "ICV out"},
     {}},
    {DescriptorType::Srtp,
     Form::Any,
     {"HMAC key", "context in", "key", "data in", "data out", "HMAC out", "context out"},
     {"", "", "", "hash-only header", "hash-only trailer", "", ""}},
    {DescriptorType::Srtp,
     Form::IcvCheck,
     {"HMAC key", "context in", "key", "data in", "HMAC in", "data out", "context out"},
     {"", "", "", "hash-only header", "hash-only trailer", "HMAC out", ""}},
    {DescriptorType::NonHmacSnoopNoAfeu,
     Form::Any,
     {"hash key", "hash-only header", "cipher key", "cipher context in", "data in", "data out", "ICV out"},
     {}},
    {DescriptorType::PkeuAssemble, Form::Any, {"A0", "A1", "A2", "A3", "B0", "B1", "build out"}, {}},
    {DescriptorType::AesuKeyExpandOutput,
     Form::Any,
     {"", "context in", "key", "data in", "data out", "expanded key out", ""},
     {}},
    {DescriptorType::PkeuPtmul, Form::Any, {"N", "E", "build", "B1 out", "B2 out", "B3 out", ""}, {}},
    {DescriptorType::CommonNonsnoopAfeu,
     Form::Any,
     {"", "context in (FIFO)", "key", "data in", "data out", "context out (FIFO)", ""},
     {}},
    {DescriptorType::PkeuPtaddDbl, Form::Any, {"N", "build", "B2 in", "B3 in", "B1 out", "B2 out", "B3 out"}, {}},
    {DescriptorType::PkeuMm, Form::Any, {"N", "B in", "A in", "E in", "B out", "", ""}, {}},
    {DescriptorType::TlsSslBlock,
     Form::Outbound,
     {"MAC key", "IV", "cipher key", "main data", "cipher-only trailer", "data out", "IV out"},
     {"", "", "", "hash-only header", "ICV out", "", ""}},
    {DescriptorType::TlsSslBlock,
     Form::Inbound,
     {"MAC key", "IV", "cipher key", "", "data in", "data out", "IV out"},
     {"", "", "", "hash-only header", "ICV in", "ICV out", ""}},
    {DescriptorType::TlsSslStream,
     Form::Outbound,
     {"MAC key", "IV", "cipher key", "main data", "", "data out", "IV out"},
     {"", "", "", "hash-only header", "ICV out", "", ""}},
    {DescriptorType::TlsSslStream,
     Form::Inbound,
     {"MAC key", "IV", "cipher key", "", "data in", "data out", "IV out"},
     {"", "", "", "hash-only header", "ICV in", "ICV out", ""}},
    {DescriptorType::RaidXor,
     Form::Any,
     {"source F", "source E", "source D", "source C", "source B", "source A", "out"},
     {}},
    {DescriptorType::IpsecAesGcm,
     Form::Any,
     {"context in", "AAD", "nonce part 2", "key", "data in", "data out", "context out"},
     {"", "", "", "nonce part 1", "ICV in", "ICV out", "CRC"}},
    {DescriptorType::HmacSnoopAesuCtr,
     Form::Any,
     {"hash key", "hash-only header", "key", "context in", "data in", "data out", "ICV out"},
     {}},
    {DescriptorType::DblCrc,
     Form::Any,
     {"header in", "payload in", "", "", "", "", ""},
     {"header ICV in", "payload ICV in", "header ICV out", "payload ICV out", "", "", ""}},
    {DescriptorType::NonHmacSnoopAesuCtr,
     Form::Any,
     {"hash key", "hash-only header", "key", "context in", "data in", "data out", "ICV out"},
     {}},
};

constexpr std::string_view name_of(Form f) {
  switch (f) {
    case Form::Any:
      return "";
    case Form::Inbound:
      return "inbound";
    case Form::Outbound:
      return "outbound";
    case Form::Mdeu:
      return "MDEU";
    case Form::Mac:
      return "MAC or CRC";
    case Form::IcvCheck:
      return "with ICV check";
  }
  return "?";
}

/// The form of a type that a header asks for. [T23]; which SRTP form checks is ASSUMED from its pointers.
constexpr Form form_of(const HeaderWord& h) {
  switch (static_cast<DescriptorType>(h.type)) {
    case DescriptorType::CommonNonsnoop:
      switch (static_cast<Eu>(h.sel0)) {
        case Eu::MdeuA:
        case Eu::MdeuB:
          return Form::Mdeu;
        case Eu::Crcu:
          return Form::Mac;
        case Eu::Keu:
          return (h.mode0 & 0x06) == 0x02 ? Form::Mac : Form::Any;  // f9
        case Eu::Steu:
          return (h.mode0 & 0x03) == 0x02 ? Form::Mac : Form::Any;  // f9
        case Eu::Aesu:
          return (h.mode0 & 0xc6) == 0x44 || (h.mode0 & 0xc6) == 0x84 ? Form::Mac : Form::Any;
        default:
          return Form::Any;
      }
    case DescriptorType::Srtp:
      return h.mode1 & mdeu_mode::kCheckIcv ? Form::IcvCheck : Form::Any;
    case DescriptorType::TlsSslBlock:
    case DescriptorType::TlsSslStream:
      return h.inbound ? Form::Inbound : Form::Outbound;
    default:
      return Form::Any;
  }
}

/// Row of kPointerRoles for a header, or its size when the type is reserved.
constexpr size_t role_index(const HeaderWord& h) {
  const Form form = form_of(h);
  size_t i = 0;
  while (i < std::size(kPointerRoles) &&
         (static_cast<uint8_t>(kPointerRoles[i].type) != h.type || kPointerRoles[i].form != form))
    ++i;
  return i;
}

/// Roles for a header, or null when the type is reserved.
constexpr const PointerRoles* roles_for(const HeaderWord& h) {
  const size_t i = role_index(h);
  return i < std::size(kPointerRoles) ? &kPointerRoles[i] : nullptr;
}
// By index: g++ with -fsanitize=undefined does not take the comparison of a pointer with null for constant.
static_assert([] {
  for (const EnumName& t : kDescriptorTypeNames)
    for (bool inbound : {false, true})
      if (role_index({.type = static_cast<uint8_t>(t.value), .inbound = inbound}) == std::size(kPointerRoles))
        return false;
  return true;
}());

}  // namespace sec::regs
