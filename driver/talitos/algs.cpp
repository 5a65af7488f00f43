#include "driver/talitos/algs.h"

#include <fmt/format.h>

#include "driver/crypto/des_key.h"
#include "driver/talitos/aead.h"
#include "driver/talitos/hash.h"
#include "driver/talitos/rng.h"
#include "driver/talitos/skcipher.h"
#include "driver/talitos/talitos.h"
#include "hw/regs/aesu.h"
#include "hw/regs/descriptor.h"
#include "hw/regs/deu.h"

namespace sec::driver {
namespace {

constexpr uint32_t header(regs::Eu eu, uint8_t mode, regs::DescriptorType type) {
  return regs::make_header(eu, mode, regs::Eu::None, 0, type, false, false);
}
constexpr uint32_t aes(uint8_t mode, regs::DescriptorType type = regs::DescriptorType::CommonNonsnoop) {
  return header(regs::Eu::Aesu, mode, type);
}
constexpr uint32_t des(uint8_t mode) { return header(regs::Eu::Deu, mode, regs::DescriptorType::CommonNonsnoop); }

// ctr(aes) has block size 1 and needs its own descriptor type on SEC 2+; that type does not work on SEC 1. [LX]
constexpr CipherAlg kCiphers[] = {
    {"ecb(aes)", "ecb-aes-talitos", 16, 16, 32, 0, KeyRule::Aes, aes(regs::aesu_mode::kEcb), 0},
    {"cbc(aes)", "cbc-aes-talitos", 16, 16, 32, 16, KeyRule::Aes, aes(regs::aesu_mode::kCbc), 0},
    {"ctr(aes)", "ctr-aes-talitos", 1, 16, 32, 16, KeyRule::Aes,
     aes(regs::aesu_mode::kCtr, regs::DescriptorType::AesuCtrNonsnoop), 16, false, true},
    {"ctr(aes)", "ctr-aes-talitos", 1, 16, 32, 16, KeyRule::Aes, aes(regs::aesu_mode::kCtr), 16, true},
    {"ecb(des)", "ecb-des-talitos", 8, 8, 8, 0, KeyRule::Des, des(regs::deu_mode::kEcb), 0},
    {"cbc(des)", "cbc-des-talitos", 8, 8, 8, 8, KeyRule::Des, des(regs::deu_mode::kCbc), 0},
    {"ecb(des3_ede)", "ecb-3des-talitos", 8, 24, 24, 0, KeyRule::Des3,
     des(regs::deu_mode::kEcb | regs::deu_mode::kTriple), 0},
    {"cbc(des3_ede)", "cbc-3des-talitos", 8, 24, 24, 8, KeyRule::Des3,
     des(regs::deu_mode::kCbc | regs::deu_mode::kTriple), 0},
    // What the hardware has beyond Linux's driver. OFB and CFB of the AESU: from SEC 3.0 on.
    {"ofb(aes)", "ofb-aes-talitos", 1, 16, 32, 16, KeyRule::Aes, aes(regs::aesu_mode::kOfb), 16, false, true, true,
     true},
    {"cfb(aes)", "cfb-aes-talitos", 1, 16, 32, 16, KeyRule::Aes, aes(regs::aesu_mode::kCfb128), 16, false, true, true,
     true},
    {"ofb(des)", "ofb-des-talitos", 1, 8, 8, 8, KeyRule::Des, des(regs::deu_mode::kOfb64), 8, false, false, true},
    {"cfb(des)", "cfb-des-talitos", 1, 8, 8, 8, KeyRule::Des, des(regs::deu_mode::kCfb64), 8, false, false, true},
    {"ofb(des3_ede)", "ofb-3des-talitos", 1, 24, 24, 8, KeyRule::Des3,
     des(regs::deu_mode::kOfb64 | regs::deu_mode::kTriple), 8, false, false, true},
    {"cfb(des3_ede)", "cfb-3des-talitos", 1, 24, 24, 8, KeyRule::Des3,
     des(regs::deu_mode::kCfb64 | regs::deu_mode::kTriple), 8, false, false, true},
    {"ecb(arc4)", "ecb-arc4-talitos", 1, 5, 16, 0, KeyRule::Rc4,
     header(regs::Eu::Afeu, 0, regs::DescriptorType::CommonNonsnoopAfeu), 0, false, false, true},
};
static_assert(kCiphers[0].header == 0x60000010 && kCiphers[1].header == 0x60200010 && kCiphers[2].header == 0x60600000);
static_assert(kCiphers[3].header == 0x60600010 && kCiphers[4].header == 0x20000010 && kCiphers[5].header == 0x20400010);
static_assert(kCiphers[6].header == 0x20200010 && kCiphers[7].header == 0x20600010);

}  // namespace

std::span<const CipherAlg> cipher_algs() { return kCiphers; }

Status check_cipher_key(KeyRule rule, std::span<const uint8_t> key, uint32_t key_flags) {
  switch (rule) {
    case KeyRule::Aes:
      return key.size() == 16 || key.size() == 24 || key.size() == 32 ? Status::Ok : Status::Invalid;
    case KeyRule::Des:
      return crypto::check_des_key(key, key_flags);
    case KeyRule::Des3:
      return crypto::check_des3_key(key, key_flags);
    case KeyRule::Rc4:
      return key.size() >= 5 && key.size() <= 16 ? Status::Ok : Status::Invalid;
  }
  return Status::Invalid;
}

void Device::offer(const crypto::AlgorithmInfo& info, uint32_t header,
                   const std::function<void(crypto::Algorithm&, const crypto::AlgorithmInfo&)>& set) {
  if (!registry_ || !can_run(header)) return;
  infos_.push_back(std::make_unique<crypto::AlgorithmInfo>(info));
  crypto::AlgorithmInfo& kept = *infos_.back();
  kept.module = "talitos";
  kept.async = true;
  crypto::Algorithm algorithm{kept, {}, {}, {}};
  set(algorithm, kept);
  const Status s = registry_->add(std::move(algorithm));
  if (s == Status::Ok || s == Status::BadMessage) registered_.push_back(kept.driver);
  if (s != Status::Ok)
    log(Platform::Level::Error, fmt::format("{} alg registration failed: {} {}", kept.driver, errno_name(s),
                                            registry_->selftest_failure(kept.driver)));
}

void Device::register_ciphers() {
  for (const CipherAlg& a : kCiphers) {
    if (sec1() ? a.sec2_only : a.sec1_only) continue;
    if ((a.extra && !extras_) || (a.sec3_only && !compatible_with("fsl,sec3.0"))) continue;
    crypto::AlgorithmInfo info;
    info.name = a.name;
    info.driver = a.driver;
    info.priority = kPriority;
    info.block_bytes = a.block_bytes;
    info.min_key_bytes = a.min_key_bytes;
    info.max_key_bytes = a.max_key_bytes;
    info.iv_bytes = a.iv_bytes;
    info.align_mask = static_cast<unsigned>(write_align_);
    offer(info, a.header, [this, &a](crypto::Algorithm& algorithm, const crypto::AlgorithmInfo& kept) {
      algorithm.make_skcipher = [this, &a, &kept] { return std::make_unique<TalitosSkcipher>(*this, a, kept); };
    });
  }
}

void Device::register_aeads() {
  for (const AeadAlg& a : aead_algs()) {
    if (a.extra && !extras_) continue;
    if (a.hash->name == "sha224" && !compatible_with("fsl,sec2.1")) continue;  // no initial values in hardware [LX]
    crypto::AlgorithmInfo info;
    info.name = a.name;
    info.driver = a.driver;
    info.type = crypto::AlgorithmType::Aead;
    info.priority = a.priority;
    info.block_bytes = a.block_bytes;
    info.iv_bytes = a.iv_bytes;
    info.max_auth_bytes = a.hash->digest_bytes;
    info.align_mask = static_cast<unsigned>(write_align_);
    info.max_key_bytes = KeySlot::kBytes;  // of both keys; longer authentication keys are hashed
    offer(info, a.header, [this, &a](crypto::Algorithm& algorithm, const crypto::AlgorithmInfo& kept) {
      algorithm.make_aead = [this, &a, &kept] { return std::make_unique<TalitosAead>(*this, a, kept); };
    });
  }
}

/// GCM from SEC 3.0 on, CCM from 2.0 on. [T23]
void Device::register_aes_aeads() {
  if (!extras_) return;
  for (const AesAeadAlg& a : TalitosAesAead::algs()) {
    if (!compatible_with(a.gcm ? "fsl,sec3.0" : "fsl,sec2.0")) continue;
    crypto::AlgorithmInfo info;
    info.name = a.name;
    info.driver = a.driver;
    info.type = crypto::AlgorithmType::Aead;
    info.priority = kPriority;
    info.iv_bytes = a.iv_bytes;
    info.max_auth_bytes = 16;
    info.min_key_bytes = 16 + a.salt_bytes;
    info.max_key_bytes = 32 + a.salt_bytes;
    offer(info, a.header, [this, &a](crypto::Algorithm& algorithm, const crypto::AlgorithmInfo& kept) {
      algorithm.make_aead = [this, &a, &kept] { return std::make_unique<TalitosAesAead>(*this, a, kept); };
    });
  }
}

/// SHA-224 without hardware's initial values below 2.1, and HMAC from 2.1 on only. [LX]
void Device::register_hashes() {
  const bool sec21 = compatible_with("fsl,sec2.1");
  for (const bool hmac : {false, true}) {
    if (hmac && !sec21) continue;
    for (const HashRow& h : hash_rows()) {
      crypto::AlgorithmInfo info;
      info.name = hmac ? fmt::format("hmac({})", h.name) : std::string(h.name);
      info.driver = fmt::format("{}{}-talitos", hmac ? "hmac-" : "", h.name);
      info.type = crypto::AlgorithmType::Hash;
      info.priority = kPriority;
      info.block_bytes = h.block_bytes;
      info.digest_bytes = h.digest_bytes;
      info.state_bytes = TalitosHash::kStateBytes;
      const HashProgram program{&h, hmac, h.name == "sha224" && !sec21};
      const uint32_t header =
          regs::make_header(h.unit, h.algorithm, regs::Eu::None, 0, regs::DescriptorType::CommonNonsnoop, false, false);
      offer(info, header, [this, program](crypto::Algorithm& algorithm, const crypto::AlgorithmInfo& kept) {
        algorithm.make_hash = [this, program, &kept] { return std::make_unique<TalitosHash>(*this, program, kept); };
      });
    }
  }
}

void Device::register_rng() {
  const bool there = properties_.exec_units_mask >> static_cast<unsigned>(regs::Eu::Rngu) & 1;
  if (!there || !(properties_.descriptor_types_mask & 1) || rng_) return;
  auto rng = std::make_unique<HwRng>(platform_, part_);
  if (rng->start() != Status::Ok) {
    log(Platform::Level::Error, "the random number generator does not leave reset");
    return;
  }
  rng_ = std::move(rng);
  enable_rng_interrupt();
  log(Platform::Level::Info, "hwrng");
}

Status Device::register_algorithms(crypto::Registry& registry) {
  if (!probed_ || registry_) return Status::Invalid;
  registry_ = &registry;
  register_rng();
  register_ciphers();
  register_aeads();
  register_aes_aeads();
  register_hashes();
  log(Platform::Level::Info, fmt::format("{} algorithms registered in /proc/crypto", properties_.compatible.front()));
  transform_counter_ = 0;  // the self-tests' transforms do not count: the first one lands on channel 1
  return Status::Ok;
}

void Device::unregister() {
  if (!registry_) return;
  for (const std::string& driver : registered_)
    if (registry_->remove(driver) != Status::Ok) log(Platform::Level::Warning, driver + " was not registered any more");
  registered_.clear();
  registry_ = nullptr;
}

}  // namespace sec::driver
