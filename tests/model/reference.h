// The slow, obviously right reference of the cycle-approximate engine: SystemC threads, one kernel event per
// burst and per block, every byte moved when its burst moves. It shares the registers' encoding and the units' arithmetic with
// the engine, and nothing of its timing or bookkeeping. Kept for good as the oracle: same completion clocks, same order,
// same memory.
//
// The phases of a clock: what ends on it ends at its start; units are given 1 ns into it; the bus is granted 2 ns into it.
// Stimuli must come later in the clock (the tests use the middle of the third nanosecond of slow clocks).
#pragma once
#define SC_INCLUDE_DYNAMIC_PROCESSES
#include <deque>
#include <memory>
#include <systemc>

#include "hw/core/engine.h"
#include "hw/eu/aesu.h"
#include "hw/eu/deu.h"
#include "tests/model/bench_memory.h"

namespace sec::test {

struct Ended {
  uint64_t clock;
  unsigned channel;
  BusAddr at;
  uint32_t error;
  bool operator==(const Ended&) const = default;
};

class Reference : public sc_core::sc_module {
 public:
  std::vector<Ended> log;
  uint64_t inject[kChannels] = {~0ull, ~0ull, ~0ull, ~0ull};

  Reference(sc_core::sc_module_name name, const regs::Part& part, const hw::Timing& t, hw::MemoryMap& m)
      : sc_module(name), part_(part), k_(t), m_(m), aesu_(std::make_unique<hw::Aesu>(t)), deu_(std::make_unique<hw::Deu>(t)) {
    for (unsigned i = 0; i < kChannels; ++i) {
      c_.push_back(std::make_unique<Chan>());
      spawn(i);
    }
    sc_core::sc_spawn([this] { bus_arbiter(); });
    sc_core::sc_spawn([this] { unit_arbiter(); });
  }
  void submit(unsigned i, BusAddr at) {
    Chan& c = *c_[i];
    if (c.fifo.size() >= 24) return;
    c.fifo.push_back(at);
    if (c.idle) {
      c.idle = false;
      c.bell.notify(until(clock() + 1));
    }
  }
  size_t waiting(unsigned i) const { return c_[i]->fifo.size(); }
  bool halted(unsigned i) const { return c_[i]->halted; }
  /// Reset (forget the FIFO) or continue.
  void reset(unsigned i, bool keep) {
    Chan& c = *c_[i];
    for (auto& p : c.processes) p.kill();
    for (auto& p : c.arrivals) p.kill();
    auto fifo = keep ? c.fifo : std::deque<BusAddr>{};
    snap_w_ &= ~(1u << i);
    snap_r_ &= ~(1u << i);
    for (auto& u : unit_) {
      u.asking &= ~(1u << i);
      u.snap &= ~(1u << i);
      if (u.holder == static_cast<int>(i)) {
        u.holder = -1;
        unit_event_.notify(until_ps((clock() + 1) * period() + 1000));
      }
    }
    c_[i] = std::make_unique<Chan>();
    c_[i]->fifo = fifo;
    c_[i]->fresh = true;
    spawn(i);
  }
  uint64_t events = 0;

 private:
  struct Burst {
    BusAddr addr;
    uint32_t n;
    bool ok;
  };
  struct Chan {
    std::deque<BusAddr> fifo;
    bool idle = false, halted = false, fresh = false;  // fresh: starts on the next clock
    sc_core::sc_event bell, unit_given, start, change, rd_go, wr_go;
    std::vector<sc_core::sc_process_handle> processes, arrivals;
    // requests
    bool want_r = false, want_w = false;
    BusAddr r_addr = 0, w_addr = 0;
    uint32_t r_n = 0, w_n = 0;
    // stream
    bool streaming = false, write_failed = false;
    hw::ExecutionUnit* unit = nullptr;
    uint32_t startup = 0;
    std::vector<Burst> in, out;
    uint32_t limit_in = 0, limit_out = 0;   // bytes that may be processed / written
    std::deque<uint8_t> in_fifo, out_fifo;  // data that is really there
    uint32_t in_used = 0, out_used = 0, reads_out = 0, todo = 0, produce = 0;
    bool reader_done = true, unit_done = true, writer_done = true;
  };
  struct Unit {
    int holder = -1;
    uint32_t asking = 0, snap = 0;
    unsigned last = 0;
  };

