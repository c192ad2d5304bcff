// The sizes of everything in a program for one set of values of its symbols.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "frontend/graph/plan/run_call.h"
#include "passes/fusion/program/program.h"

namespace tilewright::detail {

struct BufferSize {
  std::int64_t elements = 0;
  std::int64_t span = 0;     // elements of memory from the first to the last one: more than `elements` with strides
  std::uint64_t bytes = 0;   // of the elements
  std::uint64_t offset = 0;  // of an intermediate: in the workspace; of a derived tensor: in the memory of these
};

struct KernelSize {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  /// A kernel without a program is not launched.
  bool has_programs() const { return grid[0] != 0 && grid[1] != 0 && grid[2] != 0; }
  std::vector<std::uint64_t> words;  // the arguments of a launch: extents and numbers; pointers and scalars are 0
  double flops = 0;
};

struct Sizes {
  std::vector<std::int64_t> symbols;
  std::vector<BufferSize> buffers;
  std::vector<KernelSize> kernels, parameter_kernels;
  std::uint64_t intermediate_bytes = 0, workspace_bytes = 0, derived_bytes = 0;
};

/// What must hold of an extent in each run: `extent >= least`.
struct ExtentCheck {
  Dim extent;
  std::int64_t least;
  Location where;
};

/// A program, the symbols of its graph, and what must hold of their values. `symbols` is a copy: other threads may extend the graph's
/// table, which expressions refer to.
class ProgramSizes {
 public:
  ProgramSizes(const graph::Graph&, const passes::fusion::Program&);

  /// The sizes of a run. Throws Error for a quotient that does not come out even, a negative extent, one that does not fit the
  /// kernel's parameter, and for a grid that no device has.
  Sizes of_run(const std::vector<std::int64_t>& symbols, const RunCall&) const;
  /// The same for reports: an expression without a value has its least one.
  Sizes of_report(const std::vector<std::int64_t>& symbols) const;
  /// The symbols that these sizes depend on, ascending.
  const std::vector<std::uint32_t>& symbols() const { return used_symbols_; }
  /// The symbols on which the parameter kernels depend, ascending.
  const std::vector<std::uint32_t>& parameter_symbols() const { return parameter_symbols_; }
  const SymbolTable& table() const { return *table_; }
  /// A stride or another extent of the program. Throws Error as of_run().
  std::int64_t value(const Dim&, const std::vector<std::int64_t>& symbols, const RunCall&) const;

 private:
  class Evaluation;
  Sizes compute(const Evaluation&) const;
  void lay_out_memory(Sizes&) const;
  void add_checks(const graph::Graph&);
  std::string values_text(const Dim&, const std::vector<std::int64_t>& symbols) const;

  const passes::fusion::Program& program_;
  std::shared_ptr<const SymbolTable> table_;
  std::vector<ExtentCheck> checks_;
  std::vector<std::uint32_t> used_symbols_, parameter_symbols_;
};

/// Bytes that the kernels of each run read and write, each tensor once a kernel.
std::uint64_t moved_bytes(const passes::fusion::Program&, const Sizes&);
/// Bytes of the inputs that a run reads, of what is kept of its parameters, and of the outputs, each once.
std::uint64_t compulsory_bytes(const passes::fusion::Program&, const Sizes&);
std::uint64_t bytes_of(const std::vector<int>& buffers, const Sizes&);

}  // namespace tilewright::detail
