// Extents with other symbols.
#pragma once
#include <cstdint>
#include <functional>

#include "tilewright/dim.h"

namespace tilewright::passes::fusion {

/// The extent with `symbol(number)` in the place of each of its symbols, which may be of another graph.
Dim with_symbols(const Dim&, const std::function<Dim(std::uint32_t)>& symbol);

}  // namespace tilewright::passes::fusion
