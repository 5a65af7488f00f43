// Two units on one descriptor: ipsec_esp, hmac_snoop and their relatives, and hashes by descriptor. Every answer is computed
// with OpenSSL in the test. SEC 2.1 and 3.1, functional and timed.
#include <openssl/hmac.h>

#include "hw/regs/mdeu.h"
#include "tests/model/rig.h"

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
const Where kEverywhere[] = {{"mpc8548", Executor::Functional}, {"mpc8548", Executor::Timed}, {"p2020", Executor::Functional}, {"p2020", Executor::Timed}};

struct HashKind {
  const char* name;
  Eu eu;
  uint8_t mode;
  uint16_t digest, block;
};
const HashKind kHashes[] = {{"MD5", Eu::MdeuA, mm::kMd5, 16, 64},       {"SHA1", Eu::MdeuA, mm::kSha1, 20, 64},
                            {"SHA224", Eu::MdeuA, mm::kSha224, 28, 64}, {"SHA256", Eu::MdeuA, mm::kSha256, 32, 64},
                            {"SHA384", Eu::MdeuB, mm::kSha384, 48, 128}, {"SHA512", Eu::MdeuB, mm::kSha512, 64, 128}};
constexpr uint8_t kHmac = mm::kInit | mm::kHmac | mm::kPad;

Bytes hash(const HashKind& k, const Bytes& in) {
  Bytes d(k.digest);
  unsigned n = 0;
  EXPECT_EQ(EVP_Digest(in.data(), in.size(), d.data(), &n, EVP_get_digestbyname(k.name), nullptr), 1);
  return d;
}
Bytes hmac(const HashKind& k, const Bytes& key, const Bytes& in) {
  Bytes d(64);
  unsigned n = 0;
  EXPECT_NE(HMAC(EVP_get_digestbyname(k.name), key.data(), static_cast<int>(key.size()), in.data(), in.size(), d.data(), &n), nullptr);
  d.resize(n);
  return d;
}
Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Bytes first(const Bytes& b, size_t n) { return Bytes(b.begin(), b.begin() + static_cast<long>(n)); }

/// One message for a cipher and a hash, in a 64 KiB slot of the rig.
struct Message {
  BusAddr at = kLow;
  unsigned type = 1;
  Eu cipher = Eu::Aesu;
  uint8_t mode = 0x02;  // without the direction
  const HashKind* hash = &kHashes[1];
  uint16_t key_bytes = 16, hash_key_bytes = 20, header_bytes = 24, bytes = 256, icv_bytes = 12, iv_bytes = 16;
  bool inbound = false, check = false, gather = false, scatter = false, in_place = false;
  uint32_t seed = 1;

  BusAddr iv() const { return at + 0x080; }
  BusAddr key() const { return at + 0x0c0; }
  BusAddr hash_key() const { return at + 0x100; }
  BusAddr header() const { return at + 0x183; }
  BusAddr iv_out() const { return at + 0x240; }
  BusAddr icv_out() const { return at + 0x281; }
  BusAddr tables() const { return at + 0x400; }
  BusAddr in() const { return at + 0x1005; }
  BusAddr out() const { return in_place ? in() : at + 0x8003; }

  Bytes iv_v() const { return pattern(iv_bytes, seed + 1); }
  Bytes key_v() const { return cipher == Eu::Deu ? odd_parity(pattern(key_bytes, seed + 2)) : pattern(key_bytes, seed + 2); }
  Bytes hash_key_v() const { return pattern(hash_key_bytes, seed + 3); }
  Bytes header_v() const { return pattern(header_bytes, seed + 4); }
  Bytes plain() const { return pattern(bytes, seed + 5); }
  Bytes sealed() const {
    if (cipher == Eu::Deu) return test::cipher(mode & 0x0c ? "DES-EDE3-CBC" : "DES-EDE3-ECB", ede(key_v()), iv_v(), plain(), true);
    const std::string bits = std::to_string(8 * key_bytes);
    return test::cipher(("AES-" + bits + (mode == 0 ? "-ECB" : mode == 2 ? "-CBC" : "-CTR")).c_str(), key_v(), iv_v(), plain(), true);
  }
  Bytes icv() const { return hmac(*hash, hash_key_v(), header_v() + sealed()); }
  Bytes last_iv() const {
    const Bytes c = sealed();
    return Bytes(c.end() - iv_bytes, c.end());
  }

