#include "hw/core/engine.h"

#include <algorithm>

#include "common/diag.h"
#include "hw/eu/units.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/map.h"
#include "hw/regs/units.h"

namespace sec::hw {
namespace {
using namespace regs;
constexpr uint32_t hi_mask(uint64_t m) { return static_cast<uint32_t>(m >> 32); }
constexpr uint32_t lo_mask(uint64_t m) { return static_cast<uint32_t>(m); }

constexpr uint32_t kR = hi_mask(kCCCR.mask("R")), kCon = hi_mask(kCCCR.mask("CON"));
constexpr uint32_t kR1 = lo_mask(kCCCR1.mask("R"));
constexpr uint32_t kCdie = lo_mask(kCCCR.mask("CDIE"));
constexpr uint32_t kRca[4] = {hi_mask(kMCR.mask("RCA0")), hi_mask(kMCR.mask("RCA1")), hi_mask(kMCR.mask("RCA2")),
                              hi_mask(kMCR.mask("RCA3"))};
constexpr uint32_t kConfigBits = lo_mask(kCCCR.mask("WGN") | kCCCR.mask("BS") | kCCCR.mask("IWSE") | kCCCR.mask("EAE") |
                                         kCCCR.mask("CDWE") | kCCCR.mask("AWSE") | kCCCR.mask("NT") | kCCCR.mask("CDIE"));
constexpr uint32_t kConfigBits1 =
    lo_mask(kCCCR1.mask("BURST") | kCCCR1.mask("CDWE") | kCCCR1.mask("NE") | kCCCR1.mask("NT") | kCCCR1.mask("CDIE"));
constexpr uint32_t kPriorityCounts = hi_mask(kMCR.mask("EU_COUNT_CH2") | kMCR.mask("EU_COUNT_CH3") |
                                             kMCR.mask("BUS_COUNT_CH2") | kMCR.mask("BUS_COUNT_CH3"));
constexpr uint32_t kRemaps = kRca[0] | kRca[1] | kRca[2] | kRca[3];
constexpr uint64_t kIto = kISR.mask("ITO"), kAerr = kISR1.mask("AERR");
constexpr unsigned kSlaveTimeout = 16;  // SEC clocks [MOC][T23]
constexpr uint32_t kAe = lo_mask(eu_error::kAe);
uint64_t all_fields(const Register& r) {
  uint64_t m = 0;
  for (const Field& f : r.fields) m |= f.mask();
  return m;
}
namespace err = regs::channel_error;
constexpr uint32_t kOverflows = err::kDof | err::kSof;
}  // namespace

Engine::Engine(const Part& part, const Timing& timing, MemoryMap& memory)
    : part_(part), timing_(timing), clocks_(timing), memory_(memory) {
  SEC_CHECK(part.channels <= kMaxChannels, "channels of the part");
  inject_.fill(~uint64_t{0});
  const Generation g = part.generation;
  for (unsigned code = 1; code < units_.size(); ++code) {
    const auto eu = static_cast<Eu>(code);
    if (!part.has(eu) || regs::unit_index(eu) != code) continue;
    units_[code] = make_unit(eu, part, timing_);
    unit_base_[code] = eu_base(part, eu);
    unit_done_[code] = unit_done_irq(g, eu);
  }
  for (unsigned n = 0; n < part.channels; ++n) done_bit_[n] = regs::channel_done(g, n);
  interrupt_bits_ = all_fields(isr_of(g));
  imr_polarity_ = part.sec1() ? interrupt_bits_ : 0;
  imr_ = imr_of(g).reset;
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
    if (unit_index(eu) >= units_.size() || !part_.has(eu) || !unit(eu)) return static_cast<uint32_t>(err::bad_unit(part_.generation));
  }
  return 0;
}

void Engine::channel_done(unsigned n, bool notify) {
  ++finished_;
  ++counters_.descriptors;
  ++counters_.channel_descriptors[n];
  if (observer_) [[unlikely]] observer_->descriptor_end(now(), n, channels_[n].cdpr, 0);
  if (!notify || !(channels_[n].config & kCdie)) return;
  if (done_count_[n] == part_.stored_dones())
    latched_ |= regs::channel_overflow(part_.generation, n);
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
  latched_ |= channel_error_irq(part_.generation, n);
  if (error_bits & err::kMdte) latched_ |= transfer_error_irq(part_.generation);
  update_lines();
}

