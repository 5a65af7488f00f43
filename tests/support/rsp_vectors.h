// NIST response files (.rsp) and the RFC texts in the same form, from the Debian package
// python3-cryptography-vectors. They are read at test time; a test that finds no package skips:
//
//   const auto vectors = test::load_vectors("ciphers/AES/CBC/CBCMMT128.rsp");
//   if (vectors.empty()) GTEST_SKIP() << test::kNoVectors;
#pragma once
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sec::test {

using Bytes = std::vector<uint8_t>;

inline constexpr const char* kNoVectors = "python3-cryptography-vectors is not installed";

inline Bytes from_hex(std::string_view text) {
  auto digit = [](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    throw std::invalid_argument("not a hex digit");
  };
  Bytes out;
  std::string clean;
  for (const char c : text)
    if (!std::isspace(static_cast<unsigned char>(c))) clean += c;
  if (clean.size() % 2) throw std::invalid_argument("odd number of hex digits");
  for (size_t i = 0; i < clean.size(); i += 2) out.push_back(static_cast<uint8_t>(digit(clean[i]) << 4 | digit(clean[i + 1])));
  return out;
}

inline std::string to_hex(const uint8_t* p, size_t n) {
  std::string s;
  char two[3];
  for (size_t i = 0; i < n; ++i) {
    std::snprintf(two, sizeof two, "%02x", p[i]);
    s += two;
  }
  return s;
}
inline std::string to_hex(const Bytes& b) { return to_hex(b.data(), b.size()); }

/// One record: its bracketed section ("ENCRYPT", "DECRYPT", "L = 20") and its fields, names in upper case.
struct Vector {
  std::string section;
  std::map<std::string, std::string> fields;

  bool has(const std::string& name) const { return fields.count(name) != 0; }
  const std::string& text(const std::string& name) const { return fields.at(name); }
  Bytes bytes(const std::string& name) const { return from_hex(fields.at(name)); }
  unsigned long number(const std::string& name) const { return std::stoul(fields.at(name)); }
  bool encrypt() const { return section == "ENCRYPT"; }
  /// KEY, KEY1|KEY2|KEY3, or KEYs three times.
  Bytes des3_key() const {
    if (has("KEY")) return bytes("KEY");
    Bytes k;
    for (const char* part : {"KEY1", "KEY2", "KEY3"}) {
      const Bytes b = bytes(has("KEYS") ? "KEYS" : part);
      k.insert(k.end(), b.begin(), b.end());
    }
    return k;
  }
};

/// The package's folder, empty when it is not installed.
inline const std::string& vectors_dir() {
  static const std::string dir = [] {
    std::string out;
    if (FILE* p = ::popen("/usr/bin/python3 -c \"import cryptography_vectors,os;"
                          "print(os.path.dirname(cryptography_vectors.__file__))\" 2>/dev/null", "r")) {
      char buffer[512];
      if (std::fgets(buffer, sizeof buffer, p)) out = buffer;
      ::pclose(p);
    }
    while (!out.empty() && std::isspace(static_cast<unsigned char>(out.back()))) out.pop_back();
    return out;
  }();
  return dir;
}

inline std::vector<Vector> parse_vectors(std::istream& in) {
  std::vector<Vector> out;
  Vector current;
  auto finish = [&] {
    if (!current.fields.empty()) out.push_back(current);
    current.fields.clear();
  };
  auto trim = [](std::string s) {
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.pop_back();
    size_t i = 0;
    while (i < s.size() && std::isspace(static_cast<unsigned char>(s[i]))) ++i;
    return s.substr(i);
  };
  std::string line;
  while (std::getline(in, line)) {
    line = trim(line);
    if (line.empty()) {
      finish();
    } else if (line[0] == '#') {
      continue;
    } else if (line[0] == '[') {
      finish();
      current.section = trim(line.substr(1, line.find(']') - 1));
    } else if (const size_t eq = line.find('='); eq != std::string::npos) {
      std::string name = trim(line.substr(0, eq));
      for (auto& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      if (current.fields.count(name)) finish();
      current.fields[name] = trim(line.substr(eq + 1));
    }
  }
  finish();
  return out;
}

/// All records of one file below the package's folder; empty when the package or the file is absent.
inline std::vector<Vector> load_vectors(const std::string& relative) {
  if (vectors_dir().empty()) return {};
  std::ifstream in(vectors_dir() + "/" + relative);
  return parse_vectors(in);
}

/// Names (relative, sorted) of the files in a folder of the package that have one of the endings.
inline std::vector<std::string> list_vectors(const std::string& relative_dir,
                                             const std::vector<std::string_view>& endings = {".rsp"}) {
  std::vector<std::string> out;
  std::error_code none;
  if (!vectors_dir().empty())
    for (const auto& e : std::filesystem::directory_iterator(vectors_dir() + "/" + relative_dir, none))
      if (const std::string name = e.path().filename().string();
          std::any_of(endings.begin(), endings.end(), [&](std::string_view end) { return name.ends_with(end); }))
        out.push_back(relative_dir + "/" + name);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace sec::test
