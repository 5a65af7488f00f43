// ESP (RFC 4303): suites, security associations, packet layout and anti-replay. Pure functions and data; the
// packets themselves are made in esp_pipeline.h, which needs these rules and an implementation of the ciphers.
//
//   outer IP | SPI 4 | Seq 4 | IV | payload | TFC padding | pad 1,2,3... | pad length 1 | next header 1 | ICV
//            |<------------------------- authenticated (then seq-high with ESN) ----------------->|
//                                 |<------------------- encrypted ---------------------------->|
//
// Suites are named "<cipher>-<auth>": aes128-cbc-sha1, aes256-ctr-sha256, 3des-cbc-sha256, null-sha1, aes128-cbc-null.
// "sha256" is always the 128-bit truncation of RFC 4868; the 96-bit one of the old draft, which Linux takes when
// nothing is said, is a suite of its own ("sha256-96"), so that no default can pick it. "null-null" is the cost of
// framing alone, which RFC 4303 forbids on a real association: it must be asked for explicitly. The "ctr-null" suites
// encrypt without authentication, which RFC 3686 forbids for real traffic: they are there to measure the cipher.
// GCM and CCM suites authenticate themselves; the number is the size of the ICV: aes128-gcm16 (RFC 4106), aes256-ccm8
// (RFC 4309).
//
// UNMODELLED: GMAC, encapsulation in UDP, TTL, DSCP and ECN copying between inner and outer
// header, fragmentation and reassembly, path MTU.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/workloads/esp_ip.h"

namespace sec::host {

enum class EspCipher : uint8_t { Null, AesCbc, AesCtr, TripleDesCbc, AesGcm, AesCcm };
/// Combined: the cipher authenticates itself (GCM, CCM).
enum class EspAuth : uint8_t { Null, HmacMd5_96, HmacSha1_96, HmacSha256_128, HmacSha256_96, HmacSha384_192, HmacSha512_256, Combined };
enum class EspMode : uint8_t { Tunnel, Transport };

struct EspSuite {
  std::string name;
  EspCipher cipher = EspCipher::Null;
  EspAuth auth = EspAuth::Null;
  unsigned cipher_key_bytes = 0;  // without nonce
  unsigned nonce_bytes = 0;       // bytes that follow the key: 4 for CTR (RFC 3686) and GCM (RFC 4106), 3 for CCM (RFC 4309)
  unsigned iv_bytes = 0;          // on the wire
  unsigned align_bytes = 4;       // what the encrypted part is padded to: max(4, cipher block)
  unsigned auth_key_bytes = 0;
  unsigned icv_bytes = 0;
  std::string cipher_algorithm;  // "cbc(aes)"; empty for the null cipher and for GCM and CCM
  std::string hash_algorithm;    // "hmac(sha1)"; empty without authentication
  std::string combined_algorithm;  // "rfc4106(gcm(aes))"
  bool benchmark_only = false;
};

/// All suites, benchmark ones last.
const std::vector<EspSuite>& esp_suites();
/// SetupError that lists the valid names; a benchmark-only suite needs `allow_benchmark_only`.
const EspSuite& esp_suite(std::string_view name, bool allow_benchmark_only = false);

/// The algorithm that does the whole packet in one request: "authenc(hmac(sha1),cbc(aes))", "rfc4106(gcm(aes))"; empty for
/// a suite that has none.
std::string aead_algorithm(const EspSuite& suite);

/// Sizes of one ESP packet from the SPI to the ICV.
struct EspLayout {
  size_t iv_bytes = 0, payload_bytes = 0, tfc_bytes = 0, pad_bytes = 0, icv_bytes = 0;
  size_t encrypted_bytes() const { return payload_bytes + tfc_bytes + pad_bytes + 2; }
  size_t authenticated_bytes() const { return 8 + iv_bytes + encrypted_bytes(); }
  size_t total_bytes() const { return authenticated_bytes() + icv_bytes; }
};
EspLayout esp_layout(const EspSuite& suite, size_t payload_bytes, size_t tfc_bytes = 0);

/// One direction of traffic: keys, addresses and the state a sender or a receiver keeps.
struct SecurityAssociation {
  uint32_t spi = 0x1001;
  EspSuite suite;
  EspMode mode = EspMode::Tunnel;
  std::vector<uint8_t> cipher_key;  // key, then the nonce: the order of the RFCs, tshark and scapy
  std::vector<uint8_t> auth_key;
  IpAddress outer_source, outer_destination;  // tunnel mode
  uint64_t sequence = 0;                      // last number sent
  uint64_t highest_received = 0;  // a receiver that goes on from an earlier run: everything up to here is old
  bool esn = false;               // 64-bit numbers; the high half is authenticated but not sent
  unsigned replay_window = 64;    // packets; 0 turns the service off
  size_t tfc_pad_to_bytes = 0;    // tunnel mode: payloads are padded up to this size, 0 is off
  uint64_t seed = 1;              // IV salt

