// Checks of the arguments of the kernel library, and the views that its kernels take.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <typeinfo>
#include <vector>

#include "tilewright/kernel.h"
#include "tilewright/kernels/options.h"

namespace tilewright::kernels::host {

/// Checks the arguments of one call. Every function throws Error at the caller's line that names the argument, its shape and what fits.
class ArgumentCheck {
 public:
  ArgumentCheck(const char* function, const Here& at) : function_(function), at_(at) {}

  template <class T, int R>
  void input(const char* name, const View<T, R>& v) {
    add<T, R>(name, v, false);
  }
  template <class T, int R>
  void output(const char* name, const View<T, R>& v) {
    static_assert(!std::is_const_v<T>, "a result needs a view that can be written: View<T, R>, not View<const T, R>");
    add<T, R>(name, v, true);
  }
  /// A result that the kernel reads too: a second launch would not write the same again.
  template <class T, int R>
  void update(const char* name, const View<T, R>& v) {
    output(name, v);
    views_.back().updated = true;
  }
  /// The extent of an axis of `name`, which is called `symbol`, must be that of an axis of `other`. Negative axes count from the end.
  void equal(const char* name, int axis, const char* symbol, const char* other, int other_axis) const;
  void equal(const char* name, int axis, const char* symbol, std::int64_t want) const;
  /// All extents, or the first `count` of them, must be those of `other` from its first axis on.
  void same_shape(const char* name, const char* other, int count = -1) const;
  /// An extent must be that of another argument.
  void same_extent(const char* name, int axis, const char* other, int other_axis) const;
  /// An extent must be at most `most`.
  void at_most(const char* name, int axis, std::int64_t most) const;
  /// The heads of `name`, along an axis, must be a multiple of those of `of`.
  void head_group(const char* name, const char* of, int axis) const;
  /// The extent of a leading axis: of arguments that have 1 there, and else all the same. That of `result` must be as large.
  std::int64_t broadcast(std::initializer_list<const char*> inputs, const char* result, int axis) const;
  /// The last check: one device, no result that shares memory with another argument, or elements with itself.
  void finish() const;
  /// The stream and the tile sizes that the caller gives.
  void options(const Options&) const;
  /// An array that is passed on to an epilogue; `number`, of all that is, counts from 1. After the arguments.
  void extra(int number, const detail::HostView&, const std::vector<std::int64_t>& extents) const;
  /// A number of the caller as an element of this type.
  std::uint64_t element_bits(const char* name, const tilewright::detail::Scalar& number, tilewright::detail::TypeCode) const;
  [[noreturn]] void fail(const std::string& message) const;

  std::int64_t extent(const char* name, int axis) const;
  Device device() const;
  const char* function() const { return function_; }
  const Here& at() const { return at_; }
  /// The element type of each argument, and along which axis it is contiguous: "f;1,i;0".
  std::string types() const;
  /// A number for the same.
  std::size_t types_hash() const;
  /// The memory of results that a launch may read too: of those that were given to update(), and of those that share memory with `extras`,
  /// which the launch passes on to a function of the caller.
  std::vector<detail::Arguments::Reach> reread(std::span<const detail::Arguments::Reach> extras) const;

 private:
  struct View_ {
    const char* name;
    detail::HostView memory;
    std::vector<std::int64_t> extents, strides;
    int element_bytes;
    bool written;
    const char* type;
    bool updated = false;
    std::string shape() const;
  };

  template <class T, int R>
  void add(const char* name, const View<T, R>& v, bool written) {
    const auto& extents = detail::ViewAccess<T, R>::extents(v);
    const auto& strides = detail::ViewAccess<T, R>::strides(v);
    add({name,
         detail::ViewAccess<T, R>::host(v),
         {extents.begin(), extents.end()},
         {strides.begin(), strides.end()},
         sizeof(T),
         written,
         typeid(T).name()});
  }
  void add(View_ view);
  const View_& find(const char* name) const;
  std::size_t axis_of(const View_&, int axis) const;

