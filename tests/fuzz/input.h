// Bytes of a fuzzer's input, taken from the front; zeros when there are no more.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace sec::test {

class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  uint8_t u8() {
    if (!left_) return 0;
    --left_;
    return *data_++;
  }
  uint16_t u16() { return static_cast<uint16_t>(u8() << 8 | u8()); }
  uint32_t u32() { return uint32_t{u16()} << 16 | u16(); }
  uint64_t u64() { return uint64_t{u32()} << 32 | u32(); }
  /// Below `n`, which is at most 65536.
  uint32_t below(uint32_t n) { return n <= 256 ? u8() % n : u16() % n; }
  std::vector<uint8_t> bytes(size_t n) {
    std::vector<uint8_t> b(n);
    const size_t k = n < left_ ? n : left_;
    if (k) std::memcpy(b.data(), data_, k);
    data_ += k;
    left_ -= k;
    return b;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

/// Repeatable noise for memory whose content matters little.
inline void fill_noise(uint8_t* p, size_t n, uint64_t seed) {
  for (size_t i = 0; i < n; ++i) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    p[i] = static_cast<uint8_t>(seed >> 56);
  }
}

/// A property that must hold: stops the fuzzer with a sentence.
[[noreturn]] void fuzz_failure(const char* sentence);

}  // namespace sec::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
