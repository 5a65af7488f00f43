#include "hw/eu/aes_key.h"

#include <array>

#include "common/endian.h"

namespace sec::hw {
namespace {

constexpr uint8_t times_x(uint8_t a) { return static_cast<uint8_t>(a << 1 ^ (a & 0x80 ? 0x1b : 0)); }
constexpr uint8_t times(uint8_t a, uint8_t b) {
  uint8_t r = 0;
  for (; b; b >>= 1, a = times_x(a))
    if (b & 1) r ^= a;
  return r;
}

/// FIPS 197, 5.1.1: the inverse in GF(2^8), then the affine map.
constexpr std::array<uint8_t, 256> kSbox = [] {
  std::array<uint8_t, 256> s{};
  for (unsigned i = 0; i < 256; ++i) {
    auto inverse = static_cast<uint8_t>(i);  // i^254
    for (int k = 0; k < 6; ++k) inverse = times(times(inverse, inverse), static_cast<uint8_t>(i));
    inverse = times(inverse, inverse);
    unsigned v = inverse;
    for (int k = 1; k < 5; ++k) v ^= inverse << k | inverse >> (8 - k);
    s[i] = static_cast<uint8_t>(v ^ 0x63);
  }
  return s;
}();
static_assert(kSbox[0x00] == 0x63 && kSbox[0x53] == 0xed && kSbox[0xff] == 0x16);

constexpr uint32_t sub_word(uint32_t w) {
  return uint32_t{kSbox[w >> 24]} << 24 | uint32_t{kSbox[w >> 16 & 0xff]} << 16 | uint32_t{kSbox[w >> 8 & 0xff]} << 8 |
         kSbox[w & 0xff];
}

/// What word i of the schedule adds to word i - nk (FIPS 197, 5.2), given word i - 1.
uint32_t step(unsigned i, unsigned nk, uint32_t before) {
  if (i % nk == 0) {
    uint8_t rcon = 1;
    for (unsigned k = 1; k < i / nk; ++k) rcon = times_x(rcon);
    return sub_word(before << 8 | before >> 24) ^ uint32_t { rcon } << 24;
  }
  return nk > 6 && i % nk == 4 ? sub_word(before) : before;
}

unsigned schedule_words(unsigned nk) { return 4 * (nk + 7); }

}  // namespace

// Both walk a ring of nk words: word i of the schedule lies at i % nk.

void aes_last_round_key(const uint8_t* key, uint32_t key_bytes, uint8_t* out) {
  const unsigned nk = key_bytes / 4, end = schedule_words(nk);
  uint32_t w[8];
  for (unsigned i = 0; i < nk; ++i) w[i] = load_be32(key + 4 * i);
  for (unsigned i = nk; i < end; ++i) w[i % nk] ^= step(i, nk, w[(i - 1) % nk]);
  for (unsigned i = 0; i < nk; ++i) store_be32(out + 4 * i, w[(end + i) % nk]);
}

void aes_original_key(const uint8_t* last, uint32_t key_bytes, uint8_t* out) {
  const unsigned nk = key_bytes / 4, end = schedule_words(nk);
  uint32_t w[8];
  for (unsigned i = 0; i < nk; ++i) w[(end + i) % nk] = load_be32(last + 4 * i);
  for (unsigned i = end; i-- > nk;) w[i % nk] ^= step(i, nk, w[(i - 1) % nk]);
  for (unsigned i = 0; i < nk; ++i) store_be32(out + 4 * i, w[i]);
}

}  // namespace sec::hw
