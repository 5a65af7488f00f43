// The MDEU against NIST and RFC vectors and OpenSSL's EVP, in one piece and cut at every block; its context, its costs,
// its errors, and the same by register access.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "hw/regs/mdeu.h"
#include "tests/support/rsp_vectors.h"
#include "tests/unit/hw_unit_support.h"

namespace sec::test {
namespace {
using namespace regs::mdeu_mode;
constexpr uint8_t kCont = regs::mdeu_mode::kContinue;  // not the channel's
using regs::Eu;
using regs::IntegrityCheck;

struct Algorithm {
  const char* name;  // of OpenSSL
  Eu code;
  uint8_t bits;
  unsigned block, digest, context;
  unsigned steps;
};
const Algorithm kAlgorithms[] = {
    {"MD5", Eu::MdeuA, kMd5, 64, 16, 0x28, 64},        {"SHA1", Eu::MdeuA, kSha1, 64, 20, 0x28, 80},
    {"SHA224", Eu::MdeuA, kSha224, 64, 28, 0x28, 64},  {"SHA256", Eu::MdeuA, kSha256, 64, 32, 0x28, 64},
    {"SHA224", Eu::MdeuB, kSha224, 64, 28, 0x28, 64},  {"SHA256", Eu::MdeuB, kSha256, 64, 32, 0x28, 64},
    {"SHA384", Eu::MdeuB, kSha384, 128, 48, 0x48, 80}, {"SHA512", Eu::MdeuB, kSha512, 128, 64, 0x48, 80},
};

Bytes evp(const char* name, const Bytes& m) {
  Bytes out(64);
  unsigned n = 0;
  EXPECT_EQ(EVP_Digest(m.data(), m.size(), out.data(), &n, EVP_get_digestbyname(name), nullptr), 1);
  out.resize(n);
  return out;
}
Bytes evp_hmac(const char* name, const Bytes& key, const Bytes& m) {
  Bytes out(64);
  unsigned n = 0;
  const uint8_t none = 0;
  EXPECT_NE(HMAC(EVP_get_digestbyname(name), key.empty() ? &none : key.data(), static_cast<int>(key.size()), m.data(),
                 m.size(), out.data(), &n),
            nullptr);
  out.resize(n);
  return out;
}
/// The whole message as one descriptor.
UnitJob one(const Algorithm& a, const Bytes& m, const Bytes& key = {}, bool hmac = false) {
  return {
      .mode = static_cast<uint8_t>(a.bits | kInit | kPad | (hmac ? kHmac : 0)), .code = a.code, .key = key, .data = m};
}
std::unique_ptr<hw::ExecutionUnit> mdeu(std::string_view part = "p2020") { return unit_of(part, Eu::MdeuA); }

// ---- vectors ----

void hash_file(hw::ExecutionUnit& u, const Algorithm& a, const std::string& file) {
  const auto vectors = load_vectors(file);
  if (vectors.empty()) GTEST_SKIP() << kNoVectors;
  size_t seen = 0;
  for (const Vector& v : vectors) {
    if (!v.has("MSG")) continue;
    Bytes m = v.bytes("MSG");
    m.resize(v.number("LEN") / 8);
    const UnitResult r = run_unit(u, one(a, m));
    EXPECT_EQ(to_hex(r.icv), v.text("MD")) << file << " " << m.size();
    EXPECT_EQ(r.context, r.icv);
    ++seen;
  }
  EXPECT_GE(seen, 5u) << file;
}

TEST(Mdeu, NistAndRfcHashes) {
  const auto u = mdeu();
  for (const Algorithm& a : kAlgorithms) {
    if (a.bits == kMd5 && a.code == Eu::MdeuA) {
      hash_file(*u, a, "hashes/MD5/rfc-1321.txt");
      continue;
    }
    const std::string folder = std::string(a.name) == "SHA1" ? "hashes/SHA1/" : "hashes/SHA2/";
    for (const char* kind : {"ShortMsg.rsp", "LongMsg.rsp"}) hash_file(*u, a, folder + a.name + kind);
  }
}

TEST(Mdeu, RfcHmacs) {
  const auto u = mdeu();
  const std::pair<unsigned, const char*> files[] = {{0, "HMAC/rfc-2202-md5.txt"},    {1, "HMAC/rfc-2202-sha1.txt"},
                                                    {2, "HMAC/rfc-4231-sha224.txt"}, {3, "HMAC/rfc-4231-sha256.txt"},
                                                    {6, "HMAC/rfc-4231-sha384.txt"}, {7, "HMAC/rfc-4231-sha512.txt"}};
  for (const auto& [i, file] : files) {
    const Algorithm& a = kAlgorithms[i];
    const auto vectors = load_vectors(file);
    if (vectors.empty()) GTEST_SKIP() << kNoVectors;
    size_t seen = 0, refused = 0;
    for (const Vector& v : vectors) {
      if (!v.has("KEY")) continue;
      const Bytes key = v.bytes("KEY");
      const UnitResult r = run_unit(*u, one(a, v.bytes("MSG"), key, true));
      if (key.size() > a.block) {  // software hashes such keys first
        EXPECT_EQ(r.begin_error, ee::kKse);
        const UnitResult hashed = run_unit(*u, one(a, v.bytes("MSG"), run_unit(*u, one(a, key)).icv, true));
        EXPECT_EQ(to_hex(hashed.icv), v.text("MD")) << file;
        ++refused;
        continue;
      }
      EXPECT_EQ(to_hex(r.icv), v.text("MD")) << file;
      ++seen;
    }
    EXPECT_GE(seen, 4u) << file;
    EXPECT_GE(refused, 1u) << file;
  }
}

// ---- pieces ----

TEST(Mdeu, EdgeLengthsEqualOpenssl) {
  const auto u = mdeu();
  for (const Algorithm& a : kAlgorithms)
    for (const size_t n : {0u,   1u,   55u,  56u,  57u,  63u,  64u,  65u,  111u, 112u, 113u,
                           119u, 120u, 127u, 128u, 129u, 239u, 240u, 255u, 256u, 4096u})
      for (const size_t key_bytes : {0u, 1u, 20u, 63u, 64u, 128u}) {
        if (key_bytes > a.block) continue;
        const Bytes m = filler(n, 1), key = filler(key_bytes, 2);
        EXPECT_EQ(run_unit(*u, one(a, m)).icv, evp(a.name, m)) << a.name << n;
        EXPECT_EQ(run_unit(*u, one(a, m, key, true)).icv, evp_hmac(a.name, key, m))
            << a.name << n << " key " << key_bytes;
      }
}

/// First, middle and last piece with cuts behind `first` and `middle` blocks.
Bytes pieces(hw::ExecutionUnit& u, const Algorithm& a, const Bytes& m, size_t first, size_t middle, const Bytes& key,
             bool hmac) {
  const auto h = static_cast<uint8_t>(hmac ? kHmac : 0);
  const size_t f = first * a.block, mid = middle * a.block;
  UnitResult r = run_unit(
      u,
      {.mode = static_cast<uint8_t>(a.bits | kInit | kCont | h), .code = a.code, .key = key, .data = first_of(m, f)});
  EXPECT_EQ(r.begin_error | r.error, 0u);
  EXPECT_EQ(r.context.size(), a.context);
  EXPECT_EQ(r.icv.size(), 0u) << "an open hash has no ICV";
  // Another message in between: nothing may stay in the unit.
  run_unit(u, one(a, filler(77, 99), filler(10, 98), hmac));
  if (mid) {
    r = run_unit(u, {.mode = static_cast<uint8_t>(a.bits | kCont),
                     .code = a.code,
                     .context = r.context,
                     .data = part_of(m, f, mid)});
    EXPECT_EQ(r.begin_error | r.error, 0u);
    run_unit(u, one(a, filler(77, 99), filler(10, 98), hmac));
  }
  r = run_unit(u, {.mode = static_cast<uint8_t>(a.bits | kPad | h),
                   .code = a.code,
                   .key = key,
                   .context = r.context,
                   .data = part_of(m, f + mid, m.size() - f - mid)});
  EXPECT_EQ(r.begin_error | r.error, 0u);
  EXPECT_EQ(r.context.size(), a.digest);
  EXPECT_EQ(r.context, r.icv);
  return r.icv;
}

TEST(Mdeu, CutAtEveryBlock) {
  const auto u = mdeu();
  for (const Algorithm& a : kAlgorithms)
    for (const unsigned tail : {0u, 1u, a.block / 2, a.block - 9, a.block - 1}) {
      const Bytes m = filler(5 * a.block + tail, 3), key = filler(20, 4);
      for (size_t first = 1; first <= 5; ++first)
        for (size_t middle = 0; first + middle <= 5; ++middle) {
          EXPECT_EQ(pieces(*u, a, m, first, middle, key, false), evp(a.name, m)) << a.name << first << middle;
          EXPECT_EQ(pieces(*u, a, m, first, middle, key, true), evp_hmac(a.name, key, m)) << a.name << first << middle;
        }
    }
}

TEST(Mdeu, ContextIsStateInDigestOrderAndCountInBits) {
  const auto u = mdeu();
  for (const Algorithm& a : kAlgorithms) {
    for (const bool hmac : {false, true}) {
      const UnitResult r = run_unit(*u, {.mode = static_cast<uint8_t>(a.bits | kInit | kCont | (hmac ? kHmac : 0)),
                                         .code = a.code,
                                         .key = filler(16, 1),
                                         .data = filler(3 * a.block, 2)});
      EXPECT_EQ(load_be64(r.context.data() + r.context.size() - 8), 8u * a.block * (hmac ? 4 : 3))
          << a.name << ": the key block counts";
    }
    // A message that software has padded: the state behind its last block is the digest.
    Bytes m = filler(100, 5);
    const Bytes want = evp(a.name, m);
    const bool md5 = std::string(a.name) == "MD5";
    m.push_back(0x80);
    while ((m.size() + 8) % a.block) m.push_back(0);
    Bytes length(8);
    store_be64(length.data(), 800);
    if (md5) std::reverse(length.begin(), length.end());
    const UnitResult r =
        run_unit(*u, {.mode = static_cast<uint8_t>(a.bits | kInit), .code = a.code, .data = m + length});
    EXPECT_EQ(r.context.size(), a.context);
    EXPECT_EQ(first_of(r.context, a.digest), want) << a.name;
  }
}

TEST(Mdeu, Sha224StartedBySoftware) {
  // As for parts before SEC 2.1: no INIT, the initial values of SHA-224 with a zero count, and the code of SHA-256.
  const Bytes iv = from_hex("c1059ed8367cd5073070dd17f70e5939ffc00b316858151164f98fa7befa4fa4") + Bytes(8);
  for (const char* part : {"mpc8548", "p2020"}) {
    const auto u = mdeu(part);
    for (const size_t n : {0u, 3u, 64u, 200u}) {
      const Bytes m = filler(n, 6);
      const UnitResult r = run_unit(*u, {.mode = kSha256 | kPad, .code = Eu::MdeuA, .context = iv, .data = m});
      EXPECT_EQ(first_of(r.icv, 28), evp("SHA224", m));
    }
  }
}

TEST(Mdeu, WithoutInitAndContextTheStateIsZero) {
  const auto u = mdeu();
  run_unit(*u, one(kAlgorithms[3], filler(64, 1)));
  for (const Algorithm& a : kAlgorithms) {
    const UnitJob j{.mode = static_cast<uint8_t>(a.bits | kPad), .code = a.code, .data = filler(70, 1)};
    UnitJob zeros = j;
    zeros.context = Bytes(a.context);
    const UnitResult r = run_unit(*u, j);
    EXPECT_EQ(r.icv, run_unit(*u, zeros).icv);
    EXPECT_NE(r.icv, evp(a.name, j.data));
  }
}

TEST(Mdeu, HeaderAndDataAreOneMessage) {
  const auto u = mdeu();
  for (const Algorithm& a : kAlgorithms)
    for (const size_t h : {1u, 8u, 24u, 64u, 100u, 130u})
      for (const size_t n : {0u, 1u, 31u, 64u, 150u}) {
        UnitJob j = one(a, filler(n, 7), filler(20, 8), true);
        j.header = filler(h, 9);
        j.split = static_cast<uint32_t>(h + n);
        EXPECT_EQ(run_unit(*u, j).icv, evp_hmac(a.name, j.key, j.header + j.data)) << a.name << h << " " << n;
      }
}

TEST(Mdeu, RandomMessagesInRandomPieces) {
  const uint32_t seed = 20240611;
  std::mt19937 r(seed);
  const auto u = mdeu();
  for (int round = 0; round < 3000; ++round) {
    const Algorithm& a = kAlgorithms[r() % std::size(kAlgorithms)];
    const Bytes m = random_bytes(r, r() % 1500), key = random_bytes(r, r() % (a.block + 1));
    UnitJob j = one(a, m, key, r() & 1);
    j.split = static_cast<uint32_t>(r() | 1);
    ASSERT_EQ(run_unit(*u, j).icv, j.mode & kHmac ? evp_hmac(a.name, key, m) : evp(a.name, m))
        << "seed " << seed << " round " << round;
  }
}

TEST(Mdeu, ManyKeysDoNotMix) {
  const auto u = mdeu();
  std::mt19937 r(5);
  std::vector<Bytes> keys;
  for (int i = 0; i < 400; ++i) keys.push_back(random_bytes(r, 1 + static_cast<size_t>(i) % 64));
  for (int i = 0; i < 100; ++i)
    keys.push_back(first_of(keys[20], 20) + Bytes(static_cast<size_t>(i) % 40));  // equal but for zeros behind
  const Bytes m = filler(33, 1);
  for (int round = 0; round < 2000; ++round) {
    const Bytes& key = keys[r() % keys.size()];
    const Algorithm& a = kAlgorithms[r() % 6];
    ASSERT_EQ(run_unit(*u, one(a, m, key, true)).icv, evp_hmac(a.name, key, m));
  }
  for (const Bytes& key : keys)  // nor do algorithms
    for (const unsigned i : {0u, 1u, 2u, 3u, 6u, 7u})
      ASSERT_EQ(run_unit(*u, one(kAlgorithms[i], m, key, true)).icv, evp_hmac(kAlgorithms[i].name, key, m));
}

TEST(Mdeu, CountIsTakenFromTheContext) {
  // More than 512 MiB: the bit count needs more than 32 bits. The state is arbitrary, the padding must show the count.
  const auto u = mdeu();
  const Bytes state = filler(0x20, 1), tail = filler(10, 2);
  Bytes context = state + Bytes(8);
  store_be64(context.data() + 0x20, uint64_t{1} << 35);
  const UnitResult r = run_unit(*u, {.mode = kSha256 | kPad, .code = Eu::MdeuA, .context = context, .data = tail});
  Bytes block = tail;
  block.push_back(0x80);
  block.resize(64);
  store_be64(block.data() + 56, (uint64_t{1} << 35) + 80);
  const UnitResult by_hand = run_unit(*u, {.mode = kSha256, .code = Eu::MdeuA, .context = context, .data = block});
  EXPECT_EQ(r.icv, first_of(by_hand.context, 32));
}

// ---- ICV ----

TEST(Mdeu, ChecksTheReceivedIcv) {
  const auto u = mdeu();
  for (const Algorithm& a : kAlgorithms)
    for (const unsigned size : {4u, 8u, 12u, 16u}) {
      UnitJob j = one(a, filler(90, 1), filler(20, 2), true);
      const Bytes mac = evp_hmac(a.name, j.key, j.data);
      j.mode |= kCheckIcv;
      j.received = first_of(mac, size);
      UnitResult r = run_unit(*u, j);
      EXPECT_EQ(r.verdict, IntegrityCheck::Pass);
      EXPECT_EQ(r.error, 0u);
      EXPECT_EQ(r.icv, mac);
      for (unsigned byte = 0; byte < size; ++byte) {
        UnitJob bad = j;
        (*bad.received)[byte] ^= 0x10;
        r = run_unit(*u, bad);
        EXPECT_EQ(r.verdict, IntegrityCheck::Fail) << byte;
        EXPECT_EQ(r.error, ee::kIce);
        EXPECT_EQ(r.status, ee::kIce);
        bad.icv_bytes = byte;  // the ICV size register leaves the wrong byte out
        if (byte) {
          EXPECT_EQ(run_unit(*u, bad).verdict, IntegrityCheck::Pass);
        }
      }
    }
}

TEST(Mdeu, MaskedIcvErrorDoesNotStop) {
  const auto u = mdeu();
  u->write32(regs::kEuInterruptControl.offset_bytes + 4, static_cast<uint32_t>(ee::kIce));
  UnitJob j = one(kAlgorithms[1], filler(90, 1), filler(20, 2), true);
  j.mode |= kCheckIcv;
  j.received = Bytes(12);
  const UnitResult r = run_unit(*u, j);
  EXPECT_EQ(r.error, 0u);
  EXPECT_EQ(r.status, ee::kIce) << "the cause is kept";
  EXPECT_EQ(r.verdict, IntegrityCheck::Fail);
}

TEST(Mdeu, NoIcvReceivedIsAFailure) {
  const auto u = mdeu();
  UnitJob j = one(kAlgorithms[1], filler(90, 1));
  j.mode |= kCheckIcv;
  EXPECT_EQ(run_unit(*u, j).verdict, IntegrityCheck::Fail);
  UnitJob right = j;
  right.received = run_unit(*u, j).icv;
  EXPECT_EQ(run_unit(*u, right).verdict, IntegrityCheck::Pass);
  EXPECT_EQ(run_unit(*u, j).verdict, IntegrityCheck::Fail) << "the last message's does not count";
}

// ---- SSL 3 ----

Bytes ssl3(const Algorithm& a, const Bytes& secret, const Bytes& m) {
  const size_t pad = a.digest == 16 ? 48 : 40;  // RFC 6101, 5.2.3.1
  return evp(a.name, secret + Bytes(pad, 0x5c) + evp(a.name, secret + Bytes(pad, 0x36) + m));
}

TEST(Mdeu, Ssl3Mac) {
  const auto u = mdeu();
  for (const Algorithm& a : {kAlgorithms[0], kAlgorithms[1]})
    for (const size_t n : {0u, 1u, 3u, 4u, 5u, 51u, 52u, 59u, 60u, 64u, 200u}) {
      UnitJob j{.mode = static_cast<uint8_t>(a.bits | kInit | kPad | kSslMac),
                .code = a.code,
                .key = filler(a.digest, 1),
                .data = filler(n, 2)};
      EXPECT_EQ(run_unit(*u, j).icv, ssl3(a, j.key, j.data)) << a.name << n;
    }
  // In pieces. With SHA-1 the first ends 4 bytes past a block.
  for (const Algorithm& a : {kAlgorithms[0], kAlgorithms[1]}) {
    const size_t cut = a.digest == 16 ? 128 : 68;
    const Bytes m = filler(300, 3), key = filler(a.digest, 4);
    UnitResult r = run_unit(*u, {.mode = static_cast<uint8_t>(a.bits | kInit | kCont | kSslMac),
                                 .code = a.code,
                                 .key = key,
                                 .data = first_of(m, cut)});
    ASSERT_EQ(r.begin_error, 0u);
    r = run_unit(*u, {.mode = static_cast<uint8_t>(a.bits | kCont),
                      .code = a.code,
                      .context = r.context,
                      .data = part_of(m, cut, 128)});
    ASSERT_EQ(r.begin_error, 0u);
    r = run_unit(*u, {.mode = static_cast<uint8_t>(a.bits | kPad | kSslMac),
                      .code = a.code,
                      .key = key,
                      .context = r.context,
                      .data = part_of(m, cut + 128, 300 - cut - 128)});
    EXPECT_EQ(r.icv, ssl3(a, key, m));
  }
  EXPECT_EQ(
      run_unit(
          *u, {.mode = kSha1 | kInit | kCont | kSslMac, .code = Eu::MdeuA, .key = filler(20, 1), .data = filler(64, 1)})
          .begin_error,
      ee::kDse);
}

// ---- costs ----

/// Compressions that a message takes, counted from the definition: a bit 1, zeros, the length (8 or 16 bytes).
unsigned padded_blocks(const Algorithm& a, size_t n) {
  unsigned blocks = 1;
  while (blocks * a.block < n + 1 + (a.block == 64 ? 8 : 16)) ++blocks;
  return blocks;
}

TEST(Mdeu, CostsOfEveryBlockOnce) {
  const auto u = mdeu();
  for (const Algorithm& a : kAlgorithms)
    for (const size_t h : {0u, 8u, 64u, 120u, 200u})
      for (size_t n = 0; n < 300; ++n) {
        UnitJob j = one(a, filler(n, 1), filler(20, 1));
        j.header = filler(h, 2);
        UnitResult r = run_unit(*u, j);
        ASSERT_EQ(r.block_clocks, a.steps + 1);
        ASSERT_EQ(r.block_bytes, a.block);
        const unsigned data = static_cast<unsigned>((n + a.block - 1) / a.block);
        ASSERT_EQ(r.startup_clocks + data * r.block_clocks + r.finish_clocks, padded_blocks(a, h + n) * r.block_clocks)
            << a.name << " " << h << "+" << n;
        j.mode |= kHmac;  // the key's block, and two of the outer hash
        r = run_unit(*u, j);
        ASSERT_EQ(r.startup_clocks, (1 + h / a.block) * r.block_clocks);
        ASSERT_EQ(r.startup_clocks + data * r.block_clocks + r.finish_clocks,
                  (1 + padded_blocks(a, h + n) + 2) * r.block_clocks);
        if (n % a.block || h) continue;
        j.mode = static_cast<uint8_t>(a.bits | kInit | kCont);
        r = run_unit(*u, j);
        ASSERT_EQ(r.startup_clocks + r.finish_clocks, 0u) << "an open piece costs its blocks only";
      }
}

TEST(Mdeu, KnobsSetTheCost) {
  const regs::Part& p = *regs::find_part("p2020");
  hw::Timing t = hw::Timing::for_part(p);
  t.set("mdeu.steps_per_clock", 2);
  t.set("mdeu.block_load_clocks", 5);
  const auto u = hw::make_unit(Eu::MdeuA, p, t);
  EXPECT_EQ(run_unit(*u, one(kAlgorithms[0], Bytes(64))).block_clocks, 37u);
  EXPECT_EQ(run_unit(*u, one(kAlgorithms[1], Bytes(64))).block_clocks, 45u);
}

// ---- errors, as the channel sees them ----

struct Bad {
  const char* name;
  uint8_t mode;
  Eu code;
  unsigned key_bytes, header_bytes, data_bytes;
  uint64_t bit;
  const char* part = "p2020";
};
std::ostream& operator<<(std::ostream& o, const Bad& b) { return o << b.name; }
class MdeuError : public testing::TestWithParam<Bad> {};
const Bad kBad[] = {
    {"HmacOnMiddlePiece", kSha1 | kHmac | kCont, Eu::MdeuA, 20, 0, 64, ee::kMe},
    {"HmacOnOpenPieceWithoutInit", kSha1 | kHmac, Eu::MdeuA, 20, 0, 64, ee::kMe},
    {"ContinueAndPad", kSha1 | kInit | kCont | kPad, Eu::MdeuA, 0, 0, 64, ee::kMe},
    {"SslAndHmac", kSha1 | kInit | kPad | kHmac | kSslMac, Eu::MdeuA, 20, 0, 64, ee::kMe},
    {"SslSha256", kSha256 | kInit | kPad | kSslMac, Eu::MdeuA, 32, 0, 64, ee::kMe},
    {"SslMiddle", kSha1 | kCont | kSslMac, Eu::MdeuA, 20, 0, 64, ee::kMe},
    {"CheckWithoutPad", kSha1 | kInit | kCheckIcv, Eu::MdeuA, 0, 0, 64, ee::kMe},
    {"MdeuBBeforeSec3", kSha512 | kInit | kPad, Eu::MdeuB, 0, 0, 64, ee::kMe, "mpc8548"},
    {"KeyLongerThanBlock", kSha256 | kInit | kPad | kHmac, Eu::MdeuA, 65, 0, 64, ee::kKse},
    {"KeyLongerThanLongBlock", kSha512 | kInit | kPad | kHmac, Eu::MdeuB, 129, 0, 64, ee::kKse},
    {"SslKeyOfOtherSize", kMd5 | kInit | kPad | kSslMac, Eu::MdeuA, 20, 0, 64, ee::kKse},
    {"OpenPieceNotWholeBlocks", kSha1 | kInit | kCont, Eu::MdeuA, 0, 0, 65, ee::kDse},
    {"OpenPieceHalfABlock", kSha512 | kInit | kCont, Eu::MdeuB, 0, 0, 64, ee::kDse},
    {"OpenPieceWithHeader", kSha1 | kInit | kCont, Eu::MdeuA, 0, 8, 64, ee::kDse},
    {"PrepaddedNotWholeBlocks", kSha1 | kInit, Eu::MdeuA, 0, 0, 60, ee::kDse},
};
INSTANTIATE_TEST_SUITE_P(Each, MdeuError, testing::ValuesIn(kBad), testing::PrintToStringParamName());

TEST_P(MdeuError, StopsBeforeDataMoves) {
  const Bad& b = GetParam();
  const auto u = mdeu(b.part);
  const UnitJob j{.mode = b.mode,
                  .code = b.code,
                  .key = filler(b.key_bytes, 1),
                  .header = filler(b.header_bytes, 1),
                  .data = filler(b.data_bytes, 1)};
  UnitResult r = run_unit(*u, j);
  EXPECT_EQ(r.begin_error, b.bit);
  EXPECT_EQ(r.status, b.bit);
  EXPECT_TRUE(u->error_pending());
  EXPECT_EQ(u->interrupt_status(), b.bit);
  u->write32(regs::kEuInterruptControl.offset_bytes + 4, static_cast<uint32_t>(b.bit));
  r = run_unit(*u, j);
  EXPECT_EQ(r.begin_error, b.bit) << "masked, but there is nothing the unit could do";
  EXPECT_FALSE(u->error_pending());
  u->reset_for_channel();
  EXPECT_EQ(u->interrupt_status(), 0u);
  EXPECT_EQ(run_unit(*u, one(kAlgorithms[1], Bytes(3))).icv, evp("SHA1", Bytes(3))) << "and works again";
}

// ---- generations ----

TEST(Mdeu, BeforeSec21) {
  for (const char* part : {"mpc885", "mpc8272", "mpc8349"}) {
    const auto u = mdeu(part);
    const Bytes m = filler(70, 1), key = filler(20, 2);
    for (const uint8_t extra : {uint8_t{kSha224}, uint8_t{kSha1 | kCheckIcv}, uint8_t{kSha1 | kSslMac}})
      EXPECT_EQ(
          run_unit(*u, {.mode = static_cast<uint8_t>(kInit | kPad | extra), .code = Eu::MdeuA, .key = key, .data = m})
              .begin_error,
          ee::kMe);
    for (const unsigned i : {0u, 1u, 3u}) {
      EXPECT_EQ(run_unit(*u, one(kAlgorithms[i], m)).icv, evp(kAlgorithms[i].name, m));
      EXPECT_EQ(run_unit(*u, one(kAlgorithms[i], m, key, true)).icv, evp_hmac(kAlgorithms[i].name, key, m));
    }
    const bool right = run_unit(*u, one(kAlgorithms[1], {})).icv == evp("SHA1", {});
    EXPECT_EQ(right, part == std::string("mpc8349")) << "SEC 1 gets the empty message wrong";
  }
}

// ---- by register access ----

struct Slave {
  std::unique_ptr<hw::ExecutionUnit> u = mdeu();
  void set(uint32_t reg, uint32_t v) { u->write32(reg + 4, v); }
  uint32_t get(uint32_t reg) { return u->read32(reg + 4); }
  void window(uint32_t at, const Bytes& b) {
    for (uint32_t i = 0; i < b.size(); i += 4) {
      uint8_t w[4] = {};
      std::copy(b.begin() + i, b.begin() + std::min<std::ptrdiff_t>(i + 4, static_cast<std::ptrdiff_t>(b.size())), w);
      u->write32(at + i, load_be32(w));
    }
  }
  Bytes context(size_t n) {
    Bytes b((n + 3) / 4 * 4);
    for (uint32_t i = 0; i < b.size(); i += 4) store_be32(&b[i], u->read32(0x100 + i));
    return first_of(b, n);
  }
  void start(uint8_t mode, const Bytes& key, const Bytes& context, size_t bytes) {
    set(regs::kMdeuResetControl.offset_bytes, 1);
    set(regs::kMdeuMode.offset_bytes, mode);
    window(0x100, context);
    window(0x400, key);
    set(regs::kMdeuKeySize.offset_bytes, static_cast<uint32_t>(key.size()));
    set(regs::kMdeuDataSize.offset_bytes, static_cast<uint32_t>(8 * bytes));
  }
  void push(Bytes b) {
    b.resize((b.size() + 7) / 8 * 8, 0xEE);  // what lies behind the message in the last word does not matter
    window_fifo(b);
  }
  void window_fifo(const Bytes& b) {
    for (size_t i = 0; i < b.size(); i += 8) {
      u->write32(0x800, load_be32(&b[i]));
      u->write32(0x804, load_be32(&b[i + 4]));
    }
  }
  uint32_t causes() { return get(regs::kMdeuInterruptStatus.offset_bytes); }
  uint32_t status() { return get(regs::kMdeuStatus.offset_bytes); }
};
constexpr uint32_t kId = static_cast<uint32_t>(regs::kEuStatus.mask("ID"));

TEST(MdeuRegisters, DigestIsInTheContext) {
  for (unsigned i = 0; i < 4; ++i)
    for (const size_t n : {0u, 1u, 8u, 55u, 64u, 65u, 200u, 1000u}) {
      const Algorithm& a = kAlgorithms[i];
      const Bytes m = filler(n, 1), key = filler(24, 2);
      for (const bool hmac : {false, true}) {
        Slave s;
        s.start(static_cast<uint8_t>(a.bits | kInit | kPad | (hmac ? kHmac : 0)), hmac ? key : Bytes{}, {}, n);
        EXPECT_EQ(s.status() & kId, n ? 0u : kId);
        s.push(m);
        s.set(regs::kMdeuGo.offset_bytes, 1);
        EXPECT_EQ(s.status() & kId, kId);
        EXPECT_EQ(s.causes(), 0u) << a.name << n;
        EXPECT_EQ(s.context(a.digest), hmac ? evp_hmac(a.name, key, m) : evp(a.name, m)) << a.name << n;
      }
    }
}

TEST(MdeuRegisters, PiecesThroughTheContextWindow) {
  const Bytes m = filler(300, 1);
  Slave s;
  s.start(kSha256 | kInit | kCont, {}, {}, 128);
  s.push(first_of(m, 128));
  const Bytes context = s.context(0x28);
  s.start(kSha256 | kPad, {}, context, 172);
  s.push(part_of(m, 128, 172));
  EXPECT_EQ(s.context(32), evp("SHA256", m));
  EXPECT_EQ(s.causes(), 0u);
}

TEST(MdeuRegisters, Errors) {
  const auto causes_of = [](auto&& provoke) {
    Slave s;
    provoke(s);
    return s.causes();
  };
  const auto busy = [](Slave& s) { s.start(kSha1 | kInit | kPad, {}, {}, 100); };
  EXPECT_EQ(causes_of([&](Slave& s) { busy(s), s.context(20); }), ee::kEre);
  EXPECT_EQ(causes_of([&](Slave& s) { busy(s), s.window(0x120, Bytes(4)); }), ee::kCe);
  EXPECT_EQ(causes_of([&](Slave& s) { busy(s), s.window(0x47c, Bytes(4)); }), ee::kCe);
  EXPECT_EQ(causes_of([&](Slave& s) { busy(s), s.set(regs::kMdeuIcvSize.offset_bytes, 12); }), ee::kCe);
  EXPECT_EQ(causes_of([&](Slave& s) { busy(s), s.set(regs::kMdeuGo.offset_bytes, 1); }), ee::kDse);
  EXPECT_EQ(causes_of([&](Slave& s) { busy(s), s.push(Bytes(96)), s.set(regs::kMdeuGo.offset_bytes, 1); }), ee::kDse);
  EXPECT_EQ(causes_of([&](Slave& s) { s.push(Bytes(33 * 8)); }), ee::kIfo);
  EXPECT_EQ(causes_of([&](Slave& s) { s.u->read32(0x800); }), ee::kOfu);
  EXPECT_EQ(causes_of([&](Slave& s) { s.window(0x148, Bytes(4)); }), ee::kAe);
  EXPECT_EQ(causes_of([&](Slave& s) { s.window(0x480, Bytes(4)); }), ee::kAe);
  EXPECT_EQ(causes_of([&](Slave& s) { s.start(kSha1 | kInit | kPad | kCont, {}, {}, 64); }), ee::kMe);
  EXPECT_EQ(causes_of([&](Slave& s) { s.start(kSha1 | kInit | kPad | kHmac, Bytes(65), {}, 64); }), ee::kKse);
  EXPECT_EQ(causes_of([&](Slave& s) { s.start(kSha1 | kInit | kCont, {}, {}, 60); }), ee::kDse);
}

TEST(MdeuRegisters, IcvSizeCanBeReadBack) {
  Slave s;
  s.set(regs::kMdeuIcvSize.offset_bytes, 12);
  EXPECT_EQ(s.get(regs::kMdeuIcvSize.offset_bytes), 12u);
  EXPECT_EQ(s.causes(), 0u);
  s.set(regs::kMdeuResetControl.offset_bytes, 1);
  EXPECT_EQ(s.get(regs::kMdeuIcvSize.offset_bytes), 0u);
}

TEST(MdeuRegisters, OutputFifoStaysEmpty) {
  Slave s;
  s.start(kSha1 | kInit | kPad, {}, {}, 64);
  s.push(Bytes(64));
  EXPECT_EQ(s.status() & static_cast<uint32_t>(regs::kEuStatus.mask("OFR")), 0u);
  EXPECT_EQ(s.status() & static_cast<uint32_t>(regs::kEuStatus.mask("OFL")), 0u);
}

}  // namespace
}  // namespace sec::test
