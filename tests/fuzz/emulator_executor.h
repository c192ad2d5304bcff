// Compiles a program to PTX and runs it on the emulator with all checks.
#pragma once
#include <string>

#include "backend/compiled_kernel.h"
#include "runtime/emulator/machine/emulator.h"
#include "tests/fuzz/differential.h"

namespace tilewright::fuzz {

/// The values of the kernel's parameters: the words of the function's, those that the host makes, the words of the runtime's.
std::vector<std::byte> parameter_bytes(const rt::emulator::Kernel&, const backend::CompiledKernel&, std::span<const std::uint64_t> words,
                                       std::array<std::int32_t, 3> grid);

class EmulatorExecutor : public Executor {
 public:
  /// `target`: "sm_80".
  EmulatorExecutor(std::string target, int num_warps) : target_(std::move(target)), num_warps_(num_warps) {}
  std::string name() const override { return "emulator:" + target_; }
  /// Throws for what the emulator finds: races, accesses outside of the memory that is expected, divergent barriers.
  void run(const ir::Function&, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) override;
  void expect_within(const Memory* memory) override { memory_ = memory; }

 private:
  std::string target_;
  int num_warps_;
  const Memory* memory_ = nullptr;
};

}  // namespace tilewright::fuzz
