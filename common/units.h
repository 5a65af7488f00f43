// Clocks and times. Most wrong results in this field come from mixing clocks, or simulated time with
// wall time, so each is a type of its own:
//   Cycles<SecClock> / <BusClock> / <CpuClock>   counts; they do not convert into each other
//   SimTime                                      simulated time, whole picoseconds
//   WallTime                                     time on the machine that runs the simulation
//   ClockDomain<C>                               the only place where cycles become time
#pragma once
#include <chrono>
#include <compare>
#include <cstdint>

namespace sec {

struct SecClock {};  // the engine
struct BusClock {};  // system bus and memory
struct CpuClock {};  // host processor

template <class Clock>
class Cycles {
 public:
  constexpr Cycles() = default;
  constexpr explicit Cycles(uint64_t n) : n_(n) {}
  constexpr uint64_t count() const { return n_; }
  constexpr Cycles operator+(Cycles o) const { return Cycles(n_ + o.n_); }
  constexpr Cycles operator-(Cycles o) const { return Cycles(n_ - o.n_); }
  constexpr Cycles operator*(uint64_t k) const { return Cycles(n_ * k); }
  constexpr Cycles& operator+=(Cycles o) { n_ += o.n_; return *this; }
  constexpr auto operator<=>(const Cycles&) const = default;

 private:
  uint64_t n_ = 0;
};

/// Simulated time in whole picoseconds.
class SimTime {
 public:
  constexpr SimTime() = default;
  static constexpr SimTime from_ps(uint64_t ps) { SimTime t; t.ps_ = ps; return t; }
  static constexpr SimTime from_ns(double ns) { return from_ps(static_cast<uint64_t>(ns * 1e3 + 0.5)); }
  constexpr uint64_t ps() const { return ps_; }
  constexpr double ns() const { return static_cast<double>(ps_) * 1e-3; }
  constexpr double us() const { return static_cast<double>(ps_) * 1e-6; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
  constexpr SimTime operator+(SimTime o) const { return from_ps(ps_ + o.ps_); }
  constexpr SimTime operator-(SimTime o) const { return from_ps(ps_ - o.ps_); }
  constexpr SimTime& operator+=(SimTime o) { ps_ += o.ps_; return *this; }
  constexpr auto operator<=>(const SimTime&) const = default;

 private:
  uint64_t ps_ = 0;
};

/// Time on the machine that runs the simulation.
class WallTime {
 public:
  static WallTime now() {
    WallTime t;
    t.ns_ = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
    return t;
  }
  uint64_t ns() const { return ns_; }
  double seconds() const { return static_cast<double>(ns_) * 1e-9; }
  WallTime operator-(WallTime o) const { WallTime t; t.ns_ = ns_ - o.ns_; return t; }

 private:
  uint64_t ns_ = 0;
};

/// A clock with a period of a whole number of picoseconds, so that no rounding accumulates.
template <class Clock>
class ClockDomain {
 public:
  constexpr explicit ClockDomain(uint64_t period_ps) : period_ps_(period_ps) {}
  static constexpr ClockDomain from_hz(double hz) { return ClockDomain(static_cast<uint64_t>(1e12 / hz + 0.5)); }
  constexpr uint64_t period_ps() const { return period_ps_; }
  constexpr double hz() const { return 1e12 / static_cast<double>(period_ps_); }
  constexpr SimTime to_time(Cycles<Clock> c) const { return SimTime::from_ps(c.count() * period_ps_); }
  /// Cycles that have begun and ended by `t` (rounds down).
  constexpr Cycles<Clock> cycles_before(SimTime t) const { return Cycles<Clock>(t.ps() / period_ps_); }

 private:
  uint64_t period_ps_;
};

}  // namespace sec
