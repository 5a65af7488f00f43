// The AESU's modes against NIST, IEEE and RFC vectors, the vendor's CCM example and OpenSSL's EVP; contexts in and out,
// pieces, ICV checks, costs, errors, generations.
#include <openssl/aes.h>
#include <openssl/evp.h>

#include <cstring>

#include "hw/eu/aes_key.h"
#include "hw/regs/aesu.h"
#include "tests/support/rsp_vectors.h"
#include "tests/unit/hw_unit_support.h"

namespace sec::test {
namespace {
using namespace regs::aesu_mode;
namespace place = regs::aesu_context;
using regs::Eu;
using regs::IntegrityCheck;

std::unique_ptr<hw::ExecutionUnit> aesu(std::string_view part = "p2020") { return unit_of(part, Eu::Aesu); }
uint8_t mode(unsigned m, bool encrypt = false) { return static_cast<uint8_t>(m | (encrypt ? kEncrypt : 0u)); }

// ---- OpenSSL as the second opinion ----

struct Evp {
  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> c{EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free};
};
std::string aes_name(const Bytes& key, const char* m) { return "AES-" + std::to_string(8 * key.size()) + "-" + m; }
Bytes evp(const char* m, const Bytes& key, const Bytes& iv, const Bytes& in, bool encrypt) {
  Evp e;
  EXPECT_EQ(EVP_CipherInit_ex(e.c.get(), EVP_get_cipherbyname(aes_name(key, m).c_str()), nullptr, key.data(),
                              iv.empty() ? nullptr : iv.data(), encrypt),
            1)
      << m;
  EVP_CIPHER_CTX_set_padding(e.c.get(), 0);
  Bytes out(in.size() + 32);
  int n = 0, k = 0;
  EXPECT_EQ(EVP_CipherUpdate(e.c.get(), out.data(), &n, in.data(), static_cast<int>(in.size())), 1);
  EXPECT_EQ(EVP_CipherFinal_ex(e.c.get(), out.data() + n, &k), 1);
  out.resize(static_cast<size_t>(n + k));
  return out;
}
Bytes evp_block(const Bytes& key, const Bytes& block) { return evp("ECB", key, {}, block, true); }
struct Sealed {
  Bytes text, tag;
};
Sealed evp_gcm(const Bytes& key, const Bytes& iv, const Bytes& aad, const Bytes& in) {
  Evp e;
  Sealed s{Bytes(in.size()), Bytes(16)};
  int n = 0;
  EXPECT_EQ(
      EVP_EncryptInit_ex(e.c.get(), EVP_get_cipherbyname(aes_name(key, "GCM").c_str()), nullptr, nullptr, nullptr), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(e.c.get(), EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(iv.size()), nullptr), 1);
  EXPECT_EQ(EVP_EncryptInit_ex(e.c.get(), nullptr, nullptr, key.data(), iv.data()), 1);
  if (!aad.empty()) {
    EXPECT_EQ(EVP_EncryptUpdate(e.c.get(), nullptr, &n, aad.data(), static_cast<int>(aad.size())), 1);
  }
  if (!in.empty()) {
    EXPECT_EQ(EVP_EncryptUpdate(e.c.get(), s.text.data(), &n, in.data(), static_cast<int>(in.size())), 1);
  }
  uint8_t none[16];
  EXPECT_EQ(EVP_EncryptFinal_ex(e.c.get(), none, &n), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(e.c.get(), EVP_CTRL_AEAD_GET_TAG, 16, s.tag.data()), 1);
  return s;
}
Sealed evp_ccm(const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& in, unsigned tag_bytes) {
  Evp e;
  Sealed s{Bytes(in.size()), Bytes(tag_bytes)};
  int n = 0;
  const uint8_t none = 0;
  EXPECT_EQ(
      EVP_EncryptInit_ex(e.c.get(), EVP_get_cipherbyname(aes_name(key, "CCM").c_str()), nullptr, nullptr, nullptr), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(e.c.get(), EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(nonce.size()), nullptr), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(e.c.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag_bytes), nullptr), 1);
  EXPECT_EQ(EVP_EncryptInit_ex(e.c.get(), nullptr, nullptr, key.data(), nonce.data()), 1);
  EXPECT_EQ(EVP_EncryptUpdate(e.c.get(), nullptr, &n, nullptr, static_cast<int>(in.size())), 1);
  if (!aad.empty()) {
    EXPECT_EQ(EVP_EncryptUpdate(e.c.get(), nullptr, &n, aad.data(), static_cast<int>(aad.size())), 1);
  }
  EXPECT_EQ(EVP_EncryptUpdate(e.c.get(), in.empty() ? s.tag.data() : s.text.data(), &n, in.empty() ? &none : in.data(),
                              static_cast<int>(in.size())),
            1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(e.c.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag_bytes), s.tag.data()), 1);
  return s;
}
Bytes evp_cmac(const Bytes& key, const Bytes& m) {
  std::unique_ptr<EVP_MAC, void (*)(EVP_MAC*)> mac(EVP_MAC_fetch(nullptr, "CMAC", nullptr), EVP_MAC_free);
  std::unique_ptr<EVP_MAC_CTX, void (*)(EVP_MAC_CTX*)> c(EVP_MAC_CTX_new(mac.get()), EVP_MAC_CTX_free);
  std::string name = aes_name(key, "CBC");
  const OSSL_PARAM p[] = {OSSL_PARAM_construct_utf8_string("cipher", name.data(), 0), OSSL_PARAM_construct_end()};
  Bytes out(16);
  size_t n = 0;
  EXPECT_EQ(EVP_MAC_init(c.get(), key.data(), key.size(), p), 1);
  EXPECT_EQ(EVP_MAC_update(c.get(), m.data(), m.size()), 1);
  EXPECT_EQ(EVP_MAC_final(c.get(), out.data(), &n, 16), 1);
  return out;
}

// ---- CCM's inputs, after RFC 3610 ----

