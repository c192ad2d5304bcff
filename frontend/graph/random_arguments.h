// The arguments of a run that is only measured: random inputs, and memory of its own for the outputs.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "tileir/graph/graph.h"
#include "tilewright/plan.h"

namespace tilewright::detail {

/// Symbols have typical values, as in estimates.
class RandomArguments {
 public:
  /// Why a graph cannot run on random numbers on this device; empty if it can: its indices must be inputs or constants, what a kernel of the
  /// user expects of its inputs is not known, and there must be memory.
  static std::string problem_of(const graph::Graph&, const rt::Device&);
  /// Requires: no problem. Throws Error at `at` if there is no memory.
  RandomArguments(const graph::Graph&, std::shared_ptr<rt::Device>, const Here& at);

  /// Everything but the parameters.
  const std::vector<RunArgument>& each_run() const { return each_run_; }
  const std::vector<RunArgument>& parameters() const { return parameters_; }

 private:
  RunArgument argument(const std::string& name, ir::Element, std::int64_t count);

  const std::shared_ptr<rt::Device> device_;
  const Here at_;
  std::vector<std::unique_ptr<RawBuffer>> buffers_;
  std::vector<RunArgument> each_run_, parameters_;
};

}  // namespace tilewright::detail
