#include "hw/eu/steu.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/endian.h"
#include "hw/regs/map.h"
#include "hw/regs/steu.h"

namespace sec::hw {
namespace {
using namespace regs::steu_mode;
constexpr uint32_t kContextBytes = regs::kSteuFsm.offset_bytes + 12 - regs::kSteuIv1.offset_bytes;
constexpr uint32_t kLfsr = regs::kSteuLfsr.offset_bytes - regs::kSteuContext.offset_bytes;  // in the state

// ---- tables of SNOW 3G, made from their definitions ----

/// MULx and MULxPOW of the specification: times x, times x^n, modulo the polynomial whose low bits are `c`.
constexpr uint8_t mul_x(uint8_t v, uint8_t c) { return static_cast<uint8_t>(v & 0x80 ? v << 1 ^ c : v << 1); }
constexpr uint8_t mul_x_pow(uint8_t v, unsigned n, uint8_t c) {
  while (n--) v = mul_x(v, c);
  return v;
}
constexpr uint8_t multiply(uint8_t a, uint8_t b, uint8_t c) {
  uint8_t r = 0;
  for (int i = 7; i >= 0; --i) r = static_cast<uint8_t>(mul_x(r, c) ^ (b >> i & 1 ? a : 0));
  return r;
}
constexpr uint8_t power(uint8_t a, unsigned n, uint8_t c) {
  uint8_t r = 1;
  for (; n; n >>= 1, a = multiply(a, a, c))
    if (n & 1) r = multiply(r, a, c);
  return r;
}

struct Tables {
  std::array<std::array<uint32_t, 256>, 4> s1, s2;  // one for each byte of the word, most significant first
  std::array<uint32_t, 256> mul_alpha, div_alpha;

