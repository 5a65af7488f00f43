// Driver of the SEC engine, 1.x to 3.x: probe, rings, submission, interrupts, error recovery.
//
// A Device is probed from the device tree's properties on a Platform and offers its ciphers to a crypto
// registry. How a request runs:
//
//   encrypt()      checks key, length, IV; takes the next slot of the transform's channel; writes the descriptor
//                  (a precomputed header, seven pointers, link tables only where a list needs them) and the
//                  descriptor's address to the channel's fetch FIFO, high word first. [LX][USP]
//   interrupt      reads and acknowledges the status until no done event is left (the engine counts up to 15 per
//                  channel and one acknowledge takes one off), masks done interrupts, schedules the done task
//   done task      walks the rings of its line from the tail while the header's first byte is 0xff, copies the
//                  output IV, releases the slot, calls back; unmasks
//
// Each transform stays on one channel, so its requests complete in the order of submission. A ring has the FIFO
// length rounded up to a power of two slots, of which at most FIFO length - 1 are used: the engine's FIFO never
// overflows. Beyond that a request is put on the backlog (kMayBacklog: Busy) or refused (NoSpace).
// A request longer than one descriptor can carry is cut; its pieces hand the IV on through memory, and later
// requests of the channel wait behind it.
//
// Jobs. Only a cipher request of one descriptor is written straight into its slot. AEADs, hashes, long and waiting
// cipher requests are Jobs (edesc.h), submitted with submit_job():
//
//   build()    fills the slot's zeroed descriptor with put_header() and put_pointer(), lists turned into pointer dwords
//              by map_list(), small things in the slot's Edesc and JobArea; sets piece_bytes, and `more` when the
//              job needs another descriptor. It runs inside submit_job when there is room, else when there is.
//   retired()  looks at what a descriptor left behind: feedback word, ICV, context. Lists are mapped no more.
//   finish()   gives the job's things back and returns the final status; then the completion is called.
//
// submit_job() keeps the contract of driver/crypto/request.h. What it refuses (any status but InProgress and Busy) it
// has forgotten, and finish() is not called. While a job has more to send, everything else of its channel waits behind
// it, so order is kept; a piece that is built when the one before is done (More::AfterDone) goes ahead of what waits.
// Failed and purged descriptors, recovery and time-outs treat jobs and ciphers alike: after the first failure the rest
// of a job is not sent, and it ends when its last piece in flight has returned.
//
// Errors. One bad descriptor fails alone (Invalid): it is found through CDPR, the message names the unit and
// its cause, and the channel continues with the next. A double FIFO overflow resets the channel (Again). A
// device-level error, or a channel that will not continue, fails everything in flight with Io and
// re-initialises the engine; waiting requests then run.
//
// Lifetime: transforms and requests end before the Device; the Device before the Platform. One thread at a time.
//
// SEC 1.x. No link tables: lists in several pieces, and destinations off a 32-bit boundary, go through copies. One
// Fetch Register and no FIFO: the driver hands over one slot at a time. No continue: after an error the channel is
// reset and goes on with the next slot. A slot may hold a chain of descriptors (chain()), done when its last one is.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "driver/crypto/queue.h"
#include "driver/crypto/registry.h"
#include "driver/platform/platform.h"
#include "driver/talitos/edesc.h"
#include "hw/regs/map.h"

