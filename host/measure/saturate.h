// A closed loop that keeps a number of requests in flight on one or more transforms of a cipher, an AEAD or a hash: the
// load behind the benchmarks and `secsim compare speed`.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver/crypto/registry.h"
#include "driver/platform/dma.h"

namespace sec::host {

struct LoadOptions {
  std::string algorithm = "cbc-aes-talitos";
  size_t size_bytes = 1400;
  size_t key_bytes = 16;
  size_t auth_key_bytes = 20;  // authenc(...)
  size_t aad_bytes = 8;        // AEAD: SPI and sequence number
  size_t tag_bytes = 12;
  unsigned transforms = 1;  // the driver puts successive transforms on successive channels
  unsigned depth = 20;      // requests in flight per transform
  uint64_t requests = 1000;  // in all
  bool decrypt = false;
};

class Load {
 public:
  /// Buffers come from `dma`, or from the heap when it is null.
  Load(const LoadOptions& o, const crypto::Registry& registry, driver::DmaSpace* dma);
  ~Load();
  /// Submits the first requests; each completion submits another one until all have been sent.
  void start();
  bool done() const { return finished_ >= options_.requests; }
  uint64_t finished() const { return finished_; }
  uint64_t failed() const { return failed_; }
  void flush();

 private:
  struct Item {
    Load* load;
    size_t transform;
    crypto::SkcipherRequest request;
    crypto::AeadRequest aead;
    crypto::HashRequest hash;
    crypto::Segment src, dst;
    crypto::ScatterList src_list, dst_list;
    uint8_t* iv;
  };
  static void complete(void* item, Status s);
  void submit(Item& i);
  Status send(Item& i);
  void add_transform(const crypto::Registry& registry, unsigned number);

  LoadOptions options_;
  driver::DmaSpace* dma_;
  std::vector<uint8_t*> blocks_;
  struct Transform {  // one of the three
    std::unique_ptr<crypto::Skcipher> cipher;
    std::unique_ptr<crypto::Aead> aead;
    std::unique_ptr<crypto::Hash> hash;
  };
  std::vector<Transform> transforms_;
  std::vector<std::unique_ptr<Item>> items_;
  uint64_t sent_ = 0, finished_ = 0, failed_ = 0;
  bool in_submit_ = false;
};

}  // namespace sec::host
