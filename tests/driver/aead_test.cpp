// AEADs of the driver on the fake engine.
#include "tests/support/aead_check.h"

#include <algorithm>

#include "tests/driver/harness.h"

namespace sec::test {
namespace {

using aead::Keys;
using aead::Request;
using aead::Rng;
using aead::Shape;
using aead::Spec;
using Fate = FakeEngine::Fate;

std::vector<std::string> aead_drivers(const Harness& h) {
  std::vector<std::string> out;
  for (const auto& a : h.registry.list())
    if (a.type == crypto::AlgorithmType::Aead && a.module == "talitos") out.push_back(a.driver);
  return out;
}

const FakeEngine::Options on(const char* part) { return {.part = regs::find_part(part), .dma_bytes = 16 << 20}; }

std::unique_ptr<crypto::Aead> transform(Harness& h, const std::string& driver, const Keys& k) {
  auto t = h.registry.alloc_aead(driver);
  EXPECT_TRUE(t) << driver;
  if (t) {
    EXPECT_EQ(t->set_key(k.blob(Spec(t->info().name))), Status::Ok);
  }
  return t;
}

/// Runs one request to its end.
Status run(Harness& h, crypto::Aead& t, Request& r) {
  EXPECT_EQ(t.set_auth_bytes(r.shape().tag), Status::Ok);
  const Status s = r.submit(t);
  if (!accepted(s)) return s;
  h.engine.run();
  return r.status;
}

// T12, T35, T08, S02 and everything at once.
TEST(Aead, RandomRequestsOnEveryPart) {
  for (const regs::Part& part : regs::kParts) {
    Harness h({.part = &part, .dma_bytes = 16 << 20});
    uint64_t seed = 1;
    for (const std::string& d : aead_drivers(h)) {
      aead::random_requests(h.registry, h.dma(), d, seed++, 120, [&] { return h.engine.run(); });
      ASSERT_FALSE(HasFailure()) << part.name << " " << d;
    }
    EXPECT_EQ(h.device->outstanding(), 0u);
    EXPECT_EQ(h.dma().bounce_slots_used(), 0u);
    EXPECT_EQ(h.engine.illegal_accesses, 0u);
    EXPECT_EQ(h.engine.misaligned_writes, 0u);
    EXPECT_EQ(h.engine.lost_fetches, 0u);
    EXPECT_EQ(h.engine.parity_errors, 0u);
    EXPECT_EQ(h.device->stats().device_resets, 0u);
    EXPECT_EQ(h.device->stats().descriptor_errors, 0u);
  }
}

}  // namespace
}  // namespace sec::test
