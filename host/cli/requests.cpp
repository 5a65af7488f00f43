#include "host/cli/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/diag.h"

namespace sec::host::cli {

Layout::Layout(driver::DmaSpace& dma, size_t bytes, const std::vector<size_t>& sizes, const std::string& option) : dma_(dma) {
  constexpr size_t kGap = 3;  // so that segments are neither adjacent nor aligned
  std::vector<size_t> cut;
  for (size_t left = bytes, i = 0; left;) {
    const size_t n = sizes.empty() ? left : std::min(left, sizes[i++ % sizes.size()]);
    cut.push_back(n);
    left -= n;
  }
  block_ = dma.alloc(bytes + kGap * (cut.size() + 1) + 64, 64);
  if (!block_) throw SetupError(fmt::format("{}: {} bytes do not fit into the simulated memory", option, bytes));
  auto* p = static_cast<uint8_t*>(block_);
  for (size_t n : cut) {
    segments.push_back({p, n});
    p += n + (cut.size() > 1 ? kGap : 0);
  }
  list = {segments.data(), segments.size()};
}
Layout::~Layout() { dma_.free(block_); }

Status finish(Session& s, Status submitted, Wait& w) {
  if (!accepted(submitted)) return submitted;
  if (!s.platform().wait_until([](void* c) { return static_cast<Wait*>(c)->done; }, &w)) return Status::TimedOut;
  return w.status;
}

std::string names_of(const crypto::Registry& r, crypto::AlgorithmType t) {
  std::vector<std::string> names;
  for (const auto& a : r.list())
    if (a.type == t && std::find(names.begin(), names.end(), a.name) == names.end()) names.push_back(a.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

ManyResult run_many(Session& s, uint64_t count, std::vector<std::unique_ptr<ManyJob>> slots, const std::function<void()>& flush) {
  struct Slot {
    ManyJob* job;
    Wait wait;
  };
  std::vector<Slot> ring;
  for (auto& j : slots) ring.push_back({.job = j.get(), .wait = {}});
  ManyResult r;
  const auto before = s.mark();
  const uint64_t descriptors = s.descriptors();
  auto problem = [&](uint64_t number, const std::string& what) {
    if (r.first_problem.empty()) r.first_problem = fmt::format("request {}: {}", number, what);
  };
  uint64_t next = 0, oldest = 0;  // numbers
  uint64_t completions = 0, last_order = 0;
  while (oldest < count) {
    while (next < count && next - oldest < ring.size()) {
      Slot& slot = ring[next % ring.size()];
      slot.wait = {};
      slot.wait.completions = &completions;
      const Status st = slot.job->submit(next, slot.wait);
      if (!accepted(st)) slot.wait.end(st);
      ++next;
    }
    Slot& first = ring[oldest % ring.size()];
    if (!first.wait.done) {
      flush();
      if (!s.platform().wait_until([](void* c) { return static_cast<Wait*>(c)->done; }, &first.wait)) first.wait.status = Status::TimedOut;
    }
    r.bytes += first.job->bytes();
    ++r.requests;
    if (first.wait.status != Status::Ok) {
      ++r.failed;
      problem(oldest, std::string(errno_name(first.wait.status)));
      if (first.wait.status == Status::TimedOut) break;
    } else if (const std::string why = first.job->check(oldest, first.wait.status); !why.empty()) {
      ++r.mismatches;
      problem(oldest, why);
    }
    if (first.wait.order < last_order) {  // requests of one transform complete in the order in which they were made
      ++r.out_of_order;
      problem(oldest, "completed before an earlier one");
    }
    last_order = first.wait.order;
    ++oldest;
  }
  const auto after = s.mark();
  r.sim_ns = (after.sim_ps - before.sim_ps) / 1000;
  r.wall_ns = after.wall_ns - before.wall_ns;
  r.descriptors = s.descriptors() - descriptors;
  r.interrupts = after.device.interrupts - before.device.interrupts;
  return r;
}

int report_many(const ManyResult& r, const std::string& driver, const std::string& fidelity, bool json) {
  const double mbit = r.sim_ns ? static_cast<double>(r.bytes) * 8e3 / static_cast<double>(r.sim_ns) : 0;
  if (json) {
    nlohmann::json j{{"status", r.ok() ? "ok" : "failed"}, {"driver", driver}, {"fidelity", fidelity}, {"requests", r.requests}, {"bytes", r.bytes}, {"failed", r.failed},
                     {"mismatches", r.mismatches}, {"sim_time_ns", r.sim_ns}, {"wall_time_ns", r.wall_ns}, {"descriptors", r.descriptors}, {"interrupts", r.interrupts}};
    if (r.sim_ns) j["sim_mbit_s"] = mbit;
    if (!r.ok()) j["first_problem"] = r.first_problem;
    fmt::print("{}\n", j.dump());
  } else {
    fmt::print("{}: {} requests, {} bytes, {} failed, {} differ from OpenSSL\n", driver, r.requests, r.bytes, r.failed, r.mismatches);
    if (r.sim_ns) fmt::print("simulated {:.3f} us, {:.1f} Mbit/s; ", static_cast<double>(r.sim_ns) / 1e3, mbit);
    fmt::print("{} descriptors, {} interrupts\n", r.descriptors, r.interrupts);
  }
  std::fflush(stdout);
  if (!r.ok()) fmt::print(stderr, "secsim: {}\n", r.first_problem);
  return r.ok() ? 0 : 1;
}

void fill_numbered(uint8_t* p, size_t n, uint64_t seed, uint64_t number, uint64_t what) {
  uint64_t state = seed * 0x9e3779b97f4a7c15 ^ (number + 1) * 0xbf58476d1ce4e5b9 ^ what * 0x94d049bb133111eb;
  for (size_t i = 0; i < n; i += 8) {  // splitmix64
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    z ^= z >> 31;
    for (size_t k = 0; k < 8 && i + k < n; ++k) p[i + k] = static_cast<uint8_t>(z >> 8 * k);
  }
}

}  // namespace sec::host::cli
