// The command line. One file per command; each adds its subcommand to the app and sets a callback that returns the exit code:
// 0 done, 1 the operation failed (status on stderr), 2 bad input (one sentence on stderr, nothing written).
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/configs/cpu_profile.h"
#include "host/session/session.h"

namespace sec::host::cli {

/// Set by the chosen subcommand's callback, run by main after parsing.
struct Context {
  std::function<int()> run;
};

/// Options that every simulating command has.
struct CommonOptions {
  std::string engine = "p2020", fidelity = "approx", cpu = "free", trace, trace_window;
  std::vector<std::string> set;
  uint64_t seed = 1;
  bool json = false;

  /// Adds them to a command; `json`: the command has a JSON report.
  void add(CLI::App& app, bool with_json = true);
  const regs::Part& part() const;
  /// Loads the profile (kept here) and makes the session's options.
  SessionOptions session();

 private:
  std::optional<CpuProfile> profile_;
};

void add_algs(CLI::App& app, Context& c);
void add_crypt(CLI::App& app, Context& c);
void add_esp(CLI::App& app, Context& c);
void add_disk(CLI::App& app, Context& c);
void add_compare(CLI::App& app, Context& c);
void add_gso(CLI::App& app, Context& c);
void add_calibrate(CLI::App& app, Context& c);
void add_regs(CLI::App& app, Context& c);
void add_decode(CLI::App& app, Context& c);
void add_hash(CLI::App& app, Context& c);
void add_rng(CLI::App& app, Context& c);
void add_poke(CLI::App& app, Context& c);

/// "00ff.." to bytes; SetupError naming `option`.
std::vector<uint8_t> parse_hex(const std::string& text, const std::string& option);
std::string to_hex(const uint8_t* p, size_t n);
/// "16,48,100" to sizes; SetupError naming `option`.
std::vector<size_t> parse_sizes(const std::string& text, const std::string& option);
/// The whole of a file, "-" is standard input. SetupError when it cannot be read.
std::vector<uint8_t> read_input(const std::string& path, const std::string& option);
/// SetupError when write_output() could not write there; leaves whatever is at `path` as it is.
void check_writable(const std::string& path, const std::string& option);
/// Writes through a temporary beside the target; "-" is standard output.
void write_output(const std::string& path, const std::string& option, const void* data, size_t n);

/// One line of progress on a terminal for work over a second; silent elsewhere.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  void update(double fraction);

 private:
  std::string what_;
  uint64_t started_ns_, shown_ns_ = 0;
  bool terminal_, drawn_ = false;
};

/// Version, libraries, CPU features, part, fidelity, seed, knobs: what every report carries.
nlohmann::json provenance(const CommonOptions& o);

}  // namespace sec::host::cli
