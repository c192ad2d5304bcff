// Traces the combine function of a reduce or scan.
#pragma once
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tilewright/tile.h"

namespace tilewright::detail {

enum class Combination : std::uint8_t { reduce, scan, scan_reversed };

/// One reduce or scan with the user's combine function. The function is traced between the constructor and finish().
class CustomCombine {
 public:
  CustomCombine(Combination, std::span<const Handle* const> tiles, std::int64_t axis, const Here&);
  ~CustomCombine();
  CustomCombine(const CustomCombine&) = delete;
  CustomCombine& operator=(const CustomCombine&) = delete;
  Made earlier(std::size_t i) const { return arguments_[i]; }
  Made later(std::size_t i) const { return arguments_[count_ + i]; }
  void finish(std::span<const Handle* const> combined);
  Made result(std::size_t i) const { return results_[i]; }

 private:
  Combination kind_;
  std::size_t count_;
  Here at_;
  std::uint32_t op_;
  std::uint32_t outer_;  // the block that contains the op, where tracing continues
  std::vector<Made> arguments_, results_;
  std::vector<Variable> before_;  // variables that the function must not change
  bool finished_ = false;
};

// f(a, b): for one tile, it takes and returns scalars; for a tuple of tiles, it takes and returns tuples of scalars.
template <class F, class State>
concept Combine = std::is_invocable_r_v<State, F, State, State>;

template <class T, class F>
Tile<T> combine(Combination kind, const Tile<T>& t, std::int64_t axis, F& f, const Here& at) {
  const Handle* tiles[] = {&t};
  CustomCombine c(kind, tiles, axis, at);
  const Tile<T> combined = f(Tile<T>(c.earlier(0)), Tile<T>(c.later(0)));
  const Handle* yields[] = {&combined};
  c.finish(yields);
  return Tile<T>(c.result(0));
}
template <class... T, class F>
std::tuple<Tile<T>...> combine(Combination kind, const std::tuple<Tile<T>...>& t, std::int64_t axis, F& f, const Here& at) {
  using State = std::tuple<Tile<T>...>;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const Handle* tiles[] = {&std::get<I>(t)...};
    CustomCombine c(kind, tiles, axis, at);
    const State combined = f(State(Tile<T>(c.earlier(I))...), State(Tile<T>(c.later(I))...));
    const Handle* yields[] = {&std::get<I>(combined)...};
    c.finish(yields);
    return State(Tile<T>(c.result(I))...);
  }(std::index_sequence_for<T...>());
}

}  // namespace tilewright::detail
