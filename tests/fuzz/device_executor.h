// Compiles a program to PTX and runs it on a GPU through the runtime's device.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "runtime/device.h"
#include "tests/fuzz/differential.h"

namespace tilewright::fuzz {

class DeviceExecutor : public Executor {
 public:
  /// `device`: "cuda:0", or "emulator:sm_80" behind the same driver table. Throws Error if there is none.
  DeviceExecutor(const std::string& device, int num_warps);
  std::string name() const override { return device_->name(); }
  /// The text of the exception from run() for a kernel whose PTX would take the driver's assembler minutes.
  static constexpr std::string_view kTooLong = "the PTX is too long to be assembled here";
  /// On a copy of the expected memory, which must be known; guard zones of the copy's own around each buffer.
  void run(const ir::Function&, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) override;
  void expect_within(const Memory* memory) override { memory_ = memory; }

 private:
  std::shared_ptr<rt::Device> device_;
  int num_warps_;
  const Memory* memory_ = nullptr;
};

}  // namespace tilewright::fuzz
