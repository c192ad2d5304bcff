// Rows of arrays: how kernels that work along the last axis find their row and its steps.
#pragma once
#include "tilewright/kernels/configuration.h"
#include "tilewright/kernels/detail/array.h"

namespace tilewright::kernels {

/// Row `index` of an array of any rank, along its last axis; rows are counted in row-major order.
template <class T, int R>
View<T, 1> row_of(const View<T, R>& v, const I64& index) {
  if constexpr (R == 1) {
    return v;
  } else {
    I64 inner = 1;
    for (int axis = 1; axis < R - 1; ++axis) inner *= v.extent(axis);
    if constexpr (R == 2)
      return v.at(index);
    else
      return row_of(v.at(index / inner), index % inner);
  }
}

/// Writes element `index`, counted in row-major order, of an array that has one element for each row.
template <class T, int R, class S>
void store_number(const View<T, R>& v, const I64& index, const Tile<S>& number) {
  const I64 last = v.extent(R - 1);
  row_of(v, index / last).store({index % last}, reshape(number.template to<T>(), {1}));
}
/// Reads such an element.
template <class S, class T, int R>
Tile<S> load_number(const View<T, R>& v, const I64& index) {
  const I64 last = v.extent(R - 1);
  return reshape(row_of(v, index / last).load({index % last}, {1}), {}).template to<S>();
}

/// The rank of an array that has one number for each row of an array of rank R.
template <int R>
inline constexpr int kNumbersRank = R > 1 ? R - 1 : 1;
/// Such an array in the accumulator type of T; and its read-only form.
template <class T, int R>
using Numbers = View<Accumulator<T>, kNumbersRank<R>>;
template <class T, int R>
using NumbersOf = View<const Accumulator<T>, kNumbersRank<R>>;

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

template <class T>
inline constexpr bool kIsFloat = OneOf<std::remove_const_t<T>, f16, bf16, float, double>;

/// A view with one number for each row of X, which may be a buffer; and its read-only form.
template <WholeArray X>
using RowNumbers = Numbers<WholeElement<X>, kRank<X>>;
template <WholeArray X>
using RowNumbersOf = NumbersOf<WholeElement<X>, kRank<X>>;
/// An array with one number for each row of X.
template <class A, class X>
concept RowNumbersLike = WholeArray<X> && ArrayOf<A, kNumbersRank<kRank<X>>>;

/// The problem for the rows of x and the kernel's work on them.
template <class T, int R>
RowsShape rows_of(const View<T, R>& x, RowsShape work) {
  work.rows = 1, work.n = extent_of(x, -1), work.element_bytes = sizeof(T);
  for (int axis = 0; axis + 1 < R; ++axis) work.rows *= extent_of(x, axis);
  return work;
}
inline bool is_empty(const RowsShape& s) { return s.rows == 0 || s.n == 0; }

/// Checks an array that has one number for each row of `of`.
template <int R>
void check_numbers(const ArgumentCheck& check, const char* name, const char* of) {
  if constexpr (R > 1)
    check.same_shape(name, of);
  else
    check.equal(name, 0, "rows", 1);
}

}  // namespace tilewright::kernels::host
