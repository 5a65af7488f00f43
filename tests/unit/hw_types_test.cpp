// Descriptor types with pointer layouts of their own: CCMP, GCM, SRTP, TLS, RAID, the double CRC, RC4, key expansion, public
// keys, random numbers, MACs and f8/f9 by descriptor. Answers come from OpenSSL, published vectors, or a few lines of plain code here.
// Functional and timed, on every part that has the type.
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <map>
#include <numeric>
#include <random>

#include "hw/regs/crcu.h"
#include "hw/regs/mdeu.h"
#include "hw/regs/pkeu.h"
#include "tests/model/rig.h"
#include "tests/support/rsp_vectors.h"

namespace sec::test {
namespace {
namespace ce = regs::channel_error;
namespace ee = regs::eu_error;
namespace mm = regs::mdeu_mode;
using regs::Descriptor;
using regs::DescriptorType;
using regs::Eu;
using regs::IntegrityCheck;
using regs::LinkEntry;
using regs::PointerDword;

struct Where {
  const char* part;
  Executor executor;
};
std::ostream& operator<<(std::ostream& o, const Where& w) { return o << w.part << "_" << name_of(w.executor); }
std::string label(const testing::TestParamInfo<Where>& i) { return std::string(i.param.part) + "_" + name_of(i.param.executor); }

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Bytes part_of(const Bytes& b, size_t from, size_t n) { return Bytes(b.begin() + static_cast<long>(from), b.begin() + static_cast<long>(from + n)); }

/// AES in an AEAD mode of OpenSSL: text and tag.
std::pair<Bytes, Bytes> aead(const char* name, const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& text, size_t tag_bytes) {
  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  const bool ccm = std::string(name).find("CCM") != std::string::npos;
  EXPECT_EQ(EVP_EncryptInit_ex(c.get(), EVP_get_cipherbyname(name), nullptr, nullptr, nullptr), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(nonce.size()), nullptr), 1);
  if (ccm) {
    EXPECT_EQ(EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag_bytes), nullptr), 1);
  }
  EXPECT_EQ(EVP_EncryptInit_ex(c.get(), nullptr, nullptr, key.data(), nonce.data()), 1);
  int n = 0;
  if (ccm) {
    EXPECT_EQ(EVP_EncryptUpdate(c.get(), nullptr, &n, nullptr, static_cast<int>(text.size())), 1);
  }
  if (!aad.empty()) {
    EXPECT_EQ(EVP_EncryptUpdate(c.get(), nullptr, &n, aad.data(), static_cast<int>(aad.size())), 1);
  }
  Bytes out(text.size() + 16), tag(tag_bytes);
  static const uint8_t kNothing = 0;
  EXPECT_EQ(EVP_EncryptUpdate(c.get(), out.data(), &n, text.empty() ? &kNothing : text.data(), static_cast<int>(text.size())), 1);
  int m = 0;
  EXPECT_EQ(EVP_EncryptFinal_ex(c.get(), out.data() + n, &m), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag_bytes), tag.data()), 1);
  out.resize(text.size());
  return {out, tag};
}
Bytes mac_of(const char* name, const char* parameter, const char* value, const Bytes& key, const Bytes& in) {
  Bytes out(64);
  size_t n = 0;
  const OSSL_PARAM p[] = {OSSL_PARAM_construct_utf8_string(parameter, const_cast<char*>(value), 0), OSSL_PARAM_construct_end()};
  EXPECT_NE(EVP_Q_mac(nullptr, name, nullptr, nullptr, p, key.data(), key.size(), in.data(), in.size(), out.data(), out.size(), &n), nullptr);
  out.resize(n);
  return out;
}
Bytes hmac_sha1(const Bytes& key, const Bytes& in) { return mac_of("HMAC", "digest", "SHA1", key, in); }

/// RC4 as everybody writes it.
struct Rc4 {
  uint8_t s[256], i = 0, j = 0;
  explicit Rc4(const Bytes& key) {
    std::iota(s, s + 256, uint8_t{0});
    for (unsigned k = 0, q = 0; k < 256; ++k) {
      q = (q + s[k] + key[k % key.size()]) & 255;
      std::swap(s[k], s[q]);
    }
  }
  Bytes run(Bytes b) {
    for (auto& v : b) {
      j = static_cast<uint8_t>(j + s[++i]);
      std::swap(s[i], s[j]);
      v ^= s[static_cast<uint8_t>(s[i] + s[j])];
    }
    return b;
  }
};
Bytes crc_le(const Bytes& in, uint32_t polynomial_reversed) {
  uint32_t c = ~0u;
  for (uint8_t b : in) {
    c ^= b;
    for (int k = 0; k < 8; ++k) c = c >> 1 ^ (c & 1 ? polynomial_reversed : 0);
  }
  c = ~c;
  return {static_cast<uint8_t>(c), static_cast<uint8_t>(c >> 8), static_cast<uint8_t>(c >> 16), static_cast<uint8_t>(c >> 24)};
}

