// Disk images through the disk workload with the software back ends, for disk_interop.py. Prints one line of JSON per
// run; each line of --batch holds the arguments of one run. Ciphers come from the back end with the highest priority
// (intel-ipsec-mb for cbc, ctr and ecb, else OpenSSL) unless --driver names one. `--engine`, as the first argument,
// adds the engine's ciphers, on the functional platform, with the highest priority of all.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "common/diag.h"
#include "driver/talitos/talitos.h"
#include "host/cpu/ipsecmb.h"
#include "host/cpu/openssl.h"
#include "host/platforms/functional.h"
#include "host/workloads/disk_run.h"

namespace {

using namespace sec;
using namespace sec::host;

struct Arguments {
  std::string action, key, passphrase, submission = "sector", driver;
  DiskRunOptions run;
};

/// The back ends of one call.
struct World {
  std::unique_ptr<FunctionalPlatform> platform;
  crypto::Registry registry;
  std::unique_ptr<driver::Device> device;

  explicit World(bool engine) {
    register_openssl(registry);
    register_ipsecmb(registry);
    if (!engine) return;
    platform = std::make_unique<FunctionalPlatform>(regs::default_part());
    platform->hold_interrupts(true);
    registry.set_pump([this] { return platform->pump(); });
    device = std::make_unique<driver::Device>(*platform);
    if (device->probe(device_properties(regs::default_part())) != Status::Ok ||
        device->register_algorithms(registry) != Status::Ok)
      throw SetupError("the engine cannot be probed");
  }
  ~World() {
    if (device) device->unregister();
  }
};

void add_options(CLI::App& app, Arguments& a) {
  DiskRunOptions& o = a.run;
  app.add_option("action", a.action)->required()->check(CLI::IsMember({"encrypt", "decrypt", "dd"}));
  app.add_option("--in", o.input_path);
  app.add_option("--out", o.output_path);
  app.add_option("--cipher", o.cipher);
  app.add_option("--key", a.key, "hex");
  app.add_option("--key-bytes", o.key_bytes);
  app.add_option("--sector-size", o.geometry.sector_bytes);
  app.add_option("--iv-offset", o.geometry.iv_offset);
  app.add_flag("--large-sectors", o.geometry.large_sectors);
  app.add_option("--skip", o.first_unit);
  app.add_flag("--luks", o.luks);
  app.add_option("--passphrase", a.passphrase);
  app.add_option("--luks-container", o.luks_container);
  app.add_option("--hash", o.luks_hash);
  app.add_option("--iterations", o.luks_iterations);
  app.add_option("--submission", a.submission)->check(CLI::IsMember({"sector", "bio"}));
  app.add_option("--bio-size", o.bio_bytes);
  app.add_option("--size", o.total_bytes);
  app.add_option("--seed", o.seed);
  app.add_option("--driver", a.driver);
}

std::vector<uint8_t> from_hex(const std::string& text) {
  std::vector<uint8_t> out;
  if (text.size() % 2 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    throw SetupError("--key: not a hexadecimal number with two digits per byte");
  for (size_t i = 0; i < text.size(); i += 2)
    out.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  return out;
}

void run(World& world, Arguments& a) {
  DiskRunOptions& o = a.run;
  o.action = a.action == "encrypt" ? DiskAction::Encrypt : a.action == "decrypt" ? DiskAction::Decrypt : DiskAction::Dd;
  o.submission = a.submission == "bio" ? DiskSubmission::PerBio : DiskSubmission::PerSector;
  o.key = from_hex(a.key);
  o.passphrase.assign(a.passphrase.begin(), a.passphrase.end());
  DiskEnvironment environment;
  environment.registry = &world.registry;
  if (world.platform) {
    environment.dma = &world.platform->dma();
    environment.pump = [&] { return world.platform->pump(); };
  }
  environment.cipher_driver = a.driver;
  const DiskRunResult r = run_disk(o, environment);
  std::printf(
      "{\"status\": \"%s\", \"cipher\": \"%s\", \"key_bits\": %u, \"driver\": \"%s\", \"warnings\": %zu, \"bytes\": [",
      std::string(errno_name(r.status)).c_str(), r.cipher.c_str(), r.key_bits, r.cipher_driver.c_str(),
      r.warnings.size());
  for (size_t i = 0; i < r.phases.size(); ++i)
    std::printf("%s%llu", i ? ", " : "", static_cast<unsigned long long>(r.phases[i].bytes));
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool engine = argc > 1 && std::string(argv[1]) == "--engine";
    if (engine) {
      argv[1] = argv[0];
      ++argv;
      --argc;
    }
    World world(engine);
    if (argc == 3 && std::string(argv[1]) == "--batch") {
      std::ifstream file(argv[2]);
      if (!file) throw SetupError(std::string("the list of runs \"") + argv[2] + "\" cannot be read");
      for (std::string line; std::getline(file, line);) {
        if (line.empty()) continue;
        Arguments a;
        CLI::App app;
        add_options(app, a);
        app.parse(line, false);
        run(world, a);
      }
      return 0;
    }
    Arguments a;
    CLI::App app("Disk images, raw or LUKS1");
    add_options(app, a);
    CLI11_PARSE(app, argc, argv);
    run(world, a);
    return 0;
  } catch (const SetupError& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "disk_tool: %s\n", e.what());
    return 2;
  } catch (const CLI::Error& e) {
    std::fprintf(stderr, "disk_tool: %s\n", e.what());
    return 2;
  }
}
