// gcm, ccm and the MACs made of a cipher below: against OpenSSL's EVP, over a synchronous, a batching and an asynchronous
// implementation (the engine's driver on the functional model, and a queue that answers late).
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <deque>
#include <random>

#include "driver/crypto/vectors.h"
#include "driver/talitos/talitos.h"
#include "host/compose/compose_aead.h"
#include "host/cpu/ipsecmb.h"
#include "host/cpu/openssl.h"
#include "host/platforms/functional.h"

namespace {

using namespace sec;
using namespace sec::crypto;
using namespace sec::host;
using Bytes = std::vector<uint8_t>;

Bytes random_bytes(std::mt19937& g, size_t n) {
  Bytes b(n);
  for (uint8_t& x : b) x = static_cast<uint8_t>(g());
  return b;
}

/// Ciphertext and tag by EVP. `ccm_nonce`: 0 for GCM.
Bytes evp_aead(bool gcm, const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& text, unsigned tag) {
  const char* names[2][3] = {{"AES-128-CCM", "AES-192-CCM", "AES-256-CCM"}, {"AES-128-GCM", "AES-192-GCM", "AES-256-GCM"}};
  EVP_CIPHER* c = EVP_CIPHER_fetch(nullptr, names[gcm][(key.size() - 16) / 8], nullptr);
  EVP_CIPHER_CTX* x = EVP_CIPHER_CTX_new();
  int n = 0;
  Bytes out(text.size() + tag + 16);
  EXPECT_EQ(EVP_EncryptInit_ex(x, c, nullptr, nullptr, nullptr), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(nonce.size()), nullptr), 1);
  if (!gcm) {
    EXPECT_EQ(EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag), nullptr), 1);
  }
  EXPECT_EQ(EVP_EncryptInit_ex(x, nullptr, nullptr, key.data(), nonce.data()), 1);
  if (!gcm) {
    EXPECT_EQ(EVP_EncryptUpdate(x, nullptr, &n, nullptr, static_cast<int>(text.size())), 1);
  }
  if (!aad.empty()) {
    EXPECT_EQ(EVP_EncryptUpdate(x, nullptr, &n, aad.data(), static_cast<int>(aad.size())), 1);
  }
  static const uint8_t nothing = 0;
  EXPECT_EQ(EVP_EncryptUpdate(x, out.data(), &n, text.empty() ? &nothing : text.data(), static_cast<int>(text.size())), 1);
  int last = 0;
  EXPECT_EQ(EVP_EncryptFinal_ex(x, out.data() + text.size(), &last), 1);
  out.resize(text.size() + tag);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag), out.data() + text.size()), 1);
  EVP_CIPHER_CTX_free(x);
  EVP_CIPHER_free(c);
  return out;
}

Bytes evp_cmac(const Bytes& key, const Bytes& m) {
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, "CMAC", nullptr);
  EVP_MAC_CTX* x = EVP_MAC_CTX_new(mac);
  char names[3][12] = {"AES-128-CBC", "AES-192-CBC", "AES-256-CBC"};
  const OSSL_PARAM p[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, names[(key.size() - 16) / 8], 0), OSSL_PARAM_construct_end()};
  Bytes out(16);
  size_t n = 0;
  EXPECT_TRUE(EVP_MAC_init(x, key.data(), key.size(), p) && EVP_MAC_update(x, m.data(), m.size()) && EVP_MAC_final(x, out.data(), &n, 16));
  EVP_MAC_CTX_free(x);
  EVP_MAC_free(mac);
  return out;
}

/// Memory in pieces of odd sizes, from the engine's DMA space when there is one.
struct Pieces {
  std::vector<Segment> segments;
  ScatterList list;
  Bytes store;
  Pieces(std::mt19937& g, const Bytes& content, bool whole) : store(content.size() * 4 + 64, 0xee) {
    size_t at = 7, done = 0;
    do {
      const size_t n = whole ? content.size() - done : std::min<size_t>(content.size() - done, 1 + g() % 40);
      segments.push_back({store.data() + at, n});
      std::copy_n(content.begin() + static_cast<long>(done), n, store.begin() + static_cast<long>(at));
      at += n + (whole ? 0 : 3);
      done += n;
    } while (done < content.size());
    list = {segments.data(), segments.size()};
  }
  Bytes read() const {
    Bytes b;
    for (const Segment& s : segments) b.insert(b.end(), s.data, s.data + s.size_bytes);
    return b;
  }
};

