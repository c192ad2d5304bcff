// The input and the result of a type rule.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tileir/op_info.h"
#include "tileir/type.h"

namespace tilewright::ir {

/// The input of a rule: an op without its regions.
struct RuleInput {
  OpKind kind;
  std::span<const Type> operands;
  std::span<const Attr> attrs;
  /// The result types that the text or the caller declares. Ops whose results do not follow from their operands (constant, cast, reshape,
  /// broadcast, bitcast, if) use them; for others they are absent or must equal the rule's result.
  std::span<const Type> declared;

  std::int64_t number(AttrName, std::int64_t absent = 0) const;
  std::span<const std::int64_t> list(AttrName) const;
};

/// The result types, or a message ("dot: 'b' is [64, 32]; its first extent must equal K = 128 of 'a'") and the operand to which a
/// note points (-1: none).
struct RuleResult {
  std::vector<Type> types;
  std::string error;
  int note_operand = -1;
  bool ok() const { return error.empty(); }
};

}  // namespace tilewright::ir
