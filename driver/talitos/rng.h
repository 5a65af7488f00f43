// The engine's random number unit as a hwrng: driven by registers, without a descriptor. [LX][OCF]
//
//   start()         reset, wait for reset done, write the data size register: the unit fills its FIFO from then on
//   data_present()  the FIFO level field of the unit's status is not zero; with `wait` it looks 20 times, 10 us apart
//   read()          one 64-bit FIFO entry in two 32-bit reads (one alone would be an address error); its low half
//
// There is one per device, on parts that have the unit and descriptor type 0: Linux asks for both, because it checks the
// RNG by the same rule as an algorithm with an all-zero descriptor type. A device reset starts it again.
#pragma once
#include <cstdint>

#include "common/status.h"
#include "driver/platform/platform.h"
#include "hw/regs/variants.h"

namespace sec::driver {

class HwRng {
 public:
  static constexpr unsigned kWaitTries = 20;
  static constexpr uint64_t kWaitNs = 10'000;

  HwRng(Platform& platform, const regs::Part& part);

  /// TimedOut when the unit does not come out of reset.
  Status start();
  bool data_present(bool wait);
  /// Again when there is nothing to read.
  Status read(uint32_t* value);
  /// Fills `n` bytes, waiting where it has to. TimedOut when nothing comes in kWaitTries looks.
  Status fill(uint8_t* to, size_t n);

 private:
  uint32_t status();
  Platform& platform_;
  const regs::Generation generation_;
  const uint32_t base_;
};

}  // namespace sec::driver
