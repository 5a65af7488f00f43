// The hwrng: which parts have one, the registers it is worked by, what it does when the FIFO runs dry, and that it comes back
// after a device reset. On the model, functional and (in another process) timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "driver/talitos/rng.h"
#include "driver/talitos/talitos.h"
#include "host/platforms/functional.h"
#include "host/session/session.h"
#include "hw/eu/rngu.h"
#include "hw/regs/map.h"

namespace sec::test {
namespace {

using host::Access;
using host::FunctionalPlatform;

struct World {
  FunctionalPlatform platform;
  crypto::Registry registry;
  driver::Device device;
  std::vector<std::string> info;
  explicit World(const regs::Part& part) : platform(part), device(platform) {
    platform.on_log = [this](driver::Platform::Level, std::string_view t) { info.emplace_back(t); };
    registry.set_selftest_enabled(false);
    EXPECT_EQ(device.probe(host::device_properties(part)), Status::Ok);
    EXPECT_EQ(device.register_algorithms(registry), Status::Ok);
  }
  ~World() { device.unregister(); }
};

// Parts whose masks have the unit and descriptor type 0. [driver rule of LX]
TEST(HwRng, OnTheRightParts) {
  const std::set<std::string_view> without = {"mpc885", "mpc8323"};
  for (const regs::Part& part : regs::kParts) {
    World w(part);
    EXPECT_EQ(w.device.hwrng() != nullptr, !without.contains(part.name)) << part.name;
    EXPECT_EQ(std::count(w.info.begin(), w.info.end(), "hwrng"), w.device.hwrng() ? 1 : 0) << part.name;
  }
}

TEST(HwRng, ReadsAnEntryInTwoHalvesAndReturnsTheLowOne) {
  for (const char* name : {"p2020", "mpc8349", "mpc8272"}) {
    const regs::Part& part = *regs::find_part(name);
    World w(part);
    auto* rng = w.device.hwrng();
    ASSERT_TRUE(rng) << name;
    dynamic_cast<hw::Rngu&>(*w.platform.engine().unit(regs::Eu::Rngu)).set_seed(77);
    EXPECT_TRUE(rng->data_present(false));
    std::vector<Access> seen;
    w.platform.on_access = [&](const Access& a) { seen.push_back(a); };
    uint32_t value = 0;
    ASSERT_EQ(rng->read(&value), Status::Ok);
    w.platform.on_access = nullptr;
    const uint32_t base = regs::eu_base(part, regs::Eu::Rngu);
    ASSERT_GE(seen.size(), 2u);
    const Access &hi = seen[seen.size() - 2], &lo = seen.back();
    EXPECT_EQ(hi.offset, base + 0x800) << name;
    EXPECT_EQ(lo.offset, base + 0x804) << name;
    EXPECT_FALSE(hi.write || lo.write);
    EXPECT_EQ(value, lo.value);
    EXPECT_EQ(value, static_cast<uint32_t>(std::mt19937_64(77)())) << "the seed's first word";
    // No address error, so no interrupt of the unit.
    EXPECT_EQ(w.platform.engine().unit(regs::Eu::Rngu)->interrupt_status(), 0u);
  }
}

TEST(HwRng, FillsAnyNumberOfBytes) {
  World w(regs::default_part());
  std::vector<uint8_t> bytes(10'001, 0);
  ASSERT_EQ(w.device.hwrng()->fill(bytes.data(), bytes.size()), Status::Ok);
  std::array<unsigned, 256> histogram{};
  for (uint8_t b : bytes) ++histogram[b];
  for (unsigned n : histogram) EXPECT_GT(n, 5u);
}

// A unit that makes nothing: the wait ends, with a name for it.
TEST(HwRng, ADryUnitIsATimeOut) {
  World w(regs::default_part());
  w.platform.write32(regs::kRnguBase + 0x1c, 1);  // software reset behind the driver's back: nothing is made any more
  EXPECT_FALSE(w.device.hwrng()->data_present(false));
  const uint64_t before = w.platform.now_ns();
  EXPECT_FALSE(w.device.hwrng()->data_present(true));
  EXPECT_EQ(w.platform.now_ns() - before, driver::HwRng::kWaitTries * driver::HwRng::kWaitNs);
  uint32_t value;
  EXPECT_EQ(w.device.hwrng()->read(&value), Status::Again);
  uint8_t byte;
  EXPECT_EQ(w.device.hwrng()->fill(&byte, 1), Status::TimedOut);
}

// An address error of the unit is a device-level error: the engine is initialised again, and the numbers come back.
TEST(HwRng, ComesBackAfterADeviceReset) {
  for (const char* name : {"p2020", "mpc8548", "mpc8272"}) {
    const regs::Part& part = *regs::find_part(name);
    World w(part);
    const uint64_t resets = w.device.stats().device_resets;
    const uint32_t fifo = regs::eu_base(part, regs::Eu::Rngu) + 0x800;
    static_cast<void>(w.platform.read32(fifo));
    static_cast<void>(w.platform.read32(fifo));  // HI twice: half an entry was left unread
    w.platform.deliver();
    EXPECT_EQ(w.device.stats().device_resets, resets + 1) << name;
    uint32_t value;
    EXPECT_EQ(w.device.hwrng()->read(&value), Status::Ok) << name;
  }
}

// One word every 256 SEC clocks: a burst of reads empties the FIFO, and then the clock sets the pace.
TEST(HwRngTimed, PacedByTheUnit) {
  host::SessionOptions o;
  o.cpu_backends = o.compositions = o.selftest = false;
  host::Session session(o);
  session.run([](host::Session& s) {
    auto* rng = s.device().hwrng();
    ASSERT_TRUE(rng);
    std::vector<uint8_t> bytes(4 * 2000);
    const uint64_t before = s.sim_ns();
    ASSERT_EQ(rng->fill(bytes.data(), bytes.size()), Status::Ok);
    const double ns = static_cast<double>(s.sim_ns() - before);
    // 2000 words less what the FIFO held; waiting is in steps of 10 us.
    const double word_ns = 256 * 1e9 / static_cast<double>(s.part().sec_clock_hz);
    EXPECT_GT(ns, 1900 * word_ns);
    EXPECT_LT(ns, 2600 * word_ns);
  });
}

}  // namespace
}  // namespace sec::test
