// Shapes of tensors: their text, how they broadcast, which ones there can be; and the shape that a rule infers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::graph {

inline constexpr int kMaxTensorRank = 6;
/// Tensors inside of a formula, such as the windows of a convolution, may have more axes.
inline constexpr int kMaxRank = 10;

/// An operand that an error names.
struct Party {
  NodeId node;
  std::string name;  // "a"
};

/// A condition that only a run can check, if the value has symbols: value >= least.
struct Requirement {
  Dim value;
  std::int64_t least;
};

/// The result of a rule: a shape and an element type, or an error ("'a' is [4, 8] and 'b' is [4, 7]; ...") and the operands that it names.
struct Inferred {
  TensorShape shape;
  ir::Element element{};
  std::string error;
  std::vector<Party> parties;
  std::vector<Requirement> requirements = {};  // of the attributes; extents of the shape need none
  bool ok() const { return error.empty(); }
  /// Adds a condition for runs. False if no values of the symbols meet it: then the rule reports an error.
  bool require(const Dim& value, std::int64_t least);
};

/// "[4, n + 1]", or "a scalar".
std::string shape_text(const TensorShape&);
/// Whether two extents may be on one axis of a broadcast: they are equal, or one is 1.
bool fits(const Dim& a, const Dim& b);
/// Whether `from` broadcasts to `to`, aligned from the right.
bool broadcasts(const TensorShape& from, const TensorShape& to);
/// The shape that these broadcast to, aligned from the right.
Inferred common_shape(const Graph&, const std::vector<Party>&);
/// The product of the extents.
Dim element_count(const TensorShape&);
/// Why a constant of this shape cannot have this number of elements; empty if it can.
std::string problem_of_count(std::size_t elements, const TensorShape&);
/// The shape of gather's result: the table's shape with `axis` replaced by the axes of the index.
TensorShape gather_shape(const TensorShape& table, const TensorShape& index, int axis);
/// Why a graph cannot have these extents: one has symbols of another graph; empty if it can.
std::string problem_of_symbols(const Graph&, std::span<const Dim>);
/// Why a tensor with at most so many axes cannot have this shape; empty if it can.
std::string problem_of(const TensorShape&, int most_axes = kMaxRank);

}  // namespace tilewright::graph
