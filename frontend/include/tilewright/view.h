// Views: memory with extents and strides. view() makes one on the host; a kernel loads from and stores to its view parameters.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "tilewright/buffer.h"
#include "tilewright/detail/run_value.h"
#include "tilewright/ops/memory.h"

namespace tilewright {

namespace detail {

/// The arguments that a launch passes for a view: an address, and extents and strides in elements.
struct HostView {
  const RawBuffer* buffer = nullptr;  // null: not made by view(), or a stand-in
  int alignment = 0;                  // alignment in bytes of a stand-in's memory
  bool made() const { return buffer != nullptr || alignment != 0; }
};

/// Throws Error unless every element is inside of the buffer.
void check_view(const RawBuffer&, std::span<const std::int64_t> extents, std::span<const std::int64_t> strides, const Here&);
/// Gives the strides of a dense row-major array. Throws Error for a negative extent.
void row_major(std::span<const std::int64_t> extents, std::span<std::int64_t> strides, const Here&);
/// The axis, counted from 0. Throws Error if there is no such axis.
int view_axis(std::int64_t axis, int rank, const char* what, const Here&);
[[noreturn]] void no_view_parameter(const char* what, const Here&);
[[noreturn]] void no_view(const char* what, const Here&);

template <class T, int R>
struct ViewAccess;
/// One value for each axis.
template <class X, int R>
using PerAxis = std::array<X, static_cast<std::size_t>(R)>;

}  // namespace detail

/// A strided view of memory, of rank R. View<const T, R> is read only. The buffer must outlive the view.
template <class T, int R>
  requires ValueElement<std::remove_const_t<T>>
class View {
  static_assert(R >= 1 && R <= 5, "a view has 1 to 5 axes");
  // Offsets: exactly R tiles or integers, or an array of tiles.
  struct Offsets {
    template <std::convertible_to<detail::Offset>... I>
      requires(sizeof...(I) == R)
    Offsets(const I&... offset) : each{detail::Offset(offset)...} {}
    template <IntegerElement I>
    Offsets(const detail::PerAxis<Tile<I>, R>& offsets) : Offsets(offsets, std::make_index_sequence<static_cast<std::size_t>(R)>()) {}
    template <class Tiles, std::size_t... Axis>
    Offsets(const Tiles& offsets, std::index_sequence<Axis...>) : each{detail::Offset(offsets[Axis])...} {}
    std::span<const detail::Offset> at(const Here& here) {
      for (detail::Offset& o : each) o.at = here;  // the user's line, instead of that of the constructor above
      return each;
    }
    detail::PerAxis<detail::Offset, R> each;
  };

 public:
  using element_type = std::remove_const_t<T>;
  View() = default;
  /// All elements of a buffer, as one axis.
  View(Buffer<element_type>& buffer, Here at = Here::current())
    requires(R == 1)
      : View(detail::ViewAccess<T, R>::over({&buffer.raw()}, {static_cast<std::int64_t>(buffer.size())}, {1}, at)) {}
  /// All elements of a const buffer, as one axis; read only.
  View(const Buffer<element_type>& buffer, Here at = Here::current())
    requires(R == 1 && std::is_const_v<T>)
      : View(detail::ViewAccess<T, R>::over({&buffer.raw()}, {static_cast<std::int64_t>(buffer.size())}, {1}, at)) {}
  template <class U>
    requires std::same_as<const U, T>
  View(const View<U, R>& v)
      : host_(v.host_),
        host_extents_(v.host_extents_),
        host_strides_(v.host_strides_),
        is_parameter_(v.is_parameter_),
        base_(v.base_),
        extents_(v.extents_),
        strides_(v.strides_) {}

  // ---- in a kernel ----