  uint64_t period() const { return k_.period_ps; }
  static uint64_t now_ps() { return sc_core::sc_time_stamp().value(); }
  uint64_t clock() const { return now_ps() / period(); }
  sc_core::sc_time until_ps(uint64_t ps) const { return sc_core::sc_time::from_value(ps > now_ps() ? ps - now_ps() : 0); }
  sc_core::sc_time until(uint64_t c) const { return until_ps(c * period()); }
  void sleep_until(uint64_t c) {
    ++events;
    if (c * period() > now_ps()) sc_core::wait(until(c));
  }
  void sleep(uint64_t clocks) { sleep_until(clock() + clocks); }

  void spawn(unsigned i) {
    Chan& c = *c_[i];
    c.processes.push_back(sc_core::sc_spawn([this, i] { channel(i); }));
    c.processes.push_back(sc_core::sc_spawn([this, i] { reader(i); }));
    c.processes.push_back(sc_core::sc_spawn([this, i] { unit(i); }));
    c.processes.push_back(sc_core::sc_spawn([this, i] { writer(i); }));
  }

  // ---- arbiters ----
  void ask_bus() {
    const uint64_t at = clock() * period() + 2000;
    bus_event_.notify(until_ps(at >= now_ps() ? at : at + period()));
  }
  void bus_arbiter() {
    for (;;) {
      sc_core::wait(bus_event_);
      ++events;
      if (clock() < bus_free_) {
        bus_event_.notify(until_ps(bus_free_ * period() + 2000));
        continue;
      }
      if (!(snap_w_ | snap_r_))
        for (unsigned i = 0; i < kChannels; ++i) {
          snap_w_ |= (c_[i]->want_w ? 1u : 0u) << i;
          snap_r_ |= (c_[i]->want_r ? 1u : 0u) << i;
        }
      if (!(snap_w_ | snap_r_)) continue;
      const bool w = snap_w_ != 0;
      uint32_t& snap = w ? snap_w_ : snap_r_;
      unsigned& last = w ? last_w_ : last_r_;
      unsigned i = last;
      do i = (i + 1) % kChannels; while (!(snap >> i & 1));
      snap &= ~(1u << i);
      last = i;
      Chan& c = *c_[i];
      bus_free_ = clock() + k_.bus_clocks(w ? c.w_addr : c.r_addr, w ? c.w_n : c.r_n);
      (w ? c.want_w : c.want_r) = false;
      (w ? c.wr_go : c.rd_go).notify();
      bus_event_.notify(until_ps(bus_free_ * period() + 2000));
    }
  }
  void ask_unit() {
    const uint64_t at = clock() * period() + 1000;
    unit_event_.notify(until_ps(at >= now_ps() ? at : at + period()));
  }
  void unit_arbiter() {
    for (;;) {
      sc_core::wait(unit_event_);
      ++events;
      for (auto& u : unit_) {
        if (u.holder >= 0) continue;
        if (!u.snap) std::swap(u.snap, u.asking);
        if (!u.snap) continue;
        unsigned i = u.last;
        do i = (i + 1) % kChannels; while (!(u.snap >> i & 1));
        u.snap &= ~(1u << i);
        u.holder = static_cast<int>(i);
        u.last = i;
        c_[i]->unit_given.notify();
      }
    }
  }

