// Evaluates expressions at single points, in the field. Axes have few positions, since a formula does not know how long its axes are; in
// sums, the positions of an axis have weights that add up to its extent.
//
// A field has no order, but maxima need one. So each value has, besides its residue, several randomly drawn real numbers that obey the same
// laws. Values that are known to be nonnegative are drawn from positive numbers, others from both signs. In each draw, the operand with the
// greatest real number provides the residue of the maximum.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "passes/fusion/check/field.h"
#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

/// The position along each of some axes.
using Point = std::map<Axis, std::int64_t>;

/// The number of positions that an axis has in the check.
int checked_extent(Axis axis, Axis loop);
/// All points of some axes.
std::vector<Point> points(const AxisSet&, Axis loop);
Point restricted(const Point&, const AxisSet&);

/// Whether f(-x) = -f(x). The normal form uses this law to choose signs.
bool is_odd(Expr);

/// A random residue for each name, point and modulus: the value of inputs and of complete reductions.
std::uint64_t random_residue(std::uint64_t seed, const ExprKey& name, const Point&, const Modulus&);

class FieldEvaluator {
 public:
  /// Returns a value to use instead of an expression at a point, or none.
  using Override = std::function<std::optional<std::uint64_t>(Expr, const Point&, const Modulus&)>;

  FieldEvaluator(std::uint64_t seed, Axis loop, Override override_value) : seed_(seed), loop_(loop), override_(std::move(override_value)) {}

  /// Requires: the point has a position for every free axis of the expression.
  std::uint64_t value(Expr, const Point&, const Modulus&);
  bool holds(Expr condition, const Point&);
  std::int64_t integer(Expr, const Point&);
  /// The maximum or minimum of a float over some axes: the sum of the values that the draws choose, with random weights that add up to 1.
  /// So a factor can be taken out if it is positive in each draw.
  std::uint64_t extreme(graph::Combine, const AxisSet& bound, Expr, const Point&, const Modulus&);

 private:
  using Reals = std::array<double, kDrawsOfReals>;
  // An expression, and the position along each of its axes.
  struct ExprAtPoint {
    Expr value;
    std::vector<std::int64_t> positions;
    friend bool operator==(const ExprAtPoint&, const ExprAtPoint&) = default;
  };
  struct ExprAtPointHash {
    std::size_t operator()(const ExprAtPoint& p) const {
      std::uint64_t h = p.value->key.low;
      for (std::int64_t position : p.positions) h = mix(h, static_cast<std::uint64_t>(position));
      return h;
    }
  };
  template <class T>
  using KnownValues = std::unordered_map<ExprAtPoint, T, ExprAtPointHash>;
  // A value that others read again, such as the position in a rotation of a rotation, is computed once.
  template <class T, class Compute>
  static T known_or(KnownValues<T>& known, Expr e, const Point& p, const Compute& compute) {
    ExprAtPoint at{e, {}};
    for (Axis a : e->axes) at.positions.push_back(p.at(a));
    if (const auto found = known.find(at); found != known.end()) return found->second;
    return known.emplace(std::move(at), compute()).first->second;
  }
  std::uint64_t compute(Expr, const Point&, const Modulus&);
  bool compute_condition(Expr, const Point&);
  std::int64_t compute_integer(Expr, const Point&);
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
  KnownValues<std::uint64_t> known_, known_exponents_;  // modulo either prime
  KnownValues<Reals> known_reals_;
  KnownValues<std::int64_t> known_integers_;
  KnownValues<bool> known_conditions_;
};

}  // namespace tilewright::passes::fusion
