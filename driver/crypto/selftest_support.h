// What the parts of the self-test share: poisoned buffers, layouts, waiting for a completion. Internal to
// driver/crypto.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/crypto/registry.h"
#include "driver/crypto/selftest.h"
#include "driver/crypto/vectors.h"

namespace sec::crypto::selftest {

using Bytes = std::vector<uint8_t>;
using Pump = std::function<bool()>;

constexpr uint8_t kPoison = 0xa5;
constexpr size_t kPoisonBytes = 16;

/// A buffer whose segments lie apart, with poison before, between and behind them.
class PoisonedList {
 public:
  PoisonedList() = default;
  PoisonedList(const PoisonedList&) = delete;
  PoisonedList& operator=(const PoisonedList&) = delete;

  /// Where `content` ends before the pieces do, poison stays.
  void build(const std::vector<size_t>& pieces, size_t offset, const Bytes& content) {
    size_t total = offset + kPoisonBytes;
    for (size_t n : pieces) total += n + kPoisonBytes;
    memory_.assign(total, kPoison);
    segments_.clear();
    size_t at = offset + kPoisonBytes, from = 0;
    for (size_t n : pieces) {
      segments_.push_back({memory_.data() + at, n});
      const size_t have = from < content.size() ? content.size() - from : 0;
      if (have) std::memcpy(memory_.data() + at, content.data() + from, have < n ? have : n);
      at += n + kPoisonBytes;
      from += n;
    }
    list_ = ScatterList(segments_.data(), segments_.size());
    before_ = segments_;
  }
  const ScatterList* list() const { return &list_; }
  /// The same memory described by another list object: the first segment in two where that can be.
  void alias(const PoisonedList& other) {
    memory_.clear();
    segments_ = other.segments_;
    if (!segments_.empty() && segments_.front().size_bytes > 1) {
      const Segment first = segments_.front();
      const size_t cut = (first.size_bytes + 1) / 2;
      segments_.front() = {first.data + cut, first.size_bytes - cut};
      segments_.insert(segments_.begin(), {first.data, cut});
    }
    before_ = segments_;
    list_ = ScatterList(segments_.data(), segments_.size());
  }
  Bytes content(size_t n) const {
    Bytes out(n);
    if (!copy_from(&list_, 0, out.data(), n)) out.clear();
    return out;
  }
  bool poison_intact() const {
    if (memory_.empty()) return true;
    std::vector<bool> inside(memory_.size());
    for (const Segment& s : segments_)
      for (size_t i = 0; i < s.size_bytes; ++i) inside[static_cast<size_t>(s.data - memory_.data()) + i] = true;
    for (size_t i = 0; i < memory_.size(); ++i)
      if (!inside[i] && memory_[i] != kPoison) return false;
    return true;
  }
  bool list_unchanged() const {
    for (size_t i = 0; i < before_.size(); ++i)
      if (before_[i].data != segments_[i].data || before_[i].size_bytes != segments_[i].size_bytes) return false;
    return list_.segments == segments_.data() && list_.count == segments_.size() && !list_.next;
  }

 private:
  Bytes memory_;
  std::vector<Segment> segments_, before_;
  ScatterList list_;
};

enum class Place : uint8_t { SameList, SameMemory, Apart };

/// Empty pieces taken out: an empty segment inside the used part is the caller's mistake.
inline std::vector<size_t> filled(std::vector<size_t> pieces) {
  std::erase(pieces, size_t{0});
  return pieces;
}
inline std::vector<size_t> whole(size_t n) { return filled({n}); }
inline std::vector<size_t> halves(size_t n) { return filled({n / 2, n - n / 2}); }
inline std::vector<size_t> thirds(size_t n) {
  const size_t a = n * 19 / 100, b = n * 33 / 100;
  return filled({a, b, n - a - b});
}
inline std::vector<size_t> crumbs(size_t n) {
  std::vector<size_t> out;
  for (size_t step = 1; n; step = step % 7 + 1) {
    const size_t take = step < n ? step : n;
    out.push_back(take);
    n -= take;
  }
  return out;
}

/// Everything that must stay alive until the completion: derived classes hold transforms, lists and requests.
struct Run {
  unsigned finished = 0;
  bool abandoned = false;
  Status status = Status::InProgress;

  virtual ~Run() = default;
  virtual void drop_transforms() = 0;
  static void complete(void* context, Status s) {
    auto* run = static_cast<Run*>(context);
    if (s == Status::InProgress) return;
    ++run->finished;
    run->status = s;
    if (run->abandoned) run->drop_transforms();  // too late: they must not outlive their driver, the memory may
  }
};

struct Outcome {
  std::string failure;
  std::shared_ptr<void> abandoned;
  bool ok() const { return failure.empty(); }
};

/// `submit` starts one request of `run` that completes with Run::complete. Its final status in `status`, or a failure.
template <class Submit, class Flush>
Outcome finish(const std::shared_ptr<Run>& run, const Pump& pump, Status& status, Submit&& submit, Flush&& flush) {
  run->finished = 0;
  status = submit();
  if (!accepted(status)) {
    if (run->finished) return {"the completion was called although the request was not accepted", nullptr};
    return {};
  }
  flush();
  for (unsigned i = 0; i < kSelftestPumpLimit && !run->finished; ++i)
    if (!pump || !pump()) break;
  if (!run->finished) {
    run->abandoned = true;
    return {"the request never completed", run};
  }
  if (run->finished != 1) return {"the completion was called more than once", nullptr};
  status = run->status;
  return {};
}

std::string with_errno(const char* what, Status s);

Outcome test_cipher(const Algorithm& a, const AlgorithmShape& shape, const Pump& pump);
Outcome test_hash(const Algorithm& a, const AlgorithmShape& shape, const Pump& pump);
Outcome test_aead(const Algorithm& a, const AlgorithmShape& shape, const Pump& pump);

}  // namespace sec::crypto::selftest
