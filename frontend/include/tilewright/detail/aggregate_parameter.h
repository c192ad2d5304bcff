// Structs and arrays of handles as parameters of a kernel. They are passed field by field; the caller may pass any object that has fields
// in the same order.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tilewright/detail/arguments.h"

namespace tilewright::detail {

template <class P>
struct IsHandle : std::false_type {};
template <class T>
struct IsHandle<Tile<T>> : std::true_type {};
template <class T, int R>
struct IsHandle<View<T, R>> : std::true_type {};

/// Whether a parameter of type P is an array or a struct that contains run-time values: handles or views.
template <class P>
constexpr bool has_handles() {
  if constexpr (IsHandle<P>::value)
    return true;
  else if constexpr (Constant<P>)
    return false;
  else if constexpr (IsArray<P>::value)
    return has_handles<typename P::value_type>();
  else if constexpr (FewFields<P>)
    return []<class... F>(std::type_identity<std::tuple<F&...>>) {
      return (has_handles<std::remove_const_t<F>>() || ...);
    }(std::type_identity<FieldsOf<P>>{});
  else
    return false;
}
template <class P>
concept HandleAggregate = !IsHandle<P>::value && has_handles<P>();

// The elements of an array, or the fields of a struct. std::array counts as one aggregate field (its C array), so it has its own overload.
template <class S>
constexpr auto parts(S& s) {
  if constexpr (IsArray<std::remove_const_t<S>>::value)
    return std::apply([](auto&... e) { return std::tie(e...); }, s);
  else
    return fields(s);
}
template <class S>
using PartsOf = decltype(parts(std::declval<S&>()));

template <class S>
concept HasParts = IsArray<S>::value || FewFields<S>;
template <class Parts, class... A>
inline constexpr bool kPartsConvert = false;
template <class... F, class... A>
  requires(sizeof...(F) == sizeof...(A))
inline constexpr bool kPartsConvert<std::tuple<F&...>, A...> = (std::convertible_to<F&, A> && ...);

/// The argument of a launch for a struct or an array: its fields in braces, or an object of the caller whose fields bind in order.
template <class... A>
struct PartsArgument {
  PartsArgument(A... a) : each(std::move(a)...) {}
  template <class S>
    requires HasParts<std::remove_cvref_t<S>> && kPartsConvert<PartsOf<std::remove_reference_t<S>>, A...>
  PartsArgument(S&& s) : each(parts(s)) {}
  std::tuple<A...> each;
};

template <HandleAggregate P>
struct Parameter<P> {
  template <class... F>
  struct Of {
    using Argument = PartsArgument<typename Parameter<F>::Argument...>;
    using StandIn = PartsArgument<typename Parameter<F>::StandIn...>;
    template <class Each>
    static void add(Arguments& to, const Each& each) {
      std::apply([&](const auto&... a) { (Parameter<F>::add(to, a), ...); }, each);
    }
    template <class Each>
    static P traced(TracedWords& words, const Each& each) {
      // A braced list is evaluated from left to right, in the order in which the words were added.
      return std::apply([&](const auto&... a) { return P{Parameter<F>::traced(words, a)...}; }, each);
    }
  };
  using Parts = decltype([]<class... F>(std::type_identity<std::tuple<F&...>>) {
    return Of<std::remove_const_t<F>...>{};
  }(std::type_identity<PartsOf<P>>{}));

  using Argument = typename Parts::Argument;
  using StandIn = typename Parts::StandIn;
  template <class A>
  static void add(Arguments& to, const A& a) {
    to.begin_fields();
    Parts::add(to, a.each);
    to.end_fields();
  }
  template <class A>
  static P traced(TracedWords& words, const A& a) {
    return Parts::traced(words, a.each);
  }
};

}  // namespace tilewright::detail
