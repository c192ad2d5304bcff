// Gives every tile a layout, and converts where an op needs another one.
//
// Input: traced. Output: distributed. Numerics do not change. See tests/files/passes/assign_layouts/.
#include <bit>
#include <numeric>

#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/diagnostics.h"
#include "tileir/layout/layout_builders.h"
#include "tileir/layout_rules.h"

namespace tilewright::passes {

using ir::Function;
using ir::LayoutId;
using ir::OpId;
using ir::ValueId;

namespace {

class Assigner {
 public:
  Assigner(Function& f, const PassContext& context) : rw_(f), f_(f), log2_warps_(std::countr_zero(static_cast<unsigned>(context.num_warps))) {}

  void run() {
    std::vector<OpId> ops;
    f_.walk([&](OpId id) { ops.push_back(id); });
    for (std::uint32_t i = 0; i < f_.value_capacity(); ++i) {
      const ValueId v{i};
      if (!f_.type(v).is_scalar()) f_.set_layout(v, default_layout(f_.type(v)));
    }
    for (OpId id : ops) assign(id);
  }

 private:
  LayoutId default_layout(const ir::Type& t) {
    const std::vector<int> extents = ir::log2_extents(t);
    std::vector<int> order(extents.size());
    std::iota(order.rbegin(), order.rend(), 0);
    const int bytes = t.element_bytes();
    return f_.add_layout(ir::blocked_layout(extents, std::countr_zero(static_cast<unsigned>(std::max(16 / bytes, 1))) & 2, order, log2_warps_));
  }

  ValueId convert(ValueId v, LayoutId to) {
    if (f_.layout_id(v) == to) return v;
    const ValueId out = f_.result(rw_.create(ir::OpKind::convert_layout_, std::span(&v, 1)));
    f_.set_layout(out, to);
    return out;
  }

  void assign(OpId id) {
    const ir::LayoutRule rule = ir::layout_rule(f_.kind(id));
    if (f_.op(id).results.empty() || f_.op(id).operands.empty()) return;
    const ValueId x = f_.operand(id, 0), y = f_.result(id);
    if (f_.type(x).is_scalar() || f_.type(y).is_scalar()) return;
    rw_.before(id);
    rw_.set_loc(f_.op(id).loc);
    if (rule == ir::LayoutRule::expands) {
      rw_.set_operand(id, 0, convert(x, f_.add_layout(*ir::operand_layout(f_, id, f_.layout(y)))));
    } else if (rule == ir::LayoutRule::follows) {
      if (!ir::result_layout(f_, id, f_.layout(x))) {  // split
        rw_.set_operand(id, 0, convert(x, f_.add_layout(*ir::operand_layout(f_, id, f_.layout(y)))));
        return;
      }
      const LayoutId wanted = f_.layout_id(y);
      const LayoutId natural = f_.add_layout(*ir::result_layout(f_, id, f_.layout(x)));
      if (natural == wanted) return;
      rw_.after(id);
      for (ValueId r : std::vector<ValueId>(f_.op(id).results)) {
        f_.set_layout(r, natural);
        const std::vector<OpId> users = f_.value(r).users;
        if (users.empty()) continue;
        const ValueId c = convert(r, wanted);
        for (OpId user : users)
          for (std::size_t i = 0; i < f_.op(user).operands.size(); ++i)
            if (f_.operand(user, static_cast<int>(i)) == r) rw_.set_operand(user, static_cast<int>(i), c);
      }
    }
  }

  Rewriter rw_;
  Function& f_;
  int log2_warps_;
};

}  // namespace

bool assign_layouts(Function& f, const PassContext& context) {
  Assigner(f, context).run();
  return true;
}

}  // namespace tilewright::passes
