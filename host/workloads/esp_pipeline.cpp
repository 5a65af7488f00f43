#include "host/workloads/esp_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "common/diag.h"
#include "common/endian.h"
#include "driver/crypto/authenc_key.h"

namespace sec::host {
namespace {

constexpr size_t kMaxHeadBytes = 512;    // IP header with options or extension headers, in front of ESP
constexpr size_t kMaxTrailerBytes = 64;  // padding to a block, trailer, ICV; TFC counts as payload
constexpr size_t kSegmentGapBytes = 5;   // odd, so that pieces begin at every alignment
constexpr unsigned kMaxRetries = 16;

// Per-packet memory beside the packet that an engine may have to reach.
constexpr size_t kIvOffset = 0, kDigestOffset = 32, kEsnOffset = 96, kPacketOffset = 128;

enum class Stage : uint8_t { None, Cipher, Hash, Aead };

/// The pieces of `list` that make up [offset, offset + size).
void slice(const std::vector<crypto::Segment>& list, size_t offset, size_t size, std::vector<crypto::Segment>& out) {
  out.clear();
  for (const crypto::Segment& s : list) {
    if (size == 0) return;
    if (offset >= s.size_bytes) {
      offset -= s.size_bytes;
      continue;
    }
    const size_t n = std::min(s.size_bytes - offset, size);
    out.push_back({s.data + offset, n});
    size -= n;
    offset = 0;
  }
}

/// Time depends on the size only.
bool equal_constant_time(const uint8_t* a, const uint8_t* b, size_t n) {
  uint8_t difference = 0;
  for (size_t i = 0; i < n; ++i) difference = static_cast<uint8_t>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

/// Fixed-capacity queue of slot numbers; never allocates after `reset`.
class SlotQueue {
 public:
  void reset(size_t capacity) { ring_.assign(capacity, 0); }
  bool empty() const { return count_ == 0; }
  unsigned front() const { return ring_[head_]; }
  void push(unsigned v) {
    SEC_CHECK(count_ < ring_.size(), "ESP slot queued twice");
    ring_[(head_ + count_++) % ring_.size()] = v;
  }
  void push_front(unsigned v) {
    SEC_CHECK(count_ < ring_.size(), "ESP slot queued twice");
    head_ = (head_ + ring_.size() - 1) % ring_.size();
    ring_[head_] = v;
    ++count_;
  }
  void pop() {
    head_ = (head_ + 1) % ring_.size();
    --count_;
  }

 private:
  std::vector<unsigned> ring_;
  size_t head_ = 0, count_ = 0;
};

}  // namespace

struct EspPipeline::Core {
  struct Sa {
    SecurityAssociation sa;
    EspIvSource ivs{0};
    AntiReplay replay;
    std::unique_ptr<crypto::Skcipher> cipher;
    std::unique_ptr<crypto::Hash> hash;
    std::unique_ptr<crypto::Aead> aead;  // instead of both
  };

  struct Slot {
    Core* core = nullptr;
    unsigned number = 0;  // of this slot
    uint8_t* memory = nullptr;
    // The packet: `head` is the IP header in front of ESP; `esp` lists the pieces from the SPI on.
    uint8_t* head = nullptr;
    size_t head_bytes = 0;
    std::vector<crypto::Segment> esp, cipher_segments, hash_segments;
    crypto::ScatterList cipher_list, hash_list, esp_list;
    crypto::SkcipherRequest cipher_request;
    crypto::HashRequest hash_request;
    crypto::AeadRequest aead_request;

    Sa* sa = nullptr;
    EspLayout layout;  // decapsulation: payload_bytes covers everything encrypted but the two last bytes
    IpHeader ip;
    uint64_t sequence = 0;
    EspOutput out;
    size_t out_head_bytes = 0, out_offset = 0, out_size_bytes = 0;  // what leaves: see view()
    Stage stage = Stage::None;
    Status status = Status::Ok;
    unsigned retries = 0;
    bool waiting_for_start = false;  // answered Busy, not yet InProgress
    bool started = false;            // the InProgress callback came, maybe before submit returned
    bool leaves = false;
  };

  /// One kind of request: the packets that wait to submit theirs, and whether submitting has to pause.
  struct Lane {
    SlotQueue queue;
    bool blocked = false;   // a request sits on the backlog
    bool no_space = false;  // refused; try again after a completion or a pump
  };

  const crypto::Registry& registry;
  EspPipelineOptions options;
  Sink sink;
  std::vector<std::unique_ptr<Sa>> sas;
  std::unordered_map<uint32_t, Sa*> by_spi;
  std::vector<Slot> slots;
  std::vector<void*> blocks;
  unsigned head = 0, used = 0;  // ring of slots: oldest, count
  unsigned outstanding = 0;     // requests that the implementations hold
  uint64_t next_index = 0;
  uint64_t completions = 0;
  SlotQueue ready;
  Lane cipher_lane, hash_lane;
  std::vector<uint8_t> scratch, gathered;
  size_t esp_capacity = 0;
  EspStats stats;
  std::string failure;
  bool delivering = false;

