// Follows the buffers through the kernels of a run.
#include "passes/fusion/sequence/check_buffers.h"

#include <algorithm>
#include <set>

#include "tileir/diagnostics.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

void check_buffers(const KernelSequence& p) {
  std::set<int> written;
  const auto buffer = [&](int b) -> const SequenceBuffer& { return p.buffers[static_cast<std::size_t>(b)]; };
  // A tensor without elements need not be written.
  const auto is_given = [&](int b) {
    return buffer(b).kind == BufferKind::input || buffer(b).kind == BufferKind::constant || graph::is_empty(buffer(b).shape);
  };
  for (const std::vector<SequenceKernel>* kernels : {&p.parameter_kernels, &p.kernels})
    for (const SequenceKernel& k : *kernels) {
      for (int b : k.reads)
        TW_CHECK(is_given(b) || written.contains(b),
                 "fusion: kernel '" + k.name + "' reads '" + buffer(b).name + "', which no kernel before it writes");
      // The parameter through which a kernel writes is declared to be disjoint from all others.
      for (int b : k.writes) {
        const auto is_written = [&](const KernelArgument& a) { return a.kind == KernelArgument::Kind::buffer && a.buffer == b; };
        TW_CHECK(std::count_if(k.arguments.begin(), k.arguments.end(), is_written) == 1,
                 "fusion: kernel '" + k.name + "' has two parameters for '" + buffer(b).name + "', which it writes");
      }
      written.insert(k.writes.begin(), k.writes.end());
    }
  for (int b = 0; b < static_cast<int>(p.buffers.size()); ++b)
    TW_CHECK(buffer(b).kind != BufferKind::output || written.contains(b) || is_given(b),
             "fusion: no kernel writes the output '" + buffer(b).name + "'");
}

}  // namespace tilewright::passes::fusion
