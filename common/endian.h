// Byte order and bus addresses. Memory that the engine reads is big-endian and is only ever touched
// through these helpers; a bus address is a BusAddr, never a pointer.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

namespace sec {

/// Address on the engine's master bus: 32 bits on SEC 1.x, 36 bits on SEC 2.x/3.x.
using BusAddr = uint64_t;

inline uint32_t load_be32(const void* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return std::endian::native == std::endian::little ? __builtin_bswap32(v) : v;
}
inline uint64_t load_be64(const void* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return std::endian::native == std::endian::little ? __builtin_bswap64(v) : v;
}
inline void store_be32(void* p, uint32_t v) {
  if constexpr (std::endian::native == std::endian::little) v = __builtin_bswap32(v);
  std::memcpy(p, &v, 4);
}
inline void store_be64(void* p, uint64_t v) {
  if constexpr (std::endian::native == std::endian::little) v = __builtin_bswap64(v);
  std::memcpy(p, &v, 8);
}
inline void store_be16(void* p, uint16_t v) {
  if constexpr (std::endian::native == std::endian::little) v = __builtin_bswap16(v);
  std::memcpy(p, &v, 2);
}
inline uint16_t load_be16(const void* p) {
  uint16_t v;
  std::memcpy(&v, p, 2);
  return std::endian::native == std::endian::little ? __builtin_bswap16(v) : v;
}

/// A big-endian word as it lies in memory. Plain data: structs of these can be copied to bus memory.
class be32 {
 public:
  be32() = default;
  constexpr be32(uint32_t v) : raw_(std::endian::native == std::endian::little ? __builtin_bswap32(v) : v) {}  // NOLINT
  constexpr operator uint32_t() const {                                                                        // NOLINT
    return std::endian::native == std::endian::little ? __builtin_bswap32(raw_) : raw_;
  }

 private:
  uint32_t raw_;
};

}  // namespace sec
