// DEU, the DES unit at 0x2000: the common registers under the manual's names, and its mode byte.
//
// Mode: ED encrypt, TS triple DES, CM 0 ECB, 1 CBC, 2 CFB-64, 3 OFB-64. [T23]
// Keys: three registers; 8 bytes use key 1, 16 bytes keys 1 and 2 (key 3 = key 1), 24 bytes all. The unit
// checks odd parity (KPE). ASSUMED: masked after reset on SEC 2+, since no driver masks it and none fails; not
// masked on SEC 1, where Linux has to mask it. [LXc dd3c0987f542]
#pragma once
#include "hw/regs/eu_common.h"

namespace sec::regs {

namespace deu_mode {
inline constexpr uint8_t kEncrypt = 0x01;
inline constexpr uint8_t kTriple = 0x02;
inline constexpr uint8_t kModeMask = 0x0c;  // CM
inline constexpr uint8_t kEcb = 0x00;
inline constexpr uint8_t kCbc = 0x04;
inline constexpr uint8_t kCfb64 = 0x08;
inline constexpr uint8_t kOfb64 = 0x0c;
}  // namespace deu_mode

inline constexpr EnumName kDeuModeNames[] = {{0x00, "ECB"}, {0x04, "CBC"}, {0x08, "CFB-64"}, {0x0c, "OFB-64"}};

inline constexpr Field kDeuModeFields[] = {
    {.name = "CM", .bits = lo(0x0c), .doc = "Cipher mode: 0 ECB, 1 CBC, 2 CFB-64, 3 OFB-64."},
    {.name = "TS", .bits = lo(0x02), .doc = "1 = triple DES."},
    {.name = "ED", .bits = lo(0x01), .doc = "1 = encrypt."},
};
inline constexpr Register kDeuMode{
    .name = "DEUMR", .offset_bytes = 0x00, .fields = kDeuModeFields, .doc = "Mode.", .source = "T23"};
inline constexpr Register kDeuKeySize = renamed(kEuKeySize, "DEUKSR");
inline constexpr Register kDeuDataSize = renamed(kEuDataSize, "DEUDSR");
inline constexpr Register kDeuResetControl = renamed(kEuResetControl, "DEURCR");
inline constexpr Register kDeuStatus = renamed(kEuStatus, "DEUSR");
inline constexpr Register kDeuInterruptStatus = renamed(kEuInterruptStatus, "DEUISR");
inline constexpr Register kDeuInterruptControl{
    .name = "DEUICR",
    .offset_bytes = 0x38,
    .reset = eu_error::kKpe,
    .fields = kEuInterruptFields,
    .doc = "Interrupt control: 1 masks the cause. ASSUMED: KPE masked at reset, but on SEC 1.",
    .source = "LX, USP, MCFh"};
inline constexpr Register kDeuGo = renamed(kEuGo, "DEUEUG");
inline constexpr Register kDeuIv{.name = "DEUIV", .offset_bytes = 0x100, .doc = "IV.", .source = "T23"};
inline constexpr Register kDeuKey1{
    .name = "DEUKEY1", .offset_bytes = 0x400, .doc = "Key 1.", .source = "T23", .access = Access::WriteOnly};
inline constexpr Register kDeuKey2{
    .name = "DEUKEY2", .offset_bytes = 0x408, .doc = "Key 2.", .source = "T23", .access = Access::WriteOnly};
inline constexpr Register kDeuKey3{
    .name = "DEUKEY3", .offset_bytes = 0x410, .doc = "Key 3.", .source = "T23", .access = Access::WriteOnly};
inline constexpr Register kDeuFifo = renamed(kEuFifo, "DEUFIFO");

inline constexpr Register kDeuRegisters[] = {kDeuMode,
                                             kDeuKeySize,
                                             kDeuDataSize,
                                             kDeuResetControl,
                                             kDeuStatus,
                                             kDeuInterruptStatus,
                                             kDeuInterruptControl,
                                             kDeuGo,
                                             kDeuIv,
                                             kDeuKey1,
                                             kDeuKey2,
                                             kDeuKey3,
                                             kDeuFifo};
inline constexpr Block kDeuBlock{.name = "DEU", .doc = "DES and triple-DES unit.", .registers = kDeuRegisters};
static_assert(well_formed(kDeuBlock));

}  // namespace sec::regs
