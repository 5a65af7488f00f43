// What OpenSSL's EVP says an operation gives, called directly and not through our registry: the independent second opinion of
// `secsim crypt --many` and `secsim hash --many`.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sec::host::cli {

struct EvpCipherResult {
  std::vector<uint8_t> out, iv_out;  // iv_out: empty where the chaining rules of the mode give none (ECB, stream modes other than CTR)
};
/// Encryption by a cipher such as "cbc(aes)"; nothing when OpenSSL cannot check this algorithm.
std::optional<EvpCipherResult> evp_encrypt(std::string_view algorithm, std::span<const uint8_t> key, std::span<const uint8_t> iv, std::span<const uint8_t> plain);

/// Text and tag of an AEAD such as "gcm(aes)" or "authenc(hmac(sha1),cbc(aes))".
std::optional<std::vector<uint8_t>> evp_seal(std::string_view algorithm, std::span<const uint8_t> key, std::span<const uint8_t> auth_key, std::span<const uint8_t> iv,
                                             std::span<const uint8_t> aad, std::span<const uint8_t> plain, size_t tag_bytes);

/// A digest such as "sha256" or, with a key, "hmac(sha256)", "cmac(aes)".
std::optional<std::vector<uint8_t>> evp_digest(std::string_view algorithm, std::span<const uint8_t> key, std::span<const uint8_t> data);

}  // namespace sec::host::cli
