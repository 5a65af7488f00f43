// Runs a fuzz target without libFuzzer, for compilers that lack it and for the test suite: files named on the command
// line, or `--runs N [--seed S]` inputs of its own. Says which input it is at when something stops it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/input.h"

int main(int argc, char** argv) {
  unsigned long runs = 0, seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if ((a == "--runs" || a == "--seed") && i + 1 < argc) {
      (a == "--runs" ? runs : seed) = std::strtoul(argv[++i], nullptr, 0);
      continue;
    }
    std::ifstream f(a, std::ios::binary);
    if (!f) {
      std::fprintf(stderr, "%s: cannot be read\n", a.c_str());
      return 2;
    }
    const std::vector<char> bytes((std::istreambuf_iterator<char>(f)), {});
    std::printf("%s, %zu bytes\n", a.c_str(), bytes.size());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  if (runs) std::printf("seed %lu, %lu runs\n", seed, runs);
  for (unsigned long r = 0; r < runs; ++r) {
    std::mt19937 g(static_cast<unsigned>(seed * 1000003 + r));
    std::vector<uint8_t> bytes(g() % 4 ? g() % 600 : g() % 60);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(g() % 4 ? g() : 0);
    // The file is there while the run lasts: what stops the program leaves its input behind.
    const std::string kept = "fuzz-" + std::to_string(seed) + "-" + std::to_string(r) + ".bin";
    if (std::getenv("SEC_FUZZ_KEEP")) std::ofstream(kept, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    if (std::getenv("SEC_FUZZ_KEEP")) std::remove(kept.c_str());
  }
  return 0;
}
