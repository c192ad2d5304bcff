// Gives every tile a layout, and converts where an op needs another one.
//
// Input: traced. Output: distributed. Numerics do not change. See tests/files/passes/assign_layouts/.
//
// Free tiles (passes/layout/rematerializable.h) are made in each layout that somebody asks for; the others lie where LayoutPropagation
// says. Both kinds are made where they were defined, and so once, outside of the loops that use them.
#include <bit>
#include <map>

#include "passes/layout/layout_propagation.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/diagnostics.h"
#include "tileir/layout_rules.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

class Assigner {
 public:
  Assigner(Function& f, int log2_warps)
      : rw_(f),
        f_(f),
        axes_(f),
        rematerializable_(f),
        coalescing_(f, axes_, rematerializable_, log2_warps),
        costs_(f),
        propagation_(f, rematerializable_, coalescing_, costs_, log2_warps),
        placed_(f.op_capacity()) {}

  void run() {
    f_.walk([&](OpId id) { ops_.push_back(id); });
    for (OpId id : ops_) assign_results(id);
    for (OpId id : ops_) assign_operands(id);
    sweep();
  }

 private:
  bool is_rematerializable(ValueId v) const { return !f_.type(v).is_scalar() && v.index < placed_values_ && rematerializable_(v); }

  /// Layouts of results and arguments that are not free.
  void assign_results(OpId id) {
    const auto set = [&](ValueId v) {
      if (f_.type(v).is_scalar() || rematerializable_(v)) return;
      TW_CHECK(propagation_.of(v).valid(), "a tile was left without a layout");
      f_.set_layout(v, propagation_.of(v));
    };
    for (ValueId v : f_.op(id).results) set(v);
    for (BlockId b : f_.op(id).regions)
      for (ValueId v : f_.block(b).args) set(v);
  }

  void assign_operands(OpId id) {
    const ir::OpData& op = f_.op(id);
    if (op.results.size() == 1 && is_rematerializable(op.results[0])) return;  // made when asked for
    if (op.kind == OpKind::for_) return set_iter_args(id, f_.block(op.regions[0]).args, 3, 1);
    if (op.kind == OpKind::while_) return set_iter_args(id, f_.block(op.regions[0]).args, 0, 0);
    if (ir::info(op.kind).has(ir::kTerminator)) return end_region(id);
    for (int i = 0; i < static_cast<int>(f_.op(id).operands.size()); ++i) {
      const ValueId v = f_.operand(id, i);
      if (f_.type(v).is_scalar()) continue;
      set_operand(id, i, LayoutPropagation::uses_operand_layout(f_, id, i) ? propagation_.operand_layout(id) : where_it_lies(v));
    }
  }

  LayoutId where_it_lies(ValueId v) { return f_.layout_id(v) ? f_.layout_id(v) : propagation_.default_layout(v); }

  /// Operands from `operand` on become the values from `first` on.
  void set_iter_args(OpId id, const std::vector<ValueId>& to, std::size_t operand, std::size_t first) {
    for (std::size_t k = 0; first + k < to.size(); ++k) set_operand(id, static_cast<int>(operand + k), f_.layout_id(to[first + k]));
  }

  void end_region(OpId id) {
    const BlockId block = f_.op(id).parent;
    const OpId parent = f_.block(block).parent;
    switch (f_.kind(parent)) {
      case OpKind::for_:
      case OpKind::if_: return set_iter_args(id, f_.op(parent).results, 0, 0);
      case OpKind::while_:
        if (block == f_.region(parent, 0)) return set_iter_args(id, f_.op(parent).results, 1, 0);
        return set_iter_args(id, f_.block(f_.region(parent, 0)).args, 0, 0);
      default: return;  // of a combining region: scalars
    }
  }

  void set_operand(OpId id, int i, LayoutId layout) {
    const ValueId v = f_.operand(id, i), made = make(v, layout);
    if (made != v) rw_.set_operand(id, i, made);
  }

  /// The tile under this layout.
  ValueId make(ValueId v, LayoutId layout) {
    if (f_.type(v).is_scalar() || f_.layout_id(v) == layout) return v;
    ValueId& known = made_[{v.index, layout.index}];
    if (known) return known;
    ValueId made;
    if (!is_rematerializable(v)) {
      made = convert(v, layout);
    } else if (!f_.layout_id(v)) {
      made = place(v, layout);
    } else {
      int budget = costs_(f_.layout_id(v), layout, f_.type(v));
      made = spend(budget, v, layout) ? copy(v, layout) : convert(v, layout);
    }
    return made_[{v.index, layout.index}] = made;
  }

