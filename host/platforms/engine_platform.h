// What both platforms share: the memory that driver and engine both see, interrupt delivery without nesting, deferred
// tasks, the log, and an observer of register accesses. Driver and model meet only here.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "driver/platform/platform.h"
#include "hw/core/engine.h"

namespace sec::host {

/// The device tree's view of a part.
driver::DeviceProperties device_properties(const regs::Part& part);

/// One register access, as the driver made it.
struct Access {
  bool write;
  uint32_t offset, value;
};

class EnginePlatform : public driver::Platform {
 public:
  static constexpr size_t kDefaultMemoryBytes = size_t{64} << 20;
  static constexpr BusAddr kMemoryBase = 0x0010'0000;

  void set_interrupt_handler(unsigned line, Handler handler, void* context) override { handlers_[line] = {handler, context}; }
  void schedule_task(Handler task, void* context) override;
  void log(Level level, std::string_view text) override;

  /// Waits until `done(context)` or until nothing more can happen. False in the latter case.
  using Condition = bool (*)(void* context);
  virtual bool wait_until(Condition done, void* context) = 0;
  /// As a callable; convenient, not for hot loops.
  bool wait_for(const std::function<bool()>& done) {
    return wait_until([](void* f) { return (*static_cast<const std::function<bool()>*>(f))(); }, const_cast<std::function<bool()>*>(&done));
  }
  /// Lets something happen; false when nothing can any more. For callers that re-check a condition themselves.
  bool pump();

  /// Other OS threads may send something (host/platforms/bridge.h): wait_until() then waits for them too.
  virtual void expect_threads(bool on) = 0;
  /// From any thread: makes wait_until() look at its condition again.
  virtual void notify_from_thread() = 0;

  virtual hw::Engine& engine() = 0;
  virtual uint64_t sim_time_ps() = 0;  // 0 for ever on the functional platform
  /// The name of the fidelity: "functional" or "approx".
  virtual std::string_view fidelity() const = 0;

  /// Called for every register access (null: nobody looks).
  std::function<void(const Access&)> on_access;
  /// Log lines go here as well; by default warnings and errors are only kept.
  std::function<void(Level, std::string_view)> on_log;
  const std::vector<std::string>& warnings() const { return warnings_; }

 protected:
  struct Slot {
    Handler fn = nullptr;
    void* context = nullptr;
  };
  /// Runs handlers while lines are up, then tasks, until all is quiet. Not reentrant.
  void service(uint32_t (*lines)(void*), void* self);
  bool in_service_ = false;
  uint64_t services_ = 0;
  Slot handlers_[2];
  std::vector<Slot> tasks_;
  std::unique_ptr<driver::DmaSpace> space_;

 private:
  std::vector<std::string> warnings_;
};

}  // namespace sec::host
