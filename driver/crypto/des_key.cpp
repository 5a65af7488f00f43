#include "driver/crypto/des_key.h"

#include <array>

#include "common/endian.h"
#include "driver/crypto/registry.h"

namespace sec::crypto {
namespace {

constexpr uint64_t kNoParity = 0xfefefefefefefefe;

// NIST SP 800-67: the keys whose sixteen round keys are all equal (weak) or take two values (semi-weak).
constexpr std::array<uint64_t, 16> kWeakKeys = {
    0x0101010101010101, 0xfefefefefefefefe, 0x1f1f1f1f0e0e0e0e, 0xe0e0e0e0f1f1f1f1,  // weak
    0x01fe01fe01fe01fe, 0xfe01fe01fe01fe01, 0x1fe01fe00ef10ef1, 0xe01fe01ff10ef10e,  // semi-weak pairs
    0x01e001e001f101f1, 0xe001e001f101f101, 0x1ffe1ffe0efe0efe, 0xfe1ffe1ffe0efe0e,
    0x011f011f010e010e, 0x1f011f010e010e01, 0xe0fee0fef1fef1fe, 0xfee0fee0fef1fef1};

}  // namespace

bool des_key_is_weak(const uint8_t* key) {
  const uint64_t k = load_be64(key) & kNoParity;
  for (uint64_t w : kWeakKeys)
    if (k == (w & kNoParity)) return true;
  return false;
}

Status check_des_key(std::span<const uint8_t> key, uint32_t key_flags) {
  if (key.size() != 8) return Status::Invalid;
  if ((key_flags & kForbidWeakKeys) && des_key_is_weak(key.data())) return Status::Invalid;
  return Status::Ok;
}

Status check_des3_key(std::span<const uint8_t> key, uint32_t key_flags) {
  if (key.size() != 24) return Status::Invalid;
  if (key_flags & kForbidWeakKeys) {
    const uint64_t k1 = load_be64(key.data()) & kNoParity;
    const uint64_t k2 = load_be64(key.data() + 8) & kNoParity;
    const uint64_t k3 = load_be64(key.data() + 16) & kNoParity;
    if (k1 == k2 || k2 == k3) return Status::NoKey;
  }
  return Status::Ok;
}

}  // namespace sec::crypto
