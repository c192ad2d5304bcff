// Checks inline PTX when a kernel is traced and when text is compiled. A mistake that only ptxas finds would appear on the user's machine.
#include "tileir/target/ptx_constraints.h"

#include <fmt/format.h>

#include <cctype>
#include <vector>

namespace tilewright::ir {

char register_class(const Type& t) {
  if (t.is_pointer()) return 'l';
  switch (bits(t.element())) {
    case 16: return 'h';
    case 32: return t.is_float() ? 'f' : 'r';
    case 64: return t.is_float() ? 'd' : 'l';
    default: return 0;
  }
}

namespace {

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = list.find(',');
    parts.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

std::string wrong_with_class(std::string_view given, const Type& t, const std::string& what) {
  const char expected = register_class(t);
  if (!expected) return fmt::format("{} is {}, which no register holds; cast it to 16 or more bits first", what, text(t.scalar()));
  if (given == std::string_view(&expected, 1)) return {};
  return fmt::format("the constraint of {} is '{}'; it must be '{}' for {}", what, given, expected, text(t.scalar()));
}

/// The error if a $n names neither the output nor an input; else empty.
std::string wrong_with_names(std::string_view ptx, std::size_t inputs) {
  for (std::size_t i = 0; i < ptx.size(); ++i) {
    if (ptx[i] != '$') continue;
    if (i + 1 < ptx.size() && ptx[i + 1] == '$') {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < ptx.size() && std::isdigit(static_cast<unsigned char>(ptx[end]))) ++end;
    const std::string_view number = ptx.substr(i + 1, end - i - 1);
    if (number.empty()) return "a $ without a number; a dollar as such is $$";
    if (number.size() > 3 || static_cast<std::size_t>(std::stoi(std::string(number))) > inputs)
      return fmt::format("${} in the PTX; $0 is the result{}", number,
                         inputs == 0 ? "" : fmt::format(" and $1 to ${} are the operands", inputs));
    i = end - 1;
  }
  return {};
}

}  // namespace

std::string wrong_with_inline_ptx(std::string_view ptx, std::string_view constraints, const Type& result, std::span<const Type> inputs) {
  const auto classes = split(constraints);
  if (!classes[0].starts_with('='))
    return fmt::format("the constraints are '{}'; the first must be that of the result, such as '=f'", constraints);
  for (std::size_t i = 1; i < classes.size(); ++i)
    if (classes[i].starts_with('=')) return fmt::format("the constraints are '{}'; there is one result", constraints);
  if (classes.size() - 1 != inputs.size())
    return fmt::format("the constraints '{}' are for {} operand{}; there {} {}", constraints, classes.size() - 1,
                       classes.size() == 2 ? "" : "s", inputs.size() == 1 ? "is" : "are", inputs.size());
  if (std::string wrong = wrong_with_class(classes[0].substr(1), result, "the result"); !wrong.empty()) return wrong;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (std::string wrong = wrong_with_class(classes[i + 1], inputs[i], fmt::format("operand {}", i + 1)); !wrong.empty()) return wrong;
  return wrong_with_names(ptx, inputs.size());
}

}  // namespace tilewright::ir
