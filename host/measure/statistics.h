// Small things that every measurement needs.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "driver/crypto/registry.h"

namespace sec::host {

/// Of at least one value; the upper one of an even number.
inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// The implementation of `algorithm` in the module, else one that is composed with the module's; empty when there is none.
inline std::string driver_of(const crypto::Registry& r, std::string_view algorithm, std::string_view module) {
  std::string composed;
  for (const auto& a : r.list()) {
    if (a.name != algorithm || a.selftest == crypto::SelfTest::Failed) continue;
    if (a.module == module) return a.driver;
    if (a.driver.find(module) != std::string::npos) composed = a.driver;
  }
  return composed;
}

}  // namespace sec::host
