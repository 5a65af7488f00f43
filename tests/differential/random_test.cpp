// Random requests against plain OpenSSL: sizes from nothing to beyond every limit of a descriptor and of a vector lane,
// up to eight pieces at any offset, in place with one list and with two, apart, several keys, up to forty in flight.
//
// The seed is printed; SEC_SEED sets it, SEC_REQUESTS the number of requests.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <random>

#include "tests/differential/world.h"

namespace sec::test {
namespace {

struct Cipher {
  const char *name, *algorithm;
  size_t block, iv;
  std::vector<size_t> keys;
};
const Cipher kCiphers[] = {
    {"ecb_aes", "ecb(aes)", 16, 0, {16, 24, 32}}, {"cbc_aes", "cbc(aes)", 16, 16, {16, 24, 32}},
    {"ctr_aes", "ctr(aes)", 1, 16, {16, 24, 32}}, {"ecb_des", "ecb(des)", 8, 0, {8}},
    {"cbc_des", "cbc(des)", 8, 8, {8}},           {"ecb_3des", "ecb(des3_ede)", 8, 0, {24}},
    {"cbc_3des", "cbc(des3_ede)", 8, 8, {24}},
};

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  size_t below(size_t n) { return n ? engine_() % n : 0; }
  size_t between(size_t a, size_t b) { return a + below(b - a + 1); }
  bool one_in(size_t n) { return below(n) == 0; }
  Bytes bytes(size_t n) {
    Bytes b(n + 8);
    for (size_t i = 0; i < n; i += 8) {
      const uint64_t v = engine_();
      std::memcpy(b.data() + i, &v, 8);
    }
    b.resize(n);
    return b;
  }

 private:
  std::mt19937_64 engine_;
};

struct Case {
  Subject subject;
  size_t cipher;
};
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Subject subject : {Subject::Functional, Subject::Approx, Subject::Openssl, Subject::IpsecMb})
    for (size_t c = 0; c < std::size(kCiphers); ++c)
      if (subject != Subject::IpsecMb || kCiphers[c].block != 8 || kCiphers[c].iv)
        all.push_back({subject, c});  // it has no DES in ECB
  return all;
}
void PrintTo(const Case& c, std::ostream* out) {
  *out << subject_name(c.subject) << ", " << kCiphers[c.cipher].algorithm;
}

class Random : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, Random, ::testing::ValuesIn(cases()), [](const auto& i) {
  return std::string(subject_name(i.param.subject)) + "_" + kCiphers[i.param.cipher].name;
});

size_t request_bytes(Dice& d, size_t block) {
  const size_t n = d.one_in(400)                  ? d.between(65536, 140000)
                   : d.one_in(block == 8 ? 6 : 2) ? d.below(9001)
                                                  : d.below(300);  // DES is slow
  return n - n % block;
}

std::vector<size_t> cuts(Dice& d, size_t bytes) {
  std::vector<size_t> sizes;
  for (size_t left = bytes, n = d.between(1, 8); n > 1 && left > 1; --n) {
    const size_t k = d.one_in(3) ? d.between(1, std::min<size_t>(left - 1, 20)) : d.between(1, left - 1);
    sizes.push_back(k);
    left -= k;
  }
  if (!sizes.empty()) sizes.push_back(bytes);  // the rest
  return sizes;
}

