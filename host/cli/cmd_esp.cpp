// secsim esp: packets through ESP on driver and engine, from a capture or the generator into a capture.
//
// The cipher runs on the engine where it has it; the HMAC runs on the processor, which the profile charges for it.
#include <cstdio>

#include <fmt/format.h>

#include "common/diag.h"
#include "host/cli/cli.h"
#include "host/cli/run_report.h"
#include "host/workloads/esp_run.h"

namespace sec::host::cli {
namespace {

struct Options {
  CommonOptions common;
  std::string suite, mode = "tunnel", in, generate, out, key, auth_key, outer_src, outer_dst, spi = "0x1001", link = "raw";
  std::string cipher_driver, hash_driver, aead_driver;
  bool two_requests = false;
  size_t count = 1000, tfc = 0;
  uint64_t sequence = 0;
  unsigned replay_window = 64, in_flight = 64, segments = 1;
  bool decap = false, ipv6 = false, esn = false, list = false, benchmark = false;
};

void list_suites(bool json) {
  nlohmann::json all = nlohmann::json::array();
  if (!json)
    fmt::print("{:<20} {:<18} {:<14} {:>10} {:>9} {:>4} {:>4}\n", "suite", "cipher", "integrity", "cipher key", "auth key", "IV", "ICV");
  for (const EspSuite& s : esp_suites()) {
    if (json)
      all.push_back({{"name", s.name}, {"cipher", s.cipher_algorithm}, {"hash", s.hash_algorithm}, {"combined", s.combined_algorithm}, {"cipher_key_bytes", s.cipher_key_bytes},
                     {"nonce_bytes", s.nonce_bytes}, {"auth_key_bytes", s.auth_key_bytes}, {"iv_bytes", s.iv_bytes}, {"icv_bytes", s.icv_bytes},
                     {"align_bytes", s.align_bytes}, {"benchmark_only", s.benchmark_only}});
    else
      fmt::print("{:<20} {:<18} {:<14} {:>10} {:>9} {:>4} {:>4}{}\n", s.name, s.auth == EspAuth::Combined ? s.combined_algorithm : s.cipher_algorithm.empty() ? "-" : s.cipher_algorithm,
                 s.auth == EspAuth::Combined ? "in it" : s.hash_algorithm.empty() ? "-" : s.hash_algorithm, s.cipher_key_bytes + s.nonce_bytes, s.auth_key_bytes, s.iv_bytes, s.icv_bytes,
                 s.benchmark_only ? "  needs --benchmark" : "");
  }
  if (json) fmt::print("{}\n", all.dump(2));
}

SecurityAssociation association(const Options& o) {
  if (o.suite.empty()) throw SetupError("--suite: a suite is needed; secsim esp --suites lists them");
  char* end = nullptr;
  const unsigned long spi = std::strtoul(o.spi.c_str(), &end, 0);
  if (o.spi.empty() || *end || o.spi[0] == '-' || spi > 0xffffffffu)
    throw SetupError(fmt::format("--spi {}: not a 32-bit number; write it in decimal or as 0x1001", o.spi));
  const bool v6 = o.outer_src.find(':') != std::string::npos || (o.outer_src.empty() && o.outer_dst.find(':') != std::string::npos);
  SecurityAssociation sa = make_sa(esp_suite(o.suite, o.benchmark), o.mode == "tunnel" ? EspMode::Tunnel : EspMode::Transport,
                                   static_cast<uint32_t>(spi), o.common.seed, v6);
  if (!o.key.empty()) sa.cipher_key = parse_hex(o.key, "--key");
  if (!o.auth_key.empty()) sa.auth_key = parse_hex(o.auth_key, "--auth-key");
  if (!o.outer_src.empty()) sa.outer_source = IpAddress::parse(o.outer_src, "--outer-src");
  if (!o.outer_dst.empty()) sa.outer_destination = IpAddress::parse(o.outer_dst, "--outer-dst");
  sa.esn = o.esn;
  sa.replay_window = o.replay_window;
  sa.tfc_pad_to_bytes = o.tfc;
  sa.sequence = o.sequence;
  sa.seed = o.common.seed;
  check_sa(sa);
  return sa;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void print_table(const nlohmann::json& j) {
  const auto& p = j["packets"];
  row("suite", fmt::format("{}, {} mode, {}", j["suite"].get<std::string>(), j["mode"].get<std::string>(), j["direction"].get<std::string>()));
  row("drivers", fmt::format("cipher {}, hash {}", j["cipher_driver"].is_null() ? "none" : j["cipher_driver"].get<std::string>(),
                             j["hash_driver"].is_null() ? "none" : j["hash_driver"].get<std::string>()));
  row("packets", fmt::format("{} in, {} out, {} dropped", p["in"].get<uint64_t>(), p["out"].get<uint64_t>(), p["dropped"].get<uint64_t>()));
  row("bytes", fmt::format("{} in, {} out, {} through the cipher", p["bytes_in"].get<uint64_t>(), p["bytes_out"].get<uint64_t>(),
                           p["cipher_bytes"].get<uint64_t>()));
  std::string drops;
  for (const auto& [name, n] : j["drops"].items())
    if (n.get<uint64_t>()) drops += fmt::format("{}{} {}", drops.empty() ? "" : ", ", n.get<uint64_t>(), name);
  row("drops", drops.empty() ? "none" : drops);
  if (p["frames_without_ip"].get<uint64_t>()) row("skipped", fmt::format("{} frames without IP", p["frames_without_ip"].get<uint64_t>()));
  if (const uint64_t bad = j["drops"]["bad_icv"].get<uint64_t>()) row("integrity", fmt::format("{} packets failed the check of their ICV and were dropped", bad));
  if (j["throughput_mbit_s"].is_null()) {
    if (!j["machine"]["sim_time_ns"].is_null()) row("throughput", "none: no time has passed, since nothing ran on the engine and the processor is free (--cpu)");
  } else {
    row("throughput", fmt::format("{:.1f} Mbit/s of clear IP in simulated time", j["throughput_mbit_s"].get<double>()));
    row("latency", latency_text(j["latency"]));
  }
  print_machine(j["machine"]);
  print_settings(j["settings"]);
  for (const auto& line : j["tshark_sa"])
    row("tshark", fmt::format("-o esp.enable_encryption_decode:TRUE -o esp.enable_authentication_check:TRUE -o 'uat:esp_sa:{}'", line.get<std::string>()));
}

int run(Options& o) {
  if (o.list) {
    list_suites(o.common.json);
    return 0;
  }
  // Everything the user gave is looked at before the machine is built.
  EspRunOptions r;
  r.sas.push_back(association(o));
  if (o.in.empty() == o.generate.empty()) throw SetupError("give either --in FILE or --generate SIZE");
  if (o.decap && o.in.empty()) throw SetupError("--decap needs ESP packets: give them with --in FILE");
  if (o.in_flight < 1 || o.in_flight > 65536) throw SetupError(fmt::format("--in-flight {}: use 1 to 65536", o.in_flight));
  if (o.segments < 1 || o.segments > 256) throw SetupError(fmt::format("--segments {}: use 1 to 256", o.segments));
  PcapRead input;
  if (!o.in.empty()) {
    input = read_pcap(o.in);
  } else {
    PacketGenOptions g;
    parse_packet_sizes(o.generate, "--generate", g);
    if (o.count < 1 || o.count > 100'000'000) throw SetupError(fmt::format("--count {}: use 1 to 100000000", o.count));
    g.packets = o.count;
    g.v6 = o.ipv6;
    g.seed = o.common.seed;
    input.packets = generate_packets(g);
  }
  r.direction = o.decap ? EspDirection::Decapsulate : EspDirection::Encapsulate;
  r.in_flight = o.in_flight;
  r.segments = o.segments;
  r.cipher_driver = o.cipher_driver;
  r.hash_driver = o.hash_driver;
  r.aead_driver = o.aead_driver;
  // Naming a cipher or a hash asks for two requests; otherwise one, where something offers it.
  const bool named = !o.cipher_driver.empty() || !o.hash_driver.empty();
  if (!o.aead_driver.empty() && (named || o.two_requests))
    throw SetupError("--aead-driver does cipher and HMAC in one request: leave out --cipher-driver, --hash-driver and --two-requests");
  if (!o.aead_driver.empty() && aead_algorithm(r.sas[0].suite).empty())
    throw SetupError(fmt::format("--aead-driver: {} cannot be one request; leave the option out or choose a suite of CBC with an HMAC, GCM or CCM", r.sas[0].suite.name));
  if (named && r.sas[0].suite.auth == EspAuth::Combined)
    throw SetupError(fmt::format("--cipher-driver, --hash-driver: {} has no cipher and hash of its own; use --aead-driver", r.sas[0].suite.name));
  if (!o.aead_driver.empty() && o.esn && r.sas[0].suite.auth != EspAuth::Combined)
    throw SetupError("--aead-driver: one request cannot authenticate the high half of --esn sequence numbers; leave one of the two out");
  r.one_request = !named && !o.two_requests;
  r.packets = &input.packets;
  r.output_path = o.out;
  r.output_link = o.link == "raw" ? PcapLink::RawIp : PcapLink::Ethernet;

  SessionOptions so = o.common.session();
  const size_t buffer = std::max(input.packets.largest_bytes(), o.tfc) + 4096 + size_t{o.segments} * 8;
  so.memory_bytes = std::max<size_t>(so.memory_bytes, (size_t{32} << 20) + buffer * o.in_flight);
  std::optional<Progress> progress(std::in_place, o.decap ? "decapsulating" : "encapsulating");
  const double total = static_cast<double>(std::max<size_t>(input.packets.size(), 1));
  Status crypto_failure = Status::Ok;
  r.also = [&](const EspOutput& out) {
    if (out.drop == EspDrop::Crypto && crypto_failure == Status::Ok) crypto_failure = out.status;
    if (out.index % 64 == 0) progress->update(static_cast<double>(out.index) / total);
  };

  EspRunResult result;
  nlohmann::json machine;
  Session session(so);
  session.run([&](Session& s) {
    EspEnvironment e;
    e.registry = &s.registry();
    e.dma = &s.platform().dma();
    e.cpu = &s.platform().cpu();
    e.pump = [&s] { return s.platform().pump(); };
    if (so.fidelity == Fidelity::Approx) e.now_ns = [&s] { return processor_ns(s); };
    const EspSuite& suite = r.sas[0].suite;
    const auto list = s.registry().list();
    const auto* cipher = find_implementation(list, o.cipher_driver.empty() ? suite.cipher_algorithm : o.cipher_driver, crypto::AlgorithmType::Skcipher);
    const auto* hash = find_implementation(list, o.hash_driver.empty() ? suite.hash_algorithm : o.hash_driver, crypto::AlgorithmType::Hash);
    const auto* aead = r.one_request || suite.auth == EspAuth::Combined ? find_implementation(list, o.aead_driver.empty() ? aead_algorithm(suite) : o.aead_driver, crypto::AlgorithmType::Aead) : nullptr;
    if (aead && is_software(*aead)) {
      const bool combined = suite.auth == EspAuth::Combined;
      std::string figure = combined ? "ctr(aes)" : suite.cipher_algorithm;
      if (figure.find("des") == std::string::npos) figure += fmt::format("-{}", suite.cipher_key_bytes * 8);
      const std::string mac = !combined ? suite.hash_algorithm : suite.cipher == EspCipher::AesGcm ? "ghash" : "cbcmac(aes)";
      e.charge_aead = [&s, mac, figure, batch = aead->module == "ipsecmb"](size_t n) {
        s.charge_crypto(figure, n, batch);
        s.charge_crypto(mac, n, batch);
      };
    }
    if (cipher && is_software(*cipher)) {
      std::string figure = suite.cipher_algorithm;
      if (figure.find("des") == std::string::npos) figure += fmt::format("-{}", suite.cipher_key_bytes * 8);
      e.charge_cipher = [&s, figure, batch = cipher->module == "ipsecmb"](size_t n) { s.charge_crypto(figure, n, batch); };
    }
    if (hash && is_software(*hash))
      e.charge_hash = [&s, &suite, batch = hash->module == "ipsecmb"](size_t n) { s.charge_crypto(suite.hash_algorithm, n, batch); };
    const auto before = s.mark();
    result = run_esp(r, e);
    machine = machine_json(s, before, s.mark());
  });

  progress.reset();  // clears its line before the report
  const EspStats& st = result.stats;
  nlohmann::json j{{"status", errno_name(result.status)}, {"suite", r.sas[0].suite.name}, {"mode", o.mode}, {"direction", o.decap ? "decapsulate" : "encapsulate"}};
  auto name = [](const std::string& s) { return s.empty() ? nlohmann::json(nullptr) : nlohmann::json(s); };
  j["cipher_driver"] = name(result.cipher_driver);
  j["hash_driver"] = name(result.hash_driver);
  j["packets"] = {{"in", st.packets_in}, {"out", st.packets_out}, {"dropped", st.dropped()}, {"bytes_in", st.bytes_in}, {"bytes_out", st.bytes_out},
                  {"cipher_bytes", st.crypto_bytes}, {"frames_without_ip", input.skipped_frames}, {"backlogged", st.backlogged},
                  {"retries", st.retries}, {"most_in_flight", st.most_in_flight}};
  for (size_t i = 1; i < kEspDropCount; ++i) j["drops"][std::string(kEspDropNames[i])] = st.drops[i];
  const bool timed = so.fidelity == Fidelity::Approx;
  // Clear bytes, so that suites and directions compare; headers and padding that ESP adds are not goodput.
  const uint64_t clear = o.decap ? st.bytes_out : st.bytes_in;
  const uint64_t ns = timed ? machine["sim_time_ns"].get<uint64_t>() : 0;
  j["throughput_mbit_s"] = ns ? nlohmann::json(mbit_per_s(clear, ns)) : nlohmann::json(nullptr);
  j["latency"] = latency_json(std::move(result.latency_ns));
  j["machine"] = std::move(machine);
  j["settings"] = settings_json(o.common);
  j["last_sequence"] = result.sas.empty() ? 0 : result.sas[0].sequence;
  j["spi"] = r.sas[0].spi;
  j["key"] = to_hex(r.sas[0].cipher_key.data(), r.sas[0].cipher_key.size());
  j["auth_key"] = to_hex(r.sas[0].auth_key.data(), r.sas[0].auth_key.size());
  j["tshark_sa"] = lines_of(tshark_sa_line(r.sas[0]));

  if (o.common.json)
    fmt::print("{}\n", j.dump(2));
  else
    print_table(j);
  if (result.status != Status::Ok) {
    fmt::print(stderr, "secsim: {}: {}\n", errno_name(result.status), result.failure);
    return 1;
  }
  // A packet that failed its check is a result; one that the cipher could not process is a failure.
  if (st.dropped(EspDrop::Crypto)) {
    fmt::print(stderr, "secsim: {}: {} packets were lost because {} or {} failed\n", errno_name(crypto_failure), st.dropped(EspDrop::Crypto),
               result.cipher_driver.empty() ? "no cipher" : result.cipher_driver, result.hash_driver.empty() ? "no hash" : result.hash_driver);
    return 1;
  }
  return 0;
}

}  // namespace

void add_esp(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("esp", "Packets through ESP: capture or generator in, capture and report out");
  auto o = std::make_shared<Options>();
  o->common.add(*sub);
  sub->add_flag("--suites", o->list, "list the suites");
  sub->add_option("--suite", o->suite, "cipher and integrity, e.g. aes128-cbc-sha1 (see --suites)");
  sub->add_option("--mode", o->mode, "tunnel or transport")->capture_default_str()->check(CLI::IsMember({"tunnel", "transport"}));
  sub->add_option("--in", o->in, "capture (pcap or pcapng, Ethernet or bare IP)");
  sub->add_option("--generate", o->generate, "make packets instead: a size, sizes taken in turn (64,576,1500) or imix");
  sub->add_option("--count", o->count, "packets to make")->capture_default_str();
  sub->add_flag("--ipv6", o->ipv6, "make IPv6 packets");
  sub->add_option("--out", o->out, "capture to write; without it packets are only counted");
  sub->add_option("--link", o->link, "frames of --out: raw (bare IP) or ethernet")->capture_default_str()->check(CLI::IsMember({"raw", "ethernet"}));
  sub->add_flag("--decap", o->decap, "take ESP apart instead of making it");
  sub->add_option("--spi", o->spi, "security parameters index")->capture_default_str();
  sub->add_option("--key", o->key, "cipher key in hex, for CTR with the 4 nonce bytes behind it; default: made from --seed");
  sub->add_option("--auth-key", o->auth_key, "integrity key in hex; default: made from --seed");
  sub->add_option("--outer-src", o->outer_src, "source of the outer header, IPv4 or IPv6 (tunnel mode)");
  sub->add_option("--outer-dst", o->outer_dst, "destination of the outer header");
  sub->add_flag("--esn", o->esn, "64-bit sequence numbers");
  sub->add_option("--sequence", o->sequence, "last sequence number used before this run")->capture_default_str();
  sub->add_option("--replay-window", o->replay_window, "packets; 0 turns anti-replay off")->capture_default_str();
  sub->add_option("--tfc", o->tfc, "pad payloads up to this size (tunnel mode)")->capture_default_str();
  sub->add_option("--in-flight", o->in_flight, "packets under way at a time")->capture_default_str();
  sub->add_option("--segments", o->segments, "pieces that each packet is scattered over")->capture_default_str();
  sub->add_option("--cipher-driver", o->cipher_driver, "exactly this implementation, e.g. cbc-aes-openssl");
  sub->add_option("--hash-driver", o->hash_driver, "exactly this implementation");
  sub->add_option("--aead-driver", o->aead_driver, "exactly this implementation for cipher and HMAC in one request");
  sub->add_flag("--two-requests", o->two_requests, "cipher and HMAC as two requests even where one would do");
  sub->add_flag("--benchmark", o->benchmark, "allow suites without integrity, for measurements");
  sub->callback([&c, o] { c.run = [o] { return run(*o); }; });
}

}  // namespace sec::host::cli
