// Reader for the hand-made tables: comments with #, a heading row, commas, quotes around text with commas.
#pragma once
#include <cstdint>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace sec::test {

using CsvRow = std::map<std::string, std::string>;

inline std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

/// Rows of tests/contract/<name>; every row must have as many cells as the heading and a source.
inline std::vector<CsvRow> read_csv(const std::string& name) {
  const std::string path = std::string(SEC_SOURCE_DIR) + "/tests/contract/" + name;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot open " + path);
  std::vector<std::string> heading;
  std::vector<CsvRow> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto cells = split_csv(line);
    if (heading.empty()) {
      heading = cells;
      continue;
    }
    if (cells.size() != heading.size()) throw std::runtime_error(path + ": wrong number of cells: " + line);
    CsvRow row;
    for (size_t i = 0; i < cells.size(); ++i) row[heading[i]] = cells[i];
    if (row["source"].empty()) throw std::runtime_error(path + ": row without a source: " + line);
    rows.push_back(row);
  }
  if (rows.empty()) throw std::runtime_error(path + ": no rows");
  return rows;
}

inline uint64_t number(const std::string& s) {
  size_t used = 0;
  const uint64_t v = std::stoull(s, &used, 0);
  if (used != s.size()) throw std::runtime_error("not a number: " + s);
  return v;
}

}  // namespace sec::test
