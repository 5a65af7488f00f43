// What things cost, in SEC clocks or nanoseconds, as named knobs. No vendor table of cycles exists in
// public, so most values are assumptions; each carries its source and a confidence letter
// (H = vendor or two independent sources, M = one source or an inference from one, L = assumption),
// and every report says which share of its simulated time rests on which letter.
//
// The functional path never looks at this file. The cycle-approximate path and its slow reference use
// the same struct, so that "no error against the reference" means the same rules, not the same silicon.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/units.h"
#include "hw/regs/variants.h"

namespace sec::hw {

enum class Confidence : char { High = 'H', Medium = 'M', Low = 'L' };

/// Engine timing. Every member is a knob of the same name (see kKnobs); times in SEC clocks unless named otherwise.
struct Timing {
  double sec_clock_hz = 300e6;
  double bus_clock_hz = 600e6;
  double cpu_clock_hz = 1200e6;
  double memory_read_latency_ns = 100;     // request on the bus to first data
  double memory_bandwidth_mb_s = 6400;     // peak of the memory controller, 10^6 bytes/s
  double posted_write_clocks = 8;
  double bus_bytes_per_clock = 8;          // 64-bit master and internal bus
  double reads_in_flight = 2;
  double fifo_bytes = 256;                 // of a unit, input and output each
  double link_table_prefetch_entries = 4;
  double unit_grant_clocks = 4;
  double unit_reset_clocks = 4;
  double interrupt_clocks = 2;
  double aesu_rounds_per_clock = 1;
  double aesu_block_load_clocks = 1;
  double deu_rounds_per_clock = 1;
  double mdeu_steps_per_clock = 1;
  double mdeu_block_load_clocks = 1;
  double afeu_clocks_per_byte = 2;
  double afeu_key_setup_clocks = 768;      // 256 steps of 3
  double keu_block_clocks = 16;            // 8 bytes
  double steu_word_clocks = 1;             // 4 bytes
  double steu_init_clocks = 33;
  double crcu_word_clocks = 2;             // 8 bytes
  double rngu_word_clocks = 256;           // 8 bytes
  double pkeu_word_clocks = 2;             // per pair of 32-bit words multiplied
  double watchdog_clocks = 1 << 20;
  double zero_length_is_dse = 0;           // 1: raise DSE instead of hanging on zero-length data
  double unit_access_clocks = 4;           // of software's access to a unit's register; more than 16 is a time-out (ITO)
  double strict_reserved = 0;              // 1: accesses to reserved space are errors

  static Timing for_part(const regs::Part& part);
  /// Sets a knob by name. SetupError for an unknown name (lists the close ones) or a value out of range.
  void set(std::string_view knob, double value);
  /// "name=value".
  void set(std::string_view assignment);
};

struct Knob {
  std::string_view name;  // "engine.posted_write_clocks"
  double Timing::*member;
  std::string_view unit;
  double min, max;
  Confidence confidence;
  std::string_view source;
};
std::span<const Knob> knobs();

/// Timing rounded to whole SEC clocks, as the engine uses it.
struct Clocks {
  uint32_t read_latency, posted_write, grant, unit_reset, interrupt, watchdog;
  uint32_t reads_in_flight, fifo_bytes, prefetch_entries;
  uint64_t period_ps;
  bool zero_length_is_dse;
  std::array<uint8_t, 256> bus;  // clocks that n bytes of one burst hold the bus, n counted from the 8-byte boundary below

  explicit Clocks(const Timing& t);
  /// Clocks one burst of `n` bytes at `addr` holds the bus.
  uint32_t bus_clocks(uint64_t addr, uint32_t n) const { return bus[(addr & 7) + n]; }
};

/// Core clocks of one AES block of 16 bytes / key expansion before a decryption without RDK.
struct AesCost {
  uint32_t block, expansion;
};
AesCost aes_cost(const Timing& t, unsigned key_bytes);
uint32_t des_block_clocks(const Timing& t, bool triple);

/// What the engine did, counted: the basis of utilisation figures and of the assumed-share statement.
struct EngineCounters {
  uint64_t descriptors = 0, errors = 0;
  uint64_t bytes_in = 0, bytes_out = 0;
  uint64_t reads = 0, writes = 0;            // bursts
  uint64_t bus_clocks = 0;                   // bus held
  uint64_t read_latency_clocks = 0, posted_write_clocks = 0;
  uint64_t grants = 0;
  std::array<uint64_t, 12> unit_blocks{}, unit_busy_clocks{}, unit_held_clocks{}, unit_wait_clocks{};  // by unit code
  std::array<uint64_t, 8> channel_busy_clocks{}, channel_descriptors{}, channel_bytes{};
};

/// Clocks attributed to each confidence letter: {H, M, L}.
struct AssumedShare {
  double high = 0, medium = 0, low = 0;
};
AssumedShare assumed_share(const EngineCounters& c, const Timing& t);

}  // namespace sec::hw
