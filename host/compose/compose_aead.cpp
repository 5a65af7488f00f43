#include "host/compose/compose_aead.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <vector>

#ifndef LINUX
#define LINUX  // aligned key structures
#endif
#include <intel-ipsec-mb.h>

#include "common/diag.h"
#include "common/endian.h"
#include "host/cpu/walk.h"

namespace sec::host {
namespace {

using crypto::AeadRequest;
using crypto::AlgorithmInfo;
using crypto::AlgorithmType;
using crypto::HashRequest;
using crypto::ScatterList;
using crypto::Segment;
using crypto::Skcipher;
using crypto::SkcipherRequest;
using Block = std::array<uint8_t, 16>;

constexpr size_t kBlock = 16;
constexpr int kPriorityStep = 1000;

IMB_MGR* library() {
  static IMB_MGR* const m = [] {
    IMB_MGR* p = alloc_mb_mgr(0);
    SEC_CHECK(p, "ipsec-mb");
    init_mb_mgr_auto(p, nullptr);
    return p;
  }();
  return m;
}

template <class F>
void each_piece(const ScatterList* list, size_t offset, size_t n, F&& f) {
  crypto::ScatterWalk walk(list);
  if (!walk.skip(offset)) return;
  while (n) {
    const Segment s = walk.take(n);
    if (!s.size_bytes) return;
    f(s.data, s.size_bytes);
    n -= s.size_bytes;
  }
}

/// Collects the bytes of pieces into whole blocks.
template <class Sink>
class Blocks {
 public:
  explicit Blocks(Sink sink) : sink_(std::move(sink)) {}
  void add(const uint8_t* p, size_t n) {
    if (fill_) {
      const size_t k = std::min(n, kBlock - fill_);
      std::memcpy(part_.data() + fill_, p, k);
      fill_ += k;
      p += k;
      n -= k;
      if (fill_ < kBlock) return;
      sink_(part_.data(), kBlock);
      fill_ = 0;
    }
    const size_t whole = n / kBlock * kBlock;
    if (whole) sink_(p, whole);
    fill_ = n - whole;
    if (fill_) std::memcpy(part_.data(), p + whole, fill_);
  }
  /// Fills the last block up with zeros.
  void pad() {
    if (!fill_) return;
    std::memset(part_.data() + fill_, 0, kBlock - fill_);
    sink_(part_.data(), kBlock);
    fill_ = 0;
  }

 private:
  Sink sink_;
  Block part_{};
  size_t fill_ = 0;
};

/// AES on the processor: single blocks and CBC-MAC.
class ProcessorAes {
 public:
  ProcessorAes()
      : ecb_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free), cbc_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {}
  bool set_key(std::span<const uint8_t> k) {
    const EVP_CIPHER* e = k.size() == 16   ? EVP_aes_128_ecb()
                          : k.size() == 24 ? EVP_aes_192_ecb()
                          : k.size() == 32 ? EVP_aes_256_ecb()
                                           : nullptr;
    const EVP_CIPHER* c = k.size() == 16 ? EVP_aes_128_cbc() : k.size() == 24 ? EVP_aes_192_cbc() : EVP_aes_256_cbc();
    return e && EVP_EncryptInit_ex2(ecb_.get(), e, k.data(), nullptr, nullptr) == 1 &&
           EVP_EncryptInit_ex2(cbc_.get(), c, k.data(), nullptr, nullptr) == 1;
  }
  Block encrypt(const Block& in) {
    Block out;
    SEC_CHECK(EVP_Cipher(ecb_.get(), out.data(), in.data(), kBlock) >= 0, "AES block");
    return out;
  }
  /// Continues a CBC-MAC over whole blocks.
  void mac(Block& chain, const uint8_t* p, size_t n) {
    uint8_t out[1024];
    EVP_CipherInit_ex(cbc_.get(), nullptr, nullptr, nullptr, chain.data(), -1);
    while (n) {
      const size_t k = std::min(n, sizeof out);
      SEC_CHECK(EVP_Cipher(cbc_.get(), out, p, static_cast<unsigned>(k)) >= 0, "CBC-MAC");
      p += k;
      n -= k;
      if (!n) std::memcpy(chain.data(), out + k - kBlock, kBlock);
    }
  }

