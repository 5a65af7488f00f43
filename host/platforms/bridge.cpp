#include "host/platforms/bridge.h"

namespace sec::host {

bool RequestBridge::Client::submit(const Job& j) {
  if (under_way_ == depth_) return false;
  ++under_way_;
  jobs_.push(j);  // there is room: the queue is as deep as the limit
  bridge_.wake();
  return true;
}

bool RequestBridge::Client::poll(Done& d) {
  if (!done_.pop(d)) return false;
  --under_way_;
  return true;
}

RequestBridge::Client& RequestBridge::add_client(size_t depth) {
  return clients_.emplace_back(*this, depth);
}

void RequestBridge::wake() {
  // The server announces that it goes to sleep before it looks at the queues for the last time.
  if (asleep_.exchange(false, std::memory_order_seq_cst)) platform_.notify_from_thread();
}

void RequestBridge::stop() {
  stopping_.store(true, std::memory_order_seq_cst);
  wake();
}

void RequestBridge::complete(void* context, Status s) {
  if (s == Status::InProgress) return;
  Slot& slot = *static_cast<Slot*>(context);
  slot.client->done_.push({slot.cookie, s});
  --slot.bridge->in_flight_;
  ++slot.bridge->served_;
  slot.bridge->free_.push_back(&slot);
}

/// Hands waiting jobs to the driver; true when there were some.
bool RequestBridge::take() {
  bool any = false;
  for (Client& c : clients_) {
    Job j;
    while (c.jobs_.pop(j)) {
      any = true;
      if (free_.empty()) free_.push_back(&slots_.emplace_back());
      Slot* s = free_.back();
      free_.pop_back();
      *s = {this, &c, *j.request, j.cookie};
      s->request.complete = complete;
      s->request.context = s;
      s->request.flags |= crypto::kMayBacklog;
      ++in_flight_;
      const Status r = j.encrypt ? j.tfm->encrypt(s->request) : j.tfm->decrypt(s->request);
      if (!accepted(r)) complete(s, r);
    }
  }
  return any;
}

void RequestBridge::serve() {
  platform_.expect_threads(true);
  for (;;) {
    if (take()) continue;
    if (stopping_.load(std::memory_order_seq_cst) && in_flight_ == 0 && !take()) break;
    asleep_.store(true, std::memory_order_seq_cst);
    struct Wait {
      RequestBridge* b;
      uint64_t served;
    } w{this, served_};
    platform_.wait_until(
        [](void* p) {
          auto& x = *static_cast<Wait*>(p);
          if (x.b->served_ != x.served) return true;
          for (Client& c : x.b->clients_)
            if (c.jobs_.read_available()) return true;
          return x.b->stopping_.load(std::memory_order_seq_cst) && x.b->in_flight_ == 0;
        },
        &w);
    asleep_.store(false, std::memory_order_seq_cst);
  }
  platform_.expect_threads(false);
}

}  // namespace sec::host
