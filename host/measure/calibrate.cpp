#include "host/measure/calibrate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/diag.h"
#include "common/units.h"
#include "driver/talitos/talitos.h"
#include "host/cpu/cpu_info.h"
#include "host/cpu/ipsecmb.h"
#include "host/cpu/openssl.h"
#include "host/measure/statistics.h"
#include "host/measure/thread_time.h"
#include "host/platforms/engine_platform.h"
#include "hw/regs/channel.h"
#include "hw/regs/controller.h"
#include "hw/regs/map.h"

namespace sec::host {
namespace {
using driver::Cost;

/// A device that has done every descriptor as soon as it is told of it: what remains is the driver.
class NullEngine final : public driver::Platform {
 public:
  NullEngine() : space_(size_t{64} << 20, 0x100000) { dma_ = &space_; }
  uint32_t read32(uint32_t offset) override {
    if (offset == regs::kControllerBase + regs::kISR.offset_bytes) {
      uint64_t v = 0;
      for (unsigned n = 0; n < 4; ++n)
        if (done_[n]) v |= regs::channel_done(n);
      return static_cast<uint32_t>(v >> 32);
    }
    return 0;
  }
  void write32(uint32_t offset, uint32_t value) override {
    const uint32_t page = offset < regs::kControllerBase ? offset + regs::kControllerBase : offset;  // remapped channels
    if (page >= regs::kChannelBase(0) && page < regs::kChannelBase(4)) {
      const uint32_t reg = (page - regs::kChannelBase(0)) % regs::kChannelBytes;
      if (reg == regs::kFF.offset_bytes + 4) {
        *space_.host_ptr(value) = 0xff;
        ++done_[(page - regs::kChannelBase(0)) / regs::kChannelBytes];
      }
    } else if (offset == regs::kControllerBase + regs::kICR.offset_bytes) {
      for (unsigned n = 0; n < 4; ++n)
        if (uint64_t{value} << 32 & regs::channel_done(n) && done_[n]) --done_[n];
    }
  }
  void set_interrupt_handler(unsigned line, Handler h, void* c) override { handler_[line] = {h, c}; }
  void schedule_task(Handler t, void* c) override { task_ = {t, c}; }
  void sync_for_cpu() override {}
  void relax(uint64_t) override {}
  uint64_t now_ns() override { return 0; }
  void log(Level, std::string_view) override {}
  void interrupt() {
    for (unsigned round = 0; round < 16; ++round) {
      if (!(done_[0] | done_[1] | done_[2] | done_[3])) return;
      for (const auto& h : handler_)
        if (h.fn) h.fn(h.context);
      if (const auto t = std::exchange(task_, {}); t.fn) t.fn(t.context);
    }
  }

