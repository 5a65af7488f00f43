// CRCU, functional: CRC of 32 bits with a choice of polynomial.
//
// Polynomial: IEEE 802.3, Castagnoli, the control register's (static custom) or the key's (dynamic custom: 4 bytes,
// else KSE). ASSUMED, since no public source says: the register starts with ones, or with the four context bytes when
// there are any (most significant first); data bytes enter least significant bit first whatever the polynomial. Result,
// as context and as ICV, four bytes: complemented and bit-reversed, least significant byte first, which is the frame
// check sequence of Ethernet and the digest of iSCSI as they lie in memory. With RAW the register as it is, most
// significant byte first: what the context of a further piece takes. So a message in pieces has RAW on all but the
// last. CICV compares the result with the received ICV, as many bytes as the ICV size says (0: four). UNMODELLED: CICV
// in slave mode, for which no register takes the received ICV: it always raises ICE there. Any length; no data gives
// the CRC of nothing.
#pragma once
#include "hw/eu/execution_unit.h"

namespace sec::hw {

class Crcu final : public ExecutionUnit {
 public:
  explicit Crcu(const Timing& timing);
  void process(const uint8_t* in, uint8_t* out, size_t n) override;
  uint32_t context(uint8_t* out, uint32_t limit) const override;
  uint32_t icv(uint8_t* out, uint32_t limit) const override { return context(out, limit); }
  bool writes_output() const override { return false; }
  uint32_t block_bytes() const override { return 8; }
  uint32_t block_clocks() const override { return word_clocks_; }

  uint32_t read32(uint32_t offset, bool peek = false) override;
  void write32(uint32_t offset, uint32_t value) override;
  void hard_reset() override;

 protected:
  uint32_t prepare() override;
  uint32_t complete() override;

 private:
  void result(uint8_t out[4]) const;

  uint32_t word_clocks_;
  uint32_t control_ = 0;
  uint32_t crc_ = 0;         // bit-reversed: x^31 is bit 0
  uint32_t polynomial_ = 0;  // of the table
  std::array<uint32_t, 256> table_;
};

}  // namespace sec::hw
