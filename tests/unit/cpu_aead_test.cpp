// AEADs of every CPU back end: NIST vectors in every buffer shape, random requests against EVP and HMAC called
// directly, batches with forged messages among good ones, and the limits of the multi-buffer library.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/provider.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <random>

#include "driver/crypto/authenc_key.h"
#include "driver/crypto/vectors.h"
#include "tests/support/crypto_run.h"
#include "tests/unit/cpu_support.h"

namespace sec::test {
namespace {

using crypto::AeadRequest;
using crypto::ScatterList;
using crypto::Segment;

class CpuAead : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<crypto::Registry> registry_ = backend(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Backends, CpuAead, ::testing::Values("openssl", "ipsecmb"),
                         [](const auto& i) { return i.param; });

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_P(CpuAead, EveryAlgorithmIsOfferedAndPassed) {
  size_t n = 0;
  for (const auto& a : registry_->list()) {
    if (a.type != crypto::AlgorithmType::Aead) continue;
    EXPECT_EQ(a.selftest, crypto::SelfTest::Passed) << registry_->selftest_failure(a.driver);
    EXPECT_FALSE(a.allocates_memory) << a.driver;
    ++n;
  }
  for (const auto& s : crypto::shapes()) {
    if (s.type != crypto::AlgorithmType::Aead) continue;
    // ipsec-mb's DES needs AVX-512, OpenSSL's single DES its legacy provider.
    if (s.name.find("des") == std::string_view::npos) {
      EXPECT_TRUE(offers(*registry_, std::string(s.name))) << s.name;
    }
  }
  EXPECT_GE(n, 16u);
}

/// NIST's AEAD files as single requests. `good` is false for a message that must be refused.
void check_record(crypto::Aead& t, const Bytes& key, const Bytes& iv, const Bytes& aad, const Bytes& plain,
                  const Bytes& cipher, const Bytes& tag, bool good, const Layout& l, const std::string& what) {
  ASSERT_EQ(t.set_key(key), Status::Ok) << what;
  ASSERT_EQ(t.set_auth_bytes(static_cast<unsigned>(tag.size())), Status::Ok) << what;
  if (good) return check_aead(t, iv, aad, plain, cipher, tag, l, what);
  Bytes in = aad + cipher + tag, out(in.size() + 1), iv_copy = iv;
  CutList src(in.data(), in.size(), l.src_cuts), dst(out.data(), aad.size() + cipher.size() + 1, l.dst_cuts);
  AeadRequest r;
  r.src = &src.list;
  r.dst = &dst.list;
  r.aad_bytes = aad.size();
  r.size_bytes = cipher.size() + tag.size();
  r.iv = iv_copy.data();
  EXPECT_EQ(run(t, false, r), Status::BadMessage) << what;
}

TEST_P(CpuAead, NistGcm) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  auto t = registry_->alloc_aead("gcm(aes)");
  ASSERT_TRUE(t);
  size_t records = 0, refused = 0;
  for (const char* file : {"gcmEncryptExtIV128.rsp", "gcmEncryptExtIV192.rsp", "gcmEncryptExtIV256.rsp",
                           "gcmDecrypt128.rsp", "gcmDecrypt192.rsp", "gcmDecrypt256.rsp"}) {
    for (const auto& v : load_vectors(std::string("ciphers/AES/GCM/") + file)) {
      if (!v.has("TAG") || v.bytes("IV").size() != 12) continue;
      const bool good = v.has("PT");
      check_record(*t, v.bytes("KEY"), v.bytes("IV"), v.bytes("AAD"), good ? v.bytes("PT") : Bytes(), v.bytes("CT"),
                   v.bytes("TAG"), good, layouts()[records % layouts().size()],
                   std::string(file) + " COUNT " + v.text("COUNT"));
      if (HasFailure()) return;
      ++records;
      refused += !good;
    }
  }
  EXPECT_GT(records, 10000u);
  EXPECT_GT(refused, 1000u);
}

TEST_P(CpuAead, NistCcm) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  auto t = registry_->alloc_aead("ccm(aes)");
  ASSERT_TRUE(t);
  size_t records = 0, refused = 0;
  for (const auto& file : list_vectors("ciphers/AES/CCM")) {
    Vector all;  // the files name what does not change once, above the records
    for (const auto& v : load_vectors(file)) {
      std::istringstream section(v.section);
      for (std::string part; std::getline(section, part, ',');) {
        std::istringstream one(part);
        std::string name, equals, value;
        one >> name >> equals >> value;
        for (auto& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        all.fields[name] = value;
      }
      if (v.has("NONCE")) all.fields.erase("PAYLOAD");
      for (const auto& [name, value] : v.fields) all.fields[name] = value;
      if (!v.has("CT")) continue;
      const bool good = !all.has("RESULT") || all.text("RESULT").starts_with("Pass");
      const size_t tag = all.number("TLEN"), plain_bytes = all.number("PLEN");
      Bytes aad = all.bytes("ADATA"), ct = all.bytes("CT"), plain;
      if (all.number("ALEN") == 0) aad.clear();
      if (good && plain_bytes) plain = all.bytes("PAYLOAD");
      const Bytes nonce = all.bytes("NONCE");
      Bytes iv(16);
      iv[0] = static_cast<uint8_t>(14 - nonce.size());
      std::copy(nonce.begin(), nonce.end(), iv.begin() + 1);
      check_record(*t, all.bytes("KEY"), iv, aad, plain, Bytes(ct.begin(), ct.end() - static_cast<long>(tag)),
                   Bytes(ct.end() - static_cast<long>(tag), ct.end()), good, layouts()[records % layouts().size()],
                   file + " COUNT " + all.text("COUNT"));
      if (HasFailure()) return;
      ++records;
      refused += !good;
    }
  }
  EXPECT_GT(records, 1000u);
  EXPECT_GT(refused, 100u);
}

// Every known answer of the crypto layer in all layouts (the self-test has fewer).
TEST_P(CpuAead, KnownAnswersInEveryLayout) {
  size_t n = 0;
  for (const auto& v : crypto::aead_vectors()) {
    auto t = registry_->alloc_aead(std::string(v.algorithm));
    if (!t) continue;
    ASSERT_EQ(t->set_key(crypto::key_of(v)), Status::Ok) << v.source;
    ASSERT_EQ(t->set_auth_bytes(static_cast<unsigned>(v.tag.size() / 2)), Status::Ok) << v.source;
    for (const Layout& l : layouts())
      check_aead(*t, from_hex(v.iv), from_hex(v.aad), from_hex(v.plain), from_hex(v.cipher), from_hex(v.tag), l,
                 std::string(v.algorithm) + " " + std::string(v.source));
    if (HasFailure()) return;
    ++n;
  }
  EXPECT_GT(n, 50u);
}

/// The same operations through OpenSSL's plain interfaces, over one buffer.
struct Direct {
  OSSL_LIB_CTX* context = OSSL_LIB_CTX_new();
  OSSL_PROVIDER* standard = OSSL_PROVIDER_load(context, "default");
  OSSL_PROVIDER* legacy = OSSL_PROVIDER_load(context, "legacy");
  ~Direct() {
    if (legacy) OSSL_PROVIDER_unload(legacy);
    OSSL_PROVIDER_unload(standard);
    OSSL_LIB_CTX_free(context);
  }
  Bytes cipher(const std::string& name, const Bytes& key, const Bytes& iv, const Bytes& in) {
    Bytes out(in.size() + 32);
    EVP_CIPHER* c = EVP_CIPHER_fetch(context, name.c_str(), nullptr);
    EVP_CIPHER_CTX* x = EVP_CIPHER_CTX_new();
    int n = 0;
    EXPECT_EQ(EVP_EncryptInit_ex2(x, c, key.data(), iv.data(), nullptr), 1);
    EVP_CIPHER_CTX_set_padding(x, 0);
    EXPECT_EQ(EVP_EncryptUpdate(x, out.data(), &n, in.data(), static_cast<int>(in.size())), 1);
    EVP_CIPHER_CTX_free(x);
    EVP_CIPHER_free(c);
    out.resize(in.size());
    return out;
  }
  Bytes hmac(const std::string& hash, const Bytes& key, const Bytes& data) {
    Bytes out(64);
    unsigned n = 0;
    static const uint8_t none = 0;
    HMAC(EVP_get_digestbyname(hash.c_str()), key.empty() ? &none : key.data(), static_cast<int>(key.size()),
         data.data(), data.size(), out.data(), &n);
    out.resize(n);
    return out;
  }
  Bytes aead(const std::string& name, const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& in,
             size_t tag) {
    Bytes out(in.size() + 32), t(tag);
    EVP_CIPHER* c = EVP_CIPHER_fetch(context, name.c_str(), nullptr);
    EVP_CIPHER_CTX* x = EVP_CIPHER_CTX_new();
    const bool ccm = name.find("CCM") != std::string::npos;
    int n = 0;
    uint8_t none[16] = {};
    EXPECT_EQ(EVP_EncryptInit_ex2(x, c, nullptr, nullptr, nullptr), 1);
    EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(nonce.size()), nullptr);
    if (ccm) EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag), nullptr);
    EXPECT_EQ(EVP_EncryptInit_ex2(x, nullptr, key.data(), nonce.data(), nullptr), 1);
    if (ccm) {
      EXPECT_EQ(EVP_EncryptUpdate(x, nullptr, &n, nullptr, static_cast<int>(in.size())), 1);
    }
    if (!aad.empty()) {
      EXPECT_EQ(EVP_EncryptUpdate(x, nullptr, &n, aad.data(), static_cast<int>(aad.size())), 1);
    }
    if (ccm || !in.empty()) {
      EXPECT_EQ(EVP_EncryptUpdate(x, out.data(), &n, in.empty() ? none : in.data(), static_cast<int>(in.size())), 1);
    }
    EXPECT_EQ(EVP_EncryptFinal_ex(x, none, &n), 1);
    EXPECT_EQ(EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag), t.data()), 1);
    EVP_CIPHER_CTX_free(x);
    EVP_CIPHER_free(c);
    out.resize(in.size());
    return out + t;
  }
};

