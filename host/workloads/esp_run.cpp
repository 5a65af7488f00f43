#include "host/workloads/esp_run.h"

#include <algorithm>
#include <optional>

#include "common/diag.h"

namespace sec::host {

EspRunResult run_esp(const EspRunOptions& options, const EspEnvironment& environment) {
  SEC_CHECK(environment.registry, "an ESP run needs a registry");
  if (options.sas.empty()) throw SetupError("an ESP run needs at least one security association");

  EspRunResult result;
  PcapRead input;
  const PacketList* packets = options.packets;
  if (!packets && !options.input_path.empty()) {
    input = read_pcap(options.input_path);
    result.skipped_frames = input.skipped_frames;
    packets = &input.packets;
  } else if (!packets) {
    input.packets = generate_packets(options.generator);
    packets = &input.packets;
  }
  std::optional<PcapWriter> writer;
  if (!options.output_path.empty())
    writer.emplace(options.output_path, options.output_link, options.output_nanoseconds);

  EspPipelineOptions pipeline_options;
  pipeline_options.direction = options.direction;
  pipeline_options.in_flight = options.in_flight;
  pipeline_options.segments = options.segments;
  size_t largest = packets->largest_bytes();
  for (const SecurityAssociation& sa : options.sas) largest = std::max(largest, sa.tfc_pad_to_bytes);
  pipeline_options.max_packet_bytes = std::clamp<size_t>(largest, 64, 65535);
  pipeline_options.cipher_driver = options.cipher_driver;
  pipeline_options.hash_driver = options.hash_driver;
  pipeline_options.one_request = options.one_request;
  pipeline_options.aead_driver = options.aead_driver;
  pipeline_options.dma = environment.dma;
  pipeline_options.cpu = environment.cpu;
  pipeline_options.charge_hash = environment.charge_hash;
  pipeline_options.charge_cipher = environment.charge_cipher;
  pipeline_options.charge_aead = environment.charge_aead;
  pipeline_options.pump = environment.pump;
  pipeline_options.now_ns = environment.now_ns;
  pipeline_options.wait_limit_pumps = environment.wait_limit_pumps;

  const bool clock = static_cast<bool>(environment.now_ns);
  if (clock && options.keep_latencies) result.latency_ns.reserve(packets->size());
  EspPipeline pipeline(*environment.registry, std::move(pipeline_options), [&](const EspOutput& out) {
    if (clock) {
      if (out.index == 0) result.first_submit_ns = out.submit_ns;
      result.last_finish_ns = out.finish_ns;
    }
    if (out.drop == EspDrop::None) {
      if (clock && options.keep_latencies) result.latency_ns.push_back(out.finish_ns - out.submit_ns);
      if (writer) writer->write(out.bytes, packets->time_ns(out.index));
    }
    if (options.also) options.also(out);
  });
  for (const SecurityAssociation& sa : options.sas) pipeline.add_sa(sa);
  result.cipher_driver = pipeline.cipher_driver(0);
  result.hash_driver = pipeline.hash_driver(0);

  for (size_t i = 0; i < packets->size() && result.status == Status::Ok; ++i)
    result.status = pipeline.submit((*packets)[i], i % options.sas.size());
  if (result.status == Status::Ok) result.status = pipeline.drain();
  result.failure = pipeline.failure();
  result.stats = pipeline.stats();
  for (size_t i = 0; i < options.sas.size(); ++i) result.sas.push_back(pipeline.sa(i));
  if (writer && result.status == Status::Ok) writer->close();
  return result;
}

}  // namespace sec::host
