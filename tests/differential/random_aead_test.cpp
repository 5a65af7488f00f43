// Random AEAD requests on driver and engine against plain OpenSSL: every algorithm that a part offers or composes, text and
// AAD of any length, every legal tag length, any lists, in place and apart, many in flight on several transforms, key
// changes in between, and every third decryption with a bit turned.
//
// The seed is printed; SEC_SEED sets it, SEC_REQUESTS the number of requests of each algorithm.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

#include "driver/crypto/authenc_key.h"
#include "tests/differential/evp_aead.h"
#include "tests/differential/world.h"

namespace sec::test {
namespace {

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  size_t below(size_t n) { return n ? engine_() % n : 0; }
  size_t between(size_t a, size_t b) { return a + below(b - a + 1); }
  bool one_in(size_t n) { return below(n) == 0; }
  Bytes bytes(size_t n) {
    Bytes b(n + 8);
    for (size_t i = 0; i < n; i += 8) {
      const uint64_t v = engine_();
      std::memcpy(b.data() + i, &v, 8);
    }
    b.resize(n);
    return b;
  }
  template <class T>
  const T& pick(const std::vector<T>& v) {
    return v[below(v.size())];
  }

 private:
  std::mt19937_64 engine_;
};

/// How the reference computes an algorithm, read from its name.
struct Kind {
  enum { Authenc, Gcm, Rfc4106, Ccm, Rfc4309 } mode = Authenc;
  std::string cipher, digest;  // "cbc(aes)", "SHA1"
  unsigned block = 1, digest_bytes = 16, iv = 16, salt = 0;
  explicit Kind(const std::string& name) {
    if (name == "gcm(aes)") {
      mode = Gcm;
      iv = 12;
    } else if (name == "rfc4106(gcm(aes))") {
      mode = Rfc4106;
      iv = 8;
      salt = 4;
    } else if (name == "ccm(aes)") {
      mode = Ccm;
    } else if (name == "rfc4309(ccm(aes))") {
      mode = Rfc4309;
      iv = 8;
      salt = 3;
    } else {
      const size_t h = name.find("hmac("), comma = name.find("),");
      digest = name.substr(h + 5, comma - h - 5);
      std::transform(digest.begin(), digest.end(), digest.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
      cipher = name.substr(comma + 2, name.size() - comma - 3);
      const bool des = cipher.find("des") != std::string::npos;
      iv = des ? 8 : 16;
      block = cipher.starts_with("ctr") ? 1 : iv;
      digest_bytes = digest == "MD5" ? 16 : digest == "SHA1" ? 20 : static_cast<unsigned>(std::stoul(digest.substr(3))) / 8;
    }
  }
  bool authenc() const { return mode == Authenc; }
  bool gcm() const { return mode == Gcm || mode == Rfc4106; }
  bool esp() const { return mode == Rfc4106 || mode == Rfc4309; }
};

struct Key {
  Bytes auth, cipher, blob;
};

Key make_key(Dice& d, const Kind& k) {
  Key key;
  const bool single = k.cipher.find("(des)") != std::string::npos, triple = k.cipher.find("des3") != std::string::npos;
  key.cipher = d.bytes(single ? 8 : triple ? 24 : 16 + 8 * d.below(3));
  if (!k.authenc()) {
    key.blob = key.cipher;
    const Bytes salt = d.bytes(k.salt);
    key.blob.insert(key.blob.end(), salt.begin(), salt.end());
    key.auth = salt;
    return key;
  }
  const size_t block = k.digest_bytes > 32 ? 128 : 64;
  key.auth = d.bytes(d.one_in(8) ? d.between(block + 1, block + 70) : d.one_in(3) ? d.between(1, block) : k.digest_bytes);
  key.blob = crypto::make_authenc_key(key.auth, key.cipher);
  return key;
}

/// Ciphertext and tag.
Bytes reference(const Kind& k, const Key& key, const Bytes& iv, const Bytes& aad, const Bytes& text, unsigned tag) {
  if (k.authenc()) {
    std::string name;
    Bytes cipher_key = key.cipher;
    const std::string mode = k.cipher.starts_with("ctr") ? "CTR" : "CBC";
    if (k.iv == 16) {
      name = "AES-" + std::to_string(key.cipher.size() * 8) + "-" + mode;
    } else {
      name = "DES-EDE3-CBC";  // single DES is triple DES with one key
      if (cipher_key.size() == 8) {
        cipher_key.insert(cipher_key.end(), key.cipher.begin(), key.cipher.end());
        cipher_key.insert(cipher_key.end(), key.cipher.begin(), key.cipher.end());
      }
    }
    Bytes out = text.empty() ? Bytes{} : evp_cipher(name, cipher_key, iv, text, true);
    Bytes all = aad;
    all.insert(all.end(), out.begin(), out.end());
    const Bytes mac = evp_hmac(k.digest, key.auth, all);
    out.insert(out.end(), mac.begin(), mac.begin() + tag);
    return out;
  }
  Bytes nonce = key.auth;  // the salt
  Bytes authenticated = aad;
  if (k.esp()) authenticated.resize(aad.size() - 8);
  if (k.mode == Kind::Ccm)
    nonce.assign(iv.begin() + 1, iv.begin() + 15 - iv[0]);
  else
    nonce.insert(nonce.end(), iv.begin(), iv.end());
  return evp_combined(k.gcm(), key.cipher, nonce, authenticated, text, tag);
}

struct Trial {
  Bytes in, want, iv, iv_before;
  size_t aad = 0, text = 0;
  unsigned tag = 0;
  bool encrypt = true, apart = true, bad = false, active = false;
  Placement src, dst;
  std::vector<crypto::Segment> second;
  crypto::ScatterList src_list, dst_list;
  crypto::AeadRequest request;
  int finals = 0, starts = 0;
  Status submitted = Status::Ok, status = Status::Ok;
  std::string what;

