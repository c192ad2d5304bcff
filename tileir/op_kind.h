// The kinds of ops by name. Include it only where a kind is named, since a new row of ops.def changes it.
#pragma once
#include "tileir/op_info.h"

namespace tilewright::ir {

enum class OpKind : std::uint8_t {
#define TW_OP(name, family) name##_,
#include "tileir/op_names.def"
#undef TW_OP
};

}  // namespace tilewright::ir
