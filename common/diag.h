// The kinds of trouble, and what happens:
//   guest       the driver did what the manual forbids  -> the hardware's own error path, and a counted record
//   unmodelled  software used something we do not model -> counted, named in reports
//   setup       the user's input or configuration is wrong -> SetupError: one sentence, exit code 2
//   internal    our own bug                              -> SEC_CHECK: message, abort
#pragma once
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace sec {

/// The user's input is wrong. The text is one sentence that names the file or option and the fix.
class SetupError : public std::runtime_error {
 public:
  explicit SetupError(const std::string& what) : std::runtime_error(what) {}
};

[[noreturn]] inline void internal_error(const char* file, int line, const char* what) {
  std::fprintf(stderr, "internal error: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace sec

/// Invariant of our own code; never used on values that came over the bus or from the user.
#define SEC_CHECK(cond, what) \
  do {                        \
    if (!(cond)) [[unlikely]] ::sec::internal_error(__FILE__, __LINE__, what); \
  } while (0)
