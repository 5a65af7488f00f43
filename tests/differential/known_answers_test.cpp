// Faults that drivers and libraries have had, with answers computed elsewhere: output IV and chaining (T01, S14), CTR
// beyond whole blocks (T16), the 128-bit counter (S07) and its carries inside vectors (S09), empty requests (S15).
#include <openssl/sha.h>

#include <ostream>

#include "tests/differential/world.h"

namespace sec::test {
namespace {

const char* const kKey = "2b7e151628aed2a6abf7158809cf4f3c";
const char* const kIv = "000102030405060708090a0b0c0d0e0f";
const char* const kPlain =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";

}  // namespace

void PrintTo(const Subject& s, std::ostream* out) { *out << subject_name(s); }

namespace {

class KnownAnswers : public ::testing::TestWithParam<Subject> {
 protected:
  struct Run {
    World& w;
    std::vector<std::unique_ptr<crypto::Skcipher>> tfm;
    Trial trial;
    Run(World& world, const std::string& algorithm, const Bytes& key)
        : w(world), trial(w.memory(4096), w.memory(4096)) {
      tfm.push_back(w.alloc(algorithm));
      if (tfm[0]) {
        EXPECT_EQ(tfm[0]->set_key(key), Status::Ok);
      }
    }
    bool offered() const { return tfm[0] != nullptr; }
    void check(const Shape& shape, bool encrypt, const Bytes& in, const Bytes& iv, const Bytes& want,
               const Bytes& want_iv, const std::string& what) {
      trial.prepare(shape, in, iv, want, want_iv, what);
      (void)trial.submit(*tfm[0], encrypt, crypto::kMayBacklog);
      ASSERT_TRUE(w.wait(tfm, [&] { return trial.finished(); })) << what << ": never ends";
      const std::string wrong = trial.verify();
      ASSERT_TRUE(wrong.empty()) << wrong;
    }
  };
  static Bytes part(const Bytes& b, size_t from, size_t n) {
    return Bytes(b.begin() + static_cast<ptrdiff_t>(from), b.begin() + static_cast<ptrdiff_t>(from + n));
  }
  static void add(Bytes& counter, uint64_t blocks) {
    for (; blocks; --blocks)
      for (size_t b = counter.size(); b-- && ++counter[b] == 0;) {
      }
  }
};
INSTANTIATE_TEST_SUITE_P(All, KnownAnswers,
                         ::testing::Values(Subject::Functional, Subject::Approx, Subject::Openssl, Subject::IpsecMb,
                                           Subject::IpsecMbSse, Subject::IpsecMbAvx, Subject::IpsecMbAvx2,
                                           Subject::IpsecMbAvx512NoVaes, Subject::IpsecMbAvx512),
                         [](const auto& i) { return subject_name(i.param); });

// T01, S14.
TEST_P(KnownAnswers, OutputIvAndChaining) {
  struct Case {
    const char *algorithm, *key, *iv, *cipher;
  };
  with_world(GetParam(), [&](World& w) {
    for (const Case& c :
         {Case{"cbc(aes)", kKey, kIv,
               "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
               "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7"},
          Case{"cbc(des)", "0123456789abcdef", "1234567890abcdef", ""},
          Case{"cbc(des3_ede)", "0123456789abcdef23456789abcdef01456789abcdef0123", "f69f2445df4f9b17", ""}}) {
      const Bytes key = from_hex(c.key), iv = from_hex(c.iv), plain = from_hex(kPlain);
      Bytes unused = iv;
      const Bytes cipher = *c.cipher ? from_hex(c.cipher) : Reference(c.algorithm, key).crypt(true, unused, plain);
      Run run(w, c.algorithm, key);
      if (!run.offered()) continue;
      for (const Place place : {Place::OneList, Place::TwoLists, Place::Apart})
        for (const size_t first : {64, 16, 32, 48}) {
          const Shape shape{.place = place};
          const Bytes middle = part(cipher, first - iv.size(), iv.size()),
                      last = part(cipher, 64 - iv.size(), iv.size());
          for (const bool encrypt : {true, false}) {
            const Bytes &in = encrypt ? plain : cipher, &out = encrypt ? cipher : plain;
            run.check(shape, encrypt, part(in, 0, first), iv, part(out, 0, first), middle, c.algorithm);
            if (first < 64)
              run.check(shape, encrypt, part(in, first, 64 - first), middle, part(out, first, 64 - first), last,
                        c.algorithm);
          }
          if (HasFatalFailure()) return;
        }
    }
  });
}

// T16.
TEST_P(KnownAnswers, CtrOfAnyLength) {
  with_world(GetParam(), [&](World& w) {
    const Bytes key = from_hex(kKey), iv = from_hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
    Run run(w, "ctr(aes)", key);
    ASSERT_TRUE(run.offered());
    Bytes none = iv;
    const Bytes stream = Reference("ctr(aes)", key).crypt(true, none, Bytes(513));
    Bytes digest(32);
    SHA256(stream.data(), 499, digest.data());
    ASSERT_EQ(to_hex(digest), "19a96cf06e49f1dab68dbf661cfea59be855dceae6877e6032bc852188e4e1e6")
        << "the reference itself";
    for (size_t n = 1; n <= 513; n = n == 67 ? 495 : n + 1)
      for (const Place place : {Place::OneList, Place::TwoLists, Place::Apart})
        for (const auto& pieces : std::vector<std::vector<size_t>>{{}, {33}, {1, 15, 17}}) {
          Bytes after = iv;
          add(after, (n + 15) / 16);
          const Shape shape{.place = place, .pieces = pieces, .dst_pieces = {19}, .gap = 3};
          run.check(shape, true, Bytes(n), iv, part(stream, 0, n), after, "ctr " + std::to_string(n));
          run.check(shape, false, part(stream, 0, n), iv, Bytes(n), after, "ctr decrypt " + std::to_string(n));
          if (HasFatalFailure()) return;
        }
  });
}

// S07.
TEST_P(KnownAnswers, CounterOf128Bits) {
  with_world(GetParam(), [&](World& w) {
    Run run(w, "ctr(aes)", from_hex(kKey));
    ASSERT_TRUE(run.offered());
    for (const Place place : {Place::OneList, Place::Apart}) {
      run.check({.place = place}, true, Bytes(32), Bytes(16, 0xff),
                from_hex("8af2860142f786f409307c1a3f7eaaac7df76b0c1ab899b33e42f047b91b546f"),
                from_hex("00000000000000000000000000000001"), "counter ff..ff");
      run.check({.place = place}, true, Bytes(32), from_hex("000000000000000000000000ffffffff"),
                from_hex("33c14e7e92d8ebe55ee2d8d98a1e65326791ab9e2faeedef478d0e7c254011ae"),
                from_hex("00000000000000000000000100000001"), "counter 0..0ffffffff");
    }
  });
}

// S09: the low word wraps at every place inside a group of blocks. The expected key stream is made block by block.
TEST_P(KnownAnswers, CounterCarriesInsideGroups) {
  with_world(GetParam(), [&](World& w) {
    for (const size_t key_bytes : {16, 24, 32}) {
      Bytes key(key_bytes);
      for (size_t i = 0; i < key_bytes; ++i) key[i] = static_cast<uint8_t>(i * 29 + 3);
      Run run(w, "ctr(aes)", key);
      ASSERT_TRUE(run.offered());
      const Reference ecb("ecb(aes)", key);
      for (const unsigned bits : {32, 64})
        for (unsigned j = 1; j <= 17; ++j) {
          Bytes iv(16, 0x5c), counters, none;
          std::fill(iv.end() - bits / 8, iv.end(), 0xff);
          iv[15] = static_cast<uint8_t>(0x100 - j);
          Bytes counter = iv;
          for (int b = 0; b < 33; ++b, add(counter, 1)) counters.insert(counters.end(), counter.begin(), counter.end());
          const Bytes stream = ecb.crypt(true, none, counters);
          for (size_t blocks = 1; blocks <= 33; ++blocks) {
            Bytes after = iv;
            add(after, blocks);
            run.check({}, true, Bytes(16 * blocks), iv, part(stream, 0, 16 * blocks), after,
                      "counter 2^" + std::to_string(bits) + " - " + std::to_string(j) + ", " + std::to_string(blocks) +
                          " blocks, key " + std::to_string(8 * key_bytes));
            if (HasFatalFailure()) return;
          }
        }
    }
  });
}

// S15.
TEST_P(KnownAnswers, EmptyRequests) {
  with_world(GetParam(), [&](World& w) {
    for (const char* algorithm :
         {"ecb(aes)", "cbc(aes)", "ctr(aes)", "ecb(des)", "cbc(des)", "ecb(des3_ede)", "cbc(des3_ede)"}) {
      auto probe = w.alloc(algorithm);
      if (!probe) continue;
      Bytes key(probe->info().max_key_bytes);
      for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i * 11 + 1);
      const Bytes iv = part(from_hex(kIv), 0, probe->info().iv_bytes);
      Run run(w, algorithm, key);
      for (const bool encrypt : {true, false})
        for (const Place place : {Place::OneList, Place::TwoLists, Place::Apart}) {
          run.check({.place = place}, encrypt, {}, iv, {}, iv, std::string(algorithm) + ", empty");
          if (HasFatalFailure()) return;
        }
    }
  });
}

}  // namespace
}  // namespace sec::test
