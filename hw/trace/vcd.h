// VCD (IEEE 1364, clause 18): text that every viewer reads, many times the size of FST.
//
// The format has no names for values. They are written as a comment per signal ("sec.channel0.state: 0 IDLE, 1 FETCH")
// and, if a folder is given, as one GTKWave filter file per signal, called like the signal.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "hw/trace/file_sink.h"

namespace sec::trace {

/// Throws SetupError naming `option` when `path` or `filter_dir` cannot be written. The filter files are written when
/// the trace is closed; an empty `filter_dir` means none.
std::unique_ptr<TraceSink> open_vcd(const std::string& path, std::string_view option = "--trace",
                                    const std::string& filter_dir = {});

}  // namespace sec::trace
