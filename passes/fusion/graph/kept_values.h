// Has all that needs a value which the user keeps in memory read it there.
//
//   kept = materialize(w)            becomes      kept = materialize(w)
//   y = f(w) + kept                               y = f(kept) + kept
//
// A kernel of its own computes w and stores it. Others would compute w again, and round it in another way: w - kept would not be 0. What only
// moves elements, or has them at no cost, is computed where it is needed.
#pragma once
#include <optional>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// The graph whose ops read kept values, of the same inputs and outputs; none if they do already.
std::optional<graph::Graph> with_kept_values_read(const graph::Graph&);

}  // namespace tilewright::passes::fusion
