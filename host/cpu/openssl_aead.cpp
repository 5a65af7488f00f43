// The AEADs of the OpenSSL back end. See openssl.h.
//
// authenc(...): the cipher through EVP, the HMAC through the hash states of openssl_hash.h; both run over the lists in
// pieces. When decrypting, the tag is checked first, so that nothing is written for a forged message.
// GCM takes pieces as well. OpenSSL's CCM wants its AAD and its text in one piece each: scattered ones are copied into
// buffers that the transform keeps.
#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "driver/crypto/authenc_key.h"
#include "driver/crypto/des_key.h"
#include "driver/crypto/vectors.h"
#include "host/cpu/aead_base.h"
#include "host/cpu/openssl.h"
#include "host/cpu/openssl_hash.h"
#include "host/cpu/openssl_library.h"

namespace sec::host {
namespace {

using crypto::AeadRequest;
using crypto::AlgorithmInfo;

constexpr size_t kMaxPieceBytes = size_t{1} << 30;  // EVP counts in int

/// Done when submit returns.
class OpensslAead : public AeadBase {
 public:
  using AeadBase::AeadBase;
  Status encrypt(AeadRequest& r) final {
    size_t text = 0;
    const Status s = check(r, true, text);
    return s == Status::Ok ? seal(r, text) : s;
  }
  Status decrypt(AeadRequest& r) final {
    size_t text = 0;
    const Status s = check(r, false, text);
    return s == Status::Ok ? open(r, text) : s;
  }

 protected:
  virtual Status seal(const AeadRequest& r, size_t text) = 0;
  virtual Status open(const AeadRequest& r, size_t text) = 0;
};

/// Sends the text through `crypt(in, out, bytes)`, in pieces where the lists have borders.
template <class Crypt>
bool crypt_text(const AeadRequest& r, size_t text, size_t block, Crypt&& crypt) {
  if (!text) return true;
  const size_t end = r.aad_bytes + text;
  const uint8_t* in = single_span(r.src, end);
  uint8_t* out = single_span(r.dst, end);
  if (in && out && text <= kMaxPieceBytes) [[likely]]
    return crypt(in + r.aad_bytes, out + r.aad_bytes, text);
  return walk_pair(ListCursor(r.src, r.aad_bytes, text), ListCursor(r.dst, r.aad_bytes, text), text, block,
                   kMaxPieceBytes, std::forward<Crypt>(crypt));
}

// ---------------------------------------------------------------------------------------------- authenc

/// The cipher of an authenc: AES by key size, or one DES.
struct AuthencCipher {
  std::shared_ptr<OpensslLibrary> library;
  std::unique_ptr<AesCiphers> aes;
  EvpCipher des;
};

template <class H>
class OpensslAuthenc final : public OpensslAead {
 public:
  OpensslAuthenc(std::shared_ptr<const AlgorithmInfo> info, std::shared_ptr<const AuthencCipher> cipher)
      : OpensslAead(std::move(info)),
        cipher_(std::move(cipher)),
        encrypt_(EVP_CIPHER_CTX_new()),
        decrypt_(EVP_CIPHER_CTX_new()) {}

  Status set_key(std::span<const uint8_t> blob, uint32_t key_flags) override {
    keyed_ = false;
    crypto::AuthencKeys keys;
    if (crypto::parse_authenc_key(blob, &keys) != Status::Ok) return Status::Invalid;
    if (!crypto::key_bytes_are_legal(shape(), keys.cipher.size())) return Status::Invalid;
    if (cipher_->des) {
      const Status s = keys.cipher.size() == 8 ? crypto::check_des_key(keys.cipher, key_flags)
                                               : crypto::check_des3_key(keys.cipher, key_flags);
      if (s != Status::Ok) return s;
    }
    const EVP_CIPHER* evp = cipher_->des ? cipher_->des.get() : cipher_->aes->for_key(keys.cipher.size());
    static constexpr uint8_t kNoIv[16] = {};
    if (EVP_CipherInit_ex2(encrypt_.get(), evp, keys.cipher.data(), kNoIv, 1, nullptr) != 1 ||
        EVP_CipherInit_ex2(decrypt_.get(), evp, keys.cipher.data(), kNoIv, 0, nullptr) != 1)
      return Status::Invalid;
    hmac_.set_key(keys.auth);
    keyed_ = true;
    return Status::Ok;
  }

