// The hash functions of the MDEU as one open state that can be laid down and taken up again between any two blocks, in
// the layout of the unit's context registers:
//
//   MD5, SHA-1, SHA-224, SHA-256   8 words of 32 bits (MD5 uses 4, SHA-1 uses 5), then the 64-bit count: 0x28 bytes
//   SHA-384, SHA-512               8 words of 64 bits, then the 64-bit count: 0x48 bytes
//
// [LX][T23] for the sizes. Bytes are in the order of the digest, so that the words of MD5 are little-endian [LX hands
// them to its user unchanged]. ASSUMED: the count is in bits; software that is known only ever loads zero.
//
// On OpenSSL's low-level functions, whose states are plain structs: EVP neither shows nor takes a chaining value.
#pragma once
#include <openssl/md5.h>
#include <openssl/sha.h>

#include <cstddef>
#include <cstdint>

namespace sec::hw {

enum class HashAlgorithm : uint8_t { Md5, Sha1, Sha224, Sha256, Sha384, Sha512 };

struct HashTraits {
  uint8_t block_bytes, digest_bytes, word_bytes, words, steps;  // words: used ones of the eight
  constexpr uint32_t count_offset() const { return 8u * word_bytes; }
  constexpr uint32_t context_bytes() const { return count_offset() + 8; }
};
constexpr HashTraits traits(HashAlgorithm a) {
  switch (a) {
    case HashAlgorithm::Md5:
      return {64, 16, 4, 4, 64};
    case HashAlgorithm::Sha1:
      return {64, 20, 4, 5, 80};
    case HashAlgorithm::Sha224:
      return {64, 28, 4, 8, 64};
    case HashAlgorithm::Sha256:
      return {64, 32, 4, 8, 64};
    case HashAlgorithm::Sha384:
      return {128, 48, 8, 8, 80};
    case HashAlgorithm::Sha512:
      return {128, 64, 8, 8, 80};
  }
  return {};
}

class Digest {
 public:
  static constexpr uint32_t kMaxContextBytes = 0x48;

  /// The algorithm's initial values, nothing counted.
  void init(HashAlgorithm a);
  /// A context as store() writes it.
  void load(HashAlgorithm a, const uint8_t* context);
  void store(uint8_t* context) const;
  void update(const uint8_t* p, size_t n);
  /// Pads and closes; writes the digest.
  void final(uint8_t* digest);

 private:
  HashAlgorithm algorithm_ = HashAlgorithm::Sha1;
  union {
    MD5_CTX md5_;
    SHA_CTX sha1_{};
    SHA256_CTX sha256_;
    SHA512_CTX sha512_;
  };
};

}  // namespace sec::hw
