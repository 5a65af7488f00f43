// The AES key schedule run to its end and back again, for RDK: with that bit set, the key register holds the last
// words of the expanded key (as many as the key has), and a decryption needs no expansion of its own. [T23]
// ASSUMED: "last round key" of a 192- or 256-bit key means as many bytes as the key has.
#pragma once
#include <cstdint>

namespace sec::hw {

/// What a decryption starts with: the last key_bytes (16, 24 or 32) of the expanded key.
void aes_last_round_key(const uint8_t* key, uint32_t key_bytes, uint8_t* out);
/// The key whose expansion ends with `last`.
void aes_original_key(const uint8_t* last, uint32_t key_bytes, uint8_t* out);

}  // namespace sec::hw
