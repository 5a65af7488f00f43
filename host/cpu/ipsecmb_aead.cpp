// The AEADs of the ipsec-mb back end: one job does cipher and authentication. See ipsecmb.h.
//
// The library hashes its source buffer, so an authenc job that encrypts has to work in place; a request that does not,
// or whose lists are in pieces, goes through the slot's buffer. What the library does not take (see `takes`) is done by
// the OpenSSL back end's transform of the same algorithm, at its place in the batch.
#include <openssl/crypto.h>

#include <array>
#include <string>

#include "common/endian.h"
#include "driver/crypto/authenc_key.h"
#include "host/cpu/aead_base.h"
#include "host/cpu/ipsecmb_queue.h"
#include "host/cpu/openssl_library.h"

namespace sec::host {
namespace {

using crypto::AeadRequest;
using crypto::AlgorithmInfo;

constexpr size_t kCcmMaxAadBytes = 46;  // what the library's lanes hold

struct AeadKind {
  std::shared_ptr<const AlgorithmInfo> info;
  IMB_CIPHER_MODE mode;
  IMB_HASH_ALG hash;
  void (*pads)(IMB_MGR*, std::span<const uint8_t>, uint8_t*, uint8_t*);  // authenc
  unsigned digest_bytes;
  std::shared_ptr<crypto::Registry> openssl;  // for the fallbacks

  bool gcm() const { return mode == IMB_CIPHER_GCM; }
  bool ccm() const { return mode == IMB_CIPHER_CCM; }
  bool des() const { return mode == IMB_CIPHER_DES || mode == IMB_CIPHER_DES3; }
  bool authenc() const { return !gcm() && !ccm(); }
};

constexpr uint8_t kDecrypt = 1;

class AeadQueue final : public Queue<AeadRequest> {
 public:
  AeadQueue(std::shared_ptr<Manager> m, unsigned burst, AeadKind kind)
      : Queue(std::move(m), burst), kind_(std::move(kind)) {}
  const AeadKind& kind() const { return kind_; }

 protected:
  void prepare(Batch& b) override {
    b.tags.resize(b.jobs.size());
    for (size_t i = 0; i < b.jobs.size(); ++i) {
      IMB_JOB& j = b.jobs[i];
      j = IMB_JOB{};
      j.iv = b.slots[i].iv;
      j.cipher_mode = kind_.mode;
      j.hash_alg = kind_.hash;
      j.auth_tag_output = b.tags[i].data();
    }
  }
  void execute(Batch& b) override;

 private:
  AeadKind kind_;
  std::vector<IMB_JOB> scratch_;
};

class IpsecMbAead final : public AeadBase {
 public:
  explicit IpsecMbAead(std::shared_ptr<AeadQueue> queue)
      : AeadBase(queue->kind().info),
        queue_(std::move(queue)),
        fallback_(kind().openssl->alloc_aead(kind().info->name)) {}
  ~IpsecMbAead() override { queue_->finish(this); }
  IpsecMbAead(const IpsecMbAead&) = delete;
  IpsecMbAead& operator=(const IpsecMbAead&) = delete;

  Status set_key(std::span<const uint8_t> key, uint32_t key_flags) override {
    queue_->finish(this);
    keyed_ = false;
    if (!fallback_) return Status::NotSupported;
    if (const Status s = fallback_->set_key(key, key_flags); s != Status::Ok) return s;
    IMB_MGR* m = queue_->mgr();
    if (kind().authenc()) {
      crypto::AuthencKeys keys;
      if (crypto::parse_authenc_key(key, &keys) != Status::Ok) return Status::Invalid;
      kind().pads(m, keys.auth, inner_, outer_);
      key = keys.cipher;
    } else if (info().name.starts_with("rfc")) {
      key = salt_.cut(key);
    }
    key_bytes_ = key.size();
    if (kind().gcm()) {
      if (key.size() == 16) IMB_AES128_GCM_PRE(m, key.data(), &gcm_);
      if (key.size() == 24) IMB_AES192_GCM_PRE(m, key.data(), &gcm_);
      if (key.size() == 32) IMB_AES256_GCM_PRE(m, key.data(), &gcm_);
      enc_keys_ = dec_keys_ = &gcm_;
    } else if (kind().des()) {
      for (size_t k = 0; k < key.size() / 8; ++k) {
        IMB_DES_KEYSCHED(m, schedule_[k], key.data() + 8 * k);
        schedules_[k] = schedule_[k];
      }
      enc_keys_ = dec_keys_ = key.size() == 8 ? static_cast<const void*>(schedule_[0]) : schedules_;
    } else {
      if (key.size() == 16) IMB_AES_KEYEXP_128(m, key.data(), enc_, dec_);
      if (key.size() == 24) IMB_AES_KEYEXP_192(m, key.data(), enc_, dec_);
      if (key.size() == 32) IMB_AES_KEYEXP_256(m, key.data(), enc_, dec_);
      enc_keys_ = enc_;
      dec_keys_ = kind().mode == IMB_CIPHER_CBC ? dec_ : enc_;
    }
    keyed_ = true;
    return Status::Ok;
  }

