#include "hw/eu/keu.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/endian.h"
#include "hw/regs/keu.h"
#include "hw/regs/map.h"

namespace sec::hw {
namespace {
using namespace regs::keu_mode;
constexpr uint8_t kF8Modifier = 0x55, kF9Modifier = 0xaa;  // KM
constexpr uint32_t kContextBytes =
    regs::kKeuContext.offset_bytes + regs::kKeuContext.size_bytes - regs::kKeuIv1.offset_bytes;
}  // namespace

Keu::Keu(const Timing& timing)
    : F8F9Unit(regs::Eu::Keu, "KEU", regs::kKeuBase, timing, {.context_bytes = kContextBytes, .key_bytes = 32}) {
  block_clocks_ = std::max(1u, static_cast<uint32_t>(std::ceil(timing.keu_block_clocks)));
  hard_reset();
}

void Keu::clear() {
  F8F9Unit::clear();
  a_ = b_ = blocks_ = 0;
  selected_key_.fill(0);
  cipher_ = {};
}

bool Keu::legal(bool& f9) const {
  const uint8_t algorithm = mode_ & kAlgorithmMask, a53 = mode_ & (kGsm | kEdge);
  f9 = algorithm == kF9;
  return !(mode_ & 0x01) && (algorithm == kF8 || (f9 && !a53)) && a53 != (kGsm | kEdge);
}

bool Keu::legal_key() const {
  return key_bytes_ == 16 || key_bytes_ == 32 || (key_bytes_ == 8 && mode_ & (kGsm | kEdge));
}

void Keu::begin_cipher(bool init) {
  const uint8_t* key = key_.data() + (f9_ && key_bytes_ == 32 ? 16 : 0);
  for (uint32_t i = 0; i < 16; ++i) selected_key_[i] = key[key_bytes_ == 8 ? i % 8 : i];
  cipher_ = Kasumi(selected_key_.data(), 0);
  if (!init) {
    a_ = load_be64(context_.data() + kState);
    b_ = load_be64(context_.data() + kState + 8);
    blocks_ = load_be64(context_.data() + kState + 16);
  } else if (f9_) {
    a_ = b_ = blocks_ = 0;
    // COUNT and FRESH are the first block.
    f9_block(uint64_t{load_be32(context_.data() + kIv1)} << 32 | load_be32(context_.data() + kIv2 + 4));
    startup_clocks_ = block_clocks_;
  } else {
    uint64_t iv = load_be64(context_.data() + kIv1);
    if (mode_ & kGsm) iv |= 0x0f0000;  // CA, bits 16 to 23
    if (mode_ & kEdge) iv |= 0xf00000;
    a_ = Kasumi(selected_key_.data(), kF8Modifier).encrypt(iv);
    b_ = blocks_ = 0;
    startup_clocks_ = block_clocks_;
  }
  if (f9_ && mode_ & kEndOfMessage) finish_clocks_ = 2 * block_clocks_;
}

void Keu::f8(const uint8_t* in, uint8_t* out, size_t n) {
  for (size_t i = 0; i < n; i += 8) {
    b_ = cipher_.encrypt(a_ ^ blocks_++ ^ b_);
    uint8_t stream[8];
    store_be64(stream, b_);
    const size_t k = std::min<size_t>(8, n - i);
    for (size_t j = 0; j < k; ++j) out[i + j] = in[i + j] ^ stream[j];
  }
}

void Keu::f9_block(uint64_t block) {
  a_ = cipher_.encrypt(a_ ^ block);
  b_ ^= a_;
}

void Keu::f9_blocks(const uint8_t* in, size_t n) {
  for (size_t i = 0; i < n; i += 8) f9_block(load_be64(in + i));
}

uint32_t Keu::f9_end(const uint8_t* tail, uint32_t n) {
  uint8_t last[8] = {};
  std::memcpy(last, tail, n);
  last[n] = static_cast<uint8_t>(direction() << 7 | 0x40);  // the direction and a one
  f9_block(load_be64(last));
  return static_cast<uint32_t>(Kasumi(selected_key_.data(), kF9Modifier).encrypt(b_) >> 32);
}

void Keu::save_state(uint8_t* state) const {
  store_be64(state, a_);
  store_be64(state + 8, b_);
  store_be64(state + 16, blocks_);
}

}  // namespace sec::hw
