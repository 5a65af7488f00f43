// secsim compare: what would offload buy? A grid of points, each run in a process of its own.
#include <algorithm>
#include <cstdio>
#include <map>

#include <fmt/format.h>

#include "common/diag.h"
#include "common/units.h"
#include "host/cli/cli.h"
#include "host/cpu/cpu_info.h"
#include "host/measure/fork_run.h"
#include "host/measure/point.h"
#include "host/report/report.h"
#include "host/workloads/esp.h"
#include "hw/timing/costs.h"

namespace sec::host::cli {
namespace {
using nlohmann::json;

struct Options {
  CommonOptions common;
  std::string what = "all", sizes, suites, ciphers, sectors, csv, html, json_file;
  unsigned parallel = 2, in_flight = 64, associations = 4;
  uint64_t work_kib = 1500;
  bool no_measure = false;
};

struct Job {
  size_t section, row;
  const char* way;
  bool wall;
  std::function<json()> run;
};

std::vector<std::string> split(const std::string& t) {
  std::vector<std::string> v;
  size_t at = 0;
  while (at <= t.size()) {
    const size_t c = std::min(t.find(',', at), t.size());
    if (c > at) v.push_back(t.substr(at, c - at));
    at = c + 1;
  }
  return v;
}

/// Smallest size from which on the engine beats the profile's processor at every larger size of the grid too.
void add_crossovers(json& section) {
  std::map<std::string, std::vector<std::pair<size_t, bool>>> by;
  std::vector<std::string> order;
  for (const json& r : section["rows"]) {
    if (!r["size"].is_number() || r["label"] == "imix" || !r.contains("engine") || !r.contains("cpu_profile")) continue;
    const std::string s = r["suite"];
    if (!by.count(s)) order.push_back(s);
    by[s].push_back({r["size"], r["engine"].value("sim_mbit_s", 0.0) > r["cpu_profile"].value("sim_mbit_s", 0.0)});
  }
  for (const std::string& s : order) {
    auto v = by[s];
    std::sort(v.begin(), v.end());
    json size = nullptr;
    for (size_t i = v.size(); i-- > 0 && v[i].second;) size = v[i].first;
    section["crossovers"].push_back({{"suite", s}, {"size", size}});
  }
}

int compare(Options& o) {
  SessionOptions so = o.common.session();
  if (so.fidelity != Fidelity::Approx) throw SetupError("--fidelity functional: a comparison needs simulated time; use approx");
  if (!so.trace_path.empty()) throw SetupError("--trace: trace a single run (secsim esp, disk or crypt), not a whole grid");
  {
    hw::Timing t = hw::Timing::for_part(*so.part);  // a wrong knob is told before anything runs
    for (const std::string& s : so.set) t.set(s);
  }
  for (const auto* p : {&o.csv, &o.html, &o.json_file})  // told before minutes of work, and without touching what is there
    if (!p->empty()) check_writable(*p, p == &o.csv ? "--csv" : p == &o.html ? "--html" : "--json-file");
  const bool esp = o.what == "esp" || o.what == "all", disk = o.what == "disk" || o.what == "all", speed = o.what == "speed" || o.what == "all";
  json doc{{"tool", "secsim compare"}, {"version", "0.1.0"}, {"kind", o.what}, {"provenance", provenance(o.common)}, {"sections", json::array()}};
  std::vector<Job> jobs;
  PointOptions base;
  base.session = so;
  base.seed = o.common.seed;
  base.in_flight = o.in_flight;
  base.associations = o.associations;
  base.work_bytes = o.work_kib * 1024;
  const bool profile_is_free = so.cpu->free();
  auto add_jobs = [&](size_t section, size_t row, PointOptions p, json (*f)(const PointOptions&, Way)) {
    jobs.push_back({section, row, "engine", false, [=] { return f(p, Way::Engine); }});
    if (!profile_is_free) jobs.push_back({section, row, "cpu_profile", false, [=] { return f(p, Way::CpuProfile); }});
    if (o.no_measure) return;
    jobs.push_back({section, row, "cpu_single", true, [=] { return f(p, Way::CpuSingle); }});
    jobs.push_back({section, row, "cpu_multi", true, [=] { return f(p, Way::CpuMulti); }});
  };
  auto section = [&](const char* kind, const std::string& title) {
    doc["sections"].push_back({{"kind", kind}, {"title", title}, {"rows", json::array()}, {"crossovers", json::array()}, {"notes", json::array()}});
    return doc["sections"].size() - 1;
  };

  if (esp) {
    const size_t s = section("esp", fmt::format("IPsec ESP, tunnel mode, {} SAs, {} packets in flight", o.associations, o.in_flight));
    const auto sizes = parse_sizes(o.sizes.empty() ? "64,128,256,512,1024,1400,4096,9000" : o.sizes, "--sizes");
    const auto suites = o.suites.empty() ? std::vector<std::string>{"aes128-cbc-null", "aes128-cbc-sha1", "aes256-cbc-sha256", "aes128-gcm16", "3des-cbc-null", "3des-cbc-sha1"} : split(o.suites);
    for (const std::string& suite : suites) {
      esp_suite(suite, true);  // SetupError when there is none
      for (size_t i = 0; i <= sizes.size(); ++i) {
        const bool imix = i == sizes.size();
        PointOptions p = base;
        p.suite = suite;
        p.imix = imix;
        p.size_bytes = imix ? 354 : sizes[i];
        if (!imix && (sizes[i] < 28 || sizes[i] > 9000)) throw SetupError(fmt::format("--sizes: an ESP packet of {} bytes cannot be generated; use 28 to 9000", sizes[i]));
        json& rows = doc["sections"][s]["rows"];
        rows.push_back({{"suite", suite}, {"size", p.size_bytes}, {"label", imix ? "imix" : std::to_string(sizes[i])}});
        add_jobs(s, rows.size() - 1, p, run_esp_point);
      }
    }
    doc["sections"][s]["notes"].push_back("a suite with an HMAC is one ipsec_esp descriptor for each packet, and cipher and hash unit work on it together; suites with null authentication show the cipher alone; what the engine lacks (GCM on SEC 2.x) is composed, and the processor's part is charged");
  }
  if (disk) {
    const size_t s = section("disk", "Disk encryption: dd of 1 MiB requests at queue depth 1, one request per sector and one per bio");
    const auto ciphers = o.ciphers.empty() ? std::vector<std::string>{"aes-cbc-plain64", "aes-cbc-essiv:sha256", "aes-xts-plain64"} : split(o.ciphers);
    const auto sectors = parse_sizes(o.sectors.empty() ? "512,4096" : o.sectors, "--sectors");
    for (const std::string& cipher : ciphers)
      for (size_t sector : sectors)
        for (bool bio : {false, true}) {
          PointOptions p = base;
          p.cipher = cipher;
          p.key_bits = cipher.find("-xts") != std::string::npos ? 512 : 256;
          p.sector_bytes = static_cast<unsigned>(sector);
          p.per_bio = bio;
          p.work_bytes = std::max<uint64_t>(base.work_bytes, 2 << 20);
          json& rows = doc["sections"][s]["rows"];
          rows.push_back({{"suite", cipher}, {"size", sector}, {"label", std::to_string(sector)}, {"submission", bio ? "bio" : "sector"}, {"key_bits", p.key_bits}});
          add_jobs(s, rows.size() - 1, p, run_disk_point);
        }
    doc["sections"][s]["notes"].push_back("one volume is one transform, so the driver keeps it on one channel; the engine takes one IV per descriptor, so a bio still costs one descriptor per sector");
  }
  if (speed) {
    const size_t s = section("speed", fmt::format("Cipher requests alone: {} transforms, {} in flight", o.associations, o.in_flight));
    const auto sizes = parse_sizes(o.sizes.empty() ? "64,256,1024,4096,16384" : o.sizes, "--sizes");
    struct Alg {
      const char* name;
      unsigned bits;
    };
    for (const Alg a : {Alg{"cbc(aes)", 128}, Alg{"cbc(aes)", 256}, Alg{"ctr(aes)", 128}, Alg{"cbc(des3_ede)", 192}})
      for (size_t n : sizes) {
        PointOptions p = base;
        p.algorithm = a.name;
        p.key_bits = a.bits;
        p.size_bytes = std::max<size_t>(16, n / 16 * 16);
        json& rows = doc["sections"][s]["rows"];
        rows.push_back({{"suite", std::string(a.name) == "cbc(des3_ede)" ? a.name : fmt::format("{}-{}", a.name, a.bits)}, {"size", p.size_bytes}, {"label", std::to_string(p.size_bytes)}});
        add_jobs(s, rows.size() - 1, p, run_speed_point);
      }
  }

  Progress progress("compare");
  size_t finished = 0;
  auto run = [&](bool wall, unsigned parallel) {
    std::vector<const Job*> mine;
    std::vector<std::function<std::string()>> tasks;
    for (const Job& j : jobs)
      if (j.wall == wall) {
        mine.push_back(&j);
        tasks.push_back([&j] { return j.run().dump(); });
      }
    const auto results = run_in_children(tasks, parallel, 120, [&](size_t n) { progress.update(double(finished + n) / double(jobs.size())); });
    for (size_t i = 0; i < mine.size(); ++i) {
      json& row = doc["sections"][mine[i]->section]["rows"][mine[i]->row];
      if (!results[i].ok) throw std::runtime_error(fmt::format("{} {} ({}): {}", row["suite"].get<std::string>(), row["label"].get<std::string>(), mine[i]->way, results[i].error));
      row[mine[i]->way] = json::parse(results[i].output);
    }
    finished += mine.size();
  };
  run(true, 1);  // measurements have the machine for themselves
  run(false, std::clamp(o.parallel, 1u, 64u));
  if (!profile_is_free)
    for (json& s : doc["sections"])
      if (s["kind"] != "disk") add_crossovers(s);
  double letters[3] = {}, points = 0, wall = 0, sim = 0;
  for (const json& s : doc["sections"])
    for (const json& r : s["rows"]) {
      const json& c = r["engine"]["confidence"];
      letters[0] += c["H"].get<double>(), letters[1] += c["M"].get<double>(), letters[2] += c["L"].get<double>();
      wall += r["engine"]["wall_s"].get<double>(), sim += r["engine"]["sim_s"].get<double>();
      ++points;
    }
  if (points) {
    doc["provenance"]["sim_time_confidence"] = {{"H", letters[0] / points}, {"M", letters[1] / points}, {"L", letters[2] / points}};
    doc["provenance"]["wall_s_per_sim_ms"] = sim > 0 ? wall / (sim * 1e3) : 0;
  }
  if (!o.json_file.empty()) {
    const std::string t = doc.dump(2) + "\n";
    write_output(o.json_file, "--json-file", t.data(), t.size());
  }
  if (!o.csv.empty()) {
    const std::string t = render_csv(doc);
    write_output(o.csv, "--csv", t.data(), t.size());
  }
  if (!o.html.empty()) {
    const std::string t = render_html(doc);
    write_output(o.html, "--html", t.data(), t.size());
  }
  if (o.common.json) {
    fmt::print("{}\n", doc.dump(2));
  } else {
    fmt::print("{}", render_table(doc));
    if (points)
      fmt::print("\nOf the simulated time, {:.0f} % rests on constants of confidence H (measured, vendor), {:.0f} % M (inferred), {:.0f} % L (assumed); see secsim regs --knobs.\n",
                 letters[0] / points * 100, letters[1] / points * 100, letters[2] / points * 100);
  }
  return 0;
}
}  // namespace

json provenance(const CommonOptions& o) {
  const regs::Part& p = o.part();
  const CpuInfo cpu = cpu_info();
  json knobs = json::object();
  hw::Timing t = hw::Timing::for_part(p);
  for (const std::string& s : o.set) t.set(s);
  for (const hw::Knob& k : hw::knobs()) knobs[std::string(k.name)] = t.*k.member;
  return {{"engine", p.name}, {"chip", p.chip}, {"sec_version", p.sec_version}, {"fidelity", o.fidelity}, {"cpu_profile", o.cpu}, {"seed", o.seed},
          {"overrides", o.set}, {"knobs", knobs}, {"host_cpu", cpu.model}, {"host_features", cpu.features}, {"openssl", cpu.openssl}, {"ipsec_mb", cpu.ipsec_mb}};
}

void add_compare(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("compare", "What would offload buy? CPU and engine side by side, with the bottleneck and the crossover size");
  auto o = std::make_shared<Options>();
  o->common.cpu = "p2020";
  o->common.add(*sub);
  sub->add_option("what", o->what, "esp, disk, speed or all")->capture_default_str()->check(CLI::IsMember({"esp", "disk", "speed", "all"}));
  sub->add_option("--sizes", o->sizes, "packet or request sizes in bytes, e.g. 64,1400");
  sub->add_option("--suites", o->suites, "ESP suites, e.g. aes128-cbc-sha1,3des-cbc-sha1");
  sub->add_option("--ciphers", o->ciphers, "disk ciphers, e.g. aes-cbc-essiv:sha256");
  sub->add_option("--sectors", o->sectors, "disk sector sizes, e.g. 512,4096");
  sub->add_option("--in-flight", o->in_flight, "requests in flight")->capture_default_str()->check(CLI::Range(1, 4096));
  sub->add_option("--associations", o->associations, "SAs or transforms; each stays on one channel")->capture_default_str()->check(CLI::Range(1, 64));
  sub->add_option("--work", o->work_kib, "KiB that go through each simulated point")->capture_default_str()->check(CLI::Range(16, 1 << 20));
  sub->add_option("--parallel", o->parallel, "simulations at a time")->capture_default_str()->check(CLI::Range(1, 64));
  sub->add_flag("--no-measure", o->no_measure, "leave out the measurements on this machine");
  sub->add_option("--csv", o->csv, "write all figures as CSV");
  sub->add_option("--html", o->html, "write a self-contained page with plots");
  sub->add_option("--json-file", o->json_file, "write the JSON document to a file");
  sub->callback([&c, o] { c.run = [o] { return compare(*o); }; });
}

}  // namespace sec::host::cli
