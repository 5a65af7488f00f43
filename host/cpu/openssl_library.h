// What the files of the OpenSSL back end share: the private library context and the owners of its objects. Internal to
// host/cpu.
#pragma once
#include <openssl/evp.h>
#include <openssl/provider.h>

#include <memory>
#include <string>

#include "driver/crypto/registry.h"

namespace sec::host {

/// A library context of our own with the default and, where installed, the legacy provider.
class OpensslLibrary {
 public:
  static std::shared_ptr<OpensslLibrary> open() {
    auto lib = std::shared_ptr<OpensslLibrary>(new OpensslLibrary);
    lib->context_ = OSSL_LIB_CTX_new();
    if (!lib->context_) return nullptr;
    lib->default_ = OSSL_PROVIDER_load(lib->context_, "default");
    lib->legacy_ = OSSL_PROVIDER_load(lib->context_, "legacy");
    return lib->default_ ? lib : nullptr;
  }
  ~OpensslLibrary() {
    if (legacy_) OSSL_PROVIDER_unload(legacy_);
    if (default_) OSSL_PROVIDER_unload(default_);
    OSSL_LIB_CTX_free(context_);
  }
  OpensslLibrary(const OpensslLibrary&) = delete;
  OpensslLibrary& operator=(const OpensslLibrary&) = delete;

  bool has_legacy() const { return legacy_; }
  EVP_CIPHER* fetch(const std::string& name) const { return EVP_CIPHER_fetch(context_, name.c_str(), nullptr); }

 private:
  OpensslLibrary() = default;
  OSSL_LIB_CTX* context_ = nullptr;
  OSSL_PROVIDER* default_ = nullptr;
  OSSL_PROVIDER* legacy_ = nullptr;
};

struct EvpDeleter {
  void operator()(EVP_CIPHER* c) const { EVP_CIPHER_free(c); }
  void operator()(EVP_CIPHER_CTX* c) const { EVP_CIPHER_CTX_free(c); }
};
using EvpCipher = std::unique_ptr<EVP_CIPHER, EvpDeleter>;
using EvpContext = std::unique_ptr<EVP_CIPHER_CTX, EvpDeleter>;

/// The three key sizes of an AES mode ("CBC", "GCM"), by key bytes; the library is kept as long as they are.
class AesCiphers {
 public:
  AesCiphers(std::shared_ptr<OpensslLibrary> library, const std::string& mode) : library_(std::move(library)) {
    for (int i = 0; i < 3; ++i) by_size_[i].reset(library_->fetch("AES-" + std::to_string(128 + 64 * i) + "-" + mode));
  }
  /// Null for a size that AES does not have.
  const EVP_CIPHER* for_key(size_t key_bytes) const {
    return key_bytes == 16 || key_bytes == 24 || key_bytes == 32 ? by_size_[key_bytes / 8 - 2].get() : nullptr;
  }

 private:
  std::shared_ptr<OpensslLibrary> library_;
  EvpCipher by_size_[3];
};

void register_openssl_aeads(crypto::Registry& registry, const std::shared_ptr<OpensslLibrary>& library);
void register_openssl_hashes(crypto::Registry& registry, const std::shared_ptr<OpensslLibrary>& library);

}  // namespace sec::host
