#include "hw/eu/afeu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "common/endian.h"
#include "hw/regs/map.h"

namespace sec::hw {
namespace {
constexpr auto bit(uint64_t mask) { return static_cast<uint32_t>(mask); }
constexpr uint32_t kStateBytes = 258;  // of the context, what the cipher needs
constexpr uint32_t kOfr = bit(regs::kEuStatus.mask("OFR"));
}  // namespace

Afeu::Afeu(const Timing& timing)
    : ExecutionUnit(regs::Eu::Afeu, "AFEU", regs::kAfeuBase, timing,
                    {.context_bytes = regs::kAfeuContextBytes, .key_bytes = 8}),
      block_clocks_(std::max(1u, static_cast<uint32_t>(std::ceil(8 * timing.afeu_clocks_per_byte)))) {
  hard_reset();
}

void Afeu::clear() {
  s_.fill(0);
  i_ = j_ = 0;
  startup_clocks_ = 0;
  context_to_come_ = dumped_ = 0;
  dump_half_ = false;
}

uint32_t Afeu::prepare() {
  using namespace regs::afeu_mode;
  const bool from_key = !(mode_ & kInhibitPermutation), through_fifo = mode_ & kContextFromFifo;
  context_to_come_ = dumped_ = startup_clocks_ = 0;
  dump_half_ = false;
  if (mode_ & ~(kInhibitPermutation | kDumpContext | kContextFromFifo) || (from_key && through_fifo))
    return bit(regs::eu_error::kMe);
  if ((from_key || key_bytes_) && (key_bytes_ < 5 || key_bytes_ > 16)) return bit(regs::eu_error::kKse);
  if (from_key) {
    for (unsigned k = 0; k < 256; ++k) s_[k] = static_cast<uint8_t>(k);
    uint8_t j = 0;
    for (unsigned k = 0; k < 256; ++k) {
      j = static_cast<uint8_t>(j + s_[k] + key_[k % key_bytes_]);
      std::swap(s_[k], s_[j]);
    }
    i_ = j_ = 0;
    startup_clocks_ = static_cast<uint32_t>(std::ceil(timing_.afeu_key_setup_clocks));
    return 0;
  }
  if (through_fifo && slave_busy()) {  // not by a channel
    context_to_come_ = kFifoContextBytes;
    return 0;
  }
  if (context_bytes_ < kStateBytes) return bit(regs::eu_error::kDse);
  take_context();
  return 0;
}

void Afeu::take_context() {
  std::memcpy(s_.data(), context_.data(), 256);
  i_ = context_[256];
  j_ = context_[257];
}

void Afeu::process(const uint8_t* in, uint8_t* out, size_t n) {
  uint8_t i = i_, j = j_;
  for (size_t k = 0; k < n; ++k) {
    const uint8_t a = s_[++i];
    const uint8_t b = s_[j = static_cast<uint8_t>(j + a)];
    s_[i] = b;
    s_[j] = a;
    out[k] = in[k] ^ s_[static_cast<uint8_t>(a + b)];
  }
  i_ = i;
  j_ = j;
}

uint32_t Afeu::context(uint8_t* out, uint32_t limit) const {
  if (owned_by_channel() && !(mode_ & regs::afeu_mode::kDumpContext)) return 0;  // nothing comes out of the FIFO
  uint8_t c[regs::kAfeuContextBytes] = {};
  std::memcpy(c, s_.data(), 256);
  c[256] = i_;
  c[257] = j_;
  const uint32_t n = std::min<uint32_t>(limit, sizeof c);
  std::memcpy(out, c, n);
  return n;
}

// ---- slave mode: the context's way through the FIFO ----

uint32_t Afeu::read32(uint32_t offset, bool peek) {
  const bool dump = done_pending() && !owned_by_channel() && mode_ & regs::afeu_mode::kDumpContext &&
                    (dumped_ < kFifoContextBytes || dump_half_) &&
                    !(ExecutionUnit::read32(regs::kEuStatus.offset_bytes + 4, true) & kOfr);
  const uint32_t reg = offset & ~7u;
  if (dump && reg == regs::kEuStatus.offset_bytes && offset & 4) {
    const uint32_t level = std::min(32u, (kFifoContextBytes - dumped_) / 8);
    return ExecutionUnit::read32(offset, peek) | (level ? kOfr : 0) | bit(regs::kEuStatus.field("OFL").put(level));
  }
  if (!dump || reg < regs::kEuFifo.offset_bytes) return ExecutionUnit::read32(offset, peek);
  if (offset & 4) {
    if (!dump_half_) return ExecutionUnit::read32(offset, peek);  // low half of the last data word
    if (!peek) dump_half_ = false;
    return dump_lo_;
  }
  if (dumped_ == kFifoContextBytes) return ExecutionUnit::read32(offset, peek);
  uint8_t c[kFifoContextBytes] = {};
  context(c, regs::kAfeuContextBytes);
  const uint32_t hi = load_be32(c + dumped_);
  if (!peek) {
    dump_lo_ = load_be32(c + dumped_ + 4);
    dump_half_ = true;
    dumped_ += 8;
  }
  return hi;
}

void Afeu::write32(uint32_t offset, uint32_t value) {
  const uint32_t reg = offset & ~7u;
  if (reg == regs::kAfeuKey2.offset_bytes) {
    if (owned_by_channel() || slave_busy())
      raise(bit(regs::eu_error::kCe));
    else
      store_be32(key_.data() + 8 + (offset & 4), value);
  } else if (reg >= regs::kEuFifo.offset_bytes && context_to_come_ && slave_busy() && !owned_by_channel()) {
    if (!(offset & 4)) {
      fifo_hi_ = value;
      return;
    }
    uint8_t* const to = context_.data() + (kFifoContextBytes - context_to_come_);
    store_be32(to, fifo_hi_);
    store_be32(to + 4, value);
    context_to_come_ -= 8;
    if (!context_to_come_) take_context();
  } else {
    ExecutionUnit::write32(offset, value);
  }
}

}  // namespace sec::hw
