// Adds up addresses axis by axis, and masks or clamps positions outside of tensors.
#include "passes/fusion/emit/memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/tensor_names.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;
using ir::OpKind;

// Whether an index that is not affine may be outside of the tensor where its value is not used: because it splits a position, or because
// the index was itself read at a shifted position (a padded gather), where it is not an index.
bool may_leave_tensor(Expr index) {
  return any_of(index, [](Expr e) {
    if (e->is(ExprKind::function) && (e->function == OpKind::div_ || e->function == OpKind::rem_)) return true;
    if (e->is(ExprKind::load))
      for (std::size_t i = 0; i < e->operands.size(); ++i)
        if (!stays_inside(e->operands[i], e->tensor->shape[i])) return true;
    return false;
  });
}

}  // namespace

// pointer + the part that all lanes share + the part that varies along one axis + ...: each partial sum is a tile of few axes.
Part MemoryAccesses::address(Tensor t, std::span<const Expr> index, const Order& order) {
  std::vector<Expr> products;
  for (std::size_t i = 0; i < index.size(); ++i) products.push_back(exprs_.product({index[i], exprs_.extent(t->strides[i])}));
  const Expr offset = exprs_.add(products);
  const Element element = index_element(offset);
  // Sorts terms by the axes along which they vary.
  const auto is_before = [](const Order& a, const Order& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), AxisLess());
  };
  std::map<Order, std::vector<Term>, decltype(is_before)> groups(is_before);
  for (const Term& term : exprs_.terms(offset)) groups[build_.restricted(order, term.value->axes)].push_back(term);
  std::vector<std::pair<Order, Expr>> sums;
  for (const auto& [axes, terms] : groups) sums.emplace_back(axes, exprs_.add_terms(terms));
  std::stable_sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.first.size() < b.first.size(); });

  Part pointer{context_.parameters.tensor(t), {}};
  for (const auto& [axes, sum] : sums) {
    if (sum == exprs_.zero()) continue;
    const Part step = integers_.value(sum, order, element);
    Order own = build_.restricted(order, [&] {
      AxisSet all;
      for (Axis a : pointer.axes) all.insert(a);
      for (Axis a : step.axes) all.insert(a);
      return all;
    }());
    pointer = {ir_.add_ptr(build_.broadcast(pointer, own), build_.broadcast(step, own)), own};
  }
  return pointer;
}

// Whether the user's data determine the position along an axis of a load, and it must be inside of the tensor wherever the load is
// evaluated.
bool MemoryAccesses::is_chosen(Expr load, std::size_t axis) {
  const Expr index = load->operands[axis];
  if (load->bits != 0 || stays_inside(index, load->tensor->shape[axis]) || may_leave_tensor(index)) return false;
  for (const Term& term : exprs_.terms(index))
    if (!term.value->is(ExprKind::index) && !term.value->is_number(1) && !term.value->is(ExprKind::extent)) return true;
  return false;
}

// The conditions under which a position along an axis of a load is inside of the tensor, without those that always hold.
std::vector<Expr> MemoryAccesses::inside_conditions(Expr load, std::size_t axis) {
  const Expr index = load->operands[axis];
  std::vector<Expr> conditions = {exprs_.at_least_zero(index),
                                  exprs_.at_least_zero(exprs_.subtract(exprs_.extent(load->tensor->shape[axis] - Dim(1)), index))};
  std::erase_if(conditions, [](Expr c) { return holds(c) == true; });
  return conditions;
}

// The conditions under which all positions of a load that the user's data do not determine are inside of the tensor.
std::vector<Expr> MemoryAccesses::needed_conditions(Expr load) {
  std::vector<Expr> needed;
  for (std::size_t i = 0; i < load->operands.size(); ++i)
    if (!stays_inside(load->operands[i], load->tensor->shape[i]) && !is_chosen(load, i))
      for (Expr c : inside_conditions(load, i)) needed.push_back(c);
  return needed;
}

