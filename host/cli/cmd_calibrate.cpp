// secsim calibrate: measures this machine and writes the profile "this-host".
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "common/diag.h"
#include "host/cli/cli.h"
#include "host/measure/calibrate.h"

namespace sec::host::cli {

void add_calibrate(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("calibrate", "Measures the driver code and the CPU crypto on this machine and writes the profile this-host");
  struct Options {
    std::string out;
    bool quick = false, json = false;
  };
  auto o = std::make_shared<Options>();
  sub->add_option("--out", o->out, "profile file to write; default: where --cpu this-host looks, " + this_host_profile_path());
  sub->add_flag("--quick", o->quick, "fewer repeats");
  sub->add_flag("--json", o->json, "print the figures as JSON");
  sub->callback([&c, o] {
    c.run = [o] {
      const std::string path = o->out.empty() ? this_host_profile_path() : o->out;
      const auto folder = std::filesystem::path(path).parent_path();
      if (o->out.empty()) {
        std::error_code e;
        std::filesystem::create_directories(folder, e);
        if (e) throw SetupError(fmt::format("{}: the folder cannot be made; name another file with --out", folder.string()));
      }
      Progress progress("calibrate");
      const CpuProfile p = calibrate({.quick = o->quick, .progress = [&](double f) { progress.update(f); }});
      const std::string text = to_toml(p);
      write_output(path, "--out", text.data(), text.size());
      if (o->json) {
        nlohmann::json j{{"name", p.name}, {"description", p.description}, {"file", path}, {"clock_hz", p.clock_hz}};
        for (size_t i = 0; i < driver::kCostCount; ++i)
          j["cost"][std::string(driver::kCostNames[i])] = {{"ns", p.cost[i].ns}, {"confidence", std::string(1, p.cost[i].confidence)}, {"source", p.cost[i].source}};
        for (const auto& [name, f] : p.crypto)
          j["crypto"][name] = {{"fixed_ns", f.fixed_ns}, {"ns_per_byte", f.ns_per_byte}, {"batch_fixed_ns", f.batch_fixed_ns}, {"batch_ns_per_byte", f.batch_ns_per_byte}, {"source", f.source}};
        fmt::print("{}\n", j.dump(2));
        return 0;
      }
      fmt::print("{}\n", p.description);
      for (size_t i = 0; i < driver::kCostCount; ++i) fmt::print("{:<18} {:>10.3f} ns  {}  {}\n", driver::kCostNames[i], p.cost[i].ns, p.cost[i].confidence, p.cost[i].source);
      fmt::print("\n{:<18} {:>22} {:>26}\n", "", "one request", "batch of 32");
      for (const auto& [name, f] : p.crypto)
        fmt::print("{:<18} {:>8.0f} ns + {:>7.3f} /B  {:>10.0f} ns + {:>7.3f} /B\n", name, f.fixed_ns, f.ns_per_byte, f.batch_fixed_ns, f.batch_ns_per_byte);
      fmt::print("\nwritten to {}; use it with --cpu this-host\n", path);
      return 0;
    };
  });
}

}  // namespace sec::host::cli