  Core(const crypto::Registry& r, EspPipelineOptions o, Sink s)
      : registry(r), options(std::move(o)), sink(std::move(s)) {
    if (options.in_flight < 1 || options.in_flight > 65536)
      throw SetupError(fmt::format("{} packets in flight are not possible: use 1 to 65536", options.in_flight));
    if (options.segments < 1 || options.segments > 256)
      throw SetupError(fmt::format("{} segments per packet are not possible: use 1 to 256", options.segments));
    if (options.max_packet_bytes < 64 || options.max_packet_bytes > 65535)
      throw SetupError(
          fmt::format("a largest packet of {} bytes is not possible: use 64 to 65535", options.max_packet_bytes));
    esp_capacity = std::max<size_t>(options.max_packet_bytes, 2048) + 8 + 16 + kMaxTrailerBytes;
    const size_t block =
        (kPacketOffset + kMaxHeadBytes + esp_capacity + (options.segments + 1) * kSegmentGapBytes + 63) / 64 * 64;
    slots.resize(options.in_flight);
    try {
      for (unsigned i = 0; i < options.in_flight; ++i) {
        void* p = options.dma ? options.dma->alloc(block, 64) : std::aligned_alloc(64, block);
        if (!p)
          throw SetupError(
              fmt::format("{} packets of {} bytes do not fit into the memory shared with the engine: "
                          "use fewer in flight or more memory",
                          options.in_flight, options.max_packet_bytes));
        blocks.push_back(p);
        Slot& slot = slots[i];
        slot.core = this;
        slot.number = i;
        slot.memory = static_cast<uint8_t*>(p);
        for (auto* list : {&slot.esp, &slot.cipher_segments, &slot.hash_segments}) list->reserve(options.segments + 4);
      }
    } catch (...) {
      free_blocks();
      throw;
    }
    for (SlotQueue* q : {&ready, &cipher_lane.queue, &hash_lane.queue}) q->reset(options.in_flight);
    scratch.reserve(options.max_packet_bytes);
    gathered.reserve(kMaxHeadBytes + esp_capacity);
  }

  void free_blocks() {
    for (void* p : blocks) {
      if (options.dma)
        options.dma->free(p);
      else
        std::free(p);
    }
    blocks.clear();
  }

  ~Core() { free_blocks(); }

  // ---------------------------------------------------------------- packet memory

  /// Lays the ESP part out in `options.segments` pieces. With one piece the IP header touches it.
  void lay_out(Slot& slot, size_t esp_bytes) {
    slot.esp.clear();
    uint8_t* p = slot.memory + kPacketOffset + kMaxHeadBytes;
    const size_t pieces = std::min<size_t>(options.segments, std::max<size_t>(esp_bytes, 1));
    size_t from = 0;
    for (size_t i = 1; i <= pieces; ++i) {
      // Uneven cuts that differ from packet to packet, so borders meet every field sooner or later.
      size_t to = i * esp_bytes / pieces;
      if (i < pieces)
        to = std::clamp<size_t>(to + (slot.out.index + i) % 7, from + 1, esp_bytes - (pieces - i));
      else
        to = esp_bytes;
      if (to > from) slot.esp.push_back({p, to - from});
      p += to - from + kSegmentGapBytes;
      from = to;
    }
    slot.esp_list = {slot.esp.data(), slot.esp.size()};
    slot.head = slot.memory + kPacketOffset + kMaxHeadBytes - slot.head_bytes;
  }

  void put(Slot& slot, size_t offset, std::span<const uint8_t> bytes) {
    SEC_CHECK(crypto::copy_to(&slot.esp_list, offset, bytes.data(), bytes.size()), "ESP packet longer than its buffer");
  }
  void get(const Slot& slot, size_t offset, uint8_t* to, size_t n) const {
    SEC_CHECK(crypto::copy_from(&slot.esp_list, offset, to, n), "ESP packet shorter than its layout");
  }
  void put_zeros(Slot& slot, size_t offset, size_t n) {
    static constexpr uint8_t kZeros[256] = {};
    for (size_t step; n; n -= step, offset += step) {
      step = std::min(n, sizeof kZeros);
      put(slot, offset, {kZeros, step});
    }
  }

  // ---------------------------------------------------------------- stages

  static void done(void* context, Status status) {
    Slot& slot = *static_cast<Slot*>(context);
    Core& core = *slot.core;
    if (status == Status::InProgress) {
      slot.started = true;
      if (slot.waiting_for_start) {
        slot.waiting_for_start = false;
        core.lane_of(slot).blocked = false;
      }
      return;
    }
    // A final status implies that the request has started.
    if (slot.waiting_for_start) {
      slot.waiting_for_start = false;
      core.lane_of(slot).blocked = false;
    }
    slot.started = true;
    slot.status = status;
    --core.outstanding;
    ++core.completions;
    // Work goes on in service(): a callback may run inside submit, or where an interrupt handler runs.
    core.ready.push(slot.number);
  }