/// What a module has itself would keep its composition out.
void remove_natives(Registry& registry) {
  for (const auto& i : registry.list()) {
    const bool native = i.name == "gcm(aes)" || i.name == "ccm(aes)" || i.name.starts_with("rfc4") || i.name == "cmac(aes)" || i.name == "xcbc(aes)";
    if (native) {
      EXPECT_EQ(registry.remove(i.driver), Status::Ok);
    }
  }
}

/// What the compositions stand on.
struct World {
  virtual ~World() = default;
  Registry registry;
  virtual const char* module() const = 0;
  virtual void pump() {}
};
struct SoftwareWorld : World {
  bool batch;
  explicit SoftwareWorld(bool b) : batch(b) {
    registry.set_selftest_enabled(false);
    if (b)
      register_ipsecmb(registry);
    else
      register_openssl(registry);
    remove_natives(registry);
    register_aead_compositions(registry, {.module = module()});
  }
  const char* module() const override { return batch ? "ipsecmb" : "openssl"; }
};
struct EngineWorld : World {
  FunctionalPlatform platform;
  driver::Device device;
  EngineWorld() : platform(*regs::find_part("mpc8548")), device(platform) {
    registry.set_selftest_enabled(false);
    EXPECT_EQ(device.probe(device_properties(*regs::find_part("mpc8548"))), Status::Ok);
    EXPECT_EQ(device.register_algorithms(registry), Status::Ok);
    remove_natives(registry);
    register_aead_compositions(registry, {.dma = &platform.dma(), .cpu = &platform.cpu(), .module = module()});
    platform.hold_interrupts(true);  // completions come when we pump: several requests are really in flight
  }
  ~EngineWorld() override { device.unregister(); }
  const char* module() const override { return "talitos"; }
  void pump() override { platform.pump(); }
};
std::unique_ptr<World> make_world(const std::string& name) {
  if (name == "engine") return std::make_unique<EngineWorld>();
  return std::make_unique<SoftwareWorld>(name == "ipsecmb");
}

struct Wait {
  int finals = 0, starts = 0;
  Status status = Status::Ok;
  static void done(void* c, Status s) {
    auto* w = static_cast<Wait*>(c);
    if (s == Status::InProgress) {
      ++w->starts;
      return;
    }
    ++w->finals;
    w->status = s;
  }
};

class ComposeAead : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<World> world = make_world(GetParam());
  template <class T>
  Status wait(T& tfm, Status s, Wait& w) {
    if (!accepted(s)) {
      EXPECT_EQ(w.finals, 0);
      return s;
    }
    for (int i = 0; i < 1000 && !w.finals; ++i) {
      tfm.flush();
      world->pump();
    }
    EXPECT_EQ(w.finals, 1);
    return w.status;
  }
};