 private:
  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> ecb_, cbc_;
};

enum class Mode : uint8_t { Gcm, Rfc4106, Ccm, Rfc4309 };
constexpr bool is_gcm(Mode m) { return m == Mode::Gcm || m == Mode::Rfc4106; }
constexpr bool is_esp(Mode m) { return m == Mode::Rfc4106 || m == Mode::Rfc4309; }
constexpr size_t salt_bytes(Mode m) { return m == Mode::Rfc4106 ? 4 : m == Mode::Rfc4309 ? 3 : 0; }

bool tag_size_ok(Mode m, unsigned n) {
  switch (m) {
    case Mode::Gcm: return n == 4 || n == 8 || (n >= 12 && n <= 16);
    case Mode::Rfc4106:
    case Mode::Rfc4309: return n == 8 || n == 12 || n == 16;
    case Mode::Ccm: return n >= 4 && n <= 16 && n % 2 == 0;
  }
  return false;
}

/// What lives until the transform is gone and the last callback from below has come.
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
  void charge(std::string_view what, size_t bytes) {
    if (options.charge_crypto) options.charge_crypto(what, bytes);
  }
  void flush() {
    ref();
    inner->flush();
    unref();
  }
  uint8_t* allocate(size_t n) {
    return static_cast<uint8_t*>(options.dma ? options.dma->alloc(n, 64)
                                             : ::operator new(n, std::align_val_t{64}, std::nothrow));
  }
  void release(void* p) {
    if (!p) return;
    if (options.dma)
      options.dma->free(p);
    else
      ::operator delete(p, std::align_val_t{64});
  }

  const CompositionOptions options;
  std::unique_ptr<Skcipher> inner;

 private:
  size_t refs_ = 1;
};

// ------------------------------------------------------------------------------------------------------- AEAD

class AeadCore final : public Core {
 public:
  AeadCore(std::unique_ptr<Skcipher> ctr, const CompositionOptions& o, Mode m) : Core(std::move(ctr), o), mode(m) {}
  ~AeadCore() override {
    inner.reset();  // first: it may still look at the blocks
    for (State& s : states_) release(s.small);
  }

  Status set_key(std::span<const uint8_t> key) {
    keys_.reset();
    const size_t salt = salt_bytes(mode);
    if (key.size() < salt) return Status::Invalid;
    const auto bare = key.first(key.size() - salt);
    if (const Status s = inner->set_key(bare); s != Status::Ok) return s;
    auto keys = std::make_shared<Keys>();
    if (!keys->aes.set_key(bare)) return Status::Invalid;
    std::copy(key.end() - static_cast<std::ptrdiff_t>(salt), key.end(), keys->salt.begin());
    const Block h = keys->aes.encrypt({});
    IMB_GHASH_PRE(library(), h.data(), &keys->ghash);
    keys_ = std::move(keys);
    return Status::Ok;
  }

  Status start(const AeadRequest& r, bool encrypt, unsigned tag) {
    if (!keys_) return Status::NoKey;
    if (!encrypt && r.size_bytes < tag) return Status::Invalid;
    if (!r.iv || (is_esp(mode) && r.aad_bytes != 16 && r.aad_bytes != 20)) return Status::Invalid;
    const size_t n = r.size_bytes - (encrypt ? 0 : tag);
    if (!covers(r.src, r.aad_bytes + r.size_bytes) || !covers(r.dst, r.aad_bytes + n + (encrypt ? tag : 0)))
      return Status::Invalid;
    uint8_t nonce[16] = {};
    size_t length_bytes = 0;  // CCM: bytes of the length field
    if (!make_nonce(r, n, nonce, &length_bytes)) return Status::Invalid;
    State* s = take();
    if (!s) return Status::NoMemory;
    ref();
    s->owner = this;
    s->outer = &r;
    s->keys = keys_;
    s->encrypt = encrypt;
    s->tag_bytes = tag;
    s->text_bytes = n;
    s->authenticated = r.aad_bytes - (is_esp(mode) ? 8 : 0);
    std::memset(s->small, 0, kBlock);
    std::memcpy(s->small + kBlock, nonce, kBlock);
    if (!encrypt) crypto::copy_from(r.src, r.aad_bytes + n, s->received.data(), tag);
    // In place and for GCM decryption the text must be authenticated before the cipher writes over it.
    if (is_gcm(mode)) {
      if (!encrypt) s->mac = ghash(r.src, *s);
    } else {
      begin_ccm(*s, nonce, length_bytes);
      if (encrypt) s->mac = cbc_mac(r.src, *s);
    }
    fill(s->src_segments, s->src, s->small, r.src, r.aad_bytes, n);
    const bool in_place = r.src == r.dst;
    if (!in_place) fill(s->dst_segments, s->dst, s->small, r.dst, r.aad_bytes, n);
    SkcipherRequest& q = s->inner;
    q.src = &s->src;
    q.dst = in_place ? &s->src : &s->dst;
    q.size_bytes = kBlock + n;
    q.iv = s->small + kBlock;
    q.flags = r.flags;
    q.complete = &AeadCore::on_inner;
    q.context = s;
    const Status status = encrypt ? inner->encrypt(q) : inner->decrypt(q);
    if (accepted(status)) return status;  // the state may be in use again already
    return give_back(s, status == Status::Ok ? finish(*s) : status);
  }

