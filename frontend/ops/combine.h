// Traces reduce and scan: ops with a combine region whose function comes from the front end or from the user.
#pragma once
#include <span>
#include <vector>

#include "frontend/trace/emit.h"

namespace tilewright::detail {

/// An op whose region is still empty; the builder inserts into it. For each tile, the region has an argument for the earlier and one for
/// the later element.
struct OpenCombine {
  ir::OpId op;
  ir::BlockId outer;  // the block that contains the op, where the builder continues afterwards
  std::vector<ir::ValueId> arguments;
};
OpenCombine open_combine(Emit&, ir::OpKind, std::span<const ir::ValueId> tiles, std::vector<ir::Attr>);
void close_combine(Emit&, const OpenCombine&, std::span<const ir::ValueId> yields);
/// A reduce or scan whose region consists of one op of kind `combiner`.
ir::ValueId combine_by(Emit&, ir::OpKind kind, ir::OpKind combiner, ir::ValueId x, std::vector<ir::Attr>);

}  // namespace tilewright::detail
