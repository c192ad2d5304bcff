// C++ numbers that meet an element type later.
#pragma once
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "tilewright/elements.h"

namespace tilewright::detail {

/// A C++ scalar that becomes a constant; it is checked against the element type of the tile that it meets.
struct Scalar {
  enum class Kind : std::uint8_t { signed_integer, unsigned_integer, real, boolean };

  constexpr Scalar() = default;
  template <HostScalar S>
  constexpr Scalar(S v) {
    if constexpr (std::same_as<S, bool>)
      kind = Kind::boolean, bits = v;
    else if constexpr (std::same_as<S, FloatConstant>)
      kind = Kind::real, real = v.value;
    else if constexpr (HostFloat<S>)
      kind = Kind::real, real = static_cast<double>(v);
    else
      kind = std::is_signed_v<S> ? Kind::signed_integer : Kind::unsigned_integer, bits = static_cast<std::uint64_t>(v);
  }

  Kind kind = Kind::signed_integer;
  std::uint64_t bits = 0;  // integers (two's complement) and bool
  double real = 0;
};

}  // namespace tilewright::detail
