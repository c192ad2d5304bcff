// Folds values that depend only on parameters: a walk from the outputs down stores the largest values that pay off.
#include "passes/fusion/translate/parameters.h"

#include <algorithm>
#include <unordered_map>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/extents.h"
#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

using graph::Combine;
using graph::NodeId;
using graph::Op;
using ir::Element;

namespace {

double elements_of(Tensor t) {
  double elements = 1;
  for (const Dim& d : t->shape) elements *= estimated_extent(d);
  return elements;
}

// The bytes that a kernel reads to compute the value: for each tensor the elements at the points of its axes. A reduction inside counts as
// an intermediate result that is written and read.
double recomputed_bytes(Expr value) {
  std::unordered_map<Tensor, double> tensors;
  double reductions = 0;
  ExprSet seen;
  walk_inwards(value, seen, [&](Expr e) {
    if (e->is(ExprKind::reduce) || e->is(ExprKind::scan)) reductions += 2 * stored_bytes(e->axes, e->element);
    if (e->is(ExprKind::load)) {
      double& bytes = tensors[e->tensor];
      bytes = std::max(bytes, std::min(elements_of(e->tensor), estimated_extent(e->axes)) * ir::bytes(e->tensor->element));
    }
    return true;
  });
  double bytes = reductions;
  for (const auto& [tensor, read] : tensors) bytes += read;
  return bytes;
}

}  // namespace

bool ParameterFolding::pays(Expr value, Element element) const {
  // Integers are exact in formulas but not in memory: only those that are complete in their type are stored.
  if (!ir::is_float(value->element) && !value->is(ExprKind::reduce)) return false;
  // A mask hides what is not finite. As a number in memory it would multiply it.
  if (value->is(ExprKind::indicator)) return false;
  // A run must read fewer bytes, by at least the stored bytes: a small gain does not justify a second copy of a weight.
  const double stored = stored_bytes(value->axes, element), read = recomputed_bytes(value);
  return 2 * stored <= read && has_room(value, element);
}

bool ParameterFolding::has_room(Expr value, Element element) const {
  return stored_.contains({value.operator->(), element}) ||
         stored_bytes_ + stored_bytes(value->axes, element) <= kMostParameterCopies * read_bytes_;
}

void ParameterFolding::count_read_memory(Expr value) {
  ExprSet seen;
  walk_inwards(value, seen, [&](Expr e) {
    if (!holds_known_load(e)) return false;
    if (e->is(ExprKind::load) && options_.is_known(e->tensor) && read_.insert(e->tensor).second)
      read_bytes_ += elements_of(e->tensor) * ir::bytes(e->tensor->element);
    return true;
  });
}

bool ParameterFolding::is_known(Expr e) {
  const auto is_fixed = [&](const AxisSet& axes) {
    return std::all_of(axes.begin(), axes.end(), [&](Axis a) { return options_.is_fixed(a->extent); });
  };
  const auto may_be_known = [&](Expr x) {
    if (x->is(ExprKind::load) && !options_.is_known(x->tensor)) return false;
    return is_fixed(x->axes) && is_fixed(x->bound) && (!x->is(ExprKind::extent) || options_.is_fixed(x->extent));
  };
  return known_fact(
      e, known_, [&](Expr x) { return may_be_known(x) ? std::nullopt : std::optional(false); },
      [&](Expr x) { return std::all_of(children(x).begin(), children(x).end(), [&](Expr part) { return known_.at(part); }); });
}

bool ParameterFolding::holds_known_load(Expr e) {
  const auto decide = [&](Expr x) {
    const bool is_one = x->is(ExprKind::load) && options_.is_known(x->tensor);
    return is_one || !holds_load(x) ? std::optional(is_one) : std::nullopt;
  };
  return known_fact(e, has_load_, decide, [&](Expr x) {
    return std::any_of(children(x).begin(), children(x).end(), [&](Expr part) { return has_load_.at(part); });
  });
}

// ---- the walk --------------------------------------------------------------------------------------------------------

