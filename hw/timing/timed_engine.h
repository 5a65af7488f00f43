// The cycle-approximate executor: SEC clocks, one bus master, unit FIFOs, arbitration. Plain data and plain
// C++, no SystemC: the shell (hw/tlm/sec_device.h) only tells it how far it may run.
//
// How a clock is evaluated, everywhere and in the slow reference too:
//   1. everything that ends on this clock ends: delays, read data arriving, blocks leaving a unit, writes done;
//      channels go on and ask for what they want next; units start their next block;
//   2. free units are given to channels that ask, from a snapshot of those who do [MSC];
//   3. if the bus is free, one burst is granted: from a snapshot of the requests, writes before reads [MSC].
// Inside a snapshot the turn goes round by channel number, or, when MCR has counts for both channels 2 and 3, by weight
// [MSC]: channel 0 first, but not twice running while others ask; then channels 2 and 3 if they have lost as often as their
// counts say; then by number. ASSUMED: the counts are looked at when a choice is made, and losses are counted for each unit,
// for reads and for writes apart.
// Software's accesses at time T see the state after clock floor(T/period); a doorbell acts on the next clock.
// So whatever happens outside at T, no clock up to floor(T/period) can change any more, and the engine may run
// ahead of the kernel to the next moment at which anybody else can act. It stops after a clock in which
// something became visible (an interrupt), so that the outside can answer.
//
// FIFOs and blocks are evaluated lazily: a Port keeps times and counts, and `settle` replays them in order up to
// a clock when something depends on it. `plan` says what the port wants from the bus and when it must be looked at
// again; too early costs a look, too late would be wrong (the reference in tests/model finds it).
#pragma once
#include "hw/core/channel.h"

namespace sec::hw {

using Clock = uint64_t;
inline constexpr Clock kNever = ~Clock{0} >> 2;

class TimedEngine final : public Engine {
 public:
  TimedEngine(const regs::Part& part, const Timing& timing, MemoryMap& memory);
  ~TimedEngine() override;

  uint64_t now() const override { return now_; }

  /// Evaluates everything up to clock `limit`; stops early after a clock in which something became visible, and then
  /// returns true. now() is the last clock at which anything happened.
  bool run(Clock limit);
  /// The outside is at clock `c`, and run(c) has nothing more to do before it.
  void set_now(Clock c) {
    if (c > now_) now_ = c;
  }
  /// Something is going on: run() will not be idle for ever.
  bool busy() const { return due_min() < kNever || wants_w_ || wants_r_ || arbitrate_at_ < kNever; }
  /// No interrupt can come before this clock unless software does something. kNever when idle.
  Clock next_visible() const;
  /// Lets memory show what has been written up to now().
  void publish();
  /// Clocks evaluated one by one rather than skipped over, for profiling.
  uint64_t steps() const { return steps_; }
  /// Switches off the short cuts for uncontended accesses (tests compare both).
  void set_short_cuts(bool on) { short_cuts_ = on; }

