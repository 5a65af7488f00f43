// Byte-exact encodings, and what people read about registers, descriptors and accesses.
#include "hw/regs/decode.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "common/diag.h"
#include "hw/regs/aesu.h"
#include "hw/regs/channel.h"
#include "hw/regs/controller.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/link_table.h"
#include "hw/regs/map.h"

namespace sec::regs {
namespace {

const Part& p2020() { return *find_part("p2020"); }
const Part& mpc8548() { return *find_part("mpc8548"); }
const Part& mpc8272() { return *find_part("mpc8272"); }
const Part& mpc885() { return *find_part("mpc885"); }

std::string setup_error(auto&& f) {
  try {
    f();
  } catch (const SetupError& e) {
    return e.what();
  }
  return "no error";
}

bool has(const std::string& text, std::string_view piece) { return text.find(piece) != std::string::npos; }

std::span<const std::byte> bytes_of(const std::array<uint8_t, 64>& a) { return std::as_bytes(std::span(a)); }

// ---- encodings --------------------------------------------------------------------------------

TEST(Encoding, DescriptorLiesInMemoryByteForByte) {
  Descriptor d;
  d.header = make_header(Eu::Aesu, aesu_mode::kCbc, Eu::MdeuA, 0x1c, DescriptorType::IpsecEsp, true, true);
  d.ptr[4] = PointerDword::to(0x1'1234'5678, 64);
  d.ptr[6] = {.length = 0x0102, .jump = true, .extent = 0x0c, .eptr = 0xf, .address = 0xa0b0c0d0};
  std::array<uint8_t, 64> mem;
  mem.fill(0xee);
  d.store(mem.data());
  std::array<uint8_t, 64> expected{};
  const uint8_t header[] = {0x60, 0x23, 0x1c, 0x0b, 0, 0, 0, 0};  // 60231c08 with DIR and DN
  const uint8_t p4[] = {0x00, 0x40, 0x00, 0x01, 0x12, 0x34, 0x56, 0x78};
  const uint8_t p6[] = {0x01, 0x02, 0x8c, 0x0f, 0xa0, 0xb0, 0xc0, 0xd0};
  std::copy(std::begin(header), std::end(header), expected.begin());
  std::copy(std::begin(p4), std::end(p4), expected.begin() + 40);
  std::copy(std::begin(p6), std::end(p6), expected.begin() + 56);
  EXPECT_EQ(mem, expected);
  EXPECT_EQ(Descriptor::load(mem.data()), d);
}

TEST(Encoding, LinkEntryLiesInMemoryByteForByte) {
  uint8_t mem[8];
  LinkEntry::data(0x3'1000'0000, 1514, true).store(mem);
  const uint8_t last[] = {0x05, 0xea, 0x02, 0x03, 0x10, 0x00, 0x00, 0x00};
  EXPECT_TRUE(std::equal(mem, mem + 8, last));
  LinkEntry::next(0x2000).store(mem);
  const uint8_t next[] = {0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x20, 0x00};
  EXPECT_TRUE(std::equal(mem, mem + 8, next));
  EXPECT_TRUE(LinkEntry::load(mem).is_next());
}

TEST(Encoding, EveryWordSurvivesTheRoundTrip) {
  std::mt19937_64 random(20240101);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t v = random();
    constexpr uint64_t kReserved = uint64_t{0xf} << 36;
    EXPECT_EQ(PointerDword::decode(v).encode(), v & ~kReserved);
    constexpr uint64_t kLink = kLinkEntry.mask("LENGTH") | kLinkEntry.mask("R") | kLinkEntry.mask("N") |
                               kLinkEntry.mask("EPTR") | kLinkEntry.mask("ADDRESS");
    EXPECT_EQ(LinkEntry::decode(v).encode(), v & kLink);
    const auto h = static_cast<uint32_t>(v);
    EXPECT_EQ(HeaderWord::decode(h).encode(), h & ~uint32_t{4});
    // The structs agree with the field tables.
    EXPECT_EQ(HeaderWord::decode(h).type, kHeader.field("TYPE").get(v << 32));
    EXPECT_EQ(HeaderWord::decode(h).mode0, kHeader.field("MODE0").get(v << 32));
    EXPECT_EQ(HeaderWord::decode(h).mode1, kHeader.field("MODE1").get(v << 32));
    EXPECT_EQ(PointerDword::decode(v).extent, kPointer.field("EXTENT").get(v));
    EXPECT_EQ(PointerDword::decode(v).length, kPointer.field("LENGTH").get(v));
  }
}

TEST(Encoding, WriteBackReadsDoneAndVerdicts) {
  Descriptor d;
  d.header = 0xff231c0b;
  d.feedback = kFeedbackIccr0Fail | kFeedbackIccr1Pass;
  EXPECT_TRUE(d.done());
  EXPECT_EQ(d.iccr0(), IntegrityCheck::Fail);
  EXPECT_EQ(d.iccr1(), IntegrityCheck::Pass);
  d.header = 0xfe231c0b;
  EXPECT_FALSE(d.done());
}

// ---- finding registers ------------------------------------------------------------------------

TEST(Lookup, NamesOffsetsAndPagesFindTheSameRegister) {
  for (const Part& p : kParts)
    for (const Location& l : all_registers(p)) {
      const auto found = lookup(l.offset, p);
      ASSERT_TRUE(found) << l.name;
      EXPECT_EQ(found->name, l.name);
      EXPECT_EQ(found->block, l.block);
      const Location named = find_register(l.block + "." + l.name, p);
      EXPECT_EQ(named.offset, l.offset) << l.block << "." << l.name;
    }
}

TEST(Lookup, NamesAreNotCaseSensitiveAndChannelsDefaultToZero) {
  EXPECT_EQ(find_register("ccpsr", p2020()).offset, kChannelBase(0) + 0x10);
  EXPECT_EQ(find_register("CH2.ccpsr", p2020()).offset, kChannelBase(2) + 0x10);
  EXPECT_EQ(find_register("aesuisr", p2020()).offset, 0x4030u);
  EXPECT_EQ(find_register("0x1314", p2020()).block, "ch2");
  EXPECT_EQ(find_register("0x1314", p2020()).byte_in_register, 4u);
}

TEST(Lookup, PartsDifferInUnitsAndPages) {
  EXPECT_TRUE(lookup(0x0110, p2020())->alternate_page);
  EXPECT_FALSE(lookup(0x0110, mpc8548()));
  EXPECT_TRUE(lookup(kSteuBase, p2020()));
  EXPECT_FALSE(lookup(kSteuBase, mpc8548()));
  EXPECT_EQ(find_register("CCPSR", p2020()).reg->fields.size(), kCCPSR3.fields.size());
  EXPECT_EQ(find_register("CCPSR", mpc8548()).reg->fields.size(), kCCPSR.fields.size());
}

TEST(Lookup, ReservedPlacesAreNotRegisters) {
  for (uint32_t offset : {0x0000u, 0x1000u, 0x1038u, 0x1100u, 0x1500u + 0x20, 0x4020u, 0xffffffffu})
    EXPECT_FALSE(lookup(offset, p2020())) << offset;
}

TEST(Lookup, UnknownNamesListCloseOnes) {
  const std::string typo = setup_error([] { find_register("AESUIRS", p2020()); });
  EXPECT_TRUE(has(typo, "AESUISR")) << typo;
  const std::string channel = setup_error([] { find_register("ch9.CCPSR", p2020()); });
  EXPECT_TRUE(has(channel, "ch0.CCPSR")) << channel;
  const std::string nonsense = setup_error([] { find_register("zzzzzzzzzzzzzz", p2020()); });
  EXPECT_TRUE(has(nonsense, "secsim regs")) << nonsense;
  const std::string absent = setup_error([] { find_register("STEUSR", mpc8548()); });
  EXPECT_TRUE(has(absent, "mpc8548 has no STEU")) << absent;
  EXPECT_TRUE(has(setup_error([] { find_register("0x20000", p2020()); }), "outside the window"));
  EXPECT_TRUE(has(setup_error([] { find_register("0x1038", p2020()); }), "no register at offset"));
  EXPECT_TRUE(has(setup_error([] { find_register("", p2020()); }), "no register called"));
  EXPECT_TRUE(has(setup_error([] { find_register("0xzz", p2020()); }), "no register called"));
}

// ---- names for programs ------------------------------------------------------------------------

TEST(Names, EveryRegisterHasOneThatLeadsBack) {
  for (const Part& p : kParts) {
    std::set<std::string> seen;
    for (const NamedRegister& r : register_names(p)) {
      SCOPED_TRACE(std::string(p.name) + " " + r.name);
      EXPECT_TRUE(seen.insert(r.name).second) << "twice";
      EXPECT_EQ(find_register(p, r.name), r.offset);
      EXPECT_EQ(find_register(p, r.name + "_LO"), r.offset + 4);
      EXPECT_EQ(find_register(p, r.name + "_HI"), r.offset);
      EXPECT_EQ(register_name(p, r.offset), r.name);
      EXPECT_EQ(register_name(p, r.offset + 4), r.name + (r.size_bytes > 8 ? "+0x4" : "_LO"));
    }
  }
}

TEST(Names, SpellingsOfChannelRegisters) {
  for (const char* name : {"CH2_CCPSR", "ch2.CCPSR", "ccpsr2", "0x1310"}) EXPECT_EQ(find_register(p2020(), name), 0x1310u) << name;
  EXPECT_EQ(find_register(p2020(), "CCPSR"), 0x1110u);
  EXPECT_EQ(find_register(p2020(), "CCPSR2_LO"), 0x1314u);
  EXPECT_EQ(find_register(mpc8272(), "CCPSR2"), 0x4010u);
  EXPECT_EQ(find_register(mpc8272(), "FR3_LO"), 0x504cu);
  EXPECT_EQ(find_register(mpc885(), "CCCR"), 0x2008u);
  EXPECT_EQ(find_register(p2020(), "controller.IMR"), 0x1008u);
  EXPECT_EQ(find_register(p2020(), "AESU.AESUMR"), 0x4000u);
  EXPECT_EQ(find_register(p2020(), "DEUKEY2"), 0x2408u) << "the digit belongs to the name";
  EXPECT_EQ(register_name(p2020(), 0x4808), "AESUFIFO+0x8");
  EXPECT_EQ(register_name(p2020(), 0x0110), "CH0_CCPSR (alternate page)");
  EXPECT_EQ(register_name(p2020(), 0x1000), "0x1000") << "reserved";
}

TEST(Names, WhatThePartHasNotIsNotFound) {
  EXPECT_FALSE(find_register(mpc8548(), "STEUMR"));
  EXPECT_FALSE(find_register(mpc885(), "CCCR1"));
  EXPECT_FALSE(find_register(mpc885(), "FF"));
  EXPECT_FALSE(find_register(p2020(), "EUACR"));
  EXPECT_FALSE(find_register(p2020(), "CCCR9"));
  EXPECT_FALSE(find_register(p2020(), ""));
  EXPECT_FALSE(find_register(mpc885(), "0x8000")) << "behind the window";
  EXPECT_TRUE(find_register(mpc885(), "0x7ffc"));
  EXPECT_TRUE(has(setup_error([] { find_register("0x8000", mpc885()); }), "outside the window"));
}

// ---- registers in words -----------------------------------------------------------------------

TEST(Decode, UnitsOfSec1AreByteSwapped) {
  const std::string mode = decode_register("AESUMR", 0x03000000'00000000, mpc885());
  EXPECT_TRUE(has(mode, "CBC encrypt")) << mode;
  EXPECT_TRUE(has(mode, "HI 0x01000000")) << mode;
  const std::string status = decode_register("DEUISR", 0x00200000'00000000, mpc8272());
  EXPECT_TRUE(has(status, "KPE")) << status;
  EXPECT_FALSE(has(status, "undefined")) << status;
  EXPECT_TRUE(has(decode_register("DEUISR", 0x2000, mpc8272()), "undefined bits set: 0x0000000000002000"));
  EXPECT_TRUE(has(decode_register("DEUISR", 0x2000, mpc8548()), "KPE"));
  EXPECT_TRUE(has(describe_access(true, 0x4000, 0x03000000, 4, mpc885()), "CBC encrypt"));
  EXPECT_EQ(describe_access(true, 0x5018, 0x01000000, 4, mpc885()), "write DEU.DEURCR HI 0x01000000  SR");
  EXPECT_FALSE(find_register("AESUKEY", mpc885()).swapped) << "keys are bytes";
}

TEST(Decode, ControllerAndChannelOfSec1) {
  const std::string isr = decode_register("ISR", 0x2000000000000040, mpc885());
  EXPECT_TRUE(has(isr, "CH0_ERROR")) << isr;
  EXPECT_TRUE(has(isr, "TEA")) << isr;
  EXPECT_TRUE(has(decode_register("EUACR", 0x0000000000020000, mpc8272()), "held by channel 1"));
  EXPECT_TRUE(has(decode_register("CCCR", 0x0000000000000718, mpc885()), "56-byte bursts"));
  EXPECT_TRUE(has(decode_register("CCPSR", 0x0000000704000200, mpc885()), "SERR"));
  EXPECT_EQ(decode_channel_error(0x8080, Generation::Sec1), "no error");
}

TEST(Decode, ChainsOfSec1) {
  std::array<uint8_t, 128> mem{};
  const uint32_t header = make_header(Eu::Aesu, aesu_mode::kCbc, Eu::None, 0, DescriptorType::CommonNonsnoop, false, false);
  for (unsigned i : {0u, 64u}) {
    store_be32(mem.data() + i, header);
    store_be64(mem.data() + i + 4 + 8 * 3, PointerDword::to(0x12345678, 32768).encode_sec1());
  }
  store_be32(mem.data() + 60, 0x1040);
  const auto all = std::as_bytes(std::span(mem));
  const DecodedDescriptor first = decode_descriptor_fields(all.first(64), mpc885());
  EXPECT_TRUE(first.sec1);
  EXPECT_EQ(first.next, 0x1040u);
  EXPECT_EQ(first.pointers.at(3).pointer.length, 32768u);
  EXPECT_EQ(first.pointers.at(3).pointer.address, 0x12345678u);
  EXPECT_TRUE(first.pointers.at(4).unused);
  EXPECT_TRUE(first.warnings.empty()) << first.warnings.at(0);
  const std::string text = decode_chain(all, mpc885());
  EXPECT_TRUE(has(text, "next     0x00001040")) << text;
  EXPECT_TRUE(has(text, "descriptor 1\n")) << text;
  EXPECT_TRUE(has(text, "the chain ends here")) << text;
  EXPECT_FALSE(has(text, "feedback")) << text;
  EXPECT_TRUE(has(setup_error([&] { decode_chain(all, p2020()); }), "no chains"));
  EXPECT_TRUE(has(setup_error([&] { decode_chain(all.first(100), mpc885()); }), "whole ones"));
  store_be32(mem.data() + 60, 0x1041);
  EXPECT_TRUE(has(decode_descriptor(all.first(64), mpc885()), "not aligned"));
  store_be32(mem.data(), make_header(Eu::Rngu, 0, Eu::None, 0, DescriptorType::CommonNonsnoop, false, false));
  EXPECT_TRUE(has(decode_descriptor(all.first(64), mpc885()), "SERR"));
}

TEST(Decode, ChannelStatusByGeneration) {
  const std::string three = decode_register("ch1.CCPSR", 0x0000000700000040, p2020());
  EXPECT_TRUE(has(three, "RUN")) << three;
  EXPECT_TRUE(has(three, "SGML")) << three;
  const std::string two = decode_register("ch1.CCPSR", 0x0300000700000040, mpc8548());
  EXPECT_TRUE(has(two, "GRL")) << two;
  EXPECT_TRUE(has(two, "3 waiting")) << two;
}

TEST(Decode, HeaderMayBeGivenAsAWord) {
  EXPECT_EQ(decode_register("HEADER", 0x60300010, p2020()),
            decode_register("HEADER", uint64_t{0x60300010} << 32, p2020()));
  EXPECT_TRUE(has(decode_register("HEADER", 0x60300010, p2020()), "AESU CBC encrypt"));
}

TEST(Decode, UndefinedBitsAreShown) {
  const Location l = find_register("CCCR", p2020());
  EXPECT_EQ(decode_fields(l, 0x8000000000000002).undefined_bits, 0x8000000000000000u);
  EXPECT_TRUE(has(decode_register("CCCR", 0x8000000000000002, p2020()), "undefined bits set: 0x8000000000000000"));
  EXPECT_FALSE(has(decode_register("CCCR", 0x2, p2020()), "undefined"));
}

TEST(Decode, UnitHolderAndMode) {
  EXPECT_TRUE(has(decode_register("EUASR", kEUASR.field("AESU").put(3), p2020()), "held by channel 2"));
  EXPECT_TRUE(has(decode_register("AESUMR", 0x03, p2020()), "CBC encrypt"));
  EXPECT_TRUE(has(decode_register("DEUMR", 0x07, p2020()), "3DES CBC encrypt"));
  EXPECT_TRUE(has(decode_register("AESUMR", 0xc4, p2020()), "reserved mode"));
}

TEST(Decode, ChannelErrorsInWords) {
  EXPECT_EQ(decode_channel_error(0, Generation::Sec3), "no error");
  EXPECT_TRUE(has(decode_channel_error(0x40, Generation::Sec2), "GRL"));
  EXPECT_TRUE(has(decode_channel_error(0x40, Generation::Sec3), "SGML"));
  EXPECT_EQ(channel_errors(0x8400, Generation::Sec3).size(), 2u);
  EXPECT_TRUE(has(decode_channel_error(0x4000, Generation::Sec2), "does not halt"));
  // State and pointer bits are no errors.
  EXPECT_EQ(decode_channel_error(0xffffffff0000000f, Generation::Sec2), "no error");
}

// ---- descriptors in words ---------------------------------------------------------------------

std::array<uint8_t, 64> esp_descriptor() {
  Descriptor d;
  d.header = 0x60331c09;
  d.ptr[0] = PointerDword::to(0x1000, 20);
  d.ptr[1] = PointerDword::to(0x2000, 8);
  d.ptr[2] = PointerDword::to(0x2008, 16);
  d.ptr[3] = PointerDword::to(0x1014, 16);
  d.ptr[4] = PointerDword::to(0x3'0000'3000, 64, 0, true);
  d.ptr[5] = PointerDword::to(0x4000, 64, 12);
  std::array<uint8_t, 64> mem{};
  d.store(mem.data());
  return mem;
}

TEST(Decode, DescriptorNamesUnitsModesAndRoles) {
  const DecodedDescriptor d = decode_descriptor_fields(bytes_of(esp_descriptor()), p2020());
  EXPECT_EQ(d.primary, "AESU");
  EXPECT_EQ(d.primary_mode, "CBC encrypt");
  EXPECT_EQ(d.secondary, "MDEU-A");
  EXPECT_EQ(d.secondary_mode, "HMAC-SHA-1 INIT PD");
  EXPECT_EQ(d.type_name, "ipsec_esp");
  EXPECT_EQ(d.pointers.at(0).role, "HMAC key");
  EXPECT_EQ(d.pointers.at(5).extent_role, "ICV out");
  EXPECT_EQ(d.pointers.at(4).pointer.bus_addr(), 0x300003000u);
  EXPECT_TRUE(d.pointers.at(6).unused);
  EXPECT_TRUE(d.warnings.empty()) << d.warnings.at(0);

  const std::string text = decode_descriptor(bytes_of(esp_descriptor()), p2020());
  EXPECT_TRUE(has(text, "through a link table")) << text;
  EXPECT_TRUE(has(text, "extent 12 bytes (ICV out)")) << text;
}

TEST(Decode, DoneDescriptorKeepsItsTypeAndHidesItsUnit) {
  auto mem = esp_descriptor();
  mem[0] = 0xff;
  store_be32(mem.data() + 4, kFeedbackIccr1Fail);
  const DecodedDescriptor d = decode_descriptor_fields(bytes_of(mem), p2020());
  EXPECT_TRUE(d.done);
  EXPECT_TRUE(d.primary.empty());
  EXPECT_EQ(d.type_name, "ipsec_esp");
  EXPECT_EQ(d.iccr1, IntegrityCheck::Fail);
  EXPECT_TRUE(d.warnings.empty());
  EXPECT_TRUE(has(decode_descriptor(bytes_of(mem), p2020()), "ICCR1 failed"));
}

TEST(Decode, DescriptorsTheHardwareRefusesAreCommented) {
  const auto warnings = [](uint32_t header, const Part& part) {
    std::array<uint8_t, 64> mem{};
    store_be32(mem.data(), header);
    std::string out;
    for (const std::string& w : decode_descriptor_fields(bytes_of(mem), part).warnings) out += w + ";";
    return out;
  };
  EXPECT_TRUE(has(warnings(0, p2020()), "IDH"));
  EXPECT_TRUE(has(warnings(0x603000f8, p2020()), "type 31 is reserved"));
  EXPECT_TRUE(has(warnings(0x90900010, mpc8548()), "no unit with code 9"));
  EXPECT_FALSE(has(warnings(0x90900010, p2020()), "no unit"));
  EXPECT_TRUE(has(warnings(0x60360010, p2020()), "the same"));
  EXPECT_TRUE(has(warnings(0x60300040, p2020()), "does not have type 8"));
  EXPECT_TRUE(has(warnings(0x60300014, p2020()), "reserved bit"));
  EXPECT_EQ(warnings(0x60300010, p2020()), "");
}

TEST(Decode, UnusedPointersThatAreSetAreCommented) {
  Descriptor d;
  d.header = 0x60300010;
  d.ptr[0] = PointerDword::to(0x1000, 4);
  d.ptr[3] = PointerDword::to(0x1000, 16, 5);
  std::array<uint8_t, 64> mem{};
  d.store(mem.data());
  const auto decoded = decode_descriptor_fields(bytes_of(mem), p2020());
  ASSERT_EQ(decoded.warnings.size(), 2u);
  EXPECT_TRUE(has(decoded.warnings[0], "p0 is set"));
  EXPECT_TRUE(has(decoded.warnings[1], "extent of p3"));
}

TEST(Decode, OnlyWholeDescriptorsAreTaken) {
  const std::array<std::byte, 63> shorter{};
  EXPECT_TRUE(has(setup_error([&] { decode_descriptor(shorter, p2020()); }), "64 bytes"));
}

TEST(Decode, EveryHeaderAndModeHasText) {
  for (unsigned eu = 0; eu < 16; ++eu)
    for (unsigned mode = 0; mode < 256; ++mode) {
      const std::string m = mode_meaning(static_cast<Eu>(eu), static_cast<uint8_t>(mode));
      EXPECT_TRUE(!m.empty() || (eu == 0 && mode == 0)) << eu << " " << mode;
      for (unsigned type = 0; type < 32; ++type) EXPECT_FALSE(decode_header(eu << 28 | mode << 20 | type << 3).empty());
    }
}

// ---- accesses in words ------------------------------------------------------------------------

TEST(Decode, AccessesNameWordAndFields) {
  EXPECT_EQ(describe_access(true, 0x1108, 0x2, 4, p2020()), "write ch0.CCCR HI 0x00000002  CON");
  EXPECT_EQ(describe_access(true, 0x110c, 0x32, 4, p2020()), "write ch0.CCCR LO 0x00000032  EAE CDWE CDIE");
  EXPECT_EQ(describe_access(true, 0x114c, 0x12345678, 4, p2020()), "write ch0.FF LO 0x12345678");
  EXPECT_EQ(describe_access(false, 0x1010, 0x0000000500000000, 8, p2020()),
            "read  controller.ISR 0x00000005_00000000  CH0_DONE CH1_DONE");
  EXPECT_EQ(describe_access(true, 0x1030, 0x5000, 4, p2020()), "write controller.MCR HI 0x00005000  RCA1 RCA3");
  EXPECT_EQ(describe_access(false, 0x0214, 0x400, 4, p2020()), "read  ch1.CCPSR LO (alternate page) 0x00000400  IDH");
  EXPECT_EQ(describe_access(false, 0x11a4, 0, 4, p2020()), "read  ch0.DB+0x24 LO 0x00000000");
  EXPECT_EQ(describe_access(true, 0x1038, 1, 4, p2020()), "write 0x01038 0x00000001 (reserved)");
  EXPECT_TRUE(has(describe_access(true, 0x4004, 3, 4, p2020()), "CBC encrypt"));
}

TEST(Decode, DeviceTreeCarriesThePartsNumbers) {
  const std::string node = device_tree(p2020());
  for (std::string_view piece :
       {"crypto@30000", "\"fsl,sec3.1\"", "fsl,num-channels = <4>", "fsl,channel-fifo-len = <24>",
        "fsl,exec-units-mask = <0xbfe>", "fsl,descriptor-types-mask = <0x3ab0ebf>", "58 2"})
    EXPECT_TRUE(has(node, piece)) << piece;
  EXPECT_FALSE(has(device_tree(mpc8548()), "58 2"));
}

}  // namespace
}  // namespace sec::regs
