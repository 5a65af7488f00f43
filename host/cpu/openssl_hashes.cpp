// The hashes of the OpenSSL back end: MD5 and SHA with their HMACs, CMAC and XCBC-MAC over AES, CRC-32C. All in steps
// too. See openssl.h.
#include <boost/crc.hpp>
#include <cstring>
#include <memory>
#include <string>

#include "common/endian.h"
#include "host/cpu/openssl.h"
#include "host/cpu/openssl_hash.h"
#include "host/cpu/openssl_library.h"

namespace sec::host {
namespace {

using crypto::AlgorithmInfo;
using crypto::HashRequest;

/// What crypto::Hash asks for, over a `Core`: State (a plain struct), ready(), set_key(), begin(), update(), finish(),
/// and valid() for a state that came from outside.
template <class Core>
class SteppedHash final : public crypto::Hash {
 public:
  SteppedHash(std::shared_ptr<const AlgorithmInfo> info, Core core) : info_(std::move(info)), core_(std::move(core)) {}

  const AlgorithmInfo& info() const override { return *info_; }
  Status set_key(std::span<const uint8_t> key) override { return core_.set_key(key); }

  Status digest(HashRequest& r) override {
    if (!core_.ready()) [[unlikely]]
      return Status::NoKey;
    if (!has(r)) return Status::Invalid;
    typename Core::State s = core_.begin();
    core_.update(s, r.src, r.size_bytes);
    core_.finish(s, r.digest);
    return Status::Ok;
  }
  std::unique_ptr<crypto::HashState> make_state() override { return std::make_unique<Message>(); }
  Status init(crypto::HashState& state) override {
    if (!core_.ready()) return Status::NoKey;
    static_cast<Message&>(state).s = core_.begin();
    return Status::Ok;
  }
  Status update(HashRequest& r) override {
    if (!core_.ready()) return Status::NoKey;
    if (!r.state || !has(r)) return Status::Invalid;
    core_.update(static_cast<Message*>(r.state)->s, r.src, r.size_bytes);
    return Status::Ok;
  }
  Status final(HashRequest& r) override {
    if (!core_.ready()) return Status::NoKey;
    if (!r.state) return Status::Invalid;
    core_.finish(static_cast<Message*>(r.state)->s, r.digest);
    return Status::Ok;
  }
  Status finup(HashRequest& r) override {
    const Status s = update(r);
    return s == Status::Ok ? final(r) : s;
  }
  Status export_state(const crypto::HashState& state, uint8_t* out) override {
    std::memcpy(out, &static_cast<const Message&>(state).s, sizeof(typename Core::State));
    return Status::Ok;
  }
  Status import_state(crypto::HashState& state, const uint8_t* in) override {
    typename Core::State s;
    std::memcpy(&s, in, sizeof s);
    if (!core_.valid(s)) return Status::Invalid;
    static_cast<Message&>(state).s = s;
    return Status::Ok;
  }

 private:
  struct Message final : crypto::HashState {
    typename Core::State s{};
  };
  static bool has(const HashRequest& r) {
    return r.size_bytes == 0 || single_span(r.src, r.size_bytes) || covers(r.src, r.size_bytes);
  }
  std::shared_ptr<const AlgorithmInfo> info_;
  Core core_;
};

template <class H, bool kHmac>
class DigestCore {
 public:
  using State = typename H::State;
  bool ready() const { return !kHmac || hash_.keyed(); }
  Status set_key(std::span<const uint8_t> key) {
    if (!kHmac) return Status::Invalid;
    hash_.set_key(key);
    return Status::Ok;
  }
  State begin() const { return hash_.begin(); }
  void update(State& s, const crypto::ScatterList* src, size_t n) const { hash_.update(s, src, 0, n); }
  void finish(State& s, uint8_t* out) const { hash_.finish(s, out); }
  bool valid(const State& s) const { return s.num < H::kBlockBytes; }

