#include "hw/trace/file_sink.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/diag.h"

namespace sec::trace {
namespace {

bool fits(uint64_t value, unsigned width_bits) { return width_bits >= 64 || value >> width_bits == 0; }

/// VCD is split at white space and views at dots and brackets, so names are kept to what all of them can carry.
bool valid_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

std::string FileSink::Signal::name_and_range() const {
  return width_bits == 1 ? name : fmt::format("{} [{}:0]", name, width_bits - 1);
}

SignalId FileSink::declare(std::string_view scope, std::string_view name, unsigned width_bits,
                           std::span<const EnumName> names) {
  SEC_CHECK(!any_change_ && !header_written_, "a signal is declared after the first change");
  SEC_CHECK(width_bits >= 1 && width_bits <= 64, "a signal has 1 to 64 bits");
  SEC_CHECK(valid_name(name), "a signal's name has letters, digits and underscores only");
  for (std::string_view rest = scope; !scope.empty();) {
    const size_t dot = rest.find('.');
    SEC_CHECK(valid_name(rest.substr(0, dot)), "a scope's name has letters, digits and underscores only");
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  for (const Signal& s : signals_) SEC_CHECK(s.name != name || s.scope != scope, "a signal is declared twice");
  Signal s{.scope = std::string(scope), .name = std::string(name), .width_bits = width_bits};
  for (const EnumName& n : names) {
    SEC_CHECK(fits(n.value, width_bits) && !n.name.empty(), "a named value does not fit its signal");
    s.names.emplace_back(n.value, n.name);
  }
  signals_.push_back(std::move(s));
  current_.emplace_back();
  return static_cast<SignalId>(signals_.size() - 1);
}

void FileSink::change(uint64_t time_ps, SignalId id, uint64_t value) {
  SEC_CHECK(!closed_, "a change after the trace was closed");
  SEC_CHECK(id < signals_.size(), "a change of a signal that was not declared");
  if (!fits(value, signals_[id].width_bits)) [[unlikely]]
    internal_error(__FILE__, __LINE__,
                   fmt::format("trace: {:#x} does not fit the {} bits of {}", value, signals_[id].width_bits,
                               signals_[id].path())
                       .c_str());
  if (time_ps < committed_ps_) [[unlikely]]
    internal_error(__FILE__, __LINE__,
                   fmt::format("trace: {} changes at {} ps, after everything before {} ps was declared final",
                               signals_[id].path(), time_ps, committed_ps_)
                       .c_str());
  any_change_ = true;
  waiting_.push_back({time_ps, order_++, value, id});
  std::push_heap(waiting_.begin(), waiting_.end(), later);
}

void FileSink::commit(uint64_t time_ps) {
  if (closed_ || time_ps <= committed_ps_) return;
  committed_ps_ = time_ps;
  drain(time_ps, false);
}

void FileSink::start() {
  if (header_written_) return;
  header_written_ = true;
  SEC_CHECK(!signals_.empty(), "a trace has at least one signal");  // no reader opens an FST without
  Scope root;
  for (SignalId id = 0; id < signals_.size(); ++id) {
    Scope* at = &root;
    for (std::string_view rest = signals_[id].scope; !rest.empty();) {
      const size_t dot = rest.find('.');
      const std::string_view name = rest.substr(0, dot);
      rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
      auto it = std::find_if(at->scopes.begin(), at->scopes.end(), [&](const Scope& s) { return s.name == name; });
      if (it == at->scopes.end()) it = at->scopes.insert(it, Scope{.name = std::string(name)});
      at = &*it;
    }
    at->signals.push_back(id);
  }
  write_header(root);
}

void FileSink::drain(uint64_t limit_ps, bool all) {
  while (!waiting_.empty() && (all || waiting_.front().time_ps < limit_ps)) {
    start();
    const uint64_t now = waiting_.front().time_ps;
    while (!waiting_.empty() && waiting_.front().time_ps == now) {
      std::pop_heap(waiting_.begin(), waiting_.end(), later);
      const Change& c = waiting_.back();
      Current& cur = current_[c.id];
      cur.staged = c.value;
      if (!cur.is_staged) staged_.push_back(c.id);
      cur.is_staged = true;
      waiting_.pop_back();
    }
    bool time_written = false;
    for (const SignalId id : staged_) {
      Current& cur = current_[id];
      cur.is_staged = false;
      if (cur.known && cur.value == cur.staged) continue;
      cur.known = true;
      cur.value = cur.staged;
      if (!time_written) write_time(now);
      time_written = true;
      last_ps_ = now;
      write_value(id, cur.value);
      ++written_;
    }
    staged_.clear();
  }
}

bool FileSink::close(uint64_t end_ps) {
  if (closed_) return ok_;
  drain(0, true);
  start();
  closed_ = true;
  ok_ = finish(std::max(end_ps, last_ps_)) && file_.publish() && published();
  return ok_;
}

}  // namespace sec::trace
