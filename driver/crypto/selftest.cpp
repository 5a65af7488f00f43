#include "driver/crypto/selftest.h"

#include <array>

#include "driver/crypto/selftest_support.h"

namespace sec::crypto {
namespace selftest {

std::string with_errno(const char* what, Status s) { return what + std::string(errno_name(s)); }

namespace {

struct CipherRun final : Run {
  std::unique_ptr<Skcipher> cipher;
  PoisonedList src, dst;
  Bytes iv;
  SkcipherRequest request;
  void drop_transforms() override { cipher.reset(); }
};

struct Layout {
  const char* name;
  Place place;
  size_t offset;  // of the first byte from an aligned address
  std::vector<size_t> (*source)(size_t), (*destination)(size_t);
};

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

bool same_request(const SkcipherRequest& a, const SkcipherRequest& b) {
  return a.src == b.src && a.dst == b.dst && a.size_bytes == b.size_bytes && a.iv == b.iv && a.flags == b.flags &&
         a.complete == b.complete && a.context == b.context;
}

Outcome run_cipher(const Algorithm& a, const CipherVector& v, const Layout& layout, bool encrypt, const Pump& pump) {
  const Bytes key = from_hex(v.key), iv_out = from_hex(v.iv_out);
  const Bytes in = from_hex(encrypt ? v.plain : v.cipher), expected = from_hex(encrypt ? v.cipher : v.plain);
  auto run = std::make_shared<CipherRun>();
  const auto fail = [&](const std::string& what) {
    return Outcome{std::string(v.source) + ", " + layout.name + ", " + (encrypt ? "encrypt" : "decrypt") + ": " + what,
                   nullptr};
  };
  run->cipher = a.make_skcipher();
  if (!run->cipher) return fail("no transform could be made");
  if (const Status s = run->cipher->set_key(key); s != Status::Ok)
    return fail(with_errno("the key was refused with ", s));
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
                  .context = static_cast<Run*>(run.get())};
  const SkcipherRequest before = run->request;
  Status s = Status::Ok;
  if (Outcome o = finish(
          run, pump, s,
          [&] { return encrypt ? run->cipher->encrypt(run->request) : run->cipher->decrypt(run->request); },
          [&] { run->cipher->flush(); });
      !o.ok())
    return {fail(o.failure).failure, o.abandoned};
  if (s != Status::Ok) return fail(with_errno("the request failed with ", s));
  if (result.content(in.size()) != expected) return fail("wrong result");
  if (layout.place == Place::Apart && run->src.content(in.size()) != in) return fail("the source was changed");
  if (!run->src.poison_intact() || !run->dst.poison_intact()) return fail("bytes outside the segments were written");
  if (!run->src.list_unchanged() || (layout.place != Place::SameList && !run->dst.list_unchanged()))
    return fail("a scatterlist was changed");
  if (!same_request(before, run->request)) return fail("the request was changed");
  if (!iv_out.empty() && run->iv != iv_out) return fail("wrong output IV");
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
    const bool legal = key_bytes_are_legal(shape, n) && n >= a.info.min_key_bytes && n <= a.info.max_key_bytes;
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
  if (i.iv_bytes != s.iv_bytes) return differs("IV size", i.iv_bytes, s.iv_bytes);
  const unsigned longest_tag = s.type == AlgorithmType::Aead ? s.digest_bytes : 0;
  const unsigned digest = s.type == AlgorithmType::Aead ? 0 : s.digest_bytes;
  if (i.max_auth_bytes != longest_tag) return differs("longest tag", i.max_auth_bytes, longest_tag);
  if (i.digest_bytes != digest) return differs("digest size", i.digest_bytes, digest);
  if (s.type == AlgorithmType::Skcipher) {
    // RC4 takes 1 to 256 bytes of key, an engine's unit fewer.
    const bool narrower =
        s.name == "ecb(arc4)" && i.min_key_bytes >= s.min_key_bytes && i.max_key_bytes <= s.max_key_bytes;
    if (i.min_key_bytes != s.min_key_bytes && !narrower)
      return differs("minimum key size", i.min_key_bytes, s.min_key_bytes);
    if (i.max_key_bytes != s.max_key_bytes && !narrower)
      return differs("maximum key size", i.max_key_bytes, s.max_key_bytes);
  }
  return {};
}

}  // namespace

Outcome test_cipher(const Algorithm& a, const AlgorithmShape& shape, const Pump& pump) {
  if (const std::string e = check_key_sizes(a, shape); !e.empty()) return {e, nullptr};
  for (const CipherVector& v : cipher_vectors()) {
    const size_t key_bytes = v.key.size() / 2;
    if (v.algorithm != a.info.name || key_bytes < a.info.min_key_bytes || key_bytes > a.info.max_key_bytes) continue;
    for (const Layout& layout : kLayouts)
      for (const bool encrypt : {true, false})
        if (Outcome o = run_cipher(a, v, layout, encrypt, pump); !o.ok()) return o;
  }
  return {};
}

}  // namespace selftest

SelfTestResult run_selftest(const Algorithm& a, const std::function<bool()>& pump) {
  const AlgorithmShape* shape = find_shape(a.info.name);
  if (!shape) return {};
  selftest::Outcome o;
  o.failure = selftest::check_shape(a.info, *shape);
  if (o.ok()) {
    switch (shape->type) {
      case AlgorithmType::Skcipher:
        o = selftest::test_cipher(a, *shape, pump);
        break;
      case AlgorithmType::Hash:
        o = selftest::test_hash(a, *shape, pump);
        break;
      case AlgorithmType::Aead:
        o = selftest::test_aead(a, *shape, pump);
        break;
    }
  }
  if (o.ok()) return {SelfTest::Passed, {}, nullptr};
  return {SelfTest::Failed, a.info.driver + ": " + o.failure, std::move(o.abandoned)};
}

}  // namespace sec::crypto
