// The disk workload on driver and engine: data against the software, queues, shared memory, and the shape of simulated
// time.
#include <gtest/gtest.h>

#include "driver/talitos/talitos.h"
#include "host/platforms/functional.h"
#include "host/platforms/tlm.h"
#include "host/workloads/disk_run.h"
#include "tests/unit/disk_support.h"

namespace sec::test {
namespace {

using namespace sec::host;

struct Engine {
  FunctionalPlatform platform;
  crypto::Registry registry;
  driver::Device device{platform};
  DiskEnvironment environment;

  explicit Engine(const regs::Part& part) : platform(part) {
    EXPECT_EQ(device.probe(device_properties(part)), Status::Ok);
    EXPECT_EQ(device.register_algorithms(registry), Status::Ok);
    environment.registry = &registry;
    environment.dma = &platform.dma();
    environment.pump = [this] { return platform.pump(); };
  }
  ~Engine() { device.unregister(); }
};

TEST(DiskEngine, CiphertextIsThatOfTheSoftwareOnEveryPart) {
  for (const regs::Part& part : regs::kParts) {
    Engine engine(part);
    const driver::DeviceStats before = engine.device.stats();  // of the self-tests, whose memory is elsewhere
    for (const char* cipher : {"aes-cbc-essiv:sha256", "aes-cbc-benbi", "aes-cbc-plain64", "aes-ctr-plain64", "aes-ecb",
                               "des3_ede-cbc-plain64"})
      for (const unsigned sector : {512u, 4096u})
        for (const auto submission : {DiskSubmission::PerSector, DiskSubmission::PerBio})
          for (const bool held : {false, true}) {
            engine.platform.hold_interrupts(held);
            DiskPipelineOptions o;
            o.cipher = parse_disk_cipher(cipher);
            o.key = pattern(o.cipher.default_key_bytes());
            o.geometry.sector_bytes = sector;
            o.submission = submission;
            o.bio_bytes = 64 * 1024;
            Bytes data = pattern(300 * 1024), expected = data;
            const Bytes plain = data;
            DiskEnvironment software_environment;
            software_environment.registry = &software();
            ASSERT_EQ(crypt_sectors(software_environment, o, DiskDirection::Encrypt, 16, expected), Status::Ok);
            std::string failure;
            ASSERT_EQ(crypt_sectors(engine.environment, o, DiskDirection::Encrypt, 16, data, &failure), Status::Ok)
                << failure;
            ASSERT_TRUE(data == expected) << part.name << " " << cipher << " " << sector;
            ASSERT_EQ(crypt_sectors(engine.environment, o, DiskDirection::Decrypt, 16, data, &failure), Status::Ok)
                << failure;
            ASSERT_TRUE(data == plain) << part.name << " " << cipher << " " << sector;
          }
    EXPECT_EQ(engine.device.stats().bounced_segments, before.bounced_segments) << "buffers lie in shared memory";
    EXPECT_EQ(engine.device.stats().link_tables, before.link_tables) << "sectors are contiguous";
    EXPECT_EQ(engine.device.outstanding(), 0u);
    EXPECT_TRUE(engine.platform.warnings().empty()) << engine.platform.warnings()[0];
  }
}

TEST(DiskEngine, DdWith512ByteSectorsAndAFifoOfFour) {
  // The founding report of buffer I/O errors, on a part with a short FIFO.
  regs::Part part = regs::default_part();
  part.fetch_fifo_entries = 4;
  Engine engine(part);
  engine.platform.hold_interrupts(true);
  for (const auto submission : {DiskSubmission::PerSector, DiskSubmission::PerBio}) {
    DiskRunOptions o;
    o.cipher = "aes-cbc-essiv:sha256";
    o.key_bytes = 16;
    o.total_bytes = 64 << 20;
    o.submission = submission;
    const DiskRunResult r = run_disk(o, engine.environment);
    ASSERT_EQ(r.status, Status::Ok) << r.failure;
    EXPECT_EQ(r.cipher_driver, "cbc-aes-talitos");
    for (const DiskPhase& p : r.phases) {
      EXPECT_EQ(p.failed_requests, 0u);
      EXPECT_EQ(p.stats.failed_bios, 0u);
      EXPECT_EQ(p.stats.sectors, o.total_bytes / 512);
      EXPECT_EQ(p.wrong_bytes, 0u);
      EXPECT_GT(p.stats.backlogged, 0u) << "the queue was never full";
    }
  }
  EXPECT_EQ(engine.device.stats().single_overflows + engine.device.stats().double_overflows, 0u);
}

/// One Dd run in simulated time. SystemC elaborates once per process, so one per test.
struct TimedRun {
  DiskRunResult result;
  driver::CpuMeter cpu;
};
TimedRun timed(const DiskRunOptions& o, bool cpu_costs) {
  const regs::Part& part = regs::default_part();
  TlmPlatform platform(part, hw::Timing::for_part(part));
  if (cpu_costs) platform.cpu().cost_ps.fill(200'000);  // 200 ns for anything
  platform.cpu().cost_ps[static_cast<size_t>(driver::Cost::CopyByte)] = 0;
  crypto::Registry registry;
  registry.set_selftest_enabled(false);
  TimedRun out;
  platform.run([&] {
    driver::Device device(platform);  // its end touches registers, which takes time
    EXPECT_EQ(device.probe(device_properties(part)), Status::Ok);
    EXPECT_EQ(device.register_algorithms(registry), Status::Ok);
    DiskEnvironment e;
    e.registry = &registry;
    e.dma = &platform.dma();
    e.cpu = &platform.cpu();
    e.pump = [&] { return platform.pump(); };
    e.now_ns = [&] { return platform.now_ns(); };
    e.idle_until = [&](uint64_t t) {
      if (const uint64_t now = platform.now_ns(); t > now) platform.relax(t - now);
    };
    const driver::CpuMeter before = platform.cpu();
    out.result = run_disk(o, e);
    out.cpu = platform.cpu();
    for (size_t i = 0; i < driver::kCostCount; ++i) out.cpu.count[i] -= before.count[i];
    device.unregister();
  });
  EXPECT_EQ(out.result.status, Status::Ok) << out.result.failure;
  return out;
}
double mb_per_s(const DiskPhase& p) {
  return static_cast<double>(p.bytes) * 1e3 / static_cast<double>(p.end_ns - p.start_ns);
}
DiskRunOptions small_dd() {
  DiskRunOptions o;
  o.cipher = "aes-cbc-plain64";
  o.key_bytes = 16;
  o.total_bytes = 2 << 20;
  return o;
}

TEST(DiskEngineTimed, LatenciesAreSimulatedTime) {
  const TimedRun t = timed(small_dd(), false);
  ASSERT_EQ(t.result.phases.size(), 2u);
  for (const DiskPhase& p : t.result.phases) {
    ASSERT_EQ(p.latency_ns.size(), 2u);
    // One AESU with one round per clock: 16 bytes in 11 to 12 clocks of 300 MHz bounds the rate.
    EXPECT_LT(mb_per_s(p), 16 * 300.0 / 10);
    EXPECT_GT(mb_per_s(p), 100);
    for (uint64_t l : p.latency_ns) EXPECT_GT(l, (1 << 20) / 16 * 10 * 10 / 3);
    RecordProperty(p.name + "_mb_per_s", std::to_string(mb_per_s(p)));
  }
}

TEST(DiskEngineTimed, ADiskSlowerThanTheEngineSetsTheRate) {
  DiskRunOptions o = small_dd();
  o.disk_bytes_per_s = 50e6;
  const TimedRun t = timed(o, false);
  for (const DiskPhase& p : t.result.phases) {
    EXPECT_LE(mb_per_s(p), 50.0);
    EXPECT_GT(mb_per_s(p), 40.0);
  }
}

TEST(DiskEngineTimed, PerSectorCostsTheProcessorMoreThanPerBio) {
  const DiskRunOptions o = small_dd();
  const TimedRun t = timed(o, true);
  const uint64_t sectors = 2 * o.total_bytes / 512, bios = 2 * o.total_bytes / o.bio_bytes;
  EXPECT_EQ(t.cpu.count[static_cast<size_t>(driver::Cost::SectorWork)], sectors + bios);
  EXPECT_EQ(t.cpu.count[static_cast<size_t>(driver::Cost::ApiCall)], sectors);
  EXPECT_EQ(t.cpu.count[static_cast<size_t>(driver::Cost::SubmitRequest)], sectors);
  for (const DiskPhase& p : t.result.phases) RecordProperty(p.name + "_mb_per_s", std::to_string(mb_per_s(p)));
}

TEST(DiskEngineTimed, PerBioChargesItsBios) {
  DiskRunOptions o = small_dd();
  o.submission = DiskSubmission::PerBio;
  const TimedRun t = timed(o, true);
  const uint64_t sectors = 2 * o.total_bytes / 512, bios = 2 * o.total_bytes / o.bio_bytes;
  EXPECT_EQ(t.cpu.count[static_cast<size_t>(driver::Cost::SectorWork)], bios);
  EXPECT_EQ(t.cpu.count[static_cast<size_t>(driver::Cost::ApiCall)], bios);
  EXPECT_EQ(t.cpu.count[static_cast<size_t>(driver::Cost::SubmitRequest)], sectors)
      << "still one descriptor per sector";
  for (const DiskPhase& p : t.result.phases) RecordProperty(p.name + "_mb_per_s", std::to_string(mb_per_s(p)));
}

}  // namespace
}  // namespace sec::test
