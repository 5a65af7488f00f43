#include "hw/eu/pkeu.h"

#include <openssl/bn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include "common/diag.h"
#include "common/endian.h"
#include "hw/regs/map.h"
#include "hw/regs/pkeu.h"

namespace sec::hw {
namespace {
using namespace regs::pkeu_mode;
using regs::DescriptorType;
constexpr auto bit(uint64_t mask) { return static_cast<uint32_t>(mask); }
constexpr uint32_t kDse = bit(regs::eu_error::kDse), kKse = bit(regs::eu_error::kKse), kMe = bit(regs::eu_error::kMe),
                   kCe = bit(regs::eu_error::kCe), kAe = bit(regs::eu_error::kAe),
                   kInv = bit(regs::kPkeuInterruptStatus.mask("INV"));
constexpr uint32_t kQuarter = regs::kPkeuQuarterBytes, kWhole = regs::kPkeuOperandBytes;
constexpr uint32_t kMinBits = 97, kMaxBits = 2048;  // [MOC][C14]
constexpr unsigned kBuildParts = 6;

bool is_multiply(uint8_t r) { return r >= kFpPointMulAffine && r <= kF2mPointMulProjective; }
bool is_add_or_double(uint8_t r) { return r >= kFpPointAdd && r <= kF2mPointDouble; }
bool is_curve(uint8_t r) { return is_multiply(r) || is_add_or_double(r); }
bool is_binary(uint8_t r) {
  return r == kF2mR2 || r == kF2mInverse || r == kF2mAdd || r == kF2mMultiply || r == kF2mMultiplyDeconvert ||
         r == kF2mPointMulAffine || r == kF2mPointMulProjective || r == kF2mPointAdd || r == kF2mPointDouble;
}
bool is_exponentiation(uint8_t r) {
  return r == kModExp || r == kModExpTeq || r == kRsaSingleStep || r == kRsaSingleStepTeq;
}
bool exists(uint8_t routine) {
  for (const regs::EnumName& e : regs::kPkeuModeNames)
    if (e.value == routine) return true;
  return false;
}
bool belongs(uint8_t routine, DescriptorType type) {
  switch (type) {
    case DescriptorType::PkeuAssemble:
      return routine == kBuild;
    case DescriptorType::PkeuPtmul:
      return is_multiply(routine);
    case DescriptorType::PkeuPtaddDbl:
      return is_add_or_double(routine);
    case DescriptorType::PkeuMm:
      return routine != kBuild && !is_curve(routine);
    default:
      return false;
  }
}

struct FreeBn {
  void operator()(BIGNUM* b) const { BN_free(b); }
};
/// A number; copies are deep. Out of memory is the only way in which its operations can fail.
class Bn {
 public:
  Bn() : b_(BN_new()) { SEC_CHECK(b_, "big number"); }
  explicit Bn(unsigned long v) : Bn() { SEC_CHECK(BN_set_word(b_.get(), v), "big number"); }
  Bn(const uint8_t* bytes, size_t n) : b_(BN_bin2bn(bytes, static_cast<int>(n), nullptr)) {
    SEC_CHECK(b_, "big number");
  }
  Bn(const Bn& o) : b_(BN_dup(o.b_.get())) { SEC_CHECK(b_, "big number"); }
  Bn(Bn&&) = default;
  Bn& operator=(const Bn& o) { return *this = Bn(o); }
  Bn& operator=(Bn&&) = default;
  operator BIGNUM*() { return b_.get(); }
  operator const BIGNUM*() const { return b_.get(); }
  bool zero() const { return BN_is_zero(b_.get()); }
  int bits() const { return BN_num_bits(b_.get()); }
  bool bit(int i) const { return BN_is_bit_set(b_.get(), i); }
  bool operator==(const Bn& o) const { return BN_cmp(b_.get(), o.b_.get()) == 0; }
  static Bn power_of_two(int n) {
    Bn r;
    SEC_CHECK(BN_set_bit(r, n), "big number");
    return r;
  }

 private:
  std::unique_ptr<BIGNUM, FreeBn> b_;
};

struct FreeCtx {
  void operator()(BN_CTX* c) const { BN_CTX_free(c); }
};
}  // namespace

/// The field (or ring) of the routine: numbers or polynomials modulo N, and curves over it. Inverses may not exist.
struct Pkeu::Arithmetic {
  std::unique_ptr<BN_CTX, FreeCtx> ctx{BN_CTX_new()};
  Bn n;
  bool binary;

