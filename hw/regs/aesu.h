// AESU, the AES unit at 0x4000: the common registers under the manual's names, its mode byte, and the layout of its
// context.
//
// The mode byte has ED (encrypt), CM (two bits), three bits whose meaning depends on the mode (RDK, IM,
// FM), and ECM (two bits). ECM extends CM: `mode & kAlgorithmMask` names the algorithm. [T23]
// RDK: the key register holds the last round key already, so a decrypt need not run the key schedule.
// No source lists XTS; LRW is the disk mode of this unit.
//
// Context, in the order of memory (pointer "context in" or "context out") and of the window at 0x100:
//
//   CBC, OFB, CFB-128   IV, then the next one
//   CTR, SRTP           counter (16), modulus exponent e (8, default 128): only the low e bits count
//   LRW                 index of the block (16), tweak key (16)
//   CMAC, XCBC-MAC      in: chaining value, none for a whole message; out: the MAC
//   CCM in              B0, or the open MAC (16); ICV as received, filled up with zeros (16); counter block A0 (16);
//                       modulus exponent (8): 56 bytes
//   CCM out             MAC before encryption, filled up with zeros (16); ICV: encrypting the encrypted one, decrypting
//                       the received one decrypted (16); an open message: as CCM in
//   GCM                 GHASH, or the MAC (16); J0 (16); next counter (16); bits of AAD (8); bits of text (8): 64 bytes
//
// CCM is the vendor's own test of SEC 2 [S2D]: 56 bytes in, 32 out, packet 1 of RFC 3610. The exponent's place in CTR
// follows from it. ASSUMED: LRW, GCM, and the chaining value as context of the MACs.
//
// CCM and GCM in one descriptor have IM and FM set (0xb0, 0xb2; with the check 0xf0, 0xf2) [S2D]. IM takes B0 (GCM: the
// nonce) and starts, FM closes the MAC. IM alone, neither, FM alone: first, middle and last piece, context out to
// context in; all but the last are whole blocks. The additional data comes with the first, for CCM with its length in
// front as RFC 3610 encodes it.
#pragma once
#include "hw/regs/eu_common.h"

