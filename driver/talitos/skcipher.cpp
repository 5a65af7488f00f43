#include "driver/talitos/skcipher.h"

#include <cstring>

#include "hw/regs/afeu.h"

namespace sec::driver {

TalitosSkcipher::TalitosSkcipher(Device& device, const CipherAlg& alg, const crypto::AlgorithmInfo& info)
    : device_(device), alg_(alg), info_(info), channel_(&device.assign_channel()) {
  const uint32_t done = static_cast<uint32_t>(regs::kHeader.mask("DN") >> 32);
  constexpr uint32_t kEncryptBit = 0x00100000;  // ED, bit 0 of MODE0, in AESU and DEU alike [T23]
  program_.header[0] = alg.header | done;
  program_.header[1] = alg.header | done | kEncryptBit;
  program_.block_mask = alg.block_bytes - 1;
  program_.iv_bytes = static_cast<uint8_t>(alg.iv_bytes);
  program_.pad_mask = static_cast<uint8_t>(alg.pad_to ? alg.pad_to - 1 : 0);
  if (alg.key_rule == KeyRule::Rc4) {
    program_.header[1] = program_.header[0];  // no direction
    program_.rc4_context_bytes = regs::kAfeuContextBytes;
  }
}

TalitosSkcipher::~TalitosSkcipher() { drop_key(); }

void TalitosSkcipher::drop_key() {
  if (program_.key) device_.unref(program_.key);
  program_.key = nullptr;
}

Status TalitosSkcipher::set_key(std::span<const uint8_t> key, uint32_t key_flags) {
  if (key.size() < alg_.min_key_bytes || key.size() > alg_.max_key_bytes) return Status::Invalid;  // the old key stays
  if (const Status s = check_cipher_key(alg_.key_rule, key, key_flags); s != Status::Ok) {
    drop_key();
    return s;
  }
  // A slot that requests in flight still use is left to them.
  if (!program_.key || program_.key->refs > 1) {
    KeySlot* slot = device_.new_key();
    drop_key();
    if (!slot) return Status::NoMemory;
    program_.key = slot;
  }
  std::memcpy(program_.key->key, key.data(), key.size());
  program_.key->size_bytes = static_cast<uint32_t>(key.size());
  program_.key_pointer = device_.pointer_to(program_.key->key, key.size());
  return Status::Ok;
}

Status TalitosSkcipher::encrypt(crypto::SkcipherRequest& r) { return device_.submit(*channel_, program_, r, true); }
Status TalitosSkcipher::decrypt(crypto::SkcipherRequest& r) { return device_.submit(*channel_, program_, r, false); }

}  // namespace sec::driver
