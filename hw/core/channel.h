// The descriptor engine of one channel, written once for both executors.
//
// It reads like the manual: fetch, decode, request the unit, reset it, load, run, store, write back. Each
// `co_await x_.…` is a step that takes time on the cycle-approximate path and none on the functional one;
// effects on memory and registers happen here, after the step. An executor X supplies
//     next(n)                      a descriptor address from the fetch FIFO
//     read(n, addr, bytes), write(n, addr, bytes)    one control access on the master bus
//     acquire(n, unit), release(n, unit)             unit arbitration
//     delay(n, clocks)
//     stream(n, Stream&)           read | process | write through the unit's FIFOs
//     hang(n)                      for ever (until a reset or the watchdog)
//     unwatch(n)                   the watchdog no longer counts for this descriptor
// Waiting steps need no clean-up of their own: when a channel is reset, X::cancel(n) forgets what it was waiting
// for, and the coroutine is destroyed.
//
// Data moves in commit(): the whole stream at its end, or the part that had been written when a reset
// or somebody who looks at memory comes in between. Input is read in the same moment, so memory that is changed
// under a running descriptor is seen late (UNMODELLED; real hardware would see some of it).
//
// ASSUMED, where no public source tells: link tables are walked before data moves, up to four entries a read; a
// bus error on input is raised when everything before it has been processed and written; size, key and mode errors
// are raised before data moves; output beyond the output pointer's length is dropped.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "hw/core/engine.h"
#include "hw/core/task.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/eu_common.h"
#include "hw/regs/link_table.h"

namespace sec::hw {

struct BusSegment {
  BusAddr addr = 0;
  uint32_t size_bytes = 0;
};

/// A gather or scatter list after the link tables have been walked. Keeps its memory from descriptor to descriptor.
class SegmentList {
 public:
  uint32_t total = 0;
  uint32_t good = 0;  // bytes in bursts before the first one that answers with a bus error

  void clear() {
    count_ = 0;
    total = good = 0;
  }
  void add(BusAddr a, uint32_t n) {
    total += n;
    if (!n) return;
    if (count_ == store_.size()) [[unlikely]] store_.resize(count_ * 2);
    store_[count_++] = {a, n};
  }
  const BusSegment* begin() const { return store_.data(); }
  const BusSegment* end() const { return store_.data() + count_; }
  size_t size() const { return count_; }
  const BusSegment& operator[](size_t i) const { return store_[i]; }

 private:
  std::vector<BusSegment> store_ = std::vector<BusSegment>(8);
  size_t count_ = 0;
};

/// Bytes of the burst that starts at `addr` when `left` bytes remain: bursts end on burst boundaries.
inline uint32_t burst_size(BusAddr addr, uint32_t left, uint32_t burst) {
  const uint32_t n = burst - static_cast<uint32_t>(addr & (burst - 1));
  return n < left ? n : left;
}

/// What a stream moves. Input bytes [0, in_ok) arrive, then, if in_fault, a burst that fails; likewise for output.
struct Stream {
  ExecutionUnit* unit = nullptr;
  const SegmentList* in = nullptr;
  const SegmentList* out = nullptr;
  uint32_t in_ok = 0, process = 0, out_ok = 0;  // process: bytes the unit takes; out_ok: bytes that reach memory
  bool in_fault = false, out_fault = false;
  uint32_t burst = 64;
  uint32_t startup_clocks = 0, block_clocks = 1, block_bytes = 16, block_shift = 4;  // blocks are 8 or 16 bytes
  uint32_t unit_error = 0;   // raised by a clocked unit on the way
};

template <class X>
class Channel {
 public:
  Channel(X& x, Engine& e, unsigned n) : x_(x), e_(e), n_(n), st_(e.channel(n)) {}

