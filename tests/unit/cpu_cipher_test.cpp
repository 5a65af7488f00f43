// Ciphers of every CPU back end: published vectors in every buffer shape, and the IV contract.
#include <gtest/gtest.h>

#include <random>

#include "host/cpu/walk.h"
#include "tests/support/crypto_run.h"
#include "tests/unit/cpu_support.h"

namespace sec::test {
namespace {

using crypto::ScatterList;
using crypto::Segment;
using crypto::SkcipherRequest;

class CpuCipher : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<crypto::Registry> registry_ = backend(GetParam());
  std::unique_ptr<crypto::Skcipher> alloc(const std::string& name) { return registry_->alloc_skcipher(name); }
};
INSTANTIATE_TEST_SUITE_P(Backends, CpuCipher, ::testing::Values("openssl", "ipsecmb"),
                         [](const auto& i) { return i.param; });

Status crypt(crypto::Skcipher& t, bool enc, Bytes& data, Bytes& iv) {
  Segment s{data.data(), data.size()};
  ScatterList l(&s, 1);
  SkcipherRequest r;
  r.src = r.dst = &l;
  r.size_bytes = data.size();
  r.iv = iv.data();
  return run(t, enc, r);
}

TEST_P(CpuCipher, RegistersWithPassedSelfTest) {
  ASSERT_FALSE(registry_->list().empty());
  for (const auto& a : registry_->list()) {
    EXPECT_NE(a.selftest, crypto::SelfTest::Failed) << a.driver << ": " << registry_->selftest_failure(a.driver);
    if (a.name.starts_with("ecb")) {
      EXPECT_EQ(a.iv_bytes, 0u) << a.driver;
    }
    if (a.name.starts_with("ctr")) {
      EXPECT_EQ(a.block_bytes, 1u) << a.driver;
    }
    EXPECT_FALSE(a.allocates_memory) << a.driver;
  }
}

// Every file of a folder, one layout per record in turn; the multi-block files in all layouts.
void run_folder(crypto::Registry& registry, const std::string& algorithm, const std::string& folder, bool single_des,
                const std::string& only = "") {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  auto t = registry.alloc_skcipher(algorithm);
  if (!t) GTEST_SKIP() << algorithm << " is not offered on this machine";
  size_t records = 0;
  for (const auto& file : list_vectors(folder)) {
    if (file.find("/TCBCI") != std::string::npos || file.find("/TOFBI") != std::string::npos)
      continue;  // interleaved modes, three streams
    if (file.find(only) == std::string::npos) continue;
    for (const auto& v : load_vectors(file)) {
      if (single_des && !v.has("KEYS")) continue;
      const Bytes key = single_des ? v.bytes("KEYS") : v.des3_key();
      const Bytes pt = v.bytes("PLAINTEXT"), ct = v.bytes("CIPHERTEXT");
      const Bytes iv = v.has("IV") ? v.bytes("IV") : Bytes();
      ASSERT_EQ(t->set_key(key), Status::Ok) << file;
      Bytes iv_out;
      if (algorithm.starts_with("ofb")) {  // the last block of key stream
        for (size_t i = pt.size() - iv.size(); i < pt.size(); ++i) iv_out.push_back(pt[i] ^ ct[i]);
      } else if (!iv.empty()) {
        iv_out.assign(ct.end() - static_cast<long>(iv.size()), ct.end());
      }
      const bool all = file.find("MMT") != std::string::npos;
      for (size_t l = all ? 0 : records % layouts().size(); l < layouts().size(); ++l) {
        const std::string what = file + " COUNT " + (v.has("COUNT") ? v.text("COUNT") : "?") + " " + v.section;
        if (v.encrypt()) {
          check_layout(*t, true, pt, ct, iv, iv_out, layouts()[l], what);
        } else {
          check_layout(*t, false, ct, pt, iv, iv_out, layouts()[l], what);
        }
        if (::testing::Test::HasFailure() || !all) break;
      }
      ++records;
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(records, 100u);
}
TEST_P(CpuCipher, NistEcbAes) { run_folder(*registry_, "ecb(aes)", "ciphers/AES/ECB", false); }
TEST_P(CpuCipher, NistCbcAes) { run_folder(*registry_, "cbc(aes)", "ciphers/AES/CBC", false); }
TEST_P(CpuCipher, NistOfbAes) { run_folder(*registry_, "ofb(aes)", "ciphers/AES/OFB", false, ""); }
TEST_P(CpuCipher, NistCfbAes) { run_folder(*registry_, "cfb(aes)", "ciphers/AES/CFB", false, "/CFB128"); }
TEST_P(CpuCipher, NistOfbDes3) { run_folder(*registry_, "ofb(des3_ede)", "ciphers/3DES/OFB", false, "/TOFB"); }
TEST_P(CpuCipher, NistCfbDes3) { run_folder(*registry_, "cfb(des3_ede)", "ciphers/3DES/CFB", false, "/TCFB64"); }
TEST_P(CpuCipher, NistOfbDes) { run_folder(*registry_, "ofb(des)", "ciphers/3DES/OFB", true, "/TOFB"); }
TEST_P(CpuCipher, NistCfbDes) { run_folder(*registry_, "cfb(des)", "ciphers/3DES/CFB", true, "/TCFB64"); }

// RFC 6229 gives pieces of the key stream at offsets up to 4096.
TEST_P(CpuCipher, Rfc6229Arc4) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  auto t = alloc("ecb(arc4)");
  if (!t) GTEST_SKIP() << "ecb(arc4) is not offered on this machine";
  size_t n = 0;
  for (const auto& file : list_vectors("ciphers/ARC4", {".txt"}))
    for (const auto& v : load_vectors(file)) {
      if (!v.has("OFFSET")) continue;
      ASSERT_EQ(t->set_key(v.bytes("KEY")), Status::Ok);
      Bytes data(v.number("OFFSET")), none;
      const Bytes plain = v.bytes("PLAINTEXT");
      data.insert(data.end(), plain.begin(), plain.end());
      for (const bool encrypt : {true, false}) {  // every request begins with the key
        Bytes d = data;
        ASSERT_EQ(crypt(*t, encrypt, d, none), Status::Ok);
        ASSERT_EQ(to_hex(d.data() + v.number("OFFSET"), plain.size()), v.text("CIPHERTEXT")) << file;
      }
      ++n;
    }
  EXPECT_GT(n, 100u);
}

// Split at a block border with the IV carried over, a stream mode is one stream.
TEST_P(CpuCipher, OfbAndCfbCarryTheirIv) {
  for (const char* name : {"ofb(aes)", "cfb(aes)", "ofb(des3_ede)", "cfb(des3_ede)"}) {
    auto t = alloc(name);
    if (!t) continue;
    ASSERT_EQ(t->set_key(Bytes(t->info().max_key_bytes, 0x42)), Status::Ok);
    const size_t block = t->info().iv_bytes;
    for (const bool encrypt : {true, false})
      for (size_t first = block; first < 5 * block; first += block) {
        Bytes whole(5 * block + 3), iv(block, 7), iv2 = iv;
        for (size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<uint8_t>(i * 3);
        Bytes a(whole.begin(), whole.begin() + static_cast<long>(first)),
            b(whole.begin() + static_cast<long>(first), whole.end());
        ASSERT_EQ(crypt(*t, encrypt, whole, iv), Status::Ok);
        ASSERT_EQ(crypt(*t, encrypt, a, iv2), Status::Ok);
        ASSERT_EQ(crypt(*t, encrypt, b, iv2), Status::Ok);
        a.insert(a.end(), b.begin(), b.end());
        ASSERT_EQ(to_hex(a), to_hex(whole)) << name << " split at " << first;
      }
  }
}
TEST_P(CpuCipher, NistEcbDes3) { run_folder(*registry_, "ecb(des3_ede)", "ciphers/3DES/ECB", false); }
TEST_P(CpuCipher, NistCbcDes3) { run_folder(*registry_, "cbc(des3_ede)", "ciphers/3DES/CBC", false); }
TEST_P(CpuCipher, NistEcbDes) { run_folder(*registry_, "ecb(des)", "ciphers/3DES/ECB", true); }
TEST_P(CpuCipher, NistCbcDes) { run_folder(*registry_, "cbc(des)", "ciphers/3DES/CBC", true); }

// T01, S14: output IV and chaining across requests.
TEST_P(CpuCipher, ReturnsOutputIvAndChains) {
  auto t = alloc("cbc(aes)");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->set_key(from_hex(kNistKey)), Status::Ok);
  Bytes data = from_hex(kNistPlain), iv = from_hex(kNistIv);
  ASSERT_EQ(crypt(*t, true, data, iv), Status::Ok);
  EXPECT_EQ(to_hex(iv), "3ff1caa1681fac09120eca307586e1a7");
  const Bytes whole = data;
  for (const size_t first : {16u, 32u, 48u}) {
    Bytes a = from_hex(kNistPlain), b(a.begin() + static_cast<long>(first), a.end());
    a.resize(first);
    Bytes v = from_hex(kNistIv);
    ASSERT_EQ(crypt(*t, true, a, v), Status::Ok);
    ASSERT_EQ(crypt(*t, true, b, v), Status::Ok);
    a.insert(a.end(), b.begin(), b.end());
    EXPECT_EQ(to_hex(a), to_hex(whole)) << first;
    Bytes c(whole.begin(), whole.begin() + static_cast<long>(first)),
        d(whole.begin() + static_cast<long>(first), whole.end());
    v = from_hex(kNistIv);
    ASSERT_EQ(crypt(*t, false, c, v), Status::Ok);
    EXPECT_EQ(to_hex(v), to_hex(whole.data() + first - 16, 16));
    ASSERT_EQ(crypt(*t, false, d, v), Status::Ok);
    c.insert(c.end(), d.begin(), d.end());
    EXPECT_EQ(to_hex(c), kNistPlain) << first;
  }
  for (const char* name : {"cbc(des)", "cbc(des3_ede)"}) {
    auto d = alloc(name);
    if (!d) continue;
    ASSERT_EQ(d->set_key(from_hex("0123456789abcdef23456789abcdef01456789abcdef0123").size() == 24 &&
                                 d->info().max_key_bytes == 24
                             ? from_hex("0123456789abcdef23456789abcdef01456789abcdef0123")
                             : from_hex("0123456789abcdef")),
              Status::Ok);
    Bytes one = from_hex(kNistPlain), v = from_hex("0011223344556677"), two = one;
    ASSERT_EQ(crypt(*d, true, one, v), Status::Ok);
    EXPECT_EQ(to_hex(v), to_hex(one.data() + 56, 8)) << name;
    v = from_hex("0011223344556677");
    Bytes head(two.begin(), two.begin() + 24), tail(two.begin() + 24, two.end());
    ASSERT_EQ(crypt(*d, true, head, v), Status::Ok);
    ASSERT_EQ(crypt(*d, true, tail, v), Status::Ok);
    head.insert(head.end(), tail.begin(), tail.end());
    EXPECT_EQ(to_hex(head), to_hex(one)) << name;
    v = from_hex("0011223344556677");
    ASSERT_EQ(crypt(*d, false, one, v), Status::Ok);
    EXPECT_EQ(to_hex(one), kNistPlain) << name;
    EXPECT_EQ(to_hex(v), to_hex(head.data() + 56, 8)) << name;
  }
}

// S15: a request of length zero changes nothing.
TEST_P(CpuCipher, ZeroLengthTouchesNothing) {
  for (const char* name : {"ecb(aes)", "cbc(aes)", "ctr(aes)", "cbc(des)", "cbc(des3_ede)"}) {
    auto t = alloc(name);
    if (!t) continue;
    ASSERT_EQ(t->set_key(Bytes(t->info().max_key_bytes, 0x42)), Status::Ok);
    for (const bool enc : {true, false}) {
      Bytes data(32, 0x77), iv = from_hex(kNistIv);
      Segment s{data.data(), data.size()};
      ScatterList l(&s, 1);
      SkcipherRequest r;
      r.src = r.dst = &l;
      r.iv = iv.data();
      EXPECT_EQ(run(*t, enc, r), Status::Ok) << name;
      EXPECT_EQ(to_hex(iv), kNistIv) << name;
      EXPECT_EQ(data, Bytes(32, 0x77)) << name;
      r.src = r.dst = nullptr;
      EXPECT_EQ(run(*t, enc, r), Status::Ok) << name;
    }
  }
}

// 128-bit counter; the vectors of the engine's 32-bit counter fault.
TEST_P(CpuCipher, CtrWrapsAt128Bits) {
  auto t = alloc("ctr(aes)");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->set_key(from_hex(kNistKey)), Status::Ok);
  Bytes data(32), iv(16, 0xff);
  ASSERT_EQ(crypt(*t, true, data, iv), Status::Ok);
  EXPECT_EQ(to_hex(data), "8af2860142f786f409307c1a3f7eaaac7df76b0c1ab899b33e42f047b91b546f");
  EXPECT_EQ(to_hex(iv), "00000000000000000000000000000001");
  data.assign(32, 0);
  iv = from_hex("000000000000000000000000ffffffff");
  ASSERT_EQ(crypt(*t, true, data, iv), Status::Ok);
  EXPECT_EQ(to_hex(data), "33c14e7e92d8ebe55ee2d8d98a1e65326791ab9e2faeedef478d0e7c254011ae");
  EXPECT_EQ(to_hex(iv), "00000000000000000000000100000001");
}

TEST_P(CpuCipher, CtrPartialBlocks) {
  auto t = alloc("ctr(aes)");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->set_key(from_hex(kNistKey)), Status::Ok);
  // SP 800-38A F.5.1
  const Bytes plain = from_hex(kNistPlain);
  const Bytes cipher = from_hex(
      "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
      "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee");
  const Bytes iv = from_hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
  for (size_t n = 1; n <= plain.size(); ++n) {
    Bytes iv_out = iv;
    host::add_be128(iv_out.data(), (n + 15) / 16);
    for (const auto& l : layouts()) {
      check_layout(*t, true, Bytes(plain.begin(), plain.begin() + static_cast<long>(n)),
                   Bytes(cipher.begin(), cipher.begin() + static_cast<long>(n)), iv, iv_out, l,
                   "ctr " + std::to_string(n));
      check_layout(*t, false, Bytes(cipher.begin(), cipher.begin() + static_cast<long>(n)),
                   Bytes(plain.begin(), plain.begin() + static_cast<long>(n)), iv, iv_out, l,
                   "ctr " + std::to_string(n));
    }
    if (HasFailure()) return;
  }
}

