// secsim poke: a register-level bench. The language is host/poke/script.h, what it does host/poke/bench.h.
#include <cstdio>

#include <fmt/format.h>

#include "common/diag.h"
#include "host/cli/cli.h"
#include "host/poke/bench.h"

namespace sec::host::cli {
namespace {
struct Options {
  CommonOptions common;
  std::string script;
  bool quiet = false;
};

nlohmann::json to_json(const poke::Event& e) {
  nlohmann::json j{{"where", e.where}, {"what", e.what}, {"sim_time_ps", e.sim_ps}, {"sec_clock", e.clock}, {"text", e.text}};
  if (e.size_bytes) {
    j["register"] = e.name;
    j["offset"] = e.offset;
    j["size_bytes"] = e.size_bytes;
    j["value"] = fmt::format("0x{:0{}x}", e.value, 2 * e.size_bytes);
  }
  return j;
}

int run_poke(Options& o) {
  poke::BenchOptions b;
  b.part = &o.common.part();
  if (o.common.fidelity != "functional" && o.common.fidelity != "approx") throw SetupError(fmt::format("--fidelity {}: use functional or approx", o.common.fidelity));
  b.timed = o.common.fidelity == "approx";
  b.knobs = o.common.set;
  b.trace = o.common.trace;
  b.trace_window = o.common.trace_window;
  if (b.trace.empty() && !b.trace_window.empty()) throw SetupError("--trace-window: there is no --trace to limit");
  const poke::ScriptOptions so{.part = b.part, .timed = b.timed};
  poke::Script script;
  if (o.script == "-") {
    const auto text = read_input("-", "SCRIPT");
    script = poke::parse_script(std::string(text.begin(), text.end()), "standard input", so);
  } else {
    script = poke::load_script(o.script, so);
  }
  nlohmann::json log = nlohmann::json::array();
  const poke::Outcome r = poke::run_script(script, b, [&](const poke::Event& e) {
    if (o.common.json) {
      log.push_back(to_json(e));
    } else if (!o.quiet) {
      if (b.timed)
        fmt::print("{:>12.3f} us  {}\n", static_cast<double>(e.sim_ps) / 1e6, e.text);
      else
        fmt::print("{}\n", e.text);
    }
  });
  if (o.common.json) {
    nlohmann::json j{{"script", o.script}, {"engine", b.part->name}, {"fidelity", o.common.fidelity}, {"status", r.ok ? "passed" : "failed"}, {"sim_time_ps", r.sim_ps}, {"sec_clocks", r.clocks},
                     {"descriptors", r.descriptors}, {"errors", r.errors}, {"notes", r.notes}, {"log", log}};
    if (!r.ok) j["failure"] = {{"where", r.where}, {"text", r.failure}};
    fmt::print("{}\n", j.dump(2));
  } else if (r.ok && !o.quiet) {
    for (const std::string& n : r.notes) fmt::print("noted by the engine: {}\n", n);
    fmt::print("passed: {} descriptors done, {} errors{}\n", r.descriptors, r.errors, b.timed ? fmt::format(", {} SEC clocks", r.clocks) : "");
  }
  std::fflush(stdout);
  if (!r.ok) fmt::print(stderr, "secsim: {}: {}\n", r.where, r.failure);
  return r.ok ? 0 : 1;
}
}  // namespace

void add_poke(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("poke", "A register-level bench: a script writes and reads registers and memory, waits, and says what it expects");
  auto o = std::make_shared<Options>();
  sub->add_option("script", o->script, "the script, - for standard input")->required();
  sub->add_option("--engine", o->common.engine, "part (secsim regs --parts)")->capture_default_str();
  sub->add_option("--fidelity", o->common.fidelity, "functional (no time) or approx (simulated time)")->capture_default_str();
  sub->add_option("--set", o->common.set, "knob=value, several times (see secsim regs --knobs)");
  sub->add_option("--trace", o->common.trace, "write waveforms to FILE.fst or FILE.vcd (approx only)");
  sub->add_option("--trace-window", o->common.trace_window, "only this part of simulated time, e.g. 10us:25us");
  sub->add_flag("--quiet", o->quiet, "no log: only the exit code and, on standard error, what was not as expected");
  sub->add_flag("--json", o->common.json, "the log and the verdict as JSON");
  sub->footer("A script is lines of commands ('#' starts a comment, [sec3] before a line makes it conditional):\n" + poke::command_summary() +
              "Exit codes: 0 all as expected, 1 an expectation was not met, 2 the script cannot be understood.\nReference: docs/reference/poke.md");
  sub->callback([&c, o] { c.run = [o] { return run_poke(*o); }; });
}

}  // namespace sec::host::cli
