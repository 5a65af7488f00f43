#include "host/workloads/disk_run.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/unit/disk_support.h"

namespace sec::test {
namespace {

using namespace sec::host;
namespace fs = std::filesystem;

class DiskRunFiles : public ::testing::Test {
 protected:
  DiskRunFiles() {
    std::string name = (fs::temp_directory_path() / "secsim-run-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    environment_.registry = &software();
  }
  ~DiskRunFiles() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const Bytes& bytes) const {
    std::ofstream(at(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return at(name);
  }
  Bytes read(const std::string& path) const {
    std::ifstream f(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(f), {}};
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  DiskRunOptions options(DiskAction action, const std::string& in, const std::string& out) const {
    DiskRunOptions o;
    o.action = action;
    o.input_path = in;
    o.output_path = out;
    o.cipher = "aes-cbc-essiv:sha256";
    o.key = pattern(16);
    o.luks_iterations = 10;
    o.passphrase = {'x'};
    return o;
  }
  std::string refused(const DiskRunOptions& o) const {
    return setup_error([&] { run_disk(o, environment_); });
  }

  fs::path folder_;
  DiskEnvironment environment_;
};

TEST_F(DiskRunFiles, RawImageThereAndBack) {
  const Bytes plain = pattern((3 << 20) + 512);  // not a multiple of the request
  const std::string in = write("in", plain);
  DiskRunResult r = run_disk(options(DiskAction::Encrypt, in, at("c")), environment_);
  ASSERT_EQ(r.status, Status::Ok);
  ASSERT_EQ(r.phases.size(), 1u);
  EXPECT_EQ(r.phases[0].requests, 4u);
  EXPECT_EQ(r.phases[0].bytes, plain.size());
  EXPECT_EQ(r.phases[0].stats.bios, 25u);
  EXPECT_EQ(r.cipher_driver, "cbc-aes-openssl");
  Bytes expected = plain;
  DiskPipelineOptions v;
  v.cipher = parse_disk_cipher("aes-cbc-essiv:sha256");
  v.key = pattern(16);
  ASSERT_EQ(crypt_sectors(environment_, v, DiskDirection::Encrypt, 0, expected), Status::Ok);
  EXPECT_TRUE(read(at("c")) == expected);
  r = run_disk(options(DiskAction::Decrypt, at("c"), at("p")), environment_);
  ASSERT_EQ(r.status, Status::Ok);
  EXPECT_TRUE(read(at("p")) == plain);
  EXPECT_EQ(files(), 3u);
}

TEST_F(DiskRunFiles, AFileMayBeItsOwnInput) {
  const Bytes plain = pattern(100 * 512);
  const std::string f = write("disk", plain);
  ::chmod(f.c_str(), 0640);
  fs::create_symlink(f, at("link"));
  ASSERT_EQ(run_disk(options(DiskAction::Encrypt, f, at("link")), environment_).status, Status::Ok);
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_FALSE(read(f) == plain);
  EXPECT_EQ(fs::status(f).permissions(), fs::perms(0640));
  ASSERT_EQ(run_disk(options(DiskAction::Decrypt, f, f), environment_).status, Status::Ok);
  EXPECT_TRUE(read(f) == plain);
  EXPECT_EQ(files(), 2u);
}

TEST_F(DiskRunFiles, LuksThereAndBackAndIntoAnExistingContainer) {
  const Bytes plain = pattern(200 * 512);
  DiskRunOptions o = options(DiskAction::Encrypt, write("in", plain), at("c"));
  o.luks = true;
  o.cipher = "aes-xts-plain64";
  ASSERT_EQ(run_disk(o, environment_).status, Status::Ok);
  o = options(DiskAction::Decrypt, at("c"), at("p"));
  o.luks = true;
  const DiskRunResult r = run_disk(o, environment_);
  EXPECT_EQ(r.cipher, "aes-xts-plain64");
  EXPECT_EQ(r.key_bits, 512u);
  EXPECT_TRUE(read(at("p")) == plain);

  const Bytes other = pattern(50 * 512, 9);
  o = options(DiskAction::Encrypt, write("in2", other), at("c2"));
  o.luks = true;
  o.luks_container = at("c");
  ASSERT_EQ(run_disk(o, environment_).status, Status::Ok);
  const Bytes old_head = read(at("c")), new_head = read(at("c2"));
  EXPECT_TRUE(std::equal(new_head.begin(), new_head.end() - 50 * 512, old_head.begin()));
  o = options(DiskAction::Decrypt, at("c2"), at("p2"));
  o.luks = true;
  ASSERT_EQ(run_disk(o, environment_).status, Status::Ok);
  EXPECT_TRUE(read(at("p2")) == other);

  o.passphrase = {'y'};
  o.output_path = at("p3");
  EXPECT_NE(refused(o).find("opens with this passphrase"), std::string::npos);
  EXPECT_FALSE(fs::exists(at("p3")));
}

TEST_F(DiskRunFiles, BadInputIsOneSentenceAndLeavesNothing) {
  const std::string in = write("odd", pattern(1000));
  write("keep", pattern(512));
  const size_t before = files();
  auto o = options(DiskAction::Encrypt, in, at("keep"));
  EXPECT_NE(refused(o).find("not a multiple of the sector size 512"), std::string::npos);
  o.luks = true;
  EXPECT_NE(refused(o).find("not a multiple"), std::string::npos);
  o = options(DiskAction::Encrypt, at("absent"), at("keep"));
  EXPECT_NE(refused(o).find("absent"), std::string::npos);
  o.input_path = folder_;
  EXPECT_NE(refused(o).find("not a regular file"), std::string::npos);
  o = options(DiskAction::Encrypt, at("keep"), at("no/such/folder/x"));
  EXPECT_NE(refused(o), "");
  o.output_path = folder_;
  EXPECT_NE(refused(o).find("directory"), std::string::npos);
  o = options(DiskAction::Encrypt, at("keep"), at("new"));
  o.key = pattern(17);
  EXPECT_NE(refused(o).find("136 bits"), std::string::npos);
  o.key.clear();
  EXPECT_NE(refused(o).find("needs a key"), std::string::npos);
  o = options(DiskAction::Encrypt, at("keep"), at("new"));
  o.geometry.sector_bytes = 4096;
  EXPECT_NE(refused(o).find("not a multiple of the sector size 4096"), std::string::npos);
  o = options(DiskAction::Encrypt, at("keep"), at("new"));
  o.bio_bytes = 700;
  EXPECT_NE(refused(o).find("--bio-size"), std::string::npos);
  o = options(DiskAction::Encrypt, at("keep"), at("new"));
  o.request_bytes = 700;
  EXPECT_NE(refused(o).find("--request-size"), std::string::npos);
  o.request_bytes = 0;
  EXPECT_NE(refused(o).find("--request-size"), std::string::npos);
  o = options(DiskAction::Encrypt, "", at("new"));
  EXPECT_NE(refused(o).find("--in"), std::string::npos);
  o = options(DiskAction::Decrypt, at("keep"), at("new"));
  o.luks = true;
  EXPECT_NE(refused(o).find("is not a LUKS container"), std::string::npos);
  o = options(DiskAction::Dd, "", "");
  o.luks = true;
  EXPECT_NE(refused(o).find("--luks"), std::string::npos);
  EXPECT_EQ(files(), before);
  EXPECT_TRUE(read(at("keep")) == pattern(512));
}

TEST_F(DiskRunFiles, AFailedRunKeepsTheOldOutput) {
  crypto::Registry registry;
  FakeDevice device;
  device.options.fail_nth = 30;
  add_fake(registry, device, "cbc(aes)");
  DiskEnvironment e;
  e.registry = &registry;
  e.pump = [&] { return device.pump(); };
  const std::string in = write("in", pattern(100 * 512));
  write("out", pattern(512));
  const DiskRunResult r = run_disk(options(DiskAction::Encrypt, in, at("out")), e);
  EXPECT_EQ(r.status, Status::Io);
  EXPECT_NE(r.failure.find("1 of 1 write requests failed"), std::string::npos) << r.failure;
  EXPECT_TRUE(read(at("out")) == pattern(512));
  EXPECT_EQ(files(), 2u);
}

TEST_F(DiskRunFiles, WarnsAboutRepeatingIvs) {
  const std::string in = write("in", pattern(1024));
  auto o = options(DiskAction::Encrypt, in, at("out"));
  o.cipher = "aes-cbc-plain";
  EXPECT_TRUE(run_disk(o, environment_).warnings.empty());
  o.first_unit = (uint64_t{1} << 32) - 1;
  const auto warnings = run_disk(o, environment_).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("plain64"), std::string::npos);
  o.cipher = "aes-cbc-plain64";
  EXPECT_TRUE(run_disk(o, environment_).warnings.empty());
  o.cipher = "aes-ecb";
  EXPECT_EQ(run_disk(o, environment_).warnings.size(), 1u);
}

TEST_F(DiskRunFiles, EmptyImagesStayEmpty) {
  ASSERT_EQ(run_disk(options(DiskAction::Encrypt, write("in", {}), at("out")), environment_).status, Status::Ok);
  EXPECT_EQ(fs::file_size(at("out")), 0u);
}

TEST(DiskDd, DataDependsOnSeedAndPlaceOnly) {
  Bytes whole(4096), part(512), other(512);
  fill_disk_data(3, 0, whole);
  fill_disk_data(3, 1024, part);
  fill_disk_data(4, 1024, other);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 1024));
  EXPECT_FALSE(part == other);
}

TEST(DiskDd, FoundingCiphersOnADeviceWithFourPlaces) {
  // The founding report: buffer I/O errors during dd on a device with a short queue.
  for (const auto& [cipher, algorithm] : std::vector<std::pair<std::string, std::string>>{
           {"aes-xts-plain", "xts(aes)"}, {"aes-cbc-essiv:sha256", "cbc(aes)"}, {"aes-cbc-benbi", "cbc(aes)"}})
    for (const bool backlog : {false, true})
      for (const auto submission : {DiskSubmission::PerSector, DiskSubmission::PerBio}) {
        crypto::Registry registry;
        FakeDevice device;
        device.options = {.depth = 4, .per_pump = 2, .backlog = backlog};
        add_fake(registry, device, algorithm);
        DiskEnvironment e;
        e.registry = &registry;
        e.pump = [&] { return device.pump(); };
        DiskRunOptions o;
        o.cipher = cipher;
        o.key_bytes = 32;
        o.submission = submission;
        o.total_bytes = 6 << 20;
        const DiskRunResult r = run_disk(o, e);
        ASSERT_EQ(r.status, Status::Ok) << r.failure;
        ASSERT_EQ(r.phases.size(), 2u);
        for (const DiskPhase& p : r.phases) {
          EXPECT_EQ(p.requests, 6u);
          EXPECT_EQ(p.failed_requests, 0u);
          EXPECT_EQ(p.stats.failed_bios, 0u);
          EXPECT_EQ(p.stats.bios, 48u);
          EXPECT_EQ(p.stats.sectors, 12288u);
          EXPECT_EQ(p.bytes, o.total_bytes);
          EXPECT_EQ(p.wrong_bytes, 0u);
          EXPECT_GT(backlog ? p.stats.backlogged : p.stats.refused, 0u);
        }
      }
}

TEST(DiskDd, WrongDataIsNoticed) {
  // A device that decrypts with a flipped bit now and then.
  crypto::Registry registry;
  class Liar : public crypto::Skcipher {
   public:
    Liar() : inner_(software().alloc_skcipher("cbc(aes)")) {
      info_ = inner_->info();
      info_.driver = "liar";
    }
    const crypto::AlgorithmInfo& info() const override { return info_; }
    Status set_key(std::span<const uint8_t> k, uint32_t f) override { return inner_->set_key(k, f); }
    Status encrypt(crypto::SkcipherRequest& r) override { return inner_->encrypt(r); }
    Status decrypt(crypto::SkcipherRequest& r) override {
      const Status s = inner_->decrypt(r);
      if (++count_ == 100) r.dst->segments[0].data[7] ^= 4;
      return s;
    }

   private:
    std::unique_ptr<crypto::Skcipher> inner_;
    crypto::AlgorithmInfo info_;
    int count_ = 0;
  };
  crypto::Algorithm a;
  a.info = Liar().info();
  a.make_skcipher = [] { return std::make_unique<Liar>(); };
  registry.set_selftest_enabled(false);
  ASSERT_EQ(registry.add(std::move(a)), Status::Ok);
  DiskEnvironment e;
  e.registry = &registry;
  DiskRunOptions o;
  o.cipher = "aes-cbc-plain64";
  o.total_bytes = 1 << 20;
  const DiskRunResult r = run_disk(o, e);
  EXPECT_EQ(r.status, Status::BadMessage);
  EXPECT_EQ(r.phases[1].wrong_bytes, 1u);
}

/// A clock that the test moves: each sector takes `per_sector_ns` on a device that works one at a time.
struct Clocked {
  crypto::Registry registry;
  FakeDevice device;
  uint64_t now = 1000, per_sector_ns = 0;
  DiskEnvironment environment;
  Clocked() {
    device.options.depth = 64;
    add_fake(registry, device, "cbc(aes)");
    environment.registry = &registry;
    environment.now_ns = [this] { return now; };
    environment.idle_until = [this](uint64_t t) {
      // The device goes on while the processor waits for the disk.
      while (now + per_sector_ns <= t && device.held()) step();
      now = std::max(now, t);
    };
    environment.pump = [this] { return step(); };
  }
  bool step() {
    if (!device.held()) return false;
    now += per_sector_ns;
    return device.pump();
  }
};

TEST(DiskDd, TheSlowerOfDiskAndCipherSetsThePace) {
  DiskRunOptions o;
  o.cipher = "aes-cbc-plain64";
  o.total_bytes = 8 << 20;
  const double sectors = static_cast<double>(o.total_bytes) / 512;
  const auto duration = [](const DiskPhase& p) { return static_cast<double>(p.end_ns - p.start_ns); };
  {
    Clocked c;  // crypto alone
    c.per_sector_ns = 2000;
    const DiskRunResult r = run_disk(o, c.environment);
    ASSERT_EQ(r.status, Status::Ok) << r.failure;
    for (const DiskPhase& p : r.phases) {
      EXPECT_EQ(p.latency_ns.size(), 8u);
      EXPECT_DOUBLE_EQ(duration(p), sectors * 2000);
      for (uint64_t l : p.latency_ns) EXPECT_EQ(l, 2048u * 2000);
    }
  }
  for (const double rate : {145e6, 20e6}) {
    Clocked c;
    c.per_sector_ns = 500;  // about 1 GB/s
    o.disk_bytes_per_s = rate;
    const DiskRunResult r = run_disk(o, c.environment);
    ASSERT_EQ(r.status, Status::Ok) << r.failure;
    const double disk_ns = static_cast<double>(o.total_bytes) / rate * 1e9;
    for (const DiskPhase& p : r.phases) {
      // At queue depth 1 the disk waits for the first bio of each request when writing, and the request for its
      // last bio when reading; the other bios are hidden.
      const double bio_ns = 256 * 500.0;
      EXPECT_GE(duration(p), disk_ns) << p.name;
      EXPECT_NEAR(duration(p), disk_ns + 8 * bio_ns, 0.002 * disk_ns + 8 * 500) << p.name << " " << rate;
    }
  }
}

TEST(DiskDd, QueueDepthOverlapsRequests) {
  DiskRunOptions o;
  o.cipher = "aes-cbc-plain64";
  o.total_bytes = 8 << 20;
  o.disk_bytes_per_s = 500e6;
  double last = 0;
  for (const unsigned depth : {1u, 2u, 4u}) {
    Clocked c;
    c.per_sector_ns = 500;
    o.queue_depth = depth;
    o.read_back = false;
    const DiskRunResult r = run_disk(o, c.environment);
    ASSERT_EQ(r.status, Status::Ok) << r.failure;
    const double t = static_cast<double>(r.phases[0].end_ns - r.phases[0].start_ns);
    if (last > 0) {
      EXPECT_LE(t, last) << depth;
    }
    last = t;
  }
  EXPECT_LT(last, 8 * (1 << 20) * 2.0 + 3 * 2048 * 500.0);
}

}  // namespace
}  // namespace sec::test