Bytes ccm_context(const Bytes& nonce, size_t text_bytes, bool aad, unsigned tag_bytes, const Bytes& icv = {}) {
  const size_t l = 15 - nonce.size();
  Bytes c(place::kCcmInBytes);
  c[0] = static_cast<uint8_t>((aad ? 0x40 : 0) | (tag_bytes - 2) / 2 << 3 | (l - 1));
  std::copy(nonce.begin(), nonce.end(), c.begin() + 1);
  for (size_t i = 0; i < std::min<size_t>(l, 8); ++i) c[15 - i] = static_cast<uint8_t>(text_bytes >> 8 * i);
  std::copy(icv.begin(), icv.end(), c.begin() + place::kCcmIcv);
  c[place::kCcmCounter] = static_cast<uint8_t>(l - 1);
  std::copy(nonce.begin(), nonce.end(), c.begin() + place::kCcmCounter + 1);
  c[place::kCcmExponent + 7] = static_cast<uint8_t>(8 * l);
  return c;
}
Bytes ccm_aad(const Bytes& aad) {
  if (aad.empty()) return {};
  Bytes h;
  if (aad.size() >= 0xff00)
    h = {0xff, 0xfe, static_cast<uint8_t>(aad.size() >> 24), static_cast<uint8_t>(aad.size() >> 16)};
  h.push_back(static_cast<uint8_t>(aad.size() >> 8));
  h.push_back(static_cast<uint8_t>(aad.size()));
  return h + aad;
}
UnitJob ccm_job(bool encrypt, const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& in,
                unsigned tag_bytes) {
  return {.mode = mode(kCcmWhole, encrypt),
          .key = key,
          .context = ccm_context(nonce, in.size(), !aad.empty(), tag_bytes),
          .header = ccm_aad(aad),
          .data = in};
}
UnitJob gcm_job(bool encrypt, const Bytes& key, const Bytes& iv, const Bytes& aad, const Bytes& in) {
  return {.mode = mode(kGcmWhole, encrypt), .key = key, .nonce = iv, .header = aad, .data = in};
}

// ---- stream modes ----

TEST(AesuModes, NistOfbAndCfb) {
  const auto u = aesu();
  for (const auto& [folder, m] : {std::pair{"ciphers/AES/OFB", kOfb}, std::pair{"ciphers/AES/CFB", kCfb128},
                                  std::pair{"ciphers/AES/CBC", kCbc}}) {
    size_t seen = 0;
    for (const std::string& file : list_vectors(folder)) {
      if (m == kCfb128 && file.find("/CFB128") == std::string::npos) continue;
      for (const Vector& v : load_vectors(file)) {
        if (!v.has("KEY")) continue;
        const bool encrypt = v.encrypt();
        const UnitResult r = run_unit(*u, {.mode = mode(m, encrypt),
                                           .key = v.bytes("KEY"),
                                           .context = v.bytes("IV"),
                                           .data = v.bytes(encrypt ? "PLAINTEXT" : "CIPHERTEXT")});
        ASSERT_EQ(to_hex(r.out), v.text(encrypt ? "CIPHERTEXT" : "PLAINTEXT")) << file;
        ++seen;
      }
    }
    if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
    EXPECT_GT(seen, 500u) << folder;
  }
}

TEST(AesuModes, OfbAndCfbChain) {
  const auto u = aesu();
  std::mt19937 r(3);
  for (int round = 0; round < 300; ++round) {
    const bool ofb = round & 1, encrypt = round & 2;
    const Bytes key = random_bytes(r, 16 + 8 * (r() % 3)), iv = random_bytes(r, 16);
    const size_t first = 16 * (1 + r() % 8), second = 16 * (r() % 8) + (ofb ? 0 : r() % 16);
    const Bytes in = random_bytes(r, first + second);
    const uint8_t m = mode(ofb ? kOfb : kCfb128, encrypt);
    const UnitResult a = run_unit(
        *u, {.mode = m, .key = key, .context = iv, .data = first_of(in, first), .split = static_cast<uint32_t>(round)});
    ASSERT_EQ(a.context.size(), 16u);
    const UnitResult b = run_unit(*u, {.mode = m, .key = key, .context = a.context, .data = last_of(in, second)});
    EXPECT_EQ(a.out + b.out, evp(ofb ? "OFB" : "CFB", key, iv, in, encrypt)) << round;
  }
}

TEST(AesuModes, SrtpIsCounterModeOfAnyLength) {
  const auto u = aesu();
  // RFC 3711, B.2: key stream.
  const Bytes key = from_hex("2b7e151628aed2a6abf7158809cf4f3c"), iv = from_hex("f0f1f2f3f4f5f6f7f8f9fafbfcfd0000");
  EXPECT_EQ(to_hex(run_unit(*u, {.mode = mode(kSrtp, true), .key = key, .context = iv, .data = Bytes(48)}).out),
            "e03ead0935c95e80e166b16dd92b4eb4d23513162b02d0f72a43a2fe4a5f97ab41e95b3bb0a2e8dd477901e4fca894c0");
  for (size_t n = 1; n < 100; ++n) {
    const Bytes in = filler(n, 1);
    const UnitResult r =
        run_unit(*u, {.mode = mode(kSrtp), .key = key, .context = iv, .data = in, .split = static_cast<uint32_t>(n)});
    EXPECT_EQ(r.out, evp("CTR", key, iv, in, true)) << n;
    EXPECT_EQ(load_be16(r.context.data() + 14), (n + 15) / 16) << "a partial block counts";
  }
}

TEST(AesuModes, CounterModulus) {
  const auto u = aesu();
  const Bytes key = filler(16, 1);
  for (const unsigned e : {1u, 4u, 8u, 16u, 32u, 63u, 64u, 65u, 100u, 127u, 128u, 0u, 200u}) {
    Bytes context = Bytes(16, 0xff) + Bytes(8), in = filler(16 * 40, e);
    context[3] = 0x7a;  // bits above 100 are not all ones
    context[15] = 0xfd;
    context[23] = static_cast<uint8_t>(e);
    const UnitResult r = run_unit(*u, {.mode = mode(kCtr), .key = key, .context = context, .data = in, .split = e});
    // Block by block, the counter a number of bits.
    const unsigned bits = e == 0 || e > 128 ? 128 : e;
    Bytes counter = first_of(context, 16), want;
    for (size_t at = 0; at < in.size(); at += 16) {
      Bytes block = evp_block(key, counter);
      for (size_t i = 0; i < 16; ++i) block[i] ^= in[at + i];
      want = want + block;
      for (unsigned b = 0; b < bits; ++b) {
        counter[15 - b / 8] ^= static_cast<uint8_t>(1u << b % 8);
        if (counter[15 - b / 8] >> b % 8 & 1) break;
      }
    }
    EXPECT_EQ(r.out, want) << e;
    EXPECT_EQ(first_of(r.context, 16), counter) << e;
    EXPECT_EQ(last_of(r.context, 8), last_of(context, 8)) << "the exponent goes out again";
  }
}