namespace sec::driver {

inline constexpr unsigned kPollTries = 100'000;  // of every poll loop [LX]
/// Limit for the oldest request of a channel: far longer than the largest descriptor takes on the slowest part.
inline constexpr uint64_t kRequestTimeoutNs = 100'000'000;
inline constexpr unsigned kMaxAckRounds = 16;  // a channel holds at most 15 done events [MOC]

struct ChannelStats {
  uint64_t submitted = 0;  // descriptors
  uint64_t completed = 0;  // descriptors, whatever the status
  uint64_t bytes = 0;
  uint64_t max_in_flight = 0;
};

struct DeviceStats {
  std::array<ChannelStats, regs::kMaxChannels> channel;
  uint64_t interrupts = 0;
  uint64_t spurious_interrupts = 0;
  uint64_t acknowledges = 0;  // rounds of read and acknowledge
  uint64_t done_tasks = 0;
  uint64_t dones = 0;  // descriptors retired with success
  uint64_t max_dones_per_task = 0;
  double dones_per_interrupt() const { return interrupts ? double(dones) / double(interrupts) : 0; }
  uint64_t backlogged = 0;  // requests that got Busy
  uint64_t max_backlog = 0;
  uint64_t refused_full = 0;       // requests that got NoSpace
  uint64_t split_requests = 0;     // requests cut into several descriptors
  uint64_t composed_requests = 0;  // AEADs made of cipher and hash descriptors
  uint64_t link_tables = 0;
  uint64_t bounced_segments = 0;
  uint64_t tail_bounces = 0;   // CTR inputs whose last block was copied
  uint64_t linear_copies = 0;  // SEC 1: lists copied to or from one piece
  uint64_t hw_icv_checks = 0;  // tags compared by the engine
  uint64_t sw_icv_checks = 0;  // tags compared by the driver
  // errors by kind
  uint64_t descriptor_errors = 0;             // requests failed by a channel error
  std::array<uint64_t, 16> channel_errors{};  // by bit number of CCPSR LO (counted from the right)
  std::array<uint64_t, 16> unit_errors{};     // by EU code
  uint64_t single_overflows = 0, double_overflows = 0, dropped = 0;
  uint64_t done_overflows = 0;  // a done event was lost: harmless, headers are what counts
  uint64_t offender_not_found = 0;
  uint64_t continues = 0, channel_resets = 0, device_resets = 0, timeouts = 0;
  uint64_t purged = 0;  // requests failed with Io
};

struct AeadPools;
struct HashPool;
class HwRng;

class Device {
 public:
  explicit Device(Platform& platform);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Checks the properties, resets the engine, sets up channels and interrupts. Invalid for bad properties, NoMemory
  /// when the DMA space is too small, TimedOut when the engine does not come out of reset. Nothing stays allocated
  /// or registered when it fails. Once per Device.
  Status probe(const DeviceProperties& properties);

  /// Offers every cipher that the part has. One that fails its self-test is logged and skipped. The registry must
  /// outlive the device, or unregister() be called before.
  Status register_algorithms(crypto::Registry& registry);
  void unregister();
  /// Off: only what Linux's driver offers. Before register_algorithms().
  void set_extras(bool on) { extras_ = on; }

  /// A request that the engine works on longer than this is ended with TimedOut; 0: never.
  void set_request_timeout_ns(uint64_t ns) { timeout_ns_ = ns; }
  /// Looks for such requests: resets a channel whose oldest request is overdue and sends the others on it again.
  /// Happens by itself when the platform has nothing else to do, and now and then while other channels work; may be
  /// called outside callbacks. True when something was ended.
  bool poll_timeouts();

  /// The random number generator, null on a part without one. From register_algorithms() on.
  HwRng* hwrng() { return rng_.get(); }

  DeviceStats stats() const;
  unsigned channels() const { return channel_count_; }
  /// Requests that the API accepted and that have not completed.
  size_t outstanding() const;
  Platform& platform() { return platform_; }

  // ---- for transforms and jobs ----
  struct Channel {
    uint32_t base = 0;  // of the registers
    uint32_t mask = 0;  // ring slots - 1
    uint32_t limit = 0;
    uint32_t ring_hi = 0;  // high word of the ring's bus addresses
    unsigned index = 0;
    uint64_t head = 0, tail = 0;  // slots ever used and ever retired
    uint64_t issued = 0;          // SEC 1: slots ever handed to the engine
    Slot* slots = nullptr;
    SlotExtras* extras = nullptr;
    uint64_t bytes = 0;
    uint64_t max_in_flight = 0;
    Job* current = nullptr;  // has started and has descriptors to send
    crypto::BoundedQueue<Job> pending{0};
    bool pumping = false;
    bool overflow_suspect = false;  // the engine dropped a descriptor; which one is not known yet
    uint64_t watched_tail = ~uint64_t{0}, watched_since_ns = 0;  // for poll_timeouts
    Edesc* ring = nullptr;
    std::vector<Slot> slot_store;
    std::vector<SlotExtras> extra_store;

    uint32_t in_flight() const { return static_cast<uint32_t>(head - tail); }
    /// New work has to wait.
    bool full() const { return in_flight() >= limit || current || !pending.empty(); }
    Slot& slot(uint64_t counter) { return slots[counter & mask]; }
  };
  /// The channel of a new transform: they take turns.
  Channel& assign_channel() { return channels_[++transform_counter_ & (channel_count_ - 1)]; }
  Status submit_job(Channel& ch, Job& j, uint32_t request_flags);
  /// Submits and waits for the end, with a limit: for the keys that the engine hashes. Takes another channel when this
  /// one is busy sending; Again when all are. The job's completion is the driver's, and finish() must not give the job
  /// away. Other requests may complete meanwhile.
  Status run_job(Channel& ch, Job& j);

