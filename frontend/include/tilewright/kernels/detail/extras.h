// The extras of an epilogue: the parameters that a kernel has for them, and their checks.
#pragma once
#include <cstdint>
#include <type_traits>

#include "tilewright/kernels/detail/arguments.h"

namespace tilewright::kernels::host {

template <class F>
concept EpilogueFunction =
    std::is_empty_v<std::remove_cvref_t<F>> && std::is_class_v<std::remove_cvref_t<F>> && !OneOf<std::remove_cvref_t<F>, Options, Here>;

/// The kernel parameter for an extra of the epilogue.
template <class X>
struct ExtraParameter {};
template <class T>
struct ExtraParameter<Buffer<T>> {
  using type = Ptr<T>;
};
template <class T>
struct ExtraParameter<const Buffer<T>> {
  using type = Ptr<const T>;
};
template <class T>
struct ExtraParameter<BufferAt<T>> {
  using type = Ptr<T>;
};
template <class T, int R>
struct ExtraParameter<View<T, R>> {
  using type = View<T, R>;
};
template <class T>
struct ExtraParameter<T*> {
  using type = Ptr<T>;
};
template <ValueElement T>
struct ExtraParameter<T> {
  using type = Tile<T>;
};
template <class X>
struct ExtraParameter<const X> : ExtraParameter<X> {};
template <class X>
concept Extra = requires { typename ExtraParameter<std::remove_reference_t<X>>::type; };
template <class X>
using ExtraOf = typename ExtraParameter<std::remove_reference_t<X>>::type;

/// Checks the extras of an epilogue; numbers and raw pointers need no check.
inline void check_extra(const ArgumentCheck&, int, const auto&) {}
template <class T>
void check_extra(const ArgumentCheck& check, int number, const Buffer<T>& x) {
  check.extra(number, {&x.raw()}, {static_cast<std::int64_t>(x.size())});
}
template <class T>
void check_extra(const ArgumentCheck& check, int number, const BufferAt<T>& x) {
  check_extra(check, number, *x.buffer);
}
template <class T, int R>
void check_extra(const ArgumentCheck& check, int number, const View<T, R>& x) {
  const auto& extents = detail::ViewAccess<T, R>::extents(x);
  check.extra(number, detail::ViewAccess<T, R>::host(x), {extents.begin(), extents.end()});
}

}  // namespace tilewright::kernels::host
