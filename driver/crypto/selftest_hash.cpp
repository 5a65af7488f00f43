#include <algorithm>

#include "driver/crypto/selftest_support.h"

namespace sec::crypto::selftest {
namespace {

struct HashRun final : Run {
  std::shared_ptr<Hash> hash;
  std::unique_ptr<HashState> state;
  PoisonedList src;
  Bytes digest;
  HashRequest request;
  void drop_transforms() override {
    state.reset();
    hash.reset();
  }
};

struct Tester {
  const Algorithm& a;
  const AlgorithmShape& shape;
  const Pump& pump;

  Outcome fail(const HashVector& v, const std::string& plan, const std::string& what) const {
    return {std::string(v.source) + ", " + plan + ": " + what, nullptr};
  }

  /// A keyed transform, or a failure.
  std::string make(const HashVector& v, std::shared_ptr<Hash>& out) const {
    out = a.make_hash();
    if (!out) return "no transform could be made";
    const Bytes key = from_hex(v.key);
    if (!key.empty())
      if (const Status s = out->set_key(key); s != Status::Ok) return with_errno("the key was refused with ", s);
    return {};
  }

  /// One operation over `in`. The digest is `expected`, or must stay untouched when that is empty.
  Outcome step(const std::shared_ptr<HashRun>& run, Status (Hash::*operation)(HashRequest&), const Bytes& in,
               std::vector<size_t> (*pieces)(size_t), const Bytes& expected, Status* status = nullptr) const {
    run->src.build(pieces(in.size()), 1, in);
    run->digest.assign(shape.digest_bytes + kPoisonBytes, kPoison);
    run->request = {.src = in.empty() ? nullptr : run->src.list(),
                    .size_bytes = in.size(),
                    .digest = run->digest.data(),
                    .state = run->state.get(),
                    .flags = kMayBacklog,
                    .complete = Run::complete,
                    .context = static_cast<Run*>(run.get())};
    const HashRequest before = run->request;
    Status s = Status::Ok;
    if (Outcome o = finish(
            run, pump, s, [&] { return (run->hash.get()->*operation)(run->request); }, [&] { run->hash->flush(); });
        !o.ok())
      return o;
    if (status) {
      *status = s;
      return {};
    }
    if (s != Status::Ok) return {with_errno("the request failed with ", s), nullptr};
    if (!std::equal(expected.begin(), expected.end(), run->digest.begin())) return {"wrong digest", nullptr};
    for (size_t i = expected.size(); i < run->digest.size(); ++i)
      if (run->digest[i] != kPoison)
        return {expected.empty() ? "the digest was written before the end" : "bytes behind the digest were written",
                nullptr};
    if (!run->src.poison_intact() || run->src.content(in.size()) != in || !run->src.list_unchanged())
      return {"the message was changed", nullptr};
    const HashRequest& r = run->request;
    if (before.src != r.src || before.size_bytes != r.size_bytes || before.digest != r.digest ||
        before.state != r.state || before.flags != r.flags || before.complete != r.complete ||
        before.context != r.context)
      return {"the request was changed", nullptr};
    return {};
  }

  Outcome digest(const HashVector& v) const {
    const Bytes in = from_hex(v.message), expected = from_hex(v.digest);
    auto run = std::make_shared<HashRun>();
    if (const std::string e = make(v, run->hash); !e.empty()) return fail(v, "digest", e);
    for (const auto pieces : {whole, halves, crumbs})
      if (Outcome o = step(run, &Hash::digest, in, pieces, expected); !o.ok())
        return {fail(v, "digest", o.failure).failure, o.abandoned};
    return {};
  }

  /// Moves the unfinished hash to a new state of a new transform.
  std::string move_state(const HashVector& v, const std::shared_ptr<HashRun>& run) const {
    Bytes exported(a.info.state_bytes + kPoisonBytes, kPoison);
    if (const Status s = run->hash->export_state(*run->state, exported.data()); s != Status::Ok)
      return with_errno("the export failed with ", s);
    for (size_t i = a.info.state_bytes; i < exported.size(); ++i)
      if (exported[i] != kPoison) return "bytes behind the exported state were written";
    run->state.reset();
    if (const std::string e = make(v, run->hash); !e.empty()) return e;
    run->state = run->hash->make_state();
    if (!run->state) return "no state could be made";
    if (const Status s = run->hash->import_state(*run->state, exported.data()); s != Status::Ok)
      return with_errno("the import failed with ", s);
    return {};
  }

