#include <gtest/gtest.h>

#include "host/workloads/iv_modes.h"
#include "tests/unit/disk_support.h"

namespace sec::test {
namespace {

using namespace sec::host;

const Bytes kKey = unhex("2b7e151628aed2a6abf7158809cf4f3c");

std::string iv(const std::string& spec, uint64_t n, const Bytes& key = kKey, unsigned sector_bytes = 512) {
  const DiskCipherSpec s = parse_disk_cipher(spec);
  Bytes out(s.iv_bytes(), 0xee);
  IvGenerator(s, key, sector_bytes).make(n, out.data());
  return hex(out);
}

TEST(DiskIv, PlainKeeps32BitsAndPlain64KeepsAll) {
  const uint64_t far = (uint64_t{1} << 32) + 1;
  EXPECT_EQ(iv("aes-cbc-plain", 1), "01000000000000000000000000000000");
  EXPECT_EQ(iv("aes-cbc-plain", far), "01000000000000000000000000000000");
  EXPECT_EQ(iv("aes-cbc-plain64", far), "01000000010000000000000000000000");
  EXPECT_EQ(iv("aes-cbc-plain64be", far), "00000000000000000000000100000001");
  EXPECT_EQ(iv("aes-cbc-plain64", 0x1122334455667788), "88776655443322110000000000000000");
}

TEST(DiskIv, BenbiCountsCipherBlocksFromOne) {
  EXPECT_EQ(iv("aes-cbc-benbi", 0), "00000000000000000000000000000001");
  EXPECT_EQ(iv("aes-cbc-benbi", 1), "00000000000000000000000000000021");
  EXPECT_EQ(iv("aes-cbc-benbi", uint64_t{1} << 32), "00000000000000000000002000000001");
  EXPECT_EQ(iv("aes-ctr-benbi", 1), "00000000000000000000000000000201");
  EXPECT_EQ(iv("des3_ede-cbc-benbi", 1, Bytes(24, 7)), "0000000000000041");
}

TEST(DiskIv, EssivUsesTheFullDigestAsItsKey) {
  EXPECT_EQ(iv("aes-cbc-essiv:sha256", 1), "3fa48f0cf8600568f2d4920cd2894db1");
  EXPECT_EQ(iv("aes-cbc-essiv:sha256", uint64_t{1} << 32), "2536b3f4547ec66e51148c34a95c556e");
}

TEST(DiskIv, EssivFollowsTheWholeXtsKey) {
  Bytes key = pattern(64);
  const std::string before = iv("aes-xts-essiv:sha256", 5, key);
  key[63] ^= 1;
  EXPECT_NE(iv("aes-xts-essiv:sha256", 5, key), before);
}

TEST(DiskIv, EboivEncryptsTheByteOffset) {
  EXPECT_EQ(iv("aes-cbc-eboiv", 1), "b38a85b09530d0bf1ca3a17719bee27d");
  EXPECT_EQ(iv("aes-cbc-eboiv", 8), iv("aes-cbc-eboiv", 1, kKey, 4096));
}

TEST(DiskIv, NullAndEcb) {
  EXPECT_EQ(iv("aes-cbc-null", 77), "00000000000000000000000000000000");
  EXPECT_EQ(iv("aes-ecb", 77), "");
  EXPECT_EQ(iv("aes-ecb-plain64", 77), "");
}

TEST(DiskIv, NumbersCountUnitsWhateverTheSectorSize) {
  SectorGeometry g;
  g.sector_bytes = 4096;
  EXPECT_EQ(g.iv_number(8), 8u);  // the second sector
  g.large_sectors = true;
  EXPECT_EQ(g.iv_number(8), 1u);
  g.iv_offset = 16;
  EXPECT_EQ(g.iv_number(8), 3u);
  g.large_sectors = false;
  EXPECT_EQ(g.iv_number(8), 24u);
}

TEST(DiskIv, WarnsWhenPlainRepeats) {
  const auto plain = parse_disk_cipher("aes-cbc-plain");
  const uint64_t limit = uint64_t{1} << 32;
  EXPECT_EQ(iv_reuse_warning(plain, {}, 0, limit), "");
  EXPECT_NE(iv_reuse_warning(plain, {}, 0, limit + 1), "");
  EXPECT_NE(iv_reuse_warning(plain, {.iv_offset = 1}, 0, limit), "");
  EXPECT_NE(iv_reuse_warning(plain, {}, limit - 1, 2), "");
  EXPECT_EQ(iv_reuse_warning(parse_disk_cipher("aes-cbc-plain64"), {}, 0, limit + 1), "");
  // With sectors counted instead of units the numbers reach eight times as far.
  EXPECT_EQ(iv_reuse_warning(plain, {.sector_bytes = 4096, .large_sectors = true}, 0, limit + 8), "");
}

TEST(DiskCipherSpec, ReadsTheFoundingSpecifications) {
  EXPECT_EQ(parse_disk_cipher("aes-cbc-essiv:sha256").algorithm(), "cbc(aes)");
  EXPECT_EQ(parse_disk_cipher("aes-xts-plain64").algorithm(), "xts(aes)");
  EXPECT_EQ(parse_disk_cipher("aes-ctr-plain64").algorithm(), "ctr(aes)");
  EXPECT_EQ(parse_disk_cipher("aes-ecb").algorithm(), "ecb(aes)");
  EXPECT_EQ(parse_disk_cipher("des3_ede-cbc-plain64").algorithm(), "cbc(des3_ede)");
  EXPECT_EQ(parse_disk_cipher("aes").text, "aes-cbc-plain");
  EXPECT_EQ(parse_disk_cipher("aes-cbc-essiv:sha256").text, "aes-cbc-essiv:sha256");
  EXPECT_EQ(parse_disk_cipher("aes-xts-plain64").default_key_bytes(), 64u);
}

TEST(DiskCipherSpec, RefusesInOneSentenceThatListsWhatIsSupported) {
  for (const char* bad :
       {"", "serpent-xts-plain64", "aes-", "aes-cbc", "aes-cbc-", "aes-cbc-plain65", "aes-gcm-random", "aes:64-cbc-lmk",
        "capi:cbc(aes)-plain64", "aes-cbc-essiv", "aes-cbc-essiv:sha1", "aes-cbc-plain64:sha256",
        "des3_ede-xts-plain64", "des3_ede-cbc-essiv:sha256", "aes-xts-eboiv", "aes-lrw-benbi", "aes-cbc-elephant"}) {
    const std::string text = setup_error([&] { parse_disk_cipher(bad, "--cipher"); });
    EXPECT_NE(text.find("supported are aes-"), std::string::npos) << bad << ": " << text;
    EXPECT_EQ(text.find("--cipher"), 0u) << bad;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(DiskCipherSpec, ChecksKeySizesPerMode) {
  const auto ok = [](const char* spec, size_t bytes) {
    return setup_error([&] { check_disk_key(parse_disk_cipher(spec), bytes); }).empty();
  };
  for (size_t n : {16, 24, 32}) EXPECT_TRUE(ok("aes-cbc-plain64", n));
  for (size_t n : {32, 48, 64}) EXPECT_TRUE(ok("aes-xts-plain64", n));
  for (size_t n : {0, 15, 20, 33, 64}) EXPECT_FALSE(ok("aes-cbc-plain64", n)) << n;
  for (size_t n : {16, 24, 40}) EXPECT_FALSE(ok("aes-xts-plain64", n)) << n;
  EXPECT_TRUE(ok("des3_ede-cbc-plain", 24));
  EXPECT_FALSE(ok("des3_ede-cbc-plain", 16));
  EXPECT_FALSE(ok("des-cbc-plain", 7));
}

TEST(DiskCipherSpec, RefusesGeometriesThatCannotBe) {
  for (unsigned s : {0u, 256u, 513u, 1536u, 8192u})
    EXPECT_NE(setup_error([&] { check_geometry({.sector_bytes = s}); }), "") << s;
  EXPECT_NE(setup_error([] { check_geometry({.sector_bytes = 4096, .iv_offset = 4}); }), "");
  EXPECT_EQ(setup_error([] { check_geometry({.sector_bytes = 4096, .iv_offset = 16}); }), "");
}

}  // namespace
}  // namespace sec::test
