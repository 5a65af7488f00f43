// Why one TCP stream through ESP is slow once segmentation offload is lost: the sender's processor, packet by packet,
// as a sum of stages; and the same sender with the engine doing the cipher.
//
//   t = stack / n + wire + copy x payload + xfrm + c x encrypted bytes
//
// n is the number of wire packets for each traversal of the stack: 1 without segmentation offload, 64 KiB / MSS with it.
// "Deferred" is the idea of segmenting after the IPsec decision and before the encryption.
// The rate is that of the slower of sender and line. One sender processor, one stream, nothing else to wait for.
//
// Where the constants come from: a report of two 10 Gbit/s machines on a kernel mailing list, 2017. Five of them were solved
// from five of its rows, the sixth (copy) from its second machine; see kGsoCosts. The rows that went in come out again by
// construction; the row with offload on, and both line-rate rows, are what can be checked. Ranges in the report: +-15 %.
#pragma once
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/measure/point.h"

namespace sec::host {

/// Nanoseconds of the sender's processor; every member is a knob of the same name.
struct GsoCosts {
  double stack_ns = 2615;         // TCP, IP and routing, once per traversal
  double wire_ns = 249;           // driver and header of each wire packet
  double copy_ns_per_byte = 0.308;
  double xfrm_ns = 3084;          // IPsec output work of each packet, without the cipher
  double gcm_ns_per_byte = 0.474;
  double ccm_ns_per_byte = 6.776;
  double line_bit_s = 10e9;
  double super_packet_bytes = 65536;
};
struct GsoKnob {
  std::string_view name;
  double GsoCosts::*member;
  std::string_view source;
};
std::span<const GsoKnob> gso_knobs();

/// ESP in transport mode over IPv4 as one TCP segment sees it, timestamps on.
struct GsoSuite {
  std::string_view name;  // "clear", "esp-null", "aes-gcm-256", ...
  bool esp = true;
  unsigned iv_bytes = 0, align_bytes = 4, icv_bytes = 0;
  double GsoCosts::*cipher_ns_per_byte = nullptr;
  std::string_view reported;  // Gbit/s in the report, for a 1500-byte MTU: {stock, deferred}
  std::string_view reported_deferred;
};
std::span<const GsoSuite> gso_suites();
/// TCP payload of a full-sized packet.
unsigned gso_payload_bytes(const GsoSuite& s, unsigned mtu);

struct GsoRow {
  std::string suite;
  unsigned mtu = 0, payload = 0;
  bool offload = false;  // clear: segmentation offload on; ESP: deferred
  double ns = 0, gbit_s = 0, cap_gbit_s = 0;  // cap: with a stack, a wire stage and a cipher that cost nothing
  std::string limit;     // the largest stage, or "line"
  std::string reported;
};
std::vector<GsoRow> gso_rows(const GsoCosts& c, unsigned mtu);

struct GsoEngineOptions {
  SessionOptions session;
  unsigned mtu = 1500;
  bool deferred = false;
  bool gcm = false;  // else AES-128-CBC with HMAC-SHA1-96
  unsigned associations = 4, in_flight = 64;
  uint64_t packets = 2000;
};
/// The same sender, which hands its packets to the engine's driver, in simulated time: rate, shares of host and engine,
/// latency, bottleneck, as run_esp_point has them. The driver's own costs are those of the session's profile.
nlohmann::json run_gso_engine(const GsoCosts& c, const GsoEngineOptions& o);

}  // namespace sec::host
