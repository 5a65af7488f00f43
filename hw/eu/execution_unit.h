// An execution unit (EU) as the channel and the register window see it. Behaviour only: how long a block
// takes is told (`block_clocks`, `startup_clocks`, `finish_clocks`), never waited for.
//
// Two kinds exist. A *bulk* unit computes any number of blocks in one call on a crypto library; time
// is charged around it. A *clocked* unit (hw/eu/clocked_unit.h, later verilated RTL) is advanced clock by
// clock and really moves its data through the FIFOs.
//
// Use by a channel:
//   reset_for_channel()
//   begin(load)            mode, key, context, sizes; error bits or 0
//   header(in, n)*         bytes that are authenticated only (AAD, hash-only header), before the data
//   process(in, out, n)*   data; out is null for a unit that only takes data in (hashes, MACs)
//   set_received_icv()     when an ICV is to be checked
//   finish()               EU-Go: last block, digest, comparison; error bits or 0
//   context(), icv(), verdict()
// A unit that listens to another one's data (snooping) is driven by the same calls with out == null.
//
// Use by software ("slave mode"): the registers, in the order reset, mode, key size, key, context, data size,
// input FIFO, EU-Go, output FIFO, while no channel holds the unit. Slave mode takes no simulated time
// beyond the register accesses themselves. There are no header bytes in slave mode (UNMODELLED: AAD through registers).
//
// Register layout [LX][T23]: hw/regs/eu_common.h. Meanings of CE and ERE, and the data size register
// counting bits, are ASSUMED (usual for the family; not in a public source).
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hw/regs/descriptor.h"
#include "hw/regs/variants.h"
#include "hw/timing/costs.h"

namespace sec::hw {

class ClockedUnit;

/// What is loaded into a unit before data flows.
struct UnitLoad {
  uint8_t mode = 0;
  regs::Eu code = regs::Eu::None;  // the select code it was addressed by (MDEU-A or MDEU-B); None: the unit's own
  const uint8_t* key = nullptr;
  uint32_t key_bytes = 0;
  const uint8_t* context = nullptr;  // as laid out in the unit's context window
  uint32_t context_bytes = 0;
  const uint8_t* nonce = nullptr;  // GCM: the IV, its parts put together
  uint32_t nonce_bytes = 0;
  uint64_t header_bytes = 0;  // authenticated only, comes first
  uint64_t data_bytes = 0;    // all that process() will see
  uint32_t icv_bytes = 0;     // ICV size register: bytes to compare; 0 = the whole
};

/// Where a unit's context and key lie in its register window.
struct UnitWindows {
  uint32_t context_offset = 0x100, context_bytes = 16;
  uint32_t key_offset = 0x400, key_bytes = 32;
  bool icv_size = false;  // there is an ICV size register at 0x40
};

class ExecutionUnit {
 public:
  static constexpr uint32_t kMaxKeyBytes = 128, kMaxContextBytes = 272;

  ExecutionUnit(regs::Eu code, std::string_view name, uint32_t window_base, const Timing& timing, UnitWindows windows = {});
  virtual ~ExecutionUnit() = default;
  ExecutionUnit(const ExecutionUnit&) = delete;
  ExecutionUnit& operator=(const ExecutionUnit&) = delete;

  regs::Eu code() const { return code_; }
  std::string_view name() const { return name_; }
  uint32_t window_base() const { return base_; }

  // ---- channel side ----
  /// The reset before use: registers cleared, the interrupt control register (mask) kept.
  void reset_for_channel();
  /// Loads everything. Returns error bits (interrupt status layout), 0 if ready.
  /// ASSUMED: a wrong mode, key size or data size stops the unit even when its interrupt is masked, since there
  /// is nothing it could do; only a key parity error (KPE) can be masked away.
  uint32_t begin(const UnitLoad& load);
  /// Authenticated-only bytes. Any split; the unit pads at the end of the header where its mode asks for it.
  virtual void header(const uint8_t* in, size_t n);
  /// Bulk work; whole blocks but for the last call. in == out is allowed, other overlap is not. `out` is null when the
  /// unit only takes data in (writes_output() is false, or it snoops).
  virtual void process(const uint8_t* in, uint8_t* out, size_t n) = 0;
  /// The ICV that came with the message, to be compared in finish(). At most 64 bytes are kept.
  void set_received_icv(const uint8_t* icv, uint32_t n);
  /// No more data: last block, digest, comparison. Returns and raises error bits (ICE for a wrong ICV, ...). 0: fine, or
  /// all of it masked and not in the way.
  uint32_t finish();
  /// Up to `limit` bytes of context (IV, counter, digest, hash state); returns how many there are.
  virtual uint32_t context(uint8_t* out, uint32_t limit) const = 0;
  /// Up to `limit` bytes of computed ICV; returns how many there are.
  virtual uint32_t icv(uint8_t* /*out*/, uint32_t /*limit*/) const { return 0; }
  /// Outcome of the ICV check, None when the mode did not ask for one.
  regs::IntegrityCheck verdict() const { return verdict_; }
  /// False: data goes in and none comes out (hashes, MACs) in the loaded mode.
  virtual bool writes_output() const { return true; }
  /// False: data comes out and none goes in (random numbers): process(null, out, n), data_bytes are those of the output.
  virtual bool reads_input() const { return true; }

