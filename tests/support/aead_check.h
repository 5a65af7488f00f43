// Random AEAD requests against OpenSSL: any layout of the lists, in and out of place, in memory that the device reaches
// or not, any AAD and tag length, right and wrong tags; and everything that a request must leave alone. Works with any
// registry; the caller says how time passes.
#pragma once
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "driver/crypto/authenc_key.h"
#include "driver/crypto/registry.h"
#include "driver/platform/dma.h"

namespace sec::test::aead {

using Bytes = std::vector<uint8_t>;
using Rng = std::mt19937_64;

inline Bytes random_bytes(Rng& rng, size_t n) {
  Bytes b(n);
  for (uint8_t& x : b) x = static_cast<uint8_t>(rng());
  return b;
}
inline size_t pick(Rng& rng, size_t low, size_t high) { return low + rng() % (high - low + 1); }

/// An algorithm name, taken apart.
struct Spec {
  std::string name, hash, cipher;  // "sha1", "cbc(aes)"; hash empty for GCM and CCM
  bool gcm = false, ccm = false, rfc = false;

  explicit Spec(const std::string& n) : name(n) {
    if (n.starts_with("authenc(")) {
      const size_t open = n.find("hmac(") + 5, close = n.find(')');
      hash = n.substr(open, close - open);
      cipher = n.substr(close + 2, n.size() - close - 3);
    }
    gcm = n.find("gcm(") != std::string::npos;
    ccm = n.find("ccm(") != std::string::npos;
    rfc = n.starts_with("rfc");
  }
  bool authenc() const { return !hash.empty(); }
  size_t block() const { return !authenc() || cipher == "ctr(aes)" ? 1 : cipher == "cbc(aes)" ? 16 : 8; }
  size_t iv() const { return rfc ? 8 : gcm ? 12 : ccm || cipher.ends_with("(aes)") ? 16 : 8; }
  size_t digest() const {
    if (!authenc()) return 16;
    return hash == "md5" ? 16 : hash == "sha1" ? 20 : std::stoul(hash.substr(3)) / 8;
  }
  size_t hash_block() const { return hash == "sha384" || hash == "sha512" ? 128 : 64; }
  size_t salt() const { return !rfc ? 0 : gcm ? 4 : 3; }
  std::vector<size_t> cipher_keys() const {
    if (cipher == "cbc(des)") return {8};
    if (cipher == "cbc(des3_ede)") return {24};
    return {16, 24, 32};
  }
  std::vector<unsigned> tags() const {
    if (authenc()) return {};
    if (rfc) return {8, 12, 16};
    return gcm ? std::vector<unsigned>{4, 8, 12, 13, 14, 15, 16} : std::vector<unsigned>{4, 6, 8, 10, 12, 14, 16};
  }
};

struct Keys {
  Bytes auth, cipher;
  Bytes blob(const Spec& s) const { return s.authenc() ? crypto::make_authenc_key(auth, cipher) : cipher; }
};

inline Keys random_keys(const Spec& s, Rng& rng) {
  const auto sizes = s.cipher_keys();
  const size_t auth = rng() % 4 ? pick(rng, 0, s.hash_block()) : pick(rng, 0, 3 * s.hash_block());
  return {random_bytes(rng, s.authenc() ? auth : 0), random_bytes(rng, sizes[rng() % sizes.size()] + s.salt())};
}

inline Bytes evp_hmac(const std::string& hash, const Bytes& key, const Bytes& data) {
  Bytes out(64);
  unsigned n = 0;
  const EVP_MD* md = hash == "md5" ? EVP_md5() : EVP_get_digestbyname(hash.c_str());
  HMAC(md, key.data() ? key.data() : reinterpret_cast<const uint8_t*>(""), static_cast<int>(key.size()), data.data(),
       data.size(), out.data(), &n);
  out.resize(n);
  return out;
}

inline Bytes evp_cipher(const std::string& cipher, const Bytes& key, const Bytes& iv, const Bytes& in, bool encrypt) {
  const std::string mode = cipher.substr(0, 3) == "cbc" ? "CBC" : "CTR";
  std::string name = cipher.ends_with("(aes)") ? "AES-" + std::to_string(key.size() * 8) + "-" + mode : "DES-EDE3-CBC";
  Bytes k = key;
  while (!cipher.ends_with("(aes)") && k.size() < 24) k.insert(k.end(), key.begin(), key.end());
  EVP_CIPHER* c = EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr);
  EVP_CIPHER_CTX* x = EVP_CIPHER_CTX_new();
  Bytes out(in.size() + 32);
  int n = 0;
  EVP_CipherInit_ex2(x, c, k.data(), iv.data(), encrypt, nullptr);
  EVP_CIPHER_CTX_set_padding(x, 0);
  if (!in.empty()) EVP_CipherUpdate(x, out.data(), &n, in.data(), static_cast<int>(in.size()));
  EVP_CIPHER_CTX_free(x);
  EVP_CIPHER_free(c);
  out.resize(in.size());
  return out;
}

