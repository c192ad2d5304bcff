// The largest elements of rows.
#pragma once
#include <algorithm>
#include <limits>

#include "tilewright/kernels/rows.h"

namespace tilewright::kernels {

/// The first half of a tile.
template <class T>
Tile<T> first_half(const Tile<T>& t, int half) {
  return split(permute(reshape(t, {2, half}), {1, 0})).first;
}

/// values[.., i], indices[.., i] = the i-th largest element of a row, and its index. A program keeps the `kept` largest elements so far and
/// sorts them together with the next block. Lanes past the end of the row sort last, behind equal elements.
template <class T, int R>
void top_k_kernel(View<const T, R> x, View<T, R> values, View<std::int32_t, R> indices, Tile<T> last, int kept, int block) {
  const I64 at = program_id(0).to<std::int64_t>();
  const auto from = row_of(x, at);
  const I32 n = from.extent(0).template to<std::int32_t>();
  auto [value, index] = topk(from.load({0}, {block}, last), kept);
  Tile<T> best = value;
  I32 position = index;
  for (auto i : range(block, n, block)) {
    const auto [next, next_index] = topk(from.load({i}, {block}, last), kept);
    const auto [v, p] = tilewright::sort(cat(best, next, 0), cat(position, i + next_index, 0), true);
    best = first_half(v, kept);
    position = first_half(p, kept);
  }
  row_of(values, at).store({0}, best);
  row_of(indices, at).store({0}, position);
}

/// The value that sorts last: NaN, or the least integer.
template <class T>
T sorts_last() {
  if constexpr (std::is_integral_v<T>)
    return std::numeric_limits<T>::lowest();
  else
    return T(std::numeric_limits<float>::quiet_NaN());
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

template <class X, class V, int R>
TW_PER_MODULE void launch_top_k(const View<X, R>& x, std::int64_t k, const View<V, R>& values, const View<std::int32_t, R>& indices,
                                const Options& options, const Here& at) {
  using T = std::remove_const_t<X>;
  static_assert(std::is_same_v<T, V>, "x and values have one element type");
  static_assert(kIsFloat<T> || (std::is_integral_v<T> && !std::is_same_v<T, bool>), "elements are integers, f16, bf16, float or double");
  ArgumentCheck check("top_k", at);
  check.input("x", x);
  check.output("values", values);
  check.output("indices", indices);
  const std::int64_t columns = extent_of(x, -1), most = std::min<std::int64_t>(columns, 4096);
  if (k < 1 || k > most)
    check.fail("k = " + std::to_string(k) + "; it must be 1 to " + std::to_string(most) +
               (columns <= 4096 ? ", the elements of a row of 'x'" : ", whatever the length of a row"));
  check.same_shape("values", "x", R - 1);
  check.equal("values", -1, "k", k);
  check.same_shape("indices", "values");
  check.options(options);
  check.finish();
  const RowsShape shape = rows_of(x, {});
  if (is_empty(shape)) return;
  static const Kernel kernel("top_k", top_k_kernel<T, R>);
  const int kept = static_cast<int>(tilewright::next_power_of_two(k));
  launch_tuned(check, TopKShape{shape.rows, shape.n, kept, sizeof(T)}, options, [&](const Options& o) {
    const int block = std::max(kept, o.configuration->bn);
    kernel(launch_of(shape.rows, o), x, values, indices, sorts_last<T>(), kept, block, at);
  });
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// The k largest elements of each row of the last axis, largest first, and their indices. Equal elements are in the order of their
/// indices; NaNs are last. values and indices (int32_t) are [.., k]; k is at most 4096, and at most the length of a row.
template <host::WholeArray X, host::ArrayLike<X> V, host::ArrayLike<X> I>
void top_k(X&& x, std::int64_t k, V&& values, I&& indices, const Options& options = {}, Here at = Here::current()) {
  static_assert(std::is_same_v<host::WholeElement<I>, std::int32_t>, "indices hold int32_t");
  host::launch_top_k(host::view_of(x, at), k, host::view_of(values, at), host::view_of(indices, at), options, at);
}

}  // namespace tilewright::kernels
