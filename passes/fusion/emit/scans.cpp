// Running combinations in a tile, which continue from the results of earlier tiles.
#include <span>

#include "passes/fusion/emit/tile_values.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

using ir::OpKind;

TileValues::Running TileValues::running(const Fold& fold, bool is_reverse, Axis along, Expr body, ir::Element element, const Order& order,
                                        const std::optional<Part>& before) {
  AxisSet axes = body->axes;
  axes.insert(along);
  const Order own = build_.restricted(order, axes);
  Part x{build_.broadcast(value_as(body, own, element), own), own};
  // A reverse scan visits positions outside of the extent first; in a forward scan nothing comes after them.
  if (const auto inside = is_reverse ? mask({along}, own) : std::nullopt)
    x = build_.select(*inside, x, folds_.neutral(fold, element, {}), own);
  Running result{x, x};
  if (scopes_.is_tiled(along)) {
    Order kept = build_.restricted(own, AxisSet(axes).without({along}));
    Order last = kept;
    last.push_back(along);
    result.values = {folds_.scan(fold, x, along, is_reverse), own};
    result.next = folds_.reduce(fold, build_.permuted(x, last), 1);
  }
  if (before) {
    result.values = folds_.combine(fold, *before, result.values, own);
    result.next = folds_.combine(fold, *before, result.next, own);
  }
  return result;
}

}  // namespace tilewright::passes::fusion
