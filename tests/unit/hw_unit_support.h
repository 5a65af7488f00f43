// A unit driven as a channel drives it, without a channel: reset, load, header and data in pieces, the received ICV,
// the end; and what came of it.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/endian.h"
#include "hw/eu/units.h"
#include "hw/regs/eu_common.h"

namespace sec::test {

using Bytes = std::vector<uint8_t>;
namespace ee = regs::eu_error;

inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline Bytes part_of(const Bytes& b, size_t from, size_t n) {
  return Bytes(b.begin() + static_cast<std::ptrdiff_t>(from), b.begin() + static_cast<std::ptrdiff_t>(from + n));
}
inline Bytes first_of(const Bytes& b, size_t n) { return part_of(b, 0, n); }
inline Bytes last_of(const Bytes& b, size_t n) { return part_of(b, b.size() - n, n); }

/// Bytes that differ from each other and from seed to seed.
inline Bytes filler(size_t n, uint32_t seed) {
  Bytes b(n);
  uint32_t x = seed * 2654435761u + 12345;
  for (auto& v : b) {
    x = x * 1664525 + 1013904223;
    v = static_cast<uint8_t>(x >> 24);
  }
  return b;
}

/// Bytes from a seed; the seed is printed by whoever draws it.
inline Bytes random_bytes(std::mt19937& r, size_t n) {
  Bytes b(n);
  for (auto& v : b) v = static_cast<uint8_t>(r());
  return b;
}

struct UnitJob {
  uint8_t mode = 0;
  regs::Eu code = regs::Eu::None;
  Bytes key, context, nonce, header, data;
  std::optional<Bytes> received;
  uint32_t icv_bytes = 0;
  uint32_t split =
      0;  // 0: all at once, else the seed of random cuts (of whole blocks but for the last); odd: not in place
};

struct UnitResult {
  uint64_t begin_error = 0, error = 0, status = 0;  // of begin(), of finish(), the interrupt status behind them
  Bytes out, context, icv;
  regs::IntegrityCheck verdict = regs::IntegrityCheck::None;
  uint32_t startup_clocks = 0, block_clocks = 0, block_bytes = 0, finish_clocks = 0;
};

inline std::unique_ptr<hw::ExecutionUnit> unit_of(std::string_view part, regs::Eu code) {
  const regs::Part& p = *regs::find_part(part);
  return hw::make_unit(code, p, hw::Timing::for_part(p));
}

inline UnitResult run_unit(hw::ExecutionUnit& u, const UnitJob& j) {
  UnitResult r;
  u.reset_for_channel();
  r.begin_error = u.begin({.mode = j.mode,
                           .code = j.code,
                           .key = j.key.data(),
                           .key_bytes = static_cast<uint32_t>(j.key.size()),
                           .context = j.context.data(),
                           .context_bytes = static_cast<uint32_t>(j.context.size()),
                           .nonce = j.nonce.data(),
                           .nonce_bytes = static_cast<uint32_t>(j.nonce.size()),
                           .header_bytes = j.header.size(),
                           .data_bytes = j.data.size(),
                           .icv_bytes = j.icv_bytes});
  r.status = u.interrupt_status();
  if (r.begin_error) return r;
  r.startup_clocks = u.startup_clocks();
  r.block_clocks = u.block_clocks();
  r.block_bytes = u.block_bytes();
  r.finish_clocks = u.finish_clocks();
  std::mt19937 cuts(j.split);
  for (size_t at = 0; at < j.header.size();) {  // a header is cut anywhere
    const size_t left = j.header.size() - at, n = j.split ? 1 + cuts() % left : left;
    u.header(j.header.data() + at, n);
    at += n;
  }
  const bool writes = u.writes_output();
  if (writes) r.out = j.split & 1 ? Bytes(j.data.size(), 0x5A) : j.data;
  for (size_t at = 0; at < j.data.size();) {
    const size_t left = j.data.size() - at, b = u.block_bytes();
    size_t n = left;
    if (j.split && left > b) n = b * (1 + cuts() % (left / b));
    u.process(writes && !(j.split & 1) ? r.out.data() + at : j.data.data() + at, writes ? r.out.data() + at : nullptr,
              n);
    at += n;
  }
  if (j.received) u.set_received_icv(j.received->data(), static_cast<uint32_t>(j.received->size()));
  r.error = u.finish();
  r.status = u.interrupt_status();
  r.verdict = u.verdict();
  r.context.assign(hw::ExecutionUnit::kMaxContextBytes, 0xA5);
  r.context.resize(u.context(r.context.data(), static_cast<uint32_t>(r.context.size())));
  r.icv.assign(64, 0xA5);
  r.icv.resize(u.icv(r.icv.data(), 64));
  return r;
}

}  // namespace sec::test