/// A descriptor by hand: memory is handed out from a slot.
struct Job7 {
  Rig& r;
  BusAddr at, next;
  Descriptor d;
  explicit Job7(Rig& rig, BusAddr where = kLow) : r(rig), at(where), next(where + 0x100) { std::fill(r.low.begin(), r.low.end(), 0xEE); }
  BusAddr room(size_t n) {
    const BusAddr a = next + 5;  // nothing is aligned, unless it must be
    next = (a + n + 32 + 7) / 8 * 8;
    return r.part.sec1() ? (a + 3) & ~BusAddr{3} : a;
  }
  BusAddr in(unsigned p, const Bytes& b, uint8_t extent = 0) {
    const BusAddr a = room(b.size());
    r.put(a, b);
    d.ptr[p] = PointerDword::to(a, static_cast<uint16_t>(b.size() - extent), extent);
    return a;
  }
  BusAddr out(unsigned p, size_t n, uint8_t extent = 0) {
    const BusAddr a = room(n + extent);
    d.ptr[p] = PointerDword::to(a, static_cast<uint16_t>(n), extent);
    return a;
  }
  void header(Eu sel0, uint8_t mode0, DescriptorType type, bool inbound = false, Eu sel1 = Eu::None, uint8_t mode1 = 0) {
    d.header = regs::make_header(sel0, mode0, sel1, mode1, type, inbound, true);
    d.feedback = 0;
  }
  void go(uint64_t error = 0) {
    d.store(r.at(at));
    r.submit(0, at);
    r.settle();
    EXPECT_EQ(r.errors(0), error);
    const bool halts = error & ~regs::channel_error::not_halting(r.part.generation);
    EXPECT_EQ(r.marked_done(at), !halts);
    if (halts) r.control(0, kContinue), r.settle();
  }
  Descriptor back() const { return Descriptor::load(r.at(at)); }
  /// Output of `n` bytes and nothing behind it.
  Bytes result(BusAddr a, size_t n) {
    EXPECT_TRUE(Rig::untouched(r.get(a + n, 5)));
    return r.get(a, n);
  }
};

class Types : public testing::TestWithParam<Where> {
 protected:
  Rig r{GetParam().part, GetParam().executor};
  void SetUp() override {
    for (unsigned n = 0; n < r.part.channels; ++n) r.configure(n, kCdwe | kCdie | kIwse);
  }
  bool has(DescriptorType t) const { return r.part.has_type(static_cast<unsigned>(t)); }
};
INSTANTIATE_TEST_SUITE_P(Each, Types,
                         testing::Values(Where{"mpc8349", Executor::Functional}, Where{"mpc8548", Executor::Functional}, Where{"mpc8548", Executor::Timed},
                                         Where{"mpc8572", Executor::Functional}, Where{"p2020", Executor::Functional}, Where{"p2020", Executor::Timed},
                                         Where{"mpc8315", Executor::Timed}),
                         label);

// ---- GCM (type 23) ----

TEST_P(Types, Gcm) {
  if (!has(DescriptorType::IpsecAesGcm)) GTEST_SKIP() << "not on this part";
  uint32_t seed = 0;
  for (const size_t key : {16, 24, 32})
    for (const size_t aad : {0, 8, 12, 20, 200})
      for (const size_t bytes : {0, 1, 16, 63, 64, 1000, 4096})
        for (const bool inbound : {false, true})
          for (const bool wrong : {false, true}) {
            if (wrong && !inbound) continue;
            seed += 7;
            SCOPED_TRACE(testing::Message() << key << " " << aad << " " << bytes << inbound << wrong);
            const Bytes k = pattern(key, seed), salt = pattern(4, seed + 1), iv = pattern(8, seed + 2), a = pattern(aad, seed + 3), t = pattern(bytes, seed + 4);
            const uint8_t tag_bytes = seed % 3 ? 16 : 12;
            const auto [c, tag] = aead(("AES-" + std::to_string(8 * key) + "-GCM").c_str(), k, salt + iv, a, t, tag_bytes);
            Job7 j(r);
            r.set_eu(Eu::Aesu, regs::kEuInterruptControl, lo(ee::kIce));
            j.header(Eu::Aesu, inbound ? 0xf2 : 0xb3, DescriptorType::IpsecAesGcm, inbound);
            if (aad) j.in(1, a);
            j.in(2, iv);
            j.in(3, k + salt, 4);
            Bytes in_tag = tag;
            if (wrong) in_tag[0] ^= 1;
            if (inbound)
              j.in(4, c + in_tag, tag_bytes);
            else
              j.in(4, t);
            const BusAddr out = j.out(5, bytes, tag_bytes);
            j.go();
            EXPECT_EQ(j.result(out, bytes + tag_bytes), (inbound ? t : c) + tag);
            EXPECT_EQ(j.back().iccr0(), !inbound ? IntegrityCheck::None : wrong ? IntegrityCheck::Fail : IntegrityCheck::Pass);
            EXPECT_EQ(j.back().iccr1(), IntegrityCheck::None);
          }
  // Unmasked, a wrong tag stops the channel.
  const auto [c, tag] = aead("AES-128-GCM", pattern(16, 1), pattern(12, 2), {}, pattern(64, 3), 16);
  r.set_eu(Eu::Aesu, regs::kEuInterruptControl, 0);
  Job7 j(r);
  j.header(Eu::Aesu, 0xf2, DescriptorType::IpsecAesGcm, true);
  j.in(2, pattern(12, 2));
  j.in(3, pattern(16, 1));
  Bytes wrong = tag;
  wrong[15] ^= 0x80;
  j.in(4, c + wrong, 16);
  j.out(5, 64);
  j.go(ce::kEu);
}

TEST_P(Types, GcmKeyAndNonceThroughATable) {
  if (!has(DescriptorType::IpsecAesGcm)) GTEST_SKIP() << "not on this part";
  const Bytes k = pattern(16, 1), salt = pattern(4, 2), iv = pattern(8, 3), t = pattern(80, 4);
  const auto [c, tag] = aead("AES-128-GCM", k, salt + iv, {}, t, 16);
  for (const bool straddle : {false, true}) {
    Job7 j(r);
    j.header(Eu::Aesu, 0xb3, DescriptorType::IpsecAesGcm);
    j.in(2, iv);
    const BusAddr a = j.in(3, k), b = j.in(0, salt), table = j.room(64) / 8 * 8;
    j.d.ptr[0] = {};
    r.put(a + 16, salt);
    if (straddle) {
      LinkEntry::data(a, 20, true).store(r.at(table));
    } else {
      LinkEntry::data(a, 7).store(r.at(table));
      LinkEntry::data(a + 7, 9).store(r.at(table + 8));
      LinkEntry::data(b, 4, true).store(r.at(table + 16));
    }
    j.d.ptr[3] = PointerDword::to(table, 16, 4, true);
    j.in(4, t);
    const BusAddr out = j.out(5, 80, 16);
    j.go(straddle ? ce::kSgml : 0);
    if (!straddle) {
      EXPECT_EQ(j.result(out, 96), c + tag);
    }
  }
}

