// One engine, functional or timed, with memory of its own and helpers to write descriptors and look at registers: for
// tests of behaviour that must be the same on both executors. No SystemC.
//
// Memory: 1 MiB at 1 MiB (holes all around), and 64 KiB above 4 GiB. Everything starts as 0xEE.
#pragma once
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/functional.h"
#include "hw/regs/aesu.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/deu.h"
#include "hw/regs/map.h"
#include "hw/timing/timed_engine.h"

namespace sec::test {

using Bytes = std::vector<uint8_t>;

inline constexpr BusAddr kLow = 0x10'0000, kHigh = 0x3'0000'0000, kHole = 0x0f00'0000;
inline constexpr uint64_t kLowBytes = 0x10'0000, kHighBytes = 0x1'0000;

inline constexpr uint32_t lo(uint64_t m) { return static_cast<uint32_t>(m); }
inline constexpr uint32_t hi(uint64_t m) { return static_cast<uint32_t>(m >> 32); }
inline constexpr uint32_t kCdwe = lo(regs::kCCCR.mask("CDWE")), kCdie = lo(regs::kCCCR.mask("CDIE")), kNt = lo(regs::kCCCR.mask("NT")),
                          kAwse = lo(regs::kCCCR.mask("AWSE")), kEae = lo(regs::kCCCR.mask("EAE")), kWgn = lo(regs::kCCCR.mask("WGN")),
                          kIwse = lo(regs::kCCCR.mask("IWSE")), kBs = lo(regs::kCCCR.mask("BS"));
inline constexpr uint32_t kReset = hi(regs::kCCCR.mask("R")), kContinue = hi(regs::kCCCR.mask("CON"));

/// Bytes that differ from each other and from seed to seed.
inline Bytes pattern(size_t n, uint32_t seed) {
  Bytes b(n);
  uint32_t x = seed * 2654435761u + 12345;
  for (auto& v : b) {
    x = x * 1664525 + 1013904223;
    v = static_cast<uint8_t>(x >> 24);
  }
  return b;
}

/// OpenSSL as the second opinion: "AES-128-CBC", "DES-EDE3-ECB", ... Whole blocks.
inline Bytes cipher(const char* name, const Bytes& key, const Bytes& iv, const Bytes& in, bool encrypt) {
  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  EXPECT_EQ(EVP_CipherInit_ex(c.get(), EVP_get_cipherbyname(name), nullptr, key.data(), iv.empty() ? nullptr : iv.data(), encrypt), 1) << name;
  EVP_CIPHER_CTX_set_padding(c.get(), 0);
  Bytes out(in.size() + 32);
  int n = 0, m = 0;
  EXPECT_EQ(EVP_CipherUpdate(c.get(), out.data(), &n, in.data(), static_cast<int>(in.size())), 1);
  EXPECT_EQ(EVP_CipherFinal_ex(c.get(), out.data() + n, &m), 1);
  out.resize(static_cast<size_t>(n + m));
  return out;
}
/// 8, 16 or 24 bytes of DES key as three.
inline Bytes ede(const Bytes& k) {
  Bytes r(24);
  for (size_t i = 0; i < 24; ++i) r[i] = k[k.size() == 8 ? i % 8 : k.size() == 16 ? i % 16 : i];
  return r;
}
inline Bytes odd_parity(Bytes k) {
  for (auto& b : k)
    if (std::popcount(b) % 2 == 0) b ^= 1;
  return k;
}

enum class Executor { Functional, Timed };

/// A descriptor in the making: AES-128-CBC encryption of 256 bytes unless changed.
struct Job {
  regs::Eu unit = regs::Eu::Aesu, sel1 = regs::Eu::None;
  uint8_t mode = regs::aesu_mode::kCbc | regs::aesu_mode::kEncrypt;
  unsigned type = 2;
  bool notify = true;
  BusAddr at = kLow;  // the descriptor; its data follows
  uint16_t iv_bytes = 16, key_bytes = 16, in_bytes = 256, out_bytes = 256, iv_out_bytes = 16;
  BusAddr iv() const { return at + 0x080; }
  BusAddr key() const { return at + 0x0c0; }
  BusAddr iv_out() const { return at + 0x1c0; }
  BusAddr gather() const { return at + 0x200; }
  BusAddr scatter() const { return at + 0x400; }
  BusAddr in() const { return at + 0x1000; }
  BusAddr out() const { return at + 0x4000; }
  static Job des(BusAddr at, uint8_t mode = regs::deu_mode::kCbc | regs::deu_mode::kTriple | regs::deu_mode::kEncrypt, uint16_t key = 24) {
    Job j;
    j.unit = regs::Eu::Deu, j.mode = mode, j.at = at, j.iv_bytes = j.iv_out_bytes = 8, j.key_bytes = key;
    return j;
  }
  static Job aes(BusAddr at) {
    Job j;
    j.at = at;
    return j;
  }
  regs::Descriptor descriptor() const {
    regs::Descriptor d;
    d.header = regs::make_header(unit, mode, sel1, 0, static_cast<regs::DescriptorType>(type), false, notify);
    d.feedback = 0x12345678;
    if (iv_bytes) d.ptr[1] = regs::PointerDword::to(iv(), iv_bytes);
    if (key_bytes) d.ptr[2] = regs::PointerDword::to(key(), key_bytes);
    d.ptr[3] = regs::PointerDword::to(in(), in_bytes);
    d.ptr[4] = regs::PointerDword::to(out(), out_bytes);
    if (iv_out_bytes) d.ptr[5] = regs::PointerDword::to(iv_out(), iv_out_bytes);
    return d;
  }
};

/// Knows the states that channels went through and what ended when; may interfere at a state.
struct Witness : hw::EngineObserver {
  struct End {
    uint64_t clock;
    unsigned channel;
    BusAddr at;
    uint32_t error;
    bool operator==(const End&) const = default;
  };
  std::vector<End> ended;
  std::function<void(unsigned channel, regs::ChannelState)> at_state;
  void channel_state(uint64_t, unsigned n, regs::ChannelState s) override {
    if (at_state) at_state(n, s);
  }
  void channel_descriptor(uint64_t, unsigned, BusAddr, unsigned) override {}
  void fetch_fifo(uint64_t, unsigned, unsigned) override {}
  void descriptor_end(uint64_t clock, unsigned n, BusAddr at, uint32_t e) override { ended.push_back({clock, n, at, e}); }
  void unit_owner(uint64_t, regs::Eu, int) override {}
  void unit_fifo(uint64_t, regs::Eu, uint32_t, uint32_t, bool) override {}
  void bus(uint64_t, int, bool, BusAddr, uint32_t) override {}
  void lines(uint64_t, uint32_t) override {}
};

struct Rig {
  Bytes low = Bytes(kLowBytes, 0xEE), high = Bytes(kHighBytes, 0xEE);
  hw::MemoryMap map;
  const regs::Part& part;
  Witness witness;
  std::unique_ptr<hw::Engine> engine;
  hw::TimedEngine* timed = nullptr;

