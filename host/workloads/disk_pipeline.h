// Disk sectors through a cipher, many at a time, on any implementation of the crypto API: software that is done when
// submit returns, batching software, or the engine's driver, which answers later. The shape is dm-crypt's:
//
//   bio       a run of sectors (128 KiB by default) that belongs together; it has a buffer and leaves as one
//   request   one sector: one IV, one cipher request, with may-backlog set; at most `requests` of them exist
//
// A write is encrypted from the bio's source pages into fresh pages, a read is decrypted in place. Bios leave in
// the order of submission, since the disk write starts in sector order.
//
// Rules kept here:
//   - Busy means the request sits on a backlog: nothing more is submitted until the callback says InProgress.
//     NoSpace and Again at submission are tried again after a completion. No such answer ever fails a bio.
//   - A completion may submit the next sectors, and never waits: it runs in interrupt-like context. Waiting happens in
//     submit(), wait_for() and drain() only, calls flush() and the `pump` hook, and has a limit and a name.
//   - Any other error fails the whole bio with Io, as a disk user sees it; `cipher_status` keeps what was said.
//     Its other sectors still run to their end, because the engine may be writing into the buffer.
//   - A request answered Again in its callback (lost to a FIFO overflow) is run again if its input still exists,
//     that is out of place; in place the sector may be half done, so the bio fails.
//   - By algorithm name only implementations that do not allocate memory per request are taken, as dm-crypt does (a
//     disk write may be what frees memory); naming the driver overrides this.
//
// Two ways to submit, for comparing "one request per sector" with "one request per bio":
//
//   PerSector   stock: each sector charges SectorWork and ApiCall and takes one of the `requests` slots, so at most
//               that many sectors are on their way; plus one SectorWork per bio.
//   PerBio      the request is the bio: SectorWork and ApiCall are charged once per bio, and its sectors need no slots
//               of their own, so they go to the implementation in one burst. What stays the same: the engine takes one
//               IV per descriptor, so there still is one submission, one descriptor, one mapping and one completion per
//               sector, with whatever the driver charges for these; and each sector still has its IV computed.
//               DEVIATES: a driver that derived the IVs itself could also map the bio once; ours maps each request.
//
// Processor time: `cpu` gets the two costs above, `charge_cipher` each software cipher request and
// `charge_iv` each IV that costs a block of AES (essiv, eboiv). With `copy_writes` a write is first copied into the
// fresh pages (CopyByte per byte) and encrypted there in place, as on stacks that cannot encrypt out of place. Moving
// data into and out of bio buffers otherwise stands for the disk's DMA and the user's own pages, and is free.
//
// Memory: buffers and requests are made once, in `dma` when given (an engine then reaches them without a bounce
// buffer), otherwise on the heap. In steady state nothing is allocated. Callbacks must arrive on the thread that uses
// the pipeline. The sink must not call back into the pipeline.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "driver/crypto/registry.h"
#include "driver/platform/cpu_meter.h"
#include "driver/platform/dma.h"
#include "host/workloads/iv_modes.h"

namespace sec::host {

enum class DiskDirection : uint8_t { Encrypt, Decrypt };
enum class DiskSubmission : uint8_t { PerSector, PerBio };

/// The crypto and the platform that disk work runs on. Everything but the registry may be left out.
struct DiskEnvironment {
  const crypto::Registry* registry = nullptr;
  std::string cipher_driver;  // "cbc-aes-talitos"; empty: the registry's best
  driver::DmaSpace* dma = nullptr;
  driver::CpuMeter* cpu = nullptr;
  std::function<void(size_t bytes)> charge_cipher;    // per sector, for software ciphers
  std::function<void(size_t blocks)> charge_iv;       // AES blocks computed on the processor for IVs
  std::function<bool()> pump;                         // lets the world go on; false: nothing is left that could happen
  std::function<uint64_t()> now_ns;                   // the platform's clock
  std::function<void(uint64_t until_ns)> idle_until;  // lets the platform's time pass, for the disk model
  uint64_t wait_limit_pumps = 1'000'000;              // without a completion
};

struct DiskPipelineOptions {
  DiskCipherSpec cipher;
  std::vector<uint8_t> key;
  SectorGeometry geometry;
  DiskSubmission submission = DiskSubmission::PerSector;
  size_t bio_bytes = 128 * 1024;  // a multiple of the sector size
  unsigned bios = 8;              // under way at a time
  unsigned requests = 64;         // PerSector: sectors under way at a time
  bool copy_writes = false;
};

/// One bio leaving the pipeline; every bio submitted leaves exactly once, in order.
struct DiskBio {
  uint64_t index = 0;  // of submission, from 0
  DiskDirection direction = DiskDirection::Encrypt;
  uint64_t first_unit = 0;
  std::span<const uint8_t> bytes;         // valid during the call; undefined content when it failed
  Status status = Status::Ok;             // Ok or Io
  Status cipher_status = Status::Ok;      // what the crypto API said of the first bad sector
  uint64_t submit_ns = 0, finish_ns = 0;  // finish: when its last sector completed
};

struct DiskStats {
  uint64_t bios = 0, failed_bios = 0;
  uint64_t sectors = 0;          // completed well
  uint64_t bytes = 0;            // of bios that left well
  uint64_t submissions = 0;      // accepted or done at once
  uint64_t backlogged = 0;       // answered Busy
  uint64_t refused = 0;          // answered NoSpace or Again at submission, and tried again
  uint64_t lost = 0;             // answered Again in the callback, and run again
  uint64_t from_completion = 0;  // submitted from within a completion
  unsigned most_in_flight = 0;   // requests
};

class DiskPipeline {
 public:
  using Sink = std::function<void(const DiskBio&)>;

  /// SetupError for options that cannot be, an algorithm that is not there, or a `dma` too small for the buffers.
  DiskPipeline(const DiskEnvironment& environment, DiskPipelineOptions options, Sink sink);
  /// Waits (with the limit) for requests in flight; memory that a request still uses after that is freed when it comes
  /// back.
  ~DiskPipeline();
  DiskPipeline(const DiskPipeline&) = delete;
  DiskPipeline& operator=(const DiskPipeline&) = delete;

  /// Takes one bio of at most bio_bytes, whole sectors (copied). Waits for a free buffer when all `bios` are under way.
  /// Ok: the bio will reach the sink. Invalid: not whole sectors, or too long. TimedOut: see failure().
  Status submit(DiskDirection direction, uint64_t first_unit, std::span<const uint8_t> data);
  /// Moves on what can move without waiting.
  void poll();
  /// Waits until the bio with this index has left.
  Status wait_for(uint64_t index);
  /// Waits until everything submitted has left.
  Status drain();

  uint64_t next_index() const;  // of the next submission
  const DiskStats& stats() const;
  /// One sentence about the wait that reached its limit; empty if none did.
  const std::string& failure() const;
  const crypto::AlgorithmInfo& cipher_info() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

/// Encrypts or decrypts a piece of memory as sectors from `first_unit`, waiting for the result. `data` is whole
/// sectors. Io: a sector failed; TimedOut: the text in `failure` if given.
Status crypt_sectors(const DiskEnvironment& environment, const DiskPipelineOptions& options, DiskDirection direction,
                     uint64_t first_unit, std::span<uint8_t> data, std::string* failure = nullptr);

}  // namespace sec::host
