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
constexpr uint32_t kIce = bit(regs::kEuInterruptStatus.mask("ICE"));
constexpr uint32_t kFifoBytes = 256;
constexpr uint32_t kIcvSize = 0x40;
}  // namespace

ExecutionUnit::ExecutionUnit(regs::Eu code, std::string_view name, uint32_t window_base, const Timing& timing,
                             UnitWindows windows)
    : timing_(timing), selected_(code), code_(code), name_(name), base_(window_base), windows_(windows) {}

void ExecutionUnit::hard_reset() {
  reset_for_channel();
  icr_ = default_interrupt_control();
  owned_ = false;
}

void ExecutionUnit::reset_for_channel() {
  mode_ = 0;
  selected_ = code_;
  isr_ = 0;
  if (size_written_ || halted_ || !in_.empty() || !out_.empty() || done_) {
    size_written_ = running_ = done_ = halted_ = false;
    in_.clear();
    out_.clear();
  }
  data_bits_ = consumed_ = 0;
  // Only what can have been written: this happens for every descriptor. The largest window is cleared as a whole, since its unit
  // also takes context through the FIFO.
  const size_t window = windows_.context_bytes > 128 ? context_.size() : (windows_.context_bytes + 7u) & ~7u;
  std::memset(context_.data(), 0, std::max(window, std::min<size_t>(context_bytes_, context_.size())));
  std::memset(key_.data(), 0, std::max<size_t>(key_written_, 32));
  key_written_ = 0;
  key_bytes_ = context_bytes_ = nonce_bytes_ = icv_bytes_ = received_bytes_ = 0;
  header_bytes_ = data_bytes_ = 0;
  verdict_ = regs::IntegrityCheck::None;
  clear();
}

uint32_t ExecutionUnit::begin(const UnitLoad& load) {
  mode_ = load.mode;
  selected_ = load.code == regs::Eu::None ? code_ : load.code;
  key_bytes_ = load.key_bytes;
  context_bytes_ = load.context_bytes;
  nonce_bytes_ = std::min<uint32_t>(load.nonce_bytes, nonce_.size());
  header_bytes_ = load.header_bytes;
  data_bytes_ = load.data_bytes;
  icv_bytes_ = load.icv_bytes;
  data_bits_ = data_bytes_ * 8;
  if (key_bytes_) {
    key_written_ = static_cast<uint32_t>(std::min<size_t>(key_bytes_, key_.size()));
    std::memcpy(key_.data(), load.key, key_written_);
  }
  if (context_bytes_) std::memcpy(context_.data(), load.context, std::min<size_t>(context_bytes_, context_.size()));
  if (nonce_bytes_) std::memcpy(nonce_.data(), load.nonce, nonce_bytes_);
  const uint32_t e = prepare();
  if (e) [[unlikely]] {
    raise(e);
    halted_ = true;
  }
  return e;
}

void ExecutionUnit::header(const uint8_t*, size_t) {}  // a unit without authentication does not look at it

void ExecutionUnit::set_received_icv(const uint8_t* icv, uint32_t n) {
  received_bytes_ = std::min<uint32_t>(n, received_.size());
  if (received_bytes_) std::memcpy(received_.data(), icv, received_bytes_);
}

uint32_t ExecutionUnit::finish() {
  const uint32_t e = complete();
  if (!e) [[likely]]
    return 0;
  return raise(e) ? e : e & ~kIce;  // a masked ICE shows in the write-back only; anything else stops the unit
}

uint32_t ExecutionUnit::compare_icv(const uint8_t* computed, uint32_t n) {
  if (icv_bytes_ && icv_bytes_ < n) n = icv_bytes_;
  if (received_bytes_ && received_bytes_ < n) n = received_bytes_;
  uint8_t difference = received_bytes_ == 0;
  for (uint32_t i = 0; i < n; ++i) difference |= computed[i] ^ received_[i];
  verdict_ = difference ? regs::IntegrityCheck::Fail : regs::IntegrityCheck::Pass;
  return difference ? kIce : 0;
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
  if (reg == kIcvSize && windows_.icv_size) return low ? icv_bytes_ : 0;
  if (offset >= windows_.context_offset && offset < windows_.context_offset + ((windows_.context_bytes + 7) & ~7u)) {
    if (size_written_ && !done_ && !owned_ && !peek) raise(kEre);
    std::array<uint8_t, kMaxContextBytes> c{};
    if (size_written_ || owned_)
      context(c.data(), windows_.context_bytes);
    else
      c = context_;
    return load_be32(c.data() + (offset - windows_.context_offset));
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
    // Told "no more" before all came.
    if (low && size_written_ && !done_ && !halted_ && data_bytes_ - consumed_ > in_.size()) raise(kDse);
  } else if (reg == kIcvSize && windows_.icv_size) {
    if (busy) raise(kCe);
    else if (low) icv_bytes_ = value & 0xff;
  } else if (offset >= windows_.context_offset && offset < windows_.context_offset + ((windows_.context_bytes + 7) & ~7u)) {
    if (busy) raise(kCe);
    else {
      store_be32(context_.data() + (offset - windows_.context_offset), value);
      context_bytes_ = std::min(std::max(context_bytes_, offset - windows_.context_offset + 4), windows_.context_bytes);
    }
  } else if (offset >= windows_.key_offset && offset < windows_.key_offset + ((windows_.key_bytes + 7) & ~7u)) {
    if (busy) {
      raise(kCe);
    } else {
      store_be32(key_.data() + (offset - windows_.key_offset), value);
      key_written_ = std::max(key_written_, offset - windows_.key_offset + 4);
    }
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
  done_ = running_ = false;
  consumed_ = 0;
  // Only a channel can give these; its last descriptor may have, and nobody reset the unit since.
  selected_ = code_;
  header_bytes_ = 0;
  nonce_bytes_ = received_bytes_ = 0;
  data_bytes_ = data_bits_ / 8;
  const uint32_t e = data_bits_ % 8 ? kDse : prepare();
  if (e) {
    raise(e);
    halted_ = true;  // and clearing the interrupts does not start it: the data size has to be written again
    return;
  }
  running_ = true;
  slave_run();
}

void ExecutionUnit::slave_run() {
  if (!running_ || halted_) return;
  const uint32_t b = block_bytes();
  const bool writes = writes_output();
  while (consumed_ < data_bytes_) {
    const auto n = static_cast<uint32_t>(std::min<uint64_t>(b, data_bytes_ - consumed_));  // the last one may be short
    if (in_.size() < n || (writes && out_.size() + b > kFifoBytes)) break;
    uint8_t block[128];
    process(in_.data(), writes ? block : nullptr, n);
    // FIFO entries are 64 bits: what lies behind the end of the message in the last one is dropped.
    const size_t taken = consumed_ + n == data_bytes_ ? std::min<size_t>((n + 7) & ~7u, in_.size()) : n;
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(taken));
    if (writes) {
      std::memset(block + n, 0, sizeof block - n);
      out_.insert(out_.end(), block, block + ((n + 7) & ~7u));
    }
    consumed_ += n;
  }
  if (consumed_ >= data_bytes_) {
    running_ = false;
    if (finish()) halted_ = true;
    else done_ = true;
  }
}

}  // namespace sec::hw
