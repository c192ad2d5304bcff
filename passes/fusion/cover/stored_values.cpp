// Visits an output from outside in, and rebuilds the expressions that contain stored values.
#include "passes/fusion/cover/stored_values.h"

#include <algorithm>

#include "passes/fusion/expr/extents.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/tiles/tile_sizes.h"

namespace tilewright::passes::fusion {

using graph::Combine;

namespace {

// Axes that all factors have do not connect them: an operand that is stored has them too.
Operands operands_apart(Expr reduce, const ExprBuilder& b) {
  const std::vector<Factor> factors = b.factors(reduce->operands[0]);
  return operands_of(factors, reduce->bound, nullptr, batch_axes(factors, reduce->bound));
}

}  // namespace

Expr StoredValues::store_operands(Expr root, Axis loop, Operands which, ExprMap& stored) {
  const bool inside = which.inside;
  ExprMap replaced, scaled;  // scaled: maps a value to the products of which it is a factor
  std::vector<MovedFactors> moved;
  ExprSet seen;
  const std::function<void(Expr)> visit = [&](Expr e) {
    if (!seen.insert(e).second || !held_.holds_product(e)) return;
    if (e->is(ExprKind::mul))
      for (const Factor& f : e->factors)
        if (f.exponent.is_one() && is_product(f.base, b_)) scaled.emplace(f.base, e);
    if (is_product(e, b_) && e != root && must_store(e, root, loop, inside)) {
      replaced[e] = stored[e] = load_of_(e);
      return;
    }
    if (is_product(e, b_)) {
      auto [operands, shared] = operands_apart(e, b_);
      for (Operand& one : operands) {
        std::vector<Factor>& group = one.factors;
        const Expr operand = b_.multiply(1, group);
        if (!held_.holds_product(operand) || (inside && stays_inside(operand, root, loop))) continue;
        // Reductions that scale the operand are applied before it is stored.
        const std::size_t own = group.size();
        for (auto f = shared.begin(); f != shared.end();) {
          if (!held_.holds_reduction(f->base)) {
            ++f;
            continue;
          }
          group.push_back(*f);
          f = shared.erase(f);
        }
        std::vector<Factor> scale;
        if (const auto product = scaled.find(e); product != scaled.end()) scale = factors_of_operand(product->second, e, operand);
        for (const MovedFactors& m : moved)
          if (const auto product = scaled.find(e); product != scaled.end() && m.scaled == product->second)
            std::erase_if(scale, [&](const Factor& f) { return std::find(m.factors.begin(), m.factors.end(), f) != m.factors.end(); });
        group.insert(group.end(), scale.begin(), scale.end());
        const Expr value = b_.multiply(1, group);
        std::vector<Expr> inner;
        ExprSet visited;
        collect_computed(value, visited, inner);
        // A product with element-wise followers is stored by itself, below: other kernels may read it too.
        if (!which.followers && inner.size() == 1 && inner[0] != value && group.size() == own) continue;
        stored[value] = load_of_(value);
        if (!scale.empty()) moved.push_back({scaled.at(e), e, scale});
        group.resize(group.size() - scale.size());
        replace_group(e, group, stored[value], replaced);
        for (const Factor& f : group) seen.insert(f.base);
      }
    }
    for (Expr x : children(e)) visit(x);
  };
  visit(root);
  // Values inside of others were visited later, so they come first here.
  for (auto m = moved.rbegin(); m != moved.rend(); ++m) {
    const Expr current = replaced.count(m->scaled) != 0 ? replaced.at(m->scaled) : m->scaled;
    std::vector<Factor> rest = b_.factors(current);
    for (const Factor& f : m->factors) rest.erase(std::remove(rest.begin(), rest.end(), f), rest.end());
    const Rational coefficient = current->is(ExprKind::mul) ? current->number : Rational(1);
    replaced[m->scaled] = b_.substitute(b_.multiply(coefficient, rest), replaced);
  }
  return replaced.empty() ? root : b_.substitute(root, replaced);
}

// Reductions that scale a product and that the operand also needs: the kernel that stores the operand computes them.
std::vector<Factor> StoredValues::factors_of_operand(Expr scaled, Expr product, Expr operand) {
  std::vector<Factor> found;
  for (const Factor& f : scaled->factors) {
    if (f.base == product || !held_.holds_reduction(f.base) || held_.holds_product(f.base) || !operand->axes.contains(f.base->axes) ||
        f.base->axes.intersects(product->bound))
      continue;
    const std::vector<Expr> own = reductions_over(nullptr, {{{}, f.base, nullptr, {}}});
    if (std::all_of(own.begin(), own.end(), [&](Expr r) { return contains(operand, r); })) found.push_back(f);
  }
  return found;
}

// Collects the outermost reductions inside that contain products.
void StoredValues::collect_computed(Expr e, ExprSet& seen, std::vector<Expr>& found) {
  if (!seen.insert(e).second || !held_.holds_product(e)) return;
  if (e->is(ExprKind::reduce)) {
    found.push_back(e);
    return;
  }
  for (Expr x : children(e)) collect_computed(x, seen, found);
}

// Whether this is a product that the loop does not compute and that does not vary along the loop.
bool StoredValues::must_store(Expr e, Expr root, Axis loop, bool inside) {
  if (!loop || e->bound.contains(loop)) return false;
  return !inside || !stays_inside(e, root, loop);
}

bool StoredValues::stays_inside(Expr value, Expr root, Axis loop) {
  if (!loop) return false;
  ExprSet visited;
  if (!value->axes.contains(loop) && !binds(value, loop, visited)) return false;
  double repeated = 1;
  for (Axis a : root->axes.without({loop}))
    if (!value->axes.contains(a)) {
      if (estimated_extent(a->extent) > kMostStoredPayload) return false;
      repeated *= estimated_extent(a->extent);
    }
  ExprSet seen;
  return repeated <= kMostRowCells && !has_cascade(value, loop, seen);
}

// Whether a long inner reduction, not over the loop's axis, depends on another one: it should get a loop of its own.
bool StoredValues::has_cascade(Expr e, Axis loop, ExprSet& seen) {
  if (e->is_reference() || !held_.holds_reduction(e) || !seen.insert(e).second) return false;
  if (e->is(ExprKind::reduce) && !e->bound.contains(loop) && estimated_extent(e->bound) > kMostWholeExtent &&
      held_.holds_reduction(e->operands[0]))
    return true;
  for (Expr x : children(e))
    if (has_cascade(x, loop, seen)) return true;
  return false;
}

// Whether the products inside are themselves reductions over the loop's axis.
bool StoredValues::binds(Expr e, Axis loop, ExprSet& seen) {
  if (!held_.holds_product(e) || !seen.insert(e).second) return true;
  if (is_product(e, b_)) return e->bound.contains(loop);
  const Children inside = children(e);
  return std::all_of(inside.begin(), inside.end(), [&](Expr x) { return binds(x, loop, seen); });
}

// Replaces a group of factors of a product by one load.
void StoredValues::replace_group(Expr product, const std::vector<Factor>& group, Expr load, ExprMap& replaced) {
  Expr current = replaced.count(product) != 0 ? replaced.at(product) : product;
  std::vector<Factor> left = b_.factors(current->operands[0]);
  for (const Factor& f : group) left.erase(std::remove(left.begin(), left.end(), f), left.end());
  left.push_back({load, 1});
  const Rational coefficient = current->operands[0]->is(ExprKind::mul) ? current->operands[0]->number : Rational(1);
  replaced[product] = b_.reduce(Combine::sum, product->bound, b_.multiply(coefficient, left), product->operand_element, product->element);
}

Expr StoredValues::store_combined(Expr root, Axis loop, Combined which, ExprMap& stored) {
  ExprMap replaced;
  ExprSet seen;
  const std::function<void(Expr)> visit = [&](Expr e) {
    if (!held_.holds_reduction(e) || !seen.insert(e).second) return;
    if (!e->is(ExprKind::reduce) || e->combine == Combine::combine) {
      for (Expr x : children(e)) visit(x);
      return;
    }
    auto [operands, shared] = operands_apart(e, b_);
    operands.push_back({{}, shared});
    std::vector<Factor> rest = b_.factors(e->operands[0]);
    for (const Operand& operand : operands) {
      std::vector<Factor> own;
      std::copy_if(operand.factors.begin(), operand.factors.end(), std::back_inserter(own), [&](const Factor& f) {
        return held_.holds_reduction(f.base) && (which == Combined::outermost || !f.base->axes.contains(loop));
      });
      if (own.empty()) continue;
      const Expr value = b_.multiply(1, own);
      stored[value] = load_of_(value);
      for (const Factor& f : own) rest.erase(std::remove(rest.begin(), rest.end(), f), rest.end());
      rest.push_back({stored[value], 1});
    }
    if (rest != b_.factors(e->operands[0])) {
      const Rational coefficient = e->operands[0]->is(ExprKind::mul) ? e->operands[0]->number : Rational(1);
      replaced[e] = b_.reduce(e->combine, e->bound, b_.multiply(coefficient, rest), e->operand_element, e->element);
      b_.pool().copy_sources(e, replaced[e]);
    } else {
      for (Expr x : children(e)) visit(x);
    }
  };
  visit(root);
  return replaced.empty() ? root : b_.substitute(root, replaced);
}

Expr StoredValues::store_reductions(Expr root, Reductions which, ExprMap& stored, Axis loop) {
  ExprMap replaced;
  ExprSet seen;
  const std::function<void(Expr, bool)> visit = [&](Expr e, bool is_inside) {
    if (!seen.insert(e).second) return;
    if (e->is(ExprKind::reduce) && e != root) {
      const bool is_stored = which == Reductions::of_other_loops
                                 ? !is_inside && !e->bound.contains(loop) && !e->axes.contains(loop)
                                 : is_inside || (which == Reductions::all && (root->is(ExprKind::reduce) || !e->axes.empty()));
      if (is_stored) {
        stored[e] = load_of_(e);
        replaced[e] = stored[e];
        return;
      }
    }
    for (Expr x : children(e)) visit(x, is_inside || e->is(ExprKind::reduce));
  };
  visit(root, false);
  return replaced.empty() ? root : b_.substitute(root, replaced);
}

}  // namespace tilewright::passes::fusion
