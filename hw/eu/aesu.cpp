#include "hw/eu/aesu.h"

#include <algorithm>
#include <cmath>

#include "common/diag.h"
#include "common/endian.h"
#include "hw/eu/aes_key.h"
#include "hw/regs/aesu.h"
#include "hw/regs/eu_common.h"
#include "hw/regs/map.h"

namespace sec::hw {
namespace {
using namespace regs::aesu_mode;
namespace place = regs::aesu_context;
using Block = std::array<uint8_t, 16>;

constexpr uint32_t kMe = static_cast<uint32_t>(regs::eu_error::kMe), kKse = static_cast<uint32_t>(regs::eu_error::kKse),
                   kDse = static_cast<uint32_t>(regs::eu_error::kDse),
                   kIce = static_cast<uint32_t>(regs::eu_error::kIce);
constexpr uint32_t kWindowBytes = regs::kAesuContext.size_bytes;

void add(uint8_t* to, const uint8_t* x, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] ^= x[i];
}
uint64_t blocks_of(uint64_t bytes) { return (bytes + 15) / 16; }

/// Adds to the low `exponent` bits of a 128-bit big-endian counter; the others keep still.
void advance(uint8_t* counter, uint64_t by, unsigned exponent) {
  const uint64_t high = load_be64(counter), low = load_be64(counter + 8);
  uint64_t new_low = low + by, new_high = high + (new_low < low);
  const uint64_t low_mask = exponent >= 64 ? ~uint64_t{0} : (uint64_t{1} << exponent) - 1;
  const uint64_t high_mask = exponent >= 128 ? ~uint64_t{0} : exponent > 64 ? (uint64_t{1} << (exponent - 64)) - 1 : 0;
  store_be64(counter, (high & ~high_mask) | (new_high & high_mask));
  store_be64(counter + 8, (low & ~low_mask) | (new_low & low_mask));
}

/// Times x in GF(2^128), first byte most significant (SP 800-38B; the same field and order as LRW's).
Block doubled(const Block& b) {
  const uint64_t high = load_be64(b.data()), low = load_be64(b.data() + 8);
  Block r;
  store_be64(r.data(), high << 1 | low >> 63);
  store_be64(r.data() + 8, low << 1 ^ (high >> 63 ? 0x87 : 0));
  return r;
}

unsigned exponent_in(const uint8_t* field) {  // 0: not loaded
  const uint64_t e = load_be64(field);
  return e == 0 || e > 128 ? 128 : static_cast<unsigned>(e);
}
}  // namespace

Aesu::Aesu(const regs::Part& part, const Timing& timing)
    : ExecutionUnit(regs::Eu::Aesu, "AESU", regs::kAesuBase, timing, {.context_bytes = kWindowBytes}),
      generation_(part.generation),
      has_gcm_(part.gcm),
      has_xor_(part.has_type(static_cast<unsigned>(regs::DescriptorType::RaidXor))),
      cmac_needs_8_(part.sec_version == "3.1"),
      load_clocks_(std::max(1u, static_cast<uint32_t>(std::ceil(timing.aesu_block_load_clocks - 1e-9)))) {
  static const char* const names[kLibraries] = {"ECB", "CBC", "CTR", "OFB", "CFB", "GCM"};
  for (int m = 0; m < kLibraries; ++m)
    for (int k = 0; k < 3; ++k)
      ciphers_[m][k] =
          EVP_CIPHER_fetch(nullptr, ("AES-" + std::to_string(128 + 64 * k) + "-" + names[m]).c_str(), nullptr);
  for (unsigned k = 0; k < 3; ++k) costs_[k] = aes_cost(timing, 16 + 8 * k);
}
Aesu::~Aesu() {
  for (auto& row : ciphers_)
    for (auto* c : row) EVP_CIPHER_free(const_cast<EVP_CIPHER*>(c));
}

void Aesu::clear() {
  closed_ = header_open_ = false;
  tail_bytes_ = 0;
}

