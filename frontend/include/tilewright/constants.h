// Compile-time constants of a kernel become part of the key of a specialization. Aggregates are split into their fields, without reflection
// and without help from the user. Numbers and enums are compared bit by bit, other types by their operator== and std::hash.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tilewright/elements.h"
#include "tilewright/kernel_key.h"

namespace tilewright::detail {

// Converts to a field of any type. The second conversion is a worse match, so it is chosen only for fields that are references.
struct Anything {
  template <class T>
  operator T();
  template <class T>
  operator T&() const;
};

template <class T, std::size_t... I>
constexpr bool braces_to(std::index_sequence<I...>) {
  return requires { T{(void(I), Anything{})...}; };
}
/// The number of fields of an aggregate; 17 means more than 16.
template <class T, std::size_t N = 17>
constexpr std::size_t field_count() {
  if constexpr (braces_to<T>(std::make_index_sequence<N>{}) || N == 0)
    return N;
  else
    return field_count<T, N - 1>();
}

/// References to the fields of an aggregate; they are const if the aggregate is const.
template <class T>
constexpr auto fields(T& v) {
  constexpr std::size_t n = field_count<std::remove_const_t<T>>();
  static_assert(n <= 16, "a struct that is taken apart has at most 16 fields");
  if constexpr (n == 0) {
    return std::tie();
#define TW_FIELDS(N, ...)      \
  }                            \
  else if constexpr (n == N) { \
    auto& [__VA_ARGS__] = v;   \
    return std::tie(__VA_ARGS__);
    TW_FIELDS(1, a)
    TW_FIELDS(2, a, b)
    TW_FIELDS(3, a, b, c)
    TW_FIELDS(4, a, b, c, d)
    TW_FIELDS(5, a, b, c, d, e)
    TW_FIELDS(6, a, b, c, d, e, f)
    TW_FIELDS(7, a, b, c, d, e, f, g)
    TW_FIELDS(8, a, b, c, d, e, f, g, h)
    TW_FIELDS(9, a, b, c, d, e, f, g, h, i)
    TW_FIELDS(10, a, b, c, d, e, f, g, h, i, j)
    TW_FIELDS(11, a, b, c, d, e, f, g, h, i, j, k)
    TW_FIELDS(12, a, b, c, d, e, f, g, h, i, j, k, l)
    TW_FIELDS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
    TW_FIELDS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, o)
    TW_FIELDS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p)
    TW_FIELDS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q)
#undef TW_FIELDS
  }
}

template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};

template <class T>
concept PlainConstant = std::is_arithmetic_v<T> || std::is_enum_v<T> || AnyFloatElement<T>;
/// Types without state, such as captureless lambdas and tags. Their type is part of the kernel's signature, so there is nothing to compare.
template <class T>
concept EmptyConstant = std::is_empty_v<T> && std::is_trivially_copyable_v<T>;
// Pointers (raw or smart) and string views: the key would hold an address, whose contents may change. Functions cannot change, so pointers
// to functions are allowed.
template <class T>
concept SmartPointer = requires(const T& p) {
  { p.get() } -> std::same_as<typename T::element_type*>;
};
template <class T>
concept TextView = requires { typename T::traits_type; } && std::is_trivially_copyable_v<T>;
template <class T>
concept PointerConstant = (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) || SmartPointer<T> || TextView<T>;
template <class T>
concept OwnConstant = requires(const T& a) {
  { a == a } -> std::convertible_to<bool>;
  { std::hash<T>{}(a) } -> std::convertible_to<std::size_t>;
};

template <class T>
concept FewFields = std::is_aggregate_v<T> && std::is_class_v<T> && field_count<T>() <= 16;
/// A tuple of references to the fields of an aggregate.
template <class T>
using FieldsOf = decltype(fields(std::declval<T&>()));

template <class T>
constexpr bool is_constant() {
  if constexpr (PointerConstant<T>)
    return false;
  else if constexpr (PlainConstant<T> || EmptyConstant<T> || OwnConstant<T>)
    return true;
  else if constexpr (IsArray<T>::value)
    return is_constant<typename T::value_type>();
  else if constexpr (FewFields<T>)
    return []<class... F>(std::type_identity<std::tuple<F&...>>) {
      return (is_constant<std::remove_const_t<F>>() && ...);
    }(std::type_identity<FieldsOf<T>>{});
  else
    return false;
}
/// Whether T cannot be a constant because it contains a pointer: as T itself, an element or a field.
template <class T>
constexpr bool holds_pointer() {
  if constexpr (PointerConstant<T>)
    return true;
  else if constexpr (PlainConstant<T> || EmptyConstant<T> || OwnConstant<T>)
    return false;
  else if constexpr (IsArray<T>::value)
    return holds_pointer<typename T::value_type>();
  else if constexpr (FewFields<T>)
    return []<class... F>(std::type_identity<std::tuple<F&...>>) {
      return (holds_pointer<std::remove_const_t<F>>() || ...);
    }(std::type_identity<FieldsOf<T>>{});
  else
    return false;
}
/// The types of compile-time parameters of a kernel.
template <class T>
concept Constant = is_constant<T>();

/// Calls visit(number, enum or own) for each leaf. A key consists of leaves because the bytes of the whole value may include padding.
template <class T, class V>
constexpr void visit_leaves(const T& value, V&& visit) {
  if constexpr (PlainConstant<T>)
    visit(value);
  else if constexpr (EmptyConstant<T>)
    return;
  else if constexpr (OwnConstant<T>)
    visit(value);
  else if constexpr (IsArray<T>::value)
    for (const auto& e : value) visit_leaves(e, visit);
  else
    std::apply([&](const auto&... f) { (visit_leaves(f, visit), ...); }, fields(value));
}

/// Adds a constant to the key of a specialization; the value must outlive the key.
template <Constant T>
void add_constant(KernelKey& key, const T& value) {
  visit_leaves(value, [&]<class L>(const L& leaf) {
    if constexpr (std::same_as<L, long double>)
      key.add_bytes(&leaf, 10);  // an x87 number has 10 bytes; the others are padding
    else if constexpr (PlainConstant<L>)
      key.add_bytes(&leaf, sizeof leaf);
    else
      key.add_own(leaf, std::hash<L>{}(leaf));
  });
}

}  // namespace tilewright::detail
