// The whole driver on the model of every part: self-tests, and random AEADs, functional here and cycle-approximate in
// the cases named Approx (one SystemC elaboration per process, so ctest gives each its own).
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
      // Texts and AAD that take several descriptors, and what lies next to the limits.
      auto t = s.registry().alloc_aead(a.driver);
      const aead::Spec spec(a.name);
      aead::Rng rng(seed);
      const aead::Keys keys = aead::random_keys(spec, rng);
      ASSERT_EQ(t->set_key(keys.blob(spec)), Status::Ok);
      for (const size_t text : {size_t{0}, size_t{16}, size_t{32768}, size_t{65520}, size_t{140'000}}) {
        aead::Shape shape = aead::random_shape(spec, rng, 100);
        shape.text = text / 16 * 16 + (spec.block() == 1 && text ? rng() % 16 : 0);
        if (!spec.rfc && spec.authenc() && text == 16) shape.aad = 70'000;
        aead::Request r(spec, keys, rng, shape, s.platform().dma());
        ASSERT_TRUE(r.ok());
        ASSERT_EQ(t->set_auth_bytes(shape.tag), Status::Ok);
        ASSERT_TRUE(accepted(r.submit(*t))) << a.driver << " " << r.text();
        while (!r.finished && s.platform().pump()) {
        }
        r.check(std::string(part.name) + " " + a.driver);
      }
      if (testing::Test::HasFailure()) break;
    }
    EXPECT_GT(aeads, 0u);
    EXPECT_EQ(s.device().outstanding(), 0u);
    EXPECT_EQ(s.device().stats().descriptor_errors, 0u);
    EXPECT_EQ(s.device().stats().device_resets, 0u);
    EXPECT_TRUE(s.platform().warnings().empty()) << s.platform().warnings().front();
  });
}

/// A descriptor that the engine never finishes (an AES descriptor without data), others behind it on the channel, and
/// others on another channel that keep the engine busy: the named limit ends the one, everything else is done.
void check_time_limit(const regs::Part& part, host::Fidelity fidelity, bool busy_elsewhere) {
  struct HangingJob : driver::Job {
    unsigned finished = 0;
    Status result = Status::InProgress;
  };
  host::SessionOptions o;
  o.part = &part;
  o.fidelity = fidelity;
  o.selftest = o.cpu_backends = o.compositions = false;
  host::Session session(o);
  session.run([&](host::Session& s) {
    driver::Device& d = s.device();
    HangingJob j;
    j.build = [](driver::Job&, driver::Device& device, driver::Slot& slot) {
      device.put_header(slot.edesc->descriptor, 0x60300011);
      device.put_pointer(slot.edesc->descriptor, 2, device.pointer_to(slot.edesc->iv, 16));
      return Status::Ok;
    };
    j.complete = [](void* c, Status status) {
      auto* job = static_cast<HangingJob*>(c);
      ++job->finished;
      job->result = status;
    };
    j.context = &j;
    ASSERT_EQ(d.submit_job(d.assign_channel(), j, 0), Status::InProgress);  // channel 1, or 0 when there is one
    aead::Rng rng(1);
    std::vector<std::unique_ptr<aead::Request>> requests;
    std::vector<std::unique_ptr<crypto::Aead>> transforms;
    const aead::Spec spec("authenc(hmac(sha1),cbc(des3_ede))");  // the DEU: the AESU is held
    const aead::Keys keys{aead::random_bytes(rng, 20), aead::random_bytes(rng, 24)};
    for (unsigned n = 0; n < d.channels(); ++n) {
      transforms.push_back(s.registry().alloc_aead(spec.name));
      ASSERT_EQ(transforms.back()->set_key(keys.blob(spec)), Status::Ok);
      ASSERT_EQ(transforms.back()->set_auth_bytes(12), Status::Ok);
      if (!busy_elsewhere && n + 1 < d.channels()) continue;  // the last one is on the channel that hangs
      for (int i = 0; i < 10; ++i) {
        requests.push_back(std::make_unique<aead::Request>(
            spec, keys, rng, aead::Shape{.aad = 16, .text = 800, .tag = 12}, s.platform().dma()));
        ASSERT_TRUE(accepted(requests.back()->submit(*transforms.back())));
      }
    }
    const auto all = [&] {
      for (const auto& r : requests)
        if (!r->finished) return false;
      return j.finished != 0;
    };
    EXPECT_TRUE(s.platform().wait_for(all));
    EXPECT_EQ(j.finished, 1u);
    EXPECT_EQ(j.result, Status::TimedOut);
    for (const auto& r : requests) r->check("behind a hang");
    EXPECT_EQ(d.stats().timeouts, 1u);
    EXPECT_EQ(d.outstanding(), 0u);
    EXPECT_EQ(s.platform().warnings().size(), 1u);
  });
}

