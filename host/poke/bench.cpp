#include "host/poke/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "common/diag.h"
#include "common/hex.h"
#include "host/platforms/functional.h"
#include "host/platforms/tlm.h"
#include "host/session/engine_tracer.h"
#include "hw/regs/decode.h"
#include "hw/regs/link_table.h"
#include "hw/regs/map.h"
#include "hw/trace/open.h"
#include "hw/trace/window.h"

namespace sec::host::poke {
namespace {

constexpr size_t kMemoryBytes = size_t{64} << 20;

/// An engine, its memory and its clock.
class Target {
 public:
  virtual ~Target() = default;
  virtual uint32_t read(uint32_t offset) = 0;
  virtual void write(uint32_t offset, uint32_t value) = 0;
  virtual hw::Engine& engine() = 0;
  virtual uint64_t now_ps() = 0;
  virtual void pass_ps(uint64_t ps) = 0;
  /// Memory shows what the engine has written by now.
  virtual void publish() = 0;
};

class FunctionalTarget final : public Target {
 public:
  FunctionalTarget(const BenchOptions& o, const hw::Timing& t) : platform_(*o.part, kMemoryBytes, &t) {}
  uint32_t read(uint32_t offset) override { return engine().read32(offset); }
  void write(uint32_t offset, uint32_t value) override { engine().write32(offset, value); }
  hw::Engine& engine() override { return platform_.engine(); }
  uint64_t now_ps() override { return 0; }
  void pass_ps(uint64_t) override {}
  void publish() override {}

 private:
  FunctionalPlatform platform_;
};

class TlmTarget final : public Target {
 public:
  explicit TlmTarget(TlmPlatform& p) : platform_(p) {}
  uint32_t read(uint32_t offset) override { return platform_.device().read32(offset); }
  void write(uint32_t offset, uint32_t value) override { platform_.device().write32(offset, value); }
  hw::Engine& engine() override {
    platform_.device().synchronize();
    return platform_.engine();
  }
  uint64_t now_ps() override { return platform_.sim_time_ps(); }
  void pass_ps(uint64_t ps) override {
    platform_.sleep_until_ps(now_ps() + ps);
    platform_.device().synchronize();
  }
  void publish() override { platform_.device().publish(); }

 private:
  TlmPlatform& platform_;
};

/// The script cannot go on: an expectation is not met.
struct Unmet {
  std::string text;
};

class Runner {
 public:
  Runner(const Script& script, const regs::Part& part, Target& target, const std::function<void(const Event&)>& log)
      : script_(script), part_(part), target_(target), log_(log), symbols_(script.symbols.size()), period_ps_(target.engine().clocks().period_ps) {}

  Outcome run() {
    Outcome o;
    for (const Statement& s : script_.statements) {
      at_ = &s;
      try {
        step(s);
      } catch (const Unmet& u) {
        o.ok = false;
        o.where = script_.where(s);
        o.failure = u.text;
        say("expect", u.text);
        break;
      }
    }
    target_.publish();
    o.sim_ps = target_.now_ps();
    o.clocks = clock();
    o.descriptors = target_.engine().counters().descriptors;
    o.errors = target_.engine().counters().errors;
    for (const auto& [text, times] : target_.engine().notes()) o.notes.push_back(fmt::format("{} ({} times)", text, times));
    return o;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw SetupError(fmt::format("{}: {}", script_.where(*at_), why)); }
  uint64_t value(const Expression& e) const { return e.empty() ? 0 : e.value(symbols_); }
  uint64_t clock() { return target_.now_ps() / period_ps_; }
  Event event(std::string what, std::string text) {
    Event e;
    e.where = script_.where(*at_);
    e.what = std::move(what);
    e.sim_ps = target_.now_ps();
    e.clock = clock();
    e.text = std::move(text);
    return e;
  }
  void say(std::string what, std::string text) { log_(event(std::move(what), std::move(text))); }
  void access(bool write, uint32_t offset, uint64_t v, unsigned bytes, const std::string& extra = {}) {
    Event e = event(write ? "write" : "read", regs::describe_access(write, offset, v, bytes, part_) + extra);
    e.name = regs::register_name(part_, offset);
    e.offset = offset;
    e.value = v;
    e.size_bytes = bytes;
    log_(e);
  }

  // ---- registers ----

