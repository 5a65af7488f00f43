// AEADs of the driver on the fake engine.
#include "driver/talitos/aead.h"

#include <algorithm>
#include <functional>

#include "tests/driver/harness.h"
#include "tests/support/aead_check.h"

namespace sec::test {
namespace {

using aead::Keys;
using aead::Request;
using aead::Rng;
using aead::Shape;
using aead::Spec;
using Fate = FakeEngine::Fate;

std::vector<std::string> aead_drivers(const Harness& h) {
  std::vector<std::string> out;
  for (const auto& a : h.registry.list())
    if (a.type == crypto::AlgorithmType::Aead && a.module == "talitos") out.push_back(a.driver);
  return out;
}

FakeEngine::Options on(const char* part) { return {.part = regs::find_part(part), .dma_bytes = 16 << 20}; }

std::unique_ptr<crypto::Aead> transform(Harness& h, const std::string& driver, const Keys& k) {
  auto t = h.registry.alloc_aead(driver);
  EXPECT_TRUE(t) << driver;
  if (t) {
    EXPECT_EQ(t->set_key(k.blob(Spec(t->info().name))), Status::Ok);
  }
  return t;
}

/// Runs one request to its end.
Status run(Harness& h, crypto::Aead& t, Request& r) {
  EXPECT_EQ(t.set_auth_bytes(r.shape().tag), Status::Ok);
  const Status s = r.submit(t);
  if (!accepted(s)) return s;
  h.engine.run();
  return r.status;
}

// T12, T35, T08, S02 and everything at once.
TEST(Aead, RandomRequestsOnEveryPart) {
  for (const regs::Part& part : regs::kParts) {
    Harness h({.part = &part, .dma_bytes = 16 << 20});
    uint64_t seed = 1;
    for (const std::string& d : aead_drivers(h)) {
      aead::random_requests(h.registry, h.dma(), d, seed++, 120, [&] { return h.engine.run(); });
      ASSERT_FALSE(HasFailure()) << part.name << " " << d;
    }
    EXPECT_EQ(h.device->outstanding(), 0u);
    EXPECT_EQ(h.dma().bounce_slots_used(), 0u);
    EXPECT_EQ(h.engine.illegal_accesses, 0u);
    EXPECT_EQ(h.engine.misaligned_writes, 0u);
    EXPECT_EQ(h.engine.lost_fetches, 0u);
    EXPECT_EQ(h.engine.parity_errors, 0u);
    EXPECT_EQ(h.device->stats().device_resets, 0u);
    EXPECT_EQ(h.device->stats().descriptor_errors, 0u);
  }
}

// --- Tags ----------------------------------------------------------------------------------------------------------

// T09, and the same for every other family: each bit of the tag, of the AAD and of the text counts.
TEST(AeadTags, EveryFlippedBitIsSeen) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"mpc8548",
       {"authenc-hmac-sha1-cbc-aes-talitos-hsna", "authenc-hmac-sha256-cbc-3des-talitos-hsna",
        "authenc-hmac-sha1-cbc-aes-talitos", "ccm-aes-talitos"}},
      {"mpc8572",
       {"authenc-hmac-md5-cbc-aes-talitos-hsna", "authenc-hmac-sha512-cbc-aes-talitos", "gcm-aes-talitos",
        "rfc4309-ccm-aes-talitos"}},
      {"mpc885", {"authenc-hmac-sha1-cbc-aes-talitos-hsna"}},
      {"mpc8349", {"authenc-hmac-sha1-cbc-aes-talitos", "ccm-aes-talitos"}}};
  for (const auto& [part, drivers] : cases)
    for (const std::string& d : drivers) {
      Harness h(on(part));
      Rng rng(9);
      auto probe = h.registry.alloc_aead(d);
      ASSERT_TRUE(probe) << d;
      const Spec spec(probe->info().name);
      const Keys keys = aead::random_keys(spec, rng);
      auto t = transform(h, d, keys);
      const size_t aad = spec.rfc ? 16 : 24, text = 48;
      const unsigned tag = 12;
      ASSERT_EQ(t->set_auth_bytes(tag), Status::Ok);
      const Bytes iv = spec.ccm && !spec.rfc ? Bytes{3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0, 0, 0}
                                             : aead::random_bytes(rng, spec.iv());
      Bytes associated = aead::random_bytes(rng, aad);
      const Bytes plain = aead::random_bytes(rng, text);
      const Bytes cipher = aead::reference(spec, keys, iv, associated, plain, tag);
      auto* memory = static_cast<uint8_t*>(h.dma().alloc(aad + text + tag, 64));
      crypto::Segment segment{memory, aad + text + tag};
      crypto::ScatterList list(&segment, 1);
      Status result = Status::InProgress;
      crypto::AeadRequest r{.src = &list,
                            .dst = &list,
                            .aad_bytes = aad,
                            .size_bytes = text + tag,
                            .iv = iv.data(),
                            .complete = [](void* c, Status s) { *static_cast<Status*>(c) = s; },
                            .context = &result};
      const auto decrypt = [&](size_t bit) {
        std::copy(associated.begin(), associated.end(), memory);
        std::copy(cipher.begin(), cipher.end(), memory + aad);
        if (bit != ~size_t{0}) memory[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
        result = Status::InProgress;
        EXPECT_EQ(t->decrypt(r), Status::InProgress);
        h.engine.run();
        return result;
      };
      EXPECT_EQ(decrypt(~size_t{0}), Status::Ok) << part << " " << d;
      EXPECT_EQ(Bytes(memory + aad, memory + aad + text), plain);
      for (size_t bit = 0; bit < 8 * (aad + text + tag); ++bit) {
        if (spec.rfc && bit >= 8 * (aad - 8) && bit < 8 * aad) continue;  // the IV's copy is not covered
        ASSERT_EQ(decrypt(bit), Status::BadMessage) << part << " " << d << " bit " << bit;
      }
      h.dma().free(memory);
    }
}

TEST(AeadTags, EveryLengthAndNoOther) {
  Harness h(on("p2020"));
  Rng rng(3);
  for (const std::string& d :
       {std::string("authenc-hmac-sha512-cbc-aes-talitos"), std::string("authenc-hmac-md5-cbc-3des-talitos-hsna")}) {
    auto t = h.registry.alloc_aead(d);
    const Spec spec(t->info().name);
    const Keys keys = aead::random_keys(spec, rng);
    EXPECT_EQ(t->set_key(keys.blob(spec)), Status::Ok);
    EXPECT_EQ(t->auth_bytes(), spec.digest());
    EXPECT_EQ(t->set_auth_bytes(0), Status::Invalid);
    EXPECT_EQ(t->set_auth_bytes(static_cast<unsigned>(spec.digest()) + 1), Status::Invalid);
    EXPECT_EQ(t->auth_bytes(), spec.digest());
    for (unsigned tag = 1; tag <= spec.digest(); ++tag)
      for (const bool encrypt : {true, false})
        for (const bool cut : {false, true}) {
          Shape shape{.aad = 16,
                      .text = 64,
                      .tag = tag,
                      .encrypt = encrypt,
                      .same_list = tag % 2 == 0,
                      .same_memory = tag % 2 == 0};
          // The tag in single bytes, or with the end of the text in one segment.
          const size_t all = 16 + 64 + tag;
          if (cut && (!encrypt || shape.same_memory)) {
            shape.src_cuts = {16 + 60};
            for (size_t n = 16 + 60; n < all; ++n) shape.src_cuts.push_back(1);
          }
          if (cut && encrypt && !shape.same_memory) {
            shape.dst_cuts = {16 + 60};
            for (size_t n = 16 + 60; n < all; ++n) shape.dst_cuts.push_back(1);
          }
          Request r(spec, keys, rng, shape, h.dma());
          EXPECT_EQ(run(h, *t, r), Status::Ok);
          r.check(d);
        }
  }
  EXPECT_EQ(h.engine.illegal_accesses, 0u);
}

