#include "host/workloads/disk_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "common/diag.h"

namespace sec::host {
namespace {

constexpr unsigned kMaxIdleRetries = 32;  // rounds of refusals when nothing of ours is under way
constexpr unsigned kMaxLosses = 16;       // of one sector, to FIFO overflows
constexpr size_t kIvSlotBytes = 16;

}  // namespace

struct DiskPipeline::Core {
  struct Bio {
    uint8_t* source = nullptr;  // what comes in; reads are decrypted here
    uint8_t* target = nullptr;  // the fresh pages of a write
    size_t size_bytes = 0;
    size_t issued = 0, finished = 0, sectors = 0;
    DiskBio out;
  };

  struct Request {
    Core* core = nullptr;
    unsigned number = 0;
    Bio* bio = nullptr;
    size_t sector = 0;  // within the bio
    uint8_t* iv = nullptr;
    crypto::Segment from, to;
    crypto::ScatterList src, dst;
    crypto::SkcipherRequest api;
    unsigned losses = 0;
    bool waiting_for_start = false;  // answered Busy, not yet InProgress
    bool started = false;            // the InProgress callback came, maybe before submit returned
    bool active = false;             // submitted, final status not seen
  };

  DiskEnvironment environment;
  DiskPipelineOptions options;
  Sink sink;
  std::unique_ptr<crypto::Skcipher> cipher;
  IvGenerator ivs;
  std::vector<void*> blocks;
  std::vector<Bio> bios;
  std::vector<Request> requests;
  std::vector<unsigned> free_requests;
  std::vector<unsigned> again;  // requests to be submitted once more
  unsigned head = 0, used = 0;  // ring of bios
  unsigned issuing = 0;         // bios of the ring whose sectors are all issued
  unsigned outstanding = 0;
  uint64_t next = 0, left = 0;
  uint64_t completions = 0;
  bool blocked = false;  // a request sits on a backlog
  bool refused = false;  // NoSpace or Again: try again after a completion or a pump
  bool working = false;  // issue() is on the stack
  bool in_callback = false;
  bool delivering = false;
  bool abandoned = false;  // the pipeline is gone; its memory stays until the last request has come back
  DiskStats stats;
  std::string failure;

  Core(const DiskEnvironment& e, DiskPipelineOptions o, Sink s)
      : environment(e),
        options(std::move(o)),
        sink(std::move(s)),
        ivs((check_geometry(options.geometry),
             IvGenerator(options.cipher, options.key, options.geometry.sector_bytes))) {
    const size_t sector = options.geometry.sector_bytes;
    if (options.bio_bytes < sector || options.bio_bytes % sector || options.bio_bytes > (size_t{1} << 24))
      throw SetupError(
          fmt::format("a bio of {} bytes is not possible: use a multiple of the sector size {} up to 16 MiB",
                      options.bio_bytes, sector));
    if (options.bios < 1 || options.bios > 4096)
      throw SetupError(fmt::format("{} bios under way are not possible: use 1 to 4096", options.bios));
    if (options.requests < 1 || options.requests > 65536)
      throw SetupError(fmt::format("{} requests in flight are not possible: use 1 to 65536", options.requests));
    cipher = allocate();
    if (const Status st = cipher->set_key(options.key); st != Status::Ok)
      throw SetupError(fmt::format("{} does not accept this key of {} bits ({}): use another one",
                                   cipher->info().driver, options.key.size() * 8, errno_name(st)));

    const size_t per_bio = options.bio_bytes / sector;
    const size_t count = options.submission == DiskSubmission::PerBio
                             ? per_bio * options.bios
                             : std::min<size_t>(options.requests, per_bio * options.bios);
    bios.resize(options.bios);
    requests.resize(count);
    again.reserve(count);
    free_requests.reserve(count);
    try {
      for (Bio& b : bios) {
        b.source = block(options.bio_bytes);
        b.target = block(options.bio_bytes);
      }
      uint8_t* iv = block(count * kIvSlotBytes);
      for (size_t i = 0; i < count; ++i) {
        Request& r = requests[i];
        r.core = this;
        r.number = static_cast<unsigned>(i);
        r.iv = iv + i * kIvSlotBytes;
        r.src = {&r.from, 1};
        r.dst = {&r.to, 1};
        free_requests.push_back(static_cast<unsigned>(count - 1 - i));
      }
    } catch (...) {
      free_blocks();
      throw;
    }
  }

  ~Core() {
    free_blocks();
    // The key is in the cipher too, but that is the implementation's affair.
    std::fill(options.key.begin(), options.key.end(), uint8_t{0});
  }