  uint32_t word_of(uint32_t offset, uint64_t v) const {
    if (v <= 0xffffffff) return static_cast<uint32_t>(v);
    if (!(offset & 4) && !(v & 0xffffffff)) return static_cast<uint32_t>(v >> 32);  // a mask of the high word
    fail(fmt::format("{:#x} does not fit into 32 bits; use write64, or a mask of one word", v));
  }
  void write64(uint32_t offset, uint64_t v) {
    target_.write(offset, static_cast<uint32_t>(v >> 32));
    target_.write(offset + 4, static_cast<uint32_t>(v));
  }
  uint64_t read(const Place& p) {
    if (!p.whole) return target_.read(p.offset);
    const uint64_t high = target_.read(p.offset);
    return high << 32 | target_.read(p.offset + 4);
  }

  // ---- memory ----

  uint8_t* memory(uint64_t address, uint64_t n) {
    target_.publish();
    hw::MemoryMap& m = target_.engine().memory();
    if (faulty_) m.clear_faults();  // the bench has a back door where the engine sees bus errors
    uint8_t* const p = m.at(address, std::max<uint64_t>(n, 1));
    if (faulty_) restore_faults();
    if (!p) fail(fmt::format("there is no memory at {:#x}, {} bytes; use 0x100000 to 0x40fffff, or add some with 'memory'", address, n));
    return p;
  }
  void restore_faults() {
    for (const auto& [a, n] : faults_) target_.engine().memory().inject_fault(a, n);
  }
  void stored(uint64_t address, size_t n) { say("memory", fmt::format("memory {:#09x} {} bytes written", address, n)); }

  // ---- words for people ----

  /// "IDH EU", or the values of fields of more than one bit, of what is set under the mask.
  std::string fields(const Place& p, uint64_t v, uint64_t mask) const {
    const auto where = regs::lookup(p.offset & ~7u, part_);
    if (!where || where->reg->fields.empty() || where->reg->size_bytes > 8) return {};
    const unsigned shift = p.whole || p.offset & 4 ? 0 : 32;
    std::string out;
    for (const regs::DecodedField& f : regs::decode_fields(*where, (v & mask) << shift).fields) {
      if (!((v & mask) << shift & f.mask)) continue;
      out += out.empty() ? "" : " ";
      out += f.bits.first == f.bits.last ? f.field : fmt::format("{}={:#x}", f.field, f.value);
    }
    return out.empty() ? " (none set)" : " (" + out + ")";
  }
  static std::string number(uint64_t v, bool whole) { return whole && v >> 32 ? fmt::format("0x{:08x}_{:08x}", v >> 32, v & 0xffffffff) : fmt::format("{:#x}", v); }

  void compare(const std::string& name, const Place* p, uint64_t got, const std::vector<Expression>& args, size_t from, bool has_mask, uint64_t width_mask) {
    const uint64_t mask = has_mask ? value(args[from]) : width_mask, want = value(args[from + (has_mask ? 1 : 0)]);
    if ((got & mask) == want) {
      say("expect", fmt::format("ok    {}{} is {}{}", name, has_mask ? fmt::format(" & {}", number(mask, true)) : "", number(want, true), p ? fields(*p, want, mask) : ""));
      return;
    }
    if (want & ~mask) fail(fmt::format("{} can never be {}: the mask {} has not all of its bits", name, number(want, true), number(mask, true)));
    throw Unmet{fmt::format("expected {}{} to be {}{}, got {}{}", name, has_mask ? fmt::format(" & {}", number(mask, true)) : "", number(want, true), p ? fields(*p, want, mask) : "",
                            number(got & mask, true), p ? fields(*p, got, mask) : "")};
  }

  // ---- waiting ----

  uint64_t in_ps(const Duration& d) const { return d.ps + d.clocks * period_ps_; }
  /// Looks once per SEC clock, after 4096 clocks at every sixteenth. True when `there` came within the limit.
  bool wait(uint64_t limit_ps, const std::function<bool()>& there) {
    const uint64_t from = target_.now_ps();
    for (uint64_t looks = 0;; ++looks) {
      if (there()) return true;
      const uint64_t passed = target_.now_ps() - from;
      if (!target_.engine().timed() || passed >= limit_ps) return false;
      target_.pass_ps(std::min(period_ps_ * (looks < 4096 ? 1 : 16), limit_ps - passed));
    }
  }
  std::string limit_text(const Duration& d) {
    if (!target_.engine().timed()) return "it did not come, and without time it never will";
    return fmt::format("it did not come within {}", d.clocks ? fmt::format("{} clocks", d.clocks) : fmt::format("{} us", static_cast<double>(d.ps) / 1e6));
  }

