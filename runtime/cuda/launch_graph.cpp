// Builds, updates and launches CUDA graphs.
#include "runtime/cuda/launch_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/launch_parameters.h"
#include "runtime/cuda/streams.h"

namespace tilewright::rt::cuda {

namespace {

const CudaKernel& kernel_of(const PreparedLaunch& l) { return static_cast<const CudaKernel&>(*l.executable); }

/// The parameters of a kernel node, which the driver copies.
class NodeParameters {
 public:
  explicit NodeParameters(const PreparedLaunch& l) : passed_(kernel_of(l), l.arguments, l.config) {
    const CudaKernel& kernel = kernel_of(l);
    const std::array<std::int32_t, 3>& grid = passed_.grid();
    parameters_ = {kernel.function,
                   static_cast<unsigned>(grid[0]),
                   static_cast<unsigned>(grid[1]),
                   static_cast<unsigned>(grid[2]),
                   kernel.threads,
                   1,
                   1,
                   kernel.dynamic_shared_bytes,
                   passed_.get(),
                   /*extra=*/nullptr,
                   /*kern=*/nullptr,
                   /*ctx=*/nullptr};
  }
  const CUDA_KERNEL_NODE_PARAMS* get() const { return &parameters_; }

 private:
  LaunchParameters passed_;
  CUDA_KERNEL_NODE_PARAMS parameters_{};
};

}  // namespace

bool LaunchGraph::Node::is(const PreparedLaunch& l) const {
  return kernel == &kernel_of(l) && grid == l.config.grid && arguments == l.arguments;
}

void LaunchGraph::Node::set(const PreparedLaunch& l) {
  kernel = &kernel_of(l);
  grid = l.config.grid;
  arguments = l.arguments;
}

LaunchGraph::~LaunchGraph() {
  const Current current(context_, std::nothrow);
  release();
}

void LaunchGraph::release() noexcept {
  if (executable_) context_.driver().cuGraphExecDestroy(executable_);
  if (graph_) context_.driver().cuGraphDestroy(graph_);
  executable_ = nullptr;
  graph_ = nullptr;
  nodes_.clear();
}

void LaunchGraph::launch(std::span<const PreparedLaunch> launches, Stream& stream) {
  const bool needs_memory =
      std::any_of(launches.begin(), launches.end(), [](const PreparedLaunch& l) { return kernel_of(l).reports || kernel_of(l).sites; });
  if (launches.size() < 2 || needs_memory) {
    for (const PreparedLaunch& l : launches) device_->launch(*l.executable, l.config, l.arguments, stream);
    return;
  }
  const Here& where = launches[0].config.where;
  const Current current(context_, where);
  if (nodes_.size() != launches.size() || !update(launches)) {
    // The nodes of a graph belong to no stream, so a capture by another thread does not concern them.
    const OutsideCapture outside(context_.driver());
    release();
    try {
      build(launches);
    } catch (...) {
      release();
      throw;
    }
  }
  const CUstream handle = static_cast<CudaStream&>(stream).handle();
  if (const CUresult status = context_.driver().cuGraphLaunch(executable_, handle); status != CUDA_SUCCESS) {
    std::string names;
    for (const Node& n : nodes_) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", n.kernel->name);
    context_.fail(status, "cuGraphLaunch", where, fmt::format(", of kernels {}", names));
  }
  for (const PreparedLaunch& l : launches) context_.history().add(kernel_of(l).name, l.config.where);
}

void LaunchGraph::build(std::span<const PreparedLaunch> launches) {
  const Here& where = launches[0].config.where;
  TW_CUDA_CALL(context_, where, cuGraphCreate, &graph_, 0);
  for (const PreparedLaunch& l : launches) {
    Node node;
    node.set(l);
    const CUgraphNode* before = nodes_.empty() ? nullptr : &nodes_.back().handle;
    const NodeParameters parameters(l);
    TW_CUDA_CALL(context_, where, cuGraphAddKernelNode, &node.handle, graph_, before, before ? 1 : 0, parameters.get());
    nodes_.push_back(std::move(node));
  }
  TW_CUDA_CALL(context_, where, cuGraphInstantiate, &executable_, graph_, 0);
}

bool LaunchGraph::update(std::span<const PreparedLaunch> launches) {
  for (std::size_t i = 0; i < launches.size(); ++i) {
    Node& node = nodes_[i];
    if (node.is(launches[i])) continue;
    // Throws if the arguments cannot be launched; then the node keeps its old parameters.
    const NodeParameters parameters(launches[i]);
    if (context_.driver().cuGraphExecKernelNodeSetParams(executable_, node.handle, parameters.get()) != CUDA_SUCCESS) return false;
    node.set(launches[i]);
  }
  return true;
}

}  // namespace tilewright::rt::cuda