  Lane& lane_of(const Slot& slot) { return slot.stage == Stage::Hash ? hash_lane : cipher_lane; }

  void enqueue(Slot& slot, Stage stage) {
    slot.stage = stage;
    slot.retries = 0;
    lane_of(slot).queue.push(slot.number);
  }

  /// Hands one request to its implementation. False: refused for lack of space, stays first in its queue.
  bool start_stage(Slot& slot) {
    Sa& sa = *slot.sa;
    slot.started = slot.waiting_for_start = false;
    ++outstanding;
    Status status;
    const bool encrypt = options.direction == EspDirection::Encapsulate;
    if (slot.stage == Stage::Aead) {
      if (slot.retries == 0) {
        stats.crypto_bytes += slot.aead_request.size_bytes - (encrypt ? 0 : slot.layout.icv_bytes);
        if (options.charge_aead) options.charge_aead(slot.aead_request.aad_bytes + slot.aead_request.size_bytes);
      }
      status = encrypt ? sa.aead->encrypt(slot.aead_request) : sa.aead->decrypt(slot.aead_request);
    } else if (slot.stage == Stage::Cipher) {
      // The first attempt only: a request that is sent again has been paid for.
      if (slot.retries == 0) {
        stats.crypto_bytes += slot.cipher_request.size_bytes;
        if (options.charge_cipher) options.charge_cipher(slot.cipher_request.size_bytes);
      }
      status = encrypt ? sa.cipher->encrypt(slot.cipher_request) : sa.cipher->decrypt(slot.cipher_request);
    } else {
      if (slot.retries == 0 && options.charge_hash) options.charge_hash(slot.hash_request.size_bytes);
      status = sa.hash->digest(slot.hash_request);
    }
    switch (status) {
      case Status::InProgress:
        return true;
      case Status::Busy:
        ++stats.backlogged;
        if (!slot.started) {
          slot.waiting_for_start = true;
          lane_of(slot).blocked = true;
        }
        return true;
      case Status::NoSpace:
      case Status::Again:
        --outstanding;
        ++slot.retries;
        ++stats.retries;
        return false;
      default:
        --outstanding;
        ++completions;
        slot.status = status;
        ready.push(slot.number);
        return true;
    }
  }

  void prepare_cipher(Slot& slot) {
    const Sa& sa = *slot.sa;
    const EspLayout& l = slot.layout;
    uint8_t* iv = slot.memory + kIvOffset;
    size_t offset = 8 + l.iv_bytes, size = l.encrypted_bytes();
    if (sa.sa.suite.cipher == EspCipher::AesCtr) {
      // Counter block of RFC 3686: nonce, IV, block counter from 1.
      std::copy_n(sa.sa.cipher_key.end() - 4, 4, iv);
      get(slot, 8, iv + 4, 8);
      store_be32(iv + 12, 1);
    } else if (options.direction == EspDirection::Encapsulate) {
      sa.ivs.cbc_nonce(slot.sequence, sa.sa.suite.iv_bytes, iv);
      offset -= l.iv_bytes;
      size += l.iv_bytes;
    } else {
      get(slot, 8, iv, l.iv_bytes);
    }
    slice(slot.esp, offset, size, slot.cipher_segments);
    slot.cipher_list = {slot.cipher_segments.data(), slot.cipher_segments.size()};
    crypto::SkcipherRequest& r = slot.cipher_request;
    r.src = r.dst = &slot.cipher_list;
    r.size_bytes = size;
    r.iv = iv;
    r.flags = crypto::kMayBacklog;
    r.complete = done;
    r.context = &slot;
    enqueue(slot, Stage::Cipher);
  }

  void prepare_hash(Slot& slot) {
    size_t size = slot.layout.authenticated_bytes();
    slice(slot.esp, 0, size, slot.hash_segments);
    if (slot.sa->sa.esn) {
      store_be32(slot.memory + kEsnOffset, static_cast<uint32_t>(slot.sequence >> 32));
      slot.hash_segments.push_back({slot.memory + kEsnOffset, 4});
      size += 4;
    }
    slot.hash_list = {slot.hash_segments.data(), slot.hash_segments.size()};
    crypto::HashRequest& r = slot.hash_request;
    r.src = &slot.hash_list;
    r.size_bytes = size;
    r.digest = slot.memory + kDigestOffset;
    r.flags = crypto::kMayBacklog;
    r.complete = done;
    r.context = &slot;
    enqueue(slot, Stage::Hash);
  }

