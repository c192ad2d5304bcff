// Replaces values inside of a kernel's output by loads: other kernels compute and store these values.
#pragma once
#include <functional>
#include <vector>

#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/expr/products.h"

namespace tilewright::passes::fusion {

/// Each function returns an output's value with loads instead of stored values, and adds value -> load to `stored`. If there is nothing to
/// store, it returns the value unchanged.
class StoredValues {
 public:
  /// `load_of` allocates memory for a value and returns a load of its element.
  StoredValues(ExprBuilder& b, ContainedReductions& held, std::function<Expr(Expr)> load_of)
      : b_(b), held_(held), load_of_(std::move(load_of)) {}

  /// Which operands that contain products are stored.
  struct OperandChoice {
    bool inside;           // whether operands that the loop can compute stay inside of the kernel
    bool followers;        // whether values that are computed element by element from one product are stored instead of the product
    bool of_data = false;  // whether operands with products of data alone are stored, also if the loop can compute them
  };
  /// See stored_operands.cpp.
  Expr store_operands(Expr root, Axis loop, OperandChoice, ExprMap& stored);

  /// Operands of the outermost reductions that contain reductions themselves, with everything that is computed element by element from
  /// these: outermost: all of them; same_along_loop: only those that do not vary along the loop's axis.
  enum class Combined : std::uint8_t { outermost, same_along_loop };
  Expr store_combined(Expr root, Axis loop, Combined, ExprMap& stored);

  /// Operands of products that are computed element by element: all of them, or those by operations that are costly (exponentials.h).
  enum class Computed : std::uint8_t { all, costly };
  Expr store_computed_operands(Expr root, Computed, ExprMap& stored);

  /// inner: reductions inside of another one; all: also reductions that do not fit besides others; of_other_loops: the outermost ones that
  /// are not over the loop's axis and do not vary along it.
  enum class Reductions : std::uint8_t { inner, all, of_other_loops };
  Expr store_reductions(Expr root, Reductions, ExprMap& stored, Axis loop = nullptr);

  /// Scans inside of scans, and if no loop computes the outermost scans (scan_loop in scans.h), those too; and reductions inside of scans.
  Expr store_scans(Expr root, bool has_loop, ExprMap& stored);

  /// Stores every outermost reduction, so that element-wise work is left. A reduction over more axes than another one of the same elements
  /// combines the stored results of that one.
  Expr store_outermost(Expr root, ExprMap& stored);

 private:
  ExprBuilder& b_;
  ContainedReductions& held_;
  std::function<Expr(Expr)> load_of_;
};

}  // namespace tilewright::passes::fusion
