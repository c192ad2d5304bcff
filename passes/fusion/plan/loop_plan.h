// The plan of one fused kernel: a loop over one axis that computes every reduction over it, in as few passes over the data as forms allow.
//
// For attention over the keys k, with r0 = max s, r1 = sum exp(s - r0), r2 = sum exp(s - r0) / r1 v:
//
//   r0 = T0                     T0 = max of s                                    rolling: others refer to it while it grows
//   r1 = T1                     T1 = sum of exp(s - reference(r0))               moves with exp(r0 old - r0 new)
//   r2 = 1 / r1 * T2            T2 = sum of exp(s - reference(r0)) v             moves in the same way; 1 / r1 is applied at the end
//
//   1. find_scans: the scans that the loop computes.
//   2. assign_passes: each reduction over the axis belongs to the first pass in which it has a form (forms.h); for a further pass, the plan
//      keeps the reason.
//   3. make_accumulators: each term of a form becomes an accumulator T; equal ones are one.
//   4. make_moves: how each accumulator moves when its references change.
//   5. choose_policies: what stands for each reduction while it is pending.
//   6. pass_state: the steps by which the state of a pass is updated with a tile (pass_state.h).
//   7. choose_grid: which axes are distributed over the grid, and which ones each program holds completely (choose_grid.h).
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/fusion/expr/kernel_output.h"
#include "passes/fusion/plan/accumulators.h"
#include "passes/fusion/plan/choose_grid.h"
#include "passes/fusion/plan/forms.h"
#include "passes/fusion/plan/pass_state.h"

namespace tilewright::passes::fusion {

/// A running combination along the loop's axis: each tile continues from the result of earlier tiles.
struct RunningScan {
  Expr value;  // its value in the outputs
  Expr body;   // the contribution of a position of the loop's axis
};

/// Two values that cannot be computed in one pass, and the reason.
struct Refusal {
  Expr reduce;  // needs the further pass; none for an output that varies along the loop's axis
  NoForm why;
};

class LoopPlan {
 public:
  /// loop: null for a kernel without reductions. Never throws: every formula has a plan, possibly with several passes.
  LoopPlan(ExprBuilder&, std::vector<KernelOutput>, Axis loop);

  std::vector<KernelOutput> outputs;
  Axis loop = nullptr;
  std::vector<Reduction> reductions;  // over the loop's axis; each comes after those that it needs
  std::vector<Accumulator> accumulators;
  std::vector<RunningScan> scans;
  bool is_reverse = false;  // the loop begins at the last tile, because its scans do
  std::vector<Refusal> refusals;
  int passes = 1;
  std::vector<PassState> states;  // for passes 1, 2, ...

  GridChoice programs;

  const Reduction* find(Expr reduce) const;
  /// The plan as text for people: loop, passes, accumulators, merge of two states, epilogue, refusals.
  std::string text() const;

 private:
  void find_scans();
  void assign_passes();
  void make_accumulators();
  const Form& transport(Expr body);
  void find_transports(const Form&, graph::Combine, Expr reduce);
  Term accumulated(const FormTerm&, graph::Combine, Expr reduce);
  AccumulatorTerm term(const FormTerm&, int pass, graph::Combine, Expr exponent, Expr reduce);
  int accumulator(int pass, graph::Combine, Expr exponent, Expr body, Expr reduce);
  void make_moves();
  void choose_policies();
  std::vector<Expr> sums_in(Expr shift, int pass) const;
  bool may_roll(Expr shift, int pass) const;
  bool is_average_of_all(Expr shift, int pass) const;
  std::optional<double> constant_reference(const Reduction&) const;
  std::vector<Expr> outputs_at_references();
  bool is_read_behind_loop(Expr reduce) const;

  ExprBuilder* b_;
  std::map<Expr, Form, bool (*)(Expr, Expr)> forms_;
  std::unordered_map<Expr, Form, ExprHash> transports_;  // by the bodies of accumulators
  // The shift references that are the value so far, to which the accumulators move, and not an estimate from the first tile: those
  // that contain a maximum, or are a ratio of sums, which is meaningless as long as all weights are 0.
  RollingShifts rolling_;
};

/// The merge of two states of a pass, as text for people.
std::string merge_text(const LoopPlan&, int pass);

/// The body of an accumulator in which values replace references in exponents: what a loop of one tile computes.
Expr body_at_values(ExprBuilder&, const Accumulator&);

}  // namespace tilewright::passes::fusion