  // ---- time, of the loaded mode ----
  virtual uint32_t block_bytes() const = 0;  // 8, 16, 64 or 128
  virtual uint32_t block_clocks() const = 0;
  virtual uint32_t startup_clocks() const { return 0; }
  virtual uint32_t finish_clocks() const { return 0; }  // after the last data block: padding blocks, outer digest
  virtual ClockedUnit* clocked() { return nullptr; }
  /// Raises interrupt status bits; true when one of them is not masked.
  bool raise(uint32_t bits);

  // ---- register window, offset inside it, 32-bit halves, SEC 2+ layout ----
  /// `peek`: what a read would return, without its side effects (FIFO, ERE).
  virtual uint32_t read32(uint32_t offset, bool peek = false);
  virtual void write32(uint32_t offset, uint32_t value);
  /// The SEC clock of the register access that follows; 0 for ever on the functional path, where nothing takes time.
  void set_now(uint64_t clock, bool timed) {
    now_ = clock;
    timed_ = timed;
  }
  void set_owned_by_channel(bool on) { owned_ = on; }
  bool owned_by_channel() const { return owned_; }

  uint32_t interrupt_status() const { return isr_; }
  uint32_t interrupt_control() const { return icr_; }
  /// Error bits that a software-visible reset leaves: everything back to the power-on state.
  virtual void hard_reset();
  /// True while an unmasked error is pending (drives the controller's EU error bit in slave mode).
  bool error_pending() const { return (isr_ & ~icr_) != 0; }
  bool done_pending() const { return done_; }
  /// Uses of modes that exist in hardware and are not modelled.
  uint64_t unmodelled_uses() const { return unmodelled_; }

  /// Bulk units: context, mode etc. as loaded, for waveforms.
  uint8_t mode() const { return mode_; }

 protected:
  /// Checks and takes over what was loaded (mode_, key_, key_bytes_, context_, ..., data_bytes_). Returns the errors that
  /// keep the unit from working.
  virtual uint32_t prepare() = 0;
  /// The end of the message. Sets verdict_ when the mode checks an ICV (compare_icv) and returns error bits.
  virtual uint32_t complete() { return 0; }
  virtual uint32_t default_interrupt_control() const { return 0; }
  /// Called by reset_for_channel(): whatever a derived unit keeps.
  virtual void clear() {}
  /// For units with registers of their own: started in slave mode and not done; done or not.
  bool slave_busy() const { return size_written_ && !done_; }
  void set_done(bool on) { done_ = on; }
  /// Compares `n` bytes (fewer when the ICV size says so) with the received ICV; sets verdict_; ICE when they differ.
  uint32_t compare_icv(const uint8_t* computed, uint32_t n);

  Timing timing_;
  uint8_t mode_ = 0;
  regs::Eu selected_ = regs::Eu::None;
  uint32_t key_bytes_ = 0, context_bytes_ = 0, nonce_bytes_ = 0, icv_bytes_ = 0, received_bytes_ = 0;
  uint64_t header_bytes_ = 0, data_bytes_ = 0;
  std::array<uint8_t, kMaxKeyBytes> key_{};
  std::array<uint8_t, kMaxContextBytes> context_{};
  std::array<uint8_t, 256> nonce_{};
  std::array<uint8_t, 64> received_{};
  regs::IntegrityCheck verdict_ = regs::IntegrityCheck::None;
  uint64_t unmodelled_ = 0;
  uint64_t now_ = 0;
  bool timed_ = false;

 private:
  void slave_start();
  void slave_run();

  regs::Eu code_;
  std::string_view name_;
  uint32_t base_;
  UnitWindows windows_;
  uint32_t isr_ = 0, icr_ = 0;
  bool owned_ = false;
  uint32_t key_written_ = 0;  // bytes of key_ that are not zero
  // slave mode
  bool size_written_ = false, running_ = false, done_ = false, halted_ = false;
  uint64_t data_bits_ = 0, consumed_ = 0;
  uint32_t fifo_hi_ = 0, read_lo_ = 0;
  std::vector<uint8_t> in_, out_;
};

}  // namespace sec::hw
