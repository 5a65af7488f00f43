// One point of a comparison: a workload at one size, run one way, and what came out as JSON. The same workload code runs
// on the engine (simulated), on the profile's processor (simulated) and on this machine (wall time).
//
// Every result says which kind of time it is in: names begin with sim_ or wall_.
//   sim_mbit_s / wall_mbit_s   10^6 bit/s of workload data (inner packets, sectors)
//   host_load                  share of simulated time in which the profile's processor was busy
//   busy                       shares of simulated time: cpu, bus, the busiest channel, each unit (computing) and unit_held
//   bottleneck                 the name of what limits, with its share
//   confidence                 share of the attributed simulated time by the confidence of its constants: H, M, L
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "host/configs/cpu_profile.h"
#include "host/session/session.h"

namespace sec::host {

enum class Way : uint8_t { Engine, CpuProfile, CpuSingle, CpuMulti };

struct PointOptions {
  SessionOptions session;
  uint64_t seed = 1;
  unsigned associations = 4;   // SAs or volumes: transforms, so that several channels work
  unsigned in_flight = 64;
  // speed
  std::string algorithm = "cbc(aes)";
  unsigned key_bits = 128;
  // esp
  std::string suite = "aes128-cbc-sha1";
  bool imix = false;
  // disk
  std::string cipher = "aes-cbc-essiv:sha256";
  unsigned sector_bytes = 512;
  bool per_bio = false;
  size_t size_bytes = 1400;    // packet or request
  uint64_t work_bytes = 2'000'000;  // roughly how much goes through
};

nlohmann::json run_speed_point(const PointOptions& o, Way way);
nlohmann::json run_esp_point(const PointOptions& o, Way way);
nlohmann::json run_disk_point(const PointOptions& o, Way way);

/// What the engine and the processor did between two marks, as shares of simulated time; merged into `out`.
void add_utilisation(nlohmann::json& out, const Session& s, const Session::Mark& a, const Session::Mark& b);

}  // namespace sec::host
