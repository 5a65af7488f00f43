#include "host/poke/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "common/diag.h"
#include "common/hex.h"
#include "hw/regs/aesu.h"
#include "hw/regs/decode.h"
#include "hw/regs/deu.h"
#include "hw/regs/keu.h"
#include "hw/regs/map.h"
#include "hw/regs/mdeu.h"
#include "hw/regs/steu.h"
#include "hw/regs/units.h"

namespace sec::host::poke {
namespace {

struct Command {
  std::string_view name, usage, help;
  size_t least, most;  // arguments
};
constexpr size_t kAny = 1000;
constexpr Command kCommands[] = {
    {"let", "NAME = VALUE", "a name for a number", 3, kAny},
    {"set", "KNOB=VALUE", "a timing knob (secsim regs --knobs), before anything else", 1, 1},
    {"include", "FILE", "the lines of another file, found beside this one", 1, 1},
    {"requires", "CONDITION...", "ends the script with exit code 2 unless one holds", 1, kAny},
    {"memory", "ADDRESS LENGTH", "more memory (there are 64 MiB from 0x100000 on)", 2, 2},
    {"fill", "ADDRESS LENGTH BYTE", "memory: one byte again and again", 3, 3},
    {"mem", "ADDRESS HEX...", "memory: bytes", 2, kAny},
    {"mem32", "ADDRESS VALUE...", "memory: big-endian words", 2, kAny},
    {"mem64", "ADDRESS VALUE...", "memory: big-endian doublewords", 2, kAny},
    {"text", "ADDRESS \"TEXT\"", "memory: characters", 2, 2},
    {"file", "ADDRESS PATH", "memory: the content of a file", 2, 2},
    {"unmapped", "ADDRESS LENGTH | none", "accesses of the engine there are bus errors from now on; none: nowhere any more", 1, 2},
    {"descriptor", "ADDRESS { header=VALUE | sel0=UNIT mode0=.. sel1=UNIT mode1=.. type=NAME inbound dn; pN=ADDRESS,LENGTH[,ext=N][,j]; next=ADDRESS }", "memory: a descriptor in the part's layout", 2, kAny},
    {"link", "ADDRESS { ADDRESS,LENGTH[,last][,next] ; ... }", "memory: a link table", 2, kAny},
    {"write32", "REGISTER VALUE", "one access; a value in the high word alone goes to the high word", 2, 2},
    {"write64", "REGISTER VALUE", "two accesses, HI then LO", 2, 2},
    {"read32", "REGISTER [-> NAME]", "one access", 1, 3},
    {"read64", "REGISTER [-> NAME]", "two accesses, HI then LO", 1, 3},
    {"doorbell", "CHANNEL ADDRESS", "hands a descriptor to a channel", 2, 2},
    {"inject", "unit-error CHANNEL BYTES", "the unit fails by itself after so many bytes of the next descriptors", 3, 3},
    {"run", "TIME", "lets time pass: 10us, 500ns, 200clk", 1, 1},
    {"until", "REGISTER MASK VALUE [limit TIME] | line N [limit TIME]", "waits (1 ms unless told otherwise); exit 1 when it does not come", 2, 5},
    {"dump", "ADDRESS LENGTH", "prints memory", 2, 2},
    {"expect", "REGISTER|NAME [MASK] VALUE | mem ADDRESS HEX... | mem32|mem64 ADDRESS [MASK] VALUE | line N up|down | clock <|> N", "exit 1 unless it is so", 2, kAny},
    {"note", "TEXT", "prints the text", 0, kAny},
    {"repeat", "TIMES COMMAND...", "the command so many times", 2, kAny},
};

std::string upper(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}
std::string letters(std::string_view s) {  // for names of modes: "CFB-128" and "cfb128" are one
  std::string out;
  for (char c : s)
    if (std::isalnum(static_cast<unsigned char>(c))) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}
std::string_view trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}
bool identifier(std::string_view s) {
  return !s.empty() && !std::isdigit(static_cast<unsigned char>(s[0])) &&
         std::all_of(s.begin(), s.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

std::optional<regs::Eu> unit_of(std::string_view name) {
  const std::string n = letters(name);
  for (unsigned code = 1; code < 12; ++code)
    if (const auto eu = static_cast<regs::Eu>(code); letters(regs::eu_name(eu)) == n) return eu;
  if (n == "MDEU") return regs::Eu::MdeuA;
  if (n == "RNG") return regs::Eu::Rngu;
  if (n == "NONE") return regs::Eu::None;
  return std::nullopt;
}

class Parser {
 public:
  Parser(const ScriptOptions& options) : part_(*options.part), timed_(options.timed) {}

  void file(std::string_view text, const std::string& path) {
    const size_t before = file_;
    const unsigned line_before = line_;
    if (++depth_ > 8) fail("include: files include each other; take one include out");
    script_.files.push_back(path);
    file_ = script_.files.size() - 1;
    line_ = 0;
    std::string block;
    unsigned block_line = 0;
    size_t at = 0;
    while (at < text.size()) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::string one(without_comment(text.substr(at, end - at)));
      at = end + 1;
      ++line_;
      if (!block.empty()) {
        block += " ; " + one;
      } else {
        block = one;
        block_line = line_;
      }
      if (std::count(block.begin(), block.end(), '{') > std::count(block.begin(), block.end(), '}')) continue;
      const unsigned last = line_;
      line_ = block_line;
      statement(block);
      line_ = last;
      block.clear();
    }
    if (!trim(block).empty()) {
      line_ = block_line;
      fail("the '{' of this line is never closed; add a '}'");
    }
    --depth_;
    file_ = before;
    line_ = line_before;
  }

  Script take() { return std::move(script_); }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw SetupError(fmt::format("{}:{}: {}", script_.files.empty() ? "?" : script_.files[file_], line_, why));
  }

  static std::string_view without_comment(std::string_view s) {
    bool quoted = false;
    for (size_t i = 0; i < s.size(); ++i) {
      if (s[i] == '"') quoted = !quoted;
      if (s[i] == '#' && !quoted) return s.substr(0, i);
    }
    return s;
  }

  /// Splits at blanks, but not inside parentheses and quotes; braces and ';' are words of their own.
  std::vector<std::string> split(std::string_view s) const {
    std::vector<std::string> out;
    std::string word;
    int parentheses = 0;
    bool quoted = false;
    auto flush = [&] {
      if (!word.empty()) out.push_back(std::exchange(word, {}));
    };
    for (char c : s) {
      if (c == '"') quoted = !quoted;
      if (!quoted) {
        parentheses += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (std::isspace(static_cast<unsigned char>(c)) && parentheses <= 0) {
          flush();
          continue;
        }
        if (c == '{' || c == '}' || c == ';') {
          flush();
          out.emplace_back(1, c);
          continue;
        }
      }
      word += c;
    }
    if (quoted) fail("a '\"' is missing");
    flush();
    return out;
  }

  // ---- names ----

  std::optional<uint32_t> find_offset(std::string_view name) const {
    if (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0]))) return std::nullopt;  // numbers are numbers
    if (const auto o = regs::find_register(part_, name)) return o;
    // "AESU.MR" is AESUMR; the Fetch Register of SEC 1 stands where the others have FF.
    const size_t dot = name.rfind('.');
    if (dot != std::string_view::npos)
      if (const auto o = regs::find_register(part_, std::string(name.substr(0, dot)) + std::string(name.substr(dot + 1)))) return o;
    for (const auto& [other, here] : {std::pair<std::string_view, std::string_view>{"FF", "FR"}, {"FR", "FF"}})
      if (upper(name).ends_with(other) && (name.size() == other.size() || name[name.size() - other.size() - 1] == '.' || name[name.size() - other.size() - 1] == '_'))
        if (const auto o = regs::find_register(part_, std::string(name.substr(0, name.size() - other.size())) + std::string(here))) return o;
    return std::nullopt;
  }

  std::optional<uint64_t> field_mask(std::string_view name) const {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const auto offset = find_offset(name.substr(0, dot));
    if (!offset) return std::nullopt;
    const auto where = regs::lookup(*offset, part_);
    if (!where) return std::nullopt;
    for (const regs::Field& f : where->reg->fields)
      if (upper(f.name) == upper(name.substr(dot + 1))) return where->mask_of(f);
    return std::nullopt;
  }

  std::optional<size_t> symbol(std::string_view name) const {
    const auto it = symbols_.find(std::string(name));
    return it == symbols_.end() ? std::nullopt : std::optional(it->second);
  }
  size_t define(const std::string& name) {
    if (!identifier(name)) fail(fmt::format("'{}' cannot be a name; use letters, digits and '_', not a digit first", name));
    if (const auto s = symbol(name)) return *s;
    if (find_offset(name)) fail(fmt::format("'{}' is a register of {}; choose another name", name, part_.name));
    script_.symbols.push_back(name);
    return symbols_[name] = script_.symbols.size() - 1;
  }

  std::optional<Expression::Meaning> resolve(std::string_view name) const {
    if (const auto s = symbol(name)) return Expression::Slot{*s};
    if (const auto o = find_offset(name)) return *o;
    if (const auto m = field_mask(name)) return *m;
    return std::nullopt;
  }
  Expression expression(std::string_view text) const {
    try {
      return Expression::parse(text, [this](std::string_view n) { return resolve(n); });
    } catch (const SetupError& e) {
      fail(name_hint(text, e.what()));
    }
  }
  /// Says which fields a register has when only the field is wrong.
  std::string name_hint(std::string_view text, std::string why) const {
    size_t at = 0;
    while (at < text.size()) {
      size_t end = at;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '.')) ++end;
      const std::string_view name = text.substr(at, end - at);
      const size_t dot = name.rfind('.');
      if (dot != std::string_view::npos && !resolve(name))
        if (const auto o = find_offset(name.substr(0, dot)))
          if (const auto l = regs::lookup(*o, part_)) {
            std::string fields;
            for (const regs::Field& f : l->reg->fields) fields += fmt::format("{}{}", fields.empty() ? "" : ", ", f.name);
            return fmt::format("{} has no field '{}' on {}; it has {}", name.substr(0, dot), name.substr(dot + 1), part_.name, fields.empty() ? "none" : fields);
          }
      at = end + 1;
    }
    return why;
  }

  uint64_t constant(std::string_view text, std::string_view what, uint64_t most) const {
    const Expression e = expression(text);
    if (!e.constant()) fail(fmt::format("{}: '{}' must be a number that does not come from the script's names", what, text));
    const uint64_t v = e.value({});
    if (v > most) fail(fmt::format("{} '{}' is out of range; the most is {}", what, text, most));
    return v;
  }

  Place place(const std::string& name, unsigned bits) const {
    Place p;
    p.name = name;
    bool word = false;
    if (const auto o = find_offset(name)) {
      p.offset = *o;
      const std::string n = upper(name);
      word = n.ends_with("_HI") || n.ends_with("_LO");
    } else {
      if (identifier(name)) {
        try {
          regs::find_register(name, part_);  // for its message with the near names
        } catch (const SetupError& e) {
          fail(e.what());
        }
      }
      const Expression e = expression(name);
      if (!e.constant()) fail(fmt::format("'{}' is not a register; write a name (secsim regs) or an offset", name));
      const uint64_t v = e.value({});
      if (v >= regs::window_bytes(part_)) fail(fmt::format("'{}' is outside of {}'s register window of {:#x} bytes", name, part_.name, regs::window_bytes(part_)));
      p.offset = static_cast<uint32_t>(v);
    }
    // An odd offset is no mistake of the script: it is how a bad access is written.
    p.whole = bits == 64 || (bits == 0 && !word && !(p.offset & 7));
    if (bits == 64 && p.offset & 7) fail(fmt::format("'{}' is not at a multiple of 8; use the 32-bit command", name));
    return p;
  }

  Duration duration(std::string_view text) const {
    size_t n = 0;
    while (n < text.size() && (std::isdigit(static_cast<unsigned char>(text[n])) || text[n] == '_')) ++n;
    const auto v = parse_number(text.substr(0, n));
    const std::string_view unit = text.substr(n);
    constexpr std::pair<std::string_view, uint64_t> kUnits[] = {{"ps", 1}, {"ns", 1000}, {"us", 1'000'000}, {"ms", 1'000'000'000}, {"s", 1'000'000'000'000}};
    constexpr uint64_t kLongest = 10'000'000'000'000;  // 10 s of simulated time
    if (v && unit == "clk" && *v <= 10'000'000'000) return {.clocks = *v};
    for (const auto& [name, ps] : kUnits)
      if (v && unit == name && *v <= kLongest / ps) return {.ps = *v * ps};
    fail(fmt::format("'{}' is not a time of at most 10 s; write a whole number and a unit, as in 10us, 500ns or 200clk", text));
  }

  bool condition(const std::string& word) const {
    const bool inverse = word.starts_with("!");
    const std::string w = upper(inverse ? std::string_view(word).substr(1) : word);
    bool holds;
    using G = regs::Generation;
    if (w == "SEC1" || w == "SEC2" || w == "SEC3") {
      holds = part_.generation == (w == "SEC1" ? G::Sec1 : w == "SEC2" ? G::Sec2 : G::Sec3);
    } else if (w == "FUNCTIONAL" || w == "APPROX") {
      holds = timed_ == (w == "APPROX");
    } else if (w == "ICV") {
      holds = part_.icv_writeback;
    } else if (regs::find_part(inverse ? std::string_view(word).substr(1) : word)) {
      holds = upper(part_.name) == w;
    } else if (const auto eu = unit_of(w)) {
      holds = part_.has(*eu);
    } else {
      const auto* t = std::find_if(std::begin(regs::kDescriptorTypeNames), std::end(regs::kDescriptorTypeNames), [&](const auto& e) { return upper(e.name) == w; });
      if (t == std::end(regs::kDescriptorTypeNames))
        fail(fmt::format("'{}' is no condition; use sec1, sec2, sec3, functional, approx, icv, a part, a unit or a descriptor type, with ! for its opposite", word));
      holds = part_.has_type(static_cast<unsigned>(t->value));
    }
    return holds != inverse;
  }

  // ---- lines ----

  void statement(const std::string& whole) {
    std::string_view line = trim(whole);
    bool runs = true;
    while (line.starts_with("[")) {
      const size_t end = line.find(']');
      if (end == std::string_view::npos) fail("the '[' has no ']'; conditions look like [sec2 sec3]");
      bool any = false;
      const auto words = split(line.substr(1, end - 1));
      if (words.empty()) fail("'[]' has no condition in it; write one, as in [sec3]");
      for (const std::string& w : words) any |= condition(w);
      runs &= any;
      line = trim(line.substr(end + 1));
    }
    if (line.empty() || line == ";") return;
    auto words = split(line);
    uint64_t times = 1;
    if (words[0] == "repeat") {
      if (words.size() < 3) usage("repeat");
      if (runs) times = constant(words[1], "repeat", 100'000);
      line = trim(line.substr(6));  // "repeat"
      line = trim(line.substr(words[1].size()));
      words.erase(words.begin(), words.begin() + 2);
    }
    const std::string name = words[0];
    const Command* command = std::find_if(std::begin(kCommands), std::end(kCommands), [&](const Command& c) { return c.name == name; });
    if (command == std::end(kCommands)) {
      std::string names;
      for (const Command& c : kCommands) names += fmt::format("{}{}", names.empty() ? "" : ", ", c.name);
      fail(fmt::format("unknown command '{}'; the commands are {}", name, names));
    }
    if (!runs) return;  // registers of another generation would not even have names here
    std::vector<std::string> a(words.begin() + 1, words.end());
    if (name != "descriptor" && name != "link" && name != "note" && name != "text") a.erase(std::remove(a.begin(), a.end(), ";"), a.end());
    if (a.size() < command->least || a.size() > command->most) fail(fmt::format("{} takes {}; see docs/reference/poke.md or secsim poke --help", name, command->usage));
    Statement s{};
    s.file = file_;
    s.line = line_;
    s.source = std::string(line);
    if (!one(name, a, line, s)) return;
    for (uint64_t i = 1; i < times; ++i) script_.statements.push_back(s);
    if (times) script_.statements.push_back(std::move(s));
  }

  bool usage(std::string_view name) const {
    for (const Command& c : kCommands)
      if (c.name == name) fail(fmt::format("{} takes {}", name, c.usage));
    fail("usage");
  }

  /// False when the line leaves nothing to run.
  bool one(const std::string& name, const std::vector<std::string>& a, std::string_view line, Statement& s) {
    auto all = [&](Verb v, size_t from = 0) {
      s.verb = v;
      for (size_t i = from; i < a.size(); ++i) s.args.push_back(expression(a[i]));
      return true;
    };
    if (name == "requires") {
      for (const std::string& w : a)
        if (condition(w)) return false;
      fail(fmt::format("this script requires {}, which {} (SEC {}, {}) is not; choose another --engine or --fidelity", trim(line.substr(8)), part_.name, part_.sec_version, timed_ ? "approx" : "functional"));
    }
    if (name == "set") {
      if (!script_.statements.empty() && std::any_of(script_.statements.begin(), script_.statements.end(), [](const Statement& t) { return t.verb != Verb::Let && t.verb != Verb::Note; }))
        fail("set: knobs are fixed when the engine is built; move this line before everything that runs");
      script_.knobs.push_back(a[0]);
      return false;
    }
    if (name == "include") {
      const std::string path = beside(a[0]);
      std::ifstream f(path, std::ios::binary);
      if (!f) fail(fmt::format("include {}: the file cannot be read; check the path", path));
      const std::string text{std::istreambuf_iterator<char>(f), {}};
      file(text, path);
      return false;
    }
    if (name == "let") {
      if (a[1] != "=") usage(name);
      s.args.push_back(expression(trim(line.substr(line.find('=') + 1))));
      s.slot = define(a[0]);
      s.verb = Verb::Let;
      return true;
    }
    if (name == "note") {
      s.verb = Verb::Note;
      s.text = std::string(trim(line.substr(4)));
      return true;
    }
    if (name == "memory") return all(Verb::Memory);
    if (name == "fill") return all(Verb::Fill);
    if (name == "mem32") return all(Verb::Words32);
    if (name == "mem64") return all(Verb::Words64);
    if (name == "dump") return all(Verb::Dump);
    if (name == "unmapped") {
      if (a.size() == 1 && a[0] == "none") {
        s.verb = Verb::AllMapped;
        return true;
      }
      return a.size() == 2 ? all(Verb::Unmapped) : usage(name);
    }
    if (name == "mem") {
      s.verb = Verb::Bytes;
      s.args.push_back(expression(a[0]));
      s.bytes = hex(a, 1);
      return true;
    }
    if (name == "text") {
      if (a[1].size() < 2 || a[1].front() != '"' || a[1].back() != '"') usage(name);
      s.verb = Verb::Bytes;
      s.args.push_back(expression(a[0]));
      s.bytes.assign(a[1].begin() + 1, a[1].end() - 1);
      return true;
    }
    if (name == "file") {
      s.verb = Verb::Bytes;
      s.args.push_back(expression(a[0]));
      const std::string path = beside(a[1]);
      std::error_code is;
      std::ifstream f(path, std::ios::binary);
      if (!f || !std::filesystem::is_regular_file(path, is)) fail(fmt::format("file {}: the file cannot be read; check the path", path));
      s.bytes.assign(std::istreambuf_iterator<char>(f), {});
      return true;
    }
    if (name == "descriptor") return descriptor(a, s);
    if (name == "link") return link(a, s);
    if (name == "write32" || name == "write64") {
      s.place = place(a[0], name == "write32" ? 32 : 64);
      return all(name == "write32" ? Verb::Write32 : Verb::Write64, 1);
    }
    if (name == "read32" || name == "read64") {
      if (a.size() == 2 || (a.size() == 3 && a[1] != "->")) usage(name);
      s.verb = name == "read32" ? Verb::Read32 : Verb::Read64;
      s.place = place(a[0], name == "read32" ? 32 : 64);
      if (a.size() == 3) s.slot = define(a[2]);
      return true;
    }
    if (name == "doorbell") {
      const uint64_t n = constant(a[0], "channel", part_.channels - 1);
      s.place = {.offset = regs::channel_base(part_, static_cast<unsigned>(n)) + 0x48, .whole = true, .name = fmt::format("CH{}.FF", n)};
      s.args.push_back(Expression::number(n));
      return all(Verb::Doorbell, 1);
    }
    if (name == "inject") {
      if (a[0] != "unit-error") usage(name);
      constant(a[1], "channel", part_.channels - 1);
      return all(Verb::Inject, 1);
    }
    if (name == "run") {
      s.verb = Verb::Run;
      s.duration = duration(a[0]);
      return true;
    }
    if (name == "until") {
      std::vector<std::string> b = a;
      s.duration = {.ps = 1'000'000'000};
      if (b.size() >= 2 && b[b.size() - 2] == "limit") {
        s.duration = duration(b.back());
        b.resize(b.size() - 2);
      }
      if (b.size() == 2 && b[0] == "line") {
        s.verb = Verb::UntilLine;
        s.args.push_back(Expression::number(constant(b[1], "line", part_.interrupts - 1)));
        return true;
      }
      if (b.size() != 3) usage(name);
      s.verb = Verb::UntilRegister;
      s.place = place(b[0], 0);
      s.args = {expression(b[1]), expression(b[2])};
      return true;
    }
    return expect(a, s);
  }

  bool expect(const std::vector<std::string>& a, Statement& s) {
    if (a[0] == "mem") {
      if (a.size() < 3) usage("expect");
      s.verb = Verb::ExpectMem;
      s.args.push_back(expression(a[1]));
      s.bytes = hex(a, 2);
      return true;
    }
    if (a[0] == "line") {
      if (a.size() != 3 || (a[2] != "up" && a[2] != "down")) usage("expect");
      s.verb = Verb::ExpectLine;
      s.args.push_back(Expression::number(constant(a[1], "line", part_.interrupts - 1)));
      s.flag = a[2] == "up";
      return true;
    }
    if (a[0] == "clock") {
      if (a.size() != 3 || (a[1] != "<" && a[1] != ">")) usage("expect");
      s.verb = Verb::ExpectClock;
      s.flag = a[1] == ">";
      s.args.push_back(expression(a[2]));
      return true;
    }
    const bool memory = a[0] == "mem32" || a[0] == "mem64";
    const size_t values = memory ? 2 : 1;
    if (a.size() < values + 1 || a.size() > values + 2) usage("expect");
    s.has_mask = a.size() == values + 2;
    if (memory) {
      s.verb = a[0] == "mem32" ? Verb::ExpectMem32 : Verb::ExpectMem64;
      s.args.push_back(expression(a[1]));
    } else if (const auto known = symbol(a[0])) {
      s.verb = Verb::ExpectSymbol;
      s.slot = *known;
    } else {
      s.verb = Verb::ExpectRegister;
      s.place = place(a[0], 0);
    }
    for (size_t i = values; i < a.size(); ++i) s.args.push_back(expression(a[i]));
    return true;
  }

  // ---- memory ----

  std::string beside(const std::string& path) const {
    const std::filesystem::path p(path);
    return p.is_absolute() ? path : (std::filesystem::path(script_.files[file_]).parent_path() / p).string();
  }

  std::vector<uint8_t> hex(const std::vector<std::string>& a, size_t from) const {
    std::vector<uint8_t> out;
    for (size_t i = from; i < a.size(); ++i) {
      const auto b = bytes_of_hex(a[i].starts_with("0x") ? std::string_view(a[i]).substr(2) : std::string_view(a[i]));
      if (!b) fail(fmt::format("'{}' is not bytes in hex; write two digits for each byte", a[i]));
      out.insert(out.end(), b->begin(), b->end());
    }
    return out;
  }

  /// The words between braces.
  std::vector<std::string> block(const std::vector<std::string>& a, std::string_view name) const {
    if (a.size() < 3 || a[1] != "{" || a.back() != "}") usage(name);
    return {a.begin() + 2, a.end() - 1};
  }
  static std::vector<std::string> commas(std::string_view text) {
    std::vector<std::string> out;
    int deep = 0;
    std::string word;
    for (char c : text) {
      deep += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (c == ',' && !deep)
        out.push_back(std::exchange(word, {}));
      else
        word += c;
    }
    out.push_back(word);
    return out;
  }

  uint64_t mode(regs::Eu eu, std::string_view text) const {
    std::span<const regs::EnumName> names;
    switch (eu) {
      case regs::Eu::Aesu: names = regs::kAesuModeNames; break;
      case regs::Eu::Deu: names = regs::kDeuModeNames; break;
      case regs::Eu::MdeuA: names = regs::kMdeuAModeNames; break;
      case regs::Eu::MdeuB: names = regs::kMdeuBModeNames; break;
      case regs::Eu::Keu: names = regs::kKeuModeNames; break;
      case regs::Eu::Steu: names = regs::kSteuModeNames; break;
      default: break;
    }
    auto resolve_mode = [&](std::string_view n) -> std::optional<Expression::Meaning> {
      for (const regs::EnumName& e : names)
        if (letters(e.name) == letters(n)) return e.value;
      if (const regs::Block* b = regs::eu_block(eu))
        for (const regs::Field& f : b->registers[0].fields) {
          if (upper(f.name) == upper(n)) return f.mask();
          if (f.name == "ED" && upper(n) == "ENC") return f.mask();
          if (f.name == "ED" && upper(n) == "DEC") return uint64_t{0};
        }
      return std::nullopt;
    };
    try {
      if (const uint64_t v = Expression::parse(text, resolve_mode).value({}); v <= 0xff) return v;
    } catch (const SetupError&) {
    }
    {
      std::string known;
      for (const regs::EnumName& n : names) known += fmt::format("{}, ", n.name);
      if (const regs::Block* b = regs::eu_block(eu))
        for (const regs::Field& f : b->registers[0].fields) known += fmt::format("{}, ", f.name);
      if (!known.empty()) known.resize(known.size() - 2);
      fail(fmt::format("mode '{}' of {}: its words are {}{}", text, regs::eu_name(eu), known, known.find("ED") == std::string::npos ? "" : ", ENC, DEC"));
    }
  }

  bool descriptor(const std::vector<std::string>& a, Statement& s) {
    s.verb = Verb::Descriptor;
    s.args.push_back(expression(a[0]));
    DescriptorSource& d = s.descriptor;
    regs::HeaderWord h;
    std::string mode0, mode1;
    bool parts = false;
    for (const std::string& w : block(a, "descriptor")) {
      if (w == ";") continue;
      const size_t eq = w.find('=');
      const std::string key = w.substr(0, eq), value = eq == std::string::npos ? "" : w.substr(eq + 1);
      if (w == "dn" || w == "inbound") {
        (w == "dn" ? h.notify : h.inbound) = true;
        parts = true;
      } else if (value.empty()) {
        fail(fmt::format("descriptor: '{}' is not understood; give header=, sel0=, mode0=, sel1=, mode1=, type=, inbound, dn, p0= to p6=, feedback= or next=, without blanks around '='", w));
      } else if (key == "header") {
        d.header = expression(value);
      } else if (key == "feedback") {
        if (part_.sec1()) fail("descriptor: SEC 1 has no feedback word; leave feedback= out");
        d.feedback = expression(value);
      } else if (key == "next") {
        if (!part_.sec1()) fail("descriptor: only SEC 1 chains descriptors; leave next= out");
        d.next = expression(value);
      } else if (key == "sel0" || key == "sel1") {
        const auto eu = unit_of(value);
        const uint64_t code = eu ? static_cast<uint64_t>(*eu) : constant(value, key, 15);
        (key == "sel0" ? h.sel0 : h.sel1) = static_cast<uint8_t>(code);
        parts = true;
      } else if (key == "mode0" || key == "mode1") {
        (key == "mode0" ? mode0 : mode1) = value;
        parts = true;
      } else if (key == "type") {
        const auto* t = std::find_if(std::begin(regs::kDescriptorTypeNames), std::end(regs::kDescriptorTypeNames), [&](const auto& e) { return upper(e.name) == upper(value); });
        if (t == std::end(regs::kDescriptorTypeNames) && !parse_number(value)) fail(fmt::format("descriptor: '{}' is no descriptor type; docs/reference/descriptors.md lists them", value));
        h.type = static_cast<uint8_t>(t != std::end(regs::kDescriptorTypeNames) ? t->value : constant(value, "type", 31));
        parts = true;
      } else if (key.size() == 2 && key[0] == 'p' && key[1] >= '0' && key[1] <= '6') {
        pointer(value, d.pointers[static_cast<size_t>(key[1] - '0')]);
      } else {
        fail(fmt::format("descriptor: '{}' is not understood; give header=, sel0=, mode0=, sel1=, mode1=, type=, inbound, dn, p0= to p6=, feedback= or next=", key));
      }
    }
    if (!d.header.empty() && parts) fail("descriptor: give either header= or its parts (sel0=, mode0=, type=, dn, ...)");
    if (d.header.empty()) {
      h.mode0 = static_cast<uint8_t>(mode0.empty() ? 0 : mode(static_cast<regs::Eu>(h.sel0), mode0));
      h.mode1 = static_cast<uint8_t>(mode1.empty() ? 0 : mode(static_cast<regs::Eu>(h.sel1), mode1));
      d.header = Expression::number(h.encode());
    }
    return true;
  }

  void pointer(const std::string& text, DescriptorSource::Pointer& p) {
    const auto w = commas(text);
    if (w.size() < 2) fail(fmt::format("descriptor: a pointer is ADDRESS,LENGTH[,ext=N][,j], not '{}'", text));
    p.address = expression(w[0]);
    p.length = expression(w[1]);
    for (size_t i = 2; i < w.size(); ++i) {
      if (w[i] == "j")
        p.jump = true;
      else if (w[i].starts_with("ext="))
        p.extent = expression(std::string_view(w[i]).substr(4));
      else
        fail(fmt::format("descriptor: '{}' of a pointer is not understood; use ext=N or j", w[i]));
    }
    if (part_.sec1() && (p.jump || !p.extent.empty())) fail("descriptor: pointers of SEC 1 have neither an extent nor link tables; leave ext= and j out");
  }

  bool link(const std::vector<std::string>& a, Statement& s) {
    if (!part_.link_tables()) fail("link: SEC 1 has no link tables; put the data in one piece");
    s.verb = Verb::Link;
    s.args.push_back(expression(a[0]));
    for (const std::string& w : block(a, "link")) {
      if (w == ";") continue;
      const auto c = commas(w);
      if (c.size() < 2) fail(fmt::format("link: an entry is ADDRESS,LENGTH[,last][,next], not '{}'", w));
      LinkSource e{.address = expression(c[0]), .length = expression(c[1])};
      for (size_t i = 2; i < c.size(); ++i) {
        if (c[i] == "last")
          e.last = true;
        else if (c[i] == "next")
          e.next = true;
        else
          fail(fmt::format("link: '{}' of an entry is not understood; use last or next", c[i]));
      }
      s.links.push_back(std::move(e));
    }
    if (s.links.empty()) fail("link: the table is empty; write at least one ADDRESS,LENGTH");
    return true;
  }

  const regs::Part& part_;
  const bool timed_;
  Script script_;
  std::map<std::string, size_t> symbols_;
  size_t file_ = 0;
  unsigned line_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Script::where(const Statement& s) const { return fmt::format("{}:{}", files[s.file], s.line); }

Script parse_script(std::string_view text, const std::string& path, const ScriptOptions& options) {
  Parser p(options);
  p.file(text, path);
  return p.take();
}

Script load_script(const std::string& path, const ScriptOptions& options) {
  std::ifstream f(path, std::ios::binary);
  std::error_code is;
  if (!f || !std::filesystem::is_regular_file(path, is)) throw SetupError(fmt::format("{}: the script cannot be read; check the path", path));
  const std::string text{std::istreambuf_iterator<char>(f), {}};
  return parse_script(text, path, options);
}

std::string command_summary() {
  std::string out;
  for (const Command& c : kCommands) out += fmt::format("  {:<11} {}\n{:14}{}\n", c.name, c.usage, "", c.help);
  return out;
}

}  // namespace sec::host::poke
