// AFEU, RNGU, CRCU, KEU, STEU and PKEU: as a channel drives them and through their registers, against published vectors
// and libraries that share no code with the units: intel-ipsec-mb (KASUMI, SNOW 3G), Boost.CRC, OpenSSL's elliptic
// curves, RSA and Montgomery arithmetic.
#include <intel-ipsec-mb.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/rsa.h>

#include <boost/crc.hpp>

#include "hw/eu/pkeu.h"
#include "hw/eu/rngu.h"
#include "hw/regs/afeu.h"
#include "hw/regs/crcu.h"
#include "hw/regs/keu.h"
#include "hw/regs/pkeu.h"
#include "hw/regs/rngu.h"
#include "hw/regs/steu.h"
#include "tests/support/rsp_vectors.h"
#include "tests/unit/hw_unit_support.h"

namespace sec::test {
namespace {
using hw::PkeuOperand;
using regs::DescriptorType;
using regs::Eu;
using regs::IntegrityCheck;

constexpr uint32_t lo(uint64_t m) { return static_cast<uint32_t>(m); }
constexpr uint32_t kSr = lo(regs::kEuResetControl.mask("SR")), kRi = lo(regs::kEuResetControl.mask("RI"));
constexpr uint32_t kRd = lo(regs::kEuStatus.mask("RD")), kId = lo(regs::kEuStatus.mask("ID")),
                   kIe = lo(regs::kEuStatus.mask("IE")), kOfr = lo(regs::kEuStatus.mask("OFR")),
                   kIfw = lo(regs::kEuStatus.mask("IFW")), kHalt = lo(regs::kEuStatus.mask("HALT"));

std::string hex(const Bytes& b) { return to_hex(b); }
Bytes be32(uint32_t v) {
  Bytes b(4);
  store_be32(b.data(), v);
  return b;
}

/// A unit behind its registers.
struct Window {
  hw::ExecutionUnit& u;
  uint32_t get(const regs::Register& r) { return u.read32(r.offset_bytes + 4); }
  void set(const regs::Register& r, uint32_t v) { u.write32(r.offset_bytes + 4, v); }
  uint32_t status() { return get(regs::kEuStatus); }
  uint32_t causes() { return get(regs::kEuInterruptStatus); }
  uint32_t level() { return static_cast<uint32_t>(regs::kEuStatus.field("OFL").get(status())); }
  void put(uint32_t at, const Bytes& b) {
    for (uint32_t i = 0; i < b.size(); i += 4) {
      uint8_t word[4] = {};
      std::copy_n(b.begin() + i, std::min<size_t>(4, b.size() - i), word);
      u.write32(at + i, load_be32(word));
    }
  }
  Bytes take(uint32_t at, size_t n) {
    Bytes b((n + 3) / 4 * 4);
    for (uint32_t i = 0; i < b.size(); i += 4) store_be32(&b[i], u.read32(at + i));
    b.resize(n);
    return b;
  }
  void start(uint8_t mode, const Bytes& key, size_t bytes) {
    set(regs::kEuMode, mode);
    put(regs::kEuKey.offset_bytes, key);
    set(regs::kEuKeySize, static_cast<uint32_t>(key.size()));
    set(regs::kEuDataSize, static_cast<uint32_t>(8 * bytes));
  }
  void push(Bytes b) {
    b.resize((b.size() + 7) / 8 * 8);
    for (size_t i = 0; i < b.size(); i += 8) put(regs::kEuFifo.offset_bytes, part_of(b, i, 8));
  }
  Bytes pop() { return take(regs::kEuFifo.offset_bytes, 8); }
  /// Feeds while there is room, drains while there is output.
  Bytes run(const Bytes& in, bool writes) {
    Bytes out;
    for (size_t at = 0; at < in.size() || status() & kOfr;) {
      if (at < in.size() && status() & kIfw) {
        push(part_of(in, at, std::min<size_t>(8, in.size() - at)));
        at += 8;
      }
      if (at >= in.size()) set(regs::kEuGo, 1);
      while (status() & kOfr && out.size() < in.size()) out = out + pop();
      if (at >= in.size() && out.size() >= in.size()) break;
    }
    if (writes) out.resize(in.size());
    return out;
  }
};

// ---------------------------------------------------------------------------------------------------- AFEU

constexpr uint8_t kFirst = 0x02, kNext = 0x07;  // as the vendor's headers have them

TEST(Afeu, Rfc6229) {
  const auto u = unit_of("p2020", Eu::Afeu);
  unsigned checked = 0;
  for (const char* file :
       {"rfc-6229-40.txt", "rfc-6229-56.txt", "rfc-6229-64.txt", "rfc-6229-80.txt", "rfc-6229-128.txt", "arc4.txt"}) {
    const auto vectors = load_vectors(std::string("ciphers/ARC4/") + file);
    if (vectors.empty()) GTEST_SKIP() << kNoVectors;
    for (const Vector& v : vectors) {
      const Bytes key = v.bytes("KEY");
      if (key.size() < 5 || key.size() > 16) continue;
      const size_t offset = v.has("OFFSET") ? v.number("OFFSET") : 0;
      const Bytes text = v.bytes("PLAINTEXT"), want = v.bytes("CIPHERTEXT");
      const UnitResult r = run_unit(*u, {.mode = 0, .key = key, .data = Bytes(offset) + text, .split = ++checked});
      EXPECT_EQ(r.begin_error | r.error, 0u);
      EXPECT_EQ(hex(last_of(r.out, text.size())), hex(want)) << file << " offset " << offset;
    }
  }
  EXPECT_GT(checked, 80u);
}

TEST(Afeu, StreamInPiecesByContext) {
  const auto u = unit_of("p2020", Eu::Afeu);
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 rng(seed);
    const Bytes key = random_bytes(rng, 5 + seed % 12), data = random_bytes(rng, 1 + rng() % 3000);
    const UnitResult whole = run_unit(*u, {.mode = kFirst, .key = key, .data = data});
    EXPECT_EQ(whole.context.size(), regs::kAfeuContextBytes);
    EXPECT_EQ(whole.startup_clocks, 768u);
    Bytes out, context;
    for (size_t at = 0; at < data.size();) {
      const size_t n = 1 + rng() % (data.size() - at);
      u->set_owned_by_channel(true);
      const UnitResult r = run_unit(*u, {.mode = at ? kNext : kFirst,
                                         .key = at ? Bytes{} : key,
                                         .context = context,
                                         .data = part_of(data, at, n),
                                         .split = seed});
      u->set_owned_by_channel(false);
      ASSERT_EQ(r.begin_error | r.error, 0u) << seed;
      EXPECT_EQ(r.startup_clocks, at ? 0u : 768u) << "the S-box is set up only once";
      out = out + r.out;
      context = r.context;
      at += n;
    }
    EXPECT_EQ(out, whole.out) << seed;
    EXPECT_EQ(context, whole.context) << seed;
  }
}

TEST(Afeu, ThroughRegistersWithContextInTheFifo) {
  const auto u = unit_of("p2020", Eu::Afeu);
  Window w{*u};
  const Bytes key = filler(13, 1), data = filler(1000, 2);
  const Bytes want = run_unit(*u, {.key = key, .data = data}).out;
  w.set(regs::kEuResetControl, kSr);
  auto load_key = [&] {
    w.put(regs::kAfeuKey1.offset_bytes, first_of(key, 8));
    w.put(regs::kAfeuKey2.offset_bytes, last_of(key, 5));
    w.set(regs::kEuKeySize, 13);
  };
  load_key();
  w.set(regs::kEuMode, kFirst);
  w.set(regs::kEuDataSize, 8 * 600);
  Bytes out = w.run(first_of(data, 600), true);
  EXPECT_EQ(w.status() & kId, kId);
  EXPECT_EQ(w.level(), 32u);
  Bytes context;
  for (int i = 0; i < 33; ++i) context = context + w.pop();
  EXPECT_EQ(w.status() & kOfr, 0u);
  EXPECT_EQ(w.causes(), 0u);
  EXPECT_EQ(w.take(regs::kAfeuContext.offset_bytes, 256), first_of(context, 256))
      << "the context memory shows the S-box";
  EXPECT_EQ(w.take(regs::kAfeuPointers.offset_bytes, 2), part_of(context, 256, 2));

  w.set(regs::kEuResetControl, kSr);  // another stream could have been here
  w.set(regs::kEuMode, kNext);
  w.set(regs::kEuDataSize, 8 * 400);
  w.push(context);
  out = out + w.run(last_of(data, 400), true);
  EXPECT_EQ(hex(out), hex(want));

  // The same from the context memory, without the FIFO.
  w.set(regs::kEuResetControl, kSr);
  w.set(regs::kEuMode, 0x01);
  w.put(regs::kAfeuContext.offset_bytes, first_of(context, 260));
  w.set(regs::kEuDataSize, 8 * 400);
  EXPECT_EQ(hex(w.run(last_of(data, 400), true)), hex(last_of(want, 400)));
  w.pop();
  EXPECT_EQ(w.causes(), ee::kOfu) << "nothing was dumped";
}

TEST(Afeu, Errors) {
  const auto u = unit_of("p2020", Eu::Afeu);
  const Bytes data = filler(16, 1), context = filler(259, 2);
  auto error = [&](uint8_t mode, size_t key, const Bytes& c) {
    return run_unit(*u, {.mode = mode, .key = filler(key, 3), .context = c, .data = data}).begin_error;
  };
  for (const size_t n : {0u, 4u, 17u, 32u}) EXPECT_EQ(error(0, n, {}), ee::kKse) << n;
  for (const size_t n : {5u, 16u}) EXPECT_EQ(error(0, n, {}), 0u) << n;
  EXPECT_EQ(error(kNext, 0, context), 0u);
  EXPECT_EQ(error(kNext, 3, context), ee::kKse);
  EXPECT_EQ(error(0x04, 16, context), ee::kMe) << "CS without PP";
  EXPECT_EQ(error(0x08, 16, {}), ee::kMe);
  EXPECT_EQ(error(0x80, 16, {}), ee::kMe);
  EXPECT_EQ(error(kNext, 0, first_of(context, 257)), ee::kDse);
  EXPECT_EQ(error(kNext, 0, first_of(context, 258)), 0u);
  EXPECT_EQ(error(0x01, 0, {}), ee::kDse);

  Window w{*u};
  w.set(regs::kEuResetControl, kSr);
  w.start(0, filler(8, 1), 64);
  w.put(regs::kAfeuKey2.offset_bytes, be32(1));
  EXPECT_EQ(w.causes(), ee::kCe) << "a key while busy";
  w.set(regs::kEuResetControl, kSr);
  w.start(0, filler(8, 1), 64);
  w.take(regs::kAfeuContext.offset_bytes, 4);
  EXPECT_EQ(w.causes(), ee::kEre);
  u->set_owned_by_channel(true);
  w.set(regs::kEuResetControl, kSr);
  EXPECT_EQ(w.causes() & ee::kCe, ee::kCe) << "a channel holds it";
}

// ---------------------------------------------------------------------------------------------------- RNGU

struct Random : testing::Test {
  std::unique_ptr<hw::ExecutionUnit> unit = unit_of("p2020", Eu::Rngu);
  hw::Rngu& rng = static_cast<hw::Rngu&>(*unit);
  Window w{*unit};
  uint32_t hi() { return unit->read32(regs::kRnguFifo.offset_bytes); }
  uint32_t low() { return unit->read32(regs::kRnguFifo.offset_bytes + 4); }
  uint64_t word() {
    const uint64_t h = hi();
    return h << 32 | low();
  }
  void reset_and_start() {
    w.set(regs::kRnguResetControl, kSr);
    EXPECT_EQ(w.status() & kRd, kRd);
    w.set(regs::kRnguDataSize, 0);
  }
};

TEST_F(Random, FifoIsAlwaysFullWithoutTime) {
  EXPECT_EQ(w.status(), kRd) << "not started";
  reset_and_start();
  EXPECT_EQ(w.level(), 32u);
  EXPECT_EQ(w.status() & kOfr, kOfr);
  std::vector<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.push_back(word());
    EXPECT_EQ(w.level(), 32u);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(w.causes(), 0u);
}

TEST_F(Random, OneWordEvery256Clocks) {
  uint64_t clock = 1000;
  auto at = [&](uint64_t c) { unit->set_now(clock = c, true); };
  at(1000);
  reset_and_start();
  EXPECT_EQ(w.level(), 0u);
  at(1255);
  EXPECT_EQ(w.level(), 0u);
  at(1256);
  EXPECT_EQ(w.level(), 1u);
  at(1000 + 256 * 31 + 255);
  EXPECT_EQ(w.level(), 31u);
  at(1000 + 256 * 40);
  EXPECT_EQ(w.level(), 32u) << "full, and it has stopped";
  word();
  EXPECT_EQ(w.level(), 31u);
  at(clock + 255);
  EXPECT_EQ(w.level(), 31u) << "a word is begun when there is room again";
  at(clock + 1);
  EXPECT_EQ(w.level(), 32u);
  word(), word();
  at(clock + 100);
  word();
  EXPECT_EQ(w.level(), 29u);
  at(clock + 156);
  EXPECT_EQ(w.level(), 30u) << "reading does not delay the word in the making";
  while (w.level()) word();
  EXPECT_EQ(w.causes(), 0u);
  EXPECT_EQ(word(), 0u);
  EXPECT_EQ(w.causes(), ee::kOfu);
  EXPECT_EQ(w.status() & (kIe | kHalt), kIe | kHalt);
}

TEST_F(Random, HalvesInTheWrongOrder) {
  reset_and_start();
  EXPECT_EQ(low(), 0u);
  EXPECT_EQ(w.causes(), ee::kAe);
  w.set(regs::kRnguResetControl, kRi);
  EXPECT_EQ(w.causes(), 0u);
  word();
  EXPECT_EQ(w.causes(), 0u);
  hi();
  EXPECT_EQ(hi(), 0u);
  EXPECT_EQ(w.causes(), ee::kAe);
  EXPECT_TRUE(unit->error_pending());
  w.set(regs::kRnguResetControl, kSr);
  EXPECT_EQ(w.level(), 0u) << "a reset stops it";
  EXPECT_EQ(hi(), 0u);
  EXPECT_EQ(w.causes(), ee::kOfu);
  EXPECT_EQ(unit->read32(regs::kRnguFifo.offset_bytes, true), 0u) << "peeking changes nothing";
}

TEST_F(Random, OtherErrors) {
  w.set(regs::kRnguMode, 1);
  w.set(regs::kRnguDataSize, 0);
  EXPECT_EQ(w.causes(), ee::kMe);
  EXPECT_EQ(w.level(), 0u);
  w.set(regs::kRnguResetControl, kSr);
  w.set(regs::kRnguFifo, 1);
  EXPECT_EQ(w.causes(), ee::kAe);
  w.set(regs::kRnguResetControl, kSr);
  w.put(regs::kEuKey.offset_bytes, be32(1));
  EXPECT_EQ(w.causes(), ee::kAe) << "it has no key";
  for (const regs::Register& r : {regs::kEuKeySize, regs::kEuGo}) {
    w.set(regs::kRnguResetControl, kSr);
    w.set(r, 1);
    EXPECT_EQ(w.causes(), ee::kAe) << r.name;
  }
  w.set(regs::kRnguResetControl, kSr);
  w.set(regs::kRnguInterruptControl, lo(ee::kAe));
  low();
  EXPECT_EQ(w.causes(), ee::kAe);
  EXPECT_FALSE(unit->error_pending()) << "masked";
  w.set(regs::kRnguResetControl, kSr);
  unit->set_owned_by_channel(true);
  w.set(regs::kRnguDataSize, 0);
  EXPECT_EQ(w.causes(), ee::kCe);
  hi();
  EXPECT_EQ(w.causes(), ee::kCe | ee::kAe);
}

TEST_F(Random, SeedsRepeatAndEntropyDoesNot) {
  auto draw = [&] {
    reset_and_start();
    Bytes b(64);
    for (size_t i = 0; i < b.size(); i += 8) store_be64(&b[i], word());
    return b;
  };
  auto fresh = [] { return unit_of("p2020", Eu::Rngu); };
  const Bytes first = draw(), second = draw();
  EXPECT_NE(first, second) << "a reset does not start the sequence anew";
  rng.set_seed(hw::Rngu::kDefaultSeed);
  EXPECT_EQ(draw(), first);
  rng.set_seed(77);
  const Bytes other = draw();
  EXPECT_NE(other, first);
  rng.set_seed(77);
  EXPECT_EQ(draw(), other);
  rng.set_seed(77);
  rng.use_entropy();
  const Bytes a = draw(), b = draw();
  EXPECT_NE(a, b);
  EXPECT_NE(a, other) << "not the seed's numbers";

  const auto u = fresh();  // by descriptor: the same words
  u->reset_for_channel();
  EXPECT_FALSE(u->reads_input());
  EXPECT_EQ(u->begin({.data_bytes = 61}), 0u);
  Bytes out(61);
  u->process(nullptr, out.data(), out.size());
  EXPECT_EQ(u->finish(), 0u);
  EXPECT_EQ(out, first_of(first, 61));
  EXPECT_EQ(u->block_bytes(), 8u);
  EXPECT_EQ(u->block_clocks(), 256u);
  u->reset_for_channel();
  EXPECT_EQ(u->begin({.mode = 2, .data_bytes = 8}), ee::kMe);
}

// ---------------------------------------------------------------------------------------------------- CRCU

const Bytes kDigits = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};