  const Mode mode;

 private:
  /// What a key means to the processor. Requests in flight keep theirs when a new one is set.
  struct Keys {
    ProcessorAes aes;
    std::array<uint8_t, 4> salt{};
    alignas(64) gcm_key_data ghash{};
  };
  struct State {
    AeadCore* owner = nullptr;
    const AeadRequest* outer = nullptr;
    std::shared_ptr<Keys> keys;
    bool encrypt = true;
    unsigned tag_bytes = 16;
    size_t text_bytes = 0, authenticated = 0;
    uint8_t* small = nullptr;  // block in front of the text, then the counter block
    std::vector<Segment> src_segments, dst_segments;
    ScatterList src, dst;
    SkcipherRequest inner;
    Block received{}, mac{}, first_block{};
  };

  /// J0 or A0. False when CCM's IV or the length is impossible.
  bool make_nonce(const AeadRequest& r, size_t n, uint8_t* to, size_t* length_bytes) const {
    switch (mode) {
      case Mode::Gcm:
        std::memcpy(to, r.iv, 12);
        break;
      case Mode::Rfc4106:
        std::memcpy(to, keys_->salt.data(), 4);
        std::memcpy(to + 4, r.iv, 8);
        break;
      case Mode::Ccm: {
        // The caller's IV: L - 1, nonce, zeros where the counter goes.
        const unsigned l = r.iv[0] + 1u;
        if (l < 2 || l > 8) return false;
        if (l < 8 && uint64_t{n} >> (8 * l)) return false;
        std::memcpy(to, r.iv, kBlock);
        std::memset(to + kBlock - l, 0, l);
        *length_bytes = l;
        return true;
      }
      case Mode::Rfc4309:
        to[0] = 3;
        std::memcpy(to + 1, keys_->salt.data(), 3);
        std::memcpy(to + 4, r.iv, 8);
        *length_bytes = 4;
        return true;
    }
    to[15] = 1;
    return true;
  }

  /// B0.
  void begin_ccm(State& s, const uint8_t* a0, size_t l) {
    std::memcpy(s.first_block.data(), a0, kBlock);
    s.first_block[0] = static_cast<uint8_t>((s.authenticated ? 0x40 : 0) | (s.tag_bytes - 2) / 2 << 3 | (l - 1));
    uint64_t length = s.text_bytes;
    for (size_t i = 0; i < l; ++i, length >>= 8) s.first_block[kBlock - 1 - i] = static_cast<uint8_t>(length);
  }

  Block cbc_mac(const ScatterList* text, State& s) {
    Block chain{};
    ProcessorAes& aes = s.keys->aes;
    aes.mac(chain, s.first_block.data(), kBlock);
    Blocks blocks([&](const uint8_t* p, size_t n) { aes.mac(chain, p, n); });
    if (const size_t a = s.authenticated) {
      uint8_t head[6];
      size_t head_bytes = 2;
      if (a < 0xff00) {
        store_be16(head, static_cast<uint16_t>(a));
      } else {
        store_be16(head, 0xfffe);
        store_be32(head + 2, static_cast<uint32_t>(a));
        head_bytes = 6;
      }
      blocks.add(head, head_bytes);
      each_piece(s.outer->src, 0, a, [&](const uint8_t* p, size_t n) { blocks.add(p, n); });
      blocks.pad();
    }
    each_piece(text, s.outer->aad_bytes, s.text_bytes, [&](const uint8_t* p, size_t n) { blocks.add(p, n); });
    blocks.pad();
    charge("cbcmac(aes)", s.authenticated + s.text_bytes + kBlock);
    return chain;
  }

