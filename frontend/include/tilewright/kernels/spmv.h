// The product of a sparse matrix in compressed rows (CSR) and a vector.
#pragma once
#include "tilewright/kernels/configuration.h"
#include "tilewright/kernels/detail/array.h"
#include "tilewright/kernels/matmul.h"
#include "tilewright/kernels/rows.h"

namespace tilewright::kernels {

/// The compile-time constants of the kernels.
struct SpmvTiles {
  int bm, bk;   // rows of a program, and nonzeros of each row that it multiplies at a time
  int lanes;    // nonzeros of one long row that are multiplied at a time
  int chunk;    // nonzeros for each program of the first kernel; longer rows are added up from its partial sums
  bool starts;  // row_ends also holds where the first row begins
};

/// A matrix in compressed rows. Nonzero k is values[k] in column columns[k]; nonzeros are sorted by row.
template <class T, class I, class J>
struct CompressedRows {
  View<const I, 1> row_ends;
  View<const J, 1> columns;
  View<const T, 1> values;
};

/// The nonzeros of rows: from .first up to but not including .second; none where `inside` is false.
template <class T, class I, class J>
std::pair<I32, I32> nonzeros_of(const CompressedRows<T, I, J>& a, const I32& row, const Bool& inside, SpmvTiles t) {
  const auto at_most_all = [&](const auto& n) {
    return clamp(n.template to<std::int64_t>(), 0, a.values.extent(0)).template to<std::int32_t>();
  };
  const I32 end = at_most_all(load(a.row_ends.pointer({row + (t.starts ? 1 : 0)}), inside));
  const I32 begin = at_most_all(load(a.row_ends.pointer({row - (t.starts ? 0 : 1)}), t.starts ? inside : inside && row > 0));
  return {minimum(begin, end), end};
}

/// values[k] * x[columns[k]] for each k that is less than `end`.
template <class T, class I, class J>
Tile<Accumulator<T>> products_of(const CompressedRows<T, I, J>& a, const View<const T, 1>& x, const I32& k, const I32& end) {
  using S = Accumulator<T>;
  const Bool inside = k < end;
  const auto at = load(a.columns.pointer({k}), inside).template to<std::int64_t>();
  const Bool is_column = at >= 0 && at < x.extent(0);
  tilewright::detail::device_assert(is_column, "a column is out of range", tilewright::detail::Optional<bool>(inside), &at);
  return load(a.values.pointer({k}), inside).template to<S>() * load(x.pointer({at}), inside && is_column).template to<S>();
}

/// The sum of values[k] * x[columns[k]] for k from `begin` to `end`; all are scalars.
template <class T, class I, class J>
Tile<Accumulator<T>> dot_of_nonzeros(const CompressedRows<T, I, J>& a, const View<const T, 1>& x, const I32& begin, const I32& end,
                                     SpmvTiles t) {
  auto sums = zeros<Accumulator<T>>({t.lanes});
  for (auto k : range(begin, end, t.lanes)) sums += products_of(a, x, k + arange(0, t.lanes), end);
  return sum(sums);
}

/// The row that holds nonzero k: the first row that ends after it. Each step compares k with the ends of kLanes rows.
template <class T, class I, class J>
I32 row_of_nonzero(const CompressedRows<T, I, J>& a, const I32& k, const I32& rows, SpmvTiles t) {
  constexpr int kLanes = 64;
  I32 low = 0, high = rows;  // the row is in the range low .. high
  loop_while([&] { return low < high; },
             [&] {
               const I32 step = cdiv(high - low, kLanes), last = low + (arange(0, kLanes) + 1) * step - 1;
               const I32 ends = nonzeros_of(a, last, last < high, t).second;
               low += sum((last < high && ends <= k).template to<std::int32_t>()) * step;
               high = minimum(high, low + step - 1);
             });
  return low;
}

/// The first kernel, for rows of more than `chunk` nonzeros: program p adds up the nonzeros of its chunk that belong to such rows. A chunk
/// has at most two of them: partial[p, 0] is for the row at the chunk's begin, partial[p, 1] for a row that begins later and continues past
/// the chunk's end.
template <class T, class I, class J>
void spmv_chunks_kernel(View<const I, 1> row_ends, View<const J, 1> columns, View<const T, 1> values, View<const T, 1> x, I32 rows,
                        View<Accumulator<T>, 2> partial, SpmvTiles t) {
  const CompressedRows<T, I, J> a{row_ends, columns, values};
  const I32 program = program_id(0), begin = program * t.chunk,
            end = minimum(begin + t.chunk, values.extent(0).template to<std::int32_t>());
  const auto store_part = [&](const I32& row, int slot) {
    const auto [first, last] = nonzeros_of(a, row, row < rows, t);
    when(last - first > t.chunk && (slot == 0 || first > begin),
         [&] { store(partial.pointer({program, slot}), dot_of_nonzeros(a, x, maximum(first, begin), minimum(last, end), t)); });
  };
  store_part(row_of_nonzero(a, begin, rows, t), 0);
  store_part(row_of_nonzero(a, end - 1, rows, t), 1);
}

/// The second kernel: y = a x for bm rows. Short rows are multiplied together, bk nonzeros of each at a time; a longer row uses all lanes.
template <class T, class I, class J, class Y>
void spmv_kernel(View<const I, 1> row_ends, View<const J, 1> columns, View<const T, 1> values, View<const T, 1> x,
                 View<const Accumulator<T>, 2> partial, View<Y, 1> y, SpmvTiles t) {
  using S = Accumulator<T>;
  const CompressedRows<T, I, J> a{row_ends, columns, values};
  const I32 rows = y.extent(0).template to<std::int32_t>(), number = arange(0, t.bm), row = program_id(0) * t.bm + number;
  const auto nonzeros = nonzeros_of(a, row, row < rows, t);
  const I32 begin = nonzeros.first, end = nonzeros.second, length = end - begin;
  const Bool is_short = length <= 4 * t.bk;
  auto products = zeros<S>({t.bm, t.bk});
  for (auto k : range(0, max(where(is_short, length, 0)), t.bk))
    products += products_of(a, x, column(begin + k) + tilewright::row(arange(0, t.bk)), column(where(is_short, end, 0)));
  auto sums = sum(products, 1);

  I32 left = where(is_short, 0, length);  // nonzeros that are still to be multiplied
  loop_while([&] { return max(left) > 0; },
             [&] {
               const Bool chosen = number == argmax(left, 0);
               const I32 first = sum(where(chosen, begin, 0)), last = sum(where(chosen, end, 0));
               auto total = zeros<S>({});
               when(
                   last - first <= t.chunk, [&] { total = dot_of_nonzeros(a, x, first, last, t); },
                   [&] {
                     auto parts = zeros<S>({t.lanes});
                     const I32 first_chunk = first / t.chunk, end_chunk = cdiv(last, t.chunk);
                     for (auto c : range(first_chunk, end_chunk, t.lanes)) {
                       const I32 chunk = c + arange(0, t.lanes);
                       parts += load(partial.pointer({chunk, (chunk * t.chunk < first).template to<std::int32_t>()}), chunk < end_chunk);
                     }
                     total = sum(parts);
                   });
               sums = where(chosen, total, sums);
               left = where(chosen, 0, left);
             });
  store(y.pointer({row}), sums.template to<Y>(), row < rows);
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

template <class I, class J, class T, class X, class Y>
TW_PER_MODULE void launch_spmv(const View<I, 1>& row_ends, const View<J, 1>& columns, const View<T, 1>& values, const View<X, 1>& x,
                               const View<Y, 1>& y, const Options& options, const Here& at) {
  using Value = std::remove_const_t<T>;
  using S = Accumulator<Value>;
  static_assert(kIsFloat<T> && std::is_same_v<Value, std::remove_const_t<X>>,
                "values and x have one element type: f16, bf16, float or double");
  static_assert(kHoldsProduct<Y, T>, "y holds what the products are added up in: float, f16 or bf16; double for double");
  using RowEnd = std::remove_const_t<I>;
  using Column = std::remove_const_t<J>;
  static_assert(OneOf<RowEnd, std::int32_t, std::int64_t> && OneOf<Column, std::int32_t, std::int64_t>,
                "row_ends and columns hold int32_t or int64_t");
  ArgumentCheck check("spmv", at);
  check.input("row_ends", row_ends);
  check.input("columns", columns);
  check.input("values", values);
  check.input("x", x);
  check.output("y", y);
  check.equal("columns", 0, "nonzeros", "values", 0);
  // leaves room for lanes past the end
  check.at_most("values", 0, INT32_MAX - (1 << 22));
  check.at_most("y", 0, INT32_MAX - (1 << 22));
  const std::int64_t rows = extent_of(y, 0), nonzeros = extent_of(values, 0);
  const bool starts = extent_of(row_ends, 0) == rows + 1;
  if (!starts) check.equal("row_ends", 0, "rows", "y", 0);
  check.options(options);
  check.finish();
  if (rows == 0) return;
  launch_tuned(check, SparseShape{.rows = rows, .nonzeros = nonzeros, .element_bytes = sizeof(T)}, options, [&](const Options& o) {
    const Configuration& c = *o.configuration;
    // The order of a row's sum must not depend on where its nonzeros are.
    const int chunk = o.batch_invariant ? INT32_MAX : 16 * c.bn;
    const SpmvTiles tiles{c.bm, c.bk, c.bn, chunk, starts};
    const std::int64_t chunks = nonzeros > chunk ? tilewright::cdiv(nonzeros, std::int64_t{chunk}) : 0;
    Buffer<S> memory = check.device().template allocate<S>(2 * chunks, at);
    const View<S, 2> partial = view(memory, {chunks, 2}, at);
    if (chunks > 0) {
      static const Kernel kernel("spmv_chunks", spmv_chunks_kernel<Value, RowEnd, Column>);
      kernel(launch_of(chunks, o), row_ends, columns, values, x, rows, partial, tiles, at);
    }
    static const Kernel kernel("spmv", spmv_kernel<Value, RowEnd, Column, Y>);
    kernel(launch_of(tilewright::cdiv(rows, std::int64_t{c.bm}), o), row_ends, columns, values, x, partial, y, tiles, at);
  });
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// y = a x for a matrix in compressed rows. Row i has the nonzeros from row_ends[i - 1], or 0, up to but not including row_ends[i]; nonzero
/// k is values[k] in column columns[k]. row_ends: [rows], or [rows + 1] with the begin of the first row before the ends; columns, values:
/// [nonzeros]; x: [columns]; y: [rows]. row_ends and columns hold int32_t or int64_t. Rows may have any length. A column that x does not
/// have counts as 0; checked mode throws an Error. f16, bf16 and float are added up in float and stored as float, f16 or bf16; double as
/// double. Buffers or views.
template <host::WholeArray RowEnds, host::WholeArray Columns, host::WholeArray Values, host::WholeArray X, host::WholeArray Y>
void spmv(RowEnds&& row_ends, Columns&& columns, Values&& values, X&& x, Y&& y, const Options& options = {}, Here at = Here::current()) {
  host::launch_spmv(host::view_of(row_ends, at), host::view_of(columns, at), host::view_of(values, at), host::view_of(x, at),
                    host::view_of(y, at), options, at);
}

}  // namespace tilewright::kernels
