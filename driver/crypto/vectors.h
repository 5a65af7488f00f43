// Known-answer vectors, and what is fixed about an algorithm by its name. The text form is hex; each
// vector names its source. Used by the self-test and by the tests of every back end.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "driver/crypto/registry.h"

namespace sec::crypto {

struct CipherVector {
  std::string_view algorithm;
  std::string_view source;
  std::string_view key, iv, plain, cipher;  // hex; iv empty for ECB
  std::string_view iv_out;                  // hex; empty: not checked
};

struct HashVector {
  std::string_view algorithm;
  std::string_view source;
  std::string_view key, message, digest;  // hex; key empty for plain hashes
};

/// For authenc(...) `auth_key` is the authentication key and `key` the cipher's; others have no auth_key.
struct AeadVector {
  std::string_view algorithm;
  std::string_view source;
  std::string_view auth_key, key, iv, aad, plain, cipher, tag;  // hex
};

/// Sizes that every implementation of an algorithm must declare; a cipher or AEAD may take fewer key sizes. Key sizes
/// of an authenc(...) are the cipher's.
struct AlgorithmShape {
  std::string_view name;
  AlgorithmType type;
  unsigned block_bytes, min_key_bytes, max_key_bytes, iv_bytes, digest_bytes;  // AEAD: digest_bytes is the longest tag
};

std::span<const CipherVector> cipher_vectors();
std::span<const HashVector> hash_vectors();
std::span<const AeadVector> aead_vectors();
/// The key to set: for authenc(...) the blob of driver/crypto/authenc_key.h.
std::vector<uint8_t> key_of(const AeadVector& v);

std::span<const AlgorithmShape> shapes();
/// Null when the name is not known.
const AlgorithmShape* find_shape(std::string_view name);
/// For an authenc(...) the bytes of the cipher key.
bool key_bytes_are_legal(const AlgorithmShape& shape, size_t n);
bool auth_bytes_are_legal(const AlgorithmShape& shape, unsigned n);

/// For constants: anything but pairs of digits is our own bug. Input from people goes through common/hex.h.
std::vector<uint8_t> from_hex(std::string_view hex);

}  // namespace sec::crypto
