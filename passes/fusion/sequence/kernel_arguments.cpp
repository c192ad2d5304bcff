// Maps parameters to extents, scalars and buffers.
#include "passes/fusion/sequence/kernel_arguments.h"

#include <algorithm>
#include <utility>

#include "passes/fusion/tensor_names.h"

namespace tilewright::passes::fusion {

namespace {

// Sets the function, the grid, the arguments, and the buffers that the kernel reads and writes.
void take_emitted(SequenceKernel& k, EmittedKernel e, const TileSizes& sizes, SequenceBuffers& buffers) {
  k.name = e.function.name;
  for (const EmittedKernel::Parameter& p : e.parameters) {
    KernelArgument a;
    if (!p.tensor) {
      a.kind = KernelArgument::Kind::extent;
      a.extent = p.extent;
    } else if (p.tensor->is_begin) {
      a.kind = KernelArgument::Kind::extent;
      a.is_begin = true;
    } else if (p.tensor->is_scalar) {
      a.kind = KernelArgument::Kind::scalar;
      a.scalar = p.tensor->name;
    } else {
      a.kind = KernelArgument::Kind::buffer;
      a.buffer = buffers.of(p.tensor);
      const bool is_written = std::find(e.writes.begin(), e.writes.end(), p.tensor) != e.writes.end();
      (is_written ? k.writes : k.reads).push_back(a.buffer);
    }
    k.arguments.push_back(std::move(a));
  }
  for (int i = 0; i < 3; ++i) k.grid[i] = e.grid[i];
  k.num_warps = sizes.num_warps;
  k.num_stages = sizes.num_stages;
  k.function = std::move(e.function);
}

}  // namespace

void add_emitted(SequenceKernel k, EmittedKernel e, const TileSizes& sizes, SequenceBuffers& buffers, std::vector<SequenceKernel>& to) {
  take_emitted(k, std::move(e), sizes, buffers);
  name_function(k, buffers);
  to.push_back(std::move(k));
}

void name_function(SequenceKernel& k, const SequenceBuffers& buffers) {
  k.function.name = k.name;
  for (std::size_t i = 0; i < k.arguments.size(); ++i)
    if (const KernelArgument& a = k.arguments[i]; a.kind == KernelArgument::Kind::buffer)
      k.function.params[i].name = identifier(buffers[a.buffer].name);
}

}  // namespace tilewright::passes::fusion
