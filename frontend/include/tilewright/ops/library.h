// Functions composed of other operations: activations, softmax, and integer functions that also work on the host.
#pragma once
#include <bit>
#include <utility>

#include "tilewright/tile.h"

namespace tilewright {

namespace detail {

enum class Activation : std::uint8_t { sigmoid, silu, gelu, gelu_tanh, relu };
Made activation(Activation, const Handle&, const Here&);
Made softmax(const Handle&, std::int64_t axis, const Here&);
Made log_softmax(const Handle&, std::int64_t axis, const Here&);
Made cdiv(const Input& a, const Input& b, TypeCode meet);
Made next_power_of_two(const Handle&, const Here&);
std::pair<Made, Made> grouped_order(const Handle& pid, const Input& tiles_m, const Input& tiles_n, const Input& group);

template <class A>
concept Integers = HostInteger<std::remove_cvref_t<A>> || (AnyTile<A> && IntegerElement<typename ElementOf<std::remove_cvref_t<A>>::type>);

}  // namespace detail

// 16-bit floats are computed in f32 and rounded once.
#define TW_ACTIVATION(NAME)                                              \
  template <FloatElement T>                                              \
  Tile<T> NAME(const Tile<T>& x, Here at = Here::current()) {            \
    return Tile<T>(detail::activation(detail::Activation::NAME, x, at)); \
  }
/// 1 / (1 + exp(-x)).
TW_ACTIVATION(sigmoid)
/// x · sigmoid(x).
TW_ACTIVATION(silu)
/// x / 2 · (1 + erf(x / √2)).
TW_ACTIVATION(gelu)
/// x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).
TW_ACTIVATION(gelu_tanh)
/// maximum(x, 0).
TW_ACTIVATION(relu)
#undef TW_ACTIVATION

/// exp(t - max) / sum(exp(t - max)) along an axis.
template <FloatElement T>
Tile<T> softmax(const Tile<T>& t, Axis axis, Here at = Here::current()) {
  return Tile<T>(detail::softmax(t, axis.value, at));
}
/// t - max - log(sum(exp(t - max))) along an axis.
template <FloatElement T>
Tile<T> log_softmax(const Tile<T>& t, Axis axis, Here at = Here::current()) {
  return Tile<T>(detail::log_softmax(t, axis.value, at));
}

/// a / b rounded up.
template <detail::Argument A, detail::Argument B>
  requires IntegerElement<detail::Common<A, B>>
Tile<detail::Common<A, B>> cdiv(const A& a, const B& b, Here at = Here::current()) {
  using T = detail::Common<A, B>;
  return Tile<T>(detail::cdiv(detail::input(a, at), detail::input(b, at), detail::kCode<T>));
}
/// a / b rounded up, on the host.
template <detail::HostInteger A, detail::HostInteger B>
constexpr std::common_type_t<A, B> cdiv(A a, B b) {
  using C = std::common_type_t<A, B>;
  const C x = static_cast<C>(a), y = static_cast<C>(b), quotient = static_cast<C>(x / y), rest = static_cast<C>(x % y);
  return static_cast<C>(quotient + (rest != 0 && (rest < 0) == (y < 0)));
}

/// The least power of two that is not below n; 1 if n is below 1.
template <IntegerElement T>
Tile<T> next_power_of_two(const Tile<T>& n, Here at = Here::current()) {
  return Tile<T>(detail::next_power_of_two(n, at));
}
/// The least power of two that is not below n, on the host.
template <detail::HostInteger I>
constexpr I next_power_of_two(I n) {
  if (n <= 1) return 1;
  using U = std::make_unsigned_t<I>;
  const int shift = static_cast<int>(std::bit_width(static_cast<U>(n - 1)));  // bit_width returns int in C++20, but unsigned in GCC 12
  return shift < static_cast<int>(sizeof(I) * 8) ? static_cast<I>(static_cast<U>(U{1} << shift)) : I{0};
}

/// The tile [m, n] of a matrix of tiles that program `pid` takes, chosen so that programs that run together share rows and columns: `group`
/// rows of tiles at a time, column by column.
template <detail::Integers M, detail::Integers N, detail::Integers Group>
std::pair<I32, I32> grouped_order(const I32& pid, const M& tiles_m, const N& tiles_n, const Group& group, Here at = Here::current()) {
  const auto [m, n] = detail::grouped_order(pid, detail::input(tiles_m, at), detail::input(tiles_n, at), detail::input(group, at));
  return {I32(m), I32(n)};
}

}  // namespace tilewright
