// Derives the state of a pass and its steps from the plan's reductions and accumulators.
#include "passes/fusion/plan/pass_state.h"

#include <algorithm>
#include <set>

#include "passes/fusion/expr/expr_walk.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using Kind = UpdateStep::Kind;

class StateMaker {
 public:
  StateMaker(std::span<const Reduction> reductions, std::span<const Accumulator> accumulators, const RollingShifts& rolling, int pass)
      : reductions_(reductions), accumulators_(accumulators), rolling_(rolling), pass_(pass) {}

  PassState run() {
    choose_accumulators();
    choose_shifts();
    choose_references();
    make_steps();
    return std::move(state_);
  }

 private:
  static std::vector<Expr> shifts_in(Expr e) { return collect(e, ExprKind::shift_reference); }

  bool has_rolling_shift(const Accumulator& a) const {
    const std::vector<Expr> shifts = shifts_in(a.body);
    return std::any_of(shifts.begin(), shifts.end(), [&](Expr s) { return rolling_.all.contains(s); });
  }

  void choose_accumulators() {
    std::set<int> live;
    std::vector<int> todo;
    for (std::size_t i = 0; i < accumulators_.size(); ++i)
      if (accumulators_[i].pass == pass_ && is_read(reductions_, static_cast<int>(i))) todo.push_back(static_cast<int>(i));
    while (!todo.empty()) {
      const int i = todo.back();
      todo.pop_back();
      if (!live.insert(i).second) continue;
      const Accumulator& a = accumulators_[static_cast<std::size_t>(i)];
      if (has_rolling_shift(a))
        for (const AccumulatorTerm& t : a.move) todo.push_back(t.accumulator);
    }
    state_.accumulators.assign(live.begin(), live.end());
  }

  void choose_shifts() {
    const auto add = [&](Expr in) {
      for (Expr s : shifts_in(in)) {
        std::vector<Expr>& to = rolling_.all.contains(s) ? state_.rolling_shifts : state_.fixed_shifts;
        if (std::find(to.begin(), to.end(), s) == to.end()) to.push_back(s);
      }
    };
    for (int i : state_.accumulators) add(accumulators_[static_cast<std::size_t>(i)].body);
    for (const Reduction& r : reductions_)
      if (r.pass == pass_ && r.is_computed())
        for (const AccumulatorTerm& t : r.terms) add(t.factor);
  }

  // Finds the reductions whose value so far is in a reference, or is needed for one that is.
  void choose_references() {
    for (auto r = reductions_.rbegin(); r != reductions_.rend(); ++r) {
      if (r->pass != pass_ || !r->is_computed()) continue;
      bool is_needed = r->policy == Policy::rolling;
      for (Expr s : state_.rolling_shifts) is_needed = is_needed || contains(s->operands[0], r->value);
      for (const Reduction& q : reductions_)
        if (needed_.count(q.value) != 0)
          for (const AccumulatorTerm& t : q.terms) is_needed = is_needed || contains(t.factor, r->value);
      if (is_needed) needed_.insert(r->value);
    }
  }

  // Whether an exponent changes while the loop runs; constants do not.
  bool moves(Expr exponent) const {
    return std::any_of(reductions_.begin(), reductions_.end(),
                       [&](const Reduction& r) { return r.is_computed() && contains(exponent, r.value); });
  }

  bool is_ready(Expr shift) const {
    return std::all_of(reductions_.begin(), reductions_.end(), [&](const Reduction& r) {
      return r.pass != pass_ || !contains(shift->operands[0], r.value) || r.constant || referred_.count(r.value) != 0;
    });
  }

  void accumulate(int i) {
    if (!accumulated_.insert(i).second) return;
    const Accumulator& a = accumulators_[static_cast<std::size_t>(i)];
    UpdateStep step{.kind = Kind::accumulate, .index = i, .shift = {}};
    step.moves_by_shifts = has_rolling_shift(a);
    step.moves_by_exponent = moves(a.exponent);
    state_.steps.push_back(step);
  }

  void make_steps() {
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
      const Reduction& r = reductions_[i];
      if (r.pass != pass_ || !r.is_computed()) continue;
      for (const AccumulatorTerm& t : r.terms) accumulate(t.accumulator);
      if (needed_.count(r.value) == 0) continue;
      state_.steps.push_back({.kind = Kind::refer, .index = static_cast<int>(i), .shift = {}});
      referred_.insert(r.value);
      for (Expr s : state_.rolling_shifts)
        if (is_ready(s) && shifted_.insert(s).second)
          state_.steps.push_back({.kind = Kind::shift, .shift = s, .is_extrapolated = rolling_.averages.contains(s)});
    }
    for (int i : state_.accumulators) accumulate(i);
  }

  std::span<const Reduction> reductions_;
  std::span<const Accumulator> accumulators_;
  const RollingShifts& rolling_;
  int pass_;
  PassState state_;
  std::set<int> accumulated_;
  ExprSet needed_, referred_, shifted_;
};

}  // namespace

PassState pass_state(std::span<const Reduction> reductions, std::span<const Accumulator> accumulators, const RollingShifts& rolling,
                     int pass) {
  return StateMaker(reductions, accumulators, rolling, pass).run();
}

}  // namespace tilewright::passes::fusion
