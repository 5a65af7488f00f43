#include "hw/core/engine.h"

#include <algorithm>

#include "common/diag.h"
#include "hw/eu/units.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/map.h"

namespace sec::hw {
namespace {
using namespace regs;
constexpr uint32_t hi_mask(uint64_t m) { return static_cast<uint32_t>(m >> 32); }
constexpr uint32_t lo_mask(uint64_t m) { return static_cast<uint32_t>(m); }

constexpr uint32_t kR = hi_mask(kCCCR.mask("R")), kCon = hi_mask(kCCCR.mask("CON"));
constexpr uint32_t kCdie = lo_mask(kCCCR.mask("CDIE"));
constexpr uint32_t kSwr = hi_mask(kMCR.mask("SWR"));
constexpr uint32_t kRca[4] = {hi_mask(kMCR.mask("RCA0")), hi_mask(kMCR.mask("RCA1")), hi_mask(kMCR.mask("RCA2")),
                              hi_mask(kMCR.mask("RCA3"))};
constexpr uint32_t kConfigBits = lo_mask(kCCCR.mask("WGN") | kCCCR.mask("BS") | kCCCR.mask("IWSE") | kCCCR.mask("EAE") |
                                         kCCCR.mask("CDWE") | kCCCR.mask("AWSE") | kCCCR.mask("NT") | kCCCR.mask("CDIE"));
constexpr uint64_t kImplementedInterrupts = [] {
  uint64_t m = 0;
  for (const Field& f : kISR.fields) m |= f.mask();
  return m;
}();
constexpr uint64_t kStoredDones = 15;
namespace err = regs::channel_error;
constexpr uint32_t kOverflows = err::kDof | err::kSof;
}  // namespace

Engine::Engine(const Part& part, const Timing& timing, MemoryMap& memory)
    : part_(part), timing_(timing), clocks_(timing), memory_(memory) {
  SEC_CHECK(part.channels <= kMaxChannels, "channels of the part");
  inject_.fill(~uint64_t{0});
  for (unsigned code = 1; code < units_.size(); ++code)
    if (part.has(static_cast<Eu>(code)) && regs::unit_index(static_cast<Eu>(code)) == code)
      units_[code] = make_unit(static_cast<Eu>(code), part, timing_);
}
Engine::~Engine() = default;

void Engine::replace_unit(std::unique_ptr<ExecutionUnit> u) {
  const auto code = regs::unit_index(u->code());
  SEC_CHECK(units_[code], "replaces a unit that the part does not have");
  units_[code] = std::move(u);
}

// ---- descriptor engine side ----

void Engine::begin_descriptor(unsigned n, BusAddr at) {
  ChannelState& c = channels_[n];
  // Error bits fall at the start of a new descriptor [T23]; overflows stay until the driver has dealt with them (ASSUMED).
  c.errors &= kOverflows;
  c.cdpr = at;
  c.unit_progress = 0;
  c.pair_ptr = 0;
  was_reset_ = false;
  if (observer_) [[unlikely]] observer_->channel_descriptor(now(), n, at, c.fifo_level);
}

uint32_t Engine::check_header(uint32_t header, Decoded& d) {
  d.word = HeaderWord::decode(header);
  const HeaderWord& h = d.word;
  d.primary = static_cast<Eu>(h.sel0);
  d.secondary = static_cast<Eu>(h.sel1);
  // Types first, then what the type allows, then what the part has. A pair without the unit that it is named for, a hash
  // as primary unit of a pair, and one unit for both are all illegal headers (ASSUMED).
  if (header == 0 || !part_.has_type(h.type) || h.sel0 == 0) return err::kIdh;
  const Layout* const l = layout_for(h);
  if (!l || !(l->primary >> h.sel0 & 1)) return err::kIdh;
  if (l->secondary ? !(l->secondary >> h.sel1 & 1) : h.sel1 != 0) return err::kIdh;
  if (unit_index(d.primary) == unit_index(d.secondary)) return err::kIdh;
  d.layout = l;
  for (const Eu eu : {d.primary, d.secondary}) {
    if (eu == Eu::None) continue;
    if (unit_index(eu) >= units_.size() || !part_.has(eu)) return err::kIeu;
    if (!unit(eu)) [[unlikely]] {
      note("execution unit not modelled: " + std::to_string(static_cast<unsigned>(eu)));
      return err::kIeu;
    }
  }
  return 0;
}

void Engine::channel_done(unsigned n, bool notify) {
  ++finished_;
  ++counters_.descriptors;
  ++counters_.channel_descriptors[n];
  if (observer_) [[unlikely]] observer_->descriptor_end(now(), n, channels_[n].cdpr, 0);
  if (!notify || !(channels_[n].config & kCdie)) return;
  if (done_count_[n] == kStoredDones)
    latched_ |= regs::channel_overflow(n);
  else
    ++done_count_[n];
  update_lines();
}

void Engine::channel_failed(unsigned n, uint32_t error_bits) {
  ChannelState& c = channels_[n];
  ++counters_.errors;
  c.errors |= error_bits;
  c.halted = true;
  if (observer_) [[unlikely]] observer_->descriptor_end(now(), n, c.cdpr, error_bits);
  latched_ |= channel_error_irq(n);
  update_lines();
}

uint64_t Engine::isr() const {
  uint64_t v = latched_;
  for (unsigned n = 0; n < part_.channels; ++n)
    if (done_count_[n]) v |= regs::channel_done(n);
  // A unit's own bits show in slave mode only; while a channel holds it, the channel reports (ASSUMED).
  constexpr struct {
    Eu unit;
    uint64_t done, error;
  } kUnitBits[] = {{Eu::Aesu, kISR.mask("AESU_DONE"), kISR.mask("AESU_ERROR")}, {Eu::Deu, kISR.mask("DEU_DONE"), kISR.mask("DEU_ERROR")}};
  for (const auto& b : kUnitBits) {
    const ExecutionUnit* u = units_[static_cast<size_t>(b.unit)].get();
    if (!u || u->owned_by_channel()) continue;
    if (u->error_pending()) v |= b.error;
    if (u->done_pending()) v |= b.done;
  }
  return v;
}

void Engine::update_lines() {
  const uint64_t pending = imr_ ? isr() & imr_ : 0;
  uint32_t up = 0;
  if (pending) {
    uint64_t second = 0;
    for (unsigned n = 0; n < part_.channels; ++n)
      if (part_.interrupts > 1 && mcr_ & kRca[n]) second |= regs::channel_done(n) | channel_error_irq(n) | channel_overflow(n);
    up = (pending & ~second ? 1u : 0u) | (pending & second ? 2u : 0u);
  }
  if (up != lines_) {
    lines_ = up;
    if (observer_) [[unlikely]] observer_->lines(now(), up);
  }
}

// ---- registers ----

bool Engine::find_channel(uint32_t offset, unsigned& n, uint32_t& reg) const {
  const bool alias = offset < kControllerBase;
  const uint32_t base = alias ? kChannelAliasBase(0) : kChannelBase(0);
  if (offset < base || offset >= base + 0x100 * part_.channels) return false;
  n = (offset - base) / 0x100;
  reg = (offset - base) % 0x100;
  // A channel answers on one page only: the alternate one when it is remapped.
  const bool remapped = mcr_ & kRca[n];
  return alias == remapped;
}

ExecutionUnit* Engine::find_unit(uint32_t offset, uint32_t& reg) {
  for (const auto& u : units_)
    if (u && offset >= u->window_base() && offset < u->window_base() + 0x1000) {
      reg = offset - u->window_base();
      return u.get();
    }
  return nullptr;
}

void Engine::write32(uint32_t offset, uint32_t value) {
  unsigned n;
  uint32_t reg;
  const bool low = offset & 4;
  if (find_channel(offset, n, reg)) return write_channel(n, reg & ~7u, low, value);
  if (offset >= kControllerBase && offset < kControllerBase + 0x100) {
    reg = (offset - kControllerBase) & ~7u;
    const uint64_t v = low ? value : uint64_t{value} << 32;
    const uint64_t half = low ? 0xffffffffu : ~uint64_t{0xffffffffu};
    if (reg == kIMR.offset_bytes) {
      imr_ = ((imr_ & ~half) | v) & kImplementedInterrupts;
    } else if (reg == kICR.offset_bytes) {
      for (unsigned c = 0; c < part_.channels; ++c)
        if (v & regs::channel_done(c) && done_count_[c]) --done_count_[c];
      latched_ &= ~v;
    } else if (reg == kMCR.offset_bytes) {
      if (low) return;
      if (value & kSwr) {
        global_reset();
      } else {
        mcr_ = value & (part_.generation == Generation::Sec3 ? 0xf303u : 0x0303u);
      }
    } else if (reg != kISR.offset_bytes && reg != kID.offset_bytes && reg != kEUASR.offset_bytes) {
      note("write to a reserved register");
    }
    update_lines();
    return;
  }
  if (ExecutionUnit* u = find_unit(offset, reg)) {
    u->write32(reg, value);
    update_lines();
    return;
  }
  note("write to a reserved or unmodelled register");
}

uint32_t Engine::read32(uint32_t offset, bool peek) {
  unsigned n;
  uint32_t reg;
  const bool low = offset & 4;
  auto half = [&](uint64_t v) { return static_cast<uint32_t>(low ? v : v >> 32); };
  if (find_channel(offset, n, reg)) return read_channel(n, reg & ~7u, low, peek);
  if (offset >= kControllerBase && offset < kControllerBase + 0x100) {
    reg = (offset - kControllerBase) & ~7u;
    if (reg == kIMR.offset_bytes) return half(imr_);
    if (reg == kISR.offset_bytes) return half(isr());
    if (reg == kID.offset_bytes) return half(part_.id);
    if (reg == kMCR.offset_bytes) return low ? 0 : mcr_;
    if (reg == kEUASR.offset_bytes) {
      uint64_t v = 0;
      for (unsigned c = 0; c < part_.channels; ++c) {
        const ChannelState& ch = channels_[c];
        constexpr struct {
          Eu unit;
          const Field& field;
        } kFields[] = {{Eu::Afeu, kEUASR.field("AFEU")}, {Eu::MdeuA, kEUASR.field("MDEU")}, {Eu::Aesu, kEUASR.field("AESU")},
                       {Eu::Deu, kEUASR.field("DEU")},   {Eu::Crcu, kEUASR.field("CRCU")},  {Eu::Keu, kEUASR.field("KEU")},
                       {Eu::Steu, kEUASR.field("STEU")}, {Eu::Pkeu, kEUASR.field("PKEU")},  {Eu::Rngu, kEUASR.field("RNGU")}};
        for (const Eu held : ch.held)
          for (const auto& f : kFields)
            if (f.unit == held) v |= f.field.put(c + 1);
      }
      return half(v);
    }
    if (!peek) note("read of a reserved register");
    return 0;
  }
  if ((offset & ~7u) == kIpBlockRevision) return half(part_.ip_block_revision);
  if (part_.generation == Generation::Sec3 && offset >= kPolychannelBase && offset < kPolychannelBase + 0x20) {
    switch ((offset - kPolychannelBase) & ~7u) {
      case 0x00: return half(enqueued_);
      case 0x08: return half(finished_);
      case 0x10: return half(counters_.bytes_in - bytes_in_base_);
      default: return half(counters_.bytes_out - bytes_out_base_);
    }
  }
  if (ExecutionUnit* u = find_unit(offset, reg)) {
    const uint32_t v = u->read32(reg, peek);
    if (!peek) update_lines();  // reading too early or too much is an error of the unit
    return v;
  }
  if (!peek) note("read of a reserved or unmodelled register");
  return 0;
}

void Engine::write_channel(unsigned n, uint32_t reg, bool low, uint32_t value) {
  ChannelState& c = channels_[n];
  if (reg == kFF.offset_bytes) {
    if (low)
      enqueue(n, translate(n, uint64_t{c.ff_high & 0xf} << 32 | value));
    else
      c.ff_high = value;
  } else if (reg == kCCCR.offset_bytes) {
    if (low) {
      c.config = value & kConfigBits;
      if (!part_.icv_writeback) c.config &= ~lo_mask(kCCCR.mask("IWSE"));
    } else if (value & kR) {
      reset_channel(n, false);
    } else if (value & kCon) {
      reset_channel(n, true);
    }
  } else if (reg == kCCPSR.offset_bytes && low && part_.generation == Generation::Sec3) {
    c.errors &= ~(value & kOverflows);  // write 1 to clear [USP]
  } else {
    note("write to a read-only or reserved channel register");
  }
}

uint32_t Engine::read_channel(unsigned n, uint32_t reg, bool low, bool peek) {
  const ChannelState& c = channels_[n];
  if (reg == kCCCR.offset_bytes) return low ? c.config : 0;
  if (reg == kCDPR.offset_bytes) return low ? static_cast<uint32_t>(c.cdpr) : static_cast<uint32_t>(c.cdpr >> 32);
  if (reg == kCCPSR.offset_bytes) {
    const auto state = static_cast<uint32_t>(c.state);
    const uint32_t level = std::min(c.fifo_level, 31u) << 24;
    const bool sec3 = part_.generation == Generation::Sec3;
    if (!low) return sec3 ? state : level | state;
    uint32_t v = c.errors | c.pair_ptr;
    if (sec3) v |= level;
    constexpr struct {
      uint16_t progress;
      bool sec3;
      uint32_t bit;
    } kBits[] = {{ChannelState::kRequesting, false, lo_mask(kCCPSR.mask("PR"))},  {ChannelState::kRequesting2, false, lo_mask(kCCPSR.mask("SR"))},
                 {ChannelState::kGranted, false, lo_mask(kCCPSR.mask("PG"))},     {ChannelState::kGranted2, false, lo_mask(kCCPSR.mask("SG"))},
                 {ChannelState::kInSnoop, false, lo_mask(kCCPSR.mask("MI"))},     {ChannelState::kOutSnoop, false, lo_mask(kCCPSR.mask("MO"))},
                 {ChannelState::kResetDone, true, lo_mask(kCCPSR.mask("PRD"))},   {ChannelState::kResetDone2, true, lo_mask(kCCPSR.mask("SRD"))},
                 {ChannelState::kDone, true, lo_mask(kCCPSR.mask("PD"))},         {ChannelState::kDone2, true, lo_mask(kCCPSR.mask("SD"))}};
    for (const auto& b : kBits)
      if (c.unit_progress & b.progress && (b.sec3 || !sec3)) v |= b.bit;
    return v;
  }
  const uint32_t at = reg + (low ? 4 : 0);
  if (at >= kDescriptorBuffer.offset_bytes && at < kDescriptorBuffer.offset_bytes + 64)
    return load_be32(c.descriptor.data() + (at - kDescriptorBuffer.offset_bytes));
  if (at >= kGatherTable.offset_bytes && at < kGatherTable.offset_bytes + 32)
    return load_be32(c.gather.data() + (at - kGatherTable.offset_bytes));
  if (at >= kScatterTable.offset_bytes && at < kScatterTable.offset_bytes + 32)
    return load_be32(c.scatter.data() + (at - kScatterTable.offset_bytes));
  if (!peek) note("read of a write-only or reserved channel register");
  return 0;
}

void Engine::enqueue(unsigned n, BusAddr at) {
  ChannelState& c = channels_[n];
  if (c.fifo_level >= part_.fetch_fifo_entries) {
    // The pointer is dropped. A second loss while the first is still flagged halts the channel [USP].
    const bool again = c.errors & err::kSof;
    c.errors |= again ? err::kDof : err::kSof;
    ++counters_.errors;
    latched_ |= channel_error_irq(n);
    if (again) {
      abandon(n);
      c.halted = true;
      c.unit_progress = 0;
      set_state(n, regs::ChannelState::Error, now());
    }
    update_lines();
    return;
  }
  ++enqueued_;
  c.push(at);
  if (observer_) [[unlikely]] observer_->fetch_fifo(now(), n, c.fifo_level);
  doorbell(n);
}

void Engine::reset_channel(unsigned n, bool keep) {
  ChannelState& c = channels_[n];
  abandon(n);  // also resets and releases the units it holds [MOC]
  c.errors = 0;
  c.halted = false;
  c.cdpr = 0;
  c.pair_ptr = c.unit_progress = 0;
  if (!keep) {
    c.config = 0;
    c.fifo_level = c.fifo_head = 0;
    c.ff_high = 0;
  }
  c.descriptor.fill(0);
  c.gather.fill(0);
  c.scatter.fill(0);
  set_state(n, regs::ChannelState::Idle, now());
  restart(n);
}

void Engine::global_reset() {
  stop_all();
  for (unsigned n = 0; n < part_.channels; ++n) reset_channel(n, false);
  for (auto& u : units_)
    if (u) u->hard_reset();
  imr_ = 0;
  mcr_ = 0;
  enqueued_ = finished_ = 0;
  bytes_in_base_ = counters_.bytes_in;
  bytes_out_base_ = counters_.bytes_out;
  if (was_reset_) {  // ERRATUM: the first reset leaves stored interrupts
    done_count_.fill(0);
    latched_ = 0;
  }
  was_reset_ = true;
  update_lines();
}

}  // namespace sec::hw
