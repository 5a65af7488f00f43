// NIST's published vectors (CAVP; RFC 3686 for CTR) through driver and engine and through every CPU back end: each
// vector in both directions, in place, in place with two lists, and out of place, whole and cut into pieces.
#include <cstdio>
#include <ostream>
#include <string_view>

#include "tests/differential/world.h"

namespace sec::test {
namespace {

struct Suite {
  const char *name, *algorithm, *folder;
  bool single_des;
  size_t at_least;  // vectors in the package
};
constexpr Suite kSuites[] = {
    {"ecb_aes", "ecb(aes)", "ciphers/AES/ECB", false, 2000},
    {"cbc_aes", "cbc(aes)", "ciphers/AES/CBC", false, 2000},
    {"ctr_aes", "ctr(aes)", "ciphers/AES/CTR", false, 9},
    {"ecb_3des", "ecb(des3_ede)", "ciphers/3DES/ECB", false, 500},
    {"cbc_3des", "cbc(des3_ede)", "ciphers/3DES/CBC", false, 500},
    {"ecb_des", "ecb(des)", "ciphers/3DES/ECB", true, 400},
    {"cbc_des", "cbc(des)", "ciphers/3DES/CBC", true, 400},
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const Place place : {Place::OneList, Place::TwoLists, Place::Apart})
    for (const auto& pieces : std::vector<std::vector<size_t>>{{}, {5, 1000}, {16}, {1}}) {
      // Two lists over the same memory have different borders; apart, the destination is cut in another way.
      const std::vector<size_t> other = pieces.empty() ? std::vector<size_t>{7, 1000} : std::vector<size_t>{};
      all.push_back({place, pieces, place == Place::OneList ? std::vector<size_t>{} : other,
                     pieces.empty() ? size_t{0} : size_t{3}, 0, 1});
      if (place != Place::OneList) all.push_back({place, pieces, pieces, 3, 1, 2});
    }
  return all;
}

struct Case {
  Subject subject;
  const Suite* suite;
};
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Subject subject :
       {Subject::Functional, Subject::Approx, Subject::Openssl, Subject::IpsecMb, Subject::IpsecMbSse,
        Subject::IpsecMbAvx, Subject::IpsecMbAvx2, Subject::IpsecMbAvx512NoVaes})
    for (const Suite& suite : kSuites) {
      const bool mb = !is_engine(subject) && subject != Subject::Openssl;
      const bool des = std::string_view(suite.name).ends_with("des");
      // The multi-buffer library has no DES in ECB, and DES at all only with AVX-512 (host/cpu/ipsecmb.h).
      if (mb && des && std::string_view(suite.name).starts_with("ecb")) continue;
      if (des && (subject == Subject::IpsecMbSse || subject == Subject::IpsecMbAvx || subject == Subject::IpsecMbAvx2))
        continue;
      all.push_back({subject, &suite});
    }
  return all;
}
void PrintTo(const Case& c, std::ostream* out) { *out << subject_name(c.subject) << ", " << c.suite->algorithm; }

class Cavp : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, Cavp, ::testing::ValuesIn(cases()), [](const auto& i) {
  return std::string(subject_name(i.param.subject)) + "_" + i.param.suite->name;
});

TEST_P(Cavp, EveryVector) {
  const Subject subject = GetParam().subject;
  const Suite& suite = *GetParam().suite;
  if (vectors_dir().empty()) GTEST_SKIP() << kNoVectors;
  std::vector<Vector> vectors;
  for (const std::string& file : list_vectors(suite.folder, {".rsp", "-ctr.txt"})) {
    if (file.find("/TCBCI") != std::string::npos) continue;  // interleaved CBC: three streams, another mode
    for (Vector& v : load_vectors(file)) {
      if (suite.single_des && !v.has("KEYS")) continue;
      v.fields["FILE"] = file;
      vectors.push_back(std::move(v));
    }
  }
  ASSERT_GE(vectors.size(), suite.at_least) << "in " << suite.folder;
  const std::vector<Shape> all = shapes();

  with_world(subject, [&](World& w) {
    std::vector<std::unique_ptr<crypto::Skcipher>> tfms;
    for (int i = 0; i < 4; ++i) tfms.push_back(w.alloc(suite.algorithm));  // one on each channel
    if (!tfms[0]) GTEST_SKIP() << suite.algorithm << " is not offered by " << subject_name(subject);
    constexpr size_t kRoom = 2048;
    std::vector<std::unique_ptr<Trial>> trials;
    for (size_t i = 0; i < 2 * all.size(); ++i) {
      uint8_t* memory = w.memory(2 * kRoom);
      ASSERT_TRUE(memory);
      trials.push_back(std::make_unique<Trial>(memory, memory + kRoom));
    }
    size_t run = 0, failures = 0;
    for (size_t n = 0; n < vectors.size() && failures < 5; ++n) {
      const Vector& v = vectors[n];
      const Bytes key = suite.single_des ? v.bytes("KEYS") : v.des3_key();
      const Bytes plain = v.bytes("PLAINTEXT"), cipher = v.bytes("CIPHERTEXT"),
                  iv = v.has("IV") ? v.bytes("IV") : Bytes();
      ASSERT_LE(Placement::room(plain.size(), plain.size(), 3), kRoom);
      Bytes iv_out = iv;
      if (std::string_view(suite.algorithm).starts_with("cbc"))
        iv_out.assign(cipher.end() - static_cast<ptrdiff_t>(iv.size()), cipher.end());
      else if (!iv.empty())
        iv_out.back() = static_cast<uint8_t>(iv.back() + (plain.size() + 15) / 16);  // RFC 3686 counters start at 1
      crypto::Skcipher& tfm = *tfms[n % tfms.size()];
      ASSERT_EQ(tfm.set_key(key), Status::Ok);
      size_t used = 0;
      for (const bool encrypt : {true, false})
        for (const Shape& shape : all) {
          Trial& t = *trials[used++];
          t.prepare(shape, encrypt ? plain : cipher, iv, encrypt ? cipher : plain, iv_out, "");
          (void)t.submit(tfm, encrypt, crypto::kMayBacklog);
        }
      ASSERT_TRUE(w.wait(tfms, [&] {
        for (const auto& t : trials)
          if (!t->finished()) return false;
        return true;
      })) << "requests never end";
      for (size_t k = 0; k < trials.size(); ++k, ++run)
        if (const std::string wrong = trials[k]->verify(); !wrong.empty() && ++failures <= 5)
          ADD_FAILURE() << v.text("FILE") << " [" << v.section << "] COUNT " << (v.has("COUNT") ? v.text("COUNT") : "?")
                        << ", " << (k < all.size() ? "encrypt" : "decrypt") << ", shape " << k % all.size() << wrong;
    }
    std::printf("%s, %s: %zu vectors x %zu shapes = %zu requests\n", subject_name(subject), suite.algorithm,
                vectors.size(), 2 * all.size(), run);
  });
}

}  // namespace
}  // namespace sec::test
