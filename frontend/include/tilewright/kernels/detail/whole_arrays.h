// Helpers of functions over all elements of buffers and views, in row-major order.
#pragma once
#include <algorithm>
#include <optional>

#include "tilewright/kernels/detail/array.h"
#include "tilewright/kernels/elements.h"

namespace tilewright::kernels {

/// The type in which a function combines elements of T: float for 16-bit floats if the function accepts tiles of float, else T.
template <class T, class F>
constexpr auto combine_type() {
  if constexpr (OneOf<T, f16, bf16>)
    return std::type_identity<std::conditional_t<tilewright::detail::Combine<F, Tile<float>>, float, T>>();
  else
    return std::type_identity<T>();
}
template <class T, class F>
using CombineType = typename decltype(combine_type<T, F>())::type;

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

/// A function without state that combines two elements of T, or two floats if T is a 16-bit float.
template <class F, class T>
concept CombineFunction = std::is_empty_v<F> && tilewright::detail::Combine<F, Tile<CombineType<T, F>>>;

template <class T, int R>
std::int64_t size_of(const View<T, R>& v) {
  std::int64_t size = 1;
  for (int axis = 0; axis < R; ++axis) size *= extent_of(v, axis);
  return size;
}

/// n elements in parts of whole blocks. Each part has its own program.
struct Parts {
  std::int64_t length, count;
};
/// At most c.splits parts, in blocks of c.bn.
inline Parts parts_of(std::int64_t n, const Configuration& c) {
  const std::int64_t length = tilewright::cdiv(tilewright::cdiv(n, std::int64_t{c.splits}), std::int64_t{c.bn}) * c.bn;
  return {length, tilewright::cdiv(n, length)};
}

/// All elements as one axis, if the distance between neighbours is the same everywhere.
template <class T, int R>
std::optional<View<T, 1>> as_line(const View<T, R>& v, const Here& at) {
  std::int64_t size = 1, stride = 1;
  for (int axis = R - 1; axis >= 0; --axis) {
    if (extent_of(v, axis) == 1) continue;
    if (size == 1) stride = stride_of(v, axis);
    if (size > 1 && extent_of(v, axis) > 0 && stride_of(v, axis) != stride * size) return std::nullopt;
    size *= extent_of(v, axis);
  }
  return detail::ViewAccess<T, 1>::over(detail::ViewAccess<T, R>::host(v), {size}, {stride}, at);
}

/// The memory as a row-major array with the extents of `like`.
template <class T, class X, int R>
View<T, R> dense_like(Buffer<T>& memory, const View<X, R>& like, const Here& at) {
  auto strides = detail::ViewAccess<X, R>::extents(like);
  detail::row_major(detail::ViewAccess<X, R>::extents(like), strides, at);
  return detail::ViewAccess<T, R>::over({&memory.raw()}, detail::ViewAccess<X, R>::extents(like), strides, at);
}

/// All elements as one axis: in place if possible, else copied to `memory` in row-major order.
template <class T, int R>
View<const std::remove_const_t<T>, 1> line_of(const View<T, R>& v, Buffer<std::remove_const_t<T>>& memory, const ArgumentCheck& check,
                                              const Options& options) {
  if (const auto line = as_line(v, check.at())) return *line;
  memory = check.device().allocate<std::remove_const_t<T>>(size_of(v), check.at());
  launch_copy("copy", v, dense_like(memory, v, check.at()), {.stream = options.stream}, check.at());
  return view(std::as_const(memory), {memory.size()}, check.at());
}

/// The address of the first element, as a Ptr for results whose positions the kernel computes. Null if the view has no memory.
template <class T, int R>
T* address_of(const View<T, R>& v) {
  const detail::RawBuffer* const buffer = detail::ViewAccess<T, R>::host(v).buffer;
  return buffer ? static_cast<T*>(buffer->memory()) : nullptr;
}

/// Whether two views are the same elements in the same order.
template <class X, class Y, int R>
bool is_same_memory(const View<X, R>& x, const View<Y, R>& y) {
  using A = detail::ViewAccess<X, R>;
  using B = detail::ViewAccess<Y, R>;
  return sizeof(X) == sizeof(Y) && A::host(x).buffer && B::host(y).buffer && A::host(x).buffer->memory() == B::host(y).buffer->memory() &&
         A::extents(x) == B::extents(y) && A::strides(x) == B::strides(y);
}

/// The only element of a buffer. Waits until earlier kernels on the stream have run.
template <class T>
T only_element(const Buffer<T>& buffer, const Options& options, const Here& at) {
  if (options.stream.handle()) options.stream.synchronize();
  return buffer.download(at)[0];
}

}  // namespace tilewright::kernels::host
