#include "driver/crypto/selftest.h"

#include <array>

#include "driver/crypto/vectors.h"

namespace sec::crypto {
namespace {

using Bytes = std::vector<uint8_t>;
using Pump = std::function<bool()>;

constexpr uint8_t kPoison = 0xa5;
constexpr size_t kPoisonBytes = 16;

/// A buffer whose segments lie apart, with poison before, between and behind them.
class PoisonedList {
 public:
  PoisonedList() = default;
  PoisonedList(const PoisonedList&) = delete;
  PoisonedList& operator=(const PoisonedList&) = delete;

  void build(const std::vector<size_t>& pieces, size_t offset, const Bytes& content) {
    size_t total = offset + kPoisonBytes;
    for (size_t n : pieces) total += n + kPoisonBytes;
    memory_.assign(total, kPoison);
    segments_.clear();
    size_t at = offset + kPoisonBytes, from = 0;
    for (size_t n : pieces) {
      segments_.push_back({memory_.data() + at, n});
      if (!content.empty()) std::memcpy(memory_.data() + at, content.data() + from, n);
      at += n + kPoisonBytes;
      from += n;
    }
    list_ = ScatterList(segments_.data(), segments_.size());
    before_ = segments_;
  }
  const ScatterList* list() const { return &list_; }
  /// The same memory described by another list object with the same segments.
  void alias(const PoisonedList& other) {
    memory_.clear();
    segments_ = other.segments_;
    before_ = segments_;
    list_ = ScatterList(segments_.data(), segments_.size());
  }
  Bytes content(size_t n) const {
    Bytes out(n);
    if (!copy_from(&list_, 0, out.data(), n)) out.clear();
    return out;
  }
  bool poison_intact() const {
    if (memory_.empty()) return true;
    std::vector<bool> inside(memory_.size());
    for (const Segment& s : segments_)
      for (size_t i = 0; i < s.size_bytes; ++i) inside[static_cast<size_t>(s.data - memory_.data()) + i] = true;
    for (size_t i = 0; i < memory_.size(); ++i)
      if (!inside[i] && memory_[i] != kPoison) return false;
    return true;
  }
  bool list_unchanged() const {
    for (size_t i = 0; i < before_.size(); ++i)
      if (before_[i].data != segments_[i].data || before_[i].size_bytes != segments_[i].size_bytes) return false;
    return list_.segments == segments_.data() && list_.count == segments_.size() && !list_.next;
  }

 private:
  Bytes memory_;
  std::vector<Segment> segments_, before_;
  ScatterList list_;
};

/// Everything a request needs to stay alive until its completion.
struct Run {
  std::unique_ptr<Skcipher> cipher;
  std::unique_ptr<Hash> hash;
  PoisonedList src, dst;
  Bytes iv, digest;
  SkcipherRequest request;
  HashRequest hash_request;
  unsigned finished = 0;
  bool abandoned = false;
  Status status = Status::InProgress;

