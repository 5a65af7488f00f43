// One way to get a waveform file: the name's extension chooses the format.
#pragma once
#include <memory>
#include <string>

#include "hw/trace/file_sink.h"
#include "hw/trace/window.h"

namespace sec::trace {

struct TraceOptions {
  std::string option = "--trace";  // as the user knows it, for messages
  Window window;
  std::string filter_dir;  // VCD only: GTKWave filter files for named values
};

/// Opens `path` (.fst or .vcd). Throws SetupError when the extension is another or the file cannot be written; the file
/// appears under its name when the sink is closed, and not at all when it is destroyed before.
std::unique_ptr<TraceSink> open_trace(const std::string& path, const TraceOptions& options = {});

}  // namespace sec::trace
