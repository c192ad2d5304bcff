// Derives the kernels of a graph.
#pragma once
#include "passes/fusion/options.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// Derives the kernels of a graph's outputs. A plan that its check refutes is never emitted: another plan is used, or else the nodes of the
/// segment are derived one by one. Throws CompilerBug if the check refutes one of those too. Requires: a verified graph with an output.
/// `target.sm` is 0 for hosts.
KernelSequence build_sequence(const graph::Graph&, const FusionOptions&, const ir::TargetDesc&);

}  // namespace tilewright::passes::fusion
