#include "host/workloads/disk_run.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>

#include "common/diag.h"

namespace sec::host {
namespace {

uint64_t splitmix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// One direction over `total` bytes: requests are cut into bios, `queue_depth` requests are open at a time.
class PhaseRunner {
 public:
  using Source = std::function<void(uint64_t offset, std::span<uint8_t>)>;
  using Result = std::function<void(uint64_t offset, std::span<const uint8_t>)>;

  PhaseRunner(const DiskRunOptions& options, const DiskEnvironment& environment, DiskPipelineOptions volume,
              DiskDirection direction, std::string name, double disk_bytes_per_s)
      : options_(options),
        environment_(environment),
        direction_(direction),
        disk_ns_per_byte_(disk_bytes_per_s > 0 && environment.now_ns ? 1e9 / disk_bytes_per_s : 0),
        pipeline_(environment, std::move(volume), [this](const DiskBio& b) { take(b); }) {
    phase_.name = std::move(name);
  }

  /// `units` from `first_unit`; `source` gives what goes in, `result` takes what comes out, in order.
  DiskPhase run(uint64_t first_unit, uint64_t total, const Source& source, const Result& result, Status& status,
                std::string& failure) {
    result_ = &result;
    std::vector<uint8_t> buffer(std::min<uint64_t>(options_.request_bytes, std::max<uint64_t>(total, 1)));
    phase_.start_ns = phase_.end_ns = disk_free_ns_ = now();
    for (uint64_t offset = 0; offset < total && status == Status::Ok; offset += options_.request_bytes) {
      while (open_.size() >= options_.queue_depth && status == Status::Ok) status = retire();
      if (status != Status::Ok) break;
      const std::span<uint8_t> data =
          std::span(buffer).first(std::min<uint64_t>(options_.request_bytes, total - offset));
      source(offset, data);
      if (options_.progress) options_.progress(phase_.name, offset, total);
      ++phase_.requests;
      open_.push_back({pipeline_.next_index() + (data.size() - 1) / options_.bio_bytes, now(), 0, false});
      for (size_t at = 0; at < data.size() && status == Status::Ok; at += options_.bio_bytes) {
        const size_t n = std::min(options_.bio_bytes, data.size() - at);
        if (disk_ns_per_byte_ > 0 && direction_ == DiskDirection::Decrypt) {
          disk_free_ns_ =
              std::max(disk_free_ns_, now()) + static_cast<uint64_t>(disk_ns_per_byte_ * static_cast<double>(n));
          idle_until(disk_free_ns_);  // while the bios before this one are being decrypted
          pipeline_.poll();
        }
        offsets_.push_back(offset + at);
        status = pipeline_.submit(direction_, first_unit + (offset + at) / kUnitBytes, data.subspan(at, n));
      }
    }
    while (!open_.empty() && status == Status::Ok) status = retire();
    if (status == Status::Ok) status = pipeline_.drain();
    if (status == Status::TimedOut) failure = pipeline_.failure();
    if (status == Status::Ok && phase_.failed_requests) {
      status = Status::Io;
      failure = fmt::format("{} of {} {} requests failed; the first error was {}", phase_.failed_requests,
                            phase_.requests, phase_.name, errno_name(first_error_));
    }
    phase_.end_ns = std::max(phase_.end_ns, now());
    phase_.stats = pipeline_.stats();
    return std::move(phase_);
  }

  const crypto::AlgorithmInfo& cipher_info() const { return pipeline_.cipher_info(); }

 private:
  struct Open {
    uint64_t last_bio = 0;
    uint64_t start_ns = 0, end_ns = 0;
    bool failed = false;
  };

  uint64_t now() const { return environment_.now_ns ? environment_.now_ns() : 0; }
  void idle_until(uint64_t ns) const {
    if (environment_.idle_until && ns > now()) environment_.idle_until(ns);
  }

  /// Waits for the oldest open request, and with the disk model for the disk.
  Status retire() {
    const uint64_t last = open_.front().last_bio;
    if (const Status s = pipeline_.wait_for(last); s != Status::Ok) return s;
    const Open done = open_.front();
    open_.pop_front();
    if (disk_ns_per_byte_ > 0) idle_until(done.end_ns);
    if (environment_.now_ns) phase_.latency_ns.push_back(done.end_ns - done.start_ns);
    phase_.end_ns = std::max(phase_.end_ns, done.end_ns);
    if (done.failed) ++phase_.failed_requests;
    return Status::Ok;
  }

