// Parts as rows of data: everything that differs between chips and is not behaviour.
// The driver probes from the same rows through the device tree properties that are printed from them
// (`secsim regs --device-tree`), so model and driver cannot disagree about a part.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace sec::regs {

/// Execution unit codes: header select codes and bit numbers of fsl,exec-units-mask. [LX][T23]
enum class Eu : uint8_t { None = 0, Afeu = 1, Deu = 2, MdeuA = 3, Rngu = 4, Pkeu = 5, Aesu = 6, Keu = 7, Crcu = 8, Steu = 9, MdeuB = 11 };

enum class Generation : uint8_t { Sec1, Sec2, Sec3 };

/// Index of a unit in arrays: MDEU-A and MDEU-B are one unit under two codes. [LX]
constexpr unsigned unit_index(Eu eu) { return static_cast<unsigned>(eu == Eu::MdeuB ? Eu::MdeuA : eu); }

struct Part {
  std::string_view name;         // "p2020"
  std::string_view chip;         // for people
  std::string_view sec_version;  // "3.1"
  Generation generation;
  std::array<std::string_view, 8> compatible;  // newest first, empty at the end
  unsigned channels;
  unsigned fetch_fifo_entries;     // fsl,channel-fifo-len; what the hardware queues is fetch_queue()
  uint32_t exec_units_mask;        // fsl,exec-units-mask
  uint32_t descriptor_types_mask;  // fsl,descriptor-types-mask, in SEC 2 numbering on every generation
  unsigned interrupts;             // lines wired on the chip
  uint64_t id;                     // register 0x1020
  uint64_t ip_block_revision;      // register 0x1bf8; SEC 1 has none
  uint64_t ccsr_offset;            // of the register window
  uint32_t window_bytes;           // of the register window, as the device tree has it
  uint64_t sec_clock_hz;           // default engine clock
  uint64_t bus_clock_hz;           // platform (CCB, csb) clock
  uint64_t cpu_clock_hz;
  std::string_view clock_source;   // where the clocks come from
  bool icv_writeback = false;      // CCCR[IWSE] exists, and units compare ICVs for it (2.1 and later) [LX]
  bool sha224_init = false;        // the MDEU loads SHA-224's initial values itself (2.1 and later) [LX]
  bool hmac_in_mdeu = false;       // HMAC is usable through common_nonsnoop (2.1 and later) [LX]
  bool extent_in_table = false;    // an input's link table covers the extent as well (3.0 and later) [LXc f3c85bc1bc72]
  bool gcm = false;                // the AESU has GCM (3.0 and later) [T23]

  constexpr bool has(Eu eu) const { return exec_units_mask >> static_cast<unsigned>(eu) & 1; }
  constexpr bool has_type(unsigned type) const { return descriptor_types_mask >> type & 1; }
  constexpr bool sec1() const { return generation == Generation::Sec1; }
  constexpr bool sec3() const { return generation == Generation::Sec3; }
  constexpr bool link_tables() const { return !sec1(); }
  constexpr bool next_descriptor() const { return sec1(); }  // chains by the last word of a descriptor
  constexpr unsigned address_bits() const { return sec1() ? 32 : 36; }
  constexpr unsigned max_length() const { return sec1() ? 32768 : 65535; }  // of one pointer [LX]
  /// Descriptor pointers a channel holds besides the one it works on. ASSUMED on SEC 1, whose Fetch Register is one
  /// word: a write while the channel is busy waits. [MOC][MCFh]
  constexpr unsigned fetch_queue() const { return sec1() ? 1 : fetch_fifo_entries; }
  /// Unacknowledged dones of a channel that the controller remembers. [MOC] ASSUMED on SEC 1: the bit alone.
  constexpr unsigned stored_dones() const { return sec1() ? 1 : 15; }
  constexpr bool mdeu_b() const { return has(Eu::MdeuB); }  // SHA-384 and SHA-512
};

