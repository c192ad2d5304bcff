// Runs a textual graph: its plan on a device, or the graph itself in the interpreter.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frontend/cli/arguments/graph_arguments.h"
#include "runtime/device.h"
#include "tileir/graph/interpreter.h"
#include "tilewright/buffer.h"
#include "tilewright/plan.h"

namespace tilewright::cli {

/// An output after a run.
struct GraphResult {
  std::string name;
  ir::Element element{};
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  std::size_t size() const { return bytes.size() / static_cast<std::size_t>(ir::bytes(element)); }
  /// Element i as a number: exact for all types.
  long double number(std::size_t i) const;
};

/// The buffers of a plan on a device.
class GraphExecution {
 public:
  GraphExecution(const graph::Graph&, const Plan&, std::shared_ptr<rt::Device>, const GraphArguments&);

  /// Runs the plan and waits for it. Parameters are given to the first run only; the plan keeps them.
  void launch();
  std::vector<GraphResult> results() const;

 private:
  struct Buffer {
    std::string name;
    ir::Element element{};
    detail::RawBuffer memory;
  };
  struct OutputBuffer {
    Buffer buffer;
    std::vector<std::int64_t> shape;
  };
  Buffer make_buffer(const std::string& name, ir::Element, std::int64_t count) const;
  RunArgument argument(const Buffer&) const;

  const Plan plan_;
  std::shared_ptr<rt::Device> device_;
  std::vector<Buffer> inputs_;
  std::vector<OutputBuffer> outputs_;
  std::vector<RunArgument> arguments_, parameters_;
};

/// The outputs as the interpreter computes them. With Rounding::double_precision, floats are f64.
std::vector<GraphResult> interpret_graph(const graph::Graph&, const GraphArguments&, graph::Rounding);
/// The outputs of a run in double precision with perturbed operands.
std::vector<GraphResult> interpret_graph(const graph::Graph&, const GraphArguments&, const graph::Perturbation&);

}  // namespace tilewright::cli