  Block ghash(const ScatterList* ciphertext, State& s) {
    alignas(16) Block y{};
    Blocks blocks([&](const uint8_t* p, size_t n) { IMB_GHASH(library(), &s.keys->ghash, p, n, y.data(), kBlock); });
    each_piece(s.outer->src, 0, s.authenticated, [&](const uint8_t* p, size_t n) { blocks.add(p, n); });
    blocks.pad();
    each_piece(ciphertext, s.outer->aad_bytes, s.text_bytes, [&](const uint8_t* p, size_t n) { blocks.add(p, n); });
    blocks.pad();
    Block lengths;
    store_be64(lengths.data(), uint64_t{s.authenticated} * 8);
    store_be64(lengths.data() + 8, uint64_t{s.text_bytes} * 8);
    blocks.add(lengths.data(), kBlock);
    charge("ghash", s.authenticated + s.text_bytes + kBlock);
    return y;
  }

  static void fill(std::vector<Segment>& to, ScatterList& list, uint8_t* block, const ScatterList* from, size_t offset,
                   size_t n) {
    to.clear();
    to.push_back({block, kBlock});
    each_piece(from, offset, n, [&](uint8_t* p, size_t k) { to.push_back({p, k}); });
    list = ScatterList(to.data(), to.size());
  }

  static void on_inner(void* context, Status status) {
    auto* s = static_cast<State*>(context);
    const AeadRequest* outer = s->outer;
    if (status != Status::InProgress) {
      AeadCore* owner = s->owner;
      status = owner->give_back(s, status == Status::Ok ? owner->finish(*s) : status);
    }
    if (outer->complete) outer->complete(outer->context, status);
  }

  /// The cipher is through: make the tag or check it.
  Status finish(State& s) {
    const AeadRequest& r = *s.outer;
    if (is_gcm(mode)) {
      if (s.encrypt) s.mac = ghash(r.dst, s);
    } else if (!s.encrypt) {
      s.mac = cbc_mac(r.dst, s);
    }
    for (size_t i = 0; i < kBlock; ++i) s.mac[i] ^= s.small[i];
    if (s.encrypt) {
      crypto::copy_to(r.dst, r.aad_bytes + s.text_bytes, s.mac.data(), s.tag_bytes);
      return Status::Ok;
    }
    return CRYPTO_memcmp(s.mac.data(), s.received.data(), s.tag_bytes) == 0 ? Status::Ok : Status::BadMessage;
  }

  State* take() {
    if (!free_.empty()) {
      State* s = free_.back();
      free_.pop_back();
      return s;
    }
    uint8_t* small = allocate(2 * kBlock);
    if (!small) return nullptr;
    State& s = states_.emplace_back();
    s.small = small;
    return &s;
  }
  /// The state is free again, its reference gone: touch nothing of this object afterwards.
  Status give_back(State* s, Status result) {
    s->keys.reset();
    free_.push_back(s);
    unref();
    return result;
  }

  std::shared_ptr<Keys> keys_;
  std::deque<State> states_;
  std::vector<State*> free_;
};

class ComposedAead final : public crypto::Aead {
 public:
  ComposedAead(AlgorithmInfo info, std::unique_ptr<Skcipher> ctr, const CompositionOptions& o, Mode m)
      : info_(std::move(info)), core_(new AeadCore(std::move(ctr), o, m)), tag_(info_.max_auth_bytes) {}
  ~ComposedAead() override {
    core_->flush();
    core_->unref();
  }
  const AlgorithmInfo& info() const override { return info_; }
  Status set_key(std::span<const uint8_t> key, uint32_t) override {
    if (key.size() < info_.min_key_bytes || key.size() > info_.max_key_bytes) return Status::Invalid;
    return core_->set_key(key);
  }
  Status set_auth_bytes(unsigned n) override {
    if (!tag_size_ok(core_->mode, n)) return Status::Invalid;
    tag_ = n;
    return Status::Ok;
  }
  unsigned auth_bytes() const override { return tag_; }
  Status encrypt(AeadRequest& r) override { return core_->start(r, true, tag_); }
  Status decrypt(AeadRequest& r) override { return core_->start(r, false, tag_); }
  void flush() override { core_->flush(); }

