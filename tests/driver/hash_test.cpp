// Hashes and HMACs on the fake engine of every generation, against OpenSSL: lengths around every border, messages that
// take several descriptors, steps in any order, export and import, key changes, full rings, errors, memory.
#include "driver/talitos/hash.h"

#include <openssl/hmac.h>

#include <algorithm>
#include <functional>

#include "tests/driver/harness.h"

namespace sec::test {
namespace {

using Fate = FakeEngine::Fate;

const char* const kParts[] = {"mpc885", "mpc8272", "mpc8349", "mpc8548", "mpc8323", "mpc8572", "p2020", "mpc8315"};

const EVP_MD* evp(const std::string& name) {
  const bool hmac = name.starts_with("hmac(");
  return EVP_get_digestbyname((hmac ? name.substr(5, name.size() - 6) : name).c_str());
}

Bytes expected_digest(const std::string& name, const Bytes& key, const Bytes& message) {
  Bytes out(EVP_MAX_MD_SIZE);
  unsigned n = 0;
  const uint8_t none = 0;
  const uint8_t* m = message.empty() ? &none : message.data();
  if (name.starts_with("hmac("))
    HMAC(evp(name), key.empty() ? &none : key.data(), static_cast<int>(key.size()), m, message.size(), out.data(), &n);
  else
    EXPECT_EQ(EVP_Digest(m, message.size(), out.data(), &n, evp(name), nullptr), 1);
  out.resize(n);
  return out;
}

std::vector<std::string> hashes_of(Harness& h) {
  std::vector<std::string> out;
  for (const auto& a : h.registry.list())
    if (a.type == crypto::AlgorithmType::Hash && a.name != "crc32c") out.push_back(a.name);
  EXPECT_GE(out.size(), 4u);
  return out;
}

/// One operation with its own memory: the message in segments, with poison around the digest.
struct Operation {
  enum class Kind { Digest, Update, Final, Finup };

