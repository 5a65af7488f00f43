// Controller block at 0x1000: which events interrupt the host (IMR, ISR, ICR), which part this is
// (ID), which channel holds which execution unit (EUASR), and master control (MCR).
//
// IMR, ISR and ICR share one layout. The high word is about channels: done and error of channel n are
// bits 2n and 2n+1 from the right, the done-overflow bits follow at 0x100 << n. The low word has a
// done and an error bit per execution unit, which matter only while software drives a unit itself.
// A channel's done bit stands for a counter of up to 15 events; writing it to ICR takes one off. [MOC]
// On SEC 2+ a 1 in IMR *enables*.
//
// SEC 1 has other positions for all of it, an IMR whose 1 *masks* [LX], and two registers that later generations
// dropped: EUACR, with which software gives a unit to a channel for good, and MEAR, the address of the first bus error.
//
// Code that works on every generation asks the functions at the end of this file. Where SEC 1 and the later generations
// have a register of the same name, the constant of SEC 1 ends in 1 (kIMR1) and `..._of(generation)` chooses.
// ASSUMED: the places of the priority counts in MCR, see the field docs.
#pragma once
#include "hw/regs/bits.h"
#include "hw/regs/variants.h"

namespace sec::regs {

inline constexpr Field kInterruptFields[] = {
    {.name = "CH0_DONE", .bits = hi(0x1), .doc = "Channel 0 finished a descriptor that asks for notification."},
    {.name = "CH0_ERROR", .bits = hi(0x2), .doc = "Channel 0 has an error in CCPSR."},
    {.name = "CH1_DONE", .bits = hi(0x4), .doc = "Channel 1 done."},
    {.name = "CH1_ERROR", .bits = hi(0x8), .doc = "Channel 1 error."},
    {.name = "CH2_DONE", .bits = hi(0x10), .doc = "Channel 2 done."},
    {.name = "CH2_ERROR", .bits = hi(0x20), .doc = "Channel 2 error."},
    {.name = "CH3_DONE", .bits = hi(0x40), .doc = "Channel 3 done."},
    {.name = "CH3_ERROR", .bits = hi(0x80), .doc = "Channel 3 error."},
    {.name = "CH0_OVERFLOW", .bits = hi(0x100), .doc = "A 16th unacknowledged done of channel 0 was lost. [T23][MOC]"},
    {.name = "CH1_OVERFLOW", .bits = hi(0x200), .doc = "Done overflow of channel 1."},
    {.name = "CH2_OVERFLOW", .bits = hi(0x400), .doc = "Done overflow of channel 2."},
    {.name = "CH3_OVERFLOW", .bits = hi(0x800), .doc = "Done overflow of channel 3."},
    {.name = "ITO",
     .bits = hi(0x10000),
     .doc = "Internal time-out: a register access was not completed within 16 clocks. [LX][T23][MOC]"},
    {.name = "DEU_DONE", .bits = lo(0x1), .doc = "DEU done; only while software drives the unit itself. [T23]"},
    {.name = "DEU_ERROR", .bits = lo(0x2), .doc = "DEU error."},
    {.name = "AESU_DONE", .bits = lo(0x10), .doc = "AESU done; only while software drives the unit itself. [T23]"},
    {.name = "AESU_ERROR", .bits = lo(0x20), .doc = "AESU error."},
    {.name = "MDEU_DONE",
     .bits = lo(0x100),
     .doc = "MDEU done; only while software drives the unit itself. [T23]"},
    {.name = "MDEU_ERROR", .bits = lo(0x200), .doc = "MDEU error."},
    {.name = "AFEU_DONE", .bits = lo(0x1000), .doc = "AFEU done. [T23]"},
    {.name = "AFEU_ERROR", .bits = lo(0x2000), .doc = "AFEU error."},
    {.name = "RNGU_DONE", .bits = lo(0x10000), .doc = "RNG done. [T23]"},
    {.name = "RNGU_ERROR",
     .bits = lo(0x20000),
     .doc = "RNG error; the one unit bit that Linux enables. [LX][T23]"},
    {.name = "PKEU_DONE", .bits = lo(0x100000), .doc = "PKEU done. [T23]"},
    {.name = "PKEU_ERROR", .bits = lo(0x200000), .doc = "PKEU error."},
    {.name = "STEU_DONE", .bits = lo(0x400000), .doc = "STEU done. [T23]"},
    {.name = "STEU_ERROR", .bits = lo(0x800000), .doc = "STEU error."},
    {.name = "KEU_DONE", .bits = lo(0x1000000), .doc = "KEU done. [T23]"},
    {.name = "KEU_ERROR", .bits = lo(0x2000000), .doc = "KEU error."},
};

inline constexpr Register kIMR{.name = "IMR",
                               .offset_bytes = 0x08,
                               .fields = kInterruptFields,
                               .doc = "Interrupt mask: 1 enables. ASSUMED: all disabled after reset.",
                               .source = "LX, T23, USP"};
inline constexpr Register kISR{.name = "ISR",
                               .offset_bytes = 0x10,
                               .fields = kInterruptFields,
                               .doc = "Interrupt status.",
                               .source = "LX, T23, USP",
                               .access = Access::ReadOnly};
inline constexpr Register kICR{.name = "ICR",
                               .offset_bytes = 0x18,
                               .fields = kInterruptFields,
                               .doc = "Interrupt clear: writing 1 acknowledges; for a channel's done bit, one event.",
                               .source = "LX, T23, MOC",
                               .access = Access::WriteOnly};

/// Masks of ISR/IMR/ICR for channel n as 64-bit register values. (`channel_error` alone is the namespace of
/// the CCPSR error bits in channel.h.)
constexpr uint64_t channel_done(unsigned n) { return uint64_t{1} << (32 + 2 * n); }
constexpr uint64_t channel_error_irq(unsigned n) { return uint64_t{2} << (32 + 2 * n); }
constexpr uint64_t channel_overflow(unsigned n) { return uint64_t{0x100} << (32 + n); }
static_assert(channel_done(3) == kISR.mask("CH3_DONE") && channel_error_irq(2) == kISR.mask("CH2_ERROR") &&
              channel_overflow(1) == kISR.mask("CH1_OVERFLOW"));

inline constexpr Register kID{.name = "ID",
                              .offset_bytes = 0x20,
                              .doc = "Version of the engine; the value is in the part's row (variants.h).",
                              .source = "T23",
                              .access = Access::ReadOnly};

inline constexpr Field kEUASRFields[] = {
    {.name = "AFEU", .bits = hi(0x0f000000), .doc = "Channel that holds the AFEU, plus 1; 0 = free."},
    {.name = "MDEU", .bits = hi(0x000f0000), .doc = "Channel that holds the MDEU, plus 1; 0 = free."},
    {.name = "AESU", .bits = hi(0x00000f00), .doc = "Channel that holds the AESU, plus 1; 0 = free."},
    {.name = "DEU", .bits = hi(0x0000000f), .doc = "Channel that holds the DEU, plus 1; 0 = free."},
    {.name = "CRCU", .bits = lo(0x00f00000), .doc = "Channel that holds the CRCU, plus 1; 0 = free."},
    {.name = "KEU", .bits = lo(0x000f0000), .doc = "Channel that holds the KEU, plus 1; 0 = free."},
    {.name = "STEU", .bits = lo(0x0000f000), .doc = "Channel that holds the STEU, plus 1; 0 = free."},
    {.name = "PKEU", .bits = lo(0x00000f00), .doc = "Channel that holds the PKEU, plus 1; 0 = free."},
    {.name = "RNGU", .bits = lo(0x0000000f), .doc = "Channel that holds the RNG, plus 1; 0 = free."},
};
inline constexpr Register kEUASR{.name = "EUASR",
                                 .offset_bytes = 0x28,
                                 .fields = kEUASRFields,
                                 .doc = "EU assignment status: which channel holds each execution unit.",
                                 .source = "FB, T23",
                                 .access = Access::ReadOnly};

inline constexpr Field kMCRFields[] = {
    {.name = "EU_COUNT_CH2",
     .bits = hi(0x00c00000),
     .doc = "ASSUMED position: 2.1 and later: unit priority count of channel 2. Zero means round robin. [MSC]"},
    {.name = "EU_COUNT_CH3",
     .bits = hi(0x00300000),
     .doc = "ASSUMED position: 2.1 and later: unit priority count of channel 3. [MSC]"},
    {.name = "BUS_COUNT_CH2",
     .bits = hi(0x000c0000),
     .doc = "ASSUMED position: 2.1 and later: bus priority count of channel 2. [MSC]"},
    {.name = "BUS_COUNT_CH3",
     .bits = hi(0x00030000),
     .doc = "ASSUMED position: 2.1 and later: bus priority count of channel 3. [MSC]"},
    {.name = "RCA0",
     .bits = hi(0x8000),
     .doc = "SEC 3: channel 0 on the alternate page and the second line. [T23][USP]"},
    {.name = "RCA1", .bits = hi(0x4000), .doc = "SEC 3: channel 1 on the alternate page and the second line. [LX]"},
    {.name = "RCA2", .bits = hi(0x2000), .doc = "SEC 3: channel 2 on the alternate page and the second line."},
    {.name = "RCA3", .bits = hi(0x1000), .doc = "SEC 3: channel 3 on the alternate page and the second line. [LX]"},
    {.name = "PRIORITY",
     .bits = hi(0x300),
     .model = Model::Stored,
     .doc = "Priority on the system bus: 0 low, 1 medium-low, 2 medium-high, 3 high. [T23]"},
    {.name = "GI", .bits = hi(0x2), .model = Model::Stored, .doc = "Global inhibit: no snooping (MPC83xx only). [T23]"},
    {.name = "SWR",
     .bits = hi(0x1),
     .access = Access::SelfClearing,
     .doc = "Software reset of the whole engine. ERRATUM: needs two writes to drop all interrupts. [LX]"},
};
inline constexpr Register kMCR{
    .name = "MCR", .offset_bytes = 0x30, .fields = kMCRFields, .doc = "Master control.", .source = "LX, T23, MOC"};
/// MCR[RCAn].
constexpr uint64_t remap_channel(unsigned n) { return uint64_t{0x8000} >> n << 32; }
static_assert(remap_channel(0) == kMCR.mask("RCA0") && remap_channel(3) == kMCR.mask("RCA3"));

// ---- SEC 1 ----

inline constexpr Field kInterruptFields1[] = {
    {.name = "CH1_ERROR", .bits = hi(0x80000000), .doc = "Channel 1 error."},
    {.name = "CH1_DONE", .bits = hi(0x40000000), .doc = "Channel 1 done."},
    {.name = "CH0_ERROR", .bits = hi(0x20000000), .doc = "Channel 0 has an error in CCPSR."},
    {.name = "CH0_DONE", .bits = hi(0x10000000), .doc = "Channel 0 finished what asks for notification. [LX][MCFh]"},
    {.name = "AERR",
     .bits = hi(0x08000000),
     .doc = "Assignment error. ASSUMED: EUACR was written for a unit that another channel holds. [MCFh]"},
    {.name = "CH3_ERROR", .bits = hi(0x00080000), .doc = "Channel 3 error."},
    {.name = "CH3_DONE", .bits = hi(0x00040000), .doc = "Channel 3 done."},
    {.name = "CH2_ERROR", .bits = hi(0x00020000), .doc = "Channel 2 error."},
    {.name = "CH2_DONE", .bits = hi(0x00010000), .doc = "Channel 2 done. [LX]"},
    {.name = "PKEU_ERROR", .bits = lo(0x20000000), .doc = "PKEU error."},
    {.name = "PKEU_DONE", .bits = lo(0x10000000), .doc = "PKEU done."},
    {.name = "RNGU_ERROR", .bits = lo(0x02000000), .doc = "RNG error; the one unit bit that Linux enables. [LX]"},
    {.name = "RNGU_DONE", .bits = lo(0x01000000), .doc = "RNG done."},
    {.name = "AFEU_ERROR", .bits = lo(0x00200000), .doc = "AFEU error."},
    {.name = "AFEU_DONE", .bits = lo(0x00100000), .doc = "AFEU done."},
    {.name = "MDEU_ERROR", .bits = lo(0x00020000), .doc = "MDEU error."},
    {.name = "MDEU_DONE", .bits = lo(0x00010000), .doc = "MDEU done; only while software drives the unit itself."},
    {.name = "AESU_ERROR", .bits = lo(0x00002000), .doc = "AESU error."},
    {.name = "AESU_DONE", .bits = lo(0x00001000), .doc = "AESU done; only while software drives the unit itself."},
    {.name = "DEU_ERROR", .bits = lo(0x00000200), .doc = "DEU error."},
    {.name = "DEU_DONE", .bits = lo(0x00000100), .doc = "DEU done; only while software drives the unit itself."},
    {.name = "TEA", .bits = lo(0x00000040), .doc = "Transfer error acknowledge: a bus error; see MEAR. [LX][MOC]"},
};
inline constexpr uint64_t kInterruptBits1 = [] {
  uint64_t m = 0;
  for (const Field& f : kInterruptFields1) m |= f.mask();
  return m;
}();
inline constexpr Register kIMR1{.name = "IMR",
                                .offset_bytes = 0x08,
                                .reset = kInterruptBits1,
                                .fields = kInterruptFields1,
                                .doc = "Interrupt mask: 1 masks. ASSUMED: all masked after reset.",
                                .source = "LX, MOC, MCFh"};
inline constexpr Register kISR1{.name = "ISR",
                                .offset_bytes = 0x10,
                                .fields = kInterruptFields1,
                                .doc = "Interrupt status.",
                                .source = "LX, MOC, MCFh",
                                .access = Access::ReadOnly};
inline constexpr Register kICR1{.name = "ICR",
                                .offset_bytes = 0x18,
                                .fields = kInterruptFields1,
                                .doc = "Interrupt clear: writing 1 acknowledges.",
                                .source = "LX, MOC, MCFh",
                                .access = Access::WriteOnly};

inline constexpr Field kAssignmentFields1[] = {
    {.name = "RNGU", .bits = hi(0x0f000000), .doc = "Channel of the RNG, plus 1; 0 = none."},
    {.name = "PKEU", .bits = hi(0x000f0000), .doc = "Channel of the PKEU, plus 1; 0 = none. [MOC]"},
    {.name = "MDEU", .bits = hi(0x00000f00), .doc = "Channel of the MDEU, plus 1; 0 = none."},
    {.name = "AFEU", .bits = hi(0x0000000f), .doc = "Channel of the AFEU, plus 1; 0 = none."},
    {.name = "DEU", .bits = lo(0x0f000000), .doc = "Channel of the DEU, plus 1; 0 = none."},
    {.name = "AESU", .bits = lo(0x000f0000), .doc = "Channel of the AESU, plus 1; 0 = none."},
};
inline constexpr Register kEUACR1{
    .name = "EUACR",
    .offset_bytes = 0x00,
    .fields = kAssignmentFields1,
    .doc = "Static assignment: the unit serves this channel only; 0 leaves it to the controller.",
    .source = "MCFh"};
inline constexpr Register kEUASR1{.name = "EUASR",
                                  .offset_bytes = 0x28,
                                  .fields = kAssignmentFields1,
                                  .doc = "Assignment status: which channel has each unit, for now or for good.",
                                  .source = "MOC, MCFh",
                                  .access = Access::ReadOnly};
inline constexpr Register kID1{.name = "ID",
                               .offset_bytes = 0x20,
                               .doc = "Version of the engine, in the high word.",
                               .source = "MOC, MCFh",
                               .access = Access::ReadOnly};
inline constexpr Field kMCRFields1[] = {
    {.name = "SWR", .bits = hi(0x01000000), .access = Access::SelfClearing, .doc = "Software reset of the engine. [LX]"},
    {.name = "GI",
     .bits = hi(0x00000040),
     .model = Model::Stored,
     .doc = "MPC8272: 0 drives the bus' global signal, so that caches snoop. [MOC]"},
};
inline constexpr Register kMCR1{
    .name = "MCR", .offset_bytes = 0x30, .fields = kMCRFields1, .doc = "Master control.", .source = "LX, MOC, MCFh"};
inline constexpr Field kMEARFields[] = {
    {.name = "ADDRESS", .bits = hi(0xffffffff), .doc = "Address of the first bus error since the last reset."},
};
inline constexpr Register kMEAR{.name = "MEAR",
                                .offset_bytes = 0x38,
                                .fields = kMEARFields,
                                .doc = "Master error address. ASSUMED: kept until the engine is reset.",
                                .source = "MCFh, MOC",
                                .access = Access::ReadOnly};

inline constexpr Register kControllerRegisters1[] = {kEUACR1, kIMR1, kISR1, kICR1, kID1, kEUASR1, kMCR1, kMEAR};
inline constexpr Block kControllerBlock1{.name = "controller",
                                         .doc = "SEC 1: interrupts, identification, unit assignment, master control.",
                                         .registers = kControllerRegisters1};
static_assert(well_formed(kControllerBlock1));

// ---- SEC 2 and 3 ----

inline constexpr Register kControllerRegisters[] = {kIMR, kISR, kICR, kID, kEUASR, kMCR};
inline constexpr Block kControllerBlock{.name = "controller",
                                        .doc = "Interrupts, identification, unit assignment, master control.",
                                        .registers = kControllerRegisters};
static_assert(well_formed(kControllerBlock));

/// Outside the block's page, at kIpBlockRevision (map.h).
inline constexpr Register kIPBRR{.name = "IPBRR",
                                 .offset_bytes = 0,
                                 .doc = "IP block revision; the value is in the part's row (variants.h).",
                                 .source = "T23",
                                 .access = Access::ReadOnly};

/// SEC 3.x counters at kPolychannelBase (map.h). The names are ours. [T23]
inline constexpr Register kPolychannelRegisters[] = {
    {.name = "POLY_ENQUEUED",
     .offset_bytes = 0x00,
     .doc = "Descriptors enqueued.",
     .source = "T23",
     .access = Access::ReadOnly},
    {.name = "POLY_FINISHED",
     .offset_bytes = 0x08,
     .doc = "Descriptors finished.",
     .source = "T23",
     .access = Access::ReadOnly},
    {.name = "POLY_BYTES_IN",
     .offset_bytes = 0x10,
     .doc = "Data bytes read.",
     .source = "T23",
     .access = Access::ReadOnly},
    {.name = "POLY_BYTES_OUT",
     .offset_bytes = 0x18,
     .doc = "Data bytes written.",
     .source = "T23",
     .access = Access::ReadOnly},
};
inline constexpr Block kPolychannelBlock{
    .name = "polychannel", .doc = "SEC 3.x: counters over all channels.", .registers = kPolychannelRegisters};
static_assert(well_formed(kPolychannelBlock));

// ---- any generation; masks are 64-bit register values ----

constexpr const Block& controller_block(Generation g) { return g == Generation::Sec1 ? kControllerBlock1 : kControllerBlock; }
constexpr const Register& imr_of(Generation g) { return g == Generation::Sec1 ? kIMR1 : kIMR; }
constexpr const Register& isr_of(Generation g) { return g == Generation::Sec1 ? kISR1 : kISR; }
constexpr const Register& euasr_of(Generation g) { return g == Generation::Sec1 ? kEUASR1 : kEUASR; }
constexpr const Register& mcr_of(Generation g) { return g == Generation::Sec1 ? kMCR1 : kMCR; }

/// Done bit of channel n in ISR, IMR and ICR.
constexpr uint64_t channel_done(Generation g, unsigned n) {
  if (g != Generation::Sec1) return channel_done(n);
  return (n < 2 ? uint64_t{0x10000000} << 2 * n : uint64_t{0x00010000} << 2 * (n - 2)) << 32;
}
constexpr uint64_t channel_error_irq(Generation g, unsigned n) { return channel_done(g, n) << 1; }
/// Done-overflow bit of channel n; SEC 1 has none.
constexpr uint64_t channel_overflow(Generation g, unsigned n) {
  return g == Generation::Sec1 ? 0 : channel_overflow(n);
}
/// What a channel can interrupt with.
constexpr uint64_t channel_irqs(Generation g, unsigned n) {
  return channel_done(g, n) | channel_error_irq(g, n) | channel_overflow(g, n);
}
static_assert(channel_done(Generation::Sec1, 1) == kISR1.mask("CH1_DONE") &&
              channel_done(Generation::Sec1, 2) == kISR1.mask("CH2_DONE") &&
              channel_error_irq(Generation::Sec1, 0) == kISR1.mask("CH0_ERROR") &&
              channel_error_irq(Generation::Sec1, 3) == kISR1.mask("CH3_ERROR") &&
              channel_error_irq(Generation::Sec2, 3) == kISR.mask("CH3_ERROR"));

/// Done bit of a unit (its error bit is the next higher one); 0 for a unit without bits: the CRCU has none.
constexpr uint64_t unit_done_irq(Generation g, Eu eu) {
  const bool one = g == Generation::Sec1;
  switch (eu) {
    case Eu::Deu:
      return one ? kISR1.mask("DEU_DONE") : kISR.mask("DEU_DONE");
    case Eu::Aesu:
      return one ? kISR1.mask("AESU_DONE") : kISR.mask("AESU_DONE");
    case Eu::MdeuA:
    case Eu::MdeuB:
      return one ? kISR1.mask("MDEU_DONE") : kISR.mask("MDEU_DONE");
    case Eu::Afeu:
      return one ? kISR1.mask("AFEU_DONE") : kISR.mask("AFEU_DONE");
    case Eu::Rngu:
      return one ? kISR1.mask("RNGU_DONE") : kISR.mask("RNGU_DONE");
    case Eu::Pkeu:
      return one ? kISR1.mask("PKEU_DONE") : kISR.mask("PKEU_DONE");
    case Eu::Steu:
      return one ? 0 : kISR.mask("STEU_DONE");
    case Eu::Keu:
      return one ? 0 : kISR.mask("KEU_DONE");
    default:
      return 0;
  }
}
constexpr uint64_t unit_error_irq(Generation g, Eu eu) { return unit_done_irq(g, eu) << 1; }

/// Bit position of a unit's nibble in EUASR, and on SEC 1 in EUACR; -1 for a unit without one.
constexpr int assignment_shift(Generation g, Eu eu) {
  const bool one = g == Generation::Sec1;
  switch (eu) {
    case Eu::Afeu:
      return static_cast<int>(one ? kEUASR1.shift("AFEU") : kEUASR.shift("AFEU"));
    case Eu::MdeuA:
    case Eu::MdeuB:
      return static_cast<int>(one ? kEUASR1.shift("MDEU") : kEUASR.shift("MDEU"));
    case Eu::Aesu:
      return static_cast<int>(one ? kEUASR1.shift("AESU") : kEUASR.shift("AESU"));
    case Eu::Deu:
      return static_cast<int>(one ? kEUASR1.shift("DEU") : kEUASR.shift("DEU"));
    case Eu::Pkeu:
      return static_cast<int>(one ? kEUASR1.shift("PKEU") : kEUASR.shift("PKEU"));
    case Eu::Rngu:
      return static_cast<int>(one ? kEUASR1.shift("RNGU") : kEUASR.shift("RNGU"));
    case Eu::Crcu:
      return one ? -1 : static_cast<int>(kEUASR.shift("CRCU"));
    case Eu::Keu:
      return one ? -1 : static_cast<int>(kEUASR.shift("KEU"));
    case Eu::Steu:
      return one ? -1 : static_cast<int>(kEUASR.shift("STEU"));
    default:
      return -1;
  }
}

/// What to write to IMR so that exactly `enabled` can interrupt.
constexpr uint64_t imr_enabling(Generation g, uint64_t enabled) {
  return g == Generation::Sec1 ? kInterruptBits1 & ~enabled : enabled;
}
/// MCR[SWR].
constexpr uint64_t master_reset(Generation g) { return g == Generation::Sec1 ? kMCR1.mask("SWR") : kMCR.mask("SWR"); }
/// A bus error of the engine's own access, where the controller has a bit for it (SEC 1).
constexpr uint64_t transfer_error_irq(Generation g) { return g == Generation::Sec1 ? kISR1.mask("TEA") : 0; }

}  // namespace sec::regs
