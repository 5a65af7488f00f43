// STEU, the SNOW 3G unit at 0xD000 (SEC 3.1): the common registers under the manual's names, its mode byte and its
// context.
//
// Mode: f8 (UEA2) or f9 (UIA2); INIT on the first, EOM on the last piece of a message; CICV compares the MAC. [T23]
// Context: IV 1, received MAC, IV 2, four registers of f9 state, then the generator: LFSR and FSM.
#pragma once
#include "hw/regs/eu_common.h"

namespace sec::regs {

namespace steu_mode {
inline constexpr uint8_t kCheckIcv = 0x40;      // CICV
inline constexpr uint8_t kEndOfMessage = 0x10;  // EOM
inline constexpr uint8_t kInit = 0x08;
inline constexpr uint8_t kAlgorithmMask = 0x03;
inline constexpr uint8_t kF8 = 0x01;
inline constexpr uint8_t kF9 = 0x02;
}  // namespace steu_mode

inline constexpr EnumName kSteuModeNames[] = {{0x01, "f8"}, {0x02, "f9"}};

inline constexpr Field kSteuModeFields[] = {
    {.name = "CICV", .bits = lo(0x40), .doc = "Compare the MAC with the received one."},
    {.name = "EOM", .bits = lo(0x10), .doc = "End of message: last piece."},
    {.name = "INIT", .bits = lo(0x08), .doc = "First piece: start from the IVs."},
    {.name = "ALG", .bits = lo(0x03), .doc = "1 f8, 2 f9."},
};
inline constexpr Register kSteuMode{
    .name = "STEUMR", .offset_bytes = 0x00, .fields = kSteuModeFields, .doc = "Mode.", .source = "T23, USP"};
inline constexpr Register kSteuKeySize = renamed(kEuKeySize, "STEUKSR");
inline constexpr Register kSteuDataSize = renamed(kEuDataSize, "STEUDSR");
inline constexpr Register kSteuResetControl = renamed(kEuResetControl, "STEURCR");
inline constexpr Register kSteuStatus = renamed(kEuStatus, "STEUSR");
inline constexpr Register kSteuInterruptStatus = renamed(kEuInterruptStatus, "STEUISR");
inline constexpr Register kSteuInterruptControl = renamed(kEuInterruptControl, "STEUICR");
inline constexpr Register kSteuF9Mac{.name = "STEUMAC",
                                     .offset_bytes = 0x48,
                                     .doc = "f9 MAC, in the low word.",
                                     .source = "T23",
                                     .access = Access::ReadOnly};
inline constexpr Register kSteuGo = renamed(kEuGo, "STEUEUG");
inline constexpr Register kSteuIv1{.name = "STEUIV1",
                                   .offset_bytes = 0x100,
                                   .doc = "IV 1: COUNT in HI; bearer and direction in LO.",
                                   .source = "T23, USP"};
inline constexpr Register kSteuIcvIn{
    .name = "STEUICVI", .offset_bytes = 0x108, .doc = "Received MAC, in LO.", .source = "T23, USP"};
inline constexpr Register kSteuIv2{
    .name = "STEUIV2", .offset_bytes = 0x110, .doc = "IV 2: FRESH in LO.", .source = "T23, USP"};
inline constexpr Register kSteuContext{
    .name = "STEUCTX", .offset_bytes = 0x118, .doc = "f9 state between pieces.", .source = "T23", .size_bytes = 0x20};
inline constexpr Register kSteuLfsr{
    .name = "STEULFSR", .offset_bytes = 0x138, .doc = "LFSR, s0 first.", .source = "T23", .size_bytes = 0x40};
inline constexpr Register kSteuFsm{
    .name = "STEUFSM", .offset_bytes = 0x178, .doc = "FSM: R1, R2, R3.", .source = "T23", .size_bytes = 0x10};
inline constexpr Register kSteuKey{.name = "STEUKEY",
                                   .offset_bytes = 0x400,
                                   .doc = "Key, 16 bytes.",
                                   .source = "T23",
                                   .access = Access::WriteOnly,
                                   .size_bytes = 0x10};
inline constexpr Register kSteuFifo = renamed(kEuFifo, "STEUFIFO");

inline constexpr Register kSteuRegisters[] = {kSteuMode,
                                              kSteuKeySize,
                                              kSteuDataSize,
                                              kSteuResetControl,
                                              kSteuStatus,
                                              kSteuInterruptStatus,
                                              kSteuInterruptControl,
                                              kSteuF9Mac,
                                              kSteuGo,
                                              kSteuIv1,
                                              kSteuIcvIn,
                                              kSteuIv2,
                                              kSteuContext,
                                              kSteuLfsr,
                                              kSteuFsm,
                                              kSteuKey,
                                              kSteuFifo};
inline constexpr Block kSteuBlock{.name = "STEU", .doc = "SNOW 3G unit.", .registers = kSteuRegisters};
static_assert(well_formed(kSteuBlock));

}  // namespace sec::regs