 private:
  struct Slot {
    Handler fn = nullptr;
    void* context = nullptr;
  };
  driver::DmaSpace space_;
  Slot handler_[2], task_;
  unsigned done_[4] = {};
};

double ns_since(double t0) { return (thread_seconds() - t0) * 1e9; }

/// Median nanoseconds {submit, completion} of one request whose lists have `segments` pieces.
std::pair<double, double> driver_cost(unsigned segments, unsigned repeats) {
  constexpr unsigned kBatch = 14;  // below what the engine can store in done events
  constexpr unsigned kBytes = 1440;
  NullEngine platform;
  crypto::Registry registry;
  registry.set_selftest_enabled(false);
  driver::Device device(platform);
  SEC_CHECK(device.probe(device_properties(regs::default_part())) == Status::Ok, "probe");
  SEC_CHECK(device.register_algorithms(registry) == Status::Ok, "algorithms");
  std::vector<double> submit, complete;
  {
    auto tfm = registry.alloc_skcipher("cbc-aes-talitos");
    const std::vector<uint8_t> key(16, 1);
    SEC_CHECK(tfm && tfm->set_key(key) == Status::Ok, "key");
    auto* memory = static_cast<uint8_t*>(platform.dma().alloc(kBatch * 8192));
    struct Item {
      std::vector<crypto::Segment> segments;
      crypto::ScatterList list;
      crypto::SkcipherRequest request;
      uint8_t iv[16] = {};
    };
    std::vector<Item> items(kBatch);
    static unsigned completed;
    for (unsigned i = 0; i < kBatch; ++i) {
      for (unsigned s = 0; s < segments; ++s) items[i].segments.push_back({memory + i * 8192 + s * (kBytes / segments + 16), kBytes / segments});
      items[i].list = {items[i].segments.data(), items[i].segments.size()};
      items[i].request = {.src = &items[i].list, .dst = &items[i].list, .size_bytes = kBytes / segments * segments, .iv = items[i].iv};
      items[i].request.complete = [](void*, Status) { ++completed; };
    }
    for (unsigned r = 0; r < repeats; ++r) {
      double s = 0, c = 0;
      constexpr unsigned kInner = 20;
      for (unsigned k = 0; k < kInner; ++k) {
        double t0 = thread_seconds();
        for (Item& i : items) SEC_CHECK(accepted(tfm->encrypt(i.request)), "submit");
        s += ns_since(t0);
        t0 = thread_seconds();
        platform.interrupt();
        c += ns_since(t0);
      }
      submit.push_back(s / (kInner * kBatch));
      complete.push_back(c / (kInner * kBatch));
    }
  }
  device.unregister();
  return {median(submit), median(complete)};
}

/// Least squares of ns = fixed + per_byte x bytes, weighted towards relative accuracy; neither part negative.
void fit(const std::vector<std::pair<double, double>>& points, double& fixed, double& per_byte) {
  double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& [x, y] : points) {
    const double w = 1 / (y * y);
    sw += w, sx += w * x, sy += w * y, sxx += w * x * x, sxy += w * x * y;
  }
  per_byte = (sw * sxy - sx * sy) / (sw * sxx - sx * sx);
  fixed = (sy - per_byte * sx) / sw;
  if (fixed < 0) fixed = 0, per_byte = sxy / sxx;
  per_byte = std::max(per_byte, 0.0);
}

struct Target {
  const char* algorithm;
  unsigned key_bits;
  bool hash;
};
constexpr Target kTargets[] = {{"ecb(aes)", 128, false}, {"ecb(aes)", 192, false}, {"ecb(aes)", 256, false}, {"cbc(aes)", 128, false}, {"cbc(aes)", 192, false},
                               {"cbc(aes)", 256, false}, {"ctr(aes)", 128, false}, {"ctr(aes)", 192, false}, {"ctr(aes)", 256, false}, {"xts(aes)", 256, false},
                               {"xts(aes)", 512, false}, {"ecb(des)", 64, false},  {"cbc(des)", 64, false},  {"ecb(des3_ede)", 192, false}, {"cbc(des3_ede)", 192, false},
                               {"md5", 0, true},         {"sha1", 0, true},        {"sha256", 0, true},      {"hmac(md5)", 128, true}, {"hmac(sha1)", 160, true}, {"hmac(sha256)", 256, true}};

/// Nanoseconds per request of `n` requests of `size` bytes; `depth` in flight before a flush.
double cipher_ns(crypto::Skcipher& tfm, size_t size, unsigned n, unsigned depth) {
  std::vector<uint8_t> memory(2 * size * depth);
  std::vector<crypto::Segment> seg(2 * depth);
  std::vector<crypto::ScatterList> list(2 * depth);
  std::vector<std::array<uint8_t, 16>> iv(depth);
  std::vector<crypto::SkcipherRequest> q(depth);
  for (unsigned i = 0; i < depth; ++i) {
    seg[2 * i] = {&memory[2 * size * i], size};
    seg[2 * i + 1] = {&memory[2 * size * i + size], size};
    list[2 * i] = {&seg[2 * i], 1};
    list[2 * i + 1] = {&seg[2 * i + 1], 1};
    q[i] = {.src = &list[2 * i], .dst = &list[2 * i + 1], .size_bytes = size, .iv = iv[i].data()};
    q[i].complete = [](void*, Status) {};
  }
  const double t0 = thread_seconds();
  for (unsigned done = 0; done < n; done += depth) {
    for (auto& r : q) {
      const Status s = tfm.encrypt(r);
      SEC_CHECK(s == Status::Ok || accepted(s), "cipher request");
    }
    tfm.flush();
  }
  return ns_since(t0) / n;
}
double hash_ns(crypto::Hash& tfm, size_t size, unsigned n, unsigned depth) {
  std::vector<uint8_t> memory(size * depth);
  std::vector<crypto::Segment> seg(depth);
  std::vector<crypto::ScatterList> list(depth);
  std::vector<std::array<uint8_t, 64>> digest(depth);
  std::vector<crypto::HashRequest> q(depth);
  for (unsigned i = 0; i < depth; ++i) {
    seg[i] = {&memory[size * i], size};
    list[i] = {&seg[i], 1};
    q[i] = {.src = &list[i], .size_bytes = size, .digest = digest[i].data()};
    q[i].complete = [](void*, Status) {};
  }
  const double t0 = thread_seconds();
  for (unsigned done = 0; done < n; done += depth) {
    for (auto& r : q) {
      const Status s = tfm.digest(r);
      SEC_CHECK(s == Status::Ok || accepted(s), "hash request");
    }
    tfm.flush();
  }
  return ns_since(t0) / n;
}

double tsc_free_clock_hz() {
  std::ifstream f("/proc/cpuinfo");
  for (std::string line; std::getline(f, line);)
    if (line.starts_with("cpu MHz")) return std::strtod(line.c_str() + line.find(':') + 1, nullptr) * 1e6;
  return 1e9;
}

}  // namespace

