#include "host/cpu/openssl.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "driver/crypto/des_key.h"
#include "host/cpu/openssl_library.h"
#include "host/cpu/walk.h"

namespace sec::host {
namespace {

using crypto::AlgorithmInfo;
using crypto::AlgorithmType;
using crypto::SkcipherRequest;

enum class Mode : uint8_t { Ecb, Cbc, Ctr, Xts, Ofb, Cfb, Rfc3686, Arc4 };
enum class Family : uint8_t { Aes, Des, Des3, Arc4 };

constexpr size_t kNonceBytes = 4;  // RFC 3686: at the end of the key

/// One registered algorithm: what its transforms share.
struct Kind {
  std::shared_ptr<OpensslLibrary> library;
  Mode mode;
  Family family;
  AlgorithmInfo info;
  std::array<EvpCipher, 3> ciphers;  // by key size: 16, 24, 32 (XTS 32, -, 64); DES only [0]

  const EVP_CIPHER* for_key(size_t key_bytes) const {
    if (family != Family::Aes) return ciphers[0].get();
    const size_t n = mode == Mode::Xts ? key_bytes / 2 : mode == Mode::Rfc3686 ? key_bytes - kNonceBytes : key_bytes;
    return (n == 16 || n == 24 || n == 32) && (mode != Mode::Xts || key_bytes % 16 == 0) ? ciphers[n / 8 - 2].get()
                                                                                         : nullptr;
  }
};

// EVP_Cipher counts in unsigned int.
constexpr size_t kMaxPieceBytes = size_t{1} << 30;

class OpensslCipher final : public crypto::Skcipher {
 public:
  explicit OpensslCipher(std::shared_ptr<const Kind> kind)
      : kind_(std::move(kind)), encrypt_(EVP_CIPHER_CTX_new()), decrypt_(EVP_CIPHER_CTX_new()) {}

  const AlgorithmInfo& info() const override { return kind_->info; }

  Status set_key(std::span<const uint8_t> key, uint32_t key_flags) override {
    const AlgorithmInfo& i = kind_->info;
    if (key.size() < i.min_key_bytes || key.size() > i.max_key_bytes) return Status::Invalid;
    keyed_ = false;
    const EVP_CIPHER* cipher = kind_->for_key(key.size());
    if (!cipher) return Status::Invalid;
    if (kind_->family == Family::Arc4) {
      key_.assign(key.begin(), key.end());
      keyed_ = true;
      return Status::Ok;
    }
    if (kind_->mode == Mode::Rfc3686) {
      std::memcpy(counter_, key.data() + key.size() - kNonceBytes, kNonceBytes);
      key = key.first(key.size() - kNonceBytes);
    }
    if (kind_->family != Family::Aes) {
      const Status s =
          kind_->family == Family::Des ? crypto::check_des_key(key, key_flags) : crypto::check_des3_key(key, key_flags);
      if (s != Status::Ok) return s;
    }
    static constexpr uint8_t kNoIv[16] = {};
    // DEVIATES: an XTS key with identical halves is always refused, with or without kForbidWeakKeys, because
    // OpenSSL refuses to encrypt with it. The composed xts(aes) takes it.
    if (EVP_CipherInit_ex2(encrypt_.get(), cipher, key.data(), kNoIv, 1, nullptr) != 1 ||
        EVP_CipherInit_ex2(decrypt_.get(), cipher, key.data(), kNoIv, 0, nullptr) != 1)
      return Status::Invalid;
    keyed_ = true;
    return Status::Ok;
  }

  Status encrypt(SkcipherRequest& r) override { return crypt<true>(r); }
  Status decrypt(SkcipherRequest& r) override { return crypt<false>(r); }

