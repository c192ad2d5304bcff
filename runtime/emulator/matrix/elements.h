// Elements of matrices as numbers, and sums as elements, for all matrix products.
#pragma once
#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

/// The number of register bits that an operand element takes.
int operand_bits(Type type);
/// The number that the low bits represent in a type.
double number_of(u64 bits, Type type);
/// The sum as an element of the accumulator's type: f16 and f32 are rounded.
u64 bits_of_sum(double sum, Type type, bool saturates);

}  // namespace tilewright::rt::emulator
