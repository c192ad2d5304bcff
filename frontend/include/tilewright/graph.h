// Graphs: formulas over whole tensors, from which fused kernels are derived. A program declares inputs, writes formulas and names outputs.
#pragma once
#include <bit>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/graph/call.h"
#include "tilewright/graph/create.h"
#include "tilewright/graph/elementwise.h"
#include "tilewright/graph/index.h"
#include "tilewright/graph/neural.h"
#include "tilewright/graph/placement.h"
#include "tilewright/graph/product.h"
#include "tilewright/graph/reduce.h"
#include "tilewright/graph/shape.h"
#include "tilewright/plan.h"

namespace tilewright {

namespace detail::tensor {

std::shared_ptr<graph::Graph> make_nodes();
/// Throws Error if the graph was moved from.
const std::shared_ptr<graph::Graph>& nodes_of(const Graph&, const char* function, const Here&);
Dim dim(Graph&, const std::string& name, const DimBounds&, const Here&);
enum class Kind : std::uint8_t { input, parameter };
Handle input(Graph&, Kind, const std::string& name, TypeCode, const std::vector<Dim>& shape, const std::vector<Dim>* strides, const Here&);
Handle scalar(Graph&, const std::string& name, TypeCode, const Here&);
/// `bits` are the bits of each element.
Handle constant(Graph&, TypeCode, const std::vector<Dim>& shape, std::vector<std::uint64_t> bits, const Here&);
void output(Graph&, const std::string& name, const Handle&, const Here&);

/// The bits of a host value.
template <ValueElement T>
std::uint64_t bits_of(T value) {
  if constexpr (std::same_as<T, bool>)
    return value ? 1 : 0;
  else if constexpr (IntegerElement<T>)
    return static_cast<std::make_unsigned_t<T>>(value);
  else if constexpr (std::same_as<T, float>)
    return std::bit_cast<std::uint32_t>(value);
  else if constexpr (std::same_as<T, double>)
    return std::bit_cast<std::uint64_t>(value);
  else
    return value.bits;
}

}  // namespace detail::tensor

/// A graph of tensors: it says what is computed, not how. Every function notes the user's line. Throws Error for a name that is already
/// used by an input, a scalar, an output or a symbol of the graph; for a tensor of another graph; and for an invalid shape: more than 6
/// axes, or a negative extent. After an error the graph remains usable.
class Graph {
 public:
  Graph() : nodes_(detail::tensor::make_nodes()) {}
  Graph(Graph&&) noexcept = default;
  Graph& operator=(Graph&&) noexcept = default;

  /// A new symbol: an extent that is known when a plan runs. It is a multiple of `multiple_of` from `min` to `max`; by default any extent
  /// from 1.
  Dim dim(const std::string& name, const DimBounds& bounds = {}, Here at = Here::current()) {
    return detail::tensor::dim(*this, name, bounds, at);
  }
  /// The tensor of a row-major buffer that a run gets under this name.
  template <ValueElement T>
  Tensor<T> input(const std::string& name, const std::vector<Dim>& shape, Here at = Here::current()) {
    return Tensor<T>(detail::tensor::input(*this, detail::tensor::Kind::input, name, detail::kCode<T>, shape, nullptr, at));
  }
  /// An input with strides in elements, none of them negative. The buffer must hold the last element, and may hold more.
  template <ValueElement T>
  Tensor<T> input(const std::string& name, const std::vector<Dim>& shape, const std::vector<Dim>& strides, Here at = Here::current()) {
    return Tensor<T>(detail::tensor::input(*this, detail::tensor::Kind::input, name, detail::kCode<T>, shape, &strides, at));
  }
  /// An input that seldom changes. What depends on parameters alone is computed once, and again when one of them is given again.
  template <ValueElement T>
  Tensor<T> parameter(const std::string& name, const std::vector<Dim>& shape, Here at = Here::current()) {
    return Tensor<T>(detail::tensor::input(*this, detail::tensor::Kind::parameter, name, detail::kCode<T>, shape, nullptr, at));
  }
  /// A parameter with strides.
  template <ValueElement T>
  Tensor<T> parameter(const std::string& name, const std::vector<Dim>& shape, const std::vector<Dim>& strides, Here at = Here::current()) {
    return Tensor<T>(detail::tensor::input(*this, detail::tensor::Kind::parameter, name, detail::kCode<T>, shape, &strides, at));
  }
  /// A constant tensor of these elements, row-major. Throws Error if the shape has symbols or a different number of elements.
  template <ValueElement T>
  Tensor<T> constant(const std::vector<T>& elements, const std::vector<Dim>& shape, Here at = Here::current()) {
    std::vector<std::uint64_t> bits;
    bits.reserve(elements.size());
    for (T element : elements) bits.push_back(detail::tensor::bits_of<T>(element));
    return Tensor<T>(detail::tensor::constant(*this, detail::kCode<T>, shape, std::move(bits), at));
  }
  /// A number that a run gets under this name, as a tensor of rank 0.
  template <ValueElement T>
  Tensor<T> scalar(const std::string& name, Here at = Here::current()) {
    return Tensor<T>(detail::tensor::scalar(*this, name, detail::kCode<T>, at));
  }
  /// The tensor is a result of the graph: a run writes it to the buffer that it gets under this name, row-major.
  template <ValueElement T>
  void output(const std::string& name, const Tensor<T>& t, Here at = Here::current()) {
    detail::tensor::output(*this, name, t, at);
  }

