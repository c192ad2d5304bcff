// Makes the position at which a part begins an argument of its kernels.
#include "passes/fusion/sequence/joined_part.h"

#include <algorithm>

namespace tilewright::passes::fusion {

KernelOutput joined_output(const graph::Graph& g, const JoinedPart& part, std::string name, Tensor whole, BoundValue v, ExprBuilder& b) {
  TensorInfo begin;
  begin.name = "begin";
  // A tensor of the user may already have that name.
  for (Tensor known = b.pool().find_tensor(begin.name); known && !known->is_begin; known = b.pool().find_tensor(begin.name))
    begin.name += '_';
  begin.element = ir::Element::i64;
  begin.is_scalar = begin.is_begin = true;
  Expr& along = v.index[static_cast<std::size_t>(g.node(part.whole).axes[0])];
  along = b.add({along, b.load(b.pool().add_tensor(std::move(begin)), {})});
  return {std::move(name), v.value, whole, std::move(v.index), true};
}

void set_begin(const JoinedPart& part, int buffer_of_whole, std::span<SequenceKernel> kernels) {
  for (SequenceKernel& k : kernels) {
    for (KernelArgument& a : k.arguments)
      if (a.is_begin) a.extent = part.begin;
    const auto at = std::lower_bound(k.covers.begin(), k.covers.end(), part.whole);
    const bool is_writer = std::find(k.writes.begin(), k.writes.end(), buffer_of_whole) != k.writes.end();
    if (is_writer && (at == k.covers.end() || *at != part.whole)) k.covers.insert(at, part.whole);
  }
}

}  // namespace tilewright::passes::fusion
