// Plans: compiled graphs. run() computes the outputs from the user's buffers; other functions describe how.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewright/buffer.h"
#include "tilewright/detail/run_value.h"
#include "tilewright/error.h"
#include "tilewright/here.h"
#include "tilewright/stream.h"

namespace tilewright {

/// Whether an equal graph that takes less time is compiled in place of the one as written. Values are equal over the real numbers, and sums are
/// taken in another order, so that rounding differs.
enum class Search : std::uint8_t {
  off,
  estimate,  // where the estimate of time promises SearchLimits::gain
  measure,   // the best graphs by their estimates are run on the device, with random inputs; the wisdom file keeps the fastest one
};

/// Counts, so that a graph has the same plan whatever else the machine does; if graphs are measured, once the wisdom file has them. `compile`
/// throws Error if `nodes` or `candidates` is 0, or if `gain` is below 0 or NaN.
struct SearchLimits {
  std::size_t nodes = 20000;  // nodes of all formulas that are found to be equal, together; at least 1
  /// Graphs beside the one as written that are estimated, for each part; or measured, together with it. At least 1.
  std::size_t candidates = 8;
  /// A graph is replaced by one that is at least so many times as fast by the estimate; if measured, by one that is faster by more than noise.
  /// At least 0. Below 1, it is also replaced by a slower one: the best of the others, for tests of what the search makes.
  double gain = 1.2;
};

/// Options of the compilation of a graph.
struct PlanOptions {
  bool fuse = true;                      // false: one kernel for each node, with the same functions
  bool reassociate = true;               // sums may be reordered and factors moved out of them; false: fused as written
  bool move_rounding = true;             // values between fused nodes may keep more bits than their element type
  bool deterministic = true;             // false: float atomics are allowed
  bool batch_invariant = false;          // a row's bits do not depend on how many rows there are
  std::size_t max_workspace = SIZE_MAX;  // bytes
  bool check = false;                    // checked mode: a run with an index outside of a tensor, or whose kernels fail, is an Error
  /// There is no search if `fuse` or `reassociate` is false, or with batch_invariant: its choice depends on how many rows there are.
  Search search = Search::estimate;
  SearchLimits search_limits = {};
  bool expand_differences = false;  // the search may make a c - b c of (a - b) c, which loses digits where a and b are close
};

/// The result of the exact check that the derived kernels compute the formulas of the graph.
struct PlanProof {
  bool exact = true;
  int rounds = 0;
  double log2_error = 0;  // log2 of the probability that a wrong derivation passes
  std::string text;
};

/// A call of the user that a kernel computes, completely or in part.
struct CoveredNode {
  std::string name;  // the user's name and the function: "logits (matmul)", or "softmax"
  Location where;
};

/// A part of the graph that the search has rewritten.
struct Rewrite {
  std::string rule;                 // the names of the rules that lead from one formula to the other: `tilewright rules` has them
  std::string before, after;        // formulas in the user's names: "(q k) v" and "q (k v)"
  std::vector<CoveredNode> covers;  // the calls that were rewritten
  double saved_seconds = 0;         // by the estimate, or as measured
};

/// Numbers about the search of a graph. The whole graph's seconds are 0 if nothing was rewritten or measured.
struct SearchReport {
  std::size_t regions = 0;     // parts of the graph that were searched; equal ones count once. 0 without a search
  std::size_t nodes = 0;       // nodes of the formulas that were found to be equal
  std::size_t candidates = 0;  // graphs that were estimated, beside the one as written
  bool complete = true;        // all that equals the graph by the rules was found, and no limit was met
  bool optimal = true;         // no choice is cheaper by the cost of single operations, which proposes what is estimated
  bool measured = false;       // the best graphs were run, at this compilation or at one that left its result in the wisdom file
  double seconds_before = 0, seconds_after = 0;  // medians of runs if measured, else estimates
};

/// One kernel of a plan. Sizes use the symbol values of the latest run; before a run, their least values. The estimates of explain() are for
/// 1024, or what the bounds of a symbol have nearest to it.
struct PlannedKernel {
  std::string name;
  std::string reason;  // why these nodes are one kernel
  std::vector<CoveredNode> covers;
  int passes = 1;  // passes over the axis of the loop
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::int64_t bytes_read = 0, bytes_written = 0;  // bytes of device memory; each tensor counts once
  double flops = 0;                                // multiplications and additions
  std::string tile_ir;                             // the tile IR as derived, before the passes
  std::string ptx;                                 // empty for the cpu
};

/// Options of one run. A captured run that a CUDA graph replays uses memory of the plan: it must not overlap with other runs of the plan.
struct RunOptions {
  StreamRef stream = {};  // default: the device's own; a stream that is being captured takes the kernels as nodes of its graph
};

namespace detail {

class PlanState;

}  // namespace detail

/// A name and its memory or number in a run. The argument refers to the buffer, which must outlive the run.
///
/// A Buffer must have exactly the elements of its tensor; `buffer + k` and an input with strides may have more. A View must have the
/// tensor's extents and strides. A const buffer is for inputs only. A number is the value of a symbol or of a scalar.
class RunArgument {
  using Kind = detail::RunValue::Kind;

