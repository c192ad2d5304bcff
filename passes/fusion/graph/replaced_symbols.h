// Extents with other symbols.
#pragma once
#include <cstdint>
#include <functional>

#include "tilewright/dim.h"

namespace tilewright::passes::fusion {

/// The extent in which `symbol(number)` replaces each symbol; the result may have symbols of another graph.
Dim with_symbols(const Dim&, const std::function<Dim(std::uint32_t)>& symbol);

}  // namespace tilewright::passes::fusion
