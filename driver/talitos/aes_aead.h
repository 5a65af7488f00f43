// GCM and CCM in the AESU alone, which Linux's driver leaves out: gcm(aes) and rfc4106(gcm(aes)) by descriptor type 23
// (SEC 3.0 and later), ccm(aes) and rfc4309(ccm(aes)) by type 3 (SEC 2.0 and later). [T23][S2D]
//
// Type 23 takes the nonce in two parts: the extent of the key's pointer, for which rfc4106's salt lies right behind
// the key, and pointer 2. Type 3 takes B0 and A0 as context and the AAD with its length in front; how that context is
// laid out is told in hw/regs/aesu.h.
//
// The AESU compares the tag itself from SEC 2.1 on (ICCR0): GCM's comes as the extent of the data, CCM's in the
// context, so that it does not matter how the lists are cut. On SEC 2.0, and for CCM texts of several pieces, it is
// compared here.
//
// Texts longer than a descriptor carries go in pieces, the context handed on through memory. AAD must fit one pointer.
#pragma once
#include "driver/crypto/registry.h"
#include "driver/talitos/talitos.h"

namespace sec::driver {

struct AesAeadAlg {
  std::string_view name, driver;
  bool gcm, rfc;  // rfc: 4106 or 4309
  unsigned salt_bytes, iv_bytes;
  uint32_t header;  // without mode bits, direction, notification
};

/// What a request needs of its transform.
struct AesAeadProgram {
  const AesAeadAlg* alg = nullptr;
  KeySlot* key = nullptr;  // key and salt
  unsigned key_bytes = 0;
  unsigned auth_bytes = 16;
};

struct AesAeadJob : Job {
  AesAeadProgram program;
  const crypto::ScatterList* src_list = nullptr;
  const crypto::ScatterList* dst_list = nullptr;
  size_t aad_bytes = 0;  // in front of the text
  size_t authenticated_bytes = 0;
  size_t text_bytes = 0, left = 0;
  crypto::ScatterWalk src{nullptr}, dst{nullptr};
  uint8_t iv[16] = {};
  uint8_t received[16] = {};
  uint8_t* carried = nullptr;  // of several pieces: DMA memory for the context; kept from use to use
  bool encrypt = false;
  bool first_piece = true;
  bool hardware_check = false;
};

class TalitosAesAead final : public crypto::Aead {
 public:
  TalitosAesAead(Device& device, const AesAeadAlg& alg, const crypto::AlgorithmInfo& info);
  ~TalitosAesAead() override;

  const crypto::AlgorithmInfo& info() const override { return info_; }
  Status set_key(std::span<const uint8_t> key, uint32_t key_flags) override;
  Status set_auth_bytes(unsigned bytes) override;
  unsigned auth_bytes() const override { return program_.auth_bytes; }
  Status encrypt(crypto::AeadRequest& r) override { return submit(r, true); }
  Status decrypt(crypto::AeadRequest& r) override { return submit(r, false); }

  static std::span<const AesAeadAlg> algs();

 private:
  Status submit(const crypto::AeadRequest& r, bool encrypt);
  void drop_key();

  Device& device_;
  const AesAeadAlg& alg_;
  const crypto::AlgorithmInfo& info_;
  Device::Channel* channel_;
  AesAeadProgram program_;
};

}  // namespace sec::driver
