// Evaluates extents at typical or large values of their symbols.
#include "passes/fusion/expr/extents.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tilewright::passes::fusion {

std::int64_t typical_value(const DimBounds& b, double extent) {
  const auto up = [&](std::int64_t v) { return (v / b.multiple_of + (v % b.multiple_of != 0 ? 1 : 0)) * b.multiple_of; };
  return std::min(std::max(up(static_cast<std::int64_t>(extent)), up(b.min)), b.max / b.multiple_of * b.multiple_of);
}

double estimated_extent(const Dim& d, double of_symbols) {
  if (d.is_constant()) return static_cast<double>(d.value());
  const SymbolTable& table = *d.table();
  const std::vector<std::uint32_t> symbols = d.symbols();
  std::vector<std::int64_t> values(table.size());
  for (std::uint32_t s : symbols) values[s] = typical_value(table[s].bounds, of_symbols);
  const std::optional<std::int64_t> value = d.evaluate(values);
  // The extent has no value where a quotient is not an integer.
  const double typical = value ? static_cast<double>(*value) : of_symbols;
  return std::clamp(typical, static_cast<double>(std::max<std::int64_t>(d.least(), 1)),
                    static_cast<double>(std::max<std::int64_t>(d.greatest(), 1)));
}
double estimated_extent(const AxisSet& axes) {
  double product = 1;
  for (Axis a : axes) product *= estimated_extent(a->extent);
  return product;
}

}  // namespace tilewright::passes::fusion
