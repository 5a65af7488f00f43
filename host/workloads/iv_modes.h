// How a disk volume is encrypted: the cipher specification ("aes-cbc-essiv:sha256"), the sector geometry, and the
// initialisation vector of every sector, as dm-crypt, cryptsetup and qemu-img define them. Three pieces:
//
//   DiskCipherSpec   what a specification string means; parse_disk_cipher() reads one
//   SectorGeometry   turns the place of a sector into the IV number n
//   IvGenerator      turns n into the IV
//
// A specification is cipher[-mode[-iv[:hash]]]. A bare cipher means cbc-plain. ECB needs no IV mode. Nothing else is
// accepted: key counts ("aes:64"), "capi:" and the modes lmk, tcw, lrw, elephant and random are UNMODELLED.
//
// n counts units of 512 bytes whatever the sector size is: with sectors of 4096 bytes the second sector has n = 8.
// Only the large-sector option makes it count sectors.
//
//   plain      LE32(n mod 2^32), zeros      repeats every 2^32 units, which is 2 TiB: iv_reuse_warning()
//   plain64    LE64(n), zeros
//   plain64be  zeros, BE64(n)
//   benbi      zeros, BE64(n x 512/B + 1), B the cipher's block size (1 in counter mode): AES-CBC n x 32 + 1
//   essiv:H    E_{H(key)}(LE64(n), zeros): bare AES with the *full* digest as its key, so essiv:sha256 is AES-256 even
//              on a volume with 128-bit keys; H is over the whole volume key (both halves for XTS)
//   eboiv      E_key(LE64(n x sector size), zeros), the volume's cipher and key
//   null       zeros
//
// The IV's own encryption (essiv, eboiv) is one AES block per sector and is done by OpenSSL on the processor;
// whoever accounts for processor time charges it (`encrypts()` says whether there is anything to charge).
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sec::host {

inline constexpr uint64_t kUnitBytes = 512;  // of the IV number, and of every offset in a volume

enum class DiskMode : uint8_t { Cbc, Xts, Ctr, Ecb };
enum class IvMode : uint8_t { None, Plain, Plain64, Plain64Be, Benbi, Essiv, Eboiv, Null };

struct DiskCipherSpec {
  std::string text;    // in full, as a LUKS header or a table line writes it: "aes-cbc-plain"
  std::string cipher;  // "aes", "des", "des3_ede"
  DiskMode mode = DiskMode::Cbc;
  IvMode iv = IvMode::Plain;
  std::string iv_hash;  // essiv: "sha256"

  std::string algorithm() const;  // of the crypto API: "cbc(aes)"
  unsigned cipher_block_bytes() const { return cipher == "aes" ? 16 : 8; }
  unsigned iv_bytes() const { return mode == DiskMode::Ecb ? 0 : cipher_block_bytes(); }
  std::vector<unsigned> key_sizes_bytes() const;
  /// The usual key size where a user names none: 256 bits of cipher key (512 with XTS, whose key is two).
  unsigned default_key_bytes() const;
};

/// SetupError, naming `where` (an option or a file) and what is supported.
DiskCipherSpec parse_disk_cipher(std::string_view text, std::string_view where = "--cipher");
/// SetupError when a key of this size does not fit the specification.
void check_disk_key(const DiskCipherSpec& spec, size_t key_bytes, std::string_view where = "--key");

struct SectorGeometry {
  unsigned sector_bytes = 512;  // 512, 1024, 2048 or 4096
  uint64_t iv_offset = 0;       // in units; a multiple of sector_bytes / 512
  bool large_sectors = false;   // n counts sectors

  unsigned units_per_sector() const { return static_cast<unsigned>(sector_bytes / kUnitBytes); }
  /// n of the sector that begins at `unit`.
  uint64_t iv_number(uint64_t unit) const {
    const uint64_t n = unit + iv_offset;
    return large_sectors ? n / units_per_sector() : n;
  }
};
/// SetupError for geometries that cannot be.
void check_geometry(const SectorGeometry& geometry);

/// One sentence when sectors of a volume of this size share IVs ("plain" beyond 2^32 units), else empty.
std::string iv_reuse_warning(const DiskCipherSpec& spec, const SectorGeometry& geometry, uint64_t first_unit,
                             uint64_t units);

class IvGenerator {
 public:
  /// SetupError when the IV mode cannot be had with this key. The key is not kept except inside a cipher context.
  IvGenerator(const DiskCipherSpec& spec, std::span<const uint8_t> key, unsigned sector_bytes);
  ~IvGenerator();
  IvGenerator(IvGenerator&&) noexcept;
  IvGenerator& operator=(IvGenerator&&) noexcept;

  /// Writes spec.iv_bytes() bytes.
  void make(uint64_t n, uint8_t* iv) const;
  /// True when each IV costs one block of bare AES.
  bool encrypts() const { return cipher_ != nullptr; }

 private:
  struct BareCipher;
  DiskCipherSpec spec_;
  unsigned sector_bytes_;
  std::unique_ptr<BareCipher> cipher_;
};

}  // namespace sec::host