  void take(const DiskBio& bio) {
    const auto open = std::find_if(open_.begin(), open_.end(), [&](const Open& o) { return bio.index <= o.last_bio; });
    SEC_CHECK(open != open_.end() && !offsets_.empty(), "a disk buffer that belongs to no request");
    uint64_t end = bio.finish_ns;
    if (disk_ns_per_byte_ > 0 && direction_ == DiskDirection::Encrypt) {
      disk_free_ns_ = std::max(disk_free_ns_, end) +
                      static_cast<uint64_t>(disk_ns_per_byte_ * static_cast<double>(bio.bytes.size()));
      end = disk_free_ns_;
    }
    open->end_ns = std::max(open->end_ns, end);
    if (bio.status == Status::Ok) {
      phase_.bytes += bio.bytes.size();
    } else {
      if (first_error_ == Status::Ok) first_error_ = bio.cipher_status;
      open->failed = true;
    }
    // A failed one is passed on too, to keep places; the run as a whole then fails and its output is thrown away.
    (*result_)(offsets_.front(), bio.bytes);
    offsets_.pop_front();
  }

  const DiskRunOptions& options_;
  const DiskEnvironment& environment_;
  DiskDirection direction_;
  double disk_ns_per_byte_;
  DiskPhase phase_;
  const Result* result_ = nullptr;
  std::deque<Open> open_;
  std::deque<uint64_t> offsets_;
  uint64_t disk_free_ns_ = 0;
  Status first_error_ = Status::Ok;
  DiskPipeline pipeline_;  // last: its completions use what is above
};

class DiskRun {
 public:
  DiskRun(const DiskRunOptions& options, const DiskEnvironment& environment)
      : options_(options), environment_(environment) {}

  DiskRunResult run() {
    check();
    switch (options_.action) {
      case DiskAction::Encrypt:
        encrypt();
        break;
      case DiskAction::Decrypt:
        decrypt();
        break;
      case DiskAction::Dd:
        dd();
        break;
    }
    return std::move(result_);
  }

 private:
  void check() const {
    if (options_.queue_depth < 1 || options_.queue_depth > 256)
      throw SetupError(fmt::format("--queue-depth: {} is not possible: use 1 to 256", options_.queue_depth));
    if (options_.request_bytes == 0 || options_.request_bytes > (size_t{1} << 28))
      throw SetupError(
          fmt::format("--request-size: {} bytes are not possible: use up to 256 MiB", options_.request_bytes));
    if (options_.action != DiskAction::Dd && options_.input_path.empty())
      throw SetupError("--in: an input image is needed");
    if (options_.action != DiskAction::Dd && options_.output_path.empty())
      throw SetupError("--out: an output image is needed");
    if (options_.action == DiskAction::Dd && options_.luks)
      throw SetupError("--luks: the dd workload runs on a raw volume; leave --luks out");
  }

  /// Raw volumes: from the options.
  DiskPipelineOptions raw_volume() {
    DiskPipelineOptions v;
    v.cipher = parse_disk_cipher(options_.cipher);
    v.key = options_.key;
    if (v.key.empty()) {
      if (options_.action != DiskAction::Dd) throw SetupError(fmt::format("--key: {} needs a key", v.cipher.text));
      v.key.resize(options_.key_bytes ? options_.key_bytes : v.cipher.default_key_bytes());
      for (size_t i = 0; i < v.key.size(); ++i) v.key[i] = static_cast<uint8_t>(splitmix(~options_.seed + i));
    }
    check_disk_key(v.cipher, v.key.size());
    v.geometry = options_.geometry;
    check_geometry(v.geometry);
    if (options_.first_unit % v.geometry.units_per_sector())
      throw SetupError(fmt::format("--skip: {} units of 512 bytes are not whole sectors of {} bytes",
                                   options_.first_unit, v.geometry.sector_bytes));
    return v;
  }

  DiskPipelineOptions luks_volume(const Luks1Header& header, std::vector<uint8_t> key, const std::string& file) const {
    DiskPipelineOptions v;
    v.cipher = header.cipher(fmt::format("\"{}\"", file));
    v.key = std::move(key);
    return v;
  }

