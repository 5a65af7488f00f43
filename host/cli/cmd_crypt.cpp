// secsim crypt: requests through driver and engine, bytes in, bytes out. One, of a cipher or an AEAD; or many numbered ones, each checked
// against OpenSSL.
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "common/diag.h"
#include "common/units.h"
#include "driver/crypto/authenc_key.h"
#include "host/cli/cli.h"
#include "host/cli/evp_reference.h"
#include "host/cli/requests.h"

namespace sec::host::cli {
namespace {
using Bytes = std::vector<uint8_t>;

struct Options {
  CommonOptions common;
  std::string alg, driver, key, auth_key, iv, aad, segments, dst_segments, sizes, in = "-", out = "-";
  bool decrypt = false, in_place = false;
  int tag_bytes = -1;
  uint64_t many = 0;
  unsigned depth = 1;
};

std::string key_sizes(const crypto::AlgorithmInfo& a) {
  if (a.min_key_bytes == a.max_key_bytes) return std::to_string(a.min_key_bytes);
  return a.max_key_bytes == 64 ? "32, 48 or 64" : a.max_key_bytes == 36 ? "20, 28 or 36" : "16, 24 or 32";
}

struct Outcome {
  Status status = Status::Ok;
  std::string driver, composed;
  Bytes out, iv_out, tag;
  uint64_t sim_ns = 0, wall_ns = 0, descriptors = 0;
  std::vector<std::string> log;
};

/// The transform that the options ask for, keyed: a cipher or an AEAD.
struct Transform {
  std::unique_ptr<crypto::Skcipher> cipher;
  std::unique_ptr<crypto::Aead> aead;
  size_t tag_bytes = 0;
  Bytes key, auth_key;
  const crypto::AlgorithmInfo& info() const { return cipher ? cipher->info() : aead->info(); }
  void flush() { cipher ? cipher->flush() : aead->flush(); }

  Transform(Session& s, const Options& o) : key(parse_hex(o.key, "--key")), auth_key(parse_hex(o.auth_key, "--auth-key")) {
    const std::string& name = o.driver.empty() ? o.alg : o.driver;
    cipher = s.registry().alloc_skcipher(name);
    if (!cipher) aead = s.registry().alloc_aead(name);
    if (!cipher && !aead)
      throw SetupError(fmt::format("{}: no such algorithm on {} (ENOENT); there are {} and the AEADs {}", o.driver.empty() ? "--alg " + o.alg : "--driver " + o.driver, s.part().name,
                                   names_of(s.registry(), crypto::AlgorithmType::Skcipher), names_of(s.registry(), crypto::AlgorithmType::Aead)));
    const crypto::AlgorithmInfo& i = info();
    if (!o.driver.empty() && o.alg != i.name && o.alg != i.driver) throw SetupError(fmt::format("--driver {} implements {}, not {}", o.driver, i.name, o.alg));
    if (cipher) {
      for (const auto& [given, option] : {std::pair{!o.aad.empty(), "--aad"}, {o.tag_bytes >= 0, "--tag-bytes"}, {!o.auth_key.empty(), "--auth-key"}})
        if (given) throw SetupError(fmt::format("{}: {} has no authentication; leave the option out or choose an AEAD", option, i.name));
      if (const Status k = cipher->set_key(key); k != Status::Ok) throw SetupError(fmt::format("--key: {} bytes given, {} takes {} ({})", key.size(), i.name, key_sizes(i), errno_name(k)));
      return;
    }
    const bool pair = i.name.starts_with("authenc(");
    if (pair && o.auth_key.empty()) throw SetupError(fmt::format("--auth-key: {} needs the key of its HMAC as well; give it in hex", i.name));
    if (!pair && !o.auth_key.empty()) throw SetupError(fmt::format("--auth-key: {} has one key; leave the option out", i.name));
    if (const Status k = aead->set_key(pair ? crypto::make_authenc_key(auth_key, key) : key); k != Status::Ok)
      throw SetupError(fmt::format("--key: {} does not take a key of {} bytes ({})", i.name, key.size(), errno_name(k)));
    tag_bytes = o.tag_bytes >= 0 ? static_cast<size_t>(o.tag_bytes) : i.max_auth_bytes;
    if (const Status t = aead->set_auth_bytes(static_cast<unsigned>(tag_bytes)); t != Status::Ok)
      throw SetupError(fmt::format("--tag-bytes {}: {} has no tag of that length, the longest is {} ({})", tag_bytes, i.name, i.max_auth_bytes, errno_name(t)));
  }
};

/// HEX or @file.
Bytes parse_aad(const std::string& text) { return text.starts_with("@") ? read_input(text.substr(1), "--aad") : parse_hex(text, "--aad"); }

void check_iv(const crypto::AlgorithmInfo& i, size_t given) {
  if (given != i.iv_bytes) throw SetupError(fmt::format("--iv: {} bytes given, {} needs {}", given, i.name, i.iv_bytes ? std::to_string(i.iv_bytes) + " bytes" : "none"));
}

/// One request in memory of its own: buffers, lists, IV. Lists of AEADs hold the AAD first.
struct Buffers {
  Layout src;
  std::optional<Layout> dst;
  Bytes iv;
  size_t aad_bytes, in_bytes, out_bytes;


