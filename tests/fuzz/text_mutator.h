// Changes to a text of tile IR that leave most of it well formed: bytes at random rarely get past the lexer.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/random.h"

namespace tilewright::fuzz {

/// Each word of the grammar: ops, attributes, symbols, element types, keywords.
const std::vector<std::string>& vocabulary();

/// One to four changes: a line goes, is copied or moved; a token becomes another one of its kind.
std::string mutate_text(std::string_view text, Random&);

}  // namespace tilewright::fuzz
