// Emits integer sums and products in the width of their result, and comparisons with negative terms on the other side.
#include "passes/fusion/emit/integer_values.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "passes/fusion/expr/integer_range.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

using ir::Element;
using ir::OpKind;

Element index_element(Expr e) {
  return fits(integer_range(e), Element::i32) ? Element::i32 : e->element == Element::u64 ? Element::u64 : Element::i64;
}

// ---- integers ----

Part IntegerValues::index(Axis a, const Order& order, Element element) {
  const AxisTile& t = context_.scopes.tile(a);
  const bool has = std::find(order.begin(), order.end(), a) != order.end() && t.size > 1;
  TW_CHECK(has || t.size == 1, "fusion: the order of a tile lacks an axis");
  Part position = has ? Part{ir_.cast(ir_.arange(0, t.size), element), {a}} : build_.integer(element, 0);
  if (!t.start) return position;
  const Part start{ir_.cast(t.start, element), {}};
  return has ? build_.binary(OpKind::add_, start, position, order) : start;
}

// Sums and products wrap in the same way in every width, so operands are computed in the width of the result.
Part IntegerValues::value(Expr e, const Order& order, Element element) {
  switch (e->kind) {
    case ExprKind::number: return build_.integer(element, whole(e->number));
    case ExprKind::extent: return context_.extent(e->extent, element);
    case ExprKind::index: return index(e->axis, order, element);
    case ExprKind::add: {
      std::vector<std::pair<Part, Rational>> all;
      for (const Term& t : e->terms) all.emplace_back(value(t.value, order, element), t.coefficient);
      std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return std::pair(a.first.axes.size(), a.second.is_negative()) < std::pair(b.first.axes.size(), b.second.is_negative());
      });
      std::optional<Part> sum;
      for (const auto& [part, c] : all) {
        const bool subtracts = sum && c == Rational(-1);
        const Part x = c.is_one() || subtracts ? part : build_.binary(OpKind::mul_, part, build_.integer(element, whole(c)), order);
        sum = sum ? build_.binary(subtracts ? OpKind::sub_ : OpKind::add_, *sum, x, order) : x;
      }
      return *sum;
    }
    case ExprKind::mul: {
      Part product = build_.integer(element, whole(e->number));
      bool is_one = e->number.is_one();
      for (const Factor& f : e->factors)
        for (std::int64_t i = whole_power(f); i > 0; --i) {
          const Part x = value(f.base, order, element);
          product = is_one ? x : build_.binary(OpKind::mul_, product, x, order);
          is_one = false;
        }
      return product;
    }
    default: return build_.cast(values_.value(e, order), element);
  }
}

// ---- conditions ----

Part IntegerValues::condition(Expr e, const Order& own) {
  switch (e->kind) {
    case ExprKind::at_least_zero: {
      const Expr difference = e->operands[0];
      if (difference->is(ExprKind::number)) return {ir_.constant(ir::Type(Element::boolean), difference->number.is_negative() ? 0 : 1), {}};
      // a - b >= 0 is emitted as a >= b: negative terms move to the right.
      std::vector<Term> left, right;
      for (const Term& t : exprs_.terms(difference)) {
        if (t.coefficient.is_negative())
          right.push_back({-t.coefficient, t.value});
        else
          left.push_back(t);
      }
      const Expr a = exprs_.add_terms(left), b = exprs_.add_terms(right);
      const Element element = index_element(a) == Element::i32 && index_element(b) == Element::i32 ? Element::i32 : Element::i64;
      return build_.binary(OpKind::ge_, value(a, own, element), value(b, own, element), own);
    }
    case ExprKind::equal: {
      const Expr a = e->operands[0], b = e->operands[1];
      const Element element = index_element(a) == Element::i32 && index_element(b) == Element::i32 ? Element::i32 : Element::i64;
      return build_.binary(OpKind::eq_, value(a, own, element), value(b, own, element), own);
    }
    case ExprKind::conjunction: {
      std::vector<Part> all;
      for (Expr c : e->operands) all.push_back(values_.value(c, own));
      std::stable_sort(all.begin(), all.end(), [](const Part& a, const Part& b) { return a.axes.size() < b.axes.size(); });
      Part result = all[0];
      for (std::size_t i = 1; i < all.size(); ++i) result = build_.binary(OpKind::bit_and_, result, all[i], own);
      return result;
    }
    default: return build_.unary(OpKind::bit_not_, values_.value(e->operands[0], own));
  }
}

std::optional<Part> IntegerValues::mask(const AxisSet& axes, const Order& order) {
  std::optional<Part> all;
  for (Axis a : axes) {
    const AxisTile& t = context_.scopes.tile(a);
    if (t.is_whole || (t.size == 1 && a->extent.least() >= 1)) continue;
    const Expr inside = exprs_.at_least_zero(exprs_.subtract(exprs_.extent(a->extent - Dim(1)), exprs_.index(a)));
    all = build_.both(all, values_.value(inside, order), order);
  }
  return all;
}

}  // namespace tilewright::passes::fusion