// T37, T45: which way the tag was compared, by part, family and layout.
TEST(AeadTags, HardwareComparesWhereItMay) {
  struct Case {
    const char *part, *driver;
    size_t segments;  // of source and destination
    bool in_hardware;
  };
  std::vector<Case> cases;
  for (size_t n = 1; n <= 8; ++n) {
    cases.push_back({"mpc8349", "authenc-hmac-sha1-cbc-aes-talitos", n, false});
    cases.push_back({"mpc8548", "authenc-hmac-sha1-cbc-aes-talitos", n, n == 1});
    cases.push_back({"mpc8572", "authenc-hmac-sha1-cbc-aes-talitos", n, true});
    cases.push_back({"mpc8548", "authenc-hmac-sha1-cbc-aes-talitos-hsna", n, false});
    cases.push_back({"mpc8572", "authenc-hmac-sha1-cbc-aes-talitos-hsna", n, false});
    cases.push_back({"mpc8572", "gcm-aes-talitos", n, true});
    cases.push_back({"mpc8548", "ccm-aes-talitos", n, true});
    cases.push_back({"mpc8349", "ccm-aes-talitos", n, false});
  }
  for (const Case& c : cases)
    for (const bool damage : {false, true}) {
      Harness h(on(c.part));
      Rng rng(c.segments);
      auto t = h.registry.alloc_aead(c.driver);
      const Spec spec(t->info().name);
      const Keys keys = aead::random_keys(spec, rng);
      ASSERT_EQ(t->set_key(keys.blob(spec)), Status::Ok);
      for (const bool apart : {false, true}) {
        Shape shape{.aad = 20,
                    .text = 160,
                    .tag = 12,
                    .encrypt = false,
                    .same_list = !apart,
                    .same_memory = !apart,
                    .damage = damage};
        // AAD by itself, so that text and tag are in one segment when there is one.
        shape.src_cuts = {20};
        shape.dst_cuts = {20};
        for (size_t i = 1; i < c.segments; ++i) shape.src_cuts.push_back(16), shape.dst_cuts.push_back(16);
        shape.src_cuts.push_back(160 + 12 - 16 * (c.segments - 1));
        shape.dst_cuts.push_back(160 - 16 * (c.segments - 1));
        Request r(spec, keys, rng, shape, h.dma());
        EXPECT_EQ(run(h, *t, r), damage ? Status::BadMessage : Status::Ok);
        r.check(c.driver);
      }
      const driver::DeviceStats s = h.device->stats();
      EXPECT_EQ(s.hw_icv_checks, c.in_hardware ? 2u : 0u) << c.part << " " << c.driver << " " << c.segments;
      EXPECT_EQ(s.sw_icv_checks, c.in_hardware ? 0u : 2u) << c.part << " " << c.driver << " " << c.segments;
      EXPECT_EQ(h.engine.icv_checks, c.in_hardware ? 2u : 0u);
      EXPECT_EQ(s.descriptor_errors, 0u);
    }
}

// No verdict is no "passed".
TEST(AeadTags, AMissingVerdictFails) {
  for (const char* d : {"authenc-hmac-sha1-cbc-aes-talitos", "gcm-aes-talitos", "ccm-aes-talitos"}) {
    Harness h(on("p2020"));
    Rng rng(1);
    auto t = h.registry.alloc_aead(d);
    const Spec spec(t->info().name);
    const Keys keys = aead::random_keys(spec, rng);
    ASSERT_EQ(t->set_key(keys.blob(spec)), Status::Ok);
    h.engine.silent_verdict = true;
    Request r(spec, keys, rng, {.aad = 8, .text = 64, .tag = 12, .encrypt = false}, h.dma());
    EXPECT_EQ(run(h, *t, r), Status::BadMessage) << d;
    EXPECT_EQ(h.engine.icv_checks, 1u);
  }
}

// T39: the comparison looks at every byte.
TEST(AeadTags, ComparisonLooksAtEveryByte) {
  uint8_t a[64] = {}, b[64] = {};
  EXPECT_TRUE(driver::equal_tags(a, b, 64));
  for (unsigned i = 0; i < 64; ++i) {
    b[i] = 0x80;
    EXPECT_EQ(driver::equal_tags(a, b, 64), false);
    EXPECT_EQ(driver::equal_tags(a, b, i), true);
    b[i] = 0;
  }
}

// --- Lists ---------------------------------------------------------------------------------------------------------

// T12
TEST(AeadLists, AwkwardLayout) {
  for (const char* part : {"mpc8548", "mpc8572", "mpc885"}) {
    Harness h(on(part));
    Rng rng(12);
    for (const std::string& d : aead_drivers(h)) {
      auto t = h.registry.alloc_aead(d);
      const Spec spec(t->info().name);
      if (spec.rfc) continue;
      const Keys keys = aead::random_keys(spec, rng);
      ASSERT_EQ(t->set_key(keys.blob(spec)), Status::Ok);
      Shape shape{.aad = 24, .text = 96, .tag = 12};
      shape.src_cuts = {5, 12, 7, 33, 1, 62};
      shape.dst_cuts = {24, 50, 46, 5, 7};
      for (const bool encrypt : {true, false}) {
        shape.encrypt = encrypt;
        Shape now = shape;
        if (!encrypt) std::swap(now.src_cuts, now.dst_cuts);
        Request r(spec, keys, rng, now, h.dma());
        EXPECT_EQ(run(h, *t, r), Status::Ok) << d;
        r.check(d);
      }
    }
  }
}