  Buffers(driver::DmaSpace& dma, size_t aad, size_t in, size_t out, bool in_place, const std::vector<size_t>& sizes, const std::vector<size_t>& dst_sizes)
      : src(dma, aad + (in_place ? std::max(in, out) : in), sizes), aad_bytes(aad), in_bytes(in), out_bytes(out) {
    if (!in_place) dst.emplace(dma, aad + out, dst_sizes);
  }
  const crypto::ScatterList* to() const { return dst ? &dst->list : &src.list; }
  void load(const Bytes& aad, const Bytes& data) {
    crypto::copy_to(&src.list, 0, aad.data(), aad.size());
    crypto::copy_to(&src.list, aad.size(), data.data(), data.size());
  }
  Bytes result() const {
    Bytes out(out_bytes);
    crypto::copy_from(to(), aad_bytes, out.data(), out.size());
    return out;
  }
};

Status submit(Transform& t, bool decrypt, Buffers& b, crypto::SkcipherRequest& q, crypto::AeadRequest& a, Wait& w) {
  constexpr uint32_t kFlags = crypto::kMayBacklog | crypto::kMaySleep;
  uint8_t* const iv = b.iv.empty() ? nullptr : b.iv.data();
  if (t.cipher) {
    q = {.src = &b.src.list, .dst = b.to(), .size_bytes = b.in_bytes, .iv = iv, .flags = kFlags, .complete = &Wait::complete, .context = &w};
    return decrypt ? t.cipher->decrypt(q) : t.cipher->encrypt(q);
  }
  a = {.src = &b.src.list, .dst = b.to(), .aad_bytes = b.aad_bytes, .size_bytes = b.in_bytes, .iv = iv, .flags = kFlags, .complete = &Wait::complete, .context = &w};
  return decrypt ? t.aead->decrypt(a) : t.aead->encrypt(a);
}

size_t out_size(const Transform& t, bool decrypt, size_t in) { return decrypt ? in - t.tag_bytes : in + t.tag_bytes; }

Outcome crypt(Options& o, const Bytes& data) {
  const Bytes iv = parse_hex(o.iv, "--iv"), aad = parse_aad(o.aad);
  const auto sizes = o.segments.empty() ? std::vector<size_t>{} : parse_sizes(o.segments, "--segments");
  const auto dst_sizes = o.dst_segments.empty() ? sizes : parse_sizes(o.dst_segments, "--dst-segments");
  Outcome r;
  SessionOptions so = o.common.session();
  so.memory_bytes = std::max<size_t>(so.memory_bytes, data.size() * 3 + aad.size() * 3 + (size_t{32} << 20));
  Session session(so);
  session.run([&](Session& s) {
    Transform t(s, o);
    r.driver = t.info().driver;
    r.composed = t.info().composed;
    check_iv(t.info(), iv.size());
    if (o.decrypt && data.size() < t.tag_bytes) throw SetupError(fmt::format("--in: {} bytes are shorter than the tag of {} at their end", data.size(), t.tag_bytes));
    Buffers b(s.platform().dma(), aad.size(), data.size(), out_size(t, o.decrypt, data.size()), o.in_place, sizes, dst_sizes);
    b.iv = iv;
    b.load(aad, data);
    Wait wait;
    crypto::SkcipherRequest q;
    crypto::AeadRequest a;
    const auto before = s.mark();
    const uint64_t descriptors = s.descriptors();
    const Status st = submit(t, o.decrypt, b, q, a, wait);
    if (accepted(st)) t.flush();
    r.status = finish(s, st, wait);
    const auto after = s.mark();
    r.sim_ns = (after.sim_ps - before.sim_ps) / 1000;
    r.wall_ns = after.wall_ns - before.wall_ns;
    r.descriptors = s.descriptors() - descriptors;
    r.iv_out = t.cipher ? b.iv : Bytes{};
    if (r.status == Status::Ok) {
      r.out = b.result();
      if (!o.decrypt) r.tag.assign(r.out.end() - static_cast<long>(t.tag_bytes), r.out.end());
    }
    r.log = s.platform().warnings();
  });
  return r;
}

// ---- many ----

/// One slot: a request that is made anew for every number, and what OpenSSL says about it.
struct CheckedRequest final : ManyJob {
  Session& s;
  const Options& o;
  Transform& t;
  const std::vector<size_t>&sizes, &segments, &dst_segments;
  const Bytes& aad;
  std::optional<Buffers> b;
  crypto::SkcipherRequest q;
  crypto::AeadRequest a;
  Bytes plain, sealed, iv, iv_out;
  CheckedRequest(Session& session, const Options& options, Transform& transform, const std::vector<size_t>& lengths, const std::vector<size_t>& seg, const std::vector<size_t>& dst, const Bytes& extra)
      : s(session), o(options), t(transform), sizes(lengths), segments(seg), dst_segments(dst), aad(extra) {}

