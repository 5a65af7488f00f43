// secsim rng: random bytes from the engine's random number unit, through the driver's hwrng.
#include <cstdio>

#include <fmt/format.h>

#include "common/diag.h"
#include "driver/talitos/rng.h"
#include "host/cli/cli.h"
#include "hw/eu/rngu.h"

namespace sec::host::cli {
namespace {
struct Options {
  CommonOptions common;
  std::string out = "-";
  size_t bytes = 0;
  bool entropy = false;
};

int run_rng(Options& o, bool seed_given) {
  if (o.entropy && seed_given) throw SetupError("--entropy: random words that nobody can foresee have no seed; leave out one of --entropy and --seed");
  std::vector<uint8_t> data(o.bytes);
  Status status = Status::Ok;
  uint64_t sim_ns = 0, wall_ns = 0;
  SessionOptions so = o.common.session();
  so.cpu_backends = so.compositions = so.selftest = false;
  Session session(so);
  auto* unit = dynamic_cast<hw::Rngu*>(session.engine().unit(regs::Eu::Rngu));
  if (!unit) throw SetupError(fmt::format("--engine {}: the part has no random number unit; secsim regs --parts lists the units of each", so.part->name));
  if (o.entropy)
    unit->use_entropy();
  else
    unit->set_seed(o.common.seed);
  session.run([&](Session& s) {
    driver::HwRng* rng = s.device().hwrng();
    if (!rng) throw SetupError(fmt::format("--engine {}: the driver offers no hwrng on this part", s.part().name));
    const auto before = s.mark();
    status = rng->fill(data.data(), data.size());
    const auto after = s.mark();
    sim_ns = (after.sim_ps - before.sim_ps) / 1000;
    wall_ns = after.wall_ns - before.wall_ns;
  });
  const bool ok = status == Status::Ok;
  if (o.common.json) {
    nlohmann::json j{{"status", errno_name(status)}, {"source", o.entropy ? "entropy" : "seed"}, {"out", ok ? to_hex(data.data(), data.size()) : ""}, {"sim_time_ns", sim_ns}, {"wall_time_ns", wall_ns}};
    if (!o.entropy) j["seed"] = o.common.seed;
    const std::string text = j.dump() + "\n";
    if (ok || o.out == "-") write_output(o.out, "--out", text.data(), text.size());
  } else if (ok) {
    write_output(o.out, "--out", data.data(), data.size());
  }
  if (!ok) fmt::print(stderr, "secsim: {}: the random number unit did not deliver\n", errno_name(status));
  return ok ? 0 : 1;
}
}  // namespace

void add_rng(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("rng", "Random bytes from the engine's random number unit");
  auto o = std::make_shared<Options>();
  o->common.add(*sub);
  sub->add_option("--bytes", o->bytes, "how many")->required()->check(CLI::Range(1, 16 << 20));
  sub->add_flag("--entropy", o->entropy, "random numbers of this machine instead of a sequence that --seed repeats");
  sub->add_option("--out", o->out, "output file, - for standard output")->capture_default_str();
  sub->callback([&c, o, sub] { c.run = [o, sub] { return run_rng(*o, sub->count("--seed") > 0); }; });
}

}  // namespace sec::host::cli
