// Launches a sequence of kernels as one CUDA graph.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/cuda_kernel.h"
#include "runtime/device.h"

namespace tilewright::rt::cuda {

/// A chain of kernel nodes, made at the first launch. Later launches update the nodes whose kernel, grid or arguments have changed; a
/// launch in progress keeps its own. Launches after the first one allocate nothing.
///
/// Kernels that report or check accesses need memory for each launch, so they are submitted one by one.
class LaunchGraph : public LaunchSequence {
 public:
  LaunchGraph(std::shared_ptr<Device> device, Context& context) : device_(std::move(device)), context_(context) {}
  ~LaunchGraph() override;
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;
  void launch(std::span<const PreparedLaunch>, Stream&) override;

 private:
  struct Node {
    CUgraphNode handle = nullptr;
    const CudaKernel* kernel = nullptr;
    std::array<std::int32_t, 3> grid{};
    std::vector<std::uint64_t> arguments;
    bool is(const PreparedLaunch&) const;
    void set(const PreparedLaunch&);
  };
  void build(std::span<const PreparedLaunch>);
  /// Returns false if the driver refuses a change.
  bool update(std::span<const PreparedLaunch>);
  void release() noexcept;

  const std::shared_ptr<Device> device_;
  Context& context_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  std::vector<Node> nodes_;
};

}  // namespace tilewright::rt::cuda