  /// Takes from the budget what it costs to make the tile under this layout; false where that is too much.
  bool spend(int& budget, ValueId v, LayoutId layout) {
    if (f_.type(v).is_scalar() || f_.layout_id(v) == layout || made_.count({v.index, layout.index})) return true;
    if (!is_rematerializable(v)) {
      budget -= costs_(f_.layout_id(v), layout, f_.type(v));
      return budget >= 0;
    }
    const int cost = rematerializable_.element_cost(v);
    if (cost >= RematerializableValues::kNotDuplicable) return false;
    budget -= cost * kInstructionCost * static_cast<int>(f_.layout(layout).size(ir::HardwareDim::reg));
    if (budget < 0) return false;
    const OpId id = f_.value(v).op;
    const std::vector<ValueId>& operands = f_.layout_id(v) ? placed_[id.index] : f_.op(id).operands;
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!spend(budget, operands[i], wanted(id, operands[i], layout))) return false;
    return true;
  }

  /// Makes a free tile for the first time: its op takes this layout. Of a load that only in case it is no worse off there.
  ValueId place(ValueId v, LayoutId layout) {
    const OpId id = f_.value(v).op;
    if (const Coalescing::Access* access = coalescing_.access(id)) {
      const LayoutId own = f_.add_layout(access->group_layout);
      if (access_cost(access->info, f_.layout(own)) + costs_(own, layout, f_.type(v)) < access_cost(access->info, f_.layout(layout))) {
        place_operands(id, own);
        f_.set_layout(v, own);
        return convert(v, layout);
      }
    }
    place_operands(id, layout);
    f_.set_layout(v, layout);
    return v;
  }

  void place_operands(OpId id, LayoutId layout) {
    placed_[id.index] = f_.op(id).operands;
    for (int i = 0; i < static_cast<int>(f_.op(id).operands.size()); ++i) {
      const ValueId made = make(f_.operand(id, i), wanted(id, f_.operand(id, i), layout));
      if (made != f_.operand(id, i)) rw_.set_operand(id, i, made);
    }
  }

  /// The layout of an operand for one of the result.
  LayoutId wanted(OpId id, ValueId operand, LayoutId layout) {
    if (f_.type(operand).is_scalar()) return {};
    const ir::LayoutRule rule = ir::layout_rule(f_.kind(id));
    if (rule == ir::LayoutRule::same_layout) return layout;
    return f_.add_layout(*ir::operand_layout(f_, id, ir::LinearLayout(f_.layout(layout))));
  }

  /// The op of a free tile once more.
  ValueId copy(ValueId v, LayoutId layout) {
    const OpId id = f_.value(v).op;
    std::vector<ValueId> operands = placed_[id.index];
    for (ValueId& operand : operands) operand = make(operand, wanted(id, operand, layout));
    const ir::OpData op = f_.op(id);
    const ir::Type type = f_.type(v);
    const ValueId made = f_.result(f_.create_op(op.kind, op.loc, operands, std::span(&type, 1), op.attrs, op.parent, op.next));
    f_.set_layout(made, layout);
    return made;
  }

  /// Right behind its definition.
  ValueId convert(ValueId v, LayoutId layout) {
    const OpId definer = f_.value(v).op;
    const BlockId block = definer ? f_.op(definer).parent : f_.value(v).block;
    const OpId before = definer ? f_.op(definer).next : f_.block(block).first;
    const ir::Type type = f_.type(v);
    const OpId id = f_.create_op(OpKind::convert_layout_, definer ? f_.op(definer).loc : f_.op(f_.block(block).parent).loc, std::span(&v, 1),
                                 std::span(&type, 1), {}, block, before);
    f_.set_layout(f_.result(id), layout);
    return f_.result(id);
  }

  /// Free tiles that nobody asked for go; a volatile load among them stays.
  void sweep() {
    for (auto it = ops_.rbegin(); it != ops_.rend(); ++it) {
      const ir::OpData& op = f_.op(*it);
      if (op.results.size() != 1 || !is_rematerializable(op.results[0]) || f_.layout_id(op.results[0])) continue;
      if (f_.attr(*it, ir::AttrName::is_volatile))
        make(op.results[0], propagation_.default_layout(op.results[0]));
      else rw_.erase(*it);
    }
  }

  Rewriter rw_;
  Function& f_;
  AxisInfoAnalysis axes_;
  RematerializableValues rematerializable_;
  Coalescing coalescing_;
  ConversionCosts costs_;
  LayoutPropagation propagation_;
  std::size_t placed_values_ = f_.value_capacity();  // later values are copies and conversions, which are not asked for
  std::vector<OpId> ops_;
  std::vector<std::vector<ValueId>> placed_;  // by op: its operands as they were
  std::map<std::pair<std::uint32_t, std::uint32_t>, ValueId> made_;
};

}  // namespace

bool assign_layouts(Function& f, const PassContext& context) {
  Assigner(f, std::countr_zero(static_cast<unsigned>(context.num_warps))).run();
  return true;
}

}  // namespace tilewright::passes
