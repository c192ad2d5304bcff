// Functions on tiles and on tensors for arguments whose element types they do not take. They are declared only to be rejected with a
// message that names the correction, as the operators of mismatch.h are.
#pragma once
#include "tilewright/detail/as_tile.h"
#include "tilewright/detail/mismatch.h"

//! @cond
namespace tilewright {

struct cast_the_argument_to_a_float_type_with_to;
struct cast_the_argument_to_numbers_with_to;
struct cast_the_argument_to_integers_with_to;
struct compare_to_get_bools_as_in_x_not_equal_to_0;
struct cast_one_of_the_arguments_with_to;
struct cast_the_arguments_to_other_element_types_with_to;
struct cast_the_index_to_integers_with_to;
struct cast_the_updates_to_the_element_type_of_the_sums_with_to;
struct choose_by_a_cpp_bool_with_an_if;
struct the_condition_of_where_is_a_tile_of_bools;
struct the_condition_of_where_is_a_tensor_of_bools;
struct cast_the_weights_to_the_element_type_of_x_with_to;
struct constants_of_integers_are_integers_and_those_of_bools_are_true_and_false;
struct there_is_no_iota_of_this_element_type;
struct the_result_of_a_product_has_the_type_of_its_operands_or_float_if_that_is_narrower;
struct cast_the_operands_of_the_product_to_numbers_with_to;
struct the_tiles_of_dot_have_one_type_of_floats_or_int8_cast_one_with_to;

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgcc-compat"
#endif

class Graph;

namespace detail {

namespace tensor {
template <class R, class T>
struct ProductOf;
/// Weights of type U for a norm of T: the same type, a narrower one, or f32 if the norm is computed in f32.
template <class U, class T>
concept WeightOf = FloatElement<U> && (std::same_as<U, T> || WidensTo<U, T> || (sizeof(T) < 4 && sizeof(U) <= 4));
}  // namespace tensor
template <class A, class B>
struct DotOf;

template <class... T>
concept Meet = requires { typename Common<Tile<T>...>; };
/// Operands that have no product at all, and those that have one, but not of the element type R.
template <class... T>
concept NoOperandsOfProducts = Meet<T...> && !requires { typename tensor::ProductOf<void, Common<Tile<T>...>>::type; };
template <class R, class... T>
concept NoResultOfProduct = !std::same_as<R, void> && requires { typename tensor::ProductOf<void, Common<Tile<T>...>>::type; } &&
                            !requires { typename tensor::ProductOf<R, Common<Tile<T>...>>::type; };

template <class A, class B>
concept NoOperandsOfDot = !requires { typename DotOf<A, B>::type; };

/// A tile or a tensor whose elements are not of a kind.
enum class ElementKind { floats, floats_of_any_width, numbers, integers, bools };
template <class T, ElementKind K>
concept IsOfKind = (K == ElementKind::floats && FloatElement<T>) || (K == ElementKind::floats_of_any_width && AnyFloatElement<T>) ||
                   (K == ElementKind::numbers && NumberElement<T>) || (K == ElementKind::integers && IntegerElement<T>) ||
                   (K == ElementKind::bools && BoolElement<T>);
template <class H, ElementKind K>
inline constexpr bool kIsHandleOfNo = false;
template <ValueElement T, ElementKind K>
inline constexpr bool kIsHandleOfNo<Tile<T>, K> = !IsOfKind<T, K>;
template <ValueElement T, ElementKind K>
inline constexpr bool kIsHandleOfNo<Tensor<T>, K> = !IsOfKind<T, K>;
template <class H, ElementKind K>
concept HandleOfNo = kIsHandleOfNo<H, K>;

/// The arguments of a function, of which one at least is a handle: they have a common element type, or none.
template <class... A>
using CommonOfAny = Common<typename AsTile<A>::type...>;
template <class... A>
concept HandlesAndNumbers = (Argument<typename AsTile<A>::type> && ...) && (AnyTile<typename AsTile<A>::type> || ...);
template <class... A>
concept ArgumentsMeet = HandlesAndNumbers<A...> && requires { typename CommonOfAny<A...>; };
template <class... A>
concept ArgumentsNeverMeet = HandlesAndNumbers<A...> && !requires { typename CommonOfAny<A...>; };

template <class U, class T>
concept NotWeightOf = ValueElement<U> && !tensor::WeightOf<U, T>;

}  // namespace detail

// Functions of one tile or tensor, by the element types that they take. `rest`: axes, weights and numbers.
#define TW_OF_FLOATS(NAME)                                                    \
  template <detail::HandleOfNo<detail::ElementKind::floats> H, class... Rest> \
  cast_the_argument_to_a_float_type_with_to NAME(const H&, const Rest&...)    \
      TW_REFUSED(#NAME " takes floats of 16 to 64 bits: cast its argument, as in x.to<float>()");
#define TW_OF_NUMBERS(NAME)                                                    \
  template <detail::HandleOfNo<detail::ElementKind::numbers> H, class... Rest> \
  cast_the_argument_to_numbers_with_to NAME(const H&, const Rest&...)          \
      TW_REFUSED(#NAME " takes integers, and floats of 16 to 64 bits: cast its argument, as in x.to<int>() or x.to<float>()");
#define TW_OF_INTEGERS(NAME)                                                    \
  template <detail::HandleOfNo<detail::ElementKind::integers> H, class... Rest> \
  cast_the_argument_to_integers_with_to NAME(const H&, const Rest&...)          \
      TW_REFUSED(#NAME " takes integers: cast its argument, as in x.to<int>()");
#define TW_OF_BOOLS(NAME)                                                    \
  template <detail::HandleOfNo<detail::ElementKind::bools> H, class... Rest> \
  compare_to_get_bools_as_in_x_not_equal_to_0 NAME(const H&, const Rest&...) \
      TW_REFUSED(#NAME " takes bools: compare its argument, as in x != 0");
TW_OF_FLOATS(ceil)
TW_OF_FLOATS(floor)
TW_OF_FLOATS(round)
TW_OF_FLOATS(rint)
TW_OF_FLOATS(trunc)
TW_OF_FLOATS(sqrt)
TW_OF_FLOATS(rsqrt)
TW_OF_FLOATS(exp)
TW_OF_FLOATS(exp2)
TW_OF_FLOATS(exp10)
TW_OF_FLOATS(expm1)
TW_OF_FLOATS(log)
TW_OF_FLOATS(log2)
TW_OF_FLOATS(log10)
TW_OF_FLOATS(log1p)
TW_OF_FLOATS(sin)
TW_OF_FLOATS(cos)
TW_OF_FLOATS(tan)
TW_OF_FLOATS(asin)
TW_OF_FLOATS(acos)
TW_OF_FLOATS(atan)
TW_OF_FLOATS(sinh)
TW_OF_FLOATS(cosh)
TW_OF_FLOATS(tanh)
TW_OF_FLOATS(cbrt)
TW_OF_FLOATS(erf)
TW_OF_FLOATS(isnan)
TW_OF_FLOATS(isinf)
TW_OF_FLOATS(sigmoid)
TW_OF_FLOATS(silu)
TW_OF_FLOATS(gelu)
TW_OF_FLOATS(gelu_tanh)
TW_OF_FLOATS(relu)
TW_OF_FLOATS(softmax)
TW_OF_FLOATS(log_softmax)
TW_OF_FLOATS(logsumexp)
TW_OF_FLOATS(layer_norm)
TW_OF_FLOATS(rms_norm)
TW_OF_FLOATS(batch_norm)
TW_OF_FLOATS(max_pool)
TW_OF_FLOATS(avg_pool)
TW_OF_FLOATS(cross_entropy)
TW_OF_FLOATS(rope)
TW_OF_FLOATS(dropout)
TW_OF_NUMBERS(abs)
TW_OF_NUMBERS(prod)
TW_OF_NUMBERS(max)
TW_OF_NUMBERS(min)
TW_OF_NUMBERS(argmax)
TW_OF_NUMBERS(argmin)
TW_OF_NUMBERS(cumsum)
TW_OF_NUMBERS(cumprod)
TW_OF_NUMBERS(cummax)
TW_OF_NUMBERS(cummin)
TW_OF_NUMBERS(sort)
TW_OF_NUMBERS(topk)
TW_OF_NUMBERS(scatter_add)
TW_OF_INTEGERS(popcount)
TW_OF_INTEGERS(clz)
TW_OF_INTEGERS(ffs)
TW_OF_INTEGERS(reverse_bits)
TW_OF_INTEGERS(xor_sum)
TW_OF_INTEGERS(next_power_of_two)
TW_OF_BOOLS(any)
TW_OF_BOOLS(all)
#undef TW_OF_BOOLS
#undef TW_OF_INTEGERS
#undef TW_OF_NUMBERS
#undef TW_OF_FLOATS
template <detail::HandleOfNo<detail::ElementKind::floats_of_any_width> H, class... Rest>
cast_the_argument_to_a_float_type_with_to mean(const H&, const Rest&...)
    TW_REFUSED("mean takes floats: cast its argument, as in x.to<float>()");

// Functions of two or three values, tiles or tensors and C++ numbers, which meet in a common element type.
#define TW_OF_VALUES(NAME, KIND, TEXT, PARAMETERS, TYPES, ...)                                                     \
  template <PARAMETERS>                                                                                            \
    requires detail::ArgumentsNeverMeet<TYPES>                                                                     \
  cast_one_of_the_arguments_with_to NAME(__VA_ARGS__)                                                              \
      TW_REFUSED("the arguments of " #NAME " have no common element type: cast one of them, as in x.to<float>()"); \
  template <PARAMETERS>                                                                                            \
    requires(detail::ArgumentsMeet<TYPES> && !(KIND<detail::CommonOfAny<TYPES>>))                                  \
  cast_the_arguments_to_other_element_types_with_to NAME(__VA_ARGS__) TW_REFUSED(#NAME " takes " TEXT);
#define TW_COMMA ,
#define TW_OF_TWO(NAME, KIND, TEXT) TW_OF_VALUES(NAME, KIND, TEXT, class A TW_COMMA class B, A TW_COMMA B, const A&, const B&)
#define TW_OF_THREE(NAME, KIND, TEXT) \
  TW_OF_VALUES(NAME, KIND, TEXT, class A TW_COMMA class B TW_COMMA class C, A TW_COMMA B TW_COMMA C, const A&, const B&, const C&)
#define TW_FLOATS_TEXT "floats of 16 to 64 bits: cast its arguments, as in x.to<float>()"
#define TW_NUMBERS_TEXT "integers, and floats of 16 to 64 bits: cast its arguments, as in x.to<int>() or x.to<float>()"
TW_OF_TWO(pow, FloatElement, TW_FLOATS_TEXT)
TW_OF_TWO(fmin, FloatElement, TW_FLOATS_TEXT)
TW_OF_TWO(fmax, FloatElement, TW_FLOATS_TEXT)
TW_OF_TWO(copysign, FloatElement, TW_FLOATS_TEXT)
TW_OF_TWO(atan2, FloatElement, TW_FLOATS_TEXT)
TW_OF_TWO(hypot, FloatElement, TW_FLOATS_TEXT)
TW_OF_TWO(div_rn, FloatElement, TW_FLOATS_TEXT)
TW_OF_TWO(minimum, NumberElement, TW_NUMBERS_TEXT)
TW_OF_TWO(maximum, NumberElement, TW_NUMBERS_TEXT)
TW_OF_TWO(umulhi, UnsignedElement, "unsigned integers: cast its arguments, as in x.to<unsigned>()")
TW_OF_THREE(fma, FloatElement, TW_FLOATS_TEXT)
TW_OF_THREE(clamp, NumberElement, TW_NUMBERS_TEXT)
#undef TW_NUMBERS_TEXT
#undef TW_FLOATS_TEXT
#undef TW_OF_THREE
#undef TW_OF_TWO
#undef TW_COMMA
#undef TW_OF_VALUES

// Choices: the condition, and the values. Values that are handles are above.
#define TW_CHOICE(HANDLE, NOUN)                                                                           \
  template <ValueElement C, class A, class B>                                                             \
    requires(!BoolElement<C>)                                                                             \
  the_condition_of_where_is_a_##NOUN##_of_bools where(const HANDLE<C>&, const A&, const B&)               \
      TW_REFUSED("the condition of where is a " #NOUN " of bools: compare it, as in where(x > 0, a, b)"); \
  template <class A, class B>                                                                             \
    requires(detail::ArgumentsNeverMeet<A, B> && (detail::HostScalar<A> || detail::HostScalar<B>))        \
  cast_one_of_the_arguments_with_to where(const HANDLE<bool>&, const A&, const B&)                        \
      TW_REFUSED("the values of where have no common element type: cast one of them, as in x.to<float>()");
TW_CHOICE(Tile, tile)
TW_CHOICE(Tensor, tensor)
#undef TW_CHOICE
template <std::same_as<bool> C, class A, class B>
  requires detail::HandlesAndNumbers<A, B>
choose_by_a_cpp_bool_with_an_if where(C, const A&, const B&)
    TW_REFUSED("the condition of where holds a bool for each element: to choose by one C++ bool, write an if");

// Indices.
#define TW_INDEXED(HANDLE, NOUN, NAME, WHAT)                                                  \
  template <Element T, ValueElement I, class... Rest>                                         \
    requires(!IntegerElement<I>)                                                              \
  cast_the_index_to_integers_with_to NAME(const HANDLE<T>&, const HANDLE<I>&, const Rest&...) \
      TW_REFUSED("the " WHAT " of " #NAME " are a " #NOUN " of integers: cast them, as in i.to<int>()");
TW_INDEXED(Tile, tile, gather, "indices")
TW_INDEXED(Tensor, tensor, gather, "indices")
TW_INDEXED(Tensor, tensor, take_along, "indices")
TW_INDEXED(Tensor, tensor, scatter_add, "indices")
TW_INDEXED(Tensor, tensor, cross_entropy, "targets")
TW_INDEXED(Tensor, tensor, rope, "positions")
#undef TW_INDEXED
template <NumberElement T, IntegerElement I, ValueElement U, class... Rest>
  requires(!std::same_as<T, U>)
cast_the_updates_to_the_element_type_of_the_sums_with_to scatter_add(const Tensor<T>&, const Tensor<I>&, const Tensor<U>&, const Rest&...)
    TW_REFUSED("the updates of scatter_add have the element type of what they are added to: cast them, as in u.to<float>()");

// Weights of norms.
#define TW_WEIGHTS_TEXT \
  "the weights of a norm have the element type of x, a narrower one, or float beside 16-bit floats: cast them, as in w.to<float>()"
template <FloatElement T, detail::NotWeightOf<T> G, class... Rest>
cast_the_weights_to_the_element_type_of_x_with_to rms_norm(const Tensor<T>&, const Tensor<G>&, const Rest&...) TW_REFUSED(TW_WEIGHTS_TEXT);
template <FloatElement T, class G, class B, class... Rest>
  requires detail::NotWeightOf<G, T> || detail::NotWeightOf<B, T>
cast_the_weights_to_the_element_type_of_x_with_to layer_norm(const Tensor<T>&, const Tensor<G>&, const Tensor<B>&, const Rest&...)
    TW_REFUSED(TW_WEIGHTS_TEXT);
template <FloatElement T, class M, class V, class G, class B, class... Rest>
  requires detail::NotWeightOf<M, T> || detail::NotWeightOf<V, T> || detail::NotWeightOf<G, T> || detail::NotWeightOf<B, T>
cast_the_weights_to_the_element_type_of_x_with_to batch_norm(const Tensor<T>&, const Tensor<M>&, const Tensor<V>&, const Tensor<G>&,
                                                             const Tensor<B>&, const Rest&...) TW_REFUSED(TW_WEIGHTS_TEXT);
#undef TW_WEIGHTS_TEXT

// Constants that a tile or a tensor is filled with.
#define TW_FILLED_TEXT \
  "a constant of integers is an integer, and one of bools is true or false: write such a constant, or name a float type"
template <ValueElement T, detail::HostScalar S>
  requires(!detail::ConstantOf<S, T>)
constants_of_integers_are_integers_and_those_of_bools_are_true_and_false full(Shape, S) TW_REFUSED(TW_FILLED_TEXT);
template <ValueElement T, detail::HostScalar S>
  requires(!detail::ConstantOf<S, T>)
constants_of_integers_are_integers_and_those_of_bools_are_true_and_false full(Graph&, const std::vector<Dim>&, S)
    TW_REFUSED(TW_FILLED_TEXT);
template <ValueElement T, detail::HostScalar S>
  requires(!detail::ConstantOf<S, T>)
constants_of_integers_are_integers_and_those_of_bools_are_true_and_false pad(const Tensor<T>&, Axis, const Dim&, const Dim&, S)
    TW_REFUSED(TW_FILLED_TEXT);
#undef TW_FILLED_TEXT
template <ValueElement T>
  requires(!NumberElement<T>)
there_is_no_iota_of_this_element_type iota(Graph&, const std::vector<Dim>&, Axis)
    TW_REFUSED("iota takes integers, and floats of 16 to 64 bits: cast its result");

// Products of tiles. `rest`: an accumulator, and a precision.
template <class A, class B, class... Rest>
  requires detail::NoOperandsOfDot<A, B>
the_tiles_of_dot_have_one_type_of_floats_or_int8_cast_one_with_to dot(const Tile<A>&, const Tile<B>&, const Rest&...)
    TW_REFUSED("the tiles of dot have one element type, which is a float or std::int8_t: cast one of them, as in dot(a.to<float>(), b)");

// Products of tensors. `rest`: a precision, or further operands.
#define TW_PRODUCT_TEXT                                                                                                         \
  "the result of a product has the element type of its operands, or float if that is a narrower one: cast the operands, as in " \
  "a.to<float>()"
template <class R = void, class A, class B, class... Rest>
  requires detail::NeverMeet<A, B>
cast_one_of_the_tensors_with_to matmul(const Tensor<A>&, const Tensor<B>&, const Rest&...)
    TW_REFUSED("tensors of these element types do not meet: cast one of them, as in x.to<float>()");
template <class R = void, class A, class B, class... Rest>
  requires detail::NoOperandsOfProducts<A, B>
cast_the_operands_of_the_product_to_numbers_with_to matmul(const Tensor<A>&, const Tensor<B>&, const Rest&...)
    TW_REFUSED("there are no products of tensors of this element type: cast the operands, as in a.to<float>()");
template <class R, class A, class B, class... Rest>
  requires detail::NoResultOfProduct<R, A, B>
the_result_of_a_product_has_the_type_of_its_operands_or_float_if_that_is_narrower matmul(const Tensor<A>&, const Tensor<B>&, const Rest&...)
    TW_REFUSED(TW_PRODUCT_TEXT);
template <class R = void, class E, class... T>
  requires detail::NoOperandsOfProducts<T...>
cast_the_operands_of_the_product_to_numbers_with_to einsum(const E&, const Tensor<T>&...)
    TW_REFUSED("there are no products of tensors of this element type: cast the operands, as in a.to<float>()");
template <class R, class E, class... T>
  requires detail::NoResultOfProduct<R, T...>
the_result_of_a_product_has_the_type_of_its_operands_or_float_if_that_is_narrower einsum(const E&, const Tensor<T>&...)
    TW_REFUSED(TW_PRODUCT_TEXT);
#undef TW_PRODUCT_TEXT
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace tilewright
//! @endcond