 public:
  template <ValueElement T>
  RunArgument(std::string name, Buffer<T>& buffer) : RunArgument(std::move(name), detail::CodeOf<T>::value, false, buffer.raw()) {}
  template <ValueElement T>
  RunArgument(std::string name, const Buffer<T>& buffer) : RunArgument(std::move(name), detail::CodeOf<T>::value, true, buffer.raw()) {}
  template <class T>
  RunArgument(std::string name, BufferAt<T> at)
      : RunArgument(std::move(name), detail::CodeOf<std::remove_const_t<T>>::value, std::is_const_v<T>, at.buffer->raw()) {
    value_.kind = Kind::part_of_buffer;
    value_.offset = at.offset;
  }
  template <detail::HasRunValue V>
  RunArgument(std::string name, const V& view) : name_(std::move(name)), value_(detail::RunValueOf<V>::make(view)) {}
  template <detail::HostScalar S>
  RunArgument(std::string name, S number) : name_(std::move(name)) {
    value_.number = detail::Scalar(number);
  }

  const std::string& name() const { return name_; }
  // For use by the library only.
  RunArgument(std::string name, const detail::RunValue& value) : name_(std::move(name)), value_(value) {}
  const detail::RunValue& value() const { return value_; }

 private:
  RunArgument(std::string name, detail::Code element, bool is_read_only, const detail::RawBuffer& buffer) : name_(std::move(name)) {
    value_.kind = Kind::buffer;
    value_.element = element;
    value_.is_read_only = is_read_only;
    value_.buffer = &buffer;
  }

  std::string name_;
  detail::RunValue value_;
};

/// A compiled graph: a handle whose copies share kernels, kept parameters and workspace. A default-constructed handle is empty; using it is
/// an error. Every function may be called from many threads at once. Runs of one plan follow each other on the device, on any streams.
class Plan {
 public:
  Plan() = default;

  /// Computes every output. Every output, scalar and needed input is given by name. Parameters may be left out after the first run; their
  /// buffers and contents must then be unchanged. Symbols get their values from the extents of views and the sizes of buffers; other
  /// symbols are given by name: plan.run({{"x", x}, {"y", y}, {"seq", 33}, {"alpha", 0.5f}}).
  ///
  /// Throws Error for a name that is unknown, given twice or missing; for a buffer of another type, size or device; for a symbol with two
  /// values, no value, or a value out of bounds; for a quotient of extents with a remainder; for an output that shares memory with another
  /// buffer of the run; and for a plan without a device. Nothing was launched then, and the plan remains usable.
  void run(std::initializer_list<RunArgument> arguments, const RunOptions& options = {}, Here at = Here::current()) const {
    run(std::span<const RunArgument>(arguments.begin(), arguments.size()), options, at);
  }
  void run(std::span<const RunArgument> arguments, const RunOptions& options = {}, Here at = Here::current()) const;

  /// The kernels of each run, in order.
  std::vector<PlannedKernel> kernels(Here at = Here::current()) const;
  /// The kernels for values that depend only on parameters. They run when a parameter is given.
  std::vector<PlannedKernel> parameter_kernels(Here at = Here::current()) const;
  /// The parts that the search has rewritten; those that save the most time come first.
  std::vector<Rewrite> rewrites(Here at = Here::current()) const;
  /// Numbers about the search.
  SearchReport search_report(Here at = Here::current()) const;
  /// The graph from which the kernels are derived, as text that `tilewright graph` reads.
  std::string rewritten(Here at = Here::current()) const;
  /// One page of text: what was rewritten, the kernels in order, the calls that each covers, what was not fused and why, bytes moved, and the error bound.
  std::string explain(Here at = Here::current()) const;
  /// An SVG picture of the kernels and of the bytes that tensors move between kernels, inputs and outputs.
  std::string explain_svg(Here at = Here::current()) const;
  /// Bytes of the tensors that pass through device memory between the kernels of a run, for the symbol values of the latest run; before a
  /// run, for their least values.
  std::size_t intermediate_bytes(Here at = Here::current()) const;
  /// Bytes of memory for these tensors, which is less because a tensor may reuse the memory of one that is no longer needed.
  std::size_t workspace_bytes(Here at = Here::current()) const;
  PlanProof proof(Here at = Here::current()) const;
  /// How many kernels this plan has compiled since it was made: 0 unless a buffer was less aligned than usual.
  std::int64_t compilations(Here at = Here::current()) const;

  // For use by the library only.
  explicit Plan(std::shared_ptr<detail::PlanState> state) : state_(std::move(state)) {}

 private:
  detail::PlanState& state(const char* function, const Here&) const;
  std::shared_ptr<detail::PlanState> state_;
};

}  // namespace tilewright
