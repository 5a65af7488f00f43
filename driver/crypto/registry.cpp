#include "driver/crypto/registry.h"

#include <algorithm>

#include "driver/crypto/selftest.h"

namespace sec::crypto {

struct Registry::Entry {
  Algorithm algorithm;
  std::string failure;
};

namespace {

bool consistent(const Algorithm& a) {
  const AlgorithmInfo& i = a.info;
  if (i.name.empty() || i.driver.empty() || i.block_bytes == 0 || i.min_key_bytes > i.max_key_bytes) return false;
  if (i.align_mask & (i.align_mask + 1)) return false;
  if (i.type == AlgorithmType::Skcipher) return a.make_skcipher && i.max_key_bytes > 0 && i.digest_bytes == 0;
  if (i.type == AlgorithmType::Aead) return a.make_aead && i.max_auth_bytes > 0 && i.digest_bytes == 0;
  return a.make_hash && i.digest_bytes > 0 && i.iv_bytes == 0;
}

}  // namespace

Registry::Registry() = default;
Registry::~Registry() = default;

Status Registry::add(Algorithm a) {
  if (!consistent(a)) return Status::Invalid;
  for (const auto& e : entries_)
    if (e->algorithm.info.driver == a.info.driver) return Status::Invalid;
  auto entry = std::make_unique<Entry>();
  if (selftest_) {
    SelfTestResult r = run_selftest(a, pump_);
    a.info.selftest = r.verdict;
    entry->failure = std::move(r.failure);
    if (r.abandoned) abandoned_.push_back(std::move(r.abandoned));
  }
  const bool failed = a.info.selftest == SelfTest::Failed;
  entry->algorithm = std::move(a);
  entries_.push_back(std::move(entry));
  return failed ? Status::BadMessage : Status::Ok;
}

Status Registry::remove(std::string_view driver) {
  const auto it =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e->algorithm.info.driver == driver; });
  if (it == entries_.end()) return Status::NoEntry;
  entries_.erase(it);
  return Status::Ok;
}

const Algorithm* Registry::find(std::string_view name, AlgorithmType type) const {
  const Algorithm* best = nullptr;
  for (const auto& e : entries_) {
    const AlgorithmInfo& i = e->algorithm.info;
    if (i.type != type || i.selftest == SelfTest::Failed) continue;
    if (i.driver == name) return &e->algorithm;
    if (i.name == name && !i.internal && (!best || i.priority > best->info.priority)) best = &e->algorithm;
  }
  return best;
}

std::unique_ptr<Skcipher> Registry::alloc_skcipher(std::string_view name, Status* status) const {
  const Algorithm* a = find(name, AlgorithmType::Skcipher);
  std::unique_ptr<Skcipher> t = a ? a->make_skcipher() : nullptr;
  if (status) *status = t ? Status::Ok : a ? Status::NoMemory : Status::NoEntry;
  return t;
}

std::unique_ptr<Hash> Registry::alloc_hash(std::string_view name, Status* status) const {
  const Algorithm* a = find(name, AlgorithmType::Hash);
  std::unique_ptr<Hash> t = a ? a->make_hash() : nullptr;
  if (status) *status = t ? Status::Ok : a ? Status::NoMemory : Status::NoEntry;
  return t;
}

std::unique_ptr<Aead> Registry::alloc_aead(std::string_view name, Status* status) const {
  const Algorithm* a = find(name, AlgorithmType::Aead);
  std::unique_ptr<Aead> t = a ? a->make_aead() : nullptr;
  if (status) *status = t ? Status::Ok : a ? Status::NoMemory : Status::NoEntry;
  return t;
}

std::vector<AlgorithmInfo> Registry::list() const {
  std::vector<AlgorithmInfo> out;
  for (const auto& e : entries_) out.push_back(e->algorithm.info);
  return out;
}

std::string Registry::selftest_failure(std::string_view driver) const {
  for (const auto& e : entries_)
    if (e->algorithm.info.driver == driver) return e->failure;
  return {};
}

}  // namespace sec::crypto
