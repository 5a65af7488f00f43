#include "host/compose/compose.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/compose/xts_tweak.h"
#include "host/cpu/walk.h"

namespace sec::host {
namespace {

using crypto::AlgorithmInfo;
using crypto::AlgorithmType;
using crypto::ScatterList;
using crypto::Segment;
using crypto::Skcipher;
using crypto::SkcipherRequest;

constexpr size_t kBlock = 16;
constexpr size_t kStatesPerChunk = 64;     // as many sectors as the disk workloads keep in flight
constexpr size_t kScratchBytes = 4096 + 64;  // the longest sector, and apart by whole cache lines

/// AES encryption of single blocks on the processor.
class AesBlock {
 public:
  AesBlock() : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {}
  bool set_key(std::span<const uint8_t> key) {
    const EVP_CIPHER* c = key.size() == 16   ? EVP_aes_128_ecb()
                          : key.size() == 24 ? EVP_aes_192_ecb()
                          : key.size() == 32 ? EVP_aes_256_ecb()
                                             : nullptr;
    return c && EVP_EncryptInit_ex2(context_.get(), c, key.data(), nullptr, nullptr) == 1;
  }
  bool encrypt(const uint8_t in[kBlock], uint8_t out[kBlock]) {
    return EVP_Cipher(context_.get(), out, in, kBlock) >= 0;
  }

 private:
  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context_;
};

void finish(const SkcipherRequest* r, Status s) {
  if (r->complete) r->complete(r->context, s);
}

/// What a transform works with. It lives until the transform is gone and the last callback from below has come: an
/// engine may call back long after the transform was freed, and its data still lie in our scratch.
class Core {
 public:
  Core(std::unique_ptr<Skcipher> inner, const CompositionOptions& o) : options(o), inner(std::move(inner)) {}
  virtual ~Core() = default;
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void ref() { ++refs_; }
  void unref() {
    if (--refs_ == 0) delete this;
  }
  /// The tweak or the IV: one call of the block cipher on the processor.
  void charge_block() {
    if (!options.cpu) return;
    options.cpu->charge(driver::Cost::ApiCall);
    if (options.block_ps) options.cpu->charge_ps(options.block_ps);
  }
  /// What was submitted before has ended when this returns, if the implementation below batches. Twice is enough: the
  /// first call may start the second ECB request of an XTS request, and there is no third.
  void flush() {
    ref();
    inner->flush();
    if (second_requests) inner->flush();
    unref();
  }

  const CompositionOptions options;
  AesBlock aes;
  bool keyed = false;
  bool abandoned = false;  // the transform is gone: nobody will call flush() any more
  size_t second_requests = 0;
  std::unique_ptr<Skcipher> inner;

 private:
  size_t refs_ = 1;
};

/// States of requests in flight. One chunk is made with the transform; another only when more requests are in flight
/// than ever before.
template <class State>
class Pool {
 public:
  State* take() {
    if (free_.empty() && grow().empty()) [[unlikely]]
      return nullptr;
    State* s = free_.back();
    free_.pop_back();
    return s;
  }
  void give(State* s) { free_.push_back(s); }
  /// The new states, empty when there is no memory.
  [[gnu::cold]] std::span<State> grow() {
    try {
      free_.reserve((chunks_.size() + 1) * kStatesPerChunk);
      chunks_.push_back(std::make_unique<State[]>(kStatesPerChunk));
    } catch (const std::bad_alloc&) {
      return {};
    }
    const std::span<State> chunk(chunks_.back().get(), kStatesPerChunk);
    for (State& s : chunk) free_.push_back(&s);
    return chunk;
  }
  bool empty() const { return free_.empty(); }
  template <class F>
  void for_each(F&& f) {
    for (auto& chunk : chunks_)
      for (size_t i = 0; i < kStatesPerChunk; ++i) f(chunk[i]);
  }

 private:
  std::vector<std::unique_ptr<State[]>> chunks_;
  std::vector<State*> free_;
};

/// The transform: what the three have in common.
class Composed : public Skcipher {
 public:
  Composed(AlgorithmInfo info, Core* core) : info_(std::move(info)), core_base_(core) {}
  ~Composed() override {
    core_base_->abandoned = true;
    core_base_->flush();  // what waits in a batch would wait for ever
    core_base_->unref();
  }
  Composed(const Composed&) = delete;
  Composed& operator=(const Composed&) = delete;
  const AlgorithmInfo& info() const override { return info_; }
  void flush() override { core_base_->flush(); }

