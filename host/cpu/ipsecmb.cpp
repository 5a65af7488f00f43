#include "host/cpu/ipsecmb.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/diag.h"
#include "common/endian.h"
#include "driver/crypto/des_key.h"
#include "host/cpu/ipsecmb_queue.h"

namespace sec::host {
namespace {

using crypto::AlgorithmInfo;
using crypto::AlgorithmType;
using crypto::HashRequest;
using crypto::SkcipherRequest;

// ---------------------------------------------------------------------------------------------- ciphers

struct CipherKind {
  IMB_CIPHER_MODE mode;
  unsigned block_bytes;  // of the cipher
  AlgorithmInfo info;
  bool aes() const { return mode != IMB_CIPHER_DES && mode != IMB_CIPHER_DES3; }
  bool chained() const { return mode != IMB_CIPHER_ECB && mode != IMB_CIPHER_CNTR; }  // CBC of any cipher
};

constexpr uint8_t kDecryptGroup = 0x80;

class CipherQueue final : public Queue<SkcipherRequest> {
 public:
  CipherQueue(std::shared_ptr<Manager> m, unsigned burst, CipherKind kind)
      : Queue(std::move(m), burst), kind_(std::move(kind)) {}
  const CipherKind& kind() const { return kind_; }

 protected:
  void prepare(Batch& b) override {
    for (size_t i = 0; i < b.jobs.size(); ++i) {
      IMB_JOB& j = b.jobs[i];
      j = IMB_JOB{};
      j.iv = b.slots[i].iv;
      j.iv_len_in_bytes = kind_.mode == IMB_CIPHER_ECB ? 0 : kind_.block_bytes;
      j.cipher_mode = kind_.mode;
      j.hash_alg = IMB_AUTH_NULL;
      j.chain_order = IMB_ORDER_CIPHER_HASH;
    }
  }

  void execute(Batch& b) override {
    const unsigned n = b.n;
    // CBC decryption in place overwrites the block that becomes the output IV.
    if (kind_.chained()) {
      const unsigned block = kind_.block_bytes;
      for (unsigned i = 0; i < n; ++i)
        if ((b.slots[i].group & kDecryptGroup) && !b.slots[i].alone)
          copy_block(b.slots[i].iv_out, b.jobs[i].src + b.jobs[i].msg_len_to_cipher_in_bytes - block, block);
    }
    bool ok = true;
    if (!b.mixed) [[likely]] {
      ok = run_group(b.jobs.data(), n, b.group);
    } else {
      // Sort into groups; jobs that run alone come last.
      scratch_.clear();
      scratch_.reserve(n);
      for (unsigned first = 0; first < n; ++first) {
        const uint8_t g = b.slots[first].group;
        bool seen = b.slots[first].alone;
        for (unsigned k = 0; k < first && !seen; ++k) seen = !b.slots[k].alone && b.slots[k].group == g;
        if (seen) continue;
        scratch_.clear();
        for (unsigned k = first; k < n; ++k)
          if (!b.slots[k].alone && b.slots[k].group == g) scratch_.push_back(b.jobs[k]);
        ok = run_group(scratch_.data(), static_cast<unsigned>(scratch_.size()), g) && ok;
      }
      for (unsigned i = 0; i < n; ++i)
        if (b.slots[i].alone) ok = run_in_parts(b.jobs[i], b.slots[i]) && ok;
    }
    if (!ok) [[unlikely]] {
      b.status = Status::Io;
      return;
    }
    if (b.slow)
      for (unsigned i = 0; i < n; ++i)
        if (b.slots[i].linear) {
          const auto* r = static_cast<const SkcipherRequest*>(b.slots[i].request);
          crypto::copy_to(r->dst, 0, b.bounce[i].data(), r->size_bytes);
        }
    write_ivs(b);
  }

