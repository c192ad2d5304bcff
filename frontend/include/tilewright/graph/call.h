// The program's own kernels as nodes of a graph.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tilewright/graph/tensor.h"
#include "tilewright/kernel.h"

namespace tilewright {

class Graph;

namespace detail::tensor {

/// The grid of a node's kernel: 1 to 3 extents.
class CallGrid {
 public:
  CallGrid() = default;
  template <HostInteger I>
  CallGrid(I extent) : extents_{Dim(extent)} {}
  CallGrid(const Dim& extent) : extents_{extent} {}
  CallGrid(std::initializer_list<Dim> extents) : extents_(extents) {}
  explicit CallGrid(const Grid& grid) : extents_(grid.rank()) {
    for (std::size_t axis = 0; axis < std::min<std::size_t>(grid.rank(), 3); ++axis) extents_[axis] = grid[axis];
  }
  const std::vector<Dim>& extents() const { return extents_; }

 private:
  std::vector<Dim> extents_{1};
};

/// The shapes of a call's results, and the line of the call.
struct CallShapes {
  CallShapes(std::initializer_list<std::vector<Dim>> all, Here here = Here::current()) : shapes(all), at(here) {}
  CallShapes(std::vector<std::vector<Dim>> all, Here here = Here::current()) : shapes(std::move(all)), at(here) {}
  std::vector<std::vector<Dim>> shapes;
  Here at;
};

}  // namespace detail::tensor

/// The launch of a kernel that is a node of a graph. Unlike in Launch, the grid may have symbols; the plan has the stream and the device.
struct CallLaunch {
  detail::tensor::CallGrid grid = {};
  int num_warps = 4;
  std::optional<int> num_stages = {};
  bool check = false;
  bool contract = true;
};

namespace detail::tensor {

CallLaunch call_launch(const Launch&, const Here&);

/// The value that a launch passes for one word of a kernel's parameters.
struct CallWord {
  enum class Kind : std::uint8_t { operand, result, extent, number, scalar } kind{};
  std::size_t index = 0;  // among the operands, the results or the scalars
  Dim extent;
};

/// Collects the arguments of a call: tensors become operands; each parameter becomes its words.
class CallArguments {
 public:
  CallArguments(const CallLaunch&, const CallShapes&, std::vector<TypeCode> results);
  std::size_t add_operand(const Handle&);
  /// The row-major memory of an operand or a result as a pointer, or as a view of this rank.
  void add_pointer(CallWord::Kind, std::size_t index);
  void add_view(CallWord::Kind, std::size_t index, int rank);
  void add_number() { words.push_back({CallWord::Kind::number, 0, {}}); }
  void add_extent(const Dim& d) { words.push_back({CallWord::Kind::extent, 0, d}); }
  /// A tensor of rank 0, made by Graph::scalar, for a number.
  void add_scalar(const Handle&);
  /// The options of the launch without its grid.
  Launch options() const;