  /// Cipher and HMAC in one request over the packet as it lies. Outbound the block in front of the payload is data, as in
  /// prepare_cipher(); inbound it is the IV and only authenticated.
  void prepare_aead(Slot& slot) {
    const Sa& sa = *slot.sa;
    const EspLayout& l = slot.layout;
    uint8_t* iv = slot.memory + kIvOffset;
    crypto::AeadRequest& r = slot.aead_request;
    r.src = r.dst = &slot.esp_list;
    if (sa.sa.suite.auth == EspAuth::Combined) {
      // The AAD ends with the IV on the wire, as rfc4106 and rfc4309 want it. With 64-bit numbers the high half stands
      // between SPI and low half (RFC 4106 5), which is not so in the packet.
      get(slot, 8, iv, l.iv_bytes);
      r.aad_bytes = 8 + l.iv_bytes;
      if (sa.sa.esn) {
        store_be32(slot.memory + kEsnOffset, static_cast<uint32_t>(slot.sequence >> 32));
        slice(slot.esp, 0, 4, slot.cipher_segments);
        slot.cipher_segments.push_back({slot.memory + kEsnOffset, 4});
        slice(slot.esp, 4, l.total_bytes() - 4, slot.hash_segments);
        slot.cipher_segments.insert(slot.cipher_segments.end(), slot.hash_segments.begin(), slot.hash_segments.end());
        slot.cipher_list = {slot.cipher_segments.data(), slot.cipher_segments.size()};
        r.src = r.dst = &slot.cipher_list;
        r.aad_bytes += 4;
      }
      r.size_bytes = l.encrypted_bytes() + (options.direction == EspDirection::Encapsulate ? 0 : l.icv_bytes);
    } else if (options.direction == EspDirection::Encapsulate) {
      sa.ivs.cbc_nonce(slot.sequence, sa.sa.suite.iv_bytes, iv);
      r.aad_bytes = 8;
      r.size_bytes = l.iv_bytes + l.encrypted_bytes();
    } else {
      get(slot, 8, iv, l.iv_bytes);
      r.aad_bytes = 8 + l.iv_bytes;
      r.size_bytes = l.encrypted_bytes() + l.icv_bytes;
    }
    r.iv = iv;
    r.flags = crypto::kMayBacklog;
    r.complete = done;
    r.context = &slot;
    enqueue(slot, Stage::Aead);
  }

  void drop(Slot& slot, EspDrop reason) {
    slot.out.drop = reason;
    slot.leaves = true;
  }

  /// The request of the current stage has ended.
  void finish_stage(Slot& slot) {
    if (slot.status == Status::Again && slot.retries < kMaxRetries) {
      ++slot.retries;
      ++stats.retries;
      lane_of(slot).queue.push_front(slot.number);
      return;
    }
    if (slot.stage == Stage::Aead && slot.status == Status::BadMessage) return drop(slot, EspDrop::BadIcv);
    if (slot.status != Status::Ok) {
      slot.out.status = slot.status;
      drop(slot, EspDrop::Crypto);
      return;
    }
    const bool encapsulate = options.direction == EspDirection::Encapsulate;
    const Stage stage = slot.stage;
    slot.stage = Stage::None;
    if (stage == Stage::Aead) {
      if (encapsulate)
        finish_encapsulation(slot, false);  // the ICV is in its place
      else
        finish_decapsulation(slot);
    } else if (encapsulate) {
      if (stage == Stage::Cipher && slot.sa->hash)
        prepare_hash(slot);
      else
        finish_encapsulation(slot, stage == Stage::Hash);
    } else if (stage == Stage::Hash) {
      if (!icv_matches(slot))
        drop(slot, EspDrop::BadIcv);
      else if (slot.sa->cipher)
        prepare_cipher(slot);
      else
        finish_decapsulation(slot);
    } else {
      finish_decapsulation(slot);
    }
  }

  // ---------------------------------------------------------------- encapsulation

