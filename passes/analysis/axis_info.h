// Axis info: contiguity, divisibility and constancy of integer and pointer tiles along each axis (after Triton's AxisInfo).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
};

inline constexpr std::int64_t kMaxDivisibility = std::int64_t{1} << 62;

/// Forward data-flow analysis of the whole function, loops included, to a fixed point. Signed index arithmetic is assumed not to wrap
/// within a run (a run that wraps would span the whole address range); runs that rely on this assumption are marked.
class AxisInfoAnalysis {
 public:
  explicit AxisInfoAnalysis(const ir::Function&);
  /// Requires: knows(v).
  const AxisInfo& operator()(ir::ValueId v) const { return info_[v.index]; }
  /// Whether the value existed when the analysis ran.
  bool knows(ir::ValueId v) const { return v.index < info_.size(); }
  /// The bounds of every element of an integer tile.
  const Range& range(ir::ValueId v) const { return ranges_[v.index]; }
  /// One line for each value: "%3: contiguity = [16], divisibility = [4], constancy = [1]".
  std::string print() const;

 private:
  const ir::Function* f_;
  std::vector<AxisInfo> info_;
  std::vector<Range> ranges_;
};

}  // namespace tilewright::passes
