// Prints, assertions, hints to the compiler, and inline PTX.
#pragma once
#include <array>
#include <concepts>
#include <span>
#include <tuple>
#include <utility>

#include "tilewright/tile.h"

namespace tilewright {

namespace detail {

/// A text with its line, for functions with a variable number of arguments.
struct Text {
  Text(const char* words, Here here = Here::current()) : text(words), at(here) {}
  const char* text;
  Here at;
};

void device_print(const Text& format, std::span<const Handle* const> tiles);
/// `seen`: a tile whose value at the first failing element is in the message. It broadcasts with the condition.
void device_assert(const Handle& condition, const Text& text, const Maybe& mask, const Handle* seen = nullptr);
void assume(const Handle& condition, const Here&);
Made multiple_of(const Handle&, std::int64_t divisor, const Here&);
Made max_contiguous(const Handle&, std::int64_t length, const Here&);
Made inline_ptx(const Text& ptx, const char* constraints, std::span<const Handle* const> tiles, const Handle* fallback, TypeCode result);

template <class F, class Tiles>
struct FallbackOf : std::false_type {};
template <class F, class... T>
struct FallbackOf<F, std::tuple<const T&...>> : std::is_invocable<const F&, const T&...> {};

template <class... A>
constexpr bool all_tiles(const std::tuple<const A&...>*) {
  return (AnyTile<A> && ...);
}

template <ValueElement R, class... T>
Tile<R> inline_ptx_of(const Text& ptx, const char* constraints, const std::tuple<const T&...>& tiles, const Handle* fallback) {
  return std::apply(
      [&](const T&... each) {
        const std::array<const Handle*, sizeof...(T)> handles{&each...};
        return Tile<R>(inline_ptx(ptx, constraints, handles, fallback, kCode<R>));
      },
      tiles);
}

}  // namespace detail

/// Prints a line, "FILE:LINE: program (0, 0, 0): x = [1, 2, 3, 4]", to standard output or to the function given to on_device_print. A {} in
/// the format is the next tile, {:.3f} a tile whose elements are formatted as by std::format, {{ and }} are braces. Lines of one program
/// are in order; lines of different programs are in any order. A GPU's lines appear when something waits for the launch:
/// Stream::synchronize, Device::synchronize or a transfer on its stream. Between two waits there is room for 1 MiB of values; a final line
/// says how many more there were. A launch that is captured into a graph prints nothing.
template <Element... T>
void device_print(detail::Text format, const Tile<T>&... tiles) {
  const std::array<const detail::Handle*, sizeof...(T)> handles{&tiles...};
  detail::device_print(format, handles);
}

/// In checked mode (Launch::check), the launch throws Error with this text if the condition is false where the mask is true; otherwise
/// nothing is compiled. Other programs and lanes continue. On a GPU such a launch waits for the kernel; a launch that is captured into a
/// graph checks nothing.
inline void device_assert(const Bool& condition, detail::Text text, detail::Optional<bool> mask = {}) {
  detail::device_assert(condition, text, mask);
}

// Hints. The compiler relies on them; checked mode reports wrong ones.

/// Promises that the condition holds in every lane, for example x % 16 == 0 or x == 3. Code after it may rely on this. Returns the
/// condition.
inline Bool assume(const Bool& condition, Here at = Here::current()) {
  detail::assume(condition, at);
  return condition;
}
/// Promises that each run of consecutive elements along the last axis begins at a multiple of n (pointers: in bytes). Returns t.
template <Element T>
[[nodiscard]] Tile<T> multiple_of(const Tile<T>& t, Extent n, Here at = Here::current()) {
  return Tile<T>(detail::multiple_of(t, n.value, at));
}
/// Promises that t along the last axis consists of aligned runs of n consecutive elements: each is one more than the one before (pointers:
/// the next element). Returns t.
template <Element T>
[[nodiscard]] Tile<T> max_contiguous(const Tile<T>& t, Extent n, Here at = Here::current()) {
  return Tile<T>(detail::max_contiguous(t, n.value, at));
}

/// PTX applied to each lane: inline_ptx<float>("ex2.approx.f32 $0, $1;", "=f,f", x). $0 is the result; $1, $2, ... are the tiles, which
/// broadcast. The constraints give the register class of each (f, d, r, l, h). The PTX must have no effect except its result. A callable
/// last argument computes the same over the tiles on other devices; without it the kernel runs on GPUs only.
template <ValueElement R, class... A>
Tile<R> inline_ptx(detail::Text ptx, const char* constraints, const A&... arguments) {
  const std::tuple<const A&...> all(arguments...);
  if constexpr (detail::all_tiles(static_cast<const std::tuple<const A&...>*>(nullptr))) {
    return detail::inline_ptx_of<R>(ptx, constraints, all, nullptr);
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto tiles = std::tie(std::get<I>(all)...);
      const auto& function = std::get<sizeof...(A) - 1>(all);
      using Tiles = std::remove_const_t<decltype(tiles)>;
      static_assert(detail::all_tiles(static_cast<const Tiles*>(nullptr)) && detail::FallbackOf<decltype(function), Tiles>::value,
                    "inline_ptx takes tiles, and last a function that can be called with them");
      const Tile<R> fallback = std::apply(function, tiles);
      return detail::inline_ptx_of<R>(ptx, constraints, tiles, &fallback);
    }(std::make_index_sequence<sizeof...(A) - 1>());
  }
}

}  // namespace tilewright
