// Poke scripts: expressions, the language and its messages, and what the bench does with a script.
#include <gtest/gtest.h>

#include <map>

#include "common/diag.h"
#include "host/poke/bench.h"
#include "host/poke/script.h"

namespace sec::host::poke {
namespace {

uint64_t value(std::string_view text) {
  return Expression::parse(text, [](std::string_view n) -> std::optional<Expression::Meaning> {
           static const std::map<std::string, uint64_t, std::less<>> kNames = {{"A", 0x10}, {"CCCR.CDIE", 2}};
           const auto it = kNames.find(n);
           return it == kNames.end() ? std::nullopt : std::optional<Expression::Meaning>(it->second);
         }).value({});
}
std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const SetupError& e) {
    return e.what();
  }
  return "";
}

TEST(PokeExpression, PrecedenceIsThatOfC) {
  EXPECT_EQ(value("1|2&3"), 3u);
  EXPECT_EQ(value("1+2<<3"), 24u);
  EXPECT_EQ(value("2+3*4"), 14u);
  EXPECT_EQ(value("10-3-2"), 5u);
  EXPECT_EQ(value("~0"), ~uint64_t{0});
  EXPECT_EQ(value("-1"), ~uint64_t{0});
  EXPECT_EQ(value("(1|2)&~1"), 2u);
  EXPECT_EQ(value("A + CCCR.CDIE"), 0x12u);
  EXPECT_EQ(value("0xffff_0000 >> 16"), 0xffffu);
  EXPECT_EQ(value("1<<64"), 0u);
  EXPECT_EQ(value("1 << 63"), uint64_t{1} << 63);
}

TEST(PokeExpression, RefusesWhatItDoesNotUnderstand) {
  for (const char* bad : {"", "1+", "(1", "1)", "B", "0xg", "12345678901234567890123", "1 2", "+1", "@", "1//2"}) EXPECT_THROW(value(bad), SetupError) << bad;
  EXPECT_THROW(value(std::string(200, '(') + "1"), SetupError);
  EXPECT_THROW(value(std::string(100000, '~') + "1"), SetupError) << "no stack overflow";
}

struct Case {
  const char *text, *says, *part;
};

TEST(PokeScript, SaysWhereAndWhatToDo) {
  const Case cases[] = {
      {"wirte32 IMR 1", "s:1: unknown command 'wirte32'", "p2020"},
      {"\n\nwrite32 IMR", "s:3: write32 takes REGISTER VALUE", "p2020"},
      {"write32 NOSUCH 1", "s:1: ", "p2020"},
      {"write32 CH0.CCCR CCCR.CDEI", "CCCR has no field 'CDEI' on p2020; it has", "p2020"},
      {"write64 CH4.CCCR 1", "s:1: ", "p2020"},
      {"write64 0x10000 1", "outside of p2020's register window", "p2020"},
      {"write64 0x1004 1", "not at a multiple of 8", "p2020"},
      {"let 1A = 2", "cannot be a name", "p2020"},
      {"let IMR = 2", "is a register", "p2020"},
      {"let A 2", "let takes", "p2020"},
      {"let A = B", "'B' is neither", "p2020"},
      {"mem 0x200000 0g", "not bytes in hex", "p2020"},
      {"mem 0x200000 123", "not bytes in hex", "p2020"},
      {"file 0x200000 no/such", "no/such: the file cannot be read", "p2020"},
      {"include no/such", "no/such: the file cannot be read", "p2020"},
      {"text 0x200000 abc", "text takes", "p2020"},
      {"text 0x200000 \"abc", "a '\"' is missing", "p2020"},
      {"run 10", "not a time", "p2020"},
      {"run 10h", "not a time", "p2020"},
      {"run 11s", "not a time", "p2020"},
      {"until IMR 1", "until takes", "p2020"},
      {"until line 2", "out of range", "p2020"},
      {"until line 1", "out of range", "mpc885"},
      {"doorbell 4 0x200000", "channel '4' is out of range; the most is 3", "p2020"},
      {"doorbell 1 0x200000", "the most is 0", "mpc885"},
      {"inject fault 0 0", "inject takes", "p2020"},
      {"expect line 0 high", "expect takes", "p2020"},
      {"expect clock 5", "expect takes", "p2020"},
      {"expect mem 0x200000", "expect takes", "p2020"},
      {"descriptor 0x200000 { header=0", "never closed", "p2020"},
      {"descriptor 0x200000 header=0", "descriptor takes", "p2020"},
      {"descriptor 0x200000 { sel0=AESU mode0=CBD }", "mode 'CBD' of AESU", "p2020"},
      {"descriptor 0x200000 { type=common }", "no descriptor type", "p2020"},
      {"descriptor 0x200000 { p7=1,2 }", "'p7' is not understood", "p2020"},
      {"descriptor 0x200000 { p1=1 }", "a pointer is ADDRESS,LENGTH", "p2020"},
      {"descriptor 0x200000 { p1=1,2,k }", "'k' of a pointer", "p2020"},
      {"descriptor 0x200000 { header=1 dn }", "either header= or its parts", "p2020"},
      {"descriptor 0x200000 { next=1 }", "only SEC 1 chains", "p2020"},
      {"descriptor 0x200000 { p1=1,2,j }", "SEC 1 have neither", "mpc885"},
      {"descriptor 0x200000 { feedback=1 }", "no feedback word", "mpc885"},
      {"link 0x200000 { 1,2,last }", "SEC 1 has no link tables", "mpc885"},
      {"link 0x200000 { }", "the table is empty", "p2020"},
      {"link 0x200000 { 1 }", "an entry is", "p2020"},
      {"[sec4] run 1us", "'sec4' is no condition", "p2020"},
      {"[sec3 run 1us", "the '[' has no ']'", "p2020"},
      {"[] run 1us", "no condition in it", "p2020"},
      {"requires sec1", "this script requires sec1, which p2020 (SEC 3.1, approx) is not", "p2020"},
      {"run 1us\nset engine.posted_write_clocks=3", "before everything that runs", "p2020"},
      {"repeat 100001 run 1us", "out of range", "p2020"},
      {"repeat 3", "repeat takes", "p2020"},
      {"write32 AESU.MR 1\nwrite32 STEU.MR 1", "s:2: ", "mpc8548"},
  };
  for (const Case& c : cases) {
    const std::string why = refusal([&] { parse_script(c.text, "s", {.part = regs::find_part(c.part)}); });
    EXPECT_NE(why.find(c.says), std::string::npos) << c.text << "\n  said: " << why;
    EXPECT_TRUE(why.starts_with("s:")) << why;
    EXPECT_EQ(why.find('\n'), std::string::npos) << why;
  }
}

