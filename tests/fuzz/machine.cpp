// Names of machines to executors.
#include "tests/fuzz/machine.h"

#include "backend/compile.h"
#include "passes/pass_manager.h"
#include "runtime/devices.h"
#include "tests/fuzz/device_executor.h"
#include "tests/fuzz/emulator_executor.h"
#include "tests/fuzz/host_executor.h"

namespace tilewright::fuzz {

namespace {
constexpr std::string_view kEmulator = "emulator:", kCuda = "cuda:";

std::string target_of(const std::string& machine) {
  if (machine.starts_with(kEmulator)) return machine.substr(kEmulator.size());
  if (machine.starts_with(kCuda)) return rt::open_device(machine, {})->target();
  return machine;
}
}  // namespace

Machine::Machine(const std::string& machine, int warps)
    : name(machine), target(target_of(machine)), description(backend::describe_target(target)), num_warps(warps) {
  if (name.starts_with(kCuda))
    executor = std::make_unique<DeviceExecutor>(name, num_warps);
  else if (description.is_gpu())
    executor = std::make_unique<EmulatorExecutor>(target, num_warps);
  else
    executor = std::make_unique<HostExecutor>(target);
}

RewritingExecutor Machine::reference() const {
  const passes::PassContext context{description, true, false, num_warps};
  return RewritingExecutor(
      "interpreter after the passes", [context](ir::Function& f) { passes::run_passes(f, passes::pipeline(context.target), context); },
      description.reduction);
}

}  // namespace tilewright::fuzz