  // ---- statements ----

  void step(const Statement& s) {
    hw::Engine& e = target_.engine();
    switch (s.verb) {
      case Verb::Let:
        symbols_[s.slot] = value(s.args[0]);
        break;
      case Verb::Note:
        say("note", s.text);
        break;
      case Verb::Memory: {
        const uint64_t a = value(s.args[0]), n = value(s.args[1]);
        if (!n || n > kMemoryBytes || a >> 36 || a % 8) fail("memory: give an address of at most 36 bits that is a multiple of 8, and at most 64 MiB");
        extra_.emplace_back(std::make_unique<uint8_t[]>(n));
        e.memory().add_region(a, n, extra_.back().get());
        say("memory", fmt::format("memory {:#09x} {} bytes added", a, n));
        break;
      }
      case Verb::Fill: {
        const uint64_t a = value(s.args[0]), n = value(s.args[1]), v = value(s.args[2]);
        if (v > 0xff) fail(fmt::format("fill: {:#x} is not a byte", v));
        std::memset(memory(a, n), static_cast<int>(v), n);
        stored(a, n);
        break;
      }
      case Verb::Bytes: {
        const uint64_t a = value(s.args[0]);
        if (!s.bytes.empty()) std::memcpy(memory(a, s.bytes.size()), s.bytes.data(), s.bytes.size());
        stored(a, s.bytes.size());
        break;
      }
      case Verb::Words32:
      case Verb::Words64: {
        const uint64_t a = value(s.args[0]);
        const size_t width = s.verb == Verb::Words32 ? 4 : 8;
        uint8_t* p = memory(a, width * (s.args.size() - 1));
        for (size_t i = 1; i < s.args.size(); ++i, p += width) {
          const uint64_t v = value(s.args[i]);
          if (width == 4 && v > 0xffffffff) fail(fmt::format("mem32: {:#x} is more than 32 bits; use mem64", v));
          if (width == 4)
            store_be32(p, static_cast<uint32_t>(v));
          else
            store_be64(p, v);
        }
        stored(a, width * (s.args.size() - 1));
        break;
      }
      case Verb::Unmapped: {
        const uint64_t a = value(s.args[0]), n = value(s.args[1]);
        target_.publish();
        e.memory().inject_fault(a, n);
        faults_.emplace_back(a, n);
        faulty_ = true;
        say("memory", fmt::format("memory {:#09x} {} bytes answer with bus errors", a, n));
        break;
      }
      case Verb::AllMapped:
        target_.publish();
        e.memory().clear_faults();
        faults_.clear();
        faulty_ = false;
        say("memory", "no more bus errors");
        break;
      case Verb::Descriptor: descriptor(s); break;
      case Verb::Link: link(s); break;
      case Verb::Write32: {
        const uint32_t v = word_of(s.place.offset, value(s.args[0]));
        access(true, s.place.offset, v, 4);
        target_.write(s.place.offset, v);
        break;
      }
      case Verb::Write64: {
        const uint64_t v = value(s.args[0]);
        access(true, s.place.offset, v, 8);
        write64(s.place.offset, v);
        break;
      }
      case Verb::Read32:
      case Verb::Read64: {
        const uint64_t v = read(s.place);
        access(false, s.place.offset, v, s.place.whole ? 8 : 4);
        if (s.slot != ~size_t{0}) symbols_[s.slot] = v;
        break;
      }
      case Verb::Doorbell: {
        const uint64_t a = value(s.args[1]);
        if (a >> part_.address_bits()) fail(fmt::format("doorbell: {:#x} has more than {} bits", a, part_.address_bits()));
        access(true, s.place.offset, a, 8);
        write64(s.place.offset, a);
        break;
      }
      case Verb::Inject:
        e.inject_unit_error(static_cast<unsigned>(value(s.args[0])), value(s.args[1]));
        say("note", fmt::format("the unit of channel {} will fail after {} bytes", value(s.args[0]), value(s.args[1])));
        break;
      case Verb::Run:
        target_.pass_ps(in_ps(s.duration));
        say("wait", e.timed() ? fmt::format("{} clocks passed", in_ps(s.duration) / period_ps_) : "no time passes on the functional path");
        break;
      case Verb::UntilRegister: {
        const uint64_t mask = value(s.args[0]), want = value(s.args[1]);
        uint64_t got = 0;
        if (want & ~mask) fail(fmt::format("until: {} can never be {}: the mask {} has not all of its bits", s.place.name, number(want, true), number(mask, true)));
        const bool ok = wait(in_ps(s.duration), [&] { return ((got = read(s.place)) & mask) == want; });
        access(false, s.place.offset, got, s.place.whole ? 8 : 4);
        if (!ok)
          throw Unmet{fmt::format("waited for {} & {} to be {}{}, but {}; it is {}{}", s.place.name, number(mask, true), number(want, true), fields(s.place, want, mask), limit_text(s.duration),
                                  number(got & mask, true), fields(s.place, got, mask))};
        break;
      }
      case Verb::UntilLine: {
        const auto n = static_cast<unsigned>(value(s.args[0]));
        if (!wait(in_ps(s.duration), [&] { return (target_.engine().lines() >> n & 1) != 0; })) throw Unmet{fmt::format("waited for interrupt line {}, but {}", n, limit_text(s.duration))};
        say("wait", fmt::format("interrupt line {} is up", n));
        break;
      }
      case Verb::Dump: {
        const uint64_t a = value(s.args[0]), n = value(s.args[1]);
        const uint8_t* p = memory(a, n);
        for (uint64_t i = 0; i < n; i += 16) {
          std::string text = fmt::format("{:#09x} ", a + i);
          for (uint64_t k = i; k < std::min(n, i + 16); ++k) text += fmt::format("{}{:02x}", k % 4 ? "" : " ", p[k]);
          say("dump", text);
        }
        break;
      }
      case Verb::ExpectRegister: {
        const uint64_t got = read(s.place);
        access(false, s.place.offset, got, s.place.whole ? 8 : 4);
        compare(s.place.name, &s.place, got, s.args, 0, s.has_mask, s.place.whole ? ~uint64_t{0} : 0xffffffff);
        break;
      }
      case Verb::ExpectSymbol:
        compare(script_.symbols[s.slot], nullptr, symbols_[s.slot], s.args, 0, s.has_mask, ~uint64_t{0});
        break;
      case Verb::ExpectMem32:
      case Verb::ExpectMem64: {
        const bool wide = s.verb == Verb::ExpectMem64;
        const uint64_t a = value(s.args[0]);
        const uint8_t* p = memory(a, wide ? 8 : 4);
        compare(fmt::format("memory at {:#x}", a), nullptr, wide ? load_be64(p) : load_be32(p), s.args, 1, s.has_mask, wide ? ~uint64_t{0} : 0xffffffff);
        break;
      }
      case Verb::ExpectMem: {
        const uint64_t a = value(s.args[0]);
        const uint8_t* p = memory(a, s.bytes.size());
        const auto [want, got] = std::mismatch(s.bytes.begin(), s.bytes.end(), p);
        if (want != s.bytes.end()) {
          constexpr size_t kShown = 16;
          const auto first = static_cast<size_t>(want - s.bytes.begin());
          const size_t n = std::min(kShown, s.bytes.size() - first);
          throw Unmet{fmt::format("expected memory at {:#x} to be {}, got {}{}", a + first, hex_of_bytes(s.bytes.data() + first, n), hex_of_bytes(p + first, n),
                                  first ? fmt::format(" ({} bytes before it are right)", first) : "")};
        }
        say("expect", fmt::format("ok    memory {:#09x} {} bytes as expected", a, s.bytes.size()));
        break;
      }
      case Verb::ExpectLine: {
        const auto n = static_cast<unsigned>(value(s.args[0]));
        const bool up = target_.engine().lines() >> n & 1;
        if (up != s.flag) throw Unmet{fmt::format("expected interrupt line {} to be {}, got {}", n, s.flag ? "up" : "down", up ? "up" : "down")};
        say("expect", fmt::format("ok    interrupt line {} is {}", n, up ? "up" : "down"));
        break;
      }
      case Verb::ExpectClock: {
        const uint64_t now = clock(), bound = value(s.args[0]);
        if (s.flag ? now <= bound : now >= bound) throw Unmet{fmt::format("expected the SEC clock to be {} {}, got {}", s.flag ? "above" : "below", bound, now)};
        say("expect", fmt::format("ok    SEC clock {} is {} {}", now, s.flag ? "above" : "below", bound));
        break;
      }
    }
  }