// ---- CCM (types 3 and 2) ----

struct CcmBlocks {
  Bytes b0, a0;
};
CcmBlocks ccm_blocks(const Bytes& nonce, size_t aad, size_t text, size_t tag) {  // RFC 3610
  const size_t l = 15 - nonce.size();
  CcmBlocks b{Bytes(16), Bytes(16)};
  b.b0[0] = static_cast<uint8_t>((aad ? 0x40 : 0) | ((tag - 2) / 2) << 3 | (l - 1));
  b.a0[0] = static_cast<uint8_t>(l - 1);
  std::copy(nonce.begin(), nonce.end(), b.b0.begin() + 1);
  std::copy(nonce.begin(), nonce.end(), b.a0.begin() + 1);
  for (size_t i = 0; i < l && i < 8; ++i) b.b0[15 - i] = static_cast<uint8_t>(text >> 8 * i);
  return b;
}

TEST_P(Types, Ccmp) {
  if (!has(DescriptorType::Ccmp80211i)) GTEST_SKIP() << "not on this part";
  uint32_t seed = 0;
  for (const size_t aad : {0, 22, 28, 30})
    for (const size_t bytes : {0, 1, 16, 100, 1500})
      for (const bool inbound : {false, true})
        for (const bool wrong : {false, true}) {
          if (wrong && !inbound) continue;
          seed += 7;
          SCOPED_TRACE(testing::Message() << aad << " " << bytes << inbound << wrong);
          const Bytes k = pattern(16, seed), nonce = pattern(13, seed + 1), a = pattern(aad, seed + 2), t = pattern(bytes, seed + 3);
          const auto [c, tag] = aead("AES-128-CCM", k, nonce, a, t, 8);
          const CcmBlocks b = ccm_blocks(nonce, aad, bytes, 8);
          Job7 j(r);
          r.set_eu(Eu::Aesu, regs::kEuInterruptControl, lo(ee::kIce));
          j.header(Eu::Aesu, inbound ? 0xf0 : 0xb1, DescriptorType::Ccmp80211i, inbound);
          j.in(1, b.b0 + Bytes(16) + b.a0 + Bytes{0, 0, 0, 0, 0, 0, 0, 128});
          j.in(2, k);
          // The length of the AAD stands in front of it (RFC 3610); the unit pads behind.
          if (aad) j.in(3, Bytes{0, static_cast<uint8_t>(aad)} + a);
          Bytes mic = tag;
          if (wrong) mic[7] ^= 4;
          if (inbound)
            j.in(4, c + mic, 8);
          else
            j.in(4, t);
          const BusAddr out = j.out(5, bytes, 8), context = j.out(6, 32);
          j.go();
          EXPECT_EQ(j.result(out, bytes + 8), (inbound ? t : c) + tag);
          EXPECT_EQ(j.back().iccr0(), !inbound || !r.part.icv_writeback ? IntegrityCheck::None : wrong ? IntegrityCheck::Fail : IntegrityCheck::Pass);
          EXPECT_FALSE(Rig::untouched(r.get(context, 32)));
        }
}

// ---- SRTP (type 5) ----

TEST_P(Types, Srtp) {
  if (!has(DescriptorType::Srtp)) GTEST_SKIP() << "not on this part";
  // RFC 3711: AES in counter mode over the payload, HMAC-SHA1 over header, payload (sealed) and roll-over counter.
  const uint8_t mode1 = mm::kSha1 | mm::kInit | mm::kPad | mm::kHmac;
  for (const size_t bytes : {16, 20, 160, 1024, 1031})
    for (const size_t head : {12, 16, 72})
      for (const bool inbound : {false, true})
        for (const bool check : {false, true}) {
          if (check && !r.part.icv_writeback) continue;
          SCOPED_TRACE(testing::Message() << bytes << " " << head << inbound << check);
          const Bytes k = pattern(16, 1), hk = pattern(20, 2), iv = pattern(14, 3) + Bytes{0, 0}, h = pattern(head, 4), t = pattern(bytes, 5), roc = pattern(4, 6);
          const Bytes c = cipher("AES-128-CTR", k, iv, t, true), mac = part_of(hmac_sha1(hk, h + c + roc), 0, 10);
          Job7 j(r);
          j.header(Eu::Aesu, 0x46, DescriptorType::Srtp, inbound, Eu::MdeuA, mode1 | (check ? mm::kCheckIcv : 0));
          j.in(0, hk);
          j.in(1, iv);
          j.in(2, k);
          const BusAddr in = j.in(3, h + (inbound ? c : t));
          j.d.ptr[3] = PointerDword::to(in, static_cast<uint16_t>(bytes), static_cast<uint8_t>(head));
          BusAddr out, mac_out;
          if (check) {
            j.in(4, mac + roc, 4);
            out = j.out(5, bytes, 10);
            mac_out = out + bytes;
          } else {
            out = j.out(4, bytes, 4);
            r.put(out + bytes, roc);
            mac_out = j.out(5, 10);
          }
          const BusAddr context = j.out(6, 16);
          j.go();
          EXPECT_EQ(r.get(out, bytes), inbound ? t : c);
          EXPECT_EQ(j.result(mac_out, 10), mac);
          EXPECT_FALSE(Rig::untouched(r.get(context, 16)));
          EXPECT_EQ(j.back().iccr1(), check ? IntegrityCheck::Pass : IntegrityCheck::None);
        }
}

