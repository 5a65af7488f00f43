#include "host/compose/compose.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <new>
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
  bool encrypt(const uint8_t in[kBlock], uint8_t out[kBlock]) { return EVP_Cipher(context_.get(), out, in, kBlock) >= 0; }

 private:
  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context_;
};

/// States of requests in flight, reused.
template <class State>
class Pool {
 public:
  State* take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<State>());
      free_.reserve(all_.size());
      return all_.back().get();
    }
    State* s = free_.back();
    free_.pop_back();
    return s;
  }
  void give(State* s) { free_.push_back(s); }
  template <class F>
  void for_each(F&& f) {
    for (auto& s : all_) f(*s);
  }

 private:
  std::vector<std::unique_ptr<State>> all_;
  std::vector<State*> free_;
};

void finish(const SkcipherRequest* r, Status s) {
  if (r->complete) r->complete(r->context, s);
}

/// What the three have in common. The inner transform is destroyed first: it may still call back.
class Composed : public Skcipher {
 public:
  Composed(AlgorithmInfo info, const ComposeOptions& o) : info_(std::move(info)), options_(o) {}
  const AlgorithmInfo& info() const override { return info_; }

 protected:
  bool length_ok(std::span<const uint8_t> key) const {
    return key.size() >= info_.min_key_bytes && key.size() <= info_.max_key_bytes;
  }
  void charge_block() {
    if (options_.cpu && options_.block_ps) options_.cpu->charge_ps(options_.block_ps);
  }

  AlgorithmInfo info_;
  ComposeOptions options_;
  AesBlock aes_;
  bool keyed_ = false;
};

// -------------------------------------------------------------------------------------------------- XTS

class Xts final : public Composed {
 public:
  Xts(AlgorithmInfo info, std::unique_ptr<Skcipher> ecb, const ComposeOptions& o)
      : Composed(std::move(info), o), ecb_(std::move(ecb)) {}
  ~Xts() override {
    // What waits in a batch comes back now and may still need its second ECB request.
    ecb_->flush();
    ecb_.reset();
    pool_.for_each([this](State& s) { release_scratch(s); });
  }

  Status set_key(std::span<const uint8_t> key, uint32_t flags) override {
    if (!length_ok(key)) return Status::Invalid;
    keyed_ = false;
    const size_t half = key.size() / 2;
    if (key.size() % 2) return Status::Invalid;
    if ((flags & crypto::kForbidWeakKeys) && std::equal(key.begin(), key.begin() + static_cast<long>(half), key.begin() + static_cast<long>(half)))
      return Status::Invalid;
    if (const Status s = ecb_->set_key(key.first(half), flags); s != Status::Ok) return s;
    if (!aes_.set_key(key.subspan(half))) return Status::Invalid;
    keyed_ = true;
    return Status::Ok;
  }
  Status encrypt(SkcipherRequest& r) override { return start(r, true); }
  Status decrypt(SkcipherRequest& r) override { return start(r, false); }
  void flush() override { ecb_->flush(); }

 private:
  struct State {
    Xts* owner = nullptr;
    const SkcipherRequest* outer = nullptr;
    bool encrypt = true;
    bool stealing = false;  // the second ECB request is under way
    SkcipherRequest inner;
    Segment segment;
    ScatterList list;
    alignas(16) uint8_t t0[kBlock], iv[kBlock];
    uint8_t tail[kBlock];  // the last, partial block of the source
    uint8_t* scratch = nullptr;
    size_t capacity = 0;
  };

  Status start(SkcipherRequest& r, bool encrypt) {
    if (!keyed_) return Status::NoKey;
    const size_t n = r.size_bytes;
    if (n == 0) return Status::Ok;
    if (n < kBlock || !covers(r.src, n) || !covers(r.dst, n)) return Status::Invalid;
    State* s = pool_.take();
    if (!reserve(*s, n)) {
      pool_.give(s);
      return Status::NoMemory;
    }
    s->owner = this;
    s->outer = &r;
    s->encrypt = encrypt;
    s->stealing = false;
    if (!aes_.encrypt(r.iv, s->t0)) {
      pool_.give(s);
      return Status::Io;
    }
    charge_block();
    crypto::copy_from(r.src, 0, s->scratch, n);
    const size_t full = n - n % kBlock;
    std::memcpy(s->tail, s->scratch + full, n - full);
    mask(*s);
    const Status result = submit(*s, s->scratch, full, r.flags);
    if (accepted(result)) return result;  // the state may be in use again already
    if (result == Status::Ok) return go_on(s);
    pool_.give(s);
    return result;
  }

  Status submit(State& s, uint8_t* data, size_t n, uint32_t flags) {
    s.segment = {data, n};
    s.list = ScatterList(&s.segment, 1);
    s.inner.src = s.inner.dst = &s.list;
    s.inner.size_bytes = n;
    s.inner.flags = flags;
    s.inner.complete = &Xts::on_inner;
    s.inner.context = &s;
    return s.encrypt ? ecb_->encrypt(s.inner) : ecb_->decrypt(s.inner);
  }

