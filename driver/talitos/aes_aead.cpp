#include "driver/talitos/aes_aead.h"

#include <algorithm>
#include <cstring>

#include "driver/crypto/vectors.h"
#include "driver/talitos/aead.h"
#include "hw/regs/aesu.h"

namespace sec::driver {
namespace {

using regs::DescriptorType;
using regs::Eu;
namespace mode = regs::aesu_mode;
namespace place = regs::aesu_context;

constexpr uint32_t kInbound = 0x2, kNotify = 0x1;
constexpr size_t kAesBlock = 16;
constexpr unsigned kRfcIvBytes = 8;
constexpr size_t kCarriedBytes = 64;
static_assert(kCarriedBytes >= place::kGcmBytes && kCarriedBytes >= place::kCcmInBytes);
static_assert(sizeof(JobArea::context_in) >= place::kCcmInBytes);

constexpr uint32_t header(DescriptorType type, uint8_t m) {
  return regs::make_header(Eu::Aesu, m, Eu::None, 0, type, false, false);
}
constexpr AesAeadAlg kAlgs[] = {
    {"gcm(aes)", "gcm-aes-talitos", true, false, 0, 12, header(DescriptorType::IpsecAesGcm, mode::kGcm)},
    {"rfc4106(gcm(aes))", "rfc4106-gcm-aes-talitos", true, true, 4, 8, header(DescriptorType::IpsecAesGcm, mode::kGcm)},
    {"ccm(aes)", "ccm-aes-talitos", false, false, 0, 16, header(DescriptorType::Ccmp80211i, mode::kCcm)},
    {"rfc4309(ccm(aes))", "rfc4309-ccm-aes-talitos", false, true, 3, 8, header(DescriptorType::Ccmp80211i, mode::kCcm)},
};

/// L, the bytes of CCM's length field: told by the IV, or 4. (RFC 3610; RFC 4309, section 4)
unsigned length_field(const AesAeadJob& j) { return j.program.alg->rfc ? 4 : j.iv[0] + 1u; }

/// B0, the received ICV, A0 and the counter's modulus, as the AESU takes them.
void ccm_context(const AesAeadJob& j, uint8_t* out) {
  const AesAeadProgram& p = j.program;
  const unsigned length_bytes = length_field(j), nonce_bytes = 15 - length_bytes;
  std::memset(out, 0, place::kCcmInBytes);
  uint8_t nonce[16] = {};
  if (p.alg->rfc) {
    std::memcpy(nonce, p.key->key + p.key_bytes, p.alg->salt_bytes);
    std::memcpy(nonce + p.alg->salt_bytes, j.iv, p.alg->iv_bytes);
  } else {
    std::memcpy(nonce, j.iv + 1, nonce_bytes);
  }
  out[0] = static_cast<uint8_t>((j.authenticated_bytes ? 0x40 : 0) | (p.auth_bytes - 2) / 2 << 3 | (length_bytes - 1));
  std::memcpy(out + 1, nonce, nonce_bytes);
  for (unsigned i = 0; i < length_bytes && i < 8; ++i)
    out[15 - i] = static_cast<uint8_t>(uint64_t{j.text_bytes} >> 8 * i);
  if (j.hardware_check) std::memcpy(out + place::kCcmIcv, j.received, p.auth_bytes);
  uint8_t* const a0 = out + place::kCcmCounter;
  a0[0] = static_cast<uint8_t>(length_bytes - 1);
  std::memcpy(a0 + 1, nonce, nonce_bytes);
  store_be64(out + place::kCcmExponent, 128);
}

/// RFC 3610, 2.2: how the length stands in front of the AAD.
unsigned encode_aad_length(size_t n, uint8_t* out) {
  if (n < 0xff00) {
    out[0] = static_cast<uint8_t>(n >> 8);
    out[1] = static_cast<uint8_t>(n);
    return 2;
  }
  out[0] = 0xff;
  out[1] = 0xfe;
  store_be32(out + 2, static_cast<uint32_t>(n));
  return 6;
}

Status build(Job& job, Device& d, Slot& s) {
  auto& j = static_cast<AesAeadJob&>(job);
  const AesAeadProgram& p = j.program;
  const bool gcm = p.alg->gcm;
  const size_t n = std::min(j.left, d.max_descriptor_bytes() / kAesBlock * kAesBlock);
  const bool first = j.first_piece, last = n == j.left;
  const bool check = last && j.hardware_check;
  JobArea& area = d.area(s);
  uint64_t aad = 0, in = 0, out = 0;
  Status e = Status::Ok;
  if (first && j.authenticated_bytes) {
    crypto::ScatterWalk walk(j.src_list);
    Device::Parcels parcels{.data_bytes = j.authenticated_bytes};
    if (!gcm) {
      parcels.prefix_bytes = encode_aad_length(j.authenticated_bytes, area.prefix);
      parcels.prefix = d.dma().bus_addr(area.prefix);
    }
    e = d.map_list(s, Device::Side::Aad, Direction::ToDevice, walk, parcels, &aad);
  }
  if (e == Status::Ok)
    e = d.map_list(s, Device::Side::Source, Direction::ToDevice, j.src,
                   {.data_bytes = n, .icv_bytes = check && gcm ? p.auth_bytes : 0}, &in);
  if (e == Status::Ok)
    e = d.map_list(s, Device::Side::Destination, Direction::FromDevice, j.dst,
                   {.data_bytes = n,
                    .icv_bytes = last && !j.hardware_check ? p.auth_bytes : 0,
                    .icv = j.encrypt ? 0 : d.dma().bus_addr(area.icv)},
                   &out);
  if (e != Status::Ok) return e;

  const uint32_t mode_bits = (first ? mode::kInitMac : 0) | (last ? mode::kFinalMac : 0) |
                             (check ? mode::kGcmCheck & ~mode::kGcm : 0) | (j.encrypt ? mode::kEncrypt : 0);
  uint8_t* const desc = s.edesc->descriptor;
  d.put_header(desc, p.alg->header | mode_bits << 20 | kNotify | (j.encrypt ? 0 : kInbound));
  const uint64_t key = d.pointer_to(p.key->key, p.key_bytes);
  if (gcm) {
    if (!first) d.put_pointer(desc, 0, d.pointer_to(j.carried, place::kGcmBytes));
    if (first) {
      std::memcpy(s.edesc->iv, j.iv, p.alg->iv_bytes);
      d.put_pointer(desc, 2, d.pointer_to(s.edesc->iv, p.alg->iv_bytes));
    }
    d.put_pointer(desc, 1, aad);
    d.put_pointer(desc, 3, first ? key | uint64_t{p.alg->salt_bytes} << 40 : key);
    if (!last) d.put_pointer(desc, 6, d.pointer_to(j.carried, place::kGcmBytes));
  } else {
    if (first) ccm_context(j, area.context_in);
    d.put_pointer(desc, 1, d.pointer_to(first ? area.context_in : j.carried, place::kCcmInBytes));
    d.put_pointer(desc, 2, key);
    d.put_pointer(desc, 3, aad);
    if (!last) d.put_pointer(desc, 6, d.pointer_to(j.carried, place::kCcmInBytes));
  }
  d.put_pointer(desc, 4, in);
  d.put_pointer(desc, 5, out);
  j.first_piece = false;
  j.left -= n;
  j.piece_bytes = n;
  j.more = last ? Job::More::No : Job::More::AtOnce;
  return Status::Ok;
}

Status retired(Job& job, Device& d, Slot& s, Status status) {
  auto& j = static_cast<AesAeadJob&>(job);
  // Only the last piece has the tag; when it comes back, the others have.
  if (status != Status::Ok || j.encrypt || j.more != Job::More::No || j.in_flight != 1) return status;
  if (!j.hardware_check) {
    ++d.counters().sw_icv_checks;
    d.cpu().charge(Cost::CopyByte, j.program.auth_bytes);
    return equal_tags(d.area(s).icv, j.received, j.program.auth_bytes) ? Status::Ok : Status::BadMessage;
  }
  ++d.counters().hw_icv_checks;
  const uint32_t verdict = Device::feedback(s) & (regs::kFeedbackIccr0Pass | regs::kFeedbackIccr0Fail);
  return verdict == regs::kFeedbackIccr0Pass ? Status::Ok : Status::BadMessage;
}

Status finish(Job& job, Device& d, Status status) {
  auto& j = static_cast<AesAeadJob&>(job);
  d.unref(j.program.key);
  d.aeads().aes.give(&j);
  return status;
}

}  // namespace

std::span<const AesAeadAlg> TalitosAesAead::algs() { return kAlgs; }

TalitosAesAead::TalitosAesAead(Device& device, const AesAeadAlg& alg, const crypto::AlgorithmInfo& info)
    : device_(device), alg_(alg), info_(info), channel_(&device.assign_channel()) {
  program_.alg = &alg;
}

TalitosAesAead::~TalitosAesAead() { drop_key(); }

void TalitosAesAead::drop_key() {
  if (program_.key) device_.unref(program_.key);
  program_.key = nullptr;
}

Status TalitosAesAead::set_auth_bytes(unsigned bytes) {
  if (!crypto::auth_bytes_are_legal(*crypto::find_shape(info_.name), bytes)) return Status::Invalid;
  program_.auth_bytes = bytes;
  return Status::Ok;
}

Status TalitosAesAead::set_key(std::span<const uint8_t> key, uint32_t /*key_flags*/) {
  if (key.size() < info_.min_key_bytes || key.size() > info_.max_key_bytes)
    return Status::Invalid;  // the old key stays
  const size_t aes = key.size() - alg_.salt_bytes;
  KeySlot* const slot = aes % 8 == 0 ? device_.new_key() : nullptr;
  drop_key();
  if (!slot) return aes % 8 == 0 ? Status::NoMemory : Status::Invalid;
  std::copy(key.begin(), key.end(), slot->key);
  slot->size_bytes = static_cast<uint32_t>(key.size());
  program_.key = slot;
  program_.key_bytes = static_cast<unsigned>(aes);
  return Status::Ok;
}

Status TalitosAesAead::submit(const crypto::AeadRequest& r, bool encrypt) {
  const unsigned tag = program_.auth_bytes;
  if (!program_.key) return Status::NoKey;
  if ((!encrypt && r.size_bytes < tag) || !r.iv || !r.src || !r.dst) return Status::Invalid;
  const size_t text = encrypt ? r.size_bytes : r.size_bytes - tag;
  // RFC 4106 and RFC 4309 users put the IV behind SPI and sequence number; it is not authenticated.
  if (alg_.rfc && r.aad_bytes != 16 && r.aad_bytes != 20) return Status::Invalid;
  const size_t authenticated = alg_.rfc ? r.aad_bytes - kRfcIvBytes : r.aad_bytes;
  if (authenticated > kMaxDescriptorBytes) return Status::Invalid;
  if (!alg_.gcm) {
    if (!alg_.rfc && (r.iv[0] < 1 || r.iv[0] > 7)) return Status::Invalid;
    const unsigned length_bytes = alg_.rfc ? 4 : r.iv[0] + 1u;
    if (length_bytes < 8 && text >> 8 * length_bytes) return Status::Invalid;
  }
  crypto::ScatterWalk src(r.src), dst(r.dst);
  if (!src.skip(r.aad_bytes + r.size_bytes) || !dst.skip(r.aad_bytes + text + (encrypt ? tag : 0)))
    return Status::Invalid;

  AesAeadJob* j = device_.aeads().aes.take();
  j->program = program_;
  j->src_list = r.src;
  j->dst_list = r.dst;
  j->aad_bytes = r.aad_bytes;
  j->authenticated_bytes = authenticated;
  j->text_bytes = j->left = text;
  j->src = crypto::ScatterWalk(r.src);
  j->dst = crypto::ScatterWalk(r.dst);
  static_cast<void>(j->src.skip(r.aad_bytes) && j->dst.skip(r.aad_bytes));
  std::memcpy(j->iv, r.iv, alg_.iv_bytes);
  if (!encrypt) static_cast<void>(crypto::copy_from(r.src, r.aad_bytes + text, j->received, tag));
  j->encrypt = encrypt;
  j->first_piece = true;
  const bool pieces = text + tag > device_.max_descriptor_bytes();
  j->hardware_check = !encrypt && device_.checks_icvs() && (alg_.gcm || !pieces);
  j->build = build;
  j->retired = retired;
  j->finish = finish;
  j->complete = r.complete;
  j->context = r.context;
  Status s = Status::Ok;
  if (pieces) {
    ++device_.counters().split_requests;
    if (!j->carried) j->carried = static_cast<uint8_t*>(device_.dma().alloc(kCarriedBytes, 64));
    if (!j->carried) s = Status::NoMemory;
  }
  ++program_.key->refs;
  if (s == Status::Ok) s = device_.submit_job(*channel_, *j, r.flags);
  if (!accepted(s)) return finish(*j, device_, s);
  return s;
}

}  // namespace sec::driver
