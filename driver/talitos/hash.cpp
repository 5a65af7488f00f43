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

uint32_t header(const HashRow& h, uint8_t mode_byte) {
  return regs::make_header(h.unit, mode_byte, Eu::None, 0, DescriptorType::CommonNonsnoop, false, true);
}

/// Hashes something in the engine while somebody waits.
struct DigestJob : Job {
  const HashRow* hash = nullptr;
  uint8_t* memory = nullptr;  // the digest at its start, the message behind
  size_t message_bytes = 0;
};
constexpr size_t kDigestRoom = 64;

Status build_digest(Job& job, Device& d, Slot& s) {
  auto& j = static_cast<DigestJob&>(job);
  uint8_t* const desc = s.edesc->descriptor;
  d.put_header(desc, header(*j.hash, static_cast<uint8_t>(j.hash->algorithm | mode::kInit | mode::kPad)));
  d.put_pointer(desc, 3, d.pointer_to(j.memory + kDigestRoom, j.message_bytes));
  d.put_pointer(desc, 5, d.pointer_to(j.memory, j.hash->digest_bytes));
  j.piece_bytes = j.message_bytes;
  return Status::Ok;
}

Status build_piece(Job& job, Device& d, Slot& s) {
  auto& j = static_cast<HashJob&>(job);
  const HashRow& h = *j.program.row;
  const size_t most = d.max_descriptor_bytes() / h.block_bytes * h.block_bytes;
  const size_t n = std::min(j.left, most);
  const bool last_piece = n == j.left, final = last_piece && j.last;
  uint64_t in = 0;
  if (const Status e = d.map_list(s, Device::Side::Source, Direction::ToDevice, j.walk, {.data_bytes = n}, &in);
      e != Status::Ok)
    return e;
  const bool keyed = j.program.hmac && (j.first || final);
  uint8_t m = j.program.software_init ? mode::kSha256 : h.algorithm;
  if (j.first && !j.program.software_init) m |= mode::kInit;
  if (!final) m |= mode::kContinue;
  if (final && !j.padded) m |= mode::kPad;
  if (keyed) m |= mode::kHmac;
  uint8_t* const desc = s.edesc->descriptor;
  d.put_header(desc, header(h, m));
  if (!j.first || j.program.software_init) d.put_pointer(desc, 1, d.pointer_to(j.memory->context, h.context_bytes));
  if (keyed) d.put_pointer(desc, 2, d.pointer_to(j.key->key, j.key_bytes));
  d.put_pointer(desc, 3, in);
  d.put_pointer(
      desc, 5,
      final ? d.pointer_to(j.memory->digest, h.digest_bytes) : d.pointer_to(j.memory->context, h.context_bytes));
  j.first = false;
  j.left -= n;
  j.piece_bytes = n;
  if (!last_piece) j.more = Job::More::AfterDone;
  return Status::Ok;
}

Status finish_hash(Job& job, Device& d, Status status) {
  auto& j = static_cast<HashJob&>(job);
  if (status == Status::Ok && j.last) std::memcpy(j.digest, j.memory->digest, j.program.row->digest_bytes);
  if (status == Status::Ok && j.state && !j.last) {
    j.state->started = true;
    j.state->side ^= 1;
    j.state->held_bytes = j.kept_bytes;
  }
  if (!j.state && j.program.hmac) std::memset(j.memory, 0, sizeof *j.memory);  // a keyed context is as good as the key
  if (j.key) d.unref(j.key);
  j.key = nullptr;
  d.hashes().jobs.give(&j);
  return status;
}

}  // namespace

std::span<const HashRow> hash_rows() { return kHashes; }

Status hash_now(Device& d, Device::Channel& ch, const HashRow& h, std::span<const uint8_t> message, uint8_t* out) {
  if (message.size() > d.max_descriptor_bytes()) return Status::Invalid;
  DigestJob j;
  j.build = build_digest;
  j.hash = &h;
  j.message_bytes = message.size();
  j.memory = static_cast<uint8_t*>(d.dma().alloc(kDigestRoom + message.size(), 64));
  if (!j.memory) return Status::NoMemory;
  std::memcpy(j.memory + kDigestRoom, message.data(), message.size());
  const Status s = d.run_job(ch, j);
  if (s == Status::Ok) std::memcpy(out, j.memory, h.digest_bytes);
  std::memset(j.memory, 0, kDigestRoom + message.size());
  d.dma().free(j.memory);
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
  s.held_bytes = 0;
  s.started = false;
  return program_.hmac && !key_ ? Status::NoKey : Status::Ok;
}

Status TalitosHash::update(crypto::HashRequest& r) {
  auto* const s = static_cast<TalitosHashState*>(r.state);
  if (!s) return Status::Invalid;
  const unsigned block = program_.row->block_bytes;
  if (s->held_bytes + r.size_bytes > block) return submit(r, s, r.size_bytes, false);
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
  if (last && !r.digest) return Status::Invalid;
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
  j->build = build_piece;
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
  if (j->first && program_.software_init) {
    std::memset(j->memory->context, 0, sizeof j->memory->context);
    for (unsigned i = 0; i < 8; ++i) store_be32(j->memory->context + 4 * i, kSha224Init[i]);
  }
  j->key = key_;
  if (key_) {
    j->key_bytes = key_->size_bytes;
    ++key_->refs;
  }
  const Status s = device_.submit_job(*channel_, *j, r.flags);
  if (!accepted(s)) {
    if (j->key) device_.unref(j->key);
    j->key = nullptr;
    return refuse(s);
  }
  return s;
}

// --- Export and import ---------------------------------------------------------------------------------------------
// Algorithm, started, held bytes, then context and held block.

uint8_t TalitosHash::tag() const {
  return static_cast<uint8_t>((program_.row - kHashes) + 1 + (program_.hmac ? 0x80 : 0));
}

Status TalitosHash::export_state(const crypto::HashState& state, uint8_t* out) {
  const auto& s = static_cast<const TalitosHashState&>(state);
  std::memset(out, 0, kStateBytes);
  out[0] = tag();
  out[1] = s.started;
  out[2] = static_cast<uint8_t>(s.held_bytes);
  std::memcpy(out + 8, s.memory->context, s.started ? program_.row->context_bytes : 0);
  std::memcpy(out + 8 + sizeof s.memory->context, s.memory->held[s.side], s.held_bytes);
  return Status::Ok;
}

Status TalitosHash::import_state(crypto::HashState& state, const uint8_t* in) {
  auto& s = static_cast<TalitosHashState&>(state);
  if (in[0] != tag() || in[1] > 1 || in[2] > program_.row->block_bytes || (in[1] && !in[2])) return Status::Invalid;
  s.started = in[1];
  s.held_bytes = in[2];
  std::memcpy(s.memory->context, in + 8, sizeof s.memory->context);
  std::memcpy(s.memory->held[s.side], in + 8 + sizeof s.memory->context, s.held_bytes);
  return Status::Ok;
}

}  // namespace sec::driver