  /// The tile of `shape` at `offsets`; elements outside of the extents get the value `other`.
  Tile<element_type> load(Offsets offsets, Shape shape, detail::Other<element_type> other = {}, Here at = Here::current()) const {
    expect_parameter("load", at);
    return detail::view_load<element_type>(base_, extents_, strides_, offsets.at(at), shape, other, at);
  }
  /// Writes the tile at `offsets`; elements outside of the extents are not written.
  void store(Offsets offsets, const Tile<element_type>& tile, Here at = Here::current()) const
    requires(!std::is_const_v<T>)
  {
    expect_parameter("store", at);
    detail::view_store<element_type>(base_, extents_, strides_, offsets.at(at), tile, at);
  }
  /// The addresses of the elements at indices, which may be tiles and broadcast: v.pointer({column(rows), row(columns)}). It does not check
  /// that they are inside of the extents; use the mask of the load or store.
  Ptr<T> pointer(Offsets indices, Here at = Here::current()) const {
    expect_parameter("pointer", at);
    return Ptr<T>(detail::view_pointer(base_, strides_, indices.at(at), at));
  }
  /// The view of the other axes at `index` of the first axis.
  template <IntegerElement I>
  View<T, R - 1> at(const Tile<I>& index, Here at = Here::current()) const
    requires(R > 1)
  {
    expect_parameter("at", at);
    detail::PerAxis<I64, R - 1> extents, strides;
    for (std::size_t i = 0; i + 1 < R; ++i) extents[i] = extents_[i + 1], strides[i] = strides_[i + 1];
    const I64 step(detail::binary(detail::Binary::mul, {index, at}, {strides_[0], at}, detail::kCode<std::int64_t>));
    return detail::ViewAccess<T, R - 1>::parameter(Ptr<T>(detail::offset_pointer({base_, at}, {step, at}, false)), std::move(extents),
                                                   std::move(strides));
  }
  /// The first `count` indices of the first axis, at most its extent; everything after them is outside.
  template <IntegerElement I>
  View first(const Tile<I>& count, Here at = Here::current()) const {
    expect_parameter("first", at);
    View v = *this;
    v.extents_[0] = I64(detail::cast(count, detail::kCode<std::int64_t>, at));
    return v;
  }
  /// The extent along an axis.
  I64 extent(Axis axis, Here at = Here::current()) const {
    expect_parameter("extent", at);
    return extents_[static_cast<std::size_t>(detail::view_axis(axis.value, R, "extent", at))];
  }
  /// The distance between neighbours along an axis, in elements.
  I64 stride(Axis axis, Here at = Here::current()) const {
    expect_parameter("stride", at);
    return strides_[static_cast<std::size_t>(detail::view_axis(axis.value, R, "stride", at))];
  }

 private:
  template <class U, int S>
    requires ValueElement<std::remove_const_t<U>>
  friend class View;
  friend struct detail::ViewAccess<T, R>;

  void expect_parameter(const char* what, const Here& at) const {
    if (!is_parameter_) detail::no_view_parameter(what, at);
  }