// S09: carries out of the low 32 and 64 bits anywhere inside a vectorised group. The expected key stream is
// made block by block with ecb(aes).
TEST_P(CpuCipher, CtrCarriesInsideGroups) {
  auto ctr = alloc("ctr(aes)");
  auto reference = backend("openssl");
  auto ecb = reference->alloc_skcipher("ecb(aes)");
  ASSERT_TRUE(ctr && ecb);
  for (const size_t key_bytes : {16u, 24u, 32u}) {
    Bytes key(key_bytes);
    for (size_t i = 0; i < key_bytes; ++i) key[i] = static_cast<uint8_t>(i * 29 + 3);
    ASSERT_EQ(ctr->set_key(key), Status::Ok);
    ASSERT_EQ(ecb->set_key(key), Status::Ok);
    for (const unsigned bits : {32u, 64u})
      for (unsigned j = 1; j <= 17; ++j) {
        Bytes iv(16, 0x5c);
        for (size_t i = 16 - bits / 8; i < 16; ++i) iv[i] = 0xff;
        iv[15] = static_cast<uint8_t>(0x100 - j);
        Bytes stream(33 * 16), counter = iv, none;
        for (size_t b = 0; b < 33; ++b) {
          std::copy(counter.begin(), counter.end(), stream.begin() + static_cast<long>(b * 16));
          host::add_be128(counter.data(), 1);
        }
        ASSERT_EQ(crypt(*ecb, true, stream, none), Status::Ok);
        for (size_t blocks = 1; blocks <= 33; ++blocks) {
          Bytes data(blocks * 16), v = iv, after = iv;
          host::add_be128(after.data(), blocks);
          ASSERT_EQ(crypt(*ctr, true, data, v), Status::Ok);
          ASSERT_EQ(to_hex(data), to_hex(stream.data(), blocks * 16))
              << key_bytes << "-byte key, 2^" << bits << " - " << j << ", " << blocks << " blocks";
          ASSERT_EQ(v, after);
        }
      }
  }
}

