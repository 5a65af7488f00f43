#include "host/measure/bare.h"

#include <openssl/evp.h>
#include <time.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#ifndef LINUX
#define LINUX  // aligned key structures
#endif
#include <intel-ipsec-mb.h>

#include "common/diag.h"

namespace sec::host {

double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double bare_evp_seconds(const char* name, size_t size, uint64_t n, unsigned buffers) {
  EVP_CIPHER* cipher = EVP_CIPHER_fetch(nullptr, name, nullptr);
  EVP_CIPHER_CTX* ctx = EVP_CIPHER_CTX_new();
  const uint8_t key[32] = {1, 2, 3};
  const uint8_t iv[16] = {9};
  SEC_CHECK(EVP_CipherInit_ex(ctx, cipher, nullptr, key, iv, 1) == 1, "EVP init");
  const size_t each = (2 * size + 16 + 127) / 64 * 64;
  std::unique_ptr<uint8_t, void (*)(void*)> memory(static_cast<uint8_t*>(std::aligned_alloc(64, each * buffers)), std::free);
  std::memset(memory.get(), 0x5a, each * buffers);
  const double t0 = thread_seconds();
  for (uint64_t i = 0; i < n; ++i) {
    uint8_t* b = memory.get() + each * (i % buffers);
    EVP_CipherInit_ex(ctx, nullptr, nullptr, nullptr, b + 2 * size, -1);
    EVP_Cipher(ctx, b + size, b, static_cast<unsigned>(size));
  }
  const double s = thread_seconds() - t0;
  EVP_CIPHER_CTX_free(ctx);
  EVP_CIPHER_free(cipher);
  return s;
}

double bare_ipsecmb_seconds(size_t size, uint64_t n, unsigned burst) {
  IMB_MGR* m = alloc_mb_mgr(0);
  init_mb_mgr_auto(m, nullptr);
  alignas(64) uint8_t key[16] = {1, 2, 3}, enc[15 * 16], dec[15 * 16];
  IMB_AES_KEYEXP_128(m, key, enc, dec);
  struct Packet {
    uint8_t *src, *dst, *iv;
    size_t size;
  };
  const size_t each = (2 * size + 16 + 127) / 64 * 64;
  std::unique_ptr<uint8_t, void (*)(void*)> memory(static_cast<uint8_t*>(std::aligned_alloc(64, each * burst)), std::free);
  std::memset(memory.get(), 0x5a, each * burst);
  std::vector<Packet> packets(burst);
  for (unsigned k = 0; k < burst; ++k) {
    uint8_t* b = memory.get() + each * k;
    packets[k] = {b, b + size, b + 2 * size, size};
  }
  std::vector<IMB_JOB> jobs(burst);
  const double t0 = thread_seconds();
  for (uint64_t i = 0; i < n; i += burst) {
    for (unsigned k = 0; k < burst; ++k) {
      IMB_JOB& j = jobs[k];
      const Packet& p = packets[k];
      j.src = p.src;
      j.dst = p.dst;
      j.iv = p.iv;
      j.iv_len_in_bytes = 16;
      j.enc_keys = enc;
      j.dec_keys = dec;
      j.cipher_start_src_offset_in_bytes = 0;
      j.msg_len_to_cipher_in_bytes = p.size;
    }
    const uint32_t done = IMB_SUBMIT_CIPHER_BURST_NOCHECK(m, jobs.data(), burst, IMB_CIPHER_CBC, IMB_DIR_ENCRYPT, IMB_KEY_128_BYTES);
    SEC_CHECK(done == burst, "ipsec-mb burst");
  }
  const double s = thread_seconds() - t0;
  free_mb_mgr(m);
  return s;
}

}  // namespace sec::host
