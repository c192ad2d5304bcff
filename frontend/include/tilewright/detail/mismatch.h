// Operators on tiles, on tensors and on extents that have no meaning for their operands' types, and functions that stand in place of an
// operator's message. They are declared only to be rejected with a message that names the correction. Without them the host compiler would
// list every operator that it tried.
#pragma once
#include "tilewright/detail/handle.h"

//! @cond
namespace tilewright {

// GCC prints the return type of a deleted function, but no text for it. Clang lists every candidate beside a deleted function, but none
// beside diagnose_if. A requires-expression rejects both. The headers that follow this one in tile.h use the macro, too, and the last of them,
// unmatched_operands.h, undefines it.
struct cast_one_of_the_tiles_with_to;
struct cast_one_of_the_tensors_with_to;
struct cast_the_tile_to_a_float_type_with_to;
struct cast_the_tensor_to_a_float_type_with_to;
struct cast_the_right_side_with_to;
struct there_is_no_such_operator_for_this_element_type;
struct bools_and_numbers_do_not_meet_write_0_or_1_or_cast_with_to;
struct the_offset_of_a_pointer_is_an_integer;
struct cast_the_tensor_to_32_bits_to_meet_an_extent;
struct cast_the_tensor_to_32_bit_integers_to_meet_an_extent;
struct compare_the_extent_which_is_no_condition;
struct extents_have_no_order_compare_least_and_greatest;
struct extents_are_integers_divide_by_one_or_use_extent_as_a_tensor;
struct there_are_no_remainders_of_extents;
struct use_maximum_or_minimum_for_two_values;
struct count_with_to_int;
struct combine_comparisons_with_and;
struct declare_the_left_side_as_a_tile;
struct declare_the_left_side_as_a_tensor;
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgcc-compat"
#define TW_REFUSED(TEXT) __attribute__((diagnose_if(true, TEXT, "error")))
#else
#define TW_REFUSED(TEXT) = delete
#endif

template <Element T>
class Tile;
template <ValueElement T>
class Tensor;
class Dim;

namespace detail {

template <class S>
inline constexpr bool kIsNumberButNoInteger = HostFloat<S> || std::same_as<S, bool>;
template <FloatElement T>
inline constexpr bool kIsNumberButNoInteger<Tile<T>> = true;
template <>
inline constexpr bool kIsNumberButNoInteger<Tile<bool>> = true;
template <class S>
concept NoOffset = kIsNumberButNoInteger<S>;
template <class T>
concept AnyValue = ValueElement<T>;
template <class T>
concept HoldsNoExtents = ValueElement<T> && !(NumberElement<T> && sizeof(T) >= 4);
template <class T>
concept HoldsNoExtentBits = ValueElement<T> && !(IntegerElement<T> && sizeof(T) >= 4);

template <class T, class U>
concept NeverMeet = ValueElement<T> && ValueElement<U> && !requires { typename CommonOf<T, U>::type; };
template <class T, class U>
concept BoolMeetsNumber = NeverMeet<T, U> && (std::same_as<T, bool> || std::same_as<U, bool>);
/// A C++ bool beside a number, or a C++ number beside a bool.
template <class T, class S>
concept BoolBesideNumber = HostScalar<S> && std::same_as<T, bool> != std::same_as<S, bool>;

template <class T, class U>
concept NotWidened = ValueElement<T> && ValueElement<U> && !std::same_as<T, U> && !WidensTo<U, T>;

}  // namespace detail

#define TW_NO_OPERATOR_TEXT(NOUN) \
  "there is no such operator for " #NOUN "s of this element type: cast the " #NOUN ", as in x.to<int>() or x.to<float>()"
#define TW_BOOL_TEXT "a bool and a number do not meet: write 0 or 1 for false or true, or cast what holds bools, as in mask.to<int>()"
#define TW_UNARY_MISMATCH(HANDLE, NOUN, OP, KIND) \
  template <ValueElement T>                       \
    requires(!(KIND<T>))                          \
  there_is_no_such_operator_for_this_element_type operator OP(const HANDLE<T>&) TW_REFUSED(TW_NO_OPERATOR_TEXT(NOUN));
#define TW_MISMATCH(HANDLE, NOUN, OP, KIND)                                                                                       \
  template <class T, class U>                                                                                                     \
    requires detail::NeverMeet<T, U>                                                                                              \
  cast_one_of_the_##NOUN##s_with_to operator OP(const HANDLE<T>&, const HANDLE<U>&)                                               \
      TW_REFUSED(#NOUN "s of these element types do not meet: cast one of them, as in x.to<float>()");                            \
  template <IntegerElement T, detail::HostFloat S>                                                                                \
  cast_the_##NOUN##_to_a_float_type_with_to operator OP(const HANDLE<T>&, S)                                                      \
      TW_REFUSED("a float constant does not meet a " #NOUN " of integers: cast the " #NOUN ", as in x.to<float>()");              \
  template <IntegerElement T, detail::HostFloat S>                                                                                \
  cast_the_##NOUN##_to_a_float_type_with_to operator OP(S, const HANDLE<T>&)                                                      \
      TW_REFUSED("a float constant does not meet a " #NOUN " of integers: cast the " #NOUN ", as in x.to<float>()");              \
  template <ValueElement T>                                                                                                       \
    requires(!(KIND<T>))                                                                                                          \
  there_is_no_such_operator_for_this_element_type operator OP(const HANDLE<T>&, const HANDLE<T>&)                                 \
      TW_REFUSED("there is no such operator for " #NOUN "s of this element type: cast both, as in x.to<int>() or x.to<float>()"); \
  template <ValueElement T, detail::HostScalar S>                                                                                 \
    requires(!(KIND<T>) && !(IntegerElement<T> && detail::HostFloat<S>))                                                          \
  there_is_no_such_operator_for_this_element_type operator OP(const HANDLE<T>&, S) TW_REFUSED(TW_NO_OPERATOR_TEXT(NOUN));         \
  template <ValueElement T, detail::HostScalar S>                                                                                 \
    requires(KIND<T> && detail::BoolBesideNumber<T, S>)                                                                           \
  bools_and_numbers_do_not_meet_write_0_or_1_or_cast_with_to operator OP(const HANDLE<T>&, S) TW_REFUSED(TW_BOOL_TEXT);           \
  template <ValueElement T, detail::HostScalar S>                                                                                 \
    requires(!(KIND<T>) && !(IntegerElement<T> && detail::HostFloat<S>))                                                          \
  there_is_no_such_operator_for_this_element_type operator OP(S, const HANDLE<T>&) TW_REFUSED(TW_NO_OPERATOR_TEXT(NOUN));         \
  template <ValueElement T, detail::HostScalar S>                                                                                 \
    requires(KIND<T> && detail::BoolBesideNumber<T, S>)                                                                           \
  bools_and_numbers_do_not_meet_write_0_or_1_or_cast_with_to operator OP(S, const HANDLE<T>&) TW_REFUSED(TW_BOOL_TEXT);
#define TW_ASSIGN_MISMATCH(HANDLE, NOUN, OP, KIND)                                                                                 \
  template <class T, class U>                                                                                                      \
    requires detail::NotWidened<T, U>                                                                                              \
  cast_the_right_side_with_to operator OP(HANDLE<T>&, const HANDLE<U>&)                                                            \
      TW_REFUSED("the right side does not widen to the element type of the left side: cast it, as in x += y.to<float>()");         \
  template <IntegerElement T, detail::HostFloat S>                                                                                 \
  cast_the_##NOUN##_to_a_float_type_with_to operator OP(HANDLE<T>&, S)                                                             \
      TW_REFUSED("a float constant does not meet a " #NOUN " of integers: cast the " #NOUN ", as in x = x.to<float>() + y");       \
  template <ValueElement T>                                                                                                        \
    requires(!(KIND<T>))                                                                                                           \
  there_is_no_such_operator_for_this_element_type operator OP(HANDLE<T>&, const HANDLE<T>&) TW_REFUSED(TW_NO_OPERATOR_TEXT(NOUN)); \
  template <ValueElement T, detail::HostScalar S>                                                                                  \
    requires(!(KIND<T>) && !(IntegerElement<T> && detail::HostFloat<S>))                                                           \
  there_is_no_such_operator_for_this_element_type operator OP(HANDLE<T>&, S) TW_REFUSED(TW_NO_OPERATOR_TEXT(NOUN));                \
  template <ValueElement T, detail::HostScalar S>                                                                                  \
    requires(KIND<T> && detail::BoolBesideNumber<T, S>)                                                                            \
  bools_and_numbers_do_not_meet_write_0_or_1_or_cast_with_to operator OP(HANDLE<T>&, S) TW_REFUSED(TW_BOOL_TEXT);
#define TW_MISMATCHES(HANDLE, NOUN)                     \
  TW_MISMATCH(HANDLE, NOUN, +, NumberElement)           \
  TW_MISMATCH(HANDLE, NOUN, -, NumberElement)           \
  TW_MISMATCH(HANDLE, NOUN, *, NumberElement)           \
  TW_MISMATCH(HANDLE, NOUN, /, NumberElement)           \
  TW_MISMATCH(HANDLE, NOUN, %, IntegerElement)          \
  TW_MISMATCH(HANDLE, NOUN, &, detail::Bitwise)         \
  TW_MISMATCH(HANDLE, NOUN, |, detail::Bitwise)         \
  TW_MISMATCH(HANDLE, NOUN, ^, detail::Bitwise)         \
  TW_MISMATCH(HANDLE, NOUN, <<, IntegerElement)         \
  TW_MISMATCH(HANDLE, NOUN, >>, IntegerElement)         \
  TW_MISMATCH(HANDLE, NOUN, ==, detail::Comparable)     \
  TW_MISMATCH(HANDLE, NOUN, !=, detail::Comparable)     \
  TW_MISMATCH(HANDLE, NOUN, <, detail::Ordered)         \
  TW_MISMATCH(HANDLE, NOUN, <=, detail::Ordered)        \
  TW_MISMATCH(HANDLE, NOUN, >, detail::Ordered)         \
  TW_MISMATCH(HANDLE, NOUN, >=, detail::Ordered)        \
  TW_MISMATCH(HANDLE, NOUN, &&, BoolElement)            \
  TW_MISMATCH(HANDLE, NOUN, ||, BoolElement)            \
  TW_UNARY_MISMATCH(HANDLE, NOUN, -, NumberElement)     \
  TW_UNARY_MISMATCH(HANDLE, NOUN, ~, detail::Bitwise)   \
  TW_UNARY_MISMATCH(HANDLE, NOUN, !, BoolElement)       \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, +=, NumberElement)   \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, -=, NumberElement)   \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, *=, NumberElement)   \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, /=, NumberElement)   \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, %=, IntegerElement)  \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, &=, detail::Bitwise) \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, |=, detail::Bitwise) \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, ^=, detail::Bitwise) \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, <<=, IntegerElement) \
  TW_ASSIGN_MISMATCH(HANDLE, NOUN, >>=, IntegerElement)
