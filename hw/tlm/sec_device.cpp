#include "hw/tlm/sec_device.h"

#include "common/diag.h"
#include "hw/regs/map.h"

namespace sec::hw {

using sc_core::sc_time;

SecDevice::SecDevice(sc_core::sc_module_name name, const regs::Part& part, const Timing& timing)
    : sc_module(name), engine_(part, timing, memory_map_), period_ps_(engine_.clocks().period_ps) {
  registers.register_b_transport(this, &SecDevice::b_transport);
  registers.register_transport_dbg(this, &SecDevice::transport_dbg);
  SC_METHOD(pump);
  sensitive << wake_;
  dont_initialize();
}

/// Memory behind the initiator socket, as DMI pointers. Targets that give none are reached by bus errors only,
/// which is what an engine without memory would see.
void SecDevice::start_of_simulation() {
  if (memory.size() == 0) return;
  for (uint64_t at = 0; at < uint64_t{1} << 36;) {
    tlm::tlm_generic_payload p;
    tlm::tlm_dmi dmi;
    p.set_address(at);
    const bool got = memory->get_direct_mem_ptr(p, dmi);
    if (got && dmi.is_read_write_allowed())
      memory_map_.add_region(dmi.get_start_address(), dmi.get_end_address() - dmi.get_start_address() + 1, dmi.get_dmi_ptr());
    const uint64_t next = dmi.get_end_address() + 1;
    if (next <= at) break;
    at = next;
  }
}

void SecDevice::synchronize() {
  if (pumping_ && engine_.now() >= clock_now()) return;  // pump() has done it, and nothing can happen twice on a clock
  const Clock target = clock_now();
  while (engine_.run(target)) SEC_CHECK(engine_.now() >= target || pumping_, "an interrupt was found too late");
  engine_.set_now(target);
}

/// A register access may have changed a line or given the engine work.
void SecDevice::after_access() {
  if (pumping_) return;  // pump() looks at both when it is back
  if (const uint32_t lines = engine_.lines(); lines != seen_lines_) {
    if (lines & ~seen_lines_) return arm(clock_now());  // a rising line is delivered by our own process
    deliver();
  }
  const Clock bound = engine_.next_visible();
  if (bound < armed_) arm(bound);
}

void SecDevice::arm(Clock at) {
  armed_ = at;
  const uint64_t t = at * period_ps_, now = sc_core::sc_time_stamp().value();
  wake_.cancel();
  if (t <= now)
    wake_.notify(sc_core::SC_ZERO_TIME);
  else
    wake_.notify(sc_time::from_value(t - now));
}

void SecDevice::deliver() {
  for (unsigned rounds = 0; engine_.lines() != seen_lines_; ++rounds) {
    SEC_CHECK(rounds < 100000, "interrupt line never settles");
    const uint32_t lines = engine_.lines(), changed = lines ^ seen_lines_;
    seen_lines_ = lines;
    for (unsigned l = 0; l < 2; ++l) {
      if (!(changed >> l & 1)) continue;
      if (drive_signals_) irq[l].write(lines >> l & 1);
      if (on_interrupt) on_interrupt(l, lines >> l & 1);
    }
  }
}

void SecDevice::pump() {
  ++activations_;
  pumping_ = true;
  armed_ = kNever;
  synchronize();
  deliver();  // software may answer at once, with register accesses
  Clock wake = kNever;
  if (run_ahead_) {
    const sc_time pending = sc_core::sc_time_to_pending_activity(sc_core::sc_get_curr_simcontext());
    const uint64_t horizon = sc_core::sc_time_stamp().value() + pending.value();
    const Clock limit = pending == sc_core::sc_max_time() - sc_core::sc_time_stamp() ? kNever - 1 : horizon / period_ps_;
    if (limit > engine_.now() && engine_.run(std::min(limit, kNever - 1))) wake = engine_.now();
  }
  if (wake == kNever) wake = engine_.next_visible();
  pumping_ = false;
  if (on_commit) on_commit(sc_core::sc_time_stamp().value());
  if (wake < kNever) arm(wake);
}

void SecDevice::b_transport(tlm::tlm_generic_payload& p, sc_time& delay) {
  const uint64_t at = p.get_address();
  const unsigned n = p.get_data_length();
  p.set_dmi_allowed(false);
  if (at >= engine_.part().window_bytes || n > engine_.part().window_bytes - at) return p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  if ((n != 4 && n != 8) || at % n || p.get_streaming_width() < n) return p.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
  if (p.get_byte_enable_ptr()) return p.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  if (delay != sc_core::SC_ZERO_TIME) return p.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);  // has not synchronised
  if (!p.is_write() && !p.is_read()) return p.set_response_status(tlm::TLM_OK_RESPONSE);
  uint8_t* d = p.get_data_ptr();
  for (unsigned i = 0; i < n; i += 4) {
    if (p.is_write())
      write32(static_cast<uint32_t>(at + i), load_be32(d + i));
    else
      store_be32(d + i, read32(static_cast<uint32_t>(at + i)));
  }
  p.set_response_status(tlm::TLM_OK_RESPONSE);
}

unsigned SecDevice::transport_dbg(tlm::tlm_generic_payload& p) {
  const uint64_t at = p.get_address();
  const unsigned n = p.get_data_length();
  if (!p.is_read() || at % 4 || at >= engine_.part().window_bytes || n > engine_.part().window_bytes - at) return 0;
  synchronize();
  for (unsigned i = 0; i + 4 <= n; i += 4) store_be32(p.get_data_ptr() + i, engine_.peek32(static_cast<uint32_t>(at + i)));
  return n / 4 * 4;
}

}  // namespace sec::hw