/// A random message of an algorithm with its right answer.
struct Sample {
  Bytes key, iv, aad, plain, cipher, tag;
};
class Samples {
 public:
  explicit Samples(uint32_t seed) : random(seed) {}
  std::mt19937 random;
  size_t below(size_t n) { return random() % n; }
  Bytes bytes(size_t n) {
    Bytes b(n);
    for (auto& x : b) x = static_cast<uint8_t>(random());
    return b;
  }
  Sample make(const crypto::AlgorithmShape& s, size_t max_text = 400) {
    Sample m;
    const std::string name(s.name);
    size_t text = below(8) ? below(max_text) : below(3) * 16;
    text -= text % s.block_bytes;
    m.plain = bytes(text);
    m.iv = bytes(s.iv_bytes);
    m.aad = bytes(below(4) ? below(80) : 0);
    unsigned tag = s.digest_bytes;
    do tag = 1 + static_cast<unsigned>(below(s.digest_bytes));
    while (!crypto::auth_bytes_are_legal(s, tag));
    if (name.starts_with("authenc")) {
      const std::string hash = name.substr(13, name.find(')') - 13);
      std::string c = name.substr(name.find(',') + 1);
      c.pop_back();
      size_t key_bytes = 16 + 8 * below(3);
      if (c.starts_with("cbc(des")) key_bytes = s.min_key_bytes;
      const Bytes auth = bytes(below(5) ? below(70) : below(200)), key = bytes(key_bytes);
      m.key = crypto::make_authenc_key(auth, key);
      const std::string evp = c == "cbc(des)" ? "DES-CBC"
                              : c == "cbc(des3_ede)"
                                  ? "DES-EDE3-CBC"
                                  : "AES-" + std::to_string(8 * key_bytes) + (c[1] == 'b' ? "-CBC" : "-CTR");
      if (c == "ctr(aes)" && below(4) == 0) std::fill(m.iv.begin() + 4, m.iv.end(), 0xff);
      m.cipher = direct.cipher(evp, key, m.iv, m.plain);
      m.tag = direct.hmac(hash, auth, m.aad + m.cipher);
      m.tag.resize(tag);
      return m;
    }
    const bool rfc = name.starts_with("rfc"), gcm = name.find("gcm") != std::string::npos;
    const size_t key_bytes = 16 + 8 * below(3);
    const Bytes key = bytes(key_bytes), salt = rfc ? bytes(gcm ? 4 : 3) : Bytes();
    m.key = key + salt;
    Bytes nonce = salt + m.iv, real = m.aad;
    if (rfc) {
      real = bytes(8 + 4 * below(2));
      m.aad = real + m.iv;
    } else if (!gcm) {
      m.iv[0] = static_cast<uint8_t>(1 + below(7));
      nonce.assign(m.iv.begin() + 1, m.iv.begin() + 15 - m.iv[0]);
    }
    const Bytes out =
        direct.aead("AES-" + std::to_string(8 * key_bytes) + (gcm ? "-GCM" : "-CCM"), key, nonce, real, m.plain, tag);
    m.cipher.assign(out.begin(), out.end() - static_cast<long>(tag));
    m.tag.assign(out.end() - static_cast<long>(tag), out.end());
    return m;
  }
  Direct direct;
};