  /// Table over [a, a + n) and, with `extent`, over what follows; pieces of odd sizes with a border at n.
  static PointerDword table(Rig& r, BusAddr t, BusAddr a, uint32_t n, uint32_t extent) {
    const uint32_t total = n;
    const BusAddr start = t;
    while (n || extent) {
      uint32_t& part = n ? n : extent;
      const uint32_t k = std::min<uint32_t>(part, 37 + 11 * (t / 8 % 13));
      part -= k;
      LinkEntry::data(a, static_cast<uint16_t>(k), !n && !extent).store(r.at(t));
      a += k;
      t += 8;
    }
    return PointerDword::to(start, static_cast<uint16_t>(total), 0, true);
  }
  Descriptor build(Rig& r) const {
    Descriptor d;
    uint8_t mode0 = mode, mode1 = hash->mode | kHmac;
    if (!inbound) mode0 |= 1;
    if (mode == 0x06 && cipher == Eu::Aesu) mode0 = 0x06;
    if (check) mode1 |= mm::kCheckIcv;
    d.header = regs::make_header(cipher, mode0, hash->eu, mode1, static_cast<DescriptorType>(type), inbound, true);
    d.feedback = 0xffffffff;
    r.put(iv(), iv_v());
    r.put(key(), key_v());
    r.put(hash_key(), hash_key_v());
    r.put(header(), header_v());
    const Bytes c = inbound ? sealed() : plain();
    r.put(in(), c);
    if (check) r.put(in() + bytes, first(icv(), icv_bytes));
    const PointerDword hk = PointerDword::to(hash_key(), hash_key_bytes), hh = header_bytes ? PointerDword::to(header(), header_bytes) : PointerDword{},
                       k = PointerDword::to(key(), key_bytes), v = iv_bytes ? PointerDword::to(iv(), iv_bytes) : PointerDword{};
    const bool esp = type == 1;
    const uint8_t xin = check ? static_cast<uint8_t>(icv_bytes) : 0, xout = esp ? static_cast<uint8_t>(icv_bytes) : 0;
    PointerDword i = PointerDword::to(in(), bytes), o = PointerDword::to(out(), bytes);
    if (gather) i = table(r, tables(), in(), bytes, r.sec3() ? xin : 0);
    if (scatter) o = table(r, tables() + 0x400, out(), bytes, xout);
    i.extent = xin;
    o.extent = xout;
    d.ptr[0] = hk;
    d.ptr[1] = hh;
    d.ptr[2] = esp ? v : k;
    d.ptr[3] = esp ? k : v;
    d.ptr[4] = i;
    d.ptr[5] = o;
    if (!esp) d.ptr[6] = PointerDword::to(icv_out(), icv_bytes);
    else if (iv_bytes) d.ptr[6] = PointerDword::to(iv_out(), iv_bytes);
    d.store(r.at(at));
    return d;
  }
  /// Looks at everything the descriptor must have written.
  void expect(Rig& r) const {
    EXPECT_EQ(r.errors(0), 0u);
    EXPECT_TRUE(r.marked_done(at));
    EXPECT_EQ(r.get(out(), bytes), inbound ? plain() : sealed());
    EXPECT_EQ(r.get(type == 1 ? out() + bytes : icv_out(), icv_bytes), first(icv(), icv_bytes));
    if (!in_place) {
      EXPECT_TRUE(Rig::untouched(r.get((type == 1 ? out() + bytes : icv_out()) + icv_bytes, 64)));
    }
    if (type == 1 && iv_bytes && (mode != 0x06 || cipher == Eu::Deu)) {
      EXPECT_EQ(r.get(iv_out(), iv_bytes), last_iv());
    }
  }
};

Descriptor read_back(Rig& r, BusAddr at) { return Descriptor::load(r.at(at)); }

