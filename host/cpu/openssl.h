// Software crypto of this machine through OpenSSL 3, one request at a time and done when submit returns
// (Status::Ok, no callback). This is the "single packet" side of every CPU comparison, and the reference
// that other implementations are tested against.
//
//   ecb/cbc/ctr/ofb/cfb(aes), xts(aes), rfc3686(ctr(aes)),              "<mode>-<cipher>-openssl", priority 200
//   ecb/cbc/ofb/cfb of des and des3_ede, ecb(arc4)
//   md5, sha1, sha224, sha256, sha384, sha512 and hmac(...) of each    "sha1-openssl", "hmac-sha1-openssl"
//   cmac(aes), xcbc(aes)                                                "cmac-aes-openssl"
//   crc32c                                                              "crc32c-boost"; OpenSSL has none
//   authenc(hmac(<any of the six>),<c>), <c> = cbc(aes), ctr(aes),      "authenc-hmac-sha1-cbc-aes-openssl"
//     cbc(des3_ede), cbc(des)
//   gcm(aes), rfc4106(gcm(aes)), ccm(aes), rfc4309(ccm(aes))            "gcm-aes-openssl", "rfc4106-gcm-aes-openssl"
//
// Hashes work in steps; an exported state is the library's own structure and can be imported into the same
// implementation only.
//
// Ciphers are fetched once per registration and a transform keeps two keyed contexts; a request only loads
// its IV. EVP_Cipher is used instead of EVP_CipherUpdate: it does no padding bookkeeping, and with padding
// left alone the IV re-initialisation is shorter too. Hashes use the SHA*_Update family rather than EVP:
// their state is a plain struct, so a keyed HMAC starts from a copied state (half the compressions of a short
// packet) and nothing is allocated.
//
// Single DES and RC4 live in OpenSSL's legacy provider. It is loaded into a private library context, so the
// process-wide one is not changed; where the module is not installed the algorithms that need them are absent.
//
// A transform is used by one thread at a time.
#pragma once
#include "driver/crypto/registry.h"

namespace sec::host {

inline constexpr int kOpensslPriority = 200;

/// Adds all algorithms of this back end. An algorithm whose self-test fails stays listed as failed.
void register_openssl(crypto::Registry& registry);

/// True when single DES and RC4 are available here.
bool openssl_has_legacy();

}  // namespace sec::host
