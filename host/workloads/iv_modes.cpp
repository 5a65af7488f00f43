#include "host/workloads/iv_modes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "common/diag.h"
#include "common/endian.h"

namespace sec::host {
namespace {

constexpr std::string_view kSupported =
    "supported are aes-{cbc|xts|ctr}-{plain|plain64|plain64be|benbi|essiv:sha256|essiv:md5|eboiv|null}, aes-ecb and "
    "{des|des3_ede}-cbc-{plain|plain64|plain64be|benbi|null}";

struct IvName {
  std::string_view name;
  IvMode mode;
};
constexpr std::array<IvName, 7> kIvNames = {{{"plain", IvMode::Plain},
                                             {"plain64", IvMode::Plain64},
                                             {"plain64be", IvMode::Plain64Be},
                                             {"benbi", IvMode::Benbi},
                                             {"essiv", IvMode::Essiv},
                                             {"eboiv", IvMode::Eboiv},
                                             {"null", IvMode::Null}}};
struct ModeName {
  std::string_view name;
  DiskMode mode;
};
constexpr std::array<ModeName, 4> kModeNames = {
    {{"cbc", DiskMode::Cbc}, {"xts", DiskMode::Xts}, {"ctr", DiskMode::Ctr}, {"ecb", DiskMode::Ecb}}};

void store_le64(uint8_t* p, uint64_t v) {
  for (int i = 0; i < 8; ++i) p[i] = static_cast<uint8_t>(v >> (8 * i));
}

std::string_view mode_name(DiskMode mode) {
  for (const ModeName& m : kModeNames)
    if (m.mode == mode) return m.name;
  return "?";
}

}  // namespace

std::string DiskCipherSpec::algorithm() const { return fmt::format("{}({})", mode_name(mode), cipher); }

std::vector<unsigned> DiskCipherSpec::key_sizes_bytes() const {
  if (cipher == "des") return {8};
  if (cipher == "des3_ede") return {24};
  // AES-192 has no XTS form in IEEE 1619, but every implementation takes it.
  return mode == DiskMode::Xts ? std::vector<unsigned>{32, 48, 64} : std::vector<unsigned>{16, 24, 32};
}

unsigned DiskCipherSpec::default_key_bytes() const { return key_sizes_bytes().back(); }

DiskCipherSpec parse_disk_cipher(std::string_view text, std::string_view where) {
  const auto refuse = [&](std::string_view why) -> SetupError {
    return SetupError(fmt::format("{}: the disk cipher \"{}\" {}; {}", where, text, why, kSupported));
  };
  if (text.starts_with("capi:")) throw refuse("is written for the kernel's crypto API, which is not supported here");
  const size_t dash = text.find('-');
  DiskCipherSpec spec;
  spec.cipher = text.substr(0, dash);
  if (spec.cipher.find(':') != std::string::npos) throw refuse("has a key count, and volumes have one key here");
  if (spec.cipher != "aes" && spec.cipher != "des" && spec.cipher != "des3_ede") throw refuse("is not known");

  std::string_view rest = dash == std::string_view::npos ? "cbc-plain" : text.substr(dash + 1);
  const size_t second = rest.find('-');
  const std::string_view mode = rest.substr(0, second);
  const auto m = std::find_if(kModeNames.begin(), kModeNames.end(), [&](const ModeName& n) { return n.name == mode; });
  if (m == kModeNames.end()) throw refuse(fmt::format("has the mode \"{}\", which is not known", mode));
  spec.mode = m->mode;
  if (spec.cipher != "aes" && spec.mode != DiskMode::Cbc) throw refuse("has a mode that exists for aes only");

  std::string iv_text;
  if (second == std::string_view::npos) {
    if (spec.mode != DiskMode::Ecb) throw refuse("lacks its IV mode");
    spec.iv = IvMode::None;
  } else {
    std::string_view iv = rest.substr(second + 1);
    const size_t colon = iv.find(':');
    const std::string_view options = colon == std::string_view::npos ? std::string_view{} : iv.substr(colon + 1);
    const std::string_view name = iv.substr(0, colon);
    const auto i = std::find_if(kIvNames.begin(), kIvNames.end(), [&](const IvName& n) { return n.name == name; });
    if (i == kIvNames.end()) throw refuse(fmt::format("has the IV mode \"{}\", which is not known", name));
    spec.iv = i->mode;
    if (spec.iv == IvMode::Essiv) {
      // The digest is the key of the IV's cipher, so only digests that are AES keys are possible.
      if (options != "sha256" && options != "md5") throw refuse("needs a hash whose digest is an AES key");
      spec.iv_hash = options;
    } else if (colon != std::string_view::npos) {
      throw refuse(fmt::format("has the option \"{}\", and its IV mode takes none", options));
    }
    if ((spec.iv == IvMode::Essiv || spec.iv == IvMode::Eboiv) && spec.cipher != "aes")
      throw refuse("has an IV mode that exists for aes only");
    // E_key with an XTS key, which is two keys, has no meaning; dm-crypt refuses it too.
    if (spec.iv == IvMode::Eboiv && spec.mode == DiskMode::Xts)
      throw refuse("combines eboiv with xts, which is not defined");
    iv_text = iv;
    // LUKS headers written by qemu-img carry an IV mode with ECB ("ecb-plain64"). It has no effect.
    if (spec.mode == DiskMode::Ecb) spec.iv = IvMode::None;
  }
  spec.text = fmt::format("{}-{}{}{}", spec.cipher, mode, iv_text.empty() ? "" : "-", iv_text);
  return spec;
}

void check_disk_key(const DiskCipherSpec& spec, size_t key_bytes, std::string_view where) {
  const std::vector<unsigned> sizes = spec.key_sizes_bytes();
  if (std::find(sizes.begin(), sizes.end(), key_bytes) != sizes.end()) return;
  std::vector<unsigned> bits;
  for (unsigned s : sizes) bits.push_back(s * 8);
  throw SetupError(fmt::format("{}: a key of {} bits does not fit {}: use {} bits", where, key_bytes * 8, spec.text,
                               fmt::join(bits, ", ")));
}

void check_geometry(const SectorGeometry& g) {
  if (g.sector_bytes < 512 || g.sector_bytes > 4096 || !std::has_single_bit(g.sector_bytes))
    throw SetupError(
        fmt::format("a sector size of {} bytes is not possible: use 512, 1024, 2048 or 4096", g.sector_bytes));
  if (g.iv_offset % g.units_per_sector())
    throw SetupError(
        fmt::format("the IV offset {} must be a multiple of {} units of 512 bytes, since sectors have {} bytes",
                    g.iv_offset, g.units_per_sector(), g.sector_bytes));
}

std::string iv_reuse_warning(const DiskCipherSpec& spec, const SectorGeometry& geometry, uint64_t first_unit,
                             uint64_t units) {
  if (spec.iv != IvMode::Plain || units == 0) return {};
  const uint64_t last = geometry.iv_number(first_unit + units - geometry.units_per_sector());
  if (last >> 32 == 0) return {};
  return fmt::format(
      "the IV mode \"plain\" keeps 32 bits of the sector number, and this volume reaches number {}: IVs repeat every "
      "2^32 "
      "units (2 TiB with sectors of 512 bytes); use plain64",
      last);
}

struct IvGenerator::BareCipher {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();