class Pairs : public testing::TestWithParam<Where> {
 protected:
  Rig make() {
    Rig r(GetParam().part, GetParam().executor);
    for (unsigned n = 0; n < 4; ++n) r.configure(n, kCdwe | kCdie | kIwse);
    return r;
  }
  bool has(const HashKind& h) { return h.eu != Eu::MdeuB || regs::find_part(GetParam().part)->has(Eu::MdeuB); }
};
INSTANTIATE_TEST_SUITE_P(Each, Pairs, testing::ValuesIn(kEverywhere), testing::PrintToStringParamName());

TEST_P(Pairs, EveryHashEveryCipherBothDirections) {
  Rig r = make();
  uint32_t seed = 0;
  for (const HashKind& h : kHashes) {
    if (!has(h)) continue;
    for (const unsigned type : {1u, 4u})
      for (const bool des : {false, true})
        for (const bool inbound : {false, true})
          for (const uint16_t bytes : {16, 64, 200, 1408, 9008}) {
            Message m;
            m.type = type, m.hash = &h, m.inbound = inbound, m.seed = seed += 10;
            m.bytes = des ? bytes / 8 * 8 : bytes / 16 * 16;
            m.hash_key_bytes = h.digest;
            m.header_bytes = static_cast<uint16_t>(seed / 10 % 3 * 8);
            m.gather = seed / 10 % 5 == 1, m.scatter = seed / 10 % 7 == 2, m.in_place = !m.scatter && seed / 10 % 4 == 0;
            if (des) m.cipher = Eu::Deu, m.mode = 0x06, m.key_bytes = 24, m.iv_bytes = 8;
            if (des) m.mode = 0x04 | 0x02;  // CBC, triple
            SCOPED_TRACE(testing::Message() << h.name << " type " << type << " " << (des ? "3DES " : "AES ") << m.bytes << (inbound ? " in" : " out"));
            std::fill(r.low.begin(), r.low.end(), 0xEE);
            m.build(r);
            r.submit(0, m.at);
            r.settle();
            m.expect(r);
            EXPECT_EQ(read_back(r, m.at).feedback, 0xffffffffu) << "no check, no verdict";
            if (testing::Test::HasFailure()) return;
          }
  }
}

TEST_P(Pairs, AesModesAndKeys) {
  Rig r = make();
  for (const unsigned type : {1u, 4u, 24u})
    for (const uint16_t key : {16, 24, 32})
      for (const uint8_t mode : {0x00, 0x02, 0x06})
        for (const bool inbound : {false, true}) {
          Message m;
          m.type = type, m.key_bytes = key, m.mode = mode, m.inbound = inbound, m.seed = key + mode;
          if (!mode) m.iv_bytes = 0;
          if (!r.part.has_type(type)) continue;
          std::fill(r.low.begin(), r.low.end(), 0xEE);
          m.build(r);
          r.submit(0, m.at);
          r.settle();
          SCOPED_TRACE(testing::Message() << type << " " << key << " " << int{mode} << inbound);
          m.expect(r);
        }
}

// ---- the check of an ICV that comes in ----

