// Runs a poke script on an engine with nothing but memory around it: no driver, no interrupt handlers. What the engine does is exactly what the
// script's accesses make it do.
//
// Functional: a descriptor is over when the doorbell's write returns, and there is no time; `run` does nothing, and what `until` waits for is there
// or never comes. Approx: the SystemC device (one per process); register accesses take no time of their own, so that `run`, `until` and the
// clocks in the log are the engine's alone. Before the script looks at memory, everything the engine has written by then is there.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "host/poke/script.h"
#include "hw/timing/costs.h"

namespace sec::host::poke {

/// One thing that happened, for the log.
struct Event {
  std::string where;     // file:line
  std::string what;      // "write", "read", "memory", "wait", "expect", "note", "dump"
  uint64_t sim_ps = 0, clock = 0;
  std::string name;      // of the register: "CH0_CCCR_LO"
  uint32_t offset = 0;
  uint64_t value = 0;
  unsigned size_bytes = 0;  // of the access, 0 when it is none
  std::string text;      // for people, with decoded fields
};

struct BenchOptions {
  const regs::Part* part = nullptr;
  bool timed = true;
  std::vector<std::string> knobs;  // before those of the script
  std::string trace;               // .fst or .vcd
  std::string trace_window;
};

struct Outcome {
  bool ok = true;
  std::string where, failure;  // file:line and what was expected, of the first unmet expectation
  uint64_t sim_ps = 0, clocks = 0;
  uint64_t descriptors = 0, errors = 0;  // that the engine finished, well or not
  std::vector<std::string> notes;        // what the engine noted: forbidden or unmodelled accesses
};

/// Runs a script. SetupError for what can only be found out on the way (a value that does not fit, memory that is not there).
Outcome run_script(const Script& script, const BenchOptions& options, const std::function<void(const Event&)>& log);

}  // namespace sec::host::poke