  const char* function_;
  Here at_;
  std::vector<View_> views_;
};

/// A number of the caller for an element of T: what tw::full takes, and converted as it does.
template <class T>
class ElementValue {
 public:
  template <tilewright::detail::ConstantOf<T> N>
  ElementValue(N number) : number_(number) {}
  /// Throws Error that names it if T does not hold it.
  T in(const ArgumentCheck& check, const char* name) const {
    const std::uint64_t bits = check.element_bits(name, number_, tilewright::detail::kCode<T>);
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  tilewright::detail::Scalar number_;
};

/// Whether the memory of two views has an element in common. Address: begin + the sum of index * stride, in bytes.
struct StridedBytes {
  std::int64_t begin;
  int element_bytes;
  std::vector<std::int64_t> extents, strides;
};
bool share_memory(const StridedBytes&, const StridedBytes&);

template <class T, int R>
std::int64_t extent_of(const View<T, R>& v, int axis) {
  return detail::ViewAccess<T, R>::extents(v)[static_cast<std::size_t>(axis < 0 ? axis + R : axis)];
}
template <class T, int R>
std::int64_t stride_of(const View<T, R>& v, int axis) {
  return detail::ViewAccess<T, R>::strides(v)[static_cast<std::size_t>(axis < 0 ? axis + R : axis)];
}
template <class T, int R>
bool is_given(const View<T, R>& v) {
  return detail::ViewAccess<T, R>::host(v).made();
}

/// The view with a leading axis of `batch`, along which a view of rank R or with an extent of 1 stays at the same memory.
template <int R, class T, int S>
  requires(S == R || S == R - 1)
View<T, R> with_batch(const View<T, S>& v, std::int64_t batch, const Here& at) {
  detail::PerAxis<std::int64_t, R> extents{}, strides{};
  for (int i = 0; i < S; ++i) {
    extents[static_cast<std::size_t>(i + R - S)] = extent_of(v, i);
    strides[static_cast<std::size_t>(i + R - S)] = stride_of(v, i);
  }
  if (S < R || extents[0] == 1) strides[0] = 0;
  extents[0] = batch;
  return detail::ViewAccess<T, R>::over(detail::ViewAccess<T, S>::host(v), extents, strides, at);
}

/// The view with an axis as two: `outer`, and what is left.
template <class T, int R>
View<T, R + 1> split_axis(const View<T, R>& v, int axis, std::int64_t outer, const Here& at) {
  detail::PerAxis<std::int64_t, R + 1> extents{}, strides{};
  const std::int64_t inner = outer > 0 ? extent_of(v, axis) / outer : 0;
  for (int i = 0; i <= R; ++i) {
    const std::size_t to = static_cast<std::size_t>(i);
    const int from = i <= axis ? i : i - 1;
    extents[to] = i == axis ? outer : i == axis + 1 ? inner : extent_of(v, from);
    strides[to] = i == axis ? stride_of(v, axis) * inner : stride_of(v, from);
  }
  return detail::ViewAccess<T, R + 1>::over(detail::ViewAccess<T, R>::host(v), extents, strides, at);
}

/// A view of no elements and no memory, for what the caller leaves out.
template <class T, int R>
View<T, R> no_elements(const Here& at) {
  constexpr int kAlignment = 16;  // as that of most arguments, so that it makes no further specialization
  return detail::ViewAccess<T, R>::over({nullptr, kAlignment}, {}, {}, at);
}

/// The view, or one of no elements if the caller left it out.
template <class T, int R>
View<T, R> or_none(const View<T, R>& v, const Here& at) {
  return is_given(v) ? v : no_elements<T, R>(at);
}

inline StreamRef stream_of(const Options& options) { return options.stream.handle() ? StreamRef(options.stream) : StreamRef(); }

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// The type in which elements of T are added up.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<std::remove_const_t<T>, double>, double,
                                       std::conditional_t<std::is_integral_v<std::remove_const_t<T>>, std::int32_t, float>>;

}  // namespace tilewright::kernels