 private:
  void write_ivs(Batch& b) {
    const unsigned n = b.n;
    if (kind_.mode == IMB_CIPHER_CBC && !b.mixed && !(b.group & kDecryptGroup)) {
      for (unsigned i = 0; i < n; ++i)
        std::memcpy(static_cast<const SkcipherRequest*>(b.slots[i].request)->iv,
                    b.jobs[i].dst + b.jobs[i].msg_len_to_cipher_in_bytes - 16, 16);
    } else if (kind_.chained()) {
      const unsigned block = kind_.block_bytes;
      for (unsigned i = 0; i < n; ++i) {
        const IMB_JOB& j = b.jobs[i];
        auto* r = static_cast<SkcipherRequest*>(b.slots[i].request);
        const uint8_t* from = (b.slots[i].group & kDecryptGroup) || b.slots[i].alone
                                  ? b.slots[i].iv_out
                                  : j.dst + j.msg_len_to_cipher_in_bytes - block;
        copy_block(r->iv, from, block);
      }
    } else if (kind_.mode == IMB_CIPHER_CNTR) {
      for (unsigned i = 0; i < n; ++i) {
        auto* r = static_cast<SkcipherRequest*>(b.slots[i].request);
        if (b.slots[i].alone) {
          std::memcpy(r->iv, b.slots[i].iv_out, 16);
        } else {
          // The blocks fit in the low 32 bits but for the very last increment, which may carry out.
          std::memcpy(r->iv, b.slots[i].iv, 16);
          const uint32_t low = load_be32(r->iv + 12);
          const uint32_t after = low + static_cast<uint32_t>((b.jobs[i].msg_len_to_cipher_in_bytes + 15) / 16);
          if (after >= low) [[likely]]
            store_be32(r->iv + 12, after);
          else
            add_be128(r->iv, (b.jobs[i].msg_len_to_cipher_in_bytes + 15) / 16);
        }
      }
    }
  }

  /// Jobs of one direction and key size, done when it returns.
  bool run_group(IMB_JOB* jobs, unsigned n, uint8_t group) {
    const bool dec = group & kDecryptGroup;
    if (kind_.mode == IMB_CIPHER_CBC || kind_.mode == IMB_CIPHER_CNTR)
      return IMB_SUBMIT_CIPHER_BURST_NOCHECK(mgr(), jobs, n, kind_.mode, dec ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT,
                                             static_cast<IMB_KEY_SIZE_BYTES>(group & ~kDecryptGroup)) == n;
    const IMB_CIPHER_DIRECTION direction = dec ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT;
    return run_ring(mgr(), jobs, n, [direction](IMB_JOB& to, const IMB_JOB& from) {
      to.enc_keys = from.enc_keys;
      to.dec_keys = from.dec_keys;
      to.key_len_in_bytes = from.key_len_in_bytes;
      to.src = from.src;
      to.dst = from.dst;
      to.cipher_start_src_offset_in_bytes = 0;
      to.msg_len_to_cipher_in_bytes = from.msg_len_to_cipher_in_bytes;
      to.iv = from.iv;
      to.iv_len_in_bytes = from.iv_len_in_bytes;
      to.cipher_mode = from.cipher_mode;
      to.cipher_direction = direction;
      to.hash_alg = IMB_AUTH_NULL;
      to.chain_order = IMB_ORDER_CIPHER_HASH;
    });
  }

