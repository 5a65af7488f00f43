// A platform whose device is a script: every register access of the driver is expected, in order, with its
// value. Nothing happens by itself: the test fills memory as the engine would, raises interrupts and runs tasks.
#pragma once
#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "common/status.h"
#include "driver/platform/platform.h"

namespace sec::test {

class ScriptedPlatform : public driver::Platform {
 public:
  explicit ScriptedPlatform(size_t dma_bytes = 1 << 20, BusAddr base = 0x1'2000'0000)
      : space_(dma_bytes, base, 64, 2048) {
    dma_ = &space_;
  }
  ~ScriptedPlatform() override {
    EXPECT_TRUE(script_.empty()) << script_.size() << " expected accesses did not happen";
  }

  void expect_write(uint32_t offset, uint32_t value) { script_.push_back({true, offset, value}); }
  void expect_read(uint32_t offset, uint32_t value) { script_.push_back({false, offset, value}); }
  /// A 64-bit register written or read as HI then LO.
  void expect_write64(uint32_t offset, uint64_t v) {
    expect_write(offset, static_cast<uint32_t>(v >> 32));
    expect_write(offset + 4, static_cast<uint32_t>(v));
  }
  void expect_read64(uint32_t offset, uint64_t v) {
    expect_read(offset, static_cast<uint32_t>(v >> 32));
    expect_read(offset + 4, static_cast<uint32_t>(v));
  }
  bool script_done() const { return script_.empty(); }
  /// Accesses from now on are not looked at; reads give zero.
  void let_go() {
    script_.clear();
    strict_ = false;
  }

  void raise(unsigned line) {
    ASSERT_NE(handlers_[line].first, nullptr);
    handlers_[line].first(handlers_[line].second);
  }
  size_t run_tasks() {
    size_t n = 0;
    while (!tasks_.empty()) {
      const auto [task, context] = tasks_.front();
      tasks_.pop_front();
      task(context);
      ++n;
    }
    return n;
  }
  const std::vector<std::string>& log_lines() const { return log_; }
  unsigned syncs() const { return syncs_; }
  std::vector<Status> results;  // of the test's requests

  uint32_t read32(uint32_t offset) override {
    cpu_.charge(driver::Cost::MmioRead);
    if (!strict_) return 0;
    if (script_.empty() || script_.front().write || script_.front().offset != offset) {
      ADD_FAILURE() << "unexpected read of " << hex(offset) << expected();
      return 0;
    }
    const uint32_t v = script_.front().value;
    script_.pop_front();
    return v;
  }
  void write32(uint32_t offset, uint32_t value) override {
    cpu_.charge(driver::Cost::MmioWrite);
    if (!strict_) return;
    if (script_.empty() || !script_.front().write || script_.front().offset != offset ||
        script_.front().value != value) {
      ADD_FAILURE() << "unexpected write of " << hex(value) << " to " << hex(offset) << expected();
      return;
    }
    script_.pop_front();
  }
  void set_interrupt_handler(unsigned line, Handler h, void* c) override { handlers_[line] = {h, c}; }
  void schedule_task(Handler t, void* c) override {
    for (const auto& [task, context] : tasks_)
      if (task == t && context == c) return;
    tasks_.emplace_back(t, c);
  }
  void sync_for_cpu() override { ++syncs_; }
  void relax(uint64_t ns) override { now_ns_ += ns; }
  uint64_t now_ns() override { return now_ns_; }
  void log(Level, std::string_view text) override { log_.emplace_back(text); }

 private:
  struct Access {
    bool write;
    uint32_t offset, value;
  };
  static std::string hex(uint32_t v) {
    char b[16];
    std::snprintf(b, sizeof b, "%#x", v);
    return b;
  }
  std::string expected() const {
    if (script_.empty()) return ", none was expected";
    const Access& a = script_.front();
    return std::string(", expected a ") + (a.write ? "write of " + hex(a.value) + " to " : "read of ") + hex(a.offset);
  }

  driver::DmaSpace space_;
  std::deque<Access> script_;
  std::pair<Handler, void*> handlers_[2] = {};
  std::deque<std::pair<Handler, void*>> tasks_;
  std::vector<std::string> log_;
  unsigned syncs_ = 0;
  uint64_t now_ns_ = 0;
  bool strict_ = true;
};

}  // namespace sec::test
