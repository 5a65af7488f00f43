// Turns what happens in the engine and on the processor into signals of a trace file. Scopes and names are those of the
// GTKWave views in waveforms/.
#pragma once
#include <memory>
#include <string>

#include "common/trace.h"
#include "hw/core/engine.h"

namespace sec::host {

class EngineTracer final : public hw::EngineObserver {
 public:
  EngineTracer(std::unique_ptr<trace::SignalSink> sink, hw::Engine& engine, uint64_t period_ps);
  ~EngineTracer() override;

  void channel_state(uint64_t clock, unsigned channel, regs::ChannelState s) override;
  void channel_descriptor(uint64_t clock, unsigned channel, BusAddr at, unsigned fifo_level) override;
  void fetch_fifo(uint64_t clock, unsigned channel, unsigned level) override;
  void descriptor_end(uint64_t clock, unsigned channel, BusAddr at, uint32_t error) override;
  void unit_owner(uint64_t clock, regs::Eu unit, int channel) override;
  void unit_fifo(uint64_t clock, regs::Eu unit, uint32_t in_bytes, uint32_t out_bytes, bool busy) override;
  void bus(uint64_t clock, int channel, bool write, BusAddr addr, uint32_t size_bytes) override;
  void lines(uint64_t clock, uint32_t mask) override;
  enum class CpuState : uint8_t { Idle, App, Irq, Task };
  void cpu(uint64_t time_ps, CpuState s);

  void commit(uint64_t time_ps);
  /// False when the file could not be written completely.
  bool close(uint64_t end_ps);

 private:
  struct UnitSignals {
    trace::SignalId owner, busy, in, out;
  };
  UnitSignals& unit(regs::Eu u) { return units_[u == regs::Eu::Aesu ? 0 : 1]; }
  uint64_t at(uint64_t clock) const { return clock * period_; }

  std::unique_ptr<trace::SignalSink> sink_;
  uint64_t period_;
  trace::SignalId bus_owner_, bus_write_, bus_addr_, bus_bytes_, line_[2], cpu_;
  struct ChannelSignals {
    trace::SignalId state, level, descriptor, number, error;
    uint64_t count = 0;
  } channel_[4];
  UnitSignals units_[2];
};

}  // namespace sec::host
