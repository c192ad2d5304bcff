// Adds elements or rows to an array, at the indices in another array.
#pragma once
#include <algorithm>
#include <bit>

#include "tilewright/kernels/gather.h"
#include "tilewright/kernels/group_by.h"

namespace tilewright::kernels {

/// The indices along the first axes of an array, and then those along its last axes.
template <int R, std::size_t First, std::size_t Last>
Indices<R> joined(const std::array<I64, First>& first, const std::array<I64, Last>& last) {
  static_assert(First + Last == R);
  Indices<R> all;
  std::copy(first.begin(), first.end(), all.begin());
  std::copy(last.begin(), last.end(), all.begin() + First);
  return all;
}

/// Whether an index chooses one of the program's `length` elements or slices of y.
template <class T, int R>
Bool chooses_own(const I64& index, const View<T, R>& y, const I64& length) {
  const I64 begin = program_id(0).to<std::int64_t>() * length, end = minimum(begin + length, y.extent(0));
  chooses_one(index, y.extent(0), true);
  return (index - begin).template to<std::uint64_t>() < (end - begin).template to<std::uint64_t>();  // one comparison
}

/// y[index[p]] += x[p] for each p in its order, if the element of y is one of the program's `length` elements.
template <class T, class I>
void scatter_elements_in_order_kernel(View<const T, 1> x, View<const I, 1> index, View<T, 1> y, I64 length) {
  for (auto p : range(I64(0), index.extent(0))) {
    const I64 i = load(index.pointer({p})).template to<std::int64_t>();
    when(chooses_own(i, y, length), [&] {
      const auto to = y.pointer({i});
      store(to, load(to) + load(x.pointer({p})));
    });
  }
}

/// Adds slices: y[index[p], j..] += x[p.., j..], in steps of bn elements.
template <class T, class I, int R, int K>
void scatter_slices_in_order_kernel(View<const T, K> x, View<const I, 1> index, View<T, R> y, I64 length, int bn) {
  I64 columns = 1;
  for (int axis = 1; axis < R; ++axis) columns *= y.extent(axis);
  for (auto p : range(I64(0), index.extent(0))) {
    const I64 i = load(index.pointer({p})).template to<std::int64_t>();
    when(chooses_own(i, y, length), [&] {
      const auto of_index = unravel<K - R + 1>(p, x);
      for (auto first : range(I64(0), columns, bn)) {
        const I64 j = first + arange(0, bn);
        const auto of_slice = unravel<R - 1>(j, y, 1);
        const auto to = y.pointer(joined<R>(Indices<1>{i}, of_slice));
        const auto mask = j < columns;
        store(to, load(to, mask) + load(x.pointer(joined<K>(of_index, of_slice)), mask), mask);
      }
    });
  }
}

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
    const auto of_index = unravel<K - R + 1>(load(positions.pointer({p})), x);
    sum += load(x.pointer(joined<K>(of_index, of_slice)), j < columns).template to<S>();
  }
  const I64 index = load(indices.pointer({begin}), run < runs).template to<std::int64_t>();
  const auto inside = chooses_one(index, y.extent(0), run < runs) && run < runs;
  const auto address = y.pointer(joined<R>(Indices<1>{index}, of_slice));
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

/// Adds in the order of the index, without a sort. Each program reads the whole index, and adds what belongs to its share of y.
template <class X, class I, class Y, int R, int P, int K>
TW_PER_MODULE void scatter_in_order(const ArgumentCheck& check, const View<X, K>& x, const View<I, P>& index, const View<Y, R>& y,
                                    const Options& options) {
  using Index = std::remove_const_t<I>;
  constexpr int kMostPrograms = 16;  // more would read the index for longer than they add
  const Here& at = check.at();
  const std::int64_t count = std::max<std::int64_t>(extent_of(y, 0), 1), programs = std::min(host_threads(check.device()), kMostPrograms);
  const std::int64_t length = tilewright::cdiv(count, programs);
  const Launch launch{.grid = tilewright::cdiv(count, length), .stream = stream_of(options)};
  Buffer<Index> index_copy;
  const View<const Index, 1> indices = line_of(index, index_copy, check, options);
  if constexpr (R == 1) {
    static const Kernel kernel("scatter_elements_in_order", scatter_elements_in_order_kernel<Y, Index>);
    Buffer<Y> values_copy;
    kernel(launch, line_of(x, values_copy, check, options), indices, y, length, at);
  } else {
    static const Kernel kernel("scatter_slices_in_order", scatter_slices_in_order_kernel<Y, Index, R, K>);
    const int bn = static_cast<int>(tilewright::next_power_of_two(std::min<std::int64_t>(size_of(x) / size_of(index), 1024)));
    kernel(launch, x, indices, y, length, bn, at);
  }
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
  if constexpr (std::is_same_v<S, T>)  // 16-bit floats are added up in float, which takes all elements of a sum together
    if (is_host(check.device())) return scatter_in_order(check, x, index, y, options);
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