void Engine::channel_warns(unsigned n, uint32_t error_bits) {
  ++counters_.errors;
  channels_[n].errors |= error_bits;
  latched_ |= channel_error_irq(n);
  update_lines();
}

uint64_t Engine::isr() const {
  uint64_t v = latched_;
  for (unsigned n = 0; n < part_.channels; ++n)
    if (done_count_[n]) v |= done_bit_[n];
  // A unit's own bits show in slave mode only; while a channel holds it, the channel reports (ASSUMED).
  for (uint32_t left = touched_; left; left &= left - 1) {
    const auto code = static_cast<unsigned>(__builtin_ctz(left));
    const ExecutionUnit& u = *units_[code];
    if (u.owned_by_channel()) continue;
    if (u.error_pending()) v |= unit_done_[code] << 1;  // the error bit is the next one
    if (u.done_pending()) v |= unit_done_[code];
  }
  return v;
}

void Engine::update_lines() {
  const uint64_t on = enabled();
  const uint64_t pending = on ? isr() & on : 0;
  uint32_t up = 0;
  if (pending) {
    uint64_t second = 0;
    if (part_.interrupts > 1 && mcr_ & kRemaps)
      for (unsigned n = 0; n < part_.channels; ++n)
        if (mcr_ & kRca[n]) second |= channel_irqs(part_.generation, n);
    up = (pending & ~second ? 1u : 0u) | (pending & second ? 2u : 0u);
  }
  if (drop_ | lost_) [[unlikely]] {  // a test takes interrupts away
    lost_ &= up;
    for (uint32_t line = 1; line <= 2; line <<= 1)
      if (up & ~lines_ & ~lost_ & line && drop_) --drop_, lost_ |= line;
    up &= ~lost_;
  }
  if (up != lines_) {
    lines_ = up;
    if (observer_) [[unlikely]] observer_->lines(now(), up);
  }
}

// ---- registers ----

bool Engine::find_channel(uint32_t offset, unsigned& n, uint32_t& reg) const {
  if (part_.sec1()) {
    n = (offset >> 12) - 2;  // below 0x2000: far too large
    reg = offset & 0xfff;
    return n < part_.channels && reg < kChannelBytes;
  }
  const bool alias = offset < kControllerBase;
  const uint32_t base = alias ? kChannelAliasBase(0) : kChannelBase(0);
  if (offset < base || offset >= base + kChannelBytes * part_.channels) return false;
  n = (offset - base) / kChannelBytes;
  reg = (offset - base) % kChannelBytes;
  // A channel answers on one page only: the alternate one when it is remapped.
  const bool remapped = mcr_ & kRca[n];
  return alias == remapped;
}

bool Engine::find_unit(uint32_t offset, unsigned& code, uint32_t& reg) const {
  for (code = 1; code < units_.size(); ++code)
    if (units_[code] && offset - unit_base_[code] < kEuBytes) {
      reg = offset - unit_base_[code];
      return true;
    }
  return false;
}

void Engine::reserved(std::string_view what) {
  note(what);
  // An access that nobody answers is ended after 16 clocks. SEC 1 has no bit for it.
  if (timing_.strict_reserved != 0 && !part_.sec1()) latched_ |= kIto;
}

void Engine::write32(uint32_t offset, uint32_t value) {
  unsigned n;
  uint32_t reg;
  const bool low = offset & 4;
  if (find_channel(offset, n, reg)) {
    write_channel(n, reg & ~7u, low, value);
    return;
  }
  if (offset >= kControllerBase && offset < kControllerBase + kControllerBytes)
    write_controller((offset - kControllerBase) & ~7u, low, value);
  else if (find_unit(offset, n, reg))
    write_unit(n, reg, value);
  else
    reserved("write to a reserved or unmodelled register");
  update_lines();
}

uint32_t Engine::read32(uint32_t offset, bool peek) {
  unsigned n;
  uint32_t reg;
  const bool low = offset & 4;
  auto half = [&](uint64_t v) { return static_cast<uint32_t>(low ? v : v >> 32); };
  if (find_channel(offset, n, reg)) return read_channel(n, reg & ~7u, low, peek);
  if (offset >= kControllerBase && offset < kControllerBase + kControllerBytes)
    return read_controller((offset - kControllerBase) & ~7u, low, peek);
  if (has_ip_block_revision(part_) && (offset & ~7u) == kIpBlockRevision) return half(part_.ip_block_revision);
  if (has_polychannel(part_) && offset >= kPolychannelBase && offset < kPolychannelBase + kPolychannelBytes) {
    switch ((offset - kPolychannelBase) & ~7u) {
      case 0x00: return half(enqueued_);
      case 0x08: return half(finished_);
      case 0x10: return half(counters_.bytes_in - bytes_in_base_);
      default: return half(counters_.bytes_out - bytes_out_base_);
    }
  }
  if (find_unit(offset, n, reg)) {
    const uint32_t v = read_unit(n, reg, peek);
    if (!peek) update_lines();  // reading too early or too much is an error of the unit
    return v;
  }
  if (!peek) {
    reserved("read of a reserved or unmodelled register");
    update_lines();
  }
  return 0;
}

