// secsim disk: disk images through the sector ciphers on driver and engine: raw volumes, LUKS1 containers, and the dd workload.
#include <cstdio>

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "common/diag.h"
#include "host/cli/cli.h"
#include "host/cli/run_report.h"
#include "host/platforms/tlm.h"
#include "host/workloads/disk_run.h"

namespace sec::host::cli {
namespace {

struct Options {
  CommonOptions common;
  std::string cipher, key, in, out, luks, write, passphrase, passphrase_file, driver, submission = "sector", hash = "sha256";
  size_t request_bytes = size_t{1} << 20, bio_bytes = size_t{128} << 10;
  uint64_t iv_offset = 0, skip = 0, dd_mib = 0;
  unsigned sector = 512, key_bytes = 0, queue_depth = 1, crypto_requests = 64;
  uint32_t iterations = 100'000;
  double disk_mb_s = 0;
  bool decrypt = false, large_sectors = false, copy_writes = false, has_passphrase = false;
};

std::vector<uint8_t> passphrase(const Options& o) {
  if (o.has_passphrase == !o.passphrase_file.empty())
    throw SetupError("a LUKS container needs a passphrase: give either --passphrase TEXT or --passphrase-file FILE");
  if (o.has_passphrase) return {o.passphrase.begin(), o.passphrase.end()};
  std::vector<uint8_t> v = read_input(o.passphrase_file, "--passphrase-file");
  if (!v.empty() && v.back() == '\n') v.pop_back();  // as an editor or echo leaves it
  return v;
}

/// The work that the options describe; everything about it that can be checked without a machine is checked.
struct Work {
  DiskRunOptions run;
  DiskCipherSpec cipher;
  size_t key_bytes = 0;
  std::string what;
};

Work plan(const Options& o) {
  Work w;
  DiskRunOptions& r = w.run;
  const bool luks = !o.luks.empty() || !o.write.empty();
  if (int(o.dd_mib != 0) + int(luks) + int(!o.in.empty()) != 1)
    throw SetupError("disk: give one of --in FILE (a raw volume), --luks FILE or --write FILE (LUKS), or --dd MIB");
  if (luks && (!o.key.empty() || o.large_sectors || o.iv_offset || o.skip || o.sector != 512))
    throw SetupError("--luks: the container decides key, sectors and IV numbers; leave out --key, --sector, --iv-offset, --skip and --large-sectors");
  if (!luks && (o.has_passphrase || !o.passphrase_file.empty())) throw SetupError("--passphrase: only LUKS containers have one; a raw volume takes --key");
  if (luks && o.decrypt) throw SetupError("--decrypt: --luks FILE --out RAW decrypts, --write RAW encrypts; leave this option out");
  r.cipher = !o.cipher.empty() ? o.cipher : "aes-cbc-essiv:sha256";
  r.submission = o.submission == "bio" ? DiskSubmission::PerBio : DiskSubmission::PerSector;
  r.request_bytes = o.request_bytes;
  r.bio_bytes = o.bio_bytes;
  r.queue_depth = o.queue_depth;
  r.crypto_requests = o.crypto_requests;
  r.copy_writes = o.copy_writes;
  r.output_path = o.out;
  r.seed = o.common.seed;
  r.key_bytes = o.key_bytes;
  r.geometry = {o.sector, o.iv_offset, o.large_sectors};
  r.first_unit = o.skip;
  if (o.queue_depth < 1 || o.queue_depth > 256) throw SetupError(fmt::format("--queue-depth {}: use 1 to 256", o.queue_depth));
  if (o.crypto_requests < 1 || o.crypto_requests > 65536) throw SetupError(fmt::format("--crypto-requests {}: use 1 to 65536", o.crypto_requests));
  if (r.request_bytes < 512 || r.request_bytes > (size_t{64} << 20))
    throw SetupError(fmt::format("--request-size {}: use 512 to 67108864 bytes", r.request_bytes));
  if (r.bio_bytes < 512 || r.bio_bytes > (size_t{64} << 20)) throw SetupError(fmt::format("--bio-bytes {}: use 512 to 67108864 bytes", r.bio_bytes));
  if (o.disk_mb_s < 0) throw SetupError("--disk-mb-s: a rate cannot be negative; 0 is an endlessly fast disk");
  if (o.disk_mb_s > 0 && o.common.fidelity == "functional") throw SetupError("--disk-mb-s needs simulated time: use --fidelity approx");
  if (o.disk_mb_s > 0 && !o.dd_mib) throw SetupError("--disk-mb-s belongs to the dd workload: use it with --dd");
  r.disk_bytes_per_s = o.disk_mb_s * 1e6;
  check_geometry(r.geometry);
  if (!luks || o.luks.empty()) w.cipher = parse_disk_cipher(r.cipher);
  if (o.dd_mib || luks) {
    w.key_bytes = o.key_bytes;
    if (!w.key_bytes && o.luks.empty()) w.key_bytes = w.cipher.default_key_bytes();
    if (o.luks.empty()) check_disk_key(w.cipher, w.key_bytes, "--key-bytes");
  }
  if (!o.key.empty()) {
    r.key = parse_hex(o.key, "--key");
    w.key_bytes = r.key.size();
    check_disk_key(w.cipher, w.key_bytes);
  }
  if (o.dd_mib) {
    if (o.decrypt) throw SetupError("--decrypt: the dd workload writes and reads; leave this option out");
    if (o.dd_mib > (uint64_t{1} << 20)) throw SetupError(fmt::format("--dd {}: use up to 1048576 MiB", o.dd_mib));
    r.action = DiskAction::Dd;
    r.total_bytes = o.dd_mib << 20;
    w.what = fmt::format("dd of {} MiB", o.dd_mib);
    return w;
  }
  if (o.out.empty()) throw SetupError("--out: an output image is needed");
  if (!luks) {
    if (o.key.empty()) throw SetupError(fmt::format("--key: {} needs a key, in hex", w.cipher.text));
    r.action = o.decrypt ? DiskAction::Decrypt : DiskAction::Encrypt;
    r.input_path = o.in;
    const ImageReader readable(o.in, "--in");
    w.what = o.decrypt ? "decrypt a raw volume" : "encrypt a raw volume";
    return w;
  }
  r.luks = true;
  r.passphrase = passphrase(o);
  r.luks_hash = o.hash;
  r.luks_iterations = o.iterations;
  if (!o.luks.empty()) {
    if (!o.cipher.empty() || o.key_bytes) throw SetupError("--luks: the container names its cipher and key size; leave out --cipher and --key-bytes");
    const ImageReader container(o.luks, "--luks");
    std::vector<uint8_t> head(std::min<uint64_t>(kLuks1HeaderBytes, container.size_bytes()));
    container.read(0, head);
    const Luks1Header h = parse_luks1(head, container.size_bytes(), o.luks);
    w.cipher = h.cipher(fmt::format("\"{}\"", o.luks));
    w.key_bytes = h.key_bytes;
  }
  if (o.write.empty()) {
    r.action = DiskAction::Decrypt;
    r.input_path = o.luks;
    w.what = "decrypt a LUKS1 container";
  } else {
    const ImageReader readable(o.write, "--write");
    r.action = DiskAction::Encrypt;
    r.input_path = o.write;
    r.luks_container = o.luks;
    w.what = o.luks.empty() ? "encrypt into a new LUKS1 container" : "encrypt into a LUKS1 container with the head of another";
  }
  return w;
}

nlohmann::json phase_json(const DiskPhase& p, bool timed) {
  nlohmann::json j{{"name", p.name}, {"requests", p.requests}, {"failed_requests", p.failed_requests}, {"bytes", p.bytes}, {"bios", p.stats.bios},
                   {"failed_bios", p.stats.failed_bios}, {"sectors", p.stats.sectors}, {"submissions", p.stats.submissions},
                   {"backlogged", p.stats.backlogged}, {"refused", p.stats.refused}, {"lost", p.stats.lost},
                   {"most_in_flight", p.stats.most_in_flight}, {"wrong_bytes", p.wrong_bytes}};
  const uint64_t ns = timed ? p.end_ns - p.start_ns : 0;
  j["sim_time_ns"] = timed ? nlohmann::json(ns) : nlohmann::json(nullptr);
  // A software cipher on a processor that is free of charge takes no time, and so has no rate.
  j["throughput_mb_s"] = ns ? nlohmann::json(mb_per_s(p.bytes, ns)) : nlohmann::json(nullptr);
  j["throughput_mbit_s"] = ns ? nlohmann::json(mbit_per_s(p.bytes, ns)) : nlohmann::json(nullptr);
  j["latency"] = latency_json(p.latency_ns);
  return j;
}

void print_table(const nlohmann::json& j) {
  row("work", fmt::format("{}: {}, key of {} bits, sectors of {} bytes, one request per {}", j["work"].get<std::string>(), j["cipher"].get<std::string>(),
                          j["key_bits"].get<unsigned>(), j["sector_bytes"].get<unsigned>(), j["submission"].get<std::string>()));
  row("driver", fmt::format("{} for {}", j["cipher_driver"].get<std::string>(), j["algorithm"].get<std::string>()));
  for (const auto& p : j["phases"]) {
    const std::string name = p["name"].get<std::string>();
    row(name.c_str(), fmt::format("{} bytes in {} requests, {} sectors; {} requests failed, {} bytes wrong; {} backlogged, {} refused and sent again",
                                  p["bytes"].get<uint64_t>(), p["requests"].get<uint64_t>(), p["sectors"].get<uint64_t>(), p["failed_requests"].get<uint64_t>(),
                                  p["wrong_bytes"].get<uint64_t>(), p["backlogged"].get<uint64_t>(), p["refused"].get<uint64_t>()));
    if (p["throughput_mb_s"].is_null()) {
      if (!p["sim_time_ns"].is_null()) row("", "no time has passed: nothing ran on the engine, and the processor is free (--cpu)");
      continue;
    }
    row("", fmt::format("{:.3f} us of simulated time, {:.1f} MB/s ({:.1f} Mbit/s); per request {}", p["sim_time_ns"].get<double>() / 1e3,
                        p["throughput_mb_s"].get<double>(), p["throughput_mbit_s"].get<double>(), latency_text(p["latency"])));
  }
  for (const auto& w : j["warnings"]) row("warning", w.get<std::string>());
  print_machine(j["machine"]);
  print_settings(j["settings"]);
}

int run(Options& o) {
  Work w = plan(o);
  SessionOptions so = o.common.session();
  const bool timed = so.fidelity == Fidelity::Approx;
  so.memory_bytes = std::max<size_t>(so.memory_bytes, (size_t{48} << 20) + 3 * std::max(o.request_bytes, o.bio_bytes) * o.queue_depth);
  std::optional<Progress> progress(std::in_place, w.what);
  w.run.progress = [&](std::string_view phase, uint64_t done, uint64_t total) {
    const double share = static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(total, 1));
    progress->update(w.run.action != DiskAction::Dd ? share : share / 2 + (phase == "read" ? 0.5 : 0));
  };
  DiskRunResult result;
  nlohmann::json machine;
  Session session(so);
  session.run([&](Session& s) {
    DiskEnvironment e;
    e.registry = &s.registry();
    e.cipher_driver = o.driver;
    e.dma = &s.platform().dma();
    e.cpu = &s.platform().cpu();
    e.pump = [&s] { return s.platform().pump(); };
    if (timed) {
      e.now_ns = [&s] { return processor_ns(s); };
      e.idle_until = [&s](uint64_t ns) { s.tlm()->sleep_until_ps(ns * 1000); };
    }
    const auto list = s.registry().list();
    const std::string algorithm = w.cipher.algorithm();
    const auto* cipher = find_implementation(list, o.driver.empty() ? algorithm : o.driver, crypto::AlgorithmType::Skcipher, true);
    auto sized = [](std::string name, size_t key_bytes) { return name.find("des") == std::string::npos ? fmt::format("{}-{}", name, key_bytes * 8) : name; };
    if (cipher && is_software(*cipher))
      e.charge_cipher = [&s, figure = sized(algorithm, w.key_bytes), batch = cipher->module == "ipsecmb"](size_t n) { s.charge_crypto(figure, n, batch); };
    const size_t iv_key_bytes = w.cipher.iv == IvMode::Eboiv ? w.key_bytes : w.cipher.iv_hash == "md5" ? 16 : 32;
    e.charge_iv = [&s, figure = sized("ecb(aes)", iv_key_bytes)](size_t blocks) {
      for (size_t i = 0; i < blocks; ++i) s.charge_crypto(figure, 16);
    };
    const auto before = s.mark();
    result = run_disk(w.run, e);
    machine = machine_json(s, before, s.mark());
  });
  progress.reset();  // clears its line before the report
  OPENSSL_cleanse(w.run.passphrase.data(), w.run.passphrase.size());

