// Compares kernels with the graph as it is written, at small instances: what the exact check of field_check.h takes for granted.
//
// The exact check begins with expressions. Here elements of the results are computed op by op from the graph, and by the plans of the
// kernels that were derived for it: so the comparison covers the translation, the normal form, values that are stored between kernels,
// plans without loops, and scans. Numbers have a bound on their rounding error (number.h), and what differs by more is a mistake. One
// instance has any numbers. Another one has zeros, equal numbers and both signs, and masks that hide whole rows: there a value that is
// finite as written must be the same, and one that is not must not be finite.
#pragma once
#include <span>
#include <vector>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/check/sample.h"
#include "passes/fusion/translate/axes.h"

namespace tilewright::passes::fusion {

/// A node's value, and the tensor in which kernels leave it.
struct CheckedResult {
  graph::NodeId node;
  Tensor tensor;
};

/// A node's value, and the expression that stands for it: that of the element index[0], index[1], ...
struct CheckedValue {
  graph::NodeId node;
  Expr value;
  std::vector<Expr> index;
};

class InstanceCheck {
 public:
  explicit InstanceCheck(const graph::Graph&);

  /// The kernels run in this order; what they read else is in memory by `axes`, whose outputs are the nodes of the results. `rounds` of the
  /// answer: the instances at which elements were compared.
  ProofResult run(const AxisAnalysis& axes, const ExprPool&, std::span<const CheckedResult>, std::span<const Plan* const> kernels);
  /// The same for expressions of a translation.
  ProofResult run(const AxisAnalysis& axes, const ExprPool&, std::span<const CheckedValue>);

  /// What was compared, for people.
  std::string text() const;
  /// How many values were computed: what its time depends on.
  std::uint64_t steps() const { return steps_; }

 private:
  template <class MakeDerived>
  ProofResult compare(const AxisAnalysis&, const std::vector<graph::NodeId>&, MakeDerived&&);

  const graph::Graph& g_;
  std::vector<Sample> samples_;
  std::size_t compared_ = 0, skipped_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace tilewright::passes::fusion
