#define OPENSSL_SUPPRESS_DEPRECATED  // only the old interface gives access to a hash's state
#include "tests/driver/fake_units.h"

#include <openssl/evp.h>
#include <openssl/md5.h>
#include <openssl/sha.h>

#include <cstring>
#include <string>

namespace sec::test {
namespace {

struct Cipher {
  Cipher(const std::string& name, const Octets& key, const uint8_t* iv, bool encrypt)
      : c(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr)), x(EVP_CIPHER_CTX_new()) {
    good = c && EVP_CipherInit_ex2(x, c, key.data(), iv, encrypt, nullptr) == 1 && EVP_CIPHER_CTX_set_padding(x, 0) == 1;
  }
  ~Cipher() {
    EVP_CIPHER_CTX_free(x);
    EVP_CIPHER_free(c);
  }
  Octets run(const Octets& in) {
    Octets out(in.size() + 32);
    int n = 0;
    if (!in.empty()) good = good && EVP_CipherUpdate(x, out.data(), &n, in.data(), static_cast<int>(in.size())) == 1;
    out.resize(in.size());
    return out;
  }
  EVP_CIPHER* c;
  EVP_CIPHER_CTX* x;
  bool good;
};

void count_up(uint8_t* counter, size_t blocks) {
  while (blocks--)
    for (int b = 15; b >= 0 && ++counter[b] == 0; --b) {
    }
}

std::string aes(const Octets& key, const char* mode) { return "AES-" + std::to_string(key.size() * 8) + "-" + mode; }

}  // namespace

bool fake_cipher(unsigned unit, uint8_t mode, const Octets& key, uint8_t* iv, Octets& data) {
  const bool encrypt = mode & 1;
  if (unit == 6) {
    const char* name = nullptr;
    switch (mode & 0xc6) {
      case 0x00: name = "ECB"; break;
      case 0x02: name = "CBC"; break;
      case 0x04: name = "OFB"; break;
      case 0x06: name = "CTR"; break;
      case 0x86: name = "CFB"; break;
      default: return false;
    }
    if (data.empty() || data.size() % 16) return false;
    const bool always = (mode & 0xc6) == 0x06;  // CTR has no direction
    Cipher c(aes(key, name), key, iv, encrypt || always);
    const Octets out = c.run(data);
    if (!c.good) return false;
    if (always) {
      count_up(iv, data.size() / 16);
    } else if ((mode & 0xc6) == 0x04) {  // the key stream's last block
      for (int i = 0; i < 16; ++i) iv[i] = data[data.size() - 16 + i] ^ out[data.size() - 16 + i];
    } else if (mode & 0xc6) {
      std::memcpy(iv, (encrypt ? out : data).data() + data.size() - 16, 16);
    }
    data = out;
    return true;
  }
  if (unit == 2) {
    const char* names[] = {"DES-EDE3", "DES-EDE3-CBC", "DES-EDE3-CFB", "DES-EDE3-OFB"};
    Octets k = key;
    while (k.size() < 24) k.insert(k.end(), key.begin(), key.end());  // single DES is triple DES with one key
    if (data.empty() || data.size() % 8) return false;
    const unsigned cm = mode >> 2 & 3;
    Cipher c(names[cm], k, iv, encrypt);
    const Octets out = c.run(data);
    if (!c.good) return false;
    if (cm == 3)
      for (int i = 0; i < 8; ++i) iv[i] = data[data.size() - 8 + i] ^ out[data.size() - 8 + i];
    else if (cm)
      std::memcpy(iv, (encrypt ? out : data).data() + data.size() - 8, 8);
    data = out;
    return true;
  }
  return false;
}

struct FakeHash::State {
  enum Kind { kMd5, kSha1, kSha256, kSha512 } kind;
  unsigned digest_bytes = 0;
  uint8_t mode = 0;
  Octets key;
  MD5_CTX md5;
  SHA_CTX sha1;
  SHA256_CTX sha256;
  SHA512_CTX sha512;

