// KEU, the KASUMI unit at 0xE000: the common registers under the manual's names, its mode byte and its context.
//
// Mode: f8 (confidentiality) or f9 (integrity); INIT on the first, EOM on the last piece of a message; EDGE and GSM for
// A5/3; CICV compares the MAC. [T23] Context: IV 1, received MAC, IV 2, then six registers of state.
#pragma once
#include "hw/regs/eu_common.h"

namespace sec::regs {

namespace keu_mode {
inline constexpr uint8_t kGsm = 0x80;
inline constexpr uint8_t kCheckIcv = 0x40;  // CICV
inline constexpr uint8_t kEdge = 0x20;
inline constexpr uint8_t kEndOfMessage = 0x10;  // EOM
inline constexpr uint8_t kInit = 0x08;
inline constexpr uint8_t kAlgorithmMask = 0x06;
inline constexpr uint8_t kF8 = 0x00;
inline constexpr uint8_t kF9 = 0x02;
}  // namespace keu_mode

inline constexpr EnumName kKeuModeNames[] = {{0x00, "f8"}, {0x02, "f9"}, {0x20, "EDGE A5/3"}, {0x80, "GSM A5/3"}};

inline constexpr Field kKeuModeFields[] = {
    {.name = "GSM", .bits = lo(0x80), .doc = "f8 as A5/3 for GSM."},
    {.name = "CICV", .bits = lo(0x40), .doc = "Compare the MAC with the received one."},
    {.name = "EDGE", .bits = lo(0x20), .doc = "f8 as A5/3 for EDGE."},
    {.name = "EOM", .bits = lo(0x10), .doc = "End of message: last piece."},
    {.name = "INIT", .bits = lo(0x08), .doc = "First piece: start from the IVs."},
    {.name = "ALG", .bits = lo(0x06), .doc = "0 f8, 1 f9."},
};
inline constexpr Register kKeuMode{
    .name = "KEUMR", .offset_bytes = 0x00, .fields = kKeuModeFields, .doc = "Mode.", .source = "T23"};
inline constexpr Register kKeuKeySize = renamed(kEuKeySize, "KEUKSR");
inline constexpr Register kKeuDataSize = renamed(kEuDataSize, "KEUDSR");
inline constexpr Register kKeuResetControl = renamed(kEuResetControl, "KEURCR");
inline constexpr Register kKeuStatus = renamed(kEuStatus, "KEUSR");
inline constexpr Register kKeuInterruptStatus = renamed(kEuInterruptStatus, "KEUISR");
inline constexpr Register kKeuInterruptControl = renamed(kEuInterruptControl, "KEUICR");
inline constexpr Register kKeuF9Mac{.name = "KEUMAC",
                                    .offset_bytes = 0x48,
                                    .doc = "f9 MAC, in the low word.",
                                    .source = "T23",
                                    .access = Access::ReadOnly};
inline constexpr Register kKeuGo = renamed(kEuGo, "KEUEUG");
inline constexpr Register kKeuIv1{.name = "KEUIV1",
                                  .offset_bytes = 0x100,
                                  .doc = "IV 1: COUNT in HI; bearer and direction in LO.",
                                  .source = "T23, USP"};
inline constexpr Register kKeuIcvIn{
    .name = "KEUICVI", .offset_bytes = 0x108, .doc = "Received MAC, in LO.", .source = "T23, USP"};
inline constexpr Register kKeuIv2{
    .name = "KEUIV2", .offset_bytes = 0x110, .doc = "IV 2: FRESH in LO.", .source = "T23, USP"};
inline constexpr Register kKeuContext{.name = "KEUCTX",
                                      .offset_bytes = 0x118,
                                      .doc = "Contexts 1 to 6: state between pieces.",
                                      .source = "T23",
                                      .size_bytes = 0x30};
inline constexpr Register kKeuKey{.name = "KEUKEY",
                                  .offset_bytes = 0x400,
                                  .doc = "Confidentiality key, then integrity key, 16 bytes each (order ASSUMED).",
                                  .source = "T23",
                                  .access = Access::WriteOnly,
                                  .size_bytes = 0x20};
inline constexpr Register kKeuFifo = renamed(kEuFifo, "KEUFIFO");

inline constexpr Register kKeuRegisters[] = {
    kKeuMode,  kKeuKeySize, kKeuDataSize, kKeuResetControl, kKeuStatus, kKeuInterruptStatus, kKeuInterruptControl,
    kKeuF9Mac, kKeuGo,      kKeuIv1,      kKeuIcvIn,        kKeuIv2,    kKeuContext,         kKeuKey,
    kKeuFifo};
inline constexpr Block kKeuBlock{.name = "KEU", .doc = "KASUMI unit.", .registers = kKeuRegisters};
static_assert(well_formed(kKeuBlock));

}  // namespace sec::regs
