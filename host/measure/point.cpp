#include "host/measure/point.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/diag.h"
#include "common/units.h"
#include "host/cpu/ipsecmb.h"
#include "host/cpu/openssl.h"
#include "host/measure/saturate.h"
#include "host/measure/statistics.h"
#include "host/platforms/tlm.h"
#include "host/workloads/disk_run.h"
#include "host/workloads/esp_run.h"

namespace sec::host {
namespace {
using nlohmann::json;

std::string required_driver(const crypto::Registry& r, std::string_view algorithm, std::string_view module) {
  std::string name = driver_of(r, algorithm, module);
  if (name.empty()) throw SetupError(fmt::format("{} has no implementation of {}", module, algorithm));
  return name;
}

double percentile(std::vector<uint64_t>& v, double p) {
  if (v.empty()) return 0;
  const auto k = static_cast<size_t>(p * static_cast<double>(v.size() - 1) + 0.5);
  std::nth_element(v.begin(), v.begin() + static_cast<long>(k), v.end());
  return static_cast<double>(v[k]);
}

double mbit(double bytes, double seconds) { return seconds > 0 ? bytes * 8e-6 / seconds : 0; }

void add_latency(json& out, std::vector<uint64_t> latencies, double seconds) {
  double sum = 0;
  for (uint64_t l : latencies) sum += static_cast<double>(l);
  out["sim_p50_ns"] = percentile(latencies, 0.50);
  out["sim_p99_ns"] = percentile(latencies, 0.99);
  out["mean_in_flight"] = seconds > 0 ? sum * 1e-9 / seconds : 0;  // Little's law
}

/// Runs `body` in a session for the two simulated ways; `out` gets utilisation and times.
json simulated(const PointOptions& o, Way way, const std::function<void(Session&, json&)>& body) {
  SessionOptions so = o.session;
  so.fidelity = Fidelity::Approx;
  so.selftest = false;  // the program's own start-up runs it once, functionally
  so.memory_bytes = size_t{128} << 20;
  json out;
  Session session(so);
  session.run([&](Session& s) {
    const auto a = s.mark();
    body(s, out);
    const auto b = s.mark();
    out["wall_s"] = static_cast<double>(b.wall_ns - a.wall_ns) * 1e-9;
    out["sim_s"] = static_cast<double>(b.sim_ps - a.sim_ps) * 1e-12;
    out["wall_s_per_sim_ms"] = b.sim_ps > a.sim_ps ? static_cast<double>(b.wall_ns - a.wall_ns) * 1e-9 / (static_cast<double>(b.sim_ps - a.sim_ps) * 1e-9) : 0;
    add_utilisation(out, s, a, b);
    (void)way;
  });
  return out;
}

std::function<uint64_t()> platform_clock(Session& s) {
  return [&s] {
    s.tlm()->pass_charged_time();
    return s.sim_ns();
  };
}

std::string with_bits(std::string_view algorithm, unsigned key_bits) { return key_bits ? fmt::format("{}-{}", algorithm, key_bits) : std::string(algorithm); }

/// A registry of one CPU back end, for wall-clock measurements.
void cpu_registry(crypto::Registry& r, Way way) {
  r.set_selftest_enabled(false);
  register_openssl(r);  // ipsec-mb has no XTS and no bare ECB burst: OpenSSL stands in, and the result says so
  if (way == Way::CpuMulti) register_ipsecmb(r);
}

std::string cpu_driver(const crypto::Registry& r, std::string_view algorithm, Way way) {
  if (way == Way::CpuMulti)
    for (const auto& a : r.list())
      if (a.name == algorithm && a.module == "ipsecmb") return a.driver;
  return required_driver(r, algorithm, "openssl");
}

unsigned aes_bits(const EspSuite& s) { return s.cipher_algorithm.find("aes") != std::string::npos ? s.cipher_key_bytes * 8 : 0; }

}  // namespace

void add_utilisation(json& out, const Session& session, const Session::Mark& a, const Session::Mark& b) {
  const double clocks = static_cast<double>(b.clock - a.clock);
  const double ps = static_cast<double>(b.sim_ps - a.sim_ps);
  auto share = [&](uint64_t x, uint64_t y) { return clocks > 0 ? static_cast<double>(y - x) / clocks : 0; };
  const double cpu = ps > 0 ? std::min(1.0, static_cast<double>(b.cpu_busy_ps - a.cpu_busy_ps) / ps) : 0;
  double channel = 0;
  json channels = json::array();
  for (unsigned n = 0; n < session.part().channels; ++n) {
    const double s = share(a.engine.channel_busy_clocks[n], b.engine.channel_busy_clocks[n]);
    channel = std::max(channel, s);
    channels.push_back({{"busy", s},
                        {"descriptors", b.engine.channel_descriptors[n] - a.engine.channel_descriptors[n]},
                        {"bytes", b.engine.channel_bytes[n] - a.engine.channel_bytes[n]}});
  }
  auto unit = [&](const auto& field, regs::Eu u) { return share((a.engine.*field)[static_cast<size_t>(u)], (b.engine.*field)[static_cast<size_t>(u)]); };
  const auto busy_clocks = &hw::EngineCounters::unit_busy_clocks, held_clocks = &hw::EngineCounters::unit_held_clocks;
  json busy{{"cpu", cpu},
            {"bus", share(a.engine.bus_clocks, b.engine.bus_clocks)},
            {"channel", channel},
            {"aesu", unit(busy_clocks, regs::Eu::Aesu)},
            {"aesu_held", unit(held_clocks, regs::Eu::Aesu)},
            {"deu", unit(busy_clocks, regs::Eu::Deu)},
            {"deu_held", unit(held_clocks, regs::Eu::Deu)},
            {"mdeu", unit(busy_clocks, regs::Eu::MdeuA)},
            {"mdeu_held", unit(held_clocks, regs::Eu::MdeuA)}};
  out["host_load"] = cpu;
  out["busy"] = busy;
  out["channels"] = channels;
  out["descriptors"] = b.engine.descriptors - a.engine.descriptors;
  out["engine_errors"] = b.engine.errors - a.engine.errors;
  out["engine_bytes"] = b.engine.bytes_in - a.engine.bytes_in;
  uint64_t most_in_flight = 0;
  for (const auto& c : b.device.channel) most_in_flight = std::max(most_in_flight, c.max_in_flight);
  out["max_in_flight_per_channel"] = most_in_flight;
  const uint64_t interrupts = b.device.interrupts - a.device.interrupts;
  out["interrupts"] = interrupts;
  out["dones_per_interrupt"] = interrupts ? static_cast<double>(b.device.dones - a.device.dones) / static_cast<double>(interrupts) : 0;
  // What limits. A unit that channels queue for counts as held, even while it waits for the bus or its channel.
  struct Candidate {
    const char* name;
    double share;
  };
  const double aesu = busy["aesu_held"], deu = busy["deu_held"], mdeu = busy["mdeu_held"], bus = busy["bus"];
  const Candidate all[] = {{"host CPU", cpu}, {"AESU", aesu}, {"DEU", deu}, {"MDEU", mdeu}, {"bus", bus}, {"channel", channel - 0.02}};
  const Candidate* most = std::max_element(std::begin(all), std::end(all), [](const auto& x, const auto& y) { return x.share < y.share; });
  // Two units of one descriptor are held for the same time: the one that computes longer sets the pace.
  const Candidate units[] = {{"AESU", busy["aesu"]}, {"DEU", busy["deu"]}, {"MDEU", busy["mdeu"]}};
  const bool is_unit = most == &all[1] || most == &all[2] || most == &all[3];
  const char* limit = is_unit ? std::max_element(std::begin(units), std::end(units), [](const auto& x, const auto& y) { return x.share < y.share; })->name : most->name;
  out["bottleneck"] = most->share < 0.6 ? "latency (too few requests in flight)" : limit;
  out["bottleneck_share"] = most->share;

  // Where the simulated time of processor and engine comes from.
  double letters[3] = {};
  auto add = [&](char c, double t) { letters[c == 'H' ? 0 : c == 'M' ? 1 : 2] += t; };
  if (const CpuProfile* p = session.options().cpu) {
    for (size_t i = 0; i < driver::kCostCount; ++i)
      add(p->cost[i].confidence, static_cast<double>(b.cpu.count[i] - a.cpu.count[i]) * p->cost[i].ns * 1000);
    add('L', static_cast<double>(b.cpu.other_ps - a.cpu.other_ps));
  }
  hw::EngineCounters d = b.engine;  // differences of what assumed_share looks at
  d.bus_clocks -= a.engine.bus_clocks;
  d.read_latency_clocks -= a.engine.read_latency_clocks;
  d.posted_write_clocks -= a.engine.posted_write_clocks;
  d.grants -= a.engine.grants;
  d.descriptors -= a.engine.descriptors;
  for (size_t i = 0; i < d.unit_busy_clocks.size(); ++i) d.unit_busy_clocks[i] -= a.engine.unit_busy_clocks[i];
  const auto& t = const_cast<Session&>(session).timing();
  const hw::Clocks k(t);
  double engine_clocks = static_cast<double>(d.bus_clocks + d.read_latency_clocks + d.posted_write_clocks + d.grants * (k.grant + k.unit_reset) + d.descriptors * k.interrupt);
  for (uint64_t u : d.unit_busy_clocks) engine_clocks += static_cast<double>(u);
  const hw::AssumedShare e = hw::assumed_share(d, t);
  add('H', e.high * engine_clocks * static_cast<double>(k.period_ps));
  add('M', e.medium * engine_clocks * static_cast<double>(k.period_ps));
  add('L', e.low * engine_clocks * static_cast<double>(k.period_ps));
  const double sum = letters[0] + letters[1] + letters[2];
  out["confidence"] = {{"H", sum ? letters[0] / sum : 0}, {"M", sum ? letters[1] / sum : 0}, {"L", sum ? letters[2] / sum : 0}};
}

json run_speed_point(const PointOptions& o, Way way) {
  LoadOptions load{.size_bytes = o.size_bytes, .key_bytes = o.key_bits / 8, .transforms = o.associations, .depth = std::max(1u, o.in_flight / o.associations)};
  const double bytes_each = static_cast<double>(o.size_bytes);
  if (way == Way::CpuSingle || way == Way::CpuMulti) {
    crypto::Registry r;
    cpu_registry(r, way);
    load.algorithm = cpu_driver(r, o.algorithm, way);
    load.transforms = 1;
    load.depth = 32;
    load.requests = std::max<uint64_t>(64, 4 * o.work_bytes / o.size_bytes);
    std::vector<double> rate;
    for (int k = 0; k < 5; ++k) {
      Load l(load, r, nullptr);
      const WallTime t0 = WallTime::now();
      l.start();
      while (!l.done()) l.flush();
      rate.push_back(mbit(bytes_each * static_cast<double>(load.requests), (WallTime::now() - t0).seconds()));
    }
    return {{"wall_mbit_s", median(rate)}, {"driver", load.algorithm}};
  }
  return simulated(o, way, [&](Session& s, json& out) {
    load.requests = std::max<uint64_t>(400, o.work_bytes / o.size_bytes);
    const uint64_t t0 = s.platform().sim_time_ps();
    if (way == Way::CpuProfile) {
      // A processor that does it itself: one request after the other.
      const CryptoFigure* f = s.options().cpu ? s.options().cpu->find_crypto(o.algorithm, o.algorithm.find("aes") != std::string::npos ? o.key_bits : 0) : nullptr;
      if (!f) throw SetupError(fmt::format("--cpu {}: the profile has no figure for {}", s.options().cpu ? s.options().cpu->name : "free", o.algorithm));
      for (uint64_t i = 0; i < load.requests; ++i) s.platform().cpu().charge_ps(static_cast<uint64_t>(f->single_ns(o.size_bytes) * 1000));
      s.tlm()->pass_charged_time();
      out["driver"] = "profile " + s.options().cpu->name;
    } else {
      load.algorithm = required_driver(s.registry(), o.algorithm, "talitos");
      Load l(load, s.registry(), &s.platform().dma());
      l.start();
      if (!s.platform().wait_until([](void* p) { return static_cast<Load*>(p)->done(); }, &l) || l.failed())
        throw std::runtime_error(fmt::format("{} of {} requests did not complete", load.requests - l.finished() + l.failed(), load.requests));
      out["driver"] = load.algorithm;
    }
    s.tlm()->pass_charged_time();
    out["sim_mbit_s"] = mbit(bytes_each * static_cast<double>(load.requests), static_cast<double>(s.platform().sim_time_ps() - t0) * 1e-12);
    out["requests"] = load.requests;
  });
}

json run_esp_point(const PointOptions& o, Way way) {
  const EspSuite suite = esp_suite(o.suite, true);
  EspRunOptions run;
  for (unsigned i = 0; i < o.associations; ++i) run.sas.push_back(make_sa(suite, EspMode::Tunnel, 0x1000 + i, o.seed + i));
  run.in_flight = o.in_flight;
  PacketGenOptions gen;
  gen.seed = o.seed;
  gen.imix = o.imix;
  if (!o.imix) gen.sizes_bytes = {o.size_bytes};
  const size_t mean = o.imix ? (7 * 64 + 4 * 576 + 1500) / 12 : o.size_bytes;
  const bool wall = way == Way::CpuSingle || way == Way::CpuMulti;
  gen.packets = std::clamp<size_t>(o.work_bytes * (wall ? 2 : 1) / mean, 300, 20000);
  const PacketList packets = generate_packets(gen);
  run.packets = &packets;
  auto check = [](const EspRunResult& r) {
    if (r.status != Status::Ok) throw std::runtime_error(r.failure.empty() ? std::string(errno_name(r.status)) : r.failure);
    if (r.stats.dropped()) throw std::runtime_error(fmt::format("{} packets were dropped", r.stats.dropped()));
  };
  if (wall) {
    crypto::Registry reg;
    cpu_registry(reg, way);
    if (suite.auth == EspAuth::Combined) run.aead_driver = cpu_driver(reg, aead_algorithm(suite), way);
    if (!suite.cipher_algorithm.empty()) run.cipher_driver = cpu_driver(reg, suite.cipher_algorithm, way);
    if (!suite.hash_algorithm.empty()) run.hash_driver = cpu_driver(reg, suite.hash_algorithm, way);
    run.keep_latencies = false;
    EspEnvironment env;
    env.registry = &reg;
    std::vector<double> rate;
    for (int k = 0; k < 3; ++k) {
      const WallTime t0 = WallTime::now();
      const EspRunResult r = run_esp(run, env);
      check(r);
      rate.push_back(mbit(static_cast<double>(r.stats.bytes_in), (WallTime::now() - t0).seconds()));
    }
    return {{"wall_mbit_s", median(rate)}, {"driver", run.aead_driver.empty() ? run.cipher_driver : run.aead_driver}, {"hash_driver", run.hash_driver}};
  }
  return simulated(o, way, [&](Session& s, json& out) {
    if (way == Way::Engine && !aead_algorithm(suite).empty()) {
      run.one_request = true;  // one ipsec_esp descriptor does both
      run.aead_driver = required_driver(s.registry(), aead_algorithm(suite), "talitos");
    } else {
      if (suite.auth == EspAuth::Combined) run.aead_driver = required_driver(s.registry(), aead_algorithm(suite), "openssl");
      if (!suite.cipher_algorithm.empty()) run.cipher_driver = required_driver(s.registry(), suite.cipher_algorithm, way == Way::Engine ? "talitos" : "openssl");
      if (!suite.hash_algorithm.empty()) run.hash_driver = required_driver(s.registry(), suite.hash_algorithm, "openssl");
    }
    EspEnvironment env;
    env.registry = &s.registry();
    env.dma = &s.platform().dma();
    env.cpu = &s.platform().cpu();
    env.pump = [&s] { return s.platform().pump(); };
    env.now_ns = platform_clock(s);
    env.charge_hash = [&](size_t n) { s.charge_crypto(suite.hash_algorithm, n); };
    if (way == Way::CpuProfile && !suite.cipher_algorithm.empty()) {
      const std::string figure = with_bits(suite.cipher_algorithm, aes_bits(suite));
      env.charge_cipher = [&s, figure](size_t n) { s.charge_crypto(figure, n); };
    }
    if (way == Way::CpuProfile && suite.auth == EspAuth::Combined) {
      const std::string figure = with_bits("ctr(aes)", suite.cipher_key_bytes * 8);
      const char* mac = suite.cipher == EspCipher::AesGcm ? "ghash" : "cbcmac(aes)";
      env.charge_aead = [&s, figure, mac](size_t n) {
        s.charge_crypto(figure, n);
        s.charge_crypto(mac, n);
      };
    }
    const EspRunResult r = run_esp(run, env);
    check(r);
    const double seconds = static_cast<double>(r.last_finish_ns - r.first_submit_ns) * 1e-9;
    out["sim_mbit_s"] = mbit(static_cast<double>(r.stats.bytes_in), seconds);
    out["sim_kpps"] = seconds > 0 ? static_cast<double>(r.stats.packets_out) / seconds * 1e-3 : 0;
    out["driver"] = r.cipher_driver;
    out["hash_driver"] = r.hash_driver;
    out["packets"] = r.stats.packets_out;
    add_latency(out, r.latency_ns, seconds);
  });
}

json run_disk_point(const PointOptions& o, Way way) {
  DiskRunOptions run;
  run.action = DiskAction::Dd;
  run.cipher = o.cipher;
  run.key_bytes = o.key_bits / 8;
  run.geometry.sector_bytes = o.sector_bytes;
  run.submission = o.per_bio ? DiskSubmission::PerBio : DiskSubmission::PerSector;
  run.seed = o.seed;
  run.crypto_requests = o.in_flight;
  const bool wall = way == Way::CpuSingle || way == Way::CpuMulti;
  run.total_bytes = std::max<uint64_t>(1, o.work_bytes * (wall ? 8 : 1) >> 20) << 20;
  const DiskCipherSpec spec = parse_disk_cipher(o.cipher);
  auto check = [](const DiskRunResult& r) {
    if (r.status != Status::Ok) throw std::runtime_error(r.failure.empty() ? std::string(errno_name(r.status)) : r.failure);
    for (const DiskPhase& p : r.phases)
      if (p.wrong_bytes || p.failed_requests) throw std::runtime_error("disk data came back wrong");
  };
  auto phases = [](const DiskRunResult& r, json& out, const char* unit) {
    for (const DiskPhase& p : r.phases) {
      json j{{"bytes", p.bytes}, {"sectors", p.stats.sectors}};
      const double seconds = static_cast<double>(p.end_ns - p.start_ns) * 1e-9;
      j[std::string(unit) + "_mb_s"] = seconds > 0 ? static_cast<double>(p.bytes) * 1e-6 / seconds : 0;
      if (std::string(unit) == "sim") add_latency(j, p.latency_ns, seconds);
      out[p.name] = j;
    }
  };
  if (wall) {
    crypto::Registry reg;
    cpu_registry(reg, way);
    DiskEnvironment env;
    env.registry = &reg;
    env.cipher_driver = cpu_driver(reg, spec.algorithm(), way);
    env.now_ns = [] { return WallTime::now().ns(); };
    json out;
    std::vector<double> w, r;
    for (int k = 0; k < 3; ++k) {
      const DiskRunResult res = run_disk(run, env);
      check(res);
      json one;
      phases(res, one, "wall");
      w.push_back(one["write"]["wall_mb_s"]);
      r.push_back(one["read"]["wall_mb_s"]);
    }
    out["write"]["wall_mb_s"] = median(w);
    out["read"]["wall_mb_s"] = median(r);
    out["driver"] = env.cipher_driver;
    return out;
  }
  return simulated(o, way, [&](Session& s, json& out) {
    DiskEnvironment env;
    env.registry = &s.registry();
    env.cipher_driver = required_driver(s.registry(), spec.algorithm(), way == Way::Engine ? "talitos" : "openssl");
    env.dma = &s.platform().dma();
    env.cpu = &s.platform().cpu();
    env.pump = [&s] { return s.platform().pump(); };
    env.now_ns = platform_clock(s);
    env.idle_until = [&s](uint64_t ns) { s.tlm()->sleep_until_ps(ns * 1000); };
    env.charge_iv = [&](size_t blocks) { s.charge_crypto("ecb(aes)-256", 16 * blocks); };
    if (way == Way::CpuProfile) {
      const std::string figure = with_bits(spec.algorithm(), o.key_bits);
      env.charge_cipher = [&s, figure](size_t n) { s.charge_crypto(figure, n); };
    }
    const DiskRunResult r = run_disk(run, env);
    check(r);
    phases(r, out, "sim");
    out["driver"] = env.cipher_driver;
    out["sim_mbit_s"] = out["write"]["sim_mb_s"].get<double>() * 8;
  });
}

}  // namespace sec::host
