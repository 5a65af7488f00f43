#include "hw/eu/mdeu.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hw/regs/eu_common.h"
#include "hw/regs/map.h"
#include "hw/regs/mdeu.h"

namespace sec::hw {
namespace {
using namespace regs::mdeu_mode;
constexpr uint32_t kMe = static_cast<uint32_t>(regs::eu_error::kMe), kKse = static_cast<uint32_t>(regs::eu_error::kKse),
                   kDse = static_cast<uint32_t>(regs::eu_error::kDse);
constexpr HashAlgorithm kUnderA[] = {HashAlgorithm::Sha1, HashAlgorithm::Sha256, HashAlgorithm::Md5,
                                     HashAlgorithm::Sha224};
constexpr HashAlgorithm kUnderB[] = {HashAlgorithm::Sha384, HashAlgorithm::Sha256, HashAlgorithm::Sha512,
                                     HashAlgorithm::Sha224};
constexpr uint32_t kMostPadBytes = 48;  // of SSL 3: 48 for MD5, 40 for SHA-1

constexpr uint32_t ssl_pad_bytes(HashAlgorithm a) { return a == HashAlgorithm::Md5 ? kMostPadBytes : 40; }

uint32_t step_clocks(const Timing& t, unsigned steps) {
  return std::max(1u, static_cast<uint32_t>(std::ceil(steps / t.mdeu_steps_per_clock - 1e-9)) +
                          static_cast<uint32_t>(std::ceil(t.mdeu_block_load_clocks - 1e-9)));
}

/// The state behind the key's block, with one of HMAC's pads.
void chaining_value(HashAlgorithm a, const uint8_t* key, uint32_t key_bytes, uint8_t pad, uint8_t* context) {
  uint8_t block[128];
  const uint32_t n = traits(a).block_bytes;
  for (uint32_t i = 0; i < n; ++i) block[i] = static_cast<uint8_t>((i < key_bytes ? key[i] : 0) ^ pad);
  Digest d;
  d.init(a);
  d.update(block, n);
  d.store(context);
}
}  // namespace

Mdeu::Mdeu(const regs::Part& part, const Timing& timing)
    : ExecutionUnit(regs::Eu::MdeuA, "MDEU", regs::kMdeuBase, timing,
                    {.context_bytes = Digest::kMaxContextBytes, .key_bytes = 128, .icv_size = true}),
      has_mdeu_b_(part.has(regs::Eu::MdeuB)),
      has_sha224_(part.sha224_init),
      has_check_(part.icv_writeback),
      sec1_(part.generation == regs::Generation::Sec1),
      clocks_64_(step_clocks(timing, 64)),
      clocks_80_(step_clocks(timing, 80)) {
  hard_reset();
}

const Mdeu::HmacKey* Mdeu::hmac_key() {
  uint64_t h = key_bytes_;
  for (uint32_t i = 0; i + 8 <= key_bytes_ && i < 16; i += 8) {
    uint64_t w;
    std::memcpy(&w, key_.data() + i, 8);
    h = (h ^ w) * 0x9e3779b97f4a7c15ull;
  }
  HmacKey* const set = &keys_[(((h + static_cast<unsigned>(algorithm_)) * 0x9e3779b97f4a7c15ull) >> 59) * kWays];
  for (HmacKey* k = set; k < set + kWays; ++k)
    if (k->used && k->algorithm == algorithm_ && k->key_bytes == key_bytes_ &&
        !std::memcmp(k->key, key_.data(), key_bytes_))
      return k;
  HmacKey& k = set[victim_++ % kWays];
  k.used = true;
  k.algorithm = algorithm_;
  k.key_bytes = key_bytes_;
  std::memcpy(k.key, key_.data(), key_bytes_);
  chaining_value(algorithm_, k.key, key_bytes_, 0x36, k.inner);
  chaining_value(algorithm_, k.key, key_bytes_, 0x5c, k.outer);
  return &k;
}

uint32_t Mdeu::prepare() {
  closed_ = false;
  startup_blocks_ = finish_blocks_ = 0;
  const bool under_b = selected_ == regs::Eu::MdeuB;
  const bool init = mode_ & kInit, pad = mode_ & kPad, cont = mode_ & kContinue, hmac = mode_ & kHmac,
             ssl = mode_ & kSslMac;
  const HashAlgorithm* const by_code = under_b ? kUnderB : kUnderA;
  algorithm_ = by_code[mode_ & kAlgorithmMask];
  traits_ = traits(algorithm_);
  block_clocks_ = traits_.steps == 64 ? clocks_64_ : clocks_80_;

  if (under_b && !has_mdeu_b_) return kMe;
  if (!has_sha224_ && algorithm_ == HashAlgorithm::Sha224) return kMe;
  if (!has_check_ && (mode_ & kCheckIcv || ssl)) return kMe;
  if (cont && pad) return kMe;
  if ((hmac || ssl) && !init && !pad) return kMe;
  if (ssl && (hmac || (algorithm_ != HashAlgorithm::Md5 && algorithm_ != HashAlgorithm::Sha1))) return kMe;
  if (mode_ & kCheckIcv && !pad) return kMe;
  if (hmac && key_bytes_ > traits_.block_bytes) return kKse;
  if (ssl && key_bytes_ != traits_.digest_bytes) return kKse;
  const uint32_t preamble = !init ? 0 : hmac ? traits_.block_bytes : ssl ? key_bytes_ + ssl_pad_bytes(algorithm_) : 0;
  if (!pad && (preamble + header_bytes_ + data_bytes_) % traits_.block_bytes) return kDse;

  hmac_ = hmac ? hmac_key() : nullptr;
  if (!init) {
    digest_.load(algorithm_, context_.data());
  } else if (hmac) {
    digest_.load(algorithm_, hmac_->inner);
  } else {
    digest_.init(algorithm_);
    if (ssl) {
      uint8_t pad_1[kMostPadBytes];
      std::memset(pad_1, 0x36, sizeof pad_1);
      digest_.update(key_.data(), key_bytes_);
      digest_.update(pad_1, ssl_pad_bytes(algorithm_));
    }
  }
  count_blocks(preamble);
  return 0;
}

/// Compressions besides those of the data blocks: in front what the key and the header fill, behind the data what the
/// padding adds and the outer hash.
void Mdeu::count_blocks(uint32_t preamble) {
  const uint32_t b = traits_.block_bytes;
  const uint64_t in_front = preamble + header_bytes_;
  startup_blocks_ = static_cast<uint32_t>(in_front / b);
  uint64_t all = (in_front + data_bytes_) / b;
  if (mode_ & kPad) {
    all = (in_front + data_bytes_ + 1 + 2 * traits_.word_bytes + b - 1) / b;  // 0x80 and the length
    if (mode_ & (kHmac | kSslMac)) all += 2;                                  // the pad's block and the inner digest's
  }
  finish_blocks_ = static_cast<uint32_t>(all - startup_blocks_ - (data_bytes_ + b - 1) / b);
}

void Mdeu::process(const uint8_t* in, uint8_t*, size_t n) { digest_.update(in, n); }

uint32_t Mdeu::complete() {
  if (!(mode_ & kPad)) return 0;
  closed_ = true;
  if (sec1_ && header_bytes_ + data_bytes_ == 0) {  // the erratum: nothing sets the padding off
    uint8_t open[Digest::kMaxContextBytes];
    digest_.store(open);
    std::memcpy(final_.data(), open, traits_.digest_bytes);
  } else {
    digest_.final(final_.data());
    if (hmac_) {
      digest_.load(algorithm_, hmac_->outer);
      digest_.update(final_.data(), traits_.digest_bytes);
      digest_.final(final_.data());
    } else if (mode_ & kSslMac) {
      uint8_t pad_2[kMostPadBytes];
      std::memset(pad_2, 0x5c, sizeof pad_2);
      digest_.init(algorithm_);
      digest_.update(key_.data(), key_bytes_);
      digest_.update(pad_2, ssl_pad_bytes(algorithm_));
      digest_.update(final_.data(), traits_.digest_bytes);
      digest_.final(final_.data());
    }
  }
  return mode_ & kCheckIcv ? compare_icv(final_.data(), traits_.digest_bytes) : 0;
}

uint32_t Mdeu::context(uint8_t* out, uint32_t limit) const {
  if (closed_) return icv(out, limit);
  uint8_t open[Digest::kMaxContextBytes];
  digest_.store(open);
  const uint32_t n = std::min(limit, traits_.context_bytes());
  std::memcpy(out, open, n);
  return n;
}

uint32_t Mdeu::icv(uint8_t* out, uint32_t limit) const {
  if (!closed_) return 0;
  const uint32_t n = std::min<uint32_t>(limit, traits_.digest_bytes);
  std::memcpy(out, final_.data(), n);
  return n;
}

}  // namespace sec::hw