  CallLaunch launch;
  std::vector<std::vector<Dim>> shapes;
  std::vector<TypeCode> results;
  Here at;
  std::vector<Handle> operands, scalars;
  std::vector<CallWord> words;
};

/// Adds the call to the graph and returns the nodes of the results.
std::vector<Handle> call(Graph&, const CallArguments&, std::shared_ptr<graph::OpaqueKernel> traced);

/// A parameter that the kernel writes through stands for a result; any other parameter takes the next argument of the call.
template <class P>
inline constexpr bool kIsResult = false;
template <PointerElement P>
inline constexpr bool kIsResult<Tile<P>> = !std::is_const_v<std::remove_pointer_t<P>>;
template <class T, int R>
inline constexpr bool kIsResult<View<T, R>> = !std::is_const_v<T>;

template <class P>
struct CallParameter {  // for a constant
  template <class A>
  static CompileArgument<P> argument(CallArguments&, const A& value) {
    return value;
  }
};
template <PointerElement P>
struct CallParameter<Tile<P>> {
  using T = detail::Pointee<P>;
  static PointerStandIn<std::remove_pointer_t<P>> result(CallArguments& to, std::size_t index) {
    to.add_pointer(CallWord::Kind::result, index);
    return {16};
  }
  static PointerStandIn<std::remove_pointer_t<P>> argument(CallArguments& to, const Tensor<T>& tensor) {
    to.add_pointer(CallWord::Kind::operand, to.add_operand(tensor));
    return {16};
  }
};
template <class T, int R>
struct CallParameter<View<T, R>> {
  static View<T, R> stand_in(const CallArguments& to) {
    // Only the last stride is known: it is 1.
    const auto extents = []<std::size_t... I>(std::index_sequence<I...>) {
      return PerAxis<Extent, R>{((void)I, Extent(2))...};
    }(std::make_index_sequence<static_cast<std::size_t>(R)>());
    return ViewAccess<T, R>::make({nullptr, 16}, extents.data(), nullptr, to.at);
  }
  static View<T, R> result(CallArguments& to, std::size_t index) {
    to.add_view(CallWord::Kind::result, index, R);
    return stand_in(to);
  }
  static View<T, R> argument(CallArguments& to, const Tensor<std::remove_const_t<T>>& tensor) {
    to.add_view(CallWord::Kind::operand, to.add_operand(tensor), R);
    return stand_in(to);
  }
};
template <ValueElement T>
struct CallParameter<Tile<T>> {
  template <class S>
    requires NumberFor<S, T>
  static CompileArgument<Tile<T>> argument(CallArguments& to, S number) {
    to.add_number();
    return number;
  }
  static ScalarStandIn<T> argument(CallArguments& to, const Tensor<T>& scalar) {
    to.add_scalar(scalar);
    return {1};
  }
  template <std::same_as<Dim> D>
    requires(IntegerElement<T> && sizeof(T) >= 4)
  static ScalarStandIn<T> argument(CallArguments& to, const D& extent) {
    to.add_extent(extent);
    return {1};
  }
};

/// The results before parameter `i` of the kernel, and its other parameters before it.
template <class... P>
constexpr std::size_t results_before(std::size_t i) {
  const bool is_result[] = {kIsResult<std::remove_cvref_t<P>>..., false};
  std::size_t count = 0;
  for (std::size_t k = 0; k < i; ++k) count += is_result[k];
  return count;
}

/// The element type of what a parameter points to or views.
template <class P>
struct ElementOfParameter {};
template <PointerElement P>
struct ElementOfParameter<Tile<P>> {
  static constexpr TypeCode code = detail::kCode<std::remove_const_t<std::remove_pointer_t<P>>>;
};
template <class T, int R>
struct ElementOfParameter<View<T, R>> {
  static constexpr TypeCode code = detail::kCode<std::remove_const_t<T>>;
};

/// Whether parameter i of those that the kernel writes through has the element type i, so that a result has room for what is written.
template <class... P>
constexpr bool are_result_types(std::initializer_list<TypeCode> types) {
  const TypeCode* type = types.begin();
  const auto fits = [&]<class Q>(std::type_identity<Q>) {
    if constexpr (kIsResult<Q>)
      return type != types.end() && ElementOfParameter<Q>::code == *type++;
    else
      return true;
  };
  return (fits(std::type_identity<std::remove_cvref_t<P>>()) && ...);
}

/// The compile argument of parameter `I`.
template <std::size_t I, class... P, class Inputs>
auto call_argument(CallArguments& to, const Inputs& inputs) {
  using Q = std::remove_cvref_t<std::tuple_element_t<I, std::tuple<P...>>>;
  constexpr std::size_t kResults = results_before<P...>(I);
  if constexpr (kIsResult<Q>)
    return CompileArgument<Q>(CallParameter<Q>::result(to, kResults));
  else
    return CompileArgument<Q>(CallParameter<Q>::argument(to, std::get<I - kResults>(inputs)));
}

template <class... P, class... In>
std::vector<Handle> call_kernel(Graph& g, const Kernel<void(P...)>& kernel, CallArguments& to, const In&... in) {
  const std::tuple<const In&...> inputs(in...);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    // A braced list is evaluated from left to right, in the order in which words are passed.
    std::tuple<CompileArgument<P>...> arguments{call_argument<I, P...>(to, inputs)...};
    return call(g, to, std::apply([&](const auto&... a) { return kernel.traced(to.options(), a..., to.at); }, arguments));
  }(std::index_sequence_for<P...>());
}

template <class... Out, std::size_t... I>
std::tuple<Tensor<Out>...> results(const std::vector<Handle>& made, std::index_sequence<I...>) {
  return {Tensor<Out>(made[I])...};
}

}  // namespace detail::tensor
}  // namespace tilewright
