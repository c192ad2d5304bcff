// Computes where loops begin and end, from masks that compare positions and from the number of a part.
#include "passes/fusion/emit/loop_range.h"

#include "passes/fusion/emit/integer_values.h"
#include "passes/fusion/tiles/loop_bounds.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

using ir::Element;
using ir::OpKind;

// The greatest value that an integer expression has in this program, as a scalar; none if it is unknown before the loop.
std::optional<Part> LoopRanges::greatest_in_program(std::span<const Term> terms, Element e) {
  Part sum = build_.integer(e, 0);
  for (const Term& t : terms) {
    if (!t.coefficient.is_integer()) return std::nullopt;
    const auto c = static_cast<std::int64_t>(t.coefficient.numerator());
    Part x;
    if (t.value->is_number(1)) {
      x = build_.integer(e, 1);
    } else if (t.value->is(ExprKind::extent)) {
      x = context_.extent(t.value->extent, e);
    } else if (t.value->is(ExprKind::index)) {
      const AxisTile& tile = scopes_.tile(t.value->axis);
      x = build_.integer(e, c > 0 ? tile.size - 1 : 0);
      if (tile.start) x = build_.binary(OpKind::add_, build_.cast({tile.start, {}}, e), x, {});
    } else {
      return std::nullopt;
    }
    sum = build_.binary(OpKind::add_, sum, build_.binary(OpKind::mul_, x, build_.integer(e, c), {}), {});
  }
  return sum;
}

// The loop's whole axis, without positions at which every accumulator is masked for all rows of the program.
LoopRange LoopRanges::whole(const PassState& pass, bool has_outputs) {
  const Element e = index_element(exprs_.extent(plan_.loop->extent));
  LoopRange range{plan_.loop, sizes_.loop, build_.integer(e, 0), context_.extent(plan_.loop->extent, e),
                  ends_with_tile(plan_.loop->extent, sizes_.loop)};
  if (!has_outputs) apply_masks(pass, e, range);
  return range;
}

void LoopRanges::apply_masks(const PassState& pass, Element e, LoopRange& range) {
  for (const LoopBound& bound : loop_bounds(exprs_, plan_, pass)) {
    const std::optional<Part> greatest = greatest_in_program(bound.rest, e);
    if (!greatest) continue;
    if (bound.is_upper) {
      const Part end = build_.binary(OpKind::add_, *greatest, build_.integer(e, 1), {});
      range.end = build_.binary(OpKind::minimum_, range.end, end, {});
    } else {  // tiles stay aligned
      const Part least = build_.binary(OpKind::maximum_, build_.unary(OpKind::neg_, *greatest), range.begin, {});
      const Part size = build_.integer(e, sizes_.loop);
      range.begin = build_.binary(OpKind::mul_, build_.binary(OpKind::div_, least, size, {}), size, {});
    }
  }
}

// The tiles of one part: all parts have the same number of tiles, and the last ones may be empty. The division depends only on the loop's
// extent, so that the order of a row's sums does not depend on other rows.
LoopRange LoopRanges::part(const PassState& pass, const SplitLoop& split) {
  const Dim& extent = plan_.loop->extent;
  const std::int64_t round = sizes_.loop * split.parts();
  const bool is_narrow = extent.greatest() < INT32_MAX - round;
  const Element e = is_narrow ? Element::i32 : Element::i64;
  Part length;
  if (extent.is_constant()) {
    length = build_.integer(e, (extent.value() + round - 1) / round * sizes_.loop);
  } else {
    const Part rounded = build_.binary(OpKind::add_, context_.extent(extent, e), build_.integer(e, round - 1), {});
    length =
        build_.binary(OpKind::mul_, build_.binary(OpKind::div_, rounded, build_.integer(e, round), {}), build_.integer(e, sizes_.loop), {});
  }
  const Part part = build_.cast({scopes_.tile(split.part).start, {}}, e);
  LoopRange range{
      plan_.loop, sizes_.loop, build_.binary(OpKind::mul_, part, length, {}), {}, ends_with_tile(plan_.loop->extent, sizes_.loop)};
  range.end = build_.binary(OpKind::minimum_, build_.binary(OpKind::add_, range.begin, length, {}), context_.extent(extent, e), {});
  range.is_part = true;
  apply_masks(pass, e, range);
  return range;
}

}  // namespace tilewright::passes::fusion
