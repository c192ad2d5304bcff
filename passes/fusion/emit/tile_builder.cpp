// Brings tiles to one shape, and makes ops on them.
#include "passes/fusion/emit/tile_builder.h"

#include <algorithm>

#include "passes/fusion/emit/emission_failed.h"

namespace tilewright::passes::fusion {

using ir::Element;
using ir::OpKind;
using ir::ValueId;

// ---- shapes ----

std::vector<std::int64_t> TileBuilder::shape(const Order& order) const {
  std::vector<std::int64_t> extents;
  std::int64_t elements = 1;
  for (Axis a : order) {
    extents.push_back(scopes_.tile(a).size);
    if (extents.back() > (std::int64_t{1} << ir::kMaxLog2Elements)) throw TileTooLarge{};
    elements *= extents.back();
    if (elements > (std::int64_t{1} << ir::kMaxLog2Elements)) throw TileTooLarge{};
  }
  if (order.size() > static_cast<std::size_t>(ir::kMaxRank)) throw TileTooLarge{};
  return extents;
}

std::int64_t TileBuilder::elements(const Order& order) const {
  std::int64_t product = 1;
  for (std::int64_t extent : shape(order)) product *= extent;
  return product;
}

Order TileBuilder::restricted(const Order& order, const AxisSet& axes) const {
  Order kept;
  for (Axis a : order)
    if (axes.contains(a) && scopes_.is_tiled(a)) kept.push_back(a);
  return kept;
}

Part TileBuilder::permuted(const Part& p, const Order& order) {
  // A value that is constant along an axis may lack the axis.
  Order own;
  std::vector<std::int64_t> axes;
  for (Axis a : order)
    if (const auto at = std::find(p.axes.begin(), p.axes.end(), a); at != p.axes.end()) {
      own.push_back(a);
      axes.push_back(at - p.axes.begin());
    }
  return p.axes == own ? p : Part{ir_.permute(p.value, axes), own};
}

std::optional<Part> TileBuilder::find_permuted(const EmittedTiles& tiles, Expr e, const Order& own) {
  for (auto at = tiles.lower_bound({e.operator->(), {}}); at != tiles.end() && at->first.first == e.operator->(); ++at)
    if (std::is_permutation(own.begin(), own.end(), at->first.second.begin(), at->first.second.end())) return permuted(at->second, own);
  return std::nullopt;
}

ValueId TileBuilder::lifted(const Part& p, const Order& order) {
  if (p.axes.empty() || p.axes == order) return p.value;
  if (order.size() > static_cast<std::size_t>(ir::kMaxRank)) throw TileTooLarge{};
  Order own;
  std::vector<std::int64_t> extents;
  for (Axis a : order) {
    const bool has = std::find(p.axes.begin(), p.axes.end(), a) != p.axes.end();
    if (has) own.push_back(a);
    extents.push_back(has ? scopes_.tile(a).size : 1);
  }
  return ir_.reshape(permuted(p, own).value, extents);
}

ValueId TileBuilder::broadcast(const Part& p, const Order& order) {
  return order.empty() || p.axes == order ? p.value : ir_.broadcast(lifted(p, order), shape(order));
}

// ---- ops ----

Part TileBuilder::constant(Element e, double v) { return {ir_.constant_float(ir::Type(e), v), {}}; }
Part TileBuilder::integer(Element e, std::int64_t v) { return {ir_.constant(ir::Type(e), v), {}}; }

Part TileBuilder::binary(OpKind op, Part a, Part b, const Order& order) {
  Order own;
  for (Axis x : order)
    if (std::find(a.axes.begin(), a.axes.end(), x) != a.axes.end() || std::find(b.axes.begin(), b.axes.end(), x) != b.axes.end())
      own.push_back(x);
  return {ir_.binary(op, broadcast(a, own), broadcast(b, own)), own};
}

Order TileBuilder::united(const Part& a, const Part& b, const Part& c, const Order& order) {
  Order own;
  for (Axis x : order)
    for (const Part* p : {&a, &b, &c})
      if (std::find(p->axes.begin(), p->axes.end(), x) != p->axes.end()) {
        own.push_back(x);
        break;
      }
  return own;
}

std::optional<Part> TileBuilder::both(std::optional<Part> a, std::optional<Part> b, const Order& order) {
  if (!a || !b) return a ? a : b;
  return binary(OpKind::bit_and_, *a, *b, order);
}

Part TileBuilder::select(const Part& c, const Part& a, const Part& b, const Order& order) {
  const Order own = united(c, a, b, order);
  return {ir_.select(broadcast(c, own), broadcast(a, own), broadcast(b, own)), own};
}

Part TileBuilder::ternary(OpKind op, const Part& a, const Part& b, const Part& c, const Order& order) {
  const Order own = united(a, b, c, order);
  return {ir_.ternary(op, broadcast(a, own), broadcast(b, own), broadcast(c, own)), own};
}

}  // namespace tilewright::passes::fusion
