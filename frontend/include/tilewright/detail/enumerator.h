// The check of a value of a public enumeration: a cast from an integer makes values that no enumerator has.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

namespace tilewright::detail {

/// The number of a value of an enumeration, whether it is an enumerator or not.
struct EnumeratorNumber {
  std::int64_t number;
  template <class E>
    requires std::is_enum_v<E>
  EnumeratorNumber(E e) : number(static_cast<std::int64_t>(e)) {}
};

/// What is wrong with a value that is not an enumerator; an empty text for enumerators, whose numbers are 0 to that of `last`. `name`: of the
/// argument or option; `type`: of the enumeration. It is not a template, since the library would export each instance.
inline std::string enumerator_mistake(const std::string& name, EnumeratorNumber value, EnumeratorNumber last, const std::string& type) {
  if (0 <= value.number && value.number <= last.number) return {};
  return name + " = " + std::to_string(value.number) + "; it must be an enumerator of " + type + ", 0 to " + std::to_string(last.number);
}

}  // namespace tilewright::detail
