// Helpers that the CPU back ends share for scatterlists.
//
// The usual request has one segment on each side; `single_span` finds that case with two loads. Anything
// else goes through `walk_pair`, which steps over source and destination together and hands out pieces that
// are contiguous on both sides; where less than one cipher block is contiguous, the block goes through a
// small bounce buffer. Bytes are always read before the same position is written, so source and destination
// may be the same memory, described by the same list or by two lists with different borders.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "driver/crypto/scatterlist.h"

namespace sec::host {

/// The memory behind the first `n` bytes of the list when they lie in its first segment, else null.
inline uint8_t* single_span(const crypto::ScatterList* list, size_t n) {
  if (list && list->count && list->segments[0].size_bytes >= n) [[likely]]
    return list->segments[0].data;
  return nullptr;
}

/// True when the list has at least `n` bytes.
inline bool covers(const crypto::ScatterList* list, size_t n) {
  crypto::ScatterWalk walk(list);
  return walk.skip(n);
}

/// A position in a list that can be looked at, advanced and copied from or to.
class ListCursor {
 public:
  ListCursor(const crypto::ScatterList* list, size_t total) : walk_(list), left_(total) {}
  /// Begins `offset` bytes into the list, which has them.
  ListCursor(const crypto::ScatterList* list, size_t offset, size_t total) : walk_(list), left_(total) {
    (void)walk_.skip(offset);
  }

  /// The contiguous piece at the position; empty at the end.
  crypto::Segment peek() {
    if (!piece_.size_bytes && left_) {
      piece_ = walk_.take(left_);
      left_ -= piece_.size_bytes;
      if (!piece_.size_bytes) left_ = 0;
    }
    return piece_;
  }
  void advance(size_t n) {
    piece_.data += n;
    piece_.size_bytes -= n;
  }
  void read(uint8_t* to, size_t n) {
    while (n) {
      const crypto::Segment s = peek();
      if (!s.size_bytes) return;
      const size_t k = std::min(n, s.size_bytes);
      std::memcpy(to, s.data, k);
      advance(k);
      to += k;
      n -= k;
    }
  }
  void write(const uint8_t* from, size_t n) {
    while (n) {
      const crypto::Segment s = peek();
      if (!s.size_bytes) return;
      const size_t k = std::min(n, s.size_bytes);
      std::memcpy(s.data, from, k);
      advance(k);
      from += k;
      n -= k;
    }
  }

 private:
  crypto::ScatterWalk walk_;
  size_t left_;  // bytes not yet taken from the walk
  crypto::Segment piece_;
};

/// Calls `crypt(in, out, bytes)` over both lists, in order, with whole blocks of `block_bytes` (1 for stream
/// ciphers, at most 16). `total` is a multiple of the block. Both lists must cover it. Returns false as soon as a call
/// does.
template <class Crypt>
bool walk_pair(ListCursor in, ListCursor out, size_t total, size_t block_bytes, size_t max_piece_bytes, Crypt&& crypt) {
  while (total) {
    const crypto::Segment s = in.peek();
    const crypto::Segment d = out.peek();
    size_t n = std::min({s.size_bytes, d.size_bytes, max_piece_bytes});
    n -= n % block_bytes;
    if (n) {
      if (!crypt(s.data, d.data, n)) return false;
      in.advance(n);
      out.advance(n);
    } else {
      uint8_t bounce[16];
      n = block_bytes;
      in.read(bounce, n);
      if (!crypt(bounce, bounce, n)) return false;
      out.write(bounce, n);
    }
    total -= n;
  }
  return true;
}

template <class Crypt>
bool walk_pair(const crypto::ScatterList* src, const crypto::ScatterList* dst, size_t total, size_t block_bytes,
               size_t max_piece_bytes, Crypt&& crypt) {
  return walk_pair(ListCursor(src, total), ListCursor(dst, total), total, block_bytes, max_piece_bytes,
                   std::forward<Crypt>(crypt));
}

/// Calls `take(data, bytes)` for each piece of the bytes [offset, offset + total), which the list has.
template <class Take>
void walk_list(const crypto::ScatterList* list, size_t offset, size_t total, Take&& take) {
  if (const uint8_t* p = single_span(list, offset + total)) [[likely]] {
    if (total) take(p + offset, total);
    return;
  }
  ListCursor cursor(list, offset, total);
  for (crypto::Segment s = cursor.peek(); s.size_bytes; s = cursor.peek()) {
    take(static_cast<const uint8_t*>(s.data), s.size_bytes);
    cursor.advance(s.size_bytes);
  }
}

/// 128-bit big-endian counter += blocks, carry through all bytes.
inline void add_be128(uint8_t counter[16], uint64_t blocks) {
  for (int i = 15; i >= 0 && blocks; --i) {
    blocks += counter[i];
    counter[i] = static_cast<uint8_t>(blocks);
    blocks >>= 8;
  }
}

}  // namespace sec::host
