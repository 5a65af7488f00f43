// What the engine does with bad descriptors: exact error bits, no done, the cause kept until reset or continue, memory up
// to the error, and everybody else unaffected. Every case on a SEC 2.1 and a SEC 3.1 part, on both executors.
#include "tests/model/rig.h"

namespace sec::test {
namespace {
namespace ce = regs::channel_error;
namespace ee = regs::eu_error;
using regs::Descriptor;
using regs::Eu;
using regs::LinkEntry;
using regs::PointerDword;

struct Case {
  const char* name;
  uint64_t sec2, sec3;  // channel error bits
  uint64_t unit = 0;    // the unit's interrupt status bits
  Job job = {};
  std::function<void(Rig&, const Job&, Descriptor&)> spoil = nullptr;
  int written = 0;  // bytes of output that must have reached memory; -1: all of it
  bool holds_unit = false;
};

Job with(Job j, const std::function<void(Job&)>& f) {
  f(j);
  return j;
}
const Job kAes = Job::aes(kLow), kDes = Job::des(kLow);

/// Gather or scatter table for the job's data in `lengths`; the last one has R.
void table(Rig& r, BusAddr at, BusAddr data, std::initializer_list<uint16_t> lengths) {
  size_t k = 0;
  for (uint16_t n : lengths) {
    LinkEntry::data(data, n, ++k == lengths.size()).store(r.at(at));
    at += 8, data += n;
  }
}
void gather(Rig& r, const Job& j, Descriptor& d, std::initializer_list<uint16_t> lengths) {
  table(r, j.gather(), j.in(), lengths);
  d.ptr[3] = PointerDword::to(j.gather(), j.in_bytes, 0, true);
}
void scatter(Rig& r, const Job& j, Descriptor& d, std::initializer_list<uint16_t> lengths) {
  table(r, j.scatter(), j.out(), lengths);
  d.ptr[4] = PointerDword::to(j.scatter(), j.out_bytes, 0, true);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"HeaderZero", ce::kIdh, ce::kIdh, 0, kAes, [](Rig&, const Job&, Descriptor& d) { d.header = 0; }},
      {"TypeReserved", ce::kIdh, ce::kIdh, 0, kAes, [](Rig&, const Job&, Descriptor& d) { d.header |= 31 << 3; }},
      {"TypeNotInMask", ce::kIdh, ce::kIdh, 0, with(kAes, [](Job& j) { j.type = 6; })},
      {"TypeNotModelled", ce::kIdh, ce::kIdh, 0, with(kAes, [](Job& j) { j.type = 1; })},
      {"Type0WantsAesu", ce::kIdh, ce::kIdh, 0, with(kDes, [](Job& j) { j.type = 0; })},
      {"Type2ForbidsAfeu", ce::kIdh, ce::kIdh, 0, with(kAes, [](Job& j) { j.unit = Eu::Afeu; })},
      {"Type2ForbidsPkeu", ce::kIdh, ce::kIdh, 0, with(kAes, [](Job& j) { j.unit = Eu::Pkeu; })},
      {"NoPrimary", ce::kIdh, ce::kIdh, 0, with(kAes, [](Job& j) { j.unit = Eu::None; })},
      {"SecondaryNotAllowed", ce::kIdh, ce::kIdh, 0, with(kAes, [](Job& j) { j.sel1 = Eu::MdeuA; })},
      {"PrimaryEqualsSecondary", ce::kIdh, ce::kIdh, 0, with(kAes, [](Job& j) { j.sel1 = Eu::Aesu; })},
      {"UnitAbsent", ce::kIeu, ce::kIeu, 0, with(kAes, [](Job& j) { j.unit = static_cast<Eu>(10); })},
      {"UnitCodeUnassigned", ce::kIeu, ce::kIeu, 0, with(kAes, [](Job& j) { j.unit = static_cast<Eu>(15); })},
      {"GatherEntryEmpty", ce::kSgdlz, ce::kSgdlz, 0, kAes,
       [](Rig& r, const Job& j, Descriptor& d) { gather(r, j, d, {128, 0, 128}); }, 0, true},
      {"ScatterEntryEmpty", ce::kSgdlz, ce::kSgdlz, 0, kAes,
       [](Rig& r, const Job& j, Descriptor& d) { scatter(r, j, d, {0, 256}); }, 0, true},
      {"GatherTableTooShort", ce::kGrl, ce::kSgml, 0, kAes,
       [](Rig& r, const Job& j, Descriptor& d) { gather(r, j, d, {64, 128}); }, 0, true},
      {"GatherBytesLeftOver", ce::kGrl, ce::kSgml, 0, kAes,
       [](Rig& r, const Job& j, Descriptor& d) { gather(r, j, d, {128, 136}); }, 0, true},
      {"GatherTableGoesOn", ce::kGrl, ce::kSgml, 0, kAes,
       [](Rig& r, const Job& j, Descriptor& d) { gather(r, j, d, {128, 128, 16}); }, 0, true},
      {"ScatterTableTooShort", ce::kSrl, ce::kSgml, 0, kAes,
       [](Rig& r, const Job& j, Descriptor& d) { scatter(r, j, d, {64, 128}); }, 0, true},
      {"ScatterBytesLeftOver", ce::kSrl, ce::kSgml, 0, kAes,
       [](Rig& r, const Job& j, Descriptor& d) { scatter(r, j, d, {128, 129}); }, 0, true},
      {"ScatterOfIvOutTooShort", ce::kSrl, ce::kSgml, 0, kAes,
       [](Rig& r, const Job& j, Descriptor& d) {
         table(r, j.scatter(), j.iv_out(), {8, 4});
         d.ptr[5] = PointerDword::to(j.scatter(), 16, 0, true);
       },
       -1, true},
      {"BusErrorOnDescriptor", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig& r, const Job& j, Descriptor&) { r.map.inject_fault(j.at + 56, 8); }},
      {"BusErrorOnIv", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig&, const Job&, Descriptor& d) { d.ptr[1] = PointerDword::to(kHole, 16); }, 0, true},
      {"BusErrorOnKey", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig&, const Job&, Descriptor& d) { d.ptr[2] = PointerDword::to(kHole, 16); }, 0, true},
      {"BusErrorOnGatherTable", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig&, const Job&, Descriptor& d) { d.ptr[3] = PointerDword::to(kHole, 256, 0, true); }, 0, true},
      {"BusErrorInGatherTable", ce::kMdte, ce::kMdte, 0, kAes,  // the table's end lies in a hole
       [](Rig& r, const Job& j, Descriptor& d) {
         gather(r, j, d, {64, 64, 64, 32, 32});
         r.map.inject_fault(j.gather() + 32, 8);
       },
       0, true},
      {"BusErrorOnScatterTable", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig&, const Job&, Descriptor& d) { d.ptr[4] = PointerDword::to(kHole, 256, 0, true); }, 0, true},
      {"BusErrorOnKeyTable", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig&, const Job&, Descriptor& d) { d.ptr[2] = PointerDword::to(kHole, 16, 0, true); }, 0, true},
      {"BusErrorOnDataInAtOnce", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig&, const Job&, Descriptor& d) { d.ptr[3] = PointerDword::to(kHole, 256); }, 0, true},
      {"BusErrorOnDataInMidStream", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig& r, const Job& j, Descriptor&) { r.map.inject_fault(j.in() + 130, 1); }, 128, true},
      {"BusErrorOnSecondGatherPiece", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig& r, const Job& j, Descriptor& d) {
         gather(r, j, d, {100, 156});  // 100 bytes arrive, 96 of them are whole blocks
         LinkEntry::data(kHole, 156, true).store(r.at(j.gather() + 8));
       },
       96, true},
      {"BusErrorOnDataOutAtOnce", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig&, const Job&, Descriptor& d) { d.ptr[4] = PointerDword::to(kHole, 256); }, 0, true},
      {"BusErrorOnDataOutMidStream", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig& r, const Job& j, Descriptor&) { r.map.inject_fault(j.out() + 191, 1); }, 128, true},
      {"BusErrorOnSecondScatterPiece", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig& r, const Job& j, Descriptor& d) {
         scatter(r, j, d, {77, 179});
         LinkEntry::data(kHole, 179, true).store(r.at(j.scatter() + 8));
       },
       77, true},
      {"BusErrorOnIvOut", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig&, const Job&, Descriptor& d) { d.ptr[5] = PointerDword::to(kHole, 16); }, -1, true},
      {"BusErrorOnWriteBack", ce::kMdte, ce::kMdte, 0, kAes,
       [](Rig& r, const Job& j, Descriptor&) {
         r.witness.at_state = [&r, at = j.at](unsigned n, regs::ChannelState s) {
           if (n == 1 && s == regs::ChannelState::WriteBack) r.map.inject_fault(at, 4);
         };
       },
       -1},
      {"AesKeyOf17", ce::kEu, ce::kEu, ee::kKse, with(kAes, [](Job& j) { j.key_bytes = 17; }), nullptr, 0, true},
      {"AesKeyMissing", ce::kEu, ce::kEu, ee::kKse, with(kAes, [](Job& j) { j.key_bytes = 0; }), nullptr, 0, true},
      {"AesKeyTooLong", ce::kEu, ce::kEu, ee::kKse, with(kAes, [](Job& j) { j.key_bytes = 200; }), nullptr, 0, true},
      {"DesKeyOf16ForSingle", ce::kEu, ce::kEu, ee::kKse, Job::des(kLow, 0x05, 16), nullptr, 0, true},
      {"DesKeyOf8ForTriple", ce::kEu, ce::kEu, ee::kKse, Job::des(kLow, 0x07, 8), nullptr, 0, true},
      {"AesCbcSizeOf20", ce::kEu, ce::kEu, ee::kDse, with(kAes, [](Job& j) { j.in_bytes = 20; }), nullptr, 0, true},
      {"AesCtrSizeOf20", ce::kEu, ce::kEu, ee::kDse, with(kAes, [](Job& j) { j.in_bytes = 20, j.mode = 0x06; }), nullptr, 0, true},
      {"AesCtrType0SizeOf255", ce::kEu, ce::kEu, ee::kDse, with(kAes, [](Job& j) { j.in_bytes = 255, j.mode = 0x06, j.type = 0; }), nullptr, 0, true},
      {"DesSizeOf12", ce::kEu, ce::kEu, ee::kDse, with(kDes, [](Job& j) { j.in_bytes = 12; }), nullptr, 0, true},
      {"AesModeReserved42", ce::kEu, ce::kEu, ee::kMe, with(kAes, [](Job& j) { j.mode = 0x42; }), nullptr, 0, true},
      {"AesModeReservedC4", ce::kEu, ce::kEu, ee::kMe, with(kAes, [](Job& j) { j.mode = 0xc4; }), nullptr, 0, true},
      {"AesModeCtrWithIm", ce::kEu, ce::kEu, ee::kMe, with(kAes, [](Job& j) { j.mode = 0x16; }), nullptr, 0, true},
      {"DesModeHighBit", ce::kEu, ce::kEu, ee::kMe, Job::des(kLow, 0x87), nullptr, 0, true},
      {"DesModeReservedBit", ce::kEu, ce::kEu, ee::kMe, Job::des(kLow, 0x17), nullptr, 0, true},
      {"ErrorMaskedIsStillOne", ce::kEu, ce::kEu, ee::kKse, with(kAes, [](Job& j) { j.key_bytes = 17; }),
       [](Rig& r, const Job&, Descriptor&) { r.set_eu(Eu::Aesu, regs::kEuInterruptControl, 0xffff); }, 0, true},
      {"DesKeyParity", ce::kEu, ce::kEu, ee::kKpe, kDes,
       [](Rig& r, const Job& j, Descriptor&) {
         *r.at(j.key() + 3) ^= 1;
         r.set_eu(Eu::Deu, regs::kEuInterruptControl, 0);
       },
       0, true},
      {"InternalErrorAtOnce", ce::kEu, ce::kEu, ee::kIe, kAes,
       [](Rig& r, const Job&, Descriptor&) { r.engine->inject_unit_error(1, 0); }, 0, true},
      {"InternalErrorMidStream", ce::kEu, ce::kEu, ee::kIe, kAes,
       [](Rig& r, const Job&, Descriptor&) { r.engine->inject_unit_error(1, 100); }, 96, true},
      {"InternalErrorOfDes", ce::kEu, ce::kEu, ee::kIe, kDes,
       [](Rig& r, const Job&, Descriptor&) { r.engine->inject_unit_error(1, 100); }, 96, true},
  };
  return all;
}