  static void done(void* context, Status s) {
    auto* t = static_cast<Trial*>(context);
    if (s == Status::InProgress) {
      ++t->starts;
      return;
    }
    ++t->finals;
    t->status = s;
  }
  std::string verify(const Placement& out, uint8_t poison_for_aad) const {
    if (finals != 1 && accepted(submitted)) return what + ": completed " + std::to_string(finals) + " times";
    if (submitted == Status::Busy ? starts != 1 : starts != 0) return what + ": InProgress " + std::to_string(starts) + " times";
    const Status want_status = bad ? Status::BadMessage : Status::Ok;
    if (status != want_status) return what + ": " + std::string(errno_name(status)) + (bad ? " for a bad tag" : "");
    if (iv != iv_before) return what + ": the IV was written";
    ptrdiff_t where;
    if (src.damaged(&where)) return what + ": memory around the source changed";
    if (apart && dst.damaged(&where)) return what + ": memory around the destination changed";
    if (bad) return {};
    const Bytes got = out.read();
    if (!std::equal(want.begin(), want.end(), got.begin() + static_cast<ptrdiff_t>(aad))) return what + ": wrong bytes";
    if (apart) {
      if (std::any_of(got.begin(), got.begin() + static_cast<ptrdiff_t>(aad), [&](uint8_t b) { return b != poison_for_aad; }))
        return what + ": the AAD area of the destination was written";
      if (!src.holds(in)) return what + ": the source was written";
    }
    return {};
  }
};

struct Case {
  const char* part;
  bool approx;
};
class RandomAead : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Parts, RandomAead,
                         ::testing::Values(Case{"p2020", false}, Case{"mpc8572", false}, Case{"mpc8315", false}, Case{"mpc8548", false},
                                           Case{"mpc8349", false}, Case{"mpc8323", false}, Case{"mpc885", false}, Case{"mpc8272", false},
                                           Case{"p2020", true}, Case{"mpc8548", true}, Case{"mpc8349", true}, Case{"mpc885", true}),
                         [](const auto& i) { return std::string(i.param.part) + (i.param.approx ? "_approx" : "_functional"); });

TEST_P(RandomAead, AgainstOpenssl) {
  const bool approx = GetParam().approx;
  const regs::Part* part = regs::find_part(GetParam().part);
  ASSERT_TRUE(part);
  const uint64_t seed = from_environment("SEC_SEED", 20261201 + (approx ? 1 : 0));
  const uint64_t each = from_environment("SEC_REQUESTS", approx ? 150 : 1500);
  const std::string again = " (SEC_SEED=" + std::to_string(seed) + " repeats it)";
  host::SessionOptions o;
  o.part = part;
  o.fidelity = approx ? host::Fidelity::Approx : host::Fidelity::Functional;
  o.memory_bytes = size_t{96} << 20;
  o.cpu_backends = false;
  host::Session session(o);
  session.run([&](host::Session& s) {
    Dice d(seed);
    uint64_t all = 0, all_right = 0;
    std::map<std::string, uint64_t> families;
    constexpr size_t kDepth = 40, kRoom = 140000 + 4096;
    std::vector<std::unique_ptr<Trial>> trials;
    std::vector<uint8_t*> memory;
    for (size_t i = 0; i < kDepth; ++i) {
      trials.push_back(std::make_unique<Trial>());
      memory.push_back(static_cast<uint8_t*>(s.platform().dma().alloc(2 * kRoom, 64)));
      ASSERT_TRUE(memory.back());
    }
    for (const crypto::AlgorithmInfo& info : s.registry().list()) {
      if (info.type != crypto::AlgorithmType::Aead) continue;
      EXPECT_EQ(info.selftest, crypto::SelfTest::Passed) << info.driver << ": " << s.registry().selftest_failure(info.driver);
      const Kind kind(info.name);
      struct Transform {
        std::unique_ptr<crypto::Aead> tfm;
        Key key;
        unsigned tag = 0;
      };
      std::vector<Transform> tfms(4);
      for (Transform& t : tfms) {
        t.tfm = s.registry().alloc_aead(info.driver);
        ASSERT_TRUE(t.tfm) << info.driver;
      }
      std::vector<unsigned> tags;
      for (unsigned n = 0; n <= 70; ++n)
        if (tfms[0].tfm->set_auth_bytes(n) == Status::Ok) tags.push_back(n);
      ASSERT_FALSE(tags.empty());
      EXPECT_EQ(tags.back(), info.max_auth_bytes);
      if (kind.authenc()) {
        EXPECT_EQ(tags.front(), 1u) << info.driver;
      }
      auto set_up = [&](Transform& t) {
        t.key = make_key(d, kind);
        ASSERT_EQ(t.tfm->set_key(t.key.blob), Status::Ok) << info.driver;
      };
      for (Transform& t : tfms) {
        set_up(t);
        t.tag = d.pick(tags);
        ASSERT_EQ(t.tfm->set_auth_bytes(t.tag), Status::Ok);
      }
      // Few algorithms make up the GCM and CCM families: more of each, so that all families see 100 000 over the parts.
      const uint64_t goal = kind.authenc() || approx ? each : 5 * each;
      uint64_t sent = 0, right = 0;
      size_t failures = 0, depth = 1;
      std::vector<size_t> idle, busy;
      for (size_t i = kDepth; i--;) idle.push_back(i);
      auto collect = [&] {
        for (size_t i = 0; i < busy.size();) {
          Trial& t = *trials[busy[i]];
          if (!t.finals) {
            ++i;
            continue;
          }
          const std::string wrong = t.verify(t.apart ? t.dst : t.src, 0xa5);
          if (wrong.empty())
            ++right;
          else if (++failures <= 5)
            ADD_FAILURE() << wrong << again;
          idle.push_back(busy[i]);
          busy[i] = busy.back();
          busy.pop_back();
        }
      };
      auto any_finished = [&] { return std::any_of(busy.begin(), busy.end(), [&](size_t i) { return trials[i]->finals > 0; }); };
      while ((sent < goal && failures < 5) || !busy.empty()) {
        if (d.one_in(50)) depth = d.between(1, kDepth);
        if (d.one_in(60)) {
          Transform& t = tfms[d.below(tfms.size())];
          set_up(t);
        }
        while (sent < goal && failures < 5 && busy.size() < depth) {
          Transform& f = tfms[d.below(tfms.size())];
          if (d.one_in(20)) {
            f.tag = d.pick(tags);
            ASSERT_EQ(f.tfm->set_auth_bytes(f.tag), Status::Ok);
          }
          const size_t slot = idle.back();
          Trial& t = *trials[slot];
          t.encrypt = d.one_in(2);
          t.bad = !t.encrypt && d.one_in(3);
          t.tag = f.tag;
          t.text = d.one_in(200) ? d.between(30000, 130000) : d.one_in(12) ? 0 : d.one_in(3) ? d.below(9001) : d.below(300);
          t.text -= t.text % kind.block;
          t.aad = kind.esp() ? 16 + 4 * d.below(2) : d.one_in(6) ? 0 : d.one_in(30) ? d.between(100, 2000) : d.between(1, 40);
          t.iv = d.bytes(kind.iv);
          if (kind.mode == Kind::Ccm) {
            const unsigned l = d.one_in(2) ? 4 : 3 + static_cast<unsigned>(d.below(6));  // L of 2 cannot count every text
            t.iv[0] = static_cast<uint8_t>(l - 1);
            std::fill(t.iv.begin() + 16 - l, t.iv.end(), 0);
          }
          t.iv_before = t.iv;
          const Bytes aad = d.bytes(t.aad), text = d.bytes(t.text);
          const Bytes sealed = reference(kind, f.key, t.iv, aad, text, t.tag);
          t.in = aad;
          if (t.encrypt) {
            t.in.insert(t.in.end(), text.begin(), text.end());
            t.want = sealed;
          } else {
            t.in.insert(t.in.end(), sealed.begin(), sealed.end());
            t.want = text;
            if (t.bad) {
              size_t at = d.below(t.in.size());
              if (kind.esp() && at >= t.aad - 8 && at < t.aad) at = t.in.size() - 1;  // the IV there is not authenticated
              t.in[at] ^= static_cast<uint8_t>(1u << d.below(8));
            }
          }
          t.apart = d.one_in(2);
          const size_t out_bytes = t.aad + t.want.size();
          auto cuts = [&](size_t bytes) {
            std::vector<size_t> sizes;
            for (size_t left = bytes, n = d.between(1, 8); n > 1 && left > 1; --n) {
              const size_t c = d.one_in(3) ? d.between(1, std::min<size_t>(left - 1, 20)) : d.between(1, left - 1);
              sizes.push_back(c);
              left -= c;
            }
            if (!sizes.empty()) sizes.push_back(bytes);
            return sizes;
          };
          const size_t gap = d.one_in(2) ? 0 : d.between(1, 40);
          const size_t src_bytes = t.apart ? t.in.size() : std::max(t.in.size(), out_bytes);
          t.src.lay(memory[slot], src_bytes, cuts(src_bytes), gap, d.below(64), 0x5c);
          Bytes filled = t.in;
          filled.resize(src_bytes, 0xa5);
          t.src.fill(filled);
          if (t.apart) t.in = filled;
          t.src_list = {t.src.segments().data(), t.src.segments().size()};
          if (t.apart) {
            t.dst.lay(memory[slot] + kRoom, out_bytes, cuts(out_bytes), gap, d.below(64), 0xc3);
            t.dst.fill(Bytes(out_bytes, 0xa5));
            t.dst_list = {t.dst.segments().data(), t.dst.segments().size()};
          } else if (d.one_in(2)) {
            t.src.second_list(cuts(src_bytes), t.second);
            t.dst_list = {t.second.data(), t.second.size()};
          } else {
            t.dst_list = t.src_list;
          }
          const bool same = !t.apart && d.one_in(2);
          t.request = {&t.src_list, same ? &t.src_list : &t.dst_list, t.aad, t.encrypt ? t.text : t.text + t.tag, t.iv.data(),
                       d.one_in(2) ? crypto::kMayBacklog : 0u, Trial::done, &t};
          t.finals = t.starts = 0;
          t.status = Status::Ok;
          t.what = info.driver + " request " + std::to_string(sent) + (t.encrypt ? " encrypt " : " decrypt ") + std::to_string(t.text) + "+" +
                   std::to_string(t.aad) + " bytes, tag " + std::to_string(t.tag) + (t.apart ? ", apart" : same ? ", one list" : ", two lists");
          for (int tries = 0;; ++tries) {
            t.submitted = t.encrypt ? f.tfm->encrypt(t.request) : f.tfm->decrypt(t.request);
            if (t.submitted != Status::NoSpace && t.submitted != Status::NoMemory) break;
            ASSERT_LT(tries, 100) << t.what << ": refused for ever" << again;
            if (!busy.empty()) {
              ASSERT_TRUE(any_finished() || s.platform().wait_for(any_finished)) << t.what << ": nothing ends" << again;
              collect();
            }
            t.request.flags = crypto::kMayBacklog;
          }
          if (!accepted(t.submitted)) {
            t.status = t.submitted;
            t.finals = 1;
          }
          idle.erase(std::find(idle.begin(), idle.end(), slot));
          busy.push_back(slot);
          ++sent;
        }
        if (busy.empty()) continue;
        ASSERT_TRUE(any_finished() || s.platform().wait_for(any_finished)) << info.driver << ": nothing ends" << again;
        collect();
      }
      EXPECT_EQ(right, sent) << info.driver;
      all += sent;
      all_right += right;
      families[kind.authenc() ? "authenc" : kind.gcm() ? "gcm" : "ccm"] += right;
    }
    EXPECT_GT(all, 0u) << "the part offers no AEAD";
    std::string text;
    for (const auto& [name, n] : families) text += " " + name + " " + std::to_string(n);
    std::printf("%s, %s: %llu of %llu AEAD requests right (%s ), seed %llu\n", GetParam().part, approx ? "approx" : "functional",
                static_cast<unsigned long long>(all_right), static_cast<unsigned long long>(all), text.c_str(), static_cast<unsigned long long>(seed));
    EXPECT_TRUE(s.platform().warnings().empty()) << s.platform().warnings().front();
    for (uint8_t* m : memory) s.platform().dma().free(m);
  });
}

}  // namespace
}  // namespace sec::test
