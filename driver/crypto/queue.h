// A bounded first-in-first-out queue with a backlog, as the kernel's crypto queue behaves:
//
//   * up to `limit` entries wait in the queue proper: enqueue returns InProgress;
//   * beyond that an entry is taken only with may_backlog: enqueue returns Busy, and the entry's owner
//     is told InProgress when the entry moves into the queue proper;
//   * without may_backlog it is refused with NoSpace.
//
// The order is strictly first in, first out; the backlog has no limit of its own (a caller that got Busy
// is expected to stop until it is told to go on). Intrusive: `Node` has a member `Node* next`. Nothing is
// allocated and the queue owns nothing. A limit of 0 makes a pure backlog.
#pragma once
#include <cstddef>

#include "common/status.h"

namespace sec::crypto {

template <class Node>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t limit) : limit_(limit) {}

  Status enqueue(Node* n, bool may_backlog) {
    const bool full = size_ >= limit_;
    if (full && !may_backlog) return Status::NoSpace;
    n->next = nullptr;
    if (tail_)
      tail_->next = n;
    else
      head_ = n;
    tail_ = n;
    ++size_;
    if (!full) return Status::InProgress;
    if (!backlog_) backlog_ = n;
    return Status::Busy;
  }

  /// Takes the oldest entry, null when empty. `*started` is the entry that moves from the backlog into the
  /// queue by this (its owner must be told InProgress before the returned entry is worked on), or null.
  Node* dequeue(Node** started) {
    *started = nullptr;
    if (!head_) return nullptr;
    if (backlog_) {
      *started = backlog_;
      backlog_ = backlog_->next;
    }
    Node* n = head_;
    head_ = n->next;
    if (!head_) tail_ = nullptr;
    --size_;
    return n;
  }

  Node* front() const { return head_; }
  bool empty() const { return head_ == nullptr; }
  size_t size() const { return size_; }
  size_t limit() const { return limit_; }

 private:
  Node* head_ = nullptr;
  Node* tail_ = nullptr;
  Node* backlog_ = nullptr;  // the oldest entry whose owner still waits to be told InProgress
  size_t size_ = 0;
  size_t limit_;
};

}  // namespace sec::crypto
