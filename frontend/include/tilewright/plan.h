// Plans: what a graph was compiled to. run() computes the outputs from the user's buffers; the other functions say how it is done.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewright/detail/handle.h"
#include "tilewright/launch.h"
#include "tilewright/view.h"

namespace tilewright {

/// What compiling a graph may do to it.
struct PlanOptions {
  bool fuse = true;                      // false: node by node, with the same functions
  bool reassociate = true;               // sums may be taken in another order, and factors out of them; false: fused as written
  bool move_rounding = true;             // values between fused nodes may keep more bits than their element type
  bool deterministic = true;             // false: float atomics are allowed
  bool batch_invariant = false;          // a row's bits do not depend on how many rows there are
  std::size_t max_workspace = SIZE_MAX;  // bytes
  bool check = false;                    // checked mode: a run with an index outside of a tensor, or whose kernels fail, is an Error
};

/// The exact check of what was derived against the formulas of the graph.
struct PlanProof {
  bool exact = true;
  int rounds = 0;
  double log2_error = 0;  // of the probability that a wrong derivation passes
  std::string text;
};

/// One call of the user that a kernel computes, or a part of it.
struct CoveredNode {
  std::string name;  // the user's name and the function's: "logits (matmul)", "softmax"
  Location where;
};

/// One kernel of a plan. Sizes are those of the symbols of the latest run; before it, of their least values.
struct PlannedKernel {
  std::string name;
  std::string reason;  // why these nodes are one kernel
  std::vector<CoveredNode> covers;
  int passes = 1;  // over the axis of the loop
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::int64_t bytes_read = 0, bytes_written = 0;  // of device memory, each tensor counted once
  double flops = 0;                                // multiplications and additions
  std::string tile_ir;                             // as derived, before the passes
  std::string ptx;                                 // empty for hosts
};

/// Options of one run. A captured run, replayed by a CUDA graph, uses memory of the plan: it must not overlap with other runs of the plan.
struct RunOptions {
  StreamRef stream = {};  // default: the device's own; one that is being captured takes the kernels as nodes of its graph
};

namespace detail {

/// What a run gets under a name: memory, or a number.
struct RunValue {
  enum class Kind : std::uint8_t { buffer, part_of_buffer, view, number };
  Kind kind = Kind::number;
  Code element{};
  bool is_read_only = false;
  const RawBuffer* buffer = nullptr;  // null for a view that view() did not make, too
  std::int64_t offset = 0;            // in elements
  int rank = 0;                       // of a view
  std::array<std::int64_t, 5> extents{}, strides{};
  Scalar number;
};

class PlanState;

}  // namespace detail

/// A name and what a run gets under it. It refers to the buffer, which must outlive the run.
///
/// A Buffer has exactly the elements of its tensor. `buffer + k` and an input with strides may have more. A View has the tensor's extents
/// and strides. A const buffer is for inputs only. A number is the value of a symbol or a scalar.
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
  template <class T, int R>
  RunArgument(std::string name, const View<T, R>& view) : name_(std::move(name)) {
    using Access = detail::ViewAccess<T, R>;
    value_.kind = Kind::view;
    value_.element = detail::CodeOf<std::remove_const_t<T>>::value;
    value_.is_read_only = std::is_const_v<T>;
    value_.buffer = Access::host(view).buffer;
    value_.rank = R;
    for (std::size_t i = 0; i < static_cast<std::size_t>(R); ++i)
      value_.extents[i] = Access::extents(view)[i], value_.strides[i] = Access::strides(view)[i];
  }
  template <detail::HostScalar S>
  RunArgument(std::string name, S number) : name_(std::move(name)) {
    value_.number = detail::Scalar(number);
  }

  const std::string& name() const { return name_; }
  // For the library itself.
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

/// A compiled graph: a handle whose copies share kernels, kept parameters and workspace. Default-constructed: empty, and using it is an
/// error. Every function may be called from many threads at once; runs of one plan follow each other on the device, whatever their streams.
class Plan {
 public:
  Plan() = default;

  /// Computes every output. Each input that an output needs, each output, and each scalar is given by name; parameters may be left out
  /// after the first run, and then their buffers and contents must still be there. Symbols get their values from the extents of views and
  /// the sizes of buffers; what these leave open is given by name: plan.run({{"x", x}, {"y", y}, {"seq", 33}, {"alpha", 0.5f}}).
  ///
  /// Throws Error for a name that is not known, given twice or missing, for a buffer of another type, size or device, for a symbol with two
  /// values, none, or one outside of its bounds, for a quotient of extents that does not come out even, for an output that shares memory
  /// with another buffer of the run, and for a plan without a device. Then nothing was launched, and the plan remains usable.
  void run(std::initializer_list<RunArgument> arguments, const RunOptions& options = {}, Here at = Here::current()) const {
    run(std::span<const RunArgument>(arguments.begin(), arguments.size()), options, at);
  }
  void run(std::span<const RunArgument> arguments, const RunOptions& options = {}, Here at = Here::current()) const;

  /// The kernels of each run, in order.
  std::vector<PlannedKernel> kernels(Here at = Here::current()) const;
  /// The kernels that compute what depends on parameters alone: they run when a parameter is given.
  std::vector<PlannedKernel> parameter_kernels(Here at = Here::current()) const;
  /// One page of text: the kernels in order with what each covers, what was not fused and why, bytes moved, and the error bound.
  std::string explain(Here at = Here::current()) const;
  /// The kernels, and the bytes that tensors move between them and inputs and outputs, as an SVG picture.
  std::string explain_svg(Here at = Here::current()) const;
  /// Bytes of the tensors that go through device memory between the kernels of a run, for the symbols of the latest run; before it, for
  /// their least values.
  std::size_t intermediate_bytes(Here at = Here::current()) const;
  /// Bytes that these take together, when tensors take the place of others that are no longer needed.
  std::size_t workspace_bytes(Here at = Here::current()) const;
  PlanProof proof(Here at = Here::current()) const;
  /// How many kernels this plan has compiled since it was made: 0 unless a buffer was less aligned than usual.
  std::int64_t compilations(Here at = Here::current()) const;

  // For the library itself.
  explicit Plan(std::shared_ptr<detail::PlanState> state) : state_(std::move(state)) {}

 private:
  detail::PlanState& state(const char* function, const Here&) const;
  std::shared_ptr<detail::PlanState> state_;
};

}  // namespace tilewright