  // ---- one control access ----
  void read(unsigned i, BusAddr a, uint32_t n) {
    Chan& c = *c_[i];
    c.r_addr = a, c.r_n = n, c.want_r = true;
    ask_bus();
    sc_core::wait(c.rd_go);
    sleep_until(bus_free_ + k_.read_latency);
  }
  void write(unsigned i, BusAddr a, uint32_t n, uint32_t extra = 0) {
    Chan& c = *c_[i];
    c.w_addr = a, c.w_n = n, c.want_w = true;
    ask_bus();
    sc_core::wait(c.wr_go);
    sleep_until(bus_free_ + k_.posted_write + extra);
  }

  // ---- a channel ----
  void channel(unsigned i) {
    if (c_[i]->fresh) sc_core::wait(until(clock() + 1));
    for (;;) {
      Chan& c = *c_[i];
      if (c.fifo.empty()) {
        c.idle = true;
        sc_core::wait(c.bell);
        c.idle = false;
      }
      const BusAddr at = c.fifo.front();
      c.fifo.pop_front();
      const uint32_t error = descriptor(i, at);
      if (error) {
        sleep(k_.interrupt);
        c.halted = true;
      }
      log.push_back({clock(), i, at, error});
      if (error) return;
    }
  }
  uint32_t descriptor(unsigned i, BusAddr at) {
    namespace e = regs::channel_error;
    Chan& c = *c_[i];
    if (!at) return e::kFpz;
    read(i, at, 64);
    const uint8_t* raw = m_.at(at, 64);
    if (!raw) return e::kMdte;
    const regs::Descriptor d = regs::Descriptor::load(raw);
    const regs::HeaderWord h = regs::HeaderWord::decode(d.header);
    const bool aes = h.sel0 == 6;
    if (!part_.has_type(h.type) || h.type > 2 || h.type == 1 || h.sel1 || (h.type == 0 && !aes)) return e::kIdh;
    if (!aes && h.sel0 != 2) return e::kIeu;
    Unit& u = unit_[aes ? 0 : 1];
    u.asking |= 1u << i;
    ask_unit();
    sc_core::wait(c.unit_given);
    sleep(k_.grant);
    sleep(k_.unit_reset);
    c.unit = aes ? static_cast<hw::ExecutionUnit*>(aesu_.get()) : deu_.get();
    c.unit->reset_for_channel();
    uint8_t iv[16] = {}, key[128] = {};
    if (d.ptr[1].length) {
      read(i, d.ptr[1].address, d.ptr[1].length);
      if (!m_.at(d.ptr[1].address, d.ptr[1].length)) return e::kMdte;
      std::memcpy(iv, m_.at(d.ptr[1].address, d.ptr[1].length), d.ptr[1].length);
    }
    read(i, d.ptr[2].address, d.ptr[2].length);
    if (!m_.at(d.ptr[2].address, d.ptr[2].length)) return e::kMdte;
    std::memcpy(key, m_.at(d.ptr[2].address, d.ptr[2].length), d.ptr[2].length);
    if (c.unit->begin({.mode = h.mode0, .key = key, .key_bytes = d.ptr[2].length, .context = iv, .context_bytes = d.ptr[1].length, .data_bytes = d.ptr[3].length})) return e::kEu;
    std::vector<std::pair<BusAddr, uint32_t>> in, out;
    if (const uint32_t x = list(i, d.ptr[3], in, true)) return x;
    if (const uint32_t x = list(i, d.ptr[4], out, false)) return x;
    const uint32_t x = run_stream(i, in, d.ptr[3].length, out, d.ptr[4].length);
    if (x) return x;
    if (d.ptr[5].length) {
      write(i, d.ptr[5].address, d.ptr[5].length);
      uint8_t ctx[16];
      c.unit->context(ctx, d.ptr[5].length);
      std::memcpy(m_.at(d.ptr[5].address, d.ptr[5].length), ctx, d.ptr[5].length);
    }
    u.holder = -1;
    ask_unit();
    if (write_back) {
      write(i, at, 4, k_.interrupt);
      *m_.at(at, 1) = 0xff;
    } else {
      sleep(k_.interrupt);
    }
    return 0;
  }
  uint32_t list(unsigned i, regs::PointerDword p, std::vector<std::pair<BusAddr, uint32_t>>& l, bool gather) {
    namespace e = regs::channel_error;
    if (!p.jump) {
      l.push_back({p.address, p.length});
      return 0;
    }
    const uint32_t mismatch = part_.generation == regs::Generation::Sec3 ? e::kSgml : gather ? e::kGrl : e::kSrl;
    BusAddr t = p.address;
    for (uint32_t left = p.length;;) {
      const auto n = static_cast<uint32_t>(m_.good_bytes(t, 32) / 8 * 8);
      read(i, t, n ? n : 8);
      if (!n) return e::kMdte;
      BusAddr next = t + n;
      for (uint32_t k = 0; k < n; k += 8) {
        const regs::LinkEntry en = regs::LinkEntry::load(m_.at(t + k, 8));
        if (en.is_next()) {
          next = en.address;
          break;
        }
        if (!en.length) return e::kSgdlz;
        if (en.length > left) return mismatch;
        l.push_back({en.address, en.length});
        left -= en.length;
        if (en.is_last()) return left ? mismatch : 0;
        if (!left) return mismatch;
      }
      t = next;
    }
  }

