// Emits the loops of a scatter_add that adds in order, and the kernel of one that adds by atomics.
#include "passes/fusion/emit/scatter.h"

#include <algorithm>
#include <bit>

#include "passes/fusion/emit/program_grid.h"
#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/expr/extents.h"
#include "passes/fusion/thresholds.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;
using ir::OpKind;

// The least power of two that is not less than the extent, but at most `most`.
std::int64_t covering_tile(const Dim& extent, std::int64_t most) {
  const std::int64_t greatest = std::min(extent.greatest(), most);
  return std::min(most, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(greatest, 1)))));
}

class ScatterEmitter {
 public:
  ScatterEmitter(const std::string& name, ExprBuilder& exprs, const Scatter& scatter, const TileSizes& sizes)
      : function_(name),
        ir_(function_),
        context_(exprs, ir_),
        exprs_(exprs),
        scopes_(context_.scopes),
        build_(context_.build),
        tiles_(context_),
        s_(scatter),
        sizes_(sizes) {
    context_.parameters.set_written(s_.result);
    EmitScope scope;
    scope.block = function_.body();
    scopes_.push(std::move(scope));
    for (Axis a : s_.columns) columns_.insert(a);
    order_ = s_.columns;
  }

  EmittedKernel in_order() {
    distribute_over_grid(context_, sizes_.grid, {}, nullptr, grid_);
    const Element e = index_element(exprs_.extent(s_.row->extent));
    Part begin = build_.integer(e, 0), end = context_.extent(s_.row->extent, e);
    if (const auto owned = sizes_.grid.find(s_.row); owned != sizes_.grid.end()) {
      begin = build_.cast({scopes_.tile(s_.row).start, {}}, e);
      end = build_.binary(OpKind::minimum_, end, build_.binary(OpKind::add_, begin, build_.integer(e, owned->second), {}), {});
    }
    loop(begin, end, s_.row, e, [&] { tiles_.memory().store(s_.result, s_.own, s_.start, order_); });
    add_updates(0, begin, end);
    return finish();
  }

  EmittedKernel atomic() {
    distribute_over_grid(context_, sizes_.grid, {}, nullptr, grid_);
    for (Axis a : s_.positions) columns_.insert(a), order_.push_back(a);
    const Part begin = build_.integer(Element::i64, 0), end = context_.extent(s_.row->extent, Element::i64);
    tiles_.memory().add_to(s_.result, s_.destination, s_.update, columns_, order_, is_inside(begin, end), true);
    return finish();
  }

 private:
  // Whether the target is one of these rows.
  std::optional<Part> is_inside(const Part& begin, const Part& end) {
    const Part target = tiles_.value_as(s_.target, order_, Element::i64);
    return build_.both(build_.binary(OpKind::ge_, target, build_.cast(begin, Element::i64), order_),
                       build_.binary(OpKind::lt_, target, build_.cast(end, Element::i64), order_), order_);
  }

  // Visits one position at a time along each axis of the index; the last axis is innermost.
  void add_updates(std::size_t axis, const Part& begin, const Part& end) {
    if (axis == s_.positions.size()) {
      tiles_.memory().add_to(s_.result, s_.destination, s_.update, columns_, order_, is_inside(begin, end), false);
      return;
    }
    const Axis a = s_.positions[axis];
    const Element e = index_element(exprs_.extent(a->extent));
    loop(build_.integer(e, 0), context_.extent(a->extent, e), a, e, [&] { add_updates(axis + 1, begin, end); });
  }

  template <class F>
  void loop(const Part& begin, const Part& end, Axis axis, Element e, F&& body) {
    const ir::ValueId bounds[] = {begin.value, end.value, build_.integer(e, 1).value};
    const ir::OpId op = ir_.create(OpKind::for_, bounds);
    EmitScope inside;
    inside.block = function_.region(op);
    inside.tiles[axis] = {1, function_.add_arg(inside.block, ir::Type(e)), true};
    scopes_.innermost().before = op;
    scopes_.push(std::move(inside));
    body();
    ir_.create(OpKind::yield_, {});
    scopes_.pop();
    scopes_.innermost().before = {};
    scopes_.move_builder();
  }

  EmittedKernel finish() {
    EmittedKernel result;
    for (const KernelParameters::Parameter& p : context_.parameters.all()) result.parameters.push_back({p.tensor, p.extent});
    for (int i = 0; i < 3; ++i) result.grid[i] = grid_[i];
    result.writes = {s_.result};
    result.function = std::move(function_);
    return result;
  }

