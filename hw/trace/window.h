// Limits a trace to a window of simulated time.
//
// Tracing everything makes long runs slow and files large, while the question is usually about a few microseconds. The
// wrapper remembers the newest value of every signal until the window begins, writes all of them at its first
// picosecond, passes on what happens inside (both ends included) and drops the rest.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "hw/trace/file_sink.h"

namespace sec::trace {

struct Window {
  uint64_t start_ps = 0;
  uint64_t stop_ps = UINT64_MAX;
  bool whole_run() const { return start_ps == 0 && stop_ps == UINT64_MAX; }
};

/// "START:STOP", each a number with ps, ns, us, ms or s ("1.5us:20us"); a missing START is the beginning, a missing STOP
/// the end of the run. Throws SetupError naming `option`.
Window parse_window(std::string_view text, std::string_view option = "--trace-window");

class WindowedSink final : public TraceSink {
 public:
  WindowedSink(std::unique_ptr<TraceSink> inner, Window window);
  SignalId declare(std::string_view scope, std::string_view name, unsigned width_bits,
                   std::span<const EnumName> names = {}) override;
  void change(uint64_t time_ps, SignalId id, uint64_t value) override;
  void commit(uint64_t time_ps) override;
  bool close(uint64_t end_ps) override;
  uint64_t changes_written() const override { return inner_->changes_written(); }

 private:
  struct Before {
    uint64_t time_ps = 0, value = 0;
    bool known = false;
  };
  void enter();

  std::unique_ptr<TraceSink> inner_;
  Window window_;
  std::vector<Before> before_;  // indexed by SignalId
  bool entered_ = false;
};

}  // namespace sec::trace