  void begin_encapsulation(Slot& slot, std::span<const uint8_t> packet, Sa& sa) {
    slot.sa = &sa;
    slot.out.spi = sa.sa.spi;
    const auto ip = parse_ip(packet);
    if (!ip) return drop(slot, EspDrop::Malformed);
    packet = packet.first(ip->total_bytes);
    const bool tunnel = sa.sa.mode == EspMode::Tunnel;
    // Transport mode applies to whole datagrams only (RFC 4303 3.3.4).
    if (!tunnel && ip->fragment) return drop(slot, EspDrop::Malformed);
    stats.bytes_in += packet.size();

    const bool outer_v6 = tunnel ? sa.sa.outer_source.v6 : ip->v6;
    slot.head_bytes = !tunnel ? ip->insert_bytes : outer_v6 ? 40 : 20;
    const std::span<const uint8_t> payload = tunnel ? packet : packet.subspan(ip->insert_bytes);
    const size_t tfc = sa.sa.tfc_pad_to_bytes > payload.size() ? sa.sa.tfc_pad_to_bytes - payload.size() : 0;
    slot.layout = esp_layout(sa.sa.suite, payload.size(), tfc);
    const EspLayout& l = slot.layout;
    if (packet.size() > options.max_packet_bytes || slot.head_bytes > kMaxHeadBytes || l.total_bytes() > esp_capacity ||
        slot.head_bytes + l.total_bytes() > (outer_v6 ? size_t{65535} + 40 : size_t{65535}))
      return drop(slot, EspDrop::TooBig);

    // The number is taken last: a packet that cannot be sent leaves no hole.
    if (sa.sa.sequence == (sa.sa.esn ? ~uint64_t{0} : uint64_t{0xffffffff}))
      return drop(slot, EspDrop::SequenceExhausted);
    slot.sequence = slot.out.sequence = ++sa.sa.sequence;

    lay_out(slot, l.total_bytes());
    uint8_t next_header;
    if (tunnel) {
      write_ip_header(slot.head, sa.sa.outer_source, sa.sa.outer_destination, kProtoEsp, l.total_bytes(),
                      static_cast<uint16_t>(slot.sequence));
      next_header = ip->v6 ? kProtoIpv6 : kProtoIpv4;
    } else {
      std::copy_n(packet.begin(), slot.head_bytes, slot.head);
      next_header = ip->protocol;
      rewrite_header(slot.head, *ip, slot.head_bytes, kProtoEsp, slot.head_bytes + l.total_bytes());
    }
    uint8_t esp_header[8];
    store_be32(esp_header, sa.sa.spi);
    store_be32(esp_header + 4, static_cast<uint32_t>(slot.sequence));
    put(slot, 0, esp_header);
    if (l.iv_bytes == 8 && sa.sa.suite.cipher != EspCipher::TripleDesCbc) {  // CTR, GCM, CCM
      uint8_t iv[8];
      store_be64(iv, sa.ivs.counter_iv(slot.sequence));
      put(slot, 8, iv);
    } else if (l.iv_bytes) {
      put_zeros(slot, 8, l.iv_bytes);
    }
    put(slot, 8 + l.iv_bytes, payload);
    put_zeros(slot, 8 + l.iv_bytes + payload.size(), l.tfc_bytes);
    uint8_t trailer[kMaxTrailerBytes];
    for (size_t i = 0; i < l.pad_bytes; ++i) trailer[i] = static_cast<uint8_t>(i + 1);
    trailer[l.pad_bytes] = static_cast<uint8_t>(l.pad_bytes);
    trailer[l.pad_bytes + 1] = next_header;
    put(slot, 8 + l.iv_bytes + payload.size() + l.tfc_bytes, {trailer, l.pad_bytes + 2});

    if (sa.aead)
      prepare_aead(slot);
    else if (sa.cipher)
      prepare_cipher(slot);
    else if (sa.hash)
      prepare_hash(slot);
    else
      finish_encapsulation(slot, false);
  }

  void finish_encapsulation(Slot& slot, bool with_icv) {
    if (with_icv) put(slot, slot.layout.authenticated_bytes(), {slot.memory + kDigestOffset, slot.layout.icv_bytes});
    leave(slot, slot.head_bytes, 0, slot.layout.total_bytes());
  }

  /// Length, protocol and checksum of a header that stays in front of a new payload.
  static void rewrite_header(uint8_t* p, const IpHeader& ip, size_t head_bytes, uint8_t protocol, size_t total_bytes) {
    p[ip.next_offset] = protocol;
    if (ip.v6) {
      store_be16(p + 4, static_cast<uint16_t>(total_bytes - 40));
    } else {
      store_be16(p + 2, static_cast<uint16_t>(total_bytes));
      fix_ipv4_checksum(p, head_bytes);
    }
  }

  // ---------------------------------------------------------------- decapsulation

  void begin_decapsulation(Slot& slot, std::span<const uint8_t> packet) {
    const auto ip = parse_ip(packet);
    if (!ip || ip->protocol != kProtoEsp || ip->fragment || !ip->checksum_ok || ip->insert_bytes > kMaxHeadBytes)
      return drop(slot, EspDrop::Malformed);
    packet = packet.first(ip->total_bytes);
    stats.bytes_in += packet.size();
    const std::span<const uint8_t> esp = packet.subspan(ip->insert_bytes);
    if (esp.size() < 8) return drop(slot, EspDrop::Malformed);
    slot.out.spi = load_be32(esp.data());
    const auto found = by_spi.find(slot.out.spi);
    if (found == by_spi.end()) return drop(slot, EspDrop::NoSa);
    Sa& sa = *found->second;
    if (sa.sa.mode == EspMode::Tunnel && sa.sa.outer_destination != ip->destination) return drop(slot, EspDrop::NoSa);
    const EspSuite& suite = sa.sa.suite;
    slot.sa = &sa;
    slot.ip = *ip;

    const size_t fixed = size_t{8} + suite.iv_bytes + suite.icv_bytes;
    if (esp.size() < fixed + suite.align_bytes || (esp.size() - fixed) % suite.align_bytes)
      return drop(slot, EspDrop::Malformed);
    if (esp.size() > esp_capacity) return drop(slot, EspDrop::TooBig);
    slot.sequence = slot.out.sequence = sa.replay.reconstruct(load_be32(esp.data() + 4));
    if (const EspDrop verdict = check_replay(sa, slot.sequence); verdict != EspDrop::None) return drop(slot, verdict);

    slot.layout = {};
    slot.layout.iv_bytes = suite.iv_bytes;
    slot.layout.icv_bytes = suite.icv_bytes;
    slot.layout.payload_bytes = esp.size() - fixed - 2;
    slot.head_bytes = ip->insert_bytes;
    lay_out(slot, esp.size());
    std::copy_n(packet.begin(), slot.head_bytes, slot.head);
    put(slot, 0, esp);
    if (sa.aead)
      prepare_aead(slot);
    else if (sa.hash)
      prepare_hash(slot);
    else if (sa.cipher)
      prepare_cipher(slot);
    else
      finish_decapsulation(slot);
  }