  /// `cuts` are segment sizes, repeated; 0 in front: one segment. `foreign`: not in DMA memory.
  Operation(Harness& h, const Bytes& m, std::vector<size_t> cuts = {}, bool foreign = false) : space(h.dma()) {
    const size_t room = 2 * m.size() + 64;
    if (foreign)
      own.assign(room, 0x5a);
    else
      memory = static_cast<uint8_t*>(space.alloc(room));
    uint8_t* const base = foreign ? own.data() : memory;
    EXPECT_TRUE(base);
    if (cuts.empty()) cuts = {std::max<size_t>(m.size(), 1)};
    size_t at = 1, gap = cuts.size() > 1 || cuts[0] < m.size() ? 1 : 0;
    for (size_t done = 0, i = 0; done < m.size(); ++i) {
      const size_t n = std::min(cuts[i % cuts.size()], m.size() - done);
      std::copy_n(m.data() + done, n, base + at);
      segments.push_back({base + at, n});
      at += n + (at + n + gap + (m.size() - done) <= room - 8 ? gap : 0);
      done += n;
    }
    list = crypto::ScatterList(segments.data(), segments.size());
    digest.assign(64 + 16, 0x5a);
    request = {.src = m.empty() ? nullptr : &list,
               .size_bytes = m.size(),
               .digest = digest.data(),
               .flags = crypto::kMayBacklog,
               .complete = completed,
               .context = this};
  }
  ~Operation() { space.free(memory); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  static void completed(void* context, Status s) {
    auto* o = static_cast<Operation*>(context);
    if (s == Status::InProgress) {
      ++o->started;
      EXPECT_EQ(o->finished, 0u);
      return;
    }
    ++o->finished;
    o->status = s;
    if (o->then) o->then();
  }
  Status submit(crypto::Hash& t, Kind kind = Kind::Digest, crypto::HashState* state = nullptr) {
    request.state = state;
    submitted = kind == Kind::Digest   ? t.digest(request)
                : kind == Kind::Update ? t.update(request)
                : kind == Kind::Final  ? t.final(request)
                                       : t.finup(request);
    if (!accepted(submitted)) {
      ++finished;
      status = submitted;
    }
    return submitted;
  }
  bool digest_untouched() const {
    return std::all_of(digest.begin(), digest.end(), [](uint8_t b) { return b == 0x5a; });
  }
  void expect(const Bytes& wanted, const std::string& what) const {
    EXPECT_EQ(finished, 1u) << what;
    EXPECT_EQ(status, Status::Ok) << what;
    EXPECT_EQ(started, submitted == Status::Busy ? 1u : 0u) << what;
    EXPECT_EQ(Bytes(digest.begin(), digest.begin() + static_cast<long>(wanted.size())), wanted) << what;
    EXPECT_TRUE(std::all_of(digest.begin() + static_cast<long>(wanted.size()), digest.end(), [](uint8_t b) {
      return b == 0x5a;
    })) << what;
  }

  driver::DmaSpace& space;
  Bytes own;
  uint8_t* memory = nullptr;
  std::vector<crypto::Segment> segments;
  crypto::ScatterList list;
  Bytes digest;
  crypto::HashRequest request;
  std::function<void()> then;
  unsigned started = 0, finished = 0;
  Status submitted = Status::Ok, status = Status::InProgress;
};
using Kind = Operation::Kind;

/// Submits and runs the engine until it is over.
Status run(Harness& h, crypto::Hash& t, Operation& o, Kind kind = Kind::Digest, crypto::HashState* s = nullptr) {
  if (accepted(o.submit(t, kind, s))) h.engine.run();
  EXPECT_EQ(o.finished, 1u);
  return o.status;
}

/// The same; the status is looked at by Operation::expect().
void finish(Harness& h, crypto::Hash& t, Operation& o, Kind kind = Kind::Digest, crypto::HashState* s = nullptr) {
  static_cast<void>(run(h, t, o, kind, s));
}

FakeEngine::Options on(const char* part) { return {.part = regs::find_part(part)}; }

class HashOn : public ::testing::TestWithParam<const char*> {
 protected:
  Bytes key_for(const std::string& name, size_t n) {
    return name.starts_with("hmac(") ? random_bytes(rng, n) : Bytes{};
  }
  std::unique_ptr<crypto::Hash> make(Harness& h, const std::string& name, const Bytes& key) {
    auto t = h.registry.alloc_hash(name);
    EXPECT_TRUE(t) << name;
    if (name.starts_with("hmac(")) {
      EXPECT_EQ(t->set_key(key), Status::Ok);
    }
    return t;
  }
  std::mt19937_64 rng{7};
};
INSTANTIATE_TEST_SUITE_P(Parts, HashOn, ::testing::ValuesIn(kParts),
                         [](const auto& i) { return std::string(i.param); });

// T14 among them: no bytes, and no list either.
TEST_P(HashOn, EveryLengthAroundTheBlock) {
  Harness h(on(GetParam()));
  for (const std::string& name : hashes_of(h)) {
    const Bytes key = key_for(name, 20);
    auto t = make(h, name, key);
    const size_t block = t->info().block_bytes;
    for (size_t n = 0; n <= 2 * block + 2; ++n) {
      const Bytes m = random_bytes(rng, n), wanted = expected_digest(name, key, m);
      const std::string what = name + ", " + std::to_string(n) + " bytes";
      Operation whole(h, m), crumbs(h, m, {1, 7, 3}), outside(h, m, {33}, true);
      for (Operation* o : {&whole, &crumbs, &outside}) {
        finish(h, *t, *o);
        o->expect(wanted, what);
      }
      auto state = t->make_state();
      ASSERT_EQ(t->init(*state), Status::Ok);
      Operation update(h, m), final(h, {});
      EXPECT_EQ(run(h, *t, update, Kind::Update, state.get()), Status::Ok) << what;
      EXPECT_TRUE(update.digest_untouched()) << what;
      finish(h, *t, final, Kind::Final, state.get());
      final.expect(wanted, what + ", update and final");
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_EQ(h.engine.illegal_accesses + h.engine.misaligned_writes, 0u);
  EXPECT_EQ(h.device->stats().descriptor_errors, 0u);
}

// T20: what takes several descriptors, in one segment, in pages, foreign memory; at once, and behind one byte.
TEST_P(HashOn, LongMessagesTakeSeveralDescriptors) {
  FakeEngine::Options options = on(GetParam());
  options.dma_bytes = 24 << 20;
  Harness h(options);
  const bool sec1 = h.device->sec1();
  const Bytes all = random_bytes(rng, 1 << 20);
  std::vector<size_t> sizes;
  for (const size_t middle : {32768, 65408, 65472, 65536, 98304, 163840})
    for (const size_t d : {0, 1, 2}) sizes.push_back(middle - 1 + d);
  sizes.push_back(1 << 20);
  for (const std::string& name : hashes_of(h)) {
    const Bytes key = key_for(name, 64);
    auto t = make(h, name, key);
    for (const size_t n : sizes) {
      const Bytes m(all.begin(), all.begin() + static_cast<long>(n));
      const Bytes wanted = expected_digest(name, key, m);
      const std::string what = name + ", " + std::to_string(n) + " bytes";
      const uint64_t before = h.engine.executed.size();
      Operation whole(h, m), pages(h, m, {4096});
      finish(h, *t, whole);
      whole.expect(wanted, what);
      const size_t most = (sec1 ? 32768 : 65520) / t->info().block_bytes * t->info().block_bytes;
      EXPECT_EQ(h.engine.executed.size() - before, (n + most - 1) / most) << what;
      finish(h, *t, pages);
      pages.expect(wanted, what + " in pages");
      if (n < 200'000) {
        Operation outside(h, m, {4096}, true);
        finish(h, *t, outside);
        outside.expect(wanted, what + " of foreign memory");
      }
      auto state = t->make_state();
      ASSERT_EQ(t->init(*state), Status::Ok);
      Operation first(h, Bytes(m.begin(), m.begin() + 1)), rest(h, Bytes(m.begin() + 1, m.end()), {5000}), end(h, {});
      EXPECT_EQ(run(h, *t, first, Kind::Update, state.get()), Status::Ok);
      EXPECT_EQ(run(h, *t, rest, Kind::Update, state.get()), Status::Ok) << what;
      finish(h, *t, end, Kind::Final, state.get());
      end.expect(wanted, what + " behind one byte");
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(h.device->stats().split_requests, 0u);
}

// Many states at once, each with its own message in random steps, moved to new states and transforms in between.
TEST_P(HashOn, InterleavedStatesExportAndImport) {
  Harness h(on(GetParam()));
  for (const std::string& name : hashes_of(h)) {
    const Bytes key = key_for(name, 30);
    auto t = make(h, name, key), other = make(h, name, key);
    struct Flow {
      Bytes m;
      size_t at = 0;
      std::unique_ptr<crypto::HashState> state;
      std::unique_ptr<Operation> op;
    };
    const size_t block = t->info().block_bytes, before = h.dma().allocated_bytes();
    {
      std::vector<Flow> flows(24);
      for (Flow& f : flows) {
        f.m = random_bytes(rng, rng() % 4 ? rng() % (6 * block) : block * (rng() % 6));
        f.state = t->make_state();
        ASSERT_EQ(t->init(*f.state), Status::Ok);
      }
      for (int round = 0; round < 6; ++round) {
        for (Flow& f : flows) {
          const size_t left = f.m.size() - f.at, n = rng() % 5 ? rng() % (left + 1) : 0;
          f.op = std::make_unique<Operation>(
              h, Bytes(f.m.begin() + static_cast<long>(f.at), f.m.begin() + static_cast<long>(f.at + n)),
              std::vector<size_t>{1 + rng() % 70, 1 + rng() % 9});
          f.at += n;
          static_cast<void>(f.op->submit(*t, Kind::Update, f.state.get()));
        }
        h.engine.run();
        for (Flow& f : flows) {
          ASSERT_EQ(f.op->finished, 1u);
          ASSERT_EQ(f.op->status, Status::Ok);
          ASSERT_TRUE(f.op->digest_untouched());
          if (rng() % 2) continue;
          Bytes saved(t->info().state_bytes + 16, 0x5a);
          ASSERT_EQ(t->export_state(*f.state, saved.data()), Status::Ok);
          for (size_t i = t->info().state_bytes; i < saved.size(); ++i) ASSERT_EQ(saved[i], 0x5a);
          f.state = other->make_state();
          ASSERT_EQ(other->import_state(*f.state, saved.data()), Status::Ok);
        }
      }
      for (Flow& f : flows) {
        f.op = std::make_unique<Operation>(h, Bytes(f.m.begin() + static_cast<long>(f.at), f.m.end()));
        static_cast<void>(f.op->submit(*other, Kind::Finup, f.state.get()));
      }
      h.engine.run();
      for (Flow& f : flows) f.op->expect(expected_digest(name, key, f.m), name + ", " + std::to_string(f.m.size()));
    }
    // What is kept is a request's memory, for the next ones.
    EXPECT_EQ(h.dma().allocated_bytes(), before) << name;
  }
}

// S01, T15: every length of key; long ones at the end of their memory.
TEST_P(HashOn, KeysOfAllLengths) {
  Harness h(on(GetParam()));
  const Bytes m = random_bytes(rng, 100);
  for (const std::string& name : hashes_of(h)) {
    auto t = h.registry.alloc_hash(name);
    Operation unkeyed(h, m);
    if (!name.starts_with("hmac(")) {
      EXPECT_EQ(t->set_key(m), Status::Invalid);
      EXPECT_EQ(run(h, *t, unkeyed), Status::Ok);
      continue;
    }
    EXPECT_EQ(run(h, *t, unkeyed), Status::NoKey);
    auto state = t->make_state();
    EXPECT_EQ(t->init(*state), Status::NoKey);
    const size_t before = h.dma().allocated_bytes();
    std::vector<size_t> sizes = {0, 1, 63, 64, 65, 66, 95, 127, 128, 129, 200, 5000, 70'000};
    for (const size_t n : sizes) {
      const Bytes key = random_bytes(rng, n);
      ASSERT_EQ(t->set_key(key), Status::Ok) << name << ", key of " << n;
      Operation o(h, m);
      finish(h, *t, o);
      o.expect(expected_digest(name, key, m), name + ", key of " + std::to_string(n));
    }
    t.reset();
    state.reset();
    EXPECT_LE(h.dma().allocated_bytes(), before + sizeof(driver::HashMemory)) << name;
  }
}

// Requests in flight and on the backlog keep the key that they were submitted with.
TEST_P(HashOn, KeysChangeWhileRequestsWait) {
  Harness h(on(GetParam()));
  for (const std::string& name : hashes_of(h)) {
    if (!name.starts_with("hmac(")) continue;
    auto t = h.registry.alloc_hash(name);
    std::vector<std::unique_ptr<Operation>> ops;
    std::vector<Bytes> wanted;
    for (int i = 0; i < 60; ++i) {
      // Short keys: a long one is hashed in the engine, and what is in front of it runs meanwhile.
      const Bytes key = random_bytes(rng, i == 30 ? 300 : 1 + rng() % 64), m = random_bytes(rng, rng() % 300);
      ASSERT_EQ(t->set_key(key), Status::Ok);
      wanted.push_back(expected_digest(name, key, m));
      ops.push_back(std::make_unique<Operation>(h, m));
      ASSERT_TRUE(accepted(ops.back()->submit(*t)));
    }
    t.reset();  // and so does a transform that is freed
    h.engine.run();
    for (size_t i = 0; i < ops.size(); ++i) ops[i]->expect(wanted[i], name + " " + std::to_string(i));
  }
}

TEST_P(HashOn, FullRingsBacklogAndRefuse) {
  Harness h(on(GetParam()));
  auto t = h.registry.alloc_hash("sha256");
  std::vector<std::unique_ptr<Operation>> ops;
  std::vector<Bytes> messages;
  unsigned busy = 0;
  for (int i = 0; i < 150; ++i) {
    messages.push_back(random_bytes(rng, i % 40 == 7 ? 140'000 : rng() % 500));
    ops.push_back(std::make_unique<Operation>(h, messages.back()));
    ASSERT_TRUE(accepted(ops.back()->submit(*t)));
    busy += ops.back()->submitted == Status::Busy;
  }
  EXPECT_GT(busy, 50u);
  const size_t before = h.dma().allocated_bytes();
  Operation refused(h, messages[0]);
  refused.request.flags = 0;
  EXPECT_EQ(refused.submit(*t), Status::NoSpace);
  // A state is as it was when its update was refused.
  auto state = t->make_state();
  ASSERT_EQ(t->init(*state), Status::Ok);
  const Bytes m = random_bytes(rng, 300);
  Operation again(h, m), end(h, {});
  again.request.flags = 0;
  EXPECT_EQ(again.submit(*t, Kind::Update, state.get()), Status::NoSpace);
  EXPECT_GE(h.dma().allocated_bytes(), before);
  h.engine.run();
  for (size_t i = 0; i < ops.size(); ++i) ops[i]->expect(expected_digest("sha256", {}, messages[i]), std::to_string(i));
  again.finished = 0;
  EXPECT_EQ(run(h, *t, again, Kind::Update, state.get()), Status::Ok);
  finish(h, *t, end, Kind::Final, state.get());
  end.expect(expected_digest("sha256", {}, m), "after a refusal");
  EXPECT_EQ(h.device->outstanding(), 0u);
}

// T23: whichever descriptor of a long message fails, the request fails once, its digest is not written, the rest of it
// is not sent, and its neighbours are right.
TEST_P(HashOn, OneBadDescriptorFailsOneRequest) {
  for (uint64_t bad = 0; bad < 6; ++bad) {
    FakeEngine::Options options = on(GetParam());
    Harness h(options);
    auto t = h.registry.alloc_hash("sha1");
    h.engine.log_lines.clear();
    const size_t piece = h.device->sec1() ? 32768 : 65472;
    const Bytes small = random_bytes(rng, 200), large = random_bytes(rng, 3 * piece + 5);
    Operation first(h, small), second(h, large), third(h, small);
    h.engine.fate = [&](unsigned, uint64_t n) { return n == bad ? Fate::UnitError : Fate::Run; };
    for (Operation* o : {&first, &second, &third}) ASSERT_TRUE(accepted(o->submit(*t)));
    h.engine.run();
    const bool long_one = bad > 0 && bad < 5;
    for (Operation* o : {&first, &second, &third}) {
      const bool fails = o == &first ? bad == 0 : o == &second ? long_one : bad == 5;
      EXPECT_EQ(o->finished, 1u);
      EXPECT_EQ(o->status, fails ? Status::Invalid : Status::Ok) << bad;
      if (fails)
        EXPECT_TRUE(o->digest_untouched());
      else
        o->expect(expected_digest("sha1", {}, o == &second ? large : small), std::to_string(bad));
    }
    EXPECT_EQ(h.device->stats().descriptor_errors, 1u);
    ASSERT_EQ(h.engine.log_lines.size(), 1u);
    EXPECT_NE(h.engine.log_lines[0].find("MDEU-A interrupt status"), std::string::npos) << h.engine.log_lines[0];
    EXPECT_EQ(h.engine.log_lines[0].find("couldn't locate"), std::string::npos) << h.engine.log_lines[0];
    EXPECT_EQ(h.device->outstanding(), 0u);
  }
}

// A state whose update failed does not go on as if nothing had been; init() makes it new.
TEST_P(HashOn, AFailedStateIsRefusedUntilInit) {
  Harness h(on(GetParam()));
  auto t = h.registry.alloc_hash("md5");
  auto state = t->make_state();
  ASSERT_EQ(t->init(*state), Status::Ok);
  const Bytes m = random_bytes(rng, 1000);
  Operation a(h, m), b(h, m), c(h, {}), d(h, m), e(h, {});
  h.engine.fate = [](unsigned, uint64_t n) { return n == 0 ? Fate::UnitError : Fate::Run; };
  EXPECT_EQ(run(h, *t, a, Kind::Update, state.get()), Status::Invalid);
  EXPECT_EQ(run(h, *t, b, Kind::Update, state.get()), Status::Invalid);
  EXPECT_EQ(run(h, *t, c, Kind::Final, state.get()), Status::Invalid);
  Bytes saved(t->info().state_bytes);
  EXPECT_EQ(t->export_state(*state, saved.data()), Status::Invalid);
  ASSERT_EQ(t->init(*state), Status::Ok);
  EXPECT_EQ(run(h, *t, d, Kind::Update, state.get()), Status::Ok);
  EXPECT_EQ(run(h, *t, e, Kind::Final, state.get()), Status::Ok);
  e.expect(expected_digest("md5", {}, m), "after init");
}

TEST_P(HashOn, BadRequestsAreRefused) {
  Harness h(on(GetParam()));
  for (const std::string& name : hashes_of(h)) {
    const Bytes key = key_for(name, 10);
    auto t = make(h, name, key);
    auto state = t->make_state();
    ASSERT_EQ(t->init(*state), Status::Ok);
    const Bytes m = random_bytes(rng, 500);
    const uint64_t sent = h.engine.executed.size();
    for (const Kind kind : {Kind::Digest, Kind::Update, Kind::Finup})
      for (const size_t claimed : {size_t{501}, ~size_t{0}, ~size_t{0} - 20}) {
        Operation o(h, m);
        o.request.size_bytes = claimed;
        EXPECT_EQ(o.submit(*t, kind, kind == Kind::Digest ? nullptr : state.get()), Status::Invalid) << name;
        EXPECT_TRUE(o.digest_untouched());
      }
    for (const Kind kind : {Kind::Update, Kind::Final, Kind::Finup}) {
      Operation o(h, m);
      EXPECT_EQ(o.submit(*t, kind, nullptr), Status::Invalid);
    }
    Operation nowhere(h, m), no_list(h, m);
    nowhere.request.digest = nullptr;
    EXPECT_EQ(nowhere.submit(*t), Status::Invalid);
    no_list.request.src = nullptr;
    EXPECT_EQ(no_list.submit(*t), Status::Invalid);
    EXPECT_EQ(h.engine.executed.size(), sent);
    // The state has not noticed. It takes one operation at a time.
    Operation update(h, m), second(h, m), end(h, {});
    ASSERT_TRUE(accepted(update.submit(*t, Kind::Update, state.get())));
    EXPECT_EQ(second.submit(*t, Kind::Update, state.get()), Status::Invalid);
    Bytes saved(t->info().state_bytes);
    EXPECT_EQ(t->export_state(*state, saved.data()), Status::Invalid);
    EXPECT_EQ(t->import_state(*state, saved.data()), Status::Invalid);
    EXPECT_EQ(t->init(*state), Status::Invalid);
    h.engine.run();
    EXPECT_EQ(update.status, Status::Ok);
    finish(h, *t, end, Kind::Final, state.get());
    end.expect(expected_digest(name, key, m), name);
  }
}

TEST_P(HashOn, ImportRefusesNonsense) {
  Harness h(on(GetParam()));
  auto t = h.registry.alloc_hash("sha256"), other = h.registry.alloc_hash("sha1");
  auto state = t->make_state();
  ASSERT_EQ(t->init(*state), Status::Ok);
  const Bytes m = random_bytes(rng, 100);
  Operation update(h, m), end(h, {});
  ASSERT_EQ(run(h, *t, update, Kind::Update, state.get()), Status::Ok);
  Bytes good(t->info().state_bytes);
  ASSERT_EQ(t->export_state(*state, good.data()), Status::Ok);
  auto fresh = t->make_state(), foreign = other->make_state();
  EXPECT_EQ(other->import_state(*foreign, good.data()), Status::Invalid);
  const std::pair<size_t, uint8_t> changes[] = {{0, 0},   {0, 1}, {1, 2}, {2, 0}, {2, 65},
                                                {2, 255}, {3, 1}, {7, 1}, {47, 8}};
  for (const auto& [at, value] : changes) {
    Bytes bad = good;
    bad[at] = value;
    EXPECT_EQ(t->import_state(*fresh, bad.data()), Status::Invalid) << at;
  }
  Bytes no_count = good;
  std::fill_n(no_count.begin() + 8 + 0x20, 8, uint8_t{0});
  EXPECT_EQ(t->import_state(*fresh, no_count.data()), Status::Invalid);
  EXPECT_EQ(t->import_state(*fresh, Bytes(good.size()).data()), Status::Invalid);
  EXPECT_EQ(t->import_state(*fresh, Bytes(good.size(), 0xff).data()), Status::Invalid);
  ASSERT_EQ(t->import_state(*fresh, good.data()), Status::Ok);
  finish(h, *t, end, Kind::Final, fresh.get());
  end.expect(expected_digest("sha256", {}, m), "imported");
  // A state that failed is as good as new, too.
  Operation failing(h, m), last(h, {});
  h.engine.fate = [](unsigned, uint64_t) { return Fate::UnitError; };
  ASSERT_EQ(run(h, *t, failing, Kind::Update, fresh.get()), Status::Invalid);
  h.engine.fate = nullptr;
  ASSERT_EQ(t->import_state(*fresh, good.data()), Status::Ok);
  finish(h, *t, last, Kind::Final, fresh.get());
  last.expect(expected_digest("sha256", {}, m), "imported into a state that had failed");
}

// States that are dropped anywhere, and everything else that a device ever took, come back.
TEST_P(HashOn, NothingLeaks) {
  FakeEngine engine(on(GetParam()));
  const size_t at_first = engine.dma().allocated_bytes();
  {
    crypto::Registry registry;
    registry.set_selftest_enabled(false);
    driver::Device device(engine);
    ASSERT_EQ(device.probe(engine.properties()), Status::Ok);
    ASSERT_EQ(device.register_algorithms(registry), Status::Ok);
    for (const auto& a : registry.list()) {
      if (a.type != crypto::AlgorithmType::Hash) continue;
      auto t = registry.alloc_hash(a.driver);
      if (a.name.starts_with("hmac(")) {
        ASSERT_EQ(t->set_key(Bytes(200, 3)), Status::Ok);
      }
      const size_t before = engine.dma().allocated_bytes();
      for (const size_t n : {0, 5, 64, 300, 70'000}) {
        auto state = t->make_state();
        ASSERT_TRUE(state);
        ASSERT_EQ(t->init(*state), Status::Ok);
        Bytes m(n, 1);
        crypto::Segment segment{m.data(), n};
        const crypto::ScatterList list(&segment, 1);
        crypto::HashRequest r{.src = &list, .size_bytes = n, .state = state.get(), .complete = [](void*, Status) {}};
        const Status s = t->update(r);
        EXPECT_TRUE(s == Status::Ok || s == Status::InProgress) << errno_name(s);
        engine.run();
        state.reset();
        if (!device.sec1()) {
          EXPECT_EQ(engine.dma().allocated_bytes(), before) << a.driver << ", " << n;
        }
        EXPECT_EQ(engine.dma().bounce_slots_used(), 0u);
      }
    }
  }
  EXPECT_EQ(engine.dma().allocated_bytes(), at_first);
}

// A completion may submit again and free its transform and state.
TEST_P(HashOn, CompletionsSubmitAndFree) {
  Harness h(on(GetParam()));
  auto t = h.registry.alloc_hash("sha1");
  auto state = t->make_state();
  ASSERT_EQ(t->init(*state), Status::Ok);
  const Bytes m = random_bytes(rng, 500);
  Operation update(h, m), end(h, {}), more(h, m);
  update.then = [&] {
    static_cast<void>(end.submit(*t, Kind::Final, state.get()));
    static_cast<void>(more.submit(*t));
  };
  end.then = [&] { state.reset(); };
  more.then = [&] { t.reset(); };
  ASSERT_TRUE(accepted(update.submit(*t, Kind::Update, state.get())));
  h.engine.run();
  end.expect(expected_digest("sha1", {}, m), "submitted from a completion");
  more.expect(expected_digest("sha1", {}, m), "digest from a completion");
  EXPECT_FALSE(t || state);
}

/// The descriptors that SEC 2+ and SEC 1 are given, phase by phase. [LX]
TEST(HashDescriptors, PhasesHaveTheirBits) {
  Harness h(on("p2020"));
  h.engine.keep_descriptors = true;
  auto t = h.registry.alloc_hash("hmac(sha256)");
  ASSERT_EQ(t->set_key(Bytes(20, 1)), Status::Ok);
  Operation o(h, Bytes(3 * 65472));
  finish(h, *t, o);
  ASSERT_EQ(h.engine.descriptors.size(), 3u);
  const auto header = [&](size_t i) { return load_be32(h.engine.descriptors[i].data()); };
  const auto length = [&](size_t i, unsigned p) { return load_be64(h.engine.descriptors[i].data() + 8 + 8 * p) >> 48; };
  EXPECT_EQ(header(0), 0x39900011u);  // CONT, INIT, HMAC
  EXPECT_EQ(header(1), 0x38100011u);  // CONT
  EXPECT_EQ(header(2), 0x30d00011u);  // HMAC, PD
  const uint64_t lengths[3][7] = {
      {0, 0, 20, 65472, 0, 0x28, 0}, {0, 0x28, 0, 65472, 0, 0x28, 0}, {0, 0x28, 20, 65472, 0, 32, 0}};
  for (size_t i = 0; i < 3; ++i)
    for (unsigned p = 0; p < 7; ++p) EXPECT_EQ(length(i, p), lengths[i][p]) << i << " p" << p;
}

TEST(HashDescriptors, Sec1ChainsAndPadsTheEmptyMessage) {
  Harness h(on("mpc885"));
  h.engine.keep_descriptors = true;
  auto t = h.registry.alloc_hash("sha256");
  Operation o(h, Bytes(3 * 32768)), empty(h, {});
  finish(h, *t, o);
  ASSERT_EQ(h.engine.descriptors.size(), 3u);
  const auto header = [&](size_t i) { return load_be32(h.engine.descriptors[i].data()); };
  EXPECT_EQ(header(0), 0x39100010u);
  EXPECT_EQ(header(1), 0x38100010u);
  EXPECT_EQ(header(2), 0x30500011u);  // only the last one asks for notification
  EXPECT_EQ(h.device->stats().channel[1 % h.device->channels()].submitted, 1u);  // one slot
  finish(h, *t, empty);
  ASSERT_EQ(h.engine.descriptors.size(), 4u);
  EXPECT_EQ(header(3), 0x31100011u);  // no PD
  empty.expect(expected_digest("sha256", {}, {}), "the empty message");
}

// Copies for a chain of four would take 128 KiB: when they are not to be had, fewer are sent at a time; when there is
// nothing at all, the request is refused and leaves the state as it was.
TEST(HashDescriptors, Sec1ChainsWhatMemoryAllows) {
  Harness h(on("mpc885"));
  std::mt19937_64 rng(3);
  const Bytes m = random_bytes(rng, 5 * 32768 + 77);
  auto t = h.registry.alloc_hash("sha1");
  Operation warm(h, Bytes(100'000, 1)), o(h, m, {1000}), none(h, m, {1000}), update(h, m, {1000}), end(h, {});
  finish(h, *t, warm);
  auto state = t->make_state();
  ASSERT_EQ(t->init(*state), Status::Ok);
  std::vector<void*> blocks;
  for (const size_t n : {size_t{65536}, size_t{4096}, size_t{64}})
    while (void* p = h.dma().alloc(n)) blocks.push_back(p);
  EXPECT_EQ(run(h, *t, none), Status::NoMemory);
  EXPECT_TRUE(none.digest_untouched());
  EXPECT_EQ(run(h, *t, update, Kind::Update, state.get()), Status::NoMemory);
  h.dma().free(blocks[0]);
  const uint64_t slots = h.device->stats().channel[1 % h.device->channels()].submitted;
  finish(h, *t, o);
  o.expect(expected_digest("sha1", {}, m), "with memory for two pieces");
  EXPECT_EQ(h.device->stats().channel[1 % h.device->channels()].submitted - slots, 3u);
  blocks.erase(blocks.begin());
  for (void* p : blocks) h.dma().free(p);
  update.finished = 0;
  EXPECT_EQ(run(h, *t, update, Kind::Update, state.get()), Status::Ok);
  finish(h, *t, end, Kind::Final, state.get());
  end.expect(expected_digest("sha1", {}, m), "after a refusal");
}

TEST(HashDescriptors, Sha224WithoutInitialValuesInHardware) {
  Harness h(on("mpc8349"));
  h.engine.keep_descriptors = true;
  auto t = h.registry.alloc_hash("sha224");
  Operation o(h, Bytes(10, 1));
  finish(h, *t, o);
  o.expect(expected_digest("sha224", {}, Bytes(10, 1)), "sha224");
  ASSERT_EQ(h.engine.descriptors.size(), 1u);
  EXPECT_EQ(load_be32(h.engine.descriptors[0].data()), 0x30500011u);  // no INIT, SHA-256
  EXPECT_EQ(load_be64(h.engine.descriptors[0].data() + 16) >> 48, 0x28u);
}

}  // namespace
}  // namespace sec::test
