// OpenSSL's hash functions as copyable states, and HMAC (RFC 2104) on top of them. Internal to host/cpu: the
// multi-buffer back end uses the same for messages that its library does not take.
#pragma once
#include <openssl/md5.h>
#include <openssl/sha.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "host/cpu/walk.h"

namespace sec::host {

// OpenSSL 3 deprecates these calls in favour of EVP, whose states cannot be copied without an allocation; see
// openssl.h. They still work in every 3.x. A pragma here, since OPENSSL_SUPPRESS_DEPRECATED would depend on which
// OpenSSL header a file includes first.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define SEC_HOST_HASH(Type, Context, Prefix, name_text, block, digest)                  \
  struct Type {                                                                         \
    using State = Context;                                                              \
    static constexpr std::string_view kName = name_text;                                \
    static constexpr unsigned kBlockBytes = block, kDigestBytes = digest;               \
    static void init(State* s) { Prefix##_Init(s); }                                    \
    static void update(State* s, const void* p, size_t n) { Prefix##_Update(s, p, n); } \
    static void final(uint8_t* out, State* s) { Prefix##_Final(out, s); }               \
  };
SEC_HOST_HASH(Md5, MD5_CTX, MD5, "md5", 64, 16)
SEC_HOST_HASH(Sha1, SHA_CTX, SHA1, "sha1", 64, 20)
SEC_HOST_HASH(Sha224, SHA256_CTX, SHA224, "sha224", 64, 28)
SEC_HOST_HASH(Sha256, SHA256_CTX, SHA256, "sha256", 64, 32)
SEC_HOST_HASH(Sha384, SHA512_CTX, SHA384, "sha384", 128, 48)
SEC_HOST_HASH(Sha512, SHA512_CTX, SHA512, "sha512", 128, 64)
#undef SEC_HOST_HASH
#pragma GCC diagnostic pop

/// RFC 2104: a key longer than a block is hashed first, a shorter one padded with zeros.
template <class H>
void hmac_block(std::span<const uint8_t> key, uint8_t block[H::kBlockBytes]) {
  std::memset(block, 0, H::kBlockBytes);
  if (key.size() > H::kBlockBytes) {
    typename H::State s;
    H::init(&s);
    H::update(&s, key.data(), key.size());
    H::final(block, &s);
  } else if (!key.empty()) {
    std::memcpy(block, key.data(), key.size());
  }
}

/// A hash, or an HMAC once `set_key` was called. Messages are State objects, so that a keyed one is a copy away;
/// nothing but set_key() changes this object.
template <class H>
class KeyedHash {
 public:
  using State = typename H::State;
  KeyedHash() { H::init(&inner_); }

  void set_key(std::span<const uint8_t> key) {
    uint8_t block[H::kBlockBytes];
    hmac_block<H>(key, block);
    for (auto& b : block) b ^= 0x36;
    H::init(&inner_);
    H::update(&inner_, block, sizeof block);
    for (auto& b : block) b ^= 0x36 ^ 0x5c;
    H::init(&outer_);
    H::update(&outer_, block, sizeof block);
    keyed_ = true;
  }
  bool keyed() const { return keyed_; }

  State begin() const { return inner_; }
  /// The list has `n` bytes from `offset` on.
  static void update(State& s, const crypto::ScatterList* list, size_t offset, size_t n) {
    walk_list(list, offset, n, [&s](const uint8_t* p, size_t k) { H::update(&s, p, k); });
  }
  void finish(State& s, uint8_t* out) const {
    if (keyed_) {
      uint8_t mid[H::kDigestBytes];
      H::final(mid, &s);
      s = outer_;
      H::update(&s, mid, sizeof mid);
    }
    H::final(out, &s);
  }

  /// False when the list is shorter than `n` bytes; `out` is then untouched.
  bool digest(const crypto::ScatterList* src, size_t n, uint8_t* out) const {
    if (!single_span(src, n) && !covers(src, n)) return false;
    State s = begin();
    update(s, src, 0, n);
    finish(s, out);
    return true;
  }

 private:
  State inner_, outer_;
  bool keyed_ = false;
};

}  // namespace sec::host
