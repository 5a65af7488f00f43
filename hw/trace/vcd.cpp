#include "hw/trace/vcd.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "common/diag.h"

namespace sec::trace {
namespace {

/// Short printable identifiers: '!', '"', ... then two characters, as simulators do.
std::string identifier(SignalId id) {
  constexpr uint32_t kFirst = '!', kCount = '~' - '!' + 1;
  std::string code;
  for (uint64_t n = uint64_t{id} + 1; n > 0; n = (n - 1) / kCount)
    code += static_cast<char>(kFirst + (n - 1) % kCount);
  return code;
}

class VcdSink final : public FileSink {
 public:
  VcdSink(const std::string& path, std::string_view option, const std::string& filter_dir)
      : FileSink(path, option), filter_dir_(filter_dir) {
    if (!filter_dir_.empty()) {
      std::error_code failed;
      std::filesystem::create_directories(filter_dir_, failed);
      if (failed)
        throw SetupError(fmt::format("{}: cannot make the folder {} for filter files ({}); give another one", option,
                                     filter_dir_.string(), failed.message()));
    }
    out_ = std::fopen(file().scratch().c_str(), "wb");
    if (out_ == nullptr)
      throw SetupError(fmt::format("{}: cannot write {}; give another name", option, path));
  }
  ~VcdSink() override {
    if (out_ != nullptr) std::fclose(out_);
  }

 private:
  static constexpr size_t kBufferBytes = 1 << 16;

  void write_header(const Scope& root) override {
    // No date: the same run gives the same file.
    text_ += "$version secsim $end\n$timescale 1 ps $end\n";
    for (const Signal& s : signals()) {
      if (s.names.empty()) continue;
      fmt::format_to(std::back_inserter(text_), "$comment {}:", s.path());
      const char* separator = " ";
      for (const auto& [value, name] : s.names) {
        fmt::format_to(std::back_inserter(text_), "{}{:#x} {}", separator, value, name);
        separator = ", ";
      }
      text_ += " $end\n";
    }
    for (SignalId id = 0; id < signals().size(); ++id) codes_.push_back(identifier(id));
    write_scope(root);
    text_ += "$enddefinitions $end\n";
    flush();
  }

  void write_scope(const Scope& scope) {
    for (const SignalId id : scope.signals)
      fmt::format_to(std::back_inserter(text_), "$var wire {} {} {} $end\n", signals()[id].width_bits, codes_[id],
                     signals()[id].name_and_range());
    for (const Scope& s : scope.scopes) {
      fmt::format_to(std::back_inserter(text_), "$scope module {} $end\n", s.name);
      write_scope(s);
      text_ += "$upscope $end\n";
    }
  }

  void write_time(uint64_t time_ps) override {
    flush_if_large();
    fmt::format_to(std::back_inserter(text_), "#{}\n", time_ps);
    if (!dumped_) write_unknown();
    last_ps_ = time_ps;
  }

  /// What has no value yet is 'x' until its first change.
  void write_unknown() {
    dumped_ = true;
    text_ += "$dumpvars\n";
    for (SignalId id = 0; id < signals().size(); ++id)
      fmt::format_to(std::back_inserter(text_), "{}{}\n", signals()[id].width_bits == 1 ? "x" : "bx ", codes_[id]);
    text_ += "$end\n";
  }

  void write_value(SignalId id, uint64_t value) override {
    if (signals()[id].width_bits == 1)
      text_ += value != 0 ? '1' : '0';
    else
      fmt::format_to(std::back_inserter(text_), "b{:b} ", value);  // readers extend with zeros
    text_ += codes_[id];
    text_ += '\n';
  }

  bool finish(uint64_t end_ps) override {
    if (!dumped_ || end_ps > last_ps_) {
      fmt::format_to(std::back_inserter(text_), "#{}\n", end_ps);
      if (!dumped_) write_unknown();
    }
    flush();
    const bool flushed = std::fflush(out_) == 0;
    const bool closed = std::fclose(out_) == 0;
    out_ = nullptr;
    return ok_ && flushed && closed;
  }

  /// GTKWave's table format: the value as it shows it in hexadecimal, a blank, the text.
  bool published() override {
    bool ok = true;
    if (filter_dir_.empty()) return ok;
    for (const Signal& s : signals()) {
      if (s.names.empty()) continue;
      std::string text = fmt::format("# {}: {} bits, shown in hexadecimal.\n", s.path(), s.width_bits);
      for (const auto& [value, name] : s.names)
        fmt::format_to(std::back_inserter(text), "{:0{}x} {}\n", value, (s.width_bits + 3) / 4, name);
      try {
        OutputFile file((filter_dir_ / (s.path() + ".txt")).string(), this->file().option());
        std::FILE* f = std::fopen(file.scratch().c_str(), "wb");
        bool written = f != nullptr && std::fwrite(text.data(), 1, text.size(), f) == text.size();
        if (f != nullptr) written = std::fclose(f) == 0 && written;
        ok = ok && written && file.publish();
      } catch (const SetupError&) {  // the run is over: reported like any other incomplete file
        ok = false;
      }
    }
    return ok;
  }

  void flush_if_large() {
    if (text_.size() >= kBufferBytes) flush();
  }
  void flush() {
    if (std::fwrite(text_.data(), 1, text_.size(), out_) != text_.size()) ok_ = false;
    text_.clear();
  }

  std::filesystem::path filter_dir_;
  std::FILE* out_ = nullptr;
  std::string text_;
  std::vector<std::string> codes_;
  uint64_t last_ps_ = 0;
  bool dumped_ = false, ok_ = true;
};

}  // namespace

std::unique_ptr<TraceSink> open_vcd(const std::string& path, std::string_view option, const std::string& filter_dir) {
  return std::make_unique<VcdSink>(path, option, filter_dir);
}

}  // namespace sec::trace
