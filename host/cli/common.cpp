#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "common/diag.h"
#include "common/hex.h"
#include "common/units.h"
#include "host/cli/cli.h"
#include "host/cpu/ipsecmb.h"

namespace sec::host::cli {

void CommonOptions::add(CLI::App& app, bool with_json) {
  app.add_option("--engine", engine, "part, as `secsim regs --parts` lists them")->capture_default_str();
  app.add_option("--fidelity", fidelity, "functional (no time) or approx (simulated time)")->capture_default_str();
  app.add_option("--cpu", cpu, "processor profile: free, p2020, this-host or a TOML file")->capture_default_str();
  app.add_option("--seed", seed, "seed of everything random")->capture_default_str();
  app.add_option("--set", set, "knob=value, several times (see secsim regs --knobs)");
  app.add_option("--trace", trace, "write waveforms to FILE.fst or FILE.vcd (approx only)");
  app.add_option("--trace-window", trace_window, "only this part of simulated time, e.g. 10us:25us");
  if (with_json) app.add_flag("--json", json, "print the report as JSON");
}

const regs::Part& CommonOptions::part() const {
  if (const regs::Part* p = regs::find_part(engine)) return *p;
  std::string names;
  for (const regs::Part& p : regs::kParts) names += fmt::format("{}{}", names.empty() ? "" : ", ", p.name);
  throw SetupError(fmt::format("--engine {}: no such part; the parts are {}", engine, names));
}

SessionOptions CommonOptions::session() {
  SessionOptions o;
  o.part = &part();
  if (fidelity == "functional")
    o.fidelity = Fidelity::Functional;
  else if (fidelity == "approx")
    o.fidelity = Fidelity::Approx;
  else
    throw SetupError(fmt::format("--fidelity {}: use functional or approx", fidelity));
  profile_ = load_cpu_profile(cpu);
  o.cpu = &*profile_;
  o.set = set;
  o.trace_path = trace;
  o.trace_window = trace_window;
  if (trace.empty() && !trace_window.empty()) throw SetupError("--trace-window: there is no --trace to limit");
  return o;
}

std::vector<uint8_t> parse_hex(const std::string& text, const std::string& option) {
  std::string t = text.starts_with("0x") || text.starts_with("0X") ? text.substr(2) : text;
  if (t.size() % 2) throw SetupError(fmt::format("{}: {} hex digits are not whole bytes; give an even number", option, t.size()));
  std::vector<uint8_t> v;
  if (const auto bad = read_hex(t, v))
    throw SetupError(fmt::format("{}: '{}' is not hexadecimal; use digits 0-9 and a-f", option, t.substr(*bad / 2 * 2, 2)));
  return v;
}

std::string to_hex(const uint8_t* p, size_t n) {
  static const char d[] = "0123456789abcdef";
  std::string s(n * 2, '0');
  for (size_t i = 0; i < n; ++i) s[2 * i] = d[p[i] >> 4], s[2 * i + 1] = d[p[i] & 15];
  return s;
}

std::vector<size_t> parse_sizes(const std::string& text, const std::string& option) {
  std::vector<size_t> v;
  size_t at = 0;
  while (at <= text.size()) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, comma - at);
    char* end = nullptr;
    const unsigned long long n = std::strtoull(one.c_str(), &end, 10);
    if (one.empty() || *end || one[0] == '-' || n > (size_t{1} << 30))
      throw SetupError(fmt::format("{} {}: '{}' is not a size; write byte counts separated by commas, such as 16,48", option, text, one));
    v.push_back(n);
    at = comma + 1;
  }
  if (std::all_of(v.begin(), v.end(), [](size_t n) { return n == 0; })) throw SetupError(fmt::format("{}: at least one size must not be zero", option));
  return v;
}

std::vector<uint8_t> read_input(const std::string& path, const std::string& option) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream f(path, std::ios::binary);
  if (!f) throw SetupError(fmt::format("{} {}: the file cannot be read; check the path", option, path));
  std::vector<uint8_t> v{std::istreambuf_iterator<char>(f), {}};
  if (f.bad()) throw SetupError(fmt::format("{} {}: reading failed", option, path));
  return v;
}

void check_writable(const std::string& path, const std::string& option) {
  if (path == "-") return;
  std::error_code e;
  const bool folder = std::filesystem::is_directory(path, e);
  const std::string temp = path + ".secsim-tmp";
  const bool ok = !folder && std::ofstream(temp, std::ios::binary | std::ios::trunc).good();
  std::filesystem::remove(temp, e);
  if (!ok) throw SetupError(fmt::format("{} {}: the file cannot be written; check the folder and its permissions", option, path));
}

void write_output(const std::string& path, const std::string& option, const void* data, size_t n) {
  if (path == "-") {
    if (std::fwrite(data, 1, n, stdout) != n || std::fflush(stdout)) throw SetupError(option + " -: standard output cannot be written");
    return;
  }
  const std::string temp = path + ".secsim-tmp";
  {
    std::ofstream f(temp, std::ios::binary | std::ios::trunc);
    f.write(static_cast<const char*>(data), static_cast<std::streamsize>(n));
    f.close();
    if (!f) {
      std::error_code ignored;
      std::filesystem::remove(temp, ignored);
      throw SetupError(fmt::format("{} {}: the file cannot be written; check the folder and its permissions", option, path));
    }
  }
  std::error_code e;
  std::filesystem::rename(temp, path, e);
  if (e) {
    std::filesystem::remove(temp, e);
    throw SetupError(fmt::format("{} {}: the file cannot be replaced", option, path));
  }
}

Progress::Progress(std::string what) : what_(std::move(what)), started_ns_(WallTime::now().ns()), terminal_(isatty(2)) {}
Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}
void Progress::update(double f) {
  const uint64_t now = WallTime::now().ns();
  if (!terminal_ || now - started_ns_ < 1'000'000'000 || now - shown_ns_ < 100'000'000) return;
  shown_ns_ = now;
  drawn_ = true;
  const int filled = static_cast<int>(std::clamp(f, 0.0, 1.0) * 30);
  fmt::print(stderr, "\r{} [{}{}] {:3.0f} %", what_, std::string(static_cast<size_t>(filled), '#'), std::string(static_cast<size_t>(30 - filled), '.'), f * 100);
  std::fflush(stderr);
}

}  // namespace sec::host::cli
