// Units driven by software through their registers, no channel involved ("slave mode"): results against OpenSSL, every
// error cause, masking, and the three resets.
#include "tests/model/rig.h"

namespace sec::test {
namespace {
namespace ee = regs::eu_error;
using regs::Eu;

constexpr uint32_t kStatusId = lo(regs::kEuStatus.mask("ID")), kStatusIe = lo(regs::kEuStatus.mask("IE")), kStatusOfr = lo(regs::kEuStatus.mask("OFR")),
                   kStatusIfw = lo(regs::kEuStatus.mask("IFW")), kStatusHalt = lo(regs::kEuStatus.mask("HALT")), kStatusRd = lo(regs::kEuStatus.mask("RD"));
constexpr uint32_t kSr = lo(regs::kEuResetControl.mask("SR")), kMi = lo(regs::kEuResetControl.mask("MI")), kRi = lo(regs::kEuResetControl.mask("RI"));

/// One unit behind its registers.
struct Slave {
  Rig r{"p2020", Executor::Functional};
  Eu unit;
  explicit Slave(Eu u) : unit(u) {}
  uint32_t base() const { return regs::eu_base(unit); }
  uint32_t reg(const regs::Register& x) { return r.eu(unit, x); }
  void set(const regs::Register& x, uint32_t v) { r.set_eu(unit, x, v); }
  uint32_t status() { return reg(regs::kEuStatus); }
  uint32_t causes() { return reg(regs::kEuInterruptStatus); }
  void window(uint32_t at, const Bytes& b) {
    for (uint32_t i = 0; i < b.size(); i += 4) r.wr(base() + at + i, load_be32(&b[i]));
  }
  /// Reset, mode, key, IV and data size, as on ColdFire's SKHA.
  void start(uint8_t mode, const Bytes& key, const Bytes& iv, size_t bytes) {
    set(regs::kEuResetControl, kSr);
    EXPECT_EQ(status() & kStatusRd, kStatusRd);
    set(regs::kEuMode, mode);
    window(regs::kEuContext.offset_bytes, iv);
    window(regs::kEuKey.offset_bytes, key);
    set(regs::kEuKeySize, static_cast<uint32_t>(key.size()));
    set(regs::kEuDataSize, static_cast<uint32_t>(8 * bytes));
  }
  void push(const uint8_t* p) {
    r.wr(base() + regs::kEuFifo.offset_bytes, load_be32(p));
    r.wr(base() + regs::kEuFifo.offset_bytes + 4, load_be32(p + 4));
  }
  Bytes pop() {
    Bytes b(8);
    store_be32(b.data(), r.rd(base() + regs::kEuFifo.offset_bytes));
    store_be32(b.data() + 4, r.rd(base() + regs::kEuFifo.offset_bytes + 4));
    return b;
  }
  Bytes context(size_t n) {
    Bytes b(n);
    for (uint32_t i = 0; i < n; i += 4) store_be32(&b[i], r.rd(base() + regs::kEuContext.offset_bytes + i));
    return b;
  }
  /// Feeds while there is room, drains while there is output.
  Bytes run(const Bytes& in) {
    Bytes out;
    size_t at = 0;
    for (unsigned turns = 0; out.size() < in.size(); ++turns) {
      if (turns >= 10000) {
        ADD_FAILURE() << "waited 10000 turns for unit output";
        break;
      }
      while (at < in.size() && status() & kStatusIfw) push(&in[at]), at += 8;
      if (at == in.size()) set(regs::kEuGo, 1);
      while (status() & kStatusOfr) {
        const Bytes w = pop();
        out.insert(out.end(), w.begin(), w.end());
      }
    }
    return out;
  }
};

TEST(SlaveMode, AesEqualsOpenssl) {
  for (const char* mode : {"ECB", "CBC", "CTR"})
    for (const unsigned bits : {128u, 192u, 256u})
      for (const bool encrypt : {true, false})
        for (const size_t bytes : {16u, 32u, 256u, 272u, 1600u}) {
          const std::string name = "AES-" + std::to_string(bits) + "-" + mode;
          SCOPED_TRACE(name + (encrypt ? " encrypt " : " decrypt ") + std::to_string(bytes));
          const bool ecb = mode[0] == 'E', ctr = mode[1] == 'T';
          Bytes key = pattern(bits / 8, 1), iv = ecb ? Bytes{} : pattern(16, 2), in = pattern(bytes, 3);
          if (ctr) std::fill(iv.begin() + 1, iv.end(), 0xff);  // the carry must go through all bytes
          Slave s(Eu::Aesu);
          s.start(static_cast<uint8_t>((ecb ? 0 : ctr ? 6 : 2) | encrypt), key, iv, bytes);
          EXPECT_EQ(s.reg(regs::kEuDataSize), 8 * bytes);
          const Bytes want = cipher(name.c_str(), key, iv, in, encrypt || ctr), out = s.run(in);
          EXPECT_EQ(out, want);
          EXPECT_EQ(s.causes(), 0u);
          EXPECT_EQ(s.status(), kStatusRd | kStatusId | kStatusIfw);
          EXPECT_EQ(s.r.isr(), regs::kISR.mask("AESU_DONE"));
          if (ctr) {
            Bytes next = iv;
            for (size_t k = 0; k < bytes / 16; ++k)
              for (int i = 15; i >= 0 && ++next[static_cast<size_t>(i)] == 0; --i) {}
            EXPECT_EQ(s.context(16), next) << "the next counter";
          } else if (!ecb) {
            const Bytes& text = encrypt ? want : in;
            EXPECT_EQ(s.context(16), Bytes(text.end() - 16, text.end())) << "the last block of ciphertext";
          }
        }
}

TEST(SlaveMode, DesEqualsOpenssl) {
  const std::tuple<uint8_t, const char*> modes[] = {{0x00, "DES-EDE3-ECB"}, {0x04, "DES-EDE3-CBC"}, {0x08, "DES-EDE3-CFB"}, {0x0c, "DES-EDE3-OFB"}};
  for (const auto& [mode, name] : modes)
    for (const size_t key_bytes : {8u, 16u, 24u})
      for (const bool encrypt : {true, false})
        for (const size_t bytes : {8u, 24u, 256u, 264u, 1608u}) {
          SCOPED_TRACE(testing::Message() << name << " " << key_bytes << (encrypt ? " encrypt " : " decrypt ") << bytes);
          const Bytes key = odd_parity(pattern(key_bytes, 4)), iv = mode ? pattern(8, 5) : Bytes{}, in = pattern(bytes, 6);
          Slave s(Eu::Deu);
          s.start(static_cast<uint8_t>(mode | (key_bytes > 8 ? 2 : 0) | encrypt), key, iv, bytes);
          const Bytes want = cipher(name, ede(key), iv, in, encrypt), out = s.run(in);
          EXPECT_EQ(out, want);
          EXPECT_EQ(s.causes(), 0u);
          EXPECT_EQ(s.r.isr(), regs::kISR.mask("DEU_DONE"));
          if (mode) {  // the last block of ciphertext; for OFB of key stream
            const Bytes& text = encrypt ? want : in;
            Bytes next(text.end() - 8, text.end());
            if (mode == 0x0c)
              for (size_t i = 0; i < 8; ++i) next[i] = want[bytes - 8 + i] ^ in[bytes - 8 + i];
            EXPECT_EQ(s.context(8), next);
          }
        }
}

TEST(SlaveMode, KnownDesAnswer) {
  Slave s(Eu::Deu);  // FIPS 81's "Now is the time for all " in ECB mode
  const Bytes key = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
  const char* text = "Now is the time for all ";
  s.start(0x01, key, {}, 24);
  EXPECT_EQ(s.run(Bytes(text, text + 24)), (Bytes{0x3f, 0xa4, 0x0e, 0x8a, 0x98, 0x4d, 0x48, 0x15, 0x6a, 0x27, 0x17, 0x87,
                                                  0xab, 0x88, 0x83, 0xf9, 0x89, 0x3d, 0x51, 0xec, 0x4b, 0x56, 0x3b, 0x53}));
}

TEST(SlaveMode, LevelsAndFullFifos) {
  Slave s(Eu::Aesu);
  s.start(0x01, pattern(16, 1), {}, 4096);
  const Bytes in = pattern(4096, 2);
  auto level = [&](uint64_t mask) { return (s.status() & lo(mask)) / (lo(mask) & -lo(mask)); };
  const uint64_t ifl = regs::kEuStatus.mask("IFL"), ofl = regs::kEuStatus.mask("OFL");
  for (size_t i = 0; i < 32; ++i) s.push(&in[8 * i]);  // fills the output side through the unit
  EXPECT_EQ(level(ofl), 32u);
  EXPECT_EQ(level(ifl), 0u);
  for (size_t i = 32; i < 64; ++i) s.push(&in[8 * i]);
  EXPECT_EQ(level(ifl), 32u);
  EXPECT_EQ(s.status() & kStatusIfw, 0u);
  EXPECT_EQ(s.causes(), 0u);
  s.push(&in[8 * 64]);
  EXPECT_EQ(s.causes(), ee::kIfo);
  EXPECT_EQ(s.status() & (kStatusIe | kStatusHalt), kStatusIe | kStatusHalt);
  EXPECT_EQ(s.r.isr(), regs::kISR.mask("AESU_ERROR"));
  EXPECT_EQ(level(ifl), 32u) << "the word is lost";
}

struct Cause {
  const char* name;
  Eu unit;
  uint64_t bit;
  std::function<void(Slave&)> provoke;
};
std::ostream& operator<<(std::ostream& o, const Cause& c) { return o << c.name; }
class SlaveError : public testing::TestWithParam<Cause> {};

void busy(Slave& s) { s.start(s.unit == Eu::Aesu ? 0x03 : 0x05, odd_parity(pattern(s.unit == Eu::Aesu ? 16 : 8, 1)), pattern(8, 2), 64); }
void poke(Slave& s, uint32_t offset) { s.r.wr(s.base() + offset, 1); }

const Cause kCauses[] = {
    {"UnderflowWhenIdle", Eu::Aesu, ee::kOfu, [](Slave& s) { s.pop(); }},
    {"UnderflowWhileBusy", Eu::Deu, ee::kOfu, [](Slave& s) { busy(s), s.pop(); }},
    {"OverflowBeforeStart", Eu::Deu, ee::kIfo, [](Slave& s) { for (int i = 0; i < 33; ++i) s.push(pattern(8, 1).data()); }},
    {"ContextWrittenWhileBusy", Eu::Aesu, ee::kCe, [](Slave& s) { busy(s), poke(s, 0x108); }},
    {"KeyWrittenWhileBusy", Eu::Aesu, ee::kCe, [](Slave& s) { busy(s), poke(s, 0x404); }},
    {"ModeWrittenWhileBusy", Eu::Deu, ee::kCe, [](Slave& s) { busy(s), poke(s, 0x004); }},
    {"KeySizeWrittenWhileBusy", Eu::Deu, ee::kCe, [](Slave& s) { busy(s), poke(s, 0x00c); }},
    {"ContextReadEarly", Eu::Aesu, ee::kEre, [](Slave& s) { busy(s), s.context(4); }},
    {"AddressInAGap", Eu::Aesu, ee::kAe, [](Slave& s) { poke(s, 0x060); }},
    {"NoIcvSizeRegister", Eu::Aesu, ee::kAe, [](Slave& s) { poke(s, 0x044); }},
    {"AddressBehindTheContext", Eu::Aesu, ee::kAe, [](Slave& s) { poke(s, 0x180); }},
    {"AddressBehindTheKey", Eu::Deu, ee::kAe, [](Slave& s) { poke(s, 0x420); }},
    {"DataSizeOddAes", Eu::Aesu, ee::kDse, [](Slave& s) { s.start(0x01, pattern(16, 1), {}, 24); }},
    {"DataSizeOddCtr", Eu::Aesu, ee::kDse, [](Slave& s) { s.start(0x06, pattern(16, 1), {}, 24); }},
    {"DataSizeOddDes", Eu::Deu, ee::kDse, [](Slave& s) { s.start(0x01, odd_parity(pattern(8, 1)), {}, 12); }},
    {"DataSizeInBits", Eu::Deu, ee::kDse, [](Slave& s) { busy(s), s.set(regs::kEuDataSize, 65); }},
    {"EndOfMessageTooEarly", Eu::Aesu, ee::kDse, [](Slave& s) { busy(s), s.set(regs::kEuGo, 1); }},
    {"KeySizeAes", Eu::Aesu, ee::kKse, [](Slave& s) { s.start(0x01, pattern(20, 1), {}, 16); }},
    {"KeySizeSingleDes", Eu::Deu, ee::kKse, [](Slave& s) { s.start(0x01, odd_parity(pattern(16, 1)), {}, 8); }},
    {"KeySizeTripleDes", Eu::Deu, ee::kKse, [](Slave& s) { s.start(0x03, odd_parity(pattern(8, 1)), {}, 8); }},
    {"ModeAes", Eu::Aesu, ee::kMe, [](Slave& s) { s.start(0x42, pattern(16, 1), {}, 16); }},
    {"ModeDes", Eu::Deu, ee::kMe, [](Slave& s) { s.start(0x11, odd_parity(pattern(8, 1)), {}, 8); }},
    {"KeyParity", Eu::Deu, ee::kKpe, [](Slave& s) {
       s.set(regs::kEuInterruptControl, 0);
       Bytes k = odd_parity(pattern(8, 1));
       k[7] ^= 1;
       s.start(0x01, k, {}, 8);
     }},
};
INSTANTIATE_TEST_SUITE_P(Each, SlaveError, testing::ValuesIn(kCauses), testing::PrintToStringParamName());

TEST_P(SlaveError, RaisesItsBitAndCanBeClearedAndMasked) {
  const Cause& c = GetParam();
  const uint64_t irq = c.unit == Eu::Aesu ? regs::kISR.mask("AESU_ERROR") : regs::kISR.mask("DEU_ERROR");
  {
    Slave s(c.unit);
    s.r.enable(irq);
    c.provoke(s);
    EXPECT_EQ(s.causes(), c.bit);
    EXPECT_EQ(s.status() & (kStatusIe | kStatusHalt), kStatusIe | kStatusHalt);
    EXPECT_EQ(s.r.isr() & irq, irq);
    EXPECT_EQ(s.r.engine->lines(), 1u);
    s.r.clear(irq);
    EXPECT_EQ(s.r.isr() & irq, irq) << "the controller's bit follows the unit";
    s.set(regs::kEuResetControl, kRi);
    EXPECT_EQ(s.causes(), 0u);
    EXPECT_EQ(s.status() & (kStatusIe | kStatusHalt), 0u);
    EXPECT_EQ(s.r.isr() & irq, 0u);
    EXPECT_EQ(s.r.engine->lines(), 0u);
    // And the unit works again after a reset.
    const bool aes = c.unit == Eu::Aesu;
    const Bytes key = odd_parity(pattern(aes ? 16 : 8, 1)), in = pattern(64, 9);
    s.start(0x01, key, {}, 64);
    EXPECT_EQ(s.run(in), aes ? cipher("AES-128-ECB", key, {}, in, true) : cipher("DES-EDE3-ECB", ede(key), {}, in, true));
    EXPECT_EQ(s.causes(), 0u);
  }
  if (c.bit == ee::kKpe) return;  // masked: see below
  Slave s(c.unit);
  s.r.enable(irq);
  s.set(regs::kEuInterruptControl, lo(c.bit));
  c.provoke(s);
  EXPECT_EQ(s.causes(), c.bit) << "the cause is kept";
  EXPECT_EQ(s.status() & kStatusIe, 0u);
  EXPECT_EQ(s.r.isr() & irq, 0u);
  EXPECT_EQ(s.r.engine->lines(), 0u);
  s.push(pattern(8, 1).data());  // an impossible job stays impossible
  s.push(pattern(8, 1).data());
}

TEST(SlaveMode, MaskedErrorsOfUseDoNotStopTheUnit) {
  Slave s(Eu::Aesu);
  s.set(regs::kEuInterruptControl, lo(ee::kCe | ee::kEre | ee::kOfu));
  const Bytes key = pattern(16, 1), in = pattern(64, 2), iv = pattern(16, 3);
  s.start(0x03, key, iv, 64);
  poke(s, 0x100);
  s.context(16);
  s.pop();
  EXPECT_EQ(s.run(in), cipher("AES-128-CBC", key, iv, in, true)) << "a write while busy is ignored";
  EXPECT_EQ(s.causes(), ee::kCe | ee::kEre | ee::kOfu);
  EXPECT_EQ(s.status() & (kStatusIe | kStatusHalt), 0u);
}

TEST(SlaveMode, TouchingAUnitThatAChannelHolds) {
  Slave s(Eu::Aesu);
  Job hang = Job::aes(kLow);
  hang.in_bytes = hang.out_bytes = 0;
  s.r.configure(0, kCdwe);
  s.r.run(0, hang);
  s.set(regs::kEuMode, 1);
  EXPECT_EQ(s.causes(), ee::kCe);
  EXPECT_EQ(s.reg(regs::kEuMode), 3u) << "ignored";
  EXPECT_EQ(s.reg(regs::kEuKeySize), 16u);
  EXPECT_EQ(s.r.isr(), 0u) << "while a channel holds the unit, the channel reports";
  s.set(regs::kEuInterruptControl, 0x4000);
  EXPECT_EQ(s.reg(regs::kEuInterruptControl), 0x4000u) << "the mask may be written at any time";
  s.r.control(0, kReset);
  EXPECT_EQ(s.causes(), 0u);
  EXPECT_EQ(s.reg(regs::kEuInterruptControl), 0x4000u) << "a channel's reset of the unit keeps the mask";
}

TEST(SlaveMode, DataSizeWhileHeldIsThatOfTheDescriptor) {
  Slave s(Eu::Aesu);
  s.r.configure(0, kCdwe);
  s.r.engine->inject_unit_error(0, 16);
  s.r.run(0, Job::aes(kLow));
  EXPECT_EQ(s.reg(regs::kEuDataSize), 8u * 256);
}

TEST(SlaveMode, ResetBits) {
  // ASSUMED: SR clears all but the interrupt control register, MI that one too, RI only the interrupts.
  for (const uint32_t bit : {kSr, kMi, kRi}) {
    Slave s(Eu::Deu);
    s.set(regs::kEuInterruptControl, 0x40);
    s.start(0x03, odd_parity(pattern(24, 1)), pattern(8, 2), 64);
    for (int i = 0; i < 3; ++i) s.push(pattern(8, 3).data());
    s.context(4);
    ASSERT_EQ(s.causes(), ee::kEre);
    s.set(regs::kEuResetControl, bit);
    EXPECT_EQ(s.reg(regs::kEuResetControl), 0u) << "self-clearing";
    EXPECT_EQ(s.causes(), 0u);
    EXPECT_EQ(s.reg(regs::kEuInterruptControl), bit == kMi ? ee::kKpe : 0x40u);
    EXPECT_EQ(s.reg(regs::kEuMode), bit == kRi ? 3u : 0u);
    EXPECT_EQ(s.reg(regs::kEuKeySize), bit == kRi ? 24u : 0u);
    EXPECT_EQ(s.reg(regs::kEuDataSize), bit == kRi ? 512u : 0u);
    EXPECT_EQ(s.status() & kStatusOfr, bit == kRi ? kStatusOfr : 0u);
    EXPECT_EQ(s.status() & kStatusRd, kStatusRd);
  }
}

TEST(SlaveMode, KeysCannotBeRead) {
  Slave s(Eu::Aesu);
  s.start(0x01, pattern(32, 1), {}, 16);
  for (uint32_t o = 0x400; o < 0x480; o += 4) EXPECT_EQ(s.r.rd(s.base() + o), 0u);
}

}  // namespace
}  // namespace sec::test
