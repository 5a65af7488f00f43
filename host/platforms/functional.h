// The functional platform: driver and engine without time. A descriptor has run when the register write that
// enqueues it returns; the interrupt is delivered when the outermost register write of the driver returns, or
// later with `hold_interrupts`, which coalesces them as a busy system would.
#pragma once
#include <atomic>

#include "host/platforms/engine_platform.h"
#include "hw/core/functional.h"

namespace sec::host {

class FunctionalPlatform final : public EnginePlatform {
 public:
  explicit FunctionalPlatform(const regs::Part& part, size_t memory_bytes = kDefaultMemoryBytes, const hw::Timing* timing = nullptr);

  uint32_t read32(uint32_t offset) override {
    cpu_.charge(driver::Cost::MmioRead);
    const uint32_t v = engine_.read32(offset);
    if (on_access) [[unlikely]] on_access({false, offset, v});
    return v;
  }
  void write32(uint32_t offset, uint32_t value) override {
    cpu_.charge(driver::Cost::MmioWrite);
    if (on_access) [[unlikely]] on_access({true, offset, value});
    engine_.write32(offset, value);
    if (engine_.lines() && !in_service_ && (!held_ || engine_.counters().descriptors - last_ >= kMostHeld)) deliver();
  }
  void sync_for_cpu() override {}
  void relax(uint64_t ns) override;
  uint64_t now_ns() override { return now_ns_; }
  bool wait_until(Condition done, void* context) override;
  hw::Engine& engine() override { return engine_; }
  uint64_t sim_time_ps() override { return 0; }
  std::string_view fidelity() const override { return "functional"; }
  void expect_threads(bool on) override { threads_ = on; }
  void notify_from_thread() override {
    bell_.fetch_add(1, std::memory_order_seq_cst);
    bell_.notify_one();
  }

  /// On: interrupts wait for deliver(), relax(), wait_until() or the eighth finished descriptor (well below the fifteen
  /// that the engine can store per channel).
  void hold_interrupts(bool on) { held_ = on; }
  void deliver();

 private:
  static constexpr uint64_t kMostHeld = 8;
  hw::MemoryMap map_;
  hw::FunctionalEngine engine_;
  bool held_ = false, threads_ = false;
  std::atomic<uint64_t> bell_{0};
  uint64_t last_ = 0, now_ns_ = 0;
};

}  // namespace sec::host