TEST_P(Random, AgainstOpenssl) {
  const Subject subject = GetParam().subject;
  const size_t which = GetParam().cipher;
  const Cipher& cipher = kCiphers[which];
  const uint64_t seed = from_environment("SEC_SEED", 20240601 + which + 100 * static_cast<uint64_t>(subject));
  const uint64_t total = from_environment("SEC_REQUESTS", subject == Subject::Approx ? 3000 : 20000);
  const std::string again = " (SEC_SEED=" + std::to_string(seed) + " repeats it)";
  Dice d(seed);

  with_world(subject, [&](World& w) {
    constexpr size_t kTransforms = 5, kMaxDepth = 40, kRoom = 140000 + 4096;
    std::vector<std::unique_ptr<crypto::Skcipher>> tfms;
    std::vector<std::unique_ptr<Reference>> references(kTransforms);
    for (size_t i = 0; i < kTransforms; ++i) tfms.push_back(w.alloc(cipher.algorithm));
    if (!tfms[0]) GTEST_SKIP() << cipher.algorithm << " is not offered by " << subject_name(subject);
    auto new_key = [&](size_t i) {
      const Bytes key = d.bytes(cipher.keys[d.below(cipher.keys.size())]);
      references[i] = std::make_unique<Reference>(cipher.algorithm, key);
      return tfms[i]->set_key(key);
    };
    for (size_t i = 0; i < kTransforms; ++i) ASSERT_EQ(new_key(i), Status::Ok);

    // Every eighth slot has ordinary memory, which the driver has to copy through its bounce pool.
    std::vector<std::unique_ptr<uint8_t[]>> ordinary;
    struct Slot {
      std::unique_ptr<Trial> trial;
      bool shared;
    };
    std::vector<Slot> slots;
    for (size_t i = 0; i < kMaxDepth; ++i) {
      const bool shared = i % 8 != 3;
      if (!shared) ordinary.push_back(std::make_unique<uint8_t[]>(2 * kRoom));
      uint8_t* memory = shared ? w.memory(2 * kRoom) : ordinary.back().get();
      ASSERT_TRUE(memory);
      slots.push_back({std::make_unique<Trial>(memory, memory + kRoom), shared});
    }
    uint64_t sent = 0, right = 0, refused = 0, bytes = 0;
    size_t failures = 0, depth = 1;
    std::vector<size_t> idle, busy;
    for (size_t i = kMaxDepth; i--;) idle.push_back(i);
    auto collect = [&] {
      for (size_t i = 0; i < busy.size();) {
        Trial& t = *slots[busy[i]].trial;
        if (!t.finished()) {
          ++i;
          continue;
        }
        const std::string wrong = t.verify();
        if (wrong.empty())
          ++right;
        else if (++failures <= 5)
          ADD_FAILURE() << wrong << again;
        idle.push_back(busy[i]);
        busy[i] = busy.back();
        busy.pop_back();
      }
    };
    auto any_finished = [&] {
      return std::any_of(busy.begin(), busy.end(), [&](size_t i) { return slots[i].trial->finished(); });
    };
    while ((sent < total && failures < 5) || !busy.empty()) {
      if (d.one_in(50)) {
        depth = d.between(1, kMaxDepth);
        w.hold_interrupts(d.one_in(2));
      }
      if (d.one_in(100)) {
        ASSERT_EQ(new_key(d.below(kTransforms)), Status::Ok);
      }
      while (sent < total && failures < 5 && busy.size() < depth) {
        const size_t slot = idle.back();
        const size_t k = d.below(kTransforms);
        size_t n = request_bytes(d, cipher.block);
        if (!slots[slot].shared && is_engine(subject))
          n = std::min(n, size_t{9000} - 9000 % cipher.block);  // the pool is small
        const bool encrypt = d.one_in(2);
        Shape shape;
        shape.place = static_cast<Place>(d.below(3));
        shape.pieces = cuts(d, n);
        shape.dst_pieces = cuts(d, n);
        shape.gap = d.one_in(2) ? 0 : d.between(1, 40);
        shape.offset = d.below(64);
        shape.dst_offset = d.below(64);
        Bytes in = d.bytes(n), iv = d.bytes(cipher.iv);
        if (cipher.iv && d.one_in(4))
          std::fill(iv.end() - static_cast<ptrdiff_t>(d.between(1, cipher.iv)), iv.end() - 1, 0xff);
        Bytes iv_out = iv;
        Bytes want = references[k]->crypt(encrypt, iv_out, in);
        const std::string what = std::string(cipher.algorithm) + " request " + std::to_string(sent) +
                                 (encrypt ? " encrypt " : " decrypt ") + std::to_string(n) + " bytes, " +
                                 std::to_string(shape.pieces.size()) + "/" + std::to_string(shape.dst_pieces.size()) +
                                 " pieces, place " + std::to_string(static_cast<int>(shape.place));
        Trial& t = *slots[slot].trial;
        t.prepare(shape, std::move(in), std::move(iv), std::move(want), std::move(iv_out), what);
        // Without room a request is refused, with kMayBacklog it waits; both are right.
        Status s = t.submit(*tfms[k], encrypt, d.one_in(2) ? crypto::kMayBacklog : 0u);
        for (int tries = 0; s == Status::NoSpace || s == Status::NoMemory; ++tries) {
          ++refused;
          ASSERT_LT(tries, 100) << what << ": refused for ever" << again;
          if (!busy.empty()) {
            ASSERT_TRUE(w.wait(tfms, any_finished)) << what << ": nothing ends" << again;
            collect();
          }
          s = t.submit(*tfms[k], encrypt, crypto::kMayBacklog);
        }
        idle.erase(std::find(idle.begin(), idle.end(), slot));
        busy.push_back(slot);
        ++sent;
        bytes += n;
      }
      if (busy.empty()) continue;
      ASSERT_TRUE(w.wait(tfms, any_finished)) << "nothing ends" << again;
      collect();
    }
    EXPECT_EQ(right, sent - failures);
    std::printf(
        "%s, %s: %llu of %llu requests right, %.1f MB, refused for lack of room and sent again %llu, seed %llu\n",
        subject_name(subject), cipher.algorithm, static_cast<unsigned long long>(right),
        static_cast<unsigned long long>(sent), static_cast<double>(bytes) / 1e6,
        static_cast<unsigned long long>(refused), static_cast<unsigned long long>(seed));
  });
}

}  // namespace
}  // namespace sec::test