 protected:
  Status seal(const AeadRequest& r, size_t text) override {
    if (!crypt(encrypt_.get(), r, text)) return Status::Io;
    typename H::State s = hmac_.begin();
    // The AAD from the source: the destination's may be memory that nobody wrote.
    hmac_.update(s, r.src, 0, r.aad_bytes);
    hmac_.update(s, r.dst, r.aad_bytes, text);
    uint8_t tag[H::kDigestBytes];
    hmac_.finish(s, tag);
    put_tag(r, text, tag);
    return Status::Ok;
  }
  Status open(const AeadRequest& r, size_t text) override {
    typename H::State s = hmac_.begin();
    hmac_.update(s, r.src, 0, r.aad_bytes + text);
    uint8_t tag[H::kDigestBytes], received[kMaxTagBytes];
    hmac_.finish(s, tag);
    get_tag(r, text, received);
    if (CRYPTO_memcmp(tag, received, auth_bytes()) != 0) return Status::BadMessage;
    return crypt(decrypt_.get(), r, text) ? Status::Ok : Status::Io;
  }

 private:
  bool crypt(EVP_CIPHER_CTX* c, const AeadRequest& r, size_t text) const {
    if (EVP_CipherInit_ex2(c, nullptr, nullptr, r.iv, -1, nullptr) != 1) return false;
    return crypt_text(r, text, info().block_bytes, [c](const uint8_t* in, uint8_t* out, size_t n) {
      return EVP_Cipher(c, out, in, static_cast<unsigned>(n)) >= 0;
    });
  }

  std::shared_ptr<const AuthencCipher> cipher_;
  EvpContext encrypt_, decrypt_;
  KeyedHash<H> hmac_;
};

// ---------------------------------------------------------------------------------------------- GCM and CCM

class OpensslGcm final : public OpensslAead {
 public:
  OpensslGcm(std::shared_ptr<const AlgorithmInfo> info, std::shared_ptr<const AesCiphers> ciphers, bool rfc4106)
      : OpensslAead(std::move(info)),
        ciphers_(std::move(ciphers)),
        encrypt_(EVP_CIPHER_CTX_new()),
        decrypt_(EVP_CIPHER_CTX_new()),
        rfc4106_(rfc4106) {}

  Status set_key(std::span<const uint8_t> key, uint32_t) override {
    keyed_ = false;
    if (!crypto::key_bytes_are_legal(shape(), key.size())) return Status::Invalid;
    if (rfc4106_) key = salt_.cut(key);
    static constexpr uint8_t kNoIv[12] = {};
    const EVP_CIPHER* evp = ciphers_->for_key(key.size());
    if (EVP_CipherInit_ex2(encrypt_.get(), evp, key.data(), kNoIv, 1, nullptr) != 1 ||
        EVP_CipherInit_ex2(decrypt_.get(), evp, key.data(), kNoIv, 0, nullptr) != 1)
      return Status::Invalid;
    keyed_ = true;
    return Status::Ok;
  }

 protected:
  Status seal(const AeadRequest& r, size_t text) override {
    EVP_CIPHER_CTX* c = encrypt_.get();
    if (const Status s = begin(c, r); s != Status::Ok) return s;
    uint8_t tag[16];
    int none = 0;
    if (!crypt(c, r, text) || EVP_CipherFinal_ex(c, tag, &none) != 1 ||
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(auth_bytes()), tag) != 1)
      return Status::Io;
    put_tag(r, text, tag);
    return Status::Ok;
  }
  Status open(const AeadRequest& r, size_t text) override {
    EVP_CIPHER_CTX* c = decrypt_.get();
    if (const Status s = begin(c, r); s != Status::Ok) return s;
    uint8_t tag[16], nothing[16];
    get_tag(r, text, tag);
    int none = 0;
    if (!crypt(c, r, text) || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(auth_bytes()), tag) != 1)
      return Status::Io;
    return EVP_CipherFinal_ex(c, nothing, &none) == 1 ? Status::Ok : Status::BadMessage;
  }

 private:
  Status begin(EVP_CIPHER_CTX* c, const AeadRequest& r) const {
    const size_t aad = real_aad_bytes(r);
    uint8_t nonce[12];
    const uint8_t* iv = r.iv;
    if (rfc4106_) {
      salt_.nonce(r.iv, nonce);
      iv = nonce;
    }
    if (EVP_CipherInit_ex2(c, nullptr, nullptr, iv, -1, nullptr) != 1) return Status::Io;
    bool ok = true;
    walk_list(r.src, 0, aad, [&](const uint8_t* p, size_t n) {
      int out = 0;
      ok = ok && n <= kMaxPieceBytes && EVP_CipherUpdate(c, nullptr, &out, p, static_cast<int>(n)) == 1;
    });
    return ok ? Status::Ok : Status::Io;
  }
  static bool crypt(EVP_CIPHER_CTX* c, const AeadRequest& r, size_t text) {
    return crypt_text(r, text, 1, [c](const uint8_t* in, uint8_t* out, size_t n) {
      int done = 0;
      return EVP_CipherUpdate(c, out, &done, in, static_cast<int>(n)) == 1;
    });
  }

