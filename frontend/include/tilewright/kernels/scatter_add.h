// Adds elements or rows to an array, at the indices in another array.
#pragma once
#include <bit>

#include "tilewright/kernels/gather.h"
#include "tilewright/kernels/group_by.h"

namespace tilewright::kernels {

/// to[i] = i.
inline void scatter_positions_kernel(View<std::int64_t, 1> to, int block) {
  const I64 begin = program_id(0).to<std::int64_t>() * block;
  to.store({begin}, begin + arange(0, block));
}

/// starts[run] = where a run of equal sorted indices begins. ids: the number of the run of each index, counted from 1.
inline void scatter_starts_kernel(View<const std::int32_t, 1> ids, View<std::int64_t, 1> starts, int block) {
  const I64 i = program_id(0).to<std::int64_t>() * block + arange(0, block), n = ids.extent(0);
  const auto id = load(ids.pointer({i}), i < n), before = load(ids.pointer({i - 1}), i > 0 && i < n);
  store(starts.pointer({(id - 1).to<std::int64_t>()}), i, i < n && id != before);
}

/// y[index[run]] += sums[run].
template <class S, class T, class I>
void scatter_elements_kernel(View<const I, 1> indices, View<const S, 1> sums, View<const std::int32_t, 1> count, View<T, 1> y, int block) {
  const I64 i = program_id(0).to<std::int64_t>() * block + arange(0, block);
  const auto runs = reshape(count.load({0}, {1}), {}).template to<std::int64_t>();
  const I64 index = load(indices.pointer({i}), i < runs).template to<std::int64_t>();
  const auto mask = chooses_one(index, y.extent(0), i < runs) && i < runs;
  const auto to = y.pointer({index});
  store(to, (load(to, mask).template to<S>() + load(sums.pointer({i}), mask)).template to<T>(), mask);
}

/// y[index[run], j..] += the slices of x at the run's positions, in order. A program adds `bn` elements of the slices of one run.
template <class S, class T, class I, int R, int K>
void scatter_slices_kernel(View<const T, K> x, View<const I, 1> indices, View<const std::int64_t, 1> positions,
                           View<const std::int64_t, 1> starts, View<const std::int32_t, 1> ids, View<T, R> y, int bn) {
  constexpr int kIndexRank = K - R + 1;
  constexpr auto kSliceAxes = static_cast<std::size_t>(kIndexRank);  // the first axis of a slice in x
  I64 columns = 1;
  for (int axis = 1; axis < R; ++axis) columns *= y.extent(axis);
  const I64 program = program_id(0).to<std::int64_t>(), tiles = cdiv(columns, bn), run = program / tiles;
  const I64 runs = reshape(ids.load({ids.extent(0) - 1}, {1}), {}).template to<std::int64_t>();
  const I64 begin = load(starts.pointer({run}), run < runs);
  const I64 end = where(run < runs, load(starts.pointer({run + 1}), run + 1 < runs, positions.extent(0)), begin);
  const I64 j = program % tiles * bn + arange(0, bn);
  const auto of_slice = unravel<R - 1>(j, y, 1);
  auto sum = zeros<S>({bn});
  for (auto p : range(begin, end)) {
    const auto of_index = unravel<kIndexRank>(load(positions.pointer({p})), x);
    Indices<K> at;
    for (std::size_t axis = 0; axis < K; ++axis) at[axis] = axis < kSliceAxes ? of_index[axis] : of_slice[axis - kSliceAxes];
    sum += load(x.pointer(at), j < columns).template to<S>();
  }
  const I64 index = load(indices.pointer({begin}), run < runs).template to<std::int64_t>();
  const auto inside = chooses_one(index, y.extent(0), run < runs) && run < runs;
  Indices<R> to{index};
  for (std::size_t axis = 1; axis < R; ++axis) to[axis] = of_slice[axis - 1];
  const auto address = y.pointer(to);
  const auto mask = inside && j < columns;
  store(address, (load(address, mask).template to<S>() + sum).template to<T>(), mask);
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

/// The indices in row-major order, for a sort.
template <class I, int P>
Buffer<std::remove_const_t<I>> copy_of(const ArgumentCheck& check, const View<I, P>& x, const Options& options) {
  Buffer<std::remove_const_t<I>> copy = check.device().template allocate<std::remove_const_t<I>>(size_of(x), check.at());
  launch_copy("copy", x, dense_like(copy, x, check.at()), {.stream = options.stream}, check.at());
  return copy;
}

/// `options` must have a configuration.
template <class S, class X, class I, class Y, int P>
TW_PER_MODULE void scatter_elements(const ArgumentCheck& check, const View<X, P>& x, const View<I, P>& index, const View<Y, 1>& y,
                                    const Options& options) {
  using Index = std::remove_const_t<I>;
  const Here& at = check.at();
  const Device device = check.device();
  const std::int64_t n = size_of(index);
  Buffer<Index> keys = copy_of(check, index, options), indices = device.allocate<Index>(n, at);
  Buffer<Y> values = copy_of(check, x, options);
  Buffer<S> sums = device.allocate<S>(n, at);
  launch_sort(device, view_of(keys, at), view_of(values, at), true, false, options, at);
  Runs<Index, Y, Add> runs(device, view_of(keys, at), view_of(values, at), Add(), options, at);
  runs.store(view_of(indices, at), view_of(sums, at));
  static const Kernel kernel("scatter_elements", scatter_elements_kernel<S, Y, Index>);
  const int bn = options.configuration->bn;
  kernel(launch_of(tilewright::cdiv(n, std::int64_t{bn}), options), view_of(indices, at), view_of(sums, at), view_of(runs.count(), at), y,
         bn, at);
}

/// `options` must have a configuration.
template <class S, class X, class I, class Y, int R, int P, int K>
TW_PER_MODULE void scatter_slices(const ArgumentCheck& check, const View<X, K>& x, const View<I, P>& index, const View<Y, R>& y,
                                  const Options& options) {
  using Index = std::remove_const_t<I>;
  const Here& at = check.at();
  const Device device = check.device();
  const std::int64_t n = size_of(index), blocks = tilewright::cdiv(n, std::int64_t{options.configuration->bn}), columns = size_of(x) / n;
  Buffer<Index> keys = copy_of(check, index, options);
  Buffer<std::int64_t> positions = device.allocate<std::int64_t>(n, at), starts = device.allocate<std::int64_t>(n, at);
  static const Kernel positions_kernel("scatter_positions", scatter_positions_kernel);
  static const Kernel starts_kernel("scatter_starts", scatter_starts_kernel);
  static const Kernel kernel("scatter_slices", scatter_slices_kernel<S, Y, Index, R, K>);
  positions_kernel(launch_of(blocks, options), view_of(positions, at), options.configuration->bn, at);
  launch_sort(device, view_of(keys, at), view_of(positions, at), true, false, options, at);
  Buffer<std::int32_t> ids = number_runs(device, View<const Index, 1>(view_of(keys, at)), options, at);
  starts_kernel(launch_of(blocks, options), view_of(ids, at), view_of(starts, at), options.configuration->bn, at);
  const int bn = static_cast<int>(std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(columns)), 1024));
  kernel(launch_of(n * tilewright::cdiv(columns, std::int64_t{bn}), options), x, view_of(keys, at), view_of(positions, at),
         view_of(starts, at), view_of(ids, at), y, bn, at);
}