TEST(AesuModes, ResidualBlock) {
  const auto u = aesu();
  for (const size_t n : {1u, 15u, 16u, 17u, 31u, 32u, 33u, 100u}) {
    const Bytes key = filler(24, 1), iv = filler(16, 2), in = filler(n, 3);
    const size_t whole = n / 16 * 16;
    Bytes want = whole ? evp("CBC", key, iv, first_of(in, whole), true) : Bytes{};
    const Bytes chain = whole ? last_of(want, 16) : iv, mask = evp_block(key, chain);
    for (size_t i = whole; i < n; ++i) want.push_back(in[i] ^ mask[i - whole]);
    const UnitResult e = run_unit(*u, {.mode = mode(kCbcRbp, true), .key = key, .context = iv, .data = in});
    EXPECT_EQ(e.out, want) << n;
    EXPECT_EQ(e.context, chain);
    const UnitResult d = run_unit(*u, {.mode = mode(kCbcRbp), .key = key, .context = iv, .data = want});
    EXPECT_EQ(d.out, in) << n;
    EXPECT_EQ(d.context, chain);
  }
}

// ---- LRW ----

TEST(AesuModes, IeeeLrw) {
  // IEEE P1619 draft, LRW-32-AES-1 to 7.
  const char* const vectors[][4] = {
      {"4562ac25f828176d4c268414b5680185", "258e2a05e73e9d03ee5a830ccc094c87", "00000000000000000000000000000001",
       "f1b273cd65a3df5fe95d489254634eb8"},
      {"59704714f557478cd779e80f54887944", "0d48f0b7b15a53ea1caa6b29c2cafbaf", "00000000000000000000000000000002",
       "00c82bae95bbcde5274f0769b260e136"},
      {"d82a9134b26a565030fe69e2377f9847", "cdf90b160c648fb6b00d0d1bae85871f", "00000000000000000000000200000000",
       "76322183ed8ff182f9596203690e5e01"},
      {"0f6aeff8d3d2bb152583f73c1f012874cac6bc354d4a6554", "90ae61cf7baebdccade494c54a29ae70",
       "00000000000000000000000000000001", "9c0f152f55a2d8f0d67b8f9e2822bc41"},
      {"8ad4ee102fbd81fff886ceac93c5adc6a01907c09df7bbdd", "5213b2b7f0ff11d8d608d0cd2eb1176f",
       "00000000000000000000000200000000", "d4276a7f14913d65c860480287e33406"},
      {"f8d476ffd646ee6c2384cb1c77d6195dfef1a9f37bbc8d21a79c21f8cb900289", "a845348ec8c5b5f126f50e76fefd1b1e",
       "00000000000000000000000000000001", "bd06b8e1db98899ec498e491cf1c702b"},
      {"fb7615b23d80891dd470980bc79584c8b2fb64ce6097878d17fce45a49e830b7", "6e7817e72d5e12d46064047af12f9e0c",
       "00000000000000000000000200000000", "5b908ec1abdd675f3d698a9553c89ce5"},
  };
  const auto u = aesu();
  const Bytes text = from_hex("30313233343536373839414243444546");
  for (const auto& v : vectors) {
    const UnitJob j{
        .mode = mode(kLrw, true), .key = from_hex(v[0]), .context = from_hex(v[2]) + from_hex(v[1]), .data = text};
    EXPECT_EQ(to_hex(run_unit(*u, j).out), v[3]);
    UnitJob back = j;
    back.mode = mode(kLrw);
    back.data = from_hex(v[3]);
    EXPECT_EQ(run_unit(*u, back).out, text);
  }
}

TEST(AesuModes, LrwGoesOnFromBlockToBlock) {
  const auto u = aesu();
  for (const char* start : {"00000000000000000000000000000000", "000000000000000000000000000000fe",
                            "0000000000000000ffffffffffffffff", "fffffffffffffffffffffffffffffffd"}) {
    const Bytes key = filler(16, 1), tweak_key = filler(16, 2), in = filler(16 * 9, 3);
    const UnitResult all = run_unit(
        *u, {.mode = mode(kLrw, true), .key = key, .context = from_hex(start) + tweak_key, .data = in, .split = 5});
    Bytes context = from_hex(start) + tweak_key, out;
    for (size_t at = 0; at < in.size(); at += 16) {  // block by block: each starts with a multiplication of its own
      const UnitResult one =
          run_unit(*u, {.mode = mode(kLrw, true), .key = key, .context = context, .data = part_of(in, at, 16)});
      out = out + one.out;
      ASSERT_EQ(one.context.size(), 32u);
      context = one.context;
    }
    EXPECT_EQ(all.out, out) << start;
    EXPECT_EQ(all.context, context) << start;
  }
  const Bytes in = filler(64, 1), key = filler(16, 2);
  EXPECT_EQ(run_unit(*u, {.mode = mode(kLrwNoTweak, true), .key = key, .context = filler(32, 3), .data = in}).out,
            evp("ECB", key, {}, in, true));
}

// ---- RDK ----

TEST(AesuModes, LastRoundKey) {
  std::mt19937 r(9);
  for (int round = 0; round < 300; ++round) {
    const size_t n = 16 + 8 * (static_cast<size_t>(round) % 3);
    const Bytes key = random_bytes(r, n);
    uint8_t last[32], back[32];
    hw::aes_last_round_key(key.data(), static_cast<uint32_t>(n), last);
    hw::aes_original_key(last, static_cast<uint32_t>(n), back);
    EXPECT_EQ(Bytes(back, back + n), key);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    AES_KEY schedule;
    ASSERT_EQ(AES_set_encrypt_key(key.data(), static_cast<int>(8 * n), &schedule), 0);
#pragma GCC diagnostic pop
    Bytes words;
    for (int i = 0; i < 4 * (schedule.rounds + 1); ++i) {
      Bytes w(4);
      store_be32(w.data(), schedule.rd_key[i]);
      if (std::memcmp(schedule.rd_key, key.data(), 16) == 0)
        std::memcpy(w.data(), &schedule.rd_key[i], 4);  // OpenSSL's assembler keeps bytes
      words = words + w;
    }
    EXPECT_EQ(Bytes(last, last + n), last_of(words, n));
  }
  const Bytes fips = from_hex("2b7e151628aed2a6abf7158809cf4f3c");  // FIPS 197, A.1
  uint8_t last[16];
  hw::aes_last_round_key(fips.data(), 16, last);
  EXPECT_EQ(to_hex(last, 16), "d014f9a8c9ee2589e13f0cc8b6630ca6");
}

