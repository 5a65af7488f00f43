// secsim-bench: the speed bars, each as a ratio inside one run (A B A B, medians), one record per bar.
// The machine's speed changes by a factor of two for seconds at a time, so no absolute figure means much alone.
#include <openssl/evp.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "common/diag.h"
#include "common/units.h"
#include "driver/talitos/talitos.h"
#include "host/cpu/ipsecmb.h"
#include "host/cpu/openssl.h"
#include "host/measure/bare.h"
#include "host/measure/fork_run.h"
#include "host/measure/saturate.h"
#include "host/measure/statistics.h"
#include "host/measure/thread_time.h"
#include "host/platforms/functional.h"
#include "host/platforms/tlm.h"

extern "C" int sc_main(int, char**);

namespace sec::host {
namespace {
using nlohmann::json;

constexpr const char* kEspDriver = "authenc-hmac-sha1-cbc-aes-talitos";

json record(const std::string& name, double value, const std::string& unit, double goal, const std::string& note = "") {
  json r{{"name", name}, {"value", value}, {"unit", unit}, {"goal", goal}, {"met", value >= goal}};
  if (!note.empty()) r["note"] = note;
  return r;
}

/// Seconds of one saturated functional run (one thread, so processor time).
double functional_run(const std::string& driver, size_t size, uint64_t requests, unsigned depth) {
  FunctionalPlatform platform(regs::default_part());
  crypto::Registry registry;
  driver::Device device(platform);
  SEC_CHECK(device.probe(device_properties(regs::default_part())) == Status::Ok, "probe");
  SEC_CHECK(device.register_algorithms(registry) == Status::Ok, "algorithms");
  platform.hold_interrupts(true);
  double seconds;
  {
    Load load({.algorithm = driver, .size_bytes = size, .depth = depth, .requests = requests}, registry, &platform.dma());
    const double t0 = thread_seconds();
    load.start();
    while (!load.done())
      if (!platform.pump()) break;
    seconds = thread_seconds() - t0;
    SEC_CHECK(load.finished() == requests && load.failed() == 0, "functional load");
  }
  device.unregister();
  return seconds;
}

/// Against EVP_CipherUpdate, the plain call (the bar), and against the quickest calls there are (for the record).
json functional_ratio(const std::string& driver, const char* evp, size_t size, double goal) {
  const uint64_t n = std::max<uint64_t>(2000, (48u << 20) / size);
  std::vector<double> plain, quickest;
  functional_run(driver, size, n / 8, 8);
  for (int k = 0; k < 9; ++k) {
    const double bare = bare_evp_seconds(evp, size, n, 8, true);
    const double ours = functional_run(driver, size, n, 8);
    plain.push_back(bare / ours);
    quickest.push_back(bare_evp_seconds(evp, size, n, 8) / ours);
  }
  return record(fmt::format("functional/{}/{}B/vs_evp", driver, size), median(plain), "ratio", goal,
                fmt::format("{:.3f} of EVP_Cipher, the quickest call", median(quickest)));
}

/// AES-128-CBC and HMAC-SHA1 in one ipsec_esp descriptor, against OpenSSL doing the two operations.
json functional_aead_ratio(size_t size, double goal) {
  const uint64_t n = std::max<uint64_t>(2000, (24u << 20) / size);
  std::vector<double> plain;
  functional_run(kEspDriver, size, n / 8, 8);
  for (int k = 0; k < 9; ++k) {
    const double bare = bare_cbc_hmac_seconds(size, n, 8);
    plain.push_back(bare / functional_run(kEspDriver, size, n, 8));
  }
  return record(fmt::format("functional/ipsec_esp-cbc-aes-sha1/{}B/vs_evp", size), median(plain), "ratio", goal, "EVP_CipherUpdate, then EVP_MAC");
}

/// A hash descriptor against SHA-256 by the plain call.
json functional_hash_ratio(size_t size, double goal) {
  const uint64_t n = std::max<uint64_t>(2000, (24u << 20) / size);
  std::vector<double> plain;
  functional_run("sha256-talitos", size, n / 8, 8);
  for (int k = 0; k < 9; ++k) {
    const double bare = bare_sha256_seconds(size, n, 8);
    plain.push_back(bare / functional_run("sha256-talitos", size, n, 8));
  }
  return record(fmt::format("functional/sha256/{}B/vs_evp", size), median(plain), "ratio", goal, "EVP_Digest");
}

json functional_rate() {
  std::vector<double> rates;
  for (int k = 0; k < 7; ++k) rates.push_back(300000 / functional_run("cbc-aes-talitos", 64, 300000, 8));
  return record("functional/cbc-aes-talitos/64B/rate", median(rates) / 1e6, "10^6 descriptors/s", 1.0);
}

/// One saturated cycle-approximate run; in a child process.
std::string approx_run(const std::string& driver, size_t size, unsigned channels, uint64_t requests) {
  const regs::Part& part = regs::default_part();
  TlmPlatform platform(part, hw::Timing::for_part(part));
  crypto::Registry registry;
  registry.set_selftest_enabled(false);
  driver::Device device(platform);
  json out;
  platform.run([&] {
    SEC_CHECK(device.probe(device_properties(part)) == Status::Ok, "probe");
    SEC_CHECK(device.register_algorithms(registry) == Status::Ok, "algorithms");
    {
      Load load({.algorithm = driver, .size_bytes = size, .transforms = channels, .depth = 20, .requests = requests}, registry,
                &platform.dma());
      const uint64_t events0 = platform.kernel_events(), sim0 = platform.sim_time_ps();
      const WallTime t0 = WallTime::now();
      load.start();
      const bool ok = platform.wait_until([](void* l) { return static_cast<Load*>(l)->done(); }, &load);
      const double wall = (WallTime::now() - t0).seconds();
      SEC_CHECK(ok && load.failed() == 0, "approx load");
      const double sim = static_cast<double>(platform.sim_time_ps() - sim0) * 1e-12;
      out = {{"sim_per_wall", sim / wall},
             {"events", double(platform.kernel_events() - events0) / double(requests)},
             {"ns_per_descriptor", wall * 1e9 / double(requests)},
             {"clocks", sim * part.sec_clock_hz / double(requests)}};
    }
    device.unregister();
  });
  return out.dump();
}

std::vector<json> approx_bars(bool quick) {
  struct Case {
    const char* driver;
    const char* name;
    std::vector<size_t> sizes;
  };
  const Case cases[] = {{"cbc-aes-talitos", "cbc-aes", {64, 256, 1400, 4096, 9000}},
                        {kEspDriver, "ipsec_esp-cbc-aes-sha1", {64, 1400, 9000}},
                        {"sha256-talitos", "sha256", {64, 1400, 9000}}};
  std::vector<json> bars;
  for (const Case& c : cases)
  for (size_t size : c.sizes) {
    for (unsigned channels : {1u, 4u}) {
      const size_t bytes = size / 16 * 16;
      const uint64_t n = std::clamp<uint64_t>(40'000'000 / bytes, 8000, 100000) / (quick ? 4 : 1);
      std::vector<std::function<std::string()>> jobs(quick ? 3 : 7, [=, driver = std::string(c.driver)] { return approx_run(driver, bytes, channels, n); });
      std::vector<double> ratio, events, ns;
      double clocks = 0;
      for (const auto& r : run_in_children(jobs, 1, 120)) {
        if (!r.ok) throw std::runtime_error(r.error);
        const json j = json::parse(r.output);
        ratio.push_back(j["sim_per_wall"]);
        events.push_back(j["events"]);
        ns.push_back(j["ns_per_descriptor"]);
        clocks = j["clocks"];
      }
      bars.push_back(record(fmt::format("approx/{}/{}B/{}ch/sim_per_wall", c.name, bytes, channels), median(ratio), "simulated s / wall s", 1.0,
                            fmt::format("best {:.2f}, {:.0f} ns wall and {:.0f} SEC clocks a descriptor", *std::max_element(ratio.begin(), ratio.end()),
                                        median(ns), clocks)));
      json e{{"name", fmt::format("approx/{}/{}B/{}ch/kernel_events", c.name, bytes, channels)}, {"value", median(events)},
             {"unit", "kernel activations / descriptor"}, {"goal", 4.0}, {"met", median(events) <= 4.0}};
      bars.push_back(e);
    }
  }
  return bars;
}

double registry_run(const std::string& driver, size_t size, uint64_t requests, unsigned depth, const crypto::Registry& registry) {
  Load load({.algorithm = driver, .size_bytes = size, .depth = depth, .requests = requests}, registry, nullptr);
  const double t0 = thread_seconds();
  load.start();
  while (!load.done()) load.flush();
  const double s = thread_seconds() - t0;
  SEC_CHECK(load.failed() == 0, "cpu load");
  return s;
}

std::vector<json> cpu_bars() {
  crypto::Registry registry;
  register_openssl(registry);
  register_ipsecmb(registry);
  std::vector<json> bars;
  for (size_t size : {256, 1408, 4096}) {
    const uint64_t n = (64u << 20) / size;
    std::vector<double> evp, mb, served;
    for (int k = 0; k < 9; ++k) {
      // A synchronous implementation gets its next request from the same buffer: one on both sides.
      evp.push_back(bare_evp_seconds("AES-128-CBC", size, n / 4, 1) / registry_run("cbc-aes-openssl", size, n / 4, 1, registry));
      const double ours = registry_run("cbc-aes-ipsecmb", size, n, 32, registry);
      mb.push_back(bare_ipsecmb_seconds(size, n, 32, false) / ours);
      served.push_back(bare_ipsecmb_seconds(size, n, 32, true) / ours);
    }
    bars.push_back(record(fmt::format("cpu/cbc-aes-openssl/{}B/vs_evp", size), median(evp), "ratio", 0.95));
    bars.push_back(record(fmt::format("cpu/cbc-aes-ipsecmb/{}B/vs_burst", size), median(mb), "ratio", 0.95));
    bars.push_back(record(fmt::format("cpu/cbc-aes-ipsecmb/{}B/vs_served_burst", size), median(served), "ratio", 0.95,
                          "the burst with output IVs and a completion call per packet"));
  }
  return bars;
}

int bench_main(int argc, char** argv) {
  CLI::App app{"Speed bars of secsim, each a ratio inside one run"};
  std::string json_path, only;
  bool quick = false;
  app.add_option("--json", json_path, "write the records to this file");
  app.add_option("--only", only, "functional, approx or cpu")->check(CLI::IsMember({"functional", "approx", "cpu"}));
  app.add_flag("--quick", quick, "fewer repeats");
  size_t profile_bytes = 0;
  app.add_option("--profile", profile_bytes, "one saturated run of this size on four channels, for a profiler");
  std::string profile_driver = "cbc-aes-talitos";
  app.add_option("--profile-driver", profile_driver, "its driver")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (profile_bytes && only == "functional") {
    fmt::print("{}\n", functional_run(profile_driver, profile_bytes, 3'000'000, 8));
    return 0;
  }
  if (profile_bytes) {
    fmt::print("{}\n", approx_run(profile_driver, profile_bytes, 4, 2'000'000'000 / (profile_bytes * 2 + 2000)));
    return 0;
  }
  std::vector<json> bars;
  auto add = [&](const json& j) {
    fmt::print("{:<52} {:>8.3f} {:<32} goal {:<5} {}{}\n", j["name"].get<std::string>(), j["value"].get<double>(), j["unit"].get<std::string>(),
               j["goal"].get<double>(), j["met"].get<bool>() ? "met" : "NOT MET", j.contains("note") ? "  (" + j["note"].get<std::string>() + ")" : "");
    std::fflush(stdout);
    bars.push_back(j);
  };
  if (only.empty() || only == "approx")
    for (const json& j : approx_bars(quick)) add(j);
  if (only.empty() || only == "functional") {
    add(functional_ratio("cbc-aes-talitos", "AES-128-CBC", 4096, 0.8));
    add(functional_ratio("ctr-aes-talitos", "AES-128-CTR", 4096, 0.8));
    add(functional_aead_ratio(1392, 0.6));
    add(functional_hash_ratio(4096, 0.6));
    add(functional_rate());
  }
  if (only.empty() || only == "cpu")
    for (const json& j : cpu_bars()) add(j);
  if (!json_path.empty()) {
    std::ofstream f(json_path);
    f << json{{"tool", "secsim-bench"}, {"bars", bars}}.dump(2) << "\n";
    if (!f) {
      fmt::print(stderr, "--json {}: cannot be written\n", json_path);
      return 2;
    }
  }
  return 0;
}

}  // namespace
}  // namespace sec::host

int sc_main(int, char**) { return 0; }
int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sec::host::bench_main(argc, argv);
}
