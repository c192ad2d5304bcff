// Compares kernels with the graph as it is written, at small instances: this covers what the exact check of field_check.h assumes.
//
// The exact check begins with expressions. Here, elements of the results are computed op by op from the graph, and also by the plans of the
// kernels that were derived for it: so the comparison covers the translation, the normal form, values that are stored between kernels,
// plans without loops, and scans. Numbers have a bound on their rounding error (number.h); a difference that exceeds the bounds is a
// mistake. One instance has arbitrary numbers. Another one has zeros, equal numbers and both signs, and masks that hide whole rows: there,
// a value that is finite as written must be the same, and one that is not finite must not become finite. A result of which rounding leaves
// every element open, such as one that grows beyond all numbers, is compared at an instance of small numbers. If that does not help, the
// result is left open.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/check/sample.h"
#include "passes/fusion/translate/axes.h"

namespace tilewright::passes::fusion {

/// A node's value, and the tensor to which kernels write it.
struct CheckedResult {
  graph::NodeId node;
  Tensor tensor;
};

/// A node's value, and the expression that represents it: the value of the element index[0], index[1], ...
struct CheckedValue {
  graph::NodeId node;
  Expr value;
  std::vector<Expr> index;
};

/// Two values of one graph that should be equal.
struct RewrittenValue {
  graph::NodeId written, rewritten;
};

class InstanceCheck {
 public:
  explicit InstanceCheck(const graph::Graph&);

  /// Runs the kernels in this order; other tensors that they read are in memory by `axes`, whose outputs are the nodes of the results.
  /// `rounds` of the result: the number of instances at which elements were compared.
  ProofResult run(const AxisAnalysis& axes, const ExprPool&, std::span<const CheckedResult>, std::span<const LoopPlan* const> kernels);
  /// As above, for expressions of a translation.
  ProofResult run(const AxisAnalysis& axes, const ExprPool&, std::span<const CheckedValue>);

  /// Compares values of the graph itself: what a rewriting of the graph appended to it with what was there before.
  ProofResult run(const AxisAnalysis& axes, std::span<const RewrittenValue>);

  /// Whether any element was compared.
  bool has_compared() const { return compared_ > 0; }
  /// What was compared, as text for people.
  std::string text() const;
  /// How many values were computed, which determines the time that the check takes.
  std::uint64_t steps() const { return steps_; }

 private:
  template <class MakeDerived>
  ProofResult compare(const AxisAnalysis&, const std::vector<graph::NodeId>&, MakeDerived&&);
  template <class MakeDerived>
  void compare_at(Sample&, const AxisAnalysis&, const std::vector<graph::NodeId>&, MakeDerived&, std::vector<bool>& is_compared,
                  ProofResult&);

  const graph::Graph& g_;
  std::vector<Sample> samples_;
  std::optional<Sample> small_;  // an instance for results that the others leave open
  std::size_t compared_ = 0, skipped_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace tilewright::passes::fusion
