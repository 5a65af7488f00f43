// The test that an implementation must pass before the registry offers it.
//
// For an algorithm that is known by name (vectors.h) it checks, for every vector, both directions and
// several buffer layouts (in place, two lists over the same memory, out of place, misaligned, split in two
// and in many odd segments): the result bytes, poison bytes around every destination segment, the output
// IV, that the request and the lists are unchanged, that wrong key lengths are refused, and that the
// metadata (block, key and IV sizes) are those of the algorithm. An unknown algorithm has no test and is
// reported as such.
//
// Asynchronous implementations: after each submission the test calls flush() and then `pump` until the
// completion came, at most kSelftestPumpLimit times. A request that never completes fails the test with
// a named message; its memory is then kept as long as the registry, since the device may still write to it.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "driver/crypto/registry.h"

namespace sec::crypto {

inline constexpr unsigned kSelftestPumpLimit = 100'000;

struct SelfTestResult {
  SelfTest verdict = SelfTest::Unknown;  // Unknown: no vectors for this name
  std::string failure;                   // one sentence when Failed
  std::shared_ptr<void> abandoned;       // memory of a request that never completed: keep it
};

SelfTestResult run_selftest(const Algorithm& a, const std::function<bool()>& pump);

}  // namespace sec::crypto
