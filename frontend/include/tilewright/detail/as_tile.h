// How the element types of tensors meet: as those of tiles do.
#pragma once
#include "tilewright/elements.h"

namespace tilewright {

template <Element T>
class Tile;
template <ValueElement T>
class Tensor;

namespace detail {

/// The tile whose element type meets those of other arguments as a tensor's does. Other types stay as they are.
template <class A>
struct AsTile {
  using type = A;
};
template <class T>
struct AsTile<Tensor<T>> {
  using type = Tile<T>;
};

}  // namespace detail
}  // namespace tilewright
