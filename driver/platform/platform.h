// What a driver needs from the world: register access, memory that the device can reach, an interrupt,
// a deferred task, time, waiting with a limit. Implemented by the functional and the SystemC platform
// (host/platforms) and by the scripted one of the driver tests. The driver never knows which.
//
// Threading: a Platform and everything on it belong to one thread at a time.
//
// Interrupts never nest: the handler and the tasks run when no other driver code is running on this
// platform (the functional platform delivers them when the outermost register write returns).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/endian.h"
#include "driver/platform/cpu_meter.h"
#include "driver/platform/dma.h"

namespace sec::driver {

/// What the device tree says about the engine. Names are the device tree's.
struct DeviceProperties {
  std::vector<std::string_view> compatible;  // newest first, e.g. "fsl,sec3.1", "fsl,sec3.0", ...
  unsigned num_channels = 0;                 // fsl,num-channels: a power of two
  unsigned channel_fifo_len = 0;             // fsl,channel-fifo-len
  uint32_t exec_units_mask = 0;              // fsl,exec-units-mask
  uint32_t descriptor_types_mask = 0;        // fsl,descriptor-types-mask
  unsigned interrupts = 1;                   // 1 or 2 lines
};

class Platform {
 public:
  using Handler = void (*)(void* context);

  virtual ~Platform() = default;

  /// Registers, byte offset in the engine's window, 32-bit halves (HI at the offset, LO at +4).
  virtual uint32_t read32(uint32_t offset_bytes) = 0;
  virtual void write32(uint32_t offset_bytes, uint32_t value) = 0;

  /// Handler for interrupt line 0 or 1. Level-triggered: called again while the line stays up.
  virtual void set_interrupt_handler(unsigned line, Handler handler, void* context) = 0;
  /// Runs `task` later, outside the interrupt handler; scheduling twice before it ran runs it once.
  virtual void schedule_task(Handler task, void* context) = 0;

  /// Everything the device has written so far becomes visible to the processor (and, with simulated
  /// time, the processor's charged work has been waited for). Called before a done byte is looked at.
  virtual void sync_for_cpu() = 0;

  /// Lets at least `ns` of the platform's time pass (used by poll loops).
  virtual void relax(uint64_t ns) = 0;
  virtual uint64_t now_ns() = 0;

  /// `handler` is asked when nothing can happen any more although somebody waits: it may let time pass (relax) and give up
  /// what is overdue. True when it changed something. Null: nobody is asked.
  using LastResort = bool (*)(void* context);
  void set_last_resort(LastResort handler, void* context) {
    last_resort_ = handler;
    last_resort_context_ = context;
  }

  /// One line per event, for people.
  enum class Level { Info, Warning, Error };
  virtual void log(Level level, std::string_view text) = 0;

  DmaSpace& dma() { return *dma_; }
  CpuMeter& cpu() { return cpu_; }

 protected:
  bool last_resort() { return last_resort_ && last_resort_(last_resort_context_); }

  DmaSpace* dma_ = nullptr;  // set by the implementation
  CpuMeter cpu_;

 private:
  LastResort last_resort_ = nullptr;
  void* last_resort_context_ = nullptr;
};

}  // namespace sec::driver
