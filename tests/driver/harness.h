// Fake engine, registry and device wired together, buffers in DMA memory with poison around them, and the
// expected result from OpenSSL.
#pragma once
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "driver/crypto/vectors.h"
#include "driver/talitos/talitos.h"
#include "tests/driver/fake_engine.h"

namespace sec::test {

using Bytes = std::vector<uint8_t>;

inline Bytes random_bytes(std::mt19937_64& rng, size_t n) {
  Bytes b(n);
  for (uint8_t& x : b) x = static_cast<uint8_t>(rng());
  return b;
}

struct CipherSpec {
  const char* name;
  size_t block, iv;
  std::vector<size_t> keys;
};
inline const std::vector<CipherSpec>& cipher_specs() {
  static const std::vector<CipherSpec> specs = {{"ecb(aes)", 16, 0, {16, 24, 32}}, {"cbc(aes)", 16, 16, {16, 24, 32}},
                                                {"ctr(aes)", 1, 16, {16, 24, 32}}, {"ecb(des)", 8, 0, {8}},
                                                {"cbc(des)", 8, 8, {8}},           {"ecb(des3_ede)", 8, 0, {24}},
                                                {"cbc(des3_ede)", 8, 8, {24}}};
  return specs;
}

/// What the cipher makes of `in`; `iv` becomes the output IV.
inline Bytes reference(const std::string& alg, const Bytes& key, Bytes* iv, const Bytes& in, bool encrypt) {
  const bool aes = alg.find("aes") != std::string::npos;
  std::string name = alg.substr(0, 3);
  name = aes ? "AES-" + std::to_string(key.size() * 8) + "-" + name : name == "ecb" ? "DES-EDE3" : "DES-EDE3-CBC";
  Bytes k = key;
  while (!aes && k.size() < 24) k.insert(k.end(), key.begin(), key.end());
  EVP_CIPHER* c = EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr);
  EVP_CIPHER_CTX* x = EVP_CIPHER_CTX_new();
  Bytes out(in.size() + 32);
  int n = 0;
  const bool ok =
      c && EVP_CipherInit_ex2(x, c, k.data(), iv && !iv->empty() ? iv->data() : nullptr, encrypt, nullptr) == 1 &&
      EVP_CIPHER_CTX_set_padding(x, 0) == 1 &&
      EVP_CipherUpdate(x, out.data(), &n, in.data(), static_cast<int>(in.size())) == 1;
  EVP_CIPHER_CTX_free(x);
  EVP_CIPHER_free(c);
  if (!ok) return {};
  out.resize(in.size());
  if (alg.starts_with("cbc") && iv && !in.empty()) {
    const Bytes& text = encrypt ? out : in;
    iv->assign(text.end() - static_cast<long>(iv->size()), text.end());
  } else if (alg.starts_with("ctr") && iv) {
    for (size_t blocks = (in.size() + 15) / 16; blocks--;)
      for (int b = 15; b >= 0 && ++(*iv)[static_cast<size_t>(b)] == 0; --b) {
      }
  }
  return out;
}

struct Harness {
  explicit Harness(const FakeEngine::Options& o = {}, bool selftest = false)
      : engine(o), device(std::make_unique<driver::Device>(engine)) {
    registry.set_selftest_enabled(selftest);
    registry.set_pump([this] { return engine.run(); });
    probe_status = device->probe(engine.properties());
    if (probe_status == Status::Ok) {
      EXPECT_EQ(device->register_algorithms(registry), Status::Ok);
    }
  }
  std::unique_ptr<crypto::Skcipher> cipher(const std::string& name, const Bytes& key) {
    auto t = registry.alloc_skcipher(name);
    EXPECT_TRUE(t) << name;
    if (t && !key.empty()) {
      EXPECT_EQ(t->set_key(key), Status::Ok);
    }
    return t;
  }
  driver::DmaSpace& dma() { return engine.dma(); }

  FakeEngine engine;
  crypto::Registry registry;
  std::unique_ptr<driver::Device> device;
  Status probe_status;
};

/// A request with its own memory: contiguous, in the DMA space.
struct Job {
  Job(Harness& h, const Bytes& input, const Bytes& iv_in, uint32_t flags = 0, bool in_place = true) : space(h.dma()) {
    bytes = input.size();
    src_memory = static_cast<uint8_t*>(space.alloc(bytes + 64));
    std::memset(src_memory, 0x5a, bytes + 64);
    if (bytes) std::memcpy(src_memory, input.data(), bytes);
    dst_memory = src_memory;
    if (!in_place) {
      dst_memory = static_cast<uint8_t*>(space.alloc(bytes + 64));
      std::memset(dst_memory, 0x5a, bytes + 64);
    }
    src_segment = {src_memory, bytes};
    dst_segment = {dst_memory, bytes};
    src = crypto::ScatterList(&src_segment, 1);
    dst = crypto::ScatterList(&dst_segment, 1);
    iv = iv_in;
    request = {.src = &src,
               .dst = in_place ? &src : &dst,
               .size_bytes = bytes,
               .iv = iv.empty() ? nullptr : iv.data(),
               .flags = flags,
               .complete = completed,
               .context = this};
  }
  ~Job() {
    if (dst_memory != src_memory) space.free(dst_memory);
    space.free(src_memory);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  static void completed(void* context, Status s) {
    auto* j = static_cast<Job*>(context);
    if (s == Status::InProgress) {
      ++j->started;
      EXPECT_EQ(j->finished, 0u);
      return;
    }
    ++j->finished;
    j->status = s;
    if (j->order) j->order->push_back(j->id);
  }
  Bytes result() const { return Bytes(dst_memory, dst_memory + bytes); }
  bool poison_intact() const {
    for (size_t i = bytes; i < bytes + 64; ++i)
      if (dst_memory[i] != 0x5a) return false;
    return true;
  }

  driver::DmaSpace& space;
  size_t bytes;
  uint8_t *src_memory, *dst_memory;
  crypto::Segment src_segment, dst_segment;
  crypto::ScatterList src, dst;
  Bytes iv;
  crypto::SkcipherRequest request;
  unsigned started = 0, finished = 0;
  Status status = Status::InProgress;
  int id = 0;
  std::vector<int>* order = nullptr;
};

}  // namespace sec::test