KeyedCipher* Aesu::keyed(Library what, bool encrypt, const uint8_t* key) {
  KeyedCipher* const c = cache_.get(static_cast<uint32_t>(what) << 1 | encrypt, ciphers_[what][(key_bytes_ - 16) / 8],
                                    key, key_bytes_, encrypt);
  SEC_CHECK(c, "AES key set-up");
  return c;
}

void Aesu::encrypt_block(const uint8_t* in, uint8_t* out) { SEC_CHECK(ecb_->run(out, in, 16), "AES block"); }

/// The mode byte taken apart; errors for what it cannot mean on this part.
uint32_t Aesu::decode() {
  rbp_ = no_tweak_ = check_ = false;
  first_ = mode_ & kInitMac;
  final_piece_ = mode_ & kFinalMac;
  const bool im = first_, fm = final_piece_, aux0 = mode_ & kRdk;
  const bool sec1 = generation_ == regs::Generation::Sec1, sec3 = generation_ == regs::Generation::Sec3;
  bool has = true, legal = true;
  switch (mode_ & kAlgorithmMask) {
    case kEcb:
      kind_ = Kind::Ecb;
      legal = !im && !fm;
      break;
    case kCbc:
      kind_ = Kind::Cbc;
      rbp_ = fm;
      has = !rbp_ || sec3;
      legal = !im;
      break;
    case kOfb:
      kind_ = Kind::Ofb;
      has = sec3;
      legal = !im && !fm;
      break;
    case kCtr:
      kind_ = Kind::Ctr;
      legal = !im && !fm;
      break;
    case kLrw:
      kind_ = Kind::Lrw;
      no_tweak_ = fm;
      has = sec3;
      legal = !im;
      break;
    case kCmac:
    case kXcbcMac:
      kind_ = (mode_ & kAlgorithmMask) == kCmac ? Kind::Cmac : Kind::XcbcMac;
      check_ = fm;
      has = sec3;
      legal = !im;
      break;
    case kSrtp:
      kind_ = Kind::Srtp;
      has = !sec1;
      legal = !im && !fm;
      break;
    case kCcm:
    case kCcmCheck:
      // The check is asked for by ECM [T23][S2D] or, on SEC 3, by AUX0 [T23's request tables]. It needs the MAC closed.
      kind_ = Kind::Ccm;
      check_ = (mode_ & kEcm) == kEcm || (sec3 && aux0);
      final_piece_ |= check_;
      has = !sec1;
      break;
    case kGcm:
    case kGcmCheck:
      kind_ = Kind::Gcm;
      check_ = (mode_ & kEcm) == kEcm || aux0;
      final_piece_ |= check_;
      has = has_gcm_;
      break;
    case kCfb128:
      kind_ = Kind::Cfb;
      has = sec3;
      legal = !im && !fm;
      break;
    case kXor:
      kind_ = Kind::Xor;
      has = has_xor_;
      legal = !im && !fm && !aux0;
      break;
    default:  // 0x42, 0xc4
      legal = false;
  }
  if (has && legal) return 0;
  if ((kind_ == Kind::Cmac || kind_ == Kind::XcbcMac) && im) ++unmodelled_;
  return kMe;
}

