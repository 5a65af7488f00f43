// What the host processor spends. Driver and workloads say what they do (`charge(Cost::SubmitRequest)`);
// the platform says what that costs, from a CPU profile. The meter only adds up: a platform that has
// simulated time turns `pending_ps` into waiting at its next synchronisation point, the functional
// platform ignores it. Charging is a load, a multiply and two adds, so it may stand in hot paths.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace sec::driver {

enum class Cost : uint8_t {
  ApiCall,         // crypto API entry: transform lookup, request set-up
  SubmitRequest,   // build the descriptor, take a ring slot
  MapSegment,      // map or unmap one segment for DMA
  LinkTableEntry,  // write one link-table entry
  MmioRead,        // the processor waits for the answer
  MmioWrite,       // posted
  Interrupt,       // interrupt entry and exit
  DoneTask,        // deferred task: scheduling and one walk over its channels
  Completion,      // retire one descriptor: unmap, IV copy, callback
  CopyByte,        // processor copies a byte (bounce buffers, packet headers)
  PacketWork,      // one packet through the protocol stack (workloads)
  SectorWork,      // one disk sector or bio bookkeeping step (workloads)
  kCount
};
constexpr size_t kCostCount = static_cast<size_t>(Cost::kCount);
constexpr std::array<std::string_view, kCostCount> kCostNames = {
    "api_call",  "submit_request", "map_segment", "link_table_entry", "mmio_read",   "mmio_write",
    "interrupt", "done_task",      "completion",  "copy_byte",        "packet_work", "sector_work"};

struct CpuMeter {
  std::array<uint64_t, kCostCount> cost_ps{};  // from the profile; all zero: the host is free of charge
  std::array<uint64_t, kCostCount> count{};
  uint64_t pending_ps = 0;  // charged but not yet simulated
  uint64_t total_ps = 0;    // everything charged so far, named costs and cipher work
  uint64_t other_ps = 0;    // charged by charge_ps (software crypto)

  void charge(Cost c, uint64_t n = 1) {
    const auto i = static_cast<size_t>(c);
    count[i] += n;
    const uint64_t ps = cost_ps[i] * n;
    pending_ps += ps;
    total_ps += ps;
  }
  void charge_ps(uint64_t ps) {
    pending_ps += ps;
    total_ps += ps;
    other_ps += ps;
  }
};

}  // namespace sec::driver
