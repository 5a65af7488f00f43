// What the channel does with each pointer dword, by descriptor type: the machine's counterpart of the table for people in
// hw/regs/roles.h. A row names the role of every pointer and of its extent; `derive` turns that into the few
// lists and places that the descriptor engine (hw/core/channel.h) follows.
//
// Roles come from [T23]; which units a type takes, from the names of the types and what drivers use [LX][FB][T23]. An extent
// whose pointer gives it no role is ignored.
//
// ASSUMED, as no public source tells:
//   * A hash-only header that is an extent lies before the data of its pointer, every other extent behind it.
//   * ipsec_esp and the other types with a hash need one: without a secondary unit the header is illegal.
//   * tls_ssl inbound: pointer 4 with its extent is everything that came (length = payload and padding, extent = MAC), and the length of
//     the output is that of the payload: software finds the padding's length first, as [MOC] has it.
// UNMODELLED: the frame check sequence (CRC) beside CCMP and GCM; a CRCU as their secondary unit is refused.
#pragma once
#include <array>
#include <iterator>

#include "hw/regs/roles.h"

namespace sec::hw {

enum class Role : uint8_t {
  None,
  // small inputs, read before the units are loaded
  Context,
  Key,
  HashKey,
  Nonce,
  // what flows
  Header,   // authenticated only: hash-only header, AAD
  DataIn,
  DataOut,
  Trailer,  // authenticated only, behind the data
  Padding,  // enciphered only, behind the data
  // around the end
  IcvIn,
  IcvSize,  // as many bytes of ICV are enciphered behind the data
  IcvOut,
  ContextOut,
  KeyOut,
};

/// Which side of the primary unit the secondary one listens to.
enum class Snoop : uint8_t { None, In, Out };

enum class Procedure : uint8_t { Stream, Tls, Raid, TwoCrcs, Pkeu };

struct Layout {
  static constexpr uint8_t kNowhere = 0xff;
  struct Place {
    uint8_t pointer = kNowhere;
    bool extent = false;
    constexpr explicit operator bool() const { return pointer != kNowhere; }
  };
  struct Step {
    Role role = Role::None;
    uint8_t pointer = 0;
    bool extent = false;  // load: the extent is part of it; store: it is the extent
  };

  regs::DescriptorType type;
  regs::Form form = regs::Form::Any;
  Procedure procedure = Procedure::Stream;
  uint16_t primary = 0, secondary = 0;  // permitted select codes, one bit each; secondary 0: there is none
  Snoop outbound = Snoop::None;         // inbound it is the other side
  std::array<Role, regs::kDescriptorPointers> pointer{}, extent{};

  // derived
  uint8_t load_count = 0, store_count = 0;
  std::array<Step, 5> loads{};   // in pointer order
  std::array<Step, 3> stores{};  // in pointer order
  Place header{}, data_in{}, data_out{}, icv_in{}, trailer{}, padding{};

  /// Nothing but what a cipher by itself has: context, key, data in, data out, context out.
  bool plain = false;

