#include "hw/core/functional.h"

#include "hw/eu/clocked_unit.h"

namespace sec::hw {

FunctionalEngine::FunctionalEngine(const regs::Part& part, const Timing& timing, MemoryMap& memory) : Engine(part, timing, memory) {
  for (unsigned n = 0; n < part.channels; ++n) {
    channel_engines_[n] = std::make_unique<Channel<FunctionalEngine>>(*this, *this, n);
    channel_engines_[n]->start();
  }
}
FunctionalEngine::~FunctionalEngine() {
  stop_all();  // or the unit that one channel gives up would set the next one to work
  for (auto& c : channel_engines_)
    if (c) c->abandon();
}

void FunctionalEngine::abandon(unsigned n) {
  channel_engines_[n]->abandon();
  watchdog();  // of a channel that went on with what this one held
}
void FunctionalEngine::restart(unsigned n) {
  channel_engines_[n]->start();
  watchdog();
}

void FunctionalEngine::release(unsigned, regs::Eu u) {
  const size_t unit = regs::unit_index(u);
  holder_[unit] = -1;
  for (unsigned n = 0; n < part_.channels; ++n) {
    if (waits_for_[n] != static_cast<int>(unit)) continue;
    waits_for_[n] = -1;
    holder_[unit] = static_cast<int>(n);
    std::exchange(stuck_[n], {}).resume();
    return;
  }
}

void FunctionalEngine::watchdog() {
  if (part_.generation != regs::Generation::Sec3) return;
  for (unsigned n = 0; n < part_.channels; ++n) {
    if (!stuck_[n] || !(channels_[n].config & static_cast<uint32_t>(regs::kCCCR.mask("WGN")))) continue;
    if (waits_for_[n] >= 0 && !stuck_[static_cast<size_t>(holder_[static_cast<size_t>(waits_for_[n])])]) continue;
    channel_engines_[n]->fail(regs::channel_error::kWdt);
  }
}

/// A clocked unit is run to the end of its data, clock by clock but outside of time.
FunctionalEngine::Ready FunctionalEngine::stream(unsigned, Stream& s) {
  ClockedUnit* const u = s.unit->clocked();
  if (!u) [[likely]] return {};
  std::vector<uint8_t> in(s.process), out;
  size_t at = 0;
  for (const BusSegment g : *s.in) {
    const size_t n = std::min<size_t>(g.size_bytes, s.process - at);
    if (!n) break;
    std::memcpy(in.data() + at, memory_.at(g.addr, n), n);
    at += n;
  }
  ClockedUnit::Ports p;
  p.out_ready = true;
  size_t taken = 0;
  const uint64_t limit = 1000 + uint64_t{s.process} * 64;  // clocks; a unit that needs more has stopped
  for (uint64_t clock = 0; out.size() < s.process && !p.error; ++clock) {
    if (clock == limit) {
      note("clocked unit stopped answering");
      s.unit_error = static_cast<uint32_t>(regs::kEuInterruptStatus.mask("IE"));
      break;
    }
    p.in = taken < s.process ? in.data() + taken : nullptr;
    p.in_taken = p.out_valid = false;
    u->tick(p);
    if (p.in_taken) {
      if (s.snoop == Snoop::In) s.listener->process(in.data() + taken, nullptr, s.block_bytes);
      taken += s.block_bytes;
    }
    if (p.out_valid && s.snoop == Snoop::Out) s.listener->process(p.out, nullptr, s.block_bytes);
    if (p.out_valid) out.insert(out.end(), p.out, p.out + s.block_bytes);
  }
  if (p.error) s.unit_error = p.error;
  at = 0;
  for (const BusSegment g : *s.out) {
    const size_t n = std::min<size_t>({g.size_bytes, out.size() - at, s.out_ok - at});
    if (!n) break;
    std::memcpy(memory_.at(g.addr, n), out.data() + at, n);
    at += n;
  }
  return {};
}

}  // namespace sec::hw