  void start() { task_ = run(); }
  /// Forgets the descriptor, wherever it is: what was written stays, units are reset and released.
  void abandon() {
    if (streaming_) commit(x_.written(n_));
    streaming_ = false;
    x_.cancel(n_);
    task_ = {};
    release_unit(true);
  }
  /// Makes visible in memory what the stream has written by now (somebody is about to look).
  void publish() {
    if (streaming_) commit(x_.written(n_));
  }
  /// Ends the descriptor with a channel error from outside (watchdog).
  void fail(uint32_t bits) {
    if (streaming_) commit(x_.written(n_));
    streaming_ = false;
    x_.cancel(n_, false);
    task_ = {};
    e_.set_state(n_, regs::ChannelState::Error, x_.now());
    e_.channel_failed(n_, bits);  // the unit stays held until the channel is reset, so that its error can be read
  }
  const Stream& stream() const { return stream_; }

 private:
  using State = regs::ChannelState;
  static constexpr uint32_t kMdte = regs::channel_error::kMdte;

  void state(State s) { e_.set_state(n_, s, x_.now()); }

  Task<int> run() {
    for (;;) {
      const BusAddr at = co_await x_.next(n_);
      e_.begin_descriptor(n_, at);
      const auto began = x_.now();
      const uint32_t error = co_await descriptor(at);
      e_.counters().channel_busy_clocks[n_] += x_.now() - began;
      if (error) [[unlikely]] {
        x_.unwatch(n_);
        co_await x_.delay(n_, e_.clocks().interrupt);
        state(State::Error);
        e_.channel_failed(n_, error);
        x_.visible();
        co_return 0;  // halted until reset or continue
      }
      state(State::Idle);
    }
  }

