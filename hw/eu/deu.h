// DEU, functional: DES and triple DES (EDE), ECB, CBC, CFB-64 and OFB-64, on OpenSSL.
//
// Keys: 8 bytes single, 16 (two-key, K3 = K1) or 24 bytes triple [T23], else KSE. Data a multiple of 8 bytes, else DSE,
// in the stream modes too [T23]. Context: the IV, 8 bytes; out comes the last ciphertext block, for OFB the last block
// of key stream: what continues the message. Key parity: a byte of even parity raises KPE. On SEC 1 that stops the unit
// unless it is masked, as Linux does, whose test vectors are right and fail otherwise [LXc dd3c0987f542]. ASSUMED:
// masked after reset on SEC 2.x/3.x (Linux masks nothing there and the same vectors pass). Mode bits above CM raise ME.
#pragma once
#include "hw/eu/cipher_cache.h"
#include "hw/eu/execution_unit.h"

namespace sec::hw {

class Deu final : public ExecutionUnit {
 public:
  Deu(const regs::Part& part, const Timing& timing);
  explicit Deu(const Timing& timing) : Deu(regs::default_part(), timing) {}
  ~Deu() override;
  void process(const uint8_t* in, uint8_t* out, size_t n) override;
  uint32_t context(uint8_t* out, uint32_t limit) const override;
  uint32_t block_bytes() const override { return 8; }
  uint32_t block_clocks() const override { return block_clocks_; }

 protected:
  uint32_t prepare() override;
  uint32_t default_interrupt_control() const override;

 private:
  const bool parity_masked_;
  CipherCache cache_;
  KeyedCipher* keyed_ = nullptr;
  std::array<const EVP_CIPHER*, 4> ciphers_;  // by CM
  uint32_t block_clocks_ = 0;
};

}  // namespace sec::hw
