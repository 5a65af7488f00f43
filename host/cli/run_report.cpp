#include "host/cli/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hw/timing/costs.h"

namespace sec::host::cli {
namespace {

/// Sorts; the smallest value that at least `share` of the values do not exceed.
uint64_t percentile(const std::vector<uint64_t>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

double rounded(double v) { return std::round(v * 1e6) / 1e6; }

}  // namespace

nlohmann::json settings_json(const CommonOptions& o) {
  return {{"engine", o.engine}, {"fidelity", o.fidelity}, {"cpu", o.cpu}, {"seed", o.seed}, {"set", o.set}};
}

nlohmann::json machine_json(Session& s, const Session::Mark& before, const Session::Mark& after) {
  nlohmann::json j;
  const uint64_t sim_ps = after.sim_ps - before.sim_ps;
  const bool timed = s.options().fidelity == Fidelity::Approx;
  if (timed) {
    j["sim_time_ns"] = sim_ps / 1000;
    j["host_busy_share"] = sim_ps ? rounded(static_cast<double>(after.cpu_busy_ps - before.cpu_busy_ps) / static_cast<double>(sim_ps)) : 0.0;
  } else {
    j["sim_time_ns"] = nullptr;
    j["host_busy_share"] = nullptr;
  }
  const hw::EngineCounters &b = before.engine, &a = after.engine;
  j["descriptors"] = a.descriptors - b.descriptors;
  j["descriptor_errors"] = a.errors - b.errors;
  j["engine_bytes_in"] = a.bytes_in - b.bytes_in;
  j["engine_bytes_out"] = a.bytes_out - b.bytes_out;
  nlohmann::json channels = nlohmann::json::array();
  for (unsigned c = 0; c < s.part().channels; ++c)
    channels.push_back({{"channel", c + 1},
                        {"descriptors", a.channel_descriptors[c] - b.channel_descriptors[c]},
                        {"bytes", a.channel_bytes[c] - b.channel_bytes[c]}});
  j["channels"] = std::move(channels);
  j["interrupts"] = after.device.interrupts - before.device.interrupts;
  j["confidence"] = nullptr;
  if (timed && a.descriptors + a.errors != b.descriptors + b.errors) {
    hw::EngineCounters d = a;
    d.reads -= b.reads, d.writes -= b.writes, d.bus_clocks -= b.bus_clocks, d.grants -= b.grants;
    d.read_latency_clocks -= b.read_latency_clocks, d.posted_write_clocks -= b.posted_write_clocks;
    for (size_t i = 0; i < d.unit_busy_clocks.size(); ++i) {
      d.unit_blocks[i] -= b.unit_blocks[i], d.unit_busy_clocks[i] -= b.unit_busy_clocks[i];
      d.unit_held_clocks[i] -= b.unit_held_clocks[i], d.unit_wait_clocks[i] -= b.unit_wait_clocks[i];
    }
    const hw::AssumedShare share = hw::assumed_share(d, s.timing());
    j["confidence"] = {{"H", rounded(share.high)}, {"M", rounded(share.medium)}, {"L", rounded(share.low)}};
  }
  j["wall_time_s"] = static_cast<double>(after.wall_ns - before.wall_ns) * 1e-9;
  return j;
}

uint64_t processor_ns(Session& s) { return (s.platform().sim_time_ps() + s.platform().cpu().pending_ps) / 1000; }

nlohmann::json latency_json(std::vector<uint64_t> ns) {
  if (ns.empty()) return nullptr;
  std::sort(ns.begin(), ns.end());
  return {{"count", ns.size()}, {"p50_ns", percentile(ns, 0.50)}, {"p99_ns", percentile(ns, 0.99)}, {"max_ns", ns.back()}};
}

double mbit_per_s(uint64_t bytes, uint64_t ns) { return ns ? rounded(static_cast<double>(bytes) * 8e3 / static_cast<double>(ns)) : 0; }
double mb_per_s(uint64_t bytes, uint64_t ns) { return ns ? rounded(static_cast<double>(bytes) * 1e3 / static_cast<double>(ns)) : 0; }

const crypto::AlgorithmInfo* find_implementation(const std::vector<crypto::AlgorithmInfo>& list, const std::string& name,
                                                 crypto::AlgorithmType type, bool without_allocation) {
  const crypto::AlgorithmInfo* best = nullptr;
  for (const crypto::AlgorithmInfo& a : list) {
    if (a.type != type || a.selftest == crypto::SelfTest::Failed) continue;
    if (a.driver == name) return &a;
    if (a.name == name && !a.internal && !(without_allocation && a.allocates_memory) && (!best || a.priority > best->priority)) best = &a;
  }
  return best;
}

bool is_software(const crypto::AlgorithmInfo& a) { return a.module == "openssl" || a.module == "ipsecmb"; }

void row(const char* name, const std::string& value) { fmt::print("{:<18} {}\n", name, value); }

void print_settings(const nlohmann::json& s) {
  std::string knobs;
  for (const auto& k : s["set"]) knobs += " " + k.get<std::string>();
  row("settings", fmt::format("engine {}, fidelity {}, cpu {}, seed {}{}", s["engine"].get<std::string>(), s["fidelity"].get<std::string>(),
                              s["cpu"].get<std::string>(), s["seed"].get<uint64_t>(), knobs.empty() ? "" : "," + knobs));
}

void print_machine(const nlohmann::json& m) {
  if (m["sim_time_ns"].is_null()) {
    row("simulated time", "none: the functional path has no time");
  } else {
    row("simulated time", fmt::format("{:.3f} us", m["sim_time_ns"].get<double>() / 1e3));
    row("host busy", fmt::format("{:.1f} %", m["host_busy_share"].get<double>() * 100));
    if (const auto& c = m["confidence"]; !c.is_null())
      row("confidence", fmt::format("{:.0f} % of the engine's clocks rest on vendor figures (H), {:.0f} % on single sources (M), {:.0f} % on assumptions (L)",
                                    c["H"].get<double>() * 100, c["M"].get<double>() * 100, c["L"].get<double>() * 100));
  }
  row("descriptors", fmt::format("{}, {} failed; {} interrupts", m["descriptors"].get<uint64_t>(), m["descriptor_errors"].get<uint64_t>(),
                                 m["interrupts"].get<uint64_t>()));
  std::string channels;
  for (const auto& c : m["channels"])
    channels += fmt::format("{}{}: {}", channels.empty() ? "" : ", ", c["channel"].get<unsigned>(), c["bytes"].get<uint64_t>());
  row("bytes per channel", channels);
  row("wall time", fmt::format("{:.3f} s on this machine", m["wall_time_s"].get<double>()));
}

std::string latency_text(const nlohmann::json& l) {
  if (l.is_null()) return "none: no simulated time";
  return fmt::format("p50 {:.3f} us, p99 {:.3f} us, max {:.3f} us", l["p50_ns"].get<double>() / 1e3, l["p99_ns"].get<double>() / 1e3,
                     l["max_ns"].get<double>() / 1e3);
}

}  // namespace sec::host::cli
