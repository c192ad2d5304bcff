// Cuts a segment that is too large to be derived as a whole.
//
// The time of a derivation grows faster than the size of its formulas, and walks over formulas are as deep as the formulas. So a segment
// has a bounded number of operations. It is cut between operations, in an order in which each one follows its operands, where the fewest
// bytes are live: at the result of a solver's step, and not at one of the five values inside of it.
#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/segments/segment.h"

namespace tilewright::passes::fusion {

/// The number of operations that a segment computes. Leaves do not count, and views only where kViewsOfOperation of them follow each other.
/// Reductions and products count as several, since their operands are followed through each loop that may compute them.
std::size_t operations_of(const graph::Graph&, const Segment&);

/// The results of each part, in the order of the parts: results of the segment, and values that later parts read. There is one part if the
/// segment has at most `most` operations, or is one operation.
std::vector<std::vector<graph::NodeId>> results_of_parts(const graph::Graph&, const Segment&, std::size_t most);

/// "not fused: 999 operations up to sin (chain.cpp:12) are derived in 7 parts, because ...".
std::string cut_text(const graph::Graph&, const SegmentCut&, const std::string& why);

/// "not fused: sub_2 (solver.cpp:12) is stored, because ...", for a value that would be computed twice (repeated_values.h).
std::string stored_text(const graph::Graph&, graph::NodeId);

/// The values of other kernels (`stored`) that a kernel for one node reads, directly or through views and leaves.
std::set<graph::NodeId> stored_operands(const graph::Graph&, graph::NodeId, const std::set<graph::NodeId>& stored);

}  // namespace tilewright::passes::fusion