  Task<uint32_t> descriptor(BusAddr at) {
    const Clocks& k = e_.clocks();
    if (at == 0) co_return regs::channel_error::kFpz;

    state(State::Fetch);
    co_await x_.read(n_, at, 64);
    const uint8_t* raw = e_.memory().at(at, 64);
    if (!raw) co_return kMdte;
    std::memcpy(st_.descriptor.data(), raw, 64);

    const uint32_t header = load_be32(raw);
    regs::Eu eu;
    if (const uint32_t bad = e_.check_header(header, eu)) [[unlikely]] {
      state(State::Decode);
      co_return bad;
    }
    const regs::PointerDword p1 = pointer(1), p2 = pointer(2), p3 = pointer(3), p4 = pointer(4), p5 = pointer(5);

    state(State::RequestPrimary);
    st_.unit_progress = ChannelState::kRequesting;
    ExecutionUnit* const unit = e_.unit(eu);
    const auto asked = x_.now();
    co_await x_.acquire(n_, eu);
    held_ = unit;
    held_since_ = x_.now();
    e_.counters().unit_wait_clocks[static_cast<size_t>(eu)] += held_since_ - asked;
    unit->set_owned_by_channel(true);
    st_.unit_progress = ChannelState::kRequesting | ChannelState::kGranted;

    state(State::ResetEu);
    co_await x_.delay(n_, k.unit_reset);
    unit->reset_for_channel();
    st_.unit_progress |= ChannelState::kResetDone;

    state(State::Load);
    uint8_t context[kSmall], key[kSmall];
    uint32_t context_bytes = 0;
    st_.pair_ptr = 1;
    if (p1.length) {
      if (p1.jump) {
        if (const uint32_t e = co_await walk(p1, in_, st_.gather.data(), true)) co_return e;
        if (const uint32_t e = co_await small_read(in_, context)) co_return e;
        context_bytes = std::min<uint32_t>(p1.length, kSmall);
      } else {
        const BusAddr a = e_.translate(n_, p1.bus_addr());
        context_bytes = std::min<uint32_t>(p1.length, kSmall);
        co_await x_.read(n_, a, context_bytes);
        const uint8_t* m = e_.memory().at(a, context_bytes);
        if (!m) co_return kMdte;
        std::memcpy(context, m, context_bytes);
      }
    }
    st_.pair_ptr = 2;
    const uint32_t key_bytes = std::min<uint32_t>(p2.length, kSmall);
    if (p2.jump) {
      if (const uint32_t e = co_await walk(p2, in_, st_.gather.data(), true)) co_return e;
      if (const uint32_t e = co_await small_read(in_, key)) co_return e;
    } else if (key_bytes) {
      const BusAddr a = e_.translate(n_, p2.bus_addr());
      co_await x_.read(n_, a, key_bytes);
      const uint8_t* m = e_.memory().at(a, key_bytes);
      if (!m) co_return kMdte;
      std::memcpy(key, m, key_bytes);
    }
    const uint32_t bytes = p3.length;
    if (unit->begin({.mode = static_cast<uint8_t>(header >> 20), .code = eu, .key = key, .key_bytes = key_bytes, .context = context, .context_bytes = context_bytes, .data_bytes = bytes})) [[unlikely]]
      co_return regs::channel_error::kEu;

    st_.pair_ptr = 3;
    if (p3.jump) {
      if (const uint32_t e = co_await walk(p3, in_, st_.gather.data(), true)) co_return e;
    } else {
      in_.clear();
      in_.add(e_.translate(n_, p3.bus_addr()), p3.length);
    }
    st_.pair_ptr = 4;
    if (p4.jump) {
      if (const uint32_t e = co_await walk(p4, out_, st_.scatter.data(), false)) co_return e;
    } else {
      out_.clear();
      out_.add(e_.translate(n_, p4.bus_addr()), p4.length);
    }

    if (bytes == 0) [[unlikely]] {
      if (!k.zero_length_is_dse) co_await x_.hang(n_);  // MPC8544E SEC-A001: nothing ever tells the unit to finish
      unit->raise(kDse);
      co_return regs::channel_error::kEu;
    }

    state(State::Run);
    plan_stream();
    moved_ = written_ = 0;
    streaming_ = true;
    co_await x_.stream(n_, stream_);
    commit(stream_.out_ok);
    streaming_ = false;
    e_.counters().unit_blocks[static_cast<size_t>(eu)] += stream_.process >> stream_.block_shift;
    e_.counters().unit_busy_clocks[static_cast<size_t>(eu)] +=
        uint64_t{stream_.process >> stream_.block_shift} * stream_.block_clocks + stream_.startup_clocks;
    if (stream_.unit_error) {
      unit->raise(stream_.unit_error);
      co_return regs::channel_error::kEu;
    }
    if (stream_.in_fault || stream_.out_fault) co_return kMdte;
    e_.counters().bytes_in += bytes;
    e_.counters().bytes_out += stream_.out_ok;
    e_.counters().channel_bytes[n_] += bytes;
    st_.unit_progress |= ChannelState::kDone;

    if (p5.length) {
      state(State::Store);
      st_.pair_ptr = 5;
      const uint32_t n = unit->context(context, std::min<uint32_t>(p5.length, kSmall));
      std::memset(context + n, 0, std::min<uint32_t>(p5.length, kSmall) - n);
      if (p5.jump) {
        if (const uint32_t e = co_await walk(p5, out_, st_.scatter.data(), false)) co_return e;
        uint32_t at_byte = 0;
        for (const BusSegment s : out_) {
          const uint32_t size = std::min(s.size_bytes, kSmall - at_byte);
          if (!size) break;
          co_await x_.write(n_, s.addr, size);
          uint8_t* m = e_.memory().at(s.addr, size);
          if (!m) co_return kMdte;
          std::memcpy(m, context + at_byte, size);
          at_byte += size;
        }
      } else {
        const BusAddr a = e_.translate(n_, p5.bus_addr());
        const uint32_t size = std::min<uint32_t>(p5.length, kSmall);
        co_await x_.write(n_, a, size);
        uint8_t* m = e_.memory().at(a, size);
        if (!m) co_return kMdte;
        std::memcpy(m, context, size);
      }
    }
    release_unit(false);

    const uint32_t config = st_.config;
    const bool notify = !(config & kNt) || (header & kDn);
    uint32_t wait = k.interrupt;
    if (notify && config & kCdwe) {
      state(State::WriteBack);
      // The second word carries ICV verdicts; these types have none, so only AWSE writes it. [LX][T23]
      const uint32_t size = config & kAwse ? 8 : 4;
      co_await x_.write(n_, at, size, wait);
      wait = 0;
      uint8_t* m = e_.memory().at(at, size);
      if (!m) co_return kMdte;
      m[0] = 0xff;
      if (size == 8) std::memset(m + 4, 0, 4);
    }
    if (wait) co_await x_.delay(n_, wait);
    e_.channel_done(n_, notify);
    x_.visible();
    co_return 0;
  }

