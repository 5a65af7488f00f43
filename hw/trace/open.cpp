#include "hw/trace/open.h"

#include <fmt/format.h>

#include <filesystem>

#include "common/diag.h"
#include "hw/trace/fst.h"
#include "hw/trace/vcd.h"

namespace sec::trace {

std::unique_ptr<TraceSink> open_trace(const std::string& path, const TraceOptions& options) {
  const std::string extension = std::filesystem::path(path).extension().string();
  std::unique_ptr<TraceSink> sink;
  if (extension == ".fst")
    sink = open_fst(path, options.option);
  else if (extension == ".vcd")
    sink = open_vcd(path, options.option, options.filter_dir);
  else
    throw SetupError(fmt::format("{}: '{}' does not tell a waveform format; name a file that ends in .fst or .vcd",
                                 options.option, path));
  if (!options.window.whole_run()) sink = std::make_unique<WindowedSink>(std::move(sink), options.window);
  return sink;
}

}  // namespace sec::trace
