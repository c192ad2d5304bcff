// Undefined values: registers that no instruction has written, results of shfl.sync from a lane that takes no part, and all values computed
// from these. They may be copied and used in computations; a use in global memory, an address or a branch is reported.
#pragma once
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct Warp;
struct Instruction;

/// Whether any value that the warp may read is undefined.
bool has_undefined_values(const Warp&);
/// Reports uses of undefined values by an instruction that the lanes of `mask` are about to execute, and marks undefined results. `all`:
/// the lanes before the guard was applied.
void follow_values(Warp&, const Instruction&, Mask all, Mask mask);
/// Marks the bytes of shared memory that a store by these lanes has left undefined.
void follow_store(Warp&, const Instruction&, Mask mask);
/// Marks undefined results of a shuffle: lane l takes the value of lane from[l]; for lanes in `absent` that lane takes no part.
void follow_shuffle(Warp&, const Instruction&, Mask mask, const s32* from, Mask absent);

}  // namespace tilewright::rt::emulator