uint32_t Aesu::prepare() {
  closed_ = false;
  tail_bytes_ = 0;
  header_seen_ = 0;
  header_open_ = header_bytes_ != 0;
  startup_clocks_ = finish_clocks_ = 0;
  if (const uint32_t e = decode()) {
    kind_ = Kind::Ecb;
    return e;
  }
  if (kind_ == Kind::Xor) {
    if (data_bytes_ == 0 || header_bytes_ % data_bytes_) return kDse;  // sources of one size
    block_clocks_ = load_clocks_;
    sum_.assign(header_bytes_ ? data_bytes_ : 0, 0);
    return 0;
  }
  if (key_bytes_ != 16 && (kind_ == Kind::XcbcMac || (key_bytes_ != 24 && key_bytes_ != 32))) return kKse;
  const bool whole_blocks = kind_ == Kind::Ecb || (kind_ == Kind::Cbc && !rbp_) || kind_ == Kind::Ctr ||
                            kind_ == Kind::Ofb || kind_ == Kind::Lrw ||
                            ((kind_ == Kind::Ccm || kind_ == Kind::Gcm) && !final_piece_);
  if (whole_blocks && data_bytes_ % 16) return kDse;

  const unsigned k = (key_bytes_ - 16) / 8;
  const bool encrypt = mode_ & kEncrypt;
  const bool backwards =
      !encrypt && (kind_ == Kind::Ecb || kind_ == Kind::Cbc || kind_ == Kind::Lrw);  // the inverse cipher
  block_clocks_ = costs_[k].block;
  if (backwards && mode_ & kRdk) {
    aes_original_key(key_.data(), key_bytes_, cipher_key_.data());
  } else {
    std::memcpy(cipher_key_.data(), key_.data(), key_bytes_);
    if (backwards) startup_clocks_ = costs_[k].expansion;
  }
  switch (kind_) {
    case Kind::Ecb:
      keyed_ = keyed(kLibEcb, encrypt);
      break;
    case Kind::Cbc:
      keyed_ = keyed(kLibCbc, encrypt);
      keyed_->set_iv(context_.data(), 16);
      if (rbp_) ecb_ = keyed(kLibEcb, true);
      break;
    case Kind::Ofb:
      keyed_ = keyed(kLibOfb, true);
      break;
    case Kind::Cfb:
      keyed_ = keyed(kLibCfb, encrypt);
      ecb_ = keyed(kLibEcb, true);
      break;
    case Kind::Ctr:
    case Kind::Srtp:
      keyed_ = keyed(kLibCtr, true);
      if (kind_ == Kind::Srtp) ecb_ = keyed(kLibEcb, true);
      exponent_ = exponent_in(context_.data() + place::kCtrExponent);
      break;
    case Kind::Lrw:
      keyed_ = keyed(kLibEcb, encrypt);
      start_lrw();
      break;
    case Kind::Cmac:
    case Kind::XcbcMac:
      start_mac();
      break;
    case Kind::Ccm:
      return start_ccm();
    case Kind::Gcm:
      return start_gcm();
    case Kind::Xor:
      break;
  }
  return 0;
}

// ---- data ----

void Aesu::header(const uint8_t* in, size_t n) {
  if (kind_ == Kind::Xor) {
    for (size_t i = 0; i < n && !sum_.empty(); ++i) sum_[(header_seen_ + i) % sum_.size()] ^= in[i];
    header_seen_ += n;
    return;
  }
  if (kind_ != Kind::Ccm && kind_ != Kind::Gcm) return;
  header_seen_ += n;
  if (kind_ == Kind::Gcm)
    ghash_.update(in, n);
  else
    mac_update(in, n);
}

void Aesu::end_header() {
  if (!header_open_) return;
  header_open_ = false;
  if (kind_ == Kind::Gcm)
    ghash_.pad();
  else if (kind_ == Kind::Ccm)
    mac_pad();
}

void Aesu::process(const uint8_t* in, uint8_t* out, size_t n) {
  if (!n) return;
  switch (kind_) {
    case Kind::Ecb:
      SEC_CHECK(keyed_->run(out, in, n), "AES blocks");
      break;
    case Kind::Cbc:
      cbc(in, out, n);
      break;
    case Kind::Ofb:
      ofb(in, out, n);
      break;
    case Kind::Cfb:
      cfb(in, out, n);
      break;
    case Kind::Ctr:
    case Kind::Srtp:
      ctr(context_.data(), exponent_, in, out, n);
      break;
    case Kind::Lrw:
      lrw(in, out, n);
      break;
    case Kind::Cmac:
    case Kind::XcbcMac:
      mac_update(in, n);
      break;
    case Kind::Ccm:  // the MAC is over the plaintext
      end_header();
      if (mode_ & kEncrypt) mac_update(in, n);
      ctr(context_.data() + place::kCcmCounter, exponent_, in, out, n);
      if (!(mode_ & kEncrypt)) mac_update(out, n);
      break;
    case Kind::Gcm:  // over the ciphertext
      end_header();
      if (!(mode_ & kEncrypt)) ghash_.update(in, n);
      ctr(context_.data() + place::kGcmCounter, 32, in, out, n);
      if (mode_ & kEncrypt) ghash_.update(out, n);
      gcm_text_bits_ += 8 * n;
      break;
    case Kind::Xor:
      if (out != in) std::memmove(out, in, n);
      if (const size_t k = std::min(n, sum_.size())) {
        add(out, sum_.data(), k);
        sum_.erase(sum_.begin(), sum_.begin() + static_cast<std::ptrdiff_t>(k));
      }
      break;
  }
}

