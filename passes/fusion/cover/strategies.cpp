// The tables of strategies and refinements.
#include "passes/fusion/cover/strategies.h"

namespace tilewright::passes::fusion {

namespace {

using OperandChoice = StoredValues::OperandChoice;
using Combined = StoredValues::Combined;
using Reductions = StoredValues::Reductions;

template <OperandChoice which>
Expr operands(StoredValues& s, Expr value, Axis loop, ExprMap& stored) {
  return s.store_operands(value, loop, which, stored);
}
template <Combined which>
Expr combined(StoredValues& s, Expr value, Axis loop, ExprMap& stored) {
  return loop ? s.store_combined(value, loop, which, stored) : value;
}
template <Reductions which>
Expr reductions(StoredValues& s, Expr value, Axis loop, ExprMap& stored) {
  return s.store_reductions(value, which, stored, loop);
}

// Followers of a product are computed from it element by element.
constexpr Strategy kStrategies[] = {
    {"compute what the loop can", Tried::for_each_loop, operands<OperandChoice{.inside = true, .followers = false}>},
    {"compute what the loop can, store the rest with followers", Tried::for_each_loop,
     operands<OperandChoice{.inside = true, .followers = true}>},
    {"store products", Tried::for_each_loop, operands<OperandChoice{.inside = false, .followers = false}>},
    {"store products with followers", Tried::for_each_loop, operands<OperandChoice{.inside = false, .followers = true}>},
    {"compute what the loop can of stored products of data", Tried::for_each_loop,
     operands<OperandChoice{.inside = true, .followers = true, .of_data = true}>},
    {"store what reductions combine", Tried::if_storing, combined<Combined::outermost>},
    {"store costly operands of products", Tried::if_storing,
     [](StoredValues& s, Expr value, Axis, ExprMap& stored) {
       return s.store_computed_operands(value, StoredValues::Computed::costly, stored);
     },
     false},
    {"store computed operands of products", Tried::if_storing,
     [](StoredValues& s, Expr value, Axis, ExprMap& stored) {
       return s.store_computed_operands(value, StoredValues::Computed::all, stored);
     },
     false},
    {"store what does not vary along the loop", Tried::if_storing, combined<Combined::same_along_loop>},
    // A row times a matrix is not a product for store_operands but a reduction, which stays inside. If it is stored, it is computed once,
    // and not again for each tile of another axis.
    {"store inner reductions", Tried::for_best_loop, reductions<Reductions::inner>},
    {"store all reductions", Tried::if_none_fits, reductions<Reductions::all>},
    {"store each reduction, compute the rest element by element", Tried::if_read_again,
     [](StoredValues& s, Expr value, Axis, ExprMap& stored) { return s.store_outermost(value, stored); }},
};

constexpr Refinement kRefinements[] = {
    {"store reductions of other loops", Refinement::Kind::stores,
     [](StoredValues& s, UniqueBoundAxes& axes, Expr value, Axis loop, ExprMap& stored) {
       return axes.apply(s.store_reductions(value, Reductions::of_other_loops, stored, loop), loop);
     }},
    {"each reduction over an axis of its own", Refinement::Kind::renames,
     [](StoredValues&, UniqueBoundAxes& axes, Expr value, Axis loop, ExprMap&) { return axes.apply(value, loop); }},
    {"", Refinement::Kind::none, [](StoredValues&, UniqueBoundAxes&, Expr value, Axis, ExprMap&) { return value; }},
};

}  // namespace

std::span<const Strategy> strategies() { return kStrategies; }
std::span<const Refinement> refinements() { return kRefinements; }

}  // namespace tilewright::passes::fusion
