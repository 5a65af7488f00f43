// secsim hash: digests and HMACs through driver and engine, at once or in steps.
#include <cstdio>

#include <fmt/format.h>

#include "common/diag.h"
#include "host/cli/cli.h"
#include "host/cli/evp_reference.h"
#include "host/cli/requests.h"

namespace sec::host::cli {
namespace {
using Bytes = std::vector<uint8_t>;

struct Options {
  CommonOptions common;
  std::string alg, driver, key, updates, segments, sizes, in = "-";
  uint64_t many = 0;
  unsigned depth = 1;
};

/// `in_steps`: of that name, the best implementation that can do so.
std::unique_ptr<crypto::Hash> transform(Session& s, const Options& o, const Bytes& key, bool in_steps) {
  auto t = s.registry().alloc_hash(o.driver.empty() ? o.alg : o.driver);
  if (t && in_steps && o.driver.empty() && o.alg != t->info().driver && !t->info().state_bytes) {
    const crypto::AlgorithmInfo* best = nullptr;
    const auto all = s.registry().list();
    for (const auto& a : all)
      if (a.type == crypto::AlgorithmType::Hash && a.name == o.alg && a.selftest != crypto::SelfTest::Failed && a.state_bytes && (!best || a.priority > best->priority)) best = &a;
    if (best) t = s.registry().alloc_hash(best->driver);
  }
  if (!t)
    throw SetupError(fmt::format("{}: no such hash on {} (ENOENT); there are {}", o.driver.empty() ? "--alg " + o.alg : "--driver " + o.driver, s.part().name,
                                 names_of(s.registry(), crypto::AlgorithmType::Hash)));
  const crypto::AlgorithmInfo& i = t->info();
  if (!o.driver.empty() && o.alg != i.name && o.alg != i.driver) throw SetupError(fmt::format("--driver {} implements {}, not {}", o.driver, i.name, o.alg));
  const bool keyed = i.name.find('(') != std::string::npos;  // hmac(..), cmac(..), xcbc(..)
  if (!keyed && !o.key.empty() && i.name != "crc32c") throw SetupError(fmt::format("--key: {} has no key; leave the option out or use hmac({})", i.name, i.name));
  if (keyed && o.key.empty()) throw SetupError(fmt::format("--key: {} needs a key; give it in hex", i.name));
  if (!o.key.empty())
    if (const Status k = t->set_key(key); k != Status::Ok) throw SetupError(fmt::format("--key: {} does not take a key of {} bytes ({})", i.name, key.size(), errno_name(k)));
  return t;
}

struct OneHash {
  Status status = Status::Ok;
  std::string driver, composed;
  Bytes digest;
  uint64_t sim_ns = 0, wall_ns = 0, descriptors = 0;
  unsigned steps = 1;
  std::vector<std::string> log;
};

OneHash hash(Options& o, const Bytes& data) {
  const Bytes key = parse_hex(o.key, "--key");
  const auto sizes = o.segments.empty() ? std::vector<size_t>{} : parse_sizes(o.segments, "--segments");
  const auto updates = o.updates.empty() ? std::vector<size_t>{} : parse_sizes(o.updates, "--updates");
  OneHash r;
  SessionOptions so = o.common.session();
  so.memory_bytes = std::max<size_t>(so.memory_bytes, data.size() * 3 + (size_t{32} << 20));
  Session session(so);
  session.run([&](Session& s) {
    auto t = transform(s, o, key, !updates.empty());
    r.driver = t->info().driver;
    r.composed = t->info().composed;
    r.digest.resize(t->info().digest_bytes);
    const auto before = s.mark();
    const uint64_t descriptors = s.descriptors();
    auto step = [&](Status (crypto::Hash::*f)(crypto::HashRequest&), size_t at, size_t n, crypto::HashState* state) {
      Layout l(s.platform().dma(), n, sizes);
      crypto::copy_to(&l.list, 0, data.data() + at, n);
      Wait w;
      crypto::HashRequest q{.src = &l.list, .size_bytes = n, .digest = r.digest.data(), .state = state, .flags = crypto::kMayBacklog | crypto::kMaySleep, .complete = &Wait::complete, .context = &w};
      const Status st = ((*t).*f)(q);
      if (accepted(st)) t->flush();
      return finish(s, st, w);
    };
    if (updates.empty()) {
      r.status = step(&crypto::Hash::digest, 0, data.size(), nullptr);
    } else {
      auto state = t->make_state();
      if (!state) throw SetupError(fmt::format("--updates: {} hashes at once only; leave the option out", r.driver));
      r.status = t->init(*state);
      size_t at = 0;
      for (size_t i = 0; r.status == Status::Ok && at < data.size(); ++i, ++r.steps) {
        const size_t n = std::min(updates[i % updates.size()], data.size() - at);
        r.status = step(&crypto::Hash::update, at, n, state.get());
        at += n;
      }
      if (r.status == Status::Ok) r.status = step(&crypto::Hash::final, data.size(), 0, state.get());
    }
    const auto after = s.mark();
    r.sim_ns = (after.sim_ps - before.sim_ps) / 1000;
    r.wall_ns = after.wall_ns - before.wall_ns;
    r.descriptors = s.descriptors() - descriptors;
    r.log = s.platform().warnings();
  });
  return r;
}

struct CheckedHash final : ManyJob {
  Session& s;
  const Options& o;
  crypto::Hash& t;
  const Bytes& key;
  const std::vector<size_t>&sizes, &segments;
  std::optional<Layout> layout;
  crypto::HashRequest q;
  Bytes data, digest, want;
  CheckedHash(Session& session, const Options& options, crypto::Hash& hash, const Bytes& k, const std::vector<size_t>& lengths, const std::vector<size_t>& seg)
      : s(session), o(options), t(hash), key(k), sizes(lengths), segments(seg) {}
  uint64_t bytes() const override { return data.size(); }
  Status submit(uint64_t number, Wait& w) override {
    data.resize(sizes[number % sizes.size()]);
    fill_numbered(data.data(), data.size(), o.common.seed, number, 1);
    auto expected = evp_digest(t.info().name, key, data);
    if (!expected) throw SetupError(fmt::format("--many: OpenSSL cannot check {}; choose another algorithm, or send single requests", t.info().name));
    want = std::move(*expected);
    digest.assign(t.info().digest_bytes, 0xee);
    layout.reset();
    layout.emplace(s.platform().dma(), data.size(), segments);
    crypto::copy_to(&layout->list, 0, data.data(), data.size());
    q = {.src = &layout->list, .size_bytes = data.size(), .digest = digest.data(), .state = nullptr, .flags = crypto::kMayBacklog | crypto::kMaySleep, .complete = &Wait::complete, .context = &w};
    return t.digest(q);
  }
  std::string check(uint64_t, Status) override {
    return digest == want ? "" : fmt::format("{} bytes, the digest is {}, OpenSSL says {}", data.size(), to_hex(digest.data(), digest.size()), to_hex(want.data(), want.size()));
  }
};

int hash_many(Options& o) {
  for (const auto& [given, option] : {std::pair{!o.updates.empty(), "--updates"}, {o.in != "-", "--in"}})
    if (given) throw SetupError(fmt::format("{}: --many makes its data itself, from --seed, and hashes it at once; leave the option out", option));
  const auto sizes = parse_sizes(o.sizes.empty() ? "1024" : o.sizes, "--sizes");
  for (size_t n : sizes)
    if (n > (size_t{1} << 20)) throw SetupError(fmt::format("--sizes: {} bytes is more than the 1048576 that --many takes", n));
  const auto segments = o.segments.empty() ? std::vector<size_t>{} : parse_sizes(o.segments, "--segments");
  const Bytes key = parse_hex(o.key, "--key");
  SessionOptions so = o.common.session();
  so.memory_bytes = std::max<size_t>(so.memory_bytes, (*std::max_element(sizes.begin(), sizes.end()) * 2 + 8192) * o.depth + (size_t{32} << 20));
  Session session(so);
  ManyResult r;
  std::string driver;
  session.run([&](Session& s) {
    auto t = transform(s, o, key, false);
    driver = t->info().composed.empty() ? t->info().driver : fmt::format("{} ({})", t->info().driver, t->info().composed);
    std::vector<std::unique_ptr<ManyJob>> slots;
    for (unsigned i = 0; i < o.depth; ++i) slots.push_back(std::make_unique<CheckedHash>(s, o, *t, key, sizes, segments));
    r = run_many(s, o.many, std::move(slots), [&] { t->flush(); });
  });
  return report_many(r, driver, o.common.fidelity, o.common.json);
}

int run_hash(Options& o) {
  if (o.many) return hash_many(o);
  for (const auto& [given, option] : {std::pair{!o.sizes.empty(), "--sizes"}, {o.depth != 1, "--depth"}})
    if (given) throw SetupError(fmt::format("{}: only --many has a use for it", option));
  const OneHash r = hash(o, read_input(o.in, "--in"));
  const bool ok = r.status == Status::Ok;
  if (o.common.json) {
    nlohmann::json j{{"status", errno_name(r.status)}, {"driver", r.driver}, {"digest", ok ? to_hex(r.digest.data(), r.digest.size()) : ""}, {"steps", r.steps}, {"sim_time_ns", r.sim_ns},
                     {"wall_time_ns", r.wall_ns}, {"descriptors", r.descriptors}};
    if (!r.composed.empty()) j["composed"] = r.composed;
    fmt::print("{}\n", j.dump());
  } else if (ok) {
    fmt::print("{}\n", to_hex(r.digest.data(), r.digest.size()));
  }
  if (!ok) {
    fmt::print(stderr, "secsim: {}: {} refused the request or it failed\n", errno_name(r.status), r.driver);
    for (const std::string& l : r.log) fmt::print(stderr, "  {}\n", l);
  }
  return ok ? 0 : 1;
}

}  // namespace

void add_hash(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("hash", "A digest or HMAC through driver and engine, at once or in steps, or many that check themselves");
  auto o = std::make_shared<Options>();
  o->common.add(*sub);
  sub->add_option("--alg", o->alg, "algorithm, e.g. sha256 or hmac(sha1), or a driver name")->required();
  sub->add_option("--driver", o->driver, "exactly this implementation, e.g. sha256-openssl");
  sub->add_option("--key", o->key, "key in hex");
  sub->add_option("--updates", o->updates, "hash in steps: sizes of the updates, used in turn until all bytes are in, then a final step");
  sub->add_option("--segments", o->segments, "segment sizes, used in turn until all bytes of a step are placed");
  sub->add_option("--in", o->in, "input file, - for standard input")->capture_default_str();
  sub->add_option("--many", o->many, "this many numbered messages instead, every digest checked against OpenSSL")->check(CLI::Range(1, 10'000'000));
  sub->add_option("--depth", o->depth, "--many: requests in flight")->capture_default_str()->check(CLI::Range(1, 4096));
  sub->add_option("--sizes", o->sizes, "--many: sizes in bytes, used in turn; default 1024");
  sub->callback([&c, o] { c.run = [o] { return run_hash(*o); }; });
}

}  // namespace sec::host::cli