TEST_P(ComposeAead, RandomAgainstOpenSsl) {
  std::mt19937 g(7);
  for (const std::string name : {"gcm(aes)", "rfc4106(gcm(aes))", "ccm(aes)", "rfc4309(ccm(aes))"}) {
    auto t = world->registry.alloc_aead(name);
    ASSERT_TRUE(t) << name;
    EXPECT_FALSE(t->info().composed.empty());
    const bool gcm = name.find("gcm") != std::string::npos, esp = name.starts_with("rfc");
    const size_t salt = !esp ? 0 : gcm ? 4 : 3;
    for (int k = 0; k < 300; ++k) {
      const size_t key_bytes = 16 + 8 * (g() % 3), n = g() % 5 == 0 ? g() % 3 : g() % 400;
      const size_t aad = esp ? 16 + 4 * (g() % 2) : g() % 4 ? g() % 40 : 0;
      const std::vector<unsigned> tags = esp ? std::vector<unsigned>{8, 12, 16} : gcm ? std::vector<unsigned>{4, 8, 12, 13, 14, 15, 16} : std::vector<unsigned>{4, 6, 8, 10, 12, 14, 16};
      const unsigned tag = tags[g() % tags.size()];
      const Bytes key = random_bytes(g, key_bytes + salt), text = random_bytes(g, n), a = random_bytes(g, aad);
      Bytes iv, nonce;
      if (esp) {
        iv = random_bytes(g, 8);
        nonce.assign(key.end() - static_cast<long>(salt), key.end());
        nonce.insert(nonce.end(), iv.begin(), iv.end());
      } else if (gcm) {
        iv = nonce = random_bytes(g, 12);
      } else {
        const unsigned l = 2 + g() % 7;
        nonce = random_bytes(g, 15 - l);
        iv.assign(1, static_cast<uint8_t>(l - 1));
        iv.insert(iv.end(), nonce.begin(), nonce.end());
        iv.resize(16);
      }
      const Bytes bare(key.begin(), key.end() - static_cast<long>(salt)), authenticated(a.begin(), a.end() - (esp ? 8 : 0));
      const Bytes want = evp_aead(gcm, bare, nonce, authenticated, text, tag);
      ASSERT_EQ(t->set_key(key), Status::Ok);
      ASSERT_EQ(t->set_auth_bytes(tag), Status::Ok);
      const bool in_place = g() % 2, whole = g() % 2;
      Bytes in = a;
      in.insert(in.end(), text.begin(), text.end());
      in.resize(in.size() + tag, 0x11);
      Pieces src(g, in, whole), dst(g, Bytes(in.size(), 0x22), whole);
      const auto snapshot = iv;
      Wait w;
      AeadRequest r{&src.list, in_place ? &src.list : &dst.list, aad, n, iv.data(), kMayBacklog, Wait::done, &w};
      ASSERT_EQ(wait(*t, t->encrypt(r), w), Status::Ok) << name << " request " << k;
      const Bytes got = (in_place ? src : dst).read();
      ASSERT_EQ(Bytes(got.begin() + static_cast<long>(aad), got.end()), want) << name << " request " << k;
      EXPECT_EQ(iv, snapshot);
      if (!in_place) {
        EXPECT_EQ(Bytes(got.begin(), got.begin() + static_cast<long>(aad)), Bytes(aad, 0x22)) << "AAD area written";
      }
      // and back, once right and once with a bit of tag, text or AAD turned
      for (const bool bad : {false, true}) {
        Bytes sealed = a;
        sealed.insert(sealed.end(), want.begin(), want.end());
        if (bad) {
          const size_t authenticated_or_more = sealed.size() - (esp ? 8 : 0);
          size_t at = g() % authenticated_or_more;
          if (esp && at >= aad - 8) at += 8;  // the IV inside the AAD area is not authenticated there
          sealed[at] ^= static_cast<uint8_t>(1u << (g() % 8));
        }
        Pieces from(g, sealed, whole), to(g, Bytes(aad + n, 0x33), whole);
        Wait v;
        AeadRequest q{&from.list, in_place ? &from.list : &to.list, aad, n + tag, iv.data(), kMayBacklog, Wait::done, &v};
        ASSERT_EQ(wait(*t, t->decrypt(q), v), bad ? Status::BadMessage : Status::Ok) << name << " request " << k;
        if (bad) continue;
        const Bytes plain = (in_place ? from : to).read();
        ASSERT_EQ(Bytes(plain.begin() + static_cast<long>(aad), plain.begin() + static_cast<long>(aad + n)), text);
      }
    }
  }
}

