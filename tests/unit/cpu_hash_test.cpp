// Hashes and HMACs of every CPU back end against published vectors, whole and cut in odd pieces.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "driver/crypto/vectors.h"
#include "tests/support/crypto_run.h"
#include "tests/unit/cpu_support.h"

namespace sec::test {
namespace {

class CpuHash : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<crypto::Registry> registry_ = backend(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Backends, CpuHash, ::testing::Values("openssl", "ipsecmb"),
                         [](const auto& i) { return i.param; });

void check(crypto::Hash& t, Bytes msg, const std::string& expected, const std::string& what) {
  for (const auto& cuts : std::vector<std::vector<size_t>>{{}, {63, 1, 64, 65}, {1, 2, 127}}) {
    CutList list(msg.data(), msg.size(), cuts);
    Bytes digest(t.info().digest_bytes + 8, 0xee);
    crypto::HashRequest r;
    r.src = &list.list;
    r.size_bytes = msg.size();
    r.digest = digest.data();
    ASSERT_EQ(run(t, r), Status::Ok) << what;
    EXPECT_EQ(to_hex(digest.data(), t.info().digest_bytes), expected) << what << ", " << msg.size() << " bytes";
    for (size_t i = t.info().digest_bytes; i < digest.size(); ++i) ASSERT_EQ(digest[i], 0xee) << what;
  }
}

TEST_P(CpuHash, NistMessages) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  size_t n = 0;
  for (const auto& [name, file] :
       std::vector<std::pair<std::string, std::string>>{{"md5", "hashes/MD5/rfc-1321.txt"},
                                                        {"sha1", "hashes/SHA1/SHA1ShortMsg.rsp"},
                                                        {"sha1", "hashes/SHA1/SHA1LongMsg.rsp"},
                                                        {"sha224", "hashes/SHA2/SHA224ShortMsg.rsp"},
                                                        {"sha224", "hashes/SHA2/SHA224LongMsg.rsp"},
                                                        {"sha256", "hashes/SHA2/SHA256ShortMsg.rsp"},
                                                        {"sha256", "hashes/SHA2/SHA256LongMsg.rsp"},
                                                        {"sha384", "hashes/SHA2/SHA384ShortMsg.rsp"},
                                                        {"sha512", "hashes/SHA2/SHA512LongMsg.rsp"}}) {
    auto t = registry_->alloc_hash(name);
    if (!t) continue;
    for (const auto& v : load_vectors(file)) {
      if (!v.has("MSG")) continue;
      Bytes msg = v.bytes("MSG");
      msg.resize(v.number("LEN") / 8);
      check(*t, msg, v.text("MD"), file);
      ++n;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(n, 250u);
}

TEST_P(CpuHash, RfcHmac) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  size_t n = 0;
  for (const auto& [name, file] :
       std::vector<std::pair<std::string, std::string>>{{"hmac(md5)", "HMAC/rfc-2202-md5.txt"},
                                                        {"hmac(sha1)", "HMAC/rfc-2202-sha1.txt"},
                                                        {"hmac(sha224)", "HMAC/rfc-4231-sha224.txt"},
                                                        {"hmac(sha256)", "HMAC/rfc-4231-sha256.txt"},
                                                        {"hmac(sha384)", "HMAC/rfc-4231-sha384.txt"},
                                                        {"hmac(sha512)", "HMAC/rfc-4231-sha512.txt"}}) {
    auto t = registry_->alloc_hash(name);
    if (!t) continue;
    for (const auto& v : load_vectors(file)) {
      Bytes msg = v.bytes("MSG");
      msg.resize(v.number("LEN") / 8);
      ASSERT_EQ(t->set_key(v.bytes("KEY")), Status::Ok);
      if (v.text("MD").size() != 2 * t->info().digest_bytes) continue;  // truncated tag
      check(*t, msg, v.text("MD"), file);
      ++n;
    }
  }
  EXPECT_GE(n, 12u);
}

TEST_P(CpuHash, HmacNeedsKey) {
  auto t = registry_->alloc_hash("hmac(sha1)");
  ASSERT_TRUE(t);
  uint8_t out[20];
  crypto::HashRequest r;
  r.digest = out;
  EXPECT_EQ(run(*t, r), Status::NoKey);
  auto plain = registry_->alloc_hash("sha1");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->set_key(Bytes(20)), Status::Invalid);
}

// M04: empty and very short messages, alone in a batch; long ones beyond the 16-bit lane limit. Against OpenSSL.
TEST_P(CpuHash, EmptyShortAndLong) {
  auto reference = backend("openssl");
  for (const char* name : {"sha1", "sha256", "hmac(md5)", "hmac(sha1)", "hmac(sha256)", "hmac(sha512)"}) {
    auto t = registry_->alloc_hash(name), ref = reference->alloc_hash(name);
    if (!t) continue;
    if (std::string_view(name).starts_with("hmac")) {
      ASSERT_EQ(t->set_key(Bytes(20, 0x0b)), Status::Ok);
      ASSERT_EQ(ref->set_key(Bytes(20, 0x0b)), Status::Ok);
    }
    for (size_t n = 0; n <= 300000; n = n < 200 ? n + 1 : n < 60000 ? 65500 : n < 65550 ? n + 1 : n * 2) {
      Bytes msg(n);
      for (size_t i = 0; i < n; ++i) msg[i] = static_cast<uint8_t>(i * 13);
      uint8_t want[64];
      crypto::Segment s{msg.data(), n};
      crypto::ScatterList l(&s, 1);
      crypto::HashRequest r;
      r.src = &l;
      r.size_bytes = n;
      r.digest = want;
      ASSERT_EQ(run(*ref, r), Status::Ok);
      check(*t, msg, to_hex(want, t->info().digest_bytes), name);
      if (HasFailure()) return;
    }
  }
}

TEST_P(CpuHash, NistCmac) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  auto t = registry_->alloc_hash("cmac(aes)");
  if (!t) GTEST_SKIP() << "not offered";
  size_t n = 0;
  for (const auto& file : list_vectors("CMAC", {"aes128.txt", "aes192.txt", "aes256.txt"}))
    for (const auto& v : load_vectors(file)) {
      ASSERT_EQ(t->set_key(v.bytes("KEY")), Status::Ok);
      check(*t, v.bytes("MESSAGE"), v.text("OUTPUT"), file);
      ++n;
    }
  EXPECT_EQ(n, 12u);
}

