// The test that an implementation must pass before the registry offers it.
//
// An algorithm that is known by name (vectors.h) has its metadata compared first: block, IV, key, tag and digest sizes.
// Then, for every known answer:
//   ciphers  both directions in eight layouts (in place, two lists over the same memory, out of place, misaligned, split
//            in two and in many odd segments): result, output IV; wrong key lengths are refused
//   AEADs    both directions in seven layouts, among them lists whose borders lie inside AAD, text and tag, and lists that
//            end exactly where the request does: result, tag; neither the destination's AAD area, nor the tag of a message
//            that is decrypted in place, nor the IV is written. For one of them: every tag length, every byte of the tag
//            changed, AAD and text changed, wrong keys, key blobs, IVs, AAD and text lengths; no key at all
//   hashes   digest over whole and scattered messages; when the hash works in steps also updates around the block size, of
//            whole blocks and of nothing, finup, final, a move through export and import after every update, and a state
//            that is dropped halfway; the digest is written at the end only; wrong keys, and none
// Always: poison bytes around every segment, the request and the lists stay as they were. The tests in tests/ go much
// further; this one has to be quick, since it runs in simulated time at every start. An unknown algorithm has no test and
// is reported as such.
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