  /// `sizes` are those of the updates, as far as the message goes; the rest goes to finup(), or with `final_alone` to
  /// one more update().
  Outcome steps(const HashVector& v, const char* plan, const std::vector<size_t>& sizes, bool final_alone,
                bool move) const {
    const Bytes in = from_hex(v.message), expected = from_hex(v.digest);
    auto run = std::make_shared<HashRun>();
    if (const std::string e = make(v, run->hash); !e.empty()) return fail(v, plan, e);
    run->state = run->hash->make_state();
    if (!run->state) return fail(v, plan, "no state could be made");
    if (const Status s = run->hash->init(*run->state); s != Status::Ok)
      return fail(v, plan, with_errno("init failed with ", s));
    size_t at = 0;
    const auto piece = [&](size_t n) {
      const auto from = in.begin() + static_cast<std::ptrdiff_t>(at);
      at += n;
      return Bytes(from, from + static_cast<std::ptrdiff_t>(n));
    };
    const auto failed = [&](const Outcome& o) { return Outcome{fail(v, plan, o.failure).failure, o.abandoned}; };
    for (size_t i = 0; i < sizes.size() && at + sizes[i] <= in.size(); ++i) {
      if (Outcome o = step(run, &Hash::update, piece(sizes[i]), i % 2 ? halves : whole, {}); !o.ok()) return failed(o);
      if (move)
        if (const std::string e = move_state(v, run); !e.empty()) return fail(v, plan, e);
    }
    if (final_alone) {
      if (Outcome o = step(run, &Hash::update, piece(in.size() - at), crumbs, {}); !o.ok()) return failed(o);
      if (Outcome o = step(run, &Hash::final, {}, whole, expected); !o.ok()) return failed(o);
    } else if (Outcome o = step(run, &Hash::finup, piece(in.size() - at), thirds, expected); !o.ok()) {
      return failed(o);
    }
    return {};
  }

  /// A state that is dropped in the middle must not disturb the transform.
  Outcome dropped(const HashVector& v) const {
    const Bytes in = from_hex(v.message);
    auto run = std::make_shared<HashRun>();
    if (const std::string e = make(v, run->hash); !e.empty()) return fail(v, "dropped state", e);
    run->state = run->hash->make_state();
    if (const Status s = run->hash->init(*run->state); s != Status::Ok)
      return fail(v, "dropped state", with_errno("init failed with ", s));
    if (Outcome o = step(run, &Hash::update, in, whole, {}); !o.ok())
      return {fail(v, "dropped state", o.failure).failure, o.abandoned};
    run->state.reset();
    if (Outcome o = step(run, &Hash::digest, in, whole, from_hex(v.digest)); !o.ok())
      return {fail(v, "digest after a dropped state", o.failure).failure, o.abandoned};
    return {};
  }

  Outcome keys() const {
    auto run = std::make_shared<HashRun>();
    run->hash = a.make_hash();
    if (!run->hash) return {"no transform could be made", nullptr};
    Bytes key(40);
    for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(3 + 37 * i);
    const bool hmac = shape.name.starts_with("hmac("), optional = shape.name == "crc32c";
    const bool keyed = hmac || shape.max_key_bytes > 0;
    if (keyed && !optional) {
      Status s = Status::Ok;
      if (Outcome o = step(run, &Hash::digest, {1, 2, 3}, whole, {}, &s); !o.ok()) return o;
      if (s != Status::NoKey) return {with_errno("a digest without a key gave ", s), nullptr};
    }
    if (hmac) return {};  // takes every length
    for (size_t n = 0; n <= key.size(); ++n) {
      const bool legal = keyed && key_bytes_are_legal(shape, n);
      if (const Status s = run->hash->set_key(std::span(key).first(n)); s != (legal ? Status::Ok : Status::Invalid))
        return {"a key of " + std::to_string(n) + " bytes gave " + std::string(errno_name(s)), nullptr};
    }
    return {};
  }
};

}  // namespace

Outcome test_hash(const Algorithm& a, const AlgorithmShape& shape, const Pump& pump) {
  const Tester t{a, shape, pump};
  if (Outcome o = t.keys(); !o.ok()) return o;
  const std::shared_ptr<Hash> probe = a.make_hash();
  const bool stepwise = a.info.state_bytes > 0;
  if (!probe || (probe->make_state() != nullptr) != stepwise)
    return {"state_bytes does not say whether the hash works in steps", nullptr};
  const size_t block = shape.block_bytes > 1 ? shape.block_bytes : 16;
  bool dropped = false;
  for (const HashVector& v : hash_vectors()) {
    if (v.algorithm != a.info.name) continue;
    if (Outcome o = t.digest(v); !o.ok()) return o;
    if (!stepwise) continue;
    const struct {
      const char* name;
      std::vector<size_t> sizes;
      bool final_alone, move;
    } plans[] = {
        {"init and finup", {}, false, false},
        {"init, update, final", {}, true, false},
        {"updates around the block size", {1, block - 1, block, block + 1}, false, false},
        {"updates of whole blocks", {block, 2 * block}, true, false},
        {"export and import after every update", {block - 1, 2, 0, 2 * block}, false, true},
    };
    for (const auto& p : plans)
      if (Outcome o = t.steps(v, p.name, p.sizes, p.final_alone, p.move); !o.ok()) return o;
    if (!dropped && v.message.size() > 2 * block) {
      if (Outcome o = t.dropped(v); !o.ok()) return o;
      dropped = true;
    }
  }
  return {};
}

}  // namespace sec::crypto::selftest
