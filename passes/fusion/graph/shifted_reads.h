// Finds values that kernels would compute again for many neighbours, as in stencils, windows and convolutions made of slices.
//
//   y = x[i - 1] + x[i] + x[i + 1], applied repeatedly   an element of the second y reads 5 elements of x, of the fourth 9
//
// A value inside of a formula is computed at each position at which the formula reads it. In a chain of stencils, the number of positions
// grows with the length of the chain, and so do the code and the work for one element: the latter is the work of all steps times their
// number. So a value that an element of a result reads at more than a few positions is stored.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/graph/known_nodes.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// The values to store in addition to those that are stored anyway (`is_stored`), ascending. Positions come from slices, pads, flips,
/// rotations, windows, concatenations, permutations, indices and reshapes. All that a reduction visits along an axis is one position; the
/// same shifted by one is another position. A reduction or a product, and on hosts a transcendental function, is stored if it is read at two
/// positions that differ by less than half of an axis along which it varies; a reduction also if an index reads it that names more positions
/// than there are. Concatenations may have more positions than other values, if the concatenations inside of each other do not have too many
/// together (kMostChoices). Casts, values that read no memory, and values that depend only on parameters are computed again. A pad is a mask
/// at each position. That is free on a GPU. On a host, a loop over masked loads takes several times as long as one without masks, which is
/// more than a copy costs. So the padded value is stored, too, if others read it or if it is a function of a reduction. But pads that products
/// read in place are not stored (pads_in_place.h).
std::vector<graph::NodeId> values_at_many_positions(const graph::Graph&, const KnownNodes&, const std::vector<bool>& is_needed,
                                                    const std::vector<bool>& is_stored, bool is_host);

/// "not fused: mul (blur.cpp:12) is stored, because one element of what follows reads it at many positions".
std::string repeated_text(const graph::Graph&, graph::NodeId);

}  // namespace tilewright::passes::fusion