 private:
  KeyedHash<H> hash_;
};

/// CMAC (NIST SP 800-38B) and XCBC-MAC (RFC 3566): CBC with a zero IV, and a subkey added to the last block, which is
/// why that one is always kept back. OpenSSL's own CMAC object cannot be exported; AES and its chaining are OpenSSL's.
class CbcMacCore {
 public:
  struct State {
    uint8_t chain[16], kept[16];
    uint32_t kept_bytes;
  };
  CbcMacCore(std::shared_ptr<const AesCiphers> ciphers, bool xcbc)
      : ciphers_(std::move(ciphers)), context_(EVP_CIPHER_CTX_new()), xcbc_(xcbc) {}

  bool ready() const { return keyed_; }
  Status set_key(std::span<const uint8_t> key) {
    const EVP_CIPHER* cipher = ciphers_->for_key(key.size());
    if (!cipher || (xcbc_ && key.size() != 16)) return Status::Invalid;
    keyed_ = false;
    if (EVP_CipherInit_ex2(context_.get(), cipher, key.data(), kZero, 1, nullptr) != 1) return Status::Invalid;
    if (xcbc_) {  // RFC 3566 4: K1, K2, K3 = E(01..), E(02..), E(03..)
      uint8_t k1[16];
      for (uint8_t i = 1; i <= 3; ++i) {
        uint8_t* k = i == 1 ? k1 : i == 2 ? whole_ : partial_;
        std::memset(k, i, 16);
        encrypt(kZero, k, k, 16);
      }
      if (EVP_CipherInit_ex2(context_.get(), cipher, k1, kZero, 1, nullptr) != 1) return Status::Invalid;
    } else {  // SP 800-38B 6.1
      encrypt(kZero, kZero, whole_, 16);
      twice(whole_);
      std::memcpy(partial_, whole_, 16);
      twice(partial_);
    }
    keyed_ = true;
    return Status::Ok;
  }
  State begin() const { return {}; }
  void update(State& s, const crypto::ScatterList* src, size_t n) const {
    walk_list(src, 0, n, [&](const uint8_t* p, size_t k) { feed(s, p, k); });
  }
  void finish(State& s, uint8_t* out) const {
    const uint8_t* subkey = whole_;
    if (s.kept_bytes < 16) {
      std::memset(s.kept + s.kept_bytes, 0, 16 - s.kept_bytes);
      s.kept[s.kept_bytes] = 0x80;
      subkey = partial_;
    }
    for (int i = 0; i < 16; ++i) s.kept[i] ^= subkey[i];
    encrypt(s.chain, s.kept, out, 16);
  }
  bool valid(const State& s) const { return s.kept_bytes <= 16; }

 private:
  static constexpr uint8_t kZero[16] = {};

  static void twice(uint8_t* k) {  // in GF(2^128), most significant bit first
    const uint64_t high = load_be64(k), low = load_be64(k + 8);
    store_be64(k, high << 1 | low >> 63);
    store_be64(k + 8, low << 1 ^ (high >> 63 ? 0x87 : 0));
  }
  void encrypt(const uint8_t* iv, const uint8_t* in, uint8_t* out, size_t n) const {
    EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, iv, -1, nullptr);
    EVP_Cipher(context_.get(), out, in, static_cast<unsigned>(n));
  }
  void feed(State& s, const uint8_t* p, size_t n) const {
    if (s.kept_bytes + n > 16 && s.kept_bytes) {
      const size_t k = 16 - s.kept_bytes;
      std::memcpy(s.kept + s.kept_bytes, p, k);
      p += k;
      n -= k;
      s.kept_bytes = 0;
      encrypt(s.chain, s.kept, s.chain, 16);
    }
    uint8_t scratch[512];
    while (n > 16) {
      const size_t k = std::min(sizeof scratch, (n - 1) / 16 * 16);
      encrypt(s.chain, p, scratch, k);
      std::memcpy(s.chain, scratch + k - 16, 16);
      p += k;
      n -= k;
    }
    if (n) std::memcpy(s.kept + s.kept_bytes, p, n);
    s.kept_bytes += static_cast<uint32_t>(n);
  }

