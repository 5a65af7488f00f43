// The engine without time: registers, interrupts, channels' state and execution units. Everything that
// software can see and that does not depend on when. Two executors derive from it:
//   FunctionalEngine (hw/core/functional.h)      a descriptor runs to completion at the doorbell
//   TimedEngine      (hw/timing/timed_engine.h)  SEC clocks, bus bursts, FIFOs, arbitration
// The descriptor engine itself (hw/core/channel.h) is written once and used by both.
//
// Register access is by 32-bit halves (HI at the register's offset, LO at +4), as the drivers do.
//
// Interrupt model [MOC][LX]: each channel stores up to 15 done events; ISR shows done while one is stored, one ICR
// write takes one off, the sixteenth sets the channel's overflow bit. A line is up while an enabled bit of ISR is set.
// On SEC 3.x MCR[RCAn] moves channel n to the alternate register page and to line 1. A unit's own done and error bits show
// while software drives the unit itself.
//
// Generations: places and meanings come from hw/regs (controller.h, channel.h, map.h). SEC 1 also differs in what registers
// do: IMR masks, a channel remembers one done and keeps one descriptor address, units' control registers are
// byte-swapped, EUACR gives units away for good, MEAR keeps the address of the first bus error.
//
// ASSUMED: reserved space reads 0 and ignores writes, but for writes inside a unit's block (AE); with the knob
// engine.strict_reserved, every access to reserved space is an error: AE inside a unit's block, ITO elsewhere. ITO also
// ends accesses to units when the knob engine.unit_access_clocks exceeds 16. Resets take effect at once; SWR
// clears stored interrupts only when it is written a second time (erratum: "reset twice" [LX]).
// UNMODELLED: bus priority against other masters (MCR[PRIORITY]), GI.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/channel_state.h"
#include "hw/core/layouts.h"
#include "hw/core/memory_map.h"
#include "hw/eu/execution_unit.h"
#include "hw/regs/controller.h"
#include "hw/regs/variants.h"
#include "hw/timing/costs.h"

namespace sec::hw {

/// Things software did that the manual forbids or that we do not model, counted by name.
using Notes = std::map<std::string, uint64_t, std::less<>>;

/// Told of what happens inside, for traces. All calls carry the engine's clock.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void channel_state(uint64_t clock, unsigned channel, regs::ChannelState s) = 0;
  virtual void channel_descriptor(uint64_t clock, unsigned channel, BusAddr at, unsigned fifo_level) = 0;
  virtual void fetch_fifo(uint64_t clock, unsigned channel, unsigned level) = 0;
  /// The descriptor ended, well (error 0) or not; `clock` is that of the interrupt.
  virtual void descriptor_end(uint64_t clock, unsigned channel, BusAddr at, uint32_t error) = 0;
  virtual void unit_owner(uint64_t clock, regs::Eu unit, int channel) = 0;  // -1: free
  virtual void unit_fifo(uint64_t clock, regs::Eu unit, uint32_t in_bytes, uint32_t out_bytes, bool busy) = 0;
  virtual void bus(uint64_t clock, int channel, bool write, BusAddr addr, uint32_t size_bytes) = 0;  // channel -1: idle
  virtual void lines(uint64_t clock, uint32_t mask) = 0;
};

class Engine {
 public:
  static constexpr unsigned kMaxChannels = 4;

  Engine(const regs::Part& part, const Timing& timing, MemoryMap& memory);
  virtual ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  uint32_t read32(uint32_t offset) { return read32(offset, false); }
  /// What a read would return, without its side effects.
  uint32_t peek32(uint32_t offset) { return read32(offset, true); }
  void write32(uint32_t offset, uint32_t value);
  /// Bit n: interrupt line n is up.
  uint32_t lines() const { return lines_; }

  const regs::Part& part() const { return part_; }
  const Timing& timing() const { return timing_; }
  const Clocks& clocks() const { return clocks_; }
  MemoryMap& memory() { return memory_; }
  ChannelState& channel(unsigned n) { return channels_[n]; }
  const ChannelState& channel(unsigned n) const { return channels_[n]; }
  /// The unit with that code, null when the part has none or it is not modelled.
  ExecutionUnit* unit(regs::Eu code) { return units_[regs::unit_index(code)].get(); }
  /// Swaps a unit's implementation (RTL, test double). Before the first descriptor.
  void replace_unit(std::unique_ptr<ExecutionUnit> u);
  EngineCounters& counters() { return counters_; }
  const EngineCounters& counters() const { return counters_; }
  const Notes& notes() const { return notes_; }
  void note(std::string_view what) {
    auto it = notes_.find(what);
    if (it == notes_.end()) it = notes_.emplace(std::string(what), 0).first;
    ++it->second;
  }
  void set_observer(EngineObserver* o) { observer_ = o; }
  EngineObserver* observer() const { return observer_; }

  /// Test hook: the unit reports an internal error after so many bytes of the next descriptors on this channel.
  void inject_unit_error(unsigned channel, uint64_t after_bytes) { inject_[channel] = after_bytes; }
  uint64_t injected(unsigned channel) const { return inject_[channel]; }
  /// Test hook: the next descriptors on this channel never get beyond their start (until the channel is reset, or the watchdog ends
  /// them).
  void inject_hang(unsigned channel, bool on) { hang_ = on ? hang_ | 1u << channel : hang_ & ~(1u << channel); }
  bool hangs(unsigned channel) const { return hang_ >> channel & 1; }
  /// Test hook: so many of the next rises of an interrupt line are lost: the line stays down until what is pending for it has
  /// been acknowledged or disabled.
  void drop_interrupts(unsigned count) { drop_ = count; }

