// Replaces values inside of a kernel's output by loads: other kernels compute and store these values.
#pragma once
#include <functional>
#include <vector>

#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/expr/products.h"

namespace tilewright::passes::fusion {

/// Each function returns an output's value with loads in place of what is stored, and adds value -> load to `stored`. An output that has
/// nothing to store comes back as it is.
class StoredValues {
 public:
  /// `load_of` gives a value memory, and returns the element of it.
  StoredValues(ExprBuilder& b, HeldReductions& held, std::function<Expr(Expr)> load_of)
      : b_(b), held_(held), load_of_(std::move(load_of)) {}

  /// Which operands of products are stored, of those that hold products themselves.
  struct Operands {
    bool inside;     // those that the loop can compute are not
    bool followers;  // what is computed element by element from one product is stored, and not the product alone
  };
  Expr store_operands(Expr root, Axis loop, Operands, ExprMap& stored);

  /// Operands of the outermost reductions that hold reductions themselves, with all that is computed element by element from these:
  /// outermost: all of them; same_along_loop: those that do not vary along the loop's axis.
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