  void descriptor(const Statement& s) {
    const DescriptorSource& d = s.descriptor;
    const uint64_t a = value(s.args[0]);
    uint8_t* const p = memory(a, regs::kDescriptorBytes);
    auto fits = [&](uint64_t v, uint64_t most, const char* what) {
      if (v > most) fail(fmt::format("descriptor: {} {:#x} does not fit; the most is {:#x}", what, v, most));
      return v;
    };
    std::memset(p, 0, regs::kDescriptorBytes);
    store_be32(p, static_cast<uint32_t>(fits(value(d.header), 0xffffffff, "header")));
    if (!part_.sec1()) store_be32(p + 4, static_cast<uint32_t>(fits(value(d.feedback), 0xffffffff, "feedback")));
    for (size_t i = 0; i < d.pointers.size(); ++i) {
      const DescriptorSource::Pointer& from = d.pointers[i];
      const auto dword = regs::PointerDword::to(fits(value(from.address), (uint64_t{1} << part_.address_bits()) - 1, "address"), static_cast<uint16_t>(fits(value(from.length), 0xffff, "length")),
                                                static_cast<uint8_t>(fits(value(from.extent), 0x7f, "extent")), from.jump);
      store_be64(p + (part_.sec1() ? regs::kSec1PointerOffset : 8) + 8 * i, part_.sec1() ? dword.encode_sec1() : dword.encode());
    }
    if (part_.sec1()) store_be32(p + regs::kSec1NextOffset, static_cast<uint32_t>(fits(value(d.next), 0xffffffff, "next")));
    say("memory", fmt::format("memory {:#09x} descriptor {:08x}: {}", a, load_be32(p), regs::decode_header(load_be32(p))));
  }

