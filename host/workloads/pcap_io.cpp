#include "host/workloads/pcap_io.h"

#include <pcap/pcap.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "common/diag.h"
#include "common/endian.h"

namespace sec::host {
namespace {

constexpr size_t kEthernetBytes = 14;
constexpr int kSnapshotBytes = 262144;

std::string in_quotes(const std::string& path) { return "\"" + path + "\""; }

/// Offset of the IP datagram in an Ethernet frame, 0 when it carries something else.
size_t ethernet_payload(std::span<const uint8_t> frame) {
  size_t at = 12;
  while (at + 2 <= frame.size()) {
    const uint16_t type = load_be16(frame.data() + at);
    at += 2;
    if (type == 0x0800 || type == 0x86dd) return at;
    if (type != 0x8100 && type != 0x88a8) return 0;
    at += 2;  // the tag itself
  }
  return 0;
}

}  // namespace

PcapRead read_pcap(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw SetupError("the capture " + in_quotes(path) + " does not exist");
  char text[PCAP_ERRBUF_SIZE] = "";
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> pcap(
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, text), pcap_close);
  if (!pcap) throw SetupError("the capture " + in_quotes(path) + " cannot be read as pcap or pcapng: " + text);

  const int link = pcap_datalink(pcap.get());
  const bool ethernet = link == DLT_EN10MB;
  if (!ethernet && link != DLT_RAW && link != DLT_IPV4 && link != DLT_IPV6) {
    const char* name = pcap_datalink_val_to_name(link);
    throw SetupError("the capture " + in_quotes(path) + " has link type " + (name ? name : std::to_string(link)) +
                     ": use one of Ethernet or raw IP");
  }

  PcapRead read;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int got;
  for (size_t number = 1; (got = pcap_next_ex(pcap.get(), &header, &data)) == 1; ++number) {
    if (header->caplen < header->len)
      throw SetupError("packet " + std::to_string(number) + " of " + in_quotes(path) + " was cut to " +
                       std::to_string(header->caplen) + " of " + std::to_string(header->len) +
                       " bytes: capture it again with a larger snapshot length");
    std::span<const uint8_t> packet(data, header->caplen);
    if (ethernet) {
      const size_t at = ethernet_payload(packet);
      if (at == 0) {
        ++read.skipped_frames;
        continue;
      }
      packet = packet.subspan(at);
    }
    // With nanosecond precision libpcap keeps nanoseconds in tv_usec.
    read.packets.add(
        packet, static_cast<uint64_t>(header->ts.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(header->ts.tv_usec));
  }
  if (got == PCAP_ERROR)
    throw SetupError("the capture " + in_quotes(path) + " is damaged after " +
                     std::to_string(read.packets.size() + read.skipped_frames) + " packets (" +
                     pcap_geterr(pcap.get()) + "): capture or copy it again");
  return read;
}

struct PcapWriter::State {
  std::string path, temporary;
  PcapLink link;
  bool nanoseconds;
  pcap_t* pcap = nullptr;
  pcap_dumper_t* dump = nullptr;
  std::vector<uint8_t> frame;
  bool failed = false;
};

PcapWriter::PcapWriter(std::string path, PcapLink link, bool nanoseconds) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.path = std::move(path);
  s.temporary = s.path + "." + std::to_string(getpid()) + ".tmp";
  s.link = link;
  s.nanoseconds = nanoseconds;
  std::FILE* file = std::fopen(s.temporary.c_str(), "wb");
  if (!file) throw SetupError("the capture " + in_quotes(s.path) + " cannot be written: " + std::strerror(errno));
  s.pcap = pcap_open_dead_with_tstamp_precision(link == PcapLink::Ethernet ? DLT_EN10MB : DLT_RAW, kSnapshotBytes,
                                                nanoseconds ? PCAP_TSTAMP_PRECISION_NANO : PCAP_TSTAMP_PRECISION_MICRO);
  if (s.pcap) s.dump = pcap_dump_fopen(s.pcap, file);
  if (!s.dump) {
    if (s.pcap) pcap_close(s.pcap);
    std::fclose(file);
    std::remove(s.temporary.c_str());
    throw SetupError("the capture " + in_quotes(s.path) + " cannot be written: libpcap refuses the file");
  }
}

PcapWriter::~PcapWriter() {
  State& s = *state_;
  if (!s.dump) return;
  pcap_dump_close(s.dump);
  pcap_close(s.pcap);
  std::remove(s.temporary.c_str());
}

void PcapWriter::write(std::span<const uint8_t> packet, uint64_t time_ns) {
  State& s = *state_;
  SEC_CHECK(s.dump, "packet written to a closed capture");
  if (s.link == PcapLink::Ethernet) {
    // Locally administered addresses; the type follows the IP version.
    static constexpr uint8_t kHeader[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    s.frame.assign(kHeader, kHeader + sizeof kHeader);
    s.frame.resize(kEthernetBytes);
    store_be16(s.frame.data() + 12, !packet.empty() && packet[0] >> 4 == 6 ? 0x86dd : 0x0800);
    s.frame.insert(s.frame.end(), packet.begin(), packet.end());
    packet = s.frame;
  }
  pcap_pkthdr header{};
  header.ts.tv_sec = static_cast<time_t>(time_ns / 1'000'000'000);
  header.ts.tv_usec =
      static_cast<suseconds_t>(s.nanoseconds ? time_ns % 1'000'000'000 : time_ns % 1'000'000'000 / 1000);
  header.caplen = header.len = static_cast<bpf_u_int32>(packet.size());
  pcap_dump(reinterpret_cast<u_char*>(s.dump), &header, packet.data());
  s.failed = s.failed || std::ferror(pcap_dump_file(s.dump)) != 0;
}

void PcapWriter::close() {
  State& s = *state_;
  if (!s.dump) return;
  const bool bad = pcap_dump_flush(s.dump) != 0 || s.failed || std::ferror(pcap_dump_file(s.dump)) != 0;
  pcap_dump_close(s.dump);
  pcap_close(s.pcap);
  s.dump = nullptr;
  if (bad || std::rename(s.temporary.c_str(), s.path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(s.temporary.c_str());
    throw SetupError("the capture " + in_quotes(s.path) + " cannot be written: " + why);
  }
}

}  // namespace sec::host
