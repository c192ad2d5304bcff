// A position in the tokens of a PTX text, and errors at that position.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/emulator/ptx/lexer.h"
#include "runtime/emulator/ptx/module.h"

namespace tilewright::rt::emulator {

class TokenStream {
 public:
  TokenStream(std::vector<Token> tokens, const std::string& name) : tokens_(std::move(tokens)), name_(name) {}

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool at_end() const { return peek().kind == TokenKind::end; }
  bool is_sign(char c, std::size_t ahead = 0) const { return peek(ahead).kind == TokenKind::sign && peek(ahead).text[0] == c; }
  bool is_word(std::string_view text) const { return peek().kind == TokenKind::word && peek().text == text; }
  bool take_sign(char c) { return is_sign(c) && (next(), true); }
  bool take_word(std::string_view text) { return is_word(text) && (next(), true); }
  void expect(char c);
  std::string_view expect_word(std::string_view what);
  u64 expect_integer(std::string_view what);  // may have a sign
  /// A word that starts with a dot and names a type.
  Type expect_type();

  [[noreturn]] void fail(const std::string& message) const { fail_at(peek().line, message); }
  [[noreturn]] void fail_at(int line, const std::string& message) const;

 private:
  std::vector<Token> tokens_;
  const std::string& name_;
  std::size_t at_ = 0;
};

/// Parses `.align 4 .b8 name[16] = {1, 2};` and similar text after the word of the space; several names give several variables.
std::vector<Variable> parse_variables(TokenStream&, Space, bool is_extern);
/// Parses the body of a function, including its braces.
void parse_body(TokenStream&, const Module&, Function&);

}  // namespace tilewright::rt::emulator