  static EspDrop check_replay(const Sa& sa, uint64_t sequence) {
    switch (sa.replay.check(sequence)) {
      case AntiReplay::Verdict::Accept:
        return EspDrop::None;
      case AntiReplay::Verdict::Replay:
        return EspDrop::Replay;
      case AntiReplay::Verdict::Window:
        return EspDrop::Window;
    }
    return EspDrop::None;
  }

  bool icv_matches(const Slot& slot) const {
    uint8_t received[64];
    get(slot, slot.layout.authenticated_bytes(), received, slot.layout.icv_bytes);
    return equal_constant_time(received, slot.memory + kDigestOffset, slot.layout.icv_bytes);
  }

  void finish_decapsulation(Slot& slot) {
    Sa& sa = *slot.sa;
    // Others may have completed since the first check, among them a copy of this packet; with 64-bit numbers the
    // window may have moved so far that the low half now means something else.
    if (sa.replay.reconstruct(static_cast<uint32_t>(slot.sequence)) != slot.sequence)
      return drop(slot, EspDrop::Window);
    if (const EspDrop verdict = check_replay(sa, slot.sequence); verdict != EspDrop::None) return drop(slot, verdict);
    sa.replay.advance(slot.sequence);

    const size_t start = 8 + slot.layout.iv_bytes, encrypted = slot.layout.encrypted_bytes();
    uint8_t trailer[2];
    get(slot, start + encrypted - 2, trailer, 2);
    const size_t pad = trailer[0];
    const uint8_t next_header = trailer[1];
    if (pad + 2 > encrypted) return drop(slot, EspDrop::BadTrailer);
    uint8_t padding[255];
    get(slot, start + encrypted - 2 - pad, padding, pad);
    for (size_t i = 0; i < pad; ++i)
      if (padding[i] != i + 1) return drop(slot, EspDrop::BadPadding);
    if (next_header == kProtoNone) return drop(slot, EspDrop::Dummy);
    const size_t payload = encrypted - 2 - pad;

    if (sa.sa.mode == EspMode::Transport) {
      // The header moves up to the payload; its lengths are those of the clear packet again.
      rewrite_header(slot.head, slot.ip, slot.head_bytes, next_header, slot.head_bytes + payload);
      return leave(slot, slot.head_bytes, start, payload);
    }
    if (next_header != kProtoIpv4 && next_header != kProtoIpv6) return drop(slot, EspDrop::BadTrailer);
    leave(slot, 0, start, payload);
    const auto ip = parse_ip(view(slot));
    if (!ip || ip->v6 != (next_header == kProtoIpv6)) return drop(slot, EspDrop::Malformed);
    slot.out_size_bytes = ip->total_bytes;  // what follows is traffic flow padding
  }

  static void leave(Slot& slot, size_t head, size_t offset, size_t size) {
    slot.out_head_bytes = head;
    slot.out_offset = offset;
    slot.out_size_bytes = size;
    slot.leaves = true;
  }

  /// What leaves, in one piece: the IP header and a part of the ESP packet. With one segment it is the buffer
  /// itself, otherwise a copy that the next call overwrites. A header that has to move is moved, so such a
  /// packet is looked at once.
  std::span<const uint8_t> view(Slot& slot) {
    const size_t head_bytes = slot.out_head_bytes, size = slot.out_size_bytes;
    if (slot.esp.size() == 1) {
      uint8_t* payload = slot.esp[0].data + slot.out_offset;
      if (head_bytes && slot.out_offset) std::memmove(payload - head_bytes, slot.head, head_bytes);
      return {payload - head_bytes, head_bytes + size};
    }
    gathered.resize(head_bytes + size);
    std::copy_n(slot.head, head_bytes, gathered.begin());
    get(slot, slot.out_offset, gathered.data() + head_bytes, size);
    return gathered;
  }

  // ---------------------------------------------------------------- moving on

  bool start_lane(Lane& lane) {
    bool moved = false;
    while (!lane.queue.empty() && !lane.blocked && !lane.no_space) {
      Slot& slot = slots[lane.queue.front()];
      lane.queue.pop();
      if (start_stage(slot)) {
        moved = true;
      } else if (slot.retries > kMaxRetries && outstanding == 0) {
        // Nothing of ours is under way, so there is no completion that could make room.
        slot.status = Status::NoSpace;
        ready.push(slot.number);
        moved = true;
      } else {
        lane.queue.push_front(slot.number);
        lane.no_space = true;
      }
    }
    return moved;
  }