  Tables() {
    for (unsigned i = 0; i < 256; ++i) {
      const auto x = static_cast<uint8_t>(i);
      // SR is the S-box of AES: the inverse, then an affine map.
      const uint8_t inverse = power(x, 254, 0x1b);
      uint8_t sr = 0x63;
      for (unsigned r = 0; r < 5; ++r) sr = static_cast<uint8_t>(sr ^ (inverse << r | inverse >> (8 - r)));
      // SQ is a Dickson polynomial.
      uint8_t sq = 0x25;
      for (const unsigned n : {1u, 9u, 13u, 15u, 33u, 41u, 45u, 47u, 49u}) sq ^= power(x, n, 0x69);
      fill(s1, x, sr, 0x1b);
      fill(s2, x, sq, 0x69);
      auto word = [&](unsigned a, unsigned b, unsigned c, unsigned d) {
        return uint32_t{mul_x_pow(x, a, 0xa9)} << 24 | uint32_t{mul_x_pow(x, b, 0xa9)} << 16 |
               uint32_t{mul_x_pow(x, c, 0xa9)} << 8 | mul_x_pow(x, d, 0xa9);
      };
      mul_alpha[i] = word(23, 245, 48, 239);
      div_alpha[i] = word(16, 39, 6, 64);
    }
  }
  /// What byte w0 adds to the result is (2, 3, 1, 1) times its substitute; the other bytes' parts are rotated.
  static void fill(std::array<std::array<uint32_t, 256>, 4>& t, uint8_t x, uint8_t s, uint8_t c) {
    const uint8_t twice = mul_x(s, c), thrice = twice ^ s;
    uint32_t w = uint32_t{twice} << 24 | uint32_t{thrice} << 16 | uint32_t{s} << 8 | s;
    for (auto& of_byte : t) {
      of_byte[x] = w;
      w = w >> 8 | w << 24;
    }
  }
  static uint32_t substitute(const std::array<std::array<uint32_t, 256>, 4>& t, uint32_t w) {
    return t[0][w >> 24] ^ t[1][w >> 16 & 0xff] ^ t[2][w >> 8 & 0xff] ^ t[3][w & 0xff];
  }
};
const Tables& tables() {
  static const Tables t;
  return t;
}

/// Product in GF(2^64) with x^64 + x^4 + x^3 + x + 1.
uint64_t multiply64(uint64_t a, uint64_t b) {
  uint64_t r = 0;
  for (int i = 63; i >= 0; --i) {
    r = r << 1 ^ (r >> 63 ? 0x1b : 0);
    if (b >> i & 1) r ^= a;
  }
  return r;
}
}  // namespace

uint32_t Snow3g::clock_fsm() {
  const Tables& t = tables();
  const uint32_t f = (s(15) + r1_) ^ r2_, r = r2_ + (r3_ ^ s(5));
  r3_ = Tables::substitute(t.s2, r2_);
  r2_ = Tables::substitute(t.s1, r1_);
  r1_ = r;
  return f;
}

void Snow3g::clock_lfsr(uint32_t feedback) {
  const Tables& t = tables();
  const uint32_t v = s(0) << 8 ^ t.mul_alpha[s(0) >> 24] ^ s(2) ^ s(11) >> 8 ^ t.div_alpha[s(11) & 0xff] ^ feedback;
  s(0) = v;
  head_ = (head_ + 1) % 16;
}

void Snow3g::start(const std::array<uint32_t, 4>& k, const std::array<uint32_t, 4>& iv) {
  head_ = 0;
  r1_ = r2_ = r3_ = 0;
  for (unsigned i = 0; i < 16; ++i) s_[i] = i < 4 || (i >= 8 && i < 12) ? ~k[i % 4] : k[i % 4];
  s_[15] ^= iv[0];
  s_[12] ^= iv[1];
  s_[10] ^= iv[2];
  s_[9] ^= iv[3];
  for (unsigned i = 0; i < 32; ++i) clock_lfsr(clock_fsm());
  clock_fsm();  // its output is not used
  clock_lfsr(0);
}

uint32_t Snow3g::next() {
  const uint32_t z = clock_fsm() ^ s(0);
  clock_lfsr(0);
  return z;
}

void Snow3g::save(uint8_t out[76]) const {
  for (unsigned i = 0; i < 16; ++i) store_be32(out + 4 * i, s(i));
  store_be32(out + 64, r1_);
  store_be32(out + 68, r2_);
  store_be32(out + 72, r3_);
}
void Snow3g::load(const uint8_t in[76]) {
  head_ = 0;
  for (unsigned i = 0; i < 16; ++i) s_[i] = load_be32(in + 4 * i);
  r1_ = load_be32(in + 64);
  r2_ = load_be32(in + 68);
  r3_ = load_be32(in + 72);
}

Steu::Steu(const Timing& timing)
    : F8F9Unit(regs::Eu::Steu, "STEU", regs::kSteuBase, timing, {.context_bytes = kContextBytes, .key_bytes = 16}),
      word_clocks_(std::max(1u, static_cast<uint32_t>(std::ceil(timing.steu_word_clocks)))) {
  block_clocks_ = 2 * word_clocks_;
  hard_reset();
}

void Steu::clear() {
  F8F9Unit::clear();
  generator_ = {};
  eval_ = p_ = q_ = bits_ = 0;
  z5_ = 0;
}

bool Steu::legal(bool& f9) const {
  const uint8_t algorithm = mode_ & kAlgorithmMask;
  f9 = algorithm == kF9;
  return (algorithm == kF8 || f9) && !(mode_ & ~(kCheckIcv | kEndOfMessage | kInit | kAlgorithmMask));
}

void Steu::begin_cipher(bool init) {
  if (f9_ && mode_ & kEndOfMessage) finish_clocks_ = 2 * word_clocks_;
  const uint8_t* state = context_.data() + kState;
  if (!init) {
    if (!f9_) return generator_.load(state + kLfsr);
    eval_ = load_be64(state);
    p_ = load_be64(state + 8);
    q_ = load_be64(state + 16);
    z5_ = load_be32(state + 24);
    bits_ = load_be64(state + kLfsr);
    return;
  }
  std::array<uint32_t, 4> key;
  for (unsigned i = 0; i < 4; ++i) key[3 - i] = load_be32(key_.data() + 4 * i);
  const uint32_t count = load_be32(context_.data() + kIv1);
  startup_clocks_ = static_cast<uint32_t>(std::ceil(timing_.steu_init_clocks));
  if (!f9_) {
    const uint32_t bearer_direction = load_be32(context_.data() + kIv1 + 4);
    generator_.start(key, {bearer_direction, count, bearer_direction, count});
    return;
  }
  const uint32_t fresh = load_be32(context_.data() + kIv2 + 4), d = direction();
  generator_.start(key, {fresh ^ d << 15, count ^ d << 31, fresh, count});
  uint32_t z[5];
  for (uint32_t& w : z) w = generator_.next();
  p_ = uint64_t{z[0]} << 32 | z[1];
  q_ = uint64_t{z[2]} << 32 | z[3];
  z5_ = z[4];
  eval_ = bits_ = 0;
  startup_clocks_ += 5 * word_clocks_;
}

void Steu::f8(const uint8_t* in, uint8_t* out, size_t n) {
  for (size_t i = 0; i < n; i += 4) {
    uint8_t stream[4];
    store_be32(stream, generator_.next());
    const size_t k = std::min<size_t>(4, n - i);
    for (size_t j = 0; j < k; ++j) out[i + j] = in[i + j] ^ stream[j];
  }
}

void Steu::f9_blocks(const uint8_t* in, size_t n) {
  for (size_t i = 0; i < n; i += 8) eval_ = multiply64(eval_ ^ load_be64(in + i), p_);
  bits_ += 8 * uint64_t{n};
}

uint32_t Steu::f9_end(const uint8_t* tail, uint32_t n) {
  if (n) {
    uint8_t last[8] = {};
    std::memcpy(last, tail, n);
    f9_blocks(last, 8);
    bits_ -= 8 * (8 - n);
  }
  return static_cast<uint32_t>(multiply64(eval_ ^ bits_, q_) >> 32) ^ z5_;
}

void Steu::save_state(uint8_t* state) const {
  if (!f9_) return generator_.save(state + kLfsr);
  store_be64(state, eval_);
  store_be64(state + 8, p_);
  store_be64(state + 16, q_);
  store_be32(state + 24, z5_);
  store_be64(state + kLfsr, bits_);
}

}  // namespace sec::hw
