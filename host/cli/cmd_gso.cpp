// secsim gso: why one ESP stream is slow once segmentation offload is lost, and what the engine changes.
#include <cstdio>

#include <fmt/format.h>

#include "common/diag.h"
#include "host/cli/cli.h"
#include "host/measure/fork_run.h"
#include "host/measure/gso.h"

namespace sec::host::cli {
namespace {
using nlohmann::json;

struct Options {
  CommonOptions common;
  std::vector<std::string> cost;
  std::string mtus = "1500,9000";
  unsigned associations = 4, in_flight = 64;
  uint64_t packets = 2000;
  bool knobs = false, no_engine = false;
};

GsoCosts costs(const Options& o) {
  GsoCosts c;
  for (const std::string& a : o.cost) {
    const size_t eq = a.find('=');
    const auto knobs = gso_knobs();
    const auto k = std::find_if(knobs.begin(), knobs.end(), [&](const GsoKnob& x) { return x.name == a.substr(0, eq); });
    if (eq == std::string::npos || k == knobs.end()) {
      std::string names;
      for (const GsoKnob& x : knobs) names += (names.empty() ? "" : ", ") + std::string(x.name);
      throw SetupError(fmt::format("--cost {}: write it as name=value; the names are {}", a, names));
    }
    char* end = nullptr;
    const double v = std::strtod(a.c_str() + eq + 1, &end);
    const bool positive = k->member == &GsoCosts::line_bit_s || k->member == &GsoCosts::super_packet_bytes;
    if (eq + 1 == a.size() || *end || !(v >= 0) || (positive && v < 1) || v > 1e13) throw SetupError(fmt::format("--cost {}: the value must be a number from {} to 1e13", a, positive ? 1 : 0));
    c.*k->member = v;
  }
  return c;
}

int run(Options& o) {
  const GsoCosts c = costs(o);
  if (o.knobs) {
    for (const GsoKnob& k : gso_knobs()) fmt::print("{:<20} {:>14g}  {}\n", k.name, c.*k.member, k.source);
    return 0;
  }
  SessionOptions so = o.common.session();
  if (so.fidelity != Fidelity::Approx) throw SetupError("--fidelity functional: the engine's rows need simulated time; use approx, or --no-engine");
  if (!so.trace_path.empty()) throw SetupError("--trace: trace a single run (secsim esp), not a table");
  const auto mtus = parse_sizes(o.mtus, "--mtu");
  for (size_t m : mtus)
    if (m < 576 || m > 9000) throw SetupError(fmt::format("--mtu {}: use 576 to 9000", m));
  json doc{{"tool", "secsim gso"}, {"version", "0.1.0"}, {"provenance", provenance(o.common)}, {"rows", json::array()}, {"engine_rows", json::array()}};
  for (const GsoKnob& k : gso_knobs()) doc["costs"][std::string(k.name)] = {{"value", c.*k.member}, {"source", k.source}};
  for (size_t m : mtus)
    for (const GsoRow& r : gso_rows(c, static_cast<unsigned>(m)))
      doc["rows"].push_back({{"suite", r.suite}, {"mtu", r.mtu}, {"payload", r.payload}, {"offload", r.offload}, {"model_ns", r.ns}, {"model_gbit_s", r.gbit_s},
                             {"model_cap_gbit_s", r.cap_gbit_s}, {"limit", r.limit}, {"reported_gbit_s", r.reported}});
  if (!o.no_engine) {
    std::vector<std::function<std::string()>> jobs;
    for (size_t m : mtus)
      for (const bool gcm : {false, true})
        for (const bool deferred : {false, true})
          jobs.push_back([&, m, gcm, deferred] {
            return run_gso_engine(c, {.session = so, .mtu = static_cast<unsigned>(m), .deferred = deferred, .gcm = gcm, .associations = o.associations, .in_flight = o.in_flight, .packets = o.packets}).dump();
          });
    Progress progress("gso");
    const auto results = run_in_children(jobs, 2, 120, [&](size_t n) { progress.update(double(n) / double(jobs.size())); });
    for (const auto& r : results) {
      if (!r.ok) throw SetupError(r.error);
      doc["engine_rows"].push_back(json::parse(r.output));
    }
  }
  if (o.common.json) {
    fmt::print("{}\n", doc.dump(2));
    return 0;
  }
  fmt::print("One TCP stream, one sender processor; the constants were solved from a mailing-list report (secsim gso --knobs)\n\n");
  fmt::print("{:<14} {:>5} {:>8} {:<9} | {:>9} {:>8} {:>9} | {:>8}  {}\n", "suite", "MTU", "payload", "offload", "model us", "Gbit/s", "reported", "cap", "largest stage");
  for (const json& r : doc["rows"])
    fmt::print("{:<14} {:>5} {:>8} {:<9} | {:>9.3f} {:>8.2f} {:>9} | {:>8.2f}  {}\n", r["suite"].get<std::string>(), r["mtu"].get<int>(), r["payload"].get<int>(),
               !r["offload"].get<bool>() ? "lost" : r["suite"] == "clear" ? "on" : "deferred", r["model_ns"].get<double>() / 1000, r["model_gbit_s"].get<double>(),
               r["reported_gbit_s"].get<std::string>().empty() ? "-" : r["reported_gbit_s"].get<std::string>(), r["model_cap_gbit_s"].get<double>(), r["limit"].get<std::string>());
  fmt::print("cap: what remains with a stack, a wire stage and a cipher that cost nothing, since copy and xfrm output stay\n");
  if (!o.no_engine) {
    fmt::print("\nThe same sender on {} (simulated, {} SAs, {} packets in flight, driver costs of --cpu {})\n", o.common.engine, o.associations, o.in_flight, o.common.cpu);
    fmt::print("{:<16} {:>5} {:>8} {:<9} | {:>8} {:>8} {:>6} {:>9} {:>9} | {}\n", "suite", "MTU", "payload", "offload", "us", "Gbit/s", "host %", "p50 us", "p99 us", "bottleneck");
    for (const json& r : doc["engine_rows"])
      fmt::print("{:<16} {:>5} {:>8} {:<9} | {:>8.3f} {:>8.2f} {:>6.0f} {:>9.1f} {:>9.1f} | {} {:.0f} %{}\n", r["suite"].get<std::string>(), r["mtu"].get<int>(), r["payload"].get<int>(),
                 r["deferred"].get<bool>() ? "deferred" : "lost", r["sim_ns_per_packet"].get<double>() / 1000, r["sim_gbit_s"].get<double>(), r["host_load"].get<double>() * 100,
                 r["sim_p50_ns"].get<double>() / 1000, r["sim_p99_ns"].get<double>() / 1000, r["bottleneck"].get<std::string>(), r["bottleneck_share"].get<double>() * 100,
                 r["composed"].get<std::string>().empty() ? "" : ", " + r["composed"].get<std::string>());
  }
  return 0;
}

}  // namespace

void add_gso(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("gso", "Why one ESP stream is slow once segmentation offload is lost, and what the engine changes");
  auto o = std::make_shared<Options>();
  o->common.add(*sub);
  sub->add_option("--mtu", o->mtus, "sizes of IP packets")->capture_default_str();
  sub->add_option("--cost", o->cost, "name=value: another cost of the sender (see --knobs)");
  sub->add_flag("--knobs", o->knobs, "list the sender's costs with their sources");
  sub->add_flag("--no-engine", o->no_engine, "the table alone");
  sub->add_option("--associations", o->associations, "SAs of the engine's rows")->capture_default_str()->check(CLI::Range(1, 64));
  sub->add_option("--in-flight", o->in_flight, "packets in flight of the engine's rows")->capture_default_str()->check(CLI::Range(1, 4096));
  sub->add_option("--packets", o->packets, "packets of each of the engine's rows")->capture_default_str()->check(CLI::Range(100, 1000000));
  sub->callback([&c, o] { c.run = [o] { return run(*o); }; });
}

}  // namespace sec::host::cli
