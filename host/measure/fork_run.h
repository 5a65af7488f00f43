// Runs a measurement in a child process and brings its JSON back: SystemC elaborates once per process, and a crash or
// a hang in one grid point must not take the others with it.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace sec::host {

struct ChildResult {
  bool ok = false;
  std::string output;  // what the job returned
  std::string error;   // one sentence when not ok
};

/// Each job runs in a child of its own, at most `parallel` at once, each at most `limit_s` seconds of wall time. A job that throws
/// SetupError gives its text as `error`. Results in the order of the jobs. `progress` is called with the number of finished jobs.
std::vector<ChildResult> run_in_children(const std::vector<std::function<std::string()>>& jobs, unsigned parallel, unsigned limit_s,
                                         const std::function<void(size_t)>& progress = {});

}  // namespace sec::host
