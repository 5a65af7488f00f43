// The descriptor engine of one channel, written once for both executors.
//
// It reads like the manual: fetch, decode, request the units, reset them, load, run, store, write back. Each
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
// What a pointer means comes from the row of the descriptor's type in hw/core/layouts.h. The usual procedure is one
// stream; TLS, RAID, the double CRC and public keys have procedures of their own (`special`).
//
// Two units: the primary is asked for first, then the secondary, while the primary is held [MSC]. No two channels can wait
// for each other, since ciphers are never secondary and hashes never primary of a pair (check_header sees to that).
// The secondary listens to the primary's input (in-snoop) or output (out-snoop) without bus traffic of its own.
//
// Data moves in commit(): the whole stream at its end, or the part that had been written when a reset
// or somebody who looks at memory comes in between. Input is read in the same moment, so memory that is changed
// under a running descriptor is seen late (UNMODELLED; real hardware would see some of it).
//
// ASSUMED, where no public source tells:
//   * Link tables are walked before data moves, up to four entries a read; a bus error on input is raised when everything before
//     it has been processed and written; size, key and mode errors are raised before data moves; output beyond the
//     output pointer's length is dropped.
//   * Keys, contexts and nonces are read first, in pointer order, then headers (burst by burst), then the stream runs; what
//     follows the data (trailer, ICV in) is read behind it, then the units drain (finish_clocks() of the slower one).
//   * A pair of units advances in steps of the larger block, at the pace of the slower unit.
//   * An output's table covers data and extent on every generation; an input's only on SEC 3.x [LXc f3c85bc1bc72]. On SEC 2.x
//     the ICV that comes in then lies right behind the table's last segment.
//   * An ICV that comes in is read whenever there is one; whether it counts is the mode's business.
// UNMODELLED: the pace of a clocked unit with a secondary beside it is its own.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "hw/core/engine.h"
#include "hw/core/layouts.h"
#include "hw/core/task.h"
#include "hw/eu/aesu.h"
#include "hw/eu/pkeu.h"
#include "hw/regs/aesu.h"
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
  ExecutionUnit* listener = nullptr;  // the secondary unit
  Snoop snoop = Snoop::None;
  uint32_t heard = 0;  // bytes from the front that the listener takes
  const SegmentList* in = nullptr;
  const SegmentList* out = nullptr;
  uint32_t in_ok = 0, process = 0, out_ok = 0;  // process: bytes the unit takes; out_ok: bytes that reach memory
  bool in_fault = false, out_fault = false;
  bool source = false;  // nothing is read: the unit makes the data, or the channel has them already
  uint32_t burst = 64, fifo_bytes = 256;
  uint32_t startup_clocks = 0, block_clocks = 1, block_bytes = 16, block_shift = 4;  // block_bytes: a power of two
  uint32_t unit_error = 0;  // raised by a clocked unit on the way
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
    heard_ = ~0u;
    keep_ = as_header_ = false;
    release_units(true);
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
    e_.channel_failed(n_, bits);  // the units stay held until the channel is reset, so that their errors can be read
  }
  const Stream& stream() const { return stream_; }

 private:
  using State = regs::ChannelState;
  using PointerDword = regs::PointerDword;
  static constexpr uint32_t kNotDone = ~0u;
  static constexpr uint32_t kMdte = regs::channel_error::kMdte, kEu = regs::channel_error::kEu;

  void state(State s) { e_.set_state(n_, s, x_.now()); }

  Task<int> run() {
    unsigned in_a_row = 0;
    for (BusAddr chained = 0;;) {
      const BusAddr at = chained ? chained : co_await x_.next(n_);
      e_.begin_descriptor(n_, at);
      const auto began = x_.now();
      if (e_.hangs(n_)) [[unlikely]] co_await x_.hang(n_);
      uint32_t error = kNotDone;
      if constexpr (X::kInstant) error = quick(at);
      if (error == kNotDone) error = co_await descriptor(at);
      e_.counters().channel_busy_clocks[n_] += x_.now() - began;
      if (error) [[unlikely]] {
        x_.unwatch(n_);
        co_await x_.delay(n_, e_.clocks().interrupt);
        state(State::Error);
        e_.channel_failed(n_, error);
        x_.visible();
        co_return 0;  // halted until reset or continue
      }
      chained = next_in_chain();
      in_a_row = chained ? in_a_row + 1 : 0;
      if (in_a_row == kLongestChain) [[unlikely]] {  // hardware would go on for ever; here somebody waits for the end
        e_.note("descriptor chain without end");
        co_await x_.hang(n_);
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
    if (!raw) co_return bus_error(at);
    std::memcpy(st_.descriptor.data(), raw, 64);

    if (const uint32_t bad = e_.check_header(load_be32(raw), d_)) [[unlikely]] {
      state(State::Decode);
      co_return bad;
    }
    const Layout& l = *d_.layout;
    if (sec1_ && !may_use(d_.primary, d_.secondary)) co_return regs::channel_error::kSerr;

    state(State::RequestPrimary);
    st_.unit_progress |= ChannelState::kRequesting;
    auto asked = x_.now();
    co_await x_.acquire(n_, d_.primary);
    hold(0, d_.primary, asked);
    if (d_.secondary != regs::Eu::None) {
      state(State::RequestSecondary);
      st_.unit_progress |= ChannelState::kRequesting2;
      asked = x_.now();
      co_await x_.acquire(n_, d_.secondary);
      hold(1, d_.secondary, asked);
    }
    ExecutionUnit* const unit = held_[0];
    ExecutionUnit* const second = held_[1];

    state(State::ResetEu);
    co_await x_.delay(n_, k.unit_reset);
    unit->reset_for_channel();
    st_.unit_progress |= ChannelState::kResetDone;
    if (second) {
      second->reset_for_channel();
      st_.unit_progress |= ChannelState::kResetDone2 | (snoop() == Snoop::In ? ChannelState::kInSnoop : ChannelState::kOutSnoop);
    }

    state(State::Load);
    small_size_.fill(0);
    for (unsigned i = 0; i < l.load_count; ++i) {
      const PointerDword p = pointer(l.loads[i].pointer);
      const uint32_t extent = l.loads[i].extent ? p.extent : 0;
      if (!p.length && !extent) continue;
      st_.pair_ptr = l.loads[i].pointer;
      const Role role = l.loads[i].role;
      if (p.jump || extent || p.length > kAccess) [[unlikely]] {
        if (const uint32_t e = co_await load(p, extent, role)) co_return e;
        continue;
      }
      const BusAddr a = e_.translate(n_, p.bus_addr());
      co_await x_.read(n_, a, p.length);
      const uint8_t* m = e_.memory().at(a, p.length);
      if (!m) co_return bus_error(a);
      std::memcpy(small(role), m, p.length);
      small_size(role) = p.length;
    }
    iccr_[0] = iccr_[1] = regs::IntegrityCheck::None;

    if (l.procedure != Procedure::Stream) [[unlikely]] {
      if (const uint32_t e = co_await special()) co_return e;
    } else {
      const PointerDword in = pointer(l.data_in.pointer), out = l.data_out ? pointer(l.data_out.pointer) : PointerDword{};
      const bool source = !unit->reads_input();
      uint32_t header_bytes = 0, icv_bytes = 0, trailer_bytes = 0;
      if (!l.plain) {
        header_bytes = size_of(l.header);
        icv_bytes = size_of(l.icv_in);
        trailer_bytes = size_of(l.trailer);
      }
      const uint32_t bytes = source ? out.length : in.length;
      if (load_units(header_bytes, bytes, header_bytes, bytes + trailer_bytes, icv_bytes)) [[unlikely]] co_return kEu;

      // Lists, in pointer order.
      if (header_bytes && !l.header.extent) {
        st_.pair_ptr = l.header.pointer;
        if (const uint32_t e = co_await parcels(pointer(l.header.pointer), 0, 0, true, header_, header_)) co_return e;
      }
      st_.pair_ptr = l.data_in.pointer;
      const uint32_t before = l.header.extent ? header_bytes : 0, icv_with_data = l.icv_with_data() ? icv_bytes : 0;
      if (in.jump || before || icv_with_data) [[unlikely]] {
        if (const uint32_t e = co_await parcels(in, before, icv_with_data, true, in_, icv_list_)) co_return e;
      } else {
        in_.clear();
        in_.add(e_.translate(n_, in.bus_addr()), in.length);
      }
      if (l.data_out) {
        st_.pair_ptr = l.data_out.pointer;
        const uint32_t behind = l.plain || l.extent[l.data_out.pointer] == Role::None ? 0 : out.extent;
        if (out.jump || behind) [[unlikely]] {
          if (const uint32_t e = co_await parcels(out, 0, behind, false, out_, out_extent_)) co_return e;
        } else {
          out_.clear();
          out_.add(writable(e_.translate(n_, out.bus_addr())), out.length);
        }
      } else {
        out_.clear();
      }

      if (bytes == 0 && needs_data(header_bytes)) [[unlikely]]  // MPC8544E SEC-A001: nothing ever tells the unit to finish
        co_return co_await no_data();

      state(State::Run);
      if (header_bytes)
        if (const uint32_t e = co_await feed_header(second ? *second : *unit)) co_return e;
      plan_stream(source);
      moved_ = written_ = 0;
      streaming_ = true;
      co_await x_.stream(n_, stream_);
      commit(stream_.out_ok);
      streaming_ = false;
      if (const uint32_t e = stream_end()) co_return e;
      e_.counters().bytes_in += source ? 0 : bytes;
      e_.counters().bytes_out += stream_.out_ok;
      e_.counters().channel_bytes[n_] += bytes;
      if (icv_bytes | trailer_bytes)
        if (const uint32_t e = co_await tail(icv_bytes, trailer_bytes)) co_return e;
      uint32_t drain = unit->finish_clocks();
      if (second) drain = std::max(drain, second->finish_clocks());
      if (!bytes) drain += stream_.startup_clocks;
      if (drain) {
        state(State::WaitDone);
        co_await x_.delay(n_, drain);
      }
      if (finish_units()) co_return kEu;
    }

    for (unsigned i = 0; i < l.store_count; ++i) {
      const Layout::Step step = l.stores[i];
      const PointerDword p = pointer(step.pointer);
      uint32_t size = step.extent ? p.extent : p.length;
      if (!size) continue;
      state(State::Store);
      st_.pair_ptr = step.pointer;
      size = std::min(size, kSmallBytes);
      uint8_t* const bytes = small(Role::None);
      const uint32_t n = step.role == Role::IcvOut ? icv_unit().icv(bytes, size) : step.role == Role::KeyOut ? expanded_key(bytes, size) : unit->context(bytes, size);
      std::memset(bytes + n, 0, size - n);
      if (p.jump || step.extent || size > kAccess) [[unlikely]] {
        if (!step.extent)
          if (const uint32_t e = co_await parcels(p, 0, 0, false, out_extent_, out_extent_)) co_return e;
        if (const uint32_t e = co_await store(out_extent_, bytes, size)) co_return e;
        continue;
      }
      const BusAddr a = writable(e_.translate(n_, p.bus_addr()));
      co_await x_.write(n_, a, size);
      uint8_t* m = e_.memory().at(a, size);
      if (!m) co_return bus_error(a);
      std::memcpy(m, bytes, size);
    }
    release_units(false);

    const uint32_t config = st_.config;
    const bool notify = sec1_ ? config & kNt || !next_in_chain() : !(config & kNt) || d_.word.notify;
    uint32_t wait = k.interrupt;
    if (notify && config & kCdwe) {
      state(State::WriteBack);
      // The second word carries ICV verdicts: IWSE writes it when there is one, AWSE always. [LX][T23]
      const uint32_t f = feedback();
      const uint32_t size = !sec1_ && (config & kAwse || (config & kIwse && f)) ? 8 : 4;
      const BusAddr to = writable(at);
      co_await x_.write(n_, to, size, wait);
      wait = 0;
      uint8_t* m = e_.memory().at(to, size);
      if (!m) co_return bus_error(to);
      m[0] = 0xff;
      if (size == 8) store_be32(m + 4, config & kIwse ? f : 0);
    }
    if (wait) co_await x_.delay(n_, wait);
    e_.channel_done(n_, notify);
    x_.visible();
    co_return 0;
  }

  /// Where nothing takes time: descriptor() for the usual kind, a cipher by itself with direct pointers into good memory and
  /// a free unit, in one go. The same effects in the same order; whatever is not usual is left alone (kNotDone).
  uint32_t quick(BusAddr at) {
    MemoryMap& memory = e_.memory();
    if (sec1_ || !at) return kNotDone;
    const uint8_t* const raw = memory.at(at, 64);
    if (!raw) return kNotDone;
    const auto word = [&](unsigned i) { return PointerDword::decode(load_be64(raw + 8 + 8 * i)); };
    if (e_.check_header(load_be32(raw), d_) || !d_.layout->plain) return kNotDone;
    ExecutionUnit& unit = *e_.unit(d_.primary);
    const PointerDword p1 = word(1), p2 = word(2), in = word(3), out = word(4), p5 = word(5);
    const uint32_t bytes = in.length;
    const auto where = [&](PointerDword p) { return e_.translate(n_, p.bus_addr()); };
    if (p1.jump | p2.jump | in.jump | out.jump | p5.jump || !bytes || out.length != bytes || e_.injected(n_) < bytes) return kNotDone;
    if (std::max({p1.length, p2.length, p5.length}) > kAccess || unit.clocked() || !unit.reads_input()) return kNotDone;
    const BusAddr from = where(in), to = where(out);
    if (from != to && from + bytes > to && to + bytes > from) return kNotDone;
    const uint8_t* const context = p1.length ? memory.at(where(p1), p1.length) : raw;
    const uint8_t* const key = p2.length ? memory.at(where(p2), p2.length) : raw;
    const uint8_t* const source = memory.at(from, bytes);
    uint8_t* const target = memory.at(to, bytes);
    if (!context || !key || !source || !target || !x_.take(n_, d_.primary)) return kNotDone;

    state(State::Fetch);
    std::memcpy(st_.descriptor.data(), raw, 64);
    state(State::RequestPrimary);
    st_.unit_progress = ChannelState::kRequesting;
    hold(0, d_.primary, 0);
    state(State::ResetEu);
    unit.reset_for_channel();
    st_.unit_progress |= ChannelState::kResetDone;
    state(State::Load);
    st_.pair_ptr = p2.length ? 2 : 1;
    const uint8_t mode = d_.word.mode0;
    if (unit.begin({.mode = mode, .code = d_.primary, .key = key, .key_bytes = p2.length, .context = context, .context_bytes = p1.length, .data_bytes = bytes}))
      [[unlikely]] return kEu;
    state(State::Run);
    st_.pair_ptr = 4;
    if (!unit.writes_output()) [[unlikely]] {  // the form of a MAC that the layout does not know of: from the start, by the book
      release_units(true);
      return kNotDone;
    }
    unit.process(source, target, bytes);
    EngineCounters& c = e_.counters();
    const auto i = static_cast<size_t>(unit.code());
    const uint64_t blocks = (bytes + unit.block_bytes() - 1) / unit.block_bytes();
    c.unit_blocks[i] += blocks;
    c.unit_busy_clocks[i] += blocks * unit.block_clocks() + unit.startup_clocks() + unit.finish_clocks();
    c.bytes_in += bytes;
    c.bytes_out += bytes;
    c.channel_bytes[n_] += bytes;
    iccr_[0] = iccr_[1] = regs::IntegrityCheck::None;
    if (finish_units()) return kEu;
    if (p5.length) {
      state(State::Store);
      st_.pair_ptr = 5;
      uint8_t* const m = memory.at(where(p5), p5.length);
      if (!m) return bus_error(where(p5));
      const uint32_t n = unit.context(m, p5.length);
      std::memset(m + n, 0, p5.length - n);
    }
    release_units(false);
    const uint32_t config = st_.config;
    const bool notify = !(config & kNt) || d_.word.notify;
    if (notify && config & kCdwe) {
      state(State::WriteBack);
      const uint32_t f = feedback();
      uint8_t* const m = memory.at(at, 8);
      if (!m) return bus_error(at);
      m[0] = 0xff;
      if (config & kAwse || (config & kIwse && f)) store_be32(m + 4, config & kIwse ? f : 0);
    }
    e_.channel_done(n_, notify);
    return 0;
  }
  uint32_t feedback() const { return static_cast<uint32_t>(iccr_[0]) << kIccr0Shift | static_cast<uint32_t>(iccr_[1]) << kIccr1Shift; }

  // ---- descriptor words ----

  [[gnu::always_inline]] PointerDword pointer(unsigned i) const {
    if (sec1_) [[unlikely]] return PointerDword::decode_sec1(load_be64(st_.descriptor.data() + regs::kSec1PointerOffset + 8 * i));
    return PointerDword::decode(load_be64(st_.descriptor.data() + 8 + 8 * i));
  }
  /// The descriptor that follows this one on SEC 1, 0 at the end of a chain.
  BusAddr next_in_chain() const { return sec1_ && st_.config & kNe ? load_be32(st_.descriptor.data() + regs::kSec1NextOffset) : 0; }
  uint32_t size_of(Layout::Place p) {
    if (!p) return 0;
    const PointerDword d = pointer(p.pointer);
    return p.extent ? d.extent : d.length;
  }
  uint32_t bus_error(BusAddr at) {
    e_.bus_error(at);
    return kMdte;
  }
  Snoop snoop() const {
    const Snoop s = d_.layout->outbound;
    return !d_.word.inbound || s == Snoop::None ? s : s == Snoop::In ? Snoop::Out : Snoop::In;
  }
  /// Where a write really goes: SEC 1 writes to addresses that are multiples of 4 only; what it does with others is
  /// unpredictable [MOC], here they are aligned down (ASSUMED).
  BusAddr writable(BusAddr a) {
    if (!sec1_ || a % 4 == 0) [[likely]] return a;
    e_.note("SEC 1: write to an address that is no multiple of 4");
    return a & ~BusAddr{3};
  }
  uint32_t burst_bytes() const {
    if (!sec1_) [[likely]] return st_.config & kBs ? 128 : 64;
    // ASSUMED: the field counts 32-bit words (0: 2, n: 8 n), here down to a power of two and at most 128 bytes. In bytes, as one could also read
    // the list of values, no part would reach the 240 Mbit/s that were measured with field 0 [LXc 37b5e8897eb5].
    static constexpr uint8_t kBytes[8] = {8, 32, 64, 64, 128, 128, 128, 128};
    return kBytes[st_.config >> 8 & 7];
  }

  // ---- units ----

  /// SEC 1: software can give a unit to one channel (EUACR). Another channel's descriptor that wants it is in error. A
  /// unit of one's own is asked for all the same, at the same cost (ASSUMED); STAT shows that all had been assigned.
  bool may_use(regs::Eu first, regs::Eu second) {
    unsigned own = 0, wanted = 0;
    for (const regs::Eu eu : {first, second}) {
      if (eu == regs::Eu::None) continue;
      ++wanted;
      const unsigned to = e_.assigned_to(eu);
      if (to && to != n_ + 1) return false;
      own += to != 0;
    }
    if (own == wanted) st_.unit_progress |= ChannelState::kStatic;
    return true;
  }

  void hold(unsigned which, regs::Eu eu, uint64_t asked) {
    ExecutionUnit* const u = e_.unit(eu);
    held_[which] = u;
    held_since_[which] = x_.now();
    e_.counters().unit_wait_clocks[regs::unit_index(eu)] += held_since_[which] - asked;
    u->set_owned_by_channel(true);
    st_.held[which] = u->code();
    st_.unit_progress |= which ? ChannelState::kGranted2 : ChannelState::kGranted;
  }
  void release_units(bool with_reset) {
    for (unsigned which = 0; which < 2; ++which) {
      ExecutionUnit* const u = held_[which];
      if (!u) continue;
      held_[which] = nullptr;
      st_.held[which] = regs::Eu::None;
      e_.counters().unit_held_clocks[static_cast<size_t>(u->code())] += x_.now() - held_since_[which];
      if (with_reset) u->reset_for_channel();
      u->set_owned_by_channel(false);
      x_.release(n_, u->code());
    }
    st_.unit_progress = 0;
  }
  /// The unit that computes and checks the ICV.
  ExecutionUnit& icv_unit() { return held_[1] ? *held_[1] : *held_[0]; }

  /// Mode, key, context and sizes into the units. Error bits of whichever refuses.
  uint32_t load_units(uint32_t header_bytes, uint32_t bytes, uint32_t second_header_bytes, uint32_t second_bytes, uint32_t icv_bytes) {
    UnitLoad load{.mode = d_.word.mode0,
                  .code = d_.primary,
                  .key = small(Role::Key),
                  .key_bytes = small_size(Role::Key),
                  .context = small(Role::Context),
                  .context_bytes = small_size(Role::Context),
                  .nonce = small(Role::Nonce),
                  .nonce_bytes = small_size(Role::Nonce),
                  .data_bytes = bytes};
    if (!held_[1]) {
      load.header_bytes = header_bytes;
      load.icv_bytes = icv_bytes;
      return held_[0]->begin(load);
    }
    if (const uint32_t e = held_[0]->begin(load)) return e;
    return held_[1]->begin({.mode = d_.word.mode1,
                            .code = d_.secondary,
                            .key = small(Role::HashKey),
                            .key_bytes = small_size(Role::HashKey),
                            .header_bytes = second_header_bytes,
                            .data_bytes = second_bytes,
                            .icv_bytes = icv_bytes});
  }
  /// EU-Go: both units come to their ends. Error bits that stop the channel.
  uint32_t finish_units() {
    uint32_t e = held_[0]->finish();
    st_.unit_progress |= ChannelState::kDone;
    iccr_[0] = held_[0]->verdict();
    if (held_[1]) {
      e |= held_[1]->finish();
      st_.unit_progress |= ChannelState::kDone2;
      iccr_[1] = held_[1]->verdict();
    }
    return e;
  }
  /// Descriptor type 8: the key as a decryption with RDK takes it.
  uint32_t expanded_key(uint8_t* out, uint32_t limit) {
    const auto* const aes = dynamic_cast<const Aesu*>(held_[0]);
    return aes ? aes->decrypt_key(out, limit) : 0;
  }
  /// A unit that can do nothing with a message of no data. Hashes with padding, MACs and CCM or GCM can.
  bool needs_data(uint32_t header_bytes) const {
    if (held_[1]) return true;
    if (header_bytes) return false;
    if (d_.primary == regs::Eu::MdeuA || d_.primary == regs::Eu::MdeuB)
      return !(d_.word.mode0 & regs::mdeu_mode::kPad) && !sec1_;
    if (d_.primary == regs::Eu::Aesu && d_.word.mode0 & 0x80 && (d_.word.mode0 & 0x06) != 0x06) return false;  // CCM, GCM, XCBC
    return held_[0]->writes_output();
  }

  // ---- procedures of their own ----

  Task<uint32_t> refused(const char* why) {
    e_.note(why);
    held_[0]->raise(static_cast<uint32_t>(regs::eu_error::kMe));
    co_return kEu;
  }
  Task<uint32_t> special() {
    switch (d_.layout->procedure) {
      case Procedure::Tls:
        if (held_[0]->clocked()) return refused("TLS with a clocked unit is not modelled");  // it moves its data itself
        return d_.word.inbound ? tls_inbound() : tls_outbound();
      case Procedure::Raid:
        return raid();
      case Procedure::TwoCrcs:
        return two_crcs();
      default:
        return public_key();
    }
  }

  /// Moves in_ through the primary unit to out_, or data that the channel has already (`source`).
  Task<uint32_t> run_stream(bool source) {
    plan_stream(source);
    moved_ = written_ = 0;
    streaming_ = true;
    co_await x_.stream(n_, stream_);
    commit(stream_.out_ok);
    streaming_ = false;
    if (const uint32_t e = stream_end()) co_return e;
    e_.counters().bytes_in += source ? 0 : stream_.process;
    e_.counters().bytes_out += stream_.out_ok;
    e_.counters().channel_bytes[n_] += stream_.process;
    co_return 0;
  }
  /// Bytes [offset, offset + n) of a list, as far as there are so many.
  static void slice(const SegmentList& from, uint32_t offset, uint32_t n, SegmentList& to) {
    to.clear();
    for (const BusSegment s : from) {
      if (offset >= s.size_bytes) {
        offset -= s.size_bytes;
        continue;
      }
      const uint32_t k = std::min(s.size_bytes - offset, n);
      to.add(s.addr + offset, k);
      n -= k;
      offset = 0;
    }
  }
  /// What does not move at all for want of data (erratum SEC-A001): hangs, or a data size error.
  Task<uint32_t> no_data() {
    if (!e_.clocks().zero_length_is_dse) co_await x_.hang(n_);
    held_[0]->raise(kDse);
    co_return kEu;
  }
  uint8_t* bounce() {
    if (bounce_.empty()) bounce_.resize(kBounceBytes);
    return bounce_.data();
  }

  /// MAC over header and payload; payload, MAC and padding through the cipher.
  Task<uint32_t> tls_outbound() {
    const Layout& l = *d_.layout;
    ExecutionUnit &unit = *held_[0], &mac = *held_[1];
    const PointerDword in = pointer(l.data_in.pointer), pad = pointer(l.padding.pointer), out = pointer(l.data_out.pointer);
    const uint32_t header_bytes = in.extent, mac_bytes = pad.extent, total = uint32_t{in.length} + mac_bytes + pad.length;
    if (load_units(0, total, header_bytes, in.length, 0)) co_return kEu;
    SegmentList payload, sealed;
    st_.pair_ptr = l.data_in.pointer;
    if (const uint32_t e = co_await parcels(in, header_bytes, 0, true, payload, icv_list_)) co_return e;
    st_.pair_ptr = l.data_out.pointer;
    if (const uint32_t e = co_await parcels(out, 0, 0, false, sealed, out_extent_)) co_return e;
    if (!total) co_return co_await no_data();
    state(State::Run);
    if (header_bytes)
      if (const uint32_t e = co_await feed_header(mac)) co_return e;
    // Whole blocks of payload, then what is left of it together with MAC and padding.
    const uint32_t whole = total > in.length ? in.length / unit.block_bytes() * unit.block_bytes() : in.length;
    const uint32_t rest = in.length - whole;
    if (whole) {
      slice(payload, 0, whole, in_);
      slice(sealed, 0, whole, out_);
      if (const uint32_t e = co_await run_stream(false)) co_return e;
    }
    uint8_t* const b = bounce();
    if (rest) {
      slice(payload, whole, rest, in_);
      if (const uint32_t e = co_await small_read(in_, b, rest)) co_return e;
      mac.process(b, nullptr, rest);
    }
    if (const uint32_t drain = mac.finish_clocks() + (in.length ? 0 : mac.startup_clocks())) co_await x_.delay(n_, drain);
    if (mac.finish()) co_return kEu;
    st_.unit_progress |= ChannelState::kDone2;
    iccr_[1] = mac.verdict();
    const uint32_t got = mac.icv(b + rest, mac_bytes);
    std::memset(b + rest + got, 0, mac_bytes - got);
    if (pad.length) {
      st_.pair_ptr = l.padding.pointer;
      if (const uint32_t e = co_await parcels(pad, 0, 0, true, in_, icv_list_)) co_return e;
      if (const uint32_t e = co_await small_read(in_, b + rest + mac_bytes, pad.length)) co_return e;
    }
    if (total > whole) {
      in_.clear();
      in_.total = total - whole;
      slice(sealed, whole, total - whole, out_);
      heard_ = 0;
      const uint32_t e = co_await run_stream(true);
      heard_ = ~0u;
      if (e) co_return e;
    }
    if (const uint32_t drain = unit.finish_clocks()) co_await x_.delay(n_, drain);
    const uint32_t e = unit.finish();
    st_.unit_progress |= ChannelState::kDone;
    iccr_[0] = unit.verdict();
    co_return e ? kEu : 0;
  }

  /// Everything through the cipher; MAC over header and payload, compared with the one behind the payload.
  Task<uint32_t> tls_inbound() {
    const Layout& l = *d_.layout;
    ExecutionUnit &unit = *held_[0], &mac = *held_[1];
    const PointerDword header = pointer(l.header.pointer), in = pointer(l.data_in.pointer), out = pointer(l.data_out.pointer);
    const uint32_t mac_bytes = in.extent, total = uint32_t{in.length} + mac_bytes, payload = out.length;
    if (load_units(0, total, header.extent, payload, mac_bytes)) co_return kEu;
    st_.pair_ptr = l.header.pointer;
    if (const uint32_t e = co_await parcels({.length = 0, .jump = header.jump, .eptr = header.eptr, .address = header.address}, header.extent, 0, true, in_, icv_list_))
      co_return e;
    st_.pair_ptr = l.data_in.pointer;
    if (const uint32_t e = co_await parcels(in, 0, mac_bytes, true, in_, icv_list_)) co_return e;
    if (mac_bytes)
      for (const BusSegment s : icv_list_) in_.add(s.addr, s.size_bytes);
    st_.pair_ptr = l.data_out.pointer;
    if (const uint32_t e = co_await parcels(out, 0, out.extent, false, out_, out_extent_)) co_return e;
    if (!total) co_return co_await no_data();
    if (payload + mac_bytes > total) {
      mac.raise(kDse);
      co_return kEu;
    }
    state(State::Run);
    if (header.extent)
      if (const uint32_t e = co_await feed_header(mac)) co_return e;
    heard_ = payload;
    keep_ = true;
    const uint32_t bad = co_await run_stream(false);
    keep_ = false;
    heard_ = ~0u;
    if (bad) co_return bad;
    if (mac_bytes) mac.set_received_icv(bounce() + payload, mac_bytes);
    if (const uint32_t drain = std::max(unit.finish_clocks(), mac.finish_clocks())) co_await x_.delay(n_, drain);
    co_return finish_units() ? kEu : 0;
  }

  /// XOR of two to six sources of one size. ASSUMED: they are read one after the other, the last one together with the
  /// output (hardware must mix them, but the bus is as busy). SEC 3 reports differing sizes (RSI) and link tables (RSG) and
  /// goes on [USP]: with the shortest size, and with the table. SEC 2.x has no such bits.
  Task<uint32_t> raid() {
    ExecutionUnit& unit = *held_[0];
    PointerDword source[6];
    unsigned count = 0;
    const PointerDword out = pointer(6);
    uint32_t bytes = out.length, odd = 0;
    bool tables = out.jump;
    for (unsigned i = 0; i < 6; ++i) {
      const PointerDword p = pointer(i);
      if (!p.length) continue;
      source[count++] = p;
      odd |= p.length ^ out.length;
      tables |= p.jump;
      bytes = std::min<uint32_t>(bytes, p.length);
    }
    if (!count || !bytes) co_return co_await no_data();
    if (odd) report(regs::channel_error::kRsi, "RAID sources of different sizes");
    if (tables) report(regs::channel_error::kRsg, "RAID with a link table");
    if (unit.begin({.mode = d_.word.mode0, .code = d_.primary, .header_bytes = uint64_t{count - 1} * bytes, .data_bytes = bytes})) co_return kEu;
    SegmentList list, to;
    if (const uint32_t e = co_await parcels(out, 0, 0, false, to, out_extent_)) co_return e;
    state(State::Run);
    for (unsigned i = 0; i < count; ++i) {
      if (const uint32_t e = co_await parcels(source[i], 0, 0, true, list, icv_list_)) co_return e;
      slice(list, 0, bytes, in_);
      const bool last = i + 1 == count;
      if (last)
        slice(to, 0, bytes, out_);
      else
        out_.clear();
      as_header_ = !last;
      const uint32_t e = co_await run_stream(false);
      as_header_ = false;
      if (e) co_return e;
    }
    co_return finish_units() ? kEu : 0;
  }
  /// Error bits that are shown, and told by an interrupt, but do not stop the channel.
  void report(uint64_t bits, const char* what) {
    if (e_.part().sec3())
      e_.channel_warns(n_, static_cast<uint32_t>(bits));
    else
      e_.note(what);
  }

  /// Two CRCs, of a header and of a payload, one after the other. ASSUMED: the header's verdict is ICCR0, the
  /// payload's ICCR1.
  Task<uint32_t> two_crcs() {
    ExecutionUnit& unit = *held_[0];
    uint8_t crc[2][128] = {};
    for (unsigned part = 0; part < 2; ++part) {
      const PointerDword p = pointer(part);
      if (!p.length) continue;
      st_.pair_ptr = static_cast<uint8_t>(part);
      unit.set_received_icv(nullptr, 0);
      if (unit.begin({.mode = d_.word.mode0, .code = d_.primary, .data_bytes = p.length, .icv_bytes = p.extent})) co_return kEu;
      if (const uint32_t e = co_await parcels(p, 0, p.extent, true, in_, icv_list_)) co_return e;
      out_.clear();
      state(State::Run);
      if (const uint32_t e = co_await run_stream(false)) co_return e;
      if (p.extent) {
        if (const uint32_t e = co_await small_read(icv_list_, crc[part], p.extent)) co_return e;
        unit.set_received_icv(crc[part], p.extent);
        std::memset(crc[part], 0, sizeof crc[part]);
      }
      if (const uint32_t drain = unit.finish_clocks()) co_await x_.delay(n_, drain);
      if (unit.finish()) co_return kEu;
      iccr_[part] = unit.verdict();
      unit.icv(crc[part], sizeof crc[part]);
    }
    st_.unit_progress |= ChannelState::kDone;
    for (unsigned part = 0; part < 2; ++part) {
      const PointerDword p = pointer(2 + part);
      if (!p.extent) continue;
      state(State::Store);
      st_.pair_ptr = static_cast<uint8_t>(2 + part);
      if (const uint32_t e = co_await parcels(p, 0, p.extent, false, out_, out_extent_)) co_return e;
      if (const uint32_t e = co_await store(out_extent_, crc[part], p.extent)) co_return e;
    }
    co_return 0;
  }

  /// Operands in, a routine, results out.
  Task<uint32_t> public_key() {
    using O = PkeuOperand;
    struct Route {
      PkeuOperand operand;
      bool in, out;
    };
    static constexpr Route kNone{O::A0, false, false};
    static constexpr Route kBuild[] = {{O::A0, true, false}, {O::A1, true, false}, {O::A2, true, false}, {O::A3, true, false},
                                       {O::B0, true, false}, {O::B1, true, false}, {O::Build, false, true}};
    static constexpr Route kMultiply[] = {{O::N, true, false},  {O::E, true, false},  {O::Build, true, false}, {O::B1, false, true},
                                          {O::B2, false, true}, {O::B3, false, true}, kNone};
    static constexpr Route kAdd[] = {{O::N, true, false},  {O::Build, true, false}, {O::B2, true, false}, {O::B3, true, false},
                                     {O::B1, false, true}, {O::B2, false, true},    {O::B3, false, true}};
    static constexpr Route kModular[] = {{O::N, true, false}, {O::B0, true, false}, {O::A0, true, false}, {O::E, true, false}, {O::B0, false, true}, kNone, kNone};
    const auto type = static_cast<regs::DescriptorType>(d_.word.type);
    const Route* const routes = type == regs::DescriptorType::PkeuAssemble  ? kBuild
                                : type == regs::DescriptorType::PkeuPtmul   ? kMultiply
                                : type == regs::DescriptorType::PkeuPtaddDbl ? kAdd
                                                                             : kModular;
    auto* const unit = dynamic_cast<Pkeu*>(held_[0]);
    if (!unit) {
      co_return co_await refused("a PKEU of another kind takes no descriptors");
    }
    uint8_t* const b = bounce();
    for (unsigned i = 0; i < regs::kDescriptorPointers; ++i) {
      const PointerDword p = pointer(i);
      if (!routes[i].in || !p.length) continue;
      st_.pair_ptr = static_cast<uint8_t>(i);
      const uint32_t n = std::min<uint32_t>(p.length, kMostOperandBytes);
      if (const uint32_t e = co_await parcels(p, 0, 0, true, in_, icv_list_)) co_return e;
      if (const uint32_t e = co_await small_read(in_, b, n)) co_return e;
      unit->load(routes[i].operand, b, n);
    }
    state(State::Run);
    if (unit->start(d_.word.mode0, type)) co_return kEu;
    state(State::WaitDone);
    const auto clocks = static_cast<uint32_t>(std::min<uint64_t>(unit->clocks(), 0x7fffffff));
    e_.counters().unit_busy_clocks[static_cast<size_t>(regs::Eu::Pkeu)] += clocks;
    if (clocks) co_await x_.delay(n_, clocks);
    st_.unit_progress |= ChannelState::kDone;
    for (unsigned i = 0; i < regs::kDescriptorPointers; ++i) {
      const PointerDword p = pointer(i);
      if (!routes[i].out || !p.length) continue;
      state(State::Store);
      st_.pair_ptr = static_cast<uint8_t>(i);
      const uint32_t n = std::min<uint32_t>(p.length, kMostOperandBytes);
      if (const uint32_t e = co_await parcels(p, 0, 0, false, out_, out_extent_)) co_return e;
      unit->store(routes[i].operand, b, n);
      if (const uint32_t e = co_await store(out_, b, n)) co_return e;
    }
    co_return 0;
  }

  // ---- parcels and small pieces ----

  /// A key, context or nonce that is not one plain access: longer, through a table, or with an extent.
  Task<uint32_t> load(PointerDword p, uint32_t extent, Role role) {
    if (const uint32_t e = co_await parcels(p, 0, extent, true, in_, icv_list_)) co_return e;
    if (const uint32_t e = co_await small_read(in_, small(role), kSmallBytes)) co_return e;
    small_size(role) = std::min<uint32_t>(p.length, kSmallBytes);
    if (!extent) co_return 0;
    // The first part of a nonce comes with the key, after the second part has been read.
    uint8_t first[128];
    if (const uint32_t e = co_await small_read(icv_list_, first, extent)) co_return e;
    uint8_t* const nonce = small(Role::Nonce);
    const uint32_t second = std::min(small_size(Role::Nonce), kSmallBytes - extent);
    std::memmove(nonce + extent, nonce, second);
    std::memcpy(nonce, first, extent);
    small_size(Role::Nonce) = extent + second;
    co_return 0;
  }

  /// The parcels of a pointer dword: `before` bytes of header go to header_, the data to `main`, `behind` bytes of
  /// extent to `after`.
  Task<uint32_t> parcels(PointerDword p, uint32_t before, uint32_t behind, bool gather, SegmentList& main, SegmentList& after) {
    if (before) header_.clear();
    if (behind) after.clear();
    if (!p.jump) {
      const BusAddr a = e_.translate(n_, p.bus_addr());
      main.clear();
      if (before) header_.add(a, before);
      main.add(place(a + before, gather), p.length);
      if (behind) after.add(place(a + before + p.length, gather), behind);
      co_return 0;
    }
    const bool sec3 = e_.part().sec3();
    const bool covered = !gather || e_.part().extent_in_table;  // the table goes on over what lies behind
    const uint32_t total = before + p.length + (covered ? behind : 0);
    if (!before && (!behind || !covered)) {
      if (const uint32_t e = co_await walk(p, total, main, gather)) co_return e;
    } else {
      if (const uint32_t e = co_await walk(p, total, table_, gather)) co_return e;
      main.clear();
      const uint32_t border[] = {before, before + p.length, total};
      uint32_t at = 0;
      unsigned part = 0;
      for (const BusSegment s : table_) {
        while (at >= border[part]) ++part;
        if (at + s.size_bytes > border[part])
          co_return sec3 ? regs::channel_error::kSgml : gather ? regs::channel_error::kGb : regs::channel_error::kSb;
        (part == 0 ? header_ : part == 1 ? main : after).add(s.addr, s.size_bytes);
        at += s.size_bytes;
      }
    }
    if (behind && !covered) {
      const BusSegment last = main.size() ? main[main.size() - 1] : BusSegment{e_.translate(n_, p.bus_addr()), 0};
      after.add(last.addr + last.size_bytes, behind);
    }
    co_return 0;
  }

  /// Walks the link tables of a pointer dword into `list`; they must hold `left` bytes.
  Task<uint32_t> walk(PointerDword p, uint32_t left, SegmentList& list, bool gather) {
    list.clear();
    uint8_t* const shadow = gather ? st_.gather.data() : st_.scatter.data();
    const bool sec3 = e_.part().sec3();
    const uint32_t mismatch = sec3 ? regs::channel_error::kSgml : gather ? regs::channel_error::kGrl : regs::channel_error::kSrl;
    BusAddr at = e_.translate(n_, p.bus_addr());
    for (unsigned fetches = 0; fetches < kMaxTableFetches; ++fetches) {
      const auto want = e_.clocks().prefetch_entries * 8;
      const auto n = static_cast<uint32_t>(e_.memory().good_bytes(at, want)) / 8 * 8;
      co_await x_.read(n_, at, n ? n : 8);
      const uint8_t* t = n ? e_.memory().at(at, n) : nullptr;
      if (!t) co_return bus_error(at);
      std::memcpy(shadow, t, std::min<uint32_t>(n, 32));
      at += n;
      for (uint32_t i = 0; i < n; i += 8) {
        const regs::LinkEntry entry = regs::LinkEntry::load(t + i);
        if (entry.is_next()) {  // its length must be 0 [MSC]; ASSUMED: it is not looked at, unless one asks for strictness
          if (entry.length && e_.timing().strict_reserved != 0) co_return regs::channel_error::kSgdlz;
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

  /// Up to `limit` bytes of a list by control accesses.
  Task<uint32_t> small_read(const SegmentList& list, uint8_t* to, uint32_t limit) {
    uint32_t at = 0;
    for (const BusSegment s : list)
      for (uint32_t off = 0; off < s.size_bytes && at < limit;) {
        const uint32_t n = std::min({s.size_bytes - off, limit - at, kAccess});
        co_await x_.read(n_, s.addr + off, n);
        const uint8_t* m = e_.memory().at(s.addr + off, n);
        if (!m) co_return bus_error(s.addr + off);
        std::memcpy(to + at, m, n);
        at += n;
        off += n;
      }
    co_return 0;
  }
  Task<uint32_t> store(const SegmentList& list, const uint8_t* from, uint32_t size) {
    uint32_t at = 0;
    for (const BusSegment s : list)
      for (uint32_t off = 0; off < s.size_bytes && at < size;) {
        const uint32_t n = std::min({s.size_bytes - off, size - at, kAccess});
        co_await x_.write(n_, s.addr + off, n);
        uint8_t* m = e_.memory().at(s.addr + off, n);
        if (!m) co_return bus_error(s.addr + off);
        std::memcpy(m, from + at, n);
        at += n;
        off += n;
      }
    co_return 0;
  }
  /// Header bytes, burst by burst. What the unit needs for them is in its startup_clocks().
  Task<uint32_t> feed_header(ExecutionUnit& unit) {
    const uint32_t burst = burst_bytes();
    for (const BusSegment s : header_)
      for (uint32_t off = 0; off < s.size_bytes;) {
        const uint32_t n = burst_size(s.addr + off, s.size_bytes - off, burst);
        co_await x_.read(n_, s.addr + off, n);
        const uint8_t* m = e_.memory().at(s.addr + off, n);
        if (!m) co_return bus_error(s.addr + off);
        unit.header(m, n);
        off += n;
      }
    co_return 0;
  }
  /// What is read behind the data: trailer and received ICV.
  Task<uint32_t> tail(uint32_t icv_bytes, uint32_t trailer_bytes) {
    const Layout& l = *d_.layout;
    uint8_t bytes[kSmallBytes];
    icv_bytes = std::min(icv_bytes, kSmallBytes);
    if (l.icv_in && !l.icv_with_data()) {  // a pointer of its own: the ICV is the whole of it or its extent
      const PointerDword p = pointer(l.icv_in.pointer);
      st_.pair_ptr = l.icv_in.pointer;
      const uint32_t extent = l.extent[l.icv_in.pointer] == Role::None ? 0 : p.extent;
      if (const uint32_t e = co_await parcels(p, 0, extent, true, icv_list_, trailer_)) co_return e;
      if (l.icv_in.extent) std::swap(icv_list_, trailer_);
    }
    if (trailer_bytes) {
      const SegmentList& list = l.trailer.pointer == l.data_out.pointer ? out_extent_ : trailer_;
      if (const uint32_t e = co_await small_read(list, bytes, trailer_bytes)) co_return e;
      icv_unit().process(bytes, nullptr, trailer_bytes);
    }
    if (icv_bytes) {
      if (const uint32_t e = co_await small_read(icv_list_, bytes, icv_bytes)) co_return e;
      icv_unit().set_received_icv(bytes, icv_bytes);
    }
    co_return 0;
  }

  // ---- the stream ----

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

  void plan_stream(bool source) {
    Stream& s = stream_;
    ExecutionUnit& unit = *held_[0];
    s = {};
    s.unit = &unit;
    s.in = &in_;
    s.out = &out_;
    s.burst = burst_bytes();
    const uint32_t own = unit.block_bytes();
    s.block_bytes = own;
    s.block_clocks = unit.block_clocks();
    s.startup_clocks = unit.startup_clocks();
    if (held_[1] && heard_) {
      ExecutionUnit& second = *held_[1];
      s.listener = &second;
      s.snoop = snoop();
      s.heard = heard_;
      if (!unit.clocked()) {
        s.block_bytes = std::max(own, second.block_bytes());
        s.block_clocks = std::max(s.block_bytes / own * s.block_clocks, s.block_bytes / second.block_bytes() * second.block_clocks());
      }
      s.startup_clocks = std::max(s.startup_clocks, second.startup_clocks());
    }
    s.block_clocks = std::max(1u, s.block_clocks);
    s.block_shift = static_cast<uint32_t>(__builtin_ctz(s.block_bytes));
    s.fifo_bytes = std::max(e_.clocks().fifo_bytes, s.burst + s.block_bytes);  // less, and nothing could ever move
    s.source = source;
    if (source) {
      s.in_ok = s.process = unit.reads_input() ? in_.total : out_.total;
    } else {
      find_good(in_);
      s.in_ok = std::min(in_.total, in_.good);
      s.in_fault = in_.good < in_.total;
      s.process = s.in_fault ? s.in_ok / own * own : s.in_ok;
    }
    find_good(out_);
    const uint64_t inject = e_.injected(n_);
    if (inject < s.process) {
      s.in_ok = s.process = static_cast<uint32_t>(inject) / own * own;
      s.in_fault = false;
      s.unit_error = kInternal;
    }
    const uint32_t produced = unit.writes_output() && !as_header_ ? std::min(out_.total, s.process) : 0;
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
  static BusAddr address_at(const SegmentList& l, uint32_t at) {
    for (const BusSegment s : l) {
      if (at < s.size_bytes) return s.addr + at;
      at -= s.size_bytes;
    }
    return 0;
  }
  uint32_t failing_burst(const SegmentList& l, uint32_t at) const {
    for (const BusSegment s : l) {
      if (at < s.size_bytes) return burst_size(s.addr + at, s.size_bytes - at, stream_.burst);
      at -= s.size_bytes;
    }
    return 0;
  }
  /// Books the stream; the error it ended with, 0 when it is complete.
  uint32_t stream_end() {
    const Stream& s = stream_;
    EngineCounters& c = e_.counters();
    const auto book = [&](const ExecutionUnit& u, uint64_t blocks, uint32_t clocks, uint32_t startup) {
      const auto i = static_cast<size_t>(u.code());
      c.unit_blocks[i] += blocks;
      c.unit_busy_clocks[i] += blocks * clocks + startup + u.finish_clocks();
    };
    const auto blocks = [](uint64_t bytes, uint32_t block) { return (bytes + block - 1) >> __builtin_ctz(block); };
    if (const ExecutionUnit* const second = s.listener) {
      const ExecutionUnit& first = *s.unit;
      book(first, blocks(s.process, first.block_bytes()), first.block_clocks(), first.startup_clocks());
      book(*second, blocks(std::min(s.process, s.heard), second->block_bytes()), second->block_clocks(), second->startup_clocks());
    } else {
      book(*s.unit, blocks(s.process, s.block_bytes), s.block_clocks, s.startup_clocks);
    }
    if (s.unit_error) {
      held_[0]->raise(s.unit_error);
      return kEu;
    }
    if (s.in_fault || s.out_fault) [[unlikely]] return bus_error(s.out_fault ? address_at(out_, s.out_ok) : address_at(in_, s.in_ok));
    return 0;
  }

  /// Sends bytes [moved_, moved_ + n) of the stream through the units.
  void through_units(const uint8_t* in, uint8_t* out, uint32_t n) {
    Stream& s = stream_;
    const uint32_t heard = s.listener ? std::min(n, s.heard > moved_ ? s.heard - moved_ : 0) : 0;
    if (heard && s.snoop == Snoop::In) s.listener->process(in, nullptr, heard);
    if (as_header_) [[unlikely]]
      s.unit->header(in, n);
    else
      s.unit->process(in, out, n);
    if (heard && s.snoop == Snoop::Out && out) s.listener->process(out, nullptr, heard);
  }
  /// Processes and writes the stream's output up to byte `upto`.
  void commit(uint32_t upto) {
    const Stream& s = stream_;
    if (!s.unit || s.unit->clocked()) return;  // a clocked unit moved its data itself
    const bool last = upto == s.out_ok;
    const uint32_t goal = last ? s.process : std::min(s.process, (upto + s.block_bytes - 1) >> s.block_shift << s.block_shift);
    const bool output = s.unit->writes_output() && !as_header_;
    if (goal > moved_ && in_.size() == 1 && !s.source && !output) {  // memory to unit
      through_units(e_.memory().at(in_[0].addr + moved_, goal - moved_), nullptr, goal - moved_);
      moved_ = goal;
    }
    if (moved_ == 0 && last && goal == upto && in_.size() == 1 && out_.size() == 1 && goal && !keep_ && !s.source) {
      const BusAddr from = in_[0].addr, to = out_[0].addr;
      if (from == to || from + goal <= to || to + goal <= from) {  // memory to memory
        through_units(e_.memory().at(from, goal), e_.memory().at(to, goal), goal);
        moved_ = written_ = goal;
        return;
      }
    }
    if (goal > moved_) {
      uint8_t* const b = bounce() + moved_;
      if (!s.source) copy(in_, moved_, goal - moved_, b, true);
      through_units(b, output ? b : nullptr, goal - moved_);
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

  // ---- small pieces ----

  static constexpr uint32_t kSmallBytes = 272;  // largest context or key that is taken
  uint8_t* small(Role r) { return small_[static_cast<size_t>(r)].data(); }
  uint32_t& small_size(Role r) { return small_size_[static_cast<size_t>(r)]; }
  /// Where the engine's writes really go.
  BusAddr place(BusAddr a, bool gather) { return gather ? a : writable(a); }

  static constexpr uint32_t kAccess = 128;      // largest single control access
  static constexpr uint32_t kBounceBytes = 65535 + 2 * 128 + 2 * 128;  // data and extents, MAC and blocks that hang over
  static constexpr uint32_t kMostOperandBytes = 512;  // of the PKEU; longer ones are cut, which the unit sees
  static constexpr unsigned kLongestChain = 1 << 16;
  static constexpr unsigned kMaxTableFetches = 70000;  // more entries than any 65535-byte list can need
  static constexpr unsigned kIccr0Shift = 27, kIccr1Shift = 19;
  static constexpr uint32_t low(uint64_t m) { return static_cast<uint32_t>(m); }
  static constexpr uint32_t kNt = low(regs::kCCCR.mask("NT")), kCdwe = low(regs::kCCCR.mask("CDWE")),
                            kAwse = low(regs::kCCCR.mask("AWSE")), kBs = low(regs::kCCCR.mask("BS")), kIwse = low(regs::kCCCR.mask("IWSE")), kNe = low(regs::kCCCR1.mask("NE"));
  static constexpr uint32_t kDse = low(regs::kEuInterruptStatus.mask("DSE")), kInternal = low(regs::kEuInterruptStatus.mask("IE"));

  X& x_;
  Engine& e_;
  const unsigned n_;
  const bool sec1_ = e_.part().sec1();
  ChannelState& st_;
  Task<int> task_;
  Decoded d_;
  ExecutionUnit* held_[2] = {};  // primary, secondary
  uint64_t held_since_[2] = {};
  std::array<uint32_t, 5> small_size_{};
  std::array<std::array<uint8_t, kSmallBytes>, 5> small_;  // by role; [0] is for what goes out
  SegmentList in_, out_, header_, icv_list_, trailer_, out_extent_, table_;
  regs::IntegrityCheck iccr_[2] = {};
  Stream stream_;
  bool streaming_ = false;
  uint32_t heard_ = ~0u;    // of the next stream: bytes that the secondary takes
  bool keep_ = false;       // its output stays in bounce_ too
  bool as_header_ = false;  // its data are header bytes for the unit
  uint32_t moved_ = 0, written_ = 0;  // bytes processed, bytes in memory
  std::vector<uint8_t> bounce_;
};

}  // namespace sec::hw
