// MDEU, the message digest unit at 0x6000: the common registers under the manual's names, and its mode byte.
//
// One unit with two select codes: MDEU-A hashes MD5, SHA-1, SHA-224 and SHA-256, MDEU-B (SEC 3.x) the SHA-2
// family; both use these registers. ALG means different algorithms under the two codes. [T23][LX]
// A message in several descriptors: INIT on the first, CONT on all but the last, PD on the last.
#pragma once
#include "hw/regs/eu_common.h"

namespace sec::regs {

namespace mdeu_mode {
inline constexpr uint8_t kContinue = 0x80;  // CONT: leave the hash open, context goes out
inline constexpr uint8_t kCheckIcv = 0x40;  // CICV: compare with the ICV that comes in
inline constexpr uint8_t kSslMac = 0x20;    // SMAC
inline constexpr uint8_t kInit = 0x10;      // INIT: load the algorithm's initial values
inline constexpr uint8_t kHmac = 0x08;
inline constexpr uint8_t kPad = 0x04;  // PD
inline constexpr uint8_t kAlgorithmMask = 0x03;
// Under Eu::MdeuA.
inline constexpr uint8_t kSha1 = 0x00;
inline constexpr uint8_t kSha256 = 0x01;
inline constexpr uint8_t kMd5 = 0x02;
inline constexpr uint8_t kSha224 = 0x03;
// Under Eu::MdeuB; SHA-256 and SHA-224 as above.
inline constexpr uint8_t kSha384 = 0x00;
inline constexpr uint8_t kSha512 = 0x02;
}  // namespace mdeu_mode

inline constexpr EnumName kMdeuAModeNames[] = {{0, "SHA-1"}, {1, "SHA-256"}, {2, "MD5"}, {3, "SHA-224"}};
inline constexpr EnumName kMdeuBModeNames[] = {{0, "SHA-384"}, {1, "SHA-256"}, {2, "SHA-512"}, {3, "SHA-224"}};

inline constexpr Field kMdeuModeFields[] = {
    {.name = "CONT", .bits = lo(0x80), .doc = "Continue: no padding, the context goes out."},
    {.name = "CICV", .bits = lo(0x40), .doc = "Compare the digest with the ICV that comes in."},
    {.name = "SMAC", .bits = lo(0x20), .doc = "SSL 3 MAC."},
    {.name = "INIT", .bits = lo(0x10), .doc = "Load the algorithm's initial values."},
    {.name = "HMAC", .bits = lo(0x08), .doc = "HMAC with the key register."},
    {.name = "PD", .bits = lo(0x04), .doc = "Pad the last piece."},
    {.name = "ALG", .bits = lo(0x03), .doc = "Algorithm; depends on the select code."},
};
inline constexpr Register kMdeuMode{
    .name = "MDEUMR", .offset_bytes = 0x00, .fields = kMdeuModeFields, .doc = "Mode.", .source = "T23"};
inline constexpr Register kMdeuKeySize = renamed(kEuKeySize, "MDEUKSR");
inline constexpr Register kMdeuDataSize = renamed(kEuDataSize, "MDEUDSR");
inline constexpr Register kMdeuResetControl = renamed(kEuResetControl, "MDEURCR");
inline constexpr Register kMdeuStatus = renamed(kEuStatus, "MDEUSR");
inline constexpr Register kMdeuInterruptStatus = renamed(kEuInterruptStatus, "MDEUISR");
inline constexpr Register kMdeuInterruptControl = renamed(kEuInterruptControl, "MDEUICR");
inline constexpr Register kMdeuIcvSize{
    .name = "MDEUICVSR", .offset_bytes = 0x40, .doc = "ICV size in bytes.", .source = "T23"};
inline constexpr Register kMdeuGo = renamed(kEuGo, "MDEUEUG");
inline constexpr Register kMdeuContext{.name = "MDEUCTX",
                                       .offset_bytes = 0x100,
                                       .doc = "State words, then the 64-bit count: 0x28 bytes, 0x48 for SHA-384/512.",
                                       .source = "T23, LX",
                                       .size_bytes = 0x48};
inline constexpr Register kMdeuKey{.name = "MDEUKEY",
                                   .offset_bytes = 0x400,
                                   .doc = "HMAC key, up to 128 bytes.",
                                   .source = "T23",
                                   .access = Access::WriteOnly,
                                   .size_bytes = 0x80};
inline constexpr Register kMdeuFifo{.name = "MDEUFIFO",
                                    .offset_bytes = 0x800,
                                    .doc = "Input FIFO.",
                                    .source = "T23",
                                    .access = Access::WriteOnly,
                                    .size_bytes = 0x800};

inline constexpr Register kMdeuRegisters[] = {kMdeuMode,
                                              kMdeuKeySize,
                                              kMdeuDataSize,
                                              kMdeuResetControl,
                                              kMdeuStatus,
                                              kMdeuInterruptStatus,
                                              kMdeuInterruptControl,
                                              kMdeuIcvSize,
                                              kMdeuGo,
                                              kMdeuContext,
                                              kMdeuKey,
                                              kMdeuFifo};
inline constexpr Block kMdeuBlock{.name = "MDEU", .doc = "Message digest unit.", .registers = kMdeuRegisters};
static_assert(well_formed(kMdeuBlock));

}  // namespace sec::regs
