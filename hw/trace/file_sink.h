// What every waveform file format shares: names, time order, and dropping what did not change.
//
// Reporters run ahead of each other, so changes arrive out of order. They wait in a heap until `commit(t)` promises that
// nothing earlier than t will follow; then everything before t goes to the file, oldest first. Of several changes of one
// signal at the same time the one reported last is the value (a pulse without duration is invisible in a waveform), and
// a value equal to the signal's current one is not written at all.
//
// Memory: 32 bytes per change between two commits. Nobody committing means that the whole run is held until close().
//
// A change earlier than the last commit, a value that does not fit its signal and a name declared twice are bugs of the
// reporter: internal errors, since a waveform that shows something else than what happened is worse than none.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/trace.h"
#include "hw/trace/output_file.h"

namespace sec::trace {

/// A sink that ends in a file.
class TraceSink : public SignalSink {
 public:
  /// Value changes that reached the file (all of them only after close()). Zero at the end of a run means a trace that
  /// shows nothing: worth a word to the user, for instance when a window lies beyond the end of the run.
  virtual uint64_t changes_written() const = 0;
};

class FileSink : public TraceSink {
 public:
  SignalId declare(std::string_view scope, std::string_view name, unsigned width_bits,
                   std::span<const EnumName> names = {}) final;
  void change(uint64_t time_ps, SignalId id, uint64_t value) final;
  void commit(uint64_t time_ps) final;
  bool close(uint64_t end_ps) final;
  uint64_t changes_written() const final { return written_; }

 protected:
  struct Signal {
    std::string scope, name;
    unsigned width_bits = 1;
    std::vector<std::pair<uint64_t, std::string>> names;  // value -> text

    std::string path() const { return scope.empty() ? name : scope + "." + name; }
    /// As waveform viewers spell it: a signal wider than one bit shows its range.
    std::string name_and_range() const;
  };
  struct Scope {
    std::string name;
    std::vector<Scope> scopes;
    std::vector<SignalId> signals;
  };

  FileSink(const std::string& path, std::string_view option) : file_(path, option) {}

  const OutputFile& file() const { return file_; }
  std::span<const Signal> signals() const { return signals_; }

  /// Called once, when all signals are known, before any time or value.
  virtual void write_header(const Scope& root) = 0;
  /// Strictly increasing.
  virtual void write_time(uint64_t time_ps) = 0;
  virtual void write_value(SignalId id, uint64_t value) = 0;
  /// Closes the scratch file; `end_ps` is not before the last written time. False when it is not complete.
  virtual bool finish(uint64_t end_ps) = 0;
  /// After the file got its name; false when something that belongs to it could not be written.
  virtual bool published() { return true; }

 private:
  struct Change {
    uint64_t time_ps, order, value;
    SignalId id;
  };
  struct Current {
    uint64_t value = 0, staged = 0;
    bool known = false, is_staged = false;
  };
  static bool later(const Change& a, const Change& b) {
    return a.time_ps != b.time_ps ? a.time_ps > b.time_ps : a.order > b.order;
  }
  void start();
  /// Takes every waiting change with a time below `limit_ps` (or all) to the file.
  void drain(uint64_t limit_ps, bool all);

  OutputFile file_;
  std::vector<Signal> signals_;
  std::vector<Current> current_;
  std::vector<Change> waiting_;  // a heap, earliest first
  std::vector<SignalId> staged_;
  uint64_t order_ = 0, committed_ps_ = 0, last_ps_ = 0, written_ = 0;
  bool header_written_ = false, any_change_ = false, closed_ = false, ok_ = false;
};

}  // namespace sec::trace
