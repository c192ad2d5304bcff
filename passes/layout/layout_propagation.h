// Which layout each tile gets that is not free: decided forward from loads and ops with a layout of their own, without changing the IR.
#pragma once
#include <vector>

#include "passes/layout/coalesce.h"
#include "passes/layout/layout_cost.h"
#include "passes/layout/rematerializable.h"

namespace tilewright::passes {

/// An op whose tiles lie alike works where its inputs lie: where that is in several places, in the one to which bringing the others costs
/// least, what an access costs there counted in. A carried value lies as what the loop's body ends with (or, where that follows from the
/// value itself, as it begins), so that conversions stay outside of loops.
class LayoutPropagation {
 public:
  /// Adds layouts to the function, nothing else.
  LayoutPropagation(ir::Function&, const RematerializableValues&, const Coalescing&, ConversionCosts&, int log2_warps);

  /// Of a tile that is not free.
  ir::LayoutId of(ir::ValueId v) const { return values_[v.index]; }
  /// Whether operand i is a tile that the op takes under one layout with others, which `operand_layout` says; else it takes it as it is.
  static bool uses_operand_layout(const ir::Function&, ir::OpId, int i);
  ir::LayoutId operand_layout(ir::OpId id) const { return operand_layouts_[id.index]; }
  /// Where a tile is best made of which nobody asks more.
  ir::LayoutId default_layout(ir::ValueId);

 private:
  void propagate_block(ir::BlockId);
  void propagate(ir::OpId);
  void propagate_same_layout(ir::OpId);
  void propagate_infer_result(ir::OpId);
  void propagate_any_layout(ir::OpId);
  void propagate_for(ir::OpId);
  void propagate_if(ir::OpId);
  void propagate_while(ir::OpId);
  /// The cheapest of the layouts of these operands and `others`; none if one of them waits for a loop, `fallback` if all are free.
  ir::LayoutId cheapest(ir::OpId, std::span<const ir::ValueId> operands, std::span<const ir::LayoutId> others, ir::ValueId fallback);
  void set(ir::ValueId v, ir::LayoutId l) { values_[v.index] = l; }
  ir::LayoutId working(ir::OpId, ir::LayoutId operand);
  void set_results(ir::OpId, ir::LayoutId);
  bool is_unresolved(ir::ValueId v) const;
  /// Takes the layouts of `from` for the variables that have none; whether there was one.
  bool resolve(std::span<const ir::ValueId> variables, std::span<const ir::ValueId> from, bool one_is_enough);

  ir::Function& f_;
  const RematerializableValues& rematerializable_;
  const Coalescing& coalescing_;
  ConversionCosts& costs_;
  int log2_warps_;
  std::vector<ir::LayoutId> values_, operand_layouts_;
};

}  // namespace tilewright::passes
