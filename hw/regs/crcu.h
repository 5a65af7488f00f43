// CRCU, the CRC unit at 0xF000 (SEC 3.x): the common registers under the manual's names, its mode byte, the polynomial
// register and the running CRC.
//
// Mode: ALG chooses the polynomial: 0 the one of IEEE 802.3, 1 Castagnoli's of iSCSI, 2 the one in the control
// register, 3 the one in the key. CICV compares, RAW leaves the result unmanipulated. [T23]
// ASSUMED, in all four: 32 bits, data bytes enter least significant bit first, the register starts with ones; the
// result is complemented, bit-reversed and stored least significant byte first, as it goes over the wire. With RAW it
// is the register itself, most significant byte first, which another descriptor can take as its context.
#pragma once
#include "hw/regs/eu_common.h"

namespace sec::regs {

namespace crcu_mode {
inline constexpr uint8_t kRaw = 0x80;
inline constexpr uint8_t kCheckIcv = 0x40;  // CICV
inline constexpr uint8_t kAlgorithmMask = 0x03;
inline constexpr uint8_t kCrc32 = 0x00;
inline constexpr uint8_t kCrc32c = 0x01;
inline constexpr uint8_t kStaticCustom = 0x02;
inline constexpr uint8_t kDynamicCustom = 0x03;
}  // namespace crcu_mode
inline constexpr uint32_t kCrc32Polynomial = 0x04c11db7, kCrc32cPolynomial = 0x1edc6f41;

inline constexpr EnumName kCrcuModeNames[] = {
    {0, "CRC-32"}, {1, "CRC-32C"}, {2, "static custom"}, {3, "dynamic custom"}};

inline constexpr Field kCrcuModeFields[] = {
    {.name = "RAW", .bits = lo(0x80), .doc = "Leave the result unmanipulated."},
    {.name = "CICV", .bits = lo(0x40), .doc = "Compare the result with a received one."},
    {.name = "ALG", .bits = lo(0x03), .doc = "0 CRC-32, 1 CRC-32C, 2 polynomial in control, 3 polynomial in key."},
};
inline constexpr Register kCrcuMode{
    .name = "CRCUMR", .offset_bytes = 0x00, .fields = kCrcuModeFields, .doc = "Mode.", .source = "T23"};
inline constexpr Register kCrcuKeySize = renamed(kEuKeySize, "CRCUKSR");
inline constexpr Register kCrcuDataSize = renamed(kEuDataSize, "CRCUDSR");
inline constexpr Register kCrcuResetControl = renamed(kEuResetControl, "CRCURCR");
inline constexpr Register kCrcuStatus = renamed(kEuStatus, "CRCUSR");
inline constexpr Register kCrcuInterruptStatus = renamed(kEuInterruptStatus, "CRCUISR");
inline constexpr Register kCrcuInterruptControl = renamed(kEuInterruptControl, "CRCUICR");
inline constexpr Field kCrcuControlFields[] = {
    {.name = "POLY", .bits = lo(0xffffffff), .doc = "Polynomial of the static custom CRC, without its x^32."},
};
inline constexpr Register kCrcuControl{.name = "CRCUCR",
                                       .offset_bytes = 0x20,
                                       .fields = kCrcuControlFields,
                                       .doc = "Control; kept by the reset before a descriptor (ASSUMED).",
                                       .source = "T23"};
inline constexpr Field kCrcuIcvSizeFields[] = {
    {.name = "BYTES", .bits = lo(0xff), .doc = "Bytes to compare; 0 = all four."},
};
inline constexpr Register kCrcuIcvSize{
    .name = "CRCUICVS", .offset_bytes = 0x40, .fields = kCrcuIcvSizeFields, .doc = "ICV size.", .source = "T23"};
inline constexpr Register kCrcuGo = renamed(kEuGo, "CRCUEUG");
inline constexpr Register kCrcuContext{.name = "CRCUCTX",
                                       .offset_bytes = 0x108,
                                       .doc = "Running CRC in, result out, in the high word (ASSUMED).",
                                       .source = "T23"};
inline constexpr Register kCrcuKey{.name = "CRCUKEY",
                                   .offset_bytes = 0x400,
                                   .doc = "Polynomial of the dynamic custom CRC: 4 bytes, in the high word (ASSUMED).",
                                   .source = "T23",
                                   .access = Access::WriteOnly};
inline constexpr Register kCrcuFifo = renamed(kEuFifo, "CRCUFIFO");

inline constexpr Register kCrcuRegisters[] = {kCrcuMode,    kCrcuKeySize, kCrcuDataSize,        kCrcuResetControl,
                                              kCrcuControl, kCrcuStatus,  kCrcuInterruptStatus, kCrcuInterruptControl,
                                              kCrcuIcvSize, kCrcuGo,      kCrcuContext,         kCrcuKey,
                                              kCrcuFifo};
inline constexpr Block kCrcuBlock{.name = "CRCU", .doc = "CRC unit.", .registers = kCrcuRegisters};
static_assert(well_formed(kCrcuBlock));

}  // namespace sec::regs
