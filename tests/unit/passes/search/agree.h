// Compares results of graphs that multiply and add in another order.
#pragma once
#include <algorithm>
#include <cmath>

#include "tileir/graph/array.h"

namespace tilewright::passes::search {

/// Whether two results agree up to rounding. Where values cancel, what is left of them is rounding alone.
inline bool agree(const graph::Array& a, const graph::Array& b, double relative = 1e-9) {
  constexpr double kCancelled = 1e-10;
  if (a.shape != b.shape || a.element != b.element) return false;
  double size = 0, difference = 0;
  for (std::size_t i = 0; i < a.bits.size(); ++i) {
    const double x = a.number(i), y = b.number(i);
    if (!std::isfinite(x) || !std::isfinite(y)) {
      if (std::isnan(x) ? !std::isnan(y) : x != y) return false;
      continue;
    }
    size += x * x;
    difference += (x - y) * (x - y);
  }
  return std::sqrt(difference) <= std::max(relative * std::sqrt(size), kCancelled);
}

}  // namespace tilewright::passes::search
