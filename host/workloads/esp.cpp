#include "host/workloads/esp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "common/diag.h"
#include "common/endian.h"
#include "common/hex.h"

namespace sec::host {
namespace {

constexpr unsigned kMaxReplayWindow = 4096;

std::vector<EspSuite> make_suites() {
  struct Cipher {
    const char* name;
    EspCipher cipher;
    unsigned key, nonce, iv, align;
    const char* algorithm;
  };
  static constexpr Cipher kCiphers[] = {
      {"aes128-cbc", EspCipher::AesCbc, 16, 0, 16, 16, "cbc(aes)"},
      {"aes192-cbc", EspCipher::AesCbc, 24, 0, 16, 16, "cbc(aes)"},
      {"aes256-cbc", EspCipher::AesCbc, 32, 0, 16, 16, "cbc(aes)"},
      {"aes128-ctr", EspCipher::AesCtr, 16, 4, 8, 4, "ctr(aes)"},
      {"aes192-ctr", EspCipher::AesCtr, 24, 4, 8, 4, "ctr(aes)"},
      {"aes256-ctr", EspCipher::AesCtr, 32, 4, 8, 4, "ctr(aes)"},
      {"3des-cbc", EspCipher::TripleDesCbc, 24, 0, 8, 8, "cbc(des3_ede)"},
      {"null", EspCipher::Null, 0, 0, 0, 4, ""},
  };
  struct Auth {
    const char* name;
    EspAuth auth;
    unsigned key, icv;
    const char* algorithm;
  };
  static constexpr Auth kAuths[] = {
      {"md5", EspAuth::HmacMd5_96, 16, 12, "hmac(md5)"},
      {"sha1", EspAuth::HmacSha1_96, 20, 12, "hmac(sha1)"},
      {"sha256", EspAuth::HmacSha256_128, 32, 16, "hmac(sha256)"},
      {"sha256-96", EspAuth::HmacSha256_96, 32, 12, "hmac(sha256)"},
      {"sha384", EspAuth::HmacSha384_192, 48, 24, "hmac(sha384)"},
      {"sha512", EspAuth::HmacSha512_256, 64, 32, "hmac(sha512)"},
      {"null", EspAuth::Null, 0, 0, ""},
  };
  std::vector<EspSuite> suites;
  for (const Cipher& c : kCiphers)
    for (const Auth& a : kAuths) {
      EspSuite s;
      s.name = std::string(c.name) + "-" + a.name;
      s.cipher = c.cipher;
      s.auth = a.auth;
      s.cipher_key_bytes = c.key;
      s.nonce_bytes = c.nonce;
      s.iv_bytes = c.iv;
      s.align_bytes = c.align;
      s.auth_key_bytes = a.key;
      s.icv_bytes = a.icv;
      s.cipher_algorithm = c.algorithm;
      s.hash_algorithm = a.algorithm;
      s.benchmark_only = c.cipher == EspCipher::Null && a.auth == EspAuth::Null;
      suites.push_back(s);
    }
  for (const bool gcm : {true, false})
    for (const unsigned key : {16u, 24u, 32u})
      for (const unsigned icv : {8u, 12u, 16u}) {
        EspSuite s;
        s.name = fmt::format("aes{}-{}{}", key * 8, gcm ? "gcm" : "ccm", icv);
        s.cipher = gcm ? EspCipher::AesGcm : EspCipher::AesCcm;
        s.auth = EspAuth::Combined;
        s.cipher_key_bytes = key;
        s.nonce_bytes = gcm ? 4 : 3;
        s.iv_bytes = 8;
        s.icv_bytes = icv;
        s.combined_algorithm = gcm ? "rfc4106(gcm(aes))" : "rfc4309(ccm(aes))";
        suites.push_back(s);
      }
  std::stable_partition(suites.begin(), suites.end(), [](const EspSuite& s) { return !s.benchmark_only; });
  return suites;
}

}  // namespace

const std::vector<EspSuite>& esp_suites() {
  static const std::vector<EspSuite> kSuites = make_suites();
  return kSuites;
}

const EspSuite& esp_suite(std::string_view name, bool allow_benchmark_only) {
  std::string names;
  for (const EspSuite& s : esp_suites()) {
    if (s.name == name) {
      if (s.benchmark_only && !allow_benchmark_only)
        throw SetupError("the ESP suite \"" + s.name +
                         "\" neither encrypts nor authenticates and is only for measuring the framing: ask for the "
                         "benchmark suites explicitly to use it");
      return s;
    }
    if (!s.benchmark_only) names += (names.empty() ? "" : ", ") + s.name;
  }
  throw SetupError("there is no ESP suite \"" + std::string(name) + "\": use one of " + names);
}

std::string aead_algorithm(const EspSuite& suite) {
  if (!suite.combined_algorithm.empty()) return suite.combined_algorithm;
  const bool cbc = suite.cipher == EspCipher::AesCbc || suite.cipher == EspCipher::TripleDesCbc;
  if (!cbc || suite.hash_algorithm.empty()) return {};
  return fmt::format("authenc({},{})", suite.hash_algorithm, suite.cipher_algorithm);
}

EspLayout esp_layout(const EspSuite& suite, size_t payload_bytes, size_t tfc_bytes) {
  EspLayout l;
  l.iv_bytes = suite.iv_bytes;
  l.payload_bytes = payload_bytes;
  l.tfc_bytes = tfc_bytes;
  l.pad_bytes = (suite.align_bytes - (payload_bytes + tfc_bytes + 2) % suite.align_bytes) % suite.align_bytes;
  l.icv_bytes = suite.icv_bytes;
  return l;
}

void check_sa(const SecurityAssociation& sa) {
  const EspSuite& s = sa.suite;
  if (s.name.empty()) throw SetupError("the security association names no ESP suite: set one, such as aes128-cbc-sha1");
  if (sa.spi < 256) throw SetupError(fmt::format("SPI {} is reserved (RFC 4303): use 256 or more", sa.spi));
  const size_t cipher_key = size_t{s.cipher_key_bytes} + s.nonce_bytes;
  if (sa.cipher_key.size() != cipher_key)
    throw SetupError(fmt::format("the cipher key for {} has {} bytes: give {}{}", s.name, sa.cipher_key.size(),
                                 cipher_key, s.nonce_bytes ? fmt::format(", the last {} being the nonce", s.nonce_bytes) : ""));
  if (sa.auth_key.size() != s.auth_key_bytes)
    throw SetupError(fmt::format("the authentication key for {} has {} bytes: give {}", s.name, sa.auth_key.size(),
                                 s.auth_key_bytes));
  if (sa.mode == EspMode::Tunnel && sa.outer_source.v6 != sa.outer_destination.v6)
    throw SetupError("the outer addresses " + sa.outer_source.to_string() + " and " + sa.outer_destination.to_string() +
                     " mix IPv4 and IPv6: give two of the same kind");
  if (sa.tfc_pad_to_bytes && sa.mode == EspMode::Transport)
    throw SetupError(
        "traffic flow padding works in tunnel mode only, since the receiver finds the end of the payload "
        "by the inner IP header: drop the option or use tunnel mode");
  if (sa.replay_window > kMaxReplayWindow)
    throw SetupError(fmt::format("an anti-replay window of {} packets is too large: use 0 to {}", sa.replay_window,
                                 kMaxReplayWindow));
  if (sa.esn && (s.auth == EspAuth::Null || sa.replay_window == 0))
    throw SetupError(
        "64-bit sequence numbers need authentication and an anti-replay window: choose a suite with a hash "
        "and a window above 0");
  if (!sa.esn && sa.sequence > 0xffffffff)
    throw SetupError(
        fmt::format("sequence number {} does not fit in 32 bits: turn on 64-bit sequence numbers", sa.sequence));
}

SecurityAssociation make_sa(const EspSuite& suite, EspMode mode, uint32_t spi, uint64_t seed, bool outer_v6) {
  SecurityAssociation sa;
  sa.spi = spi;
  sa.suite = suite;
  sa.mode = mode;
  sa.seed = seed;
  uint64_t random = seed ^ (uint64_t{spi} << 32);
  sa.cipher_key.resize(size_t{suite.cipher_key_bytes} + suite.nonce_bytes);
  for (uint8_t& b : sa.cipher_key) b = static_cast<uint8_t>(next_random(random) >> 56);
  sa.auth_key.resize(suite.auth_key_bytes);
  for (uint8_t& b : sa.auth_key) b = static_cast<uint8_t>(next_random(random) >> 56);
  if (suite.cipher == EspCipher::TripleDesCbc)  // odd parity, for peers that look at it
    for (uint8_t& b : sa.cipher_key) b = static_cast<uint8_t>((b & 0xfe) | (__builtin_popcount(b & 0xfe) % 2 ? 0 : 1));
  sa.outer_source = IpAddress::parse(outer_v6 ? "2001:db8:ffff::1" : "192.0.2.1", "outer source");
  sa.outer_destination = IpAddress::parse(outer_v6 ? "2001:db8:ffff::2" : "192.0.2.2", "outer destination");
  return sa;
}

std::string tshark_sa_line(const SecurityAssociation& sa) {
  const char* cipher = "NULL";
  switch (sa.suite.cipher) {
    case EspCipher::Null:
      break;
    case EspCipher::AesCbc:
      cipher = "AES-CBC [RFC3602]";
      break;
    case EspCipher::AesCtr:
      cipher = "AES-CTR [RFC3686]";
      break;
    case EspCipher::TripleDesCbc:
      cipher = "TripleDES-CBC [RFC2451]";
      break;
    case EspCipher::AesGcm:
      cipher = sa.suite.icv_bytes == 8    ? "AES-GCM with 8 octet ICV [RFC4106]"
               : sa.suite.icv_bytes == 12 ? "AES-GCM with 12 octet ICV [RFC4106]"
                                          : "AES-GCM with 16 octet ICV [RFC4106]";
      break;
    case EspCipher::AesCcm:
      return {};  // tshark 4.0 does not know it
  }
  const char* auth = "NULL";
  switch (sa.suite.auth) {
    case EspAuth::Null:
    case EspAuth::Combined:
      break;
    case EspAuth::HmacMd5_96:
      auth = "HMAC-MD5-96 [RFC2403]";
      break;
    case EspAuth::HmacSha384_192:
      auth = "HMAC-SHA-384-192 [RFC4868]";
      break;
    case EspAuth::HmacSha512_256:
      auth = "HMAC-SHA-512-256 [RFC4868]";
      break;
    case EspAuth::HmacSha1_96:
      auth = "HMAC-SHA-1-96 [RFC2404]";
      break;
    case EspAuth::HmacSha256_128:
      auth = "HMAC-SHA-256-128 [RFC4868]";
      break;
    case EspAuth::HmacSha256_96:
      auth = "HMAC-SHA-256-96 [draft-ietf-ipsec-ciph-sha-256-00]";
      break;
  }
  // tshark 4.0 knows no 64-bit numbers and calls a right ICV wrong.
  std::string unchecked;
  if (sa.esn && sa.suite.icv_bytes && sa.suite.auth != EspAuth::Combined) {
    unchecked = fmt::format("ANY {} bit authentication [no checking]", sa.suite.icv_bytes * 8);
    auth = unchecked.c_str();
  }
  const auto key = [](const std::vector<uint8_t>& k) { return k.empty() ? std::string() : "0x" + to_hex(k); };
  const auto line = [&](bool v6, const std::string& from, const std::string& to) {
    return fmt::format("\"{}\",\"{}\",\"{}\",\"0x{:08x}\",\"{}\",\"{}\",\"{}\",\"{}\"\n", v6 ? "IPv6" : "IPv4", from,
                       to, sa.spi, cipher, key(sa.cipher_key), auth, key(sa.auth_key));
  };
  if (sa.mode == EspMode::Tunnel)
    return line(sa.outer_source.v6, sa.outer_source.to_string(), sa.outer_destination.to_string());
  return line(false, "*", "*") + line(true, "*", "*");
}

std::string to_hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (uint8_t b : bytes) text += fmt::format("{:02x}", b);
  return text;
}

