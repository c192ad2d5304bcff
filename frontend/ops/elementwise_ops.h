// Which op of tile IR an element-wise operator or function is, for tiles and for tensors.
#pragma once
#include <string_view>

#include "tileir/op_info.h"
#include "tilewright/detail/handle.h"

namespace tilewright::detail {

struct ElementwiseOp {
  ir::OpKind kind;
  std::string_view name;  // as messages say it: "operator+"
};
ElementwiseOp op_of(Unary);
ElementwiseOp op_of(Binary);

}  // namespace tilewright::detail
