// The value that a run of a plan gets under a name.
#pragma once
#include <array>
#include <cstdint>

#include "tilewright/detail/scalar.h"
#include "tilewright/elements.h"

namespace tilewright::detail {

class RawBuffer;

/// The memory or the number that a run gets under a name.
struct RunValue {
  enum class Kind : std::uint8_t { buffer, part_of_buffer, view, number };
  Kind kind = Kind::number;
  Code element{};
  bool is_read_only = false;
  const RawBuffer* buffer = nullptr;  // also null for a view that view() did not make
  std::int64_t offset = 0;            // in elements
  int rank = 0;                       // the rank of a view
  std::array<std::int64_t, 5> extents{}, strides{};
  Scalar number;
};

/// Makes the value of an argument that is neither a buffer nor a number: a view, whose header specialises it.
template <class V>
struct RunValueOf;
template <class V>
concept HasRunValue = requires(const V& view) { RunValueOf<V>::make(view); };

}  // namespace tilewright::detail
