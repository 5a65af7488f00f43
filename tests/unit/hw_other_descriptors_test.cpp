// AFEU, RNGU, CRCU, KEU, STEU and PKEU by descriptor, through a channel: the pointers of types 2, 7, 9, 10, 11, 16 and
// 25 reach the right places. What the units compute is tested in hw_other_units_test; here known answers will do.
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>

#include "hw/eu/rngu.h"
#include "hw/regs/afeu.h"
#include "hw/regs/crcu.h"
#include "hw/regs/pkeu.h"
#include "hw/regs/rngu.h"
#include "hw/regs/steu.h"
#include "tests/model/rig.h"
#include "tests/support/rsp_vectors.h"

namespace sec::test {
namespace {
namespace ce = regs::channel_error;
namespace ee = regs::eu_error;
using regs::Descriptor;
using regs::DescriptorType;
using regs::Eu;
using regs::PointerDword;

std::string hex(const Bytes& b) { return to_hex(b); }
Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A descriptor whose pointers are filled one by one, each with memory of its own.
class Builder {
 public:
  Builder(Rig& r, Eu unit, uint8_t mode, DescriptorType type) : r_(r) {
    d_.header = regs::make_header(unit, mode, Eu::None, 0, type, false, true);
  }
  Builder& in(unsigned p, const Bytes& b, const Bytes& extent = {}) {
    r_.put(place(p), b + extent);
    d_.ptr[p] = PointerDword::to(place(p), static_cast<uint16_t>(b.size()), static_cast<uint8_t>(extent.size()));
    return *this;
  }
  Builder& out(unsigned p, size_t n, size_t extent = 0) {
    d_.ptr[p] = PointerDword::to(place(p), static_cast<uint16_t>(n), static_cast<uint8_t>(extent));
    return *this;
  }
  /// Runs it on channel 0; the channel's error bits.
  uint32_t run() {
    d_.store(r_.at(kLow));
    r_.submit(0, kLow);
    r_.settle();
    done_ = r_.marked_done(kLow);
    return r_.errors(0);
  }
  Bytes got(unsigned p, size_t n, size_t skip = 0) { return r_.get(place(p) + skip, n); }
  bool done() const { return done_; }
  regs::IntegrityCheck verdict() { return Descriptor::load(r_.at(kLow)).iccr0(); }