struct Check {
  bool gather, wrong, masked, iwse, awse;
};
TEST_P(Pairs, IcvCheck) {
  for (unsigned bits = 0; bits < 32; ++bits) {
    const Check c{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0};
    for (const uint16_t icv : {12, 16, 20}) {
      SCOPED_TRACE(testing::Message() << "gather " << c.gather << " wrong " << c.wrong << " masked " << c.masked << " IWSE " << c.iwse << " AWSE " << c.awse
                                      << " ICV " << icv);
      Rig r = make();
      r.configure(0, kCdwe | kCdie | (c.iwse ? kIwse : 0) | (c.awse ? kAwse : 0));
      if (c.masked) r.set_eu(Eu::MdeuA, regs::kEuInterruptControl, lo(ee::kIce));
      Message m;
      m.inbound = m.check = true, m.gather = c.gather, m.icv_bytes = icv, m.seed = bits;
      m.build(r);
      if (c.wrong) *r.at(m.in() + m.bytes + icv - 1) ^= 0x80;
      r.submit(0, m.at);
      r.settle();
      const Descriptor d = read_back(r, m.at);
      EXPECT_EQ(r.get(m.out(), m.bytes), m.plain()) << "the data are out before the verdict";
      if (c.wrong && !c.masked) {
        EXPECT_EQ(r.errors(0), ce::kEu);
        EXPECT_EQ(r.eu(Eu::MdeuA, regs::kEuInterruptStatus), ee::kIce);
        EXPECT_TRUE(r.engine->channel(0).halted);
        EXPECT_FALSE(d.done());
        EXPECT_EQ(d.feedback, 0xffffffffu);
        EXPECT_EQ(r.isr(), regs::channel_error_irq(0));
        EXPECT_TRUE(Rig::untouched(r.get(m.out() + m.bytes, 32))) << "no ICV out";
        EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), regs::kEUASR.field("AESU").put(1) | regs::kEUASR.field("MDEU").put(1));
        r.control(0, kContinue);
        r.settle();
        EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), 0u);
        EXPECT_EQ(r.eu(Eu::MdeuA, regs::kEuInterruptStatus), 0u);
        continue;
      }
      EXPECT_EQ(r.errors(0), 0u);
      EXPECT_TRUE(d.done());
      if (c.iwse) {
        EXPECT_EQ(d.iccr1(), c.wrong ? IntegrityCheck::Fail : IntegrityCheck::Pass);
        EXPECT_EQ(d.iccr0(), IntegrityCheck::None);
        EXPECT_EQ(d.feedback, c.wrong ? regs::kFeedbackIccr1Fail : regs::kFeedbackIccr1Pass);
      } else {
        EXPECT_EQ(d.feedback, c.awse ? 0u : 0xffffffffu);
      }
      EXPECT_EQ(r.get(m.out() + m.bytes, icv), first(m.icv(), icv)) << "the computed one comes out";
    }
  }
}

TEST_P(Pairs, IcvOfAnInputTable) {
  // SEC 3: the table goes on over the ICV. SEC 2: it does not, and the ICV lies behind the last piece.
  Rig r = make();
  Message m;
  m.inbound = m.check = true;
  Descriptor d = m.build(r);
  LinkEntry::data(m.in(), 100).store(r.at(m.tables()));
  if (r.sec3()) {
    // ICV somewhere else, in two pieces
    const Bytes icv = m.icv();
    r.put(m.at + 0x7000, first(icv, 5));
    r.put(m.at + 0x7100, Bytes(icv.begin() + 5, icv.begin() + 12));
    r.put(m.in() + m.bytes, Bytes(12, 0));
    LinkEntry::data(m.in() + 100, 156).store(r.at(m.tables() + 8));
    LinkEntry::data(m.at + 0x7000, 5).store(r.at(m.tables() + 16));
    LinkEntry::data(m.at + 0x7100, 7, true).store(r.at(m.tables() + 24));
  } else {
    LinkEntry::data(m.in() + 100, 156, true).store(r.at(m.tables() + 8));
  }
  d.ptr[4] = PointerDword::to(m.tables(), 256, 12, true);
  d.store(r.at(m.at));
  r.submit(0, m.at);
  r.settle();
  m.expect(r);

  // Without the ICV in the table on SEC 3 (what older drivers did), and with it on SEC 2: the length is wrong.
  m.at = kLow + 0x10000;
  d = m.build(r);
  LinkEntry::data(m.in(), 256, r.sec3()).store(r.at(m.tables()));
  LinkEntry::data(m.in() + 256, 12, true).store(r.at(m.tables() + 8));
  d.ptr[4] = PointerDword::to(m.tables(), 256, 12, true);
  d.store(r.at(m.at));
  r.submit(0, m.at);
  r.settle();
  EXPECT_EQ(r.errors(0), r.sec3() ? ce::kSgml : ce::kGrl);
  EXPECT_FALSE(r.marked_done(m.at));
}

