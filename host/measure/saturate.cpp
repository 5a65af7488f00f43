#include "host/measure/saturate.h"

#include <cstdlib>
#include <cstring>

#include "common/diag.h"

namespace sec::host {

Load::Load(const LoadOptions& o, const crypto::Registry& registry, driver::DmaSpace* dma) : options_(o), dma_(dma) {
  for (unsigned t = 0; t < o.transforms; ++t) {
    Status s = Status::Ok;
    auto tfm = registry.alloc_skcipher(o.algorithm, &s);
    if (!tfm) throw SetupError("no algorithm '" + o.algorithm + "' is registered; see secsim algs");
    std::vector<uint8_t> key(o.key_bytes);
    for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i * 7 + t + 1);
    if (tfm->set_key(key) != Status::Ok) throw SetupError("key length refused by " + o.algorithm);
    const size_t each = (o.size_bytes * 2 + 16 + 127) / 64 * 64;
    auto* block = static_cast<uint8_t*>(dma ? dma->alloc(each * o.depth, 64) : std::aligned_alloc(64, each * o.depth));
    SEC_CHECK(block, "memory for the load");
    std::memset(block, 0x5a, each * o.depth);
    blocks_.push_back(block);
    for (unsigned d = 0; d < o.depth; ++d) {
      auto i = std::make_unique<Item>();
      uint8_t* b = block + each * d;
      i->load = this;
      i->tfm = tfm.get();
      i->src = {b, o.size_bytes};
      i->dst = {b + o.size_bytes, o.size_bytes};
      i->src_list = {&i->src, 1};
      i->dst_list = {&i->dst, 1};
      i->iv = b + 2 * o.size_bytes;
      i->request.src = &i->src_list;
      i->request.dst = &i->dst_list;
      i->request.size_bytes = o.size_bytes;
      i->request.iv = i->iv;
      i->request.complete = complete;
      i->request.context = i.get();
      items_.push_back(std::move(i));
    }
    transforms_.push_back(std::move(tfm));
  }
}

Load::~Load() {
  items_.clear();
  transforms_.clear();
  for (uint8_t* b : blocks_) dma_ ? dma_->free(b) : std::free(b);
}

void Load::submit(Item& i) {
  for (;;) {
    ++sent_;
    const Status s = options_.decrypt ? i.tfm->decrypt(i.request) : i.tfm->encrypt(i.request);
    if (accepted(s)) return;
    ++finished_;
    failed_ += s != Status::Ok;
    if (sent_ >= options_.requests) return;  // a synchronous implementation: next one here, no recursion
  }
}

void Load::start() {
  // Interleaved over the transforms, so that all channels get work from the beginning.
  for (unsigned d = 0; d < options_.depth; ++d)
    for (unsigned t = 0; t < options_.transforms; ++t)
      if (sent_ < options_.requests) submit(*items_[t * options_.depth + d]);
}

void Load::flush() {
  for (auto& t : transforms_) t->flush();
}

void Load::complete(void* context, Status s) {
  if (s == Status::InProgress) return;
  Item& i = *static_cast<Item*>(context);
  Load& l = *i.load;
  ++l.finished_;
  l.failed_ += s != Status::Ok;
  if (l.sent_ < l.options_.requests) l.submit(i);
}

}  // namespace sec::host
