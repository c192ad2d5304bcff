// Opens and closes combine regions, and traces users' functions into them.
#include "frontend/ops/combine.h"

#include <fmt/format.h>

#include "tileir/op_kind.h"
#include "tilewright/detail/combine.h"

namespace tilewright::detail {

OpenCombine open_combine(Emit& e, ir::OpKind kind, std::span<const ir::ValueId> tiles, std::vector<ir::Attr> attrs) {
  ir::Function& f = e.trace().function();
  OpenCombine o{{}, e.b().block(), {}};
  o.op = e.b().create(kind, tiles, std::move(attrs));
  const ir::BlockId region = f.region(o.op);
  for (int twice = 0; twice < 2; ++twice)
    for (ir::ValueId t : tiles) o.arguments.push_back(f.add_arg(region, f.type(t).scalar()));
  e.b().at_end(region);
  return o;
}

void close_combine(Emit& e, const OpenCombine& o, std::span<const ir::ValueId> yields) {
  e.b().create(ir::OpKind::yield_, yields);
  e.b().at_end(o.outer);
}

ir::ValueId combine_by(Emit& e, ir::OpKind kind, ir::OpKind combiner, ir::ValueId x, std::vector<ir::Attr> attrs) {
  const OpenCombine o = open_combine(e, kind, std::span(&x, 1), std::move(attrs));
  const ir::ValueId y = e.b().binary(combiner, o.arguments[0], o.arguments[1]);
  close_combine(e, o, std::span(&y, 1));
  return e.trace().function().result(o.op);
}

namespace {
const char* name_of(Combination c) { return c == Combination::reduce ? "reduce" : "scan"; }
}  // namespace

CustomCombine::CustomCombine(Combination kind, std::span<const Handle* const> tiles, std::int64_t axis, const Here& at)
    : kind_(kind), count_(tiles.size()), at_(at) {
  Emit e(name_of(kind), at_);
  e.expect_no_combine();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count_; ++i) texts.push_back(count_ == 1 ? "t" : fmt::format("get<{}>(t)", i));
  const std::vector<std::string_view> names(texts.begin(), texts.end());
  std::vector<ir::ValueId> values;
  for (std::size_t i = 0; i < count_; ++i) values.push_back(e.value(*tiles[i], names[i]));
  e.broadcast_all(values, names);
  std::vector<ir::Attr> attrs{ir::Attr{ir::AttrName::axis, e.axis(axis, e.type(values[0]).rank(), values[0], names[0]), {}}};
  if (kind == Combination::scan_reversed) attrs.push_back(ir::Attr{ir::AttrName::reverse, 1, {}});
  const OpenCombine o = open_combine(e, kind == Combination::reduce ? ir::OpKind::reduce_ : ir::OpKind::scan_, values, std::move(attrs));
  op_ = o.op.index;
  outer_ = o.outer.index;
  for (ir::ValueId v : o.arguments) arguments_.push_back(made(v));
  for (const Variable& v : e.trace().variables()) before_.push_back(v);
}

CustomCombine::~CustomCombine() {
  if (!finished_ && Trace::active() != nullptr) Trace::active()->leave_early(at_, "combine function");
}

void CustomCombine::finish(std::span<const Handle* const> combined) {
  Emit e(name_of(kind_), at_);
  ir::Function& f = e.trace().function();
  for (const Variable& v : before_)
    if (const Handle* h = e.trace().find(v, before_); h != nullptr && Trace::value_of(*h).index != v.value)
      e.fail("the combine function assigns to a variable outside of it; it may only return the combined elements");
  std::vector<ir::ValueId> yields;
  for (std::size_t i = 0; i < combined.size(); ++i) {
    const ir::ValueId v = e.value(*combined[i], "result of the combine function");
    if (!e.type(v).is_scalar())
      e.fail(fmt::format("the combine function gives {}; it takes and gives scalars", ir::shape_text(e.type(v))), v, "made here");
    yields.push_back(v);
  }
  close_combine(e, {{op_}, {outer_}, {}}, yields);
  for (ir::ValueId r : f.op({op_}).results) results_.push_back(made(r));
  finished_ = true;
}

}  // namespace tilewright::detail