  /// Makes a node of one of the program's kernels: graph.call<float>(kernel, {.grid = rows}, {{rows, columns}}, x, 0.5f). Out are the
  /// element types of the results, out_shapes their shapes; one result is a Tensor, several are a tuple. A parameter that the kernel writes
  /// through (Ptr<T>, View<T, R>) is the memory of the next result. Any other takes the next input: a tensor for Ptr<const T> and
  /// View<const T, R>; a number, an extent or the result of scalar() for a number; a value for a compile-time parameter. All memory is
  /// row-major. The kernel is traced at once, is never changed, fused or reassociated, and must write every element of its results. Throws
  /// Error for a view of another rank, for an invalid grid, and for options that no launch accepts.
  template <ValueElement... Out, class... P, class... In>
  auto call(const Kernel<void(P...)>& kernel, const CallLaunch& launch, const detail::tensor::CallShapes& out_shapes, const In&... inputs) {
    constexpr std::size_t kResults = detail::tensor::results_before<P...>(sizeof...(P));
    static_assert(sizeof...(Out) > 0, "a call names the element types of its results: graph.call<float>(...)");
    static_assert(kResults == sizeof...(Out), "a kernel of a graph writes through as many parameters as the call has results");
    static_assert(sizeof...(P) - kResults == sizeof...(In),
                  "each parameter that the kernel does not write through takes one input of the call");
    static_assert(kResults != sizeof...(Out) || detail::tensor::are_result_types<P...>({detail::kCode<Out>...}),
                  "the element types of a call's results are those that the kernel writes: graph.call<float>(...) for a Ptr<float>");
    detail::tensor::CallArguments arguments(launch, out_shapes, {detail::kCode<Out>...});
    const std::vector<detail::tensor::Handle> made = detail::tensor::call_kernel(*this, kernel, arguments, inputs...);
    if constexpr (sizeof...(Out) == 1)
      return Tensor<Out...>(made[0]);
    else
      return detail::tensor::results<Out...>(made, std::index_sequence_for<Out...>());
  }
  /// Like call() above, with a Launch.
  template <ValueElement... Out, class... P, std::same_as<Launch> L, class... In>
  auto call(const Kernel<void(P...)>& kernel, const L& launch, const detail::tensor::CallShapes& out_shapes, const In&... inputs) {
    return call<Out...>(kernel, detail::tensor::call_launch(launch, out_shapes.at), out_shapes, inputs...);
  }

  /// Derives kernels for the outputs that the graph has now, and compiles them for the device. The graph may grow and be compiled again;
  /// this plan does not change. Throws Error if there is no output, and for formulas that cannot be compiled.
  Plan compile(const Device& device, const PlanOptions& options = {}, Here at = Here::current()) const;
  /// Compiles for a target ("cpu", "sm_90a") without a device: the plan has everything except run().
  Plan compile(std::string_view target, const PlanOptions& options = {}, Here at = Here::current()) const;

 private:
  friend const std::shared_ptr<graph::Graph>& detail::tensor::nodes_of(const Graph&, const char*, const Here&);
  std::shared_ptr<graph::Graph> nodes_;
};

}  // namespace tilewright
