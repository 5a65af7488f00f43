// Descriptors of SEC 1: one header word, {length, address} pairs, chains by the last word, no link tables, no extents, writes
// to multiples of four. On both parts, functional and timed, with answers from OpenSSL.
#include <openssl/hmac.h>

#include "hw/regs/mdeu.h"
#include "tests/model/rig.h"

namespace sec::test {
namespace {
namespace ce = regs::channel_error;
namespace mm = regs::mdeu_mode;
using regs::DescriptorType;
using regs::Eu;
using regs::PointerDword;

constexpr uint32_t kNe = 0x8;

struct Where {
  const char* part;
  Executor executor;
};
std::ostream& operator<<(std::ostream& o, const Where& w) { return o << w.part << "_" << name_of(w.executor); }

class Sec1 : public testing::TestWithParam<Where> {
 protected:
  Rig r{GetParam().part, GetParam().executor};
  uint32_t channel(unsigned n) { return 0x2000 + 0x1000 * n; }
  void set(unsigned n, uint32_t config) { r.wr(channel(n) + 0xc, config); }
  void SetUp() override { set(0, kCdwe | kCdie | kNe); }
  uint32_t errors() { return lo(r.rd64(channel(0) + 0x10)) & lo(ce::kAll1); }
  bool lite() { return r.part.channels == 1; }

