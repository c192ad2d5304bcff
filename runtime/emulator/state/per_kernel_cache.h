// The per-kernel cache of a worker: facts about a kernel's instructions that hold in all launches of the kernel.
#pragma once
#include <memory>

#include "runtime/emulator/cost/transactions.h"

namespace tilewright::rt::emulator {

class OperandLayouts;

struct PerKernelCache {
  RequestShapes requests;
  std::shared_ptr<OperandLayouts> operands;  // null until the first wgmma
};

}  // namespace tilewright::rt::emulator