TEST(AesuModes, RdkDecryptsWithoutExpansion) {
  const auto u = aesu();
  for (const size_t key_bytes : {16u, 24u, 32u})
    for (const uint8_t m : {kEcb, kCbc, kLrw}) {
      const Bytes key = filler(key_bytes, 1), context = filler(m == kLrw ? 32 : 16, 2), in = filler(64, 3);
      Bytes last(key_bytes);
      hw::aes_last_round_key(key.data(), static_cast<uint32_t>(key_bytes), last.data());
      const UnitResult plain = run_unit(*u, {.mode = m, .key = key, .context = context, .data = in});
      const UnitResult rdk =
          run_unit(*u, {.mode = static_cast<uint8_t>(m | kRdk), .key = last, .context = context, .data = in});
      EXPECT_EQ(rdk.out, plain.out);
      EXPECT_EQ(plain.startup_clocks, 6 + key_bytes / 4);
      EXPECT_EQ(rdk.startup_clocks, 0u);
      const UnitResult forward =
          run_unit(*u, {.mode = static_cast<uint8_t>(m | kRdk | kEncrypt), .key = key, .context = context, .data = in});
      EXPECT_EQ(forward.out, run_unit(*u, {.mode = mode(m, true), .key = key, .context = context, .data = in}).out)
          << "nothing to restore for encryption";
    }
}

// ---- MACs ----

TEST(AesuModes, NistCmac) {
  const auto u = aesu();
  for (const char* bits : {"128", "192", "256"}) {
    const auto vectors = load_vectors(std::string("CMAC/nist-800-38b-aes") + bits + ".txt");
    if (vectors.empty()) GTEST_SKIP() << kNoVectors;
    size_t seen = 0;
    for (const Vector& v : vectors) {
      if (!v.has("KEY")) continue;
      const UnitResult r = run_unit(*u, {.mode = kCmac, .key = v.bytes("KEY"), .data = v.bytes("MESSAGE")});
      EXPECT_EQ(to_hex(r.icv), v.text("OUTPUT"));
      EXPECT_TRUE(r.out.empty()) << "a MAC has no output";
      ++seen;
    }
    EXPECT_GE(seen, 4u);
  }
}

TEST(AesuModes, RfcXcbc) {
  const auto u = aesu();
  const Bytes key = from_hex("000102030405060708090a0b0c0d0e0f");
  Bytes count(34);
  for (size_t i = 0; i < 34; ++i) count[i] = static_cast<uint8_t>(i);
  const std::pair<Bytes, const char*> vectors[] = {
      // RFC 3566, 4
      {{}, "75f0251d528ac01c4573dfd584d79f29"},
      {first_of(count, 3), "5b376580ae2f19afe7219ceef172756f"},
      {first_of(count, 16), "d2a246fa349b68a79998a4394ff7a263"},
      {first_of(count, 20), "47f51b4564966215b8985c63055ed308"},
      {first_of(count, 32), "f54f0ec8d2b9f3d36807734bd5283fd4"},
      {count, "becbb3bccdb518a30677d5481fb6b4d8"},
      {Bytes(1000), "f0dafee895db30253761103b5d84528f"},
  };
  for (const auto& [m, mac] : vectors)
    for (const uint32_t split : {0u, 7u})
      EXPECT_EQ(to_hex(run_unit(*u, {.mode = kXcbcMac, .key = key, .data = m, .split = split}).icv), mac);
}

TEST(AesuModes, CmacEqualsOpenssl) {
  const auto u = aesu();
  std::mt19937 r(11);
  for (int round = 0; round < 500; ++round) {
    const Bytes key = random_bytes(r, 16 + 8 * (r() % 3)), m = random_bytes(r, static_cast<size_t>(round));
    const UnitResult x = run_unit(*u, {.mode = kCmac, .key = key, .data = m, .split = static_cast<uint32_t>(round)});
    ASSERT_EQ(x.icv, evp_cmac(key, m)) << round;
    ASSERT_EQ(x.context, x.icv);
  }
}

TEST(AesuModes, MacGoesOnFromAChainingValue) {
  // Whole blocks through CBC encryption leave the chaining value behind; the MAC takes it from there.
  const auto u = aesu();
  const Bytes key = filler(16, 1), m = filler(100, 2);
  const Bytes chain = run_unit(*u, {.mode = mode(kCbc, true), .key = key, .data = first_of(m, 48)}).context;
  EXPECT_EQ(run_unit(*u, {.mode = kCmac, .key = key, .context = chain, .data = last_of(m, 52)}).icv, evp_cmac(key, m));
}

TEST(AesuModes, MacsAreChecked) {
  const auto u = aesu();
  for (const uint8_t m : {kCmac, kXcbcMac}) {
    UnitJob j{.mode = m, .key = filler(16, 1), .data = filler(50, 2)};
    const Bytes mac = run_unit(*u, j).icv;
    j.mode |= kFinalMac;
    for (const unsigned size : {8u, 12u, 16u}) {
      j.received = first_of(mac, size);
      UnitResult r = run_unit(*u, j);
      EXPECT_EQ(r.verdict, IntegrityCheck::Pass);
      EXPECT_EQ(r.error, 0u);
      for (unsigned i = 0; i < size; ++i) {
        UnitJob bad = j;
        (*bad.received)[i] ^= 1;
        r = run_unit(*u, bad);
        EXPECT_EQ(r.verdict, IntegrityCheck::Fail);
        EXPECT_EQ(r.error, ee::kIce);
      }
    }
  }
}

TEST(AesuModes, ShortCmacCheckFailsOnSec31) {
  for (const auto& [part, fails] : {std::pair{"p2020", true}, std::pair{"mpc8572", false}})
    for (const unsigned size : {4u, 7u, 8u}) {
      const auto u = aesu(part);
      UnitJob j{.mode = kCmac, .key = filler(16, 1), .data = filler(50, 2)};
      const Bytes mac = run_unit(*u, j).icv;
      j.mode = kCmacCheck;
      j.received = first_of(mac, size);
      const bool right = !fails || size >= 8;
      UnitResult r = run_unit(*u, j);
      EXPECT_EQ(r.verdict, right ? IntegrityCheck::Pass : IntegrityCheck::Fail) << part << size;
      EXPECT_EQ(r.error, right ? 0 : ee::kIce);
      j.received = mac;
      j.icv_bytes = size;
      EXPECT_EQ(run_unit(*u, j).verdict, right ? IntegrityCheck::Pass : IntegrityCheck::Fail)
          << "by the ICV size register";
    }
}

