// Reads extents as Dim::text() writes them.
#pragma once
#include <string_view>

#include "tileir/graph/symbols.h"

namespace tilewright::graph {

/// "2 n + 1", "(n + 1) / 2", "'batch size' n^2". Throws Error at `where` for an unknown symbol or a text that is not an extent.
Dim parse_dim(std::string_view text, const SymbolTable&, const Location& where);

}  // namespace tilewright::graph
