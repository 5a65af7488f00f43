#include "host/configs/cpu_profile.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "common/diag.h"

namespace sec::host {
namespace {
using driver::Cost;

/// e500v2 of a P2020 at 1.2 GHz. Figures in core cycles come from the vendor's user-space driver measured on a P2020 [USP]; the
/// software cipher rates from cryptsetup on a P2020 router [OpenWrt]. What nobody published is assumed, and says so.
CpuProfile p2020() {
  CpuProfile p;
  p.name = "p2020";
  p.description = "Freescale P2020, one e500v2 core at 1.2 GHz";
  p.clock_hz = 1.2e9;
  const double cycle = 1e9 / p.clock_hz;
  p[Cost::ApiCall] = {150 * cycle, 'L', "ASSUMED: 150 cycles of crypto API per request"};
  p[Cost::SubmitRequest] = {231 * cycle, 'H', "USP: enqueue of one job, median 231 core cycles, warm context"};
  p[Cost::MapSegment] = {60 * cycle, 'L', "ASSUMED: 60 cycles; DMA is coherent on this part, so no cache work"};
  p[Cost::LinkTableEntry] = {10 * cycle, 'L', "ASSUMED: 10 cycles"};
  p[Cost::MmioRead] = {120 * cycle, 'L', "ASSUMED: 100 ns round trip to a CCSR register"};
  p[Cost::MmioWrite] = {12 * cycle, 'L', "ASSUMED: posted, 12 cycles; the doorbell is inside the enqueue figure"};
  p[Cost::Interrupt] = {1500 * cycle, 'L', "ASSUMED: 1500 cycles from the line to the handler and back"};
  p[Cost::DoneTask] = {400 * cycle, 'L', "ASSUMED: 400 cycles to schedule and enter a tasklet"};
  p[Cost::Completion] = {130 * cycle, 'H', "USP: poll, 130 core cycles per packet delivered, callback included"};
  p[Cost::CopyByte] = {1.364 * cycle, 'H', "USP: NULL cipher by memcpy, 1364 core cycles per 1000 bytes, enqueue included"};
  p[Cost::PacketWork] = {4000 * cycle, 'L', "ASSUMED: 4000 cycles of IP and xfrm per packet"};
  p[Cost::SectorWork] = {1200 * cycle, 'L', "ASSUMED: 1200 cycles of block layer and dm-crypt per request"};
  auto rate = [](double mib_per_s) { return 1e9 / (mib_per_s * 1048576); };
  const char* openwrt = "cryptsetup benchmark on a P2020 (Turris 1.x), published with an OpenWrt change";
  auto one = [&](const char* name, double fixed, double per_byte, char conf, std::string src) {
    p.crypto[name] = {fixed, per_byte, fixed, per_byte, conf, std::move(src)};
  };
  one("cbc(aes)-128", 1000, rate(34.5), 'M', std::string(openwrt) + ", 34.5 MiB/s; 1 us fixed ASSUMED");
  one("cbc(aes)-192", 1000, rate(31.3), 'L', "ASSUMED between the 128 and 256-bit figures");
  one("cbc(aes)-256", 1000, rate(28.6), 'M', std::string(openwrt) + ", 28.6 MiB/s; 1 us fixed ASSUMED");
  for (const char* mode : {"ecb(aes)", "ctr(aes)"}) {
    one((std::string(mode) + "-128").c_str(), 1000, rate(36.5), 'L', "ASSUMED near CBC");
    one((std::string(mode) + "-192").c_str(), 1000, rate(33), 'L', "ASSUMED near CBC");
    one((std::string(mode) + "-256").c_str(), 1000, rate(30), 'L', "ASSUMED near CBC");
  }
  one("xts(aes)-256", 2000, rate(33), 'L', "ASSUMED near CBC with a 128-bit key");
  one("xts(aes)-512", 2000, rate(27.5), 'L', "ASSUMED near CBC with a 256-bit key");
  for (const char* mode : {"ecb", "cbc"}) {
    one(fmt::format("{}(des)", mode).c_str(), 1000, 32 * cycle, 'L', "ASSUMED: 32 cycles a byte");
    one(fmt::format("{}(des3_ede)", mode).c_str(), 1000, 92 * cycle, 'L', "ASSUMED: 92 cycles a byte");
  }
  one("md5", 500, 8 * cycle, 'L', "ASSUMED: 8 cycles a byte");
  one("sha1", 700, 13 * cycle, 'L', "ASSUMED: 13 cycles a byte");
  one("sha256", 900, 25 * cycle, 'L', "ASSUMED: 25 cycles a byte");
  one("hmac(md5)", 1500, 8 * cycle, 'L', "ASSUMED: 8 cycles a byte and two more blocks");
  one("hmac(sha1)", 2200, 13 * cycle, 'L', "ASSUMED: 13 cycles a byte and two more blocks");
  one("hmac(sha256)", 3600, 25 * cycle, 'L', "ASSUMED: 25 cycles a byte and two more blocks");
  one("hmac(sha224)", 3600, 25 * cycle, 'L', "ASSUMED: as hmac(sha256)");
  one("hmac(sha384)", 6000, 40 * cycle, 'L', "ASSUMED: 40 cycles a byte on a 32-bit core and two more blocks");
  one("hmac(sha512)", 6000, 40 * cycle, 'L', "ASSUMED: 40 cycles a byte on a 32-bit core and two more blocks");
  one("ghash", 300, 20 * cycle, 'L', "ASSUMED: 20 cycles a byte, 4-bit tables");
  one("cbcmac(aes)", 500, rate(34.5), 'L', "ASSUMED: as CBC with a 128-bit key");
  return p;
}

CpuProfile free_profile() {
  CpuProfile p;
  p.name = "free";
  p.description = "a host that costs nothing: figures are the engine's alone";
  for (auto& c : p.cost) c = {0, 'L', "free of charge by definition"};
  return p;
}

CpuProfile read_toml(const std::string& path) {
  toml::table t;
  try {
    t = toml::parse_file(path);
  } catch (const toml::parse_error& e) {
    throw SetupError(fmt::format("--cpu {}: line {}: {}", path, e.source().begin.line, std::string(e.description())));
  }
  auto number = [&](const toml::node_view<toml::node>& n, const std::string& what) {
    const auto v = n.value<double>();
    if (!v || !(*v >= 0) || !std::isfinite(*v)) throw SetupError(fmt::format("--cpu {}: {} must be a number that is not negative", path, what));
    return *v;
  };
  CpuProfile p;
  p.name = t["name"].value_or(std::string("unnamed"));
  p.description = t["description"].value_or(std::string());
  p.clock_hz = number(t["clock_hz"], "clock_hz");
  for (size_t i = 0; i < driver::kCostCount; ++i) {
    const std::string name(driver::kCostNames[i]);
    auto c = t["cost"][name];
    p.cost[i] = {number(c["ns"], "cost." + name + ".ns"), c["confidence"].value_or(std::string("L"))[0], c["source"].value_or(std::string())};
  }
  if (const auto* crypto = t["crypto"].as_table())
    for (auto&& [key, node] : *crypto) {
      const std::string name(key.str());
      auto c = t["crypto"][name];
      CryptoFigure f;
      f.fixed_ns = number(c["fixed_ns"], name + ".fixed_ns");
      f.ns_per_byte = number(c["ns_per_byte"], name + ".ns_per_byte");
      f.batch_fixed_ns = number(c["batch_fixed_ns"], name + ".batch_fixed_ns");
      f.batch_ns_per_byte = number(c["batch_ns_per_byte"], name + ".batch_ns_per_byte");
      f.confidence = c["confidence"].value_or(std::string("L"))[0];
      f.source = c["source"].value_or(std::string());
      p.crypto[name] = f;
    }
  return p;
}
}  // namespace

void CpuProfile::apply(driver::CpuMeter& m) const {
  for (size_t i = 0; i < driver::kCostCount; ++i) m.cost_ps[i] = static_cast<uint64_t>(cost[i].ns * 1000 + 0.5);
}

const CryptoFigure* CpuProfile::find_crypto(std::string_view algorithm, unsigned key_bits) const {
  if (key_bits)
    if (auto it = crypto.find(fmt::format("{}-{}", algorithm, key_bits)); it != crypto.end()) return &it->second;
  auto it = crypto.find(algorithm);
  return it == crypto.end() ? nullptr : &it->second;
}

bool CpuProfile::free() const {
  for (const auto& c : cost)
    if (c.ns != 0) return false;
  return true;
}

std::string this_host_profile_path() {
  const char* xdg = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  const std::string base = xdg && *xdg ? xdg : std::string(home ? home : ".") + "/.config";
  return base + "/secsim/this-host.toml";
}

CpuProfile load_cpu_profile(std::string_view name) {
  if (name == "free") return free_profile();
  if (name == "p2020") return p2020();
  std::string path(name);
  if (name == "this-host") {
    path = this_host_profile_path();
    if (!std::ifstream(path)) throw SetupError("--cpu this-host: this machine has not been measured yet; run 'secsim calibrate' first");
  } else if (!std::ifstream(path)) {
    throw SetupError(fmt::format("--cpu {}: no such profile or file; the profiles are free, p2020 and this-host", name));
  }
  return read_toml(path);
}

std::string to_toml(const CpuProfile& p) {
  std::ostringstream o;
  auto quote = [](const std::string& s) {
    std::string r = "\"";
    for (char c : s) r += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return r + "\"";
  };
  o << "# Processor profile of secsim. Times are nanoseconds of simulated time.\n";
  o << "name = " << quote(p.name) << "\ndescription = " << quote(p.description) << "\nclock_hz = " << fmt::format("{:.1f}", p.clock_hz) << "\n";
  for (size_t i = 0; i < driver::kCostCount; ++i)
    o << fmt::format("\n[cost.{}]\nns = {:.4f}\nconfidence = \"{}\"\nsource = {}\n", driver::kCostNames[i], p.cost[i].ns, p.cost[i].confidence, quote(p.cost[i].source));
  for (const auto& [name, f] : p.crypto)
    o << fmt::format("\n[crypto.{}]\nfixed_ns = {:.3f}\nns_per_byte = {:.6f}\nbatch_fixed_ns = {:.3f}\nbatch_ns_per_byte = {:.6f}\nconfidence = \"{}\"\nsource = {}\n",
                     quote(name), f.fixed_ns, f.ns_per_byte, f.batch_fixed_ns, f.batch_ns_per_byte, f.confidence, quote(f.source));
  return o.str();
}

}  // namespace sec::host
