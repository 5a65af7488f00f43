#include "hw/timing/timed_engine.h"

#include <algorithm>

#include "common/diag.h"
#include "hw/eu/clocked_unit.h"

namespace sec::hw {
namespace {
/// The first set bit after `last`, round robin.
unsigned next_in_turn(uint32_t mask, unsigned last) {
  const uint32_t above = mask & ~((2u << last) - 1);
  return static_cast<unsigned>(__builtin_ctz(above ? above : mask));
}
}  // namespace

TimedEngine::TimedEngine(const regs::Part& part, const Timing& timing, MemoryMap& memory) : Engine(part, timing, memory) {
  for (unsigned n = 0; n < part.channels; ++n) {
    engines_[n] = std::make_unique<Channel<TimedEngine>>(*this, *this, n);
    engines_[n]->start();
  }
}
TimedEngine::~TimedEngine() {
  for (auto& e : engines_)
    if (e) e->abandon();
}

inline void TimedEngine::resume(unsigned n) {
  due_[n] = kNever;
  if (const auto h = std::exchange(handle_[n], {}))
    h.resume();
  else
    engines_[n]->start();  // after a reset
}

void TimedEngine::publish() {
  for (unsigned n = 0; n < part_.channels; ++n) engines_[n]->publish();
}

// ---- software side ----

void TimedEngine::abandon(unsigned n) { engines_[n]->abandon(); }

void TimedEngine::doorbell(unsigned n) {
  if (!(idle_ >> n & 1)) return;  // it will find the pointer when it looks
  idle_ &= ~(1u << n);
  due_[n] = now_ + 1;
}

void TimedEngine::restart(unsigned n) {
  due_[n] = now_ + 1;  // the descriptor engine starts anew on the next clock
}

void TimedEngine::cancel(unsigned n, bool with_units) {
  due_[n] = kNever;
  handle_[n] = {};
  const uint32_t keep = ~(1u << n);
  idle_ &= keep;
  streaming_ &= keep;
  resume_pending_ &= keep;
  wants_w_ &= keep;
  wants_r_ &= keep;
  snap_w_ &= keep;
  snap_r_ &= keep;
  ports_[n].kind = Kind::None;  // a burst that has been granted keeps the bus until its end
  for (auto& u : units_arb_) {
    u.asking &= keep;
    u.snapshot &= keep;
    if (with_units && u.holder == static_cast<int>(n)) {
      u.holder = -1;
      ask_arbiter();
      if (observer_) observer_->unit_owner(now_, static_cast<regs::Eu>(&u - units_arb_.data()), -1);
    }
  }
  watch(n, false);
}

void TimedEngine::watch(unsigned n, bool on) {
  if (on) {
    watchdog_[n] = now_ + clocks_.watchdog;
    watched_ |= 1u << n;
  } else if (watched_) {
    watchdog_[n] = kNever;
    watched_ &= ~(1u << n);
  }
}

Clock TimedEngine::next_visible() const {
  // A lower bound: too low costs an early look, too high would lose an interrupt (run() and the shell check for that).
  Clock bound = kNever;
  for (unsigned n = 0; n < part_.channels; ++n) {
    if (watched_ >> n & 1) bound = std::min(bound, std::max(watchdog_[n], now_ + 1));
    if (idle_ >> n & 1 || (!handle_[n] && due_[n] == kNever)) continue;
    const Port& p = ports_[n];
    Clock t = now_ + 1;
    if (p.kind == Kind::Stream) {
      const Stream& s = *p.stream;
      if (!p.clocked && !s.out_fault) {  // all blocks come before the end, and before an error on the input
        const Clock blocks = (p.todo + s.block_bytes - 1) >> s.block_shift;
        t = std::max(t, (p.block_end != kNever ? p.block_end : std::max(now_, p.unit_ready)) + blocks * s.block_clocks);
      }
    } else if (p.kind == Kind::Access && due_[n] == kNever) {  // not granted yet
      t = std::max(now_, bus_free_) + 1 + (p.write ? clocks_.posted_write : clocks_.read_latency) + p.extra;
    } else if (due_[n] != kNever) {
      t = std::max(t, due_[n]);
    } else {
      // Waits for a unit, or hangs. With a holder, that one becomes visible (or is reset) first.
      bool possible = false;
      for (const auto& u : units_arb_) possible |= ((u.asking | u.snapshot) >> n & 1) && u.holder < 0;
      if (!possible) continue;
      t = now_ + clocks_.grant;
    }
    bound = std::min(bound, t);
  }
  return bound;
}

// ---- the clock loop ----

bool TimedEngine::run(Clock limit) {
  running_ = true;
  visible_ = false;
  limit_ = limit;
  for (;;) {
    const Clock t = due_min();
    const Clock a = (wants_w_ | wants_r_) ? std::max(now_, bus_free_) : kNever;
    const Clock u = arbitrate_at_;
    if (watched_) [[unlikely]] {
      Clock w = kNever;
      unsigned who = 0;
      for (unsigned n = 0; n < part_.channels; ++n)
        if (watchdog_[n] < w) w = watchdog_[n], who = n;
      if (w <= limit_ && w <= t && w <= a && w <= u) {
        now_ = std::max(now_, w);
        watch(who, false);
        engines_[who]->fail(regs::channel_error::kWdt);
        visible_ = true;
        limit_ = now_;
        continue;
      }
    }
    if (t <= a && t <= u) {  // what ends on a clock comes first
      if (t > limit_) break;
      now_ = t;
      resume_pending_ = 0;
      for (unsigned n = 0; n < kMaxChannels; ++n) resume_pending_ |= (due_[n] <= t ? 1u : 0u) << n;
      while (resume_pending_) {
        const auto n = static_cast<unsigned>(__builtin_ctz(resume_pending_));
        resume_pending_ &= resume_pending_ - 1;
        step(n);
      }
      if (visible_) limit_ = std::min(limit_, now_);
    } else if (u <= a) {
      if (u > limit_) break;
      now_ = u;
      arbitrate_at_ = kNever;
      arbitrate_units();
    } else {
      if (a > limit_) break;
      now_ = a;
      ++steps_;
      grant_bus();
    }
  }
  running_ = false;
  return visible_;
}

void TimedEngine::step(unsigned n) {
  ++steps_;
  Port& p = ports_[n];
  if (p.kind == Kind::Stream) {
    settle(p, now_);
    if (!plan(n)) return;
    p.kind = Kind::None;
    if (observer_) [[unlikely]] trace_port(n);
  } else {
    p.kind = Kind::None;
  }
  resume(n);
}

// ---- units ----

unsigned TimedEngine::choose(uint32_t mask, Turns& turns, bool bus) const {
  if (!has_priority_counts()) [[likely]] return next_in_turn(mask, turns.last);
  const unsigned count2 = bus ? bus_priority_count(2) : unit_priority_count(2), count3 = bus ? bus_priority_count(3) : unit_priority_count(3);
  if (!count2 || !count3) return next_in_turn(mask, turns.last);
  if (mask != 1 && turns.zero_won) mask &= ~1u;
  unsigned n = static_cast<unsigned>(__builtin_ctz(mask));
  if (n == 1) {
    if (mask & 4 && turns.lost[0] >= count2)
      n = 2;
    else if (mask & 8 && turns.lost[1] >= count3)
      n = 3;
  } else if (n == 2 && mask & 8 && turns.lost[1] >= count3 && turns.lost[0] < count2) {
    n = 3;
  }
  for (unsigned c = 2; c < 4; ++c)
    if (c != n && mask >> c & 1 && turns.lost[c - 2] < 255) ++turns.lost[c - 2];
  return n;
}

void TimedEngine::give(UnitArbiter& u, unsigned unit, unsigned n) {
  u.holder = static_cast<int>(n);
  u.turns.won(n);
  ++counters_.grants;
  if (observer_) [[unlikely]] observer_->unit_owner(now_, static_cast<regs::Eu>(unit), static_cast<int>(n));
}

void TimedEngine::arbitrate_units() {
  for (unsigned i = 0; i < units_arb_.size(); ++i) {
    UnitArbiter& u = units_arb_[i];
    if (u.holder >= 0) continue;
    if (!u.snapshot) u.snapshot = std::exchange(u.asking, 0);
    if (!u.snapshot) continue;
    const unsigned n = choose(u.snapshot, u.turns, false);
    u.snapshot &= ~(1u << n);
    give(u, i, n);
    due_[n] = now_ + clocks_.grant;
  }
}

void TimedEngine::release(unsigned, regs::Eu u) {
  UnitArbiter& a = units_arb_[regs::unit_index(u)];
  if (a.holder < 0) return;  // cancel() has already given it back
  a.holder = -1;
  if (a.asking | a.snapshot) ask_arbiter();
  if (observer_) [[unlikely]] observer_->unit_owner(now_, u, -1);
}

// ---- bus ----

void TimedEngine::take_bus(unsigned n, Clock start, uint32_t held, BusAddr addr, uint32_t size, bool write) {
  bus_free_ = start + held;
  counters_.bus_clocks += held;
  if (write) {
    turns_w_.won(n);
    ++counters_.writes;
    counters_.posted_write_clocks += clocks_.posted_write;
  } else {
    turns_r_.won(n);
    ++counters_.reads;
    counters_.read_latency_clocks += clocks_.read_latency;
  }
  if (observer_) [[unlikely]] {
    observer_->bus(start, static_cast<int>(n), write, addr, size);
    observer_->bus(bus_free_, -1, false, 0, 0);
  }
}

void TimedEngine::ask_bus(unsigned n, std::coroutine_handle<> h, BusAddr addr, uint32_t size, uint32_t extra, bool write) {
  handle_[n] = h;
  Port& p = ports_[n];
  if (short_cuts_ && bus_free_ <= now_ && !(wants_w_ | wants_r_ | resume_pending_) && arbitrate_at_ > now_ && !watched_ && min_other(n) > now_) {
    // Nobody else can ask on this clock any more: the grant is certain.
    const uint32_t held = clocks_.bus_clocks(addr, size);
    take_bus(n, now_, held, addr, size, write);
    p.kind = Kind::None;
    due_[n] = now_ + held + (write ? clocks_.posted_write : clocks_.read_latency) + extra;
    return;
  }
  p.kind = Kind::Access;
  p.addr = addr;
  p.size = size;
  p.extra = extra;
  p.write = write;
  (write ? wants_w_ : wants_r_) |= 1u << n;
}

void TimedEngine::grant_bus() {
  if (!(snap_w_ | snap_r_)) {
    snap_w_ = wants_w_;
    snap_r_ = wants_r_;
  }
  const bool write = snap_w_ != 0;
  const unsigned n = choose(write ? snap_w_ : snap_r_, write ? turns_w_ : turns_r_, true);
  const uint32_t bit = 1u << n;
  (write ? snap_w_ : snap_r_) &= ~bit;
  Port& p = ports_[n];
  if (p.kind == Kind::Access) {
    (write ? wants_w_ : wants_r_) &= ~bit;
    const uint32_t held = clocks_.bus_clocks(p.addr, p.size);
    take_bus(n, now_, held, p.addr, p.size, write);
    due_[n] = now_ + held + (write ? clocks_.posted_write : clocks_.read_latency) + p.extra;
    return;
  }
  settle(p, now_);
  if (write) {
    const uint32_t size = p.wr_n;
    const uint32_t held = clocks_.bus_clocks(p.wr.addr(), size);
    take_bus(n, now_, held, p.wr.addr(), size, true);
    p.out_avail -= size;
    p.write_n = size;
    p.write_end = now_ + held + clocks_.posted_write;
    if (p.wr.left == 0) {  // the failing one
      p.bad_write = false;
      p.failed_write = true;
      p.wr_n = 0;
    } else {
      if (p.clocked) {
        std::memcpy(memory_.at(p.wr.addr(), size), p.fout.data(), size);
        p.fout.erase(p.fout.begin(), p.fout.begin() + size);
      }
      p.wr.take(size);
      p.written += size;
      p.wr_n = p.wr.left ? p.wr.burst(p.stream->burst) : 0;
      if (!p.wr_n && p.bad_write) p.wr_n = burst_size(p.wr.addr(), p.wr.segment->size_bytes - p.wr.offset, p.stream->burst);
    }
  } else {
    const uint32_t size = p.rd_n;
    const uint32_t held = clocks_.bus_clocks(p.rd.addr(), size);
    take_bus(n, now_, held, p.rd.addr(), size, false);
    p.arrive[p.reads_out] = now_ + held + clocks_.read_latency;
    if (p.rd.left == 0) {  // the failing one: an answer without data
      p.arrive_n[p.reads_out] = 0;
      p.bad_read = false;
      p.rd_n = 0;
    } else {
      p.arrive_n[p.reads_out] = size;
      p.in_used += size;
      if (p.clocked) {
        const uint8_t* m = memory_.at(p.rd.addr(), size);
        p.fin.insert(p.fin.end(), m, m + size);
      }
      p.rd.take(size);
      p.rd_n = p.rd.left ? p.rd.burst(p.stream->burst) : 0;
      if (!p.rd_n && p.bad_read) p.rd_n = burst_size(p.rd.addr(), p.rd.segment->size_bytes - p.rd.offset, p.stream->burst);
    }
    ++p.reads_out;
  }
  if (plan(n)) due_[n] = now_;  // cannot happen: a granted burst is still under way
  if (observer_) [[unlikely]] trace_port(n);
}

// ---- streams ----

void TimedEngine::start_stream(unsigned n, std::coroutine_handle<> h, Stream& s) {
  handle_[n] = h;
  streaming_ |= 1u << n;
  Port& p = ports_[n];
  p.kind = Kind::Stream;
  p.stream = &s;
  p.rd = {s.in->begin(), 0, s.source ? 0 : s.in_ok};
  p.wr = {s.out->begin(), 0, s.out_ok};
  p.bad_read = s.in_fault;
  p.bad_write = s.out_fault;
  auto first = [&](Cursor& c, bool bad) {
    if (c.left) return c.burst(s.burst);
    return bad ? burst_size(c.addr(), c.segment->size_bytes, s.burst) : 0u;
  };
  p.rd_n = first(p.rd, p.bad_read);
  p.wr_n = first(p.wr, p.bad_write);
  p.reads_out = 0;
  p.in_avail = p.in_used = s.source ? s.process : 0;
  p.out_avail = p.out_used = 0;
  p.todo = s.process;
  p.produce = s.out_fault ? s.out_ok + p.wr_n : s.out_ok;  // enough for the failing burst to go out
  if (s.out_fault) {
    // its size is that of the burst at out_ok, which lies behind the good ones
    uint32_t skip = s.out_ok;
    for (const BusSegment& g : *s.out) {
      if (skip < g.size_bytes) {
        p.produce = s.out_ok + burst_size(g.addr + skip, g.size_bytes - skip, s.burst);
        break;
      }
      skip -= g.size_bytes;
    }
  }
  p.block_n = 0;
  p.block_end = kNever;
  p.unit_ready = now_ + s.startup_clocks;
  p.write_end = kNever;
  p.write_n = p.written = 0;
  p.failed_write = false;
  p.clocked = s.unit->clocked();
  if (p.clocked) {
    p.ticked = now_;
    p.fin.clear();
    p.fout.clear();
  }
  if (s.source) start_block(p, now_);
  if (plan(n)) due_[n] = now_;  // nothing to move
}

/// Gives the unit its next block at clock `t` when there are data and room.
void TimedEngine::start_block(Port& p, Clock t) {
  const Stream& s = *p.stream;
  if (!p.todo || p.block_end != kNever) return;
  const uint32_t n = p.todo < s.block_bytes ? p.todo : s.block_bytes;
  if (p.in_avail < n || s.fifo_bytes - p.out_used < n) return;
  p.in_avail -= n;
  p.in_used -= n;
  p.out_used += n;
  p.todo -= n;
  p.block_n = n;
  p.block_end = (t > p.unit_ready ? t : p.unit_ready) + s.block_clocks;
}

/// Lets blocks end, and the next ones begin, up to clock `t`.
void TimedEngine::run_blocks(Port& p, Clock t) {
  while (p.block_end <= t) {
    const Clock end = p.block_end;
    const uint32_t kept = p.block_n < p.produce ? p.block_n : p.produce;
    p.out_avail += kept;
    p.out_used -= p.block_n - kept;
    p.produce -= kept;
    p.block_end = kNever;
    start_block(p, end);
  }
}

/// Replays what happened on the port up to clock `t`: write room freed, data arriving, blocks ending, in order.
void TimedEngine::settle(Port& p, Clock t) {
  if (p.clocked) return tick_clocked(p, t);
  for (;;) {
    const Clock arrival = p.reads_out ? p.arrive[0] : kNever;
    const Clock x = arrival < p.write_end ? arrival : p.write_end;
    if (x > t) break;
    run_blocks(p, x - 1);  // blocks that end on x start their successors with what x brings
    if (p.write_end == x) {
      p.out_used -= p.write_n;
      p.write_end = kNever;
    }
    if (arrival == x) {
      p.in_avail += p.arrive_n[0];
      --p.reads_out;
      for (unsigned i = 0; i < p.reads_out; ++i) {
        p.arrive[i] = p.arrive[i + 1];
        p.arrive_n[i] = p.arrive_n[i + 1];
      }
    }
    run_blocks(p, x);
    start_block(p, x);
  }
  run_blocks(p, t);
}

/// Works out what the port wants from the bus at now_, and the next clock at which that can change by itself.
bool TimedEngine::plan(unsigned n) {
  Port& p = ports_[n];
  const Stream& s = *p.stream;
  const uint32_t bit = 1u << n;
  const bool running = p.block_end != kNever;
  // Earliest clock by which `bytes` more have left the unit (and as many have been taken in).
  auto after = [&](uint32_t bytes) { return p.block_end + Clock{(bytes - 1) >> s.block_shift} * s.block_clocks; };
  Clock next = kNever;
  bool want_r = false, want_w = false;

  if (p.rd_n) {
    const uint32_t room = s.fifo_bytes - p.in_used;
    const bool fits = room >= p.rd_n;
    if (fits && p.reads_out < clocks_.reads_in_flight)
      want_r = true;
    else if (!fits && running)
      next = after(p.rd_n - room);
    if (p.reads_out) {
      // An arrival matters when it frees a place for the next read, or when the unit is waiting for data.
      if (p.reads_out >= clocks_.reads_in_flight || !running) next = std::min(next, p.arrive[0]);
    }
  } else if (p.reads_out && !running) {
    next = std::min(next, p.arrive[0]);
  } else if (p.reads_out && !p.todo) {
    next = std::min(next, p.arrive[p.reads_out - 1]);  // only the end of a failing read is left to wait for
  }
  if (p.wr_n) {
    const bool have = p.out_avail >= p.wr_n;
    if (p.write_end == kNever) {
      if (have)
        want_w = true;
      else if (running)
        next = std::min(next, after(p.wr_n - p.out_avail));
    } else {
      // The end of a write matters for the next one, and for a unit that waits for room.
      Clock t = p.write_end;
      if (!have && running) t = std::max(t, after(p.wr_n - p.out_avail));
      next = std::min(next, t);
      if (!running) next = std::min(next, p.write_end);
    }
  } else if (p.write_end != kNever) {
    next = std::min(next, p.write_end);
  }
  if (running && !p.wr_n) next = std::min(next, after(p.todo + p.block_n));  // output that nobody wants
  if (p.clocked && (p.clocked->busy() || (p.todo && p.in_avail >= s.block_bytes))) next = std::min(next, now_ + 1);

  wants_r_ = want_r ? wants_r_ | bit : wants_r_ & ~bit;
  wants_w_ = want_w ? wants_w_ | bit : wants_w_ & ~bit;
  due_[n] = next;
  if (p.failed_write && p.write_end == kNever) {  // a write error ends the stream; reads under way are dropped
    wants_r_ &= ~bit;
    wants_w_ &= ~bit;
    snap_r_ &= ~bit;
    snap_w_ &= ~bit;
    return true;
  }
  const bool working = p.clocked && !s.unit_error && p.clocked->busy();
  return !p.rd_n && !p.reads_out && !p.todo && !running && !working && !p.wr_n && p.write_end == kNever;
}

// ---- clocked units ----

void TimedEngine::tick_clocked(Port& p, Clock t) {
  Stream& s = *p.stream;
  ClockedUnit& u = *p.clocked;
  ClockedUnit::Ports io;
  for (;;) {
    // Arrivals and write ends of a clock come before its tick.
    const Clock c = p.ticked + 1;
    if (c > t) break;
    while (p.reads_out && p.arrive[0] <= c) {
      p.in_avail += p.arrive_n[0];
      --p.reads_out;
      for (unsigned i = 0; i < p.reads_out; ++i) {
        p.arrive[i] = p.arrive[i + 1];
        p.arrive_n[i] = p.arrive_n[i + 1];
      }
    }
    if (p.write_end <= c) {
      p.out_used -= p.write_n;
      p.write_end = kNever;
    }
    p.ticked = c;
    const bool offer = p.todo >= s.block_bytes && p.in_avail >= s.block_bytes;
    io.out_ready = s.fifo_bytes - p.out_used >= s.block_bytes;
    if (!u.busy() && !offer) continue;
    io.in = offer ? p.fin.data() : nullptr;
    io.in_taken = io.out_valid = false;
    u.tick(io);
    if (io.error) {
      s.unit_error = io.error;
      p.todo = 0;
      p.rd_n = 0;
      p.bad_read = false;
      p.wr.left = std::min(p.wr.left, p.out_avail);
      p.bad_write = false;
      p.wr_n = p.wr.left ? p.wr.burst(s.burst) : 0;
      s.out_ok = p.written + p.wr.left;
      return;
    }
    if (io.in_taken) {
      if (s.snoop == Snoop::In) s.listener->process(p.fin.data(), nullptr, s.block_bytes);
      p.fin.erase(p.fin.begin(), p.fin.begin() + s.block_bytes);
      p.in_avail -= s.block_bytes;
      p.in_used -= s.block_bytes;
      p.out_used += s.block_bytes;
      p.todo -= s.block_bytes;
    }
    if (io.out_valid) {
      const uint32_t kept = std::min(s.block_bytes, p.produce);
      if (s.snoop == Snoop::Out) s.listener->process(io.out, nullptr, s.block_bytes);
      p.fout.insert(p.fout.end(), io.out, io.out + kept);
      p.out_avail += kept;
      p.out_used -= s.block_bytes - kept;
      p.produce -= kept;
    }
  }
}

void TimedEngine::trace_port(unsigned n) {
  const Port& p = ports_[n];
  if (!p.stream || !p.stream->unit) return;
  const bool on = p.kind == Kind::Stream;
  observer_->unit_fifo(now_, p.stream->unit->code(), on && !p.stream->source ? p.in_used : 0, on ? p.out_used : 0, on && p.block_end != kNever);
}

}  // namespace sec::hw
