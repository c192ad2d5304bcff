// Monte Carlo arithmetic (Parker, 1997): a run in which each operand of a float operation is moved at random by as much as rounding may move
// it. How far the results of a few such runs are from the exact ones says how far rounding may move each element: an element that is a
// difference of great numbers moves far, and one that is a product of inputs does not.
//
// Each use of a value is moved on its own, since a plan may compute the value in another order for each. For the same reason each node is computed
// twice, and each use takes one of both results at random: two kernels, or two loops of one, that compute a difference of great numbers get results
// which are further apart than one rounding of the difference. What no op has rounded, such as an input that is compared, is not moved; but operands of sums and
// products are, since their results depend on the order of the operations.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tileir/graph/array.h"
#include "tileir/graph/graph.h"

namespace tilewright::graph {

struct Perturbation {
  std::uint64_t seed = 0;
  /// Whether products of f32 in the standard precision may multiply in tf32, as GPUs do.
  bool multiplies_in_tf32 = false;
};

/// How a float type rounds.
struct Spacing {
  double unit;   // the greatest relative rounding error
  double least;  // numbers below this one may be rounded to 0
};
Spacing spacing_of(ir::Element);

class PerturbedOperands {
 public:
  PerturbedOperands(const Graph&, const Perturbation&);

  /// By operand; those that are values[operand] as it is, are empty.
  using Operands = std::vector<std::optional<Array>>;
  /// The operands for both results of the node, moved at random. values, others: both results of all nodes before, floats as f64.
  std::array<Operands, 2> of(const Node&, const std::vector<Array>& values, const std::vector<Array>& others);

 private:
  double unit_of(const Node&, std::size_t operand) const;
  Array moved(Array, const Node& from, double unit);

  const Graph& graph_;
  Perturbation perturbation_;
  std::vector<bool> is_rounded_;  // by node: rounding may move its value, which is not done before it is used
  std::mt19937_64 engine_;
};

/// The value that takes the place of an infinity to which finite numbers overflow in a perturbed run.
inline constexpr double kSaturated = 1e300;
/// Whether an infinite result of the map function is an overflow if all operands are finite and not 0: those that are infinite at a pole are
/// infinite as they are meant.
bool may_overflow(ir::OpKind function);

}  // namespace tilewright::graph