struct Param {
  const char* part;
  Executor executor;
  size_t index;
};
std::ostream& operator<<(std::ostream& o, const Param& p) { return o << cases()[p.index].name << "_" << p.part << "_" << name_of(p.executor); }

class BadDescriptor : public testing::TestWithParam<Param> {};

TEST_P(BadDescriptor, HaltsItsChannelOnly) {
  const Case& c = cases()[GetParam().index];
  Rig r(GetParam().part, GetParam().executor);
  for (unsigned n = 0; n < 4; ++n) r.configure(n, kCdwe | kCdie);
  r.enable(~uint64_t{0});

  Job bad = c.job;
  bad.at = kLow + 0x10000;
  Descriptor d = bad.descriptor();
  r.load(bad, d);
  const Bytes want = c.written ? r.expected(bad) : Bytes{};
  if (c.spoil) {
    c.spoil(r, bad, d);
    d.store(r.at(bad.at));
  }
  const uint8_t first = *r.at(bad.at);
  const Bytes feedback = r.get(bad.at + 4, 4);
  // Behind it on the same channel another one; on another channel one for the other unit.
  Job next = Job::aes(kLow + 0x20000), other = bad.unit == Eu::Deu ? Job::aes(kLow + 0x30000) : Job::des(kLow + 0x30000);
  r.load(next, 20);
  r.load(other, 30);
  r.submit(1, bad.at);
  r.submit(1, next.at);
  r.submit(3, other.at);
  r.settle();

  const uint64_t bits = r.sec3() ? c.sec3 : c.sec2;
  EXPECT_EQ(r.errors(1), bits);
  EXPECT_EQ(r.state(1), regs::ChannelState::Error);
  EXPECT_TRUE(r.engine->channel(1).halted);
  EXPECT_EQ(r.isr(), regs::channel_error_irq(1) | regs::channel_done(3)) << "error of 1 and done of 3, nothing else";
  EXPECT_EQ(r.engine->lines(), 1u);
  EXPECT_EQ(*r.at(bad.at), first) << "not marked done";
  EXPECT_EQ(r.get(bad.at + 4, 4), feedback) << "no status write-back";
  EXPECT_EQ(r.level(1), 1u) << "the next one waits";
  EXPECT_FALSE(r.marked_done(next.at));
  EXPECT_EQ(r.cdpr(1), bad.at);
  const Eu unit = bad.unit == Eu::Deu ? Eu::Deu : Eu::Aesu;
  if (c.holds_unit) {
    EXPECT_EQ(r.eu(unit, regs::kEuInterruptStatus), c.unit) << "the cause";
    EXPECT_EQ(r.eu(unit, regs::kEuStatus) & lo(regs::kEuStatus.mask("HALT")), c.unit ? lo(regs::kEuStatus.mask("HALT")) : 0u);
    const auto& owner = unit == Eu::Deu ? regs::kEUASR.field("DEU") : regs::kEUASR.field("AESU");
    EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), owner.put(2)) << "held until reset or continue";
  } else {
    EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), 0u);
  }
  const size_t written = c.written < 0 ? want.size() : static_cast<size_t>(c.written);
  EXPECT_EQ(r.get(bad.out(), written), Bytes(want.begin(), want.begin() + static_cast<long>(written)));
  EXPECT_TRUE(Rig::untouched(r.get(bad.out() + written, 0x400))) << "nothing behind the error";
  if (c.written >= 0) {
    EXPECT_TRUE(Rig::untouched(r.get(bad.iv_out(), 32)));
  }

  EXPECT_TRUE(r.marked_done(other.at)) << "the neighbour";
  EXPECT_EQ(r.get(other.out(), other.out_bytes), r.expected(other));
  EXPECT_EQ(r.errors(3), 0u);

  // The error interrupt is acknowledged; the error itself stays until the channel is reset or continued.
  r.clear(regs::channel_error_irq(1) | regs::channel_done(3));
  EXPECT_EQ(r.isr(), 0u);
  EXPECT_EQ(r.engine->lines(), 0u);
  EXPECT_EQ(r.errors(1), bits);
  if (c.holds_unit) {
    EXPECT_EQ(r.eu(unit, regs::kEuInterruptStatus), c.unit);
  }

  r.engine->inject_unit_error(1, ~uint64_t{0});
  r.map.clear_faults();
  r.witness.at_state = nullptr;
  r.control(1, kContinue);
  EXPECT_EQ(r.errors(1), 0u);
  EXPECT_EQ(r.rd(r.page(1) + regs::kCCCR.offset_bytes + 4), kCdwe | kCdie) << "CON keeps the low half of CCCR";
  if (r.timed) {
    EXPECT_EQ(r.eu(unit, regs::kEuInterruptStatus), 0u);
  }
  r.settle();
  EXPECT_TRUE(r.marked_done(next.at));
  EXPECT_FALSE(r.marked_done(bad.at)) << "the failed one is abandoned";
  EXPECT_EQ(r.get(next.out(), next.out_bytes), r.expected(next));
  EXPECT_EQ(r.isr(), regs::channel_done(1));
}