 protected:
  bool length_ok(std::span<const uint8_t> key) const {
    return key.size() >= info_.min_key_bytes && key.size() <= info_.max_key_bytes;
  }

 private:
  AlgorithmInfo info_;
  Core* core_base_;
};

// -------------------------------------------------------------------------------------------------- XTS

class XtsCore final : public Core {
 public:
  XtsCore(std::unique_ptr<Skcipher> ecb, const CompositionOptions& o) : Core(std::move(ecb), o) { grow(); }
  ~XtsCore() override {
    inner.reset();  // first: it may still look at the scratch
    pool_.for_each([this](State& s) { release(s.large); });
    for (uint8_t* slab : slabs_) release(slab);
  }

  Status start(const SkcipherRequest& r, bool encrypt) {
    if (!keyed) return Status::NoKey;
    const size_t n = r.size_bytes;
    if (n == 0) return Status::Ok;
    if (n < kBlock || !r.iv || !covers(r.src, n) || !covers(r.dst, n)) return Status::Invalid;
    if (pool_.empty()) grow();
    State* s = pool_.take();
    if (!s) return Status::NoMemory;
    ref();
    s->owner = this;
    s->outer = &r;
    s->encrypt = encrypt;
    s->stealing = false;
    if (!reserve(*s, n)) return give_back(s, Status::NoMemory);
    if (!aes.encrypt(r.iv, s->t0)) return give_back(s, Status::Io);
    charge_block();
    const size_t full = n - n % kBlock;
    const uint8_t* from = single_span(r.src, n);
    if (!from) {
      crypto::copy_from(r.src, 0, s->scratch, full);
      from = s->scratch;
    }
    mask(*s, from, s->scratch);
    if (n != full) crypto::copy_from(r.src, full, s->tail, n - full);
    const Status result = submit(*s, s->scratch, full, r.flags);
    if (accepted(result)) return result;  // the state may be in use again already
    return result == Status::Ok ? go_on(s) : give_back(s, result);
  }

 private:
  struct State {
    XtsCore* owner = nullptr;
    const SkcipherRequest* outer = nullptr;
    bool encrypt = true;
    bool stealing = false;  // the second ECB request is under way
    SkcipherRequest inner;
    Segment segment;
    ScatterList list;
    alignas(16) uint8_t t0[kBlock] = {};
    uint8_t tail[kBlock] = {};    // the last, partial block of the source
    uint8_t* scratch = nullptr;   // one of the two that follow
    uint8_t* piece = nullptr;     // kScratchBytes of the chunk's slab; null when there was no memory for it
    uint8_t* large = nullptr;     // for longer requests, kept
    size_t large_bytes = 0;
  };

  Status submit(State& s, uint8_t* data, size_t n, uint32_t flags) {
    s.segment = {data, n};
    s.list = ScatterList(&s.segment, 1);
    s.inner.src = s.inner.dst = &s.list;
    s.inner.size_bytes = n;
    s.inner.flags = flags;
    s.inner.complete = &XtsCore::on_inner;
    s.inner.context = &s;
    return s.encrypt ? inner->encrypt(s.inner) : inner->decrypt(s.inner);
  }

  static void on_inner(void* context, Status status) {
    auto* s = static_cast<State*>(context);
    const SkcipherRequest* outer = s->outer;
    if (status == Status::InProgress) {
      if (!s->stealing) finish(outer, status);
      return;
    }
    if (s->stealing) --s->owner->second_requests;
    if (status == Status::Ok) {
      status = s->owner->go_on(s);
      if (accepted(status)) return;
    } else {
      static_cast<void>(s->owner->give_back(s, status));
    }
    finish(outer, status);
  }

  /// After an ECB request: unmask; then the stolen block, or the end. Gives the state back unless accepted.
  Status go_on(State* s) {
    const SkcipherRequest& r = *s->outer;
    const size_t n = r.size_bytes, tail = n % kBlock, full = n - tail;
    if (!tail) {
      if (uint8_t* to = single_span(r.dst, n)) {
        mask(*s, s->scratch, to);
        return give_back(s, Status::Ok);
      }
    }
    if (!s->stealing) {
      mask(*s, s->scratch, s->scratch);
      if (tail) {
        // The last full block gives its head to the partial block and takes the source's tail in its place.
        uint8_t* last = s->scratch + full - kBlock;
        std::memcpy(s->scratch + full, last, tail);
        std::memcpy(last, s->tail, tail);
        last_tweak(*s).apply(last, last);
        s->stealing = true;
        ++second_requests;
        ref();
        const Status result = submit(*s, last, kBlock, r.flags | crypto::kMayBacklog);
        if (accepted(result)) {  // the state may be in use again already
          if (abandoned) inner->flush();
          unref();
          return Status::InProgress;
        }
        --second_requests;
        unref();
        if (result != Status::Ok) return give_back(s, result);
      }
    }
    if (tail) {
      uint8_t* last = s->scratch + full - kBlock;
      last_tweak(*s).apply(last, last);
    }
    crypto::copy_to(r.dst, 0, s->scratch, n);
    return give_back(s, Status::Ok);
  }

