// Packets through the ESP pipeline: known answers, round trips on software, and the asynchronous contract on a fake
// engine that answers when told to.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "common/diag.h"
#include "common/endian.h"
#include "driver/crypto/queue.h"
#include "host/cpu/ipsecmb.h"
#include "host/cpu/openssl.h"
#include "host/workloads/esp_run.h"

namespace {

using namespace sec;
using namespace sec::host;
using Bytes = std::vector<uint8_t>;

Bytes hex(std::string_view text) { return bytes_from_hex(text, "test data"); }

/// Bytes 0, 7, 14, ... as the peer's script made its keys.
Bytes ramp(size_t n, size_t start = 0) {
  Bytes b(n);
  for (size_t i = 0; i < n; ++i) b[i] = static_cast<uint8_t>(i * 7 + start);
  return b;
}

const crypto::Registry& software() {
  static crypto::Registry registry;
  static const bool once = (register_openssl(registry), true);
  static_cast<void>(once);
  return registry;
}

/// Collects what leaves a pipeline.
struct Collected {
  std::vector<Bytes> packets;  // empty for a drop
  std::vector<EspDrop> drops;
  std::vector<uint64_t> sequences;
  EspPipeline::Sink sink() {
    return [this](const EspOutput& o) {
      EXPECT_EQ(o.index, packets.size()) << "order";
      packets.emplace_back(o.bytes.begin(), o.bytes.end());
      drops.push_back(o.drop);
      sequences.push_back(o.sequence);
    };
  }
};

Collected run(const crypto::Registry& registry, EspPipelineOptions o, const SecurityAssociation& sa,
              const std::vector<Bytes>& packets, EspStats* stats = nullptr) {
  Collected c;
  EspPipeline p(registry, o, c.sink());
  p.add_sa(sa);
  for (const Bytes& b : packets) EXPECT_EQ(p.submit(b), Status::Ok) << p.failure();
  EXPECT_EQ(p.drain(), Status::Ok) << p.failure();
  if (stats) *stats = p.stats();
  EXPECT_EQ(c.packets.size(), packets.size());
  return c;
}
EspPipelineOptions out_options() { return {}; }
EspPipelineOptions in_options() {
  EspPipelineOptions o;
  o.direction = EspDirection::Decapsulate;
  return o;
}

std::vector<Bytes> generated(PacketGenOptions o) {
  const PacketList list = generate_packets(o);
  std::vector<Bytes> packets;
  for (size_t i = 0; i < list.size(); ++i) packets.emplace_back(list[i].begin(), list[i].end());
  return packets;
}
std::vector<Bytes> generated(size_t n, size_t size = 100, bool v6 = false) {
  PacketGenOptions o;
  o.packets = n;
  o.sizes_bytes = {size};
  o.v6 = v6;
  return generated(o);
}

// ------------------------------------------------------------------------------------------------ known answers

struct KnownPacket {
  const char* suite;
  EspMode mode;
  const char* packet;
  const char* clear;
  size_t cipher_key_bytes, auth_key_bytes;
};
constexpr char kClear4[] = "4500002600070000401166be0a0000010a000002000500060012342968656c6c6f2c20455350";
constexpr char kClear6[] =
    "6000000000121140fd000000000000000000000000000001fd0000000000000000000000000000020005000600124e2768656c6c6f2c204553"
    "50";
// Made with scapy 2.5.0: keys 0,7,14,... and 1,8,15,..., IV 9,16,23,..., SPI 0x1001, sequence 1. The 96-bit
// one is the 128-bit one with a shorter ICV.
const KnownPacket kKnown[] = {
    {"aes128-cbc-sha1", EspMode::Tunnel,
     "45000068000100004032f65fc0000201c000020200001001000000010910171e252c333a41484f565d646b72233ddebf21aad794dbbae7ad9"
     "9db3526"
     "ce02497dcceb44da53791f771f82382e3e6e4ebfd30e9476ff8396cced07dfce1cf55eb3ab492d7e1a4c25ec",
     kClear4, 16, 20},
    {"aes128-cbc-sha256", EspMode::Tunnel,
     "4500006c000100004032f65bc0000201c000020200001001000000010910171e252c333a41484f565d646b72233ddebf21aad794dbbae7ad9"
     "9db3526"
     "ce02497dcceb44da53791f771f82382e3e6e4ebfd30e9476ff8396cced07dfce6d9be2d5cef24da814222019a6c07380",
     kClear4, 16, 32},
    {"aes128-cbc-sha256-96", EspMode::Tunnel,
     "45000068000100004032f65fc0000201c000020200001001000000010910171e252c333a41484f565d646b72233ddebf21aad794dbbae7ad9"
     "9db3526"
     "ce02497dcceb44da53791f771f82382e3e6e4ebfd30e9476ff8396cced07dfce6d9be2d5cef24da814222019",
     kClear4, 16, 32},
    {"aes256-ctr-sha256", EspMode::Transport,
     "6000000000343240fd000000000000000000000000000001fd00000000000000000000000000000200001001000000010910171e252c333ad"
     "ec64b09"
     "456ab1593247753ea3df557220e5486b2e8a59d87fc46913ec1f6a1c418cd13a",
     kClear6, 36, 32},
    {"3des-cbc-sha1", EspMode::Transport,
     "45000048000700004032667b0a0000010a00000200001001000000010910171e252c333a3b7c93c8dc13eedab2f61efcf914a846e7b600a9c"
     "898108a"
     "cb2aabebdd424d0969445080",
     kClear4, 24, 20},
    {"null-sha1", EspMode::Transport,
     "4500003c00070000403266870a0000010a0000020000100100000001000500060012342968656c6c6f2c20455350001149a9c59644f45476e"
     "29d9e30",
     kClear4, 0, 20},
};

SecurityAssociation known_sa(const KnownPacket& k) {
  SecurityAssociation sa = make_sa(esp_suite(k.suite), k.mode, 0x1001, 1);
  sa.cipher_key = ramp(k.cipher_key_bytes);
  sa.auth_key = ramp(k.auth_key_bytes, 1);
  return sa;
}

TEST(EspPipeline, OpensKnownPacketsInAnyNumberOfPieces) {
  for (const KnownPacket& k : kKnown)
    for (unsigned segments : {1u, 2u, 3u, 8u, 200u}) {
      EspPipelineOptions o = in_options();
      o.segments = segments;
      Bytes packet = hex(k.packet);
      std::vector<Bytes> all{packet};
      for (size_t padding : {1u, 18u}) {  // as Ethernet leaves it; a repeat otherwise
        packet.resize(packet.size() + padding);
        all.push_back(packet);
      }
      const Collected c = run(software(), o, known_sa(k), all);
      EXPECT_EQ(to_hex(c.packets[0]), k.clear) << k.suite << " in " << segments;
      EXPECT_EQ(c.drops[1], EspDrop::Replay) << "the padding must not matter";
    }
}

// Deterministic suite: our packet must be the peer's, byte by byte.
TEST(EspPipeline, MakesTheKnownNullPacket) {
  const KnownPacket& k = kKnown[5];
  const Collected c = run(software(), out_options(), known_sa(k), {hex(k.clear)});
  EXPECT_EQ(to_hex(c.packets[0]), k.packet);
}

TEST(EspPipeline, WrongTruncationIsABadIcv) {
  SecurityAssociation sa = known_sa(kKnown[2]);  // expects 96 bits
  EXPECT_EQ(run(software(), in_options(), sa, {hex(kKnown[1].packet)}).drops[0],
            EspDrop::Malformed);  // 4 bytes off a block
  SecurityAssociation other = known_sa(kKnown[0]);
  other.auth_key[3] ^= 1;
  EXPECT_EQ(run(software(), in_options(), other, {hex(kKnown[0].packet)}).drops[0], EspDrop::BadIcv);
}

// RFC 3602 section 4, case 5: transport mode, a ping.
TEST(EspPipeline, OpensThePacketOfRfc3602) {
  SecurityAssociation sa = make_sa(esp_suite("aes128-cbc-null"), EspMode::Transport, 0x10e1, 1);
  sa.cipher_key = hex("90d382b410eeba7ad938c46cec1a82bf");
  const Bytes packet =
      hex("4500007c08f200004032f9a5c0a87b03c0a87b64000010e100000001e96e8c08ab465763fd098d45dd3ff893"
          "f663c25d325c18c6a9453e194e120849a4870b66cc6b9965330013b4898dc856a4699e523a55db080b59ec3a8e4b7e52775b07d1db34"
          "ed9c538ab50c"
          "551b874aa269add047ad2d5913ac19b7cfbad4a6");
  EXPECT_EQ(to_hex(run(software(), in_options(), sa, {packet}).packets[0]),
            "4500005408f200004001f9fec0a87b03c0a87b6408000ebda70a00008e9c083db95b070008090a0b0c0d0e0f101112131415161718"
            "191a1b1c1d1e1f"
            "202122232425262728292a2b2c2d2e2f3031323334353637");
}

// Sequence 0x1'00000001: the high half is authenticated, not sent. Made with an independent HMAC.
TEST(EspPipeline, AuthenticatesTheHighHalfOfTheSequence) {
  SecurityAssociation sa = known_sa(kKnown[1]);
  sa.esn = true;
  const Bytes low = hex(kKnown[1].packet);
  Bytes high = low;
  const Bytes icv = hex("6fbf368690055e0fae59e60ee225fdfc");
  std::copy(icv.begin(), icv.end(), high.end() - 16);
  EXPECT_EQ(run(software(), in_options(), sa, {high}).drops[0], EspDrop::BadIcv) << "the high half is still 0";
  sa.highest_received = 0xffffffff;
  const Collected c = run(software(), in_options(), sa, {low, high, high});
  EXPECT_EQ(c.drops, (std::vector<EspDrop>{EspDrop::BadIcv, EspDrop::None, EspDrop::Replay}));
  EXPECT_EQ(c.sequences[1], 0x1'00000001u);
}

TEST(EspPipeline, LongSequenceNumbersCrossTheLowWrap) {
  for (const char* suite : {"aes128-cbc-sha1", "aes128-ctr-sha256", "null-sha1"}) {
    SecurityAssociation sa = make_sa(esp_suite(suite), EspMode::Tunnel, 0x2000, 5);
    sa.esn = true;
    sa.sequence = 0xfffffff0 - 1;
    const std::vector<Bytes> clear = generated(40);
    const Collected sent = run(software(), out_options(), sa, clear);
    EXPECT_EQ(sent.sequences.back(), uint64_t{0xfffffff0} + 39);
    // A receiver that has followed so far; it sees the first packet as 0xfffffff0 with high half 0.
    const Collected got = run(software(), in_options(), sa, sent.packets);
    EXPECT_EQ(got.packets, clear);
    EXPECT_EQ(got.sequences, sent.sequences);
  }
}

// ------------------------------------------------------------------------------------------------- round trips

TEST(EspPipeline, EverySuiteModeAndSizeComesBack) {
  PacketGenOptions o;
  o.sizes_bytes.clear();
  for (size_t n = 48; n < 100; ++n) o.sizes_bytes.push_back(n);
  for (size_t n : {576, 1499, 1500, 4096, 9000}) o.sizes_bytes.push_back(n);
  o.packets = o.sizes_bytes.size();
  int combinations = 0;
  for (bool v6 : {false, true}) {
    o.v6 = v6;
    const std::vector<Bytes> clear = generated(o);
    for (const EspSuite& suite : esp_suites())
      for (EspMode mode : {EspMode::Tunnel, EspMode::Transport})
        for (bool outer_v6 : {false, true})
          for (unsigned segments : {1u, 5u}) {
            const SecurityAssociation sa = make_sa(suite, mode, 0x1234, 99, outer_v6);
            EspPipelineOptions out = out_options(), in = in_options();
            out.segments = in.segments = segments;
            out.max_packet_bytes = in.max_packet_bytes = 9000;
            const Collected sent = run(software(), out, sa, clear);
            for (size_t i = 0; i < clear.size(); ++i) {
              const bool tunnel = mode == EspMode::Tunnel;
              const size_t head = (tunnel ? outer_v6 : v6) ? 40 : 20;
              const size_t payload = clear[i].size() - (tunnel ? 0 : head);
              ASSERT_EQ(sent.packets[i].size(), head + esp_layout(suite, payload).total_bytes()) << suite.name;
              const auto ip = parse_ip(sent.packets[i]);
              ASSERT_TRUE(ip && ip->checksum_ok && ip->total_bytes == sent.packets[i].size() &&
                          ip->protocol == kProtoEsp);
            }
            EXPECT_EQ(run(software(), in, sa, sent.packets).packets, clear) << suite.name;
            ++combinations;
          }
  }
  RecordProperty("combinations", combinations);
}

// The bytes on the wire are those of two requests, whatever the pieces; a wrong ICV is a BadIcv either way.
TEST(EspPipeline, OneRequestMakesTheSamePackets) {
  PacketGenOptions o;
  o.sizes_bytes = {48, 49, 63, 64, 100, 576, 1500};
  o.packets = o.sizes_bytes.size();
  const std::vector<Bytes> clear = generated(o);
  int suites = 0;
  for (const EspSuite& suite : esp_suites()) {
    if (aead_algorithm(suite).empty() || suite.auth == EspAuth::Combined) continue;
    ++suites;
    for (unsigned segments : {1u, 5u}) {
      const SecurityAssociation sa = make_sa(suite, EspMode::Tunnel, 0x1234, 99);
      EspPipelineOptions two = out_options(), in = in_options();
      two.segments = in.segments = segments;
      EspPipelineOptions one = two;
      one.one_request = in.one_request = true;
      EspPipeline probe(software(), one, {});
      probe.add_sa(sa);
      ASSERT_EQ(probe.cipher_driver(0), probe.hash_driver(0)) << suite.name << ": really one request";
      const Collected sent = run(software(), one, sa, clear);
      ASSERT_EQ(sent.packets, run(software(), two, sa, clear).packets) << suite.name;
      ASSERT_EQ(run(software(), in, sa, sent.packets).packets, clear) << suite.name;
      std::vector<Bytes> bad = sent.packets;
      for (size_t i = 0; i < bad.size(); ++i) bad[i][bad[i].size() - 1 - i] ^= 0x10;
      for (const EspDrop d : run(software(), in, sa, bad).drops) ASSERT_EQ(d, EspDrop::BadIcv) << suite.name;
    }
  }
  EXPECT_EQ(suites, 24);
}

// RFC 4106 5: with 64-bit numbers the high half is authenticated between SPI and low half. Checked against EVP.
TEST(EspPipeline, GcmWithExtendedSequenceNumbers) {
  SecurityAssociation sa = make_sa(esp_suite("aes128-gcm16"), EspMode::Tunnel, 0x1234, 5);
  sa.esn = true;
  sa.sequence = 0x1'ffff'fffe;
  sa.highest_received = sa.sequence;
  const std::vector<Bytes> clear = generated(4, 100);
  const Collected sent = run(software(), out_options(), sa, clear);
  auto gcm = software().alloc_aead("gcm(aes)");
  for (size_t i = 0; i < sent.packets.size(); ++i) {
    const Bytes& p = sent.packets[i];
    const uint64_t sequence = sa.sequence + 1 + i;
    Bytes in(12);  // SPI, high, low
    store_be32(in.data(), 0x1234);
    store_be64(in.data() + 4, sequence);
    in.insert(in.end(), p.begin() + 20 + 16, p.end());
    Bytes iv(sa.cipher_key.end() - 4, sa.cipher_key.end());
    iv.insert(iv.end(), p.begin() + 20 + 8, p.begin() + 20 + 16);
    ASSERT_EQ(gcm->set_key(std::span(sa.cipher_key).first(16)), Status::Ok);
    crypto::Segment s{in.data(), in.size()};
    crypto::ScatterList list(&s, 1);
    crypto::AeadRequest r{&list, &list, 12, in.size() - 12, iv.data(), 0, nullptr, nullptr};
    ASSERT_EQ(gcm->decrypt(r), Status::Ok) << "packet " << i;
  }
  EXPECT_EQ(run(software(), in_options(), sa, sent.packets).packets, clear);
}

TEST(EspPipeline, TransportKeepsOptionsAndLeadingExtensionHeaders) {
  Bytes v4 = generated(1, 60)[0];
  v4.insert(v4.begin() + 20, {1, 1, 1, 0});  // NOP NOP NOP end
  v4[0] = 0x46;
  store_be16(v4.data() + 2, static_cast<uint16_t>(v4.size()));
  fix_ipv4_checksum(v4.data(), 24);
  Bytes v6 = generated(1, 80, true)[0];
  v6.insert(v6.begin() + 40, {kProtoRouting, 0, 1, 4, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0});
  v6[6] = kProtoHopByHop;  // hop-by-hop, routing, destination options, UDP
  store_be16(v6.data() + 4, static_cast<uint16_t>(v6.size() - 40));
  const SecurityAssociation sa = make_sa(esp_suite("aes128-cbc-sha1"), EspMode::Transport, 0x1234, 1);
  const Collected sent = run(software(), out_options(), sa, {v4, v6});
  EXPECT_EQ(sent.packets[0][9], kProtoEsp);
  EXPECT_EQ(load_be32(sent.packets[0].data() + 24), 0x1234u);
  EXPECT_EQ(sent.packets[1][6], kProtoHopByHop);
  EXPECT_EQ(sent.packets[1][40], kProtoRouting);
  EXPECT_EQ(sent.packets[1][48], kProtoEsp);
  EXPECT_EQ(load_be32(sent.packets[1].data() + 56), 0x1234u);
  EXPECT_EQ(run(software(), in_options(), sa, sent.packets).packets, (std::vector<Bytes>{v4, v6}));
}

TEST(EspPipeline, PacketsInPiecesEqualPacketsInOne) {
  const SecurityAssociation sa = make_sa(esp_suite("aes256-ctr-sha1"), EspMode::Tunnel, 0x1234, 1);
  Bytes clear = generated(1, 1500)[0];
  Collected c;
  EspPipeline p(software(), out_options(), c.sink());
  p.add_sa(sa);
  const crypto::Segment pieces[] = {{clear.data(), 7}, {clear.data() + 7, 0}, {clear.data() + 7, 1493}};
  const crypto::ScatterList list(pieces, 3);
  EXPECT_EQ(p.submit(list, 1500), Status::Ok);
  EXPECT_EQ(p.submit(list, 1501), Status::Invalid);
  EXPECT_EQ(p.drain(), Status::Ok);
  EXPECT_EQ(c.packets, run(software(), out_options(), sa, {clear}).packets);
}

TEST(EspPipeline, TrafficFlowPaddingForEveryClassOfCipher) {
  const std::vector<Bytes> clear = generated(3, 100);
  for (const char* name : {"aes128-cbc-sha1", "3des-cbc-sha256", "aes128-ctr-sha1", "null-sha1"}) {
    SecurityAssociation sa = make_sa(esp_suite(name), EspMode::Tunnel, 0x1234, 1);
    sa.tfc_pad_to_bytes = 1280;
    const Collected sent = run(software(), out_options(), sa, clear);
    const size_t align = sa.suite.align_bytes;
    const size_t encrypted = (100 + 2 + 1180 + align - 1) / align * align;
    EXPECT_EQ(sent.packets[0].size(), 20 + 8 + sa.suite.iv_bytes + encrypted + sa.suite.icv_bytes) << name;
    EXPECT_EQ(run(software(), in_options(), sa, sent.packets).packets, clear) << name;
  }
}

TEST(EspPipeline, TrafficFlowPaddingShowsNothingOfEarlierPackets) {
  SecurityAssociation sa = make_sa(esp_suite("null-sha1"), EspMode::Tunnel, 0x1234, 1);
  sa.tfc_pad_to_bytes = 1280;
  EspPipelineOptions o = out_options();
  o.in_flight = 1;  // the same buffer again
  const Bytes second = run(software(), o, sa, {generated(1, 1500)[0], generated(1, 100)[0]}).packets[1];
  EXPECT_EQ(std::count(second.begin() + 128, second.begin() + 128 + 1180, 0), 1180);
}

// ------------------------------------------------------------------------------------------------- bad packets

TEST(EspPipeline, TrailerAndPaddingAreChecked) {
  const SecurityAssociation sa = make_sa(esp_suite("null-null", true), EspMode::Tunnel, 0x1234, 1);
  const Bytes good = run(software(), out_options(), sa, generated(1, 100)).packets[0];  // pad length 2
  const size_t n = good.size();
  ASSERT_EQ(good[n - 2], 2);
  const auto with = [&](size_t from_end, uint8_t value) {
    Bytes b = good;
    b[n - from_end] = value;
    return b;
  };
  Bytes short_packet(good.begin(), good.begin() + 24);
  store_be16(short_packet.data() + 2, 24);
  fix_ipv4_checksum(short_packet.data(), 20);
  Bytes other_spi = good;
  other_spi[23] ^= 1;
  Bytes other_destination = good;
  other_destination[19] ^= 1;
  fix_ipv4_checksum(other_destination.data(), 20);
  Bytes fragment = good;
  fragment[6] = 0x20;
  fix_ipv4_checksum(fragment.data(), 20);
  Bytes bad_checksum = good;
  bad_checksum[8] ^= 1;
  const std::vector<Bytes> packets = {good,       with(1, 59),  with(1, 17),  with(1, 41), with(2, 200),
                                      with(3, 7), with(4, 0),   short_packet, other_spi,   other_destination,
                                      fragment,   bad_checksum, {},           {0x45},      generated(1)[0]};
  const std::vector<EspDrop> expected = {
      EspDrop::None,       EspDrop::Dummy,      EspDrop::BadTrailer, EspDrop::Malformed, EspDrop::BadTrailer,
      EspDrop::BadPadding, EspDrop::BadPadding, EspDrop::Malformed,  EspDrop::NoSa,      EspDrop::NoSa,
      EspDrop::Malformed,  EspDrop::Malformed,  EspDrop::Malformed,  EspDrop::Malformed, EspDrop::Malformed};
  EspStats stats;
  EXPECT_EQ(run(software(), in_options(), sa, packets, &stats).drops, expected);
  EXPECT_EQ(stats.packets_in, stats.packets_out + stats.dropped());
}

TEST(EspPipeline, EveryFlippedBitIsDropped) {
  const SecurityAssociation sa = make_sa(esp_suite("aes128-cbc-sha256"), EspMode::Transport, 0x1234, 1);
  const Bytes good = run(software(), out_options(), sa, generated(1, 60)).packets[0];
  std::vector<Bytes> packets;
  for (size_t bit = 24 * 8; bit < good.size() * 8; ++bit) {  // from the sequence number on
    packets.push_back(good);
    packets.back()[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
  packets.push_back(good);
  EspStats stats;
  const Collected c = run(software(), in_options(), sa, packets, &stats);
  EXPECT_EQ(stats.packets_out, 1u);
  EXPECT_EQ(c.drops.back(), EspDrop::None) << "forged packets must not move the window";
  EXPECT_EQ(stats.dropped(EspDrop::BadIcv) + stats.dropped(EspDrop::Replay), packets.size() - 1);
  EXPECT_EQ(stats.dropped(EspDrop::Replay), 1u);  // sequence 1 -> 0
}

TEST(EspPipeline, AFloodOfBadPacketsIsCountedExactlyAndSilently) {
  const SecurityAssociation sa = make_sa(esp_suite("aes128-cbc-sha1"), EspMode::Tunnel, 0x1234, 1);
  Bytes bad = run(software(), out_options(), sa, generated(1, 64)).packets[0];
  bad.back() ^= 1;
  EspPipeline p(software(), in_options(), nullptr);
  p.add_sa(sa);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (int i = 0; i < 100000; ++i) ASSERT_EQ(p.submit(bad), Status::Ok);
  EXPECT_EQ(p.drain(), Status::Ok);
  EXPECT_EQ(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(p.stats().dropped(EspDrop::BadIcv), 100000u);
}

TEST(EspPipeline, AntiReplayOrders) {
  const SecurityAssociation sa = make_sa(esp_suite("null-sha1"), EspMode::Tunnel, 0x1234, 1);
  const std::vector<Bytes> p = run(software(), out_options(), sa, generated(200)).packets;
  const std::vector<Bytes> order = {p[0], p[2], p[1], p[1], p[100], p[37], p[36], p[100], p[199], p[136], p[135]};
  const std::vector<EspDrop> expected = {EspDrop::None, EspDrop::None, EspDrop::None,   EspDrop::Replay,
                                         EspDrop::None, EspDrop::None, EspDrop::Window, EspDrop::Replay,
                                         EspDrop::None, EspDrop::None, EspDrop::Window};
  EXPECT_EQ(run(software(), in_options(), sa, order).drops, expected);
  SecurityAssociation open = make_sa(esp_suite("aes128-cbc-null"), EspMode::Tunnel, 0x1234, 1);
  const Bytes twice = run(software(), out_options(), open, generated(1)).packets[0];
  EXPECT_EQ(run(software(), in_options(), open, {twice, twice}).drops[1], EspDrop::None)
      << "no integrity, no anti-replay";
}

TEST(EspPipeline, TheLastSequenceNumberStopsTheAssociation) {
  SecurityAssociation sa = make_sa(esp_suite("aes128-ctr-sha1"), EspMode::Tunnel, 0x1234, 1);
  sa.sequence = 0xfffffffd;
  const Collected c = run(software(), out_options(), sa, generated(10));
  EXPECT_EQ(c.sequences[0], 0xfffffffeu);
  EXPECT_EQ(c.sequences[1], 0xffffffffu);
  EXPECT_EQ(load_be32(c.packets[1].data() + 24), 0xffffffffu);
  for (size_t i = 2; i < 10; ++i) EXPECT_EQ(c.drops[i], EspDrop::SequenceExhausted);
}

TEST(EspPipeline, TooBigPacketsAreDroppedWithoutANumber) {
  const SecurityAssociation sa = make_sa(esp_suite("aes128-cbc-sha1"), EspMode::Tunnel, 0x1234, 1);
  EspPipelineOptions o = out_options();
  o.max_packet_bytes = 65535;
  o.in_flight = 4;
  const Collected c = run(software(), o, sa, {generated(1, 65535)[0], generated(1, 65000)[0]});
  EXPECT_EQ(c.drops, (std::vector<EspDrop>{EspDrop::TooBig, EspDrop::None}));
  EXPECT_EQ(c.sequences[1], 1u);
  o.max_packet_bytes = 1500;
  EXPECT_EQ(run(software(), o, sa, {generated(1, 1501)[0]}).drops[0], EspDrop::TooBig);
}

// ---------------------------------------------------------------------------------------------- a fake engine

/// An engine with a queue of `depth` and a backlog. Nothing happens until step() takes the oldest request; the work
/// itself is done by the software implementation. It notes every breach of the contract.
class FakeEngine {
 public:
  struct Node {
    Node* next = nullptr;
    std::function<Status()> work;
    crypto::Completion complete;
    void* context;
  };
  explicit FakeEngine(size_t depth, const driver::DmaSpace* dma = nullptr) : queue_(depth), depth_(depth), dma_(dma) {
    registry_.set_selftest_enabled(false);
    for (const crypto::AlgorithmInfo& info : software().list()) {
      if (info.type == crypto::AlgorithmType::Aead) continue;
      crypto::Algorithm a;
      a.info = info;
      a.info.driver = info.driver + "-fake";
      a.info.async = true;
      if (info.type == crypto::AlgorithmType::Skcipher)
        a.make_skcipher = [this, info] {
          return std::make_unique<Cipher>(*this, software().alloc_skcipher(info.driver), info);
        };
      else
        a.make_hash = [this, info] { return std::make_unique<Mac>(*this, software().alloc_hash(info.driver), info); };
      EXPECT_EQ(registry_.add(std::move(a)), Status::Ok);
    }
  }
  const crypto::Registry& registry() const { return registry_; }

  /// Completes the oldest request; false when there is none.
  bool step() {
    Node* started = nullptr;
    Node* n = queue_.dequeue(&started);
    if (!n) return false;
    if (started) {
      --backlogged_;
      started->complete(started->context, Status::InProgress);
    }
    Status s = lose_every && ++finished % lose_every == 0 ? Status::Again : n->work();
    if (fail_at && ++worked == fail_at) s = Status::Io;
    const auto [complete, context] = std::pair(n->complete, n->context);
    delete n;
    complete(context, s);
    return true;
  }
  size_t waiting() const { return queue_.size(); }

  size_t breaches = 0, most_waiting = 0, submitted = 0, multi_segment = 0;
  size_t lose_every = 0, finished = 0, fail_at = 0, worked = 0, refuse_every = 0, asked = 0;
  bool complete_inside_submit = false;

 private:
  struct Cipher : crypto::Skcipher {
    Cipher(FakeEngine& e, std::unique_ptr<crypto::Skcipher> s, crypto::AlgorithmInfo i)
        : engine(e), soft(std::move(s)), about(std::move(i)) {}
    const crypto::AlgorithmInfo& info() const override { return about; }
    Status set_key(std::span<const uint8_t> key, uint32_t f) override { return soft->set_key(key, f); }
    Status encrypt(crypto::SkcipherRequest& r) override {
      return engine.submit(
          r, *r.src, [this, &r] { return soft->encrypt(r); }, r.iv);
    }
    Status decrypt(crypto::SkcipherRequest& r) override {
      return engine.submit(
          r, *r.src, [this, &r] { return soft->decrypt(r); }, r.iv);
    }
    FakeEngine& engine;
    std::unique_ptr<crypto::Skcipher> soft;
    crypto::AlgorithmInfo about;
  };
  struct Mac : crypto::Hash {
    Mac(FakeEngine& e, std::unique_ptr<crypto::Hash> s, crypto::AlgorithmInfo i)
        : engine(e), soft(std::move(s)), about(std::move(i)) {}
    const crypto::AlgorithmInfo& info() const override { return about; }
    Status set_key(std::span<const uint8_t> key) override { return soft->set_key(key); }
    Status digest(crypto::HashRequest& r) override {
      return engine.submit(
          r, *r.src, [this, &r] { return soft->digest(r); }, r.digest);
    }
    FakeEngine& engine;
    std::unique_ptr<crypto::Hash> soft;
    crypto::AlgorithmInfo about;
  };

  template <class Request>
  Status submit(Request& r, const crypto::ScatterList& list, std::function<Status()> work, const uint8_t* extra) {
    if (refuse_every && ++asked % refuse_every == 0) return Status::NoSpace;
    ++submitted;
    multi_segment += list.count > 1;
    if (dma_) {
      for (size_t i = 0; i < list.count; ++i)
        breaches += !dma_->contains(list.segments[i].data, list.segments[i].size_bytes);
      breaches += !dma_->contains(extra, 8);
    }
    // One request may sit on the backlog; the next before InProgress breaks the contract.
    breaches += backlogged_ > 1;
    const Status s =
        queue_.enqueue(new Node{nullptr, std::move(work), r.complete, r.context}, r.flags & crypto::kMayBacklog);
    if (s == Status::Busy) ++backlogged_;
    most_waiting = std::max(most_waiting, queue_.size());
    if (complete_inside_submit)
      while (step()) {
      }
    return s;
  }

  crypto::Registry registry_;
  crypto::BoundedQueue<Node> queue_;
  size_t depth_, backlogged_ = 0;
  const driver::DmaSpace* dma_;
};

TEST(EspPipelineAsync, BurstOfAStalledEngineHasDistinctIvs) {
  for (const char* suite : {"aes128-cbc-sha1", "3des-cbc-sha1", "aes256-ctr-sha1"}) {
    FakeEngine engine(5000);
    EspPipelineOptions o = out_options();
    o.in_flight = 1000;
    o.max_packet_bytes = 100;
    Collected c;
    const SecurityAssociation sa = make_sa(esp_suite(suite), EspMode::Tunnel, 0x1234, 1);
    o.pump = [&] { return engine.step(); };
    EspPipeline p(engine.registry(), o, c.sink());
    p.add_sa(sa);
    const std::vector<Bytes> clear = generated(1000);
    for (const Bytes& b : clear) ASSERT_EQ(p.submit(b), Status::Ok);
    EXPECT_EQ(engine.waiting(), 1000u) << "all of them wait, none is done";
    EXPECT_TRUE(c.packets.empty());
    ASSERT_EQ(p.drain(), Status::Ok) << p.failure();
    std::set<std::string> ivs;
    for (const Bytes& b : c.packets) ivs.insert(to_hex(std::span(b).subspan(28, sa.suite.iv_bytes)));
    EXPECT_EQ(ivs.size(), 1000u) << suite;
    EXPECT_EQ(c.packets, run(software(), out_options(), sa, clear).packets) << "same bytes as in software";
    EXPECT_EQ(run(software(), in_options(), sa, c.packets).packets, clear);
  }
}

TEST(EspPipelineAsync, KeepsTheBacklogContractOnAQueueOfTwo) {
  PacketGenOptions g;
  g.packets = 1000;
  g.sizes_bytes = {28, 1500, 64, 600};
  const std::vector<Bytes> clear = generated(g);
  for (const char* suite : {"aes128-cbc-sha1", "aes128-ctr-sha256", "3des-cbc-null", "null-sha256"})
    for (unsigned segments : {1u, 4u}) {
      driver::DmaSpace dma(4 << 20, 0x1000'0000);
      const size_t before_bytes = dma.allocated_bytes();
      const SecurityAssociation sa = make_sa(esp_suite(suite), EspMode::Tunnel, 0x1234, 1);
      std::vector<Bytes> packets = clear;
      for (EspDirection direction : {EspDirection::Encapsulate, EspDirection::Decapsulate}) {
        FakeEngine engine(2, &dma);
        EspPipelineOptions o;
        o.direction = direction;
        o.in_flight = 16;
        o.segments = segments;
        o.max_packet_bytes = 2000;
        o.dma = &dma;
        o.pump = [&] { return engine.step(); };
        EspStats stats;
        packets = run(engine.registry(), o, sa, packets, &stats).packets;
        EXPECT_EQ(engine.breaches, 0u) << suite;
        EXPECT_EQ(engine.most_waiting,
                  std::string(suite) == "3des-cbc-null" || std::string(suite) == "null-sha256" ? 3u : 4u)
            << "two queued, and one cipher and one hash on the backlog";
        EXPECT_GT(stats.backlogged, 100u);
        EXPECT_EQ(stats.most_in_flight, 16u);
        EXPECT_EQ(engine.submitted, sa.cipher_key.empty() || sa.auth_key.empty() ? 1000u : 2000u)
            << "each exactly once";
        EXPECT_EQ(engine.multi_segment > 0, segments > 1);
      }
      EXPECT_EQ(packets, clear) << suite;
      EXPECT_EQ(dma.allocated_bytes(), before_bytes);
    }
}

TEST(EspPipelineAsync, CallbacksBeforeSubmitReturns) {
  FakeEngine engine(0);  // everything is answered Busy, and is long done by then
  engine.complete_inside_submit = true;
  const SecurityAssociation sa = make_sa(esp_suite("aes128-cbc-sha1"), EspMode::Tunnel, 0x1234, 1);
  const std::vector<Bytes> clear = generated(100);
  EspStats stats;
  const Collected c = run(engine.registry(), out_options(), sa, clear, &stats);
  EXPECT_EQ(stats.backlogged, 200u);
  EXPECT_EQ(run(software(), in_options(), sa, c.packets).packets, clear);
}

TEST(EspPipelineAsync, LostAndRefusedRequestsAreSentAgain) {
  for (int kind : {0, 1}) {
    FakeEngine engine(4);
    (kind ? engine.lose_every : engine.refuse_every) = 7;
    const SecurityAssociation sa = make_sa(esp_suite("aes128-cbc-sha1"), EspMode::Tunnel, 0x1234, 1);
    const std::vector<Bytes> clear = generated(500);
    EspPipelineOptions o = out_options();
    o.pump = [&] { return engine.step(); };
    size_t hashed = 0;
    o.charge_hash = [&](size_t bytes) { hashed += bytes; };
    EspStats stats;
    const Collected c = run(engine.registry(), o, sa, clear, &stats);
    EXPECT_GT(stats.retries, 50u);
    EXPECT_EQ(hashed, 500u * (8 + 16 + 112)) << "charged once each";
    EXPECT_EQ(run(software(), in_options(), sa, c.packets).packets, clear) << "and still in order";
  }
}

TEST(EspPipelineAsync, AFailedRequestDropsItsPacketOnly) {
  FakeEngine engine(64);
  engine.fail_at = 5;
  EspPipelineOptions o = out_options();
  o.pump = [&] { return engine.step(); };
  EspStats stats;
  run(engine.registry(), o, make_sa(esp_suite("aes128-cbc-null"), EspMode::Tunnel, 0x1234, 1), generated(20), &stats);
  EXPECT_EQ(stats.dropped(EspDrop::Crypto), 1u);
  EXPECT_EQ(stats.packets_out, 19u);
}

TEST(EspPipelineAsync, AStalledEngineIsANamedTimeout) {
  for (bool alive : {false, true}) {
    auto* engine = new FakeEngine(64);  // outlives the pipeline's requests
    EspPipelineOptions o = out_options();
    o.in_flight = 8;
    o.wait_limit_pumps = 50;
    size_t pumps = 0;
    o.pump = [&] { return ++pumps, alive; };
    Collected c;
    {
      EspPipeline p(engine->registry(), o, c.sink());
      p.add_sa(make_sa(esp_suite("aes128-cbc-sha1"), EspMode::Tunnel, 0x1234, 1));
      for (int i = 0; i < 8; ++i) ASSERT_EQ(p.submit(generated(1)[0]), Status::Ok);
      EXPECT_EQ(p.submit(generated(1)[0]), Status::TimedOut);
      EXPECT_NE(p.failure().find("a free packet buffer"), std::string::npos) << p.failure();
      EXPECT_NE(p.failure().find("8 crypto requests unanswered"), std::string::npos) << p.failure();
      EXPECT_EQ(p.drain(), Status::TimedOut);
      EXPECT_NE(p.failure().find("the last packets"), std::string::npos) << p.failure();
    }
    EXPECT_LE(pumps, 300u);
    while (engine->step()) {
    }  // late answers must not hurt
    EXPECT_TRUE(c.packets.empty());
  }
}

// Two copies of a packet in flight both pass the first check; the second check catches one.
TEST(EspPipelineAsync, DuplicatesInFlightAreCaughtByTheSecondCheck) {
  const SecurityAssociation sa = make_sa(esp_suite("aes128-cbc-sha1"), EspMode::Tunnel, 0x1234, 1);
  const std::vector<Bytes> p = run(software(), out_options(), sa, generated(200)).packets;
  FakeEngine engine(64);
  EspPipelineOptions o = in_options();
  o.pump = [&] { return engine.step(); };
  EspStats stats;
  const Collected c = run(engine.registry(), o, sa, {p[0], p[0], p[199], p[100]}, &stats);
  EXPECT_EQ(c.drops, (std::vector<EspDrop>{EspDrop::None, EspDrop::Replay, EspDrop::None, EspDrop::Window}));
  EXPECT_EQ(engine.submitted, 8u) << "all four were under way";
}

// Multi-buffer software keeps requests until a burst is full: the pipeline's waits have to flush.
TEST(EspPipelineAsync, BatchingSoftwareGivesTheSameBytes) {
  PacketGenOptions g;
  g.imix = true;
  g.packets = 333;
  const std::vector<Bytes> clear = generated(g);
  crypto::Registry both;  // hashes and triple DES may exist in OpenSSL only
  register_openssl(both);
  if (!register_ipsecmb(both)) GTEST_SKIP() << "no intel-ipsec-mb on this processor";
  ASSERT_TRUE(both.alloc_skcipher("cbc(aes)")->info().async) << "the batching driver must be the preferred one";
  for (const char* suite : {"aes128-cbc-sha1", "aes256-ctr-sha256", "aes192-cbc-null", "null-sha256"})
    for (unsigned in_flight : {1u, 5u, 64u})
      for (unsigned segments : {1u, 3u}) {
        const SecurityAssociation sa = make_sa(esp_suite(suite), EspMode::Tunnel, 0x1234, 1);
        EspPipelineOptions out = out_options(), in = in_options();
        out.in_flight = in.in_flight = in_flight;
        out.segments = in.segments = segments;
        const Collected sent = run(both, out, sa, clear);
        EXPECT_EQ(sent.packets, run(software(), out_options(), sa, clear).packets) << suite << " " << in_flight;
        EXPECT_EQ(run(both, in, sa, sent.packets).packets, clear) << suite << " " << in_flight;
      }
}

// ---------------------------------------------------------------------------------------- costs, errors, runs

TEST(EspPipeline, ChargesPacketsHashesAndCiphers) {
  driver::CpuMeter meter;
  meter.cost_ps[static_cast<size_t>(driver::Cost::PacketWork)] = 1000;
  size_t hashed = 0, ciphered = 0;
  EspPipelineOptions o = out_options();
  o.cpu = &meter;
  o.charge_hash = [&](size_t n) { hashed += n; };
  o.charge_cipher = [&](size_t n) { ciphered += n; };
  run(software(), o, make_sa(esp_suite("aes128-cbc-sha1"), EspMode::Tunnel, 0x1234, 1), generated(10, 100));
  EXPECT_EQ(meter.pending_ps, 10000u);
  EXPECT_EQ(hashed, 10u * (8 + 16 + 112));
  EXPECT_EQ(ciphered, 10u * (16 + 112));
}

TEST(EspPipeline, SetupErrorsNameTheProblem) {
  const auto text = [](auto f) -> std::string {
    try {
      f();
    } catch (const SetupError& e) {
      return e.what();
    }
    return "";
  };
  const SecurityAssociation sa = make_sa(esp_suite("aes128-cbc-sha1"), EspMode::Tunnel, 0x1234, 1);
  const crypto::Registry empty;
  EXPECT_NE(text([&] { EspPipeline(empty, {}, nullptr).add_sa(sa); }).find("cbc(aes)"), std::string::npos);
  EspPipelineOptions o;
  o.cipher_driver = "ctr-aes-openssl";
  EXPECT_NE(text([&] { EspPipeline(software(), o, nullptr).add_sa(sa); }).find("implements ctr(aes)"),
            std::string::npos);
  o = in_options();
  EspPipeline twice(software(), o, nullptr);
  twice.add_sa(sa);
  EXPECT_NE(text([&] { twice.add_sa(sa); }).find("SPI 0x1234"), std::string::npos);
  driver::DmaSpace small(128 << 10, 0, 4, 2048);
  o.dma = &small;
  const size_t before = small.allocated_bytes();
  EXPECT_NE(text([&] { EspPipeline(software(), o, nullptr); }).find("fewer in flight"), std::string::npos);
  EXPECT_EQ(small.allocated_bytes(), before) << "nothing may stay allocated";
  o = {};
  o.in_flight = 0;
  EXPECT_NE(text([&] { EspPipeline(software(), o, nullptr); }).find("in flight"), std::string::npos);
}

TEST(EspRun, SeveralAssociationsAndLatencies) {
  EspRunOptions o;
  for (uint32_t spi : {0x100u, 0x200u, 0x300u, 0x400u})
    o.sas.push_back(make_sa(esp_suite("aes128-cbc-sha1"), EspMode::Tunnel, spi, 7));
  o.generator.packets = 101;
  o.generator.imix = true;
  EspEnvironment e;
  e.registry = &software();
  uint64_t now = 1000;
  e.now_ns = [&] { return now += 10; };
  std::map<uint32_t, uint64_t> last;
  PacketList encrypted;
  o.also = [&](const EspOutput& out) {
    EXPECT_EQ(out.sequence, ++last[out.spi]);
    encrypted.add(out.bytes);
  };
  EspRunResult r = run_esp(o, e);
  EXPECT_EQ(r.status, Status::Ok);
  EXPECT_EQ(r.stats.packets_out, 101u);
  EXPECT_EQ(r.latency_ns.size(), 101u);
  EXPECT_EQ(r.first_submit_ns, 1010u);
  EXPECT_EQ(r.last_finish_ns, now);
  EXPECT_EQ(r.sas[0].sequence, 26u);
  EXPECT_EQ(r.sas[3].sequence, 25u);
  EXPECT_EQ(r.cipher_driver, "cbc-aes-openssl");
  o.direction = EspDirection::Decapsulate;
  o.packets = &encrypted;
  size_t i = 0;
  const PacketList clear = generate_packets(o.generator);
  o.also = [&](const EspOutput& out) { EXPECT_TRUE(std::ranges::equal(out.bytes, clear[i++])); };
  EXPECT_EQ(run_esp(o, e).stats.packets_out, 101u);
}

}  // namespace