  std::shared_ptr<const AesCiphers> ciphers_;
  EvpContext encrypt_, decrypt_;
  Salt salt_{4};
  bool rfc4106_;
};

class OpensslCcm final : public OpensslAead {
 public:
  OpensslCcm(std::shared_ptr<const AlgorithmInfo> info, std::shared_ptr<const AesCiphers> ciphers, bool rfc4309)
      : OpensslAead(std::move(info)),
        ciphers_(std::move(ciphers)),
        encrypt_(EVP_CIPHER_CTX_new()),
        decrypt_(EVP_CIPHER_CTX_new()),
        rfc4309_(rfc4309) {}

  Status set_key(std::span<const uint8_t> key, uint32_t) override {
    keyed_ = false;
    if (!crypto::key_bytes_are_legal(shape(), key.size())) return Status::Invalid;
    if (rfc4309_) key = salt_.cut(key);
    key_.assign(key.begin(), key.end());
    loaded_l_ = 0;
    keyed_ = true;
    return Status::Ok;
  }

 protected:
  void auth_bytes_changed() override { loaded_l_ = 0; }
  Status seal(const AeadRequest& r, size_t text) override {
    uint8_t tag[16];
    EVP_CIPHER_CTX* c = encrypt_.get();
    if (const Status s = begin(c, r, text, nullptr); s != Status::Ok) return s;
    if (!crypt(c, r, text) || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(auth_bytes()), tag) != 1)
      return Status::Io;
    put_tag(r, text, tag);
    return Status::Ok;
  }
  Status open(const AeadRequest& r, size_t text) override {
    uint8_t tag[16];
    get_tag(r, text, tag);
    if (const Status s = begin(decrypt_.get(), r, text, tag); s != Status::Ok) return s;
    return crypt(decrypt_.get(), r, text) ? Status::Ok : Status::BadMessage;
  }

 private:
  Status begin(EVP_CIPHER_CTX* c, const AeadRequest& r, size_t text, uint8_t* tag) {
    const size_t aad = real_aad_bytes(r);
    unsigned l = 4;
    uint8_t nonce[15];
    if (rfc4309_) {
      salt_.nonce(r.iv, nonce);
    } else {
      l = r.iv[0] + 1u;
      std::memcpy(nonce, r.iv + 1, 15 - l);
    }
    if (text > kMaxPieceBytes || aad > kMaxPieceBytes) return Status::Invalid;
    // OpenSSL fixes L and the tag's length when it gets the key.
    if (l != loaded_l_ && (!load(encrypt_.get(), l, 1) || !load(decrypt_.get(), l, 0))) return Status::Io;
    loaded_l_ = l;
    int none = 0;
    if (tag && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(auth_bytes()), tag) != 1)
      return Status::Io;
    if (EVP_CipherInit_ex2(c, nullptr, nullptr, nonce, -1, nullptr) != 1 ||
        EVP_CipherUpdate(c, nullptr, &none, nullptr, static_cast<int>(text)) != 1)
      return Status::Io;
    if (!aad) return Status::Ok;
    const uint8_t* p = single_span(r.src, aad);
    if (!p) {
      aad_.resize(std::max(aad_.size(), aad));
      crypto::copy_from(r.src, 0, aad_.data(), aad);
      p = aad_.data();
    }
    return EVP_CipherUpdate(c, nullptr, &none, p, static_cast<int>(aad)) == 1 ? Status::Ok : Status::Io;
  }
  bool load(EVP_CIPHER_CTX* c, unsigned l, int encrypt) const {
    return EVP_CipherInit_ex2(c, ciphers_->for_key(key_.size()), nullptr, nullptr, encrypt, nullptr) == 1 &&
           EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(15 - l), nullptr) == 1 &&
           EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(auth_bytes()), nullptr) == 1 &&
           EVP_CipherInit_ex2(c, nullptr, key_.data(), nullptr, encrypt, nullptr) == 1;
  }
  /// False when decrypting and the tag is wrong. An empty text has to be sent as well.
  bool crypt(EVP_CIPHER_CTX* c, const AeadRequest& r, size_t text) {
    int done = 0;
    uint8_t nothing[16];
    const size_t end = r.aad_bytes + text;
    const uint8_t* in = text ? single_span(r.src, end) : nothing;
    uint8_t* out = text ? single_span(r.dst, end) : nothing;
    if (in && out) [[likely]] {
      const size_t at = text ? r.aad_bytes : 0;
      return EVP_CipherUpdate(c, out + at, &done, in + at, static_cast<int>(text)) == 1;
    }
    text_.resize(std::max(text_.size(), text));
    crypto::copy_from(r.src, r.aad_bytes, text_.data(), text);
    if (EVP_CipherUpdate(c, text_.data(), &done, text_.data(), static_cast<int>(text)) != 1) return false;
    crypto::copy_to(r.dst, r.aad_bytes, text_.data(), text);
    return true;
  }

  std::shared_ptr<const AesCiphers> ciphers_;
  EvpContext encrypt_, decrypt_;
  Salt salt_{3};
  std::vector<uint8_t> key_, aad_, text_;
  unsigned loaded_l_ = 0;  // 0: none
  bool rfc4309_;
};

