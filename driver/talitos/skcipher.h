// A cipher transform on the engine: its key, its channel, and the descriptor program that follows from both.
#pragma once
#include "driver/crypto/registry.h"
#include "driver/talitos/algs.h"
#include "driver/talitos/talitos.h"

namespace sec::driver {

class TalitosSkcipher final : public crypto::Skcipher {
 public:
  TalitosSkcipher(Device& device, const CipherAlg& alg, const crypto::AlgorithmInfo& info);
  ~TalitosSkcipher() override;

  const crypto::AlgorithmInfo& info() const override { return info_; }
  Status set_key(std::span<const uint8_t> key, uint32_t key_flags) override;
  Status encrypt(crypto::SkcipherRequest& r) override;
  Status decrypt(crypto::SkcipherRequest& r) override;
  /// The channel that all requests of this transform go to.
  unsigned channel() const { return channel_->index; }

 private:
  void drop_key();

  Device& device_;
  const CipherAlg& alg_;
  const crypto::AlgorithmInfo& info_;
  Device::Channel* channel_;
  CipherProgram program_;
};

}  // namespace sec::driver