Expr ParameterFolding::fold(Expr value) {
  count_read_memory(value);
  const Expr terms = distribute(value), result = visit(terms);
  return result != terms && b_.substitute(result, definitions_) == terms ? result : value;
}

// sum of W (x g + b)  ->  sum of x (g W) + sum of b W
Expr ParameterFolding::distribute(Expr e) {
  if (!holds_known_load(e)) return e;
  if (const auto at = distributed_.find(e); at != distributed_.end()) return at->second;
  Expr result = e;
  if (e->is(ExprKind::mul)) {
    std::vector<Factor> factors;
    for (const Factor& f : e->factors) factors.push_back({distribute(f.base), f.exponent});
    result = b_.multiply(e->number, factors);
  } else {
    result = b_.rebuild(e, [&](Expr x) { return distribute(x); });
  }
  if (result->is(ExprKind::reduce) && result->combine == Combine::sum) result = distribute_product(result);
  if (result != e) b_.pool().copy_sources(e, result);
  return distributed_[e] = result;
}

Expr ParameterFolding::distribute_product(Expr reduce) {
  const Expr body = reduce->operands[0];
  if (!body->is(ExprKind::mul) || !ir::is_float(body->element)) return reduce;
  const auto is_member = [&](const Factor& f) { return is_known(f.base) && holds_known_load(f.base) && !f.base->is(ExprKind::indicator); };
  const auto holds_member = [&](const Term& t) {
    const std::vector<Factor> factors = b_.factors(t.value);
    return std::any_of(factors.begin(), factors.end(), is_member);
  };
  if (std::none_of(body->factors.begin(), body->factors.end(), is_member)) return reduce;
  for (std::size_t i = 0; i < body->factors.size(); ++i) {
    const auto& [sum, exponent] = body->factors[i];
    if (!sum->is(ExprKind::add) || !exponent.is_one() || is_known(sum)) continue;
    if (!std::all_of(sum->terms.begin(), sum->terms.end(), holds_member)) continue;
    std::vector<Expr> parts;
    for (const Term& t : sum->terms) {
      std::vector<Factor> factors = body->factors;
      factors[i] = {t.value, 1};
      const Expr part = b_.multiply(body->number, factors);
      parts.push_back(
          b_.scale(t.coefficient, distribute(b_.reduce(Combine::sum, reduce->bound, part, reduce->operand_element, reduce->element))));
    }
    return b_.add(parts);
  }
  return reduce;
}

Expr ParameterFolding::visit(Expr e) {
  if (!holds_known_load(e)) return e;
  if (const auto at = folded_.find(e); at != folded_.end()) return at->second;
  const std::vector<NodeId> own = b_.pool().sources(e), outer = calls_;
  if (!own.empty()) calls_ = own;
  const Expr result = is_known(e) && pays(e, e->element) ? stored(e, e->element) : fold_parts(e);
  calls_ = outer;
  if (result != e)
    for (NodeId n : own) b_.pool().note_source(result, n);
  return folded_[e] = result;
}

Expr ParameterFolding::fold_parts(Expr e) {
  if (e->is(ExprKind::mul)) return fold_product(e, {}, e->element);
  if (e->is(ExprKind::add) && ir::is_float(e->element)) return fold_sum(e);
  if (e->is(ExprKind::reduce)) return fold_reduction(e);
  return b_.rebuild(e, [&](Expr x) { return visit(x); });
}

namespace {

// Groups indices of values; values whose axes include those of others come first. A group is computed together. If formulas are kept, each
// value is a group.
std::vector<std::vector<std::size_t>> group_by_axes(const std::vector<Expr>& values, bool rewrites) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a]->axes.size() > values[b]->axes.size(); });
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i : order) {
    const auto at = std::find_if(groups.begin(), groups.end(),
                                 [&](const auto& group) { return rewrites && values[group[0]]->axes.contains(values[i]->axes); });
    if (at == groups.end())
      groups.push_back({i});
    else
      at->push_back(i);
  }
  return groups;
}

}  // namespace