  void init() {
    if (kind == kMd5) MD5_Init(&md5);
    if (kind == kSha1) SHA1_Init(&sha1);
    if (kind == kSha256) digest_bytes == 28 ? SHA224_Init(&sha256) : SHA256_Init(&sha256);
    if (kind == kSha512) digest_bytes == 48 ? SHA384_Init(&sha512) : SHA512_Init(&sha512);
  }
  void update(const uint8_t* p, size_t n) {
    if (kind == kMd5) MD5_Update(&md5, p, n);
    if (kind == kSha1) SHA1_Update(&sha1, p, n);
    if (kind == kSha256) SHA256_Update(&sha256, p, n);
    if (kind == kSha512) SHA512_Update(&sha512, p, n);
  }
  Octets digest() {
    Octets out(64);
    if (kind == kMd5) MD5_Final(out.data(), &md5);
    if (kind == kSha1) SHA1_Final(out.data(), &sha1);
    if (kind == kSha256) SHA256_Final(out.data(), &sha256);
    if (kind == kSha512) SHA512_Final(out.data(), &sha512);
    out.resize(digest_bytes);
    return out;
  }
  unsigned block() const { return kind == kSha512 ? 128 : 64; }
  void pad_key(uint8_t value) {
    Octets k = key;
    k.resize(block());
    for (uint8_t& b : k) b ^= value;
    update(k.data(), k.size());
  }
  // State words in the order of the digest, then the count of bits.
  Octets save() const {
    Octets out(kind == kSha512 ? 0x48 : 0x28);
    uint64_t bits = 0;
    const auto put32 = [&](unsigned i, uint32_t w, bool little) {
      for (unsigned b = 0; b < 4; ++b) out[4 * i + b] = static_cast<uint8_t>(w >> (little ? 8 * b : 24 - 8 * b));
    };
    if (kind == kMd5) {
      const uint32_t w[4] = {md5.A, md5.B, md5.C, md5.D};
      for (unsigned i = 0; i < 4; ++i) put32(i, w[i], true);
      bits = uint64_t{md5.Nh} << 32 | md5.Nl;
    } else if (kind == kSha1) {
      const uint32_t w[5] = {sha1.h0, sha1.h1, sha1.h2, sha1.h3, sha1.h4};
      for (unsigned i = 0; i < 5; ++i) put32(i, w[i], false);
      bits = uint64_t{sha1.Nh} << 32 | sha1.Nl;
    } else if (kind == kSha256) {
      for (unsigned i = 0; i < 8; ++i) put32(i, sha256.h[i], false);
      bits = uint64_t{sha256.Nh} << 32 | sha256.Nl;
    } else {
      for (unsigned i = 0; i < 8; ++i)
        for (unsigned b = 0; b < 8; ++b) out[8 * i + b] = static_cast<uint8_t>(sha512.h[i] >> (56 - 8 * b));
      bits = sha512.Nl;
    }
    for (unsigned b = 0; b < 8; ++b) out[out.size() - 8 + b] = static_cast<uint8_t>(bits >> (56 - 8 * b));
    return out;
  }
  bool load(const Octets& in) {
    if (in.size() != (kind == kSha512 ? 0x48u : 0x28u)) return false;
    init();
    const auto get = [&](unsigned at, unsigned n, bool little) {
      uint64_t v = 0;
      for (unsigned b = 0; b < n; ++b) v |= uint64_t{in[at + b]} << 8 * (little ? b : n - 1 - b);
      return v;
    };
    const uint64_t bits = get(static_cast<unsigned>(in.size()) - 8, 8, false);
    const auto w = [&](unsigned i) { return static_cast<uint32_t>(get(4 * i, 4, kind == kMd5)); };
    const auto lo = static_cast<uint32_t>(bits), hi = static_cast<uint32_t>(bits >> 32);
    if (kind == kMd5) {
      md5.A = w(0), md5.B = w(1), md5.C = w(2), md5.D = w(3), md5.Nl = lo, md5.Nh = hi;
    } else if (kind == kSha1) {
      sha1.h0 = w(0), sha1.h1 = w(1), sha1.h2 = w(2), sha1.h3 = w(3), sha1.h4 = w(4), sha1.Nl = lo, sha1.Nh = hi;
    } else if (kind == kSha256) {
      for (unsigned i = 0; i < 8; ++i) sha256.h[i] = w(i);
      sha256.Nl = lo, sha256.Nh = hi;
    } else {
      for (unsigned i = 0; i < 8; ++i) sha512.h[i] = get(8 * i, 8, false);
      sha512.Nl = bits, sha512.Nh = 0;
    }
    return true;
  }
};

