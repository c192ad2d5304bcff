// Tokens of the textual form. Characters are classified by hand, since <cctype> depends on the locale.
#include "tileir/text/lexer.h"

#include <fmt/format.h>

namespace tilewright::ir {

namespace {
constexpr std::size_t kMaxText = std::size_t{1} << 28;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_char(char c) { return is_letter(c) || is_digit(c); }
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}
}  // namespace

Lexer::Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) {
  if (text.size() > kMaxText) throw Error({file, 0, 0}, fmt::format("the text has {} bytes; at most {} are read", text.size(), kMaxText));
}

void Lexer::fail(const Token& at, const std::string& message) const {
  throw Error({file_, static_cast<int>(at.line), static_cast<int>(at.column)}, message);
}

char Lexer::take() {
  const char c = text_[at_++];
  if (c == '\n')
    ++line_, column_ = 1;
  else
    ++column_;
  return c;
}

void Lexer::skip_space() {
  for (;;) {
    const char c = peek();
    if (at_ < text_.size() && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
      take();
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      while (at_ < text_.size() && peek() != '\n') take();
    } else {
      return;
    }
  }
}

void Lexer::lex_number(Token& t) {
  t.kind = TokenKind::number;
  t.text += take();  // the sign or the first digit
  const bool hex = t.text == "0" && peek() == 'x';
  for (;;) {
    const char c = peek();
    const bool sign = (c == '+' || c == '-') && !hex && (t.text.back() == 'e' || t.text.back() == 'E');
    if (!is_word_char(c) && c != '.' && !sign) break;
    t.text += take();
  }
  if (t.text == "-") fail(t, "'-' is not followed by a number");
}

void Lexer::lex_string(Token& t) {
  t.kind = TokenKind::string;
  take();
  while (at_ < text_.size() && peek() != '\n') {
    const char c = take();
    if (c == '"') return;
    if (c != '\\') {
      t.text += c;
      continue;
    }
    const char escape = at_ < text_.size() ? take() : '\0';
    if (escape == '"' || escape == '\\') {
      t.text += escape;
    } else if (escape == 'x' && at_ + 1 < text_.size() && hex_digit(text_[at_]) >= 0 && hex_digit(text_[at_ + 1]) >= 0) {
      const int high = hex_digit(take()), low = hex_digit(take());
      t.text += static_cast<char>(high * 16 + low);
    } else {
      fail(t, R"(unknown escape in a string; expected \\, \" or \x and two digits)");
    }
  }
  fail(t, "the string does not end on its line");
}

Token Lexer::next() {
  skip_space();
  Token t;
  t.line = line_, t.column = column_;
  if (at_ >= text_.size()) return t;
  const char c = peek();
  if (is_letter(c)) {
    t.kind = TokenKind::word;
    while (is_word_char(peek())) t.text += take();
  } else if (c == '%') {
    t.kind = TokenKind::value;
    take();
    while (is_word_char(peek())) t.text += take();
    if (t.text.empty()) fail(t, "'%' is not followed by a name");
  } else if (is_digit(c) || c == '-') {
    lex_number(t);
  } else if (c == '"') {
    lex_string(t);
  } else if (c != '\0' && std::string_view("(){}[]<>,:=@#").find(c) != std::string_view::npos) {
    t.kind = TokenKind::punctuation;
    t.text = take();
  } else if (c > ' ' && c < '\x7f') {
    fail(t, fmt::format("unexpected character '{}'", c));
  } else {
    fail(t, fmt::format("unexpected character {:#04x}", static_cast<unsigned char>(c)));
  }
  return t;
}

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + '"';
}

bool is_word(std::string_view s) {
  if (s.empty() || !is_letter(s[0])) return false;
  for (char c : s)
    if (!is_word_char(c)) return false;
  return true;
}

}  // namespace tilewright::ir