  static hw::Timing timing_of(std::string_view part, std::initializer_list<const char*> knobs = {}) {
    hw::Timing t = hw::Timing::for_part(*regs::find_part(part));
    for (const char* k : knobs) t.set(k);
    return t;
  }
  Rig(std::string_view part_name, Executor x, const hw::Timing& t) : part(*regs::find_part(part_name)) {
    map.add_region(kLow, low.size(), low.data());
    map.add_region(kHigh, high.size(), high.data());
    if (x == Executor::Functional) {
      engine = std::make_unique<hw::FunctionalEngine>(part, t, map);
    } else {
      auto e = std::make_unique<hw::TimedEngine>(part, t, map);
      timed = e.get();
      engine = std::move(e);
    }
    engine->set_observer(&witness);
  }
  Rig(std::string_view part_name, Executor x) : Rig(part_name, x, timing_of(part_name)) {}

  bool sec3() const { return part.generation == regs::Generation::Sec3; }

  // ---- memory ----
  uint8_t* at(BusAddr a) { return a >= kHigh ? high.data() + (a - kHigh) : low.data() + (a - kLow); }
  Bytes get(BusAddr a, size_t n) { return Bytes(at(a), at(a) + n); }
  void put(BusAddr a, const Bytes& b) { std::copy(b.begin(), b.end(), at(a)); }
  static bool untouched(const Bytes& b) {
    return std::all_of(b.begin(), b.end(), [](uint8_t v) { return v == 0xEE; });
  }
  /// Writes descriptor, key, IV and input; `d` replaces the job's own descriptor.
  void load(const Job& j, const regs::Descriptor& d, uint32_t seed = 7) {
    put(j.iv(), pattern(j.iv_bytes, seed + 1));
    Bytes key = pattern(j.key_bytes, seed + 2);
    put(j.key(), j.unit == regs::Eu::Deu ? odd_parity(key) : key);
    put(j.in(), pattern(j.in_bytes, seed + 3));
    d.store(at(j.at));
  }
  void load(const Job& j, uint32_t seed = 7) { load(j, j.descriptor(), seed); }
  /// What the job must write, by OpenSSL.
  Bytes expected(const Job& j) {
    const Bytes key = get(j.key(), j.key_bytes), iv = get(j.iv(), j.iv_bytes), in = get(j.in(), j.in_bytes);
    const bool encrypt = j.mode & 1;
    if (j.unit == regs::Eu::Deu) return cipher(j.mode & 0x0c ? "DES-EDE3-CBC" : "DES-EDE3-ECB", ede(key), iv, in, encrypt);
    const std::string bits = std::to_string(8 * j.key_bytes);
    const uint8_t m = j.mode & 6;
    return cipher(("AES-" + bits + (m == 0 ? "-ECB" : m == 2 ? "-CBC" : "-CTR")).c_str(), key, iv, in, encrypt || m == 6);
  }
  bool marked_done(BusAddr descriptor) { return *at(descriptor) == 0xff; }

