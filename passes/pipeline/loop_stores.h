// The stores of a loop, and which loads may be moved before the stores of earlier iterations.
#pragma once
#include <optional>
#include <vector>

#include "passes/analysis/axis_info.h"
#include "passes/ir_names.h"

namespace tilewright::passes {

class LoopStores {
 public:
  LoopStores(const Function&, OpId loop);

  bool any() const { return !stores_.empty() || other_write_; }
  /// An op that writes but is not a plain store (an atomic, a volatile store): no load may be moved before it.
  OpId other_write() const { return other_write_; }
  /// The store that may write the memory that the load reads; none if their parameters cannot share memory.
  std::optional<OpId> store_before(OpId load, const AxisInfoAnalysis&) const;

 private:
  const Function& f_;
  std::vector<OpId> stores_;
  OpId other_write_;
};

}  // namespace tilewright::passes