TEST_P(CpuHash, KnownAnswers) {
  size_t n = 0;
  for (const auto& v : crypto::hash_vectors()) {
    auto t = registry_->alloc_hash(std::string(v.algorithm));
    if (!t) continue;
    if (!v.key.empty()) {
      ASSERT_EQ(t->set_key(from_hex(v.key)), Status::Ok) << v.source;
    }
    check(*t, from_hex(v.message), std::string(v.digest), std::string(v.algorithm) + " " + std::string(v.source));
    ++n;
  }
  EXPECT_GT(n, 40u);
}

// In steps of any sizes, moved to other transforms at any point: the same as at once.
TEST(CpuHashSteps, AnySplitAndAnyMoveGiveTheSameDigest) {
  auto registry = backend("openssl");
  const uint64_t seed = from_environment("SEC_SEED", 20261201), messages = from_environment("SEC_REQUESTS", 150);
  size_t algorithms = 0;
  for (const auto& info : registry->list()) {
    if (info.type != crypto::AlgorithmType::Hash) continue;
    ++algorithms;
    ASSERT_GT(info.state_bytes, 0u) << info.driver;
    std::mt19937 random(static_cast<unsigned>(seed + info.driver.size()));
    auto t = registry->alloc_hash(info.driver), other = registry->alloc_hash(info.driver);
    if (info.name.find('(') != std::string::npos) {
      const Bytes key(info.max_key_bytes ? info.max_key_bytes : 150, 0x37);
      ASSERT_EQ(t->set_key(key), Status::Ok);
      ASSERT_EQ(other->set_key(key), Status::Ok);
    }
    for (uint64_t round = 0; round < messages; ++round) {
      Bytes msg(random() % (round % 10 ? 600 : 70000));
      for (auto& b : msg) b = static_cast<uint8_t>(random());
      Bytes want(info.digest_bytes), got(info.digest_bytes, 0xee), untouched = got;
      CutList all(msg.data(), msg.size(), {});
      crypto::HashRequest r;
      r.src = &all.list;
      r.size_bytes = msg.size();
      r.digest = want.data();
      ASSERT_EQ(run(*t, r), Status::Ok);
      crypto::Hash* now = t.get();
      auto state = now->make_state();
      ASSERT_TRUE(state);
      ASSERT_EQ(now->init(*state), Status::Ok);
      size_t at = 0;
      bool ended = false;
      while (!ended) {
        const size_t block = info.block_bytes, sizes[] = {0, 1, block - 1, block, block + 1, 3 * block, 17, msg.size()};
        const size_t n = std::min(sizes[random() % 8], msg.size() - at);
        CutList piece(msg.data() + at, n, random() % 2 ? std::vector<size_t>{} : std::vector<size_t>{5, 60, 1});
        at += n;
        r = {};
        r.src = n ? &piece.list : nullptr;
        r.size_bytes = n;
        r.digest = got.data();
        r.state = state.get();
        if (at == msg.size() && random() % 2) {
          ASSERT_EQ(run(*now, &crypto::Hash::finup, r), Status::Ok);
          ended = true;
        } else {
          ASSERT_EQ(run(*now, &crypto::Hash::update, r), Status::Ok);
          ASSERT_EQ(got, untouched) << info.driver << ": digest written by update";
          if (at == msg.size()) {
            r.src = nullptr;
            r.size_bytes = 0;
            ASSERT_EQ(run(*now, &crypto::Hash::final, r), Status::Ok);
            ended = true;
          } else if (random() % 3 == 0) {
            Bytes exported(info.state_bytes + 8, 0xdd);
            ASSERT_EQ(now->export_state(*state, exported.data()), Status::Ok);
            for (size_t i = info.state_bytes; i < exported.size(); ++i) ASSERT_EQ(exported[i], 0xdd);
            now = now == t.get() ? other.get() : t.get();
            state = now->make_state();
            ASSERT_EQ(now->import_state(*state, exported.data()), Status::Ok);
          }
        }
      }
      ASSERT_EQ(to_hex(got), to_hex(want)) << info.driver << ", " << msg.size() << " bytes, message " << round
                                           << " (SEC_SEED=" << seed << " repeats it)";
    }
  }
  EXPECT_EQ(algorithms, 15u);
  std::printf("%zu hashes, %llu random messages each, seed %llu\n", algorithms,
              static_cast<unsigned long long>(messages), static_cast<unsigned long long>(seed));
}

