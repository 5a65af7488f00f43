#include "hw/eu/ghash.h"

#include <algorithm>

#include "common/diag.h"
#include "common/endian.h"

namespace sec::hw {
namespace {

constexpr uint8_t kInnerIv[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};  // 12 bytes, and the J0 they make

/// x * y in GCM's field; bit 0 is the most significant one (SP 800-38D, 6.3).
void multiply(const uint8_t* x, const uint8_t* y, uint8_t* out) {
  uint64_t zh = 0, zl = 0, vh = load_be64(y), vl = load_be64(y + 8);
  for (int half = 0; half < 2; ++half) {
    uint64_t bits = load_be64(x + 8 * half);
    for (int i = 0; i < 64; ++i, bits <<= 1) {
      const uint64_t take = -(bits >> 63), carry = -(vl & 1);
      zh ^= vh & take;
      zl ^= vl & take;
      vl = vl >> 1 | vh << 63;
      vh = vh >> 1 ^ (carry & 0xe100000000000000);
    }
  }
  store_be64(out, zh);
  store_be64(out + 8, zl);
}

void add(uint8_t* to, const uint8_t* x) {
  for (int i = 0; i < 16; ++i) to[i] ^= x[i];
}

}  // namespace

void Ghash::start(KeyedCipher* gcm, KeyedCipher* ecb, const uint8_t* value) {
  gcm_ = gcm;
  const uint8_t zero[16] = {};
  SEC_CHECK(ecb->run(h_, zero, 16) && ecb->run(mask_, kInnerIv, 16), "AES blocks for GHASH");
  SEC_CHECK(EVP_CipherInit_ex(gcm_->ctx, nullptr, nullptr, nullptr, kInnerIv, 1) == 1, "GHASH set-up");
  std::memcpy(start_, value, 16);
  held_bytes_ = 0;
  fed_ = 0;
  first_ = true;
}

/// Whole blocks to OpenSSL.
void Ghash::block(const uint8_t* p, size_t n) {
  if (!n) return;
  fed_ += n;
  SEC_CHECK(EVP_Cipher(gcm_->ctx, nullptr, p, static_cast<unsigned>(n)) >= 0, "GHASH blocks");
}

void Ghash::update(const uint8_t* p, size_t n) {
  while (n) {
    if (held_bytes_ == 16) {
      block(held_, 16);
      held_bytes_ = 0;
    }
    if (held_bytes_ == 0 && n > 16 && !first_) {  // all but the last block, straight from where it is
      const size_t bulk = (n - 1) / 16 * 16;
      block(p, bulk);
      p += bulk;
      n -= bulk;
    }
    const auto k = static_cast<uint32_t>(std::min<size_t>(16 - held_bytes_, n));
    std::memcpy(held_ + held_bytes_, p, k);
    held_bytes_ += k;
    p += k;
    n -= k;
    if (held_bytes_ == 16 && first_) {
      add(held_, start_);
      first_ = false;
    }
  }
}

void Ghash::pad() {
  static const uint8_t zero[16] = {};
  if (held_bytes_ % 16) update(zero, 16 - held_bytes_);
}

void Ghash::finish(uint8_t* value) {
  if (first_) {
    std::memcpy(value, start_, 16);
    return;
  }
  uint8_t rest[16];
  std::memcpy(rest, held_, 16);
  if (!fed_) {
    multiply(rest, h_, value);
    return;
  }
  uint8_t length[16] = {}, tag[16], none[16];
  store_be64(length, 8 * fed_);
  SEC_CHECK(EVP_Cipher(gcm_->ctx, none, nullptr, 0) >= 0 &&
                EVP_CIPHER_CTX_ctrl(gcm_->ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1,
            "GHASH result");
  add(rest, length);
  multiply(rest, h_, value);
  add(value, tag);
  add(value, mask_);
}

}  // namespace sec::hw
