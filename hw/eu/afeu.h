// AFEU, functional: the stream cipher RC4.
//
// Keys of 5 to 16 bytes, else KSE [C14][OCF]. Mode DC (0x02) starts a stream: the S-box is set up from the key and the
// context comes out behind the data. Mode 0x07 (PP, DC, CS) goes on: the context comes in before the data and no key is
// needed (its size must still be 0 or legal, ASSUMED). CS without PP raises ME (ASSUMED). PP without CS takes the S-box
// that software has written to the context memory.
// Context: 259 bytes as in [MOC]; ASSUMED: S-box, i, j, a byte of zero. Fewer than 258 bytes, so also the 257 of a
// comment in [T23], do not hold the state: DSE.
//
// A channel hands the context over with the load and fetches it with context(); in slave mode it really goes through
// the FIFO, 33 words of it, the last one padded. The set-up costs afeu.key_setup_clocks, only when it is done.
#pragma once
#include "hw/eu/execution_unit.h"
#include "hw/regs/afeu.h"

namespace sec::hw {

class Afeu final : public ExecutionUnit {
 public:
  explicit Afeu(const Timing& timing);
  void process(const uint8_t* in, uint8_t* out, size_t n) override;
  uint32_t context(uint8_t* out, uint32_t limit) const override;
  uint32_t block_bytes() const override { return 8; }
  uint32_t block_clocks() const override { return block_clocks_; }
  uint32_t startup_clocks() const override { return startup_clocks_; }

  uint32_t read32(uint32_t offset, bool peek = false) override;
  void write32(uint32_t offset, uint32_t value) override;

 protected:
  uint32_t prepare() override;
  void clear() override;

 private:
  void take_context();

  static constexpr uint32_t kFifoContextBytes = (regs::kAfeuContextBytes + 7) & ~7u;
  std::array<uint8_t, 256> s_{};
  uint8_t i_ = 0, j_ = 0;
  uint32_t block_clocks_, startup_clocks_ = 0;
  // slave mode
  uint32_t context_to_come_ = 0, dumped_ = 0;  // bytes through the FIFO
  uint32_t fifo_hi_ = 0, dump_lo_ = 0;
  bool dump_half_ = false;
};

}  // namespace sec::hw
