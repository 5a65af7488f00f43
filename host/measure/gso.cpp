#include "host/measure/gso.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "common/diag.h"
#include "driver/crypto/authenc_key.h"
#include "host/platforms/tlm.h"

namespace sec::host {
namespace {
using nlohmann::json;

constexpr GsoKnob kKnobs[] = {
    {"stack_ns", &GsoCosts::stack_ns, "solved: esp-null less esp-null deferred, divided by 1 - 1/45"},
    {"wire_ns", &GsoCosts::wire_ns, "solved: clear without offload less stack and copy"},
    {"copy_ns_per_byte", &GsoCosts::copy_ns_per_byte, "solved from the second machine: busy time at MTU 9000 less at MTU 1500"},
    {"xfrm_ns", &GsoCosts::xfrm_ns, "solved: esp-null less clear without offload; the second machine's difference gives 2892"},
    {"gcm_ns_per_byte", &GsoCosts::gcm_ns_per_byte, "solved: aes-gcm-256 less esp-null; processor shares of the same report give 0.72"},
    {"ccm_ns_per_byte", &GsoCosts::ccm_ns_per_byte, "solved: aes-ccm-128 less esp-null; processor shares give 7.6"},
    {"line_bit_s", &GsoCosts::line_bit_s, "10 Gbit/s Ethernet"},
    {"super_packet_bytes", &GsoCosts::super_packet_bytes, "largest segment that TCP builds with offload"},
};

constexpr GsoSuite kSuites[] = {
    {"clear", false, 0, 1, 0, nullptr, "3-4", "8.5-9.5"},
    {"esp-null", true, 0, 4, 0, nullptr, "1.8-2", "3.0-3.2"},
    {"aes-gcm-256", true, 8, 4, 16, &GsoCosts::gcm_ns_per_byte, "1.6", ""},
    {"aes-ccm-128", true, 8, 4, 8, &GsoCosts::ccm_ns_per_byte, "0.7", ""},
};
constexpr unsigned kTcpBytes = 32, kIpBytes = 20;  // with timestamps; IPv4
constexpr unsigned kFrameBytes = 38;               // preamble, header, checksum, gap

double line_ns(const GsoCosts& c, unsigned mtu) { return (mtu + kFrameBytes) * 8e9 / c.line_bit_s; }
/// Encrypted bytes of a full packet: TCP header, payload, padding, two trailer bytes.
unsigned encrypted_bytes(const GsoSuite& s, unsigned mtu) {
  const unsigned room = mtu - kIpBytes - 8 - s.iv_bytes - s.icv_bytes;
  return room / s.align_bytes * s.align_bytes;
}

}  // namespace

std::span<const GsoKnob> gso_knobs() { return kKnobs; }
std::span<const GsoSuite> gso_suites() { return kSuites; }

unsigned gso_payload_bytes(const GsoSuite& s, unsigned mtu) {
  if (!s.esp) return mtu - kIpBytes - kTcpBytes;
  return encrypted_bytes(s, mtu) - kTcpBytes - 2;
}

std::vector<GsoRow> gso_rows(const GsoCosts& c, unsigned mtu) {
  std::vector<GsoRow> rows;
  for (const GsoSuite& s : kSuites)
    for (const bool offload : {false, true}) {
      GsoRow r{.suite = std::string(s.name), .mtu = mtu, .payload = gso_payload_bytes(s, mtu), .offload = offload};
      const double n = offload ? std::max(1.0, std::floor(c.super_packet_bytes / r.payload)) : 1;
      const struct {
        const char* name;
        double ns;
      } stages[] = {{"stack traversal", c.stack_ns / n},
                    {"wire packet", c.wire_ns},
                    {"copy", c.copy_ns_per_byte * r.payload},
                    {"xfrm output", s.esp ? c.xfrm_ns : 0},
                    {"cipher", s.cipher_ns_per_byte ? c.*s.cipher_ns_per_byte * (encrypted_bytes(s, mtu)) : 0}};
      const auto* most = &stages[0];
      for (const auto& stage : stages) {
        r.ns += stage.ns;
        if (stage.ns > most->ns) most = &stage;
      }
      const double line = line_ns(c, mtu);
      r.limit = r.ns < line ? "line" : most->name;
      r.gbit_s = r.payload * 8 / std::max(r.ns, line);
      r.cap_gbit_s = r.payload * 8 / std::max(line, c.copy_ns_per_byte * r.payload + (s.esp ? c.xfrm_ns : 0));
      if (mtu == 1500) r.reported = offload ? s.reported_deferred : s.reported;
      rows.push_back(std::move(r));
    }
  return rows;
}

json run_gso_engine(const GsoCosts& c, const GsoEngineOptions& o) {
  const GsoSuite cbc{.name = "aes128-cbc-sha1", .iv_bytes = 16, .align_bytes = 16, .icv_bytes = 12};
  const GsoSuite gcm{.name = "aes128-gcm", .iv_bytes = 8, .align_bytes = 4, .icv_bytes = 16};
  const GsoSuite& suite = o.gcm ? gcm : cbc;
  const unsigned payload = gso_payload_bytes(suite, o.mtu), text = encrypted_bytes(suite, o.mtu);
  const double n = o.deferred ? std::max(1.0, std::floor(c.super_packet_bytes / payload)) : 1;
  const double host_ns = c.stack_ns / n + c.wire_ns + c.copy_ns_per_byte * payload + c.xfrm_ns;
  // Outbound the IV is a block of the data for CBC; for GCM it is behind the AAD.
  const size_t aad = o.gcm ? 16 : 8, data = o.gcm ? text : text + suite.iv_bytes;

  SessionOptions so = o.session;
  so.fidelity = Fidelity::Approx;
  so.selftest = false;
  json out{{"suite", suite.name}, {"mtu", o.mtu}, {"payload", payload}, {"deferred", o.deferred}};
  Session session(so);
  session.run([&](Session& s) {
    const std::string algorithm = o.gcm ? "rfc4106(gcm(aes))" : "authenc(hmac(sha1),cbc(aes))";
    struct Packet {
      crypto::AeadRequest request;
      crypto::Segment segment;
      crypto::ScatterList list;
      uint64_t submitted_ps = 0;
      struct Sender* sender = nullptr;
    };
    struct Sender {
      Session* session;
      std::vector<Packet*> free;
      std::vector<uint64_t> latency_ns;
      uint64_t done = 0, failed = 0;
    } sender{&s, {}, {}, 0, 0};
    std::vector<std::unique_ptr<crypto::Aead>> sas;
    for (unsigned i = 0; i < o.associations; ++i) {
      auto t = s.registry().alloc_aead(algorithm);
      if (!t) throw SetupError(fmt::format("{} offers no {}: choose another --engine", s.part().name, algorithm));
      const std::vector<uint8_t> key(o.gcm ? 20 : 16, static_cast<uint8_t>(i + 1)), auth(20, static_cast<uint8_t>(i + 7));
      if (t->set_key(o.gcm ? key : crypto::make_authenc_key(auth, key)) != Status::Ok || t->set_auth_bytes(suite.icv_bytes) != Status::Ok)
        throw std::runtime_error("key or tag length refused by " + t->info().driver);
      sas.push_back(std::move(t));
    }
    std::vector<std::unique_ptr<Packet>> packets;
    const size_t bytes = aad + data + suite.icv_bytes;
    for (unsigned i = 0; i < o.in_flight; ++i) {
      auto p = std::make_unique<Packet>();
      auto* memory = static_cast<uint8_t*>(s.platform().dma().alloc(bytes + 16, 64));
      SEC_CHECK(memory, "memory for packets");
      std::memset(memory, 0x5a, bytes + 16);
      p->segment = {memory, bytes};
      p->list = {&p->segment, 1};
      p->sender = &sender;
      p->request = {&p->list, &p->list, aad, data, memory + bytes, crypto::kMayBacklog, nullptr, p.get()};
      p->request.complete = [](void* context, Status status) {
        if (status == Status::InProgress) return;
        auto* q = static_cast<Packet*>(context);
        Sender& to = *q->sender;
        ++to.done;
        to.failed += status != Status::Ok;
        to.latency_ns.push_back((to.session->platform().sim_time_ps() - q->submitted_ps) / 1000);
        to.free.push_back(q);
      };
      sender.free.push_back(p.get());
      packets.push_back(std::move(p));
    }
    const auto before = s.mark();
    for (uint64_t k = 0; k < o.packets; ++k) {
      if (sender.free.empty() && !s.platform().wait_until([](void* f) { return !static_cast<Sender*>(f)->free.empty(); }, &sender))
        throw std::runtime_error("the engine does not answer any more");
      Packet& p = *sender.free.back();
      sender.free.pop_back();
      s.platform().cpu().charge_ps(static_cast<uint64_t>(host_ns * 1000));
      s.tlm()->pass_charged_time();
      p.submitted_ps = s.platform().sim_time_ps();
      if (const Status status = sas[k % sas.size()]->encrypt(p.request); !accepted(status))
        throw std::runtime_error(fmt::format("{}: {} refused a packet", errno_name(status), sas[0]->info().driver));
    }
    struct Goal {
      Sender* sender;
      uint64_t packets;
    } goal{&sender, o.packets};
    if (!s.platform().wait_until([](void* g) { return static_cast<Goal*>(g)->sender->done == static_cast<Goal*>(g)->packets; }, &goal) || sender.failed)
      throw std::runtime_error(fmt::format("{} of {} packets failed or did not complete", o.packets - sender.done + sender.failed, o.packets));
    const auto after = s.mark();
    const double ns = static_cast<double>(after.sim_ps - before.sim_ps) * 1e-3;
    const double each = std::max(ns / static_cast<double>(o.packets), line_ns(c, o.mtu));
    out["sim_ns_per_packet"] = each;
    out["sim_gbit_s"] = payload * 8 / each;
    out["stack_ns_per_packet"] = host_ns;
    out["driver"] = sas[0]->info().driver;
    out["composed"] = sas[0]->info().composed;
    std::sort(sender.latency_ns.begin(), sender.latency_ns.end());
    out["sim_p50_ns"] = sender.latency_ns[sender.latency_ns.size() / 2];
    out["sim_p99_ns"] = sender.latency_ns[sender.latency_ns.size() * 99 / 100];
    add_utilisation(out, s, before, after);
    sas.clear();
    for (auto& p : packets) s.platform().dma().free(p->segment.data);
  });
  return out;
}

}  // namespace sec::host
