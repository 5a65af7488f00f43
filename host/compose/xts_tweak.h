// The tweak chain of XTS (IEEE 1619): T(j+1) = T(j) * alpha over GF(2^128), the 16 bytes read as a little-endian
// number: shift left by one, and when a bit falls out XOR 0x87 into byte 0.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sec::host {

class XtsTweak {
 public:
  explicit XtsTweak(const uint8_t t0[16]) {
    low_ = load(t0);
    high_ = load(t0 + 8);
  }
  void next() {
    const uint64_t carry = high_ >> 63;
    high_ = high_ << 1 | low_ >> 63;
    low_ = low_ << 1 ^ (carry ? 0x87 : 0);
  }
  /// XORs the tweak into one block.
  void apply(const uint8_t* from, uint8_t* to) const {
    save(to, load(from) ^ low_);
    save(to + 8, load(from + 8) ^ high_);
  }

 private:
  static uint64_t load(const uint8_t* p) {
    uint64_t v;
    std::memcpy(&v, p, 8);
    return std::endian::native == std::endian::little ? v : __builtin_bswap64(v);
  }
  static void save(uint8_t* p, uint64_t v) {
    if constexpr (std::endian::native != std::endian::little) v = __builtin_bswap64(v);
    std::memcpy(p, &v, 8);
  }
  uint64_t low_, high_;
};

}  // namespace sec::host
