// The register tables against tables copied by hand from the public sources: a slip in one of the two shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "hw/regs/channel.h"
#include "hw/regs/controller.h"
#include "hw/regs/decode.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/link_table.h"
#include "hw/regs/map.h"
#include "hw/regs/units.h"
#include "tests/contract/csv.h"

namespace sec::regs {
namespace {

using test::number;
using test::read_csv;

const std::map<std::string, uint32_t>& block_bases() {
  static const std::map<std::string, uint32_t> bases = {
      {"controller", kControllerBase},
      {"ch0", kChannelBase(0)},
      {"ch1", kChannelBase(1)},
      {"ch2", kChannelBase(2)},
      {"ch3", kChannelBase(3)},
      {"alias0", kChannelAliasBase(0)},
      {"alias1", kChannelAliasBase(1)},
      {"alias2", kChannelAliasBase(2)},
      {"alias3", kChannelAliasBase(3)},
      {"polychannel", kPolychannelBase},
      {"ip_block_revision", kIpBlockRevision},
      {"DEU", eu_base(Eu::Deu)},
      {"AESU", eu_base(Eu::Aesu)},
      {"MDEU", eu_base(Eu::MdeuA)},
      {"AFEU", eu_base(Eu::Afeu)},
      {"RNGU", eu_base(Eu::Rngu)},
      {"PKEU", eu_base(Eu::Pkeu)},
      {"STEU", eu_base(Eu::Steu)},
      {"KEU", eu_base(Eu::Keu)},
      {"CRCU", eu_base(Eu::Crcu)},
  };
  return bases;
}

/// Registers whose fields the hand-made table lists. IMR stands for the three that share its layout.
const std::map<std::string, const Register*>& field_registers() {
  static const std::map<std::string, const Register*> registers = {
      {"IMR", &kIMR},
      {"EUASR", &kEUASR},
      {"MCR", &kMCR},
      {"CCCR", &kCCCR},
      {"CCPSR", &kCCPSR},
      {"CCPSR3", &kCCPSR3},
      {"EURCR", &kEuResetControl},
      {"EUSR", &kEuStatus},
      {"EUISR", &kEuInterruptStatus},
      {"HEADER", &kHeader},
      {"WRITEBACK", &kWriteBack},
      {"POINTER", &kPointer},
      {"LINK", &kLinkEntry},
      {"AESUMR", &kAesuMode},
      {"DEUMR", &kDeuMode},
      {"MDEUMR", &kMdeuMode},
      {"AFEUMR", &kAfeuMode},
      {"KEUMR", &kKeuMode},
      {"STEUMR", &kSteuMode},
      {"CRCUMR", &kCrcuMode},
      {"PKEUMR", &kPkeuMode},
      {"RNGUSR", &kRnguStatus},
      {"RNGUISR", &kRnguInterruptStatus},
      {"PKEUISR", &kPkeuInterruptStatus},
      {"IMR1", &kIMR1},
      {"EUACR1", &kEUACR1},
      {"MCR1", &kMCR1},
      {"MEAR", &kMEAR},
      {"CCCR1", &kCCCR1},
      {"CCPSR1", &kCCPSR1},
  };
  return registers;
}

std::string_view access_text(Access a) { return a == Access::ReadOnly ? "RO" : a == Access::WriteOnly ? "WO" : "RW"; }

TEST(Contract, BlocksAreWhereTheSourcesSay) {
  size_t seen = 0;
  for (const auto& row : read_csv("offsets.csv")) {
    if (!row.at("register").empty()) continue;
    ++seen;
    ASSERT_TRUE(block_bases().contains(row.at("block"))) << row.at("block");
    EXPECT_EQ(block_bases().at(row.at("block")), number(row.at("offset"))) << row.at("block");
  }
  EXPECT_EQ(seen, block_bases().size());
}

TEST(Contract, RegistersAreWhereTheSourcesSay) {
  std::set<std::string> listed;
  for (const auto& row : read_csv("offsets.csv")) {
    if (row.at("register").empty()) continue;
    const std::string name = row.at("block") + "." + row.at("register");
    SCOPED_TRACE(name);
    listed.insert(row.at("register"));
    const Location l = find_register(name, default_part());
    EXPECT_EQ(l.offset, number(row.at("offset")));
    EXPECT_EQ(access_text(l.reg->access), row.at("access"));
    const auto back = lookup(l.offset, default_part());
    ASSERT_TRUE(back);
    EXPECT_EQ(back->name, row.at("register"));
  }
  // And the reverse, for the blocks with tables of their own.
  std::vector<const Block*> blocks = {&kControllerBlock, &kPolychannelBlock, &kChannelBlock3};
  for (Eu eu : kUnits) blocks.push_back(eu_block(eu));
  for (const Block* b : blocks)
    for (const Register& r : b->registers)
      EXPECT_TRUE(listed.contains(std::string(r.name))) << r.name << " is in no row of offsets.csv";
}

TEST(Contract, RegistersOfSec1AreWhereTheSourcesSay) {
  std::set<std::string> listed;
  for (const auto& row : read_csv("offsets_sec1.csv")) {
    SCOPED_TRACE(row.at("part") + " " + row.at("register"));
    const Part* p = find_part(row.at("part"));
    ASSERT_TRUE(p);
    const Location l = find_register(row.at("register"), *p);
    EXPECT_EQ(l.offset, number(row.at("offset")));
    EXPECT_EQ(access_text(l.reg->access), row.at("access"));
    EXPECT_EQ(l.swapped, l.reg->offset_bytes < 0x100 && eu_base(*p, Eu::Aesu) && l.block != "controller" &&
                             !l.block.starts_with("ch"));
    listed.insert(l.name);
  }
  for (const Block* b : {&kControllerBlock1, &kChannelBlock1})
    for (const Register& r : b->registers)
      EXPECT_TRUE(listed.contains(std::string(r.name))) << r.name << " is in no row of offsets_sec1.csv";
}

TEST(Contract, UnitBitsOfSec1AreTheOtherWayRound) {
  for (const auto& row : read_csv("swapped.csv")) {
    SCOPED_TRACE(row.at("register") + "[" + row.at("field") + "]");
    const Register& r = *field_registers().at(row.at("register"));
    const auto f = std::find_if(r.fields.begin(), r.fields.end(), [&](const Field& x) { return x.name == row.at("field"); });
    ASSERT_NE(f, r.fields.end());
    EXPECT_EQ(to_sec1(f->mask()), number(row.at("mask")) << 32);
    EXPECT_EQ(from_sec1(number(row.at("mask")) << 32), f->mask());
    EXPECT_EQ(eu_mask(Generation::Sec1, f->mask()), number(row.at("mask")) << 32);
    EXPECT_EQ(eu_mask(Generation::Sec3, f->mask()), f->mask());
  }
}

TEST(Contract, FieldsAreWhereTheSourcesSay) {
  std::set<std::string> listed;
  for (const auto& row : read_csv("fields.csv")) {
    SCOPED_TRACE(row.at("register") + "[" + row.at("field") + "]");
    ASSERT_TRUE(field_registers().contains(row.at("register")));
    const Register& r = *field_registers().at(row.at("register"));
    const Field* found = nullptr;
    for (const Field& f : r.fields)
      if (f.name == row.at("field")) found = &f;
    ASSERT_TRUE(found) << "no such field";
    ASSERT_TRUE(row.at("word") == "HI" || row.at("word") == "LO");
    const uint64_t mask = row.at("word") == "HI" ? number(row.at("mask")) << 32 : number(row.at("mask"));
    EXPECT_EQ(found->mask(), mask);
    EXPECT_TRUE(listed.insert(row.at("register") + "." + row.at("field")).second) << "listed twice";
  }
  for (const auto& [name, r] : field_registers())
    for (const Field& f : r->fields) {
      if (f.doc.starts_with("ASSUMED position")) continue;  // no source to copy from
      EXPECT_TRUE(listed.contains(name + "." + std::string(f.name))) << name << "[" << f.name << "] is in no row";
    }
}

TEST(Contract, InterruptRegistersShareOneLayout) {
  for (const Register* r : {&kISR1, &kICR1}) EXPECT_EQ(r->fields.data(), kIMR1.fields.data());
  EXPECT_EQ(kEUASR1.fields.data(), kEUACR1.fields.data());
  for (const Register* r : {&kISR, &kICR}) {
    ASSERT_EQ(r->fields.size(), kIMR.fields.size());
    EXPECT_EQ(r->fields.data(), kIMR.fields.data());
  }
  for (const Register* r : {&kAesuInterruptStatus, &kAesuInterruptControl, &kDeuInterruptStatus, &kDeuInterruptControl})
    EXPECT_EQ(r->fields.data(), kEuInterruptStatus.fields.data());
}

TEST(Contract, ResetValues) {
  for (const Block* b : {&kControllerBlock, &kChannelBlock, &kChannelBlock3, &kControllerBlock1, &kChannelBlock1})
    for (const Register& r : b->registers) EXPECT_EQ(&r == &kControllerRegisters1[1] ? 0 : r.reset, 0u) << r.name;
  EXPECT_EQ(kControllerRegisters1[1].name, "IMR");
  EXPECT_EQ(kControllerRegisters1[1].reset, 0xf80f000033333340u) << "everything masked";
  EXPECT_EQ(kAesuStatus.reset, 1u);  // reset done
  EXPECT_EQ(kDeuStatus.reset, 1u);
}

TEST(Contract, ChannelErrorsMeanWhatTheSourcesSay) {
  uint64_t all = 0;
  for (const auto& row : read_csv("channel_errors.csv")) {
    SCOPED_TRACE(row.at("mask"));
    const uint64_t mask = number(row.at("mask"));
    all |= mask;
    for (const auto& [g, name] : {std::pair{Generation::Sec1, "sec1"}, {Generation::Sec2, "sec2"}, {Generation::Sec3, "sec3"}}) {
      const auto found = channel_errors(mask, g);
      if (row.at(name).empty()) {
        EXPECT_TRUE(found.empty()) << name;
        continue;
      }
      ASSERT_EQ(found.size(), 1u) << name;
      EXPECT_EQ(found[0].name, row.at(name));
      EXPECT_EQ(found[0].halts ? "yes" : "no", row.at(std::string(name) + "_halts"));
    }
  }
  EXPECT_EQ(all, channel_error::kAll);
}

TEST(Contract, ChannelErrorConstantsAreTheFieldsMasks) {
  using namespace channel_error;
  const std::pair<uint64_t, std::string_view> both[] = {{kDof, "DOF"}, {kSof, "SOF"},     {kMdte, "MDTE"},
                                                        {kIdh, "IDH"}, {kSgdlz, "SGDLZ"}, {kFpz, "FPZ"},
                                                        {kIeu, "IEU"}, {kEu, "EU"}};
  for (const auto& [mask, name] : both) {
    EXPECT_EQ(channel_errors(mask, Generation::Sec2).at(0).name, name);
    EXPECT_EQ(channel_errors(mask, Generation::Sec3).at(0).name, name);
  }
  const std::pair<uint64_t, std::string_view> two[] = {{kGb, "GB"}, {kGrl, "GRL"}, {kSb, "SB"}, {kSrl, "SRL"}};
  for (const auto& [mask, name] : two) EXPECT_EQ(channel_errors(mask, Generation::Sec2).at(0).name, name);
  const std::pair<uint64_t, std::string_view> three[] = {{kWdt, "WDT"}, {kSgml, "SGML"}, {kRsi, "RSI"}, {kRsg, "RSG"}};
  for (const auto& [mask, name] : three) EXPECT_EQ(channel_errors(mask, Generation::Sec3).at(0).name, name);
  const std::pair<uint64_t, std::string_view> one[] = {{kMdte, "MDTE"}, {kPnc, "PNC"},   {kParity, "PAR"},
                                                       {kIdh, "IDH"},   {kSerr, "SERR"}, {kEu, "EU"}};
  for (const auto& [mask, name] : one) EXPECT_EQ(channel_errors(mask, Generation::Sec1).at(0).name, name);
}

void expect_same_names(std::span<const EnumName> table, const std::string& unit) {
  std::map<uint64_t, std::string> listed;
  for (const auto& row : read_csv("modes.csv"))
    if (row.at("unit") == unit) listed[number(row.at("mode"))] = row.at("name");
  EXPECT_EQ(listed.size(), table.size()) << unit;
  for (const EnumName& e : table) EXPECT_EQ(listed[e.value], e.name) << unit << " mode " << e.value;
}

TEST(Contract, ModeBytesAreNamedAsInTheSources) {
  expect_same_names(kAesuModeNames, "AESU");
  expect_same_names(kDeuModeNames, "DEU");
  expect_same_names(kMdeuAModeNames, "MDEU-A");
  expect_same_names(kMdeuBModeNames, "MDEU-B");
  expect_same_names(kAfeuModeNames, "AFEU");
  expect_same_names(kKeuModeNames, "KEU");
  expect_same_names(kSteuModeNames, "STEU");
  expect_same_names(kCrcuModeNames, "CRCU");
  expect_same_names(kPkeuModeNames, "PKEU");
  // The constants that code uses are those values.
  for (const auto& [value, name] :
       std::initializer_list<std::pair<uint8_t, std::string_view>>{{aesu_mode::kEcb, "ECB"},
                                                                   {aesu_mode::kCbc, "CBC"},
                                                                   {aesu_mode::kCtr, "CTR"},
                                                                   {aesu_mode::kOfb, "OFB"},
                                                                   {aesu_mode::kLrw, "LRW"},
                                                                   {aesu_mode::kCmac, "CMAC"},
                                                                   {aesu_mode::kSrtp, "SRTP"},
                                                                   {aesu_mode::kCcm, "CCM"},
                                                                   {aesu_mode::kGcm, "GCM"},
                                                                   {aesu_mode::kXcbcMac, "XCBC-MAC"},
                                                                   {aesu_mode::kCfb128, "CFB-128"},
                                                                   {aesu_mode::kXor, "XOR"},
                                                                   {aesu_mode::kCbcRbp, "CBC-RBP"},
                                                                   {aesu_mode::kLrwNoTweak, "LRW-notweak"},
                                                                   {aesu_mode::kCmacCheck, "CMAC-check"},
                                                                   {aesu_mode::kCcmFinal, "CCM-final"},
                                                                   {aesu_mode::kCcmCheck, "CCM-check"},
                                                                   {aesu_mode::kGcmFinal, "GCM-final"},
                                                                   {aesu_mode::kGcmCheck, "GCM-check"},
                                                                   {aesu_mode::kXcbcMacCheck, "XCBC-MAC-check"}})
    EXPECT_EQ(name_in(kAesuModeNames, value), name);
  EXPECT_EQ(aesu_mode::kEncrypt, kAesuMode.mask("ED"));
  EXPECT_EQ(aesu_mode::kCipherMode, kAesuMode.mask("CM"));
  EXPECT_EQ(aesu_mode::kRdk, kAesuMode.mask("RDK"));
  EXPECT_EQ(aesu_mode::kEcm, kAesuMode.mask("ECM"));
  EXPECT_EQ(deu_mode::kEncrypt, kDeuMode.mask("ED"));
  EXPECT_EQ(deu_mode::kTriple, kDeuMode.mask("TS"));
  EXPECT_EQ(deu_mode::kModeMask, kDeuMode.mask("CM"));
  EXPECT_EQ(name_in(kDeuModeNames, deu_mode::kCbc), "CBC");
  EXPECT_EQ(name_in(kDeuModeNames, deu_mode::kCfb64), "CFB-64");
  EXPECT_EQ(name_in(kDeuModeNames, deu_mode::kOfb64), "OFB-64");
}

TEST(Contract, DescriptorTypesAreNamedAsInTheSources) {
  std::map<uint64_t, std::string> listed;
  for (const auto& row : read_csv("types.csv")) listed[number(row.at("type"))] = row.at("name");
  EXPECT_EQ(listed.size(), std::size(kDescriptorTypeNames));
  for (unsigned t = 0; t < 32; ++t)
    EXPECT_EQ(name_of(static_cast<DescriptorType>(t)), listed.contains(t) ? listed[t] : "reserved") << t;
}

TEST(Contract, PartsHaveTheConstantsOfTheirDeviceTrees) {
  const auto rows = read_csv("parts.csv");
  EXPECT_EQ(rows.size(), std::size(kParts));
  for (const auto& row : rows) {
    SCOPED_TRACE(row.at("part"));
    const Part* p = find_part(row.at("part"));
    ASSERT_TRUE(p);
    EXPECT_EQ(p->sec_version, row.at("sec"));
    EXPECT_EQ(p->channels, number(row.at("channels")));
    EXPECT_EQ(p->fetch_fifo_entries, number(row.at("fifo")));
    EXPECT_EQ(p->exec_units_mask, number(row.at("exec_units")));
    EXPECT_EQ(p->descriptor_types_mask, number(row.at("types")));
    EXPECT_EQ(p->interrupts, number(row.at("interrupts")));
    EXPECT_EQ(p->id, number(row.at("id")));
    EXPECT_EQ(p->ip_block_revision, number(row.at("ip_block_revision")));
    EXPECT_EQ(p->ccsr_offset, number(row.at("offset")));
    EXPECT_EQ(p->window_bytes, number(row.at("window")));
    EXPECT_EQ(p->compatible[0], row.at("compatible"));
    const auto listed = std::count_if(p->compatible.begin(), p->compatible.end(), [](auto c) { return !c.empty(); });
    EXPECT_EQ(listed - 1, static_cast<long>(number(row.at("older"))));
    // What follows from being compatible with a version. [LX]
    const auto lists = [&](std::string_view c) { return std::find(p->compatible.begin(), p->compatible.end(), c) != p->compatible.end(); };
    EXPECT_EQ(p->sec1(), lists("fsl,sec1.0"));
    EXPECT_EQ(p->sec3(), lists("fsl,sec3.0"));
    EXPECT_EQ(p->icv_writeback, lists("fsl,sec2.1"));
    EXPECT_EQ(p->sha224_init, lists("fsl,sec2.1"));
    EXPECT_EQ(p->hmac_in_mdeu, lists("fsl,sec2.1"));
    EXPECT_EQ(p->extent_in_table, lists("fsl,sec3.0"));
    EXPECT_EQ(p->gcm, lists("fsl,sec3.0"));
    EXPECT_EQ(p->mdeu_b(), lists("fsl,sec3.0"));
  }
}

TEST(Contract, WorkedHeadersDecodeAsTheirSourcesSay) {
  for (const auto& row : read_csv("headers.csv")) {
    const auto header = static_cast<uint32_t>(number(row.at("header")));
    EXPECT_EQ(decode_header(header), row.at("text")) << row.at("header");
    EXPECT_EQ(HeaderWord::decode(header).encode(), header) << row.at("header");
  }
}

// ---- sources ----------------------------------------------------------------------------------

/// Keys of docs/reference/sources.md: the first cells of its tables.
std::set<std::string> source_keys() {
  std::ifstream in(std::string(SEC_SOURCE_DIR) + "/docs/reference/sources.md");
  std::set<std::string> keys;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("| ")) keys.insert(line.substr(2, line.find(" |", 2) - 2));
  return keys;
}

/// Tags in a source cell: "LX T23; USP", "LX, FB".
std::vector<std::string> tags_in(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ',' || c == ';'; }, ' ');
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(Contract, EverySourceTagIsExplained) {
  const auto keys = source_keys();
  ASSERT_TRUE(keys.contains("LX"));
  const auto expect_known = [&](const std::string& tag, std::string_view where) {
    EXPECT_TRUE(keys.contains(tag)) << "\"" << tag << "\" of " << where << " is not in docs/reference/sources.md";
  };
  const Register* const memory_words[] = {&kHeader, &kWriteBack, &kPointer, &kLinkEntry};
  std::vector<const Register*> all(std::begin(memory_words), std::end(memory_words));
  std::vector<const Block*> blocks = {&kControllerBlock, &kControllerBlock1, &kPolychannelBlock, &kChannelBlock,
                                      &kChannelBlock3,   &kChannelBlock1,    &kEuBlock};
  for (Eu eu : kUnits) blocks.push_back(eu_block(eu));
  for (const Block* b : blocks)
    for (const Register& r : b->registers) all.push_back(&r);
  for (const Register* r : all) {
    EXPECT_FALSE(r->source.empty()) << r->name << " names no source";
    EXPECT_FALSE(r->doc.empty()) << r->name << " has no text";
    for (const std::string& tag : tags_in(std::string(r->source))) expect_known(tag, r->name);
    for (const Field& f : r->fields) {
      EXPECT_FALSE(f.doc.empty()) << r->name << "[" << f.name << "] has no text";
      for (size_t at = f.doc.find('['); at != std::string_view::npos; at = f.doc.find('[', at + 1)) {
        const std::string tag(f.doc.substr(at + 1, f.doc.find(']', at) - at - 1));
        const bool names_a_field = at > 0 && f.doc[at - 1] != ' ' && f.doc[at - 1] != ']';  // as in CCCR[WGN]
        if (!names_a_field) expect_known(tag, f.name);
      }
    }
  }
  for (const char* csv :
       {"offsets.csv", "offsets_sec1.csv", "fields.csv", "swapped.csv", "channel_errors.csv", "headers.csv", "modes.csv",
        "types.csv", "parts.csv"})
    for (const auto& row : read_csv(csv))
      for (const std::string& tag : tags_in(row.at("source")))
        if (tag != "inferred" && tag != "swapped") expect_known(tag, csv);
}

// The check itself must be able to fail.
constexpr Field kOverlapping[] = {{.name = "A", .bits = lo(0x3)}, {.name = "B", .bits = lo(0x2)}};
constexpr Register kBadFields[] = {{.name = "X", .offset_bytes = 0, .fields = kOverlapping}};
constexpr Register kTooClose[] = {{.name = "X", .offset_bytes = 0, .size_bytes = 16}, {.name = "Y", .offset_bytes = 8}};
constexpr Field kOneBit[] = {{.name = "A", .bits = lo(0x1)}};
constexpr Register kStrayReset[] = {{.name = "X", .offset_bytes = 0, .reset = 2, .fields = kOneBit}};
constexpr Register kUnaligned[] = {{.name = "X", .offset_bytes = 4}};
static_assert(!well_formed({.name = "", .doc = "", .registers = kBadFields}));
static_assert(!well_formed({.name = "", .doc = "", .registers = kTooClose}));
static_assert(!well_formed({.name = "", .doc = "", .registers = kStrayReset}));
static_assert(!well_formed({.name = "", .doc = "", .registers = kUnaligned}));

}  // namespace
}  // namespace sec::regs