  Luks1Header read_header(const ImageReader& file) const {
    std::vector<uint8_t> head(std::min<uint64_t>(kLuks1HeaderBytes, file.size_bytes()));
    file.read(0, head);
    return parse_luks1(head, file.size_bytes(), file.path());
  }

  void complete(DiskPipelineOptions& v) {
    v.submission = options_.submission;
    v.bio_bytes = options_.bio_bytes;
    v.requests = options_.crypto_requests;
    v.copy_writes = options_.copy_writes;
    if (options_.bio_bytes < v.geometry.sector_bytes || options_.bio_bytes % v.geometry.sector_bytes)
      throw SetupError(fmt::format("--bio-size: {} bytes are not whole sectors of {} bytes", options_.bio_bytes,
                                   v.geometry.sector_bytes));
    if (options_.request_bytes % v.geometry.sector_bytes)
      throw SetupError(fmt::format("--request-size: {} bytes are not whole sectors of {} bytes", options_.request_bytes,
                                   v.geometry.sector_bytes));
    const uint64_t per_request = (options_.request_bytes + options_.bio_bytes - 1) / options_.bio_bytes;
    v.bios = static_cast<unsigned>(std::min<uint64_t>(per_request * options_.queue_depth, 4096));
    result_.cipher = v.cipher.text;
    result_.key_bits = static_cast<unsigned>(v.key.size() * 8);
    result_.sector_bytes = v.geometry.sector_bytes;
  }

  void warn(const DiskPipelineOptions& v, uint64_t first_unit, uint64_t bytes) {
    std::string text = iv_reuse_warning(v.cipher, v.geometry, first_unit, bytes / kUnitBytes);
    if (!text.empty()) result_.warnings.push_back(std::move(text));
    if (v.cipher.mode == DiskMode::Ecb)
      result_.warnings.emplace_back("aes-ecb has no IV: equal blocks of the disk have equal ciphertext");
    if (v.cipher.iv == IvMode::Null)
      result_.warnings.emplace_back("the IV mode \"null\" gives equal sectors equal ciphertext");
  }

  static void need_whole_sectors(const ImageReader& file, uint64_t bytes, unsigned sector_bytes) {
    if (bytes % sector_bytes)
      throw SetupError(
          fmt::format("--in: the size of \"{}\", {} bytes, is not a multiple of the sector size {}: pad it, or "
                      "choose another sector size",
                      file.path(), bytes, sector_bytes));
  }

  void convert(DiskPipelineOptions volume, DiskDirection direction, uint64_t first_unit, const ImageReader& in,
               uint64_t in_offset, uint64_t bytes, ImageWriter& out) {
    complete(volume);
    warn(volume, first_unit, bytes);
    PhaseRunner runner(options_, environment_, std::move(volume), direction,
                       direction == DiskDirection::Encrypt ? "write" : "read", 0);
    note_cipher(runner);
    result_.phases.push_back(runner.run(
        first_unit, bytes, [&](uint64_t offset, std::span<uint8_t> data) { in.read(in_offset + offset, data); },
        [&](uint64_t, std::span<const uint8_t> data) { out.append(data); }, result_.status, result_.failure));
    if (result_.status == Status::Ok) out.commit();
  }

  void note_cipher(const PhaseRunner& runner) {
    result_.algorithm = runner.cipher_info().name;
    result_.cipher_driver = runner.cipher_info().driver;
  }

  void encrypt() {
    const ImageReader in(options_.input_path, "--in");
    if (!options_.luks) {
      DiskPipelineOptions volume = raw_volume();
      need_whole_sectors(in, in.size_bytes(), volume.geometry.sector_bytes);
      ImageWriter out(options_.output_path, "--out");
      convert(std::move(volume), DiskDirection::Encrypt, options_.first_unit, in, 0, in.size_bytes(), out);
      return;
    }
    need_whole_sectors(in, in.size_bytes(), kUnitBytes);
    Luks1Volume container;
    if (options_.luks_container.empty()) {
      Luks1FormatOptions f;
      f.cipher = options_.cipher;
      f.key_bytes = options_.key_bytes;
      f.hash = options_.luks_hash;
      f.iterations = options_.luks_iterations;
      f.seed = options_.luks_seed;
      container = format_luks1(f, options_.passphrase, environment_);
    } else {
      const ImageReader old(options_.luks_container, "--luks-container");
      container.header = read_header(old);
      container.key = unlock_luks1(container.header, old, options_.passphrase, environment_);
      container.head.resize(container.header.payload_offset_bytes());
      old.read(0, container.head);
    }
    ImageWriter out(options_.output_path, "--out");
    out.append(container.head);
    convert(luks_volume(container.header, std::move(container.key), options_.output_path), DiskDirection::Encrypt, 0,
            in, 0, in.size_bytes(), out);
  }