  ir::Function function_;
  ir::Builder ir_;
  EmitContext context_;
  ExprBuilder& exprs_;
  Scopes& scopes_;
  TileBuilder& build_;
  TileValues tiles_;
  const Scatter& s_;
  const TileSizes& sizes_;
  AxisSet columns_;
  Order order_;
  std::vector<GridFactor> grid_[3];
};

// Distributes columns: the contiguous axis first, with the widest tile; the remaining lanes of a program go to the other axes.
std::int64_t distribute_columns(const Scatter& s, std::int64_t lanes, TileSizes& sizes) {
  for (std::size_t i = s.columns.size(); i-- > 0;) {
    const std::int64_t size = covering_tile(s.columns[i]->extent, lanes);
    sizes.grid[s.columns[i]] = size;
    lanes /= size;
  }
  return lanes;
}

}  // namespace

Scatter scatter_of(const graph::Graph& g, graph::NodeId n, GraphToExprs& values, ExprBuilder& b) {
  const graph::Node& node = g.node(n);
  const graph::TensorShape& shape = node.shape;
  const graph::TensorShape& index_shape = g.node(node.operands[1]).shape;
  const auto at = static_cast<std::size_t>(node.axes[0]);
  Scatter s;
  s.result = values.tensor_of(n);
  std::vector<Expr> positions;
  for (std::size_t i = 0; i < index_shape.size(); ++i) {
    s.positions.push_back(b.pool().axis("position " + std::to_string(i), index_shape[i]));
    positions.push_back(b.index(s.positions.back()));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Axis a = b.pool().axis(i == at ? "row" : "column " + std::to_string(i), shape[i]);
    if (i == at)
      s.row = a;
    else
      s.columns.push_back(a);
    s.own.push_back(b.index(a));
  }
  s.start = values.value_at(node.operands[0], s.own);
  s.target = values.value_at(node.operands[1], positions);
  std::vector<Expr> in_updates(s.own.begin(), s.own.begin() + node.axes[0]);
  in_updates.insert(in_updates.end(), positions.begin(), positions.end());
  in_updates.insert(in_updates.end(), s.own.begin() + node.axes[0] + 1, s.own.end());
  s.update = values.value_at(node.operands[2], in_updates);
  s.destination = s.own;
  s.destination[at] = s.target;
  return s;
}

bool adds_by_atomics(Element e, bool deterministic, const ir::TargetDesc& target) {
  // On a host, an atomic takes as long as six additions of a single thread that adds all updates in order.
  if (!target.is_gpu() && target.processors <= kFewProcessors) return false;
  return ir::bits(e) >= 32 && (ir::is_integer(e) || (!deterministic && ir::is_float(e)));
}

EmittedKernel emit_scatter_in_order(const std::string& name, ExprBuilder& exprs, const Scatter& s, const ir::TargetDesc& target,
                                    TileSizes& sizes) {
  distribute_columns(s, kLanesInOrder, sizes);
  double programs = 1, lanes = 1;
  for (const auto& [axis, size] : sizes.grid) {
    programs *= std::max(1.0, estimated_extent(axis->extent) / static_cast<double>(size));
    lanes *= static_cast<double>(size);
  }
  // If there are few columns, the rows are also distributed over the programs of a GPU, and each program reads every index. On a host, it
  // is predictable whether updates are in a program's rows only if all are: two threads that test random indices take longer than one that
  // adds all updates.
  if (target.is_gpu() && programs * 2 <= kScatterPrograms) {
    const double rows = std::max(1.0, estimated_extent(s.row->extent) * programs / kScatterPrograms);
    sizes.grid[s.row] = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows)));
  }
  sizes.num_warps = lanes > kColumnsOfTwoWarps ? 4 : lanes > kColumnsOfWarp ? 2 : 1;
  sizes.num_stages = 1;  // each update may add to the element of the previous one
  return ScatterEmitter(name, exprs, s, sizes).in_order();
}

EmittedKernel emit_scatter_atomic(const std::string& name, ExprBuilder& exprs, const Scatter& s, TileSizes& sizes) {
  std::int64_t lanes = distribute_columns(s, kLanesOfAtomics, sizes);
  for (std::size_t i = s.positions.size(); i-- > 0;) {
    const std::int64_t size = covering_tile(s.positions[i]->extent, lanes);
    sizes.grid[s.positions[i]] = size;
    lanes /= size;
  }
  return ScatterEmitter(name, exprs, s, sizes).atomic();
}

}  // namespace tilewright::passes::fusion