 private:
  template <bool kEncrypt>
  Status crypt(SkcipherRequest& r) {
    if (!keyed_) [[unlikely]]
      return Status::NoKey;
    const size_t n = r.size_bytes;
    if (n == 0) [[unlikely]]
      return Status::Ok;
    EVP_CIPHER_CTX* c = (kEncrypt ? encrypt_ : decrypt_).get();
    switch (kind_->mode) {
      case Mode::Ecb:
        if (n & (kind_->info.block_bytes - 1)) return Status::Invalid;
        return run(c, r, kind_->info.block_bytes);
      case Mode::Cbc: {
        const size_t block = kind_->info.block_bytes;
        if (n & (block - 1)) return Status::Invalid;
        if (!load_iv(c, r.iv)) return Status::Io;
        // The output IV is the last ciphertext block; decrypting in place overwrites it, so it is kept before.
        uint8_t last[16];
        if constexpr (!kEncrypt) {
          if (!last_block(r.src, n, block, last)) return Status::Invalid;
        }
        const Status s = run(c, r, block);
        if (s != Status::Ok) return s;
        if constexpr (kEncrypt) last_block(r.dst, n, block, last);
        std::memcpy(r.iv, last, block);
        return Status::Ok;
      }
      case Mode::Ctr: {
        if (!load_iv(c, r.iv)) return Status::Io;
        const Status s = run(c, r, 1);
        if (s == Status::Ok) add_be128(r.iv, (n + 15) / 16);
        return s;
      }
      case Mode::Rfc3686: {
        uint8_t counter[16] = {};
        std::memcpy(counter, counter_, kNonceBytes);
        std::memcpy(counter + kNonceBytes, r.iv, 8);
        counter[15] = 1;
        return load_iv(c, counter) ? run(c, r, 1) : Status::Io;
      }
      case Mode::Ofb:
      case Mode::Cfb: {
        if (!load_iv(c, r.iv)) return Status::Io;
        const Status s = run(c, r, 1);
        // The last block of key stream or ciphertext; after a partial block of CFB it is of no use to anybody.
        if (s == Status::Ok && EVP_CIPHER_CTX_get_updated_iv(c, r.iv, kind_->info.iv_bytes) != 1) return Status::Io;
        return s;
      }
      case Mode::Arc4:
        // Every request begins with the key, as in kernels since 6.7. The key length has to be told before the key.
        if (EVP_CipherInit_ex2(c, kind_->ciphers[0].get(), nullptr, nullptr, 1, nullptr) != 1 ||
            EVP_CIPHER_CTX_set_key_length(c, static_cast<int>(key_.size())) != 1 ||
            EVP_CipherInit_ex2(c, nullptr, key_.data(), nullptr, 1, nullptr) != 1)
          return Status::Io;
        return run(c, r, 1);
      case Mode::Xts: {
        if (n < 16) return Status::Invalid;
        if (!load_iv(c, r.iv)) return Status::Io;
        return run_whole(c, r);
      }
    }
    return Status::Invalid;
  }

  static bool load_iv(EVP_CIPHER_CTX* c, const uint8_t* iv) {
    return EVP_CipherInit_ex2(c, nullptr, nullptr, iv, -1, nullptr) == 1;
  }

  static bool last_block(const crypto::ScatterList* list, size_t n, size_t block, uint8_t* to) {
    if (const uint8_t* p = single_span(list, n)) [[likely]] {
      std::memcpy(to, p + n - block, block);
      return true;
    }
    return crypto::copy_from(list, n - block, to, block);
  }

  /// ECB, CBC and CTR keep their state from call to call, so a list is done piece by piece.
  Status run(EVP_CIPHER_CTX* c, const SkcipherRequest& r, size_t block) {
    const size_t n = r.size_bytes;
    const uint8_t* in = single_span(r.src, n);
    uint8_t* out = single_span(r.dst, n);
    if (in && out && n <= kMaxPieceBytes) [[likely]]
      return EVP_Cipher(c, out, in, static_cast<unsigned>(n)) >= 0 ? Status::Ok : Status::Io;
    if (!covers(r.src, n) || !covers(r.dst, n)) return Status::Invalid;
    const bool ok = walk_pair(r.src, r.dst, n, block, kMaxPieceBytes, [c](const uint8_t* i, uint8_t* o, size_t k) {
      return EVP_Cipher(c, o, i, static_cast<unsigned>(k)) >= 0;
    });
    return ok ? Status::Ok : Status::Io;
  }

  /// XTS restarts its tweak at every call, so a scattered request is made linear first.
  Status run_whole(EVP_CIPHER_CTX* c, const SkcipherRequest& r) {
    const size_t n = r.size_bytes;
    if (n > (size_t{16} << 20)) return Status::Invalid;  // 2^20 blocks: the standard's limit for one data unit
    const uint8_t* in = single_span(r.src, n);
    uint8_t* out = single_span(r.dst, n);
    if (in && out) [[likely]]
      return EVP_Cipher(c, out, in, static_cast<unsigned>(n)) >= 0 ? Status::Ok : Status::Io;
    if (!covers(r.src, n) || !covers(r.dst, n)) return Status::Invalid;
    if (bounce_.size() < n) bounce_.resize(n);
    crypto::copy_from(r.src, 0, bounce_.data(), n);
    if (EVP_Cipher(c, bounce_.data(), bounce_.data(), static_cast<unsigned>(n)) < 0) return Status::Io;
    crypto::copy_to(r.dst, 0, bounce_.data(), n);
    return Status::Ok;
  }

