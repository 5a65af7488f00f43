// KEU, functional: f8 and f9 on KASUMI (3GPP TS 35.201), and f8 in the shapes of A5/3 (TS 55.216).
//
// Layouts, pieces, MAC: hw/eu/f8f9_unit.h. Keys: 16 bytes, or 32, of which f8 takes the first half and f9 the second
// (ASSUMED: the key window has room for both keys). With GSM or EDGE also 8 bytes, which are repeated [TS 55.216].
// Anything else is KSE. ME: f9 with GSM or EDGE, both of these, reserved bits, CICV without f9.
// GSM and EDGE put CA = 0x0f or 0xf0 into the block that f8 starts from, as the standard has it (ASSUMED to be what the
// bits do); COUNT is IV 1's first word. UNMODELLED: cutting the keystream into the two blocks of 114 (348) bits of a
// frame: it is contiguous here, so that software shifts the second block itself.
// State: f8: modified IV, last block of keystream, block counter; f9: A, B (8 bytes each, our own layout).
// Cost: keu.block_clocks for each 8 bytes, one block more to start f8 or f9, two to end f9.
#pragma once
#include "hw/eu/f8f9_unit.h"
#include "hw/eu/kasumi.h"

namespace sec::hw {

class Keu final : public F8F9Unit {
 public:
  explicit Keu(const Timing& timing);

 protected:
  bool legal(bool& f9) const override;
  bool legal_key() const override;
  void begin_cipher(bool init) override;
  void f8(const uint8_t* in, uint8_t* out, size_t n) override;
  void f9_blocks(const uint8_t* in, size_t n) override;
  uint32_t f9_end(const uint8_t* tail, uint32_t n) override;
  void save_state(uint8_t* state) const override;
  void clear() override;

 private:
  void f9_block(uint64_t block);

  Kasumi cipher_;
  std::array<uint8_t, 16> selected_key_{};
  uint64_t a_ = 0, b_ = 0;  // f8: modified IV, last keystream; f9: chain, sum
  uint64_t blocks_ = 0;     // f8
};

}  // namespace sec::hw
