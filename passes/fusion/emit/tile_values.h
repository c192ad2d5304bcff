// Emits expressions over named axes as tiles.
//
// Each axis of a kernel has a tile: some positions at once, from a start that a program id or a loop gives. The value of an expression is a
// tile over those of its axes that have more than one position at once, in the order that its consumer needs.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "passes/fusion/derivation_failed.h"
#include "passes/fusion/emit/folds.h"
#include "passes/fusion/emit/kernel_parameters.h"
#include "passes/fusion/emit/scopes.h"
#include "passes/fusion/emit/tile_builder.h"
#include "passes/fusion/expr/constant_value.h"
#include "passes/fusion/expr/magnitude.h"
#include "passes/fusion/expr/normal_form.h"
#include "tileir/builder.h"

namespace tilewright::passes::fusion {

/// Thrown for a value whose parts, as they are written or in normal form, lead back to it.
struct CircularValue : DerivationFailed {
  CircularValue() : DerivationFailed("a value would be computed from itself") {}
};

class TileValues {
 public:
  /// While it lives, new ops get the line of an expression, if that is known.
  class LineOf {
   public:
    LineOf(TileValues&, Expr);
    ~LineOf() { ir_.set_loc(outer_); }
    LineOf(const LineOf&) = delete;
    LineOf& operator=(const LineOf&) = delete;

   private:
    ir::Builder& ir_;
    const ir::Loc outer_;
  };

  TileValues(ExprBuilder& exprs, ir::Builder& ir)
      : exprs_(exprs), ir_(ir), parameters_(ir.function()), scopes_(ir), build_(ir, scopes_), folds_(build_, scopes_, exprs.pool()) {}
  TileValues(const TileValues&) = delete;
  TileValues& operator=(const TileValues&) = delete;

  Scopes& scopes() { return scopes_; }
  TileBuilder& build() { return build_; }
  Folds& folds() { return folds_; }
  KernelParameters& parameters() { return parameters_; }

  /// Whether exp2 is one instruction; then exponentials of differences from references use it.
  void set_exp2(bool has_exp2) { has_exp2_ = has_exp2; }
  /// Sets TileSizes::is_short.
  void set_is_short(std::function<bool(std::int64_t, std::int64_t)> is_short) { is_short_ = std::move(is_short); }

  // ---- values ----
  /// The tile of an expression with this order of axes, which must contain all of the expression's axes that have tiles.
  Part value(Expr, const Order&);
  Part value_as(Expr, const Order&, ir::Element);
  /// As value(), but a load keeps the element type that it has in memory: narrow elements are not widened.
  Part loaded(Expr load, const Order&);
  /// A mask of positions of these axes inside of their extents; none if all are inside.
  std::optional<Part> mask(const AxisSet&, const Order&);
  void store(Tensor, std::span<const Expr> index, Expr value, const Order&);
  /// Adds a value over these axes to an element where the condition holds, by an atomic or by a load and a store.
  void add_to(Tensor, std::span<const Expr> index, Expr value, const AxisSet&, const Order&, std::optional<Part> condition, bool is_atomic);
  Part extent(const Dim&, ir::Element);
  /// exp(to - from) for two references.
  Part exp_of_change(const Part& to, const Part& from, const Order&);
  /// exp(to - from) for an exact `to`: the factor of everything that refers to `from`; near 1 if both are equal.
  Part exp_of_rounding(const Part& to, const Part& from, const Order&);
  /// Whether exponentials of this type refer to rounded multiples of references.
  bool rounds_references(ir::Element e) const { return has_exp2_ && e == ir::Element::f32; }
  ExprBuilder& exprs() { return exprs_; }

  // ---- reductions inside of a tile (reductions.cpp) ----
  /// Combines a body along axes that have whole or masked tiles, by the fold and in the types of a reduction, and adds the result to
  /// `accumulator` if there is one. The result has the axes of `order`.
  Part combine(const Fold&, Expr reduction, const AxisSet& along, Expr body, const Order& order, std::optional<Part> accumulator);
  /// Those of these axes that a reduction must walk in loops, because their tiles do not cover the whole axis.
  std::vector<Axis> looped_axes(const AxisSet&) const;
  /// The running combinations of a body along an axis, and the value with which the next tile begins.
  struct Running {
    Part values, next;
  };
  Running running(const Fold&, bool is_reverse, Axis along, Expr body, ir::Element, const Order&, const std::optional<Part>& before);
  void set_inner_tile(Axis a, std::int64_t size, bool is_looped) { inner_tiles_[a] = {size, is_looped}; }

