// A small engine in software, independent of the model in hw/: enough of SEC 1.x to 3.x to run the driver's
// descriptors with OpenSSL (tests/driver/fake_units.h), and to do wrong what a test asks for. Strict where hardware is
// vague: unused pointers must be zero, SEC 1 writes must be aligned, an ICV check must be legal for the part. It works
// off its FIFOs only when stepped (or, with `automatic`, when the doorbell is rung), and delivers interrupts and tasks
// only from deliver() or at the end of the outermost register write, as a functional platform does.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "driver/platform/platform.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/variants.h"

namespace sec::test {

driver::DeviceProperties properties_of(const regs::Part& part);

class FakeEngine : public driver::Platform {
 public:
  struct Options {
    const regs::Part* part = nullptr;  // default: p2020
    size_t dma_bytes = 8 << 20;
    BusAddr dma_base = 0x0'4000'0000;
    size_t bounce_slots = 512;
    size_t bounce_slot_bytes = 2048;
    unsigned fifo_entries = 0;  // 0: as the part says
    bool automatic = false;
  };
  FakeEngine() : FakeEngine(Options{}) {}
  explicit FakeEngine(const Options& options);

  /// Runs one descriptor of the channel. False: nothing to do, halted or hung.
  bool step(unsigned channel);
  /// Calls handlers while their line is up, and tasks, until nothing is left. True when anything was called.
  bool deliver();
  /// Steps and delivers until nothing moves. True when anything happened.
  bool run();

  driver::DeviceProperties properties() const;
  size_t fifo_level(unsigned channel) const { return channels_[channel].fifo.size(); }

  // What a test can make go wrong. Called for each descriptor before it runs, with its running number on the channel.
  enum class Fate { Run, Hang, BusError, UnitError, SecondUnitError, IllegalHeader };
  std::function<Fate(unsigned channel, uint64_t number)> fate;
  /// The FIFO drops this descriptor as if it were full.
  std::function<bool(unsigned channel, uint64_t number)> drop;
  bool ignore_continue = false;          // CON never clears
  bool silent_verdict = false;           // an ICV is compared, the verdict not written back
  bool ignore_reset = false;             // SWR never clears
  bool deliver_on_write = false;         // interrupts come at the end of each outermost register write
  unsigned error_survives_continue = 0;  // so many CONs leave the error field set
  void raise_device_error(uint32_t isr_hi, uint32_t isr_lo);
  bool automatic;

  // What happened.
  std::vector<std::pair<unsigned, BusAddr>> executed;
  std::vector<std::array<uint8_t, 64>> descriptors;  // as fetched; kept when `keep_descriptors`
  bool keep_descriptors = false, works_while_waiting = true;
  uint64_t single_overflows = 0, double_overflows = 0, illegal_accesses = 0, handler_calls = 0;
  uint64_t lost_fetches = 0, misaligned_writes = 0, icv_checks = 0, parity_errors = 0;
  std::vector<std::string> log_lines;
  std::vector<BusAddr> iv_addresses;
  std::vector<std::array<uint8_t, 16>> ivs_seen;
  uint32_t max_read_past_source = 0;

  // Platform
  uint32_t read32(uint32_t offset) override;
  void write32(uint32_t offset, uint32_t value) override;
  void set_interrupt_handler(unsigned line, Handler h, void* c) override { handlers_[line] = {h, c}; }
  void schedule_task(Handler t, void* c) override;
  void sync_for_cpu() override {}
  /// Who waits gives the engine time.
  void relax(uint64_t ns) override {
    now_ns_ += ns;
    if (!works_while_waiting) return;
    for (unsigned i = 0; i < channels_.size(); ++i) step(i);
    deliver();
  }
  uint64_t now_ns() override { return now_ns_; }
  void advance_ns(uint64_t ns) { now_ns_ += ns; }
  void log(Level, std::string_view text) override { log_lines.emplace_back(text); }

 private:
  struct Channel {
    std::deque<BusAddr> fifo;
    uint32_t ff_hi = 0, config = 0, errors = 0;
    BusAddr cdpr = 0;
    std::array<uint8_t, 64> buffer{};
    uint64_t enqueued = 0, started = 0;
    unsigned dones = 0;
    bool error_pending = false, overflow_pending = false, halted = false, hung = false;
    bool remapped = false;
    uint32_t feedback = 0;
    bool has_feedback = false;
  };
  int channel_at(uint32_t offset) const;
  void reset_all();
  void channel_write(Channel& c, unsigned index, uint32_t offset, uint32_t value);
  uint32_t channel_read(const Channel& c, uint32_t offset) const;
  void fail(Channel& c, uint32_t bits);
  using Octets = std::vector<uint8_t>;
  static constexpr uint32_t kHangs = 0xffffffff;
  bool sec1() const { return part_.sec1(); }
  /// Runs the descriptor; 0, the channel error bits, or kHangs.
  uint32_t execute(Channel& c, const regs::Descriptor& d);
  uint32_t run_cipher(const regs::HeaderWord& h, const regs::Descriptor& d);
  uint32_t run_rc4(const regs::HeaderWord& h, const regs::Descriptor& d);
  uint32_t run_hash(const regs::HeaderWord& h, const regs::Descriptor& d);
  uint32_t run_pair(Channel& c, const regs::HeaderWord& h, const regs::Descriptor& d);
  uint32_t run_aes_aead(Channel& c, const regs::HeaderWord& h, const regs::Descriptor& d);
  uint32_t check_icv(Channel& c, unsigned unit, const Octets& computed, const Octets& received, unsigned shift);
  uint32_t check_cipher_key(unsigned unit, const Octets& key);
  uint32_t gather(const regs::PointerDword& p, Octets& out, Octets* extent = nullptr);
  uint32_t scatter(const regs::PointerDword& p, const Octets& in, const Octets& extent = {});
  uint32_t unit_base(unsigned code) const;
  uint32_t channel_base(unsigned n) const;
  uint32_t done_bit(unsigned n) const {
    return !sec1() ? 1u << 2 * n : n < 2 ? 0x10000000u << 2 * n : 0x10000u << 2 * (n - 2);
  }
  uint32_t unit_error(unsigned unit, uint32_t bit) {
    unit_isr_[unit] |= bit;
    return 0x100;
  }
  bool legal(BusAddr a, size_t n);
  uint32_t isr_hi() const;
  bool line_up(unsigned line) const;

  driver::DmaSpace space_;
  const regs::Part& part_;
  unsigned fifo_entries_;
  std::vector<Channel> channels_;
  uint32_t imr_hi_ = 0, imr_lo_ = 0, isr_hi_extra_ = 0, isr_lo_ = 0, mcr_ = 0;
  std::array<uint32_t, 16> unit_isr_{}, unit_mask_{};  // SEC 2 layout
  std::pair<Handler, void*> handlers_[2] = {};
  std::deque<std::pair<Handler, void*>> tasks_;
  uint64_t now_ns_ = 0;
  bool in_driver_ = false;
};

}  // namespace sec::test
