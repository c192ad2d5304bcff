// Implements shapes of tensors.
#include "tileir/graph/shapes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::graph {

std::string shape_text(const TensorShape& shape) {
  if (shape.empty()) return "a scalar";
  std::string text;
  for (const Dim& d : shape) text += (text.empty() ? "" : ", ") + d.text();
  return "[" + text + "]";
}

bool fits(const Dim& a, const Dim& b) { return a == b || a == Dim(1) || b == Dim(1); }

bool broadcasts(const TensorShape& from, const TensorShape& to) {
  if (from.size() > to.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Dim& extent = from[from.size() - 1 - i];
    if (extent != Dim(1) && extent != to[to.size() - 1 - i]) return false;
  }
  return true;
}

Dim element_count(const TensorShape& shape) {
  Dim count = 1;
  for (const Dim& d : shape) count *= d;
  return count;
}

std::string problem_of_count(std::size_t elements, const TensorShape& shape) {
  const Dim count = element_count(shape);
  if (count == Dim(elements)) return {};
  const std::string seen = fmt::format("{} element{} for shape {}", elements, elements == 1 ? "" : "s", shape_text(shape));
  if (!count.is_constant()) return seen + ", which has a symbol; the extents of a constant must be numbers";
  return fmt::format("{}, which has {}", seen, count.text());
}

TensorShape gather_shape(const TensorShape& table, const TensorShape& index, int axis) {
  TensorShape shape(table.begin(), table.begin() + axis);
  shape.insert(shape.end(), index.begin(), index.end());
  shape.insert(shape.end(), table.begin() + axis + 1, table.end());
  return shape;
}

std::string problem_of_symbols(const Graph& graph, std::span<const Dim> extents) {
  for (const Dim& d : extents)
    if (!d.is_constant() && d.table() != graph.symbols().get()) return fmt::format("extent '{}' has symbols of another graph", d.text());
  return {};
}

std::string problem_of(const TensorShape& shape, int most_axes) {
  if (shape.size() > static_cast<std::size_t>(most_axes))
    return fmt::format("shape {} has {} axes; a tensor has at most {}", shape_text(shape), shape.size(), most_axes);
  for (const Dim& d : shape)
    if (d.greatest() < 0) return fmt::format("extent {} of shape {} must not be negative", d.text(), shape_text(shape));
  std::int64_t count = 1;
  for (const Dim& d : shape)
    if (d.is_constant() && __builtin_mul_overflow(count, d.value(), &count))
      return fmt::format("shape {} has more than 2^63 - 1 elements", shape_text(shape));
  return {};
}

Inferred common_shape(const Graph& graph, const std::vector<Party>& operands) {
  Inferred result;
  std::vector<std::size_t> from;  // the operand that each extent comes from, in the order of the shape
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const TensorShape& s = graph.node(operands[k].node).shape;
    while (result.shape.size() < s.size()) result.shape.insert(result.shape.begin(), 1), from.insert(from.begin(), k);
    for (std::size_t i = 0; i < s.size(); ++i) {
      const std::size_t at = result.shape.size() - s.size() + i;
      if (s[i] == result.shape[at] || s[i] == Dim(1)) continue;
      if (result.shape[at] != Dim(1)) {
        const Party& other = operands[from[at]];
        result.error =
            fmt::format("'{}' is {} and '{}' is {}; extents must be equal or 1, aligned from the right, but {} and {} differ", other.name,
                        shape_text(graph.node(other.node).shape), operands[k].name, shape_text(s), result.shape[at].text(), s[i].text());
        result.parties = {other, operands[k]};
        return result;
      }
      result.shape[at] = s[i];
      from[at] = k;
    }
  }
  return result;
}

bool Inferred::require(const Dim& value, std::int64_t least) {
  requirements.push_back({value, least});
  return value.greatest() >= least;
}

}  // namespace tilewright::graph