  // Used on the host:
  detail::HostView host_;
  detail::PerAxis<std::int64_t, R> host_extents_{}, host_strides_{};
  // Used in a kernel:
  bool is_parameter_ = false;
  Ptr<T> base_;
  detail::PerAxis<I64, R> extents_, strides_;
};

namespace detail {

/// Access to a view's private members, for view() and launches.
template <class T, int R>
struct ViewAccess {
  static View<T, R> make(HostView host, const Extent* extents, const Extent* strides, const Here& at) {
    View<T, R> v;
    v.host_ = host;
    for (std::size_t i = 0; i < v.host_extents_.size(); ++i) v.host_extents_[i] = extents[i].value;
    if (strides)
      for (std::size_t i = 0; i < v.host_strides_.size(); ++i) v.host_strides_[i] = strides[i].value;
    else
      row_major(v.host_extents_, v.host_strides_, at);
    if (host.buffer) check_view(*host.buffer, v.host_extents_, v.host_strides_, at);
    return v;
  }
  static View<T, R> parameter(Ptr<T> base, PerAxis<I64, R> extents, PerAxis<I64, R> strides) {
    View<T, R> v;
    v.is_parameter_ = true;
    v.base_ = std::move(base);
    v.extents_ = std::move(extents);
    v.strides_ = std::move(strides);
    return v;
  }
  static View<T, R> transposed(const View<T, R>& v, const Here& at) {
    if (!v.is_parameter_ && !v.host_.made()) no_view("transposed", at);
    View<T, R> swapped = v;
    std::swap(swapped.host_extents_[R - 2], swapped.host_extents_[R - 1]);
    std::swap(swapped.host_strides_[R - 2], swapped.host_strides_[R - 1]);
    std::swap(swapped.extents_[R - 2], swapped.extents_[R - 1]);
    std::swap(swapped.strides_[R - 2], swapped.strides_[R - 1]);
    return swapped;
  }
  /// A view of the same memory with other axes. Throws Error if they reach outside of it.
  static View<T, R> over(const HostView& host, const PerAxis<std::int64_t, R>& extents, const PerAxis<std::int64_t, R>& strides,
                         const Here& at) {
    View<T, R> v;
    v.host_ = host;
    v.host_extents_ = extents;
    v.host_strides_ = strides;
    if (host.buffer) check_view(*host.buffer, v.host_extents_, v.host_strides_, at);
    return v;
  }
  static const HostView& host(const View<T, R>& v) { return v.host_; }
  static const PerAxis<std::int64_t, R>& extents(const View<T, R>& v) { return v.host_extents_; }
  static const PerAxis<std::int64_t, R>& strides(const View<T, R>& v) { return v.host_strides_; }
};

/// A view as an argument of a plan's run.
template <class T, int R>
struct RunValueOf<View<T, R>> {
  static RunValue make(const View<T, R>& view) {
    using Access = ViewAccess<T, R>;
    RunValue value;
    value.kind = RunValue::Kind::view;
    value.element = CodeOf<std::remove_const_t<T>>::value;
    value.is_read_only = std::is_const_v<T>;
    value.buffer = Access::host(view).buffer;
    value.rank = R;
    for (std::size_t i = 0; i < static_cast<std::size_t>(R); ++i)
      value.extents[i] = Access::extents(view)[i], value.strides[i] = Access::strides(view)[i];
    return value;
  }
};

// Host compilers print the parameters of a deleted function, so the name of this type is the message.
struct keep_the_buffer_in_a_variable_since_a_view_does_not {};

}  // namespace detail

/// The first elements of a buffer as a row-major array. The buffer may have more elements. Throws Error if it has fewer.
template <class T, std::size_t R>
View<T, static_cast<int>(R)> view(Buffer<T>& buffer, const Extent (&extents)[R], Here at = Here::current()) {
  return detail::ViewAccess<T, static_cast<int>(R)>::make({&buffer.raw()}, extents, nullptr, at);
}
/// The view of a const buffer, which is read only.
template <class T, std::size_t R>
View<const T, static_cast<int>(R)> view(const Buffer<T>& buffer, const Extent (&extents)[R], Here at = Here::current()) {
  return detail::ViewAccess<const T, static_cast<int>(R)>::make({&buffer.raw()}, extents, nullptr, at);
}
/// A view whose element (i, j, ...) is element i * strides[0] + j * strides[1] + ... of the buffer. Throws Error if one is outside of it.
template <class T, std::size_t R>
View<T, static_cast<int>(R)> view(Buffer<T>& buffer, const Extent (&extents)[R], const Extent (&strides)[R], Here at = Here::current()) {
  return detail::ViewAccess<T, static_cast<int>(R)>::make({&buffer.raw()}, extents, strides, at);
}
/// The view of a const buffer, which is read only.
template <class T, std::size_t R>
View<const T, static_cast<int>(R)> view(const Buffer<T>& buffer, const Extent (&extents)[R], const Extent (&strides)[R],
                                        Here at = Here::current()) {
  return detail::ViewAccess<const T, static_cast<int>(R)>::make({&buffer.raw()}, extents, strides, at);
}

/// Deleted: the temporary would be destroyed before the view is used.
template <class T, std::size_t R>
View<const T, static_cast<int>(R)> view(const Buffer<T>&&, const Extent (&extents)[R], Here at = Here::current(),
                                        detail::keep_the_buffer_in_a_variable_since_a_view_does_not = {}) = delete;
template <class T, std::size_t R>
View<const T, static_cast<int>(R)> view(const Buffer<T>&&, const Extent (&extents)[R], const Extent (&strides)[R],
                                        Here at = Here::current(),
                                        detail::keep_the_buffer_in_a_variable_since_a_view_does_not = {}) = delete;

/// A view of the memory with the last two axes swapped. Works on the host and in kernels.
template <class T, int R>
  requires(R >= 2)
View<T, R> transposed(const View<T, R>& v, Here at = Here::current()) {
  return detail::ViewAccess<T, R>::transposed(v, at);
}

}  // namespace tilewright
