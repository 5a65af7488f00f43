// Packet captures in and out, through libpcap. Reads pcap and pcapng with Ethernet (VLAN tags are taken off) or bare
// IP frames and keeps only the IP datagrams; writes bare IP or Ethernet frames.
//
// A capture that would give wrong results is refused with one sentence (SetupError) instead of being read in part:
// a file that ends inside a packet, packets cut by the snapshot length, foreign link types. Output goes to a
// temporary file beside the target and gets its name when it is complete.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "host/workloads/esp_ip.h"

namespace sec::host {

struct PcapRead {
  PacketList packets;
  size_t skipped_frames = 0;  // frames of Ethernet that carry no IP (ARP and the like)
};

PcapRead read_pcap(const std::string& path);

enum class PcapLink : uint8_t { RawIp, Ethernet };

class PcapWriter {
 public:
  /// SetupError when the file cannot be made.
  PcapWriter(std::string path, PcapLink link = PcapLink::RawIp, bool nanoseconds = true);
  ~PcapWriter();  // without close(): the temporary file goes away, an older file stays
  PcapWriter(const PcapWriter&) = delete;
  PcapWriter& operator=(const PcapWriter&) = delete;

  void write(std::span<const uint8_t> packet, uint64_t time_ns);
  /// Gives the file its name; SetupError when it could not be written completely.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sec::host
