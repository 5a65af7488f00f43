// Running crypto requests in tests: submit, flush, wait for the callback, and the buffer shapes that every
// implementation has to take (in place with one or two lists, out of place, odd borders, single bytes,
// chained lists, empty segments, lists that are longer than the request).
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/crypto/registry.h"
#include "tests/support/rsp_vectors.h"

namespace sec::test {

/// Counts callbacks of one request.
struct Done {
  int started = 0;  // callback(InProgress)
  int finished = 0;
  Status status = Status::InProgress;
  static void callback(void* context, Status s) {
    auto* d = static_cast<Done*>(context);
    if (s == Status::InProgress) {
      ++d->started;
    } else {
      ++d->finished;
      d->status = s;
    }
  }
};

/// Submits and drives to the end. `poll` is called while nothing came (a device's event loop); a request that
/// has not ended after `limit` rounds is reported as TimedOut.
inline Status run(crypto::Skcipher& tfm, bool encrypt, crypto::SkcipherRequest r,
                  const std::function<void()>& poll = {}, int limit = 100000) {
  Done done;
  r.complete = Done::callback;
  r.context = &done;
  const Status s = encrypt ? tfm.encrypt(r) : tfm.decrypt(r);
  if (!accepted(s)) {
    EXPECT_EQ(done.started + done.finished, 0) << "callback although submit returned " << errno_name(s);
    return s;
  }
  for (int i = 0; !done.finished && i < limit; ++i) {
    tfm.flush();
    if (!done.finished && poll) poll();
  }
  EXPECT_LE(done.finished, 1);
  return done.finished ? done.status : Status::TimedOut;
}
inline Status run(crypto::Hash& tfm, crypto::HashRequest r, const std::function<void()>& poll = {},
                  int limit = 100000) {
  Done done;
  r.complete = Done::callback;
  r.context = &done;
  const Status s = tfm.digest(r);
  if (!accepted(s)) return s;
  for (int i = 0; !done.finished && i < limit; ++i) {
    tfm.flush();
    if (!done.finished && poll) poll();
  }
  return done.finished ? done.status : Status::TimedOut;
}

/// As above, for any operation of a hash: &crypto::Hash::update.
inline Status run(crypto::Hash& tfm, Status (crypto::Hash::*operation)(crypto::HashRequest&), crypto::HashRequest r,
                  const std::function<void()>& poll = {}, int limit = 100000) {
  Done done;
  r.complete = Done::callback;
  r.context = &done;
  const Status s = (tfm.*operation)(r);
  if (!accepted(s)) return s;
  for (int i = 0; !done.finished && i < limit; ++i) {
    tfm.flush();
    if (!done.finished && poll) poll();
  }
  EXPECT_LE(done.finished, 1);
  return done.finished ? done.status : Status::TimedOut;
}
inline Status run(crypto::Aead& tfm, bool encrypt, crypto::AeadRequest r, const std::function<void()>& poll = {},
                  int limit = 100000) {
  Done done;
  r.complete = Done::callback;
  r.context = &done;
  const Status s = encrypt ? tfm.encrypt(r) : tfm.decrypt(r);
  if (!accepted(s)) {
    EXPECT_EQ(done.started + done.finished, 0) << "callback although submit returned " << errno_name(s);
    return s;
  }
  for (int i = 0; !done.finished && i < limit; ++i) {
    tfm.flush();
    if (!done.finished && poll) poll();
  }
  EXPECT_LE(done.finished, 1);
  return done.finished ? done.status : Status::TimedOut;
}

/// A list over [p, p+n) cut after the given sizes (repeated until the end); owns its segments.
struct CutList {
  std::vector<crypto::Segment> first, second;
  crypto::ScatterList list, tail;
  CutList(uint8_t* p, size_t n, const std::vector<size_t>& cuts, bool chained = false, bool empties = false) {
    std::vector<crypto::Segment> all;
    size_t i = 0;
    while (n) {
      const size_t k = cuts.empty() ? n : std::min(n, cuts[i++ % cuts.size()]);
      if (empties) all.push_back({p, 0});
      all.push_back({p, k});
      p += k;
      n -= k;
    }
    if (empties) all.push_back({nullptr, 0});
    if (chained && all.size() > 1) {
      first.assign(all.begin(), all.begin() + static_cast<long>(all.size() / 2));
      second.assign(all.begin() + static_cast<long>(all.size() / 2), all.end());
      tail = crypto::ScatterList(second.data(), second.size());
      list = crypto::ScatterList(first.data(), first.size(), &tail);
    } else {
      first = all;
      list = crypto::ScatterList(first.data(), first.size());
    }
  }
  CutList(const CutList&) = delete;
  CutList& operator=(const CutList&) = delete;
};

struct Layout {
  std::string name;
  bool in_place;
  bool same_list;
  size_t offset;  // of the data in its memory
  std::vector<size_t> src_cuts, dst_cuts;
  bool chained = false, empties = false;
  size_t extra = 0;  // bytes of the lists beyond the request
};

inline const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = {
      {"in place", true, true, 0, {}, {}},
      {"in place, two lists", true, false, 0, {}, {}},
      {"out of place", false, false, 0, {}, {}},
      {"offset 1", false, false, 1, {}, {}},
      {"in place, offset 3", true, true, 3, {}, {}},
      {"halves at 16", true, true, 0, {16}, {16}},
      {"one source, two destinations", false, false, 0, {}, {17, 1000000}},
      {"uneven odd", false, false, 1, {19, 33, 48}, {7, 29, 3, 61}},
      {"in place, different borders", true, false, 0, {5, 40}, {11}},
      {"single bytes", true, true, 0, {1}, {1}},
      {"chained", false, false, 0, {16, 24}, {31}, true},
      {"empty segments", false, false, 0, {20}, {9}, false, true},
      {"lists longer than the request", false, false, 0, {}, {}, false, false, 13},
      {"longer and cut", true, true, 0, {13}, {13}, false, false, 29},
  };
  return all;
}

