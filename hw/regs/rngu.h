// RNGU, the random number unit at 0xA000: few of the common registers, and an output FIFO.
//
// Use: reset control SR, wait for status RD, write the data size register: the unit fills its FIFO with a 64-bit word
// every 256 SEC clocks and refills it as it is read. OFL in the status register counts the words. A word is read as its
// two 32-bit halves, high one first; any other access raises AE. [LX][OCF]
#pragma once
#include "hw/regs/eu_common.h"

namespace sec::regs {

inline constexpr Field kRnguModeFields[] = {
    {.name = "MODE", .bits = lo(0xff), .doc = "0; anything else raises ME when the unit is started."},
};
inline constexpr Register kRnguMode{
    .name = "RNGUMR", .offset_bytes = 0x00, .fields = kRnguModeFields, .doc = "Mode.", .source = "T23"};
inline constexpr Field kRnguDataSizeFields[] = {
    {.name = "SIZE", .bits = lo(0xffffffff), .model = Model::Stored, .doc = "Any value; writing it starts the unit."},
};
inline constexpr Register kRnguDataSize{.name = "RNGUDSR",
                                        .offset_bytes = 0x10,
                                        .fields = kRnguDataSizeFields,
                                        .doc = "Data size; writing it starts the unit.",
                                        .source = "LX, OCF"};
inline constexpr Register kRnguResetControl = renamed(kEuResetControl, "RNGURCR");
inline constexpr Field kRnguStatusFields[] = {
    {.name = "OFL", .bits = lo(0xff0000), .doc = "Output FIFO level in 64-bit words. [LX]"},
    {.name = "HALT", .bits = lo(0x20), .doc = "An error is pending."},
    {.name = "OFR", .bits = lo(0x8), .doc = "Output FIFO can be read."},
    {.name = "IE", .bits = lo(0x4), .doc = "Error interrupt pending."},
    {.name = "RD", .bits = lo(0x1), .doc = "Reset done."},
};
inline constexpr Register kRnguStatus{.name = "RNGUSR",
                                      .offset_bytes = 0x28,
                                      .reset = 0x1,
                                      .fields = kRnguStatusFields,
                                      .doc = "Status.",
                                      .source = "LX, MCFh",
                                      .access = Access::ReadOnly};
inline constexpr Field kRnguInterruptFields[] = {
    {.name = "IE", .bits = lo(0x1000), .doc = "Internal error."},
    {.name = "CE", .bits = lo(0x400), .doc = "A register was written while a channel holds the unit."},
    {.name = "ME", .bits = lo(0x80), .doc = "Mode not zero."},
    {.name = "AE",
     .bits = lo(0x40),
     .doc = "Address error, also half a FIFO word read twice or in the wrong order. [OCF]"},
    {.name = "OFU", .bits = lo(0x2), .doc = "Output FIFO underflow: read while empty."},
};
inline constexpr Register kRnguInterruptStatus{.name = "RNGUISR",
                                               .offset_bytes = 0x30,
                                               .fields = kRnguInterruptFields,
                                               .doc = "Interrupt status: what went wrong.",
                                               .source = "LX, MCFh",
                                               .access = Access::ReadOnly};
inline constexpr Register kRnguInterruptControl{.name = "RNGUICR",
                                                .offset_bytes = 0x38,
                                                .fields = kRnguInterruptFields,
                                                .doc = "Interrupt control: 1 masks the cause.",
                                                .source = "LX, MCFh"};
inline constexpr Register kRnguFifo{.name = "RNGUFIFO",
                                    .offset_bytes = 0x800,
                                    .doc = "Output FIFO: read HI, then LO, for one word.",
                                    .source = "LX, OCF",
                                    .access = Access::ReadOnly,
                                    .size_bytes = 0x800};

inline constexpr Register kRnguRegisters[] = {
    kRnguMode, kRnguDataSize, kRnguResetControl, kRnguStatus, kRnguInterruptStatus, kRnguInterruptControl, kRnguFifo};
inline constexpr Block kRnguBlock{.name = "RNGU", .doc = "Random number unit.", .registers = kRnguRegisters};
static_assert(well_formed(kRnguBlock));

}  // namespace sec::regs
