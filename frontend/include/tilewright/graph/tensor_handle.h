// The untyped part of tensor handles, and the arguments of operations on tensors: nodes of a graph, C++ constants, and their lines.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/dim.h"
#include "tilewright/tile.h"

namespace tilewright {

namespace graph {
class Graph;
}

/// The axes of a reduction, or the order of a permutation: one integer or a braced list. Negative axes count from the end.
class Axes {
 public:
  template <detail::HostInteger I>
  Axes(I axis) : axes_{static_cast<std::int64_t>(axis)} {}
  Axes(std::initializer_list<Axis> axes) {
    axes_.reserve(axes.size());
    for (Axis axis : axes) axes_.push_back(axis.value);
  }
  template <detail::HostInteger I>
  Axes(const std::vector<I>& axes) : axes_(axes.begin(), axes.end()) {}
  const std::vector<std::int64_t>& values() const { return axes_; }

 private:
  std::vector<std::int64_t> axes_;
};

namespace detail::tensor {

/// A handle to a node of a graph, or to nothing. It keeps the graph's nodes alive.
class Handle {
 public:
  Handle() = default;
  Handle(std::shared_ptr<graph::Graph> nodes, std::uint32_t node) : nodes_(std::move(nodes)), node_(node) {}
  /// Null for an empty handle.
  const std::shared_ptr<graph::Graph>& nodes() const { return nodes_; }
  std::uint32_t node() const { return node_; }

 private:
  std::shared_ptr<graph::Graph> nodes_;
  std::uint32_t node_ = 0;
};

/// One argument of an operation: a tensor, a constant or an extent, and its line.
struct Input {
  Input(const Handle& tensor, const Here& here) : handle(&tensor), at(here) {}
  Input(Scalar number, const Here& here) : constant(number), at(here) {}
  Input(const Dim& length, const Here& here) : extent(&length), at(here) {}
  const Handle* handle = nullptr;
  const Dim* extent = nullptr;
  Scalar constant;
  Here at;
};

/// Element types of numbers that hold an extent's value: those of 8 and 16 bits hold few of them.
template <class T>
concept HoldsExtents = NumberElement<T> && sizeof(T) >= 4;

std::vector<Dim> shape(const Handle&, const Here&);
void set_name(const Handle&, const std::string&, const Here&);
Handle unary(Unary, const Input&);
/// `meet` is the common element type to which both sides are converted first.
Handle binary(Binary, const Input& a, const Input& b, TypeCode meet);
Handle cast(const Handle&, TypeCode, const Here&);
Handle bitcast(const Handle&, TypeCode, const Here&);

}  // namespace detail::tensor
}  // namespace tilewright