  Arithmetic(Bn modulus, bool is_binary) : n(std::move(modulus)), binary(is_binary) { SEC_CHECK(ctx, "big numbers"); }

  Bn reduced(const Bn& a) {
    if (binary) return mul(a, Bn(1));  // BN_GF2m_mod takes polynomials of up to five terms only
    Bn r;
    SEC_CHECK(BN_nnmod(r, a, n, ctx.get()), "reduction");
    return r;
  }
  Bn add(const Bn& a, const Bn& b) {
    Bn r;
    SEC_CHECK(binary ? BN_GF2m_add(r, a, b) : BN_mod_add(r, a, b, n, ctx.get()), "addition");
    return r;
  }
  Bn sub(const Bn& a, const Bn& b) {
    if (binary) return add(a, b);
    Bn r;
    SEC_CHECK(BN_mod_sub(r, a, b, n, ctx.get()), "subtraction");
    return r;
  }
  Bn mul(const Bn& a, const Bn& b) {
    Bn r;
    SEC_CHECK(binary ? BN_GF2m_mod_mul(r, a, b, n, ctx.get()) : BN_mod_mul(r, a, b, n, ctx.get()), "multiplication");
    return r;
  }
  Bn sqr(const Bn& a) { return mul(a, a); }
  std::optional<Bn> inverse(const Bn& value) {
    const Bn a = reduced(value);
    if (a.zero()) return {};
    Bn r;
    if (!binary) {
      if (BN_mod_inverse(r, a, n, ctx.get())) return r;
      return {};
    }
    // OpenSSL blinds this with a random polynomial, which may fail when N is not irreducible, and does not take every
    // N.
    if (BN_GF2m_mod_inv(r, a, n, ctx.get())) return r;
    return euclid(a);
  }
  std::optional<Bn> euclid(Bn u) {
    Bn v = n, g(1), h(0), shifted;
    while (u.bits() != 1) {
      if (u.zero()) return {};
      int j = u.bits() - v.bits();
      if (j < 0) {
        std::swap(u, v);
        std::swap(g, h);
        j = -j;
        if (u.bits() == 1) break;
      }
      SEC_CHECK(BN_lshift(shifted, v, j) && BN_GF2m_add(u, u, shifted) && BN_lshift(shifted, h, j) &&
                    BN_GF2m_add(g, g, shifted),
                "Euclid");
    }
    return reduced(g);
  }
  /// 2^bits or x^bits.
  Bn power_of_two(int bits) { return reduced(Bn::power_of_two(bits)); }

  // ---- curves ----
  struct Point {
    bool infinite = false;
    Bn x, y;
  };
  using Result = std::optional<Point>;  // empty: an inverse that does not exist

  Bn a;  // the curve's parameter; b is not needed to add points

