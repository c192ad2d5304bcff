// Rotary position embedding, in place.
#pragma once
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "tilewright/kernels/elements.h"

namespace tilewright::kernels {

/// Turns the pairs (x[i], x[i + d / 2]) of each row by position * base^(-2 i / d). Angles are reduced to an eighth of a turn in double: in
/// float those of far positions would lose their fraction, and sin and cos take longer for large ones. x: [batch, heads, length, 2, d / 2],
/// positions: [batch, length]. A program turns bm rows of one head, or of all heads, for which it then computes the angles once.
template <class T, class I>
void rotary_kernel(View<T, 5> x, View<const I, 2> positions, F64 log2_base, int bm, int half, bool all_heads) {
  using S = Accumulator<T>;
  const I32 heads = x.extent(1).template to<std::int32_t>(), tiles = cdiv(x.extent(2), bm).template to<std::int32_t>();
  const I32 at = program_id(0), i = at % tiles * bm, of_program = at / tiles;
  const I32 first_head = all_heads ? I32(0) : of_program % heads, batch = all_heads ? of_program : of_program / heads;
  const auto pair = row(arange(0, half)).to<double>();
  const auto frequency = exp2(-log2_base * pair / x.extent(4).template to<double>()) * (2 * std::numbers::inv_pi);
  const auto quarters = column(positions.at(batch).load({i}, {bm})).template to<double>() * frequency, nearest = rint(quarters);
  const auto angle = (quarters - nearest).template to<S>() * S(std::numbers::pi / 2);
  const auto quadrant = (nearest - 4 * floor(nearest * 0.25)).template to<std::int32_t>();
  const auto cosine = cos(angle), sine = sin(angle);
  const Bool is_odd = (quadrant & 1) != 0, is_left = quadrant == 1 || quadrant == 2, is_below = quadrant >= 2;
  const auto near_x = where(is_odd, sine, cosine), near_y = where(is_odd, cosine, sine);
  const auto c = where(is_left, -near_x, near_x), s = where(is_below, -near_y, near_y);
  const auto turn = [&](const I32& head) {
    const auto rows = x.at(batch).at(head);
    const auto first = reshape(rows.load({i, 0, 0}, {bm, 1, half}), {bm, half}).template to<S>();
    const auto second = reshape(rows.load({i, 1, 0}, {bm, 1, half}), {bm, half}).template to<S>();
    rows.store({i, 0, 0}, reshape((first * c - second * s).template to<T>(), {bm, 1, half}));
    rows.store({i, 1, 0}, reshape((second * c + first * s).template to<T>(), {bm, 1, half}));
  };
  if (all_heads)
    for (auto head : range(0, heads)) turn(head);
  else
    turn(first_head);
}

/// Rotary position embedding of the rows of x, in place: the pairs (x[i], x[i + d / 2]) are turned by position * base^(-2 i / d). x:
/// [batch, heads, length, d], or [heads, length, d], or [length, d], d even; positions: [length] or [batch, length], int32_t or int64_t.
template <class T, int R, host::WholeArray I>
TW_PER_MODULE void rotary(const View<T, R>& x, I&& positions, double base = 10000, const Options& options = {}, Here at = Here::current()) {
  using Index = host::WholeElement<I>;
  constexpr int kPositionAxes = host::kRank<I>;
  const auto position_view = host::view_of(positions, at);
  static_assert(host::kIsFloat<T> && R >= 2 && R <= 4, "x is f16, bf16, float or double, and has 2 to 4 axes");
  static_assert(OneOf<Index, std::int32_t, std::int64_t>, "positions are int32_t or int64_t");
  static_assert(kPositionAxes == 1 || (kPositionAxes == 2 && R == 4), "positions are [length], or [batch, length] where x has a batch");
  host::ArgumentCheck check("rotary", at);
  check.update("x", x);
  check.input("positions", position_view);
  check.equal("positions", kPositionAxes - 1, "length", "x", -2);
  if constexpr (kPositionAxes == 2) check.equal("positions", 0, "batch", "x", 0);
  if (host::extent_of(x, -1) % 2 != 0)
    check.fail("the last extent of 'x' is " + std::to_string(host::extent_of(x, -1)) + "; it must be even");
  if (!(base > 0)) check.fail("base = " + std::to_string(base) + "; it must be greater than 0");
  check.options(options);
  check.finish();
  const auto with_heads = [&] {
    if constexpr (R == 2)
      return host::with_batch<4>(host::with_batch<3>(x, 1, at), 1, at);
    else if constexpr (R == 3)
      return host::with_batch<4>(x, 1, at);
    else
      return x;
  }();
  const std::int64_t batch = host::extent_of(with_heads, 0), length = host::extent_of(x, -2), half = host::extent_of(x, -1) / 2;
  // On hosts a program turns all heads: the angles take more time than a head.
  const std::int64_t heads = host::extent_of(with_heads, 1);
  const bool all_heads = host::is_host(check.device());
  const host::ElementsShape shape{.matrices = all_heads && heads > 0 ? batch : batch * heads,
                                  .rows = length,
                                  .columns = half,
                                  .element_bytes = sizeof(T),
                                  .work = 50 + static_cast<int>(all_heads ? 5 * std::min<std::int64_t>(heads, 1000) : 0),
                                  .whole_rows = true};
  if (host::is_empty(shape)) return;
  static const Kernel kernel("rotary", rotary_kernel<T, Index>);
  host::launch_tuned(check, shape, options, [&](const Options& o) {
    const int bm = o.configuration->bm;
    kernel(host::launch_of(shape.matrices * tilewright::cdiv(length, std::int64_t{bm}), o), host::split_axis(with_heads, 3, 2, at),
           host::with_batch<2>(position_view, batch, at), std::log2(base), bm, static_cast<int>(tilewright::next_power_of_two(half)),
           all_heads, at);
  });
}

}  // namespace tilewright::kernels
