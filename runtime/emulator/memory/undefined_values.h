// Values that nothing has defined: registers that no instruction has written, what shfl.sync takes from a lane that does not take part, and
// what is computed from these. They may be copied and computed with; that they reach global memory, an address or a branch is reported.
#pragma once
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct Warp;
struct Instruction;

/// Whether any value that the warp may meet is undefined.
bool has_undefined_values(const Warp&);
/// Before the lanes of `mask` execute an instruction, which its guard has chosen among `all`: reports uses of undefined values, and notes
/// which of its results are undefined.
void follow_values(Warp&, const Instruction&, Mask all, Mask mask);
/// After a store by these lanes: notes which bytes of shared memory are undefined.
void follow_store(Warp&, const Instruction&, Mask mask);
/// Of a shuffle by these lanes: lane l takes the value of lane from[l], and lanes of `absent` that of a lane that does not take part.
void follow_shuffle(Warp&, const Instruction&, Mask mask, const s32* from, Mask absent);

}  // namespace tilewright::rt::emulator
