// PKEU, functional: arithmetic on big numbers, polynomials over GF(2) and elliptic curves, on OpenSSL's BIGNUM.
//
// The unit has no data stream. Whoever uses it loads operands, starts a routine and fetches results:
//   reset_for_channel()
//   load(N, ...), load(A0, ...), load(E, ...), ...     sizes follow from what is loaded
//   start(routine, type)                               error bits or 0
//   clocks()                                           what the routine costs
//   store(B0, ...), ...
// or writes the registers (hw/regs/pkeu.h) and EU-Go. begin(), process() and finish() of the base are not for this
// unit.
//
// Operands are big-endian byte strings (ASSUMED). A whole operand A or B is loaded as A0 or B0 with up to 256 bytes and
// runs on into the other quarters; curves use quarters of up to 64 bytes. `Build` is the string that descriptor type 7
// makes and types 9 and 11 take: A0, A1, A2, A3, B0, B1, each a sixth of it, with leading zeros (ASSUMED).
//
// Routines and what they leave in B (whole operands A, B unless said; all ASSUMED but for their names [T23]):
//   clear memory               A, B, E and N zero
//   mod exp, RSA single step   A^E mod N, timing-equalised or not; A and the result are plain numbers, B is ignored
//   R2 mod N                   R^2 mod N, R = 2^(32 w), w = 32-bit words of N
//   RR mod P                   R R' mod N, R' the same power for the AB size: for CRT, where N holds P
//   Fp inverse, mod add, mod subtract       1/A, A + B, A - B mod N
//   Montgomery multiply, multiply and deconvert     A B R^-1, A B R^-2 mod N
//   F2m ...                    the same on polynomials modulo N, with R = x^(32 w); F2m add is A xor B
//   point multiply             E times the point (A0, A1) of the curve with parameters a = A3, b = B0; projective: the
//                              point (A0, A1, A2); to (B1, B2, B3). B1 going in is R2 mod N, which is not needed here
//   point add, double          (A0, A1, A2) + (B1, B2, B3), 2 (A0, A1, A2), a = A3, b = B0; to (B1, B2, B3)
//   build                      nothing; the channel fetches Build
// Projective coordinates stand for (X / Z^2, Y / Z^3) on both kinds of curve, as in IEEE 1363. Results have Z = 1,
// another representative of the point than hardware may give. The point at infinity is (1, 1, 0), in affine results
// (0, 0), and (0, 0) going in. Coordinates are plain, not Montgomery, numbers.
// DEVIATES: nothing depends on the value of R2 that software supplies, so a wrong one goes unnoticed.
//
// Errors: ME for a routine that does not exist or not in the descriptor type; KSE for E of 0 or more than 256 bytes;
// DSE for N below 97 or above 2048 bits (curves and polynomials: above 512), operands longer than their registers,
// Build not divisible in six, or an even modulus; INV for an inverse that does not exist.
#pragma once
#include "hw/eu/execution_unit.h"

namespace sec::hw {

enum class PkeuOperand : uint8_t { A0, A1, A2, A3, B0, B1, B2, B3, E, N, Build };

class Pkeu final : public ExecutionUnit {
 public:
  explicit Pkeu(const Timing& timing);

  // ---- channel side ----
  /// Too long an operand is cut, and start() reports it.
  void load(PkeuOperand which, const uint8_t* bytes, uint32_t n);
  /// Runs the routine. Error bits (interrupt status layout, also raised), 0 when the results are there.
  uint32_t start(uint8_t routine, regs::DescriptorType type);
  /// Result as `limit` big-endian bytes, leading zeros included; returns how many were written (all).
  uint32_t store(PkeuOperand which, uint8_t* out, uint32_t limit) const;
  /// SEC clocks of the last routine.
  uint64_t clocks() const { return clocks_; }

  void process(const uint8_t*, uint8_t*, size_t) override {}
  uint32_t context(uint8_t*, uint32_t) const override { return 0; }
  bool writes_output() const override { return false; }
  uint32_t block_bytes() const override { return 8; }
  uint32_t block_clocks() const override { return 1; }

  uint32_t read32(uint32_t offset, bool peek = false) override;
  void write32(uint32_t offset, uint32_t value) override;

 protected:
  uint32_t prepare() override;
  void clear() override;

 private:
  struct Arithmetic;

  uint32_t check(uint8_t routine) const;
  uint32_t run(uint8_t routine);
  uint8_t* window(uint32_t offset);
  /// Where quarter `q` of A (0 to 3) or B (4 to 7) is.
  uint8_t* quarter(unsigned q) { return (q < 4 ? a_.data() : b_.data()) + q % 4 * 64; }
  const uint8_t* quarter(unsigned q) const { return (q < 4 ? a_.data() : b_.data()) + q % 4 * 64; }
  uint32_t n_bytes() const { return (n_bits_ + 7) / 8; }

  // Bytes of an operand begin at the start of its register.
  std::array<uint8_t, 256> a_{}, b_{}, e_{}, n_{};
  std::array<uint32_t, 8> size_{};  // bytes of the operands that begin at A0..A3, B0..B3
  uint32_t ab_bits_ = 0, n_bits_ = 0;
  bool too_long_ = false, uneven_build_ = false;
  uint64_t clocks_ = 0;
};

}  // namespace sec::hw