// ---------------------------------------------------------------------------------------- registration

template <class Make>
void add(crypto::Registry& registry, const std::string& name, const std::string& driver, Make&& make) {
  const crypto::AlgorithmShape* shape = crypto::find_shape(name);
  AlgorithmInfo i;
  i.name = name;
  i.driver = driver + "-openssl";
  i.module = "openssl";
  i.priority = kOpensslPriority;
  i.type = crypto::AlgorithmType::Aead;
  i.block_bytes = shape->block_bytes;
  i.min_key_bytes = shape->min_key_bytes;
  i.max_key_bytes = shape->max_key_bytes;
  i.iv_bytes = shape->iv_bytes;
  i.max_auth_bytes = shape->digest_bytes;
  auto info = std::make_shared<const AlgorithmInfo>(i);
  // A failure is kept by the registry and shown in its listing.
  (void)registry.add({.info = i,
                      .make_skcipher = nullptr,
                      .make_hash = nullptr,
                      .make_aead = [info, make]() -> std::unique_ptr<crypto::Aead> { return make(info); }});
}

template <class H>
void add_authenc(crypto::Registry& registry, const std::string& cipher_name, const std::string& cipher_driver,
                 const std::shared_ptr<const AuthencCipher>& cipher) {
  const std::string hash(H::kName);
  add(registry, "authenc(hmac(" + hash + ")," + cipher_name + ")", "authenc-hmac-" + hash + "-" + cipher_driver,
      [cipher](std::shared_ptr<const AlgorithmInfo> i) {
        return std::make_unique<OpensslAuthenc<H>>(std::move(i), cipher);
      });
}

}  // namespace

void register_openssl_aeads(crypto::Registry& registry, const std::shared_ptr<OpensslLibrary>& library) {
  const struct {
    const char *name, *driver, *aes, *des;
  } ciphers[] = {{"cbc(aes)", "cbc-aes", "CBC", nullptr},
                 {"ctr(aes)", "ctr-aes", "CTR", nullptr},
                 {"cbc(des3_ede)", "cbc-3des", nullptr, "DES-EDE3-CBC"},
                 {"cbc(des)", "cbc-des", nullptr, "DES-CBC"}};
  for (const auto& c : ciphers) {
    auto cipher = std::make_shared<AuthencCipher>();
    cipher->library = library;
    if (c.aes) cipher->aes = std::make_unique<AesCiphers>(library, c.aes);
    if (c.des) cipher->des.reset(library->fetch(c.des));
    if (c.des && !cipher->des) continue;  // no legacy provider here
    add_authenc<Md5>(registry, c.name, c.driver, cipher);
    add_authenc<Sha1>(registry, c.name, c.driver, cipher);
    add_authenc<Sha224>(registry, c.name, c.driver, cipher);
    add_authenc<Sha256>(registry, c.name, c.driver, cipher);
    add_authenc<Sha384>(registry, c.name, c.driver, cipher);
    add_authenc<Sha512>(registry, c.name, c.driver, cipher);
  }
  const auto gcm = std::make_shared<const AesCiphers>(library, "GCM");
  const auto ccm = std::make_shared<const AesCiphers>(library, "CCM");
  for (const bool rfc : {false, true}) {
    add(registry, rfc ? "rfc4106(gcm(aes))" : "gcm(aes)", rfc ? "rfc4106-gcm-aes" : "gcm-aes",
        [gcm, rfc](std::shared_ptr<const AlgorithmInfo> i) {
          return std::make_unique<OpensslGcm>(std::move(i), gcm, rfc);
        });
    add(registry, rfc ? "rfc4309(ccm(aes))" : "ccm(aes)", rfc ? "rfc4309-ccm-aes" : "ccm-aes",
        [ccm, rfc](std::shared_ptr<const AlgorithmInfo> i) {
          return std::make_unique<OpensslCcm>(std::move(i), ccm, rfc);
        });
  }
}

}  // namespace sec::host
