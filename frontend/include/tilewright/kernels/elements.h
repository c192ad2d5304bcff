// Copies between arrays of any strides, transposition, and filling with a value.
#pragma once
#include <algorithm>
#include <utility>

#include "tilewright/kernels/rows.h"

namespace tilewright::kernels {

/// Matrix `index` of an array of any rank from 2, along its last two axes; matrices are counted in row-major order.
template <class T, int R>
View<T, 2> matrix_of(const View<T, R>& v, const I64& index) {
  if constexpr (R == 2) {
    return v;
  } else {
    I64 inner = 1;
    for (int axis = 1; axis < R - 2; ++axis) inner *= v.extent(axis);
    if constexpr (R == 3)
      return v.at(index);
    else
      return matrix_of(v.at(index / inner), index % inner);
  }
}

/// The tile of an array that a program works on: its matrix, and its first row and column.
struct ElementOrigin {
  I64 matrix;
  I32 i, j;
};
inline ElementOrigin element_origin(const I64& rows, const I64& columns, int bm, int bn) {
  const I32 tiles_m = cdiv(rows, bm).to<std::int32_t>(), tiles_n = cdiv(columns, bn).to<std::int32_t>();
  const I32 at = program_id(0), in_matrix = at % (tiles_m * tiles_n);
  return {(at / (tiles_m * tiles_n)).to<std::int64_t>(), in_matrix / tiles_n * bm, in_matrix % tiles_n * bn};
}

/// y = x, cast. The compiler chooses a layout for loads and another for stores, so both are coalesced whichever axis is contiguous.
template <class X, class Y, int R>
void copy_kernel(View<const X, R> x, View<Y, R> y, int bm, int bn) {
  const auto [matrix, i, j] = element_origin(x.extent(R - 2), x.extent(R - 1), bm, bn);
  matrix_of(y, matrix).store({i, j}, matrix_of(x, matrix).load({i, j}, {bm, bn}).template to<Y>());
}

template <class Y, int R>
void fill_kernel(View<Y, R> y, Tile<Y> value, int bm, int bn) {
  const auto [matrix, i, j] = element_origin(y.extent(R - 2), y.extent(R - 1), bm, bn);
  matrix_of(y, matrix).store({i, j}, broadcast_to(value, {bm, bn}));
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

/// The problem for the elements of y, with `work` operations for each.
template <class T, int R>
ElementsShape elements_of(const View<T, R>& y, int work) {
  std::int64_t matrices = 1;
  for (int axis = 0; axis + 2 < R; ++axis) matrices *= extent_of(y, axis);
  return {.matrices = matrices, .rows = extent_of(y, -2), .columns = extent_of(y, -1), .element_bytes = sizeof(T), .work = work};
}
inline bool is_empty(const ElementsShape& s) { return s.matrices * s.rows * s.columns == 0; }
/// A launch with one program for each tile.
inline Launch tiles_launch_of(const ElementsShape& s, const Options& o) {
  const Configuration& c = *o.configuration;
  return launch_of(s.matrices * tilewright::cdiv(s.rows, std::int64_t{c.bm}) * tilewright::cdiv(s.columns, std::int64_t{c.bn}), o);
}
/// Whether neighbours in a column are adjacent in memory, and neighbours in a row are not.
template <class T, int R>
bool has_contiguous_columns(const View<T, R>& v) {
  return stride_of(v, -1) != 1 && stride_of(v, -2) == 1;
}

/// The view itself, or a matrix with one row.
template <class T, int R>
auto as_matrix(const View<T, R>& v, const Here& at) {
  if constexpr (R == 1)
    return with_batch<2>(v, 1, at);
  else
    return v;
}

template <class X, class Y, int R>
TW_PER_MODULE void launch_copy(const char* name, const View<X, R>& x, const View<Y, R>& y, const Options& options, const Here& at) {
  using From = std::remove_const_t<X>;
  static_assert(std::is_same_v<From, Y> || requires(Tile<From> t) { t.template to<Y>(); }, "there is no cast between these element types");
  ArgumentCheck check(name, at);
  check.input("x", x);
  check.output("y", y);
  check.same_shape("y", "x");
  const auto from = as_matrix(x, at);
  const auto to = as_matrix(y, at);
  check.options(options);
  check.finish();
  ElementsShape shape = elements_of(to, 1);
  if (has_contiguous_columns(from) != has_contiguous_columns(to))
    shape.transposed_stride = std::max(stride_of(from, -1) * std::int64_t{sizeof(X)}, stride_of(to, -1) * std::int64_t{sizeof(Y)});
  if (is_empty(shape)) return;
  static const Kernel kernel("copy", copy_kernel<From, Y, (R > 1 ? R : 2)>);
  launch_tuned(check, shape, options,
               [&](const Options& o) { kernel(tiles_launch_of(shape, o), from, to, o.configuration->bm, o.configuration->bn, at); });
}

template <class Y, int R>
TW_PER_MODULE void launch_fill(const View<Y, R>& y, const ElementValue<Y>& given, const Options& options, const Here& at) {
  ArgumentCheck check("fill", at);
  check.output("y", y);
  const auto to = as_matrix(y, at);
  check.options(options);
  check.finish();
  const Y value = given.in(check, "value");
  const ElementsShape shape = elements_of(to, 1);
  if (is_empty(shape)) return;
  static const Kernel kernel("fill", fill_kernel<Y, (R > 1 ? R : 2)>);
  launch_tuned(check, shape, options,
               [&](const Options& o) { kernel(tiles_launch_of(shape, o), to, value, o.configuration->bm, o.configuration->bn, at); });
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// y = x, element by element, cast if the element types differ. Any strides.
template <host::WholeArray X, host::ArrayLike<X> Y>
void copy(X&& x, Y&& y, const Options& options = {}, Here at = Here::current()) {
  host::launch_copy("copy", host::view_of(x, at), host::view_of(y, at), options, at);
}
/// y[.., j, i] = x[.., i, j].
template <class X, class Y, int R>
  requires(R >= 2)
void transpose(const View<X, R>& x, const View<Y, R>& y, const Options& options = {}, Here at = Here::current()) {
  host::ArgumentCheck check("transpose", at);
  check.input("x", x);
  check.output("y", y);
  check.same_shape("y", "x", R - 2);
  check.equal("y", -2, "columns", "x", -1);
  check.equal("y", -1, "rows", "x", -2);
  host::launch_copy("transpose", transposed(x, at), y, options, at);
}
/// Fills y with the value, which is converted to the type of y as by tw::full.
template <host::WholeArray Y>
void fill(Y&& y, host::ElementValue<host::WholeElement<Y>> value, const Options& options = {}, Here at = Here::current()) {
  host::launch_fill(host::view_of(y, at), value, options, at);
}

}  // namespace tilewright::kernels
