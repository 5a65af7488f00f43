#include "hw/eu/digest.h"

#include <cstring>

#include "common/endian.h"

// OpenSSL 3 deprecates these in favour of EVP, see the header. A pragma, since OPENSSL_SUPPRESS_DEPRECATED would depend
// on which OpenSSL header comes first.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace sec::hw {
namespace {
uint32_t load_le32(const uint8_t* p) {
  return uint32_t{p[3]} << 24 | uint32_t{p[2]} << 16 | uint32_t{p[1]} << 8 | p[0];
}
void store_le32(uint8_t* p, uint32_t v) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<uint8_t>(v >> 8 * i);
}
}  // namespace

void Digest::init(HashAlgorithm a) {
  algorithm_ = a;
  switch (a) {
    case HashAlgorithm::Md5:
      MD5_Init(&md5_);
      break;
    case HashAlgorithm::Sha1:
      SHA1_Init(&sha1_);
      break;
    case HashAlgorithm::Sha224:
      SHA224_Init(&sha256_);
      break;
    case HashAlgorithm::Sha256:
      SHA256_Init(&sha256_);
      break;
    case HashAlgorithm::Sha384:
      SHA384_Init(&sha512_);
      break;
    case HashAlgorithm::Sha512:
      SHA512_Init(&sha512_);
      break;
  }
}

void Digest::load(HashAlgorithm a, const uint8_t* context) {
  algorithm_ = a;
  const HashTraits t = traits(a);
  const uint64_t bits = load_be64(context + t.count_offset());
  const auto high = static_cast<uint32_t>(bits >> 32), low = static_cast<uint32_t>(bits);
  switch (a) {
    case HashAlgorithm::Md5:
      md5_.A = load_le32(context);
      md5_.B = load_le32(context + 4);
      md5_.C = load_le32(context + 8);
      md5_.D = load_le32(context + 12);
      md5_.Nh = high, md5_.Nl = low, md5_.num = 0;
      break;
    case HashAlgorithm::Sha1:
      sha1_.h0 = load_be32(context);
      sha1_.h1 = load_be32(context + 4);
      sha1_.h2 = load_be32(context + 8);
      sha1_.h3 = load_be32(context + 12);
      sha1_.h4 = load_be32(context + 16);
      sha1_.Nh = high, sha1_.Nl = low, sha1_.num = 0;
      break;
    case HashAlgorithm::Sha224:
    case HashAlgorithm::Sha256:
      for (int i = 0; i < 8; ++i) sha256_.h[i] = load_be32(context + 4 * i);
      sha256_.Nh = high, sha256_.Nl = low, sha256_.num = 0;
      sha256_.md_len = t.digest_bytes;
      break;
    case HashAlgorithm::Sha384:
    case HashAlgorithm::Sha512:
      for (int i = 0; i < 8; ++i) sha512_.h[i] = load_be64(context + 8 * i);
      sha512_.Nh = 0, sha512_.Nl = bits, sha512_.num = 0;
      sha512_.md_len = t.digest_bytes;
      break;
  }
}

void Digest::store(uint8_t* context) const {
  const HashTraits t = traits(algorithm_);
  std::memset(context, 0, t.context_bytes());
  uint64_t bits = 0;
  switch (algorithm_) {
    case HashAlgorithm::Md5:
      store_le32(context, md5_.A);
      store_le32(context + 4, md5_.B);
      store_le32(context + 8, md5_.C);
      store_le32(context + 12, md5_.D);
      bits = uint64_t{md5_.Nh} << 32 | md5_.Nl;
      break;
    case HashAlgorithm::Sha1:
      store_be32(context, sha1_.h0);
      store_be32(context + 4, sha1_.h1);
      store_be32(context + 8, sha1_.h2);
      store_be32(context + 12, sha1_.h3);
      store_be32(context + 16, sha1_.h4);
      bits = uint64_t{sha1_.Nh} << 32 | sha1_.Nl;
      break;
    case HashAlgorithm::Sha224:
    case HashAlgorithm::Sha256:
      for (int i = 0; i < 8; ++i) store_be32(context + 4 * i, sha256_.h[i]);
      bits = uint64_t{sha256_.Nh} << 32 | sha256_.Nl;
      break;
    case HashAlgorithm::Sha384:
    case HashAlgorithm::Sha512:
      for (int i = 0; i < 8; ++i) store_be64(context + 8 * i, sha512_.h[i]);
      bits = sha512_.Nl;
      break;
  }
  store_be64(context + t.count_offset(), bits);
}

void Digest::update(const uint8_t* p, size_t n) {
  switch (algorithm_) {
    case HashAlgorithm::Md5:
      MD5_Update(&md5_, p, n);
      break;
    case HashAlgorithm::Sha1:
      SHA1_Update(&sha1_, p, n);
      break;
    case HashAlgorithm::Sha224:
    case HashAlgorithm::Sha256:
      SHA256_Update(&sha256_, p, n);
      break;
    case HashAlgorithm::Sha384:
    case HashAlgorithm::Sha512:
      SHA512_Update(&sha512_, p, n);
      break;
  }
}

void Digest::final(uint8_t* digest) {
  switch (algorithm_) {
    case HashAlgorithm::Md5:
      MD5_Final(digest, &md5_);
      break;
    case HashAlgorithm::Sha1:
      SHA1_Final(digest, &sha1_);
      break;
    case HashAlgorithm::Sha224:
    case HashAlgorithm::Sha256:
      SHA256_Final(digest, &sha256_);
      break;
    case HashAlgorithm::Sha384:
    case HashAlgorithm::Sha512:
      SHA512_Final(digest, &sha512_);
      break;
  }
}

}  // namespace sec::hw
