// Just enough IP for ESP: addresses, header parsing, checksums, and the packet store that readers, generators
// and tests share. No routing, no fragmentation, no reassembly.
//
// Packets are bare IP datagrams (no link header). `parse_ip` accepts trailing bytes after the datagram, as
// Ethernet padding leaves them, and reports the length the IP header states.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sec::host {

inline constexpr uint8_t kProtoHopByHop = 0, kProtoIpv4 = 4, kProtoUdp = 17, kProtoIpv6 = 41, kProtoRouting = 43,
                         kProtoFragment = 44, kProtoEsp = 50, kProtoNone = 59;

struct IpAddress {
  bool v6 = false;
  std::array<uint8_t, 16> bytes{};  // network order; IPv4 in the first four

  /// "192.0.2.1" or "2001:db8::1". SetupError that names `what` (an option) when it is neither.
  static IpAddress parse(std::string_view text, std::string_view what);
  std::string to_string() const;
  bool operator==(const IpAddress&) const = default;
};

struct IpHeader {
  bool v6 = false;
  size_t total_bytes = 0;   // datagram as the header states it
  size_t fixed_bytes = 0;   // IPv4: header with options; IPv6: 40
  size_t insert_bytes = 0;  // where a transport-mode ESP header goes (see parse_ip)
  size_t next_offset = 0;   // offset of the byte that names the protocol at insert_bytes
  uint8_t protocol = 0;     // the protocol at insert_bytes
  bool fragment = false;
  bool checksum_ok = true;  // IPv4 header checksum
  IpAddress source, destination;
};

/// Nothing when the bytes are not a complete IPv4 or IPv6 datagram. In IPv6 the ESP header goes after
/// hop-by-hop and routing headers, which every router on the way must be able to read; destination options stay
/// inside (RFC 4303 3.1.1 allows that), whatever their position.
std::optional<IpHeader> parse_ip(std::span<const uint8_t> packet);

/// One's complement sum of RFC 1071, not inverted; `sum` chains pieces of even length.
uint32_t checksum_add(std::span<const uint8_t> data, uint32_t sum = 0);
uint16_t checksum_fold(uint32_t sum);  // folded and inverted

/// Writes the IPv4 header checksum of the `header_bytes` at p.
void fix_ipv4_checksum(uint8_t* p, size_t header_bytes);

/// A bare outer header: 20 bytes of IPv4 (`id` as given, TTL 64, DF clear) or 40 bytes of IPv6 (hop limit 64).
size_t write_ip_header(uint8_t* to, const IpAddress& source, const IpAddress& destination, uint8_t protocol,
                       size_t payload_bytes, uint16_t id);

/// Packets in one block of memory, so that a million of them are no million allocations.
class PacketList {
 public:
  struct Entry {
    size_t offset = 0;
    uint32_t size_bytes = 0;
    uint64_t time_ns = 0;
  };
  void add(std::span<const uint8_t> packet, uint64_t time_ns = 0) {
    entries_.push_back({data_.size(), static_cast<uint32_t>(packet.size()), time_ns});
    data_.insert(data_.end(), packet.begin(), packet.end());
  }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  std::span<const uint8_t> operator[](size_t i) const {
    return {data_.data() + entries_[i].offset, entries_[i].size_bytes};
  }
  uint64_t time_ns(size_t i) const { return entries_[i].time_ns; }
  uint64_t total_bytes() const { return data_.size(); }
  size_t largest_bytes() const;
  void reserve(size_t packets, size_t bytes) {
    entries_.reserve(packets);
    data_.reserve(bytes);
  }

 private:
  std::vector<uint8_t> data_;
  std::vector<Entry> entries_;
};

}  // namespace sec::host
