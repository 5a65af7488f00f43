// What is fixed about an algorithm by its name.
#include <algorithm>
#include <string_view>

#include "driver/crypto/vectors.h"

namespace sec::crypto {
namespace {

using enum AlgorithmType;

// Stream modes have a block of 1: the modes of operation that are built on them rely on it.
constexpr AlgorithmShape kShapes[] = {
    {"ecb(aes)", Skcipher, 16, 16, 32, 0, 0},
    {"cbc(aes)", Skcipher, 16, 16, 32, 16, 0},
    {"ctr(aes)", Skcipher, 1, 16, 32, 16, 0},
    {"ofb(aes)", Skcipher, 1, 16, 32, 16, 0},
    {"cfb(aes)", Skcipher, 1, 16, 32, 16, 0},
    {"xts(aes)", Skcipher, 16, 32, 64, 16, 0},
    {"rfc3686(ctr(aes))", Skcipher, 1, 20, 36, 8, 0},
    {"essiv(cbc(aes),sha256)", Skcipher, 16, 16, 32, 16, 0},
    {"ecb(des)", Skcipher, 8, 8, 8, 0, 0},
    {"cbc(des)", Skcipher, 8, 8, 8, 8, 0},
    {"ofb(des)", Skcipher, 1, 8, 8, 8, 0},
    {"cfb(des)", Skcipher, 1, 8, 8, 8, 0},
    {"ecb(des3_ede)", Skcipher, 8, 24, 24, 0, 0},
    {"cbc(des3_ede)", Skcipher, 8, 24, 24, 8, 0},
    {"ofb(des3_ede)", Skcipher, 1, 24, 24, 8, 0},
    {"cfb(des3_ede)", Skcipher, 1, 24, 24, 8, 0},
    {"ecb(arc4)", Skcipher, 1, 1, 256, 0, 0},  // an engine may take fewer key sizes
    {"md5", Hash, 64, 0, 0, 0, 16},
    {"sha1", Hash, 64, 0, 0, 0, 20},
    {"sha224", Hash, 64, 0, 0, 0, 28},
    {"sha256", Hash, 64, 0, 0, 0, 32},
    {"sha384", Hash, 128, 0, 0, 0, 48},
    {"sha512", Hash, 128, 0, 0, 0, 64},
    {"hmac(md5)", Hash, 64, 0, 0, 0, 16},
    {"hmac(sha1)", Hash, 64, 0, 0, 0, 20},
    {"hmac(sha224)", Hash, 64, 0, 0, 0, 28},
    {"hmac(sha256)", Hash, 64, 0, 0, 0, 32},
    {"hmac(sha384)", Hash, 128, 0, 0, 0, 48},
    {"hmac(sha512)", Hash, 128, 0, 0, 0, 64},
    {"cmac(aes)", Hash, 16, 16, 32, 0, 16},
    {"xcbc(aes)", Hash, 16, 16, 16, 0, 16},
    {"crc32c", Hash, 1, 4, 4, 0, 4},  // its "key" is the initial value, little-endian; ~0 without one
    {"gcm(aes)", Aead, 1, 16, 32, 12, 16},
    {"rfc4106(gcm(aes))", Aead, 1, 20, 36, 8, 16},
    {"ccm(aes)", Aead, 1, 16, 32, 16, 16},
    {"rfc4309(ccm(aes))", Aead, 1, 19, 35, 8, 16},
#define SEC_AUTHENC(hash, digest)                                              \
  {"authenc(hmac(" hash "),cbc(aes))", Aead, 16, 16, 32, 16, digest},          \
      {"authenc(hmac(" hash "),ctr(aes))", Aead, 1, 16, 32, 16, digest},       \
      {"authenc(hmac(" hash "),cbc(des3_ede))", Aead, 8, 24, 24, 8, digest}, { \
    "authenc(hmac(" hash "),cbc(des))", Aead, 8, 8, 8, 8, digest               \
  }
    SEC_AUTHENC("md5", 16),
    SEC_AUTHENC("sha1", 20),
    SEC_AUTHENC("sha224", 28),
    SEC_AUTHENC("sha256", 32),
    SEC_AUTHENC("sha384", 48),
    SEC_AUTHENC("sha512", 64),
#undef SEC_AUTHENC
};

constexpr bool is_authenc(std::string_view name) { return name.starts_with("authenc("); }

}  // namespace

const AlgorithmShape* find_shape(std::string_view name) {
  for (const AlgorithmShape& s : kShapes)
    if (s.name == name) return &s;
  return nullptr;
}

std::span<const AlgorithmShape> shapes() { return kShapes; }

bool key_bytes_are_legal(const AlgorithmShape& shape, size_t n) {
  const bool aes = n == 16 || n == 24 || n == 32;
  if (shape.name == "xts(aes)") return n == 32 || n == 64 || n == 48;
  if (shape.name == "rfc3686(ctr(aes))" || shape.name == "rfc4106(gcm(aes))") return n == 20 || n == 28 || n == 36;
  if (shape.name == "rfc4309(ccm(aes))") return n == 19 || n == 27 || n == 35;
  if (shape.name == "xcbc(aes)") return n == 16;
  if (shape.name.find("(aes") != std::string_view::npos) return aes;
  return n >= shape.min_key_bytes && n <= shape.max_key_bytes;
}

bool auth_bytes_are_legal(const AlgorithmShape& shape, unsigned n) {
  if (is_authenc(shape.name)) return n >= 1 && n <= shape.digest_bytes;
  if (shape.name == "gcm(aes)") return n == 4 || n == 8 || (n >= 12 && n <= 16);  // SP 800-38D 5.2.1.2
  if (shape.name == "ccm(aes)") return n >= 4 && n <= 16 && n % 2 == 0;           // SP 800-38C A.1
  return n == 8 || n == 12 || n == 16;                                            // RFC 4106 6, RFC 4309 6
}

}  // namespace sec::crypto
