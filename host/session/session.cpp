#include "host/session/session.h"

#include "common/diag.h"
#include "host/compose/compose_aead.h"
#include "host/configs/cpu_profile.h"
#include "host/cpu/ipsecmb.h"
#include "host/cpu/openssl.h"
#include "host/platforms/functional.h"
#include "host/platforms/tlm.h"
#include "host/session/engine_tracer.h"
#include "hw/trace/open.h"
#include "hw/trace/window.h"

namespace sec::host {

Session::Session(const SessionOptions& options) : options_(options), timing_(hw::Timing::for_part(*options.part)) {
  for (const std::string& s : options_.set) timing_.set(s);
  if (!options_.trace_path.empty() && options_.fidelity == Fidelity::Functional)
    throw SetupError("--trace needs simulated time: use --fidelity approx");
  if (options_.fidelity == Fidelity::Functional) {
    platform_ = std::make_unique<FunctionalPlatform>(*options_.part, options_.memory_bytes, &timing_);
  } else {
    auto p = std::make_unique<TlmPlatform>(*options_.part, timing_, options_.memory_bytes);
    tlm_ = p.get();
    platform_ = std::move(p);
    if (!options_.trace_path.empty()) {
      tracer_ = std::make_unique<EngineTracer>(trace::open_trace(options_.trace_path, {.window = options_.trace_window.empty() ? trace::Window{} : trace::parse_window(options_.trace_window)}), engine(), tlm_->device().engine().clocks().period_ps);
      tlm_->device().on_commit = [this](uint64_t t) { tracer_->commit(t); };
    }
  }
  if (options_.cpu) options_.cpu->apply(platform_->cpu());
  registry_ = std::make_unique<crypto::Registry>();
  registry_->set_selftest_enabled(options_.selftest);
  device_ = std::make_unique<driver::Device>(*platform_);
}

Session::~Session() {
  device_.reset();  // before the registry, which it may still be registered with
  registry_.reset();
}

void Session::run(const std::function<void(Session&)>& body) {
  SEC_CHECK(!ran_, "a session runs once");
  ran_ = true;
  std::exception_ptr failure;
  auto all = [&] {
    try {
      device_->set_extras(options_.extras);
      registry_->set_pump([this] { return platform_->pump(); });
      if (const Status s = device_->probe(device_properties(part())); s != Status::Ok)
        throw SetupError("the engine does not probe: " + std::string(errno_name(s)));
      if (const Status s = device_->register_algorithms(*registry_); s != Status::Ok)
        throw SetupError("the engine's algorithms cannot be registered: " + std::string(errno_name(s)));
      if (options_.cpu_backends) {
        register_openssl(*registry_);
        register_ipsecmb(*registry_);
      }
      if (options_.compositions) {
        const CompositionOptions parts{.dma = &platform_->dma(), .cpu = &platform_->cpu(), .charge_crypto = [this](std::string_view a, size_t n) { charge_crypto(a, n); }};
        register_compositions(*registry_, parts);
        register_aead_compositions(*registry_, parts);
      }
      if (tracer_) {  // the self-test is not traced
        engine().set_observer(tracer_.get());
        tlm_->on_cpu_state = [this](uint64_t t, TlmPlatform::CpuState s) {
          tracer_->cpu(t, s == TlmPlatform::CpuState::Idle ? EngineTracer::CpuState::Idle
                          : s == TlmPlatform::CpuState::Irq ? EngineTracer::CpuState::Irq : EngineTracer::CpuState::App);
        };
      }
      body(*this);
    } catch (...) {
      failure = std::current_exception();  // nothing is thrown through the SystemC kernel
    }
    device_->unregister();
    device_.reset();  // quiesces the engine, which takes simulated time: only possible in here
  };
  if (tlm_)
    tlm_->run(all);
  else
    all();
  if (tracer_ && !tracer_->close(platform_->sim_time_ps()) && !failure)
    throw SetupError("--trace " + options_.trace_path + ": the file could not be written completely");
  if (failure) std::rethrow_exception(failure);
}

uint64_t Session::descriptors() { return engine().counters().descriptors + engine().counters().errors; }

void Session::charge_crypto(std::string_view algorithm, size_t bytes, bool batched) {
  if (!options_.cpu) return;
  if (const CryptoFigure* f = options_.cpu->find_crypto(algorithm))
    platform_->cpu().charge_ps(static_cast<uint64_t>((batched ? f->batch_ns(bytes) : f->single_ns(bytes)) * 1000));
}

Session::Mark Session::mark() {
  Mark m;
  if (tlm_) {
    tlm_->pass_charged_time();
    tlm_->device().synchronize();
    m.cpu_busy_ps = tlm_->cpu_busy_ps();
    m.clock = engine().now();
  }
  m.engine = engine().counters();
  m.cpu = platform_->cpu();
  m.device = device_->stats();
  m.sim_ps = platform_->sim_time_ps();
  m.wall_ns = WallTime::now().ns();
  return m;
}

}  // namespace sec::host
