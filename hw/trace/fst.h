// FST, GTKWave's compressed waveform format, through GTKWave's own writer (cmake/FindFstWriter.cmake).
//
// Named values are enum tables inside the file: GTKWave shows the names without any filter file. Signals that share the
// same names share one table.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "hw/trace/file_sink.h"

namespace sec::trace {

/// Throws SetupError naming `option` when `path` cannot be written.
std::unique_ptr<TraceSink> open_fst(const std::string& path, std::string_view option = "--trace");

}  // namespace sec::trace
