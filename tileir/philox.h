// Philox4x32-10 (Salmon et al., 2011; Random123) as ops of tile IR.
#pragma once
#include <array>

#include "tileir/builder.h"

namespace tilewright::ir {

/// The four random words of a counter. All are u32 tiles of one shape.
std::array<ValueId, 4> philox(Builder&, ValueId key0, ValueId key1, std::array<ValueId, 4> counter);
/// An f32 in [0, 1) from the upper 24 bits of a u32 word; `first` is added to these bits, so 1 gives (0, 1].
ValueId uniform_from_bits(Builder&, ValueId word, int first);
/// rand(seed, counter) of the tile language for a 64-bit seed and an i64 counter.
ValueId philox_uniform(Builder&, std::uint64_t seed, ValueId counter);

}  // namespace tilewright::ir
