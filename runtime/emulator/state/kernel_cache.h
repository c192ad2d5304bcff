// What a worker learns of a kernel's instructions, which is the same in all launches of the kernel.
#pragma once
#include <memory>

#include "runtime/emulator/cost/transactions.h"

namespace tilewright::rt::emulator {

class OperandLayouts;

struct KernelCache {
  RequestShapes requests;
  std::shared_ptr<OperandLayouts> operands;  // null until there is a wgmma
};

}  // namespace tilewright::rt::emulator