  nlohmann::json j{{"status", errno_name(result.status)}, {"work", w.what}, {"cipher", result.cipher}, {"key_bits", result.key_bits},
                   {"sector_bytes", result.sector_bytes}, {"submission", o.submission}, {"algorithm", result.algorithm},
                   {"cipher_driver", result.cipher_driver}, {"warnings", result.warnings}};
  j["phases"] = nlohmann::json::array();
  for (const DiskPhase& p : result.phases) j["phases"].push_back(phase_json(p, timed));
  j["machine"] = std::move(machine);
  j["settings"] = settings_json(o.common);
  if (o.common.json)
    fmt::print("{}\n", j.dump(2));
  else
    print_table(j);
  if (result.status == Status::Ok) return 0;
  fmt::print(stderr, "secsim: {}: {}\n", errno_name(result.status), result.failure);
  return 1;
}

}  // namespace

void add_disk(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("disk", "Disk images through the sector ciphers: raw volumes, LUKS1 containers, the dd workload");
  auto o = std::make_shared<Options>();
  o->common.add(*sub);
  sub->add_option("--cipher", o->cipher, "e.g. aes-cbc-essiv:sha256 (the default), aes-xts-plain64, aes-cbc-benbi");
  sub->add_option("--key", o->key, "volume key in hex; with --dd made from --seed if not given");
  sub->add_option("--key-bytes", o->key_bytes, "key size of --dd and of new containers; default: the cipher's usual one");
  sub->add_option("--in", o->in, "raw volume to encrypt or decrypt");
  sub->add_option("--out", o->out, "image to write");
  sub->add_flag("--decrypt", o->decrypt, "decrypt --in instead of encrypting it");
  sub->add_option("--sector,--sector-size", o->sector, "512, 1024, 2048 or 4096 bytes")->capture_default_str();
  sub->add_option("--iv-offset", o->iv_offset, "added to the IV numbers, in units of 512 bytes")->capture_default_str();
  sub->add_flag("--large-sectors", o->large_sectors, "IV numbers count sectors instead of units of 512 bytes");
  sub->add_option("--skip", o->skip, "place of the image in its volume, in units of 512 bytes")->capture_default_str();
  sub->add_option("--luks,--luks-container", o->luks, "LUKS1 container to read; with --write the one whose head and key to use");
  sub->add_option("--write", o->write, "plain image to encrypt into a LUKS1 container at --out");
  auto* p = sub->add_option("--passphrase", o->passphrase, "of the container");
  sub->add_option("--passphrase-file", o->passphrase_file, "file with the passphrase; one line end at its end does not count");
  sub->add_option("--hash", o->hash, "of a new container's key derivation: sha1, sha256 or sha512")->capture_default_str();
  sub->add_option("--iterations", o->iterations, "of a new container's key derivation")->capture_default_str();
  sub->add_option("--dd", o->dd_mib, "write this many MiB of made-up data, read them back and compare");
  sub->add_option("--request-size", o->request_bytes, "bytes that the application asks for at a time")->capture_default_str();
  sub->add_option("--queue-depth", o->queue_depth, "requests of the application under way at a time")->capture_default_str();
  sub->add_option("--bio-bytes,--bio-size", o->bio_bytes, "pieces that requests are cut into")->capture_default_str();
  sub->add_option("--submission", o->submission, "one cipher request per sector or per bio")->capture_default_str()->check(CLI::IsMember({"sector", "bio"}));
  sub->add_option("--crypto-requests", o->crypto_requests, "sectors under way at a time, with --submission sector")->capture_default_str();
  sub->add_option("--disk-mb-s", o->disk_mb_s, "with --dd: a disk of this many 10^6 bytes per second; 0 is endlessly fast")->capture_default_str();
  sub->add_flag("--copy-writes", o->copy_writes, "copy written data before it is encrypted in place");
  sub->add_option("--cipher-driver", o->driver, "exactly this implementation, e.g. cbc-aes-openssl");
  sub->callback([&c, o, p] {
    o->has_passphrase = p->count() != 0;
    c.run = [o] { return run(*o); };
  });
}

}  // namespace sec::host::cli
