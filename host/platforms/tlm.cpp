#include "host/platforms/tlm.h"

#include <atomic>

#include "common/diag.h"

namespace sec::host {

using sc_core::sc_time;

// ---- memory ----

SystemMemory::SystemMemory(sc_core::sc_module_name name, driver::DmaSpace& space) : sc_module(name), space_(space) {
  socket.register_b_transport(this, &SystemMemory::b_transport);
  socket.register_get_direct_mem_ptr(this, &SystemMemory::get_direct_mem_ptr);
  socket.register_transport_dbg(this, &SystemMemory::transport_dbg);
}

void SystemMemory::b_transport(tlm::tlm_generic_payload& p, sc_time&) {
  const bool ok = transport_dbg(p) == p.get_data_length();
  p.set_response_status(ok ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

unsigned SystemMemory::transport_dbg(tlm::tlm_generic_payload& p) {
  if (before_access) before_access();
  const uint64_t at = p.get_address(), n = p.get_data_length();
  if (at < space_.bus_base() || at - space_.bus_base() + n > space_.size_bytes()) return 0;
  uint8_t* m = space_.host_ptr(at);
  if (p.is_write())
    std::memcpy(m, p.get_data_ptr(), n);
  else
    std::memcpy(p.get_data_ptr(), m, n);
  return static_cast<unsigned>(n);
}

bool SystemMemory::get_direct_mem_ptr(tlm::tlm_generic_payload& p, tlm::tlm_dmi& dmi) {
  const uint64_t first = space_.bus_base(), last = first + space_.size_bytes() - 1, at = p.get_address();
  dmi.init();
  if (at >= first && at <= last) {
    dmi.set_start_address(first);
    dmi.set_end_address(last);
    dmi.set_dmi_ptr(space_.base());
    dmi.allow_read_write();
    return true;
  }
  dmi.set_start_address(at < first ? 0 : last + 1);
  dmi.set_end_address(at < first ? first - 1 : ~uint64_t{0});
  return false;
}

// ---- another thread knocks ----

class TlmPlatform::ThreadDoor : public sc_core::sc_prim_channel {
 public:
  explicit ThreadDoor(sc_core::sc_event& wake) : sc_prim_channel("thread_door"), wake_(wake) {}
  void knock() { async_request_update(); }
  void attach(bool on) {
    if (on == attached_) return;
    attached_ = on;
    if (on)
      async_attach_suspending();
    else
      async_detach_suspending();
  }

 private:
  void update() override { wake_.notify(sc_core::SC_ZERO_TIME); }
  sc_core::sc_event& wake_;
  bool attached_ = false;
};

// ---- platform ----

namespace {
std::unique_ptr<driver::DmaSpace> make_space(size_t n) { return std::make_unique<driver::DmaSpace>(n, EnginePlatform::kMemoryBase); }
}  // namespace

TlmPlatform::TlmPlatform(const regs::Part& part, const hw::Timing& timing, size_t memory_bytes)
    : sc_module(sc_core::sc_module_name("platform")),
      memory_("memory", *(space_ = make_space(memory_bytes))),
      device_("sec", part, timing),
      door_(std::make_unique<ThreadDoor>(wake_)) {
  sc_core::sc_report_handler::set_actions("/OSCI/SystemC", sc_core::SC_DO_NOTHING);
  dma_ = space_.get();
  device_.memory.bind(memory_.socket);
  memory_.before_access = [this] { device_.publish(); };
  device_.on_interrupt = [this](unsigned, bool up) {
    if (up) on_interrupt();
  };
  SC_THREAD(processor);
}

TlmPlatform::~TlmPlatform() = default;

void TlmPlatform::profile_changed() {
  cpu_free_ = true;
  for (uint64_t c : cpu_.cost_ps) cpu_free_ &= c == 0;
}

void TlmPlatform::run(std::function<void()> body) {
  profile_changed();
  body_ = std::move(body);
  for (;;) {
    sc_core::sc_start();
    if (finished_) return;
    // The kernel has no more events and the body still waits: tell it.
    starved_ = true;
    wake_.notify(sc_core::SC_ZERO_TIME);
  }
}

void TlmPlatform::processor() {
  body_();
  pass_charged_time();
  device_.publish();
  finished_ = true;
  door_->attach(false);
  sc_core::sc_stop();
}

uint32_t TlmPlatform::read32(uint32_t offset) {
  cpu_.charge(driver::Cost::MmioRead);
  pass_charged_time();
  const uint32_t v = device_.read32(offset);
  if (on_access) [[unlikely]] on_access({false, offset, v});
  return v;
}

void TlmPlatform::write32(uint32_t offset, uint32_t value) {
  cpu_.charge(driver::Cost::MmioWrite);
  pass_charged_time();
  if (on_access) [[unlikely]] on_access({true, offset, value});
  device_.write32(offset, value);
  if (!cpu_free_ && device_.engine().lines() && !in_service_) deliver();
}

void TlmPlatform::pass_charged_time() {
  if (!cpu_.pending_ps || finished_) return;
  const uint64_t ps = std::exchange(cpu_.pending_ps, 0);
  cpu_busy_ps_ += ps;
  if (in_service_ && cpu_free_) return;  // a direct call has no thread to wait in
  ++cpu_wakes_;
  sc_core::wait(sc_time::from_value(ps));
}

void TlmPlatform::relax(uint64_t ns) {
  pass_charged_time();
  if (cpu_free_ && in_service_) return;
  sc_core::wait(sc_time::from_value(ns * 1000));
  device_.synchronize();
  if (!in_service_) deliver();
}

void TlmPlatform::deliver() {
  if (in_service_) return;
  const bool busy = device_.engine().lines() || !tasks_.empty();
  if (busy) cpu_state(CpuState::Irq);
  service([](void* d) {
    auto* device = static_cast<hw::SecDevice*>(d);
    return device->engine().lines();
  }, &device_);
  if (busy) cpu_state(sleeping_ ? CpuState::Idle : CpuState::App);
}

/// From the engine's process: serve at once when the processor costs nothing and is asleep, else wake it.
void TlmPlatform::on_interrupt() {
  if (cpu_free_ && sleeping_) {
    deliver();
    if (!waiting_ || waiting_(waiting_context_)) wake_.notify();
    return;
  }
  if (sleeping_) wake_.notify();
}

bool TlmPlatform::quiet() const {
  const hw::TimedEngine& e = const_cast<TlmPlatform*>(this)->device_.engine();
  return e.lines() == 0 && tasks_.empty() && e.next_visible() >= hw::kNever && !threads_;
}

bool TlmPlatform::wait_until(Condition done, void* context) {
  pass_charged_time();
  device_.synchronize();
  if (!in_service_) deliver();
  while (!done(context)) {
    if (in_service_) return false;
    if (quiet()) {
      if (!last_resort()) return false;
      continue;
    }
    sleeping_ = true;
    cpu_state(CpuState::Idle);
    waiting_ = done;
    waiting_context_ = context;
    ++cpu_wakes_;
    sc_core::wait(wake_);
    sleeping_ = false;
    cpu_state(CpuState::App);
    waiting_ = nullptr;
    if (starved_) {
      starved_ = false;
      if (!done(context) && !last_resort()) return false;
    }
    deliver();
    pass_charged_time();
  }
  return true;
}

void TlmPlatform::sleep_until_ps(uint64_t t) {
  pass_charged_time();
  for (;;) {
    const uint64_t now = sim_time_ps();
    if (now >= t) return;
    sleeping_ = true;
    cpu_state(CpuState::Idle);
    sc_core::wait(sc_time::from_value(t - now), wake_);
    sleeping_ = false;
    cpu_state(CpuState::App);
    deliver();
    pass_charged_time();
  }
}

void TlmPlatform::expect_threads(bool on) {
  threads_ = on;
  door_->attach(on);
  device_.set_run_ahead(!on);
}

void TlmPlatform::notify_from_thread() { door_->knock(); }

}  // namespace sec::host
