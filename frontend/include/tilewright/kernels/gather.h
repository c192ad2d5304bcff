// Gathers elements or rows of an array at the indices in another array.
#pragma once
#include "tilewright/kernels/detail/array.h"
#include "tilewright/kernels/elements.h"

namespace tilewright::kernels {

/// Whether an index is below `count` and not negative. If it is not and `read` says that it is a real index, checked mode throws an Error.
inline Bool chooses_one(const I64& index, const I64& count, const Bool& read) {
  const auto inside = index >= 0 && index < count;
  tilewright::detail::device_assert(inside, "an index is out of range", tilewright::detail::Optional<bool>(read), &index);
  return inside;
}

/// A tile of an array of slices [index's extents.., slice's extents..]. Its rows are all axes except the last, in row-major order; its
/// columns are the last axis. Slice s belongs to slice `chosen` of the array that is indexed.
template <int K>
struct SliceTile {
  Indices<K> at;               // the indices of its elements
  I64 chosen;                  // for each element, or for each row
  Bool inside, chosen_inside;  // the element is inside of the array; its index chooses a slice that exists
};

/// The tile of `slices` for this program. The index may choose from `count` slices.
template <class T, class I, int K, int P>
SliceTile<K> slice_tile(const View<T, K>& slices, const View<const I, P>& index, const I64& count, int bm, int bn) {
  I64 rows = 1;
  for (int axis = 0; axis + 1 < K; ++axis) rows *= slices.extent(axis);
  const I64 columns = slices.extent(K - 1);
  const I64 program = program_id(0).to<std::int64_t>(), tiles_n = cdiv(columns, bn);
  const I64 i = column(program / tiles_n * bm + arange(0, bm)), j = row(program % tiles_n * bn + arange(0, bn));
  SliceTile<K> tile;
  const auto leading = unravel<K - 1>(i, slices);
  for (std::size_t axis = 0; axis + 1 < K; ++axis) tile.at[axis] = leading[axis];
  tile.at[K - 1] = j;
  tile.inside = i < rows && j < columns;
  Indices<P> of_index;
  for (std::size_t axis = 0; axis < P; ++axis) of_index[axis] = tile.at[axis];
  // There is one index for each row if slices have axes, else one for each element.
  const Bool index_inside = P < K ? i < rows : tile.inside;
  tile.chosen = load(index.pointer(of_index), index_inside).template to<std::int64_t>();
  tile.chosen_inside = chooses_one(tile.chosen, count, index_inside);
  return tile;
}

/// The position in the indexed array: [chosen, slice's indices..].
template <int R, int K>
Indices<R> chosen_indices(const SliceTile<K>& tile) {
  Indices<R> indices{tile.chosen};
  for (std::size_t axis = 1; axis < R; ++axis) indices[axis] = tile.at[K - R + axis];
  return indices;
}

/// y[i.., j..] = x[index[i..], j..]; 0 if the index is out of range.
template <class T, class I, int R, int P>
void gather_kernel(View<const T, R> x, View<const I, P> index, View<T, P + R - 1> y, int bm, int bn) {
  const auto tile = slice_tile(y, index, x.extent(0), bm, bn);
  store(y.pointer(tile.at), load(x.pointer(chosen_indices<R>(tile)), tile.inside && tile.chosen_inside), tile.inside);
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

/// Checks the array of slices that an index of rank P chooses from `of`: [index's extents.., extents of `of` from its second axis on..].
/// Also does the last checks of the call. T, I and Y are the types of the elements of x, the index and y.
template <class T, class I, class Y>
void check_slices(const ArgumentCheck& check, const char* slices, int index_rank, const char* of, int of_rank, const Options& options) {
  static_assert(std::is_same_v<T, Y>, "x and y have one element type, and y is a view that can be written");
  static_assert(OneOf<I, std::int32_t, std::int64_t>, "index holds int32_t or int64_t");
  check.same_shape(slices, "index", index_rank);
  for (int axis = 1; axis < of_rank; ++axis) check.same_extent(slices, index_rank + axis - 1, of, axis);
  check.options(options);
  check.finish();
}

/// The elements of an array of slices as one matrix, whose rows are all axes except the last.
template <class T, int R>
ElementsShape slices_of(const View<T, R>& slices) {
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < R; ++axis) rows *= extent_of(slices, axis);
  return {.matrices = 1, .rows = rows, .columns = extent_of(slices, -1), .element_bytes = sizeof(T)};
}

template <class X, class I, class Y, int R, int P, int K>
TW_PER_MODULE void launch_gather(const View<X, R>& x, const View<I, P>& index, const View<Y, K>& y, const Options& options,
                                 const Here& at) {
  using T = std::remove_const_t<X>;
  using Index = std::remove_const_t<I>;
  static_assert(K == P + R - 1, "y has the axes of index, and then those of x from its second one on");
  ArgumentCheck check("gather", at);
  check.input("x", x);
  check.input("index", index);
  check.output("y", y);
  check_slices<T, Index, Y>(check, "y", P, "x", R, options);
  const ElementsShape shape = slices_of(y);
  if (is_empty(shape)) return;
  static const Kernel kernel("gather", gather_kernel<T, Index, R, P>);
  launch_tuned(check, shape, options,
               [&](const Options& o) { kernel(tiles_launch_of(shape, o), x, index, y, o.configuration->bm, o.configuration->bn, at); });
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// y[i..] = x[index[i..]]: elements of x if it has one axis, else its rows, which may have several axes: x [N, slice..], index of any
/// rank, y [index's extents.., slice..]. index holds int32_t or int64_t. For an index outside of 0 .. N - 1 the result is 0; checked mode
/// throws an Error. Buffers or views of any element type.
template <host::WholeArray X, host::WholeArray I, host::WholeArray Y>
void gather(X&& x, I&& index, Y&& y, const Options& options = {}, Here at = Here::current()) {
  host::launch_gather(host::view_of(x, at), host::view_of(index, at), host::view_of(y, at), options, at);
}

}  // namespace tilewright::kernels
