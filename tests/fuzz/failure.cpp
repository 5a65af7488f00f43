#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/input.h"

namespace sec::test {
void fuzz_failure(const char* sentence) {
  std::fprintf(stderr, "fuzz: %s\n", sentence);
  std::abort();
}
}  // namespace sec::test
