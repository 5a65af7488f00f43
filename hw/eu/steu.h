// STEU, functional: f8 (UEA2) and f9 (UIA2) on the stream cipher SNOW 3G (ETSI/SAGE, 3GPP TS 35.215 and 35.216).
//
// Layouts, pieces, MAC: hw/eu/f8f9_unit.h. Key 16 bytes, else KSE. ME: ALG other than f8 or f9, reserved bits, CICV
// without f9. f8 in pieces continues with the generator's state in the LFSR and FSM registers, at a multiple of 4 bytes
// of keystream (what a shorter last word leaves is dropped).
// State of f9: EVAL, P, Q (8 bytes each), z5 and a word of zeros at +0x18, then the message's length in bits so far in
// place of the LFSR's first two words, which f9 no longer needs (our own layout).
// Cost: steu.word_clocks for each 4 bytes; steu.init_clocks to start, and five words of keystream for f9; two words at
// the end of f9.
#pragma once
#include "hw/eu/f8f9_unit.h"

namespace sec::hw {

class Snow3g {
 public:
  void start(const std::array<uint32_t, 4>& key,
             const std::array<uint32_t, 4>& iv);  // k0.., IV0.. of the specification
  uint32_t next();
  void save(uint8_t out[76]) const;  // s0..s15, R1..R3
  void load(const uint8_t in[76]);

 private:
  uint32_t clock_fsm();
  void clock_lfsr(uint32_t feedback);
  uint32_t& s(unsigned i) { return s_[(head_ + i) % 16]; }
  uint32_t s(unsigned i) const { return s_[(head_ + i) % 16]; }
  std::array<uint32_t, 16> s_{};
  unsigned head_ = 0;
  uint32_t r1_ = 0, r2_ = 0, r3_ = 0;
};

class Steu final : public F8F9Unit {
 public:
  explicit Steu(const Timing& timing);

 protected:
  bool legal(bool& f9) const override;
  bool legal_key() const override { return key_bytes_ == 16; }
  void begin_cipher(bool init) override;
  void f8(const uint8_t* in, uint8_t* out, size_t n) override;
  void f9_blocks(const uint8_t* in, size_t n) override;
  uint32_t f9_end(const uint8_t* tail, uint32_t n) override;
  void save_state(uint8_t* state) const override;
  void clear() override;

 private:
  Snow3g generator_;
  uint64_t eval_ = 0, p_ = 0, q_ = 0, bits_ = 0;  // f9
  uint32_t z5_ = 0, word_clocks_;
};

}  // namespace sec::hw