/// The CRC as it goes over the wire, by Boost.
Bytes boost_crc(uint32_t polynomial, const Bytes& data, bool raw) {
  boost::crc_basic<32> crc(polynomial, 0xffffffff, raw ? 0 : 0xffffffff, true, !raw);
  crc.process_bytes(data.data(), data.size());
  Bytes b = be32(static_cast<uint32_t>(crc.checksum()));
  if (!raw) std::reverse(b.begin(), b.end());
  return b;
}

TEST(Crcu, CheckValues) {
  const auto u = unit_of("p2020", Eu::Crcu);
  EXPECT_EQ(hex(run_unit(*u, {.mode = 0, .data = kDigits}).icv), "2639f4cb");  // cbf43926
  EXPECT_EQ(hex(run_unit(*u, {.mode = 1, .data = kDigits}).icv), "839206e3");  // e3069283
  EXPECT_EQ(hex(run_unit(*u, {.mode = 1, .data = Bytes(32)}).icv), "aa36918a") << "RFC 3720, B.4";
  EXPECT_EQ(hex(run_unit(*u, {.mode = 1, .data = Bytes(32, 0xff)}).icv), "43aba862") << "RFC 3720, B.4";
  EXPECT_EQ(hex(run_unit(*u, {.mode = 0}).icv), "00000000");
}

