// The SystemC shell through its sockets: register transactions and their errors, debug access, DMI, interrupt calls and
// signals, and that completion clocks depend on nothing but the stimuli: not on running ahead, not on what else happens in the
// simulation, not on the delta in which a reset comes. One case per process, since SystemC elaborates once.
#define SC_INCLUDE_DYNAMIC_PROCESSES
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hw/tlm/sec_device.h"
#include "tests/model/rig.h"

namespace sec::test {
namespace {
namespace ce = regs::channel_error;
using regs::Eu;
using sc_core::sc_time;
using tlm::tlm_generic_payload;
using tlm::tlm_response_status;

const regs::Part& part() { return regs::default_part(); }

/// Memory behind a TLM socket, with DMI for all of it.
struct Ram : sc_core::sc_module {
  tlm_utils::simple_target_socket<Ram> socket{"socket"};
  Bytes low = Bytes(kLowBytes, 0xEE), high = Bytes(kHighBytes, 0xEE), rom = Bytes(0x1000, 0x55);
  static constexpr BusAddr kRom = 0x4000'0000;
  unsigned dmi_calls = 0;
  explicit Ram(sc_core::sc_module_name n) : sc_module(n) { socket.register_get_direct_mem_ptr(this, &Ram::dmi); }
  bool dmi(tlm_generic_payload& p, tlm::tlm_dmi& d) {
    ++dmi_calls;
    d.allow_read_write();
    const uint64_t a = p.get_address();
    auto region = [&](uint64_t first, uint64_t last, uint8_t* m) {
      d.set_start_address(first);
      d.set_end_address(last);
      d.set_dmi_ptr(m);
      return m != nullptr;
    };
    if (a < kLow) return region(0, kLow - 1, nullptr);
    if (a < kLow + kLowBytes) return region(kLow, kLow + kLowBytes - 1, low.data());
    if (a < kRom) return region(kLow + kLowBytes, kRom - 1, nullptr);
    if (a < kRom + rom.size()) {
      d.allow_read();
      return region(kRom, kRom + rom.size() - 1, rom.data());
    }
    if (a < kHigh) return region(kRom + rom.size(), kHigh - 1, nullptr);
    if (a < kHigh + kHighBytes) return region(kHigh, kHigh + kHighBytes - 1, high.data());
    return region(kHigh + kHighBytes, ~uint64_t{0}, nullptr);
  }
  uint8_t* at(BusAddr a) { return a >= kHigh ? high.data() + (a - kHigh) : low.data() + (a - kLow); }
};

struct Cpu : sc_core::sc_module {
  tlm_utils::simple_initiator_socket<Cpu> socket{"socket"};
  explicit Cpu(sc_core::sc_module_name n) : sc_module(n) {}
};

struct Bench {
  std::unique_ptr<hw::SecDevice> sec;
  std::unique_ptr<Ram> ram;
  std::unique_ptr<Cpu> cpu;
  Witness witness;
  uint64_t period_ps = 0;

  explicit Bench(const std::string& prefix = "a", const regs::Part& p = part()) {
    sc_core::sc_report_handler::set_actions("/OSCI/SystemC", sc_core::SC_DO_NOTHING);
    sec = std::make_unique<hw::SecDevice>((prefix + "_sec").c_str(), p, hw::Timing::for_part(p));
    ram = std::make_unique<Ram>((prefix + "_ram").c_str());
    cpu = std::make_unique<Cpu>((prefix + "_cpu").c_str());
    sec->memory.bind(ram->socket);
    cpu->socket.bind(sec->registers);
    sec->engine().set_observer(&witness);
    period_ps = sec->engine().clocks().period_ps;
  }