  /// A request that does not fit one job: parts one after the other, IV carried.
  bool run_in_parts(IMB_JOB job, Slot& slot) {
    const auto* r = static_cast<const SkcipherRequest*>(slot.request);
    const unsigned block = kind_.block_bytes;
    const bool dec = slot.group & kDecryptGroup;
    ListCursor in(r->src, r->size_bytes), out(r->dst, r->size_bytes);
    const uint8_t* src = single_span(r->src, r->size_bytes);
    uint8_t* dst = single_span(r->dst, r->size_bytes);
    alignas(16) uint8_t iv[16];
    std::memcpy(iv, slot.iv, 16);
    job.iv = iv;
    if (!(src && dst)) parts_.resize(kMaxJobBytes);
    for (size_t done = 0; done < r->size_bytes;) {
      size_t n = std::min(kMaxJobBytes, r->size_bytes - done);
      if (kind_.mode == IMB_CIPHER_CNTR)  // up to the carry out of the low 32 bits
        n = static_cast<size_t>(std::min<uint64_t>(n, ((uint64_t{1} << 32) - load_be32(iv + 12)) * 16));
      if (src && dst) {
        job.src = src + done;
        job.dst = dst + done;
      } else {
        in.read(parts_.data(), n);
        job.src = job.dst = parts_.data();
      }
      job.msg_len_to_cipher_in_bytes = n;
      uint8_t next_iv[16] = {};
      if (kind_.chained() && dec) std::memcpy(next_iv, job.src + n - block, block);
      if (!run_group(&job, 1, slot.group)) return false;
      if (kind_.chained()) {
        std::memcpy(iv, dec ? next_iv : job.dst + n - block, block);
      } else if (kind_.mode == IMB_CIPHER_CNTR) {
        add_be128(iv, (n + 15) / 16);
      }
      if (!(src && dst)) out.write(parts_.data(), n);
      done += n;
    }
    std::memcpy(slot.iv_out, iv, 16);
    return true;
  }

  CipherKind kind_;
  std::vector<IMB_JOB> scratch_;
  std::vector<uint8_t> parts_;
};

class IpsecMbCipher final : public crypto::Skcipher {
 public:
  explicit IpsecMbCipher(std::shared_ptr<CipherQueue> queue)
      : queue_(std::move(queue)),
        ctr_(queue_->kind().mode == IMB_CIPHER_CNTR),
        iv_bytes_(static_cast<uint8_t>(info().iv_bytes)),
        block_mask_(info().block_bytes - 1) {}
  ~IpsecMbCipher() override { queue_->finish(this); }
  IpsecMbCipher(const IpsecMbCipher&) = delete;
  IpsecMbCipher& operator=(const IpsecMbCipher&) = delete;

  const AlgorithmInfo& info() const override { return queue_->kind().info; }

  Status set_key(std::span<const uint8_t> key, uint32_t key_flags) override {
    const AlgorithmInfo& i = info();
    if (key.size() < i.min_key_bytes || key.size() > i.max_key_bytes) return Status::Invalid;
    queue_->finish(this);
    key_bytes_ = 0;
    IMB_MGR* m = queue_->mgr();
    if (queue_->kind().aes()) {
      switch (key.size()) {
        case 16:
          IMB_AES_KEYEXP_128(m, key.data(), enc_, dec_);
          break;
        case 24:
          IMB_AES_KEYEXP_192(m, key.data(), enc_, dec_);
          break;
        case 32:
          IMB_AES_KEYEXP_256(m, key.data(), enc_, dec_);
          break;
        default:
          return Status::Invalid;
      }
      enc_keys_ = enc_;
      // CTR only ever encrypts.
      dec_keys_ = queue_->kind().mode == IMB_CIPHER_CNTR ? enc_ : dec_;
    } else {
      const Status s = key.size() == 8 ? crypto::check_des_key(key, key_flags) : crypto::check_des3_key(key, key_flags);
      if (s != Status::Ok) return s;
      for (size_t k = 0; k < key.size() / 8; ++k) {
        IMB_DES_KEYSCHED(m, schedule_[k], key.data() + 8 * k);
        schedules_[k] = schedule_[k];
      }
      enc_keys_ = dec_keys_ = key.size() == 8 ? static_cast<const void*>(schedule_[0]) : schedules_;
    }
    key_bytes_ = static_cast<uint8_t>(key.size());
    return Status::Ok;
  }

  Status encrypt(SkcipherRequest& r) override { return submit(r, 0); }
  Status decrypt(SkcipherRequest& r) override {
    return submit(r, queue_->kind().mode == IMB_CIPHER_CNTR ? 0 : kDecryptGroup);
  }
  void flush() override { queue_->flush(); }