 private:
  AlgorithmInfo info_;
  AeadCore* core_;
  unsigned tag_;
};

// ------------------------------------------------------------------------------------------------------- MAC

/// What is exported: chain value, bytes held back and how many.
struct MacState final : crypto::HashState {
  Block chain{}, held{};
  uint8_t held_bytes = 0;
};
constexpr unsigned kMacStateBytes = 2 * kBlock + 1;

class MacCore final : public Core {
 public:
  MacCore(std::unique_ptr<Skcipher> cbc, const CompositionOptions& o, bool xcbc) : Core(std::move(cbc), o), xcbc_(xcbc) {}
  ~MacCore() override {
    inner.reset();
    for (Job& j : jobs_) release(j.scratch);
  }

  Status set_key(std::span<const uint8_t> key) {
    keyed = false;
    ProcessorAes aes;
    if (!aes.set_key(key)) return Status::Invalid;
    if (xcbc_) {
      Block k[3];
      for (uint8_t i = 0; i < 3; ++i) {
        k[i].fill(static_cast<uint8_t>(i + 1));
        k[i] = aes.encrypt(k[i]);
      }
      full_ = k[1];
      partial_ = k[2];
      if (const Status s = inner->set_key(k[0]); s != Status::Ok) return s;
    } else {
      full_ = doubled(aes.encrypt({}));
      partial_ = doubled(full_);
      if (const Status s = inner->set_key(key); s != Status::Ok) return s;
    }
    keyed = true;
    return Status::Ok;
  }

  bool keyed = false;

  /// Adds the request's bytes to the state; with `last` also ends it. `own`: the state is ours (digest()).
  Status run(const HashRequest& r, MacState* state, bool with_data, bool last) {
    if (!keyed) return Status::NoKey;
    const size_t n = with_data ? r.size_bytes : 0;
    if (n && !covers(r.src, n)) return Status::Invalid;
    const MacState fresh{};
    const MacState& from = state ? *state : fresh;
    const size_t all = from.held_bytes + n;
    if (!last && all <= kBlock) {  // the last block is always held back
      if (n) crypto::copy_from(r.src, 0, state->held.data() + state->held_bytes, n);
      state->held_bytes = static_cast<uint8_t>(all);
      return Status::Ok;
    }
    const size_t bytes = last ? std::max<size_t>(kBlock, (all + kBlock - 1) / kBlock * kBlock) : (all - 1) / kBlock * kBlock;
    Job* j = take(std::max(bytes, all) + kBlock);
    if (!j) return Status::NoMemory;
    ref();
    j->owner = this;
    j->outer = &r;
    j->state = state;
    j->last = last;
    j->bytes = bytes;
    j->left = last ? 0 : all - bytes;
    uint8_t* data = j->scratch + kBlock;
    std::memcpy(j->scratch, from.chain.data(), kBlock);
    std::memcpy(data, from.held.data(), from.held_bytes);
    if (n) crypto::copy_from(r.src, 0, data + from.held_bytes, n);
    if (options.cpu) options.cpu->charge(driver::Cost::CopyByte, n);
    if (last) {
      const bool whole = all && all % kBlock == 0;
      if (!whole) {
        std::memset(data + all, 0, bytes - all);
        data[all] = 0x80;
      }
      for (size_t i = 0; i < kBlock; ++i) data[bytes - kBlock + i] ^= (whole ? full_ : partial_)[i];
    }
    j->segment = {data, bytes};
    j->list = ScatterList(&j->segment, 1);
    SkcipherRequest& q = j->inner;
    q.src = q.dst = &j->list;
    q.size_bytes = bytes;
    q.iv = j->scratch;
    q.flags = r.flags;
    q.complete = &MacCore::on_inner;
    q.context = j;
    // The bytes behind those that are sent wait in scratch: taken out now, the cipher does not touch them.
    if (j->left) std::memcpy(j->rest.data(), data + bytes, j->left);
    const Status s = inner->encrypt(q);
    if (accepted(s)) return s;
    return give_back(j, s == Status::Ok ? finish(*j) : s);
  }