  uint64_t bytes() const override { return plain.size(); }

  Status submit(uint64_t number, Wait& w) override {
    const crypto::AlgorithmInfo& i = t.info();
    plain.resize(sizes[number % sizes.size()]);
    fill_numbered(plain.data(), plain.size(), o.common.seed, number, 1);
    iv.resize(i.iv_bytes);
    fill_numbered(iv.data(), iv.size(), o.common.seed, number, 2);
    if (i.name == "ccm(aes)") iv[0] = 3;  // length field of four bytes
    Bytes with_iv = aad;
    if (i.name.starts_with("rfc4106(") || i.name.starts_with("rfc4309(")) with_iv.insert(with_iv.end(), iv.begin(), iv.end());
    iv_out.clear();
    std::optional<Bytes> want;
    if (t.cipher) {
      if (auto r = evp_encrypt(i.name, t.key, iv, plain)) {
        want = std::move(r->out);
        iv_out = std::move(r->iv_out);
        if (o.decrypt && i.name.starts_with("cbc(") && want->size() >= iv.size()) iv_out.assign(want->end() - static_cast<long>(iv.size()), want->end());
      }
    } else {
      want = evp_seal(i.name, t.key, t.auth_key, iv, with_iv, plain, t.tag_bytes);
    }
    if (!want) throw SetupError(fmt::format("--many: OpenSSL cannot check {} with these sizes; choose another algorithm, or send single requests", i.name));
    sealed = std::move(*want);
    const Bytes& in = o.decrypt ? sealed : plain;
    b.reset();
    b.emplace(s.platform().dma(), with_iv.size(), in.size(), o.decrypt ? plain.size() : sealed.size(), o.in_place, segments, dst_segments);
    b->iv = iv;
    b->load(with_iv, in);
    return cli::submit(t, o.decrypt, *b, q, a, w);
  }
  std::string check(uint64_t, Status) override {
    const Bytes got = b->result();
    const Bytes& want = o.decrypt ? plain : sealed;
    if (got != want) {
      const auto at = static_cast<size_t>(std::mismatch(want.begin(), want.end(), got.begin()).first - want.begin());
      return fmt::format("{} bytes, byte {} is {:02x}, OpenSSL says {:02x}", plain.size(), at, got[at], want[at]);
    }
    if (!iv_out.empty() && b->iv != iv_out) return fmt::format("{} bytes, the output IV is {}, OpenSSL's text says {}", plain.size(), to_hex(b->iv.data(), b->iv.size()), to_hex(iv_out.data(), iv_out.size()));
    return "";
  }
};

int crypt_many(Options& o) {
  for (const auto& [given, option] : {std::pair{!o.iv.empty(), "--iv"}, {o.in != "-", "--in"}, {o.out != "-", "--out"}})
    if (given) throw SetupError(fmt::format("{}: --many makes data and IVs itself, from --seed; leave the option out", option));
  const auto sizes = parse_sizes(o.sizes.empty() ? "1024" : o.sizes, "--sizes");
  for (size_t n : sizes)
    if (n > (size_t{1} << 20)) throw SetupError(fmt::format("--sizes: {} bytes is more than the 1048576 that --many takes", n));
  const auto segments = o.segments.empty() ? std::vector<size_t>{} : parse_sizes(o.segments, "--segments");
  const auto dst_segments = o.dst_segments.empty() ? segments : parse_sizes(o.dst_segments, "--dst-segments");
  const Bytes aad = parse_aad(o.aad);
  SessionOptions so = o.common.session();
  so.memory_bytes = std::max<size_t>(so.memory_bytes, (*std::max_element(sizes.begin(), sizes.end()) * 3 + aad.size() * 3 + 8192) * o.depth + (size_t{32} << 20));
  Session session(so);
  ManyResult r;
  std::string driver;
  session.run([&](Session& s) {
    Transform t(s, o);
    driver = t.info().composed.empty() ? t.info().driver : fmt::format("{} ({})", t.info().driver, t.info().composed);
    if (t.cipher)
      for (size_t n : sizes)
        if (n % t.info().block_bytes) throw SetupError(fmt::format("--sizes: {} is no multiple of the {} bytes of a block of {}", n, t.info().block_bytes, t.info().name));
    std::vector<std::unique_ptr<ManyJob>> slots;
    for (unsigned i = 0; i < o.depth; ++i) slots.push_back(std::make_unique<CheckedRequest>(s, o, t, sizes, segments, dst_segments, aad));
    r = run_many(s, o.many, std::move(slots), [&] { t.flush(); });
  });
  return report_many(r, driver, o.common.fidelity, o.common.json);
}

int run_crypt(Options& o) {
  if (o.in_place && !o.dst_segments.empty()) throw SetupError("--dst-segments: an operation in place has one list; leave out --in-place or this option");
  if (o.many) return crypt_many(o);
  for (const auto& [given, option] : {std::pair{!o.sizes.empty(), "--sizes"}, {o.depth != 1, "--depth"}})
    if (given) throw SetupError(fmt::format("{}: only --many has a use for it", option));
  const Bytes data = read_input(o.in, "--in");
  const Outcome r = crypt(o, data);
  const bool ok = r.status == Status::Ok;
  if (o.common.json) {
    nlohmann::json j{{"status", errno_name(r.status)}, {"driver", r.driver}, {"out", to_hex(r.out.data(), r.out.size())}, {"iv_out", to_hex(r.iv_out.data(), r.iv_out.size())},
                     {"sim_time_ns", r.sim_ns}, {"wall_time_ns", r.wall_ns}, {"descriptors", r.descriptors}};
    if (!r.tag.empty()) j["tag"] = to_hex(r.tag.data(), r.tag.size());
    if (!r.composed.empty()) j["composed"] = r.composed;
    const std::string text = j.dump() + "\n";
    if (ok || o.out == "-") write_output(o.out, "--out", text.data(), text.size());
  } else if (ok) {
    write_output(o.out, "--out", r.out.data(), r.out.size());
  }
  if (!ok) {
    fmt::print(stderr, "secsim: {}: {}\n", errno_name(r.status), r.status == Status::BadMessage ? fmt::format("{} found the tag wrong", r.driver) : r.driver + " refused the request or it failed");
    for (const std::string& l : r.log) fmt::print(stderr, "  {}\n", l);
  }
  return ok ? 0 : 1;
}

}  // namespace

void add_crypt(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("crypt", "Cipher and AEAD requests through driver and engine: bytes in, bytes out, or many that check themselves");
  auto o = std::make_shared<Options>();
  o->common.add(*sub);
  sub->add_option("--alg", o->alg, "algorithm, e.g. cbc(aes) or gcm(aes), or a driver name")->required();
  sub->add_option("--driver", o->driver, "exactly this implementation, e.g. cbc-aes-openssl");
  sub->add_option("--key", o->key, "key in hex; of authenc(...), that of the cipher")->required();
  sub->add_option("--auth-key", o->auth_key, "authenc(...): key of the HMAC in hex");
  sub->add_option("--iv", o->iv, "IV or counter block in hex");
  sub->add_option("--aad", o->aad, "AEAD: additional data, in hex or @FILE");
  sub->add_option("--tag-bytes", o->tag_bytes, "AEAD: length of the tag, which is at the end of the output (of the input when decrypting); default: the longest")->check(CLI::Range(0, 64));
  sub->add_flag("--decrypt", o->decrypt, "decrypt instead of encrypt");
  sub->add_option("--segments", o->segments, "source segment sizes, used in turn until all bytes are placed");
  sub->add_option("--dst-segments", o->dst_segments, "destination segment sizes; default: as the source");
  sub->add_flag("--in-place", o->in_place, "source and destination are one list");
  sub->add_option("--in", o->in, "input file, - for standard input")->capture_default_str();
  sub->add_option("--out", o->out, "output file, - for standard output")->capture_default_str();
  sub->add_option("--many", o->many, "this many numbered requests instead, each with data and an IV of its own, every output and output IV checked against OpenSSL")->check(CLI::Range(1, 10'000'000));
  sub->add_option("--depth", o->depth, "--many: requests in flight")->capture_default_str()->check(CLI::Range(1, 4096));
  sub->add_option("--sizes", o->sizes, "--many: sizes in bytes, used in turn; default 1024");
  sub->callback([&c, o] { c.run = [o] { return run_crypt(*o); }; });
}

}  // namespace sec::host::cli