  struct Words {
    uint32_t header = 0, next = 0;
    PointerDword p[7] = {};
  };
  void put(BusAddr at, const Words& w) {
    store_be32(r.at(at), w.header);
    for (unsigned i = 0; i < 7; ++i) store_be64(r.at(at + 4 + 8 * i), w.p[i].encode_sec1());
    store_be32(r.at(at + 60), w.next);
  }
  void go(BusAddr at) {
    r.wr(channel(0) + 0x4c, lo(at));
    r.settle();
  }
  PointerDword in(BusAddr a, const Bytes& b) {
    r.put(a, b);
    return PointerDword::to(a, static_cast<uint16_t>(b.size()));
  }
  static uint32_t header(Eu sel0, uint8_t mode0, DescriptorType type, bool snoop_in = false, Eu sel1 = Eu::None, uint8_t mode1 = 0) {
    return regs::make_header(sel0, mode0, sel1, mode1, type, snoop_in, true);
  }
  bool done(BusAddr at) { return *r.at(at) == 0xff; }
  uint64_t done_irq() { return regs::channel_done(r.part.generation, 0); }
  uint64_t isr() { return r.rd64(0x1010); }
};
INSTANTIATE_TEST_SUITE_P(Each, Sec1,
                         testing::Values(Where{"mpc885", Executor::Functional}, Where{"mpc885", Executor::Timed}, Where{"mpc8272", Executor::Functional},
                                         Where{"mpc8272", Executor::Timed}),
                         testing::PrintToStringParamName());

Bytes sha1(const Bytes& b) {
  Bytes d(20);
  unsigned n;
  EVP_Digest(b.data(), b.size(), d.data(), &n, EVP_sha1(), nullptr);
  return d;
}
Bytes hmac(const EVP_MD* md, const Bytes& key, const Bytes& in) {
  Bytes d(64);
  unsigned n = 0;
  HMAC(md, key.data(), static_cast<int>(key.size()), in.data(), in.size(), d.data(), &n);
  d.resize(n);
  return d;
}
Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_P(Sec1, Ciphers) {
  for (const bool des : {false, true})
    for (const uint8_t mode : {0, 1, 2, 3}) {  // ECB or CBC, decrypt or encrypt
      const Bytes key = des ? odd_parity(pattern(24, 1)) : pattern(16, 1), iv = mode & 2 ? pattern(des ? 8 : 16, 2) : Bytes{}, data = pattern(512, 3);
      Words w;
      w.header = header(des ? Eu::Deu : Eu::Aesu, static_cast<uint8_t>(des ? (mode & 1) | (mode & 2 ? 4 : 0) | 2 : mode), DescriptorType::CommonNonsnoop);
      if (!iv.empty()) w.p[1] = in(kLow + 0x100, iv);
      w.p[2] = in(kLow + 0x140, key);
      w.p[3] = in(kLow + 0x1000, data);
      w.p[4] = PointerDword::to(kLow + 0x2000, 512);
      if (!iv.empty()) w.p[5] = PointerDword::to(kLow + 0x180, static_cast<uint16_t>(iv.size()));
      put(kLow, w);
      go(kLow);
      const std::string name = des ? (mode & 2 ? "DES-EDE3-CBC" : "DES-EDE3-ECB") : (mode & 2 ? "AES-128-CBC" : "AES-128-ECB");
      EXPECT_EQ(errors(), 0u);
      EXPECT_TRUE(done(kLow));
      EXPECT_EQ(r.get(kLow + 0x2000, 512), cipher(name.c_str(), des ? ede(key) : key, iv, data, mode & 1)) << name;
      EXPECT_EQ(load_be32(r.at(kLow)) & 0xffffff, w.header & 0xffffff) << "the rest of the word stays";
      EXPECT_EQ(load_be32(r.at(kLow + 4)), w.p[0].encode_sec1() >> 32) << "no second word";
    }
}

TEST_P(Sec1, CipherAndHmac) {
  // hmac_snoop_no_afeu as Linux uses it; ST says which side the hash listens to, so that it sees what is sealed both ways.
  for (const bool inbound : {false, true}) {
    const Bytes hk = pattern(20, 1), head = pattern(24, 2), key = pattern(16, 3), iv = pattern(16, 4), plain = pattern(256, 5);
    const Bytes sealed = cipher("AES-128-CBC", key, iv, plain, true);
    Words w;
    w.header = header(Eu::Aesu, inbound ? 2 : 3, DescriptorType::HmacSnoopNoAfeu, inbound, Eu::MdeuA, mm::kSha1 | mm::kInit | mm::kPad | mm::kHmac);
    w.p[0] = in(kLow + 0x100, hk);
    w.p[1] = in(kLow + 0x140, head);
    w.p[2] = in(kLow + 0x180, key);
    w.p[3] = in(kLow + 0x1c0, iv);
    w.p[4] = in(kLow + 0x1000, inbound ? sealed : plain);
    w.p[5] = PointerDword::to(kLow + 0x2000, 256);
    w.p[6] = PointerDword::to(kLow + 0x200, 12);
    put(kLow, w);
    go(kLow);
    EXPECT_EQ(errors(), 0u);
    EXPECT_TRUE(done(kLow));
    EXPECT_EQ(r.get(kLow + 0x2000, 256), inbound ? plain : sealed);
    const Bytes mac = hmac(EVP_sha1(), hk, head + sealed);
    EXPECT_EQ(r.get(kLow + 0x200, 12), Bytes(mac.begin(), mac.begin() + 12));
    EXPECT_TRUE(Rig::untouched(r.get(kLow + 0x20c, 8)));
  }
}

TEST_P(Sec1, TypesOfThePart) {
  for (unsigned type = 0; type < 32; ++type) {
    Words w;
    w.header = regs::make_header(Eu::Aesu, 3, Eu::None, 0, static_cast<DescriptorType>(type), false, true);
    put(kLow, w);
    go(kLow);
    if (!r.part.has_type(type)) {
      EXPECT_EQ(errors(), ce::kIdh) << type;
    }
    r.wr(channel(0) + 0xc, 1);
    set(0, kCdwe | kCdie | kNe);
  }
}

TEST_P(Sec1, SnoopWithAesCounterMode) {
  if (!r.part.has_type(24)) GTEST_SKIP() << "not on this part";
  const Bytes hk = pattern(16, 1), key = pattern(16, 3), iv = pattern(16, 4), plain = pattern(256, 5), sealed = cipher("AES-128-CTR", key, iv, plain, true);
  for (const unsigned type : {24u, 26u, 6u}) {
    if (!r.part.has_type(type)) continue;
    const bool keyed = type == 24;
    Words w;
    w.header = header(Eu::Aesu, 6, static_cast<DescriptorType>(type), false, Eu::MdeuA, static_cast<uint8_t>(mm::kMd5 | mm::kInit | mm::kPad | (keyed ? mm::kHmac : 0)));
    if (keyed) w.p[0] = in(kLow + 0x100, hk);
    w.p[2] = in(kLow + 0x180, key);
    w.p[3] = in(kLow + 0x1c0, iv);
    w.p[4] = in(kLow + 0x1000, plain);
    w.p[5] = PointerDword::to(kLow + 0x2000, 256);
    w.p[6] = PointerDword::to(kLow + 0x200, 16);
    put(kLow, w);
    go(kLow);
    EXPECT_EQ(errors(), 0u);
    EXPECT_EQ(r.get(kLow + 0x2000, 256), sealed);
    Bytes md(16);
    unsigned n;
    EVP_Digest(sealed.data(), sealed.size(), md.data(), &n, EVP_md5(), nullptr);
    EXPECT_EQ(r.get(kLow + 0x200, 16), keyed ? hmac(EVP_md5(), hk, sealed) : md) << type;
  }
}

TEST_P(Sec1, ExpandedKey) {
  if (!r.part.has_type(8)) GTEST_SKIP() << "not on this part";
  // FIPS 197, A.1: the last round key of AES-128.
  const Bytes key = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c}, data = pattern(64, 1);
  const Bytes last = {0xd0, 0x14, 0xf9, 0xa8, 0xc9, 0xee, 0x25, 0x89, 0xe1, 0x3f, 0x0c, 0xc8, 0xb6, 0x63, 0x0c, 0xa6};
  Words w;
  w.header = header(Eu::Aesu, 1, DescriptorType::AesuKeyExpandOutput);
  w.p[2] = in(kLow + 0x180, key);
  w.p[3] = in(kLow + 0x1000, data);
  w.p[4] = PointerDword::to(kLow + 0x2000, 64);
  w.p[5] = PointerDword::to(kLow + 0x200, 16);
  put(kLow, w);
  go(kLow);
  EXPECT_EQ(r.get(kLow + 0x200, 16), last);
  EXPECT_EQ(r.get(kLow + 0x2000, 64), cipher("AES-128-ECB", key, {}, data, true));
}

// ---- chains ----

/// A hash in three descriptors, one after the other.
struct Chain {
  BusAddr at[3] = {kLow, kLow + 0x400, kLow + 0x800};
  Bytes data = pattern(64 * 5 + 11, 1);
};

TEST_P(Sec1, ChainOfAHash) {
  const Chain c;
  const auto piece = [&](BusAddr a, uint8_t mode, size_t from, size_t n, bool context_in, BusAddr out, uint16_t out_bytes, BusAddr next) {
    Words w;
    w.header = header(Eu::MdeuA, mode, DescriptorType::CommonNonsnoop);
    if (context_in) w.p[1] = PointerDword::to(kLow + 0x3000, 0x28);
    r.put(a + 0x1000, Bytes(c.data.begin() + static_cast<long>(from), c.data.begin() + static_cast<long>(from + n)));
    w.p[3] = PointerDword::to(a + 0x1000, static_cast<uint16_t>(n));
    w.p[5] = PointerDword::to(out, out_bytes);
    w.next = lo(next);
    put(a, w);
  };
  for (const bool ne : {true, false})
    for (const bool nt : {false, true}) {
      SCOPED_TRACE(testing::Message() << "NE " << ne << " NT " << nt);
      set(0, kCdwe | kCdie | (ne ? kNe : 0) | (nt ? kNt : 0));
      while (isr()) r.clear(~uint64_t{0});
      r.put(kLow + 0x3100, Bytes(20, 0xEE));
      piece(c.at[0], mm::kInit | mm::kContinue, 0, 64, false, kLow + 0x3000, 0x28, c.at[1]);
      piece(c.at[1], mm::kContinue, 64, 192, true, kLow + 0x3000, 0x28, c.at[2]);
      piece(c.at[2], mm::kPad, 256, c.data.size() - 256, true, kLow + 0x3100, 20, 0);
      const size_t before = r.witness.ended.size();
      go(c.at[0]);
      EXPECT_EQ(errors(), 0u);
      EXPECT_EQ(r.witness.ended.size() - before, ne ? 3u : 1u);
      // Told at the end of the chain, or (NT) after every descriptor; the write-back follows the same rule.
      EXPECT_EQ(done(c.at[0]), nt || !ne);
      EXPECT_EQ(done(c.at[1]), ne && nt);
      EXPECT_EQ(done(c.at[2]), ne);
      EXPECT_EQ(isr(), done_irq());
      EXPECT_EQ(r.rd(channel(0) + 0x44), lo(ne ? c.at[2] : c.at[0])) << "CDPR follows the chain";
      if (ne) {
        EXPECT_EQ(r.get(kLow + 0x3100, 20), sha1(c.data));
      } else {
        EXPECT_TRUE(Rig::untouched(r.get(kLow + 0x3100, 20)));
      }
    }
}

TEST_P(Sec1, ChainThenFetchRegister) {
  // The Fetch Register is looked at when the chain has ended.
  const Bytes key = pattern(16, 1);
  for (unsigned i = 0; i < 3; ++i) {
    const BusAddr a = kLow + 0x4000 * i;
    Words w;
    w.header = header(Eu::Aesu, 1, DescriptorType::CommonNonsnoop);
    w.p[2] = in(a + 0x180, key);
    w.p[3] = in(a + 0x1000, pattern(64, i));
    w.p[4] = PointerDword::to(a + 0x2000, 64);
    w.next = i == 0 ? lo(kLow + 0x4000) : 0;
    put(a, w);
  }
  r.wr(channel(0) + 0x4c, lo(kLow));
  if (r.timed) r.pass(10);
  r.wr(channel(0) + 0x4c, lo(kLow + 0x8000));
  r.settle();
  ASSERT_EQ(r.witness.ended.size(), 3u);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(r.witness.ended[i].at, kLow + 0x4000 * i);
    EXPECT_EQ(r.get(kLow + 0x4000 * i + 0x2000, 64), cipher("AES-128-ECB", key, {}, pattern(64, i), true));
  }
}

