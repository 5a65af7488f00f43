// Sequences of register accesses and of time, on any part and both executors: nothing crashes or hangs, and looking
// (peek32) changes nothing.
#include <memory>

#include "hw/core/functional.h"
#include "hw/regs/map.h"
#include "hw/timing/timed_engine.h"
#include "tests/fuzz/input.h"

namespace {

using namespace sec;
using namespace sec::test;

constexpr BusAddr kBase = 0x10'0000;
constexpr size_t kArena = 0x4000;

uint32_t offset(FuzzInput& in, const regs::Part& part) {
  switch (in.below(5)) {
    case 0:  // controller
      return 0x1000 + 4 * in.below(64);
    case 1:  // a channel
      return regs::channel_base(part, in.below(part.channels)) + 4 * in.below(64);
    case 2: {  // a unit
      static constexpr regs::Eu units[] = {regs::Eu::Afeu, regs::Eu::Deu, regs::Eu::MdeuA, regs::Eu::Rngu, regs::Eu::Pkeu,
                                           regs::Eu::Aesu, regs::Eu::Keu, regs::Eu::Crcu, regs::Eu::Steu};
      const uint32_t base = regs::eu_base(part, units[in.below(std::size(units))]);
      static constexpr uint32_t places[] = {0x0, 0x0, 0x8, 0x10, 0x18, 0x28, 0x30, 0x38, 0x40, 0x50, 0x100, 0x110, 0x200, 0x400, 0x408, 0x800, 0x800, 0x800};
      return base + places[in.below(std::size(places))] + 4 * in.below(8);
    }
    default:
      return in.u32() % 0x20000 & ~3u;
  }
}
uint32_t value(FuzzInput& in) {
  switch (in.below(4)) {
    case 0:
      return in.u32();
    case 1:
      return 1u << in.below(32);
    case 2:
      return static_cast<uint32_t>(kBase + 64 * in.below(kArena / 64));
    default:
      return in.u8();
  }
}

template <class E>
void drive(FuzzInput& in, const regs::Part& part, hw::MemoryMap& map, const std::function<void(E&, uint32_t)>& pass) {
  hw::Timing timing = hw::Timing::for_part(part);
  timing.watchdog_clocks = 1000;
  auto engine = std::make_unique<E>(part, timing, map);
  E& e = *engine;
  for (unsigned i = 0; i < 400 && !in.empty(); ++i) {
    const uint8_t op = in.u8();
    const uint32_t at = offset(in, part);
    if (op & 1) {
      e.write32(at, value(in));
    } else {
      const uint32_t seen = e.peek32(at);
      if (e.peek32(at) != seen) fuzz_failure("looking at a register twice gave two values");
      e.read32(at);
    }
    if (op & 0x80) pass(e, uint32_t{in.u8()} << (op >> 1 & 7));
  }
  pass(e, 100'000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput in(data, size);
  const regs::Part& part = regs::kParts[in.below(std::size(regs::kParts))];
  const bool timed = in.u8() & 1;
  auto arena = std::make_unique<uint8_t[]>(kArena);
  fill_noise(arena.get(), kArena, size);
  hw::MemoryMap map;
  map.add_region(kBase, kArena, arena.get());
  if (!timed) {
    drive<hw::FunctionalEngine>(in, part, map, [](hw::FunctionalEngine&, uint32_t) {});
  } else {
    uint64_t limit = 0;
    drive<hw::TimedEngine>(in, part, map, [&](hw::TimedEngine& e, uint32_t clocks) {
      limit += clocks;
      unsigned rounds = 0;
      while (e.run(limit))
        if (++rounds > 100'000) fuzz_failure("100000 things became visible in one run");
      e.set_now(limit);
      if (e.next_visible() <= limit && e.busy()) {
        // A bound that lies in the past would let the outside spin.
        fuzz_failure("the bound of the next interrupt lies in the past");
      }
    });
  }
  return 0;
}
