#include "host/workloads/luks1.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>

#include "common/diag.h"
#include "common/endian.h"

namespace sec::host {
namespace {

constexpr uint8_t kMagic[6] = {'L', 'U', 'K', 'S', 0xba, 0xbe};
constexpr size_t kNameBytes = 32, kUuidBytes = 40;
// Offsets of the header's fields [LUKS1 figure 1] and of a key slot's [LUKS1 figure 2].
constexpr size_t kVersionAt = 6, kCipherNameAt = 8, kCipherModeAt = 40, kHashAt = 72, kPayloadOffsetAt = 104,
                 kKeyBytesAt = 108, kDigestAt = 112, kDigestSaltAt = 132, kDigestIterationsAt = 164, kUuidAt = 168,
                 kSlotsAt = 208;
constexpr size_t kSlotBytes = 48, kSlotStateAt = 0, kSlotIterationsAt = 4, kSlotSaltAt = 8, kSlotAreaAt = 40,
                 kSlotStripesAt = 44;
constexpr uint32_t kAreaAlignUnits = 8;  // slots begin at multiples of 4096 bytes [LUKS1 6]
constexpr uint32_t kMaxKeyBytes = 64;
constexpr uint32_t kMaxStripes = 1 << 16;

const EVP_MD* find_hash(std::string_view name) {
  for (std::string_view known : {"sha1", "sha224", "sha256", "sha384", "sha512", "ripemd160"})
    if (name == known) return EVP_get_digestbyname(std::string(known).c_str());
  return nullptr;
}

const EVP_MD* need_hash(std::string_view name, std::string_view where) {
  const EVP_MD* md = find_hash(name);
  // Asked for rather than looked up: OpenSSL lists digests whose provider is not loaded.
  uint8_t digest[EVP_MAX_MD_SIZE];
  if (!md || EVP_Digest(nullptr, 0, digest, nullptr, md, nullptr) != 1)
    throw SetupError(fmt::format(
        "{}: the LUKS hash \"{}\" is not offered here: use sha1, sha224, sha256, sha384 or sha512", where, name));
  return md;
}

void pbkdf2(std::span<const uint8_t> secret, std::span<const uint8_t> salt, uint32_t iterations, const EVP_MD* hash,
            std::span<uint8_t> out) {
  // An empty secret is legal; OpenSSL wants a pointer all the same.
  static constexpr char kNothing = 0;
  const char* p = secret.empty() ? &kNothing : reinterpret_cast<const char*>(secret.data());
  SEC_CHECK(PKCS5_PBKDF2_HMAC(p, static_cast<int>(secret.size()), salt.data(), static_cast<int>(salt.size()),
                              static_cast<int>(iterations), hash, static_cast<int>(out.size()), out.data()) == 1,
            "PBKDF2");
}

/// H of the splitter [LUKS1 2.4]: each digest-sized piece becomes the hash of its number and itself; the last is cut.
void diffuse(std::span<uint8_t> block, const EVP_MD* hash) {
  const size_t digest_bytes = static_cast<size_t>(EVP_MD_get_size(hash));
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  SEC_CHECK(context, "hash context");
  uint32_t number = 0;
  for (size_t at = 0; at < block.size(); at += digest_bytes, ++number) {
    const size_t n = std::min(digest_bytes, block.size() - at);
    uint8_t prefix[4], digest[EVP_MAX_MD_SIZE];
    store_be32(prefix, number);
    SEC_CHECK(EVP_DigestInit_ex(context, hash, nullptr) == 1 && EVP_DigestUpdate(context, prefix, 4) == 1 &&
                  EVP_DigestUpdate(context, block.data() + at, n) == 1 &&
                  EVP_DigestFinal_ex(context, digest, nullptr) == 1,
              "hash of the anti-forensic splitter");
    std::memcpy(block.data() + at, digest, n);
  }
  EVP_MD_CTX_free(context);
}

void xor_into(std::span<uint8_t> to, std::span<const uint8_t> from) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<uint8_t>(to[i] ^ from[i]);
}

uint64_t area_units(uint32_t key_bytes, uint32_t stripes) {
  return (uint64_t{key_bytes} * stripes + kUnitBytes - 1) / kUnitBytes;
}

/// A text field: must end with a zero byte and hold printable characters only.
std::string text_field(std::span<const uint8_t> head, size_t at, size_t size, std::string_view file, const char* what) {
  const auto* p = head.data() + at;
  const auto* end = std::find(p, p + size, uint8_t{0});
  if (end == p + size || std::any_of(p, end, [](uint8_t c) { return c < 0x20 || c > 0x7e; }))
    throw SetupError(fmt::format("\"{}\": the {} in the LUKS header is not a text: the header is damaged", file, what));
  return std::string(p, end);
}

/// Key material in and out of its sectors: a volume of its own, with sectors from 0.
void crypt_material(const DiskCipherSpec& cipher, std::span<const uint8_t> key, DiskDirection direction,
                    std::span<uint8_t> material, const DiskEnvironment& environment, std::string_view file) {
  DiskEnvironment quiet = environment;  // set-up is not charged
  quiet.cpu = nullptr;
  quiet.charge_cipher = quiet.charge_iv = nullptr;
  DiskPipelineOptions options;
  options.cipher = cipher;
  options.key.assign(key.begin(), key.end());
  options.bio_bytes = 16 * 1024;
  options.bios = 2;
  std::string failure;
  const Status s = crypt_sectors(quiet, options, direction, 0, material, &failure);
  OPENSSL_cleanse(options.key.data(), options.key.size());
  if (s != Status::Ok)
    throw SetupError(fmt::format("\"{}\": the cipher of the LUKS key slot failed ({}{}{}): try another driver", file,
                                 errno_name(s), failure.empty() ? "" : ", ", failure));
}

}  // namespace

