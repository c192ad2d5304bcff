// Program ids, new tiles, and tiles in another shape.
#pragma once
#include <utility>

#include "tilewright/tile.h"

namespace tilewright {

namespace detail {

Made program_id(std::int64_t axis, const Here&);
Made num_programs(std::int64_t axis, const Here&);
Made arange(std::int64_t lo, std::int64_t hi, const Here&);
Made full(const char* name, const Shape&, const Input& value, TypeCode);
Made full_like(const char* name, const Handle& like, const Input& value, TypeCode);

Made column(const Handle&, const Here&);
Made row(const Handle&, const Here&);
Made transpose(const Handle&, const Here&);
Made ravel(const Handle&, const Here&);
Made expand_dims(const Handle&, std::int64_t axis, const Here&);
Made squeeze(const Handle&, std::int64_t axis, const Here&);
Made broadcast_to(const Handle&, const Shape&, const Here&);
Made reshape(const Handle&, const Shape&, const Here&);
Made permute(const Handle&, const Shape& axes, const Here&);
Made flip(const Handle&, std::int64_t axis, const Here&);
Made join(const Handle& a, const Handle& b, const Here&);
std::pair<Made, Made> split(const Handle&, const Here&);
Made interleave(const Handle& a, const Handle& b, const Here&);
Made cat(const Handle& a, const Handle& b, std::int64_t axis, const Here&);

}  // namespace detail

/// The index of this program along an axis of the grid, 0 to 2: a scalar.
inline I32 program_id(Axis axis, Here at = Here::current()) { return I32(detail::program_id(axis.value, at)); }
/// The extent of the grid along an axis, 0 to 2: a scalar.
inline I32 num_programs(Axis axis, Here at = Here::current()) { return I32(detail::num_programs(axis.value, at)); }

/// lo, lo + 1, ... hi - 1, as a tile [hi - lo]; hi - lo is a power of two.
inline I32 arange(Extent lo, Extent hi, Here at = Here::current()) { return I32(detail::arange(lo.value, hi.value, at)); }
/// A tile filled with `value`, which broadcasts to the shape. full<T>({}, value) is a scalar.
template <ValueElement T>
Tile<T> full(Shape shape, detail::Operand<T> value, Here at = Here::current()) {
  value.at = at;
  return Tile<T>(detail::full("full", shape, value, detail::kCode<T>));
}
/// A tile filled with 0, or false.
template <ValueElement T>
Tile<T> zeros(Shape shape, Here at = Here::current()) {
  return Tile<T>(detail::full("zeros", shape, {detail::Scalar(T()), at}, detail::kCode<T>));
}
/// A tile filled with 1, or true.
template <ValueElement T>
Tile<T> ones(Shape shape, Here at = Here::current()) {
  return Tile<T>(detail::full("ones", shape, {detail::Scalar(T(1)), at}, detail::kCode<T>));
}
/// Zeros of the shape and type of t.
template <ValueElement T>
Tile<T> zeros_like(const Tile<T>& t, Here at = Here::current()) {
  return Tile<T>(detail::full_like("zeros_like", t, {detail::Scalar(T()), at}, detail::kCode<T>));
}
/// A tile of the shape and type of t, filled with `value`, which broadcasts.
template <ValueElement T>
Tile<T> full_like(const Tile<T>& t, detail::Fixed<detail::Operand<T>> value, Here at = Here::current()) {
  value.at = at;
  return Tile<T>(detail::full_like("full_like", t, value, detail::kCode<T>));
}

/// [N] -> [N, 1].
template <Element T>
Tile<T> column(const Tile<T>& t, Here at = Here::current()) {
  return Tile<T>(detail::column(t, at));
}
/// [N] -> [1, N].
template <Element T>
Tile<T> row(const Tile<T>& t, Here at = Here::current()) {
  return Tile<T>(detail::row(t, at));
}
/// The last two axes swapped.
template <Element T>
Tile<T> transpose(const Tile<T>& t, Here at = Here::current()) {
  return Tile<T>(detail::transpose(t, at));
}
/// All elements in row-major order, along one axis.
template <Element T>
Tile<T> ravel(const Tile<T>& t, Here at = Here::current()) {
  return Tile<T>(detail::ravel(t, at));
}
/// A new axis of extent 1 at position `axis` of the result.
template <Element T>
Tile<T> expand_dims(const Tile<T>& t, Axis axis, Here at = Here::current()) {
  return Tile<T>(detail::expand_dims(t, axis.value, at));
}
/// Removes an axis, whose extent must be 1.
template <Element T>
Tile<T> squeeze(const Tile<T>& t, Axis axis, Here at = Here::current()) {
  return Tile<T>(detail::squeeze(t, axis.value, at));
}
/// Broadcasts to a shape. Axes are aligned from the right, as in NumPy; extents of 1 stretch.
template <Element T>
Tile<T> broadcast_to(const Tile<T>& t, Shape shape, Here at = Here::current()) {
  return Tile<T>(detail::broadcast_to(t, shape, at));
}
/// The elements in row-major order, in another shape with the same number of elements.
template <Element T>
Tile<T> reshape(const Tile<T>& t, Shape shape, Here at = Here::current()) {
  return Tile<T>(detail::reshape(t, shape, at));
}
/// Axis i of the result is axis axes[i] of t.
template <Element T>
Tile<T> permute(const Tile<T>& t, Shape axes, Here at = Here::current()) {
  return Tile<T>(detail::permute(t, axes, at));
}
/// The elements along an axis in reverse order.
template <Element T>
Tile<T> flip(const Tile<T>& t, Axis axis, Here at = Here::current()) {
  return Tile<T>(detail::flip(t, axis.value, at));
}
/// a and b, broadcast to one shape, at indices 0 and 1 of a new last axis.
template <Element T>
Tile<T> join(const Tile<T>& a, const Tile<T>& b, Here at = Here::current()) {
  return Tile<T>(detail::join(a, b, at));
}
/// The inverse of join: the elements at indices 0 and 1 of the last axis, whose extent must be 2.
template <Element T>
std::pair<Tile<T>, Tile<T>> split(const Tile<T>& t, Here at = Here::current()) {
  const auto [first, second] = detail::split(t, at);
  return {Tile<T>(first), Tile<T>(second)};
}
/// a[0], b[0], a[1], b[1], ... along the last axis, a and b broadcast to one shape; two scalars give [2].
template <Element T>
Tile<T> interleave(const Tile<T>& a, const Tile<T>& b, Here at = Here::current()) {
  return Tile<T>(detail::interleave(a, b, at));
}
/// The elements of a, then those of b along an axis. The shapes must be equal.
template <Element T>
Tile<T> cat(const Tile<T>& a, const Tile<T>& b, Axis axis, Here at = Here::current()) {
  return Tile<T>(detail::cat(a, b, axis.value, at));
}

}  // namespace tilewright
