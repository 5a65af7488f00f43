// AEAD transforms on the engine: their keys, tag length, channel, and how one request becomes descriptors.
//
// authenc(hmac(H),cbc(C)): encrypt, then HMAC over AAD and ciphertext. One descriptor does both, the MDEU snooping what
// the cipher unit reads or writes. Two families: ipsec_esp (type 1), and hmac_snoop_no_afeu (type 4, "-hsna"), the only
// one that SEC 1 has. [LX][T23]
//
// The tag of an ipsec_esp decryption is compared by the engine where it can be: from SEC 2.1 on, when source and
// destination are one piece each, or from SEC 3.0 on always, where the source's link table covers the tag, too. [LX]
// Everything else has the engine's tag written to the slot's JobArea and compared here, in constant time. DeviceStats
// counts both.
//
// What one descriptor cannot do is composed of several, invisibly to the caller: text or AAD longer than a descriptor
// carries, and empty text, for which the cipher unit would wait for ever. The cipher runs in pieces that hand the IV
// on, and the HMAC as two plain hashes (inner over ipad, AAD and ciphertext, outer over opad and the inner digest) in
// pieces that hand the context on. That needs nothing of the MDEU that some part lacks: HMAC in a descriptor of its own
// exists from SEC 2.1 on only. [LX] Encryption ciphers first; decryption first hashes and compares, so nothing is
// deciphered when the tag is wrong.
#pragma once
#include <memory>

#include "driver/crypto/registry.h"
#include "driver/talitos/aes_aead.h"
#include "driver/talitos/algs.h"
#include "driver/talitos/hash.h"
#include "driver/talitos/talitos.h"

namespace sec::driver {

struct AeadAlg {
  std::string name, driver;
  uint32_t header = 0;         // of the combined descriptor: decryption, without direction and check
  uint32_t cipher_header = 0;  // of a cipher piece
  const HashRow* hash = nullptr;
  KeyRule key_rule = KeyRule::Aes;
  int priority = kPriority;
  unsigned block_bytes = 16, iv_bytes = 16;
  bool extra = false;  // not in Linux

  unsigned type() const { return header >> 3 & 0x1f; }
};

/// All rows, in the order of registration.
const std::vector<AeadAlg>& aead_algs();

/// What a request needs of its transform, so that the transform may be freed while the request runs.
struct AeadProgram {
  const AeadAlg* alg = nullptr;
  KeySlot* key = nullptr;
  unsigned auth_key_bytes = 0, cipher_key_bytes = 0;
  unsigned auth_bytes = 0;
};

/// Memory that the engine hands intermediate results through when a request is composed.
struct alignas(64) AeadWork {
  uint8_t inner_key[128];  // key ^ ipad, the first block of the inner hash
  uint8_t outer_key[128];  // key ^ opad, at its end, so that the inner digest follows
  uint8_t inner[64];
  uint8_t context[96];
  uint8_t icv[64];
  uint8_t iv[32];  // first IV, then the IV handed from piece to piece
};

struct AeadJob : Job {
  AeadProgram program;
  const crypto::ScatterList* src_list = nullptr;
  const crypto::ScatterList* dst_list = nullptr;
  size_t aad_bytes = 0, text_bytes = 0;
  uint8_t iv[16] = {};        // as it was at submission
  uint8_t received[64] = {};  // the tag that came, for a comparison here
  bool encrypt = false;
  bool hardware_check = false;

  // Composed only:
  enum class Phase : uint8_t { Cipher, Inner, Outer, End };
  AeadWork* work = nullptr;             // kept from use to use
  std::vector<crypto::Segment> hashed;  // ipad block, AAD, ciphertext
  crypto::ScatterList hashed_list;
  crypto::ScatterWalk hash_walk{nullptr}, src{nullptr}, dst{nullptr};
  size_t hash_left = 0, cipher_left = 0;
  bool first_piece = true;
  Phase phase = Phase::End;
};

struct AeadPools {
  JobPool<AeadJob> authenc;
  JobPool<AesAeadJob> aes;
};

/// Time and memory accesses do not depend on where the difference is.
bool equal_tags(const uint8_t* a, const uint8_t* b, size_t n);

class TalitosAead final : public crypto::Aead {
 public:
  TalitosAead(Device& device, const AeadAlg& alg, const crypto::AlgorithmInfo& info);
  ~TalitosAead() override;

  const crypto::AlgorithmInfo& info() const override { return info_; }
  Status set_key(std::span<const uint8_t> key, uint32_t key_flags) override;
  Status set_auth_bytes(unsigned bytes) override;
  unsigned auth_bytes() const override { return program_.auth_bytes; }
  Status encrypt(crypto::AeadRequest& r) override { return submit(r, true); }
  Status decrypt(crypto::AeadRequest& r) override { return submit(r, false); }
  unsigned channel() const { return channel_->index; }

 private:
  Status submit(const crypto::AeadRequest& r, bool encrypt);
  void drop_key();

  Device& device_;
  const AeadAlg& alg_;
  const crypto::AlgorithmInfo& info_;
  Device::Channel* channel_;
  AeadProgram program_;
};

}  // namespace sec::driver
