// Compiles a program for a host target and runs the machine code.
#pragma once
#include <string>

#include "runtime/host/object_loader.h"
#include "tests/fuzz/differential.h"

namespace tilewright::fuzz {

class HostExecutor : public Executor {
 public:
  /// `target` as backend::CompileOptions takes it.
  explicit HostExecutor(std::string target) : target_(std::move(target)), loader_({}) {}
  std::string name() const override { return target_; }
  void run(const ir::Function&, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) override;

 private:
  std::string target_;
  rt::ObjectLoader loader_;
};

}  // namespace tilewright::fuzz