std::vector<uint8_t> bytes_from_hex(std::string_view text, std::string_view what) {
  std::string_view digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  std::vector<uint8_t> bytes;
  if (const auto bad = read_hex(digits, bytes)) {
    if (digits.size() % 2 && *bad + 1 == digits.size() && std::isxdigit(static_cast<unsigned char>(digits[*bad])))
      throw SetupError(fmt::format("{} has an odd number of hexadecimal digits: give two per byte", what));
    throw SetupError(fmt::format("{} has the character '{}', which is not a hexadecimal digit", what, digits[*bad]));
  }
  return bytes;
}

EspIvSource::EspIvSource(uint64_t seed) {
  uint64_t state = seed ^ 0x6573702d69762d73;  // not the stream that make_sa takes keys from
  for (uint64_t& s : salt_) s = next_random(state);
}

void EspIvSource::cbc_nonce(uint64_t sequence, unsigned iv_bytes, uint8_t* to) const {
  for (unsigned i = 0; i < iv_bytes / 8; ++i) store_be64(to + 8 * i, (salt_[i] | 1) * sequence);
}

AntiReplay::AntiReplay(unsigned window, bool esn)
    : window_(window),
      esn_(esn),
      slots_(std::max<uint64_t>(64, (uint64_t{window} + 63) / 64 * 64)),
      bits_(slots_ / 64) {}