  void service() {
    for (bool moved = true; moved;) {
      moved = false;
      while (!ready.empty()) {
        Slot& slot = slots[ready.front()];
        ready.pop();
        cipher_lane.no_space = hash_lane.no_space = false;
        finish_stage(slot);
        moved = true;
      }
      moved |= start_lane(cipher_lane);
      moved |= start_lane(hash_lane);
      moved |= deliver();
    }
  }

  bool deliver() {
    bool moved = false;
    while (used && slots[head].leaves) {
      Slot& slot = slots[head];
      EspOutput& out = slot.out;
      if (out.drop == EspDrop::None) {
        out.bytes = view(slot);
        ++stats.packets_out;
        stats.bytes_out += out.bytes.size();
      } else {
        out.bytes = {};
        ++stats.drops[static_cast<size_t>(out.drop)];
      }
      if (options.now_ns) out.finish_ns = options.now_ns();
      if (sink) {
        delivering = true;
        sink(out);
        delivering = false;
      }
      slot.leaves = false;
      slot.sa = nullptr;
      head = (head + 1) % options.in_flight;
      --used;
      moved = true;
    }
    return moved;
  }

  /// Lets the implementations and the world go on until `finished`; the wait has a name and a limit.
  template <class Finished>
  Status wait(const char* what, Finished finished) {
    service();
    for (uint64_t idle = 0; !finished();) {
      const uint64_t before = completions;
      for (const auto& sa : sas) {
        if (sa->cipher) sa->cipher->flush();
        if (sa->hash) sa->hash->flush();
        if (sa->aead) sa->aead->flush();
      }
      retry_refused();
      bool alive = true;
      if (completions == before) {
        alive = options.pump && options.pump();
        retry_refused();
      }
      if (completions != before) {
        idle = 0;
        continue;
      }
      // When nothing more can happen by itself only refused requests are worth a few more rounds.
      if (++idle < (alive ? options.wait_limit_pumps : 2 * kMaxRetries)) continue;
      if (finished()) break;
      failure = fmt::format("waited {} rounds for {}, with {} ESP packets in flight and {} crypto requests unanswered",
                            idle, what, used, outstanding);
      return Status::TimedOut;
    }
    return Status::Ok;
  }

  void retry_refused() {
    cipher_lane.no_space = hash_lane.no_space = false;
    service();
  }

  Status submit(std::span<const uint8_t> packet, size_t sa_index) {
    SEC_CHECK(!delivering, "ESP sink called back into its pipeline");
    SEC_CHECK(options.direction == EspDirection::Decapsulate || sa_index < sas.size(), "no such ESP association");
    if (used == options.in_flight)
      if (const Status s = wait("a free packet buffer", [this] { return used < options.in_flight; }); s != Status::Ok)
        return s;
    Slot& slot = slots[(head + used) % options.in_flight];
    ++used;
    stats.most_in_flight = std::max(stats.most_in_flight, used);
    ++stats.packets_in;
    slot.out = {};
    slot.out.index = next_index++;
    slot.stage = Stage::None;
    slot.leaves = false;
    slot.sequence = 0;
    if (options.now_ns) slot.out.submit_ns = options.now_ns();
    if (options.cpu) options.cpu->charge(driver::Cost::PacketWork);
    if (options.direction == EspDirection::Encapsulate)
      begin_encapsulation(slot, packet, *sas[sa_index]);
    else
      begin_decapsulation(slot, packet);
    service();
    return Status::Ok;
  }

