#include "host/session/engine_tracer.h"

#include <vector>

namespace sec::host {
namespace {
constexpr trace::EnumName kOwners[] = {{0, "-"}, {1, "ch0"}, {2, "ch1"}, {3, "ch2"}, {4, "ch3"}};
constexpr trace::EnumName kCpuStates[] = {{0, "idle"}, {1, "app"}, {2, "irq"}, {3, "task"}};
constexpr trace::EnumName kDirections[] = {{0, "read"}, {1, "write"}};
}  // namespace

EngineTracer::EngineTracer(std::unique_ptr<trace::SignalSink> sink, hw::Engine& engine, uint64_t period_ps)
    : sink_(std::move(sink)), period_(period_ps) {
  std::vector<trace::EnumName> states;
  for (const auto& s : regs::kChannelStateNames) states.push_back({s.value, s.name});
  bus_owner_ = sink_->declare("sec.bus", "owner", 3, kOwners);
  bus_write_ = sink_->declare("sec.bus", "write", 1, kDirections);
  bus_addr_ = sink_->declare("sec.bus", "address", 36);
  bus_bytes_ = sink_->declare("sec.bus", "bytes", 8);
  for (unsigned n = 0; n < engine.part().channels; ++n) {
    const std::string scope = "sec.channel" + std::to_string(n);
    channel_[n].state = sink_->declare(scope, "state", 4, states);
    channel_[n].level = sink_->declare(scope, "fetch_fifo_level", 6);
    channel_[n].descriptor = sink_->declare(scope, "CDPR", 36);
    channel_[n].number = sink_->declare(scope, "descriptor_number", 32);
    channel_[n].error = sink_->declare(scope, "error", 16);
  }
  for (const char* u : {"aesu", "deu"}) {
    UnitSignals& s = units_[u[0] == 'a' ? 0 : 1];
    const std::string scope = std::string("sec.") + u;
    s.owner = sink_->declare(scope, "owner", 3, kOwners);
    s.busy = sink_->declare(scope, "busy", 1);
    s.in = sink_->declare(scope, "in_fifo_bytes", 12);
    s.out = sink_->declare(scope, "out_fifo_bytes", 12);
  }
  line_[0] = sink_->declare("sec.irq", "line0", 1);
  line_[1] = sink_->declare("sec.irq", "line1", 1);
  cpu_ = sink_->declare("cpu", "state", 2, kCpuStates);
  for (trace::SignalId id = 0; id <= cpu_; ++id) sink_->change(0, id, 0);
}
EngineTracer::~EngineTracer() = default;

void EngineTracer::channel_state(uint64_t clock, unsigned n, regs::ChannelState s) {
  sink_->change(at(clock), channel_[n].state, static_cast<uint64_t>(s));
  if (s == regs::ChannelState::Idle) sink_->change(at(clock), channel_[n].error, 0);
}
void EngineTracer::channel_descriptor(uint64_t clock, unsigned n, BusAddr a, unsigned level) {
  sink_->change(at(clock), channel_[n].descriptor, a);
  sink_->change(at(clock), channel_[n].number, ++channel_[n].count);
  sink_->change(at(clock), channel_[n].level, level);
}
void EngineTracer::fetch_fifo(uint64_t clock, unsigned n, unsigned level) { sink_->change(at(clock), channel_[n].level, level); }
void EngineTracer::descriptor_end(uint64_t clock, unsigned n, BusAddr, uint32_t error) {
  sink_->change(at(clock), channel_[n].error, error);
}
void EngineTracer::unit_owner(uint64_t clock, regs::Eu u, int channel) {
  if (u != regs::Eu::Aesu && u != regs::Eu::Deu) return;
  sink_->change(at(clock), unit(u).owner, static_cast<uint64_t>(channel + 1));
}
void EngineTracer::unit_fifo(uint64_t clock, regs::Eu u, uint32_t in, uint32_t out, bool busy) {
  if (u != regs::Eu::Aesu && u != regs::Eu::Deu) return;
  sink_->change(at(clock), unit(u).in, in);
  sink_->change(at(clock), unit(u).out, out);
  sink_->change(at(clock), unit(u).busy, busy);
}
void EngineTracer::bus(uint64_t clock, int channel, bool write, BusAddr addr, uint32_t bytes) {
  sink_->change(at(clock), bus_owner_, static_cast<uint64_t>(channel + 1));
  if (channel < 0) return;
  sink_->change(at(clock), bus_write_, write);
  sink_->change(at(clock), bus_addr_, addr);
  sink_->change(at(clock), bus_bytes_, bytes);
}
void EngineTracer::lines(uint64_t clock, uint32_t mask) {
  sink_->change(at(clock), line_[0], mask & 1);
  sink_->change(at(clock), line_[1], mask >> 1 & 1);
}
void EngineTracer::cpu(uint64_t time_ps, CpuState s) { sink_->change(time_ps, cpu_, static_cast<uint64_t>(s)); }
void EngineTracer::commit(uint64_t time_ps) { sink_->commit(time_ps); }
bool EngineTracer::close(uint64_t end_ps) { return sink_->close(end_ps); }

}  // namespace sec::host
