// What the reports of the workload commands share: settings, simulated time, latency, what engine and processor did.
// JSON first; the table is printed from the same values, so the two cannot differ. Time on the machine that runs the
// simulation is only ever in fields named wall_*: everything else is the same in two runs with one seed.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host/cli/cli.h"

namespace sec::host::cli {

/// Part, fidelity, profile, seed and knobs of a run.
nlohmann::json settings_json(const CommonOptions& o);

/// What happened between two marks: simulated and wall time, busy share of the host, descriptors, bytes per channel.
nlohmann::json machine_json(Session& s, const Session::Mark& before, const Session::Mark& after);

/// Simulated time as the processor sees it: what it has been charged for but has not waited for yet is part of it. With a
/// software cipher nothing else would move the clock between two packets.
uint64_t processor_ns(Session& s);

/// {"count", "p50_ns", "p99_ns", "max_ns"}; null without values.
nlohmann::json latency_json(std::vector<uint64_t> ns);

/// Megabits and megabytes (10^6) per second of simulated time; 0 when no time has passed.
double mbit_per_s(uint64_t bytes, uint64_t ns);
double mb_per_s(uint64_t bytes, uint64_t ns);

/// The implementation that a lookup by this name gives: by algorithm name the best, by driver name that one. Null if none.
const crypto::AlgorithmInfo* find_implementation(const std::vector<crypto::AlgorithmInfo>& list, const std::string& name,
                                                 crypto::AlgorithmType type, bool without_allocation = false);
/// True for implementations that run on the processor and do not charge it themselves.
bool is_software(const crypto::AlgorithmInfo& a);

/// One line "name  value" of a table.
void row(const char* name, const std::string& value);
/// The rows that settings_json and machine_json make.
void print_settings(const nlohmann::json& settings);
void print_machine(const nlohmann::json& machine);
std::string latency_text(const nlohmann::json& latency);

}  // namespace sec::host::cli
