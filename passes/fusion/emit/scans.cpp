// Running combinations in a tile, which continue from the results of earlier tiles.
#include <span>

#include "passes/fusion/emit/tile_values.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

using ir::OpKind;

ir::ValueId TileValues::scan_tile(const Fold& fold, const Part& x, Axis along, bool is_reverse) {
  const auto axis = std::find(x.axes.begin(), x.axes.end(), along) - x.axes.begin();
  std::vector<ir::Attr> attributes{ir::Attr{ir::AttrName::axis, static_cast<std::int64_t>(axis), {}}};
  if (is_reverse) attributes.push_back(ir::Attr{ir::AttrName::reverse, 1, {}});
  const ir::OpId op = ir_.create(OpKind::scan_, std::span(&x.value, 1), attributes);
  emit_region(op, fold, ir_.function().type(x.value).scalar());
  return ir_.function().result(op);
}

TileValues::Running TileValues::running(const Fold& fold, bool is_reverse, Axis along, Expr body, ir::Element element, const Order& order,
                                        const std::optional<Part>& before) {
  AxisSet axes = body->axes;
  axes.insert(along);
  const Order own = restricted(order, axes);
  Part x{broadcast(value_as(body, own, element), own), own};
  // A reverse scan visits positions outside of the extent first; in a forward scan nothing comes after them.
  if (const auto inside = is_reverse ? mask({along}, own) : std::nullopt) x = select(*inside, x, neutral(fold, element, {}), own);
  Running result{x, x};
  if (scopes_.is_tiled(along)) {
    Order kept = restricted(own, AxisSet(axes).without({along}));
    Order last = kept;
    last.push_back(along);
    result.values = {scan_tile(fold, x, along, is_reverse), own};
    result.next = reduce_tile(fold, permuted(x, last), 1);
  }
  if (before) {
    result.values = combine_parts(fold, *before, result.values, own);
    result.next = combine_parts(fold, *before, result.next, own);
  }
  return result;
}

}  // namespace tilewright::passes::fusion
