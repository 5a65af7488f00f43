// Hexadecimal text to bytes. The one place that reads digits; callers that read input from people word their own
// messages from what is returned.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sec {

/// Appends the bytes of `digits`, two digits each, to `out`. Returns the position of the first character that is no
/// hexadecimal digit, or of a last digit without a partner; nothing when all is well.
inline std::optional<size_t> read_hex(std::string_view digits, std::vector<uint8_t>& out) {
  const auto value = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
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

}  // namespace sec
