#include "host/workloads/disk_pipeline.h"

#include <gtest/gtest.h>

#include <cmath>

#include "host/cpu/ipsecmb.h"
#include "tests/unit/disk_support.h"

namespace sec::test {
namespace {

using namespace sec::host;

DiskPipelineOptions volume(const std::string& cipher, const Bytes& key, SectorGeometry g = {}) {
  DiskPipelineOptions o;
  o.cipher = parse_disk_cipher(cipher);
  o.key = key;
  o.geometry = g;
  return o;
}
DiskEnvironment env(const crypto::Registry& r = software()) {
  DiskEnvironment e;
  e.registry = &r;
  return e;
}
DiskEnvironment env(const crypto::Registry& r, FakeDevice& device) {
  DiskEnvironment e = env(r);
  e.pump = [&device] { return device.pump(); };
  e.wait_limit_pumps = 1000;
  return e;
}

/// The IV as the tables of dm-crypt define it, written a second time: little-endian by arithmetic, no shared code.
Bytes reference_iv(const std::string& mode, const Bytes& key, uint64_t n, unsigned sector_bytes, bool counter) {
  Bytes v(16, 0);
  const auto little = [&](uint64_t x, int bytes) {
    for (int i = 0; i < bytes; ++i, x /= 256) v[static_cast<size_t>(i)] = static_cast<uint8_t>(x % 256);
  };
  const auto big = [&](uint64_t x) {
    for (int i = 15; i >= 8; --i, x /= 256) v[static_cast<size_t>(i)] = static_cast<uint8_t>(x % 256);
  };
  if (mode == "plain") little(n, 4);
  if (mode == "plain64") little(n, 8);
  if (mode == "plain64be") big(n);
  if (mode == "benbi") big(n * (counter ? 512 : 32) + 1);
  if (mode == "essiv:sha256") {
    Bytes digest(32);
    unsigned size = 0;
    EVP_Digest(key.data(), key.size(), digest.data(), &size, EVP_sha256(), nullptr);
    little(n, 8);
    v = evp("AES-256-ECB", true, digest, {}, v);
  }
  if (mode == "eboiv") {
    little(n * sector_bytes, 8);
    v = evp(("AES-" + std::to_string(key.size() * 8) + "-ECB").c_str(), true, key, {}, v);
  }
  return v;
}

Bytes reference(const std::string& mode, const std::string& iv_mode, const Bytes& key, const SectorGeometry& g,
                uint64_t first_unit, const Bytes& data) {
  const size_t bits = key.size() * 8 / (mode == "xts" ? 2 : 1);
  std::string name = "AES-" + std::to_string(bits) + "-" + mode;
  Bytes out;
  for (size_t at = 0; at < data.size(); at += g.sector_bytes) {
    uint64_t n = first_unit + at / 512 + g.iv_offset;
    if (g.large_sectors) n /= g.sector_bytes / 512;
    const Bytes iv = mode == "ecb" ? Bytes{} : reference_iv(iv_mode, key, n, g.sector_bytes, mode == "ctr");
    const Bytes c = evp(name.c_str(), true, key, iv, std::span(data).subspan(at, g.sector_bytes));
    out.insert(out.end(), c.begin(), c.end());
  }
  return out;
}

TEST(DiskPipeline, ZeroSectorWithEssivHasTheKnownCiphertext) {
  Bytes data(512, 0);
  const auto o = volume("aes-cbc-essiv:sha256", unhex("2b7e151628aed2a6abf7158809cf4f3c"));
  ASSERT_EQ(crypt_sectors(env(), o, DiskDirection::Encrypt, 1, data), Status::Ok);
  EXPECT_EQ(hex(std::span(data).first(16)), "062d8c58b322a2ea376acb41d88c89b5");
  EXPECT_EQ(hex(std::span(data).last(16)), "a8c9a0111bfc2a81a333fa42051cce4c");
}

TEST(DiskPipeline, EveryModeSectorSizeAndKeyAgreesWithAReference) {
  int checked = 0;
  for (const std::string mode : {"cbc", "xts", "ctr", "ecb"})
    for (const std::string iv : {"plain", "plain64", "plain64be", "benbi", "essiv:sha256", "eboiv", "null"}) {
      if (mode == "ecb" && iv != "plain64") continue;
      if (mode == "xts" && iv == "eboiv") continue;
      for (const unsigned sector : {512u, 1024u, 2048u, 4096u})
        for (const bool large : {false, true})
          for (const size_t key_bytes : {16, 32}) {
            const Bytes key =
                pattern(mode == "xts" ? 2 * key_bytes : key_bytes, sector + static_cast<uint32_t>(key_bytes));
            SectorGeometry g{.sector_bytes = sector, .iv_offset = 64, .large_sectors = large};
            const uint64_t first = (uint64_t{1} << 32) - 64 - 2 * sector / 512;  // across the end of 32 bits
            const Bytes plain = pattern(sector * 5);
            auto o = volume("aes-" + mode + "-" + iv, key, g);
            o.bio_bytes = 2 * sector;
            Bytes data = plain;
            ASSERT_EQ(crypt_sectors(env(), o, DiskDirection::Encrypt, first, data), Status::Ok);
            ASSERT_EQ(data, reference(mode, iv, key, g, first, plain))
                << o.cipher.text << " " << sector << " " << large;
            ASSERT_EQ(crypt_sectors(env(), o, DiskDirection::Decrypt, first, data), Status::Ok);
            ASSERT_EQ(data, plain) << o.cipher.text << " " << sector << " " << large;
            ++checked;
          }
    }
  EXPECT_EQ(checked, (7 + 6 + 7 + 1) * 4 * 2 * 2);
}

TEST(DiskPipeline, TripleDesVolumesWork) {
  const Bytes key = pattern(24), plain = pattern(2048);
  Bytes data = plain;
  const auto o = volume("des3_ede-cbc-plain64be", key);
  ASSERT_EQ(crypt_sectors(env(), o, DiskDirection::Encrypt, 9, data), Status::Ok);
  Bytes iv(8, 0);
  iv[7] = 10;
  EXPECT_EQ(Bytes(data.begin() + 512, data.begin() + 1024),
            evp("DES-EDE3-CBC", true, key, iv, std::span(plain).subspan(512, 512)));
}

struct Flow {
  DiskSubmission submission;
  bool copy_writes;
};

class DiskFlow : public ::testing::TestWithParam<Flow> {};

/// Encrypts and decrypts `total` bytes on a device, checks the bytes, and returns the encrypting pipeline's statistics.
DiskStats round_trip(const DiskEnvironment& e, DiskPipelineOptions o, size_t total, uint64_t* out_of_order = nullptr) {
  const Bytes plain = pattern(total);
  Bytes cipher_text, back;
  DiskStats stats;
  for (const DiskDirection d : {DiskDirection::Encrypt, DiskDirection::Decrypt}) {
    const Bytes& in = d == DiskDirection::Encrypt ? plain : cipher_text;
    Bytes& out = d == DiskDirection::Encrypt ? cipher_text : back;
    uint64_t next = 0;
    DiskPipeline p(e, o, [&](const DiskBio& bio) {
      EXPECT_EQ(bio.status, Status::Ok);
      if (bio.index != next++ && out_of_order) ++*out_of_order;
      out.insert(out.end(), bio.bytes.begin(), bio.bytes.end());
    });
    for (size_t at = 0; at < total; at += o.bio_bytes)
      EXPECT_EQ(p.submit(d, at / 512, std::span(in).subspan(at, std::min(o.bio_bytes, total - at))), Status::Ok);
    EXPECT_EQ(p.drain(), Status::Ok) << p.failure();
    EXPECT_EQ(p.stats().failed_bios, 0u);
    EXPECT_EQ(p.stats().bytes, total);
    EXPECT_EQ(p.stats().sectors, total / o.geometry.sector_bytes);
    if (d == DiskDirection::Encrypt) stats = p.stats();
  }
  Bytes expected = plain;
  auto reference_options = o;
  reference_options.submission = DiskSubmission::PerSector;
  EXPECT_EQ(crypt_sectors(env(), reference_options, DiskDirection::Encrypt, 0, expected), Status::Ok);
  EXPECT_TRUE(cipher_text == expected);
  EXPECT_TRUE(back == plain);
  return stats;
}

TEST_P(DiskFlow, ShortQueueWithBacklogLosesNothing) {
  for (const bool early : {false, true}) {
    crypto::Registry r;
    FakeDevice device;
    device.options.start_early = early;
    add_fake(r, device, "cbc(aes)");
    auto o = volume("aes-cbc-essiv:sha256", pattern(16));
    o.submission = GetParam().submission;
    o.copy_writes = GetParam().copy_writes;
    o.bio_bytes = 16 * 512;
    o.bios = 3;
    uint64_t out_of_order = 0;
    const DiskStats s = round_trip(env(r, device), o, 256 * 1024, &out_of_order);
    EXPECT_EQ(out_of_order, 0u);
    EXPECT_GT(s.backlogged, 0u);
    EXPECT_EQ(s.refused, 0u);
    EXPECT_EQ(device.rejected_while_blocked, 0u) << "submitted although told Busy";
    EXPECT_EQ(device.held(), 0u);
    EXPECT_EQ(device.deepest, 1u) << "submitted from within a submission: the stack has no bound";
    if (early) {
      EXPECT_EQ(s.most_in_flight, 3u * 16) << "Busy that had been answered already held the pipeline up";
    }
  }
}

TEST_P(DiskFlow, QueueFullIsNeverAnIoError) {
  // The founding fault: a driver that refuses when full, with the code that no disk understands.
  for (const Status full : {Status::NoSpace, Status::Again}) {
    crypto::Registry r;
    FakeDevice device;
    device.options = {.depth = 4, .per_pump = 3, .backlog = false, .full = full};
    add_fake(r, device, "xts(aes)");
    auto o = volume("aes-xts-plain64", pattern(32));
    o.submission = GetParam().submission;
    o.copy_writes = GetParam().copy_writes;
    const DiskStats s = round_trip(env(r, device), o, 4 << 20);  // 512-byte sectors, FIFO depth 4
    EXPECT_GT(s.refused, 0u);
    EXPECT_EQ(s.failed_bios, 0u);
    EXPECT_EQ(device.most_queued, 4u);
  }
}

TEST_P(DiskFlow, CompletionsSubmitMoreWithoutWaiting) {
  crypto::Registry r;
  FakeDevice device;
  device.options.depth = 2;
  add_fake(r, device, "cbc(aes)");
  DiskEnvironment e = env(r, device);
  int pumping = 0;
  e.pump = [&] {
    EXPECT_EQ(pumping, 0) << "waited inside a completion";
    ++pumping;
    const bool more = device.pump();
    --pumping;
    return more;
  };
  auto o = volume("aes-cbc-plain64", pattern(16));
  o.submission = GetParam().submission;
  o.copy_writes = GetParam().copy_writes;
  o.bio_bytes = 64 * 512;
  const DiskStats s = round_trip(e, o, 64 * 512 * 4);
  EXPECT_GT(device.submitted_in_callback, 0u);
  EXPECT_GT(device.busy_in_callback, 0u) << "the queue was never full inside a completion";
  EXPECT_GT(s.from_completion, 0u);
}

TEST_P(DiskFlow, DmaMemoryIsUsedAndGivenBack) {
  driver::DmaSpace dma(8 << 20, uint64_t{1} << 33, 0);
  crypto::Registry r;
  FakeDevice device;
  device.options.depth = 8;
  add_fake(r, device, "cbc(aes)");
  const size_t before = dma.allocated_bytes();
  {
    DiskEnvironment e = env(r, device);
    e.dma = &dma;
    auto o = volume("aes-cbc-plain64", pattern(16));
    o.submission = GetParam().submission;
    o.copy_writes = GetParam().copy_writes;
    round_trip(e, o, 1 << 20);
  }
  EXPECT_EQ(dma.allocated_bytes(), before);
  DiskEnvironment e = env();
  driver::DmaSpace tiny(65536, 0, 0);
  e.dma = &tiny;
  EXPECT_NE(setup_error([&] { DiskPipeline(e, volume("aes-cbc-plain64", pattern(16)), {}); }), "");
  EXPECT_EQ(tiny.allocated_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Flows, DiskFlow,
                         ::testing::Values(Flow{DiskSubmission::PerSector, false},
                                           Flow{DiskSubmission::PerSector, true}, Flow{DiskSubmission::PerBio, false},
                                           Flow{DiskSubmission::PerBio, true}));

TEST(DiskPipeline, RequestsInFlightAreLimitedPerSectorOnly) {
  for (const auto submission : {DiskSubmission::PerSector, DiskSubmission::PerBio}) {
    crypto::Registry r;
    FakeDevice device;
    device.options.depth = 10000;
    add_fake(r, device, "cbc(aes)");
    auto o = volume("aes-cbc-plain64", pattern(16));
    o.submission = submission;
    o.requests = 40;
    o.bios = 2;
    const DiskStats s = round_trip(env(r, device), o, 512 * 1024);
    EXPECT_EQ(s.most_in_flight, submission == DiskSubmission::PerSector ? 40u : 512u);
  }
}

TEST(DiskPipeline, ProcessorTimeIsChargedPerSectorOrPerBio) {
  struct Expected {
    DiskSubmission submission;
    uint64_t sector_work, api_calls;
  };
  // 2 bios of 256 sectors each.
  for (const Expected& x :
       {Expected{DiskSubmission::PerSector, 512 + 2, 512}, Expected{DiskSubmission::PerBio, 2, 2}}) {
    driver::CpuMeter cpu;
    size_t cipher_bytes = 0, iv_blocks = 0;
    DiskEnvironment e = env();
    e.cpu = &cpu;
    e.charge_cipher = [&](size_t n) { cipher_bytes += n; };
    e.charge_iv = [&](size_t n) { iv_blocks += n; };
    auto o = volume("aes-cbc-essiv:sha256", pattern(16));
    o.submission = x.submission;
    Bytes data = pattern(256 * 1024);
    ASSERT_EQ(crypt_sectors(e, o, DiskDirection::Encrypt, 0, data), Status::Ok);
    const auto count = [&](driver::Cost c) { return cpu.count[static_cast<size_t>(c)]; };
    EXPECT_EQ(count(driver::Cost::SectorWork), x.sector_work);
    EXPECT_EQ(count(driver::Cost::ApiCall), x.api_calls);
    EXPECT_EQ(count(driver::Cost::CopyByte), 0u);
    EXPECT_EQ(cipher_bytes, 256u * 1024);
    EXPECT_EQ(iv_blocks, 512u);
    o.copy_writes = true;
    ASSERT_EQ(crypt_sectors(e, o, DiskDirection::Encrypt, 0, data), Status::Ok);
    ASSERT_EQ(crypt_sectors(e, o, DiskDirection::Decrypt, 0, data), Status::Ok);
    EXPECT_EQ(count(driver::Cost::CopyByte), 256u * 1024) << "reads are not copied";
  }
}

TEST(DiskPipeline, OneBadSectorFailsItsBioOnly) {
  for (const DiskDirection d : {DiskDirection::Encrypt, DiskDirection::Decrypt}) {
    crypto::Registry r;
    FakeDevice device;
    device.options.depth = 4;
    device.options.fail_nth = 21;
    device.options.fail_with = Status::Invalid;
    add_fake(r, device, "cbc(aes)");
    auto o = volume("aes-cbc-plain64", pattern(16));
    o.bio_bytes = 16 * 512;
    std::vector<Status> seen, said;
    DiskPipeline p(env(r, device), o, [&](const DiskBio& bio) {
      seen.push_back(bio.status);
      said.push_back(bio.cipher_status);
    });
    const Bytes data = pattern(16 * 512);
    for (unsigned i = 0; i < 4; ++i) ASSERT_EQ(p.submit(d, i * 16, data), Status::Ok);
    ASSERT_EQ(p.drain(), Status::Ok);
    EXPECT_EQ(seen, (std::vector<Status>{Status::Ok, Status::Io, Status::Ok, Status::Ok}));
    EXPECT_EQ(said[1], Status::Invalid);
    EXPECT_EQ(p.stats().failed_bios, 1u);
    EXPECT_EQ(p.stats().sectors, 63u);
  }
}

TEST(DiskPipeline, LostRequestRunsAgainOutOfPlaceAndFailsInPlace) {
  struct Case {
    DiskDirection direction;
    bool copy_writes, in_place;
  };
  for (const Case& c : {Case{DiskDirection::Encrypt, false, false}, Case{DiskDirection::Encrypt, true, true},
                        Case{DiskDirection::Decrypt, false, true}}) {
    crypto::Registry r;
    FakeDevice device;
    device.options.depth = 4;
    device.options.fail_nth = 5;
    device.options.fail_with = Status::Again;
    add_fake(r, device, "cbc(aes)");
    auto o = volume("aes-cbc-plain64", pattern(16));
    o.bio_bytes = 16 * 512;
    o.copy_writes = c.copy_writes;
    Bytes data = pattern(32 * 512), expected = data;
    ASSERT_EQ(crypt_sectors(env(), o, c.direction, 0, expected), Status::Ok);
    const Status s = crypt_sectors(env(r, device), o, c.direction, 0, data);
    EXPECT_EQ(s, c.in_place ? Status::Io : Status::Ok);
    if (!c.in_place) {
      EXPECT_TRUE(data == expected);
    }
  }
}

TEST(DiskPipeline, DeadDeviceEndsInANamedTimeout) {
  static auto* device = new FakeDevice;  // its requests stay pending for ever, and so does what they point to
  device->options.dead = true;
  crypto::Registry r;
  add_fake(r, *device, "cbc(aes)");
  DiskEnvironment e = env(r, *device);
  e.pump = [] { return true; };
  DiskPipeline p(e, volume("aes-cbc-plain64", pattern(16)), {});
  ASSERT_EQ(p.submit(DiskDirection::Encrypt, 0, pattern(4096)), Status::Ok);
  EXPECT_EQ(p.drain(), Status::TimedOut);
  EXPECT_NE(
      p.failure().find("waited 1000 rounds for the last disk buffers, with 1 bios under way and 3 cipher requests"),
      std::string::npos)
      << p.failure();
}

TEST(DiskPipeline, LateCompletionsAfterATimeoutTouchNothing) {
  auto device = std::make_unique<FakeDevice>();
  device->options.dead = true;
  crypto::Registry r;
  add_fake(r, *device, "cbc(aes)");
  {
    DiskPipeline p(env(r, *device), volume("aes-cbc-plain64", pattern(16)), [](const DiskBio&) { FAIL(); });
    for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(p.submit(DiskDirection::Encrypt, i * 8, pattern(4096)), Status::Ok);
    EXPECT_EQ(p.drain(), Status::TimedOut);
  }
  device->options.dead = false;
  const uint64_t before = device->submitted;
  while (device->pump()) {
  }
  EXPECT_EQ(device->submitted, before) << "an abandoned pipeline went on";
}

TEST(DiskPipeline, DeviceThatAlwaysRefusesFailsTheBio) {
  crypto::Registry r;
  FakeDevice device;
  device.options.depth = 0;
  device.options.backlog = false;
  add_fake(r, device, "cbc(aes)");
  Bytes data = pattern(2048);
  EXPECT_EQ(crypt_sectors(env(r, device), volume("aes-cbc-plain64", pattern(16)), DiskDirection::Encrypt, 0, data),
            Status::Io);
}

TEST(DiskPipeline, BatchingBackEndIsFlushed) {
  crypto::Registry r;
  if (!register_ipsecmb(r)) GTEST_SKIP() << "intel-ipsec-mb does not run here";
  auto o = volume("aes-cbc-essiv:sha256", pattern(32));
  DiskEnvironment e = env(r);
  const DiskStats s = round_trip(e, o, 100 * 512);
  EXPECT_EQ(s.failed_bios, 0u);
}

TEST(DiskPipeline, PicksTheBestThatDoesNotAllocate) {
  crypto::Registry r;
  register_openssl(r);
  FakeDevice device;
  add_fake(r, device, "cbc(aes)", true);
  const auto o = volume("aes-cbc-plain64", pattern(16));
  EXPECT_EQ(DiskPipeline(env(r), o, {}).cipher_info().driver, "cbc-aes-openssl");
  DiskEnvironment e = env(r);
  e.cipher_driver = "fake-cbc(aes)";
  EXPECT_EQ(DiskPipeline(e, o, {}).cipher_info().driver, "fake");
  ASSERT_EQ(r.remove("cbc-aes-openssl"), Status::Ok);
  EXPECT_NE(setup_error([&] { DiskPipeline(env(r), o, {}); }).find("does not allocate"), std::string::npos);
  e.cipher_driver = "ecb-aes-openssl";
  EXPECT_NE(setup_error([&] { DiskPipeline(e, o, {}); }).find("implements ecb(aes)"), std::string::npos);
  e.cipher_driver = "nobody";
  EXPECT_NE(setup_error([&] { DiskPipeline(e, o, {}); }), "");
}

TEST(DiskPipeline, RefusesWhatIsNotWholeSectors) {
  auto o = volume("aes-cbc-plain64", pattern(16), {.sector_bytes = 4096});
  DiskPipeline p(env(), o, {});
  EXPECT_EQ(p.submit(DiskDirection::Encrypt, 0, pattern(512)), Status::Invalid);
  EXPECT_EQ(p.submit(DiskDirection::Encrypt, 1, pattern(4096)), Status::Invalid);
  EXPECT_EQ(p.submit(DiskDirection::Encrypt, 0, {}), Status::Invalid);
  EXPECT_EQ(p.submit(DiskDirection::Encrypt, 0, pattern(o.bio_bytes + 4096)), Status::Invalid);
  EXPECT_EQ(p.submit(DiskDirection::Encrypt, 8, pattern(4096)), Status::Ok);
  o.bio_bytes = 512;
  EXPECT_NE(setup_error([&] { DiskPipeline(env(), o, {}); }), "");
  o.bio_bytes = 4096;
  o.bios = 0;
  EXPECT_NE(setup_error([&] { DiskPipeline(env(), o, {}); }), "");
}

TEST(DiskPipeline, WrongKeyGivesWrongBytes) {
  Bytes data = pattern(1024);
  const Bytes plain = data;
  ASSERT_EQ(crypt_sectors(env(), volume("aes-xts-plain64", pattern(32, 1)), DiskDirection::Encrypt, 0, data),
            Status::Ok);
  ASSERT_EQ(crypt_sectors(env(), volume("aes-xts-plain64", pattern(32, 2)), DiskDirection::Decrypt, 0, data),
            Status::Ok);
  EXPECT_FALSE(data == plain);
}

}  // namespace
}  // namespace sec::test