/// GCM and CCM: nonce of 12 (GCM) or 15 - L (CCM) bytes. Encrypts; the tag goes behind.
inline Bytes evp_aead(bool gcm, const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& plain,
                      unsigned tag) {
  EVP_CIPHER* c =
      EVP_CIPHER_fetch(nullptr, ("AES-" + std::to_string(key.size() * 8) + (gcm ? "-GCM" : "-CCM")).c_str(), nullptr);
  EVP_CIPHER_CTX* x = EVP_CIPHER_CTX_new();
  Bytes out(plain.size() + 16);
  int n = 0;
  EVP_EncryptInit_ex2(x, c, nullptr, nullptr, nullptr);
  EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(nonce.size()), nullptr);
  if (!gcm) EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag), nullptr);
  EVP_EncryptInit_ex2(x, nullptr, key.data(), nonce.data(), nullptr);
  if (!gcm) EVP_EncryptUpdate(x, nullptr, &n, nullptr, static_cast<int>(plain.size()));
  if (!aad.empty()) EVP_EncryptUpdate(x, nullptr, &n, aad.data(), static_cast<int>(aad.size()));
  if (!plain.empty() || !gcm)
    EVP_EncryptUpdate(x, out.data(), &n, plain.data() ? plain.data() : out.data(), static_cast<int>(plain.size()));
  EVP_EncryptFinal_ex(x, out.data() + plain.size(), &n);
  EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag), out.data() + plain.size());
  EVP_CIPHER_CTX_free(x);
  EVP_CIPHER_free(c);
  out.resize(plain.size() + tag);
  return out;
}

/// Ciphertext and tag.
inline Bytes reference(const Spec& s, const Keys& k, const Bytes& iv, const Bytes& aad, const Bytes& plain,
                       unsigned tag) {
  if (!s.authenc()) {
    const Bytes key(k.cipher.begin(), k.cipher.end() - static_cast<long>(s.salt()));
    Bytes nonce(k.cipher.end() - static_cast<long>(s.salt()), k.cipher.end());
    if (s.ccm && !s.rfc)
      nonce.assign(iv.begin() + 1, iv.begin() + 15 - iv[0]);  // byte 0 is L - 1
    else
      nonce.insert(nonce.end(), iv.begin(), iv.end());
    const Bytes hashed(aad.begin(), aad.end() - (s.rfc ? 8 : 0));  // the IV at its end is not authenticated
    return evp_aead(s.gcm, key, nonce, hashed, plain, tag);
  }
  Bytes out = evp_cipher(s.cipher, k.cipher, iv, plain, true);
  Bytes hashed = aad;
  hashed.insert(hashed.end(), out.begin(), out.end());
  const Bytes mac = evp_hmac(s.hash, k.auth, hashed);
  out.insert(out.end(), mac.begin(), mac.begin() + static_cast<long>(tag));
  return out;
}

/// Bytes cut into segments with poison around each.
class Pieces {
 public:
  static constexpr size_t kPoison = 16;

