// The registers of one channel, as data. What they do is in engine.cpp (register accesses) and
// channel.h (the descriptor engine).
#pragma once
#include <array>
#include <cstdint>

#include "common/endian.h"
#include "hw/regs/channel.h"
#include "hw/regs/variants.h"

namespace sec::hw {

struct ChannelState {
  uint32_t config = 0;  // CCCR LO
  uint32_t errors = 0;  // CCPSR LO error bits
  regs::ChannelState state = regs::ChannelState::Idle;
  uint8_t pair_ptr = 0;      // pointer dword being processed
  uint16_t unit_progress = 0;  // UnitProgress bits
  std::array<regs::Eu, 2> held = {regs::Eu::None, regs::Eu::None};  // primary and secondary unit it holds (unit codes, MDEU-A for both MDEUs)
  bool halted = false;
  BusAddr cdpr = 0;
  uint32_t ff_high = 0;
  alignas(64) std::array<uint8_t, 64> descriptor{};  // aligned: it is stored whole and read word by word at once
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

  enum UnitProgress : uint16_t {
    kRequesting = 0x1,  // the primary unit: CCPSR PR, PG, PRD, PD
    kGranted = 0x2,
    kResetDone = 0x4,
    kDone = 0x8,
    kRequesting2 = 0x10,  // the secondary one: SR, SG, SRD, SD
    kGranted2 = 0x20,
    kResetDone2 = 0x40,
    kDone2 = 0x80,
    kInSnoop = 0x100,   // MI
    kOutSnoop = 0x200,  // MO
    kStatic = 0x400,    // STAT (SEC 1): the units had been assigned to the channel before
  };
};

}  // namespace sec::hw
