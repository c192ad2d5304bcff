// Assigns a layout to every tile, and inserts conversions where an op needs another layout than its operand has.
//
//   1. Propagate: LayoutPropagation chooses the layouts of tiles that are not rematerialisable.
//   2. Assign results: these tiles get their layouts.
//   3. Assign operands: each op's operands are provided under the layouts that the op needs. Rematerialisable tiles are computed for the
//      requested layouts (passes/layout/rematerializer.h) at the place of their definition: once, and outside of the loops that
//      use them.
//   4. Sweep: removes rematerialisable tiles that are unused.
//
// Input: traced. Output: distributed. Numerics do not change. See tests/files/passes/assign_layouts/.
#include <bit>
#include <climits>

#include "passes/layout/layout_propagation.h"
#include "passes/layout/rematerializer.h"
#include "passes/pass.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

class LayoutAssigner {
 public:
  LayoutAssigner(Function& f, int log2_warps)
      : rw_(f),
        f_(f),
        axes_(f),
        rematerializable_(f),
        coalescing_(f, axes_, rematerializable_, log2_warps),
        costs_(f),
        propagation_(f, rematerializable_, coalescing_, costs_, log2_warps),
        rematerializer_(rw_, costs_, policy()) {}

  void run() {
    f_.walk([&](OpId id) { ops_.push_back(id); });
    for (OpId id : ops_) assign_results(id);
    for (OpId id : ops_) assign_operands(id);
    sweep();
  }

 private:
  RematerializationPolicy policy() {
    return {RematerializationPolicy::Threshold::always, INT_MAX, [this](ValueId v) { return is_rematerializable(v); },
            [this](ValueId v, LayoutId layout) { return first_layout(v, layout); }};
  }

  /// Whether this is a tile of the input that is rematerialisable. Conversions and recomputed tiles are used only under their own layout.
  bool is_rematerializable(ValueId v) const { return !f_.type(v).is_scalar() && v.index < input_values_ && rematerializable_(v); }

  void assign_results(OpId id) {
    const auto assign = [&](ValueId v) {
      if (f_.type(v).is_scalar() || rematerializable_(v)) return;
      TW_CHECK(propagation_.of(v).valid(), "a tile was left without a layout");
      f_.set_layout(v, propagation_.of(v));
    };
    for (ValueId v : f_.op(id).results) assign(v);
    for (BlockId b : f_.op(id).regions)
      for (ValueId v : f_.block(b).args) assign(v);
  }

  void assign_operands(OpId id) {
    const ir::OpData& op = f_.op(id);
    if (op.results.size() == 1 && is_rematerializable(op.results[0])) return;  // computed on request
    if (op.kind == OpKind::for_) return set_iter_args(id, f_.block(op.regions[0]).args, 3, 1);
    if (op.kind == OpKind::while_) return set_iter_args(id, f_.block(op.regions[0]).args, 0, 0);
    if (ir::info(op.kind).has(ir::kTerminator)) return assign_terminator(id);
    for (int i = 0; i < static_cast<int>(f_.op(id).operands.size()); ++i) {
      const ValueId v = f_.operand(id, i);
      if (f_.type(v).is_scalar()) continue;
      set_operand(id, i, LayoutPropagation::uses_operand_layout(f_, id, i) ? propagation_.operand_layout(id, i) : any_layout(v));
    }
  }

  /// The layout that a tile has, or will get if no op needs another one.
  LayoutId any_layout(ValueId v) { return f_.layout_id(v) ? f_.layout_id(v) : propagation_.default_layout(v); }

  /// Operands from index `operand` on get the layouts of the values from index `first` on.
  void set_iter_args(OpId id, const std::vector<ValueId>& to, std::size_t operand, std::size_t first) {
    for (std::size_t k = 0; first + k < to.size(); ++k) set_operand(id, static_cast<int>(operand + k), f_.layout_id(to[first + k]));
  }

  void assign_terminator(OpId id) {
    const BlockId block = f_.op(id).parent;
    const OpId parent = f_.block(block).parent;
    switch (f_.kind(parent)) {
      case OpKind::for_:
      case OpKind::if_: return set_iter_args(id, f_.op(parent).results, 0, 0);
      case OpKind::while_:
        if (block == f_.region(parent, 0)) return set_iter_args(id, f_.op(parent).results, 1, 0);
        return set_iter_args(id, f_.block(f_.region(parent, 0)).args, 0, 0);
      default: return;  // the terminator of a combining region: its operands are scalars
    }
  }

  void set_operand(OpId id, int i, LayoutId layout) {
    const ValueId v = f_.operand(id, i), made = rematerializer_.get(v, layout);
    if (made != v) rw_.set_operand(id, i, made);
  }

  /// A load is computed under the requested layout, unless its group's layout and a conversion cost less.
  LayoutId first_layout(ValueId v, LayoutId layout) {
    const Coalescing::Access* access = coalescing_.access(f_.value(v).op);
    if (!access) return layout;
    const LayoutId own = f_.add_layout(access->group_layout);
    const int converted = access_cost(access->info, f_.layout(own)) + costs_(own, layout, f_.type(v));
    return converted < access_cost(access->info, f_.layout(layout)) ? own : layout;
  }

  void sweep() {
    for (auto it = ops_.rbegin(); it != ops_.rend(); ++it) {
      const ir::OpData& op = f_.op(*it);
      if (op.results.size() != 1 || !is_rematerializable(op.results[0]) || f_.layout_id(op.results[0])) continue;
      rw_.erase(*it);
    }
  }

  Rewriter rw_;
  Function& f_;
  AxisInfoAnalysis axes_;
  RematerializableValues rematerializable_;
  Coalescing coalescing_;
  ConversionCosts costs_;
  LayoutPropagation propagation_;
  Rematerializer rematerializer_;
  std::size_t input_values_ = f_.value_capacity();
  std::vector<OpId> ops_;  // the ops of the input
};

}  // namespace

bool assign_layouts(Function& f, const PassContext& context) {
  LayoutAssigner(f, std::countr_zero(static_cast<unsigned>(context.num_warps))).run();
  return true;
}

}  // namespace tilewright::passes
