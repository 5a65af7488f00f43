// Trace vocabulary: what a traced run tells, independent of the file format.
//
// Signal sinks (VCD, FST) record values over simulated time; event sinks (text, later Perfetto) record
// named spans. The engine reports signal changes with the time at which they happened, which may be
// ahead of or slightly behind other reporters; a sink therefore keeps changes until `commit(t)` says
// that nothing earlier than t will come any more, and writes them in time order.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sec::trace {

using SignalId = uint32_t;

struct EnumName {
  uint64_t value;
  std::string_view name;
};

class SignalSink {
 public:
  virtual ~SignalSink() = default;
  /// Before the first change. `scope` is the dotted hierarchy ("sec.channel0"). Names with an enum table
  /// show as text in GTKWave (FST) or through a filter file (VCD).
  virtual SignalId declare(std::string_view scope, std::string_view name, unsigned width_bits,
                           std::span<const EnumName> names = {}) = 0;
  virtual void change(uint64_t time_ps, SignalId id, uint64_t value) = 0;
  /// No change earlier than `time_ps` will be reported any more.
  virtual void commit(uint64_t time_ps) = 0;
  /// Writes the rest and closes the file; false when the file could not be written completely.
  virtual bool close(uint64_t end_ps) = 0;
};

}  // namespace sec::trace