TEST_P(Pairs, SegmentAcrossTheBorderOfDataAndIcv) {
  {
    Rig r = make();
    Message m;
    Descriptor d = m.build(r);
    LinkEntry::data(m.out(), 250).store(r.at(m.tables()));
    LinkEntry::data(m.out() + 250, 18, true).store(r.at(m.tables() + 8));  // 6 of data, 12 of ICV
    d.ptr[5] = PointerDword::to(m.tables(), 256, 12, true);
    d.store(r.at(m.at));
    r.submit(0, m.at);
    r.settle();
    EXPECT_EQ(r.errors(0), r.sec3() ? ce::kSgml : ce::kSb);
    EXPECT_TRUE(Rig::untouched(r.get(m.out(), 300)));
  }
  Rig r = make();
  if (!r.sec3()) return;  // an input's table has no such border there, but see Srtp
  Message m;
  m.inbound = m.check = true;
  Descriptor d = m.build(r);
  LinkEntry::data(m.in(), 268, true).store(r.at(m.tables()));
  d.ptr[4] = PointerDword::to(m.tables(), 256, 12, true);
  d.store(r.at(m.at));
  r.submit(0, m.at);
  r.settle();
  EXPECT_EQ(r.errors(0), ce::kSgml);
}

TEST_P(Pairs, ExtentWithoutARoleIsIgnored) {
  Rig r = make();
  Message m;
  Descriptor d = m.build(r);
  for (unsigned i : {0u, 1u, 2u, 3u, 6u}) d.ptr[i].extent = 127;
  d.store(r.at(m.at));
  r.submit(0, m.at);
  r.settle();
  m.expect(r);
}

TEST_P(Pairs, SeveralChannelsShareTheUnits) {
  Rig r = make();
  std::vector<Message> all;
  for (unsigned i = 0; i < 12; ++i) {
    Message m;
    m.at = kLow + 0x10000 * i, m.seed = 100 * i, m.type = i % 3 ? 1 : 4, m.inbound = i % 2;
    m.hash = &kHashes[i % 4], m.hash_key_bytes = m.hash->digest;
    if (i % 4 == 3) m.cipher = Eu::Deu, m.mode = 0x06, m.key_bytes = 24, m.iv_bytes = 8;
    m.build(r);
    all.push_back(m);
  }
  for (unsigned i = 0; i < 12; ++i) r.submit(i % 4, all[i].at);
  r.settle();
  for (const Message& m : all) {
    SCOPED_TRACE(m.at);
    m.expect(r);
  }
  EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), 0u);
}

// ---- registers while a pair is held ----

TEST_P(Pairs, StatusAndRecovery) {
  Rig r = make();
  Message m;
  m.bytes = 0;  // hangs with both units
  r.put(m.at, Bytes(64, 0));
  Descriptor d = m.build(r);
  d.store(r.at(m.at));
  r.submit(2, m.at);
  r.settle();
  EXPECT_EQ(r.state(2), regs::ChannelState::Load);
  const uint64_t held = regs::kCCPSR.mask("PR") | regs::kCCPSR.mask("PG") | regs::kCCPSR.mask("SR") | regs::kCCPSR.mask("SG") | regs::kCCPSR.mask("MO");
  const uint64_t done = regs::kCCPSR3.mask("PRD") | regs::kCCPSR3.mask("SRD");
  EXPECT_EQ(r.ccpsr(2) & 0x3ff0000u, r.sec3() ? done : done | held);
  EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), regs::kEUASR.field("AESU").put(3) | regs::kEUASR.field("MDEU").put(3));
  // One who wants the DEU and the MDEU gets the first and waits for the second.
  Message w;
  w.at = kLow + 0x10000, w.cipher = Eu::Deu, w.mode = 0x06, w.key_bytes = 24, w.iv_bytes = 8;
  w.build(r);
  r.submit(0, w.at);
  r.settle();
  EXPECT_EQ(r.state(0), regs::ChannelState::RequestSecondary);
  EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes),
            regs::kEUASR.field("AESU").put(3) | regs::kEUASR.field("MDEU").put(3) | regs::kEUASR.field("DEU").put(1));
  // Reset of the one that waits gives back what it holds.
  r.control(0, kReset);
  EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), regs::kEUASR.field("AESU").put(3) | regs::kEUASR.field("MDEU").put(3));
  r.settle();
  EXPECT_FALSE(r.marked_done(w.at));
  r.configure(0, kCdwe | kCdie);
  r.submit(0, w.at);
  r.settle();
  EXPECT_EQ(r.state(0), regs::ChannelState::RequestSecondary);
  r.control(2, kReset);
  r.settle();
  w.expect(r);
  EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), 0u);
}

