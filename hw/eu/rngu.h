// RNGU, functional: 64-bit random words in an output FIFO.
//
// Slave mode, as drivers use it [LX][OCF]: a reset, then a write of the data size register starts the unit. It makes
// one word every rngu.word_clocks SEC clocks until the FIFO is full, and goes on when one is read; on the functional
// path, where nothing takes time, the FIFO of a started unit is always full. OFL counts the words. A word is read as
// HI, then LO; HI twice, LO first or a read of a unit that a channel holds raises AE, HI of an empty FIFO raises OFU;
// both read as 0. Errors do not stop the unit (ASSUMED). A write into the FIFO window raises AE.
//
// By descriptor (type 2): output only, process(null, out, n). The channel's reset before use empties the FIFO, so
// software that reads the unit directly has to start it again (ASSUMED).
//
// The words come from a seeded generator, so that runs can be repeated: DEVIATES from hardware, whose words nobody can
// foresee. set_seed() chooses the sequence (1 unless chosen), use_entropy() takes the kernel's random numbers instead.
// Resets do not start the sequence anew.
#pragma once
#include <random>

#include "hw/eu/execution_unit.h"

namespace sec::hw {

class Rngu final : public ExecutionUnit {
 public:
  static constexpr uint64_t kDefaultSeed = 1;

  explicit Rngu(const Timing& timing);

  /// Repeatable numbers from here on.
  void set_seed(uint64_t seed);
  /// Numbers that cannot be repeated from here on.
  void use_entropy() { entropy_ = true; }

  /// `in` is not looked at.
  void process(const uint8_t* in, uint8_t* out, size_t n) override;
  uint32_t context(uint8_t*, uint32_t) const override { return 0; }
  bool reads_input() const override { return false; }
  uint32_t block_bytes() const override { return 8; }
  uint32_t block_clocks() const override { return word_clocks_; }

  uint32_t read32(uint32_t offset, bool peek = false) override;
  void write32(uint32_t offset, uint32_t value) override;

 protected:
  uint32_t prepare() override;
  void clear() override;

 private:
  uint64_t next();
  /// 64-bit words in the FIFO now.
  uint32_t level() const;
  void take();

  std::mt19937_64 generator_{kDefaultSeed};
  bool entropy_ = false;
  uint32_t word_clocks_, depth_;
  // The FIFO holds `level_` words at clock `since_`, when the next word was begun; the words are drawn when read.
  bool started_ = false, half_ = false;
  uint32_t size_ = 0, level_ = 0, low_ = 0;
  uint64_t since_ = 0;
};

}  // namespace sec::hw
