// Scatterlists: where a request's bytes lie. A list is an array of segments, optionally chained to
// another array. Segments may have any length and alignment; a list may be longer than the request.
// Nothing in the crypto layer or in a driver ever changes a list.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sec::crypto {

struct Segment {
  uint8_t* data = nullptr;
  size_t size_bytes = 0;
};

struct ScatterList {
  const Segment* segments = nullptr;
  size_t count = 0;
  const ScatterList* next = nullptr;  // chained array, or null

  ScatterList() = default;
  ScatterList(const Segment* s, size_t n, const ScatterList* chain = nullptr) : segments(s), count(n), next(chain) {}
};

/// Walks a list piece by piece. Never looks at a later segment than it needs (the segment after the
/// last used byte may not exist).
class ScatterWalk {
 public:
  explicit ScatterWalk(const ScatterList* list) : list_(list) {}

  /// The next piece of at most `want` bytes; size 0 at the end of the list. Skips empty segments.
  Segment take(size_t want) {
    while (list_) {
      if (index_ == list_->count) {
        list_ = list_->next;
        index_ = 0;
        continue;
      }
      const Segment& s = list_->segments[index_];
      if (offset_ == s.size_bytes) {
        ++index_;
        offset_ = 0;
        continue;
      }
      const size_t n = s.size_bytes - offset_ < want ? s.size_bytes - offset_ : want;
      Segment piece{s.data + offset_, n};
      offset_ += n;
      return piece;
    }
    return {};
  }
  /// Skips `n` bytes; false when the list is shorter.
  bool skip(size_t n) {
    while (n) {
      const size_t got = take(n).size_bytes;
      if (!got) return false;
      n -= got;
    }
    return true;
  }

 private:
  const ScatterList* list_;
  size_t index_ = 0;
  size_t offset_ = 0;
};

/// Copies `n` bytes starting `offset` bytes into the list; false when the list is too short.
inline bool copy_from(const ScatterList* list, size_t offset, void* to, size_t n) {
  ScatterWalk w(list);
  if (!w.skip(offset)) return false;
  auto* p = static_cast<uint8_t*>(to);
  while (n) {
    const Segment s = w.take(n);
    if (!s.size_bytes) return false;
    std::memcpy(p, s.data, s.size_bytes);
    p += s.size_bytes;
    n -= s.size_bytes;
  }
  return true;
}
inline bool copy_to(const ScatterList* list, size_t offset, const void* from, size_t n) {
  ScatterWalk w(list);
  if (!w.skip(offset)) return false;
  auto* p = static_cast<const uint8_t*>(from);
  while (n) {
    const Segment s = w.take(n);
    if (!s.size_bytes) return false;
    std::memcpy(s.data, p, s.size_bytes);
    p += s.size_bytes;
    n -= s.size_bytes;
  }
  return true;
}

}  // namespace sec::crypto
