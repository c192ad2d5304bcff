// Evaluates extents at typical or large values of their symbols.
#include "passes/fusion/expr/extents.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tileir/graph/shapes.h"

namespace tilewright::passes::fusion {

std::int64_t typical_value(const DimBounds& b, double extent) {
  const auto up = [&](std::int64_t v) { return (v / b.multiple_of + (v % b.multiple_of != 0 ? 1 : 0)) * b.multiple_of; };
  return std::min(std::max(up(static_cast<std::int64_t>(extent)), up(b.min)), b.max / b.multiple_of * b.multiple_of);
}

namespace {

// A value within the bounds that is `distance` multiples from the typical one: less, where there is room.
std::int64_t value_near(const DimBounds& b, double extent, std::int64_t distance) {
  const std::int64_t typical = typical_value(b, extent), less = typical - distance * b.multiple_of;
  if (less >= std::max<std::int64_t>(b.min, 1)) return less;
  return typical <= b.max - distance * b.multiple_of ? typical + distance * b.multiple_of : typical;
}

}  // namespace

std::vector<std::int64_t> typical_values(const graph::Graph& g) {
  const SymbolTable& table = *g.symbols();
  std::vector<std::int64_t> values(table.size());
  const auto set_values = [&](std::int64_t distance) {
    for (std::uint32_t s = 0; s < table.size(); ++s) values[s] = value_near(table[s].bounds, kTypicalExtent, distance);
  };
  const std::vector<bool> needed = g.needed_nodes();
  const auto is_integer = [&](const Dim& d) { return d.is_constant() || d.evaluate(values); };
  const auto are_integers = [&] {
    for (std::uint32_t i = 0; i < g.size(); ++i)
      if (const graph::TensorShape& shape = g.node({i}).shape; needed[i] && !std::all_of(shape.begin(), shape.end(), is_integer))
        return false;
    return true;
  };
  for (std::int64_t distance = 0; distance < kMostDistanceOfSymbols; ++distance) {
    set_values(distance);
    if (are_integers()) return values;
  }
  set_values(0);
  return values;
}

double estimated_extent(const Dim& d, double of_symbols) {
  if (d.is_constant()) return static_cast<double>(d.value());
  const SymbolTable& table = *d.table();
  const std::vector<std::uint32_t> symbols = d.symbols();
  std::vector<std::int64_t> values(table.size());
  std::optional<std::int64_t> value;
  // The extent has no value where a quotient is not an integer: values nearby give the same estimate.
  for (std::int64_t distance = 0; distance < kMostDistanceOfSymbols && !value; ++distance) {
    for (std::uint32_t s : symbols) values[s] = value_near(table[s].bounds, of_symbols, distance);
    value = d.evaluate(values);
  }
  const double typical = value ? static_cast<double>(*value) : of_symbols;
  return std::clamp(typical, static_cast<double>(std::max<std::int64_t>(d.least(), 1)),
                    static_cast<double>(std::max<std::int64_t>(d.greatest(), 1)));
}

double estimated_extent(const AxisSet& axes) {
  double product = 1;
  for (Axis a : axes) product *= estimated_extent(a->extent);
  return product;
}

double estimated_elements(const graph::TensorShape& shape) { return estimated_extent(graph::element_count(shape)); }

}  // namespace tilewright::passes::fusion
