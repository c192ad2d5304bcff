// Operators of tiles, tensors and extents beside what is neither a handle nor a C++ number: text, pointers, containers, functions, objects; and
// operators that no tile of pointers has. They are declared only to be rejected in one sentence, as the operators of mismatch.h are.
//
// A foreign operand converts to ForeignOperand, so that an operator which somebody else declared for its type is a better match. A type that a
// handle converts to is not foreign: it may have operators for which the handle is converted.
#pragma once
#include <concepts>
#include <type_traits>

#include "tilewright/detail/mismatch.h"

//! @cond
namespace tilewright {

struct an_operand_of_a_tile_is_a_tile_or_a_cpp_number;
struct an_operand_of_a_tensor_is_a_tensor_a_cpp_number_or_an_extent;
struct tiles_of_kernels_and_tensors_of_graphs_do_not_meet;
struct an_operand_of_an_extent_is_an_extent_an_integer_or_a_tensor;
struct there_is_no_such_operator_for_pointers;
struct there_is_no_such_unary_operator;

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgcc-compat"
#endif

namespace detail {

namespace tensor {
class Handle;
}

/// What operators of these handles are declared for elsewhere: handles, C++ numbers, and extents beside tensors.
template <class S, class OfHandle>
concept NativeOperand = HostScalar<S> || std::derived_from<S, Handle> || std::derived_from<S, tensor::Handle> ||
                        (std::same_as<S, Dim> && std::derived_from<OfHandle, tensor::Handle>);

/// An operand that does not meet handles such as H.
template <class H>
struct ForeignOperand {
  template <class S>
    requires(!NativeOperand<S, H> && !std::convertible_to<const H&, S>)
  ForeignOperand(const S&);
};

/// An operand of a tile of pointers, and one that is no such tile itself.
template <class S, class H>
concept BesidePointers = NativeOperand<S, H> && !std::derived_from<S, tensor::Handle>;
template <class S>
inline constexpr bool kIsPointers = false;
template <PointerElement T>
inline constexpr bool kIsPointers<Tile<T>> = true;
template <class S, class H>
concept BehindNoPointers = BesidePointers<S, H> && !kIsPointers<S>;

}  // namespace detail

#define TW_FOREIGN(HANDLE, ELEMENT, CORRECTION, TEXT, OP)                                                             \
  template <ELEMENT T>                                                                                                \
  CORRECTION operator OP(const HANDLE<T>&, std::type_identity_t<detail::ForeignOperand<HANDLE<T>>>) TW_REFUSED(TEXT); \
  template <ELEMENT T>                                                                                                \
  CORRECTION operator OP(std::type_identity_t<detail::ForeignOperand<HANDLE<T>>>, const HANDLE<T>&) TW_REFUSED(TEXT);
#define TW_OTHER_HANDLE(OP)                                                                                                          \
  template <Element T, ValueElement U>                                                                                               \
  tiles_of_kernels_and_tensors_of_graphs_do_not_meet operator OP(const Tile<T>&, const Tensor<U>&) TW_REFUSED(TW_OTHER_HANDLE_TEXT); \
  template <ValueElement T, Element U>                                                                                               \
  tiles_of_kernels_and_tensors_of_graphs_do_not_meet operator OP(const Tensor<T>&, const Tile<U>&) TW_REFUSED(TW_OTHER_HANDLE_TEXT);
#define TW_FOREIGN_OPERATOR(OP)                                                                                      \
  TW_FOREIGN(Tile, Element, an_operand_of_a_tile_is_a_tile_or_a_cpp_number, TW_TILE_TEXT, OP)                        \
  TW_FOREIGN(Tensor, ValueElement, an_operand_of_a_tensor_is_a_tensor_a_cpp_number_or_an_extent, TW_TENSOR_TEXT, OP) \
  TW_OTHER_HANDLE(OP)
#define TW_NO_UNARY(OP)                                                                                                \
  template <Element T>                                                                                                 \
  there_is_no_such_unary_operator operator OP(const Tile<T>&) TW_REFUSED("tiles have the unary operators -, ~ and !"); \
  template <ValueElement T>                                                                                            \
  there_is_no_such_unary_operator operator OP(const Tensor<T>&) TW_REFUSED("tensors have the unary operators -, ~ and !");
#define TW_TILE_TEXT "an operand of a tile is a tile or a C++ number"
#define TW_TENSOR_TEXT "an operand of a tensor is a tensor, a C++ number or an extent"
#define TW_OTHER_HANDLE_TEXT "tiles of kernels and tensors of graphs do not meet"

TW_FOREIGN_OPERATOR(+)
TW_FOREIGN_OPERATOR(-)
TW_FOREIGN_OPERATOR(*)
TW_FOREIGN_OPERATOR(/)
TW_FOREIGN_OPERATOR(%)
TW_FOREIGN_OPERATOR(&)
TW_FOREIGN_OPERATOR(|)
TW_FOREIGN_OPERATOR(^)
TW_FOREIGN_OPERATOR(<<)
TW_FOREIGN_OPERATOR(>>)
TW_FOREIGN_OPERATOR(==)
TW_FOREIGN_OPERATOR(!=)
TW_FOREIGN_OPERATOR(<)
TW_FOREIGN_OPERATOR(<=)
TW_FOREIGN_OPERATOR(>)
TW_FOREIGN_OPERATOR(>=)
TW_FOREIGN_OPERATOR(&&)
TW_FOREIGN_OPERATOR(||)
TW_FOREIGN_OPERATOR(+=)
TW_FOREIGN_OPERATOR(-=)
TW_FOREIGN_OPERATOR(*=)
TW_FOREIGN_OPERATOR(/=)
TW_FOREIGN_OPERATOR(%=)
TW_FOREIGN_OPERATOR(&=)
TW_FOREIGN_OPERATOR(|=)
TW_FOREIGN_OPERATOR(^=)
TW_FOREIGN_OPERATOR(<<=)
TW_FOREIGN_OPERATOR(>>=)
#define TW_FOREIGN_TO_EXTENT(OP)                                                                                                     \
  template <std::same_as<Dim> D>                                                                                                     \
  an_operand_of_an_extent_is_an_extent_an_integer_or_a_tensor operator OP(const D&, std::type_identity_t<detail::ForeignOperand<D>>) \
      TW_REFUSED(TW_EXTENT_TEXT);                                                                                                    \
  template <std::same_as<Dim> D>                                                                                                     \
  an_operand_of_an_extent_is_an_extent_an_integer_or_a_tensor operator OP(std::type_identity_t<detail::ForeignOperand<D>>, const D&) \
      TW_REFUSED(TW_EXTENT_TEXT);
#define TW_EXTENT_TEXT "an operand of an extent is an extent, a C++ integer or a tensor"
TW_FOREIGN_TO_EXTENT(+)
TW_FOREIGN_TO_EXTENT(-)
TW_FOREIGN_TO_EXTENT(*)
TW_FOREIGN_TO_EXTENT(/)
TW_FOREIGN_TO_EXTENT(%)
TW_FOREIGN_TO_EXTENT(==)
TW_FOREIGN_TO_EXTENT(!=)
TW_FOREIGN_TO_EXTENT(<)
TW_FOREIGN_TO_EXTENT(<=)
TW_FOREIGN_TO_EXTENT(>)
TW_FOREIGN_TO_EXTENT(>=)
TW_FOREIGN_TO_EXTENT(+=)
TW_FOREIGN_TO_EXTENT(-=)
TW_FOREIGN_TO_EXTENT(*=)
TW_FOREIGN_TO_EXTENT(/=)
#undef TW_EXTENT_TEXT
#undef TW_FOREIGN_TO_EXTENT

#define TW_POINTERS(OP)                                                                                      \
  template <PointerElement T, detail::BesidePointers<Tile<T>> S>                                             \
  there_is_no_such_operator_for_pointers operator OP(const Tile<T>&, const S&) TW_REFUSED(TW_POINTERS_TEXT); \
  template <PointerElement T, detail::BehindNoPointers<Tile<T>> S>                                           \
  there_is_no_such_operator_for_pointers operator OP(const S&, const Tile<T>&) TW_REFUSED(TW_POINTERS_TEXT);
#define TW_POINTERS_UNARY(OP) \
  template <PointerElement T> \
  there_is_no_such_operator_for_pointers operator OP(const Tile<T>&) TW_REFUSED(TW_POINTERS_TEXT);
#define TW_POINTERS_TEXT "tiles of pointers have the operators + and - with an offset: keep offsets as integers beside the pointer"
TW_POINTERS(*)
TW_POINTERS(/)
TW_POINTERS(%)
TW_POINTERS(&)
TW_POINTERS(|)
TW_POINTERS(^)
TW_POINTERS(<<)
TW_POINTERS(>>)
TW_POINTERS(==)
TW_POINTERS(!=)
TW_POINTERS(<)
TW_POINTERS(<=)
TW_POINTERS(>)
TW_POINTERS(>=)
TW_POINTERS(&&)
TW_POINTERS(||)
TW_POINTERS(*=)
TW_POINTERS(/=)
TW_POINTERS(%=)
TW_POINTERS(&=)
TW_POINTERS(|=)
TW_POINTERS(^=)
TW_POINTERS(<<=)
TW_POINTERS(>>=)
TW_POINTERS_UNARY(-)
TW_POINTERS_UNARY(~)
TW_POINTERS_UNARY(!)
#undef TW_POINTERS_TEXT
#undef TW_POINTERS_UNARY
#undef TW_POINTERS

TW_NO_UNARY(+)
TW_NO_UNARY(*)
TW_NO_UNARY(++)
TW_NO_UNARY(--)
#undef TW_OTHER_HANDLE_TEXT
#undef TW_TENSOR_TEXT
#undef TW_TILE_TEXT
#undef TW_NO_UNARY
#undef TW_FOREIGN_OPERATOR
#undef TW_OTHER_HANDLE
#undef TW_FOREIGN
#undef TW_REFUSED
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace tilewright
//! @endcond
