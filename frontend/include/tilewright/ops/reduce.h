// Reductions along an axis, or over a whole tile.
#pragma once
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tilewright/tile.h"

namespace tilewright {

namespace detail {

enum class Reduction : std::uint8_t { sum, prod, max, min, argmax, argmin, any, all, xor_sum };
/// Over all elements.
Made reduce(Reduction, const Handle&, const Here&);
Made reduce(Reduction, const Handle&, std::int64_t axis, bool keep_dims, const Here&);

/// One reduce with the user's own combine function: the function is traced between the constructor and finish().
class CustomReduce {
 public:
  CustomReduce(std::span<const Handle* const> tiles, std::int64_t axis, const Here&);
  ~CustomReduce();
  CustomReduce(const CustomReduce&) = delete;
  CustomReduce& operator=(const CustomReduce&) = delete;
  Made earlier(std::size_t i) const { return arguments_[i]; }
  Made later(std::size_t i) const { return arguments_[count_ + i]; }
  void finish(std::span<const Handle* const> combined);
  Made result(std::size_t i) const { return results_[i]; }

 private:
  std::size_t count_;
  Here at_;
  std::uint32_t op_;
  std::uint32_t outer_;  // the block to go on in
  std::vector<Made> arguments_, results_;
  std::vector<Variable> before_;  // the function must not change any
  bool finished_ = false;
};

// f(a, b) for one tile takes and gives scalars of it; for a tuple it takes and gives a tuple of scalars.
template <class F, class State>
concept Combine = std::is_invocable_r_v<State, F, State, State>;

}  // namespace detail

#define TW_REDUCE(NAME, KIND, RESULT)                                                                 \
  template <KIND T>                                                                                   \
  Tile<RESULT> NAME(const Tile<T>& t, Here at = Here::current()) {                                    \
    return Tile<RESULT>(detail::reduce(detail::Reduction::NAME, t, at));                              \
  }                                                                                                   \
  template <KIND T>                                                                                   \
  Tile<RESULT> NAME(const Tile<T>& t, Axis axis, bool keep_dims = false, Here at = Here::current()) { \
    return Tile<RESULT>(detail::reduce(detail::Reduction::NAME, t, axis.value, keep_dims, at));       \
  }
/// Of the tile's type; 16-bit floats accumulate in f32, integers wrap.
TW_REDUCE(sum, NumberElement, T)
TW_REDUCE(prod, NumberElement, T)
/// NaN wins.
TW_REDUCE(max, NumberElement, T)
TW_REDUCE(min, NumberElement, T)
/// The index of the first NaN, else the lowest among equals (+0 and -0 are equal); over a whole tile, the row-major index.
TW_REDUCE(argmax, NumberElement, std::int32_t)
TW_REDUCE(argmin, NumberElement, std::int32_t)
TW_REDUCE(any, BoolElement, bool)
TW_REDUCE(all, BoolElement, bool)
TW_REDUCE(xor_sum, IntegerElement, T)
#undef TW_REDUCE

/// Combines the elements along an axis by f(earlier, later), which must be associative and is never given them in another order.
template <ValueElement T, detail::Combine<Tile<T>> F>
Tile<T> reduce(const Tile<T>& t, Axis axis, F f, Here at = Here::current()) {
  const detail::Handle* tiles[] = {&t};
  detail::CustomReduce r(tiles, axis.value, at);
  const Tile<T> combined = f(Tile<T>(r.earlier(0)), Tile<T>(r.later(0)));
  const detail::Handle* yields[] = {&combined};
  r.finish(yields);
  return Tile<T>(r.result(0));
}
/// The same over several tiles at once: f takes and gives tuples of scalars.
template <ValueElement... T, detail::Combine<std::tuple<Tile<T>...>> F>
std::tuple<Tile<T>...> reduce(const std::tuple<Tile<T>...>& t, Axis axis, F f, Here at = Here::current()) {
  using State = std::tuple<Tile<T>...>;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const detail::Handle* tiles[] = {&std::get<I>(t)...};
    detail::CustomReduce r(tiles, axis.value, at);
    const State combined = f(State(Tile<T>(r.earlier(I))...), State(Tile<T>(r.later(I))...));
    const detail::Handle* yields[] = {&std::get<I>(combined)...};
    r.finish(yields);
    return State(Tile<T>(r.result(I))...);
  }
  (std::index_sequence_for<T...>());
}

}  // namespace tilewright
