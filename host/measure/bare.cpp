#include "host/measure/bare.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#ifndef LINUX
#define LINUX  // aligned key structures
#endif
#include <intel-ipsec-mb.h>

#include "common/diag.h"
#include "host/measure/thread_time.h"

namespace sec::host {

double bare_evp_seconds(const char* name, size_t size, uint64_t n, unsigned buffers, bool update) {
  EVP_CIPHER* cipher = EVP_CIPHER_fetch(nullptr, name, nullptr);
  EVP_CIPHER_CTX* ctx = EVP_CIPHER_CTX_new();
  const uint8_t key[32] = {1, 2, 3};
  const uint8_t iv[16] = {9};
  SEC_CHECK(EVP_CipherInit_ex(ctx, cipher, nullptr, key, iv, 1) == 1, "EVP init");
  const size_t each = (2 * size + 16 + 127) / 64 * 64;
  std::unique_ptr<uint8_t, void (*)(void*)> memory(static_cast<uint8_t*>(std::aligned_alloc(64, each * buffers)),
                                                   std::free);
  std::memset(memory.get(), 0x5a, each * buffers);
  const double t0 = thread_seconds();
  for (uint64_t i = 0; i < n; ++i) {
    uint8_t* b = memory.get() + each * (i % buffers);
    EVP_CipherInit_ex(ctx, nullptr, nullptr, nullptr, b + 2 * size, -1);
    int out = 0;
    if (update)
      EVP_CipherUpdate(ctx, b + size, &out, b, static_cast<int>(size));
    else
      EVP_Cipher(ctx, b + size, b, static_cast<unsigned>(size));
  }
  const double s = thread_seconds() - t0;
  EVP_CIPHER_CTX_free(ctx);
  EVP_CIPHER_free(cipher);
  return s;
}

double bare_cbc_hmac_seconds(size_t size, uint64_t n, unsigned buffers) {
  EVP_CIPHER* cipher = EVP_CIPHER_fetch(nullptr, "AES-128-CBC", nullptr);
  EVP_CIPHER_CTX* ctx = EVP_CIPHER_CTX_new();
  EVP_MAC* hmac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  EVP_MAC_CTX* mac = EVP_MAC_CTX_new(hmac);
  const uint8_t key[32] = {1, 2, 3};
  const uint8_t iv[16] = {9};
  char digest[] = "SHA1";
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end()};
  SEC_CHECK(EVP_CipherInit_ex(ctx, cipher, nullptr, key, iv, 1) == 1 && EVP_MAC_init(mac, key, 20, params) == 1, "EVP init");
  EVP_CIPHER_CTX_set_padding(ctx, 0);
  const size_t each = (size + 64 + 16 + 127) / 64 * 64;
  std::unique_ptr<uint8_t, void (*)(void*)> memory(static_cast<uint8_t*>(std::aligned_alloc(64, each * buffers)), std::free);
  std::memset(memory.get(), 0x5a, each * buffers);
  const double t0 = thread_seconds();
  for (uint64_t i = 0; i < n; ++i) {
    uint8_t* b = memory.get() + each * (i % buffers);
    int out = 0;
    size_t mac_bytes = 0;
    EVP_CipherInit_ex(ctx, nullptr, nullptr, nullptr, b + 8 + size + 32, -1);
    EVP_CipherUpdate(ctx, b + 8, &out, b + 8, static_cast<int>(size));
    EVP_MAC_init(mac, nullptr, 0, nullptr);
    EVP_MAC_update(mac, b, size + 8);
    EVP_MAC_final(mac, b + 8 + size, &mac_bytes, 32);
  }
  const double s = thread_seconds() - t0;
  EVP_MAC_CTX_free(mac);
  EVP_MAC_free(hmac);
  EVP_CIPHER_CTX_free(ctx);
  EVP_CIPHER_free(cipher);
  return s;
}

