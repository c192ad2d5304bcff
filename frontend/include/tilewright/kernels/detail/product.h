// Checks the arguments of products, and finds their shape and the alignment of their rows.
#pragma once
#include <cstdint>
#include <type_traits>

#include "tilewright/kernels/configuration.h"
#include "tilewright/kernels/detail/arguments.h"
#include "tilewright/ops.h"

namespace tilewright::kernels::host {

template <class T>
inline constexpr bool kIsFactor = OneOf<std::remove_const_t<T>, f16, bf16, float, double, std::int8_t, f8e4m3, f8e5m2>;
template <class C, class T>
inline constexpr bool kHoldsProduct = std::is_same_v<C, Accumulator<T>> || (std::is_same_v<Accumulator<T>, float> && OneOf<C, f16, bf16>);

inline bool is_empty(const ProductShape& s) { return s.batch * s.m * s.n == 0; }
inline std::int64_t programs_of(const ProductShape& s, const Configuration& c) {
  return s.batch * cdiv(s.m, std::int64_t{c.bm}) * cdiv(s.n, std::int64_t{c.bn});
}

/// The greatest power of two, at most a cache line of 128 bytes, that divides the distances in bytes between a factor's matrices and
/// between its rows, or columns if those are contiguous. The size of an element if neither rows nor columns are contiguous.
template <class T, int R>
int row_alignment(const View<T, R>& v) {
  const std::int64_t row = stride_of(v, -2), column = stride_of(v, -1), size = sizeof(T);
  std::int64_t bits = 128 | (column == 1 ? row : row == 1 ? column : 1) * size;
  if constexpr (R == 3)
    if (extent_of(v, 0) > 1) bits |= stride_of(v, 0) * size;
  return static_cast<int>(bits & -bits);
}

/// Whether the columns of a factor are contiguous, and its rows are not.
template <class T, int R>
bool is_transposed(const View<T, R>& v) {
  return stride_of(v, -2) == 1 && stride_of(v, -1) != 1;
}

/// Checks the arguments a [.., M, K], b [.., K, N] and c [.., M, N]; `more` checks the other arguments of the function.
template <class A, class B, class C, int R, class More = void (*)()>
ProductShape check_product(
    ArgumentCheck& check, const View<A, R>& a, const View<B, R>& b, const View<C, R>& c, const Options& options, More more = [] {}) {
  static_assert(R == 2 || R == 3, "a matrix has 2 axes, or 3 with a batch");
  check.input("a", a);
  check.input("b", b);
  check.output("c", c);
  check.equal("b", -2, "K", "a", -1);
  check.equal("c", -2, "M", "a", -2);
  check.equal("c", -1, "N", "b", -1);
  const std::int64_t batch = R == 3 ? check.broadcast({"a", "b"}, "c", 0) : 1;
  more();
  check.options(options);
  check.finish();
  return {.batch = batch,
          .m = extent_of(c, -2),
          .n = extent_of(c, -1),
          .k = extent_of(a, -1),
          .element_bytes = sizeof(A),
          .a_alignment = row_alignment(a),
          .b_alignment = row_alignment(b),
          .b_is_transposed = is_transposed(b)};
}

}  // namespace tilewright::kernels::host
