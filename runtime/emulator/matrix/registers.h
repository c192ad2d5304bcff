// Checks of the registers that wgmma reads and writes asynchronously: which accesses need a fence or a wait.
#pragma once
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

/// A wgmma of a shape takes its registers, which become a part of the group that is not committed yet.
void take_matrix_registers(Warp&, const Instruction&, u32 shape);
/// wgmma.fence: accesses so far are done before those of wgmma that follow.
void fence_matrix_registers(Warp&);

}  // namespace tilewright::rt::emulator
