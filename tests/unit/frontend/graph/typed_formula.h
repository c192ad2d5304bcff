// A formula that a test evaluates in f32 and in f64.
#pragma once
#include <functional>
#include <type_traits>

#include "tilewright/tilewright.h"

namespace graph_program {

/// Given<T> holds the tensors of T that the formula is computed from.
template <template <class> class Given>
struct TypedFormula {
  const char* name;
  std::function<tw::Tensor<float>(const Given<float>&)> in_float;
  std::function<tw::Tensor<double>(const Given<double>&)> in_double;

  template <class T>
  tw::Tensor<T> of(const Given<T>& d) const {
    if constexpr (std::is_same_v<T, float>)
      return in_float(d);
    else
      return in_double(d);
  }
};

}  // namespace graph_program
