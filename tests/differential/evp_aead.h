// AEADs by plain OpenSSL EVP, one call after the other: what every implementation is compared with. Nothing of ours is used
// but the layout of the authenc key blob.
#pragma once
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <stdexcept>
#include <string>

#include "tests/support/rsp_vectors.h"

namespace sec::test {

inline void evp_check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string("EVP: ") + what);
}

inline Bytes evp_cipher(const std::string& name, const Bytes& key, const Bytes& iv, const Bytes& in, bool encrypt) {
  EVP_CIPHER* c = EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr);
  EVP_CIPHER_CTX* x = EVP_CIPHER_CTX_new();
  Bytes out(in.size() + 32);
  int n = 0, last = 0;
  evp_check(c && EVP_CipherInit_ex(x, c, nullptr, key.data(), iv.empty() ? nullptr : iv.data(), encrypt) == 1, "init");
  EVP_CIPHER_CTX_set_padding(x, 0);
  evp_check(EVP_CipherUpdate(x, out.data(), &n, in.data(), static_cast<int>(in.size())) == 1, "update");
  evp_check(EVP_CipherFinal_ex(x, out.data() + n, &last) == 1, "final");
  out.resize(in.size());
  EVP_CIPHER_CTX_free(x);
  EVP_CIPHER_free(c);
  return out;
}

inline Bytes evp_hmac(const std::string& digest, const Bytes& key, const Bytes& m) {
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  EVP_MAC_CTX* x = EVP_MAC_CTX_new(mac);
  std::string name = digest;
  const OSSL_PARAM p[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.data(), 0), OSSL_PARAM_construct_end()};
  Bytes out(64);
  size_t n = 0;
  static const uint8_t none = 0;
  evp_check(EVP_MAC_init(x, key.empty() ? &none : key.data(), key.size(), p) && EVP_MAC_update(x, m.data(), m.size()) && EVP_MAC_final(x, out.data(), &n, 64), "HMAC");
  out.resize(n);
  EVP_MAC_CTX_free(x);
  EVP_MAC_free(mac);
  return out;
}

/// GCM or CCM: ciphertext and tag.
inline Bytes evp_combined(bool gcm, const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& text, unsigned tag) {
  const std::string name = "AES-" + std::to_string(key.size() * 8) + (gcm ? "-GCM" : "-CCM");
  EVP_CIPHER* c = EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr);
  EVP_CIPHER_CTX* x = EVP_CIPHER_CTX_new();
  int n = 0, last = 0;
  Bytes out(text.size() + tag + 16);
  static const uint8_t none = 0;
  bool ok = EVP_EncryptInit_ex(x, c, nullptr, nullptr, nullptr) == 1 &&
            EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(nonce.size()), nullptr) == 1;
  if (!gcm) ok = ok && EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag), nullptr) == 1;
  ok = ok && EVP_EncryptInit_ex(x, nullptr, nullptr, key.data(), nonce.data()) == 1;
  if (!gcm) ok = ok && EVP_EncryptUpdate(x, nullptr, &n, nullptr, static_cast<int>(text.size())) == 1;
  if (!aad.empty()) ok = ok && EVP_EncryptUpdate(x, nullptr, &n, aad.data(), static_cast<int>(aad.size())) == 1;
  ok = ok && EVP_EncryptUpdate(x, out.data(), &n, text.empty() ? &none : text.data(), static_cast<int>(text.size())) == 1;
  ok = ok && EVP_EncryptFinal_ex(x, out.data() + text.size(), &last) == 1;
  out.resize(text.size() + tag);
  ok = ok && EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag), out.data() + text.size()) == 1;
  EVP_CIPHER_CTX_free(x);
  EVP_CIPHER_free(c);
  evp_check(ok, "AEAD");
  return out;
}

}  // namespace sec::test