std::vector<Param> params() {
  std::vector<Param> v;
  for (const char* part : {"mpc8548", "p2020"})
    for (Executor x : {Executor::Functional, Executor::Timed})
      for (size_t i = 0; i < cases().size(); ++i) v.push_back({part, x, i});
  return v;
}
INSTANTIATE_TEST_SUITE_P(Each, BadDescriptor, testing::ValuesIn(params()), testing::PrintToStringParamName());

// ---- what does not fit the table ----

struct Where {
  const char* part;
  Executor executor;
};
std::ostream& operator<<(std::ostream& o, const Where& w) { return o << w.part << "_" << name_of(w.executor); }
class Errors : public testing::TestWithParam<Where> {
 protected:
  Rig make(std::initializer_list<const char*> knobs = {}) {
    return Rig(GetParam().part, GetParam().executor, Rig::timing_of(GetParam().part, knobs));
  }
};
INSTANTIATE_TEST_SUITE_P(Each, Errors,
                         testing::Values(Where{"mpc8548", Executor::Functional}, Where{"mpc8548", Executor::Timed},
                                         Where{"p2020", Executor::Functional}, Where{"p2020", Executor::Timed}),
                         testing::PrintToStringParamName());

TEST_P(Errors, FetchPointerZero) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  r.submit(0, 0);
  r.settle();
  EXPECT_EQ(r.errors(0), ce::kFpz);
  EXPECT_EQ(r.isr(), regs::channel_error_irq(0));
  EXPECT_TRUE(r.engine->channel(0).halted);
}