  static void on_inner(void* context, Status status) {
    auto* s = static_cast<State*>(context);
    const SkcipherRequest* outer = s->outer;
    if (status == Status::InProgress) {
      if (!s->stealing) finish(outer, status);
      return;
    }
    if (status == Status::Ok) {
      status = s->owner->go_on(s);
      if (accepted(status)) return;
    } else {
      s->owner->pool_.give(s);
    }
    finish(outer, status);  // the transform may be gone after this
  }

  /// After an ECB request: unmask; then the stolen block, or the end. Gives the state back unless accepted.
  Status go_on(State* s) {
    const SkcipherRequest& r = *s->outer;
    const size_t n = r.size_bytes, tail = n % kBlock, full = n - tail;
    if (!s->stealing) {
      mask(*s);
      if (tail) {
        s->stealing = true;
        // The last full block gives its head to the partial block and takes the source's tail in its place.
        uint8_t* last = s->scratch + full - kBlock;
        std::memcpy(s->scratch + full, last, tail);
        std::memcpy(last, s->tail, tail);
        last_tweak(*s, s->encrypt).apply(last);
        const Status result = submit(*s, last, kBlock, r.flags | crypto::kMayBacklog);
        if (accepted(result)) return Status::InProgress;
        if (result != Status::Ok) {
          pool_.give(s);
          return result;
        }
      }
    }
    if (tail) last_tweak(*s, s->encrypt).apply(s->scratch + full - kBlock);
    crypto::copy_to(r.dst, 0, s->scratch, n);
    pool_.give(s);
    return Status::Ok;
  }

  /// XORs the tweak chain over the full blocks. With a partial block, decryption swaps the last two tweaks.
  void mask(const State& s) {
    const size_t n = s.outer->size_bytes, blocks = n / kBlock;
    XtsTweak t(s.t0);
    for (size_t i = 0; i < blocks; ++i) {
      if (i == blocks - 1 && n % kBlock && !s.encrypt) t.next();
      t.apply(s.scratch + i * kBlock);
      t.next();
    }
    if (options_.cpu) options_.cpu->charge(driver::Cost::CopyByte, blocks * kBlock);
  }
  /// The tweak of the stolen block: the one after the chain when encrypting, the last of the chain when decrypting.
  static XtsTweak last_tweak(const State& s, bool encrypt) {
    const size_t blocks = s.outer->size_bytes / kBlock;
    XtsTweak t(s.t0);
    for (size_t i = 0; i + (encrypt ? 0 : 1) < blocks; ++i) t.next();
    return t;
  }

  bool reserve(State& s, size_t n) {
    const size_t want = std::max<size_t>(n + kBlock, 512 + kBlock);
    if (s.capacity >= want) return true;
    release_scratch(s);
    s.scratch = static_cast<uint8_t*>(options_.dma ? options_.dma->alloc(want) : ::operator new(want, std::align_val_t{64}, std::nothrow));
    s.capacity = s.scratch ? want : 0;
    return s.scratch;
  }
  void release_scratch(State& s) {
    if (!s.scratch) return;
    if (options_.dma)
      options_.dma->free(s.scratch);
    else
      ::operator delete(s.scratch, std::align_val_t{64});
    s.scratch = nullptr;
    s.capacity = 0;
  }

  Pool<State> pool_;
  std::unique_ptr<Skcipher> ecb_;
};

// --------------------------------------------------------------------- compositions that only make an IV

/// The data go straight through; `make_iv` computes the inner IV from the request's.
class IvComposed : public Composed {
 public:
  IvComposed(AlgorithmInfo info, std::unique_ptr<Skcipher> inner, const ComposeOptions& o)
      : Composed(std::move(info), o), inner_(std::move(inner)) {}
  Status encrypt(SkcipherRequest& r) override { return start(r, true); }
  Status decrypt(SkcipherRequest& r) override { return start(r, false); }
  void flush() override { inner_->flush(); }

 protected:
  virtual bool make_iv(const uint8_t* iv, uint8_t out[kBlock]) = 0;

 private:
  struct State {
    IvComposed* owner = nullptr;
    const SkcipherRequest* outer = nullptr;
    SkcipherRequest inner;
    alignas(16) uint8_t iv[kBlock];
  };

