// What a compiled graph runs: kernels in tile IR, and how to launch each of them.
//
// Buffers are the tensors in memory: what run() gets by name, constants, and intermediate results. Extents may have symbols; their values
// are known when the program runs.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/report/loop_report.h"
#include "tileir/graph/graph.h"
#include "tileir/ir.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

enum class BufferKind : std::uint8_t {
  input,         // given by name
  output,        // given by name
  constant,      // contents known when the graph is compiled
  intermediate,  // written by one kernel, read by later ones of the same run
  derived,       // computed from parameters alone; kept from run to run until a parameter is given again
};

/// What a tensor between kernels holds of the value of a graph's node.
enum class BufferContents : std::uint8_t {
  value,  // all of it
  part,   // a value inside of its formula
  state,  // what the parts of a divided loop have found of it
};

struct ProgramBuffer {
  std::string name;  // of input and output: the user's
  BufferKind kind{};
  ir::Element element{};
  graph::TensorShape shape;                         // of an intermediate: row-major
  std::vector<Dim> strides;                         // of an input with strides, else empty
  bool is_parameter = false;                        // input
  bool is_used = true;                              // input: false if no output needs it
  std::shared_ptr<const graph::ConstantData> data;  // constant: one element for all, or all in row-major order
  graph::NodeId node;                               // whose value it is; none for an intermediate that is no node's value
  graph::NodeId source;                             // for reports: the node of whose value it holds `contents`
  BufferContents contents{};
};

/// One argument of a kernel, in the order of the function's parameters.
struct KernelArgument {
  enum class Kind : std::uint8_t { buffer, extent, scalar, number } kind{};
  int buffer = -1;         // buffer: the index of a ProgramBuffer
  Dim extent;              // extent: passed as the parameter's integer type
  std::string scalar;      // scalar: the name that run() gives a number for
  std::uint64_t bits = 0;  // number: the word
  bool is_begin = false;   // extent: where in a concatenation the kernel's part begins
};

/// The number of programs along one axis of the grid is the product of these: extent / tile, rounded up.
struct GridFactor {
  Dim extent;
  std::int64_t tile = 1;
  bool at_least_one = false;  // also where the extent is 0: an output lacks the axis
  std::int64_t programs(std::int64_t extent_of_run) const {
    return std::max<std::int64_t>(extent_of_run / tile + (extent_of_run % tile != 0), at_least_one ? 1 : 0);
  }
};

/// So many operations at each point of a space.
struct FlopCount {
  double each = 0;
  std::vector<Dim> space;
};

struct ProgramKernel {
  std::string name;
  ir::Function function;  // traced
  std::vector<KernelArgument> arguments;
  std::vector<GridFactor> grid[3];
  int num_warps = 4, num_stages = 0;
  bool contract = true, check = false;  // as Launch has them
  /// The index of an earlier kernel with the same function and configuration, or -1.
  int like = -1;

  // For reports.
  std::string reason;    // why these nodes are one kernel
  std::string estimate;  // what it costs, and the next best way; empty if there was no choice
  std::vector<graph::NodeId> covers;
  int passes = 1;                  // over the loop's axis
  std::vector<int> reads, writes;  // buffers
  std::vector<FlopCount> flops;    // multiplications and additions: their sum
  LoopReport loop;
  std::string plan_text;   // all of the plan in formulas: equal plans have equal texts
  std::string error_text;  // bounds of the rounding errors of sums
};

struct ProgramProof {
  bool exact = true;
  int rounds = 0;
  double log2_error = 0;
  std::vector<std::string> left_open;  // what is left to the comparison at small instances, or not compared
  std::string text;                    // that, and what was compared

  bool is_partial() const { return !left_open.empty(); }
};

struct ProgramOptions {
  bool fuse = true, reassociate = true, move_rounding = true, deterministic = true, batch_invariant = false;
  std::uint64_t max_workspace = UINT64_MAX;
  /// What each plan must pass. Tests refuse plans by it.
  std::function<ProofResult(const ExprBuilder&, const Plan&)> check = [](const ExprBuilder& b, const Plan& p) { return check_plan(b, p); };
  /// Steps (steps.h) that a derivation may take for each operation; what takes more is cut. Formulas of models take a tenth of it.
  std::uint64_t steps_of_operation = 4000;
};

/// How long phases of build_program took.
struct ProgramTimes {
  double derive_ms = 0, cover_ms = 0, check_ms = 0;
};

struct Program {
  std::vector<ProgramBuffer> buffers;
  std::vector<ProgramKernel> kernels;            // of each run, in order
  std::vector<ProgramKernel> parameter_kernels;  // when a parameter is given, in order
  ProgramProof proof;
  ProgramTimes times;
  std::uint64_t steps = 0;             // of all derivations (steps.h): what times depend on, without a clock
  std::vector<std::string> not_fused;  // one line each: "not fused: ... (file:line) ... because ... (file:line) ..."
};

/// Derives the kernels of a graph's outputs. A plan that its check refutes is never emitted: another plan takes its place, else the nodes
/// of the segment one by one; throws CompilerBug if the check refutes one of those, too. Requires: a verified graph with an output.
/// `target.sm` is 0 for hosts.
Program build_program(const graph::Graph&, const ProgramOptions&, const ir::TargetDesc&);

}  // namespace tilewright::passes::fusion