Layout random_layout(std::mt19937& random) {
  Layout l{"random",          random() % 2 == 0, false,           random() % 5, {}, {},
           random() % 4 == 0, random() % 5 == 0, random() % 3 * 7};
  l.same_list = l.in_place && random() % 2;
  for (auto* cuts : {&l.src_cuts, &l.dst_cuts})
    for (unsigned i = random() % 5; i; --i) cuts->push_back(1 + random() % (random() % 2 ? 20 : 200));
  return l;
}

// T12, T35, T46: any lists, any AAD, any tag, any authentication key.
// The seed is printed; SEC_SEED sets it, SEC_REQUESTS the number of messages of each algorithm.
TEST_P(CpuAead, RandomRequestsAgreeWithOpenssl) {
  const uint64_t seed = from_environment("SEC_SEED", 20261201), messages = from_environment("SEC_REQUESTS", 150);
  uint64_t all = 0;
  for (const auto& s : crypto::shapes()) {
    if (s.type != crypto::AlgorithmType::Aead) continue;
    auto t = registry_->alloc_aead(std::string(s.name));
    if (!t) continue;
    Samples samples(static_cast<uint32_t>(seed + s.name.size()));
    for (uint64_t i = 0; i < messages; ++i, ++all) {
      const Sample m = samples.make(s);
      ASSERT_EQ(t->set_key(m.key), Status::Ok) << s.name;
      ASSERT_EQ(t->set_auth_bytes(static_cast<unsigned>(m.tag.size())), Status::Ok) << s.name;
      const Layout l = random_layout(samples.random);
      const std::string what =
          std::string(s.name) + " message " + std::to_string(i) + " (SEC_SEED=" + std::to_string(seed) + " repeats it)";
      check_aead(*t, m.iv, m.aad, m.plain, m.cipher, m.tag, l, what);
      if (HasFailure()) return;
      // A message with one bit changed anywhere.
      if (m.tag.size() < 8) continue;
      Bytes all = m.aad + m.cipher + m.tag, out(all.size() + 1), iv = m.iv;
      size_t at = samples.below(all.size());
      if (s.name.starts_with("rfc") && at >= m.aad.size() - 8 && at < m.aad.size()) at = all.size() - 1;  // not covered
      all[at] ^= static_cast<uint8_t>(1u << samples.below(8));
      CutList src(all.data(), all.size(), l.src_cuts), dst(out.data(), out.size(), l.dst_cuts);
      AeadRequest r;
      r.src = &src.list;
      r.dst = &dst.list;
      r.aad_bytes = m.aad.size();
      r.size_bytes = m.cipher.size() + m.tag.size();
      r.iv = iv.data();
      ASSERT_EQ(run(*t, false, r), Status::BadMessage) << what << ", byte " << at << " changed";
    }
  }
  std::printf("%s: %llu random messages, seed %llu\n", GetParam().c_str(), static_cast<unsigned long long>(all),
              static_cast<unsigned long long>(seed));
}