void Aesu::cbc(const uint8_t* in, uint8_t* out, size_t n) {
  const bool encrypt = mode_ & kEncrypt;
  const size_t whole = n / 16 * 16, rest = n - whole;
  if (whole) {
    uint8_t last[16];
    if (!encrypt) std::memcpy(last, in + whole - 16, 16);  // before an in-place decryption overwrites it
    SEC_CHECK(keyed_->run(out, in, whole), "AES blocks");
    std::memcpy(context_.data(), encrypt ? out + whole - 16 : last, 16);
  }
  if (rest) {
    uint8_t mask[16];
    encrypt_block(context_.data(), mask);
    for (size_t i = 0; i < rest; ++i) out[whole + i] = static_cast<uint8_t>(in[whole + i] ^ mask[i]);
  }
}

void Aesu::ofb(const uint8_t* in, uint8_t* out, size_t n) {
  uint8_t last[16];
  std::memcpy(last, in + n - 16, 16);
  keyed_->set_iv(context_.data(), 16);
  SEC_CHECK(keyed_->run(out, in, n), "AES blocks");
  std::memcpy(context_.data(), out + n - 16, 16);
  add(context_.data(), last, 16);  // key stream: what was enciphered last
}

void Aesu::cfb(const uint8_t* in, uint8_t* out, size_t n) {
  const bool encrypt = mode_ & kEncrypt;
  const size_t whole = n / 16 * 16, rest = n - whole;
  if (whole) {
    uint8_t last[16];
    std::memcpy(last, in + whole - 16, 16);
    keyed_->set_iv(context_.data(), 16);
    SEC_CHECK(keyed_->run(out, in, whole), "AES blocks");
    std::memcpy(context_.data(), encrypt ? out + whole - 16 : last, 16);
  }
  if (rest) {  // not through OpenSSL, whose context would stay in the middle of a block
    uint8_t mask[16];
    encrypt_block(context_.data(), mask);
    for (size_t i = 0; i < rest; ++i) out[whole + i] = static_cast<uint8_t>(in[whole + i] ^ mask[i]);
  }
}

void Aesu::ctr(uint8_t* counter, unsigned exponent, const uint8_t* in, uint8_t* out, size_t n) {
  while (n >= 16) {
    uint64_t blocks = n / 16;
    if (exponent < 128) {  // OpenSSL carries through all 128 bits
      const uint64_t low = load_be64(counter + 8), mask = exponent >= 64 ? ~uint64_t{0} : (uint64_t{1} << exponent) - 1;
      blocks = std::min(blocks - 1, mask - (low & mask)) + 1;
    }
    keyed_->set_iv(counter, 16);
    SEC_CHECK(keyed_->run(out, in, 16 * blocks), "AES blocks");
    advance(counter, blocks, exponent);
    in += 16 * blocks;
    out += 16 * blocks;
    n -= 16 * blocks;
  }
  if (n) {
    uint8_t mask[16];
    encrypt_block(counter, mask);
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(in[i] ^ mask[i]);
    advance(counter, 1, exponent);
  }
}

// The next tweak differs from this one by K2 * (index ^ (index + 1)), whose second factor is 2^(k+1) - 1 when k ones
// end the index: 128 products, made once per message, replace a multiplication per block.
void Aesu::start_lrw() {
  Block power, sum{};  // K2 * x^k, and the sum of those so far
  std::memcpy(power.data(), context_.data() + place::kLrwTweakKey, 16);
  lrw_tweak_.fill(0);
  for (unsigned k = 0; k < 128; ++k) {
    if (context_[15 - k / 8] >> (k % 8) & 1) add(lrw_tweak_.data(), power.data(), 16);
    add(sum.data(), power.data(), 16);
    lrw_steps_[k] = sum;
    power = doubled(power);
  }
}