/// A descriptor without data keeps its channel busy for ever, so that the fetch FIFO can be filled.
Job hanging(BusAddr at) {
  Job j = Job::aes(at);
  j.in_bytes = j.out_bytes = 0;
  return j;
}

TEST_P(Errors, OverflowThenDoubleOverflow) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  r.run(0, hanging(kLow));
  for (unsigned i = 0; i < r.part.fetch_fifo_entries; ++i) r.submit(0, kLow + 0x1000);
  EXPECT_EQ(r.level(0), 24u);
  EXPECT_EQ(r.errors(0), 0u);
  EXPECT_EQ(r.isr(), 0u);

  r.submit(0, kLow + 0x2000);
  EXPECT_EQ(r.errors(0), ce::kSof);
  EXPECT_EQ(r.isr(), regs::channel_error_irq(0));
  EXPECT_FALSE(r.engine->channel(0).halted) << "a single overflow does not halt";
  EXPECT_EQ(r.level(0), 24u) << "the pointer was dropped";
  r.clear(regs::channel_error_irq(0));

  // On SEC 3 software clears SOF by writing 1; on SEC 2 the register is read only.
  r.wr(r.page(0) + regs::kCCPSR.offset_bytes + 4, lo(ce::kSof));
  EXPECT_EQ(r.errors(0), r.sec3() ? 0u : ce::kSof);
  if (r.sec3()) {
    r.submit(0, kLow + 0x2000);
    EXPECT_EQ(r.errors(0), ce::kSof) << "a first overflow again";
    EXPECT_FALSE(r.engine->channel(0).halted);
    r.wr(r.page(0) + regs::kCCPSR.offset_bytes + 4, lo(ce::kDof));
    EXPECT_EQ(r.errors(0), ce::kSof) << "only the bit that is written";
  }
  r.submit(0, kLow + 0x2000);
  EXPECT_EQ(r.errors(0), ce::kSof | ce::kDof);
  EXPECT_TRUE(r.engine->channel(0).halted);
  EXPECT_EQ(r.state(0), regs::ChannelState::Error);
  EXPECT_EQ(r.isr(), regs::channel_error_irq(0));
  r.clear(regs::channel_error_irq(0));
  r.wr(r.page(0) + regs::kCCPSR.offset_bytes + 4, lo(ce::kSof | ce::kDof));
  EXPECT_EQ(r.errors(0), r.sec3() ? 0u : ce::kSof | ce::kDof);
  r.settle();
  EXPECT_EQ(r.level(0), 24u) << "clearing the bits does not start it";

  r.control(0, kReset);
  r.settle();
  EXPECT_EQ(r.errors(0), 0u);
  EXPECT_EQ(r.level(0), 0u);
  r.configure(0, kCdwe | kCdie);
  const Job good = Job::aes(kLow + 0x20000);
  r.run(0, good);
  EXPECT_TRUE(r.marked_done(good.at));
  EXPECT_EQ(r.rd64(regs::kPolychannelBase), r.sec3() ? 1u + 24u + 1u : 0u) << "dropped pointers were not enqueued";
}

