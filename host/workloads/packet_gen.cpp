#include "host/workloads/packet_gen.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <random>

#include "common/diag.h"
#include "common/endian.h"

namespace sec::host {
namespace {

constexpr std::array<size_t, 12> kImix = {64, 64, 64, 64, 64, 64, 64, 576, 576, 576, 576, 1500};

void fill_packet(std::vector<uint8_t>& packet, bool v6, size_t index, std::mt19937_64& random) {
  const size_t ip_bytes = v6 ? 40 : 20;
  const size_t udp_bytes = packet.size() - ip_bytes;
  // TEST-NET addresses (RFC 5737, RFC 3849): never those of a real host.
  IpAddress from, to;
  from.v6 = to.v6 = v6;
  if (v6) {
    from.bytes = {0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    to.bytes = {0x20, 0x01, 0x0d, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  } else {
    from.bytes = {198, 51, 100, 1};
    to.bytes = {203, 0, 113, 1};
  }
  uint8_t* p = packet.data();
  write_ip_header(p, from, to, kProtoUdp, udp_bytes, static_cast<uint16_t>(index));
  uint8_t* udp = p + ip_bytes;
  store_be16(udp, static_cast<uint16_t>(49152 + index % 1000));  // ephemeral: lower ones make dissectors guess a protocol
  store_be16(udp + 2, 9);  // discard
  store_be16(udp + 4, static_cast<uint16_t>(udp_bytes));
  store_be16(udp + 6, 0);
  for (size_t i = 8; i < udp_bytes;) {
    uint64_t word = random();
    for (size_t k = 0; k < 8 && i < udp_bytes; ++k, ++i, word >>= 8) udp[i] = static_cast<uint8_t>(word);
  }
  if (udp_bytes > 8) udp[8] &= 0x3f;  // RTP and RTCP begin with binary 10: a guess that dissectors make of random bytes
  uint32_t sum = v6 ? checksum_add({p + 8, 32}) : checksum_add({p + 12, 8});
  sum = checksum_add({udp, udp_bytes}, sum + kProtoUdp + static_cast<uint32_t>(udp_bytes));
  uint16_t checksum = checksum_fold(sum);
  if (checksum == 0) checksum = 0xffff;  // 0 means "none" (RFC 768), which IPv6 forbids
  store_be16(udp + 6, checksum);
}

}  // namespace

PacketList generate_packets(const PacketGenOptions& options) {
  const size_t least = options.v6 ? 48 : 28;
  if (!options.imix) {
    if (options.sizes_bytes.empty()) throw SetupError("the list of packet sizes is empty: give at least one");
    for (size_t size : options.sizes_bytes)
      if (size < least || size > 65535)
        throw SetupError("a packet of " + std::to_string(size) + " bytes is not possible: use " +
                         std::to_string(least) + " to 65535 (IP and UDP headers included)");
  }
  std::mt19937_64 random(options.seed);
  std::array<size_t, 12> dozen = kImix;
  std::vector<uint8_t> packet;
  PacketList list;
  for (size_t i = 0; i < options.packets; ++i) {
    size_t size;
    if (options.imix) {
      if (i % dozen.size() == 0)
        for (size_t k = dozen.size() - 1; k > 0; --k) std::swap(dozen[k], dozen[random() % (k + 1)]);
      size = dozen[i % dozen.size()];
    } else {
      size = options.sizes_bytes[i % options.sizes_bytes.size()];
    }
    packet.assign(size, 0);
    fill_packet(packet, options.v6, i, random);
    list.add(packet, i * options.gap_ns);
  }
  return list;
}

void parse_packet_sizes(std::string_view text, std::string_view what, PacketGenOptions& options) {
  const auto fail = [&] {
    throw SetupError(std::string(what) + " \"" + std::string(text) +
                     "\" is not a list of packet sizes: write bytes like 64,576,1500, or imix");
  };
  if (text == "imix") {
    options.imix = true;
    return;
  }
  options.imix = false;
  options.sizes_bytes.clear();
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, comma - at);
    size_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (part.empty() || error != std::errc() || end != part.data() + part.size()) fail();
    options.sizes_bytes.push_back(value);
    at = comma + 1;
  }
}

}  // namespace sec::host