  /// XORs the tweak chain over the full blocks. With a partial block, decryption swaps the last two tweaks.
  void mask(const State& s, const uint8_t* from, uint8_t* to) {
    const size_t n = s.outer->size_bytes, blocks = n / kBlock;
    XtsTweak t(s.t0);
    for (size_t i = 0; i < blocks; ++i) {
      if (i == blocks - 1 && n % kBlock && !s.encrypt) t.next();
      t.apply(from + i * kBlock, to + i * kBlock);
      t.next();
    }
    if (options.cpu) options.cpu->charge(driver::Cost::CopyByte, n);
  }
  /// The tweak of the stolen block: the one after the chain when encrypting, the last of the chain when decrypting.
  static XtsTweak last_tweak(const State& s) {
    const size_t steps = s.outer->size_bytes / kBlock - (s.encrypt ? 0 : 1);
    XtsTweak t(s.t0);
    for (size_t i = 0; i < steps; ++i) t.next();
    return t;
  }

  /// The state is free again, its reference gone: touch nothing of this object afterwards.
  Status give_back(State* s, Status result) {
    pool_.give(s);
    unref();
    return result;
  }

  void grow() {
    const std::span<State> chunk = pool_.grow();
    if (chunk.empty()) return;
    uint8_t* slab = allocate(chunk.size() * kScratchBytes);
    if (!slab) return;  // each state then gets its own when it is used
    slabs_.push_back(slab);
    for (size_t i = 0; i < chunk.size(); ++i) chunk[i].piece = slab + i * kScratchBytes;
  }
  bool reserve(State& s, size_t n) {
    if (s.piece && n <= kScratchBytes) [[likely]] {
      s.scratch = s.piece;
      return true;
    }
    if (s.large_bytes < n) {
      release(s.large);
      s.large_bytes = std::max(kScratchBytes, (n + 4095) / 4096 * 4096);
      s.large = allocate(s.large_bytes);
      if (!s.large) s.large_bytes = 0;
    }
    s.scratch = s.large;
    return s.large;
  }
  uint8_t* allocate(size_t n) {
    return static_cast<uint8_t*>(options.dma ? options.dma->alloc(n)
                                             : ::operator new(n, std::align_val_t{64}, std::nothrow));
  }
  void release(uint8_t* p) {
    if (!p) return;
    if (options.dma)
      options.dma->free(p);
    else
      ::operator delete(p, std::align_val_t{64});
  }

  Pool<State> pool_;
  std::vector<uint8_t*> slabs_;
};

class Xts final : public Composed {
 public:
  Xts(AlgorithmInfo info, std::unique_ptr<Skcipher> ecb, const CompositionOptions& o)
      : Xts(std::move(info), new XtsCore(std::move(ecb), o)) {}

  Status set_key(std::span<const uint8_t> key, uint32_t flags) override {
    if (!length_ok(key)) return Status::Invalid;
    core_.keyed = false;
    const size_t half = key.size() / 2;
    if (key.size() % 2) return Status::Invalid;
    const bool equal = CRYPTO_memcmp(key.data(), key.data() + half, half) == 0;
    if (equal && (flags & crypto::kForbidWeakKeys)) return Status::Invalid;
    if (const Status s = core_.inner->set_key(key.first(half), flags); s != Status::Ok) return s;
    if (!core_.aes.set_key(key.subspan(half))) return Status::Invalid;
    core_.keyed = true;
    return Status::Ok;
  }
  Status encrypt(SkcipherRequest& r) override { return core_.start(r, true); }
  Status decrypt(SkcipherRequest& r) override { return core_.start(r, false); }

 private:
  Xts(AlgorithmInfo info, XtsCore* core) : Composed(std::move(info), core), core_(*core) {}
  XtsCore& core_;
};

// --------------------------------------------------------------------- compositions that only make an IV

/// The data go straight through; the inner IV is computed from the request's by `make_iv` of the transform's kind.
class IvCore : public Core {
 public:
  IvCore(std::unique_ptr<Skcipher> inner, const CompositionOptions& o) : Core(std::move(inner), o) { pool_.grow(); }
  ~IvCore() override { inner.reset(); }

