// ESP from capture to capture with the OpenSSL back end, for esp_interop.py. Prints one line of JSON per run.
//
// Many runs in one call: each line of --batch holds the arguments of one run, so that the interop test does
// not start a process per combination.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "common/diag.h"
#include "host/cpu/openssl.h"
#include "host/workloads/esp_run.h"

namespace {

using namespace sec;
using namespace sec::host;

struct Arguments {
  std::string suite = "aes128-cbc-sha1", mode = "tunnel", cipher_key, auth_key;
  std::string source = "192.0.2.1", destination = "192.0.2.2", spi = "0x1001", link = "raw";
  uint64_t sequence = 0, seed = 1;
  size_t tfc = 0;
  bool decapsulate = false, esn = false, benchmark = false;
  EspRunOptions run;
};

void add_options(CLI::App& app, Arguments& a) {
  app.add_option("--suite", a.suite);
  app.add_option("--mode", a.mode)->check(CLI::IsMember({"tunnel", "transport"}));
  app.add_option("--in", a.run.input_path);
  app.add_option("--out", a.run.output_path);
  app.add_option("--link", a.link)->check(CLI::IsMember({"raw", "ethernet"}));
  app.add_option("--key", a.cipher_key, "hex; with CTR the 4 nonce bytes follow");
  app.add_option("--auth-key", a.auth_key);
  app.add_option("--spi", a.spi);
  app.add_option("--src", a.source);
  app.add_option("--dst", a.destination);
  app.add_option("--seq", a.sequence, "last number used");
  app.add_option("--seed", a.seed);
  app.add_option("--tfc", a.tfc);
  app.add_option("--segments", a.run.segments);
  app.add_option("--in-flight", a.run.in_flight);
  app.add_option("--window", a.run.sas.emplace_back().replay_window);
  app.add_flag("--decap", a.decapsulate);
  app.add_flag("--esn", a.esn);
  app.add_flag("--benchmark", a.benchmark);
}

void run(const crypto::Registry& registry, Arguments& a) {
  SecurityAssociation& sa = a.run.sas[0];
  sa.suite = esp_suite(a.suite, a.benchmark);
  sa.mode = a.mode == "tunnel" ? EspMode::Tunnel : EspMode::Transport;
  sa.spi = static_cast<uint32_t>(std::stoul(a.spi, nullptr, 0));
  sa.cipher_key = bytes_from_hex(a.cipher_key, "--key");
  sa.auth_key = bytes_from_hex(a.auth_key, "--auth-key");
  sa.outer_source = IpAddress::parse(a.source, "--src");
  sa.outer_destination = IpAddress::parse(a.destination, "--dst");
  sa.sequence = a.sequence;
  sa.seed = a.seed;
  sa.tfc_pad_to_bytes = a.tfc;
  sa.esn = a.esn;
  a.run.direction = a.decapsulate ? EspDirection::Decapsulate : EspDirection::Encapsulate;
  a.run.output_link = a.link == "raw" ? PcapLink::RawIp : PcapLink::Ethernet;

  EspEnvironment environment;
  environment.registry = &registry;
  const EspRunResult r = run_esp(a.run, environment);
  std::printf("{\"status\": \"%s\", \"in\": %llu, \"out\": %llu", std::string(errno_name(r.status)).c_str(),
              static_cast<unsigned long long>(r.stats.packets_in),
              static_cast<unsigned long long>(r.stats.packets_out));
  for (size_t i = 1; i < kEspDropCount; ++i)
    std::printf(", \"%s\": %llu", std::string(kEspDropNames[i]).c_str(),
                static_cast<unsigned long long>(r.stats.drops[i]));
  std::string lines = tshark_sa_line(sa), escaped;
  for (char c : lines) escaped += c == '"' ? "\\\"" : c == '\n' ? "\\n" : std::string(1, c);
  std::printf(", \"cipher_driver\": \"%s\", \"hash_driver\": \"%s\", \"tshark\": \"%s\"}\n", r.cipher_driver.c_str(),
              r.hash_driver.c_str(), escaped.c_str());
}

void run_line(const crypto::Registry& registry, const std::string& line) {
  Arguments a;
  CLI::App app;
  add_options(app, a);
  app.parse(line, false);
  run(registry, a);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    crypto::Registry registry;
    register_openssl(registry);
    if (argc == 3 && std::string(argv[1]) == "--batch") {
      std::ifstream file(argv[2]);
      if (!file) throw SetupError(std::string("the list of runs \"") + argv[2] + "\" cannot be read");
      for (std::string line; std::getline(file, line);)
        if (!line.empty()) run_line(registry, line);
      return 0;
    }
    Arguments a;
    CLI::App app("ESP from capture to capture");
    add_options(app, a);
    CLI11_PARSE(app, argc, argv);
    run(registry, a);
    return 0;
  } catch (const SetupError& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "esp_tool: %s\n", e.what());
    return 2;
  } catch (const CLI::Error& e) {
    std::fprintf(stderr, "esp_tool: %s\n", e.what());
    return 2;
  }
}
