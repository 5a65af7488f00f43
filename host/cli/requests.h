// What the commands that make crypto requests share: laying bytes out in the memory that the device sees, waiting for one completion, and
// keeping many in flight.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "driver/crypto/request.h"
#include "host/session/session.h"

namespace sec::host::cli {

/// `bytes` in the DMA space as segments of the given sizes in turn, with a gap between them. SetupError naming `option` when memory ends.
struct Layout {
  std::vector<crypto::Segment> segments;
  crypto::ScatterList list;
  Layout(driver::DmaSpace& dma, size_t bytes, const std::vector<size_t>& sizes, const std::string& option = "--in");
  ~Layout();
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

 private:
  driver::DmaSpace& dma_;
  void* block_ = nullptr;
};

/// Where a completion leaves its status.
struct Wait {
  bool done = false;
  Status status = Status::Ok;
  uint64_t* completions = nullptr;  // counts them
  uint64_t order = 0;               // this was the how-manieth
  void end(Status s) {
    status = s;
    done = true;
    if (completions) order = ++*completions;
  }
  static void complete(void* self, Status s) {
    if (s != Status::InProgress) static_cast<Wait*>(self)->end(s);  // else: off the backlog
  }
};
/// What submitting returned, to the final status: waits when it was accepted.
Status finish(Session& s, Status submitted, Wait& w);

/// Names of what the registry has of one kind, for messages.
std::string names_of(const crypto::Registry& r, crypto::AlgorithmType t);

/// `count` numbered requests, `depth` in flight.
struct ManyResult {
  uint64_t requests = 0, bytes = 0, failed = 0, mismatches = 0, out_of_order = 0;
  std::string first_problem;  // "request 17: ..."
  uint64_t sim_ns = 0, wall_ns = 0, descriptors = 0, interrupts = 0;
  bool ok() const { return !failed && !mismatches && !out_of_order; }
};
/// A slot of the pipeline: `submit` starts request `number` in it, `check` looks at the finished one and says what is wrong (empty: nothing).
struct ManyJob {
  virtual ~ManyJob() = default;
  virtual Status submit(uint64_t number, Wait& w) = 0;
  virtual std::string check(uint64_t number, Status status) = 0;
  virtual uint64_t bytes() const = 0;  // of the request in it
};
ManyResult run_many(Session& s, uint64_t count, std::vector<std::unique_ptr<ManyJob>> slots, const std::function<void()>& flush);
/// Summary of a run for people or as JSON, to standard output; the exit code.
int report_many(const ManyResult& r, const std::string& driver, const std::string& fidelity, bool json);

/// Repeatable bytes for (seed, number, what).
void fill_numbered(uint8_t* p, size_t n, uint64_t seed, uint64_t number, uint64_t what);

}  // namespace sec::host::cli
