// PKEU, the public-key unit at 0xC000: operand registers A, B, E and N, and routines on them.
//
// Operands [T23]: A and B are 256 bytes each and fall into quarters A0..A3 and B0..B3 of 64 bytes, which hold the
// coordinates and parameters of elliptic curves; E is the exponent or scalar, N the modulus. The mode byte is a
// routine number. Limits: moduli of 97 to 2048 bits, curves to 511 bits. [MOC][C14]
// ASSUMED: the data size register is the size of N in bits, the key size register that of E in bytes, the AB size
// register that of A and B in bits, and EU-Go starts the routine. The most significant byte of an operand is the first
// byte of its window, as it would be in big-endian memory.
#pragma once
#include "hw/regs/eu_common.h"

namespace sec::regs {

/// Routine numbers. [T23]
namespace pkeu_mode {
inline constexpr uint8_t kClearMemory = 0x01;
inline constexpr uint8_t kModExp = 0x02;
inline constexpr uint8_t kR2ModN = 0x03;
inline constexpr uint8_t kRrModP = 0x04;
inline constexpr uint8_t kFpPointMulAffine = 0x05;
inline constexpr uint8_t kF2mPointMulAffine = 0x06;
inline constexpr uint8_t kFpPointMulProjective = 0x07;
inline constexpr uint8_t kF2mPointMulProjective = 0x08;
inline constexpr uint8_t kFpPointAdd = 0x09;
inline constexpr uint8_t kFpPointDouble = 0x0a;
inline constexpr uint8_t kF2mPointAdd = 0x0b;
inline constexpr uint8_t kF2mPointDouble = 0x0c;
inline constexpr uint8_t kF2mR2 = 0x0d;
inline constexpr uint8_t kF2mInverse = 0x0e;
inline constexpr uint8_t kFpInverse = 0x0f;
inline constexpr uint8_t kModAdd = 0x10;
inline constexpr uint8_t kModExpTeq = 0x1d;  // timing-equalised
inline constexpr uint8_t kRsaSingleStepTeq = 0x1e;
inline constexpr uint8_t kModSub = 0x20;
inline constexpr uint8_t kMontgomeryMultiply = 0x30;
inline constexpr uint8_t kMultiplyDeconvert = 0x40;
inline constexpr uint8_t kF2mAdd = 0x50;
inline constexpr uint8_t kF2mMultiply = 0x60;
inline constexpr uint8_t kF2mMultiplyDeconvert = 0x70;
inline constexpr uint8_t kRsaSingleStep = 0x80;
inline constexpr uint8_t kBuild = 0xff;
}  // namespace pkeu_mode

inline constexpr EnumName kPkeuModeNames[] = {
    {0x01, "clear memory"},
    {0x02, "mod exp"},
    {0x03, "R2 mod N"},
    {0x04, "RR mod P"},
    {0x05, "Fp point multiply, affine"},
    {0x06, "F2m point multiply, affine"},
    {0x07, "Fp point multiply, projective"},
    {0x08, "F2m point multiply, projective"},
    {0x09, "Fp point add"},
    {0x0a, "Fp point double"},
    {0x0b, "F2m point add"},
    {0x0c, "F2m point double"},
    {0x0d, "F2m R2"},
    {0x0e, "F2m inverse"},
    {0x0f, "Fp inverse"},
    {0x10, "mod add"},
    {0x1d, "mod exp, timing-equalised"},
    {0x1e, "RSA single step, timing-equalised"},
    {0x20, "mod subtract"},
    {0x30, "Montgomery multiply"},
    {0x40, "multiply and deconvert"},
    {0x50, "F2m add"},
    {0x60, "F2m multiply"},
    {0x70, "F2m multiply and deconvert"},
    {0x80, "RSA single step"},
    {0xff, "build"},
};

inline constexpr Field kPkeuModeFields[] = {
    {.name = "ROUTINE", .bits = lo(0xff), .doc = "Routine number; one that does not exist raises ME."},
};
inline constexpr Register kPkeuMode{
    .name = "PKEUMR", .offset_bytes = 0x00, .fields = kPkeuModeFields, .doc = "Mode.", .source = "T23"};
inline constexpr Field kPkeuKeySizeFields[] = {
    {.name = "BYTES", .bits = lo(0xfff), .doc = "Size of E in bytes, 1 to 256; otherwise KSE. [T23]"},
};
inline constexpr Register kPkeuKeySize{.name = "PKEUKSR",
                                       .offset_bytes = 0x08,
                                       .fields = kPkeuKeySizeFields,
                                       .doc = "Key size: that of E.",
                                       .source = "T23"};
inline constexpr Field kPkeuDataSizeFields[] = {
    {.name = "BITS",
     .bits = lo(0xfff),
     .doc = "ASSUMED: size of N in bits, 97 to 2048 (curves: to 511); otherwise DSE."},
};
inline constexpr Register kPkeuDataSize{.name = "PKEUDSR",
                                        .offset_bytes = 0x10,
                                        .fields = kPkeuDataSizeFields,
                                        .doc = "Data size: that of N.",
                                        .source = "T23, MOC"};
inline constexpr Register kPkeuResetControl = renamed(kEuResetControl, "PKEURCR");
inline constexpr Register kPkeuStatus = renamed(kEuStatus, "PKEUSR");

/// The PKEU has no parity to check; the bit tells of an inverse that does not exist.
inline constexpr Field kPkeuInterruptFields[] = {
    {.name = "INV", .bits = lo(0x2000), .doc = "Inversion error: zero, or no inverse modulo N. ASSUMED position."},
    {.name = "IE", .bits = lo(0x1000), .doc = "Internal error."},
    {.name = "ERE", .bits = lo(0x800), .model = Model::Absent, .doc = "Early read; a routine is never seen half done."},
    {.name = "CE", .bits = lo(0x400), .doc = "A register was written while a channel holds the unit."},
    {.name = "KSE", .bits = lo(0x200), .doc = "Key size: E is empty or longer than 256 bytes."},
    {.name = "DSE", .bits = lo(0x100), .doc = "Data size: N or an operand is too short, too long, or N is even."},
    {.name = "ME", .bits = lo(0x80), .doc = "No such routine, or not one of the descriptor type."},
    {.name = "AE", .bits = lo(0x40), .doc = "Address error: nothing is there."},
};
inline constexpr Register kPkeuInterruptStatus{.name = "PKEUISR",
                                               .offset_bytes = 0x30,
                                               .fields = kPkeuInterruptFields,
                                               .doc = "Interrupt status: what went wrong.",
                                               .source = "LX, MCFh",
                                               .access = Access::ReadOnly};
inline constexpr Register kPkeuInterruptControl{.name = "PKEUICR",
                                                .offset_bytes = 0x38,
                                                .fields = kPkeuInterruptFields,
                                                .doc = "Interrupt control: 1 masks the cause.",
                                                .source = "LX, MCFh"};
inline constexpr Field kPkeuAbSizeFields[] = {
    {.name = "BITS", .bits = lo(0xfff), .doc = "ASSUMED: size of A and B in bits; of each quarter for curves."},
};
inline constexpr Register kPkeuAbSize{.name = "PKEUABS",
                                      .offset_bytes = 0x40,
                                      .fields = kPkeuAbSizeFields,
                                      .doc = "AB size: that of the operands in A and B.",
                                      .source = "T23"};
inline constexpr Register kPkeuGo{.name = "PKEUEUG",
                                  .offset_bytes = 0x50,
                                  .doc = "EU-Go: starts the routine (ASSUMED).",
                                  .source = "T23",
                                  .access = Access::WriteOnly};
inline constexpr uint32_t kPkeuQuarterBytes = 0x40, kPkeuOperandBytes = 0x100;
inline constexpr Register kPkeuA{.name = "PKEUA",
                                 .offset_bytes = 0x200,
                                 .doc = "A; quarters A0 to A3 at 0x200, 0x240, 0x280, 0x2c0.",
                                 .source = "T23",
                                 .size_bytes = kPkeuOperandBytes};
inline constexpr Register kPkeuB{.name = "PKEUB",
                                 .offset_bytes = 0x300,
                                 .doc = "B, where results are; quarters B0 to B3 at 0x300, 0x340, 0x380, 0x3c0.",
                                 .source = "T23",
                                 .size_bytes = kPkeuOperandBytes};
inline constexpr Register kPkeuE{.name = "PKEUE",
                                 .offset_bytes = 0x400,
                                 .doc = "E, exponent or scalar.",
                                 .source = "T23",
                                 .access = Access::WriteOnly,
                                 .size_bytes = kPkeuOperandBytes};
inline constexpr Register kPkeuN{.name = "PKEUN",
                                 .offset_bytes = 0x800,
                                 .doc = "N, modulus: an odd number, or the bits of a polynomial.",
                                 .source = "T23",
                                 .size_bytes = kPkeuOperandBytes};

inline constexpr Register kPkeuRegisters[] = {kPkeuMode,
                                              kPkeuKeySize,
                                              kPkeuDataSize,
                                              kPkeuResetControl,
                                              kPkeuStatus,
                                              kPkeuInterruptStatus,
                                              kPkeuInterruptControl,
                                              kPkeuAbSize,
                                              kPkeuGo,
                                              kPkeuA,
                                              kPkeuB,
                                              kPkeuE,
                                              kPkeuN};
inline constexpr Block kPkeuBlock{.name = "PKEU", .doc = "Public-key unit.", .registers = kPkeuRegisters};
static_assert(well_formed(kPkeuBlock));

}  // namespace sec::regs
