// Key checks of DES and triple DES, shared by every implementation so that they refuse the same keys.
// Parity bits (bit 0 of each byte) never matter: an all-zero key is the weak key 0101010101010101.
//
// Single DES: a length other than 8 is Invalid; with kForbidWeakKeys one of the 4 weak or 12 semi-weak
// keys is Invalid. Triple DES: a length other than 24 is Invalid; with kForbidWeakKeys K1 = K2 or K2 = K3
// (which make it single DES) is NoKey, the code that kernels return outside FIPS mode. K1 = K3 is accepted.
#pragma once
#include <cstdint>
#include <span>

#include "common/status.h"

namespace sec::crypto {

/// True for the weak and semi-weak keys of DES. `key` has 8 bytes.
bool des_key_is_weak(const uint8_t* key);

Status check_des_key(std::span<const uint8_t> key, uint32_t key_flags);
Status check_des3_key(std::span<const uint8_t> key, uint32_t key_flags);

}  // namespace sec::crypto
