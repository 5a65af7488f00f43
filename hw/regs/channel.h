// One channel: configuration (CCCR), status and errors (CCPSR), the descriptor being worked on (CDPR
// and the descriptor buffer), and the fetch FIFO through which descriptors are handed over.
//
// Writing the *low* word of FF enqueues; the high word (address bits 35:32) is latched before. [LX][USP]
// CCPSR differs between the generations, in the state fields and in the meaning of the low four error
// bits; kCCPSR is SEC 2.x, kCCPSR3 is SEC 3.x. The codes in the state fields are not public: ours are
// ChannelState (ASSUMED), where 0 is idle as FB relies on.
// SEC 1 has one Fetch Register instead of the FIFO and can follow a chain of descriptors (CCCR[NE]); its constants end in 1.
// Error bits are sticky until the channel is reset or continued or starts a new descriptor; DOF and SOF
// of SEC 3.1 are also cleared by writing 1. [T23][USP]
#pragma once
#include "hw/regs/bits.h"
#include "hw/regs/variants.h"

namespace sec::regs {

inline constexpr Field kCCCRFields[] = {
    {.name = "CON",
     .bits = hi(0x2),
     .access = Access::SelfClearing,
     .doc = "Continue: reset the channel and its units but keep the fetch FIFO and CCCR LO, then go on. [MOC][USP]"},
    {.name = "R", .bits = hi(0x1), .access = Access::SelfClearing, .doc = "Reset the channel. [LX]"},
    {.name = "WGN", .bits = lo(0x2000), .doc = "SEC 3: watchdog enable. ASSUMED from its place. [FB]"},
    {.name = "BS", .bits = lo(0x100), .doc = "Burst size: 0 = 64 bytes, 1 = 128 bytes. [T23]"},
    {.name = "IWSE",
     .bits = lo(0x80),
     .doc = "SEC 2.1+: write the ICV check result into the header's second word. [LX]"},
    {.name = "EAE", .bits = lo(0x20), .doc = "Extended addresses: 36 bits, the eptr nibbles are valid. [LX]"},
    {.name = "CDWE", .bits = lo(0x10), .doc = "Done write-back: 0xff into byte 0 of the header. [LX]"},
    {.name = "AWSE", .bits = lo(0x8), .doc = "SEC 3: always write the second word back. [T23][FB]"},
    {.name = "NT",
     .bits = lo(0x4),
     .doc = "Notification: 0 after every descriptor, 1 only where the header's DN is set. [MOC]"},
    {.name = "CDIE", .bits = lo(0x2), .doc = "Done interrupt enable. [LX]"},
};
inline constexpr Register kCCCR{.name = "CCCR",
                                .offset_bytes = 0x08,
                                .fields = kCCCRFields,
                                .doc = "Channel configuration.",
                                .source = "LX, FB, T23"};

/// Error bits of CCPSR (low word). The same four low bits mean different things on SEC 2.x and 3.x.
namespace channel_error {
inline constexpr uint64_t kDof = 0x8000;    // double fetch-FIFO overflow; halts
inline constexpr uint64_t kSof = 0x4000;    // single fetch-FIFO overflow; a pointer was dropped, does not halt
inline constexpr uint64_t kMdte = 0x2000;   // master data transfer error
inline constexpr uint64_t kSgdlz = 0x1000;  // scatter/gather data length zero
inline constexpr uint64_t kFpz = 0x0800;    // fetch pointer zero
inline constexpr uint64_t kIdh = 0x0400;    // illegal descriptor header
inline constexpr uint64_t kIeu = 0x0200;    // invalid execution unit
inline constexpr uint64_t kEu = 0x0100;     // error in an execution unit
inline constexpr uint64_t kGb = 0x0080;     // SEC 2: gather boundary
inline constexpr uint64_t kGrl = 0x0040;    // SEC 2: gather return/length
inline constexpr uint64_t kSb = 0x0020;     // SEC 2: scatter boundary
inline constexpr uint64_t kSrl = 0x0010;    // SEC 2: scatter return/length
inline constexpr uint64_t kWdt = 0x0080;    // SEC 3: watchdog time-out
inline constexpr uint64_t kSgml = 0x0040;   // SEC 3: scatter/gather length mismatch
inline constexpr uint64_t kRsi = 0x0020;    // SEC 3: RAID size incorrect; reported only
inline constexpr uint64_t kRsg = 0x0010;    // SEC 3: RAID scatter/gather; reported only
// SEC 1; MDTE, IDH and EU are where the later generations have them. [LX][MCFh]
inline constexpr uint64_t kPnc = 0x1000;    // SEC 1: pointer not complete
inline constexpr uint64_t kParity = 0x0800; // SEC 1: parity error
inline constexpr uint64_t kSerr = 0x0200;   // SEC 1: static assignment error
inline constexpr uint64_t kAll = 0xfff0, kAll1 = 0x3f00;
/// The bits that a generation has.
constexpr uint64_t all(Generation g) { return g == Generation::Sec1 ? kAll1 : kAll; }
/// Bits that do not stop the channel. [USP]
constexpr uint64_t not_halting(Generation g) {
  return g == Generation::Sec1 ? 0 : g == Generation::Sec3 ? kSof | kRsi | kRsg : kSof;
}
/// Descriptor asks for a unit that the part does not have or that it may not have.
constexpr uint64_t bad_unit(Generation g) { return g == Generation::Sec1 ? kSerr : kIeu; }
}  // namespace channel_error

inline constexpr Field kCCPSRFields[] = {
    {.name = "FF_LEVEL", .bits = hi(0x1f000000), .doc = "Descriptor pointers waiting in the fetch FIFO."},
    {.name = "GET_STATE", .bits = hi(0x000f0000), .model = Model::Absent, .doc = "State of gathering; 0 = idle."},
    {.name = "PUT_STATE", .bits = hi(0x00000f00), .model = Model::Absent, .doc = "State of scattering; 0 = idle."},
    {.name = "MAIN_STATE", .bits = hi(0x000000ff), .doc = "State of the channel. ASSUMED codes: ChannelState."},
    {.name = "MI",
     .bits = lo(0x02000000),
     .doc = "In-snoop: the secondary unit listens to the primary's input."},
    {.name = "MO",
     .bits = lo(0x01000000),
     .doc = "Out-snoop: the secondary unit listens to the primary's output."},
    {.name = "PR", .bits = lo(0x00800000), .doc = "Requesting the primary unit."},
    {.name = "SR", .bits = lo(0x00400000), .doc = "Requesting the secondary unit."},
    {.name = "PG", .bits = lo(0x00200000), .doc = "Primary unit granted."},
    {.name = "SG", .bits = lo(0x00100000), .doc = "Secondary unit granted."},
    {.name = "PRD", .bits = lo(0x00080000), .doc = "Primary unit has finished its reset."},
    {.name = "SRD", .bits = lo(0x00040000), .doc = "Secondary unit has finished its reset."},
    {.name = "PD", .bits = lo(0x00020000), .doc = "Primary unit is done."},
    {.name = "SD", .bits = lo(0x00010000), .doc = "Secondary unit is done."},
    {.name = "DOF", .bits = lo(0x8000), .doc = "Double fetch-FIFO overflow; the channel halts."},
    {.name = "SOF", .bits = lo(0x4000), .doc = "Single fetch-FIFO overflow: the pointer written was dropped."},
    {.name = "MDTE", .bits = lo(0x2000), .doc = "Master data transfer error: a bus error on the engine's own access."},
    {.name = "SGDLZ", .bits = lo(0x1000), .doc = "A link-table entry with data length zero."},
    {.name = "FPZ", .bits = lo(0x0800), .doc = "Fetch pointer zero: address 0 was enqueued."},
    {.name = "IDH", .bits = lo(0x0400), .doc = "Illegal descriptor header."},
    {.name = "IEU", .bits = lo(0x0200), .doc = "Invalid execution unit."},
    {.name = "EU", .bits = lo(0x0100), .doc = "An execution unit has an error; see its interrupt status."},
    {.name = "GB",
     .bits = lo(0x0080),
     .doc = "Gather boundary: a segment straddles two parcels."},
    {.name = "GRL", .bits = lo(0x0040), .doc = "Gather return/length: the table ended early or bytes are left over."},
    {.name = "SB", .bits = lo(0x0020), .doc = "Scatter boundary."},
    {.name = "SRL", .bits = lo(0x0010), .doc = "Scatter return/length."},
    {.name = "PAIR_PTR", .bits = lo(0x000f), .doc = "Pointer dword being worked on."},
};
inline constexpr Register kCCPSR{.name = "CCPSR",
                                 .offset_bytes = 0x10,
                                 .fields = kCCPSRFields,
                                 .doc = "Channel pointer status, SEC 2.x.",
                                 .source = "T23, FB, MOC, LX",
                                 .access = Access::ReadOnly};

inline constexpr Field kCCPSR3Fields[] = {
    {.name = "GET_STATE", .bits = hi(0x7f000000), .model = Model::Absent, .doc = "State of gathering; 0 = idle."},
    {.name = "PUT_STATE", .bits = hi(0x007f0000), .model = Model::Absent, .doc = "State of scattering; 0 = idle."},
    {.name = "MAIN_STATE", .bits = hi(0x000001ff), .doc = "State of the channel. ASSUMED codes: ChannelState."},
    {.name = "FF_LEVEL", .bits = lo(0x1f000000), .doc = "Descriptor pointers waiting in the fetch FIFO."},
    {.name = "PRD", .bits = lo(0x00080000), .doc = "Primary unit has finished its reset."},
    {.name = "SRD", .bits = lo(0x00040000), .doc = "Secondary unit has finished its reset."},
    {.name = "PD", .bits = lo(0x00020000), .doc = "Primary unit is done."},
    {.name = "SD", .bits = lo(0x00010000), .doc = "Secondary unit is done."},
    {.name = "DOF",
     .bits = lo(0x8000),
     .access = Access::WriteOneToClear,
     .doc = "Double fetch-FIFO overflow; the channel halts. [USP]"},
    {.name = "SOF",
     .bits = lo(0x4000),
     .access = Access::WriteOneToClear,
     .doc = "Single fetch-FIFO overflow: the pointer written was dropped. [USP]"},
    {.name = "MDTE", .bits = lo(0x2000), .doc = "Master data transfer error: a bus error on the engine's own access."},
    {.name = "SGDLZ", .bits = lo(0x1000), .doc = "A link-table entry with data length zero."},
    {.name = "FPZ", .bits = lo(0x0800), .doc = "Fetch pointer zero: address 0 was enqueued."},
    {.name = "IDH", .bits = lo(0x0400), .doc = "Illegal descriptor header."},
    {.name = "IEU", .bits = lo(0x0200), .doc = "Invalid execution unit."},
    {.name = "EU", .bits = lo(0x0100), .doc = "An execution unit has an error; see its interrupt status."},
    {.name = "WDT", .bits = lo(0x0080), .doc = "Watchdog time-out. ASSUMED: enabled by CCCR[WGN]. [USP]"},
    {.name = "SGML", .bits = lo(0x0040), .doc = "Scatter/gather length mismatch. [USP]"},
    {.name = "RSI", .bits = lo(0x0020), .doc = "RAID size incorrect; no action needed. [USP]"},
    {.name = "RSG", .bits = lo(0x0010), .doc = "RAID scatter/gather error; no action. [USP]"},
    {.name = "PAIR_PTR", .bits = lo(0x000f), .doc = "ASSUMED on SEC 3: pointer dword being worked on."},
};
inline constexpr Register kCCPSR3{.name = "CCPSR",
                                  .offset_bytes = 0x10,
                                  .fields = kCCPSR3Fields,
                                  .doc = "Channel pointer status, SEC 3.x.",
                                  .source = "T23, FB, USP",
                                  .access = Access::ReadOnly};

// ---- SEC 1 ----

inline constexpr Field kCCCRFields1[] = {
    {.name = "BURST",
     .bits = lo(0x700),
     .doc = "Burst size: 0 = 2, 1 = 8, n = 8 n. ASSUMED: 32-bit words. [MCFh][MOC]"},
    {.name = "CDWE", .bits = lo(0x10), .doc = "Done write-back: 0xff into byte 0 of the header. [LX][MCFh]"},
    {.name = "NE", .bits = lo(0x8), .doc = "Next enable: follow the descriptor's last word to the next one. [LX][MCFh]"},
    {.name = "NT", .bits = lo(0x4), .doc = "Notification: 0 at the end of a chain, 1 after every descriptor. [MOC]"},
    {.name = "CDIE", .bits = lo(0x2), .doc = "Done interrupt enable. [LX][MCFh]"},
    {.name = "R", .bits = lo(0x1), .access = Access::SelfClearing, .doc = "Reset the channel. [LX][MCFh]"},
};
inline constexpr Register kCCCR1{.name = "CCCR",
                                 .offset_bytes = 0x08,
                                 .fields = kCCCRFields1,
                                 .doc = "Channel configuration, SEC 1.",
                                 .source = "LX, MCFh, MOC"};

inline constexpr Field kCCPSRFields1[] = {
    {.name = "MAIN_STATE", .bits = hi(0x000000ff), .doc = "State of the channel. ASSUMED codes: ChannelState."},
    {.name = "STAT", .bits = lo(0x04000000), .doc = "The units were assigned when the descriptor started (EUACR)."},
    {.name = "MI", .bits = lo(0x02000000), .doc = "In-snoop: the secondary unit listens to the primary's input."},
    {.name = "MO", .bits = lo(0x01000000), .doc = "Out-snoop: the secondary unit listens to the primary's output."},
    {.name = "PR", .bits = lo(0x00800000), .doc = "Requesting the primary unit."},
    {.name = "SR", .bits = lo(0x00400000), .doc = "Requesting the secondary unit."},
    {.name = "PG", .bits = lo(0x00200000), .doc = "Primary unit granted."},
    {.name = "SG", .bits = lo(0x00100000), .doc = "Secondary unit granted."},
    {.name = "PRD", .bits = lo(0x00080000), .doc = "Primary unit has finished its reset."},
    {.name = "SRD", .bits = lo(0x00040000), .doc = "Secondary unit has finished its reset."},
    {.name = "PD", .bits = lo(0x00020000), .doc = "Primary unit is done."},
    {.name = "SD", .bits = lo(0x00010000), .doc = "Secondary unit is done."},
    {.name = "MDTE", .bits = lo(0x2000), .doc = "TEA, a bus error on the engine's own access. [LX][MCFh]"},
    {.name = "PNC", .bits = lo(0x1000), .model = Model::Absent, .doc = "Pointer not complete. [LX]"},
    {.name = "PAR", .bits = lo(0x0800), .model = Model::Absent, .doc = "Parity error. [LX]"},
    {.name = "IDH", .bits = lo(0x0400), .doc = "Illegal descriptor header. [LX][MCFh]"},
    {.name = "SERR", .bits = lo(0x0200), .doc = "Static assignment: the unit is missing or given to another channel. [LX]"},
    {.name = "EU", .bits = lo(0x0100), .doc = "An execution unit has an error; see its interrupt status. [LX]"},
    {.name = "PAIR_PTR", .bits = lo(0x00ff), .doc = "Pointer pair being worked on."},
};
inline constexpr Register kCCPSR1{.name = "CCPSR",
                                  .offset_bytes = 0x10,
                                  .fields = kCCPSRFields1,
                                  .doc = "Channel pointer status, SEC 1.",
                                  .source = "LX, MOC, MCFh",
                                  .access = Access::ReadOnly};

inline constexpr Field kAddressFields[] = {
    {.name = "ADDRESS", .bits = {28, 63}, .doc = "Address of the descriptor, 36 bits with CCCR[EAE]."},
};
inline constexpr Register kCDPR{.name = "CDPR",
                                .offset_bytes = 0x40,
                                .fields = kAddressFields,
                                .doc = "Address of the descriptor now in the buffer; the write-back goes there.",
                                .source = "LX, MOC",
                                .access = Access::ReadOnly};
inline constexpr Field kAddressFields1[] = {
    {.name = "ADDRESS", .bits = lo(0xffffffff), .doc = "Address of the descriptor."},
};
inline constexpr Register kCDPR1{.name = "CDPR",
                                 .offset_bytes = 0x40,
                                 .fields = kAddressFields1,
                                 .doc = "Address of the descriptor now in the buffer, fetched or chained.",
                                 .source = "LX, MOC, MCFh",
                                 .access = Access::ReadOnly};
inline constexpr Register kFR1{.name = "FR",
                               .offset_bytes = 0x48,
                               .fields = kAddressFields1,
                               .doc = "Fetch Register: writing the low word starts a descriptor or a chain. "
                                      "ASSUMED: one write is kept while the channel is busy.",
                               .source = "LX, MCFh",
                               .access = Access::WriteOnly};
inline constexpr Register kFF{.name = "FF",
                              .offset_bytes = 0x48,
                              .fields = kAddressFields,
                              .doc = "Fetch FIFO: writing the low word enqueues a descriptor address.",
                              .source = "LX, USP",
                              .access = Access::WriteOnly};
inline constexpr Register kDescriptorBuffer{.name = "DB",
                                            .offset_bytes = 0x80,
                                            .doc = "Descriptor buffer: header and seven pointers.",
                                            .source = "LX, MSC",
                                            .access = Access::ReadOnly,
                                            .size_bytes = 64};
inline constexpr Register kGatherTable{.name = "GLT",
                                       .offset_bytes = 0xc0,
                                       .doc = "Gather link table: the four entries fetched last.",
                                       .source = "T23",
                                       .access = Access::ReadOnly,
                                       .size_bytes = 32};
inline constexpr Register kScatterTable{.name = "SLT",
                                        .offset_bytes = 0xe0,
                                        .doc = "Scatter link table: the four entries fetched last.",
                                        .source = "T23",
                                        .access = Access::ReadOnly,
                                        .size_bytes = 32};

inline constexpr Register kDescriptorBuffer1{.name = "DB",
                                             .offset_bytes = 0x80,
                                             .doc = "Descriptor buffer: header, seven pointer pairs, next descriptor.",
                                             .source = "LX, MOC",
                                             .access = Access::ReadOnly,
                                             .size_bytes = 64};
inline constexpr Register kChannelRegisters1[] = {kCCCR1, kCCPSR1, kCDPR1, kFR1, kDescriptorBuffer1};
inline constexpr Register kChannelRegisters[] = {kCCCR,        kCCPSR,       kCDPR, kFF, kDescriptorBuffer,
                                                 kGatherTable, kScatterTable};
inline constexpr Register kChannelRegisters3[] = {kCCCR,        kCCPSR3,      kCDPR, kFF, kDescriptorBuffer,
                                                  kGatherTable, kScatterTable};
inline constexpr Block kChannelBlock{.name = "channel", .doc = "One channel, SEC 2.x.", .registers = kChannelRegisters};
inline constexpr Block kChannelBlock3{
    .name = "channel", .doc = "One channel, SEC 3.x.", .registers = kChannelRegisters3};
static_assert(well_formed(kChannelBlock) && well_formed(kChannelBlock3));
inline constexpr Block kChannelBlock1{.name = "channel", .doc = "One channel, SEC 1.", .registers = kChannelRegisters1};
static_assert(well_formed(kChannelBlock1));

constexpr const Block& channel_block(Generation g) {
  return g == Generation::Sec1 ? kChannelBlock1 : g == Generation::Sec3 ? kChannelBlock3 : kChannelBlock;
}
constexpr const Register& cccr(Generation g) { return g == Generation::Sec1 ? kCCCR1 : kCCCR; }
constexpr const Register& ccpsr(Generation g) {
  return g == Generation::Sec1 ? kCCPSR1 : g == Generation::Sec3 ? kCCPSR3 : kCCPSR;
}
/// CCCR[R], in the low word on SEC 1 and in the high word later.
constexpr uint64_t channel_reset(Generation g) { return g == Generation::Sec1 ? kCCCR1.mask("R") : kCCCR.mask("R"); }
/// What makes a channel go on after an error: CCCR[CON], and on SEC 1, which has none, CCCR[R].
constexpr uint64_t channel_continue(Generation g) { return g == Generation::Sec1 ? kCCCR1.mask("R") : kCCCR.mask("CON"); }
static_assert(kCCCR1.mask("CDWE") == kCCCR.mask("CDWE") && kCCCR1.mask("NT") == kCCCR.mask("NT") &&
              kCCCR1.mask("CDIE") == kCCCR.mask("CDIE") && kCCCR1.mask("NE") == kCCCR.mask("AWSE"));

/// What CCPSR[MAIN_STATE] shows. ASSUMED: the hardware's codes are not public; only 0 = idle is. [FB]
enum class ChannelState : uint8_t {
  Idle = 0,
  Fetch = 1,
  Decode = 2,
  RequestPrimary = 3,
  RequestSecondary = 4,
  ResetEu = 5,
  Load = 6,
  Run = 7,
  WaitDone = 8,
  Store = 9,
  WriteBack = 10,
  Release = 11,
  Error = 12,
};
inline constexpr EnumName kChannelStateNames[] = {
    {0, "IDLE"}, {1, "FETCH"},     {2, "DECODE"}, {3, "REQ_PRI"},    {4, "REQ_SEC"},  {5, "RESET_EU"}, {6, "LOAD"},
    {7, "RUN"},  {8, "WAIT_DONE"}, {9, "STORE"},  {10, "WRITEBACK"}, {11, "RELEASE"}, {12, "ERROR"},
};
constexpr std::string_view name_of(ChannelState s) { return name_in(kChannelStateNames, static_cast<uint64_t>(s)); }

}  // namespace sec::regs
