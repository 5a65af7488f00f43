// secsim crypt: one request through driver and engine, bytes in, bytes out.
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "common/diag.h"
#include "common/units.h"
#include "host/cli/cli.h"

namespace sec::host::cli {
namespace {

struct Options {
  CommonOptions common;
  std::string alg, driver, key, iv, segments, dst_segments, in = "-", out = "-";
  bool decrypt = false, in_place = false;
};

/// Lays `bytes` out in the DMA space as segments of the given sizes in turn, with a gap between them.
struct Layout {
  std::vector<crypto::Segment> segments;
  crypto::ScatterList list;
  uint8_t* block = nullptr;
  Layout(driver::DmaSpace& dma, size_t bytes, const std::vector<size_t>& sizes) {
    constexpr size_t kGap = 3;  // so that segments are neither adjacent nor aligned
    std::vector<size_t> cut;
    for (size_t left = bytes, i = 0; left;) {
      size_t n = sizes.empty() ? left : std::min(left, sizes[i++ % sizes.size()]);
      cut.push_back(n);
      left -= n;
    }
    block = static_cast<uint8_t*>(dma.alloc(bytes + kGap * (cut.size() + 1) + 64, 64));
    if (!block) throw SetupError(fmt::format("--in: {} bytes do not fit into the simulated memory", bytes));
    uint8_t* p = block;
    for (size_t n : cut) {
      segments.push_back({p, n});
      p += n + (cut.size() > 1 ? kGap : 0);
    }
    list = {segments.data(), segments.size()};
  }
};

std::string key_sizes(const crypto::AlgorithmInfo& a) {
  if (a.min_key_bytes == a.max_key_bytes) return std::to_string(a.min_key_bytes);
  return a.max_key_bytes == 64 ? "32, 48 or 64" : a.max_key_bytes == 36 ? "20, 28 or 36" : "16, 24 or 32";
}

struct Outcome {
  Status status = Status::Ok;
  std::string driver;
  std::vector<uint8_t> out, iv_out;
  uint64_t sim_ns = 0, wall_ns = 0, descriptors = 0;
  std::vector<std::string> log;
};

Outcome crypt(Options& o, std::vector<uint8_t> data) {
  const auto key = parse_hex(o.key, "--key");
  auto iv = parse_hex(o.iv, "--iv");
  const auto sizes = o.segments.empty() ? std::vector<size_t>{} : parse_sizes(o.segments, "--segments");
  const auto dst_sizes = o.dst_segments.empty() ? sizes : parse_sizes(o.dst_segments, "--dst-segments");
  if (o.in_place && !o.dst_segments.empty()) throw SetupError("--dst-segments: an operation in place has one list; leave out --in-place or this option");
  Outcome r;
  SessionOptions so = o.common.session();
  so.memory_bytes = std::max<size_t>(so.memory_bytes, data.size() * 3 + (size_t{32} << 20));
  Session session(so);
  session.run([&](Session& s) {
    Status found = Status::Ok;
    auto tfm = s.registry().alloc_skcipher(o.driver.empty() ? o.alg : o.driver, &found);
    if (!tfm) {
      std::string names;
      for (const auto& a : s.registry().list())
        if (a.type == crypto::AlgorithmType::Skcipher && names.find(a.name) == std::string::npos) names += (names.empty() ? "" : ", ") + a.name;
      throw SetupError(fmt::format("{}: no such algorithm on {} (ENOENT); there are {}", o.driver.empty() ? "--alg " + o.alg : "--driver " + o.driver, s.part().name, names));
    }
    const crypto::AlgorithmInfo& info = tfm->info();
    if (!o.driver.empty() && o.alg != info.name && o.alg != info.driver)
      throw SetupError(fmt::format("--driver {} implements {}, not {}", o.driver, info.name, o.alg));
    r.driver = info.driver;
    if (iv.size() != info.iv_bytes)
      throw SetupError(fmt::format("--iv: {} bytes given, {} needs {}", iv.size(), info.name, info.iv_bytes ? std::to_string(info.iv_bytes) + " bytes" : "none"));
    if (const Status k = tfm->set_key(key); k != Status::Ok)
      throw SetupError(fmt::format("--key: {} bytes given, {} takes {} ({})", key.size(), info.name, key_sizes(info), errno_name(k)));
    driver::DmaSpace& dma = s.platform().dma();
    Layout src(dma, data.size(), sizes);
    std::optional<Layout> dst;
    if (!o.in_place) dst.emplace(dma, data.size(), dst_sizes);
    Layout& to = dst ? *dst : src;
    crypto::copy_to(&src.list, 0, data.data(), data.size());
    r.iv_out = iv;
    struct Wait {
      bool done = false;
      Status status = Status::Ok;
    } wait;
    crypto::SkcipherRequest q;
    q.src = &src.list;
    q.dst = &to.list;
    q.size_bytes = data.size();
    q.iv = r.iv_out.empty() ? nullptr : r.iv_out.data();
    q.flags = crypto::kMayBacklog | crypto::kMaySleep;
    q.complete = [](void* c, Status st) {
      if (st == Status::InProgress) return;
      static_cast<Wait*>(c)->status = st;
      static_cast<Wait*>(c)->done = true;
    };
    q.context = &wait;
    const auto before = s.mark();
    const uint64_t descriptors = s.descriptors();
    const Status st = o.decrypt ? tfm->decrypt(q) : tfm->encrypt(q);
    if (accepted(st)) {
      tfm->flush();
      if (!s.platform().wait_until([](void* c) { return static_cast<Wait*>(c)->done; }, &wait)) wait.status = Status::TimedOut;
    } else {
      wait.status = st;
    }
    const auto after = s.mark();
    r.status = wait.status;
    r.sim_ns = (after.sim_ps - before.sim_ps) / 1000;
    r.wall_ns = after.wall_ns - before.wall_ns;
    r.descriptors = s.descriptors() - descriptors;
    if (r.status == Status::Ok) {
      r.out.resize(data.size());
      crypto::copy_from(&to.list, 0, r.out.data(), r.out.size());
    }
    r.log = s.platform().warnings();
  });
  return r;
}

}  // namespace

void add_crypt(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("crypt", "One cipher request through driver and engine: bytes in, bytes out");
  auto o = std::make_shared<Options>();
  o->common.add(*sub);
  sub->add_option("--alg", o->alg, "algorithm, e.g. cbc(aes), or a driver name")->required();
  sub->add_option("--driver", o->driver, "exactly this implementation, e.g. cbc-aes-openssl");
  sub->add_option("--key", o->key, "key in hex")->required();
  sub->add_option("--iv", o->iv, "IV or counter block in hex");
  sub->add_flag("--decrypt", o->decrypt, "decrypt instead of encrypt");
  sub->add_option("--segments", o->segments, "source segment sizes, used in turn until all bytes are placed");
  sub->add_option("--dst-segments", o->dst_segments, "destination segment sizes; default: as the source");
  sub->add_flag("--in-place", o->in_place, "source and destination are one list");
  sub->add_option("--in", o->in, "input file, - for standard input")->capture_default_str();
  sub->add_option("--out", o->out, "output file, - for standard output")->capture_default_str();
  sub->callback([&c, o] {
    c.run = [o] {
      auto data = read_input(o->in, "--in");
      const Outcome r = crypt(*o, std::move(data));
      const bool ok = r.status == Status::Ok;
      if (o->common.json) {
        nlohmann::json j{{"status", errno_name(r.status)}, {"driver", r.driver}, {"out", to_hex(r.out.data(), r.out.size())},
                         {"iv_out", to_hex(r.iv_out.data(), r.iv_out.size())}, {"sim_time_ns", r.sim_ns}, {"wall_time_ns", r.wall_ns},
                         {"descriptors", r.descriptors}};
        const std::string text = j.dump() + "\n";
        write_output(o->out, "--out", text.data(), text.size());
      } else if (ok) {
        write_output(o->out, "--out", r.out.data(), r.out.size());
      }
      if (!ok) {
        fmt::print(stderr, "secsim: {}: {} refused the request or it failed\n", errno_name(r.status), r.driver);
        for (const std::string& l : r.log) fmt::print(stderr, "  {}\n", l);
      }
      return ok ? 0 : 1;
    };
  });
}

}  // namespace sec::host::cli
