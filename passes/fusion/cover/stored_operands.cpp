// Stores operands of products that contain products themselves. An output is visited from outside in; for each product:
//
//   1. store_product: a product that the loop does not compute is stored as it is.
//   2. store_operands: an operand that contains products is stored, with factors that scale it (scales_of): those that the kernel which
//      stores the operand can apply, and which precede the product in normal form. In the product a load replaces the operand.
//   3. remove_moved_scales: what was stored with an operand no longer scales the product.
//   4. The output is rebuilt from the products with loads.
#include <algorithm>
#include <functional>

#include "passes/fusion/cover/replace_factors.h"
#include "passes/fusion/cover/stored_values.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/extents.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

namespace {

// Decides which products inside of an output a loop can compute, and which of these it should compute.
class LoopProducts {
 public:
  LoopProducts(const ExprBuilder& b, ContainedReductions& held, Expr root, Axis loop) : b_(b), held_(held), root_(root), loop_(loop) {}

  // Whether the loop should compute a value that contains products.
  bool stays_inside(Expr value) const {
    if (!loop_ || (!value->axes.contains(loop_) && !binds(value))) return false;
    double repeated = 1;
    for (Axis a : root_->axes.without({loop_}))
      if (!value->axes.contains(a)) {
        if (estimated_extent(a->extent) > kMostStoredPayload) return false;
        repeated *= estimated_extent(a->extent);
      }
    return repeated <= kMostRowCells && !has_cascade(value);
  }

 private:
  // Whether the products inside of a value are themselves reductions over the loop's axis.
  bool binds(Expr value) const {
    return all_hold(value, [&](Expr e, std::vector<Expr>& next) {
      if (!held_.holds_product(e)) return true;
      if (is_product(e, b_)) return e->bound.contains(loop_);
      next.insert(next.end(), children(e).begin(), children(e).end());
      return true;
    });
  }

  // Whether a long inner reduction, not over the loop's axis, depends on another one: it should get a loop of its own.
  bool has_cascade(Expr value) const {
    const auto is_cascade = [&](Expr e) {
      return e->is(ExprKind::reduce) && !e->bound.contains(loop_) && estimated_extent(e->bound) > kMostWholeExtent &&
             held_.holds_reduction(e->operands[0]);
    };
    return any_of(value, is_cascade, [&](Expr e) { return !e->is_reference() && held_.holds_reduction(e); });
  }

  const ExprBuilder& b_;
  ContainedReductions& held_;
  const Expr root_;
  const Axis loop_;
};

class OperandStore {
 public:
  OperandStore(ExprBuilder& b, ContainedReductions& held, const std::function<Expr(Expr)>& load_of, Expr root, Axis loop,
               StoredValues::OperandChoice which, ExprMap& stored)
      : b_(b), held_(held), load_of_(load_of), root_(root), loop_(loop), which_(which), in_loop_(b, held, root, loop), stored_(stored) {}

  Expr run() {
    walk_inwards(root_, seen_, [&](Expr e) { return visit(e); });
    remove_moved_scales();
    return replaced_.empty() ? root_ : b_.substitute(root_, replaced_);
  }

 private:
  // Returns whether the parts of a value are visited.
  bool visit(Expr e) {
    if (!held_.holds_product(e)) return false;
    if (e->is(ExprKind::mul))
      for (const Factor& f : e->factors)
        if (f.exponent.is_one() && is_product(f.base, b_)) scaled_.emplace(f.base, e);
    if (!is_product(e, b_)) return true;
    if (store_product(e)) return false;
    store_operands(e);
    return true;
  }

  Expr store(Expr value) { return stored_[value] = load_of_(value); }

  // Stores a product that the loop does not compute and that does not vary along the loop.
  bool store_product(Expr product) {
    if (product == root_ || !loop_ || product->bound.contains(loop_) || stays_inside(product)) return false;
    replaced_[product] = store(product);
    return true;
  }

  bool stays_inside(Expr value) const { return which_.inside && !(which_.of_data && is_of_data(value)) && in_loop_.stays_inside(value); }

  // Whether no product inside of a value is a product of products.
  bool is_of_data(Expr value) const {
    return !any_of(
        value, [&](Expr e) { return is_product(e, b_) && held_.holds_product(e->operands[0]); },
        [&](Expr e) { return held_.holds_product(e); });
  }

