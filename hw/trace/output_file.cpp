#include "hw/trace/output_file.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "common/diag.h"

namespace sec::trace {
namespace fs = std::filesystem;

OutputFile::OutputFile(const std::string& path, std::string_view option) : option_(option), target_(path) {
  std::error_code ignored;
  // Write through a link (even one to a file that is not there yet) instead of replacing it.
  for (int links = 0; links < 40 && fs::is_symlink(target_, ignored); ++links)
    target_ = target_.parent_path() / fs::read_symlink(target_, ignored);
  if (fs::exists(target_, ignored)) {
    if (!fs::is_regular_file(target_, ignored))
      throw SetupError(fmt::format("{}: {} is not a regular file; give the name of a file to write", option, path));
    if (::access(target_.c_str(), W_OK) != 0)
      throw SetupError(fmt::format("{}: {} is write-protected; remove it or give another name", option, path));
  }
  std::string folder = target_.string() + ".part-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    const std::string why = std::generic_category().message(errno);
    const fs::path parent = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
    throw SetupError(fmt::format("{}: cannot write {} ({}); the folder {} must exist and be writable", option, path, why,
                                 parent.string()));
  }
  folder_ = folder;
  scratch_ = folder_ / target_.filename();
}

OutputFile::~OutputFile() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

bool OutputFile::publish() {
  std::error_code failed;
  fs::rename(scratch_, target_, failed);
  return !failed;
}

}  // namespace sec::trace