TEST(Crcu, EqualsBoost) {
  const auto u = unit_of("p2020", Eu::Crcu);
  Window w{*u};
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    std::mt19937 rng(seed);
    const uint8_t algorithm = static_cast<uint8_t>(rng() % 4), raw = rng() % 2 ? regs::crcu_mode::kRaw : 0;
    const uint32_t polynomial = algorithm == 0   ? 0x04c11db7u
                                : algorithm == 1 ? 0x1edc6f41u
                                                 : static_cast<uint32_t>(rng() | 1);
    const Bytes data = random_bytes(rng, rng() % 300);
    if (algorithm == 2) w.set(regs::kCrcuControl, polynomial);
    UnitJob j{.mode = static_cast<uint8_t>(algorithm | raw), .data = data, .split = seed};
    if (algorithm == 3) j.key = be32(polynomial);
    const UnitResult r = run_unit(*u, j);
    ASSERT_EQ(r.begin_error | r.error, 0u) << "seed " << seed;
    ASSERT_EQ(hex(r.icv), hex(boost_crc(polynomial, data, raw))) << "seed " << seed;
    ASSERT_EQ(r.context, r.icv);
  }
}

TEST(Crcu, MessageInPieces) {
  const auto u = unit_of("p2020", Eu::Crcu);
  for (unsigned seed = 1; seed <= 100; ++seed) {
    std::mt19937 rng(seed);
    const Bytes data = random_bytes(rng, 2 + rng() % 500);
    const size_t cut = 1 + rng() % (data.size() - 1);
    const UnitResult first = run_unit(*u, {.mode = 0x81, .data = first_of(data, cut)});
    const UnitResult last =
        run_unit(*u, {.mode = 0x01, .context = first.context, .data = last_of(data, data.size() - cut)});
    EXPECT_EQ(last.icv, boost_crc(0x1edc6f41, data, false)) << "seed " << seed;
  }
}

TEST(Crcu, CompareAndErrors) {
  const auto u = unit_of("p2020", Eu::Crcu);
  Bytes good = boost_crc(0x04c11db7, kDigits, false), bad = good;
  bad[3] ^= 1;
  UnitResult r = run_unit(*u, {.mode = 0x40, .data = kDigits, .received = good});
  EXPECT_EQ(r.error, 0u);
  EXPECT_EQ(r.verdict, IntegrityCheck::Pass);
  r = run_unit(*u, {.mode = 0x40, .data = kDigits, .received = bad});
  EXPECT_EQ(r.error, ee::kIce);
  EXPECT_EQ(r.verdict, IntegrityCheck::Fail);
  r = run_unit(*u, {.mode = 0x40, .data = kDigits, .received = bad, .icv_bytes = 3});
  EXPECT_EQ(r.verdict, IntegrityCheck::Pass) << "the ICV size leaves the last byte out";
  r = run_unit(*u, {.mode = 0x00, .data = kDigits, .received = bad});
  EXPECT_EQ(r.verdict, IntegrityCheck::None);
  Window w{*u};
  w.set(regs::kCrcuInterruptControl, lo(ee::kIce));
  r = run_unit(*u, {.mode = 0x40, .data = kDigits, .received = bad});
  EXPECT_EQ(r.error, 0u) << "masked";
  EXPECT_EQ(r.verdict, IntegrityCheck::Fail);
  EXPECT_EQ(r.status, ee::kIce);

  for (const uint8_t mode : {0x04, 0x08, 0x10, 0x20})
    EXPECT_EQ(run_unit(*u, {.mode = mode, .data = kDigits}).begin_error, ee::kMe);
  for (const size_t n : {0u, 3u, 5u, 8u})
    EXPECT_EQ(run_unit(*u, {.mode = 0x03, .key = filler(n, 1), .data = kDigits}).begin_error, ee::kKse) << n;
}

TEST(Crcu, ThroughRegisters) {
  const auto u = unit_of("p2020", Eu::Crcu);
  Window w{*u};
  const Bytes data = filler(300, 4);
  w.set(regs::kEuResetControl, kSr);
  w.start(0, {}, data.size());
  w.run(data, false);
  EXPECT_EQ(w.status() & kId, kId);
  EXPECT_EQ(hex(w.take(regs::kCrcuContext.offset_bytes, 4)), hex(boost_crc(0x04c11db7, data, false)));
  // In two pieces, with a polynomial of our own; the key's register holds it, too.
  for (const uint8_t algorithm : {2, 3}) {
    const Bytes polynomial = be32(0x814141ab);
    w.set(regs::kEuResetControl, kSr);
    if (algorithm == 2) {
      w.set(regs::kCrcuControl, 0x814141ab);
      EXPECT_EQ(w.get(regs::kCrcuControl), 0x814141abu);
    }
    w.start(0x80 | algorithm, algorithm == 3 ? polynomial : Bytes{}, 100);
    w.run(first_of(data, 100), false);
    const Bytes middle = w.take(regs::kCrcuContext.offset_bytes, 4);
    w.set(regs::kEuResetControl, kSr);
    w.put(regs::kCrcuContext.offset_bytes, middle);
    w.start(algorithm, algorithm == 3 ? polynomial : Bytes{}, 200);
    w.run(last_of(data, 200), false);
    EXPECT_EQ(hex(w.take(regs::kCrcuContext.offset_bytes, 4)), hex(boost_crc(0x814141ab, data, false)));
    EXPECT_EQ(w.causes(), 0u);
  }
  w.set(regs::kEuResetControl, kSr);
  w.start(0, {}, 64);
  w.set(regs::kCrcuControl, 1);
  EXPECT_EQ(w.causes(), ee::kCe);
  w.set(regs::kEuResetControl, kSr);
  w.start(0, {}, 64);
  w.take(regs::kCrcuContext.offset_bytes, 4);
  EXPECT_EQ(w.causes(), ee::kEre);
}

// ---------------------------------------------------------------------------------------------------- KEU, STEU

/// intel-ipsec-mb.
struct Ipsec {
  IMB_MGR* m = alloc_mb_mgr(0);
  Ipsec() { init_mb_mgr_auto(m, nullptr); }
  ~Ipsec() { free_mb_mgr(m); }

  struct Call {
    uint32_t count, fresh;
    uint8_t bearer, direction;
    Bytes key, data;
  };
  Bytes kasumi_f8(const Call& c) {
    kasumi_key_sched_t k;
    EXPECT_EQ(IMB_KASUMI_INIT_F8_KEY_SCHED(m, c.key.data(), &k), 0);
    uint64_t iv[2];
    EXPECT_EQ(kasumi_f8_iv_gen(c.count, c.bearer, c.direction, iv), 0);
    Bytes out(c.data.size());
    IMB_KASUMI_F8_1_BUFFER(m, &k, iv[0], c.data.data(), out.data(), static_cast<uint32_t>(c.data.size()));
    return out;
  }
  Bytes kasumi_f9(const Call& c) {
    kasumi_key_sched_t k;
    EXPECT_EQ(IMB_KASUMI_INIT_F9_KEY_SCHED(m, c.key.data(), &k), 0);
    Bytes text = be32(c.count) + be32(c.fresh) + c.data;
    text.push_back(static_cast<uint8_t>(c.direction << 7 | 0x40));
    text.resize((text.size() + 7) / 8 * 8);
    Bytes mac(4);
    IMB_KASUMI_F9_1_BUFFER(m, &k, text.data(), static_cast<uint32_t>(text.size()), mac.data());
    return mac;
  }
  Bytes snow_f8(const Call& c) {
    snow3g_key_schedule_t k;
    EXPECT_EQ(IMB_SNOW3G_INIT_KEY_SCHED(m, c.key.data(), &k), 0);
    alignas(16) uint8_t iv[16];
    EXPECT_EQ(snow3g_f8_iv_gen(c.count, c.bearer, c.direction, iv), 0);
    Bytes out(c.data.size());
    IMB_SNOW3G_F8_1_BUFFER(m, &k, iv, c.data.data(), out.data(), static_cast<uint32_t>(c.data.size()));
    return out;
  }
  Bytes snow_f9(const Call& c) {
    snow3g_key_schedule_t k;
    EXPECT_EQ(IMB_SNOW3G_INIT_KEY_SCHED(m, c.key.data(), &k), 0);
    alignas(16) uint8_t iv[16];
    EXPECT_EQ(snow3g_f9_iv_gen(c.count, c.fresh, c.direction, iv), 0);
    Bytes mac(4);
    IMB_SNOW3G_F9_1_BUFFER(m, &k, iv, c.data.data(), 8 * uint64_t{c.data.size()}, mac.data());
    return mac;
  }
};

