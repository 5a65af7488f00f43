// The same bytes without us: loops over the bare libraries, the yardsticks of the benchmarks.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sec::host {

/// Wall seconds for `n` encryptions of `size` bytes by EVP calls with a cached key and a fresh IV each, rotating over `buffers`.
double bare_evp_seconds(const char* cipher, size_t size, uint64_t n, unsigned buffers);
/// Wall seconds for `n` AES-128-CBC encryptions in cipher bursts of `burst` jobs.
double bare_ipsecmb_seconds(size_t size, uint64_t n, unsigned burst);

}  // namespace sec::host