TEST_P(Types, SrtpHeaderThroughATable) {
  if (!has(DescriptorType::Srtp)) GTEST_SKIP() << "not on this part";
  const Bytes k = pattern(16, 1), hk = pattern(20, 2), iv = pattern(16, 3), h = pattern(12, 4), t = pattern(64, 5);
  const Bytes c = cipher("AES-128-CTR", k, iv, t, true), mac = hmac_sha1(hk, h + c);
  for (const bool straddle : {false, true}) {
    Job7 j(r);
    j.header(Eu::Aesu, 0x46, DescriptorType::Srtp, false, Eu::MdeuA, mm::kSha1 | mm::kInit | mm::kPad | mm::kHmac);
    j.in(0, hk);
    j.in(1, iv);
    j.in(2, k);
    const BusAddr a = j.in(3, h + t), table = j.room(64) / 8 * 8;
    LinkEntry::data(a, straddle ? 15 : 12).store(r.at(table));
    LinkEntry::data(a + (straddle ? 15 : 12), straddle ? 61 : 64, true).store(r.at(table + 8));
    j.d.ptr[3] = PointerDword::to(table, 64, 12, true);
    const BusAddr out = j.out(4, 64), mac_out = j.out(5, 20);
    j.go(!straddle ? 0 : r.sec3() ? ce::kSgml : ce::kGb);
    if (straddle) continue;
    EXPECT_EQ(j.result(out, 64), c);
    EXPECT_EQ(j.result(mac_out, 20), mac);
  }
}

// ---- TLS (types 17 and 19) ----

struct Tls {
  Bytes hash_key = pattern(20, 1), iv, key, header = pattern(13, 4), payload, padding;
  Bytes mac() const { return hmac_sha1(hash_key, header + payload); }
};

TEST_P(Types, TlsBlock) {
  if (!has(DescriptorType::TlsSslBlock)) GTEST_SKIP() << "not on this part";
  const uint8_t mode1 = mm::kSha1 | mm::kInit | mm::kPad | mm::kHmac;
  for (const bool des : {false, true})
    for (const size_t bytes : {0, 1, 15, 16, 43, 64, 500, 4000}) {
      SCOPED_TRACE(testing::Message() << (des ? "3DES " : "AES ") << bytes);
      const size_t block = des ? 8 : 16;
      Tls t;
      t.payload = pattern(bytes, 5);
      t.iv = pattern(block, 6), t.key = des ? odd_parity(pattern(24, 7)) : pattern(16, 7);
      const size_t pad = block - (bytes + 20) % block + (bytes % 3 == 0 ? block : 0);  // 1 to 2 blocks
      t.padding = Bytes(pad, static_cast<uint8_t>(pad - 1));
      const Bytes plain = t.payload + t.mac() + t.padding, sealed = cipher(des ? "DES-EDE3-CBC" : "AES-128-CBC", t.key, t.iv, plain, true);
      const Eu eu = des ? Eu::Deu : Eu::Aesu;
      const uint8_t mode = des ? 0x06 : 0x02;
      {
        Job7 j(r);
        j.header(eu, mode | 1, DescriptorType::TlsSslBlock, false, Eu::MdeuA, mode1);
        j.in(0, t.hash_key);
        j.in(1, t.iv);
        j.in(2, t.key);
        const BusAddr in = j.in(3, t.header + t.payload);
        j.d.ptr[3] = PointerDword::to(in, static_cast<uint16_t>(bytes), 13);
        j.in(4, t.padding);
        j.d.ptr[4].extent = 20;
        const BusAddr out = j.out(5, sealed.size()), iv_out = j.out(6, block);
        j.go();
        EXPECT_EQ(j.result(out, sealed.size()), sealed);
        EXPECT_EQ(j.result(iv_out, block), part_of(sealed, sealed.size() - block, block));
      }
      for (const bool wrong : {false, true}) {
        Job7 j(r);
        r.set_eu(Eu::MdeuA, regs::kEuInterruptControl, lo(ee::kIce));
        j.header(eu, mode, DescriptorType::TlsSslBlock, true, Eu::MdeuA, mode1 | mm::kCheckIcv);
        j.in(0, wrong ? pattern(20, 99) : t.hash_key);
        j.in(1, t.iv);
        j.in(2, t.key);
        const BusAddr head = j.in(3, t.header);
        j.d.ptr[3] = PointerDword::to(head, 0, 13);
        j.in(4, sealed, 20);
        const BusAddr out = j.out(5, bytes, 20);
        j.go();
        EXPECT_EQ(r.get(out, bytes), t.payload);
        EXPECT_EQ(j.result(out + bytes, 20) == t.mac(), !wrong) << "the MAC that was computed";
        EXPECT_EQ(j.back().iccr1(), wrong ? IntegrityCheck::Fail : IntegrityCheck::Pass);
      }
    }
}

TEST_P(Types, TlsStream) {
  if (!has(DescriptorType::TlsSslStream)) GTEST_SKIP() << "not on this part";
  const uint8_t mode1 = mm::kMd5 | mm::kInit | mm::kPad | mm::kHmac;
  if (!r.part.has(Eu::Afeu)) {
    Job7 j(r);
    j.header(Eu::Afeu, 0, DescriptorType::TlsSslStream, false, Eu::MdeuA, mode1);
    j.go(ce::kIeu);
    return;
  }
  for (const size_t bytes : {1, 8, 100, 1500}) {
    SCOPED_TRACE(bytes);
    const Bytes hk = pattern(16, 1), key = pattern(16, 2), header = pattern(13, 3), payload = pattern(bytes, 4);
    const Bytes mac = mac_of("HMAC", "digest", "MD5", hk, header + payload), sealed = Rc4(key).run(payload + mac);
    Job7 j(r);
    j.header(Eu::Afeu, 0, DescriptorType::TlsSslStream, false, Eu::MdeuA, mode1);
    j.in(0, hk);
    j.in(2, key);
    const BusAddr in = j.in(3, header + payload);
    j.d.ptr[3] = PointerDword::to(in, static_cast<uint16_t>(bytes), 13);
    j.d.ptr[4].extent = 16;
    const BusAddr out = j.out(5, sealed.size());
    j.go();
    EXPECT_EQ(j.result(out, sealed.size()), sealed);

    Job7 k(r);
    k.header(Eu::Afeu, 0, DescriptorType::TlsSslStream, true, Eu::MdeuA, mode1 | mm::kCheckIcv);
    k.in(0, hk);
    k.in(2, key);
    const BusAddr head = k.in(3, header);
    k.d.ptr[3] = PointerDword::to(head, 0, 13);
    k.in(4, sealed, 16);
    const BusAddr plain = k.out(5, bytes);
    k.go();
    EXPECT_EQ(k.result(plain, bytes), payload);
    EXPECT_EQ(k.back().iccr1(), IntegrityCheck::Pass);
  }
}

