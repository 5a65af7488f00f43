// The block cipher KASUMI (3GPP TS 35.202), encryption only: eight Feistel rounds on 64 bits under a key of 128 bits.
// Written from the specification, since OpenSSL does not have it.
#pragma once
#include <array>
#include <cstdint>

namespace sec::hw {

class Kasumi {
 public:
  Kasumi() = default;
  /// `modifier` is repeated over the key and XORed to it (KM of f8 and f9), 0 for the key itself.
  Kasumi(const uint8_t key[16], uint8_t modifier);
  uint64_t encrypt(uint64_t block) const;

 private:
  struct Round {
    std::array<uint16_t, 2> kl;
    std::array<uint16_t, 3> ko, ki;
  };
  static uint32_t fl(uint32_t x, const Round& k);
  static uint32_t fo(uint32_t x, const Round& k);
  std::array<Round, 8> rounds_{};
};

}  // namespace sec::hw
