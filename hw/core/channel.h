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
  static constexpr uint32_t kMdte = regs::channel_error::kMdte, kEu = regs::channel_error::kEu;

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

    if (const uint32_t bad = e_.check_header(load_be32(raw), d_)) [[unlikely]] {
      state(State::Decode);
      co_return bad;
    }
    const Layout& l = *d_.layout;

    state(State::RequestPrimary);
    st_.unit_progress = ChannelState::kRequesting;
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
      if (!m) co_return kMdte;
      std::memcpy(small(role), m, p.length);
      small_size(role) = p.length;
    }
    iccr_[0] = iccr_[1] = regs::IntegrityCheck::None;

    if (l.procedure != Procedure::Stream) [[unlikely]] {
      if (const uint32_t e = co_await special()) co_return e;
    } else {
      const PointerDword in = pointer(l.data_in.pointer), out = pointer(l.data_out.pointer);
      const bool source = d_.primary == regs::Eu::Rngu;  // the only unit that makes data of nothing
      const uint32_t header_bytes = size_of(l.header), icv_bytes = size_of(l.icv_in), trailer_bytes = size_of(l.trailer);
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
        const uint32_t behind = l.extent[l.data_out.pointer] == Role::None ? 0 : out.extent;
        if (out.jump || behind) [[unlikely]] {
          if (const uint32_t e = co_await parcels(out, 0, behind, false, out_, out_extent_)) co_return e;
        } else {
          out_.clear();
          out_.add(e_.translate(n_, out.bus_addr()), out.length);
        }
      } else {
        out_.clear();
      }

      if (bytes == 0 && needs_data(header_bytes)) [[unlikely]] {
        if (!k.zero_length_is_dse) co_await x_.hang(n_);  // MPC8544E SEC-A001: nothing ever tells the unit to finish
        unit->raise(kDse);
        co_return kEu;
      }

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
      const uint32_t n = step.role == Role::IcvOut ? icv_unit().icv(bytes, size) : unit->context(bytes, size);
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
      if (!m) co_return kMdte;
      std::memcpy(m, bytes, size);
    }
    release_units(false);

    const uint32_t config = st_.config;
    const bool notify = !(config & kNt) || d_.word.notify;
    uint32_t wait = k.interrupt;
    if (notify && config & kCdwe) {
      state(State::WriteBack);
      // The second word carries ICV verdicts: IWSE writes it when there is one, AWSE always. [LX][T23]
      const uint32_t feedback = static_cast<uint32_t>(iccr_[0]) << kIccr0Shift | static_cast<uint32_t>(iccr_[1]) << kIccr1Shift;
      const uint32_t size = config & kAwse || (config & kIwse && feedback) ? 8 : 4;
      co_await x_.write(n_, at, size, wait);
      wait = 0;
      uint8_t* m = e_.memory().at(at, size);
      if (!m) co_return kMdte;
      m[0] = 0xff;
      if (size == 8) store_be32(m + 4, config & kIwse ? feedback : 0);
    }
    if (wait) co_await x_.delay(n_, wait);
    e_.channel_done(n_, notify);
    x_.visible();
    co_return 0;
  }

  // ---- descriptor words ----

  PointerDword pointer(unsigned i) { return PointerDword::decode(load_be64(st_.descriptor.data() + 8 + 8 * i)); }
  uint32_t size_of(Layout::Place p) {
    if (!p) return 0;
    const PointerDword d = pointer(p.pointer);
    return p.extent ? d.extent : d.length;
  }
  Snoop snoop() const {
    const Snoop s = d_.layout->outbound;
    return !d_.word.inbound || s == Snoop::None ? s : s == Snoop::In ? Snoop::Out : Snoop::In;
  }
  BusAddr writable(BusAddr a) { return a; }

  // ---- units ----

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
  /// A unit that can do nothing with a message of no data. Hashes with padding, MACs and CCM or GCM can.
  bool needs_data(uint32_t header_bytes) const {
    if (held_[1]) return true;
    if (header_bytes) return false;
    if (d_.primary == regs::Eu::MdeuA || d_.primary == regs::Eu::MdeuB)
      return !(d_.word.mode0 & regs::mdeu_mode::kPad) && e_.part().generation != regs::Generation::Sec1;
    if (d_.primary == regs::Eu::Aesu && d_.word.mode0 & 0x80 && (d_.word.mode0 & 0x06) != 0x06) return false;  // CCM, GCM, XCBC
    return held_[0]->writes_output();
  }

  // ---- procedures of their own ----

  Task<uint32_t> special() {
    e_.note("descriptor type not modelled: " + std::to_string(d_.word.type));
    co_return regs::channel_error::kIdh;
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
    const bool sec3 = e_.part().generation == regs::Generation::Sec3;
    const bool covered = !gather || sec3;  // the table goes on over what lies behind
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
    const bool sec3 = e_.part().generation == regs::Generation::Sec3;
    const uint32_t mismatch = sec3 ? regs::channel_error::kSgml : gather ? regs::channel_error::kGrl : regs::channel_error::kSrl;
    BusAddr at = e_.translate(n_, p.bus_addr());
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

  /// Up to `limit` bytes of a list by control accesses.
  Task<uint32_t> small_read(const SegmentList& list, uint8_t* to, uint32_t limit) {
    uint32_t at = 0;
    for (const BusSegment s : list)
      for (uint32_t off = 0; off < s.size_bytes && at < limit;) {
        const uint32_t n = std::min({s.size_bytes - off, limit - at, kAccess});
        co_await x_.read(n_, s.addr + off, n);
        const uint8_t* m = e_.memory().at(s.addr + off, n);
        if (!m) co_return kMdte;
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
        if (!m) co_return kMdte;
        std::memcpy(m, from + at, n);
        at += n;
        off += n;
      }
    co_return 0;
  }
  /// Header bytes, burst by burst. What the unit needs for them is in its startup_clocks().
  Task<uint32_t> feed_header(ExecutionUnit& unit) {
    const uint32_t burst = st_.config & kBs ? 128 : 64;
    for (const BusSegment s : header_)
      for (uint32_t off = 0; off < s.size_bytes;) {
        const uint32_t n = burst_size(s.addr + off, s.size_bytes - off, burst);
        co_await x_.read(n_, s.addr + off, n);
        const uint8_t* m = e_.memory().at(s.addr + off, n);
        if (!m) co_return kMdte;
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
    s.burst = st_.config & kBs ? 128 : 64;
    const uint32_t own = unit.block_bytes();
    s.block_bytes = own;
    s.block_clocks = unit.block_clocks();
    s.startup_clocks = unit.startup_clocks();
    if (held_[1]) {
      ExecutionUnit& second = *held_[1];
      s.listener = &second;
      s.snoop = snoop();
      s.heard = ~0u;
      if (!unit.clocked()) {
        s.block_bytes = std::max(own, second.block_bytes());
        s.block_clocks = std::max(s.block_bytes / own * s.block_clocks, s.block_bytes / second.block_bytes() * second.block_clocks());
      }
      s.startup_clocks = std::max(s.startup_clocks, second.startup_clocks());
    }
    s.block_shift = static_cast<uint32_t>(__builtin_ctz(s.block_bytes));
    s.fifo_bytes = std::max(e_.clocks().fifo_bytes, s.burst + s.block_bytes);  // less, and nothing could ever move
    s.source = source;
    if (source) {
      s.in_ok = s.process = out_.total;
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
    const uint32_t produced = unit.writes_output() ? std::min(out_.total, s.process) : 0;
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
  /// Books the stream; the error it ended with, 0 when it is complete.
  uint32_t stream_end() {
    const Stream& s = stream_;
    EngineCounters& c = e_.counters();
    for (const ExecutionUnit* u : held_) {
      if (!u) break;
      const auto i = static_cast<size_t>(u->code());
      const uint32_t block = u->block_bytes();
      const uint64_t own = (s.process + block - 1) >> __builtin_ctz(block);
      c.unit_blocks[i] += own;
      c.unit_busy_clocks[i] += own * u->block_clocks() + u->startup_clocks() + u->finish_clocks();
    }
    if (s.unit_error) {
      held_[0]->raise(s.unit_error);
      return kEu;
    }
    return s.in_fault || s.out_fault ? kMdte : 0;
  }

  /// Sends bytes [moved_, moved_ + n) of the stream through the units.
  void through_units(const uint8_t* in, uint8_t* out, uint32_t n) {
    Stream& s = stream_;
    const uint32_t heard = s.listener ? std::min(n, s.heard > moved_ ? s.heard - moved_ : 0) : 0;
    if (heard && s.snoop == Snoop::In) s.listener->process(in, nullptr, heard);
    s.unit->process(in, out, n);
    if (heard && s.snoop == Snoop::Out && out) s.listener->process(out, nullptr, heard);
  }
  /// Processes and writes the stream's output up to byte `upto`.
  void commit(uint32_t upto) {
    const Stream& s = stream_;
    if (!s.unit || s.unit->clocked()) return;  // a clocked unit moved its data itself
    const bool last = upto == s.out_ok;
    const uint32_t goal = last ? s.process : std::min(s.process, (upto + s.block_bytes - 1) >> s.block_shift << s.block_shift);
    if (goal > moved_ && in_.size() == 1 && !s.source && !s.unit->writes_output()) {  // memory to unit
      through_units(e_.memory().at(in_[0].addr + moved_, goal - moved_), nullptr, goal - moved_);
      moved_ = goal;
    }
    if (moved_ == 0 && last && goal == upto && in_.size() == 1 && out_.size() == 1 && goal) {
      const BusAddr from = in_[0].addr, to = out_[0].addr;
      if (from == to || from + goal <= to || to + goal <= from) {  // memory to memory
        through_units(e_.memory().at(from, goal), e_.memory().at(to, goal), goal);
        moved_ = written_ = goal;
        return;
      }
    }
    if (goal > moved_) {
      if (bounce_.size() < s.process) bounce_.resize(65536 + 256);
      uint8_t* const b = bounce_.data() + moved_;
      if (!s.source) copy(in_, moved_, goal - moved_, b, true);
      through_units(b, s.unit->writes_output() ? b : nullptr, goal - moved_);
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
  static constexpr unsigned kMaxTableFetches = 70000;  // more entries than any 65535-byte list can need
  static constexpr unsigned kIccr0Shift = 27, kIccr1Shift = 19;
  static constexpr uint32_t low(uint64_t m) { return static_cast<uint32_t>(m); }
  static constexpr uint32_t kNt = low(regs::kCCCR.mask("NT")), kCdwe = low(regs::kCCCR.mask("CDWE")),
                            kAwse = low(regs::kCCCR.mask("AWSE")), kBs = low(regs::kCCCR.mask("BS")), kIwse = low(regs::kCCCR.mask("IWSE"));
  static constexpr uint32_t kDse = low(regs::kEuInterruptStatus.mask("DSE")), kInternal = low(regs::kEuInterruptStatus.mask("IE"));

  X& x_;
  Engine& e_;
  const unsigned n_;
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
  uint32_t moved_ = 0, written_ = 0;  // bytes processed, bytes in memory
  std::vector<uint8_t> bounce_;
};

}  // namespace sec::hw