namespace sec::regs {

namespace aesu_mode {
inline constexpr uint8_t kEncrypt = 0x01;
inline constexpr uint8_t kCipherMode = 0x06;  // CM
inline constexpr uint8_t kRdk = 0x08;         // restore decrypt key (AUX0)
inline constexpr uint8_t kInitMac = 0x10;     // IM (AUX1)
inline constexpr uint8_t kFinalMac = 0x20;    // FM (AUX2)
inline constexpr uint8_t kEcm = 0xc0;
inline constexpr uint8_t kAlgorithmMask = kEcm | kCipherMode;

// Values under kAlgorithmMask.
inline constexpr uint8_t kEcb = 0x00;
inline constexpr uint8_t kCbc = 0x02;
inline constexpr uint8_t kOfb = 0x04;
inline constexpr uint8_t kCtr = 0x06;
inline constexpr uint8_t kLrw = 0x40;
inline constexpr uint8_t kCmac = 0x44;
inline constexpr uint8_t kSrtp = 0x46;
inline constexpr uint8_t kCcm = 0x80;
inline constexpr uint8_t kGcm = 0x82;
inline constexpr uint8_t kXcbcMac = 0x84;
inline constexpr uint8_t kCfb128 = 0x86;
inline constexpr uint8_t kXor = 0xc6;

// Values as the vendor's driver combines them.
inline constexpr uint8_t kCbcRbp = 0x22;  // CBC with residual block
inline constexpr uint8_t kLrwNoTweak = 0x60;
inline constexpr uint8_t kCmacCheck = 0x64;
inline constexpr uint8_t kCcmFinal = 0xa0;
inline constexpr uint8_t kCcmCheck = 0xc0;
inline constexpr uint8_t kGcmFinal = 0xa2;
inline constexpr uint8_t kGcmCheck = 0xc2;
inline constexpr uint8_t kXcbcMacCheck = 0xa4;
inline constexpr uint8_t kCcmWhole = kCcm | kInitMac | kFinalMac;            // 0xb0 [S2D]
inline constexpr uint8_t kCcmWholeCheck = kCcmCheck | kInitMac | kFinalMac;  // 0xf0 [S2D]
inline constexpr uint8_t kGcmWhole = kGcm | kInitMac | kFinalMac;
inline constexpr uint8_t kGcmWholeCheck = kGcmCheck | kInitMac | kFinalMac;
}  // namespace aesu_mode

/// Places in the context, see above.
namespace aesu_context {
inline constexpr uint32_t kIvBytes = 16;
inline constexpr uint32_t kCtrExponent = 0x10, kCtrBytes = 0x18;
inline constexpr uint32_t kLrwTweakKey = 0x10, kLrwBytes = 0x20;
inline constexpr uint32_t kCcmMac = 0x00, kCcmIcv = 0x10, kCcmCounter = 0x20, kCcmExponent = 0x30, kCcmInBytes = 0x38,
                          kCcmOutBytes = 0x20;
inline constexpr uint32_t kGcmMac = 0x00, kGcmJ0 = 0x10, kGcmCounter = 0x20, kGcmAadBits = 0x30, kGcmTextBits = 0x38,
                          kGcmBytes = 0x40;
}  // namespace aesu_context

/// Mode values without ED, RDK and (except where they select a variant) IM.
inline constexpr EnumName kAesuModeNames[] = {
    {0x00, "ECB"},       {0x02, "CBC"},         {0x22, "CBC-RBP"},        {0x04, "OFB"},        {0x06, "CTR"},
    {0x40, "LRW"},       {0x60, "LRW-notweak"}, {0x44, "CMAC"},           {0x64, "CMAC-check"}, {0x46, "SRTP"},
    {0x80, "CCM"},       {0xa0, "CCM-final"},   {0xc0, "CCM-check"},      {0x82, "GCM"},        {0xa2, "GCM-final"},
    {0xc2, "GCM-check"}, {0x84, "XCBC-MAC"},    {0xa4, "XCBC-MAC-check"}, {0x86, "CFB-128"},    {0xc6, "XOR"},
};

inline constexpr Field kAesuModeFields[] = {
    {.name = "ECM", .bits = lo(0xc0), .doc = "Extended cipher mode; with CM it names the algorithm."},
    {.name = "FM",
     .bits = lo(0x20),
     .doc = "Final MAC (AUX2); CBC: residual block; CMAC and XCBC: check the ICV; LRW: no tweak."},
    {.name = "IM", .bits = lo(0x10), .doc = "Initial MAC (AUX1): CCM and GCM start a message."},
    {.name = "RDK", .bits = lo(0x08), .doc = "Restore decrypt key: the key register holds the last round key."},
    {.name = "CM", .bits = lo(0x06), .doc = "Cipher mode: 0 ECB, 1 CBC, 2 OFB, 3 CTR when ECM is 0."},
    {.name = "ED", .bits = lo(0x01), .doc = "1 = encrypt."},
};
inline constexpr Register kAesuMode{
    .name = "AESUMR", .offset_bytes = 0x00, .fields = kAesuModeFields, .doc = "Mode.", .source = "T23"};
inline constexpr Register kAesuKeySize = renamed(kEuKeySize, "AESUKSR");
inline constexpr Register kAesuDataSize = renamed(kEuDataSize, "AESUDSR");
inline constexpr Register kAesuResetControl = renamed(kEuResetControl, "AESURCR");
inline constexpr Register kAesuStatus = renamed(kEuStatus, "AESUSR");
inline constexpr Register kAesuInterruptStatus = renamed(kEuInterruptStatus, "AESUISR");
inline constexpr Register kAesuInterruptControl = renamed(kEuInterruptControl, "AESUICR");
inline constexpr Register kAesuGo = renamed(kEuGo, "AESUEUG");
inline constexpr Register kAesuContext{.name = "AESUCTX",
                                       .offset_bytes = 0x100,
                                       .doc = "IV, counter or MAC (16 bytes), then what the mode asks for.",
                                       .source = "T23",
                                       .size_bytes = 0x80};
inline constexpr Register kAesuKey{.name = "AESUKEY",
                                   .offset_bytes = 0x400,
                                   .doc = "Key: 16, 24 or 32 bytes.",
                                   .source = "T23",
                                   .access = Access::WriteOnly,
                                   .size_bytes = 0x20};
inline constexpr Register kAesuFifo = renamed(kEuFifo, "AESUFIFO");

inline constexpr Register kAesuRegisters[] = {
    kAesuMode, kAesuKeySize, kAesuDataSize, kAesuResetControl, kAesuStatus, kAesuInterruptStatus, kAesuInterruptControl,
    kAesuGo,   kAesuContext, kAesuKey,      kAesuFifo};
inline constexpr Block kAesuBlock{.name = "AESU", .doc = "AES unit.", .registers = kAesuRegisters};
static_assert(well_formed(kAesuBlock));

}  // namespace sec::regs
