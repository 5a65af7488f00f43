// A unit that is advanced clock by clock: the seam where verilated RTL takes the place of a functional
// unit. The engine drives it from the same FIFOs in simulated time (one tick a SEC clock while there is
// something to do) and runs it to completion without time on the functional path.
#pragma once
#include <cstdint>

namespace sec::hw {

class ClockedUnit {
 public:
  virtual ~ClockedUnit() = default;
  virtual uint32_t block_bytes() const = 0;
  /// Mode, key and context are loaded; `bytes` will follow. Returns unit interrupt status bits, 0 if ready.
  virtual uint32_t load(uint8_t mode, const uint8_t* key, uint32_t key_bytes, const uint8_t* context, uint64_t bytes) = 0;

  struct Ports {
    const uint8_t* in = nullptr;  // a block offered on this clock, or null
    bool out_ready = false;       // the output FIFO has room for a block
    // set by tick():
    bool in_taken = false;
    bool out_valid = false;
    uint8_t out[16];
    uint32_t error = 0;  // unit interrupt status bits
  };
  /// One rising clock edge.
  virtual void tick(Ports& p) = 0;
  virtual bool busy() const = 0;
  virtual uint32_t context(uint8_t* out, uint32_t limit) const = 0;
};

}  // namespace sec::hw
