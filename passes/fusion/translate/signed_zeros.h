// Finds values of which the sign of a zero matters.
//
// Normal form has one zero: 0 - x is -x in it, which is -0 for an x of 0. Copysign, atan2 and the bits of a float tell the zeros apart, and so
// does a division by the constant -0. What these ops read is computed as it is written, up to the reductions and functions whose zero has one sign.
#pragma once
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// Indexed by node: whether an op may read the sign of a zero of the node's value.
std::vector<bool> nodes_with_signed_zeros(const graph::Graph&);

}  // namespace tilewright::passes::fusion
