// What types an op's results have, or what is wrong with its operands. One function a rule; the front end, the parser and the
// verifier ask the same ones, so a mistake reads the same wherever it is made.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tileir/op_info.h"
#include "tileir/type.h"

namespace tilewright::ir {

/// What a rule sees of an op.
struct RuleInput {
  OpKind kind;
  std::span<const Type> operands;
  std::span<const Attr> attrs;
  /// The result types that the writer states. Ops whose results do not follow from their operands (constant, cast, reshape,
  /// broadcast, bitcast, if) take them from here; for the others this is empty or must equal what the rule gives.
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

/// Checks operand count, attributes and types of any op but for what lies in its regions (the verifier's part).
RuleResult infer(const RuleInput&);

}  // namespace tilewright::ir
