// Captures: what is read, what is refused, and that nothing half-written gets the target's name.
#include "host/workloads/pcap_io.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/diag.h"
#include "common/endian.h"
#include "host/workloads/packet_gen.h"

namespace {

using namespace sec;
using namespace sec::host;
namespace fs = std::filesystem;

class PcapIo : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("pcap_io_test." + std::to_string(getpid()));
    fs::create_directories(directory_);
    path_ = directory_ / "x.pcap";
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string error_of_reading() {
    try {
      read_pcap(path_);
    } catch (const SetupError& e) {
      return e.what();
    }
    return "";
  }
  void write_file(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string read_file() {
    std::ifstream f(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(f), {}};
  }
  size_t files() {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  fs::path directory_;
  std::string path_;
};

std::string le32(uint32_t v) {
  return {static_cast<char>(v), static_cast<char>(v >> 8), static_cast<char>(v >> 16), static_cast<char>(v >> 24)};
}
std::string pcap_header(uint32_t link) {
  return le32(0xa1b2c3d4) + le32(4 << 16 | 2) + le32(0) + le32(0) + le32(65535) + le32(link);
}
std::string record(const std::string& bytes, uint32_t original) {
  return le32(7) + le32(8) + le32(static_cast<uint32_t>(bytes.size())) + le32(original) + bytes;
}

TEST_F(PcapIo, WhatIsWrittenIsReadAgain) {
  PacketGenOptions o;
  o.packets = 25;
  o.gap_ns = 1'234'567;
  o.sizes_bytes = {48, 1500, 9000, 65535};
  for (bool v6 : {false, true})
    for (PcapLink link : {PcapLink::RawIp, PcapLink::Ethernet})
      for (bool nanoseconds : {true, false}) {
        o.v6 = v6;
        const PacketList packets = generate_packets(o);
        PcapWriter w(path_, link, nanoseconds);
        for (size_t i = 0; i < packets.size(); ++i) w.write(packets[i], packets.time_ns(i));
        EXPECT_EQ(files(), 1u);
        w.close();
        EXPECT_EQ(files(), 1u);
        const PcapRead r = read_pcap(path_);
        ASSERT_EQ(r.packets.size(), packets.size());
        for (size_t i = 0; i < packets.size(); ++i) {
          EXPECT_TRUE(std::ranges::equal(r.packets[i], packets[i]));
          EXPECT_EQ(r.packets.time_ns(i), nanoseconds ? packets.time_ns(i) : packets.time_ns(i) / 1000 * 1000);
        }
        fs::remove(path_);
      }
}

TEST_F(PcapIo, TakesVlanTagsOffAndSkipsOtherProtocols) {
  const std::string mac(12, '\2');
  const std::string ip = "\x45" + std::string(19, '\0');
  using namespace std::string_literals;
  const std::string plain = mac + "\x08\x00"s + ip, tagged = mac + "\x81\x00\x00\x05\x08\x00"s + ip,
                    twice = mac + "\x88\xa8\x00\x05\x81\x00\x00\x06\x86\xdd"s + "\x60", arp = mac + "\x08\x06"s + ip;
  std::string file = pcap_header(1);
  for (const auto& f : {plain, tagged, twice, arp}) file += record(f, static_cast<uint32_t>(f.size()));
  write_file(file);
  const PcapRead r = read_pcap(path_);
  ASSERT_EQ(r.packets.size(), 3u);
  EXPECT_EQ(r.skipped_frames, 1u);
  EXPECT_EQ(r.packets[0].size(), 20u);
  EXPECT_EQ(r.packets[1].size(), 20u);
  EXPECT_EQ(r.packets[2].size(), 1u);
  EXPECT_EQ(r.packets[2][0], 0x60);
}

TEST_F(PcapIo, ReadsIpLinkTypes) {
  for (uint32_t link : {101u, 228u, 229u}) {
    write_file(pcap_header(link) + record("abcd", 4));
    EXPECT_EQ(read_pcap(path_).packets.size(), 1u) << link;
  }
}

TEST_F(PcapIo, ReadsPcapng) {
  std::string file = le32(0x0a0d0d0a) + le32(28) + le32(0x1a2b3c4d) + le32(1) + le32(~0u) + le32(~0u) + le32(28);
  file += le32(1) + le32(20) + le32(101) + le32(65535) + le32(20);
  file += le32(6) + le32(36) + le32(0) + le32(0) + le32(1000) + le32(4) + le32(4) + "abcd" + le32(36);
  write_file(file);
  const PcapRead r = read_pcap(path_);
  ASSERT_EQ(r.packets.size(), 1u);
  EXPECT_EQ(r.packets.time_ns(0), 1'000'000u);
}

TEST_F(PcapIo, RefusesWhatWouldGiveWrongResults) {
  EXPECT_NE(error_of_reading().find("does not exist"), std::string::npos);
  write_file("this is no capture, but it is long enough");
  EXPECT_NE(error_of_reading().find(path_), std::string::npos);
  write_file("");
  EXPECT_NE(error_of_reading(), "");
  const std::string good = pcap_header(101) + record("abcdefgh", 8) + record("abcdefgh", 8);
  write_file(good.substr(0, good.size() - 3));
  EXPECT_NE(error_of_reading().find("damaged after 1 packets"), std::string::npos) << error_of_reading();
  write_file(good.substr(0, good.size() - 3 - 8));  // inside a record header
  EXPECT_NE(error_of_reading().find("damaged after 1 packets"), std::string::npos) << error_of_reading();
  write_file(pcap_header(101) + record("abcdefgh", 8) + record("abcd", 8));
  EXPECT_NE(error_of_reading().find("packet 2"), std::string::npos) << error_of_reading();
  EXPECT_NE(error_of_reading().find("4 of 8"), std::string::npos) << error_of_reading();
  write_file(pcap_header(105) + record("abcd", 4));
  EXPECT_NE(error_of_reading().find("IEEE802_11"), std::string::npos) << error_of_reading();
  write_file(good);
  EXPECT_EQ(error_of_reading(), "");
}

TEST_F(PcapIo, TargetThatCannotBeWrittenIsASetupError) {
  try {
    PcapWriter w((directory_ / "missing" / "y.pcap").string());
    FAIL();
  } catch (const SetupError& e) {
    EXPECT_NE(std::string(e.what()).find("y.pcap"), std::string::npos);
  }
  // A directory of that name: the rename at the end fails.
  fs::create_directory(path_);
  fs::create_directory(fs::path(path_) / "keep");
  PcapWriter w(path_);
  EXPECT_THROW(w.close(), SetupError);
  EXPECT_EQ(files(), 1u);
}

TEST_F(PcapIo, AnAbandonedWriterLeavesTheOldFile) {
  write_file("old");
  {
    PcapWriter w(path_);
    w.write(std::vector<uint8_t>(100), 0);
  }
  EXPECT_EQ(read_file(), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(PcapIo, AFullDiskIsReported) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  // The temporary's name is known: let it lead to a device that is always full.
  fs::create_symlink("/dev/full", path_ + "." + std::to_string(getpid()) + ".tmp");
  PcapWriter w(path_);
  w.write(std::vector<uint8_t>(100), 0);
  EXPECT_THROW(w.close(), SetupError);
  EXPECT_FALSE(fs::exists(path_));
}

}  // namespace
