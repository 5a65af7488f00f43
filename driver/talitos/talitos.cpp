#include "driver/talitos/talitos.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "hw/regs/channel.h"
#include "hw/regs/controller.h"
#include "hw/regs/eu_common.h"

namespace sec::driver {
namespace {

constexpr uint32_t hi32(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

constexpr uint32_t kImr = regs::kControllerBase + regs::kIMR.offset_bytes;
constexpr uint32_t kIsr = regs::kControllerBase + regs::kISR.offset_bytes;
constexpr uint32_t kIcr = regs::kControllerBase + regs::kICR.offset_bytes;
constexpr uint32_t kIto = hi32(regs::kISR.mask("ITO"));
constexpr uint8_t kDoneByte = 0xff;
constexpr unsigned kMappingsReserved = 2 * kInlineEntries;
constexpr unsigned kPendingReserved = 64;

constexpr uint64_t pointer(BusAddr a, size_t n) { return uint64_t{n} << 48 | a; }
constexpr uint64_t kJump = regs::kPointer.mask("J");

bool has(const DeviceProperties& p, std::string_view name) {
  return std::find(p.compatible.begin(), p.compatible.end(), name) != p.compatible.end();
}

}  // namespace

// --- Probe ---------------------------------------------------------------------------------------------------------

Device::Device(Platform& platform) : platform_(platform), dma_(platform.dma()), cpu_(platform.cpu()) {}

Device::~Device() {
  unregister();
  if (probed_) {
    imr_hi_ = 0;
    write_imr(0);
    for (unsigned l = 0; l < line_count_; ++l) platform_.set_interrupt_handler(l, nullptr, nullptr);
    dead_ = true;  // nothing is sent any more
    for (Channel& ch : channels_) {
      while (ch.in_flight()) retire(ch, Status::Io);
      fail_pending(ch);
    }
    if (reset_device() != Status::Ok) log(Platform::Level::Error, "the engine does not leave reset at unload");
  }
  for (Channel& ch : channels_) dma_.free(ch.ring);
  for (Pending& p : pending_store_) dma_.free(p.stream_iv);
}

Status Device::probe(const DeviceProperties& p) {
  if (probed_) return Status::Invalid;
  const bool sec1 = has(p, "fsl,sec1.0") || has(p, "fsl,sec1.2");
  sec3_ = has(p, "fsl,sec3.0");
  const bool bad = !has(p, "fsl,sec2.0") || sec1 || !std::has_single_bit(p.num_channels) ||
                   p.num_channels > regs::kMaxChannels || p.channel_fifo_len < 2 || p.exec_units_mask == 0 ||
                   p.descriptor_types_mask == 0 || p.interrupts < 1 || p.interrupts > 2 ||
                   (p.interrupts == 2 && !sec3_);  // the second line needs MCR[RCAn]
  if (bad) {
    log(Platform::Level::Error, "invalid property data in device tree node");
    return Status::Invalid;
  }
  constexpr BusAddr kBusLimit = BusAddr{1} << 36;
  if (dma_.bus_base() + dma_.size_bytes() > kBusLimit) {
    log(Platform::Level::Error, "DMA memory lies beyond the engine's 36 address bits");
    return Status::Invalid;
  }
  properties_ = p;
  channel_count_ = p.num_channels;
  line_count_ = p.interrupts;
  channel_config_ =
      static_cast<uint32_t>(regs::kCCCR.mask("EAE") | regs::kCCCR.mask("CDWE") | regs::kCCCR.mask("CDIE") |
                            (has(p, "fsl,sec2.1") ? regs::kCCCR.mask("IWSE") : 0));

  channels_ = std::vector<Channel>(channel_count_);
  const uint32_t ring_slots = std::bit_ceil(p.channel_fifo_len);
  bool memory = true;
  for (unsigned i = 0; i < channel_count_; ++i) {
    Channel& ch = channels_[i];
    ch.index = i;
    // With two lines the odd channels are remapped to the alternate page and the second line. [LX]
    ch.base = line_count_ == 2 && i % 2 ? regs::kChannelAliasBase(i) : regs::kChannelBase(i);
    ch.mask = ring_slots - 1;
    ch.limit = p.channel_fifo_len - 1;  // one less than the FIFO holds: it can never overflow
    ch.slot_store = std::vector<Slot>(ring_slots);
    ch.extra_store = std::vector<SlotExtras>(ring_slots);
    ch.slots = ch.slot_store.data();
    ch.extras = ch.extra_store.data();
    ch.ring = alloc_ring(ring_slots);
    if (!ch.ring) {
      memory = false;
      break;
    }
    ch.ring_hi = hi32(dma_.bus_addr(ch.ring));
    for (uint32_t k = 0; k < ring_slots; ++k) {
      ch.slots[k].edesc = &ch.ring[k];
      ch.slots[k].bus = dma_.bus_addr(&ch.ring[k]);
      ch.extras[k].mappings.reserve(kMappingsReserved);
    }
  }
  for (unsigned i = 0; memory && i < kPendingReserved; ++i) {
    Pending& n = pending_store_.emplace_back();
    n.stream_iv = static_cast<uint8_t*>(dma_.alloc(64, 64));
    memory = n.stream_iv != nullptr;
    n.next = pending_free_;
    pending_free_ = &n;
  }
  Status s = memory ? Status::Ok : Status::NoMemory;
  if (s == Status::Ok) s = init_device();
  if (s != Status::Ok) {
    log(Platform::Level::Error,
        s == Status::NoMemory ? "no DMA memory for the descriptor rings" : "failed to initialize device");
    for (Channel& ch : channels_) dma_.free(ch.ring);
    for (Pending& n : pending_store_) dma_.free(n.stream_iv);
    channels_.clear();
    pending_store_.clear();
    pending_free_ = nullptr;
    return s;
  }
  for (unsigned l = 0; l < line_count_; ++l) {
    Line& line = lines_[l];
    line.device = this;
    line.number = l;
    for (unsigned i = 0; i < channel_count_; ++i) {
      if (line_count_ == 2 && i % 2 != l) continue;
      line.channels.push_back(&channels_[i]);
      line.done |= hi32(regs::channel_done(i));
      line.error |= hi32(regs::channel_error_irq(i));
      line.overflow |= hi32(regs::channel_overflow(i));
    }
    platform_.set_interrupt_handler(l, interrupt_entry, &line);
  }
  probed_ = true;
  for (const Line& line : lines_) imr_hi_ |= line.done | line.error;
  imr_hi_ |= kIto;
  write_imr(imr_hi_);
  return Status::Ok;
}

/// A ring does not cross a 4 GiB boundary, so that the high word of its addresses is one.
Edesc* Device::alloc_ring(uint32_t slots) {
  const size_t n = slots * sizeof(Edesc);
  void* ring = dma_.alloc(n, alignof(Edesc));
  if (!ring || hi32(dma_.bus_addr(ring)) == hi32(dma_.bus_addr(ring) + n - 1)) return static_cast<Edesc*>(ring);
  void* other = dma_.alloc(n, alignof(Edesc));  // with the first one held, this lies elsewhere
  dma_.free(ring);
  return static_cast<Edesc*>(other);
}

DeviceStats Device::stats() const {
  DeviceStats s = stats_;
  for (const Channel& ch : channels_) s.channel[ch.index] = {ch.head, ch.tail, ch.bytes, ch.max_in_flight};
  return s;
}

size_t Device::outstanding() const {
  size_t n = 0;
  for (const Channel& ch : channels_) n += ch.in_flight() + ch.pending.size();
  return n;
}

// --- Submission ----------------------------------------------------------------------------------------------------

inline void Device::write_descriptor(Slot& s, uint32_t header, const CipherProgram& p, BusAddr iv_in, BusAddr iv_out,
                                     uint64_t in, uint64_t out) {
  // p0 and p6 of these types are unused; the ring's memory was zero and nobody writes there.
  uint8_t* d = s.edesc->descriptor;
  store_be64(d, uint64_t{header} << 32);
  store_be64(d + 16, p.iv_bytes ? pointer(iv_in, p.iv_bytes) : 0);
  store_be64(d + 24, p.key_pointer);
  store_be64(d + 32, in);
  store_be64(d + 40, out);
  store_be64(d + 48, p.iv_bytes ? pointer(iv_out, p.iv_bytes) : 0);
}

/// The high word of the fetch FIFO, the same for all slots of a ring; writing the low word enqueues. [LX][USP]
/// A register write is a point where the platform may deliver interrupts, and callbacks may submit. So the high
/// word is written before a slot is chosen: from then on, up to the low word, the ring and the FIFO agree.
inline void Device::announce(const Channel& ch) { platform_.write32(ch.base + regs::kFF.offset_bytes, ch.ring_hi); }

/// Hands the built slot to the engine. It may be retired, and its request gone, before this returns.
inline void Device::start(Channel& ch, Slot& s, size_t size_bytes) {
  ++ch.head;
  ch.bytes += size_bytes;
  const uint64_t in_flight = ch.head - ch.tail;
  if (in_flight > ch.max_in_flight) ch.max_in_flight = in_flight;
  platform_.write32(ch.base + regs::kFF.offset_bytes + 4, static_cast<uint32_t>(s.bus));
}

Status Device::submit(Channel& ch, const CipherProgram& p, const crypto::SkcipherRequest& r, bool encrypt) {
  const size_t n = r.size_bytes;
  if (!p.key) [[unlikely]]
    return Status::NoKey;
  if (n == 0) [[unlikely]]
    return Status::Ok;
  if ((n & p.block_mask) || (p.iv_bytes && !r.iv)) [[unlikely]]
    return Status::Invalid;
  if (dead_) [[unlikely]]
    return Status::Io;
  if (ch.in_flight() >= ch.limit || !ch.pending.empty() || n > kMaxDescriptorBytes) [[unlikely]]
    return submit_slow(ch, p, r, encrypt);
  if (!r.src || !r.dst) [[unlikely]]
    return Status::Invalid;
  announce(ch);
  if (!p.key || dead_) [[unlikely]]
    return dead_ ? Status::Io : Status::NoKey;  // a callback may have done that
  if (ch.in_flight() >= ch.limit || !ch.pending.empty()) [[unlikely]]
    return submit_slow(ch, p, r, encrypt);

  cpu_.charge(Cost::SubmitRequest);
  Slot& s = ch.slot(ch.head);
  const size_t readable = p.pad_input ? (n + 15) & ~size_t{15} : n;
  uint64_t in, out;
  const crypto::Segment* a = r.src->segments;
  const crypto::Segment* b = r.dst->segments;
  s.flags = 0;
  // CTR input is rounded up for the AESU [LX]: what the engine fetches behind the source need only be readable.
  if (r.src->count && a->size_bytes >= n && dma_.contains(a->data, readable) && r.dst->count && b->size_bytes >= n &&
      dma_.contains(b->data, n)) [[likely]] {
    in = pointer(dma_.bus_addr(a->data), readable);
    out = pointer(dma_.bus_addr(b->data), n);
    cpu_.charge(Cost::MapSegment, r.src == r.dst ? 1 : 2);
  } else {
    crypto::ScatterWalk src(r.src), dst(r.dst);
    if (const Status e = build_lists(ch, s, p, src, dst, r.src == r.dst, n, &in, &out); e != Status::Ok) return e;
  }
  if (p.iv_bytes == 16)
    std::memcpy(s.edesc->iv, r.iv, 16);
  else if (p.iv_bytes)
    std::memcpy(s.edesc->iv, r.iv, 8);
  write_descriptor(s, p.header[encrypt], p, s.bus + offsetof(Edesc, iv), s.bus + offsetof(Edesc, iv_out), in, out);
  s.complete = r.complete;
  s.context = r.context;
  s.iv = r.iv;
  s.iv_bytes = p.iv_bytes;
  s.key = p.key;
  ++p.key->refs;
  start(ch, s, n);
  return Status::InProgress;
}

/// The ring is full, or somebody waits already, or the request needs several descriptors.
Status Device::submit_slow(Channel& ch, const CipherProgram& p, const crypto::SkcipherRequest& r, bool encrypt) {
  const bool full = ch.in_flight() >= ch.limit || !ch.pending.empty();
  if (full && !(r.flags & crypto::kMayBacklog)) {
    ++stats_.refused_full;
    return Status::NoSpace;
  }
  crypto::ScatterWalk src(r.src), dst(r.dst);
  if (!src.skip(r.size_bytes) || !dst.skip(r.size_bytes)) return Status::Invalid;
  Pending* n = new_pending();
  n->stream = r.size_bytes > kMaxDescriptorBytes;
  if (n->stream && !n->stream_iv) n->stream_iv = static_cast<uint8_t*>(dma_.alloc(64, 64));
  if (n->stream && !n->stream_iv) {
    free_pending(n);
    return Status::NoMemory;
  }
  n->program = p;
  n->src_list = r.src;
  n->dst_list = r.dst;
  n->src = crypto::ScatterWalk(r.src);
  n->dst = crypto::ScatterWalk(r.dst);
  n->remaining_bytes = r.size_bytes;
  n->complete = r.complete;
  n->context = r.context;
  n->iv = r.iv;
  if (p.iv_bytes) std::memcpy(n->iv_copy, r.iv, p.iv_bytes);  // the caller's buffer may change from now on
  if (n->stream && p.iv_bytes) std::memcpy(n->stream_iv, n->iv_copy, p.iv_bytes);
  n->encrypt = encrypt;
  n->backlogged = full;
  ++p.key->refs;
  if (n->stream) ++stats_.split_requests;
  // A queue of limit 0 is a pure backlog; a long request on an idle ring starts at once and is not told so.
  static_cast<void>(ch.pending.enqueue(n, true));
  if (full) {
    ++stats_.backlogged;
    stats_.max_backlog = std::max<uint64_t>(stats_.max_backlog, ch.pending.size());
    return Status::Busy;
  }
  pump(ch);
  return Status::InProgress;
}

/// Moves what waits into free ring slots, in order. Not re-entered: doorbells and callbacks may come back here.
void Device::pump(Channel& ch) {
  if (ch.pumping) return;
  ch.pumping = true;
  while (!dead_ && ch.in_flight() < ch.limit) {
    Pending* p = ch.pending.front();
    if (!p) break;
    announce(ch);
    if (ch.in_flight() >= ch.limit || ch.pending.front() != p) continue;
    if (!p->started) {
      p->started = true;
      // p stays at the head meanwhile, so what the callback submits queues behind it.
      if (p->backlogged) p->complete(p->context, Status::InProgress);
    }
    start_piece(ch, p);
  }
  ch.pumping = false;
}

/// Sends the next piece of the queue's head. When that fails the request ends here, or with its last piece in flight.
void Device::start_piece(Channel& ch, Pending* p) {
  Pending* unused = nullptr;
  const CipherProgram& program = p->program;
  Slot& s = ch.slot(ch.head);
  const size_t n = std::min(p->remaining_bytes, kMaxDescriptorBytes);
  uint64_t in = 0, out = 0;
  s.flags = 0;
  cpu_.charge(Cost::SubmitRequest);
  const Status e = build_lists(ch, s, program, p->src, p->dst, p->src_list == p->dst_list, n, &in, &out);
  if (e != Status::Ok) {
    static_cast<void>(ch.pending.dequeue(&unused));
    p->remaining_bytes = 0;
    if (p->status == Status::Ok) p->status = e;
    if (p->pieces_in_flight) return;
    const auto complete = p->complete;
    void* context = p->context;
    const Status status = p->status;
    unref(program.key);
    free_pending(p);
    complete(context, status);
    return;
  }
  p->remaining_bytes -= n;
  s.iv_bytes = program.iv_bytes;
  if (p->stream) {
    // The engine hands the IV from piece to piece itself: a channel works strictly in order, and stores the
    // context before it fetches the next descriptor.
    const BusAddr first = dma_.bus_addr(p->stream_iv), carried = first + 16;
    write_descriptor(s, program.header[p->encrypt], program, p->first_piece ? first : carried, carried, in, out);
    p->first_piece = false;
    ++p->pieces_in_flight;
    s.flags |= Slot::kStream;
    s.stream = p;
    s.key = nullptr;
    s.complete = nullptr;
    if (p->remaining_bytes == 0) static_cast<void>(ch.pending.dequeue(&unused));
  } else {
    std::memcpy(s.edesc->iv, p->iv_copy, program.iv_bytes);
    write_descriptor(s, program.header[p->encrypt], program, s.bus + offsetof(Edesc, iv),
                     s.bus + offsetof(Edesc, iv_out), in, out);
    s.complete = p->complete;
    s.context = p->context;
    s.iv = p->iv;
    s.key = program.key;  // the reference moves to the slot
    static_cast<void>(ch.pending.dequeue(&unused));
    free_pending(p);
  }
  start(ch, s, n);
}

Status Device::build_lists(Channel& ch, Slot& s, const CipherProgram& p, crypto::ScatterWalk& src,
                           crypto::ScatterWalk& dst, bool in_place, size_t size_bytes, uint64_t* in, uint64_t* out) {
  SlotExtras& x = ch.extras[&s - ch.slots];
  const size_t tail = p.pad_input ? size_bytes & 15 : 0;
  Status e;
  if (in_place && !tail) {
    const crypto::ScatterWalk start_of_piece = src;
    e = build_side(s, x, src, size_bytes, 0, Direction::Bidirectional, s.edesc->src_table, &x.src_table, in);
    *out = *in;
    if (e == Status::Ok) {
      dst = start_of_piece;
      static_cast<void>(dst.skip(size_bytes));
    }
  } else {
    e = build_side(s, x, src, size_bytes - tail, tail, Direction::ToDevice, s.edesc->src_table, &x.src_table, in);
    if (e == Status::Ok)
      e = build_side(s, x, dst, size_bytes, 0, Direction::FromDevice, s.edesc->dst_table, &x.dst_table, out);
  }
  if (e != Status::Ok && s.flags) release_lists(s, x);
  return e;
}

/// Maps `size_bytes` of the list, plus `tail_bytes` that are copied into the padded tail block (CTR input whose
/// bytes behind the end must not be fetched from the caller's memory), as one pointer dword.
Status Device::build_side(Slot& s, SlotExtras& x, crypto::ScatterWalk& walk, size_t size_bytes, size_t tail_bytes,
                          Direction direction, uint8_t* inline_table, void** big_table, uint64_t* result) {
  size_t entries = tail_bytes ? 1 : 0;
  {
    crypto::ScatterWalk count = walk;
    for (size_t left = size_bytes; left;) {
      const size_t n = count.take(left).size_bytes;
      if (!n) return Status::Invalid;  // the list is shorter than the request
      left -= n;
      ++entries;
    }
  }
  uint8_t* table = inline_table;
  if (entries > kInlineEntries) {
    table = static_cast<uint8_t*>(dma_.alloc(entries * regs::kLinkEntryBytes, 64));
    if (!table) return Status::NoMemory;
    *big_table = table;
    s.flags |= Slot::kTables;
  }
  uint64_t single = 0;
  uint8_t* at = table;
  const auto emit = [&](BusAddr address, size_t n) {
    const bool last = at == table + (entries - 1) * regs::kLinkEntryBytes;
    if (entries == 1)
      single = pointer(address, n);
    else
      regs::LinkEntry::data(address, static_cast<uint16_t>(n), last).store(at);
    at += regs::kLinkEntryBytes;
  };
  for (size_t left = size_bytes; left;) {
    const crypto::Segment piece = walk.take(left);
    const Mapping m = dma_.map(piece.data, piece.size_bytes, direction);
    if (!m.ok) return Status::NoMemory;
    cpu_.charge(Cost::MapSegment);
    if (m.bounce) {
      x.mappings.push_back(m);
      s.flags |= Slot::kMapped;
      ++stats_.bounced_segments;
      cpu_.charge(Cost::CopyByte, piece.size_bytes);
    }
    emit(m.addr, piece.size_bytes);
    left -= piece.size_bytes;
  }
  if (tail_bytes) {
    uint8_t* tail = s.edesc->tail;
    std::memset(tail, 0, sizeof s.edesc->tail);
    for (size_t done = 0; done < tail_bytes;) {
      const crypto::Segment piece = walk.take(tail_bytes - done);
      if (!piece.size_bytes) return Status::Invalid;
      std::memcpy(tail + done, piece.data, piece.size_bytes);
      done += piece.size_bytes;
    }
    cpu_.charge(Cost::CopyByte, tail_bytes);
    ++stats_.tail_bounces;
    emit(s.bus + offsetof(Edesc, tail), sizeof s.edesc->tail);
  }
  if (entries == 1) {
    *result = single;
    return Status::Ok;
  }
  cpu_.charge(Cost::LinkTableEntry, entries);
  ++stats_.link_tables;
  *result = pointer(dma_.bus_addr(table), size_bytes + (tail_bytes ? sizeof s.edesc->tail : 0)) | kJump;
  return Status::Ok;
}

void Device::release_lists(Slot& s, SlotExtras& x) {
  for (const Mapping& m : x.mappings) {
    if (m.direction != Direction::ToDevice) cpu_.charge(Cost::CopyByte, m.size_bytes);
    dma_.unmap(m);
  }
  x.mappings.clear();
  dma_.free(x.src_table);
  dma_.free(x.dst_table);
  x.src_table = x.dst_table = nullptr;
  s.flags &= static_cast<uint8_t>(~(Slot::kMapped | Slot::kTables));
}

Pending* Device::new_pending() {
  Pending* p = pending_free_;
  if (p)
    pending_free_ = p->next;
  else
    p = &pending_store_.emplace_back();  // the backlog grows; never on the way of a request that fits the ring
  uint8_t* const keep = p->stream_iv;
  *p = Pending{};
  p->stream_iv = keep;
  ++pending_in_use_;
  return p;
}

void Device::free_pending(Pending* p) {
  p->next = pending_free_;
  pending_free_ = p;
  --pending_in_use_;
}

/// Ends everything that waits, with Io.
void Device::fail_pending(Channel& ch) {
  Pending* unused = nullptr;
  while (Pending* p = ch.pending.dequeue(&unused)) {
    const crypto::Completion complete = p->complete;
    void* context = p->context;
    unref(p->program.key);
    free_pending(p);
    ++stats_.purged;
    complete(context, Status::Io);
  }
}

void Device::unref(KeySlot* key) {
  if (--key->refs) return;
  std::memset(key, 0, sizeof *key);
  dma_.free(key);
}

// --- Completion ----------------------------------------------------------------------------------------------------

/// Takes the oldest descriptor off the ring and tells its owner. The slot is free before the callback runs, so the
/// callback may submit; nothing of the request is touched once it has been called.
void Device::retire(Channel& ch, Status status) {
  Slot& s = ch.slot(ch.tail);
  crypto::Completion complete = s.complete;
  void* context = s.context;
  cpu_.charge(Cost::Completion);
  if (s.flags & (Slot::kMapped | Slot::kTables)) [[unlikely]]
    release_lists(s, ch.extras[&s - ch.slots]);
  if (status == Status::Ok) [[likely]] {
    ++stats_.dones;
    if (!(s.flags & Slot::kStream)) {
      if (s.iv_bytes == 16)
        std::memcpy(s.iv, s.edesc->iv_out, 16);
      else if (s.iv_bytes)
        std::memcpy(s.iv, s.edesc->iv_out, 8);
    }
  }
  if (s.flags & Slot::kStream) [[unlikely]]
    finish_piece(ch, s, status, &complete, &context, &status);
  else
    unref(s.key);
  ++ch.tail;
  if (!ch.pending.empty()) [[unlikely]]
    pump(ch);
  if (complete) complete(context, status);
}

/// One piece of a long request came back. Sets `complete` when it was the last.
void Device::finish_piece(Channel& ch, Slot& s, Status status, crypto::Completion* complete, void** context,
                          Status* final) {
  Pending* p = s.stream;
  *complete = nullptr;
  --p->pieces_in_flight;
  if (status != Status::Ok && p->status == Status::Ok) p->status = status;
  if (p->status != Status::Ok && p->remaining_bytes) {  // the rest is not sent; p heads the queue
    Pending* unused = nullptr;
    p->remaining_bytes = 0;
    static_cast<void>(ch.pending.dequeue(&unused));
  }
  if (p->pieces_in_flight || p->remaining_bytes) return;
  if (p->status == Status::Ok && p->program.iv_bytes) std::memcpy(p->iv, p->stream_iv + 16, p->program.iv_bytes);
  *complete = p->complete;
  *context = p->context;
  *final = p->status;
  unref(p->program.key);
  free_pending(p);
}

/// Retires everything that is done, strictly in order of submission.
void Device::flush_channel(Channel& ch) {
  platform_.sync_for_cpu();
  bool progress = false;
  while (ch.tail != ch.head) {
    if (ch.slot(ch.tail).edesc->descriptor[0] == kDoneByte) {
      retire(ch, Status::Ok);
      progress = true;
      continue;
    }
    if (progress) {  // time went by in the callbacks: look again before giving up
      progress = false;
      platform_.sync_for_cpu();
      continue;
    }
    if (!ch.overflow_suspect) return;
    const uint64_t tail = ch.tail;
    resolve_overflow(ch);
    if (ch.tail == tail) return;
  }
  ch.overflow_suspect = false;
}

// --- Interrupts ----------------------------------------------------------------------------------------------------

void Device::interrupt_entry(void* line) {
  Line& l = *static_cast<Line*>(line);
  l.device->interrupt(l);
}
void Device::done_task_entry(void* line) {
  Line& l = *static_cast<Line*>(line);
  l.device->done_task(l);
}

void Device::write_imr(uint32_t hi) { platform_.write32(kImr, hi); }

void Device::interrupt(Line& line) {
  ++stats_.interrupts;
  const uint32_t mine = line.done | line.error | line.overflow | kIto;
  uint32_t seen = 0, units = 0;
  // Done events are counted in the engine, and an acknowledge takes one off: all of them are taken before a ring is
  // looked at, so an event that comes later is a descriptor that comes later, and interrupts again.
  for (unsigned round = 0; round < kMaxAckRounds; ++round) {
    const uint32_t hi = platform_.read32(kIsr) & mine;
    const uint32_t lo = round == 0 ? platform_.read32(kIsr + 4) : 0;
    if (!hi && !lo) break;
    ++stats_.acknowledges;
    if (hi) platform_.write32(kIcr, hi);
    if (lo) [[unlikely]]
      platform_.write32(kIcr + 4, lo);
    seen |= hi;
    units |= lo;
    if (!(hi & line.done)) break;
  }
  if (!seen && !units) [[unlikely]] {
    ++stats_.spurious_interrupts;
    return;
  }
  if (seen & line.overflow) [[unlikely]]
    ++stats_.done_overflows;
  if (seen & (line.done | line.overflow)) {
    imr_hi_ &= ~line.done;
    write_imr(imr_hi_);
    platform_.schedule_task(done_task_entry, &line);
  }
  if (seen & line.error) [[unlikely]]
    for (Channel* ch : line.channels)
      if (seen & hi32(regs::channel_error_irq(ch->index))) channel_error(*ch);
  if ((seen & kIto) || units) [[unlikely]]
    recover_device(fmt::format("device-level error, ISR {:08x}_{:08x}", seen, units));
}

void Device::done_task(Line& line) {
  if (recovering_) [[unlikely]] {
    line.deferred = true;
    return;
  }
  ++stats_.done_tasks;
  cpu_.charge(Cost::DoneTask);
  const uint64_t before = stats_.dones;
  for (Channel* ch : line.channels) flush_channel(*ch);
  stats_.max_dones_per_task = std::max(stats_.max_dones_per_task, stats_.dones - before);
  imr_hi_ |= line.done;
  write_imr(imr_hi_);
}

}  // namespace sec::driver
