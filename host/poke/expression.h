// Numbers in poke scripts: 64-bit expressions over literals, script symbols and names that the caller resolves.
//
//   0x1f  31  1_000  D+8  CCCR.CDIE|CCCR.CDWE  ~IMR.ITO & 0xffff  (A << 4) - 1
//
// Precedence as in C: ~ - (unary), *, + -, << >>, &, |. Arithmetic wraps at 64 bits. Names are resolved while parsing, so that a misspelt one is
// found before anything runs; symbols get a slot and their value when the script has come that far.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sec::host::poke {

class Expression {
 public:
  /// What a name stands for: a number, or the slot of a symbol.
  struct Slot {
    size_t index;
  };
  using Meaning = std::variant<uint64_t, Slot>;
  using Resolve = std::function<std::optional<Meaning>(std::string_view name)>;

  Expression() = default;
  /// Throws SetupError with the reason alone (the caller knows file and line).
  static Expression parse(std::string_view text, const Resolve& resolve);
  static Expression number(uint64_t v);

  uint64_t value(const std::vector<uint64_t>& symbols) const;
  /// Does not depend on symbols.
  bool constant() const;
  bool empty() const { return code_.empty(); }
  const std::string& text() const { return text_; }

 private:
  friend class ExpressionParser;
  enum class Op : uint8_t { Number, Symbol, Not, Negate, Multiply, Add, Subtract, Left, Right, And, Or };
  struct Step {
    Op op;
    uint64_t operand = 0;  // value or slot
  };
  std::vector<Step> code_;  // in reverse Polish order
  std::string text_;
};

/// "0x10", "16", "1_000"; nothing when it is not a number of 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);

}  // namespace sec::host::poke
