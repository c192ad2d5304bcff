// Axis info: contiguity, divisibility and constancy of integer and pointer tiles along each axis (after Triton's AxisInfo).
#pragma once
#include <string>
#include <vector>

#include "passes/analysis/axis_info_lattice.h"
#include "passes/analysis/value_range.h"
#include "passes/ir_names.h"

namespace tilewright::passes {

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
