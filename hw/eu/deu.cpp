#include "hw/eu/deu.h"

#include <algorithm>
#include <bit>

#include "common/diag.h"
#include "hw/regs/deu.h"
#include "hw/regs/eu_common.h"
#include "hw/regs/map.h"

namespace sec::hw {
namespace {
constexpr auto bit(uint64_t mask) { return static_cast<uint32_t>(mask); }
constexpr uint32_t kKpe = bit(regs::kEuInterruptStatus.mask("KPE"));
}  // namespace

// Single DES runs as EDE with three equal keys: the same function, and no legacy provider is needed.
Deu::Deu(const regs::Part& part, const Timing& timing)
    : ExecutionUnit(regs::Eu::Deu, "DEU", regs::kDeuBase, timing, {.context_bytes = 8, .key_bytes = 24}),
      parity_masked_(part.generation != regs::Generation::Sec1) {
  const char* const names[] = {"DES-EDE3-ECB", "DES-EDE3-CBC", "DES-EDE3-CFB", "DES-EDE3-OFB"};
  for (size_t m = 0; m < ciphers_.size(); ++m) ciphers_[m] = EVP_CIPHER_fetch(nullptr, names[m], nullptr);
  hard_reset();
}
Deu::~Deu() {
  for (auto* c : ciphers_) EVP_CIPHER_free(const_cast<EVP_CIPHER*>(c));
}
uint32_t Deu::default_interrupt_control() const { return parity_masked_ ? kKpe : 0; }

uint32_t Deu::prepare() {
  using namespace regs::deu_mode;
  const bool triple = mode_ & kTriple;
  const uint8_t cm = mode_ & kModeMask;
  if (mode_ & 0xf0) return bit(regs::kEuInterruptStatus.mask("ME"));
  if (triple ? key_bytes_ != 16 && key_bytes_ != 24 : key_bytes_ != 8) return bit(regs::kEuInterruptStatus.mask("KSE"));
  if (data_bytes_ % 8) return bit(regs::kEuInterruptStatus.mask("DSE"));
  uint32_t error = 0;
  for (uint32_t i = 0; i < key_bytes_; ++i)
    if (std::popcount(key_[i]) % 2 == 0) error = kKpe;
  if (error) {
    raise(error);
    if (error & ~interrupt_control()) return error;
  }
  uint8_t ede[24];
  std::memcpy(ede, key_.data(), 8);
  std::memcpy(ede + 8, triple ? key_.data() + 8 : key_.data(), 8);
  std::memcpy(ede + 16, triple && key_bytes_ == 24 ? key_.data() + 16 : key_.data(), 8);
  const bool encrypt = mode_ & kEncrypt;
  keyed_ = cache_.get(cm << 1 | encrypt, ciphers_[cm >> 2], ede, 24, encrypt);
  SEC_CHECK(keyed_, "DES key set-up");
  if (cm) keyed_->set_iv(context_.data(), 8);
  block_clocks_ = des_block_clocks(timing_, triple);
  return 0;
}

void Deu::process(const uint8_t* in, uint8_t* out, size_t n) {
  using namespace regs::deu_mode;
  const uint8_t cm = mode_ & kModeMask;
  const bool encrypt = mode_ & kEncrypt;
  uint8_t last[8];
  std::memcpy(last, in + n - 8, 8);  // before an in-place operation overwrites it
  SEC_CHECK(keyed_->run(out, in, n), "DES blocks");
  if (cm == kEcb) return;
  std::memcpy(context_.data(), encrypt || cm == kOfb64 ? out + n - 8 : last, 8);
  if (cm == kOfb64)
    for (int i = 0; i < 8; ++i) context_[static_cast<size_t>(i)] ^= last[i];
}

uint32_t Deu::context(uint8_t* out, uint32_t limit) const {
  const uint32_t n = std::min<uint32_t>(limit, 8);
  std::memcpy(out, context_.data(), n);
  return n;
}

}  // namespace sec::hw