template <class X, class I, class Y, int R, int P, int K>
void launch_scatter_add(const View<X, K>& x, const View<I, P>& index, const View<Y, R>& y, const Options& options, const Here& at) {
  using T = std::remove_const_t<X>;
  using Index = std::remove_const_t<I>;
  using S = std::conditional_t<OneOf<T, f16, bf16>, float, T>;
  static_assert(K == P + R - 1, "x has the axes of index, and then those of y from its second one on");
  ArgumentCheck check("scatter_add", at);
  check.input("x", x);
  check.input("index", index);
  check.update("y", y);
  check_slices<T, Index, Y>(check, "x", P, "y", R, options);
  const std::int64_t n = size_of(index);
  if (size_of(x) == 0) return;
  const auto launch = [&](const Options& o) {
    if constexpr (R == 1)
      scatter_elements<S>(check, x, index, y, o);
    else
      scatter_slices<S>(check, x, index, y, o);
  };
  launch_tuned(check, sort_shape<Index>(n), options, launch);
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// y[index[i..]] += x[i..]: elements of y if it has one axis, else its rows, which may have several axes: y [N, slice..], index of any
/// rank, x [index's extents.., slice..]. index holds int32_t or int64_t. An index outside of 0 .. N - 1 is skipped; checked mode throws an
/// Error. Elements with equal indices are added in a fixed order (f16 and bf16 in float), so the result has the same bits each time.
/// Buffers or views.
template <host::WholeArray X, host::WholeArray I, host::WholeArray Y>
void scatter_add(X&& x, I&& index, Y&& y, const Options& options = {}, Here at = Here::current()) {
  host::launch_scatter_add(host::view_of(x, at), host::view_of(index, at), host::view_of(y, at), options, at);
}

}  // namespace tilewright::kernels
