// Values of a graph at all positions of a box at once, as residues modulo 2^61 - 1.
//
// Inside of a box the value of a node is a polynomial whose variables are elements of inputs, at coordinates that are affine in the position
// (affine_form.h). Each of these affine maps is one variable with a random residue:
//
//   y[i, j] = x[i + 1, j] * w[0] + x[i + 1, j + 1] * w[1]       variables: (i + 1, j) and (i + 1, j + 1) of x, (0) and (1) of w
//
// Theorem: two polynomials of affine maps with equal residues are equal at each position of the box, but for a probability of about
// degree / 2^61. (They are equal as polynomials of the maps (Schwartz, Zippel), so they are at each position, where the maps are elements.)
// Comparing elements at m + 1 affinely independent positions of m axes (PET, theorem 1) is not enough: with steps of 1 to 4,
// x[3 i] + x[2 i + 2] and x[4 i] + x[i + 2] are equal at i = 0 and i = 1, and differ at i = 2.
//
// At a box of one position maps are elements, and residues are equal exactly if the values are.
//
//   1. value: visits a node at affine coordinates; shape ops map these to coordinates of their operands.
//   2. decide: conditions of pads, concats and rotations must be the same at all positions.
//   3. reshaped: merged axes are divided by extents, which must give affine quotients.
//
// Functions other than sums and products are hashes of their operands. What no formula expresses, such as a gather, is like an input.
#pragma once
#include <span>
#include <unordered_map>

#include "passes/search/partial/affine_form.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::search {

class BoxValues {
 public:
  using Position = std::vector<AffineForm>;  // a coordinate for each axis of a tensor

  /// At most so many values of nodes are computed, by all calls. Requires: the extents that the nodes to come need have no symbols.
  BoxValues(const graph::Graph& g, std::uint64_t most_visits);

  /// The value of a node whose axes are those of the box. None if the box must be split, or if a limit was met.
  std::optional<std::uint64_t> of(graph::NodeId, const Box&);
  /// Where to split the box of the latest call.
  const std::optional<BoxSplit>& split() const { return split_; }
  std::uint64_t visits() const { return visits_; }

 private:
  std::uint64_t value(graph::NodeId, const Position&);
  std::uint64_t compute(graph::NodeId, const Position&);
  std::uint64_t leaf(graph::NodeId, const Position&) const;
  std::uint64_t constant(const graph::Node&, graph::NodeId, const Position&) const;
  std::uint64_t iota(const AffineForm&) const;
  std::uint64_t map(const graph::Node&, const Position&);
  std::uint64_t pad(const graph::Node&, Position);
  std::uint64_t concat(const graph::Node&, Position);
  std::uint64_t rotate(const graph::Node&, Position);
  std::uint64_t reshaped(const graph::Node&, const Position&);
  std::uint64_t einsum(const graph::Node&, const Position&);
  std::uint64_t reduce(const graph::Node&, const Position&);
  Position broadcast(const graph::TensorShape& to, const Position&) const;

  /// Whether form >= bound. Stops if that depends on the position.
  bool decide(const AffineForm&, std::int64_t bound);
  bool has_stopped() const { return split_.has_value() || depth_ > kMostDepth || visits_ > most_visits_; }
  const graph::TensorShape& shape(graph::NodeId n) const { return g_.node(n).shape; }

  static constexpr int kMostDepth = 1000;  // nodes on a path

  const graph::Graph& g_;
  const std::uint64_t most_visits_;
  std::vector<bool> is_kept_;  // by node: whether its values are kept, since it is read more than once or sums
  Box box_;
  std::optional<BoxSplit> split_;
  std::unordered_map<std::uint64_t, std::uint64_t> values_;  // by a hash of node and coordinates
  std::uint64_t visits_ = 0;
  int depth_ = 0;
};

}  // namespace tilewright::passes::search
