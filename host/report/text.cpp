#include <fmt/format.h>

#include "host/report/report.h"

namespace sec::host {
namespace {
using nlohmann::json;

double number(const json& j, const char* way, const char* key) {
  if (!j.contains(way) || !j[way].is_object() || !j[way].contains(key)) return -1;
  return j[way][key].get<double>();
}
std::string rate(double v) { return v < 0 ? "-" : v >= 1000 ? fmt::format("{:.0f}", v) : fmt::format("{:.1f}", v); }
std::string percent(double v) { return v < 0 ? "-" : fmt::format("{:.0f}", v * 100); }
std::string micro(double ns) { return ns < 0 ? "-" : fmt::format("{:.1f}", ns / 1000); }
std::string why(const json& row) {
  if (!row.contains("engine") || !row["engine"].contains("bottleneck")) return "-";
  return fmt::format("{} {:.0f} %", row["engine"]["bottleneck"].get<std::string>(), row["engine"]["bottleneck_share"].get<double>() * 100);
}

std::string packets(const json& s) {
  std::string o = fmt::format("{:<20} {:>6} | {:^24} | {:^40} | {:^29} | bottleneck\n", "", "", "measured here   profile", "engine offload (simulated)", "busy % of sim. time");
  o += fmt::format("{:<20} {:>6} | {:>8} {:>8} {:>6} | {:>9} {:>6} {:>8} {:>8} {:>5} | {:>4} {:>4} {:>4} {:>4} {:>4} {:>4} |\n", "suite", "bytes", "1 buffer", "multi-b.", "CPU", "Mbit/s", "host %", "p50 us", "p99 us",
                   "queue", "bus", "chan", "AESU", "DEU", "MDEU", "gain");
  std::string last;
  for (const json& r : s["rows"]) {
    const std::string suite = r["suite"];
    if (!last.empty() && suite != last) o += "\n";
    last = suite;
    const double engine = number(r, "engine", "sim_mbit_s"), profile = number(r, "cpu_profile", "sim_mbit_s");
    auto busy = [&](const char* k) { return r.contains("engine") && r["engine"].contains("busy") ? r["engine"]["busy"][k].get<double>() : -1; };
    o += fmt::format("{:<20} {:>6} | {:>8} {:>8} {:>6} | {:>9} {:>6} {:>8} {:>8} {:>5} | {:>4} {:>4} {:>4} {:>4} {:>4} {:>4} | {}\n", suite, r["label"].get<std::string>(), rate(number(r, "cpu_single", "wall_mbit_s")),
                     rate(number(r, "cpu_multi", "wall_mbit_s")), rate(profile), rate(engine), percent(number(r, "engine", "host_load")), micro(number(r, "engine", "sim_p50_ns")),
                     micro(number(r, "engine", "sim_p99_ns")), number(r, "engine", "mean_in_flight") < 0 ? "-" : fmt::format("{:.0f}", number(r, "engine", "mean_in_flight")), percent(busy("bus")),
                     percent(busy("channel")), percent(busy("aesu")), percent(busy("deu")), percent(busy("mdeu")), profile > 0 && engine > 0 ? fmt::format("{:.1f}", engine / profile) : "-", why(r));
  }
  return o;
}

std::string disk(const json& s) {
  std::string o = fmt::format("{:<26} {:>6} {:>7} | {:^23} | {:^15} | {:^40} | bottleneck\n", "", "", "", "measured here, write MB/s", "profile MB/s", "engine (simulated), MB/s");
  o += fmt::format("{:<26} {:>6} {:>7} | {:>11} {:>13} | {:>7} {:>7} | {:>7} {:>7} {:>6} {:>8} {:>8} |\n", "cipher", "sector", "request", "1 buffer", "multi-buffer", "write", "read", "write", "read", "host %", "p50 us", "p99 us");
  for (const json& r : s["rows"]) {
    auto mb = [&](const char* way, const char* phase, const char* key) {
      return r.contains(way) && r[way].contains(phase) ? rate(r[way][phase][key].get<double>()) : std::string("-");
    };
    auto lat = [&](const char* key) { return r.contains("engine") && r["engine"].contains("write") && r["engine"]["write"].contains(key) ? micro(r["engine"]["write"][key].get<double>()) : "-"; };
    o += fmt::format("{:<26} {:>6} {:>7} | {:>11} {:>13} | {:>7} {:>7} | {:>7} {:>7} {:>6} {:>8} {:>8} | {}\n", r["suite"].get<std::string>(), r["size"].get<int>(), r["submission"].get<std::string>(),
                     mb("cpu_single", "write", "wall_mb_s"), mb("cpu_multi", "write", "wall_mb_s"), mb("cpu_profile", "write", "sim_mb_s"), mb("cpu_profile", "read", "sim_mb_s"), mb("engine", "write", "sim_mb_s"),
                     mb("engine", "read", "sim_mb_s"), percent(number(r, "engine", "host_load")), lat("sim_p50_ns"), lat("sim_p99_ns"), why(r));
  }
  return o + "\n" + render_cryptsetup(s);
}

void flatten(const json& j, const std::string& prefix, std::vector<std::pair<std::string, std::string>>& out) {
  for (auto it = j.begin(); it != j.end(); ++it) {
    const std::string name = prefix.empty() ? it.key() : prefix + "." + it.key();
    if (it->is_object())
      flatten(*it, name, out);
    else if (!it->is_array())
      out.emplace_back(name, it->is_string() ? it->get<std::string>() : it->dump());
  }
}
std::string csv_cell(const std::string& s) {
  if (s.find_first_of(",\"\n") == std::string::npos) return s;
  std::string r = "\"";
  for (char c : s) r += c == '"' ? std::string("\"\"") : std::string(1, c);
  return r + "\"";
}
}  // namespace

std::string render_cryptsetup(const json& s) {
  constexpr double kMiB = 1e6 / 1048576;
  std::string o = "#     Algorithm |       Key |      Encryption |      Decryption   (engine, simulated, whole stack)\n";
  for (const json& r : s["rows"]) {
    if (!r.contains("engine") || !r["engine"].contains("write") || r["submission"] != "sector") continue;
    const std::string cipher = r["suite"], mode = cipher.substr(0, cipher.find('-', cipher.find('-') + 1));
    o += fmt::format("{:>15}  {:>8}b  {:>10.1f} MiB/s  {:>10.1f} MiB/s   {} sectors of {}\n", mode, r["key_bits"].get<int>(), r["engine"]["write"]["sim_mb_s"].get<double>() * kMiB,
                     r["engine"]["read"]["sim_mb_s"].get<double>() * kMiB, cipher, r["size"].get<int>());
  }
  return o;
}

std::string render_table(const json& d) {
  std::string o;
  const json& p = d["provenance"];
  o += fmt::format("secsim {}: {} (SEC {}), {}, cpu profile {}, seed {}\n", d["version"].get<std::string>(), p["engine"].get<std::string>(), p["sec_version"].get<std::string>(), p["fidelity"].get<std::string>(),
                   p["cpu_profile"].get<std::string>(), p["seed"].dump());
  o += fmt::format("measured on {} with {}, {}\n", p["host_cpu"].get<std::string>(), p["openssl"].get<std::string>(), p["ipsec_mb"].get<std::string>());
  for (const json& s : d["sections"]) {
    o += fmt::format("\n== {} ==\n", s["title"].get<std::string>());
    o += s["kind"] == "disk" ? disk(s) : packets(s);
    for (const json& c : s["crossovers"])
      o += c["size"].is_null() ? fmt::format("offload does not win on {} at any size of this grid\n", c["suite"].get<std::string>())
                               : fmt::format("offload wins on {} from {} bytes on\n", c["suite"].get<std::string>(), c["size"].get<int>());
    for (const json& n : s["notes"]) o += fmt::format("note: {}\n", n.get<std::string>());
  }
  return o;
}

std::string render_csv(const json& d) {
  std::vector<std::string> columns;
  std::vector<std::vector<std::pair<std::string, std::string>>> rows;
  for (const json& s : d["sections"])
    for (const json& r : s["rows"]) {
      std::vector<std::pair<std::string, std::string>> flat{{"section", s["kind"].get<std::string>()}};
      flatten(r, "", flat);
      flatten(d["provenance"], "provenance", flat);
      for (const auto& [k, v] : flat)
        if (std::find(columns.begin(), columns.end(), k) == columns.end()) columns.push_back(k);
      rows.push_back(std::move(flat));
    }
  std::string o;
  for (size_t i = 0; i < columns.size(); ++i) o += (i ? "," : "") + csv_cell(columns[i]);
  o += "\n";
  for (const auto& r : rows) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto it = std::find_if(r.begin(), r.end(), [&](const auto& c) { return c.first == columns[i]; });
      o += (i ? "," : "") + (it == r.end() ? std::string() : csv_cell(it->second));
    }
    o += "\n";
  }
  return o;
}

}  // namespace sec::host