  // ---- the stream ----
  uint32_t run_stream(unsigned i, const std::vector<std::pair<BusAddr, uint32_t>>& in, uint32_t in_bytes,
                      const std::vector<std::pair<BusAddr, uint32_t>>& out, uint32_t out_bytes) {
    namespace e = regs::channel_error;
    Chan& c = *c_[i];
    auto bursts = [&](const auto& l) {
      std::vector<Burst> v;
      for (auto [a, n] : l)
        while (n) {
          const uint32_t k = std::min<uint32_t>(64 - a % 64, n);
          v.push_back({a, k, m_.at(a, k) != nullptr});
          if (!v.back().ok) return v;
          a += k, n -= k;
        }
      return v;
    };
    c.in = bursts(in);
    c.out = bursts(out);
    const bool in_fault = !c.in.empty() && !c.in.back().ok;
    uint32_t arrives = 0;
    for (const Burst& b : c.in) arrives += b.ok ? b.n : 0;
    const uint32_t block = c.unit->block_bytes();
    c.todo = in_fault ? arrives / block * block : in_bytes;
    bool unit_fault = false;
    if (inject[i] < c.todo) {
      unit_fault = true;
      c.todo = static_cast<uint32_t>(inject[i] / block * block);
      truncate(c.in, c.todo);
    }
    c.produce = std::min(out_bytes, c.todo);
    truncate(c.out, c.produce);
    c.startup = c.unit->startup_clocks();
    c.in_used = c.out_used = c.reads_out = 0;
    c.in_fifo.clear();
    c.out_fifo.clear();
    c.write_failed = false;
    c.streaming = true;
    c.reader_done = c.in.empty();
    c.unit_done = c.todo == 0;
    c.writer_done = c.out.empty();
    c.start.notify();
    while (!c.write_failed && !(c.reader_done && c.reads_out == 0 && c.unit_done && c.writer_done)) sc_core::wait(c.change);
    c.streaming = false;
    if (c.write_failed) {
      for (size_t p = 1; p < c.processes.size(); ++p) c.processes[p].kill();
      for (auto& p : c.arrivals) p.kill();
      c.want_r = c.want_w = false;
      snap_w_ &= ~(1u << i);
      snap_r_ &= ~(1u << i);
      return e::kMdte;
    }
    c.arrivals.clear();
    if (unit_fault) {
      c.unit->raise(0x1000);
      return e::kEu;
    }
    return in_fault ? e::kMdte : 0;
  }
  /// Keeps the first `n` bytes; a last burst that would be cut goes out shorter, a failing one only whole.
  static void truncate(std::vector<Burst>& v, uint32_t n) {
    std::vector<Burst> r;
    for (Burst b : v) {
      if (!n) break;
      if (b.n > n) {
        if (!b.ok) break;
        b.n = n;
      }
      n -= b.n;
      r.push_back(b);
    }
    v = r;
  }
  void reader(unsigned i) {
    Chan& c = *c_[i];
    for (;;) {
      sc_core::wait(c.start);
      for (const Burst b : std::vector<Burst>(c.in)) {
        while (c.reads_out >= k_.reads_in_flight || k_.fifo_bytes - c.in_used < b.n) sc_core::wait(c.change);
        c.r_addr = b.addr, c.r_n = b.n, c.want_r = true;
        ask_bus();
        sc_core::wait(c.rd_go);
        ++events;
        ++c.reads_out;
        if (b.ok) c.in_used += b.n;
        const uint64_t when = bus_free_ + k_.read_latency;
        c.arrivals.push_back(sc_core::sc_spawn([this, &c, b, when] {
          sleep_until(when);
          if (b.ok) {
            const uint8_t* p = m_.at(b.addr, b.n);
            c.in_fifo.insert(c.in_fifo.end(), p, p + b.n);
          }
          --c.reads_out;
          c.change.notify();
        }));
      }
      c.reader_done = true;
      c.change.notify();
    }
  }
  void unit(unsigned i) {
    Chan& c = *c_[i];
    for (;;) {
      sc_core::wait(c.start);
      uint64_t ready = clock() + c.startup;
      const uint32_t block = c.todo ? c.unit->block_bytes() : 1;
      while (c.todo) {
        const uint32_t n = std::min(block, c.todo);
        while (c.in_fifo.size() < n || k_.fifo_bytes - c.out_used < n) sc_core::wait(c.change);
        uint8_t data[16];
        std::copy_n(c.in_fifo.begin(), n, data);
        c.in_fifo.erase(c.in_fifo.begin(), c.in_fifo.begin() + n);
        c.in_used -= n;
        c.out_used += n;
        c.todo -= n;
        c.change.notify();
        sleep_until(std::max(clock(), ready) + c.unit->block_clocks());
        c.unit->process(data, data, n);
        const uint32_t kept = std::min(n, c.produce);
        c.out_fifo.insert(c.out_fifo.end(), data, data + kept);
        c.out_used -= n - kept;
        c.produce -= kept;
        c.change.notify();
      }
      c.unit_done = true;
      c.change.notify();
    }
  }
  void writer(unsigned i) {
    Chan& c = *c_[i];
    for (;;) {
      sc_core::wait(c.start);
      for (const Burst b : std::vector<Burst>(c.out)) {
        while (c.out_fifo.size() < b.n) sc_core::wait(c.change);
        c.w_addr = b.addr, c.w_n = b.n, c.want_w = true;
        ask_bus();
        sc_core::wait(c.wr_go);
        ++events;
        if (b.ok) std::copy_n(c.out_fifo.begin(), b.n, m_.at(b.addr, b.n));
        c.out_fifo.erase(c.out_fifo.begin(), c.out_fifo.begin() + b.n);
        sleep_until(bus_free_ + k_.posted_write);
        c.out_used -= b.n;
        if (!b.ok) {
          c.write_failed = true;
          c.change.notify();
          sc_core::wait(c.start);  // the stream is over; the channel ends this process
        }
        c.change.notify();
      }
      c.writer_done = true;
      c.change.notify();
    }
  }

 public:
  bool write_back = true;  // CDWE

 private:
  const regs::Part& part_;
  const hw::Clocks k_;
  hw::MemoryMap& m_;
  std::unique_ptr<hw::Aesu> aesu_;
  std::unique_ptr<hw::Deu> deu_;
  std::vector<std::unique_ptr<Chan>> c_;
  Unit unit_[2];
  sc_core::sc_event bus_event_, unit_event_;
  uint64_t bus_free_ = 0;
  uint32_t snap_w_ = 0, snap_r_ = 0;
  unsigned last_w_ = 0, last_r_ = 0;
};

}  // namespace sec::test