  Status encrypt(AeadRequest& r) override { return submit(r, true); }
  Status decrypt(AeadRequest& r) override { return submit(r, false); }
  void flush() override { queue_->flush(); }

  /// After the batch's jobs: compares or writes the tag, and brings the text out of the slot's buffer.
  Status settle(const AeadRequest& r, bool encrypt, bool linear, const uint8_t* text, size_t text_bytes,
                const uint8_t* tag) const {
    if (encrypt) {
      if (linear) crypto::copy_to(r.dst, r.aad_bytes, text, text_bytes);
      put_tag(r, text_bytes, tag);
      return Status::Ok;
    }
    uint8_t received[kMaxTagBytes];
    get_tag(r, text_bytes, received);
    if (CRYPTO_memcmp(tag, received, auth_bytes()) != 0) return Status::BadMessage;
    if (linear) crypto::copy_to(r.dst, r.aad_bytes, text, text_bytes);
    return Status::Ok;
  }
  /// Synchronous.
  Status fall_back(const AeadRequest& r, bool encrypt) const {
    AeadRequest copy = r;
    copy.complete = nullptr;
    return encrypt ? fallback_->encrypt(copy) : fallback_->decrypt(copy);
  }

 protected:
  void auth_bytes_changed() override {
    queue_->finish(this);
    if (fallback_) (void)fallback_->set_auth_bytes(auth_bytes());  // legal for the one, legal for the other
  }

 private:
  const AeadKind& kind() const { return queue_->kind(); }

  /// Lanes count bytes in 16 bits and CTR blocks in 32; an empty text has no job; CCM lacks AES-192 and long AAD.
  bool takes(const AeadRequest& r, size_t text) const {
    if (text == 0 || r.aad_bytes + text > kMaxJobBytes) return false;
    if (kind().ccm()) return key_bytes_ != 24 && real_aad_bytes(r) <= kCcmMaxAadBytes;
    if (kind().mode == IMB_CIPHER_CNTR) return load_be32(r.iv + 12) + uint64_t{(text + 15) / 16} <= uint64_t{1} << 32;
    return true;
  }

  Status submit(AeadRequest& r, bool encrypt) {
    size_t text = 0;
    if (const Status s = check(r, encrypt, text); s != Status::Ok) [[unlikely]]
      return s;
    AeadQueue& q = *queue_;
    Batch& b = q.filling();
    IMB_JOB& j = b.jobs[b.n];
    Slot& slot = b.slots[b.n];
    slot.request = &r;
    slot.owner = this;
    slot.group = encrypt ? 0 : kDecrypt;
    slot.linear = false;
    slot.alone = !takes(r, text);
    if (slot.alone) [[unlikely]] {
      if (auto* s = q.stats()) ++s->fallbacks;
      std::memcpy(slot.iv, r.iv, info().iv_bytes);
      b.mixed = true;
      q.added();
      return Status::InProgress;
    }
    const size_t aad = r.aad_bytes, both = aad + text;
    const uint8_t* src = single_span(r.src, both);
    uint8_t* dst = single_span(r.dst, both);
    if (!src || !dst || (kind().authenc() && encrypt && src != dst)) {
      auto& bounce = b.bounce[b.n];
      if (bounce.size() < both) bounce.resize(both);
      crypto::copy_from(r.src, 0, bounce.data(), both);
      src = dst = bounce.data();
      slot.linear = true;
      if (auto* s = q.stats()) ++s->linearised;
    }
    j.src = src;
    j.dst = dst + aad;
    j.cipher_start_src_offset_in_bytes = aad;
    j.msg_len_to_cipher_in_bytes = text;
    j.enc_keys = enc_keys_;
    j.dec_keys = dec_keys_;
    j.key_len_in_bytes = key_bytes_;
    j.cipher_direction = encrypt ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
    j.chain_order = encrypt ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
    if (kind().authenc()) {
      std::memcpy(slot.iv, r.iv, info().iv_bytes);
      j.iv_len_in_bytes = info().iv_bytes;
      j.hash_start_src_offset_in_bytes = 0;
      j.msg_len_to_hash_in_bytes = both;
      j.auth_tag_output_len_in_bytes = kind().digest_bytes;
      j.u.HMAC._hashed_auth_key_xor_ipad = inner_;
      j.u.HMAC._hashed_auth_key_xor_opad = outer_;
    } else {
      j.hash_start_src_offset_in_bytes = aad;
      j.msg_len_to_hash_in_bytes = text;
      j.auth_tag_output_len_in_bytes = auth_bytes();
      j.iv_len_in_bytes = nonce(r.iv, slot.iv);
      if (kind().gcm()) {
        j.u.GCM.aad = src;
        j.u.GCM.aad_len_in_bytes = real_aad_bytes(r);
      } else {
        // CCM authenticates the plaintext, so the order is the other way round.
        j.chain_order = encrypt ? IMB_ORDER_HASH_CIPHER : IMB_ORDER_CIPHER_HASH;
        j.u.CCM.aad = src;
        j.u.CCM.aad_len_in_bytes = real_aad_bytes(r);
      }
    }
    q.added();
    return Status::InProgress;
  }
  size_t nonce(const uint8_t* iv, uint8_t* out) const {
    const bool rfc = info().name.starts_with("rfc");
    if (rfc) {
      salt_.nonce(iv, out);
      return kind().gcm() ? 12 : 11;
    }
    if (kind().gcm()) {
      std::memcpy(out, iv, 12);
      return 12;
    }
    const size_t n = 14u - iv[0];
    std::memcpy(out, iv + 1, n);
    return n;
  }

