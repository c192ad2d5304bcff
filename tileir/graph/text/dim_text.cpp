// Parses extents by recursive descent: a sum of products; the factors of a product stand side by side.
#include "tileir/graph/text/dim_text.h"

#include <fmt/format.h>

#include <cctype>

namespace tilewright::graph {

namespace {

class DimParser {
 public:
  DimParser(std::string_view text, const SymbolTable& symbols, const Location& where) : text_(text), symbols_(symbols), where_(where) {}

  Dim parse() {
    const Dim result = sum();
    if (peek() != '\0') fail(fmt::format("'{}' is not expected", text_.substr(at_)));
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw Error(where_, fmt::format("extent '{}': {}", text_, why)); }

  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  Dim sum() {
    if (++depth_ > kMostNested) fail("too many parentheses");
    Dim result = take('-') ? Dim(0) - product() : product();
    for (;;) {
      if (take('+'))
        result += product();
      else if (take('-'))
        result -= product();
      else
        break;
    }
    --depth_;
    return result;
  }

  bool begins_factor() {
    const char c = peek();
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '\'' || c == '(';
  }

  Dim product() {
    Dim result = factor();
    for (;;) {
      if (take('/'))
        result /= factor();
      else if (begins_factor())
        result *= factor();
      else
        return result;
    }
  }

  Dim factor() {
    const Dim base = atom();
    if (!take('^')) return base;
    Dim power = 1;
    for (std::int64_t i = integer(); i > 0; --i) power *= base;
    return power;
  }

  Dim atom() {
    const char c = peek();
    if (take('(')) {
      const Dim inner = sum();
      if (!take(')')) fail("a ')' is missing");
      return inner;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return integer();
    const bool is_quoted = c == '\'';
    const std::string name = word();
    if (name == "cdiv" && !is_quoted) return rounded_up();
    if (name.empty()) fail("expected a number or a symbol");
    const auto symbol = symbols_.find(name);
    if (!symbol) fail(fmt::format("there is no symbol '{}'", name));
    return symbols_.dim(*symbol);
  }

  Dim rounded_up() {
    if (!take('(')) fail("'cdiv' needs a '('");
    const Dim numerator = sum();
    if (!take(',')) fail("'cdiv' needs two numbers");
    const Dim denominator = sum();
    if (!take(')')) fail("a ')' is missing");
    return cdiv(numerator, denominator);
  }

  std::int64_t integer() {
    if (std::isdigit(static_cast<unsigned char>(peek())) == 0) fail("expected a number");
    Dim value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) value = value * 10 + (text_[at_++] - '0');
    return value.value();
  }

  std::string word() {
    std::string name;
    if (take('\'')) {
      while (at_ < text_.size() && text_[at_] != '\'') name += text_[at_++];
      if (!take('\'')) fail("a quote is missing");
      return name;
    }
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) name += text_[at_++];
    return name;
  }

  static constexpr int kMostNested = 100;
  std::string_view text_;
  const SymbolTable& symbols_;
  const Location& where_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Dim parse_dim(std::string_view text, const SymbolTable& symbols, const Location& where) {
  try {
    return DimParser(text, symbols, where).parse();
  } catch (const Error& e) {
    if (e.where().line == where.line && e.where().file == where.file) throw;
    // An overflow of extents reports a line of this file, which the message must not show.
    const std::string_view what = e.what(), mark = "error: ";
    throw Error(where, fmt::format("extent '{}': {}", text, what.substr(what.find(mark) + mark.size())));
  }
}

}  // namespace tilewright::graph
