// Bytes as hexadecimal text and back. The one place that reads digits. No message of its own: whoever parses knows
// which option or file to name.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sec {

/// Appends the bytes of `digits`, two digits each, to `out`. Returns the position of the first character that is no
/// hexadecimal digit, or of a last digit without a partner; nothing when all is well.
inline std::optional<size_t> read_hex(std::string_view digits, std::vector<uint8_t>& out) {
  const auto value = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  out.reserve(out.size() + digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = value(digits[i]);
    if (high < 0) return i;
    if (i + 1 == digits.size()) return i;
    const int low = value(digits[i + 1]);
    if (low < 0) return i + 1;
    out.push_back(static_cast<uint8_t>(high << 4 | low));
  }
  return std::nullopt;
}

/// "00ff1A" to bytes; nothing for an odd number of digits or anything that is no digit.
inline std::optional<std::vector<uint8_t>> bytes_of_hex(std::string_view text) {
  std::vector<uint8_t> out;
  return read_hex(text, out) ? std::nullopt : std::optional(std::move(out));
}

inline std::string hex_of_bytes(const uint8_t* p, size_t n) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string s(n * 2, '0');
  for (size_t i = 0; i < n; ++i) s[2 * i] = kDigits[p[i] >> 4], s[2 * i + 1] = kDigits[p[i] & 15];
  return s;
}

}  // namespace sec
