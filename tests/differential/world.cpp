#include "tests/differential/world.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/cpu/openssl.h"
#include "host/platforms/functional.h"

namespace sec::test {

using crypto::Segment;
using host::IpsecMbArch;

const char* subject_name(Subject s) {
  static constexpr const char* kNames[] = {"functional",    "approx",      "openssl",      "ipsecmb",
                                           "ipsecmb_sse",   "ipsecmb_avx", "ipsecmb_avx2", "ipsecmb_avx512_no_vaes",
                                           "ipsecmb_avx512"};
  return kNames[static_cast<size_t>(s)];
}

std::unique_ptr<crypto::Skcipher> World::alloc(const std::string& algorithm) const {
  for (const auto& a : registry_->list())
    if (a.name == algorithm && a.module == module_) {
      EXPECT_NE(a.selftest, crypto::SelfTest::Failed) << a.driver << ": " << registry_->selftest_failure(a.driver);
      return registry_->alloc_skcipher(a.driver);
    }
  return nullptr;
}

uint8_t* World::memory(size_t bytes) {
  if (session_) return static_cast<uint8_t*>(session_->platform().dma().alloc(bytes, 64));
  heap_.push_back(std::make_unique<uint8_t[]>(bytes));
  return heap_.back().get();
}

bool World::wait(const std::vector<std::unique_ptr<crypto::Skcipher>>& tfms, const std::function<bool()>& done) {
  if (session_) return done() || session_->platform().wait_for(done);
  for (int round = 0; round < 1000 && !done(); ++round)
    for (const auto& t : tfms) t->flush();
  return done();
}

void World::hold_interrupts(bool on) {
  if (subject_ == Subject::Functional) static_cast<host::FunctionalPlatform&>(session_->platform()).hold_interrupts(on);
}

void with_world(Subject s, const std::function<void(World&)>& body) {
  World w;
  w.subject_ = s;
  if (is_engine(s)) {
    if (s == Subject::Approx) {
      static bool used = false;
      if (std::exchange(used, true)) GTEST_SKIP() << "one approximate session per process: run through ctest";
    }
    host::SessionOptions o;
    o.fidelity = s == Subject::Functional ? host::Fidelity::Functional : host::Fidelity::Approx;
    o.memory_bytes = size_t{96} << 20;
    o.cpu_backends = o.compositions = false;
    w.module_ = "talitos";
    host::Session session(o);
    session.run([&](host::Session& running) {
      w.session_ = &running;
      w.registry_ = &running.registry();
      body(w);
      EXPECT_EQ(running.device().outstanding(), 0u);
      EXPECT_TRUE(running.platform().warnings().empty()) << running.platform().warnings().front();
    });
    return;
  }
  crypto::Registry registry;
  w.registry_ = &registry;
  if (s == Subject::Openssl) {
    w.module_ = "openssl";
    host::register_openssl(registry);
  } else {
    w.module_ = "ipsecmb";
    host::IpsecMbOptions o;
    o.arch = s == Subject::IpsecMb
                 ? IpsecMbArch::Auto
                 : static_cast<IpsecMbArch>(static_cast<unsigned>(s) - static_cast<unsigned>(Subject::IpsecMbSse) +
                                            static_cast<unsigned>(IpsecMbArch::Sse));
    if (!host::register_ipsecmb(registry, o))
      GTEST_SKIP() << "ipsec-mb or this processor has no such code: " << subject_name(s);
  }
  body(w);
}

// ------------------------------------------------------------------------------------------------ Placement

void Placement::lay(uint8_t* memory, size_t bytes, const std::vector<size_t>& pieces, size_t gap, size_t offset,
                    uint8_t poison) {
  segments_.clear();
  poison_ = poison;
  begin_ = memory;
  uint8_t* p = memory + kMargin + offset;
  for (size_t left = bytes, i = 0; left;) {
    const size_t n = pieces.empty() ? left : std::min(left, pieces[i++ % pieces.size()]);
    segments_.push_back({p, n});
    p += n;
    left -= n;
    if (left) p += gap;
  }
  end_ = p + kMargin;
  std::memset(begin_, poison, static_cast<size_t>(end_ - begin_));
}

void Placement::second_list(const std::vector<size_t>& pieces, std::vector<Segment>& out) const {
  out.clear();
  size_t i = 0;
  // Runs of memory without gaps, each cut anew.
  for (size_t k = 0; k < segments_.size();) {
    uint8_t* p = segments_[k].data;
    uint8_t* end = p;
    for (; k < segments_.size() && segments_[k].data == end; ++k) end += segments_[k].size_bytes;
    while (p != end) {
      const size_t run = static_cast<size_t>(end - p);
      const size_t n = pieces.empty() ? run : std::min(run, pieces[i++ % pieces.size()]);
      out.push_back({p, n});
      p += n;
    }
  }
}

void Placement::fill(const Bytes& data) {
  const uint8_t* p = data.data();
  for (const Segment& s : segments_) {
    std::memcpy(s.data, p, s.size_bytes);
    p += s.size_bytes;
  }
}

Bytes Placement::read() const {
  Bytes b;
  for (const Segment& s : segments_) b.insert(b.end(), s.data, s.data + s.size_bytes);
  return b;
}

bool Placement::holds(const Bytes& data) const {
  const uint8_t* p = data.data();
  for (const Segment& s : segments_) {
    if (std::memcmp(s.data, p, s.size_bytes) != 0) return false;
    p += s.size_bytes;
  }
  return true;
}

bool Placement::damaged(ptrdiff_t* where) const {
  const uint8_t* first = segments_.empty() ? begin_ : segments_[0].data;
  const uint8_t* p = begin_;
  auto check = [&](const uint8_t* to) {
    for (; p != to; ++p)
      if (*p != poison_) {
        *where = p - first;
        return true;
      }
    return false;
  };
  for (const Segment& s : segments_) {
    if (check(s.data)) return true;
    p = s.data + s.size_bytes;
  }
  return check(end_);
}

// ---------------------------------------------------------------------------------------------------- Trial

void Trial::prepare(const Shape& shape, Bytes in, Bytes iv, Bytes want, Bytes want_iv, std::string what) {
  shape_ = shape;
  in_ = std::move(in);
  want_ = std::move(want);
  want_iv_ = std::move(want_iv);
  what_ = std::move(what);
  iv_bytes_ = iv.size();
  iv_memory_.assign(iv.size() + 17, 0xc3);
  std::copy(iv.begin(), iv.end(), iv_memory_.begin() + 9);
  src_.lay(src_memory_, in_.size(), shape.pieces, shape.gap, shape.offset, 0xa5);
  src_.fill(in_);
  src_list_ = {src_.segments().data(), src_.segments().size()};
  request_ = {};
  request_.src = request_.dst = &src_list_;
  if (shape.place == Place::TwoLists) {
    src_.second_list(shape.dst_pieces, second_);
    dst_list_ = {second_.data(), second_.size()};
    request_.dst = &dst_list_;
  } else if (shape.place == Place::Apart) {
    dst_.lay(dst_memory_, in_.size(), shape.dst_pieces, shape.gap, shape.dst_offset, 0x5a);
    dst_list_ = {dst_.segments().data(), dst_.segments().size()};
    request_.dst = &dst_list_;
  }
  request_.size_bytes = in_.size();
  request_.iv = iv_bytes_ ? iv_memory_.data() + 9 : nullptr;
  request_.context = this;
  request_.complete = [](void* c, Status s) {
    auto* t = static_cast<Trial*>(c);
    if (s == Status::InProgress) {
      ++t->started_;
    } else {
      ++t->finished_;
      t->status_ = s;
    }
  };
  active_ = false;
}

Status Trial::submit(crypto::Skcipher& tfm, bool encrypt, uint32_t flags) {
  request_.flags = flags;
  started_ = finished_ = 0;
  active_ = true;
  const Status s = encrypt ? tfm.encrypt(request_) : tfm.decrypt(request_);
  backlogged_ = s == Status::Busy;
  if (accepted(s)) return s;
  if (finished_ || started_) {
    ADD_FAILURE() << what_ << ": called back although submit returned " << errno_name(s);
  }
  if (s == Status::NoSpace || s == Status::NoMemory) {
    active_ = false;
    return s;
  }
  finished_ = 1;
  status_ = s;
  return s;
}

std::string Trial::verify() {
  active_ = false;
  auto say = [this](const std::string& text) { return what_ + ": " + text; };
  if (finished_ != 1) return say("called back " + std::to_string(finished_) + " times");
  if (started_ != (backlogged_ ? 1 : 0)) return say("told of its start " + std::to_string(started_) + " times");
  if (status_ != Status::Ok) return say("status " + std::string(errno_name(status_)));
  const Placement& out = shape_.place == Place::Apart ? dst_ : src_;
  if (!out.holds(want_)) {
    const Bytes got = out.read();
    const auto [g, e] = std::mismatch(got.begin(), got.end(), want_.begin());
    const auto at = static_cast<size_t>(g - got.begin());
    const size_t n = std::min<size_t>(16, got.size() - at);
    return say("byte " + std::to_string(at) + " of " + std::to_string(got.size()) + " is " + to_hex(&*g, n) + ", not " +
               to_hex(&*e, n));
  }
  ptrdiff_t at = 0;
  if (out.damaged(&at)) return say("wrote outside the destination, at " + std::to_string(at));
  if (shape_.place == Place::Apart) {
    if (!src_.holds(in_)) return say("the source changed");
    if (src_.damaged(&at)) return say("wrote around the source, at " + std::to_string(at));
  }
  if (to_hex(iv_memory_.data() + 9, iv_bytes_) != to_hex(want_iv_))
    return say("output IV is " + to_hex(iv_memory_.data() + 9, iv_bytes_) + ", not " + to_hex(want_iv_));
  for (size_t i = 0; i < iv_memory_.size(); ++i)
    if ((i < 9 || i >= 9 + iv_bytes_) && iv_memory_[i] != 0xc3) return say("wrote around the IV");
  return {};
}

// ------------------------------------------------------------------------------------------------ Reference

struct Reference::Contexts {
  EVP_CIPHER* cipher = nullptr;
  EVP_CIPHER_CTX* of[2] = {EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_new()};
  ~Contexts() {
    for (auto* c : of) EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
  }
};

Reference::Reference(const std::string& algorithm, const Bytes& key) : contexts_(std::make_unique<Contexts>()) {
  std::string mode = algorithm.substr(0, 3);
  for (char& c : mode) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  cbc_ = mode == "CBC";
  ctr_ = mode == "CTR";
  const bool aes = algorithm.find("(aes)") != std::string::npos;
  Bytes k = key;
  while (!aes && k.size() < 24) k.insert(k.end(), key.begin(), key.end());
  contexts_->cipher = EVP_CIPHER_fetch(
      nullptr, (aes ? "AES-" + std::to_string(8 * key.size()) + "-" + mode : "DES-EDE3-" + mode).c_str(), nullptr);
  const uint8_t no_iv[16] = {};
  for (int enc : {0, 1})
    if (!contexts_->cipher ||
        EVP_CipherInit_ex2(contexts_->of[enc], contexts_->cipher, k.data(), no_iv, enc, nullptr) != 1)
      throw std::runtime_error("OpenSSL has no " + algorithm);
}
Reference::~Reference() = default;

Bytes Reference::crypt(bool encrypt, Bytes& iv, const Bytes& in) const {
  EVP_CIPHER_CTX* c = contexts_->of[encrypt];
  Bytes out(in.size() + 32);
  int n = 0;
  if (EVP_CipherInit_ex2(c, nullptr, nullptr, iv.empty() ? nullptr : iv.data(), -1, nullptr) != 1 ||
      EVP_CIPHER_CTX_set_padding(c, 0) != 1 ||
      EVP_CipherUpdate(c, out.data(), &n, in.data(), static_cast<int>(in.size())) != 1 ||
      static_cast<size_t>(n) != in.size())
    throw std::runtime_error("OpenSSL refused a reference request");
  out.resize(in.size());
  if (cbc_ && !in.empty()) {
    const Bytes& text = encrypt ? out : in;
    iv.assign(text.end() - static_cast<ptrdiff_t>(iv.size()), text.end());
  }
  if (ctr_)
    for (size_t blocks = (in.size() + 15) / 16; blocks; --blocks)
      for (size_t b = iv.size(); b-- && ++iv[b] == 0;) {
      }
  return out;
}

}  // namespace sec::test
