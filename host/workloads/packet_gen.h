// Makes clear test traffic: UDP in IPv4 or IPv6 with valid checksums, fully determined by the options and the seed.
// Sizes are those of the IP datagram. IMIX is the simple mix 7:4:1 of 64, 576 and 1500 bytes, exact in every
// dozen packets and shuffled inside it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/workloads/esp_ip.h"

namespace sec::host {

struct PacketGenOptions {
  size_t packets = 1000;
  std::vector<size_t> sizes_bytes = {1500};  // taken in turn; ignored when `imix`
  bool imix = false;
  bool v6 = false;
  uint64_t seed = 1;
  uint64_t gap_ns = 1000;  // between timestamps
};

/// SetupError when a size does not fit (28 bytes at least in IPv4, 48 in IPv6, 65535 at most).
PacketList generate_packets(const PacketGenOptions& options);

/// "1500", "64,576,1500" or "imix" into the options; SetupError that names `what` otherwise.
void parse_packet_sizes(std::string_view text, std::string_view what, PacketGenOptions& options);

}  // namespace sec::host
