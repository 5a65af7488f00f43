// Register accesses of the driver, each with its value, in order, written down from the register map by hand.
#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "driver/crypto/registry.h"
#include "driver/talitos/talitos.h"
#include "tests/driver/scripted_platform.h"

namespace sec::test {
namespace {

using driver::Device;
using driver::DeviceProperties;
using driver::Edesc;

constexpr uint32_t kImr = 0x1008, kIsr = 0x1010, kIcr = 0x1018, kMcr = 0x1030;
constexpr uint32_t kMdeuIcr = 0x603c, kAesuIcr = 0x403c;

DeviceProperties sec31() {
  return {{"fsl,sec3.1", "fsl,sec3.0", "fsl,sec2.4", "fsl,sec2.2", "fsl,sec2.1", "fsl,sec2.0"},
          4,
          24,
          0xbee,  // without the RNG, whose registers are worked when algorithms are registered: rng_test
          0x03ab0ebf,
          2};
}
DeviceProperties sec20() { return {{"fsl,sec2.0"}, 4, 24, 0x6e, 0x01010ebf, 1}; }

uint32_t channel(unsigned n, bool two_lines) { return two_lines && n % 2 ? 0x100 * (n + 1) : 0x1000 + 0x100 * (n + 1); }

void expect_reset(ScriptedPlatform& p) {
  for (int i = 0; i < 2; ++i) {
    p.expect_write(kMcr, 1);
    p.expect_read(kMcr, i == 0 ? 1 : 0);  // the first time it takes a moment
    if (i == 0) p.expect_read(kMcr, 0);
  }
}
void expect_channels(ScriptedPlatform& p, unsigned n, bool two_lines, uint32_t config) {
  if (two_lines) p.expect_write(kMcr, 0x5000);
  for (unsigned i = 0; i < n; ++i) {
    p.expect_write(channel(i, two_lines) + 0x08, 1);
    p.expect_read(channel(i, two_lines) + 0x08, 0);
    p.expect_write(channel(i, two_lines) + 0x0c, config);
  }
}
void expect_probe_31(ScriptedPlatform& p) {
  expect_reset(p);
  expect_channels(p, 4, true, 0xb2);  // EAE, CDWE, CDIE, IWSE
  p.expect_read(kMdeuIcr, 0);
  p.expect_write(kMdeuIcr, 0x4000);
  p.expect_read(kAesuIcr, 0);
  p.expect_write(kAesuIcr, 0x4000);
  p.expect_write(kImr, 0x100ff);
}
void expect_unload(ScriptedPlatform& p) {
  p.expect_write(kImr, 0);
  expect_reset(p);
}

struct Cipher {
  Cipher(ScriptedPlatform& p, Device& d, const char* name, std::span<const uint8_t> key)
      : device(d), results(p.results) {
    registry.set_selftest_enabled(false);
    EXPECT_EQ(d.register_algorithms(registry), Status::Ok);
    transform = registry.alloc_skcipher(name);
    EXPECT_EQ(transform->set_key(key), Status::Ok);
    memory = static_cast<uint8_t*>(p.dma().alloc(8192, 64));
  }
  crypto::SkcipherRequest request(size_t n) {
    segment = {memory, n};
    list = crypto::ScatterList(&segment, 1);
    return {.src = &list, .dst = &list, .size_bytes = n, .iv = iv, .complete = done, .context = &results};
  }
  static void done(void* c, Status s) { static_cast<std::vector<Status>*>(c)->push_back(s); }
  ~Cipher() { device.unregister(); }

