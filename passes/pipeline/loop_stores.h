// The stores of a loop, and the loads that may be done before stores of earlier iterations.
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
  /// An op that writes and is no plain store (an atomic, a volatile store): no load may be done before it.
  OpId other_write() const { return other_write_; }
  /// The store that may write what the load reads; none: they belong to parameters of which one shares its memory with no other.
  std::optional<OpId> store_before(OpId load, const AxisInfoAnalysis&) const;

 private:
  const Function& f_;
  std::vector<OpId> stores_;
  OpId other_write_;
};

}  // namespace tilewright::passes
