// Conversions that can be had cheaper: of smaller tiles, of what the tile is computed from, or not at all.
//
// Input, output: distributed. Numerics do not change. See tests/files/passes/remove_layout_conversions/.
//
//   convert(cast(x))            -> cast(convert(x))       if x has smaller elements; likewise any cheap element-wise ops and shape ops
//   convert(broadcast(x))       -> broadcast(convert(x))
//   convert(convert(x))         -> convert(x)
#include <map>

#include "passes/layout/layout_cost.h"
#include "passes/layout/rematerializable.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/layout_rules.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

constexpr int kMostOpsDeep = 12;

class Remover {
 public:
  explicit Remover(Function& f) : rw_(f), f_(f), costs_(f) {}

  bool run() {
    std::vector<OpId> conversions;
    f_.walk([&](OpId id) {
      if (f_.kind(id) == OpKind::convert_layout_) conversions.push_back(id);
    });
    for (OpId id : conversions) {
      if (f_.erased(id)) continue;
      const ValueId out = f_.result(id);
      const LayoutId to = f_.layout_id(out);
      ValueId v = f_.operand(id, 0);
      while (const OpId inner = f_.defined_by(v, OpKind::convert_layout_)) v = f_.operand(inner, 0);
      if (f_.layout_id(v) == to) {
        replace(id, v);
      } else if (const int here = costs_(f_.layout_id(v), to, f_.type(v)); cost(v, to, here, kMostOpsDeep) < here) {
        replace(id, make(v, to));
      } else if (v != f_.operand(id, 0)) {
        const ValueId old = f_.operand(id, 0);
        rw_.set_operand(id, 0, v);
        rw_.erase_unused(old);
      }
    }
    return rw_.changed();
  }

 private:
  void replace(OpId conversion, ValueId v) {
    const ValueId old = f_.operand(conversion, 0);
    rw_.replace(conversion, v);
    rw_.erase_unused(old);
  }

  /// Whether the op can be done again under another layout of its result.
  bool moves_along(OpId id) const {
    if (!id) return false;
    const ir::OpInfo& info = ir::info(f_.kind(id));
    if (!info.has(ir::kPure) || f_.op(id).results.size() != 1) return false;
    switch (f_.kind(id)) {
      case OpKind::arange_:
      case OpKind::broadcast_:
      case OpKind::reshape_:
      case OpKind::permute_: return true;
      case OpKind::inline_ptx_: return false;
      default: return info.has(ir::kElementwise) || info.family == ir::Family::hint;
    }
  }

  LayoutId wanted(OpId id, ValueId operand, LayoutId result) {
    if (f_.type(operand).is_scalar()) return {};
    if (ir::layout_rule(f_.kind(id)) == ir::LayoutRule::same_layout) return result;
    return f_.add_layout(*ir::operand_layout(f_, id, ir::LinearLayout(f_.layout(result))));
  }

  int own_cost(OpId id, LayoutId result) {
    if (ir::info(f_.kind(id)).family == ir::Family::shape || f_.op(id).operands.empty()) return 0;
    return element_cost(f_, id) * kInstructionCost * static_cast<int>(f_.layout(result).size(ir::HardwareDim::reg));
  }

  /// The least that the tile costs under this layout; anything from `limit` on if that is too much.
  int cost(ValueId v, LayoutId to, int limit, int depth) {
    if (f_.type(v).is_scalar() || f_.layout_id(v) == to || known(v, to)) return 0;
    const int here = costs_(f_.layout_id(v), to, f_.type(v));
    return std::min(here, cost_again(v, to, std::min(here, limit), depth));
  }

  int cost_again(ValueId v, LayoutId to, int limit, int depth) {
    const OpId id = f_.value(v).op;
    if (depth == 0 || !moves_along(id)) return limit;
    int total = own_cost(id, to);
    for (ValueId x : f_.op(id).operands) {
      if (total >= limit) return limit;
      total += cost(x, wanted(id, x, to), limit - total, depth - 1);
    }
    return total;
  }

  /// What was made already, and is still there.
  ValueId known(ValueId v, LayoutId to) const {
    const auto at = made_.find({v.index, to.index});
    return at == made_.end() || f_.erased(f_.value(at->second).op) ? ValueId{} : at->second;
  }

  ValueId make(ValueId v, LayoutId to, int depth = kMostOpsDeep) {
    if (f_.type(v).is_scalar() || f_.layout_id(v) == to) return v;
    if (const ValueId made = known(v, to)) return made;
    const int here = costs_(f_.layout_id(v), to, f_.type(v));
    const OpId definer = f_.value(v).op;
    const ir::Type type = f_.type(v);
    OpKind kind = OpKind::convert_layout_;
    std::vector<ValueId> operands{v};
    std::vector<ir::Attr> attrs;
    if (cost_again(v, to, here, depth) < here) {
      operands = f_.op(definer).operands;
      for (ValueId& x : operands) x = make(x, wanted(definer, x, to), depth - 1);
      kind = f_.kind(definer);
      attrs = f_.op(definer).attrs;
    }
    // Right behind the definition, where all that it is made of is made too.
    const ir::BlockId block = f_.defining_block(v);
    const OpId before = definer ? f_.op(definer).next : f_.block(block).first;
    const ir::Loc loc = definer ? f_.op(definer).loc : f_.op(f_.block(block).parent).loc;
    const ValueId made = f_.result(f_.create_op(kind, loc, operands, std::span(&type, 1), std::move(attrs), block, before));
    f_.set_layout(made, to);
    return made_[{v.index, to.index}] = made;
  }

  Rewriter rw_;
  Function& f_;
  ConversionCosts costs_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ValueId> made_;
};

}  // namespace

bool remove_layout_conversions(Function& f, const PassContext&) { return Remover(f).run(); }

}  // namespace tilewright::passes
