// The tensor op by which a chosen node of a class is written, and the references that are its operands.
//
//   product(a[i, k], b[k, j] -> i, j)     einsum
//   product(a[i], b[i, j] -> i, j)        mul; with -1 neg, with a reciprocal div, with ones broadcast
//   add(a, product(-1, b))                sub
//   sum(a[i, k] -> i)                     reduce; nothing but another shape if the summed extents are 1
//   [[a | b] | c]                         one concat; pad, if a and c are a scalar
//   part1(part0(a))                       one slice
//
// Operands that are read through such a node are classes of their own, which are written only if another node needs them, too.
#pragma once
#include "passes/search/graph/choice.h"
#include "passes/search/graph/graph_terms.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::search {

struct WrittenOp {
  enum class Kind : std::uint8_t {
    leaf,        // a variable
    number,      // the extent of `length`
    map,         // `function` of the operands
    reciprocal,  // the reciprocal of the operand
    einsum,
    broadcast,  // the operand, which may lack labels
    reduce,     // by `combine` over the labels that the result lacks
    reshape,    // the operand without axes of extent 1
    concat,     // along the label `axis`
    pad,        // by `begin` and `end` elements along the label `axis`, which are the second operand
    slice,      // from `begin` to `end` of the label `axis`
    view,       // of the label `axis`
  };
  Kind kind{};
  ir::OpKind function{};
  graph::Combine combine{};
  Label axis = kNoLabel;
  Dim length = 0, begin = 0, end = 0;
  std::vector<Ref> operands = {};  // classes, in the labels of the node
};

/// Labels are those of the chosen member's node.
WrittenOp written_op(const GraphTerms&, const Choice&, int root);

}  // namespace tilewright::passes::search
