// The slow, obviously right reference of the cycle-approximate engine: SystemC threads, one kernel event per
// burst and per block, every byte moved when its burst moves, and a second unit fed with each block that it listens to. It shares the registers' encoding and the units' arithmetic with
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
#include "hw/eu/units.h"
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
      : sc_module(name), part_(part), k_(t), m_(m) {
    for (unsigned u = 0; u < kUnits; ++u) eu_[u] = hw::make_unit(kCodes[u], part, t);
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
  unsigned unit_counts[2] = {}, bus_counts[2] = {};  // MCR's, of channels 2 and 3

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
    hw::ExecutionUnit *unit = nullptr, *second = nullptr;
    bool second_hears_input = false;
    uint32_t startup = 0;
    std::vector<Burst> in, out;
    std::deque<uint8_t> in_fifo, out_fifo;  // data that is really there
    uint32_t in_used = 0, out_used = 0, reads_out = 0, todo = 0, produce = 0;
    bool reader_done = true, unit_done = true, writer_done = true;
  };
  struct Turns {
    unsigned last = 0, lost[kChannels] = {};
    bool served = false;  // anybody, ever
  };
  struct Unit {
    int holder = -1;
    uint32_t asking = 0, snap = 0;
    Turns turns;
  };
  /// Whose turn it is among `asking`; {0, 0}: round robin, else by weight.
  static unsigned turn(uint32_t asking, Turns& t, const unsigned (&counts)[2]) {
    unsigned winner = kChannels;
    if (!counts[0] || !counts[1]) {
      winner = t.last;
      do winner = (winner + 1) % kChannels; while (!(asking >> winner & 1));
    } else {
      std::vector<unsigned> order;
      if (t.last != 0 || !t.served) order.push_back(0);
      for (unsigned c : {2u, 3u})
        if (t.lost[c] >= counts[c - 2]) order.push_back(c);
      for (unsigned c : {1u, 2u, 3u, 0u}) order.push_back(c);
      for (unsigned c : order)
        if (winner == kChannels && asking >> c & 1) winner = c;
    }
    for (unsigned c = 0; c < kChannels; ++c)
      if (asking >> c & 1) t.lost[c] = c == winner ? 0 : t.lost[c] + 1;
    t.last = winner;
    t.served = true;
    return winner;
  }

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
      const unsigned i = turn(snap, w ? turns_w_ : turns_r_, bus_counts);
      snap &= ~(1u << i);
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
        const unsigned i = turn(u.snap, u.turns, unit_counts);
        u.snap &= ~(1u << i);
        u.holder = static_cast<int>(i);
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
  using Pieces = std::vector<std::pair<BusAddr, uint32_t>>;
  using Pointer = regs::PointerDword;
  static int unit_of(unsigned code) {
    for (unsigned u = 0; u < kUnits; ++u)
      if (static_cast<unsigned>(kCodes[u]) == code) return static_cast<int>(u);
    return code == static_cast<unsigned>(regs::Eu::MdeuB) ? 2 : -1;
  }
  void get_unit(unsigned i, int u) {
    unit_[u].asking |= 1u << i;
    ask_unit();
    sc_core::wait(c_[i]->unit_given);
    sleep(k_.grant);
  }
  /// A key or an IV.
  uint32_t small(unsigned i, Pointer p, std::vector<uint8_t>& v) {
    v.clear();
    if (!p.length) return 0;
    read(i, p.address, p.length);
    const uint8_t* m = m_.at(p.address, p.length);
    if (!m) return regs::channel_error::kMdte;
    v.assign(m, m + p.length);
    return 0;
  }
  uint32_t put(unsigned i, BusAddr a, const uint8_t* bytes, uint32_t n) {
    write(i, a, n);
    uint8_t* m = m_.at(a, n);
    if (!m) return regs::channel_error::kMdte;
    std::memcpy(m, bytes, n);
    return 0;
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
    const int first = unit_of(h.sel0), second = unit_of(h.sel1);
    const bool esp = h.type == 1, pair = esp || h.type == 4, hash = first == 2;
    if (!part_.has_type(h.type) || (h.type > 2 && !pair)) return e::kIdh;
    if (pair ? hash || second != 2 : h.sel1 != 0 || (h.type == 0 && first != 0)) return e::kIdh;
    if (first < 0 || !eu_[first] || !part_.has(static_cast<regs::Eu>(h.sel0)) || (pair && !part_.has(static_cast<regs::Eu>(h.sel1)))) return e::kIeu;
    get_unit(i, first);
    if (pair) get_unit(i, second);
    sleep(k_.unit_reset);
    c.unit = eu_[first].get();
    c.second = pair ? eu_[second].get() : nullptr;
    c.second_hears_input = h.inbound;
    c.unit->reset_for_channel();
    if (pair) c.second->reset_for_channel();

    // What the pointers are, type by type.
    const Pointer none{}, hash_key = pair ? d.ptr[0] : none, header = pair ? d.ptr[1] : none, iv = pair ? d.ptr[esp ? 2 : 3] : d.ptr[1],
                  key = pair ? d.ptr[esp ? 3 : 2] : d.ptr[2], in = d.ptr[pair ? 4 : 3], out = hash ? none : d.ptr[pair ? 5 : 4];
    const uint32_t icv_in = esp ? in.extent : hash ? d.ptr[4].length : 0, icv_out = esp ? out.extent : 0;

    std::vector<uint8_t> hash_key_v, iv_v, key_v;
    if (const uint32_t x = small(i, hash_key, hash_key_v)) return x;
    if (const uint32_t x = esp || !pair ? small(i, iv, iv_v) : small(i, key, key_v)) return x;
    if (const uint32_t x = esp || !pair ? small(i, key, key_v) : small(i, iv, iv_v)) return x;
    if (c.unit->begin({.mode = h.mode0,
                       .code = static_cast<regs::Eu>(h.sel0),
                       .key = key_v.data(),
                       .key_bytes = static_cast<uint32_t>(key_v.size()),
                       .context = iv_v.data(),
                       .context_bytes = static_cast<uint32_t>(iv_v.size()),
                       .data_bytes = in.length,
                       .icv_bytes = pair ? 0 : icv_in}))
      return e::kEu;
    if (pair && c.second->begin({.mode = h.mode1,
                                 .code = static_cast<regs::Eu>(h.sel1),
                                 .key = hash_key_v.data(),
                                 .key_bytes = static_cast<uint32_t>(hash_key_v.size()),
                                 .header_bytes = header.length,
                                 .data_bytes = in.length,
                                 .icv_bytes = icv_in}))
      return e::kEu;

    Pieces header_l, in_l, icv_in_l, out_l, icv_out_l, nothing;
    if (header.length)
      if (const uint32_t x = list(i, header, 0, header_l, nothing, true)) return x;
    if (const uint32_t x = list(i, in, esp ? icv_in : 0, in_l, icv_in_l, true)) return x;
    if (!hash)
      if (const uint32_t x = list(i, out, icv_out, out_l, icv_out_l, false)) return x;
    for (auto [a, n] : header_l)
      while (n) {
        const uint32_t k = std::min<uint32_t>(64 - a % 64, n);
        read(i, a, k);
        if (!m_.at(a, k)) return e::kMdte;
        c.second->header(m_.at(a, k), k);
        a += k, n -= k;
      }
    if (const uint32_t x = run_stream(i, in_l, in.length, out_l, out.length)) return x;
    if (hash && icv_in) icv_in_l.push_back({d.ptr[4].address, icv_in});
    hw::ExecutionUnit& judge = pair ? *c.second : *c.unit;
    std::vector<uint8_t> received;
    for (auto [a, n] : icv_in_l) {
      read(i, a, n);
      if (!m_.at(a, n)) return e::kMdte;
      received.insert(received.end(), m_.at(a, n), m_.at(a, n) + n);
    }
    if (icv_in) judge.set_received_icv(received.data(), icv_in);
    const uint32_t drain = std::max(c.unit->finish_clocks(), pair ? c.second->finish_clocks() : 0);
    if (drain) sleep(drain);
    const uint32_t bad = c.unit->finish() | (pair ? c.second->finish() : 0);
    if (bad) return e::kEu;

    uint8_t bytes[128] = {};
    const auto store = [&](Pointer p, bool icv) -> uint32_t {
      if (!p.length) return 0;
      std::memset(bytes, 0, sizeof bytes);
      if (icv)
        judge.icv(bytes, p.length);
      else
        c.unit->context(bytes, p.length);
      return put(i, p.address, bytes, p.length);
    };
    judge.icv(bytes, icv_out);
    uint32_t done = 0;
    for (auto [a, n] : icv_out_l) {
      if (const uint32_t x = put(i, a, bytes + done, n)) return x;
      done += n;
    }
    if (!pair)
      if (const uint32_t x = store(d.ptr[5], false)) return x;
    if (pair)
      if (const uint32_t x = store(d.ptr[6], !esp)) return x;
    const uint32_t verdict = (pair ? 0u : static_cast<uint32_t>(c.unit->verdict()) << 27) | (pair ? static_cast<uint32_t>(c.second->verdict()) << 19 : 0u);
    unit_[first].holder = -1;
    if (pair) unit_[second].holder = -1;
    ask_unit();
    if (write_back) {
      const bool both = icv_write_back && verdict;
      write(i, at, both ? 8 : 4, k_.interrupt);
      *m_.at(at, 1) = 0xff;
      if (both) store_be32(m_.at(at + 4, 4), verdict);
    } else {
      sleep(k_.interrupt);
    }
    return 0;
  }
  /// The pieces of a pointer: data in `l`, the extent behind it in `x`.
  uint32_t list(unsigned i, Pointer p, uint32_t extent, Pieces& l, Pieces& x, bool gather) {
    namespace e = regs::channel_error;
    const bool sec3 = part_.generation == regs::Generation::Sec3;
    if (!p.jump) {
      if (p.length) l.push_back({p.address, p.length});
      if (extent) x.push_back({p.address + p.length, extent});
      return 0;
    }
    const uint32_t mismatch = sec3 ? e::kSgml : gather ? e::kGrl : e::kSrl;
    const uint32_t covered = gather && !sec3 ? 0 : extent;
    Pieces all;
    BusAddr t = p.address;
    bool more = true;
    for (uint32_t left = p.length + covered; more;) {
      const auto n = static_cast<uint32_t>(m_.good_bytes(t, 32) / 8 * 8);
      read(i, t, n ? n : 8);
      if (!n) return e::kMdte;
      BusAddr next = t + n;
      for (uint32_t k = 0; k < n && more; k += 8) {
        const regs::LinkEntry en = regs::LinkEntry::load(m_.at(t + k, 8));
        if (en.is_next()) {
          next = en.address;
          break;
        }
        if (!en.length) return e::kSgdlz;
        if (en.length > left) return mismatch;
        all.push_back({en.address, en.length});
        left -= en.length;
        if (en.is_last() ? left != 0 : !left) return mismatch;
        more = !en.is_last();
      }
      t = next;
    }
    uint32_t data = p.length;
    for (auto [a, n] : all) {
      if (data && n > data) return sec3 ? e::kSgml : gather ? e::kGb : e::kSb;  // a piece of data and extent
      (data ? l : x).push_back({a, n});
      data -= data ? n : 0;
    }
    if (extent && !covered) x.push_back({l.empty() ? p.address : l.back().first + l.back().second, extent});
    return 0;
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
    c.startup = std::max(c.unit->startup_clocks(), c.second ? c.second->startup_clocks() : 0);
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
      // A pair goes on together: as many bytes as the larger block has, in the time of the slower unit.
      uint32_t block = 1, clocks = 1;
      if (c.todo) {
        block = std::max(c.unit->block_bytes(), c.second ? c.second->block_bytes() : 0);
        clocks = block / c.unit->block_bytes() * c.unit->block_clocks();
        if (c.second) clocks = std::max(clocks, block / c.second->block_bytes() * c.second->block_clocks());
      }
      while (c.todo) {
        const uint32_t n = std::min(block, c.todo);
        while (c.in_fifo.size() < n || k_.fifo_bytes - c.out_used < n) sc_core::wait(c.change);
        uint8_t data[128];
        std::copy_n(c.in_fifo.begin(), n, data);
        c.in_fifo.erase(c.in_fifo.begin(), c.in_fifo.begin() + n);
        c.in_used -= n;
        c.out_used += n;
        c.todo -= n;
        c.change.notify();
        sleep_until(std::max(clock(), ready) + clocks);
        if (c.second && c.second_hears_input) c.second->process(data, nullptr, n);
        c.unit->process(data, c.unit->writes_output() ? data : nullptr, n);
        if (c.second && !c.second_hears_input) c.second->process(data, nullptr, n);
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
  bool write_back = true;       // CDWE
  bool icv_write_back = false;  // IWSE
  hw::ExecutionUnit& mdeu() { return *eu_[2]; }

 private:
  const regs::Part& part_;
  const hw::Clocks k_;
  hw::MemoryMap& m_;
  static constexpr unsigned kUnits = 3;
  static constexpr regs::Eu kCodes[kUnits] = {regs::Eu::Aesu, regs::Eu::Deu, regs::Eu::MdeuA};
  std::unique_ptr<hw::ExecutionUnit> eu_[kUnits];
  std::vector<std::unique_ptr<Chan>> c_;
  Unit unit_[kUnits];
  sc_core::sc_event bus_event_, unit_event_;
  uint64_t bus_free_ = 0;
  uint32_t snap_w_ = 0, snap_r_ = 0;
  Turns turns_w_, turns_r_;
};

}  // namespace sec::test
