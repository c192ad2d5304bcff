// Traces reduce and scan: ops with a combine region, whose function comes from the front end or from the user.
#pragma once
#include <span>
#include <vector>

#include "frontend/trace/emit.h"

namespace tilewright::detail {

/// An op whose region is empty; the builder inserts into it. The region has an argument for the earlier and for the later element of each
/// tile.
struct OpenCombine {
  ir::OpId op;
  ir::BlockId outer;  // the block around the op, where the builder continues afterwards
  std::vector<ir::ValueId> arguments;
};
OpenCombine open_combine(Emit&, ir::OpKind, std::span<const ir::ValueId> tiles, std::vector<ir::Attr>);
void close_combine(Emit&, const OpenCombine&, std::span<const ir::ValueId> yields);
/// A reduce or scan whose region is one op of `kind`.
ir::ValueId combine_by(Emit&, ir::OpKind kind, ir::OpKind combiner, ir::ValueId x, std::vector<ir::Attr>);

}  // namespace tilewright::detail