TEST_P(Sec1, ErrorInAChainEndsIt) {
  const Bytes key = pattern(16, 1);
  for (unsigned i = 0; i < 3; ++i) {
    const BusAddr a = kLow + 0x4000 * i;
    Words w;
    w.header = header(Eu::Aesu, 1, DescriptorType::CommonNonsnoop);
    w.p[2] = in(a + 0x180, i == 1 ? pattern(15, 1) : key);
    w.p[3] = in(a + 0x1000, pattern(64, i));
    w.p[4] = PointerDword::to(a + 0x2000, 64);
    w.next = i < 2 ? lo(a + 0x4000) : 0;
    put(a, w);
  }
  go(kLow);
  EXPECT_EQ(errors(), ce::kEu);
  EXPECT_EQ(r.rd(channel(0) + 0x44), lo(kLow + 0x4000));
  EXPECT_EQ(r.get(kLow + 0x2000, 64), cipher("AES-128-ECB", key, {}, pattern(64, 0), true));
  EXPECT_TRUE(Rig::untouched(r.get(kLow + 0x8000 + 0x2000, 64)));
  EXPECT_FALSE(done(kLow + 0x8000));
  r.wr(channel(0) + 0xc, 1);  // R; there is no CON
  EXPECT_EQ(errors(), 0u);
  set(0, kCdwe | kCdie | kNe);
  go(kLow + 0x8000);
  EXPECT_TRUE(done(kLow + 0x8000));
}