 private:
  struct Job {
    MacCore* owner = nullptr;
    const HashRequest* outer = nullptr;
    MacState* state = nullptr;
    bool last = false;
    size_t bytes = 0, left = 0;
    uint8_t* scratch = nullptr;  // chain value, then data
    size_t scratch_bytes = 0;
    Block rest{};
    Segment segment;
    ScatterList list;
    SkcipherRequest inner;
  };

  static Block doubled(const Block& b) {
    Block out;
    uint8_t carry = 0;
    for (size_t i = kBlock; i-- > 0;) {
      out[i] = static_cast<uint8_t>(b[i] << 1 | carry);
      carry = b[i] >> 7;
    }
    if (carry) out[kBlock - 1] ^= 0x87;
    return out;
  }

  static void on_inner(void* context, Status status) {
    auto* j = static_cast<Job*>(context);
    const HashRequest* outer = j->outer;
    if (status != Status::InProgress) {
      MacCore* owner = j->owner;
      status = owner->give_back(j, status == Status::Ok ? owner->finish(*j) : status);
    }
    if (outer->complete) outer->complete(outer->context, status);
  }

  Status finish(Job& j) {
    if (j.last) {
      std::memcpy(j.outer->digest, j.scratch, kBlock);
      return Status::Ok;
    }
    std::memcpy(j.state->chain.data(), j.scratch, kBlock);
    std::memcpy(j.state->held.data(), j.rest.data(), j.left);
    j.state->held_bytes = static_cast<uint8_t>(j.left);
    return Status::Ok;
  }

  Job* take(size_t n) {
    Job* j;
    if (free_.empty()) {
      j = &jobs_.emplace_back();
    } else {
      j = free_.back();
      free_.pop_back();
    }
    if (j->scratch_bytes < n) {
      release(j->scratch);
      j->scratch_bytes = (n + 4095) / 4096 * 4096;
      j->scratch = allocate(j->scratch_bytes);
      if (!j->scratch) {
        j->scratch_bytes = 0;
        free_.push_back(j);
        return nullptr;
      }
    }
    return j;
  }
  Status give_back(Job* j, Status result) {
    free_.push_back(j);
    unref();
    return result;
  }

  const bool xcbc_;
  Block full_{}, partial_{};
  std::deque<Job> jobs_;
  std::vector<Job*> free_;
};

class ComposedMac final : public crypto::Hash {
 public:
  ComposedMac(AlgorithmInfo info, std::unique_ptr<Skcipher> cbc, const CompositionOptions& o, bool xcbc)
      : info_(std::move(info)), core_(new MacCore(std::move(cbc), o, xcbc)), xcbc_(xcbc) {}
  ~ComposedMac() override {
    core_->flush();
    core_->unref();
  }
  const AlgorithmInfo& info() const override { return info_; }
  Status set_key(std::span<const uint8_t> key) override {
    if (key.size() != 16 && (xcbc_ || (key.size() != 24 && key.size() != 32))) return Status::Invalid;
    return core_->set_key(key);
  }
  Status digest(HashRequest& r) override { return core_->run(r, nullptr, true, true); }
  std::unique_ptr<crypto::HashState> make_state() override { return std::make_unique<MacState>(); }
  Status init(crypto::HashState& s) override {
    static_cast<MacState&>(s) = MacState{};
    return core_->keyed ? Status::Ok : Status::NoKey;
  }
  Status update(HashRequest& r) override { return run(r, true, false); }
  Status final(HashRequest& r) override { return run(r, false, true); }
  Status finup(HashRequest& r) override { return run(r, true, true); }
  Status export_state(const crypto::HashState& state, uint8_t* out) override {
    const auto& s = static_cast<const MacState&>(state);
    std::memcpy(out, s.chain.data(), kBlock);
    std::memcpy(out + kBlock, s.held.data(), kBlock);
    out[2 * kBlock] = s.held_bytes;
    return Status::Ok;
  }
  Status import_state(crypto::HashState& state, const uint8_t* in) override {
    if (in[2 * kBlock] > kBlock) return Status::Invalid;
    auto& s = static_cast<MacState&>(state);
    std::memcpy(s.chain.data(), in, kBlock);
    std::memcpy(s.held.data(), in + kBlock, kBlock);
    s.held_bytes = in[2 * kBlock];
    return Status::Ok;
  }
  void flush() override { core_->flush(); }

