// Recognises reductions that are matrix products.
#pragma once
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// Whether factors that lack different axes of the result are multiplied along common axes, so that no factor that varies along these has
/// all axes of the result.
bool is_product(const std::vector<Factor>& factors, const AxisSet& along);
/// Whether a product ignores a factor where one of its masks is 0. This holds if the factor counts as finite and the mask was written over
/// a value that reads the same data. Any other factor multiplies the 0, which may give NaN.
bool hides(const Factor& mask, const Factor&);
/// Whether a product has a mask that multiplies some of its factors, and does not hide them.
bool has_exposed_factors(Expr product);
/// Whether a mask tests data of a factor that it hides: where(isnan(x / l), 0, x / l). Then the factor may be infinite or NaN wherever the
/// mask is 0, so that it must not leave a sum, where it would multiply the 0. The masks of a softmax are a part of its sum, and test nothing.
bool tests(const Factor& mask, const Factor&);
/// Whether an expression is a sum of such products.
bool is_product(Expr, const ExprBuilder&);

/// Factors of a product that are multiplied before it contracts them.
struct Operand {
  AxisSet axes;  // the counted axes of the result that the factors have
  std::vector<Factor> factors;
};
struct Operands {
  std::vector<Operand> operands;
  std::vector<Factor> common;  // factors without counted axes: they may belong to any operand
};

/// Divides the factors of a product into its operands: factors that have an axis of the result in common belong to one operand.
///
/// counts: the axes of the result that count, such as those with tiles; null: all. batch: axes that do not connect the factors that have
/// them.
///
/// Example: the factors x[m, k], g[k], w[k, n] and s[n], along k -> operands {m: x} and {n: s, w}; common: g.
Operands operands_of(const std::vector<Factor>&, const AxisSet& along, const std::function<bool(Axis)>& counts = nullptr,
                     const AxisSet& batch = {});
/// The factors of two operands. Each mask is a factor of the operand whose elements it was written to hide.
struct PlacedFactors {
  std::vector<Factor> factors[2];
  std::vector<Factor> guards[2];  // masks of an operand that also hide elements of the other one, which lacks an axis of theirs
};
/// Assigns the common factors to the two operands. A value joins the operand that has a mask which hides it, or else the first operand. A
/// mask joins each operand of which it hides something.
PlacedFactors placed_factors(const Operands&, ExprBuilder&);
/// An element of a tensor that counts where all conditions hold, and is 0 elsewhere.
struct MaskedLoad {
  Expr load;
  std::vector<Expr> conditions;
};
/// The factors as a load under masks; none if they are not a load times masks. The masks must compare positions along the load's axes, and
/// must not vary along the axis along which its memory is contiguous, so that a mask keeps or hides whole rows.
std::optional<MaskedLoad> masked_load(const ExprBuilder&, const std::vector<Factor>&);
/// Whether a sum of this value may be or become a sum of products, however the value is multiplied out. It returns true for long values.
bool may_become_product(Expr, const AxisSet& along);
/// Whether the product of these factors is exact in tf32, which has 11 significant bits: masks and at most one element of a narrow tensor.
bool is_exact_in_tf32(const std::vector<Factor>&);
/// The axes that all factors have which vary along the contracted axes.
AxisSet batch_axes(const std::vector<Factor>&, const AxisSet& along);

/// Whether expressions are reductions or contain some; each is visited once.
class ContainedReductions {
 public:
  explicit ContainedReductions(const ExprBuilder& b) : b_(b) {}
  bool holds_product(Expr e) { return facts(e).holds_product; }
  bool holds_reduction(Expr e) { return facts(e).holds_reduction; }

 private:
  struct Facts {
    bool holds_product = false, holds_reduction = false;
  };
  Facts facts(Expr);

  const ExprBuilder& b_;
  std::unordered_map<Expr, Facts, ExprHash> known_;
};

}  // namespace tilewright::passes::fusion
