#include "host/cli/evp_reference.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <memory>
#include <string>

namespace sec::host::cli {
namespace {
using Bytes = std::vector<uint8_t>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

int size_of(std::span<const uint8_t> s) { return static_cast<int>(s.size()); }

/// Key and EVP cipher of "mode(cipher)". Single DES is triple DES with three equal keys, since OpenSSL 3 has it in the legacy provider only.
const EVP_CIPHER* cipher_of(std::string_view mode, std::string_view cipher, Bytes& key) {
  if (cipher == "aes") {
    const size_t bits = (mode == "xts" ? key.size() / 2 : key.size()) * 8;
    const std::string name = "AES-" + std::to_string(bits) + "-" + (mode == "cbc" ? "CBC" : mode == "ecb" ? "ECB" : mode == "ctr" ? "CTR" : mode == "ofb" ? "OFB" : mode == "cfb" ? "CFB" : mode == "xts" ? "XTS" : "?");
    return EVP_get_cipherbyname(name.c_str());
  }
  if (cipher == "des") {
    if (key.size() != 8) return nullptr;
    Bytes three;
    for (int i = 0; i < 3; ++i) three.insert(three.end(), key.begin(), key.end());
    key = three;
  } else if (cipher != "des3_ede" || key.size() != 24) {
    return nullptr;
  }
  return mode == "cbc" ? EVP_des_ede3_cbc() : mode == "ecb" ? EVP_des_ede3_ecb() : mode == "ofb" ? EVP_des_ede3_ofb() : mode == "cfb" ? EVP_des_ede3_cfb64() : nullptr;
}

std::optional<Bytes> run_cipher(const EVP_CIPHER* type, const Bytes& key, const Bytes& iv, std::span<const uint8_t> in) {
  CipherContext c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  Bytes out(in.size() + 32);
  int n = 0, last = 0;
  if (!type || EVP_EncryptInit_ex(c.get(), type, nullptr, key.data(), iv.empty() ? nullptr : iv.data()) != 1 || EVP_CIPHER_CTX_set_padding(c.get(), 0) != 1 ||
      EVP_EncryptUpdate(c.get(), out.data(), &n, in.data(), size_of(in)) != 1 || EVP_EncryptFinal_ex(c.get(), out.data() + n, &last) != 1)
    return std::nullopt;
  out.resize(static_cast<size_t>(n + last));
  return out;
}

std::optional<Bytes> mac(const char* name, const char* parameter, const char* value, std::span<const uint8_t> key, std::initializer_list<std::span<const uint8_t>> pieces) {
  std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> m(EVP_MAC_fetch(nullptr, name, nullptr), EVP_MAC_free);
  std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> c(EVP_MAC_CTX_new(m.get()), EVP_MAC_CTX_free);
  const OSSL_PARAM p[] = {OSSL_PARAM_construct_utf8_string(parameter, const_cast<char*>(value), 0), OSSL_PARAM_construct_end()};
  static constexpr uint8_t kNone = 0;
  if (EVP_MAC_init(c.get(), key.empty() ? &kNone : key.data(), key.size(), p) != 1) return std::nullopt;
  for (const auto& s : pieces)
    if (EVP_MAC_update(c.get(), s.data(), s.size()) != 1) return std::nullopt;
  Bytes out(64);
  size_t n = 0;
  if (EVP_MAC_final(c.get(), out.data(), &n, out.size()) != 1) return std::nullopt;
  out.resize(n);
  return out;
}

std::string digest_name(std::string_view a) { return a == "md5" ? "MD5" : a == "sha1" ? "SHA1" : a == "sha224" ? "SHA224" : a == "sha256" ? "SHA256" : a == "sha384" ? "SHA384" : a == "sha512" ? "SHA512" : ""; }

/// GCM or CCM proper, with the whole nonce.
std::optional<Bytes> one_pass(bool ccm, std::span<const uint8_t> key, std::span<const uint8_t> nonce, std::span<const uint8_t> aad, std::span<const uint8_t> plain, size_t tag_bytes) {
  const std::string name = "AES-" + std::to_string(key.size() * 8) + (ccm ? "-CCM" : "-GCM");
  std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> type(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr), EVP_CIPHER_free);
  CipherContext c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  Bytes out(plain.size() + tag_bytes + 1);
  int n = 0, ignored = 0;
  uint8_t rest[32];
  static constexpr uint8_t kNone = 0;
  if (!type || EVP_EncryptInit_ex(c.get(), type.get(), nullptr, nullptr, nullptr) != 1 || EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_SET_IVLEN, size_of(nonce), nullptr) != 1) return std::nullopt;
  if (ccm && EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag_bytes), nullptr) != 1) return std::nullopt;
  if (EVP_EncryptInit_ex(c.get(), nullptr, nullptr, key.data(), nonce.data()) != 1) return std::nullopt;
  if (ccm && EVP_EncryptUpdate(c.get(), nullptr, &n, nullptr, size_of(plain)) != 1) return std::nullopt;
  if (!aad.empty() && EVP_EncryptUpdate(c.get(), nullptr, &n, aad.data(), size_of(aad)) != 1) return std::nullopt;
  n = 0;
  if ((ccm || !plain.empty()) && EVP_EncryptUpdate(c.get(), out.data(), &n, plain.empty() ? &kNone : plain.data(), size_of(plain)) != 1) return std::nullopt;
  if (EVP_EncryptFinal_ex(c.get(), rest, &ignored) != 1) return std::nullopt;
  if (EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag_bytes), out.data() + plain.size()) != 1) return std::nullopt;
  out.resize(plain.size() + tag_bytes);
  return out;
}

