// Keyed OpenSSL contexts, found again by key: a traffic flow sends thousands of descriptors with the
// same key, and a key set-up costs more than a small packet's encryption.
#pragma once
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace sec::hw {

/// One keyed context.
struct KeyedCipher {
  EVP_CIPHER_CTX* ctx = nullptr;
  uint8_t* iv = nullptr;  // where the implementation keeps its IV; null: it must be told through EVP_CipherInit_ex
  uint32_t tag = 0, key_bytes = 0;
  uint8_t key[32];

  void set_iv(const uint8_t* from, size_t n) {
    if (iv) [[likely]]
      std::memcpy(iv, from, n);
    else
      EVP_CipherInit_ex(ctx, nullptr, nullptr, nullptr, from, -1);
  }
  /// Whole blocks through EVP_Cipher: no padding logic, no buffering.
  bool run(uint8_t* out, const uint8_t* in, size_t n) { return EVP_Cipher(ctx, out, in, static_cast<unsigned>(n)) >= 0; }
};

class CipherCache {
 public:
  CipherCache() = default;
  CipherCache(const CipherCache&) = delete;
  CipherCache& operator=(const CipherCache&) = delete;
  ~CipherCache() {
    for (KeyedCipher& e : entries_) EVP_CIPHER_CTX_free(e.ctx);
  }

  /// A context keyed with `key`; `tag` tells cipher, direction and mode apart. Its IV is whatever was last set. Null when
  /// the library refuses the key.
  KeyedCipher* get(uint32_t tag, const EVP_CIPHER* cipher, const uint8_t* key, uint32_t key_bytes, bool encrypt) {
    uint64_t h;
    std::memcpy(&h, key, 8);
    KeyedCipher* const set = &entries_[(((h ^ tag) * 0x9e3779b97f4a7c15ull) >> 58) * kWays];
    for (KeyedCipher* e = set; e < set + kWays; ++e)
      if (e->ctx && e->tag == tag && e->key_bytes == key_bytes && !std::memcmp(e->key, key, key_bytes)) return e;
    return make(set[victim_++ % kWays], tag, cipher, key, key_bytes, encrypt);
  }

 private:
  static constexpr unsigned kWays = 4;
  static KeyedCipher* make(KeyedCipher& e, uint32_t tag, const EVP_CIPHER* cipher, const uint8_t* key, uint32_t key_bytes, bool encrypt);
  std::array<KeyedCipher, 64 * kWays> entries_;
  unsigned victim_ = 0;
};

}  // namespace sec::hw
