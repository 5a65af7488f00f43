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
// The processor's part is charged to `cpu`: two XORs per byte as Cost::CopyByte; per encrypted tweak or IV one
// Cost::ApiCall, and `block_ps` if given.
// Scratch comes from `dma` when given, so that the device works on it without bouncing; otherwise from the heap.
// What 64 requests of up to 4096 bytes need is made with the transform; more only when more, or longer ones, are in
// flight than ever before. All of it is kept, so that nothing is allocated in the steady state.
//
// A transform may be freed while its requests are in flight, as with the driver's own: they still get their callback.
//
// ASSUMED: one CPU pass per XOR. A driver could fold the first XOR into a copy that it makes anyway.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "driver/crypto/registry.h"
#include "driver/platform/cpu_meter.h"
#include "driver/platform/dma.h"

namespace sec::host {

struct CompositionOptions {
  driver::DmaSpace* dma = nullptr;  // must outlive the transforms and their requests
  driver::CpuMeter* cpu = nullptr;  // likewise
  uint64_t block_ps = 0;            // software AES of one block: the tweak, the IV
  /// The processor's part of the AEAD compositions: "ghash", "cbcmac(aes)"; bytes. May be empty.
  std::function<void(std::string_view algorithm, size_t bytes)> charge_crypto;
  std::string module = "talitos";   // register_compositions: over this module's ciphers; empty: over all
};

/// Null with NoEntry when the registry has no such implementation, Invalid when it is of another algorithm.
std::unique_ptr<crypto::Skcipher> compose_xts(const crypto::Registry& registry, std::string_view ecb_driver,
                                              Status* status = nullptr, const CompositionOptions& options = {});
std::unique_ptr<crypto::Skcipher> compose_rfc3686(const crypto::Registry& registry, std::string_view ctr_driver,
                                                  Status* status = nullptr, const CompositionOptions& options = {});
std::unique_ptr<crypto::Skcipher> compose_essiv(const crypto::Registry& registry, std::string_view cbc_driver,
                                                Status* status = nullptr, const CompositionOptions& options = {});

/// Adds a composition over the named implementation, which decides which of the three it is. The registry must outlive
/// the transforms' creation (not the transforms). NoEntry and Invalid as above, otherwise what Registry::add says.
Status register_composition(crypto::Registry& registry, std::string_view driver,
                            const CompositionOptions& options = {});

/// Adds compositions over everything suitable of options.module that is registered and did not fail its self-test;
/// returns how many. A composition shows the module of what it is made of, and that priority + 1.
/// The CPU back ends are left out unless asked for: one over OpenSSL's ECB would displace OpenSSL's own, faster XTS.
unsigned register_compositions(crypto::Registry& registry, const CompositionOptions& options = {});

}  // namespace sec::host
