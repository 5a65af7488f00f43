#include "host/poke/expression.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "common/diag.h"

namespace sec::host::poke {

std::optional<uint64_t> parse_number(std::string_view text) {
  std::string digits;
  for (char c : text)
    if (c != '_') digits += c;
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.erase(0, 2);
    base = 16;
  }
  uint64_t v = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v, base);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return v;
}

class ExpressionParser {
 public:
  using Op = Expression::Op;
  ExpressionParser(std::string_view text, const Expression::Resolve& resolve, Expression& out) : text_(text), resolve_(resolve), out_(out) {}
  void all() {
    binary(0);
    blank();
    if (at_ < text_.size()) throw SetupError(fmt::format("'{}': '{}' is not expected here", text_, text_.substr(at_)));
  }

 private:
  struct Binary {
    std::string_view sign;
    int level;
    Op op;
  };
  static constexpr int kHighest = 4;
  static constexpr Binary kBinary[] = {{"|", 0, Op::Or},  {"&", 1, Op::And},      {"<<", 2, Op::Left},    {">>", 2, Op::Right},
                                       {"+", 3, Op::Add}, {"-", 3, Op::Subtract}, {"*", 4, Op::Multiply}};
  static constexpr int kDeepest = 100;

  void blank() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  void binary(int level) {
    if (level > kHighest) return unary();
    binary(level + 1);
    for (;;) {
      blank();
      const Binary* found = nullptr;
      for (const Binary& b : kBinary)
        if (b.level == level && text_.substr(at_).starts_with(b.sign)) found = &b;
      if (!found) return;
      at_ += found->sign.size();
      binary(level + 1);
      out_.code_.push_back({found->op});
    }
  }
  void unary() {
    blank();
    if (++depth_ > kDeepest) throw SetupError(fmt::format("the expression is nested more than {} deep", kDeepest));
    if (at_ >= text_.size()) throw SetupError(fmt::format("'{}': a number or a name is missing at the end", text_));
    const char c = text_[at_];
    if (c == '~' || c == '-') {
      ++at_;
      unary();
      out_.code_.push_back({c == '~' ? Op::Not : Op::Negate});
    } else if (c == '(') {
      ++at_;
      binary(0);
      blank();
      if (at_ >= text_.size() || text_[at_] != ')') throw SetupError(fmt::format("'{}': a ')' is missing", text_));
      ++at_;
    } else {
      word();
    }
    --depth_;
  }
  void word() {
    const size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == '.')) ++at_;
    const std::string_view name = text_.substr(from, at_ - from);
    if (name.empty()) throw SetupError(fmt::format("'{}': a number or a name is missing before '{}'", text_, text_.substr(at_)));
    if (std::isdigit(static_cast<unsigned char>(name[0]))) {
      const auto v = parse_number(name);
      if (!v) throw SetupError(fmt::format("'{}' is not a number of at most 64 bits; write 31, 0x1f or 0x1f00_0000", name));
      out_.code_.push_back({Op::Number, *v});
      return;
    }
    const auto meaning = resolve_ ? resolve_(name) : std::nullopt;
    if (!meaning) throw SetupError(fmt::format("'{}' is neither a name set by let or read nor a register or field of this part", name));
    if (const auto* slot = std::get_if<Expression::Slot>(&*meaning))
      out_.code_.push_back({Op::Symbol, slot->index});
    else
      out_.code_.push_back({Op::Number, std::get<uint64_t>(*meaning)});
  }

  std::string_view text_;
  const Expression::Resolve& resolve_;
  Expression& out_;
  size_t at_ = 0;
  int depth_ = 0;
};

Expression Expression::parse(std::string_view text, const Resolve& resolve) {
  Expression e;
  e.text_ = std::string(text);
  ExpressionParser(text, resolve, e).all();
  return e;
}

Expression Expression::number(uint64_t v) {
  Expression e;
  e.code_.push_back({Op::Number, v});
  e.text_ = fmt::format("{:#x}", v);
  return e;
}

bool Expression::constant() const {
  for (const Step& s : code_)
    if (s.op == Op::Symbol) return false;
  return true;
}

uint64_t Expression::value(const std::vector<uint64_t>& symbols) const {
  std::vector<uint64_t> stack;
  auto pop = [&] {
    const uint64_t v = stack.back();
    stack.pop_back();
    return v;
  };
  for (const Step& s : code_) {
    if (s.op == Op::Number || s.op == Op::Symbol) {
      stack.push_back(s.op == Op::Number ? s.operand : symbols[s.operand]);
      continue;
    }
    const uint64_t b = pop();
    if (s.op == Op::Not || s.op == Op::Negate) {
      stack.push_back(s.op == Op::Not ? ~b : 0 - b);
      continue;
    }
    const uint64_t a = pop();
    switch (s.op) {
      case Op::Multiply: stack.push_back(a * b); break;
      case Op::Add: stack.push_back(a + b); break;
      case Op::Subtract: stack.push_back(a - b); break;
      case Op::Left: stack.push_back(b < 64 ? a << b : 0); break;
      case Op::Right: stack.push_back(b < 64 ? a >> b : 0); break;
      case Op::And: stack.push_back(a & b); break;
      default: stack.push_back(a | b); break;
    }
  }
  SEC_CHECK(stack.size() == 1, "an expression has one value");
  return stack[0];
}

}  // namespace sec::host::poke
