// A clocked unit for tests, with real AES: takes a block when it is offered and there is room, gives it back
// `block_clocks` later, and may take the next one on the same clock, as the functional unit's timing has it. Can raise
// an error on a given clock or after a number of blocks.
#pragma once
#include <openssl/evp.h>

#include "common/diag.h"
#include "hw/eu/clocked_unit.h"
#include "hw/eu/execution_unit.h"
#include "hw/regs/aesu.h"
#include "hw/regs/map.h"

namespace sec::test {

class ClockedAes final : public hw::ClockedUnit {
 public:
  explicit ClockedAes(const hw::Timing& t) : timing_(t) {}
  ~ClockedAes() override { EVP_CIPHER_CTX_free(ctx_); }

  uint64_t fail_at_tick = ~uint64_t{0};    // counted from load()
  uint64_t fail_at_block = ~uint64_t{0};   // instead of giving out this one
  uint64_t ticks = 0, loads = 0;
  uint64_t stop_after_blocks = ~uint64_t{0};  // then takes nothing any more

  uint32_t block_bytes() const override { return 16; }
  uint32_t load(uint8_t mode, const uint8_t* key, uint32_t key_bytes, const uint8_t* context, uint64_t bytes) override {
    using namespace regs::aesu_mode;
    ++loads;
    ticks = blocks_ = taken_ = 0;
    left_ = startup_ = 0;
    have_ = false;
    const uint8_t cm = mode & kCipherMode;
    if (mode & ~(kEncrypt | kCipherMode) || cm == kOfb) return regs::eu_error::kMe;
    if (key_bytes != 16 && key_bytes != 24 && key_bytes != 32) return regs::eu_error::kKse;
    if (bytes % 16) return regs::eu_error::kDse;
    encrypt_ = mode & kEncrypt;
    mode_ = cm;
    std::memcpy(chain_, context, 16);
    const char* names[] = {"AES-128-ECB", "AES-192-ECB", "AES-256-ECB"};
    if (!ctx_) ctx_ = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex(ctx_, EVP_get_cipherbyname(names[key_bytes / 8 - 2]), nullptr, key, nullptr, encrypt_ || cm == kCtr);
    EVP_CIPHER_CTX_set_padding(ctx_, 0);
    const hw::AesCost c = hw::aes_cost(timing_, key_bytes);
    block_clocks_ = c.block;
    startup_ = encrypt_ || cm == kCtr ? 0 : c.expansion;
    startup_clocks_ = startup_;
    return 0;
  }
  void tick(Ports& p) override {
    if (ticks++ == fail_at_tick) {
      p.error = regs::eu_error::kIe;
      return;
    }
    if (startup_) --startup_;
    if (have_ && --left_ == 0) {
      have_ = false;
      if (blocks_++ == fail_at_block) {
        p.error = regs::eu_error::kIe;
        return;
      }
      compute();
      std::memcpy(p.out, block_, 16);
      p.out_valid = true;
    }
    if (!have_ && !startup_ && p.in && p.out_ready && taken_ < stop_after_blocks) {
      std::memcpy(block_, p.in, 16);
      ++taken_;
      p.in_taken = have_ = true;
      left_ = block_clocks_;
    }
  }
  bool busy() const override { return have_ || startup_; }
  uint32_t context(uint8_t* out, uint32_t limit) const override {
    const uint32_t n = limit < 16 ? limit : 16;
    std::memcpy(out, chain_, n);
    return n;
  }
  uint32_t block_clocks() const { return block_clocks_; }
  uint32_t startup_clocks() const { return startup_clocks_; }

 private:
  void ecb(uint8_t* b) {
    int n = 0;
    SEC_CHECK(EVP_CipherUpdate(ctx_, b, &n, b, 16) == 1 && n == 16, "AES block");
  }
  void compute() {
    using namespace regs::aesu_mode;
    if (mode_ == kCtr) {
      uint8_t k[16];
      std::memcpy(k, chain_, 16);
      ecb(k);
      for (int i = 0; i < 16; ++i) block_[i] ^= k[i];
      for (int i = 15; i >= 0 && ++chain_[i] == 0; --i) {}
      return;
    }
    uint8_t in[16];
    std::memcpy(in, block_, 16);
    if (mode_ == kCbc && encrypt_)
      for (int i = 0; i < 16; ++i) block_[i] ^= chain_[i];
    ecb(block_);
    if (mode_ != kCbc) return;
    if (!encrypt_)
      for (int i = 0; i < 16; ++i) block_[i] ^= chain_[i];
    std::memcpy(chain_, encrypt_ ? block_ : in, 16);
  }
  hw::Timing timing_;
  EVP_CIPHER_CTX* ctx_ = nullptr;
  bool encrypt_ = false, have_ = false;
  uint8_t mode_ = 0, chain_[16] = {}, block_[16] = {};
  uint32_t left_ = 0, startup_ = 0, block_clocks_ = 11, startup_clocks_ = 0;
  uint64_t blocks_ = 0, taken_ = 0;
};

/// The execution unit around it, as the engine holds it.
class ClockedAesu final : public hw::ExecutionUnit {
 public:
  explicit ClockedAesu(const hw::Timing& t) : ExecutionUnit(regs::Eu::Aesu, "AESU", regs::kAesuBase, t), inner(t) {}
  ClockedAes inner;
  void process(const uint8_t* in, uint8_t* out, size_t n) override {  // slave mode: as many clocks as it takes
    for (size_t at = 0; at < n; at += 16) {
      hw::ClockedUnit::Ports p{};
      p.out_ready = true;
      p.in = in + at;
      for (int k = 0; k < 1000 && !p.out_valid; ++k) {
        inner.tick(p);
        if (p.in_taken) p.in = nullptr;
      }
      SEC_CHECK(p.out_valid, "the unit under test answers");
      std::memcpy(out + at, p.out, 16);
    }
  }
  uint32_t context(uint8_t* out, uint32_t limit) const override { return inner.context(out, limit); }
  uint32_t block_bytes() const override { return 16; }
  uint32_t block_clocks() const override { return inner.block_clocks(); }
  uint32_t startup_clocks() const override { return inner.startup_clocks(); }
  hw::ClockedUnit* clocked() override { return &inner; }

 protected:
  uint32_t prepare() override { return inner.load(mode_, key_.data(), key_bytes_, context_.data(), data_bytes_); }
};

}  // namespace sec::test
