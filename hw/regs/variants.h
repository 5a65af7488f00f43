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
  unsigned fetch_fifo_entries;
  uint32_t exec_units_mask;        // fsl,exec-units-mask
  uint32_t descriptor_types_mask;  // fsl,descriptor-types-mask
  unsigned interrupts;             // lines wired on the chip
  uint64_t id;                     // register 0x1020
  uint64_t ip_block_revision;      // register 0x1bf8
  uint64_t ccsr_offset;            // of the register window
  uint64_t sec_clock_hz;           // default engine clock
  uint64_t bus_clock_hz;           // platform (CCB) clock
  uint64_t cpu_clock_hz;
  std::string_view clock_source;   // where the clocks come from
  bool icv_writeback;              // CCCR[IWSE] exists (2.1 and later)

  constexpr bool has(Eu eu) const { return exec_units_mask >> static_cast<unsigned>(eu) & 1; }
  constexpr bool has_type(unsigned type) const { return descriptor_types_mask >> type & 1; }
};

// Masks, channel and FIFO numbers: Linux device trees [DT]. ID values: [T23].
// Clocks of parts marked (inf) follow the CCB/2 rule of the MPC85xx family, confidence M.
inline constexpr Part kParts[] = {
    {.name = "mpc8548", .chip = "MPC8548E", .sec_version = "2.1", .generation = Generation::Sec2,
     .compatible = {"fsl,sec2.1", "fsl,sec2.0"}, .channels = 4, .fetch_fifo_entries = 24,
     .exec_units_mask = 0xfe, .descriptor_types_mask = 0x012b0ebf, .interrupts = 1,
     .id = 0x40, .ip_block_revision = 0x0030010200000000, .ccsr_offset = 0x30000,
     .sec_clock_hz = 200'000'000, .bus_clock_hz = 400'000'000, .cpu_clock_hz = 1'333'000'000,
     .clock_source = "CCB 400 MHz, SEC = CCB/2 (inf, M)", .icv_writeback = true},
    {.name = "mpc8572", .chip = "MPC8572E", .sec_version = "3.0", .generation = Generation::Sec3,
     .compatible = {"fsl,sec3.0", "fsl,sec2.4", "fsl,sec2.2", "fsl,sec2.1", "fsl,sec2.0"}, .channels = 4,
     .fetch_fifo_entries = 24, .exec_units_mask = 0x9fe, .descriptor_types_mask = 0x03ab0ebf, .interrupts = 2,
     .id = 0x0030030000000000, .ip_block_revision = 0x0030030000000000, .ccsr_offset = 0x30000,
     .sec_clock_hz = 266'666'667, .bus_clock_hz = 533'333'333, .cpu_clock_hz = 1'500'000'000,
     .clock_source = "CCB 533 MHz, SEC = CCB/2 (inf, M)", .icv_writeback = true},
    {.name = "p2020", .chip = "P2020E", .sec_version = "3.1", .generation = Generation::Sec3,
     .compatible = {"fsl,sec3.1", "fsl,sec3.0", "fsl,sec2.4", "fsl,sec2.2", "fsl,sec2.1", "fsl,sec2.0"}, .channels = 4,
     .fetch_fifo_entries = 24, .exec_units_mask = 0xbfe, .descriptor_types_mask = 0x03ab0ebf, .interrupts = 2,
     .id = 0x0030030100000000, .ip_block_revision = 0x0030030100000000, .ccsr_offset = 0x30000,
     .sec_clock_hz = 300'000'000, .bus_clock_hz = 600'000'000, .cpu_clock_hz = 1'200'000'000,
     .clock_source = "CCB 600 MHz, SEC = CCB/2 (inf, M); core 1.2 GHz as on a P2020RDB (inf, M)", .icv_writeback = true},
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