/// Units that fail in the middle of descriptors, on channels that come and go, while requests of all kinds keep coming: nothing is
/// lost, nothing ends twice, order is kept per transform, and what ends well is right.
void check_errors_under_load(const regs::Part& part, host::Fidelity fidelity) {
  host::SessionOptions o;
  o.part = &part;
  o.fidelity = fidelity;
  o.selftest = o.cpu_backends = o.compositions = false;
  host::Session session(o);
  session.run([&](host::Session& s) {
    aead::Rng rng(77);
    struct Sender {
      std::unique_ptr<crypto::Aead> transform;
      aead::Spec spec;
      aead::Keys keys;
      std::vector<std::unique_ptr<aead::Request>> requests;
      std::vector<int> order, taken;
    };
    std::vector<std::string> drivers;
    for (const auto& a : s.registry().list())
      if (a.type == crypto::AlgorithmType::Aead) drivers.push_back(a.driver);
    std::vector<std::unique_ptr<Sender>> senders;
    for (int i = 0; i < 6; ++i) {
      auto t = s.registry().alloc_aead(drivers[rng() % drivers.size()]);
      const aead::Spec spec(t->info().name);
      senders.push_back(std::make_unique<Sender>(Sender{std::move(t), spec, aead::random_keys(spec, rng), {}, {}, {}}));
      ASSERT_EQ(senders.back()->transform->set_key(senders.back()->keys.blob(spec)), Status::Ok);
    }
    size_t failed = 0, good = 0;
    for (int i = 0; i < 400; ++i) {
      if (i % 10 == 0)
        for (unsigned n = 0; n < s.device().channels(); ++n)
          s.engine().inject_unit_error(n, rng() % 4 ? ~uint64_t{0} : rng() % 200);
      Sender& x = *senders[rng() % senders.size()];
      aead::Shape shape = aead::random_shape(x.spec, rng, 600);
      if (rng() % 30 == 0) shape.text = 70'016;
      auto r = std::make_unique<aead::Request>(x.spec, x.keys, rng, shape, s.platform().dma());
      ASSERT_TRUE(r->ok());
      ASSERT_EQ(x.transform->set_auth_bytes(shape.tag), Status::Ok);
      r->id = static_cast<int>(x.requests.size());
      r->order = &x.order;
      ASSERT_TRUE(accepted(r->submit(*x.transform)));
      x.taken.push_back(r->id);
      x.requests.push_back(std::move(r));
      if (rng() % 20 == 0 || s.device().outstanding() > 40) s.platform().pump();
    }
    while (s.device().outstanding() && s.platform().pump()) {
    }
    EXPECT_EQ(s.device().outstanding(), 0u);
    for (const auto& x : senders) {
      EXPECT_EQ(x->order, x->taken);
      for (const auto& r : x->requests) {
        ASSERT_EQ(r->finished, 1u);
        if (r->status == Status::Invalid) {
          ++failed;
          continue;
        }
        ++good;
        r->check(std::string(part.name) + " " + x->transform->info().driver);
      }
    }
    EXPECT_GT(failed, 0u);
    EXPECT_GT(good, 100u);
    EXPECT_EQ(s.device().stats().descriptor_errors, s.platform().warnings().size());
    EXPECT_EQ(s.platform().dma().bounce_slots_used(), 0u);
  });
}

class OnThePart : public testing::TestWithParam<const regs::Part*> {};

TEST_P(OnThePart, Functional) { check_part(*GetParam(), host::Fidelity::Functional, 100); }
TEST_P(OnThePart, Approx) {
  static bool used = false;
  if (std::exchange(used, true)) GTEST_SKIP() << "one elaboration per process: run through ctest";
  check_part(*GetParam(), host::Fidelity::Approx, 30);
}

TEST_P(OnThePart, TimeLimitFunctional) {
  check_time_limit(*GetParam(), host::Fidelity::Functional, false);
  check_time_limit(*GetParam(), host::Fidelity::Functional, true);
}
TEST_P(OnThePart, TimeLimitApprox) {
  static bool used = false;
  if (std::exchange(used, true)) GTEST_SKIP() << "one elaboration per process: run through ctest";
  check_time_limit(*GetParam(), host::Fidelity::Approx, true);
}

TEST_P(OnThePart, ErrorsFunctional) { check_errors_under_load(*GetParam(), host::Fidelity::Functional); }
TEST_P(OnThePart, ErrorsApprox) {
  static bool used = false;
  if (std::exchange(used, true)) GTEST_SKIP() << "one elaboration per process: run through ctest";
  check_errors_under_load(*GetParam(), host::Fidelity::Approx);
}

std::vector<const regs::Part*> parts() {
  std::vector<const regs::Part*> out;
  for (const regs::Part& p : regs::kParts) out.push_back(&p);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Engine, OnThePart, testing::ValuesIn(parts()), [](const auto& info) {
  std::string name(info.param->name);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace sec::test
