// Expresses argmax and argmin as one maximum: of keys with the element's order in the upper bits and its position in the lower bits.
//
//   argmax of x = low(max over i of (order(x[i]), last - i))     the greatest element; of equal elements the first one
//
// Loops, merges of programs and other reductions treat it like any other maximum. Elements of 64 bits leave no room for the position: then
// the result is the least position at which the element equals the extreme, which is a second reduction.
#include "passes/fusion/translate/graph_to_exprs.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::Element;
using ir::OpKind;

constexpr std::int64_t kPositions = std::int64_t{1} << 31;
constexpr std::int64_t kNaN = kPositions - 1;  // above infinity

// An integer with the same order as the float; NaN is the greatest.
Expr float_order(ExprBuilder& b, Expr x, bool is_least) {
  const Expr bits = b.bitcast(x, Element::f32, Element::i32);
  // -2^31 - bits: descending from -0, which equals +0.
  const Expr order = b.select(b.at_least_zero(bits), bits, b.subtract(b.number(-kPositions), bits));
  return b.select(b.function(OpKind::isnan_, {x}, Element::boolean), b.number(kNaN), is_least ? b.scale(-1, order) : order);
}

}  // namespace

Expr GraphToExprs::position_of_extreme(const graph::Node& node, const std::vector<ReducedPiece>& pieces) {
  const bool is_least = node.kind == Combine::argmin;
  const Element element = g_.node(node.operands[0]).element;
  const auto reduced = [&](Combine combine, Element of, auto&& body) {
    Expr result;
    for (const ReducedPiece& p : pieces) {
      const Expr one = b_.reduce(combine, p.bound, body(p), {}, of);  // a number has no type of its own
      result = result ? combined(combine, result, one, of) : one;
    }
    return result;
  };
  if (ir::bits(element) <= 32) {
    const Expr key = reduced(Combine::max, Element::i64, [&](const ReducedPiece& p) {
      const Expr order = ir::is_float(element) ? float_order(b_, p.body, is_least) : b_.scale(is_least ? -1 : 1, p.body);
      return b_.add({b_.scale(kPositions, order), b_.number(kPositions - 1), b_.scale(-1, p.position)});
    });
    const Expr low = b_.function(OpKind::bit_and_, {key, b_.number(kPositions - 1)}, Element::i64);
    return b_.subtract(b_.number(kPositions - 1), low);
  }
  const Expr extreme = reduced(is_least ? Combine::min : Combine::max, element, [](const ReducedPiece& p) { return p.body; });
  return reduced(Combine::min, Element::i32, [&](const ReducedPiece& p) {
    Expr is_other = b_.negation(compare(OpKind::eq_, p.body, extreme, element));
    if (ir::is_float(element)) is_other = b_.conjunction({is_other, b_.negation(b_.function(OpKind::isnan_, {p.body}, Element::boolean))});
    return b_.select(is_other, b_.number(INT32_MAX), p.position, Element::i32);
  });
}

}  // namespace tilewright::passes::fusion