  void link(const Statement& s) {
    const uint64_t a = value(s.args[0]);
    uint8_t* p = memory(a, regs::kLinkEntryBytes * s.links.size());
    for (const LinkSource& l : s.links) {
      const uint64_t address = value(l.address), length = value(l.length);
      if (address >> 36 || length > 0xffff) fail(fmt::format("link: {:#x},{:#x} does not fit into an entry of 36 and 16 bits", address, length));
      regs::LinkEntry e = regs::LinkEntry::data(address, static_cast<uint16_t>(length), l.last);
      if (l.next) e.flags |= regs::LinkEntry::kNext;
      e.store(p);
      p += regs::kLinkEntryBytes;
    }
    say("memory", fmt::format("memory {:#09x} link table of {} entries", a, s.links.size()));
  }

  const Script& script_;
  const regs::Part& part_;
  Target& target_;
  const std::function<void(const Event&)>& log_;
  std::vector<uint64_t> symbols_;
  const uint64_t period_ps_;
  const Statement* at_ = nullptr;
  std::vector<std::unique_ptr<uint8_t[]>> extra_;
  std::vector<std::pair<uint64_t, uint64_t>> faults_;
  bool faulty_ = false;
};

}  // namespace

Outcome run_script(const Script& script, const BenchOptions& options, const std::function<void(const Event&)>& log) {
  hw::Timing timing = hw::Timing::for_part(*options.part);
  for (const std::string& k : options.knobs) timing.set(k);
  for (const std::string& k : script.knobs) timing.set(k);
  if (!options.timed) {
    if (!options.trace.empty()) throw SetupError("--trace needs simulated time: use --fidelity approx");
    FunctionalTarget target(options, timing);
    return Runner(script, *options.part, target, log).run();
  }
  TlmPlatform platform(*options.part, timing, kMemoryBytes);
  std::unique_ptr<EngineTracer> tracer;
  if (!options.trace.empty()) {
    const trace::Window window = options.trace_window.empty() ? trace::Window{} : trace::parse_window(options.trace_window);
    tracer = std::make_unique<EngineTracer>(trace::open_trace(options.trace, {.window = window}), platform.engine(), platform.engine().clocks().period_ps);
    platform.device().on_commit = [&](uint64_t t) { tracer->commit(t); };
    platform.engine().set_observer(tracer.get());
  }
  Outcome outcome;
  std::exception_ptr failure;  // nothing is thrown through the SystemC kernel
  platform.run([&] {
    try {
      TlmTarget target(platform);
      outcome = Runner(script, *options.part, target, log).run();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  platform.engine().set_observer(nullptr);
  if (tracer && !tracer->close(platform.sim_time_ps()) && !failure) throw SetupError("--trace " + options.trace + ": the file could not be written completely");
  if (failure) {
    tracer.reset();
    std::error_code ignored;
    if (!options.trace.empty()) std::filesystem::remove(options.trace, ignored);  // bad input leaves nothing half-written
    std::rethrow_exception(failure);
  }
  return outcome;
}

}  // namespace sec::host::poke
