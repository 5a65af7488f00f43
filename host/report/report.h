// Comparison reports: one JSON document, shown as a table, as CSV and as one self-contained HTML page that opens offline.
//
// The document: {tool, version, kind, provenance, sections: [{kind: esp|disk|speed, title, note, rows: [...], crossovers: [...]}]}.
// A row has suite, size (bytes), label, and a result per way (see host/measure/point.h): engine, cpu_profile, cpu_single, cpu_multi.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace sec::host {

std::string render_table(const nlohmann::json& document);
std::string render_csv(const nlohmann::json& document);
std::string render_html(const nlohmann::json& document);
/// The shape that `cryptsetup benchmark` prints, from a document's disk and speed sections.
std::string render_cryptsetup(const nlohmann::json& section);

}  // namespace sec::host
