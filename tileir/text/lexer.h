// Splits the textual form of tile IR into tokens. Private to the parser.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tilewright/error.h"

namespace tilewright::ir {

enum class TokenKind : std::uint8_t {
  word,    // load, f32, true
  value,   // %x; `text` without the %
  number,  // 12, -1.5e-3, 0x7fc0, -inf
  string,  // "a.cpp"; `text` is the contents, unescaped
  punctuation,
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  std::uint32_t line = 1, column = 1;

  bool is(char c) const { return kind == TokenKind::punctuation && text[0] == c; }
};

class Lexer {
 public:
  /// Throws Error if the text is too long for 32-bit positions.
  Lexer(std::string_view text, const std::string& file);
  /// The next token; at the end of the text always `end`. Throws Error at a character that cannot start a token.
  Token next();

 private:
  void skip_space();
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char take();
  void lex_number(Token&);
  void lex_string(Token&);
  [[noreturn]] void fail(const Token&, const std::string& message) const;

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1, column_ = 1;
};

/// The string in quotes, as the lexer reads it.
std::string quoted(std::string_view);
/// Whether the printer may write a name without quotes.
bool is_word(std::string_view);

}  // namespace tilewright::ir