TEST_P(Errors, OverflowStaysWhileDescriptorsGoOn) {
  Rig r = make();
  if (!r.timed) GTEST_SKIP() << "a functional channel never has a full FIFO while it works";
  r.configure(0, kNt);  // and no notification asked for, so that the same descriptor can run many times
  Job j = Job::aes(kLow);
  j.notify = false;
  r.load(j);
  for (int i = 0; i < 25; ++i) r.submit(0, j.at);
  EXPECT_EQ(r.errors(0), ce::kSof);
  r.settle();
  EXPECT_EQ(r.errors(0), ce::kSof);
  EXPECT_EQ(r.witness.ended.size(), 24u);
}

TEST_P(Errors, NextEntryIgnoresItsLength) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  const Job j = Job::aes(kLow);
  Descriptor d = j.descriptor();
  r.load(j, d);
  LinkEntry::data(j.in(), 100).store(r.at(j.gather()));
  LinkEntry n = LinkEntry::next(j.gather() + 0x80);
  n.length = 55;
  n.store(r.at(j.gather() + 8));
  LinkEntry::data(j.in() + 100, 156, true).store(r.at(j.gather() + 0x80));
  d.ptr[3] = PointerDword::to(j.gather(), j.in_bytes, 0, true);
  d.store(r.at(j.at));
  r.submit(0, j.at);
  r.settle();
  EXPECT_EQ(r.errors(0), 0u);
  EXPECT_EQ(r.get(j.out(), 256), r.expected(j));
}

