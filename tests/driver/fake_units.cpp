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
    good =
        c && EVP_CipherInit_ex2(x, c, key.data(), iv, encrypt, nullptr) == 1 && EVP_CIPHER_CTX_set_padding(x, 0) == 1;
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
      case 0x00:
        name = "ECB";
        break;
      case 0x02:
        name = "CBC";
        break;
      case 0x04:
        name = "OFB";
        break;
      case 0x06:
        name = "CTR";
        break;
      case 0x86:
        name = "CFB";
        break;
      default:
        return false;
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

Octets fake_rc4(const Octets& key, const Octets& state, Octets& data) {
  Octets s = state;
  if (s.empty()) {
    s.resize(259);
    for (unsigned i = 0; i < 256; ++i) s[i] = static_cast<uint8_t>(i);
    for (unsigned i = 0, j = 0; i < 256; ++i) {
      j = (j + s[i] + key[i % key.size()]) & 0xff;
      std::swap(s[i], s[j]);
    }
  }
  uint8_t &i = s[256], &j = s[257];
  for (uint8_t& b : data) {
    ++i;
    j = static_cast<uint8_t>(j + s[i]);
    std::swap(s[i], s[j]);
    b ^= s[(s[i] + s[j]) & 0xff];
  }
  return s;
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

FakeHash::FakeHash(unsigned unit, uint8_t mode, const Octets& key, const Octets& context)
    : s_(std::make_unique<State>()) {
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

namespace {

Octets block_of(const Octets& key, const uint8_t* in) {
  Cipher c(aes(key, "ECB"), key, nullptr, true);
  return c.run(Octets(in, in + 16));
}

/// y = (y ^ x) * h in GF(2^128), bit by bit as SP 800-38D writes it.
void ghash(uint8_t* y, const Octets& data, const uint8_t* h) {
  for (size_t at = 0; at < data.size(); at += 16) {
    for (size_t i = 0; i < 16 && at + i < data.size(); ++i) y[i] ^= data[at + i];
    uint64_t zh = 0, zl = 0, vh = 0, vl = 0;
    for (int i = 0; i < 8; ++i) vh = vh << 8 | h[i], vl = vl << 8 | h[8 + i];
    for (int bit = 0; bit < 128; ++bit) {
      if (y[bit / 8] >> (7 - bit % 8) & 1) zh ^= vh, zl ^= vl;
      const bool carry = vl & 1;
      vl = vl >> 1 | vh << 63;
      vh >>= 1;
      if (carry) vh ^= uint64_t{0xe1} << 56;
    }
    for (int i = 0; i < 8; ++i) {
      y[i] = static_cast<uint8_t>(zh >> (56 - 8 * i));
      y[8 + i] = static_cast<uint8_t>(zl >> (56 - 8 * i));
    }
  }
}

void put64(uint8_t* p, uint64_t v) {
  for (int i = 0; i < 8; ++i) p[i] = static_cast<uint8_t>(v >> (56 - 8 * i));
}
uint64_t get64(const uint8_t* p) {
  uint64_t v = 0;
  for (int i = 0; i < 8; ++i) v = v << 8 | p[i];
  return v;
}

}  // namespace

void fake_gcm(const Octets& key, const Octets& nonce, const Octets& aad, bool encrypt, bool last, Octets& context,
              Octets& data, Octets* tag) {
  const uint8_t zero[16] = {};
  const Octets h = block_of(key, zero);
  if (context.empty()) {
    context.resize(64);
    std::copy(nonce.begin(), nonce.end(), context.begin() + 16);
    context[31] = 1;
    std::memcpy(context.data() + 32, context.data() + 16, 16);
    count_up(context.data() + 32, 1);
    ghash(context.data(), aad, h.data());
    put64(context.data() + 48, 8 * aad.size());
  }
  // No test's text is long enough to wrap the low 32 bits.
  Cipher stream(aes(key, "CTR"), key, context.data() + 32, true);
  const Octets out = stream.run(data);
  ghash(context.data(), encrypt ? out : data, h.data());
  count_up(context.data() + 32, data.size() / 16);
  put64(context.data() + 56, get64(context.data() + 56) + 8 * data.size());
  data = out;
  if (!last) return;
  ghash(context.data(), Octets(context.begin() + 48, context.begin() + 64), h.data());
  *tag = block_of(key, context.data() + 16);
  for (unsigned i = 0; i < 16; ++i) (*tag)[i] ^= context[i];
}

void fake_ccm(const Octets& key, const Octets& aad, bool encrypt, bool first, bool last, Octets& context, Octets& data,
              Octets* tag) {
  const uint8_t zero[16] = {};
  Octets blocks;
  const auto append = [&](const Octets& v) {
    blocks.insert(blocks.end(), v.begin(), v.end());
    blocks.resize((blocks.size() + 15) / 16 * 16);
  };
  uint8_t* const counter = context.data() + 32;
  uint8_t chain[16];
  std::memcpy(chain, first ? zero : context.data(), 16);
  if (first) {
    append(Octets(context.begin(), context.begin() + 16));
    append(aad);
    count_up(counter, 1);
  }
  Cipher stream(aes(key, "CTR"), key, counter, true);
  const Octets out = stream.run(data);
  append(encrypt ? data : out);
  count_up(counter, data.size() / 16);
  data = out;
  if (!blocks.empty()) {
    Cipher mac(aes(key, "CBC"), key, chain, true);
    const Octets all = mac.run(blocks);
    std::memcpy(chain, all.data() + all.size() - 16, 16);
  }
  std::memcpy(context.data(), chain, 16);
  if (!last) return;
  uint8_t a0[16];
  std::memcpy(a0, counter, 16);
  std::memset(a0 + 15 - (a0[0] & 7), 0, static_cast<size_t>(a0[0] & 7) + 1);
  *tag = block_of(key, a0);
  for (unsigned i = 0; i < 16; ++i) (*tag)[i] ^= chain[i];
}

}  // namespace sec::test