  constexpr bool icv_with_data() const { return icv_in.extent && icv_in.pointer == data_in.pointer; }
};

namespace layouts {
using enum Role;
using regs::DescriptorType;
using regs::Eu;
using regs::Form;

constexpr uint16_t codes(std::initializer_list<Eu> l) {
  unsigned m = 0;
  for (const Eu e : l) m |= 1u << static_cast<unsigned>(e);
  return static_cast<uint16_t>(m);
}
inline constexpr uint16_t kAes = codes({Eu::Aesu}), kCiphers = codes({Eu::Aesu, Eu::Deu}),
                          kHashes = codes({Eu::MdeuA, Eu::MdeuB}), kPkeu = codes({Eu::Pkeu});
// RC4 and public-key work have types of their own, whose pointers mean other things. [T23]
inline constexpr uint16_t kCommon = static_cast<uint16_t>(0xfffe & ~codes({Eu::Afeu, Eu::Pkeu}));

constexpr Layout derive(Layout l) {
  for (uint8_t i = 0; i < regs::kDescriptorPointers; ++i) {
    const Role p = l.pointer[i], x = l.extent[i];
    if (p == Context || p == Key || p == HashKey || p == Nonce)
      l.loads[l.load_count++] = {p, i, x == Nonce};
    if (p == IcvOut || p == ContextOut || p == KeyOut) l.stores[l.store_count++] = {p, i, false};
    if (x == IcvOut) l.stores[l.store_count++] = {x, i, true};
    for (const bool extent : {false, true}) {
      const Role r = extent ? x : p;
      if (r == Header) l.header = {i, extent};
      if (r == DataIn) l.data_in = {i, extent};
      if (r == DataOut) l.data_out = {i, extent};
      if (r == IcvIn) l.icv_in = {i, extent};
      if (r == Trailer) l.trailer = {i, extent};
      if (r == Padding) l.padding = {i, extent};
    }
  }
  l.plain = !l.header && !l.icv_in && !l.trailer && !l.padding && l.data_out && l.store_count == 1 && l.stores[0].role == Role::ContextOut && l.extent == std::array<Role, regs::kDescriptorPointers>{};
  return l;
}

inline constexpr Layout kRows[] = {
    derive({.type = DescriptorType::AesuCtrNonsnoop,
            .primary = kAes,
            .pointer = {None, Context, Key, DataIn, DataOut, ContextOut, None}}),
    derive({.type = DescriptorType::IpsecEsp,
            .primary = kCiphers,
            .secondary = kHashes,
            .outbound = Snoop::Out,
            .pointer = {HashKey, Header, Context, Key, DataIn, DataOut, ContextOut},
            .extent = {None, None, None, None, IcvIn, IcvOut, None}}),
    derive({.type = DescriptorType::CommonNonsnoop,
            .primary = kCommon,
            .pointer = {None, Context, Key, DataIn, DataOut, ContextOut, None}}),
    derive({.type = DescriptorType::CommonNonsnoop,
            .form = Form::Mdeu,
            .primary = kCommon,
            .pointer = {None, Context, Key, DataIn, IcvIn, ContextOut, None}}),
    derive({.type = DescriptorType::CommonNonsnoop,
            .form = Form::Mac,
            .primary = kCommon,
            .pointer = {None, Context, Key, DataIn, None, ContextOut, IcvOut},
            .extent = {None, None, None, None, IcvIn, None, None}}),
    derive({.type = DescriptorType::Ccmp80211i,
            .primary = kAes,
            .pointer = {None, Context, Key, Header, DataIn, DataOut, ContextOut},
            .extent = {None, None, None, None, IcvIn, IcvOut, None}}),
    derive({.type = DescriptorType::HmacSnoopNoAfeu,
            .primary = kCiphers,
            .secondary = kHashes,
            .outbound = Snoop::Out,
            .pointer = {HashKey, Header, Key, Context, DataIn, DataOut, IcvOut}}),
    derive({.type = DescriptorType::Srtp,
            .primary = kAes,
            .secondary = kHashes,
            .outbound = Snoop::Out,
            .pointer = {HashKey, Context, Key, DataIn, DataOut, IcvOut, ContextOut},
            .extent = {None, None, None, Header, Trailer, None, None}}),
    derive({.type = DescriptorType::Srtp,
            .form = Form::IcvCheck,
            .primary = kAes,
            .secondary = kHashes,
            .outbound = Snoop::Out,
            .pointer = {HashKey, Context, Key, DataIn, IcvIn, DataOut, ContextOut},
            .extent = {None, None, None, Header, Trailer, IcvOut, None}}),
    derive({.type = DescriptorType::NonHmacSnoopNoAfeu,
            .primary = kCiphers,
            .secondary = kHashes,
            .outbound = Snoop::Out,
            .pointer = {HashKey, Header, Key, Context, DataIn, DataOut, IcvOut}}),
    derive({.type = DescriptorType::PkeuAssemble, .procedure = Procedure::Pkeu, .primary = kPkeu}),
    derive({.type = DescriptorType::AesuKeyExpandOutput,
            .primary = kAes,
            .pointer = {None, Context, Key, DataIn, DataOut, KeyOut, None}}),
    derive({.type = DescriptorType::PkeuPtmul, .procedure = Procedure::Pkeu, .primary = kPkeu}),
    derive({.type = DescriptorType::CommonNonsnoopAfeu,
            .primary = codes({Eu::Afeu}),
            .pointer = {None, Context, Key, DataIn, DataOut, ContextOut, None}}),
    derive({.type = DescriptorType::PkeuPtaddDbl, .procedure = Procedure::Pkeu, .primary = kPkeu}),
    derive({.type = DescriptorType::PkeuMm, .procedure = Procedure::Pkeu, .primary = kPkeu}),
    derive({.type = DescriptorType::TlsSslBlock,
            .form = Form::Outbound,
            .procedure = Procedure::Tls,
            .primary = kCiphers,
            .secondary = kHashes,
            .outbound = Snoop::In,
            .pointer = {HashKey, Context, Key, DataIn, Padding, DataOut, ContextOut},
            .extent = {None, None, None, Header, IcvSize, None, None}}),
    derive({.type = DescriptorType::TlsSslBlock,
            .form = Form::Inbound,
            .procedure = Procedure::Tls,
            .primary = kCiphers,
            .secondary = kHashes,
            .outbound = Snoop::In,
            .pointer = {HashKey, Context, Key, None, DataIn, DataOut, ContextOut},
            .extent = {None, None, None, Header, IcvIn, IcvOut, None}}),
    derive({.type = DescriptorType::TlsSslStream,
            .form = Form::Outbound,
            .procedure = Procedure::Tls,
            .primary = codes({Eu::Afeu}),
            .secondary = kHashes,
            .outbound = Snoop::In,
            .pointer = {HashKey, Context, Key, DataIn, Padding, DataOut, ContextOut},
            .extent = {None, None, None, Header, IcvSize, None, None}}),
    derive({.type = DescriptorType::TlsSslStream,
            .form = Form::Inbound,
            .procedure = Procedure::Tls,
            .primary = codes({Eu::Afeu}),
            .secondary = kHashes,
            .outbound = Snoop::In,
            .pointer = {HashKey, Context, Key, None, DataIn, DataOut, ContextOut},
            .extent = {None, None, None, Header, IcvIn, IcvOut, None}}),
    derive({.type = DescriptorType::RaidXor, .procedure = Procedure::Raid, .primary = kAes}),
    derive({.type = DescriptorType::IpsecAesGcm,
            .primary = kAes,
            .pointer = {Context, Header, Nonce, Key, DataIn, DataOut, ContextOut},
            .extent = {None, None, None, Nonce, IcvIn, IcvOut, None}}),
    derive({.type = DescriptorType::HmacSnoopAesuCtr,
            .primary = kAes,
            .secondary = kHashes,
            .outbound = Snoop::Out,
            .pointer = {HashKey, Header, Key, Context, DataIn, DataOut, IcvOut}}),
    derive({.type = DescriptorType::DblCrc, .procedure = Procedure::TwoCrcs, .primary = codes({Eu::Crcu})}),
    derive({.type = DescriptorType::NonHmacSnoopAesuCtr,
            .primary = kAes,
            .secondary = kHashes,
            .outbound = Snoop::Out,
            .pointer = {HashKey, Header, Key, Context, DataIn, DataOut, IcvOut}}),
};

/// First row of each type; rows of one type follow each other.
inline constexpr std::array<uint8_t, 32> kFirst = [] {
  std::array<uint8_t, 32> a{};
  a.fill(Layout::kNowhere);
  for (size_t i = std::size(kRows); i-- > 0;) a[static_cast<size_t>(kRows[i].type)] = static_cast<uint8_t>(i);
  return a;
}();
}  // namespace layouts

/// The row for a header, null when the type is reserved.
constexpr const Layout* layout_for(const regs::HeaderWord& h) {
  size_t i = layouts::kFirst[h.type];
  if (i == Layout::kNowhere) return nullptr;
  const regs::Form form = regs::form_of(h);
  while (layouts::kRows[i].form != form) ++i;
  return &layouts::kRows[i];
}

/// A header that the part accepts.
struct Decoded {
  regs::HeaderWord word;
  regs::Eu primary = regs::Eu::None, secondary = regs::Eu::None;
  const Layout* layout = nullptr;
};

}  // namespace sec::hw