  Status start(const SkcipherRequest& r, bool encrypt) {
    if (!keyed) return Status::NoKey;
    if (r.size_bytes == 0) return Status::Ok;
    if (!r.iv) return Status::Invalid;
    State* s = pool_.take();
    if (!s) return Status::NoMemory;
    ref();
    s->owner = this;
    s->outer = &r;
    if (!make_iv(r.iv, s->iv)) return give_back(s, Status::Io);
    s->inner = r;
    s->inner.iv = s->iv;
    s->inner.complete = &IvCore::on_inner;
    s->inner.context = s;
    const Status result = encrypt ? inner->encrypt(s->inner) : inner->decrypt(s->inner);
    return accepted(result) ? result : give_back(s, result);
  }

 protected:
  virtual bool make_iv(const uint8_t* iv, uint8_t out[kBlock]) = 0;

 private:
  struct State {
    IvCore* owner = nullptr;
    const SkcipherRequest* outer = nullptr;
    SkcipherRequest inner;
    alignas(16) uint8_t iv[kBlock] = {};
  };

  static void on_inner(void* context, Status status) {
    auto* s = static_cast<State*>(context);
    const SkcipherRequest* outer = s->outer;
    if (status != Status::InProgress) static_cast<void>(s->owner->give_back(s, status));
    finish(outer, status);
  }
  Status give_back(State* s, Status result) {
    pool_.give(s);
    unref();
    return result;
  }

  Pool<State> pool_;
};

class Rfc3686Core final : public IvCore {
 public:
  using IvCore::IvCore;
  uint8_t nonce[4] = {};

 private:
  bool make_iv(const uint8_t* iv, uint8_t out[kBlock]) override {
    static constexpr uint8_t kOne[4] = {0, 0, 0, 1};
    std::memcpy(out, nonce, 4);
    std::memcpy(out + 4, iv, 8);
    std::memcpy(out + 12, kOne, 4);
    return true;
  }
};

class Rfc3686 final : public Composed {
 public:
  Rfc3686(AlgorithmInfo info, std::unique_ptr<Skcipher> ctr, const CompositionOptions& o)
      : Rfc3686(std::move(info), new Rfc3686Core(std::move(ctr), o)) {}
  Status set_key(std::span<const uint8_t> key, uint32_t flags) override {
    if (!length_ok(key)) return Status::Invalid;
    core_.keyed = false;
    if (const Status s = core_.inner->set_key(key.first(key.size() - 4), flags); s != Status::Ok) return s;
    std::memcpy(core_.nonce, key.data() + key.size() - 4, 4);
    core_.keyed = true;
    return Status::Ok;
  }
  Status encrypt(SkcipherRequest& r) override { return core_.start(r, true); }
  Status decrypt(SkcipherRequest& r) override { return core_.start(r, false); }

 private:
  Rfc3686(AlgorithmInfo info, Rfc3686Core* core) : Composed(std::move(info), core), core_(*core) {}
  Rfc3686Core& core_;
};

class EssivCore final : public IvCore {
 public:
  using IvCore::IvCore;

 private:
  bool make_iv(const uint8_t* iv, uint8_t out[kBlock]) override {
    charge_block();
    return aes.encrypt(iv, out);
  }
};

class Essiv final : public Composed {
 public:
  Essiv(AlgorithmInfo info, std::unique_ptr<Skcipher> cbc, const CompositionOptions& o)
      : Essiv(std::move(info), new EssivCore(std::move(cbc), o)) {}
  Status set_key(std::span<const uint8_t> key, uint32_t flags) override {
    if (!length_ok(key)) return Status::Invalid;
    core_.keyed = false;
    if (const Status s = core_.inner->set_key(key, flags); s != Status::Ok) return s;
    uint8_t digest[32];
    unsigned n = 0;
    core_.keyed =
        EVP_Digest(key.data(), key.size(), digest, &n, EVP_sha256(), nullptr) == 1 && core_.aes.set_key(digest);
    OPENSSL_cleanse(digest, sizeof digest);
    return core_.keyed ? Status::Ok : Status::Invalid;
  }
  Status encrypt(SkcipherRequest& r) override { return core_.start(r, true); }
  Status decrypt(SkcipherRequest& r) override { return core_.start(r, false); }