// Channels, FIFO lengths, masks, windows and lines: device trees [DT]. ID and revision values: [T23], SEC 1.2: [MOC].
// 83xx: SEC clock = csb / 1, 2 or 3 as SCCR[ENCCM] says [UB]; which one a board picks is ASSUMED. 85xx, P10xx, P20xx: CCB/2,
// confidence M. SEC 1: the system bus clock, confidence L.
inline constexpr Part kParts[] = {
    // ASSUMED: the version is in the high word, where SEC 1 has what SEC 2 has in the low one.
    {.name = "mpc885", .chip = "MPC885", .sec_version = "1.2", .generation = Generation::Sec1,
     .compatible = {"fsl,sec1.2", "fsl,sec1.0"}, .channels = 1, .fetch_fifo_entries = 24,
     .exec_units_mask = 0x4c, .descriptor_types_mask = 0x05000154, .interrupts = 1,
     .id = 0x2000000000000000, .ip_block_revision = 0, .ccsr_offset = 0x20000, .window_bytes = 0x8000,
     .sec_clock_hz = 66'666'667, .bus_clock_hz = 66'666'667, .cpu_clock_hz = 133'333'333,
     .clock_source = "system bus clock (inf, L)"},
    // ASSUMED: no source gives its version register; it reads as zero.
    {.name = "mpc8272", .chip = "MPC8272", .sec_version = "1.0", .generation = Generation::Sec1,
     .compatible = {"fsl,sec1.0"}, .channels = 4, .fetch_fifo_entries = 24,
     .exec_units_mask = 0x7e, .descriptor_types_mask = 0x01010415, .interrupts = 1,
     .id = 0, .ip_block_revision = 0, .ccsr_offset = 0x40000, .window_bytes = 0x13000,
     .sec_clock_hz = 100'000'000, .bus_clock_hz = 100'000'000, .cpu_clock_hz = 400'000'000,
     .clock_source = "system bus clock (inf, L)"},
    {.name = "mpc8349", .chip = "MPC8349E", .sec_version = "2.0", .generation = Generation::Sec2,
     .compatible = {"fsl,sec2.0"}, .channels = 4, .fetch_fifo_entries = 24,
     .exec_units_mask = 0x7e, .descriptor_types_mask = 0x01010ebf, .interrupts = 1,
     .id = 0x41, .ip_block_revision = 0, .ccsr_offset = 0x30000, .window_bytes = 0x10000,
     .sec_clock_hz = 133'333'333, .bus_clock_hz = 266'666'667, .cpu_clock_hz = 533'333'333,
     .clock_source = "csb 266 MHz, SEC = csb/2 by SCCR[ENCCM] (inf, M)"},
    {.name = "mpc8548", .chip = "MPC8548E", .sec_version = "2.1", .generation = Generation::Sec2,
     .compatible = {"fsl,sec2.1", "fsl,sec2.0"}, .channels = 4, .fetch_fifo_entries = 24,
     .exec_units_mask = 0xfe, .descriptor_types_mask = 0x012b0ebf, .interrupts = 1,
     .id = 0x40, .ip_block_revision = 0x0030010200000000, .ccsr_offset = 0x30000, .window_bytes = 0x10000,
     .sec_clock_hz = 200'000'000, .bus_clock_hz = 400'000'000, .cpu_clock_hz = 1'333'000'000,
     .clock_source = "CCB 400 MHz, SEC = CCB/2 (inf, M)", .icv_writeback = true, .sha224_init = true,
     .hmac_in_mdeu = true},
    {.name = "mpc8323", .chip = "MPC8323E", .sec_version = "2.2", .generation = Generation::Sec2,
     .compatible = {"fsl,sec2.2", "fsl,sec2.1", "fsl,sec2.0"}, .channels = 1, .fetch_fifo_entries = 24,
     .exec_units_mask = 0x4c, .descriptor_types_mask = 0x0122003f, .interrupts = 1,
     .id = 0xa0, .ip_block_revision = 0, .ccsr_offset = 0x30000, .window_bytes = 0x10000,
     .sec_clock_hz = 133'333'333, .bus_clock_hz = 133'333'333, .cpu_clock_hz = 333'333'333,
     .clock_source = "csb 133 MHz, SEC = csb by SCCR[ENCCM] (inf, M)", .icv_writeback = true, .sha224_init = true,
     .hmac_in_mdeu = true},
    // No device tree file has a node for 2.4: the boot loader rewrites that of 2.0 with these masks. [UB] (T23 has no RAID.)
    {.name = "mpc8349-2.4", .chip = "MPC8349E", .sec_version = "2.4", .generation = Generation::Sec2,
     .compatible = {"fsl,sec2.4", "fsl,sec2.2", "fsl,sec2.1", "fsl,sec2.0"}, .channels = 4, .fetch_fifo_entries = 24,
     .exec_units_mask = 0x7e, .descriptor_types_mask = 0x012b0ebf, .interrupts = 1,
     .id = 0x0030000000000003, .ip_block_revision = 0x0030000000000003, .ccsr_offset = 0x30000, .window_bytes = 0x10000,
     .sec_clock_hz = 133'333'333, .bus_clock_hz = 266'666'667, .cpu_clock_hz = 533'333'333,
     .clock_source = "csb 266 MHz, SEC = csb/2 by SCCR[ENCCM] (inf, M)", .icv_writeback = true, .sha224_init = true,
     .hmac_in_mdeu = true},
    {.name = "mpc8572", .chip = "MPC8572E", .sec_version = "3.0", .generation = Generation::Sec3,
     .compatible = {"fsl,sec3.0", "fsl,sec2.4", "fsl,sec2.2", "fsl,sec2.1", "fsl,sec2.0"}, .channels = 4,
     .fetch_fifo_entries = 24, .exec_units_mask = 0x9fe, .descriptor_types_mask = 0x03ab0ebf, .interrupts = 2,
     .id = 0x0030030000000000, .ip_block_revision = 0x0030030000000000, .ccsr_offset = 0x30000, .window_bytes = 0x10000,
     .sec_clock_hz = 266'666'667, .bus_clock_hz = 533'333'333, .cpu_clock_hz = 1'500'000'000,
     .clock_source = "CCB 533 MHz, SEC = CCB/2 (inf, M)", .icv_writeback = true, .sha224_init = true,
     .hmac_in_mdeu = true, .extent_in_table = true, .gcm = true},
    {.name = "mpc8377", .chip = "MPC8377E", .sec_version = "3.0", .generation = Generation::Sec3,
     .compatible = {"fsl,sec3.0", "fsl,sec2.4", "fsl,sec2.2", "fsl,sec2.1", "fsl,sec2.0"}, .channels = 4,
     .fetch_fifo_entries = 24, .exec_units_mask = 0x9fe, .descriptor_types_mask = 0x03ab0ebf, .interrupts = 1,
     .id = 0x0030030000000000, .ip_block_revision = 0x0030030000000000, .ccsr_offset = 0x30000, .window_bytes = 0x10000,
     .sec_clock_hz = 200'000'000, .bus_clock_hz = 400'000'000, .cpu_clock_hz = 800'000'000,
     .clock_source = "csb 400 MHz, SEC = csb/2 by SCCR[ENCCM] (inf, M)", .icv_writeback = true, .sha224_init = true,
     .hmac_in_mdeu = true, .extent_in_table = true, .gcm = true},
    {.name = "mpc8536", .chip = "MPC8536E", .sec_version = "3.0.1", .generation = Generation::Sec3,
     .compatible = {"fsl,sec3.0", "fsl,sec2.4", "fsl,sec2.2", "fsl,sec2.1", "fsl,sec2.0"}, .channels = 4,
     .fetch_fifo_entries = 24, .exec_units_mask = 0x9fe, .descriptor_types_mask = 0x03ab0ebf, .interrupts = 2,
     .id = 0x0030030000010000, .ip_block_revision = 0x0030030000010000, .ccsr_offset = 0x30000, .window_bytes = 0x10000,
     .sec_clock_hz = 250'000'000, .bus_clock_hz = 500'000'000, .cpu_clock_hz = 1'500'000'000,
     .clock_source = "CCB 500 MHz, SEC = CCB/2 (inf, M)", .icv_writeback = true, .sha224_init = true,
     .hmac_in_mdeu = true, .extent_in_table = true, .gcm = true},
    {.name = "p2020", .chip = "P2020E", .sec_version = "3.1", .generation = Generation::Sec3,
     .compatible = {"fsl,sec3.1", "fsl,sec3.0", "fsl,sec2.4", "fsl,sec2.2", "fsl,sec2.1", "fsl,sec2.0"}, .channels = 4,
     .fetch_fifo_entries = 24, .exec_units_mask = 0xbfe, .descriptor_types_mask = 0x03ab0ebf, .interrupts = 2,
     .id = 0x0030030100000000, .ip_block_revision = 0x0030030100000000, .ccsr_offset = 0x30000, .window_bytes = 0x10000,
     .sec_clock_hz = 300'000'000, .bus_clock_hz = 600'000'000, .cpu_clock_hz = 1'200'000'000,
     .clock_source = "CCB 600 MHz, SEC = CCB/2 (inf, M); core 1.2 GHz as on a P2020RDB (inf, M)", .icv_writeback = true,
     .sha224_init = true, .hmac_in_mdeu = true, .extent_in_table = true, .gcm = true},
    {.name = "mpc8315", .chip = "MPC8315E", .sec_version = "3.3", .generation = Generation::Sec3,
     .compatible = {"fsl,sec3.3", "fsl,sec3.1", "fsl,sec3.0", "fsl,sec2.4", "fsl,sec2.2", "fsl,sec2.1", "fsl,sec2.0"},
     .channels = 4, .fetch_fifo_entries = 24, .exec_units_mask = 0x97c, .descriptor_types_mask = 0x03a30abf,
     .interrupts = 1, .id = 0x0030030300000000, .ip_block_revision = 0x0030030300000000, .ccsr_offset = 0x30000,
     .window_bytes = 0x10000, .sec_clock_hz = 133'333'333, .bus_clock_hz = 133'333'333, .cpu_clock_hz = 400'000'000,
     .clock_source = "csb 133 MHz, SEC = csb by SCCR[ENCCM] (inf, M)", .icv_writeback = true, .sha224_init = true,
     .hmac_in_mdeu = true, .extent_in_table = true, .gcm = true},
    // The device tree's mask has types 7, 19 and 24, which T23's table says 3.3.2 has not; the device tree is followed.
    {.name = "p1020", .chip = "P1020E", .sec_version = "3.3.2", .generation = Generation::Sec3,
     .compatible = {"fsl,sec3.3", "fsl,sec3.1", "fsl,sec3.0", "fsl,sec2.4", "fsl,sec2.2", "fsl,sec2.1", "fsl,sec2.0"},
     .channels = 4, .fetch_fifo_entries = 24, .exec_units_mask = 0x97c, .descriptor_types_mask = 0x03a30abf,
     .interrupts = 2, .id = 0x0030030300020000, .ip_block_revision = 0x0030030300020000, .ccsr_offset = 0x30000,
     .window_bytes = 0x10000, .sec_clock_hz = 200'000'000, .bus_clock_hz = 400'000'000, .cpu_clock_hz = 800'000'000,
     .clock_source = "CCB 400 MHz, SEC = CCB/2 (inf, M)", .icv_writeback = true, .sha224_init = true,
     .hmac_in_mdeu = true, .extent_in_table = true, .gcm = true},
};

constexpr const Part* find_part(std::string_view name) {
  for (const Part& p : kParts)
    if (p.name == name) return &p;
  return nullptr;
}
constexpr const Part& default_part() { return *find_part("p2020"); }

static_assert([] {
  for (const Part& p : kParts)
    if ((p.channels & (p.channels - 1)) || !p.channels || !p.fetch_fifo_entries || !p.exec_units_mask) return false;
  return true;
}());

}  // namespace sec::regs
