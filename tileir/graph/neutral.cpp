// Computes neutral elements, and finds operands that have no elements.
#include "tileir/graph/neutral.h"

#include <algorithm>
#include <cmath>

#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/rational.h"

namespace tilewright::graph {

std::uint64_t neutral_bits(Combine kind, ir::Element e) {
  const int width = ir::bits(e);
  const auto bits_of = [&](double real, std::int64_t integer) {
    return ir::is_float(e) ? ir::element_bits(e, real) : ir::element_bits(e, integer);
  };
  switch (kind) {
    case Combine::sum:
    case Combine::any:
    case Combine::argmax:
    case Combine::argmin: return bits_of(0, 0);
    case Combine::prod:
    case Combine::all: return bits_of(1, 1);
    case Combine::max: return bits_of(-HUGE_VAL, ir::is_signed(e) ? static_cast<std::int64_t>(-(ir::Int128{1} << (width - 1))) : 0);
    case Combine::min:
      return bits_of(HUGE_VAL, ir::is_signed(e) ? static_cast<std::int64_t>((ir::Int128{1} << (width - 1)) - 1)
                                                : static_cast<std::int64_t>((ir::Int128{1} << width) - 1));
    case Combine::combine: break;
  }
  TW_UNREACHABLE("a function has an identity");
}

std::uint64_t bits_of_nothing(const Node& n) { return n.op != Op::reduce ? 0 : n.identity ? *n.identity : neutral_bits(n.kind, n.element); }

bool is_empty(const TensorShape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Dim& d) { return d == Dim(0); });
}

bool has_empty_operand(const Graph& g, const Node& n) {
  return !is_empty(n.shape) && std::any_of(n.operands.begin(), n.operands.end(), [&](NodeId x) { return is_empty(g.node(x).shape); });
}

}  // namespace tilewright::graph
