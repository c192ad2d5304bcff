// The shape in the name of a matrix product: m by n elements of the sum, k steps.
#pragma once
#include <optional>

#include "runtime/emulator/program/decoder.h"

namespace tilewright::rt::emulator {

struct MatrixShape {
  u16 m = 0, n = 0, k = 0;
};

/// Takes the modifier that is a shape, "m16n8k16"; none if there is no such modifier.
std::optional<MatrixShape> take_shape(Decoder&);

}  // namespace tilewright::rt::emulator
