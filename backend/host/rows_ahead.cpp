// Finds where the index of a loop and that of a tile's rows are used only as their sum.
#include "backend/host/rows_ahead.h"

#include <algorithm>

#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::backend::host {

using ir::AttrName;
using ir::OpKind;
using ir::Type;

namespace {

class RowIndex {
 public:
  RowIndex(const Function& f, const EvaluationPlan& plan, const passes::AxisInfoAnalysis& axes, OpId loop, std::int64_t rows)
      : f_(f), plan_(plan), axes_(axes), body_(f.op(loop).regions[0]), rows_(rows) {}

  /// Whether a value depends on the iteration and, if `has_rows`, on the index along axis 0 by their sum only. `has_rows`: its rank is that
  /// of the load's tile.
  bool is_sum(ValueId v, bool has_rows) const {
    const Type t = f_.type(v);
    if (t.is_scalar()) return !ir::is_defined_in(f_, v, body_);
    if (plan_.schedule(v) != Schedule::inlined && plan_.schedule(v) != Schedule::alias) return false;
    if (has_rows && (t.extent(0) == 1 || axes_(v).constancy[0] >= rows_)) has_rows = false;
    if (has_rows && is_this_sum(v)) return true;
    const OpId id = f_.value(v).op;
    if (!id) return false;
    const OpKind k = f_.kind(id);
    const ir::Family family = ir::info(k).family;
    const bool is_computed = family == ir::Family::unary || family == ir::Family::binary || family == ir::Family::ternary ||
                             family == ir::Family::convert || k == OpKind::multiple_of_ || k == OpKind::max_contiguous_;
    if (is_computed || (k == OpKind::broadcast_ && has_rows)) {
      return std::all_of(f_.op(id).operands.begin(), f_.op(id).operands.end(),
                         [&](ValueId x) { return is_sum(x, has_rows && !f_.type(x).is_scalar()); });
    }
    if (k == OpKind::constant_) return true;
    if (has_rows) return false;
    if (k == OpKind::arange_) return true;
    return (k == OpKind::broadcast_ || k == OpKind::reshape_) && is_sum(f_.operand(id, 0), false);
  }

 private:
  /// Whether v is the loop's index plus the index of a row.
  bool is_this_sum(ValueId v) const {
    const OpId id = f_.value(v).op;
    if (!id || f_.kind(id) != OpKind::add_) return false;
    const auto is_iteration = [&](ValueId x) {
      const OpId def = f_.value(x).op;
      return def && f_.kind(def) == OpKind::broadcast_ && f_.operand(def, 0) == f_.arg(body_, 0);
    };
    const ValueId a = f_.operand(id, 0), b = f_.operand(id, 1);
    return (is_iteration(a) && counts_rows(b)) || (is_iteration(b) && counts_rows(a));
  }
  /// Whether a tile is a column of consecutive numbers.
  bool counts_rows(ValueId v) const {
    if (f_.type(v).elements() != rows_) return false;
    for (OpId id = f_.value(v).op; id; id = f_.value(v).op) {
      if (f_.kind(id) == OpKind::arange_) return true;
      if (f_.kind(id) != OpKind::reshape_ && f_.kind(id) != OpKind::cast_) return false;
      v = f_.operand(id, 0);
    }
    return false;
  }

  const Function& f_;
  const EvaluationPlan& plan_;
  const passes::AxisInfoAnalysis& axes_;
  const BlockId body_;
  const std::int64_t rows_;
};

}  // namespace

bool continues_down(const Function& f, const EvaluationPlan& plan, const passes::AxisInfoAnalysis& axes, OpId load) {
  const OpId loop = f.block(f.op(load).parent).parent;
  const Type t = f.type(f.result(load));
  if (!loop || f.kind(loop) != OpKind::for_ || plan.contraction(loop) || t.rank() < 1 || t.rank() > 2) return false;
  const std::int64_t rows = t.extent(0);
  if (rows < 2 || f.constant_bits(f.op(loop).operands[2]) != static_cast<std::uint64_t>(rows)) return false;
  return RowIndex(f, plan, axes, loop, rows).is_sum(f.operand(load, 0), true);
}

}  // namespace tilewright::backend::host
