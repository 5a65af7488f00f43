#include "driver/crypto/vectors.h"

#include "common/diag.h"
#include "common/hex.h"
#include "driver/crypto/authenc_key.h"
#include "driver/crypto/vectors_tables.h"

namespace sec::crypto {
namespace {

template <class T>
std::vector<T> joined(std::span<const T> a, std::span<const T> b) {
  std::vector<T> out(a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

}  // namespace

std::span<const CipherVector> cipher_vectors() {
  static const std::vector<CipherVector> all = joined(published_ciphers(), generated_ciphers());
  return all;
}
std::span<const HashVector> hash_vectors() {
  static const std::vector<HashVector> all = joined(published_hashes(), generated_hashes());
  return all;
}
std::span<const AeadVector> aead_vectors() {
  static const std::vector<AeadVector> all = joined(published_aeads(), generated_aeads());
  return all;
}

std::vector<uint8_t> key_of(const AeadVector& v) {
  const std::vector<uint8_t> key = from_hex(v.key);
  return v.algorithm.starts_with("authenc(") ? make_authenc_key(from_hex(v.auth_key), key) : key;
}

std::vector<uint8_t> from_hex(std::string_view hex) {
  std::vector<uint8_t> out;
  SEC_CHECK(!read_hex(hex, out), "a constant that is no hexadecimal text");
  return out;
}

}  // namespace sec::crypto