// T35: 1/7 and 7/1 segments, lists exactly as long as they have to be.
TEST(AeadLists, SourceAndDestinationDiffer) {
  Harness h(on("p2020"));
  Rng rng(35);
  for (const std::string& d : aead_drivers(h)) {
    auto t = h.registry.alloc_aead(d);
    const Spec spec(t->info().name);
    const Keys keys = aead::random_keys(spec, rng);
    ASSERT_EQ(t->set_key(keys.blob(spec)), Status::Ok);
    for (const bool encrypt : {true, false})
      for (const bool one_to_seven : {true, false}) {
        const size_t tag = 12, in = 16 + 64 + (encrypt ? 0 : tag), out = 16 + 64 + (encrypt ? tag : 0);
        const auto seven = [](size_t n) { return std::vector<size_t>{3, 5, 7, 11, 13, 17, n - 56}; };
        Shape shape{.aad = 16, .text = 64, .tag = tag, .encrypt = encrypt};
        shape.src_cuts = one_to_seven ? std::vector<size_t>{in} : seven(in);
        shape.dst_cuts = one_to_seven ? seven(out) : std::vector<size_t>{out};
        Request r(spec, keys, rng, shape, h.dma());
        EXPECT_EQ(run(h, *t, r), Status::Ok) << d;
        r.check(d);
      }
  }
  EXPECT_EQ(h.engine.illegal_accesses, 0u);
}

// K08: the last byte used is the last one before a chain link, the end, or an empty segment.
TEST(AeadLists, EndsAtChainLinks) {
  Harness h(on("mpc8572"));
  Rng rng(8);
  const std::string d = "authenc-hmac-sha256-cbc-aes-talitos";
  auto t = h.registry.alloc_aead(d);
  const Spec spec(t->info().name);
  const Keys keys = aead::random_keys(spec, rng);
  ASSERT_EQ(t->set_key(keys.blob(spec)), Status::Ok);
  ASSERT_EQ(t->set_auth_bytes(16), Status::Ok);
  const Bytes iv(16, 7), aad = aead::random_bytes(rng, 16), plain = aead::random_bytes(rng, 48);
  const Bytes expected = aead::reference(spec, keys, iv, aad, plain, 16);
  auto* memory = static_cast<uint8_t*>(h.dma().alloc(80, 64));
  for (size_t link = 1; link <= 80; ++link) {
    crypto::Segment first[2] = {{memory, link}, {memory, 0}}, second[2] = {{memory + link, 80 - link}, {memory, 0}};
    for (const size_t empties : {size_t{1}, size_t{2}}) {
      crypto::ScatterList tail(second, empties), head(first, empties, &tail), short_head(first, empties);
      std::copy(aad.begin(), aad.end(), memory);
      std::copy(plain.begin(), plain.end(), memory + 16);
      Status result = Status::InProgress;
      const crypto::ScatterList* list = link == 80 ? &short_head : &head;
      crypto::AeadRequest r{.src = list,
                            .dst = list,
                            .aad_bytes = 16,
                            .size_bytes = 48,
                            .iv = iv.data(),
                            .complete = [](void* c, Status s) { *static_cast<Status*>(c) = s; },
                            .context = &result};
      ASSERT_EQ(t->encrypt(r), Status::InProgress) << link;
      h.engine.run();
      ASSERT_EQ(result, Status::Ok);
      ASSERT_EQ(Bytes(memory + 16, memory + 80), expected) << link;
    }
  }
  h.dma().free(memory);
}

TEST(AeadLists, TooShortListsAreRefused) {
  for (const char* part : {"p2020", "mpc885"}) {
    Harness h(on(part));
    Rng rng(4);
    for (const std::string& d : aead_drivers(h)) {
      auto t = h.registry.alloc_aead(d);
      const Spec spec(t->info().name);
      ASSERT_EQ(t->set_key(aead::random_keys(spec, rng).blob(spec)), Status::Ok);
      ASSERT_EQ(t->set_auth_bytes(12), Status::Ok);
      Bytes memory(16 + 48 + 12), iv(16, 3);
      crypto::Segment whole{memory.data(), memory.size()}, cut{memory.data(), memory.size() - 1},
          text{memory.data(), 16 + 47};
      crypto::ScatterList good(&whole, 1), bad(&cut, 1), worse(&text, 1);
      const uint64_t before = h.device->stats().channel[1].submitted;
      crypto::AeadRequest r{.src = &good, .dst = &bad, .aad_bytes = 16, .size_bytes = 48, .iv = iv.data()};
      EXPECT_EQ(t->encrypt(r), Status::Invalid) << d;  // no room for the last byte of the tag
      r.src = &worse;
      r.dst = &good;
      EXPECT_EQ(t->encrypt(r), Status::Invalid);
      r.size_bytes = 48 + 12;
      r.src = &bad;
      EXPECT_EQ(t->decrypt(r), Status::Invalid);
      r.src = &good;
      r.dst = &worse;
      EXPECT_EQ(t->decrypt(r), Status::Invalid);
      r.dst = &good;
      r.size_bytes = 11;
      EXPECT_EQ(t->decrypt(r), Status::Invalid);  // shorter than the tag
      r.size_bytes = 48 + 12;
      r.iv = nullptr;
      EXPECT_EQ(t->decrypt(r), Status::Invalid);
      EXPECT_EQ(h.device->stats().channel[1].submitted, before);
    }
    EXPECT_EQ(h.device->outstanding(), 0u);
  }
}

