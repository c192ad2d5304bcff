// Names of machines to executors.
#include "tests/fuzz/machine.h"

#include "backend/compile.h"
#include "passes/pass_manager.h"
#include "tests/fuzz/emulator_executor.h"
#include "tests/fuzz/host_executor.h"

namespace tilewright::fuzz {

namespace {
constexpr std::string_view kEmulator = "emulator:";
}  // namespace

Machine::Machine(const std::string& machine, int warps)
    : name(machine), target(machine.starts_with(kEmulator) ? machine.substr(kEmulator.size()) : machine),
      description(backend::describe_target(target)), num_warps(warps) {
  if (description.is_gpu())
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
