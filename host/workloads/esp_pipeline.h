// Packets through ESP, several at a time, on any implementation of the crypto API: software that is done when submit
// returns, batching software, or the engine's driver, which answers later.
//
// Each packet is copied into a pooled buffer and goes through one or two *stages*, each one request of the crypto API:
//
//   encapsulate   frame (headers, trailer, sequence number, IV) -> cipher -> HMAC -> ICV in place
//   decapsulate   parse, anti-replay check -> HMAC, compare -> cipher -> second check, advance, trailer
//
// GCM and CCM suites are always one request, also with extended sequence numbers. With `one_request` a CBC suite with an HMAC is a single stage, one request of an authenc(...) transform: on the
// engine one ipsec_esp descriptor. Extended sequence numbers keep the two stages: the high half is authenticated behind
// the ciphertext, which a single authenc request cannot do.
//
// Rules kept here:
//   - CBC: the block in front of the payload is zero and is encrypted along with it under (salt x sequence). What comes
//   out
//     is the IV on the wire, so an IV costs no random numbers and two packets in flight never share one.
//   - Backlog: requests carry kMayBacklog; after Busy no further request of that kind is submitted until the
//     callback says InProgress. Again (lost to a FIFO overflow) and NoSpace are tried again later.
//   - Output leaves in the order of submission; sequence numbers are given out in that order too. The anti-replay
//     window moves in the order of completion.
//   - Without authentication there is no anti-replay (RFC 4303 3.4.3). ICVs are compared in constant time.
//   - Bad packets are counted and reported to the sink one by one; nothing is logged.
//   - Waiting happens in submit() and drain() only, calls the transforms' flush() and the `pump` hook and has a limit.
//
// Memory: `in_flight` buffers are made once, in `dma` when given (an engine then reaches them without a
// bounce buffer), otherwise on the heap. In steady state nothing is allocated. The copy into the buffer is the network
// interface's DMA in a real machine and is not charged to the processor.
//
// Callbacks must arrive on the thread that uses the pipeline. The sink must not call back into the pipeline.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/status.h"
#include "driver/crypto/registry.h"
#include "driver/platform/cpu_meter.h"
#include "driver/platform/dma.h"
#include "host/workloads/esp.h"

namespace sec::host {

enum class EspDirection : uint8_t { Encapsulate, Decapsulate };

/// Why a packet did not come out.
enum class EspDrop : uint8_t {
  None,
  Replay,             // sequence number seen before, or 0
  Window,             // left of the anti-replay window
  BadIcv,             // the integrity check failed
  BadPadding,         // pad bytes are not 1, 2, 3, ...
  BadTrailer,         // pad length or next header cannot be
  NoSa,               // no association for this SPI and destination
  Malformed,          // not an IP datagram, not ESP, a fragment, a length that cannot be
  TooBig,             // larger than the buffers or than IP allows
  SequenceExhausted,  // the association has used its last number and stopped
  Dummy,              // next header 59: padding traffic, dropped silently (RFC 4303 2.6)
  Crypto,             // an implementation failed
  kCount
};
inline constexpr size_t kEspDropCount = static_cast<size_t>(EspDrop::kCount);
inline constexpr std::array<std::string_view, kEspDropCount> kEspDropNames = {
    "none",        "replay", "window",    "bad_icv", "bad_padding",
    "bad_trailer", "no_sa",  "malformed", "too_big", "sequence_exhausted",
    "dummy",       "crypto"};

struct EspPipelineOptions {
  EspDirection direction = EspDirection::Encapsulate;
  unsigned in_flight = 64;
  unsigned segments = 1;           // pieces that each ESP packet is scattered over, to exercise gather
  size_t max_packet_bytes = 9216;  // largest IP datagram that may come in
  std::string cipher_driver;       // "cbc-aes-talitos"; empty: the registry's best
  std::string hash_driver;
  bool one_request = false;  // cipher and HMAC in one request, where the registry has such an implementation
  std::string aead_driver;   // "authenc-hmac-sha1-cbc-aes-talitos"; empty: the registry's best

  driver::DmaSpace* dma = nullptr;
  driver::CpuMeter* cpu = nullptr;                  // Cost::PacketWork per packet
  std::function<void(size_t bytes)> charge_hash;    // each HMAC, for software hashes; the bytes hashed
  std::function<void(size_t bytes)> charge_cipher;  // each cipher request, for software ciphers
  std::function<void(size_t bytes)> charge_aead;    // each AEAD request, for software
  std::function<bool()> pump;                       // lets the world go on; false: nothing is left that could happen
  std::function<uint64_t()> now_ns;                 // the platform's clock, for EspOutput
  uint64_t wait_limit_pumps = 1'000'000;            // without a completion
};

/// One packet leaving the pipeline; every packet submitted leaves exactly once, in order.
struct EspOutput {
  uint64_t index = 0;  // of submission, from 0
  EspDrop drop = EspDrop::None;
  Status status = Status::Ok;  // what the crypto API said, for EspDrop::Crypto
  uint32_t spi = 0;
  uint64_t sequence = 0;
  std::span<const uint8_t> bytes;  // valid during the call; empty when dropped
  uint64_t submit_ns = 0, finish_ns = 0;
};

struct EspStats {
  uint64_t packets_in = 0, packets_out = 0;
  uint64_t bytes_in = 0, bytes_out = 0;  // IP datagrams
  uint64_t crypto_bytes = 0;             // through the cipher
  std::array<uint64_t, kEspDropCount> drops{};
  uint64_t backlogged = 0;  // requests that were answered Busy
  uint64_t retries = 0;     // requests sent again after Again or NoSpace
  unsigned most_in_flight = 0;

  uint64_t dropped(EspDrop d) const { return drops[static_cast<size_t>(d)]; }
  uint64_t dropped() const {
    uint64_t n = 0;
    for (uint64_t d : drops) n += d;
    return n;
  }
};

class EspPipeline {
 public:
  using Sink = std::function<void(const EspOutput&)>;

  /// SetupError for options that cannot be, or when `dma` is too small for the buffers.
  EspPipeline(const crypto::Registry& registry, EspPipelineOptions options, Sink sink);
  /// Waits (with the limit) for requests in flight; what is still in flight then is leaked, not freed under the device.
  ~EspPipeline();
  EspPipeline(const EspPipeline&) = delete;
  EspPipeline& operator=(const EspPipeline&) = delete;

  /// Takes an association; the result is its index. SetupError when it is inconsistent, its SPI is taken
  /// (decapsulation) or its algorithms are not registered.
  size_t add_sa(const SecurityAssociation& sa);

  /// Takes an IP datagram (copied). `sa` matters for encapsulation only. Waits for a free buffer when `in_flight`
  /// packets are under way. Ok: the packet will reach the sink, as output or as a drop. TimedOut: see failure().
  Status submit(std::span<const uint8_t> packet, size_t sa = 0);
  /// The same for a packet in pieces.
  Status submit(const crypto::ScatterList& packet, size_t size_bytes, size_t sa = 0);
  /// Moves on what can move without waiting.
  void poll();
  /// Waits until everything submitted has left.
  Status drain();

  unsigned in_flight() const;
  const EspStats& stats() const;
  /// One sentence about the wait that reached its limit; empty if none did.
  const std::string& failure() const;
  /// The association with its current sequence number.
  const SecurityAssociation& sa(size_t index) const;
  /// Drivers in use: "cbc-aes-openssl", "hmac-sha1-openssl"; the same for both with one request; empty for null.
  std::string cipher_driver(size_t sa) const;
  std::string hash_driver(size_t sa) const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace sec::host