  regs::PointerDword pointer(unsigned i) { return regs::PointerDword::decode(load_be64(st_.descriptor.data() + 8 + 8 * i)); }

  /// Walks the link tables of a pointer dword into `list`.
  Task<uint32_t> walk(regs::PointerDword p, SegmentList& list, uint8_t* shadow, bool gather) {
    list.clear();
    const bool sec3 = e_.part().generation == regs::Generation::Sec3;
    const uint32_t mismatch = sec3 ? regs::channel_error::kSgml : gather ? regs::channel_error::kGrl : regs::channel_error::kSrl;
    BusAddr at = e_.translate(n_, p.bus_addr());
    uint32_t left = p.length;
    for (unsigned fetches = 0; fetches < kMaxTableFetches; ++fetches) {
      const auto want = e_.clocks().prefetch_entries * 8;
      const auto n = static_cast<uint32_t>(e_.memory().good_bytes(at, want)) / 8 * 8;
      co_await x_.read(n_, at, n ? n : 8);
      const uint8_t* t = n ? e_.memory().at(at, n) : nullptr;
      if (!t) co_return kMdte;
      std::memcpy(shadow, t, std::min<uint32_t>(n, 32));
      at += n;
      for (uint32_t i = 0; i < n; i += 8) {
        const regs::LinkEntry entry = regs::LinkEntry::load(t + i);
        if (entry.is_next()) {  // its length must be 0 and is not looked at
          at = e_.translate(n_, entry.bus_addr());
          break;
        }
        if (entry.length == 0) co_return regs::channel_error::kSgdlz;
        if (entry.length > left) co_return mismatch;
        list.add(e_.translate(n_, entry.bus_addr()), entry.length);
        left -= entry.length;
        if (entry.is_last()) co_return left ? mismatch : 0;
        if (!left) co_return mismatch;  // all bytes are there, but the table goes on
      }
    }
    e_.note("link table without end");
    co_return mismatch;
  }

  Task<uint32_t> small_read(const SegmentList& list, uint8_t* to) {
    uint32_t at = 0;
    for (const BusSegment s : list) {
      const uint32_t n = std::min(s.size_bytes, kSmall - at);
      if (!n) break;
      co_await x_.read(n_, s.addr, n);
      const uint8_t* m = e_.memory().at(s.addr, n);
      if (!m) co_return kMdte;
      std::memcpy(to + at, m, n);
      at += n;
    }
    co_return 0;
  }

  void release_unit(bool with_reset) {
    if (!held_) return;
    e_.counters().unit_held_clocks[static_cast<size_t>(held_->code())] += x_.now() - held_since_;
    if (with_reset) held_->reset_for_channel();
    held_->set_owned_by_channel(false);
    st_.unit_progress = 0;
    x_.release(n_, held_->code());
    held_ = nullptr;
  }

  /// Bytes of the bursts before the first one that hits a bus error.
  void find_good(SegmentList& l) {
    const uint32_t burst = stream_.burst;
    l.good = 0;
    for (const BusSegment s : l) {
      if (e_.memory().at(s.addr, s.size_bytes)) {
        l.good += s.size_bytes;
        continue;
      }
      for (uint32_t off = 0; off < s.size_bytes;) {
        const uint32_t n = burst_size(s.addr + off, s.size_bytes - off, burst);
        if (!e_.memory().at(s.addr + off, n)) return;
        l.good += n;
        off += n;
      }
    }
  }