  Status start(SkcipherRequest& r, bool encrypt) {
    if (!keyed_) return Status::NoKey;
    if (r.size_bytes == 0) return Status::Ok;
    State* s = pool_.take();
    s->owner = this;
    s->outer = &r;
    if (!make_iv(r.iv, s->iv)) {
      pool_.give(s);
      return Status::Io;
    }
    s->inner = r;
    s->inner.iv = s->iv;
    s->inner.complete = &IvComposed::on_inner;
    s->inner.context = s;
    const Status result = encrypt ? inner_->encrypt(s->inner) : inner_->decrypt(s->inner);
    if (!accepted(result)) pool_.give(s);
    return result;
  }
  static void on_inner(void* context, Status status) {
    auto* s = static_cast<State*>(context);
    const SkcipherRequest* outer = s->outer;
    if (status != Status::InProgress) s->owner->pool_.give(s);
    finish(outer, status);
  }

  Pool<State> pool_;

 protected:
  std::unique_ptr<Skcipher> inner_;
};

class Rfc3686 final : public IvComposed {
 public:
  using IvComposed::IvComposed;
  Status set_key(std::span<const uint8_t> key, uint32_t flags) override {
    if (!length_ok(key)) return Status::Invalid;
    keyed_ = false;
    if (const Status s = inner_->set_key(key.first(key.size() - 4), flags); s != Status::Ok) return s;
    std::memcpy(nonce_, key.data() + key.size() - 4, 4);
    keyed_ = true;
    return Status::Ok;
  }

 private:
  bool make_iv(const uint8_t* iv, uint8_t out[kBlock]) override {
    static constexpr uint8_t kOne[4] = {0, 0, 0, 1};
    std::memcpy(out, nonce_, 4);
    std::memcpy(out + 4, iv, 8);
    std::memcpy(out + 12, kOne, 4);
    return true;
  }
  uint8_t nonce_[4] = {};
};

class Essiv final : public IvComposed {
 public:
  using IvComposed::IvComposed;
  Status set_key(std::span<const uint8_t> key, uint32_t flags) override {
    if (!length_ok(key)) return Status::Invalid;
    keyed_ = false;
    if (const Status s = inner_->set_key(key, flags); s != Status::Ok) return s;
    uint8_t digest[32];
    unsigned n = 0;
    if (EVP_Digest(key.data(), key.size(), digest, &n, EVP_sha256(), nullptr) != 1 || !aes_.set_key(digest)) return Status::Invalid;
    keyed_ = true;
    return Status::Ok;
  }

 private:
  bool make_iv(const uint8_t* iv, uint8_t out[kBlock]) override {
    charge_block();
    return aes_.encrypt(iv, out);
  }
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
  i.priority = inner.priority - kCompositionPriorityStep;
  i.min_key_bytes = inner.min_key_bytes * k.key_factor + k.key_extra;
  i.max_key_bytes = inner.max_key_bytes * k.key_factor + k.key_extra;
  i.block_bytes = k.block_bytes;
  i.chunk_bytes = i.walk_bytes = kBlock;
  i.iv_bytes = k.iv_bytes;
  i.selftest = crypto::SelfTest::Unknown;
  return i;
}

std::unique_ptr<Skcipher> compose(const crypto::Registry& registry, std::string_view driver, Kind kind, Status* status,
                                  const ComposeOptions& options) {
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
                                      const ComposeOptions& options) {
  return compose(registry, ecb_driver, Kind::Xts, status, options);
}
std::unique_ptr<Skcipher> compose_rfc3686(const crypto::Registry& registry, std::string_view ctr_driver, Status* status,
                                          const ComposeOptions& options) {
  return compose(registry, ctr_driver, Kind::Rfc3686, status, options);
}
std::unique_ptr<Skcipher> compose_essiv(const crypto::Registry& registry, std::string_view cbc_driver, Status* status,
                                        const ComposeOptions& options) {
  return compose(registry, cbc_driver, Kind::Essiv, status, options);
}

Status register_composition(crypto::Registry& registry, std::string_view driver, const ComposeOptions& options) {
  for (const AlgorithmInfo& a : registry.list()) {
    if (a.driver != driver || a.type != AlgorithmType::Skcipher) continue;
    for (size_t k = 0; k < std::size(kKinds); ++k) {
      if (a.name != kKinds[k].inner) continue;
      const Kind kind = static_cast<Kind>(k);
      return registry.add({composed_info(a, kKinds[k]),
                           [&registry, name = a.driver, kind, options] { return compose(registry, name, kind, nullptr, options); },
                           nullptr});
    }
    return Status::Invalid;
  }
  return Status::NoEntry;
}

unsigned register_compositions(crypto::Registry& registry, const ComposeOptions& options) {
  unsigned added = 0;
  for (const AlgorithmInfo& a : registry.list()) {
    if (a.type != AlgorithmType::Skcipher || a.selftest == crypto::SelfTest::Failed) continue;
    if (std::none_of(std::begin(kKinds), std::end(kKinds), [&](const KindRow& k) { return k.inner == a.name; })) continue;
    added += register_composition(registry, a.driver, options) == Status::Ok;
  }
  return added;
}

}  // namespace sec::host