TW_MISMATCHES(Tile, tile)
TW_MISMATCHES(Tensor, tensor)
#undef TW_MISMATCHES
#undef TW_UNARY_MISMATCH
#undef TW_BOOL_TEXT
#undef TW_NO_OPERATOR_TEXT

#define TW_TWO_VALUES_TEXT "max and min reduce along an axis: use maximum(a, b) or minimum(a, b) for two values"
#define TW_TWO_VALUES(HANDLE, NAME)                                                                              \
  template <class T, class U>                                                                                    \
  use_maximum_or_minimum_for_two_values NAME(const HANDLE<T>&, const HANDLE<U>&) TW_REFUSED(TW_TWO_VALUES_TEXT); \
  template <class T, detail::HostFloat S>                                                                        \
  use_maximum_or_minimum_for_two_values NAME(const HANDLE<T>&, S) TW_REFUSED(TW_TWO_VALUES_TEXT);                \
  template <class T, detail::HostFloat S>                                                                        \
  use_maximum_or_minimum_for_two_values NAME(S, const HANDLE<T>&) TW_REFUSED(TW_TWO_VALUES_TEXT);
#define TW_CHAINED(HANDLE, OP)                                                 \
  template <class T, class U>                                                  \
    requires detail::BoolMeetsNumber<T, U>                                     \
  combine_comparisons_with_and operator OP(const HANDLE<T>&, const HANDLE<U>&) \
      TW_REFUSED("a comparison has no order: combine comparisons, as in a < b && b < c");
