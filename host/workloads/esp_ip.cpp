#include "host/workloads/esp_ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "common/diag.h"
#include "common/endian.h"

namespace sec::host {

IpAddress IpAddress::parse(std::string_view text, std::string_view what) {
  const std::string s(text);
  IpAddress a;
  if (inet_pton(AF_INET, s.c_str(), a.bytes.data()) == 1) return a;
  a.v6 = true;
  if (inet_pton(AF_INET6, s.c_str(), a.bytes.data()) == 1) return a;
  throw SetupError(std::string(what) + " \"" + s + "\" is not an IP address: write it like 192.0.2.1 or 2001:db8::1");
}

std::string IpAddress::to_string() const {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), text, sizeof text);
  return text;
}

uint32_t checksum_add(std::span<const uint8_t> data, uint32_t sum) {
  uint64_t wide = sum;
  size_t i = 0;
  for (; i + 1 < data.size(); i += 2) wide += static_cast<uint32_t>(data[i]) << 8 | data[i + 1];
  if (i < data.size()) wide += static_cast<uint32_t>(data[i]) << 8;
  while (wide >> 32) wide = (wide & 0xffffffff) + (wide >> 32);
  return static_cast<uint32_t>(wide);
}

uint16_t checksum_fold(uint32_t sum) {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

void fix_ipv4_checksum(uint8_t* p, size_t header_bytes) {
  store_be16(p + 10, 0);
  store_be16(p + 10, checksum_fold(checksum_add({p, header_bytes})));
}

std::optional<IpHeader> parse_ip(std::span<const uint8_t> packet) {
  if (packet.empty()) return {};
  IpHeader h;
  const uint8_t* p = packet.data();
  if (p[0] >> 4 == 4) {
    if (packet.size() < 20) return {};
    h.fixed_bytes = size_t{4} * (p[0] & 15);
    h.total_bytes = load_be16(p + 2);
    if (h.fixed_bytes < 20 || h.total_bytes < h.fixed_bytes || h.total_bytes > packet.size()) return {};
    h.insert_bytes = h.fixed_bytes;
    h.next_offset = 9;
    h.fragment = (load_be16(p + 6) & 0x3fff) != 0;  // more fragments, or an offset
    h.checksum_ok = checksum_fold(checksum_add({p, h.fixed_bytes})) == 0;
    std::copy_n(p + 12, 4, h.source.bytes.begin());
    std::copy_n(p + 16, 4, h.destination.bytes.begin());
  } else if (p[0] >> 4 == 6) {
    if (packet.size() < 40) return {};
    h.v6 = h.source.v6 = h.destination.v6 = true;
    h.fixed_bytes = 40;
    h.total_bytes = size_t{40} + load_be16(p + 4);  // a jumbogram (payload length 0) does not pass as one
    if (h.total_bytes > packet.size()) return {};
    std::copy_n(p + 8, 16, h.source.bytes.begin());
    std::copy_n(p + 24, 16, h.destination.bytes.begin());
    h.insert_bytes = 40;
    h.next_offset = 6;
    while (p[h.next_offset] == kProtoHopByHop || p[h.next_offset] == kProtoRouting) {
      const size_t at = h.insert_bytes;
      if (at + 8 > h.total_bytes) return {};
      const size_t size = 8 + size_t{8} * p[at + 1];
      if (at + size > h.total_bytes) return {};
      h.next_offset = at;
      h.insert_bytes = at + size;
    }
    h.fragment = p[h.next_offset] == kProtoFragment;
  } else {
    return {};
  }
  h.protocol = p[h.next_offset];
  return h;
}

size_t write_ip_header(uint8_t* to, const IpAddress& source, const IpAddress& destination, uint8_t protocol,
                       size_t payload_bytes, uint16_t id) {
  if (!source.v6) {
    std::memset(to, 0, 20);
    to[0] = 0x45;
    store_be16(to + 2, static_cast<uint16_t>(20 + payload_bytes));
    store_be16(to + 4, id);
    to[8] = 64;
    to[9] = protocol;
    std::copy_n(source.bytes.begin(), 4, to + 12);
    std::copy_n(destination.bytes.begin(), 4, to + 16);
    fix_ipv4_checksum(to, 20);
    return 20;
  }
  std::memset(to, 0, 40);
  to[0] = 0x60;
  store_be16(to + 4, static_cast<uint16_t>(payload_bytes));
  to[6] = protocol;
  to[7] = 64;
  std::copy_n(source.bytes.begin(), 16, to + 8);
  std::copy_n(destination.bytes.begin(), 16, to + 24);
  return 40;
}

size_t PacketList::largest_bytes() const {
  size_t most = 0;
  for (const Entry& e : entries_) most = std::max<size_t>(most, e.size_bytes);
  return most;
}

}  // namespace sec::host
