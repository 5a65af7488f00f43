// One row per cipher that the engine offers. `header` is the descriptor header for decryption without
// done notification; encryption sets the unit's ED bit, and every descriptor asks for notification.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "common/status.h"
#include "hw/regs/variants.h"

namespace sec::driver {

enum class KeyRule : uint8_t { Aes, Des, Des3, Rc4 };

struct CipherAlg {
  std::string_view name, driver;
  unsigned block_bytes, min_key_bytes, max_key_bytes, iv_bytes;
  KeyRule key_rule;
  uint32_t header;
  unsigned pad_to;  // stream modes: what the unit wants multiples of
  bool sec1_only = false, sec2_only = false;
  bool extra = false, sec3_only = false;  // extra: not in Linux

  constexpr regs::Eu unit() const { return static_cast<regs::Eu>(header >> 28); }
  constexpr unsigned type() const { return header >> 3 & 0x1f; }
};

inline constexpr int kPriority = 3000;

/// Length, and weak keys when they are forbidden.
Status check_cipher_key(KeyRule rule, std::span<const uint8_t> key, uint32_t key_flags);

std::span<const CipherAlg> cipher_algs();

}  // namespace sec::driver