  void decrypt() {
    const ImageReader in(options_.input_path, "--in");
    if (!options_.luks) {
      DiskPipelineOptions volume = raw_volume();
      need_whole_sectors(in, in.size_bytes(), volume.geometry.sector_bytes);
      ImageWriter out(options_.output_path, "--out");
      convert(std::move(volume), DiskDirection::Decrypt, options_.first_unit, in, 0, in.size_bytes(), out);
      return;
    }
    const Luks1Header header = read_header(in);
    std::vector<uint8_t> key = unlock_luks1(header, in, options_.passphrase, environment_);
    const uint64_t start = header.payload_offset_bytes();
    ImageWriter out(options_.output_path, "--out");
    convert(luks_volume(header, std::move(key), options_.input_path), DiskDirection::Decrypt, 0, in, start,
            in.size_bytes() - start, out);
  }

  void dd() {
    DiskPipelineOptions volume = raw_volume();
    complete(volume);
    const uint64_t total = options_.total_bytes;
    if (total == 0 || total % volume.geometry.sector_bytes)
      throw SetupError(fmt::format("--size: {} bytes are not whole sectors of {} bytes, at least one", total,
                                   volume.geometry.sector_bytes));
    warn(volume, options_.first_unit, total);
    ImageWriter disk(options_.output_path, "--out");
    {
      PhaseRunner writer(options_, environment_, volume, DiskDirection::Encrypt, "write", options_.disk_bytes_per_s);
      note_cipher(writer);
      result_.phases.push_back(writer.run(
          options_.first_unit, total,
          [&](uint64_t offset, std::span<uint8_t> data) { fill_disk_data(options_.seed, offset, data); },
          [&](uint64_t, std::span<const uint8_t> data) { disk.append(data); }, result_.status, result_.failure));
    }
    if (result_.status != Status::Ok) return;
    if (options_.read_back) {
      uint64_t wrong = 0;
      std::vector<uint8_t> expected;
      PhaseRunner reader(options_, environment_, volume, DiskDirection::Decrypt, "read", options_.disk_bytes_per_s);
      result_.phases.push_back(reader.run(
          options_.first_unit, total, [&](uint64_t offset, std::span<uint8_t> data) { disk.read_back(offset, data); },
          [&](uint64_t offset, std::span<const uint8_t> data) {
            expected.resize(data.size());
            fill_disk_data(options_.seed, offset, expected);
            if (std::memcmp(expected.data(), data.data(), data.size()) == 0) return;
            for (size_t i = 0; i < data.size(); ++i) wrong += expected[i] != data[i];
          },
          result_.status, result_.failure));
      result_.phases.back().wrong_bytes = wrong;
      if (wrong && result_.status == Status::Ok) {
        result_.status = Status::BadMessage;
        result_.failure = fmt::format("{} of {} bytes were read back wrong", wrong, total);
      }
    }
    OPENSSL_cleanse(volume.key.data(), volume.key.size());
    if (result_.status == Status::Ok) disk.commit();
  }

  const DiskRunOptions& options_;
  const DiskEnvironment& environment_;
  DiskRunResult result_;
};

}  // namespace

void fill_disk_data(uint64_t seed, uint64_t offset, std::span<uint8_t> out) {
  const uint64_t base = splitmix(seed);
  for (size_t at = 0; at < out.size(); at += 8) {
    const uint64_t word = splitmix(base + (offset + at) / 8);
    std::memcpy(out.data() + at, &word, std::min<size_t>(8, out.size() - at));
  }
}

DiskRunResult run_disk(const DiskRunOptions& options, const DiskEnvironment& environment) {
  return DiskRun(options, environment).run();
}

}  // namespace sec::host