  size_t add_sa(const SecurityAssociation& wanted) {
    check_sa(wanted);
    const EspSuite& suite = wanted.suite;
    if (wanted.tfc_pad_to_bytes > options.max_packet_bytes)
      throw SetupError(fmt::format("traffic flow padding to {} bytes is larger than the largest packet of {}",
                                   wanted.tfc_pad_to_bytes, options.max_packet_bytes));
    if (options.direction == EspDirection::Decapsulate && by_spi.contains(wanted.spi))
      throw SetupError(fmt::format("SPI 0x{:x} is given to two associations: use different ones", wanted.spi));
    auto sa = std::make_unique<Sa>();
    sa->sa = wanted;
    sa->ivs = EspIvSource(wanted.seed);
    // RFC 4303 3.4.3: without integrity there is no anti-replay, anyone could move the window.
    sa->replay = AntiReplay(suite.auth == EspAuth::Null ? 0 : wanted.replay_window, wanted.esn);
    sa->replay.start_at(wanted.highest_received);
    const bool combined = suite.auth == EspAuth::Combined;
    if (const std::string algorithm = aead_algorithm(suite); combined || (options.one_request && !algorithm.empty() && !wanted.esn)) {
      const std::string& name = options.aead_driver.empty() ? algorithm : options.aead_driver;
      sa->aead = registry.alloc_aead(name);
      if (sa->aead || combined || !options.aead_driver.empty())
        check_allocated(sa->aead ? &sa->aead->info() : nullptr, name, algorithm, suite.name);
    }
    if (sa->aead) {
      const std::vector<uint8_t> key =
          combined ? wanted.cipher_key
                   : crypto::make_authenc_key(wanted.auth_key, {wanted.cipher_key.data(), suite.cipher_key_bytes});
      if (const Status s = sa->aead->set_key(key); s != Status::Ok) refuse_key("AEAD", sa->aead->info().driver, s);
      if (const Status s = sa->aead->set_auth_bytes(suite.icv_bytes); s != Status::Ok)
        throw SetupError(fmt::format("{} does not make ICVs of {} bytes ({}): choose another suite or driver",
                                     sa->aead->info().driver, suite.icv_bytes, errno_name(s)));
    }
    if (!sa->aead && !suite.cipher_algorithm.empty()) {
      const std::string& name = options.cipher_driver.empty() ? suite.cipher_algorithm : options.cipher_driver;
      sa->cipher = registry.alloc_skcipher(name);
      check_allocated(sa->cipher ? &sa->cipher->info() : nullptr, name, suite.cipher_algorithm, suite.name);
      const std::span<const uint8_t> key(wanted.cipher_key.data(), suite.cipher_key_bytes);
      if (const Status s = sa->cipher->set_key(key); s != Status::Ok)
        refuse_key("cipher", sa->cipher->info().driver, s);
    }
    if (!sa->aead && !suite.hash_algorithm.empty()) {
      const std::string& name = options.hash_driver.empty() ? suite.hash_algorithm : options.hash_driver;
      sa->hash = registry.alloc_hash(name);
      check_allocated(sa->hash ? &sa->hash->info() : nullptr, name, suite.hash_algorithm, suite.name);
      SEC_CHECK(sa->hash->info().digest_bytes <= kEsnOffset - kDigestOffset, "digest larger than its ESP buffer");
      if (const Status s = sa->hash->set_key(wanted.auth_key); s != Status::Ok)
        refuse_key("authentication", sa->hash->info().driver, s);
    }
    by_spi.emplace(wanted.spi, sa.get());
    sas.push_back(std::move(sa));
    return sas.size() - 1;
  }

  static void check_allocated(const crypto::AlgorithmInfo* info, const std::string& name, const std::string& algorithm,
                              const std::string& suite) {
    if (!info)
      throw SetupError(
          fmt::format("the ESP suite {} needs {}, and no implementation \"{}\" is registered or passed its "
                      "self-test: choose another suite or back end",
                      suite, algorithm, name));
    if (info->name != algorithm)
      throw SetupError(fmt::format("the ESP suite {} needs {}, but \"{}\" implements {}: choose another driver", suite,
                                   algorithm, name, info->name));
  }
  [[noreturn]] static void refuse_key(const char* kind, const std::string& driver, Status status) {
    throw SetupError(
        fmt::format("{} does not accept this {} key ({}): use another one", driver, kind, errno_name(status)));
  }
};

EspPipeline::EspPipeline(const crypto::Registry& registry, EspPipelineOptions options, Sink sink)
    : core_(std::make_unique<Core>(registry, std::move(options), std::move(sink))) {}

EspPipeline::~EspPipeline() {
  core_->sink = nullptr;
  if (core_->failure.empty())
    static_cast<void>(core_->wait("requests in flight at the end", [this] { return core_->used == 0; }));
  // An implementation that still holds requests will write into buffers and call back: keep everything alive.
  if (core_->outstanding) {
    // Late callbacks may still come: kept for ever, and where a leak checker can see that it is on purpose.
    static auto* const abandoned = new std::vector<std::unique_ptr<Core>>;
    abandoned->push_back(std::move(core_));
  }
}

size_t EspPipeline::add_sa(const SecurityAssociation& sa) { return core_->add_sa(sa); }

Status EspPipeline::submit(std::span<const uint8_t> packet, size_t sa) { return core_->submit(packet, sa); }

Status EspPipeline::submit(const crypto::ScatterList& packet, size_t size_bytes, size_t sa) {
  core_->scratch.resize(size_bytes);
  if (!crypto::copy_from(&packet, 0, core_->scratch.data(), size_bytes)) return Status::Invalid;
  return core_->submit(core_->scratch, sa);
}

void EspPipeline::poll() { core_->retry_refused(); }

Status EspPipeline::drain() {
  return core_->wait("the last packets", [this] { return core_->used == 0; });
}

unsigned EspPipeline::in_flight() const { return core_->used; }
const EspStats& EspPipeline::stats() const { return core_->stats; }
const std::string& EspPipeline::failure() const { return core_->failure; }
const SecurityAssociation& EspPipeline::sa(size_t index) const { return core_->sas[index]->sa; }

std::string EspPipeline::cipher_driver(size_t sa) const {
  const auto& cipher = core_->sas[sa]->cipher;
  if (const auto& aead = core_->sas[sa]->aead) return aead->info().driver;
  return cipher ? cipher->info().driver : std::string();
}

std::string EspPipeline::hash_driver(size_t sa) const {
  const auto& hash = core_->sas[sa]->hash;
  if (const auto& aead = core_->sas[sa]->aead) return aead->info().driver;
  return hash ? hash->info().driver : std::string();
}

}  // namespace sec::host
