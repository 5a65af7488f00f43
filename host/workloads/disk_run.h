// One disk run as a user asks for it. The command line and the benchmarks are thin layers over run_disk.
//
//   Encrypt, Decrypt   an image file to another (or onto itself), raw or in a LUKS1 container
//   Dd                 the founding benchmark: `total_bytes` of made-up data written in requests of 1 MiB at
//                      queue depth 1, then read back and compared. The ciphertext goes to the output file, or to a
//                      temporary
//
// Work comes in requests of `request_bytes`, which are cut into bios; `queue_depth` requests are under way at a time.
// The latency of a request runs from its submission to the end of its last bio, on the platform's clock.
//
// Disk model (Dd only, and only with a clock): a disk that moves `disk_bytes_per_s` and does one thing at a time, in
// order. A write occupies it from the time its bio is encrypted, a read delivers bio after bio, each decrypted while
// the next is being read. 0 is an endless fast disk, which shows the crypto alone. UNMODELLED: seek and command times,
// caches.
//
// Data made for Dd: 64-bit words of splitmix64 over (seed, position), so any part can be made again for the comparison.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/workloads/disk_pipeline.h"
#include "host/workloads/luks1.h"

namespace sec::host {

enum class DiskAction : uint8_t { Encrypt, Decrypt, Dd };

struct DiskRunOptions {
  DiskAction action = DiskAction::Dd;
  std::string input_path, output_path;  // Dd: output_path may be empty

  // Raw volumes. With LUKS all of these but `submission` and the sizes come from the container.
  std::string cipher = "aes-xts-plain64";
  std::vector<uint8_t> key;  // empty with Dd: made from the seed, of the cipher's usual size
  unsigned key_bytes = 0;    // Dd without a key, and new LUKS containers; 0: the usual size
  SectorGeometry geometry;
  uint64_t first_unit = 0;  // of the image within its volume

  // LUKS1. Decrypt: the input is a container. Encrypt: the output becomes one, with the head and the master key of
  // `luks_container` if given, else a new one.
  bool luks = false;
  std::vector<uint8_t> passphrase;
  std::string luks_container;
  std::string luks_hash = "sha256";
  uint32_t luks_iterations = 100'000;
  std::optional<uint64_t> luks_seed;

  DiskSubmission submission = DiskSubmission::PerSector;
  size_t request_bytes = 1024 * 1024;
  size_t bio_bytes = 128 * 1024;
  unsigned queue_depth = 1;       // of requests
  unsigned crypto_requests = 64;  // sectors under way, PerSector
  bool copy_writes = false;

  // Dd.
  uint64_t total_bytes = uint64_t{500} << 20;
  uint64_t seed = 1;
  double disk_bytes_per_s = 0;
  bool read_back = true;

  /// Called now and then with the phase ("write", "read") and how far it is; for people who wait.
  std::function<void(std::string_view phase, uint64_t done_bytes, uint64_t total_bytes)> progress;
};

/// One direction of a run.
struct DiskPhase {
  std::string name;  // "write", "read"
  uint64_t requests = 0, failed_requests = 0;
  uint64_t bytes = 0;  // that came out well
  DiskStats stats;
  std::vector<uint64_t> latency_ns;   // per request; empty without a clock
  uint64_t start_ns = 0, end_ns = 0;  // with the disk model: when the disk was done
  uint64_t wrong_bytes = 0;           // Dd: read back unlike what was written
};

struct DiskRunResult {
  Status status = Status::Ok;  // Io: requests failed; TimedOut: `failure` says which wait
  std::string failure;
  std::vector<std::string> warnings;
  std::vector<DiskPhase> phases;
  std::string cipher;                    // in full
  std::string algorithm, cipher_driver;  // what was really used
  unsigned key_bits = 0;
  unsigned sector_bytes = 0;
};

/// SetupError for bad options or files. The output file appears only when everything in it is right.
DiskRunResult run_disk(const DiskRunOptions& options, const DiskEnvironment& environment);

/// The data of a Dd run from `offset` (a multiple of 8) on.
void fill_disk_data(uint64_t seed, uint64_t offset, std::span<uint8_t> out);

}  // namespace sec::host