DiskCipherSpec Luks1Header::cipher(std::string_view where) const {
  return parse_disk_cipher(cipher_name + "-" + cipher_mode, where);
}

Luks1Header parse_luks1(std::span<const uint8_t> head, uint64_t file_bytes, std::string_view file) {
  const auto damaged = [&](const std::string& why) {
    return SetupError(fmt::format("\"{}\": the LUKS header is damaged: {}", file, why));
  };
  if (head.size() < kSlotsAt || head.size() < kLuks1HeaderBytes ||
      std::memcmp(head.data(), kMagic, sizeof kMagic) != 0) {
    if (head.size() >= sizeof kMagic && std::memcmp(head.data(), kMagic, sizeof kMagic) == 0)
      throw SetupError(fmt::format("\"{}\" is truncated: it has {} bytes, and a LUKS header has {}", file, file_bytes,
                                   kLuks1HeaderBytes));
    throw SetupError(fmt::format("\"{}\" is not a LUKS container: it does not begin with the LUKS magic", file));
  }
  const uint16_t version = load_be16(head.data() + kVersionAt);
  if (version != 1)
    throw SetupError(
        fmt::format("\"{}\" is a LUKS container of version {}, and only version 1 is supported: make it with "
                    "luksFormat --type luks1 or qemu-img create -f luks",
                    file, version));
  Luks1Header h;
  h.cipher_name = text_field(head, kCipherNameAt, kNameBytes, file, "cipher name");
  h.cipher_mode = text_field(head, kCipherModeAt, kNameBytes, file, "cipher mode");
  h.hash = text_field(head, kHashAt, kNameBytes, file, "hash name");
  h.uuid = text_field(head, kUuidAt, kUuidBytes, file, "UUID");
  h.payload_offset_units = load_be32(head.data() + kPayloadOffsetAt);
  h.key_bytes = load_be32(head.data() + kKeyBytesAt);
  std::memcpy(h.digest.data(), head.data() + kDigestAt, h.digest.size());
  std::memcpy(h.digest_salt.data(), head.data() + kDigestSaltAt, h.digest_salt.size());
  h.digest_iterations = load_be32(head.data() + kDigestIterationsAt);

  const std::string where = fmt::format("\"{}\"", file);
  check_disk_key(h.cipher(where), h.key_bytes, where);
  need_hash(h.hash, where);
  if (h.digest_iterations < 1 || h.digest_iterations > kLuks1MaxIterations)
    throw damaged(
        fmt::format("{} iterations for the key digest, expected 1 to {}", h.digest_iterations, kLuks1MaxIterations));
  if (h.payload_offset_bytes() < kLuks1HeaderBytes)
    throw damaged(fmt::format("the payload offset is {} sectors, inside the header", h.payload_offset_units));
  if (h.payload_offset_bytes() > file_bytes)
    throw SetupError(fmt::format("\"{}\" is truncated: it has {} bytes, and its payload begins at {}", file, file_bytes,
                                 h.payload_offset_bytes()));
  if ((file_bytes - h.payload_offset_bytes()) % kUnitBytes)
    throw SetupError(fmt::format("\"{}\" is truncated: its payload of {} bytes is not a multiple of 512", file,
                                 file_bytes - h.payload_offset_bytes()));

  for (size_t i = 0; i < kLuks1Slots; ++i) {
    const uint8_t* p = head.data() + kSlotsAt + i * kSlotBytes;
    Luks1Slot& slot = h.slots[i];
    const uint32_t state = load_be32(p + kSlotStateAt);
    if (state != kLuks1SlotActive && state != kLuks1SlotDisabled)
      throw damaged(fmt::format("key slot {} has the state 0x{:08x}", i, state));
    slot.active = state == kLuks1SlotActive;
    slot.iterations = load_be32(p + kSlotIterationsAt);
    std::memcpy(slot.salt.data(), p + kSlotSaltAt, slot.salt.size());
    slot.area_offset_units = load_be32(p + kSlotAreaAt);
    slot.stripes = load_be32(p + kSlotStripesAt);
    if (!slot.active) continue;  // what else a disabled slot says does not matter
    if (slot.iterations < 1 || slot.iterations > kLuks1MaxIterations)
      throw damaged(
          fmt::format("key slot {} has {} iterations, expected 1 to {}", i, slot.iterations, kLuks1MaxIterations));
    if (slot.stripes < 1 || slot.stripes > kMaxStripes)
      throw damaged(fmt::format("key slot {} has {} stripes, expected {}", i, slot.stripes, kLuks1Stripes));
    const uint64_t end = slot.area_offset_units + area_units(h.key_bytes, slot.stripes);
    if (slot.area_offset_units * kUnitBytes < kLuks1HeaderBytes || end > h.payload_offset_units)
      throw damaged(
          fmt::format("the key material of slot {} lies at sectors {} to {}, outside the space between header and "
                      "payload",
                      i, slot.area_offset_units, end));
  }
  return h;
}

