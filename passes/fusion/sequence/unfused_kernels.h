// Kernels of one node each: what a plan that is not fused consists of, and a segment that has no fused kernels.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/segments/segment.h"
#include "passes/fusion/sequence/sequence_context.h"

namespace tilewright::passes::fusion {

/// The nodes that derive_all_nodes derives, as segments of one node each, without those that have kernels of their own whatever is fused.
/// Values that are known before a run are `ahead`.
std::vector<Segment> segments_of_nodes(const graph::Graph&);
/// Derives all nodes of the graph that outputs need, one by one. Views belong to the kernels that read them.
void derive_all_nodes(SequenceContext&);
/// Derives each node of a segment separately, and says why: no plan of the segment has passed its check, say.
void derive_nodes(SequenceContext&, const Segment&, const std::string& why);

/// If several outputs have a node's value, all but the first are copies. If the value is kept between runs, so is the first.
/// stored: values that are in memory.
void copy_outputs(SequenceContext&, graph::NodeId, const std::set<graph::NodeId>& stored, bool is_kept);

}  // namespace tilewright::passes::fusion
