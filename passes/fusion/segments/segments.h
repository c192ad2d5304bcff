// Divides a graph at values that are in memory whatever is fused, and finds equal parts between them.
//
//   1. find_own_kernels (cuts.h): nodes with kernels of their own, and what they read, are stored (node_memory.h), and so are scans inside of
//      scans.
//   2. find_cuts: a value is stored if it is needed again when a product of it is complete (product_reuse.h), such as the sum to which each
//      layer of a model adds: otherwise a kernel would compute everything before it twice. So are pieces of a concatenation of which another
//      piece is a product (cut_pieces_needed_again), values that many successive reductions read (recurring_values.h) or that are read at
//      many shifted positions (shifted_reads.h), concatenations of products (concat_pieces.h), and one value of each long chain of products
//      (bottleneck).
//   3. delay: a value that only later segments need is computed there.
//   4. components: results that read a common tensor are one segment. A tensor of which many slices are read is not common to their readers.
//   5. add_segments: a segment that is too large is cut (segment_parts.h); each part gets the text of its structure (segment_structure.h),
//      by which equal layers are derived once. add_joined: a concatenation of many operands is written operand by operand.
//   6. find_ahead: results that depend only on parameters, and that later segments read, are computed before a run.
#pragma once
#include <cstddef>
#include <set>
#include <vector>

#include "passes/fusion/segments/segment.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

/// The segments of a graph's outputs, in an order in which each one's operands are computed before it. is_host: whether the kernels are for
/// a host.
std::vector<Segment> divide(const graph::Graph&, std::size_t most_operations = kMostOperations, bool is_host = false);

/// The results of segments that are computed before a run.
std::set<graph::NodeId> results_ahead(const std::vector<Segment>&);

}  // namespace tilewright::passes::fusion
