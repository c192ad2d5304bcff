// Instances of formulas: what an equation without labels says once it is known which variables have an axis and what becomes of it.
//
// An axis is kept, or summed by products, or summed by `sum`. A product sums an axis if all that has the axis is in its operands, as early as
// possible: below an addition in each addend by itself, but above an addition of which an addend lacks the axis. `sum` sums the axes that
// products leave to it. A side without `sum` leaves nothing to it.
//
//   a * (b + c)   a[i, k], b[k], c[k], i kept, k summed by products     product(a[i, k], add(b[k], c[k]) -> i)
//   sum(a * b)    a[i, k], b[k], i kept, k summed by sum                sum(product(a[i, k], b[k] -> i, k) -> i)
//   sum(sum(a))   a[i, k, l], k and l summed by sum, k inside           sum(sum(a[i, k, l] -> i, l) -> i)
#pragma once
#include "passes/search/rules/equation.h"

namespace tilewright::passes::search {

/// The fate of an axis: whether it is kept or summed, and by which op.
enum class Fate : std::uint8_t { kept, summed_by_product, summed_by_sum };
/// The role of an axis: a view moves elements along it, a cat and parts cut it, or the formula does neither.
enum class Role : std::uint8_t { plain, moved, cut };
inline constexpr int kFates = 3, kRoles = 3;

struct Binding {
  std::array<Ref, kMaxVariables> variables;
  LabelSet kept = 0, left_to_sum = 0;
  LabelSet summed_inside = 0;  // of two nested sums the inner one sums these, and the outer one the others; none: the inner one sums all
  Label moved = kNoLabel, cut = kNoLabel;
  // The attributes of all nodes of these ops, and the element type that the function gives. Rules have one of each.
  std::int32_t product = 0, function = 0, move = 0, cut_number = 0;
  ir::Element function_element{};
};

/// The term of a formula, or none if it makes no sense for these axes: a piece is added to a whole, an axis is summed that a factor keeps, the
/// result has other axes than those kept.
Ref instantiate(TermTable&, const Pattern&, const Binding&);

}  // namespace tilewright::passes::search