void Aesu::lrw(const uint8_t* in, uint8_t* out, size_t n) {
  scratch_.resize(std::max<size_t>(scratch_.size(), n));
  std::memset(scratch_.data(), 0, n);
  for (size_t at = 0; at < n; at += 16) {
    if (!no_tweak_) std::memcpy(scratch_.data() + at, lrw_tweak_.data(), 16);
    unsigned ones = 0;
    while (ones < 127 && context_[15 - ones / 8] >> (ones % 8) & 1) ++ones;
    add(lrw_tweak_.data(), lrw_steps_[ones].data(), 16);
    advance(context_.data(), 1, 128);
  }
  if (out != in) std::memmove(out, in, n);
  add(out, scratch_.data(), n);
  SEC_CHECK(keyed_->run(out, out, n), "AES blocks");
  add(out, scratch_.data(), n);
}

// ---- CBC-MAC and what is made of it ----

void Aesu::absorb(const uint8_t* p, size_t n) {
  constexpr size_t kPiece = 4096;
  scratch_.resize(std::max(scratch_.size(), kPiece));
  mac_cipher_->set_iv(mac_.data(), 16);
  while (n) {
    const size_t k = std::min(n, kPiece);
    SEC_CHECK(mac_cipher_->run(scratch_.data(), p, k), "AES blocks");
    std::memcpy(mac_.data(), scratch_.data() + k - 16, 16);
    p += k;
    n -= k;
  }
}

void Aesu::mac_update(const uint8_t* p, size_t n) {
  while (n) {
    if (tail_bytes_ == 16) {
      absorb(tail_.data(), 16);
      tail_bytes_ = 0;
    }
    if (tail_bytes_ == 0 && n > 16) {
      const size_t bulk = (n - 1) / 16 * 16;
      absorb(p, bulk);
      p += bulk;
      n -= bulk;
    }
    const auto k = static_cast<uint32_t>(std::min<size_t>(16 - tail_bytes_, n));
    std::memcpy(tail_.data() + tail_bytes_, p, k);
    tail_bytes_ += k;
    p += k;
    n -= k;
  }
}

/// Zeros up to the next block; nothing is held back any more.
void Aesu::mac_pad() {
  if (!tail_bytes_) return;
  std::memset(tail_.data() + tail_bytes_, 0, 16 - tail_bytes_);
  absorb(tail_.data(), 16);
  tail_bytes_ = 0;
}

void Aesu::start_mac() {
  ecb_ = keyed(kLibEcb, true);
  std::memcpy(mac_.data(), context_.data(), 16);
  if (kind_ == Kind::Cmac) {  // SP 800-38B, 6.1
    Block l{};
    encrypt_block(l.data(), l.data());
    last_block_mask_[0] = doubled(l);
    last_block_mask_[1] = doubled(last_block_mask_[0]);
    mac_cipher_ = keyed(kLibCbc, true);
    startup_clocks_ = block_clocks_;
  } else {  // RFC 3566
    uint8_t k[3][16];
    for (uint8_t i = 0; i < 3; ++i) {
      std::memset(k[i], i + 1, 16);
      encrypt_block(k[i], k[i]);
    }
    std::memcpy(last_block_mask_[0].data(), k[1], 16);
    std::memcpy(last_block_mask_[1].data(), k[2], 16);
    mac_cipher_ = keyed(kLibCbc, true, k[0]);
    startup_clocks_ = 3 * block_clocks_;
  }
  if (data_bytes_ == 0) finish_clocks_ = block_clocks_;
}

void Aesu::finish_mac() {
  const bool full = tail_bytes_ == 16;
  if (!full) {
    tail_[tail_bytes_++] = 0x80;
    std::memset(tail_.data() + tail_bytes_, 0, 16 - tail_bytes_);
  }
  add(tail_.data(), last_block_mask_[full ? 0 : 1].data(), 16);
  absorb(tail_.data(), 16);
  tail_bytes_ = 0;
  icv_ = mac_;
  std::memcpy(context_.data(), mac_.data(), 16);
}