// Interleaved messages of one transform do not mix; a state thrown away, or begun anew, leaves nothing behind.
TEST(CpuHashSteps, StatesAreIndependent) {
  auto registry = backend("openssl");
  for (const char* name : {"sha1", "hmac(sha512)", "cmac(aes)", "crc32c"}) {
    auto t = registry->alloc_hash(name);
    ASSERT_TRUE(t) << name;
    if (std::string_view(name).find('(') != std::string_view::npos) {
      ASSERT_EQ(t->set_key(Bytes(16, 1)), Status::Ok);
    }
    Bytes msg(300, 0x5c), want(64), a(64), b(64);
    CutList all(msg.data(), 300, {}), half(msg.data(), 150, {});
    crypto::HashRequest r;
    r.src = &all.list;
    r.size_bytes = 300;
    r.digest = want.data();
    ASSERT_EQ(run(*t, r), Status::Ok);
    auto one = t->make_state(), two = t->make_state(), gone = t->make_state();
    for (auto* s : {one.get(), two.get(), gone.get()}) ASSERT_EQ(t->init(*s), Status::Ok);
    r.src = &half.list;
    r.size_bytes = 150;
    for (auto* s : {one.get(), two.get(), gone.get(), two.get(), one.get()}) {
      r.state = s;
      ASSERT_EQ(run(*t, &crypto::Hash::update, r), Status::Ok);
    }
    gone.reset();
    r.src = nullptr;
    r.size_bytes = 0;
    r.state = one.get();
    r.digest = a.data();
    ASSERT_EQ(run(*t, &crypto::Hash::final, r), Status::Ok);
    r.state = two.get();
    r.digest = b.data();
    ASSERT_EQ(run(*t, &crypto::Hash::final, r), Status::Ok);
    EXPECT_EQ(a, want) << name;
    EXPECT_EQ(b, want) << name;
    ASSERT_EQ(t->init(*one), Status::Ok);  // a used state
    r.src = &all.list;
    r.size_bytes = 300;
    r.state = one.get();
    r.digest = a.data();
    std::fill(a.begin(), a.end(), 0);
    ASSERT_EQ(run(*t, &crypto::Hash::finup, r), Status::Ok);
    EXPECT_EQ(a, want) << name;
  }
}

