// The value of symbols by which fusion and the search of graphs estimate times.
#pragma once
#include <cstdint>

namespace tilewright::graph {

/// The value that estimates assume for a symbol, unless its bounds exclude it.
inline constexpr std::int64_t kTypicalExtent = 1024;

}  // namespace tilewright::graph
