// One run's world: part, platform, engine, driver, CPU back ends and registry, wired from options. What the commands, the
// benchmarks and the end-to-end tests build on; the only place that knows all the pieces.
//
// A session of fidelity Approx elaborates SystemC, so there is one per process (programs fork for more).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/crypto/registry.h"
#include "driver/talitos/talitos.h"
#include "host/platforms/engine_platform.h"

namespace sec::trace {
class SignalSink;
}

namespace sec::host {

struct CpuProfile;
class FunctionalPlatform;
class TlmPlatform;
class EngineTracer;

enum class Fidelity : uint8_t { Functional, Approx };

struct SessionOptions {
  const regs::Part* part = &regs::default_part();
  Fidelity fidelity = Fidelity::Approx;
  const CpuProfile* cpu = nullptr;  // null: the host is free of charge
  std::vector<std::string> set;     // knob=value
  std::string trace_path;           // .fst or .vcd; approx only
  std::string trace_window;         // "10us:25us": only this part of simulated time
  size_t memory_bytes = EnginePlatform::kDefaultMemoryBytes;
  bool cpu_backends = true;         // register OpenSSL and ipsec-mb as well
  bool compositions = true;         // xts(aes) over the engine's ecb(aes), ...
  bool extras = true;               // what the engine can do beyond what Linux's driver offers
  bool selftest = true;
};

class Session {
 public:
  /// SetupError for an unknown knob, an unwritable trace file, ...
  explicit Session(const SessionOptions& options);
  ~Session();

  /// Probes the device, registers the algorithms, runs `body` and takes everything down again. Once.
  void run(const std::function<void(Session&)>& body);

  const SessionOptions& options() const { return options_; }
  const regs::Part& part() const { return *options_.part; }
  EnginePlatform& platform() { return *platform_; }
  TlmPlatform* tlm() { return tlm_; }                    // null on the functional path
  crypto::Registry& registry() { return *registry_; }
  driver::Device& device() { return *device_; }  // during run() only
  hw::Engine& engine() { return platform_->engine(); }
  const hw::Timing& timing() const { return timing_; }
  uint64_t sim_ns() { return platform_->sim_time_ps() / 1000; }
  /// Descriptors the engine has finished, well or not.
  uint64_t descriptors();

  /// Charges software crypto on the profile's processor: (algorithm name, bytes, multi-buffer).
  void charge_crypto(std::string_view algorithm, size_t bytes, bool batched = false);

  /// Start of the measured part: engine counters, meter and clock as they are now.
  struct Mark {
    hw::EngineCounters engine;
    driver::CpuMeter cpu;
    driver::DeviceStats device;
    uint64_t sim_ps = 0, cpu_busy_ps = 0, wall_ns = 0, clock = 0;
  };
  Mark mark();

 private:
  SessionOptions options_;
  hw::Timing timing_;
  std::unique_ptr<EnginePlatform> platform_;
  TlmPlatform* tlm_ = nullptr;
  std::unique_ptr<crypto::Registry> registry_;
  std::unique_ptr<driver::Device> device_;
  std::unique_ptr<EngineTracer> tracer_;
  bool ran_ = false;
};

}  // namespace sec::host
