// MDEU, functional: MD5, SHA-1, SHA-224/256 and SHA-384/512, plain, as HMAC and as SSL 3 MAC, on OpenSSL.
//
// One unit under two select codes. MDEU-A: SHA-1, SHA-256, MD5, SHA-224; MDEU-B (SEC 3.x): SHA-384, SHA-256, SHA-512,
// SHA-224 for the same two mode bits [T23]. ASSUMED: driven by software the unit takes the codes of MDEU-A, as nothing
// in the eight mode bits tells the two apart; SHA-384/512 are then out of reach.
//
// A message may come in pieces, a descriptor each [LX]:
//
//            INIT CONT PD HMAC   key    context in     context out
//   only      1    0   1   k      k     -              digest
//   first     1    1   0   k      k     -              state and count
//   middle    0    1   0   0      -     state, count   state and count
//   last      0    0   1   k      k     state, count   digest
//
// All but the last are whole blocks, else DSE. Neither CONT nor PD: the last piece of a message that software has
// padded; whole blocks too, and state and count come out. Without INIT and without a context the state is all zeros:
// garbage, as in hardware. The layout of the context is that of hw/eu/digest.h.
//
// HMAC: RFC 2104, the key at most one block, else KSE. INIT hashes the key block with the inner pad, PD the outer hash.
// SMAC: RFC 6101 (secret and pad_1 before the message, the outer hash with pad_2 behind), MD5 and SHA-1 only; the
// secret has the size of the digest, else KSE. ASSUMED throughout, [T23] gives only the bit's name: with SHA-1 the 60
// bytes of secret and pad end inside a block, so the first of several pieces has to fill up that block. CICV compares
// the digest with the ICV that came in.
//
// Mode errors, ASSUMED: HMAC on a middle piece, CONT with PD, SMAC with HMAC or with SHA-2, CICV without PD, ALG values
// that a part lacks: codes of MDEU-B where there is none, and before SEC 2.1 SHA-224, CICV and SMAC ([LX] starts
// SHA-224 in software there). ERRATUM: SEC 1 does not pad an empty message [LX]; the digest of one is wrong.
#pragma once
#include "hw/eu/digest.h"
#include "hw/eu/execution_unit.h"

namespace sec::hw {

class Mdeu final : public ExecutionUnit {
 public:
  Mdeu(const regs::Part& part, const Timing& timing);
  void header(const uint8_t* in, size_t n) override { digest_.update(in, n); }
  void process(const uint8_t* in, uint8_t* out, size_t n) override;
  uint32_t context(uint8_t* out, uint32_t limit) const override;
  uint32_t icv(uint8_t* out, uint32_t limit) const override;
  bool writes_output() const override { return false; }
  uint32_t block_bytes() const override { return traits_.block_bytes; }
  uint32_t block_clocks() const override { return block_clocks_; }
  uint32_t startup_clocks() const override { return startup_blocks_ * block_clocks_; }
  uint32_t finish_clocks() const override { return finish_blocks_ * block_clocks_; }

 protected:
  uint32_t prepare() override;
  uint32_t complete() override;
  void clear() override { closed_ = false; }

 private:
  /// Chaining values behind the inner and the outer key block. Flows use the same key for thousands of packets.
  struct HmacKey {
    bool used = false;
    HashAlgorithm algorithm = HashAlgorithm::Md5;
    uint32_t key_bytes = 0;
    uint8_t key[128];
    uint8_t inner[Digest::kMaxContextBytes], outer[Digest::kMaxContextBytes];
  };
  static constexpr unsigned kSets = 32, kWays = 4;

  const HmacKey* hmac_key();
  void count_blocks(uint32_t preamble);

  const bool has_mdeu_b_, has_sha224_, has_check_, sec1_;
  uint32_t clocks_64_, clocks_80_;
  HashAlgorithm algorithm_ = HashAlgorithm::Sha1;
  HashTraits traits_ = traits(HashAlgorithm::Sha1);
  uint32_t block_clocks_ = 0, startup_blocks_ = 0, finish_blocks_ = 0;
  bool closed_ = false;  // final_ holds the digest
  Digest digest_;
  std::array<uint8_t, 64> final_{};
  const HmacKey* hmac_ = nullptr;
  std::array<HmacKey, kSets * kWays> keys_;
  unsigned victim_ = 0;
};

}  // namespace sec::hw
