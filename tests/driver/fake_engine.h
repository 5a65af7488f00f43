// A small engine in software, independent of the model in hw/: enough of SEC 2.x/3.x to run the driver's
// descriptors with OpenSSL, and to do wrong what a test asks for. It works off its FIFOs only when stepped
// (or, with `automatic`, when the doorbell is rung), and delivers interrupts and tasks only from deliver() or
// at the end of the outermost register write, as a functional platform does.
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
  enum class Fate { Run, Hang, BusError, UnitError, IllegalHeader };
  std::function<Fate(unsigned channel, uint64_t number)> fate;
  /// The FIFO drops this descriptor as if it were full.
  std::function<bool(unsigned channel, uint64_t number)> drop;
  bool ignore_continue = false;          // CON never clears
  bool ignore_reset = false;             // SWR never clears
  bool deliver_on_write = false;         // interrupts come at the end of each outermost register write
  unsigned error_survives_continue = 0;  // so many CONs leave the error field set
  void raise_device_error(uint32_t isr_hi, uint32_t isr_lo);
  bool automatic;

  // What happened.
  std::vector<std::pair<unsigned, BusAddr>> executed;
  uint64_t single_overflows = 0, double_overflows = 0, illegal_accesses = 0, handler_calls = 0;
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
  void relax(uint64_t ns) override { now_ns_ += ns; }
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
  };
  int channel_at(uint32_t offset) const;
  void reset_all();
  void channel_write(Channel& c, unsigned index, uint32_t offset, uint32_t value);
  uint32_t channel_read(const Channel& c, uint32_t offset) const;
  void fail(Channel& c, uint32_t bits);
  /// Runs the descriptor; 0 or the channel error bits.
  uint32_t execute(Channel& c, const regs::Descriptor& d);
  uint32_t gather(const regs::PointerDword& p, std::vector<uint8_t>& out);
  uint32_t scatter(const regs::PointerDword& p, const std::vector<uint8_t>& in);
  bool legal(BusAddr a, size_t n);
  uint32_t isr_hi() const;
  bool line_up(unsigned line) const;

  driver::DmaSpace space_;
  const regs::Part& part_;
  unsigned fifo_entries_;
  std::vector<Channel> channels_;
  uint32_t imr_hi_ = 0, isr_hi_extra_ = 0, isr_lo_ = 0, mcr_ = 0;
  std::array<uint32_t, 16> unit_isr_{};
  std::pair<Handler, void*> handlers_[2] = {};
  std::deque<std::pair<Handler, void*>> tasks_;
  uint64_t now_ns_ = 0;
  bool in_driver_ = false;
};

}  // namespace sec::test