  /// Which table of a slot a list may use. One list each per descriptor.
  enum class Side : uint8_t { Source, Destination, Aad };
  /// What one pointer covers: `data_bytes` from the list, rounded up to a multiple of `pad_to` (16 or 8; the last block
  /// then is a padded copy), and behind that an ICV, either from the list as well or in memory of the driver's.
  struct Parcels {
    size_t data_bytes = 0;
    size_t icv_bytes = 0;  // the pointer's extent
    BusAddr icv = 0;       // 0: follows in the list
    size_t pad_to = 0;
    BusAddr prefix = 0;  // in memory of the driver's, in front of the list
    size_t prefix_bytes = 0;
  };
  /// Maps what a pointer of the slot's descriptor covers, and advances the walk by it. `*pointer` is the dword, with
  /// the extent set, direct where the bytes lie in one piece. Invalid when the list is too short, NoMemory when there
  /// are no bounce buffers left. Unmapped and copied back by the driver when the descriptor retires.
  Status map_list(Slot& s, Side side, Direction direction, crypto::ScatterWalk& walk, const Parcels& parcels,
                  uint64_t* pointer);
  /// A pointer dword for memory that the device can reach.
  uint64_t pointer_to(const void* memory, size_t size_bytes) const {
    return uint64_t{size_bytes} << 48 | dma_.bus_addr(memory);
  }
  /// Writes a descriptor in the part's layout; pointers are given as SEC 2+ dwords.
  void put_header(uint8_t* descriptor, uint32_t header) const { store_be32(descriptor, header); }
  void put_pointer(uint8_t* descriptor, unsigned index, uint64_t dword) const {
    if (sec1())
      store_be64(descriptor + regs::kSec1PointerOffset + 8 * index, regs::PointerDword::decode(dword).encode_sec1());
    else
      store_be64(descriptor + 8 + 8 * index, dword);
  }
  /// SEC 1: makes `d` (in memory of the job's, 64 bytes) follow the last descriptor of the slot's chain. Done is what
  /// the last one says, so only that one asks for notification.
  void chain(Slot& s, uint8_t* d);
  JobArea& area(const Slot& s) const { return *channel_of(s).extras[&s - channel_of(s).slots].area; }
  /// Feedback word of a retired descriptor (ICCR0, ICCR1). SEC 2.1 and later.
  static uint32_t feedback(const Slot& s) { return load_be32(s.edesc->descriptor + 4); }

  /// A zeroed key with one reference, or null. unref() clears it when the last one goes.
  KeySlot* new_key();
  void unref(KeySlot* key);

  regs::Generation generation() const { return generation_; }
  bool sec1() const { return generation_ == regs::Generation::Sec1; }
  /// Whether the device tree names this version or a newer compatible one ("fsl,sec2.1").
  bool compatible_with(std::string_view version) const;
  /// Units compare ICVs and the verdict is written back (SEC 2.1 and later); an input's link table covers the ICV, so
  /// that it may lie in pieces (SEC 3.0 and later). [LX]
  bool checks_icvs() const { return checks_icvs_; }
  bool tables_cover_icvs() const { return tables_cover_icvs_; }
  /// The part has the header's descriptor type and units.
  bool can_run(uint32_t header) const;
  size_t max_descriptor_bytes() const { return max_bytes_; }
  DmaSpace& dma() const { return dma_; }
  CpuMeter& cpu() const { return cpu_; }
  DeviceStats& counters() { return stats_; }
  AeadPools& aeads() { return *aeads_; }
  HashPool& hashes() { return *hashes_; }
  /// Registers one algorithm, if the part can run the header; `set` fills in the factory. The info it is given lives as
  /// long as the device. One that fails is logged.
  void offer(const crypto::AlgorithmInfo& info, uint32_t header,
             const std::function<void(crypto::Algorithm&, const crypto::AlgorithmInfo&)>& set);
  void log(Platform::Level level, const std::string& text) { platform_.log(level, text); }

