// Finds values that kernels would compute again for many neighbours: those of stencils, windows and convolutions by slices.
//
//   y = x[i - 1] + x[i] + x[i + 1], twice in a row    an element of the second reads 5 of x, of the fourth 9 of x
//
// A value inside of a formula is computed at each position at which the formula reads it. The positions of a chain of stencils grow with
// its length, and so do the code and the work for one element, which is that of all steps times their number. So a value that an element of
// a result reads at more than a few positions is stored.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/translate/parameters.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// An element of a result computes a value inside of it at most so often.
inline constexpr std::size_t kMostPositions = 8;

/// The values to store beside those that are stored anyway (`is_stored`), ascending. Positions are those that slices, pads, flips,
/// concatenations and permutations give: along a reduced axis, or behind a reshape, all positions are one. Casts, what reads no memory and
/// what depends on parameters alone are computed again. A pad is a mask at each position: that is free on a GPU, and on a host,
/// where a loop over masked loads takes several times as long as one without masks, dearer than a copy (`stores_pads`).
std::vector<graph::NodeId> values_at_many_positions(const graph::Graph&, const KnownNodes&, const std::vector<bool>& is_needed,
                                                    const std::vector<bool>& is_stored, bool stores_pads);

/// "not fused: mul (blur.cpp:12) is stored, because one element of what follows reads it at more than 8 positions".
std::string repeated_text(const graph::Graph&, graph::NodeId);

}  // namespace tilewright::passes::fusion