Expr ParameterFolding::fold_sum(Expr e) {
  std::vector<Term> terms, known;
  std::vector<Expr> values;
  for (const Term& t : e->terms) {
    const bool is_group_member = is_known(t.value) && holds_known_load(t.value);
    if (!is_group_member) {
      terms.push_back({t.coefficient, visit(t.value)});
      continue;
    }
    known.push_back(t);
    values.push_back(t.value);
  }
  for (const std::vector<std::size_t>& group : group_by_axes(values, b_.rewrites())) {
    std::vector<Term> members;
    for (std::size_t i : group) members.push_back(known[i]);
    const Expr sum = b_.add_terms(members);
    if (group.size() > 1 && pays(sum, sum->element)) {
      terms.push_back({1, stored(sum, sum->element)});
    } else {
      for (const Term& t : members) terms.push_back({t.coefficient, visit(t.value)});
    }
  }
  std::vector<Expr> scaled;
  for (const Term& t : terms) scaled.push_back(b_.scale(t.coefficient, t.value));
  return b_.add(scaled);
}

Expr ParameterFolding::fold_product(Expr e, const AxisSet& bound, ProductElement operand_element) {
  std::vector<Factor> factors, known;
  std::vector<Expr> values;
  for (const Factor& f : e->factors) {
    const bool is_group_member =
        ir::is_float(e->element) && is_known(f.base) && holds_known_load(f.base) && !f.base->is(ExprKind::indicator);
    if (!is_group_member) {
      factors.push_back({visit(f.base), f.exponent});
      continue;
    }
    known.push_back(f);
    values.push_back(f.base);
  }
  for (const std::vector<std::size_t>& group : group_by_axes(values, b_.rewrites())) {
    std::vector<Factor> members;
    for (std::size_t i : group) members.push_back(known[i]);
    const Expr product = b_.multiply(1, members);
    const Element element = stored_element(product, e, bound, operand_element.element);
    if (pays(product, element)) {
      factors.push_back({stored(product, element), 1});
    } else {
      for (const Factor& f : members) factors.push_back({visit(f.base), f.exponent});
    }
  }
  return b_.multiply(e->number, factors);
}

Expr ParameterFolding::fold_reduction(Expr e) {
  const Expr body = e->operands[0];
  const bool is_product = e->combine == Combine::sum && body->is(ExprKind::mul);
  return b_.rebuild(e, [&](Expr x) { return is_product && x == body ? fold_product(body, e->bound, e->operand_element) : visit(x); });
}

// A product's operand is stored in the type in which it is multiplied, if it is the whole operand: it has an axis of the result of its own.
Element ParameterFolding::stored_element(Expr value, Expr product, const AxisSet& bound, Element operand_element) const {
  const bool is_narrower = ir::is_float(operand_element) && ir::bytes(operand_element) < ir::bytes(value->element);
  if (bound.empty() || !is_narrower || value->element == Element::f64) return value->element;
  AxisSet own = value->axes.without(bound);
  for (const Factor& f : product->factors)
    if (!contains(value, f.base)) own = own.without(f.base->axes);
  if (own.empty()) return value->element;
  // A kernel rounds a load to this type anyway. Products keep the range of bf16, but not that of f16.
  const bool may_round = value->is(ExprKind::load) || (options_.move_rounding && operand_element == Element::bf16);
  return may_round ? operand_element : value->element;
}

Expr ParameterFolding::stored(Expr value, Element element) {
  Expr& load = stored_[{value.operator->(), element}];
  if (load) return load;
  // Reports name the calls of which the value is a part.
  if (b_.pool().sources(value).empty())
    for (NodeId n : calls_) b_.pool().note_source(value, n);
  load = add_stored_tensor(b_, value, element, options_.name_tensor(tensors_of(value)));
  ahead_.push_back({load->tensor->name, value, load->tensor, load->operands});
  definitions_.emplace(load, value);
  stored_bytes_ += stored_bytes(value->axes, element);
  return load;
}

}  // namespace tilewright::passes::fusion
