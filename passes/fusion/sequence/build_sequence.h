// Derives the kernels of a graph. This is the driver of fusion: each step names the function that takes it.
//
//   1. divide: the graph becomes segments, at values that are in memory whatever is fused (segments/segments.h).
//      segments_with_arguments: numbers in which segments of otherwise equal structure differ become arguments (segments/alike_segments.h).
//   2. repeat_kernels: a segment with the structure of an earlier one has its kernels, with other buffers (repeat_kernels.h).
//   3. derive_own_kernels: sums at positions that are data, and kernels of the user, are segments of their own (own_kernels.h).
//   4. FusedKernels::derive: all other segments (fused_kernels.h):
//      a. translate_results: results become formulas over named axes, in normal form (translate/graph_to_exprs.h, expr/normal_form.h).
//      b. ParameterFolding::fold: parts that depend only on parameters move to kernels that run ahead (translate/parameters.h).
//      c. cover: the formulas are divided into kernels, of which each has a plan and tiles (cover/cover.h, plan/, check/, tiles/, emit/).
//      d. check_results: what the kernels write is compared with the graph (check/instance_check.h). Nothing is emitted before.
//      e. emit_covered: kernels are emitted, get buffers and arguments, and are described (emit_kernels.h); one whose loop programs divide
//         becomes two (divided_loop.h).
//   5. derive_as_written: a segment for which step 4 fails takes it again without rewriting.
//      derive_nodes: if that fails, too, it is derived node by node (unfused_kernels.h).
//   6. set_begin: kernels of a part of a concatenation get the position at which the part begins (joined_part.h).
//   7. finished: the buffers are complete, and each is written before it is read (buffers.h, check_buffers.h).
#pragma once
#include "passes/fusion/check/field_check.h"
#include "passes/fusion/options.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// Derives the kernels of a graph's outputs. A plan that its check refutes is never emitted: another plan is used, else one of the segment
/// as it is written, or else its nodes are derived one by one. Throws CompilerBug if the check refutes one of those too.
/// Requires: a verified graph with an output. `target.sm` is 0 for hosts.
KernelSequence build_sequence(const graph::Graph&, const FusionOptions&, const ir::TargetDesc&, const PlanCheck& = {});

}  // namespace tilewright::passes::fusion