TEST_P(Sec1, ChainWithoutEndIsStopped) {
  const Bytes key = pattern(16, 1);
  Words w;
  w.header = header(Eu::Aesu, 1, DescriptorType::CommonNonsnoop);
  w.p[2] = in(kLow + 0x180, key);
  w.p[3] = in(kLow + 0x1000, pattern(64, 1));
  w.p[4] = PointerDword::to(kLow + 0x2000, 64);
  w.next = lo(kLow);  // itself; NT is off, so the header stays as it is
  put(kLow, w);
  go(kLow);
  EXPECT_EQ(r.engine->notes().at("descriptor chain without end"), 1u);
  r.wr(channel(0) + 0xc, 1);
  set(0, kCdwe | kCdie | kNe);
  store_be32(r.at(kLow + 60), 0);
  go(kLow);
  EXPECT_TRUE(done(kLow));
}

// ---- odd things ----

TEST_P(Sec1, EmptyHashIsWrongButEnds) {
  Words w;
  w.header = header(Eu::MdeuA, mm::kInit | mm::kPad, DescriptorType::CommonNonsnoop);
  w.p[5] = PointerDword::to(kLow + 0x200, 20);
  put(kLow, w);
  go(kLow);
  EXPECT_TRUE(done(kLow));
  EXPECT_NE(r.get(kLow + 0x200, 20), sha1({}));
  EXPECT_FALSE(Rig::untouched(r.get(kLow + 0x200, 20)));
}

