// The fused kernels of a segment: formulas of its results, divided into kernels, checked and emitted.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "passes/fusion/cover/cover.h"
#include "passes/fusion/segments/segment.h"
#include "passes/fusion/segments/segment_structure.h"
#include "passes/fusion/sequence/formulas.h"
#include "passes/fusion/sequence/sequence_context.h"
#include "passes/fusion/translate/parameters.h"

namespace tilewright::passes::fusion {

class FusedKernels {
 public:
  /// ahead: the results of segments that are computed before a run. Keeps the reference to the context.
  FusedKernels(SequenceContext& c, std::set<graph::NodeId> ahead) : c_(c), structure_(c.graph, c.known), ahead_(std::move(ahead)) {}

  /// Adds the kernels of a segment to the sequence, or their estimates to that of the context if the options have no emission. Throws
  /// DerivationFailed.
  void derive(const Segment&);

 private:
  void derive_ahead(const Segment&);
  void derive_within_budget(const Segment&);
  void derive_results(const Segment&, std::uint64_t most_steps);
  void derive_apart(const Segment&, const std::set<graph::NodeId>& apart, std::string (*why)(const graph::Graph&, graph::NodeId));

  std::vector<const graph::Output*> outputs_of_results(const Segment&) const;
  void translate_results(const Segment&, Formulas&);
  ParameterFolding::Options folding_options();
  bool is_known(Tensor) const;

  void add_estimate(Formulas&, const std::vector<KernelOutput>& of_parameters, bool is_ahead);
  GraphEstimate estimate(Formulas&, const std::vector<CoveredKernel>&) const;
  std::vector<CoveredKernel> covered(Formulas&, const std::vector<KernelOutput>&);
  std::vector<CoveredKernel> covered_results(Formulas&, bool are_folded);
  void emit_checked(Formulas&, std::vector<CoveredKernel> ahead, std::vector<CoveredKernel> kernels, std::vector<SequenceKernel>& to);

  SequenceContext& c_;
  const SegmentStructure structure_;
  const std::set<graph::NodeId> ahead_;
};

}  // namespace tilewright::passes::fusion
