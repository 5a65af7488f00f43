// Extended descriptors: everything that one descriptor needs, preallocated.
//
// Each ring slot owns one Edesc in memory that the device reads (the hardware descriptor first, then IVs, the
// padded tail of CTR inputs, and two link tables) and one Slot in ordinary memory (what the driver must
// remember). A slot is free again when its descriptor has been retired, so the request path never
// allocates; only lists of more than kInlineEntries segments take their table from the DMA space.
//
// Keys live in KeySlots of their own, counted by the requests that use them: a new key takes a new slot while
// old requests still run with the old one.
#pragma once
#include <cstdint>
#include <vector>

#include "common/endian.h"
#include "driver/crypto/request.h"
#include "driver/platform/dma.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/link_table.h"

namespace sec::driver {

inline constexpr unsigned kInlineEntries = 20;  // an ESP packet in 17 pages plus tail fits
/// The most bytes that one descriptor carries: below 2^16, whole blocks of every cipher, with room for CTR's padding.
inline constexpr size_t kMaxDescriptorBytes = 65520;

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

/// A key in memory that the device reads.
struct KeySlot {
  uint8_t key[32];
  uint32_t refs;  // the transform and each request in flight
  uint32_t size_bytes;
};

/// What the transform fixes about its descriptors: index 0 decrypts, 1 encrypts.
struct CipherProgram {
  uint32_t header[2] = {};
  uint64_t key_pointer = 0;  // pointer dword p2
  KeySlot* key = nullptr;
  uint32_t block_mask = 0;  // block size - 1
  uint8_t iv_bytes = 0;
  bool pad_input = false;  // CTR: the AESU takes whole blocks only
};

/// A request that waits for a ring slot, or a long one of which some pieces still have to be sent.
struct Pending {
  Pending* next = nullptr;
  CipherProgram program;
  const crypto::ScatterList* src_list = nullptr;
  const crypto::ScatterList* dst_list = nullptr;
  crypto::ScatterWalk src{nullptr}, dst{nullptr};
  size_t remaining_bytes = 0;
  crypto::Completion complete = nullptr;
  void* context = nullptr;
  uint8_t* iv = nullptr;         // the caller's
  uint8_t iv_copy[16] = {};      // as it was at submission
  uint8_t* stream_iv = nullptr;  // 32 bytes of DMA memory: first IV, then the IV handed from piece to piece
  unsigned pieces_in_flight = 0;
  Status status = Status::Ok;
  bool encrypt = false;
  bool backlogged = false;  // Busy was returned: the caller must be told when it starts
  bool started = false;
  bool stream = false;  // takes more than one descriptor
  bool first_piece = true;
};

/// The driver's side of a ring slot. `flags` is zero for the common request: direct pointers, nothing to clean up.
struct Slot {
  enum Flags : uint32_t { kMapped = 1, kTables = 2, kStream = 4 };

  Edesc* edesc = nullptr;
  BusAddr bus = 0;
  crypto::Completion complete = nullptr;
  void* context = nullptr;
  uint8_t* iv = nullptr;
  KeySlot* key = nullptr;
  Pending* stream = nullptr;
  uint8_t iv_bytes = 0;
  uint8_t flags = 0;
};

/// Rarely used part of a slot.
struct SlotExtras {
  std::vector<Mapping> mappings;  // bounced pieces
  void* src_table = nullptr;      // tables that did not fit into the Edesc
  void* dst_table = nullptr;
};

}  // namespace sec::driver