Bytes f8_context(const Ipsec::Call& c) {
  return be32(c.count) + be32(uint32_t{c.bearer} << 27 | uint32_t{c.direction} << 26);
}
Bytes f9_context(const Ipsec::Call& c, const Bytes& mac = Bytes(4)) {
  return be32(c.count) + be32(uint32_t{c.direction} << 26) + Bytes(4) + mac + Bytes(4) + be32(c.fresh);
}
Ipsec::Call draw(std::mt19937& rng, size_t most, size_t least = 1) {
  return {.count = static_cast<uint32_t>(rng()),
          .fresh = static_cast<uint32_t>(rng()),
          .bearer = static_cast<uint8_t>(rng() % 32),
          .direction = static_cast<uint8_t>(rng() % 2),
          .key = random_bytes(rng, 16),
          .data = random_bytes(rng, least + rng() % (most - least + 1))};
}

constexpr uint8_t kInit = 0x08, kEom = 0x10, kCicv = 0x40;
constexpr uint8_t kKeuF8 = 0x00, kKeuF9 = 0x02, kSteuF8 = 0x01, kSteuF9 = 0x02;

struct Wireless {
  Eu eu;
  uint8_t f8, f9;
  Bytes (Ipsec::*oracle_f8)(const Ipsec::Call&);
  Bytes (Ipsec::*oracle_f9)(const Ipsec::Call&);
};
class F8F9 : public testing::TestWithParam<Wireless> {
 protected:
  std::unique_ptr<hw::ExecutionUnit> u = unit_of("p2020", GetParam().eu);
  Window w{*u};
  Ipsec mb;
  uint8_t f8(uint8_t bits) const { return GetParam().f8 | bits; }
  uint8_t f9(uint8_t bits) const { return GetParam().f9 | bits; }
  Bytes want_f8(const Ipsec::Call& c) { return (mb.*GetParam().oracle_f8)(c); }
  Bytes want_f9(const Ipsec::Call& c) { return (mb.*GetParam().oracle_f9)(c); }
};
INSTANTIATE_TEST_SUITE_P(Units, F8F9,
                         testing::Values(Wireless{Eu::Keu, kKeuF8, kKeuF9, &Ipsec::kasumi_f8, &Ipsec::kasumi_f9},
                                         Wireless{Eu::Steu, kSteuF8, kSteuF9, &Ipsec::snow_f8, &Ipsec::snow_f9}),
                         [](const auto& p) { return p.param.eu == Eu::Keu ? "KEU" : "STEU"; });

TEST_P(F8F9, EqualsIpsecMb) {
  for (unsigned seed = 1; seed <= 1000; ++seed) {
    std::mt19937 rng(seed);
    const Ipsec::Call c = draw(rng, 400);
    const UnitResult r =
        run_unit(*u, {.mode = f8(kInit), .key = c.key, .context = f8_context(c), .data = c.data, .split = seed});
    ASSERT_EQ(r.begin_error | r.error, 0u) << "seed " << seed;
    ASSERT_EQ(hex(r.out), hex(want_f8(c))) << "f8, seed " << seed;
    const UnitResult m =
        run_unit(*u, {.mode = f9(kInit | kEom), .key = c.key, .context = f9_context(c), .data = c.data, .split = seed});
    ASSERT_EQ(m.begin_error | m.error, 0u) << "seed " << seed;
    ASSERT_EQ(hex(m.icv), "00000000" + hex(want_f9(c))) << "f9, seed " << seed;
    ASSERT_EQ(m.verdict, IntegrityCheck::None);
  }
}

TEST_P(F8F9, PiecesByContext) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 rng(seed);
    const Ipsec::Call c = draw(rng, 600, 17);
    for (const bool mac : {false, true}) {
      Bytes out, context = mac ? f9_context(c) : f8_context(c);
      UnitResult r;
      for (size_t at = 0; at < c.data.size();) {
        const size_t left = c.data.size() - at, n = left <= 8 ? left : 8 * (1 + rng() % (left / 8));
        const uint8_t bits = static_cast<uint8_t>((at ? 0 : kInit) | (n == left ? kEom : 0));
        r = run_unit(
            *u, {.mode = mac ? f9(bits) : f8(bits), .key = c.key, .context = context, .data = part_of(c.data, at, n)});
        ASSERT_EQ(r.begin_error | r.error, 0u);
        if (n != left) {
          EXPECT_TRUE(r.icv.empty()) << "no MAC before the end";
        }
        out = out + r.out;
        context = r.context;
        at += n;
      }
      if (mac)
        ASSERT_EQ(hex(last_of(r.icv, 4)), hex(want_f9(c))) << "seed " << seed;
      else
        ASSERT_EQ(hex(out), hex(want_f8(c))) << "seed " << seed;
    }
  }
}

TEST_P(F8F9, ComparesTheMac) {
  std::mt19937 rng(5);
  const Ipsec::Call c = draw(rng, 100);
  const Bytes good = want_f9(c);
  Bytes bad = good;
  bad[0] ^= 0x80;
  const uint8_t check = f9(kInit | kEom | kCicv);
  auto run = [&](const Bytes& in_context, std::optional<Bytes> received) {
    return run_unit(
        *u, {.mode = check, .key = c.key, .context = f9_context(c, in_context), .data = c.data, .received = received});
  };
  EXPECT_EQ(run(good, {}).verdict, IntegrityCheck::Pass);
  EXPECT_EQ(run(bad, {}).verdict, IntegrityCheck::Fail);
  EXPECT_EQ(run(bad, {}).error, ee::kIce);
  EXPECT_EQ(run(bad, good).verdict, IntegrityCheck::Pass) << "one that came by pointer counts";
  EXPECT_EQ(run(good, bad).verdict, IntegrityCheck::Fail);
  EXPECT_EQ(run(bad, Bytes(4) + good).verdict, IntegrityCheck::Pass) << "as the unit writes it";
  EXPECT_EQ(run(good, Bytes(4) + bad).verdict, IntegrityCheck::Fail);
  w.set(regs::kEuInterruptControl, lo(ee::kIce));
  const UnitResult masked = run(bad, {});
  EXPECT_EQ(masked.error, 0u);
  EXPECT_EQ(masked.verdict, IntegrityCheck::Fail);
}

TEST_P(F8F9, Errors) {
  const Bytes data = filler(24, 1), key = filler(16, 2), context = filler(24, 3);
  auto error = [&](uint8_t mode, const Bytes& k, const Bytes& d) {
    return run_unit(*u, {.mode = mode, .key = k, .context = context, .data = d}).begin_error;
  };
  for (const size_t n : {0u, 8u, 15u, 17u, 24u}) EXPECT_EQ(error(f8(kInit), filler(n, 1), data), ee::kKse) << n;
  EXPECT_EQ(error(f8(kInit | kCicv), key, data), ee::kMe) << "nothing to compare in f8";
  EXPECT_EQ(error(f9(kInit), key, first_of(data, 20)), ee::kDse) << "more is to follow";
  EXPECT_EQ(error(f9(kInit | kEom), key, first_of(data, 20)), 0u);
  EXPECT_EQ(error(f8(kInit), key, first_of(data, 20)), 0u);
  if (GetParam().eu == Eu::Steu) {
    for (const uint8_t mode : {0x00, 0x03, 0x04, 0x20, 0x80})
      EXPECT_EQ(error(mode | kInit, key, data), ee::kMe) << int{mode};
    EXPECT_EQ(error(f8(kInit), filler(32, 1), data), ee::kKse);
  } else {
    for (const uint8_t mode : {0x01, 0x04, 0x06, 0xa0, 0x82, 0x22})
      EXPECT_EQ(error(mode | kInit, key, data), ee::kMe) << int{mode};
    EXPECT_EQ(error(0x88, filler(8, 1), data), 0u) << "A5/3 has short keys";
  }
}

TEST_P(F8F9, ThroughRegisters) {
  std::mt19937 rng(6);
  Ipsec::Call c = draw(rng, 1000, 900);
  c.data.resize(901);
  w.set(regs::kEuResetControl, kSr);
  w.put(regs::kKeuIv1.offset_bytes, f8_context(c));
  w.start(f8(kInit), c.key, c.data.size());
  EXPECT_EQ(hex(w.run(c.data, true)), hex(want_f8(c)));
  EXPECT_EQ(w.status(), kRd | kId | kIfw);
  EXPECT_EQ(w.causes(), 0u);

  const Bytes mac = want_f9(c);
  for (const bool good : {true, false}) {
    w.set(regs::kEuResetControl, kSr);
    w.put(regs::kKeuIv1.offset_bytes, f9_context(c, good ? mac : filler(4, 1)));
    w.start(f9(kInit | kEom | kCicv), c.key, c.data.size());
    w.run(c.data, false);
    EXPECT_EQ(w.get(regs::kKeuF9Mac), load_be32(mac.data()));
    EXPECT_EQ(w.causes(), good ? 0 : ee::kIce);
    EXPECT_EQ(w.status() & (kId | kIe), good ? kId : kIe);
  }
  w.set(regs::kEuResetControl, kSr);
  w.start(f9(kInit | kEom), c.key, 64);
  w.get(regs::kKeuF9Mac);
  EXPECT_EQ(w.causes(), ee::kEre) << "not done yet";
  w.set(regs::kEuResetControl, kSr);
  w.start(f8(kInit), c.key, 8);
  w.pop();
  EXPECT_EQ(w.causes(), ee::kOfu);
  w.set(regs::kEuResetControl, kSr);
  w.put(regs::kKeuIv1.offset_bytes, f8_context(c));
  w.start(f8(kInit), c.key, 8);
  w.put(regs::kKeuIv1.offset_bytes, be32(0));
  EXPECT_EQ(w.causes(), ee::kCe);
}