// One key, and every request with another length field or tag: CCM's first block depends on both.
TEST_P(CpuAead, CcmTakesAnotherShapeWithEveryRequest) {
  auto t = registry_->alloc_aead("ccm(aes)");
  ASSERT_TRUE(t);
  Samples samples(5);
  const Bytes key = samples.bytes(16);
  ASSERT_EQ(t->set_key(key), Status::Ok);
  for (int i = 0; i < 100; ++i) {
    const unsigned tag = 4 + 2 * static_cast<unsigned>(samples.below(7));
    if (samples.below(2)) {
      ASSERT_EQ(t->set_auth_bytes(tag), Status::Ok);
    }
    Bytes iv = samples.bytes(16);
    iv[0] = static_cast<uint8_t>(1 + samples.below(7));
    const Bytes aad = samples.bytes(samples.below(40)), plain = samples.bytes(samples.below(100));
    const Bytes want = samples.direct.aead("AES-128-CCM", key, Bytes(iv.begin() + 1, iv.begin() + 15 - iv[0]), aad,
                                           plain, t->auth_bytes());
    const auto end = want.begin() + static_cast<long>(plain.size());
    check_aead(*t, iv, aad, plain, Bytes(want.begin(), end), Bytes(end, want.end()), layouts()[0],
               "request " + std::to_string(i));
    if (HasFailure()) return;
  }
  // L = 2: 65,535 bytes and no more.
  Bytes data(65536 + 16), iv(16, 2);
  iv[0] = 1;
  Segment s{data.data(), data.size()};
  ScatterList l(&s, 1);
  AeadRequest r;
  r.src = r.dst = &l;
  r.iv = iv.data();
  r.size_bytes = 65535;
  EXPECT_EQ(run(*t, true, r), Status::Ok);
  r.size_bytes = 65536;
  EXPECT_EQ(run(*t, true, r), Status::Invalid);
}