// ---- CCM ----

TEST(AesuModes, VendorsCcmExample) {
  // Packet vector 1 of RFC 3610 as the vendor's SEC 2 test has it: context, key and frame, and what must come out.
  const auto u = aesu("mpc8548");
  const Bytes key = from_hex("c0c1c2c3c4c5c6c7c8c9cacbcccdcecf");
  const Bytes context = from_hex(
      "5900000003020100a0a1a2a3a4a50017"
      "17e8d12cfdf926e00000000000000000"
      "0100000003020100a0a1a2a3a4a50000"
      "0000000000000010");
  const Bytes aad = from_hex("0008000102030405060700000000 0000"),
              cipher = from_hex("588c979a61c663d2f066d0c2c0f989806d5f6b61dac384");
  for (const uint8_t m : {kCcmWhole, kCcmWholeCheck}) {
    const UnitResult r = run_unit(*u, {.mode = m, .key = key, .context = context, .header = aad, .data = cipher});
    EXPECT_EQ(to_hex(r.out), "08090a0b0c0d0e0f101112131415161718191a1b1c1d1e");
    EXPECT_EQ(to_hex(first_of(r.context, place::kCcmOutBytes)),
              "2dc697e411ca83a800000000000000002dc697e411ca83a80000000000000000");
    EXPECT_EQ(r.verdict, m == kCcmWhole ? IntegrityCheck::None : IntegrityCheck::Pass);
  }
  UnitJob j{.mode = mode(kCcmWhole, true),
            .key = key,
            .context = context,
            .header = aad,
            .data = from_hex("08090a0b0c0d0e0f101112131415161718191a1b1c1d1e")};
  std::fill(j.context.begin() + 16, j.context.begin() + 32, uint8_t{0});
  const UnitResult e = run_unit(*u, j);
  EXPECT_EQ(e.out, cipher);
  EXPECT_EQ(to_hex(e.icv), "17e8d12cfdf926e0");
  EXPECT_EQ(to_hex(first_of(e.context, 32)), "2dc697e411ca83a8000000000000000017e8d12cfdf926e00000000000000000");
}

/// Every record of a CCM file with what was said before it: lengths in sections or by themselves, key and nonce for
/// several.
template <class F>
size_t each_ccm(const std::string& file, F&& f) {
  std::map<std::string, std::string> now;
  size_t seen = 0;
  std::string section;
  for (const Vector& v : load_vectors(file)) {
    if (v.section != section) {
      section = v.section;
      std::string s = section;
      for (auto& ch : s) ch = static_cast<char>(std::toupper(static_cast<unsigned char>(ch)));
      for (const char* name : {"ALEN", "PLEN", "NLEN", "TLEN"})
        if (const size_t at = s.find(name); at != std::string::npos) now[name] = s.substr(s.find('=', at) + 1);
    }
    now.erase("PAYLOAD");
    now.erase("RESULT");
    for (const auto& [k, t] : v.fields) now[k] = t;
    if (!v.has("CT")) continue;
    const auto number = [&](const char* name) { return static_cast<size_t>(std::stoul(now.at(name))); };
    const bool pass = now.count("RESULT") == 0 || now.at("RESULT").substr(0, 4) == "Pass";
    Bytes aad = from_hex(now.at("ADATA")), ct = from_hex(now.at("CT")),
          pt = now.count("PAYLOAD") ? from_hex(now.at("PAYLOAD")) : Bytes{};
    aad.resize(number("ALEN"));
    if (pass) pt.resize(number("PLEN"));
    f(from_hex(now.at("KEY")), from_hex(now.at("NONCE")), aad, pt, ct, static_cast<unsigned>(number("TLEN")), pass);
    ++seen;
  }
  return seen;
}

TEST(AesuModes, NistCcm) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  const auto u = aesu();
  for (const char* kind : {"VADT", "VNT", "VPT", "VTT", "DVPT"})
    for (const char* bits : {"128", "192", "256"}) {
      size_t passed = 0, failed = 0;
      const std::string file = std::string("ciphers/AES/CCM/") + kind + bits + ".rsp";
      const size_t seen = each_ccm(file, [&](const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& pt,
                                             const Bytes& ct, unsigned tag_bytes, bool pass) {
        const Bytes text = first_of(ct, ct.size() - tag_bytes), tag = last_of(ct, tag_bytes);
        if (pass) {
          const UnitResult e = run_unit(*u, ccm_job(true, key, nonce, aad, pt, tag_bytes));
          EXPECT_EQ(to_hex(e.out + e.icv), to_hex(ct)) << file;
        }
        UnitJob d = ccm_job(false, key, nonce, aad, text, tag_bytes);
        d.mode |= kCcmCheck;
        UnitJob in_context = d;
        std::copy(tag.begin(), tag.end(), in_context.context.begin() + place::kCcmIcv);
        d.received = tag;
        for (const UnitJob& j : {d, in_context}) {
          const UnitResult r = run_unit(*u, j);
          EXPECT_EQ(r.verdict, pass ? IntegrityCheck::Pass : IntegrityCheck::Fail) << file;
          if (pass) {
            EXPECT_EQ(r.out, pt);
          }
        }
        ++(pass ? passed : failed);
      });
      EXPECT_GE(seen, 40u) << file;
      if (std::string(kind) == "DVPT") {
        EXPECT_GT(failed, 100u);
      }
    }
}

TEST(AesuModes, CcmEqualsOpenssl) {
  const uint32_t seed = 77;
  std::mt19937 r(seed);
  const auto u = aesu();
  for (int round = 0; round < 2000; ++round) {
    const Bytes key = random_bytes(r, 16 + 8 * (r() % 3)), nonce = random_bytes(r, 7 + r() % 7),
                aad = random_bytes(r, r() % 3 ? r() % 60 : 0), in = random_bytes(r, r() % 4 ? r() % 300 : r() % 33);
    const auto tag = static_cast<unsigned>(4 + 2 * (r() % 7));
    const Sealed want = evp_ccm(key, nonce, aad, in, tag);
    UnitJob j = ccm_job(true, key, nonce, aad, in, tag);
    j.split = r() % 3 ? static_cast<uint32_t>(r()) : 0;
    const UnitResult e = run_unit(*u, j);
    ASSERT_EQ(e.out, want.text) << "seed " << seed << " round " << round;
    ASSERT_EQ(e.icv, want.tag) << "seed " << seed << " round " << round;
    UnitJob d = ccm_job(false, key, nonce, aad, want.text, tag);
    d.split = j.split;
    const UnitResult x = run_unit(*u, d);
    ASSERT_EQ(x.out, in);
    ASSERT_EQ(x.icv, want.tag) << "the tag as it should have been sent";
  }
}

