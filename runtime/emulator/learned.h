// What a worker learns of a kernel's instructions, which is the same in all launches of the kernel.
#pragma once
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/emulator/operand_lines.h"
#include "runtime/emulator/transactions.h"

namespace tilewright::rt::emulator {

struct Learned {
  RequestShapes requests;
  OperandLayouts operands;
};

/// That of workers that have finished, for the next ones. Thread-safe.
class SpareLearned {
 public:
  Learned take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return {};
    Learned last = std::move(spare_.back());
    spare_.pop_back();
    return last;
  }
  void give(Learned learned) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(learned));
  }

 private:
  std::mutex mutex_;
  std::vector<Learned> spare_;
};

}  // namespace tilewright::rt::emulator
