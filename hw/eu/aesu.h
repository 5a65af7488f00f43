// AESU, functional: ECB, CBC and CTR with 128, 192 and 256-bit keys, on OpenSSL.
//
// What it does: mode byte ED, CM [T23]; key 16/24/32 bytes else KSE; data a multiple of 16 bytes else DSE,
// in CTR mode too (erratum "SEC6" [LX]); context out is the last ciphertext block (CBC) or the next counter (CTR,
// 128-bit big-endian with carry through all bytes).
// A context shorter than 16 bytes is filled up with zeros, as SEC 3.1 does [USP].
//
// UNMODELLED: RDK, CCM, GCM, CMAC, XCBC-MAC, LRW, OFB, CFB-128, SRTP, RBP and XOR modes: mode error, and counted.
#pragma once
#include "hw/eu/cipher_cache.h"
#include "hw/eu/execution_unit.h"

namespace sec::hw {

class Aesu final : public ExecutionUnit {
 public:
  explicit Aesu(const Timing& timing);
  ~Aesu() override;
  void process(const uint8_t* in, uint8_t* out, size_t n) override;
  uint32_t context(uint8_t* out, uint32_t limit) const override;
  uint32_t block_bytes() const override { return 16; }
  uint32_t block_clocks() const override { return block_clocks_; }
  uint32_t startup_clocks() const override { return startup_clocks_; }

 protected:
  uint32_t prepare() override;

 private:
  CipherCache cache_;
  KeyedCipher* keyed_ = nullptr;
  const EVP_CIPHER* ciphers_[3][3];  // [ECB CBC CTR][128 192 256], fetched once
  AesCost costs_[3];
  uint32_t block_clocks_ = 0, startup_clocks_ = 0;
};

}  // namespace sec::hw
