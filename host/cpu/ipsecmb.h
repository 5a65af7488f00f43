// Software crypto of this machine through intel-ipsec-mb: many requests side by side in vector lanes. This is
// the "batch" side of every CPU comparison.
//
//   ecb/cbc/ctr(aes), cbc(des), cbc(des3_ede)                       "cbc-aes-ipsecmb", priority 300, async
//   sha1 ... sha512, hmac(md5), hmac(sha1) ... hmac(sha512)          "hmac-sha1-ipsecmb", one-shot only
//   authenc(hmac(md5|sha1|...|sha512),<c>), <c> = cbc(aes),          "authenc-hmac-sha1-cbc-aes-ipsecmb"
//     ctr(aes), cbc(des), cbc(des3_ede)
//   gcm(aes), rfc4106(gcm(aes)), ccm(aes), rfc4309(ccm(aes))         "gcm-aes-ipsecmb"
//
// How a request travels: submit copies its IV (the caller's may change), makes it a job in the algorithm's
// batch and returns InProgress. When the batch holds `burst` jobs, or on flush(), the whole batch runs and the
// callbacks follow, in submission order. One batch is shared by all transforms of an algorithm, encrypting
// and decrypting, since lanes fill faster that way and every lane has its own key and IV. There is no timer:
// the last jobs of a burst wait for flush(), which is the caller's latency bound.
//
// A callback may submit (the job goes into the next batch), flush (what was submitted before the flush), and destroy
// requests and transforms.
// Destroying a transform first completes the jobs it still has.
//
// Beyond the lanes' limits: a scattered request is copied into a linear buffer of its batch slot (kept, not
// allocated again); one longer than 65,520 bytes, or whose CTR counter carries out of its low 32 bits (the
// library adds 32-bit counters), is cut and its parts run one after the other. Empty hash messages and ones
// over 65,534 bytes are not taken by the library: they are done by OpenSSL's functions at the same place in
// the batch and counted in `IpsecMbStats::fallbacks`.
//
// An AEAD is one job for both operations. Its wrong tag ends that request with BadMessage and no other one of the
// batch. The library hashes its source, so an authenc request that encrypts out of place is copied first. OpenSSL does,
// at the same place in the batch and counted as a fallback: empty texts, AAD and text of more than 65,520 bytes
// together, counters that carry out of their low 32 bits, and for CCM AES-192 and more than 46 bytes of AAD.
//
// DES and triple DES are registered only when the AVX-512 code is in use. The other managers scan tables in
// constant time and are 60 times slower than OpenSSL (1.7 and 0.5 MB/s). There is no DES-ECB, XTS or plain
// MD5 in the library, so these are absent.
//
// A registry with this back end, and all transforms made from it, are used by one thread at a time.
#pragma once
#include <cstdint>
#include <memory>

#include "driver/crypto/registry.h"

namespace sec::host {

inline constexpr int kIpsecMbPriority = 300;

/// Which code of the library to use; Auto takes the best that the processor has.
enum class IpsecMbArch : uint8_t { Auto, NoAesni, Sse, Avx, Avx2, Avx512NoVaes, Avx512 };

struct IpsecMbStats {
  uint64_t batches = 0;        // runs
  uint64_t jobs = 0;           // requests completed
  uint64_t linearised = 0;     // copied because scattered
  uint64_t cut = 0;            // run in parts
  uint64_t fallbacks = 0;      // done by OpenSSL
  uint64_t batch_buffers = 0;  // allocated; does not grow with the number of requests
};

struct IpsecMbOptions {
  unsigned burst = 32;  // jobs per batch, 1 to 128
  IpsecMbArch arch = IpsecMbArch::Auto;
  bool des_without_avx512 = false;           // for tests
  std::shared_ptr<IpsecMbStats> stats = {};  // counted here when set
};

/// Adds all algorithms of this back end; nothing when the library does not run on this processor (or not with
/// the asked-for code). Returns whether anything was added.
bool register_ipsecmb(crypto::Registry& registry, const IpsecMbOptions& options = {});

}  // namespace sec::host
