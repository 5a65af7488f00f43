// What the units of the fake engine compute, with OpenSSL and nothing of hw/.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace sec::test {

using Octets = std::vector<uint8_t>;

/// AESU (6), DEU (2) or AFEU (1) in place. `iv` (16 bytes) becomes the output IV. False: a mode or size that it does not do.
bool fake_cipher(unsigned unit, uint8_t mode, const Octets& key, uint8_t* iv, Octets& data);

/// MDEU under code 3 or 11.
class FakeHash {
 public:
  FakeHash(unsigned unit, uint8_t mode, const Octets& key, const Octets& context);
  ~FakeHash();
  bool good() const { return good_; }
  unsigned block_bytes() const;
  void update(const Octets& data);
  /// The digest, or the context when the hash stays open.
  Octets finish();

 private:
  struct State;
  std::unique_ptr<State> s_;
  bool good_ = true;
};

/// GCM with a nonce of any length; `data` becomes the output. Returns the 16-byte tag of the message.
Octets fake_gcm(const Octets& key, const Octets& nonce, const Octets& aad, bool encrypt, Octets& data);
/// CCM as the AESU has it: B0 and A0, the AAD with its length in front. Returns the 16 bytes of MAC, enciphered with A0.
Octets fake_ccm(const Octets& key, const uint8_t* b0, const uint8_t* a0, const Octets& aad, bool encrypt, Octets& data);

}  // namespace sec::test