  explicit BareCipher(std::span<const uint8_t> key) {
    const EVP_CIPHER* cipher = key.size() == 16   ? EVP_aes_128_ecb()
                               : key.size() == 24 ? EVP_aes_192_ecb()
                                                  : EVP_aes_256_ecb();
    SEC_CHECK(context && (key.size() == 16 || key.size() == 24 || key.size() == 32), "bare AES of an IV mode");
    SEC_CHECK(EVP_EncryptInit_ex(context, cipher, nullptr, key.data(), nullptr) == 1, "bare AES of an IV mode");
    EVP_CIPHER_CTX_set_padding(context, 0);
  }
  ~BareCipher() { EVP_CIPHER_CTX_free(context); }
  BareCipher(const BareCipher&) = delete;
  BareCipher& operator=(const BareCipher&) = delete;

  void block(uint8_t* p) const {
    int n = 0;
    SEC_CHECK(EVP_EncryptUpdate(context, p, &n, p, 16) == 1 && n == 16, "bare AES of an IV mode");
  }
};

IvGenerator::IvGenerator(const DiskCipherSpec& spec, std::span<const uint8_t> key, unsigned sector_bytes)
    : spec_(spec), sector_bytes_(sector_bytes) {
  check_disk_key(spec, key.size());
  if (spec.iv == IvMode::Essiv) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    const EVP_MD* hash = spec.iv_hash == "md5" ? EVP_md5() : EVP_sha256();
    if (EVP_Digest(key.data(), key.size(), digest, &n, hash, nullptr) != 1)
      throw SetupError(fmt::format("{}: this OpenSSL does not offer {}, use another IV mode", spec.text, spec.iv_hash));
    cipher_ = std::make_unique<BareCipher>(std::span<const uint8_t>(digest, n));
    OPENSSL_cleanse(digest, sizeof digest);
  } else if (spec.iv == IvMode::Eboiv) {
    cipher_ = std::make_unique<BareCipher>(key);
  }
}

IvGenerator::~IvGenerator() = default;
IvGenerator::IvGenerator(IvGenerator&&) noexcept = default;
IvGenerator& IvGenerator::operator=(IvGenerator&&) noexcept = default;

void IvGenerator::make(uint64_t n, uint8_t* iv) const {
  const unsigned size = spec_.iv_bytes();
  if (size == 0) return;
  std::memset(iv, 0, size);
  switch (spec_.iv) {
    case IvMode::None:
    case IvMode::Null:
      break;
    case IvMode::Plain:
      store_le64(iv, n & 0xffff'ffff);
      break;
    case IvMode::Plain64:
      store_le64(iv, n);
      break;
    case IvMode::Plain64Be:
      store_be64(iv + size - 8, n);
      break;
    case IvMode::Benbi: {
      // dm-crypt takes the block size of the whole mode, which is 1 for counter mode.
      const unsigned block = spec_.mode == DiskMode::Ctr ? 1 : spec_.cipher_block_bytes();
      store_be64(iv + size - 8, (n << (9 - std::countr_zero(block))) + 1);
      break;
    }
    case IvMode::Essiv:
      store_le64(iv, n);
      cipher_->block(iv);
      break;
    case IvMode::Eboiv:
      store_le64(iv, n * sector_bytes_);
      cipher_->block(iv);
      break;
  }
}

}  // namespace sec::host
