// Checks the registers that wgmma reads and writes asynchronously: which accesses need a fence or a wait.
#pragma once
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

/// Records the registers of a wgmma, which becomes part of the group that is not committed yet.
void take_matrix_registers(Warp&, const Instruction&, u32 shape);
/// wgmma.fence: earlier accesses to registers are ordered before those of later wgmma.
void fence_matrix_registers(Warp&);

}  // namespace tilewright::rt::emulator