 private:
  Status submit(SkcipherRequest& r, uint8_t direction) {
    const size_t n = r.size_bytes;
    const uint8_t* src = single_span(r.src, n);
    uint8_t* dst = single_span(r.dst, n);
    if (!key_bytes_ || n == 0 || n > kMaxJobBytes || n & block_mask_ || !src || !dst) [[unlikely]]
      return submit_special(r, direction);
    if (ctr_ && carries(r.iv, n)) [[unlikely]]
      return submit_special(r, direction);
    CipherQueue& q = *queue_;
    Batch& b = q.filling();
    put(b, r, direction, src, dst, n, false, false);
    q.added();
    return Status::InProgress;
  }

  /// True when the counter's low 32 bits, which is all the library counts with, overflow before the last block.
  static bool carries(const uint8_t* iv, size_t n) {
    return load_be32(iv + 12) + uint64_t{(n + 15) / 16} > uint64_t{1} << 32;
  }

  void put(Batch& b, SkcipherRequest& r, uint8_t direction, const uint8_t* src, uint8_t* dst, size_t n, bool alone,
           bool linear) {
    IMB_JOB& j = b.jobs[b.n];
    Slot& slot = b.slots[b.n];
    if (iv_bytes_) copy_block(slot.iv, r.iv, iv_bytes_);
    const uint8_t group = key_bytes_ | direction;
    slot.request = &r;
    slot.owner = this;
    slot.group = group;
    slot.alone = alone;
    slot.linear = linear;
    if (b.n == 0) b.group = group;
    b.mixed |= alone | (group != b.group);
    j.src = src;
    j.dst = dst;
    j.msg_len_to_cipher_in_bytes = n;
    j.enc_keys = enc_keys_;
    j.dec_keys = dec_keys_;
    j.key_len_in_bytes = key_bytes_;
  }

  /// Everything out of the ordinary; apart, so that the usual way stays short.
  [[gnu::noinline]] Status submit_special(SkcipherRequest& r, uint8_t direction) {
    if (!key_bytes_) return Status::NoKey;
    const size_t n = r.size_bytes;
    if (n == 0) return Status::Ok;
    if (n & block_mask_) return Status::Invalid;
    const uint8_t* src = single_span(r.src, n);
    uint8_t* dst = single_span(r.dst, n);
    const bool scattered = !src || !dst;
    if (scattered && (!covers(r.src, n) || !covers(r.dst, n))) return Status::Invalid;
    CipherQueue& q = *queue_;
    Batch& b = q.filling();
    b.slow = true;
    const bool alone = n > kMaxJobBytes || (ctr_ && carries(r.iv, n));
    const bool linear = scattered && !alone;
    if (alone) {
      if (auto* s = q.stats()) ++s->cut;
    } else {
      auto& bounce = b.bounce[b.n];
      if (bounce.size() < n) bounce.resize(n);
      crypto::copy_from(r.src, 0, bounce.data(), n);
      src = dst = bounce.data();
      if (auto* s = q.stats()) ++s->linearised;
    }
    put(b, r, direction, src, dst, n, alone, linear);
    q.added();
    return Status::InProgress;
  }

  std::shared_ptr<CipherQueue> queue_;
  const void* enc_keys_ = nullptr;
  const void* dec_keys_ = nullptr;
  uint8_t key_bytes_ = 0;
  const bool ctr_;
  const uint8_t iv_bytes_;
  const size_t block_mask_;
  alignas(64) uint8_t enc_[16 * 15] = {}, dec_[16 * 15] = {};
  alignas(64) uint64_t schedule_[3][IMB_DES_KEY_SCHED_SIZE / 8] = {};
  const void* schedules_[3] = {};
};

// ---------------------------------------------------------------------------------------------- hashes

template <class H>
class IpsecMbHash;

template <class H>
class HashQueue final : public Queue<HashRequest> {
 public:
  HashQueue(std::shared_ptr<Manager> m, unsigned burst, AlgorithmInfo info, IMB_HASH_ALG alg, bool hmac)
      : Queue(std::move(m), burst), info(std::move(info)), alg(alg), hmac(hmac) {}

