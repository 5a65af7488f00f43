// The registers of one channel, as data. What they do is in engine.cpp (register accesses) and
// channel.h (the descriptor engine).
#pragma once
#include <array>
#include <cstdint>

#include "common/endian.h"
#include "hw/regs/channel.h"

namespace sec::hw {

struct ChannelState {
  uint32_t config = 0;  // CCCR LO
  uint32_t errors = 0;  // CCPSR LO error bits
  regs::ChannelState state = regs::ChannelState::Idle;
  uint8_t pair_ptr = 0;      // pointer dword being processed
  uint8_t unit_progress = 0;  // requesting, granted, reset done, done: see engine.cpp
  bool halted = false;
  BusAddr cdpr = 0;
  uint32_t ff_high = 0;
  std::array<uint8_t, 64> descriptor{};
  std::array<uint8_t, 32> gather{}, scatter{};

  // Fetch FIFO: a ring of descriptor addresses.
  static constexpr unsigned kRing = 64;
  std::array<BusAddr, kRing> fifo{};
  unsigned fifo_head = 0, fifo_level = 0;

  void push(BusAddr a) {
    fifo[(fifo_head + fifo_level) % kRing] = a;
    ++fifo_level;
  }
  BusAddr pop() {
    const BusAddr a = fifo[fifo_head];
    fifo_head = (fifo_head + 1) % kRing;
    --fifo_level;
    return a;
  }

  enum UnitProgress : uint8_t { kRequesting = 1, kGranted = 2, kResetDone = 4, kDone = 8 };
};

}  // namespace sec::hw
