// Which tiles need no layout of their own, because they cost little to compute in any layout that a user asks for.
#pragma once
#include <vector>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// About how many instructions an element-wise op takes for one element.
int element_cost(const ir::Function&, ir::OpId);

/// Free: constants, aranges, broadcasts (of anything: what is small is converted before it is made large), and what element-wise ops,
/// reshapes and permutes make of free tiles and scalars. Then loads of tiles that are only broadcast: they lie as the large tile asks.
class RematerializableValues {
 public:
  explicit RematerializableValues(const ir::Function&);
  bool operator()(ir::ValueId v) const { return cost_[v.index] >= 0; }
  /// Of a free tile: instructions of its own op for an element.
  int element_cost(ir::ValueId v) const { return cost_[v.index]; }

  /// The cost of what is not done twice: loads, inline PTX.
  static constexpr int kNotDuplicable = 1 << 20;

 private:
  int cost_of(ir::OpId) const;
  bool is_only_broadcast(ir::ValueId) const;

  const ir::Function& f_;
  std::vector<int> cost_;  // of a value's own op; -1: not free
};

}  // namespace tilewright::passes
