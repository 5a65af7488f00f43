// An execution unit (EU) as the channel and the register window see it. Behaviour only: how long a block
// takes is told (`block_clocks`, `startup_clocks`), never waited for.
//
// Two kinds exist. A *bulk* unit computes any number of blocks in one call on a crypto library; time
// is charged around it. A *clocked* unit (hw/eu/clocked_unit.h, later verilated RTL) is advanced clock by
// clock and really moves its data through the FIFOs.
//
// Use by a channel: reset_for_channel(), begin(), process()*, context(). Use by software ("slave mode"):
// the registers, in the order reset, mode, key size, key, context, data size, input FIFO, EU-Go, output FIFO,
// while no channel holds the unit. Slave mode takes no simulated time beyond the register accesses themselves.
//
// Register layout [LX][T23]: hw/regs/eu_common.h. Meanings of CE and ERE, and the data size register
// counting bits, are ASSUMED (usual for the family; not in a public source).
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hw/regs/variants.h"
#include "hw/timing/costs.h"

namespace sec::hw {

class ClockedUnit;

class ExecutionUnit {
 public:
  ExecutionUnit(regs::Eu code, std::string_view name, uint32_t window_base, const Timing& timing);
  virtual ~ExecutionUnit() = default;
  ExecutionUnit(const ExecutionUnit&) = delete;
  ExecutionUnit& operator=(const ExecutionUnit&) = delete;

  regs::Eu code() const { return code_; }
  std::string_view name() const { return name_; }
  uint32_t window_base() const { return base_; }

  // ---- channel side ----
  /// The reset before use: registers cleared, the interrupt control register (mask) kept.
  void reset_for_channel();
  /// Loads mode, key, context and data size. Returns error bits (interrupt status layout), 0 if ready.
  /// ASSUMED: a wrong mode, key size or data size stops the unit even when its interrupt is masked, since there
  /// is nothing it could do; only a key parity error (KPE) can be masked away.
  uint32_t begin(uint8_t mode, const uint8_t* key, uint32_t key_bytes, const uint8_t* context, uint32_t context_bytes,
                 uint64_t data_bytes);
  /// Bulk work; whole blocks but for the last call. in == out is allowed, other overlap is not.
  virtual void process(const uint8_t* in, uint8_t* out, size_t n) = 0;
  /// Up to `limit` bytes of context (IV, counter); returns how many there are.
  virtual uint32_t context(uint8_t* out, uint32_t limit) const = 0;
  virtual uint32_t block_bytes() const = 0;
  virtual uint32_t block_clocks() const = 0;    // of the loaded mode
  virtual uint32_t startup_clocks() const { return 0; }
  virtual ClockedUnit* clocked() { return nullptr; }
  /// Raises interrupt status bits; true when one of them is not masked.
  bool raise(uint32_t bits);

  // ---- register window, offset inside it, 32-bit halves ----
  /// `peek`: what a read would return, without its side effects (FIFO, ERE).
  uint32_t read32(uint32_t offset, bool peek = false);
  void write32(uint32_t offset, uint32_t value);
  void set_owned_by_channel(bool on) { owned_ = on; }
  bool owned_by_channel() const { return owned_; }

  uint32_t interrupt_status() const { return isr_; }
  uint32_t interrupt_control() const { return icr_; }
  /// Error bits that a software-visible reset leaves: everything back to the power-on state.
  void hard_reset();
  /// True while an unmasked error is pending (drives the controller's EU error bit in slave mode).
  bool error_pending() const { return (isr_ & ~icr_) != 0; }
  bool done_pending() const { return done_; }
  /// Uses of modes that exist in hardware and are not modelled.
  uint64_t unmodelled_uses() const { return unmodelled_; }

  /// Bulk units: context, mode etc. as loaded, for waveforms.
  uint8_t mode() const { return mode_; }

 protected:
  /// Checks and takes over the loaded registers (mode_, key_, key_bytes_, data_bytes_, context_). Returns the errors that
  /// keep the unit from working.
  virtual uint32_t prepare() = 0;
  virtual uint32_t default_interrupt_control() const { return 0; }

  Timing timing_;
  uint8_t mode_ = 0;
  uint32_t key_bytes_ = 0;
  uint64_t data_bytes_ = 0;
  std::array<uint8_t, 32> key_{};
  std::array<uint8_t, 16> context_{};
  uint64_t unmodelled_ = 0;

 private:
  void slave_start();
  void slave_run();

  regs::Eu code_;
  std::string_view name_;
  uint32_t base_;
  uint32_t isr_ = 0, icr_ = 0;
  bool owned_ = false;
  // slave mode
  bool size_written_ = false, done_ = false, halted_ = false;
  uint64_t data_bits_ = 0, consumed_ = 0;
  uint32_t fifo_hi_ = 0, read_lo_ = 0;
  std::vector<uint8_t> in_, out_;
};

}  // namespace sec::hw
