#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/endian.h"
#include "host/workloads/luks1.h"
#include "tests/unit/disk_support.h"

namespace sec::test {
namespace {

using namespace sec::host;
namespace fs = std::filesystem;

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "secsim-luks-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const Bytes& bytes) const {
    const std::string p = (path / name).string();
    std::ofstream(p, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return p;
  }
};

DiskEnvironment env() {
  DiskEnvironment e;
  e.registry = &software();
  return e;
}
const Bytes kPassphrase = {'o', 'p', 'e', 'n'};

Luks1Volume make(const std::string& cipher = "aes-cbc-essiv:sha256", unsigned key_bytes = 16,
                 const std::string& hash = "sha256") {
  Luks1FormatOptions o;
  o.cipher = cipher;
  o.key_bytes = key_bytes;
  o.hash = hash;
  o.iterations = 10;
  o.seed = 42;
  return format_luks1(o, kPassphrase, env());
}

TEST(Luks1, SplitAndMergeAreInverse) {
  uint32_t seed = 1;
  const auto random = [&](std::span<uint8_t> out) {
    const Bytes b = pattern(out.size(), seed++);
    std::copy(b.begin(), b.end(), out.begin());
  };
  for (const char* hash : {"sha1", "sha256", "sha512"})
    for (const size_t n : {16, 32, 64, 24, 48})
      for (const uint32_t stripes : {1u, 2u, 100u}) {
        const Bytes key = pattern(n);
        Bytes split = af_split(key, stripes, hash, random);
        ASSERT_EQ(split.size(), n * stripes);
        EXPECT_EQ(af_merge(split, stripes, hash), key) << hash << " " << n << " " << stripes;
        if (stripes > 1) {
          split[0] ^= 1;  // one bit of any stripe takes the key away
          EXPECT_NE(af_merge(split, stripes, hash), key);
        }
      }
}

TEST(Luks1, MergeHasTheKnownResult) {
  // 48-byte key of 3 stripes, bytes 3, 10, 17, ...; made with a separate Python program.
  Bytes material(144);
  for (size_t i = 0; i < material.size(); ++i) material[i] = static_cast<uint8_t>(i * 7 + 3);
  EXPECT_EQ(hex(af_merge(material, 3, "sha1")),
            "ee24e45290600c067d9d39ef3beadb8844e3cb5c3e8ad046e11da094ea84f731339fae133f8b19451dcd26ee00613488");
  EXPECT_EQ(hex(af_merge(material, 3, "sha256")),
            "3e02ba838041b2f449a600504963ce8d50b2d1dc58e1d79fa2be87f54c238bb7c7bf705eaf20eebed93903197f2e248b");
}

TEST(Luks1, HeaderHasTheFieldsWhereTheSpecificationPutsThem) {
  const Luks1Volume v = make();
  const Bytes& h = v.head;
  EXPECT_EQ(hex(std::span(h).first(8)), "4c554b53babe0001");
  EXPECT_STREQ(reinterpret_cast<const char*>(h.data() + 8), "aes");
  EXPECT_STREQ(reinterpret_cast<const char*>(h.data() + 40), "cbc-essiv:sha256");
  EXPECT_STREQ(reinterpret_cast<const char*>(h.data() + 72), "sha256");
  EXPECT_EQ(load_be32(h.data() + 104), 8u + 8 * 128);  // 125 sectors of key material, slots at multiples of 8
  EXPECT_EQ(load_be32(h.data() + 108), 16u);
  EXPECT_EQ(load_be32(h.data() + 208), 0x00ac71f3u);
  EXPECT_EQ(load_be32(h.data() + 208 + 40), 8u);
  EXPECT_EQ(load_be32(h.data() + 208 + 44), 4000u);
  EXPECT_EQ(load_be32(h.data() + 208 + 48), 0x0000deadu);
  EXPECT_EQ(h.size(), size_t{8 + 8 * 128} * 512);
}

TEST(Luks1, HeaderSurvivesReadingAndWriting) {
  const Luks1Volume v = make("aes-xts-plain64", 64, "sha512");
  const Luks1Header h = parse_luks1(std::span(v.head).first(kLuks1HeaderBytes), v.head.size(), "x");
  const auto again = serialize(h);
  EXPECT_EQ(hex(again), hex(std::span(v.head).first(kLuks1HeaderBytes)));
  EXPECT_EQ(h.uuid.size(), 36u);
}

TEST(Luks1, OpensWithTheRightPassphraseOnly) {
  const Folder folder;
  for (const auto& [cipher, key_bytes] : std::vector<std::pair<std::string, unsigned>>{{"aes-cbc-essiv:sha256", 16},
                                                                                       {"aes-cbc-plain64", 32},
                                                                                       {"aes-xts-plain64", 64},
                                                                                       {"aes-ecb", 16},
                                                                                       {"aes-ctr-plain64", 24}}) {
    const Luks1Volume v = make(cipher, key_bytes);
    const ImageReader file(folder.write("c", v.head), "--in");
    const Luks1Header h = parse_luks1(v.head, v.head.size(), file.path());
    EXPECT_EQ(unlock_luks1(h, file, kPassphrase, env()), v.key) << cipher;
    const std::string text = setup_error([&] { static_cast<void>(unlock_luks1(h, file, Bytes{'n', 'o'}, env())); });
    EXPECT_NE(text.find("no key slot of \"" + file.path() + "\" opens with this passphrase"), std::string::npos)
        << text;
    EXPECT_NE(setup_error([&] { static_cast<void>(unlock_luks1(h, file, Bytes{}, env())); }), "");
  }
}

TEST(Luks1, OpensThroughADeviceWithAShortQueue) {
  const Folder folder;
  const Luks1Volume v = make();
  const ImageReader file(folder.write("c", v.head), "--in");
  crypto::Registry r;
  FakeDevice device;
  add_fake(r, device, "cbc(aes)");
  DiskEnvironment e;
  e.registry = &r;
  e.pump = [&] { return device.pump(); };
  driver::CpuMeter cpu;
  e.cpu = &cpu;
  EXPECT_EQ(unlock_luks1(v.header, file, kPassphrase, e), v.key);
  EXPECT_EQ(device.completed, 125u);
  EXPECT_EQ(cpu.count[static_cast<size_t>(driver::Cost::SectorWork)], 0u) << "set-up is not charged";
}

TEST(Luks1, ASlotOtherThanTheFirstIsFound) {
  const Folder folder;
  Luks1Volume v = make();
  std::swap(v.header.slots[0], v.header.slots[5]);
  const auto head = serialize(v.header);
  std::copy(head.begin(), head.end(), v.head.begin());
  const ImageReader file(folder.write("c", v.head), "--in");
  EXPECT_EQ(unlock_luks1(parse_luks1(v.head, v.head.size(), "c"), file, kPassphrase, env()), v.key);
}

TEST(Luks1, KeysDifferWithoutASeed) {
  Luks1FormatOptions o;
  o.iterations = 1;
  const Luks1Volume a = format_luks1(o, kPassphrase, env()), b = format_luks1(o, kPassphrase, env());
  EXPECT_NE(a.key, b.key);
  EXPECT_NE(a.header.uuid, b.header.uuid);
  EXPECT_EQ(a.header.cipher_mode, "xts-plain64");
  EXPECT_EQ(a.key.size(), 64u);
}

TEST(Luks1, DamagedHeadersAreRefusedWithAReason) {
  const Luks1Volume v = make();
  struct Damage {
    size_t at;
    uint32_t value;
    const char* says;
  };
  for (const Damage& d : std::vector<Damage>{{0, 0, "not a LUKS container"},
                                             {4, 0xbabe0002, "version 2"},
                                             {8, 0x786f7200, "is not known"},   // cipher "xor"
                                             {40, 0x6c727700, "is not known"},  // mode "lrw"
                                             {72, 0x666f6f00, "hash"},          // "foo"
                                             {8, 0x01020304, "not a text"},
                                             {104, 0, "inside the header"},
                                             {104, 0x7fffffff, "truncated"},
                                             {104, 16, "outside the space"},
                                             {108, 17, "does not fit"},
                                             {108, 0x40000000, "does not fit"},
                                             {164, 0, "iterations"},
                                             {164, 0xffffffff, "iterations"},
                                             {208, 0x12345678, "state"},
                                             {212, 0, "iterations"},
                                             {212, 0xffffffff, "iterations"},
                                             {248, 0, "outside the space"},
                                             {248, 0xffffffff, "outside the space"},
                                             {252, 0, "stripes"},
                                             {252, 0xffffffff, "stripes"}}) {
    Bytes head = v.head;
    store_be32(head.data() + d.at, d.value);
    const std::string text = setup_error([&] { parse_luks1(head, head.size(), "some.img"); });
    EXPECT_NE(text.find(d.says), std::string::npos) << d.at << ": " << text;
    EXPECT_NE(text.find("some.img"), std::string::npos) << text;
  }
  for (size_t i = 8; i < 40; ++i) EXPECT_EQ(v.head[i] == 0, i >= 11);
  Bytes endless = v.head;
  std::fill(endless.begin() + 8, endless.begin() + 40, uint8_t{'a'});
  EXPECT_NE(setup_error([&] { parse_luks1(endless, endless.size(), "x"); }).find("not a text"), std::string::npos);
}

TEST(Luks1, TruncatedFilesAreRefused) {
  const Luks1Volume v = make();
  for (const size_t n :
       {size_t{0}, size_t{5}, size_t{100}, size_t{591}, size_t{592}, v.head.size() - 1, v.head.size() + 100}) {
    const Bytes head(v.head.begin(), v.head.begin() + static_cast<std::ptrdiff_t>(std::min(n, kLuks1HeaderBytes)));
    EXPECT_NE(setup_error([&] { parse_luks1(head, n, "cut.img"); }).find("cut.img"), std::string::npos) << n;
  }
}

TEST(Luks1, RandomDamageNeverDoesMoreThanFail) {
  const Folder folder;
  const Luks1Volume v = make("aes-cbc-plain64", 16);
  uint32_t seed = 7;
  for (int i = 0; i < 300; ++i) {
    Bytes head(v.head.begin(), v.head.begin() + kLuks1HeaderBytes);
    const Bytes noise = pattern(8, seed++);
    for (int k = 0; k < 4; ++k)
      head[(noise[static_cast<size_t>(k)] + 256u * (noise[static_cast<size_t>(k) + 4] % 3)) % head.size()] ^=
          noise[static_cast<size_t>(k) + 4];
    setup_error([&] { parse_luks1(head, v.head.size(), "x"); });
  }
}

TEST(Luks1, RefusesToMakeWhatCannotBe) {
  const auto bad = [](const std::function<void(Luks1FormatOptions&)>& change, const Bytes& passphrase = kPassphrase) {
    Luks1FormatOptions o;
    o.iterations = 1;
    change(o);
    return !setup_error([&] { format_luks1(o, passphrase, env()); }).empty();
  };
  EXPECT_FALSE(bad([](auto&) {}));
  EXPECT_TRUE(bad([](auto& o) { o.cipher = "twofish-xts-plain64"; }));
  EXPECT_TRUE(bad([](auto& o) { o.key_bytes = 16; }));
  EXPECT_TRUE(bad([](auto& o) { o.hash = "whirlpool"; }));
  EXPECT_TRUE(bad([](auto& o) { o.iterations = 0; }));
  EXPECT_TRUE(bad([](auto&) {}, Bytes{}));
}

}  // namespace
}  // namespace sec::test