uint64_t AntiReplay::reconstruct(uint32_t low) const {
  if (!esn_) return low;
  const auto top_low = static_cast<uint32_t>(highest_);
  const auto top_high = static_cast<uint32_t>(highest_ >> 32);
  const uint32_t bottom = top_low - (window_ - 1);  // modulo 2^32
  uint32_t high;
  if (top_low >= window_ - 1)
    high = low >= bottom ? top_high : top_high + 1;
  else  // the window reaches back over the wrap; nothing was sent before number 0
    high = low >= bottom && top_high > 0 ? top_high - 1 : top_high;
  return uint64_t{high} << 32 | low;
}

AntiReplay::Verdict AntiReplay::check(uint64_t sequence) const {
  if (window_ == 0) return Verdict::Accept;
  if (sequence == 0) return Verdict::Replay;
  if (sequence > highest_) return Verdict::Accept;
  if (highest_ - sequence >= window_) return Verdict::Window;
  return seen(sequence) ? Verdict::Replay : Verdict::Accept;
}

void AntiReplay::advance(uint64_t sequence) {
  if (window_ == 0) return;
  if (sequence > highest_) {
    if (sequence - highest_ >= slots_) {
      std::fill(bits_.begin(), bits_.end(), 0);
    } else {
      for (uint64_t s = highest_ + 1; s <= sequence; ++s) bits_[s % slots_ / 64] &= ~(uint64_t{1} << (s % 64));
    }
    highest_ = sequence;
  }
  bits_[sequence % slots_ / 64] |= uint64_t{1} << (sequence % 64);
}

void AntiReplay::start_at(uint64_t highest) {
  if (window_ == 0) return;
  highest_ = highest;
  std::fill(bits_.begin(), bits_.end(), highest ? ~uint64_t{0} : 0);
}

}  // namespace sec::host