// ---- RAID (type 21) ----

TEST_P(Types, RaidXor) {
  if (!has(DescriptorType::RaidXor)) GTEST_SKIP() << "not on this part";
  for (const unsigned sources : {1u, 2u, 3u, 6u})
    for (const size_t bytes : {1, 16, 64, 100, 4096}) {
      Job7 j(r);
      j.header(Eu::Aesu, 0xc6, DescriptorType::RaidXor);
      Bytes want(bytes);
      for (unsigned s = 0; s < sources; ++s) {
        const Bytes b = pattern(bytes, 10 * s + sources);
        j.in(6 - 1 - s, b);  // A is p5, F is p0
        for (size_t i = 0; i < bytes; ++i) want[i] ^= b[i];
      }
      const BusAddr out = j.out(6, bytes);
      j.go();
      EXPECT_EQ(j.result(out, bytes), want) << sources << " " << bytes;
    }
  // Sizes that differ and link tables are told, not punished.
  Job7 j(r);
  r.clear(~uint64_t{0});
  while (r.isr()) r.clear(~uint64_t{0});
  j.header(Eu::Aesu, 0xc6, DescriptorType::RaidXor);
  const Bytes a = pattern(64, 1), b = pattern(96, 2);
  const BusAddr at = j.in(5, a), table = j.room(16) / 8 * 8;
  LinkEntry::data(at, 30).store(r.at(table));
  LinkEntry::data(at + 30, 34, true).store(r.at(table + 8));
  j.d.ptr[5] = PointerDword::to(table, 64, 0, true);
  j.in(4, b);
  const BusAddr out = j.out(6, 64);
  j.go(r.sec3() ? ce::kRsi | ce::kRsg : 0);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(*r.at(out + i), a[i] ^ b[i]);
}

TEST_P(Types, RaidReportsDoNotHalt) {
  if (!has(DescriptorType::RaidXor) || !r.sec3()) GTEST_SKIP() << "not on this part";
  Job7 j(r);
  j.header(Eu::Aesu, 0xc6, DescriptorType::RaidXor);
  j.in(5, pattern(64, 1));
  j.in(4, pattern(96, 2));
  j.out(6, 64);
  j.d.store(r.at(j.at));
  r.submit(0, j.at);
  r.settle();
  EXPECT_EQ(r.errors(0), ce::kRsi);
  EXPECT_TRUE(r.marked_done(j.at));
  EXPECT_FALSE(r.engine->channel(0).halted);
  EXPECT_EQ(r.isr(), regs::channel_error_irq(0) | regs::channel_done(0));
  Job next = Job::aes(kLow + 0x20000);
  r.run(0, next);
  EXPECT_TRUE(r.marked_done(next.at));
  EXPECT_EQ(r.errors(0), 0u) << "gone with the next descriptor";
}

// ---- CRC (types 25 and 2) ----

TEST_P(Types, DoubleCrc) {
  if (!has(DescriptorType::DblCrc) || !r.part.has(Eu::Crcu)) GTEST_SKIP() << "not on this part";
  const Bytes head = pattern(48, 1), payload = pattern(1000, 2);
  const Bytes h = crc_le(head, 0x82f63b78), p = crc_le(payload, 0x82f63b78);
  {
    Job7 j(r);
    j.header(Eu::Crcu, regs::crcu_mode::kCrc32c, DescriptorType::DblCrc);
    j.in(0, head);
    j.in(1, payload);
    const BusAddr h_out = j.out(2, 0, 4), p_out = j.out(3, 0, 4);
    j.go();
    EXPECT_EQ(j.result(h_out, 4), h);
    EXPECT_EQ(j.result(p_out, 4), p);
  }
  for (unsigned wrong = 0; wrong < 4; ++wrong) {
    r.set_eu(Eu::Crcu, regs::kEuInterruptControl, lo(ee::kIce));
    Job7 j(r);
    j.header(Eu::Crcu, regs::crcu_mode::kCrc32c | regs::crcu_mode::kCheckIcv, DescriptorType::DblCrc);
    Bytes hh = h, pp = p;
    hh[3] ^= wrong & 1;
    pp[0] ^= wrong & 2;
    j.in(0, head + hh, 4);
    j.in(1, payload + pp, 4);
    j.go();
    EXPECT_EQ(j.back().iccr0(), wrong & 1 ? IntegrityCheck::Fail : IntegrityCheck::Pass);
    EXPECT_EQ(j.back().iccr1(), wrong & 2 ? IntegrityCheck::Fail : IntegrityCheck::Pass);
  }
}