TEST_P(Pairs, ResetAtAnyClock) {
  if (GetParam().executor == Executor::Functional) GTEST_SKIP() << "has no middle";
  for (uint64_t clock = 1; clock < 1100; clock += 9) {
    Rig r = make();
    Message m, w;
    m.bytes = 512;
    w.at = kLow + 0x10000;
    m.build(r);
    w.build(r);
    r.submit(0, m.at);
    r.submit(1, w.at);
    r.pass(clock);
    r.control(0, kReset);
    const Bytes now = r.get(m.out(), 512), want = m.sealed();
    r.settle();
    size_t same = 0;
    while (same < now.size() && now[same] == want[same]) ++same;
    EXPECT_TRUE(Rig::untouched(Bytes(now.begin() + static_cast<long>(same), now.end()))) << clock;
    SCOPED_TRACE(clock);
    EXPECT_EQ(r.errors(1), 0u);
    EXPECT_EQ(r.get(w.out(), w.bytes), w.sealed());
    EXPECT_EQ(r.get(w.out() + w.bytes, w.icv_bytes), first(w.icv(), w.icv_bytes));
    EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), 0u);
  }
}

// ---- headers that are refused ----

TEST_P(Pairs, HeadersThatAreRefused) {
  struct Case {
    const char* what;
    Eu sel0, sel1;
    unsigned type;
    uint64_t error;
  } cases[] = {
      {"hash first", Eu::MdeuA, Eu::MdeuA, 1, ce::kIdh},      {"hash first, cipher second", Eu::MdeuA, Eu::Aesu, 1, ce::kIdh},
      {"cipher twice", Eu::Aesu, Eu::Aesu, 4, ce::kIdh},      {"cipher second", Eu::Aesu, Eu::Deu, 1, ce::kIdh},
      {"no hash", Eu::Aesu, Eu::None, 1, ce::kIdh},           {"no hash", Eu::Deu, Eu::None, 4, ce::kIdh},
      {"secondary of a single", Eu::Aesu, Eu::MdeuA, 2, ce::kIdh}, {"RC4 first", Eu::Afeu, Eu::MdeuA, 1, ce::kIdh},
      {"DES in AES-CTR", Eu::Deu, Eu::MdeuA, 24, ce::kIdh},   {"both MDEUs", Eu::MdeuA, Eu::MdeuB, 2, ce::kIdh},
  };
  for (const Case& c : cases) {
    Rig r = make();
    Message m;
    Descriptor d = m.build(r);
    d.header = regs::make_header(c.sel0, 0x03, c.sel1, 0x1c, static_cast<DescriptorType>(c.type), false, true);
    d.store(r.at(m.at));
    r.submit(1, m.at);
    r.settle();
    EXPECT_EQ(r.errors(1), c.error) << c.what;
    EXPECT_FALSE(r.marked_done(m.at));
    EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), 0u);
  }
  Rig r = make();
  Message m;
  m.hash = &kHashes[4], m.hash_key_bytes = 48;
  m.build(r);
  r.submit(1, m.at);
  r.settle();
  EXPECT_EQ(r.errors(1), r.sec3() ? 0u : ce::kIeu) << "no MDEU-B on SEC 2.1";
}

