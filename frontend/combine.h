// Ops with a combine region: reduce and scan, by a function that the front end or the user gives.
#pragma once
#include <span>
#include <vector>

#include "frontend/emit.h"

namespace tilewright::detail {

/// An op with an empty region, which the builder then stands in; one argument for the earlier and the later element of each tile.
struct OpenCombine {
  ir::OpId op;
  ir::BlockId outer;  // the block to go on in
  std::vector<ir::ValueId> arguments;
};
OpenCombine open_combine(Emit&, ir::OpKind, std::span<const ir::ValueId> tiles, std::vector<ir::Attr>);
void close_combine(Emit&, const OpenCombine&, std::span<const ir::ValueId> yields);
/// The same with one op as the region: the result of `kind` along an axis.
ir::ValueId combine_by(Emit&, ir::OpKind kind, ir::OpKind combiner, ir::ValueId x, std::vector<ir::Attr>);

}  // namespace tilewright::detail