  const AlgorithmInfo info;
  const IMB_HASH_ALG alg;
  const bool hmac;

 protected:
  void prepare(Batch& b) override {
    for (IMB_JOB& j : b.jobs) {
      j = IMB_JOB{};
      j.cipher_mode = IMB_CIPHER_NULL;
      j.cipher_direction = IMB_DIR_ENCRYPT;
      j.chain_order = IMB_ORDER_HASH_CIPHER;
      j.hash_alg = alg;
      j.auth_tag_output_len_in_bytes = H::kDigestBytes;
    }
  }
  void execute(Batch& b) override;

 private:
  bool run_group(IMB_JOB* jobs, unsigned n) {
    // The burst call knows HMAC-SHA-1 and -2 only.
    if (hmac && alg != IMB_AUTH_MD5) return IMB_SUBMIT_HASH_BURST_NOCHECK(mgr(), jobs, n, alg) == n;
    return run_ring(mgr(), jobs, n, [](IMB_JOB& to, const IMB_JOB& from) {
      to.src = from.src;
      to.hash_start_src_offset_in_bytes = 0;
      to.msg_len_to_hash_in_bytes = from.msg_len_to_hash_in_bytes;
      to.auth_tag_output = from.auth_tag_output;
      to.auth_tag_output_len_in_bytes = from.auth_tag_output_len_in_bytes;
      to.u.HMAC = from.u.HMAC;
      to.hash_alg = from.hash_alg;
      to.cipher_mode = IMB_CIPHER_NULL;
      to.cipher_direction = IMB_DIR_ENCRYPT;
      to.chain_order = IMB_ORDER_HASH_CIPHER;
    });
  }
  std::vector<IMB_JOB> scratch_;
};

template <class H>
class IpsecMbHash final : public crypto::Hash {
 public:
  explicit IpsecMbHash(std::shared_ptr<HashQueue<H>> queue) : queue_(std::move(queue)) {}
  ~IpsecMbHash() override { queue_->finish(this); }
  IpsecMbHash(const IpsecMbHash&) = delete;
  IpsecMbHash& operator=(const IpsecMbHash&) = delete;

  const AlgorithmInfo& info() const override { return queue_->info; }

  Status set_key(std::span<const uint8_t> key) override {
    if (!queue_->hmac) return Status::Invalid;
    queue_->finish(this);
    fallback_.set_key(key);
    hmac_pads<H>(queue_->mgr(), key, inner_, outer_);
    return Status::Ok;
  }

  Status digest(HashRequest& r) override {
    HashQueue<H>& q = *queue_;
    if (q.hmac && !fallback_.keyed()) [[unlikely]]
      return Status::NoKey;
    const size_t n = r.size_bytes;
    const uint8_t* src = n ? single_span(r.src, n) : nullptr;
    Batch& b = q.filling();
    IMB_JOB& j = b.jobs[b.n];
    Slot& slot = b.slots[b.n];
    slot.alone = n == 0 || n > kMaxHashBytes;
    if (!src || slot.alone) [[unlikely]] {
      if (!src && !covers(r.src, n)) return Status::Invalid;
      if (slot.alone) {
        b.mixed = true;
        if (auto* s = q.stats()) ++s->fallbacks;
      } else {
        auto& bounce = b.bounce[b.n];
        if (bounce.size() < n) bounce.resize(n);
        crypto::copy_from(r.src, 0, bounce.data(), n);
        src = bounce.data();
        if (auto* s = q.stats()) ++s->linearised;
      }
    }
    j.src = src;
    j.msg_len_to_hash_in_bytes = n;
    j.auth_tag_output = r.digest;
    if (q.hmac) {
      j.u.HMAC._hashed_auth_key_xor_ipad = inner_;
      j.u.HMAC._hashed_auth_key_xor_opad = outer_;
    }
    slot.request = &r;
    slot.owner = this;
    q.added();
    return Status::InProgress;
  }
  void flush() override { queue_->flush(); }

