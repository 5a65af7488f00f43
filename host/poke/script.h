// Poke scripts: what a person who verifies would type at a register-level bench, line by line. This is the language; what the lines do is bench.h.
//
//   requires sec2 sec3                        # or the script says so and nothing runs
//   let D = 0x200000
//   mem 0x201000 000102...0f                  # memory as bytes, words, text or a file
//   descriptor D { sel0=AESU mode0=CBC|ENC type=common_nonsnoop dn p1=0x201000,16 ... }
//   write64 CH0.CCCR CCCR.CDWE|CCCR.CDIE      # registers and fields by name
//   doorbell 0 D
//   until line 0
//   expect mem D ff                           # exit 1 here unless it is so
//   [sec3] expect CH0.CCPSR 0xfff0 0          # only where the condition in brackets holds
//
// A script is parsed whole before anything runs, for one part and fidelity: conditions are decided, registers and fields become offsets and
// masks of that part, and everything misspelt is reported with file, line and fix (SetupError). The reference is docs/reference/poke.md.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/poke/expression.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/variants.h"

namespace sec::host::poke {

enum class Verb : uint8_t {
  Let, Memory, Fill, Bytes, Words32, Words64, Unmapped, AllMapped, Descriptor, Link,
  Write32, Write64, Read32, Read64, Doorbell, Inject,
  Run, UntilRegister, UntilLine,
  Dump, ExpectRegister, ExpectSymbol, ExpectMem, ExpectMem32, ExpectMem64, ExpectLine, ExpectClock, Note,
};

/// A register, or the word of one, as the script names it.
struct Place {
  uint32_t offset = 0;  // in the window
  bool whole = true;    // 64 bits: two accesses, HI then LO
  std::string name;     // as written
};

/// `run 10us`, `limit 200clk`.
struct Duration {
  uint64_t ps = 0, clocks = 0;
};

struct DescriptorSource {
  Expression header, feedback, next;  // feedback: SEC 2 and 3; next: SEC 1
  struct Pointer {
    Expression address, length, extent;  // empty: zero
    bool jump = false;
  };
  std::array<Pointer, regs::kDescriptorPointers> pointers;
};

struct LinkSource {
  Expression address, length;
  bool last = false, next = false;
};

/// One line that runs. Which members are used depends on the verb.
struct Statement {
  Verb verb;
  size_t file = 0;  // in Script::files
  unsigned line = 0;
  std::string source;              // the line, for logs
  std::vector<Expression> args;    // address, length, value, mask, ...
  Place place;                     // registers
  size_t slot = ~size_t{0};        // let, read -> NAME, expect NAME
  std::vector<uint8_t> bytes;      // mem, text, file, expect mem
  std::string text;                // note
  bool flag = false;               // expect line N up; expect clock > N
  bool has_mask = false;           // args: mask, value
  Duration duration;
  DescriptorSource descriptor;
  std::vector<LinkSource> links;
};

struct Script {
  std::vector<std::string> files;  // the script and what it includes
  std::vector<Statement> statements;
  std::vector<std::string> symbols;  // names by slot
  std::vector<std::string> knobs;    // set NAME=VALUE
  std::string where(const Statement& s) const;
};

struct ScriptOptions {
  const regs::Part* part = nullptr;
  bool timed = true;
};

/// Parses text that is known as `path`; files it names are looked up beside it.
Script parse_script(std::string_view text, const std::string& path, const ScriptOptions& options);
/// Reads and parses a file.
Script load_script(const std::string& path, const ScriptOptions& options);

/// One line of help for every command, for --help and for messages.
std::string command_summary();

}  // namespace sec::host::poke
