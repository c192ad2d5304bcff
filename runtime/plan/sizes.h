// The sizes of everything in a sequence of kernels, for one set of symbol values.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "passes/fusion/sequence/kernel_sequence.h"
#include "runtime/plan/run_call.h"

namespace tilewright::detail {

struct BufferSize {
  std::int64_t elements = 0;
  std::int64_t span = 0;     // from the first to the last element in memory; with strides, it is more than `elements`
  std::uint64_t bytes = 0;   // without gaps of strides
  std::uint64_t offset = 0;  // of an intermediate in the workspace; of a derived tensor in the memory that they have in common
};

struct KernelSize {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  /// A kernel that has no programs is not launched.
  bool has_programs() const { return grid[0] != 0 && grid[1] != 0 && grid[2] != 0; }
  std::vector<std::uint64_t> words;  // arguments of a launch: extents and numbers; pointers and scalars are 0 here
  std::uint64_t written_bytes = 0;
  double flops = 0;
};

struct Sizes {
  std::vector<std::int64_t> symbols;
  std::vector<BufferSize> buffers;
  std::vector<KernelSize> kernels, parameter_kernels;
  std::uint64_t intermediate_bytes = 0, workspace_bytes = 0, derived_bytes = 0;
};

/// A condition on an extent that must hold in each run: `extent >= least`.
struct ExtentCheck {
  Dim extent;
  std::int64_t least;
  Location where;
  graph::Op op;       // the op that needs the condition
  bool is_of_result;  // the extent is one of the op's result; else it is what its operands must have
};

/// A sequence of kernels, the symbols of its graph, and the conditions on their values. `symbols` is a copy, because other threads may extend the
/// graph's table, to which expressions refer.
class SequenceSizes {
 public:
  SequenceSizes(const graph::Graph&, const passes::fusion::KernelSequence&);

  /// The sizes of a run. Throws Error for a quotient with a remainder, for an extent that is negative or does not fit the kernel's
  /// parameter, and for a grid that no device supports.
  Sizes of_run(const std::vector<std::int64_t>& symbols, const RunCall&) const;
  /// The sizes for reports: an expression without a value gets its least value.
  Sizes of_report(const std::vector<std::int64_t>& symbols) const;
  /// The symbols that these sizes depend on, in ascending order.
  const std::vector<std::uint32_t>& symbols() const { return used_symbols_; }
  /// The symbols that the parameter kernels depend on, in ascending order.
  const std::vector<std::uint32_t>& parameter_symbols() const { return parameter_symbols_; }
  const SymbolTable& table() const { return *table_; }
  /// A stride or another extent of the sequence. Throws Error like of_run().
  std::int64_t value(const Dim&, const std::vector<std::int64_t>& symbols, const RunCall&) const;

 private:
  class Evaluation;
  Sizes compute(const Evaluation&) const;
  void lay_out_memory(Sizes&) const;
  void add_checks(const graph::Graph&);
  std::string values_text(const Dim&, const std::vector<std::int64_t>& symbols) const;

  const passes::fusion::KernelSequence& sequence_;
  std::shared_ptr<const SymbolTable> table_;
  std::vector<ExtentCheck> checks_;
  std::vector<std::uint32_t> used_symbols_, parameter_symbols_;
};

/// Bytes that the kernels of each run read and write; each kernel counts a tensor once.
std::uint64_t moved_bytes(const passes::fusion::KernelSequence&, const Sizes&);
/// Bytes of the inputs of a run, of the tensors kept from its parameters, and of the outputs, each counted once.
std::uint64_t compulsory_bytes(const passes::fusion::KernelSequence&, const Sizes&);
std::uint64_t bytes_of(const std::vector<int>& buffers, const Sizes&);

}  // namespace tilewright::detail
