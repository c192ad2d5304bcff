// Live extents: how many first indices of each axis of a tile can have an effect.
//
// A store of a tile of 64 rows under the mask "row < n" writes the first n rows. The analysis goes backwards from the stores: the values of
// the other rows are never observed, so a host's loops need not compute them, and a tile with one live row costs one row.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "passes/analysis/axis_info.h"
#include "tileir/ir.h"

namespace tilewright::passes {

/// Comparisons of an index that counts up along one axis with a bound that is constant along every axis; their scalars do not change within
/// a program. Indices at which one of the comparisons is false, and all indices after them, are dead.
struct PrefixBound {
  std::vector<ir::OpId> comparisons;
  friend bool operator==(const PrefixBound&, const PrefixBound&) = default;
};

/// The live indices of an axis: all, or those that are live under one of the bounds, given as a set of their numbers. A value without
/// effect has none.
struct LiveIndices {
  bool is_all = false;
  std::uint64_t bounds = 0;
  friend bool operator==(const LiveIndices&, const LiveIndices&) = default;
};
LiveIndices join(LiveIndices, LiveIndices);

/// Backward data-flow analysis of the whole function, loops included, to a fixed point. It begins at effects: a store has a live index
/// where its mask may hold, and every other op with an effect needs its operands completely. So do addresses and masks, which must be valid
/// wherever an access reads them, and every op that live_extents.cpp does not handle.
class LiveExtents {
 public:
  LiveExtents(const ir::Function&, const AxisInfoAnalysis&);
  LiveIndices operator()(ir::ValueId v, int axis) const { return live_[v.index][static_cast<std::size_t>(axis)]; }
  /// The indices at which an op on tiles has work to do, along an axis of its first result, of a store's value, or of a reduce's operand.
  LiveIndices of_op(ir::OpId, int axis) const;
  const PrefixBound& bound(int number) const { return bounds_[static_cast<std::size_t>(number)]; }
  /// One line for each tile: "%3: live = [all, %2]", where %2 is the comparison under which an index of axis 1 is live.
  std::string print() const;

 private:
  using Axes = std::array<LiveIndices, ir::kMaxRank>;
  void visit(ir::OpId);
  void demand(ir::ValueId, int axis, LiveIndices);
  void demand_all(ir::ValueId);
  void pass_on(ir::ValueId from, ir::ValueId to);  // `to` has the same shape
  void visit_control(ir::OpId);
  Axes stored(ir::OpId store);
  int number_of(const PrefixBound&);

  const ir::Function& f_;
  const AxisInfoAnalysis& info_;
  std::vector<Axes> live_;  // indexed by value
  std::map<ir::OpId, Axes> stores_;
  std::vector<PrefixBound> bounds_;
  bool changed_ = false;
};

/// For a comparison of a PrefixBound: the index, the bound, and whether the index may equal the bound.
struct PrefixComparison {
  ir::ValueId index, bound;
  bool or_equal = false;
};
PrefixComparison prefix_comparison(const ir::Function&, ir::OpId);

}  // namespace tilewright::passes
