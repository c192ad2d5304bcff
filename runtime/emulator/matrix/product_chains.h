// Products of wgmma that may be added up later than they are issued.
#pragma once
#include <span>

#include "runtime/emulator/program/decoder.h"

namespace tilewright::rt::emulator {

/// Sets Instruction::may_pend of the function that begins at `begin` and whose registers have their slots.
void find_product_chains(std::span<const Mention>, u32 begin, Kernel&);

}  // namespace tilewright::rt::emulator
