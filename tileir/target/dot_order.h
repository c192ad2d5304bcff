// The order in which a dot adds products.
#pragma once
#include "tileir/ir.h"
#include "tileir/target/target_desc.h"

namespace tilewright::ir {

/// Products of bf16 that the matrix unit of a host adds at once (the instruction TDPBF16PS of AMX, Intel 64 and IA-32 Architectures Software
/// Developer's Manual, volume 2): a block of `kBf16Block` steps of k. The products with even k and those with odd k are added apart, each
/// in order of k by fused multiply-adds from 0; then the two sums are added, and their sum is added to the accumulator. Each operation
/// rounds to nearest; subnormal factors, accumulators and results count as zeros of the same sign.
inline constexpr std::int64_t kBf16Block = 32;

/// Whether a dot of bf16 is computed in such blocks, rather than in f32 with one fused multiply-add after the other: by its precision, which
/// `ieee` excludes, and by its extents, which must fill the unit's registers.
bool adds_bf16_blocks(const Function&, OpId dot, const ReductionOrder&);

}  // namespace tilewright::ir
