// Requests of the asynchronous crypto API, and the contract that every implementation keeps:
//
//   submit returns   Ok          done; no callback
//                    InProgress  accepted; exactly one callback with the final status
//                    Busy        accepted on the backlog (only with kMayBacklog); callback(InProgress)
//                                when it moves to the real queue, then callback(final)
//                    other       refused; the request is the caller's again, no callback
//
// A callback may run before submit returns and may be the place where the caller submits again or
// frees the request and the transform. Fields of a request are never altered, but for the bytes of
// `iv` on success: after CBC the last ciphertext block, after CTR the counter of the next whole block.
// The IV is read at submission: the caller may reuse the buffer's content rules only after the final
// callback, because the output IV is written there.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/status.h"
#include "driver/crypto/scatterlist.h"

namespace sec::crypto {

/// Called with Status::InProgress when a backlogged request starts, and once with the final status.
using Completion = void (*)(void* context, Status status);

enum RequestFlags : uint32_t {
  kMayBacklog = 1,  // queue me when full (unbounded): then stop until told InProgress
  kMaySleep = 2,    // the caller may block in submit
};

struct SkcipherRequest {
  const ScatterList* src = nullptr;
  const ScatterList* dst = nullptr;  // same object, other object over the same memory, or disjoint
  size_t size_bytes = 0;
  uint8_t* iv = nullptr;  // iv_bytes of the algorithm; may be null for ECB
  uint32_t flags = 0;
  Completion complete = nullptr;
  void* context = nullptr;
};

/// Authenticated encryption. Both lists hold `aad_bytes` of AAD first, then the text, then the tag: in `src` when
/// decrypting, in `dst` when encrypting. The AAD area of `dst` is reserved and not written.
struct AeadRequest {
  const ScatterList* src = nullptr;
  const ScatterList* dst = nullptr;
  size_t aad_bytes = 0;
  size_t size_bytes = 0;        // the text; when decrypting text and tag
  const uint8_t* iv = nullptr;  // iv_bytes of the algorithm; read at submission, never written
  uint32_t flags = 0;
  Completion complete = nullptr;
  void* context = nullptr;
};

/// What a hash in several steps keeps between them; made by Hash::make_state(). Dropping it at any time is allowed,
/// but not while an operation on it is in flight.
class HashState {
 public:
  virtual ~HashState() = default;
};

/// A digest (or HMAC when the transform is keyed), at once or in steps. The digest is written by digest(), final() and
/// finup() only.
struct HashRequest {
  const ScatterList* src = nullptr;  // may be null when size_bytes is 0
  size_t size_bytes = 0;
  uint8_t* digest = nullptr;   // digest_bytes of the algorithm
  HashState* state = nullptr;  // update(), final(), finup()
  uint32_t flags = 0;
  Completion complete = nullptr;
  void* context = nullptr;
};

}  // namespace sec::crypto
