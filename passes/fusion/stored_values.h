// Replaces values inside of a kernel's output by loads, where other kernels had better compute them.
#pragma once
#include <functional>
#include <vector>

#include "passes/fusion/normal_form.h"
#include "passes/fusion/products.h"

namespace tilewright::passes::fusion {

/// Each function returns an output's value with loads in place of what is stored, and adds value -> load to `stored`. An output that has
/// nothing to store comes back as it is.
class StoredValues {
 public:
  /// `load_of` gives a value memory, and returns the element of it.
  StoredValues(ExprBuilder& b, HeldReductions& held, std::function<Expr(Expr)> load_of)
      : b_(b), held_(held), load_of_(std::move(load_of)) {}

  /// Operands of products that hold products: those that the loop cannot compute (inside) or all of them, and whether with what is computed
  /// element by element from one product (followers).
  struct Operands {
    bool inside, followers;
  };
  Expr store_operands(Expr root, Axis loop, Operands, ExprMap& stored);

  /// What reductions combine and what holds reductions itself, each operand with all that is computed element by element from them: of the
  /// outermost reductions, or only what is the same for all of the loop.
  enum class Combined : std::uint8_t { outermost, same_along_loop };
  Expr store_combined(Expr root, Axis loop, Combined, ExprMap& stored);

  /// inner: reductions inside of another one; all: also those that do not fit beside others; of_other_loops: the outermost ones that
  /// neither are over the loop's axis nor vary along it.
  enum class Reductions : std::uint8_t { inner, all, of_other_loops };
  Expr store_reductions(Expr root, Reductions, ExprMap& stored, Axis loop = nullptr);

 private:
  // Factors that stand before a product in normal form, and go with an operand of it into memory.
  struct MovedFactors {
    Expr scaled, product;
    std::vector<Factor> factors;
  };

  std::vector<Factor> factors_of_operand(Expr scaled, Expr product, Expr operand);
  void collect_computed(Expr, ExprSet& seen, std::vector<Expr>& found);
  bool must_store(Expr, Expr root, Axis loop, bool inside);
  bool stays_inside(Expr value, Expr root, Axis loop);
  bool has_cascade(Expr, Axis loop, ExprSet& seen);
  bool binds(Expr, Axis loop, ExprSet& seen);
  void replace_group(Expr product, const std::vector<Factor>& group, Expr load, ExprMap& replaced);

  ExprBuilder& b_;
  HeldReductions& held_;
  std::function<Expr(Expr)> load_of_;
};

}  // namespace tilewright::passes::fusion
