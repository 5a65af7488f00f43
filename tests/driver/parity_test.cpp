// The registry of every part against tests/driver/parity.csv, a table made by hand: what Linux's driver offers there,
// with the header of each descriptor as it is seen in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "driver/crypto/authenc_key.h"
#include "tests/driver/harness.h"

namespace sec::test {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

std::vector<Row> table() {
  std::ifstream in(std::string(SEC_SOURCE_DIR) + "/tests/driver/parity.csv");
  std::vector<std::string> heading;
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto c = cells(line);
    if (heading.empty()) {
      heading = c;
      continue;
    }
    EXPECT_EQ(c.size(), heading.size()) << line;
    Row r;
    for (size_t i = 0; i < std::min(c.size(), heading.size()); ++i) r[heading[i]] = c[i];
    rows.push_back(r);
  }
  EXPECT_EQ(rows.size(), 41u);  // 39 drivers, two of them with another header on some parts
  return rows;
}

bool is_for(const Row& r, const std::string& version) {
  return (" " + r.at("sec") + " ").find(" " + version + " ") != std::string::npos;
}

struct Case {
  const char* part;
  const char* version;
  size_t count;
};
constexpr Case kCases[] = {{"mpc885", "1.2", 17},  {"mpc8349", "2.0", 23}, {"mpc8548", "2.1", 31},
                           {"mpc8323", "2.2", 31}, {"mpc8572", "3.0", 39}, {"p2020", "3.1", 39},
                           {"mpc8315", "3.3", 39}};

std::string expected_line(const Row& r) {
  std::string out = r.at("type") + " " + r.at("name") + " " + r.at("driver") + " priority " + r.at("priority") +
                    " block " + r.at("block");
  if (r.at("type") == "skcipher") out += " key " + r.at("min_key") + ".." + r.at("max_key");
  if (r.at("type") != "ahash") out += " iv " + r.at("iv");
  if (r.at("type") == "aead") out += " tag " + r.at("tag");
  if (r.at("type") == "ahash") out += " digest " + r.at("digest");
  return out;
}

std::string actual_line(const crypto::AlgorithmInfo& a) {
  using enum crypto::AlgorithmType;
  const char* type = a.type == Skcipher ? "skcipher" : a.type == Aead ? "aead" : "ahash";
  std::string out = std::string(type) + " " + a.name + " " + a.driver + " priority " + std::to_string(a.priority) +
                    " block " + std::to_string(a.block_bytes);
  if (a.type == Skcipher) out += " key " + std::to_string(a.min_key_bytes) + ".." + std::to_string(a.max_key_bytes);
  if (a.type != Hash) out += " iv " + std::to_string(a.iv_bytes);
  if (a.type == Aead) out += " tag " + std::to_string(a.max_auth_bytes);
  if (a.type == Hash) out += " digest " + std::to_string(a.digest_bytes);
  return out;
}

/// Encrypts or hashes 64 bytes and returns the first descriptor's header as the engine fetched it.
uint32_t header_of(Harness& h, const crypto::AlgorithmInfo& a) {
  h.engine.descriptors.clear();
  auto* memory = static_cast<uint8_t*>(h.dma().alloc(256, 64));
  crypto::Segment segment{memory, 256};
  crypto::ScatterList list(&segment, 1);
  Bytes iv(16), digest(64);
  const auto complete = [](void*, Status) {};
  if (a.type == crypto::AlgorithmType::Skcipher) {
    auto t = h.registry.alloc_skcipher(a.driver);
    EXPECT_EQ(t->set_key(Bytes(a.min_key_bytes, 0x13)), Status::Ok);
    crypto::SkcipherRequest r{.src = &list, .dst = &list, .size_bytes = 64, .iv = iv.data(), .complete = complete};
    EXPECT_EQ(t->decrypt(r), Status::InProgress);
    h.engine.run();
  } else if (a.type == crypto::AlgorithmType::Aead) {
    auto t = h.registry.alloc_aead(a.driver);
    EXPECT_EQ(t->set_key(crypto::make_authenc_key(Bytes(16, 1), Bytes(a.block_bytes == 8 ? 24 : 16, 0x13))),
              Status::Ok);
    crypto::AeadRequest r{
        .src = &list, .dst = &list, .aad_bytes = 8, .size_bytes = 64, .iv = iv.data(), .complete = complete};
    EXPECT_EQ(t->encrypt(r), Status::InProgress);
    h.engine.run();
  } else {
    auto t = h.registry.alloc_hash(a.driver);
    if (a.name.starts_with("hmac")) {
      EXPECT_EQ(t->set_key(Bytes(16, 1)), Status::Ok);
    }
    crypto::HashRequest r{.src = &list, .size_bytes = 64, .digest = digest.data(), .complete = complete};
    EXPECT_EQ(t->digest(r), Status::InProgress);
    h.engine.run();
  }
  h.dma().free(memory);
  EXPECT_FALSE(h.engine.descriptors.empty()) << a.driver;
  return h.engine.descriptors.empty() ? 0 : load_be32(h.engine.descriptors[0].data());
}

