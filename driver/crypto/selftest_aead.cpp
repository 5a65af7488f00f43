#include <algorithm>

#include "driver/crypto/authenc_key.h"
#include "driver/crypto/selftest_support.h"

namespace sec::crypto::selftest {
namespace {

struct AeadRun final : Run {
  std::shared_ptr<Aead> aead;
  PoisonedList src, dst;
  Bytes iv;
  AeadRequest request;
  void drop_transforms() override { aead.reset(); }
};

using Pieces = std::vector<size_t> (*)(size_t aad, size_t text, size_t tag);

std::vector<size_t> one(size_t a, size_t t, size_t g) { return whole(a + t + g); }
std::vector<size_t> parts(size_t a, size_t t, size_t g) { return filled({a, t, g}); }
std::vector<size_t> small(size_t a, size_t t, size_t g) { return crumbs(a + t + g); }
/// No border of a segment is one of the parts', and the tag is in two segments.
std::vector<size_t> across(size_t a, size_t t, size_t g) {
  return filled({a / 2, a - a / 2 + t / 3, t - t / 3 + g / 3, g - g / 3});
}

struct Layout {
  const char* name;
  Place place;
  size_t offset;  // of the first byte from an aligned address
  Pieces source, destination;
};

constexpr Layout kLayouts[] = {
    {"in place", Place::SameList, 0, one, one},
    {"in place, two lists", Place::SameMemory, 0, one, one},
    {"out of place", Place::Apart, 0, one, one},
    {"segments across AAD, text and tag, in place", Place::SameList, 3, across, across},
    {"one segment for each part, misaligned by one", Place::Apart, 1, parts, parts},
    {"one source segment, destination segments across", Place::Apart, 0, one, across},
    {"segments of 1 to 7 bytes", Place::Apart, 0, small, small},
};

bool same_request(const AeadRequest& a, const AeadRequest& b) {
  return a.src == b.src && a.dst == b.dst && a.aad_bytes == b.aad_bytes && a.size_bytes == b.size_bytes &&
         a.iv == b.iv && a.flags == b.flags && a.complete == b.complete && a.context == b.context;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Tester {
  const Algorithm& a;
  const AlgorithmShape& shape;
  const Pump& pump;

  struct Message {
    Bytes iv, aad, plain, cipher, tag;
    explicit Message(const AeadVector& v)
        : iv(from_hex(v.iv)),
          aad(from_hex(v.aad)),
          plain(from_hex(v.plain)),
          cipher(from_hex(v.cipher)),
          tag(from_hex(v.tag)) {}
  };

  static Outcome fail(std::string_view source, const char* layout, bool encrypt, const std::string& what) {
    return {std::string(source) + ", " + layout + ", " + (encrypt ? "encrypt" : "decrypt") + ": " + what, nullptr};
  }

  std::string make(const AeadVector& v, unsigned tag_bytes, std::shared_ptr<Aead>& out) const {
    out = a.make_aead();
    if (!out) return "no transform could be made";
    if (const Status s = out->set_key(key_of(v)); s != Status::Ok) return with_errno("the key was refused with ", s);
    if (const Status s = out->set_auth_bytes(tag_bytes); s != Status::Ok)
      return "a tag of " + std::to_string(tag_bytes) + " bytes was refused with " + std::string(errno_name(s));
    return {};
  }

  /// One request. `expected`: Ok (everything is compared), or the error that it must end with.
  Outcome run(const std::shared_ptr<Aead>& aead, std::string_view source, const Message& m, const Layout& layout,
              bool encrypt, Status expected) const {
    const size_t aad = m.aad.size(), text = encrypt ? m.plain.size() : m.cipher.size(), tag = m.tag.size();
    const Bytes input = m.aad + (encrypt ? m.plain : m.cipher + m.tag);
    auto run = std::make_shared<AeadRun>();
    run->aead = aead;
    // In place both sides are the longer list; otherwise each side has exactly what it needs.
    const bool together = layout.place != Place::Apart;
    run->src.build(layout.source(aad, text, together || !encrypt ? tag : 0), layout.offset, input);
    if (layout.place == Place::Apart)
      run->dst.build(layout.destination(aad, text, encrypt ? tag : 0), layout.offset, {});
    else if (layout.place == Place::SameMemory)
      run->dst.alias(run->src);
    const PoisonedList& result = layout.place == Place::SameList ? run->src : run->dst;
    run->iv = m.iv;
    run->request = {.src = run->src.list(),
                    .dst = result.list(),
                    .aad_bytes = aad,
                    .size_bytes = encrypt ? text : text + tag,
                    .iv = run->iv.data(),
                    .flags = kMayBacklog,
                    .complete = Run::complete,
                    .context = static_cast<Run*>(run.get())};
    const AeadRequest before = run->request;
    const auto failed = [&](const std::string& what) { return fail(source, layout.name, encrypt, what); };
    Status s = Status::Ok;
    if (Outcome o = finish(
            run, pump, s, [&] { return encrypt ? aead->encrypt(run->request) : aead->decrypt(run->request); },
            [&] { aead->flush(); });
        !o.ok())
      return {failed(o.failure).failure, o.abandoned};
    if (!run->src.poison_intact() || !run->dst.poison_intact())
      return failed("bytes outside the segments were written");
    if (!run->src.list_unchanged() || (layout.place != Place::SameList && !run->dst.list_unchanged()))
      return failed("a scatterlist was changed");
    if (!same_request(before, run->request)) return failed("the request was changed");
    if (run->iv != m.iv) return failed("the IV was changed");
    if (s != expected) {
      if (expected == Status::BadMessage && s == Status::Ok) return failed("a wrong message was accepted");
      return failed("the request ended with " + std::string(errno_name(s)) + " instead of " +
                    std::string(errno_name(expected)));
    }
    if (s != Status::Ok) return {};
    if (layout.place == Place::Apart && run->src.content(input.size()) != input)
      return failed("the source was changed");
    // The AAD area of the destination is reserved, not written; so is the tag's when decrypting.
    const Bytes want_aad = together ? m.aad : Bytes(aad, kPoison);
    const Bytes want_text = encrypt ? m.cipher : m.plain;
    const Bytes want_tag = encrypt || together ? m.tag : Bytes{};
    const Bytes got = result.content(aad + text + want_tag.size());
    const auto at = [&](size_t n) { return got.begin() + static_cast<std::ptrdiff_t>(n); };
    if (!std::equal(want_aad.begin(), want_aad.end(), at(0))) return failed("the AAD area was written");
    if (!std::equal(want_text.begin(), want_text.end(), at(aad))) return failed("wrong result");
    if (!std::equal(want_tag.begin(), want_tag.end(), at(aad + text)))
      return failed(encrypt ? "wrong tag" : "the tag area was written");
    return {};
  }

  Outcome both(const std::shared_ptr<Aead>& aead, std::string_view source, const Message& m,
               const Layout& layout) const {
    for (const bool encrypt : {true, false})
      if (Outcome o = run(aead, source, m, layout, encrypt, Status::Ok); !o.ok()) return o;
    return {};
  }

  Outcome vector(const AeadVector& v) const {
    const Message m(v);
    std::shared_ptr<Aead> aead;
    if (const std::string e = make(v, static_cast<unsigned>(m.tag.size()), aead); !e.empty())
      return {std::string(v.source) + ": " + e, nullptr};
    for (const Layout& layout : kLayouts)
      if (Outcome o = both(aead, v.source, m, layout); !o.ok()) return o;
    return {};
  }

  /// Every byte of the tag counts, and so do the AAD and the text.
  Outcome forgeries(const AeadVector& v) const {
    const Message good(v);
    std::shared_ptr<Aead> aead;
    if (const std::string e = make(v, static_cast<unsigned>(good.tag.size()), aead); !e.empty()) return {e, nullptr};
    const auto refused = [&](const Message& m, const std::string& what) {
      return run(aead, std::string(v.source) + ", " + what, m, kLayouts[0], false, Status::BadMessage);
    };
    for (size_t i = 0; i < good.tag.size(); ++i) {
      Message m = good;
      m.tag[i] ^= static_cast<uint8_t>(1u << i % 8);
      if (Outcome o = refused(m, "byte " + std::to_string(i) + " of the tag changed"); !o.ok()) return o;
    }
    Message m = good;
    m.aad.front() ^= 1;
    if (Outcome o = refused(m, "AAD changed"); !o.ok()) return o;
    m = good;
    m.cipher.back() ^= 0x80;
    if (Outcome o = refused(m, "text changed"); !o.ok()) return o;
    return both(aead, v.source, good, kLayouts[0]);  // and the transform still works
  }

  /// set_auth_bytes() takes what the algorithm has and nothing else; shorter tags of authenc and GCM are the first
  /// bytes of the long one, those of CCM have vectors of their own.
  Outcome tag_sizes(const AeadVector& v) const {
    std::shared_ptr<Aead> aead;
    if (const std::string e = make(v, shape.digest_bytes, aead); !e.empty()) return {e, nullptr};
    unsigned current = aead->auth_bytes(), shortest = 0;
    if (const std::shared_ptr<Aead> fresh = a.make_aead(); !fresh || fresh->auth_bytes() != shape.digest_bytes)
      return {"the tag is not the longest until another size is set", nullptr};
    for (unsigned n = 0; n <= shape.digest_bytes + 8; ++n) {
      const bool legal = auth_bytes_are_legal(shape, n);
      const Status s = aead->set_auth_bytes(n);
      if (s != (legal ? Status::Ok : Status::Invalid))
        return {"a tag of " + std::to_string(n) + " bytes gave " + std::string(errno_name(s)), nullptr};
      if (legal) current = n;
      if (legal && !shortest) shortest = n;
      if (aead->auth_bytes() != current) return {"auth_bytes() is not what was set", nullptr};
    }
    if (shape.name.find("ccm(") != std::string_view::npos) return {};
    for (const unsigned n : {shortest, 12u, shape.digest_bytes}) {
      Message m(v);
      m.tag.resize(n);
      if (const Status s = aead->set_auth_bytes(n); s != Status::Ok)
        return {with_errno("the tag size was refused with ", s), nullptr};
      const std::string source = std::string(v.source) + ", tag of " + std::to_string(n) + " bytes";
      if (Outcome o = both(aead, source, m, kLayouts[0]); !o.ok()) return o;
      m.tag.back() ^= 0x10;
      if (Outcome o = run(aead, source + ", changed", m, kLayouts[2], false, Status::BadMessage); !o.ok()) return o;
    }
    return {};
  }

  /// Sizes that no request may have, and IVs and AAD that the algorithm does not know.
  Outcome refusals(const AeadVector& v) const {
    std::shared_ptr<Aead> aead;
    const Message good(v);
    if (const std::string e = make(v, static_cast<unsigned>(good.tag.size()), aead); !e.empty()) return {e, nullptr};
    const auto refused = [&](const Message& m, const char* what, bool encrypt) {
      return run(aead, what, m, kLayouts[2], encrypt, Status::Invalid);
    };
    Message m = good;
    m.aad.clear();
    m.cipher.clear();
    m.tag.pop_back();
    if (Outcome o = refused(m, "a message shorter than its tag", false); !o.ok()) return o;
    if (shape.block_bytes > 1) {
      m = good;
      m.plain.push_back(0);
      if (Outcome o = refused(m, "text that is no whole number of blocks", true); !o.ok()) return o;
    }
    if (shape.name == "ccm(aes)")
      for (const uint8_t l : {0, 8}) {  // L - 1, and L is 2 to 8
        m = good;
        m.iv[0] = l;
        if (Outcome o = refused(m, "an IV with a first byte of 0 or 8", true); !o.ok()) return o;
      }
    if (shape.name.starts_with("rfc4"))
      for (const size_t n : {size_t{0}, size_t{8}, size_t{15}, size_t{17}, size_t{24}}) {
        m = good;
        m.aad.resize(n);
        if (Outcome o = refused(m, "AAD that is not 16 or 20 bytes", true); !o.ok()) return o;
      }
    return {};
  }

  Outcome keys(const AeadVector& v) const {
    const std::shared_ptr<Aead> aead = a.make_aead();
    if (!aead) return {"no transform could be made", nullptr};
    for (const bool encrypt : {true, false})
      if (Outcome o = run(aead, "no key", Message(v), kLayouts[0], encrypt, Status::NoKey); !o.ok()) return o;
    const auto gives = [&](const std::string& what, std::span<const uint8_t> key, Status want) {
      const Status s = aead->set_key(key);
      return s == want ? std::string() : what + " gave " + std::string(errno_name(s));
    };
    const bool authenc = shape.name.starts_with("authenc(");
    Bytes key(48);
    for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(3 + 37 * i);
    for (size_t n = 0; n <= key.size(); ++n) {
      const auto bytes = std::span(key).first(n);
      const Status want = key_bytes_are_legal(shape, n) ? Status::Ok : Status::Invalid;
      const std::string e =
          gives((authenc ? "a cipher key of " : "a key of ") + std::to_string(n) + " bytes",
                authenc ? make_authenc_key(std::span(key).first(20), bytes) : Bytes(bytes.begin(), bytes.end()), want);
      if (!e.empty()) return {e, nullptr};
    }
    if (!authenc) return {};
    const Bytes blob = key_of(v);
    for (size_t n = 0; n < 8; ++n)
      if (const std::string e =
              gives("a key blob of " + std::to_string(n) + " bytes", std::span(blob).first(n), Status::Invalid);
          !e.empty())
        return {e, nullptr};
    const struct {
      const char* what;
      size_t byte;
    } changes[] = {{"a key blob with a wrong header length", 0},
                   {"a key blob with a wrong type", 2},
                   {"a key blob with too long a cipher key", 5}};
    for (const auto& c : changes) {
      Bytes wrong = blob;
      wrong[c.byte] ^= 0x40;
      if (const std::string e = gives(c.what, wrong, Status::Invalid); !e.empty()) return {e, nullptr};
    }
    return {};
  }
};

}  // namespace

Outcome test_aead(const Algorithm& a, const AlgorithmShape& shape, const Pump& pump) {
  const Tester t{a, shape, pump};
  const AeadVector* full = nullptr;  // has everything, and the longest tag
  for (const AeadVector& v : aead_vectors())
    if (v.algorithm == a.info.name && !v.aad.empty() && !v.plain.empty() && v.tag.size() == 2 * shape.digest_bytes) {
      full = &v;
      break;
    }
  if (!full) return {"there is no complete vector", nullptr};
  if (Outcome o = t.keys(*full); !o.ok()) return o;
  for (const AeadVector& v : aead_vectors())
    if (v.algorithm == a.info.name)
      if (Outcome o = t.vector(v); !o.ok()) return o;
  if (Outcome o = t.tag_sizes(*full); !o.ok()) return o;
  if (Outcome o = t.forgeries(*full); !o.ok()) return o;
  return t.refusals(*full);
}

}  // namespace sec::crypto::selftest
