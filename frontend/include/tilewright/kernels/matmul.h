// Matrix products with any strides, batches, an epilogue of the caller, and long sums in parts.
#pragma once
#include <optional>

#include "tilewright/kernels/configuration.h"
#include "tilewright/kernels/detail/arguments.h"
#include "tilewright/kernels/detail/callers_functions.h"
#include "tilewright/kernels/detail/extras.h"
#include "tilewright/kernels/detail/product.h"
#include "tilewright/kernels/tiles.h"
#include "tilewright/ops.h"

namespace tilewright::kernels {

/// The compile-time constants of a product's kernel.
struct ProductTiles {
  int bm, bn, bk, group;
  bool whole;    // the tiles cover c exactly
  bool whole_k;  // the steps cover k exactly
};

/// The tile of c that a program computes: its batch, and its first row and column.
struct ProductOrigin {
  I32 batch, i, j;
};

/// Programs that run together share rows of a and columns of b, which are then in a cache.
inline ProductOrigin product_origin(const I32& program, const I64& m, const I64& n, ProductTiles t) {
  const I32 tiles_m = cdiv(m, t.bm).to<std::int32_t>(), tiles_n = cdiv(n, t.bn).to<std::int32_t>();
  const I32 tiles = tiles_m * tiles_n;
  const auto [tile_m, tile_n] = grouped_order(program % tiles, tiles_m, tiles_n, t.group);
  return {program / tiles, tile_m * t.bm, tile_n * t.bn};
}

/// The sum over k from `begin` to `end` for one tile. `inside`: every step is inside of a and b.
template <class T>
Tile<Accumulator<T>> product_tile(const View<const T, 2>& a, const View<const T, 2>& b, const I32& i, const I32& j, const I32& begin,
                                  const I32& end, ProductTiles t, Precision precision, bool inside = false) {
  auto sum = zeros<Accumulator<T>>({t.bm, t.bn});
  for (auto k : range(begin, end, t.bk))
    sum = dot(tile_at<T>(a, i, k, {t.bm, t.bk}, inside), tile_at<T>(b, k, j, {t.bk, t.bn}, inside), sum, precision);
  return sum;
}

/// c = epilogue(sum, row, column, extras...) at one tile. Rows and columns past the end get the number of the last one, so the epilogue may
/// compute an address from any of them. There its loads give 0 and its stores do nothing; see AccessLimit.
template <class S, class C, class Epilogue, class... Extra>
void store_product(const View<C, 2>& c, const Tile<S>& sum, const I32& i, const I32& j, ProductTiles t, Epilogue epilogue,
                   const Extra&... extra) {
  auto row = tilewright::column(i + arange(0, t.bm)), column = tilewright::row(j + arange(0, t.bn));
  std::optional<tilewright::detail::AccessLimit> limit;
  if (!t.whole) {
    const auto rows = c.extent(0).template to<std::int32_t>(), columns = c.extent(1).template to<std::int32_t>();
    const Bool is_row = row < rows, is_column = column < columns;
    row = minimum(row, rows - 1);
    column = minimum(column, columns - 1);
    limit.emplace();
    limit->add(row, is_row);
    limit->add(column, is_column);
    limit->add(sum, is_row);
    limit->add(sum, is_column);
  }
  const auto value = epilogue(sum, row, column, extra...);
  if (limit) limit->apply();
  expect_shape(value, {t.bm, t.bn}, "matmul", "the epilogue", "the sum");
  c.store({i, j}, value.template to<C>());
}

/// c = epilogue(a b): [batch, M, K], [batch, K, N], [batch, M, N]. A program computes one tile of c.
template <class T, class C, class Epilogue, class... Extra>
void matmul_kernel(View<const T, 3> a, View<const T, 3> b, View<C, 3> c, ProductTiles t, Precision precision, Epilogue epilogue,
                   Extra... extra) {
  const auto [batch, i, j] = product_origin(program_id(0), c.extent(1), c.extent(2), t);
  const I32 K = a.extent(2).template to<std::int32_t>();
  const auto sum = product_tile<T>(a.at(batch), b.at(batch), i, j, 0, K, t, precision, t.whole && t.whole_k);
  store_product(c.at(batch), sum, i, j, t, epilogue, extra...);
}

/// The first kernel of a product with sums in parts: parts[split * batches + batch] is the part of the sum from split * length on.
template <class T>
void matmul_parts_kernel(View<const T, 3> a, View<const T, 3> b, View<Accumulator<T>, 3> parts, I32 length, ProductTiles t,
                         Precision precision) {
  const auto [part, i, j] = product_origin(program_id(0), parts.extent(1), parts.extent(2), t);
  const I32 batches = a.extent(0).template to<std::int32_t>(), K = a.extent(2).template to<std::int32_t>();
  const I32 batch = part % batches, begin = part / batches * length;
  // A part ends where a step ends, so no element counts twice.
  const auto sum = product_tile<T>(a.at(batch), b.at(batch), i, j, begin, minimum(begin + length, K), t, precision, t.whole && t.whole_k);
  parts.at(part).store({i, j}, sum);
}

/// The second kernel adds the parts, always in the same order.
template <class S, class C, class Epilogue, class... Extra>
void matmul_sum_kernel(View<const S, 3> parts, View<C, 3> c, ProductTiles t, Epilogue epilogue, Extra... extra) {
  const auto [batch, i, j] = product_origin(program_id(0), c.extent(1), c.extent(2), t);
  const I32 batches = c.extent(0).template to<std::int32_t>(), count = parts.extent(0).template to<std::int32_t>();
  auto sum = zeros<S>({t.bm, t.bn});
  for (auto part : range(batch, count, batches)) sum += parts.at(part).load({i, j}, {t.bm, t.bn});
  store_product(c.at(batch), sum, i, j, t, epilogue, extra...);
}

/// The epilogue of a plain product.
struct NoEpilogue {
  template <class S>
  Tile<S> operator()(const Tile<S>& sum, const I32&, const I32&) const {
    return sum;
  }
};

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

inline ProductTiles tiles_of(const ProductShape& s, const Configuration& c) {
  return {.bm = c.bm, .bn = c.bn, .bk = c.bk, .group = c.group, .whole = s.m % c.bm == 0 && s.n % c.bn == 0, .whole_k = s.k % c.bk == 0};
}

template <class A, class B, class C, int R, class Epilogue, class... X>
TW_PER_MODULE void launch_matmul(const View<A, R>& a, const View<B, R>& b, const View<C, R>& c, const Options& options, const Here& at,
                                 Epilogue epilogue,
                                 X&&... extra) {  // lvalues, because a search launches many times
  using T = std::remove_const_t<A>;
  using S = Accumulator<T>;
  static_assert(kIsFactor<A>, "the elements of a and b are f16, bf16, float, double, int8_t, f8e4m3 or f8e5m2");
  static_assert(std::is_same_v<T, std::remove_const_t<B>>, "a and b must have the same element type");
  ArgumentCheck check("matmul", at);
  ProductShape shape = check_product(check, a, b, c, options);
  int number = 0;
  (check_extra(check, ++number, extra), ...);
  shape.can_split = true;
  if (is_empty(shape)) return;
  const View<const T, 3> a3 = with_batch<3>(a, shape.batch, at), b3 = with_batch<3>(b, shape.batch, at);
  const View<C, 3> c3 = with_batch<3>(c, shape.batch, at);
  const auto launch = [&](const Options& o) {
    const ProductTiles tiles = tiles_of(shape, *o.configuration);
    const std::int64_t splits = o.configuration->splits, programs = programs_of(shape, *o.configuration);
    if (splits == 1) {
      static const Kernel kernel("matmul", matmul_kernel<T, C, Epilogue, ExtraOf<X>...>);
      kernel(staged_launch_of(programs, o), a3, b3, c3, tiles, o.precision, epilogue, extra..., at);
      return;
    }
    static const Kernel parts_kernel("matmul_parts", matmul_parts_kernel<T>);
    static const Kernel sum_kernel("matmul_sum", matmul_sum_kernel<S, C, Epilogue, ExtraOf<X>...>);
    Buffer<S> memory = check.device().allocate<S>(splits * shape.batch * shape.m * shape.n, at);
    const View<S, 3> parts = view(memory, {splits * shape.batch, shape.m, shape.n}, at);
    const std::int64_t length = cdiv(cdiv(shape.k, splits), std::int64_t{tiles.bk}) * tiles.bk;
    parts_kernel(staged_launch_of(splits * programs, o), a3, b3, parts, length, tiles, o.precision, at);
    sum_kernel(staged_launch_of(programs, o), parts, c3, tiles, epilogue, extra..., at);
  };
  std::optional<detail::Arguments> extras;
  if (options.tune && sizeof...(X) > 0) (detail::Parameter<ExtraOf<X>>::add(extras ? *extras : extras.emplace(at), extra), ...);
  launch_tuned(check, shape, options, launch, typeid(void(Epilogue, ExtraOf<X>...)), extras ? &*extras : nullptr);
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// c = a b. a: [M, K], b: [K, N], c: [M, N], or each with a leading batch axis, whose extent in a and b may also be 1. Views may have any
/// strides: tw::transposed(view) transposes a factor. f16, bf16, fp8 and float are added up in float and stored as float, f16 or bf16;
/// double as double; int8_t as int.
template <class A, class B, class C, int R>
void matmul(const View<A, R>& a, const View<B, R>& b, const View<C, R>& c, const Options& options = {}, Here at = Here::current()) {
  static_assert(
      host::kHoldsProduct<C, A>,
      "c holds what the product is added up in: float, f16 or bf16; double for double; int for int8_t; an epilogue stores any type");
  host::launch_matmul(a, b, c, options, at, NoEpilogue());
}

// One overload for each number of extras, because a parameter pack cannot stand before parameters with defaults.
#define TW_MATMUL(TYPES, PARAMETERS, ARGUMENTS, FITS)                                                                            \
  template <class A, class B, class C, int R, host::EpilogueFunction F TYPES>                                                    \
    requires(true FITS)                                                                                                          \
  void matmul(const View<A, R>& a, const View<B, R>& b, const View<C, R>& c, F epilogue PARAMETERS, const Options& options = {}, \
              Here at = Here::current()) {                                                                                       \
    host::launch_matmul(a, b, c, options, at, epilogue ARGUMENTS);                                                               \
  }
#define TW_TYPE(N) , class X##N
#define TW_PARAMETER(N) , X##N&& x##N
#define TW_ARGUMENT(N) , std::forward<X##N>(x##N)
#define TW_FITS(N) &&host::Extra<X##N>
#define TW_EACH1(M) M(1)
#define TW_EACH2(M) TW_EACH1(M) M(2)
#define TW_EACH3(M) TW_EACH2(M) M(3)
#define TW_EACH4(M) TW_EACH3(M) M(4)
#define TW_EACH5(M) TW_EACH4(M) M(5)
#define TW_EACH6(M) TW_EACH5(M) M(6)
#define TW_MATMUL_OF(EACH) TW_MATMUL(EACH(TW_TYPE), EACH(TW_PARAMETER), EACH(TW_ARGUMENT), EACH(TW_FITS))
/// c = epilogue(sum, row, column, extras...), where sum is a tile [BM, BN] of a b, row its rows [BM, 1], column its columns [1, BN], as
/// I32. The epilogue is a lambda without captures whose parameters are `auto`; its result is cast to the type of c. Extras, at most 6: a
/// buffer arrives as Ptr, a view as View, a number as a scalar. Past the end of c, tiles have sums of 0 and the numbers of the last row and
/// column. Loads (they give 0), stores and atomics skip values computed from such a row or column; a reduction along them includes them.
TW_MATMUL(, , , )
TW_MATMUL_OF(TW_EACH1)
TW_MATMUL_OF(TW_EACH2)
TW_MATMUL_OF(TW_EACH3)
TW_MATMUL_OF(TW_EACH4)
TW_MATMUL_OF(TW_EACH5)
TW_MATMUL_OF(TW_EACH6)
#undef TW_MATMUL_OF
#undef TW_EACH1
#undef TW_EACH2
#undef TW_EACH3
#undef TW_EACH4
#undef TW_EACH5
#undef TW_EACH6
#undef TW_FITS
#undef TW_ARGUMENT
#undef TW_PARAMETER
#undef TW_TYPE
#undef TW_MATMUL

}  // namespace tilewright::kernels
