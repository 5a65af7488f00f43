// Hashes and HMACs on the engine's MDEU, at once or in steps.
//
// An unfinished message lives in its state: up to one block of bytes that have not been sent, and the unit's context
// (state words and the count) in memory that the device reads and writes. [LX]
//   update()   copies what fits into the block; otherwise sends whole blocks, the held one first, and keeps the rest.
//   When
//              all would come out even a whole block is kept back: the last descriptor must have something to pad.
//   final(), finup(), digest()   send what there is, with padding
// A descriptor has INIT when it is a message's first, CONT when it is not the last, PD when it is, and for an HMAC the
// key and the HMAC bit on the first and on the last. Longer than one descriptor carries: several, block by block, that
// hand the context on through memory, which is safe since a channel works strictly in order.
//
// Parts before SEC 2.1 do not know SHA-224's initial values: there it runs as SHA-256 with a context of ours, and HMAC
// is not offered. SEC 1 cannot hash an empty message: it gets a block that is padded already, without PD. [LX]
//
// A state may be dropped at any time, but not while an operation on it is in flight. One operation on a state at a
// time.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "driver/crypto/registry.h"
#include "driver/talitos/talitos.h"

namespace sec::driver {

struct HashRow {
  std::string_view name;
  unsigned digest_bytes, block_bytes, context_bytes;
  regs::Eu unit;
  uint8_t algorithm;  // ALG of the MDEU's mode byte
};

std::span<const HashRow> hash_rows();

/// Hashes `message` in the engine and waits for it: for keys that are longer than a block (RFC 2104, section 2).
Status hash_now(Device& d, Device::Channel& ch, const HashRow& h, std::span<const uint8_t> message, uint8_t* digest);

/// What a message has in memory that the device reaches.
struct alignas(64) HashMemory {
  uint8_t context[96];
  uint8_t digest[64];
  uint8_t held[2][128];  // bytes not sent yet; the other one is being sent
};

/// What the transform fixes about its descriptors.
struct HashProgram {
  const HashRow* row = nullptr;
  bool hmac = false;
  bool software_init = false;  // SHA-224 as SHA-256
};

class TalitosHashState final : public crypto::HashState {
 public:
  explicit TalitosHashState(Device& device);
  ~TalitosHashState() override;
  TalitosHashState(const TalitosHashState&) = delete;
  TalitosHashState& operator=(const TalitosHashState&) = delete;

  Device& device;
  HashMemory* memory;
  unsigned held_bytes = 0;
  uint8_t side = 0;      // which half of `held`
  bool started = false;  // the context is of this message
  bool in_flight = false;
  bool broken = false;  // an operation failed: only init() and import_state() help
};

inline constexpr unsigned kMostChained = 3;  // descriptors behind the slot's own: bounds the copies of a slot

struct HashJob : Job {
  HashProgram program;
  KeySlot* key = nullptr;
  unsigned key_bytes = 0;
  TalitosHashState* state = nullptr;  // null: digest(), on `own`
  HashMemory* memory = nullptr;
  HashMemory* own = nullptr;   // kept from use to use, as is
  uint8_t* chained = nullptr;  // SEC 1: descriptors
  std::vector<crypto::Segment> pieces;
  crypto::ScatterList list;
  crypto::ScatterWalk walk{nullptr};
  size_t left = 0;
  bool first = true;        // no descriptor of this message has been sent
  bool last = false;        // the message ends with this job
  bool padded = false;      // SEC 1, empty message
  unsigned kept_bytes = 0;  // of the held block afterwards
  uint8_t* digest = nullptr;
};
struct HashPool {
  JobPool<HashJob> jobs;
};

class TalitosHash final : public crypto::Hash {
 public:
  static constexpr unsigned kStateBytes = 8 + sizeof(HashMemory::context) + sizeof(HashMemory::held[0]);

  TalitosHash(Device& device, const HashProgram& program, const crypto::AlgorithmInfo& info);
  ~TalitosHash() override;

  const crypto::AlgorithmInfo& info() const override { return info_; }
  Status set_key(std::span<const uint8_t> key) override;
  Status digest(crypto::HashRequest& r) override;
  std::unique_ptr<crypto::HashState> make_state() override;
  Status init(crypto::HashState& s) override;
  Status update(crypto::HashRequest& r) override;
  Status final(crypto::HashRequest& r) override;
  Status finup(crypto::HashRequest& r) override;
  Status export_state(const crypto::HashState& s, uint8_t* out) override;
  Status import_state(crypto::HashState& s, const uint8_t* in) override;
  unsigned channel() const { return channel_->index; }

 private:
  Status submit(const crypto::HashRequest& r, TalitosHashState* state, size_t size_bytes, bool last);
  uint8_t tag() const;

  Device& device_;
  const HashProgram program_;
  const crypto::AlgorithmInfo& info_;
  Device::Channel* channel_;
  KeySlot* key_ = nullptr;
};

}  // namespace sec::driver