  void plan_stream() {
    Stream& s = stream_;
    s = {};
    s.unit = held_;
    s.in = &in_;
    s.out = &out_;
    s.burst = st_.config & kBs ? 128 : 64;
    s.block_bytes = held_->block_bytes();
    s.block_shift = static_cast<uint32_t>(__builtin_ctz(s.block_bytes));
    s.block_clocks = held_->block_clocks();
    s.startup_clocks = held_->startup_clocks();
    find_good(in_);
    find_good(out_);
    s.in_ok = std::min(in_.total, in_.good);
    s.in_fault = in_.good < in_.total;
    s.process = s.in_fault ? s.in_ok >> s.block_shift << s.block_shift : s.in_ok;
    const uint64_t inject = e_.injected(n_);
    if (inject < s.process) {
      s.in_ok = s.process = static_cast<uint32_t>(inject) / s.block_bytes * s.block_bytes;
      s.in_fault = false;
      s.unit_error = kInternal;
    }
    const uint32_t produced = std::min(out_.total, s.process);
    s.out_ok = produced;
    if (out_.good < produced) {
      // The failing write burst goes out only when all its bytes have been produced.
      const uint32_t failing = failing_burst(out_, out_.good);
      if (out_.good + failing <= produced) {
        s.out_fault = true;
        s.out_ok = out_.good;
      } else {
        s.out_ok = std::min(produced, out_.good);
      }
    }
  }
  uint32_t failing_burst(const SegmentList& l, uint32_t at) const {
    for (const BusSegment s : l) {
      if (at < s.size_bytes) return burst_size(s.addr + at, s.size_bytes - at, stream_.burst);
      at -= s.size_bytes;
    }
    return 0;
  }

  /// Processes and writes the stream's output up to byte `upto`.
  void commit(uint32_t upto) {
    if (!stream_.unit || stream_.unit->clocked()) return;  // a clocked unit moved its data itself
    const bool last = upto == stream_.out_ok;
    const uint32_t goal = last ? stream_.process : std::min(stream_.process, (upto + stream_.block_bytes - 1) >> stream_.block_shift << stream_.block_shift);
    if (moved_ == 0 && last && goal == upto && in_.size() == 1 && out_.size() == 1 && goal) {
      const BusAddr from = in_[0].addr, to = out_[0].addr;
      if (from == to || from + goal <= to || to + goal <= from) {  // memory to memory
        stream_.unit->process(e_.memory().at(from, goal), e_.memory().at(to, goal), goal);
        moved_ = written_ = goal;
        return;
      }
    }
    if (goal > moved_) {
      if (bounce_.size() < stream_.process) bounce_.resize(65536 + 128);
      copy(in_, moved_, goal - moved_, bounce_.data() + moved_, true);
      stream_.unit->process(bounce_.data() + moved_, bounce_.data() + moved_, goal - moved_);
      moved_ = goal;
    }
    if (upto > written_) {
      copy(out_, written_, upto - written_, bounce_.data() + written_, false);
      written_ = upto;
    }
  }
  void copy(const SegmentList& l, uint32_t offset, uint32_t n, uint8_t* buffer, bool from_memory) {
    for (const BusSegment s : l) {
      if (offset >= s.size_bytes) {
        offset -= s.size_bytes;
        continue;
      }
      if (!n) return;
      const uint32_t k = std::min(s.size_bytes - offset, n);
      uint8_t* m = e_.memory().at(s.addr + offset, k);
      if (from_memory)
        std::memcpy(buffer, m, k);
      else
        std::memcpy(m, buffer, k);
      buffer += k;
      n -= k;
      offset = 0;
    }
  }

  static constexpr uint32_t kSmall = 128;            // largest context or key that is taken
  static constexpr unsigned kMaxTableFetches = 70000;  // more entries than any 65535-byte list can need
  static constexpr uint32_t kDn = 1;
  static constexpr uint32_t low(uint64_t m) { return static_cast<uint32_t>(m); }
  static constexpr uint32_t kNt = low(regs::kCCCR.mask("NT")), kCdwe = low(regs::kCCCR.mask("CDWE")),
                            kAwse = low(regs::kCCCR.mask("AWSE")), kBs = low(regs::kCCCR.mask("BS"));
  static constexpr uint32_t kDse = low(regs::kEuInterruptStatus.mask("DSE")), kInternal = low(regs::kEuInterruptStatus.mask("IE"));

  X& x_;
  Engine& e_;
  const unsigned n_;
  ChannelState& st_;
  Task<int> task_;
  ExecutionUnit* held_ = nullptr;
  uint64_t held_since_ = 0;
  SegmentList in_, out_;
  Stream stream_;
  bool streaming_ = false;
  uint32_t moved_ = 0, written_ = 0;  // bytes processed, bytes in memory
  std::vector<uint8_t> bounce_;
};

}  // namespace sec::hw
