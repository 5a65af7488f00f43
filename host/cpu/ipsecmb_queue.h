// Batches of ipsec-mb jobs, shared by its ciphers, hashes and AEADs. Internal to host/cpu; see ipsecmb.h for what
// callers may rely on.
#pragma once
#include "host/cpu/ipsecmb.h"

// Without LINUX the header leaves key structures unaligned, which faults in the AVX-512 code.
#ifndef LINUX
#define LINUX
#endif
#ifndef NO_COMPAT_IMB_API_053
#define NO_COMPAT_IMB_API_053  // its old names (MD5, SHA1) are macros that hit OpenSSL's functions
#endif
#include <intel-ipsec-mb.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/cpu/openssl_hash.h"

namespace sec::host {

// Lanes count bytes in 16 bits; 65,520 is the last whole block below 65,534.
constexpr size_t kMaxJobBytes = 65520;
constexpr size_t kMaxHashBytes = 65534;

/// The library's manager, shared by all queues and transforms of one registration.
struct Manager {
  IMB_MGR* mgr = nullptr;
  std::shared_ptr<IpsecMbStats> stats;
  ~Manager() {
    if (mgr) free_mb_mgr(mgr);
  }
};

/// Jobs collected and run together. Slots keep what a job needs beside the library's structure.
/// One cache line each, so that a request touches as few as possible: at 256 bytes a request's share of the lanes is 30
/// ns.
struct alignas(64) Slot {
  uint8_t iv[16];
  uint8_t iv_out[16];
  void* request = nullptr;
  const void* owner = nullptr;  // the transform
  Status status = Status::Ok;   // of this request, when the batch ran well
  uint8_t group = 0;            // direction and key size: jobs of one group can share a burst call
  bool alone = false;           // not run with the others: cut, or not for the library
  bool linear = false;          // works on its bounce buffer, to be copied to the destination list
};
static_assert(sizeof(Slot) == 64);
struct Batch {
  std::vector<IMB_JOB> jobs;
  std::vector<Slot> slots;
  std::vector<std::vector<uint8_t>> bounce;   // per slot; keep their sizes
  std::vector<std::array<uint8_t, 64>> tags;  // per slot, AEADs only
  unsigned n = 0, next = 0;                   // filled; next to be called back
  uint64_t number = 0;                        // in the order of closing
  uint8_t group = 0;                          // of the first job
  bool mixed = false;                         // more than one group, or a job that runs alone
  bool slow = false;                          // some slot is `linear` or `alone`
  bool executed = false;
  Status status = Status::Ok;
};

/// First in, first out over all transforms of one algorithm; see the header for what callbacks may do.
/// `Request` is what a slot's `request` points to.
template <class Request>
class Queue : public std::enable_shared_from_this<Queue<Request>> {
 public:
  Queue(std::shared_ptr<Manager> manager, unsigned burst) : manager_(std::move(manager)), burst_(burst) {}
  virtual ~Queue() = default;

  IMB_MGR* mgr() const { return manager_->mgr; }
  IpsecMbStats* stats() const { return manager_->stats.get(); }

  Batch& filling() {
    if (!filling_) [[unlikely]]
      filling_ = acquire();
    return *filling_;
  }
  /// The job at `filling().n` is complete; runs the batch when it is the last.
  void added() {
    if (++filling_->n == burst_) {
      close();
      if (!delivering_) pump();
    }
  }
  /// Runs and calls back everything submitted so far.
  void flush() {
    if (filling_ && filling_->n) close();
    if (!fifo_.empty()) pump();
  }
  /// Before the owner's keys change or go: its jobs must have run.
  void finish(const void* owner) {
    auto uses = [owner](const Batch* b) {
      if (!b || b->executed) return false;
      for (unsigned i = 0; i < b->n; ++i)
        if (b->slots[i].owner == owner) return true;
      return false;
    };
    bool found = uses(filling_);
    for (const Batch* b : fifo_) found = found || uses(b);
    if (!found) return;
    if (!delivering_) return flush();
    // Inside a callback: run the jobs now, the loop that is active calls back in order.
    if (filling_ && filling_->n) close();
    for (Batch* b : fifo_) run(*b);
  }

 protected:
  virtual void prepare(Batch& b) = 0;  // constant fields of fresh jobs
  virtual void execute(Batch& b) = 0;  // runs the jobs, output IVs and bounce buffers included

  std::shared_ptr<Manager> manager_;