TEST_P(ComposeAead, MacsAgainstOpenSslAndRfc3566) {
  std::mt19937 g(9);
  auto cmac = world->registry.alloc_hash("cmac(aes)");
  ASSERT_TRUE(cmac);
  for (int k = 0; k < 300; ++k) {
    const Bytes key = random_bytes(g, 16 + 8 * (g() % 3)), m = random_bytes(g, g() % 3 ? g() % 100 : 16 * (g() % 6));
    ASSERT_EQ(cmac->set_key(key), Status::Ok);
    Pieces src(g, m, g() % 2);
    Bytes digest(16);
    Wait w;
    HashRequest r{&src.list, m.size(), digest.data(), nullptr, kMayBacklog, Wait::done, &w};
    ASSERT_EQ(wait(*cmac, cmac->digest(r), w), Status::Ok);
    ASSERT_EQ(digest, evp_cmac(key, m)) << m.size() << " bytes";
    // in steps, over an export in the middle
    auto state = cmac->make_state();
    ASSERT_EQ(cmac->init(*state), Status::Ok);
    for (size_t at = 0; at < m.size();) {
      const size_t n = std::min<size_t>(m.size() - at, g() % 40);
      Segment s{const_cast<uint8_t*>(m.data()) + at, n};
      ScatterList one(&s, 1);
      Wait v;
      HashRequest q{&one, n, nullptr, state.get(), kMayBacklog, Wait::done, &v};
      ASSERT_EQ(wait(*cmac, cmac->update(q), v), Status::Ok);
      at += n;
      Bytes saved(cmac->info().state_bytes);
      ASSERT_EQ(cmac->export_state(*state, saved.data()), Status::Ok);
      state = cmac->make_state();
      ASSERT_EQ(cmac->import_state(*state, saved.data()), Status::Ok);
    }
    Bytes steps(16);
    Wait v;
    HashRequest q{nullptr, 0, steps.data(), state.get(), kMayBacklog, Wait::done, &v};
    ASSERT_EQ(wait(*cmac, cmac->final(q), v), Status::Ok);
    ASSERT_EQ(steps, digest);
  }
  auto xcbc = world->registry.alloc_hash("xcbc(aes)");
  ASSERT_TRUE(xcbc);
  const struct {
    size_t bytes;
    const char* mac;
  } vectors[] = {{0, "75f0251d528ac01c4573dfd584d79f29"}, {3, "5b376580ae2f19afe7219ceef172756f"}, {16, "d2a246fa349b68a79998a4394ff7a263"},
                 {20, "47f51b4564966215b8985c63055ed308"}, {32, "f54f0ec8d2b9f3d36807734bd5283fd4"}};
  ASSERT_EQ(xcbc->set_key(from_hex("000102030405060708090a0b0c0d0e0f")), Status::Ok);
  for (const auto& v : vectors) {
    Bytes m(v.bytes), digest(16);
    for (size_t i = 0; i < m.size(); ++i) m[i] = static_cast<uint8_t>(i);
    Pieces src(g, m, true);
    Wait w;
    HashRequest r{&src.list, m.size(), digest.data(), nullptr, kMayBacklog, Wait::done, &w};
    ASSERT_EQ(wait(*xcbc, xcbc->digest(r), w), Status::Ok);
    EXPECT_EQ(digest, from_hex(v.mac)) << v.bytes << " bytes";
  }
}

TEST_P(ComposeAead, RefusesWhatCannotBe) {
  std::mt19937 g(3);
  Bytes iv(16);
  Pieces p(g, Bytes(64), true);
  Wait w;
  auto gcm = world->registry.alloc_aead("gcm(aes)");
  AeadRequest r{&p.list, &p.list, 0, 32, iv.data(), kMayBacklog, Wait::done, &w};
  EXPECT_EQ(gcm->encrypt(r), Status::NoKey);
  EXPECT_EQ(gcm->set_key(Bytes(20)), Status::Invalid);
  EXPECT_EQ(gcm->encrypt(r), Status::NoKey);
  EXPECT_EQ(gcm->set_key(Bytes(16)), Status::Ok);
  for (unsigned n = 0; n < 20; ++n) EXPECT_EQ(gcm->set_auth_bytes(n), n == 4 || n == 8 || (n >= 12 && n <= 16) ? Status::Ok : Status::Invalid) << n;
  EXPECT_EQ(gcm->auth_bytes(), 16u);
  r.size_bytes = 49;
  EXPECT_EQ(gcm->encrypt(r), Status::Invalid) << "no room for the tag";
  r.size_bytes = 15;
  EXPECT_EQ(gcm->decrypt(r), Status::Invalid) << "shorter than the tag";
  auto ccm = world->registry.alloc_aead("ccm(aes)");
  EXPECT_EQ(ccm->set_key(Bytes(16)), Status::Ok);
  r.size_bytes = 32;
  EXPECT_EQ(ccm->encrypt(r), Status::Invalid) << "L - 1 = 0";
  iv[0] = 8;
  EXPECT_EQ(ccm->encrypt(r), Status::Invalid) << "L - 1 = 8";
  auto esp = world->registry.alloc_aead("rfc4106(gcm(aes))");
  EXPECT_EQ(esp->set_key(Bytes(20)), Status::Ok);
  r.aad_bytes = 12;
  EXPECT_EQ(esp->encrypt(r), Status::Invalid);
  EXPECT_EQ(w.finals, 0);
}