/// Runs one vector through one layout and checks result, output IV (when `iv_out` is not empty), poison around
/// the destination, source and lists unchanged.
inline void check_layout(crypto::Skcipher& tfm, bool encrypt, const Bytes& in, const Bytes& expected, const Bytes& iv,
                         const Bytes& iv_out, const Layout& l, const std::string& what,
                         const std::function<void()>& poll = {}) {
  constexpr size_t kPoison = 32;
  const size_t n = in.size();
  Bytes src_mem(l.offset + n + l.extra + kPoison, 0xa5), dst_mem(l.offset + n + l.extra + kPoison, 0x5a);
  std::copy(in.begin(), in.end(), src_mem.begin() + static_cast<long>(l.offset));
  Bytes& out_mem = l.in_place ? src_mem : dst_mem;
  const uint8_t poison = l.in_place ? 0xa5 : 0x5a;
  CutList src(src_mem.data() + l.offset, n + l.extra, l.src_cuts, l.chained, l.empties);
  CutList dst(out_mem.data() + l.offset, n + l.extra, l.dst_cuts, l.chained, l.empties);
  const Bytes src_before = src_mem;
  const auto segments_before = src.first;
  Bytes iv_mem(1 + iv.size());
  std::copy(iv.begin(), iv.end(), iv_mem.begin() + 1);  // misaligned
  crypto::SkcipherRequest r;
  r.src = &src.list;
  r.dst = l.same_list ? &src.list : &dst.list;
  r.size_bytes = n;
  r.iv = iv.empty() ? nullptr : iv_mem.data() + 1;
  const Status s = run(tfm, encrypt, r, poll);
  ASSERT_EQ(s, Status::Ok) << what << ", " << l.name << ": " << errno_name(s);
  EXPECT_EQ(to_hex(out_mem.data() + l.offset, n), to_hex(expected)) << what << ", " << l.name;
  for (size_t i = 0; i < l.offset; ++i) ASSERT_EQ(out_mem[i], poison) << what << ", " << l.name << ": byte before";
  for (size_t i = l.offset + n; i < out_mem.size(); ++i)
    ASSERT_EQ(out_mem[i], poison) << what << ", " << l.name << ": byte " << i - l.offset - n << " after the end";
  if (!l.in_place) {
    EXPECT_EQ(src_mem, src_before) << what << ", " << l.name << ": source changed";
  }
  for (size_t i = 0; i < segments_before.size(); ++i) {
    EXPECT_EQ(segments_before[i].data, src.first[i].data);
    EXPECT_EQ(segments_before[i].size_bytes, src.first[i].size_bytes);
  }
  if (!iv_out.empty()) {
    EXPECT_EQ(to_hex(iv_mem.data() + 1, iv.size()), to_hex(iv_out)) << what << ", " << l.name << ": output IV";
  }
}