 private:
  struct InnerTile {
    std::int64_t size;
    bool is_looped;
  };
  /// A tile that the scope already has, transposed to this order of axes.
  std::optional<Part> find_emitted(const std::map<std::pair<const ExprData*, Order>, Part>&, Expr, const Order&);
  Part emit(Expr, const Order& own);
  Part emit_float_sum(Expr, const Order&);
  Part emit_float_product(Expr, const Order&);
  Part emit_partly_hidden(Expr, const Order&);
  std::vector<Term> grouped_terms(Expr sum);
  Part emit_written(const WrittenValue&, const Order&, ir::Element);
  std::optional<Part> emit_written_product(Expr, const Order&);
  std::optional<WrittenValue> written_sum(Expr);
  bool is_computed_from(Expr value, Expr sum);
  std::optional<Part> emit_written_sum(Expr, const Order&);
  std::optional<Part> emit_exact_first(Expr, const Order&);
  std::optional<Part> emit_differences(Expr sum, const Order&);
  Part emit_exp(Expr, const Order&);
  Part exp_of_sum(Expr, const Order&);
  struct BelowMaximum {
    Multiple x;   // the value from which the maximum is chosen
    Expr offset;  // the value that is added to x: the negative maximum, or a reference to it
    Expr others;  // the other terms of the exponent, if there are any
  };
  std::optional<BelowMaximum> below_maximum(Expr exponent);
  Part rounded_multiple(const Multiple&, const Order&, ir::Element);
  Part rounded(const Part&);
  Part is_moderate(const Part&);
  Part is_below(const Part&, double limit);
  static bool is_far_from_one(Wide, ir::Element);
  Wide distribute_factor(Wide number, std::vector<Part>& numerator, std::vector<Part>& denominator, ir::Element);
  Part power(Expr base, const Rational& exponent, const Order&, ir::Element);
  Part emit_integer(Expr, const Order&, ir::Element);
  Part emit_condition(Expr, const Order&);
  Part emit_function(Expr, const Order&);
  Part emit_random(Expr, const Order&);
  Part emit_reduction(Expr, const Order&);
  Part emit_loops(Expr reduction, const Order&, std::span<const Axis>, const std::optional<Part>& start);
  Part index(Axis, const Order&, ir::Element);
  Part address(Tensor, std::span<const Expr> index, const Order&);
  std::optional<Part> access_mask(Expr load, const Order&);
  std::vector<Expr> inside_conditions(Expr load, std::size_t axis);
  bool is_chosen(Expr load, std::size_t axis);
  std::optional<Part> has_elements(Expr load, const Order&);
  Part chosen_position(Expr load, std::size_t axis, const Order&);
  Part load_address(Expr load, const Order&);
  std::optional<Part> dot(Expr reduction, const AxisSet& along, Expr body, const Order&, const std::optional<Part>& accumulator);
  Part group_value(const std::vector<Factor>&, const Order& order, const AxisSet& along, ir::Element);
  Folds::End end_of_reduced(Expr body, const AxisSet& along) const;
  EmitScope inner_scope(const AxisSet& bound);

  ExprBuilder& exprs_;
  ir::Builder& ir_;
  KernelParameters parameters_;
  bool has_exp2_ = false;
  std::function<bool(std::int64_t, std::int64_t)> is_short_ = [](std::int64_t, std::int64_t) { return false; };
  Scopes scopes_;
  TileBuilder build_;
  Folds folds_;
  ExprSet open_;  // values whose parts are being emitted
  AxisMap<InnerTile> inner_tiles_;
};

/// The integer type in which an expression or an access is computed: i32 if every value fits, else 64 bits, signed or unsigned.
ir::Element index_element(Expr);

}  // namespace tilewright::passes::fusion
