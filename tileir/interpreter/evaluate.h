// Evaluates element-wise ops over any number of lanes, for evaluate_scalar and the interpreter.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "tileir/op_info.h"
#include "tileir/type.h"

namespace tilewright::ir {

/// One execution of an element-wise op. Every word holds its element's bits in the low end, zeros above.
struct Lanes {
  std::span<const Type> types;                     // types of the operands
  std::span<const std::uint64_t* const> operands;  // `count` words for each
  Type result;
  std::uint64_t* out;  // `count` words; may be an operand
  std::size_t count;
};

/// Requires: an op of the families unary, binary, ternary or convert.
void evaluate_lanes(OpKind, const Lanes&);

// Declares void evaluate_add(const Lanes&) and so on: an op of these families without its function does not link.
#define TW_ELEMENTWISE_OP(name) void evaluate_##name(const Lanes&);
#define TW_OTHER_OP(name)
#include "tileir/dispatch.def"

}  // namespace tilewright::ir