TEST_P(Errors, NextEntryWithALengthIsAnErrorWhenStrict) {
  Rig r = make({"engine.strict_reserved=1"});
  r.configure(0, kCdwe | kCdie);
  const Job j = Job::aes(kLow);
  Descriptor d = j.descriptor();
  r.load(j, d);
  LinkEntry n = LinkEntry::next(j.gather() + 0x80);
  n.length = 1;
  n.store(r.at(j.gather()));
  LinkEntry::data(j.in(), 256, true).store(r.at(j.gather() + 0x80));
  d.ptr[3] = PointerDword::to(j.gather(), j.in_bytes, 0, true);
  d.store(r.at(j.at));
  r.submit(0, j.at);
  r.settle();
  EXPECT_EQ(r.errors(0), ce::kSgdlz);
}

TEST_P(Errors, InjectedHang) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  r.configure(1, kCdwe | kCdie);
  r.engine->inject_hang(0, true);
  r.run(0, Job::aes(kLow));
  r.run(1, Job::aes(kLow + 0x10000));
  r.pass(10'000'000);
  EXPECT_FALSE(r.marked_done(kLow));
  EXPECT_TRUE(r.marked_done(kLow + 0x10000)) << "the others go on";
  EXPECT_EQ(r.isr(), regs::channel_done(1));
  r.engine->inject_hang(0, false);
  r.control(0, kReset);
  r.configure(0, kCdwe | kCdie);
  r.run(0, Job::aes(kLow));
  EXPECT_TRUE(r.marked_done(kLow));
}

