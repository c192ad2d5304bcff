// Loads and stores through tiles of pointers, and through views.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tilewright/tile.h"

namespace tilewright {

/// Which caches a load or store should use, named as in PTX. This is a hint; targets without such a choice ignore it.
enum class Cache { standard, all, global, streaming, write_back, write_through };
/// Data that a cache should evict early (first) or late (last). This is a hint, too.
enum class Evict { normal, first, last };
// is_volatile: memory is accessed every time that the program reaches the access, in program order.
/// is_volatile: every load reads memory, even if the same address was read before.
struct LoadOptions {
  Cache cache = Cache::standard;
  Evict evict = Evict::normal;
  bool is_volatile = false;
};
/// is_volatile: every store writes memory, even if the same address is written again.
struct StoreOptions {
  Cache cache = Cache::standard;
  Evict evict = Evict::normal;
  bool is_volatile = false;
};

namespace detail {

template <class P>
concept Writable = PointerElement<P> && !std::is_const_v<std::remove_pointer_t<P>>;
/// A mask: a Bool, true or false, or nothing.
using Mask = Other<bool>;
/// The value of a store: a tile of exactly this type, or a constant.
template <class T>
struct Value : Maybe {
  Value(const Tile<T>& tile) : Maybe(tile) {}
  template <ConstantOf<T> S>
  Value(S number) : Maybe(Scalar(number)) {}
};

/// For kernels that call a user's function with tiles that reach past the end of an array. Loads, stores and atomics between the last add()
/// and apply() skip elements past the end, and all elements computed from them: memory is not accessed if the address or the value of an
/// access is such an element. Elements are followed through arithmetic, shapes, gathers, products, branches and loops, in any order; any
/// other operation on them is an Error. The result of a reduction, scan or sort along the axis that ends is not skipped; a histogram does
/// not count the elements.
class AccessLimit {
 public:
  AccessLimit();
  /// `inside`: which elements of the tile are before the end. It broadcasts to the shape of the tile.
  void add(const Handle& tile, const Bool& inside);
  /// Masks the accesses that were traced since the last add().
  void apply();
  AccessLimit(const AccessLimit&) = delete;
  AccessLimit& operator=(const AccessLimit&) = delete;

 private:
  struct Limit {
    std::uint32_t tile, inside;
  };
  std::vector<Limit> limits_;
  std::uint32_t last_ = 0;  // the limit applies to ops after this one
};

Made load(const Handle& pointer, const Maybe& mask, const Maybe& other, const LoadOptions&, const Here&);
void store(const Handle& pointer, const Maybe& value, const Maybe& mask, const StoreOptions&, const Here&);

/// A view's memory as a kernel sees it: the address of its first element, and one extent and one stride per axis, in elements.
struct ViewOf {
  const Handle& base;
  std::span<const Tile<std::int64_t>> extents, strides;
};
Made view_load(const ViewOf&, std::span<const Offset> offsets, const Shape&, const Maybe& other, const Here&);
void view_store(const ViewOf&, std::span<const Offset> offsets, const Handle& tile, const Here&);
/// base + the sum of index * stride. The indices broadcast.
Made view_pointer(const Handle& base, std::span<const Tile<std::int64_t>> strides, std::span<const Offset> indices, const Here&);

/// The tile of `shape` at `offsets` of a view. Elements outside of the extents are `other`, or 0.
template <ValueElement T, PointerElement P>
Tile<T> view_load(const Tile<P>& base, std::span<const I64> extents, std::span<const I64> strides, std::span<const Offset> offsets,
                  const Shape& shape, const Other<T>& other, const Here& at) {
  return Tile<T>(view_load({base, extents, strides}, offsets, shape, other, at));
}
/// Writes the tile at `offsets` of a view; elements outside of the extents are not written.
template <ValueElement T>
void view_store(const Ptr<T>& base, std::span<const I64> extents, std::span<const I64> strides, std::span<const Offset> offsets,
                const Tile<T>& tile, const Here& at) {
  view_store({base, extents, strides}, offsets, static_cast<const Handle&>(tile), at);
}

}  // namespace detail

/// The elements that p points to. Where the mask is false, nothing is read and the result is `other`, 0 by default. mask and other
/// broadcast to the shape of p, never the reverse.
template <PointerElement P>
Tile<detail::Pointee<P>> load(const Tile<P>& p, detail::Mask mask = {}, detail::Fixed<detail::Other<detail::Pointee<P>>> other = {},
                              LoadOptions options = {}, Here at = Here::current()) {
  return Tile<detail::Pointee<P>>(detail::load(p, mask, other, options, at));
}
/// Writes the elements whose mask is true. value and mask broadcast to the shape of p, never the reverse.
template <detail::Writable P>
void store(const Tile<P>& p, detail::Fixed<detail::Value<detail::Pointee<P>>> value, detail::Mask mask = {}, StoreOptions options = {},
           Here at = Here::current()) {
  detail::store(p, value, mask, options, at);
}

}  // namespace tilewright