CpuProfile calibrate(const CalibrateOptions& o) {
  const unsigned repeats = o.quick ? 5 : 15;
  auto progress = [&](double f) {
    if (o.progress) o.progress(f);
  };
  CpuProfile p;
  const CpuInfo info = cpu_info();
  p.name = "this-host";
  p.description = fmt::format("{}, {}, {}", info.model, info.openssl, info.ipsec_mb);
  p.clock_hz = tsc_free_clock_hz();

  // The driver.
  const auto [submit1, complete1] = driver_cost(1, repeats);
  const auto [submit9, complete9] = driver_cost(9, repeats);
  p[Cost::ApiCall] = {0, 'H', "measured: inside submit_request"};
  p[Cost::SubmitRequest] = {submit1, 'H', "measured: the driver's encrypt() on an engine that answers at once, one segment"};
  p[Cost::Completion] = {complete1, 'H', "measured: the driver's interrupt handler and done task, per request, batches of 14"};
  p[Cost::MapSegment] = {std::max(0.0, (submit9 + complete9 - submit1 - complete1) / 16), 'H', "measured: nine segments against one, both lists; the link-table entry is inside"};
  p[Cost::LinkTableEntry] = {0, 'H', "measured: inside map_segment"};
  progress(0.05);
  // Copies.
  {
    std::vector<uint8_t> a(1500 * 64, 1), b(1500 * 64);
    std::vector<double> v;
    for (unsigned r = 0; r < repeats; ++r) {
      const double t0 = thread_seconds();
      for (unsigned k = 0; k < 2000; ++k) {
        std::memcpy(&b[1500 * (k % 64)], &a[1500 * (k * 7 % 64)], 1500);
        asm volatile("" ::: "memory");
      }
      v.push_back(ns_since(t0) / (2000 * 1500.0));
    }
    p[Cost::CopyByte] = {median(v), 'H', "measured: memcpy of 1500-byte buffers in cache"};
  }
  p[Cost::MmioRead] = {800, 'L', "ASSUMED: PCIe round trip of a register read; there is no engine here to measure"};
  p[Cost::MmioWrite] = {100, 'L', "ASSUMED: posted PCIe write with its barrier"};
  p[Cost::Interrupt] = {1500, 'L', "ASSUMED: MSI to handler and back on a server CPU"};
  p[Cost::DoneTask] = {300, 'L', "ASSUMED: softirq scheduling and entry"};
  p[Cost::PacketWork] = {2600, 'L', "ASSUMED: per-packet stack traversal as the founding thread's machine had it (2.6 us)"};
  p[Cost::SectorWork] = {300, 'L', "ASSUMED: block layer and dm-crypt bookkeeping per request"};

  // Crypto.
  crypto::Registry registry;
  registry.set_selftest_enabled(false);
  register_openssl(registry);
  register_ipsecmb(registry);
  size_t index = 0;
  for (const Target& t : kTargets) {
    CryptoFigure f;
    f.confidence = 'H';
    bool have_batch = false;
    for (const bool batch : {false, true}) {
      const std::string driver = driver_of(registry, t.algorithm, batch ? "ipsecmb" : "openssl");
      if (driver.empty()) continue;
      std::vector<std::pair<double, double>> points;
      std::vector<uint8_t> key(t.key_bits / 8);
      for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i * 37 + 5);
      std::unique_ptr<crypto::Skcipher> cipher;
      std::unique_ptr<crypto::Hash> hash;
      if (t.hash) {
        hash = registry.alloc_hash(driver);
        if (!hash || (t.key_bits && hash->set_key(key) != Status::Ok)) continue;
      } else {
        cipher = registry.alloc_skcipher(driver);
        if (!cipher || cipher->set_key(key) != Status::Ok) continue;
      }
      const size_t sizes[] = {64, 256, 1024, 4096, 8192};
      std::vector<std::vector<double>> samples(std::size(sizes));
      for (unsigned r = 0; r < (o.quick ? 3u : 7u); ++r)
        for (size_t s = 0; s < std::size(sizes); ++s) {
          const unsigned n = static_cast<unsigned>(std::clamp<size_t>((o.quick ? 100'000 : 400'000) / sizes[s], 32, 4096)) / 32 * 32;
          samples[s].push_back(t.hash ? hash_ns(*hash, sizes[s], n, batch ? 32 : 1) : cipher_ns(*cipher, sizes[s], n, batch ? 32 : 1));
        }
      for (size_t s = 0; s < std::size(sizes); ++s) points.emplace_back(double(sizes[s]), median(samples[s]));
      fit(points, batch ? f.batch_fixed_ns : f.fixed_ns, batch ? f.batch_ns_per_byte : f.ns_per_byte);
      have_batch |= batch;
    }
    if (!have_batch) f.batch_fixed_ns = f.fixed_ns, f.batch_ns_per_byte = f.ns_per_byte;
    f.source = have_batch ? "measured: OpenSSL one at a time, ipsec-mb in batches of 32" : "measured: OpenSSL one at a time; ipsec-mb has no such mode, so no batch figure";
    const bool bits = std::string_view(t.algorithm).find("aes") != std::string_view::npos;
    p.crypto[bits ? fmt::format("{}-{}", t.algorithm, t.key_bits) : t.algorithm] = f;
    progress(0.1 + 0.9 * double(++index) / double(std::size(kTargets)));
  }
  return p;
}

}  // namespace sec::host
