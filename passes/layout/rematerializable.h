// Rematerialisable tiles have no layout of their own, because they are cheap to compute under each layout that a user needs.
#pragma once
#include <optional>
#include <vector>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// The approximate number of instructions for one element of an op's result, if it can be computed again under another layout: constants,
/// aranges, broadcasts, reshapes, permutes, hints and element-wise ops except inline PTX. None for other ops.
std::optional<int> recompute_cost(const Function&, OpId);

/// The rematerialisable tiles of a function: constants, aranges, broadcasts of any tile (a small tile is converted before it is broadcast),
/// and results of element-wise ops, reshapes and permutes whose operands are rematerialisable or scalars, and loads of tiles that are only
/// broadcast, and inline PTX, if their operands are rematerialisable: they take the layout that their user needs.
class RematerializableValues {
 public:
  explicit RematerializableValues(const Function&);
  bool operator()(ValueId v) const { return is_rematerializable_[v.index]; }

 private:
  bool is_rematerializable(OpId) const;
  bool is_only_broadcast(ValueId) const;

  const Function& f_;
  std::vector<bool> is_rematerializable_;  // indexed by value
};

}  // namespace tilewright::passes