  uint8_t* block(size_t size) {
    void* p = environment.dma ? environment.dma->alloc(size, 64) : std::aligned_alloc(64, (size + 63) / 64 * 64);
    if (!p)
      throw SetupError(
          fmt::format("{} bios of {} bytes do not fit into the memory shared with the engine: use fewer, "
                      "smaller ones or more memory",
                      options.bios, options.bio_bytes));
    blocks.push_back(p);
    return static_cast<uint8_t*>(p);
  }

  void free_blocks() {
    for (void* p : blocks) {
      if (environment.dma)
        environment.dma->free(p);
      else
        std::free(p);
    }
    blocks.clear();
  }

  std::unique_ptr<crypto::Skcipher> allocate() const {
    SEC_CHECK(environment.registry, "disk pipeline without a registry");
    const crypto::Registry& registry = *environment.registry;
    const std::string algorithm = options.cipher.algorithm();
    std::string name = environment.cipher_driver;
    if (name.empty()) {
      const crypto::AlgorithmInfo* best = nullptr;
      const std::vector<crypto::AlgorithmInfo> list = registry.list();
      for (const crypto::AlgorithmInfo& i : list)
        if (i.name == algorithm && i.type == crypto::AlgorithmType::Skcipher && !i.internal && !i.allocates_memory &&
            i.selftest != crypto::SelfTest::Failed && (!best || i.priority > best->priority))
          best = &i;
      if (!best)
        throw SetupError(
            fmt::format("the disk cipher {} needs {}, and no implementation is registered that passed its "
                        "self-test and does not allocate memory per request: choose another cipher, or name "
                        "a driver",
                        options.cipher.text, algorithm));
      name = best->driver;
    }
    auto found = registry.alloc_skcipher(name);
    if (!found)
      throw SetupError(
          fmt::format("the disk cipher {} needs {}, and no implementation \"{}\" is registered or passed its "
                      "self-test: choose another cipher or driver",
                      options.cipher.text, algorithm, name));
    if (found->info().name != algorithm)
      throw SetupError(fmt::format("the disk cipher {} needs {}, but \"{}\" implements {}: choose another driver",
                                   options.cipher.text, algorithm, name, found->info().name));
    SEC_CHECK(found->info().iv_bytes == options.cipher.iv_bytes(), "IV size of a disk cipher");
    return found;
  }

  // ---------------------------------------------------------------- submission

  /// Submits what can be submitted now. Never waits; may be called from a completion.
  void issue() {
    if (working) return;  // the call further up the stack goes on
    working = true;
    while (!blocked && !refused) {
      Request* r = nullptr;
      if (!again.empty()) {
        r = &requests[again.back()];
        again.pop_back();
      } else {
        r = next_sector();
        if (!r) break;
      }
      send(*r);
    }
    working = false;
  }

  /// A request for the next sector that has none yet; null when there is no sector or no request.
  Request* next_sector() {
    if (issuing == used || free_requests.empty()) return nullptr;
    Bio& bio = bios[(head + issuing) % options.bios];
    Request& r = requests[free_requests.back()];
    free_requests.pop_back();
    if (environment.cpu) {
      using driver::Cost;
      if (bio.issued == 0) {
        environment.cpu->charge(Cost::SectorWork);
        if (options.submission == DiskSubmission::PerBio) environment.cpu->charge(Cost::ApiCall);
      }
      if (options.submission == DiskSubmission::PerSector) {
        environment.cpu->charge(Cost::SectorWork);
        environment.cpu->charge(Cost::ApiCall);
      }
    }
    r.bio = &bio;
    r.sector = bio.issued++;
    r.losses = 0;
    // Once per sector: a refused or lost request leaves its IV as it was.
    const SectorGeometry& g = options.geometry;
    ivs.make(g.iv_number(bio.out.first_unit + r.sector * g.units_per_sector()), r.iv);
    if (ivs.encrypts() && environment.charge_iv) environment.charge_iv(1);
    if (environment.charge_cipher) environment.charge_cipher(g.sector_bytes);
    if (bio.issued == bio.sectors) ++issuing;
    return &r;
  }

  bool in_place(const Bio& bio) const { return bio.out.direction == DiskDirection::Decrypt || options.copy_writes; }

  uint8_t* result_of(const Bio& bio) const {
    return bio.out.direction == DiskDirection::Decrypt ? bio.source : bio.target;
  }