// ---- controller ----

void Engine::write_controller(uint32_t reg, bool low, uint32_t value) {
  const uint64_t v = low ? value : uint64_t{value} << 32;
  const uint64_t half = low ? 0xffffffffu : ~uint64_t{0xffffffffu};
  if (reg == kIMR.offset_bytes) {
    imr_ = ((imr_ & ~half) | v) & interrupt_bits_;
  } else if (reg == kICR.offset_bytes) {
    for (unsigned c = 0; c < part_.channels; ++c)
      if (v & done_bit_[c] && done_count_[c]) --done_count_[c];
    latched_ &= ~v;
  } else if (reg == kMCR.offset_bytes) {
    if (low) return;
    if (value & hi_mask(master_reset(part_.generation)))
      global_reset();
    else if (part_.sec1())
      mcr_ = value & hi_mask(kMCR1.mask("GI"));
    else
      mcr_ = value & (hi_mask(kMCR.mask("PRIORITY") | kMCR.mask("GI")) | (part_.sec3() ? kRemaps : 0) |
                      (part_.icv_writeback ? kPriorityCounts : 0));
  } else if (part_.sec1() && reg == kEUACR1.offset_bytes) {
    write_assignment((euacr_ & ~half) | v);
  } else if (reg != kISR.offset_bytes && reg != kID.offset_bytes && reg != kEUASR.offset_bytes &&
             !(part_.sec1() && reg == kMEAR.offset_bytes)) {
    reserved("write to a reserved register");
  }
}

uint32_t Engine::read_controller(uint32_t reg, bool low, bool peek) {
  auto half = [&](uint64_t v) { return static_cast<uint32_t>(low ? v : v >> 32); };
  if (reg == kIMR.offset_bytes) return half(imr_);
  if (reg == kISR.offset_bytes) return half(isr());
  if (reg == kID.offset_bytes) return half(part_.id);
  if (reg == kMCR.offset_bytes) return low ? 0 : mcr_;
  if (reg == kEUASR.offset_bytes) return half(assignment_status());
  if (part_.sec1() && reg == kEUACR1.offset_bytes) return half(euacr_);
  if (part_.sec1() && reg == kMEAR.offset_bytes) return low ? 0 : mear_;
  if (reg == kICR.offset_bytes) return 0;  // write only
  if (!peek) {
    reserved("read of a reserved register");
    update_lines();
  }
  return 0;
}

uint64_t Engine::assignment_status() const {
  uint64_t v = euacr_;
  for (unsigned c = 0; c < part_.channels; ++c)
    for (const Eu held : channels_[c].held)
      if (const int shift = assignment_shift(part_.generation, held); shift >= 0)
        v = (v & ~(uint64_t{0xf} << shift)) | uint64_t{c + 1} << shift;
  return v;
}

void Engine::write_assignment(uint64_t value) {
  // ASSUMED: a unit that another channel is using, or a channel that does not exist, is an assignment error, and that unit's
  // assignment stays as it was.
  for (unsigned code = 1; code < units_.size(); ++code) {
    const auto eu = static_cast<Eu>(code);
    const int shift = assignment_shift(part_.generation, eu);
    if (shift < 0 || !units_[code]) continue;
    const uint64_t nibble = uint64_t{0xf} << shift;
    const auto wanted = static_cast<unsigned>(value >> shift & 0xf), holder = static_cast<unsigned>(
        [&] { for (unsigned c = 0; c < part_.channels; ++c) for (const Eu h : channels_[c].held) if (h == eu) return c + 1; return 0u; }());
    if (wanted > part_.channels || (wanted && holder && holder != wanted))
      latched_ |= kAerr;
    else
      euacr_ = (euacr_ & ~nibble) | (value & nibble);
  }
}

// ---- units ----