// T24: a pointer's bytes, and a descriptor's.
TEST(AeadDescriptors, BytesInMemory) {
  Harness h({.part = regs::find_part("p2020"), .dma_bytes = 16 << 20, .dma_base = 0x1'1200'0000});
  h.engine.keep_descriptors = true;
  auto t = h.registry.alloc_aead("authenc-hmac-sha1-cbc-aes-talitos");
  ASSERT_EQ(t->set_key(crypto::make_authenc_key(Bytes(20, 1), Bytes(16, 2))), Status::Ok);
  ASSERT_EQ(t->set_auth_bytes(12), Status::Ok);
  uint8_t* const at = h.dma().host_ptr(0x1'1234'5678);
  crypto::Segment v[3] = {{at, 64}, {at + 0x100, 64}, {at + 0x200, 64}};
  crypto::ScatterList list(v, 3);
  Bytes iv(16, 9);
  crypto::AeadRequest r{
      .src = &list, .dst = &list, .aad_bytes = 0, .size_bytes = 128, .iv = iv.data(), .complete = [](void*, Status) {}};
  ASSERT_EQ(t->encrypt(r), Status::InProgress);
  h.engine.step(1);
  ASSERT_EQ(h.engine.descriptors.size(), 1u);
  const auto& d = h.engine.descriptors[0];
  EXPECT_EQ(Bytes(d.begin(), d.begin() + 8), (Bytes{0x60, 0x33, 0x1c, 0x09, 0, 0, 0, 0}));
  EXPECT_EQ(load_be64(d.data() + 8) >> 48, 20u);            // HMAC key
  EXPECT_EQ(load_be64(d.data() + 16), 0u);                  // no AAD
  EXPECT_EQ(load_be64(d.data() + 24) >> 48, 16u);           // IV
  EXPECT_EQ(load_be64(d.data() + 32) >> 48, 16u);           // cipher key
  EXPECT_EQ(load_be64(d.data() + 40) >> 32, 0x0080'8001u);  // 128 bytes by a table
  EXPECT_EQ(load_be64(d.data() + 48) >> 32, 0x0080'8c01u);  // and 12 of tag
  EXPECT_EQ(load_be64(d.data() + 56) >> 48, 16u);           // IV out
  const uint8_t* table = h.dma().host_ptr(load_be64(d.data() + 48) & 0xfffffffff);
  EXPECT_EQ(Bytes(table, table + 8), (Bytes{0x00, 0x40, 0x00, 0x01, 0x12, 0x34, 0x56, 0x78}));
  EXPECT_EQ(Bytes(table + 8, table + 16), (Bytes{0x00, 0x40, 0x00, 0x01, 0x12, 0x34, 0x57, 0x78}));
  EXPECT_EQ(Bytes(table + 16, table + 24), (Bytes{0x00, 0x0c, 0x02, 0x01, 0x12, 0x34, 0x58, 0x78}));
  h.engine.run();
}

// --- Keys ----------------------------------------------------------------------------------------------------------

// T15, T46, and every length around the blocks.
TEST(AeadKeys, AuthenticationKeysOfAnyLength) {
  for (const char* part : {"p2020", "mpc8349", "mpc885"}) {
    Harness h(on(part));
    Rng rng(46);
    for (const std::string& d : aead_drivers(h)) {
      auto t = h.registry.alloc_aead(d);
      const Spec spec(t->info().name);
      if (!spec.authenc()) continue;
      for (const size_t n : {0u, 1u, 16u, 63u, 64u, 65u, 80u, 127u, 128u, 129u, 200u, 1000u}) {
        const Keys keys{aead::random_bytes(rng, n), aead::random_bytes(rng, spec.cipher_keys().back())};
        ASSERT_EQ(t->set_key(keys.blob(spec)), Status::Ok) << d << " " << n;
        Request r(spec, keys, rng, {.aad = 8, .text = 64, .tag = static_cast<unsigned>(spec.digest())}, h.dma());
        ASSERT_EQ(run(h, *t, r), Status::Ok) << d << " " << n;
        r.check(d);
      }
    }
    EXPECT_EQ(h.device->outstanding(), 0u);
  }
}

TEST(AeadKeys, BadOnesLeaveTheTransformWithoutAKey) {
  Harness h(on("p2020"));
  Rng rng(5);
  const auto blob = [](size_t auth, size_t cipher) {
    return crypto::make_authenc_key(Bytes(auth, 1), Bytes(cipher, 2));
  };
  auto t = h.registry.alloc_aead("authenc-hmac-sha1-cbc-aes-talitos");
  Bytes memory(128), iv(16);
  crypto::Segment segment{memory.data(), memory.size()};
  crypto::ScatterList list(&segment, 1);
  crypto::AeadRequest r{
      .src = &list, .dst = &list, .size_bytes = 32, .iv = iv.data(), .complete = [](void*, Status) {}};
  EXPECT_EQ(t->encrypt(r), Status::NoKey);
  for (size_t n = 0; n <= 40; ++n) {
    const bool good = n == 16 || n == 24 || n == 32;
    ASSERT_EQ(t->set_key(blob(20, n)), good ? Status::Ok : Status::Invalid) << n;
    ASSERT_EQ(t->encrypt(r), good ? Status::InProgress : Status::NoKey) << n;
    h.engine.run();
    ASSERT_EQ(t->set_key(blob(20, 16)), Status::Ok);
  }
  Bytes bad = blob(20, 16);
  for (const auto& spoil : std::vector<std::function<void(Bytes&)>>{
           [](Bytes& b) { b[0] ^= 1; }, [](Bytes& b) { b[2] ^= 2; }, [](Bytes& b) { b[4] = 1; },
           [](Bytes& b) { b.resize(7); }, [](Bytes& b) { b.clear(); }, [](Bytes& b) { b.resize(12); }}) {
    Bytes b = bad;
    spoil(b);
    EXPECT_EQ(t->set_key(b), Status::Invalid);
    EXPECT_EQ(t->encrypt(r), Status::NoKey);
    EXPECT_EQ(t->set_key(bad), Status::Ok);
  }
  auto des3 = h.registry.alloc_aead("authenc-hmac-sha1-cbc-3des-talitos");
  EXPECT_EQ(des3->set_key(blob(20, 16)), Status::Invalid);
  EXPECT_EQ(des3->set_key(blob(20, 24)), Status::Ok);
  EXPECT_EQ(des3->set_key(blob(20, 24), crypto::kForbidWeakKeys), Status::NoKey);  // three times the same
  EXPECT_EQ(des3->encrypt(r), Status::NoKey);
  auto des = h.registry.alloc_aead("authenc-hmac-sha1-cbc-des-talitos");
  EXPECT_EQ(des->set_key(crypto::make_authenc_key(Bytes(20, 1), Bytes(8, 0)), crypto::kForbidWeakKeys),
            Status::Invalid);
  EXPECT_EQ(des->set_key(crypto::make_authenc_key(Bytes(20, 1), Bytes(8, 0))), Status::Ok);
}

// Requests in flight keep the key they were submitted with.
TEST(AeadKeys, ChangeBetweenRequests) {
  Harness h(on("p2020"));
  Rng rng(6);
  for (const std::string& d : aead_drivers(h)) {
    auto t = h.registry.alloc_aead(d);
    const Spec spec(t->info().name);
    std::vector<std::unique_ptr<Request>> all;
    for (int i = 0; i < 40; ++i) {  // some on the backlog
      const Keys keys = aead::random_keys(spec, rng);
      if (keys.auth.size() > spec.hash_block()) continue;  // would let the engine work
      ASSERT_EQ(t->set_key(keys.blob(spec)), Status::Ok);
      Shape shape = aead::random_shape(spec, rng, 300);
      ASSERT_EQ(t->set_auth_bytes(shape.tag), Status::Ok);
      all.push_back(std::make_unique<Request>(spec, keys, rng, shape, h.dma()));
      ASSERT_TRUE(accepted(all.back()->submit(*t)));
    }
    h.engine.run();
    for (const auto& r : all) r->check(d);
  }
}

// --- Flow ----------------------------------------------------------------------------------------------------------

struct Burst {
  Burst(Harness& harness, const std::string& d, uint64_t seed = 1)
      : h(harness), rng(seed), driver(d), spec(name_of(harness, d)) {
    keys = aead::random_keys(spec, rng);
    keys.auth.resize(spec.authenc() ? 20 : 0);  // short enough not to be hashed by the engine
    t = transform(h, d, keys);
    EXPECT_EQ(t->set_auth_bytes(12), Status::Ok);
  }
  static std::string name_of(Harness& harness, const std::string& d) {
    auto probe = harness.registry.alloc_aead(d);
    EXPECT_TRUE(probe) << d;
    return probe ? probe->info().name : "gcm(aes)";
  }
  Status submit(size_t text, uint32_t flags = crypto::kMayBacklog, bool encrypt = true) {
    Shape shape{.aad = 16, .text = text, .tag = 12, .encrypt = encrypt};
    shape.src_cuts = {16 + text + (encrypt ? 0 : 12)};
    shape.dst_cuts = {16 + text + (encrypt ? 12 : 0)};
    auto r = std::make_unique<Request>(spec, keys, rng, shape, h.dma());
    r->request.flags = flags;
    r->id = static_cast<int>(requests.size());
    r->order = &order;
    const Status s = r->submit(*t);
    requests.push_back(std::move(r));
    return s;
  }
  Harness& h;
  Rng rng;
  std::string driver;
  Spec spec;
  Keys keys;
  std::unique_ptr<crypto::Aead> t;
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<int> order;
};

std::vector<int> up_to(int n) {
  std::vector<int> v;
  for (int i = 0; i < n; ++i) v.push_back(i);
  return v;
}

// T30, S05: a stalled engine, 200 requests, with and without the backlog.
TEST(AeadFlow, FullRing) {
  Harness h(on("p2020"));
  Burst b(h, "authenc-hmac-sha1-cbc-aes-talitos");
  int accepted_directly = 0, busy = 0;
  for (int i = 0; i < 100; ++i) {
    const Status s = b.submit(64);
    accepted_directly += s == Status::InProgress;
    busy += s == Status::Busy;
  }
  EXPECT_EQ(accepted_directly, 23);
  EXPECT_EQ(busy, 77);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(b.submit(64, 0), Status::NoSpace);
  EXPECT_EQ(h.engine.fifo_level(2) + h.engine.executed.size(), 23u);
  h.engine.run();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(b.requests[static_cast<size_t>(i)]->started, i < 23 ? 0u : 1u);
    b.requests[static_cast<size_t>(i)]->check("full ring");
  }
  for (size_t i = 100; i < 200; ++i) EXPECT_EQ(b.requests[i]->finished + b.requests[i]->started, 0u);
  EXPECT_EQ(b.order, up_to(100));
  EXPECT_EQ(h.engine.single_overflows, 0u);
}

// T49: order on one transform, whatever the sizes; long and empty texts are made of several descriptors.
TEST(AeadFlow, OrderIsKept) {
  for (const char* part : {"p2020", "mpc8349", "mpc885"})
    for (const char* d : {"authenc-hmac-sha1-cbc-aes-talitos-hsna", "authenc-hmac-sha1-cbc-aes-talitos",
                          "gcm-aes-talitos", "ccm-aes-talitos"}) {
      Harness h({.part = regs::find_part(part), .dma_bytes = 64 << 20});
      if (!h.registry.alloc_aead(d)) continue;
      Burst b(h, d);
      const size_t sizes[] = {16, 16384, 0, 70000, 16, 160000, 4096};
      for (int i = 0; i < 60; ++i) EXPECT_TRUE(accepted(b.submit(sizes[i % 7]))) << part << d << i;
      h.engine.run();
      for (const auto& r : b.requests) r->check(std::string(part) + " " + d);
      EXPECT_EQ(b.order, up_to(60)) << part << d;
    }
}

// S05 over many requests and short queues: exactly one final callback each, one start where Busy was returned.
TEST(AeadFlow, BacklogContract) {
  for (const unsigned fifo : {2u, 3u, 24u})
    for (const char* d : {"authenc-hmac-sha256-cbc-aes-talitos", "gcm-aes-talitos"}) {
      Harness h({.part = regs::find_part("p2020"), .dma_bytes = 16 << 20, .fifo_entries = fifo});
      Burst b(h, d);
      std::vector<Status> statuses;
      for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < 25; ++i)
          statuses.push_back(
              b.submit(i % 5 == 0 ? 0 : 16u * static_cast<unsigned>(i), i % 3 ? 0u : crypto::kMayBacklog));
        for (int i = 0; i < round % 7; ++i) {
          h.engine.step(1);
          h.engine.deliver();
        }
      }
      h.engine.run();
      for (size_t i = 0; i < statuses.size(); ++i) {
        const Request& r = *b.requests[i];
        if (statuses[i] == Status::NoSpace) {
          EXPECT_EQ(r.finished + r.started, 0u);
          continue;
        }
        EXPECT_EQ(r.started, statuses[i] == Status::Busy ? 1u : 0u);
        r.check(d);
      }
      EXPECT_TRUE(std::is_sorted(b.order.begin(), b.order.end()));
      EXPECT_EQ(h.device->outstanding(), 0u);
    }
}

