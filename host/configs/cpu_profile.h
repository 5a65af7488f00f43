// Processor profiles: what the host side of a run costs, in nanoseconds of simulated time.
//
// A profile has a cost for every named action of the driver and the workloads (driver/platform/cpu_meter.h), and for software
// crypto a fixed cost per request and a cost per byte, for single requests and for multi-buffer batches. Every figure carries its
// source and a confidence: 'H' measured or vendor, 'M' one source or an inference from one, 'L' assumed.
//
// Built in: "free" (the host costs nothing: pure engine figures) and "p2020" (e500v2 at 1.2 GHz). "this-host" is written by
// `secsim calibrate` as TOML and read back; any file of that form can be named instead.
#pragma once
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "driver/platform/cpu_meter.h"

namespace sec::host {

struct CostFigure {
  double ns = 0;
  char confidence = 'L';
  std::string source;
};

/// Software crypto on this processor.
struct CryptoFigure {
  double fixed_ns = 0, ns_per_byte = 0;              // one request at a time
  double batch_fixed_ns = 0, batch_ns_per_byte = 0;  // full multi-buffer lanes; equal to the above where there are none
  char confidence = 'L';
  std::string source;
  double single_ns(size_t bytes) const { return fixed_ns + ns_per_byte * static_cast<double>(bytes); }
  double batch_ns(size_t bytes) const { return batch_fixed_ns + batch_ns_per_byte * static_cast<double>(bytes); }
};

struct CpuProfile {
  std::string name, description;
  double clock_hz = 0;
  std::array<CostFigure, driver::kCostCount> cost;
  /// Keyed by algorithm and key bits where they matter: "cbc(aes)-128", "cbc(des3_ede)", "hmac(sha1)".
  std::map<std::string, CryptoFigure, std::less<>> crypto;

  CostFigure& operator[](driver::Cost c) { return cost[static_cast<size_t>(c)]; }
  const CostFigure& operator[](driver::Cost c) const { return cost[static_cast<size_t>(c)]; }
  /// Puts the costs into a meter.
  void apply(driver::CpuMeter& m) const;
  /// The figure for an algorithm; null when the profile has none.
  const CryptoFigure* find_crypto(std::string_view algorithm, unsigned key_bits = 0) const;
  bool free() const;
};

/// "free", "p2020", "this-host" or the path of a TOML file. SetupError when it is neither or cannot be read.
CpuProfile load_cpu_profile(std::string_view name_or_path);
/// Where `secsim calibrate` writes and "this-host" is read from: $XDG_CONFIG_HOME/secsim/this-host.toml or ~/.config/...
std::string this_host_profile_path();
std::string to_toml(const CpuProfile& p);

}  // namespace sec::host
