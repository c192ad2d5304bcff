// Reductions inside of a tile: by a matrix product if the factors form two groups, otherwise along the tile's axes.
#include <algorithm>
#include <cmath>

#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/expr/products.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::Element;
using ir::OpKind;

static_assert(static_cast<int>(graph::ProductPrecision::ieee) == static_cast<int>(ir::Precision::ieee) &&
              static_cast<int>(graph::ProductPrecision::tf32x3) == static_cast<int>(ir::Precision::tf32x3));

// Whether every element is 0 outside of the extent of the axis, because a load that varies along it is masked, and all other factors are
// finite.
bool is_zero_outside(const std::vector<Factor>& factors, Axis a) {
  bool has_load = false;
  for (const Factor& f : factors) {
    if (!f.base->axes.contains(a)) continue;
    if (!f.base->is(ExprKind::load) || !f.exponent.is_integer() || f.exponent.is_negative()) return false;
    has_load = true;
  }
  return has_load;
}

}  // namespace

// Where the reduced axes of a tile are placed, so that a row of the tile is a row in memory: first, if in most loads with both kinds of
// axes the elements along a kept axis are neighbours. A product of one row and a matrix is such a sum.
Folds::End TileValues::end_of_reduced(Expr body, const AxisSet& along) const {
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

std::vector<Axis> TileValues::looped_axes(const AxisSet& axes) const {
  std::vector<Axis> looped;
  for (Axis a : axes)
    if (const auto at = inner_tiles_.find(a); at != inner_tiles_.end() && at->second.is_looped) looped.push_back(a);
  return looped;
}

Part TileValues::combine(const Fold& fold, Expr reduction, const AxisSet& along, Expr body, const Order& order,
                         std::optional<Part> accumulator) {
  if (fold == Combine::sum)
    if (const auto product = dot(reduction, along, body, order, accumulator)) return *product;
  Order inner = build_.restricted(order, body->axes), reduced;
  for (Axis a : along)
    if (scopes_.is_tiled(a)) reduced.push_back(a);
  const bool is_short = !inner.empty() && !reduced.empty() && is_short_(build_.elements(reduced), scopes_.tile(inner.back()).size);
  const Folds::End end = is_short ? Folds::End::first : end_of_reduced(body, along);
  inner.insert(end == Folds::End::first ? inner.begin() : inner.end(), reduced.begin(), reduced.end());
  Part x = value_as(body, inner, reduction->element);
  AxisSet masked;
  for (Axis a : along)
    if (!(fold == Combine::sum && is_zero_outside(exprs_.factors(body), a))) masked.insert(a);
  x = {build_.broadcast(x, inner), inner};
  if (const auto inside = mask(masked, inner)) x = build_.select(*inside, x, folds_.neutral(fold, build_.element(x), {}), inner);
  x = folds_.reduce(fold, x, static_cast<int>(reduced.size()), end);
  if (accumulator && build_.element(x) != build_.element(*accumulator)) x = build_.cast(x, build_.element(*accumulator));
  return accumulator ? folds_.combine(fold, *accumulator, x, order) : x;
}

// ---- matrix products ----

// The value of a group of factors in this order of axes; 0 outside of the extents of the contracted axes.
Part TileValues::group_value(const std::vector<Factor>& factors, const Order& order, const AxisSet& along, Element element) {
  const bool is_load = factors.size() == 1 && factors[0].base->is(ExprKind::load) && factors[0].exponent.is_one();
  Part x;
  if (is_load) {
    x = loaded(factors[0].base, order);
  } else {
    const Expr product = exprs_.multiply(1, factors);
    x = value_as(product, order, product->element);
    AxisSet masked;
    for (Axis a : along)
      if (scopes_.is_tiled(a) && !is_zero_outside(factors, a)) masked.insert(a);
    x = {build_.broadcast(x, order), order};
    if (const auto inside = mask(masked, order)) x = build_.select(*inside, x, {ir_.constant(ir::Type(build_.element(x)), 0), {}}, order);
  }
  return {build_.broadcast(build_.cast(x, element), order), order};
}

std::optional<Part> TileValues::dot(Expr reduction, const AxisSet& along, Expr body, const Order& order,
                                    const std::optional<Part>& accumulator) {
  const ProductElement operand_element = reduction->operand_element;
  if (!body->is(ExprKind::mul) || !(body->number.is_one() || ir::is_float(body->element))) return std::nullopt;
  Order contracted;
  for (Axis a : along)
    if (scopes_.is_tiled(a)) contracted.push_back(a);
  if (contracted.empty()) return std::nullopt;
  const auto position = [&](Axis a) { return std::find(order.begin(), order.end(), a); };
  auto [sides, common] = operands_of(body->factors, along, [&](Axis a) { return position(a) != order.end() && scopes_.is_tiled(a); });
  if (sides.size() != 2) return std::nullopt;
  // The operand with the first axis of the result has its rows. Factors without an axis of the result are multiplied with this operand.
  Order rows = build_.restricted(order, sides[0].axes), columns = build_.restricted(order, sides[1].axes);
  if (position(columns.front()) < position(rows.front())) {
    std::swap(sides[0], sides[1]);
    std::swap(rows, columns);
  }
  std::vector<Factor>&left = sides[0].factors, &right = sides[1].factors;
  left.insert(left.end(), common.begin(), common.end());
  // Both groups must vary along the contracted axes; otherwise this is not a matrix product.
  for (const auto* group : {&left, &right})
    if (std::none_of(group->begin(), group->end(), [&](const Factor& f) { return f.base->axes.intersects(along); })) return std::nullopt;

  Element multiplied = operand_element.element;
  if (ir::is_integer(reduction->element)) {
    if (multiplied != Element::i8 || reduction->element != Element::i32) return std::nullopt;
  } else if (reduction->element == Element::f64) {
    multiplied = Element::f64;
  } else if (!ir::is_float(multiplied)) {
    multiplied = Element::f32;
  }
  Order left_order = rows, right_order = contracted, result_order = rows;
  left_order.insert(left_order.end(), contracted.begin(), contracted.end());
  right_order.insert(right_order.end(), columns.begin(), columns.end());
  result_order.insert(result_order.end(), columns.begin(), columns.end());
  if (!body->number.is_one()) left.push_back({exprs_.number(body->number), 1});
  const std::int64_t m = build_.elements(rows), n = build_.elements(columns), k = build_.elements(contracted);
  const Part a = group_value(left, left_order, along, multiplied), b = group_value(right, right_order, along, multiplied);
  const std::int64_t mk[] = {m, k}, kn[] = {k, n}, mn[] = {m, n};
  const Element result = multiplied == Element::f64 ? Element::f64 : ir::is_integer(multiplied) ? Element::i32 : Element::f32;
  const ir::ValueId start = accumulator ? ir_.reshape(build_.broadcast(build_.permuted(*accumulator, result_order), result_order), mn)
                                        : ir_.constant(ir::Type(result, mn), 0);
  const ir::ValueId operands[] = {ir_.reshape(a.value, mk), ir_.reshape(b.value, kn), start};
  std::vector<ir::Attr> attrs;
  if (multiplied == Element::f32 && operand_element.precision != graph::ProductPrecision::standard)
    attrs.push_back({ir::AttrName::precision, static_cast<std::int64_t>(operand_element.precision), {}, {}});
  const ir::ValueId product = ir_.function().result(ir_.create(OpKind::dot_, operands, attrs));
  const Part whole{ir_.reshape(product, build_.shape(result_order)), result_order};
  AxisSet axes;
  for (Axis x : result_order) axes.insert(x);
  return build_.permuted(whole, build_.restricted(order, axes));
}

// ---- reductions over axes that no loop of the kernel walks ----

// The tiles of the axes that a reduction binds. A whole axis belongs to the whole kernel, so that values that vary only along it are
// emitted once; but if an axis with the same name is distributed over the grid, it keeps its own tile outside of the reduction.
EmitScope TileValues::inner_scope(const AxisSet& bound) {
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

Part TileValues::emit_reduction(Expr e, const Order& own) {
  const std::vector<Axis> looped = looped_axes(e->bound);
  std::optional<Part> start;
  if (!looped.empty()) start = folds_.neutral(e->fold(), e->element, own);
  scopes_.push(inner_scope(e->bound));
  const Part result = emit_loops(e, own, looped, start);
  scopes_.pop();
  return result;
}

// Emits nested loops over tiles of the axes.
Part TileValues::emit_loops(Expr e, const Order& own, std::span<const Axis> axes, const std::optional<Part>& start) {
  if (axes.empty()) return combine(e->fold(), e, e->bound, e->operands[0], own, start);
  const Axis axis = axes.front();
  const std::int64_t size = inner_tiles_.at(axis).size;
  ir::Function& f = ir_.function();
  const Element index = index_element(exprs_.extent(axis->extent));
  const ir::ValueId operands[] = {build_.integer(index, 0).value, extent(axis->extent, index).value, build_.integer(index, size).value,
                                  start->value};
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

}  // namespace tilewright::passes::fusion
