#include "hw/trace/fst.h"

#include <fmt/format.h>
#include <fstapi.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <system_error>

#include "common/diag.h"

namespace sec::trace {
namespace {

std::string binary(uint64_t value, unsigned width_bits) { return fmt::format("{:0{}b}", value, width_bits); }

/// The writer ignores errors of the C library, so a full disk shows only in the result: a file is complete when its
/// blocks (one type byte, eight bytes of big-endian length that counts itself) end exactly at the end of the file, none
/// of them is marked unfinished, and the header holds the end time.
bool complete(const std::filesystem::path& path, uint64_t end_ps) {
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (f == nullptr) return false;
  std::error_code failed;
  const uint64_t size = std::filesystem::file_size(path, failed);
  auto read64 = [f](uint64_t& value) {
    std::array<unsigned char, 8> b;
    if (std::fread(b.data(), 1, b.size(), f) != b.size()) return false;
    value = 0;
    for (const unsigned char c : b) value = value << 8 | c;
    return true;
  };
  bool ok = !failed && size > 0, header = false, hierarchy = false;
  for (uint64_t at = 0; ok && at < size;) {
    uint64_t length = 0;
    ok = std::fseek(f, static_cast<long>(at), SEEK_SET) == 0;
    const int type = ok ? std::fgetc(f) : EOF;
    ok = type != EOF && type != FST_BL_SKIP && read64(length) && length >= 8 && length < size - at;
    if (ok && type == FST_BL_HDR) {
      uint64_t first = 0, last = 0;
      header = read64(first) && read64(last) && last == end_ps;
    }
    hierarchy |= type == FST_BL_HIER || type == FST_BL_HIER_LZ4 || type == FST_BL_HIER_LZ4DUO;
    at += 1 + length;
  }
  std::fclose(f);
  return ok && header && hierarchy;
}

class FstSink final : public FileSink {
 public:
  FstSink(const std::string& path, std::string_view option) : FileSink(path, option) {
    fst_ = fstWriterCreate(file().scratch().c_str(), /*use_compressed_hier=*/1);
    if (fst_ == nullptr)
      throw SetupError(fmt::format("{}: cannot write {} or a temporary file in {}; make room or set TMPDIR", option, path,
                                   std::filesystem::temp_directory_path().string()));
    fstWriterSetPackType(fst_, FST_WR_PT_LZ4);
    fstWriterSetTimescaleFromString(fst_, "1ps");
    fstWriterSetVersion(fst_, "secsim");
    fstWriterSetDate(fst_, "");  // the same run gives the same file
  }
  ~FstSink() override {
    if (fst_ != nullptr) fstWriterClose(fst_);
  }

 private:
  void write_header(const Scope& root) override {
    handles_.resize(signals().size());
    write_scope(root);
  }

  void write_scope(const Scope& scope) {
    for (const SignalId id : scope.signals) {
      const Signal& s = signals()[id];
      if (!s.names.empty()) fstWriterEmitEnumTableRef(fst_, enum_table(s));
      handles_[id] = fstWriterCreateVar(fst_, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, s.width_bits,
                                        s.name_and_range().c_str(), /*aliasHandle=*/0);
    }
    for (const Scope& s : scope.scopes) {
      fstWriterSetScope(fst_, FST_ST_VCD_MODULE, s.name.c_str(), nullptr);
      write_scope(s);
      fstWriterSetUpscope(fst_);
    }
  }

  fstEnumHandle enum_table(const Signal& s) {
    fstEnumHandle& handle = tables_[{s.width_bits, s.names}];
    if (handle == 0) {
      std::vector<std::string> values;
      std::vector<const char*> value_texts, names;
      for (const auto& [value, name] : s.names) values.push_back(binary(value, s.width_bits));
      for (size_t i = 0; i < values.size(); ++i) {
        value_texts.push_back(values[i].c_str());
        names.push_back(s.names[i].second.c_str());
      }
      handle = fstWriterCreateEnumTable(fst_, s.path().c_str(), static_cast<uint32_t>(values.size()), s.width_bits,
                                        names.data(), value_texts.data());
    }
    return handle;
  }

  void write_time(uint64_t time_ps) override {
    fstWriterEmitTimeChange(fst_, time_ps);
    timed_ = true;
    last_ps_ = time_ps;
  }
  void write_value(SignalId id, uint64_t value) override {
    fstWriterEmitValueChange64(fst_, handles_[id], signals()[id].width_bits, value);
  }

  bool finish(uint64_t end_ps) override {
    if (!timed_) {  // readers refuse a file without any value, so the unknown ones are written out
      write_time(0);
      for (SignalId id = 0; id < signals().size(); ++id)
        fstWriterEmitValueChange(fst_, handles_[id], std::string(signals()[id].width_bits, 'x').c_str());
    }
    if (end_ps > last_ps_) fstWriterEmitTimeChange(fst_, end_ps);
    const bool seeks_ok = fstWriterGetFseekFailed(fst_) == 0;
    fstWriterClose(fst_);
    fst_ = nullptr;
    return seeks_ok && complete(file().scratch(), end_ps);
  }

  void* fst_ = nullptr;
  std::vector<fstHandle> handles_;
  std::map<std::pair<unsigned, std::vector<std::pair<uint64_t, std::string>>>, fstEnumHandle> tables_;
  uint64_t last_ps_ = 0;
  bool timed_ = false;
};

}  // namespace

std::unique_ptr<TraceSink> open_fst(const std::string& path, std::string_view option) {
  return std::make_unique<FstSink>(path, option);
}

}  // namespace sec::trace