 private:
  Essiv(AlgorithmInfo info, EssivCore* core) : Composed(std::move(info), core), core_(*core) {}
  EssivCore& core_;
};

// ---------------------------------------------------------------------------------------- construction

enum class Kind : uint8_t { Xts, Rfc3686, Essiv };
struct KindRow {
  std::string_view inner, name, prefix, suffix;
  unsigned key_factor, key_extra, block_bytes, iv_bytes;
};
constexpr KindRow kKinds[] = {
    {"ecb(aes)", "xts(aes)", "xts(", ")", 2, 0, 16, 16},
    {"ctr(aes)", "rfc3686(ctr(aes))", "rfc3686(", ")", 1, 4, 1, 8},
    {"cbc(aes)", "essiv(cbc(aes),sha256)", "essiv(", ",sha256)", 1, 0, 16, 16},
};

AlgorithmInfo composed_info(const AlgorithmInfo& inner, const KindRow& k) {
  AlgorithmInfo i = inner;
  i.name = k.name;
  i.driver = std::string(k.prefix) + inner.driver + std::string(k.suffix);
  i.priority = inner.priority + 1;
  i.min_key_bytes = inner.min_key_bytes * k.key_factor + k.key_extra;
  i.max_key_bytes = inner.max_key_bytes * k.key_factor + k.key_extra;
  i.block_bytes = k.block_bytes;
  i.chunk_bytes = i.walk_bytes = kBlock;
  i.iv_bytes = k.iv_bytes;
  i.selftest = crypto::SelfTest::Unknown;
  return i;
}

std::unique_ptr<Skcipher> compose(const crypto::Registry& registry, std::string_view driver, Kind kind, Status* status,
                                  const CompositionOptions& options) {
  Status ignored;
  Status& result = status ? *status : ignored;
  result = Status::Ok;
  auto inner = registry.alloc_skcipher(driver, &result);
  if (!inner) return nullptr;
  const KindRow& k = kKinds[static_cast<size_t>(kind)];
  if (inner->info().name != k.inner) {
    result = Status::Invalid;
    return nullptr;
  }
  AlgorithmInfo info = composed_info(inner->info(), k);
  switch (kind) {
    case Kind::Xts: return std::make_unique<Xts>(std::move(info), std::move(inner), options);
    case Kind::Rfc3686: return std::make_unique<Rfc3686>(std::move(info), std::move(inner), options);
    case Kind::Essiv: return std::make_unique<Essiv>(std::move(info), std::move(inner), options);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Skcipher> compose_xts(const crypto::Registry& registry, std::string_view ecb_driver, Status* status,
                                      const CompositionOptions& options) {
  return compose(registry, ecb_driver, Kind::Xts, status, options);
}
std::unique_ptr<Skcipher> compose_rfc3686(const crypto::Registry& registry, std::string_view ctr_driver, Status* status,
                                          const CompositionOptions& options) {
  return compose(registry, ctr_driver, Kind::Rfc3686, status, options);
}
std::unique_ptr<Skcipher> compose_essiv(const crypto::Registry& registry, std::string_view cbc_driver, Status* status,
                                        const CompositionOptions& options) {
  return compose(registry, cbc_driver, Kind::Essiv, status, options);
}

Status register_composition(crypto::Registry& registry, std::string_view driver, const CompositionOptions& options) {
  for (const AlgorithmInfo& a : registry.list()) {
    if (a.driver != driver || a.type != AlgorithmType::Skcipher) continue;
    for (size_t k = 0; k < std::size(kKinds); ++k) {
      if (a.name != kKinds[k].inner) continue;
      const Kind kind = static_cast<Kind>(k);
      return registry.add(
          {composed_info(a, kKinds[k]),
           [&registry, name = a.driver, kind, options] { return compose(registry, name, kind, nullptr, options); },
           nullptr});
    }
    return Status::Invalid;
  }
  return Status::NoEntry;
}

unsigned register_compositions(crypto::Registry& registry, const CompositionOptions& options) {
  unsigned added = 0;
  for (const AlgorithmInfo& a : registry.list()) {
    if (a.type != AlgorithmType::Skcipher || a.selftest == crypto::SelfTest::Failed) continue;
    if (!options.module.empty() && a.module != options.module) continue;
    const bool suitable =
        std::any_of(std::begin(kKinds), std::end(kKinds), [&](const KindRow& k) { return k.inner == a.name; });
    if (!suitable) continue;
    added += register_composition(registry, a.driver, options) == Status::Ok;
  }
  return added;
}

}  // namespace sec::host