// S06: the callback resubmits, then frees request and transform.
TEST(AeadFlow, CallbackFreesEverything) {
  struct Owner {
    std::unique_ptr<crypto::Aead> t;
    Bytes memory = Bytes(200, 1), iv = Bytes(16, 2);
    crypto::Segment segment;
    crypto::ScatterList list;
    crypto::AeadRequest r;
    int again = 3;
    int* finished;
    static void done(void* c, Status s) {
      auto* o = static_cast<Owner*>(c);
      if (s == Status::InProgress) return;
      ++*o->finished;
      EXPECT_EQ(s, Status::Ok);
      if (o->again-- > 0) {
        EXPECT_TRUE(accepted(o->t->encrypt(o->r)));
        return;
      }
      delete o;
    }
  };
  for (const size_t text : {size_t{64}, size_t{0}}) {  // one descriptor, several
    Harness h(on("p2020"));
    int finished = 0;
    for (int i = 0; i < 30; ++i) {
      auto* o = new Owner;
      o->finished = &finished;
      o->t = h.registry.alloc_aead("authenc-hmac-sha1-cbc-aes-talitos");
      EXPECT_EQ(o->t->set_key(crypto::make_authenc_key(Bytes(20, 1), Bytes(16, 2))), Status::Ok);
      o->segment = {o->memory.data(), o->memory.size()};
      o->list = crypto::ScatterList(&o->segment, 1);
      o->r = {.src = &o->list,
              .dst = &o->list,
              .aad_bytes = 8,
              .size_bytes = text,
              .iv = o->iv.data(),
              .flags = crypto::kMayBacklog,
              .complete = Owner::done,
              .context = o};
      EXPECT_TRUE(accepted(o->t->encrypt(o->r)));
    }
    h.engine.run();
    EXPECT_EQ(finished, 120);
    EXPECT_EQ(h.device->outstanding(), 0u);
  }
}

// S02, T31, K06: each request has its own IV, whatever the caller does to its buffer afterwards.
TEST(AeadFlow, IvsBelongToTheirRequests) {
  Harness h(on("p2020"));
  Burst b(h, "authenc-hmac-sha1-cbc-aes-talitos");
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(accepted(b.submit(16u * static_cast<unsigned>(1 + i % 20))));
  h.engine.run();
  ASSERT_EQ(h.engine.ivs_seen.size(), 300u);
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(Bytes(h.engine.ivs_seen[i].begin(), h.engine.ivs_seen[i].end()), b.requests[i]->iv());
    b.requests[i]->check("burst");
  }
}

