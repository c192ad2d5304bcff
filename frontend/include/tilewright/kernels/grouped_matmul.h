// Products of groups of rows, each with its own matrix, as in a mixture of experts.
#pragma once
#include "tilewright/kernels/detail/array.h"
#include "tilewright/kernels/matmul.h"

namespace tilewright::kernels {

/// c[r] = a[r] b[g] for the rows r of group g, which end before group_ends[g]. A program computes one tile of the rows of one group. It
/// finds the tile by counting, because only the device knows the sizes of the groups. Programs past the last tile do nothing.
template <class T, class I, class C>
void grouped_matmul_kernel(View<const T, 2> a, View<const T, 3> b, View<const I, 1> group_ends, View<C, 2> c, ProductTiles t,
                           Precision precision) {
  const I32 tiles_n = cdiv(c.extent(1), t.bn).template to<std::int32_t>(), rows = c.extent(0).template to<std::int32_t>();
  const I32 tile = program_id(0) / tiles_n, j = program_id(0) % tiles_n * t.bn;
  I32 group = -1, begin = 0, end = 0;  // the group of this program's tile, its first row, the end of the group
  I32 tiles = 0, group_begin = 0;      // number of tiles before group g, and its first row
  for (auto g : range(0, group_ends.extent(0).template to<std::int32_t>())) {
    const I32 group_end = clamp(reshape(group_ends.load({g}, {1}), {}).template to<std::int32_t>(), group_begin, rows);
    const I32 group_tiles = cdiv(group_end - group_begin, t.bm);
    const auto here = tile >= tiles && tile < tiles + group_tiles;
    group = where(here, g, group);
    begin = where(here, group_begin + (tile - tiles) * t.bm, begin);
    end = where(here, group_end, end);
    tiles += group_tiles;
    group_begin = group_end;
  }
  when(group >= 0, [&] {
    const I32 K = a.extent(1).template to<std::int32_t>();
    const auto sum = product_tile<T>(a, b.at(group), begin, j, 0, K, t, precision);
    c.first(end).store({begin, j}, sum.template to<C>());  // this tile's rows past the end belong to the next group
  });
}

/// c[r] = a[r] b[g] for the rows r of group g: from group_ends[g - 1], or 0, up to but not including group_ends[g]. a: [rows, K], b:
/// [G, K, N], group_ends: [G], int32_t or int64_t, ascending, c: [rows, N]. Groups may be empty; rows of c past the last end do not change.
/// Element types are those of matmul.
template <class A, class B, host::ArrayOf<1> I, class C>
TW_PER_MODULE void grouped_matmul(const View<A, 2>& a, const View<B, 3>& b, I&& group_ends, const View<C, 2>& c,
                                  const Options& options = {}, Here at = Here::current()) {
  using Index = host::WholeElement<I>;
  const auto ends = host::view_of(group_ends, at);
  using T = std::remove_const_t<A>;
  static_assert(host::kIsFactor<A> && std::is_same_v<T, std::remove_const_t<B>>, "a and b have one element type, one that matmul takes");
  static_assert(host::kHoldsProduct<C, A>,
                "c holds what the product is added up in: float, f16 or bf16; double for double; int for int8_t");
  static_assert(OneOf<Index, std::int32_t, std::int64_t>, "group_ends are int32_t or int64_t");
  host::ArgumentCheck check("grouped_matmul", at);
  check.input("a", a);
  check.input("b", b);
  check.input("group_ends", ends);
  check.output("c", c);
  check.equal("b", 1, "K", "a", 1);
  check.equal("group_ends", 0, "G", "b", 0);
  check.equal("c", 0, "rows", "a", 0);
  check.equal("c", 1, "N", "b", 2);
  check.options(options);
  check.finish();
  const std::int64_t rows = host::extent_of(c, 0), n = host::extent_of(c, 1), groups = host::extent_of(b, 0), k = host::extent_of(a, 1);
  if (rows * n * groups == 0) return;
  static const Kernel kernel("grouped_matmul", grouped_matmul_kernel<T, Index, C>);
  const host::ProductShape of_group{.batch = groups,
                                    .m = tilewright::cdiv(rows, groups),
                                    .n = n,
                                    .k = k,
                                    .element_bytes = sizeof(T),
                                    .a_alignment = host::row_alignment(a),
                                    .b_alignment = host::row_alignment(b),
                                    .b_is_transposed = host::is_transposed(b)};
  host::launch_tuned(check, of_group, options, [&](const Options& o) {
    const ProductTiles tiles = host::tiles_of({1, rows, n, k, sizeof(T)}, *o.configuration);
    // Each group may have one tile that is not full.
    const std::int64_t most = tilewright::cdiv(rows, std::int64_t{tiles.bm}) + groups;
    kernel(host::staged_launch_of(most * tilewright::cdiv(n, std::int64_t{tiles.bn}), o), a, b, ends, c, tiles, o.precision, at);
  });
}

}  // namespace tilewright::kernels
