// The check of a value of a public enumeration: a cast from an integer makes values that no enumerator has.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

namespace tilewright::detail {

/// The number of an enumerator, or of a value that is none.
struct EnumeratorNumber {
  std::int64_t number;
  template <class E>
    requires std::is_enum_v<E>
  EnumeratorNumber(E e) : number(static_cast<std::int64_t>(e)) {}
};

/// What is wrong with a value, if it is none of the enumerators, whose numbers are 0 to that of `last`; else an empty text. `name`: of the
/// argument or option, `type`: of the enumeration. It is no template, because the library would show each instance to its users.
inline std::string enumerator_mistake(const std::string& name, EnumeratorNumber value, EnumeratorNumber last, const std::string& type) {
  if (0 <= value.number && value.number <= last.number) return {};
  return name + " = " + std::to_string(value.number) + "; it must be an enumerator of " + type + ", 0 to " + std::to_string(last.number);
}

}  // namespace tilewright::detail
