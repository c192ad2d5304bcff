// Finds the fastest of equal graphs by running them on a device.
//
//   1. find_known: what was measured before is in the wisdom file, under the structure of the graph as written, the device and the options.
//   2. measure: the graphs are compiled and run in turns on random numbers, as a tuner's configurations are.
//   3. Measurement::keep: the text of the fastest graph goes to the wisdom file.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "passes/search/choose/search_options.h"
#include "runtime/device.h"
#include "tilewright/plan.h"

namespace tilewright::detail {

class GraphMeasurer {
 public:
  using Compile = std::function<Plan(std::shared_ptr<const graph::Graph>)>;
  /// `compile`: compiles a graph as it is for the device.
  GraphMeasurer(std::shared_ptr<rt::Device>, const PlanOptions&, Compile, const Here& at);

  /// The fastest of graphs of the same inputs and outputs, of which the first is as written and is chosen unless another one is faster by
  /// more than the noise. None if they cannot be run; the log then says why. Throws Error if it would have to measure after tw::seal().
  std::optional<passes::search::Measurement> operator()(std::span<const graph::Graph>) const;

 private:
  struct Texts;
  std::optional<passes::search::Measurement> find_known(const Texts&) const;
  std::optional<passes::search::Measurement> measure(std::span<const graph::Graph>, const Texts&) const;

  const std::shared_ptr<rt::Device> device_;
  const std::string options_;
  const Compile compile_;
  const Here at_;
};

}  // namespace tilewright::detail