  Pieces(driver::DmaSpace* space, size_t bytes, std::vector<size_t> cuts, Rng& rng, size_t misalign) : space_(space) {
    size_ = bytes + misalign + (cuts.size() + 1) * kPoison;
    if (space_)
      memory_ = static_cast<uint8_t*>(space_->alloc(size_, 64));
    else
      memory_ = (own_ = std::make_unique<uint8_t[]>(size_)).get();
    ok_ = memory_ != nullptr;
    if (!ok_) return;
    std::memset(memory_, kMark, size_);
    size_t at = misalign + kPoison;
    for (const size_t n : cuts) {
      segments_.push_back({memory_ + at, n});
      at += n + kPoison;
    }
    make_list(rng);
  }
  ~Pieces() {
    if (space_) space_->free(memory_);
  }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  bool ok() const { return ok_; }
  const crypto::ScatterList* list() const { return &list_; }
  const std::vector<crypto::Segment>& segments() const { return segments_; }
  void write(const Bytes& b) { ASSERT_TRUE(crypto::copy_to(&list_, 0, b.data(), b.size())); }
  Bytes read(size_t offset, size_t n) const {
    Bytes b(n);
    EXPECT_TRUE(crypto::copy_from(&list_, offset, b.data(), n));
    return b;
  }
  bool poison_intact() const {
    std::vector<bool> inside(size_);
    for (const auto& s : segments_)
      for (size_t i = 0; i < s.size_bytes; ++i) inside[static_cast<size_t>(s.data - memory_) + i] = true;
    for (size_t i = 0; i < size_; ++i)
      if (!inside[i] && memory_[i] != kMark) return false;
    return true;
  }
  static constexpr uint8_t kMark = 0x5e;

 private:
  /// Now and then in two chained arrays, with an empty segment.
  void make_list(Rng& rng) {
    if (rng() % 4 || segments_.size() < 2) {
      list_ = crypto::ScatterList(segments_.data(), segments_.size());
      return;
    }
    const size_t first = pick(rng, 1, segments_.size() - 1);
    tail_ = crypto::ScatterList(segments_.data() + first, segments_.size() - first);
    list_ = crypto::ScatterList(segments_.data(), first, &tail_);
  }

  driver::DmaSpace* space_;
  std::unique_ptr<uint8_t[]> own_;
  uint8_t* memory_ = nullptr;
  size_t size_ = 0;
  bool ok_ = false;
  std::vector<crypto::Segment> segments_;
  crypto::ScatterList list_, tail_;
};

inline std::vector<size_t> random_cuts(Rng& rng, size_t bytes, size_t most = 8) {
  std::vector<size_t> out;
  size_t count = pick(rng, 1, most);
  while (count-- > 1 && bytes > 1) {
    const size_t n = rng() % 3 ? pick(rng, 1, std::min<size_t>(bytes - 1, 32)) : pick(rng, 1, bytes - 1);
    out.push_back(n);
    bytes -= n;
  }
  if (bytes) out.push_back(bytes);
  return out;
}

struct Shape {
  size_t aad = 0, text = 0;
  unsigned tag = 0;
  bool encrypt = true;
  bool same_list = false, same_memory = false;
  bool outside = false;                    // of the memory that the device reaches
  bool damage = false;                     // one bit of what is authenticated
  bool longer = false;                     // lists go on behind what is needed
  std::vector<size_t> src_cuts, dst_cuts;  // empty: random
};

inline Shape random_shape(const Spec& s, Rng& rng, size_t most_text = 2000) {
  Shape h;
  const auto tags = s.tags();
  h.tag = tags.empty() ? static_cast<unsigned>(pick(rng, 1, s.digest())) : tags[rng() % tags.size()];
  h.aad = s.rfc ? (rng() % 2 ? 16 : 20) : rng() % 8 ? pick(rng, 0, 40) : pick(rng, 0, 600);
  const size_t top = rng() % 3 ? 128 : most_text;
  h.text = pick(rng, 0, top) / s.block() * s.block();
  h.encrypt = rng() % 2;
  h.same_list = rng() % 3 == 0;
  h.same_memory = h.same_list || rng() % 4 == 0;
  h.outside = rng() % 4 == 0;
  h.damage = !h.encrypt && rng() % 3 == 0;
  h.longer = rng() % 4 == 0;
  return h;
}

