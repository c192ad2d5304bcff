// Layout propagation: chooses the layouts of tiles that are not rematerialisable, without changing the IR (after the propagate and resolve
// conflicts steps of Triton's RemoveLayoutConversions).
#pragma once
#include <vector>

#include "passes/layout/coalesce.h"
#include "passes/layout/layout_cost.h"
#include "passes/layout/rematerializable.h"

namespace tilewright::passes {

///   1. Anchors: accesses (layouts from coalescing), dots, and other ops that choose a layout of their own.
///   2. Propagate: forward in program order. An op whose tiles have one layout takes the layout of its operands.
///   3. Resolve conflicts: of several operand layouts the op takes the one of least total cost: conversions of the other operands and, for
///      an access, the access itself. A loop-carried value takes the layout that the body yields or, if that depends on the value itself,
///      its initial value's layout, so that conversions stay outside of loops. Until then it is unresolved. the layout of its initial
///      value, so that conversions stay outside of loops. Until then the value is unresolved.
class LayoutPropagation {
 public:
  /// Adds layouts to the function and changes nothing else in it.
  LayoutPropagation(ir::Function&, const RematerializableValues&, const Coalescing&, ConversionCosts&, int log2_warps);

  /// The layout of a tile that is not rematerialisable.
  ir::LayoutId of(ir::ValueId v) const { return values_[v.index]; }
  /// Whether the op needs operand i in the layout operand_layout(id, i). It takes other operands in any layout.
  static bool uses_operand_layout(const ir::Function&, ir::OpId, int i);
  ir::LayoutId operand_layout(ir::OpId, int i);
  /// The layout of a tile if no op needs another one.
  ir::LayoutId default_layout(ir::ValueId);

 private:
  void propagate_block(ir::BlockId);
  void propagate(ir::OpId);
  void propagate_same_layout(ir::OpId);
  void propagate_infer_result(ir::OpId);
  void propagate_any_layout(ir::OpId);
  void propagate_matrix(ir::OpId);
  void propagate_for(ir::OpId);
  void propagate_if(ir::OpId);
  void propagate_while(ir::OpId);
  /// The cheapest of the layouts of these operands and `others`. If there are no layouts: none if an operand is unresolved, otherwise the
  /// preferred layout of `fallback`.
  ir::LayoutId cheapest(ir::OpId, std::span<const ir::ValueId> operands, std::span<const ir::LayoutId> others, ir::ValueId fallback);
  void set(ir::ValueId v, ir::LayoutId l) { values_[v.index] = l; }
  ir::LayoutId working(ir::OpId, ir::LayoutId operand);
  void set_results(ir::OpId, ir::LayoutId);
  bool is_unresolved(ir::ValueId v) const;
  /// Gives unresolved variables the layouts of `from`, all of them or only the first one. Returns whether a variable was resolved.
  bool resolve(std::span<const ir::ValueId> variables, std::span<const ir::ValueId> from, bool one_is_enough);

  ir::Function& f_;
  const RematerializableValues& rematerializable_;
  const Coalescing& coalescing_;
  ConversionCosts& costs_;
  int log2_warps_;
  std::vector<ir::LayoutId> values_, operand_layouts_;
};

}  // namespace tilewright::passes