  Result from_projective(const Bn& x, const Bn& y, const Bn& z) {
    if (reduced(z).zero()) return Point{true, {}, {}};
    const auto i = inverse(z);
    if (!i) return {};
    const Bn i2 = sqr(*i);
    return Point{false, mul(reduced(x), i2), mul(reduced(y), mul(i2, *i))};
  }
  Result doubled(const Point& p) {
    if (p.infinite) return p;
    if (binary) {
      if (p.x.zero()) return Point{true, {}, {}};
      const auto i = inverse(p.x);
      if (!i) return {};
      const Bn slope = add(p.x, mul(p.y, *i));
      Bn x = add(add(sqr(slope), slope), a);
      Bn y = add(sqr(p.x), add(mul(slope, x), x));
      return Point{false, std::move(x), std::move(y)};
    }
    if (p.y.zero()) return Point{true, {}, {}};
    const auto i = inverse(add(p.y, p.y));
    if (!i) return {};
    const Bn x2 = sqr(p.x);
    return chord(p, p.x, mul(add(add(add(x2, x2), x2), a), *i));
  }
  Result sum(const Point& p, const Point& q) {
    if (p.infinite) return q;
    if (q.infinite) return p;
    if (p.x == q.x) {
      if (p.y == q.y) return doubled(p);
      return Point{true, {}, {}};
    }
    const auto i = inverse(sub(p.x, q.x));
    if (!i) return {};
    const Bn slope = mul(sub(p.y, q.y), *i);
    if (!binary) return chord(p, q.x, slope);
    Bn x = add(add(add(sqr(slope), slope), add(p.x, q.x)), a);
    Bn y = add(mul(slope, add(p.x, x)), add(x, p.y));
    return Point{false, std::move(x), std::move(y)};
  }
  Point chord(const Point& p, const Bn& x2, const Bn& slope) {
    Bn x = sub(sub(sqr(slope), p.x), x2);
    Bn y = sub(mul(slope, sub(p.x, x)), p.y);
    return {false, std::move(x), std::move(y)};
  }
  Result times(const Bn& k, const Point& p) {
    Result r = Point{true, {}, {}};
    for (int i = k.bits() - 1; i >= 0 && r; --i) {
      r = doubled(*r);
      if (r && k.bit(i)) r = sum(*r, p);
    }
    return r;
  }
};

Pkeu::Pkeu(const Timing& timing)
    : ExecutionUnit(regs::Eu::Pkeu, "PKEU", regs::kPkeuBase, timing, {.context_bytes = 0, .key_bytes = 0}) {
  hard_reset();
}

uint32_t Pkeu::prepare() { return kMe; }

void Pkeu::clear() {
  a_.fill(0);
  b_.fill(0);
  e_.fill(0);
  n_.fill(0);
  size_.fill(0);
  ab_bits_ = n_bits_ = 0;
  too_long_ = uneven_build_ = false;
  clocks_ = 0;
}

void Pkeu::load(PkeuOperand which, const uint8_t* bytes, uint32_t n) {
  auto into = [&](uint8_t* to, uint32_t room) {
    too_long_ |= n > room;
    std::memset(to, 0, room);
    if (n) std::memcpy(to, bytes, std::min(n, room));
  };
  switch (which) {
    case PkeuOperand::E:
      into(e_.data(), kWhole);
      key_bytes_ = n;  // KSE tells when it is too long
      too_long_ = too_long_ && n <= kWhole;
      return;
    case PkeuOperand::N:
      into(n_.data(), kWhole);
      n_bits_ = 8 * std::min(n, kWhole);
      return;
    case PkeuOperand::Build: {
      uneven_build_ |= n % kBuildParts != 0;
      const uint32_t part = n / kBuildParts;
      for (unsigned q = 0; q < kBuildParts; ++q) load(static_cast<PkeuOperand>(q), bytes + q * part, part);
      return;
    }
    default:
      break;
  }
  const auto q = static_cast<unsigned>(which);
  // What runs on into the next quarters replaces only as much of them as there is.
  const uint32_t room = (4 - q % 4) * kQuarter;
  too_long_ |= n > room;
  const uint32_t kept = std::min(n, room);
  if (kept < kQuarter) std::memset(quarter(q), 0, kQuarter);
  if (kept) std::memcpy(quarter(q), bytes, kept);
  size_[q] = kept;
  ab_bits_ = std::max(ab_bits_, 8 * kept);
}

uint32_t Pkeu::store(PkeuOperand which, uint8_t* out, uint32_t limit) const {
  if (which == PkeuOperand::Build) {
    const uint32_t part = limit / kBuildParts;
    std::memset(out, 0, limit);
    for (unsigned q = 0; q < kBuildParts; ++q) store(static_cast<PkeuOperand>(q), out + q * part, part);
    return limit;
  }
  const auto q = static_cast<unsigned>(which);
  const uint8_t* from = which == PkeuOperand::E ? e_.data() : which == PkeuOperand::N ? n_.data() : quarter(q);
  const uint32_t n = which == PkeuOperand::E   ? std::min(key_bytes_, kWhole)
                     : which == PkeuOperand::N ? n_bytes()
                                               : std::min(size_[q], (4 - q % 4) * kQuarter);
  const uint32_t kept = std::min(n, limit);  // the least significant bytes
  std::memset(out, 0, limit - kept);
  std::memcpy(out + (limit - kept), from + (n - kept), kept);
  return limit;
}

uint32_t Pkeu::check(uint8_t routine) const {
  if (!exists(routine)) return kMe;
  if (routine == kClearMemory) return 0;
  if (too_long_ || uneven_build_) return kDse;
  if (routine == kBuild) return 0;
  if (n_bits_ < kMinBits || n_bits_ > kMaxBits) return kDse;
  if (ab_bits_ > kMaxBits) return kDse;
  // Polynomials are there for curves: they have the same limit (ASSUMED), which is also below the 661 bits of
  // OpenSSL's.
  if ((is_curve(routine) || is_binary(routine)) && n_bits_ > 8 * kQuarter) return kDse;
  if (is_curve(routine)) {
    for (const uint32_t n : size_)
      if (n > kQuarter) return kDse;
  }
  if ((is_exponentiation(routine) || is_multiply(routine)) && (key_bytes_ == 0 || key_bytes_ > kWhole)) return kKse;
  // Montgomery arithmetic needs a modulus that is odd (a polynomial that x does not divide); a tiny one is no field.
  const bool odd = n_[n_bytes() - 1] & 1, any = routine == kModAdd || routine == kModSub || routine == kF2mAdd;
  if (!any && !odd) return kDse;
  if (routine != kF2mAdd && Bn(n_.data(), n_bytes()).bits() < 3) return kDse;
  return 0;
}

uint32_t Pkeu::start(uint8_t routine, DescriptorType type) {
  mode_ = routine;
  clocks_ = 0;
  uint32_t e = exists(routine) && !belongs(routine, type) ? kMe : check(routine);
  if (!e) e = run(routine);
  if (e) raise(e);
  return e;
}

uint32_t Pkeu::run(uint8_t routine) {
  if (routine == kClearMemory) {
    a_.fill(0);
    b_.fill(0);
    e_.fill(0);
    n_.fill(0);
    clocks_ = 4 * kWhole / 4;  // a word of 32 bits each clock (ASSUMED)
    return 0;
  }
  if (routine == kBuild) return 0;

  const uint32_t n = n_bytes(), words = (n + 3) / 4;
  Arithmetic field(Bn(n_.data(), n), is_binary(routine));
  auto operand = [&](unsigned q) { return Bn(quarter(q), size_[q]); };
  auto result = [&](unsigned q, const Bn& v) {
    const uint32_t room = q == 4 && !is_curve(routine) ? kWhole : kQuarter;
    std::memset(quarter(q), 0, room);
    SEC_CHECK(BN_bn2binpad(v, quarter(q), static_cast<int>(n)) == static_cast<int>(n), "result fits the modulus");
    size_[q] = n;
  };

  // Costs: ASSUMED throughout, from one Montgomery multiplication of word_clocks w^2 + 2 w clocks.
  const double w = words, multiply = timing_.pkeu_word_clocks * w * w + 2 * w, inverse = 128 * w * w;
  auto cost = [this](double c) { clocks_ = static_cast<uint64_t>(std::ceil(c)); };

  if (is_curve(routine)) {
    const bool projective = routine != kFpPointMulAffine && routine != kF2mPointMulAffine;
    field.a = field.reduced(operand(3));
    Arithmetic::Result p;
    if (projective) {
      p = field.from_projective(operand(0), operand(1), operand(2));
    } else {
      p = Arithmetic::Point{false, field.reduced(operand(0)), field.reduced(operand(1))};
      p->infinite = p->x.zero() && p->y.zero();
    }
    if (!p) return kInv;
    Arithmetic::Result r;
    if (is_multiply(routine)) {
      const Bn k(e_.data(), key_bytes_);
      r = field.times(k, *p);
      cost(k.bits() * 18.0 * multiply + (projective ? 0 : inverse + 4 * multiply));
    } else if (routine == kFpPointDouble || routine == kF2mPointDouble) {
      r = field.doubled(*p);
      cost(10 * multiply);
    } else {
      const auto q = field.from_projective(operand(5), operand(6), operand(7));
      if (!q) return kInv;
      r = field.sum(*p, *q);
      cost(16 * multiply);
    }
    if (!r) return kInv;
    const Bn one(1), zero(0);
    result(5, r->infinite ? (projective ? one : zero) : r->x);
    result(6, r->infinite ? (projective ? one : zero) : r->y);
    result(7, r->infinite ? zero : one);
    return 0;
  }

  const int r_bits = static_cast<int>(32 * words);
  const Bn a = operand(0), b = operand(4);
  auto montgomery = [&](int deconversions) {
    // gcd(R, N) = 1 since N is odd.
    const auto i = field.inverse(field.power_of_two(r_bits * deconversions));
    SEC_CHECK(i, "inverse of R");
    result(4, field.mul(field.mul(field.reduced(a), field.reduced(b)), *i));
    cost(deconversions * multiply);
  };
  switch (routine) {
    case kModExp:
    case kModExpTeq:
    case kRsaSingleStep:
    case kRsaSingleStepTeq: {
      const Bn e(e_.data(), key_bytes_);
      Bn r;
      SEC_CHECK(BN_mod_exp(r, field.reduced(a), e, field.n, field.ctx.get()), "exponentiation");
      result(4, r);
      const bool equalised = routine == kModExpTeq || routine == kRsaSingleStepTeq;
      const bool single = routine == kRsaSingleStep || routine == kRsaSingleStepTeq;
      cost((equalised ? 2.0 * 8 * key_bytes_ : 1.5 * e.bits()) * multiply + (single ? 64 * w * w : 0));
      return 0;
    }
    case kR2ModN:
    case kF2mR2:
      result(4, field.power_of_two(2 * r_bits));
      cost(64 * w * w);
      return 0;
    case kRrModP: {
      const int other = static_cast<int>((ab_bits_ + 31) / 32 * 32);
      result(4, field.power_of_two(r_bits + other));
      cost((r_bits + other) * w);
      return 0;
    }
    case kFpInverse:
    case kF2mInverse: {
      cost(inverse);
      const auto i = field.inverse(a);
      if (!i) return kInv;
      result(4, *i);
      return 0;
    }
    case kModAdd:
    case kModSub:
      result(4, routine == kModAdd ? field.add(a, b) : field.sub(a, b));
      cost(2 * w);
      return 0;
    case kF2mAdd: {
      Bn r = field.add(a, b);
      SEC_CHECK(BN_mask_bits(r, static_cast<int>(8 * n)) || r.bits() <= static_cast<int>(8 * n),
                "cut to the data size");
      result(4, r);
      cost(2 * w);
      return 0;
    }
    case kMontgomeryMultiply:
    case kF2mMultiply:
      montgomery(1);
      return 0;
    case kMultiplyDeconvert:
    case kF2mMultiplyDeconvert:
      montgomery(2);
      return 0;
    default:
      return kMe;
  }
}

// ---- registers ----

uint8_t* Pkeu::window(uint32_t offset) {
  for (const auto& [r, bytes] :
       {std::pair{&regs::kPkeuA, &a_}, {&regs::kPkeuB, &b_}, {&regs::kPkeuE, &e_}, {&regs::kPkeuN, &n_}})
    if (offset >= r->offset_bytes && offset < r->offset_bytes + r->size_bytes)
      return bytes->data() + (offset - r->offset_bytes);
  return nullptr;
}

uint32_t Pkeu::read32(uint32_t offset, bool peek) {
  const uint32_t reg = offset & ~7u;
  const bool low = offset & 4;
  if (reg == regs::kPkeuDataSize.offset_bytes) return low ? n_bits_ : 0;
  if (reg == regs::kPkeuAbSize.offset_bytes) return low ? ab_bits_ : 0;
  if (const uint8_t* w = window(offset)) {
    const bool write_only =
        reg >= regs::kPkeuE.offset_bytes && reg < regs::kPkeuE.offset_bytes + regs::kPkeuE.size_bytes;
    return write_only ? 0 : load_be32(w);
  }
  if (reg > regs::kPkeuGo.offset_bytes) return 0;  // there is no FIFO
  const uint32_t v = ExecutionUnit::read32(offset, peek);
  return reg == regs::kPkeuStatus.offset_bytes ? v & ~bit(regs::kPkeuStatus.mask("IFW")) : v;
}

void Pkeu::write32(uint32_t offset, uint32_t value) {
  const uint32_t reg = offset & ~7u;
  const bool low = offset & 4;
  uint8_t* const w = window(offset);
  const bool own = w || reg == regs::kPkeuDataSize.offset_bytes || reg == regs::kPkeuAbSize.offset_bytes ||
                   reg == regs::kPkeuGo.offset_bytes;
  if (reg > regs::kPkeuGo.offset_bytes && !own) {
    raise(owned_by_channel() ? kCe : kAe);
  } else if (!own) {
    ExecutionUnit::write32(offset, value);
  } else if (owned_by_channel()) {
    raise(kCe);
  } else if (w) {
    store_be32(w, value);
  } else if (!low) {
    // the high words of these registers are empty
  } else if (reg == regs::kPkeuDataSize.offset_bytes) {
    n_bits_ = value & bit(regs::kPkeuDataSize.mask("BITS"));
  } else if (reg == regs::kPkeuAbSize.offset_bytes) {
    ab_bits_ = value & bit(regs::kPkeuAbSize.mask("BITS"));
    size_.fill((ab_bits_ + 7) / 8);
  } else {
    set_done(false);
    clocks_ = 0;
    uint32_t e = check(mode_);
    if (!e) e = run(mode_);
    if (e)
      raise(e);
    else
      set_done(true);
  }
}

}  // namespace sec::hw
