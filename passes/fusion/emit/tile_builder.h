// Makes ops on tiles whose dimensions are named axes: operands get the axes of each other before they are combined.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "passes/fusion/emit/scopes.h"
#include "tileir/builder.h"

namespace tilewright::passes::fusion {

class TileBuilder {
 public:
  /// scopes: they say how many positions of an axis a tile has.
  TileBuilder(ir::Builder& ir, const Scopes& scopes) : ir_(ir), scopes_(scopes) {}
  ir::Builder& ir() { return ir_; }

  // ---- shapes ----
  /// The extents of a tile with these axes, and their product. Throws TileTooLarge.
  std::vector<std::int64_t> shape(const Order&) const;
  std::int64_t elements(const Order&) const;
  /// The axes that are in the set and have tiles.
  Order restricted(const Order&, const AxisSet&) const;
  ir::Element element(const Part& p) const { return ir_.function().type(p.value).element(); }
  /// The tile with its axes in this order.
  Part permuted(const Part&, const Order&);
  /// The tile of an expression among these, with its axes in this order. One with another order is transposed, not computed again.
  std::optional<Part> find_permuted(const EmittedTiles&, Expr, const Order&);
  /// The tile with dimensions of extent 1 for axes that it lacks, or broadcast to all of them.
  ir::ValueId lifted(const Part&, const Order&);
  ir::ValueId broadcast(const Part&, const Order&);
  /// The axes that any of three tiles has, in this order.
  static Order united(const Part&, const Part&, const Part&, const Order&);

  // ---- ops: the result has the axes of its operands, in this order ----
  Part constant(ir::Element, double);
  Part integer(ir::Element, std::int64_t);
  Part cast(const Part& p, ir::Element e) { return {ir_.cast(p.value, e), p.axes}; }
  Part unary(ir::OpKind op, const Part& x) { return {ir_.unary(op, x.value), x.axes}; }
  Part binary(ir::OpKind, Part, Part, const Order&);
  Part ternary(ir::OpKind, const Part&, const Part&, const Part&, const Order&);
  Part select(const Part& condition, const Part& a, const Part& b, const Order&);
  /// Whether both of two conditions hold; one that is missing always holds.
  std::optional<Part> both(std::optional<Part>, std::optional<Part>, const Order&);

 private:
  ir::Builder& ir_;
  const Scopes& scopes_;
};

}  // namespace tilewright::passes::fusion
