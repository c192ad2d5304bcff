// What a worker learns of a kernel's instructions, which is the same in all launches of the kernel.
#pragma once
#include "runtime/emulator/cost/transactions.h"
#include "runtime/emulator/matrix/operand_lines.h"

namespace tilewright::rt::emulator {

struct KernelCache {
  RequestShapes requests;
  OperandLayouts operands;
};

}  // namespace tilewright::rt::emulator