// T02, T03, T04, and the counts of every part.
TEST(Parity, RegistryIsLinuxsFieldByField) {
  const auto rows = table();
  for (const Case& c : kCases) {
    crypto::Registry registry;
    registry.set_selftest_enabled(false);
    FakeEngine engine({.part = regs::find_part(c.part)});
    driver::Device device(engine);
    device.set_extras(false);
    ASSERT_EQ(device.probe(engine.properties()), Status::Ok);
    ASSERT_EQ(device.register_algorithms(registry), Status::Ok);
    std::vector<std::string> expected, actual;
    for (const Row& r : rows)
      if (is_for(r, c.version)) expected.push_back(expected_line(r));
    for (const crypto::AlgorithmInfo& a : registry.list()) {
      actual.push_back(actual_line(a));
      EXPECT_EQ(a.module, "talitos");
      EXPECT_TRUE(a.async);
      EXPECT_FALSE(a.internal);
      EXPECT_FALSE(a.allocates_memory);  // unlike Linux's: disks may use ours
      EXPECT_EQ(a.composed, "");
      const bool hash = a.type == crypto::AlgorithmType::Hash;
      EXPECT_EQ(a.align_mask, !hash && std::string_view(c.version) == "1.2" ? 3u : 0u) << a.driver;
      if (hash) {
        EXPECT_EQ(a.state_bytes, registry.list().back().state_bytes) << "the export state of all hashes has one size";
      }
    }
    EXPECT_EQ(actual.size(), c.count) << c.part;
    std::sort(expected.begin(), expected.end());
    std::sort(actual.begin(), actual.end());
    std::vector<std::string> missing, unexpected;
    std::set_difference(expected.begin(), expected.end(), actual.begin(), actual.end(), std::back_inserter(missing));
    std::set_difference(actual.begin(), actual.end(), expected.begin(), expected.end(), std::back_inserter(unexpected));
    EXPECT_EQ(missing, std::vector<std::string>{}) << c.part;
    EXPECT_EQ(unexpected, std::vector<std::string>{}) << c.part;
  }
}

// T24: what lies in memory, big-endian; encryption sets ED, every descriptor asks for notification, hashes add their
// phase.
TEST(Parity, HeadersAreLinuxs) {
  const auto rows = table();
  for (const Case& c : kCases) {
    Harness h({.part = regs::find_part(c.part)});
    h.engine.keep_descriptors = true;
    for (const crypto::AlgorithmInfo& a : h.registry.list())
      for (const Row& r : rows) {
        if (r.at("driver") != a.driver || !is_for(r, c.version)) continue;
        uint32_t expected = static_cast<uint32_t>(std::stoul(r.at("header"), nullptr, 16)) | 1;
        if (a.type == crypto::AlgorithmType::Aead) expected |= 0x00100000;
        if (a.type == crypto::AlgorithmType::Hash) {
          const bool software_init = a.name == "sha224" && (r.at("header") == "30100010");
          expected |= 0x00400000 | (software_init ? 0 : 0x01000000) | (a.name.starts_with("hmac") ? 0x00800000 : 0);
        }
        EXPECT_EQ(header_of(h, a), expected) << c.part << " " << a.driver;
      }
  }
}

// What the hardware has beyond that, and on which parts.
TEST(Parity, ExtrasAreOfferedWhereTheHardwareHasThem) {
  const std::map<std::string, std::set<std::string>> everywhere = {
      {"mpc885",
       {"ofb-des-talitos", "cfb-des-talitos", "ofb-3des-talitos", "cfb-3des-talitos",
        "authenc-hmac-sha1-ctr-aes-talitos"}},
      {"mpc8349",
       {"ecb-arc4-talitos", "ccm-aes-talitos", "rfc4309-ccm-aes-talitos", "authenc-hmac-sha256-cbc-des-talitos"}},
      {"p2020",
       {"gcm-aes-talitos", "rfc4106-gcm-aes-talitos", "ccm-aes-talitos", "ofb-aes-talitos", "cfb-aes-talitos",
        "ecb-arc4-talitos", "authenc-hmac-sha512-ctr-aes-talitos"}},
      {"mpc8315", {"gcm-aes-talitos", "authenc-hmac-sha512-cbc-des-talitos"}}};
  for (const auto& [part, drivers] : everywhere) {
    Harness h({.part = regs::find_part(part)});
    std::set<std::string> have;
    for (const auto& a : h.registry.list()) have.insert(a.driver);
    for (const std::string& d : drivers) EXPECT_TRUE(have.contains(d)) << part << " " << d;
  }
  const std::pair<const char*, const char*> absent[] = {
      {"mpc885", "ccm-aes-talitos"},   {"mpc885", "authenc-hmac-sha1-cbc-des-talitos"},
      {"mpc8548", "gcm-aes-talitos"},  {"mpc8548", "ofb-aes-talitos"},
      {"mpc8315", "ecb-arc4-talitos"}, {"mpc8349", "authenc-hmac-sha224-ctr-aes-talitos"}};
  for (const auto& [part, driver] : absent) {
    Harness h({.part = regs::find_part(part)});
    for (const auto& a : h.registry.list()) EXPECT_NE(a.driver, driver) << part;
  }
}

}  // namespace
}  // namespace sec::test