// ---- CCM ----

uint32_t Aesu::start_ccm() {
  keyed_ = keyed(kLibCtr, true);
  ecb_ = keyed(kLibEcb, true);
  mac_cipher_ = keyed(kLibCbc, true);
  exponent_ = exponent_in(context_.data() + place::kCcmExponent);
  const uint32_t block = block_clocks_;
  block_clocks_ = 2 * block;
  uint8_t* const counter = context_.data() + place::kCcmCounter;
  if (first_) {
    mac_.fill(0);
    mac_update(context_.data() + place::kCcmMac, 16);
    mac_pad();
    startup_clocks_ = block;
    advance(counter, 1, exponent_);  // A0 is for the MAC, the text starts at A1
  } else {
    std::memcpy(mac_.data(), context_.data() + place::kCcmMac, 16);
  }
  // The size of the MAC is in the flags of B0, of which only the first piece knows; the open MAC's context keeps no
  // trace.
  mac_bytes_ = first_ ? 2 * (context_[place::kCcmMac] >> 3 & 7) + 2 : 16;
  startup_clocks_ += block * static_cast<uint32_t>(final_piece_ + blocks_of(header_bytes_));
  return 0;
}

uint32_t Aesu::finish_ccm() {
  end_header();
  mac_pad();
  if (!final_piece_) {
    std::memcpy(context_.data() + place::kCcmMac, mac_.data(), 16);
    return 0;
  }
  // A0: the counter block with a count of 0; its flags tell how many bytes count (RFC 3610, 2.3).
  Block a0, s0;
  std::memcpy(a0.data(), context_.data() + place::kCcmCounter, 16);
  const size_t count_bytes = static_cast<size_t>(a0[0] & 7) + 1;
  std::fill(a0.end() - static_cast<std::ptrdiff_t>(count_bytes), a0.end(), uint8_t{0});
  encrypt_block(a0.data(), s0.data());
  icv_ = mac_;
  add(icv_.data(), s0.data(), mac_bytes_);
  std::fill(icv_.begin() + mac_bytes_, icv_.end(), uint8_t{0});
  uint8_t* const in_context = context_.data() + place::kCcmIcv;
  if (!received_bytes_ && check_) set_received_icv(in_context, mac_bytes_);
  std::memset(context_.data(), 0, 16);
  std::memcpy(context_.data() + place::kCcmMac, mac_.data(), mac_bytes_);
  if (mode_ & kEncrypt) {
    std::memcpy(in_context, icv_.data(), 16);
  } else {
    if (received_bytes_) {
      std::memset(in_context, 0, 16);
      std::memcpy(in_context, received_.data(), std::min(received_bytes_, mac_bytes_));
    }
    add(in_context, s0.data(), mac_bytes_);
  }
  return check_ ? compare_icv(icv_.data(), mac_bytes_) : 0;
}

// ---- GCM ----

uint32_t Aesu::start_gcm() {
  keyed_ = keyed(kLibCtr, true);
  ecb_ = keyed(kLibEcb, true);
  KeyedCipher* const gcm = keyed(kLibGcm, true);
  uint8_t* const j0 = context_.data() + place::kGcmJ0;
  uint8_t* const counter = context_.data() + place::kGcmCounter;
  if (first_ || context_bytes_ == 0) {
    if (!nonce_bytes_) return kDse;
    Block y{};
    startup_clocks_ = block_clocks_;  // H
    if (nonce_bytes_ == 12) {
      std::memcpy(j0, nonce_.data(), 12);
      store_be32(j0 + 12, 1);
    } else {
      uint8_t length[16] = {};
      store_be64(length + 8, uint64_t{8} * nonce_bytes_);
      ghash_.start(gcm, ecb_, y.data());
      ghash_.update(nonce_.data(), nonce_bytes_);
      ghash_.pad();
      ghash_.update(length, 16);
      ghash_.finish(j0);
      startup_clocks_ += block_clocks_ * static_cast<uint32_t>(blocks_of(nonce_bytes_) + 1);
    }
    std::memcpy(counter, j0, 16);
    advance(counter, 1, 32);
    gcm_header_bits_ = gcm_text_bits_ = 0;
    ghash_.start(gcm, ecb_, y.data());
  } else {
    startup_clocks_ = block_clocks_;
    gcm_header_bits_ = load_be64(context_.data() + place::kGcmAadBits);
    gcm_text_bits_ = load_be64(context_.data() + place::kGcmTextBits);
    ghash_.start(gcm, ecb_, context_.data() + place::kGcmMac);
  }
  gcm_header_bits_ += 8 * header_bytes_;
  startup_clocks_ += block_clocks_ * static_cast<uint32_t>(blocks_of(header_bytes_));
  if (final_piece_) {
    startup_clocks_ += block_clocks_;  // E(J0)
    finish_clocks_ = block_clocks_;    // the lengths
  }
  return 0;
}

