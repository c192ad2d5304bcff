// The elements of matrices as numbers, and sums as elements: what all matrix products share.
#pragma once
#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

/// How much of a register an element of an operand takes.
int operand_bits(Type type);
/// The number that the low bits are in a type.
double number_of(u64 bits, Type type);
/// The element as the accumulator's type holds it: f16 and f32 are rounded.
u64 bits_of_sum(double sum, Type type, bool saturates);

}  // namespace tilewright::rt::emulator
