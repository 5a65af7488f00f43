// What the units of the fake engine compute, with OpenSSL and nothing of hw/.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace sec::test {

using Octets = std::vector<uint8_t>;

/// AESU (6), DEU (2) or AFEU (1) in place. `iv` (16 bytes) becomes the output IV. False: a mode or size that it does
/// not do.
bool fake_cipher(unsigned unit, uint8_t mode, const Octets& key, uint8_t* iv, Octets& data);

/// RC4 from a key, or from a state of 259 bytes (S-box, i, j, 0). Returns the state behind the data.
Octets fake_rc4(const Octets& key, const Octets& state, Octets& data);

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

/// GCM in pieces. `context` is empty for the first one, which has nonce (12 bytes) and AAD; else what the one before
/// left: GHASH, J0, counter, bits of AAD, bits of text. `data` becomes the output, `tag` is set by the last one.
void fake_gcm(const Octets& key, const Octets& nonce, const Octets& aad, bool encrypt, bool last, Octets& context,
              Octets& data, Octets* tag);
/// CCM in pieces. `context` has MAC (first: B0), ICV, counter (first: A0) and exponent; the AAD has its length in
/// front. `tag` is enciphered.
void fake_ccm(const Octets& key, const Octets& aad, bool encrypt, bool first, bool last, Octets& context, Octets& data,
              Octets* tag);

}  // namespace sec::test
