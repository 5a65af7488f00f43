// DEU, functional: DES and triple DES (EDE), ECB and CBC, on OpenSSL.
//
// Keys: 8 bytes single, 16 (two-key, K3 = K1) or 24 bytes triple [T23], else KSE. Data a multiple of 8 bytes, else DSE.
// Key parity: KPE exists and is masked after reset on SEC 2.x/3.x (ASSUMED: Linux masks nothing there and
// its even-parity test vectors pass). Context out is the last ciphertext block.
//
// UNMODELLED: CFB-64 and OFB-64: mode error, and counted.
#pragma once
#include "hw/eu/cipher_cache.h"
#include "hw/eu/execution_unit.h"

namespace sec::hw {

class Deu final : public ExecutionUnit {
 public:
  explicit Deu(const Timing& timing);
  ~Deu() override;
  void process(const uint8_t* in, uint8_t* out, size_t n) override;
  uint32_t context(uint8_t* out, uint32_t limit) const override;
  uint32_t block_bytes() const override { return 8; }
  uint32_t block_clocks() const override { return block_clocks_; }

 protected:
  uint32_t prepare() override;
  uint32_t default_interrupt_control() const override;

 private:
  CipherCache cache_;
  KeyedCipher* keyed_ = nullptr;
  const EVP_CIPHER* ecb_;
  const EVP_CIPHER* cbc_;
  uint32_t block_clocks_ = 0;
};

}  // namespace sec::hw
