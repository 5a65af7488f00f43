// The DEU against the NIST vectors of all four modes, single and triple, OpenSSL for chains and cuts, key parity on
// each generation; and what every unit owes its next user: nothing of the last one.
#include <openssl/evp.h>

#include <bit>

#include "hw/regs/aesu.h"
#include "hw/regs/deu.h"
#include "hw/regs/mdeu.h"
#include "tests/support/rsp_vectors.h"
#include "tests/unit/hw_unit_support.h"

namespace sec::test {
namespace {
using namespace regs::deu_mode;
using regs::Eu;

std::unique_ptr<hw::ExecutionUnit> deu(std::string_view part = "p2020") { return unit_of(part, Eu::Deu); }

Bytes evp(const char* name, const Bytes& key, const Bytes& iv, const Bytes& in, bool encrypt) {
  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  Bytes k(24);
  for (size_t i = 0; i < 24; ++i) k[i] = key[i % key.size()];  // one key three times; two keys: the third is the first
  EXPECT_EQ(EVP_CipherInit_ex(c.get(), EVP_get_cipherbyname(name), nullptr, k.data(), iv.data(), encrypt), 1);
  EVP_CIPHER_CTX_set_padding(c.get(), 0);
  Bytes out(in.size() + 16);
  int n = 0, m = 0;
  EXPECT_EQ(EVP_CipherUpdate(c.get(), out.data(), &n, in.data(), static_cast<int>(in.size())), 1);
  EXPECT_EQ(EVP_CipherFinal_ex(c.get(), out.data() + n, &m), 1);
  out.resize(static_cast<size_t>(n + m));
  return out;
}
const std::pair<uint8_t, const char*> kModes[] = {
    {kEcb, "DES-EDE3-ECB"}, {kCbc, "DES-EDE3-CBC"}, {kCfb64, "DES-EDE3-CFB"}, {kOfb64, "DES-EDE3-OFB"}};
Bytes odd_parity(Bytes k) {
  for (auto& b : k)
    if (std::popcount(b) % 2 == 0) b ^= 1;
  return k;
}

TEST(Deu, NistVectors) {
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  const auto u = deu();
  const std::tuple<const char*, const char*, uint8_t> folders[] = {
      {"ECB", "/TECB", kEcb}, {"CBC", "/TCBC", kCbc}, {"CFB", "/TCFB64", kCfb64}, {"OFB", "/TOFB", kOfb64}};
  for (const auto& [folder, prefix, mode] : folders) {
    size_t triple = 0, single = 0;
    for (const std::string& file : list_vectors(std::string("ciphers/3DES/") + folder)) {
      // The interleaved variants (TCBCI, TOFBI) are other modes.
      if (file.find(prefix) == std::string::npos || file.find(std::string(prefix) + "I") != std::string::npos) continue;
      if (file.find("TCBCI") != std::string::npos || file.find("TOFBI") != std::string::npos) continue;
      for (const Vector& v : load_vectors(file)) {
        if (!v.has("PLAINTEXT") || !v.has("CIPHERTEXT")) continue;
        const bool encrypt = v.encrypt();
        const Bytes key = v.des3_key();
        UnitJob j{.mode = static_cast<uint8_t>(mode | kTriple | (encrypt ? kEncrypt : 0)),
                  .key = key,
                  .data = v.bytes(encrypt ? "PLAINTEXT" : "CIPHERTEXT")};
        if (v.has("IV")) j.context = v.bytes("IV");
        const std::string want = v.text(encrypt ? "CIPHERTEXT" : "PLAINTEXT");
        ASSERT_EQ(to_hex(run_unit(*u, j).out), want) << file;
        ++triple;
        if (first_of(key, 8) == last_of(key, 8) &&
            first_of(key, 8) == part_of(key, 8, 8)) {  // then it is single DES too
          j.mode = static_cast<uint8_t>(j.mode & ~kTriple);
          j.key = first_of(key, 8);
          ASSERT_EQ(to_hex(run_unit(*u, j).out), want) << file;
          ++single;
        }
      }
    }
    EXPECT_GT(triple, 400u) << folder;
    EXPECT_GT(single, 300u) << folder;
  }
}

TEST(Deu, ChainsAndCuts) {
  const auto u = deu();
  std::mt19937 r(13);
  for (int round = 0; round < 800; ++round) {
    const auto& [mode, name] = kModes[round % 4];
    const size_t key_bytes = 8 * (1 + r() % 3), first = 8 * (1 + r() % 20), second = 8 * (1 + r() % 20);
    const bool encrypt = r() & 1;
    const uint8_t m = static_cast<uint8_t>(mode | (key_bytes > 8 ? kTriple : 0) | (encrypt ? kEncrypt : 0));
    const Bytes key = odd_parity(random_bytes(r, key_bytes)), iv = random_bytes(r, 8),
                in = random_bytes(r, first + second);
    const UnitResult a = run_unit(
        *u, {.mode = m, .key = key, .context = iv, .data = first_of(in, first), .split = static_cast<uint32_t>(round)});
    ASSERT_EQ(a.context.size(), 8u);
    const UnitResult b = run_unit(*u, {.mode = m, .key = key, .context = a.context, .data = last_of(in, second)});
    ASSERT_EQ(a.out + b.out, evp(name, key, iv, in, encrypt)) << name << key_bytes << encrypt;
  }
}

TEST(Deu, Costs) {
  const auto u = deu();
  for (const auto& m : kModes) {
    EXPECT_EQ(run_unit(*u, {.mode = m.first, .key = Bytes(8, 1), .data = Bytes(8)}).block_clocks, 16u);
    const UnitResult t =
        run_unit(*u, {.mode = static_cast<uint8_t>(m.first | kTriple), .key = Bytes(24, 1), .data = Bytes(8)});
    EXPECT_EQ(t.block_clocks, 48u);
    EXPECT_EQ(t.block_bytes, 8u);
    EXPECT_EQ(t.startup_clocks + t.finish_clocks, 0u);
  }
}

TEST(Deu, Errors) {
  const auto u = deu();
  for (const auto& m : kModes) {
    for (const size_t n : {0u, 7u, 16u, 24u})
      EXPECT_EQ(run_unit(*u, {.mode = m.first, .key = Bytes(n, 1), .data = Bytes(8)}).begin_error, ee::kKse);
    for (const size_t n : {0u, 8u, 15u, 23u, 32u})
      EXPECT_EQ(run_unit(*u, {.mode = static_cast<uint8_t>(m.first | kTriple), .key = Bytes(n, 1), .data = Bytes(8)})
                    .begin_error,
                ee::kKse);
    for (const size_t n : {1u, 7u, 12u})
      EXPECT_EQ(run_unit(*u, {.mode = m.first, .key = Bytes(8, 1), .data = Bytes(n)}).begin_error, ee::kDse);
    for (const unsigned b : {0x10u, 0x20u, 0x40u, 0x80u})
      EXPECT_EQ(
          run_unit(*u, {.mode = static_cast<uint8_t>(m.first | b), .key = Bytes(8, 1), .data = Bytes(8)}).begin_error,
          ee::kMe);
  }
}

TEST(Deu, KeyParityByGeneration) {
  for (const auto& [part, sec1] : {std::pair{"mpc885", true}, std::pair{"mpc8272", true}, std::pair{"mpc8349", false},
                                   std::pair{"mpc8548", false}, std::pair{"p2020", false}}) {
    const auto u = deu(part);
    const auto icr = regs::kEuInterruptControl.offset_bytes + 4;
    EXPECT_EQ(u->read32(icr), sec1 ? 0 : ee::kKpe) << "after reset";
    for (size_t bad = 0; bad < 24; ++bad) {
      UnitJob j{.mode = kCbc | kTriple | kEncrypt,
                .key = odd_parity(filler(24, 1)),
                .context = filler(8, 2),
                .data = filler(16, 3)};
      EXPECT_EQ(run_unit(*u, j).begin_error, 0u);
      j.key[bad] ^= 1;
      u->write32(icr, 0);
      EXPECT_EQ(run_unit(*u, j).begin_error, ee::kKpe) << "unmasked";
      u->write32(icr, static_cast<uint32_t>(ee::kKpe));
      const UnitResult r = run_unit(*u, j);
      EXPECT_EQ(r.begin_error, 0u) << "masked, as Linux does on SEC 1";
      EXPECT_EQ(r.status, ee::kKpe) << "the cause is kept";
      EXPECT_EQ(r.out, evp("DES-EDE3-CBC", j.key, j.context, j.data, true)) << "parity bits do not matter";
    }
    u->hard_reset();
    EXPECT_EQ(u->read32(icr), sec1 ? 0 : ee::kKpe);
  }
}

// ---- every unit ----

TEST(Units, NothingIsLeftForTheNextUser) {
  // Loads that leave long keys and contexts, then one that gives neither: as on a new unit.
  struct Case {
    Eu unit;
    UnitJob before, after;
  };
  const Bytes k16 = filler(16, 1);
  using namespace regs::aesu_mode;
  const Case cases[] = {
      {Eu::Deu,
       {.mode = regs::deu_mode::kCbc | kTriple, .key = filler(24, 1), .context = filler(8, 2), .data = filler(64, 3)},
       {.mode = regs::deu_mode::kCbc, .key = filler(8, 1), .data = filler(16, 4)}},
      {Eu::Aesu,
       {.mode = regs::aesu_mode::kCbc, .key = filler(32, 1), .context = filler(64, 2), .data = filler(64, 3)},
       {.mode = regs::aesu_mode::kCbc, .key = k16, .data = filler(16, 4)}},
      {Eu::Aesu,
       {.mode = kGcmWhole,
        .key = k16,
        .context = filler(64, 2),
        .nonce = filler(60, 5),
        .header = filler(20, 6),
        .data = filler(65, 3)},
       {.mode = kCtr, .key = k16, .data = filler(32, 4)}},
      {Eu::Aesu,
       {.mode = kCmac, .key = k16, .data = filler(65, 3)},
       {.mode = kXcbcMac, .key = k16, .data = filler(1, 4)}},
      {Eu::Aesu, {.mode = kXor, .header = filler(64, 1), .data = filler(32, 3)}, {.mode = kXor, .data = filler(48, 4)}},
      {Eu::MdeuA,
       {.mode = regs::mdeu_mode::kSha1 | regs::mdeu_mode::kInit | regs::mdeu_mode::kPad | regs::mdeu_mode::kHmac,
        .code = Eu::MdeuA,
        .key = filler(64, 1),
        .data = filler(99, 2),
        .received = filler(20, 1)},
       {.mode = regs::mdeu_mode::kSha256 | regs::mdeu_mode::kPad, .code = Eu::MdeuA, .data = filler(9, 2)}},
      {Eu::MdeuA,
       {.mode = regs::mdeu_mode::kSha512 | regs::mdeu_mode::kContinue,
        .code = Eu::MdeuB,
        .context = filler(0x48, 1),
        .data = filler(128, 2)},
       {.mode = regs::mdeu_mode::kMd5 | regs::mdeu_mode::kInit | regs::mdeu_mode::kPad | regs::mdeu_mode::kHmac,
        .code = Eu::MdeuA,
        .key = filler(5, 1),
        .data = filler(9, 2)}},
  };
  for (const Case& c : cases) {
    const auto used = unit_of("p2020", c.unit), fresh = unit_of("p2020", c.unit);
    EXPECT_EQ(run_unit(*used, c.before).begin_error, 0u);
    const UnitResult a = run_unit(*used, c.after), b = run_unit(*fresh, c.after);
    EXPECT_EQ(a.begin_error | b.begin_error, 0u);
    EXPECT_EQ(a.out, b.out) << used->name();
    EXPECT_EQ(a.context, b.context) << used->name();
    EXPECT_EQ(a.icv, b.icv) << used->name();
    EXPECT_EQ(a.verdict, b.verdict);
    // And through the registers: nothing to read but zeros after a reset.
    used->reset_for_channel();
    for (uint32_t o = 0x100; o < 0x180; o += 4) EXPECT_EQ(used->read32(o), 0u);
  }
}

TEST(Units, AnyLoadIsTakenOrRefused) {
  const uint32_t seed = 4711;
  std::mt19937 r(seed);
  for (const char* part : {"mpc885", "mpc8548", "p2020"})
    for (const Eu code : {Eu::Deu, Eu::Aesu, Eu::MdeuA}) {
      const auto u = unit_of(part, code);
      unsigned taken = 0;
      for (int round = 0; round < 4000; ++round) {
        const size_t sizes[] = {0, 8, 16, 20, 24, 32, 64, 65, 128, 140};
        UnitJob j{.mode = static_cast<uint8_t>(r()), .code = code == Eu::MdeuA && r() & 1 ? Eu::MdeuB : code};
        j.key = random_bytes(r, sizes[r() % std::size(sizes)]);
        if (code == Eu::Deu) j.key = odd_parity(j.key);
        j.context = random_bytes(r, r() % 4 ? r() % 80 : r() % 300);
        j.nonce = random_bytes(r, r() % 2 ? 12 : r() % 300);
        j.header = random_bytes(r, r() % 2 ? 0 : r() % 200);
        j.data = random_bytes(r, r() % 2 ? 16 * (r() % 20) : r() % 400);
        if (r() & 1) j.received = random_bytes(r, r() % 80);
        j.icv_bytes = static_cast<uint32_t>(r() % 80);
        j.split = static_cast<uint32_t>(r());
        const UnitResult x = run_unit(*u, j);
        ASSERT_EQ(x.begin_error & ~(ee::kMe | ee::kKse | ee::kDse | ee::kKpe), 0u)
            << "seed " << seed << " round " << round;
        ASSERT_EQ(x.error & ~ee::kIce, 0u) << "seed " << seed << " round " << round;
        taken += !x.begin_error;
      }
      EXPECT_GT(taken, 10u) << part << " " << u->name();
    }
}

TEST(Units, AShortKeyIsFilledUpWithZeros) {
  const auto u = unit_of("p2020", Eu::Aesu);
  run_unit(*u, {.mode = regs::aesu_mode::kEcb, .key = Bytes(32, 0xff), .data = Bytes(16)});
  const auto with_key = [&](uint32_t words) {
    u->write32(regs::kEuResetControl.offset_bytes + 4, 1);
    u->write32(regs::kEuMode.offset_bytes + 4, 1);
    for (uint32_t i = 0; i < words; ++i) u->write32(0x400 + 4 * i, i < 4 ? 0x01020304 * (i + 1) : 0);
    u->write32(regs::kEuKeySize.offset_bytes + 4, 32);
    u->write32(regs::kEuDataSize.offset_bytes + 4, 128);
    for (uint32_t i = 0; i < 4; ++i) u->write32(0x800 + i % 2 * 4, i);
    return u->read32(0x800);
  };
  const uint32_t four = with_key(4);  // behind the key of all ones
  EXPECT_EQ(four, with_key(8));
}

}  // namespace
}  // namespace sec::test