 private:
  Batch* acquire() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<Batch>());
      Batch* b = all_.back().get();
      b->jobs.resize(burst_);
      b->slots.resize(burst_);
      b->bounce.resize(burst_);
      prepare(*b);
      if (IpsecMbStats* s = stats()) ++s->batch_buffers;
      return b;
    }
    Batch* b = free_.back();
    free_.pop_back();
    b->n = b->next = 0;
    b->mixed = b->slow = b->executed = false;
    return b;
  }
  void close() {
    filling_->number = ++closed_;
    fifo_.push_back(filling_);
    filling_ = nullptr;
  }
  void run(Batch& b) {
    if (b.executed) return;
    b.status = Status::Ok;
    execute(b);
    b.executed = true;
    if (IpsecMbStats* s = stats()) {
      ++s->batches;
      s->jobs += b.n;
    }
  }
  void pump() {
    const auto self = this->shared_from_this();  // the last transform may go in a callback
    const bool outermost = !delivering_;
    delivering_ = true;
    // A flush inside a callback ends with what was submitted before it; later batches are left to the outermost loop.
    const uint64_t last = outermost ? UINT64_MAX : closed_;
    while (!fifo_.empty() && fifo_.front()->number <= last) {
      Batch* b = fifo_.front();
      run(*b);
      while (b->next != b->n) {
        const Slot& slot = b->slots[b->next++];
        const auto* r = static_cast<const Request*>(slot.request);
        const Status status = slot.status;
        if (r->complete) r->complete(r->context, b->status == Status::Ok ? status : b->status);
      }
      // A flush inside the callback may have taken this batch off already.
      if (!fifo_.empty() && fifo_.front() == b) {
        fifo_.pop_front();
        retired_.push_back(b);
      }
      // Only now does no outer loop look at a batch that an inner one took off. At once, and the last one first: a
      // closed loop of callbacks that submit stays in here for ever and should go on with the same memory.
      if (outermost) {
        free_.insert(free_.end(), retired_.begin(), retired_.end());
        retired_.clear();
      }
    }
    if (outermost) delivering_ = false;
  }

  unsigned burst_;
  uint64_t closed_ = 0;
  Batch* filling_ = nullptr;
  bool delivering_ = false;
  std::deque<Batch*> fifo_;
  std::vector<Batch*> free_, retired_;  // retired: an outer loop may still look at it
  std::vector<std::unique_ptr<Batch>> all_;
};

/// An IV or block of 16 or 8 bytes; a memcpy of variable size costs as much as a packet's share of the lanes.
inline void copy_block(uint8_t* to, const uint8_t* from, unsigned block_bytes) {
  if (block_bytes == 16) [[likely]]
    std::memcpy(to, from, 16);
  else
    std::memcpy(to, from, 8);
}

/// Jobs that have no burst call of their own, through the manager's ring. `fill` sets a ring job from jobs[i];
/// fields that it leaves alone keep what an earlier job of any kind left there. True when all were completed.
template <class Fill>
bool run_ring(IMB_MGR* mgr, const IMB_JOB* jobs, unsigned n, Fill&& fill) {
  unsigned done = 0;
  IMB_JOB* ring[IMB_MAX_BURST_SIZE];
  auto account = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i) done += ring[i]->status == IMB_STATUS_COMPLETED;
    return count != 0;
  };
  for (unsigned i = 0; i < n;) {
    // The ring is empty here, yet at its end it may have less room than asked for.
    const unsigned room = IMB_GET_NEXT_BURST(mgr, std::min<unsigned>(n - i, IMB_MAX_BURST_SIZE), ring);
    if (!room) {
      if (!account(IMB_FLUSH_BURST(mgr, IMB_MAX_BURST_SIZE, ring))) return false;
      continue;
    }
    for (unsigned k = 0; k < room; ++k) fill(*ring[k], jobs[i + k]);
    i += room;
    account(IMB_SUBMIT_BURST_NOCHECK(mgr, room, ring));
  }
  while (done < n)
    if (!account(IMB_FLUSH_BURST(mgr, IMB_MAX_BURST_SIZE, ring))) return false;
  return true;
}

/// The two states that an HMAC job begins with.
template <class H>
void hmac_pads(IMB_MGR* m, std::span<const uint8_t> key, uint8_t* inner, uint8_t* outer) {
  uint8_t block[H::kBlockBytes];
  hmac_block<H>(key, block);
  const auto one_block = [m](const uint8_t* from, uint8_t* to) {
    if constexpr (std::is_same_v<H, Md5>) IMB_MD5_ONE_BLOCK(m, from, to);
    if constexpr (std::is_same_v<H, Sha1>) IMB_SHA1_ONE_BLOCK(m, from, to);
    if constexpr (std::is_same_v<H, Sha224>) IMB_SHA224_ONE_BLOCK(m, from, to);
    if constexpr (std::is_same_v<H, Sha256>) IMB_SHA256_ONE_BLOCK(m, from, to);
    if constexpr (std::is_same_v<H, Sha384>) IMB_SHA384_ONE_BLOCK(m, from, to);
    if constexpr (std::is_same_v<H, Sha512>) IMB_SHA512_ONE_BLOCK(m, from, to);
  };
  for (auto& x : block) x ^= 0x36;
  one_block(block, inner);
  for (auto& x : block) x ^= 0x36 ^ 0x5c;
  one_block(block, outer);
}

/// gcm, ccm and authenc(...); `des` when the library's DES is worth having.
void register_ipsecmb_aeads(crypto::Registry& registry, const std::shared_ptr<Manager>& manager, unsigned burst,
                            bool des);

}  // namespace sec::host
