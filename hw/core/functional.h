// The functional executor: no clock at all. A descriptor runs to completion inside the register write that
// enqueues it; every step of the descriptor engine is ready at once. Interrupt lines are up when the write
// returns; whoever owns the platform looks at lines() then.
//
// A channel stays suspended only when its fetch FIFO is empty, when it hangs (zero-length data) or when it waits
// for a unit that a hung or failed channel holds. A hang with the watchdog enabled ends at once with WDT, since
// nothing else could ever happen to it; so does a wait for a hung channel, but not one for a failed channel, which
// software is about to reset.
//
// The channels' coroutines are instantiated in functional.cpp and nowhere else.
#pragma once
#include "hw/core/channel.h"

namespace sec::hw {

class FunctionalEngine final : public Engine {
 public:
  FunctionalEngine(const regs::Part& part, const Timing& timing, MemoryMap& memory);
  ~FunctionalEngine() override;

  uint64_t now() const override { return 0; }
  bool timed() const override { return false; }

  // ---- executor interface (see channel.h) ----
  struct Ready {
    constexpr bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) const {}
    void await_resume() const {}
  };
  struct Next {
    FunctionalEngine& e;
    unsigned n;
    bool await_ready() const { return e.channels_[n].fifo_level != 0; }
    void await_suspend(std::coroutine_handle<> h) const { e.idle_[n] = h; }
    BusAddr await_resume() const { return e.channels_[n].pop(); }
  };
  struct Acquire {
    FunctionalEngine& e;
    unsigned n;
    size_t unit;
    bool await_ready() const {
      if (e.holder_[unit] >= 0) return false;
      e.holder_[unit] = static_cast<int>(n);
      return true;
    }
    void await_suspend(std::coroutine_handle<> h) const {
      e.stuck_[n] = h;
      e.waits_for_[n] = static_cast<int>(unit);
    }
    void await_resume() const {}
  };
  struct Hang {
    FunctionalEngine& e;
    unsigned n;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> h) const { e.stuck_[n] = h; }
    void await_resume() const {}
  };
  static constexpr bool kInstant = true;
  /// The unit at once, if it is free.
  bool take(unsigned n, regs::Eu u) {
    int& holder = holder_[regs::unit_index(u)];
    if (holder >= 0) return false;
    holder = static_cast<int>(n);
    return true;
  }
  Next next(unsigned n) { return {*this, n}; }
  Ready read(unsigned, BusAddr, uint32_t) { return {}; }
  Ready write(unsigned, BusAddr, uint32_t, uint32_t = 0) { return {}; }
  Ready delay(unsigned, uint32_t) { return {}; }
  Acquire acquire(unsigned n, regs::Eu u) { return {*this, n, regs::unit_index(u)}; }
  void release(unsigned, regs::Eu u);
  Ready stream(unsigned n, Stream& s);
  Hang hang(unsigned n) { return {*this, n}; }
  void unwatch(unsigned) {}
  void cancel(unsigned n, bool /*with_units*/ = true) {
    idle_[n] = {};
    stuck_[n] = {};
    waits_for_[n] = -1;
  }
  uint32_t written(unsigned) const { return 0; }
  void visible() {}

 protected:
  void doorbell(unsigned n) override {
    if (const auto h = std::exchange(idle_[n], {})) h.resume();
    if (stuck_[n]) [[unlikely]] watchdog();
  }
  void abandon(unsigned n) override;
  void restart(unsigned n) override;
  void stop_all() override {
    for (unsigned n = 0; n < part_.channels; ++n) cancel(n);
  }

 private:
  void watchdog();
  std::array<std::unique_ptr<Channel<FunctionalEngine>>, kMaxChannels> channel_engines_;
  std::array<std::coroutine_handle<>, kMaxChannels> idle_{}, stuck_{};
  std::array<int, kMaxChannels> waits_for_{-1, -1, -1, -1};
  std::array<int, 12> holder_{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
};

}  // namespace sec::hw