TEST_P(Types, MacsAndCrcsByCommonDescriptor) {
  struct Kind {
    const char* name;
    Eu eu;
    uint8_t mode, check;
    size_t key;
    Bytes context, data, mac;
  };
  const Bytes data = pattern(300, 9);
  std::vector<Kind> kinds;
  if (r.part.gcm) kinds.push_back({"CMAC", Eu::Aesu, 0x44, 0x20, 16, {}, data, mac_of("CMAC", "cipher", "AES-128-CBC", pattern(16, 3), data)});
  if (r.part.gcm) kinds.push_back({"CMAC of nothing", Eu::Aesu, 0x44, 0x20, 16, {}, {}, mac_of("CMAC", "cipher", "AES-128-CBC", pattern(16, 3), {})});
  if (r.part.has(Eu::Crcu)) kinds.push_back({"CRC", Eu::Crcu, 0, 0x40, 0, {}, data, crc_le(data, 0xedb88320)});
  for (const Kind& k : kinds)
    for (const bool check : {false, true})
      for (const bool wrong : {false, true}) {
        SCOPED_TRACE(testing::Message() << k.name << check << wrong);
        r.set_eu(k.eu, regs::kEuInterruptControl, lo(ee::kIce));
        Job7 j(r);
        j.header(k.eu, k.mode | (check ? k.check : 0), DescriptorType::CommonNonsnoop);
        if (k.key) j.in(2, pattern(k.key, 3));
        if (!k.data.empty()) j.in(3, k.data);
        if (check) {
          Bytes m = k.mac;
          if (wrong) m[1] ^= 1;
          const BusAddr a = j.in(4, m);
          j.d.ptr[4] = PointerDword::to(a, 0, static_cast<uint8_t>(m.size()));
        }
        const BusAddr out = j.out(6, k.mac.size());
        j.go();
        EXPECT_EQ(j.result(out, k.mac.size()), k.mac);
        EXPECT_EQ(j.back().iccr0(), !check ? IntegrityCheck::None : wrong ? IntegrityCheck::Fail : IntegrityCheck::Pass);
      }
}

TEST_P(Types, KasumiVectors) {
  if (!r.part.has(Eu::Keu)) GTEST_SKIP() << "not on this part";
  // 3GPP TS 35.203, f9.
  Job7 j(r);
  j.header(Eu::Keu, 0x02 | 0x08 | 0x10, DescriptorType::CommonNonsnoop);
  j.in(1, from_hex("14793E410400000000000000000000000000000003" "97E8FD"));
  j.in(2, from_hex("C736C6AAB22BFFF91E2698D2E22AD57E"));
  j.in(3, from_hex("D0A7D463DF9FB2B278833FA02E235AA172BD970C1473E12907FB648B6599AAA0B24A038665422B20A499276A50427009"));
  const BusAddr mac = j.out(6, 8);
  j.go();
  EXPECT_EQ(j.result(mac, 8), from_hex("00000000dd7dfadd"));
  // f8, test set 2, its first 64 bytes.
  Job7 k(r);
  k.header(Eu::Keu, 0x08, DescriptorType::CommonNonsnoop);
  k.in(1, from_hex("72A4F20F64000000"));
  k.in(2, from_hex("2BD6459F82C5B300952C49104881FF48"));
  k.in(3, from_hex("7EC61272743BF1614726446A6C38CED166F6CA76EB5430044286346CEF130F92922B03450D3A9975E5BD2EA0EB55AD8E1B199E3EC4316020E9A1B285E7627953"));
  const BusAddr out = k.out(4, 64);
  k.go();
  EXPECT_EQ(k.result(out, 64), from_hex("d1e2de70eef86c6964fb542bc2d460aabfaa10a4a093262b7d199e706fc2d4891553296910f3a973012682e41c4e2b02be2017b7253bbf9309de5819cb42e819"));
}

// ---- RC4 (type 10) ----

TEST_P(Types, Rc4InPieces) {
  if (!has(DescriptorType::CommonNonsnoopAfeu) || !r.part.has(Eu::Afeu)) GTEST_SKIP() << "not on this part";
  const Bytes key = pattern(16, 1), data = pattern(1000, 2), want = Rc4(key).run(data);
  Job7 j(r);
  j.header(Eu::Afeu, 0x02, DescriptorType::CommonNonsnoopAfeu);
  j.in(2, key);
  j.in(3, part_of(data, 0, 333));
  const BusAddr out = j.out(4, 333), context = j.out(5, 259);
  j.go();
  EXPECT_EQ(j.result(out, 333), part_of(want, 0, 333));
  const Bytes state = j.result(context, 259);
  Job7 k(r);
  k.header(Eu::Afeu, 0x07, DescriptorType::CommonNonsnoopAfeu);
  k.in(1, state);
  k.in(3, part_of(data, 333, 667));
  const BusAddr rest = k.out(4, 667), again = k.out(5, 259);
  k.go();
  EXPECT_EQ(k.result(rest, 667), part_of(want, 333, 667));
  EXPECT_NE(k.result(again, 259), state);
}

// ---- random numbers ----

TEST_P(Types, RandomNumbersByDescriptor) {
  if (!r.part.has(Eu::Rngu)) GTEST_SKIP() << "not on this part";
  Bytes all;
  for (const uint16_t n : {8, 64, 100, 1000}) {
    Job7 j(r);
    const uint64_t began = r.timed ? r.timed->now() : 0;
    j.header(Eu::Rngu, 0, DescriptorType::CommonNonsnoop);
    const BusAddr out = j.out(4, n);
    j.go();
    const Bytes got = j.result(out, n);
    for (size_t i = 0; i + 8 <= got.size(); i += 8) EXPECT_FALSE(Rig::untouched(part_of(got, i, 8)));
    all = all + got;
    if (r.timed) {
      EXPECT_GE(r.timed->now() - began, 256u * ((n + 7u) / 8)) << "64 bits every 256 clocks";
      EXPECT_LE(r.timed->now() - began, 256u * ((n + 7u) / 8) + 200);
    }
  }
  size_t ones = 0;
  for (uint8_t b : all) ones += static_cast<size_t>(std::popcount(b));
  EXPECT_NEAR(static_cast<double>(ones) / static_cast<double>(8 * all.size()), 0.5, 0.03);
}

// ---- public keys (types 7, 9, 11, 16) ----