TEST(PokeScript, ConditionsAreDecidedWhileParsing) {
  const char* text =
      "[sec1] run 1us\n[sec2 sec3] run 2us\n[!sec1][approx] run 3us\n[p2020] run 4us\n[STEU] run 5us\n[raid_xor] run 6us\n[sec1] write32 STEU.MR 1\n[icv] run 7us\n";
  auto runs = [&](const char* part, bool timed) {
    std::string out;
    for (const Statement& s : parse_script(text, "s", {.part = regs::find_part(part), .timed = timed}).statements) out += std::to_string(s.duration.ps / 1'000'000);
    return out;
  };
  EXPECT_EQ(runs("p2020", true), "234567");
  EXPECT_EQ(runs("p2020", false), "24567");
  EXPECT_EQ(runs("mpc8548", false), "267");
  EXPECT_THROW(runs("mpc885", true), SetupError) << "no STEU there";
}

TEST(PokeScript, NamesOfRegistersAndMasksFollowThePart) {
  auto offset = [](const char* part, const char* name) { return parse_script(std::string("read64 ") + name, "s", {.part = regs::find_part(part)}).statements.at(0).place.offset; };
  EXPECT_EQ(offset("p2020", "CH0.FF"), 0x1148u);
  EXPECT_EQ(offset("mpc885", "CH0.FF"), 0x2048u);
  EXPECT_EQ(offset("p2020", "AESU.MR"), 0x4000u);
  EXPECT_EQ(offset("mpc8272", "AESU.MR"), 0x12000u);
  EXPECT_EQ(offset("p2020", "CH2.CCPSR"), 0x1310u);
  EXPECT_EQ(offset("p2020", "0x1108"), 0x1108u);
  EXPECT_EQ(offset("p2020", "AESU.KEY+8"), 0x4408u);
  auto mask = [](const char* part, const char* name) { return parse_script(std::string("let A = ") + name, "s", {.part = regs::find_part(part)}).statements.at(0).args.at(0).value({}); };
  EXPECT_EQ(mask("p2020", "AESU.ISR.KSE"), 0x200u);
  EXPECT_EQ(mask("mpc885", "AESU.ISR.KSE"), uint64_t{0x00020000} << 32) << "byte-swapped in the high word";
  EXPECT_EQ(mask("p2020", "CCCR.R"), uint64_t{1} << 32);
  EXPECT_EQ(mask("mpc885", "CCCR.R"), 1u);
  const Script s = parse_script("descriptor 0x200000 { sel0=DEU mode0=ENC sel1=MDEU-A mode1=INIT|HMAC|PD|MD5 type=ipsec_esp }", "s", {.part = regs::find_part("p2020")});
  EXPECT_EQ(s.statements.at(0).descriptor.header.value({}), 0x20131e08u) << "a worked header of the vendor's";
}