  std::shared_ptr<AeadQueue> queue_;
  std::unique_ptr<crypto::Aead> fallback_;
  const void* enc_keys_ = nullptr;
  const void* dec_keys_ = nullptr;
  size_t key_bytes_ = 0;
  Salt salt_{kind().gcm() ? size_t{4} : size_t{3}};
  alignas(64) uint8_t enc_[16 * 15] = {}, dec_[16 * 15] = {};
  alignas(64) uint8_t inner_[64] = {}, outer_[64] = {};
  alignas(64) uint64_t schedule_[3][IMB_DES_KEY_SCHED_SIZE / 8] = {};
  const void* schedules_[3] = {};
  alignas(64) gcm_key_data gcm_ = {};
};

void AeadQueue::execute(Batch& b) {
  const IMB_JOB* jobs = b.jobs.data();
  unsigned n = b.n;
  if (b.mixed) {
    scratch_.clear();
    for (unsigned i = 0; i < b.n; ++i)
      if (!b.slots[i].alone) scratch_.push_back(b.jobs[i]);
    jobs = scratch_.data();
    n = static_cast<unsigned>(scratch_.size());
  }
  const bool ok = n == 0 || run_ring(mgr(), jobs, n, [](IMB_JOB& to, const IMB_JOB& from) {
                    to.enc_keys = from.enc_keys;
                    to.dec_keys = from.dec_keys;
                    to.key_len_in_bytes = from.key_len_in_bytes;
                    to.src = from.src;
                    to.dst = from.dst;
                    to.cipher_start_src_offset_in_bytes = from.cipher_start_src_offset_in_bytes;
                    to.msg_len_to_cipher_in_bytes = from.msg_len_to_cipher_in_bytes;
                    to.hash_start_src_offset_in_bytes = from.hash_start_src_offset_in_bytes;
                    to.msg_len_to_hash_in_bytes = from.msg_len_to_hash_in_bytes;
                    to.iv = from.iv;
                    to.iv_len_in_bytes = from.iv_len_in_bytes;
                    to.auth_tag_output = from.auth_tag_output;
                    to.auth_tag_output_len_in_bytes = from.auth_tag_output_len_in_bytes;
                    to.u = from.u;
                    to.cipher_mode = from.cipher_mode;
                    to.cipher_direction = from.cipher_direction;
                    to.hash_alg = from.hash_alg;
                    to.chain_order = from.chain_order;
                  });
  if (!ok) [[unlikely]] {
    b.status = Status::Io;
    return;
  }
  for (unsigned i = 0; i < b.n; ++i) {
    Slot& slot = b.slots[i];
    const auto& r = *static_cast<const AeadRequest*>(slot.request);
    const auto& owner = *static_cast<const IpsecMbAead*>(slot.owner);
    const bool encrypt = !(slot.group & kDecrypt);
    if (slot.alone) {
      AeadRequest copy = r;
      copy.iv = slot.iv;
      slot.status = owner.fall_back(copy, encrypt);
    } else {
      const IMB_JOB& j = b.jobs[i];
      slot.status = owner.settle(r, encrypt, slot.linear, j.dst, j.msg_len_to_cipher_in_bytes, b.tags[i].data());
    }
  }
}

void add(crypto::Registry& registry, const std::shared_ptr<Manager>& manager, unsigned burst, const std::string& name,
         const std::string& driver, AeadKind kind) {
  const crypto::AlgorithmShape* shape = crypto::find_shape(name);
  AlgorithmInfo i;
  i.name = name;
  i.driver = driver + "-ipsecmb";
  i.module = "ipsecmb";
  i.priority = kIpsecMbPriority;
  i.type = crypto::AlgorithmType::Aead;
  i.async = true;
  i.block_bytes = shape->block_bytes;
  i.min_key_bytes = shape->min_key_bytes;
  i.max_key_bytes = shape->max_key_bytes;
  i.iv_bytes = shape->iv_bytes;
  i.max_auth_bytes = shape->digest_bytes;
  kind.info = std::make_shared<const AlgorithmInfo>(i);
  auto queue = std::make_shared<AeadQueue>(manager, burst, std::move(kind));
  // A failed self-test is kept by the registry and shown in its listing.
  (void)registry.add({.info = i, .make_skcipher = nullptr, .make_hash = nullptr, .make_aead = [queue] {
                        return std::make_unique<IpsecMbAead>(queue);
                      }});
}

}  // namespace

void register_ipsecmb_aeads(crypto::Registry& registry, const std::shared_ptr<Manager>& manager, unsigned burst,
                            bool des) {
  auto openssl = std::make_shared<crypto::Registry>();
  openssl->set_selftest_enabled(false);
  const auto library = OpensslLibrary::open();
  if (!library) return;
  register_openssl_aeads(*openssl, library);
  const struct {
    const char *name, *driver;
    IMB_CIPHER_MODE mode;
  } ciphers[] = {{"cbc(aes)", "cbc-aes", IMB_CIPHER_CBC},
                 {"ctr(aes)", "ctr-aes", IMB_CIPHER_CNTR},
                 {"cbc(des3_ede)", "cbc-3des", IMB_CIPHER_DES3},
                 {"cbc(des)", "cbc-des", IMB_CIPHER_DES}};
  const struct {
    const char* name;
    IMB_HASH_ALG alg;
    decltype(AeadKind::pads) pads;
    unsigned digest_bytes;
  } hashes[] = {{"md5", IMB_AUTH_MD5, hmac_pads<Md5>, 16},
                {"sha1", IMB_AUTH_HMAC_SHA_1, hmac_pads<Sha1>, 20},
                {"sha224", IMB_AUTH_HMAC_SHA_224, hmac_pads<Sha224>, 28},
                {"sha256", IMB_AUTH_HMAC_SHA_256, hmac_pads<Sha256>, 32},
                {"sha384", IMB_AUTH_HMAC_SHA_384, hmac_pads<Sha384>, 48},
                {"sha512", IMB_AUTH_HMAC_SHA_512, hmac_pads<Sha512>, 64}};
  for (const auto& c : ciphers) {
    if (!des && (c.mode == IMB_CIPHER_DES || c.mode == IMB_CIPHER_DES3)) continue;
    for (const auto& h : hashes) {
      const std::string name = "authenc(hmac(" + std::string(h.name) + ")," + c.name + ")";
      add(registry, manager, burst, name, "authenc-hmac-" + std::string(h.name) + "-" + c.driver,
          {nullptr, c.mode, h.alg, h.pads, h.digest_bytes, openssl});
    }
  }
  for (const bool rfc : {false, true}) {
    add(registry, manager, burst, rfc ? "rfc4106(gcm(aes))" : "gcm(aes)", rfc ? "rfc4106-gcm-aes" : "gcm-aes",
        {nullptr, IMB_CIPHER_GCM, IMB_AUTH_AES_GMAC, nullptr, 16, openssl});
    add(registry, manager, burst, rfc ? "rfc4309(ccm(aes))" : "ccm(aes)", rfc ? "rfc4309-ccm-aes" : "ccm-aes",
        {nullptr, IMB_CIPHER_CCM, IMB_AUTH_AES_CCM, nullptr, 16, openssl});
  }
}

}  // namespace sec::host
