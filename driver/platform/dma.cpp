#include "driver/platform/dma.h"

#include <cstdlib>
#include <cstring>

#include "common/diag.h"

namespace sec::driver {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kBlockGranule = 16;  // sizes of allocations are rounded up to this

size_t round_up(size_t n, size_t align) { return (n + align - 1) & ~(align - 1); }

}  // namespace

DmaSpace::DmaSpace(size_t size_bytes, BusAddr bus_base, size_t bounce_slots, size_t bounce_slot_bytes)
    : storage_(nullptr, std::free),
      base_(nullptr),
      size_(round_up(size_bytes, kPage)),
      bus_base_(bus_base),
      bounce_slot_bytes_(bounce_slot_bytes),
      bounce_total_(bounce_slots) {
  // calloc-like behaviour on demand: aligned_alloc does not clear, and clearing touches every page once.
  storage_.reset(static_cast<uint8_t*>(std::aligned_alloc(kPage, size_)));
  SEC_CHECK(storage_, "out of memory for the DMA space");
  base_ = storage_.get();
  std::memset(base_, 0, size_);
  free_[0] = size_;
  if (bounce_total_) {
    bounce_base_ = static_cast<uint8_t*>(alloc(bounce_total_ * bounce_slot_bytes_, 64));
    if (!bounce_base_) bounce_total_ = 0;  // a tiny space: nothing can be bounced
  }
  bounce_busy_.assign(bounce_total_, false);
}

DmaSpace::~DmaSpace() = default;

void* DmaSpace::alloc(size_t size_bytes, size_t align) {
  if (size_bytes == 0 || size_bytes > size_) return nullptr;
  if (align < kBlockGranule) align = kBlockGranule;
  const size_t n = round_up(size_bytes, kBlockGranule);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const size_t start = it->first, length = it->second;
    // Aligned as the device sees it and as the host sees it: both bases are page aligned, or the smaller counts.
    const size_t at = round_up(start, align);
    if (at + n > start + length) continue;
    free_.erase(it);
    if (at > start) free_[start] = at - start;
    if (at + n < start + length) free_[at + n] = start + length - (at + n);
    allocations_[at] = n;
    allocated_ += n;
    std::memset(base_ + at, 0, n);
    return base_ + at;
  }
  return nullptr;
}

void DmaSpace::free(void* p) {
  if (!p) return;
  const auto it = allocations_.find(static_cast<size_t>(static_cast<uint8_t*>(p) - base_));
  SEC_CHECK(it != allocations_.end(), "free of a block that was not allocated in this DMA space");
  size_t at = it->first, n = it->second;
  allocated_ -= n;
  allocations_.erase(it);
  auto next = free_.lower_bound(at);
  if (next != free_.end() && next->first == at + n) {
    n += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto prev = std::prev(next);
    if (prev->first + prev->second == at) {
      prev->second += n;
      return;
    }
  }
  free_[at] = n;
}

Mapping DmaSpace::map_bounce(void* p, size_t n, Direction d) {
  Mapping m{0, static_cast<uint32_t>(n), d, static_cast<uint8_t*>(p), nullptr, false};
  if (n == 0 || n > bounce_total_ * bounce_slot_bytes_) return m;
  const size_t want = (n + bounce_slot_bytes_ - 1) / bounce_slot_bytes_;
  size_t run = 0;
  for (size_t i = 0; i < bounce_total_; ++i) {
    run = bounce_busy_[i] ? 0 : run + 1;
    if (run < want) continue;
    const size_t first = i + 1 - want;
    for (size_t k = first; k <= i; ++k) bounce_busy_[k] = true;
    bounce_used_ += want;
    m.bounce = bounce_base_ + first * bounce_slot_bytes_;
    m.addr = bus_addr(m.bounce);
    m.ok = true;
    // Copied in whatever the direction: a device that writes less than announced must not leave another
    // request's bytes to be copied out.
    std::memcpy(m.bounce, p, n);
    return m;
  }
  return m;
}

void DmaSpace::unmap_bounce(const Mapping& m) {
  const size_t first = static_cast<size_t>(m.bounce - bounce_base_) / bounce_slot_bytes_;
  const size_t count = (m.size_bytes + bounce_slot_bytes_ - 1) / bounce_slot_bytes_;
  if (m.direction != Direction::ToDevice) std::memcpy(m.cpu, m.bounce, m.size_bytes);
  for (size_t k = first; k < first + count; ++k) {
    SEC_CHECK(bounce_busy_[k], "bounce slot released twice");
    bounce_busy_[k] = false;
  }
  bounce_used_ -= count;
}

}  // namespace sec::driver
