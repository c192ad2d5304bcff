// Reductions of whole arrays, and along an axis.
#pragma once
#include "tilewright/kernels/detail/whole_arrays.h"

namespace tilewright::kernels {

/// y = f over the last axis of x, [.., M, K] to [.., M]: a program combines up to `length` elements of bm rows, always in the order of the
/// axis. If the axis has several parts of that length, y has the results of the first part in its first rows, then those of the next.
/// `by_columns`: rows run along the last axis of a tile, because elements of different rows at one k are adjacent in memory.
template <class X, class S, class Y, int RX, int RY, class F>
void reduce_kernel(View<const X, RX> x, View<Y, RY> y, I64 matrices, I64 length, Tile<X> identity, int bm, int bk, bool by_columns, F f) {
  const I64 tiles = cdiv(x.extent(RX - 2), bm), K = x.extent(RX - 1);
  const I64 row = program_id(0).to<std::int64_t>() / tiles, i = program_id(0).to<std::int64_t>() % tiles * bm;
  const auto rows = matrix_of(x, row % matrices);
  // A part ends where a step ends, so no element counts twice.
  const I64 begin = row / matrices * length;
  auto total = broadcast_to(identity.template to<S>(), {bm});
  for (auto k : range(begin, minimum(begin + length, K), bk)) {
    const auto v = by_columns ? transposed(rows).load({k, i}, {bk, bm}, identity) : rows.load({i, k}, {bm, bk}, identity);
    total = f(total, tilewright::reduce(v.template to<S>(), by_columns ? 0 : 1, f));
  }
  row_of(y, row).store({i}, total.template to<Y>());
}

/// The combine function of a sum.
struct Add {
  template <class S>
  Tile<S> operator()(const Tile<S>& earlier, const Tile<S>& later) const {
    return earlier + later;
  }
};

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

/// The type in which sums are computed: the type of the results if they are integers, else float, or double if x or y is double.
template <class X, class Y>
using SumType = std::conditional_t<std::is_integral_v<Y>, Y, std::conditional_t<OneOf<double, X, Y>, double, float>>;

/// Whether neighbours in a column are closer in memory than neighbours in a row.
template <class T, int R>
bool has_dense_columns(const View<T, R>& x) {
  return extent_of(x, -2) > 1 && std::abs(stride_of(x, -2)) < std::abs(stride_of(x, -1));
}

/// `options` must have a configuration.
template <class S, class X, class Y, int RX, int RY, class F>
TW_PER_MODULE void launch_reduce_parts(const View<const X, RX>& x, const View<Y, RY>& y, std::int64_t parts, X identity, F f,
                                       const Options& options, const Here& at) {
  static const Kernel kernel("reduce", reduce_kernel<X, S, Y, RX, RY, F>);
  const std::int64_t m = extent_of(x, -2), k = extent_of(x, -1), matrices = size_of(y) / m / parts;
  const int bm = options.configuration->bm, bk = options.configuration->bk;
  const std::int64_t length = tilewright::cdiv(tilewright::cdiv(k, parts), std::int64_t{bk}) * bk;
  // With batch_invariant, the order of a sum must not depend on the strides.
  const bool by_columns = !options.batch_invariant && has_dense_columns(x);
  kernel(launch_of(parts * matrices * tilewright::cdiv(m, std::int64_t{bm}), options), x, y, matrices, length, identity, bm, bk, by_columns,
         f, at);
}

/// y = f over the last axis of x. If there are few long rows, they are combined in parts, which a second launch combines in order.
template <class S, class X, class Y, int RX, int RY, class F>
void launch_reduce(const ArgumentCheck& check, const View<const X, RX>& x, const View<Y, RY>& y, X identity, F f, const Options& options,
                   const Here& at) {
  const std::int64_t results = size_of(y), m = extent_of(x, -2);
  if (results == 0) return;
  const ReductionShape shape{
      .matrices = results / m, .m = m, .k = extent_of(x, -1), .element_bytes = sizeof(X), .transposed = has_dense_columns(x)};
  const auto launch = [&](const Options& o) {
    const std::int64_t splits = o.configuration->splits;
    if (splits == 1) return launch_reduce_parts<S>(x, y, 1, identity, f, o, at);
    Buffer<S> memory = check.device().template allocate<S>(splits * results, at);
    launch_reduce_parts<S>(x, view(memory, {splits * (results / m), m}, at), splits, identity, f, o, at);
    const View<const S, 3> parts = view(memory, {results / m, m, splits}, {m, std::int64_t{1}, results}, at);
    launch_reduce_parts<S>(parts, y, 1, S(identity), f, o, at);
  };
  launch_tuned(check, shape, options, launch, typeid(F));
}

/// axis_last: the view with an axis moved to the end. without_axis: the view without the axis; a view of RY axes already lacks it.
template <class T, int R>
auto axis_last(const View<T, R>& v, int axis, const Here& at) {
  if constexpr (R == 1) {
    return with_batch<2>(v, 1, at);
  } else {
    auto extents = detail::ViewAccess<T, R>::extents(v);
    auto strides = detail::ViewAccess<T, R>::strides(v);
    std::rotate(extents.begin() + axis, extents.begin() + axis + 1, extents.end());
    std::rotate(strides.begin() + axis, strides.begin() + axis + 1, strides.end());
    return detail::ViewAccess<T, R>::over(detail::ViewAccess<T, R>::host(v), extents, strides, at);
  }
}
template <int RY, class T, int R>
View<T, RY> without_axis(const View<T, R>& v, int axis, const Here& at) {
  if constexpr (R == RY) {
    return v;
  } else {
    detail::PerAxis<std::int64_t, RY> extents{}, strides{};
    for (int i = 0; i < RY; ++i) {
      extents[static_cast<std::size_t>(i)] = extent_of(v, i < axis ? i : i + 1);
      strides[static_cast<std::size_t>(i)] = stride_of(v, i < axis ? i : i + 1);
    }
    return detail::ViewAccess<T, RY>::over(detail::ViewAccess<T, R>::host(v), extents, strides, at);
  }
}

template <class S, class X, class Y, int R, int RY, class F>
void reduce_axis(const View<X, R>& x, int axis, const View<Y, RY>& y, const ElementValue<std::remove_const_t<X>>& identity, F f,
                 const Options& options, const Here& at) {
  using T = std::remove_const_t<X>;
  static_assert(RY == R || (RY == R - 1 && R > 1), "y has the axes of x without the one that is reduced, or with an extent of 1 there");
  ArgumentCheck check("reduce", at);
  check.input("x", x);
  check.output("y", y);
  if (axis < -R || axis >= R)
    check.fail("axis = " + std::to_string(axis) + "; it must be " + std::to_string(-R) + " to " + std::to_string(R - 1));
  if (axis < 0) axis += R;
  for (int i = 0; i < R; ++i) {
    const int to = RY == R || i < axis ? i : i - 1;
    if (i != axis)
      check.same_extent("y", to, "x", i);
    else if (RY == R)
      check.equal("y", to, "the reduced extent", 1);
  }
  check.options(options);
  check.finish();
  const View<const T, (R > 1 ? R : 2)> from = axis_last(x, axis, at);
  launch_reduce<S>(check, from, without_axis<(R > 1 ? R - 1 : 1)>(y, axis, at), identity.in(check, "identity"), f, options, at);
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// f over all elements of a view or buffer x in row-major order; the identity if there are none. f(earlier, later) is a lambda without
/// captures over scalars and over tiles. It must be associative, but need not be commutative, and f(x, identity) must be x. The function
/// returns when the result is known. 16-bit floats are combined in float if f accepts it.
template <host::WholeArray X, host::CombineFunction<host::WholeElement<X>> F>
host::WholeElement<X> reduce(X&& x, F f, host::ElementValue<host::WholeElement<X>> identity, const Options& options = {},
                             Here at = Here::current()) {
  using T = host::WholeElement<X>;
  using S = CombineType<T, F>;
  const auto all = host::view_of(x, at);
  host::ArgumentCheck check("reduce", at);
  check.input("x", all);
  check.options(options);
  check.finish();
  const T neutral = identity.in(check, "identity");
  if (host::size_of(all) == 0) return neutral;
  Buffer<T> copy, result = check.device().template allocate<T>(1, at);
  const View<const T, 2> line = host::with_batch<2>(host::line_of(all, copy, check, options), 1, at);
  host::launch_reduce<S>(check, line, view(result, {1}, at), neutral, f, options, at);
  return host::only_element(result, options, at);
}

/// y = the sums along an axis; a negative axis counts from the end. y lacks this axis of x, or has the extent 1 there. Integers are added
/// up in the type of y, floats in float, or in double if x or y is double.
template <host::WholeArray X, host::WholeArray Y>
void reduce(X&& x, int axis, Y&& y, const Options& options = {}, Here at = Here::current()) {
  using T = host::WholeElement<X>;
  using U = host::WholeElement<Y>;
  using S = host::SumType<T, U>;
  static_assert(!(std::is_integral_v<U> && host::kIsFloat<T>), "sums of floats need a y of floats");
  host::reduce_axis<S>(host::view_of(x, at), axis, host::view_of(y, at), T(0), Add(), options, at);
}
/// y = f over the elements along an axis, in order.
template <host::WholeArray X, host::WholeArray Y, host::CombineFunction<host::WholeElement<X>> F>
void reduce(X&& x, int axis, Y&& y, F f, host::ElementValue<host::WholeElement<X>> identity, const Options& options = {},
            Here at = Here::current()) {
  using S = CombineType<host::WholeElement<X>, F>;
  host::reduce_axis<S>(host::view_of(x, at), axis, host::view_of(y, at), identity, f, options, at);
}

}  // namespace tilewright::kernels
