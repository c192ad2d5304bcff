// Reduces tiles by matrix products where that is possible, otherwise along the tile's axes.
#include "passes/fusion/emit/reductions.h"

#include <algorithm>

#include "passes/fusion/expr/expr_walk.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::Element;
using ir::OpKind;

}  // namespace

// Where the reduced axes of a tile are placed, so that a row of the tile is a row in memory: first, if in most loads with both kinds of
// axes the elements along a kept axis are neighbours. A product of one row and a matrix is such a sum.
Folds::End Reductions::end_of_reduced(Expr body, const AxisSet& along) const {
  int votes = 0;
  ExprSet seen;
  walk_inwards(body, seen, [&](Expr e) {
    if (e->is(ExprKind::reduce)) return false;
    const auto is_tile_of = [&](const AxisSet& axes) {
      return std::any_of(axes.begin(), axes.end(), [&](Axis a) { return scopes_.is_tiled(a); });
    };
    if (!e->is(ExprKind::load) || !is_tile_of(e->axes.common(along)) || !is_tile_of(e->axes.without(along))) return true;
    for (std::size_t i = 0; i < e->operands.size(); ++i)
      if (e->tensor->strides[i] == Dim(1)) votes += e->operands[i]->axes.intersects(along) ? -1 : 1;
    return true;
  });
  return votes > 0 ? Folds::End::first : Folds::End::last;
}

std::vector<Axis> Reductions::looped_axes(const AxisSet& axes) const {
  std::vector<Axis> looped;
  for (Axis a : axes)
    if (const auto at = inner_tiles_.find(a); at != inner_tiles_.end() && at->second.is_looped) looped.push_back(a);
  return looped;
}

Part Reductions::combine(const Fold& fold, Expr reduction, const AxisSet& along, Expr body, const Order& order,
                         std::optional<Part> accumulator) {
  if (fold == Combine::sum)
    if (const auto product = products_.dot(reduction, along, body, order, accumulator)) return *product;
  Order inner = build_.restricted(order, body->axes), reduced;
  for (Axis a : along)
    if (scopes_.is_tiled(a)) reduced.push_back(a);
  const bool is_short = !inner.empty() && !reduced.empty() && is_short_(build_.elements(reduced), scopes_.tile(inner.back()).size);
  const Folds::End end = is_short ? Folds::End::first : end_of_reduced(body, along);
  inner.insert(end == Folds::End::first ? inner.begin() : inner.end(), reduced.begin(), reduced.end());
  Part x = values_.value_as(body, inner, reduction->element);
  AxisSet masked;
  for (Axis a : along)
    if (!(fold == Combine::sum && is_zero_outside(exprs_.factors(body), a))) masked.insert(a);
  x = {build_.broadcast(x, inner), inner};
  if (const auto inside = integers_.mask(masked, inner)) x = build_.select(*inside, x, folds_.neutral(fold, build_.element(x), {}), inner);
  x = folds_.reduce(fold, x, static_cast<int>(reduced.size()), end);
  if (accumulator && build_.element(x) != build_.element(*accumulator)) x = build_.cast(x, build_.element(*accumulator));
  return accumulator ? folds_.combine(fold, *accumulator, x, order) : x;
}

// ---- reductions over axes that no loop of the kernel walks ----

// The tiles of the axes that a reduction binds. A whole axis belongs to the whole kernel, so that values that vary only along it are
// emitted once; but if an axis with the same name is distributed over the grid, it keeps its own tile outside of the reduction.
EmitScope Reductions::inner_scope(const AxisSet& bound) {
  EmitScope inner;
  inner.block = scopes_.innermost().block;
  inner.before = scopes_.innermost().before;
  for (Axis a : bound) {
    const auto at = inner_tiles_.find(a);
    TW_CHECK(at != inner_tiles_.end(), "fusion: an axis of a reduction has no tile");
    if (at->second.is_looped) continue;
    const AxisTile whole{at->second.size, {}, is_whole_tile(a->extent, at->second.size)};
    const auto [known, is_new] = scopes_.outermost().tiles.emplace(a, whole);
    if (!is_new && (known->second.start || known->second.size != whole.size)) inner.tiles[a] = whole;
  }
  return inner;
}

Part Reductions::value(Expr e, const Order& own) {
  const std::vector<Axis> looped = looped_axes(e->bound);
  std::optional<Part> start;
  if (!looped.empty()) start = folds_.neutral(e->fold(), e->element, own);
  scopes_.push(inner_scope(e->bound));
  const Part result = emit_loops(e, own, looped, start);
  scopes_.pop();
  return result;
}

// Emits nested loops over tiles of the axes.
Part Reductions::emit_loops(Expr e, const Order& own, std::span<const Axis> axes, const std::optional<Part>& start) {
  if (axes.empty()) return combine(e->fold(), e, e->bound, e->operands[0], own, start);
  const Axis axis = axes.front();
  const std::int64_t size = inner_tiles_.at(axis).size;
  ir::Function& f = ir_.function();
  const Element index = index_element(exprs_.extent(axis->extent));
  const ir::ValueId operands[] = {build_.integer(index, 0).value, context_.extent(axis->extent, index).value,
                                  build_.integer(index, size).value, start->value};
  const ir::OpId loop = ir_.create(OpKind::for_, operands);
  EmitScope inside;
  inside.block = f.region(loop);
  const ir::ValueId counter = f.add_arg(inside.block, ir::Type(index)), carried = f.add_arg(inside.block, f.type(start->value));
  inside.tiles[axis] = {size, counter, ends_with_tile(axis->extent, size)};
  // Values that do not depend on the loop are emitted before it, in each scope of the block.
  const ir::OpId outer_before = scopes_.innermost().before;
  scopes_.insert_before(loop);
  scopes_.push(std::move(inside));
  const Part next = emit_loops(e, own, axes.subspan(1), Part{carried, own});
  const ir::ValueId yielded = build_.broadcast(next, own);
  ir_.create(OpKind::yield_, std::span(&yielded, 1));
  scopes_.pop();
  scopes_.insert_before(outer_before);
  return {f.result(loop), own};
}

// ---- scans ----

Reductions::Running Reductions::running(const Fold& fold, bool is_reverse, Axis along, Expr body, Element element, const Order& order,
                                        const std::optional<Part>& before) {
  AxisSet axes = body->axes;
  axes.insert(along);
  const Order own = build_.restricted(order, axes);
  Part x{build_.broadcast(values_.value_as(body, own, element), own), own};
  // A reverse scan visits positions outside of the extent first; in a forward scan nothing comes after them.
  if (const auto inside = is_reverse ? integers_.mask({along}, own) : std::nullopt)
    x = build_.select(*inside, x, folds_.neutral(fold, element, {}), own);
  Running result{x, x};
  if (scopes_.is_tiled(along)) {
    Order kept = build_.restricted(own, AxisSet(axes).without({along}));
    Order last = kept;
    last.push_back(along);
    result.values = {folds_.scan(fold, x, along, is_reverse), own};
    result.next = folds_.reduce(fold, build_.permuted(x, last), 1);
  }
  if (before) {
    result.values = folds_.combine(fold, *before, result.values, own);
    result.next = folds_.combine(fold, *before, result.next, own);
  }
  return result;
}

}  // namespace tilewright::passes::fusion
