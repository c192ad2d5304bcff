// The check of a value of a public enumeration: a cast from an integer makes values that no enumerator has.
#pragma once
#include <cstdint>
#include <string>

namespace tilewright::detail {

/// What is wrong with a value, if it is none of the enumerators, whose numbers are 0 to that of `last`; else an empty text. `name`: of the
/// argument or option, `type`: of the enumeration.
template <class E>
std::string enumerator_mistake(const std::string& name, E value, E last, const std::string& type) {
  const auto number = static_cast<std::int64_t>(value), most = static_cast<std::int64_t>(last);
  if (0 <= number && number <= most) return {};
  return name + " = " + std::to_string(number) + "; it must be an enumerator of " + type + ", 0 to " + std::to_string(most);
}

}  // namespace tilewright::detail
