// secsim algs: what the registry offers.
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

/// The lines of /proc/crypto as JSON, so that the two cannot differ; numbers as numbers. `composed` is ours and only there where it says something.
nlohmann::json to_json(const crypto::AlgorithmInfo& a) {
  nlohmann::json j = nlohmann::json::object();
  const std::string text = crypto::format_proc(a);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size()), colon = text.find(" : ", at);
    if (colon != std::string::npos && colon < end) {
      std::string key = text.substr(at, colon - at), value = text.substr(colon + 3, end - colon - 3);
      key.erase(key.find_last_not_of(' ') + 1);
      const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
      if (number)
        j[key] = std::stoull(value);
      else
        j[key] = value;
    }
    at = end + 1;
  }
  if (!a.composed.empty()) j["composed"] = a.composed;
  return j;
}

void print_table(const std::vector<crypto::AlgorithmInfo>& list) {
  fmt::print("{:<34} {:<38} {:<8} {:<8} {:>8}  {:<8} {:>5} {:>7} {:>3} {:>10}\n", "name", "driver", "module", "type", "priority", "selftest", "block", "key", "iv", "digest/tag");
  for (const auto& a : list) {
    const bool cipher = a.type == crypto::AlgorithmType::Skcipher, aead = a.type == crypto::AlgorithmType::Aead;
    fmt::print("{:<34} {:<38} {:<8} {:<8} {:>8}  {:<8} {:>5} {:>7} {:>3} {:>10}\n", a.name, a.driver, a.module, cipher ? "skcipher" : aead ? "aead" : "hash", a.priority, verdict(a.selftest),
               a.block_bytes, cipher ? fmt::format("{}..{}", a.min_key_bytes, a.max_key_bytes) : "-", cipher || aead ? std::to_string(a.iv_bytes) : "-",
               cipher ? "-" : std::to_string(aead ? a.max_auth_bytes : a.digest_bytes));
    if (!a.composed.empty()) fmt::print("{:<34} composed: {}\n", "", a.composed);
  }
}
}  // namespace

void add_algs(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("algs", "What the registry offers: the engine's algorithms and the CPU's");
  struct Options {
    CommonOptions common;
    std::string format = "table";
    bool engine_only = false, parity = false;
  };
  auto o = std::make_shared<Options>();
  o->common.fidelity = "functional";
  o->common.add(*sub);
  sub->add_option("--format", o->format, "table, proc (as /proc/crypto) or json (the fields of proc)")->capture_default_str()->check(CLI::IsMember({"table", "proc", "json"}));
  sub->add_flag("--engine-only", o->engine_only, "only what the engine's driver registers");
  sub->add_flag("--parity", o->parity, "only what Linux's driver registers on this part: no extras, nothing composed, nothing of the CPU");
  sub->callback([&c, o] {
    c.run = [o] {
      if (o->common.json) o->format = "json";
      SessionOptions so = o->common.session();
      if (o->parity) so.extras = so.compositions = so.cpu_backends = false;
      Session session(so);
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
        print_table(list);
      }
      return 0;
    };
  });
}

}  // namespace sec::host::cli