// Masks positions outside of the tensor, of axes whose tile exceeds their extent and shifted positions, and those at which a condition does not
// hold.
std::optional<Part> MemoryAccesses::access_mask(Expr load, const std::vector<Expr>& conditions, const Order& order) {
  std::vector<Expr> needed = needed_conditions(load);
  for (Expr c : conditions)
    if (std::find(needed.begin(), needed.end(), c) == needed.end()) needed.push_back(c);
  std::optional<Part> all = integers_.mask(load->axes, order);
  for (Expr c : needed) all = build_.both(all, values_.value(c, order), order);
  return all;
}

// Whether a tensor has any elements, if the user's data select one: an empty axis has no position that could replace an invalid one.
std::optional<Part> MemoryAccesses::has_elements(Expr load, const Order& order) {
  std::optional<Part> all;
  for (std::size_t i = 0; i < load->operands.size(); ++i) {
    const Dim& extent = load->tensor->shape[i];
    if (extent.least() < 1 && is_chosen(load, i))
      all = build_.both(all, values_.value(exprs_.at_least_zero(exprs_.extent(extent - Dim(1))), order), order);
  }
  return all;
}

// A position that the user's data determine. A position outside of the tensor is replaced by the last one, so that no other memory is read.
Part MemoryAccesses::chosen_position(Expr load, std::size_t axis, const Order& order) {
  const Dim extent_of_axis = load->tensor->shape[axis];
  Part index = values_.value(load->operands[axis], order);
  if (inside_conditions(load, axis).empty()) return index;
  // Read as an unsigned number, a negative position is large.
  const Element given = ir_.function().type(index.value).element();
  const Element word = ir::bits(given) <= 32 && extent_of_axis.greatest() <= INT32_MAX ? Element::u32 : Element::u64;
  const Part within = build_.binary(OpKind::minimum_, build_.cast(index, word),
                                    build_.cast(context_.extent(extent_of_axis - Dim(1), Element::i64), word), order);
  return build_.cast(within, word == Element::u32 ? Element::i32 : Element::i64);
}

// The address of a load, from positions that are known and positions that data determine.
Part MemoryAccesses::load_address(Expr load, const Order& order) {
  std::vector<Expr> known = load->operands;
  std::vector<Part> steps;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (!is_chosen(load, i)) continue;
    const Expr furthest = exprs_.product({exprs_.extent(load->tensor->shape[i]), exprs_.extent(load->tensor->strides[i])});
    const Element element = index_element(furthest);
    const Part position = build_.cast(chosen_position(load, i, order), element);
    steps.push_back(build_.binary(OpKind::mul_, position, context_.extent(load->tensor->strides[i], element), position.axes));
    known[i] = exprs_.zero();
  }
  Part pointer = address(load->tensor, known, order);
  for (const Part& step : steps) {
    const Order own = build_.united(pointer, step, step, order);
    pointer = {ir_.add_ptr(build_.broadcast(pointer, own), build_.broadcast(step, own)), own};
  }
  return pointer;
}

Part MemoryAccesses::loaded(Expr e, const Order& order) {
  const Order own = build_.restricted(order, e->axes);
  const std::size_t at = context_.scopes.depth_of(e);
  if (const auto found = build_.find_permuted(context_.scopes[at].loads, e, own)) return *found;
  if (e->tensor->is_scalar) return {context_.parameters.tensor(e->tensor), {}};
  const Part part = context_.scopes.emit_at(at, [&] { return masked_load({}, e, {}, own); });
  context_.scopes[at].loads[{e.operator->(), own}] = part;
  return part;
}

Part MemoryAccesses::loaded_under(const std::vector<Expr>& conditions, Expr load, Expr value, const Order& order) {
  const Order own = build_.restricted(order, load->axes);
  const std::size_t at = context_.scopes.depth_of(value);
  if (const auto found = build_.find_permuted(context_.scopes[at].loads, value, own)) return *found;
  const Part part = context_.scopes.emit_at(at, [&] { return masked_load(conditions, load, {}, own); });
  context_.scopes[at].loads[{value.operator->(), own}] = part;
  return part;
}