  Device& device;
  crypto::Registry registry;
  std::unique_ptr<crypto::Skcipher> transform;
  uint8_t* memory;
  uint8_t iv[16] = {1, 2, 3};
  crypto::Segment segment;
  crypto::ScatterList list;
  std::vector<Status>& results;  // the platform's: the device may end requests later than this object
};

/// Where channel 1's ring lies: the bounce pool takes the first 128 KiB of the space, then come the rings.
BusAddr ring(const ScriptedPlatform&, unsigned channel_index) {
  return 0x1'2000'0000 + 64 * 2048 + channel_index * 32 * 448;
}

void expect_doorbell(ScriptedPlatform& p, unsigned ch, BusAddr a, bool two_lines = true) {
  p.expect_write64(channel(ch, two_lines) + 0x48, a);
}
void mark_done(ScriptedPlatform& p, BusAddr a) { p.dma().host_ptr(a)[0] = 0xff; }

TEST(Script, ProbeOfAPartWithTwoLines) {
  ScriptedPlatform p;
  expect_probe_31(p);
  {
    Device d(p);
    EXPECT_EQ(d.probe(sec31()), Status::Ok);
    EXPECT_TRUE(p.script_done());
    expect_unload(p);
  }
}

TEST(Script, ProbeOfAPartWithOneLine) {
  ScriptedPlatform p;
  expect_reset(p);
  expect_channels(p, 4, false, 0x32);  // no IWSE before 2.1, hence no ICE mask either
  p.expect_write(kImr, 0x100ff);
  {
    Device d(p);
    EXPECT_EQ(d.probe(sec20()), Status::Ok);
    EXPECT_TRUE(p.script_done());
    expect_unload(p);
  }
}

// T48
TEST(Script, BadPropertiesTouchNothing) {
  const auto refused = [](const DeviceProperties& props) {
    ScriptedPlatform p;
    Device d(p);
    EXPECT_EQ(d.probe(props), Status::Invalid);
    ASSERT_EQ(p.log_lines().size(), 1u);
    EXPECT_EQ(p.log_lines()[0], "invalid property data in device tree node");
    crypto::Registry r;
    EXPECT_EQ(d.register_algorithms(r), Status::Invalid);
    EXPECT_TRUE(r.list().empty());
  };
  for (unsigned n : {0u, 3u, 5u, 8u}) {
    DeviceProperties q = sec31();
    q.num_channels = n;
    refused(q);
  }
  DeviceProperties q = sec31();
  q.channel_fifo_len = 0;
  refused(q);
  q = sec31();
  q.exec_units_mask = 0;
  refused(q);
  q = sec31();
  q.descriptor_types_mask = 0;
  refused(q);
  q = sec31();
  q.compatible.push_back("fsl,sec1.0");
  refused(q);
  q = sec31();
  q.compatible.clear();
  refused(q);
  for (unsigned n : {0u, 3u}) {
    q = sec31();
    q.interrupts = n;
    refused(q);
  }
  q = sec20();
  q.interrupts = 2;
  refused(q);
  refused({});
}

TEST(Script, EngineThatStaysInResetIsGivenUp) {
  struct Stuck : ScriptedPlatform {
    uint32_t read32(uint32_t) override { return ++reads, 1; }
    void write32(uint32_t, uint32_t) override {}
    uint64_t reads = 0;
  } p;
  const size_t memory = p.dma().allocated_bytes();
  Device d(p);
  EXPECT_EQ(d.probe(sec31()), Status::TimedOut);
  EXPECT_EQ(p.reads, 100'000u);
  EXPECT_NE(p.log_lines()[0].find("MCR[SWR]"), std::string::npos);
  EXPECT_EQ(p.dma().allocated_bytes(), memory);
}

// T24: the bytes of a descriptor, and the accesses of one request from submission to completion.
TEST(Script, OneRequestFromSubmissionToCompletion) {
  ScriptedPlatform p;
  expect_probe_31(p);
  {
    Device d(p);
    ASSERT_EQ(d.probe(sec31()), Status::Ok);
    const uint8_t key[16] = {0x2b};
    Cipher c(p, d, "cbc(aes)", key);
    crypto::SkcipherRequest r = c.request(64);
    const BusAddr a = ring(p, 1);  // the first transform is on channel 1
    expect_doorbell(p, 1, a);
    const auto submits = p.cpu().count[size_t(driver::Cost::SubmitRequest)];
    ASSERT_EQ(c.transform->encrypt(r), Status::InProgress);
    EXPECT_EQ(p.cpu().count[size_t(driver::Cost::SubmitRequest)], submits + 1);
    EXPECT_EQ(p.cpu().count[size_t(driver::Cost::MapSegment)], 1u);
    EXPECT_TRUE(p.script_done());

    const uint8_t* raw = p.dma().host_ptr(a);
    const auto dword = [](BusAddr where, uint16_t n) { return uint64_t{n} << 48 | where; };
    const uint8_t header[8] = {0x60, 0x30, 0x00, 0x11, 0, 0, 0, 0};
    EXPECT_EQ(std::memcmp(raw, header, 8), 0);
    EXPECT_EQ(load_be64(raw + 8), 0u);
    EXPECT_EQ(load_be64(raw + 16), dword(a + 64, 16));
    EXPECT_EQ(load_be64(raw + 24) >> 48, 16u);
    EXPECT_EQ(std::memcmp(p.dma().host_ptr(load_be64(raw + 24) & 0xfffffffff), key, 16), 0);
    const BusAddr data = p.dma().bus_addr(c.memory);
    EXPECT_EQ(load_be64(raw + 32), dword(data, 64));
    EXPECT_EQ(load_be64(raw + 40), dword(data, 64));
    EXPECT_EQ(load_be64(raw + 48), dword(a + 80, 16));
    EXPECT_EQ(load_be64(raw + 56), 0u);
    EXPECT_EQ(raw[32], 0x00);  // length 64, address above 4 GiB in the fourth byte's low nibble
    EXPECT_EQ(raw[33], 0x40);
    EXPECT_EQ(raw[34], 0x00);
    EXPECT_EQ(raw[35], 0x01);
    EXPECT_EQ(std::memcmp(raw + 64, c.iv, 16), 0);

    mark_done(p, a);
    std::memset(p.dma().host_ptr(a) + 80, 0x77, 16);
    p.expect_read(kIsr, 0x4);
    p.expect_read(kIsr + 4, 0);
    p.expect_write(kIcr, 0x4);
    p.expect_read(kIsr, 0);
    p.expect_write(kImr, 0x100ff & ~0x44u);
    p.raise(1);
    EXPECT_TRUE(c.results.empty());
    EXPECT_TRUE(p.script_done());
    p.expect_write(kImr, 0x100ff);
    EXPECT_EQ(p.run_tasks(), 1u);
    EXPECT_GE(p.syncs(), 1u);
    EXPECT_EQ(c.results, std::vector<Status>{Status::Ok});
    EXPECT_EQ(c.iv[0], 0x77);
    EXPECT_EQ(d.stats().channel[1].completed, 1u);
    EXPECT_EQ(d.stats().channel[1].bytes, 64u);
    c.transform.reset();
    expect_unload(p);
  }
}

// One acknowledge takes one stored done event off: the handler goes on until the bits read clear, 16 rounds at most.
TEST(Script, StoredDoneEventsAreAllTaken) {
  for (const unsigned events : {3u, 15u, 40u}) {
    ScriptedPlatform p;
    expect_probe_31(p);
    Device d(p);
    ASSERT_EQ(d.probe(sec31()), Status::Ok);
    for (unsigned i = 0; i < std::min(events, 16u); ++i) {
      p.expect_read(kIsr, 0x51);  // channels 0, 2 and, of the other line, 3
      if (i == 0) p.expect_read(kIsr + 4, 0);
      p.expect_write(kIcr, 0x11);  // only what belongs to this line
    }
    if (events < 16) p.expect_read(kIsr, 0x40);
    p.expect_write(kImr, 0x100ff & ~0x11u);
    p.raise(0);
    EXPECT_TRUE(p.script_done());
    p.expect_write(kImr, 0x100ff);
    p.run_tasks();
    expect_unload(p);
  }
}

TEST(Script, SpuriousInterruptIsCounted) {
  ScriptedPlatform p;
  expect_probe_31(p);
  Device d(p);
  ASSERT_EQ(d.probe(sec31()), Status::Ok);
  p.expect_read(kIsr, 0x44);
  p.expect_read(kIsr + 4, 0);
  p.raise(0);
  EXPECT_EQ(d.stats().spurious_interrupts, 1u);
  EXPECT_EQ(p.run_tasks(), 0u);
  expect_unload(p);
}

// 1.8: a unit's error, with a done bit in the same interrupt.
TEST(Script, UnitErrorNamesTheUnitAndContinues) {
  ScriptedPlatform p;
  expect_probe_31(p);
  {
    Device d(p);
    ASSERT_EQ(d.probe(sec31()), Status::Ok);
    const uint8_t key[16] = {1};
    Cipher c(p, d, "ecb(aes)", key);
    crypto::SkcipherRequest r = c.request(16);
    for (unsigned i = 0; i < 3; ++i) {
      expect_doorbell(p, 1, ring(p, 1) + 448 * i);
      ASSERT_EQ(c.transform->decrypt(r), Status::InProgress);
    }
    mark_done(p, ring(p, 1));
    p.expect_read(kIsr, 0xc);
    p.expect_read(kIsr + 4, 0);
    p.expect_write(kIcr, 0xc);
    p.expect_read(kIsr, 0);
    p.expect_write(kImr, 0x100ff & ~0x44u);
    p.expect_read(0x214, 0x0100);              // CCPSR LO of channel 1 on the alternate page: EU error
    p.expect_read64(0x240, ring(p, 1) + 448);  // CDPR
    p.expect_read(0x4034, 0x300);              // AESU interrupt status: KSE, DSE
    p.expect_write(0x208, 2);                  // CON
    p.expect_read(0x208, 2);
    p.expect_read(0x208, 0);
    p.expect_read(0x214, 0);
    p.raise(1);
    EXPECT_TRUE(p.script_done());
    EXPECT_EQ(c.results, (std::vector<Status>{Status::Ok, Status::Invalid}));
    const std::string& text = p.log_lines().back();
    EXPECT_NE(text.find("channel 1: error 0100 (EU)"), std::string::npos) << text;
    EXPECT_NE(text.find("header 60000011"), std::string::npos) << text;
    EXPECT_NE(text.find("AESU interrupt status 00000300 (KSE|DSE)"), std::string::npos) << text;
    EXPECT_EQ(text.find("DEU"), std::string::npos) << text;
    p.expect_write(kImr, 0x100ff);
    p.run_tasks();
    mark_done(p, ring(p, 1) + 896);
    p.expect_read(kIsr, 0x4);
    p.expect_read(kIsr + 4, 0);
    p.expect_write(kIcr, 0x4);
    p.expect_read(kIsr, 0);
    p.expect_write(kImr, 0x100ff & ~0x44u);
    p.raise(1);
    p.expect_write(kImr, 0x100ff);
    p.run_tasks();
    EXPECT_EQ(c.results, (std::vector<Status>{Status::Ok, Status::Invalid, Status::Ok}));
    c.transform.reset();
    expect_unload(p);
  }
}

// CDPR does not name a descriptor of ours: the channel's buffer is shown, the oldest that is not done fails.
TEST(Script, UnknownOffenderIsShownFromTheBuffer) {
  ScriptedPlatform p;
  expect_probe_31(p);
  {
    Device d(p);
    ASSERT_EQ(d.probe(sec31()), Status::Ok);
    const uint8_t key[16] = {1};
    Cipher c(p, d, "ecb(aes)", key);
    crypto::SkcipherRequest r = c.request(16);
    for (unsigned i = 0; i < 2; ++i) {
      expect_doorbell(p, 1, ring(p, 1) + 448 * i);
      ASSERT_EQ(c.transform->decrypt(r), Status::InProgress);
    }
    p.expect_read(kIsr, 0x8);
    p.expect_read(kIsr + 4, 0);
    p.expect_write(kIcr, 0x8);
    p.expect_read(0x214, 0x0800);  // FPZ
    p.expect_read64(0x240, 0);
    for (unsigned w = 0; w < 16; ++w) p.expect_read(0x280 + 4 * w, w == 0 ? 0x12345678 : 0);
    p.expect_write(0x208, 2);
    p.expect_read(0x208, 0);
    p.expect_read(0x214, 0);
    p.raise(1);
    EXPECT_EQ(c.results, std::vector<Status>{Status::Invalid});
    EXPECT_NE(p.log_lines().back().find("couldn't locate current descriptor"), std::string::npos);
    EXPECT_NE(p.log_lines().back().find("header 12345678"), std::string::npos);
    EXPECT_EQ(d.stats().offender_not_found, 1u);
    p.let_go();
    c.transform.reset();
  }
}

// A unit interrupt or ITO: everything in flight fails with Io, the engine is set up again, and runs.
TEST(Script, DeviceErrorReinitialises) {
  ScriptedPlatform p;
  expect_probe_31(p);
  {
    Device d(p);
    ASSERT_EQ(d.probe(sec31()), Status::Ok);
    const uint8_t key[16] = {1};
    Cipher c(p, d, "ecb(aes)", key);
    crypto::SkcipherRequest r = c.request(16);
    for (unsigned i = 0; i < 2; ++i) {
      expect_doorbell(p, 1, ring(p, 1) + 448 * i);
      ASSERT_EQ(c.transform->decrypt(r), Status::InProgress);
    }
    mark_done(p, ring(p, 1));
    p.expect_read(kIsr, 0x10000);
    p.expect_read(kIsr + 4, 0x20000);
    p.expect_write(kIcr, 0x10000);
    p.expect_write(kIcr + 4, 0x20000);
    expect_reset(p);
    expect_channels(p, 4, true, 0xb2);
    p.expect_read(kMdeuIcr, 0x1);
    p.expect_write(kMdeuIcr, 0x4001);
    p.expect_read(kAesuIcr, 0);
    p.expect_write(kAesuIcr, 0x4000);
    p.expect_write(kImr, 0x100ff);
    p.raise(0);
    EXPECT_TRUE(p.script_done());
    EXPECT_EQ(c.results, (std::vector<Status>{Status::Ok, Status::Io}));
    expect_doorbell(p, 1, ring(p, 1) + 448 * 2);
    ASSERT_EQ(c.transform->decrypt(r), Status::InProgress);
    EXPECT_EQ(d.stats().device_resets, 1u);
    p.let_go();
    c.transform.reset();
  }
}

// ERRATUM on SEC 3.1: the error field survives the first CON; the second only while CDPR stands still.
TEST(Script, ContinueIsRepeatedWhileTheErrorStays) {
  ScriptedPlatform p;
  expect_probe_31(p);
  {
    Device d(p);
    ASSERT_EQ(d.probe(sec31()), Status::Ok);
    const uint8_t key[16] = {1};
    Cipher c(p, d, "ecb(aes)", key);
    crypto::SkcipherRequest r = c.request(16);
    expect_doorbell(p, 1, ring(p, 1));
    ASSERT_EQ(c.transform->decrypt(r), Status::InProgress);
    p.expect_read(kIsr, 0x8);
    p.expect_read(kIsr + 4, 0);
    p.expect_write(kIcr, 0x8);
    p.expect_read(0x214, 0x0400);
    p.expect_read64(0x240, ring(p, 1));
    p.expect_write(0x208, 2);
    p.expect_read(0x208, 0);
    p.expect_read(0x214, 0x0400);
    p.expect_read64(0x240, ring(p, 1));
    p.expect_write(0x208, 2);
    p.expect_read(0x208, 0);
    p.expect_read(0x214, 0);
    p.raise(1);
    EXPECT_EQ(c.results, std::vector<Status>{Status::Invalid});
    EXPECT_EQ(d.stats().continues, 2u);
    c.transform.reset();
    expect_unload(p);
  }
}

TEST(Script, DoubleOverflowResetsTheChannel) {
  ScriptedPlatform p;
  expect_probe_31(p);
  {
    Device d(p);
    ASSERT_EQ(d.probe(sec31()), Status::Ok);
    const uint8_t key[16] = {1};
    Cipher c(p, d, "ecb(aes)", key);
    crypto::SkcipherRequest r = c.request(16);
    for (unsigned i = 0; i < 3; ++i) {
      expect_doorbell(p, 1, ring(p, 1) + 448 * i);
      ASSERT_EQ(c.transform->decrypt(r), Status::InProgress);
    }
    mark_done(p, ring(p, 1));
    p.expect_read(kIsr, 0x8);
    p.expect_read(kIsr + 4, 0);
    p.expect_write(kIcr, 0x8);
    p.expect_read(0x214, 0xc000);
    p.expect_write(0x208, 1);
    p.expect_read(0x208, 0);
    p.expect_write(0x20c, 0xb2);
    p.raise(1);
    EXPECT_TRUE(p.script_done());
    EXPECT_EQ(c.results, (std::vector<Status>{Status::Ok, Status::Again, Status::Again}));
    c.transform.reset();
    expect_unload(p);
  }
}

// SEC 1: other places, inverted mask, one fetch register, no continue.
TEST(Script, Sec1FromProbeToAnError) {
  ScriptedPlatform p(1 << 20, 0x1000'0000);
  constexpr uint32_t kChannel = 0x2000, kDeuMask = 0x5038, kAesuIsr = 0x4030;
  constexpr uint32_t kRunning = 0xc80f0000, kDoneMasked = 0xd80f0000;  // 1 masks
  const auto reset_all = [&] {
    for (int i = 0; i < 2; ++i) {
      p.expect_write(kMcr, 0x01000000);
      p.expect_read(kMcr, 0);
    }
  };
  const auto reset_channel = [&] {
    p.expect_write(kChannel + 0x0c, 1);
    p.expect_read(kChannel + 0x0c, 0);
    p.expect_write(kChannel + 0x0c, 0x1a);  // CDWE, NE, CDIE
  };
  reset_all();
  reset_channel();
  p.expect_read(kDeuMask, 0);
  p.expect_write(kDeuMask, 0x00200000);  // KPE
  p.expect_write(kImr + 4, 0x33333340);
  p.expect_write(kImr, kRunning);
  {
    Device d(p);
    ASSERT_EQ(d.probe({{"fsl,sec1.2", "fsl,sec1.0"}, 1, 24, 0x4c, 0x05000154, 1}), Status::Ok);
    const uint8_t key[16] = {7};
    Cipher c(p, d, "cbc(aes)", key);
    auto r = c.request(64);
    const auto ring_base = static_cast<uint32_t>(0x1000'0000 + 64 * 2048);
    p.expect_write(kChannel + 0x4c, ring_base);
    ASSERT_EQ(c.transform->encrypt(r), Status::InProgress);
    ASSERT_EQ(c.transform->encrypt(r), Status::InProgress);  // waits until the first is done
    ASSERT_EQ(c.transform->encrypt(r), Status::InProgress);
    // Header in the first word, pointers behind, no next descriptor.
    const uint8_t* raw = p.dma().host_ptr(ring_base);
    EXPECT_EQ(load_be32(raw), 0x60300011u);
    EXPECT_EQ(load_be64(raw + 4), 0u);
    EXPECT_EQ(load_be64(raw + 12), uint64_t{16} << 32 | (ring_base + 64));
    EXPECT_EQ(load_be32(raw + 20), 16u);
    EXPECT_EQ(load_be32(raw + 28), 64u);
    EXPECT_EQ(load_be32(raw + 32), p.dma().bus_addr(c.memory));
    EXPECT_EQ(load_be32(raw + 60), 0u);

    // Done: the next one goes out.
    mark_done(p, ring_base);
    p.expect_read(kIsr, 0x10000000);
    p.expect_read(kIsr + 4, 0);
    p.expect_write(kIcr, 0x10000000);
    p.expect_read(kIsr, 0);
    p.expect_write(kImr, kDoneMasked);
    p.raise(0);
    p.expect_write(kChannel + 0x4c, ring_base + 448);
    p.expect_write(kImr, kRunning);
    p.run_tasks();
    EXPECT_EQ(c.results, std::vector<Status>{Status::Ok});

    // A data size error of the AESU in the second: reset, and the third goes out.
    p.expect_read(kIsr, 0x20000000);
    p.expect_read(kIsr + 4, 0);
    p.expect_write(kIcr, 0x20000000);
    p.expect_read(kChannel + 0x14, 0x0100);
    p.expect_read64(kChannel + 0x40, ring_base + 448);
    p.expect_read(kAesuIsr, 0x00010000);
    reset_channel();
    p.expect_write(kChannel + 0x4c, ring_base + 896);
    p.raise(0);
    EXPECT_TRUE(p.script_done());
    EXPECT_EQ(c.results, (std::vector<Status>{Status::Ok, Status::Invalid}));
    ASSERT_FALSE(p.log_lines().empty());
    const std::string& text = p.log_lines().back();
    EXPECT_NE(text.find("AESU interrupt status 00000100 (DSE)"), std::string::npos) << text;
    EXPECT_NE(text.find("error 0100 (EU)"), std::string::npos) << text;
    p.let_go();
  }
}

TEST(Script, Sec1MemoryMustLieBelow4GiB) {
  ScriptedPlatform p;  // at 0x1'2000'0000
  Device d(p);
  EXPECT_EQ(d.probe({{"fsl,sec1.2", "fsl,sec1.0"}, 1, 24, 0x4c, 0x05000154, 1}), Status::Invalid);
  ASSERT_EQ(p.log_lines().size(), 1u);
  EXPECT_EQ(p.log_lines()[0], "DMA memory lies beyond the engine's 32 address bits");
}

}  // namespace
}  // namespace sec::test