TEST(AesuModes, CcmWithLongAad) {
  const auto u = aesu();
  const Bytes key = filler(16, 1), nonce = filler(12, 2), in = filler(20, 3);
  for (const size_t n : {0xfeffu, 0xff00u, 0x12345u}) {
    const Bytes aad = filler(n, 4);
    const Sealed want = evp_ccm(key, nonce, aad, in, 8);
    const UnitResult e = run_unit(*u, ccm_job(true, key, nonce, aad, in, 8));
    EXPECT_EQ(e.icv, want.tag);
    EXPECT_EQ(e.out, want.text);
  }
}

// ---- GCM ----

TEST(AesuModes, NistGcm) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  const auto u = aesu();
  for (const char* kind : {"gcmDecrypt", "gcmEncryptExtIV"})
    for (const char* bits : {"128", "192", "256"}) {
      size_t seen = 0, failed = 0;
      for (const Vector& v : load_vectors(std::string("ciphers/AES/GCM/") + kind + bits + ".rsp")) {
        if (!v.has("KEY")) continue;
        const bool pass = v.has("PT");
        const Bytes tag = v.bytes("TAG");
        if (pass) {
          const UnitResult e =
              run_unit(*u, gcm_job(true, v.bytes("KEY"), v.bytes("IV"), v.bytes("AAD"), v.bytes("PT")));
          ASSERT_EQ(to_hex(e.out), v.text("CT"));
          ASSERT_EQ(first_of(e.icv, tag.size()), tag);
        }
        UnitJob d = gcm_job(false, v.bytes("KEY"), v.bytes("IV"), v.bytes("AAD"), v.bytes("CT"));
        d.mode |= kGcmCheck;
        d.received = tag;
        const UnitResult r = run_unit(*u, d);
        ASSERT_EQ(r.verdict, pass ? IntegrityCheck::Pass : IntegrityCheck::Fail);
        ASSERT_EQ(r.error, pass ? 0 : ee::kIce);
        if (pass) {
          ASSERT_EQ(to_hex(r.out), v.text("PT"));
        }
        ++seen;
        failed += !pass;
      }
      EXPECT_GT(seen, 5000u) << kind << bits;
      if (kind[3] == 'D') {
        EXPECT_GT(failed, 1000u);
      }
    }
}

TEST(AesuModes, GcmEqualsOpenssl) {
  const uint32_t seed = 78;
  std::mt19937 r(seed);
  const auto u = aesu();
  for (int round = 0; round < 2000; ++round) {
    const Bytes key = random_bytes(r, 16 + 8 * (r() % 3)), iv = random_bytes(r, r() % 2 ? 12 : 1 + r() % 60),
                aad = random_bytes(r, r() % 3 ? r() % 100 : 0), in = random_bytes(r, r() % 4 ? r() % 600 : r() % 33);
    const Sealed want = evp_gcm(key, iv, aad, in);
    UnitJob j = gcm_job(true, key, iv, aad, in);
    j.split = r() % 3 ? static_cast<uint32_t>(r()) : 0;
    const UnitResult e = run_unit(*u, j);
    ASSERT_EQ(e.out, want.text) << "seed " << seed << " round " << round;
    ASSERT_EQ(e.icv, want.tag) << "seed " << seed << " round " << round;
    ASSERT_EQ(first_of(e.context, 16), want.tag);
    UnitJob d = gcm_job(false, key, iv, aad, want.text);
    d.split = j.split;
    const UnitResult x = run_unit(*u, d);
    ASSERT_EQ(x.out, in);
    ASSERT_EQ(x.icv, want.tag);
  }
}

TEST(AesuModes, GcmCounterIsOf32Bits) {
  const auto u = aesu();
  const Bytes key = filler(16, 1), in = filler(64, 2);
  Bytes context(place::kGcmBytes, 0);
  std::fill(context.begin() + place::kGcmCounter, context.begin() + place::kGcmCounter + 16, uint8_t{0xff});
  context[place::kGcmCounter + 15] = 0xfe;
  const UnitResult r = run_unit(*u, {.mode = mode(kGcm, true), .key = key, .context = context, .data = in});
  Bytes want;
  for (const uint32_t low : {0xfffffffeu, 0xffffffffu, 0u, 1u}) {
    Bytes counter(16, 0xff);
    store_be32(counter.data() + 12, low);
    want = want + evp_block(key, counter);
  }
  for (size_t i = 0; i < 64; ++i) want[i] ^= in[i];
  EXPECT_EQ(r.out, want);
  EXPECT_EQ(to_hex(part_of(r.context, place::kGcmCounter, 16)), "ffffffffffffffffffffffff00000002");
}

// ---- AEAD in pieces ----

TEST(AesuModes, AeadInPieces) {
  const auto u = aesu();
  std::mt19937 r(21);
  for (const bool gcm : {true, false})
    for (const bool encrypt : {true, false})
      for (int round = 0; round < 60; ++round) {
        const Bytes key = random_bytes(r, 16 + 8 * (r() % 3)), nonce = random_bytes(r, gcm && r() % 2 ? 20 : 12),
                    aad = random_bytes(r, r() % 40);
        const size_t f = 16 * (r() % 5), mid = 16 * (r() % 5), last = r() % 40;
        const Bytes plain = random_bytes(r, f + mid + last);
        const Sealed s = gcm ? evp_gcm(key, nonce, aad, plain) : evp_ccm(key, nonce, aad, plain, 16);
        const Bytes& in = encrypt ? plain : s.text;
        const uint8_t m = mode(gcm ? kGcm : kCcm, encrypt);
        UnitJob j{.mode = static_cast<uint8_t>(m | kInitMac), .key = key, .data = first_of(in, f)};
        j.header = gcm ? aad : ccm_aad(aad);
        if (gcm)
          j.nonce = nonce;
        else
          j.context = ccm_context(nonce, plain.size(), !aad.empty(), 16);
        UnitResult a = run_unit(*u, j);
        ASSERT_EQ(a.begin_error | a.error, 0u);
        ASSERT_EQ(a.icv.size(), 0u) << "open";
        const UnitResult b = run_unit(*u, {.mode = m, .key = key, .context = a.context, .data = part_of(in, f, mid)});
        UnitJob end{.mode = static_cast<uint8_t>(m | kFinalMac |
                                                 (encrypt ? 0
                                                  : gcm   ? kGcmCheck
                                                          : kCcmCheck)),
                    .key = key,
                    .context = b.context,
                    .data = last_of(in, last)};
        if (!encrypt) end.received = s.tag;
        const UnitResult c = run_unit(*u, end);
        ASSERT_EQ(a.out + b.out + c.out, encrypt ? s.text : plain) << gcm << encrypt << round;
        ASSERT_EQ(c.icv, s.tag) << gcm << encrypt << round;
        if (!encrypt) {
          ASSERT_EQ(c.verdict, IntegrityCheck::Pass);
        }
      }
}

