// Measures this machine for a processor profile: the real driver code on an engine that answers at once, the real CPU
// crypto through the registry, memory copies. What cannot be measured without the device (register accesses over
// PCIe, interrupt entry, the network stack) is assumed and marked so.
#pragma once
#include <functional>

#include "host/configs/cpu_profile.h"

namespace sec::host {

struct CalibrateOptions {
  bool quick = false;  // fewer repeats
  std::function<void(double)> progress;
};

CpuProfile calibrate(const CalibrateOptions& o);

}  // namespace sec::host