uint32_t Aesu::finish_gcm() {
  end_header();
  ghash_.pad();
  if (final_piece_) {
    uint8_t lengths[16];
    store_be64(lengths, gcm_header_bits_);
    store_be64(lengths + 8, gcm_text_bits_);
    ghash_.update(lengths, 16);
  }
  ghash_.finish(mac_.data());
  if (final_piece_) {
    encrypt_block(context_.data() + place::kGcmJ0, icv_.data());
    add(mac_.data(), icv_.data(), 16);
    icv_ = mac_;
  }
  std::memcpy(context_.data() + place::kGcmMac, mac_.data(), 16);
  store_be64(context_.data() + place::kGcmAadBits, gcm_header_bits_);
  store_be64(context_.data() + place::kGcmTextBits, gcm_text_bits_);
  return check_ ? compare_icv(icv_.data(), 16) : 0;
}

// ---- the end ----

uint32_t Aesu::complete() {
  uint32_t error = 0;
  switch (kind_) {
    case Kind::Cmac:
    case Kind::XcbcMac: {
      finish_mac();
      closed_ = true;
      if (!check_) break;
      error = compare_icv(icv_.data(), 16);
      uint32_t compared = received_bytes_;
      if (icv_bytes_) compared = std::min(compared, icv_bytes_);
      if (kind_ == Kind::Cmac && cmac_needs_8_ && compared < 8) {
        verdict_ = regs::IntegrityCheck::Fail;
        error = kIce;
      }
      break;
    }
    case Kind::Ccm:
      error = finish_ccm();
      closed_ = final_piece_;
      break;
    case Kind::Gcm:
      error = finish_gcm();
      closed_ = final_piece_;
      mac_bytes_ = 16;
      break;
    default:
      break;
  }
  return error;
}

uint32_t Aesu::context(uint8_t* out, uint32_t limit) const {
  uint32_t n = place::kIvBytes;
  switch (kind_) {
    case Kind::Lrw:
      n = place::kLrwBytes;
      break;
    case Kind::Ccm:
      n = place::kCcmInBytes;
      break;
    case Kind::Gcm:
      n = place::kGcmBytes;
      break;
    case Kind::Ctr:
    case Kind::Srtp:
      n = place::kCtrBytes;
      break;
    default:
      break;
  }
  n = std::min(limit, n);
  std::memcpy(out, context_.data(), n);
  return n;
}

uint32_t Aesu::icv(uint8_t* out, uint32_t limit) const {
  if (!closed_) return 0;
  const uint32_t n = std::min<uint32_t>(limit, kind_ == Kind::Ccm ? mac_bytes_ : 16);
  std::memcpy(out, icv_.data(), n);
  return n;
}

uint32_t Aesu::decrypt_key(uint8_t* out, uint32_t limit) const {
  if (key_bytes_ != 16 && key_bytes_ != 24 && key_bytes_ != 32) return 0;
  uint8_t last[32];
  aes_last_round_key(key_.data(), key_bytes_, last);
  const uint32_t n = std::min(limit, key_bytes_);
  std::memcpy(out, last, n);
  return n;
}

}  // namespace sec::hw