 private:
  static BusAddr place(unsigned p) { return kLow + 0x1000 * (p + 1); }
  Rig& r_;
  Descriptor d_;
  bool done_ = false;
};

class Descriptors : public testing::TestWithParam<Executor> {
 protected:
  Rig r{"p2020", GetParam()};
  void SetUp() override {
    for (unsigned n = 0; n < 4; ++n) r.configure(n, kCdwe | kCdie | kIwse);
  }
};
INSTANTIATE_TEST_SUITE_P(Both, Descriptors, testing::Values(Executor::Functional, Executor::Timed),
                         [](const auto& p) { return std::string(name_of(p.param)); });

TEST_P(Descriptors, Rc4InTwoPieces) {
  // RFC 6229, 40-bit key: keystream at 0 and at 240.
  Builder first(r, Eu::Afeu, 0x02, DescriptorType::CommonNonsnoopAfeu);
  first.in(2, from_hex("0102030405")).in(3, Bytes(240)).out(4, 240).out(5, regs::kAfeuContextBytes);
  ASSERT_EQ(first.run(), 0u);
  EXPECT_EQ(hex(first.got(4, 16)), "b2396305f03dc027ccc3524a0a1118a8");
  const Bytes context = first.got(5, regs::kAfeuContextBytes);
  Builder next(r, Eu::Afeu, 0x07, DescriptorType::CommonNonsnoopAfeu);
  next.in(1, context).in(3, Bytes(33)).out(4, 33).out(5, regs::kAfeuContextBytes);
  ASSERT_EQ(next.run(), 0u);
  EXPECT_TRUE(next.done());
  EXPECT_EQ(hex(next.got(4, 32)), "28cb1132c96ce286421dcaadb8b69eae1cfcf62b03eddb641d77dfcf7f8d8c93");
  EXPECT_NE(next.got(5, regs::kAfeuContextBytes), context);
  Builder bad(r, Eu::Afeu, 0x02, DescriptorType::CommonNonsnoopAfeu);
  bad.in(2, from_hex("01020304")).in(3, Bytes(16)).out(4, 16);
  EXPECT_EQ(bad.run(), ce::kEu);
  EXPECT_EQ(r.eu(Eu::Afeu, regs::kEuInterruptStatus), ee::kKse);
  EXPECT_FALSE(bad.done());
}

TEST_P(Descriptors, RandomNumbers) {
  Builder a(r, Eu::Rngu, 0, DescriptorType::CommonNonsnoop);
  a.out(4, 100);
  const uint64_t began = r.timed ? r.timed->now() : 0;
  ASSERT_EQ(a.run(), 0u);
  EXPECT_TRUE(a.done());
  const Bytes first = a.got(4, 101);
  EXPECT_EQ(first[100], 0xEE);
  if (r.timed) {
    EXPECT_GE(r.timed->now() - began, 13u * 256) << "13 words";
  }
  auto* const unit = dynamic_cast<hw::Rngu*>(r.engine->unit(Eu::Rngu));
  ASSERT_TRUE(unit);
  unit->set_seed(hw::Rngu::kDefaultSeed);
  Builder b(r, Eu::Rngu, 0, DescriptorType::CommonNonsnoop);
  b.out(4, 100);
  ASSERT_EQ(b.run(), 0u);
  EXPECT_EQ(b.got(4, 100), Bytes(first.begin(), first.begin() + 100)) << "seeds repeat";
}

TEST_P(Descriptors, RandomNumbersByRegister) {
  const auto ofl = [&] { return regs::kEuStatus.field("OFL").get(r.eu(Eu::Rngu, regs::kRnguStatus)); };
  r.set_eu(Eu::Rngu, regs::kRnguResetControl, lo(regs::kEuResetControl.mask("SR")));
  r.set_eu(Eu::Rngu, regs::kRnguDataSize, 0);
  if (r.timed) {
    EXPECT_EQ(ofl(), 0u);
    r.pass(256 * 3 + 10);
    EXPECT_EQ(ofl(), 3u);
  } else {
    EXPECT_EQ(ofl(), 32u);
  }
  const uint32_t fifo = regs::eu_base(Eu::Rngu) + regs::kRnguFifo.offset_bytes;
  r.rd(fifo), r.rd(fifo + 4);
  EXPECT_EQ(r.eu(Eu::Rngu, regs::kRnguInterruptStatus), 0u);
  r.rd(fifo + 4);
  EXPECT_EQ(r.eu(Eu::Rngu, regs::kRnguInterruptStatus), ee::kAe);
  EXPECT_NE(r.isr() & regs::kISR.mask("RNGU_ERROR"), 0u) << "Linux enables this interrupt";
}

TEST_P(Descriptors, Checks) {
  const Bytes digits = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  Builder a(r, Eu::Crcu, 0x01, DescriptorType::CommonNonsnoop);
  a.in(3, digits).out(6, 4);
  ASSERT_EQ(a.run(), 0u);
  EXPECT_EQ(hex(a.got(6, 5)), "839206e3ee");
  // With a received check in the extent of p4.
  for (const bool good : {true, false}) {
    r.control(0, kReset);
    r.configure(0, kCdwe | kCdie | kIwse);
    r.set_eu(Eu::Crcu, regs::kCrcuInterruptControl, lo(ee::kIce));
    Builder b(r, Eu::Crcu, 0x41, DescriptorType::CommonNonsnoop);
    b.in(3, digits).in(4, {}, from_hex(good ? "839206e3" : "839206e4")).out(6, 4);
    ASSERT_EQ(b.run(), 0u);
    EXPECT_EQ(b.verdict(), good ? regs::IntegrityCheck::Pass : regs::IntegrityCheck::Fail);
  }
  // Type 25: a header and a payload.
  Builder two(r, Eu::Crcu, 0x01, DescriptorType::DblCrc);
  two.in(0, digits).in(1, Bytes(32)).out(2, 0, 4).out(3, 0, 4);
  ASSERT_EQ(two.run(), 0u);
  EXPECT_EQ(hex(two.got(2, 4)), "839206e3");
  EXPECT_EQ(hex(two.got(3, 4)), "aa36918a");
}

TEST_P(Descriptors, Snow3gAsOnSilicon) {
  // Headers as in the vendor's driver: 0x90900010 | DN, 0x91a00010 | DN, 0x95a00010 | DN. [USP]
  Builder f8(r, Eu::Steu, 0x09, DescriptorType::CommonNonsnoop);
  f8.in(1, from_hex("398A59B4AC000000")).in(2, from_hex("D3C5D592327FB11C4035C6680AF8C6D1"));
  f8.in(3, from_hex("981BA6824C1BFB1AB485472029B71D808CE33E2CC3C0B5FC1F3DE8A6DC66B1")).out(4, 31);
  ASSERT_EQ(f8.run(), 0u);
  EXPECT_EQ(hex(f8.got(4, 32)), "5d5bfe75eb04f68ce0a12377ea00b37d47c6a0ba06309155086a859c4341b3ee");
  const Bytes message =
      from_hex("D0A7D463DF9FB2B278833FA02E235AA172BD970C1473E12907FB648B6599AAA0B24A038665422B20A499276A50427009");
  const Bytes key = from_hex("C736C6AAB22BFFF91E2698D2E22AD57E");
  Builder f9(r, Eu::Steu, 0x1a, DescriptorType::CommonNonsnoop);
  f9.in(1, from_hex("14793E4104000000"
                    "0000000000000000"
                    "000000000397E8FD"))
      .in(2, key)
      .in(3, message)
      .out(6, 8);
  ASSERT_EQ(f9.run(), 0u);
  EXPECT_EQ(hex(f9.got(6, 9)), "0000000038b554c0ee");
  for (const bool masked : {true, false})
    for (const bool good : {true, false}) {
      r.set_eu(Eu::Steu, regs::kSteuInterruptControl, masked ? lo(ee::kIce) : 0);
      Builder check(r, Eu::Steu, 0x5a, DescriptorType::CommonNonsnoop);
      check.in(1, from_hex(std::string("14793E4104000000"
                                       "00000000") +
                           (good ? "38B554C0" : "38B554C1") + "000000000397E8FD"));
      check.in(2, key).in(3, message).out(6, 8);
      EXPECT_EQ(check.run(), masked || good ? 0u : ce::kEu);
      EXPECT_EQ(check.done(), masked || good);
      if (masked || good) {
        EXPECT_EQ(check.verdict(), good ? regs::IntegrityCheck::Pass : regs::IntegrityCheck::Fail);
      } else {
        EXPECT_EQ(r.eu(Eu::Steu, regs::kSteuInterruptStatus), ee::kIce);
      }
    }
}

TEST_P(Descriptors, KasumiInPieces) {
  const Bytes key = from_hex("2BD6459F82C5B300952C49104881FF48");
  const Bytes text = from_hex("7EC61272743BF1614726446A6C38CED166F6CA76EB5430044286346CEF130F92922B03450D3A9975");
  const std::string want = "d1e2de70eef86c6964fb542bc2d460aabfaa10a4a093262b7d199e706fc2d4891553296910f3a973";
  Builder a(r, Eu::Keu, 0x08, DescriptorType::CommonNonsnoop);
  a.in(1, from_hex("72A4F20F64000000")).in(2, key).in(3, Bytes(text.begin(), text.begin() + 16)).out(4, 16).out(5, 72);
  ASSERT_EQ(a.run(), 0u);
  Builder b(r, Eu::Keu, 0x10, DescriptorType::CommonNonsnoop);
  const Bytes context = a.got(5, 72);
  const Bytes head = a.got(4, 16);
  b.in(1, context).in(2, key).in(3, Bytes(text.begin() + 16, text.end())).out(4, 24);
  ASSERT_EQ(b.run(), 0u);
  EXPECT_EQ(hex(head + b.got(4, 24)), want);
}

struct Free {
  void operator()(BIGNUM* p) const { BN_free(p); }
  void operator()(BN_CTX* p) const { BN_CTX_free(p); }
  void operator()(EC_GROUP* p) const { EC_GROUP_free(p); }
  void operator()(EC_POINT* p) const { EC_POINT_free(p); }
};
using Num = std::unique_ptr<BIGNUM, Free>;
Num number(const Bytes& b) { return Num(BN_bin2bn(b.data(), static_cast<int>(b.size()), nullptr)); }
Bytes bytes(const BIGNUM* n, size_t size) {
  Bytes b(size);
  EXPECT_EQ(BN_bn2binpad(n, b.data(), static_cast<int>(size)), static_cast<int>(size));
  return b;
}

TEST_P(Descriptors, ModularExponentiation) {
  Bytes n = pattern(128, 1);
  n[0] |= 0x80, n[127] |= 1;
  const Bytes a = pattern(128, 2), e = pattern(128, 3);
  const std::unique_ptr<BN_CTX, Free> ctx(BN_CTX_new());
  const Num want(BN_new()), base = number(a), modulus = number(n);
  BN_nnmod(base.get(), base.get(), modulus.get(), ctx.get());
  ASSERT_EQ(BN_mod_exp(want.get(), base.get(), number(e).get(), modulus.get(), ctx.get()), 1);
  Builder b(r, Eu::Pkeu, regs::pkeu_mode::kModExp, DescriptorType::PkeuMm);
  b.in(0, n).in(1, Bytes(128)).in(2, a).in(3, e).out(4, 128);
  const uint64_t began = r.timed ? r.timed->now() : 0;
  ASSERT_EQ(b.run(), 0u);
  EXPECT_TRUE(b.done());
  EXPECT_EQ(b.got(4, 128), bytes(want.get(), 128));
  if (r.timed) {
    EXPECT_GE(r.timed->now() - began, 3'000'000u);
    EXPECT_LE(r.timed->now() - began, 3'300'000u);
  }
  Builder even(r, Eu::Pkeu, regs::pkeu_mode::kModExp, DescriptorType::PkeuMm);
  n[127] &= 0xfe;
  even.in(0, n).in(2, a).in(3, e).out(4, 128);
  EXPECT_EQ(even.run(), ce::kEu);
  EXPECT_EQ(r.eu(Eu::Pkeu, regs::kPkeuInterruptStatus), ee::kDse);
  EXPECT_TRUE(Rig::untouched(r.get(kLow + 0x5000 + 128, 16)));
}

TEST_P(Descriptors, EllipticCurve) {
  const std::unique_ptr<EC_GROUP, Free> group(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  const std::unique_ptr<BN_CTX, Free> ctx(BN_CTX_new());
  const Num p(BN_new()), a(BN_new()), b(BN_new()), x(BN_new()), y(BN_new());
  EC_GROUP_get_curve(group.get(), p.get(), a.get(), b.get(), nullptr);
  const std::unique_ptr<EC_POINT, Free> g(EC_POINT_dup(EC_GROUP_get0_generator(group.get()), group.get())),
      want(EC_POINT_new(group.get()));
  ASSERT_EQ(EC_POINT_get_affine_coordinates(group.get(), g.get(), x.get(), y.get(), ctx.get()), 1);
  Bytes one(32);
  one[31] = 1;
  // 7: assemble; 9: multiply; 11: add the generator once more.
  Builder build(r, Eu::Pkeu, regs::pkeu_mode::kBuild, DescriptorType::PkeuAssemble);
  build.in(0, bytes(x.get(), 32))
      .in(1, bytes(y.get(), 32))
      .in(2, one)
      .in(3, bytes(a.get(), 32))
      .in(4, bytes(b.get(), 32))
      .in(5, one)
      .out(6, 192);
  ASSERT_EQ(build.run(), 0u);
  const Bytes assembled = build.got(6, 192);
  const Bytes k = pattern(32, 5);
  Builder multiply(r, Eu::Pkeu, regs::pkeu_mode::kFpPointMulProjective, DescriptorType::PkeuPtmul);
  multiply.in(0, bytes(p.get(), 32)).in(1, k).in(2, assembled).out(3, 32).out(4, 32).out(5, 32);
  ASSERT_EQ(multiply.run(), 0u);
  const Num scalar = number(k);
  auto check = [&](Builder& d, unsigned first) {
    ASSERT_EQ(EC_POINT_mul(group.get(), want.get(), scalar.get(), nullptr, nullptr, ctx.get()), 1);
    ASSERT_EQ(EC_POINT_get_affine_coordinates(group.get(), want.get(), x.get(), y.get(), ctx.get()), 1);
    EXPECT_EQ(hex(d.got(first, 32)), hex(bytes(x.get(), 32)));
    EXPECT_EQ(hex(d.got(first + 1, 32)), hex(bytes(y.get(), 32)));
    EXPECT_EQ(d.got(first + 2, 32), one);
  };
  const Bytes qx = multiply.got(3, 32), qy = multiply.got(4, 32);
  check(multiply, 3);
  Builder add(r, Eu::Pkeu, regs::pkeu_mode::kFpPointAdd, DescriptorType::PkeuPtaddDbl);
  Bytes with = assembled;
  std::copy(qx.begin(), qx.end(), with.begin() + 160);  // B1
  add.in(0, bytes(p.get(), 32)).in(1, with).in(2, qy).in(3, one).out(4, 32).out(5, 32).out(6, 32);
  ASSERT_EQ(add.run(), 0u);
  BN_add_word(scalar.get(), 1);
  check(add, 4);
}

}  // namespace
}  // namespace sec::test
