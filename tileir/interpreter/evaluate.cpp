// Dispatch of element-wise evaluation, generated from the op table.
#include "tileir/interpreter/evaluate.h"

#include <array>

#include "tileir/diagnostics.h"
#include "tileir/interpreter/interpreter.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

void evaluate_lanes(OpKind kind, const Lanes& lanes) {
#define TW_CASE_none(name) \
  case OpKind::name##_: break;
#define TW_CASE_lanes(name) \
  case OpKind::name##_: return evaluate_##name(lanes);
#define TW_CASE_program(name) TW_CASE_none(name)
#define TW_CASE_create(name) TW_CASE_none(name)
#define TW_CASE_shape(name) TW_CASE_none(name)
#define TW_CASE_unary(name) TW_CASE_lanes(name)
#define TW_CASE_binary(name) TW_CASE_lanes(name)
#define TW_CASE_ternary(name) TW_CASE_lanes(name)
#define TW_CASE_convert(name) TW_CASE_lanes(name)
#define TW_CASE_memory(name) TW_CASE_none(name)
#define TW_CASE_atomic(name) TW_CASE_none(name)
#define TW_CASE_reduce(name) TW_CASE_none(name)
#define TW_CASE_index(name) TW_CASE_none(name)
#define TW_CASE_linalg(name) TW_CASE_none(name)
#define TW_CASE_control(name) TW_CASE_none(name)
#define TW_CASE_debug(name) TW_CASE_none(name)
#define TW_CASE_hint(name) TW_CASE_none(name)
#define TW_CASE_escape(name) TW_CASE_none(name)
#define TW_CASE_layout(name) TW_CASE_none(name)
  switch (kind) {
#define TW_OP(name, family) TW_CASE_##family(name)
#include "tileir/op_names.def"
#undef TW_OP
  }
  TW_UNREACHABLE("evaluation of an op that is not element-wise");
}

std::uint64_t evaluate_scalar(OpKind kind, std::span<const Type> operand_types, std::span<const std::uint64_t> operands, Type result) {
  constexpr std::size_t kMost = 3;
  TW_CHECK(operands.size() <= kMost && operand_types.size() == operands.size(), "an element-wise op has up to three operands, each typed");
  std::array<const std::uint64_t*, kMost> words{};
  for (std::size_t i = 0; i < operands.size(); ++i) words[i] = &operands[i];
  std::uint64_t out = 0;
  evaluate_lanes(kind, {operand_types, std::span(words).first(operands.size()), result, &out, 1});
  return out;
}

}  // namespace tilewright::ir
