// Stencils: each element of the result is a function of nearby elements.
#pragma once
#include <algorithm>
#include <string>

#include "tilewright/detail/enumerator.h"
#include "tilewright/kernels/configuration.h"
#include "tilewright/kernels/detail/array.h"
#include "tilewright/kernels/elements.h"
#include "tilewright/kernels/matmul.h"

namespace tilewright::kernels {

/// The values that a stencil reads outside of the array: 0, the nearest element, or the element at the opposite side. With `keep` it reads
/// nothing outside: elements of the result that are closer to a border than the radius do not change.
enum class Border { zero, clamp, wrap, keep };

/// The type that a stencil computes in: float for f16 and bf16, int for smaller integers, else the element type.
template <class T>
using StencilElement =
    std::conditional_t<OneOf<T, f16, bf16>, float,
                       std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < 4, std::int32_t, T>>;

/// The neighbours of a tile's elements: at(dy, dx) are dy rows below and dx columns to the right; with three axes, at(dz, dy, dx).
template <class T, int R>
class Neighbours {
 public:
  /// `inside`: all neighbours are inside of the array. `wraps_once`: the radius is at most the least extent. `of_columns`: the border along
  /// the last axis.
  Neighbours(const View<const T, R>& x, const Indices<R>& indices, int radius, Border border, Border of_columns, bool inside,
             bool wraps_once)
      : x_(x), indices_(indices), radius_(radius), border_(border), of_columns_(of_columns), inside_(inside), wraps_once_(wraps_once) {}

  Tile<StencilElement<T>> operator()(int dx, Here at = Here::current()) const
    requires(R == 1)
  {
    return load_at({dx}, at);
  }
  Tile<StencilElement<T>> operator()(int dy, int dx, Here at = Here::current()) const
    requires(R == 2)
  {
    return load_at({dy, dx}, at);
  }
  Tile<StencilElement<T>> operator()(int dz, int dy, int dx, Here at = Here::current()) const
    requires(R == 3)
  {
    return load_at({dz, dy, dx}, at);
  }

 private:
  Tile<StencilElement<T>> load_at(const tilewright::detail::PerAxis<int, R>& offsets, const Here& at) const {
    Indices<R> indices;
    Bool mask = true;
    for (std::size_t axis = 0; axis < R; ++axis) {
      const int offset = offsets[axis];
      if (offset < -radius_ || offset > radius_)
        throw Error(detail::location_of(at), "stencil: offset " + std::to_string(offset) + " along axis " + std::to_string(axis) +
                                                 "; the radius is " + std::to_string(radius_));
      I64 index = indices_[axis] + offset;
      const I64 extent = x_.extent(axis);
      const Border border = axis + 1 == R ? of_columns_ : border_;
      if (!inside_ && offset == 0) {  // no border is between an element and itself
        mask = mask && index < extent;
      } else if (!inside_ && border == Border::clamp) {
        index = clamp(index, 0, extent - 1);
      } else if (!inside_ && border == Border::wrap && wraps_once_) {
        mask = mask && indices_[axis] < extent;
        index = offset < 0 ? where(index < 0, index + extent, index) : where(index >= extent, index - extent, index);
      } else if (!inside_ && border == Border::wrap) {
        index = (index % extent + extent) % extent;
      } else if (!inside_) {
        mask = mask && index >= 0 && index < extent;
      }
      indices[axis] = index;
    }
    return load(x_.pointer(indices), mask, {}, {}, at).template to<StencilElement<T>>();
  }