// Jobs and plain cipher requests take turns in the slots of one ring: neither leaves anything behind for the other.
TEST(AeadFlow, CiphersAndJobsInOneRing) {
  for (const char* part : {"p2020", "mpc885"}) {
    Harness h(on(part));
    Burst b(h, "authenc-hmac-sha1-cbc-aes-talitos-hsna");
    const Bytes key(16, 3);
    std::unique_ptr<crypto::Skcipher> c;
    for (unsigned i = 0; i < h.device->channels(); ++i)
      c = h.cipher("cbc(aes)", key);  // until it is on the same channel
    for (int round = 0; round < 5; ++round) {
      std::vector<std::unique_ptr<Job>> jobs;
      b.requests.clear();
      for (int i = 0; i < 31; ++i) {
        if ((i + round) % 3) {
          ASSERT_TRUE(accepted(b.submit(i % 4 ? 64 : 0)));
        } else {
          jobs.push_back(
              std::make_unique<Job>(h, Bytes(64, static_cast<uint8_t>(i)), Bytes(16, 1), crypto::kMayBacklog));
          ASSERT_TRUE(accepted(c->encrypt(jobs.back()->request)));
        }
      }
      h.engine.run();
      for (const auto& r : b.requests) r->check(part);
      for (const auto& j : jobs) EXPECT_EQ(j->status, Status::Ok);
    }
    EXPECT_EQ(h.device->stats().descriptor_errors, 0u);
    EXPECT_EQ(h.engine.lost_fetches, 0u);
  }
}

