// Reuses the kernels of a segment for another segment with the same structure: their code stays, and their buffers are replaced.
#pragma once
#include <map>
#include <string>

#include "passes/fusion/graph/segment.h"
#include "passes/fusion/sequence/buffers.h"
#include "passes/fusion/sequence/kernel_sequence.h"

namespace tilewright::passes::fusion {

class Repetition {
 public:
  /// Keeps the reference to the buffers.
  Repetition(const graph::Graph&, ProgramBuffers&, const Segment& derived, const Segment& like);
  /// A kernel of the derived segment with the buffers of the other segment, and without a name of its own.
  SequenceKernel kernel(const SequenceKernel&);

 private:
  int buffer(int);

  ProgramBuffers& buffers_;
  std::map<int, int> known_;
  std::map<graph::NodeId, graph::NodeId> nodes_;
  std::map<std::string, std::string> names_;
};

}  // namespace tilewright::passes::fusion
