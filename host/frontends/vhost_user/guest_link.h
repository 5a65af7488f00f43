// The model as a device of a running kernel: serves the engine's registers, interrupt lines and, if wanted, time to a User-Mode
// Linux guest over Unix sockets, so that the guest's own driver drives it.
//
//   directory/sec.sock    registers: virtio "PCI over virtio" device in platform mode, carried by vhost-user
//   directory/gpio.sock   interrupt lines: virtio GPIO device used as an interrupt controller
//   directory/time.sock   simulated time: the calendar of time-travel=ext (with `time_travel`)
//
// The sockets listen when the constructor returns; then the guest may be started, and serve() runs until it has closed them.
// Everything happens in the thread that calls serve(), hooks too; only stop() may be called from elsewhere.
//
// Time. Functional: none of its own; a descriptor has run when the doorbell's write is acknowledged. Approx: the SystemC engine
// (one per process). With time_travel the calendar joins the guest's clock and the engine's, exactly. Without it an approx engine
// runs freely: its clock advances, as fast as it can, while it has work, and guest and engine agree on no time.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "host/session/session.h"

namespace sec::host::vhost_user {

/// The peer is not a kernel that speaks this, broke the protocol, or kept a named wait waiting. One sentence.
class GuestError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Every wait for the guest ends. Zero: that one has no limit.
struct GuestLimits {
  std::chrono::milliseconds connect{30'000};  // serve() to the first connection
  std::chrono::milliseconds reply{60'000};    // any answer that the guest owes, and the rest of a message that has begun
  std::chrono::milliseconds wall{0};          // all of serve(): ends it as stop() does
  uint64_t sim_ns = 0;                        // likewise, in simulated time
};

struct GuestLinkOptions {
  const regs::Part* part = &regs::default_part();
  Fidelity fidelity = Fidelity::Functional;
  std::filesystem::path directory = ".";  // must exist; old sockets of these names are replaced
  bool time_travel = false;
  uint64_t read_latency_ns = 0;      // with time_travel: what a register read costs the guest, in steps of its 1 us polling
  std::vector<std::string> set;      // knob=value
  uint64_t seed = 1;                 // of the random number unit
  bool entropy = false;              // or: real random numbers
  std::string trace_path;            // waveforms (.fst, .vcd), approx only
  std::string trace_window;
  std::string register_trace_path;   // text, one line an access: "t_ns R|W NAME value"
  bool mask_addresses = false;       // in it: "*" for values that are memory addresses, which differ from run to run
  GuestLimits limits;
  /// Asked a few times a second while nothing comes from the guest: false ends serve(). Null: nobody is asked.
  std::function<bool()> guest_alive;
};

struct GuestLinkStats {
  uint64_t reads = 0, writes = 0;            // register accesses
  uint64_t kicks = 0, gpio_kicks = 0;        // messages of the guest: "look at the queue"
  uint64_t calls = 0;                        // and to it
  uint64_t interrupts = 0;                   // interrupts handed to the guest
  uint64_t descriptors = 0;                  // that the engine finished, well or not
  uint64_t errors = 0;                       // of these: not well
  uint64_t bytes = 0;                        // that the engine read as data
  uint64_t static_reads = 0;                 // from the guest kernel's static data (guest_memory.h)
  uint64_t static_bytes = 0;
  uint64_t bus_errors = 0;                   // descriptors that ended with one
  uint64_t odd_accesses = 0;                 // outside the register window, or not of 4 or 8 bytes
  uint64_t messages = 0;                     // vhost-user messages
  std::map<std::string, uint64_t> calendar;  // calendar messages by name, both ways; empty without time_travel
  uint64_t sim_ns = 0;                       // simulated time at the end
  uint64_t wall_ns = 0;                      // of serve()
  std::vector<std::string> warnings;         // one sentence each; the first thousand
};

struct RegisterAccess {
  uint64_t time_ns;
  bool write;
  uint32_t offset;  // in the engine's window
  uint32_t value;
};

struct DescriptorEvent {
  uint64_t number;  // 1, 2, ... in the order in which channels began them
  unsigned channel;
  BusAddr address;
  std::array<std::byte, 64> bytes;  // as it was when the channel began it; zero when it could not be read
  uint64_t begin_ns, end_ns;
  uint32_t error;  // CCPSR error bits, 0: done
};

/// Something that goes wrong on purpose. Descriptors count from 1, in the order in which channels begin them.
struct Fault {
  enum class Kind : uint8_t {
    BusErrorAt,       // memory accesses that touch [address, address + size)
    BusError,         // descriptor `number`: what pointer `argument` (0..6) points to; 7: the descriptor itself
    DropInterrupt,    // the `number`th interrupt never reaches the guest
    UnitError,        // descriptor `number`: its unit reports an internal error after `argument` bytes
    IllegalHeader,    // descriptor `number`: its header is zeroed in memory
    FetchOverflow,    // the `number`th descriptor address that software writes meets a full fetch FIFO
  };
  Kind kind;
  uint64_t number = 1;
  uint64_t argument = 0;
  BusAddr address = 0;
  uint64_t size = 0;
};
/// "bus-error-at:ADDRESS[:SIZE]", "bus-error:N[:POINTER]", "drop-interrupt:N", "unit-error:N[:BYTES]", "illegal-header:N",
/// "fetch-overflow:N". SetupError naming `option`.
Fault parse_fault(std::string_view text, std::string_view option = "--fault");

/// What stop_on() waits for.
struct StopCondition {
  enum class Kind : uint8_t { Descriptor, Error, Register };
  Kind kind;
  uint64_t number = 0;   // of the descriptor, when it ends
  uint32_t offset = 0;   // of the register, when it is accessed
  uint32_t bytes = 4;    // and its size
};
/// "descriptor:N", "error", "register:NAME". SetupError naming `option`.
StopCondition parse_stop(std::string_view text, const regs::Part& part, std::string_view option = "--stop-on");

/// The guest waits (in a register access) or runs on meanwhile (after a descriptor, in free-running mode).
struct StopEvent {
  StopCondition condition;
  const RegisterAccess* access;       // of kind Register
  const DescriptorEvent* descriptor;  // of the other kinds
};

class GuestLink {
 public:
  /// Builds the engine and listens. SetupError for bad options.
  explicit GuestLink(GuestLinkOptions options);
  ~GuestLink();
  GuestLink(const GuestLink&) = delete;
  GuestLink& operator=(const GuestLink&) = delete;

  /// Serves until the guest has closed all connections, stop() was called or a limit was reached. Once. GuestError.
  void serve();
  /// From any thread or a signal handler: serve() returns soon.
  void stop() noexcept;
  /// What ended serve(): "guest closed", "stopped", "guest ended", "wall time limit", "simulated time limit", "stop condition".
  std::string_view end_reason() const;
  GuestLinkStats stats() const;

  const GuestLinkOptions& options() const;
  /// The engine, to look at: peek32(), channel(), counters(), notes().
  hw::Engine& engine();
  /// Guest memory at a bus address: host memory, or null when the engine would meet a bus error there.
  const uint8_t* memory(BusAddr address, uint64_t size);
  /// Simulated time (0 for ever: functional without time_travel).
  uint64_t sim_ns() const;

  // Hooks, before serve().
  std::function<void(const RegisterAccess&)> on_register_access;
  /// When a descriptor has ended.
  std::function<void(const DescriptorEvent&)> on_descriptor;
  /// Warnings, as they come.
  std::function<void(std::string_view)> on_warning;
  /// `reached` is called each time the condition is met; false from it ends serve().
  void stop_on(const StopCondition& condition, std::function<bool(const StopEvent&)> reached);
  void inject(const Fault& fault);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sec::host::vhost_user
