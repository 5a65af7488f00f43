// Application threads on the engine through Boost.Lockfree queues: every request completes exactly once with the right
// bytes, on both fidelities, whatever the interleaving.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <random>
#include <thread>

#include "host/platforms/bridge.h"
#include "host/session/session.h"

namespace sec::host {
namespace {

std::vector<uint8_t> expected_cbc(const std::vector<uint8_t>& key, const uint8_t* iv, const std::vector<uint8_t>& in) {
  std::vector<uint8_t> out(in.size() + 16);
  EVP_CIPHER_CTX* c = EVP_CIPHER_CTX_new();
  int n = 0;
  EVP_EncryptInit_ex(c, EVP_aes_128_cbc(), nullptr, key.data(), iv);
  EVP_CIPHER_CTX_set_padding(c, 0);
  EVP_EncryptUpdate(c, out.data(), &n, in.data(), static_cast<int>(in.size()));
  EVP_CIPHER_CTX_free(c);
  out.resize(in.size());
  return out;
}

void run(Fidelity fidelity, unsigned threads, unsigned requests) {
  SessionOptions o;
  o.fidelity = fidelity;
  o.cpu_backends = o.compositions = false;
  Session session(o);
  session.run([&](Session& s) {
    RequestBridge bridge(s.platform());
    struct Lane {
      std::unique_ptr<crypto::Skcipher> tfm;
      std::vector<uint8_t> key;
      RequestBridge::Client* client;
      uint8_t* memory;
      unsigned wrong = 0, finished = 0;
    };
    constexpr unsigned kDepth = 16, kRoom = 4096;
    std::vector<Lane> lanes(threads);
    for (unsigned t = 0; t < threads; ++t) {
      Lane& l = lanes[t];
      l.key.assign(16, static_cast<uint8_t>(t * 11 + 3));
      l.tfm = s.registry().alloc_skcipher("cbc-aes-talitos");
      ASSERT_TRUE(l.tfm);
      ASSERT_EQ(l.tfm->set_key(l.key), Status::Ok);
      l.client = &bridge.add_client(kDepth);
      l.memory = static_cast<uint8_t*>(s.platform().dma().alloc(kDepth * kRoom));
    }
    std::atomic<unsigned> running{threads};
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; ++t)
      pool.emplace_back([&, t] {
        Lane& l = lanes[t];
        std::mt19937 g(t + 1);
        struct Item {
          crypto::Segment seg;
          crypto::ScatterList list;
          crypto::SkcipherRequest request;
          uint8_t iv[16];
          std::vector<uint8_t> want;
          bool busy = false;
        };
        std::vector<Item> items(kDepth);
        unsigned sent = 0;
        while (l.finished < requests) {
          for (unsigned i = 0; i < kDepth && sent < requests; ++i) {
            Item& it = items[i];
            if (it.busy) continue;
            const size_t n = 16 * (1 + g() % 128);
            uint8_t* p = l.memory + i * kRoom;
            std::vector<uint8_t> clear(n);
            for (auto& b : clear) b = static_cast<uint8_t>(g());
            for (auto& b : it.iv) b = static_cast<uint8_t>(g());
            std::copy(clear.begin(), clear.end(), p);
            it.want = expected_cbc(l.key, it.iv, clear);
            it.seg = {p, n};
            it.list = {&it.seg, 1};
            it.request = {.src = &it.list, .dst = &it.list, .size_bytes = n, .iv = it.iv};
            it.busy = true;
            if (!l.client->submit({l.tfm.get(), &it.request, true, i})) {
              it.busy = false;
              break;
            }
            ++sent;
          }
          RequestBridge::Done d;
          bool any = false;
          while (l.client->poll(d)) {
            any = true;
            Item& it = items[d.cookie];
            ++l.finished;
            l.wrong += !it.busy || d.status != Status::Ok || !std::equal(it.want.begin(), it.want.end(), it.seg.data);
            it.busy = false;
          }
          if (!any) std::this_thread::yield();
        }
        if (--running == 0) bridge.stop();
      });
    bridge.serve();
    for (auto& t : pool) t.join();
    EXPECT_EQ(bridge.served(), uint64_t{threads} * requests);
    for (const Lane& l : lanes) {
      EXPECT_EQ(l.finished, requests);
      EXPECT_EQ(l.wrong, 0u);
    }
  });
}

TEST(Bridge, ThreadsOnTheFunctionalEngine) { run(Fidelity::Functional, 3, 3000); }
TEST(Bridge, ThreadsOnTheTimedEngine) { run(Fidelity::Approx, 3, 1000); }
TEST(Bridge, OneThread) { run(Fidelity::Approx, 1, 300); }

}  // namespace
}  // namespace sec::host
