// The self-test of AEADs and hashes can fail: implementations that answer from the table of known answers, each with
// one fault, as drivers have had them.
#include <gtest/gtest.h>

#include <deque>

#include "driver/crypto/authenc_key.h"
#include "driver/crypto/registry.h"
#include "driver/crypto/vectors.h"

namespace sec::test {
namespace {

using namespace sec::crypto;
using Bytes = std::vector<uint8_t>;

enum class Fault {
  None,
  // AEAD
  WrongText,
  WrongTag,
  TagNotChecked,
  TagCheckedInPart,
  WritesAad,
  WritesTagOfDecrypt,
  ChangesIv,
  ChangesSource,
  Overrun,
  ChangesRequest,
  AnyTagSize,
  NoShortTags,
  ShortDefaultTag,
  ForgetsTagSize,
  AnyCipherKey,
  AnyBlob,
  NoKeyNeeded,
  ShortMessageTaken,
  PartialBlockTaken,
  NeverCompletes,
  CompletesTwice,
  AlwaysBadMessage,
  // hash
  WrongDigest,
  DigestEarly,
  DigestTooLong,
  ExportLosesBuffer,
  ExportTooLong,
  FinupLosesData,
  WholeBlocksLost,
  EmptyUpdateEnds,
  OneStatePerTransform,
  ChangesMessage,
  NoStates,
};

using Later = std::deque<std::function<void()>>;

// --- AEAD -----------------------------------------------------------------------------------------------------

class TableAead final : public Aead {
 public:
  TableAead(const AlgorithmInfo& info, Fault fault, Later* later)
      : info_(info), shape_(find_shape(info.name)), fault_(fault), later_(later) {
    auth_ = fault == Fault::ShortDefaultTag ? 12 : info.max_auth_bytes;
  }
  const AlgorithmInfo& info() const override { return info_; }
  Status set_key(std::span<const uint8_t> key, uint32_t) override {
    key_.clear();
    AuthencKeys parts{};
    Status s = parse_authenc_key(key, &parts);
    if (fault_ == Fault::AnyBlob && s != Status::Ok) s = Status::Ok, parts.cipher = std::span(kSome);
    if (s != Status::Ok) return s;
    if (fault_ != Fault::AnyCipherKey && !key_bytes_are_legal(*shape_, parts.cipher.size())) return Status::Invalid;
    key_.assign(key.begin(), key.end());
    return Status::Ok;
  }
  Status set_auth_bytes(unsigned n) override {
    if (fault_ == Fault::NoShortTags && n < 8) return Status::Invalid;
    if (fault_ != Fault::AnyTagSize && !auth_bytes_are_legal(*shape_, n)) {
      if (fault_ == Fault::ForgetsTagSize) auth_ = n;
      return Status::Invalid;
    }
    auth_ = n;
    return Status::Ok;
  }
  unsigned auth_bytes() const override { return auth_; }
  Status encrypt(AeadRequest& r) override { return run(r, true); }
  Status decrypt(AeadRequest& r) override { return run(r, false); }

