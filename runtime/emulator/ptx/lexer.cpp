// Splits PTX text into tokens in one pass over its characters.
#include "runtime/emulator/ptx/lexer.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstdlib>

#include "tilewright/error.h"

namespace tilewright::rt::emulator {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool starts_word(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
bool in_word(char c) { return starts_word(c) || is_digit(c); }

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<Token> run() {
    while (skip_space(), at_ < text_.size()) {
      const char c = text_[at_];
      if (is_digit(c))
        number();
      else if (starts_word(c))
        word();
      else if (c == '"')
        string();
      else if (std::string_view("@!{}[]()<>,;:=+-|*/&~").find(c) != std::string_view::npos)
        add(TokenKind::sign, at_, at_ + 1), ++at_;
      else
        fail(fmt::format("unexpected character '{}'", c));
    }
    add(TokenKind::end, at_, at_);
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { throw Error({name_, line_, 0}, message); }

  void add(TokenKind kind, std::size_t begin, std::size_t end, u64 bits = 0) {
    tokens_.push_back({kind, text_.substr(begin, end - begin), bits, line_});
  }

  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\0') {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) fail("a comment without '*/'");
        for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n';
      } else {
        return;
      }
    }
  }

  void word() {
    const std::size_t begin = at_++;
    while (at_ < text_.size()) {
      // "shared::cta" is one word, but the colon after a label is a separate token.
      if (text_.substr(at_, 2) == "::" && at_ + 2 < text_.size() && (is_letter(text_[at_ + 2]) || is_digit(text_[at_ + 2])))
        at_ += 2;
      else if (in_word(text_[at_]))
        ++at_;
      else
        break;
    }
    add(TokenKind::word, begin, at_);
  }

  void string() {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size() || text_[at_] != '"') fail("a string without its closing quote");
    add(TokenKind::string, begin, at_++);
  }

  /// Reads the digits of a token that begins at `token`.
  u64 digits(std::size_t token, std::size_t begin, std::size_t end, int base) {
    u64 value = 0;
    const auto [stop, error] = std::from_chars(text_.data() + begin, text_.data() + end, value, base);
    if (error != std::errc() || stop != text_.data() + end)
      fail(fmt::format("'{}' is not a number of 64 bits in base {}", text_.substr(token, end - token), base));
    return value;
  }

  void number() {
    const std::size_t begin = at_;
    const char prefix = text_[at_] == '0' && at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
    while (at_ < text_.size() && (is_digit(text_[at_]) || is_letter(text_[at_]))) ++at_;
    const bool is_decimal_float = at_ < text_.size() && text_[at_] == '.' && prefix != 'x' && prefix != 'X';
    if (is_decimal_float) return decimal_float(begin);
    std::size_t end = at_;
    if (prefix == 'f' || prefix == 'F') {
      if (end - begin != 10) fail(fmt::format("'{}' needs 8 digits", text_.substr(begin, end - begin)));
      return add(TokenKind::float32, begin, end, digits(begin, begin + 2, end, 16));
    }
    if (prefix == 'd' || prefix == 'D') {
      if (end - begin != 18) fail(fmt::format("'{}' needs 16 digits", text_.substr(begin, end - begin)));
      return add(TokenKind::float64, begin, end, digits(begin, begin + 2, end, 16));
    }
    if (text_[end - 1] == 'U') --end;
    int base = 10;
    std::size_t first = begin;
    if (prefix == 'x' || prefix == 'X') {
      base = 16, first += 2;
    } else if (prefix == 'b' || prefix == 'B') {
      base = 2, first += 2;
    } else if (is_digit(prefix)) {
      base = 8, first += 1;
    }
    add(TokenKind::integer, begin, at_, digits(begin, first, end, base));
  }

  void decimal_float(std::size_t begin) {
    const std::string copy(text_.substr(begin, 64));
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    at_ = begin + static_cast<std::size_t>(end - copy.c_str());
    add(TokenKind::float64, begin, at_, std::bit_cast<u64>(value));
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> lex(std::string_view text, const std::string& name) { return Lexer(text, name).run(); }

}  // namespace tilewright::rt::emulator
