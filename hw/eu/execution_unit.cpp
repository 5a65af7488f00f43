#include "hw/eu/execution_unit.h"

#include <algorithm>
#include <cstring>

#include "common/endian.h"
#include "hw/regs/eu_common.h"

namespace sec::hw {
namespace {
constexpr uint32_t bit(uint64_t mask) { return static_cast<uint32_t>(mask); }
constexpr uint32_t kDse = bit(regs::kEuInterruptStatus.mask("DSE"));
constexpr uint32_t kCe = bit(regs::kEuInterruptStatus.mask("CE"));
constexpr uint32_t kEre = bit(regs::kEuInterruptStatus.mask("ERE"));
constexpr uint32_t kIfo = bit(regs::kEuInterruptStatus.mask("IFO"));
constexpr uint32_t kOfu = bit(regs::kEuInterruptStatus.mask("OFU"));
constexpr uint32_t kAe = bit(regs::kEuInterruptStatus.mask("AE"));
constexpr uint32_t kKeyWindow = 32, kContextWindow = 16, kFifoBytes = 256;
}  // namespace

ExecutionUnit::ExecutionUnit(regs::Eu code, std::string_view name, uint32_t window_base, const Timing& timing)
    : timing_(timing), code_(code), name_(name), base_(window_base) {}

void ExecutionUnit::hard_reset() {
  reset_for_channel();
  icr_ = default_interrupt_control();
  owned_ = false;
}

void ExecutionUnit::reset_for_channel() {
  mode_ = 0;
  key_bytes_ = 0;
  data_bytes_ = 0;
  isr_ = 0;
  if (size_written_ || halted_ || !in_.empty() || !out_.empty() || done_) {
    size_written_ = done_ = halted_ = false;
    in_.clear();
    out_.clear();
  }
  data_bits_ = consumed_ = 0;
  context_.fill(0);
  key_.fill(0);
}

uint32_t ExecutionUnit::begin(uint8_t mode, const uint8_t* key, uint32_t key_bytes, const uint8_t* context,
                              uint32_t context_bytes, uint64_t data_bytes) {
  mode_ = mode;
  key_bytes_ = key_bytes;
  data_bytes_ = data_bytes;
  data_bits_ = data_bytes * 8;
  std::memcpy(key_.data(), key, std::min<size_t>(key_bytes, key_.size()));
  if (context_bytes) std::memcpy(context_.data(), context, std::min<size_t>(context_bytes, context_.size()));
  const uint32_t e = prepare();
  if (e) [[unlikely]] {
    raise(e);
    halted_ = true;
  }
  return e;
}

bool ExecutionUnit::raise(uint32_t bits) {
  isr_ |= bits;
  const bool loud = (bits & ~icr_) != 0;
  halted_ |= loud;
  return loud;
}

// ---- slave mode ----

uint32_t ExecutionUnit::read32(uint32_t offset, bool peek) {
  const bool low = offset & 4;
  const uint32_t reg = offset & ~7u;
  if (reg == regs::kEuMode.offset_bytes) return low ? mode_ : 0;
  if (reg == regs::kEuKeySize.offset_bytes) return low ? key_bytes_ : 0;
  if (reg == regs::kEuDataSize.offset_bytes) return low ? static_cast<uint32_t>(data_bits_) : 0;
  if (reg == regs::kEuInterruptStatus.offset_bytes) return low ? isr_ : 0;
  if (reg == regs::kEuInterruptControl.offset_bytes) return low ? icr_ : 0;
  if (reg == regs::kEuStatus.offset_bytes) {
    if (!low) return 0;
    const auto& s = regs::kEuStatus;
    uint64_t v = s.mask("RD");
    if (done_) v |= s.mask("ID");
    if (isr_ & ~icr_) v |= s.mask("IE");
    if (!out_.empty()) v |= s.mask("OFR");
    if (in_.size() + 8 <= kFifoBytes) v |= s.mask("IFW");
    if (halted_) v |= s.mask("HALT");
    v |= s.field("IFL").put(in_.size() / 8) | s.field("OFL").put(out_.size() / 8);
    return static_cast<uint32_t>(v);
  }
  if (reg >= regs::kEuContext.offset_bytes && reg < regs::kEuContext.offset_bytes + kContextWindow) {
    if (size_written_ && !done_ && !owned_ && !peek) raise(kEre);
    std::array<uint8_t, kContextWindow> c{};
    if (size_written_ || owned_)
      context(c.data(), kContextWindow);
    else
      c = context_;
    return load_be32(c.data() + (offset - regs::kEuContext.offset_bytes));
  }
  if (reg >= regs::kEuFifo.offset_bytes) {
    if (peek) return out_.size() < 8 ? 0 : load_be32(out_.data() + (low ? 4 : 0));
    if (low) return read_lo_;
    if (out_.size() < 8) {
      raise(kOfu);
      read_lo_ = 0;
      return 0;
    }
    const uint32_t v = load_be32(out_.data());
    read_lo_ = load_be32(out_.data() + 4);
    out_.erase(out_.begin(), out_.begin() + 8);
    slave_run();
    return v;
  }
  return 0;  // write-only and reserved space reads as zero (ASSUMED)
}

void ExecutionUnit::write32(uint32_t offset, uint32_t value) {
  const bool low = offset & 4;
  const uint32_t reg = offset & ~7u;
  if (reg == regs::kEuInterruptControl.offset_bytes) {
    if (low) icr_ = value;
    return;
  }
  if (owned_) {  // touching a unit that a channel is using
    raise(kCe);
    return;
  }
  if (reg == regs::kEuResetControl.offset_bytes) {
    if (!low) return;
    // ASSUMED: SR keeps the interrupt control register (the mask); MI sets that to its reset value too. No public
    // source tells the two apart.
    const auto& r = regs::kEuResetControl;
    if (value & r.mask("SR"))
      reset_for_channel();
    else if (value & r.mask("MI"))
      hard_reset();
    else if (value & r.mask("RI"))
      isr_ = 0, done_ = halted_ = false;
    return;
  }
  const bool busy = size_written_ && !done_;
  if (reg == regs::kEuMode.offset_bytes) {
    if (busy) raise(kCe);
    else if (low) mode_ = static_cast<uint8_t>(value);
  } else if (reg == regs::kEuKeySize.offset_bytes) {
    if (busy) raise(kCe);
    else if (low) key_bytes_ = value & bit(regs::kEuKeySize.mask("BYTES"));
  } else if (reg == regs::kEuDataSize.offset_bytes) {
    if (!low) return;
    data_bits_ = value & bit(regs::kEuDataSize.mask("BITS"));
    slave_start();
  } else if (reg == regs::kEuGo.offset_bytes) {
    if (low && size_written_ && consumed_ < data_bytes_ && in_.empty()) raise(kDse);  // told "no more" before all came
  } else if (reg >= regs::kEuContext.offset_bytes && reg < regs::kEuContext.offset_bytes + kContextWindow) {
    if (busy) raise(kCe);
    else store_be32(context_.data() + (offset - regs::kEuContext.offset_bytes), value);
  } else if (reg >= regs::kEuKey.offset_bytes && reg < regs::kEuKey.offset_bytes + kKeyWindow) {
    if (busy) raise(kCe);
    else store_be32(key_.data() + (offset - regs::kEuKey.offset_bytes), value);
  } else if (reg >= regs::kEuFifo.offset_bytes) {
    if (!low) {
      fifo_hi_ = value;
      return;
    }
    if (in_.size() + 8 > kFifoBytes) {
      raise(kIfo);
      return;
    }
    uint8_t word[8];
    store_be32(word, fifo_hi_);
    store_be32(word + 4, value);
    in_.insert(in_.end(), word, word + 8);
    slave_run();
  } else if (reg != regs::kEuStatus.offset_bytes && reg != regs::kEuInterruptStatus.offset_bytes) {
    raise(kAe);  // nothing is there
  }
}

void ExecutionUnit::slave_start() {
  size_written_ = true;
  done_ = false;
  consumed_ = 0;
  data_bytes_ = data_bits_ / 8;
  const uint32_t e = data_bits_ % 8 ? kDse : prepare();
  if (e) {
    raise(e);
    halted_ = true;
    return;
  }
  slave_run();
}

void ExecutionUnit::slave_run() {
  if (!size_written_ || halted_ || done_) return;
  const uint32_t b = block_bytes();
  while (consumed_ < data_bytes_ && in_.size() >= b && out_.size() + b <= kFifoBytes) {
    uint8_t block[16];
    process(in_.data(), block, b);
    in_.erase(in_.begin(), in_.begin() + b);
    out_.insert(out_.end(), block, block + b);
    consumed_ += b;
  }
  if (consumed_ >= data_bytes_) done_ = true;
}

}  // namespace sec::hw
