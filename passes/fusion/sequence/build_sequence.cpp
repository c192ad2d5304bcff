// Derives one segment after the other.
#include "passes/fusion/sequence/build_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "passes/fusion/derivation_failed.h"
#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/segments/alike_segments.h"
#include "passes/fusion/segments/segment_parts.h"
#include "passes/fusion/segments/segments.h"
#include "passes/fusion/segments/segments_text.h"
#include "passes/fusion/sequence/argument_numbers.h"
#include "passes/fusion/sequence/check_buffers.h"
#include "passes/fusion/sequence/fused_kernels.h"
#include "passes/fusion/sequence/joined_part.h"
#include "passes/fusion/sequence/own_kernels.h"
#include "passes/fusion/sequence/repeat_kernels.h"
#include "passes/fusion/sequence/sequence_context.h"
#include "passes/fusion/sequence/sequence_proof.h"
#include "passes/fusion/sequence/unfused_kernels.h"
#include "passes/fusion/thresholds.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

using graph::NodeId;

namespace {

void derive_together(SequenceContext& c, FusedKernels& fused, const Segment& s) {
  if (std::all_of(s.results.begin(), s.results.end(), [&](NodeId n) { return c.needs_no_kernel(n); })) return;
  if (s.joined || !has_own_kernels(c.graph.node(s.results[0]).op)) return fused.derive(s);
  derive_own_kernels(c, s.results[0], s.memory);
  for (NodeId n : s.results) copy_outputs(c, n, {n}, false);
}

// Derives a segment as it is written, since its rewritten formulas have no plan; false if it has none as written, either.
bool derive_as_written(SequenceContext& c, FusedKernels& fused, const Segment& s, const std::string& why) {
  if (!c.options.reassociate) return false;
  c.options.reassociate = false;
  bool is_derived = true;
  try {
    within_fractions([&] { derive_together(c, fused, s); });
  } catch (const TileTooLarge&) {
    throw;
  } catch (const DerivationFailed&) {
    is_derived = false;
  }
  c.options.reassociate = true;
  const Location& where = c.graph.node(s.results.back()).where;
  if (is_derived)
    c.sequence.not_fused.push_back(fmt::format("not rewritten: fused as written ({}:{}), because {}", where.file, where.line, why));
  return is_derived;
}

// Derives a segment whose structure is new.
DerivedSegment derive_segment(SequenceContext& c, FusedKernels& fused, const Segment& s) {
  std::vector<SequenceKernel>&kernels = c.sequence.kernels, &parameter_kernels = c.sequence.parameter_kernels;
  for (std::string& why : stored_texts(c.graph, s)) c.sequence.not_fused.push_back(std::move(why));
  DerivedSegment derived{s, {kernels.size(), 0}, {parameter_kernels.size(), 0}};
  const std::size_t reported = c.sequence.not_fused.size();
  const auto undo = [&] {
    kernels.resize(derived.kernels.begin);
    parameter_kernels.resize(derived.parameter_kernels.begin);
  };
  c.estimated = {};
  try {
    within_fractions([&] { derive_together(c, fused, s); });
    derived.seconds = c.estimated.estimate.seconds;
  } catch (const TileTooLarge&) {
    throw;
  } catch (const DerivationFailed& why) {
    undo();
    c.sequence.not_fused.resize(reported);
    if (!derive_as_written(c, fused, s, why.reason)) {
      if (s.joined) throw;
      undo();
      derive_nodes(c, s, why.reason);
    }
  }
  derived.kernels.end = kernels.size();
  derived.parameter_kernels.end = parameter_kernels.size();
  return derived;
}

// The kernels from these indices on belong to a part of a concatenation.
void finish_joined(SequenceContext& c, const Segment& s, std::size_t begin, std::size_t parameter_begin) {
  if (!s.joined) return;
  const NodeId whole = s.joined->whole;
  const int buffer = c.buffers.of(whole);
  set_begin(*s.joined, buffer, std::span(c.sequence.kernels).subspan(begin));
  set_begin(*s.joined, buffer, std::span(c.sequence.parameter_kernels).subspan(parameter_begin));
  if (s.joined->is_last) copy_outputs(c, whole, {whole}, s.joined->is_ahead);
}

KernelSequence finished(SequenceContext& c) {
  finish_proof(c);
  c.sequence.steps += c.instances.steps();
  c.sequence.buffers = std::move(c.buffers).finish(c.sequence.kernels, c.sequence.parameter_kernels);
  check_buffers(c.sequence);
  return std::move(c.sequence);
}

// Derives segments of one graph.
class Derivation {
 public:
  /// Keeps the references.
  Derivation(const graph::Graph& g, const std::vector<Segment>& segments, const FusionOptions& options, const ir::TargetDesc& target,
             const PlanCheck& check)
      : segments_(segments), c_(g, options, target, check), fused_(c_, results_ahead(segments)) {
    // A value that is an output and that later segments read is stored only once. But inputs and constants have memory of their own, and a
    // value that is known before a run is also stored elsewhere.
    c_.buffers.store_in_outputs(
        [&g, ahead = results_ahead(segments)](NodeId n) { return !has_own_memory(g.node(n)) && !ahead.contains(n); });
  }