  const KeyedHash<H>& fallback() const { return fallback_; }

 private:
  std::shared_ptr<HashQueue<H>> queue_;
  KeyedHash<H> fallback_;
  alignas(64) uint8_t inner_[64] = {}, outer_[64] = {};
};

template <class H>
void HashQueue<H>::execute(Batch& b) {
  if (!b.mixed) [[likely]] {
    if (!run_group(b.jobs.data(), b.n)) b.status = Status::Io;
    return;
  }
  scratch_.clear();
  for (unsigned i = 0; i < b.n; ++i)
    if (!b.slots[i].alone) scratch_.push_back(b.jobs[i]);
  if (!scratch_.empty() && !run_group(scratch_.data(), static_cast<unsigned>(scratch_.size()))) b.status = Status::Io;
  for (unsigned i = 0; i < b.n; ++i)
    if (b.slots[i].alone) {
      const auto* r = static_cast<const HashRequest*>(b.slots[i].request);
      const auto* t = static_cast<const IpsecMbHash<H>*>(b.slots[i].owner);
      if (!t->fallback().digest(r->src, r->size_bytes, r->digest)) b.status = Status::Io;
    }
}

// ---------------------------------------------------------------------------------------- registration

std::shared_ptr<Manager> make_manager(const IpsecMbOptions& options) {
  uint64_t flags = 0;
  if (options.arch == IpsecMbArch::NoAesni) flags |= IMB_FLAG_AESNI_OFF;
  if (options.arch == IpsecMbArch::Avx512NoVaes) flags |= IMB_FLAG_GFNI_OFF;
  auto manager = std::make_shared<Manager>();
  manager->mgr = alloc_mb_mgr(flags);
  IMB_MGR* m = manager->mgr;
  if (!m) return nullptr;
  // Asking for code that the processor lacks would set up function tables that fault.
  auto has = [m](uint64_t f) { return (m->features & f) == f; };
  switch (options.arch) {
    case IpsecMbArch::Auto: {
      IMB_ARCH arch = IMB_ARCH_NONE;
      init_mb_mgr_auto(m, &arch);
      break;
    }
    case IpsecMbArch::NoAesni:
    case IpsecMbArch::Sse:
      if (!has(IMB_CPUFLAGS_NO_AESNI)) return nullptr;
      init_mb_mgr_sse(m);
      break;
    case IpsecMbArch::Avx:
      if (!has(IMB_CPUFLAGS_AVX)) return nullptr;
      init_mb_mgr_avx(m);
      break;
    case IpsecMbArch::Avx2:
      if (!has(IMB_CPUFLAGS_AVX2)) return nullptr;
      init_mb_mgr_avx2(m);
      break;
    case IpsecMbArch::Avx512NoVaes:
    case IpsecMbArch::Avx512:
      if (!has(IMB_CPUFLAGS_AVX512)) return nullptr;
      init_mb_mgr_avx512(m);
      break;
  }
  if (imb_get_errno(m) != 0 || !m->submit_job_nocheck) return nullptr;
  manager->stats = options.stats;
  return manager;
}

struct CipherRow {
  const char *name, *driver;
  IMB_CIPHER_MODE mode;
  unsigned block, cipher_block, min_key, max_key, iv;
};
constexpr CipherRow kCiphers[] = {
    {"ecb(aes)", "ecb-aes-ipsecmb", IMB_CIPHER_ECB, 16, 16, 16, 32, 0},
    {"cbc(aes)", "cbc-aes-ipsecmb", IMB_CIPHER_CBC, 16, 16, 16, 32, 16},
    {"ctr(aes)", "ctr-aes-ipsecmb", IMB_CIPHER_CNTR, 1, 16, 16, 32, 16},
    {"cbc(des)", "cbc-des-ipsecmb", IMB_CIPHER_DES, 8, 8, 8, 8, 8},
    {"cbc(des3_ede)", "cbc-3des-ipsecmb", IMB_CIPHER_DES3, 8, 8, 24, 24, 8},
};

template <class H>
void add_hash(crypto::Registry& registry, const std::shared_ptr<Manager>& manager, unsigned burst, IMB_HASH_ALG alg,
              bool hmac) {
  AlgorithmInfo i;
  const std::string base(H::kName);
  i.name = hmac ? "hmac(" + base + ")" : base;
  i.driver = (hmac ? "hmac-" + base : base) + "-ipsecmb";
  i.module = "ipsecmb";
  i.priority = kIpsecMbPriority;
  i.type = AlgorithmType::Hash;
  i.async = true;
  i.block_bytes = H::kBlockBytes;
  i.digest_bytes = H::kDigestBytes;
  auto queue = std::make_shared<HashQueue<H>>(manager, burst, i, alg, hmac);
  (void)registry.add({i, nullptr, [queue] { return std::make_unique<IpsecMbHash<H>>(queue); }});
}

}  // namespace

bool register_ipsecmb(crypto::Registry& registry, const IpsecMbOptions& options) {
  const unsigned burst = std::clamp(options.burst, 1u, static_cast<unsigned>(IMB_MAX_BURST_SIZE));
  const auto manager = make_manager(options);
  if (!manager) return false;
  const bool des = manager->mgr->used_arch == IMB_ARCH_AVX512 || options.des_without_avx512;
  for (const CipherRow& c : kCiphers) {
    CipherKind kind{c.mode, c.cipher_block, {}};
    if (!kind.aes() && !des) continue;
    AlgorithmInfo& i = kind.info;
    i.name = c.name;
    i.driver = c.driver;
    i.module = "ipsecmb";
    i.priority = kIpsecMbPriority;
    i.async = true;
    i.block_bytes = c.block;
    i.chunk_bytes = i.walk_bytes = c.cipher_block;
    i.min_key_bytes = c.min_key;
    i.max_key_bytes = c.max_key;
    i.iv_bytes = c.iv;
    const AlgorithmInfo info = i;
    auto queue = std::make_shared<CipherQueue>(manager, burst, std::move(kind));
    // A failed self-test is kept by the registry and shown in its listing.
    (void)registry.add({info, [queue] { return std::make_unique<IpsecMbCipher>(queue); }, nullptr});
  }
  register_ipsecmb_aeads(registry, manager, burst, des);
  add_hash<Sha1>(registry, manager, burst, IMB_AUTH_SHA_1, false);
  add_hash<Sha224>(registry, manager, burst, IMB_AUTH_SHA_224, false);
  add_hash<Sha256>(registry, manager, burst, IMB_AUTH_SHA_256, false);
  add_hash<Sha384>(registry, manager, burst, IMB_AUTH_SHA_384, false);
  add_hash<Sha512>(registry, manager, burst, IMB_AUTH_SHA_512, false);
  add_hash<Md5>(registry, manager, burst, IMB_AUTH_MD5, true);
  add_hash<Sha1>(registry, manager, burst, IMB_AUTH_HMAC_SHA_1, true);
  add_hash<Sha224>(registry, manager, burst, IMB_AUTH_HMAC_SHA_224, true);
  add_hash<Sha256>(registry, manager, burst, IMB_AUTH_HMAC_SHA_256, true);
  add_hash<Sha384>(registry, manager, burst, IMB_AUTH_HMAC_SHA_384, true);
  add_hash<Sha512>(registry, manager, burst, IMB_AUTH_HMAC_SHA_512, true);
  return true;
}

}  // namespace sec::host
