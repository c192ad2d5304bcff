// Emits expressions over named axes as tiles.
//
// Each axis of a kernel has a tile: some positions at once, from a start that a program id or a loop gives. The value of an expression is a
// tile over those of its axes that have more than one position at once, in the order that its consumer needs.
//
// TileValues emits every value once, in the outermost scope that has its operands (scopes.h), and itself makes those of floating-point
// formulas. Other kinds have emitters of their own: integers and conditions (integer_values.h), loads and stores (memory.h), reductions
// (reductions.h) and the matrix products among them (matrix_products.h). Each asks for operands through ValueSource (emit_context.h).
#pragma once
#include <optional>
#include <vector>

#include "passes/fusion/emit/emit_context.h"
#include "passes/fusion/emit/integer_values.h"
#include "passes/fusion/emit/memory.h"
#include "passes/fusion/emit/reductions.h"
#include "passes/fusion/emit/sum_order.h"
#include "passes/fusion/expr/constant_value.h"
#include "passes/fusion/expr/magnitude.h"
#include "passes/fusion/expr/normal_form.h"
#include "tileir/builder.h"

namespace tilewright::passes::fusion {

class TileValues final : public ValueSource {
 public:
  explicit TileValues(EmitContext& context)
      : context_(context),
        exprs_(context.exprs),
        ir_(context.ir),
        scopes_(context.scopes),
        build_(context.build),
        integers_(context, *this),
        memory_(context, integers_, *this),
        reductions_(context, integers_, memory_, *this),
        sums_(context.exprs) {}
  TileValues(const TileValues&) = delete;
  TileValues& operator=(const TileValues&) = delete;

  MemoryAccesses& memory() { return memory_; }
  Reductions& reductions() { return reductions_; }

  Part value(Expr, const Order&) override;
  Part value_as(Expr, const Order&, ir::Element) override;

  // ---- exponentials of differences from references (changes_of_references.cpp) ----
  /// Whether exp2 is one instruction; then exponentials of differences from references use it.
  void set_exp2(bool has_exp2) { has_exp2_ = has_exp2; }
  /// Whether exponentials of this type refer to rounded multiples of references.
  bool rounds_references(ir::Element e) const { return has_exp2_ && e == ir::Element::f32; }
  /// exp(to - from) for two references.
  Part exp_of_change(const Part& to, const Part& from, const Order&);
  /// exp(to - from) for an exact `to`: the factor of everything that refers to `from`; near 1 if both are equal.
  Part exp_of_rounding(const Part& to, const Part& from, const Order&);

 private:
  Part emit(Expr, const Order& own);
  Part emit_float_sum(Expr, const Order&);
  Part emit_float_product(Expr, const Order&);
  Part emit_partly_hidden(Expr, const Order&);
  Part emit_masked_quotient(Expr, const Order&);
  Part emit_multiple(const Multiple&, const Order&, ir::Element);
  Part emit_differences(const SumOrder&, const Order&, ir::Element);
  Part emit_groups(const SumOrder&, const Order&, ir::Element);
  Part emit_terms(Expr sum, const SumOrder&, const Order&);
  Part emit_written(const WrittenValue&, const Order&, ir::Element);
  std::optional<Part> emit_written_product(Expr, const Order&);
  std::optional<Part> emit_padded_select(Expr, ir::Element, const Order&);
  std::optional<Part> emit_padded_product(Expr, const Order&);
  Part emit_exp(Expr, const Order&);
  Part exp_of_sum(Expr, const Order&);
  Part rounded_multiple(const Multiple&, const Order&, ir::Element);
  Part rounded(const Part&);
  Part is_moderate(const Part&);
  Part is_below(const Part&, double limit);
  static bool is_far_from_one(Wide, ir::Element);
  Wide distribute_factor(Wide number, std::vector<Part>& numerator, std::vector<Part>& denominator, ir::Element);
  Part power(Expr base, const Rational& exponent, const Order&, ir::Element);
  Part power_of(const Part& base, const Rational& exponent, const Order&, ir::Element, bool is_nonnegative);
  Part emit_function(Expr, const Order&);
  Part emit_random(Expr, const Order&);

  EmitContext& context_;
  ExprBuilder& exprs_;
  ir::Builder& ir_;
  Scopes& scopes_;
  TileBuilder& build_;
  IntegerValues integers_;
  MemoryAccesses memory_;
  Reductions reductions_;
  bool has_exp2_ = false;
  SumOrders sums_;
  ExprSet open_;  // values whose parts are being emitted
};

}  // namespace tilewright::passes::fusion
