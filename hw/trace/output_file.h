// A file that appears under its name only when it is complete.
//
// It is written inside a scratch folder made beside the target (the FST writer keeps a second file next to its first one)
// and moved into place at the end, so an interrupted or failed run leaves an older file of that name as it was. Paths
// that cannot be written are refused when the object is made, before anything is simulated.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace sec::trace {

class OutputFile {
 public:
  /// Throws SetupError naming `option` when `path` cannot be written.
  OutputFile(const std::string& path, std::string_view option);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Where to write for now.
  const std::filesystem::path& scratch() const { return scratch_; }
  const std::filesystem::path& target() const { return target_; }
  const std::string& option() const { return option_; }
  /// Moves the scratch file to its name. Call once, after the file is closed.
  bool publish();

 private:
  std::string option_;
  std::filesystem::path target_, folder_, scratch_;
};

}  // namespace sec::trace