// ---- XOR ----

TEST(AesuModes, XorOfSources) {
  const auto u = aesu();
  for (const size_t sources : {1u, 2u, 3u, 6u})
    for (const size_t n : {1u, 32u, 100u}) {
      UnitJob j{.mode = kXor, .data = filler(n, 50), .split = static_cast<uint32_t>(n)};
      Bytes want = j.data;
      for (size_t s = 1; s < sources; ++s) {
        const Bytes more = filler(n, static_cast<uint32_t>(s));
        j.header = j.header + more;
        for (size_t i = 0; i < n; ++i) want[i] ^= more[i];
      }
      const UnitResult r = run_unit(*u, j);
      EXPECT_EQ(r.out, want) << sources << " " << n;
      EXPECT_EQ(r.block_clocks, 1u) << "of each source";
    }
  EXPECT_EQ(run_unit(*u, {.mode = kXor, .header = Bytes(33), .data = Bytes(32)}).begin_error, ee::kDse);
}

// ---- costs ----

TEST(AesuModes, Costs) {
  const auto u = aesu();
  struct Cost {
    UnitJob job;
    unsigned start, block, end;
  };
  const Bytes k16 = filler(16, 1), k32 = filler(32, 1), n12 = filler(12, 1), n16 = filler(16, 1), t = Bytes(32);
  const Cost costs[] = {
      {{.mode = mode(kEcb, true), .key = k16, .data = t}, 0, 11, 0},
      {{.mode = mode(kCbc), .key = k32, .data = t}, 14, 15, 0},
      {{.mode = mode(kOfb), .key = k16, .data = t}, 0, 11, 0},
      {{.mode = mode(kCfb128), .key = k16, .data = t}, 0, 11, 0},
      {{.mode = mode(kCtr), .key = k32, .data = t}, 0, 15, 0},
      {{.mode = kCmac, .key = k16, .data = t}, 11, 11, 0},
      {{.mode = kCmac, .key = k16}, 11, 11, 11},
      {{.mode = kXcbcMac, .key = k16, .data = t}, 33, 11, 0},
      {ccm_job(true, k16, n12, {}, t, 8), 22, 22, 0},
      {ccm_job(true, k16, n12, Bytes(20), t, 8), 44, 22, 0},
      {gcm_job(true, k16, n12, {}, t), 22, 11, 11},
      {gcm_job(true, k16, n16, Bytes(20), t), 22 + 22 + 22, 11, 11},
  };
  for (const Cost& c : costs) {
    const UnitResult r = run_unit(*u, c.job);
    EXPECT_EQ(r.startup_clocks, c.start) << int{c.job.mode};
    EXPECT_EQ(r.block_clocks, c.block) << int{c.job.mode};
    EXPECT_EQ(r.finish_clocks, c.end) << int{c.job.mode};
    EXPECT_EQ(r.block_bytes, 16u);
  }
}

// ---- errors ----

struct Bad {
  const char* name;
  unsigned mode;
  unsigned key_bytes, nonce_bytes, data_bytes;
  uint64_t bit;
};
std::ostream& operator<<(std::ostream& o, const Bad& b) { return o << b.name; }
class AesuError : public testing::TestWithParam<Bad> {};
const Bad kBad[] = {
    {"Reserved42", 0x42, 16, 0, 16, ee::kMe},
    {"ReservedC4", 0xc4, 16, 0, 16, ee::kMe},
    {"EcbWithIm", kEcb | kInitMac, 16, 0, 16, ee::kMe},
    {"EcbWithFm", kEcb | kFinalMac, 16, 0, 16, ee::kMe},
    {"CbcWithIm", kCbc | kInitMac, 16, 0, 16, ee::kMe},
    {"CtrWithFm", kCtr | kFinalMac, 16, 0, 16, ee::kMe},
    {"CmacWithIm", kCmac | kInitMac, 16, 0, 16, ee::kMe},
    {"XorWithRdk", kXor | kRdk, 0, 0, 16, ee::kMe},
    {"KeyOf20", kOfb, 20, 0, 16, ee::kKse},
    {"NoKey", kCfb128, 0, 0, 16, ee::kKse},
    {"KeyOf40", kCcmWhole, 40, 0, 16, ee::kKse},
    {"XcbcKeyOf24", kXcbcMac, 24, 0, 16, ee::kKse},
    {"OddEcb", kEcb, 16, 0, 17, ee::kDse},
    {"OddCbc", kCbc, 16, 0, 15, ee::kDse},
    {"OddCtr", kCtr, 16, 0, 24, ee::kDse},
    {"OddOfb", kOfb, 16, 0, 24, ee::kDse},
    {"OddLrw", kLrw, 16, 0, 24, ee::kDse},
    {"OddOpenCcm", kCcm | kInitMac, 16, 0, 24, ee::kDse},
    {"OddOpenGcm", kGcm | kInitMac, 16, 12, 24, ee::kDse},
    {"GcmWithoutNonce", kGcmWhole, 16, 0, 16, ee::kDse},
};
INSTANTIATE_TEST_SUITE_P(Each, AesuError, testing::ValuesIn(kBad), testing::PrintToStringParamName());

TEST_P(AesuError, StopsBeforeDataMoves) {
  const Bad& b = GetParam();
  const auto u = aesu();
  const UnitJob j{.mode = static_cast<uint8_t>(b.mode),
                  .key = filler(b.key_bytes, 1),
                  .context = filler(56, 2),
                  .nonce = filler(b.nonce_bytes, 3),
                  .data = filler(b.data_bytes, 4)};
  EXPECT_EQ(run_unit(*u, j).begin_error, b.bit);
  EXPECT_EQ(u->interrupt_status(), b.bit);
  u->reset_for_channel();
  EXPECT_EQ(u->interrupt_status(), 0u);
  const Bytes key = filler(16, 1), in = filler(32, 2);
  EXPECT_EQ(run_unit(*u, {.mode = mode(kEcb, true), .key = key, .data = in}).out, evp("ECB", key, {}, in, true))
      << "and works again";
}

