// Assigns arguments to the parameters of a user's kernel.
#include "passes/fusion/sequence/called_kernel.h"

#include <fmt/format.h>

namespace tilewright::passes::fusion {

SequenceKernel called_kernel(const graph::OpaqueKernel& kernel, const std::vector<int>& operands, const std::vector<int>& results) {
  SequenceKernel k;
  k.function = kernel.function;
  for (const graph::OpaqueKernel::Argument& a : kernel.arguments) {
    using From = graph::OpaqueKernel::Argument::Kind;
    KernelArgument to;
    to.extent = a.extent;
    to.bits = a.bits;
    to.scalar = a.name;
    switch (a.kind) {
      case From::operand: k.reads.push_back(to.buffer = operands[a.index]); break;
      case From::result: k.writes.push_back(to.buffer = results[a.index]); break;
      case From::extent: to.kind = KernelArgument::Kind::extent; break;
      case From::number: to.kind = KernelArgument::Kind::number; break;
      case From::scalar: to.kind = KernelArgument::Kind::scalar; break;
    }
    k.arguments.push_back(std::move(to));
  }
  for (std::size_t i = 0; i < 3; ++i) k.grid[i].push_back({kernel.grid[i], i == 0 ? kernel.lanes : 1});
  k.num_warps = kernel.num_warps;
  k.num_stages = kernel.num_stages;
  k.contract = kernel.contract;
  k.check = kernel.check;
  k.reason = kernel.reason.empty() ? "a kernel of the user" : kernel.reason;
  k.plan_text = kernel.reason.empty() ? fmt::format("{} as the user has written it", kernel.name) : kernel.reason;
  return k;
}

}  // namespace tilewright::passes::fusion
