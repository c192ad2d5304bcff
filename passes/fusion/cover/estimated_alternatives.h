// The alternatives to compute each output, with their estimated times. Estimates are kept, because several alternatives may read one stored
// value, and its time counts in each of them.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/cover/alternative.h"
#include "passes/fusion/cover/strategies.h"
#include "passes/fusion/cover/value_tensors.h"

namespace tilewright::passes::fusion {

class EstimatedAlternatives {
 public:
  /// Keeps the references.
  EstimatedAlternatives(ExprBuilder& b, const ir::TargetDesc& target, const FusionOptions& options, const PlanCheck& check,
                        ContainedReductions& held, StoredValues& stored, ValueTensors& tensors)
      : b_(b), target_(target), options_(options), check_(check), held_(held), stored_(stored), tensors_(tensors), unique_bound_axes_(b) {}

  /// The alternative with the least estimated time, including the kernels that store what it reads: a dynamic program over the values.
  const Alternative& best(const KernelOutput& output) { return alternatives(output).front(); }
  /// As best(), but for tiles that fit. Smaller tiles take longer, so an alternative that is still the best with the tiles that fit is the
  /// best of all. An alternative whose plan fails its check is the worst. The alternatives of the output are then
  /// forgotten, because the choice is made. Throws PlanRefuted if each fails.
  Alternative take_best_emitted(const KernelOutput&);

  /// Estimates the output with this read again, since values inside of it are stored now.
  void forget(Expr read) { alternatives_.erase(read); }
  void forget_all() { alternatives_.clear(), step_by_step_.clear(), together_.clear(), products_.clear(); }

 private:
  /// What the kernel of an output computes if other kernels store some values.
  struct Rest {
    KernelOutput output;
    bool only_picks;  // its sums picked elements of what is stored, so that no loop is left
  };

  /// All alternatives, the best one first.
  std::vector<Alternative>& alternatives(const KernelOutput&);
  void add_with_each_loop(Tried, const KernelOutput&, std::vector<Alternative>&);
  std::vector<Axis> possible_loops(const KernelOutput&) const;
  void add_with_best_loop(Tried, const KernelOutput&, std::vector<Alternative>&);
  Rest rest_of(const Strategy&, const KernelOutput&, Axis loop, ExprMap& stored);
  void add_refined(const Strategy&, KernelOutput rest, Axis loop, std::optional<LoopPlan> best, const ExprMap& stored,
                   std::vector<Alternative>&);
  void add_without_loop(const KernelOutput&, std::vector<Alternative>&);
  void sort(std::vector<Alternative>&);
  void store_step_by_step(Alternative&);
  static const Alternative& least(const std::vector<Alternative>&);
  double least_seconds_to_store(const ExprMap& stored);
  bool stores_more(const ExprMap& stored) const;
  Alternative estimate_alternative(std::string strategy, LoopPlan, ExprMap stored);
  Seconds seconds_to_store(const ExprMap& stored);
  std::optional<Seconds> seconds_together(const std::vector<Expr>& values, Expr more, Axis loop);
  const std::vector<Expr>& products_of(Expr value);

  ExprBuilder& b_;
  const ir::TargetDesc& target_;
  const FusionOptions& options_;
  const PlanCheck& check_;
  ContainedReductions& held_;
  StoredValues& stored_;
  ValueTensors& tensors_;
  UniqueBoundAxes unique_bound_axes_;
  std::unordered_map<Expr, std::vector<Alternative>, ExprHash> alternatives_;  // by the expression that reads the output
  std::set<Tensor> step_by_step_;                                   // values that are computed in their least time, whatever they store
  std::map<std::vector<Tensor>, std::optional<Seconds>> together_;  // the time of one kernel for all of these tensors
  std::unordered_map<Expr, std::vector<Expr>, ExprHash> products_;  // by the stored value
};

}  // namespace tilewright::passes::fusion
