// Parameter types of all public functions: the user's source location, and integers as sizes.
#pragma once
#include "tilewright/detail/requirements.h"

#include <concepts>
#include <cstdint>
#include <source_location>

#include "tilewright/error.h"

namespace tilewright {

/// The user's line: the last, defaulted parameter of every function that can fail.
using Here = std::source_location;

/// One extent, count or offset: takes any C++ integer without narrowing it.
struct Extent {
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  constexpr Extent(I extent) : value(static_cast<std::int64_t>(extent)) {}
  std::int64_t value;
};

namespace detail {
inline Location location_of(const Here& at) { return {at.file_name(), static_cast<int>(at.line()), static_cast<int>(at.column())}; }
}  // namespace detail

}  // namespace tilewright
