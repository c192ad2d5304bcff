// The tensors of a run by the interpreter, and what a run is given.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tileir/type.h"

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

}  // namespace tilewright::graph
