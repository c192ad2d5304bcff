// The data that all derivations of one graph use: the graph and what is known of it, the buffers, the names of kernels, and the sequence so
// far.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/check/instance_check.h"
#include "passes/fusion/graph/known_nodes.h"
#include "passes/fusion/options.h"
#include "passes/fusion/sequence/buffers.h"
#include "passes/fusion/sequence/graph_estimate.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "passes/fusion/tensor_names.h"
#include "passes/fusion/translate/signed_zeros.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

struct SequenceContext {
  /// Keeps the references of the graph and of the target.
  SequenceContext(const graph::Graph&, const FusionOptions&, const ir::TargetDesc&, PlanCheck);
  SequenceContext(const SequenceContext&) = delete;
  SequenceContext& operator=(const SequenceContext&) = delete;

  const graph::Graph& graph;
  FusionOptions options;  // the options of the segment that is being derived: without `reassociate` if its rewritten formulas have no plan
  const ir::TargetDesc& target;
  const PlanCheck check;
  const KnownNodes known;
  const std::vector<ZeroSign> zero_signs;                              // by node (signed_zeros.h)
  std::map<graph::NodeId, std::vector<const graph::Output*>> outputs;  // the outputs of each node, in the order of the graph's outputs
  SequenceBuffers buffers;
  InstanceCheck instances;
  NameSet kernel_names;
  std::set<const graph::OpaqueKernel*> called;  // the user's kernels that the sequence has
  KernelSequence sequence;
  /// The seconds of the kernels so far. If FusionOptions::emit is false, all estimates of these kernels, which are not in the sequence.
  EstimatedFormulas estimated;

  /// The outputs that have the node's value.
  std::vector<const graph::Output*> outputs_of(graph::NodeId) const;
  /// Whether no kernel computes a node because it has no elements. Calls are made in any case.
  bool needs_no_kernel(graph::NodeId) const;
  /// If formulas are kept as written, their roundings stay in place.
  bool moves_rounding() const { return options.move_rounding && (options.reassociate || !options.fuse); }

  /// A new name for a kernel, after the buffers that it writes.
  std::string kernel_name(const std::vector<int>& written) { return kernel_names.add(buffers.subject_of(written)); }
};

}  // namespace tilewright::passes::fusion
