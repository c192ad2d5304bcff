// C++ numbers as constants of an element type. The number must fit.
#pragma once
#include <string>

#include "tileir/type.h"
#include "tilewright/detail/scalar.h"

namespace tilewright::detail {

/// The bits of a constant in an element type, or the text of an error.
struct FittedScalar {
  std::uint64_t bits = 0;
  std::string problem;  // empty if the constant fits
};
/// For example "constant 300 does not fit i8 (-128 to 127)". Floats are rounded; integers must be exact.
FittedScalar fit(const Scalar&, ir::Element);

}  // namespace tilewright::detail
