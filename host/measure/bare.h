// The same bytes without us: loops over the bare libraries, the yardsticks of the benchmarks.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sec::host {

/// Processor seconds (host/measure/thread_time.h) for `n` encryptions of `size` bytes by EVP with a cached key and a fresh IV each, rotating over `buffers`. The
/// quickest calls there are: EVP_Cipher, and padding left alone, since EVP_CIPHER_CTX_set_padding(0) makes every later
/// IV reset slower in OpenSSL 3.
/// `update`: EVP_CipherUpdate instead, as programs ordinarily call it.
double bare_evp_seconds(const char* cipher, size_t size, uint64_t n, unsigned buffers, bool update = false);
/// Processor seconds for `n` packets of AES-128-CBC over `size` bytes and HMAC-SHA1 over 8 bytes more, by EVP_CipherUpdate and
/// a keyed EVP_MAC that is reset for each packet: the two operations one after the other, as programs call them.
double bare_cbc_hmac_seconds(size_t size, uint64_t n, unsigned buffers);
/// Processor seconds for `n` SHA-256 digests of `size` bytes by EVP_Digest with a fetched digest.
double bare_sha256_seconds(size_t size, uint64_t n, unsigned buffers);
/// Processor seconds for `n` AES-128-CBC encryptions in unchecked cipher bursts of `burst` jobs. Packets lie in memory as in a Load
/// (host/measure/saturate.h): each has a descriptor that is read, and an IV of its own behind its bytes.
/// `served`: each packet also gets its output IV and a call of a completion function that puts the next one in its place,
/// which is what a user of the library writes who has to be told.
double bare_ipsecmb_seconds(size_t size, uint64_t n, unsigned burst, bool served);

}  // namespace sec::host
