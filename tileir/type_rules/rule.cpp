// Finds the attributes of a rule's op.
#include "tileir/type_rules/rule.h"

namespace tilewright::ir {

std::int64_t RuleInput::number(AttrName name, std::int64_t absent) const {
  for (const Attr& a : attrs)
    if (a.name == name) return a.number;
  return absent;
}

std::span<const std::int64_t> RuleInput::list(AttrName name) const {
  for (const Attr& a : attrs)
    if (a.name == name) return a.list;
  return {};
}

}  // namespace tilewright::ir