  // ---- executor interface (see channel.h) ----
  struct Next {
    TimedEngine& e;
    unsigned n;
    bool await_ready() const { return e.channels_[n].fifo_level != 0; }
    void await_suspend(std::coroutine_handle<> h) const {
      e.handle_[n] = h;
      e.idle_ |= 1u << n;
    }
    BusAddr await_resume() const {
      e.watch_descriptor(n);
      return e.channels_[n].pop();
    }
  };
  struct Access {
    TimedEngine& e;
    unsigned n;
    BusAddr addr;
    uint32_t size, extra;
    bool write;
    bool await_ready() const {
      const Clock start = e.now_ > e.bus_free_ ? e.now_ : e.bus_free_;
      const uint32_t held = e.clocks_.bus_clocks(addr, size);
      const Clock end = start + held + (write ? e.clocks_.posted_write : e.clocks_.read_latency) + extra;
      if (!e.alone(n, end)) return false;
      e.take_bus(n, start, held, addr, size, write);
      e.now_ = end;
      return true;
    }
    void await_suspend(std::coroutine_handle<> h) const { e.ask_bus(n, h, addr, size, extra, write); }
    void await_resume() const {}
  };
  struct Delay {
    TimedEngine& e;
    unsigned n;
    uint32_t clocks;
    bool await_ready() const {
      if (!e.alone(n, e.now_ + clocks)) return false;
      e.now_ += clocks;
      return true;
    }
    void await_suspend(std::coroutine_handle<> h) const {
      e.handle_[n] = h;
      e.due_[n] = e.now_ + clocks;
    }
    void await_resume() const {}
  };
  struct Acquire {
    TimedEngine& e;
    unsigned n;
    unsigned unit;
    bool await_ready() const {
      UnitArbiter& u = e.units_arb_[unit];
      if (u.holder >= 0 || u.asking | u.snapshot || !e.alone(n, e.now_ + e.clocks_.grant)) return false;
      e.give(u, unit, n);
      e.now_ += e.clocks_.grant;
      return true;
    }
    void await_suspend(std::coroutine_handle<> h) const {
      e.handle_[n] = h;
      e.units_arb_[unit].asking |= 1u << n;
      e.ask_arbiter();
    }
    void await_resume() const {}
  };
  struct Streaming {
    TimedEngine& e;
    unsigned n;
    Stream& s;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> h) const { e.start_stream(n, h, s); }
    void await_resume() const { e.streaming_ &= ~(1u << n); }
  };
  struct Hang {
    TimedEngine& e;
    unsigned n;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> h) const { e.handle_[n] = h; }
    void await_resume() const {}
  };
  static constexpr bool kInstant = false;
  Next next(unsigned n) {
    watch(n, false);
    return {*this, n};
  }
  Access read(unsigned n, BusAddr a, uint32_t size) { return {*this, n, a, size, 0, false}; }
  Access write(unsigned n, BusAddr a, uint32_t size, uint32_t extra = 0) { return {*this, n, a, size, extra, true}; }
  Delay delay(unsigned n, uint32_t clocks) { return {*this, n, clocks}; }
  Acquire acquire(unsigned n, regs::Eu u) { return {*this, n, regs::unit_index(u)}; }
  void release(unsigned n, regs::Eu u);
  Streaming stream(unsigned n, Stream& s) { return {*this, n, s}; }
  Hang hang(unsigned n) { return {*this, n}; }
  /// Forgets what the channel waits for; `with_units`: and gives back the units it holds.
  void cancel(unsigned n, bool with_units = true);
  void unwatch(unsigned n) { watch(n, false); }
  /// Bytes of the running stream whose write bursts have been granted: they reach memory whatever happens next.
  uint32_t written(unsigned n) const { return ports_[n].written; }
  void visible() { visible_ = true; }

 protected:
  void doorbell(unsigned n) override;
  void abandon(unsigned n) override;
  void restart(unsigned n) override;

 private:
  /// Who won last, and how often channels 2 and 3 have lost since they won.
  struct Turns {
    unsigned last = 0;
    bool zero_won = false;  // channel 0, the last time
    uint8_t lost[2] = {};
    void won(unsigned n) {
      last = n;
      zero_won = n == 0;
      if (n >= 2) lost[n - 2] = 0;
    }
  };
  struct UnitArbiter {
    int holder = -1;
    uint32_t asking = 0, snapshot = 0;
    Turns turns;
  };
  /// Walks a segment list burst by burst.
  struct Cursor {
    const BusSegment* segment = nullptr;
    uint32_t offset = 0, left = 0;
    uint32_t burst(uint32_t size) const {
      const uint32_t n = burst_size(segment->addr + offset, segment->size_bytes - offset, size);
      return n < left ? n : left;
    }
    BusAddr addr() const { return segment->addr + offset; }
    void take(uint32_t n) {
      left -= n;
      offset += n;
      if (offset == segment->size_bytes) {
        ++segment;
        offset = 0;
      }
    }
  };
  enum class Kind : uint8_t { None, Access, Stream };
  /// What a channel has in progress on the bus. FIFO counts in bytes.
  struct Port {
    Kind kind = Kind::None;
    // access
    BusAddr addr = 0;
    uint32_t size = 0, extra = 0;
    bool write = false;
    // stream: reading
    Stream* stream = nullptr;
    Cursor rd, wr;
    uint32_t rd_n = 0, wr_n = 0;  // bytes of the next burst on either side, 0: none left
    bool bad_read = false, bad_write = false;  // a failing burst follows the good ones
    uint8_t reads_out = 0;
    Clock arrive[4];
    uint32_t arrive_n[4];
    uint32_t in_avail = 0, in_used = 0, out_avail = 0, out_used = 0;
    // stream: unit
    uint32_t todo = 0;       // bytes not yet given to the unit
    uint32_t produce = 0;    // output bytes still wanted; the rest of a block is dropped
    uint32_t block_n = 0;
    Clock block_end = kNever, unit_ready = 0;
    // stream: writing
    Clock write_end = kNever;
    uint32_t write_n = 0, written = 0;
    bool failed_write = false;
    // clocked unit
    ClockedUnit* clocked = nullptr;
    Clock ticked = 0;
    std::vector<uint8_t> fin, fout;
  };

  Clock due_min() const {
    Clock a = due_[0] < due_[1] ? due_[0] : due_[1], b = due_[2] < due_[3] ? due_[2] : due_[3];
    return a < b ? a : b;
  }
  /// True when nothing else can happen up to and including clock `end`, so that channel n may step there directly.
  bool alone(unsigned n, Clock end) const {
    return short_cuts_ && running_ && !visible_ && !resume_pending_ && !(wants_w_ | wants_r_) && arbitrate_at_ > end && !watched_ &&
           end <= limit_ && min_other(n) > end;
  }
  Clock min_other(unsigned n) const {
    Clock m = kNever;
    for (unsigned i = 0; i < kMaxChannels; ++i)
      if (i != n && due_[i] < m) m = due_[i];
    return m;
  }
  void take_bus(unsigned n, Clock start, uint32_t held, BusAddr addr, uint32_t size, bool write);
  void ask_bus(unsigned n, std::coroutine_handle<> h, BusAddr addr, uint32_t size, uint32_t extra, bool write);
  void start_stream(unsigned n, std::coroutine_handle<> h, Stream& s);
  unsigned choose(uint32_t mask, Turns& turns, bool bus) const;
  void give(UnitArbiter& u, unsigned unit, unsigned n);
  void arbitrate_units();
  void grant_bus();
  void step(unsigned n);  // the channel's due clock has come
  void settle(Port& p, Clock t);
  void run_blocks(Port& p, Clock t);
  void start_block(Port& p, Clock t);
  bool plan(unsigned n);  // true: the stream is complete
  void tick_clocked(Port& p, Clock t);
  void trace_port(unsigned n);
  void watch(unsigned n, bool on);
  void watch_descriptor(unsigned n) {
    if (channels_[n].config & kWgn && part_.generation == regs::Generation::Sec3) [[unlikely]] watch(n, true);
  }
  /// Unit arbitration on this clock; what software causes acts on the next one.
  void ask_arbiter() { arbitrate_at_ = std::min(arbitrate_at_, running_ ? now_ : now_ + 1); }
  void resume(unsigned n);

  static constexpr auto kWgn = static_cast<uint32_t>(regs::kCCCR.mask("WGN"));
  std::array<std::unique_ptr<Channel<TimedEngine>>, kMaxChannels> engines_;
  Clock now_ = 0, limit_ = 0, bus_free_ = 0;
  Clock due_[kMaxChannels] = {kNever, kNever, kNever, kNever};
  Clock watchdog_[kMaxChannels] = {kNever, kNever, kNever, kNever};
  std::coroutine_handle<> handle_[kMaxChannels] = {};
  Port ports_[kMaxChannels];
  uint32_t idle_ = 0, streaming_ = 0, resume_pending_ = 0, watched_ = 0;
  uint32_t wants_w_ = 0, wants_r_ = 0, snap_w_ = 0, snap_r_ = 0;
  Turns turns_w_, turns_r_;
  std::array<UnitArbiter, 12> units_arb_;
  Clock arbitrate_at_ = kNever;
  bool visible_ = false, running_ = false, short_cuts_ = true;
  uint64_t steps_ = 0;
};

}  // namespace sec::hw
