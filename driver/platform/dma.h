// Memory shared with the device. `DmaSpace` is one contiguous piece of host memory that the device sees
// at `bus_base`: buffers inside it are mapped for free, anything else goes through a bounce pool
// of limited size, as on machines with swiotlb. Allocation is first-fit on a free list, meant for rings,
// pools and long-lived buffers; per-request memory comes from pools made of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/endian.h"

namespace sec::driver {

enum class Direction : uint8_t { ToDevice, FromDevice, Bidirectional };

/// A mapped piece of memory. `bounce` is null when the device works on the caller's memory itself.
struct Mapping {
  BusAddr addr = 0;
  uint32_t size_bytes = 0;
  Direction direction = Direction::ToDevice;
  uint8_t* cpu = nullptr;     // the caller's memory
  uint8_t* bounce = nullptr;  // copy inside the space
  bool ok = false;            // false: the bounce pool is exhausted
};

class DmaSpace {
 public:
  /// `size_bytes` of zeroed memory seen by the device at `bus_base` (which may lie above 4 GiB).
  DmaSpace(size_t size_bytes, BusAddr bus_base, size_t bounce_slots = 1024, size_t bounce_slot_bytes = 2048);
  ~DmaSpace();
  DmaSpace(const DmaSpace&) = delete;
  DmaSpace& operator=(const DmaSpace&) = delete;

  uint8_t* base() const { return base_; }
  size_t size_bytes() const { return size_; }
  BusAddr bus_base() const { return bus_base_; }

  /// Aligned (power of two) zeroed block inside the space; null when exhausted.
  void* alloc(size_t size_bytes, size_t align = 64);
  void free(void* p);
  size_t allocated_bytes() const { return allocated_; }

  bool contains(const void* p, size_t n) const {
    const auto* b = static_cast<const uint8_t*>(p);
    return b >= base_ && n <= size_ && b <= base_ + (size_ - n);
  }
  BusAddr bus_addr(const void* p) const {
    return bus_base_ + static_cast<uint64_t>(static_cast<const uint8_t*>(p) - base_);
  }
  uint8_t* host_ptr(BusAddr a) const { return base_ + (a - bus_base_); }

  /// Maps [p, p+n) for the device; copies in when it must bounce. Check `ok`.
  Mapping map(void* p, size_t n, Direction d) {
    if (contains(p, n)) [[likely]]
      return {bus_addr(p), static_cast<uint32_t>(n), d, static_cast<uint8_t*>(p), nullptr, true};
    return map_bounce(p, n, d);
  }
  /// Ends a mapping; copies out when it bounced and the device may have written.
  void unmap(const Mapping& m) {
    if (m.bounce) [[unlikely]]
      unmap_bounce(m);
  }
  size_t bounce_slots_used() const { return bounce_used_; }
  size_t bounce_slots() const { return bounce_total_; }

 private:
  Mapping map_bounce(void* p, size_t n, Direction d);
  void unmap_bounce(const Mapping& m);

  std::unique_ptr<uint8_t, void (*)(void*)> storage_;
  uint8_t* base_;
  size_t size_;
  BusAddr bus_base_;
  std::map<size_t, size_t> free_;  // offset -> size
  std::map<size_t, size_t> allocations_;
  size_t allocated_ = 0;
  size_t bounce_slot_bytes_, bounce_total_, bounce_used_ = 0;
  uint8_t* bounce_base_ = nullptr;
  std::vector<bool> bounce_busy_;
};

}  // namespace sec::driver