  KernelSequence all() {
    std::map<std::string, DerivedSegment> derived;  // by structure
    std::optional<double> seconds = 0;
    for (const Segment& s : segments_) {
      if (s.cut) c_.sequence.not_fused.push_back(cut_text(c_.graph, *s.cut, fmt::format("a part has at most {}", kMostOperations)));
      const std::size_t begin = c_.sequence.kernels.size(), parameter_begin = c_.sequence.parameter_kernels.size();
      auto known = derived.find(s.structure);
      if (known != derived.end())
        repeat_kernels(c_, known->second, s);
      else
        known = derived.emplace(s.structure, derive_segment(c_, fused_, s)).first;
      if (seconds) seconds = known->second.seconds ? std::optional(*seconds + *known->second.seconds) : std::nullopt;
      finish_joined(c_, s, begin, parameter_begin);
    }
    KernelSequence sequence = finished(c_);
    sequence.seconds = seconds;
    return sequence;
  }

  /// The kernels of one segment.
  std::span<const SequenceKernel> one(const Segment& s) {
    const KernelRange range = derive_segment(c_, fused_, s).kernels;
    return std::span(c_.sequence.kernels).subspan(range.begin, range.end - range.begin);
  }
  /// The number of steps so far.
  std::uint64_t steps() const { return c_.sequence.steps + c_.instances.steps(); }

 private:
  const std::vector<Segment>& segments_;
  SequenceContext c_;
  FusedKernels fused_;
};

// The alike segments whose kernels do the same work if they get numbers as arguments. Adds the steps that this takes.
std::vector<AlikeSegments> segments_with_arguments(const graph::Graph& g, const std::vector<Segment>& segments,
                                                   const FusionOptions& options, const ir::TargetDesc& target, const PlanCheck& check,
                                                   std::uint64_t& steps) {
  std::vector<AlikeSegments> alike = alike_segments(g, segments);
  if (alike.empty()) return alike;
  const ArgumentGraph changed = with_arguments(g, segments, alike);
  Derivation numbers(g, segments, options, target, check), arguments(changed.graph, changed.segments, options, target, check);
  std::erase_if(alike, [&](const AlikeSegments& a) {
    const std::size_t first = a.segments[0];
    try {
      return !do_same_work(numbers.one(segments[first]), arguments.one(changed.segments[first]));
    } catch (const DerivationFailed&) {
      return true;
    }
  });
  steps += numbers.steps() + arguments.steps();
  return alike;
}

KernelSequence fused_sequence(const graph::Graph& g, const FusionOptions& options, const ir::TargetDesc& target, const PlanCheck& check) {
  const std::vector<Segment> segments = divide(g, kMostOperations, !target.is_gpu());
  std::uint64_t steps = 0;
  KernelSequence sequence;
  if (const std::vector<AlikeSegments> alike = segments_with_arguments(g, segments, options, target, check, steps); alike.empty()) {
    sequence = Derivation(g, segments, options, target, check).all();
  } else {
    const ArgumentGraph changed = with_arguments(g, segments, alike);
    sequence = Derivation(changed.graph, changed.segments, options, target, check).all();
    sequence.seconds.reset();
    set_numbers(sequence, g, changed.graph);
  }
  sequence.steps += steps;
  return sequence;
}

KernelSequence unfused_sequence(const graph::Graph& g, const FusionOptions& options, const ir::TargetDesc& target, const PlanCheck& check) {
  const auto derived = [&](const graph::Graph& derived_graph) {
    SequenceContext c(derived_graph, options, target, check);
    derive_all_nodes(c);
    return finished(c);
  };
  const std::vector<Segment> nodes = segments_of_nodes(g);
  const std::vector<AlikeSegments> alike = alike_segments(g, nodes);
  if (alike.empty()) return derived(g);
  const ArgumentGraph changed = with_arguments(g, nodes, alike);
  KernelSequence sequence = derived(changed.graph);
  set_numbers(sequence, g, changed.graph);
  return sequence;
}

}  // namespace

KernelSequence build_sequence(const graph::Graph& g, const FusionOptions& options, const ir::TargetDesc& target, const PlanCheck& check) {
  std::string not_fused;
  if (options.fuse) {
    try {
      return within_fractions([&] { return fused_sequence(g, options, target, check); });
    } catch (const DerivationFailed& why) {
      // More axes than a tile may have, or a node between memory and memory that has no plan: the unfused kernels have the message.
      not_fused = "not fused: node by node, because " + why.reason;
    }
  }
  try {
    KernelSequence sequence = within_fractions([&] { return unfused_sequence(g, options, target, check); });
    if (!not_fused.empty()) sequence.not_fused.push_back(std::move(not_fused));
    return sequence;
  } catch (const DerivationFailed& why) {
    TW_CHECK(false, "fusion: one node has no kernel, because " + why.reason);
  }
  TW_UNREACHABLE("a node without a kernel");
}

}  // namespace tilewright::passes::fusion