 private:
  Status run(HashRequest& r, bool with_data, bool last) {
    return r.state ? core_->run(r, static_cast<MacState*>(r.state), with_data, last) : Status::Invalid;
  }
  AlgorithmInfo info_;
  MacCore* core_;
  const bool xcbc_;
};

// ------------------------------------------------------------------------------------------------ registration

struct Row {
  const char *name, *inner, *prefix, *suffix, *composed;
  unsigned key_extra, iv_bytes;
  Mode mode;
};
constexpr Row kAeads[] = {
    {"gcm(aes)", "ctr(aes)", "gcm(", ")", "CTR on the engine, GHASH on the processor", 0, 12, Mode::Gcm},
    {"rfc4106(gcm(aes))", "ctr(aes)", "rfc4106(gcm(", "))", "CTR on the engine, GHASH on the processor", 4, 8, Mode::Rfc4106},
    {"ccm(aes)", "ctr(aes)", "ccm(", ")", "CTR on the engine, CBC-MAC on the processor", 0, 16, Mode::Ccm},
    {"rfc4309(ccm(aes))", "ctr(aes)", "rfc4309(ccm(", "))", "CTR on the engine, CBC-MAC on the processor", 3, 8, Mode::Rfc4309},
};

}  // namespace

unsigned register_aead_compositions(crypto::Registry& registry, const CompositionOptions& options) {
  const std::vector<AlgorithmInfo> list = registry.list();
  const auto native = [&](std::string_view name, std::string_view module) {
    return std::any_of(list.begin(), list.end(), [&](const AlgorithmInfo& i) {
      return i.name == name && i.module == module && i.selftest != crypto::SelfTest::Failed;
    });
  };
  unsigned added = 0;
  for (const AlgorithmInfo& a : list) {
    if (a.type != AlgorithmType::Skcipher || a.selftest == crypto::SelfTest::Failed) continue;
    if (!options.module.empty() && a.module != options.module) continue;
    AlgorithmInfo base = a;
    base.selftest = crypto::SelfTest::Unknown;
    base.priority = a.priority - kPriorityStep;
    base.block_bytes = 1;
    base.chunk_bytes = base.walk_bytes = 0;
    for (const Row& row : kAeads) {
      if (a.name != row.inner || native(row.name, a.module)) continue;
      AlgorithmInfo i = base;
      i.name = row.name;
      i.driver = std::string(row.prefix) + a.driver + row.suffix;
      i.type = AlgorithmType::Aead;
      i.min_key_bytes = a.min_key_bytes + row.key_extra;
      i.max_key_bytes = a.max_key_bytes + row.key_extra;
      i.iv_bytes = row.iv_bytes;
      i.max_auth_bytes = 16;
      i.composed = row.composed;
      crypto::Algorithm alg{i, {}, {}, {}};
      alg.make_aead = [&registry, i, inner = a.driver, options, mode = row.mode]() -> std::unique_ptr<crypto::Aead> {
        auto ctr = registry.alloc_skcipher(inner);
        return ctr ? std::make_unique<ComposedAead>(i, std::move(ctr), options, mode) : nullptr;
      };
      added += registry.add(std::move(alg)) == Status::Ok;
    }
    for (const bool xcbc : {false, true}) {
      const char* name = xcbc ? "xcbc(aes)" : "cmac(aes)";
      if (a.name != "cbc(aes)" || native(name, a.module)) continue;
      AlgorithmInfo i = base;
      i.name = name;
      i.driver = std::string(xcbc ? "xcbc(" : "cmac(") + a.driver + ")";
      i.type = AlgorithmType::Hash;
      i.block_bytes = kBlock;
      i.iv_bytes = 0;
      i.min_key_bytes = i.max_key_bytes = 0;
      i.digest_bytes = kBlock;
      i.state_bytes = kMacStateBytes;
      i.composed = "CBC on the engine, the last block on the processor";
      crypto::Algorithm alg{i, {}, {}, {}};
      alg.make_hash = [&registry, i, inner = a.driver, options, xcbc]() -> std::unique_ptr<crypto::Hash> {
        auto cbc = registry.alloc_skcipher(inner);
        return cbc ? std::make_unique<ComposedMac>(i, std::move(cbc), options, xcbc) : nullptr;
      };
      added += registry.add(std::move(alg)) == Status::Ok;
    }
  }
  return added;
}

}  // namespace sec::host
