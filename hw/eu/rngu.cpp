#include "hw/eu/rngu.h"

#include <sys/random.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/diag.h"
#include "common/endian.h"
#include "hw/regs/map.h"
#include "hw/regs/rngu.h"

namespace sec::hw {
namespace {
constexpr auto bit(uint64_t mask) { return static_cast<uint32_t>(mask); }
constexpr uint32_t kAe = bit(regs::eu_error::kAe), kOfu = bit(regs::eu_error::kOfu), kCe = bit(regs::eu_error::kCe);
constexpr uint32_t kWordBytes = 8;
}  // namespace

Rngu::Rngu(const Timing& timing)
    : ExecutionUnit(regs::Eu::Rngu, "RNGU", regs::kRnguBase, timing, {.context_bytes = 0, .key_bytes = 0}),
      word_clocks_(std::max(1u, static_cast<uint32_t>(std::ceil(timing.rngu_word_clocks)))),
      depth_(std::min(255u, static_cast<uint32_t>(timing.fifo_bytes) / kWordBytes)) {
  hard_reset();
}

void Rngu::set_seed(uint64_t seed) {
  generator_.seed(seed);
  entropy_ = false;
}

uint64_t Rngu::next() {
  if (!entropy_) return generator_();
  uint64_t word;
  SEC_CHECK(getrandom(&word, sizeof word, 0) == sizeof word, "random numbers of the kernel");
  return word;
}

uint32_t Rngu::prepare() { return mode_ ? bit(regs::eu_error::kMe) : 0; }

void Rngu::process(const uint8_t*, uint8_t* out, size_t n) {
  for (size_t i = 0; i < n; i += kWordBytes) {
    uint8_t word[kWordBytes];
    store_be64(word, next());
    std::memcpy(out + i, word, std::min<size_t>(kWordBytes, n - i));
  }
}

void Rngu::clear() {
  started_ = half_ = false;
  size_ = level_ = low_ = 0;
}

uint32_t Rngu::level() const {
  if (!started_) return 0;
  if (!timed_) return depth_;
  const uint64_t made = (now_ - since_) / word_clocks_;
  return static_cast<uint32_t>(std::min<uint64_t>(depth_, level_ + made));
}

void Rngu::take() {
  const uint32_t have = level();
  // A full FIFO had stopped the unit; otherwise the word in the making goes on.
  since_ = have == depth_ ? now_ : since_ + uint64_t{have - level_} * word_clocks_;
  level_ = have - 1;
}

uint32_t Rngu::read32(uint32_t offset, bool peek) {
  const bool low = offset & 4;
  const uint32_t reg = offset & ~7u;
  if (reg == regs::kRnguDataSize.offset_bytes) return low ? size_ : 0;
  if (reg == regs::kRnguStatus.offset_bytes) {
    if (!low) return 0;
    const auto& s = regs::kRnguStatus;
    const uint32_t n = level();
    return (ExecutionUnit::read32(offset, true) & bit(s.mask("RD") | s.mask("IE") | s.mask("HALT"))) |
           (n ? bit(s.mask("OFR")) : 0) | bit(s.field("OFL").put(n));
  }
  if (reg < regs::kRnguFifo.offset_bytes) return ExecutionUnit::read32(offset, peek);
  if (peek) return low ? low_ : 0;  // a word is not there before it is read
  if (owned_by_channel() || low != half_) {
    half_ = false;
    raise(kAe);
    return 0;
  }
  if (low) {
    half_ = false;
    return low_;
  }
  half_ = true;
  if (!level()) {
    low_ = 0;
    raise(kOfu);
    return 0;
  }
  take();
  const uint64_t word = next();
  low_ = static_cast<uint32_t>(word);
  return static_cast<uint32_t>(word >> 32);
}

void Rngu::write32(uint32_t offset, uint32_t value) {
  const uint32_t reg = offset & ~7u;
  if (reg == regs::kRnguDataSize.offset_bytes) {
    if (!(offset & 4)) return;
    if (owned_by_channel()) {
      raise(kCe);
      return;
    }
    size_ = value;
    if (const uint32_t e = prepare()) {
      raise(e);
      return;
    }
    if (started_) return;
    started_ = true;
    since_ = now_;
    level_ = 0;
  } else if (reg >= regs::kRnguFifo.offset_bytes || reg == regs::kEuKeySize.offset_bytes ||
             reg == regs::kEuGo.offset_bytes) {  // nothing goes in
    raise(owned_by_channel() ? kCe : kAe);
  } else {
    ExecutionUnit::write32(offset, value);
  }
}

}  // namespace sec::hw