TEST_P(CpuAead, RefusedKeyLeavesNone) {
  for (const char* name : {"gcm(aes)", "ccm(aes)", "rfc4106(gcm(aes))", "authenc(hmac(sha1),cbc(aes))"}) {
    auto t = registry_->alloc_aead(name);
    ASSERT_TRUE(t) << name;
    Bytes data(64), iv(16, 1);
    Segment s{data.data(), data.size()};
    ScatterList l(&s, 1);
    AeadRequest r;
    r.src = r.dst = &l;
    r.aad_bytes = 16;
    r.size_bytes = 16;
    r.iv = iv.data();
    EXPECT_EQ(run(*t, true, r), Status::NoKey) << name;
    const bool authenc = std::string_view(name).starts_with("authenc");
    const bool rfc = std::string_view(name).starts_with("rfc");
    const Bytes good = authenc ? crypto::make_authenc_key(Bytes(20, 2), Bytes(16, 3)) : Bytes(rfc ? 20 : 16, 5);
    ASSERT_EQ(t->set_key(good), Status::Ok) << name;
    EXPECT_EQ(run(*t, true, r), Status::Ok) << name;
    EXPECT_EQ(t->set_key(authenc ? crypto::make_authenc_key(Bytes(20, 2), Bytes(17, 3)) : Bytes(17)), Status::Invalid);
    EXPECT_EQ(run(*t, true, r), Status::NoKey) << name;
  }
}

// T38 for AEADs: weak DES keys only when the caller did not forbid them.
TEST_P(CpuAead, WeakDesKeys) {
  const Bytes auth(20, 1), weak = from_hex("fe01fe01fe01fe01"), strong = from_hex("1f1f01010e0e0101");
  if (auto t = registry_->alloc_aead("authenc(hmac(sha1),cbc(des))")) {
    EXPECT_EQ(t->set_key(crypto::make_authenc_key(auth, weak), crypto::kForbidWeakKeys), Status::Invalid);
    EXPECT_EQ(t->set_key(crypto::make_authenc_key(auth, weak)), Status::Ok);
    EXPECT_EQ(t->set_key(crypto::make_authenc_key(auth, strong), crypto::kForbidWeakKeys), Status::Ok);
  }
  if (auto t = registry_->alloc_aead("authenc(hmac(sha1),cbc(des3_ede))")) {
    const Bytes twice = strong + strong + weak, good = strong + weak + from_hex("0123456789abcdef");
    EXPECT_EQ(t->set_key(crypto::make_authenc_key(auth, twice), crypto::kForbidWeakKeys), Status::NoKey);
    EXPECT_EQ(t->set_key(crypto::make_authenc_key(auth, twice)), Status::Ok);
    EXPECT_EQ(t->set_key(crypto::make_authenc_key(auth, good), crypto::kForbidWeakKeys), Status::Ok);
  }
}

