// Parses equations of einsum.
#include "tileir/graph/einsum.h"

#include <fmt/format.h>

#include <cctype>

namespace tilewright::graph {

namespace {

constexpr std::string_view kEllipsis = "...";

bool is_label(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// The error in the labels of one operand or of the result; empty if they are right.
std::string check_labels(std::string_view labels, bool ellipsis) {
  if (const std::size_t at = labels.find(kEllipsis); ellipsis && at != std::string_view::npos)
    return check_labels(std::string(labels.substr(0, at)) + std::string(labels.substr(at + kEllipsis.size())), false);
  for (char c : labels)
    if (!is_label(c)) return fmt::format("'{}' is not a label; labels are letters", c);
  return {};
}

}  // namespace

std::string Equation::text() const { return fmt::format("{}->{}", fmt::join(operands, ","), result); }

std::string Equation::summed() const {
  std::string labels;
  for (const std::string& operand : operands)
    for (char label : operand)
      if (is_label(label) && result.find(label) == std::string::npos && labels.find(label) == std::string::npos) labels += label;
  return labels;
}

ParsedEquation parse_equation(std::string_view text, bool ellipsis) {
  std::string compact;
  for (char c : text)
    if (c != ' ') compact += c;
  const std::size_t arrow = compact.find("->");
  if (arrow == std::string::npos) return {{}, fmt::format("equation '{}' has no '->'", text)};
  ParsedEquation parsed;
  Equation& e = parsed.equation;
  e.result = compact.substr(arrow + 2);
  const std::string left = compact.substr(0, arrow);
  for (std::size_t begin = 0, end; begin <= left.size(); begin = end + 1) {
    end = std::min(left.find(',', begin), left.size());
    e.operands.push_back(left.substr(begin, end - begin));
  }
  const auto fail = [&](const std::string& why) { parsed.error = fmt::format("equation '{}': {}", text, why); };
  std::string all;
  bool any_ellipsis = false;
  for (const std::string& operand : e.operands) {
    if (const std::string why = check_labels(operand, ellipsis); !why.empty()) return fail(why), parsed;
    any_ellipsis = any_ellipsis || operand.find(kEllipsis) != std::string::npos;
    all += operand;
  }
  if (const std::string why = check_labels(e.result, ellipsis); !why.empty()) return fail(why), parsed;
  for (std::size_t i = 0; i < e.result.size(); ++i) {
    const char label = e.result[i];
    if (!is_label(label)) continue;
    if (all.find(label) == std::string::npos) return fail(fmt::format("label '{}' of the result is in no operand", label)), parsed;
    if (e.result.find(label, i + 1) != std::string::npos) return fail(fmt::format("the result has label '{}' twice", label)), parsed;
  }
  if (!any_ellipsis && e.result.find(kEllipsis) != std::string::npos) fail("the result has '...', and no operand has");
  return parsed;
}

bool is_product_element(ir::Element from, ir::Element to) {
  if (ir::is_float(from)) return to == from || (ir::bits(from) < 32 && to == ir::Element::f32);
  if (!ir::is_integer(from)) return false;
  return ir::bits(from) == 8 ? to == ir::Element::i32 : to == from;
}

}  // namespace tilewright::graph