#define TW_NUMBER_ASSIGN(HANDLE, NOUN, OP)                            \
  template <detail::HostScalar S, ValueElement T>                     \
  declare_the_left_side_as_a_##NOUN operator OP(S&, const HANDLE<T>&) \
      TW_REFUSED("a C++ number cannot hold a " #NOUN ": declare the left side as a " #NOUN " of its type");
#define TW_REFUSED_FUNCTIONS(HANDLE, NOUN)                                                                                       \
  TW_TWO_VALUES(HANDLE, max)                                                                                                     \
  TW_TWO_VALUES(HANDLE, min)                                                                                                     \
  template <BoolElement T, class... A>                                                                                           \
  count_with_to_int sum(const HANDLE<T>&, const A&...) TW_REFUSED("there is no sum of bools: count them with sum(x.to<int>())"); \
  template <class T, class U>                                                                                                    \
    requires detail::NeverMeet<T, U>                                                                                             \
  cast_one_of_the_##NOUN##s_with_to where(const HANDLE<bool>&, const HANDLE<T>&, const HANDLE<U>&)                               \
      TW_REFUSED(#NOUN "s of these element types do not meet: cast one of them, as in x.to<float>()");                           \
  TW_CHAINED(HANDLE, <)                                                                                                          \
  TW_CHAINED(HANDLE, <=)                                                                                                         \
  TW_CHAINED(HANDLE, >)                                                                                                          \
  TW_CHAINED(HANDLE, >=)                                                                                                         \
  TW_NUMBER_ASSIGN(HANDLE, NOUN, +=)                                                                                             \
  TW_NUMBER_ASSIGN(HANDLE, NOUN, -=)                                                                                             \
  TW_NUMBER_ASSIGN(HANDLE, NOUN, *=)                                                                                             \
  TW_NUMBER_ASSIGN(HANDLE, NOUN, /=)
TW_REFUSED_FUNCTIONS(Tile, tile)
TW_REFUSED_FUNCTIONS(Tensor, tensor)
#undef TW_REFUSED_FUNCTIONS
#undef TW_NUMBER_ASSIGN
#undef TW_CHAINED
#undef TW_TWO_VALUES
#undef TW_TWO_VALUES_TEXT

// Extents among themselves and beside C++ numbers.
#define TW_EXTENTS(OP, CORRECTION, TEXT)                       \
  template <std::same_as<Dim> D>                               \
  CORRECTION operator OP(const D&, const D&) TW_REFUSED(TEXT); \
  template <std::same_as<Dim> D, std::integral I>              \
  CORRECTION operator OP(const D&, I) TW_REFUSED(TEXT);        \
  template <std::same_as<Dim> D, std::integral I>              \
  CORRECTION operator OP(I, const D&) TW_REFUSED(TEXT);
#define TW_EXTENT_FRACTIONS(OP)                                                                                       \
  template <std::same_as<Dim> D, detail::HostFloat F>                                                                 \
  extents_are_integers_divide_by_one_or_use_extent_as_a_tensor operator OP(const D&, F) TW_REFUSED(TW_FRACTION_TEXT); \
  template <std::same_as<Dim> D, detail::HostFloat F>                                                                 \
  extents_are_integers_divide_by_one_or_use_extent_as_a_tensor operator OP(F, const D&) TW_REFUSED(TW_FRACTION_TEXT);
#define TW_ORDER_TEXT "extents have no order, because it may depend on symbols: compare n.least() and n.greatest()"
#define TW_FRACTION_TEXT "an extent is an integer: use n / 2 or cdiv(n, 2) for an extent, extent<float>(graph, n) / 2.0f for a tensor"
TW_EXTENTS(<, extents_have_no_order_compare_least_and_greatest, TW_ORDER_TEXT)
TW_EXTENTS(<=, extents_have_no_order_compare_least_and_greatest, TW_ORDER_TEXT)
TW_EXTENTS(>, extents_have_no_order_compare_least_and_greatest, TW_ORDER_TEXT)
TW_EXTENTS(>=, extents_have_no_order_compare_least_and_greatest, TW_ORDER_TEXT)
TW_EXTENTS(%, there_are_no_remainders_of_extents, "there are no remainders of extents: n / 4 must come out even, cdiv(n, 4) rounds up")
TW_EXTENT_FRACTIONS(+)
TW_EXTENT_FRACTIONS(-)
TW_EXTENT_FRACTIONS(*)
TW_EXTENT_FRACTIONS(/)
TW_EXTENT_FRACTIONS(<)
TW_EXTENT_FRACTIONS(>)
#undef TW_FRACTION_TEXT
#undef TW_ORDER_TEXT
#undef TW_EXTENT_FRACTIONS
#undef TW_EXTENTS

#define TW_OFFSET_TEXT "the offset of a pointer is an integer, a tile of integers or a C++ one: cast it, as in p + x.to<int>()"
#define TW_OFFSET_MISMATCH(OP, POINTER)           \
  template <PointerElement T, detail::NoOffset S> \
  the_offset_of_a_pointer_is_an_integer operator OP(POINTER, const S&) TW_REFUSED(TW_OFFSET_TEXT);
TW_OFFSET_MISMATCH(+, const Tile<T>&)
TW_OFFSET_MISMATCH(-, const Tile<T>&)
TW_OFFSET_MISMATCH(+=, Tile<T>&)
TW_OFFSET_MISMATCH(-=, Tile<T>&)
template <PointerElement T, detail::NoOffset S>
the_offset_of_a_pointer_is_an_integer operator+(const S&, const Tile<T>&) TW_REFUSED(TW_OFFSET_TEXT);
#undef TW_OFFSET_MISMATCH
#undef TW_OFFSET_TEXT
#define TW_POINTER_MISMATCH(OP)                                                     \
  template <PointerElement T, PointerElement U>                                     \
  the_offset_of_a_pointer_is_an_integer operator OP(const Tile<T>&, const Tile<U>&) \
      TW_REFUSED("pointers are neither added nor subtracted: keep offsets as integers beside the pointer");
TW_POINTER_MISMATCH(+)
TW_POINTER_MISMATCH(-)
#undef TW_POINTER_MISMATCH

#define TW_NUMBERS_MEET_EXTENTS "an extent meets tensors of 32- and 64-bit numbers: cast the tensor, as in x.to<float>()"
#define TW_INTEGERS_MEET_EXTENTS "for this operator, an extent meets tensors of 32- and 64-bit integers: cast the tensor, as in x.to<int>()"
#define TW_NO_CONDITION "an extent is not a condition: compare it, as in x && y < n for tensors x and y"
#define TW_EXTENT_MISMATCH(OP, KIND, CORRECTION, TEXT)                 \
  template <detail::KIND T, std::same_as<Dim> D>                       \
  CORRECTION operator OP(const Tensor<T>&, const D&) TW_REFUSED(TEXT); \
  template <detail::KIND T, std::same_as<Dim> D>                       \
  CORRECTION operator OP(const D&, const Tensor<T>&) TW_REFUSED(TEXT);
#define TW_EXTENT_ASSIGN_MISMATCH(OP, KIND, CORRECTION, TEXT) \
  template <detail::KIND T, std::same_as<Dim> D>              \
  CORRECTION operator OP(Tensor<T>&, const D&) TW_REFUSED(TEXT);
TW_EXTENT_MISMATCH(+, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(-, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(*, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(/, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(==, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(!=, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(<, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(<=, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(>, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(>=, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(%, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(&, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(|, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(^, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(<<, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(>>, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
TW_EXTENT_MISMATCH(&&, AnyValue, compare_the_extent_which_is_no_condition, TW_NO_CONDITION)
TW_EXTENT_MISMATCH(||, AnyValue, compare_the_extent_which_is_no_condition, TW_NO_CONDITION)
TW_EXTENT_ASSIGN_MISMATCH(+=, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_ASSIGN_MISMATCH(-=, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_ASSIGN_MISMATCH(*=, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_ASSIGN_MISMATCH(/=, HoldsNoExtents, cast_the_tensor_to_32_bits_to_meet_an_extent, TW_NUMBERS_MEET_EXTENTS)
TW_EXTENT_ASSIGN_MISMATCH(%=, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
TW_EXTENT_ASSIGN_MISMATCH(&=, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
TW_EXTENT_ASSIGN_MISMATCH(|=, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
TW_EXTENT_ASSIGN_MISMATCH(^=, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
TW_EXTENT_ASSIGN_MISMATCH(<<=, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
TW_EXTENT_ASSIGN_MISMATCH(>>=, HoldsNoExtentBits, cast_the_tensor_to_32_bit_integers_to_meet_an_extent, TW_INTEGERS_MEET_EXTENTS)
#undef TW_EXTENT_ASSIGN_MISMATCH
#undef TW_EXTENT_MISMATCH
#undef TW_NO_CONDITION
#undef TW_INTEGERS_MEET_EXTENTS
#undef TW_NUMBERS_MEET_EXTENTS
#undef TW_ASSIGN_MISMATCH
#undef TW_MISMATCH
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace tilewright
//! @endcond
