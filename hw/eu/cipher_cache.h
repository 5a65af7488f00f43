// Keyed OpenSSL contexts, found again by key: a traffic flow sends thousands of descriptors with the
// same key, and a key set-up costs more than a small packet's encryption.
#pragma once
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace sec::hw {

class CipherCache {
 public:
  CipherCache() = default;
  CipherCache(const CipherCache&) = delete;
  CipherCache& operator=(const CipherCache&) = delete;
  ~CipherCache() {
    for (Entry& e : entries_) EVP_CIPHER_CTX_free(e.ctx);
  }

  /// Whole blocks through EVP_Cipher: no padding logic, no buffering (and no padding parameter to set again with
  /// every IV, which costs more than a small packet).
  static bool run(EVP_CIPHER_CTX* ctx, uint8_t* out, const uint8_t* in, size_t n) {
    return EVP_Cipher(ctx, out, in, static_cast<unsigned>(n)) >= 0;
  }
  /// A context keyed with `key`; `tag` tells cipher, direction and mode apart. Its IV is whatever was last set.
  EVP_CIPHER_CTX* get(uint32_t tag, const EVP_CIPHER* cipher, const uint8_t* key, uint32_t key_bytes, bool encrypt) {
    uint64_t h;
    std::memcpy(&h, key, 8);
    Entry* const set = &entries_[(((h ^ tag) * 0x9e3779b97f4a7c15ull) >> 58) * kWays];
    for (Entry* e = set; e < set + kWays; ++e)
      if (e->ctx && e->tag == tag && e->key_bytes == key_bytes && !std::memcmp(e->key, key, key_bytes)) return e->ctx;
    Entry& e = set[victim_++ % kWays];
    if (!e.ctx) e.ctx = EVP_CIPHER_CTX_new();
    e.tag = tag;
    e.key_bytes = key_bytes;
    std::memcpy(e.key, key, key_bytes);
    if (EVP_CipherInit_ex(e.ctx, cipher, nullptr, key, nullptr, encrypt) != 1) {
      e.key_bytes = 0;
      return nullptr;
    }
    return e.ctx;
  }

 private:
  static constexpr unsigned kWays = 4;
  struct Entry {
    EVP_CIPHER_CTX* ctx = nullptr;
    uint32_t tag = 0, key_bytes = 0;
    uint8_t key[32];
  };
  std::array<Entry, 64 * kWays> entries_;
  unsigned victim_ = 0;
};

}  // namespace sec::hw
