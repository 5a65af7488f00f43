#include "hw/timing/costs.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/diag.h"

namespace sec::hw {
namespace {

using enum Confidence;
constexpr Knob kKnobs[] = {
    {"clock.sec_hz", &Timing::sec_clock_hz, "Hz", 1e6, 2e9, Medium, "CCB/2 rule of the MPC85xx family, see hw/regs/variants.h"},
    {"clock.bus_hz", &Timing::bus_clock_hz, "Hz", 1e6, 4e9, Medium, "platform (CCB) clock of the usual board"},
    {"clock.cpu_hz", &Timing::cpu_clock_hz, "Hz", 1e6, 1e10, Medium, "core clock of the usual board"},
    {"memory.read_latency_ns", &Timing::memory_read_latency_ns, "ns", 1, 1e5, Low,
     "ASSUMED: 30 SEC clocks on every part; DDR-400 seen from a 133 MHz SEC would be about that many"},
    {"memory.bandwidth_mb_s", &Timing::memory_bandwidth_mb_s, "10^6 byte/s", 1, 1e6, Low,
     "ASSUMED: peak of one 64-bit DDR controller of the part's time; never limits at the default"},
    {"engine.posted_write_clocks", &Timing::posted_write_clocks, "SEC clocks", 1, 10000, Low, "ASSUMED"},
    {"engine.bus_bytes_per_clock", &Timing::bus_bytes_per_clock, "byte/clock", 1, 64, High, "64-bit master bus [C14][MSC]"},
    {"engine.reads_in_flight", &Timing::reads_in_flight, "bursts", 1, 4, Low, "ASSUMED: several may be outstanding [C14], the number is not public"},
    {"engine.fifo_bytes", &Timing::fifo_bytes, "byte", 128, 2048, Low, "ASSUMED: size not public, the window is 2 KiB"},
    {"engine.link_table_prefetch_entries", &Timing::link_table_prefetch_entries, "entries", 1, 4, Medium, "four-entry buffers in the channel map [T23]"},
    {"engine.unit_grant_clocks", &Timing::unit_grant_clocks, "SEC clocks", 1, 10000, Low, "ASSUMED"},
    {"engine.unit_reset_clocks", &Timing::unit_reset_clocks, "SEC clocks", 1, 10000, Low, "ASSUMED"},
    {"engine.interrupt_clocks", &Timing::interrupt_clocks, "SEC clocks", 1, 10000, Low, "ASSUMED"},
    {"aesu.rounds_per_clock", &Timing::aesu_rounds_per_clock, "rounds/clock", 0.25, 16, Low,
     "ASSUMED: iterative core, one round a clock; no vendor figure is public"},
    {"aesu.block_load_clocks", &Timing::aesu_block_load_clocks, "SEC clocks", 0, 1000, Low, "ASSUMED"},
    {"deu.rounds_per_clock", &Timing::deu_rounds_per_clock, "rounds/clock", 0.25, 16, Low,
     "ASSUMED: one round a clock; a 133 MHz SEC is then 3DES-bound on large packets, as [EMB] describes"},
    {"mdeu.steps_per_clock", &Timing::mdeu_steps_per_clock, "steps/clock", 0.25, 16, Low,
     "ASSUMED: one step a clock: 64 for MD5 and SHA-224/256, 80 for SHA-1 and SHA-384/512"},
    {"mdeu.block_load_clocks", &Timing::mdeu_block_load_clocks, "SEC clocks", 0, 1000, Low, "ASSUMED"},
    {"afeu.clocks_per_byte", &Timing::afeu_clocks_per_byte, "SEC clocks", 1, 1000, Low, "ASSUMED"},
    {"afeu.key_setup_clocks", &Timing::afeu_key_setup_clocks, "SEC clocks", 0, 100000, Low, "ASSUMED: 256 steps of 3 clocks"},
    {"keu.block_clocks", &Timing::keu_block_clocks, "SEC clocks", 1, 1000, Low, "ASSUMED: per 8 bytes"},
    {"steu.word_clocks", &Timing::steu_word_clocks, "SEC clocks", 1, 1000, Medium,
     "per 4 bytes; must be below 10 for the 1.147 Gbit/s that was measured at 300 MHz [USP]"},
    {"steu.init_clocks", &Timing::steu_init_clocks, "SEC clocks", 0, 10000, Low, "ASSUMED: 32 initialisation rounds and one more"},
    {"crcu.word_clocks", &Timing::crcu_word_clocks, "SEC clocks", 1, 1000, Low, "ASSUMED: per 8 bytes"},
    {"rngu.word_clocks", &Timing::rngu_word_clocks, "SEC clocks", 1, 100000, High, "64 bits every 256 clocks [OCF]"},
    {"pkeu.word_clocks", &Timing::pkeu_word_clocks, "SEC clocks", 0.25, 1000, Low,
     "ASSUMED: per pair of 32-bit words of a Montgomery multiplication; 32 ms for RSA-1024 on the ancestor [MPC180]"},
    {"engine.watchdog_clocks", &Timing::watchdog_clocks, "SEC clocks", 1000, 4e9, Low, "ASSUMED: period not public"},
    {"engine.zero_length_is_dse", &Timing::zero_length_is_dse, "0 or 1", 0, 1, Low,
     "0: a descriptor without data hangs its channel (erratum title SEC-A001); 1: data size error instead"},
    {"engine.unit_access_clocks", &Timing::unit_access_clocks, "SEC clocks", 1, 1000, Medium,
     "an access of software to a unit that takes more than 16 clocks is ended with ITO [MOC][T23]; takes no time itself"},
    {"engine.strict_reserved", &Timing::strict_reserved, "0 or 1", 0, 1, Low,
     "ASSUMED: 0: reserved registers read as zero; 1: an error, AE inside a unit and ITO elsewhere"},
};

uint32_t whole(double x) { return static_cast<uint32_t>(std::ceil(x - 1e-9)); }

}  // namespace

std::span<const Knob> knobs() { return kKnobs; }

Timing Timing::for_part(const regs::Part& p) {
  Timing t;
  t.sec_clock_hz = static_cast<double>(p.sec_clock_hz);
  t.bus_clock_hz = static_cast<double>(p.bus_clock_hz);
  t.cpu_clock_hz = static_cast<double>(p.cpu_clock_hz);
  t.memory_read_latency_ns = std::round(30e9 / t.sec_clock_hz * 10) / 10;
  t.memory_bandwidth_mb_s = p.generation == regs::Generation::Sec2 ? 4264 : 6400;
  return t;
}

void Timing::set(std::string_view name, double value) {
  for (const Knob& k : kKnobs) {
    if (k.name != name) continue;
    if (!(value >= k.min && value <= k.max))
      throw SetupError(fmt::format("--set {}={}: the value must lie between {} and {} {}", name, value, k.min, k.max, k.unit));
    this->*k.member = value;
    return;
  }
  std::string known;
  for (const Knob& k : kKnobs) known += fmt::format("{}{}", known.empty() ? "" : ", ", k.name);
  throw SetupError(fmt::format("--set {}: no such knob; the knobs are {}", name, known));
}

void Timing::set(std::string_view a) {
  const size_t eq = a.find('=');
  if (eq == std::string_view::npos) throw SetupError(fmt::format("--set {}: write it as knob=value", a));
  const std::string text(a.substr(eq + 1));
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  if (text.empty() || *end) throw SetupError(fmt::format("--set {}: '{}' is not a number", a, text));
  set(a.substr(0, eq), v);
}

Clocks::Clocks(const Timing& t) {
  const double period_ns = 1e9 / t.sec_clock_hz;
  period_ps = ClockDomain<SecClock>::from_hz(t.sec_clock_hz).period_ps();
  read_latency = std::max(1u, whole(t.memory_read_latency_ns / period_ns - 1e-3));
  posted_write = whole(t.posted_write_clocks);
  grant = whole(t.unit_grant_clocks);
  unit_reset = whole(t.unit_reset_clocks);
  interrupt = whole(t.interrupt_clocks);
  watchdog = whole(t.watchdog_clocks);
  reads_in_flight = whole(t.reads_in_flight);
  fifo_bytes = whole(t.fifo_bytes);
  prefetch_entries = whole(t.link_table_prefetch_entries);
  zero_length_is_dse = t.zero_length_is_dse != 0;
  const double memory_bytes_per_clock = t.memory_bandwidth_mb_s * 1e6 / t.sec_clock_hz;
  for (unsigned n = 0; n < bus.size(); ++n) {
    const double beats = std::ceil(n / t.bus_bytes_per_clock);
    bus[n] = static_cast<uint8_t>(std::clamp(std::ceil(std::max(beats, n / memory_bytes_per_clock - 1e-6)), 1.0, 255.0));
  }
}

AesCost aes_cost(const Timing& t, unsigned key_bytes) {
  const double rounds = key_bytes == 16 ? 10 : key_bytes == 24 ? 12 : 14;
  return {std::max(1u, whole(rounds / t.aesu_rounds_per_clock) + whole(t.aesu_block_load_clocks)), whole(rounds)};
}
uint32_t des_block_clocks(const Timing& t, bool triple) { return std::max(1u, whole((triple ? 48 : 16) / t.deu_rounds_per_clock)); }

AssumedShare assumed_share(const EngineCounters& c, const Timing& t) {
  const Clocks k(t);
  double high = 0, low = 0;
  high += static_cast<double>(c.bus_clocks);
  low += static_cast<double>(c.read_latency_clocks + c.posted_write_clocks);
  low += static_cast<double>(c.grants) * (k.grant + k.unit_reset) + static_cast<double>(c.descriptors) * k.interrupt;
  for (uint64_t b : c.unit_busy_clocks) low += static_cast<double>(b);
  const double all = high + low;
  if (all == 0) return {};
  return {high / all, 0, low / all};
}

}  // namespace sec::hw