/// One request with everything around it.
class Request {
 public:
  Request(const Spec& s, const Keys& k, Rng& rng, const Shape& h, driver::DmaSpace& dma) : shape_(h) {
    iv_ = random_bytes(rng, s.iv());
    if (s.ccm && !s.rfc) {
      iv_[0] = static_cast<uint8_t>(pick(rng, 1, 7));
      if (iv_[0] == 1 && h.text > 0xffff) iv_[0] = 3;  // the length must fit in L bytes
    }
    aad_ = random_bytes(rng, h.aad);
    if (s.rfc) std::copy(iv_.begin(), iv_.end(), aad_.end() - 8);
    plain_ = random_bytes(rng, h.text);
    cipher_ = reference(s, k, iv_, aad_, plain_, h.tag);
    const size_t in = h.aad + h.text + (h.encrypt ? 0 : h.tag), out = h.aad + h.text + (h.encrypt ? h.tag : 0);
    const size_t extra = h.longer ? pick(rng, 1, 40) : 0;
    const size_t src_size = (h.same_memory ? h.aad + h.text + h.tag : in) + extra;
    driver::DmaSpace* space = h.outside ? nullptr : &dma;
    auto cuts = [&](const std::vector<size_t>& given, size_t n) { return given.empty() ? random_cuts(rng, n) : given; };
    src_ = std::make_unique<Pieces>(space, src_size, cuts(h.src_cuts, src_size), rng, rng() % 8);
    if (!h.same_memory)
      dst_ = std::make_unique<Pieces>(space, out + extra, cuts(h.dst_cuts, out + extra), rng, rng() % 8);
    ok_ = src_->ok() && (!dst_ || dst_->ok());
    if (!ok_) return;
    input_ = aad_;
    const Bytes& text = h.encrypt ? plain_ : cipher_;
    input_.insert(input_.end(), text.begin(), text.end());
    if (h.damage && in) {
      // Small tags let other damage pass now and then.
      const size_t from = h.tag >= 4 ? 0 : in - h.tag;
      size_t at = pick(rng, from, in - 1);
      if (s.rfc && at + 8 >= h.aad && at < h.aad) at = in - 1;  // the IV in the AAD is not covered
      input_[at] ^= static_cast<uint8_t>(1u << rng() % 8);
    }
    src_->write(input_);
    if (h.same_memory && !h.same_list) {
      alias_ = src_->segments();
      alias_list_ = crypto::ScatterList(alias_.data(), alias_.size());
    }
    iv_before_ = iv_;
    request.src = src_->list();
    request.dst = h.same_list ? request.src : h.same_memory ? &alias_list_ : dst_->list();
    request.aad_bytes = h.aad;
    request.size_bytes = h.text + (h.encrypt ? 0 : h.tag);
    request.iv = iv_.data();
    request.flags = crypto::kMayBacklog;
    request.complete = completed;
    request.context = this;
    if (dst_) dst_before_ = dst_->read(0, h.aad);
  }
  bool ok() const { return ok_; }
  Status submit(crypto::Aead& t) {
    before_ = request;
    const Status s = shape_.encrypt ? t.encrypt(request) : t.decrypt(request);
    // The IV is the caller's again at once.
    if (accepted(s)) std::fill(iv_.begin(), iv_.end(), uint8_t{0xcc});
    return s;
  }
  Status expected() const { return shape_.damage ? Status::BadMessage : Status::Ok; }
  void check(const std::string& what) const {
    EXPECT_EQ(finished, 1u) << what;
    EXPECT_EQ(status, expected()) << what << " " << text();
    const Pieces& result = dst_ ? *dst_ : *src_;
    if (status == Status::Ok && expected() == Status::Ok) {
      EXPECT_EQ(result.read(shape_.aad, shape_.text + (shape_.encrypt ? shape_.tag : 0)),
                shape_.encrypt ? cipher_ : plain_)
          << what << " " << text();
    }
    if (dst_) {
      EXPECT_EQ(dst_->read(0, shape_.aad), dst_before_) << what << ": the AAD area of the destination was written";
      EXPECT_TRUE(dst_->poison_intact()) << what << " " << text();
      EXPECT_EQ(src_->read(0, input_.size()), input_) << what << ": the source was written";
    } else {
      EXPECT_EQ(src_->read(0, shape_.aad), Bytes(input_.begin(), input_.begin() + static_cast<long>(shape_.aad)))
          << what;
    }
    EXPECT_TRUE(src_->poison_intact()) << what << " " << text();
    EXPECT_TRUE(request.src == before_.src && request.dst == before_.dst && request.aad_bytes == before_.aad_bytes &&
                request.size_bytes == before_.size_bytes && request.iv == before_.iv &&
                request.flags == before_.flags && request.complete == before_.complete &&
                request.context == before_.context)
        << what << ": the request was changed";
  }
  std::string text() const {
    return (shape_.encrypt ? "encrypt" : "decrypt") + std::string(" aad ") + std::to_string(shape_.aad) + " text " +
           std::to_string(shape_.text) + " tag " + std::to_string(shape_.tag) + " segments " +
           std::to_string(src_->segments().size()) + (dst_ ? "/" + std::to_string(dst_->segments().size()) : "") +
           (shape_.same_list     ? " in place"
            : shape_.same_memory ? " same memory"
                                 : "") +
           (shape_.outside ? " outside" : "") + (shape_.damage ? " damaged" : "");
  }
  static void completed(void* context, Status s) {
    auto* r = static_cast<Request*>(context);
    if (s == Status::InProgress) {
      ++r->started;
      return;
    }
    ++r->finished;
    r->status = s;
    if (r->order) r->order->push_back(r->id);
  }
  const Shape& shape() const { return shape_; }
  const Bytes& iv() const { return iv_before_; }

