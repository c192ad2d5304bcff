// Reads a stored value at a position that a mask picks.
//
// A gather of a value that contains a reduction is a sum with one term, so that it can be part of a loop:
//
//   y[m, j] = sum over n of ([n = i[m]] sum over k of x[n, k] w[k, j])
//
// If another kernel stores the inner sum as t, the outer one need not walk all n: y[m, j] is t[i[m], j].
#pragma once
#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/expr/products.h"

namespace tilewright::passes::fusion {

/// A kernel's output in which reads replace sums that pick one element of a value, if the value is computed element by element from memory.
/// At a position outside of the axis the sum is 0, and so is the read.
Expr read_picked(ExprBuilder&, ContainedReductions&, Expr output);

}  // namespace tilewright::passes::fusion
