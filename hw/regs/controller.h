// Controller block at 0x1000: which events interrupt the host (IMR, ISR, ICR), which part this is
// (ID), which channel holds which execution unit (EUASR), and master control (MCR).
//
// IMR, ISR and ICR share one layout. The high word is about channels: done and error of channel n are
// bits 2n and 2n+1 from the right, the done-overflow bits follow at 0x100 << n. The low word has a
// done and an error bit per execution unit, which matter only while software drives a unit itself.
// A channel's done bit stands for a counter of up to 15 events; writing it to ICR takes one off. [MOC]
// On SEC 2+ a 1 in IMR *enables* (on SEC 1 it masks). [LX]
// UNMODELLED: EU priority counts in MCR (positions unknown, see the field docs) have no effect.
#pragma once
#include "hw/regs/bits.h"

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
     .model = Model::Stored,
     .doc = "Internal time-out: a register access was not completed within 16 clocks. [LX][T23][MOC]"},
    {.name = "DEU_DONE", .bits = lo(0x1), .doc = "DEU done; only while software drives the unit itself. [T23]"},
    {.name = "DEU_ERROR", .bits = lo(0x2), .doc = "DEU error."},
    {.name = "AESU_DONE", .bits = lo(0x10), .doc = "AESU done; only while software drives the unit itself. [T23]"},
    {.name = "AESU_ERROR", .bits = lo(0x20), .doc = "AESU error."},
    {.name = "MDEU_DONE",
     .bits = lo(0x100),
     .model = Model::Stored,
     .doc = "MDEU done; only while software drives the unit itself. [T23]"},
    {.name = "MDEU_ERROR", .bits = lo(0x200), .model = Model::Stored, .doc = "MDEU error."},
    {.name = "AFEU_DONE", .bits = lo(0x1000), .model = Model::Stored, .doc = "AFEU done. [T23]"},
    {.name = "AFEU_ERROR", .bits = lo(0x2000), .model = Model::Stored, .doc = "AFEU error."},
    {.name = "RNGU_DONE", .bits = lo(0x10000), .model = Model::Stored, .doc = "RNG done. [T23]"},
    {.name = "RNGU_ERROR",
     .bits = lo(0x20000),
     .model = Model::Stored,
     .doc = "RNG error; the one unit bit that Linux enables. [LX][T23]"},
    {.name = "PKEU_DONE", .bits = lo(0x100000), .model = Model::Stored, .doc = "PKEU done. [T23]"},
    {.name = "PKEU_ERROR", .bits = lo(0x200000), .model = Model::Stored, .doc = "PKEU error."},
    {.name = "STEU_DONE", .bits = lo(0x400000), .model = Model::Stored, .doc = "STEU done. [T23]"},
    {.name = "STEU_ERROR", .bits = lo(0x800000), .model = Model::Stored, .doc = "STEU error."},
    {.name = "KEU_DONE", .bits = lo(0x1000000), .model = Model::Stored, .doc = "KEU done. [T23]"},
    {.name = "KEU_ERROR", .bits = lo(0x2000000), .model = Model::Stored, .doc = "KEU error."},
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
    {.name = "AFEU",
     .bits = hi(0x0f000000),
     .model = Model::Absent,
     .doc = "Channel that holds the AFEU, plus 1; 0 = free."},
    {.name = "MDEU",
     .bits = hi(0x000f0000),
     .model = Model::Absent,
     .doc = "Channel that holds the MDEU, plus 1; 0 = free."},
    {.name = "AESU", .bits = hi(0x00000f00), .doc = "Channel that holds the AESU, plus 1; 0 = free."},
    {.name = "DEU", .bits = hi(0x0000000f), .doc = "Channel that holds the DEU, plus 1; 0 = free."},
    {.name = "CRCU",
     .bits = lo(0x00f00000),
     .model = Model::Absent,
     .doc = "Channel that holds the CRCU, plus 1; 0 = free."},
    {.name = "KEU",
     .bits = lo(0x000f0000),
     .model = Model::Absent,
     .doc = "Channel that holds the KEU, plus 1; 0 = free."},
    {.name = "STEU",
     .bits = lo(0x0000f000),
     .model = Model::Absent,
     .doc = "Channel that holds the STEU, plus 1; 0 = free."},
    {.name = "PKEU",
     .bits = lo(0x00000f00),
     .model = Model::Absent,
     .doc = "Channel that holds the PKEU, plus 1; 0 = free."},
    {.name = "RNGU",
     .bits = lo(0x0000000f),
     .model = Model::Absent,
     .doc = "Channel that holds the RNG, plus 1; 0 = free."},
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
     .model = Model::Absent,
     .doc = "ASSUMED position: EU priority count of channel 2. Zero means round robin. [MSC]"},
    {.name = "EU_COUNT_CH3",
     .bits = hi(0x00300000),
     .model = Model::Absent,
     .doc = "ASSUMED position: EU priority count of channel 3. [MSC]"},
    {.name = "BUS_COUNT_CH2",
     .bits = hi(0x000c0000),
     .model = Model::Absent,
     .doc = "ASSUMED position: bus priority count of channel 2. [MSC]"},
    {.name = "BUS_COUNT_CH3",
     .bits = hi(0x00030000),
     .model = Model::Absent,
     .doc = "ASSUMED position: bus priority count of channel 3. [MSC]"},
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

}  // namespace sec::regs
