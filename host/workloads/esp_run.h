// One ESP run as a user asks for it: packets from a capture or from the generator go through a pipeline into a
// capture, and the result says what came out. The command line and the benchmarks are thin layers over run_esp.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/workloads/esp_pipeline.h"
#include "host/workloads/packet_gen.h"
#include "host/workloads/pcap_io.h"

namespace sec::host {

/// The crypto and the platform a run works on. Everything but the registry may be left out.
struct EspEnvironment {
  const crypto::Registry* registry = nullptr;
  driver::DmaSpace* dma = nullptr;
  driver::CpuMeter* cpu = nullptr;
  std::function<void(size_t bytes)> charge_hash, charge_cipher, charge_aead;
  std::function<bool()> pump;
  std::function<uint64_t()> now_ns;
  uint64_t wait_limit_pumps = 1'000'000;
};

struct EspRunOptions {
  EspDirection direction = EspDirection::Encapsulate;
  std::vector<SecurityAssociation> sas;  // encapsulation: packets take them in turn
  unsigned in_flight = 64;
  unsigned segments = 1;
  std::string cipher_driver, hash_driver;
  bool one_request = false;  // see EspPipelineOptions
  std::string aead_driver;

  std::string input_path;  // empty: the generator's packets
  PacketGenOptions generator;
  const PacketList* packets = nullptr;  // instead of both: packets in memory
  std::string output_path;              // empty: packets are counted and thrown away
  PcapLink output_link = PcapLink::RawIp;
  bool output_nanoseconds = true;
  EspPipeline::Sink also;  // sees every packet too
  bool keep_latencies = true;
};

struct EspRunResult {
  Status status = Status::Ok;  // TimedOut: `failure` says which wait
  std::string failure;
  EspStats stats;
  size_t skipped_frames = 0;         // of the input, without IP
  std::vector<uint64_t> latency_ns;  // per packet that came out, submission to delivery; empty without a clock
  uint64_t first_submit_ns = 0, last_finish_ns = 0;
  std::string cipher_driver, hash_driver;  // what was really used
  std::vector<SecurityAssociation> sas;    // with their last sequence numbers
};

/// SetupError for bad options or files; the output file appears only when the run is complete.
EspRunResult run_esp(const EspRunOptions& options, const EspEnvironment& environment);

}  // namespace sec::host
