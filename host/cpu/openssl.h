// Software crypto of this machine through OpenSSL 3, one request at a time and done when submit returns
// (Status::Ok, no callback). This is the "single packet" side of every CPU comparison, and the reference
// that other implementations are tested against.
//
//   ecb/cbc/ctr(aes), ecb/cbc(des), ecb/cbc(des3_ede), xts(aes)        "<mode>-<cipher>-openssl", priority 200
//   md5, sha1, sha224, sha256, sha384, sha512 and hmac(...) of each    "sha1-openssl", "hmac-sha1-openssl"
//
// Ciphers are fetched once per registration and a transform keeps two keyed contexts; a request only loads
// its IV. EVP_Cipher is used instead of EVP_CipherUpdate: it does no padding bookkeeping, and with padding
// left alone the IV re-initialisation is shorter too. Hashes use the SHA*_Update family rather than EVP:
// their state is a plain struct, so a keyed HMAC starts from a copied state (half the compressions of a short
// packet) and nothing is allocated.
//
// Single DES lives in OpenSSL's legacy provider. It is loaded into a private library context, so the
// process-wide one is not changed; where the module is not installed the two single-DES algorithms are absent.
//
// A transform is used by one thread at a time.
#pragma once
#include "driver/crypto/registry.h"

namespace sec::host {

inline constexpr int kOpensslPriority = 200;

/// Adds all algorithms of this back end. An algorithm whose self-test fails stays listed as failed.
void register_openssl(crypto::Registry& registry);

/// True when single DES is available here.
bool openssl_has_legacy();

}  // namespace sec::host
