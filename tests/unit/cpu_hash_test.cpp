// Hashes and HMACs of every CPU back end against published vectors, whole and cut in odd pieces.
#include <gtest/gtest.h>

#include "tests/support/crypto_run.h"
#include "tests/unit/cpu_support.h"

namespace sec::test {
namespace {

class CpuHash : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<crypto::Registry> registry_ = backend(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Backends, CpuHash, ::testing::Values("openssl", "ipsecmb"), [](const auto& i) { return i.param; });

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
  for (const auto& [name, file] : std::vector<std::pair<std::string, std::string>>{
           {"md5", "hashes/MD5/rfc-1321.txt"},
           {"sha1", "hashes/SHA1/SHA1ShortMsg.rsp"}, {"sha1", "hashes/SHA1/SHA1LongMsg.rsp"},
           {"sha224", "hashes/SHA2/SHA224ShortMsg.rsp"}, {"sha224", "hashes/SHA2/SHA224LongMsg.rsp"},
           {"sha256", "hashes/SHA2/SHA256ShortMsg.rsp"}, {"sha256", "hashes/SHA2/SHA256LongMsg.rsp"},
           {"sha384", "hashes/SHA2/SHA384ShortMsg.rsp"}, {"sha512", "hashes/SHA2/SHA512LongMsg.rsp"}}) {
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
  for (const auto& [name, file] : std::vector<std::pair<std::string, std::string>>{
           {"hmac(md5)", "HMAC/rfc-2202-md5.txt"}, {"hmac(sha1)", "HMAC/rfc-2202-sha1.txt"},
           {"hmac(sha224)", "HMAC/rfc-4231-sha224.txt"}, {"hmac(sha256)", "HMAC/rfc-4231-sha256.txt"},
           {"hmac(sha384)", "HMAC/rfc-4231-sha384.txt"}, {"hmac(sha512)", "HMAC/rfc-4231-sha512.txt"}}) {
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