TEST_P(CpuAead, ListsThatAreTooShortAreInvalid) {
  auto t = registry_->alloc_aead("authenc(hmac(sha256),cbc(aes))");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->set_key(crypto::make_authenc_key(Bytes(32, 1), Bytes(16, 2))), Status::Ok);
  ASSERT_EQ(t->set_auth_bytes(16), Status::Ok);
  Bytes a(100), b(100), iv(16);
  const auto status = [&](bool encrypt, size_t src, size_t dst) {
    CutList in(a.data(), src, {7}), out(b.data(), dst, {9});
    AeadRequest r;
    r.src = &in.list;
    r.dst = &out.list;
    r.aad_bytes = 20;
    r.size_bytes = encrypt ? 32 : 48;
    r.iv = iv.data();
    return run(*t, encrypt, r);
  };
  EXPECT_EQ(status(true, 52, 68), Status::Ok);
  EXPECT_EQ(status(true, 51, 68), Status::Invalid);
  EXPECT_EQ(status(true, 52, 67), Status::Invalid);
  EXPECT_EQ(status(false, 68, 52), Status::BadMessage);
  EXPECT_EQ(status(false, 67, 52), Status::Invalid);
  EXPECT_EQ(status(false, 68, 51), Status::Invalid);
}

// ---------------------------------------------------------------------------------------- batches

struct Job {
  Sample m;
  Bytes memory, out, iv;
  Segment segments[2], out_segment;
  ScatterList list, out_list;
  AeadRequest r;
  crypto::Aead* t = nullptr;
  bool encrypt = false, forged = false;
  int called = 0, id = 0;
  Status status = Status::InProgress;
  std::vector<int>* order = nullptr;
};

// Good, forged, scattered, in-place and out-of-place messages of many keys in the same batches.
TEST(CpuAeadBatch, EachRequestHasItsOwnStatus) {
  for (const unsigned burst : {1u, 5u, 32u}) {
    crypto::Registry registry;
    host::IpsecMbOptions o;
    o.burst = burst;
    if (!host::register_ipsecmb(registry, o)) GTEST_SKIP() << "ipsec-mb does not run here";
    for (const auto& s : crypto::shapes()) {
      if (s.type != crypto::AlgorithmType::Aead || !offers(registry, std::string(s.name))) continue;
      Samples samples(burst + static_cast<uint32_t>(s.name.size()));
      std::vector<std::unique_ptr<crypto::Aead>> transforms;
      std::vector<std::unique_ptr<Job>> jobs;
      std::vector<int> order;
      for (int i = 0; i < 60; ++i) {
        auto j = std::make_unique<Job>();
        j->m = samples.make(s, i % 4 ? 100 : 1500);
        transforms.push_back(registry.alloc_aead(std::string(s.name)));
        j->t = transforms.back().get();
        ASSERT_EQ(j->t->set_key(j->m.key), Status::Ok);
        ASSERT_EQ(j->t->set_auth_bytes(static_cast<unsigned>(j->m.tag.size())), Status::Ok);
        j->id = i;
        j->order = &order;
        j->encrypt = samples.below(2);
        j->forged = !j->encrypt && j->m.tag.size() >= 4 && samples.below(3) == 0;
        j->memory = j->m.aad + (j->encrypt ? j->m.plain : j->m.cipher) + j->m.tag;
        if (j->encrypt) std::fill(j->memory.end() - static_cast<long>(j->m.tag.size()), j->memory.end(), 0);
        if (j->forged) j->memory.back() ^= 1;
        j->iv = j->m.iv;
        const size_t n = j->memory.size(), cut = samples.below(3) ? n : samples.below(n);
        j->segments[0] = {j->memory.data(), cut};
        j->segments[1] = {j->memory.data() + cut, n - cut};
        j->list = ScatterList(j->segments, 2);
        j->out.assign(n, 0x77);
        j->out_segment = {j->out.data(), n};
        j->out_list = ScatterList(&j->out_segment, 1);
        j->r.src = &j->list;
        j->r.dst = samples.below(2) ? &j->list : &j->out_list;
        j->r.aad_bytes = j->m.aad.size();
        j->r.size_bytes = j->m.plain.size() + (j->encrypt ? 0 : j->m.tag.size());
        j->r.iv = j->iv.data();
        j->r.context = j.get();
        j->r.complete = [](void* c, Status status) {
          auto* job = static_cast<Job*>(c);
          ++job->called;
          job->status = status;
          job->order->push_back(job->id);
        };
        jobs.push_back(std::move(j));
      }
      for (auto& j : jobs) {
        ASSERT_EQ(j->encrypt ? j->t->encrypt(j->r) : j->t->decrypt(j->r), Status::InProgress);
        std::fill(j->iv.begin(), j->iv.end(), 0xcc);  // K06: it was read at submission
      }
      jobs.back()->t->flush();
      for (const auto& j : jobs) {
        const std::string what = std::string(s.name) + " " + std::to_string(j->id) + ", burst " + std::to_string(burst);
        ASSERT_EQ(j->called, 1) << what;
        ASSERT_EQ(j->status, j->forged ? Status::BadMessage : Status::Ok) << what;
        ASSERT_EQ(order[static_cast<size_t>(j->id)], j->id) << what;
        if (j->forged) continue;
        Bytes got(j->m.plain.size() + (j->encrypt ? j->m.tag.size() : 0));
        ASSERT_TRUE(crypto::copy_from(j->r.dst, j->m.aad.size(), got.data(), got.size()));
        ASSERT_EQ(to_hex(got), to_hex(j->encrypt ? j->m.cipher + j->m.tag : j->m.plain)) << what;
      }
    }
  }
}

