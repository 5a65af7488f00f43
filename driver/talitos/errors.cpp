// Reset, channel errors, overflows, time limits: everything of the Device that is not the common way.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "driver/talitos/rng.h"
#include "driver/talitos/talitos.h"
#include "hw/regs/channel.h"
#include "hw/regs/controller.h"
#include "hw/regs/eu_common.h"

namespace sec::driver {
namespace {

constexpr uint32_t hi32(uint64_t v) { return static_cast<uint32_t>(v >> 32); }
constexpr uint32_t lo32(uint64_t v) { return static_cast<uint32_t>(v); }

constexpr uint32_t kMcr = regs::kControllerBase + regs::kMCR.offset_bytes;
constexpr uint32_t kCccr = regs::kCCCR.offset_bytes;
constexpr uint32_t kCcpsr = regs::kCCPSR.offset_bytes;
constexpr uint32_t kSof = lo32(regs::channel_error::kSof);
constexpr uint32_t kDof = lo32(regs::channel_error::kDof);
constexpr uint64_t kPollNs = 100;
constexpr uint8_t kDoneByte = 0xff;

/// Names of the fields that are set, "EU|IDH".
std::string decode(std::span<const regs::Field> fields, uint64_t value) {
  std::string out;
  for (const regs::Field& f : fields) {
    if (!(value & f.mask())) continue;
    if (!out.empty()) out += '|';
    out += f.name;
  }
  return out.empty() ? "none" : out;
}

regs::Eu unit_of(unsigned code) { return static_cast<regs::Eu>(code); }

}  // namespace

// --- Reset ---------------------------------------------------------------------------------------------------------

bool Device::poll_clear(uint32_t offset, uint32_t mask, std::string_view what) {
  for (unsigned i = 0; i < kPollTries; ++i) {
    if (!(platform_.read32(offset) & mask)) return true;
    platform_.relax(kPollNs);
  }
  log(Platform::Level::Error, fmt::format("gave up on {} after {} tries", what, kPollTries));
  return false;
}

Status Device::reset_device() {
  const uint32_t swr = hi32(regs::master_reset(generation_));
  // ERRATUM: one reset leaves some interrupts set. [LX]
  for (int i = 0; i < 2; ++i) {
    platform_.write32(kMcr, swr);
    if (!poll_clear(kMcr, swr, "the engine's reset (MCR[SWR])")) return Status::TimedOut;
  }
  return Status::Ok;
}

Status Device::init_device() {
  if (const Status s = reset_device(); s != Status::Ok) return s;
  if (line_count_ == 2) {
    uint32_t remap = 0;
    for (unsigned i = 1; i < channel_count_; i += 2) remap |= hi32(regs::remap_channel(i));
    platform_.write32(kMcr, remap);
  }
  for (Channel& ch : channels_)
    if (!reset_channel(ch)) return Status::TimedOut;
  if (sec1() && part_.has(regs::Eu::Deu)) {
    // Correct vectors do not have odd parity. [LXc dd3c0987f542]
    const uint32_t mask = regs::eu_base(part_, regs::Eu::Deu) + regs::kEuInterruptControl.offset_bytes;
    platform_.write32(mask, platform_.read32(mask) | hi32(regs::to_sec1(regs::eu_error::kKpe)));
  }
  // A failed integrity check shall show in the write-back, not as an error of the unit. [LX]
  if (!sec1() && (channel_config_ & regs::kCCCR.mask("IWSE")))
    for (const regs::Eu unit : {regs::Eu::MdeuA, regs::Eu::Aesu}) {  // the AESU's as well [USP]
      if (!part_.has(unit)) continue;
      const uint32_t mask = regs::eu_base(part_, unit) + regs::kEuInterruptControl.offset_bytes + 4;
      platform_.write32(mask, platform_.read32(mask) | lo32(regs::eu_error::kIce));
    }
  return Status::Ok;
}

bool Device::reset_channel(Channel& ch) {
  const uint64_t bit = regs::channel_reset(generation_);
  const uint32_t reg = ch.base + kCccr + (hi32(bit) ? 0 : 4), r = hi32(bit) | lo32(bit);
  platform_.write32(reg, r);
  const bool ok = poll_clear(reg, r, fmt::format("the reset of channel {} (CCCR[R])", ch.index));
  configure_channel(ch);
  return ok;
}

void Device::configure_channel(Channel& ch) { platform_.write32(ch.base + kCccr + 4, channel_config_); }

/// FIFO empty and all state machines at rest. [FB]
bool Device::channel_idle(const Channel& ch) {
  const uint32_t hi = platform_.read32(ch.base + kCcpsr), lo = platform_.read32(ch.base + kCcpsr + 4);
  if (generation_ == regs::Generation::Sec3) {
    constexpr uint64_t kBusy = regs::kCCPSR3.mask("GET_STATE") | regs::kCCPSR3.mask("PUT_STATE") |
                               regs::kCCPSR3.mask("MAIN_STATE") | regs::kCCPSR3.mask("FF_LEVEL");
    return !((uint64_t{hi} << 32 | lo) & kBusy);
  }
  constexpr uint64_t kBusy = regs::kCCPSR.mask("GET_STATE") | regs::kCCPSR.mask("PUT_STATE") |
                             regs::kCCPSR.mask("MAIN_STATE") | regs::kCCPSR.mask("FF_LEVEL");
  return !((uint64_t{hi} << 32 | lo) & kBusy);
}

// --- Channel errors ------------------------------------------------------------------------------------------------

/// Runs inside the interrupt handler, with the error interrupt acknowledged.
void Device::channel_error(Channel& ch) {
  using namespace regs;
  const uint32_t errors = platform_.read32(ch.base + kCcpsr + 4) & lo32(channel_error::all(generation_));
  for (unsigned b = 0; b < stats_.channel_errors.size(); ++b) stats_.channel_errors[b] += errors >> b & 1;

  if (!sec1() && (errors & kDof)) {
    // The FIFO's contents are lost with the reset: what is done is good, everything else may be sent again.
    ++stats_.double_overflows;
    log(Platform::Level::Error, fmt::format("channel {}: double fetch FIFO overflow", ch.index));
    flush_channel(ch);
    ++stats_.channel_resets;
    const uint64_t lost_until = ch.head;  // what callbacks submit goes into the fresh FIFO
    if (!reset_channel(ch)) return recover_device(fmt::format("channel {} does not leave reset", ch.index));
    ch.overflow_suspect = false;
    while (ch.tail != lost_until) {
      ++stats_.dropped;
      retire(ch, Status::Again);
    }
    return;
  }
  if (const uint32_t halting = errors & ~lo32(channel_error::not_halting(generation_)); halting) {
    const BusAddr cdpr = BusAddr{platform_.read32(ch.base + kCDPR.offset_bytes)} << 32 |
                         platform_.read32(ch.base + kCDPR.offset_bytes + 4);
    platform_.sync_for_cpu();
    // The offender, by CDPR; else the oldest that is not done, since the channel works in order.
    uint64_t bad = ch.head;
    bool located = false;
    for (uint64_t c = ch.tail; c != ch.head && !located; ++c) {
      const std::vector<BusAddr>& chain = ch.extras[c & ch.mask].chain;
      located = ch.slot(c).bus == cdpr || std::find(chain.begin(), chain.end(), cdpr) != chain.end();
      if (located) bad = c;
    }
    if (!located) {
      ++stats_.offender_not_found;
      for (bad = ch.tail; bad != ch.head && *ch.slot(bad).done == kDoneByte;) ++bad;
    }
    report(ch, errors, cdpr, located);
    const bool exists = bad != ch.head;
    if (exists) ++stats_.descriptor_errors;
    if (sec1()) {  // there is nothing to continue with; only this one had been handed over
      ++stats_.channel_resets;
      if (!reset_channel(ch))
        return recover_device(fmt::format("channel {} does not leave reset", ch.index), exists ? &ch : nullptr, bad);
    } else if (!continue_channel(ch, cdpr)) {
      return recover_device(fmt::format("channel {} does not continue", ch.index), exists ? &ch : nullptr, bad);
    }
    while (exists && ch.tail < bad)
      // Before the offender everything is done; a hole there was skipped by the engine and will never be.
      retire(ch, *ch.slot(ch.tail).done == kDoneByte ? Status::Ok : Status::Io);
    if (exists) retire(ch, Status::Invalid);
    flush_channel(ch);
    return;
  }
  if (errors & kSof) {
    ++stats_.single_overflows;
    log(Platform::Level::Error,
        fmt::format("channel {}: fetch FIFO overflow, the engine dropped a descriptor", ch.index));
    if (generation_ == regs::Generation::Sec3)
      platform_.write32(ch.base + kCcpsr + 4, kSof);  // [USP]; SEC 2 clears it with the next descriptor
    ch.overflow_suspect = true;
    flush_channel(ch);
    return;
  }
  log(Platform::Level::Warning,
      fmt::format("channel {}: error interrupt with channel status {:04x}, nothing to do", ch.index, errors));
}

/// One block of text per error: channel bits, the descriptor, and the unit with its cause.
void Device::report(Channel& ch, uint32_t errors, BusAddr cdpr, bool located) {
  using namespace regs;
  uint8_t raw[kDescriptorBytes];
  if (located) {
    std::memcpy(raw, dma_.host_ptr(cdpr), sizeof raw);
  } else {
    for (unsigned w = 0; w < kDescriptorBytes / 4; ++w)
      store_be32(raw + 4 * w, platform_.read32(ch.base + kDescriptorBuffer.offset_bytes + 4 * w));
  }
  const uint32_t header = load_be32(raw);
  std::string text =
      fmt::format("channel {}: error {:04x} ({}), ", ch.index, errors, decode(ccpsr(generation_).fields, errors));
  if (located)
    text += fmt::format("descriptor {:x}", cdpr);
  else
    text += fmt::format("couldn't locate current descriptor {:x}, the channel's buffer holds", cdpr);
  text += fmt::format(" header {:08x}", header);
  for (unsigned i = 0; i < kDescriptorPointers; ++i)
    text += fmt::format(" p{} {:016x}", i, load_be64(raw + (sec1() ? kSec1PointerOffset : 8) + 8 * i));
  if (errors & channel_error::kEu) {
    const HeaderWord h = HeaderWord::decode(header);
    for (const unsigned code : {h.sel0, h.sel1}) {
      const uint32_t base = eu_base(part_, unit_of(code));
      if (!base) continue;
      const uint32_t isr =
          sec1() ? lo32(from_sec1(uint64_t{platform_.read32(base + kEuInterruptStatus.offset_bytes)} << 32))
                 : platform_.read32(base + kEuInterruptStatus.offset_bytes + 4);
      if (!isr && code == h.sel1) continue;  // the secondary unit is named only when it is the source
      ++stats_.unit_errors[code];
      text += fmt::format("; {} interrupt status {:08x} ({})", eu_name(unit_of(code)), isr,
                          decode(kEuInterruptStatus.fields, isr));
    }
  }
  log(Platform::Level::Error, text);
}

/// Abandons the current descriptor and goes on with the next. False when the channel does not come back.
bool Device::continue_channel(Channel& ch, BusAddr offender) {
  using namespace regs;
  const uint32_t con = hi32(kCCCR.mask("CON"));
  const uint64_t halting = channel_error::kAll & ~channel_error::not_halting(generation_);
  // ERRATUM: on SEC 3.1 the error field sometimes survives the first CON. [USP] The second is given only while the
  // channel still stands at the same descriptor, for CON abandons whatever is current.
  for (int i = 0; i < 2; ++i) {
    ++stats_.continues;
    platform_.write32(ch.base + kCccr, con);
    if (!poll_clear(ch.base + kCccr, con, fmt::format("channel {} to continue (CCCR[CON])", ch.index))) return false;
    if (!(platform_.read32(ch.base + kCcpsr + 4) & halting)) return true;
    const BusAddr now = BusAddr{platform_.read32(ch.base + kCDPR.offset_bytes)} << 32 |
                        platform_.read32(ch.base + kCDPR.offset_bytes + 4);
    if (now != offender) return true;  // a new error, with an interrupt of its own
  }
  return false;
}

// --- Overflow ------------------------------------------------------------------------------------------------------

/// After a single overflow one descriptor never ran. It is the oldest one when a later one is done, or when the
/// channel is at rest.
void Device::resolve_overflow(Channel& ch) {
  bool dropped = false;
  for (uint64_t c = ch.tail + 1; c < ch.head && !dropped; ++c) dropped = *ch.slot(c).done == kDoneByte;
  if (!dropped && ch.in_flight() == 1) {
    // Alone on the ring: it runs now, or never.
    for (unsigned i = 0; i < kPollTries; ++i) {
      const bool idle = channel_idle(ch);
      platform_.sync_for_cpu();
      if (*ch.slot(ch.tail).done == kDoneByte) return retire(ch, Status::Ok);
      dropped = idle;
      if (dropped) break;
      platform_.relax(kPollNs);
    }
  }
  if (!dropped) return;
  ++stats_.dropped;
  ch.overflow_suspect = false;
  retire(ch, Status::Again);
}

// --- Recovery of the whole engine ----------------------------------------------------------------------------------

/// `culprit` and `bad`: the channel and ring counter of the descriptor that is to blame, if one is.
void Device::recover_device(std::string_view why, const Channel* culprit, uint64_t bad) {
  log(Platform::Level::Error, fmt::format("{}: resetting the engine", why));
  ++stats_.device_resets;
  platform_.sync_for_cpu();
  std::array<uint64_t, regs::kMaxChannels> until{};
  for (Channel& ch : channels_) {
    until[ch.index] = ch.head;
    ch.issued = ch.head;
    ch.overflow_suspect = false;
  }
  const bool was_recovering = recovering_;
  recovering_ = true;
  dead_ = init_device() != Status::Ok;
  if (!dead_ && rng_) {  // the reset has stopped it
    if (rng_->start() != Status::Ok)
      log(Platform::Level::Error, "the random number generator does not leave reset");
    else
      enable_rng_interrupt();
  }
  if (dead_) log(Platform::Level::Error, "the engine does not come back; all requests fail from now on");
  for (Channel& ch : channels_) {
    const bool held = ch.pumping;
    ch.pumping = true;  // nothing is sent before all of the old is gone
    while (ch.tail < until[ch.index]) {
      const bool done = *ch.slot(ch.tail).done == kDoneByte;
      const bool blamed = &ch == culprit && ch.tail == bad;
      if (!done && !blamed) ++stats_.purged;
      retire(ch, done ? Status::Ok : blamed ? Status::Invalid : Status::Io);
    }
    ch.pumping = held;
  }
  recovering_ = was_recovering;
  if (!dead_) {
    for (const Line& l : lines_) imr_hi_ |= l.done | l.error;
    write_imr(imr_hi_);
  }
  for (Channel& ch : channels_) dead_ ? fail_pending(ch) : pump(ch);
}

// --- Time limits ---------------------------------------------------------------------------------------------------

/// Nothing moves any more: if something is in flight, it is overdue once its limit has passed.
bool Device::last_resort() {
  if (!timeout_ns_ || recovering_ || dead_) return false;
  bool waits = false;
  for (const Channel& ch : channels_) waits |= ch.in_flight() != 0;
  if (!waits) return false;
  if (poll_timeouts()) return true;
  platform_.relax(timeout_ns_);
  return poll_timeouts();
}

bool Device::poll_timeouts() {
  if (!timeout_ns_ || !probed_ || recovering_) return false;
  const uint64_t now = platform_.now_ns();
  bool any = false;
  for (Channel& ch : channels_) {
    if (!ch.in_flight()) {
      ch.watched_tail = ~uint64_t{0};
      continue;
    }
    if (ch.watched_tail != ch.tail) {
      ch.watched_tail = ch.tail;
      ch.watched_since_ns = now;
      continue;
    }
    if (now - ch.watched_since_ns < timeout_ns_) continue;
    // No interrupt may come in between: it would walk a ring that is being rebuilt.
    recovering_ = true;
    write_imr(0);
    platform_.sync_for_cpu();
    const uint64_t late = ch.tail;
    if (*ch.slot(late).done != kDoneByte) {
      any = true;
      ++stats_.timeouts;
      log(Platform::Level::Error,
          fmt::format("channel {}: descriptor {:x} was not done after {} ns, resetting the channel", ch.index,
                      ch.slot(late).bus, timeout_ns_));
      ++stats_.channel_resets;
      const bool alive = reset_channel(ch);
      const uint64_t resend_until = ch.head;
      const bool held = ch.pumping;
      ch.pumping = true;
      if (alive && !sec1())
        for (uint64_t c = late + 1; c != resend_until; ++c)
          if (*ch.slot(c).done != kDoneByte) {
            platform_.write32(ch.base + regs::kFF.offset_bytes, hi32(ch.slot(c).bus));
            platform_.write32(ch.base + regs::kFF.offset_bytes + 4, lo32(ch.slot(c).bus));
          }
      retire(ch, Status::TimedOut);
      ch.pumping = held;
      if (!alive) recover_device(fmt::format("channel {} does not leave reset", ch.index));
      pump(ch);
    }
    ch.watched_tail = ~uint64_t{0};
    recovering_ = false;
    for (Line& l : lines_) {
      if (!l.device || !l.deferred) continue;
      l.deferred = false;
      platform_.schedule_task(done_task_entry, &l);
    }
    for (const Line& l : lines_) imr_hi_ |= l.done | l.error;
    write_imr(imr_hi_);
  }
  return any;
}

}  // namespace sec::driver
