#include "driver/talitos/talitos.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "driver/talitos/aead.h"
#include "driver/talitos/hash.h"
#include "driver/talitos/rng.h"
#include "hw/regs/afeu.h"
#include "hw/regs/channel.h"
#include "hw/regs/controller.h"
#include "hw/regs/eu_common.h"

namespace sec::driver {
namespace {

constexpr uint32_t hi32(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

constexpr uint32_t kImr = regs::kControllerBase + regs::kIMR.offset_bytes;
constexpr uint32_t kIsr = regs::kControllerBase + regs::kISR.offset_bytes;
constexpr uint32_t kIcr = regs::kControllerBase + regs::kICR.offset_bytes;
constexpr uint8_t kDoneByte = 0xff;
constexpr uint64_t kPollNs = 100;
constexpr unsigned kMappingsReserved = 2 * kInlineEntries;
constexpr unsigned kJobsReserved = 64;
constexpr size_t kStreamBytes = 320;  // of CipherJob::stream_iv
static_assert(kStreamBytes >= regs::kAfeuContextBytes);

constexpr uint64_t pointer(BusAddr a, size_t n) { return uint64_t{n} << 48 | a; }

bool has(const DeviceProperties& p, std::string_view name) {
  return std::find(p.compatible.begin(), p.compatible.end(), name) != p.compatible.end();
}

}  // namespace

// --- Probe ---------------------------------------------------------------------------------------------------------

Device::Device(Platform& platform)
    : platform_(platform),
      dma_(platform.dma()),
      cpu_(platform.cpu()),
      aeads_(std::make_unique<AeadPools>()),
      hashes_(std::make_unique<HashPool>()) {}

Device::~Device() {
  unregister();
  if (probed_) {
    imr_hi_ = 0;
    write_imr(0);
    platform_.set_last_resort(nullptr, nullptr);
    for (unsigned l = 0; l < line_count_; ++l) platform_.set_interrupt_handler(l, nullptr, nullptr);
    dead_ = true;  // nothing is sent any more
    for (Channel& ch : channels_) {
      while (ch.in_flight()) retire(ch, Status::Io);
      fail_pending(ch);
    }
    if (reset_device() != Status::Ok) log(Platform::Level::Error, "the engine does not leave reset at unload");
  }
  for (Channel& ch : channels_) dma_.free(ch.ring);
  for (CipherJob& j : job_store_) dma_.free(j.stream_iv);
  aeads_->authenc.each([this](AeadJob& j) { dma_.free(j.work); });
  aeads_->aes.each([this](AesAeadJob& j) { dma_.free(j.carried); });
  hashes_->jobs.each([this](HashJob& j) {
    dma_.free(j.own);
    dma_.free(j.chained);
  });
  dma_.free(areas_);
}

Status Device::probe(const DeviceProperties& p) {
  if (probed_) return Status::Invalid;
  const bool sec1 = has(p, "fsl,sec1.0") || has(p, "fsl,sec1.2");
  const bool sec3 = has(p, "fsl,sec3.0");
  const bool bad = has(p, "fsl,sec2.0") == sec1 ||  // one family, not both and not none
                   !std::has_single_bit(p.num_channels) || p.num_channels > regs::kMaxChannels ||
                   p.channel_fifo_len < 2 || p.exec_units_mask == 0 || p.descriptor_types_mask == 0 ||
                   p.interrupts < 1 || p.interrupts > 2 ||
                   (p.interrupts == 2 && !sec3);  // the second line needs MCR[RCAn]
  if (bad) {
    log(Platform::Level::Error, "invalid property data in device tree node");
    return Status::Invalid;
  }
  const unsigned address_bits = sec1 ? 32 : 36;
  if (dma_.bus_base() + dma_.size_bytes() > BusAddr{1} << address_bits) {
    log(Platform::Level::Error, fmt::format("DMA memory lies beyond the engine's {} address bits", address_bits));
    return Status::Invalid;
  }
  properties_ = p;
  generation_ = sec1 ? regs::Generation::Sec1 : sec3 ? regs::Generation::Sec3 : regs::Generation::Sec2;
  part_.generation = generation_;
  part_.sec_version = has(p, "fsl,sec1.2") ? "1.2" : "1.0";  // of SEC 1, whose register maps differ
  part_.exec_units_mask = p.exec_units_mask;
  checks_icvs_ = has(p, "fsl,sec2.1");
  tables_cover_icvs_ = sec3;
  max_bytes_ = sec1 ? kMaxDescriptorBytesSec1 : kMaxDescriptorBytes;
  write_align_ = sec1 ? 3 : 0;
  ito_ = sec1 ? 0 : hi32(regs::kISR.mask("ITO"));
  channel_count_ = p.num_channels;
  line_count_ = p.interrupts;
  channel_config_ =
      static_cast<uint32_t>(sec1 ? regs::kCCCR1.mask("CDWE") | regs::kCCCR1.mask("NE") | regs::kCCCR1.mask("CDIE")
                                 : regs::kCCCR.mask("EAE") | regs::kCCCR.mask("CDWE") | regs::kCCCR.mask("CDIE") |
                                       (checks_icvs_ ? regs::kCCCR.mask("IWSE") : 0));

  channels_ = std::vector<Channel>(channel_count_);
  const uint32_t ring_slots = std::bit_ceil(p.channel_fifo_len);
  bool memory = true;
  for (unsigned i = 0; i < channel_count_; ++i) {
    Channel& ch = channels_[i];
    ch.index = i;
    // With two lines the odd channels are remapped to the alternate page and the second line. [LX]
    ch.base = line_count_ == 2 && i % 2 ? regs::channel_alias_base(part_, i) : regs::channel_base(part_, i);
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
      ch.slots[k].done = ch.ring[k].descriptor;
      ch.slots[k].channel = static_cast<uint8_t>(i);
      ch.extras[k].mappings.reserve(kMappingsReserved);
    }
  }
  areas_ = memory ? static_cast<JobArea*>(dma_.alloc(channel_count_ * ring_slots * sizeof(JobArea), alignof(JobArea)))
                  : nullptr;
  memory = areas_ != nullptr;
  for (Channel& ch : channels_)
    for (uint32_t k = 0; memory && k < ring_slots; ++k) ch.extras[k].area = areas_ + ch.index * ring_slots + k;
  for (unsigned i = 0; memory && i < kJobsReserved; ++i) {
    CipherJob& j = job_store_.emplace_back();
    j.stream_iv = static_cast<uint8_t*>(dma_.alloc(kStreamBytes, 64));
    memory = j.stream_iv != nullptr;
    j.next = job_free_;
    job_free_ = &j;
  }
  Status s = memory ? Status::Ok : Status::NoMemory;
  if (s == Status::Ok) s = init_device();
  if (s != Status::Ok) {
    log(Platform::Level::Error,
        s == Status::NoMemory ? "no DMA memory for the descriptor rings" : "failed to initialize device");
    for (Channel& ch : channels_) dma_.free(ch.ring);
    for (CipherJob& j : job_store_) dma_.free(j.stream_iv);
    dma_.free(areas_);
    areas_ = nullptr;
    channels_.clear();
    job_store_.clear();
    job_free_ = nullptr;
    return s;
  }
  for (unsigned l = 0; l < line_count_; ++l) {
    Line& line = lines_[l];
    line.device = this;
    line.number = l;
    for (unsigned i = 0; i < channel_count_; ++i) {
      if (line_count_ == 2 && i % 2 != l) continue;
      line.channels.push_back(&channels_[i]);
      line.done |= hi32(regs::channel_done(generation_, i));
      line.error |= hi32(regs::channel_error_irq(generation_, i));
      line.overflow |= hi32(regs::channel_overflow(generation_, i));
    }
    platform_.set_interrupt_handler(l, interrupt_entry, &line);
  }
  platform_.set_last_resort([](void* d) { return static_cast<Device*>(d)->last_resort(); }, this);
  probed_ = true;
  for (const Line& line : lines_) imr_hi_ |= line.done | line.error;
  imr_hi_ |= ito_;
  if (sec1) platform_.write32(kImr + 4, static_cast<uint32_t>(regs::imr_enabling(generation_, 0)));
  write_imr(imr_hi_);
  return Status::Ok;
}

bool Device::compatible_with(std::string_view version) const { return has(properties_, version); }

bool Device::can_run(uint32_t header) const {
  const regs::HeaderWord h = regs::HeaderWord::decode(header);
  return properties_.descriptor_types_mask >> h.type & 1 && properties_.exec_units_mask >> h.sel0 & 1 &&
         (h.sel1 == 0 || (properties_.exec_units_mask >> h.sel1 & 1));
}

KeySlot* Device::new_key() {
  auto* k = static_cast<KeySlot*>(dma_.alloc(sizeof(KeySlot), 64));
  if (k) k->refs = 1;
  return k;
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
  for (const Channel& ch : channels_) n += ch.in_flight() + ch.pending.size() + (ch.current ? 1 : 0);
  return n;
}

// --- Submission ----------------------------------------------------------------------------------------------------

inline void Device::write_descriptor(Slot& s, uint32_t header, const CipherProgram& p, BusAddr iv_in, BusAddr iv_out,
                                     uint64_t in, uint64_t out) {
  // p0 and p6 of these types are unused: the ring's memory was zero, and what jobs write there is cleared again.
  uint8_t* d = s.edesc->descriptor;
  const uint64_t context_in = p.iv_bytes ? pointer(iv_in, p.iv_bytes) : 0;
  const uint64_t context_out = p.iv_bytes ? pointer(iv_out, p.iv_bytes) : 0;
  if (sec1()) [[unlikely]] {
    put_header(d, header);
    put_pointer(d, 1, context_in);
    put_pointer(d, 2, p.key_pointer);
    put_pointer(d, 3, in);
    put_pointer(d, 4, out);
    put_pointer(d, 5, context_out);
    return;
  }
  store_be64(d, uint64_t{header} << 32);
  store_be64(d + 16, context_in);
  store_be64(d + 24, p.key_pointer);
  store_be64(d + 32, in);
  store_be64(d + 40, out);
  store_be64(d + 48, context_out);
}

/// The high word of the fetch FIFO, the same for all slots of a ring; writing the low word enqueues. [LX][USP]
/// A register write is a point where the platform may deliver interrupts, and callbacks may submit. So the high
/// word is written before a slot is chosen: from then on, up to the low word, the ring and the FIFO agree.
/// SEC 1 has no high word.
inline void Device::announce(const Channel& ch) {
  if (!sec1()) [[likely]]
    platform_.write32(ch.base + regs::kFF.offset_bytes, ch.ring_hi);
}

/// Hands the built slot to the engine. It may be retired, and its request gone, before this returns.
inline void Device::start(Channel& ch, Slot& s, size_t size_bytes) {
  ++ch.head;
  ch.bytes += size_bytes;
  const uint64_t in_flight = ch.head - ch.tail;
  if (in_flight > ch.max_in_flight) ch.max_in_flight = in_flight;
  if (sec1()) [[unlikely]]
    return issue(ch);
  platform_.write32(ch.base + regs::kFF.offset_bytes + 4, static_cast<uint32_t>(s.bus));
}

/// SEC 1 has one Fetch Register and no FIFO behind it: the ring's slots are handed over one at a time. ASSUMED: what
/// writing it while the channel is busy does is not known.
void Device::issue(Channel& ch) {
  if (dead_ || ch.issued != ch.tail || ch.issued == ch.head) return;
  const BusAddr a = ch.slot(ch.issued++).bus;
  platform_.write32(ch.base + regs::kFF.offset_bytes + 4, static_cast<uint32_t>(a));
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
  if (ch.full() || n > max_bytes_) [[unlikely]]
    return submit_slow(ch, p, r, encrypt);
  if (!r.src || !r.dst) [[unlikely]]
    return Status::Invalid;
  announce(ch);
  if (!p.key || dead_) [[unlikely]]
    return dead_ ? Status::Io : Status::NoKey;  // a callback may have done that
  if (ch.full()) [[unlikely]]
    return submit_slow(ch, p, r, encrypt);

  cpu_.charge(Cost::SubmitRequest);
  Slot& s = ch.slot(ch.head);
  const size_t readable = (n + p.pad_mask) & ~size_t{p.pad_mask};
  uint64_t in, out;
  const crypto::Segment* a = r.src->segments;
  const crypto::Segment* b = r.dst->segments;
  s.flags = 0;
  // CTR input is rounded up for the AESU [LX]: what the engine fetches behind the source need only be readable.
  if (r.src->count && a->size_bytes >= n && dma_.contains(a->data, readable) && r.dst->count && b->size_bytes >= n &&
      dma_.contains(b->data, n) && !(reinterpret_cast<uintptr_t>(b->data) & write_align_)) [[likely]] {
    in = pointer(dma_.bus_addr(a->data), readable);
    out = pointer(dma_.bus_addr(b->data), n);
    cpu_.charge(Cost::MapSegment, r.src == r.dst ? 1 : 2);
  } else {
    crypto::ScatterWalk src(r.src), dst(r.dst);
    if (const Status e = build_lists(s, p, src, dst, r.src == r.dst, n, &in, &out); e != Status::Ok) return e;
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
  if (ch.full() && !(r.flags & crypto::kMayBacklog)) {
    ++stats_.refused_full;
    return Status::NoSpace;
  }
  crypto::ScatterWalk src(r.src), dst(r.dst);
  if (!src.skip(r.size_bytes) || !dst.skip(r.size_bytes)) return Status::Invalid;
  CipherJob* j = new_cipher_job();
  j->stream = r.size_bytes > max_bytes_;
  if (j->stream && !j->stream_iv) j->stream_iv = static_cast<uint8_t*>(dma_.alloc(kStreamBytes, 64));
  if (j->stream && !j->stream_iv) {
    free_cipher_job(j);
    return Status::NoMemory;
  }
  j->build = build_cipher;
  j->finish = finish_cipher;
  j->program = p;
  j->src_list = r.src;
  j->dst_list = r.dst;
  j->src = crypto::ScatterWalk(r.src);
  j->dst = crypto::ScatterWalk(r.dst);
  j->remaining_bytes = r.size_bytes;
  j->complete = r.complete;
  j->context = r.context;
  j->iv = r.iv;
  if (p.iv_bytes) std::memcpy(j->iv_copy, r.iv, p.iv_bytes);  // the caller's buffer may change from now on
  if (j->stream && p.iv_bytes) std::memcpy(j->stream_iv, j->iv_copy, p.iv_bytes);
  j->encrypt = encrypt;
  ++p.key->refs;
  if (j->stream) ++stats_.split_requests;
  const Status s = submit_job(ch, *j, r.flags);
  if (!accepted(s)) {
    unref(p.key);
    free_cipher_job(j);
  }
  return s;
}

/// The next piece of a cipher request.
Status Device::build_cipher(Job& job, Device& d, Slot& s) {
  auto& j = static_cast<CipherJob&>(job);
  const CipherProgram& program = j.program;
  const size_t n = std::min(j.remaining_bytes, d.max_bytes_);
  uint64_t in = 0, out = 0;
  const Status e = d.build_lists(s, program, j.src, j.dst, j.src_list == j.dst_list, n, &in, &out);
  if (e != Status::Ok) return e;
  j.remaining_bytes -= n;
  j.piece_bytes = n;
  if (j.remaining_bytes) j.more = Job::More::AtOnce;
  if (j.stream && program.rc4_context_bytes) {
    // First piece: make the S-box and dump it; the others take it up again. [T23]
    constexpr uint32_t kFirst = regs::afeu_mode::kDumpContext;
    constexpr uint32_t kNext = kFirst | regs::afeu_mode::kInhibitPermutation | regs::afeu_mode::kContextFromFifo;
    const uint64_t state = pointer(d.dma_.bus_addr(j.stream_iv), program.rc4_context_bytes);
    d.write_descriptor(s, program.header[0] | (j.first_piece ? kFirst : kNext) << 20, program, 0, 0, in, out);
    if (!j.first_piece) d.put_pointer(s.edesc->descriptor, 1, state);
    d.put_pointer(s.edesc->descriptor, 5, state);
    j.first_piece = false;
  } else if (j.stream) {
    // The engine hands the IV from piece to piece itself: a channel works strictly in order, and stores the
    // context before it fetches the next descriptor.
    const BusAddr first = d.dma_.bus_addr(j.stream_iv), carried = first + 16;
    d.write_descriptor(s, program.header[j.encrypt], program, j.first_piece ? first : carried, carried, in, out);
    j.first_piece = false;
  } else {
    std::memcpy(s.edesc->iv, j.iv_copy, program.iv_bytes);
    d.write_descriptor(s, program.header[j.encrypt], program, s.bus + offsetof(Edesc, iv),
                       s.bus + offsetof(Edesc, iv_out), in, out);
    // From here it is a common request.
    s.flags &= static_cast<uint8_t>(~Slot::kJob);
    s.bytes = n;
    s.complete = j.complete;
    s.context = j.context;
    s.iv = j.iv;
    s.iv_bytes = program.iv_bytes;
    s.key = program.key;  // the reference moves to the slot
    d.free_cipher_job(&j);
  }
  return Status::Ok;
}

Status Device::finish_cipher(Job& job, Device& d, Status status) {
  auto& j = static_cast<CipherJob&>(job);
  if (status == Status::Ok && j.program.iv_bytes) std::memcpy(j.iv, j.stream_iv + 16, j.program.iv_bytes);
  d.unref(j.program.key);
  d.free_cipher_job(&j);
  return status;
}

CipherJob* Device::new_cipher_job() {
  auto* j = static_cast<CipherJob*>(job_free_);
  if (j)
    job_free_ = j->next;
  else
    j = &job_store_.emplace_back();  // the backlog grows; never on the way of a request that fits the ring
  uint8_t* const keep = j->stream_iv;
  *j = CipherJob{};
  j->stream_iv = keep;
  return j;
}

void Device::free_cipher_job(CipherJob* j) {
  j->next = job_free_;
  job_free_ = j;
}

// --- Jobs ----------------------------------------------------------------------------------------------------------

Status Device::submit_job(Channel& ch, Job& j, uint32_t request_flags) {
  if (dead_) return Status::Io;
  j.in_flight = 0;
  j.status = Status::Ok;
  j.more = Job::More::No;
  j.backlogged = false;
  if (ch.full()) return queue_job(ch, j, request_flags);
  announce(ch);
  if (dead_) return Status::Io;  // a callback may have done that
  if (ch.full()) return queue_job(ch, j, request_flags);
  Slot& s = ch.slot(ch.head);
  if (const Status e = build_job(s, j); e != Status::Ok) return e;
  if (!(s.flags & Slot::kJob) || j.more == Job::More::No) {
    start(ch, s, s.bytes);
    return Status::InProgress;
  }
  ch.current = &j;
  const bool held = std::exchange(ch.pumping, true);  // the other pieces are sent from here, not from the doorbell
  start(ch, s, s.bytes);
  ch.pumping = held;
  pump(ch);
  return Status::InProgress;
}

Status Device::run_job(Channel& wanted, Job& j) {
  // From a callback in the middle of sending, nothing more can be sent on that channel.
  Channel* use = &wanted;
  for (Channel& other : channels_)
    if (use->pumping && !other.pumping) use = &other;
  if (use->pumping) return Status::Again;
  Channel& ch = *use;
  struct Wait {
    bool done = false;
    Status status = Status::Io;
  } wait;
  j.context = &wait;
  j.complete = [](void* context, Status s) {
    if (s == Status::InProgress) return;
    *static_cast<Wait*>(context) = {true, s};
  };
  if (const Status s = submit_job(ch, j, crypto::kMayBacklog); !accepted(s)) return s;
  // The interrupt does it, or, when this is called from a callback and none can come, the walk here.
  for (unsigned round = 0; round < 2 && !wait.done; ++round) {
    for (unsigned i = 0; i < kPollTries && !wait.done; ++i) {
      flush_channel(ch);
      if (!wait.done) platform_.relax(kPollNs);
    }
    if (!wait.done) recover_device(fmt::format("channel {} did not finish a job that somebody waits for", ch.index));
  }
  if (!wait.done) {  // it waited behind others, and they do not end either
    dead_ = true;
    while (ch.in_flight()) retire(ch, Status::Io);
    fail_pending(ch);
  }
  return wait.status;
}

Status Device::queue_job(Channel& ch, Job& j, uint32_t request_flags) {
  if (!(request_flags & crypto::kMayBacklog)) {
    ++stats_.refused_full;
    return Status::NoSpace;
  }
  j.backlogged = true;
  static_cast<void>(ch.pending.enqueue(&j, true));  // a queue of limit 0 is a pure backlog
  ++stats_.backlogged;
  stats_.max_backlog = std::max<uint64_t>(stats_.max_backlog, ch.pending.size());
  return Status::Busy;
}

/// Fills the slot with the job's next descriptor.
Status Device::build_job(Slot& s, Job& j) {
  cpu_.charge(Cost::SubmitRequest);
  std::memset(s.edesc->descriptor, 0, sizeof s.edesc->descriptor);
  s.flags = Slot::kJob;
  s.job = &j;
  s.key = nullptr;
  s.complete = nullptr;
  s.iv_bytes = 0;
  j.more = Job::More::No;
  const Status e = j.build(j, *this, s);
  if (e == Status::Ok) {
    if (s.flags & Slot::kJob) {
      ++j.in_flight;
      s.bytes = j.piece_bytes;
    }
    return e;
  }
  release(s);
  std::memset(s.edesc->descriptor, 0, sizeof s.edesc->descriptor);
  j.more = Job::More::No;
  return e;
}

void Device::end_job(Job& j, Status status) {
  const crypto::Completion complete = j.complete;
  void* const context = j.context;
  if (j.finish) status = j.finish(j, *this, status);
  if (complete) complete(context, status);
}

/// Moves what waits into free ring slots, in order. Not re-entered: doorbells and callbacks may come back here.
void Device::pump(Channel& ch) {
  if (ch.pumping) return;
  ch.pumping = true;
  while (!dead_ && ch.in_flight() < ch.limit) {
    if (!ch.current) {
      Job* unused = nullptr;
      Job* const next = ch.pending.dequeue(&unused);
      if (!next) break;
      ch.current = next;  // so what the callback submits queues behind it
      if (next->backlogged) {
        if (next->complete) next->complete(next->context, Status::InProgress);
        continue;
      }
    }
    Job* const j = ch.current;
    const auto waits = [j] { return j->more == Job::More::AfterDone && j->in_flight; };
    if (waits()) break;
    announce(ch);
    if (dead_ || ch.in_flight() >= ch.limit || ch.current != j || waits()) continue;
    Slot& s = ch.slot(ch.head);
    const Status e = build_job(s, *j);
    if (e != Status::Ok) {
      ch.current = nullptr;
      if (j->status == Status::Ok) j->status = e;
      if (!j->in_flight) end_job(*j, j->status);  // else with its last piece in flight
      continue;
    }
    if (!(s.flags & Slot::kJob) || j->more == Job::More::No) ch.current = nullptr;
    start(ch, s, s.bytes);
  }
  ch.pumping = false;
}

/// Ends everything that waits, with Io.
void Device::fail_pending(Channel& ch) {
  Job* unused = nullptr;
  while (Job* j = ch.current ? ch.current : ch.pending.dequeue(&unused)) {
    ch.current = nullptr;
    ++stats_.purged;
    j->more = Job::More::No;
    j->status = Status::Io;
    if (!j->in_flight) end_job(*j, Status::Io);  // else with its last piece
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
  Job* ended = nullptr;
  cpu_.charge(Cost::Completion);
  if (status == Status::Ok) [[likely]]
    ++stats_.dones;
  if (s.flags) [[unlikely]] {
    const bool job = s.flags & Slot::kJob;
    release(s);
    if (job) ended = retire_piece(ch, s, status);
  }
  if (s.key) {
    if (status == Status::Ok) [[likely]] {
      if (s.iv_bytes == 16)
        std::memcpy(s.iv, s.edesc->iv_out, 16);
      else if (s.iv_bytes)
        std::memcpy(s.iv, s.edesc->iv_out, 8);
    }
    unref(s.key);
  }
  ++ch.tail;
  if (ended) {
    complete = ended->complete;
    context = ended->context;
    status = ended->finish ? ended->finish(*ended, *this, ended->status) : ended->status;
  }
  if (sec1()) [[unlikely]]
    issue(ch);
  if (ch.current || !ch.pending.empty()) [[unlikely]]
    pump(ch);
  if (complete) complete(context, status);
}

/// A descriptor of a job came back. Returns the job when it is over.
Job* Device::retire_piece(Channel& ch, Slot& s, Status status) {
  Job& j = *s.job;
  if (j.retired) status = j.retired(j, *this, s, status);
  std::memset(s.edesc->descriptor, 0, sizeof s.edesc->descriptor);
  --j.in_flight;
  if (status != Status::Ok && j.status == Status::Ok) j.status = status;
  if (j.status != Status::Ok) j.more = Job::More::No;  // the rest is not sent
  if (j.more != Job::More::No) return nullptr;
  if (ch.current == &j) ch.current = nullptr;
  return j.in_flight ? nullptr : &j;
}

/// Retires everything that is done, strictly in order of submission.
void Device::flush_channel(Channel& ch) {
  platform_.sync_for_cpu();
  bool progress = false;
  while (ch.tail != ch.head) {
    if (*ch.slot(ch.tail).done == kDoneByte) {
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

/// `hi`: what may interrupt; a 1 masks on SEC 1 and enables later [LX].
void Device::write_imr(uint32_t hi) {
  platform_.write32(kImr, hi32(regs::imr_enabling(generation_, uint64_t{hi} << 32)));
}

/// The low word of IMR has the units' own interrupts: the RNG is the one that the driver works by registers. [LX]
void Device::enable_rng_interrupt() {
  const uint64_t error = regs::unit_error_irq(generation_, regs::Eu::Rngu);
  platform_.write32(kImr + 4, static_cast<uint32_t>(regs::imr_enabling(generation_, error)));
}

void Device::interrupt(Line& line) {
  ++stats_.interrupts;
  const uint32_t mine = line.done | line.error | line.overflow | ito_;
  // A bus error shows in the channel as well, which is enough to know whose it was.
  const auto elsewhere = static_cast<uint32_t>(regs::transfer_error_irq(generation_));
  uint32_t seen = 0, units = 0;
  bool acknowledged = false;
  // Done events are counted in the engine, and an acknowledge takes one off: all of them are taken before a ring is
  // looked at, so an event that comes later is a descriptor that comes later, and interrupts again.
  for (unsigned round = 0; round < kMaxAckRounds; ++round) {
    const uint32_t hi = platform_.read32(kIsr) & mine;
    const uint32_t lo = round == 0 ? platform_.read32(kIsr + 4) : 0;
    if (!hi && !lo) break;
    ++stats_.acknowledges;
    acknowledged = true;
    if (hi) platform_.write32(kIcr, hi);
    if (lo) [[unlikely]]
      platform_.write32(kIcr + 4, lo);
    seen |= hi;
    units |= lo & ~elsewhere;
    if (!(hi & line.done)) break;
  }
  if (!acknowledged) [[unlikely]] {
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
      if (seen & hi32(regs::channel_error_irq(generation_, ch->index))) channel_error(*ch);
  if ((seen & ito_) || units) [[unlikely]]
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
  // A channel that has stopped shows only while the others go on.
  if (const uint64_t now = platform_.now_ns(); now - looked_at_ns_ > timeout_ns_ / 4) [[unlikely]] {
    looked_at_ns_ = now;
    poll_timeouts();
  }
  imr_hi_ |= line.done;
  write_imr(imr_hi_);
}

}  // namespace sec::driver
