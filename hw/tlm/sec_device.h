// The engine as a SystemC module: a TLM target socket for the register window, a TLM initiator socket to
// memory, and two level interrupt lines. One SC_METHOD and one event are the whole shell; the engine inside is
// plain C++ (hw/timing/timed_engine.h) and runs ahead of the kernel as far as nobody else can act.
//
// * Registers: b_transport with 4 or 8 bytes, big-endian on the wire as the bus has them, aligned; transport_dbg for peeking.
//   The delay argument must be zero (generic error response otherwise): initiators that run ahead synchronise first
//   (a driver's register access is a synchronisation point anyway).
// * Memory: regions are taken as DMI pointers at the start of simulation. Somebody else who reads memory
//   while descriptors run must call `synchronize()` first, so that everything written by then is there.
// * Interrupts: `on_interrupt(line, level)` is a direct call (made at the simulated time of the change). Benches that
//   want signals call drive_signals(): `irq[line]` then follows, at the price of a kernel activation per change.
//
// One synchronisation point: every access first brings the engine to the current clock.
#pragma once
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <functional>

#include "hw/timing/timed_engine.h"

namespace sec::hw {

class SecDevice : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket_optional<SecDevice> registers{"registers"};
  tlm_utils::simple_initiator_socket_optional<SecDevice> memory{"memory"};
  /// Written by whichever process causes the change: ours (a completion) or the initiator's (an acknowledgement).
  using IrqSignal = sc_core::sc_signal<bool, sc_core::SC_MANY_WRITERS>;
  IrqSignal irq[2] = {IrqSignal("irq0"), IrqSignal("irq1")};

  SecDevice(sc_core::sc_module_name name, const regs::Part& part, const Timing& timing);
  SC_HAS_PROCESS(SecDevice);

  /// Register access without a transaction: same effect, same moment.
  uint32_t read32(uint32_t offset) {
    synchronize();
    const uint32_t v = engine_.read32(offset);
    after_access();
    return v;
  }
  void write32(uint32_t offset, uint32_t value) {
    synchronize();
    engine_.write32(offset, value);
    after_access();
  }
  /// Brings the engine to the current simulated time and memory with it.
  void synchronize();
  void publish() {
    synchronize();
    engine_.publish();
  }

  /// Called when a line changes, at that time and outside of any engine code.
  std::function<void(unsigned line, bool level)> on_interrupt;

  TimedEngine& engine() { return engine_; }
  MemoryMap& memory_map() { return memory_map_; }
  /// Called with the current time before the trace may be written up to it.
  std::function<void(uint64_t time_ps)> on_commit;
  /// Kernel activations of the engine's own process.
  uint64_t activations() const { return activations_; }
  void drive_signals() { drive_signals_ = true; }
  /// Off: the engine never runs ahead (needed when other OS threads inject work at arbitrary moments).
  void set_run_ahead(bool on) { run_ahead_ = on; }
  Clock clock_now() const { return sc_core::sc_time_stamp().value() / period_ps_; }

 protected:
  void start_of_simulation() override;

 private:
  void pump();
  void after_access();
  void deliver();
  void b_transport(tlm::tlm_generic_payload& p, sc_core::sc_time& delay);
  unsigned transport_dbg(tlm::tlm_generic_payload& p);
  void arm(Clock at);

  MemoryMap memory_map_;
  TimedEngine engine_;
  const uint64_t period_ps_;
  sc_core::sc_event wake_;
  Clock armed_ = kNever;
  uint32_t seen_lines_ = 0;
  bool pumping_ = false, run_ahead_ = true, drive_signals_ = false;
  uint64_t activations_ = 0;
};

}  // namespace sec::hw