 private:
  friend class TalitosSkcipher;
  void register_rng();
  void register_ciphers();
  void register_aeads();
  void register_aes_aeads();
  void register_hashes();
  struct Line {
    Device* device = nullptr;
    unsigned number = 0;
    uint32_t done = 0, error = 0, overflow = 0;  // bits of ISR HI
    std::vector<Channel*> channels;
    bool deferred = false;  // its task came during recovery
  };

  // Request path (talitos.cpp).
  Status submit(Channel& ch, const CipherProgram& p, const crypto::SkcipherRequest& r, bool encrypt);
  Status submit_slow(Channel& ch, const CipherProgram& p, const crypto::SkcipherRequest& r, bool encrypt);
  Status build_lists(Slot& s, const CipherProgram& p, crypto::ScatterWalk& src, crypto::ScatterWalk& dst, bool in_place,
                     size_t size_bytes, uint64_t* in, uint64_t* out);
  Status map_linear(Slot& s, Direction direction, crypto::ScatterWalk& walk, const Parcels& parcels, uint64_t* pointer);
  const Channel& channel_of(const Slot& s) const { return channels_[s.channel]; }
  void write_descriptor(Slot& s, uint32_t header, const CipherProgram& p, BusAddr iv_in, BusAddr iv_out, uint64_t in,
                        uint64_t out);
  Edesc* alloc_ring(uint32_t slots);
  void start(Channel& ch, Slot& s, size_t size_bytes);
  void issue(Channel& ch);
  void announce(const Channel& ch);
  Status queue_job(Channel& ch, Job& j, uint32_t request_flags);
  Status build_job(Slot& s, Job& j);
  void end_job(Job& j, Status status);
  void pump(Channel& ch);
  void fail_pending(Channel& ch);
  static Status build_cipher(Job& j, Device& device, Slot& s);
  static Status finish_cipher(Job& j, Device& device, Status status);
  void release(Slot& s);
  void flush_channel(Channel& ch);
  void retire(Channel& ch, Status status);
  Job* retire_piece(Channel& ch, Slot& s, Status status);
  CipherJob* new_cipher_job();
  void free_cipher_job(CipherJob* j);

  // Interrupts.
  static void interrupt_entry(void* line);
  static void done_task_entry(void* line);
  bool last_resort();
  void interrupt(Line& line);
  void done_task(Line& line);
  void write_imr(uint32_t hi);
  void enable_rng_interrupt();

  // Reset and errors (errors.cpp).
  bool poll_clear(uint32_t offset, uint32_t mask, std::string_view what);
  Status reset_device();
  Status init_device();
  bool reset_channel(Channel& ch);
  void configure_channel(Channel& ch);
  bool channel_idle(const Channel& ch);
  void channel_error(Channel& ch);
  void report(Channel& ch, uint32_t errors, BusAddr cdpr, bool located);
  bool continue_channel(Channel& ch, BusAddr offender);
  void resolve_overflow(Channel& ch);
  void recover_device(std::string_view why, const Channel* culprit = nullptr, uint64_t bad = 0);

  Platform& platform_;
  DmaSpace& dma_;
  CpuMeter& cpu_;
  std::vector<Channel> channels_;
  std::array<Line, 2> lines_;
  unsigned channel_count_ = 0, line_count_ = 0, transform_counter_ = 0;
  uint32_t imr_hi_ = 0;
  uint32_t channel_config_ = 0;
  DeviceProperties properties_;
  regs::Generation generation_ = regs::Generation::Sec2;
  regs::Part part_{};  // what the register map needs to know
  size_t max_bytes_ = kMaxDescriptorBytes;
  uint32_t ito_ = 0;           // ISR HI: a register access ended in nothing
  uintptr_t write_align_ = 0;  // SEC 1 writes to multiples of four only [MOC]
  bool checks_icvs_ = false, tables_cover_icvs_ = false;
  bool probed_ = false, dead_ = false, recovering_ = false;
  uint64_t timeout_ns_ = kRequestTimeoutNs, looked_at_ns_ = 0;
  DeviceStats stats_;

  JobArea* areas_ = nullptr;
  bool extras_ = true;
  std::unique_ptr<AeadPools> aeads_;
  std::unique_ptr<HashPool> hashes_;
  std::unique_ptr<HwRng> rng_;
  std::deque<CipherJob> job_store_;
  Job* job_free_ = nullptr;

  crypto::Registry* registry_ = nullptr;
  std::vector<std::string> registered_;
  std::vector<std::unique_ptr<crypto::AlgorithmInfo>> infos_;
};

}  // namespace sec::driver
