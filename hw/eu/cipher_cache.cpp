#include "hw/eu/cipher_cache.h"

namespace sec::hw {
namespace {

/// Where a context keeps its IV. The call is deprecated for its danger (others could change the IV behind OpenSSL's back), which is
/// just what is wanted: EVP_CipherInit_ex looks up parameters by name for every new IV and costs more than a 64-byte packet.
uint8_t* iv_of(EVP_CIPHER_CTX* ctx) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return EVP_CIPHER_CTX_iv_noconst(ctx);
#pragma GCC diagnostic pop
}

/// Whether an IV written there is the one that is used, in every mode that the units
/// use. Found out once, with this library.
bool iv_can_be_written() {
  static const bool yes = [] {
    const uint8_t key[24] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, zero[16] = {}, iv[16] = {9, 8, 7, 6}, text[32] = {5, 4, 3};
    struct Case {
      const EVP_CIPHER* cipher;
      int encrypt;
    };
    for (const Case c : {Case{EVP_aes_128_cbc(), 1}, Case{EVP_aes_128_cbc(), 0}, Case{EVP_aes_128_ctr(), 1}, Case{EVP_aes_128_ofb(), 1},
                         Case{EVP_aes_128_cfb128(), 1}, Case{EVP_aes_128_cfb128(), 0}, Case{EVP_des_ede3_cbc(), 1}, Case{EVP_des_ede3_cbc(), 0},
                         Case{EVP_des_ede3_ofb(), 1}, Case{EVP_des_ede3_cfb64(), 1}, Case{EVP_des_ede3_cfb64(), 0}}) {
      uint8_t out[2][32];
      for (int written = 0; written < 2; ++written) {
        EVP_CIPHER_CTX* ctx = EVP_CIPHER_CTX_new();
        bool ok = EVP_CipherInit_ex(ctx, c.cipher, nullptr, key, written ? zero : iv, c.encrypt) == 1;
        ok = ok && EVP_Cipher(ctx, out[written], text, 16) >= 0;  // leaves an IV of its own behind
        if (ok && written) {
          uint8_t* p = iv_of(ctx);
          ok = p != nullptr;
          if (ok) std::memcpy(p, iv, 16);
        } else if (ok) {
          ok = EVP_CipherInit_ex(ctx, nullptr, nullptr, nullptr, iv, -1) == 1;
        }
        ok = ok && EVP_Cipher(ctx, out[written], text, 32) >= 0;
        EVP_CIPHER_CTX_free(ctx);
        if (!ok) return false;
      }
      if (std::memcmp(out[0], out[1], 32)) return false;
    }
    return true;
  }();
  return yes;
}

}  // namespace

KeyedCipher* CipherCache::make(KeyedCipher& e, uint32_t tag, const EVP_CIPHER* cipher, const uint8_t* key, uint32_t key_bytes, bool encrypt) {
  if (!e.ctx) e.ctx = EVP_CIPHER_CTX_new();
  e.tag = tag;
  e.key_bytes = key_bytes;
  std::memcpy(e.key, key, key_bytes);
  const uint8_t zero[16] = {};
  const bool has_iv = EVP_CIPHER_get_iv_length(cipher) != 0;
  if (EVP_CipherInit_ex(e.ctx, cipher, nullptr, key, has_iv ? zero : nullptr, encrypt) != 1) {
    e.key_bytes = 0;
    return nullptr;
  }
  e.iv = has_iv && iv_can_be_written() ? iv_of(e.ctx) : nullptr;
  return &e;
}

}  // namespace sec::hw
