// The CPU back ends under test, each in a registry of its own.
#pragma once
#include <cstdlib>
#include <memory>
#include <string>

#include "driver/crypto/registry.h"
#include "host/cpu/ipsecmb.h"
#include "host/cpu/openssl.h"

namespace sec::test {

inline std::unique_ptr<crypto::Registry> backend(const std::string& name) {
  auto r = std::make_unique<crypto::Registry>();
  if (name == "openssl") host::register_openssl(*r);
  if (name == "ipsecmb") host::register_ipsecmb(*r);
  return r;
}

inline bool offers(const crypto::Registry& r, const std::string& algorithm) {
  for (const auto& a : r.list())
    if (a.name == algorithm) return true;
  return false;
}

/// SEC_SEED and SEC_REQUESTS of random tests.
inline uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}

/// AES key 2b7e.. , IV 000102.. and the four plaintext blocks of SP 800-38A.
inline const char* const kNistKey = "2b7e151628aed2a6abf7158809cf4f3c";
inline const char* const kNistIv = "000102030405060708090a0b0c0d0e0f";
inline const char* const kNistPlain =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";

}  // namespace sec::test
