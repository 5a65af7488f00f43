// The key of an authenc(...) transform: authentication key and cipher key in one blob, laid out as the kernel's
// callers do it:
//   u16 length = 8, u16 type = 1 (host byte order), u32 cipher key bytes (big-endian), authentication key, cipher key
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "common/status.h"

namespace sec::crypto {

struct AuthencKeys {
  std::span<const uint8_t> auth, cipher;  // into the blob
};

std::vector<uint8_t> make_authenc_key(std::span<const uint8_t> auth, std::span<const uint8_t> cipher);
/// Invalid for a blob that is not one.
Status parse_authenc_key(std::span<const uint8_t> blob, AuthencKeys* keys);

}  // namespace sec::crypto
