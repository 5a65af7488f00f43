#include "driver/talitos/aead.h"

#include <algorithm>
#include <cstring>

#include "driver/crypto/authenc_key.h"
#include "driver/crypto/des_key.h"
#include "hw/regs/aesu.h"
#include "hw/regs/deu.h"
#include "hw/regs/mdeu.h"

namespace sec::driver {
namespace {

using regs::DescriptorType;
using regs::Eu;

struct CipherRow {
  std::string_view name, short_name;
  unsigned block_bytes, iv_bytes;
  Eu unit;
  uint8_t mode;
  KeyRule key_rule;
  bool extra;
};
constexpr CipherRow kCiphers[] = {
    {"cbc(aes)", "cbc-aes", 16, 16, Eu::Aesu, regs::aesu_mode::kCbc, KeyRule::Aes, false},
    {"cbc(des3_ede)", "cbc-3des", 8, 8, Eu::Deu, regs::deu_mode::kCbc | regs::deu_mode::kTriple, KeyRule::Des3, false},
    {"cbc(des)", "cbc-des", 8, 8, Eu::Deu, regs::deu_mode::kCbc, KeyRule::Des, true},
    {"ctr(aes)", "ctr-aes", 1, 16, Eu::Aesu, regs::aesu_mode::kCtr, KeyRule::Aes, true},
};

constexpr int kSecondChoice = kPriority - 1;
constexpr uint32_t kEncryptBit = 0x00100000;  // ED, bit 0 of MODE0, in AESU and DEU alike [T23]
constexpr uint32_t kInbound = 0x2;            // DIR
constexpr uint32_t kNotify = 0x1;             // DN
constexpr uint32_t kCheckIcv = uint32_t{regs::mdeu_mode::kCheckIcv} << 8;  // in MODE1
constexpr uint32_t kCommonNonsnoop = static_cast<uint32_t>(DescriptorType::CommonNonsnoop) << 3;
constexpr size_t kAesBlock = 16;

std::vector<AeadAlg> make_algs() {
  constexpr uint8_t kHmac = regs::mdeu_mode::kInit | regs::mdeu_mode::kHmac | regs::mdeu_mode::kPad;
  std::vector<AeadAlg> out;
  for (const HashRow& h : hash_rows())
    for (const CipherRow& c : kCiphers) {
      const auto mode1 = static_cast<uint8_t>(kHmac | h.algorithm);
      const bool ctr = c.unit == Eu::Aesu && c.mode == regs::aesu_mode::kCtr;
      AeadAlg a;
      a.name = "authenc(hmac(" + std::string(h.name) + ")," + std::string(c.name) + ")";
      a.driver = "authenc-hmac-" + std::string(h.name) + "-" + std::string(c.short_name) + "-talitos";
      a.cipher_header =
          regs::make_header(c.unit, c.mode, Eu::None, 0,
                            ctr ? DescriptorType::AesuCtrNonsnoop : DescriptorType::CommonNonsnoop, false, false);
      a.hash = &h;
      a.key_rule = c.key_rule;
      a.block_bytes = c.block_bytes;
      a.iv_bytes = c.iv_bytes;
      a.extra = c.extra;
      a.header = regs::make_header(c.unit, c.mode, h.unit, mode1,
                                   ctr ? DescriptorType::HmacSnoopAesuCtr : DescriptorType::IpsecEsp, false, false);
      out.push_back(a);
      if (c.extra || h.unit == Eu::MdeuB) continue;
      a.driver += "-hsna";
      a.priority = kSecondChoice;
      a.header = regs::make_header(c.unit, c.mode, h.unit, mode1, DescriptorType::HmacSnoopNoAfeu, false, false);
      out.push_back(a);
    }
  return out;
}

bool one_piece(const DmaSpace& dma, crypto::ScatterWalk walk, size_t n) {
  const crypto::Segment s = walk.take(n);
  return s.size_bytes == n && dma.contains(s.data, n);
}

crypto::ScatterWalk at(const crypto::ScatterList* list, size_t offset) {
  crypto::ScatterWalk w(list);
  static_cast<void>(w.skip(offset));
  return w;
}

uint64_t auth_key(const Device& d, const AeadProgram& p) { return d.pointer_to(p.key->key, p.auth_key_bytes); }
uint64_t cipher_key(const Device& d, const AeadProgram& p) {
  return d.pointer_to(p.key->key + KeySlot::kAuthBytes, p.cipher_key_bytes);
}

// --- One descriptor ------------------------------------------------------------------------------------------------

/// ipsec_esp: the tag is the extent of the data pointers.
Status build_esp(AeadJob& j, Device& d, Slot& s, uint32_t header) {
  const AeadProgram& p = j.program;
  const unsigned tag = p.auth_bytes;
  uint8_t* const desc = s.edesc->descriptor;
  crypto::ScatterWalk aad(j.src_list), src = at(j.src_list, j.aad_bytes), dst = at(j.dst_list, j.aad_bytes);
  j.hardware_check =
      !j.encrypt && d.checks_icvs() &&
      (d.tables_cover_icvs() || (one_piece(d.dma(), src, j.text_bytes + tag) && one_piece(d.dma(), dst, j.text_bytes)));
  uint64_t associated = 0, in = 0, out = 0;
  Status e = d.map_list(s, Device::Side::Aad, Direction::ToDevice, aad, {.data_bytes = j.aad_bytes}, &associated);
  if (e == Status::Ok)
    e = d.map_list(s, Device::Side::Source, Direction::ToDevice, src,
                   {.data_bytes = j.text_bytes, .icv_bytes = j.hardware_check ? tag : 0}, &in);
  if (e == Status::Ok)
    e = d.map_list(s, Device::Side::Destination, Direction::FromDevice, dst,
                   {.data_bytes = j.text_bytes,
                    .icv_bytes = j.hardware_check ? 0 : tag,
                    .icv = j.encrypt ? 0 : d.dma().bus_addr(d.area(s).icv)},
                   &out);
  if (e != Status::Ok) return e;
  if (!j.encrypt) header |= kInbound;
  if (j.hardware_check) header |= kCheckIcv;
  d.put_header(desc, header);
  d.put_pointer(desc, 0, auth_key(d, p));
  d.put_pointer(desc, 1, associated);
  d.put_pointer(desc, 2, d.pointer_to(s.edesc->iv, p.alg->iv_bytes));
  d.put_pointer(desc, 3, cipher_key(d, p));
  d.put_pointer(desc, 4, in);
  d.put_pointer(desc, 5, out);
  d.put_pointer(desc, 6, d.pointer_to(s.edesc->iv_out, p.alg->iv_bytes));
  return Status::Ok;
}

/// hmac_snoop_no_afeu and hmac_snoop_aesu_ctr: the tag has a pointer of its own and is copied or compared here.
Status build_snoop(AeadJob& j, Device& d, Slot& s, uint32_t header) {
  const AeadProgram& p = j.program;
  uint8_t* const desc = s.edesc->descriptor;
  crypto::ScatterWalk aad(j.src_list), src = at(j.src_list, j.aad_bytes), dst = at(j.dst_list, j.aad_bytes);
  j.hardware_check = false;
  uint64_t associated = 0, in = 0, out = 0;
  Status e = d.map_list(s, Device::Side::Aad, Direction::ToDevice, aad, {.data_bytes = j.aad_bytes}, &associated);
  if (e == Status::Ok)
    e = d.map_list(s, Device::Side::Source, Direction::ToDevice, src, {.data_bytes = j.text_bytes}, &in);
  if (e == Status::Ok)
    e = d.map_list(s, Device::Side::Destination, Direction::FromDevice, dst, {.data_bytes = j.text_bytes}, &out);
  if (e != Status::Ok) return e;
  d.put_header(desc, j.encrypt ? header : header | kInbound);
  d.put_pointer(desc, 0, auth_key(d, p));
  d.put_pointer(desc, 1, associated);
  d.put_pointer(desc, 2, cipher_key(d, p));
  d.put_pointer(desc, 3, d.pointer_to(s.edesc->iv, p.alg->iv_bytes));
  d.put_pointer(desc, 4, in);
  d.put_pointer(desc, 5, out);
  d.put_pointer(desc, 6, d.pointer_to(d.area(s).icv, p.auth_bytes));
  return Status::Ok;
}

Status build_single(Job& job, Device& d, Slot& s) {
  auto& j = static_cast<AeadJob&>(job);
  const AeadAlg& a = *j.program.alg;
  std::memcpy(s.edesc->iv, j.iv, a.iv_bytes);
  const uint32_t header = a.header | kNotify | (j.encrypt ? kEncryptBit : 0);
  j.piece_bytes = j.text_bytes;
  return a.type() == static_cast<unsigned>(DescriptorType::IpsecEsp) ? build_esp(j, d, s, header)
                                                                     : build_snoop(j, d, s, header);
}

/// Compares here, or hands the tag to the caller.
Status tag_of(AeadJob& j, Device& d, const uint8_t* icv) {
  const unsigned tag = j.program.auth_bytes;
  if (j.encrypt) {
    d.cpu().charge(Cost::CopyByte, tag);
    return crypto::copy_to(j.dst_list, j.aad_bytes + j.text_bytes, icv, tag) ? Status::Ok : Status::Invalid;
  }
  ++d.counters().sw_icv_checks;
  d.cpu().charge(Cost::CopyByte, tag);
  return equal_tags(icv, j.received, tag) ? Status::Ok : Status::BadMessage;
}

Status retired_single(Job& job, Device& d, Slot& s, Status status) {
  auto& j = static_cast<AeadJob&>(job);
  if (status != Status::Ok) return status;
  if (j.hardware_check) {
    ++d.counters().hw_icv_checks;
    // Anything but a clear "passed" is a failure: no verdict at all must not let a packet through.
    const uint32_t verdict = Device::feedback(s) & (regs::kFeedbackIccr1Pass | regs::kFeedbackIccr1Fail);
    return verdict == regs::kFeedbackIccr1Pass ? Status::Ok : Status::BadMessage;
  }
  const bool esp = j.program.alg->type() == static_cast<unsigned>(DescriptorType::IpsecEsp);
  if (j.encrypt && esp) return Status::Ok;  // the engine wrote the tag where it belongs
  return tag_of(j, d, d.area(s).icv);
}

// --- Several descriptors -------------------------------------------------------------------------------------------

Status build_cipher_piece(AeadJob& j, Device& d, Slot& s) {
  const AeadProgram& p = j.program;
  const size_t n = std::min(j.cipher_left, d.max_descriptor_bytes());
  uint8_t* const desc = s.edesc->descriptor;
  uint64_t in = 0, out = 0;
  Status e = d.map_list(s, Device::Side::Source, Direction::ToDevice, j.src,
                        {.data_bytes = n, .pad_to = p.alg->block_bytes == 1 ? kAesBlock : 0}, &in);
  if (e == Status::Ok)
    e = d.map_list(s, Device::Side::Destination, Direction::FromDevice, j.dst, {.data_bytes = n}, &out);
  if (e != Status::Ok) return e;
  const unsigned iv = p.alg->iv_bytes;
  uint32_t header = p.alg->cipher_header;
  if (d.sec1() && p.alg->block_bytes == 1) header |= kCommonNonsnoop;  // CTR has no type of its own there
  d.put_header(desc, header | kNotify | (j.encrypt ? kEncryptBit : 0));
  d.put_pointer(desc, 1, d.pointer_to(j.first_piece ? j.work->iv : j.work->iv + 16, iv));
  d.put_pointer(desc, 2, cipher_key(d, p));
  d.put_pointer(desc, 3, in);
  d.put_pointer(desc, 4, out);
  d.put_pointer(desc, 5, d.pointer_to(j.work->iv + 16, iv));
  j.first_piece = false;
  j.cipher_left -= n;
  j.piece_bytes = n;
  return Status::Ok;
}

/// Where the outer hash's second block has to be, so that key block and inner digest lie side by side.
uint8_t* outer_block(AeadJob& j) {
  return j.work->outer_key + sizeof j.work->outer_key - j.program.alg->hash->block_bytes;
}

/// The next piece of the inner hash; the last one is never empty, since the ipad block comes first.
Status build_hash_piece(AeadJob& j, Device& d, Slot& s, bool* last) {
  using namespace regs::mdeu_mode;
  const HashRow& h = *j.program.alg->hash;
  const size_t most = d.max_descriptor_bytes() / h.block_bytes * h.block_bytes;
  const size_t n = std::min(j.hash_left, most);
  *last = n == j.hash_left;
  uint8_t* const desc = s.edesc->descriptor;
  uint64_t in = 0;
  const Status e = d.map_list(s, Device::Side::Source, Direction::ToDevice, j.hash_walk, {.data_bytes = n}, &in);
  if (e != Status::Ok) return e;
  const auto mode = static_cast<uint8_t>(h.algorithm | (j.first_piece ? kInit : 0) | (*last ? kPad : kContinue));
  d.put_header(desc, regs::make_header(h.unit, mode, Eu::None, 0, DescriptorType::CommonNonsnoop, false, true));
  if (!j.first_piece) d.put_pointer(desc, 1, d.pointer_to(j.work->context, h.context_bytes));
  d.put_pointer(desc, 3, in);
  d.put_pointer(desc, 5,
                *last ? d.pointer_to(j.work->inner, h.digest_bytes) : d.pointer_to(j.work->context, h.context_bytes));
  j.first_piece = false;
  j.hash_left -= n;
  j.piece_bytes = n;
  return Status::Ok;
}

void build_outer(AeadJob& j, Device& d, Slot& s) {
  using namespace regs::mdeu_mode;
  const HashRow& h = *j.program.alg->hash;
  uint8_t* const desc = s.edesc->descriptor;
  d.put_header(desc, regs::make_header(h.unit, static_cast<uint8_t>(h.algorithm | kInit | kPad), Eu::None, 0,
                                       DescriptorType::CommonNonsnoop, false, true));
  d.put_pointer(desc, 3, d.pointer_to(outer_block(j), h.block_bytes + h.digest_bytes));
  d.put_pointer(desc, 5, d.pointer_to(j.work->icv, h.digest_bytes));
  j.piece_bytes = 0;
}

void enter(AeadJob& j, AeadJob::Phase phase) {
  j.phase = phase;
  j.first_piece = true;
}

Status build_composed(Job& job, Device& d, Slot& s) {
  auto& j = static_cast<AeadJob&>(job);
  using Phase = AeadJob::Phase;
  Status e = Status::Ok;
  j.more = Job::More::AtOnce;
  switch (j.phase) {
    case Phase::Cipher:
      e = build_cipher_piece(j, d, s);
      if (e != Status::Ok || j.cipher_left) return e;
      if (j.encrypt) {
        enter(j, Phase::Inner);
        j.more = Job::More::AfterDone;  // what is hashed may have to be copied from where the engine wrote it
      } else {
        j.more = Job::More::No;
      }
      return e;
    case Phase::Inner: {
      bool last = false;
      e = build_hash_piece(j, d, s, &last);
      if (e == Status::Ok && last) enter(j, Phase::Outer);
      return e;
    }
    case Phase::Outer:
      build_outer(j, d, s);
      enter(j, Phase::End);
      // Nothing is deciphered before the tag is known to be right.
      j.more = !j.encrypt && j.cipher_left ? Job::More::AfterDone : Job::More::No;
      return e;
    case Phase::End:
      break;
  }
  return Status::Invalid;
}

Status retired_composed(Job& job, Device& d, Slot&, Status status) {
  auto& j = static_cast<AeadJob&>(job);
  if (status != Status::Ok || j.phase != AeadJob::Phase::End || j.in_flight != 1) return status;
  // The outer hash: whatever else was sent came back before it.
  if (j.status == Status::Ok) status = tag_of(j, d, j.work->icv);
  if (j.more == Job::More::AfterDone) enter(j, AeadJob::Phase::Cipher);
  return status;
}

Status finish_aead(Job& job, Device& d, Status status) {
  auto& j = static_cast<AeadJob&>(job);
  if (j.retired == retired_composed && j.work) std::memset(j.work, 0, sizeof *j.work);  // it holds keys
  d.unref(j.program.key);
  d.aeads().authenc.give(&j);
  return status;
}

/// What a composed request needs beforehand.
Status prepare_composed(AeadJob& j, Device& d) {
  const AeadProgram& p = j.program;
  const HashRow& h = *p.alg->hash;
  if (!j.work) j.work = static_cast<AeadWork*>(d.dma().alloc(sizeof(AeadWork), 64));
  if (!j.work) return Status::NoMemory;
  uint8_t* const outer = outer_block(j);
  for (unsigned i = 0; i < h.block_bytes; ++i) {
    const uint8_t k = i < p.auth_key_bytes ? p.key->key[i] : 0;
    j.work->inner_key[i] = k ^ 0x36;
    outer[i] = k ^ 0x5c;
  }
  std::memcpy(j.work->iv, j.iv, p.alg->iv_bytes);
  j.hashed.clear();
  j.hashed.push_back({j.work->inner_key, h.block_bytes});
  const auto append = [&j](crypto::ScatterWalk w, size_t n) {
    while (n) {
      const crypto::Segment piece = w.take(n);
      j.hashed.push_back(piece);
      n -= piece.size_bytes;
    }
  };
  append(crypto::ScatterWalk(j.src_list), j.aad_bytes);
  append(at(j.encrypt ? j.dst_list : j.src_list, j.aad_bytes), j.text_bytes);
  j.hashed_list = crypto::ScatterList(j.hashed.data(), j.hashed.size());
  j.hash_walk = crypto::ScatterWalk(&j.hashed_list);
  j.hash_left = h.block_bytes + j.aad_bytes + j.text_bytes;
  j.src = at(j.src_list, j.aad_bytes);
  j.dst = at(j.dst_list, j.aad_bytes);
  j.cipher_left = j.text_bytes;
  enter(j, j.encrypt && j.text_bytes ? AeadJob::Phase::Cipher : AeadJob::Phase::Inner);
  ++d.counters().composed_requests;
  return Status::Ok;
}

}  // namespace

bool equal_tags(const uint8_t* a, const uint8_t* b, size_t n) {
  uint8_t difference = 0;
  for (size_t i = 0; i < n; ++i) difference = static_cast<uint8_t>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

const std::vector<AeadAlg>& aead_algs() {
  static const std::vector<AeadAlg> algs = make_algs();
  return algs;
}

// --- The transform -------------------------------------------------------------------------------------------------

TalitosAead::TalitosAead(Device& device, const AeadAlg& alg, const crypto::AlgorithmInfo& info)
    : device_(device), alg_(alg), info_(info), channel_(&device.assign_channel()) {
  program_.alg = &alg;
  program_.auth_bytes = info.max_auth_bytes;
}

TalitosAead::~TalitosAead() { drop_key(); }

void TalitosAead::drop_key() {
  if (program_.key) device_.unref(program_.key);
  program_.key = nullptr;
}

Status TalitosAead::set_auth_bytes(unsigned bytes) {
  if (bytes < 1 || bytes > info_.max_auth_bytes) return Status::Invalid;
  program_.auth_bytes = bytes;
  return Status::Ok;
}

Status TalitosAead::set_key(std::span<const uint8_t> blob, uint32_t key_flags) {
  crypto::AuthencKeys keys;
  Status s = crypto::parse_authenc_key(blob, &keys);
  if (s == Status::Ok) s = check_cipher_key(alg_.key_rule, keys.cipher, key_flags);
  uint8_t digest_of_key[64];
  if (s == Status::Ok && keys.auth.size() > alg_.hash->block_bytes) {  // RFC 2104, section 2
    s = hash_now(device_, *channel_, *alg_.hash, keys.auth, digest_of_key);
    keys.auth = std::span<const uint8_t>(digest_of_key, alg_.hash->digest_bytes);
  }
  if (s != Status::Ok) {
    drop_key();
    return s;
  }
  KeySlot* slot = device_.new_key();  // requests in flight keep the old one
  drop_key();
  if (!slot) return Status::NoMemory;
  program_.key = slot;
  slot->size_bytes = static_cast<uint32_t>(keys.auth.size() + keys.cipher.size());
  std::copy(keys.auth.begin(), keys.auth.end(), slot->key);
  std::copy(keys.cipher.begin(), keys.cipher.end(), slot->key + KeySlot::kAuthBytes);
  // HMAC pads its key with zeros, so an empty key and a zero byte are the same; the MDEU wants at least one byte.
  program_.auth_key_bytes = std::max(1u, static_cast<unsigned>(keys.auth.size()));
  program_.cipher_key_bytes = static_cast<unsigned>(keys.cipher.size());
  std::memset(digest_of_key, 0, sizeof digest_of_key);
  return Status::Ok;
}

Status TalitosAead::submit(const crypto::AeadRequest& r, bool encrypt) {
  const unsigned tag = program_.auth_bytes;
  if (!program_.key) return Status::NoKey;
  if (!encrypt && r.size_bytes < tag) return Status::Invalid;
  const size_t text = encrypt ? r.size_bytes : r.size_bytes - tag;
  if (text % alg_.block_bytes || !r.iv || !r.src || !r.dst) return Status::Invalid;
  crypto::ScatterWalk src(r.src), dst(r.dst);
  if (!src.skip(r.aad_bytes + r.size_bytes) || !dst.skip(r.aad_bytes + text + (encrypt ? tag : 0)))
    return Status::Invalid;

  AeadJob* j = device_.aeads().authenc.take();
  j->program = program_;
  j->src_list = r.src;
  j->dst_list = r.dst;
  j->aad_bytes = r.aad_bytes;
  j->text_bytes = text;
  j->encrypt = encrypt;
  j->complete = r.complete;
  j->context = r.context;
  j->finish = finish_aead;
  std::memcpy(j->iv, r.iv, alg_.iv_bytes);
  // Before the engine writes: the output may lie over the input.
  if (!encrypt) static_cast<void>(crypto::copy_from(r.src, r.aad_bytes + text, j->received, tag));
  const bool ctr_tail = alg_.block_bytes == 1 && text % kAesBlock;  // the MDEU would hash the AESU's padding
  Status s = Status::Ok;
  if (text == 0 || ctr_tail || text + tag > device_.max_descriptor_bytes() ||
      r.aad_bytes > device_.max_descriptor_bytes()) {
    j->build = build_composed;
    j->retired = retired_composed;
    s = prepare_composed(*j, device_);
  } else {
    j->build = build_single;
    j->retired = retired_single;
  }
  ++program_.key->refs;
  if (s == Status::Ok) s = device_.submit_job(*channel_, *j, r.flags);
  if (!accepted(s)) return finish_aead(*j, device_, s);
  return s;
}

}  // namespace sec::driver
