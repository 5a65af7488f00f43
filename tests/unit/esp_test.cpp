// ESP rules without any cryptography: names, sizes, associations, anti-replay, IVs, generated packets.
#include "host/workloads/esp.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "common/diag.h"
#include "common/endian.h"
#include "host/workloads/packet_gen.h"

namespace {

using namespace sec;
using namespace sec::host;

template <class F>
std::string setup_error(F f) {
  try {
    f();
  } catch (const SetupError& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(EspSuite, UnknownNameListsTheValidOnes) {
  const std::string text = setup_error([] { esp_suite("aes512-cbc-sha1"); });
  EXPECT_TRUE(contains(text, "aes512-cbc-sha1")) << text;
  EXPECT_TRUE(contains(text, "aes128-cbc-sha1") && contains(text, "3des-cbc-sha256") && contains(text, "null-sha1"))
      << text;
  EXPECT_FALSE(contains(text, "null-null")) << text;
}

TEST(EspSuite, NullNullMustBeAskedForExplicitly) {
  EXPECT_TRUE(contains(setup_error([] { esp_suite("null-null"); }), "explicitly"));
  EXPECT_EQ(esp_suite("null-null", true).name, "null-null");
}

TEST(EspSuite, Sha256AlwaysMeans128BitsUnlessNamedOtherwise) {
  for (const EspSuite& s : esp_suites()) {
    if (s.name.ends_with("-sha256")) {
      EXPECT_EQ(s.icv_bytes, 16u) << s.name;
    }
    if (s.name.ends_with("-sha256-96")) {
      EXPECT_EQ(s.icv_bytes, 12u) << s.name;
    }
    if (s.name.ends_with("-sha1")) {
      EXPECT_EQ(s.icv_bytes, 12u) << s.name;
    }
  }
}

// Columns of the RFCs, typed again here: IV, alignment, ICV.
TEST(EspSuite, SizesFollowTheRfcTableForAllPayloads) {
  const std::map<std::string, std::pair<size_t, size_t>> cipher = {
      {"aes128-cbc", {16, 16}}, {"aes192-cbc", {16, 16}}, {"aes256-cbc", {16, 16}}, {"aes128-ctr", {8, 4}},
      {"aes192-ctr", {8, 4}},   {"aes256-ctr", {8, 4}},   {"3des-cbc", {8, 8}},     {"null", {0, 4}}};
  const std::map<std::string, size_t> auth = {{"md5", 12},    {"sha1", 12},   {"sha256", 16}, {"sha256-96", 12},
                                              {"sha384", 24}, {"sha512", 32}, {"null", 0}};
  size_t suites = 0;
  for (const auto& [c, sizes] : cipher)
    for (const auto& [a, icv] : auth) {
      const EspSuite& suite = esp_suite(c + "-" + a, true);
      ++suites;
      for (size_t n = 0; n <= 2000; ++n) {
        const EspLayout l = esp_layout(suite, n);
        size_t encrypted = n + 2;
        while (encrypted % sizes.second) ++encrypted;
        ASSERT_EQ(l.encrypted_bytes(), encrypted) << suite.name << " " << n;
        ASSERT_EQ(l.total_bytes(), 8 + sizes.first + encrypted + icv) << suite.name << " " << n;
        ASSERT_LT(l.pad_bytes, sizes.second);
      }
    }
  // RFC 4106 and 4309: an IV of 8 bytes, 4-byte alignment, 8, 12 or 16 bytes of ICV.
  for (const char* name : {"aes128-gcm", "aes192-gcm", "aes256-gcm", "aes128-ccm", "aes192-ccm", "aes256-ccm"})
    for (const size_t icv : {8, 12, 16}) {
      const EspSuite& suite = esp_suite(name + std::to_string(icv));
      ++suites;
      for (size_t n = 0; n <= 2000; ++n) ASSERT_EQ(esp_layout(suite, n).total_bytes(), 16 + (n + 2 + 3) / 4 * 4 + icv);
    }
  EXPECT_EQ(suites, esp_suites().size());
  // 1446 bytes of inner packet in an IPv4 tunnel fill a 1500-byte frame: no padding to the cipher's block.
  EXPECT_EQ(20 + esp_layout(esp_suite("aes128-gcm16"), 1446).total_bytes(), 1500u);
}

// TCP payload in a 1500-byte frame, IPv4 transport, 32 bytes of TCP header.
TEST(EspSuite, LargestPayloadOfAFrame) {
  const auto largest = [](const char* name) {
    size_t n = 1480;
    while (20 + esp_layout(esp_suite(name, true), n).total_bytes() > 1500) --n;
    return n - 32;
  };
  EXPECT_EQ(largest("aes128-cbc-sha1"), 1406u);
  EXPECT_EQ(largest("3des-cbc-sha1"), 1414u);
  EXPECT_EQ(largest("null-null"), 1438u);
  EXPECT_EQ(largest("aes256-gcm16"), 1414u);
  EXPECT_EQ(largest("aes128-ccm8"), 1422u);
}

TEST(EspAssociation, ErrorsNameTheProblem) {
  const auto text = [](auto change) {
    SecurityAssociation sa = make_sa(esp_suite("aes128-ctr-sha256"), EspMode::Tunnel, 0x1001, 1);
    change(sa);
    return setup_error([&] { check_sa(sa); });
  };
  EXPECT_EQ(text([](auto&) {}), "");
  EXPECT_TRUE(contains(text([](auto& s) { s.cipher_key.resize(16); }), "nonce"));
  EXPECT_TRUE(contains(text([](auto& s) { s.auth_key.resize(20); }), "give 32"));
  EXPECT_TRUE(contains(text([](auto& s) { s.spi = 255; }), "reserved"));
  EXPECT_TRUE(contains(text([](auto& s) { s.outer_source = IpAddress::parse("::1", "x"); }), "mix"));
  EXPECT_TRUE(contains(text([](auto& s) { s.replay_window = 4097; }), "4096"));
  EXPECT_TRUE(contains(text([](auto& s) {
                         s.mode = EspMode::Transport;
                         s.tfc_pad_to_bytes = 100;
                       }),
                       "tunnel"));
  EXPECT_TRUE(contains(text([](auto& s) {
                         s.esn = true;
                         s.replay_window = 0;
                       }),
                       "64-bit"));
  EXPECT_TRUE(contains(text([](auto& s) { s.sequence = uint64_t{1} << 32; }), "32 bits"));
}

TEST(EspAssociation, HexKeys) {
  EXPECT_EQ(bytes_from_hex("0x00fF10", "k"), (std::vector<uint8_t>{0, 255, 16}));
  EXPECT_EQ(to_hex(bytes_from_hex("00ff10", "k")), "00ff10");
  EXPECT_TRUE(contains(setup_error([] { bytes_from_hex("0", "--key"); }), "--key"));
  EXPECT_TRUE(contains(setup_error([] { bytes_from_hex("0g", "--key"); }), "'g'"));
  EXPECT_TRUE(contains(setup_error([] { IpAddress::parse("1.2.3", "--src"); }), "--src"));
}

TEST(EspAssociation, TsharkLines) {
  SecurityAssociation sa = make_sa(esp_suite("aes128-cbc-sha256"), EspMode::Tunnel, 0x1001, 1);
  sa.cipher_key.assign(16, 0x11);
  sa.auth_key.assign(32, 0x22);
  EXPECT_EQ(tshark_sa_line(sa),
            "\"IPv4\",\"192.0.2.1\",\"192.0.2.2\",\"0x00001001\",\"AES-CBC "
            "[RFC3602]\",\"0x11111111111111111111111111111111\","
            "\"HMAC-SHA-256-128 [RFC4868]\",\"0x2222222222222222222222222222222222222222222222222222222222222222\"\n");
  sa = make_sa(esp_suite("null-sha1"), EspMode::Transport, 0x1001, 1);
  sa.auth_key.assign(20, 0);
  const std::string rest =
      ",\"*\",\"*\",\"0x00001001\",\"NULL\",\"\",\"HMAC-SHA-1-96 [RFC2404]\",\"0x" + std::string(40, '0') + "\"\n";
  EXPECT_EQ(tshark_sa_line(sa), "\"IPv4\"" + rest + "\"IPv6\"" + rest);
}

TEST(EspIv, NoncesNeverRepeatAndDependOnTheSeedOnly) {
  const EspIvSource a(1), b(1), c(2);
  std::set<std::string> seen16, seen8;
  std::set<uint64_t> counters;
  for (uint64_t s = 1; s <= 20000; ++s) {
    uint8_t x[16], y[16];
    a.cbc_nonce(s, 16, x);
    b.cbc_nonce(s, 16, y);
    ASSERT_EQ(0, memcmp(x, y, 16));
    seen16.insert(std::string(x, x + 16));
    a.cbc_nonce(s, 8, x);
    seen8.insert(std::string(x, x + 8));
    counters.insert(a.counter_iv(s));
  }
  EXPECT_EQ(seen16.size(), 20000u);
  EXPECT_EQ(seen8.size(), 20000u);
  EXPECT_EQ(counters.size(), 20000u);
  EXPECT_NE(a.counter_iv(1), c.counter_iv(1));
  // With an even factor numbers half the range apart would meet.
  for (uint64_t seed = 0; seed < 32; ++seed) {
    uint8_t x[16], y[16];
    EspIvSource(seed).cbc_nonce(1, 16, x);
    EspIvSource(seed).cbc_nonce(1 + (uint64_t{1} << 63), 16, y);
    EXPECT_NE(load_be64(x), load_be64(y)) << seed;
    EXPECT_NE(load_be64(x + 8), load_be64(y + 8)) << seed;
  }
}

using Verdict = AntiReplay::Verdict;

TEST(AntiReplay, AcceptsOnceInsideTheWindow) {
  for (unsigned window : {1u, 32u, 63u, 64u, 65u, 100u, 4096u}) {
    AntiReplay r(window);
    EXPECT_EQ(r.check(0), Verdict::Replay);
    for (uint64_t s : {1, 2, 5}) {
      ASSERT_EQ(r.check(s), Verdict::Accept);
      r.advance(s);
      ASSERT_EQ(r.check(s), Verdict::Replay) << window;
    }
    EXPECT_EQ(r.check(4), window > 1 ? Verdict::Accept : Verdict::Window);
    r.advance(10000);
    EXPECT_EQ(r.check(10000 - window + 1), window == 1 ? Verdict::Replay : Verdict::Accept) << window;
    EXPECT_EQ(r.check(10000 - window), Verdict::Window);
    EXPECT_EQ(r.check(10001), Verdict::Accept);
  }
}

TEST(AntiReplay, AgreesWithASetOfSeenNumbers) {
  uint64_t random = 42;
  for (unsigned window : {1u, 7u, 64u, 130u, 1024u}) {
    AntiReplay r(window);
    std::set<uint64_t> seen;
    uint64_t highest = 0;
    for (int i = 0; i < 20000; ++i) {
      // Mostly near the top, now and then a jump of about a window or of several.
      const uint64_t kind = next_random(random) % 50;
      const uint64_t span = kind == 0 ? 5 * window : kind < 5 ? 2 * window : 10;
      uint64_t s = highest + next_random(random) % (span + 1);
      s -= std::min<uint64_t>(s, next_random(random) % (window + 5));
      const Verdict expected = s == 0                  ? Verdict::Replay
                               : s > highest           ? Verdict::Accept
                               : highest - s >= window ? Verdict::Window
                               : seen.count(s)         ? Verdict::Replay
                                                       : Verdict::Accept;
      ASSERT_EQ(r.check(s), expected) << window << " " << s << " " << highest;
      if (expected == Verdict::Accept && next_random(random) % 4) {
        r.advance(s);
        seen.insert(s);
        highest = std::max(highest, s);
      }
    }
  }
}

TEST(AntiReplay, WindowZeroIsOff) {
  AntiReplay r(0);
  r.advance(5);
  EXPECT_EQ(r.check(5), Verdict::Accept);
}

TEST(AntiReplay, ReconstructsTheHighHalf) {
  // The sender's number lies from W-1 below the top to 2^32 - W above it: every such number must come back.
  for (uint64_t top :
       {uint64_t{5}, uint64_t{0xfffffffe}, uint64_t{0x1'00000000}, uint64_t{0x1'00000010}, uint64_t{0x7'fffffff0}}) {
    AntiReplay r(64, true);
    r.advance(top);
    for (int64_t distance : {-63l, -10l, -1l, 0l, 1l, 1000l, 0x7fffffffl, 0xffffffffl - 64}) {
      if (distance < 0 && top < static_cast<uint64_t>(-distance)) continue;
      const uint64_t s = top + static_cast<uint64_t>(distance);
      EXPECT_EQ(r.reconstruct(static_cast<uint32_t>(s)), s) << std::hex << top << " " << distance;
    }
  }
}

TEST(PacketGen, ChecksumsAreValidAndSizesAsAsked) {
  for (bool v6 : {false, true}) {
    PacketGenOptions o;
    o.v6 = v6;
    o.packets = 40;
    o.sizes_bytes = {48, 49, 1500, 9000, 65535};
    const PacketList list = generate_packets(o);
    ASSERT_EQ(list.size(), 40u);
    for (size_t i = 0; i < list.size(); ++i) {
      const auto p = list[i];
      ASSERT_EQ(p.size(), o.sizes_bytes[i % 5]);
      const auto ip = parse_ip(p);
      ASSERT_TRUE(ip && ip->checksum_ok && ip->total_bytes == p.size() && ip->protocol == kProtoUdp && ip->v6 == v6);
      const auto udp = p.subspan(v6 ? 40 : 20);
      uint32_t sum = checksum_add(v6 ? p.subspan(8, 32) : p.subspan(12, 8));
      sum = checksum_add(udp, sum + 17 + static_cast<uint32_t>(udp.size()));
      EXPECT_EQ(checksum_fold(sum), 0);
    }
  }
}

TEST(PacketGen, ImixIsExactAndSeeded) {
  PacketGenOptions o;
  parse_packet_sizes("imix", "--sizes", o);
  o.packets = 120;
  std::map<size_t, int> counts;
  const PacketList a = generate_packets(o), b = generate_packets(o);
  o.seed = 2;
  const PacketList c = generate_packets(o);
  bool same = true;
  for (size_t i = 0; i < a.size(); ++i) {
    ++counts[a[i].size()];
    EXPECT_TRUE(std::ranges::equal(a[i], b[i]));
    same = same && std::ranges::equal(a[i], c[i]);
  }
  EXPECT_EQ(counts, (std::map<size_t, int>{{64, 70}, {576, 40}, {1500, 10}}));
  EXPECT_FALSE(same);
}

TEST(PacketGen, RefusesImpossibleSizes) {
  PacketGenOptions o;
  EXPECT_TRUE(contains(setup_error([&] { parse_packet_sizes("64,", "--sizes", o); }), "--sizes"));
  EXPECT_TRUE(contains(setup_error([&] { parse_packet_sizes("64,x", "--sizes", o); }), "64,x"));
  parse_packet_sizes("27", "--sizes", o);
  EXPECT_TRUE(contains(setup_error([&] { generate_packets(o); }), "28"));
  parse_packet_sizes("64,576", "--sizes", o);
  EXPECT_EQ(o.sizes_bytes, (std::vector<size_t>{64, 576}));
}

}  // namespace