TEST_P(CpuCipher, KeyRules) {
  auto t = alloc("cbc(aes)");
  ASSERT_TRUE(t);
  Bytes data = from_hex(kNistPlain), iv = from_hex(kNistIv);
  EXPECT_EQ(crypt(*t, true, data, iv), Status::NoKey);
  ASSERT_EQ(t->set_key(from_hex(kNistKey)), Status::Ok);
  EXPECT_EQ(t->set_key(Bytes(15)), Status::Invalid);  // outside min..max: the old key stays
  EXPECT_EQ(t->set_key(Bytes(33)), Status::Invalid);
  ASSERT_EQ(crypt(*t, true, data, iv), Status::Ok);
  EXPECT_EQ(to_hex(iv), "3ff1caa1681fac09120eca307586e1a7");
  EXPECT_EQ(t->set_key(Bytes(17)), Status::Invalid);  // inside, refused: no key any more
  EXPECT_EQ(crypt(*t, true, data, iv), Status::NoKey);
  if (auto d = alloc("cbc(des)")) {
    EXPECT_EQ(d->set_key(Bytes(8), crypto::kForbidWeakKeys), Status::Invalid);
    EXPECT_EQ(d->set_key(from_hex("fe01fe01fe01fe01"), crypto::kForbidWeakKeys), Status::Invalid);
    Bytes v(8);
    EXPECT_EQ(crypt(*d, true, data, v), Status::NoKey);
    EXPECT_EQ(d->set_key(Bytes(8)), Status::Ok);
    EXPECT_EQ(d->set_key(Bytes(7)), Status::Invalid);
  }
  if (auto d = alloc("cbc(des3_ede)")) {
    const Bytes weak = from_hex("0123456789abcdef0123456789abcdef456789abcdef0123");
    EXPECT_NE(d->set_key(weak, crypto::kForbidWeakKeys), Status::Ok);
    EXPECT_EQ(d->set_key(weak), Status::Ok);
    EXPECT_EQ(d->set_key(Bytes(16)), Status::Invalid);
  }
}

