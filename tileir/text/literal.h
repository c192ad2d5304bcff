// Constants in the textual IR. literal() and parse_literal() are exact inverses for every bit pattern of every element type.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tileir/type.h"

namespace tilewright::ir {

/// Integers in decimal, bools as true and false, null pointers as 0; floats in the shortest decimal that reads back as the same bits
/// (always with a point or an exponent), inf, -inf, nan, and any other NaN as 0x... of its bits.
std::string literal(const Type&, std::uint64_t bits);

struct ParsedLiteral {
  std::uint64_t bits = 0;
  std::string error;  // empty if the word is valid
};
/// Also accepts 0x... bits for every element, and integers for floats.
ParsedLiteral parse_literal(const Type&, std::string_view word);

}  // namespace tilewright::ir