TEST(AesuModes, Generations) {
  struct Row {
    uint8_t mode;
    bool in1, in20, in21, in3;
  };
  const Row rows[] = {
      {kEcb, true, true, true, true},         {kCbc, true, true, true, true},
      {kCtr, true, true, true, true},         {kCbc | kRdk, true, true, true, true},
      {kCcmWhole, false, true, true, true},   {kCcmWholeCheck, false, true, true, true},
      {kSrtp, false, true, true, true},       {kXor, false, false, true, true},
      {kCbcRbp, false, false, false, true},   {kOfb, false, false, false, true},
      {kCfb128, false, false, false, true},   {kLrw, false, false, false, true},
      {kCmac, false, false, false, true},     {kXcbcMac, false, false, false, true},
      {kGcmWhole, false, false, false, true},
  };
  for (const Row& row : rows)
    for (const auto& [part, has] :
         {std::pair{"mpc885", row.in1}, std::pair{"mpc8272", row.in1}, std::pair{"mpc8349", row.in20},
          std::pair{"mpc8548", row.in21}, std::pair{"mpc8323", row.in21}, std::pair{"mpc8572", row.in3},
          std::pair{"mpc8315", row.in3}, std::pair{"p2020", row.in3}}) {
      const auto u = aesu(part);
      const UnitResult r = run_unit(*u, {.mode = row.mode,
                                         .key = filler(16, 1),
                                         .context = Bytes(56),
                                         .nonce = filler(12, 2),
                                         .data = filler(32, 3)});
      EXPECT_EQ(r.begin_error, has ? 0 : ee::kMe) << int{row.mode} << " " << part;
    }
}

// ---- by register access ----

TEST(AesuModes, ByRegisters) {
  const auto u = aesu();
  const auto set = [&](uint32_t reg, uint32_t v) { u->write32(reg + 4, v); };
  const auto window = [&](uint32_t at, const Bytes& b) {
    for (uint32_t i = 0; i < b.size(); i += 4) u->write32(at + i, load_be32(&b[i]));
  };
  const auto run = [&](uint8_t m, const Bytes& key, const Bytes& context, const Bytes& in) {
    set(regs::kAesuResetControl.offset_bytes, 1);
    set(regs::kAesuMode.offset_bytes, m);
    window(0x100, context);
    window(0x400, key);
    set(regs::kAesuKeySize.offset_bytes, static_cast<uint32_t>(key.size()));
    set(regs::kAesuDataSize.offset_bytes, static_cast<uint32_t>(8 * in.size()));
    Bytes padded = in, out;
    padded.resize((in.size() + 7) / 8 * 8);
    for (size_t i = 0; i < padded.size(); i += 8) {
      window(0x800, part_of(padded, i, 8));
      while (u->read32(regs::kAesuStatus.offset_bytes + 4) & static_cast<uint32_t>(regs::kEuStatus.mask("OFR"))) {
        Bytes w(8);
        store_be32(w.data(), u->read32(0x800));
        store_be32(w.data() + 4, u->read32(0x804));
        out = out + w;
      }
    }
    EXPECT_EQ(u->interrupt_status(), 0u) << int{m};
    EXPECT_TRUE(u->done_pending());
    out.resize(std::min(out.size(), in.size()));
    return out;
  };
  const auto context = [&](uint32_t at, size_t n) {
    Bytes b(n);
    for (uint32_t i = 0; i < n; i += 4) store_be32(&b[i], u->read32(0x100 + at + i));
    return b;
  };
  const Bytes key = filler(16, 1), iv = filler(16, 2), in = filler(85, 3);
  EXPECT_EQ(run(mode(kCfb128, true), key, iv, in), evp("CFB", key, iv, in, true));
  EXPECT_EQ(run(mode(kOfb), key, iv, first_of(in, 80)), evp("OFB", key, iv, first_of(in, 80), true));
  run(kCmac, key, {}, in);
  EXPECT_EQ(context(0, 16), evp_cmac(key, in));
  const Sealed s = evp_ccm(key, first_of(iv, 13), {}, in, 8);
  EXPECT_EQ(run(mode(kCcmWhole, true), key, ccm_context(first_of(iv, 13), in.size(), false, 8), in), s.text);
  EXPECT_EQ(context(16, 8), s.tag);
  run(kCcmWholeCheck, key, ccm_context(first_of(iv, 13), in.size(), false, 8, s.tag), s.text);
  EXPECT_EQ(u->verdict(), IntegrityCheck::Pass) << "the ICV in the context";
  EXPECT_EQ(run(mode(kSrtp), key, iv, in), evp("CTR", key, iv, in, true));
  run(kXcbcMac, from_hex("000102030405060708090a0b0c0d0e0f"), {}, from_hex("000102030405060708090a0b0c0d0e0f10111213"));
  EXPECT_EQ(to_hex(context(0, 16)), "47f51b4564966215b8985c63055ed308");
  const Bytes lrw = from_hex("00000000000000000000000000000001258e2a05e73e9d03ee5a830ccc094c87");
  EXPECT_EQ(to_hex(run(mode(kLrw, true), from_hex("4562ac25f828176d4c268414b5680185"), lrw,
                       from_hex("30313233343536373839414243444546"))),
            "f1b273cd65a3df5fe95d489254634eb8");
  // GCM has no register for the nonce: software writes J0 and the first counter, and leaves IM clear.
  const Bytes nonce = filler(12, 5), j0 = nonce + Bytes{0, 0, 0, 1}, counter = nonce + Bytes{0, 0, 0, 2};
  const Sealed g = evp_gcm(key, nonce, {}, in);
  EXPECT_EQ(run(mode(kGcmFinal, true), key, Bytes(16) + j0 + counter, in), g.text);
  EXPECT_EQ(context(0, 16), g.tag);
  Bytes last(16);
  hw::aes_last_round_key(key.data(), 16, last.data());
  EXPECT_EQ(run(kEcb | kRdk, last, {}, first_of(in, 80)), evp("ECB", key, {}, first_of(in, 80), false));
}

}  // namespace
}  // namespace sec::test