  void store_operands(Expr product) {
    auto [operands, common] = operands_apart(b_, product);
    for (auto& [axes, group] : operands) {
      const Expr operand = b_.multiply(1, group);
      if (!held_.holds_product(operand) || stays_inside(operand)) continue;
      // Reductions that scale the operand are applied before it is stored.
      const std::size_t own = group.size();
      const auto scaling =
          std::stable_partition(common.begin(), common.end(), [&](const Factor& f) { return !held_.holds_reduction(f.base); });
      group.insert(group.end(), scaling, common.end());
      common.erase(scaling, common.end());
      const std::vector<Factor> scales = scales_of(product, operand);
      std::vector<Factor> factors = group;
      factors.insert(factors.end(), scales.begin(), scales.end());
      const Expr value = b_.multiply(1, factors);
      // A product with element-wise followers is stored by itself, when it is visited: other kernels may read it too.
      if (!which_.followers && factors.size() == own && follows_one_product(value)) continue;
      replace_operand(product, group, store(value));
      if (!scales.empty()) moved_.push_back({scaled_.at(product), scales});
      // The kernel that stores the operand computes its factors, so the walk does not enter them.
      for (const Factor& f : group) seen_.insert(f.base);
    }
  }

  // The kernel that stores the operand computes the factors that scale a product and that the operand needs in any case. Without those
  // that are stored with another operand.
  std::vector<Factor> scales_of(Expr product, Expr operand) {
    const auto scaled = scaled_.find(product);
    if (scaled == scaled_.end()) return {};
    std::vector<Factor> found;
    for (const Factor& f : scaled->second->factors) {
      if (f.base == product || !held_.holds_reduction(f.base) || held_.holds_product(f.base) || !operand->axes.contains(f.base->axes) ||
          f.base->axes.intersects(product->bound))
        continue;
      const bool is_moved = std::any_of(moved_.begin(), moved_.end(), [&](const MovedScales& m) {
        return m.scaled == scaled->second && std::find(m.factors.begin(), m.factors.end(), f) != m.factors.end();
      });
      const std::vector<Expr> own = reductions_over(nullptr, {{{}, f.base, nullptr, {}}});
      if (!is_moved && std::all_of(own.begin(), own.end(), [&](Expr r) { return contains(operand, r); })) found.push_back(f);
    }
    return found;
  }

  // Whether a value is computed element by element from one product.
  bool follows_one_product(Expr value) const {
    std::vector<Expr> outermost;  // reductions inside that contain products
    ExprSet seen;
    walk_inwards(value, seen, [&](Expr e) {
      if (!held_.holds_product(e)) return false;
      if (e->is(ExprKind::reduce)) outermost.push_back(e);
      return !e->is(ExprKind::reduce);
    });
    return outermost.size() == 1 && outermost[0] != value;
  }

  // An operand of a product that is stored becomes one load.
  void replace_operand(Expr product, const std::vector<Factor>& operand, Expr load) {
    const Expr current = replaced_.contains(product) ? replaced_.at(product) : product;
    replaced_[product] = with_body(b_, product, replace_factors(b_, current->operands[0], operand, {{load, 1}}));
  }

  // Values inside of others were visited later, so they come first here.
  void remove_moved_scales() {
    for (auto m = moved_.rbegin(); m != moved_.rend(); ++m) {
      const Expr current = replaced_.contains(m->scaled) ? replaced_.at(m->scaled) : m->scaled;
      replaced_[m->scaled] = b_.substitute(replace_factors(b_, current, m->factors, {}), replaced_);
    }
  }

  // Factors that precede a product in normal form, and that are stored together with one of its operands.
  struct MovedScales {
    Expr scaled;
    std::vector<Factor> factors;
  };

  ExprBuilder& b_;
  ContainedReductions& held_;
  const std::function<Expr(Expr)>& load_of_;
  const Expr root_;
  const Axis loop_;
  const StoredValues::OperandChoice which_;
  const LoopProducts in_loop_;
  ExprMap& stored_;
  ExprMap replaced_, scaled_;  // scaled_: maps a value to the products of which it is a factor
  std::vector<MovedScales> moved_;
  ExprSet seen_;
};

}  // namespace

Expr StoredValues::store_operands(Expr root, Axis loop, OperandChoice which, ExprMap& stored) {
  return OperandStore(b_, held_, load_of_, root, loop, which, stored).run();
}

}  // namespace tilewright::passes::fusion
