// Computes elements that kernels store, at a small instance, by their plans: a reduction over the loop's axis is computed from its
// accumulators and the factors that are applied after the loop, at the references that the loop ends with.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/fusion/check/lazy_values.h"
#include "passes/fusion/check/sample.h"
#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

class PlanValues {
 public:
  /// The kernels run in this order. Other tensors are in memory if `axes` says so.
  PlanValues(const graph::Graph&, const AxisAnalysis& axes, const ExprPool&, std::span<const LoopPlan* const> kernels, const Sample&);

  struct AxisIndex {
    Axis axis = nullptr;
    std::int64_t index = 0;
  };
  using Point = InlineVector<AxisIndex, 8>;
  /// An element of a tensor after all kernels have run.
  Number element(Tensor, const Coordinates&);
  /// The value of an expression at the point that gives the index along each of its axes.
  Number value(Expr, const Point&);
  /// The point at which the index along each axis of a tensor equals the position; none if there is no such point.
  std::optional<Point> point_of(const std::vector<Expr>& index, const Coordinates&) const;
  /// The first read of a tensor that no earlier kernel has written, if there is one.
  const std::optional<std::string>& mistake() const { return mistake_; }
  /// The number of values that were computed.
  std::size_t size() const { return values_.size(); }

 private:
  struct Key {
    std::size_t kernel;
    const ExprData* expr;  // null for an accumulator
    int accumulator;
    Coordinates position;  // along the axes of the expression or the accumulator
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key&) const;
  };
  struct Writer {
    std::size_t kernel;
    const KernelOutput* output;
  };

  static Coordinates restricted(const AxisSet&, const Point&);
  Key key(std::size_t kernel, Expr e, const Point& p) const { return {kernel, e.operator->(), -1, restricted(e->axes, p)}; }
  Number get(std::size_t kernel, Expr e, const Point& p);
  Number compute(const Key&);
  Number compute_expr(std::size_t kernel, Expr, const Point&);
  Number product(std::size_t kernel, Expr, const Point&);
  Number function(std::size_t kernel, Expr, const Point&);
  Number load(std::size_t kernel, Expr, const Point&);
  Number reduction(std::size_t kernel, Expr, const Point&);
  Number scan(std::size_t kernel, Expr, const Point&);
  Number accumulator(std::size_t kernel, int, const Point&);
  Number reduced(std::size_t kernel, const Fold&, ir::Element, const AxisSet& bound, Expr body, const Point&);
  std::optional<Key> stored(std::size_t reader, Tensor, const Coordinates&);
  std::int64_t integer(Expr, const Point&) const;
  std::span<const std::int64_t> extents(Tensor);
  const AxisPositions& positions(Axis);

  const graph::Graph& g_;
  const AxisAnalysis& axes_;
  const ExprPool& pool_;
  std::vector<const LoopPlan*> plans_;
  const Sample& sample_;
  std::unordered_map<Tensor, std::vector<Writer>> writers_;
  std::optional<std::string> mistake_;
  friend class LazyValues<Key, KeyHash, PlanValues>;
  LazyValues<Key, KeyHash, PlanValues> values_{*this};
  std::unordered_map<Tensor, std::vector<std::int64_t>> extents_;
  std::unordered_map<Axis, AxisPositions> positions_;
};

}  // namespace tilewright::passes::fusion