  // ---- registers ----
  uint32_t rd(uint32_t o) { return engine->read32(o); }
  uint64_t rd64(uint32_t o) { return uint64_t{engine->read32(o)} << 32 | engine->read32(o + 4); }
  void wr(uint32_t o, uint32_t v) { engine->write32(o, v); }
  uint32_t page(unsigned n) { return hi(regs::remap_channel(n)) & mcr() ? regs::kChannelAliasBase(n) : regs::kChannelBase(n); }
  uint32_t mcr() { return rd(regs::kControllerBase + regs::kMCR.offset_bytes); }
  void set_mcr(uint32_t v) { wr(regs::kControllerBase + regs::kMCR.offset_bytes, v); }
  uint64_t isr() { return rd64(regs::kControllerBase + regs::kISR.offset_bytes); }
  void clear(uint64_t bits) {
    wr(regs::kControllerBase + regs::kICR.offset_bytes, hi(bits));
    wr(regs::kControllerBase + regs::kICR.offset_bytes + 4, lo(bits));
  }
  void enable(uint64_t bits) {
    wr(regs::kControllerBase + regs::kIMR.offset_bytes, hi(bits));
    wr(regs::kControllerBase + regs::kIMR.offset_bytes + 4, lo(bits));
  }
  void configure(unsigned n, uint32_t cccr_lo) { wr(page(n) + regs::kCCCR.offset_bytes + 4, cccr_lo); }
  void control(unsigned n, uint32_t bit) { wr(page(n) + regs::kCCCR.offset_bytes, bit); }
  uint64_t ccpsr(unsigned n) { return rd64(page(n) + regs::kCCPSR.offset_bytes); }
  uint32_t errors(unsigned n) { return lo(ccpsr(n)) & lo(regs::channel_error::kAll); }
  regs::ChannelState state(unsigned n) { return static_cast<regs::ChannelState>(ccpsr(n) >> 32 & 0xff); }
  unsigned level(unsigned n) { return static_cast<unsigned>((sec3() ? ccpsr(n) >> 24 : ccpsr(n) >> 56) & 0x1f); }
  uint64_t cdpr(unsigned n) { return rd64(page(n) + regs::kCDPR.offset_bytes); }
  uint32_t eu(regs::Eu u, const regs::Register& r) { return rd(regs::eu_base(u) + r.offset_bytes + 4); }
  void set_eu(regs::Eu u, const regs::Register& r, uint32_t v) { wr(regs::eu_base(u) + r.offset_bytes + 4, v); }

  void submit(unsigned n, BusAddr a) {
    wr(page(n) + regs::kFF.offset_bytes, hi(a));
    wr(page(n) + regs::kFF.offset_bytes + 4, lo(a));
  }
  /// Until nothing moves any more.
  void settle() {
    if (!timed) return;
    for (unsigned k = 0; timed->run(hw::kNever - 1); ++k) ASSERT_LT(k, 100000u) << "the engine never comes to rest";
  }
  /// Software comes `clocks` later.
  void pass(uint64_t clocks) {
    if (!timed) return;
    const uint64_t t = timed->now() + clocks;
    while (timed->run(t)) {}
    timed->set_now(t);
  }
  void run(unsigned n, const Job& j, uint32_t seed = 7) {
    load(j, seed);
    submit(n, j.at);
    settle();
  }
};

inline const char* name_of(Executor x) { return x == Executor::Functional ? "functional" : "timed"; }

}  // namespace sec::test
