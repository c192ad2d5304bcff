// Type rules: the types of an op's results, or an error about its operands. One function a rule. The front end, the parser and the verifier
// call the same rules, so a mistake has the same message everywhere.
#pragma once
#include "tileir/type_rules/rule.h"

namespace tilewright::ir {

/// Checks the operand count, the attributes and the types of any op, but not its regions, which the verifier checks.
RuleResult infer(const RuleInput&);

}  // namespace tilewright::ir