TEST_P(Types, ModularExponentiation) {
  if (!has(DescriptorType::PkeuMm) || !r.part.has(Eu::Pkeu)) GTEST_SKIP() << "not on this part";
  for (const size_t bytes : {64, 128, 256}) {
    Bytes n = pattern(bytes, 1), a = pattern(bytes, 2), e = {1, 0, 1};
    n[0] |= 0x80, n.back() |= 1, a[0] &= 0x7f;
    const auto bn = [](const Bytes& b) { return BN_bin2bn(b.data(), static_cast<int>(b.size()), nullptr); };
    BIGNUM *N = bn(n), *A = bn(a), *E = bn(e), *R = BN_new();
    BN_CTX* ctx = BN_CTX_new();
    ASSERT_EQ(BN_mod_exp(R, A, E, N, ctx), 1);
    Bytes want(bytes);
    BN_bn2binpad(R, want.data(), static_cast<int>(bytes));
    for (BIGNUM* x : {N, A, E, R}) BN_free(x);
    BN_CTX_free(ctx);
    Job7 j(r);
    const uint64_t began = r.timed ? r.timed->now() : 0;
    j.header(Eu::Pkeu, regs::pkeu_mode::kModExp, DescriptorType::PkeuMm);
    j.in(0, n);
    j.in(2, a);
    j.in(3, e);
    const BusAddr out = j.out(4, bytes);
    j.go();
    EXPECT_EQ(j.result(out, bytes), want);
    if (r.timed) {
      EXPECT_GT(r.timed->now() - began, 1000u);
    }
  }
  Job7 j(r);
  j.header(Eu::Pkeu, 0x7f, DescriptorType::PkeuMm);
  j.in(0, pattern(64, 1));
  j.out(4, 64);
  j.go(ce::kEu);
}

TEST_P(Types, PointMultiplyOnACurve) {
  if (!has(DescriptorType::PkeuPtmul) || !r.part.has(Eu::Pkeu)) GTEST_SKIP() << "not on this part";
  // NIST P-256: 2 G by multiplication (type 9) and by doubling (type 11), with a `build` made by type 7.
  const Bytes p = from_hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"), a = from_hex("ffffffff00000001000000000000000000000000fffffffffffffffffffffffc"),
              b = from_hex("5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b"),
              gx = from_hex("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"),
              gy = from_hex("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5");
  const Bytes x2 = from_hex("7cf27b188d034f7e8a52380304b51ac3c08969e277f21b35a60b48fc47669978"),
              y2 = from_hex("07775510db8ed040293d9ac69f7430dbba7dade63ce982299e04b79d227873d1");
  Bytes one(32);
  one[31] = 1;
  Job7 j(r);
  j.header(Eu::Pkeu, 0xff, DescriptorType::PkeuAssemble);
  j.in(0, gx);
  j.in(1, gy);
  j.in(2, one);
  j.in(3, a);
  j.in(4, b);
  j.in(5, one);  // R2 mod N is not needed here
  const BusAddr build_out = j.out(6, 6 * 32);
  j.go();
  const Bytes build = j.result(build_out, 6 * 32);
  Job7 k(r);
  k.header(Eu::Pkeu, regs::pkeu_mode::kFpPointMulAffine, DescriptorType::PkeuPtmul);
  k.in(0, p);
  k.in(1, Bytes{2});
  k.in(2, build);
  const BusAddr x = k.out(3, 32), y = k.out(4, 32);
  k.go();
  EXPECT_EQ(k.result(x, 32), x2);
  EXPECT_EQ(k.result(y, 32), y2);
  Job7 m(r);
  m.header(Eu::Pkeu, regs::pkeu_mode::kFpPointDouble, DescriptorType::PkeuPtaddDbl);
  m.in(0, p);
  m.in(1, build);
  const BusAddr dx = m.out(4, 32), dy = m.out(5, 32), dz = m.out(6, 32);
  m.go();
  EXPECT_EQ(m.result(dx, 32), x2);
  EXPECT_EQ(m.result(dy, 32), y2);
  EXPECT_EQ(m.result(dz, 32), one);
}

// ---- anything at all ----

class Anything : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Each, Anything, testing::Values("mpc885", "mpc8272", "mpc8349", "mpc8548", "mpc8572", "p2020", "mpc8315"),
                         [](const auto& i) { return std::string(i.param); });