  void send(Request& r) {
    Bio& bio = *r.bio;
    const SectorGeometry& g = options.geometry;
    const size_t offset = r.sector * g.sector_bytes;
    r.to = {result_of(bio) + offset, g.sector_bytes};
    r.from = {(in_place(bio) ? result_of(bio) : bio.source) + offset, g.sector_bytes};
    r.api = {};
    r.api.src = &r.src;
    r.api.dst = in_place(bio) ? &r.src : &r.dst;
    r.api.size_bytes = g.sector_bytes;
    r.api.iv = r.iv;
    r.api.flags = crypto::kMayBacklog;
    r.api.complete = &Core::on_complete;
    r.api.context = &r;
    r.started = r.waiting_for_start = false;
    r.active = true;
    ++outstanding;
    stats.most_in_flight = std::max(stats.most_in_flight, outstanding);
    const bool from_completion = in_callback;
    const Status s = bio.out.direction == DiskDirection::Encrypt ? cipher->encrypt(r.api) : cipher->decrypt(r.api);
    switch (s) {
      case Status::Busy:
        ++stats.backlogged;
        // The start, and even the end, may have been told before submit returned.
        if (r.active && !r.started) blocked = r.waiting_for_start = true;
        [[fallthrough]];
      case Status::InProgress:
        break;
      case Status::NoSpace:
      case Status::Again:
        --outstanding;
        r.active = false;
        refused = true;
        ++stats.refused;
        again.push_back(r.number);
        return;
      default:
        finish(r, s);
        break;
    }
    ++stats.submissions;
    if (from_completion) ++stats.from_completion;
  }

  // ---------------------------------------------------------------- completion

  static void on_complete(void* context, Status status) {
    Request& r = *static_cast<Request*>(context);
    Core& core = *r.core;
    if (core.abandoned) {
      if (status != Status::InProgress && --core.outstanding == 0) delete &core;
      return;
    }
    const bool nested = core.in_callback;
    core.in_callback = true;
    if (status == Status::InProgress) {
      r.started = true;
      if (r.waiting_for_start) {
        r.waiting_for_start = false;
        core.blocked = false;
        ++core.completions;  // progress, as far as waiting is concerned
      }
    } else {
      SEC_CHECK(r.active, "a disk request completed twice");
      if (r.waiting_for_start) {
        r.waiting_for_start = false;
        core.blocked = false;
      }
      core.finish(r, status);
    }
    core.issue();
    core.in_callback = nested;
  }

  void finish(Request& r, Status status) {
    r.active = false;
    --outstanding;
    ++completions;
    refused = false;
    Bio& bio = *r.bio;
    if (status == Status::Again && !in_place(bio) && r.losses < kMaxLosses) {
      ++r.losses;
      ++stats.lost;
      again.push_back(r.number);
      return;
    }
    if (status == Status::Ok) {
      ++stats.sectors;
    } else if (bio.out.status == Status::Ok) {
      bio.out.status = Status::Io;
      bio.out.cipher_status = status;
    }
    r.bio = nullptr;
    free_requests.push_back(r.number);
    if (++bio.finished == bio.sectors && environment.now_ns) bio.out.finish_ns = environment.now_ns();
  }

  void deliver() {
    while (used && bios[head].finished == bios[head].sectors) {
      Bio& bio = bios[head];
      bio.out.bytes = {result_of(bio), bio.size_bytes};
      if (bio.out.status == Status::Ok)
        stats.bytes += bio.size_bytes;
      else
        ++stats.failed_bios;
      if (sink) {
        delivering = true;
        try {
          sink(bio.out);
        } catch (...) {
          delivering = false;
          retire();
          throw;
        }
        delivering = false;
      }
      retire();
    }
  }

  void retire() {
    head = (head + 1) % options.bios;
    --used;
    --issuing;  // a finished bio is among the fully issued ones
    ++left;
  }

  // ---------------------------------------------------------------- waiting

  void service() {
    issue();
    deliver();
  }

  template <class Finished>
  Status wait(const char* what, Finished finished) {
    service();
    for (uint64_t idle = 0; !finished();) {
      const uint64_t before = completions;
      cipher->flush();
      refused = false;
      service();
      bool alive = true;
      if (completions == before) {
        alive = environment.pump && environment.pump();
        refused = false;
        service();
      }
      if (completions != before) {
        idle = 0;
        continue;
      }
      // When nothing more can happen by itself only refused requests are worth a few more rounds.
      if (++idle < (alive ? environment.wait_limit_pumps : kMaxIdleRetries)) continue;
      if (finished()) break;
      if (outstanding == 0 && !again.empty()) {
        // Refused again and again while nothing of ours is under way: there is nothing to wait for.
        std::vector<unsigned> hopeless;
        hopeless.swap(again);
        for (unsigned n : hopeless) {
          ++outstanding;
          finish(requests[n], Status::NoSpace);
        }
        again.reserve(requests.size());
        service();
        idle = 0;
        continue;
      }
      failure = fmt::format("waited {} rounds for {}, with {} bios under way and {} cipher requests unanswered", idle,
                            what, used, outstanding);
      return Status::TimedOut;
    }
    return Status::Ok;
  }