double bare_sha256_seconds(size_t size, uint64_t n, unsigned buffers) {
  EVP_MD* md = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  const size_t each = (size + 64 + 63) / 64 * 64;
  std::unique_ptr<uint8_t, void (*)(void*)> memory(static_cast<uint8_t*>(std::aligned_alloc(64, each * buffers)), std::free);
  std::memset(memory.get(), 0x5a, each * buffers);
  const double t0 = thread_seconds();
  for (uint64_t i = 0; i < n; ++i) {
    uint8_t* b = memory.get() + each * (i % buffers);
    unsigned digest_bytes = 0;
    EVP_Digest(b, size, b + size, &digest_bytes, md, nullptr);
  }
  const double s = thread_seconds() - t0;
  EVP_MD_free(md);
  return s;
}

namespace {
struct Packet {
  uint8_t *src, *dst, *iv;
  size_t size;
  void (*complete)(void* context, int status);
  void* context;
};
struct Served {
  std::vector<Packet*> next;  // for the next burst
  uint64_t finished = 0;
};
struct ServedPacket {
  Served* loop;
  Packet* packet;
};
}  // namespace

double bare_ipsecmb_seconds(size_t size, uint64_t n, unsigned burst, bool served) {
  IMB_MGR* m = alloc_mb_mgr(0);
  init_mb_mgr_auto(m, nullptr);
  alignas(64) uint8_t key[16] = {1, 2, 3}, enc[15 * 16], dec[15 * 16];
  IMB_AES_KEYEXP_128(m, key, enc, dec);
  const size_t each = (2 * size + 16 + 127) / 64 * 64;
  std::unique_ptr<uint8_t, void (*)(void*)> memory(static_cast<uint8_t*>(std::aligned_alloc(64, each * burst)),
                                                   std::free);
  std::memset(memory.get(), 0x5a, each * burst);
  std::vector<Packet> packets(burst);
  std::vector<ServedPacket> contexts(burst);
  Served loop;
  loop.next.reserve(burst);
  for (unsigned k = 0; k < burst; ++k) {
    uint8_t* b = memory.get() + each * k;
    contexts[k] = {&loop, &packets[k]};
    packets[k] = {b, b + size, b + 2 * size, size, nullptr, &contexts[k]};
    packets[k].complete = [](void* context, int) {
      auto* p = static_cast<ServedPacket*>(context);
      ++p->loop->finished;
      p->loop->next.push_back(p->packet);
    };
    loop.next.push_back(&packets[k]);
  }
  std::vector<IMB_JOB> jobs(burst);
  const double t0 = thread_seconds();
  for (uint64_t i = 0; i < n; i += burst) {
    for (unsigned k = 0; k < burst; ++k) {
      IMB_JOB& j = jobs[k];
      Packet& p = served ? *loop.next[k] : packets[k];
      j.src = p.src;
      j.dst = p.dst;
      j.iv = p.iv;
      j.iv_len_in_bytes = 16;
      j.enc_keys = enc;
      j.dec_keys = dec;
      j.cipher_start_src_offset_in_bytes = 0;
      j.msg_len_to_cipher_in_bytes = p.size;
      j.user_data = &p;
    }
    const uint32_t done =
        IMB_SUBMIT_CIPHER_BURST_NOCHECK(m, jobs.data(), burst, IMB_CIPHER_CBC, IMB_DIR_ENCRYPT, IMB_KEY_128_BYTES);
    SEC_CHECK(done == burst, "ipsec-mb burst");
    if (served) {
      loop.next.clear();
      for (unsigned k = 0; k < burst; ++k) {
        const auto* p = static_cast<const Packet*>(jobs[k].user_data);
        std::memcpy(p->iv, p->dst + p->size - 16, 16);
        p->complete(p->context, jobs[k].status);
      }
    }
  }
  const double s = thread_seconds() - t0;
  free_mb_mgr(m);
  return s;
}

}  // namespace sec::host