FakeHash::FakeHash(unsigned unit, uint8_t mode, const Octets& key, const Octets& context) : s_(std::make_unique<State>()) {
  const unsigned alg = mode & 3;
  const bool b = unit == 11;
  s_->kind = alg & 1 ? State::kSha256 : b ? State::kSha512 : alg == 0 ? State::kSha1 : State::kMd5;
  s_->digest_bytes = alg == 1 ? 32 : alg == 3 ? 28 : b ? (alg == 0 ? 48 : 64) : alg == 0 ? 20 : 16;
  s_->mode = mode;
  s_->key = key;
  if (mode & 0x10) {
    s_->init();
    if (mode & 0x08) s_->pad_key(0x36);
  } else {
    good_ = s_->load(context);
  }
  if (key.size() > s_->block()) good_ = false;
}
FakeHash::~FakeHash() = default;

unsigned FakeHash::block_bytes() const { return s_->block(); }
void FakeHash::update(const Octets& data) { s_->update(data.data(), data.size()); }

Octets FakeHash::finish() {
  if (s_->mode & 0x80) return s_->save();
  if (!(s_->mode & 0x04)) {  // no padding: the state is the digest
    Octets out = s_->save();
    out.resize(s_->digest_bytes);
    return out;
  }
  Octets out = s_->digest();
  if (s_->mode & 0x08) {
    s_->init();
    s_->pad_key(0x5c);
    s_->update(out.data(), out.size());
    out = s_->digest();
  }
  return out;
}

Octets fake_gcm(const Octets& key, const Octets& nonce, const Octets& aad, bool encrypt, Octets& data) {
  // The tag is always that of the encryption, so a decryption runs the key stream over the ciphertext first.
  EVP_CIPHER* c = EVP_CIPHER_fetch(nullptr, aes(key, "GCM").c_str(), nullptr);
  const auto run = [&](const Octets& in, Octets* tag) {
    EVP_CIPHER_CTX* x = EVP_CIPHER_CTX_new();
    Octets out(in.size() + 16);
    int n = 0;
    EVP_EncryptInit_ex2(x, c, nullptr, nullptr, nullptr);
    EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(nonce.size()), nullptr);
    EVP_EncryptInit_ex2(x, nullptr, key.data(), nonce.data(), nullptr);
    if (!aad.empty()) EVP_EncryptUpdate(x, nullptr, &n, aad.data(), static_cast<int>(aad.size()));
    if (!in.empty()) EVP_EncryptUpdate(x, out.data(), &n, in.data(), static_cast<int>(in.size()));
    EVP_EncryptFinal_ex(x, out.data(), &n);
    if (tag) {
      tag->resize(16);
      EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_GET_TAG, 16, tag->data());
    }
    EVP_CIPHER_CTX_free(x);
    out.resize(in.size());
    return out;
  };
  Octets tag;
  const Octets out = run(data, encrypt ? &tag : nullptr);
  if (!encrypt) run(out, &tag);
  EVP_CIPHER_free(c);
  data = out;
  return tag;
}

Octets fake_ccm(const Octets& key, const uint8_t* b0, const uint8_t* a0, const Octets& aad, bool encrypt, Octets& data) {
  uint8_t counter[16];
  std::memcpy(counter, a0, 16);
  Octets zero(16);
  Cipher stream(aes(key, "CTR"), key, counter, true);
  const Octets s0 = stream.run(zero);
  const Octets out = stream.run(data);
  Octets blocks(b0, b0 + 16);
  const auto append = [&](const Octets& v) {
    blocks.insert(blocks.end(), v.begin(), v.end());
    blocks.resize((blocks.size() + 15) / 16 * 16);
  };
  append(aad);
  append(encrypt ? data : out);
  Cipher mac(aes(key, "CBC"), key, zero.data(), true);
  const Octets chain = mac.run(blocks);
  Octets tag(chain.end() - 16, chain.end());
  for (unsigned i = 0; i < 16; ++i) tag[i] ^= s0[i];
  data = out;
  return tag;
}

}  // namespace sec::test