std::array<uint8_t, kLuks1HeaderBytes> serialize(const Luks1Header& h) {
  std::array<uint8_t, kLuks1HeaderBytes> out{};
  const auto put_text = [&](size_t at, const std::string& text, size_t size) {
    SEC_CHECK(text.size() < size, "name too long for a LUKS header");
    std::memcpy(out.data() + at, text.data(), text.size());
  };
  std::memcpy(out.data(), kMagic, sizeof kMagic);
  store_be16(out.data() + kVersionAt, 1);
  put_text(kCipherNameAt, h.cipher_name, kNameBytes);
  put_text(kCipherModeAt, h.cipher_mode, kNameBytes);
  put_text(kHashAt, h.hash, kNameBytes);
  store_be32(out.data() + kPayloadOffsetAt, h.payload_offset_units);
  store_be32(out.data() + kKeyBytesAt, h.key_bytes);
  std::memcpy(out.data() + kDigestAt, h.digest.data(), h.digest.size());
  std::memcpy(out.data() + kDigestSaltAt, h.digest_salt.data(), h.digest_salt.size());
  store_be32(out.data() + kDigestIterationsAt, h.digest_iterations);
  put_text(kUuidAt, h.uuid, kUuidBytes);
  for (size_t i = 0; i < kLuks1Slots; ++i) {
    uint8_t* p = out.data() + kSlotsAt + i * kSlotBytes;
    const Luks1Slot& slot = h.slots[i];
    store_be32(p + kSlotStateAt, slot.active ? kLuks1SlotActive : kLuks1SlotDisabled);
    store_be32(p + kSlotIterationsAt, slot.iterations);
    std::memcpy(p + kSlotSaltAt, slot.salt.data(), slot.salt.size());
    store_be32(p + kSlotAreaAt, slot.area_offset_units);
    store_be32(p + kSlotStripesAt, slot.stripes);
  }
  return out;
}