void Engine::write_unit(unsigned code, uint32_t reg, uint32_t value) {
  ExecutionUnit& u = *units_[code];
  if (timing_.unit_access_clocks > kSlaveTimeout && !part_.sec1()) {
    latched_ |= kIto;
    return;
  }
  touched_ |= 1u << code;
  u.set_now(now(), timed());
  if (part_.sec1() && reg < kEuControlBytes)
    u.write32(reg ^ 4, swap_bytes(value));
  else
    u.write32(reg, value);
}

uint32_t Engine::read_unit(unsigned code, uint32_t reg, bool peek) {
  ExecutionUnit& u = *units_[code];
  if (timing_.unit_access_clocks > kSlaveTimeout && !part_.sec1()) {
    if (!peek) latched_ |= kIto;
    return 0;
  }
  u.set_now(now(), timed());
  if (!peek) touched_ |= 1u << code;
  if (!peek && timing_.strict_reserved != 0 && !eu_has_register(static_cast<Eu>(code), reg)) u.raise(kAe);
  if (part_.sec1() && reg < kEuControlBytes) return swap_bytes(u.read32(reg ^ 4, peek));
  return u.read32(reg, peek);
}

// ---- channels ----

void Engine::write_channel(unsigned n, uint32_t reg, bool low, uint32_t value) {
  ChannelState& c = channels_[n];
  if (reg == kFF.offset_bytes) {
    if (low)
      enqueue(n, translate(n, uint64_t{c.ff_high & 0xf} << 32 | value));
    else
      c.ff_high = value;
  } else if (reg == kCCCR.offset_bytes) {
    if (part_.sec1()) {
      if (!low) return;
      if (value & kR1)
        reset_channel(n, false);
      else
        c.config = value & kConfigBits1;
    } else if (low) {
      c.config = value & kConfigBits;
      if (!part_.icv_writeback) c.config &= ~lo_mask(kCCCR.mask("IWSE"));
      if (!part_.sec3()) c.config &= ~lo_mask(kCCCR.mask("WGN"));
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
  const bool sec1 = part_.sec1();
  if (reg == kCCCR.offset_bytes) return low ? c.config : 0;
  if (reg == kCDPR.offset_bytes) return low ? static_cast<uint32_t>(c.cdpr) : static_cast<uint32_t>(c.cdpr >> 32);
  if (reg == kCCPSR.offset_bytes) {
    const auto state = static_cast<uint32_t>(c.state);
    const uint32_t level = std::min(c.fifo_level, 31u) << 24;
    const bool sec3 = part_.generation == Generation::Sec3;
    if (!low) return sec1 || sec3 ? state : level | state;
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
    if (sec1 && c.unit_progress & ChannelState::kStatic) v |= lo_mask(kCCPSR1.mask("STAT"));
    return v;
  }
  const uint32_t at = reg + (low ? 4 : 0);
  if (at >= kDescriptorBuffer.offset_bytes && at < kDescriptorBuffer.offset_bytes + 64)
    return load_be32(c.descriptor.data() + (at - kDescriptorBuffer.offset_bytes));
  if (!sec1 && at >= kGatherTable.offset_bytes && at < kGatherTable.offset_bytes + 32)
    return load_be32(c.gather.data() + (at - kGatherTable.offset_bytes));
  if (!sec1 && at >= kScatterTable.offset_bytes && at < kScatterTable.offset_bytes + 32)
    return load_be32(c.scatter.data() + (at - kScatterTable.offset_bytes));
  if (!peek) note("read of a write-only or reserved channel register");
  return 0;
}

void Engine::enqueue(unsigned n, BusAddr at) {
  ChannelState& c = channels_[n];
  if (part_.sec1() && (at == 0 || c.fifo_level)) {
    // ASSUMED: address 0 starts nothing, as it ends a chain; and a register that is written again holds the later value.
    note(at ? "Fetch Register written again before it was taken" : "Fetch Register written with zero");
    if (at) c.fifo[c.fifo_head] = at;
    return;
  }
  if (c.fifo_level >= part_.fetch_fifo_entries) {
    // The pointer is dropped. A second loss while the first is still flagged halts the channel [USP].
    const bool again = c.errors & err::kSof;
    c.errors |= again ? err::kDof : err::kSof;
    ++counters_.errors;
    latched_ |= channel_error_irq(part_.generation, n);
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
  imr_ = imr_of(part_.generation).reset;
  mcr_ = 0;
  euacr_ = 0;
  touched_ = 0;
  mear_ = 0;
  mear_valid_ = false;
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