TEST_P(Errors, InjectedLossOfInterrupts) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  r.enable(~uint64_t{0});
  r.engine->drop_interrupts(2);
  for (unsigned k = 0; k < 3; ++k) {
    r.run(0, Job::aes(kLow));
    EXPECT_EQ(r.isr(), regs::channel_done(0)) << "the status is there";
    EXPECT_EQ(r.engine->lines(), k < 2 ? 0u : 1u);
    r.run(0, Job::aes(kLow));
    EXPECT_EQ(r.engine->lines(), k < 2 ? 0u : 1u) << "nothing rises while something is pending";
    r.clear(regs::channel_done(0));
    r.clear(regs::channel_done(0));
    EXPECT_EQ(r.engine->lines(), 0u);
  }
}

TEST_P(Errors, LinkTableThatNeverEnds) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  const Job j = Job::aes(kLow);
  Descriptor d = j.descriptor();
  LinkEntry::next(j.gather()).store(r.at(j.gather()));
  d.ptr[3] = PointerDword::to(j.gather(), j.in_bytes, 0, true);
  r.load(j, d);
  r.submit(0, j.at);
  r.settle();
  EXPECT_EQ(r.errors(0), r.sec3() ? ce::kSgml : ce::kGrl);
  EXPECT_EQ(r.engine->notes().count("link table without end"), 1u);
}

TEST_P(Errors, ZeroLengthHangsWithoutWatchdog) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  r.run(0, hanging(kLow));
  r.pass(10'000'000);
  EXPECT_EQ(r.errors(0), 0u);
  EXPECT_EQ(r.isr(), 0u);
  EXPECT_EQ(r.state(0), regs::ChannelState::Load);
  EXPECT_FALSE(r.engine->channel(0).halted);
  // The unit is gone for the others, until the channel is reset.
  const Job waiting = Job::aes(kLow + 0x20000);
  r.configure(1, kCdwe | kCdie);
  r.run(1, waiting);
  EXPECT_EQ(r.state(1), regs::ChannelState::RequestPrimary);
  r.control(0, kReset);
  r.settle();
  EXPECT_TRUE(r.marked_done(waiting.at));
  EXPECT_EQ(r.get(waiting.out(), 256), r.expected(waiting));
  EXPECT_FALSE(r.marked_done(kLow));
}

TEST_P(Errors, ZeroLengthWithWatchdog) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie | kWgn);
  r.run(0, hanging(kLow));
  EXPECT_EQ(r.errors(0), r.sec3() ? ce::kWdt : 0u) << "SEC 2 has no watchdog";
  EXPECT_EQ(r.isr(), r.sec3() ? regs::channel_error_irq(0) : 0u);
  if (!r.sec3()) return;
  if (r.timed) {
    EXPECT_EQ(r.witness.ended.at(0).clock, 1u + (1u << 20)) << "counted from the clock after the doorbell";
  }
  EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), regs::kEUASR.field("AESU").put(1)) << "still held";
  const Job waiting = Job::aes(kLow + 0x20000);
  r.configure(1, kCdwe | kCdie);
  r.run(1, waiting);
  EXPECT_EQ(r.state(1), regs::ChannelState::RequestPrimary) << "the unit stays with the halted channel";
  EXPECT_EQ(r.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), regs::kEUASR.field("AESU").put(1));
  r.control(0, kContinue);
  r.settle();
  EXPECT_TRUE(r.marked_done(waiting.at));
  EXPECT_EQ(r.get(waiting.out(), 256), r.expected(waiting));
  EXPECT_EQ(r.errors(0), 0u);
}

TEST_P(Errors, WatchdogCountsForEveryDescriptorAnew) {
  Rig r = make({"engine.watchdog_clocks=5000"});
  r.configure(0, kCdie | kNt | kWgn);
  Job good = Job::aes(kLow);
  good.notify = false;
  r.load(good);
  r.load(hanging(kLow + 0x20000));
  // 20 good ones are together longer than the period; each by itself is not. Then one that hangs, not the first after idle.
  for (int k = 0; k < 20; ++k) r.submit(0, good.at);
  r.submit(0, kLow + 0x20000);
  r.settle();
  EXPECT_EQ(r.errors(0), r.sec3() ? ce::kWdt : 0u);
  EXPECT_EQ(r.witness.ended.size(), r.sec3() ? 21u : 20u);
  if (r.sec3() && r.timed) {
    EXPECT_EQ(r.witness.ended[20].clock, r.witness.ended[19].clock + 5000);
    EXPECT_GT(r.witness.ended[19].clock, 5000u);
  }
}

