// Reuses the kernels of a segment for another segment with the same structure: their code stays, and their buffers are replaced.
#pragma once
#include <cstddef>
#include <optional>

#include "passes/fusion/segments/segment.h"
#include "passes/fusion/sequence/sequence_context.h"

namespace tilewright::passes::fusion {

/// Indices in a list of kernels.
struct KernelRange {
  std::size_t begin = 0, end = 0;
};

/// A segment, and where its kernels are in the sequence.
struct DerivedSegment {
  Segment segment;
  KernelRange kernels, parameter_kernels;
  std::optional<double> seconds = {};  // the estimated time of its kernels; none if it has no fused plan
};

/// Adds the kernels of the derived segment again, with the buffers of the other one.
void repeat_kernels(SequenceContext&, const DerivedSegment&, const Segment& like);

}  // namespace tilewright::passes::fusion
