#include "driver/crypto/authenc_key.h"

#include <cstring>

#include "common/endian.h"

namespace sec::crypto {
namespace {
constexpr size_t kHeaderBytes = 8;
constexpr uint16_t kParamType = 1;
}  // namespace

std::vector<uint8_t> make_authenc_key(std::span<const uint8_t> auth, std::span<const uint8_t> cipher) {
  std::vector<uint8_t> blob(kHeaderBytes);
  const uint16_t head[2] = {kHeaderBytes, kParamType};
  std::memcpy(blob.data(), head, sizeof head);
  store_be32(blob.data() + 4, static_cast<uint32_t>(cipher.size()));
  blob.insert(blob.end(), auth.begin(), auth.end());
  blob.insert(blob.end(), cipher.begin(), cipher.end());
  return blob;
}

Status parse_authenc_key(std::span<const uint8_t> blob, AuthencKeys* keys) {
  if (blob.size() < kHeaderBytes) return Status::Invalid;
  uint16_t head[2];
  std::memcpy(head, blob.data(), sizeof head);
  if (head[0] != kHeaderBytes || head[1] != kParamType) return Status::Invalid;
  const size_t cipher = load_be32(blob.data() + 4);
  const auto rest = blob.subspan(kHeaderBytes);
  if (cipher > rest.size()) return Status::Invalid;
  keys->auth = rest.first(rest.size() - cipher);
  keys->cipher = rest.last(cipher);
  return Status::Ok;
}

}  // namespace sec::crypto
