// The reference meaning of graphs: slow and obvious, one node after the other.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::graph {

/// The elements of a tensor, row-major: the bits of each in the low end of a word.
struct Array {
  ir::Element element{};
  std::vector<std::int64_t> shape;
  std::vector<std::uint64_t> bits;

  /// Element i as a number: exact except for 64-bit integers beyond 2^53.
  double number(std::size_t i) const;
};

enum class Rounding : std::uint8_t {
  as_typed,          // each op rounds to its element type
  double_precision,  // floats are f64 throughout: the oracle that fused plans are compared with
};

struct Arguments {
  /// The buffers of inputs, in their own element type, and one element for each scalar. A strided input's buffer may be longer than needed.
  std::map<std::string, std::vector<std::uint64_t>> arrays;
  std::map<std::string, std::int64_t> symbols;
};

/// The outputs by name. Floats are f64 under double_precision. Throws Error if an argument is missing or has the wrong size, if a symbol
/// has no value or is out of its bounds, if an extent is negative or not an integer, and if an index is out of range.
std::map<std::string, Array> interpret(const Graph&, const Arguments&, Rounding);
/// The value of one node.
Array interpret(const Graph&, NodeId, const Arguments&, Rounding);

}  // namespace tilewright::graph
