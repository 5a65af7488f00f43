// The SystemC platform: driver, processor model and engine in simulated time.
//
// One processor runs everything of the host: the application (`run`), the interrupt handlers and the tasks. What they
// do is charged to the CpuMeter; at each synchronisation point (register access, look at a done byte, wait) the charged
// time passes. ASSUMED: interrupts are taken between operations of the driver, never inside one.
//
// With a profile that costs nothing, handlers run as a direct call from the engine's process, and no thread switch is
// spent on an interrupt.
//
// SystemC elaborates once per process: one TlmPlatform per process. Programs that need several runs fork (host/measure).
#pragma once
#include <systemc>

#include "host/platforms/engine_platform.h"
#include "hw/tlm/sec_device.h"

namespace sec::host {

/// System memory: a TLM target that gives out DMI pointers and counts nothing; latency and bandwidth are the engine's
/// knobs (hw/timing/costs.h), since only the engine's accesses take time here.
class SystemMemory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<SystemMemory> socket{"socket"};
  SystemMemory(sc_core::sc_module_name name, driver::DmaSpace& space);
  /// Called before somebody other than the engine reads.
  std::function<void()> before_access;

 private:
  void b_transport(tlm::tlm_generic_payload& p, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& p, tlm::tlm_dmi& dmi);
  unsigned transport_dbg(tlm::tlm_generic_payload& p);
  driver::DmaSpace& space_;
};

class TlmPlatform final : public EnginePlatform, public sc_core::sc_module {
 public:
  TlmPlatform(const regs::Part& part, const hw::Timing& timing, size_t memory_bytes = kDefaultMemoryBytes);
  SC_HAS_PROCESS(TlmPlatform);

  /// Runs `body` as the application until it returns, in simulated time. Once per process. False when the body waited
  /// for something that could not come any more (it was told so by wait_until).
  void run(std::function<void()> body);
  ~TlmPlatform() override;

  uint32_t read32(uint32_t offset) override;
  void write32(uint32_t offset, uint32_t value) override;
  void sync_for_cpu() override {
    pass_charged_time();
    if (!cpu_free_) device_.synchronize();
  }
  void relax(uint64_t ns) override;
  uint64_t now_ns() override { return sc_core::sc_time_stamp().value() / 1000; }
  bool wait_until(Condition done, void* context) override;
  hw::Engine& engine() override { return device_.engine(); }
  uint64_t sim_time_ps() override { return sc_core::sc_time_stamp().value(); }
  std::string_view fidelity() const override { return "approx"; }
  hw::SecDevice& device() { return device_; }
  /// What the processor does, for traces.
  enum class CpuState : uint8_t { Idle, App, Irq };
  std::function<void(uint64_t time_ps, CpuState)> on_cpu_state;

  /// Lets the charged time pass now.
  void pass_charged_time();
  /// Call after the profile has been put into cpu(): chooses between direct calls and the processor model.
  void profile_changed();
  /// Simulated time in which the processor was busy.
  uint64_t cpu_busy_ps() const { return cpu_busy_ps_; }
  /// Sleeps until the given time (an application with nothing to do); interrupts are served meanwhile.
  void sleep_until_ps(uint64_t t);
  void notify_from_thread() override;
  /// Keeps the simulation alive while other threads may still send something.
  void expect_threads(bool on) override;
  /// Kernel activations: the engine's process and the processor's.
  uint64_t kernel_events() const { return device_.activations() + cpu_wakes_; }

 private:
  class ThreadDoor;
  void cpu_state(CpuState s) {
    if (on_cpu_state) [[unlikely]] on_cpu_state(sim_time_ps(), s);
  }
  void processor();
  void deliver();
  void on_interrupt();
  bool quiet() const;

  SystemMemory memory_;
  hw::SecDevice device_;
  std::function<void()> body_;
  sc_core::sc_event wake_;
  Condition waiting_ = nullptr;
  void* waiting_context_ = nullptr;
  bool cpu_free_ = true, sleeping_ = false, finished_ = false, starved_ = false, threads_ = false;
  uint64_t cpu_busy_ps_ = 0, cpu_wakes_ = 0;
  std::unique_ptr<ThreadDoor> door_;
};

}  // namespace sec::host
