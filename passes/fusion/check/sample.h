// A small instance of a graph: values of its symbols, some positions of each axis, and random elements of tensors in memory.
//
// Axes have their real extents. A sum visits the first positions, those that the graph names (named_positions.h), and the last one, which
// represents all others: weights add up to the extent, and positions other than the last have weight 1, so that a sum with one term selects
// it. Both sides of a comparison visit the same positions. Where a graph compares indices of two axes, such as the mask of a diagonal does, what
// the last positions represent is divided into those that are equal and those that are not (meant_positions.h).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "passes/fusion/check/coordinates.h"
#include "passes/fusion/check/meant_positions.h"
#include "passes/fusion/check/number.h"
#include "passes/fusion/translate/axes.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// The distribution of the elements of tensors.
enum class Draw : std::uint8_t {
  generic,  // arbitrary numbers
  special,  // many zeros, ones and equal numbers, of both signs; conditions that hold nowhere or everywhere in a row
  small,    // positive numbers below 2^-7: powers and exponentials of them stay in range, and steps that diverge start slowly
};

/// Whether a reduction may visit the positions that one represents one by one: what it gives does not depend on how often a value occurs, or
/// is a sum, which counts by weights.
inline bool divides_positions(graph::Combine kind) { return kind != graph::Combine::prod && kind != graph::Combine::combine; }

/// The positions of an axis with two parts: each position of the outer part with each of the inner one, which has this extent.
std::vector<SampledPosition> positions_of_parts(std::span<const SampledPosition> outer, std::span<const SampledPosition> inner,
                                                std::int64_t inner_extent);

/// The visited positions of one axis that has no parts.
using AxisPositions = InlineVector<SampledPosition, 4>;

class Sample {
 public:
  /// None if there are no values of the symbols for which all extents of the graph are positive integers.
  static std::optional<Sample> make(const graph::Graph&, Draw, std::uint64_t seed);

  /// Whether the graph relates indices of two axes, so that it matters which of the positions that one represents is meant.
  bool relates_indices() const { return relations_.has_value(); }
  /// The coordinate of the element that an index reads along an axis.
  std::int64_t coordinate(std::int64_t extent, std::int64_t index, std::int64_t meant) const {
    if (!relations_ || !relations_->is_of_related(extent)) return coordinate_of(index, meant);
    return relations_->coordinate(extent, index - meant, most_ - 1, named());
  }
  /// The positions that the graph names, and that are visited besides others.
  const std::vector<std::int64_t>& named() const { return named_[static_cast<std::size_t>(most_ - 2)]; }
  /// Sets how many positions of an axis are visited at most, if the graph names none: 2 or 3.
  void set_most_positions(int most) { most_ = most; }
  /// Calls body(coordinate, weight) for a visited position: once; or, if it is divided, for each of the positions that it represents which the
  /// coordinates of other axes are related to, and for those of the rest that no relation tells apart.
  template <class Body>
  void for_each_meant(const SampledPosition& s, const Coordinates& others, bool is_divided, Body&& body) const {
    if (!is_divided || s.weight == 1 || !relations_) return body(s.position, s.weight);
    for (const SampledPosition& p : relations_->divided(s, others, most_ - 1, named())) body(p.position, p.weight);
  }
  std::int64_t value(const Dim&) const;
  /// The extents of a node's value.
  std::span<const std::int64_t> shape(graph::NodeId n) const { return shapes_[n.index]; }
  AxisPositions positions(std::int64_t extent) const;
  /// The visited positions of an axis with these atoms; for a concatenated axis those of each tensor, or those of the whole axis.
  std::vector<SampledPosition> positions(const AtomList&, bool by_pieces = true) const;

  /// An element of a tensor in memory, which has the key `name` on both sides.
  Number element(std::uint64_t name, ir::Element, const Coordinates&) const;
  /// A number in [0, 1), uniformly distributed: the value of rand.
  Number uniform(std::uint64_t seed, const Number& counter) const;

 private:
  std::vector<std::int64_t> symbols_;
  std::vector<std::vector<std::int64_t>> shapes_;  // indexed by node
  Draw draw_{};
  std::uint64_t seed_ = 0;
  int most_ = 3;
  std::optional<MeantPositions> relations_;
  std::array<std::vector<std::int64_t>, 2> named_;  // for 2 and 3 positions of an axis
};

}  // namespace tilewright::passes::fusion
