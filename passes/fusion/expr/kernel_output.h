// Describes the outputs of a kernel: values, and the positions to which it writes them.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

struct KernelOutput {
  std::string name;
  Expr value;
  /// The result is written to this tensor, with this index along each of its axes.
  Tensor tensor = nullptr;
  std::vector<Expr> index;
  /// A piece of a concatenation: other outputs write the other elements of the tensor.
  bool is_piece = false;

  /// Whether the output has an element for each position along the axis, even if all of these are equal.
  bool has(Axis) const;
};

/// How many elements of its tensor an output writes.
Dim elements_written(const KernelOutput&);

/// The reductions over an axis inside of an expression; each comes after those that it needs.
std::vector<Expr> reductions_over(Axis, const std::vector<KernelOutput>&);
/// The axes that a reduction of the outputs binds.
std::vector<Axis> bound_axes(const std::vector<KernelOutput>&);

}  // namespace tilewright::passes::fusion
