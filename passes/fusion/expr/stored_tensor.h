// Tensors in memory for values that are passed between kernels.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// Adds a tensor that holds a value at every point of its axes, and returns a load of the value from it. Its last axis is the one along
/// which most of the memory that the value reads is contiguous. Requires: no tensor of the pool has this name.
Expr add_stored_tensor(ExprBuilder&, Expr value, ir::Element, std::string name);

/// The axes of an index along which neighbouring positions are neighbours in the tensor's memory, in the order of the index.
std::vector<Axis> contiguous_axes(const ExprBuilder&, Tensor, const std::vector<Expr>& index);

/// The strides of a tensor whose last axis is contiguous.
std::vector<Dim> row_major(const graph::TensorShape&);

/// Bytes of a value in memory, for typical values of symbols.
double stored_bytes(const AxisSet&, ir::Element);

}  // namespace tilewright::passes::fusion
