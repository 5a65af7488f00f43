// Requests from other OS threads. Driver, platform and simulation belong to one thread; application threads hand
// their requests to it through Boost.Lockfree queues and get the completions back through others. One pair of single-producer,
// single-consumer queues per client, so no thread ever waits for a lock of another.
//
//   application thread                      simulation thread
//   client.submit({tfm, &request, ..})  ->  bridge.serve(): tfm->encrypt(copy of the request)
//   client.poll(done)                   <-  the final status, with the caller's cookie
//
// With threads the moment in simulated time at which a request arrives depends on the operating system, so simulated times
// are not repeatable; the single-threaded mode (calling the driver from Session::run) is the deterministic one. Results are
// the same bytes in both.
//
// The request and its buffers stay the caller's until the completion has been polled. The request's own `complete` is not called.
#pragma once
#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <deque>
#include <memory>
#include <vector>

#include "driver/crypto/registry.h"
#include "host/platforms/engine_platform.h"

namespace sec::host {

class RequestBridge {
 public:
  struct Job {
    crypto::Skcipher* tfm = nullptr;
    const crypto::SkcipherRequest* request = nullptr;
    bool encrypt = true;
    uint64_t cookie = 0;
  };
  struct Done {
    uint64_t cookie = 0;
    Status status = Status::Ok;
  };

  /// One application thread's end.
  class Client {
   public:
    /// False when `depth` requests of this client are under way: poll first.
    bool submit(const Job& j);
    bool poll(Done& d);

    Client(RequestBridge& b, size_t depth) : bridge_(b), depth_(depth), jobs_(depth), done_(depth) {}  // use add_client()

   private:
    friend class RequestBridge;
    RequestBridge& bridge_;
    const size_t depth_;
    size_t under_way_ = 0;  // the client's own count
    boost::lockfree::spsc_queue<Job> jobs_;
    boost::lockfree::spsc_queue<Done> done_;
  };

  explicit RequestBridge(EnginePlatform& platform) : platform_(platform) {}

  /// A client for one thread; before serve().
  Client& add_client(size_t depth = 64);
  /// In the simulation thread: takes requests until stop() has been called and everything has completed.
  void serve();
  /// From any thread: no more requests will come.
  void stop();
  uint64_t served() const { return served_; }

 private:
  struct Slot {
    RequestBridge* bridge;
    Client* client;
    crypto::SkcipherRequest request;
    uint64_t cookie;
  };
  static void complete(void* slot, Status s);
  bool take();
  void wake();

  EnginePlatform& platform_;
  std::deque<Client> clients_;
  std::deque<Slot> slots_;
  std::vector<Slot*> free_;
  std::atomic<bool> stopping_{false}, asleep_{false};
  uint64_t in_flight_ = 0, served_ = 0;
};

}  // namespace sec::host