TEST(Keu, PublishedVectors) {
  const auto u = unit_of("p2020", Eu::Keu);
  // 3GPP TS 35.203: f8 test set 2 (798 bits, of which the whole bytes are compared) and an f9 test set.
  const UnitResult f8 = run_unit(
      *u, {.mode = kKeuF8 | kInit,
           .key = from_hex("2BD6459F82C5B300952C49104881FF48"),
           .context = from_hex("72A4F20F64000000"),
           .data = from_hex(
               "7EC61272743BF1614726446A6C38CED166F6CA76EB5430044286346CEF130F92922B03450D3A9975E5BD2EA0EB55AD8E"
               "1B199E3EC4316020E9A1B285E762795359B7BDFD39BEF4B2484583D5AFE082AEE638BF5FD5A606193901A08F4AB41AAB"
               "9B1348")});
  EXPECT_EQ(hex(f8.out),
            "d1e2de70eef86c6964fb542bc2d460aabfaa10a4a093262b7d199e706fc2d48915532969"
            "10f3a973012682e41c4e2b02be2017b7253bbf9309de5819cb42e81956f4c99bc9765caf53b1d0bb8279826adbbc5522"
            "e915c120a618a5a7f5e89708933965");
  const UnitResult f9 = run_unit(
      *u, {.mode = kKeuF9 | kInit | kEom,
           .key = from_hex("C736C6AAB22BFFF91E2698D2E22AD57E"),
           .context = from_hex("14793E4104000000"
                               "0000000000000000"
                               "000000000397E8FD"),
           .data = from_hex(
               "D0A7D463DF9FB2B278833FA02E235AA172BD970C1473E12907FB648B6599AAA0B24A038665422B20A499276A50427009")});
  EXPECT_EQ(hex(f9.icv), "00000000dd7dfadd");
}

/// Bits [from, from + n) of a string, from the left, padded with zeros.
Bytes bits_of(const Bytes& b, size_t from, size_t n) {
  Bytes r((n + 7) / 8);
  for (size_t i = 0; i < n; ++i)
    if (b[(from + i) / 8] >> (7 - (from + i) % 8) & 1) r[i / 8] |= static_cast<uint8_t>(0x80 >> i % 8);
  return r;
}

TEST(Keu, A53ForGsm) {
  // 3GPP TS 55.217, A5/3 for GSM: the two blocks of 114 bits of a frame.
  const auto u = unit_of("p2020", Eu::Keu);
  const UnitResult r = run_unit(*u, {.mode = 0x80 | kInit,
                                     .key = from_hex("2BD6459F82C5BC00"),
                                     .context = from_hex("0024F20F00000000"),
                                     .data = Bytes(29)});
  EXPECT_EQ(r.begin_error, 0u);
  EXPECT_EQ(hex(bits_of(r.out, 0, 114)), "889eeaaf9ed1ba1abbd8436232e440");
  EXPECT_EQ(hex(bits_of(r.out, 114, 114)), "5ca3406aa244cf69cf047aada2df40");
  const UnitResult doubled = run_unit(*u, {.mode = 0x80 | kInit,
                                           .key = from_hex("2BD6459F82C5BC002BD6459F82C5BC00"),
                                           .context = from_hex("0024F20F00000000"),
                                           .data = Bytes(29)});
  EXPECT_EQ(doubled.out, r.out);
  // No test data is at hand for EDGE: CA = 0xf0, 696 bits, by ipsec-mb's f8 with CA in its IV.
  Ipsec mb;
  std::mt19937 rng(3);
  for (int i = 0; i < 50; ++i) {
    const Bytes kc = random_bytes(rng, 8), key = kc + kc, count = be32(static_cast<uint32_t>(rng() & 0x3fffff));
    kasumi_key_sched_t k;
    ASSERT_EQ(IMB_KASUMI_INIT_F8_KEY_SCHED(mb.m, key.data(), &k), 0);
    for (const uint8_t ca : {0x0f, 0xf0}) {
      const Bytes iv = count + Bytes{0, ca, 0, 0};
      uint64_t word;
      std::memcpy(&word, iv.data(), 8);
      const Bytes zero(87);
      Bytes want(87);
      IMB_KASUMI_F8_1_BUFFER(mb.m, &k, word, zero.data(), want.data(), 87);
      const UnitResult got = run_unit(*u, {.mode = static_cast<uint8_t>((ca == 0x0f ? 0x80 : 0x20) | kInit),
                                           .key = kc,
                                           .context = count + Bytes(4),
                                           .data = zero});
      ASSERT_EQ(hex(got.out), hex(want));
    }
  }
}

TEST(Keu, TwoKeys) {
  const auto u = unit_of("p2020", Eu::Keu);
  Ipsec mb;
  std::mt19937 rng(9);
  const Ipsec::Call a = draw(rng, 50);
  Ipsec::Call b = a;
  b.key = random_bytes(rng, 16);
  const Bytes both = a.key + b.key;
  EXPECT_EQ(run_unit(*u, {.mode = kKeuF8 | kInit, .key = both, .context = f8_context(a), .data = a.data}).out,
            mb.kasumi_f8(a));
  EXPECT_EQ(
      last_of(run_unit(*u, {.mode = kKeuF9 | kInit | kEom, .key = both, .context = f9_context(a), .data = a.data}).icv,
              4),
      mb.kasumi_f9(b));
}

TEST(Steu, PublishedVectors) {
  const auto u = unit_of("p2020", Eu::Steu);
  // ETSI/SAGE UEA2 and UIA2, implementors' test data: f8 test set 1 (253 bits), f9 with 384 bits.
  const UnitResult f8 =
      run_unit(*u, {.mode = kSteuF8 | kInit,
                    .key = from_hex("D3C5D592327FB11C4035C6680AF8C6D1"),
                    .context = from_hex("398A59B4AC000000"),
                    .data = from_hex("981BA6824C1BFB1AB485472029B71D808CE33E2CC3C0B5FC1F3DE8A6DC66B1F0")});
  EXPECT_EQ(hex(first_of(f8.out, 31)), "5d5bfe75eb04f68ce0a12377ea00b37d47c6a0ba06309155086a859c4341b3");
  const UnitResult f9 = run_unit(
      *u, {.mode = kSteuF9 | kInit | kEom,
           .key = from_hex("C736C6AAB22BFFF91E2698D2E22AD57E"),
           .context = from_hex("14793E4104000000"
                               "0000000000000000"
                               "000000000397E8FD"),
           .data = from_hex(
               "D0A7D463DF9FB2B278833FA02E235AA172BD970C1473E12907FB648B6599AAA0B24A038665422B20A499276A50427009")});
  EXPECT_EQ(hex(f9.icv), "0000000038b554c0");
  EXPECT_EQ(f9.block_bytes, 8u);
  EXPECT_EQ(f9.block_clocks, 2u);
  EXPECT_EQ(f8.startup_clocks, 33u);
}

// ---------------------------------------------------------------------------------------------------- PKEU

struct Free {
  void operator()(BIGNUM* p) const { BN_free(p); }
  void operator()(BN_CTX* p) const { BN_CTX_free(p); }
  void operator()(BN_MONT_CTX* p) const { BN_MONT_CTX_free(p); }
  void operator()(EC_GROUP* p) const { EC_GROUP_free(p); }
  void operator()(EC_POINT* p) const { EC_POINT_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(EVP_PKEY_CTX* p) const { EVP_PKEY_CTX_free(p); }
};
using Num = std::unique_ptr<BIGNUM, Free>;
Num number(const Bytes& b) { return Num(BN_bin2bn(b.data(), static_cast<int>(b.size()), nullptr)); }
Num number() { return Num(BN_new()); }
Bytes bytes(const BIGNUM* n, size_t size) {
  Bytes b(size);
  EXPECT_EQ(BN_bn2binpad(n, b.data(), static_cast<int>(size)), static_cast<int>(size));
  return b;
}

struct PublicKey : testing::Test {
  std::unique_ptr<hw::ExecutionUnit> unit = unit_of("p2020", Eu::Pkeu);
  hw::Pkeu& u = static_cast<hw::Pkeu&>(*unit);
  Window w{*unit};
  std::unique_ptr<BN_CTX, Free> ctx{BN_CTX_new()};

