// Finds values of which the sign of a zero matters.
//
// Normal form has one zero: 0 - x is -x in it, which is -0 for an x of 0, and x - x is 0 x, which is -0 for a negative x. Copysign, atan2 and the
// bits of a float tell the zeros apart, and so does a division by the constant -0. What these ops read is computed as it is written, up to the
// reductions and functions whose zero has one sign. A quotient by a zero, rsqrt and pow give it to an infinity, of which exp makes 0 or infinity:
// of what they read, sums and products with 0 are computed as they are written, where they may be negative.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// What is computed of a node whose value may be a zero. as_written: the op of the node; unless_nonnegative: its normal form, if that is known to
/// be no negative number.
enum class ZeroSign : std::uint8_t { ignored, unless_nonnegative, as_written };

/// Indexed by node: ignored, unless an op may read the sign of a zero of the node's value.
std::vector<ZeroSign> nodes_with_signed_zeros(const graph::Graph&);

}  // namespace tilewright::passes::fusion
