// Requests of the crypto API on the driver and the functional engine of any part: ciphers, AEAD and hashes with any
// lists, lengths, keys and errors in the engine. Nothing crashes, leaks or is lost; every accepted request completes exactly
// once; and what completes well says the same as OpenSSL.
#include <deque>
#include <map>
#include <memory>

#include "driver/crypto/authenc_key.h"
#include "driver/talitos/talitos.h"
#include "host/compose/compose_aead.h"
#include "host/cpu/openssl.h"
#include "host/platforms/functional.h"
#include "tests/fuzz/input.h"

namespace {

using namespace sec;
using namespace sec::crypto;
using namespace sec::test;
using Bytes = std::vector<uint8_t>;

const Registry& software() {
  static Registry* const r = [] {
    auto* made = new Registry;
    made->set_selftest_enabled(false);
    host::register_openssl(*made);
    return made;
  }();
  return *r;
}

/// Memory in pieces, in the DMA space or outside of it (then the driver must bounce).
struct Memory {
  std::vector<Segment> segments;
  ScatterList list;
  std::vector<std::unique_ptr<uint8_t[]>> heap;  // each piece an allocation of its own: the sanitizer sees its ends
  std::vector<uint8_t*> shared;
  driver::DmaSpace& dma;
  Memory(FuzzInput& in, driver::DmaSpace& space, size_t bytes) : dma(space) {
    const bool one = in.u8() & 1, outside = in.u8() % 4 == 0;
    for (size_t done = 0; done < bytes;) {
      size_t n = one ? bytes - done : 1 + in.below(200);
      if (n > bytes - done || segments.size() > 30) n = bytes - done;
      uint8_t* p = nullptr;
      if (outside) {
        heap.push_back(std::make_unique<uint8_t[]>(n));
        p = heap.back().get();
      } else {
        p = static_cast<uint8_t*>(dma.alloc(n, 1));
        if (!p) break;
        shared.push_back(p);
      }
      segments.push_back({p, n});
      done += n;
      if (in.u8() % 8 == 0) segments.push_back({nullptr, 0});
    }
    list = {segments.data(), segments.size()};
  }
  ~Memory() {
    for (uint8_t* p : shared) dma.free(p);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
};

struct Transform {
  AlgorithmInfo info;
  std::unique_ptr<Skcipher> cipher;
  std::unique_ptr<Aead> aead;
  std::unique_ptr<Hash> hash;
  Bytes key;
  unsigned tag = 0;
  bool keyed = false;
  Status set_key(const Bytes& k) {
    const Status s = cipher ? cipher->set_key(k) : aead ? aead->set_key(k) : hash->set_key(k);
    if (s == Status::Ok) {
      key = k;
      keyed = true;
    }
    return s;
  }
};

struct Request {
  const Transform* transform = nullptr;
  Bytes key, plain, iv, iv_memory, digest;  // `plain`: what went in
  unsigned tag = 0;
  bool encrypt = true, in_place = false, injected = false;
  size_t aad = 0;
  std::unique_ptr<Memory> src, dst;
  SkcipherRequest cipher;
  AeadRequest aead;
  HashRequest hash;
  Status submitted = Status::Ok, status = Status::Ok;
  int finals = 0, starts = 0;
  static void done(void* c, Status s) {
    auto* r = static_cast<Request*>(c);
    if (s == Status::InProgress) {
      if (r->finals || ++r->starts > 1) fuzz_failure("InProgress came late or twice");
      return;
    }
    if (++r->finals > 1) fuzz_failure("a request completed twice");
    r->status = s;
  }
};

Bytes read(const ScatterList& l, size_t n) {
  Bytes b(n);
  if (n) copy_from(&l, 0, b.data(), n);
  return b;
}

/// The same on OpenSSL, one segment each; compares.
void check(const Request& r) {
  const Transform& t = *r.transform;
  size_t out_bytes = r.plain.size();
  if (r.aead.complete) out_bytes = r.encrypt ? out_bytes + r.tag : out_bytes - r.tag;
  const Bytes got = r.hash.digest ? r.digest : read(r.in_place ? r.src->list : r.dst->list, out_bytes);
  Bytes in = r.plain, out(in.size() + 64), iv = r.iv;
  in.resize(in.size() + 64);
  Segment a{in.data(), in.size()}, b{out.data(), out.size()};
  ScatterList src(&a, 1), dst(&b, 1);
  if (r.cipher.complete) {
    auto ref = software().alloc_skcipher(t.info.name);
    if (!ref) return;
    if (ref->set_key(r.key) != Status::Ok) fuzz_failure("the engine's driver takes a key that OpenSSL refuses");
    SkcipherRequest q{&src, &dst, r.plain.size(), iv.data(), 0, nullptr, nullptr};
    if ((r.encrypt ? ref->encrypt(q) : ref->decrypt(q)) != Status::Ok) fuzz_failure("OpenSSL refuses a request that the driver took");
    out.resize(got.size());
    if (out != got) fuzz_failure("a cipher's output differs from OpenSSL's");
    // CFB and OFB say nothing about the IV behind a partial block.
    const bool promised = t.info.name.starts_with("cbc(") || t.info.name.starts_with("ctr(");
    if (!r.plain.empty() && promised && iv != r.iv_memory)
      fuzz_failure("an output IV differs from OpenSSL's");
  } else if (r.aead.complete) {
    auto ref = software().alloc_aead(t.info.name);
    if (!ref) return;
    if (ref->set_key(r.key) != Status::Ok || ref->set_auth_bytes(r.tag) != Status::Ok) fuzz_failure("OpenSSL refuses key or tag length of an AEAD");
    AeadRequest q{&src, &dst, r.aad, r.plain.size() - r.aad, iv.data(), 0, nullptr, nullptr};
    const Status s = r.encrypt ? ref->encrypt(q) : ref->decrypt(q);
    if (s != r.status) fuzz_failure("an AEAD's verdict differs from OpenSSL's");
    if (s != Status::Ok) return;
    out.resize(got.size());
    if (!std::equal(out.begin() + static_cast<long>(r.aad), out.end(), got.begin() + static_cast<long>(r.aad))) fuzz_failure("an AEAD's output differs from OpenSSL's");
  } else {
    auto ref = software().alloc_hash(t.info.name);
    if (!ref) return;
    const bool keyed = t.info.name.find('(') != std::string::npos;  // an empty key is a key
    if (keyed && ref->set_key(r.key) != Status::Ok) fuzz_failure("OpenSSL refuses the key of a hash");
    Bytes digest(t.info.digest_bytes);
    HashRequest q;
    q.src = &src;
    q.size_bytes = r.plain.size();
    q.digest = digest.data();
    if (ref->digest(q) != Status::Ok) fuzz_failure("OpenSSL refuses a hash request that the driver took");
    if (digest != r.digest) fuzz_failure("a digest differs from OpenSSL's");
  }
}

Bytes make_key(FuzzInput& in, const AlgorithmInfo& i) {
  const auto pick = [&](unsigned lo, unsigned hi) { return in.below(8) ? lo + 8 * in.below((hi - lo) / 8 + 1) : in.below(70); };
  if (i.name.starts_with("authenc")) {
    const Bytes auth = in.bytes(in.below(4) ? 20 : in.below(140));
    const bool des = i.name.find("des3") != std::string::npos;
    return make_authenc_key(auth, in.bytes(des ? 24 : i.name.find("(des)") != std::string::npos ? 8 : 16 + 8 * in.below(3)));
  }
  if (i.type == AlgorithmType::Hash) return in.bytes(i.name.starts_with("hmac") ? in.below(200) : 16);
  return in.bytes(pick(i.min_key_bytes, i.max_key_bytes));
}

size_t size_of(FuzzInput& in, const AlgorithmInfo& i) {
  switch (in.below(10)) {
    case 0:
      return 0;
    case 1:
      return in.below(20);
    case 2:
      return 30000 + in.u16();  // may take more than one descriptor
    case 3:
      return in.u8();
    default:
      return size_t{i.block_bytes} * (1 + in.below(600 / i.block_bytes + 1));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput in(data, size);
  const regs::Part& part = regs::kParts[in.below(std::size(regs::kParts))];
  host::FunctionalPlatform platform(part, size_t{4} << 20);
  Registry registry;
  registry.set_selftest_enabled(false);
  driver::Device device(platform);
  if (device.probe(host::device_properties(part)) != Status::Ok) fuzz_failure("a part does not probe");
  if (device.register_algorithms(registry) != Status::Ok) fuzz_failure("the algorithms of a part cannot be registered");
  host::register_aead_compositions(registry, {.dma = &platform.dma()});
  platform.hold_interrupts(in.u8() & 1);
  const auto list = registry.list();
  {
    std::deque<Transform> transforms;
    std::deque<Request> requests;
    const unsigned n = 1 + in.below(3);
    for (unsigned k = 0; k < n; ++k) {
      Transform& t = transforms.emplace_back();
      t.info = list[in.below(static_cast<uint32_t>(list.size()))];
      t.cipher = t.info.type == AlgorithmType::Skcipher ? registry.alloc_skcipher(t.info.driver) : nullptr;
      t.aead = t.info.type == AlgorithmType::Aead ? registry.alloc_aead(t.info.driver) : nullptr;
      t.hash = t.info.type == AlgorithmType::Hash ? registry.alloc_hash(t.info.driver) : nullptr;
      if (!t.cipher && !t.aead && !t.hash) fuzz_failure("a registered algorithm cannot be allocated");
      t.tag = t.aead ? t.aead->auth_bytes() : 0;
    }
    for (unsigned k = 0; k < 40 && !in.empty(); ++k) {
      Transform& t = transforms[in.below(static_cast<uint32_t>(transforms.size()))];
      const uint8_t op = in.u8();
      const bool needs_key = !t.hash || t.info.name.find('(') != std::string::npos;
      if (needs_key && (!t.keyed || op % 16 == 0)) {
        const Status s = t.set_key(make_key(in, t.info));
        if (s != Status::Ok && s != Status::Invalid && s != Status::NoMemory) fuzz_failure("set_key answered with something else");
        if (s != Status::Ok && t.keyed) break;  // whether the old key still works depends on what was wrong: start anew
      }
      if (t.aead && op % 16 == 1) {
        const unsigned tag = in.below(66);
        if (t.aead->set_auth_bytes(tag) == Status::Ok) t.tag = tag;
      }
      if (op % 16 == 2) platform.deliver();
      if (op % 64 == 3) platform.engine().inject_unit_error(in.below(part.channels), in.u8());
      Request& r = requests.emplace_back();
      r.transform = &t;
      r.key = t.key;
      r.tag = t.tag;
      r.encrypt = !(op & 0x20);
      r.in_place = op & 0x40;
      r.aad = t.aead ? in.below(4) ? 8 : in.below(64) : 0;
      if (t.aead && t.info.name.starts_with("rfc4")) r.aad = 16;
      const size_t text = size_of(in, t.info) + (t.aead && !r.encrypt ? t.tag : 0);
      r.src = std::make_unique<Memory>(in, platform.dma(), r.aad + text + (t.aead && r.encrypt ? t.tag : 0));
      if (!r.in_place && !t.hash) r.dst = std::make_unique<Memory>(in, platform.dma(), r.aad + text + (t.aead && r.encrypt ? t.tag : 0));
      r.plain.resize(r.aad + text);
      fill_noise(r.plain.data(), r.plain.size(), in.u16() + 1u);
      const bool fits = copy_to(&r.src->list, 0, r.plain.data(), r.plain.size());
      r.iv = in.bytes(t.info.iv_bytes);
      if (t.info.name == "ccm(aes)") r.iv[0] = static_cast<uint8_t>(r.iv[0] % 9);
      r.iv_memory = r.iv;
      const ScatterList* to = r.in_place ? &r.src->list : r.dst ? &r.dst->list : nullptr;
      const uint32_t flags = op & 0x80 ? kMayBacklog : 0u;
      if (t.cipher) {
        r.cipher = {&r.src->list, to, text, r.iv_memory.data(), flags, Request::done, &r};
        r.submitted = r.encrypt ? t.cipher->encrypt(r.cipher) : t.cipher->decrypt(r.cipher);
      } else if (t.aead) {
        r.aead = {&r.src->list, to, r.aad, text, r.iv_memory.data(), flags, Request::done, &r};
        r.submitted = r.encrypt ? t.aead->encrypt(r.aead) : t.aead->decrypt(r.aead);
      } else {
        r.digest.resize(t.info.digest_bytes);
        r.hash.src = &r.src->list;
        r.hash.size_bytes = text;
        r.hash.digest = r.digest.data();
        r.hash.flags = flags;
        r.hash.complete = Request::done;
        r.hash.context = &r;
        r.submitted = t.hash->digest(r.hash);
      }
      if (r.submitted == Status::Busy && !(flags & kMayBacklog)) fuzz_failure("Busy without kMayBacklog");
      if (accepted(r.submitted) && !fits) fuzz_failure("a request was taken whose list is too short");
      if (!accepted(r.submitted) && r.finals) fuzz_failure("a callback for a request that was not accepted");
      if (r.submitted == Status::Ok) r.finals = 1;
    }
    if (in.u8() & 1)
      for (Transform& t : transforms) {  // freed while requests are in flight; hashes keep their transform
        t.cipher.reset();
        t.aead.reset();
      }
    for (unsigned k = 0; k < 10'000 && device.outstanding(); ++k) platform.pump();
    if (device.outstanding()) fuzz_failure("requests are still outstanding after everything has happened");
    for (Request& r : requests) {
      if (!accepted(r.submitted) && r.submitted != Status::Ok) continue;
      if (r.finals != 1) fuzz_failure("an accepted request did not complete");
      const bool verdict = r.status == Status::Ok || (r.aead.complete && r.status == Status::BadMessage);
      if (!verdict) continue;  // an engine error
      // Freed transforms cannot say what they were: the type is in the request.
      check(r);
    }
  }
  device.unregister();
  return 0;
}
