// Evaluates expressions at single points, in the field. Axes have few positions, since a formula does not know how long its axes are; in
// sums the positions of an axis have weights that add up to its extent.
//
// A field has no order, which maxima need: each value has real numbers beside its residue, one for each of some draws, that obey the same
// laws. Values that are known not to be negative are drawn from positive numbers, others from both. In each draw the greatest real number
// chooses the residue of the maximum.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "passes/fusion/check/field.h"
#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// A position on each of some axes.
using Point = std::map<Axis, std::int64_t>;

/// Number of positions of an axis in the check.
int checked_extent(Axis axis, Axis loop);
/// All points of some axes.
std::vector<Point> points(const AxisSet&, Axis loop);
Point restricted(const Point&, const AxisSet&);

/// Whether f(-x) = -f(x), by which the normal form turns signs.
bool is_odd(Expr);

/// A random residue for each name, point and modulus: what inputs and complete reductions are.
std::uint64_t random_residue(std::uint64_t seed, const ExprKey& name, const Point&, const Modulus&);

class FieldEvaluator {
 public:
  /// Gives a value in place of an expression at a point, or none.
  using Override = std::function<std::optional<std::uint64_t>(Expr, const Point&, const Modulus&)>;

  FieldEvaluator(std::uint64_t seed, Axis loop, Override override_value) : seed_(seed), loop_(loop), override_(std::move(override_value)) {}

  /// Requires: the point has every free axis of the expression.
  std::uint64_t value(Expr, const Point&, const Modulus&);
  bool holds(Expr condition, const Point&);
  std::int64_t integer(Expr, const Point&);
  /// The maximum or minimum of a float over some axes: the sum of what the draws choose, with random weights that add up to 1. A factor
  /// leaves it if it is positive in each draw.
  std::uint64_t extreme(graph::Combine, const AxisSet& bound, Expr, const Point&, const Modulus&);

 private:
  /// Of a sign that is not known, a wrong one is found with a probability of 1 - 2^-kDraws.
  static constexpr std::size_t kDraws = 64;
  using Reals = std::array<double, kDraws>;
  struct Known {
    std::vector<std::int64_t> positions;
    std::uint64_t prime, value;
  };
  struct KnownReals {
    std::vector<std::int64_t> positions;
    Reals value;
  };
  std::uint64_t compute(Expr, const Point&, const Modulus&);
  std::int64_t extent(const Dim&) const;
  std::uint64_t weight(const Point& inner, const Modulus&) const;
  std::uint64_t scan(Expr, const Point&, const Modulus&);
  std::uint64_t odd(Expr, const Point&, const Modulus&);
  std::uint64_t hashed(Expr, const Point&, const Modulus&);
  Reals reals(Expr, const Point&);
  Reals compute_reals(Expr, const Point&);
  Reals drawn(Expr, const Point&);

  std::uint64_t seed_;
  Axis loop_;
  Override override_;
  std::unordered_map<Expr, std::vector<Known>, ExprHash> known_;
  std::unordered_map<Expr, std::vector<KnownReals>, ExprHash> known_reals_;
};

}  // namespace tilewright::passes::fusion