  tlm_response_status access(bool write, uint64_t at, uint8_t* data, unsigned n, unsigned width = 0, sc_time delay = sc_core::SC_ZERO_TIME,
                             uint8_t* enable = nullptr) {
    tlm_generic_payload p;
    p.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    p.set_address(at);
    p.set_data_ptr(data);
    p.set_data_length(n);
    p.set_streaming_width(width ? width : n);
    p.set_byte_enable_ptr(enable);
    p.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    cpu->socket->b_transport(p, delay);
    return p.get_response_status();
  }
  uint32_t rd(uint64_t at) {
    uint8_t b[4];
    EXPECT_EQ(access(false, at, b, 4), tlm::TLM_OK_RESPONSE);
    return load_be32(b);
  }
  void wr(uint64_t at, uint32_t v) {
    uint8_t b[4];
    store_be32(b, v);
    EXPECT_EQ(access(true, at, b, 4), tlm::TLM_OK_RESPONSE);
  }
  uint64_t rd64(uint64_t at) {
    uint8_t b[8];
    EXPECT_EQ(access(false, at, b, 8), tlm::TLM_OK_RESPONSE);
    return load_be64(b);
  }
  void wr64(uint64_t at, uint64_t v) {
    uint8_t b[8];
    store_be64(b, v);
    EXPECT_EQ(access(true, at, b, 8), tlm::TLM_OK_RESPONSE);
  }
  void configure(unsigned n, uint32_t v = kCdwe | kCdie) { wr(regs::kChannelBase(n) + regs::kCCCR.offset_bytes + 4, v); }
  void submit(unsigned n, BusAddr a) { wr64(regs::kChannelBase(n) + regs::kFF.offset_bytes, a); }
  void enable_all() { wr64(regs::kControllerBase + regs::kIMR.offset_bytes, ~uint64_t{0}); }
  uint64_t isr() { return rd64(regs::kControllerBase + regs::kISR.offset_bytes); }
  void clear(uint64_t bits) { wr64(regs::kControllerBase + regs::kICR.offset_bytes, bits); }
  void load(const Job& j, uint32_t seed = 7) {
    auto put = [&](BusAddr a, const Bytes& b) { std::copy(b.begin(), b.end(), ram->at(a)); };
    put(j.iv(), pattern(j.iv_bytes, seed + 1));
    put(j.key(), odd_parity(pattern(j.key_bytes, seed + 2)));
    put(j.in(), pattern(j.in_bytes, seed + 3));
    j.descriptor().store(ram->at(j.at));
  }
  Bytes want(const Job& j, uint32_t seed = 7) const {
    return cipher("AES-128-CBC", odd_parity(pattern(j.key_bytes, seed + 2)), pattern(j.iv_bytes, seed + 1), pattern(j.in_bytes, seed + 3), true);
  }
  Bytes got(const Job& j) { return Bytes(ram->at(j.out()), ram->at(j.out()) + j.out_bytes); }
};

void at_ps(uint64_t ps) {
  const uint64_t now = sc_core::sc_time_stamp().value();
  if (ps > now) sc_core::wait(sc_time::from_value(ps - now));
}
/// Runs `f` as a thread; the simulation ends when nothing is left to do.
void simulate(const std::function<void()>& f) {
  sc_core::sc_spawn(f);
  sc_core::sc_start();
}

// ---- the register socket ----

TEST(Device, FourAndEightByteAccesses) {
  Bench b;
  simulate([&] {
    EXPECT_EQ(b.rd64(regs::kControllerBase + regs::kID.offset_bytes), part().id);
    EXPECT_EQ(b.rd(regs::kControllerBase + regs::kID.offset_bytes), hi(part().id)) << "big-endian: HI first";
    EXPECT_EQ(b.rd(regs::kControllerBase + regs::kID.offset_bytes + 4), lo(part().id));
    b.wr64(regs::kControllerBase + regs::kIMR.offset_bytes, 0x000000ff'00000030);
    EXPECT_EQ(b.rd(regs::kControllerBase + regs::kIMR.offset_bytes), 0xffu);
    EXPECT_EQ(b.rd(regs::kControllerBase + regs::kIMR.offset_bytes + 4), 0x30u);
    b.wr(regs::kControllerBase + regs::kIMR.offset_bytes + 4, 0x10);
    EXPECT_EQ(b.rd64(regs::kControllerBase + regs::kIMR.offset_bytes), 0x000000ff'00000010u);
    // One 8-byte write of FF: HI is latched, then LO enqueues.
    b.configure(0, kCdwe | kEae);
    const Job j = Job::aes(kHigh);
    b.load(j);
    b.submit(0, j.at);
    EXPECT_EQ(b.rd64(0xfff8), 0u) << "the last doubleword";
    sc_core::wait(100, sc_core::SC_US);
    EXPECT_EQ(b.got(j), b.want(j));
    EXPECT_EQ(*b.ram->at(j.at), 0xff);
  });
}

TEST(Device, WrongTransactionsAreAnsweredNotObeyed) {
  Bench b;
  simulate([&] {
    uint8_t d[64] = {};
    std::fill_n(d, 64, 0xA5);
    auto no = [&](bool w, uint64_t at, unsigned n, unsigned width = 0) { return b.access(w, at, d, n, width); };
    for (const bool w : {false, true}) {
      for (const unsigned n : {0u, 1u, 2u, 3u, 5u, 6u, 7u, 12u, 16u, 64u}) EXPECT_EQ(no(w, 0x1008, n, 64), tlm::TLM_BURST_ERROR_RESPONSE) << n;
      for (const uint64_t at : {0x1009u, 0x100au, 0x100bu}) EXPECT_EQ(no(w, at, 4), tlm::TLM_BURST_ERROR_RESPONSE) << at;
      EXPECT_EQ(no(w, 0x100c, 8), tlm::TLM_BURST_ERROR_RESPONSE) << "across two registers";
      EXPECT_EQ(no(w, 0x1008, 8, 4), tlm::TLM_BURST_ERROR_RESPONSE) << "streaming";
      for (const uint64_t at : {uint64_t{0x10000}, uint64_t{0xfffc} + 0x10000, ~uint64_t{3}, ~uint64_t{7}, uint64_t{1} << 32, uint64_t{1} << 63}) {
        EXPECT_EQ(no(w, at, 4), tlm::TLM_ADDRESS_ERROR_RESPONSE) << at;
        EXPECT_EQ(no(w, at & ~uint64_t{7}, 8), tlm::TLM_ADDRESS_ERROR_RESPONSE) << at;
      }
      EXPECT_EQ(no(w, 0xfffc, 8), tlm::TLM_ADDRESS_ERROR_RESPONSE) << "over the end";
      uint8_t enable[8] = {};
      EXPECT_EQ(b.access(w, 0x1008, d, 4, 4, sc_core::SC_ZERO_TIME, enable), tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
      EXPECT_EQ(b.access(w, 0x1008, d, 4, 4, sc_time(1, sc_core::SC_NS)), tlm::TLM_GENERIC_ERROR_RESPONSE) << "initiators synchronise first";
    }
    tlm_generic_payload p;
    sc_time zero;
    p.set_command(tlm::TLM_IGNORE_COMMAND);
    p.set_address(0x1008);
    p.set_data_ptr(d);
    p.set_data_length(4);
    p.set_streaming_width(4);
    b.cpu->socket->b_transport(p, zero);
    EXPECT_EQ(p.get_response_status(), tlm::TLM_OK_RESPONSE);
    for (uint8_t v : d) EXPECT_EQ(v, 0xA5) << "no data in an answer that is an error";
    EXPECT_EQ(b.rd64(0x1008), 0u) << "IMR was never written";
  });
}

TEST(Device, DebugTransportPeeks) {
  Bench b;
  simulate([&] {
    b.wr(regs::kAesuBase + 0xc, 16);
    b.wr(regs::kAesuBase + 0x14, 8 * 32);
    b.wr64(regs::kAesuBase + 0x800, 1);
    b.wr64(regs::kAesuBase + 0x800, 2);
    const uint32_t status = b.rd(regs::kAesuBase + 0x2c);
    Bytes d(0x10000, 0xA5);
    tlm_generic_payload p;
    p.set_command(tlm::TLM_READ_COMMAND);
    p.set_address(0);
    p.set_data_ptr(d.data());
    p.set_data_length(0x10000);
    EXPECT_EQ(b.cpu->socket->transport_dbg(p), 0x10000u) << "the whole window at once";
    EXPECT_EQ(load_be64(&d[regs::kControllerBase + regs::kID.offset_bytes]), part().id);
    EXPECT_EQ(load_be32(&d[regs::kAesuBase + 0x2c]), status);
    EXPECT_EQ(b.rd(regs::kAesuBase + 0x2c), status) << "the FIFO has kept its words";
    EXPECT_EQ(b.rd(regs::kAesuBase + 0x34), 0u) << "no early-read error";
    p.set_address(0xfffe);
    p.set_data_length(4);
    EXPECT_EQ(b.cpu->socket->transport_dbg(p), 0u);
    p.set_address(~uint64_t{3});
    EXPECT_EQ(b.cpu->socket->transport_dbg(p), 0u);
    p.set_address(0x1008);
    p.set_data_length(7);
    EXPECT_EQ(b.cpu->socket->transport_dbg(p), 4u) << "whole words only";
    p.set_command(tlm::TLM_WRITE_COMMAND);
    EXPECT_EQ(b.cpu->socket->transport_dbg(p), 0u) << "no debug writes";
  });
}

TEST(Device, DebugTransportSeesTheStateOfNow) {
  Bench b;
  simulate([&] {
    b.configure(0);
    Job j = Job::aes(kLow);
    j.in_bytes = j.out_bytes = 4096;
    b.load(j);
    b.submit(0, j.at);
    sc_core::wait(1, sc_core::SC_US);
    uint8_t d[8];
    tlm_generic_payload p;
    p.set_command(tlm::TLM_READ_COMMAND);
    p.set_address(regs::kChannelBase(0) + regs::kCCPSR.offset_bytes);
    p.set_data_ptr(d);
    p.set_data_length(8);
    EXPECT_EQ(b.cpu->socket->transport_dbg(p), 8u);
    EXPECT_EQ(load_be64(d) >> 32 & 0x1ff, static_cast<uint64_t>(regs::ChannelState::Run));
    EXPECT_EQ(load_be64(d), b.rd64(regs::kChannelBase(0) + regs::kCCPSR.offset_bytes));
  });
}

// ---- memory ----

TEST(Device, MemoryIsWhatDmiGives) {
  Bench b;
  simulate([&] {
    EXPECT_LT(b.ram->dmi_calls, 20u);
    auto& m = b.sec->memory_map();
    EXPECT_EQ(m.at(kLow, kLowBytes), b.ram->low.data());
    EXPECT_EQ(m.at(kHigh, kHighBytes), b.ram->high.data());
    EXPECT_EQ(m.at(kLow - 1, 1), nullptr);
    EXPECT_EQ(m.at(kLow + kLowBytes - 1, 2), nullptr);
    EXPECT_EQ(m.at(Ram::kRom, 4), nullptr) << "what cannot be written is not taken";
    // A descriptor in a hole is a bus error.
    b.configure(0);
    b.submit(0, kHole);
    sc_core::wait(10, sc_core::SC_US);
    EXPECT_EQ(b.rd(regs::kChannelBase(0) + regs::kCCPSR.offset_bytes + 4) & 0xfff0, ce::kMdte);
  });
}

TEST(Device, NothingIsVisibleBeforeItsTimeAndAllOfItThen) {
  // A bystander looks at memory in mid-stream, on a synchronised device: a prefix of whole bursts, and more later.
  Bench b;
  simulate([&] {
    b.configure(0);
    Job j = Job::aes(kLow);
    j.in_bytes = j.out_bytes = 4096;
    b.load(j);
    b.submit(0, j.at);
    const Bytes want = b.want(j);
    size_t before = 0, steps = 0;
    for (int k = 0; k < 60; ++k) {
      sc_core::wait(200, sc_core::SC_NS);
      b.sec->publish();
      const Bytes now = b.got(j);
      size_t same = 0;
      while (same < 4096 && now[same] == want[same]) ++same;
      EXPECT_EQ(same % 64, 0u);
      EXPECT_TRUE(Rig::untouched(Bytes(now.begin() + static_cast<long>(same), now.end())));
      EXPECT_GE(same, before);
      steps += same != before;
      before = same;
    }
    EXPECT_EQ(before, 4096u);
    EXPECT_GT(steps, 10u);
  });
}

// ---- interrupts ----

TEST(Device, SignalsFollowTheLines) {
  Bench b;
  b.sec->drive_signals();
  std::vector<std::pair<uint64_t, bool>> edges;
  std::vector<std::pair<uint64_t, bool>> calls;
  b.sec->on_interrupt = [&](unsigned line, bool up) {
    EXPECT_EQ(line, 0u);
    calls.push_back({sc_core::sc_time_stamp().value(), up});
  };
  sc_core::sc_spawn_options o;
  o.spawn_method();
  o.dont_initialize();
  o.set_sensitivity(&b.sec->irq[0].value_changed_event());
  sc_core::sc_spawn([&] { edges.push_back({sc_core::sc_time_stamp().value(), b.sec->irq[0].read()}); }, "watch", &o);
  simulate([&] {
    b.enable_all();
    b.configure(1);
    b.load(Job::aes(kLow));
    for (int k = 0; k < 3; ++k) {
      b.submit(1, kLow);
      sc_core::wait(b.sec->irq[0].posedge_event());
      EXPECT_EQ(b.isr(), regs::channel_done(1));
      sc_core::wait(123, sc_core::SC_NS);
      b.clear(regs::channel_done(1));  // the falling edge is driven from this process
      sc_core::wait(sc_core::SC_ZERO_TIME);
      EXPECT_FALSE(b.sec->irq[0].read());
      sc_core::wait(500, sc_core::SC_NS);
      b.load(Job::aes(kLow));
    }
    EXPECT_FALSE(b.sec->irq[1].read());
  });
  ASSERT_EQ(edges.size(), 6u);
  EXPECT_EQ(calls, edges) << "call and signal at the same times";
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(edges[i].second, i % 2 == 0);
  for (size_t i = 0; i < 6; i += 2) {
    EXPECT_EQ(edges[i].first, b.witness.ended[i / 2].clock * b.period_ps) << "at the very clock of the completion";
    EXPECT_EQ(edges[i + 1].first - edges[i].first, 123000u);
  }
}

TEST(Device, SecondLineOfRemappedChannels) {
  Bench b;
  b.sec->drive_signals();
  simulate([&] {
    b.enable_all();
    b.wr(regs::kControllerBase + regs::kMCR.offset_bytes, hi(regs::kMCR.mask("RCA3")));
    b.wr(regs::kChannelAliasBase(3) + regs::kCCCR.offset_bytes + 4, kCdwe | kCdie);
    b.load(Job::aes(kLow));
    b.wr(regs::kChannelAliasBase(3) + regs::kFF.offset_bytes + 4, lo(kLow));
    sc_core::wait(10, sc_core::SC_US);
    EXPECT_FALSE(b.sec->irq[0].read());
    EXPECT_TRUE(b.sec->irq[1].read());
  });
}

TEST(Device, SoftwareAnswersInsideTheInterruptCall) {
  // Acknowledges and submits the next one from within the call, 50 times; each interrupt comes exactly one service later.
  Bench b;
  unsigned count = 0;
  b.sec->on_interrupt = [&](unsigned, bool up) {
    if (!up) return;
    EXPECT_EQ(b.isr(), regs::channel_done(0));
    b.clear(regs::channel_done(0));
    EXPECT_EQ(b.isr(), 0u);
    if (++count < 50) {
      b.load(Job::aes(kLow));
      b.submit(0, kLow);
    }
  };
  simulate([&] {
    b.enable_all();
    b.configure(0);
    b.load(Job::aes(kLow));
    b.submit(0, kLow);
  });
  ASSERT_EQ(b.witness.ended.size(), 50u);
  for (size_t i = 2; i < 50; ++i)
    EXPECT_EQ(b.witness.ended[i].clock - b.witness.ended[i - 1].clock, b.witness.ended[1].clock - b.witness.ended[0].clock);
  EXPECT_LE(b.sec->activations(), 50u * 4);
}

// ---- clocks depend on stimuli only ----

struct Surroundings {
  const char* name;
  bool run_ahead = true;
  uint64_t bystander_ps = 0;  // period of somebody else's activity
  bool polls = false;         // who also reads registers
};
/// Four channels, errors among the descriptors, doorbells at odd times; returns what ended when.
std::vector<Witness::End> storm(const Surroundings& s, uint64_t* activations = nullptr) {
  Bench b;
  b.sec->set_run_ahead(s.run_ahead);
  bool over = false;
  b.sec->on_interrupt = [&](unsigned, bool up) {
    if (!up) return;
    const uint64_t isr = b.isr();
    for (unsigned n = 0; n < 4; ++n)
      if (isr & regs::channel_error_irq(n)) b.wr(regs::kChannelBase(n) + regs::kCCCR.offset_bytes, kContinue);
    for (int k = 0; k < 20 && b.isr(); ++k) b.clear(~uint64_t{0});
  };
  sc_core::sc_spawn([&] {
    b.enable_all();
    for (unsigned n = 0; n < 4; ++n) b.configure(n);
    uint32_t x = 99;
    for (unsigned i = 0; i < 50; ++i) {
      Job j = i % 3 ? Job::aes(kLow + 0x4800 * i) : Job::des(kLow + 0x4800 * i);
      j.in_bytes = j.out_bytes = static_cast<uint16_t>(16 * (1 + (x >> 8) % 100));
      if (i % 11 == 5) j.key_bytes = 9;
      b.load(j);
      b.submit(i % 4, j.at);
      x = x * 1664525 + 1013904223;
      at_ps(sc_core::sc_time_stamp().value() + 1 + (x >> 8) % 700'000);
    }
    sc_core::wait(200, sc_core::SC_US);
    over = true;
  });
  if (s.bystander_ps)
    sc_core::sc_spawn([&] {
      while (!over) {
        sc_core::wait(sc_time::from_value(s.bystander_ps));
        if (s.polls) b.rd64(regs::kChannelBase(1) + regs::kCCPSR.offset_bytes);
      }
    });
  sc_core::sc_start();
  if (activations) *activations = b.sec->activations();
  EXPECT_EQ(b.witness.ended.size(), 50u);
  return b.witness.ended;
}
/// What `f` finds out in a child process: one simulation each. The child's own failures are printed there and count.
std::vector<Witness::End> apart(const std::function<std::vector<Witness::End>()>& f) {
  int fd[2];
  EXPECT_EQ(pipe(fd), 0);
  const bool failed_before = testing::Test::HasFailure();
  const pid_t child = fork();
  if (child == 0) {
    const auto v = f();
    const auto n = static_cast<ssize_t>(v.size() * sizeof(Witness::End));
    _exit((failed_before || !testing::Test::HasFailure()) && write(fd[1], v.data(), static_cast<size_t>(n)) == n ? 0 : 1);
  }
  close(fd[1]);
  std::vector<Witness::End> v(100);
  size_t got = 0;
  for (ssize_t n; (n = read(fd[0], reinterpret_cast<char*>(v.data()) + got, v.size() * sizeof v[0] - got)) > 0;) got += static_cast<size_t>(n);
  close(fd[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  v.resize(got / sizeof v[0]);
  return v;
}

TEST(Device, CompletionClocksDoNotDependOnTheSurroundings) {
  const auto plain = apart([] { return storm({"plain"}); });
  ASSERT_EQ(plain.size(), 50u);
  EXPECT_EQ(std::count_if(plain.begin(), plain.end(), [](const auto& e) { return e.error != 0; }), 5);
  for (const Surroundings& s : {Surroundings{"no run-ahead", false}, Surroundings{"every 1 ns", true, 1000}, Surroundings{"every 7 ns", true, 7000},
                                Surroundings{"every 1000 ns", true, 1'000'000}, Surroundings{"every 3333 ps", true, 3333},
                                Surroundings{"every 7 ns, no run-ahead", false, 7000}, Surroundings{"polled every 100 ns", true, 100'000, true},
                                Surroundings{"polled every 7 ns", true, 7000, true}})
    EXPECT_EQ(apart([&] { return storm(s); }), plain) << s.name;
}

TEST(Device, KernelActivationsPerDescriptor) {
  // A storm of interrupts that software answers, and a saturated engine: at most four activations per descriptor.
  uint64_t n = 0;
  storm({"plain"}, &n);
  EXPECT_LE(n, 4u * 50);
  EXPECT_GE(n, 50u / 2);
}

TEST(Device, KernelActivationsOfASaturatedEngine) {
  Bench b;
  const unsigned total = 240;
  simulate([&] {
    b.enable_all();
    for (unsigned n = 0; n < 4; ++n) b.configure(n);
    Job j = Job::aes(kLow);
    b.load(j);
    for (unsigned i = 0; i < total; ++i) {
      while (b.sec->engine().channel(i % 4).fifo_level > 16) sc_core::wait(1, sc_core::SC_US);
      Bytes d(64);
      j.descriptor().store(d.data());
      std::copy(d.begin(), d.end(), b.ram->at(kLow + 0x8000 + 64 * i));
      b.submit(i % 4, kLow + 0x8000 + 64 * i);
    }
  });
  EXPECT_EQ(b.witness.ended.size(), total);
  EXPECT_LE(b.sec->activations(), 4u * total);
  EXPECT_GE(b.sec->activations(), 1u);
}

// ---- reset at the clock edge ----

/// Resets channel 0 in mid-descriptor at the clock edge: `deltas` delta cycles into that time, or just before or after it.
std::vector<Witness::End> reset_near_an_edge(int64_t offset_ps, unsigned deltas, uint64_t clock, bool global) {
  Bench b;
  simulate([&] {
    b.enable_all();
    b.configure(0);
    Job j = Job::aes(kLow);
    j.in_bytes = j.out_bytes = 512;
    b.load(j);
    const Job next = Job::aes(kLow + 0x10000);
    b.load(next);
    b.submit(0, j.at);
    at_ps(static_cast<uint64_t>(static_cast<int64_t>(clock * b.period_ps) + offset_ps));
    for (unsigned d = 0; d < deltas; ++d) sc_core::wait(sc_core::SC_ZERO_TIME);
    if (global) {
      b.wr(regs::kControllerBase + regs::kMCR.offset_bytes, 1);
      b.wr(regs::kControllerBase + regs::kMCR.offset_bytes, 1);
      EXPECT_EQ(b.rd(regs::kControllerBase + regs::kMCR.offset_bytes), 0u);
      EXPECT_EQ(b.rd64(regs::kControllerBase + regs::kIMR.offset_bytes), 0u);
    } else {
      b.wr(regs::kChannelBase(0) + regs::kCCCR.offset_bytes, kReset);
    }
    EXPECT_EQ(b.rd64(regs::kChannelBase(0) + regs::kCCCR.offset_bytes), 0u);
    EXPECT_EQ(b.rd64(regs::kChannelBase(0) + regs::kCCPSR.offset_bytes), 0u);
    EXPECT_EQ(b.rd64(regs::kChannelBase(0) + regs::kCDPR.offset_bytes), 0u);
    EXPECT_EQ(b.rd64(regs::kControllerBase + regs::kEUASR.offset_bytes), 0u);
    EXPECT_EQ(b.isr(), 0u);
    at_ps((clock + 40) * b.period_ps + 500);  // the first descriptor after the reset: always at the same time
    b.enable_all();
    b.configure(0);
    b.submit(0, next.at);
    sc_core::wait(20, sc_core::SC_US);
    EXPECT_EQ(b.got(next), b.want(next));
    EXPECT_EQ(*b.ram->at(j.at), 0x60) << "the abandoned one is not done";
    EXPECT_EQ(b.isr(), regs::channel_done(0));
  });
  return b.witness.ended;
}
TEST(Device, ResetAtAClockEdgeAndADeltaBeforeOrAfter) {
  for (const bool global : {false, true})
    for (const uint64_t clock : {3u, 40u, 43u, 60u, 150u, 222u}) {
      const auto plain = apart([&] { return reset_near_an_edge(0, 0, clock, global); });
      ASSERT_EQ(plain.size(), 1u) << "only the descriptor after the reset ends";
      EXPECT_EQ(plain[0].at, kLow + 0x10000);
      EXPECT_EQ(plain[0].error, 0u);
      for (const auto& [offset, deltas] : {std::pair<int64_t, unsigned>{0, 1}, {0, 2}, {-1, 0}, {-1, 1}, {1, 0}})
        EXPECT_EQ(apart([&, o = offset, d = deltas] { return reset_near_an_edge(o, d, clock, global); }), plain)
            << "clock " << clock << " offset " << offset << " ps, " << deltas << " deltas";
    }
}

// ---- two engines ----

TEST(Device, TwoDevicesAreStrangers) {
  Bench a("a"), b("b", *regs::find_part("mpc8548"));
  uint64_t alone = 0;
  {
    Rig r("mpc8548", Executor::Timed);
    r.configure(0, kCdwe | kCdie);
    r.run(0, Job::aes(kLow));
    alone = r.witness.ended.at(0).clock;
  }
  a.sec->on_interrupt = [&](unsigned, bool up) {
    if (up) a.clear(regs::channel_done(0));
  };
  simulate([&] {
    a.enable_all();
    a.configure(0);
    b.configure(0);
    Job big = Job::aes(kLow);
    big.in_bytes = big.out_bytes = 8192;
    a.load(big, 50);
    const Job small = Job::aes(kLow);
    b.load(small);
    a.submit(0, kLow);
    b.submit(0, kLow);
    EXPECT_EQ(a.rd64(regs::kControllerBase + regs::kID.offset_bytes), 0x0030030100000000u);
    EXPECT_EQ(b.rd64(regs::kControllerBase + regs::kID.offset_bytes), 0x40u);
    sc_core::wait(100, sc_core::SC_US);
    EXPECT_EQ(a.isr(), 0u);
    EXPECT_EQ(b.isr(), regs::channel_done(0));
    EXPECT_EQ(a.got(big), a.want(big, 50));
    EXPECT_EQ(b.got(small), b.want(small));
  });
  ASSERT_EQ(b.witness.ended.size(), 1u);
  EXPECT_EQ(b.witness.ended[0].clock, alone) << "as if it were alone";
  EXPECT_EQ(a.witness.ended.size(), 1u);
}

}  // namespace
}  // namespace sec::test