  void load(PkeuOperand o, const Bytes& b) { u.load(o, b.data(), static_cast<uint32_t>(b.size())); }
  Bytes store(PkeuOperand o, size_t n) {
    Bytes b(n, 0xEE);
    EXPECT_EQ(u.store(o, b.data(), static_cast<uint32_t>(n)), n);
    return b;
  }
  /// Type 16: N, B, A, E; the result is B.
  uint32_t run(uint8_t routine, const Bytes& n, const Bytes& a, const Bytes& b = {}, const Bytes& e = {}) {
    u.reset_for_channel();
    load(PkeuOperand::N, n);
    if (!b.empty()) load(PkeuOperand::B0, b);
    if (!a.empty()) load(PkeuOperand::A0, a);
    if (!e.empty()) load(PkeuOperand::E, e);
    return u.start(routine, DescriptorType::PkeuMm);
  }
};
Bytes odd(Bytes b) {
  b.back() |= 1;
  b[0] |= 0x80;
  return b;
}

TEST_F(PublicKey, RsaByOpenssl) {
  for (const unsigned bits : {512u, 1024u, 2048u}) {
    std::unique_ptr<EVP_PKEY, Free> key(EVP_RSA_gen(bits));
    ASSERT_TRUE(key);
    BIGNUM *n = nullptr, *e = nullptr, *d = nullptr;
    ASSERT_EQ(EVP_PKEY_get_bn_param(key.get(), "n", &n), 1);
    ASSERT_EQ(EVP_PKEY_get_bn_param(key.get(), "e", &e), 1);
    ASSERT_EQ(EVP_PKEY_get_bn_param(key.get(), "d", &d), 1);
    const Num nn(n), ne(e), nd(d);
    SCOPED_TRACE("n " + hex(bytes(n, bits / 8)) + ", d " +
                 hex(bytes(d, bits / 8)));  // OpenSSL draws them anew each time
    Bytes text = filler(bits / 8, bits);
    text[0] = 0;
    std::unique_ptr<EVP_PKEY_CTX, Free> c(EVP_PKEY_CTX_new(key.get(), nullptr));
    ASSERT_EQ(EVP_PKEY_encrypt_init(c.get()), 1);
    ASSERT_EQ(EVP_PKEY_CTX_set_rsa_padding(c.get(), RSA_NO_PADDING), 1);
    Bytes cipher(bits / 8);
    size_t size = cipher.size();
    ASSERT_EQ(EVP_PKEY_encrypt(c.get(), cipher.data(), &size, text.data(), text.size()), 1);
    for (const uint8_t routine : {0x02, 0x1d, 0x1e, 0x80}) {
      ASSERT_EQ(run(routine, bytes(n, bits / 8), text, filler(bits / 8, 3), bytes(e, 3)), 0u);
      EXPECT_EQ(store(PkeuOperand::B0, bits / 8), cipher) << int{routine};
      ASSERT_EQ(run(routine, bytes(n, bits / 8), cipher, {}, bytes(d, bits / 8)), 0u);
      EXPECT_EQ(store(PkeuOperand::B0, bits / 8), text) << int{routine};
    }
  }
}

TEST_F(PublicKey, NumbersByOpenssl) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 rng(seed);
    const size_t size = 16 + rng() % 31 * 8;  // whole 64-bit words, so that OpenSSL's R is the unit's
    const Bytes n = odd(random_bytes(rng, size)), a = random_bytes(rng, 1 + rng() % size),
                b = random_bytes(rng, 1 + rng() % size);
    const Num bn = number(n), ba = number(a), bb = number(b), r = number(), one = number({1});
    BN_nnmod(ba.get(), ba.get(), bn.get(), ctx.get());
    BN_nnmod(bb.get(), bb.get(), bn.get(), ctx.get());
    std::unique_ptr<BN_MONT_CTX, Free> mont(BN_MONT_CTX_new());
    ASSERT_EQ(BN_MONT_CTX_set(mont.get(), bn.get(), ctx.get()), 1);
    auto check = [&](uint8_t routine, const char* what) {
      ASSERT_EQ(run(routine, n, a, b), 0u) << what << ", seed " << seed;
      ASSERT_EQ(hex(store(PkeuOperand::B0, size)), hex(bytes(r.get(), size))) << what << ", seed " << seed;
    };
    BN_mod_add(r.get(), ba.get(), bb.get(), bn.get(), ctx.get());
    check(0x10, "add");
    BN_mod_sub(r.get(), ba.get(), bb.get(), bn.get(), ctx.get());
    check(0x20, "subtract");
    BN_mod_mul_montgomery(r.get(), ba.get(), bb.get(), mont.get(), ctx.get());
    check(0x30, "Montgomery multiply");
    BN_from_montgomery(r.get(), r.get(), mont.get(), ctx.get());
    check(0x40, "multiply and deconvert");
    BN_to_montgomery(r.get(), one.get(), mont.get(), ctx.get());
    BN_to_montgomery(r.get(), r.get(), mont.get(), ctx.get());
    check(0x03, "R2");
    if (BN_mod_inverse(r.get(), ba.get(), bn.get(), ctx.get()))
      check(0x0f, "inverse");
    else
      EXPECT_NE(run(0x0f, n, a), 0u);
    // RR mod P with A as long as N is R2; a longer A stands for a longer modulus.
    ASSERT_EQ(run(0x04, n, Bytes(size)), 0u);
    const Bytes rr = store(PkeuOperand::B0, size);
    ASSERT_EQ(run(0x03, n, {}), 0u);
    EXPECT_EQ(rr, store(PkeuOperand::B0, size));
    const size_t longer = std::min<size_t>(256, size + 40);
    ASSERT_EQ(run(0x04, n, Bytes(longer)), 0u);
    BN_zero(r.get());
    BN_set_bit(r.get(), static_cast<int>(8 * (size + longer)));
    BN_nnmod(r.get(), r.get(), bn.get(), ctx.get());
    EXPECT_EQ(store(PkeuOperand::B0, size), bytes(r.get(), size));
  }
}

/// A curve of OpenSSL's and the unit's view of it.
struct Curve {
  std::unique_ptr<EC_GROUP, Free> group;
  Num p = number(), a = number(), b = number();
  size_t size;
  bool binary;
  explicit Curve(int nid) : group(EC_GROUP_new_by_curve_name(nid)) {
    EC_GROUP_get_curve(group.get(), p.get(), a.get(), b.get(), nullptr);
    size = static_cast<size_t>((EC_GROUP_get_degree(group.get()) + 7) / 8);
    binary = EC_GROUP_get_field_type(group.get()) == NID_X9_62_characteristic_two_field;
    if (binary) size = static_cast<size_t>(EC_GROUP_get_degree(group.get()) / 8 + 1);  // the polynomial has a bit more
  }
  using Point = std::unique_ptr<EC_POINT, Free>;
  Point point() const { return Point(EC_POINT_new(group.get())); }
  Point random_point(std::mt19937& rng, BN_CTX* ctx) const {
    Point r = point();
    EXPECT_EQ(EC_POINT_mul(group.get(), r.get(), number(random_bytes(rng, size)).get(), nullptr, nullptr, ctx), 1);
    return r;
  }
  std::pair<Bytes, Bytes> affine(const EC_POINT* q, BN_CTX* ctx) const {
    const Num x = number(), y = number();
    EXPECT_EQ(EC_POINT_get_affine_coordinates(group.get(), q, x.get(), y.get(), ctx), 1);
    return {bytes(x.get(), size), bytes(y.get(), size)};
  }
};
constexpr int kCurves[] = {NID_X9_62_prime192v1, NID_X9_62_prime256v1, NID_secp384r1, NID_secp256k1,
                           NID_sect163k1,        NID_sect283r1,        NID_sect409k1};

TEST_F(PublicKey, PointMultiplyByOpenssl) {
  for (const int nid : kCurves) {
    const Curve c(nid);
    std::mt19937 rng(static_cast<unsigned>(nid));
    for (int i = 0; i < 3; ++i) {
      const Bytes k = random_bytes(rng, i == 2 ? 1 : c.size);
      const auto p = c.random_point(rng, ctx.get());
      const auto want = c.point();
      ASSERT_EQ(EC_POINT_mul(c.group.get(), want.get(), nullptr, p.get(), number(k).get(), ctx.get()), 1);
      const auto [x, y] = c.affine(p.get(), ctx.get());
      const auto [wx, wy] = c.affine(want.get(), ctx.get());
      for (const bool projective : {false, true}) {
        // Types 7 and 9: the operands are assembled into one string first.
        u.reset_for_channel();
        Bytes z(c.size);
        Bytes px = x, py = y;
        z.back() = 1;
        if (projective) {  // another representative of the same point: z = z0, x z0^2, y z0^3
          const Bytes z0 = {3};
          auto mul = [&](const Bytes& s) {
            const Num r = number(), m = number(s), three = number(z0);
            if (c.binary)
              BN_GF2m_mod_mul(r.get(), m.get(), three.get(), c.p.get(), ctx.get());
            else
              BN_mod_mul(r.get(), m.get(), three.get(), c.p.get(), ctx.get());
            return bytes(r.get(), c.size);
          };
          px = mul(mul(x));
          py = mul(mul(mul(y)));
          z.back() = 3;
        }
        load(PkeuOperand::A0, px);
        load(PkeuOperand::A1, py);
        load(PkeuOperand::A2, z);
        load(PkeuOperand::A3, bytes(c.a.get(), c.size));
        load(PkeuOperand::B0, bytes(c.b.get(), c.size));
        load(PkeuOperand::B1, Bytes(c.size, 0x55));  // R2, not needed
        ASSERT_EQ(u.start(0xff, DescriptorType::PkeuAssemble), 0u);
        const Bytes build = store(PkeuOperand::Build, 6 * 64);

        u.reset_for_channel();
        load(PkeuOperand::N, bytes(c.p.get(), c.size));
        load(PkeuOperand::E, k);
        load(PkeuOperand::Build, build);
        const auto routine = static_cast<uint8_t>((projective ? 7 : 5) + (c.binary ? 1 : 0));
        ASSERT_EQ(u.start(routine, DescriptorType::PkeuPtmul), 0u) << nid;
        EXPECT_EQ(hex(store(PkeuOperand::B1, c.size)), hex(wx)) << nid << " " << int{routine};
        EXPECT_EQ(hex(store(PkeuOperand::B2, c.size)), hex(wy)) << nid << " " << int{routine};
        EXPECT_EQ(store(PkeuOperand::B3, 1), Bytes{1});
        EXPECT_GT(u.clocks(), 0u);
      }
    }
  }
}

