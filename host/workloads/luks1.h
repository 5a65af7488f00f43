// LUKS1 containers: the header, opening one with a passphrase, and making one. [LUKS1] is the LUKS1 On-Disk
// Format Specification 1.2.3.
//
//   sector 0   header, 592 bytes, big-endian: names of cipher, mode and hash; payload offset; key size; digest of the
//              master key; eight key slots
//   per slot   key material: the master key, blown up to 4000 stripes by the anti-forensic splitter, encrypted with
//              the volume's own cipher under a key derived from the passphrase by PBKDF2; its sectors count from 0
//   payload    the disk; its sectors count from 0 again. Sectors have 512 bytes, IV numbers are those of iv_modes.h
//
// All sectors, those of the key material and of the payload, go through the Skcipher that the environment names, so
// through the engine when asked. PBKDF2, the splitter's hash and random numbers are OpenSSL's. Opening and making a
// container charges no SectorWork and the like: it is set-up, not the workload (a driver still charges its own costs).
//
// Every field read is checked before it is used; whatever is wrong with a file is a SetupError naming it.
// UNMODELLED: LUKS2, detached headers, writing to several slots, ciphers other than those of iv_modes.h.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/workloads/disk_image.h"
#include "host/workloads/disk_pipeline.h"
#include "host/workloads/iv_modes.h"

namespace sec::host {

inline constexpr size_t kLuks1HeaderBytes = 592;
inline constexpr size_t kLuks1Slots = 8;
inline constexpr size_t kLuks1SaltBytes = 32;
inline constexpr size_t kLuks1DigestBytes = 20;
inline constexpr uint32_t kLuks1SlotActive = 0x00ac71f3;
inline constexpr uint32_t kLuks1SlotDisabled = 0x0000dead;
inline constexpr uint32_t kLuks1Stripes = 4000;
/// More than anyone's calibration gives; a larger number in a header is taken for damage, not waited for.
inline constexpr uint32_t kLuks1MaxIterations = 50'000'000;

struct Luks1Slot {
  bool active = false;
  uint32_t iterations = 0;
  std::array<uint8_t, kLuks1SaltBytes> salt{};
  uint32_t area_offset_units = 0;  // of the key material, from the start of the file
  uint32_t stripes = kLuks1Stripes;
};

struct Luks1Header {
  std::string cipher_name, cipher_mode, hash;  // "aes", "cbc-essiv:sha256", "sha256"
  uint32_t payload_offset_units = 0;
  uint32_t key_bytes = 0;
  std::array<uint8_t, kLuks1DigestBytes> digest{};
  std::array<uint8_t, kLuks1SaltBytes> digest_salt{};
  uint32_t digest_iterations = 0;
  std::string uuid;
  std::array<Luks1Slot, kLuks1Slots> slots;

  DiskCipherSpec cipher(std::string_view where) const;
  uint64_t payload_offset_bytes() const { return uint64_t{payload_offset_units} * kUnitBytes; }
};

/// Reads and checks the header of a file of `file_bytes` bytes whose beginning is `head`. `file` is for messages.
Luks1Header parse_luks1(std::span<const uint8_t> head, uint64_t file_bytes, std::string_view file);
std::array<uint8_t, kLuks1HeaderBytes> serialize(const Luks1Header& header);

/// The anti-forensic splitter. `key` is a whole key; the result has key x stripes bytes. `random` fills memory.
std::vector<uint8_t> af_split(std::span<const uint8_t> key, uint32_t stripes, std::string_view hash,
                              const std::function<void(std::span<uint8_t>)>& random);
std::vector<uint8_t> af_merge(std::span<const uint8_t> material, uint32_t stripes, std::string_view hash);

/// The master key. SetupError when no slot opens with this passphrase, or a slot's cipher requests fail.
std::vector<uint8_t> unlock_luks1(const Luks1Header& header, const ImageReader& file,
                                  std::span<const uint8_t> passphrase, const DiskEnvironment& environment);

struct Luks1FormatOptions {
  std::string cipher = "aes-xts-plain64";
  unsigned key_bytes = 0;  // 0: the cipher's usual size
  std::string hash = "sha256";
  uint32_t iterations = 100'000;  // of the key slot; the digest takes an eighth. No calibration: a run is repeatable
  std::optional<uint64_t> seed;   // for tests: keys and salts made from it are no secret
};

struct Luks1Volume {
  Luks1Header header;
  std::vector<uint8_t> key;
  std::vector<uint8_t> head;  // everything in front of the payload
};

/// A new container with one key slot.
Luks1Volume format_luks1(const Luks1FormatOptions& options, std::span<const uint8_t> passphrase,
                         const DiskEnvironment& environment);

}  // namespace sec::host
