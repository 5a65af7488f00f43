// For the disk tests: a reference that shares nothing with the product but OpenSSL, and an asynchronous cipher with a
// short queue that behaves as a device would.
#pragma once
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/diag.h"
#include "driver/crypto/registry.h"
#include "host/cpu/openssl.h"
#include "host/workloads/disk_pipeline.h"

namespace sec::test {

using Bytes = std::vector<uint8_t>;

inline Bytes unhex(std::string_view text) {
  Bytes out;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    out.push_back(static_cast<uint8_t>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return out;
}
inline std::string hex(std::span<const uint8_t> bytes) {
  std::string out;
  for (uint8_t b : bytes) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", b);
    out += two;
  }
  return out;
}
inline Bytes pattern(size_t n, uint32_t seed = 1) {
  Bytes out(n);
  for (auto& b : out) {
    seed = seed * 1664525 + 1013904223;
    b = static_cast<uint8_t>(seed >> 24);
  }
  return out;
}

/// One-shot OpenSSL cipher without padding.
inline Bytes evp(const char* name, bool encrypt, const Bytes& key, const Bytes& iv, std::span<const uint8_t> in) {
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  Bytes out(in.size() + 32);
  int n = 0;
  EXPECT_EQ(EVP_CipherInit_ex(c.get(), EVP_get_cipherbyname(name), nullptr, key.data(),
                              iv.empty() ? nullptr : iv.data(), encrypt),
            1)
      << name;
  EVP_CIPHER_CTX_set_padding(c.get(), 0);
  EXPECT_EQ(EVP_CipherUpdate(c.get(), out.data(), &n, in.data(), static_cast<int>(in.size())), 1);
  out.resize(in.size());
  EXPECT_EQ(n, static_cast<int>(in.size()));
  return out;
}

inline const crypto::Registry& software() {
  static const auto* registry = [] {
    auto* r = new crypto::Registry;
    host::register_openssl(*r);
    return r;
  }();
  return *registry;
}

/// A device with a queue of `depth` requests, one engine, and completions that come only from pump(): the oldest
/// request first, `per_pump` of them at a time. Requests over the depth go to a backlog or are refused.
class FakeDevice {
 public:
  struct Options {
    size_t depth = 2;
    unsigned per_pump = 1;
    bool backlog = true;            // false: NoSpace even with kMayBacklog, as a device without a queue
    Status full = Status::NoSpace;  // what a full queue says then
    bool start_early = false;       // the InProgress of a backlogged request comes before submit returns
    int fail_nth = -1;              // this request (from 0) ends in `fail_with`
    Status fail_with = Status::Io;
    bool dead = false;  // never completes
  };
  Options options;
  uint64_t submitted = 0, completed = 0, busy = 0, refused = 0;
  uint64_t rejected_while_blocked = 0;  // submissions made although a Busy was not yet answered
  uint64_t submitted_in_callback = 0, busy_in_callback = 0;
  size_t most_queued = 0;
  unsigned deepest = 0;  // submissions within submissions

  /// True while something is left to do.
  bool pump() {
    if (options.dead) return false;
    bool any = false;
    for (unsigned i = 0; i < options.per_pump && !queue_.empty(); ++i) {
      any = true;
      Job job = queue_.front();
      queue_.pop_front();
      if (!backlog_.empty()) {
        const Job started = backlog_.front();
        backlog_.pop_front();
        queue_.push_back(started);
        call(started, Status::InProgress);
      }
      Status s = Status::Ok;
      if (static_cast<int>(job.number) == options.fail_nth) {
        s = options.fail_with;
        options.fail_nth = -1;
      } else {
        crypto::SkcipherRequest r = *job.request;
        s = job.encrypt ? job.cipher->encrypt(r) : job.cipher->decrypt(r);
      }
      ++completed;
      call(job, s);
    }
    return any;
  }

  Status submit(crypto::Skcipher& cipher, crypto::SkcipherRequest& r, bool encrypt) {
    const Job job{&cipher, &r, encrypt, submitted + refused};
    struct Depth {
      unsigned& now;
      ~Depth() { --now; }
    } leave{depth_};
    deepest = std::max(deepest, ++depth_);
    if (in_callback_) ++submitted_in_callback;
    if (!backlog_.empty()) ++rejected_while_blocked;
    if (queue_.size() < options.depth) {
      ++submitted;
      queue_.push_back(job);
      most_queued = std::max(most_queued, queue_.size());
      return Status::InProgress;
    }
    if (!options.backlog || !(r.flags & crypto::kMayBacklog)) {
      ++refused;
      return options.full;
    }
    ++submitted;
    ++busy;
    if (in_callback_) ++busy_in_callback;
    if (options.start_early) {
      queue_.push_back(job);
      call(job, Status::InProgress);
    } else {
      backlog_.push_back(job);
    }
    return Status::Busy;
  }
  size_t held() const { return queue_.size() + backlog_.size(); }

 private:
  struct Job {
    crypto::Skcipher* cipher;
    crypto::SkcipherRequest* request;
    bool encrypt;
    uint64_t number;
  };
  void call(const Job& job, Status s) {
    const bool nested = in_callback_;
    in_callback_ = true;
    job.request->complete(job.request->context, s);
    in_callback_ = nested;
  }
  std::deque<Job> queue_, backlog_;
  bool in_callback_ = false;
  unsigned depth_ = 0;
};

class FakeCipher : public crypto::Skcipher {
 public:
  FakeCipher(FakeDevice& device, const std::string& algorithm)
      : device_(device), inner_(software().alloc_skcipher(algorithm)) {
    info_ = inner_->info();
    info_.driver = "fake";
    info_.async = true;
  }
  const crypto::AlgorithmInfo& info() const override { return info_; }
  Status set_key(std::span<const uint8_t> key, uint32_t flags) override { return inner_->set_key(key, flags); }
  Status encrypt(crypto::SkcipherRequest& r) override { return device_.submit(*inner_, r, true); }
  Status decrypt(crypto::SkcipherRequest& r) override { return device_.submit(*inner_, r, false); }

 private:
  FakeDevice& device_;
  std::unique_ptr<crypto::Skcipher> inner_;
  crypto::AlgorithmInfo info_;
};

/// A registry that offers `algorithm` from the fake device, above the software.
inline void add_fake(crypto::Registry& registry, FakeDevice& device, const std::string& algorithm,
                     bool allocates_memory = false) {
  crypto::Algorithm a;
  a.info = FakeCipher(device, algorithm).info();
  a.info.driver = "fake-" + algorithm;
  a.info.priority = 3000;
  a.info.allocates_memory = allocates_memory;
  a.make_skcipher = [&device, algorithm] { return std::make_unique<FakeCipher>(device, algorithm); };
  registry.set_selftest_enabled(false);
  ASSERT_EQ(registry.add(std::move(a)), Status::Ok);
}

/// The text of the SetupError that `f` throws, empty if none.
inline std::string setup_error(const std::function<void()>& f) {
  try {
    f();
  } catch (const SetupError& e) {
    return e.what();
  }
  return {};
}

}  // namespace sec::test