  View<const T, R> x_;
  Indices<R> indices_;
  int radius_;
  Border border_, of_columns_;
  bool inside_, wraps_once_;
};

/// Calls f(at), or f(at, indices..) with the elements' index along each axis as I32.
template <class F, class T, int R>
auto stencil_value(F f, const Neighbours<T, R>& at, const detail::PerAxis<I64, R>& indices) {
  const auto index = [&](std::size_t axis) { return indices[axis].template to<std::int32_t>(); };
  if constexpr (std::is_invocable_v<F, Neighbours<T, R>>)
    return f(at);
  else if constexpr (R == 1)
    return f(at, index(0));
  else if constexpr (R == 2)
    return f(at, index(0), index(1));
  else
    return f(at, index(0), index(1), index(2));
}

/// How a stencil treats its borders.
struct StencilBorders {
  int radius;
  Border border;
  bool wraps_once;  // the radius is at most the least extent
  bool apart;       // elements whose neighbours are beyond the first or last column are computed apart from the other columns
};

/// y = f of the neighbours, for one tile [bm, bn] of one plane. Tiles at a border are handled separately, so the others need no masks.
template <class X, class Y, int R, class F>
void stencil_kernel(View<const X, R> x, View<Y, R> y, F f, StencilBorders borders, int bm, int bn) {
  const int radius = borders.radius;
  const Border border = borders.border;
  const auto [plane, i, j] = element_origin(R > 1 ? y.extent(std::max(R - 2, 0)) : I64(1), y.extent(R - 1), bm, bn);
  const std::array<I64, 3> all{plane, column(i.template to<std::int64_t>() + arange(0, bm)),
                               row(j.template to<std::int64_t>() + arange(0, bn))};
  const std::array<I64, 3> first{plane, i.template to<std::int64_t>(), j.template to<std::int64_t>()};
  const std::array<int, 3> extents{1, bm, bn};
  Indices<R> indices;
  Bool in_array = true, is_written = true, inside = true;  // the element exists; the stencil writes it; all neighbours of the tile exist
  for (std::size_t axis = 0; axis < R; ++axis) {
    const std::size_t of_three = axis + 3 - R;
    const I64 extent = y.extent(axis);
    indices[axis] = all[of_three];
    in_array = in_array && indices[axis] < extent;
    is_written = is_written && indices[axis] >= radius && indices[axis] < extent - radius;
    inside = inside && first[of_three] >= radius && first[of_three] + (extents[of_three] + radius) <= extent;
  }
  const auto value = [&](const Indices<R>& at, int columns, Border of_columns, bool is_inside) {
    const auto result = stencil_value(f, Neighbours<X, R>(x, at, radius, border, of_columns, is_inside, borders.wraps_once), at);
    expect_shape(result, {bm, columns}, "stencil", "the function", "the elements near");
    return result.template to<Y>();
  };
  const auto at_border = [&] {
    if (!borders.apart) return store(y.pointer(indices), value(indices, bn, border, false), border == Border::keep ? is_written : in_array);
    // No neighbour of the columns between the sides is beyond a side, so their loads are of successive elements.
    const I64 end = y.extent(R - 1), last = indices[R - 1];
    store(y.pointer(indices), value(indices, bn, Border::zero, false), in_array && last >= radius && last < end - radius);
    const I64 begin = first[2], next = begin + bn;
    when(begin < radius || next > end - radius, [&] {
      const int columns = static_cast<int>(tilewright::next_power_of_two(2 * std::int64_t{radius}));
      const I64 side = row(arange(0, columns).template to<std::int64_t>());
      Indices<R> at = indices;
      at[R - 1] = where(side < radius, side, end - 2 * radius + side);
      Bool mask = side < 2 * radius && at[R - 1] >= begin && at[R - 1] < next;
      for (std::size_t axis = 0; axis + 1 < R; ++axis) mask = mask && at[axis] < y.extent(axis);
      store(y.pointer(at), value(at, columns, border, false), mask);
    });
  };
  when(inside, [&] { store(y.pointer(indices), value(indices, bn, border, true)); }, at_border);
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

template <class X, class Y, int R, class F>
TW_PER_MODULE void launch_stencil(const View<X, R>& x, const View<Y, R>& y, F f, int radius, Border border, const Options& options,
                                  const Here& at) {
  static_assert(R <= 3, "a stencil has 1 to 3 axes");
  ArgumentCheck check("stencil", at);
  check.input("x", x);
  check.output("y", y);
  check.same_shape("y", "x");
  if (radius < 0 || radius > 65536) check.fail("radius = " + std::to_string(radius) + "; it must be 0 to 65536");
  if (const std::string mistake = detail::enumerator_mistake("border", border, Border::keep, "Border"); !mistake.empty())
    check.fail(mistake);
  check.options(options);
  check.finish();
  const std::int64_t planes = R == 3 ? extent_of(y, 0) : 1, rows = R > 1 ? extent_of(y, R > 1 ? -2 : -1) : 1, columns = extent_of(y, -1);
  const ElementsShape shape{.matrices = planes,
                            .rows = rows,
                            .columns = columns,
                            .element_bytes = sizeof(Y),
                            .work = 4 * (2 * radius + 1),
                            .has_borders = radius > 0};
  if (is_empty(shape)) return;
  const StencilBorders borders{.radius = radius,
                               .border = border,
                               .wraps_once = radius <= std::min({columns, R > 1 ? rows : columns, R > 2 ? planes : columns}),
                               // A row of a tile is a loop on hosts, where elements in no order take as long as so many loads.
                               .apart = is_host(check.device()) && radius > 0 && columns >= 2 * std::int64_t{radius} &&
                                        (border == Border::clamp || border == Border::wrap)};
  static const Kernel kernel("stencil", stencil_kernel<std::remove_const_t<X>, Y, R, F>);
  const auto launch = [&](const Options& o) {
    const int bm = R == 1 ? 1 : o.configuration->bm, bn = o.configuration->bn;
    const std::int64_t programs = planes * tilewright::cdiv(rows, std::int64_t{bm}) * tilewright::cdiv(columns, std::int64_t{bn});
    kernel(launch_of(programs, o), x, y, f, borders, bm, bn, at);
  };
  launch_tuned(check, shape, options, launch, typeid(F));
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// y = f(at) for each element. at(dy, dx) is the element of x that is dy rows below and dx columns to the right; with three axes it is
/// at(dz, dy, dx), with one at(dx). f is a lambda without captures whose parameters are `auto`; f(at, i, j) also gets the indices, as I32.
/// Offsets are integers from -radius to radius. f16 and bf16 arrive as float, integers of less than 32 bits as int; the result is cast to
/// the type of y. The border defines what is read outside of x.
template <host::WholeArray X, host::ArrayLike<X> Y, host::EpilogueFunction F, std::same_as<Border> B>
void stencil(X&& x, Y&& y, F f, int radius, B border, const Options& options = {}, Here at = Here::current()) {
  host::launch_stencil(host::view_of(x, at), host::view_of(y, at), f, radius, border, options, at);
}
/// stencil with 0 outside of x.
template <host::WholeArray X, host::ArrayLike<X> Y, host::EpilogueFunction F>
void stencil(X&& x, Y&& y, F f, int radius, const Options& options = {}, Here at = Here::current()) {
  host::launch_stencil(host::view_of(x, at), host::view_of(y, at), f, radius, Border::zero, options, at);
}

}  // namespace tilewright::kernels
