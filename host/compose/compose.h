// Ciphers made of others, over any implementation in the registry, as the kernel's templates do it: an engine
// that has only ECB, CBC and CTR gets these from them.
//
//   xts(aes)                over ecb(aes)   driver "xts(ecb-aes-talitos)"
//   rfc3686(ctr(aes))       over ctr(aes)   driver "rfc3686(ctr-aes-talitos)"
//   essiv(cbc(aes),sha256)  over cbc(aes)   driver "essiv(cbc-aes-talitos,sha256)"
//
// XTS: the processor encrypts the tweak, XORs the tweak chain over the data into a scratch buffer, sends the whole
// buffer through one ECB request, and XORs again into the destination. A length that is not a multiple of 16 takes a
// second ECB request of one block (ciphertext stealing). Requests shorter than one block are Invalid, but for
// length 0, which does nothing.
// RFC 3686: the last four key bytes are the nonce; counter block = nonce, IV of 8 bytes, 1.
// ESSIV: the IV is encrypted with AES under the SHA-256 of the whole key, whatever the key's size.
// None of the three returns an output IV: the request's IV bytes stay as they were.
//
// All keep the asynchronous contract of the implementation below: what it accepts they accept, with the same
// Busy, and its callback(InProgress) is passed on. Only the second ECB request of XTS is different: it goes to the
// backlog if it must, without telling, since the caller already knows that its request is running.
//
// The processor's part is charged to `cpu`: two XORs per byte as Cost::CopyByte, `block_ps` per encrypted tweak or IV.
// Scratch comes from `dma` when given, so that the device works on it without bouncing; otherwise from the heap. Each
// transform keeps as many buffers as it ever had requests in flight. Nothing is allocated in the steady state.
//
// ASSUMED: one CPU pass per XOR. A driver could fold the first XOR into a copy that it makes anyway.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "driver/crypto/registry.h"
#include "driver/platform/cpu_meter.h"
#include "driver/platform/dma.h"

namespace sec::host {

struct ComposeOptions {
  driver::DmaSpace* dma = nullptr;   // must outlive the transforms
  driver::CpuMeter* cpu = nullptr;   // likewise
  uint64_t block_ps = 0;             // software AES of one block: the tweak, the IV
};

/// Null with NoEntry when the registry has no such implementation, Invalid when it is of another algorithm.
std::unique_ptr<crypto::Skcipher> compose_xts(const crypto::Registry& registry, std::string_view ecb_driver, Status* status = nullptr,
                                              const ComposeOptions& options = {});
std::unique_ptr<crypto::Skcipher> compose_rfc3686(const crypto::Registry& registry, std::string_view ctr_driver,
                                                  Status* status = nullptr, const ComposeOptions& options = {});
std::unique_ptr<crypto::Skcipher> compose_essiv(const crypto::Registry& registry, std::string_view cbc_driver,
                                                Status* status = nullptr, const ComposeOptions& options = {});

/// A composition's priority is that of the implementation below less this, so that a native XTS of the same library wins.
inline constexpr int kCompositionPriorityStep = 101;

/// Adds a composition over the named implementation, which decides which of the three it is. The registry must outlive
/// the transforms' creation (not the transforms). NoEntry and Invalid as above, otherwise what Registry::add says.
Status register_composition(crypto::Registry& registry, std::string_view driver, const ComposeOptions& options = {});

/// Adds compositions over everything suitable that is registered and passed its self-test; returns how many.
unsigned register_compositions(crypto::Registry& registry, const ComposeOptions& options = {});

}  // namespace sec::host
