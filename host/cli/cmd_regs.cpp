// secsim regs, secsim decode: the register tables for people.
#include <cstdio>

#include <fmt/format.h>

#include "common/diag.h"
#include "host/cli/cli.h"
#include "hw/regs/decode.h"
#include "hw/timing/costs.h"

namespace sec::host::cli {
namespace {
nlohmann::json register_json(const regs::Location& l) {
  nlohmann::json fields = nlohmann::json::array();
  for (const regs::Field& f : l.reg->fields)
    fields.push_back({{"name", f.name}, {"first_bit", l.bits_of(f).first}, {"last_bit", l.bits_of(f).last}, {"mask", fmt::format("{:016x}", l.mask_of(f))}, {"doc", f.doc},
                      {"model", f.model == regs::Model::Modelled ? "modelled" : f.model == regs::Model::Stored ? "stored" : "absent"}});
  return {{"block", l.block}, {"name", l.name}, {"offset", l.offset}, {"doc", l.reg->doc}, {"source", l.reg->source}, {"fields", fields}};
}
}  // namespace

void add_regs(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("regs", "The register map, parts, timing knobs and the device tree fragment");
  struct Options {
    CommonOptions common;
    std::string name;
    bool knobs = false, parts = false, tree = false;
  };
  auto o = std::make_shared<Options>();
  sub->add_option("name", o->name, "one register, by name (CCCR, ch1.CCPSR) or window offset (0x1030)");
  sub->add_option("--engine", o->common.engine, "part")->capture_default_str();
  sub->add_flag("--knobs", o->knobs, "list the timing knobs with default, unit, source and confidence");
  sub->add_flag("--parts", o->parts, "list the parts");
  sub->add_flag("--device-tree", o->tree, "print the device tree node of the part");
  sub->add_flag("--json", o->common.json, "print as JSON");
  sub->callback([&c, o] {
    c.run = [o] {
      const regs::Part& part = o->common.part();
      if (o->tree) {
        fmt::print("{}", regs::device_tree(part));
      } else if (o->parts) {
        for (const regs::Part& p : regs::kParts)
          fmt::print("{:<10} {:<10} SEC {:<6} {} channels, fetch FIFO {}, exec-units {:#x}, descriptor-types {:#x}, SEC clock {:.1f} MHz ({})\n", p.name, p.chip,
                     p.sec_version, p.channels, p.fetch_fifo_entries, p.exec_units_mask, p.descriptor_types_mask, double(p.sec_clock_hz) / 1e6, p.clock_source);
      } else if (o->knobs) {
        const hw::Timing t = hw::Timing::for_part(part);
        nlohmann::json all = nlohmann::json::array();
        for (const hw::Knob& k : hw::knobs()) {
          if (o->common.json)
            all.push_back({{"name", k.name}, {"value", t.*k.member}, {"unit", k.unit}, {"min", k.min}, {"max", k.max}, {"confidence", std::string(1, char(k.confidence))}, {"source", k.source}});
          else
            fmt::print("{:<36} {:>12} {:<12} {}  {}\n", k.name, t.*k.member, k.unit, char(k.confidence), k.source);
        }
        if (o->common.json) fmt::print("{}\n", all.dump(2));
      } else if (!o->name.empty()) {
        const regs::Location l = regs::find_register(o->name, part);
        if (o->common.json) {
          fmt::print("{}\n", register_json(l).dump(2));
          return 0;
        }
        fmt::print("{}.{}  offset {:#06x}  {} [{}]\n", l.block, l.name, l.offset, l.reg->doc, l.reg->source);
        for (const regs::Field& f : l.reg->fields) fmt::print("  {:>2}:{:<2} {:016x}  {:<14} {}\n", l.bits_of(f).first, l.bits_of(f).last, l.mask_of(f), f.name, f.doc);
      } else if (o->common.json) {
        nlohmann::json all = nlohmann::json::array();
        for (const regs::Location& l : regs::all_registers(part)) all.push_back(register_json(l));
        fmt::print("{}\n", all.dump(2));
      } else {
        for (const regs::Location& l : regs::all_registers(part)) fmt::print("{:#06x}  {:<12} {:<10} {}\n", l.offset, l.block, l.name, l.reg->doc);
      }
      return 0;
    };
  });
}

void add_decode(CLI::App& app, Context& c) {
  auto* sub = app.add_subcommand("decode", "Decodes a register value, a header word or a whole descriptor");
  struct Options {
    CommonOptions common;
    std::string name, value, descriptor, header;
  };
  auto o = std::make_shared<Options>();
  sub->add_option("register", o->name, "register name or window offset");
  sub->add_option("value", o->value, "its 64-bit value in hex");
  sub->add_option("--descriptor", o->descriptor, "64 bytes in hex, as they lie in memory; on SEC 1 also a chain, one after the other");
  sub->add_option("--header", o->header, "a header word in hex");
  sub->add_option("--engine", o->common.engine, "part")->capture_default_str();
  sub->callback([&c, o] {
    c.run = [o] {
      const regs::Part& part = o->common.part();
      auto number = [](std::string t, const char* what, unsigned digits) {
        if (t.starts_with("0x")) t = t.substr(2);
        std::erase(t, '_');
        char* end = nullptr;
        const unsigned long long v = std::strtoull(t.c_str(), &end, 16);
        if (t.empty() || *end || t.size() > digits) throw SetupError(fmt::format("{}: '{}' is not a hex number of at most {} digits", what, t, digits));
        return static_cast<uint64_t>(v);
      };
      if (!o->descriptor.empty()) {
        const auto bytes = parse_hex(o->descriptor, "--descriptor");
        if (bytes.empty() || bytes.size() % 64) throw SetupError(fmt::format("--descriptor: {} bytes given; a descriptor has 64", bytes.size()));
        fmt::print("{}", regs::decode_chain(std::as_bytes(std::span(bytes)), part));
      } else if (!o->header.empty()) {
        fmt::print("{}\n", regs::decode_header(static_cast<uint32_t>(number(o->header, "--header", 8))));
      } else if (!o->name.empty() && !o->value.empty()) {
        fmt::print("{}", regs::decode_register(o->name, number(o->value, "value", 16), part));
      } else {
        throw SetupError("decode: give a register and its value, or --descriptor or --header");
      }
      return 0;
    };
  });
}

}  // namespace sec::host::cli