TEST_P(Sec1, WritesGoToMultiplesOfFour) {
  const Bytes key = pattern(16, 1), data = pattern(64, 2);
  Words w;
  w.header = header(Eu::Aesu, 1, DescriptorType::CommonNonsnoop);
  w.p[2] = in(kLow + 0x183, key);
  w.p[3] = in(kLow + 0x1001, data);
  w.p[4] = PointerDword::to(kLow + 0x2002, 64);
  put(kLow + 2, w);
  go(kLow + 2);
  EXPECT_EQ(errors(), 0u);
  EXPECT_EQ(r.get(kLow + 0x2000, 64), cipher("AES-128-ECB", key, {}, data, true)) << "reads may lie anywhere, writes are aligned down";
  EXPECT_EQ(*r.at(kLow), 0xff);
  EXPECT_NE(*r.at(kLow + 2), 0xff);
  EXPECT_EQ(r.engine->notes().at("SEC 1: write to an address that is no multiple of 4"), 2u);
}

TEST_P(Sec1, NoLinkTables) {
  // The bit that is J later is a reserved one here, and so is what later is an extent.
  const Bytes key = pattern(16, 1), data = pattern(64, 2);
  Words w;
  w.header = header(Eu::Aesu, 1, DescriptorType::CommonNonsnoop);
  w.p[2] = in(kLow + 0x180, key);
  w.p[3] = in(kLow + 0x1000, data);
  w.p[4] = PointerDword::to(kLow + 0x2000, 64);
  put(kLow, w);
  for (unsigned i = 2; i < 5; ++i) store_be32(r.at(kLow + 4 + 8 * i), 0xffff0000u | w.p[i].length);
  go(kLow);
  EXPECT_EQ(errors(), 0u);
  EXPECT_EQ(r.get(kLow + 0x2000, 64), cipher("AES-128-ECB", key, {}, data, true));
}

TEST_P(Sec1, BusErrorKeepsTheFirstAddress) {
  const Bytes key = pattern(16, 1);
  Words w;
  w.header = header(Eu::Aesu, 1, DescriptorType::CommonNonsnoop);
  w.p[2] = in(kLow + 0x180, key);
  w.p[3] = in(kLow + 0x1000, pattern(256, 2));
  w.p[4] = PointerDword::to(kLow + 0x2000, 256);
  put(kLow, w);
  r.map.inject_fault(kLow + 0x1084, 4);
  go(kLow);
  EXPECT_EQ(errors(), ce::kMdte);
  const uint32_t mear = r.rd(0x1038) | r.rd(0x103c);
  EXPECT_GE(mear, lo(kLow + 0x1000));
  EXPECT_LE(mear, lo(kLow + 0x1084)) << "the burst that failed";
  EXPECT_EQ(isr() & 0x40, 0x40u) << "TEA";
  r.map.clear_faults();
  r.map.inject_fault(kLow + 0x180, 4);
  r.wr(channel(0) + 0xc, 1);
  set(0, kCdwe | kCdie);
  go(kLow);
  EXPECT_EQ(errors(), ce::kMdte);
  EXPECT_EQ(r.rd(0x1038) | r.rd(0x103c), mear) << "only the first";
}

TEST_P(Sec1, LargerBurstsAreFaster) {
  if (!r.timed) GTEST_SKIP() << "has no time";
  std::vector<uint64_t> took;
  for (const uint32_t field : {0u, 1u, 2u}) {
    set(0, kCdwe | kCdie | field << 8);
    Words w;
    w.header = header(Eu::MdeuA, mm::kInit | mm::kPad, DescriptorType::CommonNonsnoop);
    w.p[3] = in(kLow + 0x1000, pattern(4096, 2));
    w.p[5] = PointerDword::to(kLow + 0x200, 20);
    put(kLow, w);
    const uint64_t began = r.timed->now();
    go(kLow);
    EXPECT_EQ(r.get(kLow + 0x200, 20), sha1(pattern(4096, 2)));
    took.push_back(r.timed->now() - began);
  }
  EXPECT_GT(took[0], took[1]);
  EXPECT_GE(took[1], took[2]);
  EXPECT_LT(static_cast<double>(took[0]), 4096 * 8 / 3.6 * 1.1) << "240 Mbit/s at 66 MHz were measured with the field at 0";
}

}  // namespace
}  // namespace sec::test