/// Random descriptors of every type, most of them nonsense: both executors must leave the same memory and the same errors behind, and
/// neither may write anywhere else.
TEST_P(Anything, FunctionalEqualsTimed) {
  Rig f(GetParam(), Executor::Functional), t(GetParam(), Executor::Timed);
  const regs::Part& part = f.part;
  std::mt19937 g(2024);
  size_t good = 0;
  std::map<unsigned, size_t> good_of;
  const uint32_t config = kCdwe | kCdie | kIwse;
  const auto page = [&](unsigned n) { return regs::channel_base(part, n); };
  for (unsigned round = 0; round < 4000; ++round) {
    // A descriptor at kLow, inputs in the page behind it, outputs in others; sometimes through tables, sometimes in a hole.
    std::vector<unsigned> types;
    for (unsigned type = 0; type < 32; ++type)
      if (part.has_type(type)) types.push_back(type);
    const unsigned type = types[g() % types.size()];
    const regs::HeaderWord probe{.sel0 = static_cast<uint8_t>(g() % 12), .mode1 = static_cast<uint8_t>(g()), .type = static_cast<uint8_t>(type), .inbound = g() % 2 == 0};
    regs::HeaderWord h = probe;
    const hw::Layout* l = hw::layout_for(h);
    ASSERT_NE(l, nullptr);
    if (g() % 16) {  // usually units that the type takes
      for (int k = 0; k < 200 && (!(l->primary >> h.sel0 & 1) || !part.has(static_cast<Eu>(h.sel0))); ++k) {
        h.sel0 = static_cast<uint8_t>(g() % 12);
        l = hw::layout_for(h);
      }
      h.sel1 = l->secondary ? static_cast<uint8_t>(part.mdeu_b() && g() % 2 ? Eu::MdeuB : Eu::MdeuA) : 0;
    }
    static const uint8_t aes[] = {0, 1, 2, 3, 6, 4, 5, 0x46, 0x44, 0x84, 0x86, 0xb1, 0xb0, 0xf0, 0xb3, 0xf2, 0xc6, 0xc6, 0x40, 0x0a};
    const uint8_t hash = static_cast<uint8_t>(mm::kInit | (g() % 4 ? mm::kPad : 0) | (g() % 2 ? mm::kHmac : 0) | g() % 4 | (g() % 3 ? 0 : mm::kCheckIcv));
    const auto eu = static_cast<Eu>(h.sel0);
    h.mode0 = eu == Eu::Aesu ? aes[g() % sizeof aes] : eu == Eu::MdeuA || eu == Eu::MdeuB ? hash : eu == Eu::Rngu ? 0 : static_cast<uint8_t>(g() % 8 | (g() % 4 ? 0x18 : 0));
    if (eu == Eu::Deu) h.mode0 &= 0x0f;
    h.mode1 = h.sel1 ? hash : 0;
    h.notify = true;
    l = hw::layout_for(h);
    Descriptor d;
    d.header = h.encode();
    Bytes page_in(0x4000);
    for (auto& b : page_in) b = static_cast<uint8_t>(g());
    const uint32_t block = eu == Eu::Deu ? 8 : 16;
    const uint32_t data = g() % 10 ? block * (g() % 40) : g() % 700;
    for (unsigned i = 0; i < 7; ++i) {
      uint32_t n = data;
      const hw::Role role = l->pointer[i];
      if (role == hw::Role::None) n = g() % 3 ? 0 : g() % 130;
      if (role == hw::Role::Key) n = eu == Eu::Deu ? 8 * (1 + g() % 3) : g() % 8 ? 16 + 8 * (g() % 3) : g() % 40;
      if (role == hw::Role::HashKey) n = 1 + g() % 64;
      if (role == hw::Role::Context) n = g() % 4 ? block : g() % 80;
      if (role == hw::Role::Nonce) n = g() % 13;
      if (role == hw::Role::Header) n = g() % 70;
      if (role == hw::Role::Padding) n = block - data % block;
      if (role == hw::Role::IcvIn || role == hw::Role::IcvOut || role == hw::Role::ContextOut) n = g() % 3 ? 12 : g() % 70;
      if (role == hw::Role::DataOut && g() % 6 == 0) n = g() % 800;
      const uint32_t extent = part.sec1() || g() % 2 ? 0 : g() % 40;
      const bool out = role == hw::Role::DataOut || role == hw::Role::IcvOut || role == hw::Role::ContextOut || l->procedure != hw::Procedure::Stream;
      BusAddr a = kLow + (out ? 0x10000 : 0x1000) + 0x600 * i + g() % 64;
      if (part.sec1()) a &= ~BusAddr{3};
      if (g() % 60 == 0) a = kHole;
      d.ptr[i] = PointerDword::to(a, static_cast<uint16_t>(n), static_cast<uint8_t>(extent));
      if (!part.sec1() && g() % 6 == 0 && a != kHole) {  // a table of pieces, not always of the right length
        const BusAddr table = kLow + 0x5000 + 0x200 * i;
        uint32_t left = n + (g() % 4 ? extent : 0) + (g() % 12 ? 0 : 3), e = 0;
        Bytes words;
        while (left && e < 50) {
          uint32_t k = e == 49 ? left : std::min<uint32_t>(left, 1 + g() % 200);
          if (left > n % 1000 && left - k < extent && left > extent && g() % 4) k = left - extent;  // usually a border at the extent
          uint8_t entry[8];
          left -= k;
          LinkEntry::data(a, static_cast<uint16_t>(k), left == 0).store(entry);
          words.insert(words.end(), entry, entry + 8);
          a += k, ++e;
        }
        std::copy(words.begin(), words.end(), page_in.begin() + static_cast<long>(table - kLow - 0x1000) % 0x4000);
        d.ptr[i] = PointerDword::to(kLow + 0x1000 + (table - kLow - 0x1000) % 0x4000, static_cast<uint16_t>(n), static_cast<uint8_t>(extent), true);
      }
    }
    uint32_t errors[2];
    unsigned k = 0;
    for (Rig* r : {&f, &t}) {
      r->wr(page(0) + 0xc, config);
      std::fill(r->low.begin(), r->low.begin() + 0x20000, 0xEE);
      r->put(kLow + 0x1000, page_in);
      if (part.sec1()) {
        store_be32(r->at(kLow), d.header);
        for (unsigned i = 0; i < 7; ++i) store_be64(r->at(kLow + 4 + 8 * i), d.ptr[i].encode_sec1());
        store_be32(r->at(kLow + 60), 0);
      } else {
        d.store(r->at(kLow));
      }
      r->wr(page(0) + 0x4c, lo(kLow));
      r->settle();
      errors[k++] = lo(r->rd64(page(0) + 0x10)) & lo(ce::all(part.generation));
    }
    ASSERT_EQ(errors[0], errors[1]) << "round " << round << " type " << type << std::hex << " header " << d.header;
    ASSERT_TRUE(f.low == t.low) << "round " << round << " type " << type << std::hex << " header " << d.header << " errors " << errors[0];
    if (f.marked_done(kLow)) ++good, ++good_of[type];
    for (Rig* r : {&f, &t}) {
      if (part.sec1())
        r->wr(page(0) + 0xc, 1);
      else
        r->wr(page(0) + 8, 1);
      r->settle();
      ASSERT_EQ(r->rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), 0u);
    }
  }
  EXPECT_GT(good, 250u);
  EXPECT_GT(good_of.size(), 3u);
  EXPECT_TRUE(std::all_of(f.low.begin() + 0x20000, f.low.end(), [](uint8_t b) { return b == 0xEE; }));
}

}  // namespace
}  // namespace sec::test
