// Results: every cipher of the engine against OpenSSL, over buffer shapes, lengths, IV rules and key rules.
#include <algorithm>
#include <numeric>

#include "common/units.h"
#include "hw/regs/variants.h"
#include "tests/driver/harness.h"

namespace sec::test {
namespace {

using crypto::ScatterList;
using crypto::Segment;
using crypto::SkcipherRequest;

constexpr const char* kNistKey = "2b7e151628aed2a6abf7158809cf4f3c";
constexpr const char* kNistPlain =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
const auto hex = crypto::from_hex;

Bytes run(Harness& h, crypto::Skcipher& t, const Bytes& in, Bytes* iv, bool encrypt, bool in_place = true) {
  Job j(h, in, iv ? *iv : Bytes{}, 0, in_place);
  const Status s = encrypt ? t.encrypt(j.request) : t.decrypt(j.request);
  EXPECT_EQ(s, in.empty() ? Status::Ok : Status::InProgress);
  h.engine.run();
  if (!in.empty()) {
    EXPECT_EQ(j.finished, 1u);
    EXPECT_EQ(j.status, Status::Ok);
  }
  EXPECT_TRUE(j.poison_intact());
  if (iv) *iv = j.iv;
  return j.result();
}

// --- Registration ----------------------------------------------------------------------------------------------

TEST(Ciphers, PassTheSelfTestOnEveryPart) {
  for (const regs::Part& part : regs::kParts) {
    Harness h({.part = &part}, true);
    for (const crypto::AlgorithmInfo& a : h.registry.list())
      EXPECT_EQ(a.selftest, crypto::SelfTest::Passed) << part.name << ": " << h.registry.selftest_failure(a.driver);
    EXPECT_GE(h.registry.list().size(), 17u);
    EXPECT_EQ(h.device->outstanding(), 0u);
    EXPECT_EQ(h.device->stats().device_resets, 0u);
    EXPECT_EQ(h.engine.misaligned_writes, 0u);
    EXPECT_EQ(h.dma().bounce_slots_used(), 0u);
  }
}

TEST(Ciphers, AreOfferedOnlyWhereTypeAndUnitExist) {
  const auto names = [](uint32_t units, uint32_t types) {
    FakeEngine e;
    driver::DeviceProperties p = e.properties();
    p.exec_units_mask = units;
    p.descriptor_types_mask = types;
    crypto::Registry r;
    r.set_selftest_enabled(false);
    driver::Device d(e);
    d.set_extras(false);
    EXPECT_EQ(d.probe(p), Status::Ok);
    EXPECT_EQ(d.register_algorithms(r), Status::Ok);
    std::string out;
    for (const auto& a : r.list())
      if (a.type == crypto::AlgorithmType::Skcipher) out += a.name + " ";
    return out;
  };
  EXPECT_EQ(names(0x40, 0x5), "ecb(aes) cbc(aes) ctr(aes) ");
  EXPECT_EQ(names(0x40, 0x4), "ecb(aes) cbc(aes) ");
  EXPECT_EQ(names(0x40, 0x1), "ctr(aes) ");
  EXPECT_EQ(names(0x04, 0x5), "ecb(des) cbc(des) ecb(des3_ede) cbc(des3_ede) ");
  EXPECT_EQ(names(0x08, 0x5), "");
}

// --- IV rules ------------------------------------------------------------------------------------------------

// T01
TEST(OutputIv, IsTheLastCipherBlockAndCarriesOver) {
  Harness h;
  auto t = h.cipher("cbc(aes)", hex(kNistKey));
  Bytes iv = hex("000102030405060708090a0b0c0d0e0f");
  const Bytes plain = hex(kNistPlain), whole = run(h, *t, plain, &iv, true);
  EXPECT_EQ(iv, hex("3ff1caa1681fac09120eca307586e1a7"));
  Bytes div = hex("000102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(run(h, *t, whole, &div, false), plain);
  EXPECT_EQ(div, hex("3ff1caa1681fac09120eca307586e1a7"));
}

TEST(OutputIv, SplitsAnywhereGiveTheSameBytes) {
  std::mt19937_64 rng(1);
  Harness h;
  for (const CipherSpec& c : cipher_specs()) {
    if (!c.iv) continue;
    const size_t step = c.block == 1 ? 16 : c.block;
    const Bytes key = random_bytes(rng, c.keys.front()), in = random_bytes(rng, 4 * step),
                iv0 = random_bytes(rng, c.iv);
    auto t = h.cipher(c.name, key);
    for (const bool encrypt : {true, false})
      for (const bool in_place : {true, false}) {
        Bytes iv_ref = iv0;
        const Bytes expected = reference(c.name, key, &iv_ref, in, encrypt);
        for (size_t cut = 0; cut <= in.size(); cut += step) {
          Bytes iv = iv0;
          Bytes out = run(h, *t, Bytes(in.begin(), in.begin() + long(cut)), &iv, encrypt, in_place);
          const Bytes rest = run(h, *t, Bytes(in.begin() + long(cut), in.end()), &iv, encrypt, in_place);
          out.insert(out.end(), rest.begin(), rest.end());
          EXPECT_EQ(out, expected) << c.name << " " << cut;
          EXPECT_EQ(iv, iv_ref) << c.name << " " << cut;
        }
      }
  }
}

// K06, and the output IV belongs to the request: many requests of one transform in flight.
TEST(OutputIv, BelongsToTheRequest) {
  std::mt19937_64 rng(2);
  Harness h;
  const Bytes key = random_bytes(rng, 16);
  auto t = h.cipher("cbc(aes)", key);
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<Bytes> inputs, ivs;
  for (int i = 0; i < 40; ++i) {  // 23 on the ring, the rest on the backlog
    inputs.push_back(random_bytes(rng, 32));
    ivs.push_back(random_bytes(rng, 16));
    jobs.push_back(std::make_unique<Job>(h, inputs.back(), ivs.back(), crypto::kMayBacklog));
    EXPECT_TRUE(accepted(t->encrypt(jobs.back()->request)));
    std::fill(jobs.back()->iv.begin(), jobs.back()->iv.end(), 0xee);  // the caller overwrites the buffer meanwhile
  }
  h.engine.run();
  for (size_t i = 0; i < jobs.size(); ++i) {
    Bytes iv = ivs[i];
    EXPECT_EQ(jobs[i]->result(), reference("cbc(aes)", key, &iv, inputs[i], true)) << i;
    EXPECT_EQ(jobs[i]->iv, iv) << i;
  }
}

TEST(OutputIv, CounterWrapsOverAllBits) {
  Harness h;
  auto t = h.cipher("ctr(aes)", hex(kNistKey));
  Bytes iv(16, 0xff);
  EXPECT_EQ(run(h, *t, Bytes(32, 0), &iv, true),
            hex("8af2860142f786f409307c1a3f7eaaac7df76b0c1ab899b33e42f047b91b546f"));
  EXPECT_EQ(iv, hex("00000000000000000000000000000001"));
}

// T02
TEST(OutputIv, EcbNeedsNone) {
  Harness h;
  for (const char* name : {"ecb(aes)", "ecb(des)", "ecb(des3_ede)"}) {
    auto t = h.cipher(name, Bytes(std::string(name) == "ecb(aes)"   ? 16
                                  : std::string(name) == "ecb(des)" ? 8
                                                                    : 24,
                                  0x37));
    EXPECT_EQ(t->info().iv_bytes, 0u);
    run(h, *t, Bytes(16, 1), nullptr, true);
  }
}

TEST(OutputIv, MissingIvIsRefused) {
  Harness h;
  auto t = h.cipher("cbc(aes)", Bytes(16, 1));
  Job j(h, Bytes(16, 1), {});
  EXPECT_EQ(t->encrypt(j.request), Status::Invalid);
}

// --- Lengths -------------------------------------------------------------------------------------------------

// T06, S15
TEST(Lengths, PartialBlocksNeverReachTheEngine) {
  Harness h;
  for (const CipherSpec& c : cipher_specs()) {
    auto t = h.cipher(c.name, Bytes(c.keys.front(), 0x42));
    const uint64_t before = h.engine.executed.size();
    for (size_t n : {0u, 1u, 7u, 15u, 17u, 31u, 33u, 65535u}) {
      if (n && (c.block == 1 || n % c.block == 0)) continue;
      Job j(h, Bytes(n, 3), Bytes(c.iv, 9));
      EXPECT_EQ(t->encrypt(j.request), n ? Status::Invalid : Status::Ok) << c.name << " " << n;
      EXPECT_EQ(t->decrypt(j.request), n ? Status::Invalid : Status::Ok) << c.name << " " << n;
      h.engine.run();
      EXPECT_EQ(j.finished, 0u);
      EXPECT_EQ(j.iv, Bytes(c.iv, 9));
      EXPECT_EQ(j.result(), Bytes(n, 3));
    }
    EXPECT_EQ(h.engine.executed.size(), before);
  }
}

// T16
TEST(Lengths, CtrTakesAnyNumberOfBytes) {
  std::mt19937_64 rng(16);
  Harness h;
  const Bytes key = hex(kNistKey), iv0 = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
  auto t = h.cipher("ctr(aes)", key);
  std::vector<size_t> lengths = {4095, 4096, 4097, 65519, 65520, 65521, 65535, 65536};
  for (size_t n = 1; n <= 67; ++n) lengths.push_back(n);
  for (size_t n = 495; n <= 513; ++n) lengths.push_back(n);
  for (size_t n : lengths)
    for (const bool in_place : {true, false}) {
      const Bytes in = random_bytes(rng, n);
      Bytes iv = iv0, ref_iv = iv0;
      const Bytes expected = reference("ctr(aes)", key, &ref_iv, in, true);
      EXPECT_EQ(run(h, *t, in, &iv, true, in_place), expected) << n;
      EXPECT_EQ(iv, ref_iv) << n;
    }
  Bytes iv = iv0;
  const Bytes out = run(h, *t, Bytes(499, 0), &iv, true);
  unsigned char digest[32];
  unsigned size = 0;
  EVP_Digest(out.data(), out.size(), digest, &size, EVP_sha256(), nullptr);
  EXPECT_EQ(Bytes(digest, digest + 32), hex("19a96cf06e49f1dab68dbf661cfea59be855dceae6877e6032bc852188e4e1e6"));
}

// 1.5: the engine may fetch up to 15 bytes behind the source, so they must be the driver's or readable.
TEST(Lengths, CtrAtTheEndOfMemoryReadsNothingBehindIt) {
  Harness h;
  auto t = h.cipher("ctr(aes)", hex(kNistKey));
  for (size_t n : {1u, 15u, 17u, 100u}) {
    uint8_t* end = h.dma().base() + h.dma().size_bytes();
    Segment seg{end - n, n};
    ScatterList list(&seg, 1);
    std::memset(seg.data, 0x11, n);
    Job j(h, Bytes(16, 0), Bytes(16, 4));
    j.request.src = j.request.dst = &list;
    j.request.size_bytes = n;
    ASSERT_EQ(t->encrypt(j.request), Status::InProgress);
    h.engine.run();
    EXPECT_EQ(j.status, Status::Ok);
    Bytes iv(16, 4);
    EXPECT_EQ(Bytes(seg.data, end), reference("ctr(aes)", hex(kNistKey), &iv, Bytes(n, 0x11), true));
    EXPECT_EQ(j.iv, iv);
  }
  EXPECT_EQ(h.engine.illegal_accesses, 0u);
  EXPECT_EQ(h.device->stats().tail_bounces, 4u);
}

// S17
TEST(Lengths, LongRequestsAreCutUnseen) {
  std::mt19937_64 rng(17);
  for (const unsigned fifo : {24u, 4u}) {
    Harness h({.dma_bytes = 32 << 20, .fifo_entries = fifo});
    for (const CipherSpec& c : cipher_specs()) {
      const Bytes key = random_bytes(rng, c.keys.back());
      auto t = h.cipher(c.name, key);
      for (size_t n : {38016u, 65520u, 65536u, 131072u, 1048576u, 1048577u}) {
        if (n % c.block) continue;
        const Bytes in = random_bytes(rng, n), iv0 = random_bytes(rng, c.iv);
        for (const bool encrypt : {true, false})
          for (const bool in_place : {true, false}) {
            Bytes iv = iv0, ref_iv = iv0;
            const Bytes expected = reference(c.name, key, &ref_iv, in, encrypt);
            EXPECT_TRUE(run(h, *t, in, &iv, encrypt, in_place) == expected) << c.name << " " << n;
            EXPECT_EQ(iv, ref_iv) << c.name << " " << n;
          }
      }
    }
    EXPECT_GT(h.device->stats().split_requests, 0u);
    EXPECT_EQ(h.device->outstanding(), 0u);
  }
}

// T08
TEST(Request, FieldsAreNeverChanged) {
  Harness h;
  auto t = h.cipher("cbc(aes)", Bytes(16, 1));
  Job j(h, Bytes(48, 7), Bytes(16, 2), crypto::kMayBacklog, false);
  for (size_t n : {48u, 47u}) {
    j.request.size_bytes = n;
    const SkcipherRequest before = j.request;
    for (int again = 0; again < 2; ++again) {
      static_cast<void>(t->encrypt(j.request));
      h.engine.run();
      EXPECT_EQ(std::memcmp(&before, &j.request, sizeof before), 0);
    }
  }
  EXPECT_EQ(j.finished, 2u);
}

// --- Keys ------------------------------------------------------------------------------------------------------

// T05
TEST(Keys, OnlyLegalLengthsAreTaken) {
  Harness h;
  auto t = h.cipher("cbc(aes)", {});
  Job j(h, Bytes(16, 7), Bytes(16, 2));
  EXPECT_EQ(t->encrypt(j.request), Status::NoKey);
  for (size_t n = 0; n <= 64; ++n) {
    const Bytes key(n, 0x61);
    const bool legal = n == 16 || n == 24 || n == 32;
    EXPECT_EQ(t->set_key(key), legal ? Status::Ok : Status::Invalid) << n;
    const bool usable = legal || n > 32;  // outside the range the old key stays
    const Status s = t->encrypt(j.request);
    h.engine.run();
    EXPECT_EQ(s, usable ? Status::InProgress : Status::NoKey) << n;
  }
}

// T38
TEST(Keys, WeakDesKeysAreRefusedOnlyOnRequest) {
  Harness h;
  auto t = h.cipher("ecb(des)", {});
  for (const char* k :
       {"0101010101010101", "fefefefefefefefe", "1f1f1f1f0e0e0e0e", "e0e0e0e0f1f1f1f1", "01fe01fe01fe01fe",
        "fe01fe01fe01fe01", "1fe01fe00ef10ef1", "e01fe01ff10ef10e", "01e001e001f101f1", "e001e001f101f101",
        "1ffe1ffe0efe0efe", "fe1ffe1ffe0efe0e", "011f011f010e010e", "1f011f010e010e01", "e0fee0fef1fef1fe",
        "fee0fee0fef1fef1", "0000000000000000"}) {
    EXPECT_EQ(t->set_key(hex(k), crypto::kForbidWeakKeys), Status::Invalid) << k;
    Job j(h, Bytes(8, 0), {});
    EXPECT_EQ(t->encrypt(j.request), Status::NoKey);
    EXPECT_EQ(t->set_key(hex(k)), Status::Ok) << k;
  }
  EXPECT_EQ(t->set_key(hex("1f1f01010e0e0101"), crypto::kForbidWeakKeys), Status::Ok);
  EXPECT_EQ(t->set_key(hex("1f1f01010e0e0101")), Status::Ok);
  auto t3 = h.cipher("cbc(des3_ede)", {});
  const std::string a = "0123456789abcdef", b = "23456789abcdef01", c = "456789abcdef0123";
  EXPECT_EQ(t3->set_key(hex(a + a + c), crypto::kForbidWeakKeys), Status::NoKey);
  EXPECT_EQ(t3->set_key(hex(a + b + b), crypto::kForbidWeakKeys), Status::NoKey);
  EXPECT_EQ(t3->set_key(hex(a + b + a), crypto::kForbidWeakKeys), Status::Ok);
  EXPECT_EQ(t3->set_key(hex(a + b + c), crypto::kForbidWeakKeys), Status::Ok);
  EXPECT_EQ(t3->set_key(hex(a + a + a)), Status::Ok);
}

TEST(Keys, RequestsInFlightKeepTheirs) {
  std::mt19937_64 rng(5);
  Harness h;
  const size_t memory = h.dma().allocated_bytes();
  {
    const Bytes old_key = random_bytes(rng, 16), new_key = random_bytes(rng, 32), in = random_bytes(rng, 64), iv(16, 3);
    auto t = h.cipher("cbc(aes)", old_key);
    std::vector<std::unique_ptr<Job>> jobs;
    for (int i = 0; i < 60; ++i) {
      if (i == 30) {
        EXPECT_EQ(t->set_key(new_key), Status::Ok);
      }
      jobs.push_back(std::make_unique<Job>(h, in, iv, crypto::kMayBacklog));
      EXPECT_TRUE(accepted(t->encrypt(jobs.back()->request)));
    }
    t.reset();
    h.engine.run();
    for (int i = 0; i < 60; ++i) {
      Bytes v = iv;
      EXPECT_EQ(jobs[size_t(i)]->result(), reference("cbc(aes)", i < 30 ? old_key : new_key, &v, in, true)) << i;
    }
  }
  EXPECT_EQ(h.dma().allocated_bytes(), memory);
}

// --- Buffer shapes -----------------------------------------------------------------------------------------------

struct Arena {
  explicit Arena(uint8_t* memory, size_t n) : base(memory), size(n) { std::memset(base, 0xa5, size); }
  uint8_t* take(size_t n, size_t gap) {
    uint8_t* p = base + used + gap;
    used += gap + n;
    EXPECT_LE(used + 64, size);
    return p;
  }
  uint8_t* base;
  size_t size, used = 0;
};

struct Shape {
  std::vector<Segment> segments;
  std::vector<Segment> second;  // chained part
  ScatterList tail, list;
  std::vector<Segment> all;
};

/// Cuts `n` bytes into random segments in the arena, with poison between, empty segments, a chain link and spare
/// bytes behind the request, at random.
void random_shape(Shape& s, Arena& a, size_t n, std::mt19937_64& rng, unsigned max_segments) {
  const unsigned pieces = 1 + unsigned(rng() % max_segments);
  std::vector<Segment> v;
  size_t left = n;
  for (unsigned i = 0; i < pieces && left; ++i) {
    size_t take = i + 1 == pieces ? left : 1 + rng() % std::min<size_t>(left, rng() % 3 ? left : 5);
    if (rng() % 8 == 0) v.push_back({a.take(0, 16), 0});
    v.push_back({a.take(take, 16 + rng() % 16), take});
    left -= take;
  }
  if (rng() % 4 == 0) v.push_back({a.take(0, 16), 0});
  if (rng() % 4 == 0) v.push_back({a.take(24, 16), 24});  // longer than the request
  const size_t cut = rng() % 2 ? v.size() : rng() % (v.size() + 1);
  s.all = v;
  s.segments.assign(v.begin(), v.begin() + long(cut));
  s.second.assign(v.begin() + long(cut), v.end());
  s.tail = ScatterList(s.second.data(), s.second.size());
  s.list = ScatterList(s.segments.data(), s.segments.size(), s.second.empty() ? nullptr : &s.tail);
}

void random_layouts(uint64_t seed, bool outside, unsigned rounds, unsigned max_segments, size_t max_bytes) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  Harness h({.dma_bytes = 16 << 20});
  const size_t arena_bytes = 2 << 20;
  Bytes host(arena_bytes);
  auto* inside = static_cast<uint8_t*>(h.dma().alloc(arena_bytes));
  unsigned clean_errors = 0;
  const size_t memory = h.dma().allocated_bytes();
  for (unsigned round = 0; round < rounds; ++round) {
    const CipherSpec& c = cipher_specs()[rng() % cipher_specs().size()];
    const Bytes key = random_bytes(rng, c.keys[rng() % c.keys.size()]);
    auto t = h.cipher(c.name, key);
    size_t n = 1 + rng() % (rng() % 2 ? 100 : max_bytes);
    n = std::max(c.block, n / c.block * c.block);
    Arena arena(outside && rng() % 4 ? host.data() : inside, arena_bytes);
    Shape src, dst;
    const unsigned place = unsigned(rng() % 3);  // one list, two lists over the same memory, apart
    random_shape(src, arena, n, rng, max_segments);
    if (place == 2) random_shape(dst, arena, n, rng, max_segments);
    if (place == 1) {
      dst.all = dst.segments = src.all;
      dst.list = ScatterList(dst.segments.data(), dst.segments.size());
    }
    const ScatterList* d = place == 0 ? &src.list : &dst.list;
    const Bytes in = random_bytes(rng, n);
    ASSERT_TRUE(crypto::copy_to(&src.list, 0, in.data(), n));
    const Bytes before(arena.base, arena.base + arena.used + 64);
    const std::vector<Segment> src_before = src.segments, dst_before = dst.segments;
    Bytes iv_memory = random_bytes(rng, c.iv + 1), iv(iv_memory.begin() + 1, iv_memory.end());
    Job j(h, Bytes(16, 0), {});
    j.request.src = &src.list;
    j.request.dst = d;
    j.request.size_bytes = n;
    j.request.iv = c.iv ? iv_memory.data() + 1 : nullptr;
    const bool encrypt = rng() % 2;
    const Status s = encrypt ? t->encrypt(j.request) : t->decrypt(j.request);
    if (outside && s == Status::NoMemory) {  // the bounce pool is small: a clean refusal
      ++clean_errors;
      EXPECT_TRUE(std::equal(before.begin(), before.end(), arena.base));
      continue;
    }
    ASSERT_EQ(s, Status::InProgress) << c.name << " round " << round;
    h.engine.run();
    ASSERT_EQ(j.status, Status::Ok) << c.name << " round " << round;
    const Bytes expected = reference(c.name, key, &iv, in, encrypt);
    // The whole arena, byte for byte: only the destination may differ from before.
    Bytes image = before;
    ScatterList& where = place == 0 ? src.list : dst.list;
    crypto::ScatterWalk walk(&where);
    for (size_t done = 0; done < n;) {
      const Segment piece = walk.take(n - done);
      std::memcpy(image.data() + (piece.data - arena.base), expected.data() + done, piece.size_bytes);
      done += piece.size_bytes;
    }
    ASSERT_TRUE(std::equal(image.begin(), image.end(), arena.base)) << c.name << " round " << round << " bytes " << n;
    ASSERT_EQ(Bytes(iv_memory.begin() + 1, iv_memory.end()), iv) << c.name << " round " << round;
    for (size_t i = 0; i < src_before.size(); ++i) {
      EXPECT_EQ(src.segments[i].data, src_before[i].data);
      EXPECT_EQ(src.segments[i].size_bytes, src_before[i].size_bytes);
    }
    for (size_t i = 0; i < dst_before.size(); ++i) EXPECT_EQ(dst.segments[i].data, dst_before[i].data);
    t.reset();
  }
  EXPECT_EQ(h.engine.illegal_accesses, 0u);
  EXPECT_EQ(h.dma().bounce_slots_used(), 0u);
  EXPECT_EQ(h.dma().allocated_bytes(), memory);
  if (outside) {
    EXPECT_LT(clean_errors, rounds / 2);
  }
}

// S02, K08, 2.5, 2.8
TEST(Layouts, RandomInDmaMemory) {
  for (uint64_t seed = 1; seed <= 5; ++seed) random_layouts(seed, false, 300, 8, 9000);
}
TEST(Layouts, RandomManySegments) {
  for (uint64_t seed = 11; seed <= 13; ++seed) random_layouts(seed, false, 100, 60, 70000);
}
// S12: memory outside, a bounce pool of 512 slots of 2 KiB.
TEST(Layouts, RandomOutsideDmaMemory) {
  for (uint64_t seed = 21; seed <= 24; ++seed) random_layouts(seed, true, 300, 17, 9000);
}

// S12: many at once, so that the pool runs out.
TEST(Layouts, BounceExhaustionIsACleanError) {
  std::mt19937_64 rng(12);
  Harness h({.bounce_slots = 512, .bounce_slot_bytes = 2048});
  const Bytes key = random_bytes(rng, 16);
  auto t = h.cipher("cbc(aes)", key);
  unsigned right = 0, refused = 0;
  for (int round = 0; round < 500; ++round) {
    struct Packet {
      Bytes memory, in, iv;
      std::vector<Segment> segments;
      ScatterList list;
      SkcipherRequest r;
      Status status = Status::InProgress;
    };
    std::vector<std::unique_ptr<Packet>> burst;
    for (int i = 0; i < 20; ++i) {
      auto p = std::make_unique<Packet>();
      const size_t n = 16 * (4 + rng() % 558);
      p->in = p->memory = random_bytes(rng, n);
      p->iv = Bytes(16, uint8_t(i));
      const unsigned pieces = 1 + unsigned(rng() % 17);
      for (unsigned k = 0; k < pieces; ++k)
        p->segments.push_back({p->memory.data() + n * k / pieces, n * (k + 1) / pieces - n * k / pieces});
      p->list = ScatterList(p->segments.data(), pieces);
      p->r = {.src = &p->list,
              .dst = &p->list,
              .size_bytes = n,
              .iv = p->iv.data(),
              .flags = crypto::kMayBacklog,
              .complete =
                  [](void* c, Status s) {
                    if (s != Status::InProgress) static_cast<Packet*>(c)->status = s;
                  },
              .context = p.get()};
      const Status s = t->encrypt(p->r);
      if (!accepted(s)) p->status = s;
      burst.push_back(std::move(p));
    }
    h.engine.run();
    for (int i = 0; i < 20; ++i) {
      Packet& p = *burst[size_t(i)];
      if (p.status == Status::NoMemory) {
        ++refused;
        EXPECT_EQ(p.memory, p.in);
        continue;
      }
      ASSERT_EQ(p.status, Status::Ok);
      Bytes iv(16, uint8_t(i));
      ASSERT_EQ(p.memory, reference("cbc(aes)", key, &iv, p.in, true));
      ++right;
    }
  }
  EXPECT_EQ(right + refused, 10'000u);
  EXPECT_GT(right, 5'000u);
  EXPECT_EQ(h.dma().bounce_slots_used(), 0u);
}

// Rings, keys and data around the 4 GiB line: all 36 address bits count, and a ring's high word is one.
TEST(Layouts, MemoryAcrossFourGiB) {
  for (BusAddr below = 0; below < 0x20000; below += 0x1000) {
    Harness h({.dma_bytes = 2 << 20, .dma_base = 0x2'0000'0000 - 512 * 2048 - below});
    const Bytes key(16, 9);
    for (int i = 0; i < 4; ++i) {
      auto t = h.cipher("cbc(aes)", key);
      for (int k = 0; k < 33; ++k) {
        Bytes iv(16, uint8_t(k)), ref = iv;
        ASSERT_EQ(run(h, *t, Bytes(64, uint8_t(i)), &iv, true),
                  reference("cbc(aes)", key, &ref, Bytes(64, uint8_t(i)), true));
      }
    }
    EXPECT_EQ(h.engine.illegal_accesses, 0u);
  }
}

// K08
TEST(Layouts, ListsThatEndOddly) {
  Harness h;
  const Bytes key(16, 5);
  auto t = h.cipher("cbc(aes)", key);
  auto* m = static_cast<uint8_t*>(h.dma().alloc(4096));
  for (const bool chain : {false, true})
    for (const bool empty_tail : {false, true}) {
      std::memset(m, 0x33, 4096);
      std::vector<Segment> a = {{m, 16}, {m + 100, 32}}, b = {{m + 200, 16}};
      if (empty_tail) a.push_back({m + 300, 0});
      ScatterList tail(b.data(), b.size()), list(a.data(), a.size(), chain ? &tail : nullptr);
      for (size_t n : {16u, 48u, 64u}) {
        Job j(h, Bytes(16, 0), Bytes(16, 8));
        j.request.src = j.request.dst = &list;
        j.request.size_bytes = n;
        const Status s = t->encrypt(j.request);
        EXPECT_EQ(s, n == 64 && !chain ? Status::Invalid : Status::InProgress);
        h.engine.run();
        EXPECT_EQ(j.finished, s == Status::Invalid ? 0u : 1u);
      }
    }
  SkcipherRequest none{.src = nullptr, .dst = nullptr, .size_bytes = 16, .iv = m, .complete = Job::completed};
  EXPECT_EQ(t->encrypt(none), Status::Invalid);
  none.size_bytes = 1 << 20;
  EXPECT_EQ(t->encrypt(none), Status::Invalid);
}

}  // namespace
}  // namespace sec::test