TEST_P(Pairs, ErrorsOfEitherUnitAndOfTheBus) {
  struct Case {
    const char* what;
    std::function<void(Rig&, const Message&, Descriptor&)> spoil;
    uint64_t error;
    Eu unit;
    uint64_t cause;
  };
  const Case cases[] = {
      {"AES key", [](Rig&, const Message&, Descriptor& d) { d.ptr[3].length = 17; }, ce::kEu, Eu::Aesu, ee::kKse},
      {"HMAC key", [](Rig&, const Message&, Descriptor& d) { d.ptr[0].length = 65; }, ce::kEu, Eu::MdeuA, ee::kKse},
      {"HMAC key", [](Rig&, const Message&, Descriptor& d) { d.ptr[0].length = 200; }, ce::kEu, Eu::MdeuA, ee::kKse},
      {"data size", [](Rig&, const Message&, Descriptor& d) { d.ptr[4].length = 250; }, ce::kEu, Eu::Aesu, ee::kDse},
      {"hash mode", [](Rig&, const Message&, Descriptor& d) { d.header |= mm::kContinue << 8; }, ce::kEu, Eu::MdeuA, ee::kMe},
      {"HMAC key's bus", [](Rig&, const Message&, Descriptor& d) { d.ptr[0] = PointerDword::to(kHole, 20); }, ce::kMdte, Eu::Aesu, 0},
      {"header's bus", [](Rig&, const Message&, Descriptor& d) { d.ptr[1] = PointerDword::to(kHole, 20); }, ce::kMdte, Eu::Aesu, 0},
      {"ICV in's bus", [](Rig& r, const Message& m, Descriptor&) { r.map.inject_fault(m.in() + m.bytes, 3); }, ce::kMdte, Eu::Aesu, 0},
      {"ICV out's bus", [](Rig& r, const Message& m, Descriptor&) { r.map.inject_fault(m.out() + m.bytes + 5, 3); }, ce::kMdte, Eu::Aesu, 0},
      {"IV out's bus", [](Rig& r, const Message& m, Descriptor&) { r.map.inject_fault(m.iv_out() + 5, 3); }, ce::kMdte, Eu::Aesu, 0},
      {"data in's bus", [](Rig& r, const Message& m, Descriptor&) { r.map.inject_fault(m.in() + 130, 3); }, ce::kMdte, Eu::Aesu, 0},
      {"data out's bus", [](Rig& r, const Message& m, Descriptor&) { r.map.inject_fault(m.out() + 130, 3); }, ce::kMdte, Eu::Aesu, 0},
      {"unit", [](Rig& r, const Message&, Descriptor&) { r.engine->inject_unit_error(0, 100); }, ce::kEu, Eu::Aesu, ee::kIe},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Rig r = make();
    Message m, next;
    m.inbound = m.check = true;
    next.at = kLow + 0x10000;
    Descriptor d = m.build(r);
    c.spoil(r, m, d);
    d.store(r.at(m.at));
    next.build(r);
    r.submit(0, m.at);
    r.submit(0, next.at);
    r.settle();
    EXPECT_EQ(r.errors(0), c.error);
    EXPECT_EQ(r.eu(c.unit, regs::kEuInterruptStatus), c.cause);
    EXPECT_FALSE(r.marked_done(m.at));
    EXPECT_EQ(read_back(r, m.at).feedback, 0xffffffffu);
    EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), regs::kEUASR.field("AESU").put(1) | regs::kEUASR.field("MDEU").put(1)) << "both held";
    r.map.clear_faults();
    r.engine->inject_unit_error(0, ~uint64_t{0});
    r.control(0, kContinue);
    r.settle();
    next.expect(r);
    EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), 0u);
  }
}

// ---- hashes by descriptor (type 2) ----

struct Digest {
  BusAddr at = kLow;
  const HashKind* hash = &kHashes[1];
  uint8_t mode = mm::kInit | mm::kPad;
  Bytes context, key, data, icv;
  uint16_t out_bytes = 20;
  BusAddr out() const { return at + 0x300; }
  Descriptor build(Rig& r) const {
    Descriptor d;
    d.header = regs::make_header(hash->eu, mode | hash->mode, Eu::None, 0, DescriptorType::CommonNonsnoop, false, true);
    auto put = [&](BusAddr a, const Bytes& b) {
      r.put(a, b);
      return b.empty() ? PointerDword{} : PointerDword::to(a, static_cast<uint16_t>(b.size()));
    };
    d.ptr[1] = put(at + 0x100, context);
    d.ptr[2] = put(at + 0x180, key);
    d.ptr[3] = put(at + 0x1003, data);
    d.ptr[4] = put(at + 0x280, icv);
    if (out_bytes) d.ptr[5] = PointerDword::to(out(), out_bytes);
    d.store(r.at(at));
    return d;
  }
  Bytes run(Rig& r) const {
    r.put(out(), Bytes(0x80, 0xEE));
    build(r);
    r.submit(0, at);
    r.settle();
    EXPECT_EQ(r.errors(0), 0u);
    EXPECT_TRUE(r.marked_done(at));
    EXPECT_TRUE(Rig::untouched(r.get(out() + out_bytes, 16)));
    return r.get(out(), out_bytes);
  }
};

