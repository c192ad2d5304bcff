// Maps parameters to extents, scalars and buffers.
#include "passes/fusion/sequence/kernel_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "passes/fusion/expr/expr_text.h"
#include "passes/fusion/report/covered_nodes.h"

namespace tilewright::passes::fusion {

void take_emitted(SequenceKernel& k, EmittedKernel e, const TileSizes& sizes, ProgramBuffers& buffers) {
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

SequenceKernel scatter_kernel(const graph::Graph& g, const ExprPool& pool, graph::NodeId n, const Scatter& s, bool is_atomic,
                              const std::string& name) {
  SequenceKernel k;
  k.reason = is_atomic ? "programs add the updates by atomics" : "each program adds the updates of its rows and columns in order";
  std::set<std::uint32_t> covered{n.index};
  ExprSet seen;
  for (Expr e : {s.start, s.target, s.update})
    if (e != s.start || !is_atomic) cover_sources(g, pool, e, seen, covered);
  for (std::uint32_t node : covered) k.covers.push_back({node});
  k.plan_text = fmt::format("{}[{}] += {}{}", name, text(s.target), text(s.update), is_atomic ? ", atomic" : ", in order");
  return k;
}

}  // namespace tilewright::passes::fusion
