// Everything that is printed from the register tables: reference pages, regs.json, device tree nodes, the
// Verilog header and GTKWave's value tables. Pure functions from tables to text; writing is the caller's.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace sec::tools {

/// The command that refreshes the generated files, as banners and messages name it.
inline constexpr std::string_view kRefreshCommand = "tools/sec-regs generate";

/// Path below the root of the repository -> contents.
using GeneratedFiles = std::map<std::string, std::string>;

GeneratedFiles generate_all();

// The parts of it, each adding its files.
void generate_pages(GeneratedFiles& out);
void generate_json(GeneratedFiles& out);
void generate_device_trees(GeneratedFiles& out);
void generate_verilog(GeneratedFiles& out);
void generate_filters(GeneratedFiles& out);

/// What a live waveform filter shows for one value as GTKWave prints it (hex digits), or the text itself
/// when it is not a number. `kind` is one of filter_kinds().
std::string filter_value(std::string_view kind, std::string_view text);
std::string filter_kinds();
bool is_filter_kind(std::string_view kind);

}  // namespace sec::tools