TEST_F(PublicKey, PointAddAndDoubleByOpenssl) {
  for (const int nid : kCurves) {
    const Curve c(nid);
    std::mt19937 rng(static_cast<unsigned>(nid));
    const auto p = c.random_point(rng, ctx.get()), q = c.random_point(rng, ctx.get()), want = c.point();
    const auto [x1, y1] = c.affine(p.get(), ctx.get());
    const auto [x2, y2] = c.affine(q.get(), ctx.get());
    Bytes one(c.size);
    one.back() = 1;
    auto go = [&](uint8_t routine, const Bytes& bx, const Bytes& by, const Bytes& bz) {
      u.reset_for_channel();
      load(PkeuOperand::N, bytes(c.p.get(), c.size));
      load(PkeuOperand::Build, x1 + y1 + one + bytes(c.a.get(), c.size) + bytes(c.b.get(), c.size) + bx);
      load(PkeuOperand::B2, by);
      load(PkeuOperand::B3, bz);
      return u.start(routine, DescriptorType::PkeuPtaddDbl);
    };
    auto expect = [&](const EC_POINT* r) {
      const auto [x, y] = c.affine(r, ctx.get());
      EXPECT_EQ(hex(store(PkeuOperand::B1, c.size)), hex(x)) << nid;
      EXPECT_EQ(hex(store(PkeuOperand::B2, c.size)), hex(y)) << nid;
      EXPECT_EQ(store(PkeuOperand::B3, c.size), one);
    };
    const auto add = static_cast<uint8_t>(c.binary ? 0x0b : 0x09), twice = static_cast<uint8_t>(add + 1);
    ASSERT_EQ(EC_POINT_add(c.group.get(), want.get(), p.get(), q.get(), ctx.get()), 1);
    ASSERT_EQ(go(add, x2, y2, one), 0u);
    expect(want.get());
    ASSERT_EQ(EC_POINT_dbl(c.group.get(), want.get(), p.get(), ctx.get()), 1);
    ASSERT_EQ(go(twice, x2, y2, one), 0u);
    expect(want.get());
    ASSERT_EQ(go(add, x1, y1, one), 0u) << "adding a point to itself";
    expect(want.get());
    ASSERT_EQ(go(add, x2, y2, Bytes(c.size)), 0u) << "adding infinity";
    expect(p.get());
    ASSERT_EQ(EC_POINT_invert(c.group.get(), p.get(), ctx.get()), 1);
    const auto minus = c.affine(p.get(), ctx.get());
    ASSERT_EQ(go(add, minus.first, minus.second, one), 0u) << "adding the negative";
    EXPECT_EQ(store(PkeuOperand::B3, c.size), Bytes(c.size)) << "infinity";
    EXPECT_EQ(store(PkeuOperand::B1, c.size), one);
  }
}

TEST_F(PublicKey, PolynomialsByOpenssl) {
  const Curve c(NID_sect283r1);  // a field of 283 bits, irreducible
  const Bytes n = bytes(c.p.get(), 36);
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 rng(seed);
    const Bytes a = random_bytes(rng, 35), b = random_bytes(rng, 35);
    const Num ba = number(a), bb = number(b), r = number(), rinv = number(), x = number();
    auto check = [&](uint8_t routine, const char* what) {
      ASSERT_EQ(run(routine, n, a, b), 0u) << what;
      ASSERT_EQ(hex(store(PkeuOperand::B0, 36)), hex(bytes(r.get(), 36))) << what << ", seed " << seed;
    };
    BN_GF2m_add(r.get(), ba.get(), bb.get());
    check(0x50, "add");
    BN_GF2m_mod_inv(r.get(), ba.get(), c.p.get(), ctx.get());
    check(0x0e, "inverse");
    // R = x^288 by repeated multiplication with x.
    BN_set_word(r.get(), 1);
    BN_set_word(x.get(), 2);
    for (int i = 0; i < 288; ++i) BN_GF2m_mod_mul(r.get(), r.get(), x.get(), c.p.get(), ctx.get());
    BN_GF2m_mod_inv(rinv.get(), r.get(), c.p.get(), ctx.get());
    BN_GF2m_mod_sqr(r.get(), r.get(), c.p.get(), ctx.get());
    check(0x0d, "R2");
    BN_GF2m_mod_mul(r.get(), ba.get(), bb.get(), c.p.get(), ctx.get());
    BN_GF2m_mod_mul(r.get(), r.get(), rinv.get(), c.p.get(), ctx.get());
    check(0x60, "multiply");
    BN_GF2m_mod_mul(r.get(), r.get(), rinv.get(), c.p.get(), ctx.get());
    check(0x70, "multiply and deconvert");
  }
  // A reducible modulus, (x + 1)^128: what is no multiple of x + 1 has an inverse all the same, always the same one.
  Bytes square(17);
  square[0] = 1, square[16] = 1;
  const Bytes a = {0x07};
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(run(0x0e, square, a), 0u);
    const Num r = number(store(PkeuOperand::B0, 17)), m = number(square);
    BN_GF2m_mod_mul(r.get(), r.get(), number(a).get(), m.get(), ctx.get());
    EXPECT_TRUE(BN_is_one(r.get()));
  }
  EXPECT_EQ(run(0x0e, square, {0x03}), 0x2000u) << "x + 1 has none";
  for (unsigned seed = 1; seed <= 20; ++seed) {  // and one of many terms
    const Bytes many = odd(filler(60, seed)), v = filler(50, seed + 100);
    if (run(0x0e, many, v)) continue;
    const Num r = number(store(PkeuOperand::B0, 60)), m = number(many);
    BN_GF2m_mod_mul(r.get(), r.get(), number(v).get(), m.get(), ctx.get());
    EXPECT_TRUE(BN_is_one(r.get())) << seed;
  }
}

TEST_F(PublicKey, Errors) {
  const uint32_t dse = lo(ee::kDse), kse = lo(ee::kKse), me = lo(ee::kMe),
                 inv = lo(regs::kPkeuInterruptStatus.mask("INV"));
  const Bytes n = odd(filler(64, 1)), a = filler(64, 2), e = filler(8, 3);
  EXPECT_EQ(run(0x02, n, a, {}, e), 0u);
  EXPECT_EQ(run(0x02, odd(filler(12, 1)), filler(12, 2), {}, e), dse) << "96 bits";
  EXPECT_EQ(run(0x02, odd(filler(13, 1)), filler(12, 2), {}, e), 0u);
  EXPECT_EQ(run(0x02, odd(filler(256, 1)), a, {}, e), 0u);
  EXPECT_EQ(run(0x02, odd(filler(257, 1)), a, {}, e), dse);
  EXPECT_EQ(run(0x02, n, filler(257, 2), {}, e), dse);
  EXPECT_EQ(run(0x02, {}, a, {}, e), dse);
  EXPECT_EQ(run(0x02, n, a), kse) << "no exponent";
  EXPECT_EQ(run(0x02, n, a, {}, filler(257, 1)), kse);
  EXPECT_EQ(run(0x02, n, a, {}, filler(256, 1)), 0u);
  Bytes even = n;
  even.back() &= 0xfe;
  for (const uint8_t routine : {0x02, 0x03, 0x04, 0x0d, 0x0e, 0x0f, 0x1d, 0x1e, 0x30, 0x40, 0x60, 0x70, 0x80})
    EXPECT_EQ(run(routine, even, a, a, e), dse) << int{routine};
  for (const uint8_t routine : {0x10, 0x20, 0x50}) EXPECT_EQ(run(routine, even, a, a, e), 0u) << int{routine};
  EXPECT_EQ(run(0x0f, n, Bytes(64)), inv) << "zero";
  EXPECT_EQ(u.interrupt_status(), inv);
  EXPECT_EQ(run(0x0e, odd(n), Bytes(64)), inv);
  Bytes one(64);
  one.back() = 1;
  EXPECT_EQ(run(0x03, one, a), dse) << "a modulus of one";
  EXPECT_EQ(run(0x0e, one, a), dse);
  for (const uint8_t routine : {0x0d, 0x0e, 0x50, 0x60, 0x70}) {
    EXPECT_EQ(run(routine, odd(filler(65, 1)), a, a), dse) << int{routine} << ": a polynomial of more than 512 bits";
    EXPECT_NE(run(routine, odd(filler(64, 1)), a, a), dse) << int{routine};
  }
  EXPECT_EQ(run(0x50, Bytes(64), a, Bytes(64)), 0u) << "adding needs no modulus";
  EXPECT_EQ(store(PkeuOperand::B0, 64), a);
  unsigned known = 0;
  for (unsigned routine = 0; routine < 256; ++routine) {
    const uint32_t got = run(static_cast<uint8_t>(routine), n, a, a, e);
    known += got != me;
    EXPECT_EQ(got == me, u.interrupt_status() == me) << routine;
  }
  EXPECT_EQ(known, 17u) << "26 routines, of which types 7, 9 and 11 have one, four and four";

  u.reset_for_channel();
  load(PkeuOperand::N, odd(filler(65, 1)));
  load(PkeuOperand::E, e);
  load(PkeuOperand::Build, filler(6 * 64, 1));
  EXPECT_EQ(u.start(0x05, DescriptorType::PkeuPtmul), dse) << "a curve of more than 512 bits";
  u.reset_for_channel();
  load(PkeuOperand::N, n);
  load(PkeuOperand::E, e);
  load(PkeuOperand::Build, filler(6 * 64 + 1, 1));
  EXPECT_EQ(u.start(0x05, DescriptorType::PkeuPtmul), dse) << "not divisible in six";
  u.reset_for_channel();
  load(PkeuOperand::N, n);
  load(PkeuOperand::Build, filler(6 * 64, 1));
  EXPECT_EQ(u.start(0x05, DescriptorType::PkeuPtmul), kse);
  EXPECT_EQ(u.start(0x09, DescriptorType::PkeuPtmul), me);
  EXPECT_EQ(u.start(0x05, DescriptorType::PkeuPtaddDbl), me);
  EXPECT_EQ(u.start(0x02, DescriptorType::PkeuAssemble), me);
  EXPECT_EQ(u.begin({}), me) << "it has no data stream";
}