Outcome run(const char* text, bool timed, std::vector<Event>* log = nullptr, const char* part = "p2020") {
  const Script s = parse_script(text, "s", {.part = regs::find_part(part), .timed = timed});
  return run_script(s, {.part = regs::find_part(part), .timed = timed}, [&](const Event& e) {
    if (log) log->push_back(e);
  });
}

TEST(PokeBench, StopsAtTheFirstThatIsNotSo) {
  const Outcome o = run("write64 IMR IMR.CH0_DONE\nexpect IMR 0x1_0000_0000\nexpect IMR IMR.CH0_DONE|IMR.CH0_ERROR IMR.CH0_ERROR\nexpect IMR 0\n", false);
  EXPECT_FALSE(o.ok);
  EXPECT_EQ(o.where, "s:3");
  EXPECT_EQ(o.failure, "expected IMR & 0x00000003_00000000 to be 0x00000002_00000000 (CH0_ERROR), got 0x00000001_00000000 (CH0_DONE)");
}

TEST(PokeBench, ComparesMemoryByteByByte) {
  EXPECT_TRUE(run("mem 0x200000 0102030405\nexpect mem 0x200001 020304\nexpect mem32 0x200000 0x01020304\nexpect mem64 0x200000 0xff00_0000_0000 0x0300_0000_0000", false).ok);
  const Outcome o = run("mem 0x200000 0102030405\nexpect mem 0x200000 0102ff0405", false);
  EXPECT_EQ(o.failure, "expected memory at 0x200002 to be ff0405, got 030405 (2 bytes before it are right)");
  EXPECT_FALSE(run("fill 0x200000 8 0xaa\nexpect mem 0x200000 aaaaaaaaaaaaaaaaaa", false).ok) << "one byte further";
  EXPECT_TRUE(run("text 0x200000 \"ab#c d\"\nexpect mem 0x200000 616223632064", false).ok);
}

TEST(PokeBench, WaitsHaveALimitAndAName) {
  Outcome o = run("until line 0 limit 5us", true);
  EXPECT_EQ(o.failure, "waited for interrupt line 0, but it did not come within 5 us");
  EXPECT_EQ(o.sim_ps, 5'000'000u);
}
TEST(PokeBench, WithoutTimeAWaitEndsAtOnce) {
  const Outcome o = run("until CH0.CCPSR CCPSR.IDH CCPSR.IDH", false);
  EXPECT_EQ(o.failure, "waited for CH0.CCPSR & 0x400 to be 0x400 (IDH), but it did not come, and without time it never will; it is 0x0 (none set)");
}
TEST(PokeBench, TimePassesAsAsked) {
  std::vector<Event> log;
  const Outcome o = run("run 300clk\nread32 ID\nrun 2us\nexpect clock > 899\nexpect clock < 901", true, &log);
  EXPECT_TRUE(o.ok) << o.failure;
  ASSERT_EQ(log.size(), 5u);
  EXPECT_EQ(log[1].clock, 300u);
}

TEST(PokeBench, RefusesWhatCannotBe) {
  for (const char* bad : {"fill 0x200000 4 0x100", "mem32 0x200000 0x1_0000_0000", "fill 0 4 1", "dump 0x5000000 16", "write32 IMR_LO 0x1_0000_0001", "doorbell 0 1<<36", "memory 0x1000001 16",
                          "descriptor 0x200000 { p1=0x200000,0x10000 }", "expect IMR 1 2", "until IMR 1 2", "link 0x200000 { 1,0x10000 }", "descriptor 0x200000 { header=1<<32 }"}) {
    const std::string why = refusal([&] { run(bad, false); });
    EXPECT_TRUE(why.starts_with("s:1: ")) << bad << ": " << why;
  }
  EXPECT_NE(refusal([&] { run("set engine.nothing=1", false); }), "");
}

TEST(PokeBench, MemoryAboveFourGigabytes) {
  const char* text =
      "memory 0x8_0000_0000 0x10000\nlet D = 0x8_0000_0000\nmem D+0x1100 2b7e151628aed2a6abf7158809cf4f3c\nmem D+0x2000 6bc1bee22e409f96e93d7e117393172a\n"
      "descriptor D { sel0=AESU mode0=ECB|ENC type=common_nonsnoop dn p2=D+0x1100,16 p3=D+0x2000,16 p4=D+0x3000,16 }\n"
      "write64 CH0.CCCR CCCR.CDWE|CCCR.CDIE|CCCR.EAE\nwrite64 IMR ~0\ndoorbell 0 D\nuntil line 0\nexpect mem D ff\nexpect mem D+0x3000 3ad77bb40d7a3660a89ecaf32466ef97";
  const Outcome o = run(text, true);
  EXPECT_TRUE(o.ok) << o.failure;
}

}  // namespace
}  // namespace sec::host::poke
