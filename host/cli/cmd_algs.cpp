#include <cstdio>

#include <fmt/format.h>

#include "common/diag.h"
#include "driver/crypto/registry.h"
#include "host/cli/cli.h"

namespace sec::host::cli {
namespace {
std::string_view verdict(crypto::SelfTest t) {
  return t == crypto::SelfTest::Passed ? "passed" : t == crypto::SelfTest::Failed ? "failed" : "unknown";
}
nlohmann::json to_json(const crypto::AlgorithmInfo& a) {
  nlohmann::json j{{"name", a.name}, {"driver", a.driver}, {"module", a.module}, {"priority", a.priority}, {"refcnt", 1},
                   {"selftest", verdict(a.selftest)}, {"internal", a.internal ? "yes" : "no"},
                   {"type", a.type == crypto::AlgorithmType::Hash ? "ahash" : "skcipher"}, {"async", a.async ? "yes" : "no"},
                   {"blocksize", a.block_bytes}};
  if (a.type == crypto::AlgorithmType::Hash) {
    j["digestsize"] = a.digest_bytes;
  } else {
    const unsigned chunk = a.chunk_bytes ? a.chunk_bytes : a.block_bytes;
    j["min keysize"] = a.min_key_bytes;
    j["max keysize"] = a.max_key_bytes;
    j["ivsize"] = a.iv_bytes;
    j["chunksize"] = chunk;
    j["walksize"] = a.walk_bytes ? a.walk_bytes : chunk;
    j["statesize"] = 0;
  }
  return j;
}
}  // namespace

void add_algs(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("algs", "What the registry offers: the engine's algorithms and the CPU's");
  struct Options {
    CommonOptions common;
    std::string format = "table";
    bool engine_only = false;
  };
  auto o = std::make_shared<Options>();
  o->common.fidelity = "functional";
  o->common.add(*sub);
  sub->add_option("--format", o->format, "table, proc (as /proc/crypto) or json")->capture_default_str()->check(CLI::IsMember({"table", "proc", "json"}));
  sub->add_flag("--engine-only", o->engine_only, "only what the engine's driver registers");
  sub->callback([&c, o] {
    c.run = [o] {
      if (o->common.json) o->format = "json";
      Session session(o->common.session());
      std::vector<crypto::AlgorithmInfo> list;
      session.run([&](Session& s) { list = s.registry().list(); });
      if (o->engine_only) std::erase_if(list, [](const auto& a) { return a.module != "talitos"; });
      if (o->format == "json") {
        nlohmann::json j = nlohmann::json::array();
        for (const auto& a : list) j.push_back(to_json(a));
        fmt::print("{}\n", j.dump(2));
      } else if (o->format == "proc") {
        // The newest first, as the kernel lists them; an entry ends with its own empty line.
        for (auto it = list.rbegin(); it != list.rend(); ++it) fmt::print("{}", crypto::format_proc(*it));
      } else {
        fmt::print("{:<22} {:<30} {:<8} {:>8}  {:<8} {:>5} {:>9} {:>3}\n", "name", "driver", "module", "priority", "selftest", "block", "key", "iv");
        for (const auto& a : list)
          fmt::print("{:<22} {:<30} {:<8} {:>8}  {:<8} {:>5} {:>9} {:>3}\n", a.name, a.driver, a.module, a.priority, verdict(a.selftest), a.block_bytes,
                     a.type == crypto::AlgorithmType::Hash ? "-" : fmt::format("{}..{}", a.min_key_bytes, a.max_key_bytes),
                     a.type == crypto::AlgorithmType::Hash ? a.digest_bytes : a.iv_bytes);
      }
      return 0;
    };
  });
}

}  // namespace sec::host::cli