std::optional<Part> MemoryAccesses::padded(const std::vector<Expr>& conditions, Expr load, const std::optional<Part>& elsewhere,
                                           const Order& order) {
  const std::vector<Expr> needed = needed_conditions(load);
  const auto is_among = [](const std::vector<Expr>& all) { return [&](Expr c) { return std::ranges::find(all, c) != all.end(); }; };
  if (!std::ranges::all_of(conditions, is_among(needed)) || !std::ranges::all_of(needed, is_among(conditions))) return std::nullopt;
  for (std::size_t i = 0; i < load->operands.size(); ++i)
    if (is_chosen(load, i)) return std::nullopt;
  if (!elsewhere) return loaded(load, order);
  return masked_load({}, load, elsewhere, build_.restricted(order, load->axes));
}

Part MemoryAccesses::masked_load(const std::vector<Expr>& conditions, Expr load, const std::optional<Part>& elsewhere, const Order& own) {
  const LineOf line(context_, load);
  const Part pointer = load_address(load, own);
  std::vector<ir::ValueId> operands{build_.broadcast(pointer, own)};
  if (const auto inside = build_.both(access_mask(load, conditions, own), has_elements(load, own), own)) {
    operands.push_back(build_.broadcast(*inside, own));
    if (elsewhere) operands.push_back(build_.broadcast(*elsewhere, own));
  }
  return {ir_.function().result(ir_.create(OpKind::load_, operands)), own};
}

void MemoryAccesses::store(Tensor t, std::span<const Expr> index, Expr stored, const Order& order) {
  const LineOf line(context_, stored);
  AxisSet axes;
  for (Expr i : index) axes.insert(i->axes);
  const Order own = build_.restricted(order, axes);
  const bool is_wide = ir::is_float(t->element) && stored->element == Element::f64;
  const Part converted = build_.cast(values_.value_as(stored, own, is_wide ? Element::f64 : computed(t->element)), t->element);
  const Part pointer = address(t, index, own);
  std::optional<Part> inside = integers_.mask(axes, own);
  // If several programs compute the same value, only the first of them stores it.
  for (const auto& [axis, t] : context_.scopes.outermost().tiles)
    if (t.start && !axes.contains(axis) && !(axis->extent == Dim(t.size)))
      inside = build_.both(build_.binary(OpKind::eq_, {t.start, {}}, {ir_.constant(ir_.function().type(t.start), 0), {}}, {}), inside, own);
  std::vector<ir::ValueId> operands{build_.broadcast(pointer, own), build_.broadcast(converted, own)};
  if (inside) operands.push_back(build_.broadcast(*inside, own));
  ir_.create(OpKind::store_, operands);
}

void MemoryAccesses::add_to(Tensor t, std::span<const Expr> index, Expr added, const AxisSet& axes, const Order& order,
                            std::optional<Part> condition, bool is_atomic) {
  const Order own = build_.restricted(order, axes);
  const ir::ValueId pointer = build_.broadcast(address(t, index, own), own),
                    x = build_.broadcast(values_.value_as(added, own, t->element), own);
  std::vector<ir::ValueId> operands{pointer};
  if (is_atomic) operands.push_back(x);
  const std::optional<Part> inside = build_.both(integers_.mask(axes, own), std::move(condition), own);
  if (inside) operands.push_back(build_.broadcast(*inside, own));
  if (is_atomic) {
    const ir::Attr relaxed{ir::AttrName::order, static_cast<std::int64_t>(ir::Order::relaxed), {}};
    ir_.create(OpKind::atomic_add_, operands, {relaxed});
    return;
  }
  const ir::ValueId before = ir_.function().result(ir_.create(OpKind::load_, operands));
  operands.insert(operands.begin() + 1, ir_.binary(OpKind::add_, before, x));
  ir_.create(OpKind::store_, operands);
}

}  // namespace tilewright::passes::fusion