  crypto::AeadRequest request;
  unsigned started = 0, finished = 0;
  Status status = Status::InProgress;
  int id = 0;
  std::vector<int>* order = nullptr;

 private:
  Shape shape_;
  bool ok_ = false;
  Bytes iv_, iv_before_, aad_, plain_, cipher_, input_, dst_before_;
  std::unique_ptr<Pieces> src_, dst_;
  std::vector<crypto::Segment> alias_;
  crypto::ScatterList alias_list_;
  crypto::AeadRequest before_;
};

/// SEC_REQUESTS of the environment, for long runs; SEC_SEED moves all seeds.
inline uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

/// `count` random requests in bursts, with a new key now and then.
inline void random_requests(const crypto::Registry& registry, driver::DmaSpace& dma, const std::string& driver,
                            uint64_t seed, unsigned count, const std::function<bool()>& pump, size_t most_text = 2000) {
  seed += from_environment("SEC_SEED", 0);
  count = static_cast<unsigned>(from_environment("SEC_REQUESTS", count));
  Rng rng(seed);
  auto t = registry.alloc_aead(driver);
  ASSERT_TRUE(t) << driver;
  const Spec spec(t->info().name);
  Keys keys;
  for (unsigned done = 0; done < count && !::testing::Test::HasFailure();) {
    if (done == 0 || rng() % 8 == 0) {
      keys = random_keys(spec, rng);
      ASSERT_EQ(t->set_key(keys.blob(spec)), Status::Ok);
    }
    std::vector<std::unique_ptr<Request>> burst;
    for (size_t i = pick(rng, 1, 12); i--; ++done) {
      const Shape shape = random_shape(spec, rng, most_text);
      auto r = std::make_unique<Request>(spec, keys, rng, shape, dma);
      ASSERT_TRUE(r->ok()) << "no memory for the test";
      ASSERT_EQ(t->set_auth_bytes(shape.tag), Status::Ok);
      const Status s = r->submit(*t);
      ASSERT_TRUE(accepted(s)) << driver << " " << errno_name(s) << " " << r->text();
      burst.push_back(std::move(r));
    }
    const auto all = [&] {
      for (const auto& r : burst)
        if (!r->finished) return false;
      return true;
    };
    while (!all() && pump()) {
    }
    for (const auto& r : burst) r->check(driver + ", seed " + std::to_string(seed));
  }
}

}  // namespace sec::test::aead
