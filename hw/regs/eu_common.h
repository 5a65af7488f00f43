// What all execution units have in common: the same registers at the same offsets of their blocks. The
// channel writes them in the course of a descriptor; software may read them at any time and drives a
// unit through them directly when no channel holds it.
//
// Bits are in the low word, numbered as on SEC 2.x and 3.x. On SEC 1 the same byte order is turned round: what is in the
// low word there is byte-swapped into the high word (to_sec1), and the low word is empty. That holds for the control
// registers, below kEuContext; context, key and FIFO are bytes in memory order on every generation.
// Those of reset control, RD and ICE are seen in drivers; the others follow
// from SEC 1, whose masks are the same bytes in the opposite order. [LX][USP][MCFh]
// The interrupt control register *masks* with 1: drivers set ICE there so that a failed integrity check
// shows in the write-back instead of stopping the channel. [LX][USP]
#pragma once
#include "hw/regs/bits.h"
#include "hw/regs/variants.h"

namespace sec::regs {

inline constexpr Field kEuModeFields[] = {
    {.name = "MODE", .bits = lo(0xff), .doc = "Mode byte; the channel copies MODE0 or MODE1 of the header here."},
};
inline constexpr Register kEuMode{
    .name = "EUMR", .offset_bytes = 0x00, .fields = kEuModeFields, .doc = "Mode.", .source = "T23"};

inline constexpr Field kEuKeySizeFields[] = {
    {.name = "BYTES", .bits = lo(0xfff), .doc = "Key size in bytes; an illegal one raises KSE. [T23]"},
};
inline constexpr Register kEuKeySize{
    .name = "EUKSR", .offset_bytes = 0x08, .fields = kEuKeySizeFields, .doc = "Key size.", .source = "T23"};

inline constexpr Field kEuDataSizeFields[] = {
    {.name = "BITS", .bits = lo(0xfffff), .doc = "ASSUMED: size of the message in bits."},
};
inline constexpr Register kEuDataSize{.name = "EUDSR",
                                      .offset_bytes = 0x10,
                                      .fields = kEuDataSizeFields,
                                      .doc = "Data size; writing it starts the unit.",
                                      .source = "T23, LX"};

inline constexpr Field kEuResetControlFields[] = {
    {.name = "RI", .bits = lo(0x4), .access = Access::SelfClearing, .doc = "Reset the interrupts."},
    {.name = "MI", .bits = lo(0x2), .access = Access::SelfClearing, .doc = "Re-initialise the module."},
    {.name = "SR", .bits = lo(0x1), .access = Access::SelfClearing, .doc = "Software reset of the unit."},
};
inline constexpr Register kEuResetControl{.name = "EURCR",
                                          .offset_bytes = 0x18,
                                          .fields = kEuResetControlFields,
                                          .doc = "Reset control.",
                                          .source = "LX, USP, MOC"};

inline constexpr Field kEuStatusFields[] = {
    {.name = "OFL", .bits = lo(0xff0000), .doc = "Output FIFO level in 64-bit words. [LX]"},
    {.name = "IFL", .bits = lo(0xff00), .doc = "ASSUMED: input FIFO level in 64-bit words."},
    {.name = "HALT", .bits = lo(0x20), .doc = "Halted on an error."},
    {.name = "IFW", .bits = lo(0x10), .doc = "Input FIFO can be written."},
    {.name = "OFR", .bits = lo(0x8), .doc = "Output FIFO can be read."},
    {.name = "IE", .bits = lo(0x4), .doc = "Error interrupt pending."},
    {.name = "ID", .bits = lo(0x2), .doc = "Done interrupt pending."},
    {.name = "RD", .bits = lo(0x1), .doc = "Reset done."},
};
inline constexpr Register kEuStatus{.name = "EUSR",
                                    .offset_bytes = 0x28,
                                    .reset = 0x1,
                                    .fields = kEuStatusFields,
                                    .doc = "Status.",
                                    .source = "LX, MCFh",
                                    .access = Access::ReadOnly};

inline constexpr Field kEuInterruptFields[] = {
    {.name = "ICE", .bits = lo(0x4000), .doc = "Integrity check (ICV) mismatch. [LX][USP]"},
    {.name = "KPE", .bits = lo(0x2000), .doc = "DEU: key parity. [MCFh]"},
    {.name = "IE", .bits = lo(0x1000), .doc = "Internal error."},
    {.name = "ERE", .bits = lo(0x800), .doc = "Early read: context or result was read before the unit was done."},
    {.name = "CE", .bits = lo(0x400), .doc = "Context was touched while the unit was busy."},
    {.name = "KSE", .bits = lo(0x200), .doc = "Key size not legal."},
    {.name = "DSE", .bits = lo(0x100), .doc = "Data size not legal for the mode."},
    {.name = "ME", .bits = lo(0x80), .doc = "Mode not legal."},
    {.name = "AE", .bits = lo(0x40), .doc = "Address error: illegal access inside the unit's block."},
    {.name = "OFE", .bits = lo(0x20), .model = Model::Absent, .doc = "Output FIFO error."},
    {.name = "IFE", .bits = lo(0x10), .model = Model::Absent, .doc = "Input FIFO error."},
    {.name = "IFO", .bits = lo(0x4), .doc = "Input FIFO overflow."},
    {.name = "OFU", .bits = lo(0x2), .doc = "Output FIFO underflow."},
};
inline constexpr Register kEuInterruptStatus{.name = "EUISR",
                                             .offset_bytes = 0x30,
                                             .fields = kEuInterruptFields,
                                             .doc = "Interrupt status: what went wrong.",
                                             .source = "LX, USP, MCFh",
                                             .access = Access::ReadOnly};
inline constexpr Register kEuInterruptControl{.name = "EUICR",
                                              .offset_bytes = 0x38,
                                              .fields = kEuInterruptFields,
                                              .doc = "Interrupt control: 1 masks the cause.",
                                              .source = "LX, USP, MCFh"};

inline constexpr Register kEuGo{.name = "EUEUG",
                                .offset_bytes = 0x50,
                                .doc = "EU-Go, end of message: no more data follows.",
                                .source = "T23",
                                .access = Access::WriteOnly};
inline constexpr Register kEuContext{
    .name = "EUCTX", .offset_bytes = 0x100, .doc = "IV and context.", .source = "T23", .size_bytes = 0x80};
inline constexpr Register kEuKey{.name = "EUKEY",
                                 .offset_bytes = 0x400,
                                 .doc = "Key.",
                                 .source = "T23",
                                 .access = Access::WriteOnly,
                                 .size_bytes = 0x80};
inline constexpr Register kEuFifo{.name = "EUFIFO",
                                  .offset_bytes = 0x800,
                                  .doc = "FIFO window: writes are input, reads are output.",
                                  .source = "LX, T23",
                                  .size_bytes = 0x800};

inline constexpr Register kEuRegisters[] = {
    kEuMode, kEuKeySize, kEuDataSize, kEuResetControl, kEuStatus, kEuInterruptStatus, kEuInterruptControl,
    kEuGo,   kEuContext, kEuKey,      kEuFifo};
inline constexpr Block kEuBlock{
    .name = "eu", .doc = "Layout shared by all execution units.", .registers = kEuRegisters};
static_assert(well_formed(kEuBlock));

constexpr uint32_t swap_bytes(uint32_t v) { return v >> 24 | (v >> 8 & 0xff00) | (v << 8 & 0xff0000) | v << 24; }
/// A value of a unit's control register, or a mask of it, as SEC 1 has it. [MCFh][LX]
constexpr uint64_t to_sec1(uint64_t sec2) { return uint64_t{swap_bytes(static_cast<uint32_t>(sec2))} << 32; }
constexpr uint64_t from_sec1(uint64_t sec1) { return swap_bytes(static_cast<uint32_t>(sec1 >> 32)); }
/// The same by generation: where code wants one name for all of them.
constexpr uint64_t eu_mask(Generation g, uint64_t sec2) { return g == Generation::Sec1 ? to_sec1(sec2) : sec2; }
/// Offsets in a unit's block below this are control registers.
inline constexpr uint32_t kEuControlBytes = 0x100;
static_assert(to_sec1(kEuResetControl.mask("SR")) >> 32 == 0x01000000 &&
              to_sec1(kEuInterruptStatus.mask("KPE")) >> 32 == 0x00200000 &&
              to_sec1(kEuInterruptStatus.mask("ME")) >> 32 == 0x80000000);

/// Bits of EU interrupt status and control by name, for code that works on any unit.
namespace eu_error {
inline constexpr uint64_t kOfu = kEuInterruptStatus.mask("OFU");
inline constexpr uint64_t kIfo = kEuInterruptStatus.mask("IFO");
inline constexpr uint64_t kIfe = kEuInterruptStatus.mask("IFE");
inline constexpr uint64_t kOfe = kEuInterruptStatus.mask("OFE");
inline constexpr uint64_t kAe = kEuInterruptStatus.mask("AE");
inline constexpr uint64_t kMe = kEuInterruptStatus.mask("ME");
inline constexpr uint64_t kDse = kEuInterruptStatus.mask("DSE");
inline constexpr uint64_t kKse = kEuInterruptStatus.mask("KSE");
inline constexpr uint64_t kCe = kEuInterruptStatus.mask("CE");
inline constexpr uint64_t kEre = kEuInterruptStatus.mask("ERE");
inline constexpr uint64_t kIe = kEuInterruptStatus.mask("IE");
inline constexpr uint64_t kKpe = kEuInterruptStatus.mask("KPE");
inline constexpr uint64_t kIce = kEuInterruptStatus.mask("ICE");
}  // namespace eu_error

}  // namespace sec::regs