/// Encrypts and decrypts one message in one layout; checks everything that a caller may rely on: the result, that the
/// destination's AAD area and all bytes around the lists stay as they were, that IV and source do.
inline void check_aead(crypto::Aead& tfm, const Bytes& iv, const Bytes& aad, const Bytes& plain, const Bytes& cipher,
                       const Bytes& tag, const Layout& l, const std::string& what,
                       const std::function<void()>& poll = {}) {
  for (const bool encrypt : {true, false}) {
    constexpr size_t kPoison = 32;
    const std::string where = what + ", " + l.name + (encrypt ? ", encrypt" : ", decrypt");
    Bytes in = aad;
    const Bytes& text = encrypt ? plain : cipher;
    in.insert(in.end(), text.begin(), text.end());
    if (!encrypt) in.insert(in.end(), tag.begin(), tag.end());
    const size_t longer = aad.size() + text.size() + tag.size(), from = in.size();
    const size_t to = encrypt ? longer : longer - tag.size();
    Bytes src_mem(l.offset + longer + l.extra + kPoison, 0xa5), dst_mem(src_mem.size(), 0x5a);
    std::copy(in.begin(), in.end(), src_mem.begin() + static_cast<long>(l.offset));
    Bytes& out_mem = l.in_place ? src_mem : dst_mem;
    const Bytes src_before = src_mem;
    Bytes want = out_mem;
    const Bytes& result = encrypt ? cipher : plain;
    auto at = std::copy(result.begin(), result.end(), want.begin() + static_cast<long>(l.offset + aad.size()));
    if (encrypt) std::copy(tag.begin(), tag.end(), at);
    CutList src(src_mem.data() + l.offset, (l.in_place ? longer : from) + l.extra, l.src_cuts, l.chained, l.empties);
    CutList dst(out_mem.data() + l.offset, (l.in_place ? longer : to) + l.extra, l.dst_cuts, l.chained, l.empties);
    Bytes iv_mem(1 + iv.size());
    std::copy(iv.begin(), iv.end(), iv_mem.begin() + 1);  // misaligned
    const Bytes iv_before = iv_mem;
    crypto::AeadRequest r;
    r.src = &src.list;
    r.dst = l.same_list ? &src.list : &dst.list;
    r.aad_bytes = aad.size();
    r.size_bytes = text.size() + (encrypt ? 0 : tag.size());
    r.iv = iv_mem.data() + 1;
    const Status s = run(tfm, encrypt, r, poll);
    ASSERT_EQ(s, Status::Ok) << where << ": " << errno_name(s);
    EXPECT_EQ(to_hex(out_mem), to_hex(want)) << where;
    if (!l.in_place) {
      EXPECT_EQ(src_mem, src_before) << where << ": source changed";
    }
    EXPECT_EQ(iv_mem, iv_before) << where << ": IV changed";
  }
}

}  // namespace sec::test
