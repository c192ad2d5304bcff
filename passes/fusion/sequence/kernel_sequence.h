// The kernels that a compiled graph runs, in tile IR, and how each of them is launched.
//
// Buffers are the tensors in memory: those that run() gets by name, constants, and intermediate results. Extents may have symbols, whose
// values are known when the kernels run.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "passes/fusion/kernel_types.h"
#include "passes/fusion/report/loop_report.h"
#include "tileir/graph/graph.h"
#include "tileir/ir.h"

namespace tilewright::passes::fusion {

enum class BufferKind : std::uint8_t {
  input,         // given by name
  output,        // given by name
  constant,      // the contents are known when the graph is compiled
  intermediate,  // written by one kernel, or by several in parts, and read by later ones of the same run
  derived,       // computed from parameters only; kept between runs until a parameter is given again
};

/// Which part of the value of a graph's node a tensor between kernels holds.
enum class BufferContents : std::uint8_t {
  value,  // the whole value
  part,   // a value inside of the node's formula
  state,  // the state of a part of a divided loop
};

struct SequenceBuffer {
  std::string name;  // the user's name of an input or an output
  BufferKind kind{};
  ir::Element element{};
  graph::TensorShape shape;                         // intermediate buffers are row-major
  std::vector<Dim> strides;                         // the strides of an input that has strides; empty for all others
  bool is_parameter = false;                        // whether an input is a parameter
  bool is_used = true;                              // whether an output needs an input
  std::shared_ptr<const graph::ConstantData> data;  // the data of a constant: one element for the whole shape, or all in row-major order
  graph::NodeId node;                               // the node whose value it holds; none if it is not the value of a node
  graph::NodeId source;                             // in reports: the node to which `contents` refers
  BufferContents contents{};
};

/// One argument of a kernel, in the order of the function's parameters.
struct KernelArgument {
  enum class Kind : std::uint8_t { buffer, extent, scalar, number } kind{};
  int buffer = -1;         // buffer: the index of a SequenceBuffer
  Dim extent;              // extent: passed as the parameter's integer type
  std::string scalar;      // scalar: the name of a number that run() gets
  std::uint64_t bits = 0;  // number: its bits
  bool is_begin = false;   // extent: where the kernel's part of a concatenation begins
};

struct SequenceKernel {
  std::string name;
  ir::Function function;  // traced
  std::vector<KernelArgument> arguments;
  std::vector<GridFactor> grid[3];
  int num_warps = 4, num_stages = 0;
  bool contract = true, check = false;  // CompileOptions of the back end: a * b + c may be an fma; checked mode
  /// The index of an earlier kernel with the same function and configuration, or -1.
  int like = -1;

  // The following members are for reports.
  std::string reason;    // why these nodes are one kernel
  std::string estimate;  // its estimated cost, and the next best alternative; empty if there was only one
  std::vector<graph::NodeId> covers;
  int passes = 1;                  // how often the kernel reads its data along the loop's axis
  std::vector<int> reads, writes;  // buffers
  std::map<int, Dim> parts;        // buffers of which the kernel writes only a part: the elements of the part
  std::vector<FlopCount> flops;    // multiplications and additions; the total is their sum
  LoopReport loop;
  std::string plan_text;   // the whole plan as formulas: equal plans have equal texts
  std::string error_text;  // bounds of the rounding errors of sums
};

/// The combined result of the checks of all kernels.
struct SequenceProof {
  bool exact = true;                   // every kernel was compared, and no comparison found a difference
  int rounds = 0;                      // the number of random points at which plans were compared
  double log2_error = 0;               // the logarithm of the probability that a wrong plan passes
  std::vector<std::string> left_open;  // parts that only the comparison at small instances covers, or that nothing covers
  std::string text;                    // says what was compared, and contains `left_open`

  bool is_partial() const { return !left_open.empty(); }
};

/// The time that phases of build_sequence took.
struct DerivationTimes {
  double derive_ms = 0, cover_ms = 0, check_ms = 0;
};

struct KernelSequence {
  std::vector<SequenceBuffer> buffers;
  std::vector<SequenceKernel> kernels;            // the kernels of each run, in order
  std::vector<SequenceKernel> parameter_kernels;  // the kernels that run when a parameter is given, in order
  SequenceProof proof;
  DerivationTimes times;
  /// The time of the kernels of a run as GraphEstimator has it; none if a segment has no fused plan, or if numbers became arguments.
  std::optional<double> seconds;
  std::uint64_t steps = 0;             // the steps of all derivations (steps.h): they measure time without a clock
  std::vector<std::string> not_fused;  // one line each: "not fused: ... (file:line) ... because ... (file:line) ..."
};

}  // namespace tilewright::passes::fusion