  std::shared_ptr<const Kind> kind_;
  EvpContext encrypt_, decrypt_;
  std::vector<uint8_t> bounce_;        // XTS over scattered lists only; keeps its size
  std::vector<uint8_t> key_;           // RC4 only
  uint8_t counter_[kNonceBytes] = {};  // RFC 3686 only
  bool keyed_ = false;
};

void add_cipher(crypto::Registry& registry, const std::shared_ptr<OpensslLibrary>& library, Mode mode, Family family) {
  struct ModeText {
    const char *name, *evp;
  };
  static constexpr ModeText kModes[] = {{"ecb", "ECB"}, {"cbc", "CBC"}, {"ctr", "CTR"},     {"xts", "XTS"},
                                        {"ofb", "OFB"}, {"cfb", "CFB"}, {"rfc3686", "CTR"}, {"ecb", ""}};
  struct FamilyText {
    const char *name, *driver;
    unsigned block, min_key, max_key;
  };
  static constexpr FamilyText kFamilies[] = {{"aes", "aes", 16, 16, 32},
                                             {"des", "des", 8, 8, 8},
                                             {"des3_ede", "3des", 8, 24, 24},
                                             {"arc4", "arc4", 1, 1, 256}};
  const ModeText& m = kModes[static_cast<int>(mode)];
  const FamilyText& f = kFamilies[static_cast<int>(family)];

  auto kind = std::make_shared<Kind>();
  kind->library = library;
  kind->mode = mode;
  kind->family = family;
  auto fetch = [&](const std::string& name) { return EvpCipher(library->fetch(name)); };
  const std::string suffix = std::string("-") + m.evp;
  switch (family) {
    case Family::Aes:
      kind->ciphers[0] = fetch("AES-128" + suffix);
      if (mode != Mode::Xts) kind->ciphers[1] = fetch("AES-192" + suffix);
      kind->ciphers[2] = fetch("AES-256" + suffix);
      break;
    case Family::Des:
      kind->ciphers[0] = fetch("DES" + suffix);
      break;
    case Family::Des3:
      kind->ciphers[0] = fetch("DES-EDE3" + suffix);
      break;
    case Family::Arc4:
      kind->ciphers[0] = fetch("RC4");
      break;
  }
  if (!kind->ciphers[0]) return;  // not in this OpenSSL

  AlgorithmInfo& i = kind->info;
  const bool rfc3686 = mode == Mode::Rfc3686;
  const bool stream = rfc3686 || mode == Mode::Ctr || mode == Mode::Ofb || mode == Mode::Cfb;
  i.name = rfc3686 ? "rfc3686(ctr(aes))" : std::string(m.name) + "(" + f.name + ")";
  i.driver = std::string(m.name) + (rfc3686 ? "-ctr-" : "-") + f.driver + "-openssl";
  i.module = "openssl";
  i.priority = kOpensslPriority;
  i.type = AlgorithmType::Skcipher;
  i.block_bytes = stream ? 1 : f.block;
  i.min_key_bytes = mode == Mode::Xts ? 2 * f.min_key : f.min_key + (rfc3686 ? kNonceBytes : 0);
  i.max_key_bytes = mode == Mode::Xts ? 2 * f.max_key : f.max_key + (rfc3686 ? kNonceBytes : 0);
  i.iv_bytes = mode == Mode::Ecb || mode == Mode::Arc4 ? 0 : rfc3686 ? 8 : f.block;
  i.chunk_bytes = f.block;
  i.walk_bytes = f.block;
  std::shared_ptr<const Kind> shared = std::move(kind);
  // A failure is kept by the registry and shown in its listing.
  (void)registry.add({shared->info, [shared] { return std::make_unique<OpensslCipher>(shared); }, nullptr});
}

}  // namespace

bool openssl_has_legacy() {
  const auto library = OpensslLibrary::open();
  return library && library->has_legacy();
}

void register_openssl(crypto::Registry& registry) {
  const auto library = OpensslLibrary::open();
  if (library) {
    for (const Mode m : {Mode::Ecb, Mode::Cbc, Mode::Ctr, Mode::Xts, Mode::Ofb, Mode::Cfb, Mode::Rfc3686})
      add_cipher(registry, library, m, Family::Aes);
    for (const Family f : {Family::Des, Family::Des3})
      for (const Mode m : {Mode::Ecb, Mode::Cbc, Mode::Ofb, Mode::Cfb})
        if (f != Family::Des || library->has_legacy()) add_cipher(registry, library, m, f);
    if (library->has_legacy()) add_cipher(registry, library, Mode::Arc4, Family::Arc4);
    register_openssl_aeads(registry, library);
  }
  register_openssl_hashes(registry, library);
}

}  // namespace sec::host