TEST_P(CpuCipher, RefusesPartialBlocksAndShortLists) {
  auto t = alloc("cbc(aes)");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->set_key(from_hex(kNistKey)), Status::Ok);
  Bytes data(64, 1), iv(16, 2);
  Segment s[2] = {{data.data(), 20}, {data.data() + 20, 20}};
  ScatterList l(s, 2);
  SkcipherRequest r;
  r.src = r.dst = &l;
  r.iv = iv.data();
  r.size_bytes = 17;
  EXPECT_EQ(run(*t, true, r), Status::Invalid);
  r.size_bytes = 48;  // the list has 40
  EXPECT_EQ(run(*t, true, r), Status::Invalid);
  EXPECT_EQ(run(*t, false, r), Status::Invalid);
  EXPECT_EQ(data, Bytes(64, 1));
  EXPECT_EQ(iv, Bytes(16, 2));
}

// Sizes beyond every internal limit: same bytes as one block-chained reference.
TEST_P(CpuCipher, LongRequests) {
  auto reference = backend("openssl");
  for (const char* name : {"ecb(aes)", "cbc(aes)", "ctr(aes)", "cbc(des3_ede)"}) {
    auto t = alloc(name);
    if (!t) continue;
    auto ref = reference->alloc_skcipher(name);
    Bytes key(t->info().max_key_bytes);
    for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i * 7 + 1);
    ASSERT_EQ(t->set_key(key), Status::Ok);
    ASSERT_EQ(ref->set_key(key), Status::Ok);
    for (const size_t n : {38016u, 65520u, 65536u, 65552u, 1u << 20}) {
      if (n > 70000 && std::string_view(name) == "cbc(des3_ede)") continue;
      Bytes a(n), iv(16, 9);
      for (size_t i = 0; i < n; ++i) a[i] = static_cast<uint8_t>(i * 31 + (i >> 8));
      iv[12] = iv[13] = iv[14] = iv[15] = 0xff;
      Bytes b = a, iv2 = iv;
      const Bytes plain = a;
      ASSERT_EQ(crypt(*t, true, a, iv), Status::Ok) << name << n;
      ASSERT_EQ(crypt(*ref, true, b, iv2), Status::Ok);
      ASSERT_TRUE(a == b) << name << " " << n;
      ASSERT_EQ(iv, iv2) << name << " " << n;
      // Back again, in pieces of odd sizes.
      iv.assign(16, 9);
      iv[12] = iv[13] = iv[14] = iv[15] = 0xff;
      CutList cut(a.data(), a.size(), {4097, 33, 70001});
      SkcipherRequest r;
      r.src = r.dst = &cut.list;
      r.size_bytes = n;
      r.iv = iv.data();
      ASSERT_EQ(run(*t, false, r), Status::Ok) << name << n;
      ASSERT_TRUE(a == plain) << name << " " << n;
      ASSERT_EQ(iv, iv2) << name << " " << n;
    }
  }
}

