// Operators on tiles, and on tensors, that have no common element type. They are declared only to be rejected with a message that names
// the cast. Without them the host compiler would list every operator that it tried.
#pragma once
#include "tilewright/tile.h"

//! @cond
namespace tilewright {

// GCC prints the return type of a deleted function, but no text for it. Clang lists every candidate beside a deleted function, but none
// beside diagnose_if. A requires-expression rejects both.
struct cast_one_of_the_tiles_with_to;
struct cast_one_of_the_tensors_with_to;
struct cast_the_tile_to_a_float_type_with_to;
struct cast_the_tensor_to_a_float_type_with_to;
struct cast_the_right_side_with_to;
struct there_is_no_such_operator_for_this_element_type;
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgcc-compat"
#define TW_REFUSED(TEXT) __attribute__((diagnose_if(true, TEXT, "error")))
#else
#define TW_REFUSED(TEXT) = delete
#endif

template <ValueElement T>
class Tensor;

namespace detail {

template <class T, class U>
concept NeverMeet = ValueElement<T> && ValueElement<U> && !requires { typename CommonOf<T, U>::type; };
template <class T, class U>
concept NotWidened = ValueElement<T> && ValueElement<U> && !std::same_as<T, U> && !WidensTo<U, T>;

}  // namespace detail

#define TW_MISMATCH(HANDLE, NOUN, OP, KIND)                                                                          \
  template <class T, class U>                                                                                        \
    requires detail::NeverMeet<T, U>                                                                                 \
  cast_one_of_the_##NOUN##s_with_to operator OP(const HANDLE<T>&, const HANDLE<U>&)                                  \
      TW_REFUSED(#NOUN "s of these element types do not meet: cast one of them, as in x.to<float>()");               \
  template <IntegerElement T, detail::HostFloat S>                                                                   \
  cast_the_##NOUN##_to_a_float_type_with_to operator OP(const HANDLE<T>&, S)                                         \
      TW_REFUSED("a float constant does not meet a " #NOUN " of integers: cast the " #NOUN ", as in x.to<float>()"); \
  template <IntegerElement T, detail::HostFloat S>                                                                   \
  cast_the_##NOUN##_to_a_float_type_with_to operator OP(S, const HANDLE<T>&)                                         \
      TW_REFUSED("a float constant does not meet a " #NOUN " of integers: cast the " #NOUN ", as in x.to<float>()"); \
  template <ValueElement T>                                                                                          \
    requires(!(KIND<T>))                                                                                             \
  there_is_no_such_operator_for_this_element_type operator OP(const HANDLE<T>&, const HANDLE<T>&)                    \
      TW_REFUSED("there is no such operator for " #NOUN "s of this element type: cast both, as in x.to<float>()");
#define TW_ASSIGN_MISMATCH(HANDLE, NOUN, OP)                                                                               \
  template <class T, class U>                                                                                              \
    requires detail::NotWidened<T, U>                                                                                      \
  cast_the_right_side_with_to operator OP(HANDLE<T>&, const HANDLE<U>&)                                                    \
      TW_REFUSED("the right side does not widen to the element type of the left side: cast it, as in x += y.to<float>()"); \
  template <IntegerElement T, detail::HostFloat S>                                                                         \
  cast_the_##NOUN##_to_a_float_type_with_to operator OP(HANDLE<T>&, S)                                                     \
      TW_REFUSED("a float constant does not meet a " #NOUN " of integers: cast the " #NOUN ", as in x = x.to<float>() + y");
#define TW_MISMATCHES(HANDLE, NOUN)                 \
  TW_MISMATCH(HANDLE, NOUN, +, NumberElement)       \
  TW_MISMATCH(HANDLE, NOUN, -, NumberElement)       \
  TW_MISMATCH(HANDLE, NOUN, *, NumberElement)       \
  TW_MISMATCH(HANDLE, NOUN, /, NumberElement)       \
  TW_MISMATCH(HANDLE, NOUN, %, IntegerElement)      \
  TW_MISMATCH(HANDLE, NOUN, &, detail::Bitwise)     \
  TW_MISMATCH(HANDLE, NOUN, |, detail::Bitwise)     \
  TW_MISMATCH(HANDLE, NOUN, ^, detail::Bitwise)     \
  TW_MISMATCH(HANDLE, NOUN, <<, IntegerElement)     \
  TW_MISMATCH(HANDLE, NOUN, >>, IntegerElement)     \
  TW_MISMATCH(HANDLE, NOUN, ==, detail::Comparable) \
  TW_MISMATCH(HANDLE, NOUN, !=, detail::Comparable) \
  TW_MISMATCH(HANDLE, NOUN, <, detail::Ordered)     \
  TW_MISMATCH(HANDLE, NOUN, <=, detail::Ordered)    \
  TW_MISMATCH(HANDLE, NOUN, >, detail::Ordered)     \
  TW_MISMATCH(HANDLE, NOUN, >=, detail::Ordered)    \
  TW_MISMATCH(HANDLE, NOUN, &&, BoolElement)        \
  TW_MISMATCH(HANDLE, NOUN, ||, BoolElement)        \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, +=)              \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, -=)              \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, *=)              \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, /=)              \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, %=)              \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, &=)              \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, |=)              \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, ^=)              \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, <<=)             \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, >>=)
TW_MISMATCHES(Tile, tile)
TW_MISMATCHES(Tensor, tensor)
#undef TW_MISMATCHES
#undef TW_ASSIGN_MISMATCH
#undef TW_MISMATCH
#undef TW_REFUSED
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace tilewright
//! @endcond