 private:
  Status run(AeadRequest& r, bool encrypt) {
    if (key_.empty()) return fault_ == Fault::NoKeyNeeded ? Status::Ok : Status::NoKey;
    if (!encrypt && r.size_bytes < auth_) return fault_ == Fault::ShortMessageTaken ? Status::Ok : Status::Invalid;
    const size_t text = encrypt ? r.size_bytes : r.size_bytes - auth_;
    if (text % shape_->block_bytes) return fault_ == Fault::PartialBlockTaken ? Status::Ok : Status::Invalid;
    Bytes aad(r.aad_bytes), in(text), tag(encrypt ? 0 : auth_);
    if (!copy_from(r.src, 0, aad.data(), aad.size()) || !copy_from(r.src, aad.size(), in.data(), text) ||
        !copy_from(r.src, aad.size() + text, tag.data(), tag.size()))
      return Status::Invalid;
    for (const AeadVector& v : aead_vectors()) {
      if (v.algorithm != info_.name || key_of(v) != key_ || from_hex(v.aad) != aad) continue;
      if (from_hex(encrypt ? v.plain : v.cipher) != in) continue;
      Bytes right = from_hex(v.tag);
      right.resize(auth_);
      size_t compared = auth_;
      if (fault_ == Fault::TagNotChecked) compared = 0;
      if (fault_ == Fault::TagCheckedInPart && compared > 12) compared = 12;
      if (!encrypt && !std::equal(right.begin(), right.begin() + static_cast<long>(compared), tag.begin()))
        return Status::BadMessage;
      if (!encrypt && fault_ == Fault::AlwaysBadMessage) return Status::BadMessage;
      Bytes out = from_hex(encrypt ? v.cipher : v.plain);
      if (fault_ == Fault::WrongText && !out.empty()) out.back() ^= 1;
      if (fault_ == Fault::WrongTag) right.back() ^= 1;
      if (encrypt) out.insert(out.end(), right.begin(), right.end());
      if (!copy_to(r.dst, aad.size(), out.data(), out.size())) return Status::Invalid;
      const uint8_t junk[64] = {};
      if (fault_ == Fault::WritesAad) (void)copy_to(r.dst, 0, aad.data(), aad.size());
      if (fault_ == Fault::WritesTagOfDecrypt && !encrypt) (void)copy_to(r.dst, aad.size() + text, junk, auth_);
      if (fault_ == Fault::ChangesIv) const_cast<uint8_t*>(r.iv)[0] ^= 1;
      if (fault_ == Fault::ChangesSource && r.src->segments[0].data != r.dst->segments[0].data)
        (void)copy_to(r.src, 0, junk, 1);
      if (fault_ == Fault::Overrun) {
        const Segment& last = r.dst->segments[r.dst->count - 1];
        last.data[last.size_bytes] = 0;
      }
      if (fault_ == Fault::ChangesRequest && !encrypt) r.size_bytes -= auth_;
      if (fault_ == Fault::NeverCompletes) return Status::InProgress;
      if (fault_ == Fault::CompletesTwice) {
        r.complete(r.context, Status::Ok);
        r.complete(r.context, Status::Ok);
        return Status::InProgress;
      }
      if (later_) {
        later_->push_back([c = r.complete, x = r.context] { c(x, Status::Ok); });
        return Status::InProgress;
      }
      return Status::Ok;
    }
    return encrypt ? Status::Invalid : Status::BadMessage;
  }
  static constexpr uint8_t kSome[16] = {};
  const AlgorithmInfo& info_;
  const AlgorithmShape* shape_;
  Fault fault_;
  Later* later_;
  unsigned auth_;
  Bytes key_;
};

AlgorithmInfo authenc(const std::string& driver) {
  return {.name = "authenc(hmac(sha1),cbc(aes))",
          .driver = driver,
          .module = "test",
          .priority = 3000,
          .type = AlgorithmType::Aead,
          .async = true,
          .block_bytes = 16,
          .iv_bytes = 16,
          .max_auth_bytes = 20};
}
Algorithm aead(const AlgorithmInfo& info, Fault fault, Later* later = nullptr) {
  auto kept = std::make_shared<AlgorithmInfo>(info);
  return {.info = info, .make_skcipher = nullptr, .make_hash = nullptr, .make_aead = [kept, fault, later] {
            return std::make_unique<TableAead>(*kept, fault, later);
          }};
}

TEST(AeadSelfTest, CatchesEveryFault) {
  const std::pair<Fault, const char*> faults[] = {{Fault::WrongText, "wrong result"},
                                                  {Fault::WrongTag, "wrong tag"},
                                                  {Fault::TagNotChecked, "a wrong message was accepted"},
                                                  {Fault::TagCheckedInPart, "a wrong message was accepted"},
                                                  {Fault::WritesAad, "the AAD area was written"},
                                                  {Fault::WritesTagOfDecrypt, "the tag area was written"},
                                                  {Fault::ChangesIv, "the IV was changed"},
                                                  {Fault::ChangesSource, "the source was changed"},
                                                  {Fault::Overrun, "outside the segments"},
                                                  {Fault::ChangesRequest, "the request was changed"},
                                                  {Fault::AnyTagSize, "a tag of 0 bytes gave OK"},
                                                  {Fault::NoShortTags, "a tag of 1 bytes gave EINVAL"},
                                                  {Fault::ShortDefaultTag, "the tag is not the longest"},
                                                  {Fault::ForgetsTagSize, "auth_bytes() is not what was set"},
                                                  {Fault::AnyCipherKey, "a cipher key of 0 bytes gave OK"},
                                                  {Fault::AnyBlob, "a key blob of 0 bytes gave OK"},
                                                  {Fault::NoKeyNeeded, "instead of ENOKEY"},
                                                  {Fault::ShortMessageTaken, "a message shorter than its tag"},
                                                  {Fault::PartialBlockTaken, "no whole number of blocks"},
                                                  {Fault::NeverCompletes, "never completed"},
                                                  {Fault::CompletesTwice, "more than once"},
                                                  {Fault::AlwaysBadMessage, "EBADMSG instead of OK"}};
  for (const auto& [fault, text] : faults) {
    Registry r;
    unsigned pumped = 0;
    r.set_pump([&] { return ++pumped < 10; });
    EXPECT_EQ(r.add(aead(authenc("broken"), fault)), Status::BadMessage) << text;
    EXPECT_EQ(r.add(aead(authenc("good"), Fault::None)), Status::Ok) << r.selftest_failure("good");
    EXPECT_NE(r.selftest_failure("broken").find(text), std::string::npos)
        << text << " / " << r.selftest_failure("broken");
    EXPECT_EQ(r.alloc_aead("authenc(hmac(sha1),cbc(aes))")->info().driver, "good");
    EXPECT_EQ(r.alloc_aead("broken"), nullptr);
  }
}

TEST(AeadSelfTest, WaitsForAsynchronousOnes) {
  Registry r;
  Later later;
  r.set_pump([&] {
    if (later.empty()) return false;
    later.front()();
    later.pop_front();
    return true;
  });
  EXPECT_EQ(r.add(aead(authenc("late"), Fault::None, &later)), Status::Ok) << r.selftest_failure("late");
}

TEST(AeadSelfTest, ComparesMetadata) {
  Registry r;
  AlgorithmInfo i = authenc("x");
  i.max_auth_bytes = 16;
  EXPECT_EQ(r.add(aead(i, Fault::None)), Status::BadMessage);
  EXPECT_NE(r.selftest_failure("x").find("longest tag is 16, should be 20"), std::string::npos);
  i = authenc("y");
  i.block_bytes = 1;
  EXPECT_EQ(r.add(aead(i, Fault::None)), Status::BadMessage);
  i = authenc("z");
  i.digest_bytes = 20;  // hashes have that
  EXPECT_EQ(r.add(aead(i, Fault::None)), Status::Invalid);
  i = authenc("z");
  i.max_auth_bytes = 0;
  EXPECT_EQ(r.add(aead(i, Fault::None)), Status::Invalid);
  EXPECT_EQ(r.add({.info = authenc("z"), .make_skcipher = nullptr, .make_hash = nullptr, .make_aead = nullptr}),
            Status::Invalid);
}

TEST(ProcCrypto, AeadAsTheKernelPrintsIt) {
  AlgorithmInfo i = authenc("authenc-hmac-sha1-cbc-aes-talitos");
  i.module = "talitos";
  i.selftest = SelfTest::Passed;
  EXPECT_EQ(format_proc(i),
            "name         : authenc(hmac(sha1),cbc(aes))\n"
            "driver       : authenc-hmac-sha1-cbc-aes-talitos\n"
            "module       : talitos\n"
            "priority     : 3000\n"
            "refcnt       : 1\n"
            "selftest     : passed\n"
            "internal     : no\n"
            "type         : aead\n"
            "async        : yes\n"
            "blocksize    : 16\n"
            "ivsize       : 16\n"
            "maxauthsize  : 20\n"
            "geniv        : <none>\n\n");
}

TEST(ProcCrypto, AhashAsTheKernelPrintsIt) {
  const AlgorithmInfo i{.name = "hmac(sha512)",
                        .driver = "hmac-sha512-talitos",
                        .module = "talitos",
                        .priority = 3000,
                        .type = AlgorithmType::Hash,
                        .async = true,
                        .block_bytes = 128,
                        .digest_bytes = 64,
                        .state_bytes = 344,
                        .selftest = SelfTest::Failed};
  EXPECT_EQ(format_proc(i),
            "name         : hmac(sha512)\n"
            "driver       : hmac-sha512-talitos\n"
            "module       : talitos\n"
            "priority     : 3000\n"
            "refcnt       : 1\n"
            "selftest     : failed\n"
            "internal     : no\n"
            "type         : ahash\n"
            "async        : yes\n"
            "blocksize    : 128\n"
            "digestsize   : 64\n\n");
}

// --- Hash -----------------------------------------------------------------------------------------------------

constexpr size_t kStateBytes = 600;

class TableHash final : public Hash {
 public:
  TableHash(const AlgorithmInfo& info, Fault fault) : info_(info), fault_(fault) {}
  const AlgorithmInfo& info() const override { return info_; }
  Status set_key(std::span<const uint8_t> key) override {
    if (info_.name == "cmac(aes)" && fault_ != Fault::AnyCipherKey &&
        !key_bytes_are_legal(*find_shape(info_.name), key.size()))
      return Status::Invalid;
    if (!keyed()) return Status::Invalid;
    key_.assign(key.begin(), key.end());
    return Status::Ok;
  }
  Status digest(HashRequest& r) override {
    if (!ready()) return Status::NoKey;
    Bytes all;
    return add(r, all) ? answer(all, r) : Status::Invalid;
  }
  std::unique_ptr<HashState> make_state() override {
    return fault_ == Fault::NoStates ? nullptr : std::make_unique<State>();
  }
  Status init(HashState& s) override {
    of(&s).clear();
    return Status::Ok;
  }
  Status update(HashRequest& r) override {
    Bytes& all = of(r.state);
    const size_t before = all.size();
    if (fault_ == Fault::EmptyUpdateEnds && r.size_bytes == 0 && before) all.pop_back();
    if (!add(r, all)) return Status::Invalid;
    if (fault_ == Fault::WholeBlocksLost && r.size_bytes == info_.block_bytes) all.resize(before);
    if (fault_ == Fault::DigestEarly) r.digest[0] = 1;
    return Status::Ok;
  }
  Status final(HashRequest& r) override { return answer(of(r.state), r); }
  Status finup(HashRequest& r) override {
    if (fault_ != Fault::FinupLosesData && !add(r, of(r.state))) return Status::Invalid;
    return answer(of(r.state), r);
  }
  Status export_state(const HashState& s, uint8_t* out) override {
    const Bytes& all = static_cast<const State&>(s).bytes;
    const size_t keep = fault_ == Fault::ExportLosesBuffer ? all.size() - all.size() % info_.block_bytes : all.size();
    std::memset(out, 0, kStateBytes + (fault_ == Fault::ExportTooLong ? 1 : 0));
    std::memcpy(out, &keep, sizeof keep);
    std::memcpy(out + sizeof keep, all.data(), keep);
    return Status::Ok;
  }
  Status import_state(HashState& s, const uint8_t* in) override {
    size_t n = 0;
    std::memcpy(&n, in, sizeof n);
    of(&s).assign(in + sizeof n, in + sizeof n + n);
    return Status::Ok;
  }