std::vector<uint8_t> af_split(std::span<const uint8_t> key, uint32_t stripes, std::string_view hash,
                              const std::function<void(std::span<uint8_t>)>& random) {
  const EVP_MD* md = need_hash(hash, "--hash");
  const size_t n = key.size();
  std::vector<uint8_t> out(n * stripes), mixed(n);
  random(std::span(out).first(n * (stripes - 1)));
  for (uint32_t i = 0; i + 1 < stripes; ++i) {
    xor_into(mixed, std::span(out).subspan(i * n, n));
    diffuse(mixed, md);
  }
  xor_into(mixed, key);
  std::copy(mixed.begin(), mixed.end(), out.end() - static_cast<std::ptrdiff_t>(n));
  OPENSSL_cleanse(mixed.data(), n);
  return out;
}

std::vector<uint8_t> af_merge(std::span<const uint8_t> material, uint32_t stripes, std::string_view hash) {
  const EVP_MD* md = need_hash(hash, "--hash");
  SEC_CHECK(stripes && material.size() % stripes == 0, "size of anti-forensic key material");
  const size_t n = material.size() / stripes;
  std::vector<uint8_t> mixed(n);
  for (uint32_t i = 0; i + 1 < stripes; ++i) {
    xor_into(mixed, material.subspan(i * n, n));
    diffuse(mixed, md);
  }
  xor_into(mixed, material.subspan((stripes - 1) * n, n));
  return mixed;
}

std::vector<uint8_t> unlock_luks1(const Luks1Header& header, const ImageReader& file,
                                  std::span<const uint8_t> passphrase, const DiskEnvironment& environment) {
  const std::string where = fmt::format("\"{}\"", file.path());
  const DiskCipherSpec cipher = header.cipher(where);
  const EVP_MD* hash = need_hash(header.hash, where);
  for (const Luks1Slot& slot : header.slots) {
    if (!slot.active) continue;
    std::vector<uint8_t> slot_key(header.key_bytes);
    pbkdf2(passphrase, slot.salt, slot.iterations, hash, slot_key);
    std::vector<uint8_t> material(area_units(header.key_bytes, slot.stripes) * kUnitBytes);
    file.read(uint64_t{slot.area_offset_units} * kUnitBytes, material);
    crypt_material(cipher, slot_key, DiskDirection::Decrypt, material, environment, file.path());
    std::vector<uint8_t> key =
        af_merge(std::span(material).first(size_t{header.key_bytes} * slot.stripes), slot.stripes, header.hash);
    std::array<uint8_t, kLuks1DigestBytes> digest;
    pbkdf2(key, header.digest_salt, header.digest_iterations, hash, digest);
    OPENSSL_cleanse(slot_key.data(), slot_key.size());
    OPENSSL_cleanse(material.data(), material.size());
    if (CRYPTO_memcmp(digest.data(), header.digest.data(), digest.size()) == 0) return key;
    OPENSSL_cleanse(key.data(), key.size());
  }
  throw SetupError(fmt::format("no key slot of \"{}\" opens with this passphrase", file.path()));
}