// Requests that one descriptor cannot carry, on both sides of the limits. T08: submitted twice.
TEST(AeadFlow, LongRequests) {
  for (const char* part : {"p2020", "mpc8349", "mpc885"}) {
    Harness h({.part = regs::find_part(part), .dma_bytes = 64 << 20, .bounce_slots = 4096});
    Rng rng(11);
    for (const std::string& d : aead_drivers(h)) {
      auto t = h.registry.alloc_aead(d);
      const Spec spec(t->info().name);
      const Keys keys = aead::random_keys(spec, rng);
      ASSERT_EQ(t->set_key(keys.blob(spec)), Status::Ok);
      for (const size_t about : {32752u, 32768u, 65504u, 65520u, 65536u, 200'000u})
        for (const bool encrypt : {true, false}) {
          Shape shape = aead::random_shape(spec, rng, 100);
          shape.text = about / 16 * 16 + (spec.block() == 1 ? rng() % 16 : 0);
          shape.encrypt = encrypt;
          shape.damage = shape.damage && !encrypt;
          Request r(spec, keys, rng, shape, h.dma());
          ASSERT_TRUE(r.ok());
          static_cast<void>(run(h, *t, r));
          r.check(part + d);
          if (HasFailure()) return;
        }
    }
    // A long AAD, which goes through the hash in pieces.
    auto t = h.registry.alloc_aead("authenc-hmac-sha1-cbc-aes-talitos-hsna");
    const Spec spec(t->info().name);
    const Keys keys = aead::random_keys(spec, rng);
    ASSERT_EQ(t->set_key(keys.blob(spec)), Status::Ok);
    for (const bool encrypt : {true, false}) {
      Request r(spec, keys, rng, {.aad = 100'001, .text = 160, .tag = 20, .encrypt = encrypt}, h.dma());
      static_cast<void>(run(h, *t, r));
      r.check(part);
    }
    EXPECT_EQ(h.device->outstanding(), 0u);
    EXPECT_EQ(h.dma().bounce_slots_used(), 0u);
  }
}

TEST(AeadFlow, NothingIsDecipheredBeforeALongTagIsRight) {
  Harness h({.part = regs::find_part("p2020"), .dma_bytes = 16 << 20});
  Rng rng(2);
  Burst b(h, "authenc-hmac-sha1-cbc-aes-talitos");
  Shape shape{.aad = 16, .text = 131072, .tag = 12, .encrypt = false, .damage = true};
  h.engine.keep_descriptors = true;
  Request r(b.spec, b.keys, rng, shape, h.dma());
  EXPECT_EQ(run(h, *b.t, r), Status::BadMessage);
  r.check("long");
  for (const auto& d : h.engine.descriptors) EXPECT_EQ(d[0] >> 4, 3) << "only the MDEU may have worked";
}

// --- Errors --------------------------------------------------------------------------------------------------------

// T27 for jobs: a bad descriptor at every place among twenty fails alone, with one report that names it.
TEST(AeadErrors, OneBadDescriptorFailsAlone) {
  for (const char* part : {"p2020", "mpc8548", "mpc885"})
    for (const Fate f : {Fate::UnitError, Fate::SecondUnitError, Fate::BusError, Fate::IllegalHeader}) {
      Harness h(on(part));
      Burst b(h, "authenc-hmac-sha1-cbc-aes-talitos-hsna");
      for (uint64_t bad = 0; bad < 40; bad += 3) {  // across the ring's end
        b.requests.clear();
        b.order.clear();
        h.engine.log_lines.clear();
        const uint64_t first = h.device->stats().channel[h.device->channels() > 1 ? 2 : 0].submitted;
        const uint64_t target = first + bad % 20;
        h.engine.fate = [&](unsigned, uint64_t n) { return n == target ? f : Fate::Run; };
        for (int i = 0; i < 20; ++i) ASSERT_TRUE(accepted(b.submit(64)));
        h.engine.run();
        for (size_t i = 0; i < 20; ++i) {
          if (i == bad % 20) {
            EXPECT_EQ(b.requests[i]->finished, 1u);
            EXPECT_EQ(b.requests[i]->status, Status::Invalid) << part << i;
          } else {
            b.requests[i]->check(part);
          }
        }
        EXPECT_EQ(b.order, up_to(20));
        ASSERT_EQ(h.engine.log_lines.size(), 1u);
        // T25: the unit that is to blame, and no other.
        const std::string& text = h.engine.log_lines[0];
        EXPECT_EQ(text.find("AESU interrupt status") != std::string::npos,
                  f == Fate::UnitError || f == Fate::SecondUnitError)
            << text;
        EXPECT_EQ(text.find("MDEU-A interrupt status") != std::string::npos, f == Fate::SecondUnitError) << text;
        EXPECT_EQ(text.find("DEU interrupt status") == std::string::npos || text.find("MDEU") != std::string::npos,
                  true)
            << text;
      }
      EXPECT_EQ(h.device->stats().device_resets, 0u);
      EXPECT_EQ(h.device->outstanding(), 0u);
    }
}

// A piece of a composed request that fails ends it once, and what waits goes on.
TEST(AeadErrors, APieceOfALongRequestFails) {
  for (const char* part : {"p2020", "mpc8349", "mpc885"})
    for (const char* d : {"authenc-hmac-sha1-cbc-aes-talitos-hsna", "gcm-aes-talitos"})
      for (const bool encrypt : {true, false})
        for (uint64_t piece = 0; piece < 12; ++piece) {
          Harness h({.part = regs::find_part(part), .dma_bytes = 16 << 20});
          if (!h.registry.alloc_aead(d)) continue;
          Burst b(h, d);
          const unsigned channel = h.device->channels() > 1 ? 2 : 0;
          bool hit = false;
          const uint64_t start = h.device->stats().channel[channel].submitted;
          h.engine.fate = [&](unsigned, uint64_t n) {
            hit |= n == start + piece;
            return n == start + piece ? Fate::BusError : Fate::Run;
          };
          ASSERT_EQ(b.submit(150'000, crypto::kMayBacklog, encrypt), Status::InProgress);
          for (int i = 0; i < 5; ++i) ASSERT_TRUE(accepted(b.submit(64)));
          h.engine.run();
          EXPECT_EQ(b.requests[0]->finished, 1u);
          EXPECT_EQ(b.requests[0]->started, 0u);
          const bool of_the_long_one = b.requests[0]->status == Status::Invalid;
          EXPECT_TRUE(of_the_long_one || b.requests[0]->status == Status::Ok);
          unsigned failed = of_the_long_one;
          for (size_t i = 1; i < 6; ++i) {
            EXPECT_EQ(b.requests[i]->finished, 1u);
            failed += b.requests[i]->status != Status::Ok;
          }
          EXPECT_EQ(failed, hit ? 1u : 0u) << part << d << piece;
          EXPECT_EQ(b.order, up_to(6));
          EXPECT_EQ(h.device->outstanding(), 0u);
          EXPECT_EQ(h.dma().bounce_slots_used(), 0u);
        }
}

// A channel that never answers: the named limit ends the request, the others are sent again.
TEST(AeadErrors, TimeLimit) {
  for (const char* part : {"p2020", "mpc885"})
    for (const size_t text : {size_t{64}, size_t{0}, size_t{100'000}}) {
      Harness h(on(part));
      h.device->set_request_timeout_ns(1'000'000);
      h.engine.log_lines.clear();
      Burst b(h, "authenc-hmac-sha1-cbc-aes-talitos-hsna");
      const unsigned channel = h.device->channels() > 1 ? 2 : 0;
      const uint64_t start = h.device->stats().channel[channel].submitted;
      h.engine.fate = [&](unsigned, uint64_t n) { return n == start ? Fate::Hang : Fate::Run; };
      ASSERT_EQ(b.submit(text), Status::InProgress);
      for (int i = 0; i < 5; ++i) ASSERT_TRUE(accepted(b.submit(64)));
      h.engine.run();
      EXPECT_FALSE(h.device->poll_timeouts());
      h.engine.advance_ns(2'000'000);
      EXPECT_TRUE(h.device->poll_timeouts());
      h.engine.run();
      EXPECT_EQ(b.requests[0]->status, Status::TimedOut) << part << text;
      EXPECT_EQ(h.engine.lost_fetches, 0u);
      EXPECT_EQ(b.requests[0]->finished, 1u);
      for (size_t i = 1; i < 6; ++i) b.requests[i]->check(part);
      EXPECT_EQ(b.order, up_to(6));
      EXPECT_EQ(h.device->outstanding(), 0u);
      ASSERT_EQ(h.engine.log_lines.size(), 1u);
      EXPECT_NE(h.engine.log_lines[0].find("was not done after"), std::string::npos);
    }
}

// A reset of everything with requests in flight: each ends once, the waiting ones run.
TEST(AeadErrors, DeviceResetInFlight) {
  for (const char* part : {"p2020", "mpc8272", "mpc885"})
    for (const size_t text : {size_t{64}, size_t{0}, size_t{100'000}}) {
      Harness h({.part = regs::find_part(part), .dma_bytes = 16 << 20});
      const std::string hsna = "authenc-hmac-sha1-cbc-aes-talitos-hsna";
      Burst b(h, hsna), other(h, h.device->sec1() ? hsna : "gcm-aes-talitos");
      for (int i = 0; i < 40; ++i) ASSERT_TRUE(accepted(b.submit(i % 8 == 3 ? text : 128)));
      for (int i = 0; i < 10; ++i) ASSERT_TRUE(accepted(other.submit(96)));
      for (int i = 0; i < 3; ++i) h.engine.step(2 % h.device->channels()), h.engine.step(4 % h.device->channels());
      h.engine.raise_device_error(h.device->sec1() ? 0 : 0x10000, h.device->sec1() ? 0x2000 : 0);
      h.engine.run();
      EXPECT_EQ(h.device->stats().device_resets, 1u);
      for (const Burst* x : {&b, &other})
        for (const auto& r : x->requests) {
          EXPECT_EQ(r->finished, 1u);
          EXPECT_TRUE(r->status == Status::Ok || r->status == Status::Io);
          if (r->status == Status::Ok) r->check("reset");
        }
      EXPECT_EQ(b.order, up_to(40));
      EXPECT_EQ(h.device->outstanding(), 0u);
      EXPECT_EQ(h.dma().bounce_slots_used(), 0u);
    }
}

// Random failures on all channels while requests keep coming: none lost, none twice, order kept, results right.
TEST(AeadErrors, UnderLoad) {
  for (uint64_t seed = 1; seed <= 8; ++seed)
    for (const char* part : {"p2020", "mpc8548", "mpc8272"}) {
      Rng rng(seed);
      Harness h({.part = regs::find_part(part), .dma_bytes = 32 << 20, .bounce_slots = 2048});
      h.device->set_request_timeout_ns(500'000);
      std::vector<std::string> drivers = aead_drivers(h);
      std::vector<std::unique_ptr<Burst>> bursts;
      for (int i = 0; i < 6; ++i) bursts.push_back(std::make_unique<Burst>(h, drivers[rng() % drivers.size()], rng()));
      h.engine.fate = [&](unsigned, uint64_t) {
        switch (rng() % 120) {
          case 0:
            return Fate::Hang;
          case 1:
            return Fate::BusError;
          case 2:
            return Fate::UnitError;
          case 3:
            return Fate::IllegalHeader;
          default:
            return Fate::Run;
        }
      };
      h.engine.drop = [&](unsigned, uint64_t) { return rng() % 200 == 0; };
      std::vector<std::vector<int>> taken(bursts.size());
      for (int i = 0; i < 600; ++i) {
        const size_t who = rng() % bursts.size();
        Burst& b = *bursts[who];
        const size_t text = rng() % 10 == 0 ? 0 : rng() % 40 == 0 ? 70'016 : 16 * (rng() % 40);
        if (accepted(b.submit(text, rng() % 4 ? crypto::kMayBacklog : 0u, rng() % 2)))
          taken[who].push_back(b.requests.back()->id);
        for (uint64_t n = rng() % 3; n--;) {
          h.engine.step(static_cast<unsigned>(rng() % h.device->channels()));
          if (rng() % 2) h.engine.deliver();
        }
        if (rng() % 50 == 0) {
          h.engine.advance_ns(600'000);
          h.device->poll_timeouts();
        }
        if (rng() % 300 == 0 && !h.device->sec1()) h.engine.raise_device_error(0x10000, 0);
      }
      for (int i = 0; i < 2000 && h.device->outstanding(); ++i) {
        h.engine.run();
        h.engine.advance_ns(600'000);
        h.device->poll_timeouts();
      }
      EXPECT_EQ(h.device->outstanding(), 0u) << part << " seed " << seed;
      for (size_t i = 0; i < bursts.size(); ++i) {
        EXPECT_EQ(bursts[i]->order, taken[i]) << part << " seed " << seed << " " << bursts[i]->driver;
        for (const int id : taken[i]) {
          const Request& r = *bursts[i]->requests[static_cast<size_t>(id)];
          ASSERT_EQ(r.finished, 1u);
          if (r.status == Status::Ok)
            r.check(part + std::string(" seed ") + std::to_string(seed) + " " + bursts[i]->driver);
          if (HasFailure()) return;
        }
      }
      EXPECT_EQ(h.dma().bounce_slots_used(), 0u);
    }
}

// T34: memory runs out on the way.
TEST(AeadErrors, NoMemory) {
  for (const char* part : {"p2020", "mpc885"}) {
    unsigned refused = 0;
    for (size_t leave = 0; leave < 6000; leave += 160) {
      Harness h({.part = regs::find_part(part), .dma_bytes = 4 << 20, .bounce_slots = 8});
      auto t = h.registry.alloc_aead("authenc-hmac-sha1-cbc-aes-talitos-hsna");
      {  // what the driver keeps for next time
        Burst warm(h, "authenc-hmac-sha1-cbc-aes-talitos-hsna");
        ASSERT_TRUE(accepted(warm.submit(0)));
        h.engine.run();
      }
      const size_t before = h.dma().allocated_bytes();
      std::vector<void*> hogs;
      void* const reserve = h.dma().alloc(8192);
      for (size_t n = 1 << 20; n >= 16; n /= 2)
        while (void* p = h.dma().alloc(n)) hogs.push_back(p);
      h.dma().free(reserve);
      hogs.push_back(h.dma().alloc(8192 - leave));  // that much is left, in one piece
      Status key = t->set_key(crypto::make_authenc_key(Bytes(80, 1), Bytes(16, 2)));
      EXPECT_TRUE(key == Status::Ok || key == Status::NoMemory);
      Bytes memory(4000, 1), iv(16, 2);
      std::vector<crypto::Segment> v;
      for (size_t i = 0; i < 40; ++i) v.push_back({memory.data() + 100 * i, 90});
      crypto::ScatterList list(v.data(), v.size());
      unsigned finished = 0;
      for (const size_t text : {0u, 160u, 1600u}) {
        crypto::AeadRequest r{.src = &list,
                              .dst = &list,
                              .aad_bytes = 8,
                              .size_bytes = text,
                              .iv = iv.data(),
                              .complete = [](void* c, Status) { ++*static_cast<unsigned*>(c); },
                              .context = &finished};
        const Status s = t->encrypt(r);
        EXPECT_TRUE(s == Status::InProgress || s == (key == Status::Ok ? Status::NoMemory : Status::NoKey))
            << errno_name(s);
        const unsigned was = finished;
        h.engine.run();
        EXPECT_EQ(finished, was + (s == Status::InProgress));
        refused += s == Status::NoMemory;
      }
      t.reset();
      for (void* p : hogs) h.dma().free(p);
      EXPECT_EQ(h.dma().allocated_bytes(), before);
      EXPECT_EQ(h.dma().bounce_slots_used(), 0u);
      EXPECT_EQ(h.device->outstanding(), 0u);
    }
    EXPECT_GT(refused, 0u);
  }
}

// --- Chains of SEC 1 -----------------------------------------------------------------------------------------------

/// Three hash descriptors in one slot.
struct ChainJob : driver::Job {
  uint8_t* memory = nullptr;  // two descriptors, context, digest, data
  unsigned finished = 0;
  Status result = Status::InProgress;
};

// T23
TEST(Sec1Chains, TheFailingDescriptorIsFoundInTheChain) {
  for (int bad = -1; bad < 3; ++bad) {
    Harness h(on("mpc885"));
    h.engine.log_lines.clear();
    ChainJob j;
    j.memory = static_cast<uint8_t*>(h.dma().alloc(1024, 64));
    for (unsigned i = 0; i < 192; ++i) j.memory[512 + i] = static_cast<uint8_t>(i);
    j.build = [](driver::Job& job, driver::Device& d, driver::Slot& s) {
      uint8_t* m = static_cast<ChainJob&>(job).memory;
      const auto fill = [&](uint8_t* at, uint32_t header, bool context, const uint8_t* data, uint8_t* out, size_t n) {
        d.put_header(at, header);
        if (context) d.put_pointer(at, 1, d.pointer_to(m + 128, 0x28));
        d.put_pointer(at, 3, d.pointer_to(data, 64));
        d.put_pointer(at, 5, d.pointer_to(out, n));
      };
      fill(s.edesc->descriptor, 0x39000010 | 0x00100000, false, m + 512, m + 128, 0x28);  // SHA-256, INIT and CONT
      fill(m, 0x38100010, true, m + 576, m + 128, 0x28);
      fill(m + 64, 0x30500011, true, m + 640, m + 256, 32);
      d.chain(s, m);
      d.chain(s, m + 64);
      job.piece_bytes = 192;
      return Status::Ok;
    };
    j.complete = [](void* c, Status s) {
      auto* job = static_cast<ChainJob*>(c);
      ++job->finished;
      job->result = s;
    };
    j.context = &j;
    h.engine.fate = [&](unsigned, uint64_t n) { return static_cast<int>(n) == bad ? Fate::UnitError : Fate::Run; };
    ASSERT_EQ(h.device->submit_job(h.device->assign_channel(), j, 0), Status::InProgress);
    Burst b(h, "authenc-hmac-sha1-cbc-aes-talitos-hsna");
    ASSERT_TRUE(accepted(b.submit(64)));  // behind it, unharmed
    h.engine.run();
    EXPECT_EQ(j.finished, 1u);
    b.requests[0]->check("behind the chain");
    if (bad < 0) {
      EXPECT_EQ(j.result, Status::Ok);
      Bytes message(j.memory + 512, j.memory + 704), digest(32);
      unsigned n = 0;
      EVP_Digest(message.data(), message.size(), digest.data(), &n, EVP_sha256(), nullptr);
      EXPECT_EQ(Bytes(j.memory + 256, j.memory + 288), digest);
      EXPECT_TRUE(h.engine.log_lines.empty());
    } else {
      EXPECT_EQ(j.result, Status::Invalid);
      ASSERT_EQ(h.engine.log_lines.size(), 1u);
      EXPECT_NE(h.engine.log_lines[0].find("MDEU-A interrupt status"), std::string::npos) << h.engine.log_lines[0];
      EXPECT_EQ(h.engine.log_lines[0].find("couldn't locate"), std::string::npos);
      EXPECT_EQ(h.device->stats().descriptor_errors, 1u);
    }
    h.dma().free(j.memory);
  }
}

}  // namespace
}  // namespace sec::test
