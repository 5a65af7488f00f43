// GHASH (NIST SP 800-38D, 6.4) that can be started from any value and shown at any block, which OpenSSL's GCM cannot.
// Most of the work is still OpenSSL's, with its carry-less multiplications: GCM with nothing but additional data A of k
// blocks yields
//     tag = E(J0) ^ (GHASH(A) ^ L) * H,   L = bit length of A and zero
// The last block X is held back from A, and by linearity
//     GHASH(A || X) = (GHASH(A) ^ X) * H = tag ^ E(J0) ^ (L ^ X) * H
// so one multiplication by H of our own makes up for it. A starting value is added to the first block.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hw/eu/cipher_cache.h"

namespace sec::hw {

class Ghash {
 public:
  /// `gcm`: AES-GCM, and `ecb`: AES-ECB encryption, both keyed with the message's key.
  void start(KeyedCipher* gcm, KeyedCipher* ecb, const uint8_t* value);
  void update(const uint8_t* p, size_t n);
  /// Zeros up to the next block.
  void pad();
  /// The value so far, after whole blocks. Nothing can be added afterwards.
  void finish(uint8_t* value);

 private:
  void block(const uint8_t* p, size_t n);

  KeyedCipher* gcm_ = nullptr;
  uint8_t h_[16], mask_[16];  // H, and E(J0) of the inner GCM
  uint8_t start_[16];
  uint8_t held_[16];
  uint32_t held_bytes_ = 0;
  uint64_t fed_ = 0;  // bytes that OpenSSL has
  bool first_ = true;
};

}  // namespace sec::hw
