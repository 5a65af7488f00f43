// What the AEADs of the CPU back ends have in common: the tag's length, the checks of a request, reading and writing
// its tag. Internal to host/cpu.
#pragma once
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "driver/crypto/registry.h"
#include "driver/crypto/vectors.h"
#include "host/cpu/walk.h"

namespace sec::host {

inline constexpr unsigned kMaxTagBytes = 64;

class AeadBase : public crypto::Aead {
 public:
  explicit AeadBase(std::shared_ptr<const crypto::AlgorithmInfo> info)
      : info_(std::move(info)),
        shape_(crypto::find_shape(info_->name)),
        auth_bytes_(info_->max_auth_bytes),
        rfc_(info_->name.starts_with("rfc")),
        ccm_(info_->name == "ccm(aes)") {}

  const crypto::AlgorithmInfo& info() const override { return *info_; }
  Status set_auth_bytes(unsigned bytes) override {
    if (!crypto::auth_bytes_are_legal(*shape_, bytes)) return Status::Invalid;
    auth_bytes_ = bytes;
    auth_bytes_changed();
    return Status::Ok;
  }
  unsigned auth_bytes() const override { return auth_bytes_; }

 protected:
  virtual void auth_bytes_changed() {}
  const crypto::AlgorithmShape& shape() const { return *shape_; }
  /// The IV of RFC 4106 and RFC 4309 lies at the end of the AAD and is not authenticated as AAD.
  size_t real_aad_bytes(const crypto::AeadRequest& r) const { return rfc_ ? r.aad_bytes - 8 : r.aad_bytes; }

  /// Ok, and the bytes of text, when the request can be done.
  Status check(const crypto::AeadRequest& r, bool encrypt, size_t& text) const {
    if (!keyed_) [[unlikely]]
      return Status::NoKey;
    const size_t tag = auth_bytes_;
    if (!encrypt && r.size_bytes < tag) [[unlikely]]
      return Status::Invalid;
    text = encrypt ? r.size_bytes : r.size_bytes - tag;
    if (text % info_->block_bytes) [[unlikely]]
      return Status::Invalid;
    if (rfc_ && r.aad_bytes != 16 && r.aad_bytes != 20) [[unlikely]]
      return Status::Invalid;
    if (ccm_) {  // byte 0 is L - 1; the text's length must fit in L bytes
      const unsigned l = r.iv[0] + 1u;
      if (l < 2 || l > 8 || (l < 4 && text >> (8 * l))) return Status::Invalid;
    }
    const size_t both = r.aad_bytes + text;
    return has(r.src, encrypt ? both : both + tag) && has(r.dst, encrypt ? both + tag : both) ? Status::Ok
                                                                                              : Status::Invalid;
  }
  void put_tag(const crypto::AeadRequest& r, size_t text, const uint8_t* tag) const {
    if (uint8_t* p = single_span(r.dst, r.aad_bytes + text + auth_bytes_)) [[likely]]
      std::memcpy(p + r.aad_bytes + text, tag, auth_bytes_);
    else
      crypto::copy_to(r.dst, r.aad_bytes + text, tag, auth_bytes_);
  }
  void get_tag(const crypto::AeadRequest& r, size_t text, uint8_t* tag) const {
    if (const uint8_t* p = single_span(r.src, r.aad_bytes + text + auth_bytes_)) [[likely]]
      std::memcpy(tag, p + r.aad_bytes + text, auth_bytes_);
    else
      crypto::copy_from(r.src, r.aad_bytes + text, tag, auth_bytes_);
  }

  bool keyed_ = false;

 private:
  static bool has(const crypto::ScatterList* list, size_t n) {
    return n == 0 || single_span(list, n) || covers(list, n);
  }

  std::shared_ptr<const crypto::AlgorithmInfo> info_;
  const crypto::AlgorithmShape* shape_;
  unsigned auth_bytes_;
  const bool rfc_, ccm_;
};

/// Salt of the RFC forms: at the end of the key, before the IV in the nonce.
class Salt {
 public:
  explicit Salt(size_t bytes) : bytes_(bytes) {}
  std::span<const uint8_t> cut(std::span<const uint8_t> key) {
    std::memcpy(salt_, key.data() + key.size() - bytes_, bytes_);
    return key.first(key.size() - bytes_);
  }
  void nonce(const uint8_t* iv, uint8_t* out) const {
    std::memcpy(out, salt_, bytes_);
    std::memcpy(out + bytes_, iv, 8);
  }

 private:
  size_t bytes_;
  uint8_t salt_[4] = {};
};

}  // namespace sec::host
