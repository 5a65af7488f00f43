#include "host/platforms/engine_platform.h"

#include "common/diag.h"

namespace sec::host {

driver::DeviceProperties device_properties(const regs::Part& part) {
  driver::DeviceProperties p;
  for (std::string_view c : part.compatible)
    if (!c.empty()) p.compatible.push_back(c);
  p.num_channels = part.channels;
  p.channel_fifo_len = part.fetch_fifo_entries;
  p.exec_units_mask = part.exec_units_mask;
  p.descriptor_types_mask = part.descriptor_types_mask;
  p.interrupts = part.interrupts;
  return p;
}

void EnginePlatform::schedule_task(Handler task, void* context) {
  for (const Slot& t : tasks_)
    if (t.fn == task && t.context == context) return;
  tasks_.push_back({task, context});
}

void EnginePlatform::log(Level level, std::string_view text) {
  constexpr size_t kKept = 1000;
  if (level != Level::Info && warnings_.size() < kKept) warnings_.emplace_back(text);
  if (on_log) on_log(level, text);
}

void EnginePlatform::service(uint32_t (*lines)(void*), void* self) {
  if (in_service_) return;
  in_service_ = true;
  for (unsigned rounds = 0;; ++rounds) {
    // A handler that neither acknowledges nor masks would spin for ever on real hardware too.
    SEC_CHECK(rounds < 1000000, "interrupt storm: a handler leaves its line up");
    const uint32_t up = lines(self);
    bool any = false;
    for (unsigned l = 0; l < 2; ++l)
      if (up >> l & 1 && handlers_[l].fn) {
        cpu_.charge(driver::Cost::Interrupt);
        handlers_[l].fn(handlers_[l].context);
        any = true;
      }
    if (any) {
      ++services_;
      continue;
    }
    if (tasks_.empty()) break;
    const Slot t = tasks_.front();
    tasks_.erase(tasks_.begin());
    t.fn(t.context);
    ++services_;
  }
  in_service_ = false;
}

bool EnginePlatform::pump() {
  struct State {
    EnginePlatform* self;
    uint64_t seen;
  } s{this, services_};
  return wait_until([](void* p) { return static_cast<State*>(p)->self->services_ != static_cast<State*>(p)->seen; }, &s);
}

}  // namespace sec::host
