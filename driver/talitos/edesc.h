// Extended descriptors: everything that one descriptor needs, preallocated.
//
// Each ring slot owns one Edesc in memory that the device reads (the hardware descriptor first, then IVs, the
// padded tail of CTR inputs, and two link tables), one JobArea of such memory for what only jobs need, and one
// Slot in ordinary memory (what the driver must remember). A slot is free again when its descriptor has been retired,
// so the request path never allocates; only lists of more than kInlineEntries segments take their table from the
// DMA space, and SEC 1 its linear buffers.
//
// Two kinds of work use a slot. A cipher request of one descriptor is written straight into it. Everything else is a
// Job: it knows how to fill a slot, may take several descriptors, and is told when each comes back (talitos.h).
//
// Keys live in KeySlots of their own, counted by the requests that use them: a new key takes a new slot while
// old requests still run with the old one.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "common/endian.h"
#include "driver/crypto/request.h"
#include "driver/platform/dma.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/link_table.h"

namespace sec::driver {

class Device;
struct Slot;

inline constexpr unsigned kInlineEntries = 20;  // an ESP packet in 17 pages plus tail fits
/// The most bytes that one descriptor carries: below 2^16, whole blocks of every cipher, with room for CTR's padding.
inline constexpr size_t kMaxDescriptorBytes = 65520;
/// The same on SEC 1. [LX]
inline constexpr size_t kMaxDescriptorBytesSec1 = 32768;

struct alignas(64) Edesc {
  uint8_t descriptor[regs::kDescriptorBytes];
  uint8_t iv[16];
  uint8_t iv_out[16];
  uint8_t tail[16];  // last partial block of a CTR input, zero padded
  uint8_t reserved[16];
  uint8_t src_table[kInlineEntries * regs::kLinkEntryBytes];
  uint8_t dst_table[kInlineEntries * regs::kLinkEntryBytes];
};
static_assert(sizeof(Edesc) == 448 && alignof(Edesc) == 64);

/// Memory of a slot that the device reads and writes and only jobs use.
struct alignas(64) JobArea {
  uint8_t icv[64];       // computed by the engine
  uint8_t received[64];  // a tag that has to be handed to the engine apart from its list
  uint8_t prefix[16];    // what goes in front of a list
  uint8_t context_in[96];
  uint8_t context_out[96];
  uint8_t aad_table[kInlineEntries * regs::kLinkEntryBytes];
};

/// A key in memory that the device reads. An authenc(...) key is the authentication key in the first 128 bytes, padded,
/// and the cipher's behind.
struct KeySlot {
  static constexpr size_t kAuthBytes = 128, kCipherBytes = 32, kBytes = kAuthBytes + kCipherBytes;

  uint32_t refs;  // the transform and each request in flight
  uint32_t size_bytes;
  uint8_t key[kBytes];
};

/// What the transform fixes about its descriptors: index 0 decrypts, 1 encrypts.
struct CipherProgram {
  uint32_t header[2] = {};
  uint64_t key_pointer = 0;  // pointer dword p2
  KeySlot* key = nullptr;
  uint32_t block_mask = 0;  // block size - 1
  uint8_t iv_bytes = 0;
  uint8_t pad_mask = 0;            // stream modes: the units take whole blocks only; block size - 1
  uint16_t rc4_context_bytes = 0;  // RC4: state that pieces hand on instead of an IV
};

/// Work that takes one or more descriptors of one channel, one after the other. Made by whoever submits it (submit_job)
/// and theirs again when `finish` has run, or when submit_job returned neither InProgress nor Busy.
struct Job {
  /// After this descriptor: nothing; another one at once (pieces that hand their state on through memory, which is safe
  /// since a channel works strictly in order); another one when this one has been retired.
  enum class More : uint8_t { No, AtOnce, AfterDone };

  Job* next = nullptr;
  /// Fills the slot's zeroed descriptor, and sets piece_bytes and `more`. Not Ok: the job ends with this status.
  /// May not access registers.
  Status (*build)(Job&, Device&, Slot&) = nullptr;
  /// A descriptor came back; what it wrote is visible. Returns the piece's status: what it was given, or worse. May set
  /// `more` to No. Null: nothing to do.
  Status (*retired)(Job&, Device&, Slot&, Status) = nullptr;
  /// The job is over: writes results that are written only on success, gives everything back (itself, too) and
  /// returns the status that the caller's completion gets.
  Status (*finish)(Job&, Device&, Status) = nullptr;
  crypto::Completion complete = nullptr;
  void* context = nullptr;

  size_t piece_bytes = 0;  // payload of the descriptor just built, for the statistics
  More more = More::No;
  // The driver's own:
  unsigned in_flight = 0;
  Status status = Status::Ok;  // the first failure
  bool backlogged = false;     // Busy was returned: the caller must be told when it starts
};

/// Jobs of one kind, used again and again. The pool grows with the backlog and never shrinks; what a job holds in DMA
/// memory stays with it (each() is for giving it back at the end), so that only the first ones allocate.
template <class T>
class JobPool {
 public:
  T* take() {
    auto* j = static_cast<T*>(free_);
    if (j)
      free_ = j->next;
    else
      j = &store_.emplace_back();
    return j;
  }
  void give(T* j) {
    j->next = free_;
    free_ = j;
  }
  template <class F>
  void each(F&& f) {
    for (T& j : store_) f(j);
  }

 private:
  std::deque<T> store_;
  Job* free_ = nullptr;
};

/// A cipher request that waits for a ring slot, or a long one that is cut in pieces.
struct CipherJob : Job {
  CipherProgram program;
  const crypto::ScatterList* src_list = nullptr;
  const crypto::ScatterList* dst_list = nullptr;
  crypto::ScatterWalk src{nullptr}, dst{nullptr};
  size_t remaining_bytes = 0;
  uint8_t* iv = nullptr;         // the caller's
  uint8_t iv_copy[16] = {};      // as it was at submission
  uint8_t* stream_iv = nullptr;  // DMA memory: first IV, then the IV handed from piece to piece; or RC4's state
  bool encrypt = false;
  bool stream = false;  // takes more than one descriptor
  bool first_piece = true;
};

/// The driver's side of a ring slot. `flags` is zero for the common request: direct pointers, nothing to clean up.
struct Slot {
  enum Flags : uint8_t { kMapped = 1, kTables = 2, kLinear = 4, kJob = 8, kChain = 16 };

  Edesc* edesc = nullptr;
  BusAddr bus = 0;
  const uint8_t* done = nullptr;  // the byte that becomes 0xff: of the descriptor, or of the last one of a chain
  crypto::Completion complete = nullptr;
  void* context = nullptr;
  uint8_t* iv = nullptr;
  KeySlot* key = nullptr;
  Job* job = nullptr;
  size_t bytes = 0;  // of a job's piece
  uint8_t iv_bytes = 0;
  uint8_t flags = 0;
  uint8_t channel = 0;
};

/// SEC 1: a list in one piece. Copied back from there when the device wrote it.
struct Linear {
  uint8_t* memory = nullptr;
  crypto::ScatterWalk list{nullptr};
  size_t size_bytes = 0;
  bool copy_back = false;
};

/// Rarely used part of a slot.
struct SlotExtras {
  JobArea* area = nullptr;
  std::vector<Mapping> mappings;  // bounced pieces
  void* tables[3] = {};           // tables that did not fit into the Edesc, by Side
  std::vector<Linear> linear;
  std::vector<BusAddr> chain;  // SEC 1: the descriptors behind the slot's own
};

}  // namespace sec::driver