 private:
  struct State final : HashState {
    Bytes bytes;
  };
  bool keyed() const { return info_.name.find('(') != std::string::npos; }
  bool ready() const { return !keyed() || !key_.empty() || fault_ == Fault::NoKeyNeeded; }
  Bytes& of(HashState* s) { return fault_ == Fault::OneStatePerTransform ? shared_ : static_cast<State*>(s)->bytes; }
  bool add(const HashRequest& r, Bytes& all) const {
    const size_t before = all.size();
    all.resize(before + r.size_bytes);
    const bool ok = copy_from(r.src, 0, all.data() + before, r.size_bytes);
    if (ok && fault_ == Fault::ChangesMessage && r.size_bytes) r.src->segments[0].data[0] ^= 1;
    return ok;
  }
  Status answer(const Bytes& all, const HashRequest& r) const {
    for (const HashVector& v : hash_vectors()) {
      if (v.algorithm != info_.name || from_hex(v.key) != key_ || from_hex(v.message) != all) continue;
      Bytes d = from_hex(v.digest);
      if (fault_ == Fault::WrongDigest) d.back() ^= 1;
      if (fault_ == Fault::DigestTooLong) d.push_back(0);
      std::copy(d.begin(), d.end(), r.digest);
      return Status::Ok;
    }
    std::memset(r.digest, 0x11, info_.digest_bytes);
    return Status::Ok;
  }
  const AlgorithmInfo& info_;
  Fault fault_;
  Bytes key_, shared_;
};

Algorithm hash(const std::string& name, const std::string& driver, Fault fault) {
  AlgorithmInfo i{.name = name, .driver = driver, .module = "test", .priority = 1, .type = AlgorithmType::Hash};
  i.block_bytes = find_shape(name)->block_bytes;
  i.digest_bytes = find_shape(name)->digest_bytes;
  i.state_bytes = kStateBytes;
  auto kept = std::make_shared<AlgorithmInfo>(i);
  return {.info = i,
          .make_skcipher = nullptr,
          .make_hash = [kept, fault] { return std::make_unique<TableHash>(*kept, fault); },
          .make_aead = nullptr};
}

TEST(HashSelfTest, CatchesEveryFault) {
  const struct {
    const char* name;
    Fault fault;
    const char* text;
  } faults[] = {{"sha256", Fault::WrongDigest, "wrong digest"},
                {"sha256", Fault::DigestEarly, "written before the end"},
                {"sha256", Fault::DigestTooLong, "behind the digest"},
                {"sha256", Fault::ExportLosesBuffer, "export and import"},
                {"sha256", Fault::ExportTooLong, "behind the exported state"},
                {"sha256", Fault::FinupLosesData, "wrong digest"},
                {"sha256", Fault::WholeBlocksLost, "wrong digest"},
                {"sha256", Fault::EmptyUpdateEnds, "wrong digest"},
                {"sha256", Fault::OneStatePerTransform, "wrong digest"},
                {"sha256", Fault::ChangesMessage, "the message was changed"},
                {"sha256", Fault::NoStates, "state_bytes does not say"},
                {"hmac(sha1)", Fault::NoKeyNeeded, "without a key gave OK"},
                {"cmac(aes)", Fault::AnyCipherKey, "a key of 0 bytes gave OK"}};
  for (const auto& f : faults) {
    Registry r;
    EXPECT_EQ(r.add(hash(f.name, "broken", f.fault)), Status::BadMessage) << f.text;
    EXPECT_NE(r.selftest_failure("broken").find(f.text), std::string::npos)
        << f.text << " / " << r.selftest_failure("broken");
    EXPECT_EQ(r.add(hash(f.name, "good", Fault::None)), Status::Ok) << r.selftest_failure("good");
    EXPECT_EQ(r.alloc_hash(f.name)->info().driver, "good");
  }
}

// --- Vectors and keys -----------------------------------------------------------------------------------------

TEST(Vectors, EveryKnownAlgorithmHasSomeAndEveryOneIsWellFormed) {
  for (const AlgorithmShape& s : shapes()) {
    size_t n = 0;
    for (const auto& v : cipher_vectors()) n += v.algorithm == s.name;
    for (const auto& v : hash_vectors()) n += v.algorithm == s.name;
    for (const auto& v : aead_vectors()) n += v.algorithm == s.name;
    EXPECT_GE(n, 1u) << s.name;
  }
  for (const auto& v : cipher_vectors()) {
    const AlgorithmShape* s = find_shape(v.algorithm);
    ASSERT_TRUE(s) << v.algorithm;
    EXPECT_FALSE(v.source.empty());
    EXPECT_TRUE(key_bytes_are_legal(*s, v.key.size() / 2)) << v.algorithm << " " << v.source;
    EXPECT_EQ(v.iv.size() / 2, s->iv_bytes) << v.algorithm;
    EXPECT_EQ(v.plain.size(), v.cipher.size()) << v.algorithm;
    EXPECT_EQ(v.plain.size() / 2 % s->block_bytes, 0u) << v.algorithm;
  }
  for (const auto& v : hash_vectors()) {
    const AlgorithmShape* s = find_shape(v.algorithm);
    ASSERT_TRUE(s) << v.algorithm;
    EXPECT_FALSE(v.source.empty());
    EXPECT_EQ(v.digest.size() / 2, s->digest_bytes) << v.algorithm;
  }
  for (const auto& v : aead_vectors()) {
    const AlgorithmShape* s = find_shape(v.algorithm);
    ASSERT_TRUE(s) << v.algorithm;
    EXPECT_FALSE(v.source.empty());
    EXPECT_EQ(v.iv.size() / 2, s->iv_bytes) << v.algorithm;
    EXPECT_EQ(v.plain.size(), v.cipher.size()) << v.algorithm;
    EXPECT_TRUE(auth_bytes_are_legal(*s, static_cast<unsigned>(v.tag.size() / 2))) << v.algorithm;
    EXPECT_TRUE(key_bytes_are_legal(*s, v.key.size() / 2)) << v.algorithm;
  }
}

// 1.9 of the driver's behaviour: a header of its own, a big-endian length, then both keys.
TEST(AuthencKey, LayoutAndRefusals) {
  const Bytes auth = {1, 2, 3, 4, 5}, cipher(16, 9);
  const Bytes blob = make_authenc_key(auth, cipher);
  ASSERT_EQ(blob.size(), 8u + 5 + 16);
  uint16_t head[2];
  std::memcpy(head, blob.data(), 4);
  EXPECT_EQ(head[0], 8);  // host byte order
  EXPECT_EQ(head[1], 1);
  EXPECT_EQ(Bytes(blob.begin() + 4, blob.begin() + 8), (Bytes{0, 0, 0, 16}));
  AuthencKeys k{};
  ASSERT_EQ(parse_authenc_key(blob, &k), Status::Ok);
  EXPECT_EQ(Bytes(k.auth.begin(), k.auth.end()), auth);
  EXPECT_EQ(Bytes(k.cipher.begin(), k.cipher.end()), cipher);

  for (size_t n = 0; n < 8; ++n) EXPECT_EQ(parse_authenc_key(std::span(blob).first(n), &k), Status::Invalid) << n;
  for (size_t n = 8; n < 24; ++n)  // the cipher key does not fit any more
    EXPECT_EQ(parse_authenc_key(std::span(blob).first(n), &k), Status::Invalid) << n;
  EXPECT_EQ(parse_authenc_key(std::span(blob).first(24), &k), Status::Ok);
  EXPECT_EQ(k.auth.size(), 0u);
  for (const size_t i : {0, 1, 2, 3, 4, 5, 6}) {
    Bytes wrong = blob;
    wrong[i] ^= 0x20;
    EXPECT_EQ(parse_authenc_key(wrong, &k), Status::Invalid) << i;
  }
  // Empty keys are no fault of the blob; a misaligned one is read all the same.
  EXPECT_EQ(parse_authenc_key(make_authenc_key({}, {}), &k), Status::Ok);
  Bytes shifted(1);
  shifted.insert(shifted.end(), blob.begin(), blob.end());
  ASSERT_EQ(parse_authenc_key(std::span(shifted).subspan(1), &k), Status::Ok);
  EXPECT_EQ(k.cipher.size(), 16u);
}

}  // namespace
}  // namespace sec::test
