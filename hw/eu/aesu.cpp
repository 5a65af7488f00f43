#include "hw/eu/aesu.h"

#include <algorithm>

#include "common/diag.h"
#include "hw/regs/aesu.h"
#include "hw/regs/eu_common.h"
#include "hw/regs/map.h"

namespace sec::hw {
namespace {
constexpr auto bit(uint64_t mask) { return static_cast<uint32_t>(mask); }
constexpr uint8_t kKnown = regs::aesu_mode::kEncrypt | regs::aesu_mode::kCipherMode;
}  // namespace

Aesu::Aesu(const Timing& timing) : ExecutionUnit(regs::Eu::Aesu, "AESU", regs::kAesuBase, timing) {
  static const char* const names[3][3] = {{"AES-128-ECB", "AES-192-ECB", "AES-256-ECB"},
                                          {"AES-128-CBC", "AES-192-CBC", "AES-256-CBC"},
                                          {"AES-128-CTR", "AES-192-CTR", "AES-256-CTR"}};
  for (int m = 0; m < 3; ++m)
    for (int k = 0; k < 3; ++k) ciphers_[m][k] = EVP_CIPHER_fetch(nullptr, names[m][k], nullptr);
  for (unsigned k = 0; k < 3; ++k) costs_[k] = aes_cost(timing, 16 + 8 * k);
}
Aesu::~Aesu() {
  for (auto& row : ciphers_)
    for (auto* c : row) EVP_CIPHER_free(const_cast<EVP_CIPHER*>(c));
}

uint32_t Aesu::prepare() {
  using namespace regs::aesu_mode;
  if (mode_ & ~kKnown || (mode_ & kCipherMode) == 4) {
    ++unmodelled_;
    return bit(regs::kEuInterruptStatus.mask("ME"));
  }
  if (key_bytes_ != 16 && key_bytes_ != 24 && key_bytes_ != 32) return bit(regs::kEuInterruptStatus.mask("KSE"));
  if (data_bytes_ % 16) return bit(regs::kEuInterruptStatus.mask("DSE"));
  const unsigned k = (key_bytes_ - 16) / 8;
  const uint8_t cm = mode_ & kCipherMode;
  const unsigned m = cm == kEcb ? 0 : cm == kCbc ? 1 : 2;
  const bool encrypt = m == 2 || (mode_ & kEncrypt);
  keyed_ = cache_.get(m << 1 | encrypt, ciphers_[m][k], key_.data(), key_bytes_, encrypt);
  SEC_CHECK(keyed_, "AES key set-up");
  if (m) keyed_->set_iv(context_.data(), 16);
  block_clocks_ = costs_[k].block;
  startup_clocks_ = encrypt ? 0 : costs_[k].expansion;  // without RDK a decryption first expands its key [T23 names RDK]
  return 0;
}

void Aesu::process(const uint8_t* in, uint8_t* out, size_t n) {
  using namespace regs::aesu_mode;
  const uint8_t cm = mode_ & kCipherMode;
  uint8_t last[16];
  const bool cbc = cm == kCbc, encrypt = mode_ & kEncrypt;
  if (cbc && !encrypt) std::memcpy(last, in + n - 16, 16);  // before an in-place decryption overwrites it
  SEC_CHECK(keyed_->run(out, in, n), "AES blocks");
  if (cbc) {
    std::memcpy(context_.data(), encrypt ? out + n - 16 : last, 16);
  } else if (cm == kCtr) {
    uint64_t add = n / 16;
    for (int i = 15; i >= 0 && add; --i) {
      add += context_[static_cast<size_t>(i)];
      context_[static_cast<size_t>(i)] = static_cast<uint8_t>(add);
      add >>= 8;
    }
  }
}

uint32_t Aesu::context(uint8_t* out, uint32_t limit) const {
  const uint32_t n = std::min<uint32_t>(limit, 16);
  std::memcpy(out, context_.data(), n);
  return n;
}

}  // namespace sec::hw
