// The whole driver on the model of every part: self-tests, and random AEADs, functional here and cycle-approximate in the
// cases named Approx (one SystemC elaboration per process, so ctest gives each its own).
#include <gtest/gtest.h>

#include "host/session/session.h"
#include "tests/support/aead_check.h"

namespace sec::test {
namespace {

void check_part(const regs::Part& part, host::Fidelity fidelity, unsigned per_algorithm) {
  host::SessionOptions o;
  o.part = &part;
  o.fidelity = fidelity;
  o.cpu_backends = o.compositions = false;
  host::Session session(o);
  session.run([&](host::Session& s) {
    size_t aeads = 0;
    for (const auto& a : s.registry().list())
      EXPECT_EQ(a.selftest, crypto::SelfTest::Passed) << part.name << ": " << s.registry().selftest_failure(a.driver);
    uint64_t seed = 100;
    for (const auto& a : s.registry().list()) {
      if (a.type != crypto::AlgorithmType::Aead || a.selftest == crypto::SelfTest::Failed) continue;
      ++aeads;
      aead::random_requests(s.registry(), s.platform().dma(), a.driver, seed++, per_algorithm,
                            [&] { return s.platform().pump(); });
      if (testing::Test::HasFailure()) break;
    }
    EXPECT_GT(aeads, 0u);
    EXPECT_EQ(s.device().outstanding(), 0u);
    EXPECT_EQ(s.device().stats().descriptor_errors, 0u);
    EXPECT_EQ(s.device().stats().device_resets, 0u);
    EXPECT_TRUE(s.platform().warnings().empty()) << s.platform().warnings().front();
  });
}

class OnThePart : public testing::TestWithParam<const regs::Part*> {};

TEST_P(OnThePart, Functional) { check_part(*GetParam(), host::Fidelity::Functional, 100); }
TEST_P(OnThePart, Approx) {
  static bool used = false;
  if (std::exchange(used, true)) GTEST_SKIP() << "one elaboration per process: run through ctest";
  check_part(*GetParam(), host::Fidelity::Approx, 30);
}

std::vector<const regs::Part*> parts() {
  std::vector<const regs::Part*> out;
  for (const regs::Part& p : regs::kParts) out.push_back(&p);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Engine, OnThePart, testing::ValuesIn(parts()),
                         [](const auto& info) {
                           std::string name(info.param->name);
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace sec::test