TEST_P(ComposeAead, ManyInFlightWithKeyChangesAndAFreedTransform) {
  std::mt19937 g(5);
  auto t = world->registry.alloc_aead("gcm(aes)");
  struct One {
    Bytes want, iv;
    std::unique_ptr<Pieces> p;
    Wait w;
    AeadRequest r;
  };
  std::deque<One> all;
  for (int k = 0; k < 200; ++k) {
    One& o = all.emplace_back();
    const Bytes key = random_bytes(g, 16), text = random_bytes(g, 64 + g() % 64), aad = random_bytes(g, 8);
    if (GetParam() == "ipsecmb" && k) t->flush();  // a batching cipher takes a new key when its lanes are empty
    ASSERT_EQ(t->set_key(key), Status::Ok);
    o.iv = random_bytes(g, 12);
    o.want = evp_aead(true, key, o.iv, aad, text, 16);
    Bytes in = aad;
    in.insert(in.end(), text.begin(), text.end());
    in.resize(in.size() + 16);
    o.p = std::make_unique<Pieces>(g, in, false);
    o.r = {&o.p->list, &o.p->list, 8, text.size(), o.iv.data(), kMayBacklog, Wait::done, &o.w};
    const Status s = t->encrypt(o.r);
    ASSERT_TRUE(s == Status::Ok || accepted(s)) << errno_name(s);
    if (s == Status::Ok) o.w.finals = 1;
    std::fill(o.iv.begin(), o.iv.end(), 0xff);  // read at submission
  }
  t->flush();
  t.reset();
  for (int i = 0; i < 1000; ++i) world->pump();
  for (One& o : all) {
    EXPECT_EQ(o.w.finals, 1);
    EXPECT_EQ(o.w.status, Status::Ok);
    const Bytes got = o.p->read();
    ASSERT_EQ(Bytes(got.begin() + 8, got.end()), o.want);
  }
}

// An engine without GCM, CCM and MAC modes gets all six; one that has a mode keeps its own.
TEST(ComposeAeadRegistry, OnlyWhatTheEngineLacks) {
  for (const char* name : {"mpc8349", "mpc885", "p2020"}) {
    const regs::Part& part = *regs::find_part(name);
    FunctionalPlatform platform(part);
    Registry registry;
    registry.set_selftest_enabled(false);
    driver::Device device(platform);
    ASSERT_EQ(device.probe(device_properties(part)), Status::Ok);
    ASSERT_EQ(device.register_algorithms(registry), Status::Ok);
    const auto own = registry.list();
    const unsigned added = register_aead_compositions(registry, {.dma = &platform.dma(), .module = "talitos"});
    unsigned lacking = 0;
    for (const char* a : {"gcm(aes)", "rfc4106(gcm(aes))", "ccm(aes)", "rfc4309(ccm(aes))", "cmac(aes)", "xcbc(aes)"})
      lacking += std::none_of(own.begin(), own.end(), [&](const AlgorithmInfo& i) { return i.name == a; });
    EXPECT_EQ(added, lacking) << name;
    if (part.generation != regs::Generation::Sec3) {
      EXPECT_GE(added, 4u) << name;
    }
    device.unregister();
  }
}

INSTANTIATE_TEST_SUITE_P(Over, ComposeAead, testing::Values("openssl", "ipsecmb", "engine"), [](const auto& i) { return i.param; });

}  // namespace
