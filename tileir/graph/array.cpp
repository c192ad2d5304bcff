// Reads elements as numbers.
#include "tileir/graph/array.h"

#include "tileir/builder.h"

namespace tilewright::graph {

double Array::number(std::size_t i) const {
  return ir::is_float(element) ? ir::float_value(element, bits[i]) : static_cast<double>(ir::integer_value(element, bits[i]));
}

}  // namespace tilewright::graph
