#include "hw/eu/crcu.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/endian.h"
#include "hw/regs/crcu.h"
#include "hw/regs/map.h"

namespace sec::hw {
namespace {
constexpr auto bit(uint64_t mask) { return static_cast<uint32_t>(mask); }
constexpr uint32_t kBytes = 4;

constexpr uint32_t reversed(uint32_t x) {
  uint32_t r = 0;
  for (int i = 0; i < 32; ++i) r |= (x >> i & 1) << (31 - i);
  return r;
}
}  // namespace

Crcu::Crcu(const Timing& timing)
    : ExecutionUnit(regs::Eu::Crcu, "CRCU", regs::kCrcuBase, timing,
                    {.context_offset = regs::kCrcuContext.offset_bytes, .context_bytes = kBytes, .key_bytes = kBytes, .icv_size = true}),
      word_clocks_(std::max(1u, static_cast<uint32_t>(std::ceil(timing.crcu_word_clocks)))) {
  hard_reset();
  table_.fill(0);
}

void Crcu::hard_reset() {
  ExecutionUnit::hard_reset();
  control_ = 0;
}

uint32_t Crcu::prepare() {
  using namespace regs::crcu_mode;
  if (mode_ & ~(kRaw | kCheckIcv | kAlgorithmMask)) return bit(regs::eu_error::kMe);
  uint32_t polynomial = control_;
  switch (mode_ & kAlgorithmMask) {
    case kCrc32:
      polynomial = regs::kCrc32Polynomial;
      break;
    case kCrc32c:
      polynomial = regs::kCrc32cPolynomial;
      break;
    case kDynamicCustom:
      if (key_bytes_ != kBytes) return bit(regs::eu_error::kKse);
      polynomial = load_be32(key_.data());
      break;
    default:
      break;
  }
  if (polynomial != polynomial_) {
    polynomial_ = polynomial;
    const uint32_t p = reversed(polynomial);
    for (uint32_t b = 0; b < 256; ++b) {
      uint32_t c = b;
      for (int i = 0; i < 8; ++i) c = c >> 1 ^ (c & 1 ? p : 0);
      table_[b] = c;
    }
  }
  crc_ = context_bytes_ ? reversed(load_be32(context_.data())) : ~uint32_t{0};
  return 0;
}

void Crcu::process(const uint8_t* in, uint8_t*, size_t n) {
  uint32_t c = crc_;
  for (size_t i = 0; i < n; ++i) c = c >> 8 ^ table_[(c ^ in[i]) & 0xff];
  crc_ = c;
}

void Crcu::result(uint8_t out[kBytes]) const {
  if (mode_ & regs::crcu_mode::kRaw) {
    store_be32(out, reversed(crc_));
    return;
  }
  for (uint32_t i = 0; i < kBytes; ++i) out[i] = static_cast<uint8_t>(~crc_ >> 8 * i);
}

uint32_t Crcu::complete() {
  if (!(mode_ & regs::crcu_mode::kCheckIcv)) return 0;
  uint8_t r[kBytes];
  result(r);
  return compare_icv(r, kBytes);
}

uint32_t Crcu::context(uint8_t* out, uint32_t limit) const {
  uint8_t r[kBytes];
  result(r);
  const uint32_t n = std::min(limit, kBytes);
  std::memcpy(out, r, n);
  return n;
}

uint32_t Crcu::read32(uint32_t offset, bool peek) {
  if ((offset & ~7u) == regs::kCrcuControl.offset_bytes) return offset & 4 ? control_ : 0;
  return ExecutionUnit::read32(offset, peek);
}

void Crcu::write32(uint32_t offset, uint32_t value) {
  if ((offset & ~7u) != regs::kCrcuControl.offset_bytes) {
    ExecutionUnit::write32(offset, value);
  } else if (owned_by_channel() || slave_busy()) {
    raise(bit(regs::eu_error::kCe));
  } else if (offset & 4) {
    control_ = value;
  }
}

}  // namespace sec::hw
