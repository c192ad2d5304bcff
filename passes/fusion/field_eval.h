// Evaluates expressions at single points, in the field. Axes have few positions, since a formula does not know how long its axes are; in
// sums the positions of an axis have weights that add up to its extent.
#pragma once
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "passes/fusion/field.h"
#include "passes/fusion/normal_form.h"

namespace tilewright::passes::fusion {

/// A position on each of some axes.
using Point = std::map<Axis, std::int64_t>;

/// Number of positions of an axis in the check.
int checked_extent(Axis axis, Axis loop);
/// All points of some axes.
std::vector<Point> points(const AxisSet&, Axis loop);
Point restricted(const Point&, const AxisSet&);

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

 private:
  struct Known {
    std::vector<std::int64_t> positions;
    std::uint64_t prime, value;
  };
  std::uint64_t compute(Expr, const Point&, const Modulus&);
  std::int64_t extent(const Dim&) const;
  std::uint64_t weight(const Point& inner, const Modulus&) const;
  std::uint64_t scan(Expr, const Point&, const Modulus&);
  std::uint64_t extreme(Expr, const Point&, const Modulus&);
  std::uint64_t hashed(Expr, const Point&, const Modulus&);

  std::uint64_t seed_;
  Axis loop_;
  Override override_;
  std::unordered_map<Expr, std::vector<Known>, ExprHash> known_;
};

}  // namespace tilewright::passes::fusion
