// The lattice of axis_info: what is known about the runs of equal and of consecutive elements in a tile.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "passes/analysis/value_range.h"
#include "passes/ir_names.h"

namespace tilewright::passes {

/// Along each axis d of a tile, elements come in aligned runs (a run starts at a multiple of its length):
///   contiguity[d]    the length of runs x, x+1, x+2, ... (pointers: successive elements)
///   constancy[d]     the length of runs of equal values
///   divisibility[d]  a power of two that divides the first value of each run of contiguity[d] (pointers: in bytes)
/// Example, arange(0, 16) along axis 0: contiguity 16, constancy 1, divisibility 2^62 (the run starts at 0).
///   [0 0 0 0 4 4 4 4]: contiguity 1, constancy 4, divisibility 4.
/// All are powers of two, at least 1. A scalar has no axes, so its divisibility is in `scalar_divisibility`.
struct AxisInfo {
  std::array<std::int64_t, ir::kMaxRank> contiguity{1, 1, 1, 1, 1}, divisibility{1, 1, 1, 1, 1}, constancy{1, 1, 1, 1, 1};
  std::int64_t scalar_divisibility = 1;
  std::optional<std::int64_t> constant;  // the value of every element, if known
  /// The runs hold only modulo 2^32: they come from 32-bit indices that may wrap and were extended. Addresses may rely on such runs
  /// (AxisInfoAnalysis); comparisons may not.
  bool assumes_no_wrap = false;
  friend bool operator==(const AxisInfo&, const AxisInfo&) = default;
};

inline constexpr std::int64_t kMaxDivisibility = std::int64_t{1} << 62;

/// The knowledge of the analysis about one value.
struct LatticeElement {
  ir::Type type;
  AxisInfo info;
  Range range;
  friend bool operator==(const LatticeElement&, const LatticeElement&) = default;
};

}  // namespace tilewright::passes