TEST(CpuDifferential, OpensslAgainstIpsecmb) {
  auto a = backend("openssl"), b = backend("ipsecmb");
  const unsigned seed =
      std::getenv("SEC_TEST_SEED") ? static_cast<unsigned>(std::atoi(std::getenv("SEC_TEST_SEED"))) : 20240601;
  SCOPED_TRACE("SEC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (const auto& info : b->list()) {
    if (info.type != crypto::AlgorithmType::Skcipher) continue;
    auto x = a->alloc_skcipher(info.name), y = b->alloc_skcipher(info.driver);
    ASSERT_TRUE(x && y) << info.name;
    for (int round = 0; round < 300; ++round) {
      Bytes key(info.min_key_bytes + random() % ((info.max_key_bytes - info.min_key_bytes) / 8 + 1) * 8);
      for (auto& k : key) k = static_cast<uint8_t>(random());
      ASSERT_EQ(x->set_key(key), Status::Ok);
      ASSERT_EQ(y->set_key(key), Status::Ok);
      size_t n = random() % (round % 4 ? 300 : 8192);
      n -= n % info.block_bytes;
      Bytes p(n), iv(16);
      for (auto& k : p) k = static_cast<uint8_t>(random());
      for (auto& k : iv) k = static_cast<uint8_t>(random());
      if (random() % 4 == 0) iv[12] = iv[13] = iv[14] = 0xff;
      Bytes q = p, iv2 = iv;
      const bool enc = random() % 2;
      ASSERT_EQ(crypt(*x, enc, p, iv), Status::Ok);
      CutList cut(q.data(), n, {1 + random() % 200, 1 + random() % 60, 1 + random() % 9});
      SkcipherRequest r;
      r.src = r.dst = &cut.list;
      r.size_bytes = n;
      r.iv = iv2.data();
      ASSERT_EQ(run(*y, enc, r), Status::Ok);
      ASSERT_EQ(to_hex(p), to_hex(q)) << info.name << " round " << round << " size " << n;
      ASSERT_EQ(iv, iv2) << info.name << " round " << round;
    }
  }
}

}  // namespace
}  // namespace sec::test