Luks1Volume format_luks1(const Luks1FormatOptions& options, std::span<const uint8_t> passphrase,
                         const DiskEnvironment& environment) {
  const DiskCipherSpec cipher = parse_disk_cipher(options.cipher);
  const uint32_t key_bytes = options.key_bytes ? options.key_bytes : cipher.default_key_bytes();
  check_disk_key(cipher, key_bytes, "--key-size");
  const EVP_MD* hash = need_hash(options.hash, "--hash");
  if (options.iterations < 1 || options.iterations > kLuks1MaxIterations)
    throw SetupError(
        fmt::format("--iterations: {} is not possible: use 1 to {}", options.iterations, kLuks1MaxIterations));
  if (passphrase.empty()) throw SetupError("a LUKS container needs a passphrase that is not empty");

  uint64_t state = options.seed.value_or(0);
  const auto random = [&](std::span<uint8_t> out) {
    if (!options.seed) {
      if (!out.empty() && RAND_bytes(out.data(), static_cast<int>(out.size())) != 1)
        throw SetupError("this machine gives no random numbers for a LUKS key");
      return;
    }
    for (size_t i = 0; i < out.size(); ++i) {
      // splitmix64, a byte per step.
      uint64_t z = state += 0x9e3779b97f4a7c15;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      out[i] = static_cast<uint8_t>(z ^ (z >> 31));
    }
  };

  Luks1Volume v;
  Luks1Header& h = v.header;
  h.cipher_name = cipher.cipher;
  h.cipher_mode = cipher.text.substr(cipher.cipher.size() + 1);
  h.hash = options.hash;
  h.key_bytes = key_bytes;
  v.key.resize(key_bytes);
  random(v.key);
  random(h.digest_salt);
  h.digest_iterations = std::max<uint32_t>(options.iterations / 8, 1);
  pbkdf2(v.key, h.digest_salt, h.digest_iterations, hash, h.digest);
  std::array<uint8_t, 16> id;
  random(id);
  id[6] = static_cast<uint8_t>((id[6] & 0x0f) | 0x40);  // a random UUID, RFC 4122 4.4
  id[8] = static_cast<uint8_t>((id[8] & 0x3f) | 0x80);
  for (size_t i = 0; i < id.size(); ++i)
    h.uuid += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);

  // All eight slots have their place, as other tools will want to add passphrases.
  const auto area = static_cast<uint32_t>(area_units(key_bytes, kLuks1Stripes));
  const uint32_t step = (area + kAreaAlignUnits - 1) / kAreaAlignUnits * kAreaAlignUnits;
  for (size_t i = 0; i < kLuks1Slots; ++i)
    h.slots[i].area_offset_units = kAreaAlignUnits + static_cast<uint32_t>(i) * step;
  h.payload_offset_units = kAreaAlignUnits + kLuks1Slots * step;

  Luks1Slot& slot = h.slots[0];
  slot.active = true;
  slot.iterations = options.iterations;
  random(slot.salt);
  std::vector<uint8_t> slot_key(key_bytes);
  pbkdf2(passphrase, slot.salt, slot.iterations, hash, slot_key);
  std::vector<uint8_t> material = af_split(v.key, slot.stripes, h.hash, random);
  material.resize(size_t{area} * kUnitBytes);
  crypt_material(cipher, slot_key, DiskDirection::Encrypt, material, environment, "new container");
  OPENSSL_cleanse(slot_key.data(), slot_key.size());

  v.head.resize(h.payload_offset_bytes());
  const auto header = serialize(h);
  std::copy(header.begin(), header.end(), v.head.begin());
  std::copy(material.begin(), material.end(),
            v.head.begin() + static_cast<std::ptrdiff_t>(uint64_t{slot.area_offset_units} * kUnitBytes));
  return v;
}

}  // namespace sec::host
