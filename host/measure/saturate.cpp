#include "host/measure/saturate.h"

#include <cstdlib>
#include <cstring>

#include "common/diag.h"
#include "driver/crypto/authenc_key.h"

namespace sec::host {

Load::Load(const LoadOptions& o, const crypto::Registry& registry, driver::DmaSpace* dma) : options_(o), dma_(dma) {
  for (unsigned t = 0; t < o.transforms; ++t) {
    add_transform(registry, t);
    const bool aead = transforms_.back().aead != nullptr;
    const size_t in = o.size_bytes + (aead ? o.aad_bytes + o.tag_bytes : 0);
    const size_t each = (in * 2 + 16 + 64 + 127) / 64 * 64;
    auto* block = static_cast<uint8_t*>(dma ? dma->alloc(each * o.depth, 64) : std::aligned_alloc(64, each * o.depth));
    SEC_CHECK(block, "memory for the load");
    std::memset(block, 0x5a, each * o.depth);
    blocks_.push_back(block);
    for (unsigned d = 0; d < o.depth; ++d) {
      auto i = std::make_unique<Item>();
      uint8_t* b = block + each * d;
      i->load = this;
      i->transform = t;
      i->src = {b, in};
      i->dst = {b + in, in};
      i->src_list = {&i->src, 1};
      i->dst_list = {&i->dst, 1};
      i->iv = b + 2 * in;
      const auto fill = [&](auto& r) {
        r.src = &i->src_list;
        r.size_bytes = o.size_bytes;
        r.complete = complete;
        r.context = i.get();
      };
      fill(i->request);
      i->request.dst = &i->dst_list;
      i->request.iv = i->iv;
      fill(i->aead);
      i->aead.dst = &i->src_list;  // in place, as ESP does it
      i->aead.aad_bytes = o.aad_bytes;
      i->aead.iv = i->iv;
      fill(i->hash);
      i->hash.digest = b + in;
      items_.push_back(std::move(i));
    }
  }
}

void Load::add_transform(const crypto::Registry& registry, unsigned number) {
  const auto ramp = [&](size_t n) {
    std::vector<uint8_t> key(n);
    for (size_t i = 0; i < n; ++i) key[i] = static_cast<uint8_t>(i * 7 + number + 1);
    return key;
  };
  Transform t;
  Status s = Status::Ok;
  if ((t.cipher = registry.alloc_skcipher(options_.algorithm))) {
    s = t.cipher->set_key(ramp(options_.key_bytes));
  } else if ((t.aead = registry.alloc_aead(options_.algorithm))) {
    const bool authenc = t.aead->info().name.starts_with("authenc");
    s = t.aead->set_key(authenc ? crypto::make_authenc_key(ramp(options_.auth_key_bytes), ramp(options_.key_bytes))
                                : ramp(options_.key_bytes));
    if (s == Status::Ok) s = t.aead->set_auth_bytes(static_cast<unsigned>(options_.tag_bytes));
  } else if ((t.hash = registry.alloc_hash(options_.algorithm))) {
    if (t.hash->info().name.find('(') != std::string::npos) s = t.hash->set_key(ramp(options_.auth_key_bytes));
  } else {
    throw SetupError("no algorithm '" + options_.algorithm + "' is registered; see secsim algs");
  }
  if (s != Status::Ok) throw SetupError("key or tag length refused by " + options_.algorithm);
  transforms_.push_back(std::move(t));
}

Load::~Load() {
  items_.clear();
  transforms_.clear();
  for (uint8_t* b : blocks_) dma_ ? dma_->free(b) : std::free(b);
}

Status Load::send(Item& i) {
  Transform& t = transforms_[i.transform];
  if (t.cipher) return options_.decrypt ? t.cipher->decrypt(i.request) : t.cipher->encrypt(i.request);
  return t.aead ? t.aead->encrypt(i.aead) : t.hash->digest(i.hash);
}

void Load::submit(Item& i) {
  for (;;) {
    ++sent_;
    const Status s = send(i);
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
  for (Transform& t : transforms_) {
    if (t.cipher) t.cipher->flush();
    if (t.aead) t.aead->flush();
    if (t.hash) t.hash->flush();
  }
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