// What the library does not take still works, and is counted.
TEST(CpuAeadBatch, LimitsOfTheLibrary) {
  crypto::Registry registry;
  registry.set_selftest_enabled(false);
  host::IpsecMbOptions o;
  o.stats = std::make_shared<host::IpsecMbStats>();
  if (!host::register_ipsecmb(registry, o)) GTEST_SKIP();
  Samples samples(11);
  const auto one = [&](const std::string& name, size_t key_bytes, size_t aad, size_t text, bool carry,
                       unsigned fallbacks) {
    auto t = registry.alloc_aead(name);
    const Bytes auth = samples.bytes(32), key = samples.bytes(key_bytes), plain = samples.bytes(text),
                head = samples.bytes(aad);
    Bytes iv = samples.bytes(16);
    if (carry) std::fill(iv.begin(), iv.end(), 0xff);
    Bytes want;
    const std::string size = std::to_string(8 * key_bytes);
    if (name.starts_with("authenc")) {
      ASSERT_EQ(t->set_key(crypto::make_authenc_key(auth, key)), Status::Ok);
      const Bytes c = samples.direct.cipher("AES-" + size + (carry ? "-CTR" : "-CBC"), key, iv, plain);
      want = c + samples.direct.hmac("sha256", auth, head + c);
    } else {
      ASSERT_EQ(t->set_key(key), Status::Ok);
      iv[0] = 3;
      const Bytes nonce =
          name == "gcm(aes)" ? Bytes(iv.begin(), iv.begin() + 12) : Bytes(iv.begin() + 1, iv.begin() + 12);
      want = samples.direct.aead("AES-" + size + (name == "gcm(aes)" ? "-GCM" : "-CCM"), key, nonce, head, plain, 16);
    }
    const uint64_t before = o.stats->fallbacks;
    check_aead(*t, iv, head, plain, Bytes(want.begin(), want.begin() + static_cast<long>(text)),
               Bytes(want.begin() + static_cast<long>(text), want.end()), layouts()[0], name);
    EXPECT_EQ(o.stats->fallbacks - before, fallbacks) << name << " " << key_bytes << " " << aad << " " << text;
  };
  one("authenc(hmac(sha256),cbc(aes))", 16, 16, 65504, false, 0);
  one("authenc(hmac(sha256),cbc(aes))", 16, 17, 65504, false, 2);
  one("authenc(hmac(sha256),cbc(aes))", 32, 24, 200000, false, 2);
  one("authenc(hmac(sha256),cbc(aes))", 16, 24, 0, false, 2);
  one("authenc(hmac(sha256),cbc(aes))", 16, 0, 0, false, 2);
  one("authenc(hmac(sha256),ctr(aes))", 24, 24, 16, true, 0);
  one("authenc(hmac(sha256),ctr(aes))", 24, 24, 17, true, 2);
  one("gcm(aes)", 24, 20, 65500, false, 0);
  one("gcm(aes)", 16, 20, 65501, false, 2);
  one("gcm(aes)", 16, 0, 0, false, 2);
  one("ccm(aes)", 16, 46, 999, false, 0);
  one("ccm(aes)", 32, 47, 999, false, 2);
  one("ccm(aes)", 24, 8, 999, false, 2);
  one("ccm(aes)", 16, 0, 0, false, 2);
}

