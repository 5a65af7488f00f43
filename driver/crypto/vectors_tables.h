// The tables that vectors.cpp joins. Published vectors are typed in by hand (vectors_cipher.cpp, vectors_hash.cpp,
// vectors_aead.cpp). Where a composition has none, vectors_generated.cpp has some that
// tests/support/make_vectors.py computes with two independent libraries.
#pragma once
#include "driver/crypto/vectors.h"

namespace sec::crypto {

std::span<const CipherVector> published_ciphers();
std::span<const CipherVector> generated_ciphers();
std::span<const HashVector> published_hashes();
std::span<const HashVector> generated_hashes();
std::span<const AeadVector> published_aeads();
std::span<const AeadVector> generated_aeads();

}  // namespace sec::crypto
