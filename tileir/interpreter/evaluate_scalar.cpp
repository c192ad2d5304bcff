// A scalar is one lane.
#include "tileir/interpreter/evaluate_scalar.h"

#include <array>

#include "tileir/diagnostics.h"
#include "tileir/interpreter/evaluate.h"

namespace tilewright::ir {

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