TEST(CpuAeadBatch, TeardownAndNewTagSizeCompleteWhatIsPending) {
  crypto::Registry registry;
  if (!host::register_ipsecmb(registry)) GTEST_SKIP();
  for (const bool teardown : {false, true}) {
    auto t = registry.alloc_aead("authenc(hmac(sha1),cbc(aes))");
    ASSERT_EQ(t->set_key(crypto::make_authenc_key(Bytes(20, 1), Bytes(16, 2))), Status::Ok);
    Bytes data(100), iv(16);
    Segment s{data.data(), data.size()};
    ScatterList l(&s, 1);
    Done done;
    AeadRequest r;
    r.src = r.dst = &l;
    r.aad_bytes = 24;
    r.size_bytes = 48;
    r.iv = iv.data();
    r.complete = Done::callback;
    r.context = &done;
    ASSERT_EQ(t->encrypt(r), Status::InProgress);
    ASSERT_EQ(done.finished, 0);
    if (teardown) {
      t.reset();
    } else {
      ASSERT_EQ(t->set_auth_bytes(12), Status::Ok);
    }
    EXPECT_EQ(done.finished, 1);
    EXPECT_EQ(done.status, Status::Ok);
    EXPECT_NE(Bytes(data.begin() + 72, data.begin() + 92), Bytes(20));  // the whole tag
  }
}

// M03, M04, M05: short messages at the end of a page, alone and beside a long one; nothing beyond is touched.
TEST(CpuAeadBatch, NothingBeyondTheBuffers) {
  crypto::Registry registry;
  if (!host::register_ipsecmb(registry)) GTEST_SKIP();
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* memory =
      static_cast<uint8_t*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  ASSERT_EQ(mprotect(memory + 3 * page, page, PROT_NONE), 0);
  for (const auto& s : crypto::shapes()) {
    if (s.type != crypto::AlgorithmType::Aead || !offers(registry, std::string(s.name))) continue;
    Samples samples(3);
    auto t = registry.alloc_aead(std::string(s.name)), other = registry.alloc_aead(std::string(s.name));
    const Sample big = samples.make(s);
    ASSERT_EQ(other->set_key(big.key), Status::Ok);
    for (int i = 0; i < 60; ++i) {
      const Sample m = samples.make(s, 80);
      ASSERT_EQ(t->set_key(m.key), Status::Ok);
      ASSERT_EQ(t->set_auth_bytes(static_cast<unsigned>(m.tag.size())), Status::Ok);
      Bytes company(16 + 1600 + 64), company_iv = big.iv, iv = m.iv;
      if (s.name == "ccm(aes)") company_iv[0] = 3;
      Segment sx{company.data(), company.size()};
      ScatterList lx(&sx, 1);
      AeadRequest x;
      Done done;
      x.src = x.dst = &lx;
      x.aad_bytes = 16;
      x.size_bytes = 1600;
      x.iv = company_iv.data();
      x.complete = Done::callback;
      x.context = &done;
      if (i % 2) {
        ASSERT_EQ(other->encrypt(x), Status::InProgress);
      }
      for (const bool encrypt : {true, false}) {
        const Bytes in = encrypt ? m.aad + m.plain : m.aad + m.cipher + m.tag;
        const size_t out_bytes = m.aad.size() + m.plain.size() + (encrypt ? m.tag.size() : 0);
        uint8_t* from = memory + page - in.size();
        uint8_t* to = memory + 3 * page - out_bytes;
        std::copy(in.begin(), in.end(), from);
        Segment si{from, in.size()}, so{to, out_bytes};
        ScatterList li(&si, 1), lo(&so, 1);
        AeadRequest r;
        r.src = &li;
        r.dst = &lo;
        r.aad_bytes = m.aad.size();
        r.size_bytes = in.size() - m.aad.size();
        r.iv = iv.data();
        ASSERT_EQ(run(*t, encrypt, r), Status::Ok) << s.name;
        const Bytes want = encrypt ? m.cipher + m.tag : m.plain;
        ASSERT_EQ(to_hex(to + m.aad.size(), want.size()), to_hex(want)) << s.name;
      }
      ASSERT_EQ(done.finished, i % 2);
    }
  }
  munmap(memory, 4 * page);
}

}  // namespace
}  // namespace sec::test