TEST_P(Errors, WatchdogLeavesAFailedChannelAlone) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie | kWgn);
  Job j = Job::aes(kLow);
  j.key_bytes = 17;
  r.run(0, j);
  EXPECT_EQ(r.errors(0), ce::kEu);
  r.clear(regs::channel_error_irq(0));
  r.pass(5'000'000);
  r.settle();
  EXPECT_EQ(r.errors(0), ce::kEu);
  EXPECT_EQ(r.isr(), 0u) << "no second interrupt";
  EXPECT_EQ(r.witness.ended.size(), 1u);
}

TEST_P(Errors, WatchdogInMidStreamKeepsWhatWasWritten) {
  Rig r = make({"engine.watchdog_clocks=1000"});
  if (!r.timed || !r.sec3()) GTEST_SKIP() << "SEC 3, timed";
  r.configure(0, kCdwe | kCdie | kWgn);
  Job j = Job::aes(kLow);
  j.in_bytes = j.out_bytes = 4096;
  r.run(0, j);
  EXPECT_EQ(r.errors(0), ce::kWdt);
  EXPECT_EQ(r.witness.ended.at(0).clock, 1001u);
  const Bytes want = r.expected(j), got = r.get(j.out(), 4096);
  size_t same = 0;
  while (same < 4096 && got[same] == want[same]) ++same;
  EXPECT_GT(same, 500u);
  EXPECT_LT(same, 2000u);
  EXPECT_EQ(same % 64, 0u) << "whole bursts";
  EXPECT_TRUE(Rig::untouched(Bytes(got.begin() + static_cast<long>(same), got.end())));
}

TEST_P(Errors, ZeroLengthAsDataSizeError) {
  Rig r = make({"engine.zero_length_is_dse=1"});
  r.configure(0, kCdwe | kCdie);
  r.run(0, hanging(kLow));
  EXPECT_EQ(r.errors(0), ce::kEu);
  EXPECT_EQ(r.eu(Eu::Aesu, regs::kEuInterruptStatus), ee::kDse);
  EXPECT_FALSE(r.marked_done(kLow));
}

TEST_P(Errors, KeyParityIsMaskedByDefault) {
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  const Job j = Job::des(kLow);
  r.load(j);
  *r.at(j.key() + 3) ^= 1;  // parity does not enter the cipher
  EXPECT_EQ(r.eu(Eu::Deu, regs::kEuInterruptControl), ee::kKpe);
  r.submit(0, j.at);
  r.settle();
  EXPECT_EQ(r.errors(0), 0u);
  EXPECT_TRUE(r.marked_done(j.at));
  EXPECT_EQ(r.get(j.out(), 256), r.expected(j));
  EXPECT_EQ(r.isr(), regs::channel_done(0));
  EXPECT_EQ(r.eu(Eu::Deu, regs::kEuInterruptStatus), ee::kKpe) << "noted all the same";
}

TEST_P(Errors, OversizedContextPointersTouchNothingElse) {
  // 36 KB of "IV out", in one piece and through a table: the unit has 16 bytes, the channel moves 128 at most.
  Rig r = make();
  r.configure(0, kCdwe | kCdie);
  for (bool jump : {false, true}) {
    Job j = Job::aes(kLow);
    Descriptor d = j.descriptor();
    const BusAddr out = kLow + (jump ? 0x60000 : 0x40000);
    d.ptr[1] = PointerDword::to(j.iv(), 300);
    d.ptr[5] = PointerDword::to(jump ? j.scatter() : out, 36000, 0, jump);
    LinkEntry::data(out, 5).store(r.at(j.scatter()));
    LinkEntry::data(out + 5, 35995, true).store(r.at(j.scatter() + 8));
    r.load(j, d);
    r.submit(0, j.at);
    r.settle();
    EXPECT_EQ(r.errors(0), 0u);
    const Bytes want = r.expected(j), got = r.get(out, 36000);
    EXPECT_EQ(r.get(j.out(), 256), want);
    EXPECT_EQ(Bytes(got.begin(), got.begin() + 16), Bytes(want.end() - 16, want.end())) << jump;
    EXPECT_EQ(Bytes(got.begin() + 16, got.begin() + 272), Bytes(256, 0)) << jump;
    EXPECT_TRUE(Rig::untouched(Bytes(got.begin() + 272, got.end()))) << jump;
  }
}

}  // namespace
}  // namespace sec::test
