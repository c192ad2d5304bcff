// A dot of one row becomes a sum of products where its right factor is loaded along k: vectors then run along k, as memory does. For a dot
// the factor would be transposed, which takes longer than the products of one row.
//
//   dot(a[1, k], load(p[k, n]), c[1, n])   ->   c + sum(a * load(permute(p)[n, k]), axis 1)
//
// Input, output: traced IR. Numerics change: a sum adds in another order than a dot. The pass runs only for hosts. See
// tests/files/passes/sum_dots/.
#include <array>
#include <vector>

#include "passes/analysis/axis_info.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

/// The load of the right factor, if the dot can be such a sum; else none.
OpId load_along_depth(const Function& f, const AxisInfoAnalysis& axes, OpId dot, int lanes) {
  const Type sum = f.type(f.result(dot)), right = f.type(f.operand(dot, 1));
  const OpId load = f.defined_by(f.operand(dot, 1), OpKind::load_);
  if (sum.rank() != 2 || sum.extent(0) != 1 || !sum.is_float() || right.extent(0) < lanes || right.extent(1) == 1 || !load) return {};
  if (f.value(f.result(load)).users.size() != 1 || f.attr(load, AttrName::is_volatile)) return {};
  const AxisInfo& pointer = axes(f.operand(load, 0));
  return pointer.contiguity[0] >= lanes && pointer.contiguity[1] == 1 && pointer.constancy[1] == 1 ? load : OpId{};
}

/// The sums of a tile along its last axis.
ValueId sums_of_rows(Rewriter& rw, ValueId x) {
  Function& f = rw.function();
  const OpId reduce =
      rw.create(OpKind::reduce_, std::span(&x, 1), {ir::Attr{AttrName::axis, 1, {}}, ir::Attr{AttrName::commutative, 1, {}}});
  const BlockId region = f.region(reduce);
  const ValueId a = f.add_arg(region, f.type(x).scalar()), b = f.add_arg(region, f.type(x).scalar());
  ir::Builder combine(f);
  combine.set_loc(rw.loc());
  combine.at_end(region);
  const ValueId sum = combine.binary(OpKind::add_, a, b);
  combine.create(OpKind::yield_, std::span(&sum, 1));
  return f.result(reduce);
}

void become_sum(Rewriter& rw, OpId dot, OpId load) {
  const Function& f = rw.ir();
  const std::array<std::int64_t, 2> exchanged{1, 0};
  rw.at(load);
  std::vector<ValueId> operands;
  for (ValueId x : f.op(load).operands) operands.push_back(rw.permute(x, exchanged));
  const ValueId right = f.result(rw.create(OpKind::load_, operands, f.op(load).attrs));
  rw.at(dot);
  const Type sum = f.type(f.result(dot)), rows = f.type(right);
  const ValueId left = rw.broadcast(rw.cast(f.operand(dot, 0), sum.element()), rows.shape());
  const ValueId sums = sums_of_rows(rw, rw.binary(OpKind::mul_, left, rw.cast(right, sum.element())));
  rw.replace(dot, rw.binary(OpKind::add_, rw.reshape(sums, sum.shape()), f.operand(dot, 2)));
  rw.erase(load);
}

}  // namespace

bool sum_dots(Function& f, const PassContext& context) {
  if (context.target.is_gpu()) return false;
  std::vector<OpId> dots;
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::dot_) dots.push_back(id);
  });
  if (dots.empty()) return false;
  const AxisInfoAnalysis axes(f);
  Rewriter rw(f);
  for (OpId dot : dots)
    if (const OpId load = load_along_depth(f, axes, dot, context.target.lanes())) become_sum(rw, dot, load);
  return rw.changed();
}

}  // namespace tilewright::passes
