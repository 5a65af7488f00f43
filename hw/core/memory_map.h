// Memory as the engine's bus master sees it: regions of host memory at bus addresses. A plain class with
// no virtual calls, since every byte the engine moves goes through it; the SystemC shell fills it from
// its DMI pointers, the functional platform directly. Accesses outside every region, or inside an injected
// fault, are bus errors (MDTE).
#pragma once
#include <cstdint>
#include <vector>

#include "common/endian.h"

namespace sec::hw {

class MemoryMap {
 public:
  void add_region(BusAddr base, uint64_t size_bytes, uint8_t* host) { regions_.push_back({base, size_bytes, host}); last_ = regions_.front(); }
  void clear() { regions_.clear(); last_ = {}; }

  /// Accesses that touch [base, base + size) answer with a bus error.
  void inject_fault(BusAddr base, uint64_t size_bytes) { faults_.push_back({base, size_bytes, nullptr}); }
  void clear_faults() { faults_.clear(); }

  /// Host memory of [a, a+n), or null when any byte of it answers with a bus error.
  [[gnu::always_inline]] uint8_t* at(BusAddr a, uint64_t n) const {
    if (a - last_.base < last_.size && n <= last_.size - (a - last_.base) && faults_.empty()) [[likely]]
      return last_.host + (a - last_.base);
    return at_slow(a, n);
  }
  /// Bytes from `a` on, at most `n`, that can be accessed.
  uint64_t good_bytes(BusAddr a, uint64_t n) const {
    if (a - last_.base < last_.size && n <= last_.size - (a - last_.base) && faults_.empty()) [[likely]]
      return n;
    const Region* r = find(a);
    if (!r) return 0;
    uint64_t good = n < r->size - (a - r->base) ? n : r->size - (a - r->base);
    for (const Region& f : faults_) {
      if (a >= f.base && a - f.base < f.size) return 0;
      if (f.base > a && f.base - a < good) good = f.base - a;
    }
    return good;
  }

 private:
  struct Region {
    BusAddr base = 0;
    uint64_t size = 0;
    uint8_t* host = nullptr;
  };
  const Region* find(BusAddr a) const {
    for (const Region& r : regions_)
      if (a - r.base < r.size) return &(last_ = r);
    return nullptr;
  }
  uint8_t* at_slow(BusAddr a, uint64_t n) const {
    if (good_bytes(a, n) != n) return nullptr;
    const Region* r = find(a);
    return r ? r->host + (a - r->base) : nullptr;
  }
  std::vector<Region> regions_, faults_;
  mutable Region last_;
};

}  // namespace sec::hw
