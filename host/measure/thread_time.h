// The clock of measurements that compare code with code: processor time of the calling thread. On a shared machine wall
// time also counts what other processes do in between, several milliseconds at a time.
#pragma once
#include <time.h>

namespace sec::host {

inline double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace sec::host
