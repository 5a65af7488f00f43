#include "host/platforms/functional.h"

namespace sec::host {

FunctionalPlatform::FunctionalPlatform(const regs::Part& part, size_t memory_bytes, const hw::Timing* timing)
    : engine_(part, timing ? *timing : hw::Timing::for_part(part), map_) {
  space_ = std::make_unique<driver::DmaSpace>(memory_bytes, kMemoryBase);
  dma_ = space_.get();
  map_.add_region(kMemoryBase, memory_bytes, space_->base());
}

void FunctionalPlatform::deliver() {
  last_ = engine_.counters().descriptors;
  service([](void* e) { return static_cast<hw::FunctionalEngine*>(e)->lines(); }, &engine_);
}

void FunctionalPlatform::relax(uint64_t ns) {
  now_ns_ += ns;
  if (!in_service_) deliver();
}

bool FunctionalPlatform::wait_until(Condition done, void* context) {
  for (;;) {
    const uint64_t seen = bell_.load(std::memory_order_seq_cst);
    if (done(context)) return true;
    if (!in_service_) deliver();
    if (done(context)) return true;
    if (!in_service_ && last_resort()) continue;
    if (!threads_ || in_service_) return false;  // there is no time in which more could happen
    bell_.wait(seen, std::memory_order_seq_cst);
  }
}

}  // namespace sec::host
