// The kinds of ops by name. Only what names a kind includes this: it changes when ops.def gets a row, and with it whatever includes it.
#pragma once
#include "tileir/op_info.h"

namespace tilewright::ir {

enum class OpKind : std::uint8_t {
#define TW_OP(name, family) name##_,
#include "tileir/op_names.def"
#undef TW_OP
};

}  // namespace tilewright::ir