  std::string suite_name() const { return suite.name; }
};

/// SetupError with one sentence when the association cannot work (key sizes, reserved SPI, mixed addresses...).
void check_sa(const SecurityAssociation& sa);

/// An association with keys made from the seed: for benchmarks and tests, reproducible and hence not secret.
SecurityAssociation make_sa(const EspSuite& suite, EspMode mode, uint32_t spi, uint64_t seed, bool outer_v6 = false);

/// The lines that make Wireshark open our packets: the content of its `esp_sa` file, one line per IP version the
/// association can have (two in transport mode). A line works as well in: tshark -o 'uat:esp_sa:<line>'.
std::string tshark_sa_line(const SecurityAssociation& sa);

std::string to_hex(std::span<const uint8_t> bytes);
/// Takes "00ff.." or "0x00ff.."; SetupError that names `what`.
std::vector<uint8_t> bytes_from_hex(std::string_view text, std::string_view what);

/// Next number in a reproducible stream (SplitMix64).
inline uint64_t next_random(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/// Where the IVs of an association come from. Both kinds depend on nothing but salt and sequence number, so packets
/// submitted back to back, while none has completed, cannot get the same one.
class EspIvSource {
 public:
  explicit EspIvSource(uint64_t seed);
  /// CTR: the IV on the wire, 64-bit sequence XOR salt.
  uint64_t counter_iv(uint64_t sequence) const { return sequence ^ salt_[0]; }
  /// CBC: the block that is encrypted (as zeros under this IV, with the key of the association) to become the IV on the
  /// wire. Per 64-bit word (salt OR 1) x sequence: an odd factor keeps numbers apart, the cipher makes them
  /// unpredictable.
  void cbc_nonce(uint64_t sequence, unsigned iv_bytes, uint8_t* to) const;

 private:
  std::array<uint64_t, 2> salt_;
};

/// The receiver's window (RFC 4303 3.4.3 and appendix A). `check` never changes anything, so it may be asked before
/// and again after decryption; only `advance` moves, and only for packets that proved authentic.
class AntiReplay {
 public:
  enum class Verdict : uint8_t { Accept, Replay, Window };
  explicit AntiReplay(unsigned window = 64, bool esn = false);
  /// The 64-bit number that a received low half stands for.
  uint64_t reconstruct(uint32_t low) const;
  /// Replay: seen before, or number 0, which is never sent. Window: too old to tell.
  Verdict check(uint64_t sequence) const;
  void advance(uint64_t sequence);
  /// Everything up to `highest` counts as seen.
  void start_at(uint64_t highest);
  uint64_t highest() const { return highest_; }

 private:
  bool seen(uint64_t s) const { return bits_[s % slots_ / 64] >> (s % 64) & 1; }
  unsigned window_;
  bool esn_;
  uint64_t slots_;
  uint64_t highest_ = 0;
  std::vector<uint64_t> bits_;
};

}  // namespace sec::host
