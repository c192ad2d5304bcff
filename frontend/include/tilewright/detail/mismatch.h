// Operators on tiles that have no common element type. Each is declared only to be rejected with a message that names the cast: without
// them the host compiler lists every operator that it tried.
#pragma once
#include "tilewright/tile.h"

//! @cond
namespace tilewright {

// GCC prints the return type of a deleted function, and cannot print a text for one. Clang lists every candidate beside a deleted function,
// but none beside diagnose_if. Both reject in a requires-expression as well.
struct cast_one_of_the_tiles_with_to;
struct cast_the_tile_to_a_float_type_with_to;
struct cast_the_right_side_with_to;
struct there_is_no_such_operator_for_this_element_type;
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgcc-compat"
#define TW_REFUSED(TEXT) __attribute__((diagnose_if(true, TEXT, "error")))
#else
#define TW_REFUSED(TEXT) = delete
#endif

namespace detail {

template <class T, class U>
concept NeverMeet = ValueElement<T> && ValueElement<U> && !requires { typename CommonOf<T, U>::type; };
template <class T, class U>
concept NotWidened = ValueElement<T> && ValueElement<U> && !std::same_as<T, U> && !WidensTo<U, T>;

}  // namespace detail

#define TW_MISMATCH(OP, KIND)                                                                              \
  template <class T, class U>                                                                              \
    requires detail::NeverMeet<T, U>                                                                       \
  cast_one_of_the_tiles_with_to operator OP(const Tile<T>&, const Tile<U>&)                                \
      TW_REFUSED("tiles of these element types do not meet: cast one of them, as in x.to<float>()");       \
  template <IntegerElement T, detail::HostFloat S>                                                         \
  cast_the_tile_to_a_float_type_with_to operator OP(const Tile<T>&, S)                                     \
      TW_REFUSED("a float constant does not meet a tile of integers: cast the tile, as in x.to<float>()"); \
  template <IntegerElement T, detail::HostFloat S>                                                         \
  cast_the_tile_to_a_float_type_with_to operator OP(S, const Tile<T>&)                                     \
      TW_REFUSED("a float constant does not meet a tile of integers: cast the tile, as in x.to<float>()"); \
  template <ValueElement T>                                                                                \
    requires(!(KIND<T>))                                                                                   \
  there_is_no_such_operator_for_this_element_type operator OP(const Tile<T>&, const Tile<T>&)              \
      TW_REFUSED("there is no such operator for tiles of this element type: cast both, as in x.to<float>()");
TW_MISMATCH(+, NumberElement)
TW_MISMATCH(-, NumberElement)
TW_MISMATCH(*, NumberElement)
TW_MISMATCH(/, NumberElement)
TW_MISMATCH(%, IntegerElement)
TW_MISMATCH(&, detail::Bitwise)
TW_MISMATCH(|, detail::Bitwise)
TW_MISMATCH(^, detail::Bitwise)
TW_MISMATCH(<<, IntegerElement)
TW_MISMATCH(>>, IntegerElement)
TW_MISMATCH(==, detail::Comparable)
TW_MISMATCH(!=, detail::Comparable)
TW_MISMATCH(<, detail::Ordered)
TW_MISMATCH(<=, detail::Ordered)
TW_MISMATCH(>, detail::Ordered)
TW_MISMATCH(>=, detail::Ordered)
TW_MISMATCH(&&, BoolElement)
TW_MISMATCH(||, BoolElement)
#undef TW_MISMATCH

#define TW_MISMATCH(OP)                                                                                                    \
  template <class T, class U>                                                                                              \
    requires detail::NotWidened<T, U>                                                                                      \
  cast_the_right_side_with_to operator OP(Tile<T>&, const Tile<U>&)                                                        \
      TW_REFUSED("the right side does not widen to the element type of the left side: cast it, as in x += y.to<float>()"); \
  template <IntegerElement T, detail::HostFloat S>                                                                         \
  cast_the_tile_to_a_float_type_with_to operator OP(Tile<T>&, S)                                                           \
      TW_REFUSED("a float constant does not meet a tile of integers: cast the tile, as in x = x.to<float>() + y");
TW_MISMATCH(+=)
TW_MISMATCH(-=)
TW_MISMATCH(*=)
TW_MISMATCH(/=)
TW_MISMATCH(%=)
TW_MISMATCH(&=)
TW_MISMATCH(|=)
TW_MISMATCH(^=)
TW_MISMATCH(<<=)
TW_MISMATCH(>>=)
#undef TW_MISMATCH
#undef TW_REFUSED
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace tilewright
//! @endcond