TEST(CpuHashSteps, RefusesWhatIsNoState) {
  auto registry = backend("openssl");
  for (const char* name : {"md5", "sha1", "sha224", "hmac(sha256)", "sha384", "sha512", "cmac(aes)", "xcbc(aes)"}) {
    auto t = registry->alloc_hash(name);
    if (std::string_view(name).find('(') != std::string_view::npos) {
      auto state = t->make_state();
      EXPECT_EQ(t->init(*state), Status::NoKey) << name;
      ASSERT_EQ(t->set_key(Bytes(16, 1)), Status::Ok);
    }
    auto state = t->make_state();
    const Bytes junk(t->info().state_bytes, 0xff);
    EXPECT_EQ(t->import_state(*state, junk.data()), Status::Invalid) << name;
    Bytes msg(10), out(64);
    CutList l(msg.data(), 10, {3});
    crypto::HashRequest r;
    r.src = &l.list;
    r.size_bytes = 11;
    r.digest = out.data();
    EXPECT_EQ(run(*t, &crypto::Hash::update, r), Status::Invalid) << name << " without a state";
    ASSERT_EQ(t->init(*state), Status::Ok);
    r.state = state.get();
    EXPECT_EQ(run(*t, &crypto::Hash::update, r), Status::Invalid) << name << ", list too short";
    EXPECT_EQ(run(*t, &crypto::Hash::finup, r), Status::Invalid) << name << ", list too short";
  }
}

// T20: the answers of known-good tools for long messages of zeros.
TEST_P(CpuHash, LongMessagesOfZeros) {
  auto t = registry_->alloc_hash("sha256");
  for (const auto& [n, digest] : std::vector<std::pair<size_t, std::string>>{
           {32769, "7ef43086d6ff0877a42e27bfa629270eacb2e6a327950020a4e426f0281a1e63"},
           {65536, "de2f256064a0af797747c2b97505dc0b9f3df0de4f489eac731c23ae9ca9cc31"}})
    check(*t, Bytes(n), digest, "zeros");
}

TEST_P(CpuHash, ShortListIsInvalid) {
  auto t = registry_->alloc_hash("sha1");
  Bytes msg(10);
  CutList l(msg.data(), 10, {3});
  uint8_t out[20] = {};
  crypto::HashRequest r;
  r.src = &l.list;
  r.size_bytes = 11;
  r.digest = out;
  EXPECT_EQ(run(*t, r), Status::Invalid);
}

}  // namespace
}  // namespace sec::test
