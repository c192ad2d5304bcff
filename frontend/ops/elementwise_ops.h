// The tile IR op of each element-wise operator or function, for tiles and for tensors.
#pragma once
#include <string_view>

#include "tileir/op_info.h"
#include "tilewright/detail/handle.h"

namespace tilewright::detail {

struct ElementwiseOp {
  ir::OpKind kind;
  std::string_view name;  // its name in messages: "operator+"
};
ElementwiseOp op_of(Unary);
ElementwiseOp op_of(Binary);

}  // namespace tilewright::detail
