// Splits PTX text into words, numbers, strings and signs, each with its line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

enum class TokenKind : u8 { word, integer, float32, float64, string, sign, end };

struct Token {
  TokenKind kind;
  std::string_view text;  // a part of the lexed text; a string is without its quotes
  u64 bits = 0;           // of a number
  int line = 0;
};

/// All tokens, followed by one of kind `end`. Words may contain dots and double colons ("ld.shared::cta.u32", "%tid.x"); signs are single
/// characters. Throws Error at `name`:line for a character or a number that PTX does not have. `text` must outlive the tokens.
std::vector<Token> lex(std::string_view text, const std::string& name);

}  // namespace tilewright::rt::emulator