  static void complete(void* context, Status s) {
    auto* run = static_cast<Run*>(context);
    if (s == Status::InProgress) return;
    ++run->finished;
    run->status = s;
    if (run->abandoned) {  // too late: the transform must not outlive its driver, the memory may
      run->cipher.reset();
      run->hash.reset();
    }
  }
};

enum class Place : uint8_t { SameList, SameMemory, Apart };

struct Layout {
  const char* name;
  Place place;
  size_t offset;  // of the first byte from an aligned address
  std::vector<size_t> (*source)(size_t), (*destination)(size_t);
};

std::vector<size_t> whole(size_t n) { return {n}; }
std::vector<size_t> halves(size_t n) { return {n / 2, n - n / 2}; }
std::vector<size_t> thirds(size_t n) {
  const size_t a = n * 19 / 100, b = n * 33 / 100;
  return {a, b, n - a - b};
}
std::vector<size_t> crumbs(size_t n) {
  std::vector<size_t> out;
  for (size_t step = 1; n; step = step % 7 + 1) {
    const size_t take = step < n ? step : n;
    out.push_back(take);
    n -= take;
  }
  return out;
}

constexpr std::array<Layout, 8> kLayouts = {{
    {"in place", Place::SameList, 0, whole, whole},
    {"in place, two lists", Place::SameMemory, 0, whole, whole},
    {"out of place", Place::Apart, 0, whole, whole},
    {"misaligned by one", Place::Apart, 1, whole, whole},
    {"two even splits", Place::Apart, 0, halves, halves},
    {"one source segment, two destination segments", Place::Apart, 0, whole, halves},
    {"three uneven splits, in place", Place::SameList, 1, thirds, thirds},
    {"segments of 1 to 7 bytes", Place::Apart, 0, crumbs, crumbs},
}};

struct Outcome {
  std::string failure;
  std::shared_ptr<void> abandoned;
  bool ok() const { return failure.empty(); }
};

/// Pumps until the request has completed. Empty string when it has.
std::string wait_for(const Run& run, const Pump& pump) {
  for (unsigned i = 0; i < kSelftestPumpLimit && !run.finished; ++i)
    if (!pump || !pump()) break;
  return run.finished ? "" : "the request never completed";
}

bool same_request(const SkcipherRequest& a, const SkcipherRequest& b) {
  return a.src == b.src && a.dst == b.dst && a.size_bytes == b.size_bytes && a.iv == b.iv && a.flags == b.flags &&
         a.complete == b.complete && a.context == b.context;
}

Outcome run_cipher(const Algorithm& a, const CipherVector& v, const Layout& layout, bool encrypt, const Pump& pump) {
  const Bytes key = from_hex(v.key), iv_out = from_hex(v.iv_out);
  const Bytes in = from_hex(encrypt ? v.plain : v.cipher), expected = from_hex(encrypt ? v.cipher : v.plain);
  auto run = std::make_shared<Run>();
  const auto fail = [&](const std::string& what) {
    return Outcome{std::string(v.source) + ", " + layout.name + ", " + (encrypt ? "encrypt" : "decrypt") + ": " + what,
                   nullptr};
  };
  run->cipher = a.make_skcipher();
  if (!run->cipher) return fail("no transform could be made");
  if (const Status s = run->cipher->set_key(key); s != Status::Ok)
    return fail("the key was refused with " + std::string(errno_name(s)));
  run->src.build(layout.source(in.size()), layout.offset, in);
  if (layout.place == Place::Apart)
    run->dst.build(layout.destination(in.size()), layout.offset, {});
  else if (layout.place == Place::SameMemory)
    run->dst.alias(run->src);
  const PoisonedList& result = layout.place == Place::SameList ? run->src : run->dst;
  run->iv = from_hex(v.iv);
  run->request = {.src = run->src.list(),
                  .dst = result.list(),
                  .size_bytes = in.size(),
                  .iv = run->iv.empty() ? nullptr : run->iv.data(),
                  .flags = kMayBacklog,
                  .complete = Run::complete,
                  .context = run.get()};
  const SkcipherRequest before = run->request;
  Status s = encrypt ? run->cipher->encrypt(run->request) : run->cipher->decrypt(run->request);
  if (accepted(s)) {
    run->cipher->flush();
    if (const std::string waited = wait_for(*run, pump); !waited.empty()) {
      Outcome o = fail(waited);
      run->abandoned = true;
      o.abandoned = run;
      return o;
    }
    if (run->finished != 1) return fail("the completion was called more than once");
    s = run->status;
  } else if (run->finished) {
    return fail("the completion was called although the request was not accepted");
  }
  if (s != Status::Ok) return fail("the request failed with " + std::string(errno_name(s)));
  if (result.content(in.size()) != expected) return fail("wrong result");
  if (layout.place == Place::Apart && run->src.content(in.size()) != in) return fail("the source was changed");
  if (!run->src.poison_intact() || !run->dst.poison_intact()) return fail("bytes outside the segments were written");
  if (!run->src.list_unchanged() || (layout.place != Place::SameList && !run->dst.list_unchanged()))
    return fail("a scatterlist was changed");
  if (!same_request(before, run->request)) return fail("the request was changed");
  if (!iv_out.empty() && run->iv != iv_out) return fail("wrong output IV");
  return {};
}

Outcome run_hash(const Algorithm& a, const HashVector& v, std::vector<size_t> (*pieces)(size_t), const Pump& pump) {
  const Bytes key = from_hex(v.key), in = from_hex(v.message), expected = from_hex(v.digest);
  auto run = std::make_shared<Run>();
  const auto fail = [&](const std::string& what) { return Outcome{std::string(v.source) + ": " + what, nullptr}; };
  run->hash = a.make_hash();
  if (!run->hash) return fail("no transform could be made");
  if (!key.empty())
    if (const Status s = run->hash->set_key(key); s != Status::Ok)
      return fail("the key was refused with " + std::string(errno_name(s)));
  run->src.build(in.empty() ? std::vector<size_t>{} : pieces(in.size()), 1, in);
  run->digest.assign(expected.size() + kPoisonBytes, kPoison);
  run->hash_request = {.src = run->src.list(),
                       .size_bytes = in.size(),
                       .digest = run->digest.data(),
                       .flags = kMayBacklog,
                       .complete = Run::complete,
                       .context = run.get()};
  Status s = run->hash->digest(run->hash_request);
  if (accepted(s)) {
    run->hash->flush();
    if (const std::string waited = wait_for(*run, pump); !waited.empty()) {
      Outcome o = fail(waited);
      run->abandoned = true;
      o.abandoned = run;
      return o;
    }
    s = run->status;
  }
  if (s != Status::Ok) return fail("the request failed with " + std::string(errno_name(s)));
  if (!std::equal(expected.begin(), expected.end(), run->digest.begin())) return fail("wrong digest");
  for (size_t i = expected.size(); i < run->digest.size(); ++i)
    if (run->digest[i] != kPoison) return fail("bytes behind the digest were written");
  if (!run->src.poison_intact() || run->src.content(in.size()) != in) return fail("the message was changed");
  return {};
}

/// Every key length is either right or refused; XTS with AES-192 may be offered or not. An implementation may declare a
/// narrower range than the algorithm's, and then keeps to that.
std::string check_key_sizes(const Algorithm& a, const AlgorithmShape& shape) {
  const std::unique_ptr<Skcipher> t = a.make_skcipher();
  if (!t) return "no transform could be made";
  Bytes key(a.info.max_key_bytes + 8);
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(3 + 37 * i);
  for (size_t n = 0; n <= key.size(); ++n) {
    if (shape.name == "xts(aes)" && n == 48) continue;
    const Status s = t->set_key(std::span(key).first(n));
    const bool legal =
        key_bytes_are_legal(shape, n) && n >= a.info.min_key_bytes && n <= a.info.max_key_bytes;
    if (s != (legal ? Status::Ok : Status::Invalid))
      return "a key of " + std::to_string(n) + " bytes gave " + std::string(errno_name(s));
  }
  return {};
}

std::string check_shape(const AlgorithmInfo& i, const AlgorithmShape& s) {
  const auto differs = [](const char* what, unsigned is, unsigned should) {
    return std::string(what) + " is " + std::to_string(is) + ", should be " + std::to_string(should);
  };
  if (i.type != s.type) return "wrong algorithm type";
  if (i.block_bytes != s.block_bytes) return differs("block size", i.block_bytes, s.block_bytes);
  if (s.type == AlgorithmType::Aead) {
    if (i.max_auth_bytes != s.digest_bytes) return differs("longest tag", i.max_auth_bytes, s.digest_bytes);
  } else if (i.digest_bytes != s.digest_bytes) {
    return differs("digest size", i.digest_bytes, s.digest_bytes);
  }
  if (i.iv_bytes != s.iv_bytes) return differs("IV size", i.iv_bytes, s.iv_bytes);
  if (s.type == AlgorithmType::Skcipher) {
    // RC4 takes 1 to 256 bytes of key, an engine's unit fewer.
    const bool narrower = s.name == "ecb(arc4)" && i.min_key_bytes >= s.min_key_bytes && i.max_key_bytes <= s.max_key_bytes;
    if (i.min_key_bytes != s.min_key_bytes && !narrower)
      return differs("minimum key size", i.min_key_bytes, s.min_key_bytes);
    if (i.max_key_bytes != s.max_key_bytes && !narrower)
      return differs("maximum key size", i.max_key_bytes, s.max_key_bytes);
  }
  return {};
}

}  // namespace

SelfTestResult run_selftest(const Algorithm& a, const Pump& pump) {
  const AlgorithmShape* shape = find_shape(a.info.name);
  if (!shape) return {};
  SelfTestResult r;
  const auto failed = [&](const std::string& text, std::shared_ptr<void> abandoned = nullptr) {
    r.verdict = SelfTest::Failed;
    r.failure = a.info.driver + ": " + text;
    r.abandoned = std::move(abandoned);
    return r;
  };
  if (const std::string e = check_shape(a.info, *shape); !e.empty()) return failed(e);
  if (shape->type == AlgorithmType::Skcipher) {
    if (const std::string e = check_key_sizes(a, *shape); !e.empty()) return failed(e);
    for (const CipherVector& v : cipher_vectors()) {
      if (v.algorithm != a.info.name) continue;
      for (const Layout& layout : kLayouts)
        for (const bool encrypt : {true, false})
          if (const Outcome o = run_cipher(a, v, layout, encrypt, pump); !o.ok()) return failed(o.failure, o.abandoned);
    }
  } else {
    for (const HashVector& v : hash_vectors()) {
      if (v.algorithm != a.info.name) continue;
      for (const auto pieces : {whole, halves, crumbs})
        if (const Outcome o = run_hash(a, v, pieces, pump); !o.ok()) return failed(o.failure, o.abandoned);
    }
  }
  r.verdict = SelfTest::Passed;
  return r;
}

}  // namespace sec::crypto