  Status submit(DiskDirection direction, uint64_t first_unit, std::span<const uint8_t> data) {
    SEC_CHECK(!delivering, "disk sink called back into its pipeline");
    const SectorGeometry& g = options.geometry;
    if (data.empty() || data.size() > options.bio_bytes || data.size() % g.sector_bytes ||
        first_unit % g.units_per_sector())
      return Status::Invalid;
    if (used == options.bios)
      if (const Status s = wait("a free disk buffer", [this] { return used < options.bios; }); s != Status::Ok)
        return s;
    Bio& bio = bios[(head + used) % options.bios];
    bio.size_bytes = data.size();
    bio.sectors = data.size() / g.sector_bytes;
    bio.issued = bio.finished = 0;
    bio.out = {};
    bio.out.index = next++;
    bio.out.direction = direction;
    bio.out.first_unit = first_unit;
    if (environment.now_ns) bio.out.submit_ns = environment.now_ns();
    const bool copied = direction == DiskDirection::Encrypt && options.copy_writes;
    std::memcpy(copied ? bio.target : bio.source, data.data(), data.size());
    if (copied && environment.cpu) environment.cpu->charge(driver::Cost::CopyByte, data.size());
    ++used;
    ++stats.bios;
    service();
    return Status::Ok;
  }
};

DiskPipeline::DiskPipeline(const DiskEnvironment& environment, DiskPipelineOptions options, Sink sink)
    : core_(std::make_unique<Core>(environment, std::move(options), std::move(sink))) {}

DiskPipeline::~DiskPipeline() {
  core_->sink = nullptr;
  if (core_->failure.empty())
    static_cast<void>(core_->wait("requests in flight at the end", [this] { return core_->used == 0; }));
  // An implementation that still holds requests will write into buffers and call back: keep everything alive.
  if (core_->outstanding) {
    core_->abandoned = true;
    static_cast<void>(core_.release());
  }
}

Status DiskPipeline::submit(DiskDirection direction, uint64_t first_unit, std::span<const uint8_t> data) {
  return core_->submit(direction, first_unit, data);
}
void DiskPipeline::poll() {
  core_->refused = false;
  core_->service();
}
Status DiskPipeline::wait_for(uint64_t index) {
  return core_->wait("a disk buffer to be finished", [this, index] { return core_->left > index; });
}
Status DiskPipeline::drain() {
  return core_->wait("the last disk buffers", [this] { return core_->used == 0; });
}
uint64_t DiskPipeline::next_index() const { return core_->next; }
const DiskStats& DiskPipeline::stats() const { return core_->stats; }
const std::string& DiskPipeline::failure() const { return core_->failure; }
const crypto::AlgorithmInfo& DiskPipeline::cipher_info() const { return core_->cipher->info(); }

Status crypt_sectors(const DiskEnvironment& environment, const DiskPipelineOptions& options, DiskDirection direction,
                     uint64_t first_unit, std::span<uint8_t> data, std::string* failure) {
  Status worst = Status::Ok;
  size_t at = 0;
  DiskPipeline pipeline(environment, options, [&](const DiskBio& bio) {
    if (bio.status != Status::Ok) worst = bio.status;
    std::copy(bio.bytes.begin(), bio.bytes.end(), data.begin() + static_cast<std::ptrdiff_t>(at));
    at += bio.bytes.size();
  });
  for (size_t offset = 0; offset < data.size(); offset += options.bio_bytes) {
    const size_t n = std::min(options.bio_bytes, data.size() - offset);
    if (const Status s = pipeline.submit(direction, first_unit + offset / kUnitBytes, data.subspan(offset, n));
        s != Status::Ok) {
      if (failure) *failure = pipeline.failure();
      return s;
    }
  }
  if (const Status s = pipeline.drain(); s != Status::Ok) {
    if (failure) *failure = pipeline.failure();
    return s;
  }
  return worst;
}

}  // namespace sec::host
