// The textual form of graphs. print() and parse() are exact inverses, except for kernels of the user.
#pragma once
#include <string>
#include <string_view>

#include "tileir/graph/graph.h"

namespace tilewright::graph {

struct PrintOptions {
  bool locations = false;
};

//   graph {
//     symbol n {min = 1, max = 4096}
//     %x = input : f32[n, 64]
//     %1 = reduce %x {kind = max, axes = [1], keep_dims} : f32[n, 1]
//     %2 = sub %x, %1 : f32[n, 64]
//     output "y" %2
//   }
std::string print(const Graph&, PrintOptions = {});

/// Throws Error with line and column for invalid syntax, an operand that does not fit, or a type that does not follow from the operands.
/// `file`: the name that errors show.
Graph parse(std::string_view text, const std::string& file);

}  // namespace tilewright::graph