TEST_P(Pairs, HashesInOneDescriptor) {
  Rig r = make();
  for (const HashKind& h : kHashes) {
    if (!has(h)) continue;
    for (const size_t n : {0, 1, 55, 56, 64, 111, 112, 128, 1400, 20000})
      for (const bool keyed : {false, true}) {
        Digest d;
        d.hash = &h, d.out_bytes = h.digest, d.data = pattern(n, static_cast<uint32_t>(n));
        if (keyed) d.key = pattern(h.block - n % 3, 5), d.mode |= mm::kHmac;
        EXPECT_EQ(d.run(r), keyed ? hmac(h, d.key, d.data) : hash(h, d.data)) << h.name << " " << n << keyed;
        d.out_bytes = 11;  // truncated
        EXPECT_EQ(d.run(r), first(keyed ? hmac(h, d.key, d.data) : hash(h, d.data), 11));
      }
  }
}

TEST_P(Pairs, HashesInPieces) {
  Rig r = make();
  for (const HashKind& h : kHashes) {
    if (!has(h)) continue;
    for (const bool keyed : {false, true}) {
      const Bytes data = pattern(h.block * 5u + 17, 3), key = pattern(h.digest, 4);
      const uint16_t context = h.block == 128 ? 0x48 : 0x28;
      auto piece = [&](size_t from, size_t n) { return Bytes(data.begin() + static_cast<long>(from), data.begin() + static_cast<long>(from + n)); };
      Digest a;
      a.hash = &h, a.mode = mm::kInit | mm::kContinue | (keyed ? mm::kHmac : 0), a.data = piece(0, h.block), a.out_bytes = context;
      if (keyed) a.key = key;
      Digest b = a;
      b.mode = mm::kContinue, b.key = {}, b.data = piece(h.block, h.block * 3u);
      b.context = a.run(r);
      Digest c = a;
      c.mode = mm::kPad | (keyed ? mm::kHmac : 0), c.data = piece(h.block * 4u, h.block + 17u), c.out_bytes = h.digest;
      c.context = b.run(r);
      EXPECT_EQ(c.run(r), keyed ? hmac(h, key, data) : hash(h, data)) << h.name << keyed;
    }
  }
}

TEST_P(Pairs, HashIcvCheck) {
  for (const bool wrong : {false, true})
    for (const bool masked : {false, true}) {
      Rig r = make();
      if (masked) r.set_eu(Eu::MdeuA, regs::kEuInterruptControl, lo(ee::kIce));
      Digest d;
      d.key = pattern(20, 1), d.data = pattern(300, 2), d.mode |= mm::kHmac | mm::kCheckIcv;
      d.icv = first(hmac(kHashes[1], d.key, d.data), 12);
      if (wrong) d.icv[11] ^= 1;
      d.build(r);
      r.submit(0, d.at);
      r.settle();
      const Descriptor back = read_back(r, d.at);
      EXPECT_EQ(back.done(), !wrong || masked);
      EXPECT_EQ(r.errors(0), wrong && !masked ? ce::kEu : 0u);
      if (!wrong || masked) {
        EXPECT_EQ(back.iccr0(), wrong ? IntegrityCheck::Fail : IntegrityCheck::Pass);
        EXPECT_EQ(back.iccr1(), IntegrityCheck::None);
      }
    }
}

}  // namespace
}  // namespace sec::test
