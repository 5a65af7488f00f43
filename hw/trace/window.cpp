#include "hw/trace/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/diag.h"

namespace sec::trace {
namespace {

bool parse_ps(std::string_view text, uint64_t& ps) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0)) return false;
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  constexpr struct {
    std::string_view name;
    double ps;
  } kUnits[] = {{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}};
  for (const auto& u : kUnits) {
    if (unit != u.name) continue;
    const double value = std::round(number * u.ps);
    if (!(value < 1.8e19)) return false;
    ps = static_cast<uint64_t>(value);
    return true;
  }
  return false;
}

}  // namespace

Window parse_window(std::string_view text, std::string_view option) {
  Window w;
  const size_t colon = text.find(':');
  const std::string_view start = text.substr(0, colon);
  const std::string_view stop = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (colon == std::string_view::npos || (!start.empty() && !parse_ps(start, w.start_ps)) ||
      (!stop.empty() && !parse_ps(stop, w.stop_ps)))
    throw SetupError(
        fmt::format("{}: '{}' is not a window; write START:STOP with units, for example 10us:25us", option, text));
  if (w.start_ps >= w.stop_ps)
    throw SetupError(fmt::format("{}: the window '{}' ends before it starts; write the earlier time first", option, text));
  return w;
}

WindowedSink::WindowedSink(std::unique_ptr<TraceSink> inner, Window window)
    : inner_(std::move(inner)), window_(window) {
  SEC_CHECK(window_.start_ps < window_.stop_ps, "a trace window is not empty");
}

SignalId WindowedSink::declare(std::string_view scope, std::string_view name, unsigned width_bits,
                               std::span<const EnumName> names) {
  const SignalId id = inner_->declare(scope, name, width_bits, names);
  if (before_.size() <= id) before_.resize(id + 1);
  return id;
}

void WindowedSink::change(uint64_t time_ps, SignalId id, uint64_t value) {
  if (time_ps > window_.stop_ps) return;
  if (time_ps > window_.start_ps) {
    inner_->change(time_ps, id, value);
    return;
  }
  SEC_CHECK(!entered_, "a change before the window after its start was declared final");
  SEC_CHECK(id < before_.size(), "a change of a signal that was not declared");
  Before& b = before_[id];
  if (!b.known || time_ps >= b.time_ps) b = {time_ps, value, true};
}

/// Only once nothing at or before the start can follow: what is written here is the value at the start.
void WindowedSink::enter() {
  if (entered_) return;
  entered_ = true;
  for (SignalId id = 0; id < before_.size(); ++id)
    if (before_[id].known) inner_->change(window_.start_ps, id, before_[id].value);
}

void WindowedSink::commit(uint64_t time_ps) {
  if (time_ps <= window_.start_ps) return;
  enter();
  inner_->commit(time_ps);
}

bool WindowedSink::close(uint64_t end_ps) {
  if (end_ps >= window_.start_ps) enter();  // else the run ended before the window: the trace stays empty
  return inner_->close(std::min(end_ps, window_.stop_ps));
}

}  // namespace sec::trace