  std::shared_ptr<const AesCiphers> ciphers_;
  EvpContext context_;
  uint8_t whole_[16] = {}, partial_[16] = {};  // subkeys for a whole and for a padded last block
  bool xcbc_, keyed_ = false;
};

/// CRC-32C (RFC 3720): by Boost, whose registers are the mirror image of the kernel's.
class Crc32cCore {
 public:
  struct State {
    uint32_t crc;  // as the kernel keeps it
  };
  bool ready() const { return true; }
  Status set_key(std::span<const uint8_t> key) {
    if (key.size() != 4) return Status::Invalid;
    seed_ = uint32_t{key[0]} | uint32_t{key[1]} << 8 | uint32_t{key[2]} << 16 | uint32_t{key[3]} << 24;
    return Status::Ok;
  }
  State begin() const { return {seed_}; }
  void update(State& s, const crypto::ScatterList* src, size_t n) const {
    boost::crc_optimal<32, 0x1edc6f41, 0xffffffff, 0, true, true> crc(mirrored(s.crc));
    walk_list(src, 0, n, [&](const uint8_t* p, size_t k) { crc.process_bytes(p, k); });
    s.crc = crc.checksum();
  }
  void finish(State& s, uint8_t* out) const {
    const uint32_t v = ~s.crc;
    for (int i = 0; i < 4; ++i) out[i] = static_cast<uint8_t>(v >> 8 * i);
  }
  bool valid(const State&) const { return true; }

 private:
  static uint32_t mirrored(uint32_t v) {
    uint32_t out = 0;
    for (int i = 0; i < 32; ++i) out |= (v >> i & 1) << (31 - i);
    return out;
  }
  uint32_t seed_ = 0xffffffff;
};

template <class Core, class Make>
void add(crypto::Registry& registry, AlgorithmInfo i, Make&& make) {
  i.priority = kOpensslPriority;
  i.type = crypto::AlgorithmType::Hash;
  i.state_bytes = sizeof(typename Core::State);
  auto info = std::make_shared<const AlgorithmInfo>(i);
  // A failure is kept by the registry and shown in its listing.
  (void)registry.add({.info = i,
                      .make_skcipher = nullptr,
                      .make_hash = [info, make] { return std::make_unique<SteppedHash<Core>>(info, make()); },
                      .make_aead = nullptr});
}

template <class H>
void add_digest(crypto::Registry& registry) {
  const std::string base(H::kName);
  AlgorithmInfo i;
  i.module = "openssl";
  i.block_bytes = H::kBlockBytes;
  i.digest_bytes = H::kDigestBytes;
  i.name = base;
  i.driver = base + "-openssl";
  add<DigestCore<H, false>>(registry, i, [] { return DigestCore<H, false>(); });
  i.name = "hmac(" + base + ")";
  i.driver = "hmac-" + base + "-openssl";
  add<DigestCore<H, true>>(registry, i, [] { return DigestCore<H, true>(); });
}

}  // namespace

void register_openssl_hashes(crypto::Registry& registry, const std::shared_ptr<OpensslLibrary>& library) {
  add_digest<Md5>(registry);
  add_digest<Sha1>(registry);
  add_digest<Sha224>(registry);
  add_digest<Sha256>(registry);
  add_digest<Sha384>(registry);
  add_digest<Sha512>(registry);
  if (library) {
    const auto ciphers = std::make_shared<const AesCiphers>(library, "CBC");
    for (const bool xcbc : {false, true}) {
      AlgorithmInfo i;
      i.name = xcbc ? "xcbc(aes)" : "cmac(aes)";
      i.driver = xcbc ? "xcbc-aes-openssl" : "cmac-aes-openssl";
      i.module = "openssl";
      i.block_bytes = i.digest_bytes = 16;
      i.min_key_bytes = 16;
      i.max_key_bytes = xcbc ? 16 : 32;
      add<CbcMacCore>(registry, i, [ciphers, xcbc] { return CbcMacCore(ciphers, xcbc); });
    }
  }
  AlgorithmInfo i;
  i.name = "crc32c";
  i.driver = "crc32c-boost";
  i.module = "boost";
  i.digest_bytes = 4;
  i.min_key_bytes = i.max_key_bytes = 4;
  add<Crc32cCore>(registry, i, [] { return Crc32cCore(); });
}

}  // namespace sec::host
