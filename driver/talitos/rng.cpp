#include "driver/talitos/rng.h"

#include <algorithm>
#include <cstring>

#include "hw/regs/eu_common.h"
#include "hw/regs/map.h"

namespace sec::driver {
namespace {
constexpr unsigned kResetTries = 100'000;  // as all poll loops [LX]
}

HwRng::HwRng(Platform& platform, const regs::Part& part)
    : platform_(platform), generation_(part.generation), base_(regs::eu_base(part, regs::Eu::Rngu)) {}

/// Status as SEC 2+ has it.
uint32_t HwRng::status() {
  const uint32_t at = base_ + regs::kEuStatus.offset_bytes;
  if (generation_ != regs::Generation::Sec1) return platform_.read32(at + 4);
  return regs::swap_bytes(platform_.read32(at));
}

Status HwRng::start() {
  const bool sec1 = generation_ == regs::Generation::Sec1;
  const auto reset = static_cast<uint32_t>(regs::kEuResetControl.mask("SR"));
  const uint32_t half = sec1 ? 0 : 4;
  platform_.write32(base_ + regs::kEuResetControl.offset_bytes + half, sec1 ? regs::swap_bytes(reset) : reset);
  for (unsigned i = 0; !(status() & regs::kEuStatus.mask("RD")); ++i) {
    if (i == kResetTries) return Status::TimedOut;
    platform_.relax(1000);
  }
  platform_.write32(base_ + regs::kEuDataSize.offset_bytes + half, 0);  // starts it, whatever the value [LX]
  return Status::Ok;
}

bool HwRng::data_present(bool wait) {
  for (unsigned i = 0;; ++i) {
    if (status() & regs::kEuStatus.mask("OFL")) return true;
    if (!wait || i == kWaitTries) return false;
    platform_.relax(kWaitNs);
  }
}

Status HwRng::read(uint32_t* value) {
  if (!data_present(false)) return Status::Again;
  const uint32_t fifo = base_ + regs::kEuFifo.offset_bytes;
  static_cast<void>(platform_.read32(fifo));  // both halves, or the unit calls it an address error [OCF]
  *value = platform_.read32(fifo + 4);
  return Status::Ok;
}

Status HwRng::fill(uint8_t* to, size_t n) {
  while (n) {
    uint32_t word;
    if (!data_present(true)) return Status::TimedOut;
    if (const Status s = read(&word); s != Status::Ok) return s;
    const size_t k = std::min(n, sizeof word);
    std::memcpy(to, &word, k);
    to += k;
    n -= k;
  }
  return Status::Ok;
}

}  // namespace sec::driver
