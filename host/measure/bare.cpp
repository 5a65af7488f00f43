#include "host/measure/bare.h"

#include <openssl/evp.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#ifndef LINUX
#define LINUX  // aligned key structures
#endif
#include <intel-ipsec-mb.h>

#include "common/diag.h"
#include "common/units.h"

namespace sec::host {

double bare_evp_seconds(const char* name, size_t size, uint64_t n, unsigned buffers) {
  EVP_CIPHER* cipher = EVP_CIPHER_fetch(nullptr, name, nullptr);
  EVP_CIPHER_CTX* ctx = EVP_CIPHER_CTX_new();
  const uint8_t key[32] = {1, 2, 3};
  uint8_t iv[16] = {9};
  SEC_CHECK(EVP_CipherInit_ex(ctx, cipher, nullptr, key, iv, 1) == 1, "EVP init");
  // As a careful user would: padding is only switched off where it could matter.
  if (EVP_CIPHER_get_mode(cipher) != EVP_CIPH_CTR_MODE) EVP_CIPHER_CTX_set_padding(ctx, 0);
  std::vector<uint8_t> memory(2 * size * buffers + 64, 0x5a);
  int out = 0;
  const WallTime t0 = WallTime::now();
  for (uint64_t i = 0; i < n; ++i) {
    uint8_t* b = memory.data() + 2 * size * (i % buffers);
    EVP_CipherInit_ex(ctx, nullptr, nullptr, nullptr, iv, -1);
    EVP_CipherUpdate(ctx, b + size, &out, b, static_cast<int>(size));
  }
  const double s = (WallTime::now() - t0).seconds();
  EVP_CIPHER_CTX_free(ctx);
  EVP_CIPHER_free(cipher);
  return s;
}

double bare_ipsecmb_seconds(size_t size, uint64_t n, unsigned burst) {
  IMB_MGR* m = alloc_mb_mgr(0);
  init_mb_mgr_auto(m, nullptr);
  alignas(64) uint8_t key[16] = {1, 2, 3}, enc[15 * 16], dec[15 * 16], iv[16] = {9};
  IMB_AES_KEYEXP_128(m, key, enc, dec);
  std::vector<uint8_t> memory(2 * size * burst + 64, 0x5a);
  std::vector<IMB_JOB> jobs(burst);
  const WallTime t0 = WallTime::now();
  for (uint64_t i = 0; i < n; i += burst) {
    for (unsigned k = 0; k < burst; ++k) {
      IMB_JOB& j = jobs[k];
      j.src = memory.data() + 2 * size * k;
      j.dst = memory.data() + 2 * size * k + size;
      j.iv = iv;
      j.iv_len_in_bytes = 16;
      j.enc_keys = enc;
      j.dec_keys = dec;
      j.cipher_start_src_offset_in_bytes = 0;
      j.msg_len_to_cipher_in_bytes = size;
    }
    const uint32_t done = IMB_SUBMIT_CIPHER_BURST(m, jobs.data(), burst, IMB_CIPHER_CBC, IMB_DIR_ENCRYPT, IMB_KEY_128_BYTES);
    SEC_CHECK(done == burst, "ipsec-mb burst");
  }
  const double s = (WallTime::now() - t0).seconds();
  free_mb_mgr(m);
  return s;
}

}  // namespace sec::host
