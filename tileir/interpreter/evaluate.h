// The meaning of element-wise ops over any number of lanes: what evaluate_scalar and the interpreter have in common.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "tileir/op_info.h"
#include "tileir/type.h"

namespace tilewright::ir {

/// One execution of an element-wise op. Every word holds its element's bits in the low end, zeros above.
struct Lanes {
  std::span<const Type> types;                     // of the operands
  std::span<const std::uint64_t* const> operands;  // each `count` words
  Type result;
  std::uint64_t* out;  // `count` words; may be an operand
  std::size_t count;
};

/// Requires: an op of the families unary, binary, ternary or convert.
void evaluate_lanes(OpKind, const Lanes&);

// void evaluate_add(const Lanes&); and so on: an op of these families without a meaning does not link.
#define TW_DECLARE_program(name)
#define TW_DECLARE_create(name)
#define TW_DECLARE_shape(name)
#define TW_DECLARE_unary(name) void evaluate_##name(const Lanes&);
#define TW_DECLARE_binary(name) void evaluate_##name(const Lanes&);
#define TW_DECLARE_ternary(name) void evaluate_##name(const Lanes&);
#define TW_DECLARE_convert(name) void evaluate_##name(const Lanes&);
#define TW_DECLARE_memory(name)
#define TW_DECLARE_atomic(name)
#define TW_DECLARE_reduce(name)
#define TW_DECLARE_index(name)
#define TW_DECLARE_linalg(name)
#define TW_DECLARE_control(name)
#define TW_DECLARE_debug(name)
#define TW_DECLARE_hint(name)
#define TW_DECLARE_escape(name)
#define TW_DECLARE_layout(name)
#define TW_OP(name, family) TW_DECLARE_##family(name)
#include "tileir/op_names.def"
#undef TW_OP
#undef TW_DECLARE_program
#undef TW_DECLARE_create
#undef TW_DECLARE_shape
#undef TW_DECLARE_unary
#undef TW_DECLARE_binary
#undef TW_DECLARE_ternary
#undef TW_DECLARE_convert
#undef TW_DECLARE_memory
#undef TW_DECLARE_atomic
#undef TW_DECLARE_reduce
#undef TW_DECLARE_index
#undef TW_DECLARE_linalg
#undef TW_DECLARE_control
#undef TW_DECLARE_debug
#undef TW_DECLARE_hint
#undef TW_DECLARE_escape

}  // namespace tilewright::ir
