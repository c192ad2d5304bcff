// Checks the arguments of the kernel library, and makes the views that its kernels take.
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

/// A number for each axis of an array. A launch makes many of them, so they take no memory of the heap.
class AxisNumbers {
 public:
  static constexpr std::size_t kMost = 5;
  template <class Iterator>
  AxisNumbers(Iterator begin, Iterator end) {
    for (; begin != end; ++begin) numbers_[size_++] = *begin;
  }
  AxisNumbers(std::initializer_list<std::int64_t> numbers) : AxisNumbers(numbers.begin(), numbers.end()) {}
  std::size_t size() const { return size_; }
  std::int64_t& operator[](std::size_t axis) { return numbers_[axis]; }
  std::int64_t operator[](std::size_t axis) const { return numbers_[axis]; }
  std::int64_t* begin() { return numbers_.data(); }
  const std::int64_t* begin() const { return numbers_.data(); }
  const std::int64_t* end() const { return begin() + size_; }
  friend bool operator==(const AxisNumbers&, const AxisNumbers&) = default;

 private:
  std::array<std::int64_t, kMost> numbers_{};
  std::size_t size_ = 0;
};

/// Checks the arguments of one call. A failed check throws Error at the caller's line; it names the argument, its shape and what would fit.
class ArgumentCheck {
 public:
  ArgumentCheck(const char* function, const Here& at) : function_(function), at_(at) { views_.reserve(6); }

  template <class T, int R>
  void input(const char* name, const View<T, R>& v) {
    add<T, R>(name, v, false);
  }
  template <class T, int R>
  void output(const char* name, const View<T, R>& v) {
    static_assert(!std::is_const_v<T>, "a result needs a view that can be written: View<T, R>, not View<const T, R>");
    add<T, R>(name, v, true);
  }
  /// A result that the kernel also reads: a second launch would not write the same values again.
  template <class T, int R>
  void update(const char* name, const View<T, R>& v) {
    output(name, v);
    views_.back().updated = true;
  }
  /// An axis of `name`, which the message calls `symbol`, must be as long as an axis of `other`. Negative axes count from the end.
  void equal(const char* name, int axis, const char* symbol, const char* other, int other_axis) const;
  void equal(const char* name, int axis, const char* symbol, std::int64_t want) const;
  /// All extents, or the first `count` extents, must equal those of `other` from its first axis on.
  void same_shape(const char* name, const char* other, int count = -1) const;
  /// An extent must equal an extent of another argument.
  void same_extent(const char* name, int axis, const char* other, int other_axis) const;
  /// An extent must be at most `most`.
  void at_most(const char* name, int axis, std::int64_t most) const;
  /// The number of heads of `name` along an axis must be a multiple of the number of heads of `of`.
  void head_group(const char* name, const char* of, int axis) const;
  /// The common extent of a leading axis. Each input must have this extent or 1; the result must have it.
  std::int64_t broadcast(std::initializer_list<const char*> inputs, const char* result, int axis) const;
  /// The last check: all arguments are on one device; no result overlaps with another argument or with itself.
  void finish() const;
  /// Checks the stream and the tile sizes that the caller gives.
  void options(const Options&) const;
  /// Checks an array that is passed on to an epilogue. `number` counts all extras from 1. Called after the checks of the arguments.
  void extra(int number, const detail::HostView&, const std::vector<std::int64_t>& extents) const;
  /// A number of the caller as the bits of an element of this type.
  std::uint64_t element_bits(const char* name, const tilewright::detail::Scalar& number, tilewright::detail::TypeCode) const;
  [[noreturn]] void fail(const std::string& message) const;

  std::int64_t extent(const char* name, int axis) const;
  Device device() const;
  const char* function() const { return function_; }
  const Here& at() const { return at_; }
  /// The element type of each argument, and along which axis it is contiguous: "f;1,i;0".
  std::string types() const;
  /// A hash of types().
  std::size_t types_hash() const;
  /// The memory of results that a launch may also read: results that were given to update(), and results that share memory with `extras`,
  /// which the launch passes on to a function of the caller.
  std::vector<detail::Arguments::Reach> reread(std::span<const detail::Arguments::Reach> extras) const;

 private:
  struct View_ {
    const char* name;
    detail::HostView memory;
    AxisNumbers extents, strides;
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

/// A number of the caller for an element of T. It accepts and converts the same numbers as tw::full.
template <class T>
class ElementValue {
 public:
  template <tilewright::detail::ConstantOf<T> N>
  ElementValue(N number) : number_(number) {}
  /// Throws Error with this name if T cannot hold the number.
  T in(const ArgumentCheck& check, const char* name) const {
    const std::uint64_t bits = check.element_bits(name, number_, tilewright::detail::kCode<T>);
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  tilewright::detail::Scalar number_;
};

/// For testing whether two views share an element. The address of an element is begin + the sum of index * stride, in bytes.
struct StridedBytes {
  std::int64_t begin;
  int element_bytes;
  AxisNumbers extents, strides;
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

/// Adds a leading axis of extent `batch`. A view of rank R, or with an extent of 1, gets stride 0: it stays at the same memory.
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

/// Splits an axis in two: `outer`, and the rest.
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

/// A view without elements and memory, for an argument that the caller leaves out.
template <class T, int R>
View<T, R> no_elements(const Here& at) {
  constexpr int kAlignment = 16;  // the usual alignment of arguments, so that no further specialization is needed
  return detail::ViewAccess<T, R>::over({nullptr, kAlignment}, {}, {}, at);
}

/// The view, or a view without elements if the caller left it out.
template <class T, int R>
View<T, R> or_none(const View<T, R>& v, const Here& at) {
  return is_given(v) ? v : no_elements<T, R>(at);
}

inline StreamRef stream_of(const Options& options) { return options.stream.handle() ? StreamRef(options.stream) : StreamRef(); }

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// The accumulator type for elements of T.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<std::remove_const_t<T>, double>, double,
                                       std::conditional_t<std::is_integral_v<std::remove_const_t<T>>, std::int32_t, float>>;

}  // namespace tilewright::kernels