TEST_F(PublicKey, ClearMemoryAndSizes) {
  EXPECT_EQ(run(0x10, odd(filler(32, 1)), {1, 0}, {2}), 0u);
  EXPECT_EQ(store(PkeuOperand::B0, 3), (Bytes{0, 1, 2})) << "the low bytes of the sum";
  EXPECT_EQ(store(PkeuOperand::A0, 4), (Bytes{0, 0, 1, 0}));
  EXPECT_EQ(u.start(0x01, DescriptorType::PkeuMm), 0u);
  EXPECT_EQ(store(PkeuOperand::B0, 64), Bytes(64));
  EXPECT_EQ(store(PkeuOperand::A0, 64), Bytes(64));
  EXPECT_EQ(store(PkeuOperand::N, 32), Bytes(32));
}

TEST_F(PublicKey, Costs) {
  // 1024 bits: 1.5 x 1024 multiplications of 2 x 32^2 + 2 x 32 clocks.
  Bytes e(128);
  e[0] = 0x80;
  EXPECT_EQ(run(0x02, odd(filler(128, 1)), filler(128, 2), {}, e), 0u);
  EXPECT_EQ(u.clocks(), 1536u * 2112);
  EXPECT_EQ(run(0x02, odd(filler(128, 1)), filler(128, 2), {}, Bytes(127) + Bytes{3}), 0u);
  EXPECT_EQ(u.clocks(), 3u * 2112) << "short exponents are quick";
  EXPECT_EQ(run(0x1d, odd(filler(128, 1)), filler(128, 2), {}, Bytes(127) + Bytes{3}), 0u);
  EXPECT_EQ(u.clocks(), 2048u * 2112) << "but not when that would tell something";
  EXPECT_EQ(run(0x30, odd(filler(128, 1)), filler(128, 2), filler(128, 3)), 0u);
  EXPECT_EQ(u.clocks(), 2112u);
}

TEST_F(PublicKey, ThroughRegisters) {
  const Bytes n = odd(filler(48, 1)), a = filler(48, 2), e = {1, 0, 1};
  ASSERT_EQ(run(0x02, n, a, {}, e), 0u);
  const Bytes want = store(PkeuOperand::B0, 48);
  w.set(regs::kEuResetControl, kSr);
  EXPECT_EQ(w.take(regs::kPkeuB.offset_bytes, 48), Bytes(48));
  w.set(regs::kPkeuMode, 0x02);
  w.set(regs::kPkeuDataSize, 8 * 48);
  w.set(regs::kPkeuAbSize, 8 * 48);
  w.set(regs::kPkeuKeySize, 3);
  w.put(regs::kPkeuN.offset_bytes, n);
  w.put(regs::kPkeuA.offset_bytes, a);
  w.put(regs::kPkeuE.offset_bytes, e);
  EXPECT_EQ(w.status(), kRd);
  w.set(regs::kPkeuGo, 1);
  EXPECT_EQ(w.status(), kRd | kId);
  EXPECT_EQ(hex(w.take(regs::kPkeuB.offset_bytes, 48)), hex(want));
  EXPECT_EQ(w.take(regs::kPkeuN.offset_bytes, 48), n);
  EXPECT_EQ(w.take(regs::kPkeuE.offset_bytes, 4), Bytes(4)) << "write only";
  EXPECT_EQ(w.get(regs::kPkeuDataSize), 8u * 48);
  EXPECT_EQ(w.get(regs::kPkeuAbSize), 8u * 48);
  EXPECT_EQ(w.get(regs::kPkeuKeySize), 3u);
  EXPECT_EQ(w.causes(), 0u);

  w.set(regs::kEuResetControl, kRi);
  EXPECT_EQ(w.status(), kRd);
  auto fails = [&](uint32_t cause, const char* what) {
    w.set(regs::kPkeuGo, 1);
    EXPECT_EQ(w.causes(), cause) << what;
    EXPECT_EQ(w.status() & (kId | kIe), kIe) << what;
    w.set(regs::kEuResetControl, kRi);
  };
  w.set(regs::kPkeuMode, 0x31);
  fails(lo(ee::kMe), "no such routine");
  w.set(regs::kPkeuMode, 0x02);
  w.set(regs::kPkeuDataSize, 96);
  fails(lo(ee::kDse), "N too short");
  w.set(regs::kPkeuDataSize, 2049);
  fails(lo(ee::kDse), "N too long");
  w.set(regs::kPkeuDataSize, 8 * 48);
  w.set(regs::kPkeuKeySize, 0);
  fails(lo(ee::kKse), "no E");
  w.set(regs::kPkeuKeySize, 257);
  fails(lo(ee::kKse), "E too long");
  w.set(regs::kPkeuKeySize, 3);
  w.set(regs::kPkeuAbSize, 2049);
  fails(lo(ee::kDse), "A too long");
  w.set(regs::kPkeuAbSize, 8 * 48);
  w.set(regs::kPkeuMode, 0x05);
  w.set(regs::kPkeuDataSize, 520);
  w.u.write32(regs::kPkeuN.offset_bytes + 64, 0x01000000);
  fails(lo(ee::kDse), "a curve of 520 bits");
  w.u.write32(0x900, 1);
  EXPECT_EQ(w.causes(), ee::kAe) << "there is no FIFO";
  w.set(regs::kEuResetControl, kRi);
  EXPECT_EQ(w.u.read32(0x900), 0u);
  EXPECT_EQ(w.causes(), 0u);
  u.set_owned_by_channel(true);
  w.set(regs::kPkeuGo, 1);
  w.put(regs::kPkeuN.offset_bytes, n);
  EXPECT_EQ(w.causes(), ee::kCe);
}

// ---------------------------------------------------------------------------------------------------- all of them

TEST(OtherUnits, EveryPartHasTheUnitsOfItsMask) {
  for (const regs::Part& p : regs::kParts)
    for (const Eu eu : {Eu::Afeu, Eu::Rngu, Eu::Pkeu, Eu::Keu, Eu::Crcu, Eu::Steu}) {
      const auto u = hw::make_unit(eu, p, hw::Timing::for_part(p));
      ASSERT_TRUE(u);
      EXPECT_EQ(u->code(), eu);
      EXPECT_EQ(Window{*u}.status() & ~kIfw, kRd) << u->name();
      EXPECT_EQ(u->interrupt_status(), 0u);
      EXPECT_EQ(u->interrupt_control(), 0u);
    }
}

TEST(OtherUnits, ReservedSpaceAndFullFifos) {
  for (const Eu eu : {Eu::Afeu, Eu::Keu, Eu::Crcu, Eu::Steu, Eu::Pkeu, Eu::Rngu}) {
    const auto u = unit_of("p2020", eu);
    Window w{*u};
    u->write32(0x700, 1);
    EXPECT_EQ(w.causes(), ee::kAe) << u->name();
    w.set(regs::kEuResetControl, kSr);
    EXPECT_EQ(w.causes(), 0u) << u->name();
    EXPECT_EQ(u->read32(0x700), 0u);
    if (eu == Eu::Pkeu || eu == Eu::Rngu) continue;
    for (int i = 0; i < 32; ++i) w.push(Bytes(8));  // not started, so nothing takes them
    EXPECT_EQ(w.status() & kIfw, 0u) << u->name();
    EXPECT_EQ(w.causes(), 0u);
    w.push(Bytes(8));
    EXPECT_EQ(w.causes(), ee::kIfo) << u->name();
  }
}

}  // namespace
}  // namespace sec::test
