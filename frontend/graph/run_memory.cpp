// Evaluates extents, and draws numbers.
#include "frontend/graph/run_memory.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "tileir/builder.h"
#include "tilewright/error.h"

namespace tilewright::detail {

namespace {

std::int64_t value_of(const Dim& d, const graph::Node& n, const std::vector<std::int64_t>& symbols) {
  const auto value = d.is_constant() ? std::optional(d.value()) : d.evaluate(symbols);
  if (value && *value >= 0) return *value;
  throw Error(n.where, fmt::format("extent '{}' {}; it must be at least 0", d.text(),
                                   value ? fmt::format("is {}", *value) : std::string("is not an integer")));
}

}  // namespace

std::vector<std::int64_t> shape_of(const graph::Graph& g, graph::NodeId id, const std::vector<std::int64_t>& symbols) {
  std::vector<std::int64_t> shape;
  for (const Dim& d : g.node(id).shape) shape.push_back(value_of(d, g.node(id), symbols));
  return shape;
}

std::int64_t span_of(const graph::Graph& g, graph::NodeId id, const std::vector<std::int64_t>& symbols) {
  const graph::Node& n = g.node(id);
  std::int64_t count = 1, last = 0;
  const std::vector<std::int64_t> shape = shape_of(g, id, symbols);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    count *= shape[i];
    if (!n.lengths.empty()) last += (shape[i] - 1) * value_of(n.lengths[i], n, symbols);
  }
  return n.lengths.empty() || count == 0 ? count : last + 1;
}

std::vector<std::byte> random_elements(ir::Element e, std::int64_t count, std::mt19937_64& random, std::uint64_t most) {
  const auto width = static_cast<std::size_t>(ir::bytes(e));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * width);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::uint64_t bits = ir::is_float(e) ? ir::element_bits(e, normal(random)) : static_cast<std::uint64_t>(random() % (most + 1));
    std::memcpy(&bytes[i * width], &bits, width);
  }
  return bytes;
}

}  // namespace tilewright::detail
