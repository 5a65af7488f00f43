// AFEU, the RC4 unit at 0x8000: the common registers under the manual's names, its mode byte and its context memory.
//
// Mode: PP inhibits the permutation, that is, the set-up of the S-box from the key; CS takes the context from the FIFO
// before the data; DC puts it into the output FIFO behind the data. [T23] First piece of a stream: DC (0x02), further
// pieces: all three (0x07), as the vendor's headers have it.
// Context: the S-box of 256 bytes at 0x100 and the pointers at 0x200. 259 bytes in memory [MOC] (a comment of [T23] has
// 257): ASSUMED: S-box, i, j, a byte of zero.
#pragma once
#include "hw/regs/eu_common.h"

namespace sec::regs {

namespace afeu_mode {
inline constexpr uint8_t kInhibitPermutation = 0x01;  // PP
inline constexpr uint8_t kDumpContext = 0x02;         // DC
inline constexpr uint8_t kContextFromFifo = 0x04;     // CS
}  // namespace afeu_mode
inline constexpr uint32_t kAfeuContextBytes = 259;

inline constexpr EnumName kAfeuModeNames[] = {
    {0x00, "RC4, key"}, {0x02, "RC4, key, dump"}, {0x05, "RC4, context"}, {0x07, "RC4, context, dump"}};

inline constexpr Field kAfeuModeFields[] = {
    {.name = "CS",
     .bits = lo(0x04),
     .doc = "The context comes through the FIFO, before the data; only with PP, else ME."},
    {.name = "DC", .bits = lo(0x02), .doc = "Dump the context through the FIFO, after the data."},
    {.name = "PP", .bits = lo(0x01), .doc = "Inhibit the permutation: the S-box is not made from the key."},
};
inline constexpr Register kAfeuMode{
    .name = "AFEUMR", .offset_bytes = 0x00, .fields = kAfeuModeFields, .doc = "Mode.", .source = "T23"};
inline constexpr Register kAfeuKeySize = renamed(kEuKeySize, "AFEUKSR");
inline constexpr Register kAfeuDataSize = renamed(kEuDataSize, "AFEUDSR");
inline constexpr Register kAfeuResetControl = renamed(kEuResetControl, "AFEURCR");
inline constexpr Register kAfeuStatus = renamed(kEuStatus, "AFEUSR");
inline constexpr Register kAfeuInterruptStatus = renamed(kEuInterruptStatus, "AFEUISR");
inline constexpr Register kAfeuInterruptControl = renamed(kEuInterruptControl, "AFEUICR");
inline constexpr Register kAfeuGo = renamed(kEuGo, "AFEUEUG");
inline constexpr Register kAfeuContext{
    .name = "AFEUCTX", .offset_bytes = 0x100, .doc = "S-box.", .source = "T23", .size_bytes = 0x100};
inline constexpr Register kAfeuPointers{.name = "AFEUPTR",
                                        .offset_bytes = 0x200,
                                        .doc = "Context pointers: i and j in the first two bytes (ASSUMED).",
                                        .source = "T23"};
inline constexpr Register kAfeuKey1{.name = "AFEUKEY1",
                                    .offset_bytes = 0x400,
                                    .doc = "Key, first 8 bytes.",
                                    .source = "T23",
                                    .access = Access::WriteOnly};
inline constexpr Register kAfeuKey2{.name = "AFEUKEY2",
                                    .offset_bytes = 0x480,
                                    .doc = "Key, last 8 bytes.",
                                    .source = "T23",
                                    .access = Access::WriteOnly};
inline constexpr Register kAfeuFifo = renamed(kEuFifo, "AFEUFIFO");

inline constexpr Register kAfeuRegisters[] = {kAfeuMode,
                                              kAfeuKeySize,
                                              kAfeuDataSize,
                                              kAfeuResetControl,
                                              kAfeuStatus,
                                              kAfeuInterruptStatus,
                                              kAfeuInterruptControl,
                                              kAfeuGo,
                                              kAfeuContext,
                                              kAfeuPointers,
                                              kAfeuKey1,
                                              kAfeuKey2,
                                              kAfeuFifo};
inline constexpr Block kAfeuBlock{.name = "AFEU", .doc = "RC4 unit.", .registers = kAfeuRegisters};
static_assert(well_formed(kAfeuBlock));

}  // namespace sec::regs