  // ---- called by the descriptor engine ----
  uint64_t translate(unsigned n, uint64_t address) const {  // EAE off: 32-bit addresses
    return channels_[n].config & eae_ ? address : address & 0xffffffffu;
  }
  void begin_descriptor(unsigned n, BusAddr at);
  /// Descriptor done; `notify`: NT/DN rules already applied.
  void channel_done(unsigned n, bool notify);
  void channel_failed(unsigned n, uint32_t error_bits);
  /// Error bits with an interrupt, and the channel goes on.
  void channel_warns(unsigned n, uint32_t error_bits);
  /// 0 when the part accepts this header, which is then taken apart in `d`; else the channel error.
  uint32_t check_header(uint32_t header, Decoded& d);
  void set_state(unsigned n, regs::ChannelState s, uint64_t clock) {
    channels_[n].state = s;
    if (observer_) [[unlikely]] observer_->channel_state(clock, n, s);
  }
  virtual uint64_t now() const = 0;  // SEC clock, 0 on the functional path
  virtual bool timed() const { return true; }
  /// An access of the engine's own failed at `at`: SEC 1 keeps the first one in MEAR. Before channel_failed().
  void bus_error(BusAddr at) {
    if (!mear_valid_) mear_ = static_cast<uint32_t>(at), mear_valid_ = true;
  }
  /// SEC 1: channel + 1 that EUACR gives the unit to, 0 when the controller may choose.
  unsigned assigned_to(regs::Eu eu) const {
    const int shift = regs::assignment_shift(part_.generation, eu);
    return part_.sec1() && shift >= 0 ? static_cast<unsigned>(euacr_ >> shift & 0xf) : 0;
  }
  /// MCR's priority counts of channels 2 and 3 (2.1 and later): weighted arbitration when both are non-zero. [MSC]
  bool has_priority_counts() const { return (mcr_ & 0x00ff0000) != 0; }
  unsigned unit_priority_count(unsigned channel) const { return priority_count(channel == 2 ? 22 : 20); }
  unsigned bus_priority_count(unsigned channel) const { return priority_count(channel == 2 ? 18 : 16); }

 protected:
  // Effects of register writes, executor by executor.
  virtual void doorbell(unsigned n) = 0;
  virtual void abandon(unsigned n) = 0;  // destroy the descriptor engine's state of the channel and start it anew
  virtual void restart(unsigned n) = 0;  // after a continue: look at the fetch FIFO again
  virtual void stop_all() {}             // before a reset of everything: nobody may profit from what others release

  void update_lines();

  const regs::Part& part_;
  Timing timing_;
  Clocks clocks_;
  MemoryMap& memory_;
  std::array<ChannelState, kMaxChannels> channels_;
  std::array<std::unique_ptr<ExecutionUnit>, 12> units_;
  EngineCounters counters_;
  EngineObserver* observer_ = nullptr;

 private:
  unsigned priority_count(unsigned shift) const { return part_.icv_writeback ? mcr_ >> shift & 3 : 0; }
  uint64_t enabled() const { return imr_ ^ imr_polarity_; }
  uint32_t read32(uint32_t offset, bool peek);
  uint32_t read_controller(uint32_t reg, bool low, bool peek);
  void write_controller(uint32_t reg, bool low, uint32_t value);
  uint32_t read_unit(unsigned code, uint32_t reg, bool peek);
  void write_unit(unsigned code, uint32_t reg, uint32_t value);
  void reserved(std::string_view what);
  void write_assignment(uint64_t value);
  uint64_t assignment_status() const;
  uint32_t read_channel(unsigned n, uint32_t reg, bool low, bool peek);
  void write_channel(unsigned n, uint32_t reg, bool low, uint32_t value);
  void enqueue(unsigned n, BusAddr at);
  void reset_channel(unsigned n, bool keep);
  void global_reset();
  uint64_t isr() const;
  bool find_channel(uint32_t offset, unsigned& n, uint32_t& reg) const;
  bool find_unit(uint32_t offset, unsigned& code, uint32_t& reg) const;

  static constexpr uint32_t eae_ = static_cast<uint32_t>(regs::kCCCR.mask("EAE"));
  std::array<uint8_t, kMaxChannels> done_count_{};
  uint64_t latched_ = 0;  // ISR bits other than done
  uint64_t imr_ = 0;
  uint32_t mcr_ = 0;      // HI word
  uint64_t euacr_ = 0;    // SEC 1
  uint32_t mear_ = 0;     // SEC 1
  bool mear_valid_ = false;
  uint32_t touched_ = 0;  // units whose registers software has accessed: no other can interrupt by itself; bit = code
  // Of the part.
  std::array<uint64_t, 12> unit_done_{};
  uint64_t interrupt_bits_ = 0;  // that exist
  uint64_t imr_polarity_ = 0;    // bits in which 1 masks
  std::array<uint32_t, 12> unit_base_{};
  std::array<uint64_t, kMaxChannels> done_bit_{};
  uint32_t lines_ = 0;
  bool was_reset_ = false;
  std::array<uint64_t, kMaxChannels> inject_;
  uint32_t hang_ = 0;               // one bit a channel
  unsigned drop_ = 0;
  uint32_t lost_ = 0;               // lines whose rise was dropped
  uint64_t enqueued_ = 0, finished_ = 0;        // since the last SWR, as software sees them
  uint64_t bytes_in_base_ = 0, bytes_out_base_ = 0;
  Notes notes_;
};

}  // namespace sec::hw
