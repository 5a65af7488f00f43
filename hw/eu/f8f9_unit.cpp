#include "hw/eu/f8f9_unit.h"

#include <algorithm>
#include <cstring>

#include "common/endian.h"
#include "hw/regs/eu_common.h"
#include "hw/regs/keu.h"
#include "hw/regs/steu.h"

namespace sec::hw {
namespace {
constexpr auto bit(uint64_t mask) { return static_cast<uint32_t>(mask); }
constexpr uint32_t kMacRegister = regs::kKeuF9Mac.offset_bytes;
static_assert(kMacRegister == regs::kSteuF9Mac.offset_bytes);
}  // namespace

void F8F9Unit::clear() {
  f9_ = ended_ = false;
  mac_ = tail_bytes_ = 0;
  startup_clocks_ = finish_clocks_ = 0;
}

uint32_t F8F9Unit::prepare() {
  static_assert(kCheckIcv == regs::keu_mode::kCheckIcv && kCheckIcv == regs::steu_mode::kCheckIcv);
  static_assert(kEndOfMessage == regs::keu_mode::kEndOfMessage && kEndOfMessage == regs::steu_mode::kEndOfMessage);
  static_assert(kInit == regs::keu_mode::kInit && kInit == regs::steu_mode::kInit);
  mac_ = tail_bytes_ = 0;
  ended_ = false;
  if (!legal(f9_) || (!f9_ && mode_ & kCheckIcv)) return bit(regs::eu_error::kMe);
  if (!legal_key()) return bit(regs::eu_error::kKse);
  if (f9_ && !(mode_ & kEndOfMessage) && data_bytes_ % 8) return bit(regs::eu_error::kDse);
  startup_clocks_ = finish_clocks_ = 0;
  begin_cipher(mode_ & kInit);
  return 0;
}

void F8F9Unit::process(const uint8_t* in, uint8_t* out, size_t n) {
  if (!f9_) return f8(in, out, n);
  const size_t whole = n / 8 * 8;
  f9_blocks(in, whole);
  tail_bytes_ = static_cast<uint32_t>(n - whole);
  std::memcpy(tail_, in + whole, tail_bytes_);
}

uint32_t F8F9Unit::complete() {
  if (!f9_ || !(mode_ & kEndOfMessage)) return 0;
  mac_ = f9_end(tail_, tail_bytes_);
  ended_ = true;
  if (!(mode_ & kCheckIcv)) return 0;
  if (received_bytes_ == 0)
    set_received_icv(context_.data() + kIcvIn + 4, 4);
  else if (received_bytes_ == 8)
    set_received_icv(received_.data() + 4, 4);
  uint8_t mac[4];
  store_be32(mac, mac_);
  return compare_icv(mac, 4);
}

uint32_t F8F9Unit::context(uint8_t* out, uint32_t limit) const {
  uint8_t c[kMaxContextBytes] = {};
  std::memcpy(c, context_.data(), kState);
  save_state(c + kState);
  const uint32_t n = std::min(limit, window_bytes_);
  std::memcpy(out, c, n);
  return n;
}

uint32_t F8F9Unit::icv(uint8_t* out, uint32_t limit) const {
  if (!ended_) return 0;
  uint8_t mac[8] = {};
  store_be32(mac + 4, mac_);
  const uint32_t n = std::min(limit, 8u);
  std::memcpy(out, mac, n);
  return n;
}

uint32_t F8F9Unit::read32(uint32_t offset, bool peek) {
  if ((offset & ~7u) != kMacRegister) return ExecutionUnit::read32(offset, peek);
  if (slave_busy() && !ended_ && !owned_by_channel() && !peek) raise(bit(regs::eu_error::kEre));
  return offset & 4 ? mac_ : 0;
}

}  // namespace sec::hw
