// Emits the state of a pass, which is its accumulators and their references, and its update with a tile or with other states.
#pragma once
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

using PartsByExpr = std::unordered_map<Expr, Part, ExprHash>;

struct TileState {
  std::map<int, Part> accumulators;
  PartsByExpr shifts;  // shift references that roll
  PartsByExpr values;  // values of reductions so far
  /// Set if the tiles hold several states at once: then this is their last axis.
  Axis part = nullptr;
};

class StateEmitter {
 public:
  /// order: the axes of accumulators.
  StateEmitter(EmitContext& context, TileValues& tiles, const LoopPlan& plan, const Order& order)
      : context_(context),
        exprs_(context.exprs),
        scopes_(context.scopes),
        build_(context.build),
        folds_(context.folds),
        tiles_(tiles),
        plan_(plan),
        order_(order) {}

  /// Updates `old` (null: the empty state) with other states or, if `incoming` is null, with the tile of the loop's axis. share: the number
  /// of all positions divided by the number of those so far; none after the last tile.
  TileState update(const PassState&, TileState* old, TileState* incoming, const std::optional<Part>& share = {});
  /// The state of the only tile of the loop's axis. References have their complete values, so that bodies share tiles with outputs along the
  /// axis: an exponential that is both summed and stored is computed once.
  TileState update_whole(const PassState&);

  /// An accumulator after the loop, without the factor that comes from rounding its reference. `last`: the values of reductions, from
  /// accumulators without these factors; `rounded`: the values to which the loop has referred.
  Part settled(int accumulator, const TileState& rounded, const TileState& last);
  /// Whether a reference after the loop is computed from this value.
  bool is_referred_to(Expr reduction) const;
  /// The value of a reduction from its accumulators.
  Part terms_value(const Reduction&, const TileState&);
  /// The value of an expression, given the reductions and shift references of a state.
  Part with(const TileState&, Expr, const Order&, ir::Element);
  /// A shift may be any number: a value that is not a number (0 / 0 before the first element) becomes 0.
  Part finite(const Part&);
  /// An exponent that can be used as a reference: +inf and NaN are replaced by 0.
  Part finite_reference(const Part& exponent);
  /// Those axes of a value in a state that have tiles.
  Order order_of(const AxisSet& axes, Axis part = nullptr) const;

 private:
  Part with(PartsByExpr known, Axis part, Expr, const Order&, ir::Element);
  TileState extrapolated(const TileState&, const Part& share);
  Part accumulated(const UpdateStep&, const TileState* old, const TileState* incoming, const TileState& now);
  Expr body_in_loop(const Accumulator&, const TileState& now);
  Expr body_of_whole(const Accumulator&, const TileState& now);
  Part moved(const UpdateStep&, const TileState& from, const TileState& to);
  Part shifted(const Accumulator&, const TileState& from, const TileState& to, const Order&);
  Part scale(Expr exponent, const TileState& from, const TileState& to);
  bool has_sum(Expr exponent, const TileState&) const;
  bool refers(const Accumulator&) const;
  Expr alias(Expr, Axis part);

  EmitContext& context_;
  ExprBuilder& exprs_;
  Scopes& scopes_;
  TileBuilder& build_;
  Folds& folds_;
  TileValues& tiles_;
  const LoopPlan& plan_;
  const Order& order_;
  std::map<std::pair<const ExprData*, const TileState*>, Part> scales_;  // the factors of the current update
  ExprMap aliases_;
  bool is_whole_ = false;  // the current update is that with the only tile
};

}  // namespace tilewright::passes::fusion