Bytes joined(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  Bytes out(a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}
}  // namespace

std::optional<EvpCipherResult> evp_encrypt(std::string_view algorithm, std::span<const uint8_t> key_in, std::span<const uint8_t> iv_in, std::span<const uint8_t> plain) {
  Bytes key(key_in.begin(), key_in.end()), iv(iv_in.begin(), iv_in.end());
  if (algorithm == "rfc3686(ctr(aes))") {  // nonce at the end of the key, block counter from 1
    if (key.size() < 20) return std::nullopt;
    Bytes counter(key.end() - 4, key.end());
    counter.insert(counter.end(), iv.begin(), iv.end());
    counter.insert(counter.end(), {0, 0, 0, 1});
    key.resize(key.size() - 4);
    auto r = evp_encrypt("ctr(aes)", key, counter, plain);
    if (r) r->iv_out.clear();
    return r;
  }
  const size_t open = algorithm.find('('), close = algorithm.find(')');
  if (open == std::string_view::npos || close != algorithm.size() - 1) return std::nullopt;
  const std::string_view mode = algorithm.substr(0, open), cipher = algorithm.substr(open + 1, close - open - 1);
  const auto out = run_cipher(cipher_of(mode, cipher, key), key, iv, plain);
  if (!out) return std::nullopt;
  EvpCipherResult r{.out = *out, .iv_out = {}};
  if (mode == "cbc") r.iv_out = out->size() >= iv.size() ? Bytes(out->end() - static_cast<long>(iv.size()), out->end()) : iv;
  if (mode == "ctr") {
    r.iv_out = iv;
    uint64_t blocks = (plain.size() + 15) / 16;
    for (size_t i = r.iv_out.size(); i-- > 0 && blocks;) {
      blocks += r.iv_out[i];
      r.iv_out[i] = static_cast<uint8_t>(blocks);
      blocks >>= 8;
    }
  }
  return r;
}

std::optional<Bytes> evp_seal(std::string_view algorithm, std::span<const uint8_t> key, std::span<const uint8_t> auth_key, std::span<const uint8_t> iv, std::span<const uint8_t> aad,
                              std::span<const uint8_t> plain, size_t tag_bytes) {
  if (algorithm == "gcm(aes)") return one_pass(false, key, iv, aad, plain, tag_bytes);
  if (algorithm == "ccm(aes)") {  // iv[0] is L - 1
    if (iv.size() != 16 || iv[0] < 1 || iv[0] > 7) return std::nullopt;
    return one_pass(true, key, iv.subspan(1, 14u - iv[0]), aad, plain, tag_bytes);
  }
  if (algorithm == "rfc4106(gcm(aes))" || algorithm == "rfc4309(ccm(aes))") {  // salt at the end of the key; the AAD ends with the IV
    const bool ccm = algorithm[3] == '4' && algorithm[4] == '3';
    const size_t salt = ccm ? 3 : 4;
    if (key.size() <= salt || aad.size() < 8) return std::nullopt;
    return one_pass(ccm, key.first(key.size() - salt), joined(key.last(salt), iv), aad.first(aad.size() - 8), plain, tag_bytes);
  }
  constexpr std::string_view kAuthenc = "authenc(hmac(";
  if (!algorithm.starts_with(kAuthenc) || !algorithm.ends_with(")")) return std::nullopt;
  const size_t end = algorithm.find("),", kAuthenc.size());
  if (end == std::string_view::npos) return std::nullopt;
  const std::string digest = digest_name(algorithm.substr(kAuthenc.size(), end - kAuthenc.size()));
  const auto text = evp_encrypt(algorithm.substr(end + 2, algorithm.size() - 1 - (end + 2)), key, iv, plain);
  if (digest.empty() || !text) return std::nullopt;
  auto tag = mac("HMAC", OSSL_MAC_PARAM_DIGEST, digest.c_str(), auth_key, {aad, text->out});
  if (!tag || tag->size() < tag_bytes) return std::nullopt;
  tag->resize(tag_bytes);
  return joined(text->out, *tag);
}

std::optional<Bytes> evp_digest(std::string_view algorithm, std::span<const uint8_t> key, std::span<const uint8_t> data) {
  if (algorithm == "cmac(aes)") return mac("CMAC", OSSL_MAC_PARAM_CIPHER, key.size() == 16 ? "AES-128-CBC" : key.size() == 24 ? "AES-192-CBC" : "AES-256-CBC", key, {data});
  if (algorithm.starts_with("hmac(") && algorithm.ends_with(")")) {
    const std::string name = digest_name(algorithm.substr(5, algorithm.size() - 6));
    return name.empty() ? std::nullopt : mac("HMAC", OSSL_MAC_PARAM_DIGEST, name.c_str(), key, {data});
  }
  const std::string name = digest_name(algorithm);
  if (name.empty()) return std::nullopt;
  Bytes out(EVP_MAX_MD_SIZE);
  unsigned n = 0;
  if (EVP_Digest(data.data(), data.size(), out.data(), &n, EVP_get_digestbyname(name.c_str()), nullptr) != 1) return std::nullopt;
  out.resize(n);
  return out;
}

}  // namespace sec::host::cli
