#include "driver/talitos/hash.h"

#include <algorithm>
#include <cstring>

#include "hw/regs/mdeu.h"

namespace sec::driver {
namespace {

using regs::DescriptorType;
using regs::Eu;
namespace mode = regs::mdeu_mode;

// Context: state words, then the 64-bit count; eight words whatever the algorithm, or eight doublewords. [LX]
constexpr HashRow kHashes[] = {
    {"md5", 16, 64, 0x28, Eu::MdeuA, mode::kMd5},        {"sha1", 20, 64, 0x28, Eu::MdeuA, mode::kSha1},
    {"sha224", 28, 64, 0x28, Eu::MdeuA, mode::kSha224},  {"sha256", 32, 64, 0x28, Eu::MdeuA, mode::kSha256},
    {"sha384", 48, 128, 0x48, Eu::MdeuB, mode::kSha384}, {"sha512", 64, 128, 0x48, Eu::MdeuB, mode::kSha512},
};

// FIPS 180-4, 5.3.2.
constexpr uint32_t kSha224Init[8] = {0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939,
                                     0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4};

constexpr uint32_t kNotify = 0x1;  // DN

bool needs_software_init(const Device& d, const HashRow& h) {
  return h.algorithm == mode::kSha224 && h.unit == Eu::MdeuA && !d.compatible_with("fsl,sec2.1");
}

void start_in_software(HashMemory& m) {
  std::memset(m.context, 0, sizeof m.context);
  for (unsigned i = 0; i < 8; ++i) store_be32(m.context + 4 * i, kSha224Init[i]);
}

/// One descriptor for the next piece of the message. `*wanted` is its header, without notification.
Status put_piece(HashJob& j, Device& d, Slot& s, uint8_t* desc, uint32_t* wanted) {
  const HashRow& h = *j.program.row;
  const size_t most = d.max_descriptor_bytes() / h.block_bytes * h.block_bytes;
  const size_t n = std::min(j.left, most);
  const bool final = n == j.left && j.last;
  uint64_t in = 0;
  const Status e = d.map_list(s, Device::Side::Source, Direction::ToDevice, j.walk, {.data_bytes = n}, &in);
  if (e != Status::Ok) return e;
  const bool keyed = j.program.hmac && (j.first || final);
  uint8_t m = j.program.software_init ? mode::kSha256 : h.algorithm;
  if (j.first && !j.program.software_init) m |= mode::kInit;
  if (!final) m |= mode::kContinue;
  if (final && !j.padded) m |= mode::kPad;
  if (keyed) m |= mode::kHmac;
  *wanted = regs::make_header(h.unit, m, Eu::None, 0, DescriptorType::CommonNonsnoop, false, false);
  d.put_header(desc, *wanted);
  uint8_t* const context = j.memory->context;
  if (!j.first || j.program.software_init) d.put_pointer(desc, 1, d.pointer_to(context, h.context_bytes));
  if (keyed) d.put_pointer(desc, 2, d.pointer_to(j.key->key, j.key_bytes));
  d.put_pointer(desc, 3, in);
  d.put_pointer(desc, 5,
                final ? d.pointer_to(j.memory->digest, h.digest_bytes) : d.pointer_to(context, h.context_bytes));
  j.first = false;
  j.left -= n;
  j.piece_bytes += n;
  return Status::Ok;
}

/// SEC 1: as many pieces as a chain holds. Elsewhere one; the next follows from the completion of this one, so that a
/// long message does not take all bounce buffers, and nothing is hashed behind a piece that failed.
Status build_hash(Job& job, Device& d, Slot& s) {
  auto& j = static_cast<HashJob&>(job);
  uint8_t* desc = s.edesc->descriptor;
  uint32_t wanted = 0;
  j.piece_bytes = 0;
  if (const Status e = put_piece(j, d, s, desc, &wanted); e != Status::Ok) return e;
  for (unsigned i = 0; d.sec1() && j.left && i < kMostChained; ++i) {
    if (!j.chained) j.chained = static_cast<uint8_t*>(d.dma().alloc(kMostChained * regs::kDescriptorBytes, 64));
    if (!j.chained) break;
    uint8_t* const follower = j.chained + i * regs::kDescriptorBytes;
    std::memset(follower, 0, regs::kDescriptorBytes);
    uint32_t header = 0;
    const Status e = put_piece(j, d, s, follower, &header);
    if (e == Status::NoMemory) break;  // what fits is sent; the rest when its copies are free again
    if (e != Status::Ok) return e;
    d.chain(s, follower);
    desc = follower;
    wanted = header;
  }
  d.put_header(desc, wanted | kNotify);
  if (j.left) j.more = Job::More::AfterDone;
  return Status::Ok;
}

Status finish_hash(Job& job, Device& d, Status status) {
  auto& j = static_cast<HashJob&>(job);
  if (status == Status::Ok && j.last) std::memcpy(j.digest, j.memory->digest, j.program.row->digest_bytes);
  if (TalitosHashState* const state = j.state) {
    state->in_flight = false;
    state->broken = status != Status::Ok;  // how far the context got is not known
    state->started = !j.last;
    state->held_bytes = j.last ? 0 : j.kept_bytes;
    if (!j.last) state->side ^= 1;
  } else if (j.program.hmac) {
    std::memset(j.memory, 0, sizeof *j.memory);  // a keyed context is as good as the key
  }
  if (j.key) d.unref(j.key);
  j.key = nullptr;
  d.hashes().jobs.give(&j);
  return status;
}

}  // namespace

std::span<const HashRow> hash_rows() { return kHashes; }

Status hash_now(Device& d, Device::Channel& ch, const HashRow& h, std::span<const uint8_t> message, uint8_t* out) {
  // The message goes through memory of our own, which can be cleared afterwards: it is a key.
  const size_t room = sizeof(HashMemory) + message.size();
  auto* const memory = static_cast<uint8_t*>(d.dma().alloc(room, 64));
  if (!memory) return Status::NoMemory;
  std::memcpy(memory + sizeof(HashMemory), message.data(), message.size());
  HashJob j;
  j.program = {&h, false, needs_software_init(d, h)};
  j.memory = reinterpret_cast<HashMemory*>(memory);
  j.pieces = {{memory + sizeof(HashMemory), message.size()}};
  j.list = crypto::ScatterList(j.pieces.data(), j.pieces.size());
  j.walk = crypto::ScatterWalk(&j.list);
  j.left = message.size();
  j.last = true;
  j.build = build_hash;
  if (j.program.software_init) start_in_software(*j.memory);
  const Status s = d.run_job(ch, j);
  if (s == Status::Ok) std::memcpy(out, j.memory->digest, h.digest_bytes);
  std::memset(memory, 0, room);
  d.dma().free(memory);
  d.dma().free(j.chained);
  return s;
}

// --- States --------------------------------------------------------------------------------------------------------

TalitosHashState::TalitosHashState(Device& d)
    : device(d), memory(static_cast<HashMemory*>(d.dma().alloc(sizeof(HashMemory), 64))) {}

TalitosHashState::~TalitosHashState() {
  if (memory) std::memset(memory, 0, sizeof *memory);
  device.dma().free(memory);
}

// --- The transform -------------------------------------------------------------------------------------------------

TalitosHash::TalitosHash(Device& device, const HashProgram& program, const crypto::AlgorithmInfo& info)
    : device_(device), program_(program), info_(info), channel_(&device.assign_channel()) {}

TalitosHash::~TalitosHash() {
  if (key_) device_.unref(key_);
}

Status TalitosHash::set_key(std::span<const uint8_t> key) {
  if (!program_.hmac) return Status::Invalid;
  uint8_t digest_of_key[64];
  if (key.size() > program_.row->block_bytes) {
    if (const Status s = hash_now(device_, *channel_, *program_.row, key, digest_of_key); s != Status::Ok) {
      if (key_) device_.unref(key_);
      key_ = nullptr;
      return s;
    }
    key = std::span<const uint8_t>(digest_of_key, program_.row->digest_bytes);
  }
  KeySlot* slot = device_.new_key();  // requests in flight keep the old one
  if (key_) device_.unref(key_);
  key_ = slot;
  if (!slot) return Status::NoMemory;
  std::copy(key.begin(), key.end(), slot->key);
  // HMAC pads its key with zeros, so an empty key and a zero byte are the same; the MDEU wants at least one byte.
  slot->size_bytes = static_cast<uint32_t>(std::max<size_t>(1, key.size()));
  std::memset(digest_of_key, 0, sizeof digest_of_key);
  return Status::Ok;
}

Status TalitosHash::digest(crypto::HashRequest& r) { return submit(r, nullptr, r.size_bytes, true); }

std::unique_ptr<crypto::HashState> TalitosHash::make_state() {
  auto s = std::make_unique<TalitosHashState>(device_);
  return s->memory ? std::move(s) : nullptr;
}

Status TalitosHash::init(crypto::HashState& state) {
  auto& s = static_cast<TalitosHashState&>(state);
  if (s.in_flight) return Status::Invalid;
  s.held_bytes = 0;
  s.started = s.broken = false;
  return program_.hmac && !key_ ? Status::NoKey : Status::Ok;
}

Status TalitosHash::update(crypto::HashRequest& r) {
  auto* const s = static_cast<TalitosHashState*>(r.state);
  if (!s || s->in_flight || s->broken) return Status::Invalid;
  if (r.size_bytes > program_.row->block_bytes - s->held_bytes) return submit(r, s, r.size_bytes, false);
  if (program_.hmac && !key_) return Status::NoKey;
  if (r.size_bytes && !crypto::copy_from(r.src, 0, s->memory->held[s->side] + s->held_bytes, r.size_bytes))
    return Status::Invalid;
  device_.cpu().charge(Cost::CopyByte, r.size_bytes);
  s->held_bytes += static_cast<unsigned>(r.size_bytes);
  return Status::Ok;
}

Status TalitosHash::final(crypto::HashRequest& r) {
  return r.state ? submit(r, static_cast<TalitosHashState*>(r.state), 0, true) : Status::Invalid;
}

Status TalitosHash::finup(crypto::HashRequest& r) {
  return r.state ? submit(r, static_cast<TalitosHashState*>(r.state), r.size_bytes, true) : Status::Invalid;
}

Status TalitosHash::submit(const crypto::HashRequest& r, TalitosHashState* state, size_t size, bool last) {
  if (program_.hmac && !key_) return Status::NoKey;
  if ((last && !r.digest) || (state && (state->in_flight || state->broken))) return Status::Invalid;
  if (size) {
    crypto::ScatterWalk check(r.src);
    if (!check.skip(size)) return Status::Invalid;
  }
  HashJob* const j = device_.hashes().jobs.take();
  const auto refuse = [&](Status s) {
    device_.hashes().jobs.give(j);
    return s;
  };
  if (!state && !j->own) j->own = static_cast<HashMemory*>(device_.dma().alloc(sizeof(HashMemory), 64));
  j->memory = state ? state->memory : j->own;
  if (!j->memory) return refuse(Status::NoMemory);
  const unsigned block = program_.row->block_bytes;
  const unsigned held = state ? state->held_bytes : 0;
  const uint8_t side = state ? state->side : 0;
  const size_t all = held + size;
  const size_t send = last ? all : (all - 1) / block * block;
  j->program = program_;
  j->state = state;
  j->first = !(state && state->started);
  j->last = last;
  j->padded = false;
  j->digest = r.digest;
  j->build = build_hash;
  j->finish = finish_hash;
  j->complete = r.complete;
  j->context = r.context;
  j->kept_bytes = static_cast<unsigned>(all - send);
  j->left = send;
  j->pieces.clear();
  if (held) j->pieces.push_back({j->memory->held[side], held});
  crypto::ScatterWalk walk(r.src);
  for (size_t n = send - held; n;) {
    const crypto::Segment piece = walk.take(n);
    j->pieces.push_back(piece);
    n -= piece.size_bytes;
  }
  // What is left over goes to the other half at once: from now on nobody looks at the caller's list behind it.
  if (j->kept_bytes) {
    static_cast<void>(crypto::copy_from(r.src, size - j->kept_bytes, j->memory->held[side ^ 1], j->kept_bytes));
    device_.cpu().charge(Cost::CopyByte, j->kept_bytes);
  }
  if (!all && device_.sec1()) {  // only ever a message's one descriptor: what has started holds something back
    uint8_t* const block_of_padding = j->memory->held[side];
    std::memset(block_of_padding, 0, block);
    block_of_padding[0] = 0x80;
    j->pieces.push_back({block_of_padding, block});
    j->left = block;
    j->padded = true;
  }
  j->list = crypto::ScatterList(j->pieces.data(), j->pieces.size());
  j->walk = crypto::ScatterWalk(&j->list);
  if (j->first && program_.software_init) start_in_software(*j->memory);
  if (j->left > device_.max_descriptor_bytes()) ++device_.counters().split_requests;
  j->key = key_;
  if (key_) {
    j->key_bytes = key_->size_bytes;
    ++key_->refs;
  }
  if (state) state->in_flight = true;  // it may be over before submit_job returns
  const Status s = device_.submit_job(*channel_, *j, r.flags);
  if (!accepted(s)) {
    if (state) state->in_flight = false;
    if (j->key) device_.unref(j->key);
    j->key = nullptr;
    return refuse(s);
  }
  return s;
}

// --- Export and import ---------------------------------------------------------------------------------------------
// Algorithm, started, held bytes, five zeros, then context and held block.

namespace {
constexpr size_t kContextAt = 8, kHeldAt = kContextAt + sizeof(HashMemory::context);
}

uint8_t TalitosHash::tag() const {
  return static_cast<uint8_t>((program_.row - kHashes) + 1 + (program_.hmac ? 0x80 : 0));
}

Status TalitosHash::export_state(const crypto::HashState& state, uint8_t* out) {
  const auto& s = static_cast<const TalitosHashState&>(state);
  if (s.in_flight || s.broken) return Status::Invalid;
  std::memset(out, 0, kStateBytes);
  out[0] = tag();
  out[1] = s.started;
  out[2] = static_cast<uint8_t>(s.held_bytes);
  if (s.started) std::memcpy(out + kContextAt, s.memory->context, program_.row->context_bytes);
  std::memcpy(out + kHeldAt, s.memory->held[s.side], s.held_bytes);
  return Status::Ok;
}

Status TalitosHash::import_state(crypto::HashState& state, const uint8_t* in) {
  auto& s = static_cast<TalitosHashState&>(state);
  const HashRow& h = *program_.row;
  if (s.in_flight || in[0] != tag() || in[1] > 1 || in[2] > h.block_bytes) return Status::Invalid;
  if (std::any_of(in + 3, in + kContextAt, [](uint8_t b) { return b != 0; })) return Status::Invalid;
  if (in[1]) {  // something is always held back, and what was sent is whole blocks
    const uint64_t bits = load_be64(in + kContextAt + h.context_bytes - 8);
    if (!in[2] || !bits || bits % (8 * h.block_bytes)) return Status::Invalid;
  }
  s.broken = false;
  s.started = in[1];
  s.held_bytes = in[2];
  std::memcpy(s.memory->context, in + kContextAt, sizeof s.memory->context);
  std::memcpy(s.memory->held[s.side], in + kHeldAt, s.held_bytes);
  return Status::Ok;
}

}  // namespace sec::driver
